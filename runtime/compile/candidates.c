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

/* By cost, and with the CPU only where cores are much slower. */
static void try_both(struct search *s, struct cnn_lower_options opt)
{
	opt.prefer = CNNRT_PREFER_TIME;
	try_options(s, &opt);
	opt.prefer = CNNRT_PREFER_DEVICE;
	try_options(s, &opt);
}

/* One type of core: for all that it takes; and, if there are others, as if there were none. */
static void try_type(struct search *s, struct cnn_lower_options opt, uint32_t type)
{
	opt.cores = type;
	try_options(s, &opt);
	opt.or_cpu = true;
	if (type != (uint32_t)(((uint64_t)1 << s->n_cores) - 1))
		try_both(s, opt);
}

/* Is there a convolution of integers with groups, or of floats between quantised values? */
static bool has_integer_groups(const struct cnn_graph *g)
{
	bool floats = false, integers = false, dequantised = false;

	for (int i = 0; i < g->n_nodes; i++) {
		enum cnn_op op = g->nodes[i].op;

		dequantised |= op == CNN_OP_DEQUANTIZE_LINEAR;
		if (cnn_weights_input(op) >= 0 && g->nodes[i].params.window.group > 1)
			*(op == CNN_OP_CONV ? &floats : &integers) = true;
	}
	return integers || (floats && dequantised);
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
	try_both(&s, one);
	one.prefer = CNNRT_PREFER_DEVICE;
	for (int i = 0; i < n_cores; i++) {
		uint32_t type = cnn_equal_cores(cores, (unsigned int)n_cores, (unsigned int)i);

		/* The first of equal cores stands for all. */
		if (!(type & ((1u << i) - 1)))
			try_type(&s, one, type);
	}
	one.cpu_only = true;
	try_options(&s, &one);
	if (!best->cpu_only && has_integer_groups(g)) {
		one = *best;
		one.whole_groups = true;
		try_options(&s, &one);
	}
}
