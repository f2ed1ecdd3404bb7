/* SPDX-License-Identifier: MIT */
/* What a comparison has seen. */
#ifndef GOLDEN_COVERAGE_H
#define GOLDEN_COVERAGE_H

#include "bench.h"

#define COVERAGE_KINDS		16
#define COVERAGE_ACCESSES	8

/** enum coverage_access - how an access may come about; a core's own are from CORE on. */
enum coverage_access { COVERAGE_FETCH, COVERAGE_STATS, COVERAGE_CORE };

/**
 * struct coverage_scope - what is to be seen of any core's jobs.
 * @kinds: of job
 * @classes: bit per enum cnnacc_status_class
 * @accesses: the core's own that may fail; @levels: bit 0: beyond 4 GiB, 1..3 DIR, PAGE and
 *	PERM, 4..6 the bus refuses directory, page table and data
 */
struct coverage_scope {
	unsigned int kinds;
	uint64_t classes;
	struct coverage_faults {
		const char *name;
		uint64_t levels;
	} accesses[COVERAGE_ACCESSES - COVERAGE_CORE + 1];
};

/* Count a job's kind and end; @access: the core's, if one failed; @together: beside another. */
void coverage_count(unsigned int kind, const struct golden_result *result, unsigned int access,
		    bool together);
/* Add up structures of 64-bit counters. */
void coverage_add(void *sum, const void *one, size_t bytes);
uint64_t coverage_macs(const struct bench *benches, unsigned int count);
/* Print counts; how many of those in the bits of @expected are zero. */
unsigned int coverage_line(const char *name, const uint64_t *counts, unsigned int length,
			   uint64_t expected);
/* Print what any core's jobs are about; how many things were never seen. */
unsigned int coverage_common(const struct bench *benches, unsigned int count,
			     const struct coverage_scope *scope);

/* The same with what is a core's own. */
unsigned int coverage_ccp(const struct bench *benches, unsigned int count);
unsigned int coverage_hwpe(const struct bench *benches, unsigned int count);
/* The core's access that failed. */
unsigned int coverage_ccp_access(const struct golden_status *status, void *model);
unsigned int coverage_hwpe_access(const struct golden_status *status, void *model);

#endif /* GOLDEN_COVERAGE_H */
