/* SPDX-License-Identifier: MIT */
/* Lists of the groups of output channels (IntegerConv). */
#ifndef CNN_GROUPS_H
#define CNN_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

/* Are n groups ascending, and below a limit? */
static inline bool cnn_are_groups(const int32_t *groups, int64_t n, int64_t limit)
{
	for (int64_t i = 0; i < n; i++)
		if (groups[i] < (i ? groups[i - 1] : 0) || groups[i] >= limit)
			return false;
	return true;
}

#endif
