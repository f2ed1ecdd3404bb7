// SPDX-License-Identifier: MIT
/* Asks a back end what it would do with nodes, and what that costs. */
#include <stdlib.h>
#include <string.h>

#include "ir/graph_internal.h"
#include "internal.h"

bool cnn_may_use_core(const struct cnnrt_core_info *cores, int i,
		      const struct cnn_lower_options *opt)
{
	if (opt && (opt->cpu_only || (opt->cores && !(opt->cores >> i & 1))))
		return false;
	return cnn_backend_find(cores[i].name) != NULL;
}

static bool is_arranged(const struct cnn_unit *u)
{
	bool dense = true;

	for (int i = 0; i < u->n_in; i++)
		dense &= cnn_layout_dense(&u->in[i].layout);
	for (int i = 0; i < u->n_out; i++)
		dense &= cnn_layout_dense(&u->out[i].layout);
	return !dense;
}

/* Keeps the first reason against a node that the core is made for, or else the first. */
static void tell(struct cnn_offer *offer, bool is_for, const char *reason)
{
	if (offer->told || (offer->reason[0] && !is_for))
		return;
	memcpy(offer->reason, reason, sizeof(offer->reason));
	offer->told = is_for;
}

/* One core, asked about a rewritten copy of some nodes. */
struct asked {
	struct cnn_backend *core;
	const struct cnn_core_choice *choice;
	int *lead;		/* by node of the copy */
	int made[1 + CNN_COMPANIONS_MAX], n_asked;	/* output 0 of each original node */
	struct cnn_offer *offer;
};

/* Does the core run a node of the copy, with those behind it or else alone? */
static bool is_taken(const struct asked *a, int node, struct cnn_unit *u, char *reason)
{
	const struct cnn_compile *compile = a->core->compile;
	const int place = CNN_PLACE_CORE(a->choice->index);
	bool several = true;

	for (int alone = 0; alone <= 1 && several; alone++) {
		cnn_unit_init(u, compile->g, a->lead, place, node);
		u->alone = alone;
		if (a->core->ops->match(a->core, u, reason) &&
		    cnn_unit_check(u, compile->no_residency, reason) &&
		    a->core->ops->plan(a->core, u, reason))
			return true;
		several = u->n_nodes > 1;
		cnn_unit_free(u);
	}
	return false;
}

static void add_unit(const struct asked *a, const struct cnn_unit *u)
{
	struct cnn_offer *offer = a->offer;
	uint64_t cycles = a->core->ops->cycles(a->core, u->nodes[0]);

	for (int i = 0; i < u->n_nodes; i++) {
		const struct cnn_node *n = &u->g->nodes[u->nodes[i]];

		a->lead[u->nodes[i]] = u->nodes[0];
		offer->which |= n->file_op ? 1u << (n->file_op - 1) : 0;
	}
	offer->taken = true;
	offer->arranges |= is_arranged(u);
	offer->ns = cnn_add_sat(offer->ns,
				cnn_cycles_ns(a->choice->target, a->choice->index, cycles));
}

/* Adds what one node of the copy costs: on the core, in its unit, or else on the CPU. */
static void add_node(const struct asked *a, int node)
{
	const struct cnn_graph *g = a->core->compile->g;
	const struct cnn_node *n = &g->nodes[node];
	char reason[CNN_REASON_LEN];
	struct cnn_unit u;

	if (a->lead[node] >= 0)
		return;
	if (is_taken(a, node, &u, reason)) {
		add_unit(a, &u);
		cnn_unit_free(&u);
		return;
	}
	if (!cnn_op_renames(n->op))
		a->offer->ns = cnn_add_sat(a->offer->ns,
					   cnn_cpu_cost_ns(a->choice->target, g, n));
	tell(a->offer, a->core->ops->is_for(g, n), reason);
}

/* Does the CPU make a value of the copy? What only renames one has it where that one is. */
static bool is_made_on_cpu(const struct asked *a, int value)
{
	const struct cnn_graph *g = a->core->compile->g;
	int node = value < 0 ? -1 : g->values[value].producer;

	while (node >= 0 && a->lead[node] < 0 && cnn_op_renames(g->nodes[node].op))
		node = g->values[g->nodes[node].in[0]].producer;
	return node >= 0 && a->lead[node] < 0;
}

/* All nodes of the copy, in order. */
static int add_nodes(struct asked *a)
{
	struct cnn_compile *compile = a->core->compile;
	int n = compile->g->n_nodes;

	a->lead = malloc(((size_t)n + 1) * sizeof(*a->lead));
	if (!a->lead)
		return cnn_fail(compile->err, CNN_ENOMEM, "no memory to ask a core");
	for (int i = 0; i < n; i++)
		a->lead[i] = -1;
	for (int i = 0; i < n; i++)
		add_node(a, i);
	for (int i = 0; i < a->n_asked; i++)
		if (is_made_on_cpu(a, a->made[i]))
			a->offer->on_cpu |= 1u << i;
	free(a->lead);
	return CNN_OK;
}

/* Bit i: of n nodes, node i is no longer in the copy, as it was fused into another. */
static uint32_t fused_away(const struct cnn_graph *copy, int n)
{
	uint32_t gone = (uint32_t)(((uint64_t)1 << n) - 1);

	for (int i = 0; i < copy->n_nodes; i++)
		gone &= copy->nodes[i].file_op ? ~(1u << (copy->nodes[i].file_op - 1)) : gone;
	return gone;
}

static int ask(struct cnn_graph *copy, struct cnn_core_choice *choice, struct cnn_offer *offer,
	       struct cnn_err *err)
{
	struct cnn_compile compile = { .g = copy, .err = err, .tried = choice->tried };
	struct asked a = { .choice = choice, .offer = offer };
	int ret = CNN_OK, n = copy->n_nodes;

	for (int i = 0; i < n; i++) {
		copy->nodes[i].place = CNN_PLACE_CORE(choice->index);
		/* Tells later what has become of each. */
		copy->nodes[i].file_op = i + 1;
		a.made[a.n_asked++] = copy->nodes[i].out[0];
	}
	if (choice->rewrites && choice->ops->legalize)
		ret = choice->ops->legalize(copy, CNN_PLACE_CORE(choice->index), err);
	if (ret)
		return ret;
	a.core = choice->ops->open(&compile, choice->info);
	if (!a.core)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a core");
	ret = add_nodes(&a);
	choice->ops->close(a.core);
	if (offer->taken)
		offer->which |= fused_away(copy, n);
	choice->tried = compile.tried;
	return ret;
}

int cnn_ask_core(const struct cnn_graph *g, const int *nodes, int n,
		 struct cnn_core_choice *core, struct cnn_offer *offer, struct cnn_err *err)
{
	struct cnn_graph *copy;
	int ret = cnn_subgraph_copy(g, nodes, n, &copy, err);

	*offer = (struct cnn_offer){ 0 };
	if (ret)
		return ret;
	ret = ask(copy, core, offer, err);
	cnn_graph_free(copy);
	return ret;
}
