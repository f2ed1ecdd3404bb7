// SPDX-License-Identifier: MIT
/* Pass: free constants without readers. */
#include "passes.h"

int cnn_pass_drop_constants(struct cnn_graph *g, unsigned int what, struct cnn_err *err)
{
	(void)what;
	(void)err;
	cnn_graph_drop_constants(g);
	return CNN_OK;
}
