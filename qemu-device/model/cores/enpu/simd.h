/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* What the kernels of all vector widths have in common. */
#ifndef CM_ENPU_SIMD_H
#define CM_ENPU_SIMD_H

#include <string.h>

#include "enpu.h"

#define UNROLL		_Pragma("GCC unroll 16")

static inline __attribute__((always_inline)) int32_t enpu_clamp(int32_t v)
{
	v = v < INT8_MIN ? INT8_MIN : v;
	return v > INT8_MAX ? INT8_MAX : v;
}

/*
 * Halves up without more than 32 bits: the last bit that is shifted out is added.  What is shifted
 * to the left is clamped before, too.
 */
static inline __attribute__((always_inline)) void
enpu_requantise_words(const uint32_t (*psum)[ENPU_LANES], const struct enpu_scale *scale,
		      uint32_t bits, int8_t (*value)[ENPU_LANES], uint32_t count)
{
	const struct enpu_scale k = *scale;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t o = 0; o < ENPU_LANES; o++) {
			uint32_t sum = psum[i][o] + (uint32_t)k.bias[o];
			int32_t v = (int32_t)(sum << (32 - bits)) >> (32 - bits);

			v = (v >> k.right[o]) + ((v >> k.last[o]) & k.half[o]);
			value[i][o] = (int8_t)enpu_clamp(enpu_clamp(v) * (1 << k.left[o]));
		}
}

#endif
