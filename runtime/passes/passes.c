// SPDX-License-Identifier: MIT
/* Runs the passes over a graph, in the order of passes.def. */
#include "passes.h"

static const struct {
	unsigned int needs;
	int (*run)(struct cnn_pass *p);
	int (*visit)(struct cnn_pass *p, int i);
} passes[] = {
#define PASS(name, needs)	{ needs, cnn_pass_##name, NULL },
#define NODE_PASS(name, needs)	{ needs, NULL, cnn_pass_##name },
#include "passes.def"
};

static int visit_nodes(struct cnn_pass *p, int (*visit)(struct cnn_pass *p, int i))
{
	int ret = CNN_OK;

	for (int i = 0; !ret && i < p->g->n_nodes; i++)
		if (p->g->nodes[i].op_type &&	/* not removed */
		    cnn_can_share_place(p->g->nodes[i].place, p->place))
			ret = visit(p, i);
	return ret ?: cnn_graph_compact(p->g, p->err);
}

int cnn_graph_fuse_at(struct cnn_graph *g, int place, unsigned int what, struct cnn_err *err)
{
	struct cnn_pass p = { g, what, place, err };
	int ret = CNN_OK;

	if (!g->inferred)
		return cnn_fail(err, CNN_EINVAL, "fuse: the graph's shapes have not been inferred");
	/* These add nodes, which only pays on a core. */
	if (what & CNN_FUSE_FOR_CPU)
		p.what &= ~(CNN_FUSE_SHUFFLE | CNN_FUSE_STRIDE | CNN_FUSE_DEPTHWISE);
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]) && !ret; i++)
		if ((p.what & passes[i].needs) == passes[i].needs)
			ret = passes[i].run ? passes[i].run(&p) : visit_nodes(&p, passes[i].visit);
	if (!ret)
		cnn_graph_drop_constants(g);
	return ret;
}

int cnn_graph_fuse(struct cnn_graph *g, unsigned int what, struct cnn_err *err)
{
	return cnn_graph_fuse_at(g, CNN_PLACE_OPEN, what, err);
}
