// SPDX-License-Identifier: MIT
/*
 * Pass: fuse x * s + b with one s per channel, as in feature pyramids, into a ScaledAdd: a Mul, an
 * Add and, if b is upsampled by repeating elements, the Resize. A constant s is merged into the
 * Conv before it instead.
 */

#include "ops/cpu.h"
#include "merge.h"

struct scaled_add {
	struct cnn_node *mul, *resize; /* resize NULL: none */
	int x, s, b;
};

static bool is_map(const struct cnn_tensor *t)
{
	return t->dtype == CNN_FLOAT32 && t->rank == 4;
}

/* Has s one element per channel of x? */
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
		    !cnn_is_const(&g->values[m->s].t) && is_scale(&g->values[m->s].t, y))
			return cnn_has_opset7_broadcast(m->mul) && m->mul->act.kind == CNN_ACT_NONE;
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

/* Finds the nodes of x * s + b that the Add n ends. */
static bool match(const struct cnn_graph *g, const struct cnn_node *n, struct scaled_add *m)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (n->op != CNN_OP_ADD || !cnn_has_opset7_broadcast(n) || !is_map(y))
		return false;
	for (int i = 0; i < 2; i++) {
		m->mul = cnn_rewrite_producer(g, n->in[i], CNN_OP_MUL);
		m->b = n->in[!i];
		m->resize = cnn_rewrite_producer(g, m->b, CNN_OP_RESIZE);
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
	int ret = cnn_rewrite_note(n, m->mul, err) ?:
		  (m->resize ? cnn_rewrite_note(n, m->resize, err) : CNN_OK) ?:
		  cnn_rewrite_set_input(n, 2, m->b, err) ?:
		  cnn_rewrite_rename(n, CNN_OP_SCALED_ADD, err);

	if (ret)
		return ret;
	n->in[0] = m->x;
	n->in[1] = m->s;
	cnn_node_free(m->mul);
	if (m->resize)
		cnn_node_free(m->resize);
	return CNN_OK;
}

int cnn_pass_scaled_add(struct cnn_pass *p, int i)
{
	struct cnn_node *n = &p->g->nodes[i];
	struct scaled_add m;

	return match(p->g, n, &m) ? replace(n, &m, p->err) : CNN_OK;
}
