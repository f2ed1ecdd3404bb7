// SPDX-License-Identifier: MIT
/*
 * Finds independent branches of a network that equal cores can run at the same time. A region
 * begins behind a place where only one value is alive and ends at the next such place; its last
 * node joins the branches. Where the nodes before that fall into parts that do not read each other's
 * values, the parts are spread over lanes, as many as there are equal cores. What a lane has on a
 * core becomes segments of its own, so their first values come from memory and their last ones go
 * there. Operators on the CPU, which is one for all lanes, end a lane's segment as they end any; those
 * before the first or behind the last segment of every lane connect no parts.
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
	bool *outside;	/* by node: before or behind all parts */
	int *root;	/* by node: another node of the same part, or itself */
	int *part_of;	/* by node that is a root: its part, plus 1 */
	struct part *parts;
	int regions;	/* that are spread */
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

static int producer(const struct cnn_graph *g, const struct cnn_node *n, int k)
{
	return n->in[k] < 0 ? -1 : g->values[n->in[k]].producer;
}

/* Does a node on the CPU read nothing that comes from a core in the region? */
static bool is_before(const struct finder *f, const struct region *r, int node)
{
	const struct cnn_graph *g = f->cc->compile.g;
	const struct cnn_node *n = &g->nodes[node];

	if (f->cc->compile.out->nodes[node].core >= 0)
		return false;
	for (int k = 0; k < n->n_in; k++)
		if (producer(g, n, k) >= r->first && !f->outside[producer(g, n, k)])
			return false;
	return true;
}

/* Does a node on the CPU make nothing that goes to a core in the region? */
static bool is_behind(const struct finder *f, const struct region *r, int node)
{
	const struct cnn_graph *g = f->cc->compile.g;
	const struct cnn_node *n = &g->nodes[node];

	if (f->cc->compile.out->nodes[node].core >= 0)
		return false;
	for (int k = 0; k < n->n_out; k++) {
		const struct cnn_value *v = n->out[k] < 0 ? NULL : &g->values[n->out[k]];

		for (int i = 0; v && i < v->n_consumers; i++)
			if (v->consumers[i] < r->join && !f->outside[v->consumers[i]])
				return false;
	}
	return true;
}

static void join_nodes(struct finder *f, int x, int y)
{
	int a = find_root(f, x), b = find_root(f, y);

	f->root[a > b ? a : b] = a > b ? b : a;
}

/*
 * Nodes of one unit, or of which one reads the other's value, belong to one part, named after its
 * first node.
 */
static void join_parts(struct finder *f, const struct region *r)
{
	const struct cnn_graph *g = f->cc->compile.g;

	for (int i = r->first; i < r->join; i++)
		f->outside[i] = is_before(f, r, i);
	for (int i = r->join - 1; i >= r->first; i--)
		f->outside[i] |= is_behind(f, r, i);
	for (int i = r->first; i < r->join; i++) {
		f->root[i] = i;
		if (f->cc->lead[i] >= r->first)
			join_nodes(f, f->cc->lead[i], i);
		for (int k = 0; k < g->nodes[i].n_in && !f->outside[i]; k++) {
			int from = producer(g, &g->nodes[i], k);

			if (from >= r->first && !f->outside[from])
				join_nodes(f, from, i);
		}
	}
}

/* What a node takes on a core, as it was lowered without lanes. */
static int64_t node_ns(const struct cnn_compiler *cc, int node)
{
	const struct cnn_placement *p = &cc->compile.out->nodes[node];

	return p->core < 0 ? 0 : p->cost_ns;
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

/* Is a node in a unit that has nodes beyond the region? */
static bool reaches_out(const struct cnn_compiler *cc, const struct region *r, int node)
{
	const struct cnn_unit *u = cnn_unit_of(cc, node);

	return u && (u->nodes[0] < r->first || u->nodes[u->n_nodes - 1] >= r->join);
}

/*
 * One for each of the most cores that are equal and have nodes of a region; 0 if the region has not
 * the whole of a unit.
 */
static int count_lanes(const struct cnn_compiler *cc, const struct region *r)
{
	int lanes = 0;

	for (int i = r->first; i < r->join; i++) {
		int core = cc->compile.out->nodes[i].core;

		if (reaches_out(cc, r, i))
			return 0;
		if (core >= 0)
			lanes = cnn_max(lanes, count_equal(cc, core));
	}
	return lanes;
}

/* Spreads a region if that saves more than two more submissions cost. */
static void spread(struct finder *f, const struct region *r)
{
	int lanes = count_lanes(f->cc, r), parts;

	if (lanes < 2)
		return;
	join_parts(f, r);
	parts = collect_parts(f, r);
	if (fill_lanes(f, parts, lanes) <= 2 * f->cc->target->submit_ns)
		return;
	f->regions++;
	for (int k = 0; k < parts; k++)
		f->cc->lanes[f->parts[k].root].lane = f->parts[k].lane;
	for (int i = r->first; i < r->join; i++)
		f->cc->lanes[i] = (struct cnn_lane){ f->cc->lanes[find_root(f, i)].lane,
						     f->regions };
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
		.outside = calloc(nodes, sizeof(bool)),
		.parts = calloc(nodes, sizeof(*f.parts)), .part_of = calloc(nodes, sizeof(int)),
	};
	bool ok;

	cc->lanes = calloc(nodes, sizeof(*cc->lanes));
	ok = cc->lanes && f.alive && f.outside && f.root && f.parts && f.part_of;
	if (ok)
		find_regions(&f);
	*found = f.regions > 0;
	free(f.alive);
	free(f.outside);
	free(f.root);
	free(f.parts);
	free(f.part_of);
	return ok ? CNN_OK : cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for lanes");
}
