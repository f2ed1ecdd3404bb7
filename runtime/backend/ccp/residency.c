// SPDX-License-Identifier: MIT
/*
 * Which values stay in the data banks between the nodes of a segment.
 *
 * A node reads one bank and writes the other. A value that fits stays in the bank where it was
 * computed, laid out as in memory, until its last reader. A value that is needed in the other bank,
 * or that must make room, goes through memory. A beam search walks over the nodes and keeps the
 * CCPC_BEAM cheapest states. The cost of a node with given bindings comes from a trial, which
 * chooses tiles for these bindings, and the cycle model. Cost is the sum of cycles and lines moved:
 * a line not moved leaves bandwidth to others.
 */
#include <stdlib.h>
#include <string.h>

#include "residency.h"

/* Instructions that trials of one compilation may run. Beyond it only known variants are used. */
#define TRIAL_INSNS_MAX 200000000u

/* One way to run the next node. */
struct choice {
	int pos;
	unsigned int bank; /* bank to read */
	enum { EVICT_NONE, EVICT_OUT, EVICT_BOTH, EVICT_CUT } evict;
	bool load; /* the whole input */
	enum { OUT_PASSES, OUT_LOW, OUT_HIGH } out;
};

/* Cycles that a task may take, with a margin because trials are inexact. */
static uint64_t cycle_limit(const struct ccpc_residency *k)
{
	return k->core->hw.cycles_max - k->core->hw.cycles_max / 8;
}

static bool is_used(const struct ccpc_position *p, int storage)
{
	return storage == p->in || storage == p->add || storage == p->out;
}

static bool evict(const struct ccpc_residency *k, struct ccpc_state *s, const struct choice *w)
{
	const struct ccpc_position *p = &k->positions[w->pos];

	for (int i = s->n_resident; i-- > 0;) {
		struct ccpc_resident *h = &s->resident[i];

		if (w->evict == EVICT_NONE || (w->evict == EVICT_OUT && h->bank == w->bank))
			continue;
		if (w->evict != EVICT_CUT && is_used(p, h->storage))
			continue;
		if (!ccpc_write_back(k, s, h))
			return false;
		ccpc_drop_resident(s, h);
	}
	s->schedule.cut = w->evict == EVICT_CUT;
	s->schedule.cut_at = s->schedule.n_moves;
	if (s->schedule.cut)
		s->cycles = 0;
	return true;
}

/* Makes an input available to the node: resident in the read bank, or in memory. */
static bool take_input(const struct ccpc_residency *k, struct ccpc_state *s, const struct choice *w,
		       int storage, bool load)
{
	struct ccpc_resident *h = ccpc_find_resident(s, storage),
			     fresh = { .storage = storage, .bank = w->bank };

	if (h && h->bank == w->bank)
		return !load;
	if (h && !ccpc_write_back(k, s, h))
		return false;
	if (!load)
		return true;
	if (k->storages[storage].written >= w->pos)
		return false;
	if (h)
		ccpc_drop_resident(s, h);
	fresh.at = ccpc_find_free(k, s, w->bank, k->storages[storage].lines, false);
	return fresh.at >= 0 && ccpc_add_resident(s, fresh) && ccpc_add_move(k, s, &fresh, true);
}

/* An addend is always transferred, so memory must have it. */
static bool take_addend(const struct ccpc_residency *k, struct ccpc_state *s, int storage)
{
	struct ccpc_resident *h = storage < 0 ? NULL : ccpc_find_resident(s, storage);

	return !h || ccpc_write_back(k, s, h);
}

static bool take_output(const struct ccpc_residency *k, struct ccpc_state *s,
			const struct choice *w)
{
	const struct ccpc_position *p = &k->positions[w->pos];
	const struct ccpc_storage *o = &k->storages[p->out];
	struct ccpc_resident *h = ccpc_find_resident(s, p->out);
	struct ccpc_resident fresh = { .storage = p->out, .bank = !w->bank,
				       .dirty = !o->read_outside };

	if (h && h->bank != w->bank) {
		h->dirty = !o->read_outside;
		return w->out == OUT_PASSES;
	}
	if (h) {
		if (!ccpc_write_back(k, s, h))
			return false;
		ccpc_drop_resident(s, h);
	}
	if (w->out == OUT_PASSES)
		return true;
	if (o->written_outside || o->first < w->pos || o->last <= w->pos)
		return false;
	fresh.at = ccpc_find_free(k, s, fresh.bank, o->lines, w->out == OUT_HIGH);
	return fresh.at >= 0 && ccpc_add_resident(s, fresh);
}

static void bind_storage(const struct ccpc_residency *k, struct ccpc_state *s, int storage,
			 unsigned int bank, int64_t line, struct ccpc_bank_binding *bind)
{
	const struct ccpc_resident *h = ccpc_find_resident(s, storage);

	bind->resident = h && h->bank == bank;
	bind->at = bind->resident ? h->at + line - k->storages[storage].line : 0;
	ccpc_set_free(k, s, bank, bind);
}

static bool is_same(const struct ccpc_variant *a, const struct ccpc_node_schedule *schedule)
{
	return a->resident[0] == schedule->in.resident &&
	       a->resident[1] == schedule->out.resident &&
	       a->resident[2] == schedule->add.resident &&
	       a->capacity[0] == schedule->in.capacity &&
	       a->capacity[1] == schedule->out.capacity &&
	       a->half_capacity[0] == schedule->in.half_capacity &&
	       a->half_capacity[1] == schedule->out.half_capacity;
}

static void try_variant(struct ccpc_residency *k, struct ccpc_variant *variant)
{
	struct ccpc_core *core = k->core;
	const struct ccpc_bank_binding *in = &variant->node.in.bind, *out = &variant->node.out.bind;
	bool whole = !in->resident && !out->resident && in->capacity == core->hw.data_bank &&
		     out->capacity == core->hw.data_bank;
	struct ccpc_trial t;

	if (core->residency_insns > TRIAL_INSNS_MAX) {
		variant->fits = whole;
		return;
	}
	variant->fits = ccpc_node_try(core, &variant->node, &t) == CCPC_FITS;
	core->residency_insns += t.insns_run;
	variant->cost = t.cycles + t.bytes / CNNACC_LINE_SIZE;
	variant->cycles = t.cycles;
}

/* Index of the variant for the bindings of a schedule; -1: no memory. */
static int find_variant(struct ccpc_residency *k, int pos,
			const struct ccpc_node_schedule *schedule)
{
	struct ccpc_position *p = &k->positions[pos];
	struct ccpc_variant *variants, *variant;

	for (int i = 0; i < p->n_variants; i++)
		if (is_same(&p->variants[i], schedule))
			return i;
	variants = realloc(p->variants, ((size_t)p->n_variants + 1) * sizeof(*variants));
	if (!variants) {
		k->failed = true;
		return -1;
	}
	p->variants = variants;
	variant = &variants[p->n_variants];
	*variant = (struct ccpc_variant){
		.resident = { schedule->in.resident, schedule->out.resident,
			      schedule->add.resident },
		.capacity = { schedule->in.capacity, schedule->out.capacity },
		.half_capacity = { schedule->in.half_capacity, schedule->out.half_capacity },
		.node = k->core->nodes[p->node],
	};
	variant->node.in.bind = schedule->in;
	variant->node.out.bind = schedule->out;
	variant->node.add.bind = schedule->add;
	try_variant(k, variant);
	return p->n_variants++;
}

/*
 * Makes bindings that mean the same equal, so that variants recur: free space does not matter to a
 * resident value. If both values are transferred, the node may exchange the banks, so both get the
 * smaller capacity.
 */
static void normalize(struct ccpc_node_schedule *schedule, bool has_add)
{
	bool passes = !schedule->in.resident || has_add;
	int64_t both = cnn_min(schedule->in.capacity, schedule->out.capacity);

	if (!passes)
		schedule->in.capacity = schedule->in.half_capacity = 0;
	else if (!schedule->out.resident)
		schedule->in.capacity = both;
	if (schedule->out.resident)
		schedule->out.capacity = schedule->out.half_capacity = 0;
	else if (passes)
		schedule->out.capacity = both;
	if (has_add)
		schedule->in.half_capacity = schedule->out.half_capacity = 0;
	schedule->add.capacity = schedule->in.capacity;
}

static void drop_dead(const struct ccpc_residency *k, struct ccpc_state *s, int pos)
{
	for (int i = s->n_resident; i-- > 0;) {
		const struct ccpc_storage *o = &k->storages[s->resident[i].storage];

		if (o->last <= pos && o->written <= pos)
			ccpc_drop_resident(s, &s->resident[i]);
	}
}

/* True if the kind of node allows these bindings. */
static bool can_bind(const struct ccpc_node *n, const struct ccpc_node_schedule *schedule)
{
	if (n->kind == &ccpc_pool && ccpc_pool_is_staged(n))
		return !schedule->in.resident && !schedule->out.resident;
	return n->add.value < 0 || !schedule->out.resident;
}

/* Sets *s to the state after choice w from *from; false if it is not possible. */
static bool apply_choice(struct ccpc_residency *k, const struct ccpc_state *from,
			 const struct choice *w, struct ccpc_state *s)
{
	const struct ccpc_position *p = &k->positions[w->pos];
	const struct ccpc_node *n = &k->core->nodes[p->node];
	uint64_t limit = cycle_limit(k);
	const struct ccpc_variant *variant;

	*s = *from;
	memset(&s->schedule, 0, sizeof(s->schedule));
	s->schedule.bank = w->bank;
	if (!evict(k, s, w) || !take_input(k, s, w, p->in, w->load) ||
	    !take_addend(k, s, p->add) || !take_output(k, s, w))
		return false;
	s->schedule.pinned = s->n_resident > 0;
	bind_storage(k, s, p->in, w->bank, ccpc_value_line(k->core, n->in.value), &s->schedule.in);
	bind_storage(k, s, p->out, !w->bank, ccpc_value_line(k->core, n->out.value),
		     &s->schedule.out);
	if (!can_bind(n, &s->schedule))
		return false;
	normalize(&s->schedule, n->add.value >= 0);
	s->variant = find_variant(k, w->pos, &s->schedule);
	if (s->variant < 0)
		return false;
	variant = &p->variants[s->variant];
	s->cost += variant->cost;
	s->cycles += variant->cycles;
	if (!variant->fits || (s->schedule.pinned && s->cycles > limit))
		return false;
	if (s->cycles > limit)
		s->cycles = limit;
	if (s->schedule.out.resident && k->storages[p->out].read_outside) {
		s->schedule.store = true;
		ccpc_add_move_cost(s, k->core->base.compile->out->slots[n->out.value].bytes /
					      CNNACC_LINE_SIZE);
	}
	drop_dead(k, s, w->pos);
	return true;
}

static bool same_banks(const struct ccpc_state *a, const struct ccpc_state *b)
{
	if (a->n_resident != b->n_resident)
		return false;
	for (int i = 0; i < a->n_resident; i++)
		if (a->resident[i].storage != b->resident[i].storage ||
		    a->resident[i].bank != b->resident[i].bank ||
		    a->resident[i].at != b->resident[i].at ||
		    a->resident[i].dirty != b->resident[i].dirty)
			return false;
	return true;
}

/* Inserts s by cost, after equals. Keeps one state for each content of the banks. */
static void offer(struct ccpc_state *list, int *count, const struct ccpc_state *s)
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
	if (at == CCPC_BEAM)
		return;
	if (*count < CCPC_BEAM)
		++*count;
	memmove(&list[at + 1], &list[at], (size_t)(*count - at - 1) * sizeof(*list));
	list[at] = *s;
}

/* Tries all ways to load the input and to place the output, after the given eviction. */
static void expand(struct ccpc_residency *k, const struct ccpc_state *from, struct choice *w,
		   int parent, struct ccpc_state *list, int *count)
{
	struct ccpc_state s;

	for (int i = 0; i < 6; i++) {
		w->load = i / 3;
		w->out = i % 3;
		if (!apply_choice(k, from, w, &s))
			continue;
		s.parent = parent;
		offer(list, count, &s);
	}
}

static int advance(struct ccpc_residency *k, int pos, const struct ccpc_state *from, int n,
		   struct ccpc_state *list)
{
	uint64_t limit = cycle_limit(k);
	int count = 0;

	for (int i = 0; i < n; i++) {
		struct choice w = { .pos = pos };

		for (w.bank = 0; w.bank < (from[i].n_resident ? 2 : 1); w.bank++)
			for (w.evict = EVICT_NONE; w.evict <= EVICT_CUT; w.evict++) {
				if (w.evict != EVICT_NONE && w.evict != EVICT_CUT &&
				    !from[i].n_resident)
					continue;
				if (w.evict == EVICT_CUT && from[i].cycles < limit / 2)
					continue;
				expand(k, &from[i], &w, i, list, &count);
			}
	}
	return count;
}

/* Follows the parents from the best state of the last position and sets their schedules. */
static void commit(struct ccpc_residency *k, int first, int n, struct ccpc_node_schedule *schedules)
{
	int at = 0;

	for (int i = n; i > 0; i--) {
		const struct ccpc_state *s = &k->states[i][at];
		const struct ccpc_position *p = &k->positions[first + i - 1];
		struct ccpc_node *node = &k->core->nodes[p->node];

		*node = p->variants[s->variant].node;
		node->in.bind = s->schedule.in;
		node->out.bind = s->schedule.out;
		node->add.bind = s->schedule.add;
		schedules[first + i - 1] = s->schedule;
		at = s->parent;
	}
	k->states[0][0] = k->states[n][0];
	k->counts[0] = 1;
	for (int i = 0; i < n; i++) {
		free(k->positions[first + i].variants);
		k->positions[first + i].variants = NULL;
	}
}

static bool search(struct ccpc_residency *k, struct ccpc_node_schedule *schedules)
{
	int first = 0;

	memset(&k->states[0][0], 0, sizeof(k->states[0][0]));
	k->counts[0] = 1;
	while (first < k->n_positions) {
		int n = (int)cnn_min(CCPC_BEAM_WINDOW, k->n_positions - first);

		for (int i = 0; i < n; i++) {
			k->counts[i + 1] = advance(k, first + i, k->states[i], k->counts[i],
						   k->states[i + 1]);
			if (!k->counts[i + 1])
				return false;
		}
		commit(k, first, n, schedules);
		first += n;
	}
	return true;
}

/* The storage of a value; a new one has no accesses. */
static int storage_of(struct ccpc_residency *k, int value)
{
	const struct cnn_compile *compile = k->core->base.compile;
	int owner = compile->owner[value], *index = k->core->index;

	if (index[owner] < 0) {
		k->storages[k->n_storages] = (struct ccpc_storage){
			.owner = owner, .line = ccpc_value_line(k->core, owner),
			.lines = compile->out->slots[owner].bytes / CNNACC_LINE_SIZE,
			.first = INT32_MAX, .written = -1, .last = -1,
		};
		index[owner] = k->n_storages++;
	}
	return index[owner];
}

static void add_position(struct ccpc_residency *k, int node)
{
	const struct ccpc_node *n = &k->core->nodes[node];
	int pos = k->n_positions++;
	struct ccpc_position *p = &k->positions[pos];

	*p = (struct ccpc_position){ .node = node, .add = -1 };
	p->in = storage_of(k, n->in.value);
	p->out = storage_of(k, n->out.value);
	k->storages[p->in].last = pos;
	if (n->add.value >= 0) {
		p->add = storage_of(k, n->add.value);
		k->storages[p->add].last = pos;
	}
	if (pos < k->storages[p->out].first)
		k->storages[p->out].first = pos;
	k->storages[p->out].written = pos;
}

static void fill(struct ccpc_residency *k, const struct cnn_segment *seg)
{
	const int *owner = k->core->base.compile->owner;
	int *index = k->core->index;

	for (int i = 0; i < seg->n_nodes; i++)
		if (k->core->nodes[seg->nodes[i]].kind != NULL)
			add_position(k, seg->nodes[i]);
	for (int i = 0; i < seg->n_out; i++)
		if (index[owner[seg->out[i]]] >= 0)
			k->storages[index[owner[seg->out[i]]]].read_outside = true;
	for (int i = 0; i < seg->n_in; i++)
		if (index[owner[seg->in[i]]] >= 0)
			k->storages[index[owner[seg->in[i]]]].written_outside = true;
	for (int i = 0; i < k->n_storages; i++)
		index[k->storages[i].owner] = -1;
}

bool ccpc_search_residency(struct ccpc_core *core, const struct cnn_segment *seg,
			   struct ccpc_node_schedule *schedules)
{
	struct ccpc_residency k = { .core = core };
	bool good;

	k.storages = calloc(3 * (size_t)seg->n_nodes + 1, sizeof(*k.storages));
	k.positions = calloc((size_t)seg->n_nodes + 1, sizeof(*k.positions));
	k.states = calloc(CCPC_BEAM_WINDOW + 1, sizeof(*k.states));
	good = k.storages && k.positions && k.states;
	if (good)
		fill(&k, seg);
	good = good && search(&k, schedules) && !k.failed;
	for (int i = 0; k.positions && i < k.n_positions; i++)
		free(k.positions[i].variants);
	free(k.storages);
	free(k.positions);
	free(k.states);
	return good;
}
