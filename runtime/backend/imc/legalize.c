// SPDX-License-Identifier: MIT
/*
 * Rewrites the graph for core imc, which gives sums alone. A quantised product becomes sums that
 * the CPU requantises (split_product.c; of a transposed convolution, whose sums can start at what
 * zero points add, split_sums.c). Of a float one the bias and what else is added become an Add
 * each, in the order in which the operators add them, and the last of these has the activation.
 */
#include <stdio.h>
#include <string.h>

#include "backend/qproduct.h"
#include "backend/split_sums.h"
#include "imc.h"

#define TERMS_MAX 2	/* a bias, and what CNN_FUSE_ADD adds */

/* A float product and what follows its sums. */
struct product {
	struct cnn_graph *g;
	struct cnn_err *err;
	int node;
	int term[TERMS_MAX], terms;	/* values that are added */
	struct cnn_act act;
	int out;
};

static bool is_conv(const struct cnn_node *n)
{
	return n->op == CNN_OP_CONV || n->op == CNN_OP_CONV_TRANSPOSE;
}

static bool is_product(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0), *w = cnn_node_in(g, n, 1);

	if (n->op == CNN_OP_GEMM && (n->params.gemm.alpha != 1 || n->params.gemm.beta != 1))
		return false;
	return (is_conv(n) || n->op == CNN_OP_GEMM || n->op == CNN_OP_MATMUL) && y &&
	       y->dtype == CNN_FLOAT32 && y->rank > 0 && w && w->data;
}

/* The bias of a convolution in a shape that broadcasts over maps; an error, or its value. */
static int add_bias(const struct product *p, int bias)
{
	const struct cnn_tensor from = p->g->values[bias].t;
	struct cnn_tensor t = { .dtype = from.dtype, .rank = p->g->values[p->out].t.rank - 1 };
	void *data;
	int ret;

	t.dims[0] = from.dims[0];
	for (int i = 1; i < t.rank; i++)
		t.dims[i] = 1;
	ret = cnn_rewrite_add_const(p->g, p->g->nodes[p->node].name, "_bias", &t, &data, p->err);
	if (ret >= 0)
		memcpy(data, from.data, (size_t)cnn_tensor_bytes(&from));
	return ret;
}

/* A value like the result. */
static int add_value(const struct product *p, const char *suffix)
{
	const struct cnn_tensor *y = &p->g->values[p->out].t;
	struct cnn_tensor t = { .dtype = y->dtype, .rank = y->rank };

	memcpy(t.dims, y->dims, sizeof(t.dims));
	return cnn_rewrite_add_value(p->g, p->g->values[p->out].name, suffix, &t, p->err);
}

/* Sets the terms; false if one cannot become a node of its own, or an error. */
static int get_terms(struct product *p)
{
	const struct cnn_node *n = &p->g->nodes[p->node];
	int in[TERMS_MAX] = { -1, -1 };

	p->act = n->act;
	p->out = n->out[0];
	for (int i = 2; i < n->n_in && i < 2 + TERMS_MAX; i++)
		in[i - 2] = n->in[i];
	if (is_conv(n) && in[0] >= 0) {
		if (!p->g->values[in[0]].t.data)
			return false;
		in[0] = add_bias(p, in[0]);
		if (in[0] < 0)
			return in[0];
	}
	for (int i = 0; i < TERMS_MAX; i++)
		if (in[i] >= 0)
			p->term[p->terms++] = in[i];
	return true;
}

/* Adds number @i of the nodes behind the sums, which reads @from; the value that it makes. */
static int add_node(const struct product *p, int i, int nodes, int from)
{
	int out = i + 1 < nodes ? add_value(p, "_biased") : p->out, ret;
	struct cnn_node *n;

	if (out < 0)
		return out;
	ret = cnn_rewrite_insert(p->g, p->node + 1 + i, p->terms ? CNN_OP_ADD : CNN_OP_IDENTITY,
				 from, out, p->err);
	if (ret)
		return ret;
	n = &p->g->nodes[p->node + 1 + i];
	if (p->terms)
		ret = cnn_rewrite_set_input(n, 1, p->term[i], p->err);
	if (i + 1 == nodes)
		n->act = p->act;
	return ret ? ret : out;
}

/* Leaves the product with its sums alone. Moves p->node behind all. */
static int detach(struct product *p)
{
	int nodes, value, ret = get_terms(p);
	struct cnn_node *n;

	nodes = p->terms ? p->terms : p->act.kind != CNN_ACT_NONE;
	if (ret <= 0 || !nodes)
		return ret < 0 ? ret : CNN_OK;
	value = add_value(p, "_sums");
	if (value < 0)
		return value;
	n = &p->g->nodes[p->node];
	n->out[0] = value;
	n->n_in = 2;
	n->act = (struct cnn_act){ .kind = CNN_ACT_NONE };
	for (int i = 0; i < nodes && value >= 0; i++)
		value = add_node(p, i, nodes, value);
	p->node += nodes;
	return value < 0 ? value : CNN_OK;
}

/* A QLinearConvTranspose of bytes whose constants are known? */
static bool is_transposed(const struct cnn_graph *g, const struct cnn_node *n)
{
	bool good = n->op == CNN_OP_QLINEAR_CONV_TRANSPOSE && n->act.kind == CNN_ACT_NONE;

	for (int i = CNN_SPLIT_X_SCALE; i < n->n_in && good; i++)
		good = !cnn_node_in(g, n, i) || cnn_node_in(g, n, i)->data;
	return good && cnn_dtype_size(cnn_node_in(g, n, CNN_SPLIT_X)->dtype) == 1 &&
	       cnn_dtype_size(cnn_node_in(g, n, CNN_SPLIT_W)->dtype) == 1 &&
	       cnn_node_out(g, n, 0)->rank == 4;
}

static int legalize_node(struct cnn_graph *g, int *i, struct cnn_err *err)
{
	struct cnn_qproduct q = { .g = g, .node = *i, .shift = -1, .err = err };
	struct product p = { .g = g, .node = *i, .err = err };
	struct cnn_split s = { .g = g, .node = *i, .err = err };
	int ret = CNN_OK;

	if (is_product(g, &g->nodes[*i])) {
		ret = detach(&p);
		*i = p.node;
	} else if (is_transposed(g, &g->nodes[*i])) {
		cnn_split_get(&s);
		ret = cnn_split_all(&s);
		*i = s.node;
	} else if (cnn_qproduct_get(&q)) {
		snprintf(q.why, sizeof(q.why), "it has sums only");
		ret = cnn_qproduct_split(&q);
		*i = q.node + 1;
	}
	return ret;
}

int imcc_legalize(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = cnn_split_matmul(g, place, err);

	for (int i = 0; i < g->n_nodes && !ret; i++)
		if (cnn_can_share_place(g->nodes[i].place, place) && g->n_nodes + 3 < CNN_MAX_NODES)
			ret = legalize_node(g, &i, err);
	if (!ret)
		ret = cnn_graph_link(g, err);
	if (!ret)
		cnn_graph_drop_constants(g);
	return ret;
}
