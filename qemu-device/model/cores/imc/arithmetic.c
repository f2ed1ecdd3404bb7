// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The ALU and the adders of a CSU, and that of the memory unit. */
#include <math.h>

#include "imc.h"
#include "imc_mutant.h"

static float as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Every NaN is the same one. */
static uint32_t as_bits(float value)
{
	uint32_t bits;

	if (isnan(value))
		return IMC_NAN;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float component(const uint8_t *from, uint32_t c)
{
	float value;

	memcpy(&value, from + 4 * (size_t)c, sizeof(value));
	return value;
}

static uint32_t alu_float(const uint8_t *element, const uint8_t *weight, uint32_t channels)
{
	float p = component(element, 0) * component(weight, 0);

	for (uint32_t c = 1; c < channels; c++)
		p += component(element, c) * component(weight, c);
	return as_bits(p);
}

uint32_t imc_alu(uint32_t format, const uint8_t *element, const uint8_t *weight,
		 uint32_t channels)
{
	int32_t p = 0;

	if (format == CNNACC_IMC_FP32)
		return alu_float(element, weight, channels);
	for (uint32_t c = 0; c < channels; c++)
		p += (format == CNNACC_IMC_UINT8 ? element[c] : (int8_t)element[c]) *
		     (int8_t)weight[c];
	return (uint32_t)p;
}

uint32_t imc_add(uint32_t format, uint32_t a, uint32_t b)
{
	int32_t sum;

	if (format == CNNACC_IMC_FP32)
		return as_bits(as_float(a) + as_float(b));
	if (__builtin_add_overflow((int32_t)a, (int32_t)b, &sum) && !MUTANT(WRAP))
		return (int32_t)a < 0 ? (uint32_t)INT32_MIN : INT32_MAX;
	return (uint32_t)sum;
}
