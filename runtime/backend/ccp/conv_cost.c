// SPDX-License-Identifier: MIT
/*
 * Estimates the cost of a plan of a convolution: applies the cycle model of
 * Documentation/hardware/ccp.rst tile by tile, without making code.
 */
#include "conv.h"

#define DMA_SETUP	16
/* Controller cycles: an EXEC with its CFG and R4; both parameter groups. */
#define PATCH_SETUP	11
#define CHUNK_SETUP	30
/* Extra cost of a moved line in cycles, so that equally fast plans keep values resident. */
#define LINE_WORTH	1

struct cost_walk {
	const struct ccpc_hw *hw;
	const struct ccpc_node *n;
	struct ccpc_chunk_shape k;
	struct ccpc_region in;	/* all input channels of the slab */
	int64_t in_lines;	/* lines of the input in the read bank */
	int64_t pending;	/* lines of the pending output */
	int64_t store;		/* cycles of its store */
	int64_t stored;		/* if tiles alternate: cycles of the store before it */
	int64_t computed;	/* cycles of the last tile's EXECs without other transfers */
	int64_t control;	/* of the controller for transfers of cut rows beside EXECs */
	bool fits_half;		/* a chunk fits a half of the weight banks */
	int64_t chunk[2];	/* in the weight banks, latest first */
	int64_t beside;		/* cycles of the last slice beyond its weight transfer */
	int64_t ahead;		/* cycles of EXECs since the last chunk, hiding a load */
	int64_t cycles, lines;
};

int64_t ccpc_conv_exec_cycles(const struct ccpc_hw *hw, const struct ccpc_conv *v, int64_t ci,
			      int64_t co, int64_t rows, bool last)
{
	const struct ccpc_exec_shape e = {
		.ci = ci, .co = co, .rows = rows, .kh = v->kh, .kw = v->kw, .sy = v->sy,
		.sx = v->sx,
	};
	int64_t t = 6 + ccpc_conv_body_cycles(hw->groups, &e);

	if (last)
		t += rows * co;
	if (last && v->w.bias)
		t += 4 * cnn_div_up(co, CNNACC_CCP_BEATS * hw->groups);
	return t;
}

static int64_t region_cycles(const struct ccpc_region *r)
{
	return r->resident ? 0 : r->pieces * r->rows * (DMA_SETUP + r->lines);
}

static void move(struct cost_walk *w, const struct ccpc_region *r)
{
	w->cycles += region_cycles(r);
	w->lines += ccpc_region_moved(r);
}

static int64_t weight_cycles(const struct ccpc_chunk_shape *k)
{
	return k->banks * (DMA_SETUP + k->lines);
}

/* Adds the loads of a slice of the input, for each of the patches; its cycles for one. */
static int64_t load_slice(struct cost_walk *w, const struct ccpc_region *in, int64_t patches)
{
	w->lines += patches * ccpc_region_moved(in);
	return region_cycles(in);
}

/* Cycles of patches of @rows rows. Weights stay, or are loaded slice by slice. */
static int64_t patch_cycles(struct cost_walk *w, const struct ccpc_slab *s, int64_t co,
			    int64_t rows, int64_t patches)
{
	const struct ccpc_conv *v = &w->n->conv;
	int64_t slices = ccpc_slice_count(v), all = 0, channels = 0, exec = 0;
	bool alike = w->n->in.layout.plane_pitch % CCPC_LINE_FLOATS == 0;
	struct ccpc_region in;

	if (!v->slice)
		return patches *
		       (ccpc_conv_exec_cycles(w->hw, v, v->ci, co, rows, true) + PATCH_SETUP);
	for (int64_t i = 0; i < slices; i++) {
		int64_t s0 = i * v->slice, s1 = cnn_min(s0 + v->slice, v->ci);
		int64_t load = weight_cycles(&w->k), setup = CHUNK_SETUP + PATCH_SETUP;

		/* Slices of equally many channels cost the same, if all start alike in a line. */
		if (s1 - s0 != channels || s1 == v->ci)
			exec = ccpc_conv_exec_cycles(w->hw, v, s1 - s0, co, rows, s1 == v->ci);
		if (v->slice_input && (s1 - s0 != channels || !alike))
			in = ccpc_slab_in(w->n, 0, s0, s1, s);
		channels = s1 - s0;
		all += w->fits_half ? cnn_max(exec + setup, load) : exec + cnn_max(setup, load);
		w->beside = w->fits_half ? cnn_max(exec + setup - load, 0) : 0;
		if (v->slice_input)
			all += load_slice(w, &in, patches);
	}
	w->lines += patches * slices * ccpc_chunk_lines(&w->k);
	return patches * all;
}

/* Cycles until a chunk of weights is loaded. */
static int64_t take_chunk(struct cost_walk *w, int64_t chunk)
{
	int64_t load = weight_cycles(&w->k);

	if (chunk == w->chunk[0] || (w->fits_half && chunk == w->chunk[1]))
		return 0;
	w->chunk[1] = w->chunk[0];
	w->chunk[0] = chunk;
	w->lines += ccpc_chunk_lines(&w->k);
	if (w->fits_half)
		load = cnn_max(0, load - w->ahead);
	w->ahead = 0;
	return load;
}

/* Cycles of output channels o..end-1, which are in one chunk. */
static int64_t part_cycles(struct cost_walk *w, const struct ccpc_slab *s, int64_t o, int64_t end)
{
	const struct ccpc_conv *v = &w->n->conv;
	int64_t full = ccpc_full_patches(s), rest = ccpc_last_rows(s),
		columns = ccpc_patch_columns(s), t = 0, load;

	load = v->slice ? 0 : take_chunk(w, o / v->weight_co);
	t += CHUNK_SETUP;
	if (full)
		t += patch_cycles(w, s, end - o, CCPC_EXEC_ROWS, full * columns);
	if (rest)
		t += patch_cycles(w, s, end - o, rest, columns);
	w->ahead += t;
	return load + t;
}

/* If tiles alternate: the load and a store overlap the previous tile. */
static void load_ahead(struct cost_walk *w, bool new_slab, const struct ccpc_region *out)
{
	int64_t load = new_slab ? region_cycles(&w->in) : 0;

	w->cycles += cnn_max(0, load + w->stored - w->computed);
	w->control = ccpc_region_control(out) + (new_slab ? ccpc_region_control(&w->in) : 0);
	w->lines += new_slab ? ccpc_region_moved(&w->in) : 0;
	w->cycles += ccpc_prepare_cycles(out);
	w->stored = w->store;
}

/* Adds the loads of a tile; true if the pending store overlaps the tile. */
static bool load_tile(struct cost_walk *w, bool new_slab, const struct ccpc_region *out)
{
	const struct ccpc_conv *v = &w->n->conv;
	int64_t bank = ccpc_can_swap(w->n) ? ccpc_swap_capacity(w->n) / CCPC_LINE_FLOATS : 0;
	const struct ccpc_region *in = &w->in;
	bool beside = w->pending && v->adds &&
		      (in->resident || (!new_slab && w->in_lines + w->pending <= bank));
	bool load = !v->slice_input && (new_slab || (v->adds && !beside));
	bool swap =
		beside || (w->pending && load && w->pending + ccpc_region_lines(in) <= bank);

	if (load)
		move(w, in);
	w->in_lines = ccpc_region_lines(in);
	w->control = swap ? ccpc_region_control(out) : 0;
	if (v->adds)
		move(w, out);
	/* Lines shared with an earlier output are fetched. */
	w->cycles += ccpc_prepare_cycles(out);
	if (!swap)
		w->cycles += w->store;
	return swap;
}

static void walk_tile(struct cost_walk *w, const struct ccpc_conv_tile *t, bool new_slab)
{
	const struct ccpc_conv *v = &w->n->conv;
	struct ccpc_region out = ccpc_slab_out(w->n, &w->n->out, 0, t->o0, t->o1, &t->s);
	int64_t hidden = 0, before;

	if (new_slab)
		w->in = ccpc_slab_in(w->n, 0, 0, v->ci, &t->s);
	if (w->n->alternate)
		load_ahead(w, new_slab, &out);
	else if (load_tile(w, new_slab, &out))
		hidden = w->store;
	before = w->cycles;
	w->cycles += w->control;

	for (int64_t o = t->o0, end; o < t->o1; o = end) {
		int64_t cycles;

		end = cnn_min(o / v->weight_co * v->weight_co + v->weight_co, t->o1);
		cycles = part_cycles(w, &t->s, o, end);
		/* A load of weights queues behind the store. */
		w->cycles += cnn_max(cycles, hidden);
		hidden = 0;
	}
	w->computed = v->slice ? w->beside : w->cycles - before;
	w->pending = ccpc_region_lines(&out);
	w->store = region_cycles(&out);
	w->lines += ccpc_region_moved(&out);
	/* A section after the first of a tile fetches the outputs of those before it. */
	w->cycles += (ccpc_conv_sections(v) - 1) * 2 * w->store;
	if (v->adds)
		w->cycles += ccpc_add_cycles(w->pending);
}

int64_t ccpc_dense_cost(const struct ccpc_hw *hw, const struct ccpc_node *n, int64_t limit)
{
	struct cost_walk w = {
		.hw = hw, .n = n, .k = ccpc_chunk_shape_of(&n->conv), .chunk = { -1, -1 },
	};
	int64_t y0 = -1, x0 = -1;
	int64_t tiles = ccpc_conv_tile_count(&n->conv);

	w.fits_half = w.k.lines <= ccpc_half_lines(hw);
	for (int64_t i = 0; i < tiles && w.cycles < limit; i++) {
		struct ccpc_conv_tile t = ccpc_conv_tile_at(&n->conv, i);

		walk_tile(&w, &t, t.s.y0 != y0 || t.s.x0 != x0);
		y0 = t.s.y0;
		x0 = t.s.x0;
	}
	return w.cycles + w.store + w.lines * LINE_WORTH;
}
