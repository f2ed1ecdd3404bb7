// SPDX-License-Identifier: MIT
/*
 * Operators of quantised tensors that the TensorFlow Lite reader makes: QLinearAdd, QLinearSub,
 * QLinearMul, QLinearGlobalAveragePool, QLinearSoftmax and Requantize. They have names and inputs
 * like ONNX Runtime's, and the arithmetic of XNNPACK and of TensorFlow Lite, which rounds
 * elsewhere.
 */
#include <math.h>

#include "quant.h"

static bool is_wide(const struct cnn_call *c)
{
	return cnn_dtype_size(c->in[0]->dtype) > 1;
}

/* Both are of the type of the zero point of input i, which is the result's. */
static int want_type(const struct cnn_call *c, int i)
{
	if (c->in[i]->dtype == c->in[0]->dtype)
		return CNN_OK;
	return cnn_op_fail(c, CNN_EINVAL, "input %d is %s, %s wanted", i,
			   cnn_dtype_name(c->in[i]->dtype), cnn_dtype_name(c->in[0]->dtype));
}

static uint8_t clamp(const struct cnn_range *r, int64_t v)
{
	return (uint8_t)(v < r->low ? r->low : v > r->high ? r->high : v);
}

static int element(const struct cnn_tensor *t, const char *p)
{
	return t->dtype == CNN_INT8 ? *(const int8_t *)p : *(const uint8_t *)p;
}

int cnn_infer_qlinear_binary(struct cnn_call *c)
{
	bool sub = c->node->op == CNN_OP_QLINEAR_SUB;

	return (sub ? cnn_quant_operand(c, 0, 1) : cnn_quant_wide_operand(c, 0, 1)) ?:
	       cnn_quant_wide_operand(c, 3, 1) ?: cnn_quant_wide_result(c, 6) ?:
	       want_type(c, 3) ?: want_type(c, 7) ?:
	       (is_wide(c) ? cnn_check_int16(c, (const int[]){ 2, 5, 7 }, 3) : CNN_OK) ?:
	       cnn_infer_like(c, c->in[0]) ?: cnn_broadcast(c, c->out[0], c->in[3]);
}

/*
 * y = (term[0][a] + term[1][b]) times a factor, rounded. XNNPACK shifts the sum; TensorFlow Lite's
 * own kernel, which takes what is beyond XNNPACK's limits, multiplies it.
 */
struct add {
	int64_t term[2][256];
	int shift;			/* 0: XNNPACK does not take it */
	struct cnn_factor factor;
	struct cnn_range range;
};

/* Fills the terms: what f makes of an operand's elements less its zero point. */
static void make_terms(const struct cnn_call *c, struct add *add,
		       int64_t (*f)(int64_t v, const struct cnn_factor *factor),
		       const struct cnn_factor *factors)
{
	for (int k = 0; k < 2; k++) {
		bool negative = k && c->node->op == CNN_OP_QLINEAR_SUB;
		bool is_signed = c->in[3 * k]->dtype == CNN_INT8;
		int zero = cnn_zero_point(c->in[3 * k + 2], 0);

		for (int i = 0; i < 256; i++) {
			int64_t v = f((is_signed ? (int8_t)i : i) - zero, &factors[k]);

			add->term[k][i] = negative ? -v : v;
		}
	}
}

static int64_t times_bits(int64_t v, const struct cnn_factor *factor)
{
	return v * factor->bits;
}

static int64_t times_wide(int64_t v, const struct cnn_factor *factor)
{
	return cnn_times_factor(v * (1 << 20), *factor);
}

/* The factor of the larger operand has 21 bits. */
bool cnn_sum_factors(float a, float b, struct cnn_sum_factors *f)
{
	int exponent;

	if (!(a >= 0x1p-10f && b >= 0x1p-10f && a < 0x1p8f && b < 0x1p8f))
		return false;
	frexpf(a < b ? b : a, &exponent);
	f->shift = 21 - exponent;
	f->factor[0] = (int64_t)nearbyintf(ldexpf(a, f->shift));
	f->factor[1] = (int64_t)nearbyintf(ldexpf(b, f->shift));
	return true;
}

static void add_as_xnnpack(const struct cnn_call *c, struct add *add,
			   const struct cnn_sum_factors *f)
{
	const struct cnn_factor factors[2] = { { .bits = f->factor[0] },
					       { .bits = f->factor[1] } };

	add->shift = f->shift;
	make_terms(c, add, times_bits, factors);
}

/* TensorFlow Lite: both by twice the larger scale, with 20 more bits. */
static void add_as_tflite(const struct cnn_call *c, struct add *add)
{
	double a = (double)cnn_scale(c->in[1], 0), b = (double)cnn_scale(c->in[4], 0);
	double twice = 2 * (a < b ? b : a);
	const struct cnn_factor factors[2] = { cnn_factor_of(a / twice), cnn_factor_of(b / twice) };

	add->factor = cnn_factor_of(twice / (0x1p20 * (double)cnn_scale(c->in[6], 0)));
	make_terms(c, add, times_wide, factors);
}

static int make_add(const struct cnn_call *c, struct add *add)
{
	float a = cnn_scale(c->in[1], 0) / cnn_scale(c->in[6], 0);
	float b = cnn_scale(c->in[4], 0) / cnn_scale(c->in[6], 0);
	struct cnn_sum_factors f;

	add->range = cnn_range_of(c->out[0]->dtype, cnn_zero_point(c->in[7], 0));
	if (!(cnn_scale(c->in[6], 0) > 0 && a >= 0 && b >= 0 && a + b > 0 && a < 0x1p19f && b < 0x1p19f))
		return cnn_op_fail(c, CNN_ELIMIT, "scales of %g and %g times that of the sum, "
				   "limits 0 and 2^19", (double)a, (double)b);
	if (cnn_sum_factors(a, b, &f))
		add_as_xnnpack(c, add, &f);
	else
		add_as_tflite(c, add);
	return CNN_OK;
}

static uint8_t finish_sum(const struct add *add, int64_t sum)
{
	if (add->shift)
		sum = (sum + ((int64_t)1 << (add->shift - 1))) >> add->shift;
	else
		sum = cnn_times_factor(sum, add->factor);
	return clamp(&add->range, sum + add->range.zero_point);
}

int cnn_compute_qlinear_add(struct cnn_call *c)
{
	const struct cnn_tensor *t[2] = { c->in[0], c->in[3] }, *out = c->out[0];
	int64_t left = cnn_tensor_count(out);
	struct add add = { .shift = 0 };
	uint8_t *y = out->data;
	struct cnn_walk w;
	int ret;

	if (is_wide(c))
		return cnn_qlinear_add_int16(c);
	ret = make_add(c, &add);
	if (ret)
		return ret;
	cnn_walk_start(&w, out, 2, t);
	for (; left > 0; left -= w.row, y += w.row, cnn_walk_next(&w)) {
		const uint8_t *a = (const uint8_t *)w.p[0], *b = (const uint8_t *)w.p[1];

		for (int64_t i = 0; i < w.row; i++)
			y[i] = finish_sum(&add, add.term[0][a[w.moves[0] ? i : 0]] +
						add.term[1][b[w.moves[1] ? i : 0]]);
	}
	return CNN_OK;
}

struct mul {
	int a_zero, b_zero;
	float scale;
	bool wide;			/* XNNPACK does not take it */
	struct cnn_factor factor;
	struct cnn_range range;
};

/* XNNPACK: times one float32, ties to even. TensorFlow Lite's own kernel: a factor of 31 bits. */
static int make_mul(const struct cnn_call *c, struct mul *m)
{
	float a = cnn_scale(c->in[1], 0), b = cnn_scale(c->in[4], 0), y = cnn_scale(c->in[6], 0);
	double exact = (double)a * (double)b / (double)y;

	if (!(exact > 0 && exact < 0x1p14))
		return cnn_op_fail(c, CNN_ELIMIT, "the operands' scales make %g times that of the "
				   "product, limits 0 and 2^14", exact);
	m->a_zero = cnn_zero_point(c->in[2], 0);
	m->b_zero = cnn_zero_point(c->in[5], 0);
	m->scale = a * b / y;
	m->wide = !(m->scale >= 0x1p-16f && m->scale < 0x1p8f);
	m->factor = cnn_factor_of(exact);
	m->range = cnn_range_of(c->out[0]->dtype, cnn_zero_point(c->in[7], 0));
	return CNN_OK;
}

static uint8_t finish_product(const struct mul *m, int product)
{
	if (m->wide)
		return clamp(&m->range, cnn_times_factor(product, m->factor) + m->range.zero_point);
	return (uint8_t)cnn_to_range(&m->range, (float)product * m->scale);
}

int cnn_compute_qlinear_mul(struct cnn_call *c)
{
	const struct cnn_tensor *t[2] = { c->in[0], c->in[3] }, *out = c->out[0];
	int64_t left = cnn_tensor_count(out);
	uint8_t *y = out->data;
	struct mul m = { 0 };
	struct cnn_walk w;
	int ret;

	if (is_wide(c))
		return cnn_qlinear_mul_int16(c);
	ret = make_mul(c, &m);
	if (ret)
		return ret;
	cnn_walk_start(&w, out, 2, t);
	for (; left > 0; left -= w.row, y += w.row, cnn_walk_next(&w))
		for (int64_t i = 0; i < w.row; i++) {
			int a = element(t[0], w.p[0] + (w.moves[0] ? i : 0)) - m.a_zero;
			int b = element(t[1], w.p[1] + (w.moves[1] ? i : 0)) - m.b_zero;

			y[i] = finish_product(&m, a * b);
		}
	return CNN_OK;
}

int cnn_infer_qlinear_mean(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor *y = c->out[0];
	int ret = cnn_quant_operand(c, 0, 1) ?: cnn_quant_result(c, 3);

	if (ret)
		return ret;
	if (x->rank < 3)
		return cnn_op_fail(c, CNN_EINVAL, "%d dimensions, 3 or more wanted", x->rank);
	y->rank = x->rank;
	for (int i = 0; i < y->rank; i++)
		y->dims[i] = i < 2 ? x->dims[i] : 1;
	return CNN_OK;
}

int cnn_compute_qlinear_mean(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t planes = cnn_tensor_count(y), plane = planes ? cnn_tensor_count(x) / planes : 0;
	struct cnn_range range = cnn_range_of(y->dtype, cnn_zero_point(c->in[4], 0));
	float scale = cnn_scale(c->in[1], 0) / (cnn_scale(c->in[3], 0) * (float)plane);
	const char *p = x->data;
	uint8_t *out = y->data;

	if (plane > INT32_MAX / 512)
		return cnn_op_fail(c, CNN_ELIMIT, "%lld elements of a map, limit %d",
				   (long long)plane, INT32_MAX / 512);
	for (int64_t i = 0; i < planes; i++) {
		int32_t sum = -(int32_t)plane * cnn_zero_point(c->in[2], 0);

		for (int64_t j = 0; j < plane; j++)
			sum += element(x, p++);
		cnn_requantize(&range, &scale, 0, &sum, 1, &out[i]);
	}
	return CNN_OK;
}

int cnn_infer_qlinear_softmax(struct cnn_call *c)
{
	bool wide = is_wide(c);
	int ret = (wide ? cnn_check_int16(c, NULL, 0) : cnn_quant_bytes(c, 0)) ?:
		  cnn_quant_param(c, 1, CNN_FLOAT32, 1) ?:
		  (wide ? cnn_quant_wide_result(c, 2) : cnn_quant_result(c, 2)) ?: want_type(c, 3);

	if (!ret && c->in[0]->rank < 1)
		return cnn_op_fail(c, CNN_EINVAL, "a scalar has no last axis");
	return ret ?: cnn_infer_like(c, c->in[0]);
}

/* table[d] = exp(-scale * d): what an element d below the largest counts. */
static void softmax_row(const struct cnn_tensor *t, const char *x, int64_t n, const float *table,
			float y_scale, const struct cnn_range *range, uint8_t *y)
{
	int max = element(t, x);
	float sum = 0, factor;

	for (int64_t i = 1; i < n; i++)
		max = element(t, x + i) > max ? element(t, x + i) : max;
	for (int64_t i = 0; i < n; i++)
		sum += table[max - element(t, x + i)];
	factor = 1 / (sum * y_scale);
	for (int64_t i = 0; i < n; i++) {
		double v = (double)(table[max - element(t, x + i)] * factor) + 0.5;

		y[i] = clamp(range, (v < 512 ? (int64_t)v : 512) + range->zero_point);
	}
}

int cnn_compute_qlinear_softmax(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t count = cnn_tensor_count(x), n = x->dims[x->rank - 1];
	struct cnn_range range = cnn_range_of(y->dtype, cnn_zero_point(c->in[3], 0));
	float table[256], scale = cnn_scale(c->in[1], 0), y_scale = cnn_scale(c->in[2], 0);

	if (is_wide(c))
		return cnn_qlinear_softmax_int16(c);
	if (!(scale > 0 && scale < INFINITY && y_scale > 0))
		return cnn_op_fail(c, CNN_EINVAL, "scales %g and %g", (double)scale,
				   (double)y_scale);
	for (int i = 0; i < 256; i++)
		table[i] = cnn_expf(-scale * (float)i);
	for (int64_t at = 0; at < count; at += n)
		softmax_row(x, (const char *)x->data + at, n, table, y_scale, &range,
			    (uint8_t *)y->data + at);
	return CNN_OK;
}

int cnn_infer_requantize(struct cnn_call *c)
{
	int64_t bits = c->node->params.requantize.multiplier_bits;
	int ret = cnn_quant_operand(c, 0, 1) ?: cnn_quant_result(c, 3);

	if (!ret && bits != 8 && bits != 31)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute multiplier_bits %lld",
				   (long long)bits);
	if (ret)
		return ret;
	cnn_set_shape(c->out[0], c->out[0]->dtype, c->in[0]);
	return CNN_OK;
}

int cnn_compute_requantize(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	float ratio = cnn_scale(c->in[1], 0) / cnn_scale(c->in[3], 0);
	struct cnn_factor factor;
	bool short_factor = c->node->params.requantize.multiplier_bits == 8;
	float least = short_factor ? 0x1p-8f : 0x1p-30f, most = short_factor ? 0x1p7f : 0x1p22f;
	struct cnn_range range = cnn_range_of(y->dtype, cnn_zero_point(c->in[4], 0));
	int32_t zero = cnn_zero_point(c->in[2], 0);
	int64_t n = cnn_tensor_count(x);
	uint8_t table[256];

	if (!(ratio >= least && ratio <= most))
		return cnn_op_fail(c, CNN_ELIMIT, "the input's scale is %g times the output's, "
				   "limits %g and %g", (double)ratio, (double)least, (double)most);
	factor = cnn_factor_of((double)ratio);
	for (int i = 0; i < 256; i++) {
		int64_t v = (x->dtype == CNN_INT8 ? (int8_t)i : i) - zero;

		v = short_factor ? cnn_times_8_bits(v, ratio) : cnn_times_factor(v, factor);
		table[i] = clamp(&range, v + range.zero_point);
	}
	for (int64_t i = 0; i < n; i++)
		((uint8_t *)y->data)[i] = table[((const uint8_t *)x->data)[i]];
	return CNN_OK;
}
