/* SPDX-License-Identifier: MIT */
/*
 * IEEE single precision as the cores see it: every operation rounded on its
 * own.  Needs -ffp-contract=off and a host that evaluates float in float.
 */
#ifndef GOLDEN_FP32_H
#define GOLDEN_FP32_H

#include <endian.h>
#include <float.h>
#include <stdint.h>
#include <string.h>

#include "cnnacc_hw.h"

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

/* Memories are little-endian bytes; @index counts floats. */
static inline uint32_t word_get(const uint8_t *memory, int64_t index)
{
	uint32_t word;

	memcpy(&word, memory + 4 * index, sizeof(word));
	return le32toh(word);
}

static inline void word_put(uint8_t *memory, int64_t index, uint32_t word)
{
	word = htole32(word);
	memcpy(memory + 4 * index, &word, sizeof(word));
}

static inline float float_get(const uint8_t *memory, int64_t index)
{
	return fp32_from_bits(word_get(memory, index));
}

/* What a unit stores: a NaN has one pattern. */
static inline void float_put(uint8_t *memory, int64_t index, float value)
{
	word_put(memory, index, value != value ? CNNACC_FP32_NAN : fp32_to_bits(value));
}

#endif /* GOLDEN_FP32_H */
