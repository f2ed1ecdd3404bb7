/* SPDX-License-Identifier: MIT */
/* Coverage of a comparison. */
#ifndef GOLDEN_COVERAGE_H
#define GOLDEN_COVERAGE_H

#include "bench.h"

#define COVERAGE_KINDS		16
#define COVERAGE_ACCESSES	12

/** enum coverage_access - sources of accesses; those of the core start at COVERAGE_CORE. */
enum coverage_access { COVERAGE_FETCH, COVERAGE_STATS, COVERAGE_CORE };

/**
 * struct coverage_scope - what a comparison must cover for any core.
 * @kinds: number of kinds of job
 * @classes: a bit for each enum cnnacc_status_class that must occur
 * @accesses: the core's accesses; @levels: faults that must occur: bit 0 beyond 4 GiB, 1..3 DIR,
 *	PAGE and PERM, 4..6 a bus error at the directory, the page table and the data
 */
struct coverage_scope {
	unsigned int kinds;
	uint64_t classes;
	struct coverage_faults {
		const char *name;
		uint64_t levels;
	} accesses[COVERAGE_ACCESSES - COVERAGE_CORE + 1];
};

/* Count a job; @access: the core's access that failed, if any; @together: two jobs ran at once. */
void coverage_count(unsigned int kind, const struct golden_result *result, unsigned int access,
		    bool together);
/* Add up structures of 64-bit counters. */
void coverage_add(void *sum, const void *one, size_t bytes);
uint64_t coverage_macs(const struct bench *benches, unsigned int count);
/* Print counts; return how many of those in the bits of @expected are zero. */
unsigned int coverage_line(const char *name, const uint64_t *counts, unsigned int length,
			   uint64_t expected);
/* Print the coverage common to all cores; return how many expected counts are zero. */
unsigned int coverage_common(const struct bench *benches, unsigned int count,
			     const struct coverage_scope *scope);

#endif /* GOLDEN_COVERAGE_H */
