// SPDX-License-Identifier: MIT
/*
 * Workers and register accesses side by side, as hosts run them; built with the
 * thread sanitizer, which finds what cm_device_run() shares with locked calls.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cnnacc_model.h"
#include "core_programs.h"

#define RAM_SIZE	(1u << 20)
#define PAGE		CNNACC_PAGE_SIZE
#define RING		64
#define JOBS		50	/* of each core, to their end */
/* Bus addresses: the page table, a page of code and two of rings per core, the data. */
#define ROOT		0u
#define TABLE		PAGE
#define CODE(core)	((2 + (core)) * PAGE)
#define RINGS		CODE(CM_MAX_CORES)
#define PACKETS(core)	(RINGS + (core) * 2 * PAGE)
#define RECORDS(core)	(PACKETS(core) + PAGE)
#define DATA		PACKETS(CM_MAX_CORES)
#define OUT(core)	(DATA + (1 + (core)) * PAGE)

struct machine {
	struct cm_device *dev;
	uint8_t *ram;
	unsigned int cores;	/* one of each kind */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	uint64_t now;
	bool quit;
	unsigned int messages;
};

static int dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct machine *m = opaque;

	if (addr + len > RAM_SIZE)
		return -1;
	memcpy(buf, m->ram + addr, len);
	return 0;
}

static int dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct machine *m = opaque;

	if (addr + len > RAM_SIZE)
		return -1;
	memcpy(m->ram + addr, buf, len);
	return 0;
}

static void *dma_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
	struct machine *m = opaque;

	(void)write;
	return addr + *len <= RAM_SIZE ? m->ram + addr : NULL;
}

static void dma_unmap(void *opaque, void *ptr, size_t len, bool write)
{
	(void)opaque;
	(void)ptr;
	(void)len;
	(void)write;
}

static void irq_message(void *opaque, unsigned int vector)
{
	struct machine *m = opaque;

	(void)vector;
	m->messages++;
}

static void irq_wires(void *opaque, uint32_t wires)
{
	(void)opaque;
	(void)wires;
}

static uint64_t now(void *opaque)
{
	struct machine *m = opaque;

	return ++m->now;
}

static void kick(void *opaque, unsigned int core)
{
	struct machine *m = opaque;

	(void)core;
	pthread_cond_broadcast(&m->wake);
}

static void log_line(void *opaque, const char *text)
{
	(void)opaque;
	(void)text;
}

static const struct cm_host_ops ops = {
	dma_read, dma_write, dma_map, dma_unmap, irq_message, irq_wires, now, kick, log_line,
};

struct worker {
	struct machine *m;
	unsigned int core;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct machine *m = w->m;

	pthread_mutex_lock(&m->lock);
	while (!m->quit) {
		if (!cm_device_begin(m->dev, w->core)) {
			pthread_cond_wait(&m->wake, &m->lock);
			continue;
		}
		pthread_mutex_unlock(&m->lock);
		cm_device_run(m->dev, w->core, 20000);
		pthread_mutex_lock(&m->lock);
		cm_device_end(m->dev, w->core);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static void put32(struct machine *m, uint32_t addr, uint32_t value)
{
	memcpy(m->ram + addr, &value, sizeof(value));
}

static void write_packets(struct machine *m, unsigned int core, uint32_t length)
{
	for (unsigned int i = 0; i < RING; i++) {
		/* One program in sixteen waits for its events to be acknowledged. */
		struct cnnacc_packet p = {
			.flags = CNNACC_PACKET_IRQ | (i % 16 ? 0 : CNNACC_PACKET_EVENT_WAIT),
			.ctx_id = i % 3, .root = ROOT, .cycle_limit = 1 << 20,
			.program_va = CODE(core), .program_len = length,
		};

		memcpy(m->ram + PACKETS(core) + i * 64, &p, sizeof(p));
	}
}

static void write_programs(struct machine *m)
{
	put32(m, ROOT, CNNACC_PTE_ADDR(TABLE) | CNNACC_PTE_VALID);
	for (uint32_t page = 0; page < RAM_SIZE / PAGE; page++)
		put32(m, TABLE + 4 * page, CNNACC_PTE_ADDR(page * PAGE) | CNNACC_PTE_FLAGS);
	for (unsigned int i = 0; i < m->cores; i++) {
		uint32_t code[CORE_PROGRAM_LONG / 4];
		uint32_t size = core_programs_at(i)->compute(code, DATA, OUT(i));

		memcpy(m->ram + CODE(i), code, size);
		write_packets(m, i, size);
	}
}

static void reg_write(struct machine *m, unsigned int core, uint32_t reg, uint32_t value)
{
	pthread_mutex_lock(&m->lock);
	cm_device_write(m->dev, 0x2000 + core * 0x100 + reg, value);
	pthread_mutex_unlock(&m->lock);
}

static uint32_t reg_read(struct machine *m, unsigned int core, uint32_t reg)
{
	uint32_t value;

	pthread_mutex_lock(&m->lock);
	value = cm_device_read(m->dev, 0x2000 + core * 0x100 + reg);
	pthread_mutex_unlock(&m->lock);
	return value;
}

static void start_queue(struct machine *m, unsigned int core)
{
	reg_write(m, core, CNNACC_QREG_RESET, 1);
	while (reg_read(m, core, CNNACC_QREG_RESET))
		;
	reg_write(m, core, CNNACC_QREG_RING_BASE_LO, PACKETS(core));
	reg_write(m, core, CNNACC_QREG_RING_SIZE, RING);
	reg_write(m, core, CNNACC_QREG_COMPL_BASE_LO, RECORDS(core));
	reg_write(m, core, CNNACC_QREG_COMPL_SIZE, RING);
	reg_write(m, core, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
}

/* Reads everything, invalidates, acknowledges, and now and then aborts or resets. */
static void disturb(struct machine *m, unsigned int core, unsigned int i)
{
	pthread_mutex_lock(&m->lock);
	for (uint32_t reg = 0; reg < CNNACC_QREG_BLOCK_SIZE; reg += 4)
		cm_device_read(m->dev, 0x2000 + core * 0x100 + reg);
	for (uint32_t reg = 0; reg < 0x100; reg += 4)
		cm_device_read(m->dev, 0x4000 + core * 0x1000 + reg);
	cm_device_write(m->dev, CNNACC_REG_INVALIDATE, i % 3);
	cm_device_write(m->dev, CNNACC_REG_IRQ_STATUS, 0xffffffff);
	cm_device_write(m->dev, 0x2000 + core * 0x100 + CNNACC_QREG_EVENT_ACK, 1);
	if (i % 41 == 0)
		cm_device_write(m->dev, 0x2000 + core * 0x100 + CNNACC_QREG_CTRL,
				 CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	pthread_mutex_unlock(&m->lock);
	if (i % 37 == 0 ||
	    reg_read(m, core, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED)
		start_queue(m, core);
}

static void submit_one(struct machine *m, unsigned int core)
{
	uint32_t tail = (reg_read(m, core, CNNACC_QREG_RING_TAIL) + 1) % RING;

	reg_write(m, core, CNNACC_QREG_COMPL_HEAD,
		  reg_read(m, core, CNNACC_QREG_COMPL_TAIL));
	if (tail != reg_read(m, core, CNNACC_QREG_RING_HEAD))
		reg_write(m, core, CNNACC_QREG_RING_TAIL, tail);
}

/* A counter of a core, which counts from its last reset. */
#define counter(m, core, field) \
	reg_read(m, core, CNNACC_QREG_STATS + offsetof(struct cnnacc_stats, field))

static bool all_have_jobs(struct machine *m, uint32_t jobs_wanted)
{
	for (unsigned int i = 0; i < m->cores; i++)
		if (counter(m, i, jobs) < jobs_wanted)
			return false;
	return true;
}

/* A property cores with every core that has programs. */
static void configure(struct machine *m, struct cm_config *config)
{
	char err[CM_ERR_LEN], cores[256] = "";
	const struct core_programs *p;
	size_t n = 0;

	for (; (p = core_programs_at(m->cores)); m->cores++)
		n += (size_t)snprintf(cores + n, sizeof(cores) - n, "%s%s", n ? "+" : "", p->name);
	assert_true(n < sizeof(cores) && m->cores <= CM_MAX_CORES);
	assert_int_equal(cm_config_set(config, "cores", cores, err), 0);
	assert_int_equal(cm_config_set(config, "threads", "3", err), 0);
}

static void test_threads(void **state)
{
	struct cm_config config = { 0 };
	char err[CM_ERR_LEN];
	struct machine m = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
	};
	struct worker worker[CM_MAX_CORES];

	(void)state;
	configure(&m, &config);
	m.ram = calloc(1, RAM_SIZE);
	m.dev = cm_device_create(&config, &ops, &m, err);
	assert_non_null(m.dev);
	write_programs(&m);
	for (unsigned int i = 0; i < m.cores; i++) {
		worker[i] = (struct worker){ .m = &m, .core = i };
		pthread_create(&worker[i].thread, NULL, work, &worker[i]);
		start_queue(&m, i);
	}
	pthread_mutex_lock(&m.lock);
	cm_device_write(m.dev, CNNACC_REG_IRQ_ENABLE, 0xffffffff);
	pthread_mutex_unlock(&m.lock);
	for (unsigned int i = 1; !all_have_jobs(&m, JOBS); i++) {
		for (unsigned int core = 0; core < m.cores; core++) {
			submit_one(&m, core);
			disturb(&m, core, i);
		}
		usleep(100);
	}
	for (unsigned int i = 0; i < m.cores; i++)
		while (reg_read(&m, i, CNNACC_QREG_STATE) == CNNACC_QSTATE_RUNNING)
			reg_write(&m, i, CNNACC_QREG_EVENT_ACK, 1);
	pthread_mutex_lock(&m.lock);
	m.quit = true;
	pthread_cond_broadcast(&m.wake);
	pthread_mutex_unlock(&m.lock);
	for (unsigned int i = 0; i < m.cores; i++)
		pthread_join(worker[i].thread, NULL);
	assert_true(m.messages > 0);
	for (unsigned int i = 0; i < m.cores; i++) {
		assert_true(counter(&m, i, mac_useful) > 0);
		assert_true(!core_programs_at(i)->compute_events || counter(&m, i, events) > 0);
	}
	cm_device_destroy(m.dev);
	free(m.ram);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads) };

	return cmocka_run_group_tests_name("model_threads", tests, NULL, NULL);
}
