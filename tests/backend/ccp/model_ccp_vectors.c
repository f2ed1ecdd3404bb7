// SPDX-License-Identifier: MIT
/* The published vectors of core ccp: encodings, units, the complete program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model_asm.h"
#include "model_host.h"

#define IN_VA		0x00100000u
#define WEIGHT_VA	0x00200000u	/* four bank images, a bank apart */
#define OUT_VA		0x00300000u
#define BANK		CNNACC_CCP_WEIGHT_BANK_DEFAULT
#define MAP_BYTES	0x40000u

struct fixture {
	struct model_host *h;
	struct mh_space space;
	float *in, *out;
	char *weight;
};

static float x_at(unsigned int i)
{
	return (float)((int)((i * 37 + 11) % 101) - 50) * 0.1f;
}

static float w_at(unsigned int i)
{
	return (float)((int)((i * 53 + 7) % 97) - 48) * 0.03f;
}

static float b_at(unsigned int i)
{
	return (float)((int)((i * 29 + 3) % 19) - 9) * 0.7f;
}

static int setup(void **state)
{
	static struct fixture f;

	f.h = mh_new(NULL, 4 << 20);
	f.space = mh_space_new(f.h, 1);
	mh_map_job(f.h, &f.space);
	f.in = mh_map_new(f.h, &f.space, IN_VA, MAP_BYTES, CNNACC_PTE_READ);
	f.weight = mh_map_new(f.h, &f.space, WEIGHT_VA, 4 * BANK, CNNACC_PTE_READ);
	f.out = mh_map_new(f.h, &f.space, OUT_VA, MAP_BYTES, CNNACC_PTE_WRITE);
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

static unsigned int lines(size_t floats)
{
	return (unsigned int)((floats * 4 + 63) / 64);
}

static void fill_input(struct fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		f->in[i] = x_at(i);
}

static struct cnnacc_stats run(struct fixture *f, struct masm *a)
{
	struct cnnacc_stats stats;
	struct cnnacc_completion done;

	ma_end(a);
	done = mh_exec(f->h, &f->space, a->word, a->n, &stats);
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(done.pc, a->n - 1);
	assert_int_equal(done.cycles, stats.cycles);
	return stats;
}

static void check_bits(const float *value, uint32_t bits)
{
	uint32_t got;

	memcpy(&got, value, sizeof(got));
	assert_int_equal(got, bits);
}

struct conv_vector {
	unsigned int is, k, stride, ci, co, os;
	bool relu, bias;
	uint32_t first[4];
	uint32_t last;
	uint32_t crc;
};

static void put_weights(struct fixture *f, const struct conv_vector *v, unsigned int bias_base)
{
	unsigned int taps = v->ci * v->k * v->k;

	for (unsigned int o = 0; o < v->co; o++) {
		float *bank = (float *)(f->weight + o % 4 * BANK);

		for (unsigned int i = 0; i < taps; i++)
			bank[o / 4 * taps + i] = w_at(o * taps + i);
		bank[bias_base + o / 4] = b_at(o);
	}
}

static void check_conv(struct fixture *f, const struct conv_vector *v)
{
	unsigned int bias_base = 4096, outputs = v->co * v->os * v->os;
	uint32_t g0[8] = {
		v->relu | v->bias << 1 | v->stride << 8 | v->k << 16, v->is | v->os << 16,
		v->ci | v->co << 16, (v->ci - 1) << 16, 0, 16 | 3 << 8, 0, 0,
	};
	uint32_t g1[8] = { 0, 0, 0, bias_base };
	struct masm a = { .n = 0 };

	fill_input(f, v->ci * v->is * v->is);
	put_weights(f, v, bias_base);
	ma_dma(&a, 0, IN_VA, lines(v->ci * v->is * v->is), 0, CNNACC_CCP_TGT_READ_BANK);
	for (unsigned int b = 0; b < 4; b++)
		ma_dma(&a, 0, WEIGHT_VA + b * BANK, BANK / 64, 0, CNNACC_CCP_TGT_WEIGHT0 + b);
	ma_cfg(&a, CNNACC_CCP_CONV, 1, g1);
	for (unsigned int col = 0; col < v->os; col += 8) {
		g0[4] = col << 16;
		ma_cfg(&a, CNNACC_CCP_CONV, 0, g0);
		ma_exec(&a, CNNACC_CCP_CONV);
	}
	ma_dma(&a, 1, OUT_VA, lines(outputs), 0, CNNACC_CCP_TGT_WRITE_BANK);
	run(f, &a);
	for (unsigned int i = 0; i < 4; i++)
		check_bits(&f->out[i], v->first[i]);
	if (v->last)
		check_bits(&f->out[outputs - 1], v->last);
	assert_int_equal(mh_crc32(f->out, outputs * 4), v->crc);
}

static void test_conv(void **state)
{
	static const struct conv_vector vectors[] = {
		{ 10, 3, 1, 2, 5, 8, true, true,
		  { 0x409fa5e5, 0, 0, 0x409eb022 }, 0, 0xe967a264 },
		{ 11, 3, 2, 3, 4, 5, false, true,
		  { 0x409e1cab, 0xc17df7d0, 0xc14c0000, 0x41347ae3 }, 0x415d2b03, 0x3cdf029c },
		{ 12, 5, 1, 1, 1, 8, false, false,
		  { 0x41595812, 0x403d1eba, 0x40625e34, 0xc081fbe8 }, 0x40eec082, 0x13c06137 },
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		check_conv(*state, &vectors[i]);
}

static void check_pool(struct fixture *f, bool average, unsigned int k, unsigned int channels,
		       const uint32_t first[4], uint32_t last, uint32_t crc)
{
	unsigned int outputs = channels * 16;
	uint32_t g[8] = { average | 2 << 8 | k << 16, 8, channels, 0, 0 };
	struct masm a = { .n = 0 };

	fill_input(f, channels * 64);
	ma_dma(&a, 0, IN_VA, lines(channels * 64), 0, CNNACC_CCP_TGT_READ_BANK);
	ma_cfg(&a, CNNACC_CCP_POOL, 0, g);
	ma_exec(&a, CNNACC_CCP_POOL);
	ma_dma(&a, 1, OUT_VA, lines(outputs), 0, CNNACC_CCP_TGT_WRITE_BANK);
	run(f, &a);
	for (unsigned int i = 0; i < 4; i++)
		check_bits(&f->out[i], first[i]);
	check_bits(&f->out[outputs - 1], last);
	assert_int_equal(mh_crc32(f->out, outputs * 4), crc);
}

static void test_pool(void **state)
{
	static const uint32_t max3[] = { 0x4099999a, 0x40600000, 0x40900000, 0x3fe66667 };
	static const uint32_t avg3[] = { 0x3e638e3e, 0xbe6eeef2, 0x3edddddd, 0xbf000000 };
	static const uint32_t max2[] = { 0xbe4ccccd, 0x40600000, 0x40900000, 0x3fe66667 };
	static const uint32_t avg2[] = { 0xc019999a, 0xbd4ccce0, 0x40133333, 0xbecccccd };

	check_pool(*state, false, 3, 2, max3, 0x40066667, 0x43f5d8e9);
	check_pool(*state, true, 3, 2, avg3, 0xbd360b5d, 0x44d2b0b5);
	check_pool(*state, false, 2, 1, max2, 0x40800000, 0x93d6cc58);
	check_pool(*state, true, 2, 1, avg2, 0x3ee66664, 0x038bb819);
}

static void test_pad(void **state)
{
	struct fixture *f = *state;
	static const uint32_t g[8] = { 1, 3, 2, 0, 0 };
	struct masm a = { .n = 0 };

	fill_input(f, 18);
	ma_dma(&a, 0, IN_VA, 2, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_cfg(&a, CNNACC_CCP_PAD, 0, g);
	ma_exec(&a, CNNACC_CCP_PAD);
	ma_dma(&a, 1, OUT_VA, 4, 0, CNNACC_CCP_TGT_WRITE_BANK);
	run(f, &a);
	assert_int_equal(mh_crc32(f->out, 50 * 4), 0x7973ed0e);
}

static void test_fc(void **state)
{
	static const uint32_t expected[] = {
		0x3ea147e0, 0xc201eb85, 0x419e4395, 0x418eac08, 0x408147b2, 0x4107e354,
	};
	static const uint32_t g[8] = { CNNACC_CCP_R0_BIAS, 40, 6, 0, 0, 0, 512 };
	struct fixture *f = *state;
	float *w = (float *)f->weight;
	struct masm a = { .n = 0 };

	fill_input(f, 40);
	for (unsigned int o = 0; o < 6; o++) {
		for (unsigned int i = 0; i < 40; i++)
			w[o * 48 + i] = w_at(o * 40 + i);
		w[512 + o] = b_at(o);
	}
	ma_dma(&a, 0, IN_VA, 3, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 0, WEIGHT_VA, 40, 0, CNNACC_CCP_TGT_WEIGHT0);
	ma_cfg(&a, CNNACC_CCP_FC, 0, g);
	ma_exec(&a, CNNACC_CCP_FC);
	ma_dma(&a, 1, OUT_VA, 1, 0, CNNACC_CCP_TGT_WRITE_BANK);
	run(f, &a);
	for (unsigned int i = 0; i < 6; i++)
		check_bits(&f->out[i], expected[i]);
	assert_int_equal(mh_crc32(f->out, 6 * 4), 0xfd364211);
}

static void test_encodings(void **state)
{
	(void)state;
	assert_int_equal(CNNACC_CCP_INSN_LDI(1, 0x1234), 0x12001234);
	assert_int_equal(CNNACC_CCP_INSN_LDIH(1, 0xabcd), 0x2200abcd);
	assert_int_equal(CNNACC_CCP_INSN_ADDI(2, 1, -1), 0x3440ffff);
	assert_int_equal(CNNACC_CCP_INSN_LOAD(0, 1, 2, 0), 0x40500000);
	assert_int_equal(CNNACC_CCP_INSN_LOAD(0, 1, 2, 7), 0x40570000);
	assert_int_equal(CNNACC_CCP_INSN_STORE(3, 4, 5, 1), 0x57290000);
	assert_int_equal(CNNACC_CCP_INSN_CFG(0, 1), 0x61000000);
	assert_int_equal(CNNACC_CCP_INSN_EXEC(3), 0x7c000000);
	assert_int_equal(CNNACC_CCP_INSN_BNZ(2, 5), 0x94000005);
}

/* The program addresses lines from 0 on, so it gets an address space of its own. */
static void test_program(void **state)
{
	static const uint32_t program[] = {
		0x10000000, 0x12000029, 0x14000000, 0x40500000, 0x12000005, 0x10000040,
		0x40540000, 0x10000048, 0x40550000, 0x10000050, 0x40560000, 0x10000058,
		0x40570000,
		0x10000000, 0x12000000, 0x14000000, 0x16000040, 0x61000000,
		0x10000103, 0x20000003, 0x12000012, 0x22000010, 0x14000002, 0x24000005,
		0x16000000, 0x26000001, 0x1a000310, 0x1c000005, 0x1e000002, 0x18000000,
		0x60000000, 0x70000000, 0x18000000, 0x28000008, 0x3fc0ffff, 0x9e00001e,
		0x80000000, 0x10000080, 0x12000050, 0x14000000, 0x50500000, 0x00000000,
	};
	struct fixture *f = *state;
	struct mh_space space = mh_space_new(f->h, 2);
	struct cnnacc_completion done;
	struct cnnacc_stats stats;
	float *data;

	mh_map_job(f->h, &space);
	data = mh_map_new(f->h, &space, 0, 0x4000, CNNACC_PTE_READ | CNNACC_PTE_WRITE);
	for (unsigned int i = 0; i < 2 * 18 * 18; i++)
		data[i] = x_at(i);
	for (unsigned int o = 0; o < 5; o++) {
		float *bank = data + (64 + 8 * (o % 4)) * 16;

		for (unsigned int i = 0; i < 18; i++)
			bank[o / 4 * 18 + i] = w_at(o * 18 + i);
		bank[64 + o / 4] = b_at(o);
	}
	done = mh_exec(f->h, &space, program, sizeof(program) / 4, &stats);
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(done.pc, 41);
	assert_int_equal(stats.instructions, 48);
	assert_int_equal(mh_crc32(data + 128 * 16, 1280 * 4), 0x900650d4);
	check_bits(&data[128 * 16 + 3], 0x40752f1e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encodings),
		cmocka_unit_test_setup_teardown(test_conv, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pool, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_program, setup, teardown),
	};

	return cmocka_run_group_tests_name("model_ccp_vectors", tests, NULL, NULL);
}
