// SPDX-License-Identifier: MIT
/* GridSample: maps read at the places that a grid names, with up to three spatial axes. */
#include <math.h>
#include <string.h>

#include "ops.h"

#define MAX_TAPS	64	/* 4 along each axis */

/* Elements of a map, and their weights, that make one element of the output. */
struct taps {
	int n;
	int64_t at[MAX_TAPS];
	float weight[MAX_TAPS];
};

/* The elements along one axis: at -1 is the padding with zeros. */
struct axis_taps {
	int n;
	int64_t at[4];
	float weight[4];
};

static int spatial_axes(const struct cnn_call *c)
{
	return c->in[0]->rank - 2;
}

int cnn_infer_grid_sample(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *grid = c->in[1];
	int ret = CNN_WANT(c, x, CNN_FLOAT32), n = spatial_axes(c);

	if (!ret)
		ret = CNN_WANT(c, grid, CNN_FLOAT32);
	if (ret)
		return ret;
	if (n < 1 || n > CNN_MAX_SPATIAL)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "%d spatial axes, limits 1 to %d", n,
				   CNN_MAX_SPATIAL);
	if (grid->rank != x->rank || grid->dims[0] != x->dims[0] || grid->dims[n + 1] != n)
		return cnn_op_fail(c, CNN_EINVAL, "grid does not have %d coordinates for each "
				   "place of each batch", n);
	cnn_infer_like(c, x);
	memcpy(c->out[0]->dims + 2, grid->dims + 1, sizeof(grid->dims[0]) * n);
	if (cnn_tensor_count(c->out[0]) > 0 && !cnn_tensor_count(x))
		return cnn_op_fail(c, CNN_EINVAL, "the maps are empty");
	return CNN_OK;
}

/* Reflects v at the ends of the range as often as it takes. */
static float reflect(float v, float least, float most)
{
	double range = (double)most - (double)least, over, rest;
	bool odd;

	if (v >= least && v <= most)
		return v;
	if (range <= 0)
		return least;
	over = v < least ? (double)least - (double)v : (double)v - (double)most;
	odd = (int64_t)(over / range) & 1;
	rest = over - (double)(int64_t)(over / range) * range;
	return (float)((v < least) != odd ? (double)least + rest : (double)most - rest);
}

/* The element that stands for element i of dim, -1 for zero. */
static int64_t pad(const struct cnn_grid_sample_params *p, int64_t i, int64_t dim)
{
	float edge = p->align_corners ? 0 : 0.5f;

	if (i >= 0 && i < dim)
		return i;
	if (p->padding == CNN_GRID_ZEROS)
		return -1;
	if (p->padding == CNN_GRID_REFLECTION)
		i = (int64_t)reflect((float)i, -edge, (float)dim - 1 + edge);
	return i < 0 ? 0 : i >= dim ? dim - 1 : i;
}

static bool is_cubic(const struct cnn_grid_sample_params *p)
{
	return p->mode == CNN_GRID_BICUBIC || p->mode == CNN_GRID_CUBIC;
}

/* From -1..1 to elements; far outside, the same for all, so that it is a small whole number. */
static float place(const struct cnn_grid_sample_params *p, float v, int64_t dim)
{
	const float far = 0x1p30f;
	float least = p->align_corners ? 0 : -0.5f, most = (float)dim - 1 - least;

	v = p->align_corners ? (v + 1) / 2 * (float)(dim - 1) : ((v + 1) * (float)dim - 1) / 2;
	v = v > -far ? v : -far;	/* NaN, too */
	v = v < far ? v : far;
	/* Of a cubic each element is padded. */
	if (is_cubic(p))
		return v;
	if (p->padding == CNN_GRID_BORDER)
		return v < 0 ? 0 : v > (float)(dim - 1) ? (float)(dim - 1) : v;
	return p->padding == CNN_GRID_REFLECTION ? reflect(v, least, most) : v;
}

static float to_even(float v)
{
	float whole = floorf(v), rest = v - whole;
	bool odd = (int64_t)whole & 1;

	return rest > 0.5f || (rest == 0.5f && odd) ? whole + 1 : whole;
}

/* Weights of the elements at -1, 0, 1 and 2 for a place t beyond element 0. */
static void cubic(float t, float *w)
{
	const float a = -0.75f;
	float d[4] = { t + 1, t, 1 - t, 2 - t };

	for (int i = 0; i < 4; i++)
		w[i] = i == 1 || i == 2 ? ((a + 2) * d[i] - (a + 3)) * d[i] * d[i] + 1 :
					  ((a * d[i] - 5 * a) * d[i] + 8 * a) * d[i] - 4 * a;
}

static void axis_taps(const struct cnn_grid_sample_params *p, float v, int64_t dim,
		      struct axis_taps *t)
{
	float whole;
	int64_t first;

	v = place(p, v, dim);
	whole = p->mode == CNN_GRID_NEAREST ? to_even(v) : floorf(v);
	first = (int64_t)whole;
	t->n = 1;
	t->weight[0] = 1;
	if (is_cubic(p)) {
		t->n = 4;
		cubic(v - whole, t->weight);
		first--;
	} else if (p->mode != CNN_GRID_NEAREST) {
		t->n = 2;
		t->weight[1] = v - whole;
		t->weight[0] = 1 - t->weight[1];
	}
	for (int i = 0; i < t->n; i++)
		t->at[i] = pad(p, first + i, dim);
}

/* All combinations of one element along each axis. */
static void combine(const struct axis_taps *axes, int n, const int64_t *strides, struct taps *t)
{
	*t = (struct taps){ .n = 1, .weight = { 1 } };
	for (int a = 0; a < n; a++) {
		struct taps old = *t;

		t->n = 0;
		for (int i = 0; i < old.n; i++)
			for (int k = 0; k < axes[a].n; k++) {
				if (axes[a].at[k] < 0)
					continue;
				t->at[t->n] = old.at[i] + axes[a].at[k] * strides[a];
				t->weight[t->n++] = old.weight[i] * axes[a].weight[k];
			}
	}
}

/* The place that a grid names, x first, in one batch: one element of every channel. */
static void sample(const struct cnn_call *c, const float *grid, const float *x, float *y,
		   const int64_t *planes)
{
	const struct cnn_tensor *in = c->in[0];
	int64_t strides[CNN_MAX_RANK];
	struct axis_taps axes[CNN_MAX_SPATIAL];
	int n = spatial_axes(c);
	struct taps t;

	cnn_strides(in, strides);
	for (int a = 0; a < n; a++)
		axis_taps(&c->node->params.grid_sample, grid[n - 1 - a], in->dims[a + 2], &axes[a]);
	combine(axes, n, strides + 2, &t);
	for (int64_t ch = 0; ch < in->dims[1]; ch++) {
		double sum = 0;

		for (int i = 0; i < t.n; i++)
			sum += (double)t.weight[i] * (double)x[ch * planes[0] + t.at[i]];
		y[ch * planes[1]] = (float)sum;
	}
}

int cnn_compute_grid_sample(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t planes[2] = { 1, 1 }, channels = x->dims[1];
	const float *grid = c->in[1]->data;
	int n = spatial_axes(c);

	if (!cnn_tensor_count(y))
		return CNN_OK;
	for (int i = 2; i < x->rank; i++) {
		planes[0] *= x->dims[i];
		planes[1] *= y->dims[i];
	}
	for (int64_t b = 0; b < x->dims[0]; b++)
		for (int64_t i = 0; i < planes[1]; i++, grid += n)
			sample(c, grid, (float *)x->data + b * channels * planes[0],
			       (float *)y->data + b * channels * planes[1] + i, planes);
	return CNN_OK;
}
