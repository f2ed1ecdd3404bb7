// SPDX-License-Identifier: MIT
/* ReduceMean and its like, ArgMax and ArgMin. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scalar.h"

/* Which axes go: the set bits. */
static int reduced_axes(struct cnn_call *c, unsigned int *set)
{
	const struct cnn_reduce_params *p = &c->node->params.reduce;
	int rank = c->in[0]->rank;
	struct cnn_ints axes;
	int ret = cnn_op_ints(c, "axes", &p->axes, 1, CNN_MAX_RANK, &axes);

	*set = 0;
	for (int i = 0; !ret && i < axes.n; i++) {
		ret = cnn_op_axis(c, &axes.v[i], rank);
		if (!ret)
			*set |= 1u << axes.v[i];
	}
	if (axes.n <= 0 && !p->noop_with_empty_axes)
		*set = (1u << rank) - 1;
	return ret;
}

typedef void reduce_fn(void *acc, const void *x, int64_t n, bool along);

/*
 * Takes a row of x into accumulators (double or 64-bit integers): along the row if its axis
 * stays, else all into one. expr makes the new accumulator from a and the element v.
 */
#define REDUCE(name, type, wide, expr)						\
static void name(void *pacc, const void *px, int64_t n, bool along)		\
{										\
	const type *x = px;							\
	wide *acc = pacc, a = acc[0];						\
										\
	for (int64_t i = 0; along && i < n; i++) {				\
		wide v = (wide)x[i];						\
										\
		a = acc[i];							\
		acc[i] = (expr);						\
	}									\
	for (int64_t i = 0; !along && i < n; i++) {				\
		wide v = (wide)x[i];						\
										\
		a = (expr);							\
	}									\
	if (!along)								\
		acc[0] = a;							\
}

#define REDUCE_ARITHMETIC(suffix, type, wide)		\
	REDUCE(sum_##suffix, type, wide, a + v)		\
	REDUCE(product_##suffix, type, wide, a * v)	\
	REDUCE(squares_##suffix, type, wide, a + v * v)
#define REDUCE_ORDER(suffix, type, wide)			\
	REDUCE(max_##suffix, type, wide, v > a || v != v ? v : a)	\
	REDUCE(min_##suffix, type, wide, v < a || v != v ? v : a)

REDUCE_ARITHMETIC(f32, float, double)
REDUCE_ARITHMETIC(f64, double, double)
REDUCE_ARITHMETIC(i32, int32_t, uint64_t)
REDUCE_ARITHMETIC(i64, int64_t, uint64_t)
REDUCE_ORDER(f32, float, double)
REDUCE_ORDER(f64, double, double)
REDUCE_ORDER(i32, int32_t, int64_t)
REDUCE_ORDER(i64, int64_t, int64_t)
REDUCE_ORDER(i8, int8_t, int64_t)
REDUCE_ORDER(u8, uint8_t, int64_t)
REDUCE(absolute_f32, float, double, a + fabs(v))
REDUCE(absolute_f64, double, double, a + fabs(v))
REDUCE(absolute_i32, int32_t, uint64_t, a + ((int64_t)v < 0 ? 0 - v : v))
REDUCE(absolute_i64, int64_t, uint64_t, a + ((int64_t)v < 0 ? 0 - v : v))

/* ln(exp(a) + exp(v)): no sum of exponentials overflows. */
static double log_add(double a, double v)
{
	double max = a > v ? a : v, min = a > v ? v : a;

	if (a != a || v != v)
		return NAN;
	if (max == INFINITY || min == -INFINITY)
		return max;
	return max + cnn_ln(1 + exp_double(exp_range(min - max)));
}

REDUCE(log_exps_f32, float, double, log_add(a, v))
REDUCE(log_exps_f64, double, double, log_add(a, v))

static reduce_fn *reduce_of(enum cnn_op op, enum cnn_dtype t)
{
	static reduce_fn *const fn[CNN_OP_COUNT][CNN_UINT64 + 1] = {
#define BY_TYPE(name)							\
	{ [CNN_FLOAT32] = name##_f32, [CNN_FLOAT64] = name##_f64,	\
	  [CNN_INT32] = name##_i32, [CNN_INT64] = name##_i64 }
		[CNN_OP_REDUCE_L1] = BY_TYPE(absolute),
		[CNN_OP_REDUCE_L2] = BY_TYPE(squares),
		[CNN_OP_REDUCE_LOG_SUM] = { [CNN_FLOAT32] = sum_f32, [CNN_FLOAT64] = sum_f64 },
		[CNN_OP_REDUCE_LOG_SUM_EXP] = { [CNN_FLOAT32] = log_exps_f32,
						[CNN_FLOAT64] = log_exps_f64 },
		[CNN_OP_REDUCE_MEAN] = BY_TYPE(sum),
		[CNN_OP_REDUCE_PROD] = BY_TYPE(product),
		[CNN_OP_REDUCE_SUM] = BY_TYPE(sum),
		[CNN_OP_REDUCE_SUM_SQUARE] = BY_TYPE(squares),
		[CNN_OP_REDUCE_MAX] = BY_TYPE(max),
		[CNN_OP_REDUCE_MIN] = BY_TYPE(min),
#undef BY_TYPE
		[CNN_OP_REDUCE_MAX][CNN_INT8] = max_i8, [CNN_OP_REDUCE_MAX][CNN_UINT8] = max_u8,
		[CNN_OP_REDUCE_MIN][CNN_INT8] = min_i8, [CNN_OP_REDUCE_MIN][CNN_UINT8] = min_u8,
	};

	return t <= CNN_UINT64 ? fn[op][t] : NULL;
}

/* The axes of x that are not in the set, and with keep an axis of 1 for each that is. */
static void reduce_shape(const struct cnn_tensor *x, unsigned int set, bool keep,
			 struct cnn_tensor *y)
{
	y->rank = 0;
	for (int i = 0; i < x->rank; i++)
		if (keep || !(set & 1u << i))
			y->dims[y->rank++] = set & 1u << i ? 1 : x->dims[i];
}

int cnn_infer_reduce(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	unsigned int set;
	int ret = reduced_axes(c, &set);

	if (ret)
		return ret;
	if (!reduce_of(c->node->op, x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	reduce_shape(x, set, c->node->params.reduce.keepdims, c->out[0]);
	c->out[0]->dtype = x->dtype;
	return CNN_OK;
}

/* acc: 8 bytes for each element that stays. */
static void reduce_rows(reduce_fn *fn, const struct cnn_tensor *x, unsigned int set, int64_t *acc)
{
	struct cnn_tensor to = { .dtype = CNN_INT64, .data = acc };
	const struct cnn_tensor *const t[] = { x, &to };
	int64_t left = cnn_tensor_count(x);
	struct cnn_walk w;

	reduce_shape(x, set, true, &to);
	for (cnn_walk_start(&w, x, 2, t); left > 0; left -= w.row, cnn_walk_next(&w))
		fn((void *)w.p[1], w.p[0], w.row, w.moves[1]);
}

static bool is_real(enum cnn_dtype t)
{
	return t == CNN_FLOAT32 || t == CNN_FLOAT64;
}

/* What an accumulator holds before the first element. */
static void reduce_start(enum cnn_op op, enum cnn_dtype t, int64_t *acc, int64_t n)
{
	bool lowest = op == CNN_OP_REDUCE_MAX || op == CNN_OP_REDUCE_LOG_SUM_EXP;
	double first = op == CNN_OP_REDUCE_PROD ? 1 : lowest ? -INFINITY :
		       op == CNN_OP_REDUCE_MIN ? INFINITY : 0;
	int64_t whole = op == CNN_OP_REDUCE_PROD ? 1 : op == CNN_OP_REDUCE_MAX ? INT64_MIN :
			op == CNN_OP_REDUCE_MIN ? INT64_MAX : 0;

	if (is_real(t))
		memcpy(&whole, &first, sizeof(whole));
	for (int64_t i = 0; i < n; i++)
		memcpy(&acc[i], &whole, sizeof(whole));
}

static double finish_real(enum cnn_op op, double v, int64_t per)
{
	if (op == CNN_OP_REDUCE_LOG_SUM)
		return cnn_ln(v);
	return op == CNN_OP_REDUCE_MEAN ? v / (double)per : sqrt(v);
}

/* Means, roots and logarithms of the accumulators; per elements went into each. */
static void reduce_end(enum cnn_op op, enum cnn_dtype t, int64_t *acc, int64_t n, int64_t per)
{
	bool real = is_real(t);

	if (op != CNN_OP_REDUCE_MEAN && op != CNN_OP_REDUCE_L2 && op != CNN_OP_REDUCE_LOG_SUM)
		return;
	for (int64_t i = 0; i < n; i++) {
		int64_t whole;
		double v;

		memcpy(&v, &acc[i], sizeof(v));
		memcpy(&whole, &acc[i], sizeof(whole));
		if (!real && op == CNN_OP_REDUCE_MEAN) {
			whole = per ? whole / per : 0;
		} else {
			v = finish_real(op, real ? v : (double)whole, per);
			cnn_cast(CNN_FLOAT64, &v, real ? CNN_FLOAT64 : CNN_INT64, &whole, 1);
		}
		memcpy(&acc[i], &whole, sizeof(whole));
	}
}

int cnn_compute_reduce(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	bool real = is_real(x->dtype);
	int64_t count = cnn_tensor_count(y), per = 1, *acc;
	enum cnn_op op = c->node->op;
	unsigned int set;
	int ret = reduced_axes(c, &set);

	if (ret || !count)
		return ret;
	for (int i = 0; i < x->rank; i++)
		per *= set & 1u << i ? x->dims[i] : 1;
	if (!per && !real && (op == CNN_OP_REDUCE_MAX || op == CNN_OP_REDUCE_MIN))
		return cnn_op_fail(c, CNN_EINVAL, "no elements to choose from");
	acc = malloc(count * sizeof(*acc));
	if (!acc)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	reduce_start(op, x->dtype, acc, count);
	reduce_rows(reduce_of(op, x->dtype), x, set, acc);
	reduce_end(op, x->dtype, acc, count, per);
	cnn_cast(real ? CNN_FLOAT64 : CNN_INT64, acc, y->dtype, y->data, count);
	free(acc);
	return CNN_OK;
}

/* Along n elements, step apart; the first NaN wins. later: of equal ones, the last. */
#define ARG(suffix, type)								\
static int64_t arg_##suffix(const void *px, int64_t n, int64_t step, bool min, bool later)	\
{											\
	const type *x = px;								\
	int64_t best = 0;								\
											\
	for (int64_t i = 1; i < n; i++) {						\
		type v = x[i * step], b = x[best * step];				\
											\
		if ((min ? v < b : v > b) || (later && v == b) || (v != v && b == b))	\
			best = i;							\
	}										\
	return best;									\
}

ARG(f32, float)
ARG(f64, double)
ARG(i32, int32_t)
ARG(i64, int64_t)
ARG(i8, int8_t)
ARG(u8, uint8_t)

typedef int64_t arg_fn(const void *x, int64_t n, int64_t step, bool min, bool later);

static arg_fn *arg_of(enum cnn_dtype t)
{
	static arg_fn *const fn[] = {
		[CNN_FLOAT32] = arg_f32, [CNN_FLOAT64] = arg_f64, [CNN_INT32] = arg_i32,
		[CNN_INT64] = arg_i64, [CNN_INT8] = arg_i8, [CNN_UINT8] = arg_u8,
	};

	return t < sizeof(fn) / sizeof(fn[0]) ? fn[t] : NULL;
}

int cnn_infer_arg(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis = c->node->params.axis.axis;
	int ret = cnn_op_axis(c, &axis, x->rank);

	if (ret)
		return ret;
	if (!arg_of(x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	reduce_shape(x, 1u << axis, c->node->params.axis.keepdims, c->out[0]);
	c->out[0]->dtype = CNN_INT64;
	return CNN_OK;
}

int cnn_compute_arg(struct cnn_call *c)
{
	bool min = c->node->op == CNN_OP_ARG_MIN;
	bool later = c->node->params.axis.select_last_index;
	int64_t axis = c->node->params.axis.axis, inner, n;
	const struct cnn_tensor *x = c->in[0];
	int64_t count = cnn_tensor_count(c->out[0]), *y = c->out[0]->data;
	size_t size = cnn_dtype_size(x->dtype);
	int ret = cnn_op_axis(c, &axis, x->rank);

	if (ret || !count)
		return ret;
	n = x->dims[axis];
	if (!n)
		return cnn_op_fail(c, CNN_EINVAL, "no elements to choose from");
	inner = cnn_span(x, axis + 1, x->rank);
	for (int64_t i = 0; i < count; i++)
		y[i] = arg_of(x->dtype)((char *)x->data +
					(i / inner * n * inner + i % inner) * size, n, inner, min,
					later);
	return CNN_OK;
}
