// SPDX-License-Identifier: MIT
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnnacc_model.h"
#include "cnnacc_seq.h"
#include "words.h"

#define RINGS_BASE	0xa100000000ull
#define RINGS_BYTES	(2 * CNNACC_PAGE_SIZE * CNNACC_MAX_CORES)
#define RING_SIZE	4
#define PATIENCE	2000000		/* steps of a worker before a job counts as hung */
#define STATE_MAX	(512 << 10)	/* larger states would make moves slow */

static uint8_t *host_at(struct host *host, uint64_t address, size_t length)
{
	if (address >= RINGS_BASE && address - RINGS_BASE + length <= RINGS_BYTES)
		return host->rings + (address - RINGS_BASE);
	return image_at(&host->image, address, length);
}

static int dma_read(void *opaque, uint64_t address, void *buffer, size_t length)
{
	const uint8_t *from = host_at(opaque, address, length);

	if (!from)
		return -1;
	memcpy(buffer, from, length);
	return 0;
}

static int dma_write(void *opaque, uint64_t address, const void *buffer, size_t length)
{
	uint8_t *to = host_at(opaque, address, length);

	if (!to)
		return -1;
	memcpy(to, buffer, length);
	return 0;
}

/* Map nothing, a part or all of the range, at random: the model has to cope with each. */
static void *dma_map(void *opaque, uint64_t address, size_t *length, bool write)
{
	static _Thread_local struct prng prng;
	struct host *host = opaque;
	unsigned int mood = prng_range(&prng, 0, 9);
	uint8_t *at;

	(void)write;
	if (mood == 0)
		return NULL;
	if (mood == 1 && *length > 1)
		*length = prng_range(&prng, 1, *length);
	at = host_at(host, address, *length);
	while (!at && *length > CNNACC_LINE_SIZE) {
		*length /= 2;
		at = host_at(host, address, *length);
	}
	host->mapped += at != NULL;
	return at;
}

static void dma_unmap(void *opaque, void *ptr, size_t length, bool write)
{
	struct host *host = opaque;

	(void)ptr;
	(void)length;
	(void)write;
	host->mapped--;
}

static void irq_message(void *opaque, unsigned int vector)
{
	(void)opaque;
	(void)vector;
}

static void irq_wires(void *opaque, uint32_t wires)
{
	(void)opaque;
	(void)wires;
}

static uint64_t now(void *opaque)
{
	struct host *host = opaque;

	return host->time += 17;
}

static void kick(void *opaque, unsigned int core)
{
	(void)opaque;
	(void)core;
}

static void quiet_log(void *opaque, const char *text)
{
	(void)opaque;
	(void)text;
}

static const struct cm_host_ops host_ops = {
	.dma_read = dma_read, .dma_write = dma_write,
	.dma_map = dma_map, .dma_unmap = dma_unmap,
	.irq_message = irq_message, .irq_wires = irq_wires,
	.now = now, .wake_worker = kick, .log = quiet_log,
};

uint32_t host_read(struct host *host, uint32_t offset)
{
	return cm_device_read(host->dev, offset);
}

uint64_t host_read64(struct host *host, uint32_t offset)
{
	uint64_t low = host_read(host, offset);

	return low | (uint64_t)host_read(host, offset + 4) << 32;
}

static void write64(struct host *host, uint32_t offset, uint64_t value)
{
	cm_device_write(host->dev, offset, value);
	cm_device_write(host->dev, offset + 4, value >> 32);
}

static uint64_t ring_base(unsigned int core)
{
	return RINGS_BASE + 2ull * core * CNNACC_PAGE_SIZE;
}

static void enable_queue(struct host *host, unsigned int core)
{
	struct host_queue *q = &host->queue[core];

	write64(host, q->block + CNNACC_QREG_RING_BASE_LO, ring_base(core));
	write64(host, q->block + CNNACC_QREG_COMPL_BASE_LO, ring_base(core) + CNNACC_PAGE_SIZE);
	cm_device_write(host->dev, q->block + CNNACC_QREG_RING_SIZE, RING_SIZE);
	cm_device_write(host->dev, q->block + CNNACC_QREG_COMPL_SIZE, RING_SIZE);
	cm_device_write(host->dev, q->block + CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	q->tail = 0;
	q->head = 0;
	q->seq = 0;
}

static void discover_core(struct host *host, unsigned int core)
{
	uint32_t at = host_read(host, CNNACC_REG_CORE_TABLE) + core * CNNACC_CORE_ENTRY_SIZE;
	struct host_queue *q = &host->queue[core];
	uint32_t words[sizeof(q->entry) / 4];

	for (unsigned int i = 0; i < sizeof(words) / 4; i++)
		words[i] = host_read(host, at + 4 * i);
	memcpy(&q->entry, words, sizeof(words));
	q->window = q->entry.window_offset;
	q->block = q->entry.queue_offset;
	q->job_cycles_max = q->entry.job_cycles_max_lo |
			    (uint64_t)q->entry.job_cycles_max_hi << 32;
	enable_queue(host, core);
}

/* Results must not depend on the number of threads or on the SIMD level: pick any. */
static const char *pick_threads(struct host *host)
{
	static const char *const threads[] = { "1", "2", "3", "8" };

	return threads[prng_range(&host->prng, 0, 3)];
}

static const char *const simd_names[] = { "baseline", "avx2", "avx512" };

static const char *pick_simd(struct host *host)
{
	if (host->simd)
		return host->simd;
	return simd_names[prng_range(&host->prng, 0, host->simd_count - 1)];
}

static struct cm_device *make_device(struct host *host, const char *cores, const char *threads,
				     const char *simd, char error[CM_ERR_LEN])
{
	struct cm_config config = { 0 };

	if (cm_config_set(&config, "cores", cores, error) ||
	    cm_config_set(&config, "threads", threads, error) ||
	    cm_config_set(&config, "simd", simd, error))
		return NULL;
	return cm_device_create(&config, &host_ops, host, error);
}

bool host_has_simd(const char *cores, const char *simd)
{
	char error[CM_ERR_LEN];
	struct cm_device *dev = make_device(NULL, cores, "1", simd, error);

	cm_device_destroy(dev);
	return dev;
}

static struct cm_device *new_device(struct host *host)
{
	char error[CM_ERR_LEN] = "";
	struct cm_device *dev = make_device(host, host->cores, pick_threads(host),
					    pick_simd(host), error);

	if (dev)
		return dev;
	fprintf(stderr, "golden: %s: %s\n", host->cores, error);
	exit(2);
}

/* At random, save the state, load it into a new device and go on there, as a migration does. */
static void maybe_move(struct host *host)
{
	size_t size = cm_device_state_size(host->dev);
	char error[CM_ERR_LEN];

	if (!host->state || !host->moves_left || !prng_chance(&host->prng, 20))
		return;
	host->moves_left--;
	cm_device_save(host->dev, host->state);
	cm_device_destroy(host->dev);
	host->dev = new_device(host);
	if (cm_device_load(host->dev, host->state, size, error)) {
		fprintf(stderr, "golden: cannot load a saved state: %s\n", error);
		exit(2);
	}
	cm_device_wake_workers(host->dev);
	host->moves++;
}

void host_open(struct host *host, const char *cores, const char *simd)
{
	size_t state_size;

	memset(host, 0, sizeof(*host));
	pthread_mutex_init(&host->lock, NULL);
	host->cores = cores;
	host->simd = simd;
	host->simd_count = 1;
	while (host->simd_count < 3 && host_has_simd(cores, simd_names[host->simd_count]))
		host->simd_count++;
	host->image.bytes = calloc(1, IMAGE_BYTES);
	host->rings = calloc(1, RINGS_BYTES);
	if (!host->image.bytes || !host->rings)
		exit(2);
	host->dev = new_device(host);
	state_size = cm_device_state_size(host->dev);
	if (state_size <= STATE_MAX)
		host->state = malloc(state_size);
	host->core_count = host_read(host, CNNACC_REG_CORE_COUNT);
	for (unsigned int core = 0; core < host->core_count; core++)
		discover_core(host, core);
}

void host_close(struct host *host)
{
	cm_device_destroy(host->dev);
	free(host->state);
	free(host->image.bytes);
	free(host->rings);
}

static bool running(struct host *host, unsigned int core)
{
	return host_read(host, host->queue[core].block + CNNACC_QREG_STATE) ==
	       CNNACC_QSTATE_RUNNING;
}

static uint32_t pick_budget(struct host *host)
{
	static const uint32_t budgets[] = { 1, 1000, 50000, 1000000, 5000000 };

	return budgets[prng_range(&host->prng, 0, 4)];
}

/* One step of a core's worker; false if it had nothing to do. */
static bool turn(struct host *host, unsigned int core)
{
	if (!cm_device_begin(host->dev, core))
		return false;
	cm_device_run(host->dev, core, pick_budget(host));
	cm_device_end(host->dev, core);
	cm_device_idle(host->dev);
	if (running(host, core))
		maybe_move(host);
	return true;
}

bool host_invalidate(struct host *host, uint32_t value)
{
	cm_device_write(host->dev, CNNACC_REG_INVALIDATE, value);
	for (unsigned int i = 0; i < PATIENCE; i++) {
		if (host_read(host, CNNACC_REG_INV_DONE) == host_read(host, CNNACC_REG_INV_SEQ))
			return true;
		for (unsigned int core = 0; core < host->core_count; core++)
			turn(host, core);
	}
	return false;
}

static void put_packet(uint8_t *slot, const struct cnnacc_packet *p)
{
	memset(slot, 0, sizeof(*p));
	word_put(slot, 0, p->flags);
	word_put(slot, 1, p->ctx_id);
	word_put(slot, 2, p->root);
	word_put(slot, 3, p->root >> 32);
	word_put(slot, 4, p->fence);
	word_put(slot, 5, p->fence >> 32);
	word_put(slot, 6, p->cycle_limit);
	word_put(slot, 7, p->cycle_limit >> 32);
	word_put(slot, 8, p->program_va);
	word_put(slot, 9, p->program_len);
	word_put(slot, 10, p->stats_va);
	for (int i = 0; i < 5; i++)
		word_put(slot, 11 + i, p->reserved[i]);
}

static uint64_t word_pair(const uint8_t *record, int index)
{
	return word_get(record, index) | (uint64_t)word_get(record, index + 1) << 32;
}

static void get_completion(const uint8_t *slot, struct cnnacc_completion *c)
{
	c->fence = word_pair(slot, 0);
	c->seq = word_get(slot, 2);
	c->ctx_id = word_get(slot, 3);
	c->status_class = word_get(slot, 4) & 0xffff;
	c->status_code = word_get(slot, 4) >> 16;
	c->pc = word_get(slot, 5);
	c->detail = word_get(slot, 6);
	c->access = word_get(slot, 7);
	c->fault_va = word_pair(slot, 8);
	c->cycles = word_pair(slot, 10);
	c->start_ns = word_pair(slot, 12);
	c->end_ns = word_pair(slot, 14);
}

/* Check the queue after the completion record has been written. */
static const char *check_queue(struct host *host, struct host_queue *q,
			       const struct cnnacc_completion *c)
{
	bool failed = c->status_class != CNNACC_STATUS_OK;
	uint32_t packet = (q->tail + RING_SIZE - 1) % RING_SIZE;

	if (host->mapped)
		return "a DMA mapping outlives the job";
	if (c->fence != q->fence)
		return "the completion record has the wrong fence";
	if (c->seq != ++q->seq)
		return "the completion record has the wrong sequence number";
	if (c->start_ns > c->end_ns)
		return "the job ended before it began";
	if (host_read(host, q->block + CNNACC_QREG_RING_HEAD) != (failed ? packet : q->tail))
		return "RING_HEAD is wrong";
	if (host_read(host, q->block + CNNACC_QREG_COMPL_TAIL) != (q->head + 1) % RING_SIZE)
		return "COMPL_TAIL is wrong";
	if (host_read(host, q->block + CNNACC_QREG_STATE) !=
	    (failed ? CNNACC_QSTATE_HALTED : CNNACC_QSTATE_IDLE))
		return "STATE is wrong";
	return NULL;
}

static uint8_t *core_rings(struct host *host, unsigned int core)
{
	return host->rings + 2ul * core * CNNACC_PAGE_SIZE;
}

static void submit(struct host *host, const struct host_job *job)
{
	struct host_queue *q = &host->queue[job->core];

	q->fence += 1ull << 32 | (job->core + 1);
	job->packet->fence = q->fence;
	put_packet(core_rings(host, job->core) + q->tail * sizeof(*job->packet), job->packet);
	q->tail = (q->tail + 1) % RING_SIZE;
	cm_device_write(host->dev, q->block + CNNACC_QREG_RING_TAIL, q->tail);
}

static const char *collect(struct host *host, const struct host_job *job)
{
	struct host_queue *q = &host->queue[job->core];
	const uint8_t *records = core_rings(host, job->core) + CNNACC_PAGE_SIZE;
	const char *wrong;

	if (host_read(host, q->block + CNNACC_QREG_COMPL_TAIL) == q->head)
		return "the job does not end";
	get_completion(records + q->head * sizeof(*job->completion), job->completion);
	wrong = check_queue(host, q, job->completion);
	q->head = (q->head + 1) % RING_SIZE;
	cm_device_write(host->dev, q->block + CNNACC_QREG_COMPL_HEAD, q->head);
	return wrong;
}

static void write_ack(struct host *host, unsigned int core)
{
	cm_device_write(host->dev, host->queue[core].block + CNNACC_QREG_EVENT_ACK, 1);
}

/* Resume a program that an event has suspended; false if there is none. */
static bool acknowledge(struct host *host, struct host_job *job)
{
	uint32_t window = host->queue[job->core].window;

	if (!running(host, job->core) ||
	    host_read(host, window + CNNACC_SEQ_REG_STATE) != CNNACC_SEQ_EVENT)
		return false;
	job->trace = core_trace(job->trace, host_read(host, window + CNNACC_SEQ_REG_PC),
				host_read(host, window + CNNACC_SEQ_REG_EVENT));
	write_ack(host, job->core);
	job->acks++;
	return true;
}

const char *host_run(struct host *host, struct host_job *job)
{
	/* An acknowledgement without a suspended program must have no effect. */
	if (prng_chance(&host->prng, 5))
		write_ack(host, job->core);
	host->moves_left = prng_range(&host->prng, 0, 2);
	submit(host, job);
	for (unsigned int i = 0; i < PATIENCE; i++) {
		if (turn(host, job->core))
			continue;
		if (running(host, job->core))
			maybe_move(host);
		if (!acknowledge(host, job))
			break;
	}
	return collect(host, job);
}

struct worker {
	struct host *host;
	struct host_job *job;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct host *host = worker->host;
	unsigned int core = worker->job->core;
	uint32_t budget;
	bool more;

	for (unsigned int i = 0; i < PATIENCE; i++) {
		pthread_mutex_lock(&host->lock);
		budget = pick_budget(host);
		more = cm_device_begin(host->dev, core);
		if (!more && acknowledge(host, worker->job))
			more = cm_device_begin(host->dev, core);
		pthread_mutex_unlock(&host->lock);
		if (!more)
			break;
		cm_device_run(host->dev, core, budget);
		pthread_mutex_lock(&host->lock);
		cm_device_end(host->dev, core);
		pthread_mutex_unlock(&host->lock);
	}
	return NULL;
}

const char *host_run_together(struct host *host, struct host_job *jobs, unsigned int count)
{
	struct worker workers[CNNACC_MAX_CORES];
	const char *wrong = NULL, *first = NULL;

	for (unsigned int i = 0; i < count; i++)
		submit(host, &jobs[i]);
	for (unsigned int i = 0; i < count; i++) {
		workers[i].host = host;
		workers[i].job = &jobs[i];
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			fprintf(stderr, "golden: cannot create a thread\n");
			exit(2);
		}
	}
	for (unsigned int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < count; i++) {
		wrong = collect(host, &jobs[i]);
		first = first ? first : wrong;
	}
	return first;
}

bool host_reset_core(struct host *host, unsigned int core)
{
	uint32_t reset = host->queue[core].block + CNNACC_QREG_RESET;

	cm_device_write(host->dev, reset, 1);
	for (unsigned int i = 0; host_read(host, reset); i++) {
		if (i == PATIENCE)
			return false;
		turn(host, core);
	}
	enable_queue(host, core);
	return true;
}
