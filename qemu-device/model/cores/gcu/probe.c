// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Probe blocks: what the areas of CBUF hold. */
#include <string.h>

#include "gcu.h"

/* Logical byte address of a surface, or CNNACC_GCU_MISS. */
static uint32_t search(const struct gcu *g, const struct cnnacc_gcu_probe *b)
{
	const struct gcu_state *s = g->s;

	if (!s->layer_ran || b->count >= s->last_columns)
		return CNNACC_GCU_MISS;
	for (uint32_t slot = 0; slot < GCU_ROWS_MAX; slot++)
		if (s->row_valid[slot / 64] >> slot % 64 & 1 &&
		    s->row_tag[slot] == b->address)
			return (slot * s->last_columns + b->count) * g->atomic_c * s->last_size;
	return CNNACC_GCU_MISS;
}

static bool out_of_range(const struct gcu *g, const struct cnnacc_gcu_probe *b)
{
	uint32_t banks = b->port == CNNACC_GCU_PORT_FMAP ? b->fmbuf_banks :
			 g->banks - b->fmbuf_banks;

	return (uint64_t)b->address / g->word + b->count > (uint64_t)banks * GCU_BANK_WORDS;
}

enum gcu_outcome gcu_probe(struct gcu *g, struct gcu_run *run)
{
	struct cnnacc_stats *n = &g->s->block.n;
	struct cnnacc_gcu_probe b;
	uint64_t cycles, lines;
	uint32_t bytes = sizeof(uint32_t), words = 1;

	gcu_check_probe(g, g->s->pc, &b);
	if (b.port == CNNACC_GCU_PORT_SEARCH) {
		uint32_t found = search(g, &b);

		memcpy(g->buffer, &found, sizeof(found));
	} else {
		if (out_of_range(g, &b))
			return gcu_fail(run, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_RANGE, b.port);
		gcu_read_words(g, &b, g->buffer);
		words = b.count;
		bytes = words * g->word;
	}
	lines = g->line_cycles * gcu_div_up(bytes, CNNACC_LINE_SIZE);
	cycles = GCU_SETUP + words + lines;
	if (cm_port_must_wait(run->port, g->s->time + cycles))
		return GCU_WAIT;
	if (cm_port_bytes(run->port, b.result_va, g->buffer, bytes, CNNACC_ACCESS_WRITE,
			  run->fault))
		return gcu_refused(run);
	n->cycles_serial += cycles;
	n->dma_cycles += lines;
	n->mem_write_bytes += bytes;
	n->local_read_bytes += b.port == CNNACC_GCU_PORT_SEARCH ? 0 : bytes;
	run->budget -= (int64_t)bytes;
	return gcu_complete(g, g->s->time + cycles, run);
}
