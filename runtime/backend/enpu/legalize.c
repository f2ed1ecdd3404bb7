// SPDX-License-Identifier: MIT
/*
 * ConvInteger or MatMulInteger and the ShiftRequantize behind it become one node: the core has no
 * sums to give.  A Split of int8 becomes a Slice for each part.
 */
#include "enpu.h"
#include "passes/rewrite.h"

/* Inputs of ShiftRequantize, and of what is made of it. */
enum { TIMES = 1, FROM_ADD = 2, FROM_SHIFT = 3, TO_ADD = 4, TO_SHIFT = 5 };

bool enpuc_is_by_channel(const struct cnn_tensor *t, int rank, int64_t channels)
{
	int axis = rank - (t ? t->rank : 0);

	if (!t)
		return true;
	if (!t->data || t->rank > rank)
		return false;
	return cnn_tensor_count(t) == 1 ||
	       (cnn_tensor_count(t) == channels && axis <= 1 && t->dims[1 - axis] == channels);
}

/* Can a product take over what a ShiftRequantize does? */
static bool can_merge(const struct cnn_graph *g, const struct cnn_node *n,
		      const struct cnn_node *end)
{
	const struct cnn_tensor *x = cnn_node_in(g, end, 0);

	return end->op == CNN_OP_SHIFT_REQUANTIZE && end->in[0] == n->out[0] &&
	       !cnn_node_in(g, end, TIMES) && x->rank >= 2 &&
	       (n->op == CNN_OP_CONV_INTEGER || x->rank == 2) &&
	       enpuc_is_by_channel(cnn_node_in(g, end, FROM_ADD), x->rank, x->dims[1]) &&
	       enpuc_is_by_channel(cnn_node_in(g, end, FROM_SHIFT), x->rank, x->dims[1]);
}

static int move_input(const struct cnn_node *from, int i, struct cnn_node *to, int k,
		      struct cnn_err *err)
{
	if (from->n_in <= i || from->in[i] < 0)
		return CNN_OK;
	return cnn_rewrite_set_input(to, k, from->in[i], err);
}

static int merge(struct cnn_graph *g, struct cnn_node *n, struct cnn_node *end, struct cnn_err *err)
{
	bool conv = n->op == CNN_OP_CONV_INTEGER;
	int ret = cnn_rewrite_rename(n, conv ? CNN_OP_SHIFT_CONV : CNN_OP_SHIFT_MATMUL, err) ?:
		  move_input(end, FROM_ADD, n, TO_ADD, err) ?:
		  move_input(end, FROM_SHIFT, n, TO_SHIFT, err);

	if (ret)
		return ret;
	n->params.product.relu = end->params.product.relu;
	ret = cnn_rewrite_merge(g, n, end, n, err);
	return ret < 0 ? ret : CNN_OK;
}

/* ---- Split ---- */

static bool is_read(const struct cnn_graph *g, int value)
{
	return g->values[value].is_output || g->values[value].n_consumers;
}

/* Are all parts of known shape, and any read? */
static bool can_slice(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0);
	bool read = false;

	if (!x || x->data || x->rank < 2 || x->dtype != CNN_INT8)
		return false;
	for (int i = 0; i < n->n_out; i++) {
		if (!cnn_node_out(g, n, i) || cnn_node_out(g, n, i)->rank != x->rank)
			return false;
		read |= is_read(g, n->out[i]);
	}
	return read;
}

/* From one place of an axis to another. */
struct range {
	int64_t axis, from, to;
};

static void set_slice(struct cnn_node *n, const struct range *r)
{
	n->params.slice = (struct cnn_slice_params){
		.starts = { 1, { r->from } }, .ends = { 1, { r->to } }, .axes = { 1, { r->axis } },
	};
}

/* Inserts the Slice of a Split's input before the Split, which is at @node. */
static int insert_slice(struct cnn_graph *g, int node, int out, const struct range *r,
			struct cnn_err *err)
{
	int ret = cnn_rewrite_insert(g, node, CNN_OP_SLICE, g->nodes[node].in[0], out, err);

	if (ret)
		return ret;
	g->nodes[node].place = g->nodes[node + 1].place;
	set_slice(&g->nodes[node], r);
	return CNN_OK;
}

static int become_slice(struct cnn_node *n, int out, const struct range *r, struct cnn_err *err)
{
	int ret = cnn_rewrite_rename(n, CNN_OP_SLICE, err);

	if (ret)
		return ret;
	n->out[0] = out;
	n->n_in = n->n_out = 1;
	set_slice(n, r);
	return CNN_OK;
}

/* Puts Slices of the parts that are read before the Split, which becomes that of the last one. */
static int cut_split(struct cnn_graph *g, int *node, struct cnn_err *err)
{
	int in = g->nodes[*node].in[0], last = g->nodes[*node].n_out - 1, ret = CNN_OK;
	int64_t axis = g->nodes[*node].params.split.axis, from = 0, to;

	axis += axis < 0 ? g->values[in].t.rank : 0;
	while (!is_read(g, g->nodes[*node].out[last]))
		last--;
	for (int i = 0; i <= last && !ret; i++, from = to) {
		int out = g->nodes[*node].out[i];
		struct range r = { axis, from, from + g->values[out].t.dims[axis] };

		to = r.to;
		if (i == last)
			ret = become_slice(&g->nodes[*node], out, &r, err);
		else if (is_read(g, out))
			ret = insert_slice(g, (*node)++, out, &r, err);
	}
	return ret;
}

static int cut_splits(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; i < g->n_nodes && !ret; i++)
		if (g->nodes[i].op == CNN_OP_SPLIT && can_slice(g, &g->nodes[i]) &&
		    cnn_can_share_place(g->nodes[i].place, place))
			ret = cut_split(g, &i, err);
	return ret ?: cnn_graph_link(g, err);
}

int enpuc_legalize(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = cut_splits(g, place, err);

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct cnn_node *n = &g->nodes[i], *end;

		if (!cnn_can_share_place(n->place, place) ||
		    (n->op != CNN_OP_CONV_INTEGER && n->op != CNN_OP_MATMUL_INTEGER))
			continue;
		end = cnn_rewrite_only_reader(g, n);
		if (end && cnn_can_share_place(end->place, place) && can_merge(g, n, end))
			ret = merge(g, n, end, err);
	}
	return ret ?: cnn_graph_compact(g, err);
}
