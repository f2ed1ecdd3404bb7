/* SPDX-License-Identifier: MIT */
/*
 * IEEE single precision as the cores see it: every operation rounded on its
 * own.  Needs -ffp-contract=off and a host that evaluates float in float.
 */
#ifndef GOLDEN_FP32_H
#define GOLDEN_FP32_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "cnnacc_hw.h"
#include "words.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float expressions must be evaluated in float");

static inline float fp32_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t fp32_to_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float fadd(float a, float b)
{
	return a + b;
}

static inline float fmul(float a, float b)
{
	return a * b;
}

static inline float relu(float x)
{
	return x > 0.0f ? x : 0.0f;
}

/* @index counts floats. */
static inline float float_get(const uint8_t *memory, int64_t index)
{
	return fp32_from_bits(word_get(memory, index));
}

/* Store a float; every NaN becomes 0x7FC00000. */
static inline void float_put(uint8_t *memory, int64_t index, float value)
{
	word_put(memory, index, value != value ? CNNACC_FP32_NAN : fp32_to_bits(value));
}

#endif /* GOLDEN_FP32_H */
