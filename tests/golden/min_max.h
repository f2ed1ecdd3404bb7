/* SPDX-License-Identifier: MIT */
#ifndef GOLDEN_MIN_MAX_H
#define GOLDEN_MIN_MAX_H

#include <stdint.h>

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif /* GOLDEN_MIN_MAX_H */
