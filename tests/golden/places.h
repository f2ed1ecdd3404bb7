/* SPDX-License-Identifier: MIT */
/* A random allocator of device addresses. */
#ifndef GOLDEN_PLACES_H
#define GOLDEN_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "prng.h"

#define PLACES		192
#define PLACES_NEAR	6

/**
 * struct places - VA ranges in use.
 * @near: regions of 4 MiB that allocations prefer; the first @spread are used
 */
struct places {
	struct prng *prng;
	unsigned int count, spread;
	struct place {
		uint64_t low, high;
	} place[PLACES];
	uint32_t near[PLACES_NEAR];
};

void places_begin(struct places *places, struct prng *prng, unsigned int spread);
/* Allocate @lines lines, line-aligned. */
uint32_t places_take(struct places *places, uint64_t lines);
/* Mark a range as used. */
void places_keep(struct places *places, uint64_t low, uint64_t high);

#endif /* GOLDEN_PLACES_H */
