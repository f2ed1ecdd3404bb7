// SPDX-License-Identifier: MIT
/*
 * Bounds of products in FP16. For each result, over its taps in the core's order:
 *
 *  - what rounding inputs and weights to float16 changes, exactly;
 *  - ATOMIC_C * 2^(4 func - 50) for each surface: the lanes' truncation, and a sum that cancels
 *    below one unit of the surface's exponent;
 *  - 2^-23 of the largest partial sum for each surface: the accumulator is truncated, and cancels
 *    to zero below one unit of its last place. func counts lanes of zero, so that this cannot be
 *    had from the sum of |x| |w|;
 *  - 2^-11 of the result: its rounding to float16; below 2^-14 it may become zero.
 *
 * Nothing is allowed for what float16 does not reach: the core reads an infinity as 65536 and gives
 * 65504 for all beyond. Results of which that is a part are marked as saturated.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_gcu.h>

#include "ops/float16.h"
#include "bounds.h"

/* An operand: the number, the number that the core has for it, and that one's exponent. */
struct element {
	double is, has;
	double spread;
	int ex;
	bool beyond;	/* rounded, it is an infinity or a NaN */
};

/* A product seen as a convolution of at most three spatial axes. */
struct product {
	struct cnn_window w;
	bool transposed;
	int64_t atomic, kernels; /* lanes of a surface; kernels of a kernel group */
	int64_t group_in, group_out;	/* channels of a group */
	int64_t taps, in_plane, out_plane;
	struct element *x, *k;	/* [batch][in_ch][in_plane]; [out_ch][group_in][taps] */
	const float *bias;	/* NULL: none */
	int64_t bias_step;
	double alpha, beta;
	struct element *add;	/* [batch][out_ch][out_plane]; NULL: none */
};

#define ONE_EX		3	/* exponent of 1 */
#define INFINITE_HALF	0x7c00	/* and what is above: exponent 31 */
#define BEYOND_HALF	65520.0	/* the least number that is rounded to an infinity */

/* One result, while its taps are added up. */
struct sum {
	double is, has;		/* of the operands as they are, and as the core has them */
	double error;		/* of the operands and of each addition */
	double largest;		/* partial sum */
	bool saturated;		/* an operand that counts is beyond float16 */
};

/* The core's reading of a float16: exponent 31 is an ordinary one. */
static double decode(uint16_t half, int *ex)
{
	int e = half >> 10 & 31, m = half & 1023;
	int mts = e ? (1024 + m) << (e & 3) : m << 1;
	double v = ldexp(mts, 4 * (e >> 2) - 25);

	*ex = e >> 2;
	return half & 0x8000 ? -v : v;
}

static struct element element_of(double v, double spread)
{
	struct element e = { .is = v, .spread = spread };
	uint16_t half = float_to_half((float)v);

	e.has = decode(half, &e.ex);
	e.beyond = (half & INFINITE_HALF) == INFINITE_HALF;
	return e;
}

static bool alloc(struct product *p)
{
	p->x = malloc((size_t)(p->w.batch * p->w.in_ch * p->in_plane) * sizeof(*p->x) + 1);
	p->k = malloc((size_t)(p->w.out_ch * p->group_in * p->taps) * sizeof(*p->k) + 1);
	return p->x && p->k;
}

static void set_plane(struct product *p)
{
	p->group_in = p->w.in_ch / p->w.group;
	p->group_out = p->w.out_ch / p->w.group;
	p->taps = p->in_plane = p->out_plane = 1;
	for (int i = 0; i < p->w.spatial; i++) {
		p->taps *= p->w.kernel[i];
		p->in_plane *= p->w.in[i];
		p->out_plane *= p->w.out[i];
	}
}

/* ---- operands ---------------------------------------------------------------------------- */

static double spread_of(const struct cnn_bounds *b, int i, int64_t at)
{
	return b->spread && b->spread[i] ? b->spread[i][at] : 0;
}

static void take_conv(struct product *p, const struct cnn_bounds *b)
{
	for (int64_t i = 0; i < p->w.batch * p->w.in_ch * p->in_plane; i++)
		p->x[i] = element_of(cnn_tensor_element(b->in[0], i), spread_of(b, 0, i));
	for (int64_t k = 0; k < p->w.out_ch; k++)
		for (int64_t c = 0; c < p->group_in; c++)
			for (int64_t t = 0; t < p->taps; t++) {
				/* [in][out of a group][taps] if transposed */
				int64_t in = k / p->group_out * p->group_in + c;
				int64_t to = in * p->group_out + k % p->group_out;
				int64_t from = k * p->group_in + c;
				int64_t at = (p->transposed ? to : from) * p->taps + t;

				p->k[(k * p->group_in + c) * p->taps + t] =
					element_of(cnn_tensor_element(b->in[1], at), 0);
			}
}

static void take_matmul(struct product *p, const struct cnn_bounds *b, const struct cnn_matmul *m)
{
	for (int64_t i = 0; i < m->m * m->batch; i++)
		for (int64_t c = 0; c < m->k; c++) {
			int64_t at = m->trans_a ? c * m->m + i : i * m->k + c;

			p->x[i * m->k + c] =
				element_of(cnn_tensor_element(b->in[0], at), spread_of(b, 0, at));
		}
	for (int64_t n = 0; n < m->n; n++)
		for (int64_t c = 0; c < m->k; c++)
			p->k[n * m->k + c] = element_of(
				cnn_tensor_element(b->in[1], m->trans_b ? n * m->k + c :
									      c * m->n + n), 0);
}

static const struct cnn_tensor *input(const struct cnn_bounds *b, int i)
{
	return i < b->g->nodes[b->node].n_in ? b->in[i] : NULL;
}

/* 1, 0 if the bias is none of one number or of one for each channel. */
static bool take_bias(struct product *p, const struct cnn_bounds *b)
{
	const struct cnn_tensor *t = input(b, 2);
	int64_t n = t ? cnn_tensor_count(t) : 0;

	if (!t)
		return true;
	p->bias = t->data;
	p->bias_step = n > 1;
	return t->dtype == CNN_FLOAT32 && (n == 1 || n == p->w.out_ch);
}

/* An error, if there is no memory. */
static int take_addend(struct product *p, const struct cnn_bounds *b)
{
	const struct cnn_tensor *t = input(b, 3);
	int64_t n = t ? cnn_tensor_count(t) : 0;

	if (!t)
		return CNN_OK;
	p->add = malloc((size_t)n * sizeof(*p->add) + 1);
	for (int64_t i = 0; i < n && p->add; i++)
		p->add[i] = element_of(cnn_tensor_element(t, i), spread_of(b, 3, i));
	return p->add ? CNN_OK : CNN_ENOMEM;
}

/* ---- one result -------------------------------------------------------------------------- */

/* The input index along each axis that a tap reads for an output; -1: it is masked. */
static int64_t place_of(const struct product *p, int64_t out, int64_t tap)
{
	const struct cnn_window *w = &p->w;
	int64_t place = 0, scale = 1;

	for (int i = w->spatial - 1; i >= 0; i--) {
		int64_t k = tap % w->kernel[i] * w->dilation[i], o = out % w->out[i];
		int64_t at = p->transposed ? o + w->pad_begin[i] - k :
					     o * w->stride[i] - w->pad_begin[i] + k;

		tap /= w->kernel[i];
		out /= w->out[i];
		if (p->transposed && at % w->stride[i])
			return -1;
		at /= p->transposed ? w->stride[i] : 1;
		if (at < 0 || at >= w->in[i])
			return -1;
		place += at * scale;
		scale *= w->in[i];
	}
	return place;
}

/* What rounding the factors of a product changes; what is beyond float16 is marked instead. */
static double rounding_of(const struct element *a, const struct element *w, bool *saturated)
{
	if (!a->beyond && !w->beyond)
		return fabs(a->is * w->is - a->has * w->has);
	*saturated |= a->has * w->has != 0;
	return 0;
}

/* Adds channels first..end of one tap, which are lanes of a surface; func: of its other lanes. */
static void add_surface(const struct product *p, struct sum *s, const struct element *x,
			const struct element *k, int64_t lanes, int func)
{
	for (int64_t i = 0; i < lanes; i++) {
		const struct element *a = &x[i * p->in_plane], *w = &k[i * p->taps];

		func = a->ex + w->ex > func ? a->ex + w->ex : func;
		s->is += a->is * w->is;
		s->has += a->has * w->has;
		s->error += rounding_of(a, w, &s->saturated) + a->spread * fabs(w->is);
	}
	s->largest = fmax(s->largest, fabs(s->has));
	s->error += (double)p->atomic * ldexp(1, 4 * func - 50) + s->largest * 0x1p-23;
}

/* The exponents of a surface's lanes of other groups, whose weights are zero. */
static int other_lanes(const struct product *p, const struct element *x, int64_t from, int64_t to)
{
	int func = 0;

	for (int64_t c = from; c < to; c++)
		func = x[c * p->in_plane].ex > func ? x[c * p->in_plane].ex : func;
	return func;
}

/* Channel groups of the block that has kernel k: one of several groups has those of others, too. */
static void surfaces_of(const struct product *p, int64_t k, int64_t *first, int64_t *end)
{
	bool native = p->group_in == p->group_out, aligned = p->group_out % p->atomic == 0;
	int64_t step = cnn_max(p->atomic, p->kernels), k0, k1;

	*first = 0;
	*end = cnn_div_up(p->w.in_ch, p->atomic);
	if (p->w.group == 1)
		return;
	step = native ? p->kernels : aligned ? p->group_out : step;
	k0 = k - k % step;
	k1 = cnn_min(k0 + step, p->w.out_ch) - 1;
	*first = k0 / p->group_out * p->group_in / p->atomic;
	*end = cnn_div_up((k1 / p->group_out + 1) * p->group_in, p->atomic);
}

/* A channel group, of which the kernel's own channels count, at @count taps from @first on. */
static void add_channels(const struct product *p, struct sum *s, int64_t image, int64_t k,
			 int64_t group_at, int64_t out, int64_t first, int64_t count)
{
	int64_t own = k / p->group_out * p->group_in, end = own + p->group_in;
	int64_t from = group_at * p->atomic, to = cnn_min(from + p->atomic, p->w.in_ch);
	int64_t low = cnn_max(from, own), high = cnn_max(low, cnn_min(to, end));

	for (int64_t t = first; t < first + count; t++) {
		int64_t tap = p->transposed ? p->taps - 1 - t : t, at = place_of(p, out, tap);
		const struct element *x = &p->x[image * p->w.in_ch * p->in_plane + at];

		if (at >= 0)
			add_surface(p, s, &x[low * p->in_plane],
				    &p->k[(k * p->group_in + low - own) * p->taps + tap],
				    high - low, other_lanes(p, x, from, to));
	}
}

/*
 * The sum begins with a map that is added: a depthwise convolution with 1, whose surfaces have the
 * lanes of other channels.
 */
static void begin_with(const struct product *p, struct sum *s, int64_t image, int64_t k,
		       int64_t out)
{
	const struct element *a = &p->add[image * p->w.out_ch * p->out_plane + out];
	int64_t first = k - k % p->atomic, end = cnn_min(first + p->atomic, p->w.out_ch);
	int func = a[k * p->out_plane].ex + ONE_EX;

	for (int64_t c = first; c < end; c++)
		func = a[c * p->out_plane].ex > func ? a[c * p->out_plane].ex : func;
	a += k * p->out_plane;
	s->is = a->is;
	s->has = a->has;
	s->largest = fabs(a->has);
	s->saturated = a->beyond;
	s->error = (a->beyond ? 0 : fabs(a->is - a->has)) + a->spread +
		   (double)p->atomic * ldexp(1, 4 * func - 50) + s->largest * 0x1p-23;
}

/* Slices of a kernel of three axes one after the other, each over all channel groups. */
static struct sum add_up(const struct product *p, int64_t image, int64_t k, int64_t out)
{
	int64_t slices = p->w.spatial == 3 ? p->w.kernel[0] : 1, taps = p->taps / slices;
	int64_t first, end;
	struct sum s = { 0 };

	surfaces_of(p, k, &first, &end);
	if (p->add)
		begin_with(p, &s, image, k, out);
	for (int64_t z = 0; z < slices; z++)
		for (int64_t g = first; g < end; g++)
			add_channels(p, &s, image, k, g, out, z * taps, taps);
	return s;
}

/* ---- what follows the sum ---------------------------------------------------------------- */

/*
 * The argument, which may be off by error, is rounded to 2^-10. From 2 on the table has the value
 * of every second one, from 4 on of every eighth, and the next smaller one is taken: so far away at
 * the most, times the slope that is largest there.
 */
static double sigmoid_error(double v, double error)
{
	double size = fabs(v), most = size + error + 0x1p-11;
	double step = most < 2 ? 0 : most < 4 ? 0x1p-10 : 7 * 0x1p-10;
	double slope = 1 / (2 + exp(size) + exp(-size)), near;

	near = exp(fmax(size - 0.02, 0));
	near = 1 / (2 + near + 1 / near);
	return (0x1p-11 + step) * fmax(slope, near) + 0x1p-16;
}

static bool activate(const struct cnn_act *act, double *y, double *error)
{
	double v = *y;

	switch (act->kind) {
	case CNN_ACT_NONE:
		return true;
	case CNN_ACT_RELU:
		*y = fmax(v, 0);
		return true;
	case CNN_ACT_CLIP:
		*y = fmin(fmax(v, (double)act->a), (double)act->b);
		return true;
	case CNN_ACT_LEAKY_RELU:
		*y = v < 0 ? v * (double)act->a : v;
		*error *= fmax(1, fabs((double)act->a));
		*error += fabs(*y) * 0x1p-23;
		return true;
	case CNN_ACT_HARD_SIGMOID:
		*y = fmin(fmax((double)act->a * v + (double)act->b, 0), 1);
		*error = fmin(fabs((double)act->a) * (*error + fabs(v) * 0x1p-22) +
			      fabs((double)act->b) * 0x1p-22, 1);
		return true;
	case CNN_ACT_SIGMOID:
		*y = 1 / (1 + exp(-v));
		*error = fmin(*error * 0.25 + sigmoid_error(v, *error), 1);
		return true;
	default:
		return false;
	}
}

/* By the sum that the core has: the exact one need not be finite. */
static double rounding_of_sum(const struct product *p, const struct sum *s, double bias)
{
	double error = fabs(p->alpha) * s->error;

	return error + (fabs(p->alpha * s->has) + fabs(bias) + 2 * error) * 0x1p-23 *
			       (p->alpha != 1 ? 2 : 1);
}

/* The bias in float32, the activation, and rounding to float16: of element @at. */
static bool finish(const struct product *p, const struct sum *s, int64_t k,
		   const struct cnn_bounds *b, int64_t at)
{
	double bias = p->bias ? p->beta * (double)p->bias[p->bias_step * k] : 0;
	double y = p->alpha * s->is + bias, error = rounding_of_sum(p, s, bias);
	bool beyond;

	if (!activate(&b->g->nodes[b->node].act, &y, &error))
		return false;
	beyond = !(fabs(y) < BEYOND_HALF);
	error += (fabs(y) + error) * 0x1p-11 + 0x1p-25;
	if (fabs(y) - error < 0x1p-14)
		error += fmin(fabs(y) + error, 0x1p-14);
	b->exact[at] = y;
	b->bound[at] = beyond ? 0 : error;
	b->saturated[at] = beyond || s->saturated;
	return true;
}

static bool fill(const struct product *p, const struct cnn_bounds *b)
{
	for (int64_t n = 0, i = 0; n < p->w.batch; n++)
		for (int64_t k = 0; k < p->w.out_ch; k++)
			for (int64_t o = 0; o < p->out_plane; o++, i++) {
				struct sum s = add_up(p, n, k, o);

				if (!finish(p, &s, k, b, i))
					return false;
			}
	return true;
}

static int run(struct product *p, const struct cnn_bounds *b, const struct cnn_matmul *m)
{
	int ret = CNN_ENOMEM;

	set_plane(p);
	if (alloc(p) && !take_addend(p, b)) {
		if (m)
			take_matmul(p, b, m);
		else
			take_conv(p, b);
		ret = fill(p, b);
	}
	free(p->x);
	free(p->k);
	free(p->add);
	return ret;
}

static int bound_matmul(struct product *p, const struct cnn_bounds *b)
{
	struct cnn_matmul m;

	if (cnn_node_matmul(b->g, &b->g->nodes[b->node], &m, NULL) || !m.b_const ||
	    b->in[1]->rank != 2)
		return 0;
	p->w = (struct cnn_window){
		.batch = m.batch * m.m, .in_ch = m.k, .out_ch = m.n, .group = 1,
	};
	p->alpha = (double)m.alpha;
	p->beta = (double)m.beta;
	return take_bias(p, b) ? run(p, b, &m) : 0;
}

int gcuc_bounds(const struct cnnrt_core_info *info, const struct cnn_bounds *b)
{
	const struct cnn_node *n = &b->g->nodes[b->node];
	struct product p = {
		.atomic = info->param[CNNACC_GCU_PARAM_ATOMIC] & 0xff, .alpha = 1, .beta = 1,
		.kernels = info->param[CNNACC_GCU_PARAM_ATOMIC] >> 8 & 0xff,
		.transposed = n->op == CNN_OP_CONV_TRANSPOSE,
	};

	if (cnn_node_out(b->g, n, 0)->dtype != CNN_FLOAT32 &&
	    cnn_node_out(b->g, n, 0)->dtype != CNN_FLOAT16)
		return 0;
	if (n->op == CNN_OP_GEMM || n->op == CNN_OP_MATMUL)
		return bound_matmul(&p, b);
	if ((n->op != CNN_OP_CONV && !p.transposed) ||
	    cnn_node_window(b->g, n, &p.w, NULL) || !take_bias(&p, b))
		return 0;
	return run(&p, b, NULL);
}
