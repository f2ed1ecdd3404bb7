// SPDX-License-Identifier: MIT
/*
 * Pass: a BatchNormalization beside a Conv, whose constants it cannot enter for a Relu or another
 * reader between, becomes a depthwise 1 x 1 Conv, so that what is around it stays on the core.
 */
#include <math.h>

#include "merge.h"

/* Is a Conv among the producer and the readers of node n? */
static bool is_beside_conv(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_value *y = &g->values[n->out[0]], *x = &g->values[n->in[0]];

	for (int i = 0; i < y->n_consumers; i++)
		if (g->nodes[y->consumers[i]].op == CNN_OP_CONV)
			return true;
	return x->producer >= 0 && g->nodes[x->producer].op == CNN_OP_CONV;
}

static bool fits(const struct cnn_graph *g, const struct cnn_node *n, bool halves)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (n->op != CNN_OP_BATCH_NORM || !cnn_is_float(y, halves) || y->rank < 3 || y->rank > 4)
		return false;
	for (int i = 1; i < 5; i++)
		if (!cnn_is_const(cnn_node_in(g, n, i)))
			return false;
	return is_beside_conv(g, n);
}

int cnn_pass_scale_to_conv(struct cnn_pass *p, int i)
{
	struct cnn_node *n = &p->g->nodes[i];
	struct cnn_tensor shape = { .dtype = CNN_FLOAT32 };
	const float *in[5];
	float *w, *bias;
	int ret;

	if (!fits(p->g, n, p->what & CNN_FUSE_HALF))
		return CNN_OK;
	shape.rank = cnn_node_out(p->g, n, 0)->rank;
	shape.dims[0] = cnn_node_out(p->g, n, 0)->dims[1];
	for (int k = 1; k < shape.rank; k++)
		shape.dims[k] = 1;
	for (int k = 1; k < 5; k++) /* the data stays where it is if values move */
		in[k] = cnn_node_in(p->g, n, k)->data;
	ret = cnn_rewrite_set_const(p->g, n, 1, &shape, "_weights", &w, p->err);
	shape.rank = 1;
	ret = ret ?: cnn_rewrite_set_const(p->g, n, 2, &shape, "_bias", &bias, p->err);
	for (int64_t c = 0; !ret && c < shape.dims[0]; c++) {
		w[c] = in[1][c] / sqrtf(in[4][c] + n->params.norm.epsilon);
		bias[c] = in[2][c] - in[3][c] * w[c];
	}
	ret = ret ?: cnn_rewrite_rename(n, CNN_OP_CONV, p->err);
	n->n_in = 3;
	n->params.window.group = shape.dims[0];
	return ret;
}
