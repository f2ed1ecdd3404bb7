// SPDX-License-Identifier: MIT
/*
 * x * s + b, one s for each channel, as where the maps of a pyramid are added up: a Mul, an Add, and
 * the Resize that repeats the elements of a smaller b, become one ScaledAdd. A constant s is left to
 * the convolution before it.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/cpu.h"
#include "merge.h"

struct scaled_add {
	struct cnn_node *mul, *resize;	/* resize NULL: none */
	int x, s, b;
};

static bool is_map(const struct cnn_tensor *t)
{
	return t->dtype == CNN_FLOAT32 && t->rank == 4;
}

/* Is s one number for each channel of x? */
static bool is_scale(const struct cnn_tensor *s, const struct cnn_tensor *x)
{
	return is_map(s) && s->dims[0] == x->dims[0] && s->dims[1] == x->dims[1] &&
	       s->dims[2] == 1 && s->dims[3] == 1 && x->dims[2] * x->dims[3] > 1;
}

static bool match_product(const struct cnn_graph *g, struct scaled_add *m,
			  const struct cnn_tensor *y)
{
	for (int i = 0; m->mul && i < 2; i++) {
		m->x = m->mul->in[i];
		m->s = m->mul->in[!i];
		if (cnn_tensor_same_shape(&g->values[m->x].t, y) &&
		    !is_const(&g->values[m->s].t) && is_scale(&g->values[m->s].t, y))
			return !m->mul->n_attrs && m->mul->act.kind == CNN_ACT_NONE;
	}
	return false;
}

static bool repeats(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *in[CNN_RESIZE_INPUTS];

	for (int i = 0; i < CNN_RESIZE_INPUTS; i++)
		in[i] = cnn_node_in(g, n, i);
	return n->act.kind == CNN_ACT_NONE && cnn_resize_repeats(n, in);
}

/* n is an Add. */
static bool match(const struct cnn_graph *g, const struct cnn_node *n, struct scaled_add *m)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (n->op != CNN_OP_ADD || n->n_attrs || !is_map(y))
		return false;
	for (int i = 0; i < 2; i++) {
		m->mul = cnn_fuse_maker(g, n->in[i], CNN_OP_MUL);
		m->b = n->in[!i];
		m->resize = cnn_fuse_maker(g, m->b, CNN_OP_RESIZE);
		if (!match_product(g, m, y) || !cnn_tensor_same_shape(&g->values[m->b].t, y))
			continue;
		if (m->resize && !repeats(g, m->resize))
			m->resize = NULL;
		if (m->resize)
			m->b = m->resize->in[0];
		return m->b != m->mul->out[0];
	}
	return false;
}

static int replace(struct cnn_node *n, const struct scaled_add *m, struct cnn_err *err)
{
	char *type = strdup("ScaledAdd");
	int ret = type ? CNN_OK : cnn_fail(err, CNN_ENOMEM, "no memory to fuse nodes");

	if (!ret)
		ret = cnn_fuse_note(n, m->mul, err);
	if (!ret && m->resize)
		ret = cnn_fuse_note(n, m->resize, err);
	if (!ret)
		ret = cnn_fuse_set_input(n, 2, m->b, err);
	if (ret) {
		free(type);
		return ret;
	}
	n->in[0] = m->x;
	n->in[1] = m->s;
	free(n->op_type);
	n->op_type = type;
	n->op = CNN_OP_SCALED_ADD;
	cnn_node_free(m->mul);
	if (m->resize)
		cnn_node_free(m->resize);
	return CNN_OK;
}

int cnn_fuse_scaled_adds(struct cnn_graph *g, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; !ret && i < g->n_nodes; i++) {
		struct scaled_add m;

		if (match(g, &g->nodes[i], &m))
			ret = replace(&g->nodes[i], &m, err);
	}
	return ret ? ret : cnn_graph_compact(g, err);
}
