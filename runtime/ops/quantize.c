// SPDX-License-Identifier: MIT
/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and what quantised operators share. */
#include "quant.h"

int cnn_quant_param(const struct cnn_call *c, int i, enum cnn_dtype type, int64_t count)
{
	const struct cnn_tensor *t = cnn_in(c, i);
	int64_t n = t ? cnn_tensor_count(t) : 1;

	if (t && t->dtype != type)
		return cnn_op_fail(c, CNN_EINVAL, "input %d is %s, %s wanted", i,
				   cnn_dtype_name(t->dtype), cnn_dtype_name(type));
	if (n == 1 || (n == count && t->rank == 1))
		return CNN_OK;
	if (count == 1)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "input %d has %lld elements, limit 1", i,
				   (long long)n);
	return cnn_op_fail(c, CNN_EINVAL, "input %d has %lld elements in %d dimensions, 1 or a "
			   "list of %lld wanted", i, (long long)n, t->rank, (long long)count);
}

int cnn_quant_bytes(const struct cnn_call *c, int i)
{
	return CNN_WANT(c, c->in[i], CNN_INT8, CNN_UINT8);
}

/* An input of 8 or 16 bits. */
static int quant_words(const struct cnn_call *c, int i)
{
	return CNN_WANT(c, c->in[i], CNN_INT8, CNN_UINT8, CNN_INT16, CNN_UINT16);
}

static int operand_params(const struct cnn_call *c, int first, int64_t count)
{
	return cnn_quant_param(c, first + 1, CNN_FLOAT32, count) ?:
	       cnn_quant_param(c, first + 2, c->in[first]->dtype, count);
}

int cnn_quant_operand(const struct cnn_call *c, int first, int64_t count)
{
	return cnn_quant_bytes(c, first) ?: operand_params(c, first, count);
}

int cnn_quant_wide_operand(const struct cnn_call *c, int first, int64_t count)
{
	return quant_words(c, first) ?: operand_params(c, first, count);
}

int cnn_quant_wide_result(const struct cnn_call *c, int i)
{
	if (!cnn_in(c, i) || !cnn_in(c, i + 1))
		return cnn_op_fail(c, CNN_EINVAL, "input %d or %d is missing", i, i + 1);
	c->out[0]->dtype = c->in[i + 1]->dtype;
	return cnn_quant_param(c, i, CNN_FLOAT32, 1) ?: quant_words(c, i + 1) ?:
	       cnn_quant_param(c, i + 1, c->in[i + 1]->dtype, 1);
}

int cnn_quant_result(const struct cnn_call *c, int i)
{
	int ret = cnn_quant_wide_result(c, i);

	return ret ?: cnn_quant_bytes(c, i + 1);
}

int32_t cnn_zero_point(const struct cnn_tensor *t, int64_t i)
{
	if (!t)
		return 0;
	i = cnn_tensor_count(t) == 1 ? 0 : i;
	switch (t->dtype) {
	case CNN_INT8:
		return ((const int8_t *)t->data)[i];
	case CNN_UINT8:
		return ((const uint8_t *)t->data)[i];
	case CNN_INT16:
		return ((const int16_t *)t->data)[i];
	case CNN_UINT16:
		return ((const uint16_t *)t->data)[i];
	default:
		return ((const int32_t *)t->data)[i];
	}
}

CNN_CLONES
void cnn_whole(enum cnn_dtype type, const void *x, int32_t zero_point, float *y, int64_t n)
{
	const uint8_t *u = x;
	const int8_t *s = x;

	if (type == CNN_UINT8)
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(u[i] - zero_point);
	else
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(s[i] - zero_point);
}

struct cnn_range cnn_range_of(enum cnn_dtype type, int32_t zero_point)
{
	bool wide = type == CNN_INT16 || type == CNN_UINT16;
	int32_t low = type == CNN_INT8 ? INT8_MIN : type == CNN_INT16 ? INT16_MIN : 0;

	return (struct cnn_range){
		type, zero_point, .low = low, .high = low + (wide ? UINT16_MAX : UINT8_MAX),
	};
}

CNN_CLONES
void cnn_requantize(const struct cnn_range *r, const float *scale, int step, const int32_t *acc,
		    int64_t n, void *y)
{
	struct cnn_range range = *r;
	uint8_t *out = y;		/* an int8 is its low byte */

	if (step)
		for (int64_t i = 0; i < n; i++)
			out[i] = (uint8_t)cnn_to_range(&range, (float)acc[i] * scale[i]);
	else
		for (int64_t i = 0; i < n; i++)
			out[i] = (uint8_t)cnn_to_range(&range, (float)acc[i] * *scale);
}

/* How many parameters there may be: one for each element of the axis. */
static int param_count(const struct cnn_call *c, int64_t *axis, int64_t *count)
{
	const struct cnn_tensor *x = c->in[0];
	int ret;

	*axis = c->node->params.axis.axis;
	*count = 1;
	if (cnn_tensor_count(c->in[1]) == 1)	/* the axis does not matter, and may not exist */
		return CNN_OK;
	ret = cnn_op_axis(c, axis, x->rank);
	if (!ret)
		*count = x->dims[*axis];
	return ret;
}

/* float16 is not supported here, rather than wrong: the caller widens it. */
static int check_scale(const struct cnn_call *c, int64_t count)
{
	if (c->in[1]->dtype == CNN_FLOAT16)
		return CNN_WANT(c, c->in[1], CNN_FLOAT32);
	return cnn_quant_param(c, 1, CNN_FLOAT32, count);
}

/* The type that the zero point has, or that output_dtype names. */
static int result_type(const struct cnn_call *c, enum cnn_dtype zero, enum cnn_dtype *type)
{
	int64_t asked = c->node->params.axis.output_dtype;

	*type = zero ? zero : asked ? (enum cnn_dtype)asked : CNN_UINT8;
	if (asked && asked != (int64_t)*type)
		return cnn_op_fail(c, CNN_EINVAL, "output_dtype is %lld, the zero point %s",
				   (long long)asked, cnn_dtype_name(zero));
	if (*type != CNN_UINT8 && *type != CNN_INT8 && *type != CNN_UINT16 && *type != CNN_INT16)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "output_dtype %lld", (long long)asked);
	return CNN_OK;
}

int cnn_infer_quantize(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *zp = cnn_in(c, 2);
	enum cnn_dtype type = zp ? zp->dtype : CNN_UNDEFINED;
	int64_t axis, count;
	int ret = CNN_WANT(c, x, CNN_FLOAT32, CNN_INT32) ?: (zp ? quant_words(c, 2) : CNN_OK) ?:
		  param_count(c, &axis, &count) ?: check_scale(c, count) ?:
		  cnn_quant_param(c, 2, type, count) ?: result_type(c, type, &type);

	cnn_set_shape(c->out[0], type, x);
	return ret;
}

int cnn_infer_dequantize(struct cnn_call *c)
{
	int64_t asked = c->node->params.axis.output_dtype, axis, count;
	const struct cnn_tensor *x = c->in[0];
	int ret = CNN_WANT(c, x, CNN_UINT8, CNN_INT8, CNN_UINT16, CNN_INT16, CNN_INT32) ?:
		  param_count(c, &axis, &count) ?:
		  check_scale(c, count) ?: cnn_quant_param(c, 2, x->dtype, count);

	if (asked && asked != CNN_FLOAT32)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "output_dtype %lld", (long long)asked);
	cnn_set_shape(c->out[0], CNN_FLOAT32, x);
	return ret;
}

/* A piece of x and y that has one scale and one zero point. */
struct piece {
	const void *x;
	void *y;
	enum cnn_dtype x_type;
	struct cnn_range y_range;	/* QuantizeLinear */
	int32_t zero_point;		/* DequantizeLinear */
	float scale;
};

CNN_CLONES
static void quantize_wide_block(const void *arg, int64_t first, int64_t n)
{
	const struct piece *p = arg;
	const int32_t *whole = (const int32_t *)p->x + first;
	const float *x = (const float *)p->x + first;
	uint16_t *y = (uint16_t *)p->y + first;
	struct cnn_range range = p->y_range;

	if (p->x_type == CNN_INT32)
		for (int64_t i = 0; i < n; i++)
			y[i] = (uint16_t)cnn_to_range(&range, (float)whole[i] / p->scale);
	else
		for (int64_t i = 0; i < n; i++)
			y[i] = (uint16_t)cnn_to_range(&range, x[i] / p->scale);
}

CNN_CLONES
static void quantize_block(const void *arg, int64_t first, int64_t n)
{
	const struct piece *p = arg;
	const int32_t *whole = (const int32_t *)p->x + first;
	const float *x = (const float *)p->x + first;
	uint8_t *y = (uint8_t *)p->y + first;
	struct cnn_range range = p->y_range;

	if (p->x_type == CNN_INT32)
		for (int64_t i = 0; i < n; i++)
			y[i] = (uint8_t)cnn_to_range(&range, (float)whole[i] / p->scale);
	else
		for (int64_t i = 0; i < n; i++)
			y[i] = (uint8_t)cnn_to_range(&range, x[i] / p->scale);
}

CNN_CLONES
static void dequantize_block(const void *arg, int64_t first, int64_t n)
{
	const struct piece *p = arg;
	const int32_t *x = (const int32_t *)p->x + first;
	float *y = (float *)p->y + first;

	if (p->x_type == CNN_INT32)
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)((int64_t)x[i] - p->zero_point);
	else if (p->x_type == CNN_INT16)
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(((const int16_t *)p->x)[first + i] - p->zero_point);
	else if (p->x_type == CNN_UINT16)
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(((const uint16_t *)p->x)[first + i] - p->zero_point);
	else
		cnn_whole(p->x_type, (const uint8_t *)p->x + first, p->zero_point, y, n);
	for (int64_t i = 0; i < n; i++)
		y[i] *= p->scale;
}

/* Calls block for every piece. */
static int each_piece(const struct cnn_call *c,
		      void (*block)(const void *arg, int64_t first, int64_t n))
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0], *zp = cnn_in(c, 2);
	int64_t axis, count, inner, left = cnn_tensor_count(x);
	struct piece p = { .x = x->data, .y = y->data, .x_type = x->dtype };
	int ret = param_count(c, &axis, &count);

	if (ret || !left)
		return ret;
	inner = count == 1 ? left : cnn_span(x, axis + 1, x->rank);
	for (int64_t i = 0; left > 0; i++, left -= inner) {
		p.scale = cnn_scale(c->in[1], i % count);
		p.zero_point = cnn_zero_point(zp, i % count);
		p.y_range = cnn_range_of(y->dtype, p.zero_point);
		cnn_for_blocks(c, inner, CNN_BLOCK, block, &p);
		p.x = (const char *)p.x + inner * (int64_t)cnn_dtype_size(x->dtype);
		p.y = (char *)p.y + inner * (int64_t)cnn_dtype_size(y->dtype);
	}
	return CNN_OK;
}

int cnn_compute_quantize(struct cnn_call *c)
{
	return each_piece(c, cnn_dtype_size(c->out[0]->dtype) > 1 ? quantize_wide_block :
								    quantize_block);
}

int cnn_compute_dequantize(struct cnn_call *c)
{
	return each_piece(c, dequantize_block);
}

int cnn_infer_dynamic_quantize(struct cnn_call *c)
{
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	if (ret)
		return ret;
	if (!cnn_out(c, 1) || !cnn_out(c, 2))
		return cnn_op_fail(c, CNN_EINVAL, "%d outputs, 3 wanted", c->n_out);
	cnn_infer_like(c, c->in[0]);
	c->out[0]->dtype = c->out[2]->dtype = CNN_UINT8;
	c->out[1]->dtype = CNN_FLOAT32;
	c->out[1]->rank = c->out[2]->rank = 0;
	return CNN_OK;
}

int cnn_compute_dynamic_quantize(struct cnn_call *c)
{
	const float *x = c->in[0]->data;
	int64_t n = cnn_tensor_count(c->in[0]);
	struct piece p = { .x = x, .y = c->out[0]->data, .x_type = CNN_FLOAT32 };
	float low = 0, high = 0;
	struct cnn_range all = cnn_range_of(CNN_UINT8, 0);

	for (int64_t i = 0; i < n; i++) {
		low = x[i] < low ? x[i] : low;
		high = x[i] > high ? x[i] : high;
	}
	p.scale = high == low ? 1 : (high - low) / 255;
	p.zero_point = cnn_to_range(&all, -low / p.scale);
	p.y_range = cnn_range_of(CNN_UINT8, p.zero_point);
	*(float *)c->out[1]->data = p.scale;
	*(uint8_t *)c->out[2]->data = (uint8_t)p.zero_point;
	cnn_for_blocks(c, n, CNN_BLOCK, quantize_block, &p);
	return CNN_OK;
}
