// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Tasks and windows: addresses and their checks, cycles and counters. */
#include <string.h>

#include "hwpe.h"
#include "hwpe_mutant.h"

#define FMAP_SPACE	(2 * (uint64_t)CNNACC_HWPE_SRAM2)
#define KERNEL_DETAIL	8	/* detail of E_ADDR for the kernel memory */
#define SPECIAL_LAST	17	/* last byte of a column with Kernel_333 */
#define SLOTS		(HWPE_PES * HWPE_ACCS)

/* Field by field: wide copies of fields that were just written stall the host. */
void hwpe_layer(const struct hwpe_state *s, struct hwpe_layer *l)
{
	l->type = s->cfg[1] >> CNNACC_HWPE_CFG_TYPE_SHIFT & 3;
	l->special = s->cfg[1] & CNNACC_HWPE_CFG_333;
	l->input = s->cfg[1] & CNNACC_HWPE_CFG_INPUT;
	l->columns = s->cfg[1] & CNNACC_HWPE_CFG_KERNEL_MASK;
	l->words = s->cfg[0] & 0xffff;
	l->offset = s->cfg[0] >> 16;
	l->strides = s->mac[1];
	memcpy(l->base, s->base, sizeof(l->base));
	l->rounds = l->special ? 4 : l->columns * l->words;
}

static uint32_t k_count(const struct hwpe_state *s)
{
	return s->cfg[1] >> CNNACC_HWPE_CFG_K_SHIFT & 0x3ff;
}

static uint32_t h_count(const struct hwpe_state *s)
{
	return s->mac[0] & 0xffff;
}

static uint32_t w_count(const struct hwpe_state *s)
{
	return s->mac[0] >> 16;
}

/* Distance of a window's addresses from the bases. */
static uint64_t distance(uint32_t strides, struct hwpe_window window)
{
	return (uint64_t)window.cw * (strides >> 16) + (uint64_t)window.ch * (strides & 0xffff);
}

uint64_t hwpe_window_base(const struct hwpe_layer *l, struct hwpe_window window, unsigned int j)
{
	return l->base[j] + distance(l->strides, window);
}

uint64_t hwpe_windows_of_k(const struct hwpe_state *s)
{
	return (uint64_t)h_count(s) * w_count(s);
}

bool hwpe_last(const struct hwpe_state *s)
{
	return s->window.ch + 1 == h_count(s) && s->window.cw + 1 == w_count(s) &&
	       s->window.k + 1 == k_count(s);
}

/* First and last fmap address read from @conv on; a pair of rows counts as one with Kernel_333. */
static void row_span(const struct hwpe_layer *l, uint64_t conv, uint64_t *lo, uint64_t *hi)
{
	uint64_t last = conv + (uint64_t)(l->columns - 1) * l->offset;

	if (l->special) {
		*lo = conv;
		*hi = last + SPECIAL_LAST;
		return;
	}
	if (!l->input) {
		conv &= ~(uint64_t)7;
		last &= ~(uint64_t)7;
	}
	*lo = conv;
	*hi = last + (uint64_t)l->words * 8 - 1;
}

/* Check a window's addresses; return an error code and *detail, or 0. */
static uint32_t bad_addresses(const struct hwpe *h, const struct hwpe_layer *l,
			      struct hwpe_window window, uint32_t *detail)
{
	unsigned int bases = l->special ? HWPE_ACCS / 2 : HWPE_ACCS;
	uint64_t lo, hi;

	for (*detail = 0; *detail < bases; ++*detail) {
		uint32_t sram = *detail % 2;

		row_span(l, hwpe_window_base(l, window, *detail), &lo, &hi);
		if (hi >= FMAP_SPACE)
			return CNNACC_HWPE_E_ADDR;
		if (lo / CNNACC_HWPE_SRAM2 != sram || hi / CNNACC_HWPE_SRAM2 != sram)
			return CNNACC_HWPE_E_FMAP_2ADDR;
		if (hi % CNNACC_HWPE_SRAM2 >= h->seq.memory[sram].size)
			return CNNACC_HWPE_E_ADDR;
	}
	*detail = KERNEL_DETAIL;
	if ((window.k + (uint64_t)1) * l->rounds * CNNACC_HWPE_ROUND_BYTES >
	    h->seq.memory[CNNACC_HWPE_KERNEL].size)
		return CNNACC_HWPE_E_ADDR;
	return 0;
}

/* Find the bounds within which the task's windows need no check. */
static void find_span(struct hwpe *h, const struct hwpe_layer *l)
{
	uint64_t bits = l->columns > 1 ? l->offset : 0, length;
	struct hwpe_span *span = &h->span;

	length = l->special ? 2 * (uint64_t)l->offset + SPECIAL_LAST + 1 :
		 (uint64_t)(l->columns - 1) * l->offset + (uint64_t)l->words * 8;
	*span = (struct hwpe_span){ .valid = true, .max_distance = UINT64_MAX };
	for (unsigned int j = 0; j < (l->special ? HWPE_ACCS / 2 : HWPE_ACCS); j++) {
		uint64_t begin = j % 2 * (uint64_t)CNNACC_HWPE_SRAM2, base = h->s->base[j];
		uint64_t end = begin + h->seq.memory[j % 2].size;

		bits |= base;
		/* A base outside its SRAM: every window needs the check. */
		if (base < begin || base + length > end)
			span->valid = false;
		else if (end - base - length < span->max_distance)
			span->max_distance = end - base - length;
	}
	span->aligned = l->input || bits % 8 == 0;
	span->groups = (uint32_t)(h->seq.memory[CNNACC_HWPE_KERNEL].size /
				  ((uint64_t)l->rounds * CNNACC_HWPE_ROUND_BYTES));
}

static bool known_in_range(const struct hwpe *h, struct hwpe_window window)
{
	return h->span.valid && window.k < h->span.groups &&
	       distance(h->s->mac[1], window) <= h->span.max_distance;
}

static bool misaligned(const struct hwpe_layer *l, struct hwpe_window window)
{
	uint64_t bits = l->columns > 1 ? l->offset : 0;

	if (l->input)
		return false;
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		bits |= hwpe_window_base(l, window, i);
	return bits % 8;
}

static uint32_t useful(const struct hwpe_layer *l)
{
	if (l->special)
		return 27;
	if (!l->input)
		return l->rounds * hwpe_elements(l->type);
	return l->columns * (3 * l->columns < 8 * l->words ? 3 * l->columns : 8 * l->words);
}

static unsigned int latency(const struct hwpe_layer *l, bool first)
{
	if (first && !MUTANT(FIRST))
		return 12;
	return l->special ? 11 : l->input ? 9 : 8;
}

static void account(struct hwpe *h, const struct hwpe_layer *l, bool first)
{
	uint64_t cycles = 8 * (uint64_t)l->rounds + latency(l, first);
	struct cm_seq_state *seq = &h->s->seq;

	if (!first)
		seq->n.stall_cycles += seq->t - seq->d;
	/* After a Reset the PEs may still be busy with the window that it left running. */
	seq->d = cm_seq_elapsed(&h->seq) + cycles;
	seq->n.cycles_serial += cycles;
	seq->n.compute_cycles += cycles;
	seq->n.mac_slots += (uint64_t)SLOTS * l->rounds * hwpe_elements(l->type);
	seq->n.local_read_bytes += (uint64_t)l->rounds *
		(CNNACC_HWPE_ROUND_BYTES + HWPE_ACCS * CNNACC_HWPE_OPERAND_BYTES);
}

enum cm_seq_outcome hwpe_start_window(struct hwpe *h, struct hwpe_window window, bool first,
				      struct cm_core_fault *fault)
{
	struct hwpe_state *s = h->s;
	struct hwpe_layer l;
	uint32_t detail, code;

	hwpe_layer(s, &l);
	if (first || !h->span.valid)
		find_span(h, &l);
	if (first)
		hwpe_drop_lookahead(h);
	if (!known_in_range(h, window)) {
		code = bad_addresses(h, &l, window, &detail);
		if (code)
			return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, code, detail);
	}
	if (!h->span.aligned || hwpe_window_base(&l, window, 0) % 8)
		if (misaligned(&l, window))
			s->sticky |= CNNACC_HWPE_STATUS_ALIGN;
	account(h, &l, first);
	s->useful = useful(&l);
	memset(s->undrained, 0xff, sizeof(s->undrained));
	s->window = window;
	s->pending = l.rounds;
	s->state = CNNACC_HWPE_RUNNING;
	return CM_SEQ_NEXT;
}

/* H is the innermost loop, then W, then K. */
static void advance(const struct hwpe_state *s, struct hwpe_window *window)
{
	uint32_t *inner = MUTANT(ORDER) ? &window->cw : &window->ch;
	uint32_t *outer = MUTANT(ORDER) ? &window->ch : &window->cw;

	if (++*inner < (MUTANT(ORDER) ? w_count(s) : h_count(s)))
		return;
	*inner = 0;
	if (++*outer < (MUTANT(ORDER) ? h_count(s) : w_count(s)))
		return;
	*outer = 0;
	window->k++;
}

bool hwpe_next(const struct hwpe *h, struct hwpe_window *window)
{
	advance(h->s, window);
	return window->k < k_count(h->s) && known_in_range(h, *window);
}

enum cm_seq_outcome hwpe_resume(struct hwpe *h, struct cm_core_fault *fault)
{
	struct hwpe_state *s = h->s;
	struct hwpe_window next = s->window;

	if (hwpe_last(s)) {
		s->seq.n.stall_cycles += s->seq.t - s->seq.d;
		s->state = CNNACC_HWPE_IDLE;
		return CM_SEQ_NEXT;
	}
	advance(s, &next);
	return hwpe_start_window(h, next, false, fault);
}

bool hwpe_window_possible(const struct hwpe *h)
{
	const struct hwpe_state *s = h->s;
	struct hwpe_layer l;
	uint32_t detail;

	hwpe_layer(s, &l);
	return s->window.k < k_count(s) && s->window.cw < w_count(s) &&
	       s->window.ch < h_count(s) && s->pending <= l.rounds &&
	       !bad_addresses(h, &l, s->window, &detail);
}
