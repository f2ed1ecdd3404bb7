/* SPDX-License-Identifier: MIT */
/* The core's arithmetic of one value (Documentation/hardware/enpu.rst, Arithmetic). */
#ifndef ENPUC_ARITHMETIC_H
#define ENPUC_ARITHMETIC_H

#include <stdint.h>

#define ENPUC_SEGMENTS	16	/* of an activation table */

static inline int8_t enpuc_clamp8(int64_t v)
{
	return (int8_t)(v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v);
}

/* A sum, shifted to the right by -31..31 with halves rounded up. */
static inline int8_t enpuc_requantize(int32_t sum, int shift)
{
	if (shift > 0)
		return enpuc_clamp8(((int64_t)sum + ((int64_t)1 << (shift - 1))) >> shift);
	return enpuc_clamp8((int64_t)sum * ((int64_t)1 << -shift));
}

/* An activation of x by a table of CNNACC_ENPU_SEGMENT(). */
static inline int8_t enpuc_segment(const uint32_t table[ENPUC_SEGMENTS], int8_t x)
{
	uint32_t entry = table[(uint8_t)x >> 4];

	return enpuc_clamp8(((int8_t)entry * x >> (entry >> 24 & 15)) + (int16_t)(entry >> 8));
}

#endif
