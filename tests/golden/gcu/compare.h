/* SPDX-License-Identifier: MIT */
/* The parts of gcu's struct compare. */
#ifndef GOLDEN_GCU_COMPARE_H
#define GOLDEN_GCU_COMPARE_H

#include "../compare.h"

extern const struct bench_kind gcu_bench;

/* See struct compare. */
unsigned int gcu_coverage(const struct bench *benches, unsigned int count);
unsigned int gcu_coverage_access(const struct golden_status *status, void *model);

#endif /* GOLDEN_GCU_COMPARE_H */
