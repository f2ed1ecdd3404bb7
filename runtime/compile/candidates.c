// SPDX-License-Identifier: MIT
/*
 * Compiles a graph in several ways to find the one that takes the least time. The choice of places
 * works with estimates, without what stays on chip from node to node; this compares whole programs.
 */
#include <stdlib.h>

#include "ir/graph_internal.h"
#include "internal.h"

static struct cnn_graph *copy_all(const struct cnn_graph *g, struct cnn_err *err)
{
	int *nodes = malloc(((size_t)g->n_nodes + 1) * sizeof(*nodes));
	struct cnn_graph *copy = NULL;

	for (int i = 0; nodes && i < g->n_nodes; i++)
		nodes[i] = i;
	if (nodes)
		cnn_subgraph_copy(g, nodes, g->n_nodes, &copy, err);
	free(nodes);
	return copy;
}

/* The modelled time of a copy of the graph; INT64_MAX if it cannot be compiled in this way. */
static int64_t time_of(const struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
		       struct cnn_lower_options opt)
{
	struct cnn_graph *copy = copy_all(g, NULL);
	struct cnn_lowered *low = NULL;
	int64_t ns = INT64_MAX;

	opt.progress = NULL;
	if (copy && !cnn_partition(copy, cores, n_cores, &opt, NULL) &&
	    !cnn_lower(copy, cores, n_cores, &opt, &low, NULL))
		ns = low->ns;
	cnn_lowered_free(low);
	cnn_graph_free(copy);
	return ns;
}

struct search {
	const struct cnn_graph *g;
	const struct cnnrt_core_info *cores;
	int n_cores;
	struct cnn_lower_options *best;
	int64_t least;
};

static void try_options(struct search *s, const struct cnn_lower_options *opt)
{
	int64_t ns = time_of(s->g, s->cores, s->n_cores, *opt);

	if (ns >= s->least)
		return;
	*s->best = *opt;
	s->least = ns;
}

void cnn_find_fastest(const struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
		      const struct cnn_lower_options *opt, struct cnn_lower_options *best)
{
	struct search s = {
		.g = g, .cores = cores, .n_cores = n_cores, .best = best, .least = INT64_MAX,
	};
	struct cnn_lower_options one = *opt;

	*best = *opt;
	if (opt->prefer != CNNRT_PREFER_TIME || opt->cores || opt->cpu_only)
		return;
	try_options(&s, opt);
	one.prefer = CNNRT_PREFER_DEVICE;
	try_options(&s, &one);
	for (int i = 0; i < n_cores; i++) {
		one.cores = cnn_equal_cores(cores, (unsigned int)n_cores, (unsigned int)i);
		/* The first of equal cores stands for all. */
		if (!(one.cores & ((1u << i) - 1)))
			try_options(&s, &one);
	}
	one.cores = 0;
	one.cpu_only = true;
	try_options(&s, &one);
}
