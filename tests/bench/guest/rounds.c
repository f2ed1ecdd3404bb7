// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "bench.h"

/* Calls between two looks at the clock */
#define BATCH	16

double bench_time(double seconds, void (*step)(void *), void *opaque)
{
	double start = kmd_seconds(), now;
	uint64_t calls = 0;

	do {
		for (int i = 0; i < BATCH; i++)
			step(opaque);
		calls += BATCH;
		now = kmd_seconds();
	} while (now - start < seconds);
	return (now - start) * 1e9 / (double)calls;
}

void bench_figure(const char *id, double value)
{
	printf("%s %.6g\n", id, value);
	fflush(stdout);
}
