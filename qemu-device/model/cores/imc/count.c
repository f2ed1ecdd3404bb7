// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Clocks, stalls and counters of a whole plane. */
#include "imc.h"
#include "imc_mutant.h"

/* Row passes of one pass of one group. */
static uint64_t row_passes(const struct imc_plane *p)
{
	return (uint64_t)p->rows * (p->full && !MUTANT(REREAD) ? 1 : p->n);
}

uint64_t imc_plane_clocks(const struct imc_plane *p)
{
	return (uint64_t)p->groups * p->passes * row_passes(p) * p->n * p->wo;
}

static uint64_t stalls_before(uint32_t load, uint32_t clocks)
{
	return load > clocks ? load - clocks : 0;
}

/*
 * Stalls after the elements of a row pass, if an element loads in @load clocks: u(j) rises from 1
 * to its maximum, stays there, and falls to 1 again.  The element after the last one is of the
 * next row pass.
 */
static uint64_t stalls_of_row(const struct imc_plane *p, uint32_t load)
{
	uint32_t most = imc_least(p->n, p->wo);
	uint64_t stalls = (p->w - 2 * (uint64_t)(most - 1)) * stalls_before(load, most);

	for (uint32_t u = 1; u < most; u++)
		stalls += 2 * stalls_before(load, u);
	return stalls;
}

uint64_t imc_plane_stalls(const struct imc_plane *p)
{
	uint32_t first = imc_load(p, 0), last = imc_load(p, p->passes - 1);
	uint64_t stalls = (p->passes - 1) * stalls_of_row(p, first) + stalls_of_row(p, last);

	return p->groups * row_passes(p) * stalls - (first - 1);
}

static void count_bytes(struct cm_seq_state *seq, const struct imc_plane *p, uint64_t results,
			uint64_t cells)
{
	uint64_t elements = p->groups * row_passes(p) * p->w * p->cin * p->esz;
	uint64_t weights = (uint64_t)p->n * p->n * cells * p->cin * p->esz;
	uint64_t added = results - (p->accumulate ? 0 : cells);

	seq->n.local_read_bytes += elements + weights + 4 * added;
	seq->n.local_write_bytes += 4 * results;
}

void imc_count_plane(struct imc *h, const struct imc_plane *p)
{
	uint64_t cells = (uint64_t)p->ho * p->wo * p->cout, results = p->passes * p->n * cells;
	uint64_t clocks = imc_plane_clocks(p), reads = p->groups * p->passes * row_passes(p);
	struct cm_seq_state *seq = &h->s->seq;
	struct imc_counters *n = &h->s->n;

	n->row_reads += reads;
	n->element_reads += reads * p->w;
	n->weight_reads += results * p->n;
	n->pushes += results * (p->n - 1);
	n->pops += results * (p->n - 1);
	n->outputs += results;
	n->partial_stores += results - cells;
	h->s->peak = imc_most(h->s->peak, imc_least(p->n - 1, p->wo));
	seq->n.compute_cycles += clocks;
	seq->n.stall_cycles += imc_plane_stalls(p);
	seq->n.mac_slots += clocks * p->cin_max * h->build.csus;
	seq->n.mac_useful += cells * p->n * p->n * p->cin;
	count_bytes(seq, p, results, cells);
}
