// SPDX-License-Identifier: MIT
#include "places.h"

#include "cnnacc_hw.h"

#define LINE		CNNACC_LINE_SIZE
#define REGION_SHIFT	22
#define REGION		(1u << REGION_SHIFT)
#define VA_END		(1ull << CNNACC_VA_BITS)

void places_begin(struct places *places, struct prng *prng, unsigned int spread)
{
	places->prng = prng;
	places->count = 0;
	places->spread = spread;
	for (int i = 0; i < PLACES_NEAR; i++)
		places->near[i] = prng_range(prng, 0, 1021) << REGION_SHIFT;
}

void places_keep(struct places *places, uint64_t low, uint64_t high)
{
	if (places->count < PLACES)
		places->place[places->count++] = (struct place){ low, high };
}

static bool is_free(const struct places *places, uint64_t low, uint64_t high)
{
	for (unsigned int i = 0; i < places->count; i++)
		if (low < places->place[i].high && places->place[i].low < high)
			return false;
	return true;
}

static uint64_t propose(struct places *places, uint64_t bytes)
{
	struct prng *prng = places->prng;
	uint64_t near = places->near[prng_range(prng, 0, places->spread - 1)];

	switch (prng_range(prng, 0, 15)) {
	case 0:
		return 0;
	case 1:
		return VA_END - bytes;
	case 2:
		return (uint64_t)prng_range(prng, 0, (VA_END - bytes) / LINE) * LINE;
	case 3:
		return near + REGION - prng_range(prng, 1, bytes / LINE) * LINE;
	case 4:
	case 5:
		return near + (uint64_t)prng_range(prng, 0, REGION / LINE - 1) * LINE;
	default:
		return near + (uint64_t)prng_range(prng, 0, 1023) * CNNACC_PAGE_SIZE;
	}
}

uint32_t places_take(struct places *places, uint64_t lines)
{
	uint64_t bytes = lines * LINE, va;

	do
		va = propose(places, bytes);
	while (va + bytes > VA_END || !is_free(places, va, va + bytes));
	places_keep(places, va, va + bytes);
	return va;
}
