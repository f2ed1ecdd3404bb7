// SPDX-License-Identifier: MIT
/* If, Loop and Scan: inference replaces them by nodes, so that none is left to run. */
#include "ops.h"

int cnn_infer_control(struct cnn_call *c)
{
	return cnn_op_fail(c, CNN_EUNSUPPORTED, "how often its body runs is known only when the "
			   "network runs");
}

int cnn_compute_control(struct cnn_call *c)
{
	return cnn_infer_control(c);
}
