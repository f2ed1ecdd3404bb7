// SPDX-License-Identifier: MIT
/* Code of convolutions on core ccp, group by group: tiles, chunks of weights, patches, slices. */
#include "conv.h"

/* What is the same for all EXECs of a tile. */
struct dense {
	const struct ccpc_conv_part *u;
	struct ccpc_conv_tile t;
	struct ccpc_chunk_shape k;
	struct ccpc_region in, add, out;
	struct ccpc_region next; /* input of the part after it */
	int64_t weights;	/* float of the weight banks where the chunk in use starts */
};

static void exec_patch(struct ccpc_code *c, int64_t column, int64_t row)
{
	ccpc_set(c, 4, column << 16 | row);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

/* All full patches that begin in an output column; a loop advances R4. */
static void exec_column(struct ccpc_code *c, int64_t column, int64_t patches)
{
	uint32_t top;

	if (patches < 4) {
		for (int64_t t = 0; t < patches; t++)
			exec_patch(c, column, t * CCPC_EXEC_ROWS);
		return;
	}
	ccpc_set(c, 4, column << 16);
	top = ccpc_loop(c, patches);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
	ccpc_add(c, 4, CCPC_EXEC_ROWS);
	ccpc_loop_end(c, top);
	ccpc_reg_advanced(c, 4, patches * CCPC_EXEC_ROWS);
}

/* First chunk of the part after this one. */
static struct ccpc_weight_chunk next_part(const struct ccpc_code *c, const struct dense *d)
{
	const struct ccpc_conv_part *u = d->u;
	const struct ccpc_conv *v = &u->n->conv;
	int64_t group = u->group, o = 0;

	if (u->x1 < ccpc_patch_columns(&d->t.s))
		o = d->t.o0;
	else if (u->i + 1 < ccpc_conv_tile_count(v))
		o = ccpc_conv_tile_at(v, u->i + 1).o0;
	else
		group++;
	if (group == v->groups)
		return u->image + 1 < v->n ? u->n->first : c->next;
	return ccpc_chunk_at(u->n, ccpc_chunk_index(v, group, o, 0));
}

/* Loads the weights of output channel o and a slice. Prefetches those of channel @then. */
static void load_weights(struct ccpc_code *c, struct dense *d, int64_t o, int64_t slice,
			 int64_t then, int64_t then_slice)
{
	const struct ccpc_node *n = d->u->n;
	int64_t g = d->u->group;
	struct ccpc_weight_chunk k = ccpc_chunk_at(n, ccpc_chunk_index(&n->conv, g, o, slice)),
				 next;

	d->weights = ccpc_load_weights(c, &k) * CCPC_LINE_FLOATS;
	next = then < d->t.o1 ? ccpc_chunk_at(n, ccpc_chunk_index(&n->conv, g, then, then_slice)) :
				next_part(c, d);
	ccpc_prefetch_weights(c, &next);
}

/* Output channels o..end-1 of a chunk that holds all input channels. */
static void exec_chunk(struct ccpc_code *c, struct dense *d, int64_t o, int64_t end)
{
	const struct ccpc_conv_part *u = d->u;
	const struct ccpc_conv *v = &u->n->conv;
	const struct ccpc_slab *s = &d->t.s;
	int64_t first = o / v->weight_co * v->weight_co, full = ccpc_full_patches(s);
	struct ccpc_conv_params p = {
		.ci1 = v->ci - 1, .co_num = cnn_min(first + v->weight_co, v->co) - first,
		.co_start = o - first, .co_cnt = end - o, .in = d->in.base,
		.out = d->out.base + (first - d->t.o0) * d->out.pitch,
	};

	load_weights(c, d, o, 0, end, 0);
	ccpc_tile_prefetch(c, u->n, d->next);
	p.weight = d->weights;
	p.bias = d->weights + d->k.bias;
	ccpc_conv_bases(c, s, &p, &d->in, &d->out);
	ccpc_set(c, 7, 0);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
	if (full)
		ccpc_conv_geometry(c, u->n, s, &p, CCPC_EXEC_ROWS);
	for (int64_t x = u->x0; x < u->x1 && full; x++)
		exec_column(c, ccpc_patch_column(s, x), full);
	if (!ccpc_last_rows(s))
		return;
	ccpc_conv_geometry(c, u->n, s, &p, ccpc_last_rows(s));
	for (int64_t x = u->x0; x < u->x1; x++)
		exec_patch(c, ccpc_patch_column(s, x), full * CCPC_EXEC_ROWS);
}

/* An EXEC of one patch: output channels o..end-1, a slice of the input channels. */
struct slice_exec {
	int64_t o, end, slice;
	int64_t x, row; /* column of patches, first row */
	bool last;	/* the last patch of the part */
};

static void load_slice_weights(struct ccpc_code *c, struct dense *d, const struct slice_exec *e)
{
	if (e->slice + 1 < ccpc_slice_count(&d->u->n->conv))
		load_weights(c, d, e->o, e->slice, e->o, e->slice + 1);
	else
		load_weights(c, d, e->o, e->slice, e->last ? e->end : e->o, 0);
}

static void exec_slice(struct ccpc_code *c, struct dense *d, const struct slice_exec *e)
{
	const struct ccpc_conv_part *u = d->u;
	const struct ccpc_conv *v = &u->n->conv;
	const struct ccpc_slab *s = &d->t.s;
	int64_t s0 = e->slice * v->slice, s1 = cnn_min(s0 + v->slice, v->ci);
	int64_t c0 = u->group * v->ci, skipped = v->slice_input ? s0 : 0;
	struct ccpc_conv_params p = {
		.ci0 = s0, .ci1 = s1 - 1, .co_num = e->end - e->o, .co_cnt = e->end - e->o,
		.out = d->out.base + (e->o - d->t.o0) * d->out.pitch,
	};

	if (v->slice_input) {
		d->in = ccpc_slab_in(u->n, u->image, c0 + s0, c0 + s1, s);
		ccpc_region_place(&d->in, ccpc_tile_read_line(c, u->n));
		ccpc_load(c, &d->in);
	}
	p.in = d->in.base - skipped * d->in.pitch;
	load_slice_weights(c, d, e);
	ccpc_tile_prefetch(c, u->n, d->next);
	p.weight = d->weights - s0 * v->kh * v->kw;
	p.bias = d->weights + d->k.bias;
	ccpc_conv_bases(c, s, &p, &d->in, &d->out);
	ccpc_set(c, 7, s1 - s0);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
	ccpc_conv_geometry(c, u->n, s, &p, cnn_min(CCPC_EXEC_ROWS, s->y1 - s->y0 - e->row));
	exec_patch(c, ccpc_patch_column(s, e->x), e->row);
}

/* Output channels o..end-1, slice by slice. */
static void exec_slices(struct ccpc_code *c, struct dense *d, int64_t o, int64_t end)
{
	const struct ccpc_conv_part *u = d->u;
	int64_t rows = d->t.s.y1 - d->t.s.y0;
	struct slice_exec e = { .o = o, .end = end };

	for (e.x = u->x0; e.x < u->x1; e.x++) {
		for (e.row = 0; e.row < rows && !c->overflow; e.row += CCPC_EXEC_ROWS) {
			e.last = e.x + 1 == u->x1 && e.row + CCPC_EXEC_ROWS >= rows;
			for (e.slice = 0; e.slice < ccpc_slice_count(&u->n->conv); e.slice++)
				exec_slice(c, d, &e);
		}
	}
}

/* True if the next tile reads the same input, and the result fits behind it. */
static bool keeps_input(const struct ccpc_code *c, const struct dense *d)
{
	const struct ccpc_conv *v = &d->u->n->conv;
	int64_t before = (d->in.at - ccpc_tile_read_line(c, d->u->n)) * CCPC_LINE_FLOATS;
	struct ccpc_conv_tile next;

	if (d->u->i + 1 == ccpc_conv_tile_count(v) || v->slice_input || d->in.resident)
		return false;
	next = ccpc_conv_tile_at(v, d->u->i + 1);
	return ccpc_same_slab(&next.s, &d->t.s) &&
	       before + ccpc_region_floats(&d->in) + ccpc_region_floats(&d->out) <=
		       ccpc_swap_capacity(d->u->n);
}

void ccpc_emit_dense(struct ccpc_code *c, const void *unit)
{
	const struct ccpc_conv_part *u = unit;
	const struct ccpc_node *n = u->n;
	const struct ccpc_conv *v = &n->conv;
	struct dense d = { .u = u, .t = ccpc_conv_tile_at(v, u->i), .k = ccpc_chunk_shape_of(v) };
	int64_t c0 = u->group * v->ci, o0 = u->group * v->co;
	struct ccpc_weight_chunk chunk;

	d.in = ccpc_slab_in(n, u->image, c0, c0 + v->ci, &d.t.s);
	d.out = ccpc_slab_out(n, &n->out, u->image, o0 + d.t.o0, o0 + d.t.o1, &d.t.s);
	if (v->adds)
		d.add = ccpc_slab_out(n, &n->add, u->image, o0 + d.t.o0, o0 + d.t.o1, &d.t.s);
	d.next = ccpc_next_input(u);
	ccpc_tile_load(c, n, v->slice_input ? NULL : &d.in, v->adds ? &d.add : NULL, &d.out);
	chunk = ccpc_chunk_at(n, ccpc_chunk_index(v, u->group, d.t.o0, 0));
	ccpc_load_weights(c, &chunk);
	ccpc_tile_start(c);
	ccpc_prepare_out(c, &d.out, u->x0 > 0);
	for (int64_t o = d.t.o0, end; o < d.t.o1; o = end) {
		end = cnn_min(o / v->weight_co * v->weight_co + v->weight_co, d.t.o1);
		if (v->slice)
			exec_slices(c, &d, o, end);
		else
			exec_chunk(c, &d, o, end);
	}
	if (v->adds)
		ccpc_tile_add(c, n, keeps_input(c, &d) ? &d.in : NULL, &d.add, &d.out,
			      d.weights + d.k.ones);
	else
		ccpc_tile_done(c, &d.out);
}
