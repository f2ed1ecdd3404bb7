/* SPDX-License-Identifier: MIT */
/* Shared by the tests of the shell: a device with any core, a context, the core's programs. */
#ifndef MODEL_FIXTURE_H
#define MODEL_FIXTURE_H

#include <string.h>

#include "model_host.h"
#include "on_cores.h"

#define DATA_VA		0x00400000u
#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define ELEMENTS(a)	(sizeof(a) / sizeof((a)[0]))

static const struct cnnacc_reg_info global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info queue_regs[] = CNNACC_QUEUE_REGS;

struct fixture {
	struct model_host *h;
	struct mh_space space;
	uint8_t *data;
	uint32_t code[CORE_PROGRAM_MAX / 4];
};

static inline struct fixture make(const char *cores)
{
	struct fixture f = { .h = mh_new(cores, 8 << 20) };

	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.data = mh_map_new(f.h, &f.space, DATA_VA, 4 * PAGE, RW);
	for (unsigned int i = 0; i < cm_device_core_count(f.h->dev); i++)
		mh_queue_init(f.h, i, MH_RING_SIZE, MH_RING_SIZE);
	return f;
}

static inline int setup(void **state)
{
	static struct fixture f;

	f = make(programs->name);
	*state = &f;
	return 0;
}

static inline int setup_two(void **state)
{
	static struct fixture f;
	char cores[128];

	snprintf(cores, sizeof(cores), "%s+%s", programs->name, programs->small);
	f = make(cores);
	*state = &f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	mh_free(f->h);
	return 0;
}

/* A packet for the @bytes of f->code. */
static inline struct cnnacc_packet packet_of(struct fixture *f, uint32_t bytes)
{
	return mh_packet(f->h, &f->space, f->code, bytes / 4);
}

static inline struct cnnacc_packet nop_packet(struct fixture *f)
{
	return packet_of(f, programs->nop(f->code));
}

static inline struct cnnacc_packet endless_packet(struct fixture *f)
{
	return packet_of(f, programs->endless(f->code));
}

/* Runs the @bytes of f->code on core 0. */
static inline struct cnnacc_completion exec_code(struct fixture *f, uint32_t bytes)
{
	return mh_exec(f->h, &f->space, f->code, bytes / 4, NULL);
}

static inline struct cnnacc_completion take(struct fixture *f, unsigned int core)
{
	struct cnnacc_completion record;

	assert_true(mh_completion(f->h, core, &record));
	return record;
}

static inline uint32_t qreg(struct fixture *f, uint32_t reg)
{
	return mh_qread(f->h, 0, reg);
}

static inline void check_reset_values(struct model_host *h, bool counters)
{
	for (size_t i = 0; i < ELEMENTS(global_regs); i++)
		if (!(global_regs[i].flags & (CNNACC_REG_F_BUILD | CNNACC_REG_F_LIVE)))
			assert_int_equal(mh_read(h, global_regs[i].offset), global_regs[i].reset);
	for (unsigned int core = 0; core < cm_device_core_count(h->dev); core++) {
		for (size_t i = 0; i < ELEMENTS(queue_regs); i++)
			assert_int_equal(mh_qread(h, core, queue_regs[i].offset),
					 queue_regs[i].reset);
		for (uint32_t reg = CNNACC_QREG_STATS;
		     counters && reg < CNNACC_QREG_BLOCK_SIZE; reg += 4)
			assert_int_equal(mh_qread(h, core, reg), 0);
	}
}

static inline void run_between(struct fixture *f, unsigned int core)
{
	f->h->running = true;
	cm_device_run(f->h->dev, core, 10000);
	f->h->running = false;
}

/* The discovery table's entry of a core. */
static inline struct cnnacc_core_entry entry_of(struct model_host *h, unsigned int index)
{
	struct cnnacc_core_entry entry;
	uint32_t word[CNNACC_CORE_ENTRY_SIZE / 4];

	for (unsigned int i = 0; i < ELEMENTS(word); i++)
		word[i] = mh_read(h, mh_read(h, CNNACC_REG_CORE_TABLE) + index * sizeof(entry) +
				  i * 4);
	memcpy(&entry, word, sizeof(entry));
	return entry;
}

#define T(name)		cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TWO(name)	cmocka_unit_test_setup_teardown(name, setup_two, teardown)

#endif
