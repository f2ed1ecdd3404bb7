// SPDX-License-Identifier: MIT
/*
 * The output stage: a column of a complete ofmap row in a clock.  A line begins to move with its
 * first column.  A bank is empty when all of its row has gone towards the bus.
 */
#include "micro.h"

#include <string.h>

#define LINE	CNNACC_LINE_SIZE

/* Stages from a bank to the bus. */
static unsigned int stages(const struct micro *m)
{
	unsigned int n = 3;

	if (m->l.linear)
		n += m->l.fp16 ? 9 : 8;
	return n + (m->l.act ? 6 : 0);
}

/* Lines of a part of a row, each at the first column that has bytes in it. */
static void add_part(struct micro *m, uint64_t va, unsigned int bytes)
{
	uint32_t stride = m->l.ofmap.column_stride;
	uint64_t begun = 0;	/* the line behind those that have begun */

	for (unsigned int x = 0; x < m->l.ofmw; x++, va += stride) {
		uint64_t first = va / LINE, end = (va + bytes - 1) / LINE + 1;

		if (stride <= LINE && first < begun)
			first = begun < end ? begun : end;
		m->lines_at[x] += end - first;
		begun = end;
	}
}

static void begin_row(struct micro *m)
{
	unsigned int bank = m->row_out % m->build.rbuf_banks, atomic_c = m->build.atomic_c;
	unsigned int k0 = m->bank_row[bank].k0, end = k0 + m->bank_row[bank].kn;
	const struct cnnacc_gcu_map *map = &m->l.ofmap;

	memset(m->lines_at, 0, sizeof(m->lines_at));
	for (unsigned int low = k0; low < end; low = (low / atomic_c + 1) * atomic_c) {
		unsigned int high = (low / atomic_c + 1) * atomic_c;
		uint64_t va = map->va + (uint64_t)(low / atomic_c) * map->group_stride +
			      (uint64_t)m->bank_row[bank].h * map->row_stride +
			      low % atomic_c * m->l.out_bytes;

		add_part(m, va, ((high < end ? high : end) - low) * m->l.out_bytes);
	}
	m->full--;
	m->reading = true;
	m->out_column = 0;
}

static void read_column(struct micro *m)
{
	m->to_move += (uint64_t)m->lines_at[m->out_column] * micro_line_clocks(m);
	m->out_column++;
}

void micro_output_step(struct micro *m)
{
	m->in_stages <<= 1;
	m->in_stages &= ~(1ull << stages(m));
	if (!m->reading && m->full)
		begin_row(m);
	if (!m->reading)
		return;
	if (m->out_column < m->l.ofmw)
		read_column(m);
	if (m->to_move)
		m->to_move--;
	m->in_stages |= 1;
	if (m->to_move || m->out_column < m->l.ofmw)
		return;
	m->bank_taken[m->row_out % m->build.rbuf_banks] = false;
	m->row_out++;
	m->reading = false;
}

bool micro_output_busy(const struct micro *m)
{
	return m->row_out < (uint64_t)m->groups * m->l.ofmh || m->in_stages;
}
