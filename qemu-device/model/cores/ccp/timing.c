// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Cycles and counters, as in the sections "Timing" and "Counters" of the core's page. */
#include "ccp.h"
#include "ccp_mutant.h"

#define DMA_SETUP	16
#define CONV_FILL	6
#define POOL_FILL	5
#define FC_FILL		10
#define CONV_SLOTS	(CNNACC_CCP_ROWS * CNNACC_CCP_LANES * CNNACC_CCP_GROUPS)
#define BEATS		((uint64_t)CNNACC_CCP_BEATS)

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void count_read(struct ccp *c, uint64_t lines)
{
	c->s->n.dma_cycles += DMA_SETUP + lines;
	c->s->n.mem_read_bytes += lines * CNNACC_LINE_SIZE;
	c->s->n.local_write_bytes += lines * CNNACC_LINE_SIZE;
	c->s->n.cycles_serial += DMA_SETUP + lines;
}

static void count_write(struct ccp *c, uint64_t lines)
{
	c->s->n.dma_cycles += DMA_SETUP + lines;
	c->s->n.mem_write_bytes += lines * CNNACC_LINE_SIZE;
	c->s->n.local_read_bytes += lines * CNNACC_LINE_SIZE;
	c->s->n.cycles_serial += DMA_SETUP + lines;
}

uint64_t ccp_boot_end(const struct ccp *c)
{
	return DMA_SETUP + ccp_div_up(c->s->program_len, CNNACC_LINE_SIZE);
}

void ccp_time_boot(struct ccp *c)
{
	uint64_t lines = ccp_div_up(c->s->program_len, CNNACC_LINE_SIZE);

	c->s->t = ccp_boot_end(c);
	c->s->d = c->s->t;
	count_read(c, lines);
}

/*
 * With split banks each half of a bank has its own port.  Halves are numbered from 0: the lower and
 * the upper half of data banks 0, 1, then of weight banks 0..3.  Sets of halves are masks.
 */
static unsigned int weight_bank(unsigned int n)
{
	return CNNACC_CCP_DATA_BANKS + n;
}

/* Mask of the halves of a bank of @floats that contain floats first..last. */
static uint32_t halves(const struct ccp *c, unsigned int bank, int64_t first, int64_t last)
{
	uint32_t floats = bank < CNNACC_CCP_DATA_BANKS ? c->bank_floats : c->weight_floats;
	int64_t middle = MUTANT(SPLIT) ? floats / CCP_LINE_FLOATS / 2 * CCP_LINE_FLOATS :
					 ccp_middle(c, floats);

	return (uint32_t)((first < middle) | (last >= middle) << 1) << 2 * bank;
}

static uint64_t latest(const uint64_t *times, uint32_t set, uint64_t start)
{
	for (; set; set &= set - 1)
		start = later(start, times[__builtin_ctz(set)]);
	return start;
}

static void extend(uint64_t *times, uint32_t set, uint64_t end)
{
	for (; set; set &= set - 1)
		times[__builtin_ctz(set)] = later(times[__builtin_ctz(set)], end);
}

static uint32_t dma_target(const struct ccp *c)
{
	return ccp_bits(c->s->insn, 18, 16);
}

static bool is_store(const struct ccp *c)
{
	return c->s->insn >> CNNACC_CCP_OP_SHIFT == CNNACC_CCP_STORE;
}

/* Mask of the halves that the transfer accesses; 0 for the instruction cache. */
static uint32_t dma_halves(const struct ccp *c)
{
	uint32_t target = dma_target(c);
	int64_t first = c->s->gpr[ccp_bits(c->s->insn, 21, 19)] * (int64_t)CCP_LINE_FLOATS;
	int64_t last = first + (int64_t)ccp_dma_lines(c) * CCP_LINE_FLOATS - 1;

	if (target <= CNNACC_CCP_TGT_WRITE_BANK)
		return halves(c, c->s->sel ^ target, first, last);
	if (target == CNNACC_CCP_TGT_ICACHE)
		return 0;
	return halves(c, weight_bank(target - CNNACC_CCP_TGT_WEIGHT0), first, last);
}

/*
 * Cycle at which the current LOAD or STORE ends.  It waits for the DMA engine only: EXEC holds the
 * controller, so no half is busy later than max(t, d).
 */
uint64_t ccp_dma_end(const struct ccp *c)
{
	uint64_t lines = ccp_dma_lines(c);

	return lines ? later(c->s->t + 1, c->s->d) + DMA_SETUP + lines : c->s->t + 1;
}

void ccp_time_dma(struct ccp *c)
{
	struct ccp_state *s = c->s;
	uint64_t lines = ccp_dma_lines(c), end = ccp_dma_end(c);

	s->t += 1;
	if (!lines) {
		s->n.cycles_serial += 1;
		return;
	}
	s->d = end;
	if (is_store(c)) {
		count_write(c, lines);
		extend(s->half_read, dma_halves(c), end);
		return;
	}
	count_read(c, lines);
	if (dma_target(c) == CNNACC_CCP_TGT_ICACHE)
		s->t = end;
	else
		extend(s->half_write, dma_halves(c), end);
}

static void count_execs(struct ccp *c, uint64_t execs)
{
	struct cnnacc_stats *n = &c->s->n;
	const struct ccp_work *w = &c->work;

	n->compute_cycles += execs * w->cycles;
	n->mac_slots += execs * w->mac_slots;
	n->mac_useful += execs * w->mac_useful;
	n->local_read_bytes += execs * w->local_read;
	n->local_write_bytes += execs * 4 * w->stored;
}

/*
 * Account for @times iterations of a loop, each with @execs EXECs that do not stall.  An iteration
 * takes @cycles; its last EXEC ends after @exec_end.
 */
void ccp_time_loop(struct ccp *c, uint64_t times, uint64_t cycles, uint64_t exec_end,
		   uint64_t execs)
{
	struct ccp_state *s = c->s;
	uint64_t end = s->t + (times - 1) * cycles + exec_end;

	extend(s->half_read, c->work.reads, end);
	extend(s->half_write, c->work.writes, end);
	s->t += times * cycles;
	s->n.cycles_serial += times * cycles;
	count_execs(c, times * execs);
}

void ccp_time_exec(struct ccp *c)
{
	struct ccp_state *s = c->s;
	const struct ccp_work *w = &c->work;
	uint64_t start = latest(s->half_write, w->reads | w->writes, s->t);

	start = latest(s->half_read, w->writes, start);
	s->n.stall_cycles += start - s->t;
	s->t = start + w->cycles;
	extend(s->half_read, w->reads, s->t);
	extend(s->half_write, w->writes, s->t);

	s->n.cycles_serial += w->cycles;
	count_execs(c, 1);
}

/* Set the halves of the data banks that an EXEC accesses, from its planes of both maps. */
static void touch_planes(struct ccp *c, const struct ccp_maps *m, uint64_t in_first,
			 uint64_t in_last, uint64_t out_first, uint64_t out_last)
{
	int64_t in = m->in_base + (int64_t)(in_first * m->in_pitch);
	int64_t in_end = m->in_base + (int64_t)(in_last * m->in_pitch) + (int64_t)m->ih * m->iw;
	int64_t out = m->out_base + (int64_t)(out_first * m->out_pitch);
	int64_t out_end = m->out_base + (int64_t)(out_last * m->out_pitch) +
			  (int64_t)m->oh * m->ow;

	c->work.reads = halves(c, c->s->sel, in, in_end - 1);
	c->work.writes = halves(c, !c->s->sel, out, out_end - 1);
}

void ccp_touch_conv(struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;
	int64_t first = p->co_start / 4, last = (p->co_start + p->co_cnt - 1) / 4;
	int64_t taps = (int64_t)p->kh * p->kw, pitch = p->base.weight_pitch;
	uint32_t touched;

	touch_planes(c, &p->m, p->ci_start, p->ci_end, p->co_start,
		     p->co_start + p->co_cnt - 1);
	touched = halves(c, weight_bank(0), p->base.weight + (first * pitch + p->ci_start) * taps,
			 p->base.weight + (last * pitch + p->ci_end + 1) * taps - 1);
	if (p->bias)
		touched |= halves(c, weight_bank(0), p->base.bias + first, p->base.bias + last);
	for (uint32_t o = p->co_start; o < p->co_start + p->co_cnt && o < p->co_start + 4; o++)
		c->work.reads |= touched << 2 * (o % 4);
}

void ccp_work_conv(struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;
	struct ccp_work *w = &c->work;
	uint64_t n = p->ci_end - p->ci_start + 1, co = p->co_cnt;
	uint64_t passes = ccp_div_up(co, BEATS * p->groups);
	uint64_t lr = (uint64_t)(p->vec_active - 1) * p->sy + p->kh;
	uint64_t lc = (uint64_t)(CNNACC_CCP_LANES - 1) * p->sx + p->kw;
	uint64_t taps = (uint64_t)p->kh * p->kw, outputs = (uint64_t)p->rows * p->cols;
	bool bias = p->last && p->bias;

	w->cycles = n * (lr * ccp_div_up(lc, 16) + 2 +
			 passes * (p->kh * (BEATS * p->kw + 1) + BEATS)) +
		    (bias ? BEATS * passes : 0) + (p->last ? p->vec_active * co : 0) + CONV_FILL;
	w->mac_slots = CONV_SLOTS * w->cycles;
	w->mac_useful = n * taps * co * outputs;
	w->local_read = 4 * (n * lr * lc + n * co * taps + (bias ? co : 0));
	w->stored = p->last ? co * outputs : 0;
}

void ccp_work_pool(struct ccp *c)
{
	const struct ccp_pool *p = &c->plan.pool;
	uint64_t outputs = (uint64_t)p->channels * p->m.oh * p->m.ow;

	c->work = (struct ccp_work){
		.cycles = outputs + POOL_FILL,
		.local_read = 4 * outputs * p->kh * p->kw,
		.stored = outputs,
	};
	touch_planes(c, &p->m, 0, p->channels - 1, 0, p->channels - 1);
}

void ccp_work_pad(struct ccp *c)
{
	const struct ccp_pad *p = &c->plan.pad;
	uint64_t outputs = (uint64_t)p->channels * p->m.oh * p->m.ow;

	c->work = (struct ccp_work){
		.cycles = ccp_div_up(outputs, 16),
		.local_read = 4 * (uint64_t)p->channels * p->m.ih * p->m.iw,
		.stored = outputs,
	};
	touch_planes(c, &p->m, 0, p->channels - 1, 0, p->channels - 1);
}

/* Mask of the halves that contain floats [start, start + len) of the linear weight memory. */
static uint32_t linear_halves(const struct ccp *c, int64_t start, uint64_t len)
{
	uint32_t mask = 0;
	int64_t bank = c->weight_floats, end = start + (int64_t)len;

	for (int64_t i = start / bank; i * bank < end; i++) {
		int64_t first = start > i * bank ? start - i * bank : 0;
		int64_t last = (end < (i + 1) * bank ? end - i * bank : bank) - 1;

		mask |= halves(c, weight_bank((unsigned int)i), first, last);
	}
	return mask;
}

void ccp_work_fc(struct ccp *c)
{
	const struct ccp_fc *p = &c->plan.fc;
	struct ccp_work *w = &c->work;

	w->cycles = BEATS * ccp_div_up(p->out, BEATS) *
		    (p->in16 / CNNACC_CCP_FC_LANES + p->bias) + FC_FILL;
	w->mac_slots = CNNACC_CCP_FC_LANES * w->cycles;
	w->mac_useful = (uint64_t)p->in * p->out;
	w->local_read = 4 * (p->in + p->out * p->in16 + (p->bias ? p->out : 0));
	w->stored = p->out;
	w->reads = halves(c, c->s->sel, p->in_base, p->in_base + p->in - 1) |
		   linear_halves(c, p->weight_base, p->out * p->in16);
	if (p->bias)
		w->reads |= linear_halves(c, p->bias_base, p->out);
	w->writes = halves(c, !c->s->sel, p->out_base, p->out_base + p->out - 1);
}
