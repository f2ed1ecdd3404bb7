// SPDX-License-Identifier: MIT
/*
 * Quantised operators of one tensor from or to int16 as tables: LOGISTIC and TANH as TensorFlow
 * Lite's reference kernels compute them, by interpolation in sigmoid(i / 24), and the RELU family
 * and QUANTIZE, which only change the scale.
 */
#include <math.h>
#include <stdlib.h>

#include "ops/quant.h"
#include "tflite_ops.h"

#define STEPS 256	/* of sigmoid(i / 24) */

static double sigmoid(double i)
{
	return 65536 / (1 + cnn_pow(0x1.5bf0a8b145769p1, -i / 24));
}

/* To each entry is added half of what interpolation misses in the middle of the step behind it. */
static void make_sigmoid(uint16_t *table)
{
	for (int i = 0; i < STEPS; i++) {
		double missed = sigmoid(i + 0.5) - (sigmoid(i) + sigmoid(i + 1)) / 2;
		double v = round(sigmoid(i) + missed / 2);

		table[i] = (uint16_t)v;
	}
	table[STEPS - 1] = 65535;
}

/* x * factor / 2^shift, rounded, is x in units of 1 / (3 * 2^12). */
struct input {
	int32_t factor, shift;
};

/* Powers of two from 2^-12 to 2^(left_max - 12) stay exact; other scales have 15 bits. */
static bool make_input(float scale, int left_max, struct input *in)
{
	double factor = (double)scale * 4096 * 3;
	int exponent, left;

	if (cnn_near_power(scale, &exponent)) {
		left = exponent + 12;
		if (left >= 0 && left <= left_max) {
			*in = (struct input){ 3 << left, 0 };
			return true;
		}
	}
	in->shift = 0;
	while (factor <= 32767.0 / 2 && in->shift <= 30) {
		in->shift++;
		factor *= 2;
	}
	in->factor = factor < 32768 ? (int32_t)factor : 0;
	return in->factor > 0;
}

static int64_t scaled(const struct input *in, int x)
{
	int64_t half = in->shift ? (int64_t)1 << (in->shift - 1) : 0;

	return ((int64_t)x * in->factor + half) >> in->shift;
}

/* The sigmoid of |v| * 2^-bits / 24 * 2^9, between table entries; bits: of the fraction. */
static int64_t interpolate(const uint16_t *table, int64_t v, int bits, int64_t most)
{
	int64_t i = llabs(v) >> bits, part = llabs(v) & ((1 << bits) - 1);

	if (i >= STEPS - 1)
		return most;
	return ((int64_t)table[i] << bits) + part * (table[i + 1] - table[i]);
}

static int logistic(const uint16_t *table, const struct input *in, int x)
{
	int64_t v = scaled(in, x), y = interpolate(table, v, 9, 0x7fff << 10);

	y = v >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1;
	return (int)(y >> 10);
}

static int hyperbolic_tangent(const uint16_t *table, const struct input *in, int x)
{
	int64_t v = scaled(in, x), y = interpolate(table, v, 8, 0xffff << 8);

	y = v >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
	return (int)(y >> 8);
}

/* LOGISTIC and TANH. */
static int function_table(struct tfl *m, const struct tfl_op *op, int16_t *y)
{
	bool tangent = op->kind->code == TANH;
	uint16_t table[STEPS];
	struct input in;
	int exponent;

	if (tfl_type(m, op->in[0]) != CNN_INT16 || tfl_type(m, op->out) != CNN_INT16 ||
	    !cnn_near_power(tfl_first_scale(m, op->out), &exponent) || exponent != -15)
		return tfl_fail(m, op, CNN_EUNSUPPORTED, "from %s to %s of scale %g, int16 of "
				"2^-15 wanted", cnn_dtype_name(tfl_type(m, op->in[0])),
				cnn_dtype_name(tfl_type(m, op->out)),
				(double)tfl_first_scale(m, op->out));
	if (!make_input(tfl_first_scale(m, op->in[0]), tangent, &in))
		return tfl_fail(m, op, CNN_ELIMIT, "scale %g, limits 2^-44 and 2.66",
				(double)tfl_first_scale(m, op->in[0]));
	make_sigmoid(table);
	for (int i = 0; i < 65536; i++)
		y[i] = (int16_t)(tangent ? hyperbolic_tangent(table, &in, (int16_t)i) :
					   logistic(table, &in, (int16_t)i));
	return 0;
}

/* The element that number i of a table is for. */
static int element_of(enum cnn_dtype type, int i)
{
	return type == CNN_INT16 ? (int16_t)i : type == CNN_INT8 ? (int8_t)i : i;
}

/* The RELU family and QUANTIZE: another scale and zero point. */
static int scale_table(struct tfl *m, const struct tfl_op *op, int n, int16_t *y)
{
	int x_zero = tfl_first_zero(m, op->in[0]), y_zero = tfl_first_zero(m, op->out);
	double ratio = (double)tfl_first_scale(m, op->in[0]) / (double)tfl_first_scale(m, op->out);
	struct cnn_range range = cnn_range_of(tfl_type(m, op->out), y_zero);
	struct cnn_factor factor;

	if (op->kind->code != QUANTIZE)
		ratio = (double)(tfl_first_scale(m, op->in[0]) / tfl_first_scale(m, op->out));
	factor = cnn_factor_of(ratio);
	if (factor.exponent > 14)
		return tfl_fail(m, op, CNN_ELIMIT, "the input's scale is %g times the output's, "
				"limit 2^14", ratio);
	for (int i = 0; i < n; i++) {
		int64_t v = element_of(tfl_type(m, op->in[0]), i) - x_zero;

		v = cnn_times_factor(v, factor) + y_zero;
		y[i] = (int16_t)(v < range.low ? range.low : v > range.high ? range.high : v);
	}
	return 0;
}

/* The table of elements of 16 bits as one of the output's type. */
static int give_table(struct tfl *m, const struct tfl_op *op, int n, int16_t *y)
{
	enum cnn_dtype type = tfl_type(m, op->out);
	int8_t *bytes = (int8_t *)y;

	for (int i = 0; i < n && type != CNN_INT16; i++)
		bytes[i] = (int8_t)y[i];
	return tfl_constant(m, type, n, y);
}

int tfl_wide_table(struct tfl *m, const struct tfl_op *op)
{
	int n = tfl_type(m, op->in[0]) == CNN_INT16 ? 65536 : 256, ret;
	int16_t *y;

	tfl_scale(m, op, op->in[0]);
	tfl_scale(m, op, op->out);
	if (m->status)
		return -1;
	y = malloc((size_t)n * sizeof(*y));
	switch (y ? op->kind->code : -1) {
	case -1:
		ret = tfl_nomem(m);
		break;
	case LOGISTIC:
	case TANH:
		ret = function_table(m, op, y);
		break;
	case QUANTIZE:
	case RELU:
	case RELU6:
	case RELU_N1_TO_1:
		ret = scale_table(m, op, n, y);
		break;
	default:
		ret = tfl_fail(m, op, CNN_EUNSUPPORTED, "type int16");
	}
	ret = ret ? -1 : give_table(m, op, n, y);
	free(y);
	return ret;
}
