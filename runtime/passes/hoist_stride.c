// SPDX-License-Identifier: MIT
/*
 * Pass: move the strides of a 1 x 1 Conv, which reads few pixels of its input, to an AveragePool of
 * single pixels before it. The Conv's smaller input may fit on chip where the whole would not, and
 * its rows are contiguous.
 */
#include "passes.h"

/* For fewer output pixels the Conv with strides takes less time. */
#define LEAST_PIXELS 128

static bool has_stride(const struct cnn_graph *g, const struct cnn_node *n, struct cnn_window *w)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0);

	if (n->op != CNN_OP_CONV || !x || x->data || x->rank != 4 || x->dtype != CNN_FLOAT32 ||
	    cnn_node_window(g, n, w, NULL) || w->group != 1)
		return false;
	for (int i = 0; i < 2; i++)
		if (w->kernel[i] != 1 || w->pad_begin[i] || w->pad_end[i])
			return false;
	return w->stride[0] > 1 && w->stride[1] > 1 && w->out[0] * w->out[1] >= LEAST_PIXELS;
}

/* Replaces the Conv, node i, by an AveragePool and a Conv without strides. */
static int split(struct cnn_graph *g, int i, const struct cnn_window *w, struct cnn_err *err)
{
	struct cnn_node *n = &g->nodes[i];
	struct cnn_window_params *pick;
	struct cnn_tensor t = *cnn_node_in(g, n, 0);
	int in = n->in[0], mid, ret;

	t.dims[2] = w->out[0];
	t.dims[3] = w->out[1];
	mid = cnn_rewrite_add_value(g, g->values[n->out[0]].name, "_picked", &t, err);
	if (mid < 0)
		return mid;
	n->in[0] = mid;
	cnn_params_init(n);
	ret = cnn_rewrite_insert(g, i, CNN_OP_AVERAGE_POOL, in, mid, err);
	if (ret)
		return ret;
	pick = &g->nodes[i].params.window;
	pick->kernel_shape = (struct cnn_window_ints){ 2, { 1, 1 } };
	pick->strides = (struct cnn_window_ints){ 2, { w->stride[0], w->stride[1] } };
	return CNN_OK;
}

int cnn_pass_hoist_stride(struct cnn_pass *p, int i)
{
	struct cnn_window w;

	return has_stride(p->g, &p->g->nodes[i], &w) ? split(p->g, i, &w, p->err) : CNN_OK;
}
