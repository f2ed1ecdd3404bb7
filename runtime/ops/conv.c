// SPDX-License-Identifier: MIT
/* Conv in one, two or three dimensions: depthwise directly, the rest as matrix products. */
#include <stdlib.h>
#include <string.h>

#include "geom.h"
#include "quant.h"

/* Only fusing makes input 3. */
static int check_addend(const struct cnn_call *c, const struct cnn_tensor *y)
{
	const struct cnn_tensor *t = cnn_in(c, 3);

	if (c->n_in > 3 && !c->node->fused)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "%d inputs, limit 3", c->n_in);
	if (t && (t->dtype != y->dtype || !cnn_tensor_same_shape(t, y)))
		return cnn_op_fail(c, CNN_EINVAL, "what is added has another type or shape");
	return CNN_OK;
}

/* Also ConvTranspose: the window knows which way it goes. */
int cnn_infer_conv(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *w = c->in[1], *b = cnn_in(c, 2);
	struct cnn_window win;
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (ret)
		return ret;
	if (w->dtype != x->dtype || (b && b->dtype != x->dtype))
		return cnn_op_fail(c, CNN_EINVAL, "inputs of different types");
	ret = cnn_infer_window(c, w, &win);
	if (ret)
		return ret;
	if (b && (b->rank != 1 || b->dims[0] != win.out_ch))
		return cnn_op_fail(c, CNN_EINVAL, "the bias is not one number for each of %lld "
				   "output channels", (long long)win.out_ch);
	return check_addend(c, c->out[0]);
}

/* One tap at every place of the map, no padding read. */
static bool is_pointwise(const struct cnn_geom *g)
{
	for (int i = 0; i < 3; i++)
		if (g->kernel[i] != 1 || g->in[i] != g->out[i] || g->pad[i] ||
		    (g->stride[i] != 1 && g->out[i] != 1))
			return false;
	return true;
}

/* A pointwise convolution sees a plane as one long row. */
static struct cnn_geom make_geom(const struct cnn_window *w)
{
	struct cnn_geom g = cnn_geom_of(w);

	if (is_pointwise(&g)) {
		g.in[2] = g.in_plane;
		g.out[2] = g.out_plane;
		g.in[0] = g.in[1] = g.out[0] = g.out[1] = 1;
		g.stride[0] = g.stride[1] = g.stride[2] = 1;
	}
	return g;
}

/* The outputs [*lo, *hi) of a row whose tap at offset (dilation * k - pad) lies in the input. */
static void valid_range(int64_t in, int64_t stride, int64_t offset, int64_t *lo, int64_t *hi)
{
	int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
	int64_t end = in > offset ? (in - offset - 1) / stride + 1 : 0;

	if (*lo < first)
		*lo = first;
	if (*hi > end)
		*hi = end;
}

/* The input row that tap (kd, kh) of output row (od, oh) reads; NULL in the padding. */
static const float *input_row(const struct cnn_geom *g, const float *plane, int64_t od, int64_t oh,
			      int64_t kd, int64_t kh)
{
	int64_t d = od * g->stride[0] + kd * g->dilation[0] - g->pad[0];
	int64_t h = oh * g->stride[1] + kh * g->dilation[1] - g->pad[1];

	if (d < 0 || d >= g->in[0] || h < 0 || h >= g->in[1])
		return NULL;
	return plane + (d * g->in[1] + h) * g->in[2];
}

CNN_CLONES
static void add_scaled(float *y, const float *x, int64_t n, int64_t stride, float w)
{
	if (stride == 1)
		for (int64_t i = 0; i < n; i++)
			y[i] += w * x[i];
	else
		for (int64_t i = 0; i < n; i++)
			y[i] += w * x[i * stride];
}

static void depthwise_row(const struct cnn_geom *g, const float *plane, const float *w, int64_t od,
			  int64_t oh, float *y)
{
	for (int64_t kd = 0; kd < g->kernel[0]; kd++) {
		for (int64_t kh = 0; kh < g->kernel[1]; kh++, w += g->kernel[2]) {
			const float *x = input_row(g, plane, od, oh, kd, kh);

			for (int64_t kw = 0; x && kw < g->kernel[2]; kw++) {
				int64_t offset = kw * g->dilation[2] - g->pad[2];
				int64_t lo = 0, hi = g->out[2];

				valid_range(g->in[2], g->stride[2], offset, &lo, &hi);
				if (lo < hi)
					add_scaled(y + lo, x + lo * g->stride[2] + offset, hi - lo,
						   g->stride[2], w[kw]);
			}
		}
	}
}

static void depthwise_plane(const struct cnn_geom *g, const float *plane, const float *w,
			    float bias, const float *add, float *y)
{
	memset(y, 0, g->out_plane * sizeof(*y));
	for (int64_t od = 0; od < g->out[0]; od++)
		for (int64_t oh = 0; oh < g->out[1]; oh++)
			depthwise_row(g, plane, w, od, oh, y + (od * g->out[1] + oh) * g->out[2]);
	for (int64_t i = 0; bias != 0 && i < g->out_plane; i++)
		y[i] += bias;
	for (int64_t i = 0; add && i < g->out_plane; i++)
		y[i] += add[i];
}

static void depthwise(const struct cnn_call *c, const struct cnn_window *w,
		      const struct cnn_geom *g)
{
	const float *x = c->in[0]->data, *weights = c->in[1]->data;
	const float *bias = cnn_in(c, 2) ? c->in[2]->data : NULL;
	const float *add = cnn_in(c, 3) ? c->in[3]->data : NULL;
	float *y = c->out[0]->data;

	for (int64_t i = 0; i < w->batch * w->out_ch; i++) {
		int64_t oc = i % w->out_ch, channel = i / (w->out_ch / w->group);

		depthwise_plane(g, x + channel * g->in_plane, weights + oc * g->taps,
				bias ? bias[oc] : 0, add ? add + i * g->out_plane : NULL,
				y + i * g->out_plane);
	}
}

static void pack_run(const struct cnn_geom *g, const float *x, const struct cnn_run *r,
		     int64_t offset, float *col)
{
	int64_t lo = r->w, hi = r->w + r->n;

	valid_range(g->in[2], g->stride[2], offset, &lo, &hi);
	if (g->stride[2] == 1 && hi - lo == CNN_PANEL) {
		memcpy(col, x + lo + offset, CNN_PANEL * sizeof(*col));
		return;
	}
	for (int64_t i = lo; i < hi; i++)
		col[i - r->w] = x[i * g->stride[2] + offset];
}

/* panel[k][j]: what tap k (channel, kd, kh, kw) of pixel j reads; 0 in the padding. */
static void pack_panel(const struct cnn_geom *g, const float *x, int64_t channels,
		       const struct cnn_run *runs, int n_runs, float *panel)
{

	memset(panel, 0, channels * g->taps * CNN_PANEL * sizeof(*panel));
	for (int64_t ch = 0; ch < channels; ch++, x += g->in_plane)
		for (int64_t kd = 0; kd < g->kernel[0]; kd++)
			for (int64_t kh = 0; kh < g->kernel[1]; kh++)
				for (int i = 0; i < n_runs; i++) {
					const struct cnn_run *r = &runs[i];
					const float *row = input_row(g, x, r->d, r->h, kd, kh);

					for (int64_t kw = 0; row && kw < g->kernel[2]; kw++)
						pack_run(g, row, r, kw * g->dilation[2] - g->pad[2],
							 panel + (((ch * g->kernel[0] + kd) *
								   g->kernel[1] + kh) *
								  g->kernel[2] + kw) * CNN_PANEL +
							 r->at);
				}
}

/* One group of one image; bias and add (what is added at each place) may be NULL. */
struct part {
	const float *x, *w, *bias, *add;
	float *y;
};

CNN_CLONES
static void add_row(float *y, const float *add, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += add[i];
}

/* The first n pixels of a panel of sums, m channels, as pixels p and up. */
static void store_panel(const struct cnn_geom *g, const struct part *part, int64_t m, int64_t p,
			int n, const float *acc)
{
	for (int64_t i = 0; i < m; i++, acc += CNN_PANEL) {
		float *y = part->y + i * g->out_plane + p, bias = part->bias ? part->bias[i] : 0;

		for (int j = 0; j < n; j++)
			y[j] = acc[j] + bias;
		if (part->add)
			add_row(y, part->add + i * g->out_plane + p, n);
	}
}

static void conv_group(const struct cnn_geom *g, const struct part *part, int64_t channels,
		       int64_t m, float *scratch)
{
	int64_t k = channels * g->taps;
	float *acc = scratch, *panel = scratch + m * CNN_PANEL;
	struct cnn_run runs[CNN_PANEL];

	for (int64_t p = 0; p < g->out_plane; p += CNN_PANEL) {
		int n = g->out_plane - p < CNN_PANEL ? g->out_plane - p : CNN_PANEL;

		pack_panel(g, part->x, channels, runs, cnn_make_runs(g->out, p, n, runs), panel);
		cnn_gemm_panel(m, k, part->w, k, 1, panel, acc);
		store_panel(g, part, m, p, n, acc);
	}
}

static int conv(const struct cnn_call *c, const struct cnn_window *w, const struct cnn_geom *g)
{
	const float *x = c->in[0]->data, *weights = c->in[1]->data;
	const float *bias = cnn_in(c, 2) ? c->in[2]->data : NULL;
	const float *add = cnn_in(c, 3) ? c->in[3]->data : NULL;
	int64_t channels = w->in_ch / w->group, m = w->out_ch / w->group;
	int64_t k = channels * g->taps;
	float *scratch = cnn_gemm_scratch(m, k), *y = c->out[0]->data;

	if (!scratch)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	for (int64_t i = 0; i < w->batch * w->group; i++) {
		int64_t group = i % w->group, at = i * m * g->out_plane;
		struct part part = {
			.x = x + i * channels * g->in_plane, .w = weights + group * m * k,
			.bias = bias ? bias + group * m : NULL, .add = add ? add + at : NULL,
			.y = y + at,
		};

		conv_group(g, &part, channels, m, scratch);
	}
	free(scratch);
	return CNN_OK;
}

static void depthwise_whole(const struct cnn_window *w, const struct cnn_geom *g, const float *x,
			    const float *weights, float *plane, int32_t *acc)
{

	for (int64_t i = 0; i < w->batch * w->out_ch; i++, acc += g->out_plane) {
		int64_t oc = i % w->out_ch, channel = i / (w->out_ch / w->group);

		depthwise_plane(g, x + channel * g->in_plane, weights + oc * g->taps, 0, NULL,
				plane);
		for (int64_t j = 0; j < g->out_plane; j++)
			acc[j] = (int32_t)plane[j];
	}
}

/* As conv_group. */
static void group_whole(const struct cnn_geom *g, const float *x, const float *weights,
			int64_t channels, int64_t m, float *scratch, int32_t *acc)
{
	int64_t k = channels * g->taps;
	struct cnn_run runs[CNN_PANEL];

	for (int64_t p = 0; p < g->out_plane; p += CNN_PANEL) {
		struct cnn_whole_panel panel = {
			.m = m, .k = k, .a = weights, .a_row = k, .a_col = 1,
			.n = g->out_plane - p < CNN_PANEL ? g->out_plane - p : CNN_PANEL,
			.panel = scratch + m * CNN_PANEL, .sums = scratch,
			.acc = acc + p, .acc_row = g->out_plane,
		};

		pack_panel(g, x, channels, runs, cnn_make_runs(g->out, p, panel.n, runs),
			   panel.panel);
		cnn_panel_whole(&panel);
	}
}

int cnn_conv_whole(const struct cnn_call *c, const struct cnn_window *w, const float *x,
		   const float *weights, int32_t *acc)
{
	int64_t channels = w->in_ch / w->group, m = w->out_ch / w->group, k;
	bool by_channel;
	float *scratch;
	struct cnn_geom g = make_geom(w);

	k = channels * g.taps;
	by_channel = channels == 1 && w->group > 1 && k <= CNN_WHOLE_TERMS;
	scratch = by_channel ? malloc(g.out_plane * sizeof(*scratch)) : cnn_gemm_scratch(m, k);
	if (!scratch)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	if (by_channel)
		depthwise_whole(w, &g, x, weights, scratch, acc);
	for (int64_t i = 0; !by_channel && i < w->batch * w->group; i++)
		group_whole(&g, x + i * channels * g.in_plane, weights + i % w->group * m * k,
			    channels, m, scratch, acc + i * m * g.out_plane);
	free(scratch);
	return CNN_OK;
}

int cnn_compute_conv(struct cnn_call *c)
{
	struct cnn_window w;
	struct cnn_geom g;
	int ret = cnn_window_resolve(c->node, c->in[0], c->in[1], &w, c->err);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	g = make_geom(&w);
	if (w.in_ch == w.group && w.group > 1) {
		depthwise(c, &w, &g);
		return CNN_OK;
	}
	return conv(c, &w, &g);
}
