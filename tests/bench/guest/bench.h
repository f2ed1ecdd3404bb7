/* SPDX-License-Identifier: MIT */
/* What the measuring programs of the guest share: a clock, no-op jobs, reads of a disk. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

#include "kmd.h"

/* Runs step() for at least @seconds; the mean time of one call in ns. */
double bench_time(double seconds, void (*step)(void *), void *opaque);

/* Prints a figure as tests/bench/run reads it. */
void bench_figure(const char *id, double value);

/* ---- jobs ------------------------------------------------------------------------------ */

/* A context that runs programs of one NOP; every job signals the next point of a timeline. */
struct jobs {
	struct kmd_env env;
	uint32_t length;	/* bytes of the program */
	uint32_t binary, timeline;	/* syncobjs */
	uint64_t submitted, done;
};

void jobs_open(struct jobs *j, int fd);
void jobs_close(struct jobs *j);
/* One SUBMIT of @count jobs, of which each has @bo_count shared buffers. */
void jobs_submit(struct jobs *j, uint32_t count, struct drm_cnnacc_bo_ref *bos,
		 uint32_t bo_count);
/* A SUBMIT of one job that signals a binary syncobj instead. */
void jobs_submit_one(struct jobs *j, uint32_t syncobj);
/* Waits until at least one more job is done, and sees how many are. */
void jobs_reap(struct jobs *j);
void jobs_wait_all(struct jobs *j);
/* step() of bench_time(), of a struct jobs: submits one job and waits for it. */
void jobs_round_trip(void *jobs);
/* Runs @total jobs with @depth in flight all the time; jobs per second. */
double jobs_rate(struct jobs *j, uint32_t depth, uint64_t total);

/* ---- reads ----------------------------------------------------------------------------- */

/* A disk that is read in blocks of 4 KiB, past the page cache. */
struct reads {
	int fd;
	uint64_t size, at;
	void *buf;
};

void reads_open(struct reads *r, const char *path);
/* step() of bench_time(), of a struct reads: a pread. */
void reads_round_trip(void *reads);
/* Reads @total blocks by io_uring with @depth in flight all the time; reads per second. */
double reads_rate(struct reads *r, uint32_t depth, uint64_t total);

#endif
