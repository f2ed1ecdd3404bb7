// SPDX-License-Identifier: MIT
/* ConvTranspose: a matrix product gives every tap of a run of pixels, which are then scattered. */
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* The window with three spatial axes, missing ones in front. */
struct geom {
	int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
	int64_t in_plane, out_plane, taps;
};

static void make_geom(const struct cnn_window *w, struct geom *g)
{
	for (int i = 0; i < 3; i++) {
		int s = i - (3 - w->spatial);

		g->in[i] = s < 0 ? 1 : w->in[s];
		g->out[i] = s < 0 ? 1 : w->out[s];
		g->kernel[i] = s < 0 ? 1 : w->kernel[s];
		g->stride[i] = s < 0 ? 1 : w->stride[s];
		g->dilation[i] = s < 0 ? 1 : w->dilation[s];
		g->pad[i] = s < 0 ? 0 : w->pad_begin[s];
	}
	g->in_plane = g->in[0] * g->in[1] * g->in[2];
	g->out_plane = g->out[0] * g->out[1] * g->out[2];
	g->taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
}

/* A run of pixels of one row of x, part of a panel. */
struct run {
	int64_t d, h, w;
	int n, at;		/* pixels, first column of the panel */
};

static int make_runs(const struct geom *g, int64_t pixel, int n, struct run *runs)
{
	int count = 0;

	for (int at = 0; at < n; count++) {
		struct run *r = &runs[count];
		int64_t left;

		r->w = (pixel + at) % g->in[2];
		r->h = (pixel + at) / g->in[2] % g->in[1];
		r->d = (pixel + at) / g->in[2] / g->in[1];
		r->at = at;
		left = g->in[2] - r->w;
		r->n = left < n - at ? left : n - at;
		at += r->n;
	}
	return count;
}

/* Adds what tap (kd, kh, kw) of one output channel gives for a run to its plane y. */
static void scatter(const struct geom *g, const float *v, const struct run *r, const int64_t *tap,
		    float *y)
{
	int64_t d = r->d * g->stride[0] + tap[0] * g->dilation[0] - g->pad[0];
	int64_t h = r->h * g->stride[1] + tap[1] * g->dilation[1] - g->pad[1];
	int64_t at = r->w * g->stride[2] + tap[2] * g->dilation[2] - g->pad[2];
	int j = 0, n = r->n;

	if (d < 0 || d >= g->out[0] || h < 0 || h >= g->out[1])
		return;
	for (; j < n && at < 0; j++)
		at += g->stride[2];
	for (; n > j && at + (n - j - 1) * g->stride[2] >= g->out[2]; n--)
		;
	if (j >= n)
		return;
	y += (d * g->out[1] + h) * g->out[2] + at;
	for (; j < n; j++, y += g->stride[2])
		*y += v[j];
}

/* One group of one image: x has k channels, y gets m of them. */
static void transpose_group(const struct geom *g, const float *x, int64_t k, const float *w,
			    int64_t m, float *y, float *scratch)
{
	int64_t rows = m * g->taps;
	float *acc = scratch, *panel = scratch + rows * CNN_PANEL;
	struct run runs[CNN_PANEL];

	memset(panel, 0, k * CNN_PANEL * sizeof(*panel));
	for (int64_t p = 0; p < g->in_plane; p += CNN_PANEL) {
		int n = g->in_plane - p < CNN_PANEL ? g->in_plane - p : CNN_PANEL;
		int n_runs = make_runs(g, p, n, runs);

		for (int64_t i = 0; i < k; i++)
			memcpy(panel + i * CNN_PANEL, x + i * g->in_plane + p, n * sizeof(*panel));
		cnn_gemm_panel(rows, k, w, 1, rows, panel, acc);
		for (int64_t i = 0; i < rows; i++) {
			int64_t kw = i % g->kernel[2], kh = i / g->kernel[2] % g->kernel[1];
			int64_t tap[3] = { i / g->kernel[2] / g->kernel[1] % g->kernel[0], kh, kw };

			for (int j = 0; j < n_runs; j++)
				scatter(g, acc + i * CNN_PANEL + runs[j].at, &runs[j], tap,
					y + i / g->taps * g->out_plane);
		}
	}
}

static void fill_bias(const struct geom *g, const struct cnn_tensor *b, int64_t planes,
		      int64_t channels, float *y)
{
	const float *bias = b ? b->data : NULL;

	for (int64_t i = 0; i < planes; i++)
		for (int64_t j = 0; j < g->out_plane; j++)
			*y++ = bias ? bias[i % channels] : 0;
}

int cnn_compute_conv_transpose(struct cnn_call *c)
{
	const float *x = c->in[0]->data, *weights = c->in[1]->data;
	float *y = c->out[0]->data, *scratch;
	struct cnn_window w;
	int64_t k, m;
	struct geom g;
	int ret = cnn_window_resolve(c->node, c->in[0], c->in[1], &w, c->err);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	make_geom(&w, &g);
	k = w.in_ch / w.group;
	m = w.out_ch / w.group;
	scratch = cnn_gemm_scratch(cnn_mul_sat(m, g.taps), k);
	if (!scratch)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	fill_bias(&g, cnn_in(c, 2), w.batch * w.out_ch, w.out_ch, y);
	for (int64_t n = 0; n < w.batch; n++)
		for (int64_t i = 0; i < w.group; i++) {
			transpose_group(&g, x, k, weights + i * k * m * g.taps, m, y, scratch);
			x += k * g.in_plane;
			y += m * g.out_plane;
		}
	free(scratch);
	return CNN_OK;
}
