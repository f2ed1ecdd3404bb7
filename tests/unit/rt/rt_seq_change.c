/* SPDX-License-Identifier: MIT */
/*
 * Changes of layout by the sequencer: programs for random layouts and small local memories, run by
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

static uint8_t memory[BYTES], wanted[BYTES], local[4096];
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

/* Each copy is in a loop of its own. */
static void run(const struct cnnacc_seq_command *c, int64_t count)
{
	for (int64_t i = 0; i < count; i += 2) {
		const struct cnnacc_seq_command *loop = &c[i], *body = &c[i + 1];
		uint32_t arg[6];

		assert_int_equal(loop->op, CNNACC_SEQ_LOOP | 1 << CNNACC_SEQ_PARAM_SHIFT);
		assert_int_equal(body->op & ~CNNACC_SEQ_TO_MEMORY,
				 CNNACC_SEQ_COPY2D | MEMORY << CNNACC_SEQ_PARAM_SHIFT);
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
		.bytes = pick(64, 512),
	};
	struct seqc s = { .commands_max = 1 << 20, .cycles_max = INT64_MAX, .dry = true };

	if (!seqc_can_change(&change))
		return false;
	local_bytes = change.bytes;
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

/* Each program ends in time, and all of them together do what one would. */
static void test_cuts(void **state)
{
	const int64_t dims[CNN_DIMS] = { 1, 64, 16, 16 };
	const struct cnn_pixels x = { 1, 64, 16, 16, 16384, 64, 1024, 1, 0 };
	const struct cnn_layout from = cnn_pixels_layout(&x), to = cnn_dense_layout(dims, 1);
	const struct seqc_change change = {
		.to = &to, .from = &from, .to_va = TO, .from_va = FROM, .memory = MEMORY,
		.bytes = 4096,
	};
	struct seqc whole = { .commands_max = 1024, .cycles_max = 1 << 20, .dry = true };
	struct seqc cut = { .commands_max = 24, .cycles_max = 1 << 20, .dry = true };

	(void)state;
	assert_int_equal(seqc_finish(&whole, seqc_change(&whole, &change)), 0);
	assert_int_equal(seqc_finish(&cut, seqc_change(&cut, &change)), 0);
	/* At least a cycle for each byte there and back, and less than twice that. */
	assert_in_range(whole.total, 2 * 16384, 4 * 16384);
	assert_true(cut.total > whole.total);
}

/* Codes, blocks that are partly filled, and what would take too many transfers. */
static void test_refusal(void **state)
{
	const int64_t dims[CNN_DIMS] = { 1, 6, 3, 5 }, large[CNN_DIMS] = { 1, 256, 32, 32 };
	const struct cnn_pixels x = { 1, 256, 32, 32, 262144, 256, 8192, 1, 0 };
	struct cnn_layout from = cnn_dense_layout(dims, 1), to = cnn_blocks_layout(dims, 4, 1);
	struct seqc_change change = { .to = &to, .from = &from, .memory = MEMORY, .bytes = 4096 };

	(void)state;
	assert_false(seqc_can_change(&change));
	to = cnn_blocks_layout(dims, 3, 1);
	assert_true(seqc_can_change(&change));
	to.codes = 1;
	assert_false(seqc_can_change(&change));
	from = cnn_dense_layout(large, 1);
	to = cnn_pixels_layout(&x);
	assert_false(seqc_can_change(&change));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_refusal),
	};

	return cmocka_run_group_tests_name("rt_seq_change", tests, NULL, NULL);
}
