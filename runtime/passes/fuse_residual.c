// SPDX-License-Identifier: MIT
/* Pass: fuse the addition at the end of a residual block into a Conv before it. */
#include <string.h>

#include "passes.h"

/* Does node b add two float values of its output's shape, none of them constant? */
static bool is_addition(const struct cnn_graph *g, const struct cnn_node *b, bool halves)
{
	const struct cnn_tensor *y = cnn_node_out(g, b, 0);

	if ((b->op != CNN_OP_ADD && b->op != CNN_OP_SUM) || b->n_in != 2)
		return false;
	if (!cnn_is_float(y, halves) || y->rank < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct cnn_tensor *x = cnn_node_in(g, b, i);

		if (x->data || !cnn_tensor_same_shape(x, y))
			return false;
	}
	return b->in[0] != b->in[1];
}

/* The Conv that computes operand i of b, if it has no activation and no other reader; or NULL. */
static struct cnn_node *fusible_conv(const struct cnn_graph *g, const struct cnn_node *b, int i,
				     unsigned int what)
{
	int producer = g->values[b->in[i]].producer;
	struct cnn_node *a = producer < 0 ? NULL : &g->nodes[producer];

	if (!a || a->op != CNN_OP_CONV || a->act.kind != CNN_ACT_NONE || cnn_node_in(g, a, 3))
		return NULL;
	if (cnn_rewrite_only_reader(g, a) != b)
		return NULL;
	return what & CNN_FUSE_FOR_CPU || a->params.window.group == 1 ? a : NULL;
}

/* Moves a to b's place, where the other operand has been computed, with b's output. */
static int take_place(struct cnn_graph *g, struct cnn_node *a, struct cnn_node *b, int other,
		      struct cnn_err *err)
{
	struct cnn_node conv;
	int ret = cnn_rewrite_set_input(a, 3, other, err) ?: cnn_rewrite_note(a, b, err);

	if (ret)
		return ret;
	a->act = b->act;
	g->values[a->out[0]].producer = -1;
	a->out[0] = b->out[0];
	conv = *a;
	cnn_node_free(b);
	*b = conv;
	memset(a, 0, sizeof(*a));
	return CNN_OK;
}

int cnn_pass_fuse_residual(struct cnn_pass *p, int i)
{
	struct cnn_node *b = &p->g->nodes[i], *a[2];
	int later;

	if (!is_addition(p->g, b, p->what & CNN_FUSE_HALF))
		return CNN_OK;
	a[0] = fusible_conv(p->g, b, 0, p->what);
	a[1] = fusible_conv(p->g, b, 1, p->what);
	later = !a[0] || (a[1] && a[1] > a[0]);
	return a[later] ? take_place(p->g, a[later], b, b->in[!later], p->err) : CNN_OK;
}
