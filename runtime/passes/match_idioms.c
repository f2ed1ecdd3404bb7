// SPDX-License-Identifier: MIT
/* Pass: replace chains of nodes that equal one operator: HardSwish, Swish, x + x * s. */
#include <math.h>

#include "passes.h"

/* A chain that computes op of the value x. Its last node becomes op, the others are removed. */
struct chain {
	struct cnn_graph *g;
	enum cnn_op op;
	int x;
	struct cnn_node *removed[3];
	int n_removed;
};

/* Gets input i of a node if it is a constant of one float. */
static bool get_scalar(const struct cnn_graph *g, const struct cnn_node *n, int i, float *v)
{
	const struct cnn_tensor *t = cnn_node_in(g, n, i);

	if (!t || !t->data || t->dtype != CNN_FLOAT32 || cnn_tensor_count(t) != 1)
		return false;
	*v = *(const float *)t->data;
	return true;
}

static bool is_sixth(float v)
{
	return fabsf(v * 6 - 1) <= 1e-6f;
}

/* The index of the input that node n divides by six, -1 for another operation. */
static int divided_by_six(const struct cnn_graph *g, const struct cnn_node *n)
{
	float v;

	if (n->op == CNN_OP_DIV)
		return get_scalar(g, n, 1, &v) && v == 6 ? 0 : -1;
	for (int i = 0; n->op == CNN_OP_MUL && i < 2; i++)
		if (get_scalar(g, n, !i, &v) && is_sixth(v))
			return i;
	return -1;
}

/* Is the value min(max(x + 3, 0), 6) for the chain's x? Adds its nodes to removed. */
static bool is_clipped(struct chain *c, int value)
{
	struct cnn_node *clip = cnn_rewrite_producer(c->g, value, CNN_OP_CLIP), *add;
	float low, high, three;

	if (!clip || !cnn_clip_bounds(c->g, clip, &low, &high) || low != 0 || high != 6)
		return false;
	add = cnn_rewrite_producer(c->g, clip->in[0], CNN_OP_ADD);
	for (int i = 0; add && i < 2; i++) {
		if (add->in[i] != c->x || !get_scalar(c->g, add, !i, &three) || three != 3)
			continue;
		c->removed[c->n_removed++] = clip;
		c->removed[c->n_removed++] = add;
		c->op = CNN_OP_HARD_SWISH;
		return true;
	}
	return false;
}

/* Is n (x * clipped) / 6? */
static bool match_quotient(struct chain *c, struct cnn_node *n)
{
	int in = divided_by_six(c->g, n);
	struct cnn_node *mul = in < 0 ? NULL : cnn_rewrite_producer(c->g, n->in[in], CNN_OP_MUL);

	for (int i = 0; mul && i < 2; i++) {
		c->x = mul->in[i];
		if (is_clipped(c, mul->in[!i])) {
			c->removed[c->n_removed++] = mul;
			return true;
		}
	}
	return false;
}

/* Is the value clipped / 6 for the chain's x? */
static bool is_clipped_sixth(struct chain *c, int value)
{
	struct cnn_node *n = cnn_rewrite_producer(c->g, value, CNN_OP_DIV);
	int in;

	if (!n)
		n = cnn_rewrite_producer(c->g, value, CNN_OP_MUL);
	in = n ? divided_by_six(c->g, n) : -1;
	if (in < 0 || !is_clipped(c, n->in[in]))
		return false;
	c->removed[c->n_removed++] = n;
	return true;
}

/* Is the value a Sigmoid or HardSigmoid of the chain's x? */
static bool is_sigmoid(struct chain *c, int value)
{
	struct cnn_node *n = cnn_rewrite_producer(c->g, value, CNN_OP_HARD_SIGMOID);

	c->op = CNN_OP_HARD_SWISH;
	if (n && (!is_sixth(n->params.unary.alpha) || n->params.unary.beta != 0.5f))
		return false;
	if (!n) {
		n = cnn_rewrite_producer(c->g, value, CNN_OP_SIGMOID);
		c->op = CNN_OP_SWISH;
	}
	if (!n || n->in[0] != c->x)
		return false;
	c->removed[c->n_removed++] = n;
	return true;
}

static bool match(struct chain *c, struct cnn_node *n)
{
	const struct cnn_tensor *y = cnn_node_out(c->g, n, 0), *x;
	bool found;

	if ((n->op != CNN_OP_MUL && n->op != CNN_OP_DIV) || !cnn_has_opset7_broadcast(n) ||
	    y->dtype != CNN_FLOAT32 || y->rank < 0)
		return false;
	found = match_quotient(c, n);
	for (int i = 0; !found && n->op == CNN_OP_MUL && i < 2; i++) {
		c->x = n->in[i];
		found = is_sigmoid(c, n->in[!i]) || is_clipped_sixth(c, n->in[!i]);
	}
	if (!found)
		return false;
	x = &c->g->values[c->x].t;
	return cnn_tensor_same_shape(x, y);
}

static int replace(struct chain *c, struct cnn_node *n, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; !ret && i < c->n_removed; i++)
		ret = cnn_rewrite_note(n, c->removed[i], err);
	ret = ret ?: cnn_rewrite_rename(n, c->op, err);
	if (ret)
		return ret;
	n->in[0] = c->x;
	n->n_in = 1;
	for (int i = 0; i < c->n_removed; i++)
		cnn_node_free(c->removed[i]);
	return CNN_OK;
}

/* Does n have the shape of x, and s far fewer elements? */
static bool is_scale(const struct cnn_graph *g, const struct cnn_node *n, int s, int x)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0), *t = &g->values[x].t;

	return y->dtype == CNN_FLOAT32 && y->rank >= 0 && cnn_tensor_same_shape(t, y) &&
	       cnn_tensor_count(&g->values[s].t) < cnn_tensor_count(y) / 4;
}

/*
 * x + x * s, as at the end of a squeeze-and-excite block with a shortcut, becomes x * (s + 1),
 * where s has few elements and its producer adds the 1. Returns the Mul of such an Add n, and the
 * producer of its s.
 */
static struct cnn_node *shortcut(const struct cnn_graph *g, const struct cnn_node *n,
				 struct cnn_node **scale)
{
	for (int i = 0; n->op == CNN_OP_ADD && i < 4; i++) {
		struct cnn_node *mul = cnn_rewrite_producer(g, n->in[i & 1], CNN_OP_MUL);
		int x = n->in[!(i & 1)], s = mul ? mul->in[i >> 1] : -1;

		if (!mul || mul->act.kind != CNN_ACT_NONE || mul->in[!(i >> 1)] != x)
			continue;
		*scale = cnn_rewrite_producer(g, s, CNN_OP_HARD_SIGMOID);
		if (!*scale)
			*scale = cnn_rewrite_producer(g, s, CNN_OP_SIGMOID);
		if (*scale && is_scale(g, n, s, x))
			return mul;
	}
	return NULL;
}

static int replace_shortcut(struct cnn_graph *g, struct cnn_node *n, struct cnn_err *err)
{
	struct cnn_node *scale, *mul = shortcut(g, n, &scale);
	int ret;

	if (!mul)
		return CNN_OK;
	ret = cnn_rewrite_note(mul, n, err);
	if (ret)
		return ret;
	scale->act = (struct cnn_act){ CNN_ACT_AFFINE, 1, 1 };
	g->values[scale->out[0]].rewritten = true;
	mul->out[0] = n->out[0];
	cnn_node_free(n);
	return CNN_OK;
}

int cnn_pass_match_idioms(struct cnn_pass *p, int i)
{
	struct cnn_node *n = &p->g->nodes[i];
	struct chain c = { .g = p->g };

	return match(&c, n) ? replace(&c, n, p->err) : replace_shortcut(p->g, n, p->err);
}
