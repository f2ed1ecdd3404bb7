// SPDX-License-Identifier: MIT
/* Places each node on a core or the CPU, and chooses the layout of its values in the arena. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Are both maps of pixels? Only the pitches of rows, columns and images may differ. */
static bool has_pixels(const struct cnn_layout *l, const struct cnn_layout *want)
{
	struct cnn_pixels has, wanted;

	return cnn_layout_pixels(want, &wanted) && cnn_layout_pixels(l, &has) &&
	       !memcmp(l->dims, want->dims, sizeof(l->dims)) && has.size == wanted.size &&
	       has.codes == wanted.codes;
}

/* Gives an input a slot's layout, if the node can read that. */
static bool fit_slot(const struct cnn_compiler *cc, int s, struct cnn_node_io *io)
{
	const struct cnn_layout *have = &cc->compile.out->slots[s].layout;
	struct cnn_planes want, seen;

	io->slot = s;
	if (has_pixels(have, &io->layout)) {
		io->layout = *have;
		return true;
	}
	if (!cnn_layout_planes(&io->layout, &want) || want.codes)
		return cnn_layout_equal(&io->layout, have);
	if (!cnn_layout_view(have, want.n, want.c, want.plane, &seen))
		return false;
	io->layout = cnn_planes_layout(&seen);
	return true;
}

/* Finds a slot to read an input from: the value's own, a copy, or a copy yet to be made. */
static bool fit_input(const struct cnn_compiler *cc, struct cnn_node_io *io, bool copies,
		      char *reason)
{
	const struct cnn_value *v = &cc->compile.g->values[io->value];
	char shape[80];

	io->slot = io->value;
	if (!cc->compile.out->slots[io->value].used || fit_slot(cc, io->value, io))
		return true;
	for (int s = cc->slots[io->value].next_copy; s; s = cc->slots[s].next_copy)
		if (fit_slot(cc, s, io))
			return true;
	io->slot = cc->compile.out->n_slots;
	if (copies)
		return true;
	return cnn_reject(reason, "input %.40s %s: the core cannot read its layout in the arena",
			  v->name, cnn_tensor_describe(&v->t, shape, sizeof(shape)));
}

/* Makes the host copy a value for the node, unless an earlier node has such a copy. */
static void use_copy(struct cnn_compiler *cc, int node, const struct cnn_node_io *io, char *reason)
{
	struct cnn_lowered *out = cc->compile.out;
	struct cnn_node_io copy = { .value = io->slot, .layout = io->layout };
	size_t len = strlen(reason);

	cc->copy[node] = io->slot;
	snprintf(reason + len, CNN_REASON_LEN - len, ", from a copy of its input in this layout");
	if (io->slot < out->n_slots)
		return;
	out->n_slots++;
	cnn_use_slot(cc, &copy);
	out->slots[io->slot].from = io->value;
	out->slots[io->value].copied = true;
	cc->slots[io->slot].next_copy = cc->slots[io->value].next_copy;
	cc->slots[io->value].next_copy = io->slot;
}

static bool place_on(struct cnn_compiler *cc, int core, int node, char *reason)
{
	struct cnn_backend *c = cc->cores[core];
	struct cnn_node_fit fit = { 0 };

	if (!c->ops->match(c, node, &fit, reason))
		return false;
	for (int i = 0; i < fit.n_in; i++)
		if (!fit_input(cc, &fit.in[i], c->ops->copies, reason))
			return false;
	if (!c->ops->plan(c, node, &fit, reason))
		return false;
	for (int i = 0; i < fit.n_in; i++) {
		if (fit.in[i].slot == fit.in[i].value)
			cnn_use_slot(cc, &fit.in[i]);
		else
			use_copy(cc, node, &fit.in[i], reason);
	}
	cnn_use_slot(cc, &fit.out);
	return true;
}

/*
 * The first core that takes the node, or CNN_ON_CPU. The reason is that core's; else that of the
 * last core made for such nodes, or of the first core if there is none.
 */
static int place_on_any(struct cnn_compiler *cc, int node, char *reason)
{
	const struct cnn_graph *g = cc->compile.g;
	char why[CNN_REASON_LEN];
	bool has_reason = false;

	for (int i = 0; i < cc->n_cores; i++) {
		bool takes;

		if (!cc->cores[i])
			continue;
		takes = place_on(cc, i, node, why);
		if (takes || !has_reason || cc->cores[i]->ops->is_for(g, &g->nodes[node]))
			memcpy(reason, why, sizeof(why));
		if (takes)
			return i;
		has_reason = true;
	}
	return CNN_ON_CPU;
}

static bool is_renaming(enum cnn_op op)
{
	return op == CNN_OP_RESHAPE || op == CNN_OP_FLATTEN || op == CNN_OP_SQUEEZE ||
	       op == CNN_OP_UNSQUEEZE || op == CNN_OP_IDENTITY || op == CNN_OP_DROPOUT;
}

/* Renames a value that a core made, if its layout can be seen in the new shape: no cost. */
static bool place_renaming(struct cnn_compiler *cc, int node, int *core)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_tensor *to = cnn_node_out(g, n, 0);
	int from = n->in[0], producer = from >= 0 ? g->values[from].producer : -1;
	struct cnn_node_io io = { .value = n->out[0] };
	struct cnn_planes planes;
	int64_t plane = 1;

	if (producer < 0 || cc->compile.out->nodes[producer].core < 0 ||
	    n->act.kind != CNN_ACT_NONE)
		return false;
	if (!cc->compile.out->slots[from].used || !to || to->rank < 0 ||
	    (n->n_out > 1 && n->out[1] >= 0))
		return false;
	for (int i = 2; i < to->rank; i++)
		plane *= to->dims[i];
	if (!cnn_layout_view(&cc->compile.out->slots[from].layout, to->rank > 1 ? to->dims[0] : 1,
			     to->rank > 1 ? to->dims[1] :
			     to->rank	  ? to->dims[0] :
					    1,
			     plane, &planes))
		return false;
	io.layout = cnn_planes_layout(&planes);
	cnn_use_slot(cc, &io);
	cc->compile.owner[io.value] = cc->compile.owner[from];
	/* Relative to the owner, which has no offset yet. */
	if (cc->compile.owner[from] != from)
		cc->compile.out->slots[io.value].offset = cc->compile.out->slots[from].offset;
	*core = cc->compile.out->nodes[producer].core;
	return true;
}

/* The one core that runs all readers of a value, if it reads copies; else CNN_ON_CPU. */
static int copying_reader(const struct cnn_compiler *cc, int v)
{
	const struct cnn_value *val = &cc->compile.g->values[v];
	int core = val->n_consumers ? cc->compile.out->nodes[val->consumers[0]].core : CNN_ON_CPU;

	for (int i = 1; i < val->n_consumers; i++)
		if (cc->compile.out->nodes[val->consumers[i]].core != core)
			return CNN_ON_CPU;
	return core >= 0 && cc->cores[core]->ops->copies ? core : CNN_ON_CPU;
}

void cnn_place_host_copy(struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	struct cnn_placement *p = &cc->compile.out->nodes[node];
	struct cnn_slot *slots = cc->compile.out->slots;
	int from = n->in[0], to = n->out[0];

	if (p->core >= 0 || !is_renaming(n->op) || n->act.kind != CNN_ACT_NONE || from < 0 ||
	    to < 0 || (n->n_out > 1 && n->out[1] >= 0))
		return;
	/* The host may read back what a core makes; it cannot read packed codes. */
	if (cc->compile.g->values[from].t.rank < 0 || cc->compile.g->values[to].is_output ||
	    !slots[to].used || slots[to].copied || slots[to].layout.codes)
		return;
	p->core = copying_reader(cc, to);
	if (p->core < 0)
		return;
	cc->copy[node] = to;
	slots[to].from = from;
	slots[from].copied = true;
	cnn_reject(p->reason, "%s: the host writes its input in the layout of its readers",
		   n->op_type);
}

void cnn_place_node(struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	struct cnn_placement *p = &cc->compile.out->nodes[node];

	p->core = CNN_ON_CPU;
	p->macs = cnn_node_macs(cc->compile.g, n);
	cnn_reject(p->reason, "%s: no core may be used", n->op_type);
	if (is_renaming(n->op) && place_renaming(cc, node, &p->core)) {
		cnn_reject(p->reason, "%s: renames a value in the arena", n->op_type);
		return;
	}
	if (cnn_place_concat_split(cc, node, &p->core)) {
		cnn_reject(p->reason, "%s: no copy, its parts are adjacent in the arena",
			   n->op_type);
		return;
	}
	p->core = place_on_any(cc, node, p->reason);
}
