/* SPDX-License-Identifier: MIT */
/* A deterministic random generator: the same seed gives the same jobs on every machine. */
#ifndef GOLDEN_PRNG_H
#define GOLDEN_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
	uint64_t state;
};

/* splitmix64 */
static inline uint64_t prng_next(struct prng *prng)
{
	uint64_t z = prng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Uniform enough for tests: low..high, both included. */
static inline int64_t prng_range(struct prng *prng, int64_t low, int64_t high)
{
	return low + (int64_t)(prng_next(prng) % (uint64_t)(high - low + 1));
}

static inline bool prng_chance(struct prng *prng, unsigned int percent)
{
	return prng_next(prng) % 100 < percent;
}

#endif /* GOLDEN_PRNG_H */
