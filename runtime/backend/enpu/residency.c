// SPDX-License-Identifier: MIT
/* What stays in the DTCMs between the layers of a segment, and where. */
#include <stdlib.h>

#include "enpu.h"

#define RESIDENTS	64	/* maps at once, in both DTCMs */
#define MARGIN		32	/* commands of a program that actions do not count */

/* A map in a DTCM. */
struct resident {
	int value;			/* whose memory it would be in */
	enum enpuc_repeat repeat;	/* as which it has been loaded */
	struct enpuc_place at;
	int64_t words;
	bool in_memory, pinned;
};

struct search {
	struct enpuc_core *core;
	const struct cnn_segment *seg;	/* NULL: all values go through memory */
	struct enpuc_schedule *out;
	int *steps, n_steps, step;	/* leading nodes of units */
	struct resident map[RESIDENTS];
	int maps;
	int64_t commands;		/* of the program so far */
	uint64_t cycles;
};

static int root_of(const struct search *s, int value)
{
	const int *owner = s->core->base.compile->owner;

	while (s->seg && owner && owner[value] != value)
		value = owner[value];
	return value;
}

static bool reads(const struct search *s, const struct enpuc_layer *l, int root)
{
	if (root_of(s, l->in) == root)
		return true;
	for (int i = 0; i < l->stages; i++)
		if (l->stage[i].b >= 0 && root_of(s, l->stage[i].b) == root)
			return true;
	return false;
}

/* Steps until a map is read again; INT32_MAX: it is not. */
static int next_use(const struct search *s, int root)
{
	for (int i = s->step + 1; i < s->n_steps; i++)
		if (reads(s, &s->core->nodes[s->steps[i]].layer, root))
			return i - s->step;
	return INT32_MAX;
}

static int count_uses(const struct search *s, int root)
{
	int uses = 0;

	for (int i = s->step + 1; i < s->n_steps; i++)
		uses += reads(s, &s->core->nodes[s->steps[i]].layer, root);
	return uses;
}

/* Does anything outside the segment read what lies in the memory of a value? */
static bool is_wanted_outside(const struct search *s, int root)
{
	const struct cnn_compile *compile = s->core->base.compile;
	const struct cnn_graph *g = compile->g;

	if (!s->seg || compile->no_residency)
		return true;
	for (int v = 0; v < g->n_values; v++) {
		const struct cnn_value *val = &g->values[v];

		if (root_of(s, v) != root)
			continue;
		if (val->is_output)
			return true;
		for (int i = 0; i < val->n_consumers; i++)
			if (compile->out->nodes[val->consumers[i]].segment !=
			    compile->out->nodes[s->seg->nodes[0]].segment)
				return true;
	}
	return false;
}

/* ---- room in the DTCMs ---- */

/* The first map of a memory from a word on, or NULL. */
static const struct resident *map_from(const struct search *s, uint32_t memory, int64_t word)
{
	const struct resident *first = NULL;

	for (int i = 0; i < s->maps; i++)
		if (s->map[i].at.memory == memory && s->map[i].at.word >= word &&
		    (!first || s->map[i].at.word < first->at.word))
			first = &s->map[i];
	return first;
}

/* The smallest gap that holds so many words: at its end that is farther from the word @from. */
static bool find_room(const struct search *s, uint32_t memory, int64_t words, int64_t from,
		      struct enpuc_place *at)
{
	int64_t end = s->core->hw.words[memory], least = INT64_MAX;

	for (int64_t word = 0; word <= end;) {
		const struct resident *next = map_from(s, memory, word);
		int64_t stop = next ? next->at.word : end;

		if (stop - word >= words && stop - word < least) {
			least = stop - word;
			at->memory = memory;
			at->word = word >= from ? stop - words : word;
		}
		if (!next)
			break;
		word = next->at.word + next->words;
	}
	return least < INT64_MAX;
}

static bool add_map(struct search *s, const struct resident *map)
{
	if (s->maps == RESIDENTS)
		return false;
	s->map[s->maps++] = *map;
	return true;
}

/* Room for a map, in the memory @first if possible, or @other unless that is the same. */
static struct resident *place(struct search *s, int value, int64_t words, uint32_t first,
			      uint32_t other, int64_t from)
{
	struct resident map = { .value = value, .words = words, .pinned = true };

	if (!find_room(s, first, words, from, &map.at) &&
	    (other == first || !find_room(s, other, words, from, &map.at)))
		return NULL;
	return add_map(s, &map) ? &s->map[s->maps - 1] : NULL;
}

static struct resident *find_map(struct search *s, int value, enum enpuc_repeat repeat)
{
	for (int i = 0; i < s->maps; i++)
		if (s->map[i].value == value && s->map[i].repeat == repeat)
			return &s->map[i];
	return NULL;
}

/* ---- binding of a layer ---- */

struct binding {
	struct enpuc_binding bind;
	int loads[ENPUC_STAGES + 1], n_loads;	/* indices of maps that have to be loaded */
	int results[ENPUC_STAGES], n_results;
};

static bool bind_input(struct search *s, struct binding *b, int value, int64_t words,
		       enum enpuc_repeat repeat, uint32_t first, struct enpuc_place *at)
{
	uint32_t other = first == CNNACC_ENPU_WORK ? CNNACC_ENPU_SKIP : CNNACC_ENPU_WORK;
	struct resident *map = find_map(s, value, repeat);

	if (!map) {
		map = place(s, value, words, first, other, INT64_MAX);
		if (!map)
			return false;
		map->repeat = repeat;
		map->in_memory = true;
		b->loads[b->n_loads++] = (int)(map - s->map);
	}
	map->pinned = true;
	*at = map->at;
	return true;
}

/* Adds a map in the place of one whose last read is in this step. */
static struct resident *replace(struct search *s, int value, int old, enum enpuc_repeat repeat,
				int64_t words)
{
	const struct resident *map = find_map(s, old, repeat);
	struct resident own;

	if (!map || map->words != words ||
	    (repeat == ENPUC_WHOLE && next_use(s, old) < INT32_MAX))
		return NULL;
	own = (struct resident){ .value = value, .at = map->at, .words = words, .pinned = true };
	return add_map(s, &own) ? &s->map[s->maps - 1] : NULL;
}

/*
 * The last result in the very place of map A of a pointwise layer, or of a second map: the core
 * has read each pixel before it writes it.
 */
static struct resident *place_over(struct search *s, const struct enpuc_layer *l, int value,
				   int64_t words)
{
	bool window = enpuc_uses(l->stage[0].opcode) & ENPUC_WINDOW;
	int in = root_of(s, l->in);
	struct resident *map = window ? NULL : replace(s, value, in, ENPUC_WHOLE, words);

	for (int i = 0; i < l->stages && !map; i++) {
		const struct enpuc_stage *st = &l->stage[i];

		if (st->b >= 0 && root_of(s, st->b) != in)
			map = replace(s, value, root_of(s, st->b), st->repeat, words);
	}
	return map;
}

static bool bind_result(struct search *s, struct binding *b, const struct enpuc_layer *l, int i)
{
	int value = root_of(s, l->stage[i].result);
	bool last = i == l->stages - 1;
	int64_t words = l->out_words;
	uint32_t first = last && count_uses(s, value) <= 1 ? CNNACC_ENPU_WORK : CNNACC_ENPU_SKIP;
	uint32_t other = last ? CNNACC_ENPU_WORK + CNNACC_ENPU_SKIP - first : first;
	struct resident *map = place(s, value, words, first, other,
				     first == b->bind.in.memory ? b->bind.in.word : INT64_MAX);

	if (!map && last && !l->concat && !l->order)
		map = place_over(s, l, value, words);
	if (!map)
		return false;
	b->results[b->n_results++] = (int)(map - s->map);
	if (map->at.memory == CNNACC_ENPU_WORK) {
		b->bind.has_out = true;
		b->bind.out = map->at;
	} else {
		b->bind.has_skip[i] = true;
		b->bind.skip[i] = map->at;
	}
	return true;
}

static bool try_bind(struct search *s, const struct enpuc_layer *l, struct binding *b)
{
	const int maps = s->maps;
	bool ok;

	*b = (struct binding){ .n_loads = 0 };
	ok = bind_input(s, b, root_of(s, l->in), l->hi * l->wi * enpuc_groups(l->ci), ENPUC_WHOLE,
			CNNACC_ENPU_WORK, &b->bind.in);
	for (int i = 0; i < l->stages && ok; i++)
		if (l->stage[i].b >= 0)
			ok = bind_input(s, b, root_of(s, l->stage[i].b),
					l->ho * l->wo * enpuc_groups(enpuc_second_channels(l, i)),
					l->stage[i].repeat, CNNACC_ENPU_SKIP, &b->bind.b[i]);
	for (int i = 0; i < l->stages && ok; i++)
		if (l->stage[i].stored || i == l->stages - 1)
			ok = bind_result(s, b, l, i);
	if (!ok)
		s->maps = maps;
	return ok;
}

bool enpuc_fits_whole(const struct enpuc_core *core, const struct enpuc_layer *l)
{
	struct enpuc_core own = *core;
	struct search s = { .core = &own };
	struct binding b;

	return try_bind(&s, l, &b);
}

/* ---- steps ---- */

static struct enpuc_action *add_action(struct search *s, enum enpuc_action_kind kind)
{
	struct enpuc_schedule *o = s->out;
	void *more = reallocarray(o->action, (size_t)o->count + 1, sizeof(*o->action));

	o->failed |= !more;
	if (!more)
		return NULL;
	o->action = more;
	o->action[o->count] = (struct enpuc_action){ .kind = kind, .node = s->steps[s->step] };
	return &o->action[o->count++];
}

static void add_move(struct search *s, enum enpuc_action_kind kind, const struct resident *map)
{
	struct enpuc_action *a = add_action(s, kind);

	s->commands += 3;
	s->cycles += 2 * (uint64_t)map->words + 64;
	if (!a)
		return;
	a->value = map->value;
	a->repeat = map->repeat;
	a->at = map->at;
	a->words = map->words;
}

static void remove_map(struct search *s, int i)
{
	s->map[i] = s->map[--s->maps];
}

static void store(struct search *s, struct resident *map)
{
	if (!map->in_memory)
		add_move(s, ENPUC_STORE, map);
	map->in_memory = true;
}

/* Makes room: evicts the map whose next read is furthest away, but none of the layer. */
static bool evict(struct search *s)
{
	int victim = -1, latest = -1;

	for (int i = 0; i < s->maps; i++) {
		int use = next_use(s, s->map[i].value);

		if (s->map[i].pinned || use < latest)
			continue;
		latest = use;
		victim = i;
	}
	if (victim < 0)
		return false;
	store(s, &s->map[victim]);
	remove_map(s, victim);
	return true;
}

/* Everything that is read from this step on goes to memory. */
static void flush(struct search *s)
{
	while (s->maps) {
		if (next_use(s, s->map[0].value) < INT32_MAX ||
		    reads(s, &s->core->nodes[s->steps[s->step]].layer, s->map[0].value))
			store(s, &s->map[0]);
		remove_map(s, 0);
	}
}

static void unpin(struct search *s)
{
	for (int i = 0; i < s->maps; i++)
		s->map[i].pinned = false;
}

static void pin_operands(struct search *s, const struct enpuc_layer *l)
{
	for (int i = 0; i < s->maps; i++)
		s->map[i].pinned = reads(s, l, s->map[i].value);
}

/* Drops maps without a further read in the segment. */
static void drop_dead(struct search *s)
{
	for (int i = s->maps - 1; i >= 0; i--)
		if (next_use(s, s->map[i].value) == INT32_MAX || s->map[i].repeat != ENPUC_WHOLE)
			remove_map(s, i);
}

static void add_run(struct search *s, const struct enpuc_node *n, const struct binding *b)
{
	struct enpuc_action *a;

	for (int i = 0; i < b->n_loads; i++)
		add_move(s, ENPUC_LOAD, &s->map[b->loads[i]]);
	a = add_action(s, ENPUC_RUN);
	if (a)
		a->bind = b->bind;
	s->commands += 5 * n->plan.pieces;
	for (int i = 0; i < b->n_results; i++) {
		struct resident *map = &s->map[b->results[i]];

		if (is_wanted_outside(s, map->value))
			store(s, map);
	}
}

/* A map that is read as if it were larger has to be in memory for that. */
static void store_repeated(struct search *s, const struct enpuc_layer *l)
{
	for (int i = 0; i < l->stages; i++) {
		struct resident *map = l->stage[i].b < 0 || l->stage[i].repeat == ENPUC_WHOLE ? NULL :
			find_map(s, root_of(s, l->stage[i].b), ENPUC_WHOLE);

		if (map)
			store(s, map);
	}
}

static uint64_t layer_cycles(const struct search *s, const struct enpuc_node *n)
{
	const struct enpuc_layer *l = &n->layer;
	struct enpuc_slab slab = enpuc_whole(l);
	uint64_t cycles = 0;

	for (int i = 0; i < n->plan.pieces; i++) {
		const struct enpuc_binding bind = { .has_out = true };
		struct enpuc_tile t;

		if (enpuc_find_tile(&s->core->hw, l, &n->plan.piece[i], &slab, &bind, &t))
			cycles += enpuc_layer_cost(&s->core->hw, l, &n->plan.piece[i], &slab, &bind,
						   &t).cycles + (uint64_t)n->plan.piece[i].words;
	}
	return 2 * cycles + 1024;
}

/* Ends the program before a layer that may be too much for it. */
static void cut_program(struct search *s, const struct enpuc_node *n)
{
	uint64_t cycles = n->plan.whole ? layer_cycles(s, n) : 0;
	int64_t commands = 5 * n->plan.pieces + 6 * ENPUC_STAGES + 3 * s->maps;

	if (s->commands + commands > s->core->hw.commands - MARGIN ||
	    s->cycles + cycles > s->core->hw.cycles_max / 2) {
		flush(s);
		add_action(s, ENPUC_CUT);
		s->commands = 0;
		s->cycles = 0;
	}
	s->cycles += cycles;
}

static void add_step(struct search *s)
{
	const struct enpuc_node *n = &s->core->nodes[s->steps[s->step]];
	struct binding b;
	bool bound = false;

	/* What is dead before this step has been dropped; what it reads stays. */
	cut_program(s, n);
	if (n->plan.whole) {
		store_repeated(s, &n->layer);
		pin_operands(s, &n->layer);
		do {
			bound = try_bind(s, &n->layer, &b);
		} while (!bound && evict(s));
	}
	if (bound) {
		add_run(s, n, &b);
	} else {
		flush(s);
		add_action(s, ENPUC_SLABS);
		s->commands = s->core->hw.commands;	/* it ends with a program of any length */
	}
	unpin(s);
	drop_dead(s);
}

static void add_steps(struct search *s)
{
	for (s->step = 0; s->step < s->n_steps && !s->out->failed; s->step++)
		add_step(s);
}

void enpuc_schedule_segment(struct enpuc_core *core, const struct cnn_segment *seg,
			    struct enpuc_schedule *out)
{
	struct search s = { .core = core, .seg = seg, .out = out };

	s.steps = calloc((size_t)seg->n_nodes + 1, sizeof(*s.steps));
	out->failed |= !s.steps;
	for (int i = 0; i < seg->n_nodes && s.steps; i++)
		if (core->nodes[seg->nodes[i]].layer.stages)
			s.steps[s.n_steps++] = seg->nodes[i];
	add_steps(&s);
	free(s.steps);
}

void enpuc_schedule_node(struct enpuc_core *core, int node, struct enpuc_schedule *out)
{
	struct search s = { .core = core, .out = out, .steps = &node, .n_steps = 1 };

	add_steps(&s);
}
