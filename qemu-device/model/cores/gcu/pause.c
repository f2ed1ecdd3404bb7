// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Wait blocks: time that passes. */
#include "gcu.h"

/* Cycles by which a wait may run ahead of device time. */
#define RUN_AHEAD_CYCLES	100000u

/*
 * With timing=instant a job takes as long as the emulator does.  Cycles that took no time at all
 * could not be observed or aborted, so each takes about a ns.
 */
static void take_time(uint64_t cycles)
{
	for (uint64_t n = 0; cycles--; n = n * 5 + 1)
		__asm__ volatile("" : "+r"(n));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

enum gcu_outcome gcu_pause(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	uint64_t now = run->port->cycle_now, left = s->cycle_limit + 1 - s->time, all, cycles;
	struct cnnacc_gcu_wait b;

	gcu_check_wait(g, s->pc, &b);
	all = (uint64_t)GCU_SETUP + b.cycles;
	cycles = least(all, left);
	while (s->pos < cycles) {
		uint64_t at = s->time + s->pos;
		uint64_t part = least(cycles - s->pos, (uint64_t)run->budget);

		if (at > RUN_AHEAD_CYCLES && cm_port_must_wait(run->port, at - RUN_AHEAD_CYCLES))
			return GCU_WAIT;
		if (now < UINT64_MAX - RUN_AHEAD_CYCLES)
			part = least(part, now + RUN_AHEAD_CYCLES + 1 - at);
		take_time(part);
		s->pos += part;
		run->budget -= (int64_t)part;
		if (run->budget <= 0)
			return GCU_GO_ON;
	}
	s->block.n.cycles_serial += cycles;
	if (s->time + all > s->cycle_limit)
		return gcu_time_limit(g, s->time + cycles, run);
	return gcu_complete(g, s->time + cycles, run);
}
