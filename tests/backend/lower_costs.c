// SPDX-License-Identifier: MIT
/* The compiler's predicted costs: consistent, and the same as the device's counters. */
#include "lower_costs.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"

static char message[256];

static struct cnnrt_cost sum_costs(const struct cnn_lowered *l)
{
	struct cnnrt_cost sum = { 0 };

	for (int i = 0; i < l->n_nodes; i++)
		if (l->nodes[i].core >= 0)
			cnn_add_cost(&sum, &l->nodes[i].cost, NULL);
	return sum;
}

static const char *compare(const char *what, uint64_t said, uint64_t counted)
{
	if (said == counted)
		return NULL;
	snprintf(message, sizeof(message), "%s: the compiler said %llu, the device counted %llu",
		 what, (unsigned long long)said, (unsigned long long)counted);
	return message;
}

const char *lower_check_costs(const struct cnn_lowered *l, const struct cnnacc_stats *stats)
{
	struct cnnrt_cost sum = sum_costs(l);
	const struct {
		const char *what;
		uint64_t said, counted;
	} pairs[] = {
		{ "cycles", sum.cycles, stats->cycles },
		{ "compute_cycles", sum.compute, stats->compute_cycles },
		{ "stall_cycles", sum.stall, stats->stall_cycles },
		{ "control cycles", sum.control,
		  stats->cycles - stats->compute_cycles - stats->stall_cycles },
		{ "dma_cycles", sum.dma_program + sum.dma_weights + sum.dma_data,
		  stats->dma_cycles },
		{ "mac_slots", sum.mac_slots, stats->mac_slots },
		{ "mac_useful", sum.mac_useful, stats->mac_useful },
		{ "mem_read_bytes", sum.read_program + sum.read_weights + sum.read_data,
		  stats->mem_read_bytes },
		{ "mem_write_bytes", sum.written, stats->mem_write_bytes },
	};
	const char *wrong = NULL;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && !wrong; i++)
		wrong = compare(pairs[i].what, pairs[i].said, pairs[i].counted);
	return wrong;
}

/* ---- the time line --------------------------------------------------------------------- */

struct rows {
	unsigned int task;
	uint64_t end[2];	/* of the last span of the core, of the DMA engine */
	uint64_t time[CNNRT_DMA_STORE + 1];
};

static const char *bad_span(const struct cnnrt_span *s, const char *what)
{
	snprintf(message, sizeof(message), "span of op %u in task %u, activity %d, %llu..%llu: %s",
		 s->op, s->task, (int)s->what, (unsigned long long)s->start,
		 (unsigned long long)s->end, what);
	return message;
}

static const char *check_span(const struct cnn_lowered *l, const struct cnnrt_span *s,
			      struct rows *r)
{
	bool dma = s->what >= CNNRT_DMA_PROGRAM;

	if (s->task != r->task) {
		if (r->end[0] != l->tasks[r->task].cycles)
			return bad_span(s, "the task before it ended early or late");
		if (s->task != r->task + 1)
			return bad_span(s, "task out of order");
		r->task = s->task;
		r->end[0] = r->end[1] = 0;
	}
	if (s->end <= s->start || s->end > l->tasks[s->task].cycles)
		return bad_span(s, "empty, or beyond its task");
	if (dma ? s->start < r->end[1] : s->start != r->end[0])
		return bad_span(s, "does not follow the one before it");
	r->end[dma] = s->end;
	r->time[s->what] += s->end - s->start;
	return NULL;
}

const char *lower_check_spans(const struct cnn_lowered *l)
{
	struct cnnrt_cost sum = sum_costs(l);
	struct rows r = { .task = 0 };
	const char *wrong = NULL;

	for (int i = 0; i < l->n_spans && !wrong; i++)
		wrong = check_span(l, &l->spans[i], &r);
	if (!wrong && l->n_tasks && (r.task + 1 != (unsigned int)l->n_tasks ||
				     r.end[0] != l->tasks[r.task].cycles))
		wrong = "the time line ends early";
	if (!wrong)
		wrong = compare("spans of compute", r.time[CNNRT_COMPUTE], sum.compute);
	if (!wrong)
		wrong = compare("spans of stall", r.time[CNNRT_STALL], sum.stall);
	if (!wrong)
		wrong = compare("spans of control", r.time[CNNRT_CONTROL], sum.control);
	if (!wrong)
		wrong = compare("spans of program loads", r.time[CNNRT_DMA_PROGRAM],
				sum.dma_program);
	if (!wrong)
		wrong = compare("spans of weight loads", r.time[CNNRT_DMA_WEIGHTS],
				sum.dma_weights);
	if (!wrong)
		wrong = compare("spans of data", r.time[CNNRT_DMA_LOAD] + r.time[CNNRT_DMA_STORE],
				sum.dma_data);
	return wrong;
}
