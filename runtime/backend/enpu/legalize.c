// SPDX-License-Identifier: MIT
/*
 * ConvInteger or MatMulInteger and the ShiftRequantize behind it become one node: the core has no
 * sums to give.
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

int enpuc_legalize(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = CNN_OK;

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
