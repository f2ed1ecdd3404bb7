/* SPDX-License-Identifier: MIT */
/*
 * Registers that hold lines of memory and numbers in turn: with the buffers at other bases, each
 * transfer is of the same line of its buffer, also where a number looks like a line nearby.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/ccp/code.h"

#define SEQUENCES	2000
#define STEPS		40

static const struct cnn_bases moved = { { 0x00c00000, 0x10400000, 0x7fc00000 } };

static uint32_t number(uint32_t below)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % below;
}

/* A line of a buffer, near one of few places so that differences are small. */
static uint32_t any_line(void)
{
	const uint32_t base = cnn_default_bases.va[number(CNN_BUFFERS)] / CNNACC_LINE_SIZE;

	return base + number(3) * 0x10000 + number(4) * 0x4000 + number(3);
}

/* What the program of a task has transferred: the contents of the address register. */
struct lines {
	uint32_t line[STEPS];
	int count;
};

static void run(const uint32_t *words, uint32_t n, struct lines *l)
{
	uint32_t reg[CNNACC_CCP_GPRS] = { 0 };

	l->count = 0;
	for (uint32_t i = CCPC_OVERLAY_HEAD; i < n; i++) {
		uint32_t *rd = &reg[words[i] >> CNNACC_CCP_RD_SHIFT & 7], imm = words[i] & 0xffff;

		switch (words[i] >> CNNACC_CCP_OP_SHIFT) {
		case CNNACC_CCP_LDI:
			*rd = imm;
			break;
		case CNNACC_CCP_LDIH:
			*rd = imm << 16 | (*rd & 0xffff);
			break;
		case CNNACC_CCP_ADDI:
			*rd = reg[words[i] >> CNNACC_CCP_RS_SHIFT & 7] + (uint32_t)(int16_t)imm;
			break;
		case CNNACC_CCP_LOAD:
			assert_true(l->count < STEPS);
			l->line[l->count++] = reg[CCPC_MEM];
			break;
		default:
			fail();
		}
	}
}

static void relocate(const struct ccpc_code *c, uint32_t *words)
{
	for (uint32_t i = 0; i < c->n; i++) {
		enum cnn_buffer b;

		words[i] = c->words[i];
		if (!c->is_address[i])
			continue;
		b = cnn_buffer_at(words[i] << CNN_BASE_SHIFT);
		words[i] += (moved.va[b] - cnn_default_bases.va[b]) >> CNN_BASE_SHIFT;
		words[i] = (c->words[i] & 0xfffffc00) | (words[i] & 0x3ff);
	}
}

static uint32_t moved_line(uint32_t line)
{
	enum cnn_buffer b = cnn_buffer_at(line * CNNACC_LINE_SIZE);

	return (line * CNNACC_LINE_SIZE + moved.va[b] - cnn_default_bases.va[b]) / CNNACC_LINE_SIZE;
}

/* Transfers with numbers in the same register between them; returns the number of transfers. */
static int emit(struct ccpc_code *c, uint32_t *wanted)
{
	int count = 0;

	for (int i = 0; i < STEPS; i++) {
		const struct ccpc_move m = { .load = true, .line = any_line(), .lines = 1 };

		if (number(3)) {
			ccpc_move(c, &m);
			wanted[count++] = (uint32_t)m.line;
		} else {
			ccpc_set(c, CCPC_MEM, number(2) ? any_line() : number(0x20000));
		}
	}
	return count;
}

static void check_sequence(void)
{
	const struct ccpc_hw hw = { .insns = 2048, .data_bank = 1 << 18, .weight_bank = 1 << 14 };
	struct cnn_compile compile = { .program = { .max = 1 << 20 } };
	static uint32_t words[2048];
	uint32_t wanted[STEPS];
	struct ccpc_code c;
	struct lines got;
	int count;

	assert_int_equal(ccpc_code_init(&c, &hw, &compile), 0);
	count = emit(&c, wanted);
	assert_false(c.overflow);
	run(c.words, c.n, &got);
	assert_int_equal(got.count, count);
	assert_memory_equal(got.line, wanted, (size_t)count * sizeof(*wanted));
	relocate(&c, words);
	run(words, c.n, &got);
	for (int i = 0; i < count; i++)
		assert_int_equal(got.line[i], moved_line(wanted[i]));
	ccpc_code_free(&c);
}

static void test_lines(void **state)
{
	(void)state;
	for (int i = 0; i < SEQUENCES; i++)
		check_sequence();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
