// SPDX-License-Identifier: MIT
/* Pass: drop Identity, inference Dropout and the Sum of one value. */
#include "passes.h"

bool cnn_is_nop(const struct cnn_graph *g, const struct cnn_node *n)
{
	if (cnn_node_out(g, n, 0)->rank < 0) /* Dropout's mode may depend on an input */
		return false;
	if (n->op == CNN_OP_DROPOUT)
		return n->n_out < 2 || n->out[1] < 0 ||
		       (!g->values[n->out[1]].n_consumers && !g->values[n->out[1]].is_output);
	return n->op == CNN_OP_IDENTITY || (n->op == CNN_OP_SUM && n->n_in == 1);
}

/* Readers of a no-op's output read its input instead. */
int cnn_pass_drop_nops(struct cnn_pass *p, int i)
{
	struct cnn_node *n = &p->g->nodes[i];
	const struct cnn_value *v = &p->g->values[n->out[0]];

	if (v->is_output || !cnn_is_nop(p->g, n))
		return CNN_OK;
	for (int k = 0; k < v->n_consumers; k++) {
		struct cnn_node *reader = &p->g->nodes[v->consumers[k]];

		for (int j = 0; j < reader->n_in; j++)
			if (reader->in[j] == n->out[0])
				reader->in[j] = n->in[0];
	}
	cnn_node_free(n);
	return CNN_OK;
}
