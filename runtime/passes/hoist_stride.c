// SPDX-License-Identifier: MIT
/*
 * A 1 x 1 convolution with strides reads few pixels of its input: an AveragePool of single pixels
 * picks these out, and the convolution has no strides. The map that it reads then may stay on a
 * core where all of the input would not, and its rows need not be apart.
 */
#include <stdio.h>

#include "ir/graph_internal.h"

/* Fewer output pixels are read with strides in less time than it takes to pick them. */
#define LEAST_PIXELS	128

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

/* Node i, such a Conv, becomes an AveragePool and a Conv. */
static int split(struct cnn_graph *g, int i, const struct cnn_window *w, struct cnn_err *err)
{
	const int64_t one[2] = { 1, 1 };
	struct cnn_node *n = &g->nodes[i];
	struct cnn_tensor t = *cnn_node_in(g, n, 0);
	int in = n->in[0], mid, ret;
	char name[128];

	t.dims[2] = w->out[0];
	t.dims[3] = w->out[1];
	snprintf(name, sizeof(name), "%.100s_picked", g->values[n->out[0]].name);
	mid = cnn_graph_add_value(g, name, &t, err);
	if (mid < 0)
		return mid;
	n->in[0] = mid;
	cnn_node_drop_attrs(n);
	ret = cnn_fuse_insert(g, i, CNN_OP_AVERAGE_POOL, "AveragePool", in, mid, err);
	if (!ret)
		ret = cnn_node_add_ints(&g->nodes[i], "kernel_shape", 2, one, err);
	return ret ? ret : cnn_node_add_ints(&g->nodes[i], "strides", 2, w->stride, err);
}

int cnn_fuse_strides(struct cnn_graph *g, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; !ret && i < g->n_nodes; i++) {
		struct cnn_window w;

		if (!has_stride(g, &g->nodes[i], &w))
			continue;
		ret = split(g, i, &w, err);
		i++;
	}
	return ret ? ret : cnn_graph_link(g, err);
}
