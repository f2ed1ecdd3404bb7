// SPDX-License-Identifier: MIT
/* Row slots: the fetcher looks at one need in a clock. */
#include "micro.h"

#include <string.h>

int micro_find(const struct micro *m, unsigned int cg, unsigned int row)
{
	for (unsigned int n = 0; n < m->l.rows; n++) {
		unsigned int slot = (m->fifo_oldest + n) % m->l.rows;
		const struct micro_slot *s = &m->slot[slot];

		if (s->state == MICRO_TAKEN && s->cg == cg && s->row == row)
			return slot;
	}
	return -1;
}

static void request_row(struct micro *m, unsigned int slot, unsigned int row)
{
	const struct cnnacc_gcu_map *map = &m->l.ifmap;
	unsigned int cg = m->fetch.cg;
	uint64_t va = map->va + (uint64_t)cg * map->group_stride +
		      (uint64_t)row * map->row_stride;

	m->slot[slot] = (struct micro_slot){ MICRO_TAKEN, cg, row, 0 };
	m->taken++;
	micro_request(m, &m->rows, micro_line_clocks(m) *
		      micro_row_lines(va, m->l.w, micro_channels(m, cg) * m->l.bytes,
				      map->column_stride), &m->slot[slot].ready);
}

/* A slot for the next row; -1: none is free. */
static int free_slot(struct micro *m)
{
	unsigned int slot = m->fifo_write;

	if (!m->l.table) {
		if (m->slot[slot].state != MICRO_FREE)
			return -1;
		m->fifo_write = (slot + 1) % m->l.rows;
		return slot;
	}
	for (slot = 0; slot < m->l.rows; slot++)
		if (m->slot[slot].state == MICRO_FREE)
			return slot;
	return -1;
}

/* Masked rows are no needs, so going past them takes no clock. */
static int skip_masked(struct micro *m)
{
	int row = -1;

	while (!m->fetch.end) {
		row = micro_row(m, m->fetch.h, m->fetch.r);
		if (row >= 0)
			return row;
		micro_next(m, &m->fetch);
	}
	return row;
}

void micro_fetch_step(struct micro *m)
{
	int row = skip_masked(m), slot;

	if (row < 0 || m->fetch.op4 > m->at.op4 + CNNACC_GCU_LOOKAHEAD ||
	    m->rows.count == MICRO_QUEUE)
		return;
	if (!m->l.table || micro_find(m, m->fetch.cg, row) < 0) {
		slot = free_slot(m);
		if (slot < 0)
			return;
		request_row(m, slot, row);
	}
	micro_next(m, &m->fetch);
}

static void evict(struct micro *m, unsigned int slot)
{
	m->taken -= m->slot[slot].state == MICRO_TAKEN;
	m->slot[slot].state = MICRO_FREE;
}

void micro_after_op3(struct micro *m)
{
	while (!m->l.table && m->taken > m->l.threshold) {
		evict(m, m->fifo_oldest);
		m->fifo_oldest = (m->fifo_oldest + 1) % m->l.rows;
	}
}

/* The tables come over the weights' stream, but nobody waits for them. */
static void load_next(struct micro *m)
{
	unsigned int bytes = (m->l.rows + 7) / 8, increment = m->l.increment[m->entry];

	micro_request(m, &m->weights, (bytes + m->build.bus) / m->build.bus, NULL);
	memset(m->vector, 0, sizeof(m->vector));
	if (increment == CNNACC_GCU_RESTART) {
		m->trigger = m->entry = 0;
		return;
	}
	m->trigger += increment;
	memcpy(m->vector, m->l.vector + (uint64_t)m->entry * bytes, bytes);
	m->entry++;
}

void micro_after_op4(struct micro *m)
{
	if (!m->l.table)
		return;
	if (m->op4 == m->trigger) {
		for (unsigned int slot = 0; slot < m->l.rows; slot++)
			if (m->vector[slot / 8] >> slot % 8 & 1)
				evict(m, slot);
		load_next(m);
	}
	m->op4++;
}

void micro_rows_begin(struct micro *m)
{
	m->fetch = micro_first(m);
	if (m->l.table)
		load_next(m);
}

void micro_rows_end(struct micro *m)
{
	if (m->l.table) {
		if (m->l.groups == 1)
			m->op4 = 0;
		return;
	}
	for (unsigned int slot = 0; slot < m->l.rows; slot++)
		evict(m, slot);
	m->fifo_write = m->fifo_oldest = 0;
}
