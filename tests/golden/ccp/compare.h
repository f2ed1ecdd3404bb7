/* SPDX-License-Identifier: MIT */
/* The parts of ccp's struct compare. */
#ifndef GOLDEN_CCP_COMPARE_H
#define GOLDEN_CCP_COMPARE_H

#include "../compare.h"

extern const struct bench_kind ccp_bench;

/* See struct compare. */
unsigned int ccp_coverage(const struct bench *benches, unsigned int count);
unsigned int ccp_coverage_access(const struct golden_status *status, void *model);

#endif /* GOLDEN_CCP_COMPARE_H */
