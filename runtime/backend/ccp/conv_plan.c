// SPDX-License-Identifier: MIT
/*
 * Plans convolutions on core ccp: rows of a slab, output channels of a tile and of an EXEC, and
 * whether weights stay or are loaded slice by slice. ccpc_dense_cost decides.
 */
#include "conv.h"

/* Words of code: an EXEC of a slice with its loads; the rest of a tile. */
#define SLICE_WORDS	44
#define TILE_WORDS	160
#define PLANS_OF_SLICES	8

struct conv_search {
	const struct ccpc_hw *hw;
	struct ccpc_node *n;
	int64_t batch;	     /* most output channels of a tile */
	int64_t weight_bank; /* floats that a chunk may take: a whole bank or half */
	int64_t least;
	struct ccpc_node best;
};

/* True if the code of a tile fits a program. */
static bool fits_program(const struct conv_search *x)
{
	const struct ccpc_conv *v = &x->n->conv;
	int64_t slices = cnn_div_up(v->rows, CCPC_EXEC_ROWS) *
			 cnn_div_up(ccpc_slab_columns(v), CCPC_EXEC_COLUMNS) *
			 ccpc_slice_count(v) * cnn_div_up(v->out_co, v->weight_co);

	return !v->slice || slices * SLICE_WORDS + TILE_WORDS <= x->hw->insns - x->hw->insns / 32;
}

/* An addend starts at a line, so every batch of co channels must. */
static bool can_batch(const struct conv_search *x, int64_t co)
{
	const struct ccpc_conv *v = &x->n->conv;

	return !v->adds || co >= v->co || co * x->n->out.layout.plane_pitch % CCPC_LINE_FLOATS == 0;
}

static void weigh(struct conv_search *x)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t cost;

	if (!fits_program(x) || !can_batch(x, v->out_co))
		return;
	cost = ccpc_dense_cost(x->hw, x->n, x->least);
	if (cost >= x->least)
		return;
	x->least = cost;
	x->best = *x->n;
}

static void weigh_orders(struct conv_search *x)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t slabs = ccpc_slab_count(v), tiles = ccpc_conv_tile_count(v);

	v->out_first = false;
	weigh(x);
	v->out_first = true;
	if (slabs > 1 && tiles > slabs)
		weigh(x);
}

/* Chunks of weight_co output channels and all input channels. A tile has several, or a part. */
static void weigh_chunks(struct conv_search *x, int64_t weight_co)
{
	struct ccpc_conv *v = &x->n->conv;

	v->slice = 0;
	v->slice_input = false;
	v->weight_co = weight_co;
	v->out_co = ccpc_round_channels(cnn_min(x->batch, v->co), v->co);
	weigh_orders(x);
	if (x->batch >= v->co || weight_co >= v->co)
		return;
	v->out_co = cnn_min(x->batch / weight_co, 1) * weight_co;
	if (v->out_co)
		weigh_orders(x);
	v->out_co = x->batch / weight_co * weight_co;
	if (v->out_co > weight_co)
		weigh_orders(x);
}

/* Most output channels whose weights of all input channels fit the weight banks. */
static int64_t resident_channels(const struct conv_search *x)
{
	const struct ccpc_conv *v = &x->n->conv;
	int64_t capacity = x->weight_bank - (v->adds ? 2 : 0);

	return cnn_min(cnn_min(4 * (capacity / (v->ci * v->kh * v->kw + 1)), x->hw->lob), v->co);
}

static void weigh_resident(struct conv_search *x)
{
	const struct ccpc_conv *v = &x->n->conv;
	int64_t most = resident_channels(x), even;

	if (most < cnn_min(4, v->co))
		return;
	weigh_chunks(x, ccpc_round_channels(most, v->co));
	even = cnn_round_up(cnn_div_up(v->co, cnn_div_up(v->co, most)), 16);
	if (even < most)
		weigh_chunks(x, even);
}

/* Input channels of a slice if a chunk has co output channels: slices of equal size. */
static int64_t slice_channels(const struct conv_search *x, int64_t co)
{
	const struct ccpc_conv *v = &x->n->conv;
	int64_t quads = cnn_div_up(co, CNNACC_CCP_WEIGHT_BANKS);
	int64_t capacity = x->weight_bank - quads - (v->adds ? 2 : 0);
	int64_t most = cnn_min(capacity / (quads * v->kh * v->kw), v->ci);

	return most < 1 ? 0 : cnn_div_up(v->ci, cnn_div_up(v->ci, most));
}

/* Slices of weights and input, if not even one row of all input channels fits the read bank. */
static void weigh_slice_input(struct conv_search *x)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t in, out, fit, capacity = ccpc_in_capacity(x->n);

	if (v->rows > CCPC_EXEC_ROWS || !ccpc_slab_floats(x->n, 1, 1, &in, &out) || in > capacity)
		return;
	fit = ccpc_is_cut(v) ? capacity / cnn_max(in, 1) :
			       (capacity - in) / x->n->in.layout.plane_pitch + 1;
	v->slice = cnn_min(v->slice, fit);
	v->slice_input = true;
	weigh_orders(x);
}

/* Weights slice by slice, for one chunk of output channels after the other. */
static void weigh_slices(struct conv_search *x, bool input)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t most = cnn_min(cnn_min(x->batch, x->hw->lob), v->co), last = 0;
	int64_t chunks = cnn_div_up(v->co, most);

	for (int64_t i = 0; i < PLANS_OF_SLICES; i++) {
		int64_t co = cnn_min(cnn_round_up(cnn_div_up(v->co, chunks + i), 16), most);

		co = ccpc_round_channels(co, v->co);
		v->slice = slice_channels(x, co);
		v->weight_co = co;
		v->out_co = can_batch(x, co) ? co : x->batch;
		v->slice_input = false;
		if (!v->slice || co == last)
			continue;
		last = co;
		if (input)
			weigh_slice_input(x);
		else
			weigh_orders(x);
	}
}

/* Output channels of a batch: what fits the write bank with its addend. */
static int64_t batch_channels(const struct conv_search *x, int64_t out)
{
	const struct ccpc_node *n = x->n;
	int64_t capacity = n->conv.adds ? cnn_min(ccpc_swap_capacity(n) / 2, CCPC_ADD_MAX) :
					  ccpc_out_capacity(n);

	if (out > capacity)
		return 0;
	return ccpc_is_cut(&n->conv) ? capacity / cnn_max(out, 1) :
				       (capacity - out) / n->out.layout.plane_pitch + 1;
}

static void weigh_rows(struct conv_search *x, const struct ccpc_conv_limits *l, int64_t rows)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t in, out;
	bool sliced;

	v->rows = rows;
	if (!ccpc_can_cut_rows(x->n) || !ccpc_slab_floats(x->n, 1, 1, &in, &out))
		return;
	x->batch = cnn_min(cnn_min(batch_channels(x, out), v->co), l->co);
	if (!can_batch(x, x->batch))
		x->batch = x->batch / CCPC_LINE_FLOATS * CCPC_LINE_FLOATS;
	if (x->batch < 1)
		return;
	sliced = !ccpc_slab_floats(x->n, v->ci, 1, &in, &out) || in > ccpc_in_capacity(x->n);
	for (int parts = 1; parts <= (x->hw->split_banks ? 2 : 1); parts++) {
		x->weight_bank =
			parts == 1 ? x->hw->weight_bank : ccpc_half_lines(x->hw) * CCPC_LINE_FLOATS;
		if (!sliced)
			weigh_resident(x);
		if (!sliced || !x->n->alternate)
			weigh_slices(x, sliced);
	}
}

/* Rows that are enough: narrower slabs of more rows only load more columns twice. */
#define ENOUGH_ROWS	(4 * CCPC_EXEC_ROWS)

static void weigh_columns(struct conv_search *x, const struct ccpc_conv_limits *l)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t rows[3] = { 0 };

	v->columns = 0;
	while (rows[0] < cnn_min(ENOUGH_ROWS, v->oh)) {
		v->columns = ccpc_next_columns(x->hw, x->n);
		if (!v->columns)
			return;

		ccpc_rows_to_try(x->n, v->ci, 1, l->rows, rows);
		for (int i = 0; i < 3; i++)
			if (rows[i])
				weigh_rows(x, l, rows[i]);
	}
	v->columns = 0;
}

static bool plan_dense(const struct ccpc_hw *hw, struct ccpc_node *n,
		       const struct ccpc_conv_limits *l)
{
	struct conv_search x = { .hw = hw, .n = n, .least = INT64_MAX };

	if (n->conv.adds && !ccpc_can_add(n))
		return false;
	for (int64_t rows = 0; (rows = ccpc_next_rows(&n->conv, rows, l->rows)) > 0;) {
		for (int alternate = 0; alternate <= ccpc_can_alternate(n); alternate++) {
			n->alternate = alternate;
			weigh_rows(&x, l, rows);
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

/* Each attempt makes sections smaller: fewer rows, then columns, then channels. */
static bool limits_at(struct ccpc_conv *v, int attempt, struct ccpc_conv_limits *l)
{
	int halvings = 0;

	*l = (struct ccpc_conv_limits){ v->oh, INT64_MAX };
	v->columns = 0;
	v->part_columns = cnn_div_up(v->ow, CCPC_EXEC_COLUMNS);
	if (attempt >= 1)
		l->rows = 4 * CCPC_EXEC_ROWS;
	if (attempt >= 2)
		l->rows = CCPC_EXEC_ROWS;
	/* Averages and additions take whole rows. */
	for (; halvings < attempt - 2 && v->part_columns > 1 && !v->average && !v->adds; halvings++)
		v->part_columns = cnn_div_up(v->part_columns, 2);
	attempt -= 2 + halvings;
	if (attempt >= 1)
		l->co = attempt == 1 ? 16 : attempt == 2 ? 4 : 1;
	return attempt <= 3;
}

bool ccpc_conv_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_conv *v = &n->conv;
	struct ccpc_conv_limits l;

	v->block = 0;
	v->slice = 0;
	v->slice_input = false;
	v->out_first = false;
	if (!limits_at(v, attempt, &l))
		return false;
	return ccpc_plan_blocks(hw, n, &l) || (!v->average && plan_dense(hw, n, &l));
}
