// SPDX-License-Identifier: MIT
/* How many cycles a program takes: the timing section of Documentation/hardware/ccp.rst. */
#include <string.h>

#include "cycle_model.h"

#define DMA_SETUP	16

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void trace(struct ccpc_clock *c, enum cnnrt_activity what, uint64_t from, uint64_t to)
{
	if (c->trace && to > from)
		c->trace(c->trace_arg, what, from, to);
}

void ccpc_clock_boot(struct ccpc_clock *c, const struct ccpc_hw *hw, uint32_t insns)
{
	uint64_t lines = (uint64_t)cnn_div_up(insns, CCPC_LINE_FLOATS);

	memset(c, 0, sizeof(*c));
	c->now = c->dma_free = DMA_SETUP + lines;
	c->count.dma_program = c->dma_free;
	c->count.read_program = lines * CNNACC_LINE_SIZE;
	c->data_bank = hw->data_bank;
	c->weight_bank = hw->weight_bank;
	c->split_banks = hw->split_banks;
}

/*
 * Halves of a bank of @size floats that hold floats first..end-1. Bit 0: lower, bit 1: upper. A bank
 * that is not split is all lower half.
 */
static unsigned int touched(const struct ccpc_clock *c, int64_t first, int64_t end, int64_t size)
{
	int64_t middle = c->split_banks ? size / CCPC_LINE_FLOATS / 2 * CCPC_LINE_FLOATS : size;

	return (unsigned int)((first < middle) | (end > middle) << 1);
}

static unsigned int weight_halves(unsigned int bank, unsigned int touched)
{
	return touched << 2 * (CNNACC_CCP_DATA_BANKS + bank);
}

static uint64_t latest(const uint64_t *times, unsigned int set, uint64_t start)
{
	for (; set; set &= set - 1)
		start = max64(start, times[__builtin_ctz(set)]);
	return start;
}

static void extend(uint64_t *times, unsigned int set, uint64_t end)
{
	for (; set; set &= set - 1)
		times[__builtin_ctz(set)] = max64(times[__builtin_ctz(set)], end);
}

/* The halves that an EXEC reads and writes. */
struct use {
	unsigned int reads, writes;
};

struct map {
	int64_t base, pitch, plane;
};

static unsigned int map_halves(const struct ccpc_clock *c, unsigned int bank, struct map m,
			       int64_t first, int64_t last)
{
	int64_t pitch = m.pitch ? m.pitch : m.plane;

	return touched(c, m.base + first * pitch, m.base + last * pitch + m.plane, c->data_bank)
	       << 2 * bank;
}

int64_t ccpc_conv_body_cycles(uint32_t groups, const struct ccpc_exec_shape *e)
{
	int64_t rows = (e->rows - 1) * e->sy + e->kh;
	int64_t columns = (CNNACC_CCP_LANES - 1) * e->sx + e->kw;
	int64_t passes = cnn_div_up(e->co, CNNACC_CCP_BEATS * groups);

	return e->ci *
	       (rows * cnn_div_up(columns, 16) + 2 + passes * (e->kh * (4 * e->kw + 1) + 4));
}

static uint32_t bits(uint32_t word, unsigned int shift, unsigned int count)
{
	return word >> shift & ((1u << count) - 1);
}

static uint32_t or_default(uint32_t value, uint32_t def)
{
	return value ? value : def;
}

/* Outputs of one channel of the EXEC that lie inside the map. */
static uint64_t conv_outputs(const struct ccpc_clock *c)
{
	uint32_t ow = c->conv0[1] >> 16, oh = or_default(c->conv1[4] >> 16, ow);
	uint32_t y = bits(c->conv0[4], 0, 16), x = c->conv0[4] >> 16;
	uint32_t rows = bits(c->conv0[5], 0, 5);

	if (y >= oh || x >= ow)
		return 0;
	return (uint64_t)(oh - y < rows ? oh - y : rows) *
	       (ow - x < CNNACC_CCP_LANES ? ow - x : CNNACC_CCP_LANES);
}

static struct use conv_use(const struct ccpc_clock *c, uint32_t co)
{
	const uint32_t *r = c->conv0, *g = c->conv1;
	int64_t kh = bits(r[0], 16, 8), taps = kh * or_default(bits(r[0], 28, 4), (uint32_t)kh);
	int64_t ci_start = bits(r[3], 0, 16), ci_end = r[3] >> 16, co_start = r[5] >> 16;
	int64_t first = co_start / 4, last = (co_start + co - 1) / 4;
	int64_t iw = bits(r[1], 0, 16), ih = or_default(bits(g[4], 0, 16), (uint32_t)iw);
	int64_t ow = r[1] >> 16, oh = or_default(g[4] >> 16, (uint32_t)ow);
	int64_t pitch = or_default(bits(g[7], 0, 16), bits(r[2], 0, 16)), base = (int32_t)g[2];
	const struct map in = { (int32_t)g[0], g[5], ih * iw };
	const struct map out = { (int32_t)g[1], g[6], oh * ow };
	struct use use = {
		map_halves(c, c->read_bank, in, ci_start, ci_end),
		map_halves(c, !c->read_bank, out, co_start, co_start + co - 1),
	};
	unsigned int weights = touched(c, base + (first * pitch + ci_start) * taps,
				       base + (last * pitch + ci_end + 1) * taps, c->weight_bank);

	if (r[0] & CNNACC_CCP_R0_BIAS)
		weights |= touched(c, (int32_t)g[3] + first, (int32_t)g[3] + last + 1, c->weight_bank);
	for (uint32_t i = 0; i < co && i < CNNACC_CCP_WEIGHT_BANKS; i++)
		use.reads |= weight_halves((co_start + i) % CNNACC_CCP_WEIGHT_BANKS, weights);
	return use;
}

static uint64_t conv_time(struct ccpc_clock *c, struct use *use)
{
	const uint32_t *r = c->conv0;
	uint32_t ci_num = bits(r[2], 0, 16), ci_end = r[3] >> 16, co_start = r[5] >> 16;
	uint32_t co = or_default(bits(r[6], 0, 16), (r[2] >> 16) - co_start);
	uint32_t groups = bits(r[5], 8, 2) + 1;
	struct ccpc_exec_shape e = {
		.ci = (int64_t)ci_end - bits(r[3], 0, 16) + 1, .co = co, .rows = bits(r[5], 0, 5),
		.kh = bits(r[0], 16, 8), .sy = bits(r[0], 8, 8),
	};
	bool last = ci_end + 1 == ci_num;
	uint64_t t;

	e.kw = or_default(bits(r[0], 28, 4), (uint32_t)e.kh);
	e.sx = or_default(bits(r[0], 24, 4), (uint32_t)e.sy);
	t = 6 + (uint64_t)ccpc_conv_body_cycles(groups, &e);
	if (last && (r[0] & CNNACC_CCP_R0_BIAS))
		t += 4 * (uint64_t)cnn_div_up(co, CNNACC_CCP_BEATS * groups);
	if (last)
		t += (uint64_t)e.rows * co;
	*use = conv_use(c, co);
	c->count.mac_slots += 512 * t;
	c->count.mac_useful += (uint64_t)(e.ci * e.kh * e.kw) * co * conv_outputs(c);
	return t;
}

static uint32_t pool_size(uint32_t in, uint32_t pad, uint32_t kernel, uint32_t stride)
{
	return (uint32_t)cnn_div_up((int64_t)in + pad - kernel, stride) + 1;
}

static struct use maps_use(const struct ccpc_clock *c, int64_t channels, struct map in,
			   struct map out)
{
	return (struct use){
		map_halves(c, c->read_bank, in, 0, channels - 1),
		map_halves(c, !c->read_bank, out, 0, channels - 1),
	};
}

static uint64_t pool_time(const struct ccpc_clock *c, struct use *use)
{
	const uint32_t *r = c->pool;
	uint32_t kh = bits(r[0], 16, 8), kw = or_default(bits(r[0], 28, 4), kh);
	uint32_t sy = bits(r[0], 8, 8), sx = or_default(bits(r[0], 24, 4), sy);
	uint32_t iw = bits(r[1], 0, 16), ih = or_default(r[1] >> 16, iw);
	uint32_t oh = or_default(r[5] >> 16,
				 pool_size(ih, bits(r[2], 16, 4) + bits(r[2], 20, 4), kh, sy));
	uint32_t ow = or_default(bits(r[5], 0, 16),
				 pool_size(iw, bits(r[2], 24, 4) + bits(r[2], 28, 4), kw, sx));

	*use = maps_use(c, bits(r[2], 0, 16),
			(struct map){ (int32_t)r[3], r[6], (int64_t)ih * iw },
			(struct map){ (int32_t)r[4], r[7], (int64_t)oh * ow });
	return (uint64_t)bits(r[2], 0, 16) * oh * ow + 5;
}

static uint64_t pad_time(const struct ccpc_clock *c, struct use *use)
{
	const uint32_t *r = c->pad;
	int64_t iw = bits(r[1], 0, 16), ih = or_default(r[1] >> 16, (uint32_t)iw);
	int64_t plane = (ih + 2 * r[0]) * (iw + 2 * r[0]), channels = bits(r[2], 0, 16);

	*use = maps_use(c, channels, (struct map){ (int32_t)r[3], r[5], ih * iw },
			(struct map){ (int32_t)r[4], r[6], plane });
	return (uint64_t)cnn_div_up(channels * plane, 16);
}

/* The same for floats first..first+count-1 of the weight banks as one linear memory. */
static unsigned int linear_halves(const struct ccpc_clock *c, int64_t first, int64_t count)
{
	unsigned int set = 0;

	for (int64_t b = first / c->weight_bank; b * c->weight_bank < first + count; b++)
		set |= weight_halves((unsigned int)b,
				     touched(c, cnn_max(first - b * c->weight_bank, 0),
					     cnn_min(first + count - b * c->weight_bank,
						     c->weight_bank),
					     c->weight_bank));
	return set;
}

static uint64_t fc_time(struct ccpc_clock *c, struct use *use)
{
	const uint32_t *r = c->fc;
	uint64_t in16 = ((uint64_t)r[1] + 15) / 16, out = r[2];
	bool bias = r[0] & CNNACC_CCP_R0_BIAS;
	uint64_t t = 4 * ((out + 3) / 4) * (in16 + bias) + 10;

	*use = maps_use(c, 1, (struct map){ (int32_t)r[3], 0, r[1] },
			(struct map){ (int32_t)r[4], 0, r[2] });
	use->reads |= linear_halves(c, r[5], (int64_t)(out * in16 * 16));
	if (bias)
		use->reads |= linear_halves(c, r[6], (int64_t)out);
	c->count.mac_slots += 16 * t;
	c->count.mac_useful += (uint64_t)r[1] * out;
	return t;
}

static void run_unit(struct ccpc_clock *c, unsigned int unit)
{
	struct use use;
	uint64_t start, t;

	if (unit == CNNACC_CCP_CONV)
		t = conv_time(c, &use);
	else if (unit == CNNACC_CCP_POOL)
		t = pool_time(c, &use);
	else if (unit == CNNACC_CCP_PAD)
		t = pad_time(c, &use);
	else
		t = fc_time(c, &use);
	start = latest(c->read, use.writes, latest(c->written, use.reads | use.writes, c->now));
	trace(c, CNNRT_STALL, c->now, start);
	trace(c, CNNRT_COMPUTE, start, start + t);
	c->count.stall += start - c->now;
	c->count.compute += t;
	c->now = start + t;
	extend(c->read, use.reads, c->now);
	extend(c->written, use.writes, c->now);
}

/* The memory address tells weights from activations. */
static void count_dma(struct ccpc_clock *c, uint64_t line, uint64_t lines, bool load)
{
	uint64_t bytes = lines * CNNACC_LINE_SIZE, cycles = DMA_SETUP + lines;
	bool weights = load && line >= CNN_VA_WEIGHTS / CNNACC_LINE_SIZE;

	trace(c, !load ? CNNRT_DMA_STORE : weights ? CNNRT_DMA_WEIGHTS : CNNRT_DMA_LOAD,
	      c->dma_free - cycles, c->dma_free);
	*(weights ? &c->count.dma_weights : &c->count.dma_data) += cycles;
	*(!load ? &c->count.written : weights ? &c->count.read_weights : &c->count.read_data) +=
		bytes;
}

static void run_dma(struct ccpc_clock *c, uint32_t insn, bool load)
{
	int64_t lines = c->reg[bits(insn, CNNACC_CCP_RL_SHIFT, 3)];
	int64_t first = c->reg[bits(insn, CNNACC_CCP_RT_SHIFT, 3)];
	unsigned int tgt = bits(insn, CNNACC_CCP_TGT_SHIFT, 3), set;

	c->now++;
	if (!lines)
		return;
	if (tgt >= CNNACC_CCP_TGT_WEIGHT0)
		set = weight_halves(tgt - CNNACC_CCP_TGT_WEIGHT0,
				    touched(c, first * CCPC_LINE_FLOATS,
					    (first + lines) * CCPC_LINE_FLOATS, c->weight_bank));
	else
		set = touched(c, first * CCPC_LINE_FLOATS, (first + lines) * CCPC_LINE_FLOATS,
			      c->data_bank)
		      << 2 * (tgt ^ c->read_bank);
	/* The controller waits for an EXEC, so no half is busy longer than controller and DMA. */
	c->dma_free = max64(c->now, c->dma_free) + DMA_SETUP + (uint64_t)lines;
	count_dma(c, c->reg[bits(insn, CNNACC_CCP_RA_SHIFT, 3)], (uint64_t)lines, load);
	extend(load ? c->written : c->read, set, c->dma_free);
}

void ccpc_clock_switch_overlay(struct ccpc_clock *c, int64_t lines)
{
	c->now += 2 + 1;
	c->dma_free = max64(c->now, c->dma_free) + DMA_SETUP + (uint64_t)lines;
	trace(c, CNNRT_DMA_PROGRAM, c->dma_free - DMA_SETUP - (uint64_t)lines, c->dma_free);
	c->count.dma_program += DMA_SETUP + (uint64_t)lines;
	c->count.read_program += (uint64_t)lines * CNNACC_LINE_SIZE;
	c->now = c->dma_free + 2;
	c->insns_run += 3;
}

static void run_cfg(struct ccpc_clock *c, uint32_t insn)
{
	uint32_t *const group[4] = { c->conv0, c->pool, c->pad, c->fc };
	unsigned int unit = bits(insn, CNNACC_CCP_UNIT_SHIFT, 2);
	uint32_t *to = bits(insn, CNNACC_CCP_GROUP_SHIFT, 2) ? c->conv1 : group[unit];

	memcpy(to, c->reg, sizeof(c->reg));
	c->now += 8;
}

/* LDI, LDIH, ADDI, SWAP, NOP and BNZ. Returns the index of the next instruction. */
static uint32_t run_simple(struct ccpc_clock *c, uint32_t insn, uint32_t pc)
{
	uint32_t *rd = &c->reg[bits(insn, CNNACC_CCP_RD_SHIFT, 3)];
	enum cnnacc_ccp_op op = insn >> CNNACC_CCP_OP_SHIFT;

	c->now++;
	if (op == CNNACC_CCP_LDI)
		*rd = insn & 0xffff;
	else if (op == CNNACC_CCP_LDIH)
		*rd = insn << 16 | (*rd & 0xffff);
	else if (op == CNNACC_CCP_ADDI)
		*rd = c->reg[bits(insn, CNNACC_CCP_RS_SHIFT, 3)] + (uint32_t)(int16_t)insn;
	else if (op == CNNACC_CCP_SWAP)
		c->read_bank ^= 1;
	if (op != CNNACC_CCP_BNZ || !*rd)
		return pc + 1;
	c->now++;
	return insn & CNNACC_CCP_TARGET_MASK;
}

uint32_t ccpc_clock_run_insn(struct ccpc_clock *c, const uint32_t *words, uint32_t pc)
{
	uint32_t insn = words[pc];
	enum cnnacc_ccp_op op = insn >> CNNACC_CCP_OP_SHIFT;

	c->insns_run++;
	if (op == CNNACC_CCP_LOAD || op == CNNACC_CCP_STORE)
		run_dma(c, insn, op == CNNACC_CCP_LOAD);
	else if (op == CNNACC_CCP_CFG)
		run_cfg(c, insn);
	else if (op == CNNACC_CCP_EXEC_UNIT)
		run_unit(c, bits(insn, CNNACC_CCP_UNIT_SHIFT, 2));
	else
		return run_simple(c, insn, pc);
	return pc + 1;
}

void ccpc_clock_run(struct ccpc_clock *c, const uint32_t *words, uint32_t from, uint32_t to)
{
	for (uint32_t pc = from; pc < to;)
		pc = ccpc_clock_run_insn(c, words, pc);
}
