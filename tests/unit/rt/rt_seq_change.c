/* SPDX-License-Identifier: MIT */
/*
 * Changes of layout by the sequencer: programs for random layouts, run by
 * a reading of COPY2D and LOOP, move what the host would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend/sequencer.h"

#define ROUNDS	300
#define MEMORY	3u
#define FROM	0x1000
#define TO	0x41000
#define BYTES	0x80000

static uint32_t seed = 1;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 1103515245u + 12345u;
	return low + (int64_t)(seed >> 8) % (high - low + 1);
}

static struct cnn_layout random_layout(const int64_t dims[CNN_DIMS], int64_t size)
{
	const int64_t map = dims[2] * dims[3], c = dims[1];
	struct cnn_planes p = { .n = dims[0], .c = c, .plane = map, .size = size,
				.plane_pitch = map + pick(0, 5) };
	struct cnn_pixels x = { .n = dims[0], .c = c, .rows = dims[2], .columns = dims[3],
				.row_pitch = c + pick(0, 9), .size = size };

	p.image_pitch = c * p.plane_pitch + pick(0, 5);
	x.column_pitch = dims[2] * x.row_pitch + pick(0, 3);
	x.image_pitch = dims[3] * x.column_pitch + pick(0, 3);
	switch (pick(0, 5)) {
	case 0:
	case 1:
		return cnn_planes_layout(&p);
	case 2:
		return cnn_blocks_layout(dims, pick(1, 4), size);
	}
	return cnn_pixels_layout(&x);
}

/* ---- a sequencer --------------------------------------------------------------------------- */

static uint8_t memory[BYTES], wanted[BYTES], local[16384];
static int64_t local_bytes;

static void copy(const uint32_t *arg, uint32_t op)
{
	for (uint32_t r = 0; r < arg[2]; r++) {
		uint32_t va = arg[0] + r * arg[4], at = arg[1] + r * arg[5];

		assert_in_range(va, FROM, BYTES - arg[3]);
		assert_in_range(at + arg[3], 0, local_bytes);
		if (op & CNNACC_SEQ_TO_MEMORY)
			memcpy(&memory[va], &local[at], arg[3]);
		else
			memcpy(&local[at], &memory[va], arg[3]);
	}
}

/* The load, then loops of one store each. */
static void run(const struct cnnacc_seq_command *c, int64_t count)
{
	assert_int_equal(c->op, CNNACC_SEQ_COPY2D | MEMORY << CNNACC_SEQ_PARAM_SHIFT);
	copy(c->arg, c->op);
	for (int64_t i = 1; i < count; i += 2) {
		const struct cnnacc_seq_command *loop = &c[i], *body = &c[i + 1];
		uint32_t arg[6];

		assert_int_equal(loop->op, CNNACC_SEQ_LOOP | 1 << CNNACC_SEQ_PARAM_SHIFT);
		assert_int_equal(body->op, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY |
						   MEMORY << CNNACC_SEQ_PARAM_SHIFT);
		memcpy(arg, body->arg, sizeof(arg));
		for (uint32_t k = 0; k < loop->arg[0]; k++) {
			copy(arg, body->op);
			arg[loop->arg[1] >> 24] += loop->arg[2];
			arg[loop->arg[3] >> 24] += loop->arg[4];
		}
	}
}

/* ---- tests --------------------------------------------------------------------------------- */

static bool run_random(void)
{
	const int64_t dims[CNN_DIMS] = { pick(1, 2), pick(1, 12), pick(1, 9), pick(1, 9) };
	const int64_t flat[CNN_DIMS] = { dims[0], dims[1] * dims[2] * dims[3], 1, 1 };
	const int64_t size = pick(0, 1) ? 1 : 4;
	const struct cnn_layout from = random_layout(dims, size);
	const struct cnn_layout to = random_layout(pick(0, 2) ? dims : flat, size);
	const struct seqc_change change = {
		.to = &to, .from = &from, .to_va = TO, .from_va = FROM, .memory = MEMORY,
		.bytes = sizeof(local),
	};
	struct seqc s = { .commands_max = 1 << 20, .cycles_max = INT64_MAX, .dry = true };

	if (!seqc_can_change(&s, &change))
		return false;
	local_bytes = cnn_layout_bytes(&from);
	for (int i = 0; i < BYTES; i++)
		memory[i] = wanted[i] = (uint8_t)pick(0, 255);
	cnn_layout_move(&to, &wanted[TO], &from, &wanted[FROM]);
	assert_int_equal(seqc_change(&s, &change), 0);
	run(s.command, s.count);
	assert_memory_equal(memory, wanted, BYTES);
	assert_int_equal(seqc_finish(&s, 0), 0);
	return true;
}

static void test_random(void **state)
{
	int done = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		done += run_random();
	assert_in_range(done, ROUNDS / 2, ROUNDS);
}

/* Where one program is too short, each loads the value again. */
static void test_cuts(void **state)
{
	const int64_t dims[CNN_DIMS] = { 1, 32, 16, 16 };
	const struct cnn_pixels x = { 1, 32, 16, 16, 8192, 32, 512, 1, 0, 0 };
	const struct cnn_layout from = cnn_pixels_layout(&x), to = cnn_dense_layout(dims, 1);
	const struct seqc_change change = {
		.to = &to, .from = &from, .to_va = TO, .from_va = FROM, .memory = MEMORY,
		.bytes = 8192,
	};
	struct seqc whole = { .commands_max = 1024, .cycles_max = 1 << 20, .dry = true };
	struct seqc cut = { .commands_max = 24, .cycles_max = 1 << 20, .dry = true };

	(void)state;
	assert_true(seqc_can_change(&whole, &change));
	assert_int_equal(seqc_finish(&whole, seqc_change(&whole, &change)), 0);
	assert_int_equal(seqc_finish(&cut, seqc_change(&cut, &change)), 0);
	/* A cycle for each line, and one for each byte with the beginning of its COPY2D. */
	assert_in_range(whole.total, 128 + 8192, 128 + 2 * 8192);
	assert_in_range(cut.total, whole.total + 128, 2 * whole.total);
	cut.cycles_max = 128;
	assert_false(seqc_can_change(&cut, &change));
}

/* Codes, blocks partly filled, a value too large, and what would take too many transfers. */
static void test_refusal(void **state)
{
	const int64_t dims[CNN_DIMS] = { 1, 6, 3, 5 }, large[CNN_DIMS] = { 1, 256, 32, 32 };
	const struct cnn_pixels x = { 1, 256, 32, 32, 262144, 256, 8192, 1, 0, 0 };
	struct cnn_layout from = cnn_dense_layout(dims, 1), to = cnn_blocks_layout(dims, 4, 1);
	struct seqc_change change = { .to = &to, .from = &from, .memory = MEMORY, .bytes = 1 << 20 };
	const struct seqc s = { .commands_max = 1024, .cycles_max = INT64_MAX };

	(void)state;
	assert_false(seqc_can_change(&s, &change));
	to = cnn_blocks_layout(dims, 3, 1);
	assert_true(seqc_can_change(&s, &change));
	change.bytes = 89;
	assert_false(seqc_can_change(&s, &change));
	change.bytes = 1 << 20;
	to.codes = 1;
	assert_false(seqc_can_change(&s, &change));
	from = cnn_dense_layout(large, 1);
	to = cnn_pixels_layout(&x);
	assert_false(seqc_can_change(&s, &change));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_refusal),
	};

	return cmocka_run_group_tests_name("rt_seq_change", tests, NULL, NULL);
}
