// SPDX-License-Identifier: MIT
#include "stages.h"

#include "../fp32.h"

__extension__ typedef __int128 wide;

struct golden_gcu_entry golden_gcu_entry(const uint8_t bytes[16])
{
	return (struct golden_gcu_entry){
		.a = word_get(bytes, 0), .shift = word_get(bytes, 1),
		.b = word_get(bytes, 2) | (uint64_t)word_get(bytes, 3) << 32,
	};
}

/* -------------------------------------------------------------- integers */

/* Nearest number of low..high; counts in @cut which of the two it was. */
static wide saturate(wide value, wide low, wide high, uint64_t cut[2])
{
	if (value < low) {
		cut[0]++;
		return low;
	}
	if (value > high) {
		cut[1]++;
		return high;
	}
	return value;
}

static wide floor_shift(wide p, unsigned int n)
{
	wide unit = (wide)1 << n, rest = p % unit;

	return (p - rest) / unit - (rest < 0);
}

/* p / 2^n to nearest, halves to even, or up. */
static wide rounded(wide p, unsigned int n, bool up)
{
	wide down = floor_shift(p, n), rest = p - down * ((wide)1 << n), half;

	if (!n)
		return p;
	half = (wide)1 << (n - 1);
	if (rest == half)
		return up || down % 2 ? down + 1 : down;
	return rest > half ? down + 1 : down;
}

static bool is_half(wide p, unsigned int n)
{
	return n && p - floor_shift(p, n) * ((wide)1 << n) == (wide)1 << (n - 1);
}

int32_t golden_gcu_linear_int(const struct golden_gcu_layer *l, const struct golden_gcu_entry *e,
			      int32_t acc, struct golden_gcu_coverage *c)
{
	unsigned int sh = e->shift & 63;
	wide p = (wide)acc * (int32_t)e->a + (int64_t)e->b;

	p = saturate(p, INT64_MIN, INT64_MAX, c->linear_wide);
	if (is_half(p, sh))
		c->half[l->round_up][p > 0]++;
	return saturate(rounded(p, sh, l->round_up), INT32_MIN, INT32_MAX, c->linear_cut);
}

/* The lut's number for |x| = n / 1024; @cells counts its pieces. */
static int64_t cell(const uint16_t *lut, int64_t n, uint64_t cells[4])
{
	if (n >= 12288) {
		cells[3]++;
		return 65536;
	}
	if (n >= 4096) {
		cells[2]++;
		return lut[3072 + (n - 4096) / 8];
	}
	if (n >= 2048) {
		cells[1]++;
		return lut[2048 + (n - 2048) / 2];
	}
	cells[0]++;
	return lut[n];
}

static int64_t sig(const uint16_t *lut, int64_t v, struct golden_gcu_coverage *c)
{
	return v < 0 ? 65536 - cell(lut, -v, c->cell[1]) : 65536 + cell(lut, v, c->cell[0]);
}

static int64_t tnh(const uint16_t *lut, int64_t v, struct golden_gcu_coverage *c)
{
	return v < 0 ? -2 * cell(lut, -2 * v, c->cell[1]) : 2 * cell(lut, 2 * v, c->cell[0]);
}

/* sat32(rne(value * am, as)) */
static int32_t scaled(const struct golden_gcu_layer *l, int64_t value, uint64_t cut[2])
{
	wide p = (wide)value * (int32_t)l->act_factor;

	return saturate(rounded(p, l->act_shift, false), INT32_MIN, INT32_MAX, cut);
}

int32_t golden_gcu_activate_int(const struct golden_gcu_layer *l, const uint16_t *lut, int32_t v,
				struct golden_gcu_coverage *c)
{
	switch (l->act) {
	case CNNACC_GCU_ACT_RELU:
		c->relu_cut[v < 0]++;
		return v < 0 ? 0 : v;
	case CNNACC_GCU_ACT_LEAKY:
		return v < 0 ? scaled(l, v, c->leaky_cut) : v;
	case CNNACC_GCU_ACT_SIGMOID:
		return scaled(l, sig(lut, v, c), c->act_cut);
	case CNNACC_GCU_ACT_TANH:
		return scaled(l, tnh(lut, v, c), c->act_cut);
	default:
		return v;
	}
}

int32_t golden_gcu_store_int(const struct golden_gcu_layer *l, int32_t v,
			     struct golden_gcu_coverage *c)
{
	int64_t u = v + l->zy;

	if (l->clamp)
		u = saturate(u, (int32_t)l->clamp_low, (int32_t)l->clamp_high, c->clamped[0]);
	switch (l->out) {
	case CNNACC_GCU_OUT_INT8:
		return saturate(u, -128, 127, c->out_cut[0]);
	case CNNACC_GCU_OUT_UINT8:
		return saturate(u, 0, 255, c->out_cut[1]);
	case CNNACC_GCU_OUT_INT16:
		return saturate(u, -32768, 32767, c->out_cut[2]);
	default:
		return saturate(u, INT32_MIN, INT32_MAX, c->out_cut[3]);
	}
}

/* ------------------------------------------------------------------ FP32 */

/* The bits of a result; every NaN that is computed is 7FC00000. */
static uint32_t result(float value)
{
	return value != value ? CNNACC_FP32_NAN : fp32_to_bits(value);
}

uint32_t golden_gcu_linear_fp(const struct golden_gcu_entry *e, uint32_t acc)
{
	float product = fp32_from_bits(result(fmul(fp32_from_bits(acc), fp32_from_bits(e->a))));

	return result(fadd(product, fp32_from_bits(e->b)));
}

/* rne(|v| * 2^log * 1024); at least 12288 if it is large. */
static int64_t steps(uint32_t v, unsigned int log)
{
	int64_t field = v >> 23 & 255, mantissa = v & 0x7fffff;
	/* The result is mantissa / 2^shift. */
	int64_t shift = 150 - (field ? field : 1) - 10 - log;

	mantissa |= field ? 1 << 23 : 0;
	if (shift > 62)
		return 0;
	return shift <= 0 ? 1 << 24 : rounded(mantissa, shift, false);
}

static bool is_nan(uint32_t v)
{
	return (v & 0x7fffffff) > 0x7f800000;
}

static uint32_t sigmoid_fp(const uint16_t *lut, uint32_t v, struct golden_gcu_coverage *c)
{
	int64_t n = steps(v, 0);

	if (is_nan(v))
		return CNNACC_FP32_NAN;
	if (fp32_from_bits(v) < 0.0f)
		return fp32_to_bits((65536 - cell(lut, n, c->cell[1])) / 131072.0f);
	return fp32_to_bits((65536 + cell(lut, n, c->cell[0])) / 131072.0f);
}

static uint32_t tanh_fp(const uint16_t *lut, uint32_t v, struct golden_gcu_coverage *c)
{
	bool negative = fp32_from_bits(v) < 0.0f;
	int64_t value;

	if (is_nan(v))
		return CNNACC_FP32_NAN;
	value = 2 * cell(lut, steps(v, 1), c->cell[negative]);
	if (!value)
		return 0;
	return fp32_to_bits((negative ? -value : value) / 131072.0f);
}

uint32_t golden_gcu_activate_fp(const struct golden_gcu_layer *l, const uint16_t *lut, uint32_t v,
				struct golden_gcu_coverage *c)
{
	bool negative = fp32_from_bits(v) < 0.0f;

	c->nan[l->act] += is_nan(v);
	switch (l->act) {
	case CNNACC_GCU_ACT_RELU:
		c->relu_cut[negative]++;
		return negative ? 0 : v;
	case CNNACC_GCU_ACT_LEAKY:
		return negative ? result(fmul(fp32_from_bits(v), fp32_from_bits(l->act_factor))) :
				  v;
	case CNNACC_GCU_ACT_SIGMOID:
		return sigmoid_fp(lut, v, c);
	case CNNACC_GCU_ACT_TANH:
		return tanh_fp(lut, v, c);
	default:
		return v;
	}
}

uint32_t golden_gcu_clamp_fp(const struct golden_gcu_layer *l, uint32_t v,
			     struct golden_gcu_coverage *c)
{
	float value = fp32_from_bits(v);

	if (!l->clamp)
		return v;
	if (value < fp32_from_bits(l->clamp_low)) {
		c->clamped[1][0]++;
		return l->clamp_low;
	}
	if (value > fp32_from_bits(l->clamp_high)) {
		c->clamped[1][1]++;
		return l->clamp_high;
	}
	return v;
}

uint16_t golden_gcu_half(uint32_t v, struct golden_gcu_coverage *c)
{
	int64_t field = v >> 23 & 255, all;
	uint16_t sign = v >> 16 & 0x8000;

	if (is_nan(v)) {
		c->store[GOLDEN_GCU_STORE_NAN]++;
		return 0x7e00;
	}
	if (field < 113) {
		c->store[GOLDEN_GCU_STORE_BELOW]++;
		return sign;
	}
	/* Exponent and mantissa as one number: a carry out of the mantissa counts up. */
	all = rounded(((field - 112) << 23) + (v & 0x7fffff), 13, false);
	if (all > 0x7bff) {
		c->store[GOLDEN_GCU_STORE_ABOVE]++;
		return sign | 0x7bff;
	}
	c->store[GOLDEN_GCU_STORE_NORMAL]++;
	return sign | all;
}

/* ------------------------------------------------------------------ both */

uint32_t golden_gcu_stages(const struct golden_gcu_layer *l, const struct golden_gcu_entry *e,
			   const uint16_t *lut, uint32_t acc, struct golden_gcu_coverage *c)
{
	uint32_t v = acc;

	if (!l->fp16) {
		if (l->linear)
			v = golden_gcu_linear_int(l, e, acc, c);
		return golden_gcu_store_int(l, golden_gcu_activate_int(l, lut, v, c), c);
	}
	if (l->linear)
		v = golden_gcu_linear_fp(e, acc);
	v = golden_gcu_clamp_fp(l, golden_gcu_activate_fp(l, lut, v, c), c);
	if (l->out == CNNACC_GCU_OUT_FP16)
		return golden_gcu_half(v, c);
	return is_nan(v) ? CNNACC_FP32_NAN : v;
}
