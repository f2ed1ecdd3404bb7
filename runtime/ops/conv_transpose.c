// SPDX-License-Identifier: MIT
/* ConvTranspose: a matrix product gives every tap of a run of pixels, which are then scattered. */
#include <stdlib.h>
#include <string.h>

#include "geom.h"

/* Adds what tap (kd, kh, kw) of one output channel gives for a run to its plane y. */
static void scatter(const struct cnn_geom *g, const float *v, const struct cnn_run *r,
		    const int64_t *tap, float *y)
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
static void transpose_group(const struct cnn_geom *g, const float *x, int64_t k, const float *w,
			    int64_t m, float *y, float *scratch)
{
	int64_t rows = m * g->taps;
	float *acc = scratch, *panel = scratch + rows * CNN_PANEL;
	struct cnn_run runs[CNN_PANEL];

	memset(panel, 0, k * CNN_PANEL * sizeof(*panel));
	for (int64_t p = 0; p < g->in_plane; p += CNN_PANEL) {
		int n = g->in_plane - p < CNN_PANEL ? g->in_plane - p : CNN_PANEL;
		int n_runs = cnn_make_runs(g->in, p, n, runs);

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

static void fill_bias(const struct cnn_geom *g, const struct cnn_tensor *b, int64_t planes,
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
	struct cnn_geom g;
	int ret = cnn_window_resolve(c->node, c->in[0], c->in[1], &w, c->err);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	g = cnn_geom_of(&w);
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
