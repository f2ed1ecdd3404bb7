// SPDX-License-Identifier: MIT
/*
 * Decides where each node runs: what it costs on each type of core that takes it and on the CPU, the
 * choice, and then the rewriting that each place wants.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition.h"

/* With CNNRT_PREFER_DEVICE a node is left to the CPU if cores cost more than so many times as much. */
#define DEVICE_FACTOR	2

/* One core of each type that may be used: the first. */
static void find_cores(struct cnn_partition *p, const struct cnnrt_core_info *cores, int n_cores,
		       const struct cnn_lower_options *opt)
{
	uint32_t listed = 0;

	p->n_places = 1;
	for (int i = 0; i < n_cores; i++) {
		if (listed >> i & 1 || !cnn_may_use_core(cores, i, opt))
			continue;
		listed |= cnn_equal_cores(cores, (unsigned int)n_cores, (unsigned int)i);
		p->cores[p->n_places++ - 1] = (struct cnn_core_choice){
			.ops = cnn_backend_find(cores[i].name), .info = &cores[i], .index = i,
			.target = p->target, .rewrites = !opt || !opt->no_fuse,
		};
	}
}

static int alloc(struct cnn_partition *p, struct cnn_err *err)
{
	size_t nodes = (size_t)p->g->n_nodes + 1;

	p->costs = calloc(nodes * (size_t)p->n_places, sizeof(*p->costs));
	p->place = calloc(nodes, sizeof(*p->place));
	p->stamp = calloc((size_t)p->g->n_values + 1, sizeof(*p->stamp));
	return p->costs && p->place && p->stamp ? CNN_OK :
	       cnn_fail(err, CNN_ENOMEM, "no memory to place %d nodes", p->g->n_nodes);
}

/* Does it cost nothing where its input is made? cnn_lower finds out. */
static bool is_free(const struct cnn_graph *g, const struct cnn_node *n)
{
	return (cnn_op_renames(n->op) && n->act.kind == CNN_ACT_NONE) ||
	       cnn_is_view_of_channels(g, n);
}

/* The reason of a core made for such nodes is the one to tell. */
static int ask_cores(struct cnn_partition *p, int node, struct cnn_choice *choice,
		     struct cnn_err *err)
{
	const struct cnn_node *n = &p->g->nodes[node];
	int ret = CNN_OK;

	for (int k = 1; k < p->n_places && !ret; k++) {
		struct cnn_place_cost *c = cnn_place_cost(p, node, k);
		struct cnn_offer offer;

		ret = cnn_ask_core(p->g, &node, 1, &p->cores[k - 1], &offer, err);
		c->ns = offer.ns;
		c->weighed = offer.taken ? cnn_min(offer.ns, CNN_PLACE_NEVER - 1) : CNN_PLACE_NEVER;
		c->alone = c->weighed;
		c->arranges = offer.arranges;
		c->on_cpu = offer.on_cpu & 1;
		if (!offer.taken &&
		    (!choice->reason[0] || p->cores[k - 1].ops->is_for(p->g, n)))
			memcpy(choice->reason, offer.reason, sizeof(choice->reason));
	}
	return ret;
}

static int compare_int(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* What a node costs in a place, or on the CPU if it is not taken there. */
static int64_t cost_alone(const struct cnn_partition *p, int node, int k)
{
	const struct cnn_place_cost *c = cnn_place_cost(p, node, k);

	return c->alone < CNN_PLACE_NEVER ? c->alone : cnn_place_cost(p, node, 0)->ns;
}

/* A node's share: as much of it as on the CPU, so that all of them are there for less or none. */
static int64_t share_of(const struct cnn_partition *p, const int *nodes, int n, int i, int64_t ns)
{
	double sum = 0;

	for (int k = 0; k < n; k++)
		sum += (double)cnn_place_cost(p, nodes[k], 0)->ns;
	if (!(sum > 0))
		return ns / n;
	return (int64_t)((double)ns * (double)cnn_place_cost(p, nodes[i], 0)->ns / sum);
}

/* less: than each by itself.  If not, a node that is taken by itself keeps its cost. */
static void share_offer(const struct cnn_partition *p, const int *nodes, int n, int k,
			const struct cnn_offer *offer, bool less)
{
	for (int i = 0; i < n; i++) {
		struct cnn_place_cost *c = cnn_place_cost(p, nodes[i], k);

		if (!(offer->which >> i & 1) || (!less && c->weighed < CNN_PLACE_NEVER))
			continue;
		c->weighed = c->ns = cnn_min(c->weighed, share_of(p, nodes, n, i, offer->ns));
		c->arranges = offer->arranges;
		c->on_cpu = offer->on_cpu >> i & 1;
	}
}

/*
 * The core runs a node with others for less than each by itself, or only so: each costs its share.
 */
static int ask_for_companions(struct cnn_partition *p, int node, int k, struct cnn_err *err)
{
	struct cnn_core_choice *core = &p->cores[k - 1];
	int nodes[1 + CNN_COMPANIONS_MAX] = { node }, n, ret;
	struct cnn_offer offer;
	int64_t alone = 0;

	n = 1 + (core->rewrites && core->ops->companions ?
			 core->ops->companions(p->g, node, nodes + 1) : 0);
	if (n == 1)
		return CNN_OK;
	qsort(nodes, (size_t)n, sizeof(*nodes), compare_int);
	for (int i = 0; i < n; i++)
		alone = cnn_add_sat(alone, cost_alone(p, nodes[i], k));
	ret = cnn_ask_core(p->g, nodes, n, core, &offer, err);
	if (!ret && offer.taken)
		share_offer(p, nodes, n, k, &offer, offer.ns < alone);
	/* Why not even with them says more. */
	if (!ret && !offer.taken && offer.told)
		memcpy(p->g->nodes[node].choice->reason, offer.reason, sizeof(offer.reason));
	return ret;
}

/* What the CPU's cost counts against that of cores. */
static void weigh_cpu(struct cnn_partition *p, int node, const struct cnn_lower_options *opt)
{
	struct cnn_place_cost *cpu = cnn_place_cost(p, node, 0);
	bool taken = false;

	for (int k = 1; k < p->n_places; k++)
		taken |= cnn_place_cost(p, node, k)->weighed < CNN_PLACE_NEVER;
	cpu->weighed = cpu->ns;
	if (taken && opt && opt->cores && !opt->or_cpu)
		cpu->weighed = CNN_PLACE_NEVER;
	else if (taken && (!opt || opt->prefer == CNNRT_PREFER_DEVICE))
		cpu->weighed = cnn_mul_sat(cpu->ns, DEVICE_FACTOR);
	cpu->weighed = cnn_min(cpu->weighed, CNN_PLACE_NEVER);
}

static int find_costs(struct cnn_partition *p, struct cnn_graph *g,
		      const struct cnn_lower_options *opt, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct cnn_node *n = &g->nodes[i];

		n->choice = calloc(1, sizeof(*n->choice));
		if (!n->choice)
			return cnn_fail(err, CNN_ENOMEM, "no memory to place %d nodes", g->n_nodes);
		if (is_free(g, n))
			continue;
		cnn_place_cost(p, i, 0)->ns = cnn_cpu_cost_ns(p->target, g, n);
		ret = ask_cores(p, i, n->choice, err);
	}
	for (int k = 1; k < p->n_places; k++)
		for (int i = 0; i < g->n_nodes && !ret; i++)
			ret = ask_for_companions(p, i, k, err);
	for (int i = 0; i < g->n_nodes && !ret; i++)
		if (!is_free(g, &g->nodes[i]))
			weigh_cpu(p, i, opt);
	return ret;
}

static int place_number(const struct cnn_partition *p, int place)
{
	return place ? CNN_PLACE_CORE(p->cores[place - 1].index) : CNN_PLACE_CPU;
}

/* The cheapest of the other places that take a node. */
static void find_next(const struct cnn_partition *p, int node, struct cnn_choice *choice)
{
	for (int k = 0; k < p->n_places; k++) {
		const struct cnn_place_cost *c = cnn_place_cost(p, node, k);

		if (k == p->place[node] || (k && c->weighed >= CNN_PLACE_NEVER) ||
		    (choice->next && c->ns >= choice->next_ns))
			continue;
		choice->next = place_number(p, k);
		choice->next_ns = c->ns;
	}
}

static void explain_cpu(const struct cnn_partition *p, struct cnn_node *n)
{
	struct cnn_choice *c = n->choice;

	if (c->next == CNN_PLACE_OPEN)
		return;
	for (int k = 1; k < p->n_places; k++)
		if (place_number(p, k) == c->next)
			cnn_reject(c->reason, "%s: costs less on the CPU: %.3f ms, on %.8s %.3f ms and "
				   "moving its values", n->op_type, (double)c->ns / 1e6,
				   p->cores[k - 1].info->name, (double)c->next_ns / 1e6);
}

static void apply(const struct cnn_partition *p, struct cnn_graph *g)
{
	for (int i = 0; i < g->n_nodes; i++) {
		struct cnn_node *n = &g->nodes[i];

		if (is_free(g, n)) {
			free(n->choice);
			n->choice = NULL;
			continue;
		}
		n->place = place_number(p, p->place[i]);
		n->choice->ns = cnn_place_cost(p, i, p->place[i])->ns;
		find_next(p, i, n->choice);
		if (!p->place[i])
			explain_cpu(p, n);
	}
}

/* Each place fuses and rewrites its own nodes. */
static int rewrite(const struct cnn_partition *p, struct cnn_graph *g, struct cnn_err *err)
{
	int ret = cnn_graph_fuse_at(g, CNN_PLACE_CPU, CNN_FUSE_CPU, err);

	for (int k = 1; k < p->n_places && !ret; k++)
		if (p->cores[k - 1].ops->legalize)
			ret = p->cores[k - 1].ops->legalize(g, place_number(p, k), err);
	return ret;
}

static int partition(struct cnn_partition *p, struct cnn_graph *g,
		     const struct cnn_lower_options *opt, struct cnn_err *err)
{
	bool rewrites = !opt || !opt->no_fuse;
	unsigned int first = !rewrites ? CNN_FUSE_NOP : p->n_places > 1 ? CNN_FUSE_NEUTRAL :
								     CNN_FUSE_ALL;
	int ret = cnn_graph_fuse(g, first, err);

	if (ret || p->n_places == 1)
		return ret;
	ret = alloc(p, err) ?: find_costs(p, g, opt, err) ?: cnn_choose_places(p, err);
	if (ret)
		return ret;
	apply(p, g);
	return rewrites ? rewrite(p, g, err) : CNN_OK;
}

int cnn_partition(struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
		  const struct cnn_lower_options *opt, struct cnn_err *err)
{
	struct cnn_partition p = {
		.g = g, .target = opt && opt->target ? opt->target : &cnn_target_reference,
	};
	int ret;

	g->whole_groups = opt && opt->whole_groups;
	find_cores(&p, cores, n_cores, opt);
	ret = partition(&p, g, opt, err);
	free(p.costs);
	free(p.place);
	free(p.stamp);
	return ret;
}
