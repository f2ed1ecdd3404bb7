/* SPDX-License-Identifier: MIT */
/*
 * A clocked model of enpu without formulas: a loader that brings one word of 16 channels a clock
 * into one of two sub-images, a weight port of one word a clock, and PEs that walk the loop nest
 * of the page, a product a clock each, and wait for what has not arrived.
 */
#ifndef GOLDEN_ENPU_MICRO_H
#define GOLDEN_ENPU_MICRO_H

#include "../state.h"

/** struct micro_count - clocks of a program, and what was busy in them. */
struct micro_count {
	uint64_t clocks;
	uint64_t computing, waiting;	/* PEs in the first stage */
	uint64_t later;			/* PEs in later stages */
	uint64_t loaded, stored;	/* clocks of the ports */
	uint64_t weights;
};

/* Step through @insns instructions and STOP. */
void micro_run(const struct enpu_insn *insn, unsigned int insns, bool prefetch,
	       struct micro_count *count);

#endif /* GOLDEN_ENPU_MICRO_H */
