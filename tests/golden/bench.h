/* SPDX-License-Identifier: MIT */
/* A device and the golden models that it is compared with. */
#ifndef GOLDEN_BENCH_H
#define GOLDEN_BENCH_H

#include "host.h"
#include "job.h"

#define BENCH_RUNS	2

struct bench {
	struct host host;
	struct image image;	/* the golden models' RAM */
	struct golden_ccp *ccp[CNNACC_MAX_CORES];
	struct golden_shell shell[CNNACC_MAX_CORES];
	struct cnnacc_stats total[CNNACC_MAX_CORES];
};

/** struct bench_run - a job for one core, built in the bench's image, and its result. */
struct bench_run {
	unsigned int core;
	bool retire;	/* the context id begins anew */
	struct job *job;
	struct golden_result golden;
};

void bench_open(struct bench *bench, const char *cores, const char *simd);
void bench_close(struct bench *bench);
/*
 * Run jobs on cores of their own, together if there are two, on the device and
 * on the golden model.  False after a difference, which has been printed.
 */
bool bench_run(struct bench *bench, struct bench_run *runs, unsigned int count, bool all_memory);
bool bench_reset_core(struct bench *bench, unsigned int core);
/* True if the statistics registers of a core differ from the sum of its jobs. */
bool bench_compare_totals(struct bench *bench, unsigned int core);

#endif /* GOLDEN_BENCH_H */
