// SPDX-License-Identifier: MIT
/*
 * SegmentedLinear: an activation in 16 segments, as core enpu computes it.  Inputs: x, int8; the
 * table, a constant of 16 int32, each a CNNACC_ENPU_SEGMENT().  The result is int8.
 */
#include "arithmetic.h"
#include "ops/ops.h"

int cnn_infer_segmented_linear(struct cnn_call *c)
{
	const struct cnn_tensor *table = c->in[1];
	int ret = CNN_WANT(c, c->in[0], CNN_INT8) ?: CNN_WANT(c, table, CNN_INT32);

	if (ret)
		return ret;
	if (table->rank != 1 || table->dims[0] != ENPUC_SEGMENTS)
		return cnn_op_fail(c, CNN_EINVAL, "the table is not one list of %d segments",
				   ENPUC_SEGMENTS);
	return cnn_infer_like(c, c->in[0]);
}

static void run_block(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	const int8_t *x = (const int8_t *)c->in[0]->data + first;
	int8_t *y = (int8_t *)c->out[0]->data + first;

	for (int64_t i = 0; i < n; i++)
		y[i] = enpuc_segment(c->in[1]->data, x[i]);
}

int cnn_compute_segmented_linear(struct cnn_call *c)
{
	cnn_for_blocks(c, cnn_tensor_count(c->in[0]), CNN_BLOCK, run_block, c);
	return CNN_OK;
}
