// SPDX-License-Identifier: MIT
/* ReduceMean, Softmax and BatchNormalization. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* ---- ReduceMean ------------------------------------------------------------------------- */

/* Which axes go: the set bits. */
static int reduced_axes(struct cnn_call *c, unsigned int *set)
{
	int rank = c->in[0]->rank, n = 0;
	int64_t axes[CNN_MAX_RANK];
	int ret = cnn_op_ints(c, "axes", 1, axes, CNN_MAX_RANK, &n);

	*set = 0;
	for (int i = 0; !ret && i < n; i++) {
		ret = cnn_op_axis(c, &axes[i], rank);
		if (!ret)
			*set |= 1u << axes[i];
	}
	if (n <= 0 && !cnn_node_int(c->node, "noop_with_empty_axes", 0))
		*set = (1u << rank) - 1;
	return ret;
}

int cnn_infer_reduce(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	bool keep = cnn_node_int(c->node, "keepdims", 1);
	struct cnn_tensor *y = c->out[0];
	unsigned int set;
	int ret = CNN_WANT(c, x, CNN_FLOAT32, CNN_FLOAT64, CNN_INT32, CNN_INT64);

	if (!ret)
		ret = reduced_axes(c, &set);
	if (ret)
		return ret;
	y->dtype = x->dtype;
	y->rank = 0;
	for (int i = 0; i < x->rank; i++) {
		if (!(set & 1u << i))
			y->dims[y->rank++] = x->dims[i];
		else if (keep)
			y->dims[y->rank++] = 1;
	}
	return CNN_OK;
}

/* Distance in the output of neighbours along each input axis: 0 along a reduced one. */
static void reduce_strides(const struct cnn_tensor *x, unsigned int set, int64_t *strides)
{
	int64_t s = 1;

	for (int i = x->rank - 1; i >= 0; i--) {
		strides[i] = set & 1u << i ? 0 : s;
		s *= set & 1u << i ? 1 : x->dims[i];
	}
}

#define SUM(suffix, type, wide)								\
static void sum_##suffix(const struct cnn_tensor *x, const int64_t *strides, wide *acc)	\
{											\
	int64_t at[CNN_MAX_RANK] = { 0 }, count = cnn_tensor_count(x), o = 0;		\
	const type *p = x->data;							\
											\
	for (int64_t i = 0; i < count; i++) {						\
		acc[o] += (wide)p[i];							\
		for (int a = x->rank - 1; a >= 0; a--) {				\
			o += strides[a];						\
			if (++at[a] < x->dims[a])					\
				break;							\
			o -= strides[a] * x->dims[a];					\
			at[a] = 0;							\
		}									\
	}										\
}

SUM(f32, float, double)
SUM(f64, double, double)
SUM(i32, int32_t, uint64_t)
SUM(i64, int64_t, uint64_t)

/* acc holds doubles or, for integer types, 64-bit sums that wrap. */
static void sum(const struct cnn_tensor *x, const int64_t *strides, void *acc)
{
	switch (x->dtype) {
	case CNN_FLOAT32:
		sum_f32(x, strides, acc);
		break;
	case CNN_FLOAT64:
		sum_f64(x, strides, acc);
		break;
	case CNN_INT32:
		sum_i32(x, strides, acc);
		break;
	default:
		sum_i64(x, strides, acc);
		break;
	}
}

static void store_mean(const struct cnn_tensor *y, const void *acc, int64_t count, int64_t per)
{
	for (int64_t i = 0; i < count; i++) {
		double mean = ((const double *)acc)[i] / (double)per;
		int64_t whole = per ? ((const int64_t *)acc)[i] / per : 0;

		switch (y->dtype) {
		case CNN_FLOAT32:
			((float *)y->data)[i] = (float)mean;
			break;
		case CNN_FLOAT64:
			((double *)y->data)[i] = mean;
			break;
		case CNN_INT32:
			((int32_t *)y->data)[i] = (int32_t)whole;
			break;
		default:
			((int64_t *)y->data)[i] = whole;
			break;
		}
	}
}

int cnn_compute_reduce_mean(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t strides[CNN_MAX_RANK], count = cnn_tensor_count(y), per = 1;
	unsigned int set;
	void *acc;
	int ret = reduced_axes(c, &set);

	if (ret || !count)
		return ret;
	acc = calloc(count, sizeof(double));
	if (!acc)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	for (int i = 0; i < x->rank; i++)
		per *= set & 1u << i ? x->dims[i] : 1;
	reduce_strides(x, set, strides);
	sum(x, strides, acc);
	store_mean(y, acc, count, per);
	free(acc);
	return CNN_OK;
}

/* ---- Softmax ---------------------------------------------------------------------------- */

int cnn_infer_softmax(struct cnn_call *c)
{
	int64_t axis = cnn_node_int(c->node, "axis", c->node->opset < 13 ? 1 : -1);
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	/* Before opset 13 axis could be the rank: rows of one element. */
	if (!ret && (c->node->opset >= 13 || axis != c->in[0]->rank))
		ret = cnn_op_axis(c, &axis, c->in[0]->rank);
	return ret ? ret : cnn_infer_like(c, c->in[0]);
}

/* n elements, step apart. */
static void softmax_row(const float *x, float *y, int64_t n, int64_t step)
{
	float max = -INFINITY;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		if (x[i * step] > max)
			max = x[i * step];
	for (int64_t i = 0; i < n; i++) {
		y[i * step] = cnn_expf(x[i * step] - max);
		sum += y[i * step];
	}
	for (int64_t i = 0; i < n; i++)
		y[i * step] = (float)(y[i * step] / sum);
}

int cnn_compute_softmax(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	bool flat = c->node->opset < 13;
	int64_t axis = cnn_node_int(c->node, "axis", flat ? 1 : -1), outer = 1, n = 1, inner = 1;
	float *y = c->out[0]->data;

	if (!cnn_tensor_count(x))
		return CNN_OK;
	axis += axis < 0 ? x->rank : 0;
	for (int i = 0; i < x->rank; i++) {
		if (i < axis)
			outer *= x->dims[i];
		else if (i == axis || flat)
			n *= x->dims[i];
		else
			inner *= x->dims[i];
	}
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < inner; i++)
			softmax_row((float *)x->data + o * n * inner + i, y + o * n * inner + i, n,
				    inner);
	return CNN_OK;
}

/* ---- BatchNormalization (inference) ----------------------------------------------------- */

static bool training(const struct cnn_node *n)
{
	if (n->opset < 7)
		return !cnn_node_int(n, "is_test", 0);
	return cnn_node_int(n, "training_mode", 0);
}

int cnn_infer_batch_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (ret)
		return ret;
	if (training(c->node))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute training_mode");
	if (!cnn_node_int(c->node, "spatial", 1))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute spatial 0");
	for (int i = 1; i < c->n_out; i++)
		if (c->out[i])
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "output %d belongs to training", i);
	for (int i = 1; i < 5; i++) {
		if (c->in[i]->dtype != x->dtype)
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "input %d: type %s", i,
					   cnn_dtype_name(c->in[i]->dtype));
		if (c->in[i]->rank != 1 || c->in[i]->dims[0] != (x->rank > 1 ? x->dims[1] : 1))
			return cnn_op_fail(c, CNN_EINVAL, "input %d is not one number per channel",
					   i);
	}
	return cnn_infer_like(c, x);
}

CNN_CLONES
static void normalize(const float *x, float *y, int64_t n, float mean, float factor, float bias)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) * factor + bias;
}

int cnn_compute_batch_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	const float *scale = c->in[1]->data, *bias = c->in[2]->data;
	const float *mean = c->in[3]->data, *var = c->in[4]->data, *src = x->data;
	float epsilon = cnn_node_float(c->node, "epsilon", 1e-5f), *dst = c->out[0]->data;
	int64_t channels = x->rank > 1 ? x->dims[1] : 1, n = 1;

	if (!cnn_tensor_count(x))
		return CNN_OK;
	for (int i = 2; i < x->rank; i++)
		n *= x->dims[i];
	for (int64_t b = 0; b < (x->rank ? x->dims[0] : 1); b++)
		for (int64_t ch = 0; ch < channels; ch++, src += n, dst += n)
			normalize(src, dst, n, mean[ch], scale[ch] / sqrtf(var[ch] + epsilon),
				  bias[ch]);
	return CNN_OK;
}
