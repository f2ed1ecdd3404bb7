// SPDX-License-Identifier: MIT
/*
 * Tasks of core ccp. A task may be longer than the instruction cache: it then comes in pages, each
 * of which loads the next one over itself. Every page begins with the same two words, a LOAD of a
 * page and a jump behind them; they do nothing when a task starts, with its registers zero.
 */
#include <stdlib.h>
#include <string.h>

#include "ccp.h"

#define TURN	5	/* words that end a page which is not the last */
#define LAST	16	/* words that may store what a step has left in a bank */

/* ---- pages ----------------------------------------------------------------------------- */

static void put(struct ccpc_code *c, uint32_t insn)
{
	c->owner[c->n] = c->node;
	c->words[c->n++] = insn;
}

/* A page begins at the next word. Takes the room that it may need. */
static int begin_page(struct ccpc_code *c)
{
	int64_t need = (int64_t)c->n + c->hw->insns;

	if (need > c->words_cap) {
		int64_t cap = cnn_max(need, 2 * c->words_cap);
		uint32_t *words = realloc(c->words, (size_t)cap * sizeof(*words));
		int *owner = realloc(c->owner, (size_t)cap * sizeof(*owner));

		c->words = words ? words : c->words;
		c->owner = owner ? owner : c->owner;
		if (!words || !owner)
			return cnn_fail(c->lw ? c->lw->err : NULL, CNN_ENOMEM,
					"no memory for a program");
		c->words_cap = cap;
	}
	c->page = c->n;
	c->page_end = c->n + c->limit;
	put(c, CNNACC_CCP_INSN_LOAD(CCPC_MEM, CCPC_LEN, CCPC_BANK, CNNACC_CCP_TGT_ICACHE));
	put(c, CNNACC_CCP_INSN_BNZ(CCPC_LEN, CCPC_HEAD));
	c->page_units = 0;
	return CNN_OK;
}

/* The first four words get their numbers when the lengths of all pages are known. */
static int turn_page(struct ccpc_code *c)
{
	uint32_t *pages = realloc(c->pages, ((size_t)c->n_pages + 1) * sizeof(*pages));

	if (!pages)
		return cnn_fail(c->lw ? c->lw->err : NULL, CNN_ENOMEM, "no memory for a program");
	c->pages = pages;
	pages[c->n_pages++] = c->page;
	put(c, CNNACC_CCP_INSN_LDI(CCPC_MEM, 0));
	put(c, CNNACC_CCP_INSN_LDIH(CCPC_MEM, 0));
	put(c, CNNACC_CCP_INSN_LDI(CCPC_LEN, 0));
	put(c, CNNACC_CCP_INSN_LDI(CCPC_BANK, 0));
	ccpc_clock_run(&c->clock, c->words + c->page, c->timed - c->page, c->n - c->page);
	ccpc_clock_turn(&c->clock, cnn_div_up(c->hw->insns, LINE_FLOATS));
	put(c, CNNACC_CCP_INSN_BNZ(CCPC_LEN, 0));
	if (begin_page(c))
		return CNN_ENOMEM;
	c->timed = c->n;
	put(c, CNNACC_CCP_INSN_LDI(CCPC_MEM, 0));
	put(c, CNNACC_CCP_INSN_LDI(CCPC_LEN, 0));
	c->reg[CCPC_MEM] = c->reg[CCPC_LEN] = c->reg[CCPC_BANK] = 0;
	return CNN_OK;
}

uint32_t ccpc_page(const struct ccpc_code *c, int i, uint32_t *n)
{
	uint32_t from = i < c->n_pages ? c->pages[i] : c->page;
	uint32_t to = i == c->n_pages ? c->n : i + 1 < c->n_pages ? c->pages[i + 1] : c->page;

	*n = to - from;
	return from;
}

/* ---- tasks ----------------------------------------------------------------------------- */

static int begin_task(struct ccpc_code *c)
{
	c->n = c->timed = 0;
	c->n_pages = 0;
	c->overflow = false;
	c->sel = 0;
	memset(c->reg, 0, sizeof(c->reg));
	ccpc_clock_boot(&c->clock, c->hw, c->hw->insns);
	ccpc_forget_input(c);
	c->pending.lines = c->beside.lines = 0;
	c->turn = c->odd = false;
	c->weights[0] = c->weights[1] = -1;
	c->n_reads = c->n_writes = 0;
	c->first_node = -1;
	c->restartable = true;
	return begin_page(c);
}

int ccpc_code_init(struct ccpc_code *c, const struct ccpc_hw *hw, struct cnn_compile *lw)
{
	memset(c, 0, sizeof(*c));
	c->hw = hw;
	c->lw = lw;
	/* The code of a trial must not be shorter than the real one. */
	c->limit = hw->insns - TURN - (lw ? 0 : hw->insns / 32 + 2);
	if (!begin_task(c))
		return CNN_OK;
	ccpc_code_free(c);
	return CNN_ENOMEM;
}

void ccpc_code_free(struct ccpc_code *c)
{
	free(c->words);
	free(c->owner);
	free(c->pages);
	c->words = NULL;
	c->owner = NULL;
	c->pages = NULL;
}

/* Puts the pages into the program image; where the first one is, or a negative status. */
static int64_t add_pages(struct ccpc_code *c)
{
	int64_t first = cnn_round_up(c->lw->program.len, CNNACC_LINE_SIZE);

	for (int i = 0; i <= c->n_pages; i++) {
		uint32_t n, next, *words = c->words + ccpc_page(c, i, &n), *turn = words + n - TURN;
		int64_t at =
			cnn_image_add(c->lw, &c->lw->program, (int64_t)n * 4, CNNACC_LINE_SIZE);
		int64_t line =
			(CNN_VA_PROGRAM + at) / CNNACC_LINE_SIZE + cnn_div_up(n, LINE_FLOATS);

		if (at < 0)
			return at;
		if (i < c->n_pages) {
			ccpc_page(c, i + 1, &next);
			turn[0] = CNNACC_CCP_INSN_LDI(CCPC_MEM, line);
			turn[1] = CNNACC_CCP_INSN_LDIH(CCPC_MEM, (uint32_t)line >> 16);
			turn[2] = CNNACC_CCP_INSN_LDI(CCPC_LEN, cnn_div_up(next, LINE_FLOATS));
		}
		memcpy(c->lw->program.data + at, words, (size_t)n * 4);
	}
	return first;
}

static int end_task(struct ccpc_code *c)
{
	struct cnn_task *task;
	uint32_t length;
	int64_t at;
	int ret;

	put(c, CNNACC_CCP_INSN_NOP);
	at = add_pages(c);
	if (at < 0)
		return (int)at;
	ccpc_page(c, 0, &length);
	task = cnn_add_task(c->lw, at, length * (uint32_t)sizeof(*c->words));
	if (!task)
		return CNN_ENOMEM;
	ret = ccpc_account(c, task);
	if (ret)
		return ret;
	task->cycle_limit = (uint64_t)cnn_min((int64_t)(task->cycles + task->cycles / 4 + 1024),
					      (int64_t)c->hw->cycles_max);
	task->restartable = c->restartable;
	task->first_node = c->first_node;
	task->last_node = c->last_node;
	return CNN_OK;
}

int ccpc_code_flush(struct ccpc_code *c)
{
	int ret = CNN_OK;

	if (c->pending.lines) {
		if (c->n + LAST > c->page_end)
			ret = turn_page(c);
		if (ret)
			return ret;
		ccpc_step_end(c);
		ccpc_clock_run(&c->clock, c->words + c->page, c->timed - c->page, c->n - c->page);
	}
	c->trial.words += c->n;
	c->trial.cycles += ccpc_clock_cycles(&c->clock);
	c->trial.bytes += c->clock.count.read_weights + c->clock.count.read_data +
			  c->clock.count.written;
	if (c->first_node >= 0 && c->lw)
		ret = end_task(c);
	return ret ? ret : begin_task(c);
}

/* ---- units ----------------------------------------------------------------------------- */

enum fit { FITS, TOO_LONG, TOO_SLOW };

/* Is there time left in the task for pages more, and for what has yet to be stored? */
static bool is_in_time(const struct ccpc_code *c, uint64_t pages)
{
	uint64_t left = ccpc_step_left(c);

	pages += left > 0;
	left += pages * (64 + c->hw->insns / LINE_FLOATS);
	return ccpc_clock_cycles(&c->clock) + left < c->hw->cycles_max;
}

static enum fit make_unit(struct ccpc_code *c, void (*emit)(struct ccpc_code *c, const void *arg),
			  const void *arg)
{
	uint64_t steps = c->clock.steps;

	emit(c, arg);
	if (c->overflow)
		return TOO_LONG;
	ccpc_clock_run(&c->clock, c->words + c->page, c->timed - c->page, c->n - c->page);
	c->timed = c->n;
	c->trial.steps += c->clock.steps - steps;
	return is_in_time(c, 0) ? FITS : TOO_SLOW;
}

static void note_unit(struct ccpc_code *c)
{
	if (c->first_node < 0) {
		c->first_node = c->node;
		for (int i = 0; i < CCPC_HEAD; i++)
			c->owner[i] = c->node;
	}
	c->last_node = c->node;
	c->page_units++;
}

int ccpc_unit(struct ccpc_code *c, void (*emit)(struct ccpc_code *c, const void *arg),
	      const void *arg)
{
	if (!c->lw && (c->trial.words + c->n > CCPC_WORDS_MAX || c->trial.steps > CCPC_STEPS_MAX))
		return CCPC_TOO_MUCH;
	for (;;) {
		struct ccpc_code before = *c;
		bool fresh = c->first_node < 0, alone;
		enum fit fit = make_unit(c, emit, arg);
		int ret;

		if (fit == FITS) {
			note_unit(c);
			return CNN_OK;
		}
		before.trial.steps = c->trial.steps;
		*c = before;
		alone = fit == TOO_LONG ? !c->page_units : fresh;
		if (fit == TOO_LONG && !is_in_time(c, 1))
			fit = TOO_SLOW;
		if (alone || (fit == TOO_SLOW && c->pinned)) {
			/* What the next node begins with, no trial has seen. */
			if (!c->next.lines)
				return alone ? CCPC_TOO_BIG : CCPC_PINNED;
			c->next.lines = 0;
			continue;
		}
		ret = fit == TOO_LONG ? turn_page(c) : ccpc_code_flush(c);
		if (ret)
			return ret;
	}
}

/* ---- what may run again ---------------------------------------------------------------- */

static struct ccpc_span span_of(const struct ccpc_region *r)
{
	return (struct ccpc_span){ r->line, r->line + (r->pieces - 1) * r->step + r->lines };
}

static bool is_covered(const struct ccpc_span *list, int n, struct ccpc_span s)
{
	for (int i = 0; i < n; i++)
		if (list[i].from <= s.from && s.to <= list[i].to)
			return true;
	return false;
}

/* Adds s, to the last span if they touch; false if there is no room. */
static bool add_span(struct ccpc_span *list, int *n, struct ccpc_span s)
{
	struct ccpc_span *last = *n ? &list[*n - 1] : NULL;

	if (last && s.from <= last->to && last->from <= s.to) {
		last->from = cnn_min(last->from, s.from);
		last->to = cnn_max(last->to, s.to);
		return true;
	}
	if (*n == CCP_SPANS)
		return false;
	list[(*n)++] = s;
	return true;
}

/* A task may be run again if it never writes what it has read from outside. */
void ccpc_note_read(struct ccpc_code *c, const struct ccpc_region *r)
{
	struct ccpc_span s = span_of(r);

	if (is_covered(c->writes, c->n_writes, s) || is_covered(c->reads, c->n_reads, s))
		return;
	c->restartable &= add_span(c->reads, &c->n_reads, s);
}

void ccpc_note_write(struct ccpc_code *c, const struct ccpc_region *r)
{
	struct ccpc_span s = span_of(r);

	for (int i = 0; i < c->n_reads; i++)
		if (s.from < c->reads[i].to && c->reads[i].from < s.to)
			c->restartable = false;
	/* Only whole stretches count as written; forgetting one merely costs the flag. */
	if (r->pieces == 1)
		add_span(c->writes, &c->n_writes, s);
}

