// SPDX-License-Identifier: MIT
/* Which sums of products a core that has int8 weights and no zero points can take. */
#include "qproduct.h"

static bool is_zero(const struct cnn_tensor *t)
{
	int64_t bytes = t ? cnn_tensor_bytes(t) : 0;

	for (int64_t i = 0; i < bytes; i++)
		if (!t->data || ((const uint8_t *)t->data)[i])
			return false;
	return true;
}

static bool check_weights(const struct cnn_node *n, const struct cnn_tensor *w, char *reason)
{
	return w && w->data ? true : cnn_reject(reason, "%s: weight is not constant", n->op_type);
}

static bool check_matrices(const struct cnn_node *n, const struct cnn_tensor *a,
			   const struct cnn_tensor *b, char *reason)
{
	if (b->rank >= 2 && a->rank >= b->rank &&
	    cnn_tensor_count(b) == b->dims[b->rank - 2] * b->dims[b->rank - 1])
		return true;
	return cnn_reject(reason, "%s: matrices of %d and %d dimensions, one matrix of weights "
			  "wanted", n->op_type, a->rank, b->rank);
}

bool cnn_refuse_product(const struct cnn_graph *g, const struct cnn_node *n, const char *core,
			char *reason)
{
	const struct cnn_tensor *w = cnn_is_unsplit(n) ? cnn_node_in(g, n, 3) : NULL;
	const char *why = n->op == CNN_OP_QLINEAR_SUMS ? n->params.sums.why : "";

	if (*why)
		return cnn_reject(reason, "%s: %s does not requantise: %s", n->op_type, core, why);
	if (!cnn_is_unsplit(n))
		return cnn_reject(reason, "%s: %s has only ConvInteger and MatMulInteger, and "
				  "what becomes one of them", n->op_type, core);
	return check_weights(n, w, reason) &&
	       (n->op != CNN_OP_QLINEAR_MATMUL ||
		check_matrices(n, cnn_node_in(g, n, 0), w, reason)) &&
	       cnn_reject(reason,
			  "%s: a scale, zero point or bias is not constant, or one for each row",
			  n->op_type);
}

bool cnn_check_product(const struct cnn_graph *g, const struct cnn_node *n, const char *core,
		       char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *w = cnn_node_in(g, n, 1);
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (!x || !y || cnn_tensor_count(x) < 1 || cnn_tensor_count(y) < 1)
		return cnn_reject(reason, "%s: a shape is unknown or empty", n->op_type);
	if (!check_weights(n, w, reason) ||
	    (cnn_op_base(n->op) == CNN_OP_MATMUL_INTEGER && !check_matrices(n, x, w, reason)))
		return false;
	if (!is_zero(cnn_node_in(g, n, 2)) || !is_zero(cnn_node_in(g, n, 3)))
		return cnn_reject(reason, "%s: a zero point is not constant, or one for each row",
				  n->op_type);
	if (w->dtype != CNN_INT8)
		return cnn_reject(reason, "%s: weight of type %s, %s has int8", n->op_type,
				  cnn_dtype_name(w->dtype), core);
	if (cnn_node_in(g, n, 4) && !cnn_node_in(g, n, 4)->data)
		return cnn_reject(reason, "%s: the initial value of its sums is not constant",
				  n->op_type);
	return true;
}
