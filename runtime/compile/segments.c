// SPDX-License-Identifier: MIT
/*
 * The order of nodes, in few runs on one core or the CPU. The places take turns; each runs every
 * node that is ready and that it makes ready. With one core that is as few runs as there can be for
 * the place that begins, so each is tried.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct turn {
	int level, node;	/* which run; levels nobody has are no runs */
};

/* The CPU is place 0. */
static int place_of(const struct cnn_lowered *out, int node)
{
	return out->nodes[node].core + 1;
}

/* The first level from least on at which place has its turn if begin began. */
static int next_turn(int least, int place, int begin, int places)
{
	int own = (place - begin + places) % places;

	return least + ((own - least) % places + places) % places;
}

static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Runs if begin begins; turns is by node. */
static int find_levels(const struct cnn_compiler *x, int begin, struct turn *turns)
{
	const struct cnn_graph *g = x->lw.g;

	for (int i = 0; i < g->n_nodes; i++) {
		int least = 0;

		for (int k = 0; k < g->nodes[i].n_in; k++) {
			int v = g->nodes[i].in[k], from = v < 0 ? -1 : g->values[v].producer;
			int level = from < 0 ? 0 : turns[from].level;

			/* What the host copies is made in an earlier run. */
			if (from >= 0 && x->copy[i] >= 0)
				level++;
			least = level > least ? level : least;
		}
		turns[i].node = i;
		turns[i].level = next_turn(least, place_of(x->lw.out, i), begin, x->n_cores + 1);
	}
	return g->n_nodes;
}

/* The order if begin begins; how many runs. */
static int order_nodes(const struct cnn_compiler *x, int begin, struct turn *turns)
{
	int n = find_levels(x, begin, turns), runs = n > 0;

	qsort(turns, (size_t)n, sizeof(*turns), compare_turns);
	for (int i = 1; i < n; i++)
		runs += turns[i].level != turns[i - 1].level;
	return runs;
}

static int fill_segments(struct cnn_compiler *x, const struct turn *turns)
{
	struct cnn_lowered *out = x->lw.out;
	int n = out->n_nodes;

	for (int i = 0; i < n;) {
		struct cnn_segment *seg = &out->segments[out->n_segments];
		int end = i;

		while (end < n && turns[end].level == turns[i].level)
			end++;
		seg->nodes = calloc((size_t)(end - i), sizeof(int));
		if (!seg->nodes)
			return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for segments");
		seg->core = out->nodes[turns[i].node].core;
		for (; i < end; i++) {
			out->nodes[turns[i].node].segment = out->n_segments;
			out->nodes[turns[i].node].turn = i;
			seg->nodes[seg->n_nodes++] = turns[i].node;
		}
		out->n_segments++;
	}
	return CNN_OK;
}

static int cut_segments(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;
	struct turn *turns = calloc((size_t)out->n_nodes + 1, sizeof(*turns));
	int best = 0, least = 0, ret;

	out->segments = calloc((size_t)out->n_nodes + 1, sizeof(*out->segments));
	if (!turns || !out->segments) {
		free(turns);
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for segments");
	}
	for (int begin = 0; begin <= x->n_cores; begin++) {
		int runs = order_nodes(x, begin, turns);

		if (begin && runs >= least)
			continue;
		best = begin;
		least = runs;
	}
	order_nodes(x, best, turns);
	ret = fill_segments(x, turns);
	free(turns);
	return ret;
}

/* ---- what goes in and out -------------------------------------------------------------- */

static bool is_in(const struct cnn_lowered *out, const struct cnn_segment *seg, int node)
{
	return node >= 0 && out->nodes[node].segment == seg - out->segments;
}

static bool is_read_outside(const struct cnn_compiler *x, const struct cnn_segment *seg, int v)
{
	const struct cnn_value *val = &x->lw.g->values[v];

	for (int i = 0; i < val->n_consumers; i++)
		if (!is_in(x->lw.out, seg, val->consumers[i]))
			return true;
	return val->is_output;
}

static int compare_int(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Sorts and drops repeats. */
static int unique(int *list, int n)
{
	int kept = 0;

	qsort(list, (size_t)n, sizeof(*list), compare_int);
	for (int i = 0; i < n; i++)
		if (!kept || list[kept - 1] != list[i])
			list[kept++] = list[i];
	return kept;
}

/* The host fills a copy once, and before the segment's first node. */
static void add_copy(struct cnn_compiler *x, struct cnn_segment *seg, int s)
{
	if (x->first[s] < x->lw.out->n_nodes)
		return;
	x->first[s] = x->lw.out->nodes[seg->nodes[0]].turn;
	seg->in[seg->n_in++] = s;
}

static void collect_io(struct cnn_compiler *x, struct cnn_segment *seg)
{
	const struct cnn_graph *g = x->lw.g;
	const struct cnn_slot *slots = x->lw.out->slots;

	for (int i = 0; i < seg->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[seg->nodes[i]];
		int copy = x->copy[seg->nodes[i]];

		if (copy >= 0)
			add_copy(x, seg, copy);
		for (int k = copy >= 0; k < n->n_in; k++) {
			int v = n->in[k];

			if (v >= 0 && slots[v].used &&
			    !is_in(x->lw.out, seg, g->values[v].producer))
				seg->in[seg->n_in++] = v;
		}
		for (int k = 0; k < n->n_out; k++) {
			int v = n->out[k];

			if (v >= 0 && slots[v].used && is_read_outside(x, seg, v))
				seg->out[seg->n_out++] = v;
		}
	}
}

static int segment_io(struct cnn_compiler *x, struct cnn_segment *seg)
{
	const struct cnn_graph *g = x->lw.g;
	size_t ins = 0, outs = 0;

	for (int i = 0; i < seg->n_nodes; i++) {
		ins += (size_t)g->nodes[seg->nodes[i]].n_in;
		outs += (size_t)g->nodes[seg->nodes[i]].n_out;
	}
	seg->in = calloc(ins + 1, sizeof(int));
	seg->out = calloc(outs + 1, sizeof(int));
	if (!seg->in || !seg->out)
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for segments");
	collect_io(x, seg);
	seg->n_in = unique(seg->in, seg->n_in);
	seg->n_out = unique(seg->out, seg->n_out);
	/* The arena keeps what comes from outside, and outputs never lie on it. */
	seg->restartable = true;
	return CNN_OK;
}

int cnn_make_segments(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;
	int ret = cut_segments(x);

	for (int i = 0; i < out->n_segments && !ret; i++)
		if (out->segments[i].core >= 0)
			ret = segment_io(x, &out->segments[i]);
	return ret;
}
