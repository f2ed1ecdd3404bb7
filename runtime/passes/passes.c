// SPDX-License-Identifier: MIT
/* Runs the passes over a graph, in the order of passes.def. */
#include "passes.h"

static const struct {
	const char *name;
	unsigned int needs;
	int (*run)(struct cnn_graph *g, unsigned int what, struct cnn_err *err);
} passes[] = {
#define PASS(name, needs) { #name, needs, cnn_pass_##name },
#include "passes.def"
#undef PASS
};

int cnn_graph_fuse(struct cnn_graph *g, unsigned int what, struct cnn_err *err)
{
	int ret = CNN_OK;

	if (!g->inferred)
		return cnn_fail(err, CNN_EINVAL, "fuse: the graph's shapes have not been inferred");
	/* These add nodes, which only pays on a core. */
	if (what & CNN_FUSE_FOR_CPU)
		what &= ~(CNN_FUSE_SHUFFLE | CNN_FUSE_STRIDE);
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]) && !ret; i++)
		if ((what & passes[i].needs) == passes[i].needs)
			ret = passes[i].run(g, what, err);
	return ret;
}
