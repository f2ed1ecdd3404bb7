// SPDX-License-Identifier: MIT
/*
 * Values that are channels of another one. A Concat for a core costs nothing if its inputs are made
 * where they belong in its output, by a core or on the CPU, nor does a Split of what a core made.
 * While nodes are placed, the offset of a slot whose memory is another's is relative to that one.
 */
#include "internal.h"

/* Channels and elements of each; false if it is not one image, or not known. */
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
	int64_t axis = cnn_node_int(n, "axis", 0);

	return n->act.kind == CNN_ACT_NONE && axis + (axis < 0 ? whole->rank : 0) == 1;
}

/* The core that made a value which lies in the arena, or CNN_ON_CPU. */
static int maker(const struct cnn_compiler *x, int v)
{
	int producer = v < 0 ? -1 : x->lw.g->values[v].producer;

	return producer < 0 || !x->lw.out->slots[v].used ? CNN_ON_CPU :
	       x->lw.out->nodes[producer].core;
}

/* The value whose memory v has, if that is nobody else's and v is all of it; else -1. */
static int own_root(const struct cnn_compiler *x, int v)
{
	const struct cnn_slot *slots = x->lw.out->slots;
	int root = x->lw.root[v];

	if (x->lw.root[root] != root || slots[v].bytes != slots[root].bytes ||
	    (v != root && slots[v].offset))
		return -1;
	return root;
}

static bool is_repeated(const struct cnn_compiler *x, const struct cnn_node *n, int i)
{
	for (int k = 0; k < i; k++)
		if (x->lw.root[n->in[k]] == x->lw.root[n->in[i]])
			return true;
	return false;
}

/* The value's layout in the arena: as it is, or what an operator on the CPU would write. */
static bool get_layout(const struct cnn_compiler *x, int v, int64_t c, int64_t plane,
		       struct cnn_layout *l)
{
	*l = (struct cnn_layout){
		.n = 1, .c = c, .plane = plane, .plane_pitch = plane, .image_pitch = c * plane,
		.size = sizeof(float),
	};
	return !x->lw.out->slots[v].used ||
	       cnn_layout_view(&x->lw.out->slots[v].layout, 1, c, plane, l);
}

/* The floats from plane to plane that all inputs agree on; 0: they do not. */
static int64_t common_pitch(const struct cnn_compiler *x, const struct cnn_node *n, int64_t plane)
{
	int64_t pitch = 0, c, own;
	struct cnn_layout l;

	for (int i = 0; i < n->n_in; i++) {
		if (!get_channels(cnn_node_in(x->lw.g, n, i), &c, &own) || own != plane ||
		    !get_layout(x, n->in[i], c, plane, &l))
			return 0;
		if (c > 1 && pitch && l.plane_pitch != pitch)
			return 0;
		if (c > 1)
			pitch = l.plane_pitch;
	}
	return pitch ? pitch : cnn_round_up(plane, CNNACC_LINE_SIZE / 4);
}

/* Every part but the last has to end where a line does. */
static bool parts_touch(const struct cnn_graph *g, const int *parts, int n, int64_t pitch)
{
	for (int i = 0; i < n; i++)
		if (g->values[parts[i]].t.dims[1] * pitch % (CNNACC_LINE_SIZE / 4) &&
		    i + 1 < n)
			return false;
	return true;
}

/* Can the value be made in a part of another one? On core, or on the CPU if it is nobody else's. */
static bool can_join(const struct cnn_compiler *x, int v, int core)
{
	const struct cnn_value *val = v < 0 ? NULL : &x->lw.g->values[v];

	if (!val || val->producer < 0 || own_root(x, v) < 0)
		return false;
	return maker(x, v) == core ||
	       (x->lw.out->nodes[val->producer].core < 0 && !val->is_output &&
		!x->lw.out->slots[v].used);
}

/* The core that takes the first node that reads a value, or CNN_ON_CPU. */
static int reader(struct cnn_compiler *x, int v)
{
	const struct cnn_value *val = &x->lw.g->values[v];
	char reason[CNN_REASON_LEN];

	for (int i = 0; i < x->n_cores && val->n_consumers; i++) {
		struct cnn_node_fit fit = { 0 };

		if (x->cores[i] &&
		    x->cores[i]->ops->match(x->cores[i], val->consumers[0], &fit, reason))
			return i;
	}
	return CNN_ON_CPU;
}

static bool place_concat(struct cnn_compiler *x, const struct cnn_node *n, int *core)
{
	struct cnn_node_io io = { .value = n->out[0] };
	int64_t c, plane, pitch, at = 0;

	if (!get_channels(cnn_node_out(x->lw.g, n, 0), &c, &plane) ||
	    !is_along_channels(n, cnn_node_out(x->lw.g, n, 0)))
		return false;
	*core = maker(x, n->in[0]);
	if (*core < 0)
		*core = reader(x, n->out[0]);
	for (int i = 0; i < n->n_in; i++)
		if (*core < 0 || !can_join(x, n->in[i], *core) || is_repeated(x, n, i))
			return false;
	pitch = common_pitch(x, n, plane);
	if (!pitch || !parts_touch(x->lw.g, n->in, n->n_in, pitch))
		return false;
	for (int i = 0; i < n->n_in; i++) {
		struct cnn_node_io part = { .value = n->in[i] };

		c = x->lw.g->values[n->in[i]].t.dims[1];
		get_layout(x, n->in[i], c, plane, &part.layout);
		cnn_use_slot(x, &part);
	}
	c = x->lw.g->values[n->out[0]].t.dims[1];
	io.layout = (struct cnn_layout){
		.n = 1, .c = c, .plane = plane, .plane_pitch = pitch, .image_pitch = c * pitch,
		.size = sizeof(float),
	};
	cnn_use_slot(x, &io);
	x->joined[io.value] = true;
	for (int i = 0; i < n->n_in; i++) {
		int root = own_root(x, n->in[i]);

		x->lw.root[root] = io.value;
		x->lw.out->slots[root].offset = at;
		at += x->lw.g->values[n->in[i]].t.dims[1] * pitch * (int64_t)sizeof(float);
	}
	return true;
}

static bool place_split(struct cnn_compiler *x, const struct cnn_node *n, int *core)
{
	const struct cnn_graph *g = x->lw.g;
	int from = n->in[0];
	struct cnn_layout all;
	int64_t c, plane, at = 0;

	*core = maker(x, from);
	if (*core < 0 || !get_channels(cnn_node_in(g, n, 0), &c, &plane) ||
	    !is_along_channels(n, cnn_node_in(g, n, 0)) ||
	    !cnn_layout_view(&x->lw.out->slots[from].layout, 1, c, plane, &all))
		return false;
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i] < 0 || !get_channels(cnn_node_out(g, n, i), &c, &plane))
			return false;
	if (!parts_touch(g, n->out, n->n_out, all.plane_pitch))
		return false;
	x->joined[x->lw.root[from]] = true;
	for (int i = 0; i < n->n_out; i++) {
		struct cnn_node_io io = { .value = n->out[i], .layout = all };

		io.layout.c = g->values[n->out[i]].t.dims[1];
		io.layout.image_pitch = io.layout.c * all.plane_pitch;
		cnn_use_slot(x, &io);
		x->lw.root[io.value] = x->lw.root[from];
		x->lw.out->slots[io.value].offset = at;
		if (x->lw.root[from] != from)
			x->lw.out->slots[io.value].offset += x->lw.out->slots[from].offset;
		at += io.layout.image_pitch * (int64_t)sizeof(float);
	}
	return true;
}

bool cnn_place_concat_split(struct cnn_compiler *x, int node, int *core)
{
	const struct cnn_node *n = &x->lw.g->nodes[node];

	return n->op == CNN_OP_CONCAT ? place_concat(x, n, core) :
	       n->op == CNN_OP_SPLIT && place_split(x, n, core);
}

void cnn_settle_owners(struct cnn_compiler *x)
{
	struct cnn_slot *slots = x->lw.out->slots;
	int *root = x->lw.root;

	for (int v = 0; v < x->lw.out->n_values; v++) {
		int64_t offset = 0;
		int r = v;

		for (; root[r] != r; r = root[r])
			offset += slots[r].offset;
		/* Once more, so that no way is gone twice. */
		for (int i = v, next; root[i] != i && root[i] != r; i = next) {
			int64_t own = slots[i].offset;

			next = root[i];
			root[i] = r;
			slots[i].offset = offset;
			offset -= own;
		}
		x->joined[r] |= x->joined[v];
	}
}
