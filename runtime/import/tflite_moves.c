// SPDX-License-Identifier: MIT
/* TensorFlow Lite's operators that only move elements, as nodes. */
#include "tflite_ops.h"

void tfl_make_concat(struct tfl *m, const struct tfl_op *op)
{
	int64_t axis = fb_int(&op->options, 0, 4, 0);
	int rank = m->tensors[op->in[0]].rank, in[CNN_MAX_INPUTS];

	tfl_want_like(m, op);
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis >= rank)
		tfl_fail(m, op, CNN_EINVAL, "axis %lld of %d", (long long)axis, rank);
	for (int i = 0; i < op->n_in && !m->status; i++) {
		if (op->in[i] < 0 || m->tensors[op->in[i]].rank != rank) {
			tfl_fail(m, op, CNN_EINVAL, "input %d does not fit the others", i);
			return;
		}
		tfl_want_same(m, op, op->in[i]);
		in[i] = tfl_value(m, op, op->in[i], TFL_NCHW);
	}
	if (m->status)
		return;
	in[0] = tfl_node(m, op, CNN_OP_CONCAT, op->n_in, in);
	tfl_params(m)->axis.axis = rank == 4 ? tfl_nchw_axis(axis) : axis;
	tfl_give_act(m, op, TFL_NCHW, fb_int(&op->options, 1, 1, 0), BOUND_XNNPACK, in[0]);
}

/* The new shape is that of the output, which input 1 and the options only repeat. */
void tfl_make_reshape(struct tfl *m, const struct tfl_op *op)
{
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	tfl_give(m, op, TFL_FILE, tfl_as_declared(m, op, v));
}
