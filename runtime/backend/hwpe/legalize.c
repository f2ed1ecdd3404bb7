// SPDX-License-Identifier: MIT
/*
 * Rewrites quantised products for core hwpe: as sums that the CPU requantises (split_product.c), or
 * where the core can do that (requant_shift.c) as a single node with other weights.
 */
#include <string.h>

#include "hwpe.h"

/* The core requantises the sums, so one node is enough. */
static int shift_out(const struct cnn_qproduct *p)
{
	struct cnn_node *n = &p->g->nodes[p->node];
	int weights = cnn_qproduct_add_weights(p, hwpec_shift_up), starts = -1;
	int ret = weights < 0 ? weights : CNN_OK;
	bool any = false;

	for (int64_t k = 0; k < p->channels; k++)
		any |= hwpec_shift_start(p, k) != 0;
	if (!ret && any) {
		starts = cnn_qproduct_add_numbers(p, "_starts", hwpec_shift_start);
		ret = starts < 0 ? starts : CNN_OK;
	}
	if (!ret)
		ret = cnn_qproduct_turn(p, weights, n->out[0]);
	if (!ret && any)
		ret = cnn_rewrite_set_input(n, 4, starts, p->err);
	n->params.product.shift_out = p->shift;
	return ret;
}

int hwpec_legalize(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = cnn_split_matmul(g, place, err) ?: hwpec_shift_types(g, place, err);

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct cnn_qproduct p = { .g = g, .node = i, .err = err };

		if (!cnn_can_share_place(g->nodes[i].place, place) || !cnn_qproduct_get(&p))
			continue;
		hwpec_find_shift(&p);
		if (p.shift >= 0 && cnn_node_out(g, &g->nodes[i], 0)->dtype == CNN_UINT8) {
			ret = shift_out(&p);
			continue;
		}
		if (p.shift >= 0)
			strcpy(p.why, "the result is int8 and not only for quantised products");
		p.shift = -1;
		ret = cnn_qproduct_split(&p);
		i = p.node + 1;
	}
	if (!ret)
		ret = cnn_graph_link(g, err);
	if (!ret)
		cnn_graph_drop_constants(g);
	return ret;
}
