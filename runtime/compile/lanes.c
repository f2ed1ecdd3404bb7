// SPDX-License-Identifier: MIT
/*
 * Finds independent branches of a network that equal cores can run at the same time. A region
 * begins behind a place where only one value is alive and ends at the next such place; its last
 * node joins the branches. Where the nodes before that fall into parts that do not read each other's
 * values, the parts are spread over lanes, as many as there are equal cores. A lane becomes a
 * segment of its own, so its first values come from memory and its last ones go there.
 */
#include <stdlib.h>

#include "internal.h"

/* The nodes first..join - 1 may fall into parts. */
struct region {
	int first, join;
};

struct part {
	int root;	/* its first node */
	int lane;
	int64_t ns;
};

struct finder {
	struct cnn_compiler *cc;
	int *alive;	/* by node: values that are alive behind it */
	int *root;	/* by node: another node of the same part, or itself */
	int *part_of;	/* by node that is a root: its part, plus 1 */
	struct part *parts;
	bool found;
};

static int count_equal(const struct cnn_compiler *cc, int core)
{
	int count = 0;

	for (int i = 0; i < cc->n_cores; i++)
		count += cc->cores[i] && cnn_cores_equal(cc->cores[i]->info, cc->cores[core]->info);
	return count;
}

static void count_alive(struct finder *f)
{
	const struct cnn_graph *g = f->cc->compile.g;
	int sum = 0;

	for (int v = 0; v < g->n_values; v++) {
		const struct cnn_value *val = &g->values[v];
		int last = -1;

		for (int i = 0; i < val->n_consumers; i++)
			last = val->consumers[i] > last ? val->consumers[i] : last;
		if (val->t.data || last < 0)
			continue;
		f->alive[val->producer < 0 ? 0 : val->producer]++;
		f->alive[last]--;
	}
	for (int i = 0; i < g->n_nodes; i++) {
		sum += f->alive[i];
		f->alive[i] = sum;
	}
}

static int find_root(struct finder *f, int node)
{
	while (f->root[node] != node) {
		f->root[node] = f->root[f->root[node]];
		node = f->root[node];
	}
	return node;
}

/* Nodes of which one reads the other's value belong to one part, named after its first node. */
static void join_parts(struct finder *f, const struct region *r)
{
	const struct cnn_graph *g = f->cc->compile.g;

	for (int i = r->first; i < r->join; i++) {
		f->root[i] = i;
		for (int k = 0; k < g->nodes[i].n_in; k++) {
			int v = g->nodes[i].in[k], from = v < 0 ? -1 : g->values[v].producer;
			int a, b;

			if (from < r->first)
				continue;
			a = find_root(f, from);
			b = find_root(f, i);
			f->root[a > b ? a : b] = a > b ? b : a;
		}
	}
}

/* A guess that ranks branches: half of the core's units are busy. */
static int64_t node_ns(const struct cnn_compiler *cc, int node)
{
	const struct cnn_placement *p = &cc->compile.out->nodes[node];
	const struct cnn_backend *core = cc->cores[p->core];
	int64_t peak = core->ops->peak(core, node);

	return p->macs > 0 && peak > 0 ?
	       cnn_cycles_ns(cc->target, p->core, 2 * (uint64_t)p->macs / (uint64_t)peak) : 0;
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->root > y->root) - (x->root < y->root);
}

static int collect_parts(struct finder *f, const struct region *r)
{
	int count = 0;

	for (int i = r->first; i < r->join; i++) {
		int root = find_root(f, i);
		struct part *part;

		if (!f->part_of[root]) {
			f->parts[count] = (struct part){ .root = root };
			f->part_of[root] = ++count;
		}
		part = &f->parts[f->part_of[root] - 1];
		part->ns = cnn_add_sat(part->ns, node_ns(f->cc, i));
	}
	qsort(f->parts, (size_t)count, sizeof(*f->parts), compare_parts);
	return count;
}

/* Gives each part, the longest first, to the lane with least to do; returns what that saves. */
static int64_t fill_lanes(struct finder *f, int parts, int lanes)
{
	int64_t busy[CNNRT_MAX_CORES] = { 0 }, sum = 0, most = 0;

	for (int i = 0; i < parts; i++) {
		int least = 0;

		for (int k = 1; k < lanes; k++)
			least = busy[k] < busy[least] ? k : least;
		f->parts[i].lane = least + 1;
		busy[least] = cnn_add_sat(busy[least], f->parts[i].ns);
		sum = cnn_add_sat(sum, f->parts[i].ns);
		most = cnn_max(most, busy[least]);
	}
	return sum - most;
}

/* The core that runs all nodes of a region, or CNN_ON_CPU. */
static int core_of(const struct cnn_compiler *cc, const struct region *r)
{
	int core = cc->compile.out->nodes[r->first].core;

	for (int i = r->first; i < r->join; i++)
		if (cc->compile.out->nodes[i].core != core)
			return CNN_ON_CPU;
	return core;
}

/* Spreads a region if that saves more than two more submissions cost. */
static void spread(struct finder *f, const struct region *r)
{
	int core = core_of(f->cc, r), lanes = core < 0 ? 1 : count_equal(f->cc, core), parts;

	if (lanes < 2)
		return;
	join_parts(f, r);
	parts = collect_parts(f, r);
	if (fill_lanes(f, parts, lanes) <= 2 * f->cc->target->submit_ns)
		return;
	f->found = true;
	for (int k = 0; k < parts; k++)
		f->cc->lane[f->parts[k].root] = f->parts[k].lane;
	for (int i = r->first; i < r->join; i++)
		f->cc->lane[i] = f->cc->lane[find_root(f, i)];
}

static void find_regions(struct finder *f)
{
	int nodes = f->cc->compile.g->n_nodes, first = 0;

	count_alive(f);
	for (int i = 0; i < nodes; i++) {
		if (f->alive[i] > 1)
			continue;
		if (i - first >= 2)
			spread(f, &(struct region){ first, i });
		first = i + 1;
	}
}

bool cnn_has_equal_cores(const struct cnn_compiler *cc)
{
	for (int i = 0; i < cc->n_cores; i++)
		if (cc->cores[i] && count_equal(cc, i) > 1)
			return true;
	return false;
}

int cnn_find_lanes(struct cnn_compiler *cc, bool *found)
{
	size_t nodes = (size_t)cc->compile.g->n_nodes + 1;
	struct finder f = {
		.cc = cc, .alive = calloc(nodes, sizeof(int)), .root = calloc(nodes, sizeof(int)),
		.parts = calloc(nodes, sizeof(*f.parts)), .part_of = calloc(nodes, sizeof(int)),
	};
	bool ok;

	cc->lane = calloc(nodes, sizeof(int));
	ok = cc->lane && f.alive && f.root && f.parts && f.part_of;
	if (ok)
		find_regions(&f);
	*found = f.found;
	free(f.alive);
	free(f.root);
	free(f.parts);
	free(f.part_of);
	return ok ? CNN_OK : cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for lanes");
}
