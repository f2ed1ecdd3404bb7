// SPDX-License-Identifier: MIT
/* Linear multiply-add, activation and conversion: a block of one output for each line. */
#include "vectors.h"
#include "writer.h"
#include "../words.h"

struct stage {
	uint32_t control;
	uint32_t acc;		/* what enters the first stage */
	uint32_t a, shift;
	uint64_t b;
	uint32_t factor, act_shift;
	uint32_t result;
};

#define INTEGER		(GCU_FORMAT(INT16) | GCU_OUT(INT32))
#define FLOAT		(GCU_FORMAT(FP16) | GCU_OUT(FP32))
#define EVEN(acc, a, b, sh, v)	{ INTEGER | CNNACC_GCU_LINEAR, acc, a, sh, b, 0, 0, v }
#define UP(acc, a, b, sh, v) \
	{ INTEGER | CNNACC_GCU_LINEAR | CNNACC_GCU_ROUND_UP, acc, a, sh, b, 0, 0, v }
#define BOTH(acc, a, b, sh, even, up)	EVEN(acc, a, b, sh, even), UP(acc, a, b, sh, up)
#define ACT(type, v, am, as, y)	{ INTEGER | GCU_ACT(type), v, 0, 0, 0, am, as, y }
#define FLINEAR(acc, a, b, v)	{ FLOAT | CNNACC_GCU_LINEAR, acc, a, 0, b, 0, 0, v }
#define FACT(type, v, y)	{ FLOAT | GCU_ACT(type), v, 0, 0, 0, 0, 0, y }
#define HALF(v, y)	{ GCU_FORMAT(FP16) | GCU_OUT(FP16), v, 0, 0, 0, 0, 0, y }

static const struct stage linear_int[] = {
	BOTH(5, 1, 0, 1, 2, 3), BOTH(7, 1, 0, 1, 4, 4), BOTH(-5, 1, 0, 1, -2, -2),
	BOTH(-7, 1, 0, 1, -4, -3), EVEN(12, 3, -6, 0, 30),
	BOTH(3, 1 << 30, 1 << 30, 31, 2, 2), EVEN(100000, 1518500250, 0, 38, 552),
	EVEN(INT32_MAX, INT32_MAX, 1ull << 62, 0, 2147483647),
	EVEN(INT32_MAX, INT32_MAX, INT64_MAX, 33, 1073741824),
	EVEN(0x80000000, INT32_MAX, 1ull << 63, 63, -1),
	BOTH(0x80000000, 0x80000000, 1ull << 62, 63, 1, 1),
};

static const struct stage act_int[] = {
	ACT(LEAKY, -7, 107374182, 30, -1), ACT(LEAKY, -5, 1 << 29, 30, -2),
	ACT(LEAKY, -7, 1 << 29, 30, -4), ACT(LEAKY, 9, 1 << 29, 30, 9),
	ACT(SIGMOID, 0, 255, 17, 128), ACT(SIGMOID, 1024, 256, 17, 187),
	ACT(SIGMOID, -1024, 256, 17, 69), ACT(SIGMOID, 3000, 256, 17, 243),
	ACT(SIGMOID, 12287, 1 << 14, 0, 2147467264), ACT(SIGMOID, 12288, 1 << 14, 0, 2147483647),
	ACT(SIGMOID, -12288, 1 << 14, 0, 0), ACT(SIGMOID, INT32_MAX, -1, 2, -32768),
	ACT(TANH, 512, 128, 17, 59), ACT(TANH, -512, 128, 17, -59), ACT(TANH, 6144, 1, 0, 131072),
	ACT(TANH, 0x80000000, 1, 0, -131072),
};

static const struct stage linear_fp[] = {
	FLINEAR(0x40400000, 0x3f800001, 0xc0400000, 0x35000000),
	FLINEAR(0x3f800000, 0x7f800000, 0xff800000, 0x7fc00000),
	FLINEAR(0x00800000, 0x3f000000, 0x00000000, 0x00400000),
	FLINEAR(0x80000000, 0x3f800000, 0x00000000, 0x00000000),
	FLINEAR(0x80000000, 0x3f800000, 0x80000000, 0x80000000),
};

static const struct stage act_fp[] = {
	FACT(RELU, 0xbf800000, 0x00000000), FACT(RELU, 0x80000000, 0x80000000),
	FACT(RELU, 0x7fc00000, 0x7fc00000),
	{ FLOAT | GCU_ACT(LEAKY), 0xbf800000, 0, 0, 0, 0x3dcccccd, 0, 0xbdcccccd },
	{ FLOAT | GCU_ACT(LEAKY), 0x80000000, 0, 0, 0, 0x3dcccccd, 0, 0x80000000 },
	FACT(SIGMOID, 0x00000000, 0x3f000000), FACT(SIGMOID, 0x80000000, 0x3f000000),
	FACT(SIGMOID, 0x3f800000, 0x3f3b2680), FACT(SIGMOID, 0xbf800000, 0x3e89b300),
	FACT(SIGMOID, 0xff800000, 0x00000000), FACT(SIGMOID, 0x413fffff, 0x3f800000),
	FACT(SIGMOID, 0x3a000000, 0x3f000000), FACT(SIGMOID, 0x3ac00000, 0x3f002000),
	FACT(TANH, 0x3f000000, 0x3eec9a00), FACT(TANH, 0xbf000000, 0xbeec9a00),
	FACT(TANH, 0x40c00000, 0x3f800000), FACT(TANH, 0x7f800000, 0x3f800000),
	FACT(TANH, 0xb9800000, 0x00000000), FACT(TANH, 0xba000000, 0xba000000),
	FACT(TANH, 0x80000000, 0x00000000),
};

static const struct stage halves[] = {
	HALF(0x387fffff, 0x0000), HALF(0x38800000, 0x0400), HALF(0xb87fffff, 0x8000),
	HALF(0x3f801000, 0x3c00), HALF(0x3f803000, 0x3c02), HALF(0x477fefff, 0x7bff),
	HALF(0x477ff000, 0x7bff), HALF(0xff800000, 0xfbff), HALF(0x7fc00000, 0x7e00),
	HALF(0x80000000, 0x8000),
};

static const struct {
	const struct stage *stage;
	unsigned int count;
} lists[] = {
	{ linear_int, sizeof(linear_int) / sizeof(linear_int[0]) },
	{ act_int, sizeof(act_int) / sizeof(act_int[0]) },
	{ linear_fp, sizeof(linear_fp) / sizeof(linear_fp[0]) },
	{ act_fp, sizeof(act_fp) / sizeof(act_fp[0]) },
	{ halves, sizeof(halves) / sizeof(halves[0]) },
};

/* e^x for x of 0..12, by the series of e^(x/64). */
static double exponential(double x)
{
	double sum = 1, term = 1, power;

	for (int n = 1; n < 20; n++) {
		term *= x / 64 / n;
		sum += term;
	}
	power = sum;
	for (int n = 0; n < 6; n++)
		power *= power;
	return power;
}

/* min(65535, rne(65536 * tanh(x / 2))); no entry lies half way. */
static uint16_t lut_entry(unsigned int i)
{
	double x = i < 2048 ? i / 1024.0 : i < 3072 ? 2 + (i - 2048) / 512.0 :
						      4 + (i - 3072) / 128.0;
	double value = 65536 * (1 - 2 / (exponential(x) + 1)) + 0.5;

	return value < 65535 ? value : 65535;
}

static void put_lut(struct job *job)
{
	uint16_t lut[CNNACC_GCU_LUT_ENTRIES];

	for (unsigned int i = 0; i < CNNACC_GCU_LUT_ENTRIES; i++)
		lut[i] = htole16(lut_entry(i));
	gcu_vector_put(job, GCU_VECTOR_LUT, lut, sizeof(lut));
}

/* The entries that the page gives. */
static bool check_lut(void)
{
	static const struct {
		unsigned int i;
		uint16_t value;
	} published[] = {
		{ 0, 0 }, { 1, 32 }, { 1024, 30285 }, { 2047, 49898 }, { 2048, 49912 },
		{ 3071, 63174 }, { 3072, 63179 }, { 4095, 65535 },
	};
	bool good = true;

	for (unsigned int n = 0; n < sizeof(published) / sizeof(published[0]); n++) {
		if (lut_entry(published[n].i) == published[n].value)
			continue;
		printf("# lut entry %u is %u\n", published[n].i, lut_entry(published[n].i));
		good = false;
	}
	return good;
}

static void put_words(struct job *job, uint32_t va, const uint32_t *words, unsigned int count)
{
	for (unsigned int n = 0; n < count; n++)
		gcu_vector_put(job, va + 4 * n, &(uint32_t){ htole32(words[n]) }, 4);
}

/* The only tap is masked: the stages get the psum map's element as it is. */
static void build_stage(struct job *job, const struct stage *s, unsigned int n)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(s->control | CNNACC_GCU_PSUM, 1, 1, 1, 1);
	unsigned int act = s->control >> CNNACC_GCU_ACT_SHIFT & 7;
	const uint32_t entry[4] = { s->a, s->shift, s->b, s->b >> 32 };

	l.padding = gcu_bytes(1, 0, 0, 0);
	l.psum = (struct cnnacc_gcu_map){ GCU_VECTOR_PSUM + 4 * n, 0, 0, 0 };
	l.ofmap.va = GCU_VECTOR_OUT + 4 * n;
	l.act_factor = s->factor;
	l.act_shift = s->act_shift;
	put_words(job, l.psum.va, &s->acc, 1);
	if (s->control & CNNACC_GCU_LINEAR) {
		l.linear_va = GCU_VECTOR_LINEAR + 64 * n;
		put_words(job, l.linear_va, entry, 4);
	}
	if (act == CNNACC_GCU_ACT_SIGMOID || act == CNNACC_GCU_ACT_TANH)
		l.lut_va = GCU_VECTOR_LUT;
	gcu_write_layer(&job->program, &l);
}

static void build(struct job *job, unsigned int list)
{
	put_lut(job);
	for (unsigned int n = 0; n < lists[list].count; n++)
		build_stage(job, &lists[list].stage[n], n);
}

static bool check(struct job *job, unsigned int list)
{
	bool good = check_lut();
	char what[32];

	for (unsigned int n = 0; n < lists[list].count; n++) {
		snprintf(what, sizeof(what), "output of line %u", n);
		good &= gcu_vector_same(job, what, GCU_VECTOR_OUT + 4 * n,
					lists[list].stage[n].result);
	}
	return good;
}

#define LIST(text, n, list)	{ text, .build = build, .check = check, .argument = n, \
				  .want.pc = sizeof(list) / sizeof(list[0]) - 1 }

const struct gcu_vector gcu_stage_vectors[] = {
	LIST("linear multiply-add of integers", 0, linear_int),
	LIST("activation of integers", 1, act_int),
	LIST("linear multiply-add of FP16", 2, linear_fp),
	LIST("activation of FP16", 3, act_fp),
	LIST("output FP16", 4, halves),
};

const unsigned int gcu_stage_vector_count =
	sizeof(gcu_stage_vectors) / sizeof(gcu_stage_vectors[0]);
