// SPDX-License-Identifier: MIT
/* The modelled time of a lowered program on its target. */
#include <stdlib.h>

#include "internal.h"

/* The host moves a value to the slot of another one. */
static int64_t move_time(const struct cnn_compiler *cc, const struct cnn_node *n)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_tensor *t = &g->values[n->out[0]].t;
	struct cnn_layout from = cnn_move_source(g, cc->compile.out, n->in[0]);
	bool same = cnn_layout_equal(&from, &cc->compile.out->slots[n->out[0]].layout);

	return cnn_add_sat(cc->target->op_ns, cnn_copy_cost_ns(cc->target, cnn_tensor_bytes(t),
							       cnn_tensor_count(t), !same));
}

static int64_t node_time(const struct cnn_compiler *cc, int node)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_placement *p = &cc->compile.out->nodes[node];

	if (p->core >= 0)
		return cnn_cycles_ns(cc->target, p->core, p->cost.cycles);
	if (cnn_moves_to_slot(g, cc->compile.out, node))
		return move_time(cc, &g->nodes[node]);
	return cnn_cpu_cost_ns(cc->target, g, &g->nodes[node]);
}

/* The host writes or reads a slot; nothing if what it works on is the arena itself. */
static int64_t copy_time(const struct cnn_compiler *cc, int v)
{
	const struct cnn_tensor *t = &cc->compile.g->values[v].t;

	if (cnn_layout_dense(&cc->compile.out->slots[v].layout))
		return 0;
	return cnn_copy_cost_ns(cc->target, cnn_max(cnn_tensor_bytes(t), 0),
				cnn_max(cnn_tensor_count(t), 0), true);
}

static bool made_on_core(const struct cnn_compiler *cc, int value)
{
	int node = cc->compile.g->values[value].producer;

	return node >= 0 && cc->compile.out->nodes[node].core >= 0;
}

static bool is_moved(const struct cnn_compiler *cc, int value)
{
	int node = cc->compile.g->values[value].producer;

	return node >= 0 && cnn_moves_to_slot(cc->compile.g, cc->compile.out, node);
}

/* What the host copies before and after a segment. */
static int64_t copies_time(const struct cnn_compiler *cc, const struct cnn_segment *seg)
{
	const struct cnn_lowered *out = cc->compile.out;
	int64_t ns = 0;

	for (int i = 0; i < seg->n_in; i++)
		if (!made_on_core(cc, seg->in[i]) && !is_moved(cc, seg->in[i]))
			ns = cnn_add_sat(ns, copy_time(cc, seg->in[i]));
	for (int i = 0; i < seg->n_out; i++)
		if (cnn_read_dense(cc->compile.g, out, seg->out[i]))
			ns = cnn_add_sat(ns, copy_time(cc, seg->out[i]));
	return ns;
}

/* What the host does for a segment on a core. */
static int64_t host_time(const struct cnn_compiler *cc, const struct cnn_segment *seg)
{
	return cnn_add_sat(copies_time(cc, seg), seg->n_tasks ? cc->target->submit_ns : 0);
}

static int64_t segment_time(const struct cnn_compiler *cc, const struct cnn_segment *seg)
{
	int64_t ns = host_time(cc, seg);

	for (int i = 0; i < seg->n_nodes; i++)
		ns = cnn_add_sat(ns, cc->compile.out->nodes[seg->nodes[i]].cost_ns);
	return ns;
}

/* When the earlier segments have ended that make a node's inputs; end: by segment. */
static int64_t inputs_end(const struct cnn_compiler *cc, int segment, int node, const int64_t *end)
{
	const struct cnn_graph *g = cc->compile.g;
	int64_t latest = 0;

	for (int k = 0; k < g->nodes[node].n_in; k++) {
		int v = g->nodes[node].in[k], from = v < 0 ? -1 : g->values[v].producer;

		if (from >= 0 && cc->compile.out->nodes[from].segment < segment)
			latest = cnn_max(latest, end[cc->compile.out->nodes[from].segment]);
	}
	return latest;
}

/* When the last segment ends, on as many cores as there are; end: out: when each one ends. */
static int64_t last_end(const struct cnn_compiler *cc, int64_t *end)
{
	const struct cnn_lowered *out = cc->compile.out;
	int64_t idle[CNNRT_MAX_CORES + 1] = { 0 }, last = 0;

	for (int i = 0; i < out->n_segments; i++) {
		const struct cnn_segment *seg = &out->segments[i];
		int on = seg->core + 1;

		for (int k = 0; seg->core >= 0 && k < cc->n_cores; k++)
			if (cc->cores[k] && idle[k + 1] < idle[on] &&
			    cnn_cores_equal(cc->cores[k]->info, cc->cores[seg->core]->info))
				on = k + 1;
		end[i] = idle[on];
		for (int k = 0; k < seg->n_nodes; k++)
			end[i] = cnn_max(end[i], inputs_end(cc, i, seg->nodes[k], end));
		end[i] = cnn_add_sat(end[i], segment_time(cc, seg));
		idle[on] = end[i];
		last = cnn_max(last, end[i]);
	}
	return last;
}

int cnn_parallel_time(const struct cnn_compiler *cc, int64_t *ns)
{
	int64_t *end = calloc((size_t)cc->compile.out->n_segments + 1, sizeof(*end));

	if (!end)
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for times");
	*ns = last_end(cc, end);
	free(end);
	return CNN_OK;
}

void cnn_sum_time(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;

	out->target_hash = cnn_target_hash(cc->target, cc->n_cores);
	for (int i = 0; i < out->n_nodes; i++) {
		out->nodes[i].cost_ns = node_time(cc, i);
		out->ns = cnn_add_sat(out->ns, out->nodes[i].cost_ns);
	}
	for (int i = 0; i < out->n_segments; i++)
		out->ns = cnn_add_sat(out->ns, host_time(cc, &out->segments[i]));
}
