/* SPDX-License-Identifier: MIT */
/* The parts of enpu's struct compare. */
#ifndef GOLDEN_ENPU_COMPARE_H
#define GOLDEN_ENPU_COMPARE_H

#include "../compare.h"
#include "enpu.h"

extern const struct bench_kind enpu_bench;

/* See struct compare. */
unsigned int enpu_coverage(const struct bench *benches, unsigned int count);
unsigned int enpu_coverage_access(const struct golden_status *status, void *model);
/* Print the coverage of one golden model; return how many expected counts are zero. */
unsigned int enpu_coverage_model(const struct golden_enpu_coverage *c,
				 const struct golden_seq_coverage *s);

#endif /* GOLDEN_ENPU_COMPARE_H */
