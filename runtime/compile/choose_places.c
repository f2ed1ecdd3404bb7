// SPDX-License-Identifier: MIT
/* Chooses the places of nodes: the least sum of their costs and of moves between places. */
#include <stdlib.h>
#include <string.h>

#include "partition.h"

#define ROUNDS_MAX	16	/* of a search; most end after three */
#define READERS_MAX	64	/* of a value: the first stand for all, which bounds the search */

/* Connected nodes of one place. */
struct cluster {
	int *nodes, n;
	bool *seen;	/* by node */
};

/*
 * Is it an input, or does the CPU make it, such as by adding a bias to sums of a core? Then the
 * core's part of it leaves the core, wherever the value is read.
 */
static bool is_made_on_cpu(const struct cnn_partition *p, const struct cnn_value *v)
{
	return v->producer < 0 || cnn_place_cost(p, v->producer, p->place[v->producer])->on_cpu;
}

/* The host's part of a move: none if it works on the arena itself. */
static int64_t host_time(const struct cnn_partition *p, const struct cnn_value *v, int node)
{
	if (node < 0 || !cnn_place_cost(p, node, p->place[node])->arranges || v->t.rank < 0)
		return 0;
	return cnn_copy_cost_ns(p->target, cnn_max(cnn_tensor_bytes(&v->t), 0),
				cnn_max(cnn_tensor_count(&v->t), 0), true);
}

/* What it costs to have a value in every place where it is read. */
static int64_t moves(const struct cnn_partition *p, int value)
{
	const struct cnn_value *v = &p->g->values[value];
	bool on_cpu = is_made_on_cpu(p, v);
	int from = on_cpu ? 0 : p->place[v->producer];
	uint64_t there = (uint64_t)1 << from;
	bool leaves = from ? v->is_output : v->producer >= 0 && p->place[v->producer];
	int64_t ns = 0;

	if (v->t.data)
		return 0;
	for (int i = 0; i < v->n_consumers && i < READERS_MAX; i++) {
		int to = p->place[v->consumers[i]];

		leaves |= from && to != from;
		if (there >> to & 1)
			continue;
		there |= (uint64_t)1 << to;
		if (to)
			ns += host_time(p, v, v->consumers[i]) + p->target->submit_ns;
	}
	return leaves ? ns + host_time(p, v, v->producer) : ns;
}

static int64_t add_values(struct cnn_partition *p, const int *values, int n)
{
	int64_t ns = 0;

	for (int i = 0; i < n; i++) {
		if (values[i] < 0 || p->stamp[values[i]] == p->stamps)
			continue;
		p->stamp[values[i]] = p->stamps;
		ns = cnn_add_sat(ns, moves(p, values[i]));
	}
	return ns;
}

/* Of nodes, and of the values that they read and write. */
static int64_t cost_of(struct cnn_partition *p, const int *nodes, int n)
{
	int64_t ns = 0;

	p->stamps++;
	for (int i = 0; i < n; i++) {
		const struct cnn_node *node = &p->g->nodes[nodes[i]];

		ns = cnn_add_sat(ns, cnn_place_cost(p, nodes[i], p->place[nodes[i]])->weighed);
		ns = cnn_add_sat(ns, add_values(p, node->in, node->n_in));
		ns = cnn_add_sat(ns, add_values(p, node->out, node->n_out));
	}
	return ns;
}

static void set_places(struct cnn_partition *p, const int *nodes, int n, int place)
{
	for (int i = 0; i < n; i++)
		p->place[nodes[i]] = place;
}

static bool may_be_in(const struct cnn_partition *p, const int *nodes, int n, int place)
{
	for (int i = 0; i < n; i++)
		if (cnn_place_cost(p, nodes[i], place)->weighed >= CNN_PLACE_NEVER)
			return false;
	return true;
}

/* Moves nodes of one place to the best one; true if that is another. */
static bool improve(struct cnn_partition *p, const int *nodes, int n)
{
	int old = p->place[nodes[0]], best = old;
	int64_t least = cost_of(p, nodes, n);

	for (int place = 0; place < p->n_places; place++) {
		int64_t ns;

		if (place == old || !may_be_in(p, nodes, n, place))
			continue;
		set_places(p, nodes, n, place);
		ns = cost_of(p, nodes, n);
		if (ns < least) {
			least = ns;
			best = place;
		}
	}
	set_places(p, nodes, n, best);
	return best != old;
}

static void join(const struct cnn_partition *p, struct cluster *c, int node)
{
	if (node < 0 || c->seen[node] || p->place[node] != p->place[c->nodes[0]])
		return;
	c->seen[node] = true;
	c->nodes[c->n++] = node;
}

/* Collects what is connected to a node in its place. */
static void collect(const struct cnn_partition *p, struct cluster *c, int node)
{
	c->n = 1;
	c->nodes[0] = node;
	c->seen[node] = true;
	for (int i = 0; i < c->n; i++) {
		const struct cnn_node *n = &p->g->nodes[c->nodes[i]];

		for (int k = 0; k < n->n_in; k++)
			if (n->in[k] >= 0)
				join(p, c, p->g->values[n->in[k]].producer);
		for (int k = 0; k < n->n_out; k++)
			for (int r = 0; n->out[k] >= 0 && r < p->g->values[n->out[k]].n_consumers;
			     r++)
				join(p, c, p->g->values[n->out[k]].consumers[r]);
	}
}

static bool improve_all(struct cnn_partition *p, struct cluster *c)
{
	bool changed = false;

	for (int i = 0; i < p->g->n_nodes; i++) {
		changed |= improve(p, &i, 1);
		c->seen[i] = false;
	}
	for (int i = 0; i < p->g->n_nodes; i++) {
		if (c->seen[i])
			continue;
		collect(p, c, i);
		changed |= improve(p, c->nodes, c->n);
	}
	return changed;
}

/* Each node where it costs least by itself: on a core if there is one, or anywhere. */
static void start(struct cnn_partition *p, bool on_cores)
{
	for (int i = 0; i < p->g->n_nodes; i++) {
		p->place[i] = 0;
		for (int k = 1; k < p->n_places; k++) {
			int64_t ns = cnn_place_cost(p, i, k)->weighed;

			if (ns < cnn_place_cost(p, i, p->place[i])->weighed ||
			    (on_cores && !p->place[i] && ns < CNN_PLACE_NEVER))
				p->place[i] = k;
		}
	}
}

static int64_t total(struct cnn_partition *p)
{
	int64_t ns = 0;

	for (int i = 0; i < p->g->n_nodes; i++)
		ns = cnn_add_sat(ns, cnn_place_cost(p, i, p->place[i])->weighed);
	for (int v = 0; v < p->g->n_values; v++)
		ns = cnn_add_sat(ns, moves(p, v));
	return ns;
}

static void search(struct cnn_partition *p, struct cluster *c, int *best)
{
	size_t bytes = sizeof(*best) * (size_t)p->g->n_nodes;
	int64_t least = INT64_MAX;

	for (int on_cores = 1; on_cores >= 0; on_cores--) {
		int rounds = 0;
		int64_t ns;

		start(p, on_cores);
		while (improve_all(p, c) && ++rounds < ROUNDS_MAX)
			;
		ns = total(p);
		if (ns < least)
			memcpy(best, p->place, bytes);
		least = cnn_min(ns, least);
	}
	memcpy(p->place, best, bytes);
}

int cnn_choose_places(struct cnn_partition *p, struct cnn_err *err)
{
	size_t nodes = (size_t)p->g->n_nodes + 1;
	int *best = calloc(nodes, sizeof(*best));
	struct cluster c = {
		.nodes = calloc(nodes, sizeof(*c.nodes)), .seen = calloc(nodes, sizeof(*c.seen)),
	};

	if (best && c.nodes && c.seen)
		search(p, &c, best);
	free(c.nodes);
	free(c.seen);
	free(best);
	return best && c.nodes && c.seen ? CNN_OK :
	       cnn_fail(err, CNN_ENOMEM, "no memory to place %d nodes", p->g->n_nodes);
}
