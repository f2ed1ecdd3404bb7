// SPDX-License-Identifier: MIT
/*
 * Gives values their layouts in the arena, and puts a ConvertLayout into the graph where a node
 * cannot read the layout that a value has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/rewrite.h"
#include "internal.h"

/* Gives an input the layout that its value has, if a node on the core can read that. */
static bool reads(const struct cnn_backend *core, const struct cnn_layout *has,
		  struct cnn_node_io *io)
{
	return core->ops->reads ? core->ops->reads(has, &io->layout) :
				  cnn_layout_equal(has, &io->layout);
}

/* The conversion of io's value that fits it, or a new one; NULL: there is none, and may be none. */
static struct cnn_conversion *find_conversion(struct cnn_compiler *cc,
					      const struct cnn_backend *core,
					      struct cnn_node_io *io)
{
	for (int i = 0; i < cc->n_conversions; i++)
		if (cc->conversions[i].value == io->value &&
		    reads(core, &cc->conversions[i].layout, io))
			return &cc->conversions[i];
	return cc->conversions && core->ops->converts ? &cc->conversions[cc->n_conversions] : NULL;
}

bool cnn_fit_layout(struct cnn_compiler *cc, const struct cnn_backend *core, struct cnn_node_io *io,
		    char *reason)
{
	const struct cnn_value *v = &cc->compile.g->values[io->value];
	const struct cnn_slot *slot = &cc->compile.out->slots[io->value];
	char shape[80];

	if (!slot->used || reads(core, &slot->layout, io) || find_conversion(cc, core, io))
		return true;
	return cnn_reject(reason, "input %.40s %s: the core cannot read its layout in the arena",
			  v->name, cnn_tensor_describe(&v->t, shape, sizeof(shape)));
}

void cnn_share_slot(struct cnn_compiler *cc, const struct cnn_node_io *io, int of)
{
	const struct cnn_slot *slots = cc->compile.out->slots;

	cnn_use_slot(cc, io);
	cc->compile.owner[io->value] = cc->compile.owner[of];
	/* Relative to the owner, which has no offset yet. */
	if (cc->compile.owner[of] != of)
		cc->compile.out->slots[io->value].offset = slots[of].offset;
}

/* The first node of a unit that reads a value. */
static int first_reader(const struct cnn_unit *u, int value)
{
	for (int i = 0; i < u->n_nodes; i++) {
		const struct cnn_node *n = &u->g->nodes[u->nodes[i]];

		for (int k = 0; k < n->n_in; k++)
			if (n->in[k] == value)
				return u->nodes[i];
	}
	return u->nodes[0];
}

void cnn_assign_layout(struct cnn_compiler *cc, const struct cnn_backend *core,
		       const struct cnn_unit *unit, const struct cnn_node_io *io)
{
	const struct cnn_slot *slot = &cc->compile.out->slots[io->value];
	struct cnn_node_io same = *io;
	struct cnn_conversion *c;

	if (!slot->used || reads(core, &slot->layout, &same)) {
		cnn_use_slot(cc, io);
		return;
	}
	c = find_conversion(cc, core, &same);
	if (c == &cc->conversions[cc->n_conversions]) {
		cc->n_conversions++;
		*c = (struct cnn_conversion){
			io->value, first_reader(unit, io->value), io->layout,
		};
	}
	cc->readers[cc->n_readers++] =
		(struct cnn_reader){ unit->nodes[0], (int)(c - cc->conversions) };
}

/* The value in the layout of a conversion, made before the first node that reads it. */
static int insert(struct cnn_graph *g, const struct cnn_conversion *c, int at, struct cnn_err *err)
{
	const struct cnn_value *from = &g->values[c->value];
	struct cnn_tensor t = from->t;
	char name[128];
	int v;

	t.data = NULL;
	t.owned = false;
	snprintf(name, sizeof(name), "%.100s_%d", from->name, g->n_values);
	v = cnn_graph_add_value(g, name, &t, err);
	if (v < 0)
		return v;
	return cnn_rewrite_insert(g, at, CNN_OP_CONVERT_LAYOUT, c->value, v, err) ?: v;
}

/* The nodes of a unit read another value. */
static void redirect(struct cnn_graph *g, const struct cnn_unit *u, int from, int to)
{
	for (int i = 0; i < u->n_nodes; i++) {
		struct cnn_node *n = &g->nodes[u->nodes[i]];

		for (int k = 0; k < n->n_in; k++)
			if (n->in[k] == from)
				n->in[k] = to;
	}
}

int cnn_insert_conversions(struct cnn_compiler *cc, struct cnn_graph *g)
{
	int values = g->n_values;

	for (int i = 0; i < cc->n_readers; i++) {
		int c = cc->readers[i].conversion;

		redirect(g, &cc->units[cc->readers[i].lead], cc->conversions[c].value,
			 values + cc->n_conversions - 1 - c);
	}
	/* The last first, so that the nodes before it keep their places. */
	for (int i = cc->n_conversions - 1; i >= 0; i--) {
		int v = insert(g, &cc->conversions[i], cc->conversions[i].reader, cc->compile.err);

		if (v < 0)
			return v;
	}
	return cnn_graph_link(g, cc->compile.err);
}

/* ---- on a core --------------------------------------------------------------------------- */

int cnn_matching_core(struct cnn_compiler *cc, int node, struct cnn_unit *unit)
{
	char reason[CNN_REASON_LEN];

	*unit = (struct cnn_unit){ 0 };
	for (int i = 0; i < cc->n_cores; i++) {
		if (!cc->cores[i] || !cnn_may_be_on(&cc->compile.g->nodes[node], i))
			continue;
		cnn_unit_init(unit, cc->compile.g, cc->lead, CNN_PLACE_CORE(i), node);
		if (cc->cores[i]->ops->match(cc->cores[i], unit, reason))
			return i;
		cnn_unit_free(unit);
	}
	return CNN_ON_CPU;
}

/* The layout in which a unit wants a value; NULL: it does not read it from the arena. */
static const struct cnn_layout *find_wanted(const struct cnn_unit *u, int v)
{
	for (int i = 0; i < u->n_in; i++)
		if (u->in[i].value == v)
			return &u->in[i].layout;
	return NULL;
}

/* The layout in which the first reader wants a value, and the core that runs all of them. */
static int wanted_layout(struct cnn_compiler *cc, int v, struct cnn_layout *l)
{
	const struct cnn_value *val = &cc->compile.g->values[v];
	int core = CNN_ON_CPU;

	for (int i = 0; i < val->n_consumers; i++) {
		struct cnn_unit u;
		int c = cnn_matching_core(cc, val->consumers[i], &u);
		const struct cnn_layout *wanted = find_wanted(&u, v);
		bool same = wanted && (!i || c == core);

		core = c;
		if (same && !i)
			*l = *wanted;
		cnn_unit_free(&u);
		if (!same)
			return CNN_ON_CPU;
	}
	return val->is_output ? CNN_ON_CPU : core;
}

/* What the host takes to move the value, between two segments if the core makes it, too. */
static int64_t host_cost(const struct cnn_compiler *cc, int v, int core)
{
	const struct cnn_value *val = &cc->compile.g->values[v];
	int64_t ns = cnn_copy_cost_ns(cc->target, cnn_tensor_bytes(&val->t),
				      cnn_tensor_count(&val->t), true);
	bool between = val->producer >= 0 && cc->compile.out->nodes[val->producer].core == core;

	return cnn_add_sat(ns, cc->target->op_ns + (between ? cc->target->submit_ns : 0));
}

/* Could nodes of a core that want an output read the input in its place? */
static bool is_readable_as(const struct cnn_compiler *cc, int core, const struct cnn_node_io *in,
			   struct cnn_node_io out)
{
	return reads(cc->cores[core], &in->layout, &out);
}

bool cnn_place_conversion(struct cnn_compiler *cc, int node, int *core, char *reason)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	const struct cnn_slot *from = n->in[0] < 0 ? NULL : &cc->compile.out->slots[n->in[0]];
	struct cnn_node_io in, out;
	struct cnn_placement *p = &cc->compile.out->nodes[node];
	const struct cnn_backend_ops *ops;
	int64_t ns, host_ns;
	uint64_t cycles;
	int c;

	if (!from || !from->used || from->layout.codes || n->act.kind != CNN_ACT_NONE ||
	    (n->n_out > 1 && n->out[1] >= 0))
		return false;
	in = (struct cnn_node_io){ .value = n->in[0], .layout = from->layout };
	out = (struct cnn_node_io){ .value = n->out[0] };
	c = wanted_layout(cc, n->out[0], &out.layout);
	if (c >= 0 && is_readable_as(cc, c, &in, out)) {
		out.layout = from->layout;
		cnn_share_slot(cc, &out, n->in[0]);
		cnn_reject(reason, "%s: renames a value in the arena", n->op_type);
		*core = c;
		return true;
	}
	ops = c < 0 ? NULL : cc->cores[c]->ops;
	cycles = ops && ops->convert ? ops->convert(cc->cores[c], node, &in, &out, reason) : 0;
	if (!cycles)
		return false;
	ns = cnn_cycles_ns(cc->target, c, cycles);
	host_ns = host_cost(cc, n->in[0], c);
	p->next_core = ns <= host_ns ? CNN_ON_CPU : c;
	p->next_ns = cnn_max(ns, host_ns);
	if (ns > host_ns)
		return false;
	cnn_use_slot(cc, &out);
	*core = c;
	return true;
}

/* ---- once all nodes are placed ----------------------------------------------------------- */

/* The core that runs all readers of a value, or CNN_ON_CPU. */
static int readers_core(const struct cnn_compiler *cc, int v)
{
	const struct cnn_value *val = &cc->compile.g->values[v];
	const struct cnn_placement *nodes = cc->compile.out->nodes;

	for (int i = 1; i < val->n_consumers; i++)
		if (nodes[val->consumers[i]].core != nodes[val->consumers[0]].core)
			return CNN_ON_CPU;
	return val->n_consumers ? nodes[val->consumers[0]].core : CNN_ON_CPU;
}

/*
 * Gives the input of a move, which no core reads or makes, the slot of its output: it is then
 * written in the layout of the output's readers, by the application itself if that is dense.
 */
static void rename_backwards(struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	struct cnn_placement *p = &cc->compile.out->nodes[node];
	struct cnn_slot *slots = cc->compile.out->slots;
	int from = n->in[0], to = n->out[0], core = readers_core(cc, to);
	struct cnn_node_io io = { .value = from, .layout = slots[to].layout };

	if (core < 0 || slots[from].used || slots[to].layout.codes ||
	    cc->compile.g->values[from].t.data)
		return;
	cnn_share_slot(cc, &io, to);
	p->core = core;
	cnn_reject(p->reason, "%s: renames a value in the arena", n->op_type);
}

void cnn_settle_moves(struct cnn_compiler *cc)
{
	for (int i = cc->compile.g->n_nodes - 1; i >= 0; i--)
		if (cnn_moves_to_slot(cc->compile.g, cc->compile.out, i))
			rename_backwards(cc, i);
	for (int i = 0; i < cc->compile.g->n_nodes; i++)
		if (cnn_moves_to_slot(cc->compile.g, cc->compile.out, i))
			cnn_reject(cc->compile.out->nodes[i].reason, "%s: the host moves its input "
				   "to where cores read it", cc->compile.g->nodes[i].op_type);
}
