// SPDX-License-Identifier: MIT
/* Cost of a task of core ccp by node: cycles, bytes, and a time line of bounded length. */
#include <stdlib.h>

#include "code.h"

#define TRACE_BINS     32 /* time bins of one node */
#define TRACE_ROWS     2  /* the core, the DMA engine */
#define ROW_ACTIVITIES 4  /* activities of a row */

/*
 * What the core or the DMA engine does for one node from cycle @start on: cycles per activity in
 * bins of equal width. A bin loses the order of its activities, but no cycle.
 */
struct row {
	uint64_t start, end, width;	/* width 0: empty */
	uint64_t bin[TRACE_BINS][ROW_ACTIVITIES];
};

struct trace {
	struct cnn_compile *compile;
	int node, task;
	struct row row[TRACE_ROWS];
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
	for (int b = 0; b < TRACE_BINS; b++) {
		for (int k = 0; k < ROW_ACTIVITIES; k++)
			r->bin[b][k] =
				b < TRACE_BINS / 2 ? r->bin[2 * b][k] + r->bin[2 * b + 1][k] : 0;
	}
	r->width *= 2;
}

static void fill(struct row *r, unsigned int kind, uint64_t from, uint64_t to)
{
	if (!r->width) {
		r->start = from;
		r->width = 1;
	}
	while (to - r->start > TRACE_BINS * r->width)
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

static void add_activity(void *arg, enum cnnrt_activity what, uint64_t from, uint64_t to)
{
	struct trace *t = arg;
	struct row *r = &t->row[row_of(what)];

	/* The cycle model does not report control: it is the time between the reported spans. */
	if (!row_of(what) && r->end < from)
		fill(r, kind_of(CNNRT_CONTROL), r->end, from);
	fill(r, kind_of(what), from, to);
}

static void emit(struct trace *t, enum cnnrt_activity what, uint64_t from, uint64_t to)
{
	struct cnn_lowered *out = t->compile->out;
	struct cnnrt_span *s = out->n_spans ? &out->spans[out->n_spans - 1] : NULL;

	if (s && s->task == (unsigned int)t->task && s->op == (unsigned int)t->node &&
	    s->what == what && s->end == from) {
		s->end = to;
		return;
	}
	if (out->n_spans == CNN_SPANS_MAX)
		return;
	s = cnn_add_span(t->compile);
	if (!s) {
		t->failed = true;
		return;
	}
	*s = (struct cnnrt_span){
		.op = (unsigned int)t->node, .task = (unsigned int)t->task,
		.core = out->nodes[t->node].core, .what = what, .start = from, .end = to,
	};
}

static void close_row(struct trace *t, unsigned int row)
{
	struct row *r = &t->row[row];
	enum cnnrt_activity first = row ? CNNRT_DMA_PROGRAM : CNNRT_CONTROL;

	for (unsigned int b = 0; b < TRACE_BINS && r->width; b++) {
		uint64_t at = r->start + b * r->width;

		for (unsigned int k = 0; k < ROW_ACTIVITIES; k++) {
			if (r->bin[b][k])
				emit(t, first + k, at, at + r->bin[b][k]);
			at += r->bin[b][k];
		}
	}
	*r = (struct row){ .end = r->end };
}

/* Adds what has happened since *from to the node, closes its rows, and sets *from to *now. */
static void book(struct trace *t, const struct ccpc_clock *now, struct ccpc_clock *from)
{
	struct cnnrt_cost *to = &t->compile->out->nodes[t->node].cost;
	const struct cnnrt_cost *a = &from->count, *b = &now->count;
	uint64_t busy = b->compute - a->compute + b->stall - a->stall;

	cnn_add_cost(to, b, a);
	to->cycles += now->now - from->now;
	to->control += now->now - from->now - busy;
	if (t->row[0].end < now->now)
		fill(&t->row[0], kind_of(CNNRT_CONTROL), t->row[0].end, now->now);
	for (unsigned int i = 0; i < TRACE_ROWS; i++)
		close_row(t, i);
	*from = *now;
}

/* The jump that ends an overlay is timed by ccpc_clock_switch_overlay with the next overlay. */
static void run_overlay(const struct ccpc_code *c, int i, struct trace *t, struct ccpc_clock *clock,
			struct ccpc_clock *from)
{
	uint32_t n, first = ccpc_overlay(c, i, &n), end = i < c->n_overlays ? n - 1 : n;

	if (i)
		ccpc_clock_switch_overlay(clock, cnn_div_up(n, CCPC_LINE_FLOATS));
	for (uint32_t pc = i ? CCPC_OVERLAY_HEAD : 0; pc < end;) {
		if (c->owner[first + pc] != t->node) {
			book(t, clock, from);
			t->node = c->owner[first + pc];
		}
		pc = ccpc_clock_run_insn(clock, c->words + first, pc);
	}
}

int ccpc_attribute_cost(struct ccpc_code *c, struct cnn_task *task)
{
	struct trace t = {
		.compile = c->compile, .node = c->first_node,
		.task = (int)(task - c->compile->out->tasks),
	};
	struct ccpc_clock clock, from = { .now = 0 };
	uint64_t waits;
	uint32_t n;

	ccpc_overlay(c, 0, &n);
	ccpc_clock_boot(&clock, c->hw, n);
	clock.trace = add_activity;
	clock.trace_arg = &t;
	add_activity(&t, CNNRT_DMA_PROGRAM, 0, clock.dma_free);
	for (int i = 0; i <= c->n_overlays; i++)
		run_overlay(c, i, &t, &clock, &from);
	/* The end of a task waits for the DMA engine. */
	waits = ccpc_clock_cycles(&clock) - clock.now;
	if (waits)
		add_activity(&t, CNNRT_STALL, clock.now, clock.now + waits);
	clock.count.stall += waits;
	clock.now += waits;
	book(&t, &clock, &from);
	task->cycles = clock.now;
	return t.failed ? CNN_ENOMEM : CNN_OK;
}
