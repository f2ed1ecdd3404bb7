/* SPDX-License-Identifier: MIT */
/* What a comparison has seen. */
#ifndef GOLDEN_COVERAGE_H
#define GOLDEN_COVERAGE_H

#include "bench.h"
#include "gen.h"

/* Count a job's kind and end; @together: it ran beside another. */
void coverage_count(enum gen_kind kind, const struct golden_result *result, bool together);
uint64_t coverage_macs(const struct bench *benches, unsigned int count);
/* Print it all; how many things that the documents name were never seen. */
unsigned int coverage_report(const struct bench *benches, unsigned int count);

#endif /* GOLDEN_COVERAGE_H */
