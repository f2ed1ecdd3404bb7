/* SPDX-License-Identifier: MIT */
/* Core ccp in words, and programs with known answers. */
#include "backend/desc.h"

#include <stdio.h>

#include <cnnacc_ccp.h>

static const struct cnnacc_param_info params[] = CNNACC_CCP_PARAMS;
static const struct cnnacc_code_info codes[] = CNNACC_CCP_CODES;
static const struct cnnacc_detail_info details[] = CNNACC_CCP_DETAILS;
static const struct cnnacc_window_info regs[] = CNNACC_CCP_REGS;

static uint32_t field(uint32_t insn, unsigned int shift, unsigned int bits)
{
	return insn >> shift & ((1u << bits) - 1);
}

#define REG(insn, name)	field(insn, CNNACC_CCP_##name##_SHIFT, 3)

static void decode_dma(uint32_t insn, const char *name, char *buf, size_t len)
{
	static const char *const targets[] = { "read bank",	"write bank",	 "icache",
					       "reserved",	"weight bank 0", "weight bank 1",
					       "weight bank 2", "weight bank 3" };

	snprintf(buf, len, "%s memory line r%u, %s line r%u, r%u lines", name, REG(insn, RA),
		 targets[REG(insn, TGT)], REG(insn, RT), REG(insn, RL));
}

static void decode(const uint32_t *words, char *buf, size_t len)
{
	static const char *const units[] = { "conv", "pool", "pad", "fc" };
	uint32_t insn = *words, imm = insn & CNNACC_CCP_IMM_MASK;
	const char *unit = units[field(insn, CNNACC_CCP_UNIT_SHIFT, 2)];

	switch (insn >> CNNACC_CCP_OP_SHIFT) {
	case CNNACC_CCP_NOP:
		snprintf(buf, len, "NOP");
		break;
	case CNNACC_CCP_LDI:
		snprintf(buf, len, "LDI r%u, 0x%x", REG(insn, RD), imm);
		break;
	case CNNACC_CCP_LDIH:
		snprintf(buf, len, "LDIH r%u, 0x%x", REG(insn, RD), imm);
		break;
	case CNNACC_CCP_ADDI:
		snprintf(buf, len, "ADDI r%u, r%u, %d", REG(insn, RD), REG(insn, RS), (int16_t)imm);
		break;
	case CNNACC_CCP_LOAD:
		decode_dma(insn, "LOAD", buf, len);
		break;
	case CNNACC_CCP_STORE:
		decode_dma(insn, "STORE", buf, len);
		break;
	case CNNACC_CCP_CFG:
		snprintf(buf, len, "CFG %s, group %u", unit,
			 field(insn, CNNACC_CCP_GROUP_SHIFT, 2));
		break;
	case CNNACC_CCP_EXEC_UNIT:
		snprintf(buf, len, "EXEC %s", unit);
		break;
	case CNNACC_CCP_SWAP:
		snprintf(buf, len, "SWAP");
		break;
	case CNNACC_CCP_BNZ:
		snprintf(buf, len, "BNZ r%u, %u", REG(insn, RD), insn & CNNACC_CCP_TARGET_MASK);
		break;
	default:
		snprintf(buf, len, "unknown operation %u", insn >> CNNACC_CCP_OP_SHIFT);
	}
}

#define LINE_IN_R(reg, va) \
	CNNACC_CCP_INSN_LDI(reg, (va) / 64), CNNACC_CCP_INSN_LDIH(reg, ((va) / 64) >> 16)

static const uint32_t copy[] = {
	LINE_IN_R(1, CNN_TEST_IN),
	CNNACC_CCP_INSN_LDI(2, 1),
	CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
	LINE_IN_R(3, CNN_TEST_OUT),
	CNNACC_CCP_INSN_STORE(3, 2, 0, CNNACC_CCP_TGT_READ_BANK),
	CNNACC_CCP_INSN_NOP,
};

static const uint32_t swap[] = {
	LINE_IN_R(1, CNN_TEST_IN),
	CNNACC_CCP_INSN_LDI(2, 1),
	CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
	CNNACC_CCP_INSN_SWAP,
	LINE_IN_R(3, CNN_TEST_OUT),
	CNNACC_CCP_INSN_STORE(3, 2, 0, CNNACC_CCP_TGT_WRITE_BANK),
	CNNACC_CCP_INSN_NOP,
};

static const uint32_t illegal[] = { CNNACC_CCP_INSN_SWAP, 0xf0000000u };

static const uint32_t nowhere[] = {
	LINE_IN_R(1, CNN_TEST_NOWHERE),
	CNNACC_CCP_INSN_LDI(2, 1),
	CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
};

static const uint32_t endless[] = { CNNACC_CCP_INSN_LDI(1, 1), CNNACC_CCP_INSN_BNZ(1, 1) };

static const struct cnn_core_test tests[] = {
	{ .name = "copy a line through the read bank", CNN_TEST_CODE(copy),
	  .out_size = CNN_TEST_FILLED },
	{ .name = "copy a line and swap the banks", CNN_TEST_CODE(swap),
	  .out_size = CNN_TEST_FILLED },
	{ .name = "an illegal instruction is refused", CNN_TEST_CODE(illegal),
	  CNN_TEST_ENDS(BAD_PROGRAM, CCP_E_ILLEGAL), .pc = 1 },
	{ .name = "an access to nowhere faults", CNN_TEST_CODE(nowhere),
	  CNN_TEST_ENDS(MMU_FAULT, CCP_E_DMA), .pc = 3, .va = CNN_TEST_NOWHERE },
	{ .name = "an endless loop meets its cycle limit", CNN_TEST_CODE(endless),
	  CNN_TEST_ENDS(TIME_LIMIT, CODE_TIME_LIMIT), .pc = 1, .cycle_limit = 10000 },
};

static const struct cnn_core_variant variants[] = {
	{ .name = "FP32", .mac = "FP32" },
};

static size_t memories(const uint32_t *param, uint32_t program_max, struct cnn_core_memory *to)
{
	uint32_t units = CNNACC_CCP_ROWS * (param[CNNACC_CCP_PARAM_GEOMETRY] >> 16 & 0xff);

	to[0] = (struct cnn_core_memory){
		"data banks", param[CNNACC_CCP_PARAM_DATA_BANK], 2, CNN_HOLDS_DATA,
	};
	to[1] = (struct cnn_core_memory){
		"weight banks", param[CNNACC_CCP_PARAM_WEIGHT_BANK], 4, CNN_HOLDS_WEIGHTS,
	};
	to[2] = (struct cnn_core_memory){
		"output buffers", 4ull * CNNACC_CCP_LANES * param[CNNACC_CCP_PARAM_LOB], units, 0,
	};
	to[3] = (struct cnn_core_memory){ "icache", program_max, 1, CNN_HOLDS_PROGRAM };
	return 4;
}

const struct cnn_core_desc cnn_desc_ccp = {
	.name = "ccp",
	CNN_DESC_TABLE(params),
	CNN_DESC_TABLE(codes),
	CNN_DESC_TABLE(details),
	CNN_DESC_TABLE(regs),
	CNN_DESC_TABLE(tests),
	CNN_DESC_TABLE(variants),
	.memories = memories,
	.insn_words = 1,
	.decode = decode,
};
