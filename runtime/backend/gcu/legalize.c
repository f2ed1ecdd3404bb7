// SPDX-License-Identifier: MIT
/*
 * Rewrites the graph for core gcu. Floats are fused as its linear multiply-add and activations
 * allow. Of a quantised product the core gives the sums of those channels that it does not
 * requantise itself; if these are some only, the product is split (split_channels.c).
 */
#include <stdio.h>
#include <stdlib.h>

#include "gcu.h"

/* What the linear multiply-add and the activations take, of floats and of halves. */
#define OWN_FUSING \
	((CNN_FUSE_NEUTRAL & ~(CNN_FUSE_QDQ | CNN_FUSE_IDIOMS)) | CNN_FUSE_HALF | CNN_FUSE_CLIP | \
	 CNN_FUSE_SIGMOID | CNN_FUSE_LEAKY_RELU | CNN_FUSE_HARD_SIGMOID | CNN_FUSE_DEPTHWISE)

#define CHAIN_MAX	4	/* nodes from what is fused into a product to the product */

/* Splits a product of which the core requantises s->passing channels of v. */
static int split(struct cnn_split *s, const struct gcuc_conv *v)
{
	bool whole = v->groups > 1 && s->g->whole_groups;

	snprintf(s->why, sizeof(s->why), "%d of %d channels, whose sums it rounds otherwise%s",
		 (int)(s->channels - s->passing), (int)s->channels,
		 whole && s->passing ? "; the others by cost" : "");
	if (!s->passing || whole)
		return cnn_split_all(s);
	return gcuc_split_channels(s, v->groups > 1 ? v->co : 0);
}

/* Splits the node if the core can add its sums up, but does not requantise all channels. */
static int legalize_product(struct cnn_split *s)
{
	const struct cnn_node *n = &s->g->nodes[s->node];
	struct gcuc_conv v = { .add = -1 };
	char reason[CNN_REASON_LEN] = "";
	struct gcuc_product p;
	int ret = CNN_OK;
	bool *passes;

	if (!gcuc_product_get(s->g, n, &p) || p.sums)
		return CNN_OK;
	cnn_split_get(s);
	passes = calloc((size_t)cnn_max(s->channels, 1), sizeof(*passes));
	if (!passes)
		return cnn_fail(s->err, CNN_ENOMEM, "no memory to split products");
	s->passes = passes;
	s->passing = gcuc_match_product(&p, &v, passes, reason);
	if (s->passing >= 0 && s->passing < s->channels)
		ret = split(s, &v);
	gcuc_conv_free(&v);
	free(passes);
	return ret;
}

/* May it be fused into a product before it? */
static bool may_join(enum cnn_op op)
{
	switch (op) {
	case CNN_OP_ADD:
	case CNN_OP_BATCH_NORM:
	case CNN_OP_CLIP:
	case CNN_OP_HARD_SIGMOID:
	case CNN_OP_LEAKY_RELU:
	case CNN_OP_MUL:
	case CNN_OP_RELU:
	case CNN_OP_SIGMOID:
		return true;
	default:
		return false;
	}
}

/* The node that makes the first input that one makes; -1: none does. */
static int node_before(const struct cnn_graph *g, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] >= 0 && g->values[n->in[i]].producer >= 0)
			return g->values[n->in[i]].producer;
	return -1;
}

/* A convolution that reads what a BatchNormalization makes, which becomes a depthwise one. */
static int conv_behind(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_value *y = &g->values[n->out[0]];

	for (int i = 0; i < y->n_consumers && n->op == CNN_OP_BATCH_NORM; i++)
		if (g->nodes[y->consumers[i]].op == CNN_OP_CONV)
			return y->consumers[i];
	return -1;
}

int gcuc_companions(const struct cnn_graph *g, int node, int *nodes)
{
	const struct cnn_node *n = &g->nodes[node];
	int count = 0;

	if (!may_join(n->op))
		return 0;
	nodes[0] = conv_behind(g, n);
	if (nodes[0] >= 0)
		return 1;
	while (may_join(n->op) && count < CHAIN_MAX) {
		nodes[count] = node_before(g, n);
		if (nodes[count] < 0)
			return 0;
		n = &g->nodes[nodes[count++]];
	}
	return gcuc_is_float_product(g, n) ? count : 0;
}

int gcuc_legalize(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = cnn_graph_fuse_at(g, place, OWN_FUSING, err);

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct cnn_split s = { .g = g, .err = err, .node = i };

		if (!cnn_can_share_place(g->nodes[i].place, place) ||
		    g->n_nodes + 3 > CNN_MAX_NODES)
			continue;
		ret = legalize_product(&s);
		i = s.node;
	}
	if (!ret)
		ret = cnn_graph_link(g, err);
	if (!ret)
		cnn_graph_drop_constants(g);
	return ret;
}
