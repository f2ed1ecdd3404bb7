// SPDX-License-Identifier: MIT
/* Pass: merge nodes into the node before them. */
#include <math.h>

#include "merge.h"

static bool clip_activation(const struct cnn_graph *g, const struct cnn_node *b,
			    struct cnn_act *act)
{
	if (!cnn_clip_bounds(g, b, &act->a, &act->b) || act->a > act->b)
		return false;
	act->kind = act->a == 0 && act->b == INFINITY ? CNN_ACT_RELU : CNN_ACT_CLIP;
	return true;
}

/* Is b a product or sum of a's output and a constant of one float? The flag needed, or 0. */
static unsigned int affine(const struct cnn_graph *g, const struct cnn_node *a,
			   const struct cnn_node *b, struct cnn_act *act)
{
	const struct cnn_tensor *t = cnn_merge_operand(g, a, b, b->op);

	if (!t || cnn_tensor_count(t) != 1)
		return 0;
	act->kind = CNN_ACT_AFFINE;
	act->a = b->op == CNN_OP_MUL ? *(float *)t->data : 1;
	act->b = b->op == CNN_OP_MUL ? 0 : *(float *)t->data;
	return CNN_FUSE_ACT_SCALAR;
}

/* The flag needed to fuse activation b into a; 0 if b is not an activation. */
static unsigned int activation(const struct cnn_graph *g, const struct cnn_node *a,
			       const struct cnn_node *b, struct cnn_act *act)
{
	static const struct {
		enum cnn_op op;
		enum cnn_act_kind kind;
		unsigned int flag;
	} kinds[] = {
		{ CNN_OP_RELU, CNN_ACT_RELU, CNN_FUSE_RELU },
		{ CNN_OP_SIGMOID, CNN_ACT_SIGMOID, CNN_FUSE_SIGMOID },
		{ CNN_OP_HARD_SIGMOID, CNN_ACT_HARD_SIGMOID, CNN_FUSE_HARD_SIGMOID },
		{ CNN_OP_HARD_SWISH, CNN_ACT_HARD_SWISH, CNN_FUSE_HARD_SWISH },
		{ CNN_OP_LEAKY_RELU, CNN_ACT_LEAKY_RELU, CNN_FUSE_LEAKY_RELU },
		{ CNN_OP_SWISH, CNN_ACT_SWISH, CNN_FUSE_ACT_SCALAR },
	};
	const struct cnn_unary_params *p = &b->params.unary;

	if (b->op == CNN_OP_MUL || b->op == CNN_OP_ADD)
		return affine(g, a, b, act);
	if (b->op == CNN_OP_CLIP && clip_activation(g, b, act))
		return act->kind == CNN_ACT_RELU ? CNN_FUSE_RELU : CNN_FUSE_CLIP;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (b->op == kinds[i].op) {
			*act = (struct cnn_act){ kinds[i].kind, p->alpha, p->beta };
			return kinds[i].flag;
		}
	return 0;
}

/* The flags that allow activations of a. Operators that only the CPU runs need CNN_FUSE_IDIOMS. */
static unsigned int allowed_flags(const struct cnn_pass *f, const struct cnn_node *a)
{
	const struct cnn_tensor *y = cnn_node_out(f->g, a, 0);

	if (!cnn_is_float(y, f->what & CNN_FUSE_HALF) || y->rank < 0)
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
		return f->what & CNN_FUSE_FOR_CPU ? f->what : 0;
	case CNN_OP_SUB:
	case CNN_OP_MUL:
	case CNN_OP_DIV:
	case CNN_OP_DEPTH_TO_SPACE:
	case CNN_OP_LEAKY_RELU:
	case CNN_OP_HARD_SWISH:
	case CNN_OP_SWISH:
		return f->what & CNN_FUSE_IDIOMS ? CNN_FUSE_ALL : 0;
	default:
		return 0;
	}
}

/* Does every window of pool a contain an element of its input, not only padding? */
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
 * Relu and maximum commute. Pooling units have no Relu, so a Relu after a pool moves to the product
 * before the pool, if the pool is its only reader.
 */
static int fuse_pool_relu(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	const struct cnn_value *v = &f->g->values[a->in[0]];
	struct cnn_node *p = v->producer >= 0 ? &f->g->nodes[v->producer] : NULL;
	struct cnn_act act = { 0 };
	int ret;

	if (!(f->what & CNN_FUSE_RELU) || activation(f->g, a, b, &act) != CNN_FUSE_RELU)
		return 0;
	if (!p || cnn_rewrite_only_reader(f->g, p) != a || p->act.kind != CNN_ACT_NONE ||
	    (a->n_out > 1 && a->out[1] >= 0) || !windows_hold_data(f->g, a))
		return 0;
	if (p->op != CNN_OP_CONV && p->op != CNN_OP_GEMM && p->op != CNN_OP_MATMUL)
		return 0;
	ret = cnn_rewrite_merge(f->g, a, b, p, f->err);
	if (ret > 0) {
		p->act = act;
		f->g->values[p->out[0]].rewritten = true;
	}
	return ret;
}

static int fuse_activation(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	bool scaled = a->act.kind == CNN_ACT_AFFINE && a->act.b == 0;
	unsigned int flags = allowed_flags(f, a);
	struct cnn_act act = { 0 };

	if (!flags || !(flags & activation(f->g, a, b, &act)))
		return 0;
	if (scaled && act.kind == CNN_ACT_AFFINE && act.a == 1)
		act.a = a->act.a;
	else if (a->act.kind != CNN_ACT_NONE)
		return 0;
	a->act = act;
	return cnn_rewrite_merge(f->g, a, b, a, f->err);
}

/* 1 if b was merged into a, 0 if not, or an error. */
static int fuse_pair(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	int ret = 0;

	/* None of the merges preserves an activation of b. */
	if (!b->out || b->out[0] < 0 || b->in[0] < 0 || b->act.kind != CNN_ACT_NONE)
		return 0;
	if ((f->what & CNN_FUSE_NOP) && b->in[0] == a->out[0] && cnn_is_nop(f->g, b))
		return cnn_rewrite_merge(f->g, a, b, a, f->err);
	if (f->what & CNN_FUSE_BN)
		ret = (b->in[0] == a->out[0] ? cnn_merge_bn(f, a, b) : 0) ?:
		      cnn_merge_scale(f, a, b) ?: cnn_merge_affine(f, a, b);
	if (!ret && (f->what & CNN_FUSE_BIAS))
		ret = cnn_merge_bias(f, a, b);
	if (!ret && a->op == CNN_OP_MAX_POOL && !(f->what & CNN_FUSE_FOR_CPU))
		return fuse_pool_relu(f, a, b);
	if (!ret && (b->in[0] == a->out[0] || b->op == CNN_OP_MUL || b->op == CNN_OP_ADD))
		ret = fuse_activation(f, a, b);
	return ret;
}

int cnn_pass_merge(struct cnn_pass *f, int i)
{
	struct cnn_node *a = &f->g->nodes[i], *b;
	int ret = 1;

	while (ret > 0) {
		b = cnn_rewrite_only_reader(f->g, a);
		ret = b ? fuse_pair(f, a, b) : 0;
	}
	return ret;
}
