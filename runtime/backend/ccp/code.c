// SPDX-License-Identifier: MIT
/* Instructions, registers, loops and transfers of core ccp. */
#include "code.h"

uint32_t ccpc_overlay(const struct ccpc_code *c, int i, uint32_t *n)
{
	uint32_t from = i < c->n_overlays ? c->overlays[i] : c->overlay;
	uint32_t to = i == c->n_overlays    ? c->n :
		      i + 1 < c->n_overlays ? c->overlays[i + 1] :
					      c->overlay;

	*n = to - from;
	return from;
}

void ccpc_insn(struct ccpc_code *c, uint32_t insn)
{
	if (c->n >= c->overlay_end) {
		c->overflow = true;
		return;
	}
	c->owner[c->n] = c->node;
	c->is_address[c->n] = false;
	c->words[c->n++] = insn;
}

/* The high half of a value. That of a line changes with the base of its buffer; the low does not. */
static void set_high(struct ccpc_code *c, unsigned int rd, uint32_t value, unsigned int buffer)
{
	ccpc_insn(c, CNNACC_CCP_INSN_LDIH(rd, value >> 16));
	if (!c->overflow)
		c->is_address[c->n - 1] = buffer;
}

/* buffer: as in c->buffer. A register whose contents move with another base is of no use. */
static void set(struct ccpc_code *c, unsigned int rd, uint32_t want, unsigned int buffer)
{
	uint32_t have = c->reg[rd];
	int32_t delta = (int32_t)(want - have);
	bool same = c->buffer[rd] == buffer;

	if (same && want == have)
		return;
	if (!buffer && want < 0x10000) {
		ccpc_insn(c, CNNACC_CCP_INSN_LDI(rd, want));
	} else if (same && delta >= INT16_MIN && delta <= INT16_MAX) {
		ccpc_insn(c, CNNACC_CCP_INSN_ADDI(rd, rd, delta));
	} else {
		if ((want & 0xffff) != (have & 0xffff))
			ccpc_insn(c, CNNACC_CCP_INSN_LDI(rd, want));
		set_high(c, rd, want, buffer);
	}
	c->reg[rd] = want;
	c->buffer[rd] = buffer;
}

void ccpc_set(struct ccpc_code *c, unsigned int rd, int64_t value)
{
	set(c, rd, (uint32_t)value, 0);
}

void ccpc_set_weights(struct ccpc_code *c, unsigned int rd, int64_t value)
{
	if (c->compile) {
		ccpc_set(c, rd, value);
		return;
	}
	ccpc_insn(c, CNNACC_CCP_INSN_LDI(rd, value));
	ccpc_insn(c, CNNACC_CCP_INSN_LDIH(rd, (uint32_t)value >> 16));
	c->reg[rd] = (uint32_t)value;
	c->buffer[rd] = 0;
}

/* The same for a memory line. A trial does not know the address, so it assumes the longest code. */
static void set_line(struct ccpc_code *c, unsigned int rd, int64_t line)
{
	if (c->compile)
		set(c, rd, (uint32_t)line, 1 + cnn_buffer_at((uint32_t)line * CNNACC_LINE_SIZE));
	else if (c->reg[rd] != (uint32_t)line)
		ccpc_set_weights(c, rd, line);
}

void ccpc_add(struct ccpc_code *c, unsigned int rd, int64_t delta)
{
	while (delta) {
		int64_t part = cnn_max(INT16_MIN, cnn_min(INT16_MAX, delta));

		ccpc_insn(c, CNNACC_CCP_INSN_ADDI(rd, rd, part));
		delta -= part;
		if (c->overflow)
			return;
	}
}

uint32_t ccpc_loop(struct ccpc_code *c, int64_t count)
{
	ccpc_set(c, CCPC_COUNT, count);
	return c->n - c->overlay;
}

void ccpc_loop_end(struct ccpc_code *c, uint32_t top)
{
	ccpc_insn(c, CNNACC_CCP_INSN_ADDI(CCPC_COUNT, CCPC_COUNT, -1));
	ccpc_insn(c, CNNACC_CCP_INSN_BNZ(CCPC_COUNT, top));
	c->reg[CCPC_COUNT] = 0;
}

void ccpc_reg_advanced(struct ccpc_code *c, unsigned int rd, int64_t delta)
{
	c->reg[rd] += (uint32_t)delta;
}

bool ccpc_can_cut_planes(const struct cnn_planes *l)
{
	return l->plane_pitch % CCPC_LINE_FLOATS == 0 || l->c == 1;
}

struct ccpc_region ccpc_region_of(const struct ccpc_operand *o, const struct ccpc_planes *p)
{
	const struct ccpc_bank_binding *bind = &o->bind;
	const struct cnn_planes *l = &o->layout;
	int64_t start = p->image * l->image_pitch + p->c0 * l->plane_pitch, planes = p->c1 - p->c0;
	struct ccpc_region r = {
		.pieces = 1, .rows = 1, .pitch = planes == 1 ? p->f1 - p->f0 : l->plane_pitch,
		.lo = start + p->f0, .hi = start + (planes - 1) * l->plane_pitch + p->f1,
		.resident = bind->resident, .at = bind->resident ? bind->at : bind->free_line,
	};
	int64_t first = r.lo / CCPC_LINE_FLOATS;

	r.shares_start = r.lo % CCPC_LINE_FLOATS;
	r.line = o->line + first;
	r.base = r.at * CCPC_LINE_FLOATS + (r.resident ? r.lo : r.lo % CCPC_LINE_FLOATS);
	if (r.resident)
		return r;
	r.lines = cnn_div_up(r.hi, CCPC_LINE_FLOATS) - first;
	if (planes > 1 && (p->f0 || p->f1 < l->plane)) {
		r.pieces = planes;
		r.piece_pitch = l->plane_pitch / CCPC_LINE_FLOATS;
		r.lines = cnn_div_up(start + p->f1, CCPC_LINE_FLOATS) - first;
		r.pitch = r.lines * CCPC_LINE_FLOATS;
	}
	r.piece_lines = r.lines;
	return r;
}

/* The largest power of 2 that divides both a number of floats and those of a line. */
static int64_t common_floats(int64_t floats)
{
	return (floats | CCPC_LINE_FLOATS) & -(floats | CCPC_LINE_FLOATS);
}

int64_t ccpc_most_phase(int64_t width)
{
	return CCPC_LINE_FLOATS - common_floats(width);
}

struct ccpc_region ccpc_region_of_columns(const struct ccpc_operand *o, const struct ccpc_planes *p,
					  const struct ccpc_columns *x)
{
	struct ccpc_region r = ccpc_region_of(o, p);
	int64_t from = x->from / CCPC_LINE_FLOATS, last;

	r.line += from;
	r.lines = cnn_div_up(x->to - x->from + ccpc_most_phase(x->width), CCPC_LINE_FLOATS);
	if (x->to < x->width)
		r.lines = cnn_min(r.lines, cnn_div_up(x->width, CCPC_LINE_FLOATS) - from);
	else if (x->width % CCPC_LINE_FLOATS)
		r.row_end = x->width - x->from;
	r.pieces = p->c1 - p->c0;
	r.piece_pitch = o->layout.plane_pitch / CCPC_LINE_FLOATS;
	r.rows = (p->f1 - p->f0) / x->width;
	r.row_pitch = x->width;
	r.row_floats = x->count;
	r.phase = r.lo % CCPC_LINE_FLOATS;
	r.skip = (x->from - x->first) / CCPC_LINE_FLOATS;
	/* Wherever the first row starts, so that all slabs of so many rows take as much. */
	last = ccpc_most_phase(x->width) + (r.rows - 1) * x->count;
	r.piece_lines = cnn_max(last / CCPC_LINE_FLOATS + r.skip + r.lines,
				cnn_div_up(last + x->count, CCPC_LINE_FLOATS));
	r.pitch = r.piece_lines * CCPC_LINE_FLOATS;
	r.shares_start = r.phase && !x->from;
	r.lo += x->from;
	r.hi += x->to - x->width;
	return r;
}

void ccpc_region_place(struct ccpc_region *r, int64_t at)
{
	if (r->resident)
		return;
	r->base += (at - r->at) * CCPC_LINE_FLOATS;
	r->at = at;
}

bool ccpc_same_region(const struct ccpc_region *a, const struct ccpc_region *b)
{
	return a->line == b->line && a->lines == b->lines && a->pieces == b->pieces &&
	       a->piece_pitch == b->piece_pitch && a->rows == b->rows &&
	       a->row_floats == b->row_floats && a->lo == b->lo && a->hi == b->hi;
}

/*
 * Words of an overlay per transfer in a loop. An instruction cache has slack beyond trials for
 * them.
 */
#define UNROLL_WORDS	256

/* Transfers per round of a loop: the most that divide the number of pieces. */
static int64_t unroll_of(const struct ccpc_code *c, int64_t pieces)
{
	int64_t unroll = cnn_max(1, c->hw->insns / UNROLL_WORDS);

	while (pieces % unroll)
		unroll--;
	return unroll;
}

/* Transfers of rows that stand one after the other rather than in a loop, as share of an overlay. */
#define UNROLL_ROWS_WORDS 64

static void transfer_row(struct ccpc_code *c, const struct ccpc_region *r, int64_t i, uint32_t insn)
{
	ccpc_insn(c, insn);
	ccpc_add(c, CCPC_LEN, ccpc_row_lines(r, i + 1) - ccpc_row_lines(r, i));
	ccpc_add(c, CCPC_MEM, ccpc_row_line(r, i + 1, r->row_pitch) -
			      ccpc_row_line(r, i, r->row_pitch));
	ccpc_add(c, CCPC_BANK, ccpc_row_line(r, i + 1, r->row_floats) -
			       ccpc_row_line(r, i, r->row_floats));
}

/* Moves the rows of a piece, and leaves the registers as the next row would need them. */
static void transfer_rows(struct ccpc_code *c, const struct ccpc_region *r, uint32_t insn)
{
	int64_t loops = cnn_div_up(r->rows, cnn_max(1, c->hw->insns / UNROLL_ROWS_WORDS));
	int64_t unroll = r->rows / loops, i;
	/* After so many rows the next one starts at the same place in a line. */
	int64_t period = CCPC_LINE_FLOATS / common_floats(r->row_pitch);
	uint32_t top = 0;

	if (unroll % period) {
		unroll = cnn_max(period, unroll / period * period);
		loops = r->rows / unroll;
	}
	for (i = 0; i < r->rows - loops * unroll; i++)
		transfer_row(c, r, i, insn);
	if (loops > 1) {
		/* In later rounds of the loop around this one it is zero. */
		c->reg[CCPC_COUNT] = 0;
		top = ccpc_loop(c, loops);
	}
	for (int64_t k = 0; k < unroll && loops; k++)
		transfer_row(c, r, i + k, insn);
	if (loops > 1)
		ccpc_loop_end(c, top);
}

/* Moves the pieces of r, whose rows are cut. */
static void transfer_cut(struct ccpc_code *c, const struct ccpc_region *r, uint32_t insn)
{
	uint32_t top;

	set_line(c, CCPC_MEM, r->line);
	ccpc_set(c, CCPC_LEN, ccpc_row_lines(r, 0));
	ccpc_set(c, CCPC_BANK, r->at + r->skip);
	ccpc_set(c, CCPC_PLANES, r->pieces);
	top = c->n - c->overlay;
	transfer_rows(c, r, insn);
	ccpc_add(c, CCPC_MEM, r->piece_pitch - ccpc_row_line(r, r->rows, r->row_pitch));
	ccpc_add(c, CCPC_BANK, r->piece_lines - ccpc_row_line(r, r->rows, r->row_floats));
	ccpc_add(c, CCPC_LEN, ccpc_row_lines(r, 0) - ccpc_row_lines(r, r->rows));
	ccpc_insn(c, CNNACC_CCP_INSN_ADDI(CCPC_PLANES, CCPC_PLANES, -1));
	ccpc_insn(c, CNNACC_CCP_INSN_BNZ(CCPC_PLANES, top));
	c->reg[CCPC_PLANES] = 0;
	ccpc_reg_advanced(c, CCPC_MEM, r->pieces * r->piece_pitch);
	ccpc_reg_advanced(c, CCPC_BANK, ccpc_region_lines(r));
}

/* Moves the pieces of r, but only the first @lines of each. */
static void transfer(struct ccpc_code *c, const struct ccpc_region *r, int64_t lines, uint32_t insn)
{
	int64_t unroll = r->pieces <= 3 ? r->pieces : unroll_of(c, r->pieces);
	bool loop = unroll != r->pieces;
	uint32_t top;

	if (r->rows > 1) {
		transfer_cut(c, r, insn);
		return;
	}
	set_line(c, CCPC_MEM, r->line);
	ccpc_set(c, CCPC_LEN, r->row_end ? ccpc_row_lines(r, 0) : lines);
	ccpc_set(c, CCPC_BANK, r->at + r->skip);
	top = loop ? ccpc_loop(c, r->pieces / unroll) : 0;
	for (int64_t i = 0; i < unroll; i++) {
		ccpc_insn(c, insn);
		if (!loop && i + 1 == unroll)
			break;
		ccpc_add(c, CCPC_MEM, r->piece_pitch);
		ccpc_add(c, CCPC_BANK, r->piece_lines);
	}
	if (loop)
		ccpc_loop_end(c, top);
	ccpc_reg_advanced(c, CCPC_MEM, (r->pieces - !loop) * r->piece_pitch);
	ccpc_reg_advanced(c, CCPC_BANK, (r->pieces - !loop) * r->piece_lines);
}

static uint32_t load_insn(unsigned int tgt)
{
	return CNNACC_CCP_INSN_LOAD(CCPC_MEM, CCPC_LEN, CCPC_BANK, tgt);
}

void ccpc_load_to(struct ccpc_code *c, const struct ccpc_region *r, enum cnnacc_ccp_target bank)
{
	if (bank == CNNACC_CCP_TGT_READ_BANK)
		ccpc_forget_input(c);
	ccpc_note_read(c, r);
	transfer(c, r, r->lines, load_insn(bank));
}

void ccpc_load(struct ccpc_code *c, const struct ccpc_region *r)
{
	if (r->resident || (c->in_bank[0].lines && ccpc_same_region(&c->in_bank[0], r)))
		return;
	ccpc_load_to(c, r, CNNACC_CCP_TGT_READ_BANK);
	c->in_bank[0] = *r;
}

int64_t ccpc_prepare_cycles(const struct ccpc_region *r)
{
	int64_t cycles = (r->shares_start ? 17 : 0) + (r->row_end ? 20 * r->rows : 0);

	return r->resident ? 0 : r->pieces * cycles;
}

/* Fetches the first line of the first row, or of each row those where it may end. */
static void fetch_shared(struct ccpc_code *c, struct ccpc_region r, bool ends)
{
	int64_t before = ends ? r.row_end / CCPC_LINE_FLOATS : 0;

	r.rows = ends ? r.rows : 1;
	r.line += before;
	r.skip += before;
	r.row_end = ends ? r.row_end % CCPC_LINE_FLOATS : 0;
	transfer(c, &r, 1, load_insn(CNNACC_CCP_TGT_WRITE_BANK));
}

void ccpc_prepare_out(struct ccpc_code *c, const struct ccpc_region *r, bool whole)
{
	if (r->resident || (!whole && !r->shares_start && !r->row_end))
		return;
	c->restartable = false;
	if (whole)
		transfer(c, r, r->lines, load_insn(CNNACC_CCP_TGT_WRITE_BANK));
	else if (r->shares_start)
		fetch_shared(c, *r, false);
	if (!whole && r->row_end)
		fetch_shared(c, *r, true);
}

void ccpc_store(struct ccpc_code *c, const struct ccpc_region *r)
{
	if (r->resident)
		return;
	transfer(c, r, r->lines,
		 CNNACC_CCP_INSN_STORE(CCPC_MEM, CCPC_LEN, CCPC_BANK, CNNACC_CCP_TGT_WRITE_BANK));
	ccpc_note_write(c, r);
}

void ccpc_move(struct ccpc_code *c, const struct ccpc_move *m)
{
	const struct ccpc_region r = {
		.line = m->line, .lines = m->lines, .pieces = 1, .rows = 1,
		.piece_lines = m->lines, .at = m->at,
	};
	unsigned int tgt =
		m->bank == c->read_bank ? CNNACC_CCP_TGT_READ_BANK : CNNACC_CCP_TGT_WRITE_BANK;

	transfer(c, &r, r.lines,
		 m->load ? load_insn(tgt) :
			   CNNACC_CCP_INSN_STORE(CCPC_MEM, CCPC_LEN, CCPC_BANK, tgt));
	if (m->load)
		ccpc_note_read(c, &r);
	else
		ccpc_note_write(c, &r);
}

void ccpc_swap(struct ccpc_code *c)
{
	ccpc_insn(c, CNNACC_CCP_INSN_SWAP);
	c->read_bank ^= 1;
	ccpc_forget_input(c);
}

/* A larger chunk takes both halves. */
static bool takes_half(const struct ccpc_code *c, const struct ccpc_weight_chunk *k)
{
	return k->lines <= ccpc_half_lines(c->hw);
}

static bool has_half(const struct ccpc_code *c, unsigned int half, int64_t line)
{
	return c->weights[half] == line;
}

static void load_chunk(struct ccpc_code *c, const struct ccpc_weight_chunk *k, unsigned int half)
{
	bool shared = c->weights[0] == c->weights[1];
	int node = c->node;

	c->node = k->node;
	ccpc_set(c, CCPC_LEN, k->lines);
	ccpc_set_weights(c, CCPC_BANK, half * ccpc_half_lines(c->hw));
	for (int b = 0; b < k->banks; b++) {
		set_line(c, CCPC_MEM, k->line + b * k->lines);
		ccpc_insn(c, load_insn(CCPC_WEIGHT_TGT(b)));
	}
	c->node = node;
	if (!takes_half(c, k) || shared)
		c->weights[!half] = takes_half(c, k) ? -1 : k->line;
	c->weights[half] = k->line;
}

int64_t ccpc_load_weights(struct ccpc_code *c, const struct ccpc_weight_chunk *k)
{
	if (has_half(c, 0, k->line) || has_half(c, 1, k->line)) {
		c->weight_half = !has_half(c, 0, k->line);
	} else {
		c->weight_half = takes_half(c, k) && !c->weight_half;
		load_chunk(c, k, c->weight_half);
	}
	return c->weight_half * ccpc_half_lines(c->hw);
}

void ccpc_prefetch_weights(struct ccpc_code *c, const struct ccpc_weight_chunk *k)
{
	bool shared = c->weights[0] >= 0 && c->weights[0] == c->weights[1];

	if (k->lines && takes_half(c, k) && !shared && !has_half(c, 0, k->line) &&
	    !has_half(c, 1, k->line))
		load_chunk(c, k, !c->weight_half);
}

void ccpc_load_linear(struct ccpc_code *c, int64_t line, int64_t lines, int64_t target)
{
	int64_t bank_lines = c->hw->weight_bank / CCPC_LINE_FLOATS;

	while (lines > 0) {
		int64_t bank = target / bank_lines;
		int64_t part = cnn_min(lines, (bank + 1) * bank_lines - target);

		set_line(c, CCPC_MEM, line);
		ccpc_set(c, CCPC_LEN, part);
		ccpc_set(c, CCPC_BANK, target % bank_lines);
		ccpc_insn(c, load_insn((unsigned int)CCPC_WEIGHT_TGT(bank)));
		line += part;
		target += part;
		lines -= part;
	}
	c->weights[0] = c->weights[1] = -1;
}

/* Memory line of packed weights in a trial, far from every value. */
#define TRIAL_WEIGHTS	0x80000000u

int ccpc_reserve_weights(struct ccpc_code *c, int64_t floats, int64_t *line, float **data)
{
	int64_t at;

	*line = TRIAL_WEIGHTS;
	*data = NULL;
	c->trial.weights += floats;
	if (!c->compile)
		return CNN_OK;
	at = cnn_image_add(c->compile, &c->compile->weights, floats * 4, CNNACC_LINE_SIZE);
	if (at < 0)
		return (int)at;
	*line = (CNN_VA_WEIGHTS + at) / CNNACC_LINE_SIZE;
	*data = (float *)(c->compile->weights.data + at);
	return CNN_OK;
}

float ccpc_weight(const struct ccpc_weights *w, int64_t o, int64_t c, int64_t k)
{
	float scale = w->scale;

	return w->data ? scale * w->data[o * w->stride_out + c * w->stride_in + k] : scale;
}

float ccpc_bias(const struct ccpc_weights *w, int64_t o)
{
	return w->bias_scale * w->bias[o * w->bias_stride];
}
