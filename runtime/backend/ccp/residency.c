// SPDX-License-Identifier: MIT
/*
 * What stays in the data banks between the nodes of a segment.
 *
 * A node reads one bank and writes the other. Values that fit stay where they have been computed,
 * as they lie in memory, until the last node has read them from there; a value that is wanted in the
 * other bank, or has to make room, goes through memory. The search goes from node to node with the
 * cheapest BEAM ways to have got there; what a node costs in a situation, its tiles chosen for that
 * situation, the cycle model says. Cost is cycles and lines moved, one for one: what does not
 * move leaves memory to others.
 */
#include <stdlib.h>
#include <string.h>

#include "residency.h"

/* Instructions that trials of one compilation may run; beyond it nothing new is tried. */
#define STEPS_MAX	200000000u

/* One way to take the next node. */
struct way {
	int pos;
	unsigned int bank;		/* to read */
	enum { EVICT_NONE, EVICT_OUT, EVICT_BOTH, EVICT_CUT } evict;
	bool load;		/* the input, all of it */
	enum { OUT_PASSES, OUT_LOW, OUT_HIGH } out;
};

/* What a task may take, with a margin: trials are not exact. */
static uint64_t cycle_limit(const struct keep *k)
{
	return k->core->hw.cycles_max - k->core->hw.cycles_max / 8;
}

/* ---- what a node finds ---------------------------------------------------------------- */

static bool is_used(const struct place *p, int object)
{
	return object == p->in || object == p->add || object == p->out;
}

static bool evict(const struct keep *k, struct state *s, const struct way *w)
{
	const struct place *p = &k->places[w->pos];

	for (int i = s->n_held; i-- > 0;) {
		struct held *h = &s->held[i];

		if (w->evict == EVICT_NONE || (w->evict == EVICT_OUT && h->bank == w->bank))
			continue;
		if (w->evict != EVICT_CUT && is_used(p, h->object))
			continue;
		if (!ccpc_save(k, s, h))
			return false;
		ccpc_drop(s, h);
	}
	s->step.cut = w->evict == EVICT_CUT;
	s->step.cut_at = s->step.n_moves;
	if (s->step.cut)
		s->cycles = 0;
	return true;
}

/* Brings an input to where the node can read it; pinned or passing. */
static bool take_input(const struct keep *k, struct state *s, const struct way *w, int object,
		       bool load)
{
	struct held *h = ccpc_find_held(s, object), fresh = { .object = object, .bank = w->bank };

	if (h && h->bank == w->bank)
		return !load;
	if (h && !ccpc_save(k, s, h))
		return false;
	if (!load)
		return true;
	if (k->objects[object].written >= w->pos)
		return false;
	if (h)
		ccpc_drop(s, h);
	fresh.at = ccpc_find_room(k, s, w->bank, k->objects[object].lines, false);
	return fresh.at >= 0 && ccpc_hold(s, fresh) && ccpc_add_move(k, s, &fresh, true);
}

/* What is added passes through a bank, wherever it is held. */
static bool take_addend(const struct keep *k, struct state *s, int object)
{
	struct held *h = object < 0 ? NULL : ccpc_find_held(s, object);

	return !h || ccpc_save(k, s, h);
}

static bool take_output(const struct keep *k, struct state *s, const struct way *w)
{
	const struct place *p = &k->places[w->pos];
	const struct object *o = &k->objects[p->out];
	struct held *h = ccpc_find_held(s, p->out);
	struct held fresh = { .object = p->out, .bank = !w->bank, .dirty = !o->wanted };

	if (h && h->bank != w->bank) {
		h->dirty = !o->wanted;
		return w->out == OUT_PASSES;
	}
	if (h) {
		if (!ccpc_save(k, s, h))
			return false;
		ccpc_drop(s, h);
	}
	if (w->out == OUT_PASSES)
		return true;
	if (o->outside || o->first < w->pos || o->last <= w->pos)
		return false;
	fresh.at = ccpc_find_room(k, s, fresh.bank, o->lines, w->out == OUT_HIGH);
	return fresh.at >= 0 && ccpc_hold(s, fresh);
}

static void set_home(const struct keep *k, struct state *s, int object, unsigned int bank,
		     int64_t line, struct ccpc_home *home)
{
	const struct held *h = ccpc_find_held(s, object);

	home->kept = h && h->bank == bank;
	home->at = home->kept ? h->at + line - k->objects[object].line : 0;
	ccpc_set_spare(k, s, bank, home);
}

/* ---- nodes ----------------------------------------------------------------------------- */

static bool is_same(const struct plan *a, const struct ccpc_step *step)
{
	return a->kept[0] == step->in.kept && a->kept[1] == step->out.kept &&
	       a->kept[2] == step->add.kept && a->room[0] == step->in.room &&
	       a->room[1] == step->out.room && a->half[0] == step->in.half &&
	       a->half[1] == step->out.half;
}

static void try_plan(struct keep *k, struct plan *plan)
{
	struct ccpc_core *core = k->core;
	const struct ccpc_home *in = &plan->node.in_home, *out = &plan->node.out_home;
	bool whole = !in->kept && !out->kept && in->room == core->hw.bank &&
		     out->room == core->hw.bank;
	struct ccpc_trial t;

	if (core->keep_steps > STEPS_MAX) {
		plan->fits = whole;
		return;
	}
	plan->fits = ccpc_try(core, &plan->node, &t);
	core->keep_steps += t.steps;
	plan->cost = t.cycles + t.bytes / CNNACC_LINE_SIZE;
	plan->cycles = t.cycles;
}

/* Index of what the node takes with the homes of step; -1: no memory. */
static int find_plan(struct keep *k, int pos, const struct ccpc_step *step)
{
	struct place *p = &k->places[pos];
	struct plan *plans, *plan;

	for (int i = 0; i < p->n_plans; i++)
		if (is_same(&p->plans[i], step))
			return i;
	plans = realloc(p->plans, ((size_t)p->n_plans + 1) * sizeof(*plans));
	if (!plans) {
		k->failed = true;
		return -1;
	}
	p->plans = plans;
	plan = &plans[p->n_plans];
	*plan = (struct plan){
		.kept = { step->in.kept, step->out.kept, step->add.kept },
		.room = { step->in.room, step->out.room },
		.half = { step->in.half, step->out.half }, .node = k->core->nodes[p->node],
	};
	plan->node.in_home = step->in;
	plan->node.out_home = step->out;
	plan->node.add_home = step->add;
	try_plan(k, plan);
	return p->n_plans++;
}

/*
 * Where nothing passes the room is no matter: then it is all the same. Where both values pass, the
 * node may exchange the banks.
 */
static void normalize(struct ccpc_step *step, bool has_add)
{
	bool passes = !step->in.kept || has_add;
	int64_t both = cnn_min(step->in.room, step->out.room);

	if (!passes)
		step->in.room = step->in.half = 0;
	else if (!step->out.kept)
		step->in.room = both;
	if (step->out.kept)
		step->out.room = step->out.half = 0;
	else if (passes)
		step->out.room = both;
	if (has_add)
		step->in.half = step->out.half = 0;
	step->add.room = step->in.room;
}

static void drop_dead(const struct keep *k, struct state *s, int pos)
{
	for (int i = s->n_held; i-- > 0;) {
		const struct object *o = &k->objects[s->held[i].object];

		if (o->last <= pos && o->written <= pos)
			ccpc_drop(s, &s->held[i]);
	}
}

/* Can the node have its values where step has them? */
static bool can_keep(const struct ccpc_node *n, const struct ccpc_step *step)
{
	if (n->kind == CCP_POOL && ccpc_pool_passes(n))
		return !step->in.kept && !step->out.kept;
	return n->add < 0 || !step->out.kept;
}

/* The state after going w from *from; false if that cannot be. */
static bool go(struct keep *k, const struct state *from, const struct way *w, struct state *s)
{
	const struct place *p = &k->places[w->pos];
	const struct ccpc_node *n = &k->core->nodes[p->node];
	uint64_t limit = cycle_limit(k);
	const struct plan *plan;

	*s = *from;
	memset(&s->step, 0, sizeof(s->step));
	s->step.bank = w->bank;
	if (!evict(k, s, w) || !take_input(k, s, w, p->in, w->load) ||
	    !take_addend(k, s, p->add) || !take_output(k, s, w))
		return false;
	s->step.pinned = s->n_held > 0;
	set_home(k, s, p->in, w->bank, ccpc_value_line(k->core, n->in), &s->step.in);
	set_home(k, s, p->out, !w->bank, ccpc_value_line(k->core, n->out), &s->step.out);
	if (!can_keep(n, &s->step))
		return false;
	normalize(&s->step, n->add >= 0);
	s->plan = find_plan(k, w->pos, &s->step);
	if (s->plan < 0)
		return false;
	plan = &p->plans[s->plan];
	s->cost += plan->cost;
	s->cycles += plan->cycles;
	if (!plan->fits || (s->step.pinned && s->cycles > limit))
		return false;
	if (s->cycles > limit)
		s->cycles = limit;
	if (s->step.out.kept && k->objects[p->out].wanted) {
		s->step.store = true;
		ccpc_add_cost(s, k->core->base.lw->out->slots[n->out].bytes / CNNACC_LINE_SIZE);
	}
	drop_dead(k, s, w->pos);
	return true;
}

/* ---- search ---------------------------------------------------------------------------- */

static bool same_banks(const struct state *a, const struct state *b)
{
	if (a->n_held != b->n_held)
		return false;
	for (int i = 0; i < a->n_held; i++)
		if (a->held[i].object != b->held[i].object || a->held[i].bank != b->held[i].bank ||
		    a->held[i].at != b->held[i].at || a->held[i].dirty != b->held[i].dirty)
			return false;
	return true;
}

/* Keeps the cheapest, the first of equals, and one for each content of the banks. */
static void offer(struct state *list, int *count, const struct state *s)
{
	int at = *count;

	for (int i = 0; i < *count; i++) {
		if (!same_banks(&list[i], s))
			continue;
		if (list[i].cost <= s->cost)
			return;
		memmove(&list[i], &list[i + 1], (size_t)(*count - i - 1) * sizeof(*list));
		at = --*count;
		break;
	}
	while (at > 0 && list[at - 1].cost > s->cost)
		at--;
	if (at == BEAM)
		return;
	if (*count < BEAM)
		++*count;
	memmove(&list[at + 1], &list[at], (size_t)(*count - at - 1) * sizeof(*list));
	list[at] = *s;
}

/* All that can be done with the banks set: what is loaded, and where the output goes. */
static void go_from(struct keep *k, const struct state *from, struct way *w, int parent,
		    struct state *list, int *count)
{
	struct state s;

	for (int i = 0; i < 6; i++) {
		w->load = i / 3;
		w->out = i % 3;
		if (!go(k, from, w, &s))
			continue;
		s.parent = parent;
		offer(list, count, &s);
	}
}

static int advance(struct keep *k, int pos, const struct state *from, int n, struct state *list)
{
	uint64_t limit = cycle_limit(k);
	int count = 0;

	for (int i = 0; i < n; i++) {
		struct way w = { .pos = pos };

		for (w.bank = 0; w.bank < (from[i].n_held ? 2 : 1); w.bank++)
			for (w.evict = EVICT_NONE; w.evict <= EVICT_CUT; w.evict++) {
				if (w.evict != EVICT_NONE && w.evict != EVICT_CUT && !from[i].n_held)
					continue;
				if (w.evict == EVICT_CUT && from[i].cycles < limit / 2)
					continue;
				go_from(k, &from[i], &w, i, list, &count);
			}
	}
	return count;
}

/* Writes down the way to state best of the window's last position. */
static void commit(struct keep *k, int first, int n, struct ccpc_step *steps)
{
	int at = 0;

	for (int i = n; i > 0; i--) {
		const struct state *s = &k->states[i][at];
		const struct place *p = &k->places[first + i - 1];
		struct ccpc_node *node = &k->core->nodes[p->node];

		*node = p->plans[s->plan].node;
		node->in_home = s->step.in;
		node->out_home = s->step.out;
		node->add_home = s->step.add;
		steps[first + i - 1] = s->step;
		at = s->parent;
	}
	k->states[0][0] = k->states[n][0];
	k->counts[0] = 1;
	for (int i = 0; i < n; i++) {
		free(k->places[first + i].plans);
		k->places[first + i].plans = NULL;
	}
}

static bool search(struct keep *k, struct ccpc_step *steps)
{
	int first = 0;

	memset(&k->states[0][0], 0, sizeof(k->states[0][0]));
	k->counts[0] = 1;
	while (first < k->n_places) {
		int n = (int)cnn_min(WINDOW, k->n_places - first);

		for (int i = 0; i < n; i++) {
			k->counts[i + 1] = advance(k, first + i, k->states[i], k->counts[i],
						   k->states[i + 1]);
			if (!k->counts[i + 1])
				return false;
		}
		commit(k, first, n, steps);
		first += n;
	}
	return true;
}

/* ---- the segment ----------------------------------------------------------------------- */

/* The object of a value, with what it takes in the segment so far. */
static int object_of(struct keep *k, int value)
{
	const struct cnn_compile *lw = k->core->base.lw;
	int root = lw->root[value], *index = k->core->index;

	if (index[root] < 0) {
		k->objects[k->n_objects] = (struct object){
			.root = root,
			.line = ccpc_value_line(k->core, root),
			.lines = lw->out->slots[root].bytes / CNNACC_LINE_SIZE,
			.first = INT32_MAX,
			.written = -1,
			.last = -1,
		};
		index[root] = k->n_objects++;
	}
	return index[root];
}

static void read_object(struct keep *k, int object, int pos)
{
	k->objects[object].last = pos;
}

static void add_place(struct keep *k, int node)
{
	const struct ccpc_node *n = &k->core->nodes[node];
	int pos = k->n_places++;
	struct place *p = &k->places[pos];

	*p = (struct place){ .node = node, .add = -1 };
	p->in = object_of(k, n->in);
	p->out = object_of(k, n->out);
	read_object(k, p->in, pos);
	if (n->add >= 0) {
		p->add = object_of(k, n->add);
		read_object(k, p->add, pos);
	}
	if (pos < k->objects[p->out].first)
		k->objects[p->out].first = pos;
	k->objects[p->out].written = pos;
}

static void fill(struct keep *k, const struct cnn_segment *seg)
{
	const int *root = k->core->base.lw->root;
	int *index = k->core->index;

	for (int i = 0; i < seg->n_nodes; i++)
		if (k->core->nodes[seg->nodes[i]].kind != CCP_NONE)
			add_place(k, seg->nodes[i]);
	for (int i = 0; i < seg->n_out; i++)
		if (index[root[seg->out[i]]] >= 0)
			k->objects[index[root[seg->out[i]]]].wanted = true;
	for (int i = 0; i < seg->n_in; i++)
		if (index[root[seg->in[i]]] >= 0)
			k->objects[index[root[seg->in[i]]]].outside = true;
	for (int i = 0; i < k->n_objects; i++)
		index[k->objects[i].root] = -1;
}

bool ccpc_keep(struct ccpc_core *core, const struct cnn_segment *seg, struct ccpc_step *steps)
{
	struct keep k = { .core = core };
	bool good;

	k.objects = calloc(3 * (size_t)seg->n_nodes + 1, sizeof(*k.objects));
	k.places = calloc((size_t)seg->n_nodes + 1, sizeof(*k.places));
	k.states = calloc(WINDOW + 1, sizeof(*k.states));
	good = k.objects && k.places && k.states;
	if (good)
		fill(&k, seg);
	good = good && search(&k, steps) && !k.failed;
	for (int i = 0; k.places && i < k.n_places; i++)
		free(k.places[i].plans);
	free(k.objects);
	free(k.places);
	free(k.states);
	return good;
}
