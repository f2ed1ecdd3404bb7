/* SPDX-License-Identifier: MIT */
/*
 * A device's saved state (cm_device_save()): a job of any core, saved in the middle of it, goes on
 * in a new device; states that were altered, with the right checksum, are refused or do no harm.
 */
#ifndef SAVED_STATE_H
#define SAVED_STATE_H

#include "core_jobs.h"

#define SAVED_SUMMED	24	/* first byte that the checksum covers */
/* Offset of core 0's state, behind registers, queue and job. */
#define SAVED_CORE \
	(SAVED_SUMMED + 8 + CNNACC_MAX_CORES * CNNACC_CORE_ENTRY_SIZE + 48 + 248 + 296)

/** struct saved_job - a job that is saved in the middle, and the results that are compared. */
struct saved_job {
	struct core_jobs f;
	const char *cores;		/* the device, as in cm_config_set() */
	struct cnnacc_packet packet;
	uint8_t *out;			/* memory that the job writes, zero at its start */
	size_t out_bytes;
	uint32_t regs;			/* registers of the core's window, from its first on */
	unsigned int stride;		/* steps from a save to the next */
	unsigned int steps;		/* that the job takes at least */
	char *state;
	size_t state_bytes;
};

/* Allocates @state.  The caller has set the members before it. */
void sj_start(struct saved_job *j);
int sj_teardown(void **state);

/* Starts the job and does some steps of it; false if it has ended. */
bool sj_run(struct saved_job *j, unsigned int steps);
void sj_save(struct saved_job *j);
/* Starts the job, does some steps of it and saves the state. */
void sj_save_after(struct saved_job *j, unsigned int steps);
/* Loads the state into the device; -1, with a message, if it is refused. */
int sj_load(struct saved_job *j);
/* Saves the state and loads it into a new device. */
void sj_move(struct saved_job *j);
/* Runs the job to its end, which has to be a good one, and returns a checksum of all it left. */
uint32_t sj_finish(struct saved_job *j);

/* The state, altered by the caller, is refused with a message that has @says. */
void sj_refused(struct saved_job *j, const char *says);
/*
 * Alters the state in @count ways, at up to three places of those that @place returns as offsets,
 * multiples of 4: each is refused, or runs without harm.  Returns how many were not refused;
 * leaves a new device.
 */
unsigned int sj_forge(struct saved_job *j, unsigned int count, size_t (*place)(uint64_t *seed),
		      uint64_t *seed);
/* Alters 4000 states in all: those after @steps[0] to @steps[@count - 1] steps, equally often. */
unsigned int sj_forge_after(struct saved_job *j, const unsigned int *steps, size_t count,
			    size_t (*place)(uint64_t *seed));

/* Tests whose state is a struct saved_job. */
void test_save_everywhere(void **state);
void test_budgets(void **state);

#endif
