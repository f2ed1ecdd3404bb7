/* SPDX-License-Identifier: MIT */
/* Runs of one program at a time, and what each core had to do for them. */
#ifndef SPREAD_H
#define SPREAD_H

#include <stdint.h>

#include <cnnrt.h>

#define SPREAD_CORES	8

/* By core index. */
struct spread {
	uint64_t cycles[SPREAD_CORES], jobs[SPREAD_CORES];
};

/*
 * Runs a program in so many threads at once, each with a context and a job of its own, and adds what
 * the cores did for them, by the jobs' profiles.  0, or -1 with a message on stderr.
 */
int spread_run(struct cnnrt_device *dev, const struct cnnrt_program *program, int threads,
	       struct spread *sum);
/* The cycles of the busiest core: when the last job ends, if all begin at once. */
uint64_t spread_end(const struct spread *sum);
/* How many cores did anything. */
int spread_used(const struct spread *sum);

#endif
