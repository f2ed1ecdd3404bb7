/* SPDX-License-Identifier: MIT */
/* Writing and printing hwpe's instructions. */
#ifndef GOLDEN_HWPE_INSN_H
#define GOLDEN_HWPE_INSN_H

#include "cnnacc_hwpe.h"
#include "../stream.h"

/* The instruction word with the xd, xs1 and xs2 bits that @funct requires. */
__u32 insn_encode(unsigned int funct, unsigned int rd, unsigned int rs1, unsigned int rs2);
/* @base: command index of the first word. */
void insn_print(FILE *out, const struct program *program, unsigned int base);

#endif /* GOLDEN_HWPE_INSN_H */
