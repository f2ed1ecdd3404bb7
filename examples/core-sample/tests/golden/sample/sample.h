/* SPDX-License-Identifier: MIT */
/* Golden model of core sample: slow, scalar, one reading of its documentation. */
#ifndef GOLDEN_SAMPLE_H
#define GOLDEN_SAMPLE_H

#include "cnnacc_sample.h"
#include "../sequencer.h"

/** struct golden_sample_params - build parameters, from the discovery table; bytes. */
struct golden_sample_params {
	uint32_t bank;
	uint32_t program;
};

/** struct golden_sample_coverage - number of occurrences. */
struct golden_sample_coverage {
	uint64_t illegal[CNNACC_SAMPLE_BAD_BANK + 1];
	uint64_t cfg[CNNACC_SAMPLE_BAD_COUNT + 1];
	uint64_t busy[CNNACC_SAMPLE_BANKS];
	uint64_t added[CNNACC_SAMPLE_BANKS];
	uint64_t whole;			/* as many elements as there is room for */
	uint64_t saturated[2];		/* low, high */
};

/**
 * struct golden_sample - a core.
 * @running: no WAIT has seen the end of the last instruction, whose @last_bank and @elements the
 *	window shows
 */
struct golden_sample {
	struct golden_seq seq;
	struct golden_sample_params params;
	uint8_t *bank[CNNACC_SAMPLE_BANKS];
	bool running;
	uint32_t last_bank, elements;
	struct golden_sample_coverage coverage;
};

/* False if the entry is of another core type, or of a geometry that the model lacks. */
bool golden_sample_params_of(const struct cnnacc_core_entry *entry,
			     struct golden_sample_params *params);
/* NULL if there is no memory. */
struct golden_sample *golden_sample_create(const struct golden_sample_params *params);
void golden_sample_destroy(struct golden_sample *sample);
/* Fills @core for the shell; job_cycles_max stays the caller's. */
void golden_sample_core(struct golden_sample *sample, struct golden_core *core);

#endif /* GOLDEN_SAMPLE_H */
