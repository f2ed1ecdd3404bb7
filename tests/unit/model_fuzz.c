// SPDX-License-Identifier: MIT
/*
 * Hostile software: random registers, rings, tables and programs.  Nothing may
 * crash, hang or leave RAM; built with sanitizers this is a fuzzer with fixed seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cnnacc_hwpe.h"
#include "model_asm.h"
#include "model_host.h"

#define CORES	"ccp:data-bank=8192:weight-bank=2048:lob=4:icache=512:job-cycles-max=20000+" \
		"ccp:data-bank=4096:weight-bank=1024:lob=1:icache=256:job-cycles-max=1000000+" \
		"hwpe:fmap=4096:kernel=4096:program=1024:job-cycles-max=20000"
#define CORE_COUNT 3
#define HWPE	2
#define PAGE	CNNACC_PAGE_SIZE
#define RW	(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define DATA_VA	0x00000000u
#define RAM	(1 << 20)

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	return mh_random(&seed) % n;
}

static uint32_t any_value(void)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 64, 4096, 0x1000, 0x2000, 0x8000, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0xffffffff,
	};

	switch (rnd(3)) {
	case 0:
		return values[rnd(sizeof(values) / sizeof(values[0]))];
	case 1:
		return rnd(64);
	}
	return mh_random(&seed);
}

static uint32_t any_offset(void)
{
	if (rnd(4))
		return 0x2000 + rnd(CORE_COUNT) * 0x100 + rnd(24) * 4;
	return rnd(2) ? rnd(32) * 4 : rnd(0x12000);
}

/* One call of a core's worker, so that the cores' calls interleave. */
static void work(struct model_host *h, bool in_run[CORE_COUNT])
{
	unsigned int core = rnd(CORE_COUNT);

	if (!in_run[core]) {
		in_run[core] = cm_device_begin(h->dev, core);
		return;
	}
	if (rnd(2)) {
		h->running = true;
		cm_device_run(h->dev, core, rnd(20000));
		h->running = false;
	}
	cm_device_end(h->dev, core);
	in_run[core] = false;
}

static void settle(struct model_host *h, bool in_run[CORE_COUNT])
{
	for (unsigned int i = 0; i < CORE_COUNT; i++)
		if (in_run[i])
			cm_device_end(h->dev, i);
}

static void test_registers(void **state)
{
	(void)state;
	for (seed = 1; seed < 100;) {
		struct model_host *h = mh_new(CORES, RAM);
		uint64_t start = seed;
		bool in_run[CORE_COUNT] = { false };

		for (unsigned int i = 0; i < RAM / 4; i++)
			((uint32_t *)h->ram)[i] = rnd(4) ? 0 : any_value();
		for (unsigned int i = 0; i < 20000; i++) {
			switch (rnd(4)) {
			case 0:
				work(h, in_run);
				break;
			case 1:
				mh_read(h, any_offset());
				break;
			default:
				mh_write(h, any_offset(), rnd(3) ? any_value() : 1);
			}
		}
		settle(h, in_run);
		mh_free(h);
		seed = start + 1;
	}
}

static uint32_t any_insn(void)
{
	switch (rnd(12)) {
	case 0: case 1: case 2:
		return CNNACC_CCP_INSN_LDI(rnd(8), rnd(3) ? rnd(70) : any_value());
	case 3:
		return CNNACC_CCP_INSN_LDIH(rnd(8), rnd(3) ? rnd(20) : any_value());
	case 4:
		return CNNACC_CCP_INSN_ADDI(rnd(8), rnd(8), rnd(2) ? 0xffff : 1);
	case 5: case 6:
		return CNNACC_CCP_INSN_LOAD(rnd(8), rnd(8), rnd(8), rnd(8));
	case 7:
		return CNNACC_CCP_INSN_STORE(rnd(8), rnd(8), rnd(8), rnd(2));
	case 8:
		return CNNACC_CCP_INSN_CFG(rnd(4), rnd(8) ? 0 : rnd(4));
	case 9:
		return CNNACC_CCP_INSN_EXEC(rnd(4));
	case 10:
		return rnd(2) ? CNNACC_CCP_INSN_SWAP : CNNACC_CCP_INSN_BNZ(rnd(8), rnd(100));
	}
	return rnd(8) ? mh_random(&seed) & 0x9fffffff : 0;
}

/* A unit's configuration that is valid or nearly so. */
static void any_layer(struct masm *a)
{
	unsigned int unit = rnd(4), is = 1 + rnd(12), k = 1 + rnd(3), s = 1 + rnd(2);
	unsigned int os = is >= k ? (is - k) / s + 1 : 1, c = 1 + rnd(4), co = 1 + rnd(6);
	uint32_t g[8] = { 0 }, g1[8] = { 0 };

	switch (unit) {
	case CNNACC_CCP_CONV:
		g[0] = rnd(4) | s << 8 | k << 16;
		g[1] = is | os << 16;
		g[2] = c | co << 16;
		g[3] = (c - 1) << 16;
		g[4] = rnd(3) | rnd(3) << 16;
		g[5] = (1 + rnd(16)) | rnd(4) << 8;
		break;
	case CNNACC_CCP_POOL:
		g[0] = rnd(2) | s << 8 | (2 + rnd(2)) << 16;
		g[1] = is;
		g[2] = c;
		break;
	case CNNACC_CCP_PAD:
		g[0] = 1 + rnd(2);
		g[1] = is;
		g[2] = c;
		break;
	case CNNACC_CCP_FC:
		g[0] = rnd(4);
		g[1] = 1 + rnd(60);
		g[2] = 1 + rnd(8);
	}
	for (unsigned int n = rnd(4); n > 2; n--)
		g[rnd(8)] = any_value();
	if (!rnd(4))
		g1[rnd(8)] = any_value();
	if (unit == CNNACC_CCP_CONV)
		ma_cfg(a, unit, 1, g1);
	ma_cfg(a, unit, 0, g);
	ma_exec(a, unit);
}

static void any_program(struct masm *a, unsigned int words)
{
	a->n = 0;
	while (a->n + 40 < words) {
		if (rnd(3))
			any_layer(a);
		for (unsigned int i = rnd(8); i; i--)
			ma_emit(a, any_insn());
	}
	ma_end(a);
}

static struct cnnacc_packet any_packet(struct model_host *h, const struct mh_space *s,
				       const struct masm *a)
{
	struct cnnacc_packet p = mh_packet(h, s, a->word, a->n);

	p.cycle_limit = 1 + rnd(20000);
	if (!rnd(20))
		((uint32_t *)&p)[rnd(16)] = any_value();
	return p;
}

/* ---- the sequencer and hwpe ---- */

/* An address near the end of a small memory, or any. */
static uint32_t any_size(void)
{
	return rnd(6) ? rnd(5) * 1024 + rnd(3) - 1 + rnd(2) * rnd(200) : any_value();
}

static uint32_t any_hwpe_insn(void)
{
	static const struct {
		uint32_t funct, flags;
	} insns[] = {
		{ CNNACC_HWPE_WRITE_FMAP_ADDR, CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2 },
		{ CNNACC_HWPE_WRITE_CFG, CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2 },
		{ CNNACC_HWPE_MATRIX_MAC, CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2 },
		{ CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1 },
		{ CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD },
		{ CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1 },
		{ CNNACC_HWPE_RESET, 0 },
	};
	unsigned int i = rnd(7);

	return CNNACC_HWPE_INSN(insns[i].funct, insns[i].flags, rnd(8), rnd(4) ? rnd(8) : rnd(32),
				rnd(4) ? rnd(8) : rnd(32));
}

static struct cnnacc_seq_command any_command(void)
{
	struct cnnacc_seq_command c = { .op = rnd(30) ? 1 + rnd(7) : 0 };

	switch (c.op) {
	case CNNACC_SEQ_COPY2D:
		c.op |= rnd(2) * CNNACC_SEQ_TO_MEMORY | rnd(3) << 16;
		c.arg[0] = any_size();
		/* fall through */
	case CNNACC_SEQ_FILL:
		c.op |= rnd(3) << 16;
		c.arg[1] = any_size();
		c.arg[2] = rnd(4) ? rnd(5) : any_value();
		c.arg[3] = any_size();
		c.arg[5] = any_size();
		break;
	case CNNACC_SEQ_EXEC:
		c.arg[0] = any_hwpe_insn();
		c.arg[4] = rnd(8) ? 0 : any_value();
		break;
	case CNNACC_SEQ_DRAIN:
		c.op |= rnd(2) * CNNACC_SEQ_RESUME | rnd(10) << 16;
		c.arg[0] = any_size() & ~3u;
		c.arg[1] = rnd(4);
		c.arg[4] = any_size() & ~3u;
		break;
	case CNNACC_SEQ_WAIT:
		c.arg[0] = 1 + rnd(3);
		break;
	case CNNACC_SEQ_IRQ:
		c.arg[0] = any_value();
		break;
	case CNNACC_SEQ_LOOP:
		c.op |= rnd(12) << 16;
		c.arg[0] = rnd(8) ? rnd(6) : any_value();
		c.arg[1] = CNNACC_SEQ_STEP(rnd(3), rnd(3), rnd(8));
		c.arg[2] = rnd(2) ? rnd(80) : any_value();
		break;
	}
	if (!rnd(40))
		c.arg[rnd(7)] = any_value();
	return c;
}

static struct cnnacc_seq_command exec2(uint32_t funct, uint32_t rd, uint32_t a, uint32_t b)
{
	const uint32_t flags = CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2;

	return (struct cnnacc_seq_command){
		.op = CNNACC_SEQ_EXEC,
		.arg = { CNNACC_HWPE_INSN(funct, flags, rd, 0, 0), 0, 0, 0, a, b },
	};
}

/* A task that is valid or nearly so, then random commands. */
static void any_hwpe_program(struct masm *a)
{
	struct cnnacc_seq_command c[1024 / sizeof(struct cnnacc_seq_command)];
	uint32_t n = 0, kernel = 1 + rnd(3), type = rnd(4), task = rnd(8);

	for (; task && n < 4; n++)
		c[n] = exec2(CNNACC_HWPE_WRITE_FMAP_ADDR, 2 * n, rnd(3000),
			     CNNACC_HWPE_SRAM2 + rnd(3000));
	if (task) {
		uint32_t input = type % 3 ? 0 : rnd(2) * CNNACC_HWPE_CFG_INPUT;

		c[n++] = exec2(CNNACC_HWPE_WRITE_CFG, 0, (1 + rnd(9)) | rnd(100) << 16,
			       kernel | type << 4 | input | rnd(4) << 13);
		c[n++] = exec2(CNNACC_HWPE_MATRIX_MAC, 0, rnd(4) | rnd(4) << 16,
			       rnd(200) | rnd(200) << 16);
		c[n - 1].op |= rnd(2) * CNNACC_SEQ_EVENTS;
		c[n++] = (struct cnnacc_seq_command){ CNNACC_SEQ_WAIT, { CNNACC_HWPE_WAIT_ROUND } };
	}
	while (n < sizeof(c) / sizeof(c[0]))
		c[n++] = any_command();
	a->n = sizeof(c) / 4;
	memcpy(a->word, c, sizeof(c));
}

/* The host's time is bounded by the cycle limit, whatever runs. */
static void check_jobs(struct model_host *h, const struct mh_space *space, unsigned int count)
{
	struct masm a;

	for (unsigned int i = 0; i < count; i++) {
		unsigned int core = rnd(CORE_COUNT), runs = 0;
		struct cnnacc_completion done;
		struct cnnacc_packet p;

		if (core == HWPE)
			any_hwpe_program(&a);
		else
			any_program(&a, core ? 64 : 128);
		p = any_packet(h, &space[rnd(2)], &a);
		mh_submit(h, core, &p);
		while (mh_work_once(h, core, rnd(4) ? 5000 : 1)) {
			assert_true(++runs < 200000);
			mh_qwrite(h, core, CNNACC_QREG_EVENT_ACK, 1);
		}
		assert_true(mh_completion(h, core, &done));
		assert_int_equal(done.fence, p.fence);
		if (done.status_class)
			mh_core_reset(h, core);
	}
}

static void test_programs(void **state)
{
	struct model_host *h = mh_new(CORES, RAM);
	struct mh_space space[2];

	(void)state;
	seed = 77;
	for (unsigned int i = 0; i < CORE_COUNT; i++)
		mh_queue_init(h, i, MH_RING_SIZE, MH_RING_SIZE);
	for (unsigned int i = 0; i < 2; i++) {
		float *data;

		space[i] = mh_space_new(h, i);
		mh_map_job(h, &space[i]);
		data = mh_map_new(h, &space[i], DATA_VA, 4 * PAGE, RW | CNNACC_PTE_EXEC);
		for (unsigned int j = 0; j < PAGE; j++)
			data[j] = (float)rnd(2000) - 1000.0f;
	}
	check_jobs(h, space, 30000);
	mh_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests_name("model_fuzz", tests, NULL, NULL);
}
