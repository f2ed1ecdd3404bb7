// SPDX-License-Identifier: MIT
/* What a task of core ccp takes, node by node: cycles, bytes, and a time line of bounded length. */
#include <stdlib.h>

#include "ccp.h"

#define BINS	32	/* of what one node does in one go */
#define ROWS	2	/* the core, the DMA engine */
#define KINDS	4	/* activities of a row */

/*
 * What the core or the DMA engine does for one node from start on, as cycles per activity in bins
 * of equal width. A bin gives up the order of what is in it, never a cycle.
 */
struct row {
	uint64_t start, end, width;	/* width 0: empty */
	uint64_t bin[BINS][KINDS];
};

struct ccpc_trace {
	struct cnn_compile *lw;
	int node, task;
	struct row row[ROWS];
	bool failed;
};

static unsigned int row_of(enum cnnrt_activity what)
{
	return what >= CNNRT_DMA_PROGRAM;
}

static unsigned int kind_of(enum cnnrt_activity what)
{
	return what - (row_of(what) ? CNNRT_DMA_PROGRAM : CNNRT_CONTROL);
}

static void halve(struct row *r)
{
	for (int b = 0; b < BINS; b++) {
		for (int k = 0; k < KINDS; k++)
			r->bin[b][k] = b < BINS / 2 ? r->bin[2 * b][k] + r->bin[2 * b + 1][k] : 0;
	}
	r->width *= 2;
}

static void fill(struct row *r, unsigned int kind, uint64_t from, uint64_t to)
{
	if (!r->width) {
		r->start = from;
		r->width = 1;
	}
	while (to - r->start > BINS * r->width)
		halve(r);
	r->end = to;
	while (from < to) {
		uint64_t b = (from - r->start) / r->width;
		uint64_t edge = r->start + (b + 1) * r->width;
		uint64_t stop = edge < to ? edge : to;

		r->bin[b][kind] += stop - from;
		from = stop;
	}
}

void ccpc_trace_add(struct ccpc_trace *t, enum cnnrt_activity what, uint64_t from, uint64_t to)
{
	struct row *r = &t->row[row_of(what)];

	/* What the controller does on its own it does not tell. */
	if (!row_of(what) && r->end < from)
		fill(r, kind_of(CNNRT_CONTROL), r->end, from);
	fill(r, kind_of(what), from, to);
}

static void emit(struct ccpc_trace *t, enum cnnrt_activity what, uint64_t from, uint64_t to)
{
	struct cnn_lowered *out = t->lw->out;
	struct cnnrt_span *s = out->n_spans ? &out->spans[out->n_spans - 1] : NULL;

	if (s && s->task == (unsigned int)t->task && s->op == (unsigned int)t->node &&
	    s->what == what && s->end == from) {
		s->end = to;
		return;
	}
	if (out->n_spans == CNN_SPANS_MAX)
		return;
	s = cnn_add_span(t->lw);
	if (!s) {
		t->failed = true;
		return;
	}
	*s = (struct cnnrt_span){
		.op = (unsigned int)t->node, .task = (unsigned int)t->task,
		.core = out->nodes[t->node].core, .what = what, .start = from, .end = to,
	};
}

static void close_row(struct ccpc_trace *t, unsigned int row)
{
	struct row *r = &t->row[row];
	enum cnnrt_activity first = row ? CNNRT_DMA_PROGRAM : CNNRT_CONTROL;

	for (unsigned int b = 0; b < BINS && r->width; b++) {
		uint64_t at = r->start + b * r->width;

		for (unsigned int k = 0; k < KINDS; k++) {
			if (r->bin[b][k])
				emit(t, first + k, at, at + r->bin[b][k]);
			at += r->bin[b][k];
		}
	}
	*r = (struct row){ .end = r->end };
}

/* Books what came since @from, when the clock stood so, and closes the node's rows. */
static void book(struct ccpc_trace *t, const struct ccpc_clock *now, struct ccpc_clock *from)
{
	struct cnnrt_cost *to = &t->lw->out->nodes[t->node].cost;
	const struct cnnrt_cost *a = &from->count, *b = &now->count;
	uint64_t busy = b->compute - a->compute + b->stall - a->stall;

	to->cycles += now->t - from->t;
	to->compute += b->compute - a->compute;
	to->stall += b->stall - a->stall;
	to->control += now->t - from->t - busy;
	to->dma_program += b->dma_program - a->dma_program;
	to->dma_weights += b->dma_weights - a->dma_weights;
	to->dma_data += b->dma_data - a->dma_data;
	to->mac_slots += b->mac_slots - a->mac_slots;
	to->mac_useful += b->mac_useful - a->mac_useful;
	to->read_program += b->read_program - a->read_program;
	to->read_weights += b->read_weights - a->read_weights;
	to->read_data += b->read_data - a->read_data;
	to->written += b->written - a->written;
	if (t->row[0].end < now->t)
		fill(&t->row[0], kind_of(CNNRT_CONTROL), t->row[0].end, now->t);
	for (unsigned int i = 0; i < ROWS; i++)
		close_row(t, i);
	*from = *now;
}

/* The jump that ends a page is timed with the one that it loads. */
static void run_page(const struct ccpc_code *c, int i, struct ccpc_trace *t,
		     struct ccpc_clock *clock, struct ccpc_clock *from)
{
	uint32_t n, page = ccpc_page(c, i, &n), end = i < c->n_pages ? n - 1 : n;

	if (i)
		ccpc_clock_turn(clock, cnn_div_up(n, LINE_FLOATS));
	for (uint32_t pc = i ? CCPC_HEAD : 0; pc < end;) {
		if (c->owner[page + pc] != t->node) {
			book(t, clock, from);
			t->node = c->owner[page + pc];
		}
		pc = ccpc_clock_step(clock, c->words + page, pc);
	}
}

int ccpc_account(struct ccpc_code *c, struct cnn_task *task)
{
	struct ccpc_trace t = {
		.lw = c->lw,
		.node = c->first_node,
		.task = (int)(task - c->lw->out->tasks),
	};
	struct ccpc_clock clock, from = { .t = 0 };
	uint64_t waits;
	uint32_t n;

	ccpc_page(c, 0, &n);
	ccpc_clock_boot(&clock, c->hw, n);
	clock.trace = &t;
	ccpc_trace_add(&t, CNNRT_DMA_PROGRAM, 0, clock.d);
	for (int i = 0; i <= c->n_pages; i++)
		run_page(c, i, &t, &clock, &from);
	/* The end waits for the DMA engine. */
	waits = ccpc_clock_cycles(&clock) - clock.t;
	if (waits)
		ccpc_trace_add(&t, CNNRT_STALL, clock.t, clock.t + waits);
	clock.count.stall += waits;
	clock.t += waits;
	book(&t, &clock, &from);
	task->cycles = clock.t;
	return t.failed ? CNN_ENOMEM : CNN_OK;
}
