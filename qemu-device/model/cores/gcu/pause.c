// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Wait blocks: time that passes. */
#include "gcu.h"

#define CHUNK_CYCLES	100000

/*
 * With timing=instant a job takes as long as the emulator does.  Cycles that took no time at all
 * could not be observed or aborted, so each takes about a ns.
 */
static void take_time(int64_t cycles)
{
	for (uint64_t n = 0; cycles--; n = n * 5 + 1)
		__asm__ volatile("" : "+r"(n));
}

enum gcu_outcome gcu_pause(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	struct cnnacc_gcu_wait b;
	uint64_t cycles, left = s->cycle_limit + 1 - s->time;

	gcu_check_wait(g, s->pc, &b);
	cycles = (uint64_t)GCU_SETUP + b.cycles;
	cycles = cycles < left ? cycles : left;
	if (cm_port_must_wait(run->port, s->time + cycles))
		return GCU_WAIT;
	while (run->port->cycle_now == UINT64_MAX && s->pos < cycles) {
		int64_t part = cycles - s->pos < CHUNK_CYCLES ? (int64_t)(cycles - s->pos) :
								CHUNK_CYCLES;

		if (run->budget <= 0)
			return GCU_GO_ON;
		take_time(part);
		s->pos += (uint64_t)part;
		run->budget -= part;
	}
	s->block.n.cycles_serial += cycles;
	if (cycles < (uint64_t)GCU_SETUP + b.cycles)
		return gcu_time_limit(g, s->time + cycles, run);
	return gcu_complete(g, s->time + cycles, run);
}
