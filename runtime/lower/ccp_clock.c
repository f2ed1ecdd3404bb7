// SPDX-License-Identifier: MIT
/* How long a program takes: the timing section of Documentation/hardware/ccp.rst. */
#include <string.h>

#include "ccp.h"

#define DMA_SETUP	16

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void lcp_clock_boot(struct lcp_clock *c, const struct lcp_hw *hw, uint32_t insns)
{
	memset(c, 0, sizeof(*c));
	c->t = c->d = DMA_SETUP + (uint64_t)lw_div_up(insns, LINE_FLOATS);
	c->wbank_lines = hw->wbank / LINE_FLOATS;
}

int64_t lcp_conv_body(const struct lcp_hw *hw, int64_t ci, int64_t co, int64_t vec, int64_t kh,
		      int64_t kw, int64_t sy, int64_t sx)
{
	int64_t rows = (vec - 1) * sy + kh;
	int64_t columns = (CNNACC_CCP_LANES - 1) * sx + kw;
	int64_t passes = lw_div_up(co, CNNACC_CCP_BEATS * hw->groups);

	return ci * (rows * lw_div_up(columns, 16) + 2 + passes * (kh * (4 * kw + 1) + 4));
}

static uint32_t bits(uint32_t word, unsigned int shift, unsigned int count)
{
	return word >> shift & ((1u << count) - 1);
}

static uint32_t or_default(uint32_t value, uint32_t def)
{
	return value ? value : def;
}

/* T, and the banks it reads as a mask of weight banks. */
static uint64_t conv_time(const struct lcp_clock *c, unsigned int *banks)
{
	const uint32_t *r = c->conv0;
	uint32_t kh = bits(r[0], 16, 8), kw = or_default(bits(r[0], 28, 4), kh);
	uint32_t sy = bits(r[0], 8, 8), sx = or_default(bits(r[0], 24, 4), sy);
	uint32_t ci_num = bits(r[2], 0, 16), ci_start = bits(r[3], 0, 16), ci_end = r[3] >> 16;
	uint32_t vec = bits(r[5], 0, 5), co_start = r[5] >> 16;
	struct lcp_hw hw = { .groups = bits(r[5], 8, 2) + 1 };
	uint32_t co = or_default(bits(r[6], 0, 16), (r[2] >> 16) - co_start);
	bool last = ci_end + 1 == ci_num;
	uint64_t t = 6 + (uint64_t)lcp_conv_body(&hw, ci_end - ci_start + 1, co, vec, kh, kw, sy, sx);

	if (last && (r[0] & CNNACC_CCP_R0_BIAS))
		t += 4 * (uint64_t)lw_div_up(co, CNNACC_CCP_BEATS * hw.groups);
	if (last)
		t += (uint64_t)vec * co;
	*banks = 0;
	for (uint32_t i = 0; i < co && i < CNNACC_CCP_WEIGHT_BANKS; i++)
		*banks |= 1u << (co_start + i) % CNNACC_CCP_WEIGHT_BANKS;
	return t;
}

static uint32_t pool_size(uint32_t in, uint32_t pad, uint32_t kernel, uint32_t stride)
{
	return (uint32_t)lw_div_up((int64_t)in + pad - kernel, stride) + 1;
}

static uint64_t pool_time(const struct lcp_clock *c)
{
	const uint32_t *r = c->pool;
	uint32_t kh = bits(r[0], 16, 8), kw = or_default(bits(r[0], 28, 4), kh);
	uint32_t sy = bits(r[0], 8, 8), sx = or_default(bits(r[0], 24, 4), sy);
	uint32_t iw = bits(r[1], 0, 16), ih = or_default(r[1] >> 16, iw);
	uint32_t oh = or_default(r[5] >> 16,
				 pool_size(ih, bits(r[2], 16, 4) + bits(r[2], 20, 4), kh, sy));
	uint32_t ow = or_default(bits(r[5], 0, 16),
				 pool_size(iw, bits(r[2], 24, 4) + bits(r[2], 28, 4), kw, sx));

	return (uint64_t)bits(r[2], 0, 16) * oh * ow + 5;
}

static uint64_t pad_time(const struct lcp_clock *c)
{
	const uint32_t *r = c->pad;
	uint64_t iw = bits(r[1], 0, 16), ih = or_default(r[1] >> 16, (uint32_t)iw);

	return (bits(r[2], 0, 16) * (ih + 2 * r[0]) * (iw + 2 * r[0]) + 15) / 16;
}

/* Weight banks that floats first..first+count-1 of the linear view touch. */
static unsigned int linear_banks(const struct lcp_clock *c, uint64_t first, uint64_t count)
{
	uint64_t bank = (uint64_t)c->wbank_lines * LINE_FLOATS;
	unsigned int mask = 0;

	for (uint64_t b = first / bank; b <= (first + count - 1) / bank && b < 4; b++)
		mask |= 1u << b;
	return mask;
}

static uint64_t fc_time(const struct lcp_clock *c, unsigned int *banks)
{
	const uint32_t *r = c->fc;
	uint64_t in16 = ((uint64_t)r[1] + 15) / 16, out = r[2];
	bool bias = r[0] & CNNACC_CCP_R0_BIAS;

	*banks = linear_banks(c, r[5], out * in16 * 16);
	if (bias)
		*banks |= linear_banks(c, r[6], out);
	return 4 * ((out + 3) / 4) * (in16 + bias) + 10;
}

static void run_unit(struct lcp_clock *c, unsigned int unit)
{
	unsigned int weights = 0, in = c->sel, out = !c->sel;
	uint64_t start = max64(max64(c->t, c->written[in]), max64(c->written[out], c->read[out]));
	uint64_t t;

	if (unit == CNNACC_CCP_CONV)
		t = conv_time(c, &weights);
	else if (unit == CNNACC_CCP_POOL)
		t = pool_time(c);
	else if (unit == CNNACC_CCP_PAD)
		t = pad_time(c);
	else
		t = fc_time(c, &weights);
	for (int b = 0; b < CNNACC_CCP_WEIGHT_BANKS; b++)
		if (weights & 1u << b)
			start = max64(start, c->written[2 + b]);
	c->t = start + t;
	c->written[out] = c->t;
	c->read[in] = max64(c->read[in], c->t);
	for (int b = 0; b < CNNACC_CCP_WEIGHT_BANKS; b++)
		if (weights & 1u << b)
			c->read[2 + b] = max64(c->read[2 + b], c->t);
	if (unit == CNNACC_CCP_CONV)
		c->mac_slots += 512 * t;
	else if (unit == CNNACC_CCP_FC)
		c->mac_slots += 16 * t;
}

static void run_dma(struct lcp_clock *c, uint32_t insn, bool load)
{
	uint64_t lines = c->reg[bits(insn, CNNACC_CCP_RL_SHIFT, 3)];
	unsigned int tgt = bits(insn, CNNACC_CCP_TGT_SHIFT, 3);
	unsigned int bank = tgt >= CNNACC_CCP_TGT_WEIGHT0 ? 2 + (tgt & 3) : tgt ^ c->sel;

	c->t++;
	if (!lines)
		return;
	c->d = max64(max64(c->t, c->d), c->written[bank]);
	if (load)
		c->d = max64(c->d, c->read[bank]);
	c->d += DMA_SETUP + lines;
	if (load)
		c->written[bank] = c->d;
	else
		c->read[bank] = c->d;
}

static void run_cfg(struct lcp_clock *c, uint32_t insn)
{
	uint32_t *const group[4] = { c->conv0, c->pool, c->pad, c->fc };
	unsigned int unit = bits(insn, CNNACC_CCP_UNIT_SHIFT, 2);
	uint32_t *to = bits(insn, CNNACC_CCP_GROUP_SHIFT, 2) ? c->conv1 : group[unit];

	memcpy(to, c->reg, sizeof(c->reg));
	c->t += 8;
}

void lcp_clock_run(struct lcp_clock *c, const uint32_t *words, uint32_t from, uint32_t to)
{
	for (uint32_t pc = from; pc < to; pc++) {
		uint32_t insn = words[pc], rd = bits(insn, CNNACC_CCP_RD_SHIFT, 3);
		enum cnnacc_ccp_op op = insn >> CNNACC_CCP_OP_SHIFT;

		c->steps++;
		if (op == CNNACC_CCP_LOAD || op == CNNACC_CCP_STORE) {
			run_dma(c, insn, op == CNNACC_CCP_LOAD);
		} else if (op == CNNACC_CCP_CFG) {
			run_cfg(c, insn);
		} else if (op == CNNACC_CCP_EXEC_UNIT) {
			run_unit(c, bits(insn, CNNACC_CCP_UNIT_SHIFT, 2));
		} else {
			c->t++;
			if (op == CNNACC_CCP_LDI)
				c->reg[rd] = insn & 0xffff;
			else if (op == CNNACC_CCP_LDIH)
				c->reg[rd] = insn << 16 | (c->reg[rd] & 0xffff);
			else if (op == CNNACC_CCP_ADDI)
				c->reg[rd] = c->reg[bits(insn, CNNACC_CCP_RS_SHIFT, 3)] +
					     (uint32_t)(int16_t)insn;
			else if (op == CNNACC_CCP_SWAP)
				c->sel ^= 1;
			else if (op == CNNACC_CCP_BNZ && c->reg[rd]) {
				c->t++;
				pc = (insn & CNNACC_CCP_TARGET_MASK) - 1;
			}
		}
	}
}
