// SPDX-License-Identifier: MIT
/* Pass: a Sum of two values becomes the Add that it is, which other passes and the cores know. */
#include "passes.h"

int cnn_pass_sum_to_add(struct cnn_pass *p, int i)
{
	struct cnn_node *n = &p->g->nodes[i];
	int ret;

	if (n->op != CNN_OP_SUM || n->n_in != 2)
		return CNN_OK;
	/* What is fused tells the report where the file's Sum went. */
	ret = cnn_rewrite_note(n, n, p->err) ?: cnn_rewrite_rename(n, CNN_OP_ADD, p->err);
	n->opset = 13; /* an older Add does not broadcast by itself */
	return ret;
}
