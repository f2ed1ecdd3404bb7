// SPDX-License-Identifier: MIT
/* The sequencer: Documentation/hardware/sequencer.rst, rule by rule. */
#include "hwpe_fixture.h"

#define E(name)		CNNACC_SEQ_E_##name
#define BOOT(a)		(16 + ((a).n + 1) / 2)

static void fill_data(struct core_jobs *f)
{
	for (uint32_t i = 0; i < DATA_PAGES * PAGE; i++)
		f->data[i] = (uint8_t)(i * 7 + i / 256);
}

/* ---- words ---- */

/* Every word and bit that an operation does not have. */
static void test_words(void **state)
{
	static const struct {
		uint32_t op, used;
	} ops[] = {
		{ CNNACC_SEQ_END, 0 },
		{ CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, 0x7e },
		{ CNNACC_SEQ_FILL, 0x5e },
		{ CNNACC_SEQ_EXEC | CNNACC_SEQ_EVENTS, 0x62 },
		{ CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, 0xe2 },
		{ CNNACC_SEQ_DRAIN | CNNACC_SEQ_RESUME | 1 << CNNACC_SEQ_PARAM_SHIFT, 0x3e },
		{ CNNACC_SEQ_WAIT, 0x02 },
		{ CNNACC_SEQ_IRQ, 0x02 },
	};
	struct core_jobs *f = *state;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (uint32_t bit = 8; bit < 16; bit++) {
			struct sasm a = { .n = 0 };

			if (ops[i].op >> bit & 1)
				continue;
			if ((ops[i].op & 0xff) == CNNACC_SEQ_EXEC && (bit == 9 || bit == 10))
				continue;
			sa_irq(&a, 1);
			SA(&a, ops[i].op | 1u << bit, 0, 1);
			sq_bad(f, &a, E(COMMAND), 1, 0);
		}
		for (uint32_t word = 0; word < 7; word++) {
			struct sasm a = { .n = 0 };
			uint32_t arg[7] = { 0 };

			if (ops[i].used >> (word + 1) & 1)
				continue;
			arg[0] = (ops[i].op & 0xff) == CNNACC_SEQ_WAIT;
			arg[word] = 0x80000000;
			arg[6] = 1;
			sa_emit(&a, ops[i].op, arg);
			sq_bad(f, &a, E(COMMAND), 0, word + 1);
		}
	}
}

static void expect_word(struct core_jobs *f, uint32_t op, uint32_t word,
			const uint32_t arg[7])
{
	struct sasm a = { .n = 0 };

	sa_emit(&a, op, arg);
	sq_bad(f, &a, E(COMMAND), 0, word);
}

#define WORD(f, op, param, word, ...) \
	expect_word(f, (op) | (uint32_t)(param) << 16, word, (const uint32_t[7]){ __VA_ARGS__ })

static void test_values_of_words(void **state)
{
	struct core_jobs *f = *state;

	WORD(f, 8, 0, 0, 0);
	WORD(f, 255, 0, 0, 0);
	WORD(f, CNNACC_SEQ_END, 1, 0, 0);
	WORD(f, CNNACC_SEQ_EXEC, 1, 0, 0);
	WORD(f, CNNACC_SEQ_WAIT, 1, 0, 1);
	WORD(f, CNNACC_SEQ_IRQ, 1, 0, 1);
	WORD(f, CNNACC_SEQ_COPY2D, 3, 0, 0);
	WORD(f, CNNACC_SEQ_FILL, 3, 0, 0);
	WORD(f, CNNACC_SEQ_FILL, 0, 1, 256, 0, 1, 1, 9);
	WORD(f, CNNACC_SEQ_FILL, 0, 5, 255, 0, 1, 1, 9);
	WORD(f, CNNACC_SEQ_DRAIN, 0, 0, 0);
	WORD(f, CNNACC_SEQ_DRAIN, 9, 0, 0);
	WORD(f, CNNACC_SEQ_DRAIN, 8, 1, 2, 1, 1, 1, 1, 1);
	WORD(f, CNNACC_SEQ_DRAIN, 8, 2, 4, 1, 1, 1, 1, 1);
	WORD(f, CNNACC_SEQ_DRAIN, 1, 2, 4, 8, 1, 1, 1, 1);
	WORD(f, CNNACC_SEQ_DRAIN, 2, 2, 4, 0xffffffff, 1, 1, 1, 1);
	WORD(f, CNNACC_SEQ_DRAIN, 8, 4, 4, 0, 1, 1, 1, 1);
	WORD(f, CNNACC_SEQ_DRAIN, 8, 5, 4, 0, 1, 4, 1, 1);
	WORD(f, CNNACC_SEQ_DRAIN, 8, 6, 4, 0, 1, 4, 4, 1);
	WORD(f, CNNACC_SEQ_WAIT, 0, 1, 0);
	WORD(f, CNNACC_SEQ_WAIT, 0, 1, 4);
	WORD(f, CNNACC_SEQ_WAIT, 0, 1, 4, 1);
	WORD(f, CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, 0, 7, 0, 0, 0, 0, 0, 0, 2);
	WORD(f, CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, 0, 4, 0, 0, 0, 1, 0, 0, 2);
	WORD(f, CNNACC_SEQ_EXEC, 0, 7, 0, 0, 0, 0, 0, 0, 4);
}

/* ---- boot ---- */

static void test_boot(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };
	uint32_t *pte = mh_pte(f->h, &f->space, MH_PROGRAM_VA), old = *pte;

	sa_irq(&a, 1);
	sa_irq(&a, 2);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, 16 + 2 + 3);
	assert_int_equal(f->stats.cycles_serial, 16 + 2 + 3);
	assert_int_equal(f->stats.dma_cycles, 16 + 2);
	assert_int_equal(f->stats.mem_read_bytes, 128);
	assert_int_equal(f->stats.local_write_bytes, 128);
	assert_int_equal(f->stats.instructions, 3);
	assert_int_equal(f->stats.events, 2);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_ID), CNNACC_HWPE_ID);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_PC), 2);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_STATE), CNNACC_SEQ_IDLE);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_EVENT), 2);

	*pte = CNNACC_PTE_ADDR(CNNACC_PTE_BUS(old)) | CNNACC_PTE_VALID | RW;
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	sq_fails(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_CODE_FETCH, 0, CNNACC_FAULT_PERM);
	assert_int_equal(f->done.access, CNNACC_ACCESS_EXEC);
	assert_int_equal(f->done.fault_va, MH_PROGRAM_VA);
	assert_int_equal(f->stats.cycles, 0);
	assert_int_equal(f->stats.dma_cycles, 0);
	*pte = old;
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	f->limit = 17;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0, 0);
	assert_int_equal(f->stats.cycles, 18);
	assert_int_equal(f->stats.instructions, 0);
}

/* Beyond the program's last byte END is read, whatever an earlier program left there. */
static void test_rest_is_end(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	for (unsigned int i = 0; i < COMMANDS; i++)
		sa_irq(&a, i);
	sq_bad(f, &a, E(PC), COMMANDS, 0);
	assert_int_equal(f->stats.instructions, COMMANDS);
	a.n = 3;
	sq_run(f, &a);
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->done.pc, 3);
}

/* ---- COPY2D and FILL ---- */

static void test_copy(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };
	uint8_t *out = f->data + 8 * PAGE;

	fill_data(f);
	memset(out, 0xee, PAGE);
	/* Rows of 70 bytes at an odd address, over a page's end; 2, 2 or 3 lines each. */
	SA(&a, CNNACC_SEQ_COPY2D, 0, DATA_VA + PAGE - 33, 5, 3, 70, 129, 80);
	SA(&a, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, 0, DATA_VA + 8 * PAGE + 1, 5, 3, 70, 71,
	   80);
	sa_end(&a);
	sq_ok(f, &a);
	for (unsigned int r = 0; r < 3; r++) {
		assert_memory_equal(out + 1 + 71 * r, f->data + PAGE - 33 + 129 * r, 70);
		assert_int_equal(out[1 + 71 * r + 70], 0xee);
	}
	assert_int_equal(out[0], 0xee);
	/* Offsets in a line 31, 32, 33: 101, 102, 103 bytes: two lines; 1, 72, 143: 2, 3, 2. */
	assert_int_equal(f->stats.cycles, BOOT(a) + 17 + 6 + 17 + 2 + 3 + 2 + 1 - 1);
	assert_int_equal(f->stats.mem_write_bytes, 210);
	assert_int_equal(f->stats.local_read_bytes, 210);
	assert_int_equal(f->stats.mem_read_bytes, 128 + 210);
	assert_int_equal(f->stats.local_write_bytes, 128 + 210);
	assert_int_equal(f->stats.dma_cycles, f->stats.cycles - 3);
}

/* Each offset in a line has its number of lines, also over more rows than there are offsets. */
static void test_copy_lines(void **state)
{
	struct core_jobs *f = *state;
	uint64_t seed = 4;

	for (unsigned int i = 0; i < 200; i++) {
		uint32_t rows = mh_random(&seed) % 200, stride = mh_random(&seed) % 150;
		uint32_t len = mh_random(&seed) % 200, va = DATA_VA + mh_random(&seed) % 200;
		struct sasm a = { .n = 0 };
		uint64_t lines = 0;

		for (uint32_t r = 0; r < rows && len; r++)
			lines += (va + r * stride + len - 1) / 64 - (va + r * stride) / 64 + 1;
		SA(&a, CNNACC_SEQ_COPY2D, 2, va, 0, rows, len, stride, mh_random(&seed) % 150);
		sa_end(&a);
		sq_ok(f, &a);
		assert_int_equal(f->stats.cycles, BOOT(a) + 1 + (lines ? 16 + lines : 0) + 1);
		assert_int_equal(f->stats.mem_read_bytes, 64 + rows * len);
	}
}

/* A later row wins, in both directions. */
static void test_overlap(void **state)
{
	struct core_jobs *f = *state;
	uint8_t *out = f->data + 8 * PAGE;
	struct sasm a = { .n = 0 };

	fill_data(f);
	SA(&a, CNNACC_SEQ_COPY2D, 1, DATA_VA, 0, 4, 10, 16, 3);
	sa_save(&a, 1, DATA_VA + 8 * PAGE, 0, 19);
	SA(&a, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, 1, DATA_VA + 9 * PAGE, 0, 3, 10, 0, 3);
	sa_end(&a);
	sq_ok(f, &a);
	for (unsigned int i = 0; i < 19; i++) {
		unsigned int row = i / 3 < 3 ? i / 3 : 3;

		assert_int_equal(out[i], f->data[16 * row + i - 3 * row]);
	}
	assert_memory_equal(out + PAGE, out + 6, 10);
}

static void test_nothing_to_copy(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_COPY2D, 0, 0xffffffff, 0xffffffff, 0, 0xffffffff, 0xffffffff, 0xffffffff);
	SA(&a, CNNACC_SEQ_COPY2D, 0, 0xffffffff, 0xffffffff, 0xffffffff, 0, 0xffffffff, 0xffffffff);
	SA(&a, CNNACC_SEQ_FILL, 0, 1, 0xffffffff, 0, 64, 0, 0xffffffff);
	SA(&a, CNNACC_SEQ_FILL, 0, 1, 0xffffffff, 64, 0, 0, 0xffffffff);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, BOOT(a) + 5);
	assert_int_equal(f->stats.dma_cycles, BOOT(a));
}

static void expect_range(struct core_jobs *f, uint32_t op, uint32_t memory, bool good,
			 const uint32_t arg[7])
{
	struct sasm a = { .n = 0 };

	sa_emit(&a, op | memory << 16, arg);
	sa_end(&a);
	if (good)
		sq_ok(f, &a);
	else
		sq_bad(f, &a, E(RANGE), 0, memory);
}

#define RANGE(f, op, memory, good, ...) \
	expect_range(f, op, memory, good, (const uint32_t[7]){ __VA_ARGS__ })

static void test_range(void **state)
{
	struct core_jobs *f = *state;
	const uint32_t copy = CNNACC_SEQ_COPY2D, fill = CNNACC_SEQ_FILL;

	RANGE(f, copy, 0, true, DATA_VA, 0, 1, FMAP);
	RANGE(f, copy, 0, false, DATA_VA, 0, 1, FMAP + 1);
	RANGE(f, copy, 1, true, DATA_VA, FMAP - 1, 1, 1);
	RANGE(f, copy, 1, false, DATA_VA, FMAP, 1, 1);
	RANGE(f, copy, 2, true, DATA_VA, KERNEL - 64 * 3 - 4, 4, 4, 0, 64);
	RANGE(f, copy, 2, false, DATA_VA, KERNEL - 64 * 3 - 3, 4, 4, 0, 64);
	RANGE(f, copy, 2, false, DATA_VA, 0xffffffff, 0xffffffff, 0xffffffff, 0, 0xffffffff);
	RANGE(f, fill, 0, true, 1, 0, 1, FMAP);
	RANGE(f, fill, 0, false, 1, 1, 1, FMAP);
	RANGE(f, fill, 2, true, 1, 0, KERNEL, 1, 0, 1);
	RANGE(f, fill, 2, false, 1, 0, KERNEL + 1, 1, 0, 1);
	RANGE(f, fill, 2, false, 1, 0xffffffff, 0xffffffff, 0xffffffff, 0, 0xffffffff);
}

static void test_fill(void **state)
{
	struct core_jobs *f = *state;
	uint8_t *out = f->data + 8 * PAGE;
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_FILL, 0, 0x11, 0, 1, 256);
	SA(&a, CNNACC_SEQ_FILL, 0, 0x22, 3, 3, 5, 0, 10);	/* apart */
	SA(&a, CNNACC_SEQ_FILL, 0, 0x33, 64, 3, 65, 0, 64);	/* overlapping */
	sa_save(&a, 0, DATA_VA + 8 * PAGE, 0, 512);
	sa_end(&a);
	f->data[8 * PAGE + 300] = 1;
	sq_ok(f, &a);
	for (unsigned int i = 0; i < 257; i++)
		assert_int_equal(out[i], i >= 64 ? 0x33 : i >= 3 && i < 28 && (i - 3) % 10 < 5 ?
				 0x22 : 0x11);
	assert_int_equal(out[257], 0);
	assert_int_equal(f->stats.cycles, BOOT(a) + 1 + 4 + 1 + 3 + 1 + 6 + 17 + 8 + 1);
	assert_int_equal(f->stats.local_write_bytes, 64 * 3 + 256 + 15 + 195);
}

static void expect_dma(struct core_jobs *f, const struct sasm *a, uint32_t status_class,
		       uint32_t level, uint32_t access, uint64_t va)
{
	sq_fails(f, a, status_class, E(DMA), 0, level);
	assert_int_equal(f->done.access, access);
	assert_int_equal(f->done.fault_va, va);
}

/* VA 0 is an ordinary address; 4 GiB is the end, without wrapping. */
static void test_edges_of_the_address_space(void **state)
{
	struct core_jobs *f = *state;
	uint8_t *low = mh_map_new(f->h, &f->space, 0, PAGE, RW);
	uint8_t *high = mh_map_new(f->h, &f->space, 0xfffff000, PAGE, RW);
	struct sasm a = { .n = 0 };

	memset(low, 0x5a, 16);
	SA(&a, CNNACC_SEQ_COPY2D, 0, 0, 0, 1, 16);
	sa_save(&a, 0, 0xfffffff0, 0, 16);
	sa_end(&a);
	sq_ok(f, &a);
	assert_memory_equal(high + PAGE - 16, low, 16);
	a.n = 0;
	sa_save(&a, 0, 0xfffffff8, 0, 16);
	memset(high, 0, PAGE);
	expect_dma(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_BEYOND, CNNACC_ACCESS_WRITE,
		   1ull << 32);
	assert_int_equal(low[0], 0x5a);
	a.n = 0;
	SA(&a, CNNACC_SEQ_COPY2D, 0, 0xfffff000, 0, 3, 1, 0x800, 1);
	expect_dma(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_BEYOND, CNNACC_ACCESS_READ,
		   1ull << 32);
}

/* The fault names the refused line; the lines before it are transferred. */
static void test_refused(void **state)
{
	struct core_jobs *f = *state;
	uint64_t bus = CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, DATA_VA + PAGE));
	uint32_t *pte = mh_pte(f->h, &f->space, DATA_VA + 2 * PAGE);
	struct sasm a = { .n = 0 };

	sa_save(&a, 0, DATA_VA + 8, 0, 2 * PAGE);
	memset(f->data, 0xee, 3 * PAGE);
	f->h->hole = bus + 128;
	f->h->hole_size = 64;
	expect_dma(f, &a, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE, CNNACC_ACCESS_WRITE,
		   DATA_VA + PAGE + 128);
	assert_int_equal(f->data[7], 0xee);
	assert_int_equal(f->data[8], 0);
	assert_int_equal(f->data[PAGE + 127], 0);
	assert_int_equal(f->data[PAGE + 128], 0xee);
	assert_int_equal(f->stats.mem_write_bytes, 0);
	assert_int_equal(f->stats.instructions, 0);
	assert_int_equal(f->stats.cycles, BOOT(a));
	f->h->hole_size = 0;

	*pte &= ~CNNACC_PTE_WRITE;
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	expect_dma(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PERM, CNNACC_ACCESS_WRITE,
		   DATA_VA + 2 * PAGE);
	a.n = 0;
	SA(&a, CNNACC_SEQ_COPY2D, 0, DATA_VA + 2 * PAGE - 100, 0, 2, 50, 50, 50);
	sa_end(&a);
	sq_ok(f, &a);
	*pte = 0;
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	a.c[0].arg[0]++;
	expect_dma(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PAGE, CNNACC_ACCESS_READ,
		   DATA_VA + 2 * PAGE);
}

/* Without mappings everything goes by line, and is the same. */
static void test_without_mappings(void **state)
{
	struct core_jobs *f = *state;

	f->h->no_map = true;
	test_copy(state);
	test_overlap(state);
	test_refused(state);
}

/* ---- loops ---- */

static uint32_t loops_out(struct core_jobs *f, struct sasm *a)
{
	sa_end(a);
	sq_ok(f, a);
	return f->stats.instructions;
}

/* Rows to places that two loops step; the inner LOOP's own words are stepped too. */
static void test_nested_loops(void **state)
{
	struct core_jobs *f = *state;
	uint8_t *out = f->data + 8 * PAGE, want[64] = { 0 };
	struct sasm a = { .n = 0 };

	memset(out, 0, 64);
	SA(&a, CNNACC_SEQ_FILL, 0, 0, 0, 1, 64);
	/* Command 0 of the body is the inner LOOP: its iterations grow, and its increment. */
	SA(&a, CNNACC_SEQ_LOOP, 2, 3, CNNACC_SEQ_STEP(0, 0, 0), 1, CNNACC_SEQ_STEP(0, 0, 2), 1,
	   CNNACC_SEQ_STEP(1, 0, 1), 16);
	SA(&a, CNNACC_SEQ_LOOP, 1, 1, CNNACC_SEQ_STEP(0, 0, 1), 1, CNNACC_SEQ_STEP(0, 0, 0), 1);
	SA(&a, CNNACC_SEQ_FILL, 0, 1, 0, 1, 1);
	sa_save(&a, 0, DATA_VA + 8 * PAGE, 0, 64);
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int j = 0; j < 1 + i; j++)
			want[16 * i + j * (1 + i)] = (uint8_t)(1 + j);
	assert_int_equal(loops_out(f, &a), 2 + 3 + 6 + 1 + 1);
	assert_memory_equal(out, want, 64);
	assert_int_equal(f->stats.cycles, BOOT(a) + 2 + 1 + 3 + 6 * 2 + 18 + 1);
}

/* Four deep; all bodies end with the same command; increments wrap. */
static void test_deep_loops(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };
	uint32_t step = CNNACC_SEQ_STEP(0, 0, 0);

	for (unsigned int i = 0; i < 4; i++)
		SA(&a, CNNACC_SEQ_LOOP, 4 - i, 2 + i, CNNACC_SEQ_STEP(3 - i, 0, 0), 1u << 8 * i);
	sa_irq(&a, 0x10);
	sa_irq(&a, 0);
	assert_int_equal(loops_out(f, &a), 1 + 2 + 6 + 24 + 120 + 2);
	a.n = 0;
	SA(&a, CNNACC_SEQ_LOOP, 1, 3, step, 0x80000000, step, 0xffffffff, step, 1);
	sa_irq(&a, 5);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_EVENT), 5);
	/* A loop's increments are dropped when it ends, here at the end of the enclosing iteration. */
	a.n = 0;
	SA(&a, CNNACC_SEQ_LOOP, 2, 3);
	SA(&a, CNNACC_SEQ_LOOP, 1, 3, step, 1);
	sa_irq(&a, 7);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_EVENT), 9);
}

/* END, and a command that fails, leave the loops' registers as they are. */
static void test_end_in_a_loop(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_LOOP, 3, 5, CNNACC_SEQ_STEP(2, 0, 0), 0);
	SA(&a, CNNACC_SEQ_LOOP, 1, 2);
	sa_irq(&a, 1);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_LOOPS), 1);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_ITERATION(0)), 0);
	a.n = 0;
	SA(&a, CNNACC_SEQ_LOOP, 2, 5, CNNACC_SEQ_STEP(1, 0, 0), 1);
	SA(&a, CNNACC_SEQ_LOOP, 1, 1);
	SA(&a, CNNACC_SEQ_WAIT, 0, 2);
	sq_bad(f, &a, E(COMMAND), 2, 1);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_LOOPS), 2);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_ITERATION(0)), 2);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_ITERATION(1)), 0);
}

static void expect_loop(struct core_jobs *f, uint32_t body, uint32_t detail,
			const uint32_t arg[7])
{
	struct sasm a = { .n = 0 };

	sa_irq(&a, 1);
	sa_emit(&a, CNNACC_SEQ_LOOP | body << 16, arg);
	sq_bad(f, &a, E(LOOP), 1, detail);
}

#define LOOP(f, body, detail, ...) \
	expect_loop(f, body, detail, (const uint32_t[7]){ __VA_ARGS__ })

static void test_loop_errors(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	LOOP(f, 0, CNNACC_SEQ_LOOP_BODY, 0);
	LOOP(f, COMMANDS - 1, CNNACC_SEQ_LOOP_BODY, 1);
	LOOP(f, 65535, CNNACC_SEQ_LOOP_BODY, 1);
	LOOP(f, COMMANDS - 2, CNNACC_SEQ_LOOP_ITERATIONS, 0, 0xffffffff);
	LOOP(f, 2, CNNACC_SEQ_LOOP_PAIR0, 1, 0x08000000);
	LOOP(f, 2, CNNACC_SEQ_LOOP_PAIR0, 1, CNNACC_SEQ_STEP(0, 0, 7));
	LOOP(f, 2, CNNACC_SEQ_LOOP_PAIR0, 1, CNNACC_SEQ_STEP(2, 0, 0));
	LOOP(f, 2, CNNACC_SEQ_LOOP_PAIR0, 1, CNNACC_SEQ_STEP(1, 1, 0));
	LOOP(f, 2, CNNACC_SEQ_LOOP_PAIR0 + 1, 1, CNNACC_SEQ_STEP(1, 0, 6), 1, 0x80000000);
	LOOP(f, 2, CNNACC_SEQ_LOOP_PAIR0 + 2, 1, 0, 1, CNNACC_SEQ_STEP(0, 1, 6), 1,
	     CNNACC_SEQ_STEP(0, 2, 6));
	SA(&a, CNNACC_SEQ_LOOP, 2, 1);
	SA(&a, CNNACC_SEQ_LOOP, 2, 1);
	sq_bad(f, &a, E(LOOP), 1, CNNACC_SEQ_LOOP_BODY);
	a.n = 0;
	for (unsigned int i = 0; i < 5; i++)
		SA(&a, CNNACC_SEQ_LOOP, 9 - i, 1);
	sq_bad(f, &a, E(LOOP), 4, CNNACC_SEQ_LOOP_DEPTH);
}

/* ---- time limit ---- */

/* The command has its effect, its event is not raised, and it counts. */
static void test_time_limit(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	sa_irq(&a, 1);
	sa_irq(&a, 2);
	sa_end(&a);
	f->limit = BOOT(a) + 1;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 1, 0);
	assert_int_equal(f->stats.cycles, f->limit + 1);
	assert_int_equal(f->stats.instructions, 2);
	assert_int_equal(f->stats.events, 2);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_EVENT), 2);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_EVENT_COUNT), 1);
	f->limit = BOOT(a) + 2;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 2, 0);
	f->limit = BOOT(a) + 3;
	sq_ok(f, &a);
	/* An error of the command itself comes first. */
	a.c[1].op |= 1 << 16;
	f->limit = BOOT(a) + 1;
	sq_bad(f, &a, E(COMMAND), 1, 0);
	assert_int_equal(f->stats.instructions, 1);
	/* A transfer past the limit does not happen and causes no fault, but is counted. */
	a.n = 0;
	memset(f->data, 0xee, 64);
	sa_save(&a, 0, DATA_VA, 0, 64);
	SA(&a, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, 0, DATA_VA, 0, 0xffffffff, FMAP,
	   0xffffffff);
	sa_end(&a);
	f->limit = BOOT(a) + 17;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0, 0);
	assert_int_equal(f->data[0], 0xee);
	assert_int_equal(f->stats.mem_write_bytes, 64);
	f->limit = BOOT(a) + 18;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 1, 0);
	assert_int_equal(f->data[0], 0);
	assert_int_equal(f->stats.mem_write_bytes, 64 + 0xffffffffull * FMAP);
	assert_int_equal(f->stats.instructions, 2);
	/* Loops without end end with it, a step at a time. */
	a.n = 0;
	SA(&a, CNNACC_SEQ_LOOP, 1, 0xffffffff);
	SA(&a, CNNACC_SEQ_LOOP, 1, 0xffffffff);
	a.c[0].op += 1 << 16;
	sa_irq(&a, 0);
	a.c[2] = (struct cnnacc_seq_command){ CNNACC_SEQ_FILL, { 0 } };
	f->limit = 100000;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 2, 0);
	assert_int_equal(f->stats.cycles, 100001);
}

/* ---- events ---- */

static struct sasm two_events(void)
{
	struct sasm a = { .n = 0 };

	sa_irq(&a, 0x11);
	sa_irq(&a, 0x22);
	sa_save(&a, 0, DATA_VA, 0, 4);
	sa_end(&a);
	return a;
}

static uint32_t qreg(struct core_jobs *f, uint32_t reg)
{
	return mh_qread(f->h, 0, reg);
}

static void ack(struct core_jobs *f)
{
	mh_qwrite(f->h, 0, CNNACC_QREG_EVENT_ACK, 1);
}

static void test_events(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = two_events();

	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, CNNACC_IRQ_EVENT(0));
	sq_ok(f, &a);
	assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), 2);
	assert_int_equal(f->stats.events, 2);
	assert_int_equal(f->h->messages[0], 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS),
			 CNNACC_IRQ_CORE(0) | CNNACC_IRQ_EVENT(0));
	ack(f);
	sq_ok(f, &a);
	assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), 4);
	mh_core_reset(f->h, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), 0);
}

static void test_event_wait(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = two_events();

	f->flags = CNNACC_PACKET_EVENT_WAIT;
	memset(f->data, 0xee, 4);
	sq_submit(f, &a);
	ack(f);		/* of nothing */
	for (uint32_t i = 1; i <= 2; i++) {
		mh_work(f->h, 0);
		assert_false(cj_done(f));
		assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), i);
		assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_RUNNING);
		assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_STATE), CNNACC_SEQ_EVENT);
		assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_EVENT), 0x11 * i);
		assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_PC), i);
		assert_int_equal(f->data[0], 0xee);
		mh_qwrite(f->h, 0, CNNACC_QREG_EVENT_ACK, 2);
		assert_false(mh_work_once(f->h, 0, MH_BUDGET_NS));
		f->h->kicks[0] = 0;
		ack(f);
		assert_int_equal(f->h->kicks[0], 1);
	}
	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->data[0], 0);
	assert_int_equal(f->stats.cycles, BOOT(a) + 2 + 18 + 1);
}

static void test_abort_while_suspended(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = two_events();

	f->flags = CNNACC_PACKET_EVENT_WAIT;
	sq_submit(f, &a);
	mh_work(f->h, 0);
	f->h->kicks[0] = 0;
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ABORT | CNNACC_QCTRL_ENABLE);
	assert_int_equal(f->h->kicks[0], 1);
	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.status_class, CNNACC_STATUS_ABORTED);
	assert_int_equal(f->done.status_code, CNNACC_CODE_ABORT);
	assert_int_equal(f->done.pc, 1);
	assert_int_equal(f->done.cycles, BOOT(a) + 1);
	assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_STATE), CNNACC_SEQ_IDLE);
	/* The wait leaves no state behind. */
	f->flags = 0;
	sq_ok(f, &a);
}

static void test_reset_while_suspended(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = two_events();

	f->flags = CNNACC_PACKET_EVENT_WAIT;
	for (unsigned int i = 0; i < 2; i++) {
		sq_submit(f, &a);
		mh_work(f->h, 0);
		if (i)
			mh_write(f->h, CNNACC_REG_RESET, 1);
		mh_core_reset(f->h, 0);
		assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), 0);
		assert_false(mh_work_once(f->h, 0, MH_BUDGET_NS));
		assert_false(cj_done(f));
	}
	/* An abort between begin and end of the run that raises an event. */
	sq_submit(f, &a);
	assert_true(cm_device_begin(f->h->dev, 0));
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ABORT | CNNACC_QCTRL_ENABLE);
	f->h->running = true;
	cm_device_run(f->h->dev, 0, MH_BUDGET_NS);
	f->h->running = false;
	cm_device_end(f->h->dev, 0);
	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.status_class, CNNACC_STATUS_ABORTED);
}

/* ---- timing=modelled ---- */

#define CLOCK_HZ	30000000u	/* a cycle is not a whole number of ns */

static int setup_modelled(void **state)
{
	const struct cm_config config = { .clock_hz = CLOCK_HZ, .modelled = true };
	struct core_jobs *f = hf_new(&config);

	f->h->clock_stands = true;
	f->h->now = 1000;
	*state = f;
	return 0;
}

static uint64_t time_of(uint64_t cycle)
{
	return 1000 + (cycle * 1000000000 + CLOCK_HZ - 1) / CLOCK_HZ;
}

/* Works up to where the device waits; that must be for @at. */
static void expect_wait(struct core_jobs *f, uint64_t at)
{
	mh_work(f->h, 0);
	assert_int_equal(cm_device_wake_time(f->h->dev, 0), at);
	f->h->now = at - 1;
	assert_false(mh_work_once(f->h, 0, MH_BUDGET_NS));
	assert_false(cj_done(f));
	f->h->now = at;
}

static void test_modelled(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };
	uint64_t cycle;

	sa_irq(&a, 1);
	sa_load(&a, 0, DATA_VA, 0, 64);
	sa_save(&a, 0, DATA_VA + PAGE, 0, 64);
	sa_write_acc(&a, 0, 0, 5);
	sa_relu(&a, 0, 0, DATA_VA + PAGE + 64);
	sa_end(&a);
	sq_submit(f, &a);
	expect_wait(f, time_of(cycle = BOOT(a)));
	expect_wait(f, time_of(cycle += 1));
	assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), 0);
	expect_wait(f, time_of(cycle += 18));
	assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), 1);
	f->data[0] = 7;
	expect_wait(f, time_of(cycle += 18));
	assert_int_equal(f->data[PAGE], 0);
	f->data[0] = 8;
	expect_wait(f, time_of(cycle += 7));
	assert_int_equal(f->data[PAGE], 7);
	expect_wait(f, time_of(cycle += 1));
	assert_int_equal(f->data[PAGE + 64], 5);
	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->done.cycles, cycle);
	assert_int_equal(f->done.end_ns, time_of(cycle));
}

/* What comes after an event is as much later as the event has waited. */
static void test_modelled_event_wait(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = two_events();
	uint64_t late = 0;

	f->flags = CNNACC_PACKET_EVENT_WAIT;
	sq_submit(f, &a);
	expect_wait(f, time_of(BOOT(a)));
	for (unsigned int i = 1; i <= 2; i++) {
		expect_wait(f, time_of(BOOT(a) + i) + late);
		mh_work(f->h, 0);
		assert_int_equal(qreg(f, CNNACC_QREG_EVENT_COUNT), i);
		assert_int_equal(cm_device_wake_time(f->h->dev, 0), 0);
		f->h->now += 12345 * i;
		late += 12345 * i;
		ack(f);
	}
	expect_wait(f, time_of(BOOT(a) + 2 + 18) + late);
	expect_wait(f, time_of(BOOT(a) + 2 + 19) + late);
	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.cycles, BOOT(a) + 2 + 19);
	assert_int_equal(f->done.start_ns, 1000);
	assert_int_equal(f->done.end_ns, time_of(BOOT(a) + 2 + 19) + late);
}

/* ---- contexts ---- */

static void test_scrub(void **state)
{
	struct core_jobs *f = *state;
	struct mh_space other = mh_space_new(f->h, 8);
	uint8_t *out;
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_FILL, 2, 0xff, 0, 1, KERNEL);
	sa_write_acc(&a, 3, 4, 77);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ACC(3, 4)), 77);
	mh_map_job(f->h, &other);
	out = mh_map_new(f->h, &other, DATA_VA, 8 * PAGE, RW);
	memset(out, 0xee, 8 * PAGE);
	f->space = other;
	a.n = 0;
	sa_save(&a, 2, DATA_VA, 0, KERNEL);
	sa_read_acc(&a, 3, 4, 0, DATA_VA);
	sa_end(&a);
	sq_ok(f, &a);
	for (unsigned int i = 0; i < KERNEL; i++)
		assert_int_equal(out[i], 0);
	assert_int_equal(f->stats.scrub_cycles, KERNEL / 64);
	assert_int_equal(f->stats.cycles, KERNEL / 64 + BOOT(a) + 17 + KERNEL / 64 + 2 + 1);
	/* The same context finds its data again. */
	a.n = 0;
	sa_write_acc(&a, 3, 4, 78);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.scrub_cycles, 0);
	a.n = 0;
	sa_read_acc(&a, 3, 4, 0, DATA_VA);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(out[0], 78);
}

#define MT(name)	cmocka_unit_test_setup_teardown(name, setup_modelled, cj_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HT(test_words), HT(test_values_of_words), HT(test_boot), HT(test_rest_is_end),
		HT(test_copy), HT(test_copy_lines), HT(test_overlap), HT(test_nothing_to_copy),
		HT(test_range), HT(test_fill), HT(test_edges_of_the_address_space),
		HT(test_refused), HT(test_without_mappings), HT(test_nested_loops),
		HT(test_deep_loops), HT(test_end_in_a_loop), HT(test_loop_errors),
		HT(test_time_limit), HT(test_events), HT(test_event_wait),
		HT(test_abort_while_suspended), HT(test_reset_while_suspended),
		MT(test_modelled), MT(test_modelled_event_wait), HT(test_scrub),
	};

	return cmocka_run_group_tests_name("model_sequencer", tests, NULL, NULL);
}
