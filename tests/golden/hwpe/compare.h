/* SPDX-License-Identifier: MIT */
/* The parts of hwpe's struct compare. */
#ifndef GOLDEN_HWPE_COMPARE_H
#define GOLDEN_HWPE_COMPARE_H

#include "../compare.h"

extern const struct bench_kind hwpe_bench;

/* See struct compare. */
unsigned int hwpe_coverage(const struct bench *benches, unsigned int count);
unsigned int hwpe_coverage_access(const struct golden_status *status, void *model);

#endif /* GOLDEN_HWPE_COMPARE_H */
