/* SPDX-License-Identifier: MIT */
/*
 * A core of the device model against its golden model: the same jobs through both, all
 * memory, completions, statistics and visible registers compared bit for bit.
 */
#ifndef GOLDEN_COMPARE_H
#define GOLDEN_COMPARE_H

#include "bench.h"

/** struct compare_vectors - jobs with known results; @fits: is it for a core like that? */
struct compare_vectors {
	unsigned int (*count)(void);
	const char *(*name)(unsigned int index);
	bool (*fits)(unsigned int index, const struct cnnacc_core_entry *entry);
	void (*build)(unsigned int index, struct job *job);
	bool (*check)(unsigned int index, struct job *job);
};

/**
 * struct compare - what is compared.
 * @devices: cores of each device
 * @legal_jobs: in a run that has to see everything
 * @kinds: names of the kinds of job
 * @limit: the kind that gets a cycle limit somewhere inside its run
 * @kind_of: kind of the job of that index
 * @device_of: device for a job
 * @legal: is a job of that kind to end well?
 * @together: may it run beside one of the same kind?
 * @generate: fill *@job, whose image is *@image, for a core; all of it follows from @seed
 * @access, @coverage: of coverage.h
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
	struct compare_vectors vectors;
	unsigned int (*access)(const struct golden_status *status, void *model);
	unsigned int (*coverage)(const struct bench *benches, unsigned int count);
};

int compare_main(int argc, char **argv, const struct compare *compare);

#endif /* GOLDEN_COMPARE_H */
