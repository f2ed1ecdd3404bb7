// SPDX-License-Identifier: MIT
/* Code of convolutions on core ccp, group by group: steps, chunks of weights, tiles, slices. */
#include "conv.h"

/* What is the same for all EXECs of a step. */
struct dense {
	const struct conv_unit *u;
	struct step t;
	struct chunk k;
	struct ccpc_region in, add, out;
	struct ccpc_region next; /* what the unit after it reads */
	int64_t weights;	/* float of the weight banks where the chunk in use starts */
};

static void exec_tile(struct ccpc_code *c, int64_t column, int64_t row)
{
	ccpc_set(c, 4, column * TILE_COLUMNS << 16 | row);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	ccpc_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

/* All full tiles of a column; R4 walks down. */
static void exec_column(struct ccpc_code *c, int64_t column, int64_t tiles)
{
	uint32_t top;

	if (tiles < 4) {
		for (int64_t t = 0; t < tiles; t++)
			exec_tile(c, column, t * TILE_ROWS);
		return;
	}
	ccpc_set(c, 4, column * TILE_COLUMNS << 16);
	top = ccpc_loop(c, tiles);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	ccpc_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
	ccpc_add(c, 4, TILE_ROWS);
	ccpc_loop_end(c, top);
	ccpc_gained(c, 4, tiles * TILE_ROWS);
}

/* What the unit after this one begins with. */
static struct ccpc_chunk next_unit(const struct ccpc_code *c, const struct dense *d)
{
	const struct conv_unit *u = d->u;
	const struct ccpc_conv *v = &u->n->conv;
	int64_t group = u->group, o = 0;

	if (u->x1 < conv_columns(v))
		o = d->t.o0;
	else if (u->i + 1 < ccpc_step_count(v))
		o = ccpc_step_at(v, u->i + 1).o0;
	else
		group++;
	if (group == v->groups)
		return u->image + 1 < v->n ? u->n->first : c->next;
	return ccpc_chunk_at(u->n, ccpc_chunk_index(v, group, o, 0));
}

/* Weights of output channel o in a slice; loads what comes after them, from channel then on. */
static void load_weights(struct ccpc_code *c, struct dense *d, int64_t o, int64_t slice,
			 int64_t then, int64_t then_slice)
{
	const struct ccpc_node *n = d->u->n;
	int64_t g = d->u->group;
	struct ccpc_chunk k = ccpc_chunk_at(n, ccpc_chunk_index(&n->conv, g, o, slice)), next;

	d->weights = ccpc_load_weights(c, &k) * LINE_FLOATS;
	next = then < d->t.o1 ? ccpc_chunk_at(n, ccpc_chunk_index(&n->conv, g, then, then_slice)) :
				next_unit(c, d);
	ccpc_load_ahead(c, &next);
}

/* Output channels o..end-1 of a chunk that holds all input channels. */
static void exec_chunk(struct ccpc_code *c, struct dense *d, int64_t o, int64_t end)
{
	const struct conv_unit *u = d->u;
	const struct ccpc_conv *v = &u->n->conv;
	const struct slab *s = &d->t.s;
	int64_t first = o / v->weight_co * v->weight_co, full = slab_full(s);
	struct conv_span p = {
		.ci1 = v->ci - 1,
		.co_num = cnn_min(first + v->weight_co, v->co) - first,
		.co_start = o - first,
		.co_cnt = end - o,
		.in = d->in.base,
		.out = d->out.base + (first - d->t.o0) * d->out.pitch,
	};

	load_weights(c, d, o, 0, end, 0);
	ccpc_step_ahead(c, u->n, d->next);
	p.weight = d->weights;
	p.bias = d->weights + d->k.bias;
	ccpc_conv_bases(c, s, &p, &d->in, &d->out);
	ccpc_set(c, 7, 0);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
	if (full)
		ccpc_conv_geometry(c, u->n, s, &p, TILE_ROWS);
	for (int64_t x = u->x0; x < u->x1 && full; x++)
		exec_column(c, x, full);
	if (!slab_rest(s))
		return;
	ccpc_conv_geometry(c, u->n, s, &p, slab_rest(s));
	for (int64_t x = u->x0; x < u->x1; x++)
		exec_tile(c, x, full * TILE_ROWS);
}

/* One slice of the input channels of a tile, for chunk o..end-1; last: the tile is the last one. */
static void exec_slice(struct ccpc_code *c, struct dense *d, int64_t o, int64_t end, int64_t slice,
		       int64_t x, int64_t row, bool last)
{
	const struct conv_unit *u = d->u;
	const struct ccpc_conv *v = &u->n->conv;
	const struct slab *s = &d->t.s;
	int64_t s0 = slice * v->slice, s1 = cnn_min(s0 + v->slice, v->ci);
	int64_t c0 = u->group * v->ci, skipped = v->slice_input ? s0 : 0;
	struct conv_span p = {
		.ci0 = s0, .ci1 = s1 - 1, .co_num = end - o, .co_cnt = end - o,
		.out = d->out.base + (o - d->t.o0) * d->out.pitch,
	};

	if (v->slice_input) {
		d->in = ccpc_slab_in(u->n, u->image, c0 + s0, c0 + s1, s);
		ccpc_place(&d->in, ccpc_step_read(c, u->n));
		ccpc_load(c, &d->in);
	}
	p.in = d->in.base - skipped * d->in.pitch;
	if (slice + 1 < slice_count(v))
		load_weights(c, d, o, slice, o, slice + 1);
	else
		load_weights(c, d, o, slice, last ? end : o, 0);
	ccpc_step_ahead(c, u->n, d->next);
	p.weight = d->weights - s0 * v->kh * v->kw;
	p.bias = d->weights + d->k.bias;
	ccpc_conv_bases(c, s, &p, &d->in, &d->out);
	ccpc_set(c, 7, s1 - s0);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
	ccpc_conv_geometry(c, u->n, s, &p, cnn_min(TILE_ROWS, s->y1 - s->y0 - row));
	exec_tile(c, x, row);
}

static void exec_slices(struct ccpc_code *c, struct dense *d, int64_t o, int64_t end)
{
	const struct conv_unit *u = d->u;
	const struct ccpc_conv *v = &u->n->conv;
	int64_t rows = d->t.s.y1 - d->t.s.y0;

	for (int64_t x = u->x0; x < u->x1; x++)
		for (int64_t row = 0; row < rows && !c->overflow; row += TILE_ROWS)
			for (int64_t slice = 0; slice < slice_count(v); slice++)
				exec_slice(c, d, o, end, slice, x, row,
					   x + 1 == u->x1 && row + TILE_ROWS >= rows);
}

/* Will the next step read the same input, and does the result fit behind it? */
static bool keeps_input(const struct ccpc_code *c, const struct dense *d)
{
	const struct ccpc_conv *v = &d->u->n->conv;
	int64_t before = (d->in.at - ccpc_step_read(c, d->u->n)) * LINE_FLOATS;

	return d->u->i + 1 < ccpc_step_count(v) && !v->slice_input && !d->in.kept &&
	       ccpc_step_at(v, d->u->i + 1).s.y0 == d->t.s.y0 &&
	       before + ccpc_region_floats(&d->in) + ccpc_region_floats(&d->out) <=
		       ccpc_turn_room(d->u->n);
}

void ccpc_emit_dense(struct ccpc_code *c, const void *unit)
{
	const struct conv_unit *u = unit;
	const struct ccpc_node *n = u->n;
	const struct ccpc_conv *v = &n->conv;
	struct dense d = { .u = u, .t = ccpc_step_at(v, u->i), .k = ccpc_chunk_shape(v) };
	int64_t c0 = u->group * v->ci, o0 = u->group * v->co;
	struct ccpc_chunk chunk;

	d.in = ccpc_slab_in(n, u->image, c0, c0 + v->ci, &d.t.s);
	d.out = ccpc_slab_out(n, u->image, o0 + d.t.o0, o0 + d.t.o1, &d.t.s);
	if (v->adds)
		d.add = ccpc_slab_add(n, u->image, o0 + d.t.o0, o0 + d.t.o1, &d.t.s);
	d.next = ccpc_next_input(u);
	ccpc_step_load(c, n, v->slice_input ? NULL : &d.in, v->adds ? &d.add : NULL, &d.out);
	chunk = ccpc_chunk_at(n, ccpc_chunk_index(v, u->group, d.t.o0, 0));
	ccpc_load_weights(c, &chunk);
	ccpc_step_start(c);
	ccpc_open_out(c, &d.out, u->x0 > 0);
	for (int64_t o = d.t.o0, end; o < d.t.o1; o = end) {
		end = cnn_min(o / v->weight_co * v->weight_co + v->weight_co, d.t.o1);
		if (v->slice)
			exec_slices(c, &d, o, end);
		else
			exec_chunk(c, &d, o, end);
	}
	if (v->adds)
		ccpc_step_add(c, n, keeps_input(c, &d) ? &d.in : NULL, &d.add, &d.out,
			      d.weights + d.k.ones);
	else
		ccpc_step_done(c, &d.out);
}
