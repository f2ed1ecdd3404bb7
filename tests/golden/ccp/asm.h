/* SPDX-License-Identifier: MIT */
/* Assembler and disassembler of ccp's instructions. */
#ifndef GOLDEN_CCP_ASM_H
#define GOLDEN_CCP_ASM_H

#include "cnnacc_ccp.h"
#include "../program.h"

/* Rn = value in one or two instructions. */
void asm_set(struct program *program, unsigned int reg, __u32 value);
/* R0..R7 = values. */
void asm_set_all(struct program *program, const __u32 values[CNNACC_CCP_GPRS]);
/* Move lines; uses R0..R2. */
void asm_dma(struct program *program, int load, __u64 va, __u32 lines, __u32 local_line,
	     unsigned int target);
void disassemble(__u32 insn, char text[64]);
/* @base: instruction index of the first word. */
void asm_print(FILE *out, const struct program *program, unsigned int base);

#endif /* GOLDEN_CCP_ASM_H */
