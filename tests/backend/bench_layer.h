/* SPDX-License-Identifier: MIT */
/* What the benchmarks of layers on a core share; an error ends the process, as it is no figure. */
#ifndef BENCH_LAYER_H
#define BENCH_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cnnacc_hw.h>
#include <cnnrt.h>

void bench_must(bool good, const char *text);
/* The device must be closed. */
struct cnnrt_device *bench_open(const char *name);
/* Any bytes, always the same; the caller frees them. */
uint8_t *bench_random_bytes(size_t size);
double bench_now_ms(void);
/* Runs the program that is ranges[0] on core 0. */
struct cnnacc_stats bench_exec(struct cnnrt_device *dev, struct cnnrt_range *ranges,
			       unsigned int count);

#endif
