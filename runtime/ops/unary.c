// SPDX-License-Identifier: MIT
/* Operators of one float32 tensor and at most two parameters. */
#include "ops.h"

int cnn_infer_unary_float(struct cnn_call *c)
{
	return CNN_WANT(c, c->in[0], CNN_FLOAT32) ?: cnn_infer_like(c, c->in[0]);
}

struct unary_call {
	const struct cnn_call *c;
	cnn_unary_fn *fn;		/* NULL: a HardSwish and an affine activation */
	float a, b;
};

static void unary_block(const void *arg, int64_t first, int64_t n)
{
	const struct unary_call *u = arg;
	const float *x = (const float *)u->c->in[0]->data + first;
	float *y = (float *)u->c->out[0]->data + first;

	if (u->fn) {
		u->fn(x, y, n, u->a, u->b);
		cnn_op_finish(u->c, y, n);
	} else {
		cnn_hard_swish_scaled(&u->c->node->act, x, y, n);
	}
}

int cnn_compute_unary_float(struct cnn_call *c)
{
	bool scaled = c->node->op == CNN_OP_HARD_SWISH && c->node->act.kind == CNN_ACT_AFFINE;
	const struct unary_call u = {
		.c = c, .fn = scaled ? NULL : cnn_unary_of(c->node->op),
		.a = c->node->params.unary.alpha, .b = c->node->params.unary.beta,
	};

	cnn_for_blocks(c, cnn_tensor_count(c->in[0]), CNN_BLOCK, unary_block, &u);
	c->finished = true;
	return CNN_OK;
}
