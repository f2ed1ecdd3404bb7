// SPDX-License-Identifier: MIT
/* What becomes of each node, and the scale and zero of each value. */
#include <math.h>
#include <stdlib.h>

#include "passes/rewrite.h"
#include "pot8.h"

#define POINTS_MAX	64	/* of a mean */
#define LOW		(-128)	/* a zero for values that are never negative */

static int find(struct pot8 *p, int v, bool scale)
{
	while (*(scale ? &p->value[v].scale_group : &p->value[v].same) != v)
		v = *(scale ? &p->value[v].scale_group : &p->value[v].same);
	return v;
}

static void join_scales(struct pot8 *p, int a, int b)
{
	p->value[find(p, a, true)].scale_group = find(p, b, true);
}

static void join(struct pot8 *p, int a, int b)
{
	p->value[find(p, a, false)].same = find(p, b, false);
	join_scales(p, a, b);
}

float pot8_scale(const struct pot8 *p, int value)
{
	return p->value[find((struct pot8 *)p, value, true)].scale;
}

int pot8_zero(const struct pot8 *p, int value)
{
	return p->value[find((struct pot8 *)p, value, false)].zero;
}

/* ---- kinds ---- */

static bool is_const(const struct cnn_graph *g, const struct cnn_node *n, int i)
{
	const struct cnn_tensor *t = cnn_node_in(g, n, i);

	return t && t->data && t->dtype == CNN_FLOAT32;
}

static bool is_layer(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *w = cnn_node_in(g, n, 1);

	if (!x || x->data || !is_const(g, n, 1) || (cnn_node_in(g, n, 2) && !is_const(g, n, 2)))
		return false;
	if (n->op == CNN_OP_CONV)
		return x->rank == 4;
	return x->rank == 2 && w->rank == 2 && !(n->op == CNN_OP_GEMM && n->params.gemm.trans_a);
}

static bool is_mean(const struct cnn_graph *g, const struct cnn_node *n)
{
	struct cnn_window w;

	if (n->op != CNN_OP_AVERAGE_POOL && n->op != CNN_OP_GLOBAL_AVERAGE_POOL)
		return false;
	return cnn_node_in(g, n, 0)->rank == 4 && !cnn_node_window(g, n, &w, NULL) &&
	       w.kernel[0] * w.kernel[1] <= POINTS_MAX && !cnn_window_is_padded(&w) && !w.ceil_mode;
}

static bool is_function(enum cnn_op op)
{
	return op == CNN_OP_SIGMOID || op == CNN_OP_TANH || op == CNN_OP_HARD_SIGMOID ||
	       op == CNN_OP_HARD_SWISH || op == CNN_OP_SWISH || op == CNN_OP_GELU ||
	       op == CNN_OP_LEAKY_RELU || op == CNN_OP_ELU || op == CNN_OP_MISH ||
	       op == CNN_OP_SOFTPLUS || op == CNN_OP_RELU || op == CNN_OP_CLIP;
}

static bool is_made_int8(const struct pot8 *p, int v)
{
	return v >= 0 && p->value[v].is_int8;
}

static bool all_made_int8(const struct pot8 *p, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (!is_made_int8(p, n->in[i]))
			return false;
	return n->n_in > 0;
}

static bool same_shape(const struct cnn_tensor *a, const struct cnn_tensor *b)
{
	if (!a || !b || a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

static enum pot8_kind kind_of(const struct pot8 *p, const struct cnn_node *n)
{
	const struct cnn_graph *g = p->q->g;
	bool first = n->n_in > 0 && is_made_int8(p, n->in[0]);

	switch (n->op) {
	case CNN_OP_CONV:
	case CNN_OP_GEMM:
	case CNN_OP_MATMUL:
		return is_layer(g, n) ? POT8_LAYER : POT8_FLOAT;
	case CNN_OP_AVERAGE_POOL:
	case CNN_OP_GLOBAL_AVERAGE_POOL:
		return first && is_mean(g, n) ? POT8_MEAN : POT8_FLOAT;
	case CNN_OP_BATCH_NORM:
		return first && n->n_out == 1 && is_const(g, n, 1) && is_const(g, n, 2) &&
		       is_const(g, n, 3) && is_const(g, n, 4) ? POT8_SCALE : POT8_FLOAT;
	case CNN_OP_ADD:
	case CNN_OP_MUL:
		if (!all_made_int8(p, n) || n->in[0] == n->in[1])
			return POT8_FLOAT;
		return n->op == CNN_OP_ADD ? POT8_ADD : POT8_MUL;
	case CNN_OP_CONCAT:
		return all_made_int8(p, n) ? POT8_MOVE : POT8_FLOAT;
	case CNN_OP_MAX_POOL:
	case CNN_OP_FLATTEN:
	case CNN_OP_RESHAPE:
	case CNN_OP_SQUEEZE:
	case CNN_OP_UNSQUEEZE:
	case CNN_OP_TRANSPOSE:
		return first && (n->n_out == 1 || n->out[1] < 0) ? POT8_MOVE : POT8_FLOAT;
	default:
		return first && is_function(n->op) ? POT8_TABLE : POT8_FLOAT;
	}
}

/* Lets the node take over the Relu, or the Clip from 0, that is its only reader. */
static void take_relu(struct pot8 *p, int i)
{
	struct cnn_node *n = &p->q->g->nodes[i], *end = cnn_rewrite_only_reader(p->q->g, n);
	float low = 0, high = INFINITY;

	if (!end || (p->node[i].kind != POT8_LAYER && p->node[i].kind != POT8_ADD &&
		     p->node[i].kind != POT8_SCALE))
		return;
	if (end->op != CNN_OP_RELU &&
	    (end->op != CNN_OP_CLIP || !cnn_clip_bounds(p->q->g, end, &low, &high) || low != 0))
		return;
	p->node[end - p->q->g->nodes].kind = POT8_GONE;
	p->node[i].relu = true;
	p->node[i].out = end->out[0];
}

/* Values that must have one scale, or scale and zero. */
static void join_values(struct pot8 *p, const struct cnn_node *n, const struct pot8_node *made)
{
	for (int i = 0; i < n->n_in && made->kind != POT8_LAYER; i++) {
		if (!is_made_int8(p, n->in[i]))
			continue;
		if (made->kind == POT8_MOVE)
			join(p, n->in[i], made->out);
		if (made->kind == POT8_ADD)
			join_scales(p, n->in[i], made->out);
	}
}

static void mark(struct pot8 *p, const struct cnn_node *n, const struct pot8_node *made)
{
	for (int i = 0; i <= n->n_in; i++) {
		int v = i < n->n_in ? n->in[i] : made->out;
		struct pot8_value *value = v < 0 ? NULL : &p->value[find(p, v, false)];

		if (value && made->kind == POT8_ADD)
			value->added = true;
		if (value && made->kind == POT8_MUL)
			value->multiplied = true;
	}
}

/* The map that a node makes flat, if a kernel as large as that can read it; else -1. */
static int map_of(const struct pot8 *p, const struct cnn_node *n)
{
	const struct cnn_tensor *x = cnn_node_in(p->q->g, n, 0), *y = cnn_node_out(p->q->g, n, 0);
	int64_t points = x && x->rank == 4 ? x->dims[2] * x->dims[3] : 0;

	if ((n->op != CNN_OP_FLATTEN && n->op != CNN_OP_RESHAPE) || points < 2 ||
	    points > POINTS_MAX || x->dims[0] != 1 || y->rank != 2 || y->dims[0] != 1)
		return -1;
	return n->in[0];
}

int pot8_plan(struct pot8 *p)
{
	const struct cnn_graph *g = p->q->g;

	for (int v = 0; v < p->n_values; v++)
		p->value[v] = (struct pot8_value){ .same = v, .scale_group = v, .codes = -1, .map = -1 };
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];

		if (p->node[i].kind == POT8_GONE)
			continue;
		p->node[i] = (struct pot8_node){ .kind = kind_of(p, n), .out = n->out[0] };
		if ((p->node[i].kind == POT8_ADD || p->node[i].kind == POT8_MUL) &&
		    !same_shape(cnn_node_in(g, n, 0), cnn_node_out(g, n, 0)) &&
		    !same_shape(cnn_node_in(g, n, 1), cnn_node_out(g, n, 0)))
			p->node[i].kind = POT8_FLOAT;
		take_relu(p, i);
		if (p->node[i].kind == POT8_FLOAT)
			continue;
		p->value[p->node[i].out].is_int8 = true;
		if (p->node[i].kind == POT8_MOVE)
			p->value[n->out[0]].map = map_of(p, n);
		join_values(p, n, &p->node[i]);
	}
	for (int i = 0; i < g->n_nodes; i++)
		mark(p, &g->nodes[i], &p->node[i]);
	return EXIT_DONE;
}

/* ---- scales ---- */

/* The range of all values of one zero; the marks of the group come to its first value. */
static void gather_ranges(struct pot8 *p)
{
	for (int v = 0; v < p->n_values; v++) {
		struct pot8_value *from = &p->value[v], *to = &p->value[find(p, v, false)];

		to->low = fminf(to->low, from->low);
		to->high = fmaxf(to->high, from->high);
		to->added |= from->added;
		to->multiplied |= from->multiplied;
	}
}

/* The zero that suits a range best. */
static int natural_zero(const struct pot8_value *v)
{
	float span = v->high - v->low;

	if (v->multiplied)
		return 0;
	if (v->added)
		return v->low >= 0 ? LOW : 0;
	return span > 0 ? (int)lrintf(LOW - v->low / (span / 255)) : 0;
}

/* The scale at which a range fits int8 with a zero. */
static float scale_for(float low, float high, int zero)
{
	float above = zero < 127 ? high / (float)(127 - zero) : 0;
	float below = zero > LOW ? -low / (float)(zero - LOW) : 0;

	return fmaxf(fmaxf(above, below), 1e-20f);
}

/* Two terms that nothing else reads share the zero of a sum that is never negative. */
static bool share_zero(struct pot8 *p, const struct cnn_node *n, struct pot8_value *a,
		       struct pot8_value *b)
{
	float least = INFINITY;
	int best = 0;

	if (p->q->g->values[n->in[0]].n_consumers > 1 || p->q->g->values[n->in[1]].n_consumers > 1 ||
	    a->zero || b->zero)
		return false;
	for (int zero = LOW + 1; zero < 0; zero++) {
		float scale = fmaxf(scale_for(a->low, a->high, zero),
				    scale_for(b->low, b->high, LOW - zero));

		if (scale >= least)
			continue;
		least = scale;
		best = zero;
	}
	a->zero = best;
	b->zero = LOW - best;
	return true;
}

/* Makes the zeros of terms add up to that of their sum; true if that changed one. */
static bool settle_sum(struct pot8 *p, const struct cnn_node *n, int out)
{
	struct pot8_value *a = &p->value[find(p, n->in[0], false)];
	struct pot8_value *b = &p->value[find(p, n->in[1], false)];
	struct pot8_value *y = &p->value[find(p, out, false)];

	if (a->zero + b->zero == y->zero)
		return false;
	if (y->zero == LOW && share_zero(p, n, a, b))
		return true;
	a->zero = b->zero = y->zero = 0;
	return true;
}

static void settle_zeros(struct pot8 *p)
{
	bool again = true;

	for (int v = 0; v < p->n_values; v++)
		p->value[v].zero = natural_zero(&p->value[v]);
	while (again) {
		again = false;
		for (int i = 0; i < p->q->g->n_nodes; i++)
			if (p->node[i].kind == POT8_ADD)
				again |= settle_sum(p, &p->q->g->nodes[i], p->node[i].out);
	}
}

static void set_scales(struct pot8 *p)
{
	for (int v = 0; v < p->n_values; v++) {
		struct pot8_value *to = &p->value[find(p, v, true)];
		const struct pot8_value *own = &p->value[find(p, v, false)];

		to->scale = fmaxf(to->scale, scale_for(own->low, own->high, own->zero));
	}
	for (int v = 0; v < p->n_values; v++) {
		struct pot8_value *to = &p->value[find(p, v, true)];
		int exponent;

		if (!p->value[find(p, v, false)].multiplied ||
		    frexpf(to->scale, &exponent) == 0.5f)
			continue;
		frexpf(to->scale, &exponent);
		to->scale = ldexpf(1, exponent);
	}
}

/* A mean is exact if its scale is the input's times 2^shift / (points * weight). */
static void fit_means(struct pot8 *p)
{
	for (int i = 0; i < p->q->g->n_nodes; i++) {
		struct pot8_value *y = &p->value[find(p, p->node[i].out, true)];
		const struct pot8_value *zero = &p->value[find(p, p->node[i].out, false)];
		float x = pot8_scale(p, p->q->g->nodes[i].in[0]);
		struct cnn_window w;
		double points;
		int weight, shift;

		if (p->node[i].kind != POT8_MEAN || zero->added || zero->multiplied ||
		    cnn_node_window(p->q->g, &p->q->g->nodes[i], &w, NULL))
			continue;
		points = (double)(w.kernel[0] * w.kernel[1]);
		shift = pot8_mean_weight((double)x / (points * (double)y->scale), &weight);
		y->scale = (float)((double)x * ldexp(1, shift) / (points * weight));
	}
}

int pot8_choose_scales(struct pot8 *p)
{
	gather_ranges(p);
	settle_zeros(p);
	set_scales(p);
	fit_means(p);
	return EXIT_DONE;
}
