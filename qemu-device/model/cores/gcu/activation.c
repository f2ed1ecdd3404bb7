// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Linear multiply-add, activation, zero point, clamp and conversion to the output type. */
#include <string.h>

#include "gcu.h"
#include "gcu_mutant.h"

#define NAN_BITS	0x7fc00000
#define LUT_END		12288		/* cell() is constant from there on */
#define CELL_MAX	65536

/* ---- rounding and saturation ---- */

static int32_t sat32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

/* p / 2^n rounded to nearest, halves to even. */
static int64_t rne(int64_t p, uint32_t n)
{
	uint64_t rest, half;
	int64_t q = p >> n;

	if (!n)
		return p;
	rest = (uint64_t)p & (((uint64_t)1 << n) - 1);
	half = (uint64_t)1 << (n - 1);
	if (MUTANT(TIES))
		return q + (rest > half || (rest == half && p >= 0));
	return q + (rest > half || (rest == half && q & 1));
}

/* floor(p / 2^n + 1/2) */
static int64_t up(int64_t p, uint32_t n)
{
	return n ? (p >> n) + (p >> (n - 1) & 1) : p;
}

/* ---- the table of sigmoid and tanh ---- */

static uint32_t cell(const struct gcu *g, uint64_t n)
{
	uint32_t index;
	uint16_t entry;

	if (n >= LUT_END)
		return CELL_MAX;
	index = (uint32_t)(n >= 4096 ? 3072 + ((n - 4096) >> 3) :
			   n >= 2048 ? 2048 + ((n - 2048) >> 1) : n);
	memcpy(&entry, g->lut + index * sizeof(entry), sizeof(entry));
	return entry;
}

/* ---- integers ---- */

static int64_t sigmoid(const struct gcu *g, int64_t v)
{
	return v < 0 ? CELL_MAX - (int64_t)cell(g, (uint64_t)-v) :
		       CELL_MAX + (int64_t)cell(g, (uint64_t)v);
}

static int64_t hyperbolic(const struct gcu *g, int64_t v)
{
	return v < 0 ? -2 * (int64_t)cell(g, (uint64_t)(-2 * v)) :
		       2 * (int64_t)cell(g, (uint64_t)(2 * v));
}

static int32_t integer_linear(const struct gcu_layer *l, const struct cnnacc_gcu_linear *e,
			      int32_t acc)
{
	int64_t b = (int64_t)((uint64_t)e->b_hi << 32 | e->b_lo), p;
	uint32_t n = e->shift & 63;

	if (__builtin_add_overflow((int64_t)acc * (int32_t)e->a, b, &p))
		p = b < 0 ? INT64_MIN : INT64_MAX;
	return sat32(l->round_up ? up(p, n) : rne(p, n));
}

static int32_t integer_act(const struct gcu *g, int32_t v)
{
	const struct cnnacc_gcu_layer *b = &g->layer.b;
	int64_t factor = (int32_t)b->act_factor;

	switch (g->layer.act) {
	case CNNACC_GCU_ACT_RELU:
		return v < 0 ? 0 : v;
	case CNNACC_GCU_ACT_LEAKY:
		return v < 0 ? sat32(rne(v * factor, b->act_shift)) : v;
	case CNNACC_GCU_ACT_SIGMOID:
		return sat32(rne(sigmoid(g, v) * factor, b->act_shift));
	case CNNACC_GCU_ACT_TANH:
		return sat32(rne(hyperbolic(g, v) * factor, b->act_shift));
	}
	return v;
}

static int64_t limit(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

static int32_t integer_out(const struct gcu_layer *l, int32_t v)
{
	int64_t u = (int64_t)v + l->zy;

	if (l->clamp)
		u = limit(u, (int32_t)l->b.clamp_low, (int32_t)l->b.clamp_high);
	switch (l->out) {
	case CNNACC_GCU_OUT_INT8:
		return (int32_t)limit(u, INT8_MIN, INT8_MAX);
	case CNNACC_GCU_OUT_UINT8:
		return (int32_t)limit(u, 0, UINT8_MAX);
	case CNNACC_GCU_OUT_INT16:
		return (int32_t)limit(u, INT16_MIN, INT16_MAX);
	}
	return sat32(u);
}

static void activate_integers(const struct gcu *g, const struct cnnacc_gcu_linear *e,
			      const int32_t *acc, uint32_t count, int32_t *out)
{
	const struct gcu_layer *l = &g->layer;

	for (uint32_t i = 0; i < count; i++) {
		int32_t v = l->linear ? integer_linear(l, e, acc[i]) : acc[i];

		out[i] = integer_out(l, integer_act(g, v));
	}
}

/* ---- FP16 ---- */

static float float_of(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint32_t bits_of(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

/* Every NaN becomes the same. */
static float canonical(float v)
{
	return v != v ? float_of(NAN_BITS) : v;
}

static float multiply(float a, float b)
{
	return canonical(a * b);
}

/* cell() of @x * 1024 rounded to nearest even; @x is not negative. */
static uint32_t float_cell(const struct gcu *g, double x)
{
	double scaled = x * 1024, rest;
	uint32_t n;

	if (scaled >= LUT_END)
		return CELL_MAX;
	n = (uint32_t)scaled;
	rest = scaled - n;
	if (rest > 0.5 || (rest == 0.5 && (MUTANT(TIES) || n & 1)))
		n++;
	return cell(g, n);
}

static float float_sigmoid(const struct gcu *g, float v)
{
	uint32_t c;

	if (v != v)
		return v;
	c = float_cell(g, v < 0 ? -(double)v : v);
	return (float)(v < 0 ? CELL_MAX - c : CELL_MAX + c) / (2 * CELL_MAX);
}

static float float_tanh(const struct gcu *g, float v)
{
	float c;

	if (v != v)
		return v;
	c = (float)float_cell(g, v < 0 ? -2 * (double)v : 2 * (double)v) / CELL_MAX;
	return v < 0 && c > 0 ? -c : c;
}

static float float_act(const struct gcu *g, float v)
{
	switch (g->layer.act) {
	case CNNACC_GCU_ACT_RELU:
		return v < 0 ? 0 : v;
	case CNNACC_GCU_ACT_LEAKY:
		return v < 0 ? multiply(v, float_of(g->layer.b.act_factor)) : v;
	case CNNACC_GCU_ACT_SIGMOID:
		return float_sigmoid(g, v);
	case CNNACC_GCU_ACT_TANH:
		return float_tanh(g, v);
	}
	return v;
}

/* Nearest FP16, halves to even; what is too small is zero, what is too large the largest. */
static uint32_t half_of(uint32_t bits)
{
	uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, half;

	if (magnitude > 0x7f800000)
		return 0x7e00;
	if (magnitude < 0x38800000)
		return sign;
	half = (magnitude - 0x38000000) >> 13;
	if ((magnitude & 0x1fff) > 0x1000 ||
	    ((magnitude & 0x1fff) == 0x1000 && (MUTANT(TIES) || half & 1)))
		half++;
	return sign | (magnitude >= 0x47800000 || half > 0x7bff ? 0x7bff : half);
}

static uint32_t float_out(const struct gcu_layer *l, float v)
{
	if (l->clamp) {
		float low = float_of(l->b.clamp_low), high = float_of(l->b.clamp_high);

		v = v < low ? low : v > high ? high : v;
	}
	if (l->out == CNNACC_GCU_OUT_FP16)
		return half_of(bits_of(v));
	return bits_of(canonical(v));
}

static void activate_floats(const struct gcu *g, const struct cnnacc_gcu_linear *e,
			    const int32_t *acc, uint32_t count, int32_t *out)
{
	const struct gcu_layer *l = &g->layer;

	for (uint32_t i = 0; i < count; i++) {
		float v = float_of((uint32_t)acc[i]);

		if (l->linear)
			v = canonical(multiply(v, float_of(e->a)) + float_of(e->b_lo));
		out[i] = (int32_t)float_out(l, float_act(g, v));
	}
}

/* Does the unit pass accumulators on as they are? */
static bool is_raw(const struct gcu_layer *l)
{
	return !l->linear && !l->act && !l->clamp && !l->zy && l->out == CNNACC_GCU_OUT_INT32;
}

void gcu_activate(const struct gcu *g, uint32_t k, const int32_t *acc, uint32_t count,
		  int32_t *out)
{
	struct cnnacc_gcu_linear entry;

	memcpy(&entry, g->linear + k * sizeof(entry), sizeof(entry));
	if (is_raw(&g->layer))
		memcpy(out, acc, count * sizeof(*out));
	else if (g->layer.format == CNNACC_GCU_FP16)
		activate_floats(g, &entry, acc, count, out);
	else
		activate_integers(g, &entry, acc, count, out);
}
