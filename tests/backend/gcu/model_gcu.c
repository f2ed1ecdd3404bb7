// SPDX-License-Identifier: MIT
/* Cycles and counters of gcu in the model: the layers, limits and deadlocks of its page. */
#include "gcu_fixture.h"

#define BOOT	(16 + 4)	/* cycles of one block's boot */
#define LINES	4		/* and its lines */

static const struct gf_entry replacement[] = {
	{ 0, 0x01 }, { 1, 0x08 }, { 1, 0x02 }, { 1, 0x10 }, { 1, 0x04 }, { 1, 0x20 },
	{ 1, 0x40 }, { 1, 0x80 }, { 4, 0xff }, { CNNACC_GCU_RESTART, 0 },
};

static void set_rows(struct cnnacc_gcu_layer *b, uint32_t rows)
{
	b->fmbuf = (b->fmbuf & 0xffff) | rows << 16;
}

static struct cnnacc_gcu_layer layer_a(struct gcu_fixture *f)
{
	struct cnnacc_gcu_layer b = gf_base();

	gf_tables(f, &b, replacement, 10);
	return b;
}

static struct cnnacc_gcu_layer fifo(uint32_t rows, uint32_t threshold)
{
	struct cnnacc_gcu_layer b = gf_base();

	set_rows(&b, rows);
	b.threshold = threshold;
	return b;
}

static struct cnnacc_gcu_layer layer_b(struct gcu_fixture *f)
{
	(void)f;
	return fifo(4, 3);
}

static struct cnnacc_gcu_layer layer_c(struct gcu_fixture *f)
{
	(void)f;
	return fifo(1, 0);
}

static struct cnnacc_gcu_layer layer_d(struct gcu_fixture *f)
{
	struct cnnacc_gcu_layer b = gf_base();

	set_rows(&b, 64);
	b.channels = PAIR(40, 16);
	gf_keep_rows(f, &b);
	return b;
}

static struct cnnacc_gcu_layer layer_e(struct gcu_fixture *f)
{
	struct cnnacc_gcu_layer b = gf_base();

	b.control |= CNNACC_GCU_FP16 << CNNACC_GCU_FORMAT_SHIFT | CNNACC_GCU_PSUM |
		     CNNACC_GCU_LINEAR | CNNACC_GCU_ACT_RELU << CNNACC_GCU_ACT_SHIFT |
		     CNNACC_GCU_OUT_FP16 << CNNACC_GCU_OUT_SHIFT;
	b.in_size = PAIR(16, 8);
	b.out_size = PAIR(14, 6);
	b.fmbuf = 10 | 2 << 8 | 16 << 16;
	b.ifmap = (struct cnnacc_gcu_map){ IFMAP, 16, 256, 2048 };
	b.psum = (struct cnnacc_gcu_map){ PSUM, 32, 448, 2688 };
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP, 16, 224, 1344 };
	b.linear_va = LINEAR;
	gf_keep_rows(f, &b);
	return b;
}

static struct cnnacc_gcu_layer layer_f(struct gcu_fixture *f)
{
	struct cnnacc_gcu_layer b = gf_base();

	set_rows(&b, 16);
	b.groups = 4;
	b.padding = BYTES(1, 1, 1, 1);
	b.out_size = PAIR(8, 8);
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP, 16, 128, 8 };
	gf_keep_rows(f, &b);
	return b;
}

static struct cnnacc_gcu_layer layer_g(struct gcu_fixture *f)
{
	struct cnnacc_gcu_layer b = gf_base();

	b.channels = PAIR(3, 5);
	b.spacing = BYTES(0, 0, 1, 1);
	b.padding = BYTES(1, 1, 1, 1);
	b.out_size = PAIR(15, 15);
	b.ifmap = (struct cnnacc_gcu_map){ IFMAP, 3, 24, 0 };
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP, 5, 75, 0 };
	gf_keep_rows(f, &b);
	return b;
}

/* Counters of a layer in the order of the page's table, without the boot. */
enum { COUNTERS = 23 };

static void read_counters(struct gcu_fixture *f, uint64_t c[COUNTERS])
{
	static const uint32_t regs[] = {
		CNNACC_GCU_REG_STALL_ROW, CNNACC_GCU_REG_STALL_WEIGHT, CNNACC_GCU_REG_STALL_PSUM,
		CNNACC_GCU_REG_STALL_RBUF, CNNACC_GCU_REG_ROW_FILLS, CNNACC_GCU_REG_ROW_BYTES,
		CNNACC_GCU_REG_ROW_REFILLS, CNNACC_GCU_REG_EVICTIONS,
		CNNACC_GCU_REG_WEIGHT_BYTES, CNNACC_GCU_REG_WEIGHT_REFILLS,
		CNNACC_GCU_REG_TABLE_BYTES, CNNACC_GCU_REG_TAPS, CNNACC_GCU_REG_TAPS_MASKED,
	};
	const struct cnnacc_stats *s = &f->j.stats;
	const uint64_t stats[] = {
		f->j.done.cycles - BOOT, s->cycles_serial - BOOT, s->compute_cycles,
		s->dma_cycles - BOOT, s->mac_useful, s->mem_read_bytes - LINES * 64,
		s->mem_write_bytes, s->local_read_bytes, s->local_write_bytes - LINES * 64,
	};

	memcpy(c, stats, sizeof(stats));
	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		c[sizeof(stats) / 8 + i] = cj_counter(&f->j, regs[i]);
	c[22] = s->stall_cycles;
}

/** struct vector - a layer of the page's table and its column; stall_cycles is the sum. */
struct vector {
	const char *cores;
	struct cnnacc_gcu_layer (*make)(struct gcu_fixture *f);
	uint64_t counters[COUNTERS - 1];
};

static const struct vector vectors[] = {
	{ "gcu", layer_a, { 1383, 2200, 1296, 106, 82944, 4392, 576, 67968, 45864,
			    0, 51, 0, 0, 32, 2048, 1024, 32, 2304, 0, 40, 1296, 0 } },
	{ "gcu", layer_b, { 1382, 2860, 1296, 126, 82944, 6912, 576, 67968, 48384,
			    0, 50, 0, 0, 72, 4608, 3584, 72, 2304, 0, 0, 1296, 0 } },
	{ "gcu", layer_c, { 2572, 2860, 1296, 126, 82944, 6912, 576, 67968, 48384,
			    1190, 50, 0, 0, 72, 4608, 3584, 72, 2304, 0, 0, 1296, 0 } },
	{ "gcu", layer_d, { 3326, 5414, 3240, 512, 207360, 31396, 576, 166464, 135076,
			    0, 50, 0, 0, 40, 2560, 0, 0, 28800, 23040, 36, 3240, 0 } },
	{ "gcu:bus=8", layer_e, { 3496, 5992, 3024, 2180, 193536, 14348, 2688, 178176, 111116,
				  0, 316, 72, 0, 16, 4096, 0, 0, 4608, 0, 12, 3024, 0 } },
	{ "gcu", layer_f, { 1240, 1795, 1152, 69, 30976, 2185, 1024, 51264, 33161,
			    0, 50, 0, 0, 16, 1024, 0, 0, 1152, 0, 9, 968, 184 } },
	{ "gcu", layer_g, { 2092, 2489, 2025, 50, 7260, 556, 1125, 20692, 10236,
			    0, 22, 0, 0, 8, 192, 0, 0, 360, 0, 4, 484, 1541 } },
};

static void test_counters(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		struct gcu_fixture *f = gf_cores(v->cores);
		struct cnnacc_gcu_layer b = v->make(f);
		uint64_t c[COUNTERS];

		gf_ok(f, &b);
		read_counters(f, c);
		for (unsigned int n = 0; n < COUNTERS - 1; n++) {
			if (c[n] != v->counters[n])
				print_error("layer %c, counter %u\n", (char)('A' + i), n);
			assert_int_equal(c[n], v->counters[n]);
		}
		assert_int_equal(c[22], c[9] + c[10] + c[11] + c[12]);
		assert_int_equal(f->j.stats.instructions, 1);
		assert_int_equal(f->j.stats.mac_slots, f->j.stats.compute_cycles * 64);
		mh_free(f->j.h);
	}
}

static void expect_limit(struct gcu_fixture *f, uint64_t limit, uint64_t cycles, uint64_t blocks)
{
	struct cnnacc_gcu_layer b = layer_a(f);

	f->j.limit = BOOT + limit;
	gf_fails(f, &b, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
	assert_int_equal(f->j.done.cycles, BOOT + cycles);
	assert_int_equal(f->j.stats.instructions, blocks);
}

static void test_cycle_limit(void **state)
{
	struct gcu_fixture *f = *state;
	struct cnnacc_gcu_layer b = layer_a(f);

	expect_limit(f, 0, 95, 0);
	expect_limit(f, 94, 95, 0);
	expect_limit(f, 1379, 1380, 0);
	expect_limit(f, 1380, 1383, 1);
	expect_limit(f, 1382, 1383, 1);
	f->j.limit = BOOT + 1383;
	gf_ok(f, &b);
	f->j.limit = BOOT - 1;
	gf_fails(f, &b, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
	assert_int_equal(f->j.done.cycles, BOOT);
	assert_int_equal(f->j.stats.dma_cycles, BOOT);
}

static void expect_deadlock(struct gcu_fixture *f, const struct cnnacc_gcu_layer *b,
			    uint32_t detail, uint32_t h, uint32_t cg)
{
	gf_fails(f, b, CNNACC_STATUS_DEADLOCK, CNNACC_GCU_E_DEADLOCK, detail);
	assert_int_equal(cj_reg(&f->j, CNNACC_GCU_REG_KERNEL_GROUP), 0);
	assert_int_equal(cj_reg(&f->j, CNNACC_GCU_REG_OUT_ROW), h);
	assert_int_equal(cj_reg(&f->j, CNNACC_GCU_REG_CHANNEL_GROUP), cg);
	assert_int_equal(f->j.done.cycles, BOOT);
	assert_int_equal(f->j.stats.instructions, 0);
	assert_int_equal(cj_counter(&f->j, CNNACC_GCU_REG_ROW_FILLS), 0);
}

static void test_deadlocks(void **state)
{
	const struct gf_entry early[] = { { 0, 0x02 }, { CNNACC_GCU_RESTART, 0 } };
	struct gcu_fixture *f = *state;
	struct cnnacc_gcu_layer b = fifo(4, 2);

	expect_deadlock(f, &b, CNNACC_GCU_DEADLOCK_EVICTED, 0, 0);
	b = fifo(4, 4);
	expect_deadlock(f, &b, CNNACC_GCU_DEADLOCK_FULL, 0, 1);
	b = gf_base();
	set_rows(&b, 4);
	gf_keep_rows(f, &b);
	expect_deadlock(f, &b, CNNACC_GCU_DEADLOCK_FULL, 0, 1);
	set_rows(&b, 2);
	expect_deadlock(f, &b, CNNACC_GCU_DEADLOCK_FULL, 0, 0);
	b = gf_base();
	gf_tables(f, &b, early, 2);
	expect_deadlock(f, &b, CNNACC_GCU_DEADLOCK_EVICTED, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test_setup_teardown(test_cycle_limit, gf_setup, cj_teardown),
		cmocka_unit_test_setup_teardown(test_deadlocks, gf_setup, cj_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
