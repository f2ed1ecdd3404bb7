// SPDX-License-Identifier: MIT
/*
 * Convolutions of many small groups on core ccp: a block of groups in the banks, and tile by tile a
 * loop over its groups.
 *
 * An average with borders is a convolution of each channel whose tiles have different weights. A
 * tile writes eight columns even where fewer have its divisor; the next one sets the rest right.
 */
#include "conv.h"

#define GROUP_UNROLL	4

/* ---- plan ------------------------------------------------------------------------------ */

/* Groups in a block if slabs have rows rows; 0: not even one. */
static int64_t block_size(const struct lcp_hw *hw, const struct lcp_node *n, int64_t rows,
			  const struct conv_limits *l)
{
	const struct lcp_conv *v = &n->conv;
	int64_t in, out, fit, in_room = lcp_in_room(n), out_room = lcp_out_room(n);

	if (!lcp_can_split(n, rows) || !lcp_slab_floats(n, rows, v->ci, v->co, &in, &out))
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
	return lw_min(lw_min(fit, l->co), lw_min(v->groups, UINT16_MAX));
}

/* Cycles of an image in blocks of block groups; the EXECs of all are the same. */
static int64_t block_cost(const struct lcp_hw *hw, const struct lcp_node *n, int64_t rows,
			  int64_t block)
{
	const struct lcp_conv *v = &n->conv;
	struct slab s = lcp_slab(v, rows < v->oh ? rows : 0, rows < v->oh ? 2 * rows : rows);
	struct lcp_region in = lcp_slab_in(n, 0, 0, v->ci * block, &s);
	struct lcp_region out = lcp_slab_out(n, 0, 0, v->co * block, &s);
	int64_t slabs = lw_div_up(v->oh, rows), steps = slabs * lw_div_up(v->groups, block);
	int64_t load = lcp_region_cycles(&in), store = lcp_region_cycles(&out);
	int64_t tiles = slabs * (rows / TILE_ROWS) * conv_columns(v), cost, weights;
	bool turn = lcp_can_turn(n) && lcp_region_floats(&in) + lcp_region_floats(&out) <=
				       lcp_turn_room(n);

	cost = tiles * lcp_conv_time(hw, v, v->ci, v->co, TILE_ROWS, true);
	if (rows % TILE_ROWS) {
		tiles += slabs * conv_columns(v);
		cost += slabs * conv_columns(v) *
			lcp_conv_time(hw, v, v->ci, v->co, rows % TILE_ROWS, true);
	}
	cost = (cost + tiles * 13) * v->groups + lw_div_up(v->groups, block) * tiles * 40;
	if (n->split)
		cost = lw_max(cost, (steps - 1) * (load + store));
	weights = v->co * (v->ci * v->kh * v->kw + 1) * v->groups / LINE_FLOATS;
	if (rows * v->ow % LINE_FLOATS && rows < v->oh && !out.kept)
		store += out.pieces * 17;
	cost += (n->split ? 1 : steps) * load + (n->split || turn ? 1 : steps) * store;
	return cost + weights + steps * (80 + in.pieces * in.lines + out.pieces * out.lines);
}

static void weigh_blocks(const struct lcp_hw *hw, struct lcp_node *n, int64_t rows, int64_t most,
			 int64_t *least, struct lcp_node *best)
{
	struct lcp_conv *v = &n->conv;
	int64_t blocks = lw_div_up(v->groups, most);

	for (int64_t i = 0; i < 4; i++) {
		int64_t block = lw_min(lw_div_up(v->groups, blocks << i), most), cost;

		if (block < v->groups)
			block = lcp_round_channels(block, v->groups);
		cost = block_cost(hw, n, rows, block);
		if (cost >= *least)
			continue;
		*least = cost;
		v->rows = rows;
		v->block = block;
		*best = *n;
	}
}

bool lcp_plan_blocks(const struct lcp_hw *hw, struct lcp_node *n, const struct conv_limits *l)
{
	struct lcp_conv *v = &n->conv;
	struct lcp_node best;
	int64_t least = INT64_MAX;

	if ((v->groups == 1 && !v->average) || v->co > hw->lob ||
	    (v->average && lcp_average_weights(v) > hw->wbank))
		return false;
	v->out_first = true;
	for (int64_t rows = 0; (rows = lcp_next_rows(v, rows, l->rows)) > 0;) {
		for (int split = 0; split <= lcp_can_halve(n); split++) {
			int64_t most;

			n->split = split;
			most = block_size(hw, n, rows, l);
			if (most)
				weigh_blocks(hw, n, rows, most, &least, &best);
		}
	}
	n->split = false;
	if (least < INT64_MAX)
		*n = best;
	return least < INT64_MAX;
}

/* ---- code ------------------------------------------------------------------------------ */

/* What is the same for all tiles of a step. */
struct block {
	const struct lcp_node *n;
	struct slab s;
	struct chunk k;
	struct lcp_region in, out;
	struct conv_span p;
	int64_t groups;
};

static void exec_group(struct lcp_code *c)
{
	lcp_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
	lcp_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

/* One after the other; the bases move on behind each. */
static void exec_each(struct lcp_code *c, int64_t groups, const int64_t step[4])
{
	for (int64_t g = 0; g < groups && !c->overflow; g++) {
		exec_group(c);
		for (unsigned int r = 0; r < 4; r++)
			lcp_set(c, r, (int32_t)c->reg[r] + step[r]);
	}
}

/* The groups of a block for one tile; a loop where the weight pitch in R7 does not matter. */
static void exec_groups(struct lcp_code *c, const struct chunk *k, int64_t groups,
			const int64_t step[4])
{
	int64_t loops = k->quads == 1 ? groups / GROUP_UNROLL : 0;
	uint32_t top;

	lcp_set(c, 7, 0);
	exec_each(c, groups - loops * GROUP_UNROLL, step);
	if (!loops)
		return;
	top = lcp_loop(c, loops);
	for (int i = 0; i < GROUP_UNROLL; i++) {
		exec_group(c);
		for (unsigned int r = 0; r < 4; r++)
			lcp_add(c, r, step[r]);
	}
	lcp_loop_end(c, top);
	for (unsigned int r = 0; r < 4; r++)
		lcp_gained(c, r, loops * GROUP_UNROLL * step[r]);
}

static void exec_block(struct lcp_code *c, const struct block *b, int64_t row, int64_t vec,
		       int64_t column)
{
	const struct lcp_conv *v = &b->n->conv;
	const int64_t step[4] = {
		v->ci * b->in.pitch, v->co * b->out.pitch,
		v->average ? 0 : b->k.quads * v->ci * v->kh * v->kw,
		v->w.bias ? b->k.quads : 0,
	};

	lcp_conv_geometry(c, b->n, &b->s, &b->p, vec);
	lcp_set(c, 4, column << 16 | row);
	lcp_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	lcp_conv_bases(c, &b->s, &b->p, &b->in, &b->out);
	exec_groups(c, &b->k, b->groups, step);
}

static void exec_tiles(struct lcp_code *c, const struct conv_unit *u, const struct block *b)
{
	int64_t rows = b->s.y1 - b->s.y0;

	for (int64_t x = u->x0; x < u->x1; x++)
		for (int64_t row = 0; row < rows && !c->overflow; row += TILE_ROWS)
			exec_block(c, b, row, lw_min(TILE_ROWS, rows - row), x * TILE_COLUMNS);
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
	int64_t weights = b->p.weight;

	for (int64_t x = 0; x < v->ow; x++) {
		int64_t start = x, inside = columns_inside(v, x);

		while (x + 1 < v->ow && x + 1 < start + TILE_COLUMNS &&
		       columns_inside(v, x + 1) == inside)
			x++;
		b->p.weight = weights +
			      ((rows_inside(v, y) - 1) * v->kw + inside - 1) * v->kh * v->kw;
		exec_block(c, b, y - b->s.y0, end - y, start);
	}
	b->p.weight = weights;
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

static struct lcp_chunk chunk_of(const struct lcp_node *n, int64_t step)
{
	const struct lcp_conv *v = &n->conv;

	return lcp_chunk_at(n, v->average ? 0 : lcp_step_at(v, step).g0 / v->block);
}

/* What the unit after u begins with. */
static struct lcp_chunk next_chunk(const struct lcp_code *c, const struct conv_unit *u)
{
	const struct lcp_conv *v = &u->n->conv;

	if (u->x1 < conv_columns(v))
		return chunk_of(u->n, u->i);
	if (u->i + 1 < lcp_step_count(v))
		return chunk_of(u->n, u->i + 1);
	return u->image + 1 < v->n ? u->n->first : c->next;
}

void lcp_emit_block(struct lcp_code *c, const void *unit)
{
	const struct conv_unit *u = unit;
	const struct lcp_node *n = u->n;
	const struct lcp_conv *v = &n->conv;
	const struct step t = lcp_step_at(v, u->i);
	struct block b = { .n = n, .s = t.s, .k = lcp_chunk_shape(v), .groups = t.g1 - t.g0 };
	const struct lcp_chunk chunk = chunk_of(n, u->i), next = next_chunk(c, u);
	int64_t weights;

	b.in = lcp_slab_in(n, u->image, t.g0 * v->ci, t.g1 * v->ci, &b.s);
	b.out = lcp_slab_out(n, u->image, t.g0 * v->co, t.g1 * v->co, &b.s);
	lcp_step_load(c, n, &b.in, NULL, &b.out);
	weights = lcp_load_weights(c, &chunk) * LINE_FLOATS;
	lcp_step_start(c);
	lcp_open_out(c, &b.out, u->x0 > 0);
	lcp_load_ahead(c, &next);
	lcp_step_ahead(c, n, lcp_next_input(u));
	b.p = (struct conv_span){
		.ci1 = v->ci - 1, .co_num = v->co, .co_cnt = v->co, .in = b.in.base,
		.out = b.out.base, .weight = weights, .bias = weights + b.k.bias,
	};
	if (v->average)
		exec_average(c, &b);
	else
		exec_tiles(c, u, &b);
	lcp_step_done(c, &b.out);
}
