// SPDX-License-Identifier: MIT
/* CBUF of gcu as fills and probes see it, and its accesses to memory up to one that fails. */
#include "gcu_fixture.h"

#define WORD	16u	/* bytes of a CBUF word */
#define BOOT	(16 + 4)

/** struct area - words of CBUF. */
struct area {
	uint32_t port, address, count, banks;
};

static struct cnnacc_gcu_probe block_of(uint32_t kind, struct area a, uint32_t va)
{
	return (struct cnnacc_gcu_probe){
		.control = kind, .port = a.port, .address = a.address, .count = a.count, .va = va,
		.fmbuf_banks = a.banks,
	};
}

static void run_block(struct gcu_fixture *f, uint32_t kind, struct area a, uint32_t va)
{
	const struct cnnacc_gcu_probe b = block_of(kind, a, va);

	gf_add(f, &b);
	gf_run(f);
}

static void run_ok(struct gcu_fixture *f, uint32_t kind, struct area a, uint32_t va)
{
	run_block(f, kind, a, va);
	assert_int_equal(f->j.done.status_class, CNNACC_STATUS_OK);
}

static const struct area fmap = { CNNACC_GCU_PORT_FMAP, 0, 1, 10 };
static const struct area kernel = { CNNACC_GCU_PORT_KERNEL, 0, 1, 10 };

static struct area at_word(struct area a, uint32_t word)
{
	a.address = word * WORD;
	return a;
}

static void fill_random(struct gcu_fixture *f, uint32_t va, uint32_t bytes, uint64_t seed)
{
	uint8_t *p = gf_at(f, va);

	for (uint32_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)mh_random(&seed);
}

/* Words of the kernel area are where the feature map would have them with other banks. */
static void test_areas_share_banks(void **state)
{
	static const struct { uint32_t kernel, physical; } words[] = {
		{ 512, 14 * 512 + 511 }, { 1023, 14 * 512 }, { 3071, 10 * 512 },
	};
	struct gcu_fixture *f = *state;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct area other = at_word(fmap, words[i].physical);

		fill_random(f, IFMAP, WORD, i + 1);
		run_ok(f, CNNACC_GCU_FILL, at_word(kernel, words[i].kernel), IFMAP);
		other.banks = 15;
		run_ok(f, CNNACC_GCU_PROBE, other, RESULT);
		assert_memory_equal(gf_at(f, RESULT), gf_at(f, IFMAP), WORD);
	}
}

static void expect_range(struct gcu_fixture *f, struct area a, uint32_t first_outside)
{
	a = at_word(a, first_outside - 1);
	run_ok(f, CNNACC_GCU_PROBE, a, RESULT);
	a.count = 2;
	run_block(f, CNNACC_GCU_FILL, a, RESULT);
	assert_int_equal(f->j.done.status_class, CNNACC_STATUS_BAD_PROGRAM);
	assert_int_equal(f->j.done.status_code, CNNACC_GCU_E_RANGE);
	assert_int_equal(f->j.done.detail, a.port);
}

static void test_ranges(void **state)
{
	struct gcu_fixture *f = *state;

	expect_range(f, fmap, 10 * 512);
	expect_range(f, kernel, 6 * 512);
}

static void test_rotation(void **state)
{
	struct gcu_fixture *f = *state;
	const uint8_t *in = gf_at(f, IFMAP), *out = gf_at(f, RESULT);
	struct area a = at_word(kernel, 7);

	fill_random(f, IFMAP, 2 * WORD, 3);
	a.count = 2;
	run_ok(f, CNNACC_GCU_FILL, a, IFMAP);
	a.address += 3;
	run_ok(f, CNNACC_GCU_PROBE, a, RESULT);
	for (uint32_t i = 0; i < 2 * WORD; i++)
		assert_int_equal(out[i], in[i / WORD * WORD + (i + 3) % WORD]);
	run_block(f, CNNACC_GCU_FILL, a, IFMAP);
	assert_int_equal(f->j.done.status_code, CNNACC_GCU_E_CFG);
	assert_int_equal(f->j.done.detail, CNNACC_GCU_BAD_ALIGN);
}

/* INT8, 8 columns: rows come in the order of the op4, (0, 0) and (1, 0) first. */
static void test_search(void **state)
{
	static const struct { uint32_t cg, y, column, found; } places[] = {
		{ 1, 0, 3, 88 }, { 0, 0, 0, 0 }, { 1, 2, 7, (5 * 8 + 7) * 8 },
		{ 0, 1, 8, CNNACC_GCU_MISS }, { 2, 0, 0, CNNACC_GCU_MISS },
	};
	struct gcu_fixture *f = *state;
	struct cnnacc_gcu_layer b = gf_base();

	b.kernel = BYTES(1, 1, 1, 1);
	b.out_size = PAIR(8, 8);
	b.fmbuf = 10 | 1 << 8 | 32 << 16;
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP, 8, 64, 512 };
	gf_keep_rows(f, &b);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct area a = { CNNACC_GCU_PORT_SEARCH, PAIR(places[i].cg, places[i].y),
					places[i].column, 0 };
		const struct cnnacc_gcu_probe probe = block_of(CNNACC_GCU_PROBE, a, RESULT);
		uint32_t found;

		gf_add(f, &b);
		gf_add(f, &probe);
		gf_run(f);
		assert_int_equal(f->j.done.status_class, CNNACC_STATUS_OK);
		memcpy(&found, gf_at(f, RESULT), sizeof(found));
		assert_int_equal(found, places[i].found);
	}
}

/* A layer's kernel area: INT16, 3 x 3, channel group 1, row 0, column 1, third kernel. */
static void test_kernel_surface(void **state)
{
	struct gcu_fixture *f = *state;
	struct cnnacc_gcu_layer b = gf_base();
	struct area a = at_word(kernel, 82);
	const struct cnnacc_gcu_probe probe = block_of(CNNACC_GCU_PROBE, a, RESULT);

	fill_random(f, WEIGHTS, 2 * 2 * 2304, 9);
	b.control |= CNNACC_GCU_INT16 << CNNACC_GCU_FORMAT_SHIFT;
	b.ifmap = (struct cnnacc_gcu_map){ IFMAP, 16, 128, 1024 };
	b.channels = PAIR(16, 8);
	b.fmbuf = 10 | 1 << 8 | 64 << 16;
	gf_keep_rows(f, &b);
	gf_add(f, &b);
	gf_add(f, &probe);
	gf_run(f);
	assert_int_equal(f->j.done.status_class, CNNACC_STATUS_OK);
	assert_memory_equal(gf_at(f, RESULT), gf_at(f, WEIGHTS + 2304 / 2 + (8 + 2) * 16), 16);
}

static void expect_cycles(struct gcu_fixture *f, const void *block, uint64_t cycles)
{
	gf_add(f, block);
	gf_run(f);
	assert_int_equal(f->j.done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->j.done.cycles, BOOT + cycles);
}

static void test_cycles(void **state)
{
	struct gcu_fixture *f = *state;
	struct area a = fmap, search = { CNNACC_GCU_PORT_SEARCH, 0, 0, 0 };
	struct cnnacc_gcu_wait wait = { .control = CNNACC_GCU_WAIT, .cycles = 1000 };
	struct cnnacc_gcu_probe b;

	a.count = 32;
	b = block_of(CNNACC_GCU_FILL, a, IFMAP);
	expect_cycles(f, &b, 56);
	b = block_of(CNNACC_GCU_PROBE, a, RESULT);
	expect_cycles(f, &b, 56);
	a.count = 512;
	b = block_of(CNNACC_GCU_PROBE, a, RESULT);
	expect_cycles(f, &b, 656);
	b = block_of(CNNACC_GCU_PROBE, search, RESULT);
	expect_cycles(f, &b, 18);
	expect_cycles(f, &wait, 1016);
	for (uint32_t limit = 100; limit <= 1015; limit += 915) {
		f->j.limit = BOOT + limit;
		gf_add(f, &wait);
		gf_run(f);
		assert_int_equal(f->j.done.status_class, CNNACC_STATUS_TIME_LIMIT);
		assert_int_equal(f->j.done.cycles, BOOT + limit + 1);
		assert_int_equal(f->j.stats.instructions, 0);
	}
}

/* What is before a fault in the order of accesses is written, and counts nothing. */
static void test_fault_in_a_row(void **state)
{
	const uint32_t stride = 1360;	/* column 4 is in the second page */
	struct gcu_fixture *f = *state;
	struct cnnacc_gcu_layer b = gf_base();
	const uint8_t *out = gf_at(f, OFMAP);

	b.ofmap = (struct cnnacc_gcu_map){ OFMAP, stride, 8, 288 };
	b.control |= CNNACC_GCU_CLAMP;
	b.clamp_low = 5;
	b.clamp_high = 5;
	b.threshold = 7;
	*mh_pte(f->j.h, &f->j.space, OFMAP + PAGE) &= ~CNNACC_PTE_WRITE;
	gf_fails(f, &b, CNNACC_STATUS_MMU_FAULT, CNNACC_GCU_E_DMA, CNNACC_FAULT_PERM);
	assert_int_equal(f->j.done.access, CNNACC_ACCESS_WRITE);
	assert_int_equal(f->j.done.fault_va, OFMAP + 4 * stride / 64 * 64);
	for (uint32_t column = 0; column < 5; column++)
		assert_int_equal(out[column * stride + 7], column < 4 ? 5 : 0);
	assert_int_equal(f->j.stats.mem_write_bytes, 0);
	assert_int_equal(f->j.done.cycles, BOOT);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, gf_setup, cj_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_areas_share_banks), T(test_ranges), T(test_rotation), T(test_search),
		T(test_kernel_surface), T(test_cycles), T(test_fault_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
