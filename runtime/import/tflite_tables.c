// SPDX-License-Identifier: MIT
/*
 * Quantised operators of one tensor as tables of 256 elements. LOGISTIC, TANH and ELU are a float
 * function of the dequantised element, quantised again; HARD_SWISH is TensorFlow Lite's own kernel
 * of 16-bit fixed point; LEAKY_RELU is XNNPACK's with factors of 8 bits after the point, and
 * TensorFlow Lite's own kernel where a factor is beyond those.
 */
#include <math.h>

#include "ops/quant.h"
#include "tflite_ops.h"

struct quantisation {
	float scale;
	int zero;
};

struct function {
	int code;
	struct quantisation x, y;
	float alpha;
};

static struct quantisation quantisation_of(const struct tfl *m, int tensor)
{
	return (struct quantisation){ tfl_first_scale(m, tensor), tfl_first_zero(m, tensor) };
}

static float exp_of(float x)
{
	return (float)cnn_pow(0x1.5bf0a8b145769p1, x);
}

static float value_of(int code, float x)
{
	double e;

	if (code == LOGISTIC)
		return 1 / (1 + exp_of(-x));
	if (code == ELU)
		return x < 0 ? (float)(cnn_pow(0x1.5bf0a8b145769p1, x) - 1) : x;
	e = cnn_pow(0x1.5bf0a8b145769p1, 2 * (double)fminf(fabsf(x), 20));
	return copysignf((float)((e - 1) / (e + 1)), x);
}

static int64_t through_floats(const struct function *f, int x)
{
	float v = value_of(f->code, f->x.scale * (float)x) * (1 / f->y.scale);

	return (int64_t)roundf(fminf(fmaxf(v, -1e6f), 1e6f));
}

static int clamp16(int64_t v)
{
	return v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : (int)v;
}

/* The upper 16 bits of a factor. */
static int short_factor(struct cnn_factor f)
{
	return f.bits >= INT32_MAX - (1 << 15) ? INT16_MAX : (int)((f.bits + (1 << 15)) >> 16);
}

/* a * b / 2^15, halves up. */
static int high_product(int a, int b)
{
	return clamp16(((int64_t)a * b + (1 << 14)) >> 15);
}

/*
 * x * relu6(x + 3) / 6: x with 7 more bits, times a number from 0 to 1 of 15 bits, to which
 * min(max(x / 3, -1), 1) leads by saturating shifts.
 */
static int64_t hard_swish(const struct function *f, int x)
{
	float fine = 0x1p-7f * f->x.scale;
	struct cnn_factor out = cnn_factor_of((double)(fine / f->y.scale));
	struct cnn_factor third = cnn_factor_of((double)(fine / (3.0f / 32768)));
	int wide = x * 128, up = third.exponent > 0 ? third.exponent : 0;
	int part = clamp16(up ? (int64_t)wide * ((int64_t)1 << (up - 1)) : wide);

	part = high_product(part, short_factor(third));
	part = up ? clamp16(2 * part) : (int)cnn_rounding_shift(part, -third.exponent);
	part = (part + (1 << 15)) >> 1;
	return cnn_rounding_shift(clamp16((int64_t)part * high_product(wide, short_factor(out)) /
					  (1 << 15)), -out.exponent);
}

static int64_t leaky_relu(const struct function *f, int x)
{
	float above = f->x.scale / f->y.scale, below = above * f->alpha;
	double exact = (double)f->x.scale * (x < 0 ? (double)f->alpha : 1) / (double)f->y.scale;

	if (above >= 0x1p-8f && above <= 0x1p7f && fabsf(below) >= 0x1p-8f &&
	    below >= -127.99609375f && below <= 0x1p7f)
		return cnn_times_8_bits(x, x < 0 ? below : above);
	return cnn_times_factor(x, cnn_factor_of(exact));
}

static int64_t result_of(const struct function *f, int x)
{
	if (f->code == HARD_SWISH)
		return hard_swish(f, x);
	return f->code == LEAKY_RELU ? leaky_relu(f, x) : through_floats(f, x);
}

/* Are the scales such that no factor overflows? */
static bool fits(const struct function *f)
{
	float ratio = f->x.scale / f->y.scale;

	if (f->code == HARD_SWISH)
		return ratio < 0x1p7f && f->x.scale < 0x1p7f && ratio > 0x1p-15f &&
		       f->x.scale > 0x1p-20f;
	return f->code != LEAKY_RELU ||
	       (ratio < 0x1p20f && fabsf(ratio * f->alpha) < 0x1p20f);
}

int tfl_table(struct tfl *m, const struct tfl_op *op)
{
	enum cnn_dtype type = tfl_type(m, op->out);
	struct function f = { .code = op->kind->code, .alpha = fb_float(&op->options, 0, 0) };
	struct cnn_range range;
	uint8_t table[256];

	if (type == CNN_INT16 || tfl_type(m, op->in[0]) == CNN_INT16)
		return tfl_wide_table(m, op);
	if (f.code != LOGISTIC && f.code != TANH && f.code != ELU && f.code != HARD_SWISH &&
	    f.code != LEAKY_RELU)
		tfl_want_plain(m, op);
	tfl_scale(m, op, op->in[0]);
	tfl_scale(m, op, op->out);
	if (m->status)
		return -1;
	f.x = quantisation_of(m, op->in[0]);
	f.y = quantisation_of(m, op->out);
	range = cnn_range_of(type, f.y.zero);
	if (!fits(&f))
		return tfl_fail(m, op, CNN_ELIMIT, "scales %g and %g, alpha %g", (double)f.x.scale,
				(double)f.y.scale, (double)f.alpha);
	for (int i = 0; i < 256; i++) {
		int x = tfl_type(m, op->in[0]) == CNN_INT8 ? (int8_t)i : i;
		int64_t y = result_of(&f, x - f.x.zero) + f.y.zero;

		table[i] = (uint8_t)(y < range.low ? range.low : y > range.high ? range.high : y);
	}
	return tfl_constant(m, type, 256, table);
}

int tfl_order_table(struct tfl *m, const struct tfl_op *op, int tensor)
{
	struct quantisation q;
	int32_t table[256];

	tfl_scale(m, op, tensor);
	if (m->status)
		return -1;
	if (tfl_type(m, tensor) == CNN_INT16)
		return tfl_fail(m, op, CNN_EUNSUPPORTED, "type int16");
	q = quantisation_of(m, tensor);
	if (q.scale >= 0x1p14f)
		return tfl_fail(m, op, CNN_ELIMIT, "scale %g, limit 2^14", (double)q.scale);
	for (int i = 0; i < 256; i++) {
		int x = tfl_type(m, tensor) == CNN_INT8 ? (int8_t)i : i;

		table[i] = (int32_t)cnn_times_factor((int64_t)(x - q.zero) * 256,
						     cnn_factor_of((double)q.scale));
	}
	return tfl_constant(m, CNN_INT32, 256, table);
}
