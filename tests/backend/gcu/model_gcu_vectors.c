// SPDX-License-Identifier: MIT
/* Arithmetic of gcu in the model: the vectors of its page, with every vector width of the host. */
#include <math.h>

#include "cores/gcu/mac.h"
#include "gcu_fixture.h"

#define FP16		(CNNACC_GCU_FP16 << CNNACC_GCU_FORMAT_SHIFT)
#define INT16		(CNNACC_GCU_INT16 << CNNACC_GCU_FORMAT_SHIFT)
#define OUT(type)	((uint32_t)CNNACC_GCU_OUT_##type << CNNACC_GCU_OUT_SHIFT)
#define ACT(type)	((uint32_t)CNNACC_GCU_ACT_##type << CNNACC_GCU_ACT_SHIFT)

static uint32_t simd;	/* of the devices that tests make */

static struct gcu_fixture *device(const char *cores)
{
	const struct cm_config config = { .simd = simd };

	return gf_new(cores, &config);
}

/* One point of @channels channels and one kernel. */
static struct cnnacc_gcu_layer point(uint32_t control, uint32_t channels)
{
	return (struct cnnacc_gcu_layer){
		.control = CNNACC_GCU_LAYER | control,
		.in_size = PAIR(1, 1), .channels = PAIR(channels, 1), .out_size = PAIR(1, 1),
		.kernel = BYTES(1, 1, 1, 1), .groups = 1,
		.fmbuf = 10 | 8 << 16, .kbuf = PAIR(1, 3), .threshold = 7,
		.ifmap = { IFMAP, 64, 64, 16 }, .ofmap = { OFMAP, 4, 4, 4 },
		.weight_va = WEIGHTS,
	};
}

static uint32_t run_word(struct gcu_fixture *f, const struct cnnacc_gcu_layer *b)
{
	uint32_t word;

	gf_ok(f, b);
	memcpy(&word, gf_at(f, OFMAP), sizeof(word));
	return word;
}

/* ---- FP16 sums ---- */

static const struct {
	uint16_t x[4], w[4];
	uint32_t off, on, after;	/* first of both settings, after 1 with fp-floor off */
} macs[] = {
	{ { 0x3c00 }, { 0x3c00 }, 0x3f800000, 0x3f800000, 0x40000000 },
	{ { 0x3e00, 0xc080, 0x2e66, 0x5640 }, { 0x4000, 0x4300, 0xb4cd, 0x211f },
	  0xc079e7f0, 0xc079e800, 0xc039e7f0 },
	{ { 0x0001, 0x03ff, 0x0400, 0x8001 }, { 0x3c00, 0x3c00, 0x3c00, 0x3c00 },
	  0x38ffe000, 0x38ffe000, 0x3f8003ff },
	{ { 0x6400, 0x9419 }, { 0x6400, 0x3c00 }, 0x49800000, 0x49800000, 0x49800008 },
	{ { 0, 0x0001 }, { 0x7bff, 0x0001 }, 0, 0, 0x3f800000 },
	{ { 0x7bff, 0x7bff, 0x7bff, 0x7bff }, { 0x7bff, 0x7bff, 0x7bff, 0x7bff },
	  0x507fc004, 0x507fc004, 0x507fc004 },
	{ { 0x7c00 }, { 0x3c00 }, 0x47800000, 0x47800000, 0x47800080 },
	{ { 0x7800, 0x8001 }, { 0x7800, 0x0001 }, 0x4e800000, 0x4e800000, 0x4e800000 },
	{ { 0x4c00, 0x868e, 0x868e, 0x868e }, { 0x4c00, 0x1419, 0x1419, 0x1419 },
	  0x43800000, 0x437fffff, 0x43808000 },
	{ { 0x3c00, 0xbc00 }, { 0x3c00, 0x3c00 }, 0, 0, 0x3f800000 },
	{ { 0x4248, 0x4170, 0xbda8, 0x389e }, { 0x2e66, 0x3266, 0x34cd, 0x3666 },
	  0x3f2a03a8, 0x3f2a03a8, 0x3fd501d4 },
};

static uint32_t mac(struct gcu_fixture *f, size_t i, const uint32_t *psum)
{
	struct cnnacc_gcu_layer b = point(FP16 | OUT(FP32), 4);

	memcpy(gf_at(f, IFMAP), macs[i].x, sizeof(macs[i].x));
	memcpy(gf_at(f, WEIGHTS), macs[i].w, sizeof(macs[i].w));
	if (psum) {
		b.control |= CNNACC_GCU_PSUM;
		b.psum = (struct cnnacc_gcu_map){ PSUM, 4, 4, 4 };
		memcpy(gf_at(f, PSUM), psum, sizeof(*psum));
	}
	return run_word(f, &b);
}

static void test_macs(void **state)
{
	struct gcu_fixture *f = device("gcu:atomic-c=4");
	const uint32_t one = 0x3f800000;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(macs); i++) {
		assert_int_equal(mac(f, i, NULL), macs[i].off);
		assert_int_equal(mac(f, i, &one), macs[i].after);
	}
	mh_free(f->j.h);
	f = device("gcu:atomic-c=4:fp-floor=on");
	for (size_t i = 0; i < ELEMENTS(macs); i++)
		assert_int_equal(mac(f, i, NULL), macs[i].on);
	mh_free(f->j.h);
}

static void test_add(void **state)
{
	static const struct {
		uint32_t old, exponent;
		int64_t f;
		uint32_t sum;
	} adds[] = {
		{ 0x3f800000, 48, -4, 0 }, { 0x3f800000, 48, -5, 0xbe800000 },
		{ 0x3f800001, 48, -4, 0 }, { 0xbf800000, 48, 3, 0xbe800000 },
		{ 0, 24, 0, 0 }, { 0x80000000, 24, 0, 0 }, { 1, 0, 1, 0x26800000 },
		{ 0x7f7fffff, 56, 68719476736, 0x7f7fffff }, { 0x4b000000, 52, -1, 0x4afffff8 },
		{ 0x3f800000, 24, 0, 0x3f800000 }, { 0x41200000, 56, -3, 0xc3360000 },
		{ 0x41200000, 56, -268435456, 0xd0800000 },
		{ 0x3f800000, 24, -134217728, 0xbf800000 },
		{ 0x80000001, 24, 67108864, 0x3f800000 }, { 0xff7fffff, 56, -1, 0xff7fffff },
		{ 0x7f000000, 24, 0, 0x7f000000 }, { 0x7fc00000, 24, 0, 0x7f7fffff },
		{ 0xff800000, 24, 0, 0xff7fffff },
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(adds); i++)
		assert_int_equal(gcu_fp_add(adds[i].old, adds[i].f, adds[i].exponent / 4),
				 adds[i].sum);
}

/* The FP16 of a number that has one. */
static uint16_t half(double v)
{
	int e;
	double m = frexp(fabs(v), &e);

	if (v == 0)
		return 0;
	return (uint16_t)((v < 0 ? 0x8000 : 0) | (e + 14) << 10 | ((int)(m * 2048) & 0x3ff));
}

static void test_float_layer(void **state)
{
	static const uint32_t sums[2][4] = {
		{ 0x40270000, 0x3fe70000, 0xbfd60000, 0x3d400000 },
		{ 0x3fa00000, 0x40508000, 0xbff00000, 0xbf4c0000 },
	};
	struct gcu_fixture *f = device("gcu");
	struct cnnacc_gcu_layer b = point(FP16 | OUT(FP32), 3);
	uint16_t *x = gf_at(f, IFMAP), *w = gf_at(f, WEIGHTS);

	(void)state;
	for (unsigned int i = 0; i < 48; i++)
		x[i] = half(i % 17 / 8.0 - 1);
	for (unsigned int p = 0; p < 9; p++)
		for (unsigned int k = 0; k < 2; k++)
			for (unsigned int c = 0; c < 3; c++)
				w[(p * 2 + k) * 8 + c] = half(((9 * k + p) * 3 + c) % 13 / 16.0 -
							      0.375);
	b.in_size = PAIR(4, 4);
	b.channels = PAIR(3, 2);
	b.out_size = PAIR(2, 2);
	b.kernel = BYTES(3, 3, 1, 1);
	b.kbuf = PAIR(9, 3);
	b.ifmap = (struct cnnacc_gcu_map){ IFMAP, 6, 24, 0 };
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP, 8, 16, 0 };
	gf_ok(f, &b);
	for (unsigned int i = 0; i < 4; i++)
		for (unsigned int k = 0; k < 2; k++)
			assert_int_equal(((uint32_t *)gf_at(f, OFMAP))[i * 2 + k], sums[k][i]);
	mh_free(f->j.h);
}

/* ---- integer sums ---- */

static void test_padding_counts_as_zero_point(void **state)
{
	struct gcu_fixture *f = device("gcu");
	struct cnnacc_gcu_layer b = point(CNNACC_GCU_UNSIGNED_IFMAP | OUT(INT32), 1);
	int8_t *w = gf_at(f, WEIGHTS);
	const int32_t *y = gf_at(f, OFMAP);

	(void)state;
	memcpy(gf_at(f, IFMAP), (uint8_t[]){ 10, 200, 255 }, 3);
	for (int s = 0; s < 3; s++)
		w[8 * s] = (int8_t)(s ? s + 1 : -1);
	b.zero_in = PAIR(128, 0);
	b.in_size = PAIR(3, 1);
	b.out_size = PAIR(3, 1);
	b.kernel = BYTES(3, 1, 1, 1);
	b.padding = BYTES(1, 1, 0, 0);
	b.kbuf = PAIR(9, 3);
	b.ifmap.column_stride = 1;
	gf_ok(f, &b);
	assert_int_equal(y[0], -20);
	assert_int_equal(y[1], 643);
	assert_int_equal(y[2], 182);
	mh_free(f->j.h);
}

static void test_both_zero_points(void **state)
{
	struct gcu_fixture *f = device("gcu");
	struct cnnacc_gcu_layer b = point(CNNACC_GCU_UNSIGNED_IFMAP | CNNACC_GCU_UNSIGNED_WEIGHTS |
					  OUT(INT32), 1);

	(void)state;
	b.zero_in = PAIR(3, 130);
	*(uint8_t *)gf_at(f, WEIGHTS) = 255;
	assert_int_equal((int32_t)run_word(f, &b), -375);
	mh_free(f->j.h);
}

static void test_saturation(void **state)
{
	struct gcu_fixture *f = device("gcu");
	struct cnnacc_gcu_layer b = point(CNNACC_GCU_UNSIGNED_IFMAP | OUT(INT32), 16);
	int16_t *x = gf_at(f, IFMAP), *w = gf_at(f, WEIGHTS);

	(void)state;
	memset(x, 255, 64);
	memset(w, 127, 8);
	memset((uint8_t *)w + 8, -1, 8);
	assert_int_equal(run_word(f, &b), 257040);
	b.control |= CNNACC_GCU_ACC16;
	assert_int_equal(run_word(f, &b), 30727);
	for (int i = 0; i < 16; i++) {
		x[i] = i < 8 ? 32767 : 1;
		w[i] = i < 8 ? 32767 : -1;
	}
	b = point(INT16 | OUT(INT32), 16);
	assert_int_equal(run_word(f, &b), 2147483639);
	mh_free(f->j.h);
}

/* ---- linear multiply-add and activation ---- */

/* A layer whose accumulator is @acc. */
static struct cnnacc_gcu_layer given(struct gcu_fixture *f, uint32_t control, uint32_t acc)
{
	struct cnnacc_gcu_layer b = point(CNNACC_GCU_PSUM | control, 1);

	memset(gf_at(f, IFMAP), 0, 16);
	memset(gf_at(f, WEIGHTS), 0, 16);
	memcpy(gf_at(f, PSUM), &acc, sizeof(acc));
	b.psum = (struct cnnacc_gcu_map){ PSUM, 4, 4, 4 };
	return b;
}

/*
 * The same for FP16, where a product of zeros would change what it is added to: the only tap is
 * masked.
 */
static struct cnnacc_gcu_layer given_float(struct gcu_fixture *f, uint32_t control, uint32_t acc)
{
	struct cnnacc_gcu_layer b = given(f, FP16 | control, acc);

	b.padding = BYTES(1, 0, 0, 0);
	return b;
}

static void set_linear(struct gcu_fixture *f, struct cnnacc_gcu_layer *b, uint32_t a, uint64_t add,
		       uint32_t shift)
{
	const struct cnnacc_gcu_linear entry = {
		a, shift, (uint32_t)add, (uint32_t)(add >> 32),
	};

	b->control |= CNNACC_GCU_LINEAR;
	b->linear_va = LINEAR;
	memcpy(gf_at(f, LINEAR), &entry, sizeof(entry));
}

static void test_integer_linear(void **state)
{
	static const struct {
		int64_t acc, a;
		uint64_t b;
		uint32_t shift;
		int32_t even, up;
		bool both;
	} rows[] = {
		{ 5, 1, 0, 1, 2, 3, true }, { 7, 1, 0, 1, 4, 4, true },
		{ -5, 1, 0, 1, -2, -2, true }, { -7, 1, 0, 1, -4, -3, true },
		{ 12, 3, (uint64_t)-6, 0, 30, 30, true },
		{ 3, 1 << 30, 1 << 30, 31, 2, 2, true },
		{ 100000, 1518500250, 0, 38, 552, 0, false },
		{ INT32_MAX, INT32_MAX, 1ull << 62, 0, 2147483647, 0, false },
		{ INT32_MAX, INT32_MAX, INT64_MAX, 33, 1073741824, 0, false },
		{ INT32_MIN, INT32_MAX, 1ull << 63, 63, -1, 0, false },
		{ INT32_MIN, INT32_MIN, 1ull << 62, 63, 1, 1, true },
	};
	struct gcu_fixture *f = device("gcu");

	(void)state;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		struct cnnacc_gcu_layer b = given(f, OUT(INT32), (uint32_t)rows[i].acc);

		set_linear(f, &b, (uint32_t)rows[i].a, rows[i].b, rows[i].shift);
		assert_int_equal((int32_t)run_word(f, &b), rows[i].even);
		b.control |= CNNACC_GCU_ROUND_UP;
		if (rows[i].both)
			assert_int_equal((int32_t)run_word(f, &b), rows[i].up);
	}
	mh_free(f->j.h);
}

static void fill_lut(struct gcu_fixture *f)
{
	uint16_t *lut = gf_at(f, LUT);

	for (unsigned int i = 0; i < CNNACC_GCU_LUT_ENTRIES; i++) {
		double x = i < 2048 ? i / 1024.0 : i < 3072 ? 2 + (i - 2048) / 512.0 :
			   4 + (i - 3072) / 128.0, v = nearbyint(65536 * tanh(x / 2));

		lut[i] = (uint16_t)(v > 65535 ? 65535 : v);
	}
}

static void test_lut(void **state)
{
	static const uint16_t entries[][2] = {
		{ 0, 0 }, { 1, 32 }, { 1024, 30285 }, { 2047, 49898 }, { 2048, 49912 },
		{ 3071, 63174 }, { 3072, 63179 }, { 4095, 65535 },
	};
	struct gcu_fixture *f = device("gcu");

	(void)state;
	fill_lut(f);
	for (size_t i = 0; i < ELEMENTS(entries); i++)
		assert_int_equal(((uint16_t *)gf_at(f, LUT))[entries[i][0]], entries[i][1]);
	mh_free(f->j.h);
}

/* The lut's address, for activations that have one. */
static uint32_t lut_of(uint32_t act)
{
	return act >= ACT(SIGMOID) ? LUT : 0;
}

static void test_integer_activation(void **state)
{
	static const struct {
		uint32_t act;
		int64_t v, am;
		uint32_t as;
		int32_t result;
	} rows[] = {
		{ ACT(LEAKY), -7, 107374182, 30, -1 }, { ACT(LEAKY), -5, 1 << 29, 30, -2 },
		{ ACT(LEAKY), -7, 1 << 29, 30, -4 }, { ACT(LEAKY), 9, 1 << 29, 30, 9 },
		{ ACT(SIGMOID), 0, 255, 17, 128 }, { ACT(SIGMOID), 1024, 256, 17, 187 },
		{ ACT(SIGMOID), -1024, 256, 17, 69 }, { ACT(SIGMOID), 3000, 256, 17, 243 },
		{ ACT(SIGMOID), 12287, 1 << 14, 0, 2147467264 },
		{ ACT(SIGMOID), 12288, 1 << 14, 0, 2147483647 },
		{ ACT(SIGMOID), -12288, 1 << 14, 0, 0 },
		{ ACT(SIGMOID), INT32_MAX, -1, 2, -32768 },
		{ ACT(TANH), 512, 128, 17, 59 }, { ACT(TANH), -512, 128, 17, -59 },
		{ ACT(TANH), 6144, 1, 0, 131072 }, { ACT(TANH), INT32_MIN, 1, 0, -131072 },
	};
	struct gcu_fixture *f = device("gcu");

	(void)state;
	fill_lut(f);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		struct cnnacc_gcu_layer b = given(f, OUT(INT32) | rows[i].act,
						  (uint32_t)rows[i].v);

		b.act_factor = (uint32_t)rows[i].am;
		b.act_shift = rows[i].as;
		b.lut_va = lut_of(rows[i].act);
		assert_int_equal((int32_t)run_word(f, &b), rows[i].result);
	}
	mh_free(f->j.h);
}

static void test_float_linear(void **state)
{
	static const uint32_t rows[][4] = {
		{ 0x40400000, 0x3f800001, 0xc0400000, 0x35000000 },
		{ 0x3f800000, 0x7f800000, 0xff800000, 0x7fc00000 },
		{ 0x00800000, 0x3f000000, 0x00000000, 0x00400000 },
		{ 0x80000000, 0x3f800000, 0x00000000, 0x00000000 },
		{ 0x80000000, 0x3f800000, 0x80000000, 0x80000000 },
	};
	struct gcu_fixture *f = device("gcu");

	(void)state;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		struct cnnacc_gcu_layer b = given_float(f, OUT(FP32), rows[i][0]);

		set_linear(f, &b, rows[i][1], rows[i][2], 0);
		assert_int_equal(run_word(f, &b), rows[i][3]);
	}
	mh_free(f->j.h);
}

static void test_float_activation(void **state)
{
	static const uint32_t rows[][3] = {
		{ ACT(RELU), 0xbf800000, 0x00000000 }, { ACT(RELU), 0x80000000, 0x80000000 },
		{ ACT(RELU), 0x7fc00000, 0x7fc00000 }, { ACT(LEAKY), 0xbf800000, 0xbdcccccd },
		{ ACT(LEAKY), 0x80000000, 0x80000000 }, { ACT(SIGMOID), 0x00000000, 0x3f000000 },
		{ ACT(SIGMOID), 0x80000000, 0x3f000000 }, { ACT(SIGMOID), 0x3f800000, 0x3f3b2680 },
		{ ACT(SIGMOID), 0xbf800000, 0x3e89b300 }, { ACT(SIGMOID), 0xff800000, 0x00000000 },
		{ ACT(SIGMOID), 0x413fffff, 0x3f800000 }, { ACT(SIGMOID), 0x3a000000, 0x3f000000 },
		{ ACT(SIGMOID), 0x3ac00000, 0x3f002000 }, { ACT(TANH), 0x3f000000, 0x3eec9a00 },
		{ ACT(TANH), 0xbf000000, 0xbeec9a00 }, { ACT(TANH), 0x40c00000, 0x3f800000 },
		{ ACT(TANH), 0x7f800000, 0x3f800000 }, { ACT(TANH), 0xb9800000, 0x00000000 },
		{ ACT(TANH), 0xba000000, 0xba000000 }, { ACT(TANH), 0x80000000, 0x00000000 },
	};
	struct gcu_fixture *f = device("gcu");

	(void)state;
	fill_lut(f);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		struct cnnacc_gcu_layer b = given_float(f, OUT(FP32) | rows[i][0], rows[i][1]);

		b.act_factor = rows[i][0] == ACT(LEAKY) ? 0x3dcccccd : 0;
		b.lut_va = lut_of(rows[i][0]);
		assert_int_equal(run_word(f, &b), rows[i][2]);
	}
	mh_free(f->j.h);
}

static void test_half_output(void **state)
{
	static const uint32_t rows[][2] = {
		{ 0x387fffff, 0x0000 }, { 0x38800000, 0x0400 }, { 0xb87fffff, 0x8000 },
		{ 0x3f801000, 0x3c00 }, { 0x3f803000, 0x3c02 }, { 0x477fefff, 0x7bff },
		{ 0x477ff000, 0x7bff }, { 0xff800000, 0xfbff }, { 0x7fc00000, 0x7e00 },
		{ 0x80000000, 0x8000 },
	};
	struct gcu_fixture *f = device("gcu");

	(void)state;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		struct cnnacc_gcu_layer b = given_float(f, OUT(FP16), rows[i][0]);

		b.ofmap = (struct cnnacc_gcu_map){ OFMAP, 2, 2, 2 };
		assert_int_equal(run_word(f, &b) & 0xffff, rows[i][1]);
	}
	mh_free(f->j.h);
}

#define T(name)	cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_macs), T(test_add), T(test_float_layer),
		T(test_padding_counts_as_zero_point), T(test_both_zero_points),
		T(test_saturation), T(test_integer_linear), T(test_lut),
		T(test_integer_activation), T(test_float_linear), T(test_float_activation),
		T(test_half_output),
	};
	int failed = 0;

	for (simd = CM_SIMD_BASELINE; simd <= CM_SIMD_AVX512; simd++) {
		const struct cm_config config = { .simd = simd };

		if (cj_possible(&config))
			failed += cmocka_run_group_tests(tests, NULL, NULL);
	}
	return failed;
}
