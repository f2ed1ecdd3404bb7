// SPDX-License-Identifier: MIT
/*
 * Pass: a Transpose that only moves axes of one element, such as of a map of one pixel, leaves all
 * elements in their order, so that it becomes a Reshape. If only a Reshape reads it, it is dropped.
 */
#include <string.h>

#include "passes.h"

/* Do the axes of more than one element follow each other as they are? */
static bool keeps_order(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *y = cnn_node_out(g, n, 0);
	const struct cnn_ints *perm = &n->params.transpose.perm;
	int last = -1;

	if (n->op != CNN_OP_TRANSPOSE || !x || x->rank < 1 || y->rank != x->rank)
		return false;
	for (int i = 0; i < x->rank; i++) {
		int axis = perm->n == x->rank ? (int)perm->v[i] : x->rank - 1 - i;

		if (x->dims[axis] == 1)
			continue;
		if (axis < last)
			return false;
		last = axis;
	}
	return true;
}

/* The node becomes a Reshape to the shape that its output has. */
static int make_reshape(const struct cnn_graph *g, struct cnn_node *n, struct cnn_err *err)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);
	int ret = cnn_rewrite_rename(n, CNN_OP_RESHAPE, err);

	if (ret)
		return ret;
	n->n_in = 1;
	n->params.reshape.allowzero = true;
	n->params.reshape.shape.n = y->rank;
	memcpy(n->params.reshape.shape.v, y->dims, sizeof(y->dims[0]) * (size_t)y->rank);
	return CNN_OK;
}

int cnn_pass_transpose_to_reshape(struct cnn_pass *p, int i)
{
	struct cnn_node *n = &p->g->nodes[i], *reader;
	int ret;

	if (!keeps_order(p->g, n))
		return CNN_OK;
	reader = cnn_rewrite_only_reader(p->g, n);
	if (!reader || reader->op != CNN_OP_RESHAPE || cnn_node_out(p->g, reader, 0)->rank < 0)
		return cnn_rewrite_note(n, n, p->err) ?: make_reshape(p->g, n, p->err);
	ret = make_reshape(p->g, reader, p->err) ?: cnn_rewrite_note(reader, n, p->err);
	if (ret)
		return ret;
	reader->in[0] = n->in[0];
	cnn_node_free(n);
	return CNN_OK;
}
