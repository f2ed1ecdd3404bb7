/* SPDX-License-Identifier: MIT */
/* Random programs for a sample core of given sizes, legal ones and ones with a kind of damage. */
#ifndef GOLDEN_GEN_SAMPLE_H
#define GOLDEN_GEN_SAMPLE_H

#include "sample.h"
#include "../job.h"

/** enum gen_sample_kind - what is wrong with a program. */
enum gen_sample_kind {
	GEN_SAMPLE_LEGAL,
	GEN_SAMPLE_COMMAND,	/* a word that the sequencer or the instruction refuses */
	GEN_SAMPLE_ILLEGAL,	/* an instruction with a bad field, or several */
	GEN_SAMPLE_STATE,	/* a command that the running instruction does not allow */
	GEN_SAMPLE_RANGE,	/* rows past the end of a bank */
	GEN_SAMPLE_FLIP,	/* a few bits of the program flipped */
	GEN_SAMPLE_FAULT,	/* damage to the page tables or a hole in RAM */
	GEN_SAMPLE_PACKET,	/* a bad packet field */
	GEN_SAMPLE_LIMIT,	/* legal, but the caller lowers the cycle limit */
	GEN_SAMPLE_KINDS,
};

/* Fill @job, whose image is @image; depends on @seed alone. */
void gen_sample_job(enum gen_sample_kind kind, uint64_t seed,
		    const struct golden_sample_params *params, uint64_t job_cycles_max,
		    struct job *job, struct image *image);

#endif /* GOLDEN_GEN_SAMPLE_H */
