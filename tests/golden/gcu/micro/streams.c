// SPDX-License-Identifier: MIT
#include "micro.h"

#include <stdlib.h>

#define LINE	CNNACC_LINE_SIZE

unsigned int micro_line_clocks(const struct micro *m)
{
	return LINE / m->build.bus;
}

void micro_request(struct micro *m, struct micro_stream *s, uint64_t clocks, uint64_t *ready)
{
	(void)m;
	if (s->count == MICRO_QUEUE)
		abort();
	if (ready)
		*ready = UINT64_MAX;
	s->queue[(s->head + s->count++) % MICRO_QUEUE] =
		(struct micro_request){ clocks, ready };
}

void micro_stream_step(struct micro *m, struct micro_stream *s)
{
	struct micro_request *r = &s->queue[s->head];

	if (!s->count || --r->clocks)
		return;
	if (r->ready)
		*r->ready = m->clock + 1 + MICRO_LATENCY;
	s->head = (s->head + 1) % MICRO_QUEUE;
	s->count--;
}

unsigned int micro_lines(uint64_t va, uint64_t bytes)
{
	unsigned int lines = 1;

	for (uint64_t line = va / LINE; line != (va + bytes - 1) / LINE; line++)
		lines++;
	return lines;
}

uint64_t micro_row_lines(uint64_t va, unsigned int n, unsigned int m, uint32_t stride)
{
	uint64_t lines = 0, last = UINT64_MAX;

	for (unsigned int x = 0; x < n; x++, va += stride) {
		lines += micro_lines(va, m);
		/* The line of the column before is still at hand if columns lie close. */
		if (stride <= LINE && last != UINT64_MAX)
			lines -= va / LINE <= last ? last - va / LINE + 1 : 0;
		last = (va + m - 1) / LINE;
	}
	return lines;
}
