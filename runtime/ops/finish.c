// SPDX-License-Identifier: MIT
/* What follows an operator's arithmetic. */
#include "ops.h"

void cnn_op_finish(const struct cnn_call *c, float *y, int64_t n)
{
	const struct cnn_act *act = &c->node->act;

	if (act->kind != CNN_ACT_NONE)
		cnn_act_apply(act, y, y, n);
	cnn_canonical_nans(y, n);
}
