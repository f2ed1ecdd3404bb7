// SPDX-License-Identifier: MIT
/* Asks a back end what it would do with nodes, and what that costs. */
#include <string.h>

#include "ir/graph_internal.h"
#include "internal.h"

static const struct cnn_backend_ops *const core_ops[] = {
#define CORE(name) &cnn_backend_##name,
#include "backend/cores.def"
#undef CORE
};

const struct cnn_backend_ops *cnn_backend_find(const char *name)
{
	for (size_t i = 0; i < sizeof(core_ops) / sizeof(core_ops[0]); i++)
		if (!strcmp(core_ops[i]->name, name))
			return core_ops[i];
	return NULL;
}

bool cnn_may_use_core(const struct cnnrt_core_info *cores, int i,
		      const struct cnn_lower_options *opt)
{
	if (opt && (opt->cpu_only || (opt->cores && !(opt->cores >> i & 1))))
		return false;
	return cnn_backend_find(cores[i].name) != NULL;
}

static bool is_arranged(const struct cnn_node_fit *fit)
{
	bool dense = cnn_layout_dense(&fit->out.layout);

	for (int i = 0; i < fit->n_in; i++)
		dense &= cnn_layout_dense(&fit->in[i].layout);
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

/* Adds what one node of the rewritten copy costs, on the core if that takes it. */
static void add_node(struct cnn_backend *core, const struct cnn_core_choice *choice, int node,
		     struct cnn_offer *offer)
{
	const struct cnn_graph *g = core->compile->g;
	const struct cnn_node *n = &g->nodes[node];
	struct cnn_node_fit fit = { 0 };
	char reason[CNN_REASON_LEN];
	int64_t ns;

	if (core->ops->match(core, node, &fit, reason) &&
	    core->ops->plan(core, node, &fit, reason)) {
		ns = cnn_cycles_ns(choice->target, choice->index, core->ops->cycles(core, node));
		offer->taken = true;
		offer->which |= n->file_op ? 1u << (n->file_op - 1) : 0;
		offer->arranges |= is_arranged(&fit);
	} else {
		ns = cnn_op_renames(n->op) ? 0 : cnn_cpu_cost_ns(choice->target, g, n);
		tell(offer, core->ops->is_for(g, n), reason);
	}
	offer->ns = cnn_add_sat(offer->ns, ns);
}

static int ask(struct cnn_graph *copy, struct cnn_core_choice *choice, struct cnn_offer *offer,
	       struct cnn_err *err)
{
	struct cnn_compile compile = { .g = copy, .err = err, .tried = choice->tried };
	struct cnn_backend *core;
	int ret = CNN_OK;

	for (int i = 0; i < copy->n_nodes; i++) {
		copy->nodes[i].place = CNN_PLACE_CORE(choice->index);
		/* Tells later what has become of each. */
		copy->nodes[i].file_op = i + 1;
	}
	if (choice->rewrites && choice->ops->legalize)
		ret = choice->ops->legalize(copy, CNN_PLACE_CORE(choice->index), err);
	if (ret)
		return ret;
	core = choice->ops->open(&compile, choice->info);
	if (!core)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a core");
	for (int i = 0; i < copy->n_nodes; i++)
		add_node(core, choice, i, offer);
	choice->ops->close(core);
	choice->tried = compile.tried;
	return CNN_OK;
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
