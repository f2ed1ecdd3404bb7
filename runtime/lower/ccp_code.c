// SPDX-License-Identifier: MIT
/* Code of core ccp: registers, loops, transfers, units and tasks. */
#include <stdlib.h>
#include <string.h>

#include "ccp.h"

#define MEM	0	/* registers of a transfer: memory line, length, bank line */
#define LEN	1
#define BANK	2
#define COUNT	7

/* ---- tasks ----------------------------------------------------------------------------- */

static void begin_task(struct lcp_code *c)
{
	c->n = c->timed = 0;
	c->overflow = false;
	memset(c->reg, 0, sizeof(c->reg));
	lcp_clock_boot(&c->clock, c->hw, c->hw->insns);
	c->in_bank.lines = c->out_bank.lines = 0;
	c->weight_line = -1;
	c->n_reads = c->n_writes = 0;
	c->first_node = -1;
	c->restartable = true;
}

int lcp_code_init(struct lcp_code *c, const struct lcp_hw *hw, struct lw *lw)
{
	memset(c, 0, sizeof(*c));
	c->hw = hw;
	c->lw = lw;
	/* The code of a trial must not be shorter than the real one. */
	c->limit = lw ? hw->insns : hw->insns - hw->insns / 32 - 2;
	c->words = calloc(hw->insns, sizeof(*c->words));
	c->owner = calloc(hw->insns, sizeof(*c->owner));
	if (!c->words || !c->owner) {
		lcp_code_free(c);
		return CNN_ENOMEM;
	}
	begin_task(c);
	return CNN_OK;
}

void lcp_code_free(struct lcp_code *c)
{
	free(c->words);
	free(c->owner);
	c->words = NULL;
	c->owner = NULL;
}

static int end_task(struct lcp_code *c)
{
	struct cnn_task *task;
	int ret;

	c->owner[c->n] = c->last_node;
	c->words[c->n++] = CNNACC_CCP_INSN_NOP;
	task = lw_add_task(c->lw, c->words, c->n * (uint32_t)sizeof(*c->words));
	if (!task)
		return c->lw->err ? c->lw->err->code : CNN_ENOMEM;
	ret = lcp_account(c, task);
	if (ret)
		return ret;
	task->cycle_limit = (uint64_t)lw_min((int64_t)(task->cycles + task->cycles / 4 + 1024),
					     (int64_t)c->hw->cycles_max);
	task->restartable = c->restartable;
	task->first_node = c->first_node;
	task->last_node = c->last_node;
	return CNN_OK;
}

int lcp_code_flush(struct lcp_code *c)
{
	int ret = CNN_OK;

	c->trial_words += lw_round_up(c->n + 1, LINE_FLOATS);
	if (c->n && c->lw)
		ret = end_task(c);
	begin_task(c);
	return ret;
}

/* ---- units ----------------------------------------------------------------------------- */

/* Room is kept for the NOP that ends the task. */
static bool make_unit(struct lcp_code *c, void (*emit)(struct lcp_code *c, const void *arg),
		      const void *arg)
{
	uint64_t steps = c->clock.steps;

	emit(c, arg);
	if (c->overflow || c->n + 1 > c->limit)
		return false;
	lcp_clock_run(&c->clock, c->words, c->timed, c->n);
	c->timed = c->n;
	c->trial_steps += c->clock.steps - steps;
	return lcp_clock_cycles(&c->clock) < c->hw->cycles_max;
}

static void note_node(struct lcp_code *c)
{
	if (c->first_node < 0)
		c->first_node = c->node;
	c->last_node = c->node;
}

int lcp_unit(struct lcp_code *c, void (*emit)(struct lcp_code *c, const void *arg),
	     const void *arg)
{
	struct lcp_code before = *c;
	int ret;

	if (!c->lw && (c->trial_words > LCP_WORDS_MAX || c->trial_steps > LCP_STEPS_MAX))
		return LCP_TOO_MUCH;
	if (make_unit(c, emit, arg)) {
		note_node(c);
		return 0;
	}
	*c = before;
	if (!c->n)
		return LCP_TOO_BIG;
	ret = lcp_code_flush(c);
	if (ret)
		return ret;
	if (!make_unit(c, emit, arg))
		return LCP_TOO_BIG;
	note_node(c);
	return 0;
}

/* ---- instructions ---------------------------------------------------------------------- */

void lcp_op(struct lcp_code *c, uint32_t insn)
{
	if (c->n >= c->limit) {
		c->overflow = true;
		return;
	}
	c->owner[c->n] = c->node;
	c->words[c->n++] = insn;
}

void lcp_set(struct lcp_code *c, unsigned int rd, int64_t value)
{
	uint32_t want = (uint32_t)value, have = c->reg[rd];
	int32_t delta = (int32_t)(want - have);

	if (want == have)
		return;
	if (want < 0x10000) {
		lcp_op(c, CNNACC_CCP_INSN_LDI(rd, want));
	} else if (delta >= INT16_MIN && delta <= INT16_MAX) {
		lcp_op(c, CNNACC_CCP_INSN_ADDI(rd, rd, delta));
	} else {
		if ((want & 0xffff) != (have & 0xffff))
			lcp_op(c, CNNACC_CCP_INSN_LDI(rd, want));
		lcp_op(c, CNNACC_CCP_INSN_LDIH(rd, want >> 16));
	}
	c->reg[rd] = want;
}

void lcp_set_line(struct lcp_code *c, unsigned int rd, int64_t line)
{
	if (c->lw || c->reg[rd] == (uint32_t)line) {
		lcp_set(c, rd, line);
		return;
	}
	lcp_op(c, CNNACC_CCP_INSN_LDI(rd, line));
	lcp_op(c, CNNACC_CCP_INSN_LDIH(rd, (uint32_t)line >> 16));
	c->reg[rd] = (uint32_t)line;
}

void lcp_add(struct lcp_code *c, unsigned int rd, int64_t delta)
{
	while (delta) {
		int64_t part = lw_max(INT16_MIN, lw_min(INT16_MAX, delta));

		lcp_op(c, CNNACC_CCP_INSN_ADDI(rd, rd, part));
		delta -= part;
		if (c->overflow)
			return;
	}
}

uint32_t lcp_loop(struct lcp_code *c, int64_t count)
{
	lcp_set(c, COUNT, count);
	return c->n;
}

void lcp_loop_end(struct lcp_code *c, uint32_t top)
{
	lcp_op(c, CNNACC_CCP_INSN_ADDI(COUNT, COUNT, -1));
	lcp_op(c, CNNACC_CCP_INSN_BNZ(COUNT, top));
	c->reg[COUNT] = 0;
}

void lcp_gained(struct lcp_code *c, unsigned int rd, int64_t delta)
{
	c->reg[rd] += (uint32_t)delta;
}

/* ---- regions --------------------------------------------------------------------------- */

bool lcp_splits_planes(const struct cnn_layout *l)
{
	return l->plane_pitch % LINE_FLOATS == 0 || l->c == 1;
}

struct lcp_region lcp_region(int64_t line0, const struct cnn_layout *l, int64_t image, int64_t c0,
			     int64_t c1, int64_t f0, int64_t f1)
{
	int64_t start = image * l->image_pitch + c0 * l->plane_pitch;
	struct lcp_region r = {
		.pieces = 1, .pitch = l->plane_pitch,
		.lo = start + f0, .hi = start + (c1 - c0 - 1) * l->plane_pitch + f1,
	};
	int64_t first = r.lo / LINE_FLOATS;

	r.line = line0 + first;
	r.base = r.lo % LINE_FLOATS;
	if (c1 - c0 == 1) {
		r.pitch = f1 - f0;
	} else if (f0 || f1 < l->plane) {
		r.pieces = c1 - c0;
		r.step = l->plane_pitch / LINE_FLOATS;
		r.lines = lw_div_up(start + f1, LINE_FLOATS) - first;
		r.pitch = r.lines * LINE_FLOATS;
		return r;
	}
	r.lines = lw_div_up(r.hi, LINE_FLOATS) - first;
	return r;
}

static bool same_region(const struct lcp_region *a, const struct lcp_region *b)
{
	return a->line == b->line && a->lines == b->lines && a->pieces == b->pieces &&
	       a->step == b->step && a->lo == b->lo && a->hi == b->hi;
}

static struct lcp_span span_of(const struct lcp_region *r)
{
	return (struct lcp_span){ r->line, r->line + (r->pieces - 1) * r->step + r->lines };
}

static bool is_covered(const struct lcp_span *list, int n, struct lcp_span s)
{
	for (int i = 0; i < n; i++)
		if (list[i].from <= s.from && s.to <= list[i].to)
			return true;
	return false;
}

/* Adds s, to the last span if they touch; false if there is no room. */
static bool add_span(struct lcp_span *list, int *n, struct lcp_span s)
{
	struct lcp_span *last = *n ? &list[*n - 1] : NULL;

	if (last && s.from <= last->to && last->from <= s.to) {
		last->from = lw_min(last->from, s.from);
		last->to = lw_max(last->to, s.to);
		return true;
	}
	if (*n == CCP_SPANS)
		return false;
	list[(*n)++] = s;
	return true;
}

/* A task may be run again if it never writes what it has read from outside. */
static void note_read(struct lcp_code *c, const struct lcp_region *r)
{
	struct lcp_span s = span_of(r);

	if (is_covered(c->writes, c->n_writes, s) || is_covered(c->reads, c->n_reads, s))
		return;
	c->restartable &= add_span(c->reads, &c->n_reads, s);
}

static void note_write(struct lcp_code *c, const struct lcp_region *r)
{
	struct lcp_span s = span_of(r);

	for (int i = 0; i < c->n_reads; i++)
		if (s.from < c->reads[i].to && c->reads[i].from < s.to)
			c->restartable = false;
	/* Only whole stretches count as written; forgetting one merely costs the flag. */
	if (r->pieces == 1)
		add_span(c->writes, &c->n_writes, s);
}

/* ---- transfers ------------------------------------------------------------------------- */

/* Moves r's pieces, only the first lines of each. */
static void transfer(struct lcp_code *c, const struct lcp_region *r, int64_t lines, uint32_t insn)
{
	int64_t unroll = r->pieces <= 3 ? r->pieces : 1;
	uint32_t top = c->n;

	if (unroll != r->pieces)
		top = lcp_loop(c, r->pieces);
	for (int64_t i = 0; i < unroll; i++) {
		lcp_set_line(c, MEM, r->line + i * r->step);
		lcp_set(c, LEN, lines);
		lcp_set(c, BANK, i * r->lines);
		if (unroll != r->pieces)
			top = c->n;
		lcp_op(c, insn);
	}
	if (unroll == r->pieces)
		return;
	lcp_add(c, MEM, r->step);
	lcp_add(c, BANK, r->lines);
	lcp_loop_end(c, top);
	lcp_gained(c, MEM, r->pieces * r->step);
	lcp_gained(c, BANK, r->pieces * r->lines);
}

static uint32_t load_insn(unsigned int tgt)
{
	return CNNACC_CCP_INSN_LOAD(MEM, LEN, BANK, tgt);
}

void lcp_load(struct lcp_code *c, const struct lcp_region *r)
{
	if (c->in_bank.lines && same_region(&c->in_bank, r))
		return;
	if (c->out_bank.lines && same_region(&c->out_bank, r)) {
		lcp_op(c, CNNACC_CCP_INSN_SWAP);
		c->out_bank.lines = 0;
	} else {
		note_read(c, r);
		transfer(c, r, r->lines, load_insn(CNNACC_CCP_TGT_READ_BANK));
	}
	c->in_bank = *r;
}

void lcp_open_out(struct lcp_code *c, const struct lcp_region *r, bool whole)
{
	c->out_bank.lines = 0;
	if (!whole && !r->base)
		return;
	c->restartable = false;
	transfer(c, r, whole ? r->lines : 1, load_insn(CNNACC_CCP_TGT_WRITE_BANK));
}

void lcp_store(struct lcp_code *c, const struct lcp_region *r)
{
	transfer(c, r, r->lines,
		 CNNACC_CCP_INSN_STORE(MEM, LEN, BANK, CNNACC_CCP_TGT_WRITE_BANK));
	note_write(c, r);
	c->out_bank = *r;
}

void lcp_load_weights(struct lcp_code *c, int64_t line, int64_t lines, int banks)
{
	if (c->weight_line == line)
		return;
	for (int b = 0; b < banks; b++) {
		lcp_set_line(c, MEM, line + b * lines);
		lcp_set(c, LEN, lines);
		lcp_set(c, BANK, 0);
		lcp_op(c, load_insn(WEIGHT_TGT(b)));
	}
	c->weight_line = line;
}

void lcp_load_linear(struct lcp_code *c, int64_t line, int64_t lines, int64_t target)
{
	int64_t bank_lines = c->hw->wbank / LINE_FLOATS;

	while (lines > 0) {
		int64_t bank = target / bank_lines;
		int64_t part = lw_min(lines, (bank + 1) * bank_lines - target);

		lcp_set_line(c, MEM, line);
		lcp_set(c, LEN, part);
		lcp_set(c, BANK, target % bank_lines);
		lcp_op(c, load_insn((unsigned int)WEIGHT_TGT(bank)));
		line += part;
		target += part;
		lines -= part;
	}
	c->weight_line = -1;
}

/* ---- weights --------------------------------------------------------------------------- */

/* Where weights seem to lie in a trial: far from every value. */
#define TRIAL_WEIGHTS	0x80000000u

int lcp_weight_room(struct lcp_code *c, int64_t floats, int64_t *line, float **data)
{
	int64_t at;

	*line = TRIAL_WEIGHTS;
	*data = NULL;
	c->trial_weights += floats;
	if (!c->lw)
		return CNN_OK;
	at = lw_buf_add(c->lw, &c->lw->weights, floats * 4, CNNACC_LINE_SIZE);
	if (at < 0)
		return (int)at;
	*line = (CNN_VA_WEIGHTS + at) / CNNACC_LINE_SIZE;
	*data = (float *)(c->lw->weights.data + at);
	return CNN_OK;
}

float lcp_weight(const struct lcp_weights *w, int64_t o, int64_t c, int64_t k)
{
	float scale = w->scale;

	return w->data ? scale * w->data[o * w->so + c * w->sc + k] : scale;
}

float lcp_bias(const struct lcp_weights *w, int64_t o)
{
	return w->bias_scale * w->bias[o * w->bias_step];
}
