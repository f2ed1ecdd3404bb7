/* SPDX-License-Identifier: MIT */
/* Shared by the tests of the shell: a device, a context, some programs. */
#ifndef MODEL_FIXTURE_H
#define MODEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model_asm.h"
#include "model_host.h"

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

	f = make(NULL);
	*state = &f;
	return 0;
}

static inline int setup_two(void **state)
{
	static struct fixture f;

	f = make("ccp+ccp:data-bank=65536");
	*state = &f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	mh_free(f->h);
	return 0;
}

static const uint32_t nop[] = { CNNACC_CCP_INSN_NOP };
/* Never ends. */
static const uint32_t loop[] = {
	CNNACC_CCP_INSN_LDI(0, 1), CNNACC_CCP_INSN_BNZ(0, 1),
};

static inline struct cnnacc_packet packet_of(struct fixture *f, const uint32_t *program, size_t words)
{
	return mh_packet(f->h, &f->space, program, words);
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

#define T(name)		cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TWO(name)	cmocka_unit_test_setup_teardown(name, setup_two, teardown)

#endif
