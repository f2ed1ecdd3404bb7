// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Free-running statistics counters. */
#include <string.h>

#include "device.h"

#define STATS_WORDS	(sizeof(struct cnnacc_stats) / sizeof(uint64_t))

void cm_stats_add(struct cnnacc_stats *sum, const struct cnnacc_stats *add)
{
	uint64_t a[STATS_WORDS], b[STATS_WORDS];

	memcpy(a, sum, sizeof(a));
	memcpy(b, add, sizeof(b));
	for (size_t i = 0; i < STATS_WORDS; i++)
		a[i] += b[i];
	memcpy(sum, a, sizeof(a));
}

uint64_t cm_stats_word(const struct cnnacc_stats *stats, unsigned int n)
{
	uint64_t value;

	memcpy(&value, (const char *)stats + n * sizeof(value), sizeof(value));
	return value;
}
