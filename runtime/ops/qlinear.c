// SPDX-License-Identifier: MIT
/*
 * Operators of quantised tensors that the TensorFlow Lite reader makes: QLinearAdd, QLinearSub,
 * QLinearMul, QLinearGlobalAveragePool, QLinearSoftmax and Requantize. They have names and inputs
 * like ONNX Runtime's, and the arithmetic of XNNPACK and of TensorFlow Lite, which rounds
 * elsewhere.
 */
#include <math.h>

#include "quant.h"

/* Both are bytes of the type of the zero point of input i, which is the result's. */
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
	return cnn_quant_operand(c, 0, 1) ?: cnn_quant_operand(c, 3, 1) ?:
	       cnn_quant_result(c, 6) ?: want_type(c, 3) ?: want_type(c, 7) ?:
	       cnn_infer_like(c, c->in[0]) ?: cnn_broadcast(c, c->out[0], c->in[3]);
}

/* y = (bias + a * a_factor + b * b_factor) >> shift, rounded down, with the zero points in bias. */
struct add {
	int64_t bias, a_factor, b_factor;
	int shift;
	struct cnn_range range;
};

/* The factor of the larger operand has 21 bits; that of b is negative in a difference. */
static int make_add(const struct cnn_call *c, struct add *add)
{
	float a = cnn_scale(c->in[1], 0) / cnn_scale(c->in[6], 0);
	float b = cnn_scale(c->in[4], 0) / cnn_scale(c->in[6], 0);
	float limits[2] = { a < b ? a : b, a < b ? b : a };
	int exponent;

	if (!(limits[0] >= 0x1p-10f && limits[1] < 0x1p8f))
		return cnn_op_fail(c, CNN_ELIMIT, "scales of %g and %g times that of the sum, "
				   "limits 2^-10 and 2^8", (double)a, (double)b);
	frexpf(limits[1], &exponent);
	add->shift = 21 - exponent;
	add->a_factor = (int64_t)nearbyintf(ldexpf(a, add->shift));
	add->b_factor = (int64_t)nearbyintf(ldexpf(b, add->shift));
	if (c->node->op == CNN_OP_QLINEAR_SUB)
		add->b_factor = -add->b_factor;
	add->bias = ((int64_t)1 << (add->shift - 1)) -
		    add->a_factor * cnn_zero_point(c->in[2], 0) -
		    add->b_factor * cnn_zero_point(c->in[5], 0);
	add->range = cnn_range_of(c->out[0]->dtype, cnn_zero_point(c->in[7], 0));
	return CNN_OK;
}

int cnn_compute_qlinear_add(struct cnn_call *c)
{
	const struct cnn_tensor *t[2] = { c->in[0], c->in[3] }, *out = c->out[0];
	int64_t left = cnn_tensor_count(out);
	uint8_t *y = out->data;
	struct cnn_walk w;
	struct add add = { 0 };
	int ret = make_add(c, &add);

	if (ret)
		return ret;
	cnn_walk_start(&w, out, 2, t);
	for (; left > 0; left -= w.row, y += w.row, cnn_walk_next(&w))
		for (int64_t i = 0; i < w.row; i++) {
			int64_t a = element(t[0], w.p[0] + (w.moves[0] ? i : 0));
			int64_t b = element(t[1], w.p[1] + (w.moves[1] ? i : 0));
			int64_t sum = add.bias + a * add.a_factor + b * add.b_factor;

			y[i] = clamp(&add.range, (sum >> add.shift) + add.range.zero_point);
		}
	return CNN_OK;
}

/* y = round(a * b * scale), ties to even, in float32. */
int cnn_compute_qlinear_mul(struct cnn_call *c)
{
	const struct cnn_tensor *t[2] = { c->in[0], c->in[3] }, *out = c->out[0];
	float scale = cnn_scale(c->in[1], 0) * cnn_scale(c->in[4], 0) / cnn_scale(c->in[6], 0);
	struct cnn_range range = cnn_range_of(out->dtype, cnn_zero_point(c->in[7], 0));
	int a_zero = cnn_zero_point(c->in[2], 0), b_zero = cnn_zero_point(c->in[5], 0);
	int64_t left = cnn_tensor_count(out);
	uint8_t *y = out->data;
	struct cnn_walk w;

	if (!(scale >= 0x1p-16f && scale < 0x1p8f))
		return cnn_op_fail(c, CNN_ELIMIT, "the operands' scales make %g times that of the "
				   "product, limits 2^-16 and 2^8", (double)scale);
	cnn_walk_start(&w, out, 2, t);
	for (; left > 0; left -= w.row, y += w.row, cnn_walk_next(&w))
		for (int64_t i = 0; i < w.row; i++) {
			int a = element(t[0], w.p[0] + (w.moves[0] ? i : 0)) - a_zero;
			int b = element(t[1], w.p[1] + (w.moves[1] ? i : 0)) - b_zero;

			y[i] = (uint8_t)cnn_to_range(&range, (float)(a * b) * scale);
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
	int ret = cnn_quant_bytes(c, 0) ?: cnn_quant_param(c, 1, CNN_FLOAT32, 1) ?:
		  cnn_quant_result(c, 2) ?: want_type(c, 3);

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
