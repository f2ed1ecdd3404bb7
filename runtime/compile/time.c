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

int64_t cnn_copy_in_time(const struct cnn_compiler *cc, int value)
{
	return made_on_core(cc, value) || is_moved(cc, value) ? 0 : copy_time(cc, value);
}

int64_t cnn_copies_out_time(const struct cnn_compiler *cc, const struct cnn_segment *seg)
{
	int64_t ns = 0;

	for (int i = 0; i < seg->n_out; i++)
		if (cnn_read_dense(cc->compile.g, cc->compile.out, seg->out[i]))
			ns = cnn_add_sat(ns, copy_time(cc, seg->out[i]));
	return ns;
}

/* What the host does for a segment on a core. */
static int64_t host_time(const struct cnn_compiler *cc, const struct cnn_segment *seg)
{
	int64_t ns = seg->n_tasks ? cc->target->submit_ns : 0;

	for (int i = 0; i < seg->n_in; i++)
		ns = cnn_add_sat(ns, cnn_copy_in_time(cc, seg->in[i]));
	return cnn_add_sat(ns, cnn_copies_out_time(cc, seg));
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
