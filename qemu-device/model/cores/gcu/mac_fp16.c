// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Sums of FP16 products, without vectors.
 *
 * The product of two factors is exact in float, and so is its quotient by the unit of a tap,
 * 2^(4 * func - 50).  So the shift of the core's page is a conversion to an integer.
 */
#include <string.h>

#include "gcu_mutant.h"
#include "mac.h"

#define COLUMNS		GCU_STEP_COLUMNS
#define SHIFT_MAX	8	/* fp-floor: a shift by 4 times as many bits gives zero */

/* 2^(50 - 4 * func) */
static float units(uint32_t func)
{
	uint32_t bits = (127 + 50 - 4 * func) << 23;
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* ---- the accumulator ---- */

/* @v * 2^@n, rounded to minus infinity; |@v| < 2^35, @n <= 23. */
static int64_t scale(int64_t v, int32_t n)
{
	return n >= 0 ? v * ((int64_t)1 << n) : v >> (n < -63 ? 63 : -n);
}

/* Index of the highest bit that differs from the sign bit; 0 if there is none. */
static uint32_t top_bit(int64_t v)
{
	uint64_t bits = (uint64_t)(v < 0 ? ~v : v);

	return bits ? 63 - (uint32_t)__builtin_clzll(bits) : 0;
}

/* FP32 of @sum * 2^(@x - 23), where no digit to the left is lost. */
static uint32_t format(int64_t sum, int32_t x)
{
	uint32_t p = top_bit(sum >> 23), sign;
	int32_t exponent;

	sum >>= p;
	x += (int32_t)p;
	sign = sum < 0 ? 0x80000000 : 0;
	exponent = x + 127;
	if (sum == -(int64_t)(1 << 24))
		exponent++;
	else if (x < -126 || (sum < 0 ? -sum : sum) < 1 << 23)
		return sign;
	if (exponent > 254)
		return sign | 0x7f7fffff;
	return sign | (uint32_t)exponent << 23 | (uint32_t)((sum < 0 ? -sum : sum) & 0x7fffff);
}

uint32_t gcu_fp_add(uint32_t old, int64_t f, uint32_t func)
{
	uint32_t field = old >> 23 & 0xff;
	int64_t om = (old & 0x7fffff) | (field ? 1 << 23 : 0);
	int32_t oe = (int32_t)(field ? field : 1) - 150, e = 4 * (int32_t)func - 50, d;
	int64_t big, small, low;

	if (old >> 31)
		om = -om;
	d = oe > e ? oe - e : e - oe;
	big = oe > e ? om : f;
	small = oe > e ? f : om;
	low = d > 63 ? 0 : scale(small, 23 - d);
	return format(big * (1 << 23) + low, oe > e ? oe : e);
}

/* ---- a tap ---- */

/** struct tap - factors of one kernel and some columns; channels of a row are x_step apart. */
struct tap {
	const float *x, *y;
	const uint8_t *x_exponent;
	const uint32_t *y_exponent;	/* four equal bytes */
	size_t x_step;
	uint32_t channels;
};

static uint32_t exponent_at(const struct tap *t, uint32_t c, uint32_t j)
{
	return t->x_exponent[c * t->x_step + j] + (t->y_exponent[c] & 0xff);
}

static uint32_t max_exponent(const struct tap *t, uint32_t j)
{
	uint32_t func = 0;

	for (uint32_t c = 0; c < t->channels; c++) {
		uint32_t e = exponent_at(t, c, j);

		if (MUTANT(LANES) && t->x[c * t->x_step + j] * t->y[c] == 0)
			continue;
		func = e > func ? e : func;
	}
	return func;
}

static int32_t floor_of(float v)
{
	int32_t whole = (int32_t)v;

	return (float)whole > v ? whole - 1 : whole;
}

static int64_t tap_sum(const struct tap *t, uint32_t j, uint32_t func, bool to_floor)
{
	float unit = units(func);
	int64_t sum = 0;

	for (uint32_t c = 0; c < t->channels; c++) {
		float v = t->x[c * t->x_step + j] * t->y[c] * unit;
		uint32_t e = exponent_at(t, c, j);

		if (!to_floor && !MUTANT(TRUNCATE))
			sum += (int32_t)v;
		else if (func < e + SHIFT_MAX)
			sum += floor_of(v);
	}
	return sum;
}

static void add_tap(const struct gcu_batch *b, const struct tap *t, const uint32_t *real,
		    int32_t *acc)
{
	for (uint32_t j = 0; j < COLUMNS; j++) {
		uint32_t func;

		if (!real[j])
			continue;
		func = max_exponent(t, j);
		acc[j] = (int32_t)gcu_fp_add((uint32_t)acc[j], tap_sum(t, j, func, b->floor), func);
	}
}

static void add_op(const struct gcu_batch *b, const struct gcu_factors *op, uint32_t k, uint32_t w,
		   int32_t *acc)
{
	for (uint32_t s = 0; s < b->taps; s++) {
		size_t weight = ((size_t)s * b->kernels + k) * b->channels;
		struct tap t = {
			.x = (const float *)op->row + b->tap[s] + w,
			.y = (const float *)op->weight + weight,
			.x_exponent = op->row_exponent + b->tap[s] + w,
			.y_exponent = op->weight_exponent + weight,
			.x_step = b->pitch, .channels = b->channels,
		};

		add_tap(b, &t, b->real + b->tap[s] + w, acc);
	}
}

void gcu_add_floats(const struct gcu_batch *b, struct gcu_tile tile)
{
	for (uint32_t k = tile.k; k < tile.k + tile.kernels; k++)
		for (uint32_t w = tile.w; w < tile.w + tile.columns; w += COLUMNS)
			for (uint32_t i = 0; i < b->count; i++)
				add_op(b, &b->op[i], k, w,
				       b->acc + (size_t)k * b->acc_pitch + w);
}
