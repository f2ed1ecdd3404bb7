// SPDX-License-Identifier: MIT
/*
 * QLinearAdd, QLinearMul and QLinearSoftmax of int16, whose zero points are 0: what TensorFlow
 * Lite's reference kernels compute.
 */
#include <math.h>

#include "quant.h"

static int16_t clamp(int64_t v)
{
	return (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
}

int cnn_check_int16(const struct cnn_call *c, const int *zeros, int n)
{
	if (c->in[0]->dtype != CNN_INT16)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(c->in[0]->dtype));
	for (int i = 0; i < n; i++)
		if (c->in[zeros[i]]->data && cnn_zero_point(c->in[zeros[i]], 0))
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "zero point %d of int16, 0 wanted",
					   cnn_zero_point(c->in[zeros[i]], 0));
	return CNN_OK;
}

/* ---- QLinearAdd -------------------------------------------------------------------------- */

/* Each term and the sum are multiplied by factors; or, shift_only, one operand is shifted. */
struct add {
	bool shift_only;
	int shift[2];
	struct cnn_factor term[2], sum;
};

static int make_shifts(const struct cnn_call *c, struct add *add)
{
	int y;

	if (!cnn_near_power(cnn_scale(c->in[6], 0), &y))
		return cnn_op_fail(c, CNN_EINVAL, "multiplier_bits 0, and a scale is no power of two");
	for (int i = 0; i < 2; i++) {
		if (!cnn_near_power(cnn_scale(c->in[3 * i + 1], 0), &add->shift[i]))
			return cnn_op_fail(c, CNN_EINVAL,
					   "multiplier_bits 0, and a scale is no power of two");
		add->shift[i] = y - add->shift[i];
	}
	if (add->shift[0] < 0 || add->shift[1] < 0 || (add->shift[0] && add->shift[1]) ||
	    add->shift[0] > 15 || add->shift[1] > 15)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "the sum's scale is 2^%d and 2^%d times the "
				   "operands', 1 and at most 2^15 wanted", add->shift[0],
				   add->shift[1]);
	return CNN_OK;
}

static int make_add(const struct cnn_call *c, struct add *add)
{
	double a = (double)cnn_scale(c->in[1], 0), b = (double)cnn_scale(c->in[4], 0);
	double twice = 2 * (a < b ? b : a), sum = twice / (0x1p15 * (double)cnn_scale(c->in[6], 0));

	add->shift_only = c->node->params.product.multiplier_bits == 0;
	if (add->shift_only)
		return make_shifts(c, add);
	if (!(sum > 0 && sum < 1))
		return cnn_op_fail(c, CNN_ELIMIT, "the larger scale is %g times the sum's, limits 0 "
				   "and 2^14", sum * 0x1p14);
	add->term[0] = cnn_factor_of(a / twice);
	add->term[1] = cnn_factor_of(b / twice);
	add->sum = cnn_factor_of(sum);
	return CNN_OK;
}

static int16_t add_one(const struct add *add, int16_t a, int16_t b)
{
	int64_t x, y;

	if (add->shift_only) {
		x = cnn_rounding_shift(a, add->shift[0]);
		return clamp(x + cnn_rounding_shift(b, add->shift[1]));
	}
	x = cnn_times_factor((int64_t)a * (1 << 15), add->term[0]);
	y = cnn_times_factor((int64_t)b * (1 << 15), add->term[1]);
	return clamp(cnn_times_factor(x + y, add->sum));
}

int cnn_qlinear_add_int16(struct cnn_call *c)
{
	const struct cnn_tensor *t[2] = { c->in[0], c->in[3] }, *out = c->out[0];
	int64_t left = cnn_tensor_count(out);
	int16_t *y = out->data;
	struct cnn_walk w;
	struct add add;
	int ret = cnn_check_int16(c, (const int[]){ 2, 5, 7 }, 3) ?: make_add(c, &add);

	if (ret)
		return ret;
	cnn_walk_start(&w, out, 2, t);
	for (; left > 0; left -= w.row, y += w.row, cnn_walk_next(&w)) {
		const int16_t *a = (const int16_t *)w.p[0], *b = (const int16_t *)w.p[1];

		for (int64_t i = 0; i < w.row; i++)
			y[i] = add_one(&add, a[w.moves[0] ? i : 0], b[w.moves[1] ? i : 0]);
	}
	return CNN_OK;
}

/* ---- QLinearMul -------------------------------------------------------------------------- */

int cnn_qlinear_mul_int16(struct cnn_call *c)
{
	const struct cnn_tensor *t[2] = { c->in[0], c->in[3] }, *out = c->out[0];
	float ratio = cnn_scale(c->in[1], 0) * cnn_scale(c->in[4], 0) / cnn_scale(c->in[6], 0);
	struct cnn_factor factor = cnn_factor_of((double)ratio);
	int64_t left = cnn_tensor_count(out);
	int16_t *y = out->data;
	struct cnn_walk w;
	int ret = cnn_check_int16(c, (const int[]){ 2, 5, 7 }, 3);

	if (ret)
		return ret;
	if (!(ratio > 0) || factor.exponent > 0)
		return cnn_op_fail(c, CNN_ELIMIT, "the operands' scales make %g times that of the "
				   "product, limits 0 and 1", (double)ratio);
	cnn_walk_start(&w, out, 2, t);
	for (; left > 0; left -= w.row, y += w.row, cnn_walk_next(&w)) {
		const int16_t *a = (const int16_t *)w.p[0], *b = (const int16_t *)w.p[1];

		for (int64_t i = 0; i < w.row; i++)
			y[i] = clamp(cnn_times_factor((int64_t)a[w.moves[0] ? i : 0] *
						      b[w.moves[1] ? i : 0], factor));
	}
	return CNN_OK;
}

/* ---- QLinearSoftmax ---------------------------------------------------------------------- */

/* 512 steps over an int16, and the end: numbers of 15 bits after the point. */
#define STEPS	512

static double power(double x)
{
	return cnn_pow(0x1.5bf0a8b145769p1, x);
}

static double reciprocal(double x)
{
	return 1 / (1 + x);
}

/* Half of what linear interpolation misses in the middle of a step is taken from its start. */
static void make_table(double (*f)(double), double low, double high, int16_t *table)
{
	double step = (high - low) / STEPS;

	for (int i = 0; i < STEPS; i++) {
		double at = low + i * step, start = round(f(at) * 32768);
		double between = round((f(at + step) * 32768 + start) / 2);
		double middle = round(f(at + step / 2) * 32768);

		table[i] = clamp((int64_t)(start - round((between - middle) / 2)));
	}
	table[STEPS] = clamp((int64_t)round(f(high) * 32768));
}

static int16_t look_up(int64_t v, const int16_t *table)
{
	int x = clamp(v), i = 256 + (x >> 7);

	return (int16_t)(table[i] + (((table[i + 1] - table[i]) * (x & 0x7f) + 64) >> 7));
}

struct softmax {
	int16_t exp[STEPS + 1], inverse[STEPS + 1];
	struct cnn_factor factor;	/* of differences: 65535 is 10 */
};

static int16_t exp_of(const struct softmax *s, int difference)
{
	return look_up(cnn_times_factor(difference, s->factor) + 32767, s->exp);
}

static void softmax_row(const struct softmax *s, const int16_t *x, int64_t n, int16_t *y)
{
	int16_t most = INT16_MIN, scale;
	int32_t sum = 0;
	int zeros;

	for (int64_t i = 0; i < n; i++)
		most = x[i] > most ? x[i] : most;
	for (int64_t i = 0; i < n; i++) {
		y[i] = exp_of(s, x[i] - most);
		sum += y[i];
	}
	zeros = __builtin_clz((uint32_t)sum);
	/* The sum's leading one is cut off: the table has 1 / (1 + x). */
	scale = look_up(((((int64_t)sum << (zeros - 1)) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16),
			s->inverse);
	for (int64_t i = 0; i < n; i++) {
		int64_t v = ((int64_t)y[i] * scale + ((int64_t)1 << (30 - zeros))) >> (31 - zeros);

		y[i] = (int16_t)(v < 0 ? 0 : v > INT16_MAX ? INT16_MAX : v);
	}
}

int cnn_qlinear_softmax_int16(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t count = cnn_tensor_count(x), n = x->dims[x->rank - 1];
	double factor = (double)cnn_scale(c->in[1], 0) / (10.0 / 65535.0);
	struct softmax s = { .factor = cnn_factor_of(factor) };
	float off = cnn_scale(c->in[2], 0) * 32768 - 1;
	int ret = cnn_check_int16(c, (const int[]){ 3 }, 1);

	if (ret)
		return ret;
	if (!(fabsf(off) <= 0.001f))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "scale %g of the result, 2^-15 wanted",
				   (double)cnn_scale(c->in[2], 0));
	/* The sum has to stay below 2^31: each term may be 2^15. */
	if (!(factor > 0) || s.factor.exponent > 14 || n > 1 << 15)
		return cnn_op_fail(c, CNN_ELIMIT, "scale %g, limit 2.5; %lld elements, limit 32768",
				   (double)cnn_scale(c->in[1], 0), (long long)n);
	make_table(power, -10, 0, s.exp);
	make_table(reciprocal, 0, 1, s.inverse);
	for (int64_t at = 0; at < count; at += n)
		softmax_row(&s, (const int16_t *)x->data + at, n, (int16_t *)c->out[0]->data + at);
	return CNN_OK;
}
