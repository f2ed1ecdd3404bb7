// SPDX-License-Identifier: MIT
/*
 * Concat and Split along the channels without a copy. The inputs of a Concat are made in place in
 * its output's memory, by a core or on the CPU; the outputs of a Split are views of its input, if a
 * core made that. Until cnn_settle_owners, the offset of a slot in another slot's memory is
 * relative to that slot.
 */
#include "internal.h"

/* Channels, and elements of a channel; false unless t is a float tensor of known shape, batch 1. */
static bool get_channels(const struct cnn_tensor *t, int64_t *c, int64_t *plane)
{
	if (!t || t->rank < 2 || t->dims[0] != 1 || t->dtype != CNN_FLOAT32 ||
	    cnn_tensor_count(t) < 1)
		return false;
	*c = t->dims[1];
	*plane = cnn_tensor_count(t) / *c;
	return true;
}

static bool is_along_channels(const struct cnn_node *n, const struct cnn_tensor *whole)
{
	int64_t axis = n->op == CNN_OP_SPLIT ? n->params.split.axis : n->params.axis.axis;

	return n->act.kind == CNN_ACT_NONE && axis + (axis < 0 ? whole->rank : 0) == 1;
}

bool cnn_is_view_of_channels(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *whole =
		n->op == CNN_OP_CONCAT ? cnn_node_out(g, n, 0) :
		n->op == CNN_OP_SPLIT  ? cnn_node_in(g, n, 0) : NULL;
	int64_t c, plane;

	return get_channels(whole, &c, &plane) && is_along_channels(n, whole);
}

/* The core that makes a value in the arena, or CNN_ON_CPU. */
static int producer_core(const struct cnn_compiler *cc, int v)
{
	int producer = v < 0 ? -1 : cc->compile.g->values[v].producer;

	return producer < 0 || !cc->compile.out->slots[v].used ?
		       CNN_ON_CPU :
		       cc->compile.out->nodes[producer].core;
}

/* The owner of v's memory, if v is all of it and it is no part of another value's; else -1. */
static int whole_owner(const struct cnn_compiler *cc, int v)
{
	const struct cnn_slot *slots = cc->compile.out->slots;
	int owner = cc->compile.owner[v];

	if (cc->compile.owner[owner] != owner || slots[v].bytes != slots[owner].bytes ||
	    (v != owner && slots[v].offset))
		return -1;
	return owner;
}

static bool is_repeated(const struct cnn_compiler *cc, const struct cnn_node *n, int i)
{
	for (int k = 0; k < i; k++)
		if (cc->compile.owner[n->in[k]] == cc->compile.owner[n->in[i]])
			return true;
	return false;
}

static struct cnn_planes one_image(int64_t c, int64_t plane, int64_t pitch)
{
	return (struct cnn_planes){
		.n = 1, .c = c, .plane = plane, .plane_pitch = pitch, .image_pitch = c * pitch,
		.size = sizeof(float),
	};
}

/* The value's layout in the arena; dense if it has none yet, as the CPU would write it. */
static bool get_layout(const struct cnn_compiler *cc, int v, int64_t c, int64_t plane,
		       struct cnn_planes *l)
{
	*l = one_image(c, plane, plane);
	return !cc->compile.out->slots[v].used ||
	       (cnn_layout_view(&cc->compile.out->slots[v].layout, 1, c, plane, l) && !l->half);
}

/* The plane pitch, in floats, that all inputs have in common; 0: none. */
static int64_t common_pitch(const struct cnn_compiler *cc, const struct cnn_node *n, int64_t plane)
{
	int64_t pitch = 0, c, own;
	struct cnn_planes l;

	for (int i = 0; i < n->n_in; i++) {
		if (!get_channels(cnn_node_in(cc->compile.g, n, i), &c, &own) || own != plane ||
		    !get_layout(cc, n->in[i], c, plane, &l))
			return 0;
		if (c > 1 && pitch && l.plane_pitch != pitch)
			return 0;
		if (c > 1)
			pitch = l.plane_pitch;
	}
	return pitch ? pitch : cnn_round_up(plane, CNNACC_LINE_SIZE / 4);
}

/* Each part must begin at a cache line: every part but the last is whole lines. */
static bool parts_are_aligned(const struct cnn_graph *g, const int *parts, int n, int64_t pitch)
{
	for (int i = 0; i < n; i++)
		if (g->values[parts[i]].t.dims[1] * pitch % (CNNACC_LINE_SIZE / 4) && i + 1 < n)
			return false;
	return true;
}

/* Can the core, or the CPU in memory that no core uses, make the value as part of another? */
static bool can_be_part(const struct cnn_compiler *cc, int v, int core)
{
	const struct cnn_value *val = v < 0 ? NULL : &cc->compile.g->values[v];

	if (!val || val->producer < 0 || whole_owner(cc, v) < 0)
		return false;
	return producer_core(cc, v) == core || (cc->compile.out->nodes[val->producer].core < 0 &&
						!val->is_output && !cc->compile.out->slots[v].used);
}

/* The core that claims the first node that reads a value, or CNN_ON_CPU. */
static int consumer_core(const struct cnn_compiler *cc, int v)
{
	const struct cnn_value *val = &cc->compile.g->values[v];

	return val->n_consumers ? cnn_claiming_core(cc, val->consumers[0]) : CNN_ON_CPU;
}

static bool place_concat(struct cnn_compiler *cc, const struct cnn_node *n, int *core)
{
	struct cnn_node_io io = { .value = n->out[0] };
	struct cnn_planes whole;
	int64_t c, plane, pitch, at = 0;

	if (!get_channels(cnn_node_out(cc->compile.g, n, 0), &c, &plane) ||
	    !is_along_channels(n, cnn_node_out(cc->compile.g, n, 0)))
		return false;
	*core = producer_core(cc, n->in[0]);
	if (*core < 0)
		*core = consumer_core(cc, n->out[0]);
	for (int i = 0; i < n->n_in; i++)
		if (*core < 0 || !can_be_part(cc, n->in[i], *core) || is_repeated(cc, n, i))
			return false;
	pitch = common_pitch(cc, n, plane);
	if (!pitch || !parts_are_aligned(cc->compile.g, n->in, n->n_in, pitch))
		return false;
	for (int i = 0; i < n->n_in; i++) {
		struct cnn_node_io part = { .value = n->in[i] };
		struct cnn_planes own;

		c = cc->compile.g->values[n->in[i]].t.dims[1];
		get_layout(cc, n->in[i], c, plane, &own);
		part.layout = cnn_planes_layout(&own);
		cnn_use_slot(cc, &part);
	}
	c = cc->compile.g->values[n->out[0]].t.dims[1];
	whole = one_image(c, plane, pitch);
	io.layout = cnn_planes_layout(&whole);
	cnn_use_slot(cc, &io);
	cc->slots[io.value].has_parts = true;
	for (int i = 0; i < n->n_in; i++) {
		int owner = whole_owner(cc, n->in[i]);

		cc->compile.owner[owner] = io.value;
		cc->compile.out->slots[owner].offset = at;
		at += cc->compile.g->values[n->in[i]].t.dims[1] * pitch * (int64_t)sizeof(float);
	}
	return true;
}

static bool place_split(struct cnn_compiler *cc, const struct cnn_node *n, int *core)
{
	const struct cnn_graph *g = cc->compile.g;
	int from = n->in[0];
	struct cnn_planes all;
	int64_t c, plane, at = 0;

	*core = producer_core(cc, from);
	if (*core < 0 || !get_channels(cnn_node_in(g, n, 0), &c, &plane) ||
	    !is_along_channels(n, cnn_node_in(g, n, 0)) ||
	    !cnn_layout_view(&cc->compile.out->slots[from].layout, 1, c, plane, &all) || all.half)
		return false;
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i] < 0 || !get_channels(cnn_node_out(g, n, i), &c, &plane))
			return false;
	if (!parts_are_aligned(g, n->out, n->n_out, all.plane_pitch))
		return false;
	cc->slots[cc->compile.owner[from]].has_parts = true;
	for (int i = 0; i < n->n_out; i++) {
		struct cnn_node_io io = { .value = n->out[i] };
		struct cnn_planes part = all;

		part.c = g->values[n->out[i]].t.dims[1];
		part.image_pitch = part.c * all.plane_pitch;
		io.layout = cnn_planes_layout(&part);
		cnn_use_slot(cc, &io);
		cc->compile.owner[io.value] = cc->compile.owner[from];
		cc->compile.out->slots[io.value].offset = at;
		if (cc->compile.owner[from] != from)
			cc->compile.out->slots[io.value].offset +=
				cc->compile.out->slots[from].offset;
		at += part.image_pitch * (int64_t)sizeof(float);
	}
	return true;
}

bool cnn_place_concat_split(struct cnn_compiler *cc, int node, int *core)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];

	if (n->op == CNN_OP_CONCAT)
		return place_concat(cc, n, core);
	return n->op == CNN_OP_SPLIT && place_split(cc, n, core);
}

void cnn_settle_owners(struct cnn_compiler *cc)
{
	struct cnn_slot *slots = cc->compile.out->slots;
	int *owner = cc->compile.owner;

	for (int v = 0; v < cc->compile.out->n_values; v++) {
		int64_t offset = 0;
		int r = v;

		for (; owner[r] != r; r = owner[r])
			offset += slots[r].offset;
		/* Path compression: each link is followed once. */
		for (int i = v, next; owner[i] != i && owner[i] != r; i = next) {
			int64_t own = slots[i].offset;

			next = owner[i];
			owner[i] = r;
			slots[i].offset = offset;
			offset -= own;
		}
		cc->slots[r].has_parts |= cc->slots[v].has_parts;
	}
}
