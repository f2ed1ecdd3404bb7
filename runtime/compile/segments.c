// SPDX-License-Identifier: MIT
/*
 * Orders nodes so that there are few segments. The processors (the CPU and the cores) are served
 * round robin; each gets every node that is ready, and those that become ready by that. With one
 * core this gives the fewest segments for a given first processor, so each is tried as the first.
 */
#include <stdlib.h>

#include "internal.h"

struct scheduled_node {
	int level;	/* nodes of one level are a segment; levels may be unused */
	int last, node;	/* last: of the node's unit, in whose place that runs */
};

/*
 * The CPU is processor 0, for all lanes. A core has one more for each lane, as there is an equal core
 * for it.
 */
static int processor_of(const struct cnn_compiler *cc, int node)
{
	int core = cc->compile.out->nodes[node].core;

	return core + 1 + (cc->lanes && core >= 0 ? cc->lanes[node].lane * cc->n_cores : 0);
}

static int count_processors(const struct cnn_compiler *cc)
{
	return cc->n_cores + 1 + (cc->lanes ? cc->n_cores * cc->n_cores : 0);
}

/* The first level from least on that belongs to a processor, if level 0 belongs to first. */
static int next_level(int least, int processor, int first, int processors)
{
	int own = (processor - first + processors) % processors;

	return least + ((own - least) % processors + processors) % processors;
}

static int compare_scheduled(const void *a, const void *b)
{
	const struct scheduled_node *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* The level behind those that a node's inputs are made in. */
static int least_level(const struct cnn_graph *g, int node, const struct scheduled_node *schedule)
{
	int least = 0;

	for (int k = 0; k < g->nodes[node].n_in; k++) {
		int v = g->nodes[node].in[k], from = v < 0 ? -1 : g->values[v].producer;
		int level = from < 0 ? 0 : schedule[from].level;

		least = level > least ? level : least;
	}
	return least;
}

/* Schedules the unit of several nodes that ends with this one; those that read it come later. */
static void schedule_unit(const struct cnn_compiler *cc, const struct cnn_unit *u, int first,
			  struct scheduled_node *schedule)
{
	int least = 0, last = u->nodes[u->n_nodes - 1];

	for (int i = 0; i < u->n_nodes; i++) {
		int level = least_level(u->g, u->nodes[i], schedule);

		schedule[u->nodes[i]] = (struct scheduled_node){ 0, last, u->nodes[i] };
		least = level > least ? level : least;
	}
	least = next_level(least, processor_of(cc, last), first, count_processors(cc));
	for (int i = 0; i < u->n_nodes; i++)
		schedule[u->nodes[i]].level = least;
}

/* Sorts the schedule whose level 0 belongs to processor first; returns the number of segments. */
static int order_nodes(const struct cnn_compiler *cc, int first, struct scheduled_node *schedule)
{
	const struct cnn_graph *g = cc->compile.g;
	int segments = g->n_nodes > 0;

	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_unit *u = cnn_unit_of(cc, i);

		if (u && i == u->nodes[u->n_nodes - 1])
			schedule_unit(cc, u, first, schedule);
		if (u)
			continue;
		schedule[i] = (struct scheduled_node){
			next_level(least_level(g, i, schedule), processor_of(cc, i), first,
				   count_processors(cc)), i, i,
		};
	}
	qsort(schedule, (size_t)g->n_nodes, sizeof(*schedule), compare_scheduled);
	for (int i = 1; i < g->n_nodes; i++)
		segments += schedule[i].level != schedule[i - 1].level;
	return segments;
}

static int fill_segments(struct cnn_compiler *cc, const struct scheduled_node *schedule)
{
	struct cnn_lowered *out = cc->compile.out;
	int n = out->n_nodes;

	for (int i = 0; i < n;) {
		struct cnn_segment *seg = &out->segments[out->n_segments];
		int end = i;

		while (end < n && schedule[end].level == schedule[i].level)
			end++;
		seg->nodes = calloc((size_t)(end - i), sizeof(int));
		if (!seg->nodes)
			return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for segments");
		seg->core = out->nodes[schedule[i].node].core;
		for (; i < end; i++) {
			out->nodes[schedule[i].node].segment = out->n_segments;
			out->nodes[schedule[i].node].order = i;
			seg->nodes[seg->n_nodes++] = schedule[i].node;
		}
		out->n_segments++;
	}
	return CNN_OK;
}

static int choose_schedule(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;
	struct scheduled_node *schedule = calloc((size_t)out->n_nodes + 1, sizeof(*schedule));
	int best = 0, least = 0, ret;

	out->segments = calloc((size_t)out->n_nodes + 1, sizeof(*out->segments));
	if (!schedule || !out->segments) {
		free(schedule);
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for segments");
	}
	for (int first = 0; first <= cc->n_cores; first++) {
		int segments = order_nodes(cc, first, schedule);

		if (first && segments >= least)
			continue;
		best = first;
		least = segments;
	}
	order_nodes(cc, best, schedule);
	ret = fill_segments(cc, schedule);
	free(schedule);
	return ret;
}

static bool is_in(const struct cnn_lowered *out, const struct cnn_segment *seg, int node)
{
	return node >= 0 && out->nodes[node].segment == seg - out->segments;
}

static bool is_read_outside(const struct cnn_compiler *cc, const struct cnn_segment *seg, int v)
{
	const struct cnn_value *val = &cc->compile.g->values[v];

	for (int i = 0; i < val->n_consumers; i++)
		if (!is_in(cc->compile.out, seg, val->consumers[i]))
			return true;
	return val->is_output;
}

static int compare_int(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Sorts and removes duplicates; returns the new length. */
static int unique(int *list, int n)
{
	int out = 0;

	qsort(list, (size_t)n, sizeof(*list), compare_int);
	for (int i = 0; i < n; i++)
		if (!out || list[out - 1] != list[i])
			list[out++] = list[i];
	return out;
}

static void collect_io(struct cnn_compiler *cc, struct cnn_segment *seg)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_slot *slots = cc->compile.out->slots;

	for (int i = 0; i < seg->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[seg->nodes[i]];

		for (int k = 0; k < n->n_in; k++) {
			int v = n->in[k];

			if (v >= 0 && slots[v].used &&
			    !is_in(cc->compile.out, seg, g->values[v].producer))
				seg->in[seg->n_in++] = v;
		}
		for (int k = 0; k < n->n_out; k++) {
			int v = n->out[k];

			if (v >= 0 && slots[v].used && is_read_outside(cc, seg, v))
				seg->out[seg->n_out++] = v;
		}
	}
}

static int segment_io(struct cnn_compiler *cc, struct cnn_segment *seg)
{
	const struct cnn_graph *g = cc->compile.g;
	size_t ins = 0, outs = 0;

	for (int i = 0; i < seg->n_nodes; i++) {
		ins += (size_t)g->nodes[seg->nodes[i]].n_in;
		outs += (size_t)g->nodes[seg->nodes[i]].n_out;
	}
	seg->in = calloc(ins + 1, sizeof(int));
	seg->out = calloc(outs + 1, sizeof(int));
	if (!seg->in || !seg->out)
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for segments");
	collect_io(cc, seg);
	seg->n_in = unique(seg->in, seg->n_in);
	seg->n_out = unique(seg->out, seg->n_out);
	/* Inputs live to the end of the segment (see find_lives), so no output overwrites them. */
	seg->restartable = true;
	return CNN_OK;
}

int cnn_make_segments(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;
	int ret = choose_schedule(cc);

	for (int i = 0; i < out->n_segments && !ret; i++)
		if (out->segments[i].core >= 0)
			ret = segment_io(cc, &out->segments[i]);
	return ret;
}
