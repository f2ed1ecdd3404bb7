// SPDX-License-Identifier: MIT
/*
 * The fully connected unit of core ccp: matrix products, and means as products with a row of
 * equal weights.
 *
 * Weights stream in slices of outputs through two or four slots of the weight banks, so that one
 * slice is loaded while another is used. What fits a half of the first bank is one chunk there.
 */
#include "ccp.h"

struct unit {
	const struct ccpc_node *n;
	int64_t r0, r1;		/* rows, or channels */
	int64_t s0, s1;		/* slices, or the image and the one after it */
};

/* ---- matrix products ------------------------------------------------------------------- */

/* Floats of a slice in memory and in its slot: weights, then biases. */
static int64_t slice_floats(const struct ccpc_fc *v, int64_t outputs)
{
	return cnn_round_up(cnn_round_up(v->in, CNNACC_CCP_FC_LANES) * outputs +
				    (v->w.bias ? outputs : 0),
			    LINE_FLOATS);
}

/* Most outputs of which slots slices fit the weight banks. */
static int64_t slice_outputs(const struct ccpc_hw *hw, const struct ccpc_fc *v, int64_t slots)
{
	int64_t room = CNNACC_CCP_WEIGHT_BANKS * hw->wbank / slots;
	int64_t one = cnn_round_up(v->in, CNNACC_CCP_FC_LANES) + (v->w.bias ? 1 : 0);

	return room / LINE_FLOATS * LINE_FLOATS / one;
}

static void pick_slots(const struct ccpc_hw *hw, struct ccpc_fc *v)
{
	v->slots = 1;
	v->slice = slice_outputs(hw, v, 1);
	if (v->slice >= v->out)
		return;
	for (int64_t slots = 4; slots > 1; slots /= 2) {
		if (slice_outputs(hw, v, slots) < 8)
			continue;
		v->slots = slots;
		v->slice = slice_outputs(hw, v, slots);
		return;
	}
}

static int64_t row_floats(const struct cnn_layout *l, int64_t rows, int64_t width)
{
	return cnn_round_up((rows - 1) * l->image_pitch + width, LINE_FLOATS) + LINE_FLOATS;
}

/* A smaller unit: fewer rows, then slices, then outputs. */
static bool shrink(struct ccpc_fc *v)
{
	int64_t *what = v->block > 1 ? &v->block : v->unit > 1 ? &v->unit : &v->slice;

	if (*what <= 1)
		return false;
	*what = cnn_div_up(*what, 2);
	return true;
}

bool ccpc_fc_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_fc *v = &n->fc;
	int64_t in = ccpc_in_room(n), out = ccpc_out_room(n);
	int64_t room = out - 2 * LINE_FLOATS;

	pick_slots(hw, v);
	if (v->slice < 1 || room < 1 || row_floats(&n->in_l, 1, v->in) > in)
		return false;
	v->slice = cnn_min(v->slice, room);
	if (v->slice < v->out && v->slice > LINE_FLOATS)
		v->slice = v->slice / LINE_FLOATS * LINE_FLOATS;
	v->slice = cnn_min(v->slice, v->out);
	v->unit = cnn_min(cnn_div_up(v->out, v->slice), room / v->slice);
	v->block = 1;
	/* A unit of several rows stores whole rows. */
	if (v->rows > 1 && v->unit * v->slice >= v->out) {
		v->block =
			cnn_min((in - row_floats(&n->in_l, 1, v->in)) / n->in_l.image_pitch,
				(out - row_floats(&n->out_l, 1, v->out)) / n->out_l.image_pitch) +
			1;
		v->block = cnn_max(1, cnn_min(v->block, v->rows));
	}
	for (; attempt > 0; attempt--)
		if (!shrink(v))
			return false;
	return true;
}

static struct ccpc_region row_region(int64_t line0, const struct ccpc_home *home,
				     const struct cnn_layout *l, int64_t r0, int64_t r1,
				     int64_t first, int64_t width)
{
	const struct cnn_layout rows = {
		.n = 1, .c = l->n, .plane = width, .plane_pitch = l->image_pitch,
	};
	struct ccpc_region r = ccpc_region(line0, home, &rows, 0, r0, r1, first, first + width);

	r.pitch = l->image_pitch;
	return r;
}

/* The EXECs of one slice: outputs o0..o1-1 of every row. */
static void exec_rows(struct ccpc_code *c, const struct unit *u, const struct ccpc_region *x,
		      const struct ccpc_region *y, int64_t o0, int64_t o1, int64_t weights)
{
	const struct ccpc_fc *v = &u->n->fc;
	int64_t rows = u->r1 - u->r0, start = u->s0 * v->slice;
	bool loop = rows > 2;
	uint32_t top;

	ccpc_set(c, 0,
		 (u->n->relu ? CNNACC_CCP_R0_RELU : 0) | (v->w.bias ? CNNACC_CCP_R0_BIAS : 0));
	ccpc_set(c, 1, v->in);
	ccpc_set(c, 2, o1 - o0);
	ccpc_set(c, 3, x->base);
	ccpc_set(c, 4, y->base + o0 - start);
	ccpc_set_weights(c, 5, weights);
	ccpc_set_weights(c, 6, weights + cnn_round_up(v->in, CNNACC_CCP_FC_LANES) * (o1 - o0));
	top = loop ? ccpc_loop(c, rows) : 0;
	for (int64_t r = 0; r < (loop ? 1 : rows); r++) {
		ccpc_set(c, 3, x->base + r * x->pitch);
		ccpc_set(c, 4, y->base + o0 - start + r * y->pitch);
		ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_FC, 0));
		ccpc_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_FC));
	}
	if (!loop)
		return;
	ccpc_add(c, 3, x->pitch);
	ccpc_add(c, 4, y->pitch);
	ccpc_loop_end(c, top);
	ccpc_gained(c, 3, rows * x->pitch);
	ccpc_gained(c, 4, rows * y->pitch);
}

/* Float of the weight banks where slice s goes if they do not hold all slices. */
static int64_t slot_of(const struct ccpc_code *c, const struct ccpc_fc *v, int64_t s)
{
	int64_t lines = CNNACC_CCP_WEIGHT_BANKS * c->hw->wbank / LINE_FLOATS;

	return s % v->slots * (lines / v->slots) * LINE_FLOATS;
}

/* Returns the float of the weight banks where it is. */
static int64_t load_slice(struct ccpc_code *c, const struct ccpc_node *n, int64_t s)
{
	const struct ccpc_fc *v = &n->fc;
	int64_t lines = slice_floats(v, v->slice) / LINE_FLOATS;
	int64_t count = cnn_min(v->slice, v->out - s * v->slice);
	int64_t line = n->weight_line + s * lines, to = slot_of(c, v, s);

	if (n->first.lines)
		return ccpc_load_weights(c, &n->first) * LINE_FLOATS;
	if (v->slice >= v->out && c->weights[0] == line)
		return to;
	ccpc_load_linear(c, line, slice_floats(v, count) / LINE_FLOATS, to / LINE_FLOATS);
	if (v->slice >= v->out)
		c->weights[0] = c->weights[1] = line;
	return to;
}

static void emit_fc(struct ccpc_code *c, const void *arg)
{
	const struct unit *u = arg;
	const struct ccpc_node *n = u->n;
	const struct ccpc_fc *v = &n->fc;
	int64_t o0 = u->s0 * v->slice, o1 = cnn_min(u->s1 * v->slice, v->out);
	bool last = u->r1 == v->rows && o1 == v->out;
	int64_t weights;
	struct ccpc_region x =
		row_region(n->in_line, &n->in_home, &n->in_l, u->r0, u->r1, 0, v->in);
	struct ccpc_region y =
		row_region(n->out_line, &n->out_home, &n->out_l, u->r0, u->r1, o0, o1 - o0);

	ccpc_load(c, &x);
	ccpc_open_out(c, &y, false);
	weights = load_slice(c, n, u->s0);
	if (last && n->first.lines)
		ccpc_load_ahead(c, &c->next);
	for (int64_t s = u->s0; s < u->s1; s++) {
		int64_t a = s * v->slice;

		if (s + 1 < u->s1 && v->slots > 1)
			load_slice(c, n, s + 1);
		else if (s > u->s0 && v->slots == 1)
			load_slice(c, n, s);
		exec_rows(c, u, &x, &y, a, cnn_min(a + v->slice, v->out),
			  n->first.lines ? weights : slot_of(c, v, s));
	}
	ccpc_store(c, &y);
}

static void pack(const struct ccpc_fc *v, float *data)
{
	int64_t in16 = cnn_round_up(v->in, CNNACC_CCP_FC_LANES);
	int64_t step = slice_floats(v, v->slice);

	for (int64_t o = 0; o < v->out; o++) {
		int64_t first = o / v->slice * v->slice;
		int64_t count = cnn_min(v->slice, v->out - first);
		float *slice = data + o / v->slice * step;

		for (int64_t k = 0; k < v->in; k++)
			slice[(o - first) * in16 + k] = ccpc_weight(&v->w, o, k, 0);
		if (v->w.bias)
			slice[count * in16 + o - first] = ccpc_bias(&v->w, o);
	}
}

int ccpc_fc_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_fc *v = &n->fc;
	int64_t slices = cnn_div_up(v->out, v->slice);
	int64_t lines = slice_floats(v, v->slice) / LINE_FLOATS;
	float *data;
	int ret = ccpc_weight_room(c, slices * lines * LINE_FLOATS, &n->weight_line, &data);

	if (ret)
		return ret;
	if (data)
		pack(v, data);
	n->first = (struct ccpc_chunk){ .lines = 0 };
	if (slices == 1 && lines <= ccpc_half_lines(c->hw))
		n->first = (struct ccpc_chunk){ n->weight_line, lines, 1, n->node };
	return CNN_OK;
}

int ccpc_fc_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_fc *v = &n->fc;
	int64_t slices = cnn_div_up(v->out, v->slice);

	for (int64_t r = 0; r < v->rows; r += v->block) {
		for (int64_t s = 0; s < slices; s += v->unit) {
			const struct unit u = {
				.n = n,
				.r0 = r,
				.r1 = cnn_min(r + v->block, v->rows),
				.s0 = s,
				.s1 = cnn_min(s + v->unit, slices),
			};

			int ret = ccpc_unit(c, emit_fc, &u);

			if (ret)
				return ret;
		}
	}
	return CNN_OK;
}

/* ---- means ----------------------------------------------------------------------------- */

/* Channels of a unit for the room that there is, in halves or whole banks; 0: not even one. */
static int64_t mean_block(const struct ccpc_node *n, int attempt)
{
	const struct ccpc_mean *v = &n->mean;
	int64_t one = cnn_round_up(v->plane, LINE_FLOATS) + LINE_FLOATS;
	int64_t in = ccpc_in_room(n), out = ccpc_out_room(n), parts = 1, block;

	if (one > in)
		return 0;
	if (n->split && !n->in_home.kept)
		parts = ccpc_parts(v->c * n->in_l.plane_pitch / LINE_FLOATS);
	block = v->c == 1 ? 1 : (in - one) / n->in_l.plane_pitch + 1;
	block = cnn_min(cnn_min(block, out - LINE_FLOATS), cnn_min(v->c, UINT16_MAX));
	block = cnn_min(block, cnn_round_up(cnn_div_up(v->c, parts), LINE_FLOATS));
	block >>= cnn_min(attempt, 62);
	if (block >= 16 && block < v->c)
		block = block / 16 * 16;
	return block;
}

bool ccpc_mean_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_mean *v = &n->mean;

	if (cnn_round_up(v->plane, LINE_FLOATS) > CNNACC_CCP_WEIGHT_BANKS * hw->wbank)
		return false;
	n->split = ccpc_can_halve(n);
	v->block = mean_block(n, attempt);
	if (v->block < 1) {
		n->split = false;
		v->block = mean_block(n, attempt);
	}
	return v->block > 0;
}

static struct ccpc_region mean_input(const struct unit *u)
{
	const struct ccpc_node *n = u->n;

	return ccpc_region(n->in_line, &n->in_home, &n->in_l, u->s0, u->r0, u->r1, 0,
			   n->mean.plane);
}

/* The unit after u; false: there is none. */
static bool next_mean(const struct unit *u, struct unit *next)
{
	const struct ccpc_mean *v = &u->n->mean;
	bool last = u->r1 == v->c;

	*next = (struct unit){
		.n = u->n, .r0 = last ? 0 : u->r1, .s0 = last ? u->s0 + 1 : u->s0,
	};
	next->r1 = cnn_min(next->r0 + v->block, v->c);
	return next->s0 < v->n;
}

/* Returns the float of the weight banks where the weights are. */
static int64_t load_mean(struct ccpc_code *c, const struct ccpc_node *n)
{
	if (n->first.lines)
		return ccpc_load_weights(c, &n->first) * LINE_FLOATS;
	if (c->weights[0] != n->weight_line)
		ccpc_load_linear(c, n->weight_line, cnn_div_up(n->mean.plane, LINE_FLOATS), 0);
	c->weights[0] = c->weights[1] = n->weight_line;
	return 0;
}

static void emit_mean(struct ccpc_code *c, const void *arg)
{
	const struct unit *u = arg;
	const struct ccpc_node *n = u->n;
	const struct ccpc_mean *v = &n->mean;
	struct ccpc_region x = mean_input(u);
	struct ccpc_region y =
		ccpc_region(n->out_line, &n->out_home, &n->out_l, u->s0, u->r0, u->r1, 0, 1);
	struct unit next;
	int64_t weights;
	uint32_t top;

	ccpc_step_load(c, n, &x, NULL, &y);
	weights = load_mean(c, n);
	ccpc_step_start(c);
	ccpc_open_out(c, &y, false);
	if (next_mean(u, &next))
		ccpc_step_ahead(c, n, mean_input(&next));
	else if (n->first.lines)
		ccpc_load_ahead(c, &c->next);
	ccpc_set(c, 0, n->relu ? CNNACC_CCP_R0_RELU : 0);
	ccpc_set(c, 1, v->plane);
	ccpc_set(c, 2, 1);
	ccpc_set(c, 3, x.base);
	ccpc_set(c, 4, y.base);
	ccpc_set_weights(c, 5, weights);
	ccpc_set(c, 6, 0);
	top = ccpc_loop(c, u->r1 - u->r0);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_FC, 0));
	ccpc_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_FC));
	ccpc_add(c, 3, x.pitch);
	ccpc_add(c, 4, 1);
	ccpc_loop_end(c, top);
	ccpc_gained(c, 3, (u->r1 - u->r0) * x.pitch);
	ccpc_gained(c, 4, u->r1 - u->r0);
	ccpc_step_done(c, &y);
}

int ccpc_mean_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_mean *v = &n->mean;
	int64_t lines = cnn_div_up(v->plane, LINE_FLOATS);
	float *data;
	int ret = ccpc_weight_room(c, lines * LINE_FLOATS, &n->weight_line, &data);

	if (ret)
		return ret;
	for (int64_t i = 0; i < v->plane && data; i++)
		data[i] = (float)(1.0 / (double)v->plane);
	n->first = (struct ccpc_chunk){ n->weight_line, lines, 1, n->node };
	if (lines > ccpc_half_lines(c->hw))
		n->first.lines = 0;
	return CNN_OK;
}

static void emit_end(struct ccpc_code *c, const void *arg)
{
	(void)arg;
	ccpc_step_end(c);
}

int ccpc_mean_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	struct unit u = { .n = n, .r1 = cnn_min(n->mean.block, n->mean.c) }, next;
	bool more = true;

	for (; more; u = next) {
		int ret = ccpc_unit(c, emit_mean, &u);

		if (ret)
			return ret;
		more = next_mean(&u, &next);
	}
	return ccpc_unit(c, emit_end, NULL);
}
