// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Counters and waits, as in the sections "Cycles" and "Counters" of the core's page. */
#include <string.h>

#include "gcu.h"
#include "gcu_mutant.h"

#define COUNTS	(sizeof(struct gcu_counts) / sizeof(uint64_t))

void gcu_count_read(struct gcu *g, uint64_t lines, uint64_t bytes)
{
	struct cnnacc_stats *n = &g->s->block.n;

	n->cycles_serial += GCU_LATENCY + g->line_cycles * lines;
	n->dma_cycles += g->line_cycles * lines;
	n->mem_read_bytes += bytes;
	n->local_write_bytes += bytes;
}

void gcu_count_write(struct gcu *g, uint64_t lines, uint64_t bytes)
{
	struct cnnacc_stats *n = &g->s->block.n;

	n->cycles_serial += GCU_LATENCY + g->line_cycles * lines;
	n->dma_cycles += g->line_cycles * lines;
	n->mem_write_bytes += bytes;
}

/* The array waits until a cycle. */
void gcu_wait(struct gcu *g, uint64_t *stall, uint64_t until)
{
	struct gcu_state *s = g->s;

	if (until <= s->t)
		return;
	*stall += (until - s->t) * (MUTANT(STALL) ? 2 : 1);
	s->block.n.stall_cycles += until - s->t;
	s->t = until;
}

/* The op3 at the array's position. */
void gcu_count_op3(struct gcu *g, bool masked)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_counts *c = &g->s->block;
	uint64_t cycles = (uint64_t)l->s * l->op1_cycles, kn = g->group.kn;
	uint64_t taps = masked ? 0 : g->row_taps;
	uint64_t surface = (uint64_t)g->atomic_c * l->esz, ab = l->acc16 ? 2 : 4;

	g->s->t += cycles;
	c->n.cycles_serial += cycles;
	c->n.compute_cycles += cycles;
	c->n.mac_slots += cycles * g->atomic_c * g->atomic_k;
	c->taps += taps;
	c->taps_masked += (uint64_t)l->s * l->ofmw - taps;
	if (masked)
		return;
	c->n.mac_useful += taps * gcu_pairs(g, l, &g->group, g->group.first + g->s->cg);
	c->n.local_write_bytes += taps * kn * ab;
	c->n.local_read_bytes += l->s * kn * surface + taps * (surface + kn * ab);
}

void gcu_counts_add(struct gcu_counts *sum, const struct gcu_counts *add)
{
	uint64_t a[COUNTS], b[COUNTS];

	memcpy(a, sum, sizeof(a));
	memcpy(b, add, sizeof(b));
	for (size_t i = 0; i < COUNTS; i++)
		a[i] += b[i];
	memcpy(sum, a, sizeof(a));
}
