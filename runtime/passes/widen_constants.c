// SPDX-License-Identifier: MIT
/* Pass: the float16 constants of nodes that compute float16 become float32. */
#include "ops/ops.h"
#include "passes.h"

static int widen(struct cnn_pass *p, struct cnn_node *n, int i)
{
	const struct cnn_tensor old = p->g->values[n->in[i]].t;
	float *data;
	int ret = cnn_rewrite_set_const(p->g, n, i, &old, "_wide", &data, p->err);

	if (!ret)
		cnn_cast(CNN_FLOAT16, old.data, CNN_FLOAT32, data, cnn_tensor_count(&old));
	return ret;
}

/* The operators whose constants the passes fold, or a core computes with. */
static bool is_widened(enum cnn_op op)
{
	switch (op) {
	case CNN_OP_ADD:
	case CNN_OP_BATCH_NORM:
	case CNN_OP_CLIP:
	case CNN_OP_CONV:
	case CNN_OP_CONV_TRANSPOSE:
	case CNN_OP_GEMM:
	case CNN_OP_MATMUL:
	case CNN_OP_MUL:
		return true;
	default:
		return false;
	}
}

static bool computes_half(const struct cnn_graph *g, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_in; i++) {
		const struct cnn_tensor *x = cnn_node_in(g, n, i);

		if (x && !x->data && x->dtype == CNN_FLOAT16)
			return true;
	}
	return false;
}

int cnn_pass_widen_constants(struct cnn_pass *p, int i)
{
	struct cnn_node *n = &p->g->nodes[i];
	int ret = CNN_OK;

	if (!is_widened(n->op) || !computes_half(p->g, n))
		return CNN_OK;
	n->wide = true;
	for (int k = 0; k < n->n_in && !ret; k++) {
		const struct cnn_tensor *t = cnn_node_in(p->g, n, k);

		if (t && t->data && t->dtype == CNN_FLOAT16)
			ret = widen(p, n, k);
	}
	return ret;
}
