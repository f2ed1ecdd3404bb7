// SPDX-License-Identifier: MIT
/*
 * What units can read and nodes rename, and a ConvertLayout in the graph where a unit cannot read
 * the layout that a value has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/rewrite.h"
#include "internal.h"

bool cnn_reads_layout(const struct cnn_backend *core, const struct cnn_layout *has,
		      struct cnn_layout *want)
{
	return core->ops->reads ? core->ops->reads(has, want) : cnn_layout_equal(has, want);
}

bool cnn_is_renaming(const struct cnn_compiler *cc, int node)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_tensor *from = cnn_node_in(g, n, 0), *to = cnn_node_out(g, n, 0);

	return cnn_op_renames(n->op) && n->act.kind == CNN_ACT_NONE && cc->lead[node] < 0 &&
	       from && to && !from->data && from->rank >= 0 && to->rank >= 0 &&
	       from->dtype == to->dtype && cnn_tensor_count(from) == cnn_tensor_count(to) &&
	       (n->n_out == 1 || n->out[1] < 0);
}

bool cnn_layout_seen_as(const struct cnn_tensor *x, const struct cnn_layout *l,
			struct cnn_layout *seen)
{
	struct cnn_planes p;
	int64_t plane = 1;

	for (int i = 2; i < x->rank; i++)
		plane *= x->dims[i];
	if (!cnn_layout_view(l, x->rank > 1 ? x->dims[0] : 1,
			     x->rank > 1 ? x->dims[1] : x->rank ? x->dims[0] : 1, plane, &p))
		return false;
	*seen = cnn_planes_layout(&p);
	return true;
}

/* The conversion of io's value that fits it, or a new one; NULL: there is none, and may be none. */
static struct cnn_conversion *find_conversion(struct cnn_compiler *cc,
					      const struct cnn_backend *core,
					      struct cnn_node_io *io)
{
	for (int i = 0; i < cc->n_conversions; i++)
		if (cc->conversions[i].value == io->value &&
		    cnn_reads_layout(core, &cc->conversions[i].layout, &io->layout))
			return &cc->conversions[i];
	return cc->conversions && core->ops->converts ? &cc->conversions[cc->n_conversions] : NULL;
}

bool cnn_fit_layout(struct cnn_compiler *cc, const struct cnn_backend *core, struct cnn_node_io *io,
		    char *reason)
{
	const struct cnn_value *v = &cc->compile.g->values[io->value];
	const struct cnn_slot *slot = &cc->compile.out->slots[io->value];
	char shape[80];

	if (!slot->used || cnn_reads_layout(core, &slot->layout, &io->layout) ||
	    find_conversion(cc, core, io))
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

	if (!slot->used || cnn_reads_layout(core, &slot->layout, &same.layout)) {
		cnn_use_slot(cc, io);
		return;
	}
	c = find_conversion(cc, core, &same);
	if (c == &cc->conversions[cc->n_conversions]) {
		*c = (struct cnn_conversion){
			io->value, first_reader(unit, io->value), cc->n_conversions++, io->layout,
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

static int compare_conversions(const void *a, const void *b)
{
	const struct cnn_conversion *x = a, *y = b;

	if (x->reader != y->reader)
		return x->reader < y->reader ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Sorts the conversions by reader; a unit may read one by its last node that others read before. */
static int sort_conversions(struct cnn_compiler *cc)
{
	int *place = calloc((size_t)cc->n_conversions + 1, sizeof(*place));

	if (!place)
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for %d changes of layout",
				cc->n_conversions);
	qsort(cc->conversions, (size_t)cc->n_conversions, sizeof(*cc->conversions),
	      compare_conversions);
	for (int i = 0; i < cc->n_conversions; i++)
		place[cc->conversions[i].number] = i;
	for (int i = 0; i < cc->n_readers; i++)
		cc->readers[i].conversion = place[cc->readers[i].conversion];
	free(place);
	return CNN_OK;
}

int cnn_insert_conversions(struct cnn_compiler *cc, struct cnn_graph *g)
{
	int values = g->n_values, ret = sort_conversions(cc);

	if (ret)
		return ret;
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

/* ---- once all nodes are placed ----------------------------------------------------------- */

void cnn_settle_moves(struct cnn_compiler *cc)
{
	for (int i = 0; i < cc->compile.g->n_nodes; i++)
		if (cnn_moves_to_slot(cc->compile.g, cc->compile.out, i))
			cnn_reject(cc->compile.out->nodes[i].reason, "%s: the host moves its input "
				   "to where cores read it", cc->compile.g->nodes[i].op_type);
}
