// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdlib.h>
#include <time.h>

#include "bench_layer.h"

void bench_must(bool good, const char *text)
{
	if (!good)
		errx(1, "%s", text);
}

struct cnnrt_device *bench_open(const char *name)
{
	struct cnnrt_device *dev;
	struct cnnrt_error error;

	bench_must(!cnnrt_device_open(name, 0, &dev, &error), error.text);
	return dev;
}

uint8_t *bench_random_bytes(size_t size)
{
	uint8_t *bytes = malloc(size);
	uint32_t state = 1;

	bench_must(bytes, "no memory");
	for (size_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(state >> 24);
	}
	return bytes;
}

double bench_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

struct cnnacc_stats bench_exec(struct cnnrt_device *dev, struct cnnrt_range *ranges,
			       unsigned int count)
{
	struct cnnrt_exec e = {
		.struct_size = sizeof(e),
		.program_va = ranges[0].va, .program_size = ranges[0].size, .timeout_ns = -1,
		.ranges = ranges, .range_count = count, .range_size = sizeof(struct cnnrt_range),
	};
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnacc_stats stats;
	struct cnnrt_error error;

	bench_must(!cnnrt_exec(dev, &e, &status, &stats, &error), error.text);
	bench_must(status.state == CNNRT_JOB_DONE, status.text);
	return stats;
}
