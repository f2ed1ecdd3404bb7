// SPDX-License-Identifier: MIT
/*
 * Quantised products with elements of 16 bits: sums of 64 bits, which no product of the memory that
 * a tensor may take exceeds, and their requantisation.
 */
#include <math.h>
#include <stdlib.h>

#include "geom.h"
#include "quant.h"

bool cnn_is_wide_product(const struct cnn_call *c)
{
	return cnn_dtype_size(c->in[0]->dtype) > 1 || cnn_dtype_size(c->in[3]->dtype) > 1 ||
	       cnn_dtype_size(c->out[0]->dtype) > 1;
}

/* ---- requantisation ---------------------------------------------------------------------- */

int cnn_wide_scale_of(const struct cnn_call *c, int y, int64_t i, struct cnn_wide_scale *s)
{
	float x_scale = cnn_scale(c->in[1], 0), w_scale = cnn_scale(c->in[4], i);
	double product = (double)x_scale * (double)w_scale;
	struct cnn_factor f;

	*s = (struct cnn_wide_scale){
		.range = cnn_range_of(c->out[0]->dtype, cnn_zero_point(c->in[y + 1], 0)),
		.ratio = product / (double)cnn_scale(c->in[y], 0),
	};
	if (c->node->params.product.multiplier_bits != 15)
		return CNN_OK;
	/* TensorFlow Lite multiplies these two as floats. */
	if (c->node->op == CNN_OP_QGEMM)
		s->ratio = (double)(x_scale * w_scale) / (double)cnn_scale(c->in[y], 0);
	f = cnn_factor_of(s->ratio);
	if (!(s->ratio > 0) || f.exponent > 7)
		return cnn_op_fail(c, CNN_ELIMIT, "the scales make the sums' %g times the result's, "
				   "limits 0 and 128", s->ratio);
	s->factor = f.bits < 0x7fff0000 ? (f.bits + (1 << 15)) >> 16 : 0x7fff;
	s->shift = 15 - f.exponent;
	s->fixed = true;
	return CNN_OK;
}

int64_t cnn_wide_requantize(const struct cnn_wide_scale *s, int64_t sum)
{
	const int64_t low = s->range.low - s->range.zero_point;
	const int64_t high = s->range.high - s->range.zero_point;
	double real;
	int64_t v;

	if (s->fixed) {
		v = (int64_t)((uint64_t)sum * (uint64_t)s->factor + (1ull << (s->shift - 1))) >> s->shift;
		v = v < low ? low : v;
		return (v > high ? high : v) + s->range.zero_point;
	}
	real = (double)sum * s->ratio;
	real = real > (double)low ? real : (double)low;
	real = real < (double)high ? real : (double)high;
	return (int64_t)((real + 0x1.8p52) - 0x1.8p52) + s->range.zero_point;
}

static int check_bias(const struct cnn_call *c, const struct cnn_tensor *bias, int64_t n)
{
	if (!bias || ((bias->dtype == CNN_INT32 ||
		       (bias->dtype == CNN_INT64 && cnn_dtype_size(c->in[0]->dtype) > 1)) &&
		      bias->rank == 1 && bias->dims[0] == n))
		return CNN_OK;
	return cnn_op_fail(c, CNN_EINVAL, "the bias is not one int32, or beside 16 bits int64, for "
			   "each of %lld output channels", (long long)n);
}

int cnn_infer_product(const struct cnn_call *c, const struct cnn_tensor *bias, int64_t n)
{
	int64_t bits = c->node->params.product.multiplier_bits;

	if (c->node->op != CNN_OP_QLINEAR_MATMUL && bits != 24 && bits != 15)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute multiplier_bits %lld",
				   (long long)bits);
	if (c->node->op != CNN_OP_QLINEAR_MATMUL && bits == 15 && !cnn_is_wide_product(c))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute multiplier_bits 15 with types %s "
				   "and %s", cnn_dtype_name(c->in[0]->dtype),
				   cnn_dtype_name(c->out[0]->dtype));
	return check_bias(c, bias, n);
}

static uint64_t bias_at(const struct cnn_tensor *bias, int64_t i)
{
	if (!bias)
		return 0;
	return bias->dtype == CNN_INT64 ? (uint64_t)((const int64_t *)bias->data)[i] :
					  (uint64_t)(int64_t)((const int32_t *)bias->data)[i];
}

static void put(const struct cnn_tensor *y, int64_t i, int64_t v)
{
	if (cnn_dtype_size(y->dtype) == 1)
		((uint8_t *)y->data)[i] = (uint8_t)v;
	else
		((uint16_t *)y->data)[i] = (uint16_t)v;
}

/* ---- operands ---------------------------------------------------------------------------- */

/* n elements from number first on, less their zero point. */
static void take(const struct cnn_tensor *t, int64_t first, int64_t n, int32_t zero, int32_t *to)
{
#define TAKE(dtype, type)							\
	case CNN_##dtype:							\
		for (int64_t i = 0; i < n; i++)					\
			to[i] = ((const type *)t->data)[first + i] - zero;	\
		break;
	switch (t->dtype) {
	TAKE(INT8, int8_t)
	TAKE(UINT8, uint8_t)
	TAKE(INT16, int16_t)
	TAKE(UINT16, uint16_t)
	default:
		break;
	}
#undef TAKE
}

/* Both operands less their zero points, and the sums. */
struct operands {
	int32_t *x, *w;
	int64_t *sums;
};

static int get_operands(const struct cnn_call *c, struct operands *o)
{
	o->x = malloc((size_t)cnn_tensor_count(c->in[0]) * sizeof(*o->x) + 1);
	o->w = malloc((size_t)cnn_tensor_count(c->in[3]) * sizeof(*o->w) + 1);
	o->sums = calloc((size_t)cnn_tensor_count(c->out[0]) + 1, sizeof(*o->sums));
	if (!o->x || !o->w || !o->sums)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld sums",
				   (long long)cnn_tensor_count(c->out[0]));
	take(c->in[0], 0, cnn_tensor_count(c->in[0]), cnn_zero_point(c->in[2], 0), o->x);
	return CNN_OK;
}

static void free_operands(struct operands *o)
{
	free(o->x);
	free(o->w);
	free(o->sums);
}

/* sums[i] += w * x[i * step], modulo 2^64 */
CNN_CLONES
static void add_row(int64_t *sums, int32_t w, const int32_t *x, int64_t step, int64_t n)
{
	uint64_t *to = (uint64_t *)sums;

	if (step == 1)
		for (int64_t i = 0; i < n; i++)
			to[i] += (uint64_t)((int64_t)w * x[i]);
	else
		for (int64_t i = 0; i < n; i++)
			to[i] += (uint64_t)((int64_t)w * x[i * step]);
}

/* ---- convolution ------------------------------------------------------------------------- */

struct conv {
	const struct cnn_call *c;
	struct cnn_window w;
	struct cnn_geom g;
	struct operands o;
	const struct cnn_tensor *bias;
};

/* Outputs from *first on, n of them, that a tap at offset reads from the input, along axis i. */
static int64_t covered(const struct cnn_geom *g, int i, int64_t offset, int64_t *first)
{
	int64_t s = g->stride[i], low = offset < 0 ? (-offset + s - 1) / s : 0;
	int64_t end = g->in[i] > offset ? (g->in[i] - offset - 1) / s + 1 : 0;

	*first = low;
	end = end < g->out[i] ? end : g->out[i];
	return end > low ? end - low : 0;
}

/* One weight with all elements of a channel. */
static void add_tap(const struct conv *v, int64_t *sums, int32_t w, const int32_t *x,
		    const int64_t offset[3])
{
	const struct cnn_geom *g = &v->g;
	int64_t first[3], n[3];

	for (int i = 0; i < 3; i++)
		n[i] = covered(g, i, offset[i], &first[i]);
	for (int64_t d = first[0]; n[2] && d < first[0] + n[0]; d++)
		for (int64_t h = first[1]; h < first[1] + n[1]; h++) {
			int64_t z = d * g->stride[0] + offset[0], y = h * g->stride[1] + offset[1];

			add_row(sums + (d * g->out[1] + h) * g->out[2] + first[2], w,
				x + (z * g->in[1] + y) * g->in[2] + first[2] * g->stride[2] + offset[2],
				g->stride[2], n[2]);
		}
}

static void add_channel(const struct conv *v, int64_t *sums, const int32_t *w, const int32_t *x)
{
	const struct cnn_geom *g = &v->g;

	for (int64_t t = 0; t < g->taps; t++) {
		const int64_t at[3] = { t / g->kernel[2] / g->kernel[1],
					t / g->kernel[2] % g->kernel[1], t % g->kernel[2] };
		int64_t offset[3];

		for (int i = 0; i < 3; i++)
			offset[i] = at[i] * g->dilation[i] - g->pad[i];
		if (w[t])
			add_tap(v, sums, w[t], x, offset);
	}
}

/* Output planes, counted over images and channels. */
static void run_planes(const void *arg, int64_t first, int64_t n)
{
	const struct conv *v = arg;
	int64_t per_group = v->w.in_ch / v->w.group, plane = v->g.out_plane;

	for (int64_t p = first; p < first + n; p++) {
		int64_t image = p / v->w.out_ch, k = p % v->w.out_ch;
		int64_t from = image * v->w.in_ch + k / (v->w.out_ch / v->w.group) * per_group;
		int64_t *sums = v->o.sums + p * plane;
		struct cnn_wide_scale s;

		for (int64_t ch = 0; ch < per_group; ch++)
			add_channel(v, sums, v->o.w + (k * per_group + ch) * v->g.taps,
				    v->o.x + (from + ch) * v->g.in_plane);
		cnn_wide_scale_of(v->c, 6, k, &s);
		for (int64_t i = 0; i < plane; i++)
			put(v->c->out[0], p * plane + i,
			    cnn_wide_requantize(&s, (int64_t)((uint64_t)sums[i] + bias_at(v->bias, k))));
	}
}

/* So many channels of the result have factors that can be. */
static int check_scales(const struct cnn_call *c, int y, int64_t channels)
{
	int64_t n = cnn_tensor_count(c->in[4]) == 1 ? 1 : channels;
	struct cnn_wide_scale s;
	int ret = CNN_OK;

	for (int64_t i = 0; i < n && !ret; i++)
		ret = cnn_wide_scale_of(c, y, i, &s);
	return ret;
}

int cnn_wide_conv(struct cnn_call *c)
{
	struct conv v = { .c = c, .bias = cnn_in(c, 8) };
	int ret = cnn_window_resolve(c->node, c->in[0], c->in[3], &v.w, c->err);

	ret = ret ?: check_scales(c, 6, v.w.out_ch) ?: get_operands(c, &v.o);
	if (!ret) {
		int64_t each = cnn_tensor_count(c->in[3]) / v.w.out_ch;

		v.g = cnn_geom_of(&v.w);
		for (int64_t k = 0; k < v.w.out_ch; k++)
			take(c->in[3], k * each, each, cnn_zero_point(c->in[5], k), v.o.w + k * each);
		cnn_for_blocks(c, v.w.batch * v.w.out_ch, 1, run_planes, &v);
	}
	free_operands(&v.o);
	return ret;
}

/* ---- matrices ---------------------------------------------------------------------------- */

struct matrices {
	const struct cnn_call *c;
	struct cnn_products p;
	struct operands o;
	bool trans_b;
	const struct cnn_tensor *bias;
	int y;			/* input with the result's scale */
};

static int64_t dot(const int32_t *a, const int32_t *b, int64_t n)
{
	uint64_t sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (uint64_t)((int64_t)a[i] * b[i]);
	return (int64_t)sum;
}

/* Rows of the result, counted over all products. */
static void run_rows(const void *arg, int64_t first, int64_t count)
{
	const struct matrices *m = arg;
	const int64_t n = m->p.n, k = m->p.k;

	for (int64_t row = first; row < first + count; row++) {
		int64_t at = row / m->p.m, *sums = m->o.sums + row * n;
		const int32_t *a = m->o.x, *b = m->o.w;

		if (!m->trans_b) {
			a += cnn_matmul_at(m->c->in[0], m->c->out[0], m->p.rank, at) * m->p.m * k;
			b += cnn_matmul_at(m->c->in[3], m->c->out[0], m->p.rank, at) * k * n;
		}
		a += row % m->p.m * k;
		for (int64_t i = 0; i < (m->trans_b ? n : k); i++)
			if (m->trans_b)
				sums[i] = dot(a, b + i * k, k);
			else
				add_row(sums, a[i], b + i * n, 1, n);
		for (int64_t i = 0; i < n; i++) {
			struct cnn_wide_scale s;

			cnn_wide_scale_of(m->c, m->y, i, &s);
			put(m->c->out[0], row * n + i, cnn_wide_requantize(&s, (int64_t)
				((uint64_t)sums[i] + bias_at(m->bias, i))));
		}
	}
}

/* Weights less the zero points of their columns, which are rows of B if trans_b. */
static void take_weights(const struct matrices *m)
{
	const struct cnn_tensor *w = m->c->in[3], *zero = m->c->in[5];
	int64_t count = cnn_tensor_count(w), width = m->trans_b ? m->p.k : m->p.n;
	bool one = cnn_tensor_count(zero) == 1;
	int64_t step = one ? count : m->trans_b ? width : 1;

	for (int64_t at = 0; at < count; at += step)
		take(w, at, step, cnn_zero_point(zero, m->trans_b ? at / width : at % width),
		     m->o.w + at);
}

int cnn_wide_matmul(struct cnn_call *c, bool trans_b, const struct cnn_tensor *bias, int y)
{
	const struct cnn_tensor *out = c->out[0];
	struct matrices m = { .c = c, .trans_b = trans_b, .bias = bias, .y = y };
	int ret;

	if (!cnn_tensor_count(out))
		return CNN_OK;
	m.p = trans_b ? (struct cnn_products){ out->dims[0], out->dims[1], c->in[0]->dims[1], 1, 0 } :
			cnn_matmul_products(c->in[0], c->in[3], out);
	ret = check_scales(c, y, m.p.n) ?: get_operands(c, &m.o);
	if (!ret) {
		take_weights(&m);
		cnn_for_blocks(c, m.p.m * m.p.count, 1, run_rows, &m);
	}
	free_operands(&m.o);
	return ret;
}
