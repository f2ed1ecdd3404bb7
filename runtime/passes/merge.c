// SPDX-License-Identifier: MIT
/* Merging nodes into the node before them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge.h"

/* Does node n do nothing but hand on input 0? */
static bool is_nop(const struct cnn_graph *g, const struct cnn_node *n)
{
	if (cnn_node_out(g, n, 0)->rank < 0)	/* Dropout's mode may come at run time */
		return false;
	if (n->op == CNN_OP_DROPOUT)
		return n->n_out < 2 || n->out[1] < 0 ||
		       (!g->values[n->out[1]].n_consumers && !g->values[n->out[1]].is_output);
	return n->op == CNN_OP_IDENTITY;
}

/* Readers of a no-op's output read its input instead. */
static int drop_nops(struct cnn_graph *g, struct cnn_err *err)
{
	int *source = malloc(sizeof(*source) * (g->n_values + 1));

	if (!source)
		return nomem(err);
	for (int i = 0; i < g->n_values; i++)
		source[i] = i;
	for (int i = 0; i < g->n_nodes; i++) {
		struct cnn_node *n = &g->nodes[i];

		for (int j = 0; j < n->n_in; j++)
			if (n->in[j] >= 0)
				n->in[j] = source[n->in[j]];
		if (!is_nop(g, n) || g->values[n->out[0]].is_output)
			continue;
		source[n->out[0]] = n->in[0];
		cnn_node_free(n);
	}
	free(source);
	return cnn_graph_compact(g, err);
}

struct cnn_node *cnn_fuse_only_reader(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_value *v = &g->values[n->out[0]];

	if (v->is_output || v->n_consumers != 1)
		return NULL;
	return &g->nodes[v->consumers[0]];
}

int cnn_fuse_note(struct cnn_node *a, const struct cnn_node *b, struct cnn_err *err)
{
	size_t old = a->fused ? strlen(a->fused) : 0;
	size_t len = old + strlen(b->op_type) + strlen(b->name) + (b->fused ? strlen(b->fused) : 0) + 6;
	char *text = realloc(a->fused, len);

	if (!text)
		return nomem(err);
	snprintf(text + old, len - old, "%s%s %s%s%s", old ? ", " : "", b->op_type, b->name,
		 b->fused ? ", " : "", b->fused ? b->fused : "");
	a->fused = text;
	return CNN_OK;
}

/* b, the only reader of a's output, disappears: a gives b's output, and note says so of a node. */
static int merge_as(struct fuse *f, struct cnn_node *a, struct cnn_node *b, struct cnn_node *note)
{
	struct cnn_value *mid = &f->g->values[a->out[0]], *end = &f->g->values[b->out[0]];
	int ret = cnn_fuse_note(note, b, f->err);

	if (ret)
		return ret;
	end->producer = mid->producer;
	mid->producer = -1;
	mid->n_consumers = 0;
	a->out[0] = b->out[0];
	cnn_node_free(b);
	return 1;
}

int cnn_fuse_merge(struct fuse *f, struct cnn_node *a, struct cnn_node *b)
{
	return merge_as(f, a, b, a);
}

int cnn_fuse_set_input(struct cnn_node *a, int i, int b, struct cnn_err *err)
{
	if (i >= a->n_in) {
		int *in = realloc(a->in, sizeof(*in) * (i + 1));

		if (!in)
			return nomem(err);
		while (a->n_in <= i)
			in[a->n_in++] = -1;
		a->in = in;
	}
	a->in[i] = b;
	return CNN_OK;
}

int cnn_fuse_set_const(struct cnn_graph *g, struct cnn_node *a, int i,
		       const struct cnn_tensor *shape, const char *suffix, float **data,
		       struct cnn_err *err)
{
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = shape->rank };
	char name[128];
	int ret;

	memcpy(t.dims, shape->dims, sizeof(t.dims));
	ret = cnn_tensor_alloc(&t, g->limits.tensor_bytes, err);
	if (ret)
		return ret;
	*data = t.data;
	snprintf(name, sizeof(name), "%.100s%s", a->name, suffix);
	ret = cnn_graph_add_value(g, name, &t, err);
	if (ret < 0) {
		cnn_tensor_release(&t);
		return ret;
	}
	return cnn_fuse_set_input(a, i, ret, err);
}

/* Bound i (1: min, 2: max) of a Clip; false if it is not known. */
static bool clip_bound(const struct cnn_graph *g, const struct cnn_node *b, int i, float *v)
{
	const struct cnn_tensor *t = cnn_node_in(g, b, i);

	*v = cnn_node_float(b, i == 1 ? "min" : "max", i == 1 ? -INFINITY : INFINITY);
	if (t && is_const(t))
		*v = *(float *)t->data;
	return !t || is_const(t);
}

static bool clip_activation(const struct cnn_graph *g, const struct cnn_node *b,
			    struct cnn_act *act)
{
	if (!clip_bound(g, b, 1, &act->a) || !clip_bound(g, b, 2, &act->b) || act->a > act->b)
		return false;
	act->kind = act->a == 0 && act->b == INFINITY ? CNN_ACT_RELU : CNN_ACT_CLIP;
	return true;
}

/* Multiplying by one constant, or adding one, to the output of a. */
static unsigned int affine(const struct cnn_graph *g, const struct cnn_node *a,
			   const struct cnn_node *b, struct cnn_act *act)
{
	const struct cnn_tensor *t = cnn_fuse_operand(g, a, b, b->op);

	if (!t || cnn_tensor_count(t) != 1)
		return 0;
	act->kind = CNN_ACT_AFFINE;
	act->a = b->op == CNN_OP_MUL ? *(float *)t->data : 1;
	act->b = b->op == CNN_OP_MUL ? 0 : *(float *)t->data;
	return CNN_FUSE_OTHER;
}

/* The flag that lets b become an activation of a; 0 if it is none. */
static unsigned int activation(const struct cnn_graph *g, const struct cnn_node *a,
			       const struct cnn_node *b, struct cnn_act *act)
{
	switch (b->op) {
	case CNN_OP_RELU:
		act->kind = CNN_ACT_RELU;
		return CNN_FUSE_RELU;
	case CNN_OP_CLIP:
		if (!clip_activation(g, b, act))
			return 0;
		return act->kind == CNN_ACT_RELU ? CNN_FUSE_RELU : CNN_FUSE_CLIP;
	case CNN_OP_SIGMOID:
		act->kind = CNN_ACT_SIGMOID;
		return CNN_FUSE_SIGMOID;
	case CNN_OP_HARD_SIGMOID:
		act->kind = CNN_ACT_HARD_SIGMOID;
		act->a = cnn_node_float(b, "alpha", 0.2f);
		act->b = cnn_node_float(b, "beta", 0.5f);
		return CNN_FUSE_HARD;
	case CNN_OP_HARD_SWISH:
		act->kind = CNN_ACT_HARD_SWISH;
		return CNN_FUSE_HARD;
	case CNN_OP_LEAKY_RELU:
		act->kind = CNN_ACT_LEAKY_RELU;
		act->a = cnn_node_float(b, "alpha", 0.01f);
		return CNN_FUSE_OTHER;
	case CNN_OP_SWISH:
		act->kind = CNN_ACT_SWISH;
		act->a = cnn_node_float(b, "alpha", 1);
		return CNN_FUSE_OTHER;
	case CNN_OP_MUL:
	case CNN_OP_ADD:
		return affine(g, a, b, act);
	default:
		return 0;
	}
}

/* The flags by which a takes activations: for what no core runs, CNN_FUSE_CHAIN lets it. */
static unsigned int takes(const struct fuse *f, const struct cnn_node *a)
{
	const struct cnn_tensor *y = cnn_node_out(f->g, a, 0);

	if (y->dtype != CNN_FLOAT32 || y->rank < 0)
		return 0;
	switch (a->op) {
	case CNN_OP_CONV:
	case CNN_OP_CONV_TRANSPOSE:
	case CNN_OP_GEMM:
	case CNN_OP_MATMUL:
	case CNN_OP_ADD:
	case CNN_OP_BATCH_NORM:
	case CNN_OP_AVERAGE_POOL:
	case CNN_OP_GLOBAL_AVERAGE_POOL:
	case CNN_OP_GLOBAL_MAX_POOL:
		return f->what;
	case CNN_OP_MAX_POOL:
		return f->what & CNN_FUSE_CPU ? f->what : 0;
	case CNN_OP_SUB:
	case CNN_OP_MUL:
	case CNN_OP_DIV:
	case CNN_OP_DEPTH_TO_SPACE:
	case CNN_OP_LEAKY_RELU:
	case CNN_OP_HARD_SWISH:
	case CNN_OP_SWISH:
		return f->what & CNN_FUSE_CHAIN ? CNN_FUSE_ALL : 0;
	default:
		return 0;
	}
}

/* Does every window of pool a hold an element of the map, not padding alone? */
static bool windows_hold_data(const struct cnn_graph *g, const struct cnn_node *a)
{
	struct cnn_window w;

	if (cnn_node_out(g, a, 0)->rank < 0 || cnn_node_window(g, a, &w, NULL))
		return false;
	for (int i = 0; i < w.spatial; i++) {
		int64_t past = (w.out[i] - 1) * w.stride[i] - w.pad_begin[i];

		if (w.dilation[i] != 1 || w.pad_begin[i] >= w.kernel[i] || past >= w.in[i])
			return false;
	}
	return true;
}

/*
 * Relu after a maximum is the maximum after Relu: a pool, whose unit has none, hands it to the
 * product before it if nobody else sees what that makes.
 */
static int fuse_pool_relu(struct fuse *f, struct cnn_node *a, struct cnn_node *b)
{
	const struct cnn_value *v = &f->g->values[a->in[0]];
	struct cnn_node *p = v->producer >= 0 ? &f->g->nodes[v->producer] : NULL;
	struct cnn_act act = { 0 };
	int ret;

	if (!(f->what & CNN_FUSE_RELU) || activation(f->g, a, b, &act) != CNN_FUSE_RELU)
		return 0;
	if (!p || cnn_fuse_only_reader(f->g, p) != a || p->act.kind != CNN_ACT_NONE ||
	    (a->n_out > 1 && a->out[1] >= 0) || !windows_hold_data(f->g, a))
		return 0;
	if (p->op != CNN_OP_CONV && p->op != CNN_OP_GEMM && p->op != CNN_OP_MATMUL)
		return 0;
	ret = merge_as(f, a, b, p);
	if (ret > 0) {
		p->act = act;
		f->g->values[p->out[0]].rewritten = true;
	}
	return ret;
}

static int fuse_activation(struct fuse *f, struct cnn_node *a, struct cnn_node *b)
{
	bool scaled = a->act.kind == CNN_ACT_AFFINE && a->act.b == 0;
	unsigned int flags = takes(f, a);
	struct cnn_act act = { 0 };

	if (!flags || !(flags & activation(f->g, a, b, &act)))
		return 0;
	if (scaled && act.kind == CNN_ACT_AFFINE && act.a == 1)
		act.a = a->act.a;
	else if (a->act.kind != CNN_ACT_NONE)
		return 0;
	a->act = act;
	return cnn_fuse_merge(f, a, b);
}

/* 1 if b was merged into a, 0 if not, or an error. */
static int fuse_pair(struct fuse *f, struct cnn_node *a, struct cnn_node *b)
{
	int ret = 0;

	/* None of these hands on what b itself does to its results. */
	if (!b->out || b->out[0] < 0 || b->in[0] < 0 || b->act.kind != CNN_ACT_NONE)
		return 0;
	if ((f->what & CNN_FUSE_NOP) && b->in[0] == a->out[0] && is_nop(f->g, b))
		return cnn_fuse_merge(f, a, b);
	if (f->what & CNN_FUSE_BN)
		ret = b->in[0] == a->out[0] ? cnn_fuse_bn(f, a, b) : 0;
	if (!ret && (f->what & CNN_FUSE_BN))
		ret = cnn_fuse_conv_scale(f, a, b);
	if (!ret && (f->what & CNN_FUSE_BIAS))
		ret = cnn_fuse_bias(f, a, b);
	if (!ret && a->op == CNN_OP_MAX_POOL && !(f->what & CNN_FUSE_CPU))
		return fuse_pool_relu(f, a, b);
	if (!ret && (b->in[0] == a->out[0] || b->op == CNN_OP_MUL || b->op == CNN_OP_ADD))
		ret = fuse_activation(f, a, b);
	return ret;
}

static int fuse_node(struct fuse *f, struct cnn_node *a)
{
	struct cnn_node *b;
	int ret = 1;

	while (ret > 0) {
		b = a->op_type ? cnn_fuse_only_reader(f->g, a) : NULL;
		ret = b ? fuse_pair(f, a, b) : 0;
	}
	return ret;
}

static int fuse_all(struct fuse *f)
{
	int ret = CNN_OK;

	for (int i = 0; !ret && i < f->g->n_nodes; i++)
		ret = fuse_node(f, &f->g->nodes[i]);
	return ret ? ret : cnn_graph_compact(f->g, f->err);
}

int cnn_graph_fuse(struct cnn_graph *g, unsigned int what, struct cnn_err *err)
{
	struct fuse f = { g, what, err };
	int ret = 0;

	if (!g->inferred)
		return cnn_fail(err, CNN_EINVAL, "shapes are inferred before nodes are fused");
	if (what & CNN_FUSE_NOP)
		ret = drop_nops(g, err);
	if (!ret && (what & CNN_FUSE_QDQ))
		ret = cnn_fuse_qdq(g, err);
	if (!ret)
		ret = cnn_graph_fold_dequantised(g, err);
	if (!ret && (what & CNN_FUSE_CHAIN))
		ret = cnn_fuse_chains(g, err);
	if (!ret && (what & CNN_FUSE_CHAIN))
		ret = cnn_fuse_scaled_adds(g, err);
	if (!ret)
		ret = fuse_all(&f);
	if (!ret && (what & CNN_FUSE_CHAIN))
		ret = cnn_fuse_scales(&f);
	if (!ret && (what & CNN_FUSE_SHUFFLE) && !(what & CNN_FUSE_CPU)) {
		ret = cnn_fuse_shuffles(g, err);
		ret = ret ? ret : fuse_all(&f);		/* what follows the last shuffle */
	}
	if (!ret && (what & CNN_FUSE_STRIDE) && !(what & CNN_FUSE_CPU))
		ret = cnn_fuse_strides(g, err);
	if (!ret && (what & CNN_FUSE_ADD))
		ret = cnn_fuse_additions(g, what, err);
	if (!ret && (what & CNN_FUSE_SUMS))
		ret = cnn_fuse_sums(g, err);
	if (!ret)
		cnn_graph_drop_constants(g);
	return ret;
}
