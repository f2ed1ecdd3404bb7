// SPDX-License-Identifier: MIT
/*
 * Splits a quantised product with several matrices of weights into one product for each: a Split of
 * x if x has several matrices, too, the products, and a Concat, which keeps the name of the node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qproduct.h"

#define MATRICES_MAX 64 /* of one node */

struct matrices {
	struct cnn_graph *g;
	int node, x, w, y; /* values */
	int weights;	   /* index of input w */
	int axis, count;   /* axis of w, number of matrices along it */
	struct cnn_err *err;
};

/* Fills m if the node has several matrices. Of several axes it takes the first. */
static bool find_matrices(struct matrices *m)
{
	const struct cnn_node *n = &m->g->nodes[m->node];
	const struct cnn_tensor *x, *w, *zero;

	if (cnn_op_base(n->op) != CNN_OP_MATMUL_INTEGER && n->op != CNN_OP_QLINEAR_MATMUL)
		return false;
	m->weights = cnn_op_base(n->op) == CNN_OP_MATMUL_INTEGER ? 1 : 3;
	m->x = n->in[0];
	m->w = n->in[m->weights];
	m->y = n->out[0];
	x = &m->g->values[m->x].t;
	w = &m->g->values[m->w].t;
	zero = cnn_node_in(m->g, n, 2);
	/* A zero point for each row stays on the CPU. */
	if (!w->data || x->rank < w->rank || cnn_tensor_count(w) < 1 ||
	    cnn_tensor_count(&m->g->values[m->y].t) < 1 || (zero && cnn_tensor_count(zero) != 1))
		return false;
	for (m->axis = 0; m->axis < w->rank - 2 && w->dims[m->axis] == 1; m->axis++)
		;
	if (m->axis >= w->rank - 2 ||
	    cnn_tensor_count(w) / (w->dims[w->rank - 2] * w->dims[w->rank - 1]) > MATRICES_MAX)
		return false;
	m->count = (int)w->dims[m->axis];
	return true;
}

/* The axis of a value of the product that corresponds to m->axis of w. */
static int axis_of(const struct matrices *m, int value)
{
	return m->axis + m->g->values[value].t.rank - m->g->values[m->w].t.rank;
}

/* Adds a value that is one part of @value along the axis. Returns it, or an error. */
static int add_part(const struct matrices *m, int value, int i)
{
	const struct cnn_tensor *whole = &m->g->values[value].t;
	struct cnn_tensor t = { .dtype = whole->dtype, .rank = whole->rank };
	int axis = axis_of(m, value), ret = CNN_OK;
	char name[128];

	memcpy(t.dims, whole->dims, sizeof(t.dims));
	t.dims[axis] = 1;
	snprintf(name, sizeof(name), "%.100s_%d", m->g->values[value].name, i);
	if (value == m->w) {
		ret = cnn_tensor_alloc(&t, m->g->limits.tensor_bytes, m->err);
		if (ret)
			return ret;
		/* All axes before it have one element. */
		memcpy(t.data, (const char *)whole->data + i * cnn_tensor_bytes(&t),
		       (size_t)cnn_tensor_bytes(&t));
	}
	ret = cnn_graph_add_value(m->g, name, &t, m->err);
	if (ret < 0)
		cnn_tensor_release(&t);
	return ret;
}

/* Makes node @at product i; y becomes its output. */
static int add_product(const struct matrices *m, int at, int x, int y, int i)
{
	struct cnn_node *n, *whole;
	int w = add_part(m, m->w, i), ret;

	if (w < 0)
		return w;
	whole = &m->g->nodes[m->node];
	ret = cnn_rewrite_insert(m->g, at, whole->op, x, y, m->err);
	if (ret)
		return ret;
	n = &m->g->nodes[at];
	whole = &m->g->nodes[m->node + 1];
	n->params.product = whole->params.product;
	for (int k = 1; k < whole->n_in && !ret; k++)
		ret = cnn_rewrite_set_input(n, k, k == m->weights ? w : whole->in[k], m->err);
	return ret;
}

/* Sets x[i] to the input of product i. If these differ, node m->node becomes a Split. */
static int split_input(struct matrices *m, int *x)
{
	int axis = axis_of(m, m->x), ret;
	struct cnn_node *n;
	int *out;

	for (int i = 0; i < m->count; i++)
		x[i] = m->x;
	if (m->g->values[m->x].t.dims[axis] == 1)
		return CNN_OK;
	for (int i = 0; i < m->count; i++) {
		x[i] = add_part(m, m->x, i);
		if (x[i] < 0)
			return x[i];
	}
	ret = cnn_rewrite_insert(m->g, m->node, CNN_OP_SPLIT, m->x, x[0], m->err);
	if (ret)
		return ret;
	n = &m->g->nodes[m->node++];
	out = realloc(n->out, (size_t)m->count * sizeof(*out));
	if (!out)
		return cnn_fail(m->err, CNN_ENOMEM, "no memory to split products");
	memcpy(out, x, (size_t)m->count * sizeof(*out));
	n->out = out;
	n->n_out = m->count;
	n->params.split.axis = axis;
	return CNN_OK;
}

/* Makes the node a Concat of the outputs y. */
static int join(const struct matrices *m, const int *y)
{
	struct cnn_node *n = &m->g->nodes[m->node];
	int ret = cnn_rewrite_rename(n, CNN_OP_CONCAT, m->err);

	if (ret)
		return ret;
	n->params.axis.axis = axis_of(m, m->y);
	n->n_in = 0;
	for (int i = 0; i < m->count && !ret; i++)
		ret = cnn_rewrite_set_input(n, i, y[i], m->err);
	return ret;
}

static int split(struct matrices *m)
{
	int x[MATRICES_MAX], y[MATRICES_MAX], ret = split_input(m, x);

	for (int i = 0; i < m->count && !ret; i++) {
		y[i] = add_part(m, m->y, i);
		ret = y[i] < 0 ? y[i] : add_product(m, m->node, x[i], y[i], i);
		m->node++;
	}
	return ret ? ret : join(m, y);
}

int cnn_split_matmul(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct matrices m = { .g = g, .node = i, .err = err };

		if (!cnn_can_share_place(g->nodes[i].place, place) || !find_matrices(&m))
			continue;
		if (g->n_nodes + m.count + 1 > CNN_MAX_NODES)
			break;
		ret = split(&m);
		i--; /* the products may have further axes */
	}
	return ret ? ret : cnn_graph_link(g, err);
}
