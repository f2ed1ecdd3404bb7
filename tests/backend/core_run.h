/* SPDX-License-Identifier: MIT */
/* Networks on a core and on the CPU: the same bytes, and what the compiler said of the core. */
#ifndef CORE_RUN_H
#define CORE_RUN_H

#include <stdbool.h>

#include "cnnrt.h"

struct bench {
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	const char *core;	/* runs what it can; NULL: the compiler chooses the cores */
	bool fp16;		/* CNNRT_PRECISION_FP16 */
	uint32_t refused;	/* how many layers may be too large for it */
	struct cnnrt_error err;
};

struct answer {
	uint8_t *data;
	size_t bytes;
	uint64_t cycles, macs, slots;	/* that the device counted */
	uint64_t useful, all_slots;	/* what the compiler expected it to count */
	uint64_t peak;			/* mac_peak of all operators */
	uint32_t shifted, sums;		/* products that the core requantises, and QLinearSums */
	uint32_t moved, converted;	/* ConvertLayouts on the CPU, and on the core */
	uint32_t cpu_steps, submissions;	/* of a run */
	char reason[200];		/* why the first operator on the CPU is there */
	struct cnnrt_estimate estimate;
};

/* Next number of the random sequence, whose state is random_state. */
extern uint32_t random_state;
int64_t pick(int64_t least, int64_t most);

/* Print a TAP result; wrong: why it fails, or NULL. end_checks() returns the exit status. */
void check(const char *name, const char *wrong);
int end_checks(void);
/* Add the options that repeat a failure to its text; NULL stays NULL. */
const char *with_seed(const char *wrong, uint32_t seed);
/* "--seed N" and "--count N". */
void read_options(int argc, char **argv, uint32_t *seed, uint32_t *count);

/* Return 0, or an error whose text is in t. */
int bench_open(struct bench *t, const char *name);
void bench_close(struct bench *t);
int compile(struct bench *t, const void *file, size_t len, bool cpu, struct cnnrt_program **p);
/*
 * Runs an ONNX file both ways, its only input bytes that follow from seed; save: the program by way
 * of a file. NULL, or what is wrong. Fills got but for its data.
 */
const char *run_both(struct bench *t, const void *file, size_t len, bool save, uint32_t seed,
		     struct answer *got);

/*
 * Runs an ONNX file and compares each operator's results with the CPU's or with their bounds, and
 * the cycles with the compiler's. NULL, or what is wrong. got: as of run_both.
 */
const char *run_compared(struct bench *t, const void *file, size_t len, uint32_t seed,
			 struct answer *got);

#endif
