// SPDX-License-Identifier: MIT
/* Places each node on a core or the CPU, and chooses the layout of its values in the arena. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

const struct cnn_unit *cnn_unit_of(const struct cnn_compiler *cc, int node)
{
	int lead = cc->lead[node];

	return lead >= 0 && cc->units[lead].n_nodes > 1 ? &cc->units[lead] : NULL;
}

/* Could the core run the unit's node, perhaps with others, from the layouts that its values have? */
static bool try_unit(struct cnn_compiler *cc, int core, struct cnn_unit *u, char *reason)
{
	struct cnn_backend *c = cc->cores[core];

	if (!c->ops->match(c, u, reason) || !cnn_unit_check(u, cc->compile.no_residency, reason))
		return false;
	for (int i = 0; i < u->n_in; i++)
		if (!cnn_fit_layout(cc, c, &u->in[i], reason))
			return false;
	return c->ops->plan(c, u, reason);
}

/* The nodes behind the first are part of it, in all that is said about them. */
static void take_unit(struct cnn_compiler *cc, int core, const struct cnn_unit *u)
{
	const struct cnn_node *first = &u->g->nodes[u->nodes[0]];
	struct cnn_placement *lead = &cc->compile.out->nodes[u->nodes[0]];

	for (int i = 0; i < u->n_in; i++)
		cnn_assign_layout(cc, cc->cores[core], u, &u->in[i]);
	for (int i = 0; i < u->n_out; i++)
		cnn_use_slot(cc, &u->out[i]);
	cc->lead[u->nodes[0]] = u->nodes[0];
	for (int i = 1; i < u->n_nodes; i++) {
		const struct cnn_node *n = &u->g->nodes[u->nodes[i]];
		struct cnn_placement *p = &cc->compile.out->nodes[u->nodes[i]];

		cc->lead[u->nodes[i]] = u->nodes[0];
		p->core = core;
		lead->macs = cnn_add_sat(lead->macs, cnn_node_macs(u->g, n));
		cnn_reject(p->reason, "%s: runs as one with %s %.80s", n->op_type, first->op_type,
			   first->name);
	}
}

static bool place_on(struct cnn_compiler *cc, int core, int node, char *reason)
{
	struct cnn_unit *u = &cc->units[node];
	bool several = true;

	for (int alone = 0; alone <= 1 && several; alone++) {
		cnn_unit_init(u, cc->compile.g, cc->lead, CNN_PLACE_CORE(core), node);
		u->alone = alone;
		if (try_unit(cc, core, u, reason)) {
			take_unit(cc, core, u);
			return true;
		}
		several = u->n_nodes > 1;
		cc->no_memory |= u->failed;
		cnn_unit_free(u);
	}
	return false;
}

/*
 * The first core that takes the node in its place, or CNN_ON_CPU. The reason is that core's; else
 * that of the choice or of the last core made for such nodes, or of the first core if there is none.
 */
static int place_on_any(struct cnn_compiler *cc, int node, char *reason)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_choice *choice = g->nodes[node].choice;
	char why[CNN_REASON_LEN];
	bool has_reason = false;

	if (g->nodes[node].place == CNN_PLACE_CPU && choice && choice->reason[0])
		memcpy(reason, choice->reason, sizeof(choice->reason));

	for (int i = 0; i < cc->n_cores; i++) {
		bool takes;

		if (!cc->cores[i] || !cnn_may_be_on(&g->nodes[node], i))
			continue;
		takes = place_on(cc, i, node, why);
		if (takes || !has_reason || cc->cores[i]->ops->is_for(g, &g->nodes[node]))
			memcpy(reason, why, sizeof(why));
		if (takes)
			return i;
		has_reason = true;
	}
	return CNN_ON_CPU;
}

/* Renames a value that a core made, if its layout can be seen in the new shape: no cost. */
static bool place_renaming(struct cnn_compiler *cc, int node, int *core)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_tensor *to = cnn_node_out(g, n, 0);
	int from = n->in[0], producer = from >= 0 ? g->values[from].producer : -1;
	struct cnn_node_io io = { .value = n->out[0] };
	struct cnn_planes planes;
	int64_t plane = 1;

	if (producer < 0 || cc->compile.out->nodes[producer].core < 0 ||
	    n->act.kind != CNN_ACT_NONE || n->op == CNN_OP_CONVERT_LAYOUT)
		return false;
	if (!cc->compile.out->slots[from].used || !to || to->rank < 0 ||
	    (n->n_out > 1 && n->out[1] >= 0))
		return false;
	for (int i = 2; i < to->rank; i++)
		plane *= to->dims[i];
	if (!cnn_layout_view(&cc->compile.out->slots[from].layout, to->rank > 1 ? to->dims[0] : 1,
			     to->rank > 1 ? to->dims[1] :
			     to->rank	  ? to->dims[0] :
					    1,
			     plane, &planes))
		return false;
	io.layout = cnn_planes_layout(&planes);
	cnn_share_slot(cc, &io, from);
	*core = cc->compile.out->nodes[producer].core;
	return true;
}

void cnn_place_node(struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	struct cnn_placement *p = &cc->compile.out->nodes[node];

	if (cc->lead[node] >= 0)
		return;
	p->core = CNN_ON_CPU;
	if (n->choice && n->choice->next != CNN_PLACE_OPEN) {
		p->next_core = n->choice->next == CNN_PLACE_CPU ? CNN_ON_CPU :
								  n->choice->next - CNN_PLACE_CORE(0);
		p->next_ns = n->choice->next_ns;
	}
	p->macs = cnn_node_macs(cc->compile.g, n);
	cnn_reject(p->reason, "%s: no core may be used", n->op_type);
	if (cnn_op_renames(n->op) && place_renaming(cc, node, &p->core)) {
		cnn_reject(p->reason, "%s: renames a value in the arena", n->op_type);
		return;
	}
	if (cnn_place_concat_split(cc, node, &p->core)) {
		cnn_reject(p->reason, "%s: no copy, its parts are adjacent in the arena",
			   n->op_type);
		return;
	}
	if (cnn_op_renames(n->op) && cnn_place_conversion(cc, node, &p->core, p->reason))
		return;
	p->core = place_on_any(cc, node, p->reason);
}
