// SPDX-License-Identifier: MIT
/*
 * Tasks of core ccp. A task longer than the instruction cache is made of overlays, each of which
 * loads the next one over itself. Every overlay begins with the same two words: a LOAD of an
 * overlay and a jump behind the two. They have no effect when a task starts, because registers are
 * zero then.
 */
#include <stdlib.h>
#include <string.h>

#include "ccp.h"

#define SWITCH_WORDS 5	/* words that end an overlay, except the last */

static void put(struct ccpc_code *c, uint32_t insn)
{
	c->owner[c->n] = c->node;
	c->is_address[c->n] = false;
	c->words[c->n++] = insn;
}

/* Begins an overlay at the next word, and makes room for the longest one. */
static int begin_overlay(struct ccpc_code *c)
{
	int64_t need = (int64_t)c->n + c->hw->insns;

	if (need > c->words_cap) {
		int64_t cap = cnn_max(need, 2 * c->words_cap);
		uint32_t *words = realloc(c->words, (size_t)cap * sizeof(*words));
		int *owner = realloc(c->owner, (size_t)cap * sizeof(*owner));
		bool *is_address = realloc(c->is_address, (size_t)cap * sizeof(*is_address));

		c->words = words ? words : c->words;
		c->owner = owner ? owner : c->owner;
		c->is_address = is_address ? is_address : c->is_address;
		if (!words || !owner || !is_address)
			return cnn_fail(c->compile ? c->compile->err : NULL, CNN_ENOMEM,
					"no memory for a program");
		c->words_cap = cap;
	}
	c->overlay = c->n;
	c->overlay_end = c->n + c->limit;
	put(c, CNNACC_CCP_INSN_LOAD(CCPC_MEM, CCPC_LEN, CCPC_BANK, CNNACC_CCP_TGT_ICACHE));
	put(c, CNNACC_CCP_INSN_BNZ(CCPC_LEN, CCPC_OVERLAY_HEAD));
	c->overlay_sections = 0;
	return CNN_OK;
}

/* The first four words are filled in when the lengths of all overlays are known. */
static int emit_overlay_switch(struct ccpc_code *c)
{
	uint32_t *overlays = realloc(c->overlays, ((size_t)c->n_overlays + 1) * sizeof(*overlays));

	if (!overlays)
		return cnn_fail(c->compile ? c->compile->err : NULL, CNN_ENOMEM,
				"no memory for a program");
	c->overlays = overlays;
	overlays[c->n_overlays++] = c->overlay;
	put(c, CNNACC_CCP_INSN_LDI(CCPC_MEM, 0));
	put(c, CNNACC_CCP_INSN_LDIH(CCPC_MEM, 0));
	put(c, CNNACC_CCP_INSN_LDI(CCPC_LEN, 0));
	put(c, CNNACC_CCP_INSN_LDI(CCPC_BANK, 0));
	ccpc_clock_run(&c->clock, c->words + c->overlay, c->timed - c->overlay, c->n - c->overlay);
	ccpc_clock_switch_overlay(&c->clock, cnn_div_up(c->hw->insns, CCPC_LINE_FLOATS));
	put(c, CNNACC_CCP_INSN_BNZ(CCPC_LEN, 0));
	if (begin_overlay(c))
		return CNN_ENOMEM;
	c->timed = c->n;
	put(c, CNNACC_CCP_INSN_LDI(CCPC_MEM, 0));
	put(c, CNNACC_CCP_INSN_LDI(CCPC_LEN, 0));
	c->reg[CCPC_MEM] = c->reg[CCPC_LEN] = c->reg[CCPC_BANK] = 0;
	c->buffer[CCPC_MEM] = 0;
	return CNN_OK;
}

static int begin_task(struct ccpc_code *c)
{
	c->n = c->timed = 0;
	c->n_overlays = 0;
	c->overflow = false;
	c->read_bank = 0;
	memset(c->reg, 0, sizeof(c->reg));
	memset(c->buffer, 0, sizeof(c->buffer));
	ccpc_clock_boot(&c->clock, c->hw, c->hw->insns);
	ccpc_forget_input(c);
	c->pending.lines = c->behind.lines = 0;
	c->swap_next = c->swapped = false;
	c->weights[0] = c->weights[1] = -1;
	c->n_reads = c->n_writes = 0;
	c->first_node = -1;
	c->restartable = true;
	return begin_overlay(c);
}

int ccpc_code_init(struct ccpc_code *c, const struct ccpc_hw *hw, struct cnn_compile *compile)
{
	memset(c, 0, sizeof(*c));
	c->hw = hw;
	c->compile = compile;
	/* The code of a trial must be at least as long as the final code. */
	c->limit = hw->insns - SWITCH_WORDS - (compile ? 0 : hw->insns / 32 + 2);
	if (!begin_task(c))
		return CNN_OK;
	ccpc_code_free(c);
	return CNN_ENOMEM;
}

void ccpc_code_free(struct ccpc_code *c)
{
	free(c->words);
	free(c->owner);
	free(c->overlays);
	free(c->is_address);
	c->words = NULL;
	c->owner = NULL;
	c->is_address = NULL;
	c->overlays = NULL;
}

/* Of the words from..to-1, whose first is at byte @at of the image. */
static int add_addresses(const struct ccpc_code *c, uint32_t from, uint32_t to, int64_t at)
{
	int ret = CNN_OK;

	for (uint32_t i = from; i < to && !ret; i++)
		if (c->is_address[i])
			ret = cnn_add_address(c->compile, at + 4 * (int64_t)(i - from),
					      c->words[i] << CNN_BASE_SHIFT, CNN_ADDRESS_HIGH);
	return ret;
}

/* Appends the overlays to the program; returns the offset of the first, or a negative status. */
static int64_t add_overlays(struct ccpc_code *c)
{
	int64_t first = cnn_round_up(c->compile->program.len, CNNACC_LINE_SIZE);
	int ret;

	for (int i = 0; i <= c->n_overlays; i++) {
		uint32_t n, next, from = ccpc_overlay(c, i, &n), to = from + n;
		uint32_t *words = c->words + from, *jump = words + n - SWITCH_WORDS;
		int64_t at = cnn_image_add(c->compile, &c->compile->program, (int64_t)n * 4,
					   CNNACC_LINE_SIZE);
		int64_t line =
			(CNN_VA_PROGRAM + at) / CNNACC_LINE_SIZE + cnn_div_up(n, CCPC_LINE_FLOATS);

		if (at < 0)
			return at;
		if (i < c->n_overlays) {
			ccpc_overlay(c, i + 1, &next);
			jump[0] = CNNACC_CCP_INSN_LDI(CCPC_MEM, line);
			jump[1] = CNNACC_CCP_INSN_LDIH(CCPC_MEM, (uint32_t)line >> 16);
			c->is_address[to - SWITCH_WORDS + 1] = true;
			jump[2] = CNNACC_CCP_INSN_LDI(CCPC_LEN, cnn_div_up(next, CCPC_LINE_FLOATS));
		}
		memcpy(c->compile->program.data + at, words, (size_t)n * 4);
		ret = add_addresses(c, from, to, at);
		if (ret)
			return ret;
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
	at = add_overlays(c);
	if (at < 0)
		return (int)at;
	ccpc_overlay(c, 0, &length);
	task = cnn_add_task(c->compile, at, length * (uint32_t)sizeof(*c->words));
	if (!task)
		return CNN_ENOMEM;
	ret = ccpc_attribute_cost(c, task);
	if (ret)
		return ret;
	task->cycle_limit = (uint64_t)cnn_min((int64_t)(task->cycles + task->cycles / 4 + 1024),
					      (int64_t)c->hw->cycles_max);
	task->restartable = c->restartable;
	task->first_node = c->first_node;
	task->last_node = c->last_node;
	return CNN_OK;
}

/* Stores a pending output, in an overlay of its own if the current one has no room. */
static int store_pending(struct ccpc_code *c)
{
	struct ccpc_code before = *c;
	int ret;

	if (!c->pending.lines)
		return CNN_OK;
	ccpc_tile_flush(c, NULL);
	if (c->overflow) {
		*c = before;
		ret = emit_overlay_switch(c);
		if (ret)
			return ret;
		ccpc_tile_flush(c, NULL);
	}
	ccpc_clock_run(&c->clock, c->words + c->overlay, c->timed - c->overlay, c->n - c->overlay);
	return CNN_OK;
}

int ccpc_code_flush(struct ccpc_code *c)
{
	int ret = store_pending(c);

	if (ret)
		return ret;
	c->trial.words += c->n;
	c->trial.cycles += ccpc_clock_cycles(&c->clock);
	c->trial.bytes += c->clock.count.read_weights + c->clock.count.read_data +
			  c->clock.count.written;
	if (c->first_node >= 0 && c->compile)
		ret = end_task(c);
	return ret ? ret : begin_task(c);
}

enum section_fit { FITS, TOO_LONG, TOO_SLOW };

/* True if the task has time left for so many overlay switches and for the pending output. */
static bool is_in_time(const struct ccpc_code *c, uint64_t overlays)
{
	uint64_t left = ccpc_tile_cycles_left(c);

	overlays += left > 0;
	left += overlays * (64 + c->hw->insns / CCPC_LINE_FLOATS);
	return ccpc_clock_cycles(&c->clock) + left < c->hw->cycles_max;
}

static enum section_fit make_section(struct ccpc_code *c,
				     void (*emit)(struct ccpc_code *c, const void *arg),
				     const void *arg)
{
	uint64_t before = c->clock.insns_run;

	emit(c, arg);
	if (c->overflow)
		return TOO_LONG;
	ccpc_clock_run(&c->clock, c->words + c->overlay, c->timed - c->overlay, c->n - c->overlay);
	c->timed = c->n;
	c->trial.insns_run += c->clock.insns_run - before;
	return is_in_time(c, 0) ? FITS : TOO_SLOW;
}

static void note_section(struct ccpc_code *c)
{
	if (c->first_node < 0) {
		c->first_node = c->node;
		for (int i = 0; i < CCPC_OVERLAY_HEAD; i++)
			c->owner[i] = c->node;
	}
	c->last_node = c->node;
	c->overlay_sections++;
}

int ccpc_emit_section(struct ccpc_code *c, void (*emit)(struct ccpc_code *c, const void *arg),
		      const void *arg)
{
	if (!c->compile &&
	    (c->trial.words + c->n > CCPC_WORDS_MAX || c->trial.insns_run > CCPC_TRIAL_INSNS_MAX))
		return CCPC_TOO_MUCH;
	for (;;) {
		struct ccpc_code before = *c;
		bool fresh = c->first_node < 0, alone;
		enum section_fit fit = make_section(c, emit, arg);
		int ret;

		if (fit == FITS) {
			note_section(c);
			return CNN_OK;
		}
		before.trial.insns_run = c->trial.insns_run;
		*c = before;
		alone = fit == TOO_LONG ? !c->overlay_sections : fresh;
		if (fit == TOO_LONG && !is_in_time(c, 1))
			fit = TOO_SLOW;
		if (alone || (fit == TOO_SLOW && c->pinned)) {
			/* No trial has seen the prefetch of the next node: try without it. */
			if (!c->next.lines)
				return alone ? CCPC_TOO_BIG : CCPC_PINNED;
			c->next.lines = 0;
			continue;
		}
		ret = fit == TOO_LONG ? emit_overlay_switch(c) : ccpc_code_flush(c);
		if (ret)
			return ret;
	}
}
