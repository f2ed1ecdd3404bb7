/* SPDX-License-Identifier: MIT */
/* A device and the golden models that it is compared with. */
#ifndef GOLDEN_BENCH_H
#define GOLDEN_BENCH_H

#include "host.h"
#include "job.h"

#define BENCH_RUNS	2

/**
 * struct bench_kind - a kind of core.
 * @create: a golden model with the build parameters of @entry; fills in *@core; NULL if the
 *	golden model does not support that entry
 * @compare_window: true if the registers at @window differ from the model's
 * @codes: tables of its status codes
 */
struct bench_kind {
	void *(*create)(const struct cnnacc_core_entry *entry, struct golden_core *core);
	void (*destroy)(void *model);
	bool (*compare_window)(struct host *host, uint32_t window, void *model);
	struct {
		const struct cnnacc_code_info *list;
		size_t count;
	} codes[2];
};

struct bench {
	const struct bench_kind *kind;
	struct host host;
	struct image image;	/* the golden models' RAM */
	void *model[CNNACC_MAX_CORES];
	struct golden_shell shell[CNNACC_MAX_CORES];
	struct cnnacc_stats total[CNNACC_MAX_CORES];
	uint32_t events[CNNACC_MAX_CORES];	/* raised since the last core reset */
};

/** struct bench_run - a job for one core, built in the bench's image, and its result. */
struct bench_run {
	unsigned int core;
	bool retire;	/* retire the context id before the job */
	struct job *job;
	struct golden_result golden;
};

void bench_open(struct bench *bench, const struct bench_kind *kind, const char *cores,
		const char *simd);
void bench_close(struct bench *bench);
/*
 * Run each job on the device and on the golden model; two jobs run at the same time, each on
 * its own core.  Print a difference and return false.
 */
bool bench_run(struct bench *bench, struct bench_run *runs, unsigned int count, bool all_memory);
bool bench_reset_core(struct bench *bench, unsigned int core);
/* True if the statistics registers of a core differ from the sum of its jobs. */
bool bench_compare_totals(struct bench *bench, unsigned int core);
/* Return true, and print both, if they differ. */
bool bench_differ(const char *what, uint64_t model, uint64_t golden);

#endif /* GOLDEN_BENCH_H */
