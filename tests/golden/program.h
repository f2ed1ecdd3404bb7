/* SPDX-License-Identifier: MIT */
/* A program as 32-bit words. */
#ifndef GOLDEN_PROGRAM_H
#define GOLDEN_PROGRAM_H

#include <stdio.h>

#include "cnnacc_hw.h"

#define PROGRAM_WORDS	16384	/* the largest program memory of a default build */

struct program {
	__u32 word[PROGRAM_WORDS];
	unsigned int length;
};

/* Append a word; ends the process if the program would fit no program memory. */
void program_emit(struct program *program, __u32 word);
/* Words in little-endian bytes, as the device reads them. */
void program_bytes(const struct program *program, void *bytes);

#endif /* GOLDEN_PROGRAM_H */
