// SPDX-License-Identifier: MIT
#include <string.h>

#include "cnnacc_ccp.h"
#include "core_programs.h"

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

const struct core_programs ccp_programs = {
	.name = "ccp",
	.dma_code = CNNACC_CCP_E_DMA, .dma_pc = 3,
	.illegal_code = CNNACC_CCP_E_ILLEGAL,
	.endless_pc = 1,
	.copy_instructions = 9,
	.nop = put_nop, .copy = put_copy, .load = put_load, .store = put_store,
	.endless = put_endless, .delay = put_delay, .illegal = put_illegal,
};
