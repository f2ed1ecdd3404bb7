/* SPDX-License-Identifier: MIT */
/* A device's saved state, altered so that its checksum is right (cm_device_save()). */
#ifndef SAVED_STATE_H
#define SAVED_STATE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cnnacc_hw.h"

#define SAVED_SUM	16	/* offset of the checksum */
#define SAVED_SUMMED	24	/* first byte it covers */
/* Offset of core 0's state, behind registers, queue and job. */
#define SAVED_CORE \
	(SAVED_SUMMED + 8 + CNNACC_MAX_CORES * CNNACC_CORE_ENTRY_SIZE + 48 + 248 + 296)

/* Sets the checksum that the format documents. */
static inline void saved_state_sum(char *saved, size_t size)
{
	const char *p = saved + SAVED_SUMMED;
	uint64_t sum = 0xcbf29ce484222325u, word;
	size_t len = size - SAVED_SUMMED;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		sum = (sum ^ word) * 0x100000001b3u;
		sum ^= sum >> 32;
	}
	assert_int_equal(len, 0);
	memcpy(saved + SAVED_SUM, &sum, 8);
}

#endif
