// SPDX-License-Identifier: MIT
/*
 * Convolutions of many small groups on core ccp. A block of groups is in the banks, and each patch
 * is computed by a loop over its groups.
 *
 * An average with borders is a convolution of each channel whose patches differ in their weights.
 * An EXEC writes eight columns, even if fewer have its divisor; the next EXEC overwrites the rest.
 */
#include "conv.h"

#define GROUP_UNROLL	4

struct block_search {
	const struct ccpc_hw *hw;
	struct ccpc_node *n;
	int64_t least;
	struct ccpc_node best;
};

/* Groups of a block; 0: not even one fits. */
static int64_t block_size(const struct ccpc_hw *hw, const struct ccpc_node *n,
			  const struct ccpc_conv_limits *l)
{
	const struct ccpc_conv *v = &n->conv;
	int64_t in, out, fit, in_capacity = ccpc_in_capacity(n),
			      out_capacity = ccpc_out_capacity(n);

	if (!ccpc_can_cut_rows(n) || !ccpc_slab_floats(n, v->ci, v->co, &in, &out))
		return 0;
	if (in > in_capacity || out > out_capacity)
		return 0;
	if (ccpc_is_cut(v))
		fit = cnn_min(in_capacity / cnn_max(in, 1), out_capacity / cnn_max(out, 1));
	else
		fit = 1 + cnn_min((in_capacity - in) / (v->ci * n->in.layout.plane_pitch),
				  (out_capacity - out) / (v->co * n->out.layout.plane_pitch));
	if (!v->average)
		fit = cnn_min(fit, hw->weight_bank /
					   (cnn_div_up(v->co, 4) * (v->ci * v->kh * v->kw + 1)));
	return cnn_min(cnn_min(fit, l->co), cnn_min(v->groups, UINT16_MAX));
}

/* A slab inside the map, if there is any. @beside: slabs side by side. */
static struct ccpc_slab middle_slab(const struct ccpc_conv *v, int64_t beside)
{
	struct ccpc_slab s;

	ccpc_slab_at(v, (v->rows < v->oh ? beside : 0) + (beside > 1), &s);
	return s;
}

/* Cycles of a batch element in blocks of @block groups. The EXECs of all groups are the same. */
static int64_t block_cost(const struct ccpc_hw *hw, const struct ccpc_node *n, int64_t block)
{
	const struct ccpc_conv *v = &n->conv;
	int64_t rows = v->rows, bands = cnn_div_up(v->oh, rows), slabs = ccpc_slab_count(v);
	/* Slabs side by side share columns if rows start anywhere. */
	int64_t shared = (slabs / bands - 1) * ccpc_most_phase(v->ow);
	int64_t columns = cnn_div_up(v->ow + shared, CCPC_EXEC_COLUMNS);
	struct ccpc_slab s = middle_slab(v, slabs / bands);
	struct ccpc_region in = ccpc_slab_in(n, 0, 0, v->ci * block, &s);
	struct ccpc_region out = ccpc_slab_out(n, &n->out, 0, 0, v->co * block, &s);
	int64_t tiles = slabs * cnn_div_up(v->groups, block);
	int64_t load = ccpc_region_cycles(&in), store = ccpc_region_cycles(&out);
	int64_t patches = bands * (rows / CCPC_EXEC_ROWS) * columns, cost, weights;
	bool swap = ccpc_can_swap(n) &&
		    ccpc_region_floats(&in) + ccpc_region_floats(&out) <= ccpc_swap_capacity(n);

	cost = patches * ccpc_conv_exec_cycles(hw, v, v->ci, v->co, CCPC_EXEC_ROWS, true);
	if (rows % CCPC_EXEC_ROWS) {
		patches += bands * columns;
		cost += bands * columns *
			ccpc_conv_exec_cycles(hw, v, v->ci, v->co, rows % CCPC_EXEC_ROWS, true);
	}
	cost = (cost + patches * 13) * v->groups + cnn_div_up(v->groups, block) * patches * 40;
	cost += tiles * (ccpc_region_control(&in) + ccpc_region_control(&out));
	/* Of the last slabs of a row of them each row is prepared. */
	if (v->columns && v->ow % CCPC_LINE_FLOATS)
		cost += bands * v->groups * v->co * rows * 20;
	/* A section after the first of a tile fetches the outputs of those before it. */
	cost += tiles * (ccpc_conv_sections(v) - 1) * 2 * ccpc_region_cycles(&out);
	if (n->alternate)
		cost = cnn_max(cost, (tiles - 1) * (load + store));
	weights = v->co * (v->ci * v->kh * v->kw + 1) * v->groups / CCPC_LINE_FLOATS;
	if (rows * v->ow % CCPC_LINE_FLOATS && rows < v->oh && !out.resident)
		store += out.pieces * 17;
	cost += (n->alternate ? 1 : tiles) * load + (n->alternate || swap ? 1 : tiles) * store;
	return cost + weights + tiles * (80 + ccpc_region_moved(&in) + ccpc_region_moved(&out));
}

static void weigh_blocks(struct block_search *x, const struct ccpc_conv_limits *l, int64_t rows)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t most, blocks;

	v->rows = rows;
	most = block_size(x->hw, x->n, l);
	blocks = most ? cnn_div_up(v->groups, most) : 0;
	for (int64_t i = 0; i < 4 && most; i++) {
		int64_t block = cnn_min(cnn_div_up(v->groups, blocks << i), most), cost;

		if (block < v->groups)
			block = ccpc_round_channels(block, v->groups);
		cost = block_cost(x->hw, x->n, block);
		if (cost >= x->least)
			continue;
		x->least = cost;
		x->best = *x->n;
		x->best.conv.block = block;
	}
}

static void weigh_columns(struct block_search *x, const struct ccpc_conv_limits *l)
{
	struct ccpc_conv *v = &x->n->conv;

	for (v->columns = 0; (v->columns = ccpc_next_columns(x->hw, x->n)) > 0;) {
		int64_t rows[3];

		ccpc_rows_to_try(x->n, v->ci, v->co, l->rows, rows);
		for (int i = 0; i < 3; i++)
			if (rows[i])
				weigh_blocks(x, l, rows[i]);
	}
}

bool ccpc_plan_blocks(const struct ccpc_hw *hw, struct ccpc_node *n,
		      const struct ccpc_conv_limits *l)
{
	struct ccpc_conv *v = &n->conv;
	struct block_search x = { .hw = hw, .n = n, .least = INT64_MAX };

	if ((v->groups == 1 && !v->average) || v->co > hw->lob ||
	    (v->average && ccpc_average_weights(v) > hw->weight_bank))
		return false;
	v->out_first = true;
	for (int64_t rows = 0; (rows = ccpc_next_rows(v, rows, l->rows)) > 0;) {
		for (int alternate = 0; alternate <= ccpc_can_alternate(n); alternate++) {
			n->alternate = alternate;
			weigh_blocks(&x, l, rows);
		}
	}
	for (int alternate = 0; alternate <= ccpc_can_alternate(n); alternate++) {
		n->alternate = alternate;
		weigh_columns(&x, l);
	}
	n->alternate = false;
	if (x.least < INT64_MAX)
		*n = x.best;
	return x.least < INT64_MAX;
}

/* What is the same for all patches of a tile. */
struct group_block {
	const struct ccpc_node *n;
	struct ccpc_slab s;
	struct ccpc_chunk_shape k;
	struct ccpc_region in, out;
	struct ccpc_conv_params p;
	int64_t groups;
};

static void exec_group(struct ccpc_code *c)
{
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
	ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

/* Unrolled; the bases advance after each group. */
static void exec_each(struct ccpc_code *c, int64_t groups, const int64_t advance[4])
{
	for (int64_t g = 0; g < groups && !c->overflow; g++) {
		exec_group(c);
		for (unsigned int r = 0; r < 4; r++)
			ccpc_set(c, r, (int32_t)c->reg[r] + advance[r]);
	}
}

/* Computes the groups of a block for one patch. A loop is possible if R7 need not hold a pitch. */
static void exec_groups(struct ccpc_code *c, const struct ccpc_chunk_shape *k, int64_t groups,
			const int64_t advance[4])
{
	int64_t loops = k->quads == 1 ? groups / GROUP_UNROLL : 0;
	uint32_t top;

	ccpc_set(c, 7, 0);
	exec_each(c, groups - loops * GROUP_UNROLL, advance);
	if (!loops)
		return;
	top = ccpc_loop(c, loops);
	for (int i = 0; i < GROUP_UNROLL; i++) {
		exec_group(c);
		for (unsigned int r = 0; r < 4; r++)
			ccpc_add(c, r, advance[r]);
	}
	ccpc_loop_end(c, top);
	for (unsigned int r = 0; r < 4; r++)
		ccpc_reg_advanced(c, r, loops * GROUP_UNROLL * advance[r]);
}

static void exec_block(struct ccpc_code *c, const struct group_block *b, int64_t row, int64_t vec,
		       int64_t column)
{
	const struct ccpc_conv *v = &b->n->conv;
	const int64_t advance[4] = {
		v->ci * b->in.pitch,
		v->co * b->out.pitch,
		v->average ? 0 : b->k.quads * v->ci * v->kh * v->kw,
		v->w.bias ? b->k.quads : 0,
	};

	ccpc_conv_geometry(c, b->n, &b->s, &b->p, vec);
	ccpc_set(c, 4, column << 16 | row);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	ccpc_conv_bases(c, &b->s, &b->p, &b->in, &b->out);
	exec_groups(c, &b->k, b->groups, advance);
}

static void exec_patches(struct ccpc_code *c, const struct ccpc_conv_part *u,
			 const struct group_block *b)
{
	int64_t rows = b->s.y1 - b->s.y0;

	for (int64_t x = u->x0; x < u->x1; x++)
		for (int64_t row = 0; row < rows && !c->overflow; row += CCPC_EXEC_ROWS)
			exec_block(c, b, row, cnn_min(CCPC_EXEC_ROWS, rows - row),
				   ccpc_patch_column(&b->s, x));
}

/* Taps of a kernel from position @first on that lie in lo..hi-1. */
static int64_t taps_inside(int64_t first, int64_t kernel, int64_t lo, int64_t hi)
{
	return cnn_min(first + kernel, hi) - cnn_max(first, lo);
}

static int64_t rows_inside(const struct ccpc_conv *v, int64_t y)
{
	return taps_inside(y * v->sy - v->pad.top, v->kh, -v->counted.top,
			   v->ih + v->counted.bottom);
}

static int64_t columns_inside(const struct ccpc_conv *v, int64_t x)
{
	return taps_inside(x * v->sx - v->pad.left, v->kw, -v->counted.left,
			   v->iw + v->counted.right);
}

/* Rows y..end-1, which have the same number of taps inside. */
static void exec_average_rows(struct ccpc_code *c, struct group_block *b, int64_t y, int64_t end)
{
	const struct ccpc_conv *v = &b->n->conv;
	int64_t weights = b->p.weight;

	for (int64_t x = b->s.x0; x < b->s.x1; x++) {
		int64_t start = x, inside = columns_inside(v, x);

		while (x + 1 < b->s.x1 && x + 1 < start + CCPC_EXEC_COLUMNS &&
		       columns_inside(v, x + 1) == inside)
			x++;
		b->p.weight = weights +
			      ((rows_inside(v, y) - 1) * v->kw + inside - 1) * v->kh * v->kw;
		exec_block(c, b, y - b->s.y0, end - y, start - b->s.out_x);
	}
	b->p.weight = weights;
}

static void exec_average(struct ccpc_code *c, struct group_block *b)
{
	const struct ccpc_conv *v = &b->n->conv;

	for (int64_t y = b->s.y0; y < b->s.y1;) {
		int64_t end = y + 1;

		while (end < b->s.y1 && end < y + CCPC_EXEC_ROWS &&
		       rows_inside(v, end) == rows_inside(v, y))
			end++;
		exec_average_rows(c, b, y, end);
		y = end;
	}
}

static struct ccpc_weight_chunk chunk_of(const struct ccpc_node *n, int64_t tile)
{
	const struct ccpc_conv *v = &n->conv;

	return ccpc_chunk_at(n, v->average ? 0 : ccpc_conv_tile_at(v, tile).g0 / v->block);
}

/* First chunk of the part after u. */
static struct ccpc_weight_chunk next_chunk(const struct ccpc_code *c,
					   const struct ccpc_conv_part *u)
{
	const struct ccpc_conv *v = &u->n->conv;
	const struct ccpc_conv_tile t = ccpc_conv_tile_at(v, u->i);

	if (u->x1 < ccpc_patch_columns(&t.s))
		return chunk_of(u->n, u->i);
	if (u->i + 1 < ccpc_conv_tile_count(v))
		return chunk_of(u->n, u->i + 1);
	return u->image + 1 < v->n ? u->n->first : c->next;
}

void ccpc_emit_block(struct ccpc_code *c, const void *unit)
{
	const struct ccpc_conv_part *u = unit;
	const struct ccpc_node *n = u->n;
	const struct ccpc_conv *v = &n->conv;
	const struct ccpc_conv_tile t = ccpc_conv_tile_at(v, u->i);
	struct group_block b = {
		.n = n, .s = t.s, .k = ccpc_chunk_shape_of(v), .groups = t.g1 - t.g0
	};
	const struct ccpc_weight_chunk chunk = chunk_of(n, u->i), next = next_chunk(c, u);
	int64_t weights;

	b.in = ccpc_slab_in(n, u->image, t.g0 * v->ci, t.g1 * v->ci, &b.s);
	b.out = ccpc_slab_out(n, &n->out, u->image, t.g0 * v->co, t.g1 * v->co, &b.s);
	ccpc_tile_load(c, n, &b.in, NULL, &b.out);
	weights = ccpc_load_weights(c, &chunk) * CCPC_LINE_FLOATS;
	ccpc_tile_start(c);
	ccpc_prepare_out(c, &b.out, u->x0 > 0);
	ccpc_prefetch_weights(c, &next);
	ccpc_tile_prefetch(c, n, ccpc_next_input(u));
	b.p = (struct ccpc_conv_params){
		.ci1 = v->ci - 1, .co_num = v->co, .co_cnt = v->co, .in = b.in.base,
		.out = b.out.base, .weight = weights, .bias = weights + b.k.bias,
	};
	if (v->average)
		exec_average(c, &b);
	else
		exec_patches(c, u, &b);
	ccpc_tile_done(c, &b.out);
}
