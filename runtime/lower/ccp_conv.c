// SPDX-License-Identifier: MIT
/*
 * Convolutions on core ccp.
 *
 * The map is cut into slabs of output rows, whose input rows and halo the read bank holds, and the
 * output channels into batches that the write bank holds. Weights come in chunks of output
 * channels. Where not even four of those fit the weight banks, or one output row of all input
 * channels the read bank, each tile is computed in slices of input channels whose sums stay in
 * the LOBs. Groups are done in blocks if they are small: tile by tile, a loop over the groups.
 *
 * An average with borders is a convolution of each channel whose tiles have different weights. A
 * tile writes eight columns even where fewer have its divisor; the next one sets the rest right.
 */
#include <string.h>

#include "ccp.h"

#define TILE_ROWS	CNNACC_CCP_ROWS
#define TILE_COLUMNS	CNNACC_CCP_LANES

/* Output rows y0..y1-1 and the input rows they need, clipped to the map. */
struct slab {
	int64_t y0, y1, first, rows, pt, pb;
};

struct unit {
	const struct lcp_node *n;
	int64_t image;
	int64_t g0, g1;		/* groups */
	int64_t o0, o1;		/* output channels of the group, if it is one */
	int64_t y0, y1;		/* output rows */
	int64_t x0, x1;		/* tiles of columns */
};

static struct slab slab_at(const struct lcp_conv *v, int64_t y0, int64_t y1)
{
	struct slab s = { .y0 = y0, .y1 = lw_min(y1, v->oh) };
	int64_t end = (s.y1 - 1) * v->sy + v->kh - v->pt;

	if (y0 > 0 || s.y1 < v->oh) {
		s.first = lw_max(0, y0 * v->sy - v->pt);
		s.rows = lw_min(v->ih, end) - s.first;
	} else {
		s.rows = v->ih;
	}
	s.pt = lw_max(0, v->pt - y0 * v->sy);
	s.pb = lw_max(0, end - s.first - s.rows);
	return s;
}

static struct lcp_region in_region(const struct lcp_node *n, int64_t image, int64_t c0, int64_t c1,
				   const struct slab *s)
{
	int64_t iw = n->conv.iw;

	return lcp_region(n->in_line, &n->in_home, &n->in_l, image, c0, c1, s->first * iw,
			  (s->first + s->rows) * iw);
}

static struct lcp_region out_region(const struct lcp_node *n, int64_t image, int64_t c0,
				    int64_t c1, const struct slab *s)
{
	int64_t ow = n->conv.ow;

	return lcp_region(n->out_line, &n->out_home, &n->out_l, image, c0, c1, s->y0 * ow, s->y1 * ow);
}

/* Most floats that channels of a slab take in a bank, and whether every slab has input rows. */
static bool slab_floats(const struct lcp_node *n, int64_t rows, int64_t in_ch, int64_t out_ch,
			int64_t *in, int64_t *out)
{
	const struct lcp_conv *v = &n->conv;

	*in = *out = 0;
	for (int64_t y = 0; y < v->oh; y += rows) {
		struct slab s = slab_at(v, y, y + rows);
		struct lcp_region ri, ro;

		if (s.rows < 1 || s.pt > CNNACC_CCP_PAD_MAX || s.pb > CNNACC_CCP_PAD_MAX)
			return false;
		ri = in_region(n, 0, 0, in_ch, &s);
		ro = out_region(n, 0, 0, out_ch, &s);
		*in = lw_max(*in, lcp_region_floats(&ri));
		*out = lw_max(*out, lcp_region_floats(&ro));
	}
	/* Compact planes may start anywhere in a line. */
	if (!n->in_home.kept && n->in_l.plane_pitch % LINE_FLOATS)
		*in += LINE_FLOATS;
	if (!n->out_home.kept && n->out_l.plane_pitch % LINE_FLOATS)
		*out += LINE_FLOATS;
	return true;
}

/* Rows of a slab to try: the whole map, then multiples of a tile, then less than a tile. */
static int64_t next_rows(const struct lcp_conv *v, int64_t rows, int64_t limit)
{
	if (!rows)
		return lw_min(v->oh, limit);
	if (rows > 8 * TILE_ROWS)
		return lw_round_up(rows / 2, TILE_ROWS);
	if (rows > TILE_ROWS)
		return (rows - 1) / TILE_ROWS * TILE_ROWS;
	return rows > 8 ? 8 : rows / 2;
}

static bool can_split(const struct lcp_node *n, int64_t rows)
{
	return rows >= n->conv.oh ||
	       ((n->in_home.kept || lcp_splits_planes(&n->in_l)) &&
		(n->out_home.kept || lcp_splits_planes(&n->out_l)));
}

/* A round number that is not above value. */
static int64_t round_channels(int64_t value, int64_t all)
{
	if (value >= all)
		return all;
	return value >= 16 ? value / 16 * 16 : value >= 4 ? value / 4 * 4 : value;
}

/* ---- cost ------------------------------------------------------------------------------ */

static int64_t exec_cost(const struct lcp_hw *hw, const struct lcp_conv *v, int64_t rows,
			 int64_t co)
{
	int64_t vec = lw_div_up(rows, lw_div_up(rows, TILE_ROWS));

	return lcp_conv_body(hw, v->ci, co, vec, v->kh, v->kw, v->sy, v->sx) + vec * co + 24;
}

static int64_t tile_count(const struct lcp_conv *v, int64_t rows)
{
	return lw_div_up(rows, TILE_ROWS) * lw_div_up(v->ow, TILE_COLUMNS);
}

/* Cycles of one image and group if slabs have rows rows; v holds the rest of the plan. */
static int64_t dense_cost(const struct lcp_hw *hw, const struct lcp_node *n, int64_t rows)
{
	const struct lcp_conv *v = &n->conv;
	int64_t slabs = lw_div_up(v->oh, rows), batches = lw_div_up(v->co, v->out_co);
	int64_t chunks = lw_div_up(v->co, v->weight_co);
	int64_t part = lw_min(v->out_co, v->weight_co), parts = lw_div_up(v->co, part);
	struct slab s = slab_at(v, slabs > 1 ? rows : 0, slabs > 1 ? 2 * rows : rows);
	struct lcp_region in = in_region(n, 0, 0, v->ci, &s);
	struct lcp_region out = out_region(n, 0, 0, v->co, &s);
	int64_t in_dma = lcp_region_cycles(&in), out_dma = lcp_region_cycles(&out);
	int64_t weight_dma = v->co * (v->ci * v->kh * v->kw + 1) / LINE_FLOATS;
	int64_t cost = slabs * (parts * tile_count(v, rows) * exec_cost(hw, v, rows, part) + out_dma);

	if (v->out_first)
		return cost + (slabs > 1 ? slabs * batches : 1) * in_dma +
		       (v->out_co > v->weight_co ? slabs : 1) * weight_dma;
	return cost + slabs * in_dma + (chunks > 1 ? slabs : 1) * weight_dma;
}

/* ---- plan ------------------------------------------------------------------------------ */

struct limits {
	int64_t rows, columns, co;
};

/* Smaller units at each attempt: fewer rows, then columns, then channels. */
static bool limits_at(const struct lcp_conv *v, int attempt, struct limits *l)
{
	int64_t columns = lw_div_up(v->ow, TILE_COLUMNS);
	int steps = 0;

	*l = (struct limits){ v->oh, columns, INT64_MAX };
	if (attempt >= 1)
		l->rows = 4 * TILE_ROWS;
	if (attempt >= 2)
		l->rows = TILE_ROWS;
	for (; steps < attempt - 2 && l->columns > 1; steps++)
		l->columns = lw_div_up(l->columns, 2);
	attempt -= 2 + steps;
	if (attempt >= 1)
		l->co = attempt == 1 ? 16 : attempt == 2 ? 4 : 1;
	return attempt <= 3;
}

static bool plan_dense(const struct lcp_hw *hw, struct lcp_node *n, const struct limits *l)
{
	struct lcp_conv *v = &n->conv, best = { 0 };
	int64_t taps = v->kh * v->kw, least = INT64_MAX;
	int64_t weight_co = lw_min(lw_min(4 * (hw->wbank / (v->ci * taps + 1)), hw->lob), v->co);
	int64_t room = lcp_room(&n->out_home);

	if (weight_co < lw_min(4, v->co))
		return false;
	weight_co = round_channels(weight_co, v->co);
	for (int64_t rows = 0; (rows = next_rows(v, rows, l->rows)) > 0;) {
		int64_t in, out, fit;

		if (!can_split(n, rows) || !slab_floats(n, rows, v->ci, 1, &in, &out))
			continue;
		if (in > lcp_room(&n->in_home) || out > room)
			continue;
		fit = rows < v->oh ? room / lw_max(out, 1) : (room - out) / n->out_l.plane_pitch + 1;
		for (int order = 0; order < 2; order++) {
			int64_t cost;

			v->rows = rows;
			v->out_first = order;
			v->weight_co = weight_co;
			v->out_co = lw_min(fit, order ? weight_co : v->co);
			v->out_co = round_channels(lw_min(v->out_co, l->co), v->co);
			cost = dense_cost(hw, n, rows);
			if (cost < least) {
				least = cost;
				best = *v;
			}
		}
	}
	if (least < INT64_MAX)
		*v = best;
	return least < INT64_MAX;
}

/* Channels in a slice if each of the weight banks holds quads output channels. */
static int64_t weight_slice(const struct lcp_hw *hw, const struct lcp_conv *v, int64_t quads)
{
	return (hw->wbank / quads - 1) / (v->kh * v->kw);
}

/* Slices of input channels: a tile is finished before the next one begins. */
static bool plan_slices(const struct lcp_hw *hw, struct lcp_node *n, const struct limits *l)
{
	struct lcp_conv *v = &n->conv;
	int64_t room = lcp_room(&n->in_home);

	v->out_co = lw_min(lw_min(v->co, 16), lw_min(l->co, hw->lob));
	if (weight_slice(hw, v, lw_div_up(v->out_co, 4)) < 4)
		v->out_co = lw_min(v->out_co, 4);
	for (int input = 0; input < 2; input++) {
		for (int64_t rows = lw_min(lw_min(v->oh, l->rows), TILE_ROWS); rows > 0; rows /= 2) {
			int64_t in, out, fit = v->ci;

			if (!can_split(n, rows) || !slab_floats(n, rows, 1, v->out_co, &in, &out))
				continue;
			if (input)
				fit = rows < v->oh ? room / lw_max(in, 1) :
				      lw_max(0, room - in) / n->in_l.plane_pitch + (in <= room);
			else if (!slab_floats(n, rows, v->ci, v->out_co, &in, &out) || in > room)
				continue;
			if (out > lcp_room(&n->out_home) || fit < 1)
				continue;
			v->slice = lw_min(weight_slice(hw, v, lw_div_up(v->out_co, 4)), v->ci);
			v->slice = lw_min(v->slice, fit);
			v->slice_input = input;
			v->rows = rows;
			v->weight_co = v->out_co;
			return v->slice > 0;
		}
	}
	return false;
}

/* A kernel for every number of rows and columns that a window may cover. */
static int64_t average_weights(const struct lcp_conv *v)
{
	return v->kh * v->kw * v->kh * v->kw;
}

/* Groups in a block if slabs have rows rows; 0: not even one. */
static int64_t block_size(const struct lcp_hw *hw, const struct lcp_node *n, int64_t rows,
			  const struct limits *l)
{
	const struct lcp_conv *v = &n->conv;
	int64_t in, out, fit, in_room = lcp_room(&n->in_home), out_room = lcp_room(&n->out_home);

	if (!can_split(n, rows) || !slab_floats(n, rows, v->ci, v->co, &in, &out))
		return 0;
	if (in > in_room || out > out_room)
		return 0;
	if (rows < v->oh)
		fit = lw_min(in_room / lw_max(in, 1), out_room / lw_max(out, 1));
	else
		fit = 1 + lw_min((in_room - in) / (v->ci * n->in_l.plane_pitch),
				 (out_room - out) / (v->co * n->out_l.plane_pitch));
	if (!v->average)
		fit = lw_min(fit, hw->wbank /
			     (lw_div_up(v->co, 4) * (v->ci * v->kh * v->kw + 1)));
	fit = lw_min(lw_min(fit, l->co), lw_min(v->groups, UINT16_MAX));
	return round_channels(fit, v->groups);
}

static int64_t block_cost(const struct lcp_hw *hw, const struct lcp_node *n, int64_t rows,
			  int64_t block)
{
	const struct lcp_conv *v = &n->conv;
	struct slab s = slab_at(v, rows < v->oh ? rows : 0, rows < v->oh ? 2 * rows : rows);
	struct lcp_region in = in_region(n, 0, 0, v->ci * block, &s);
	struct lcp_region out = out_region(n, 0, 0, v->co * block, &s);
	int64_t tile = block * exec_cost(hw, v, rows, v->co) + 40;

	return lw_div_up(v->oh, rows) * lw_div_up(v->groups, block) *
	       (tile_count(v, rows) * tile + lcp_region_cycles(&in) + lcp_region_cycles(&out) + 80);
}

static bool plan_blocks(const struct lcp_hw *hw, struct lcp_node *n, const struct limits *l)
{
	struct lcp_conv *v = &n->conv;
	int64_t least = INT64_MAX, best_rows = 0;

	if ((v->groups == 1 && !v->average) || v->co > hw->lob ||
	    (v->average && average_weights(v) > hw->wbank))
		return false;
	for (int64_t rows = 0; (rows = next_rows(v, rows, l->rows)) > 0;) {
		int64_t block = block_size(hw, n, rows, l), cost;

		if (!block)
			continue;
		cost = block_cost(hw, n, rows, block);
		if (cost < least) {
			least = cost;
			best_rows = rows;
			v->block = block;
		}
	}
	v->rows = best_rows;
	return best_rows > 0;
}

bool lcp_conv_plan(const struct lcp_hw *hw, struct lcp_node *n, int attempt)
{
	struct lcp_conv *v = &n->conv;
	struct limits l;

	v->block = v->slice = 0;
	v->slice_input = v->out_first = false;
	if (!limits_at(v, attempt, &l))
		return false;
	v->columns = v->average ? lw_div_up(v->ow, TILE_COLUMNS) : l.columns;
	if (v->average)
		return plan_blocks(hw, n, &l);
	return plan_blocks(hw, n, &l) || plan_dense(hw, n, &l) || plan_slices(hw, n, &l);
}

/* ---- weight image ---------------------------------------------------------------------- */

/* One chunk in memory: the images of its banks, one after the other. */
struct chunk {
	int banks;
	int64_t lines;		/* of a bank */
	int64_t quads;		/* output channels of a bank, per group */
	int64_t bias;		/* float where the biases start */
	int64_t channels;	/* input channels in it */
};

static struct chunk chunk_shape(const struct lcp_conv *v)
{
	int64_t co = v->block ? v->co : v->weight_co;
	struct chunk k = {
		.banks = (int)lw_min(co, CNNACC_CCP_WEIGHT_BANKS),
		.quads = lw_div_up(co, CNNACC_CCP_WEIGHT_BANKS),
		.channels = v->slice ? v->slice : v->ci,
	};
	int64_t groups = v->block ? v->block : 1;

	if (v->average) {
		k.lines = lw_div_up(average_weights(v), LINE_FLOATS);
		return k;
	}
	k.bias = groups * k.quads * k.channels * v->kh * v->kw;
	k.lines = lw_div_up(k.bias + groups * k.quads, LINE_FLOATS);
	return k;
}

static int64_t chunk_lines(const struct chunk *k)
{
	return k->banks * k->lines;
}

/* Output channels o0..o1-1 of group g (input channels c0..c1-1) as number nth of a chunk. */
static void pack(const struct lcp_conv *v, const struct chunk *k, float *data, int64_t nth,
		 int64_t g, int64_t o0, int64_t o1, int64_t c0, int64_t c1)
{
	int64_t taps = v->kh * v->kw;

	for (int64_t o = o0; o < o1; o++) {
		int64_t quad = (o - o0) / CNNACC_CCP_WEIGHT_BANKS;
		float *bank = data + (o - o0) % CNNACC_CCP_WEIGHT_BANKS * k->lines * LINE_FLOATS;
		float *w = bank + (nth * k->quads * k->channels + quad * (c1 - c0)) * taps;

		for (int64_t c = c0; c < c1; c++)
			for (int64_t t = 0; t < taps; t++)
				*w++ = lcp_weight(&v->w, g * v->co + o, c, t);
		if (v->w.bias)
			bank[k->bias + nth * k->quads + quad] = lcp_bias(&v->w, g * v->co + o);
	}
}

static int64_t slice_count(const struct lcp_conv *v)
{
	return v->slice ? lw_div_up(v->ci, v->slice) : 1;
}

static int64_t chunk_count(const struct lcp_conv *v)
{
	if (v->average)
		return 1;
	if (v->block)
		return lw_div_up(v->groups, v->block);
	return v->groups * lw_div_up(v->co, v->weight_co) * slice_count(v);
}

/* Number of the chunk that holds output channel o of a group in a slice. */
static int64_t chunk_index(const struct lcp_conv *v, int64_t g, int64_t o, int64_t slice)
{
	return (g * lw_div_up(v->co, v->weight_co) + o / v->weight_co) * slice_count(v) + slice;
}

static void pack_average(const struct lcp_conv *v, float *data)
{
	int64_t taps = v->kh * v->kw;

	for (int64_t rows = 1; rows <= v->kh; rows++)
		for (int64_t columns = 1; columns <= v->kw; columns++)
			for (int64_t t = 0; t < taps; t++)
				*data++ = (float)(1.0 / (double)(rows * columns));
}

static void pack_all(const struct lcp_conv *v, const struct chunk *k, float *data)
{
	int64_t step = chunk_lines(k) * LINE_FLOATS;

	if (v->average) {
		pack_average(v, data);
		return;
	}

	for (int64_t g = 0; g < v->groups; g++) {
		if (v->block) {
			pack(v, k, data + g / v->block * step, g % v->block, g, 0, v->co, 0, v->ci);
			continue;
		}
		for (int64_t o = 0; o < v->co; o += v->weight_co)
			for (int64_t s = 0; s < slice_count(v); s++)
				pack(v, k, data + chunk_index(v, g, o, s) * step, 0, g, o,
				     lw_min(o + v->weight_co, v->co), s * k->channels,
				     lw_min((s + 1) * k->channels, v->ci));
	}
}

/* ---- code ------------------------------------------------------------------------------ */

/* The part of the parameters that changes inside a unit. */
struct span {
	int64_t ci0, ci1;	/* input channels of the EXEC, ci1 inclusive */
	int64_t co_num, co_start, co_cnt;
	int64_t vec;
	int64_t in, out, weight, bias;	/* bases */
};

/* Rows of each tile of a slab: as equal as they can be. */
static int64_t tile_rows(const struct slab *s)
{
	int64_t h = s->y1 - s->y0;

	return lw_div_up(h, lw_div_up(h, TILE_ROWS));
}

static void set_geometry(struct lcp_code *c, const struct lcp_node *n, const struct slab *s,
			 const struct span *p)
{
	const struct lcp_conv *v = &n->conv;

	lcp_set(c, 0, (n->relu ? CNNACC_CCP_R0_RELU : 0) | (v->w.bias ? CNNACC_CCP_R0_BIAS : 0) |
		      v->sy << CNNACC_CCP_R0_STRIDE_SHIFT | v->kh << CNNACC_CCP_R0_KERNEL_SHIFT |
		      v->sx << CNNACC_CCP_R0_STRIDE_X_SHIFT |
		      v->kw << CNNACC_CCP_R0_KERNEL_X_SHIFT);
	lcp_set(c, 1, v->iw | v->ow << 16);
	lcp_set(c, 2, v->ci | p->co_num << 16);
	lcp_set(c, 3, p->ci0 | p->ci1 << 16);
	lcp_set(c, 5, p->vec | (int64_t)(c->hw->groups - 1) << CNNACC_CCP_R5_GROUPS_SHIFT |
		      p->co_start << CNNACC_CCP_R5_CO_START_SHIFT);
	lcp_set(c, 6, p->co_cnt | s->pt << CNNACC_CCP_PAD_TOP_SHIFT |
		      s->pb << CNNACC_CCP_PAD_BOTTOM_SHIFT | v->pl << CNNACC_CCP_PAD_LEFT_SHIFT |
		      v->pr << CNNACC_CCP_PAD_RIGHT_SHIFT);
}

static void set_bases(struct lcp_code *c, const struct slab *s, const struct span *p,
		      const struct lcp_region *in, const struct lcp_region *out)
{
	lcp_set(c, 0, p->in);
	lcp_set(c, 1, p->out);
	lcp_set(c, 2, p->weight);
	lcp_set(c, 3, p->bias);
	lcp_set(c, 4, s->rows | (s->y1 - s->y0) << 16);
	lcp_set(c, 5, in->pitch);
	lcp_set(c, 6, out->pitch);
}

static void exec_tile(struct lcp_code *c)
{
	lcp_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	lcp_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

/* All tiles of the slab between two tile columns; R4 walks down a column. */
static void exec_tiles(struct lcp_code *c, const struct unit *u, const struct slab *s)
{
	int64_t tiles = lw_div_up(s->y1 - s->y0, TILE_ROWS), vec = tile_rows(s);

	for (int64_t x = u->x0; x < u->x1; x++) {
		uint32_t top;

		lcp_set(c, 4, x * TILE_COLUMNS << 16);
		if (tiles < 4) {
			exec_tile(c);
			for (int64_t t = 1; t < tiles; t++) {
				lcp_set(c, 4, x * TILE_COLUMNS << 16 | t * vec);
				exec_tile(c);
			}
			continue;
		}
		top = lcp_loop(c, tiles);
		exec_tile(c);
		lcp_add(c, 4, vec);
		lcp_loop_end(c, top);
		lcp_gained(c, 4, tiles * vec);
	}
}

/* One unit of one group: every chunk of weights that its output channels touch. */
static void emit_dense(struct lcp_code *c, const void *arg)
{
	const struct unit *u = arg;
	const struct lcp_node *n = u->n;
	const struct lcp_conv *v = &n->conv;
	struct slab s = slab_at(v, u->y0, u->y1);
	struct chunk k = chunk_shape(v);
	int64_t c0 = u->g0 * v->ci, o0 = u->g0 * v->co;
	struct lcp_region in = in_region(n, u->image, c0, c0 + v->ci, &s);
	struct lcp_region out = out_region(n, u->image, o0 + u->o0, o0 + u->o1, &s);

	lcp_load(c, &in);
	lcp_open_out(c, &out, u->x0 > 0);
	for (int64_t o = u->o0; o < u->o1;) {
		int64_t first = o / v->weight_co * v->weight_co;
		int64_t last = lw_min(first + v->weight_co, v->co), end = lw_min(last, u->o1);
		struct span p = {
			.ci1 = v->ci - 1, .co_num = last - first, .co_start = o - first,
			.co_cnt = end - o, .vec = tile_rows(&s), .in = in.base,
			.out = out.base + (first - u->o0) * out.pitch, .bias = k.bias,
		};

		lcp_load_weights(c, n->weight_line + chunk_index(v, u->g0, o, 0) * chunk_lines(&k),
				 k.lines, k.banks);
		set_bases(c, &s, &p, &in, &out);
		lcp_set(c, 7, 0);
		lcp_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
		set_geometry(c, n, &s, &p);
		exec_tiles(c, u, &s);
		o = end;
	}
	lcp_store(c, &out);
}

/* Slice after slice of the input channels of one tile. */
static void emit_slices(struct lcp_code *c, const void *arg)
{
	const struct unit *u = arg;
	const struct lcp_node *n = u->n;
	const struct lcp_conv *v = &n->conv;
	struct slab s = slab_at(v, u->y0, u->y1);
	struct chunk k = chunk_shape(v);
	int64_t c0 = u->g0 * v->ci, o0 = u->g0 * v->co;
	struct lcp_region out = out_region(n, u->image, o0 + u->o0, o0 + u->o1, &s);

	lcp_open_out(c, &out, u->x0 > 0);
	for (int64_t i = u->x0 * slice_count(v); i < u->x1 * slice_count(v); i++) {
		int64_t slice = i % slice_count(v), x = i / slice_count(v);
		int64_t s0 = slice * v->slice, s1 = lw_min(s0 + v->slice, v->ci);
		int64_t r0 = v->slice_input ? s0 : 0, r1 = v->slice_input ? s1 : v->ci;
		struct lcp_region in = in_region(n, u->image, c0 + r0, c0 + r1, &s);
		struct span p = {
			.ci0 = s0, .ci1 = s1 - 1, .co_num = u->o1 - u->o0, .co_cnt = u->o1 - u->o0,
			.vec = tile_rows(&s), .in = in.base - r0 * in.pitch, .out = out.base,
			.weight = -s0 * v->kh * v->kw, .bias = k.bias,
		};

		lcp_load(c, &in);
		lcp_load_weights(c, n->weight_line + chunk_index(v, u->g0, u->o0, slice) *
				 chunk_lines(&k), k.lines, k.banks);
		set_bases(c, &s, &p, &in, &out);
		lcp_set(c, 7, s1 - s0);
		lcp_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
		set_geometry(c, n, &s, &p);
		lcp_set(c, 4, x * TILE_COLUMNS << 16);
		exec_tile(c);
	}
	lcp_store(c, &out);
}

/* The groups of a block for one tile; a loop where the weight pitch in R7 does not matter. */
static void exec_groups(struct lcp_code *c, const struct chunk *k, int64_t groups,
			const int64_t step[4])
{
	bool loop = k->quads == 1 && groups > 2;
	int64_t unroll = loop ? 1 : groups;
	uint32_t top = loop ? lcp_loop(c, groups) : 0;

	if (!loop)
		lcp_set(c, 7, 0);
	for (int64_t g = 0; g < unroll; g++) {
		for (unsigned int r = 0; r < 4 && g; r++)
			lcp_set(c, r, (int32_t)c->reg[r] + step[r]);
		lcp_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
		lcp_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
	}
	if (!loop)
		return;
	for (unsigned int r = 0; r < 4; r++)
		lcp_add(c, r, step[r]);
	lcp_loop_end(c, top);
	for (unsigned int r = 0; r < 4; r++)
		lcp_gained(c, r, groups * step[r]);
}

/* What is the same for all tiles of a block. */
struct block {
	const struct lcp_node *n;
	struct slab s;
	struct chunk k;
	struct lcp_region in, out;
	struct span p;
	int64_t groups;
};

static void exec_block(struct lcp_code *c, struct block *b, int64_t row, int64_t column)
{
	const struct lcp_conv *v = &b->n->conv;
	const int64_t step[4] = {
		v->ci * b->in.pitch, v->co * b->out.pitch,
		v->average ? 0 : b->k.quads * v->ci * v->kh * v->kw, v->average ? 0 : b->k.quads,
	};

	set_geometry(c, b->n, &b->s, &b->p);
	lcp_set(c, 4, column << 16 | row);
	lcp_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	set_bases(c, &b->s, &b->p, &b->in, &b->out);
	exec_groups(c, &b->k, b->groups, step);
}

/* How many of the kernel's taps from position first on lie in lo..hi-1. */
static int64_t taps_inside(int64_t first, int64_t kernel, int64_t lo, int64_t hi)
{
	return lw_min(first + kernel, hi) - lw_max(first, lo);
}

static int64_t rows_inside(const struct lcp_conv *v, int64_t y)
{
	return taps_inside(y * v->sy - v->pt, v->kh, -v->top, v->ih + v->bottom);
}

static int64_t columns_inside(const struct lcp_conv *v, int64_t x)
{
	return taps_inside(x * v->sx - v->pl, v->kw, -v->left, v->iw + v->right);
}

/* Rows y..end-1, which have the same number of taps inside. */
static void exec_average_rows(struct lcp_code *c, struct block *b, int64_t y, int64_t end)
{
	const struct lcp_conv *v = &b->n->conv;

	b->p.vec = end - y;
	for (int64_t x = 0; x < v->ow; x++) {
		int64_t start = x, inside = columns_inside(v, x);

		while (x + 1 < v->ow && x + 1 < start + TILE_COLUMNS &&
		       columns_inside(v, x + 1) == inside)
			x++;
		b->p.weight = ((rows_inside(v, y) - 1) * v->kw + inside - 1) * v->kh * v->kw;
		exec_block(c, b, y - b->s.y0, start);
	}
}

static void exec_average(struct lcp_code *c, struct block *b)
{
	const struct lcp_conv *v = &b->n->conv;

	for (int64_t y = b->s.y0; y < b->s.y1;) {
		int64_t end = y + 1;

		while (end < b->s.y1 && end < y + TILE_ROWS &&
		       rows_inside(v, end) == rows_inside(v, y))
			end++;
		exec_average_rows(c, b, y, end);
		y = end;
	}
}

static void emit_block(struct lcp_code *c, const void *arg)
{
	const struct unit *u = arg;
	const struct lcp_node *n = u->n;
	const struct lcp_conv *v = &n->conv;
	struct block b = {
		.n = n, .s = slab_at(v, u->y0, u->y1), .k = chunk_shape(v), .groups = u->g1 - u->g0,
	};
	int64_t tiles = lw_div_up(b.s.y1 - b.s.y0, TILE_ROWS), nth = u->g0 / v->block;

	b.in = in_region(n, u->image, u->g0 * v->ci, u->g1 * v->ci, &b.s);
	b.out = out_region(n, u->image, u->g0 * v->co, u->g1 * v->co, &b.s);
	b.p = (struct span){
		.ci1 = v->ci - 1, .co_num = v->co, .co_cnt = v->co, .vec = tile_rows(&b.s),
		.in = b.in.base, .out = b.out.base, .bias = b.k.bias,
	};
	lcp_load(c, &b.in);
	lcp_load_weights(c, n->weight_line + (v->average ? 0 : nth * chunk_lines(&b.k)), b.k.lines,
			 b.k.banks);
	lcp_open_out(c, &b.out, u->x0 > 0);
	if (v->average)
		exec_average(c, &b);
	for (int64_t i = u->x0 * tiles; i < u->x1 * tiles && !v->average; i++)
		exec_block(c, &b, i % tiles * b.p.vec, (i / tiles) * TILE_COLUMNS);
	lcp_store(c, &b.out);
}

/* ---- all units ------------------------------------------------------------------------- */

/* The units of a slab, or of a batch of output channels: columns. */
static int emit_columns(struct lcp_code *c, struct unit *u)
{
	const struct lcp_conv *v = &u->n->conv;
	int64_t columns = lw_div_up(v->ow, TILE_COLUMNS);

	for (u->x0 = 0; u->x0 < columns; u->x0 = u->x1) {
		int ret;

		u->x1 = lw_min(u->x0 + v->columns, columns);
		ret = lcp_unit(c, v->block ? emit_block : v->slice ? emit_slices : emit_dense, u);
		if (ret)
			return ret;
	}
	return 0;
}

static int emit_group(struct lcp_code *c, struct unit *u)
{
	const struct lcp_conv *v = &u->n->conv;
	int64_t slabs = lw_div_up(v->oh, v->rows);
	int64_t batches = v->block ? 1 : lw_div_up(v->co, v->out_co);

	for (int64_t i = 0; i < slabs * batches; i++) {
		int64_t slab = v->out_first ? i % slabs : i / batches;
		int64_t batch = v->out_first ? i / slabs : i % batches;
		int ret;

		u->y0 = slab * v->rows;
		u->y1 = lw_min(u->y0 + v->rows, v->oh);
		u->o0 = v->block ? 0 : batch * v->out_co;
		u->o1 = v->block ? v->co : lw_min(u->o0 + v->out_co, v->co);
		ret = emit_columns(c, u);
		if (ret)
			return ret;
	}
	return 0;
}

int lcp_conv_emit(struct lcp_code *c, struct lcp_node *n)
{
	const struct lcp_conv *v = &n->conv;
	struct chunk k = chunk_shape(v);
	int64_t step = v->block ? v->block : 1;
	float *data;
	int ret = lcp_weight_room(c, chunk_count(v) * chunk_lines(&k) * LINE_FLOATS,
				  &n->weight_line, &data);

	if (ret)
		return ret;
	if (data)
		pack_all(v, &k, data);
	for (int64_t image = 0; image < v->n; image++) {
		for (int64_t g = 0; g < v->groups; g += step) {
			struct unit u = {
				.n = n, .image = image, .g0 = g, .g1 = lw_min(g + step, v->groups),
			};

			ret = emit_group(c, &u);
			if (ret)
				return ret;
		}
	}
	return CNN_OK;
}
