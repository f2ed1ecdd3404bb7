// SPDX-License-Identifier: MIT
/*
 * bench-jobs DISK SUFFIX: no-op jobs against 4 KiB reads of a disk, in turns; prints figures
 * whose names end with SUFFIX.
 */
#include <stdio.h>

#include "bench.h"

#define ROUNDS		5
#define SLICES		8	/* turns in a round */
#define SECONDS		0.1	/* of each in a turn */
#define DEPTH		32

static void figure(const char *name, const char *suffix, double value)
{
	char id[64];

	snprintf(id, sizeof(id), "e.%s%s", name, suffix);
	bench_figure(id, value);
}

static void round_trips(struct jobs *j, struct reads *r, const char *suffix)
{
	double read = 0, job = 0;

	for (int i = 0; i < SLICES; i++) {
		read += bench_time(SECONDS, reads_round_trip, r) / SLICES;
		job += bench_time(SECONDS, jobs_round_trip, j) / SLICES;
	}
	figure("rtt", suffix, job / read);
	figure("rtt_us", suffix, job / 1000);
	figure("rtt_nvme_us", suffix, read / 1000);
}

/* Of each as many as it does in a slice, by what it did before. */
static void rates(struct jobs *j, struct reads *r, const char *suffix)
{
	double read = reads_rate(r, DEPTH, 1000), job = jobs_rate(j, DEPTH, 1000);
	double read_time = 0, job_time = 0;

	for (int i = 0; i < SLICES; i++) {
		read = reads_rate(r, DEPTH, (uint64_t)(read * SECONDS) + DEPTH);
		job = jobs_rate(j, DEPTH, (uint64_t)(job * SECONDS) + DEPTH);
		read_time += 1 / read;
		job_time += 1 / job;
	}
	figure("rate", suffix, read_time / job_time);
	figure("jobs_per_s", suffix, SLICES / job_time);
	figure("reads_per_s", suffix, SLICES / read_time);
}

int main(int argc, char **argv)
{
	struct reads r;
	struct jobs j;

	if (argc != 3) {
		fprintf(stderr, "usage: bench-jobs DISK SUFFIX\n");
		return 2;
	}
	reads_open(&r, argv[1]);
	jobs_open(&j, kmd_open());
	bench_time(SECONDS, reads_round_trip, &r);	/* translates the code */
	bench_time(SECONDS, jobs_round_trip, &j);
	for (int i = 0; i < ROUNDS; i++) {
		round_trips(&j, &r, argv[2]);
		rates(&j, &r, argv[2]);
	}
	jobs_close(&j);
	return 0;
}
