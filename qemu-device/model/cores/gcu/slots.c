// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The feature-map area: row requests, search and both replacement schemes. */
#include <string.h>

#include "gcu.h"
#include "gcu_mutant.h"

#define WALK_NS		8	/* estimated time of a need, of a surface that is read */
#define FILL_NS		400
#define COLUMN_NS	10

/* ---- valid slots and their index ---- */

static bool is_valid(const struct gcu_state *s, uint32_t slot)
{
	return s->row_valid[slot / 64] >> slot % 64 & 1;
}

uint32_t gcu_valid_rows(const struct gcu_state *s)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < GCU_ROWS_MAX / 64; i++)
		count += (uint32_t)__builtin_popcountll(s->row_valid[i]);
	return count;
}

static uint16_t *bucket_of(struct gcu_index *index, uint32_t tag)
{
	return &index->head[(tag ^ (tag >> 16) * 61) % GCU_BUCKETS];
}

/* Append a slot to its chain, so that the oldest row with a tag is found first. */
static void index_add(struct gcu *g, uint32_t slot)
{
	uint16_t *link = bucket_of(&g->index, g->s->row_tag[slot]);

	while (*link != GCU_NONE)
		link = &g->index.next[*link];
	*link = (uint16_t)slot;
	g->index.next[slot] = GCU_NONE;
}

static void index_remove(struct gcu *g, uint32_t slot)
{
	uint16_t *link = bucket_of(&g->index, g->s->row_tag[slot]);

	while (*link != slot)
		link = &g->index.next[*link];
	*link = g->index.next[slot];
}

void gcu_index_rebuild(struct gcu *g)
{
	const struct gcu_layer *l = &g->layer;
	uint32_t first = l->table ? 0 : g->s->fifo_oldest;

	g->valid_rows = gcu_valid_rows(g->s);
	memset(&g->index, 0xff, sizeof(g->index));
	for (uint32_t i = 0; i < l->rows; i++) {
		uint32_t slot = (first + i) % l->rows;

		if (is_valid(g->s, slot))
			index_add(g, slot);
	}
}

/* The first valid slot that has a row, from FIFO_OLDEST on; GCU_NONE: no slot has it. */
uint32_t gcu_find_row(const struct gcu *g, uint32_t cg, uint32_t y)
{
	uint32_t tag = gcu_tag(cg, y), slot = *bucket_of((struct gcu_index *)&g->index, tag);

	while (slot != GCU_NONE && g->s->row_tag[slot] != tag)
		slot = g->index.next[slot];
	return slot;
}

static void evict(struct gcu *g, uint32_t slot)
{
	index_remove(g, slot);
	g->valid_rows--;
	g->s->row_valid[slot / 64] &= ~((uint64_t)1 << slot % 64);
	g->s->block.evictions++;
}

/* The invalid slot with the lowest number; GCU_NONE: all are valid. */
static uint32_t lowest_invalid(const struct gcu *g)
{
	for (uint32_t i = 0; i * 64 < g->layer.rows; i++) {
		uint64_t invalid = ~g->s->row_valid[i];
		uint32_t slot = i * 64 + (uint32_t)(invalid ? __builtin_ctzll(invalid) : 0);

		if (invalid && slot < g->layer.rows)
			return slot;
	}
	return GCU_NONE;
}

/* ---- row requests ---- */

static bool refill(const struct gcu *g, uint32_t cg, uint32_t y)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_group before;

	if (g->s->i) {
		gcu_group(g, l, g->s->i - 1, &before);
		if (cg < before.first + before.count)
			return true;
	}
	return gcu_needed_before(l, g->s->need_h, y);
}

static void count_fill(struct gcu *g, uint32_t cg, uint32_t y, uint64_t lines, uint64_t bytes)
{
	struct gcu_counts *c = &g->s->block;

	gcu_count_read(g, lines, bytes);
	c->row_fills++;
	c->row_bytes += bytes;
	if (refill(g, cg, y))
		c->row_refills += bytes;
}

/* Read a row with @real channels. */
static bool read_row(struct gcu *g, uint32_t slot, const struct gcu_part *part, uint32_t real,
		     struct gcu_run *run)
{
	if (real == g->atomic_c)
		return !gcu_move(run, part, gcu_row_slot(g, slot), CNNACC_ACCESS_READ);
	if (gcu_move(run, part, g->buffer, CNNACC_ACCESS_READ))
		return false;
	gcu_store_row(g, slot, real, g->buffer);
	return true;
}

/* Read the row of the generator's need into @slot. */
static enum gcu_outcome fill(struct gcu *g, uint32_t slot, uint32_t y, struct gcu_run *run)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_state *s = g->s;
	uint32_t cg = g->group.first + s->need_cg, real = gcu_real(g, l->channels, cg);
	struct gcu_part part = gcu_map_part(&l->b.ifmap, cg, y, l->width, real * l->esz);
	uint64_t lines = gcu_lines(&part), end = gcu_end(g, s->f, lines);

	if (!gcu_products_overwrite(g, gcu_row_pending(g, slot), run))
		return GCU_GO_ON;
	if (cm_port_must_wait(run->port, end))
		return GCU_WAIT;
	if (!l->table)
		s->fifo_write = (slot + 1) % l->rows;
	gcu_operands_drop_row(g, slot);
	if (!read_row(g, slot, &part, real, run))
		return gcu_refused(run);
	s->f = end;
	s->row_tag[slot] = gcu_tag(cg, y);
	s->row_ready[slot] = end + GCU_LATENCY;
	s->row_valid[slot / 64] |= (uint64_t)1 << slot % 64;
	g->valid_rows++;
	index_add(g, slot);
	count_fill(g, cg, y, lines, (uint64_t)l->width * real * l->esz);
	run->budget -= FILL_NS + (int64_t)l->width * COLUMN_NS;
	return GCU_ENDED;
}

static void next_need(struct gcu *g)
{
	struct gcu_state *s = g->s;

	if (++s->need_r < g->layer.r)
		return;
	s->need_r = 0;
	if (++s->need_cg < g->group.count)
		return;
	s->need_cg = 0;
	s->need_h++;
}

/* Slot for the generator's need; GCU_NONE: none is free. */
static uint32_t slot_for(const struct gcu *g)
{
	if (g->layer.table)
		return lowest_invalid(g);
	return is_valid(g->s, g->s->fifo_write) ? GCU_NONE : g->s->fifo_write;
}

/* Is the generator within its distance from the array? */
static bool need_near(const struct gcu *g)
{
	const struct gcu_state *s = g->s;
	uint64_t number = (uint64_t)s->need_h * g->group.count + s->need_cg;

	return s->need_h < g->layer.ofmh && number <= s->packet_done + CNNACC_GCU_LOOKAHEAD;
}

/* Request rows until none can be; then go on with s->after. */
enum gcu_outcome gcu_walk(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;

	while (need_near(g)) {
		int32_t y = gcu_input_row(&g->layer, s->need_h, s->need_r);
		uint32_t slot;

		if (run->budget <= 0)
			return GCU_GO_ON;
		if (y >= 0 && !(g->layer.table &&
				gcu_find_row(g, g->group.first + s->need_cg, (uint32_t)y) !=
				GCU_NONE)) {
			enum gcu_outcome outcome;

			slot = slot_for(g);
			if (slot == GCU_NONE)
				break;
			outcome = fill(g, slot, (uint32_t)y, run);
			if (outcome != GCU_ENDED)
				return outcome;
		}
		run->budget -= WALK_NS;
		next_need(g);
	}
	s->phase = s->after;
	return GCU_GO_ON;
}

/* ---- replacement ---- */

/* Evict the valid slots of a set. */
static void evict_set(struct gcu *g, const uint64_t *set)
{
	for (uint32_t i = 0; i * 64 < g->layer.rows; i++)
		for (uint64_t left = set[i] & g->s->row_valid[i]; left; left &= left - 1)
			evict(g, i * 64 + (uint32_t)__builtin_ctzll(left));
}

void gcu_evict_fifo(struct gcu *g)
{
	struct gcu_state *s = g->s;

	while (g->valid_rows > g->layer.b.threshold) {
		evict(g, s->fifo_oldest);
		s->fifo_oldest = (s->fifo_oldest + 1) % g->layer.rows;
	}
}

void gcu_evict_all(struct gcu *g)
{
	uint64_t all[GCU_ROWS_MAX / 64];

	memset(all, 0xff, sizeof(all));
	evict_set(g, all);
	g->s->fifo_write = 0;
	g->s->fifo_oldest = 0;
}

void gcu_evict_vector(struct gcu *g)
{
	uint64_t set[GCU_ROWS_MAX / 64];

	memcpy(set, g->s->vector, sizeof(set));
	evict_set(g, set);
}

enum gcu_outcome gcu_load_next(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	const struct cnnacc_gcu_layer *b = &g->layer.b;
	uint32_t bytes = (g->layer.rows + 7) / 8;
	uint64_t cycles = gcu_div_up(1 + bytes, g->bus), end = gcu_later(s->w, s->t) + cycles;
	uint8_t inc, vector[GCU_ROWS_MAX / 8];

	if (s->entry >= b->table_entries)
		return gcu_fail(run, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_TABLE, s->entry);
	if (cm_port_must_wait(run->port, end))
		return GCU_WAIT;
	if (cm_port_bytes(run->port, (uint64_t)b->increment_va + s->entry, &inc, 1,
			  CNNACC_ACCESS_READ, run->fault) ||
	    cm_port_bytes(run->port, b->vector_va + (uint64_t)s->entry * bytes, vector, bytes,
			  CNNACC_ACCESS_READ, run->fault))
		return gcu_refused(run);
	s->w = end;
	memset(s->vector, 0, sizeof(s->vector));
	if (inc == CNNACC_GCU_RESTART) {
		s->trigger = 0;
		s->entry = 0;
	} else {
		s->trigger += inc;
		s->entry++;
		memcpy(s->vector, vector, bytes);
	}
	s->block.table_bytes += 1 + bytes;
	s->block.n.cycles_serial += cycles;
	s->block.n.dma_cycles += cycles;
	s->block.n.mem_read_bytes += 1 + bytes;
	s->block.n.local_write_bytes += 1 + bytes;
	run->budget -= FILL_NS;
	return GCU_ENDED;
}
