// SPDX-License-Identifier: MIT
/* The MAC array: one surface in a clock, for all kernels of the kernel group. */
#include "micro.h"

static unsigned int bank_of(const struct micro *m, uint64_t row)
{
	return row % m->build.rbuf_banks;
}

/* Stages behind CBUF's, to the bank in which an ofmap row is complete. */
static unsigned int stages(const struct micro *m)
{
	unsigned int tree = 0;

	while (1u << tree < m->build.atomic_c)
		tree++;
	/* fetch, multiply; FP16 aligns and adds exponents; update; the flags of a bank */
	return 2 + tree + (m->l.fp16 ? 2 : 0) +
	       (m->l.fp16 ? CNNACC_GCU_UPDATE_FP16 : CNNACC_GCU_UPDATE_INT) + 2;
}

static bool begins_row(const struct micro *m)
{
	return m->at.cg == m->cg_first && !m->at.r;
}

/* Take the next bank; false if there is none, or its psum row is not there. */
static bool begin_row(struct micro *m)
{
	unsigned int bank = bank_of(m, m->row_begun);

	if (m->bank_taken[bank] ||
	    (m->l.psum && (m->psum_asked <= m->row_begun || m->psum_ready[bank] > m->clock)))
		return false;
	m->bank_taken[bank] = true;
	m->bank_row[bank].h = m->at.h;
	m->bank_row[bank].k0 = m->k0;
	m->bank_row[bank].kn = m->kn;
	m->row_begun++;
	return true;
}

/* The rows of psum are read as soon as their banks are empty. */
void micro_psum_step(struct micro *m)
{
	const struct cnnacc_gcu_map *map = &m->l.psum_map;
	uint64_t row = m->psum_asked, lines = 0, k0, kn;
	unsigned int atomic_c = m->build.atomic_c;

	if (!m->l.psum || row == (uint64_t)m->groups * m->l.ofmh ||
	    row >= m->row_out + m->build.rbuf_banks)
		return;
	k0 = row / m->l.ofmh * m->build.atomic_k;
	kn = m->l.k - k0 < m->build.atomic_k ? m->l.k - k0 : m->build.atomic_k;
	for (uint64_t g = k0 / atomic_c; g <= (k0 + kn - 1) / atomic_c; g++) {
		uint64_t low = g * atomic_c > k0 ? g * atomic_c : k0, high = (g + 1) * atomic_c;

		high = high < k0 + kn ? high : k0 + kn;
		lines += micro_row_lines(map->va + g * map->group_stride +
					 row % m->l.ofmh * map->row_stride + low % atomic_c * 4,
					 m->l.ofmw, (high - low) * 4, map->column_stride);
	}
	micro_request(m, &m->psum, micro_line_clocks(m) * lines, &m->psum_ready[bank_of(m, row)]);
	m->psum_asked++;
}

/* Is all there that the next op3 needs? */
static bool begin_op3(struct micro *m)
{
	int row = micro_row(m, m->at.h, m->at.r);
	bool begins = begins_row(m) && m->row_begun == (uint64_t)m->group * m->l.ofmh + m->at.h;

	if (begins && !begin_row(m))
		return false;
	if (!m->at.r && micro_weights_ready(m, m->at.cg) > m->clock)
		return false;
	m->slot_used = row < 0 ? -1 : micro_find(m, m->at.cg, row);
	if (row >= 0 && (m->slot_used < 0 || m->slot[m->slot_used].ready > m->clock))
		return false;
	m->s = m->column = m->step_clocks = 0;
	m->in_op3 = true;
	return true;
}

static void end_op4(struct micro *m, unsigned int cg, unsigned int h)
{
	micro_weights_used(m, cg);
	micro_after_op4(m);
	if (m->at.h != h || m->at.end)
		m->sums |= 1;
	if (!m->at.end)
		return;
	micro_rows_end(m);
	m->group++;
	m->group_begun = false;
	m->array_done = m->group == m->groups;
}

static void end_op3(struct micro *m)
{
	unsigned int cg = m->at.cg, h = m->at.h;

	m->in_op3 = false;
	if (m->slot_used >= 0)
		micro_after_op3(m);
	if (micro_next(m, &m->at))
		end_op4(m, cg, h);
}

static void count_surface(struct micro *m)
{
	struct micro_count *c = m->count;

	if (!c->busy)
		c->first = m->clock;
	c->last = m->clock;
	c->busy++;
	if (m->slot_used >= 0 && micro_column(m, m->column, m->s) >= 0)
		c->macs += micro_useful(m, m->at.cg);
}

/* A column's sum returns from the update pipeline before it is added to again. */
static bool step_over(const struct micro *m)
{
	unsigned int depth = m->l.fp16 ? CNNACC_GCU_UPDATE_FP16 : CNNACC_GCU_UPDATE_INT;

	return m->column == m->l.ofmw && m->step_clocks > depth;
}

void micro_array_step(struct micro *m)
{
	m->sums <<= 1;
	m->full += m->sums >> (stages(m) + 1) & 1;
	if (m->array_done || !m->group_begun)
		return;
	if (!m->in_op3 && !begin_op3(m)) {
		m->count->waited++;
		return;
	}
	m->step_clocks++;
	m->count->slots += m->build.atomic_c * m->build.atomic_k;
	if (m->column < m->l.ofmw) {
		count_surface(m);
		m->column++;
	} else {
		m->count->held++;
	}
	if (!step_over(m))
		return;
	m->column = m->step_clocks = 0;
	if (++m->s == m->l.s)
		end_op3(m);
}
