// SPDX-License-Identifier: MIT
/*
 * Chooses the layouts of values for all of their readers. A value, the outputs of nodes that only
 * rename it, what renames these, and so on, are a tree. Each of its values is in the arena in one
 * of a few layouts (its maker's, or one that a reader wants) or only on the host. A value that has
 * the layout of the one that it renames shares its memory; else the node between them moves it, on
 * the readers' core if that can, or on the host. Dynamic programming from the leaves to the root
 * finds the choice that costs least: these moves, changes of layout for readers that cannot read
 * what they get (as ConvertLayout nodes, later), and the host's part in reading and writing values.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define LAYOUTS_MAX	8
#define ON_HOST		LAYOUTS_MAX	/* state: not in the arena */
#define STATES		(LAYOUTS_MAX + 1)

struct branch {
	int value, parent;	/* parent: index in the tree, -1 of the root */
	int node;		/* that renames the parent's value */
	int state;		/* chosen */
	int memory;		/* the branch whose memory it has, if in the arena */
	int core;		/* that runs the first reader on a core, of its own or behind it */
	int maker;		/* core that makes it; until states are chosen: the root */
	int64_t ns[STATES];	/* least cost of it and all behind it, by its state */
};

struct tree {
	struct cnn_compiler *cc;
	struct branch *branches;	/* each behind its parent */
	int n, room;
	struct cnn_layout layouts[LAYOUTS_MAX];
	int n_layouts, n_wanted;	/* those behind the wanted ones are without their gaps */
	int maker;		/* the core that makes the root, or CNN_ON_CPU */
};

static const struct cnn_value *value_of(const struct tree *t, const struct branch *b)
{
	return &t->cc->compile.g->values[b->value];
}

static const struct cnn_node *node_of(const struct tree *t, int node)
{
	return &t->cc->compile.g->nodes[node];
}

static bool renames(const struct tree *t, int node, int value)
{
	return cnn_is_renaming(t->cc, node) && node_of(t, node)->in[0] == value;
}

/* ---- the tree ---------------------------------------------------------------------------- */

static bool add_branch(struct tree *t, int value, int parent, int node)
{
	if (t->n == t->room) {
		int room = t->room ? 2 * t->room : 4;
		struct branch *more = reallocarray(t->branches, (size_t)room, sizeof(*more));

		t->cc->no_memory |= !more;
		if (!more)
			return false;
		t->branches = more;
		t->room = room;
	}
	t->branches[t->n++] = (struct branch){
		.value = value, .parent = parent, .node = node, .core = CNN_ON_CPU,
		.maker = t->maker,
	};
	return true;
}

static bool grow(struct tree *t, int root)
{
	if (!add_branch(t, root, -1, -1))
		return false;
	for (int i = 0; i < t->n; i++) {
		const struct cnn_value *v = value_of(t, &t->branches[i]);
		int value = t->branches[i].value;

		t->cc->chosen[value] = true;
		for (int k = 0; k < v->n_consumers; k++)
			if (renames(t, v->consumers[k], value) &&
			    !add_branch(t, node_of(t, v->consumers[k])->out[0], i,
					v->consumers[k]))
				return false;
	}
	return true;
}

/* Layouts with the same places for all elements may be different: cores look at sizes, too. */
static void add_layout(struct tree *t, const struct cnn_layout *l)
{
	for (int i = 0; i < t->n_layouts; i++)
		if (!memcmp(&t->layouts[i], l, sizeof(*l)))
			return;
	if (t->n_layouts < LAYOUTS_MAX)
		t->layouts[t->n_layouts++] = *l;
}

/* The layout in which a node's unit wants a value; NULL: it does not read it from the arena. */
static const struct cnn_layout *find_wanted(const struct tree *t, int node, int value)
{
	int lead = t->cc->lead[node];

	for (int i = 0; lead >= 0 && i < t->cc->units[lead].n_in; i++)
		if (t->cc->units[lead].in[i].value == value)
			return &t->cc->units[lead].in[i].layout;
	return NULL;
}

static void add_wanted(struct tree *t, struct branch *b)
{
	const struct cnn_value *v = value_of(t, b);

	for (int k = 0; k < v->n_consumers; k++) {
		const struct cnn_layout *want = find_wanted(t, v->consumers[k], b->value);

		if (!want)
			continue;
		if (b->core < 0)
			b->core = cnn_claiming_core(t->cc, v->consumers[k]);
		add_layout(t, want);
	}
}

/* What the host makes it need not change if a core reads it as it is. */
static void add_dense(struct tree *t)
{
	struct cnn_layout dense;

	for (int i = 0; i < t->n_wanted; i++)
		if (cnn_layout_without_gaps(&t->layouts[i], &dense))
			add_layout(t, &dense);
}

/*
 * The root's own layout comes first, then those wanted by its readers, then by those behind it, and
 * then if the host makes the root the same without gaps.
 */
static void list_layouts(struct tree *t)
{
	const struct cnn_slot *slot = &t->cc->compile.out->slots[t->branches[0].value];

	if (slot->used)
		add_layout(t, &slot->layout);
	for (int i = 0; i < t->n; i++)
		add_wanted(t, &t->branches[i]);
	for (int i = t->n - 1; i > 0; i--)
		if (t->branches[t->branches[i].parent].core < 0)
			t->branches[t->branches[i].parent].core = t->branches[i].core;
	t->n_wanted = t->n_layouts;
	if (!slot->used)
		add_dense(t);
}

/* ---- costs ------------------------------------------------------------------------------- */

static int64_t copy_ns(const struct tree *t, const struct branch *b, bool rearranged)
{
	const struct cnn_tensor *x = &value_of(t, b)->t;

	return cnn_copy_cost_ns(t->cc->target, cnn_tensor_bytes(x), cnn_tensor_count(x),
				rearranged);
}

/* The host reads or writes a value as a dense tensor: nothing if it works in the arena itself. */
static int64_t host_ns(const struct tree *t, const struct branch *b, int state)
{
	return cnn_layout_dense(&t->layouts[state]) ? 0 : copy_ns(t, b, true);
}

/*
 * The host moves a value from where it is, the arena if a core made it, to a layout in the arena;
 * between two segments if that core reads it.
 */
static int64_t host_move_ns(const struct tree *t, const struct branch *b, int state,
			    const struct cnn_layout *to, int core)
{
	const struct cnn_target *target = t->cc->target;
	bool same = b->maker < 0 || state == ON_HOST ? cnn_layout_dense(to) :
				   cnn_layout_equal(&t->layouts[state], to);
	bool between = core >= 0 && b->maker == core;

	return cnn_add_sat(copy_ns(t, b, !same), target->op_ns + (between ? target->submit_ns : 0));
}

/* The cycles in which a core changes a value's layout; reason: NULL: it is only asked. */
static uint64_t core_cycles(const struct tree *t, int core, int node, const struct cnn_node_io *in,
			    const struct cnn_node_io *out, char *reason)
{
	struct cnn_backend *c = core < 0 ? NULL : t->cc->cores[core];

	return c && c->ops->convert && !in->layout.codes ?
		       c->ops->convert(c, node, in, out, reason) : 0;
}

/* A change of layout for a reader: by its core or by the host. */
static int64_t change_ns(const struct tree *t, const struct branch *b, int node, int state,
			 const struct cnn_layout *want)
{
	const struct cnn_node_io in = { .value = b->value, .layout = t->layouts[state] };
	const struct cnn_node_io out = { .value = b->value, .layout = *want };
	int core = cnn_claiming_core(t->cc, node);
	uint64_t cycles = core_cycles(t, core, node, &in, &out, NULL);
	int64_t host = host_move_ns(t, b, state, want, core);

	return cycles ? cnn_min(cnn_cycles_ns(t->cc->target, core, cycles), host) : host;
}

/* The changes of layout that the readers of a value share, as far as they are known. */
struct changes {
	struct cnn_layout to[LAYOUTS_MAX];
	int n;
};

/* What it costs that a unit reads a value: nothing, a change of layout, or that it cannot. */
static int64_t reader_ns(const struct tree *t, const struct branch *b, int node, int state,
			 struct changes *changes)
{
	int core = cnn_claiming_core(t->cc, node);
	const struct cnn_layout *want = find_wanted(t, node, b->value);
	struct cnn_layout read;

	if (!want)
		return 0;
	if (state == ON_HOST)
		return CNN_NEVER;
	read = *want;
	if (cnn_reads_layout(t->cc->cores[core], &t->layouts[state], &read))
		return state < t->n_wanted ? 0 :
		       cnn_slower_ns(t->cc, t->cc->lead[node], b->value, &t->layouts[state]);
	if (!t->cc->cores[core]->ops->converts)
		return cnn_cpu_cost_ns(t->cc->target, t->cc->compile.g, node_of(t, node));
	for (int i = 0; i < changes->n; i++)
		if (cnn_reads_layout(t->cc->cores[core], &changes->to[i], &read))
			return 0;
	if (changes->n < LAYOUTS_MAX)
		changes->to[changes->n++] = *want;
	return t->cc->may_convert ? change_ns(t, b, node, state, want) : CNN_NEVER;
}

static bool is_read_by_host(const struct tree *t, const struct branch *b)
{
	const struct cnn_value *v = value_of(t, b);

	for (int k = 0; k < v->n_consumers; k++)
		if (t->cc->lead[v->consumers[k]] < 0 && !renames(t, v->consumers[k], b->value) &&
		    !cnn_is_view_of_channels(t->cc->compile.g, node_of(t, v->consumers[k])))
			return true;
	return v->is_output;
}

/* Of the value itself, and of its readers. */
static int64_t own_ns(const struct tree *t, const struct branch *b, int state)
{
	const struct cnn_value *v = value_of(t, b);
	struct changes changes = { .n = 0 };
	int64_t ns = 0;

	for (int k = 0; k < v->n_consumers; k++)
		ns = cnn_add_sat(ns, reader_ns(t, b, v->consumers[k], state, &changes));
	if (state == ON_HOST)
		return ns;
	if (t->maker >= 0 ? is_read_by_host(t, b) : b->parent < 0)
		ns = cnn_add_sat(ns, host_ns(t, b, state));
	return ns;
}

/* The core of all units that read a value, or CNN_ON_CPU; of renaming nodes it may have some. */
static int readers_core(const struct tree *t, const struct branch *b, const struct cnn_layout *as)
{
	const struct cnn_value *v = value_of(t, b);
	int core = b->core;

	for (int k = 0; k < v->n_consumers; k++) {
		const struct cnn_layout *want = find_wanted(t, v->consumers[k], b->value);
		struct cnn_layout read;

		if (renames(t, v->consumers[k], b->value))
			continue;
		if (!want || cnn_claiming_core(t->cc, v->consumers[k]) != core)
			return CNN_ON_CPU;
		read = *want;
		if (as && !cnn_reads_layout(t->cc->cores[core], as, &read))
			return CNN_ON_CPU;
	}
	return v->is_output ? CNN_ON_CPU : core;
}

static bool is_view(const struct tree *t, const struct branch *b, int state, struct cnn_layout *as)
{
	return t->branches[b->parent].maker >= 0 &&
	       node_of(t, b->node)->op != CNN_OP_CONVERT_LAYOUT &&
	       cnn_layout_seen_as(&value_of(t, b)->t, &t->layouts[state], as);
}

/* The core that a renaming node is on if its output shares memory; CNN_ON_CPU: it cannot. */
static int sharing_core(const struct tree *t, const struct branch *b, int state)
{
	struct cnn_layout as;

	if (state == ON_HOST || t->layouts[state].codes)
		return CNN_ON_CPU;
	return is_view(t, b, state, &as) ? t->branches[b->parent].maker :
					   readers_core(t, b, &t->layouts[state]);
}

/* A way from the layout of a value to that of the one that renames it. */
struct move {
	int64_t ns, other_ns;	/* other_ns: on the host, or by the core; CNN_NEVER: not at all */
	int core;		/* CNN_ON_CPU: the host moves it */
};

/* reason: NULL: the core is only asked; else it is told, if that is best. */
static struct move find_move(const struct tree *t, const struct branch *b, int from, int to,
			     char *reason)
{
	const struct branch *parent = &t->branches[b->parent];
	const struct cnn_node_io in = { .value = parent->value,
					.layout = t->layouts[from == ON_HOST ? 0 : from] };
	const struct cnn_node_io out = { .value = b->value, .layout = t->layouts[to] };
	int core = readers_core(t, b, NULL);
	uint64_t cycles = from == ON_HOST ? 0 : core_cycles(t, core, b->node, &in, &out, NULL);
	struct move m = {
		host_move_ns(t, parent, from, &out.layout, b->core), CNN_NEVER, CNN_ON_CPU
	};
	int64_t ns = cycles ? cnn_cycles_ns(t->cc->target, core, cycles) : CNN_NEVER;

	if (ns <= m.ns && reason)
		core_cycles(t, core, b->node, &in, &out, reason);
	if (ns <= m.ns)
		return (struct move){ ns, m.ns, core };
	m.other_ns = ns;
	return m;
}

/* Is a layout any use for those that read a value? Else it would have to be changed once more. */
static bool is_useful(const struct tree *t, const struct branch *b, int state)
{
	const struct cnn_value *v = value_of(t, b);

	for (int k = 0; k < v->n_consumers; k++) {
		const struct cnn_layout *want = find_wanted(t, v->consumers[k], b->value);
		int core = cnn_claiming_core(t->cc, v->consumers[k]);
		struct cnn_layout read;

		if (renames(t, v->consumers[k], b->value))
			return true;
		if (!want)
			continue;
		read = *want;
		if (cnn_reads_layout(t->cc->cores[core], &t->layouts[state], &read))
			return true;
	}
	return false;
}

/* Of the node between a value in one state and the one that renames it in another. */
static int64_t node_ns(const struct tree *t, const struct branch *b, int from, int to)
{
	const struct branch *parent = &t->branches[b->parent];
	int64_t ns;

	if (from == to && from != ON_HOST)
		return sharing_core(t, b, from) >= 0 ? 0 : CNN_NEVER;
	if (to != ON_HOST)
		return is_useful(t, b, to) ? find_move(t, b, from, to, NULL).ns : CNN_NEVER;
	ns = cnn_cpu_cost_ns(t->cc->target, t->cc->compile.g, node_of(t, b->node));
	if (t->maker < 0 || from == ON_HOST)
		return ns;
	if (b->core == t->maker)
		ns = cnn_add_sat(ns, t->cc->target->submit_ns);
	return cnn_add_sat(ns, host_ns(t, parent, from));
}

/* ---- the choice -------------------------------------------------------------------------- */

static bool is_state(const struct tree *t, int state)
{
	return state < t->n_layouts || state == ON_HOST;
}

/* The state that costs least if the value's parent has state from, which is tried first. */
static int best_state(const struct tree *t, const struct branch *b, int from, int64_t *ns)
{
	int best = from;

	*ns = cnn_add_sat(b->ns[from], node_ns(t, b, from, from));
	for (int s = 0; s < STATES; s++) {
		int64_t other;

		if (s == from || !is_state(t, s) || b->ns[s] >= *ns)
			continue;
		other = cnn_add_sat(b->ns[s], node_ns(t, b, from, s));
		if (other >= *ns)
			continue;
		*ns = other;
		best = s;
	}
	return best;
}

static void add_costs(struct tree *t)
{
	for (int i = t->n - 1; i >= 0; i--) {
		struct branch *b = &t->branches[i];

		for (int s = 0; s < STATES; s++)
			if (is_state(t, s))
				b->ns[s] = cnn_add_sat(b->ns[s], own_ns(t, b, s));
		for (int s = 0; s < STATES && i; s++) {
			int64_t ns;

			if (!is_state(t, s))
				continue;
			best_state(t, b, s, &ns);
			t->branches[b->parent].ns[s] =
				cnn_add_sat(t->branches[b->parent].ns[s], ns);
		}
	}
}

static void choose_states(struct tree *t)
{
	struct branch *root = &t->branches[0];
	int64_t ns;

	/* What is in the arena stays as it is: its own layout is the first. */
	root->state = t->n_layouts ? 0 : ON_HOST;
	for (int s = 0; s < STATES && !t->cc->compile.out->slots[root->value].used; s++)
		if (is_state(t, s) && root->ns[s] < root->ns[root->state])
			root->state = s;
	for (int i = 1; i < t->n; i++) {
		struct branch *b = &t->branches[i];
		int from = t->branches[b->parent].state;

		b->state = best_state(t, b, from, &ns);
		b->maker = b->state == ON_HOST ? CNN_ON_CPU :
			   b->state != from ? find_move(t, b, from, b->state, NULL).core :
					      t->branches[b->parent].maker;
	}
}

/* ---- and what follows from it ------------------------------------------------------------ */

static bool shares(const struct tree *t, const struct branch *b)
{
	return b->parent >= 0 && b->state != ON_HOST &&
	       b->state == t->branches[b->parent].state;
}

/*
 * What the host makes is written where its readers on cores have it: the memory is that of the last
 * value which shares it, unless they read the first one itself.
 */
static void find_memory(struct tree *t)
{
	int last = 0;

	for (int i = 0; i < t->n; i++)
		t->branches[i].memory = shares(t, &t->branches[i]) ?
						t->branches[t->branches[i].parent].memory : i;
	if (t->cc->compile.out->slots[t->branches[0].value].used ||
	    t->branches[0].state == ON_HOST)
		return;
	for (int k = 0; k < value_of(t, &t->branches[0])->n_consumers; k++)
		if (find_wanted(t, value_of(t, &t->branches[0])->consumers[k],
				t->branches[0].value))
			return;
	for (int i = 1; i < t->n; i++)
		if (shares(t, &t->branches[i]) && t->branches[i].parent == last)
			last = i;
	for (int i = 0; i < t->n; i++)
		if (t->branches[i].memory == 0)
			t->branches[i].memory = last;
}

static void take_slot(struct tree *t, struct branch *b)
{
	struct cnn_node_io io = { .value = b->value, .layout = t->layouts[b->state] };

	if (shares(t, b))
		is_view(t, b, b->state, &io.layout);
	if (&t->branches[b->memory] == b)
		cnn_use_slot(t->cc, &io);
	else
		cnn_share_slot(t->cc, &io, t->branches[b->memory].value);
}

static void place_between(struct tree *t, const struct branch *b)
{
	struct cnn_placement *p = &t->cc->compile.out->nodes[b->node];
	int from = t->branches[b->parent].state;
	char reason[CNN_REASON_LEN];
	struct move m;

	if (shares(t, b)) {
		p->core = sharing_core(t, b, b->state);
		cnn_reject(p->reason, "%s: renames a value in the arena",
			   node_of(t, b->node)->op_type);
		return;
	}
	if (b->state == ON_HOST)
		return;
	m = find_move(t, b, from, b->state, reason);
	if (m.other_ns < CNN_NEVER) {
		p->next_core = m.core < 0 ? readers_core(t, b, NULL) : CNN_ON_CPU;
		p->next_ns = m.other_ns;
	}
	p->core = m.core;
	if (m.core >= 0)
		memcpy(p->reason, reason, sizeof(reason));
}

static void apply(struct tree *t)
{
	find_memory(t);
	for (int i = 0; i < t->n; i++)
		if (t->branches[i].memory == i && t->branches[i].state != ON_HOST)
			take_slot(t, &t->branches[i]);
	for (int i = 0; i < t->n; i++) {
		if (t->branches[i].memory != i && t->branches[i].state != ON_HOST)
			take_slot(t, &t->branches[i]);
		if (i)
			place_between(t, &t->branches[i]);
	}
}

static int find_root(const struct cnn_compiler *cc, int value)
{
	const struct cnn_graph *g = cc->compile.g;

	while (g->values[value].producer >= 0 && cnn_is_renaming(cc, g->values[value].producer))
		value = g->nodes[g->values[value].producer].in[0];
	return value;
}

void cnn_choose_layouts(struct cnn_compiler *cc, int value)
{
	int root = find_root(cc, value), maker = cc->compile.g->values[root].producer;
	struct tree t = {
		.cc = cc,
		.maker = maker >= 0 && cc->compile.out->slots[root].used ?
				 cc->compile.out->nodes[maker].core : CNN_ON_CPU,
	};

	if (cc->chosen[value])
		return;
	if (grow(&t, root) && (t.n > 1 || !cc->compile.out->slots[root].used)) {
		list_layouts(&t);
		add_costs(&t);
		choose_states(&t);
		apply(&t);
	}
	free(t.branches);
}
