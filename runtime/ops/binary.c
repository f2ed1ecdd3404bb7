// SPDX-License-Identifier: MIT
/* Operators of two tensors, element by element, with broadcasting; and Max, Min, Mean, Sum, Where. */
#include <math.h>
#include <stdlib.h>

#include "binary.h"

/* NaN is both the largest and the smallest. */
#define BINARY_ORDER(attr, suffix, type)				\
	BINARY(attr, max_##suffix, type, type, u > v || u != u ? u : v)	\
	BINARY(attr, min_##suffix, type, type, u < v || u != u ? u : v)

#define BINARY_FLOAT(attr, suffix, type)			\
	BINARY_ORDER(attr, suffix, type)			\
	BINARY(attr, add_##suffix, type, type, u + v)		\
	BINARY(attr, sub_##suffix, type, type, u - v)		\
	BINARY(attr, mul_##suffix, type, type, u * v)		\
	BINARY(attr, div_##suffix, type, type, u / v)

/* Integers wrap; a quotient by 0 is 0, and the one that overflows wraps. */
#define BINARY_INT(suffix, type, quotient)					\
	BINARY_ORDER(, suffix, type)						\
	BINARY(, add_##suffix, type, type, (uint64_t)u + (uint64_t)v)		\
	BINARY(, sub_##suffix, type, type, (uint64_t)u - (uint64_t)v)		\
	BINARY(, mul_##suffix, type, type, (uint64_t)u * (uint64_t)v)		\
	BINARY(, div_##suffix, type, type, quotient)

#define BINARY_SIGNED(dtype, suffix, type)	\
	BINARY_INT(suffix, type, !v ? 0 : v == -1 ? (type)(0 - (uint64_t)u) : u / v)
#define BINARY_UNSIGNED(dtype, suffix, type)	\
	BINARY_INT(suffix, type, !v ? 0 : u / v)

BINARY_FLOAT(CNN_CLONES, f32, float)
BINARY_FLOAT(, f64, double)
CNN_SIGNED(BINARY_SIGNED)
CNN_UNSIGNED(BINARY_UNSIGNED)

#define COMPARE(dtype, suffix, type)					\
	BINARY(, equal_##suffix, type, uint8_t, u == v)			\
	BINARY(, greater_##suffix, type, uint8_t, u > v)		\
	BINARY(, less_##suffix, type, uint8_t, u < v)			\
	BINARY(, greater_equal_##suffix, type, uint8_t, u >= v)		\
	BINARY(, less_equal_##suffix, type, uint8_t, u <= v)

CNN_NUMBERS(COMPARE)
BINARY(, equal_bool, uint8_t, uint8_t, !u == !v)
BINARY(, and_bool, uint8_t, uint8_t, u && v)
BINARY(, or_bool, uint8_t, uint8_t, u || v)
BINARY(, xor_bool, uint8_t, uint8_t, !u != !v)

BINARY(CNN_CLONES, prelu_f32, float, float, u < 0 ? u * v : u)

#define ORDER(dtype, suffix)								\
	[CNN_OP_MAX][CNN_##dtype] = max_##suffix, [CNN_OP_MIN][CNN_##dtype] = min_##suffix,
#define ARITHMETIC(dtype, suffix, type)							\
	ORDER(dtype, suffix)								\
	[CNN_OP_ADD][CNN_##dtype] = add_##suffix, [CNN_OP_SUB][CNN_##dtype] = sub_##suffix,	\
	[CNN_OP_MUL][CNN_##dtype] = mul_##suffix, [CNN_OP_DIV][CNN_##dtype] = div_##suffix,
#define COMPARISON(dtype, suffix, type)							\
	[CNN_OP_EQUAL][CNN_##dtype] = equal_##suffix,					\
	[CNN_OP_GREATER][CNN_##dtype] = greater_##suffix,				\
	[CNN_OP_LESS][CNN_##dtype] = less_##suffix,					\
	[CNN_OP_GREATER_OR_EQUAL][CNN_##dtype] = greater_equal_##suffix,		\
	[CNN_OP_LESS_OR_EQUAL][CNN_##dtype] = less_equal_##suffix,

static cnn_binary_fn *binary_of(enum cnn_op op, enum cnn_dtype t)
{
	static cnn_binary_fn *const fn[CNN_OP_COUNT][CNN_UINT64 + 1] = {
		CNN_NUMBERS(ARITHMETIC)
		CNN_NUMBERS(COMPARISON)
		[CNN_OP_EQUAL][CNN_BOOL] = equal_bool,
		[CNN_OP_AND][CNN_BOOL] = and_bool,
		[CNN_OP_OR][CNN_BOOL] = or_bool,
		[CNN_OP_XOR][CNN_BOOL] = xor_bool,
		[CNN_OP_PRELU][CNN_FLOAT32] = prelu_f32,
		[CNN_OP_MEAN][CNN_FLOAT32] = add_f32,
		[CNN_OP_MEAN][CNN_FLOAT64] = add_f64,
		[CNN_OP_SUM][CNN_FLOAT32] = add_f32,
		[CNN_OP_SUM][CNN_FLOAT64] = add_f64,
	};

	return t <= CNN_UINT64 ? fn[op][t] : NULL;
}

/* Shorter rows are finished when the whole output is there. */
#define FINISH_ROW	64

struct binary_call {
	const struct cnn_call *c;
	cnn_binary_fn *fn;
	struct cnn_walk start;
};

/* Elements from..to-1 of a row whose results begin at y. */
static void binary_row(const struct binary_call *b, const struct cnn_walk *w, char *y, int64_t from,
		       int64_t to)
{
	const struct cnn_call *c = b->c;
	int64_t y_size = cnn_dtype_size(c->out[0]->dtype), size = cnn_dtype_size(c->in[0]->dtype);
	int64_t step[2] = { w->moves[0] ? size : 0, w->moves[1] ? size : 0 };

	for (int64_t at = from; at < to; at += CNN_BLOCK) {
		int64_t n = to - at < CNN_BLOCK ? to - at : CNN_BLOCK;

		b->fn(w->p[0] + at * step[0], w->p[1] + at * step[1], y + at * y_size, n,
		      w->moves[0], w->moves[1]);
		if (c->finished)
			cnn_op_finish(c, (float *)y + at, n);
	}
}

static void part_of_row(const void *arg, int64_t first, int64_t n)
{
	const struct binary_call *b = arg;

	binary_row(b, &b->start, b->c->out[0]->data, first, first + n);
}

static void some_rows(const void *arg, int64_t first, int64_t n)
{
	const struct binary_call *b = arg;
	int64_t row = b->start.row * (int64_t)cnn_dtype_size(b->c->out[0]->dtype);
	struct cnn_walk w = b->start;

	cnn_walk_seek(&w, first);
	for (int64_t i = first; i < first + n; i++, cnn_walk_next(&w))
		binary_row(b, &w, (char *)b->c->out[0]->data + i * row, 0, w.row);
}

void cnn_run_binary(struct cnn_call *c, cnn_binary_fn *fn, const struct cnn_tensor *a,
		    const struct cnn_tensor *b, bool last)
{
	const struct cnn_tensor *const t[2] = { a, b }, *y = c->out[0];
	struct binary_call call = { .c = c, .fn = fn };
	int64_t count = cnn_tensor_count(y), row;

	cnn_walk_start(&call.start, y, 2, t);
	row = call.start.row;
	c->finished = last && y->dtype == CNN_FLOAT32 && row >= FINISH_ROW;
	if (row == count)
		cnn_for_blocks(c, count, CNN_BLOCK, part_of_row, &call);
	else if (count)
		cnn_for_blocks(c, count / row, 1 + CNN_BLOCK / row, some_rows, &call);
}

/*
 * b as the broadcasting sees it. Before opset 7 it had to be asked for, and "axis" told where
 * b's axes lie in a.
 */
static int legacy_shape(struct cnn_call *c, struct cnn_tensor *b)
{
	const struct cnn_tensor *a = c->in[0];
	const struct cnn_binary_params *p = &c->node->params.binary;
	int64_t axis = p->axis == CNN_AXIS_NONE ? a->rank - b->rank : p->axis;
	int rank = b->rank;

	if (c->node->opset >= 7)
		return CNN_OK;
	if (!p->broadcast) {
		if (!cnn_tensor_same_shape(a, b))
			return cnn_op_fail(c, CNN_EINVAL, "shapes differ without broadcast");
		return CNN_OK;
	}
	if (axis < 0)
		axis += a->rank;
	if (axis < 0 || axis > a->rank - rank)
		return cnn_op_fail(c, CNN_EINVAL, "axis %lld, limits 0 to %d", (long long)axis,
				   a->rank - rank);
	while (axis + b->rank < a->rank)
		b->dims[b->rank++] = 1;
	return CNN_OK;
}

int cnn_same_types(struct cnn_call *c, cnn_binary_fn *fn)
{
	const struct cnn_tensor *a = c->in[0];

	if (!fn)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(a->dtype));
	for (int i = 1; i < c->n_in; i++)
		if (!c->in[i] || a->dtype != c->in[i]->dtype)
			return cnn_op_fail(c, CNN_EINVAL, "types %s and %s",
					   cnn_dtype_name(a->dtype),
					   c->in[i] ? cnn_dtype_name(c->in[i]->dtype) : "none");
	return CNN_OK;
}

int cnn_infer_binary(struct cnn_call *c)
{
	struct cnn_tensor b = *c->in[1];

	return legacy_shape(c, &b) ?: cnn_same_types(c, binary_of(c->node->op, b.dtype)) ?:
	       cnn_infer_like(c, c->in[0]) ?: cnn_broadcast(c, c->out[0], &b);
}

int cnn_compute_binary(struct cnn_call *c)
{
	struct cnn_tensor b = *c->in[1];
	int ret = legacy_shape(c, &b);

	if (!ret)
		cnn_run_binary(c, binary_of(c->node->op, b.dtype), c->in[0], &b, true);
	return ret;
}

int cnn_infer_compare(struct cnn_call *c)
{
	int ret = cnn_infer_binary(c);

	c->out[0]->dtype = CNN_BOOL;
	return ret;
}

int cnn_infer_broadcast(struct cnn_call *c)
{
	int ret = cnn_infer_like(c, c->in[0]);

	for (int i = 1; !ret && i < c->n_in; i++)
		ret = cnn_broadcast(c, c->out[0], c->in[i]);
	return ret;
}

int cnn_infer_variadic(struct cnn_call *c)
{
	int ret = cnn_same_types(c, binary_of(c->node->op, c->in[0]->dtype));

	return ret ?: cnn_infer_broadcast(c);
}

/* Sums of n inputs to their means. */
static void divide_by(struct cnn_tensor *y, int n)
{
	int64_t count = cnn_tensor_count(y);
	float *f = y->data;
	double *d = y->data;

	for (int64_t i = 0; i < count && y->dtype == CNN_FLOAT32; i++)
		f[i] /= (float)n;
	for (int64_t i = 0; i < count && y->dtype == CNN_FLOAT64; i++)
		d[i] /= n;
}

int cnn_compute_variadic(struct cnn_call *c)
{
	cnn_binary_fn *fn = binary_of(c->node->op, c->in[0]->dtype);
	bool mean = c->node->op == CNN_OP_MEAN;

	if (c->n_in == 1)
		return cnn_compute_copy(c);
	cnn_run_binary(c, fn, c->in[0], c->in[1], c->n_in == 2 && !mean);
	for (int i = 2; i < c->n_in; i++)
		cnn_run_binary(c, fn, c->out[0], c->in[i], i == c->n_in - 1 && !mean);
	if (mean)
		divide_by(c->out[0], c->n_in);
	return CNN_OK;
}

/* Before opset 7 a list of slopes is one per channel. */
static void slope_shape(struct cnn_call *c, struct cnn_tensor *slope)
{
	*slope = *c->in[1];
	if (c->node->opset < 7 && slope->rank == 1 && slope->dims[0] != 1)
		while (slope->rank < c->in[0]->rank - 1)
			slope->dims[slope->rank++] = 1;
}

int cnn_infer_prelu(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0], slope;
	int ret = cnn_same_types(c, binary_of(CNN_OP_PRELU, c->in[0]->dtype));

	slope_shape(c, &slope);
	ret = ret ?: cnn_infer_like(c, c->in[0]) ?: cnn_broadcast(c, y, &slope);
	if (!ret && !cnn_tensor_same_shape(y, c->in[0]))
		return cnn_op_fail(c, CNN_EINVAL, "the slope does not broadcast to the input");
	return ret;
}

int cnn_compute_prelu(struct cnn_call *c)
{
	struct cnn_tensor slope;

	slope_shape(c, &slope);
	cnn_run_binary(c, prelu_f32, c->in[0], &slope, true);
	return CNN_OK;
}

/* Integers wrap; what is not whole or too large is cut off as Cast does. */
static int64_t power_int(int64_t u, double v)
{
	uint64_t r = 1, x = (uint64_t)u;
	int64_t cut;
	double d;

	if (v >= 0 && v < 0x1p53 && v == (double)(int64_t)v) {
		for (uint64_t i = (uint64_t)v; i; i >>= 1, x *= x)
			r *= i & 1 ? x : 1;
		return (int64_t)r;
	}
	d = cnn_pow((double)u, v);
	d = fabs(d) < 0x1p24 ? (double)(float)d : d;	/* roots of squares are whole */
	cnn_cast(CNN_FLOAT64, &d, CNN_INT64, &cut, 1);
	return cut;
}

CNN_CLONES
static void square(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * x[i];
}

static void power_row(enum cnn_dtype t, const struct cnn_walk *w, void *y)
{
	const void *a = w->p[0];
	const double *b = (const double *)w->p[1];

	if (t == CNN_FLOAT32 && w->moves[0] && !w->moves[1] && *b == 2) {
		square(a, y, w->row);
		return;
	}
	for (int64_t i = 0; i < w->row; i++) {
		int64_t at = w->moves[0] ? i : 0;
		double v = b[w->moves[1] ? i : 0];

		if (t == CNN_FLOAT32)
			((float *)y)[i] = (float)cnn_pow(((const float *)a)[at], v);
		else if (t == CNN_INT32)
			((int32_t *)y)[i] = (int32_t)power_int(((const int32_t *)a)[at], v);
		else
			((int64_t *)y)[i] = power_int(((const int64_t *)a)[at], v);
	}
}

int cnn_infer_pow(struct cnn_call *c)
{
	struct cnn_tensor b = *c->in[1];
	int ret = legacy_shape(c, &b) ?: CNN_WANT(c, c->in[0], CNN_FLOAT32, CNN_INT32, CNN_INT64);

	if (!ret && b.dtype == CNN_BOOL)
		ret = cnn_op_fail(c, CNN_EINVAL, "type bool");
	return ret ?: cnn_infer_like(c, c->in[0]) ?: cnn_broadcast(c, c->out[0], &b);
}

int cnn_compute_pow(struct cnn_call *c)
{
	struct cnn_tensor b = *c->in[1], *y = c->out[0];
	const struct cnn_tensor *const t[2] = { c->in[0], &b };
	int64_t left = cnn_tensor_count(y), n = cnn_tensor_count(&b);
	char *py = y->data;
	struct cnn_walk w;
	int ret = legacy_shape(c, &b);

	if (ret || !left)
		return ret;
	b.data = malloc(n * sizeof(double));
	if (!b.data)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	cnn_cast(b.dtype, c->in[1]->data, CNN_FLOAT64, b.data, n);
	b.dtype = CNN_FLOAT64;
	for (cnn_walk_start(&w, y, 2, t); left > 0; left -= w.row, cnn_walk_next(&w)) {
		power_row(y->dtype, &w, py);
		py += w.row * (int64_t)cnn_dtype_size(y->dtype);
	}
	free(b.data);
	return CNN_OK;
}

int cnn_infer_where(struct cnn_call *c)
{
	int ret = CNN_WANT(c, c->in[0], CNN_BOOL);

	if (!ret && c->in[1]->dtype != c->in[2]->dtype)
		ret = cnn_op_fail(c, CNN_EINVAL, "types %s and %s",
				  cnn_dtype_name(c->in[1]->dtype), cnn_dtype_name(c->in[2]->dtype));
	return ret ?: cnn_infer_like(c, c->in[1]) ?: cnn_broadcast(c, c->out[0], c->in[2]) ?:
	       cnn_broadcast(c, c->out[0], c->in[0]);
}

typedef void where_fn(const struct cnn_walk *w, void *y);

#define WHERE(type)								\
static void where_##type(const struct cnn_walk *w, void *py)			\
{										\
	const type *a = (const type *)w->p[1], *b = (const type *)w->p[2];	\
	type *y = py;								\
										\
	for (int64_t i = 0; i < w->row; i++)					\
		y[i] = w->p[0][w->moves[0] ? i : 0] ? a[w->moves[1] ? i : 0] :	\
						      b[w->moves[2] ? i : 0];	\
}

WHERE(uint8_t)
WHERE(uint16_t)
WHERE(uint32_t)
WHERE(uint64_t)

int cnn_compute_where(struct cnn_call *c)
{
	static where_fn *const of_size[] = {
		[1] = where_uint8_t, [2] = where_uint16_t, [4] = where_uint32_t,
		[8] = where_uint64_t,
	};
	const struct cnn_tensor *y = c->out[0];
	int64_t left = cnn_tensor_count(y), size = cnn_dtype_size(y->dtype);
	char *py = y->data;
	struct cnn_walk w;

	cnn_walk_start(&w, y, 3, c->in);
	for (; left > 0; left -= w.row, py += w.row * size, cnn_walk_next(&w))
		of_size[size](&w, py);
	return CNN_OK;
}
