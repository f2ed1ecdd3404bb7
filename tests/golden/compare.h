/* SPDX-License-Identifier: MIT */
/*
 * A core of the device model against its golden model: the same jobs through both, all
 * memory, completions, statistics and visible registers compared bit for bit.
 */
#ifndef GOLDEN_COMPARE_H
#define GOLDEN_COMPARE_H

#include "bench.h"

/** struct compare_vectors - jobs with known results; @fits: does it run on that core? */
struct compare_vectors {
	unsigned int (*count)(void);
	const char *(*name)(unsigned int index);
	bool (*fits)(unsigned int index, const struct cnnacc_core_entry *entry);
	void (*build)(unsigned int index, struct job *job);
	bool (*check)(unsigned int index, struct job *job);
};

/**
 * struct compare - what the comparison needs to know of a core.
 * @devices: cores of each device
 * @legal_jobs: number of legal jobs after which coverage must be complete
 * @kinds: names of the kinds of job
 * @limit: the kind that gets a cycle limit below what it takes
 * @kind_of: kind of the job with that index
 * @device_of: index of the device that runs a job
 * @legal: must jobs of that kind succeed?
 * @together: may two jobs of that kind run at the same time?
 * @generate: fill *@job, whose image is *@image, for a core; depends on @seed alone
 * @print_code: disassemble a program
 * @access: enum coverage_access of the access that has failed a job
 * @coverage: print the coverage; return how many expected counts are zero
 */
struct compare {
	const struct bench_kind *kind;
	const char *const *devices;
	unsigned int device_count;
	uint64_t legal_jobs;
	const char *const *kinds;
	unsigned int limit;
	unsigned int (*kind_of)(uint64_t index);
	unsigned int (*device_of)(uint64_t random, unsigned int kind);
	bool (*legal)(unsigned int kind);
	bool (*together)(unsigned int kind);
	void (*generate)(unsigned int kind, uint64_t seed, const struct host_queue *queue,
			 struct job *job, struct image *image);
	job_print_code *print_code;
	struct compare_vectors vectors;
	unsigned int (*access)(const struct golden_status *status, void *model);
	unsigned int (*coverage)(const struct bench *benches, unsigned int count);
};

/* The core that this program compares; its folder defines it. */
extern const struct compare compare_core;

#endif /* GOLDEN_COMPARE_H */
