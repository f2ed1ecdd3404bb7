// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Cycles and counters; the rules are the section "Timing" of the core's page. */
#include "ccp.h"

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

/* Bank of a DMA target as an index of bank_write and bank_read. */
static unsigned int target_bank(const struct ccp *c, uint32_t target)
{
	if (target <= CNNACC_CCP_TGT_WRITE_BANK)
		return c->s->sel ^ target;
	return CNNACC_CCP_DATA_BANKS + target - CNNACC_CCP_TGT_WEIGHT0;
}

static uint32_t dma_target(const struct ccp *c)
{
	return ccp_bits(c->s->insn, 18, 16);
}

static bool is_store(const struct ccp *c)
{
	return c->s->insn >> CNNACC_CCP_OP_SHIFT == CNNACC_CCP_STORE;
}

/* When the LOAD or STORE at hand will have ended. */
uint64_t ccp_dma_end(const struct ccp *c)
{
	const struct ccp_state *s = c->s;
	uint64_t lines = ccp_dma_lines(c), start = later(s->t + 1, s->d);
	unsigned int bank;

	if (!lines)
		return s->t + 1;
	if (dma_target(c) != CNNACC_CCP_TGT_ICACHE) {
		bank = target_bank(c, dma_target(c));
		start = later(start, s->bank_write[bank]);
		if (!is_store(c))
			start = later(start, s->bank_read[bank]);
	}
	return start + DMA_SETUP + lines;
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
		s->bank_read[target_bank(c, dma_target(c))] = end;
		return;
	}
	count_read(c, lines);
	if (dma_target(c) == CNNACC_CCP_TGT_ICACHE)
		s->t = end;
	else
		s->bank_write[target_bank(c, dma_target(c))] = end;
}

void ccp_time_exec(struct ccp *c)
{
	struct ccp_state *s = c->s;
	const struct ccp_work *w = &c->work;
	unsigned int write_bank = !s->sel;
	uint64_t start = later(s->t, later(s->bank_write[write_bank], s->bank_read[write_bank]));

	for (unsigned int i = 0; i < CCP_BANKS; i++)
		if (w->reads & (1u << i))
			start = later(start, s->bank_write[i]);
	s->n.stall_cycles += start - s->t;
	s->t = start + w->cycles;
	for (unsigned int i = 0; i < CCP_BANKS; i++)
		if (w->reads & (1u << i))
			s->bank_read[i] = later(s->bank_read[i], s->t);
	s->bank_write[write_bank] = s->t;

	s->n.cycles_serial += w->cycles;
	s->n.compute_cycles += w->cycles;
	s->n.mac_slots += w->mac_slots;
	s->n.mac_useful += w->mac_useful;
	s->n.local_read_bytes += w->local_read;
	s->n.local_write_bytes += 4 * w->stored;
}

static uint32_t read_bank(const struct ccp *c)
{
	return 1u << c->s->sel;
}

static uint32_t weight_bank(unsigned int n)
{
	return 1u << (CNNACC_CCP_DATA_BANKS + n);
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
	w->reads = read_bank(c);
	for (uint32_t o = p->co_start; o < p->co_start + p->co_cnt && o < p->co_start + 4; o++)
		w->reads |= weight_bank(o % 4);
}

void ccp_work_pool(struct ccp *c)
{
	const struct ccp_pool *p = &c->plan.pool;
	uint64_t outputs = (uint64_t)p->channels * p->m.oh * p->m.ow;

	c->work = (struct ccp_work){
		.cycles = outputs + POOL_FILL,
		.local_read = 4 * outputs * p->kh * p->kw,
		.stored = outputs,
		.reads = read_bank(c),
	};
}

void ccp_work_pad(struct ccp *c)
{
	const struct ccp_pad *p = &c->plan.pad;
	uint64_t outputs = (uint64_t)p->channels * p->m.oh * p->m.ow;

	c->work = (struct ccp_work){
		.cycles = ccp_div_up(outputs, 16),
		.local_read = 4 * (uint64_t)p->channels * p->m.ih * p->m.iw,
		.stored = outputs,
		.reads = read_bank(c),
	};
}

/* Banks that floats [start, start + len) of the linear weight memory lie in. */
static uint32_t linear_banks(const struct ccp *c, int64_t start, uint64_t len)
{
	uint32_t mask = 0;
	uint64_t first = (uint64_t)start / c->weight_floats;
	uint64_t last = ((uint64_t)start + len - 1) / c->weight_floats;

	for (uint64_t i = first; i <= last; i++)
		mask |= weight_bank((unsigned int)i);
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
	w->reads = read_bank(c) | linear_banks(c, p->weight_base, p->out * p->in16);
	if (p->bias)
		w->reads |= linear_banks(c, p->bias_base, p->out);
}
