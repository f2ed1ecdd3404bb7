// SPDX-License-Identifier: MIT
/*
 * Rewrites quantised products as sums of products without zero points:
 *
 *	sum (x - a) (w - b) = sum x w - a sum w - b sum x + n a b
 *
 * for the n products of an output; padding has the value a. The sums of w are constants. If a b is
 * not zero, the sum of x is one more output channel, whose weights are 1. All is modulo 2^32. If a
 * is known at run time only, it is applied then, and x is padded by a node before.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/quant.h"
#include "qproduct.h"

/* Adds a constant, which the caller fills. Returns its value, or an error. */
static int add_const(const struct cnn_qproduct *p, struct cnn_tensor *t, const char *suffix,
		     void **data)
{
	return cnn_rewrite_add_const(p->g, p->g->nodes[p->node].name, suffix, t, data, p->err);
}

/* Sums of a group: its channels, and the sum of inputs if there is one. */
static int64_t group_sums(const struct cnn_qproduct *p)
{
	return p->channels / p->groups + p->by_inputs;
}

/* A right shift loses nothing here. */
static int scaled(int weight, int up)
{
	return up < 0 ? weight >> -up : weight * (1 << up);
}

int cnn_qproduct_add_weights(const struct cnn_qproduct *p, cnn_qproduct_up up)
{
	struct cnn_tensor t = { .dtype = CNN_INT8, .rank = 2 };
	int64_t own = p->channels / p->groups, all = group_sums(p) * p->groups;
	void *data = NULL;
	int ret;

	if (p->conv) {
		t = *cnn_qproduct_input(p, p->form.w);
		t = (struct cnn_tensor){ .dtype = CNN_INT8, .rank = t.rank };
		memcpy(t.dims, cnn_qproduct_input(p, p->form.w)->dims, sizeof(t.dims));
		t.dims[0] = all;
	} else {
		t.dims[0] = p->taps;
		t.dims[1] = all;
	}
	ret = add_const(p, &t, "_weights", &data);
	for (int64_t i = 0; i < all && ret >= 0; i++) {
		int64_t j = i % group_sums(p), k = i / group_sums(p) * own + j;
		int by = up ? up(p, k) : 0;

		for (int64_t tap = 0; tap < p->taps; tap++)
			((int8_t *)data)[p->conv ? i * p->taps + tap : tap * all + i] =
				(int8_t)(j < own ? scaled(cnn_qproduct_weight(p, k, tap), by) : 1);
	}
	return ret;
}

int cnn_qproduct_add_numbers(const struct cnn_qproduct *p, const char *suffix,
			     int32_t (*number)(const struct cnn_qproduct *p, int64_t k))
{
	struct cnn_tensor t = { .dtype = CNN_INT32, .rank = 1, .dims = { p->channels } };
	void *data = NULL;
	int ret = add_const(p, &t, suffix, &data);

	for (int64_t k = 0; k < p->channels && ret >= 0; k++)
		((int32_t *)data)[k] = number(p, k);
	return ret;
}

static int add_terms(const struct cnn_qproduct *p)
{
	const struct cnn_tensor *bias = cnn_qproduct_input(p, p->form.bias);

	if (bias && cnn_tensor_count(bias) != p->channels)
		return cnn_fail(p->err, CNN_EINVAL, "a bias of another length");
	return cnn_qproduct_add_numbers(p, "_terms", cnn_qproduct_term);
}

static int add_scales(const struct cnn_qproduct *p)
{
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = 1, .dims = { p->channels } };
	void *data = NULL;
	int ret = add_const(p, &t, "_scales", &data);

	for (int64_t k = 0; k < p->channels && ret >= 0; k++)
		((float *)data)[k] = cnn_qproduct_scale(p, k);
	return ret;
}

/* Sets the other inputs of the Pad, and leaves the convolution without padding. */
static int set_padding(const struct cnn_qproduct *p, int pads)
{
	struct cnn_node *pad = &p->g->nodes[p->node - 1], *n = &p->g->nodes[p->node];
	int ret = cnn_rewrite_set_input(pad, 1, pads, p->err) ?:
		  cnn_rewrite_set_input(pad, 2, n->in[p->form.x_zero], p->err);

	n->params.window.auto_pad = CNN_PAD_NOTSET;
	n->params.window.pads.n = -1;
	return ret;
}

/* Pads x by a node of its own, before the product. */
static int add_pad(struct cnn_qproduct *p)
{
	struct cnn_tensor x = cnn_qproduct_padded(p);
	struct cnn_tensor t = { .dtype = CNN_INT64, .rank = 1, .dims = { 2 * x.rank } };
	struct cnn_node *n = &p->g->nodes[p->node];
	void *data = NULL;
	int pads = add_const(p, &t, "_pads", &data), mid, ret;

	if (pads < 0)
		return pads;
	memset(data, 0, (size_t)(2 * x.rank) * sizeof(int64_t));
	for (int i = 0; i < p->win.spatial; i++) {
		((int64_t *)data)[2 + i] = p->win.pad_begin[i];
		((int64_t *)data)[x.rank + 2 + i] = p->win.pad_end[i];
	}
	mid = cnn_rewrite_add_value(p->g, n->name, "_padded", &x, p->err);
	if (mid < 0)
		return mid;
	ret = cnn_rewrite_insert(p->g, p->node, CNN_OP_PAD, n->in[0], mid, p->err);
	if (ret)
		return ret;
	p->g->nodes[++p->node].in[0] = mid;
	return set_padding(p, pads);
}

static int add_sums(const struct cnn_qproduct *p, int axis)
{
	const struct cnn_node *n = &p->g->nodes[p->node];
	struct cnn_tensor t = *cnn_node_out(p->g, n, 0);

	t.dtype = CNN_INT32;
	t.dims[axis] = group_sums(p) * p->groups;
	return cnn_rewrite_add_value(p->g, p->g->values[n->out[0]].name, "_sums", &t, p->err);
}

int cnn_qproduct_turn(const struct cnn_qproduct *p, int weights, int sums)
{
	struct cnn_node *n = &p->g->nodes[p->node];
	bool pads = p->conv && p->x_zero, ours = p->by_inputs || pads || p->shift >= 0;
	enum cnn_op conv = ours ? CNN_OP_CONV_SUMS : CNN_OP_CONV_INTEGER;
	enum cnn_op matmul = ours ? CNN_OP_MATMUL_SUMS : CNN_OP_MATMUL_INTEGER;
	int ret = cnn_rewrite_rename(n, p->conv ? conv : matmul, p->err);

	n->in[1] = weights;
	n->n_in = 2;
	n->out[0] = sums;
	if (ret || !ours)
		return ret;
	/* The sums of inputs do not count as multiply-adds of the network. */
	n->params.product.input_sums = p->by_inputs;
	n->params.product.pad_value = pads ? p->x_zero : 0;
	return CNN_OK;
}

/* Inputs of a QLinearSums behind the sums. */
enum { TERMS = 1, ZEROS, SCALES, Y_ZERO, X_ZERO, FACTORS, SUMS_INPUTS = FACTORS };

struct parts {
	int weights, sums, out, axis;
	int input[SUMS_INPUTS + 1];	/* -1: it has none */
};

static int add_parts(const struct cnn_qproduct *p, struct parts *s)
{
	const struct cnn_node *n = &p->g->nodes[p->node];
	bool scaled = p->form.y_scale >= 0;
	int *in = s->input, ret;

	s->out = n->out[0];
	s->axis = p->conv ? 1 : cnn_node_out(p->g, n, 0)->rank - 1;
	for (int i = 0; i <= SUMS_INPUTS; i++)
		s->input[i] = -1;
	in[Y_ZERO] = scaled ? n->in[p->form.y_scale + 1] : -1;
	in[X_ZERO] = p->late ? n->in[p->form.x_zero] : -1;
	s->weights = cnn_qproduct_add_weights(p, NULL);
	in[TERMS] = s->weights < 0 ? s->weights : add_terms(p);
	s->sums = ret = in[TERMS] < 0 ? in[TERMS] : add_sums(p, s->axis);
	if (ret >= 0 && p->by_inputs)
		in[ZEROS] = ret = cnn_qproduct_add_numbers(p, "_zeros", cnn_qproduct_weight_zero);
	if (ret >= 0 && scaled)
		in[SCALES] = ret = add_scales(p);
	if (ret >= 0 && p->late)
		in[FACTORS] = ret = cnn_qproduct_add_numbers(p, "_factors", cnn_qproduct_zero_factor);
	return ret < 0 ? ret : CNN_OK;
}

int cnn_qproduct_split(struct cnn_qproduct *p)
{
	struct parts s;
	struct cnn_sums_params *sums;
	struct cnn_node *n;
	int ret = p->late && cnn_window_is_padded(&p->win) ? add_pad(p) : CNN_OK;

	ret = ret ?: add_parts(p, &s) ?: cnn_qproduct_turn(p, s.weights, s.sums) ?:
	      cnn_rewrite_insert(p->g, p->node + 1, CNN_OP_QLINEAR_SUMS, s.sums, s.out, p->err);
	if (ret)
		return ret;
	n = &p->g->nodes[p->node + 1];
	for (int i = 1; i <= SUMS_INPUTS && !ret; i++)
		if (s.input[i] >= 0)
			ret = cnn_rewrite_set_input(n, i, s.input[i], p->err);
	sums = &n->params.sums;
	sums->axis = s.axis;
	sums->group = p->groups;
	memcpy(sums->why, p->why, sizeof(sums->why));
	return ret;
}
