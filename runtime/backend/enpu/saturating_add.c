// SPDX-License-Identifier: MIT
/*
 * SaturatingAdd: the sum of two tensors of int8, the second broadcast to the shape of the first, or
 * the first to that of the second, limited to int8.
 */
#include "arithmetic.h"
#include "ops/ops.h"

int cnn_infer_saturating_add(struct cnn_call *c)
{
	int ret = CNN_WANT(c, c->in[0], CNN_INT8) ?: CNN_WANT(c, c->in[1], CNN_INT8) ?:
		  cnn_infer_like(c, c->in[0]);

	return ret ?: cnn_broadcast(c, c->out[0], c->in[1]);
}

int cnn_compute_saturating_add(struct cnn_call *c)
{
	const struct cnn_tensor *in[] = { c->in[0], c->in[1] };
	int8_t *y = c->out[0]->data;
	struct cnn_walk w;

	cnn_walk_start(&w, c->out[0], 2, in);
	for (int64_t left = cnn_tensor_count(c->out[0]); left > 0; left -= w.row) {
		const int8_t *a = (const int8_t *)w.p[0], *b = (const int8_t *)w.p[1];

		for (int64_t i = 0; i < w.row; i++)
			*y++ = enpuc_clamp8(a[w.moves[0] ? i : 0] + b[w.moves[1] ? i : 0]);
		cnn_walk_next(&w);
	}
	return CNN_OK;
}
