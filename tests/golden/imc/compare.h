/* SPDX-License-Identifier: MIT */
/* The parts of imc's struct compare. */
#ifndef GOLDEN_IMC_COMPARE_H
#define GOLDEN_IMC_COMPARE_H

#include "../compare.h"
#include "imc.h"

extern const struct bench_kind imc_bench;

/* See struct compare. */
unsigned int imc_coverage(const struct bench *benches, unsigned int count);
unsigned int imc_coverage_access(const struct golden_status *status, void *model);

#endif /* GOLDEN_IMC_COMPARE_H */
