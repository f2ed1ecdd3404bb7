// SPDX-License-Identifier: MIT
/*
 * The fully connected unit of core ccp: matrix products, and means as products with a row of equal
 * weights.
 *
 * Slices of weights stream through two or four buffers in the weight banks: one is loaded while
 * another is used. Weights that fit a half of the first bank are one chunk there.
 */
#include "ccp.h"

struct fc_part {
	const struct ccpc_node *n;
	int64_t r0, r1;		/* rows, or channels */
	int64_t s0, s1;		/* slices, or batch elements */
};

/* Floats of a slice in memory and in its buffer: weights, then biases. */
static int64_t slice_floats(const struct ccpc_fc *v, int64_t outputs)
{
	return cnn_round_up(cnn_round_up(v->in, CNNACC_CCP_FC_LANES) * outputs +
				    (v->w.bias ? outputs : 0),
			    CCPC_LINE_FLOATS);
}

/* Most outputs of a slice if so many slices fit the weight banks. */
static int64_t slice_outputs(const struct ccpc_hw *hw, const struct ccpc_fc *v, int64_t buffers)
{
	int64_t capacity = CNNACC_CCP_WEIGHT_BANKS * hw->weight_bank / buffers;
	int64_t one = cnn_round_up(v->in, CNNACC_CCP_FC_LANES) + (v->w.bias ? 1 : 0);

	return capacity / CCPC_LINE_FLOATS * CCPC_LINE_FLOATS / one;
}

static void pick_buffers(const struct ccpc_hw *hw, struct ccpc_fc *v)
{
	v->buffers = 1;
	v->slice = slice_outputs(hw, v, 1);
	if (v->slice >= v->out)
		return;
	for (int64_t buffers = 4; buffers > 1; buffers /= 2) {
		if (slice_outputs(hw, v, buffers) < 8)
			continue;
		v->buffers = buffers;
		v->slice = slice_outputs(hw, v, buffers);
		return;
	}
}

static int64_t row_floats(const struct cnn_planes *l, int64_t rows, int64_t width)
{
	return cnn_round_up((rows - 1) * l->image_pitch + width, CCPC_LINE_FLOATS) +
	       CCPC_LINE_FLOATS;
}

/* Makes sections smaller: fewer rows, then slices, then outputs. */
static bool shrink(struct ccpc_fc *v)
{
	int64_t *what = v->block > 1	      ? &v->block :
			v->section_slices > 1 ? &v->section_slices :
						&v->slice;

	if (*what <= 1)
		return false;
	*what = cnn_div_up(*what, 2);
	return true;
}

static bool fc_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_fc *v = &n->fc;
	int64_t in = ccpc_in_capacity(n), out = ccpc_out_capacity(n);
	int64_t capacity = out - 2 * CCPC_LINE_FLOATS;

	pick_buffers(hw, v);
	if (v->slice < 1 || capacity < 1 || row_floats(&n->in.layout, 1, v->in) > in)
		return false;
	v->slice = cnn_min(v->slice, capacity);
	if (v->slice < v->out && v->slice > CCPC_LINE_FLOATS)
		v->slice = v->slice / CCPC_LINE_FLOATS * CCPC_LINE_FLOATS;
	v->slice = cnn_min(v->slice, v->out);
	v->section_slices = cnn_min(cnn_div_up(v->out, v->slice), capacity / v->slice);
	v->block = 1;
	/* A section of several rows stores whole rows. */
	if (v->rows > 1 && v->section_slices * v->slice >= v->out) {
		v->block = cnn_min((in - row_floats(&n->in.layout, 1, v->in)) /
					   n->in.layout.image_pitch,
				   (out - row_floats(&n->out.layout, 1, v->out)) /
					   n->out.layout.image_pitch) +
			   1;
		v->block = cnn_max(1, cnn_min(v->block, v->rows));
	}
	for (; attempt > 0; attempt--)
		if (!shrink(v))
			return false;
	return true;
}

/* Elements first..first+width-1 of rows r0..r1-1. */
static struct ccpc_region row_region(const struct ccpc_operand *o, int64_t r0, int64_t r1,
				     int64_t first, int64_t width)
{
	const struct ccpc_planes p = { 0, r0, r1, first, first + width };
	struct ccpc_operand rows = *o;
	struct ccpc_region r;

	rows.layout = (struct cnn_planes){
		.n = 1, .c = o->layout.n, .plane = width, .plane_pitch = o->layout.image_pitch,
	};
	r = ccpc_region_of(&rows, &p);
	r.pitch = o->layout.image_pitch;
	return r;
}

/* The operands of a section in the banks, and outputs o0..o1-1 with the float of their weights. */
struct fc_exec {
	struct ccpc_region x, y;
	int64_t o0, o1, weights;
};

static void set_exec(struct ccpc_code *c, const struct fc_part *u, const struct fc_exec *e)
{
	const struct ccpc_fc *v = &u->n->fc;

	ccpc_set(c, 0,
		 (u->n->relu ? CNNACC_CCP_R0_RELU : 0) | (v->w.bias ? CNNACC_CCP_R0_BIAS : 0));
	ccpc_set(c, 1, v->in);
	ccpc_set(c, 2, e->o1 - e->o0);
	ccpc_set(c, 3, e->x.base);
	ccpc_set(c, 4, e->y.base + e->o0 - u->s0 * v->slice);
	ccpc_set_weights(c, 5, e->weights);
	ccpc_set_weights(c, 6,
			 e->weights + cnn_round_up(v->in, CNNACC_CCP_FC_LANES) * (e->o1 - e->o0));
}

/* The EXECs of one slice: one for each row. */
static void exec_rows(struct ccpc_code *c, const struct fc_part *u, const struct fc_exec *e)
{
	int64_t rows = u->r1 - u->r0, start = u->s0 * u->n->fc.slice;
	bool loop = rows > 2;
	uint32_t top;

	set_exec(c, u, e);
	top = loop ? ccpc_loop(c, rows) : 0;
	for (int64_t r = 0; r < (loop ? 1 : rows); r++) {
		ccpc_set(c, 3, e->x.base + r * e->x.pitch);
		ccpc_set(c, 4, e->y.base + e->o0 - start + r * e->y.pitch);
		ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_FC, 0));
		ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_FC));
	}
	if (!loop)
		return;
	ccpc_add(c, 3, e->x.pitch);
	ccpc_add(c, 4, e->y.pitch);
	ccpc_loop_end(c, top);
	ccpc_reg_advanced(c, 3, rows * e->x.pitch);
	ccpc_reg_advanced(c, 4, rows * e->y.pitch);
}

/* Float of the weight banks where slice s goes, unless they hold all slices. */
static int64_t buffer_of(const struct ccpc_code *c, const struct ccpc_fc *v, int64_t s)
{
	int64_t lines = CNNACC_CCP_WEIGHT_BANKS * c->hw->weight_bank / CCPC_LINE_FLOATS;

	return s % v->buffers * (lines / v->buffers) * CCPC_LINE_FLOATS;
}

/* Returns the float of the weight banks where the slice is. */
static int64_t load_slice(struct ccpc_code *c, const struct ccpc_node *n, int64_t s)
{
	const struct ccpc_fc *v = &n->fc;
	int64_t lines = slice_floats(v, v->slice) / CCPC_LINE_FLOATS;
	int64_t count = cnn_min(v->slice, v->out - s * v->slice);
	int64_t line = n->weight_line + s * lines, to = buffer_of(c, v, s);

	if (n->first.lines)
		return ccpc_load_weights(c, &n->first) * CCPC_LINE_FLOATS;
	if (v->slice >= v->out && c->weights[0] == line)
		return to;
	ccpc_load_linear(c, line, slice_floats(v, count) / CCPC_LINE_FLOATS, to / CCPC_LINE_FLOATS);
	if (v->slice >= v->out)
		c->weights[0] = c->weights[1] = line;
	return to;
}

static void emit_fc(struct ccpc_code *c, const void *arg)
{
	const struct fc_part *u = arg;
	const struct ccpc_node *n = u->n;
	const struct ccpc_fc *v = &n->fc;
	int64_t o0 = u->s0 * v->slice, o1 = cnn_min(u->s1 * v->slice, v->out);
	bool last = u->r1 == v->rows && o1 == v->out;
	int64_t weights;
	struct fc_exec e = {
		.x = row_region(&n->in, u->r0, u->r1, 0, v->in),
		.y = row_region(&n->out, u->r0, u->r1, o0, o1 - o0),
	};

	ccpc_load(c, &e.x);
	ccpc_prepare_out(c, &e.y, false);
	weights = load_slice(c, n, u->s0);
	if (last && n->first.lines)
		ccpc_prefetch_weights(c, &c->next);
	for (int64_t s = u->s0; s < u->s1; s++) {
		e.o0 = s * v->slice;
		e.o1 = cnn_min(e.o0 + v->slice, v->out);
		e.weights = n->first.lines ? weights : buffer_of(c, v, s);
		if (s + 1 < u->s1 && v->buffers > 1)
			load_slice(c, n, s + 1);
		else if (s > u->s0 && v->buffers == 1)
			load_slice(c, n, s);
		exec_rows(c, u, &e);
	}
	ccpc_store(c, &e.y);
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

static int fc_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_fc *v = &n->fc;
	int64_t slices = cnn_div_up(v->out, v->slice);
	int64_t lines = slice_floats(v, v->slice) / CCPC_LINE_FLOATS;
	float *data;
	int ret =
		ccpc_reserve_weights(c, slices * lines * CCPC_LINE_FLOATS, &n->weight_line, &data);

	if (ret)
		return ret;
	if (data)
		pack(v, data);
	n->first = (struct ccpc_weight_chunk){ .lines = 0 };
	if (slices == 1 && lines <= ccpc_half_lines(c->hw))
		n->first = (struct ccpc_weight_chunk){ n->weight_line, lines, 1, n->node };
	return CNN_OK;
}

static int fc_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_fc *v = &n->fc;
	int64_t slices = cnn_div_up(v->out, v->slice);
	int ret = CNN_OK;

	for (int64_t r = 0; r < v->rows; r += v->block) {
		for (int64_t s = 0; s < slices && !ret; s += v->section_slices) {
			const struct fc_part u = {
				.n = n, .r0 = r, .r1 = cnn_min(r + v->block, v->rows),
				.s0 = s, .s1 = cnn_min(s + v->section_slices, slices),
			};

			ret = ccpc_emit_section(c, emit_fc, &u);
		}
	}
	return ret;
}

/* Channels of a section, in halves or whole banks; 0: not even one fits. */
static int64_t mean_block(const struct ccpc_node *n, int attempt)
{
	const struct ccpc_mean *v = &n->mean;
	int64_t one = cnn_round_up(v->plane, CCPC_LINE_FLOATS) + CCPC_LINE_FLOATS;
	int64_t in = ccpc_in_capacity(n), out = ccpc_out_capacity(n), parts = 1, block;

	if (one > in)
		return 0;
	if (n->alternate && !n->in.bind.resident)
		parts = ccpc_best_parts(v->c * n->in.layout.plane_pitch / CCPC_LINE_FLOATS);
	block = v->c == 1 ? 1 : (in - one) / n->in.layout.plane_pitch + 1;
	block = cnn_min(cnn_min(block, out - CCPC_LINE_FLOATS), cnn_min(v->c, UINT16_MAX));
	block = cnn_min(block, cnn_round_up(cnn_div_up(v->c, parts), CCPC_LINE_FLOATS));
	block >>= cnn_min(attempt, 62);
	if (block >= 16 && block < v->c)
		block = block / 16 * 16;
	return block;
}

static bool mean_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_mean *v = &n->mean;

	if (cnn_round_up(v->plane, CCPC_LINE_FLOATS) > CNNACC_CCP_WEIGHT_BANKS * hw->weight_bank)
		return false;
	n->alternate = ccpc_can_alternate(n);
	v->block = mean_block(n, attempt);
	if (v->block < 1) {
		n->alternate = false;
		v->block = mean_block(n, attempt);
	}
	return v->block > 0;
}

static struct ccpc_region mean_input(const struct fc_part *u)
{
	const struct ccpc_planes p = { u->s0, u->r0, u->r1, 0, u->n->mean.plane };

	return ccpc_region_of(&u->n->in, &p);
}

/* Sets *next to the part after u; false if u is the last. */
static bool next_mean(const struct fc_part *u, struct fc_part *next)
{
	const struct ccpc_mean *v = &u->n->mean;
	bool last = u->r1 == v->c;

	*next = (struct fc_part){
		.n = u->n, .r0 = last ? 0 : u->r1, .s0 = last ? u->s0 + 1 : u->s0,
	};
	next->r1 = cnn_min(next->r0 + v->block, v->c);
	return next->s0 < v->n;
}

/* Returns the float of the weight banks where the weights are. */
static int64_t load_mean(struct ccpc_code *c, const struct ccpc_node *n)
{
	if (n->first.lines)
		return ccpc_load_weights(c, &n->first) * CCPC_LINE_FLOATS;
	if (c->weights[0] != n->weight_line)
		ccpc_load_linear(c, n->weight_line, cnn_div_up(n->mean.plane, CCPC_LINE_FLOATS), 0);
	c->weights[0] = c->weights[1] = n->weight_line;
	return 0;
}

static void emit_mean(struct ccpc_code *c, const void *arg)
{
	const struct fc_part *u = arg;
	const struct ccpc_node *n = u->n;
	const struct ccpc_mean *v = &n->mean;
	struct ccpc_region x = mean_input(u);
	const struct ccpc_planes out = { u->s0, u->r0, u->r1, 0, 1 };
	struct ccpc_region y = ccpc_region_of(&n->out, &out);
	struct fc_part next;
	int64_t weights;
	uint32_t top;

	ccpc_tile_load(c, n, &x, NULL, &y);
	weights = load_mean(c, n);
	ccpc_tile_start(c);
	ccpc_prepare_out(c, &y, false);
	if (next_mean(u, &next))
		ccpc_tile_prefetch(c, n, mean_input(&next));
	else if (n->first.lines)
		ccpc_prefetch_weights(c, &c->next);
	ccpc_set(c, 0, n->relu ? CNNACC_CCP_R0_RELU : 0);
	ccpc_set(c, 1, v->plane);
	ccpc_set(c, 2, 1);
	ccpc_set(c, 3, x.base);
	ccpc_set(c, 4, y.base);
	ccpc_set_weights(c, 5, weights);
	ccpc_set(c, 6, 0);
	top = ccpc_loop(c, u->r1 - u->r0);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_FC, 0));
	ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_FC));
	ccpc_add(c, 3, x.pitch);
	ccpc_add(c, 4, 1);
	ccpc_loop_end(c, top);
	ccpc_reg_advanced(c, 3, (u->r1 - u->r0) * x.pitch);
	ccpc_reg_advanced(c, 4, u->r1 - u->r0);
	ccpc_tile_done(c, &y);
}

static int mean_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_mean *v = &n->mean;
	int64_t lines = cnn_div_up(v->plane, CCPC_LINE_FLOATS);
	float *data;
	int ret = ccpc_reserve_weights(c, lines * CCPC_LINE_FLOATS, &n->weight_line, &data);

	if (ret)
		return ret;
	for (int64_t i = 0; i < v->plane && data; i++)
		data[i] = (float)(1.0 / (double)v->plane);
	n->first = (struct ccpc_weight_chunk){ n->weight_line, lines, 1, n->node };
	if (lines > ccpc_half_lines(c->hw))
		n->first.lines = 0;
	return CNN_OK;
}

static int mean_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	struct fc_part u = { .n = n, .r1 = cnn_min(n->mean.block, n->mean.c) }, next;
	bool more = true;
	int ret = CNN_OK;

	for (; more && !ret; u = next) {
		ret = ccpc_emit_section(c, emit_mean, &u);
		more = next_mean(&u, &next);
	}
	return ret ?: ccpc_emit_section(c, ccpc_tile_flush, NULL);
}

const struct ccpc_kind ccpc_fc = {
	.text = "fully connected unit", .plan = fc_plan, .weights = fc_weights, .emit = fc_emit,
};

const struct ccpc_kind ccpc_mean = {
	.text = "fully connected unit, a row of equal weights", .plan = mean_plan,
	.weights = mean_weights, .emit = mean_emit,
};
