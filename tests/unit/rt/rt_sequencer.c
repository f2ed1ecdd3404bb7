/* SPDX-License-Identifier: MIT */
/* Programs of the sequencer as cores' compilers write them: what overlaps, and where they are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/sequencer.h"

#define IDLE	1u		/* condition of WAIT */
#define RUN	100u		/* cycles of a tile in the core */
#define COPY	(1u + 16u + 1u)	/* of a line */
#define WORK	(COPY + 1u + RUN + COPY)	/* of a tile that overlaps nothing */

static int begun;

static void begin(struct seqc *s, void *opaque)
{
	(void)opaque;
	begun++;
	seqc_begin(s);
}

static void copy(struct seqc *s, int64_t tile, uint32_t buffer, bool store)
{
	const struct seqc_copy c = {
		.memory = buffer, .va = 64 * tile, .rows = 1, .row_bytes = 64, .store = store,
	};

	seqc_copy(s, &c);
}

static void load(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque)
{
	(void)opaque;
	copy(s, tile, buffer, false);
}

static void run(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque)
{
	(void)opaque;
	(void)tile;
	seqc_exec(s, buffer, 0, 0);
	seqc_charge(s, 1);
	seqc_start(s, RUN);
}

static void store(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque)
{
	(void)opaque;
	copy(s, tile, buffer, true);
}

static const struct seqc_stages stages = {
	.begin = begin, .load = load, .run = run, .store = store, .idle = IDLE, .commands = 4,
	.cycles = WORK,
};

static struct seqc compile(int64_t tiles, uint32_t buffers, int64_t commands, uint64_t cycles)
{
	struct seqc s = { .commands_max = commands, .cycles_max = cycles, .dry = true };

	begun = 0;
	assert_int_equal(seqc_tiles(&s, &stages, tiles, buffers, NULL), 0);
	return s;
}

/* Cycles of the boot of so many commands, the last of them END, and of END. */
static uint64_t frame(uint64_t commands)
{
	return 16 + (32 * commands + 63) / 64 + 1;
}

/* The buffer of a copy; in an EXEC of this test the instruction. */
static uint32_t buffer_of(const struct cnnacc_seq_command *c)
{
	return (c->op & CNNACC_SEQ_OP_MASK) == CNNACC_SEQ_COPY2D ?
		       c->op >> CNNACC_SEQ_PARAM_SHIFT : c->arg[0];
}

static void test_order(void **state)
{
	struct seqc s = compile(3, 2, 1000, 100000);
	const struct {
		uint32_t op, buffer;
	} want[] = {
		{ CNNACC_SEQ_COPY2D, 0 }, { CNNACC_SEQ_EXEC, 0 }, { CNNACC_SEQ_COPY2D, 1 },
		{ CNNACC_SEQ_WAIT, IDLE }, { CNNACC_SEQ_EXEC, 1 },
		{ CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, 0 }, { CNNACC_SEQ_COPY2D, 0 },
		{ CNNACC_SEQ_WAIT, IDLE }, { CNNACC_SEQ_EXEC, 0 },
		{ CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, 1 }, { CNNACC_SEQ_WAIT, IDLE },
		{ CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, 0 },
	};

	(void)state;
	assert_int_equal(s.count, sizeof(want) / sizeof(want[0]));
	for (int64_t i = 0; i < s.count; i++) {
		assert_int_equal(s.command[i].op & 0xffff, want[i].op);
		assert_int_equal(buffer_of(&s.command[i]), want[i].buffer);
	}
	assert_int_equal(seqc_finish(&s, 0), 0);
	assert_int_equal(begun, 1);
}

/* Only the first load, the last store and a command between two tiles are not hidden. */
static void test_overlap(void **state)
{
	struct seqc s = compile(3, 2, 1000, 100000);

	(void)state;
	assert_int_equal(s.cost.compute, 3 * RUN);
	assert_int_equal(s.cost.control, COPY + 3 * 1 + COPY);
	assert_int_equal(s.cost.cycles, s.cost.compute + s.cost.control);
	assert_int_equal(s.cost.dma_data, 6 * (COPY - 1));
	assert_int_equal(s.cost.read_data, 3 * 64);
	assert_int_equal(s.cost.written, 3 * 64);
	assert_int_equal(seqc_finish(&s, 0), 0);
	assert_int_equal(s.total, 3 * RUN + 2 * COPY + 3 + frame(13));
}

static void test_one_buffer(void **state)
{
	struct seqc s = compile(3, 1, 1000, 100000);

	(void)state;
	for (int64_t i = 0; i < s.count; i++)
		if ((s.command[i].op & CNNACC_SEQ_OP_MASK) == CNNACC_SEQ_COPY2D)
			assert_int_equal(s.command[i].op >> CNNACC_SEQ_PARAM_SHIFT, 0);
	assert_int_equal(s.cost.cycles, 3 * WORK);
	assert_int_equal(seqc_finish(&s, 0), 0);
	assert_int_equal(s.total, 3 * WORK + frame(13));
}

/* Each program has at most so many commands, END included, and cycles. */
static void test_cuts(void **state)
{
	struct seqc s = compile(5, 2, 13, 100000);

	(void)state;
	assert_int_equal(seqc_finish(&s, 0), 0);
	/* Two tiles, two tiles, one tile. */
	assert_int_equal(begun, 3);
	assert_int_equal(s.total, 2 * (2 * RUN + 2 * COPY + 2 + frame(9)) + WORK + frame(5));

	/* A tile begins if two of them, the longest boot and END would still end in time. */
	s = compile(5, 2, 1000, 3 * WORK + 500 + 32);
	assert_int_equal(seqc_finish(&s, 0), 0);
	assert_int_equal(begun, 3);
}

static void test_failure(void **state)
{
	struct seqc s = compile(1, 2, 1000, 100000);

	(void)state;
	assert_int_equal(seqc_finish(&s, CNN_ENOMEM), CNN_ENOMEM);
	assert_int_equal(s.total, 0);
	assert_null(s.command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	   cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_one_buffer), cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests_name("rt_sequencer", tests, NULL, NULL);
}
