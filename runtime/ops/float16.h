/* SPDX-License-Identifier: MIT */
/* float16 to and from float32, one number at a time, for loops that inline them. */
#ifndef CNN_OPS_FLOAT16_H
#define CNN_OPS_FLOAT16_H

#include "scalar.h"

/* Exact. The exponent of a half becomes that of a float when it is multiplied by 2^112. */
static inline float half_to_float(uint16_t half)
{
	uint32_t size = (uint32_t)(half & 0x7fff) << 13, sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t bits = as_bits(as_float(size) * 0x1p112f) | sign;

	bits = size >= 0x0f800000 ? size | 0x7f800000 | sign : bits;
	return as_float(size > 0x0f800000 ? 0x7fc00000 : bits);
}

/* To the nearest half, ties to even. A sum with 1/2 rounds to multiples of the smallest one. */
static inline uint16_t float_to_half(float v)
{
	uint32_t bits = as_bits(v), size = bits & 0x7fffffff, half;

	half = (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13;
	half = size < 0x38800000 ? as_bits(as_float(size) + 0.5f) - 0x3f000000 : half;
	half = size >= 0x477ff000 ? 0x7c00 : half;
	half = size > 0x7f800000 ? 0x7e00 : half | (bits >> 16 & 0x8000);
	return (uint16_t)half;
}

#endif
