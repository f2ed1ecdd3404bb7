// SPDX-License-Identifier: MIT
/* Which core takes a node, and the layout of its values in the arena. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

bool cnn_reject(char *reason, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, CNN_REASON_LEN, fmt, ap);
	va_end(ap);
	return false;
}

static void value_text(const struct cnn_graph *g, int v, char *buf, size_t len)
{
	char shape[80];

	snprintf(buf, len, "%.40s %s", g->values[v].name,
		 cnn_tensor_describe(&g->values[v].t, shape, sizeof(shape)));
}

/* The same elements, column after column; the core sees to the pitches. */
static bool has_columns(const struct cnn_layout *l, const struct cnn_layout *want)
{
	return l->n == want->n && l->c == want->c && l->plane == want->plane &&
	       l->plane_pitch == want->plane_pitch && l->columns == want->columns &&
	       l->size == want->size && l->codes == want->codes;
}

/* Gives an input the layout that a slot has, if it can be read as it lies there. */
static bool fit_slot(const struct cnn_compiler *x, int s, struct cnn_node_io *io)
{
	const struct cnn_layout *lies = &x->lw.out->slots[s].layout;
	const struct cnn_layout want = io->layout;

	io->slot = s;
	if (want.columns && has_columns(lies, &want)) {
		io->layout = *lies;
		return true;
	}
	if (want.codes && !memcmp(&want, lies, sizeof(want)))
		return true;
	return !want.columns && !want.codes &&
	       cnn_layout_view(lies, want.n, want.c, want.plane, &io->layout);
}

/* Finds a slot to read an input from: its value's own, a copy, or one that is to be made. */
static bool fit_input(const struct cnn_compiler *x, struct cnn_node_io *io, bool copies,
		      char *reason)
{
	char text[120];

	io->slot = io->value;
	if (!x->lw.out->slots[io->value].used || fit_slot(x, io->value, io))
		return true;
	for (int s = x->next_copy[io->value]; s; s = x->next_copy[s])
		if (fit_slot(x, s, io))
			return true;
	io->slot = x->lw.out->n_slots;
	if (copies)
		return true;
	value_text(x->lw.g, io->value, text, sizeof(text));
	return cnn_reject(reason, "input %s lies in the arena with other gaps between its planes",
			  text);
}

void cnn_use_slot(struct cnn_compiler *x, const struct cnn_node_io *io)
{
	struct cnn_slot *slot = &x->lw.out->slots[io->value];

	if (slot->used)
		return;
	slot->used = true;
	slot->layout = io->layout;
	slot->bytes =
		cnn_round_up(cnn_max(cnn_layout_bytes(&io->layout), io->bytes), CNNACC_LINE_SIZE);
}

/* The host copies a value for the node, unless it did for another one. */
static void use_copy(struct cnn_compiler *x, int node, const struct cnn_node_io *io, char *reason)
{
	struct cnn_lowered *out = x->lw.out;
	struct cnn_node_io copy = { .value = io->slot, .layout = io->layout };
	size_t len = strlen(reason);

	x->copy[node] = io->slot;
	snprintf(reason + len, CNN_REASON_LEN - len, ", of a copy of its input in this layout");
	if (io->slot < out->n_slots)
		return;
	out->n_slots++;
	cnn_use_slot(x, &copy);
	out->slots[io->slot].from = io->value;
	out->slots[io->value].copied = true;
	x->next_copy[io->slot] = x->next_copy[io->value];
	x->next_copy[io->value] = io->slot;
}

static bool place_on(struct cnn_compiler *x, int core, int node, char *reason)
{
	struct cnn_backend *c = x->cores[core];
	struct cnn_node_fit fit = { 0 };

	if (!c->ops->match(c, node, &fit, reason))
		return false;
	for (int i = 0; i < fit.n_in; i++)
		if (!fit_input(x, &fit.in[i], c->ops->copies, reason))
			return false;
	if (!c->ops->plan(c, node, &fit, reason))
		return false;
	for (int i = 0; i < fit.n_in; i++) {
		if (fit.in[i].slot == fit.in[i].value)
			cnn_use_slot(x, &fit.in[i]);
		else
			use_copy(x, node, &fit.in[i], reason);
	}
	cnn_use_slot(x, &fit.out);
	return true;
}

/* The core that takes the node, or CNN_ON_CPU, why, and the reason of a core made for such nodes. */
static int place_on_any(struct cnn_compiler *x, int node, char *reason)
{
	const struct cnn_graph *g = x->lw.g;
	char why[CNN_REASON_LEN];
	bool told = false;

	for (int i = 0; i < x->n_cores; i++) {
		bool takes;

		if (!x->cores[i])
			continue;
		takes = place_on(x, i, node, why);
		if (takes || !told || x->cores[i]->ops->is_for(g, &g->nodes[node]))
			memcpy(reason, why, sizeof(why));
		if (takes)
			return i;
		told = true;
	}
	return CNN_ON_CPU;
}

static bool is_renaming(enum cnn_op op)
{
	return op == CNN_OP_RESHAPE || op == CNN_OP_FLATTEN || op == CNN_OP_SQUEEZE ||
	       op == CNN_OP_UNSQUEEZE || op == CNN_OP_IDENTITY || op == CNN_OP_DROPOUT;
}

/* An operator that only renames a value which a core made costs nothing if no gap is in the way. */
static bool place_renaming(struct cnn_compiler *x, int node, int *core)
{
	const struct cnn_graph *g = x->lw.g;
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_tensor *to = cnn_node_out(g, n, 0);
	int from = n->in[0], producer = from >= 0 ? g->values[from].producer : -1;
	struct cnn_node_io io = { .value = n->out[0] };
	int64_t plane = 1;

	if (producer < 0 || x->lw.out->nodes[producer].core < 0 || n->act.kind != CNN_ACT_NONE)
		return false;
	if (!x->lw.out->slots[from].used || !to || to->rank < 0 || (n->n_out > 1 && n->out[1] >= 0))
		return false;
	for (int i = 2; i < to->rank; i++)
		plane *= to->dims[i];
	if (!cnn_layout_view(&x->lw.out->slots[from].layout, to->rank > 1 ? to->dims[0] : 1,
			     to->rank > 1 ? to->dims[1] :
			     to->rank	  ? to->dims[0] :
					    1,
			     plane, &io.layout))
		return false;
	cnn_use_slot(x, &io);
	x->lw.root[io.value] = x->lw.root[from];
	/* Relative to the root, which is at no offset yet. */
	if (x->lw.root[from] != from)
		x->lw.out->slots[io.value].offset = x->lw.out->slots[from].offset;
	*core = x->lw.out->nodes[producer].core;
	return true;
}

/* The core of all nodes that read a value, where that may be a copy; else CNN_ON_CPU. */
static int only_reader(const struct cnn_compiler *x, int v)
{
	const struct cnn_value *val = &x->lw.g->values[v];
	int core = val->n_consumers ? x->lw.out->nodes[val->consumers[0]].core : CNN_ON_CPU;

	for (int i = 1; i < val->n_consumers; i++)
		if (x->lw.out->nodes[val->consumers[i]].core != core)
			return CNN_ON_CPU;
	return core >= 0 && x->cores[core]->ops->copies ? core : CNN_ON_CPU;
}

void cnn_place_host_copy(struct cnn_compiler *x, int node)
{
	const struct cnn_node *n = &x->lw.g->nodes[node];
	struct cnn_placement *p = &x->lw.out->nodes[node];
	struct cnn_slot *slots = x->lw.out->slots;
	int from = n->in[0], to = n->out[0];

	if (p->core >= 0 || !is_renaming(n->op) || n->act.kind != CNN_ACT_NONE || from < 0 || to < 0 ||
	    (n->n_out > 1 && n->out[1] >= 0))
		return;
	/* Codes are never taken back from the arena, as what a core makes may have to be. */
	if (x->lw.g->values[from].t.rank < 0 || x->lw.g->values[to].is_output ||
	    !slots[to].used || slots[to].copied || slots[to].layout.codes)
		return;
	p->core = only_reader(x, to);
	if (p->core < 0)
		return;
	x->copy[node] = to;
	slots[to].from = from;
	slots[from].copied = true;
	cnn_reject(p->reason, "%s: its input is written straight to where its readers want it",
		   n->op_type);
}

void cnn_place_node(struct cnn_compiler *x, int node)
{
	const struct cnn_node *n = &x->lw.g->nodes[node];
	struct cnn_placement *p = &x->lw.out->nodes[node];

	p->core = CNN_ON_CPU;
	p->macs = cnn_node_macs(x->lw.g, n);
	cnn_reject(p->reason, "%s: no core was asked for", n->op_type);
	if (is_renaming(n->op) && place_renaming(x, node, &p->core)) {
		cnn_reject(p->reason, "%s: renames a value in the arena", n->op_type);
		return;
	}
	if (cnn_place_concat_split(x, node, &p->core)) {
		cnn_reject(p->reason, "%s: its parts lie side by side in the arena", n->op_type);
		return;
	}
	p->core = place_on_any(x, node, p->reason);
}
