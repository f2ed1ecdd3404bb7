// SPDX-License-Identifier: MIT
/* cnnquant --format POT8: prepares the float network, and does the steps. */
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "pot8.h"

#define POINTS_MAX	64	/* of a mean */

/* Levels of a dynamic range mean nothing beside fixed ones: their readers read their input. */
static void drop_levels(struct cnn_graph *g)
{
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];

		if (n->op != CNN_OP_DYNAMIC_LEVELS || g->values[n->out[0]].is_output)
			continue;
		for (int k = i + 1; k < g->n_nodes; k++)
			for (int j = 0; j < g->nodes[k].n_in; j++)
				if (g->nodes[k].in[j] == n->out[0])
					g->nodes[k].in[j] = n->in[0];
	}
}

/* A mean of more points than a window has becomes one of columns and one of rows. */
static int split_mean(struct quantizer *q, int i)
{
	struct cnn_graph *g = q->g;
	struct cnn_window w;
	struct cnn_tensor t = *cnn_node_out(g, &g->nodes[i], 0);
	struct cnn_node *n;
	int middle, out = g->nodes[i].out[0], ret;

	if (cnn_node_window(g, &g->nodes[i], &w, &q->err))
		return quant_fail(q);
	t.dims[3] = cnn_node_in(g, &g->nodes[i], 0)->dims[3];
	t.data = NULL;
	t.owned = false;
	middle = cnn_graph_add_value(g, "mean of rows", &t, &q->err);
	ret = middle < 0 ? middle :
	      cnn_rewrite_insert(g, i + 1, CNN_OP_AVERAGE_POOL, middle, out, &q->err) ?:
	      cnn_rewrite_rename(&g->nodes[i], CNN_OP_AVERAGE_POOL, &q->err);
	if (ret < 0)
		return quant_fail(q);
	g->nodes[i].out[0] = middle;
	for (int k = 0; k < 2; k++) {
		n = &g->nodes[i + k];
		n->opset = g->nodes[i].opset;
		n->params.window.kernel_shape = n->params.window.strides =
			(struct cnn_window_ints){ .n = 2, .v = { 1, 1 } };
		n->params.window.pads.n = -1;
		n->params.window.kernel_shape.v[k] = w.kernel[k];
		n->params.window.strides.v[k] = w.stride[k];
	}
	return cnn_graph_link(g, &q->err) ? quant_fail(q) : EXIT_DONE;
}

static int split_means(struct quantizer *q)
{
	int ret = EXIT_DONE;

	for (int i = 0; i < q->g->n_nodes && !ret; i++) {
		const struct cnn_node *n = &q->g->nodes[i];
		struct cnn_window w;

		if ((n->op != CNN_OP_AVERAGE_POOL && n->op != CNN_OP_GLOBAL_AVERAGE_POOL) ||
		    cnn_node_in(q->g, n, 0)->rank != 4 || cnn_node_window(q->g, n, &w, NULL) ||
		    cnn_window_is_padded(&w) || w.ceil_mode)
			continue;
		if (w.kernel[0] * w.kernel[1] > POINTS_MAX && w.kernel[0] <= POINTS_MAX &&
		    w.kernel[1] <= POINTS_MAX)
			ret = split_mean(q, i);
	}
	return ret;
}

static int prepare(struct quantizer *q)
{
	drop_levels(q->g);
	if (cnn_graph_link(q->g, &q->err) || cnn_graph_prune(q->g, &q->err) ||
	    cnn_graph_fuse(q->g, CNN_FUSE_NOP | CNN_FUSE_IDIOMS | CNN_FUSE_RESHAPE, &q->err))
		return quant_fail(q);
	return split_means(q);
}

int pot8_quantize(struct quantizer *q, int64_t count, bool show)
{
	struct pot8 p = { .q = q, .show = show };
	int ret = prepare(q);

	if (ret)
		return ret;
	p.n_values = q->g->n_values;
	p.node = calloc((size_t)q->g->n_nodes + 1, sizeof(*p.node));
	p.value = calloc((size_t)p.n_values + 1, sizeof(*p.value));
	if (!p.node || !p.value)
		ret = complain(EXIT_FAILED, "out of memory");
	ret = ret ?: pot8_plan(&p) ?: pot8_find_ranges(&p, count) ?: pot8_choose_scales(&p) ?:
	      pot8_write(&p);
	free(p.node);
	free(p.value);
	return ret;
}
