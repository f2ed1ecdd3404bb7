// SPDX-License-Identifier: MIT
#include "insn.h"

_Static_assert(CNNACC_HWPE_PROGRAM_DEFAULT <= 4 * PROGRAM_WORDS,
	       "a struct program holds a default build's program");

__u32 insn_encode(unsigned int funct, unsigned int rd, unsigned int rs1, unsigned int rs2)
{
	__u32 flags = CNNACC_HWPE_XS1;

	if (funct <= CNNACC_HWPE_MATRIX_MAC)
		flags |= CNNACC_HWPE_XS2;
	else if (funct == CNNACC_HWPE_READ_ACC)
		flags = CNNACC_HWPE_XD;
	else if (funct == CNNACC_HWPE_RESET)
		flags = 0;
	return CNNACC_HWPE_INSN(funct, flags, rd, rs1, rs2);
}

static const char *insn_name(__u32 insn)
{
	switch (insn >> 25) {
	case CNNACC_HWPE_WRITE_FMAP_ADDR:
		return "WriteFmapAddr";
	case CNNACC_HWPE_WRITE_CFG:
		return "WriteCfg";
	case CNNACC_HWPE_MATRIX_MAC:
		return "MatrixMac";
	case CNNACC_HWPE_WRITE_ACC:
		return "WriteAcc";
	case CNNACC_HWPE_READ_ACC:
		return "ReadAcc";
	case CNNACC_HWPE_RELU_WRITE:
		return "ReLUWrite";
	case CNNACC_HWPE_RESET:
		return "Reset";
	default:
		return "illegal";
	}
}

static void print_insn(FILE *out, __u32 insn)
{
	fprintf(out, " %s rd %u rs1 %u rs2 %u", insn_name(insn), insn >> 7 & 31, insn >> 15 & 31,
		insn >> 20 & 31);
}

void insn_print(FILE *out, const struct program *program, unsigned int base)
{
	stream_print(out, program, base, print_insn);
}
