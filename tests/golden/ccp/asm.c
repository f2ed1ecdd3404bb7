// SPDX-License-Identifier: MIT
#include "asm.h"

#include <stdint.h>

void asm_set(struct program *program, unsigned int reg, __u32 value)
{
	program_emit(program, CNNACC_CCP_INSN_LDI(reg, value));
	if (value > 0xffff)
		program_emit(program, CNNACC_CCP_INSN_LDIH(reg, value >> 16));
}

void asm_set_all(struct program *program, const __u32 values[CNNACC_CCP_GPRS])
{
	for (unsigned int reg = 0; reg < CNNACC_CCP_GPRS; reg++)
		asm_set(program, reg, values[reg]);
}

void asm_dma(struct program *program, int load, __u64 va, __u32 lines, __u32 local_line,
	     unsigned int target)
{
	asm_set(program, 0, va / CNNACC_LINE_SIZE);
	asm_set(program, 1, lines);
	asm_set(program, 2, local_line);
	program_emit(program, load ? CNNACC_CCP_INSN_LOAD(0, 1, 2, target) :
				     CNNACC_CCP_INSN_STORE(0, 1, 2, target));
}

static unsigned int field(__u32 insn, unsigned int shift, unsigned int width)
{
	return (insn >> shift) & ((1u << width) - 1);
}

static const char *const unit_name[] = { "conv", "pool", "pad", "fc" };
static const char *const target_name[] = {
	"read", "write", "icache", "reserved", "weight0", "weight1", "weight2", "weight3",
};

void disassemble(__u32 insn, char text[64])
{
	unsigned int a = field(insn, 25, 3), b = field(insn, 22, 3), c = field(insn, 19, 3);
	unsigned int imm = field(insn, 0, 16), unit = field(insn, 26, 2);
	const char *target = target_name[field(insn, 16, 3)];

	switch (insn >> 28) {
	case CNNACC_CCP_NOP:
		snprintf(text, 64, "nop");
		break;
	case CNNACC_CCP_LDI:
		snprintf(text, 64, "ldi r%u, 0x%x", a, imm);
		break;
	case CNNACC_CCP_LDIH:
		snprintf(text, 64, "ldih r%u, 0x%x", a, imm);
		break;
	case CNNACC_CCP_ADDI:
		snprintf(text, 64, "addi r%u, r%u, %d", a, b, (int16_t)imm);
		break;
	case CNNACC_CCP_LOAD:
		snprintf(text, 64, "load %s[r%u], [r%u], r%u", target, c, a, b);
		break;
	case CNNACC_CCP_STORE:
		snprintf(text, 64, "store [r%u], %s[r%u], r%u", a, target, c, b);
		break;
	case CNNACC_CCP_CFG:
		snprintf(text, 64, "cfg %s, %u", unit_name[unit], field(insn, 24, 2));
		break;
	case CNNACC_CCP_EXEC_UNIT:
		snprintf(text, 64, "exec %s", unit_name[unit]);
		break;
	case CNNACC_CCP_SWAP:
		snprintf(text, 64, "swap");
		break;
	case CNNACC_CCP_BNZ:
		snprintf(text, 64, "bnz r%u, %u", a, insn & CNNACC_CCP_TARGET_MASK);
		break;
	default:
		snprintf(text, 64, "illegal");
		break;
	}
}

void asm_print(FILE *out, const struct program *program, unsigned int base)
{
	char text[64];

	for (unsigned int i = 0; i < program->length; i++) {
		disassemble(program->word[i], text);
		fprintf(out, "%5u: %08x  %s\n", base + i, program->word[i], text);
	}
}
