// SPDX-License-Identifier: MIT
/* CumSum and ReverseSequence: operators along an axis that keep the shape. */
#include <string.h>

#include "ops.h"

/* n elements, step apart, step < 0: from the last one; exclusive: each sum without its element. */
typedef void sum_fn(const void *x, void *y, int64_t n, int64_t step, bool exclusive);

/* wide: unsigned for integers, which wrap. */
#define SUMS(name, type, wide)								\
static void sums_##name(const void *px, void *py, int64_t n, int64_t step, bool exclusive)	\
{											\
	const type *x = px;								\
	type *y = py;									\
	wide sum = 0;									\
											\
	for (int64_t i = 0; i < n; i++, x += step, y += step) {				\
		if (exclusive)								\
			*y = (type)sum;							\
		sum += (wide)*x;							\
		if (!exclusive)								\
			*y = (type)sum;							\
	}										\
}

SUMS(f32, float, float)
SUMS(f64, double, double)
SUMS(i32, int32_t, uint32_t)
SUMS(i64, int64_t, uint64_t)
SUMS(u32, uint32_t, uint32_t)
SUMS(u64, uint64_t, uint64_t)

static sum_fn *sums_of(enum cnn_dtype t)
{
	static sum_fn *const fn[] = {
		[CNN_FLOAT32] = sums_f32, [CNN_FLOAT64] = sums_f64, [CNN_INT32] = sums_i32,
		[CNN_INT64] = sums_i64, [CNN_UINT32] = sums_u32, [CNN_UINT64] = sums_u64,
	};

	return t < sizeof(fn) / sizeof(fn[0]) ? fn[t] : NULL;
}

int cnn_infer_cum_sum(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *axis = c->in[1];
	int ret = CNN_WANT(c, axis, CNN_INT64, CNN_INT32);

	if (ret)
		return ret;
	if (!sums_of(x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	if (cnn_tensor_count(axis) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "axis is not one number");
	return cnn_infer_like(c, x);
}

int cnn_compute_cum_sum(struct cnn_call *c)
{
	const struct cnn_cum_sum_params *p = &c->node->params.cum_sum;
	const struct cnn_tensor *x = c->in[0];
	int64_t axis = cnn_int_at(c->in[1], 0), inner = 1, rows, n;
	int64_t size = cnn_dtype_size(x->dtype);
	int ret = cnn_op_axis(c, &axis, x->rank);

	if (ret || !cnn_tensor_count(x))
		return ret;
	n = x->dims[axis];
	for (int i = (int)axis + 1; i < x->rank; i++)
		inner *= x->dims[i];
	rows = cnn_tensor_count(x) / n;
	for (int64_t row = 0; row < rows; row++) {
		int64_t at = row / inner * n * inner + row % inner;

		at += p->reverse ? (n - 1) * inner : 0;
		sums_of(x->dtype)((char *)x->data + at * size, (char *)c->out[0]->data + at * size,
				  n, p->reverse ? -inner : inner, p->exclusive);
	}
	return CNN_OK;
}

int cnn_infer_reverse_sequence(struct cnn_call *c)
{
	const struct cnn_reverse_params *p = &c->node->params.reverse;
	const struct cnn_tensor *x = c->in[0], *lens = c->in[1];
	int ret = CNN_WANT(c, lens, CNN_INT64);

	if (ret)
		return ret;
	if (x->rank < 2 || p->batch_axis < 0 || p->batch_axis > 1 || p->time_axis < 0 ||
	    p->time_axis > 1 || p->batch_axis == p->time_axis)
		return cnn_op_fail(c, CNN_EINVAL, "batch_axis %lld and time_axis %lld are not 0 and 1",
				   (long long)p->batch_axis, (long long)p->time_axis);
	if (lens->rank != 1 || lens->dims[0] != x->dims[p->batch_axis])
		return cnn_op_fail(c, CNN_EINVAL, "sequence_lens is not one number for each batch");
	return cnn_infer_like(c, x);
}

int cnn_compute_reverse_sequence(struct cnn_call *c)
{
	const struct cnn_reverse_params *p = &c->node->params.reverse;
	const struct cnn_tensor *x = c->in[0];
	int64_t batches = x->dims[p->batch_axis], times = x->dims[p->time_axis];
	int64_t run = cnn_dtype_size(x->dtype), batch_step, time_step;
	char *y = c->out[0]->data;

	for (int i = 2; i < x->rank; i++)
		run *= x->dims[i];
	batch_step = (p->batch_axis ? 1 : times) * run;
	time_step = (p->time_axis ? 1 : batches) * run;
	for (int64_t b = 0; b < batches; b++) {
		int64_t len = cnn_int_at(c->in[1], b);

		if (len < 0 || len > times)
			return cnn_op_fail(c, CNN_EINVAL, "sequence_lens[%lld] is %lld, limits 0 to "
					   "%lld", (long long)b, (long long)len, (long long)times);
		for (int64_t t = 0; run && t < times; t++) {
			int64_t from = t < len ? len - 1 - t : t;

			memcpy(y + b * batch_step + t * time_step,
			       (char *)x->data + b * batch_step + from * time_step, run);
		}
	}
	return CNN_OK;
}
