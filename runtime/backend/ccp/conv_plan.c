// SPDX-License-Identifier: MIT
/*
 * Plans of convolutions on core ccp: rows of a slab, output channels of a step and of an EXEC, and
 * whether weights stay or come slice by slice, whichever ccpc_dense_cost finds cheapest.
 */
#include "conv.h"

/* Words of code: an EXEC of a slice with its loads; what a step has besides. */
#define SLICE_WORDS	44
#define STEP_WORDS	160
#define PLANS_OF_SLICES	8

int64_t ccpc_next_rows(const struct ccpc_conv *v, int64_t rows, int64_t limit)
{
	if (!rows)
		return cnn_min(v->oh, limit);
	if (rows <= 2 * TILE_ROWS)
		return rows - 1;
	/* Many rows: in ever larger steps. */
	return (rows - 1) / TILE_ROWS * TILE_ROWS - rows / (32 * TILE_ROWS) * TILE_ROWS;
}

int64_t ccpc_round_channels(int64_t value, int64_t all)
{
	if (value >= all)
		return all;
	return value >= 16 ? value / 16 * 16 : value >= 4 ? value / 4 * 4 : value;
}

/* ---- search ---------------------------------------------------------------------------- */

struct search {
	const struct ccpc_hw *hw;
	struct ccpc_node *n;
	int64_t batch;		/* most output channels of a step */
	int64_t wbank;		/* what a chunk may take of a weight bank: all or half of it */
	int64_t least;
	struct ccpc_node best;
};

/* Does the code of a step fit a program? */
static bool fits_program(const struct search *x)
{
	const struct ccpc_conv *v = &x->n->conv;
	int64_t slices = cnn_div_up(v->rows, TILE_ROWS) * conv_columns(v) * slice_count(v) *
			 cnn_div_up(v->out_co, v->weight_co);

	return !v->slice || slices * SLICE_WORDS + STEP_WORDS <= x->hw->insns - x->hw->insns / 32;
}

/* What is added starts at a line, and so must every batch of that many channels. */
static bool can_batch(const struct search *x, int64_t co)
{
	const struct ccpc_conv *v = &x->n->conv;

	return !v->adds || co >= v->co || co * x->n->out_l.plane_pitch % LINE_FLOATS == 0;
}

static void weigh(struct search *x)
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

static void weigh_orders(struct search *x)
{
	x->n->conv.out_first = false;
	weigh(x);
	x->n->conv.out_first = true;
	weigh(x);
}

/* Chunks of weight_co output channels with all input channels; a step has several, or a part. */
static void weigh_chunks(struct search *x, int64_t weight_co)
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

/* Most output channels whose weights of all input channels the weight banks hold. */
static int64_t resident_channels(const struct search *x)
{
	const struct ccpc_conv *v = &x->n->conv;
	int64_t room = x->wbank - (v->adds ? 2 : 0);

	return cnn_min(cnn_min(4 * (room / (v->ci * v->kh * v->kw + 1)), x->hw->lob), v->co);
}

static void weigh_resident(struct search *x)
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

/* Input channels of a slice if a chunk has co output channels: as equal as they can be. */
static int64_t slice_channels(const struct search *x, int64_t co)
{
	const struct ccpc_conv *v = &x->n->conv;
	int64_t quads = cnn_div_up(co, CNNACC_CCP_WEIGHT_BANKS);
	int64_t room = x->wbank - quads - (v->adds ? 2 : 0);
	int64_t most = cnn_min(room / (quads * v->kh * v->kw), v->ci);

	return most < 1 ? 0 : cnn_div_up(v->ci, cnn_div_up(v->ci, most));
}

/* Slices of both, where the read bank does not hold even one row of all input channels. */
static void weigh_slice_input(struct search *x)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t in, out, fit, room = ccpc_in_room(x->n);

	if (v->rows > TILE_ROWS || !ccpc_slab_floats(x->n, v->rows, 1, 1, &in, &out) || in > room)
		return;
	fit = v->rows < v->oh ? room / cnn_max(in, 1) : (room - in) / x->n->in_l.plane_pitch + 1;
	v->slice = cnn_min(v->slice, fit);
	v->slice_input = true;
	weigh_orders(x);
}

/* Weights slice by slice, for one chunk of output channels after the other. */
static void weigh_slices(struct search *x, bool input)
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

/* Output channels that the write bank holds, with what is added to them. */
static int64_t batch_channels(const struct search *x, int64_t rows, int64_t out)
{
	const struct ccpc_node *n = x->n;
	int64_t room =
		n->conv.adds ? cnn_min(ccpc_turn_room(n) / 2, CCPC_ADD_MAX) : ccpc_out_room(n);

	if (out > room)
		return 0;
	return rows < n->conv.oh ? room / cnn_max(out, 1) : (room - out) / n->out_l.plane_pitch + 1;
}

static void weigh_rows(struct search *x, const struct conv_limits *l, int64_t rows)
{
	struct ccpc_conv *v = &x->n->conv;
	int64_t in, out;
	bool sliced;

	if (!ccpc_can_split(x->n, rows) || !ccpc_slab_floats(x->n, rows, 1, 1, &in, &out))
		return;
	v->rows = rows;
	x->batch = cnn_min(cnn_min(batch_channels(x, rows, out), v->co), l->co);
	if (!can_batch(x, x->batch))
		x->batch = x->batch / LINE_FLOATS * LINE_FLOATS;
	if (x->batch < 1)
		return;
	sliced = !ccpc_slab_floats(x->n, rows, v->ci, 1, &in, &out) || in > ccpc_in_room(x->n);
	for (int parts = 1; parts <= 2; parts++) {
		x->wbank = parts == 1 ? x->hw->wbank : ccpc_half_lines(x->hw) * LINE_FLOATS;
		if (!sliced)
			weigh_resident(x);
		if (!sliced || !x->n->split)
			weigh_slices(x, sliced);
	}
}

bool ccpc_plan_dense(const struct ccpc_hw *hw, struct ccpc_node *n, const struct conv_limits *l)
{
	struct search x = { .hw = hw, .n = n, .least = INT64_MAX };

	if (n->conv.adds && !ccpc_can_add(n))
		return false;
	for (int64_t rows = 0; (rows = ccpc_next_rows(&n->conv, rows, l->rows)) > 0;) {
		for (int split = 0; split <= ccpc_can_halve(n); split++) {
			n->split = split;
			weigh_rows(&x, l, rows);
		}
	}
	n->split = false;
	if (x.least < INT64_MAX)
		*n = x.best;
	return x.least < INT64_MAX;
}

/* ---- attempts -------------------------------------------------------------------------- */

/* Smaller units at each attempt: fewer rows, then columns, then channels. */
static bool limits_at(struct ccpc_conv *v, int attempt, struct conv_limits *l)
{
	int steps = 0;

	*l = (struct conv_limits){ v->oh, INT64_MAX };
	v->columns = conv_columns(v);
	if (attempt >= 1)
		l->rows = 4 * TILE_ROWS;
	if (attempt >= 2)
		l->rows = TILE_ROWS;
	/* Averages and additions take whole rows. */
	for (; steps < attempt - 2 && v->columns > 1 && !v->average && !v->adds; steps++)
		v->columns = cnn_div_up(v->columns, 2);
	attempt -= 2 + steps;
	if (attempt >= 1)
		l->co = attempt == 1 ? 16 : attempt == 2 ? 4 : 1;
	return attempt <= 3;
}

bool ccpc_conv_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_conv *v = &n->conv;
	struct conv_limits l;

	v->block = 0;
	v->slice = 0;
	v->slice_input = false;
	v->out_first = false;
	if (!limits_at(v, attempt, &l))
		return false;
	return ccpc_plan_blocks(hw, n, &l) || (!v->average && ccpc_plan_dense(hw, n, &l));
}
