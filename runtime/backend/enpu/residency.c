// SPDX-License-Identifier: MIT
/* What stays in the DTCMs between the layers of a segment, and where. */
#include <stdlib.h>

#include "enpu.h"

#define RESIDENTS	64	/* maps at once, in both DTCMs */
#define MARGIN		32	/* commands of a program that actions do not count */

/* A map in a DTCM.  One may be part of another's words, and there may be others between its own. */
struct resident {
	int value;			/* whose memory it would be in */
	enum enpuc_repeat repeat;	/* as which it has been loaded */
	struct enpuc_place at;
	int64_t words;			/* from the first to the last */
	int64_t pixel;			/* words of one, if at.step is not 0 */
	bool in_memory, pinned;
	bool reserved;			/* for a Concat, of which parts may be there */
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

/* The first map of a memory that ends behind a word, or NULL. */
static const struct resident *map_from(const struct search *s, uint32_t memory, int64_t word)
{
	const struct resident *first = NULL;

	for (int i = 0; i < s->maps; i++)
		if (s->map[i].at.memory == memory && s->map[i].at.word + s->map[i].words > word &&
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
		int64_t stop = next ? cnn_max(next->at.word, word) : end;

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

static bool overlap(const struct resident *a, const struct resident *b)
{
	return a->at.memory == b->at.memory && a->at.word < b->at.word + b->words &&
	       b->at.word < a->at.word + a->words;
}

static bool shares_words(const struct search *s, const struct resident *map)
{
	for (int i = 0; i < s->maps; i++)
		if (&s->map[i] != map && overlap(&s->map[i], map))
			return true;
	return false;
}

/* Adds a map in the place of one whose last read is in this step. */
static struct resident *replace(struct search *s, int value, int old, enum enpuc_repeat repeat,
				int64_t words)
{
	const struct resident *map = find_map(s, old, repeat);
	struct resident own;

	if (!map || map->words != words || map->at.step || shares_words(s, map) ||
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

/* ---- parts of a Concat in their places ---- */

/* Where a value belongs in the result of a later Concat. */
struct joint {
	int value;			/* of the result */
	int64_t words, before, step;	/* of the result; before the part; of a pixel */
};

/* Which part of a Concat is a value? -1: none, or several. */
static int find_part(const struct search *s, const struct enpuc_layer *l, int value)
{
	int found = -1, count = 0;

	for (int i = 0; i < l->stages; i++)
		if (root_of(s, i ? l->stage[i].b : l->in) == value) {
			found = i;
			count++;
		}
	return count == 1 ? found : -1;
}

static bool find_joint(const struct search *s, int value, struct joint *j)
{
	for (int i = s->step + 1; i < s->n_steps; i++) {
		const struct enpuc_node *n = &s->core->nodes[s->steps[i]];
		const struct enpuc_layer *l = &n->layer;
		int part = l->concat && n->plan.whole ? find_part(s, l, value) : -1;

		if (part < 0)
			continue;
		*j = (struct joint){
			.value = root_of(s, l->stage[l->stages - 1].result), .words = l->out_words,
			.before = enpuc_words_before(l, part), .step = enpuc_groups(l->co),
		};
		return true;
	}
	return false;
}

/* Does another value have the same memory, under another name? */
static bool has_names(const struct search *s, int root)
{
	for (int v = 0; s->seg && v < s->core->base.compile->g->n_values; v++)
		if (v != root && root_of(s, v) == root)
			return true;
	return false;
}

/* Does a result in these words overlap what its layer reads? */
static bool is_read_there(const struct search *s, const struct resident *result)
{
	for (int i = 0; i < s->maps; i++)
		if (s->map[i].pinned && !s->map[i].reserved && overlap(&s->map[i], result))
			return true;
	return false;
}

/*
 * The result of a stage in its place in that of a later Concat, for which there is room: in the
 * skip DTCM, unless it is the last stage.
 */
static struct resident *place_part(struct search *s, const struct enpuc_layer *l, int i,
				   const struct enpuc_place *in)
{
	bool last = i == l->stages - 1;
	uint32_t first = last ? CNNACC_ENPU_WORK : CNNACC_ENPU_SKIP;
	int value = root_of(s, l->stage[i].result);
	struct resident part = { .value = value, .pixel = enpuc_groups(l->co), .pinned = true };
	const struct resident *whole;
	struct joint j;

	if (l->concat || l->order || l->slice || !find_joint(s, value, &j) || has_names(s, value))
		return NULL;
	whole = find_map(s, j.value, ENPUC_WHOLE);
	if (!whole) {
		struct resident *own = place(s, j.value, j.words, first, CNNACC_ENPU_SKIP,
					     first == in->memory ? in->word : INT64_MAX);

		if (!own)
			return NULL;
		own->in_memory = own->reserved = true;
		whole = own;
	}
	part.at = whole->at;
	part.at.word += j.before;
	part.at.step = j.step > part.pixel ? j.step : 0;
	part.words = (l->ho * l->wo - 1) * j.step + part.pixel;
	if ((!last && part.at.memory != CNNACC_ENPU_SKIP) || is_read_there(s, &part) ||
	    !add_map(s, &part))
		return NULL;
	return &s->map[s->maps - 1];
}

/* Is each part that is in the words of a Concat's result in its place there? */
static bool are_parts_in_place(const struct search *s, const struct enpuc_layer *l,
			       const struct resident *whole)
{
	for (int i = 0; i < s->maps; i++) {
		const struct resident *map = &s->map[i];
		int part = find_part(s, l, map->value);
		int64_t step = map->at.step;

		if (!map->pinned || map->reserved || !overlap(map, whole))
			continue;
		if (part < 0 || map->at.word != whole->at.word + enpuc_words_before(l, part))
			return false;
		step = step ? step : enpuc_groups(enpuc_second_channels(l, part));
		if (step != enpuc_groups(l->co))
			return false;
	}
	return true;
}

/* The words that are reserved for the result of a Concat; if there are none of use, NULL. */
static struct resident *find_reserved(struct search *s, const struct enpuc_layer *l, int value)
{
	struct resident *whole = find_map(s, value, ENPUC_WHOLE);

	if (!whole || are_parts_in_place(s, l, whole))
		return whole;
	/* A map that is not in its place lies there: the words are given up, and never stored. */
	whole->value = -1;
	whole->reserved = false;
	return NULL;
}

static struct resident *place_result(struct search *s, const struct enpuc_layer *l, int i,
				     const struct enpuc_place *in)
{
	int value = root_of(s, l->stage[i].result);
	bool last = i == l->stages - 1;
	uint32_t first = last && count_uses(s, value) <= 1 ? CNNACC_ENPU_WORK : CNNACC_ENPU_SKIP;
	uint32_t other = last ? CNNACC_ENPU_WORK + CNNACC_ENPU_SKIP - first : first;
	struct resident *map = l->concat ? find_reserved(s, l, value) :
					   place_part(s, l, i, in);

	if (!map)
		map = place(s, value, l->out_words, first, other,
			    first == in->memory ? in->word : INT64_MAX);
	if (!map && last && !l->concat && !l->order)
		map = place_over(s, l, value, l->out_words);
	return map;
}

static bool bind_result(struct search *s, struct binding *b, const struct enpuc_layer *l, int i)
{
	struct resident *map = place_result(s, l, i, &b->bind.in);

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
	/* A Slice is loaded out of it. */
	ok = l->slice || bind_input(s, b, root_of(s, l->in),
				    l->hi * l->wi * enpuc_groups(l->ci), ENPUC_WHOLE,
				    CNNACC_ENPU_WORK, &b->bind.in);
	for (int i = 0; i < l->stages && ok; i++)
		if (l->stage[i].b >= 0)
			ok = bind_input(s, b, root_of(s, l->stage[i].b),
					enpuc_second_rows(l, i) * l->wo *
						enpuc_groups(enpuc_second_channels(l, i)),
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
	s->cycles += 4 * (uint64_t)map->words + 64;
	if (!a)
		return;
	a->value = map->value;
	a->repeat = map->repeat;
	a->at = map->at;
	a->words = map->words;
	a->pixel = map->pixel;
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

/*
 * Makes room: removes the map whose next read is furthest away, and stores it if memory lacks it.
 * Maps that the layer reads or writes are pinned, and stay.
 */
static bool evict(struct search *s)
{
	int victim = -1, latest = -1;

	for (int i = 0; i < s->maps; i++) {
		int use = s->map[i].reserved ? INT32_MAX : next_use(s, s->map[i].value);

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
		if (!s->map[i].reserved && (next_use(s, s->map[i].value) == INT32_MAX ||
					    s->map[i].repeat != ENPUC_WHOLE))
			remove_map(s, i);
}

/* Is not every piece of it in its place? */
static bool needs_run(const struct enpuc_node *n, const struct enpuc_binding *b)
{
	for (int i = 0; i < n->plan.pieces; i++)
		if (!enpuc_is_in_place(&n->layer, &n->plan.piece[i], b))
			return true;
	return false;
}

static void add_run(struct search *s, const struct enpuc_node *n, const struct binding *b)
{
	struct enpuc_action *a;

	for (int i = 0; i < b->n_loads; i++)
		add_move(s, ENPUC_LOAD, &s->map[b->loads[i]]);
	a = needs_run(n, &b->bind) ? add_action(s, ENPUC_RUN) : NULL;
	if (a)
		a->bind = b->bind;
	s->commands += 5 * n->plan.pieces;
	for (int i = 0; i < b->n_results; i++) {
		struct resident *map = &s->map[b->results[i]];

		if (map->reserved)
			map->reserved = map->in_memory = false;
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

/* Binds a layer that fits the DTCMs as a whole, if it has them for itself and no gaps in maps. */
static bool bind_whole(struct search *s, const struct enpuc_layer *l, struct binding *b)
{
	bool bound;

	store_repeated(s, l);
	pin_operands(s, l);
	do {
		bound = try_bind(s, l, b);
	} while (!bound && evict(s));
	if (bound)
		return true;
	flush(s);
	return try_bind(s, l, b);
}

/* ---- Slice ---- */

/* The words of a map in a DTCM that are a Slice of it, as another map; false: they are none. */
static bool find_view(const struct enpuc_layer *l, const struct resident *from,
		      struct resident *view)
{
	int64_t pixels = l->ho * l->wo, step;
	struct cnn_pixels in;

	cnn_layout_pixels(&l->in_layout, &in);
	if (l->from[CNN_DIM_CHANNELS] % ENPUC_WORD || (l->wo != in.columns && l->ho > 1))
		return false;
	step = from->at.step ? from->at.step : in.column_pitch / ENPUC_WORD;
	*view = (struct resident){ .at = from->at, .pixel = enpuc_groups(l->co) };
	view->at.word += ((l->from[CNN_DIM_BATCH] * in.rows + l->from[CNN_DIM_ROWS]) * in.columns +
			  l->from[CNN_DIM_COLUMNS]) * step + l->from[CNN_DIM_CHANNELS] / ENPUC_WORD;
	view->at.step = step > view->pixel ? step : 0;
	view->words = (pixels - 1) * step + view->pixel;
	return true;
}

/* Loads the result of a Slice out of its input in memory. */
static struct resident *load_slice(struct search *s, const struct enpuc_layer *l, int value)
{
	struct resident *map;

	do {
		map = place(s, value, l->out_words, CNNACC_ENPU_WORK, CNNACC_ENPU_SKIP, INT64_MAX);
	} while (!map && evict(s));
	if (map)
		add_move(s, ENPUC_SLICE, map);
	return map;
}

static void add_slice(struct search *s, const struct enpuc_layer *l)
{
	int value = root_of(s, l->stage[0].result);
	struct resident *from = find_map(s, root_of(s, l->in), ENPUC_WHOLE), *map = NULL, view;

	if (from && !has_names(s, value) && find_view(l, from, &view)) {
		view.value = value;
		map = add_map(s, &view) ? &s->map[s->maps - 1] : NULL;
	}
	if (!map && from)
		store(s, from);
	map = map ? map : load_slice(s, l, value);
	if (map && is_wanted_outside(s, value))
		store(s, map);
}

/* ---- all steps ---- */

static void add_step(struct search *s)
{
	const struct enpuc_node *n = &s->core->nodes[s->steps[s->step]];
	struct binding b;

	/* What is dead before this step has been dropped; what it reads stays. */
	cut_program(s, n);
	if (n->plan.whole && n->layer.slice) {
		add_slice(s, &n->layer);
	} else if (n->plan.whole && bind_whole(s, &n->layer, &b)) {
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
