// SPDX-License-Identifier: MIT
#include <string.h>

#include "any_value.h"
#include "cnnacc_ccp.h"
#include "core_programs.h"
#include "model_asm.h"

#define ILLEGAL		0xf0000000u	/* no such operation */

#define PUT(to, ...) \
	put(to, (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }))
/* R[r] = value */
#define SET(r, value)	CNNACC_CCP_INSN_LDI(r, value), CNNACC_CCP_INSN_LDIH(r, (value) >> 16)

static uint32_t put(uint32_t *to, const uint32_t *words, size_t size)
{
	memcpy(to, words, size);
	return (uint32_t)size;
}

static uint32_t put_nop(uint32_t *words)
{
	return PUT(words, CNNACC_CCP_INSN_NOP);
}

static uint32_t put_copy(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines)
{
	return PUT(words, SET(0, from / 64), CNNACC_CCP_INSN_LDI(1, lines),
		   CNNACC_CCP_INSN_LDI(2, 0), SET(3, to / 64),
		   CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_READ_BANK),
		   CNNACC_CCP_INSN_STORE(3, 1, 2, CNNACC_CCP_TGT_READ_BANK), CNNACC_CCP_INSN_NOP);
}

static uint32_t put_load(uint32_t *words, uint32_t line, uint32_t lines)
{
	return PUT(words, SET(0, line), CNNACC_CCP_INSN_LDI(1, lines),
		   CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_READ_BANK), CNNACC_CCP_INSN_NOP);
}

static uint32_t put_store(uint32_t *words, uint32_t line, uint32_t lines)
{
	return PUT(words, SET(0, line), CNNACC_CCP_INSN_LDI(1, lines),
		   CNNACC_CCP_INSN_STORE(0, 1, 2, CNNACC_CCP_TGT_READ_BANK), CNNACC_CCP_INSN_NOP);
}

static uint32_t put_endless(uint32_t *words)
{
	return PUT(words, CNNACC_CCP_INSN_LDI(0, 1), CNNACC_CCP_INSN_BNZ(0, 1));
}

static uint32_t put_delay(uint32_t *words, uint32_t loops)
{
	return PUT(words, SET(0, loops), CNNACC_CCP_INSN_ADDI(0, 0, 0xffff),
		   CNNACC_CCP_INSN_BNZ(0, 2), CNNACC_CCP_INSN_NOP);
}

static uint32_t put_illegal(uint32_t *words, uint32_t pc)
{
	for (uint32_t i = 0; i < pc; i++)
		words[i] = CNNACC_CCP_INSN_LDI(0, 1);
	words[pc] = ILLEGAL;
	return 4 * (pc + 1);
}

static uint32_t put_config_error(uint32_t *words)
{
	return PUT(words, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

/* A convolution 3 x 3 of 4 maps of 18 x 18 to 16 maps; its output stays in the core. */
static uint32_t put_compute(uint32_t *words, uint32_t data, uint32_t out)
{
	static const uint32_t conv0[8] = {
		3 | 1 << 8 | 3 << 16, 18 | 16 << 16, 4 | 16 << 16, 3 << 16, 0, 16 | 3 << 8,
	};
	static const uint32_t conv1[8] = { 0, 0, 0, 400 };
	struct masm a = { .n = 0 };

	(void)out;
	ma_dma(&a, 0, data, 8, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 0, data, 8, 0, CNNACC_CCP_TGT_WEIGHT0);
	ma_cfg(&a, CNNACC_CCP_CONV, 1, conv1);
	ma_cfg(&a, CNNACC_CCP_CONV, 0, conv0);
	ma_exec(&a, CNNACC_CCP_CONV);
	ma_end(&a);
	return put(words, a.word, 4 * a.n);
}

/* ---- random programs ---- */

static uint32_t (*rnd)(uint32_t below);

static uint32_t any_insn(void)
{
	switch (rnd(12)) {
	case 0: case 1: case 2:
		return CNNACC_CCP_INSN_LDI(rnd(8), rnd(3) ? rnd(70) : any_value(rnd));
	case 3:
		return CNNACC_CCP_INSN_LDIH(rnd(8), rnd(3) ? rnd(20) : any_value(rnd));
	case 4:
		return CNNACC_CCP_INSN_ADDI(rnd(8), rnd(8), rnd(2) ? 0xffff : 1);
	case 5: case 6:
		return CNNACC_CCP_INSN_LOAD(rnd(8), rnd(8), rnd(8), rnd(8));
	case 7:
		return CNNACC_CCP_INSN_STORE(rnd(8), rnd(8), rnd(8), rnd(2));
	case 8:
		return CNNACC_CCP_INSN_CFG(rnd(4), rnd(8) ? 0 : rnd(4));
	case 9:
		return CNNACC_CCP_INSN_EXEC(rnd(4));
	case 10:
		return rnd(2) ? CNNACC_CCP_INSN_SWAP : CNNACC_CCP_INSN_BNZ(rnd(8), rnd(100));
	}
	return rnd(8) ? rnd(0) & 0x9fffffff : 0;
}

/* A unit's configuration that is valid or nearly so. */
static void any_layer(struct masm *a)
{
	unsigned int unit = rnd(4), is = 1 + rnd(12), k = 1 + rnd(3), s = 1 + rnd(2);
	unsigned int os = is >= k ? (is - k) / s + 1 : 1, c = 1 + rnd(4), co = 1 + rnd(6);
	uint32_t g[8] = { 0 }, g1[8] = { 0 };

	switch (unit) {
	case CNNACC_CCP_CONV:
		g[0] = rnd(4) | s << 8 | k << 16;
		g[1] = is | os << 16;
		g[2] = c | co << 16;
		g[3] = (c - 1) << 16;
		g[4] = rnd(3) | rnd(3) << 16;
		g[5] = (1 + rnd(16)) | rnd(4) << 8;
		break;
	case CNNACC_CCP_POOL:
		g[0] = rnd(2) | s << 8 | (2 + rnd(2)) << 16;
		g[1] = is;
		g[2] = c;
		break;
	case CNNACC_CCP_PAD:
		g[0] = 1 + rnd(2);
		g[1] = is;
		g[2] = c;
		break;
	case CNNACC_CCP_FC:
		g[0] = rnd(4);
		g[1] = 1 + rnd(60);
		g[2] = 1 + rnd(8);
	}
	for (unsigned int n = rnd(4); n > 2; n--)
		g[rnd(8)] = any_value(rnd);
	if (!rnd(4))
		g1[rnd(8)] = any_value(rnd);
	if (unit == CNNACC_CCP_CONV)
		ma_cfg(a, unit, 1, g1);
	ma_cfg(a, unit, 0, g);
	ma_exec(a, unit);
}

static uint32_t put_any(uint32_t *words, uint32_t bytes, uint32_t (*number)(uint32_t below))
{
	struct masm a = { .n = 0 };

	rnd = number;
	while (a.n + 40 < bytes / 4) {
		if (rnd(3))
			any_layer(&a);
		for (unsigned int i = rnd(8); i; i--)
			ma_emit(&a, any_insn());
	}
	ma_end(&a);
	return put(words, a.word, 4 * a.n);
}

#define E_RANGE	CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_RANGE

static const struct core_text texts[] = {
	{ E_RANGE, CNNACC_CCP_RANGE_INPUT,
	  "BAD_PROGRAM (E_RANGE) at instruction 9: input outside the read bank" },
};

/* Fetched by 16 + 1; then six instructions, LOAD, and each transfer behind the other. */
#define FETCHED		17u
#define LOADED		(FETCHED + 6 + 1 + 16 + CORE_TIMED_LINES)
#define STORED		(LOADED + 16 + CORE_TIMED_LINES)

const struct core_programs ccp_programs = {
	.name = "ccp",
	.small = "ccp:data-bank=8192:weight-bank=2048:lob=4:icache=512",
	.tiny = "ccp:data-bank=4096:weight-bank=1024:lob=1:icache=256",
	.dma_code = CNNACC_CCP_E_DMA, .dma_pc = 3,
	.illegal_code = CNNACC_CCP_E_ILLEGAL, .illegal_name = "E_ILLEGAL",
	.endless_pc = 1,
	.long_loops = 60000000,
	.copy_instructions = 9,
	.copy_times = { FETCHED, LOADED, STORED, STORED },
	.nop_stats = {
		.cycles = FETCHED + 1, .dma_cycles = FETCHED, .mem_read_bytes = 64,
		.instructions = 1, .jobs = 1,
	},
	.config_text = "kernel size",
	.texts = texts, .text_count = sizeof(texts) / sizeof(texts[0]),
	.lost_column_mutant = "ccp.clip",
	.nop = put_nop, .copy = put_copy, .load = put_load, .store = put_store,
	.endless = put_endless, .delay = put_delay, .illegal = put_illegal,
	.config_error = put_config_error, .compute = put_compute, .any = put_any,
};
