// SPDX-License-Identifier: MIT
/* Pass: drop Identity and inference Dropout. */
#include <stdlib.h>

#include "passes.h"

bool cnn_is_nop(const struct cnn_graph *g, const struct cnn_node *n)
{
	if (cnn_node_out(g, n, 0)->rank < 0) /* Dropout's mode may depend on an input */
		return false;
	if (n->op == CNN_OP_DROPOUT)
		return n->n_out < 2 || n->out[1] < 0 ||
		       (!g->values[n->out[1]].n_consumers && !g->values[n->out[1]].is_output);
	return n->op == CNN_OP_IDENTITY;
}

/* Readers of a no-op's output read its input instead. */
int cnn_pass_drop_nops(struct cnn_graph *g, unsigned int what, struct cnn_err *err)
{
	int *source = malloc(sizeof(*source) * (g->n_values + 1));

	(void)what;
	if (!source)
		return cnn_rewrite_nomem(err);
	for (int i = 0; i < g->n_values; i++)
		source[i] = i;
	for (int i = 0; i < g->n_nodes; i++) {
		struct cnn_node *n = &g->nodes[i];

		for (int j = 0; j < n->n_in; j++)
			if (n->in[j] >= 0)
				n->in[j] = source[n->in[j]];
		if (!cnn_is_nop(g, n) || g->values[n->out[0]].is_output)
			continue;
		source[n->out[0]] = n->in[0];
		cnn_node_free(n);
	}
	free(source);
	return cnn_graph_compact(g, err);
}
