// SPDX-License-Identifier: MIT
/* Products of whole numbers and ratios of scales, as integers. */
#include <math.h>
#include <stdlib.h>

#include "quant.h"

int64_t cnn_rounding_shift(int64_t v, int shift)
{
	int64_t half = shift ? (int64_t)1 << (shift - 1) : 0;

	return v < 0 ? -((-v + half) >> shift) : (v + half) >> shift;
}

bool cnn_near_power(float v, int *exponent)
{
	float part = frexpf(v, exponent);	/* from 0.5 to 1 */
	bool below = part > 0.75f;

	*exponent -= !below;
	part = below ? part : 2 * part;
	/* 2^-0.001 and 2^0.001 */
	return part > 0x1.ffa52ep-1f && part < 0x1.002d71p+0f;
}

struct cnn_factor cnn_factor_of(double ratio)
{
	struct cnn_factor f = { 0 };

	f.bits = llround(ldexp(frexp(ratio, &f.exponent), 31));
	if (llabs(f.bits) == (int64_t)1 << 31) {
		f.bits /= 2;
		f.exponent++;
	}
	if (f.exponent < -31)
		f = (struct cnn_factor){ 0 };
	return f;
}

int64_t cnn_times_factor(int64_t v, struct cnn_factor f)
{
	int left = f.exponent > 0 ? f.exponent : 0, right = f.exponent < 0 ? -f.exponent : 0;

	v *= (int64_t)1 << left;
	return cnn_rounding_shift((v * f.bits + (1 << 30)) >> 31, right);
}

int64_t cnn_times_8_bits(int64_t v, float ratio)
{
	return (v * (int64_t)nearbyintf(256 * ratio) + 128) >> 8;
}
