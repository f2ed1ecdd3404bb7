// SPDX-License-Identifier: MIT
/*
 * Blocks of core gcu: the counters that Documentation/hardware/gcu.rst gives for its seven layers;
 * replacement tables for random layers: they never stop the array, read no more than FIFO with its
 * best threshold, and no more than once what the slots can hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "backend/gcu/gcu.h"
#include "onnx_build.h"

static const struct gcuc_hw default_hw = {
	.atomic_c = 8, .atomic_k = 8, .banks = 16, .rows_max = 512, .rbuf_banks = 4,
	.rbuf_depth = 512, .bus = 64,
};

static uint32_t seed = 3;

static int64_t pick(int64_t low, int64_t high)
{
	return low + (int64_t)(ob_rand(&seed) % (uint32_t)(high - low + 1));
}

/* ---- the page's layers ------------------------------------------------------------------- */

/* The layer that the page's table is about. */
static struct gcuc_block page_layer(void)
{
	const struct gcuc_axis axis = { .in = 8, .out = 6, .kernel = 3, .stride = 1 };

	return (struct gcuc_block){
		.y = axis, .x = axis, .c = 16, .k = 16, .groups = 1, .element = 1, .result = 1,
		.ifmap = { 0x10000, 8, 64, 512 }, .ofmap = { 0x30000, 8, 48, 288 },
		.fmbuf_banks = 10, .column_code = 1, .rows = 8, .kbuf_points = 9,
		.kbuf_groups = 3,
	};
}

/* The entry 255 only. */
static struct gcuc_table no_evictions(int64_t rows)
{
	static uint8_t increment = CNNACC_GCU_RESTART, vector[64];

	return (struct gcuc_table){
		.increment = &increment, .vector = vector, .n = 1, .vector_bytes = (rows + 7) / 8,
	};
}

struct counters {
	uint64_t cycles, compute, stall, dma, useful, read, written;
	uint64_t row_refills, weight_refills, table_bytes;
};

static void check(const struct gcuc_hw *hw, const struct gcuc_block *b, struct counters want)
{
	struct gcuc_count n;

	assert_true(gcuc_count_block(hw, b, INT64_MAX, &n));
	assert_int_equal(n.cycles, want.cycles);
	assert_int_equal(n.compute, want.compute);
	assert_int_equal(n.stall, want.stall);
	assert_int_equal(n.dma_rows + n.dma_weights, want.dma);
	assert_int_equal(n.useful, want.useful);
	assert_int_equal(n.read_rows + n.read_weights, want.read);
	assert_int_equal(n.written, want.written);
	assert_int_equal(n.row_refills, want.row_refills);
	assert_int_equal(n.weight_refills, want.weight_refills);
	assert_int_equal(n.table_bytes, want.table_bytes);
}

static void test_ordinary(void **state)
{
	static uint8_t increments[] = { 0, 1, 1, 1, 1, 1, 1, 1, 4, CNNACC_GCU_RESTART };
	static uint8_t vectors[] = { 1, 8, 2, 0x10, 4, 0x20, 0x40, 0x80, 0xff, 0 };
	const struct gcuc_table a = { increments, vectors, 10, 10, 1 };
	struct gcuc_table none = no_evictions(64);
	struct gcuc_block b = page_layer();

	(void)state;
	b.control = CNNACC_GCU_TABLE;
	b.table = &a;
	check(&default_hw, &b, (struct counters){ 1383, 1296, 51, 106, 82944, 4392, 576, 1024, 0,
						  40 });
	b.control = 0;
	b.rows = 4;
	b.threshold = 3;
	check(&default_hw, &b, (struct counters){ 1382, 1296, 50, 126, 82944, 6912, 576, 3584,
						  0, 0 });
	b.rows = 1;
	b.threshold = 0;
	check(&default_hw, &b, (struct counters){ 2572, 1296, 1240, 126, 82944, 6912, 576, 3584,
						  0, 0 });
	b.control = CNNACC_GCU_TABLE;
	b.table = &none;
	b.rows = 64;
	b.c = 40;
	check(&default_hw, &b, (struct counters){ 3326, 3240, 50, 512, 207360, 31396, 576, 0, 23040,
						  36 });
}

static void test_half(void **state)
{
	struct gcuc_table none = no_evictions(16);
	struct gcuc_block b = page_layer();
	struct gcuc_hw hw = default_hw;

	(void)state;
	hw.bus = 8;
	b.control = CNNACC_GCU_TABLE | CNNACC_GCU_FP16 << CNNACC_GCU_FORMAT_SHIFT |
		    CNNACC_GCU_LINEAR | CNNACC_GCU_PSUM |
		    CNNACC_GCU_ACT_RELU << CNNACC_GCU_ACT_SHIFT;
	b.table = &none;
	b.element = b.result = 2;
	b.x.in = 16;
	b.x.out = 14;
	b.column_code = 2;
	b.rows = 16;
	b.ifmap = (struct gcuc_map){ 0x10000, 16, 256, 2048 };
	b.psum = (struct gcuc_map){ 0x50000, 32, 448, 2688 };
	b.ofmap = (struct gcuc_map){ 0x30000, 16, 224, 1344 };
	check(&hw, &b, (struct counters){ 3496, 3024, 388, 2180, 193536, 14348, 2688, 0, 0, 12 });
}

static void test_grouped(void **state)
{
	struct gcuc_table none = no_evictions(16);
	struct gcuc_block b = page_layer();

	(void)state;
	b.control = CNNACC_GCU_TABLE;
	b.table = &none;
	b.rows = 16;
	b.groups = 4;
	b.y.begin = b.y.end = 1;
	b.y.out = 8;
	b.x = b.y;
	b.ofmap = (struct gcuc_map){ 0x30000, 16, 128, 8 };
	check(&default_hw, &b, (struct counters){ 1240, 1152, 50, 69, 30976, 2185, 1024, 0, 0, 9 });
}

static void test_transposed(void **state)
{
	struct gcuc_table none = no_evictions(8);
	struct gcuc_block b = page_layer();

	(void)state;
	b.control = CNNACC_GCU_TABLE;
	b.table = &none;
	b.c = 3;
	b.k = 5;
	b.y.inner = b.y.begin = b.y.end = 1;
	b.y.out = 15;
	b.x = b.y;
	b.ifmap = (struct gcuc_map){ 0x10000, 3, 24, 0 };
	b.ofmap = (struct gcuc_map){ 0x30000, 5, 75, 0 };
	check(&default_hw, &b, (struct counters){ 2092, 2025, 22, 50, 7260, 556, 1125, 0, 0, 4 });
}

/* ---- tables ------------------------------------------------------------------------------ */

static void random_axis(struct gcuc_axis *a, int64_t most)
{
	*a = (struct gcuc_axis){
		.kernel = pick(1, 5), .stride = pick(0, 2) ? 1 : pick(2, 3),
		.dilation = pick(0, 3) ? 0 : pick(1, 3), .inner = pick(0, 5) ? 0 : pick(1, 2),
		.begin = pick(0, 3), .end = pick(0, 3), .in = pick(1, most),
	};
	while ((a->in - 1) * (a->inner + 1) + 1 + a->begin + a->end < gcuc_reach(a))
		a->in++;
	a->out = ((a->in - 1) * (a->inner + 1) + 1 + a->begin + a->end - gcuc_reach(a)) /
			 a->stride + 1;
}

static struct gcuc_block random_block(void)
{
	struct gcuc_block b = page_layer();

	b.control = CNNACC_GCU_TABLE;
	random_axis(&b.y, 24);
	random_axis(&b.x, 10);
	b.column_code = 2;
	b.groups = pick(0, 2) ? 1 : pick(2, 6);
	b.c = b.groups * pick(1, 16);
	b.k = b.groups > 1 ? b.c : pick(1, 60);
	b.kbuf_points = 25;
	b.rows = pick(b.y.kernel, pick(0, 1) ? 2 * b.y.kernel + 2 : 60);
	return b;
}

/* Rows of all kernel groups, and different ones. */
static uint64_t least_bytes(const struct gcuc_block *b, bool per_kernel_group)
{
	uint64_t bytes = 0;

	for (int64_t y = 0; y < b->y.in; y++) {
		bool needed = false;

		for (int64_t i = 0; i < b->y.out * b->y.kernel && !needed; i++)
			needed = gcuc_row_of(&b->y, i / b->y.kernel, i % b->y.kernel) == y;
		bytes += needed ? (uint64_t)(b->c * b->x.in) : 0;
	}
	return per_kernel_group ? bytes * (uint64_t)gcuc_kernel_groups(&default_hw, b) : bytes;
}

/* With any threshold that does not stop the array. */
static uint64_t best_fifo(const struct gcuc_block *from)
{
	struct gcuc_block b = *from;
	struct gcuc_count n;
	uint64_t best = UINT64_MAX;

	b.control = 0;
	for (b.threshold = 0; b.threshold < b.rows; b.threshold++)
		if (gcuc_count_block(&default_hw, &b, INT64_MAX, &n) && n.row_refills < best)
			best = n.row_refills;
	return best;
}

static void check_table(const struct gcuc_block *from, int64_t pinned)
{
	struct gcuc_block b = *from;
	struct gcuc_table t;
	struct gcuc_count n;

	assert_true(gcuc_table_make(&default_hw, from, pinned, &t));
	b.table = &t;
	assert_true(gcuc_count_block(&default_hw, &b, INT64_MAX, &n));
	/* All rows fit: they are read once, if no other group of channels follows. */
	if (b.groups == 1 && gcuc_channel_groups(&default_hw, &b) * b.y.in <= b.rows)
		assert_int_equal(n.row_refills, 0);
	if (b.groups == 1)
		assert_int_equal(n.rows_once, least_bytes(&b, false));
	gcuc_table_free(&t);
}

static void test_tables(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct gcuc_block b = random_block();

		check_table(&b, 0);
		if (b.groups == 1 && b.rows > b.y.kernel)
			check_table(&b, pick(0, b.rows - b.y.kernel));
	}
}

/* Enough slots for the rows of an output row and those that come next: each comes once. */
static void test_belady(void **state)
{
	struct gcuc_block b = page_layer();
	struct gcuc_table t;
	struct gcuc_count n;

	(void)state;
	b.k = 8;
	b.control = CNNACC_GCU_TABLE;
	for (b.rows = 6; b.rows < 16; b.rows++) {
		assert_true(gcuc_table_make(&default_hw, &b, 0, &t));
		b.table = &t;
		assert_true(gcuc_count_block(&default_hw, &b, INT64_MAX, &n));
		assert_int_equal(n.row_refills, 0);
		assert_int_equal(n.read_rows, least_bytes(&b, true));
		gcuc_table_free(&t);
	}
}

static void test_schemes(void **state)
{
	int tables = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct gcuc_block b = random_block();
		struct gcuc_schemes list = { .n = 0 };
		struct gcuc_scheme *s;

		b.rows = pick(1, b.rows);
		s = gcuc_choose_scheme(&default_hw, &list, &b, INT64_MAX);
		assert_non_null(s);
		assert_true(s->count.row_refills + s->count.table_bytes <= best_fifo(&b));
		assert_int_equal(s->fifo_refills, best_fifo(&b));
		tables += gcuc_uses_table(&s->b);
		gcuc_schemes_free(&list);
	}
	assert_in_range(tables, 100, 399);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ordinary), cmocka_unit_test(test_half),
		cmocka_unit_test(test_grouped),	 cmocka_unit_test(test_transposed),
		cmocka_unit_test(test_tables),	 cmocka_unit_test(test_belady),
		cmocka_unit_test(test_schemes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
