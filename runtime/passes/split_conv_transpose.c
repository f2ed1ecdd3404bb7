// SPDX-License-Identifier: MIT
/*
 * Pass: split a ConvTranspose whose taps do not overlap. Each tap is a 1 x 1 Conv, and a
 * DepthToSpace interleaves their outputs. A 1 x 1 Conv and DepthToSpace commute, so the
 * DepthToSpace, which no core runs, moves behind the 1 x 1 Convs that follow.
 */
#include <string.h>

#include "ops/cpu.h"
#include "merge.h"

#define BLOCK_MAX 4

static bool has_constants(const struct cnn_graph *g, const struct cnn_node *n)
{
	return cnn_is_const(cnn_node_in(g, n, 1)) &&
	       (!cnn_node_in(g, n, 2) || cnn_is_const(cnn_node_in(g, n, 2)));
}

/* The size of the output block of each input pixel of ConvTranspose n; 0: n cannot be split. */
static int64_t block_of(const struct cnn_graph *g, const struct cnn_node *n)
{
	struct cnn_window w;

	if (n->op != CNN_OP_CONV_TRANSPOSE || !has_constants(g, n) ||
	    cnn_node_out(g, n, 0)->rank != 4 || cnn_node_window(g, n, &w, NULL))
		return 0;
	for (int i = 0; i < 2; i++)
		if (w.kernel[i] != w.stride[i] || w.kernel[i] != w.kernel[0] ||
		    w.dilation[i] != 1 || w.pad_begin[i] || w.out[i] != w.in[i] * w.kernel[i])
			return 0;
	return w.group == 1 && w.kernel[0] > 1 && w.kernel[0] <= BLOCK_MAX ? w.kernel[0] : 0;
}

/* Is n a 1 x 1 Conv without strides, padding and groups? */
static bool is_pointwise(const struct cnn_graph *g, const struct cnn_node *n)
{
	struct cnn_window w;

	if (n->op != CNN_OP_CONV || n->n_in > 3 || !has_constants(g, n) ||
	    cnn_node_out(g, n, 0)->rank != 4 || cnn_node_window(g, n, &w, NULL) || w.group != 1)
		return false;
	for (int i = 0; i < 2; i++)
		if (w.kernel[i] != 1 || w.stride[i] != 1 || w.pad_begin[i] || w.pad_end[i])
			return false;
	return true;
}

/* Transposes the weights from [in][out][taps] to [taps][out][in], and repeats the bias by tap. */
static int transpose_constants(struct cnn_graph *g, struct cnn_node *n, int64_t taps,
			       struct cnn_err *err)
{
	const struct cnn_tensor old = *cnn_node_in(g, n, 1), *bias = cnn_node_in(g, n, 2);
	int64_t in = old.dims[0], out = old.dims[1];
	const struct cnn_tensor shape = { .rank = 4, .dims = { taps * out, in, 1, 1 } };
	const struct cnn_tensor list = { .rank = 1, .dims = { taps * out } };
	const float *from = old.data, *from_bias = bias ? bias->data : NULL;
	float *to;
	int ret = cnn_rewrite_set_const(g, n, 1, &shape, "_taps", &to, err);

	for (int64_t i = 0; !ret && i < taps * out * in; i++)
		to[i] = from[(i % in * out + i / in % out) * taps + i / in / out];
	if (ret || !from_bias)
		return ret;
	ret = cnn_rewrite_set_const(g, n, 2, &list, "_bias", &to, err);
	for (int64_t i = 0; !ret && i < taps * out; i++)
		to[i] = from_bias[i % out];
	return ret;
}

/* Repeats weights and bias for each of groups. */
static int repeat_constants(struct cnn_graph *g, struct cnn_node *n, int64_t groups,
			    struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 1; !ret && i < 3; i++) {
		const struct cnn_tensor *t = cnn_node_in(g, n, i);
		struct cnn_tensor old, shape;
		int64_t count;
		float *to;

		if (!t)
			continue;
		old = shape = *t; /* adding a constant may move the values */
		count = cnn_tensor_count(&old);
		shape.dims[0] *= groups;
		ret = cnn_rewrite_set_const(g, n, i, &shape, "_groups", &to, err);
		for (int64_t k = 0; !ret && k < groups; k++)
			memcpy(to + k * count, old.data, count * sizeof(*to));
	}
	return ret;
}

/* Replaces the ConvTranspose, node i, by a Conv and a DepthToSpace. */
static int split(struct cnn_graph *g, int i, int64_t block, struct cnn_err *err)
{
	struct cnn_node *n = &g->nodes[i];
	struct cnn_tensor t = *cnn_node_out(g, n, 0);
	int out = n->out[0], mid, ret;

	t.dims[1] *= block * block;
	t.dims[2] /= block;
	t.dims[3] /= block;
	mid = cnn_rewrite_add_value(g, g->values[out].name, "_taps", &t, err);
	if (mid < 0)
		return mid;
	ret = transpose_constants(g, n, block * block, err) ?:
	      cnn_rewrite_rename(n, CNN_OP_CONV, err);
	if (ret)
		return ret;
	cnn_params_init(n);
	n->out[0] = mid;
	ret = cnn_rewrite_insert(g, i + 1, CNN_OP_DEPTH_TO_SPACE, mid, out, err);
	if (!ret)
		g->nodes[i + 1].params.depth_to_space.blocksize = block;
	return ret;
}

/* Is n a DepthToSpace with the channel order of split: block position first? */
static bool is_shuffle(const struct cnn_node *n)
{
	return n->op == CNN_OP_DEPTH_TO_SPACE && n->act.kind == CNN_ACT_NONE &&
	       n->params.depth_to_space.blocksize <= BLOCK_MAX &&
	       n->params.depth_to_space.mode == CNN_DEPTH_COLUMN_ROW;
}

/* Swaps DepthToSpace a and the Conv b that reads it. */
static int swap(struct cnn_graph *g, struct cnn_node *a, struct cnn_node *b, struct cnn_err *err)
{
	int64_t block = a->params.depth_to_space.blocksize;
	const struct cnn_tensor *x = cnn_node_in(g, a, 0);
	struct cnn_value *mid = &g->values[a->out[0]];
	int in = a->in[0], channels = cnn_node_out(g, b, 0)->dims[1], ret;
	struct cnn_node shuffle = *a;

	memcpy(mid->t.dims, x->dims, sizeof(x->dims));
	mid->t.dims[1] = channels * block * block;
	ret = repeat_constants(g, b, block * block, err);
	if (ret)
		return ret;
	cnn_params_init(b);
	b->params.window.group = block * block;
	shuffle.in[0] = shuffle.out[0];
	shuffle.out[0] = b->out[0];
	b->out[0] = shuffle.in[0];
	g->values[b->out[0]].rewritten = true;
	b->in[0] = in;
	*a = *b;
	*b = shuffle;
	return CNN_OK;
}

int cnn_pass_split_conv_transpose(struct cnn_pass *p, int i)
{
	int64_t block = block_of(p->g, &p->g->nodes[i]);

	return block ? split(p->g, i, block, p->err) : CNN_OK;
}

int cnn_pass_move_depth_to_space(struct cnn_pass *p, int i)
{
	struct cnn_node *a = &p->g->nodes[i];
	struct cnn_node *b = is_shuffle(a) ? cnn_rewrite_only_reader(p->g, a) : NULL;

	if (!b || !is_pointwise(p->g, b))
		return CNN_OK;
	return swap(p->g, a, b, p->err) ?: cnn_graph_link(p->g, p->err);
}
