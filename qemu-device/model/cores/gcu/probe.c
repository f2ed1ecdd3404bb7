// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Probe and fill blocks: what the areas of CBUF hold. */
#include <string.h>

#include "gcu.h"

#define CHUNK_WORDS	4096u	/* their bytes fit in the buffer */
#define WORD_NS		8

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

/* Read or write @count words from word @first on. */
static int move(struct gcu *g, const struct cnnacc_gcu_probe *b, uint32_t first, uint32_t count,
		struct gcu_run *run)
{
	uint64_t va = b->va + (uint64_t)first * g->word;
	size_t bytes = (size_t)count * g->word;

	if ((b->control & CNNACC_GCU_KIND_MASK) == CNNACC_GCU_PROBE) {
		gcu_read_words(g, b, first, count, g->buffer);
		return cm_port_bytes(run->port, va, g->buffer, bytes, CNNACC_ACCESS_WRITE,
				     run->fault);
	}
	if (cm_port_bytes(run->port, va, g->buffer, bytes, CNNACC_ACCESS_READ, run->fault))
		return -1;
	gcu_write_words(g, b, first, count, g->buffer);
	return 0;
}

/* Return 1: done, 0: budget used up, -1: refused. */
static int move_words(struct gcu *g, const struct cnnacc_gcu_probe *b, struct gcu_run *run)
{
	struct gcu_state *s = g->s;

	while (s->pos < b->count) {
		uint32_t count = gcu_least(b->count - (uint32_t)s->pos, CHUNK_WORDS);

		if (run->budget <= 0)
			return 0;
		if (move(g, b, (uint32_t)s->pos, count, run))
			return -1;
		s->pos += count;
		run->budget -= count * (int64_t)WORD_NS;
	}
	return 1;
}

static int move_found(struct gcu *g, const struct cnnacc_gcu_probe *b, struct gcu_run *run)
{
	uint32_t found = search(g, b);

	return cm_port_bytes(run->port, b->va, &found, sizeof(found), CNNACC_ACCESS_WRITE,
			     run->fault) ? -1 : 1;
}

static void count(struct gcu *g, const struct cnnacc_gcu_probe *b, uint64_t cycles, uint64_t bytes)
{
	struct cnnacc_stats *n = &g->s->block.n;

	n->cycles_serial += cycles;
	n->dma_cycles += g->line_cycles * gcu_div_up(bytes, CNNACC_LINE_SIZE);
	if ((b->control & CNNACC_GCU_KIND_MASK) == CNNACC_GCU_FILL) {
		n->mem_read_bytes += bytes;
		n->local_write_bytes += bytes;
		return;
	}
	n->mem_write_bytes += bytes;
	if (b->port != CNNACC_GCU_PORT_SEARCH)
		n->local_read_bytes += bytes;
}

enum gcu_outcome gcu_probe(struct gcu *g, struct gcu_run *run)
{
	struct cnnacc_gcu_probe b;
	uint64_t cycles, bytes;
	bool is_search;
	int done;

	gcu_check_probe(g, g->s->pc, &b);
	is_search = b.port == CNNACC_GCU_PORT_SEARCH;
	if (!is_search && out_of_range(g, &b))
		return gcu_fail(run, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_RANGE, b.port);
	bytes = is_search ? sizeof(uint32_t) : (uint64_t)b.count * g->word;
	cycles = GCU_SETUP + (is_search ? 1 : b.count) +
		 g->line_cycles * gcu_div_up(bytes, CNNACC_LINE_SIZE);
	if (cm_port_must_wait(run->port, g->s->time + cycles))
		return GCU_WAIT;
	done = is_search ? move_found(g, &b, run) : move_words(g, &b, run);
	if (done <= 0)
		return done ? gcu_refused(run) : GCU_GO_ON;
	count(g, &b, cycles, bytes);
	return gcu_complete(g, g->s->time + cycles, run);
}
