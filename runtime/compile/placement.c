// SPDX-License-Identifier: MIT
/*
 * Places each node on a core or the CPU, and gives its values layouts in the arena, in rounds. Each
 * node is claimed by the first core that it matches, alone or in a unit. Then, in the order of
 * nodes, values get the layouts that cost least for all that have claimed their readers
 * (layout_trees.c), and each unit is planned with the layouts that its values have. Where a plan is
 * refused the next claim holds, at once; as layouts were chosen for the old one, another round
 * follows, which keeps each plan whose layouts have not changed. Each round ends with a valid
 * placement.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ROUNDS_MAX	8

/* Does the core claim the unit's node, with others or else alone? */
static bool is_claimed(struct cnn_compiler *cc, int core, struct cnn_unit *u, char *reason)
{
	struct cnn_backend *c = cc->cores[core];

	return c->ops->match(c, u, reason) &&
	       cnn_unit_check(u, cc->compile.no_residency, reason);
}

/* Keeps the first reason against a node, and that of any core that is made for such nodes. */
static void tell(struct cnn_compiler *cc, int node, int core, const char *why)
{
	const struct cnn_graph *g = cc->compile.g;
	struct cnn_claim *claim = &cc->claims[node];

	if (!claim->told || cc->cores[core]->ops->is_for(g, &g->nodes[node]))
		memcpy(claim->reason, why, sizeof(claim->reason));
	claim->told = true;
}

/* The claim of core number core: with other nodes, or if that is refused alone. */
static bool claim_for(struct cnn_compiler *cc, int node, int core)
{
	struct cnn_claim *claim = &cc->claims[node];
	struct cnn_unit *u = &cc->units[node];
	char why[CNN_REASON_LEN];
	bool several = true;

	for (; several && claim->step < 2; claim->step++) {
		cnn_unit_init(u, cc->compile.g, cc->lead, CNN_PLACE_CORE(core), node);
		u->alone = claim->step > 0;
		if (is_claimed(cc, core, u, why)) {
			cnn_set_leads(cc, u, node);
			claim->step++;
			return true;
		}
		several = u->n_nodes > 1;
		cc->no_memory |= u->failed;
		cnn_unit_free(u);
	}
	tell(cc, node, core, why);
	return false;
}

/* The next claim of a node that none holds: of the first core that is left and takes it, if any. */
static void claim(struct cnn_compiler *cc, int node)
{
	struct cnn_claim *claim = &cc->claims[node];

	for (; claim->core < cc->n_cores; claim->core++, claim->step = 0)
		if (cc->cores[claim->core] && claim->step < 2 &&
		    cnn_may_be_on(&cc->compile.g->nodes[node], claim->core) &&
		    claim_for(cc, node, claim->core))
			return;
}

/* The unit cannot be as it was claimed. */
static void refuse(struct cnn_compiler *cc, int lead, const char *why)
{
	struct cnn_claim *claim = &cc->claims[lead];
	struct cnn_unit *u = &cc->units[lead];

	if (u->n_nodes == 1) {
		tell(cc, lead, claim->core, why);
		claim->step = 2;
	}
	cnn_set_leads(cc, u, -1);
	cnn_unit_free(u);
	free(claim->in);
	free(claim->out);
	claim->in = claim->out = NULL;
	claim->in_gaps = false;
	cc->refused = true;
}

/* ---- plans ------------------------------------------------------------------------------- */

/* The back end keeps one plan of each unit. */
static bool match_again(struct cnn_compiler *cc, struct cnn_backend *core, int lead, char *why)
{
	struct cnn_unit again;
	bool same = cnn_match_again(cc, core, lead, &again, why);

	cnn_unit_free(&again);
	return same;
}

static bool has_layouts(const struct cnn_node_io *a, const struct cnn_node_io *b, int n)
{
	for (int i = 0; i < n; i++)
		if (memcmp(&a[i].layout, &b[i].layout, sizeof(a[i].layout)))
			return false;
	return true;
}

/* Can the unit run with these inputs and outputs, of which it takes the lists? */
static bool plan(struct cnn_compiler *cc, int lead, struct cnn_node_io *in,
		 struct cnn_node_io *out, char *why)
{
	struct cnn_claim *claim = &cc->claims[lead];
	struct cnn_backend *core = cc->cores[claim->core];
	struct cnn_unit u = cc->units[lead];
	bool old = claim->in, ok = true;

	for (int i = 0; i < u.n_in && ok; i++)
		ok = cnn_fit_layout(cc, core, &in[i], why);
	if (ok && !(old && has_layouts(claim->in, in, u.n_in) &&
		    has_layouts(claim->out, out, u.n_out))) {
		u.in = in;
		u.out = out;
		ok = (!old || match_again(cc, core, lead, why)) && core->ops->plan(core, &u, why);
		if (ok)
			memcpy(claim->said, why, sizeof(claim->said));
	}
	free(claim->in);
	free(claim->out);
	claim->in = in;
	claim->out = out;
	return ok;
}

static struct cnn_node_io *copy_ios(struct cnn_compiler *cc, const struct cnn_node_io *from, int n)
{
	struct cnn_node_io *copy = calloc((size_t)n + 1, sizeof(*copy));

	cc->no_memory |= !copy;
	if (copy && n)
		memcpy(copy, from, (size_t)n * sizeof(*copy));
	return copy;
}

/* Plans a unit with the outputs dense that are cheaper so, else as it wants all of them. */
static bool plan_unit(struct cnn_compiler *cc, int lead, char *why)
{
	const struct cnn_unit *u = &cc->units[lead];
	bool dense = true, ok = false;

	for (int i = 0; i < u->n_in; i++)
		cnn_choose_layouts(cc, u->in[i].value);
	while (dense && !ok) {
		struct cnn_node_io *in = copy_ios(cc, u->in, u->n_in);
		struct cnn_node_io *out = copy_ios(cc, u->out, u->n_out);

		if (cc->no_memory) {
			free(in);
			free(out);
			return false;
		}
		dense = !cc->claims[lead].in_gaps && cnn_choose_dense_outputs(cc, lead, out);
		ok = plan(cc, lead, in, out, why);
		cc->claims[lead].in_gaps |= !ok;
	}
	return ok;
}

/* The nodes behind the first are part of it, in all that is said about them. */
static void take_unit(struct cnn_compiler *cc, int lead)
{
	const struct cnn_unit *u = &cc->units[lead];
	const struct cnn_claim *claim = &cc->claims[lead];
	const struct cnn_node *first = &u->g->nodes[lead];
	struct cnn_placement *to = &cc->compile.out->nodes[lead];

	for (int i = 0; i < u->n_in; i++)
		cnn_assign_layout(cc, cc->cores[claim->core], u, &claim->in[i]);
	for (int i = 0; i < u->n_out; i++)
		cnn_use_slot(cc, &claim->out[i]);
	memcpy(to->reason, claim->said, sizeof(to->reason));
	to->core = claim->core;
	for (int i = 1; i < u->n_nodes; i++) {
		const struct cnn_node *n = &u->g->nodes[u->nodes[i]];
		struct cnn_placement *p = &cc->compile.out->nodes[u->nodes[i]];

		p->core = claim->core;
		to->macs = cnn_add_sat(to->macs, p->macs);
		p->macs = 0;
		cnn_reject(p->reason, "%s: runs as one with %s %.80s", n->op_type, first->op_type,
			   first->name);
	}
}

/* Places the unit that a node leads, or the node on the CPU. */
static void place_unit(struct cnn_compiler *cc, int node)
{
	char why[CNN_REASON_LEN] = "";

	while (cc->lead[node] == node) {
		if (plan_unit(cc, node, why)) {
			take_unit(cc, node);
			return;
		}
		if (cc->no_memory)
			return;
		refuse(cc, node, why);
		claim(cc, node);
	}
}

/* ---- rounds ------------------------------------------------------------------------------ */

static void forget_place(struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	struct cnn_placement *p = &cc->compile.out->nodes[node];

	*p = (struct cnn_placement){ .core = CNN_ON_CPU, .next_core = CNN_NOWHERE };
	if (n->choice && n->choice->next != CNN_PLACE_OPEN) {
		p->next_core = n->choice->next == CNN_PLACE_CPU ? CNN_ON_CPU :
								  n->choice->next - CNN_PLACE_CORE(0);
		p->next_ns = n->choice->next_ns;
	}
	p->macs = cnn_node_macs(cc->compile.g, n);
}

static void begin_round(struct cnn_compiler *cc)
{
	const struct cnn_lowered *out = cc->compile.out;

	for (int i = 0; i < out->n_nodes; i++)
		forget_place(cc, i);
	for (int v = 0; v < out->n_values; v++) {
		out->slots[v] = (struct cnn_slot){ .used = false };
		cc->compile.owner[v] = v;
		cc->slots[v] = (struct cnn_slot_life){ .first = out->n_nodes, .last = -1 };
		cc->chosen[v] = false;
	}
	cc->n_conversions = 0;
	cc->n_readers = 0;
	cc->refused = false;
}

/* Values that a core has made have layouts; those that rename them get theirs. */
static void choose_behind(struct cnn_compiler *cc, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i] >= 0)
			cnn_choose_layouts(cc, n->out[i]);
}

static void place_node(struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	struct cnn_placement *p = &cc->compile.out->nodes[node];
	const struct cnn_unit *u;
	int core;

	if (cnn_place_concat_split(cc, node, &core)) {
		p->core = core;
		cnn_reject(p->reason, "%s: no copy, its parts are adjacent in the arena",
			   n->op_type);
		choose_behind(cc, n);
		return;
	}
	if (cc->lead[node] < 0)
		claim(cc, node);
	if (cc->lead[node] != node)
		return;
	place_unit(cc, node);
	u = &cc->units[node];
	for (int i = 0; cc->lead[node] == node && i < u->n_nodes; i++)
		choose_behind(cc, &cc->compile.g->nodes[u->nodes[i]]);
}

/* What no core took, and nothing else has placed, says why. */
static void explain(struct cnn_compiler *cc, int node)
{
	struct cnn_placement *p = &cc->compile.out->nodes[node];

	if (!p->reason[0])
		memcpy(p->reason, cc->claims[node].reason, sizeof(p->reason));
}

static void begin_claim(struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	struct cnn_claim *claim = &cc->claims[node];

	cc->lead[node] = -1;
	cnn_reject(claim->reason, "%s: no core may be used", n->op_type);
	if (n->place == CNN_PLACE_CPU && n->choice && n->choice->reason[0])
		memcpy(claim->reason, n->choice->reason, sizeof(claim->reason));
}

int cnn_place_nodes(struct cnn_compiler *cc)
{
	int n = cc->compile.g->n_nodes;

	for (int i = 0; i < n; i++)
		begin_claim(cc, i);
	for (int round = 0; !round || (cc->refused && round < ROUNDS_MAX); round++) {
		for (int i = 0; i < n; i++)
			if (cc->lead[i] < 0)
				claim(cc, i);
		begin_round(cc);
		for (int i = 0; i < n; i++) {
			place_node(cc, i);
			cnn_progress(&cc->compile, i + 1);
		}
	}
	for (int i = 0; i < n; i++)
		explain(cc, i);
	return cc->no_memory ? cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for %d operators",
					n) : CNN_OK;
}
