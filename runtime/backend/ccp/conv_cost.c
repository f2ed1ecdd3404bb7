// SPDX-License-Identifier: MIT
/*
 * What a plan of a convolution costs: the cycle model of Documentation/hardware/ccp.rst gone
 * through step by step, without making the code.
 */
#include "conv.h"

#define DMA_SETUP	16
/* Controller: an EXEC with its CFG and tile; both parameter groups set. */
#define TILE_SETUP	11
#define CHUNK_SETUP	30
/* A line moved is worth a cycle beyond the time that it takes, as where values are kept. */
#define LINE_WORTH	1

struct walk {
	const struct ccpc_hw *hw;
	const struct ccpc_node *n;
	struct chunk k;
	int64_t in_lines;	/* of the input in the read bank */
	int64_t pending;	/* lines computed but not stored */
	int64_t store;		/* cycles that will take */
	int64_t stored;		/* halves alternate: cycles of the store before it */
	int64_t computed;	/* and of EXECs of the last step that wait for no other transfer */
	bool half;		/* a chunk fits a half of the weight banks */
	int64_t chunk[2];	/* in the weight banks, the last first */
	int64_t beside;		/* of those of a slice, what the next slice's weights leave */
	int64_t ahead;		/* cycles of EXECs since then, beside which the next has come */
	int64_t cycles, lines;
};

int64_t ccpc_conv_time(const struct ccpc_hw *hw, const struct ccpc_conv *v, int64_t ci, int64_t co,
		       int64_t vec, bool last)
{
	int64_t t = 6 + ccpc_conv_body(hw, ci, co, vec, v->kh, v->kw, v->sy, v->sx);

	if (last)
		t += vec * co;
	if (last && v->w.bias)
		t += 4 * cnn_div_up(co, CNNACC_CCP_BEATS * hw->groups);
	return t;
}

static int64_t region_cycles(const struct ccpc_region *r)
{
	return r->kept ? 0 : r->pieces * (DMA_SETUP + r->lines);
}

static void move(struct walk *w, const struct ccpc_region *r)
{
	w->cycles += region_cycles(r);
	w->lines += r->pieces * r->lines;
}

static int64_t weight_cycles(const struct chunk *k)
{
	return k->banks * (DMA_SETUP + k->lines);
}

/* Tiles of vec rows: weights stay, or come slice by slice. */
static int64_t tile_cycles(struct walk *w, const struct slab *s, int64_t co, int64_t vec,
			   int64_t tiles)
{
	const struct ccpc_conv *v = &w->n->conv;
	int64_t slices = slice_count(v), all = 0;

	if (!v->slice)
		return tiles * (ccpc_conv_time(w->hw, v, v->ci, co, vec, true) + TILE_SETUP);
	for (int64_t i = 0; i < slices; i++) {
		int64_t s0 = i * v->slice, s1 = cnn_min(s0 + v->slice, v->ci);
		int64_t load = weight_cycles(&w->k), setup = CHUNK_SETUP + TILE_SETUP;
		int64_t exec = ccpc_conv_time(w->hw, v, s1 - s0, co, vec, s1 == v->ci);

		all += w->half ? cnn_max(exec + setup, load) : exec + cnn_max(setup, load);
		w->beside = w->half ? cnn_max(exec + setup - load, 0) : 0;
		if (v->slice_input) {
			struct ccpc_region in = ccpc_slab_in(w->n, 0, s0, s1, s);

			all += region_cycles(&in);
			w->lines += tiles * in.pieces * in.lines;
		}
	}
	w->lines += tiles * slices * chunk_lines(&w->k);
	return tiles * all;
}

/* Cycles until a chunk of weights is there. */
static int64_t take_chunk(struct walk *w, int64_t chunk)
{
	int64_t load = weight_cycles(&w->k);

	if (chunk == w->chunk[0] || (w->half && chunk == w->chunk[1]))
		return 0;
	w->chunk[1] = w->chunk[0];
	w->chunk[0] = chunk;
	w->lines += chunk_lines(&w->k);
	if (w->half)
		load = cnn_max(0, load - w->ahead);
	w->ahead = 0;
	return load;
}

/* Computing output channels o..end-1, which are in one chunk. */
static int64_t part_cycles(struct walk *w, const struct slab *s, int64_t o, int64_t end)
{
	const struct ccpc_conv *v = &w->n->conv;
	int64_t full = slab_full(s), rest = slab_rest(s), columns = conv_columns(v), t = 0, load;

	load = v->slice ? 0 : take_chunk(w, o / v->weight_co);
	t += CHUNK_SETUP;
	if (full)
		t += tile_cycles(w, s, end - o, TILE_ROWS, full * columns);
	if (rest)
		t += tile_cycles(w, s, end - o, rest, columns);
	w->ahead += t;
	return load + t;
}

/* Halves alternate: the load and a store have gone on beside the step before. */
static void load_ahead(struct walk *w, const struct step *t, bool new_slab,
		       const struct ccpc_region *out)
{
	struct ccpc_region in = ccpc_slab_in(w->n, 0, 0, w->n->conv.ci, &t->s);
	int64_t load = new_slab ? region_cycles(&in) : 0;

	w->cycles += cnn_max(0, load + w->stored - w->computed);
	w->lines += new_slab ? in.pieces * in.lines : 0;
	if (!out->kept && out->lo % LINE_FLOATS)
		w->cycles += out->pieces * (DMA_SETUP + 1);
	w->stored = w->store;
}

/* Loads of a step; does the last store go on beside what follows? */
static bool load_step(struct walk *w, const struct step *t, bool new_slab,
		      const struct ccpc_region *out)
{
	const struct ccpc_conv *v = &w->n->conv;
	int64_t bank = ccpc_can_turn(w->n) ? ccpc_turn_room(w->n) / LINE_FLOATS : 0;
	struct ccpc_region in = ccpc_slab_in(w->n, 0, 0, v->ci, &t->s);
	bool beside = w->pending && v->adds &&
		      (in.kept || (!new_slab && w->in_lines + w->pending <= bank));
	bool load = !v->slice_input && (new_slab || (v->adds && !beside));
	bool turn = beside || (w->pending && load && w->pending + in.lines * in.pieces <= bank);

	if (load)
		move(w, &in);
	w->in_lines = in.lines * in.pieces;
	if (v->adds)
		move(w, out);
	/* Lines shared with what an earlier step has stored. */
	if (!out->kept && out->lo % LINE_FLOATS)
		w->cycles += out->pieces * (DMA_SETUP + 1);
	if (!turn)
		w->cycles += w->store;
	return turn;
}

static void walk_step(struct walk *w, const struct step *t, bool new_slab)
{
	const struct ccpc_conv *v = &w->n->conv;
	struct ccpc_region out = ccpc_slab_out(w->n, 0, t->o0, t->o1, &t->s);
	int64_t hidden = 0, before;

	if (w->n->split)
		load_ahead(w, t, new_slab, &out);
	else if (load_step(w, t, new_slab, &out))
		hidden = w->store;
	before = w->cycles;

	for (int64_t o = t->o0, end; o < t->o1; o = end) {
		int64_t cycles;

		end = cnn_min(o / v->weight_co * v->weight_co + v->weight_co, t->o1);
		cycles = part_cycles(w, &t->s, o, end);
		/* Whoever waits for the next weights waits for the store before them. */
		w->cycles += cnn_max(cycles, hidden);
		hidden = 0;
	}
	w->computed = v->slice ? w->beside : w->cycles - before;
	w->pending = out.lines * out.pieces;
	w->store = region_cycles(&out);
	w->lines += w->pending;
	if (v->adds)
		w->cycles += ccpc_add_cycles(w->pending);
}

int64_t ccpc_dense_cost(const struct ccpc_hw *hw, const struct ccpc_node *n, int64_t limit)
{
	struct walk w = {
		.hw = hw,
		.n = n,
		.k = ccpc_chunk_shape(&n->conv),
		.chunk = { -1, -1 },
	};
	int64_t steps = ccpc_step_count(&n->conv), y0 = -1;

	w.half = w.k.lines <= ccpc_half_lines(hw);
	for (int64_t i = 0; i < steps && w.cycles < limit; i++) {
		struct step t = ccpc_step_at(&n->conv, i);

		walk_step(&w, &t, t.s.y0 != y0);
		y0 = t.s.y0;
	}
	return w.cycles + w.store + w.lines * LINE_WORTH;
}
