// SPDX-License-Identifier: MIT
/*
 * Merges BatchNormalization, and Mul and Add of constants per channel, that follow each other
 * without a Conv before them: into a BatchNormalization of mean 0 and variance 1.
 */
#include <math.h>
#include <stdlib.h>

#include "merge.h"

/* y = x * scale + bias, as a node computes it from the value x. */
struct affine {
	int x;
	const struct cnn_node *node;
	const struct cnn_tensor *operand;	/* of a Mul or Add; NULL: a BatchNormalization */
};

static bool is_batch_norm(const struct cnn_graph *g, const struct cnn_node *n, struct affine *a)
{
	for (int i = 1; i < 5; i++)
		if (!cnn_is_const(cnn_node_in(g, n, i)))
			return false;
	*a = (struct affine){ n->in[0], n, NULL };
	return true;
}

/* Is n a scale and shift per channel of a map? So may be its activation. */
static bool match(const struct cnn_pass *f, const struct cnn_node *n, struct affine *a)
{
	const struct cnn_graph *g = f->g;
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (n->act.kind != CNN_ACT_NONE && n->act.kind != CNN_ACT_AFFINE)
		return false;
	if (!cnn_is_float(y, f->what & CNN_FUSE_HALF) || y->rank < 2)
		return false;
	if (n->op == CNN_OP_BATCH_NORM)
		return is_batch_norm(g, n, a);
	if ((n->op != CNN_OP_MUL && n->op != CNN_OP_ADD) || !cnn_has_opset7_broadcast(n))
		return false;
	for (int i = 0; i < 2; i++) {
		const struct cnn_tensor *x = cnn_node_in(g, n, i), *t = cnn_node_in(g, n, !i);

		if (!x->data && cnn_is_const(t) && cnn_tensor_same_shape(x, y) &&
		    cnn_merge_is_per_channel(t, y)) {
			*a = (struct affine){ n->in[i], n, t };
			return true;
		}
	}
	return false;
}

static bool is_scalar(const struct affine *a)
{
	return a->operand && cnn_tensor_count(a->operand) == 1;
}

static void channel(const struct cnn_graph *g, const struct affine *a, int64_t c, double *scale,
		    double *bias)
{
	const struct cnn_tensor *t = a->operand;
	const struct cnn_act *act = &a->node->act;
	const float *p[5];

	*scale = 1;
	*bias = 0;
	if (t) {
		double v = ((const float *)t->data)[cnn_tensor_count(t) == 1 ? 0 : c];

		*(a->node->op == CNN_OP_MUL ? scale : bias) = v;
	} else {
		for (int i = 1; i < 5; i++)
			p[i] = cnn_node_in(g, a->node, i)->data;
		*scale = p[1][c] / sqrt((double)p[4][c] + (double)a->node->params.norm.epsilon);
		*bias = p[2][c] - p[3][c] * *scale;
	}
	if (act->kind == CNN_ACT_AFFINE) {
		*scale *= act->a;
		*bias = *bias * act->a + act->b;
	}
}

/* Scale and bias of b after a, in a list of pairs, one for each channel; NULL: no memory. */
static double *compose(const struct cnn_graph *g, const struct affine *a, const struct affine *b,
		       int64_t channels)
{
	double *pairs = malloc((size_t)channels * 2 * sizeof(*pairs) + 1), scale, bias;

	for (int64_t c = 0; pairs && c < channels; c++) {
		channel(g, a, c, &pairs[2 * c], &pairs[2 * c + 1]);
		channel(g, b, c, &scale, &bias);
		pairs[2 * c] *= scale;
		pairs[2 * c + 1] = pairs[2 * c + 1] * scale + bias;
	}
	return pairs;
}

static int set_input(struct cnn_pass *f, struct cnn_node *n, int i, const double *from, double fill,
		     int64_t channels)
{
	static const char *const suffix[] = { "", "_scale", "_shift", "_mean", "_variance" };
	const struct cnn_tensor shape = { .rank = 1, .dims = { channels } };
	float *to;
	int ret = cnn_rewrite_set_const(f->g, n, i, &shape, suffix[i], &to, f->err);

	for (int64_t c = 0; !ret && c < channels; c++)
		to[c] = (float)(from ? from[2 * c] : fill);
	return ret;
}

/* Turns n into a BatchNormalization of x with these scales and biases. */
static int turn(struct cnn_pass *f, struct cnn_node *n, int x, const double *pairs,
		int64_t channels)
{
	int ret = set_input(f, n, 1, pairs, 0, channels) ?:
		  set_input(f, n, 2, pairs + 1, 0, channels) ?:
		  set_input(f, n, 3, NULL, 0, channels) ?: set_input(f, n, 4, NULL, 1, channels);

	if (!ret && n->op != CNN_OP_BATCH_NORM)
		ret = cnn_rewrite_rename(n, CNN_OP_BATCH_NORM, f->err);
	n->in[0] = x;
	n->opset = 13;
	n->act = (struct cnn_act){ 0 };
	n->params.norm.epsilon = 0;
	return ret;
}

int cnn_merge_affine(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	struct affine first, second;
	int64_t channels;
	double *pairs;
	int ret;

	if (!match(f, a, &first) || !match(f, b, &second) || second.x != a->out[0])
		return 0;
	/* Two numbers are an activation of the first node. */
	if (is_scalar(&first) && is_scalar(&second))
		return 0;
	channels = cnn_node_out(f->g, a, 0)->dims[1];
	pairs = compose(f->g, &first, &second, channels);
	if (!pairs)
		return cnn_rewrite_nomem(f->err);
	ret = turn(f, a, first.x, pairs, channels) ?: cnn_rewrite_merge(f->g, a, b, a, f->err);
	free(pairs);
	return ret;
}
