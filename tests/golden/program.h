/* SPDX-License-Identifier: MIT */
/* Words of a program; writing and reading ccp's. */
#ifndef GOLDEN_PROGRAM_H
#define GOLDEN_PROGRAM_H

#include <stdio.h>

#include "cnnacc_hw.h"
#include "cnnacc_ccp.h"
#include "cnnacc_hwpe.h"

#define PROGRAM_WORDS	(CNNACC_HWPE_PROGRAM_DEFAULT / 4)	/* the largest program memory */

struct program {
	__u32 word[PROGRAM_WORDS];
	unsigned int length;
};

/* Ends the process if the program would fit no program memory. */
void program_emit(struct program *program, __u32 insn);
/* Rn = value in one or two instructions. */
void program_set(struct program *program, unsigned int reg, __u32 value);
/* R0..R7 = values. */
void program_set_all(struct program *program, const __u32 values[CNNACC_CCP_GPRS]);
/* Move lines; uses R0..R2. */
void program_dma(struct program *program, int load, __u64 va, __u32 lines, __u32 local_line,
		 unsigned int target);
/* Words in little-endian bytes, as the device reads them. */
void program_bytes(const struct program *program, void *bytes);

void disassemble(__u32 insn, char text[64]);
/* @base: instruction index of the first word. */
void program_print(FILE *out, const struct program *program, unsigned int base);

#endif /* GOLDEN_PROGRAM_H */
