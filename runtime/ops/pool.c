// SPDX-License-Identifier: MIT
/* AveragePool, MaxPool and their global forms in one, two or three dimensions. */
#include <float.h>
#include <string.h>

#include "ops.h"

static int infer_window(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor *y = c->out[0];
	struct cnn_window w;
	int ret = cnn_window_resolve(c->node, x, NULL, &w, c->err);

	if (ret)
		return ret;
	y->dtype = x->dtype;
	y->rank = x->rank;
	y->dims[0] = w.batch;
	y->dims[1] = w.out_ch;
	for (int i = 0; i < w.spatial; i++)
		y->dims[i + 2] = w.out[i];
	return CNN_OK;
}

/* ONNX has averages of floats only; those of bytes are TensorFlow Lite's. */
int cnn_infer_pool(struct cnn_call *c)
{
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32, CNN_INT8, CNN_UINT8);

	if (!ret && c->in[0]->dtype != CNN_FLOAT32 && c->node->params.window.count_include_pad)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute count_include_pad with type %s",
				   cnn_dtype_name(c->in[0]->dtype));
	return ret ?: infer_window(c);
}

int cnn_infer_max_pool(struct cnn_call *c)
{
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32, CNN_FLOAT64, CNN_INT8, CNN_UINT8) ?:
		  infer_window(c);

	if (!ret && cnn_out(c, 1)) {
		struct cnn_tensor *indices = c->out[1];

		indices->dtype = CNN_INT64;
		indices->rank = c->out[0]->rank;
		memcpy(indices->dims, c->out[0]->dims, sizeof(indices->dims));
	}
	return ret;
}

/* The taps of one window that lie in the input, per axis (missing axes in front). */
struct taps {
	int64_t first[3], n[3], step[3];	/* input coordinate of the first, count, distance */
	int64_t padded;				/* taps that lie in the input or its padding */
};

static void axis_taps(const struct cnn_window *w, int i, int64_t out, int64_t *first, int64_t *n,
		      int64_t *padded)
{
	int64_t dil = w->dilation[i], start = out * w->stride[i] - w->pad_begin[i];
	int64_t skip = start < 0 ? (-start + dil - 1) / dil : 0;
	int64_t limit = w->in[i] > start ? (w->in[i] - start - 1) / dil + 1 : 0;
	int64_t wide = (w->in[i] + w->pad_end[i] - start - 1) / dil + 1;

	*first = start + skip * dil;
	if (limit > w->kernel[i])
		limit = w->kernel[i];
	*n = limit > skip ? limit - skip : 0;
	*padded = wide < w->kernel[i] ? wide : w->kernel[i];
}

static void window_taps(const struct cnn_window *w, const int64_t *out, struct taps *t)
{
	t->padded = 1;
	for (int i = 0; i < 3; i++) {
		int s = i - (3 - w->spatial);
		int64_t padded;

		t->first[i] = 0;
		t->n[i] = 1;
		t->step[i] = 1;
		if (s < 0)
			continue;
		t->step[i] = w->dilation[s];
		axis_taps(w, s, out[i], &t->first[i], &t->n[i], &padded);
		t->padded *= padded;
	}
}

struct pool {
	struct cnn_window w;
	int64_t in[3], out[3], in_plane;
	bool column_major;
};

static int make_pool(struct cnn_call *c, struct pool *p)
{
	int ret = cnn_window_resolve(c->node, c->in[0], NULL, &p->w, c->err);

	p->in_plane = 1;
	for (int i = 0; i < 3; i++) {
		int s = i - (3 - p->w.spatial);

		p->in[i] = s < 0 ? 1 : p->w.in[s];
		p->out[i] = s < 0 ? 1 : p->w.out[s];
		p->in_plane *= p->in[i];
	}
	p->column_major = c->node->params.window.storage_order;
	return ret;
}

/*
 * The sum of a window. Floats in double: a global mean of a large map must not lose digits; bytes
 * exactly.
 */
#define SUM(suffix, type, wide)								\
static wide sum_##suffix(const struct pool *p, const type *x, const struct taps *t)	\
{											\
	wide sum = 0;									\
											\
	for (int64_t d = 0; d < t->n[0]; d++)						\
		for (int64_t h = 0; h < t->n[1]; h++) {					\
			const type *row = x + ((t->first[0] + d * t->step[0]) * p->in[1] +	\
					       t->first[1] + h * t->step[1]) * p->in[2] +	\
					  t->first[2];					\
											\
			for (int64_t i = 0; i < t->n[2]; i++)				\
				sum += row[i * t->step[2]];				\
		}									\
	return sum;									\
}

SUM(f32, float, double)
SUM(i8, int8_t, int64_t)
SUM(u8, uint8_t, int64_t)

static void average_float(const struct pool *p, const void *x, int64_t at, const struct taps *t,
			  void *y)
{
	int64_t count = p->w.count_include_pad ? t->padded : t->n[0] * t->n[1] * t->n[2];
	double sum = sum_f32(p, (const float *)x + at, t);

	*(float *)y = count > 0 ? (float)(sum / count) : 0;
}

/* To the nearest whole number, halves away from zero. */
static int64_t rounded_quotient(int64_t sum, int64_t count)
{
	if (!count)
		return 0;
	return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

static void average_i8(const struct pool *p, const void *x, int64_t at, const struct taps *t,
		       void *y)
{
	*(int8_t *)y = (int8_t)rounded_quotient(sum_i8(p, (const int8_t *)x + at, t),
						t->n[0] * t->n[1] * t->n[2]);
}

static void average_u8(const struct pool *p, const void *x, int64_t at, const struct taps *t,
		       void *y)
{
	*(uint8_t *)y = (uint8_t)rounded_quotient(sum_u8(p, (const uint8_t *)x + at, t),
						  t->n[0] * t->n[1] * t->n[2]);
}

int cnn_compute_average_pool(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	size_t size = cnn_dtype_size(x->dtype);
	char *y = c->out[0]->data;
	int64_t planes, o[3];
	struct pool p;
	struct taps t;
	int ret = make_pool(c, &p);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	planes = p.w.batch * p.w.out_ch;
	for (int64_t n = 0; n < planes; n++)
		for (o[0] = 0; o[0] < p.out[0]; o[0]++)
			for (o[1] = 0; o[1] < p.out[1]; o[1]++)
				for (o[2] = 0; o[2] < p.out[2]; o[2]++, y += size) {
					window_taps(&p.w, o, &t);
					(x->dtype == CNN_FLOAT32 ? average_float :
					 x->dtype == CNN_INT8 ? average_i8 : average_u8)
						(&p, x->data, n * p.in_plane, &t, y);
				}
	return CNN_OK;
}

/* Where tap (d, h, i) lies in the tensor, as MaxPool's second output counts it. */
static int64_t tap_index(const struct pool *p, int64_t plane, int64_t d, int64_t h, int64_t i)
{
	if (p->column_major)
		return plane * p->in_plane + d + p->in[0] * (h + p->in[1] * i);
	return plane * p->in_plane + (d * p->in[1] + h) * p->in[2] + i;
}

/* Each defines max_TYPE(): the largest element of a window and where it is; NaN is largest. */
#define MAX(suffix, type, lowest)							\
static void max_##suffix(const struct pool *p, const void *px, int64_t plane,		\
			 const struct taps *t, void *py, int64_t *index)		\
{											\
	const type *x = (const type *)px + plane * p->in_plane;				\
	type best = lowest;								\
	int64_t at = -1;								\
											\
	for (int64_t d = t->first[0]; d < t->first[0] + t->n[0] * t->step[0]; d += t->step[0])	\
		for (int64_t h = t->first[1]; h < t->first[1] + t->n[1] * t->step[1]; h += t->step[1])	\
			for (int64_t j = 0; j < t->n[2]; j++) {				\
				int64_t i = t->first[2] + j * t->step[2];		\
				type v = x[(d * p->in[1] + h) * p->in[2] + i];		\
											\
				if (at < 0 || v > best || (v != v && best == best)) {	\
					best = v;					\
					at = tap_index(p, plane, d, h, i);		\
				}							\
			}								\
	*(type *)py = best;								\
	*index = at;									\
}

MAX(f32, float, -FLT_MAX)
MAX(f64, double, -DBL_MAX)
MAX(i8, int8_t, INT8_MIN)
MAX(u8, uint8_t, 0)

typedef void max_fn(const struct pool *p, const void *x, int64_t plane, const struct taps *t,
		    void *y, int64_t *index);

int cnn_compute_max_pool(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	max_fn *fn = x->dtype == CNN_FLOAT32 ? max_f32 : x->dtype == CNN_FLOAT64 ? max_f64 :
		     x->dtype == CNN_INT8 ? max_i8 : max_u8;
	int64_t *indices = cnn_out(c, 1) ? c->out[1]->data : NULL, index, o[3], planes;
	size_t size = cnn_dtype_size(x->dtype);
	char *y = c->out[0]->data;
	struct pool p;
	struct taps t;
	int ret = make_pool(c, &p);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	planes = p.w.batch * p.w.out_ch;
	for (int64_t n = 0; n < planes; n++)
		for (o[0] = 0; o[0] < p.out[0]; o[0]++)
			for (o[1] = 0; o[1] < p.out[1]; o[1]++)
				for (o[2] = 0; o[2] < p.out[2]; o[2]++, y += size) {
					window_taps(&p.w, o, &t);
					fn(&p, x->data, n, &t, y, &index);
					if (indices)
						*indices++ = index;
				}
	return CNN_OK;
}
