// SPDX-License-Identifier: MIT
/*
 * Quantised products as sums of products without zero points, and what follows from them:
 *
 *	sum (x - a) (w - b) = sum x w - a sum w - b sum x + n a b
 *
 * for the n products of an output, with a for what pads x. The sums of w are constants, and the sum
 * of x is one more output, of ones for weights, if a b is not zero. All of it is modulo 2^32.
 * An a that is known only at run time is applied then, and pads x before. What the core can
 * requantise by itself (requant_shift.c) is one node, of other weights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/quant.h"
#include "legalize.h"

#define PADDING_MAX	((int64_t)1 << 24)	/* bytes that a Pad may add */

static const struct hwpec_product_form forms[] = {
	{ CNN_OP_CONV_INTEGER, 2, 1, 3, -1, -1 }, { CNN_OP_MATMUL_INTEGER, 2, 1, 3, -1, -1 },
	{ CNN_OP_QLINEAR_CONV, 2, 3, 5, 8, 6 },	  { CNN_OP_QLINEAR_MATMUL, 2, 3, 5, -1, 6 },
	{ CNN_OP_QGEMM, 2, 3, 5, 6, 7 },
};

const struct cnn_tensor *hwpec_product_input(const struct hwpec_product *p, int i)
{
	return i < 0 ? NULL : cnn_node_in(p->g, &p->g->nodes[p->node], i);
}

static bool is_known(const struct hwpec_product *p, int i)
{
	const struct cnn_tensor *t = hwpec_product_input(p, i);

	return !t || t->data;
}

/* ---- weights --------------------------------------------------------------------------- */

static int shift_of(const struct hwpec_product *p)
{
	return hwpec_product_input(p, p->form.w)->dtype == CNN_UINT8 ? 128 : 0;
}

static int32_t weight_zero(const struct hwpec_product *p, int64_t k)
{
	return cnn_zero_point(hwpec_product_input(p, p->form.w_zero), k) - shift_of(p);
}

int hwpec_product_weight(const struct hwpec_product *p, int64_t k, int64_t tap)
{
	const struct cnn_tensor *w = hwpec_product_input(p, p->form.w);
	int64_t i = p->conv || p->trans_b ? k * p->taps + tap : tap * p->channels + k;

	return w->dtype == CNN_UINT8 ? ((const uint8_t *)w->data)[i] - 128 :
				       ((const int8_t *)w->data)[i];
}

/* ---- what can be taken ----------------------------------------------------------------- */

/* x with what pads it. */
static struct cnn_tensor padded(const struct hwpec_product *p)
{
	const struct cnn_tensor *x = hwpec_product_input(p, 0);
	struct cnn_tensor t = { .dtype = x->dtype, .rank = x->rank };

	memcpy(t.dims, x->dims, sizeof(t.dims));
	for (int i = 0; i < p->win.spatial; i++)
		t.dims[i + 2] += p->win.pad_begin[i] + p->win.pad_end[i];
	return t;
}

static bool get_sizes(struct hwpec_product *p, const struct cnn_node *n)
{
	const struct cnn_tensor *x = hwpec_product_input(p, 0),
				*w = hwpec_product_input(p, p->form.w);
	struct cnn_tensor t;

	if (p->conv) {
		if (cnn_node_window(p->g, n, &p->win, NULL))
			return false;
		t = padded(p);
		if (p->late && (cnn_tensor_count(&t) < 0 ||
				cnn_tensor_count(&t) - cnn_tensor_count(x) > PADDING_MAX))
			return false;
		p->groups = p->win.group;
		p->channels = p->win.out_ch;
		p->taps = cnn_tensor_count(w) / p->win.out_ch;
		return true;
	}
	if (w->rank < 2 || x->rank < w->rank)
		return false;
	p->trans_b = n->op == CNN_OP_QGEMM && cnn_node_int(n, "transB", 0);
	p->groups = 1;
	p->channels = w->dims[w->rank - 1 - p->trans_b];
	p->taps = w->dims[w->rank - 2 + p->trans_b];
	return p->channels * p->taps == cnn_tensor_count(w);	/* one matrix for all of x */
}

bool hwpec_product_get(struct hwpec_product *p)
{
	const struct cnn_node *n = &p->g->nodes[p->node];
	const struct hwpec_product_form *f = NULL;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].op == n->op)
			f = &forms[i];
	if (!f || n->act.kind != CNN_ACT_NONE || cnn_node_has(n, "pad_value") ||
	    cnn_node_has(n, "shift_out"))
		return false;
	p->form = *f;
	p->conv = n->op == CNN_OP_CONV_INTEGER || n->op == CNN_OP_QLINEAR_CONV;
	p->late = !is_known(p, f->x_zero);
	if (!hwpec_product_input(p, f->w)->data || !is_known(p, f->w_zero) ||
	    !is_known(p, f->bias) || cnn_node_out(p->g, n, 0)->rank < 1)
		return false;
	if (f->y_scale >= 0 && (!is_known(p, 1) || !is_known(p, f->w + 1) ||
				!is_known(p, f->y_scale) || !is_known(p, f->y_scale + 1)))
		return false;
	if (hwpec_product_input(p, f->x_zero) &&
	    cnn_tensor_count(hwpec_product_input(p, f->x_zero)) != 1)
		return false;
	if (cnn_tensor_count(cnn_node_out(p->g, n, 0)) < 1 || !get_sizes(p, n) || p->taps < 1)
		return false;
	p->x_zero = p->late ? 0 : cnn_zero_point(hwpec_product_input(p, f->x_zero), 0);
	for (int64_t k = 0; k < p->channels; k++)
		p->by_inputs |= weight_zero(p, k) != 0;
	/* Nothing would be left to do. */
	return f->y_scale >= 0 || p->late || p->x_zero || p->by_inputs || shift_of(p);
}

/* ---- constants ------------------------------------------------------------------------- */

/* A new constant, which the caller fills; its value, or an error. */
static int add_const(const struct hwpec_product *p, struct cnn_tensor *t, const char *suffix,
		     void **data)
{
	char name[128];
	int ret = cnn_tensor_alloc(t, p->g->limits.tensor_bytes, p->err);

	if (ret)
		return ret;
	*data = t->data;
	snprintf(name, sizeof(name), "%.100s%s", p->g->nodes[p->node].name, suffix);
	ret = cnn_graph_add_value(p->g, name, t, p->err);
	if (ret < 0)
		cnn_tensor_release(t);
	return ret;
}

/* Sums of a group: its channels, and perhaps that of inputs. */
static int64_t group_sums(const struct hwpec_product *p)
{
	return p->channels / p->groups + p->by_inputs;
}

/* Right shifts lose nothing. */
static int scaled(int weight, int up)
{
	return up < 0 ? weight >> -up : weight * (1 << up);
}

static int add_weights(const struct hwpec_product *p)
{
	struct cnn_tensor t = { .dtype = CNN_INT8, .rank = 2 };
	int64_t own = p->channels / p->groups, all = group_sums(p) * p->groups;
	void *data = NULL;
	int ret;

	if (p->conv) {
		t = *hwpec_product_input(p, p->form.w);
		t = (struct cnn_tensor){ .dtype = CNN_INT8, .rank = t.rank };
		memcpy(t.dims, hwpec_product_input(p, p->form.w)->dims, sizeof(t.dims));
		t.dims[0] = all;
	} else {
		t.dims[0] = p->taps;
		t.dims[1] = all;
	}
	ret = add_const(p, &t, "_weights", &data);
	for (int64_t i = 0; i < all && ret >= 0; i++) {
		int64_t j = i % group_sums(p), k = i / group_sums(p) * own + j;

		int up = p->shift < 0 ? 0 : hwpec_shift_up(p, k);

		for (int64_t tap = 0; tap < p->taps; tap++)
			((int8_t *)data)[p->conv ? i * p->taps + tap : tap * all + i] =
				(int8_t)(j < own ? scaled(hwpec_product_weight(p, k, tap), up) : 1);
	}
	return ret;
}

/* What the sums of channel k have too much for each 1 of the zero point of x. */
static int32_t zero_factor(const struct hwpec_product *p, int64_t k)
{
	uint32_t sum = 0;

	for (int64_t tap = 0; tap < p->taps; tap++)
		sum += (uint32_t)hwpec_product_weight(p, k, tap);
	return (int32_t)(sum - (uint32_t)p->taps * (uint32_t)weight_zero(p, k));
}

int32_t hwpec_product_term(const struct hwpec_product *p, int64_t k)
{
	const struct cnn_tensor *bias = hwpec_product_input(p, p->form.bias);
	uint32_t sum = bias ? ((const uint32_t *)bias->data)[k] : 0;

	if (p->x_zero)
		sum -= (uint32_t)p->x_zero * (uint32_t)zero_factor(p, k);
	return (int32_t)sum;
}

/* A constant of a number for each channel. */
static int add_numbers(const struct hwpec_product *p, const char *suffix,
		       int32_t (*number)(const struct hwpec_product *p, int64_t k))
{
	struct cnn_tensor t = { .dtype = CNN_INT32, .rank = 1, .dims = { p->channels } };
	void *data = NULL;
	int ret = add_const(p, &t, suffix, &data);

	for (int64_t k = 0; k < p->channels && ret >= 0; k++)
		((int32_t *)data)[k] = number(p, k);
	return ret;
}

static int add_terms(const struct hwpec_product *p)
{
	const struct cnn_tensor *bias = hwpec_product_input(p, p->form.bias);

	if (bias && cnn_tensor_count(bias) != p->channels)
		return cnn_fail(p->err, CNN_EINVAL, "a bias of another length");
	return add_numbers(p, "_terms", hwpec_product_term);
}

float hwpec_product_scale(const struct hwpec_product *p, int64_t k)
{
	return cnn_scale(hwpec_product_input(p, 1), 0) *
	       cnn_scale(hwpec_product_input(p, p->form.w + 1), k) /
	       cnn_scale(hwpec_product_input(p, p->form.y_scale), 0);
}

static int add_scales(const struct hwpec_product *p)
{
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = 1, .dims = { p->channels } };
	void *data = NULL;
	int ret = add_const(p, &t, "_scales", &data);

	for (int64_t k = 0; k < p->channels && ret >= 0; k++)
		((float *)data)[k] = hwpec_product_scale(p, k);
	return ret;
}

/* ---- padding with what is not known yet ------------------------------------------------ */

/* The Pad's inputs besides x, and the convolution's attributes without padding. */
static int set_padding(const struct hwpec_product *p, int pads)
{
	struct cnn_node *pad = &p->g->nodes[p->node - 1], *n = &p->g->nodes[p->node];
	const struct cnn_window *w = &p->win;
	int ret = cnn_fuse_set_input(pad, 1, pads, p->err);

	if (!ret)
		ret = cnn_fuse_set_input(pad, 2, n->in[p->form.x_zero], p->err);
	cnn_node_drop_attrs(n);
	if (!ret)
		ret = cnn_node_add_int(n, "group", w->group, p->err);
	if (!ret)
		ret = cnn_node_add_ints(n, "strides", w->spatial, w->stride, p->err);
	return ret ? ret : cnn_node_add_ints(n, "dilations", w->spatial, w->dilation, p->err);
}

/* What pads x gets a node of its own, before the product. */
static int add_pad(struct hwpec_product *p)
{
	struct cnn_tensor x = padded(p);
	struct cnn_tensor t = { .dtype = CNN_INT64, .rank = 1, .dims = { 2 * x.rank } };
	struct cnn_node *n = &p->g->nodes[p->node];
	void *data = NULL;
	char name[128];
	int pads = add_const(p, &t, "_pads", &data), mid, ret;

	if (pads < 0)
		return pads;
	memset(data, 0, (size_t)(2 * x.rank) * sizeof(int64_t));
	for (int i = 0; i < p->win.spatial; i++) {
		((int64_t *)data)[2 + i] = p->win.pad_begin[i];
		((int64_t *)data)[x.rank + 2 + i] = p->win.pad_end[i];
	}
	snprintf(name, sizeof(name), "%.100s_padded", n->name);
	mid = cnn_graph_add_value(p->g, name, &x, p->err);
	if (mid < 0)
		return mid;
	ret = cnn_fuse_insert(p->g, p->node, CNN_OP_PAD, "Pad", n->in[0], mid, p->err);
	if (ret)
		return ret;
	p->g->nodes[++p->node].in[0] = mid;
	return set_padding(p, pads);
}

/* ---- the two nodes --------------------------------------------------------------------- */

static int add_sums(const struct hwpec_product *p, int axis)
{
	const struct cnn_node *n = &p->g->nodes[p->node];
	struct cnn_tensor t = *cnn_node_out(p->g, n, 0);
	char name[128];

	t.dtype = CNN_INT32;
	t.dims[axis] = group_sums(p) * p->groups;
	snprintf(name, sizeof(name), "%.100s_sums", p->g->values[n->out[0]].name);
	return cnn_graph_add_value(p->g, name, &t, p->err);
}

/* The node makes sums from now on. */
static int turn_node(const struct hwpec_product *p, int weights, int sums)
{
	struct cnn_node *n = &p->g->nodes[p->node];
	char *type = strdup(p->conv ? "ConvInteger" : "MatMulInteger");

	if (!type)
		return cnn_fail(p->err, CNN_ENOMEM, "no memory to split nodes");
	free(n->op_type);
	n->op_type = type;
	n->op = p->conv ? CNN_OP_CONV_INTEGER : CNN_OP_MATMUL_INTEGER;
	n->in[1] = weights;
	n->n_in = 2;
	n->out[0] = sums;
	if (!p->conv)
		cnn_node_drop_attrs(n);
	/* So that these are not counted as multiply-adds of the network. */
	if (p->by_inputs && cnn_node_add_int(n, "input_sums", 1, p->err))
		return CNN_ENOMEM;
	return p->conv && p->x_zero ? cnn_node_add_int(n, "pad_value", p->x_zero, p->err) : CNN_OK;
}

struct parts {
	int weights, terms, zeros, scales, y_zero, x_zero, factors, sums, out, axis;
};

static int add_parts(const struct hwpec_product *p, struct parts *s)
{
	const struct cnn_node *n = &p->g->nodes[p->node];
	bool scaled = p->form.y_scale >= 0;

	s->out = n->out[0];
	s->axis = p->conv ? 1 : cnn_node_out(p->g, n, 0)->rank - 1;
	s->y_zero = scaled ? n->in[p->form.y_scale + 1] : -1;
	s->x_zero = p->late ? n->in[p->form.x_zero] : -1;
	s->zeros = s->scales = s->factors = -1;
	s->weights = add_weights(p);
	s->terms = s->weights < 0 ? s->weights : add_terms(p);
	s->sums = s->terms < 0 ? s->terms : add_sums(p, s->axis);
	if (s->sums >= 0 && p->by_inputs) {
		s->zeros = add_numbers(p, "_zeros", weight_zero);
		if (s->zeros < 0)
			return s->zeros;
	}
	if (s->sums >= 0 && scaled) {
		s->scales = add_scales(p);
		if (s->scales < 0)
			return s->scales;
	}
	if (s->sums >= 0 && p->late) {
		s->factors = add_numbers(p, "_factors", zero_factor);
		if (s->factors < 0)
			return s->factors;
	}
	return s->sums < 0 ? s->sums : CNN_OK;
}

static int split(struct hwpec_product *p)
{
	struct parts s;
	struct cnn_node *n;
	int ret = p->late && cnn_window_is_padded(&p->win) ? add_pad(p) : CNN_OK;

	if (!ret)
		ret = add_parts(p, &s);
	if (!ret)
		ret = turn_node(p, s.weights, s.sums);
	if (!ret)
		ret = cnn_fuse_insert(p->g, p->node + 1, CNN_OP_QLINEAR_SUMS, "QLinearSums", s.sums,
				      s.out, p->err);
	if (ret)
		return ret;
	n = &p->g->nodes[p->node + 1];
	ret = cnn_fuse_set_input(n, 1, s.terms, p->err);
	if (!ret && s.zeros >= 0)
		ret = cnn_fuse_set_input(n, 2, s.zeros, p->err);
	if (!ret && s.scales >= 0)
		ret = cnn_fuse_set_input(n, 3, s.scales, p->err);
	if (!ret && s.scales >= 0)
		ret = cnn_fuse_set_input(n, 4, s.y_zero, p->err);
	if (!ret && s.factors >= 0)
		ret = cnn_fuse_set_input(n, 5, s.x_zero, p->err);
	if (!ret && s.factors >= 0)
		ret = cnn_fuse_set_input(n, 6, s.factors, p->err);
	if (!ret)
		ret = cnn_node_add_int(n, "axis", s.axis, p->err);
	if (!ret)
		ret = cnn_node_add_int(n, "group", p->groups, p->err);
	return ret || !p->why[0] ? ret : cnn_node_add_str(n, "why", p->why, p->err);
}

/* All is left to the core. */
static int shift_out(const struct hwpec_product *p)
{
	struct cnn_node *n = &p->g->nodes[p->node];
	int weights = add_weights(p), starts = -1, ret = weights < 0 ? weights : CNN_OK;
	bool any = false;

	for (int64_t k = 0; k < p->channels; k++)
		any |= hwpec_shift_start(p, k) != 0;
	if (!ret && any) {
		starts = add_numbers(p, "_starts", hwpec_shift_start);
		ret = starts < 0 ? starts : CNN_OK;
	}
	if (!ret)
		ret = turn_node(p, weights, n->out[0]);
	if (!ret && any)
		ret = cnn_fuse_set_input(n, 4, starts, p->err);
	return ret ? ret : cnn_node_add_int(n, "shift_out", p->shift, p->err);
}

int cnn_fuse_sums(struct cnn_graph *g, struct cnn_err *err)
{
	int ret = cnn_fuse_matrices(g, err);

	if (!ret)
		ret = hwpec_shift_types(g, err);
	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct hwpec_product p = { .g = g, .node = i, .err = err };

		if (!hwpec_product_get(&p))
			continue;
		hwpec_product_find_shift(&p);
		if (p.shift >= 0 && cnn_node_out(g, &g->nodes[i], 0)->dtype == CNN_UINT8) {
			ret = shift_out(&p);
			continue;
		}
		if (p.shift >= 0)
			strcpy(p.why, "the result is int8 and not only for quantised products");
		p.shift = -1;
		ret = split(&p);
		i = p.node + 1;
	}
	return ret ? ret : cnn_graph_link(g, err);
}
