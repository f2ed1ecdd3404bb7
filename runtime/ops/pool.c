// SPDX-License-Identifier: MIT
/* AveragePool, MaxPool, LpPool and their global forms in one, two or three dimensions. */
#include <float.h>
#include <math.h>

#include "geom.h"

/* ONNX has averages of floats only; those of bytes are TensorFlow Lite's. */
int cnn_infer_pool(struct cnn_call *c)
{
	struct cnn_window w;
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32, CNN_INT8, CNN_UINT8, CNN_INT16);

	if (!ret && c->in[0]->dtype != CNN_FLOAT32 && c->node->params.window.count_include_pad)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute count_include_pad with type %s",
				   cnn_dtype_name(c->in[0]->dtype));
	return ret ?: cnn_infer_window(c, NULL, &w);
}

int cnn_infer_lp_pool(struct cnn_call *c)
{
	struct cnn_window w;

	return CNN_WANT(c, c->in[0], CNN_FLOAT32) ?: cnn_infer_window(c, NULL, &w);
}

int cnn_infer_max_pool(struct cnn_call *c)
{
	struct cnn_window w;
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32, CNN_FLOAT64, CNN_INT8, CNN_UINT8,
			   CNN_INT16, CNN_UINT16) ?:
		  cnn_infer_window(c, NULL, &w);

	if (!ret && cnn_out(c, 1))
		cnn_set_shape(c->out[1], CNN_INT64, c->out[0]);
	return ret;
}

struct pool {
	struct cnn_geom g;
	bool count_include_pad, column_major;
	int64_t norm;			/* LpPool */
};

/* The taps of one window that lie in the input, per axis (missing axes in front). */
struct taps {
	int64_t first[3], n[3], step[3];	/* input coordinate of the first, count, distance */
	int64_t padded;				/* taps that lie in the input or its padding */
};

static void window_taps(const struct cnn_geom *g, const int64_t *out, struct taps *t)
{
	t->padded = 1;
	for (int i = g->missing; i < 3; i++) {
		int64_t dil = g->dilation[i], start = out[i] * g->stride[i] - g->pad[i];
		int64_t skip = start < 0 ? (-start + dil - 1) / dil : 0;
		int64_t limit = g->in[i] > start ? (g->in[i] - start - 1) / dil + 1 : 0;
		int64_t wide = (g->in[i] + g->pad_end[i] - start - 1) / dil + 1;

		limit = limit < g->kernel[i] ? limit : g->kernel[i];
		t->first[i] = start + skip * dil;
		t->n[i] = limit > skip ? limit - skip : 0;
		t->step[i] = dil;
		t->padded *= wide < g->kernel[i] ? wide : g->kernel[i];
	}
}

/* One output: y of the plane at x, and where in the tensor a maximum is, if there is an index. */
typedef void pool_fn(const struct pool *p, const void *x, int64_t plane, const struct taps *t,
		     void *y, int64_t *index);

/* To the nearest whole number, halves away from zero. */
static int64_t rounded_quotient(int64_t sum, int64_t count)
{
	if (!count)
		return 0;
	return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

/*
 * What becomes of the sum of a window's terms, each of an element v. Floats in double: a global mean
 * of a large map must not lose digits; bytes exactly.
 */
#define SUM(name, type, wide, term, result)						\
static void name(const struct pool *p, const void *px, int64_t plane,			\
		 const struct taps *t, void *y, int64_t *index)				\
{											\
	const type *x = (const type *)px + plane * p->g.in_plane;			\
	int64_t count = p->count_include_pad ? t->padded : t->n[0] * t->n[1] * t->n[2];	\
	wide sum = 0;									\
											\
	(void)index;									\
	(void)count;									\
	for (int64_t d = 0; d < t->n[0]; d++)						\
		for (int64_t h = 0; h < t->n[1]; h++) {					\
			const type *row = x + ((t->first[0] + d * t->step[0]) * p->g.in[1] +	\
					       t->first[1] + h * t->step[1]) * p->g.in[2] +	\
					  t->first[2];					\
											\
			for (int64_t i = 0; i < t->n[2]; i++) {				\
				type v = row[i * t->step[2]];				\
											\
				sum += term;						\
			}								\
		}									\
	*(type *)y = (type)(result);							\
}

SUM(average_f32, float, double, v, count > 0 ? sum / count : 0)
SUM(average_i8, int8_t, int64_t, v, rounded_quotient(sum, count))
SUM(average_u8, uint8_t, int64_t, v, rounded_quotient(sum, count))
SUM(average_i16, int16_t, int64_t, v, rounded_quotient(sum, count))

static double power(double v, int64_t p)
{
	return p == 1 ? v : p == 2 ? v * v : cnn_pow(v, (double)p);
}

static double root(double v, int64_t p)
{
	return p == 1 ? v : p == 2 ? sqrt(v) : cnn_pow(v, 1 / (double)p);
}

/* Padding adds nothing to a norm. */
SUM(norm_f32, float, double, power(fabs(v), p->norm), root(sum, p->norm))

/* Where tap (d, h, i) lies in the tensor, as MaxPool's second output counts it. */
static int64_t tap_index(const struct pool *p, int64_t plane, int64_t d, int64_t h, int64_t i)
{
	const int64_t *in = p->g.in;

	return plane * p->g.in_plane +
	       (p->column_major ? d + in[0] * (h + in[1] * i) : (d * in[1] + h) * in[2] + i);
}

/* The largest element of a window; NaN is largest. */
#define MAX(suffix, type, lowest)							\
static void max_##suffix(const struct pool *p, const void *px, int64_t plane,		\
			 const struct taps *t, void *py, int64_t *index)		\
{											\
	const type *x = (const type *)px + plane * p->g.in_plane;			\
	type best = lowest;								\
	int64_t at = -1;								\
											\
	for (int64_t d = t->first[0]; d < t->first[0] + t->n[0] * t->step[0]; d += t->step[0])	\
		for (int64_t h = t->first[1]; h < t->first[1] + t->n[1] * t->step[1]; h += t->step[1])	\
			for (int64_t j = 0; j < t->n[2]; j++) {				\
				int64_t i = t->first[2] + j * t->step[2];		\
				type v = x[(d * p->g.in[1] + h) * p->g.in[2] + i];	\
											\
				if (at < 0 || v > best || (v != v && best == best)) {	\
					best = v;					\
					at = tap_index(p, plane, d, h, i);		\
				}							\
			}								\
	*(type *)py = best;								\
	if (index)									\
		*index = at;								\
}

MAX(f32, float, -FLT_MAX)
MAX(f64, double, -DBL_MAX)
MAX(i8, int8_t, INT8_MIN)
MAX(u8, uint8_t, 0)
MAX(i16, int16_t, INT16_MIN)
MAX(u16, uint16_t, 0)

/* Calls fn for each output. */
static int each_window(struct cnn_call *c, pool_fn *fn)
{
	const struct cnn_window_params *params = &c->node->params.window;
	int64_t *indices = cnn_out(c, 1) ? c->out[1]->data : NULL, o[3];
	size_t size = cnn_dtype_size(c->in[0]->dtype);
	struct taps t = { .n = { 1, 1, 1 }, .step = { 1, 1, 1 } };
	char *y = c->out[0]->data;
	struct cnn_window w;
	struct pool p;
	int ret = cnn_window_resolve(c->node, c->in[0], NULL, &w, c->err);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	p = (struct pool){
		cnn_geom_of(&w), params->count_include_pad, params->storage_order, params->p,
	};
	for (int64_t n = 0; n < w.batch * w.out_ch; n++)
		for (o[0] = 0; o[0] < p.g.out[0]; o[0]++)
			for (o[1] = 0; o[1] < p.g.out[1]; o[1]++)
				for (o[2] = 0; o[2] < p.g.out[2]; o[2]++, y += size) {
					window_taps(&p.g, o, &t);
					fn(&p, c->in[0]->data, n, &t, y, indices);
					indices += !!indices;
				}
	return CNN_OK;
}

/* Averages and norms. */
int cnn_compute_average_pool(struct cnn_call *c)
{
	static pool_fn *const fn[] = {
		[CNN_FLOAT32] = average_f32, [CNN_INT8] = average_i8, [CNN_UINT8] = average_u8,
		[CNN_INT16] = average_i16,
	};
	bool norm = c->node->op == CNN_OP_LP_POOL || c->node->op == CNN_OP_GLOBAL_LP_POOL;

	return each_window(c, norm ? norm_f32 : fn[c->in[0]->dtype]);
}

int cnn_compute_max_pool(struct cnn_call *c)
{
	static pool_fn *const fn[] = {
		[CNN_FLOAT32] = max_f32, [CNN_FLOAT64] = max_f64, [CNN_INT8] = max_i8,
		[CNN_UINT8] = max_u8, [CNN_INT16] = max_i16, [CNN_UINT16] = max_u16,
	};

	return each_window(c, fn[c->in[0]->dtype]);
}
