// SPDX-License-Identifier: MIT
/* Core ccp: instructions, every check, timing rules and counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model_asm.h"
#include "model_host.h"

#define DATA_VA		0x00400000u
#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define ELEMENTS(a)	(sizeof(a) / sizeof((a)[0]))
#define BANK_FLOATS	(CNNACC_CCP_DATA_BANK_DEFAULT / 4)
#define WEIGHT_FLOATS	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / 4)

struct fixture {
	struct model_host *h;
	struct mh_space space;
	uint32_t *data;
};

static int setup(void **state)
{
	static struct fixture f;

	f.h = mh_new(NULL, 8 << 20);
	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.data = mh_map_new(f.h, &f.space, DATA_VA, 16 * PAGE, RW | CNNACC_PTE_EXEC);
	mh_queue_init(f.h, 0, MH_RING_SIZE, MH_RING_SIZE);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	mh_free(f->h);
	return 0;
}

static struct cnnacc_completion run(struct fixture *f, const struct masm *a,
				    struct cnnacc_stats *stats)
{
	return mh_exec(f->h, &f->space, a->word, a->n, stats);
}

static struct cnnacc_stats run_ok(struct fixture *f, const struct masm *a)
{
	struct cnnacc_stats stats;

	assert_int_equal(run(f, a, &stats).status_class, CNNACC_STATUS_OK);
	return stats;
}

static uint32_t window(struct fixture *f, uint32_t reg)
{
	return mh_wread(f->h, 0, reg);
}

/* --------------------------------------------------------- instructions */

static void test_simple_instructions(void **state)
{
	struct fixture *f = *state;
	const uint32_t program[] = {
		CNNACC_CCP_INSN_LDI(0, 0xffff),
		CNNACC_CCP_INSN_LDIH(1, 0x8001),
		CNNACC_CCP_INSN_ADDI(1, 1, 0x7fff),
		CNNACC_CCP_INSN_ADDI(2, 3, -1),
		CNNACC_CCP_INSN_LDI(3, 3),
		CNNACC_CCP_INSN_ADDI(3, 3, -1),		/* 5 */
		CNNACC_CCP_INSN_ADDI(4, 4, 2),
		CNNACC_CCP_INSN_BNZ(3, 5),
		CNNACC_CCP_INSN_SWAP | 0x0fffffff,	/* unused bits are ignored */
		CNNACC_CCP_INSN_CFG(3, 0),
		CNNACC_CCP_INSN_NOP | 0x0fffffff,
	};
	struct cnnacc_stats stats;
	struct cnnacc_completion done;

	done = mh_exec(f->h, &f->space, program, ELEMENTS(program), &stats);
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(done.pc, 10);
	assert_int_equal(window(f, CNNACC_CCP_REG_GPR(0)), 0xffff);
	assert_int_equal(window(f, CNNACC_CCP_REG_GPR(1)), 0x80017fff);
	assert_int_equal(window(f, CNNACC_CCP_REG_GPR(2)), 0xffffffff);
	assert_int_equal(window(f, CNNACC_CCP_REG_GPR(4)), 6);
	assert_int_equal(window(f, CNNACC_CCP_REG_FC0(4)), 6);
	assert_int_equal(window(f, CNNACC_CCP_REG_BANK_SEL), 1);
	assert_int_equal(window(f, CNNACC_CCP_REG_PC), 10);
	assert_int_equal(window(f, CNNACC_CCP_REG_STATE), CNNACC_CCP_WAIT);
	/* boot 17, five plain, 3 * 2 in the loop, BNZ 2 + 2 + 1, SWAP, CFG 8, NOP */
	assert_int_equal(stats.cycles, 17 + 5 + 6 + 5 + 1 + 8 + 1);
	assert_int_equal(stats.cycles_serial, stats.cycles);
	assert_int_equal(stats.instructions, 5 + 9 + 3);
}

/* Registers are zero at the start of the next job. */
static void test_fresh_registers(void **state)
{
	struct fixture *f = *state;
	const uint32_t program[] = { CNNACC_CCP_INSN_LDI(5, 5), CNNACC_CCP_INSN_SWAP, 0 };

	mh_exec(f->h, &f->space, program, 3, NULL);
	mh_exec(f->h, &f->space, program + 2, 1, NULL);
	assert_int_equal(window(f, CNNACC_CCP_REG_GPR(5)), 0);
	assert_int_equal(window(f, CNNACC_CCP_REG_BANK_SEL), 0);
}

/* A program may load its next part over itself. */
static void test_load_icache(void **state)
{
	struct fixture *f = *state;
	struct masm a = { .n = 0 };
	struct cnnacc_stats stats;

	f->data[0] = CNNACC_CCP_INSN_LDI(7, 77);
	f->data[1] = CNNACC_CCP_INSN_NOP;
	ma_dma(&a, 0, DATA_VA, 1, 1, CNNACC_CCP_TGT_ICACHE);
	ma_emit(&a, CNNACC_CCP_INSN_LDI(6, 1));
	ma_emit(&a, CNNACC_CCP_INSN_BNZ(6, 16));
	stats = run_ok(f, &a);
	assert_int_equal(window(f, CNNACC_CCP_REG_GPR(7)), 77);
	/* boot, four registers, LOAD waited for, LDI, BNZ taken, LDI, NOP */
	assert_int_equal(stats.cycles, 17 + 4 + (1 + 17) + 1 + 2 + 1 + 1);
}

static void test_rest_of_icache_is_nop(void **state)
{
	struct fixture *f = *state;
	uint32_t program[32];

	for (unsigned int i = 0; i < ELEMENTS(program); i++)
		program[i] = CNNACC_CCP_INSN_LDI(0, i);
	assert_int_equal(mh_exec(f->h, &f->space, program, 32, NULL).pc, 32);
	assert_int_equal(mh_exec(f->h, &f->space, program, 5, NULL).pc, 5);
}

static void check_end(struct fixture *f, const uint32_t *program, size_t words,
		      uint32_t status_class, uint32_t code, uint32_t detail, uint32_t pc)
{
	struct cnnacc_completion done = mh_exec(f->h, &f->space, program, words, NULL);

	assert_int_equal(done.status_class, status_class);
	assert_int_equal(done.status_code, code);
	assert_int_equal(done.detail, detail);
	assert_int_equal(done.pc, pc);
	assert_int_equal(done.access, 0);
	assert_int_equal(done.fault_va, 0);
}

static void test_illegal(void **state)
{
	struct fixture *f = *state;
	const uint32_t bad[] = {
		0xa0000000, 0xb0000000, 0xc0000000, 0xd0000000, 0xe0000000, 0xffffffff,
		CNNACC_CCP_INSN_CFG(0, 2), CNNACC_CCP_INSN_CFG(0, 3), CNNACC_CCP_INSN_CFG(1, 1),
		CNNACC_CCP_INSN_CFG(2, 2), CNNACC_CCP_INSN_CFG(3, 1),
		CNNACC_CCP_INSN_LOAD(0, 0, 0, 3),
		CNNACC_CCP_INSN_STORE(0, 0, 0, 2), CNNACC_CCP_INSN_STORE(0, 0, 0, 3),
		CNNACC_CCP_INSN_STORE(0, 0, 0, 4), CNNACC_CCP_INSN_STORE(0, 0, 0, 7),
	};

	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		uint32_t program[] = { CNNACC_CCP_INSN_LDI(0, 0), bad[i] };

		check_end(f, program, 2, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_ILLEGAL, 0, 1);
	}
}

static void test_pc(void **state)
{
	struct fixture *f = *state;
	struct masm a = { .n = 0 };

	while (a.n < ELEMENTS(a.word))
		ma_emit(&a, CNNACC_CCP_INSN_SWAP);
	check_end(f, a.word, a.n, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_PC, 0, 2048);
}

static void test_pc_small_icache(void **state)
{
	struct model_host *h = mh_new("ccp:icache=256", 1 << 20);
	struct mh_space space = mh_space_new(h, 1);
	const uint32_t program[] = { CNNACC_CCP_INSN_LDI(0, 1), CNNACC_CCP_INSN_BNZ(0, 2047) };
	struct cnnacc_completion done;

	(void)state;
	mh_map_job(h, &space);
	mh_queue_init(h, 0, 8, 8);
	done = mh_exec(h, &space, program, 2, NULL);
	assert_int_equal(done.status_code, CNNACC_CCP_E_PC);
	assert_int_equal(done.pc, 2047);
	mh_free(h);
}

static void test_dma_range(void **state)
{
	static const struct { uint32_t store, target, lines; } targets[] = {
		{ 0, 0, BANK_FLOATS / 16 }, { 1, 0, BANK_FLOATS / 16 },
		{ 0, 1, BANK_FLOATS / 16 }, { 1, 1, BANK_FLOATS / 16 },
		{ 0, 2, 128 }, { 0, 4, WEIGHT_FLOATS / 16 }, { 0, 7, WEIGHT_FLOATS / 16 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ELEMENTS(targets); i++) {
		const uint32_t lines = targets[i].lines;
		const struct { uint32_t len, at; bool ok; } cases[] = {
			{ 1, lines - 1, true }, { 1, lines, false }, { 2, lines - 1, false },
			{ 0xffffffff, 1, false }, { 1, 0xffffffff, false },
			{ 0, 0xffffffff, true },
		};

		for (size_t j = 0; j < ELEMENTS(cases); j++) {
			struct masm a = { .n = 0 };
			struct cnnacc_completion done;

			ma_dma(&a, targets[i].store, DATA_VA, cases[j].len, cases[j].at,
			       targets[i].target);
			ma_end(&a);
			done = run(f, &a, NULL);
			assert_int_equal(done.status_code, cases[j].ok ? 0 : CNNACC_CCP_E_RANGE);
			assert_int_equal(done.detail, cases[j].ok ? 0 : CNNACC_CCP_RANGE_DMA);
		}
	}
}

/* ---------------------------------------------------------- unit checks */

/* Registers of a small valid layer for each unit; conv's second group follows. */
static const uint32_t good_conv0[8] = {
	3 | 1 << 8 | 3 << 16, 8 | 6 << 16, 4 | 8 << 16, 3 << 16, 0, 16 | 3 << 8, 0, 0x12345678,
};
static const uint32_t good_conv1[8] = { 0, 0, 0, 512 };
static const uint32_t good_pool[8] = { 2 << 8 | 3 << 16, 8, 2, 0, 0 };
static const uint32_t good_pad[8] = { 1, 8, 2, 0, 0, 0, 0, 0x12345678 };
static const uint32_t good_fc[8] = { 3, 40, 6, 0, 0, 0, 512, 0x12345678 };

struct bad_param {
	unsigned int group, word;
	uint32_t value;
	uint32_t field;
};

static void check_params(struct fixture *f, unsigned int unit, const uint32_t *g0,
			 const uint32_t *g1, uint32_t field)
{
	struct masm a = { .n = 0 };
	struct cnnacc_completion done;

	ma_cfg(&a, unit, 0, g0);
	if (g1)
		ma_cfg(&a, unit, 1, g1);
	ma_exec(&a, unit);
	ma_end(&a);
	done = run(f, &a, NULL);
	if (field) {
		assert_int_equal(done.detail, field);
		assert_int_equal(done.pc, a.n - 2);
	}
	if (!field)
		assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	else if (field >= CNNACC_CCP_RANGE_INPUT) {
		assert_int_equal(done.status_class, CNNACC_STATUS_BAD_PROGRAM);
		assert_int_equal(done.status_code, CNNACC_CCP_E_RANGE);
	} else {
		assert_int_equal(done.status_class, CNNACC_STATUS_CONFIG);
		assert_int_equal(done.status_code, CNNACC_CCP_E_CFG);
	}
}

static void check_table(struct fixture *f, unsigned int unit, const uint32_t *good0,
			const uint32_t *good1, const struct bad_param *bad, size_t n)
{
	check_params(f, unit, good0, good1, 0);
	for (size_t i = 0; i < n; i++) {
		uint32_t g[2][8];

		memcpy(g[0], good0, sizeof(g[0]));
		if (good1)
			memcpy(g[1], good1, sizeof(g[1]));
		g[bad[i].group][bad[i].word] = bad[i].value;
		check_params(f, unit, g[0], good1 ? g[1] : NULL, bad[i].field);
	}
}


#define G0(word, value, field)	{ 0, word, value, CNNACC_CCP_##field }
#define G1(word, value, field)	{ 1, word, value, CNNACC_CCP_##field }
#define MINUS_1			0xffffffffu

static void test_conv_checks(void **state)
{
	const uint32_t r0 = good_conv0[0], r5 = good_conv0[5];
	const struct bad_param bad[] = {
		G0(0, r0 | 4, BAD_RESERVED), G0(0, r0 | 0x80, BAD_RESERVED),
		G0(5, r5 | 1 << 5, BAD_RESERVED), G0(5, r5 | 1 << 7, BAD_RESERVED),
		G0(5, r5 | 1 << 10, BAD_RESERVED), G0(5, r5 | 1 << 15, BAD_RESERVED),
		G1(7, 1 << 16, BAD_RESERVED), G1(7, 1u << 31, BAD_RESERVED),
		G0(0, 1 << 8, BAD_KERNEL), G0(0, 1 << 8 | 12 << 16, BAD_KERNEL),
		G0(0, 1 << 8 | 255 << 16, BAD_KERNEL), G0(0, r0 | 12u << 28, BAD_KERNEL),
		G0(0, 3 << 16, BAD_STRIDE), G0(0, 9 << 8 | 3 << 16, BAD_STRIDE),
		G0(0, r0 | 9 << 24, BAD_STRIDE),
		G0(1, 6 << 16, BAD_IN_SIZE), G0(1, 2 | 1 << 16, BAD_IN_SIZE),
		G1(4, 2, BAD_IN_SIZE),
		G0(1, 8 | 5 << 16, BAD_OUT_SIZE), G0(1, 8 | 7 << 16, BAD_OUT_SIZE),
		G0(1, 8, BAD_OUT_SIZE), G1(4, 5 << 16, BAD_OUT_SIZE), G1(4, 9, BAD_OUT_SIZE),
		G0(6, 1 << 16, BAD_OUT_SIZE), G0(6, 1u << 28, BAD_OUT_SIZE),
		G0(2, 8 << 16, BAD_CHANNELS), G0(2, 4, BAD_CHANNELS),
		G0(3, 2 | 1 << 16, BAD_CHANNELS), G0(3, 4 << 16, BAD_CHANNELS),
		G0(5, r5 | 8 << 16, BAD_CHANNELS), G0(5, r5 | 0xffffu << 16, BAD_CHANNELS),
		G0(6, 9, BAD_CHANNELS), G0(6, 0xffff, BAD_CHANNELS),
		G0(2, 4 | 1025 << 16, BAD_CHANNELS),
		G0(5, r5 & ~31u, BAD_VEC_ACTIVE), G0(5, 17 | 3 << 8, BAD_VEC_ACTIVE),
		G0(3, 1 | 3 << 16, BAD_CONTINUE),
		G1(5, 63, BAD_IN_PITCH), G1(5, 1, BAD_IN_PITCH), G1(6, 35, BAD_OUT_PITCH),
		G1(0, MINUS_1, RANGE_INPUT), G1(0, BANK_FLOATS - 255, RANGE_INPUT),
		G1(5, MINUS_1, RANGE_INPUT), G1(0, 0x7fffffff, RANGE_INPUT),
		G1(1, MINUS_1, RANGE_OUTPUT), G1(1, BANK_FLOATS - 8 * 36 + 1, RANGE_OUTPUT),
		G1(6, 0x80000000, RANGE_OUTPUT),
		G1(2, MINUS_1, RANGE_WEIGHT), G1(2, WEIGHT_FLOATS - 71, RANGE_WEIGHT),
		G1(7, 1817, RANGE_WEIGHT),
		G1(3, MINUS_1, RANGE_BIAS), G1(3, WEIGHT_FLOATS - 1, RANGE_BIAS),
		/* Just inside. */
		{ 1, 0, BANK_FLOATS - 256, 0 }, { 1, 1, BANK_FLOATS - 8 * 36, 0 },
		{ 1, 2, WEIGHT_FLOATS - 72, 0 }, { 1, 3, WEIGHT_FLOATS - 2, 0 },
		{ 1, 7, 1816, 0 }, { 1, 5, 64, 0 }, { 1, 6, 36, 0 }, { 0, 4, 0xffffffff, 0 },
	};

	check_table(*state, CNNACC_CCP_CONV, good_conv0, good_conv1, bad, ELEMENTS(bad));
}

static void test_pool_checks(void **state)
{
	const uint32_t r0 = good_pool[0], s2 = 2 << 8;
	const struct bad_param bad[] = {
		G0(0, r0 | 2, BAD_RESERVED), G0(0, r0 | 0x80, BAD_RESERVED),
		G0(0, s2, BAD_KERNEL), G0(0, s2 | 1 << 16, BAD_KERNEL),
		G0(0, s2 | 4 << 16, BAD_KERNEL), G0(0, s2 | 1 << 16 | 1 << 28, BAD_KERNEL),
		G0(0, s2 | 2 << 28, BAD_KERNEL), G0(0, s2 | 4 << 16 | 1 << 28, BAD_KERNEL),
		G0(0, r0 | 4 << 28, BAD_KERNEL),
		G0(0, 3 << 16, BAD_STRIDE), G0(0, 9 << 8 | 3 << 16, BAD_STRIDE),
		G0(0, r0 | 9 << 24, BAD_STRIDE),
		G0(1, 0, BAD_IN_SIZE), G0(1, 2, BAD_IN_SIZE), G0(1, 8 | 2 << 16, BAD_IN_SIZE),
		G0(1, 8 << 16, BAD_IN_SIZE),
		G0(5, 5, BAD_OUT_SIZE), G0(5, 5 << 16, BAD_OUT_SIZE),
		G0(2, 0, BAD_CHANNELS),
		G0(6, 63, BAD_IN_PITCH), G0(7, 15, BAD_OUT_PITCH),
		G0(3, MINUS_1, RANGE_INPUT), G0(3, BANK_FLOATS - 127, RANGE_INPUT),
		G0(6, MINUS_1, RANGE_INPUT),
		G0(4, MINUS_1, RANGE_OUTPUT), G0(4, BANK_FLOATS - 31, RANGE_OUTPUT),
		G0(7, MINUS_1, RANGE_OUTPUT),
		{ 0, 0, s2 | 1 << 16 | 3 << 28, 0 }, { 0, 0, s2 | 3 << 16 | 1 << 28, 0 },
		{ 0, 5, 4 | 1 << 16, 0 }, { 0, 3, BANK_FLOATS - 128, 0 },
		{ 0, 4, BANK_FLOATS - 32, 0 }, { 0, 6, 64, 0 }, { 0, 7, 16, 0 },
		{ 0, 2, 2 | 0xffffu << 16, 0 },
	};

	check_table(*state, CNNACC_CCP_POOL, good_pool, NULL, bad, ELEMENTS(bad));
}

static void test_pad_checks(void **state)
{
	static const struct bad_param bad[] = {
		G0(2, 2 | 1 << 16, BAD_RESERVED), G0(2, 2 | 1u << 31, BAD_RESERVED),
		G0(0, 0, BAD_PAD), G0(0, 3, BAD_PAD), G0(0, 0x101, BAD_PAD),
		G0(1, 0, BAD_IN_SIZE), G0(1, 8 << 16, BAD_IN_SIZE),
		G0(2, 0, BAD_CHANNELS),
		G0(5, 63, BAD_IN_PITCH), G0(6, 99, BAD_OUT_PITCH),
		G0(3, MINUS_1, RANGE_INPUT), G0(3, BANK_FLOATS - 127, RANGE_INPUT),
		G0(4, MINUS_1, RANGE_OUTPUT), G0(4, BANK_FLOATS - 199, RANGE_OUTPUT),
		{ 0, 0, 2, 0 }, { 0, 3, BANK_FLOATS - 128, 0 }, { 0, 4, BANK_FLOATS - 200, 0 },
	};

	check_table(*state, CNNACC_CCP_PAD, good_pad, NULL, bad, ELEMENTS(bad));
}

static void test_fc_checks(void **state)
{
	static const struct bad_param bad[] = {
		G0(0, 4, BAD_RESERVED), G0(0, 1u << 31, BAD_RESERVED),
		G0(1, 0, BAD_LENGTH), G0(2, 0, BAD_LENGTH),
		G0(3, MINUS_1, RANGE_INPUT), G0(3, BANK_FLOATS - 39, RANGE_INPUT),
		G0(1, MINUS_1, RANGE_INPUT), G0(3, 0x7fffffff, RANGE_INPUT),
		G0(4, MINUS_1, RANGE_OUTPUT), G0(4, BANK_FLOATS - 5, RANGE_OUTPUT),
		G0(2, MINUS_1, RANGE_OUTPUT),
		G0(5, MINUS_1, RANGE_WEIGHT), G0(5, 4 * WEIGHT_FLOATS - 287, RANGE_WEIGHT),
		G0(2, BANK_FLOATS, RANGE_WEIGHT),
		G0(6, MINUS_1, RANGE_BIAS), G0(6, 4 * WEIGHT_FLOATS - 5, RANGE_BIAS),
		{ 0, 3, BANK_FLOATS - 40, 0 }, { 0, 4, BANK_FLOATS - 6, 0 },
		{ 0, 5, 4 * WEIGHT_FLOATS - 288, 0 }, { 0, 6, 4 * WEIGHT_FLOATS - 6, 0 },
	};

	check_table(*state, CNNACC_CCP_FC, good_fc, NULL, bad, ELEMENTS(bad));
}

struct fix {
	uint32_t field;
	unsigned int group, word;
	uint32_t value;		/* valid value of the field */
};

/* All fields are wrong: after the reported one is corrected, the next in the order is reported. */
static void check_order(struct fixture *f, unsigned int unit, uint32_t g[2][8], bool two,
			const struct fix *fixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_params(f, unit, g[0], two ? g[1] : NULL, fixes[i].field);
		g[fixes[i].group][fixes[i].word] = fixes[i].value;
	}
	check_params(f, unit, g[0], two ? g[1] : NULL, 0);
}

static void test_conv_order(void **state)
{
	uint32_t g[2][8] = {
		{ 0x82, 8 | 9 << 16, 4 | 8 << 16, 5 | 3 << 16, 0, 0x300, 0, 0 },
		{ MINUS_1, MINUS_1, MINUS_1, MINUS_1, 2, 1, 1, 0 },
	};
	static const struct fix fixes[] = {
		{ CNNACC_CCP_BAD_RESERVED, 0, 0, 2 },
		{ CNNACC_CCP_BAD_KERNEL, 0, 0, 2 | 3 << 16 },
		{ CNNACC_CCP_BAD_STRIDE, 0, 0, 2 | 1 << 8 | 3 << 16 },
		{ CNNACC_CCP_BAD_IN_SIZE, 1, 4, 0 },
		{ CNNACC_CCP_BAD_OUT_SIZE, 0, 1, 8 | 6 << 16 },
		{ CNNACC_CCP_BAD_CHANNELS, 0, 3, 1 | 3 << 16 },
		{ CNNACC_CCP_BAD_VEC_ACTIVE, 0, 5, 0x310 },
		{ CNNACC_CCP_BAD_CONTINUE, 0, 3, 3 << 16 },
		{ CNNACC_CCP_BAD_IN_PITCH, 1, 5, 0 },
		{ CNNACC_CCP_BAD_OUT_PITCH, 1, 6, 0 },
		{ CNNACC_CCP_RANGE_INPUT, 1, 0, 0 },
		{ CNNACC_CCP_RANGE_OUTPUT, 1, 1, 0 },
		{ CNNACC_CCP_RANGE_WEIGHT, 1, 2, 0 },
		{ CNNACC_CCP_RANGE_BIAS, 1, 3, 0 },
	};

	check_order(*state, CNNACC_CCP_CONV, g, true, fixes, ELEMENTS(fixes));
}

static void test_other_orders(void **state)
{
	uint32_t pool[2][8] = { { 0x80, 2, 0, MINUS_1, MINUS_1, 9, 1, 1 } };
	uint32_t pad[2][8] = { { 0, 0, 1 << 16, MINUS_1, MINUS_1, 1, 1 } };
	uint32_t fc[2][8] = { { 6, 0, 6, MINUS_1, MINUS_1, MINUS_1, MINUS_1 } };
	static const struct fix pool_fixes[] = {
		{ CNNACC_CCP_BAD_RESERVED, 0, 0, 0 },
		{ CNNACC_CCP_BAD_KERNEL, 0, 0, 3 << 16 },
		{ CNNACC_CCP_BAD_STRIDE, 0, 0, 2 << 8 | 3 << 16 },
		{ CNNACC_CCP_BAD_IN_SIZE, 0, 1, 8 },
		{ CNNACC_CCP_BAD_OUT_SIZE, 0, 5, 0 },
		{ CNNACC_CCP_BAD_CHANNELS, 0, 2, 2 },
		{ CNNACC_CCP_BAD_IN_PITCH, 0, 6, 0 },
		{ CNNACC_CCP_BAD_OUT_PITCH, 0, 7, 0 },
		{ CNNACC_CCP_RANGE_INPUT, 0, 3, 0 },
		{ CNNACC_CCP_RANGE_OUTPUT, 0, 4, 0 },
	};
	static const struct fix pad_fixes[] = {
		{ CNNACC_CCP_BAD_RESERVED, 0, 2, 0 },
		{ CNNACC_CCP_BAD_PAD, 0, 0, 1 },
		{ CNNACC_CCP_BAD_IN_SIZE, 0, 1, 8 },
		{ CNNACC_CCP_BAD_CHANNELS, 0, 2, 2 },
		{ CNNACC_CCP_BAD_IN_PITCH, 0, 5, 0 },
		{ CNNACC_CCP_BAD_OUT_PITCH, 0, 6, 0 },
		{ CNNACC_CCP_RANGE_INPUT, 0, 3, 0 },
		{ CNNACC_CCP_RANGE_OUTPUT, 0, 4, 0 },
	};
	static const struct fix fc_fixes[] = {
		{ CNNACC_CCP_BAD_RESERVED, 0, 0, 2 },
		{ CNNACC_CCP_BAD_LENGTH, 0, 1, 40 },
		{ CNNACC_CCP_RANGE_INPUT, 0, 3, 0 },
		{ CNNACC_CCP_RANGE_OUTPUT, 0, 4, 0 },
		{ CNNACC_CCP_RANGE_WEIGHT, 0, 5, 0 },
		{ CNNACC_CCP_RANGE_BIAS, 0, 6, 0 },
	};

	check_order(*state, CNNACC_CCP_POOL, pool, false, pool_fixes, ELEMENTS(pool_fixes));
	check_order(*state, CNNACC_CCP_PAD, pad, false, pad_fixes, ELEMENTS(pad_fixes));
	check_order(*state, CNNACC_CCP_FC, fc, false, fc_fixes, ELEMENTS(fc_fixes));
}

/* ----------------------------------------------- channels in two iterations */

static void load_layer(struct fixture *f, struct masm *a)
{
	uint64_t seed = 11;

	for (unsigned int i = 0; i < 1024; i++) {
		float x = (float)(int32_t)mh_random(&seed) * 0x1p-30f;

		memcpy(&f->data[i], &x, sizeof(x));
	}
	ma_dma(a, 0, DATA_VA, 16, 0, CNNACC_CCP_TGT_READ_BANK);
	for (unsigned int b = 0; b < 4; b++)
		ma_dma(a, 0, DATA_VA + 64 + b * 320, 40, 0, CNNACC_CCP_TGT_WEIGHT0 + b);
}

static void conv_slice(struct masm *a, const uint32_t *g0, uint32_t ci_start, uint32_t ci_end)
{
	uint32_t g[8];

	memcpy(g, g0, sizeof(g));
	g[3] = ci_start | ci_end << 16;
	ma_cfg(a, CNNACC_CCP_CONV, 0, g);
	ma_exec(a, CNNACC_CCP_CONV);
}

static void test_channel_slices(void **state)
{
	struct fixture *f = *state;
	uint32_t *out = f->data + 8 * PAGE / 4, whole[8 * 36];

	for (unsigned int slices = 1; slices <= 4; slices++) {
		struct masm a = { .n = 0 };

		load_layer(f, &a);
		ma_cfg(&a, CNNACC_CCP_CONV, 1, good_conv1);
		for (unsigned int i = 0; i < slices; i++) {
			conv_slice(&a, good_conv0, 4 * i / slices, 4 * (i + 1) / slices - 1);
			ma_cfg(&a, CNNACC_CCP_PAD, 0, good_pad);
		}
		ma_dma(&a, 1, DATA_VA + 8 * PAGE, 18, 0, CNNACC_CCP_TGT_WRITE_BANK);
		ma_end(&a);
		memset(out, 0xff, sizeof(whole));
		run_ok(f, &a);
		if (slices == 1)
			memcpy(whole, out, sizeof(whole));
		assert_memory_equal(out, whole, sizeof(whole));
	}
}

static void test_bad_continue(void **state)
{
	struct fixture *f = *state;
	const struct { unsigned int word; uint32_t value; } other[] = {
		{ 4, 1 }, { 4, 1 << 16 }, { 5, 15 | 3 << 8 }, { 5, 16 | 3 << 8 | 1 << 16 }, { 6, 7 },
	};

	for (size_t i = 0; i < ELEMENTS(other); i++) {
		struct masm a = { .n = 0 };
		uint32_t g[8];

		memcpy(g, good_conv0, sizeof(g));
		ma_cfg(&a, CNNACC_CCP_CONV, 1, good_conv1);
		conv_slice(&a, good_conv0, 0, 1);
		g[other[i].word] = other[i].value;
		conv_slice(&a, g, 2, 3);
		ma_end(&a);
		assert_int_equal(run(f, &a, NULL).detail, CNNACC_CCP_BAD_CONTINUE);
	}
	for (unsigned int first = 1; first <= 3; first++) {
		struct masm a = { .n = 0 };

		ma_cfg(&a, CNNACC_CCP_CONV, 1, good_conv1);
		conv_slice(&a, good_conv0, 0, first);
		conv_slice(&a, good_conv0, first == 3 ? 3 : first + 2, 3);
		ma_end(&a);
		assert_int_equal(run(f, &a, NULL).detail, first == 2 ?
				 CNNACC_CCP_BAD_CHANNELS : CNNACC_CCP_BAD_CONTINUE);
	}
}

/* ------------------------------------------------------------ numbers */

static uint32_t conv_one(struct fixture *f, uint32_t x, uint32_t w, uint32_t r0_flags,
			 uint32_t padding)
{
	uint32_t size = padding ? 1 : 3, g0[8] = {
		r0_flags | 1 << 8 | 3 << 16, size | 1 << 16, 1 | 1 << 16, 0, 0, 1, padding, 0,
	}, g1[8] = { 0 };
	struct masm a = { .n = 0 };

	memset(f->data, 0, 256);
	f->data[padding ? 0 : 4] = x;
	for (unsigned int i = 0; i < 9; i++)
		f->data[32 + i] = w;
	ma_dma(&a, 0, DATA_VA, 1, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 0, DATA_VA + 128, 1, 0, CNNACC_CCP_TGT_WEIGHT0);
	ma_cfg(&a, CNNACC_CCP_CONV, 1, g1);
	ma_cfg(&a, CNNACC_CCP_CONV, 0, g0);
	ma_exec(&a, CNNACC_CCP_CONV);
	ma_dma(&a, 1, DATA_VA + 256, 1, 0, CNNACC_CCP_TGT_WRITE_BANK);
	ma_end(&a);
	run_ok(f, &a);
	return f->data[64];
}

static void test_numbers(void **state)
{
	struct fixture *f = *state;
	const uint32_t one = 0x3f800000, inf = 0x7f800000, pad1 = 0x11110000;

	assert_int_equal(conv_one(f, one, one, 0, 0), one);
	assert_int_equal(conv_one(f, 0x7f800001, one, 0, 0), CNNACC_FP32_NAN);
	assert_int_equal(conv_one(f, 0xffc12345, one, 0, 0), CNNACC_FP32_NAN);
	assert_int_equal(conv_one(f, 0xffc12345, one, 1, 0), 0);
	assert_int_equal(conv_one(f, one, inf, 0, pad1), CNNACC_FP32_NAN);
	assert_int_equal(conv_one(f, one, inf, 1, pad1), 0);
	assert_int_equal(conv_one(f, inf, one, 0, pad1), inf);
	assert_int_equal(conv_one(f, 0xbf800000, one, 1, 0), 0);
	/* Subnormals are kept. */
	assert_int_equal(conv_one(f, 0x00000001, one, 0, 0), 1);
	assert_int_equal(conv_one(f, 0x00800000, 0x3f000000, 0, 0), 0x00400000);
}

static void test_pad_and_pool_bits(void **state)
{
	struct fixture *f = *state;
	static const uint32_t pad[8] = { 1, 2, 1 };
	static const uint32_t pool[8] = { 2 << 8 | 2 << 16, 4, 1 };
	struct masm a = { .n = 0 };

	f->data[0] = 0xffc12345;
	f->data[1] = 0x7f800001;
	f->data[2] = 0x80000000;
	f->data[3] = 0x3f800000;
	ma_dma(&a, 0, DATA_VA, 1, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_cfg(&a, CNNACC_CCP_PAD, 0, pad);
	ma_exec(&a, CNNACC_CCP_PAD);
	ma_dma(&a, 1, DATA_VA + 64, 1, 0, CNNACC_CCP_TGT_WRITE_BANK);
	ma_swap(&a);
	ma_cfg(&a, CNNACC_CCP_POOL, 0, pool);
	ma_exec(&a, CNNACC_CCP_POOL);
	ma_dma(&a, 1, DATA_VA + 128, 1, 0, CNNACC_CCP_TGT_WRITE_BANK);
	ma_end(&a);
	run_ok(f, &a);
	assert_memory_equal(&f->data[16 + 5], &f->data[0], 8);
	assert_memory_equal(&f->data[16 + 9], &f->data[2], 8);
	/* Windows {0,0,0,NaN}, {0,0,NaN,0}, {0,-0,0,0}, {1,0,0,0} and fills. */
	assert_int_equal(f->data[32 + 2], 0);
	assert_int_equal(f->data[32 + 3], 0x3f800000);
}

/* --------------------------------------------------------------- timing */

static void test_overlap(void **state)
{
	struct fixture *f = *state;
	struct masm a = { .n = 0 };
	struct cnnacc_stats stats;

	ma_dma(&a, 0, DATA_VA, 8, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 1, DATA_VA + 512, 8, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_end(&a);
	stats = run_ok(f, &a);
	assert_int_equal(stats.cycles, 70);
	assert_int_equal(stats.stall_cycles, 70 - 28);
	assert_int_equal(stats.cycles_serial, 74);
	assert_int_equal(stats.dma_cycles, 17 + 24 + 24);
	assert_int_equal(stats.mem_read_bytes, 64 + 512);
	assert_int_equal(stats.mem_write_bytes, 512);
	assert_int_equal(stats.local_read_bytes, 512);
	assert_int_equal(stats.local_write_bytes, 64 + 512);
	assert_int_equal(stats.instructions, 11);
}

static void test_exec_waits(void **state)
{
	struct fixture *f = *state;
	struct masm a = { .n = 0 };
	struct cnnacc_stats stats;

	ma_dma(&a, 0, DATA_VA, 8, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_cfg(&a, CNNACC_CCP_PAD, 0, good_pad);
	ma_exec(&a, CNNACC_CCP_PAD);
	ma_end(&a);
	stats = run_ok(f, &a);
	/* The program has two lines: everything is one cycle later. */
	assert_int_equal(a.n, 17);
	assert_int_equal(stats.compute_cycles, 13);
	assert_int_equal(stats.stall_cycles, 7);
	assert_int_equal(stats.cycles, 61);
	assert_int_equal(stats.local_read_bytes, 4 * 128);
	assert_int_equal(stats.local_write_bytes, 128 + 512 + 4 * 200);
}

static void test_conv_time(void **state)
{
	struct fixture *f = *state;

	for (unsigned int groups = 1; groups <= 4; groups++) {
		uint64_t passes = (8 + 4 * groups - 1) / (4 * groups);
		uint64_t t = 4 * (18 + 2 + passes * 43) + 4 * passes + 16 * 8 + 6;
		struct masm a = { .n = 0 };
		struct cnnacc_stats stats;
		uint32_t g[8];

		memcpy(g, good_conv0, sizeof(g));
		g[5] = 16 | (groups - 1) << 8;
		ma_cfg(&a, CNNACC_CCP_CONV, 1, good_conv1);
		ma_cfg(&a, CNNACC_CCP_CONV, 0, g);
		ma_exec(&a, CNNACC_CCP_CONV);
		ma_end(&a);
		stats = run_ok(f, &a);
		assert_int_equal(stats.compute_cycles, t);
		assert_int_equal(stats.mac_slots, 512 * t);
		assert_int_equal(stats.mac_useful, 4 * 9 * 8 * 36);
		assert_int_equal(stats.local_read_bytes, 4 * (4 * 18 * 10 + 4 * 8 * 9 + 8));
	}
}

static void test_limit_edges(void **state)
{
	struct fixture *f = *state;
	static const uint32_t program[] = { CNNACC_CCP_INSN_LDI(0, 0), CNNACC_CCP_INSN_NOP };
	static const struct { uint64_t limit; uint32_t status_class, pc; uint64_t count; } cases[] = {
		{ 19, CNNACC_STATUS_OK, 1, 2 },
		{ 18, CNNACC_STATUS_TIME_LIMIT, 1, 2 },
		{ 17, CNNACC_STATUS_TIME_LIMIT, 0, 1 },
		{ 16, CNNACC_STATUS_TIME_LIMIT, 0, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct cnnacc_packet p = mh_packet(f->h, &f->space, program, 2);
		uint64_t before = mh_qread(f->h, 0, CNNACC_QREG_STATS +
					   offsetof(struct cnnacc_stats, instructions));
		struct cnnacc_completion done;

		p.cycle_limit = cases[i].limit;
		mh_submit(f->h, 0, &p);
		mh_work(f->h, 0);
		assert_true(mh_completion(f->h, 0, &done));
		assert_int_equal(done.status_class, cases[i].status_class);
		assert_int_equal(done.pc, cases[i].pc);
		assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_STATS +
					  offsetof(struct cnnacc_stats, instructions)) - before,
				 cases[i].count);
		if (done.status_class)
			mh_core_reset(f->h, 0);
	}
}

/* A failing instruction changes no counter. */
static void test_failed_instruction(void **state)
{
	struct fixture *f = *state;
	struct masm a = { .n = 0 };
	struct cnnacc_stats stats;
	struct cnnacc_completion done;

	ma_dma(&a, 0, DATA_VA, 2000, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_end(&a);
	done = run(f, &a, &stats);
	assert_int_equal(done.status_code, CNNACC_CCP_E_DMA);
	assert_int_equal(done.fault_va, DATA_VA + 16 * PAGE);
	assert_int_equal(stats.instructions, 4);
	assert_int_equal(stats.cycles, 21);
	assert_int_equal(stats.dma_cycles, 17);
	assert_int_equal(stats.mem_read_bytes, 64);
}

/* Small steps and large ones give the same bytes and cycles. */
static void test_budgets(void **state)
{
	static const uint32_t budgets[] = { 1, 100, 10000, 5000000 };
	struct fixture *f = *state;
	struct cnnacc_stats first = { 0 }, stats;
	uint32_t crc = 0;

	for (size_t i = 0; i < ELEMENTS(budgets); i++) {
		unsigned int runs = f->h->runs;
		struct masm a = { .n = 0 };

		load_layer(f, &a);
		ma_cfg(&a, CNNACC_CCP_CONV, 1, good_conv1);
		conv_slice(&a, good_conv0, 0, 3);
		ma_swap(&a);
		ma_cfg(&a, CNNACC_CCP_POOL, 0, good_pool);
		ma_exec(&a, CNNACC_CCP_POOL);
		ma_cfg(&a, CNNACC_CCP_PAD, 0, good_pad);
		ma_exec(&a, CNNACC_CCP_PAD);
		ma_cfg(&a, CNNACC_CCP_FC, 0, good_fc);
		ma_exec(&a, CNNACC_CCP_FC);
		ma_dma(&a, 1, DATA_VA + 8 * PAGE, 40, 0, CNNACC_CCP_TGT_WRITE_BANK);
		ma_dma(&a, 1, DATA_VA + 9 * PAGE, 40, 0, CNNACC_CCP_TGT_READ_BANK);
		ma_end(&a);
		f->h->budget_ns = budgets[i];
		stats = run_ok(f, &a);
		if (!i) {
			first = stats;
			crc = mh_crc32(f->data + 8 * PAGE / 4, 2 * PAGE);
			assert_true(f->h->runs - runs > 50);
		}
		assert_memory_equal(&stats, &first, sizeof(stats));
		assert_int_equal(mh_crc32(f->data + 8 * PAGE / 4, 2 * PAGE), crc);
	}
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_simple_instructions), T(test_fresh_registers), T(test_load_icache),
		T(test_rest_of_icache_is_nop), T(test_illegal), T(test_pc),
		cmocka_unit_test(test_pc_small_icache), T(test_dma_range),
		T(test_conv_checks), T(test_pool_checks), T(test_pad_checks), T(test_fc_checks),
		T(test_conv_order), T(test_other_orders),
		T(test_channel_slices), T(test_bad_continue),
		T(test_numbers), T(test_pad_and_pool_bits),
		T(test_overlap), T(test_exec_waits), T(test_conv_time), T(test_limit_edges),
		T(test_failed_instruction), T(test_budgets),
	};

	return cmocka_run_group_tests_name("model_ccp", tests, NULL, NULL);
}
