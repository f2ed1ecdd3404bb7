// SPDX-License-Identifier: MIT
/* Numbers of POT8: weights, means, and functions in segments. */
#include <math.h>

#include "pot8.h"

#define SHIFT_MAX	31
#define SEGMENTS	16
#define SEGMENT_SHIFTS	16

int pot8_weight_shift(double most)
{
	int exponent;

	if (!(most > 0))
		return SEGMENTS;
	/* The largest shift with most * 2^shift at most 127.5 less a little, which rounds to 127. */
	frexp(127.49 / most, &exponent);
	exponent--;
	return exponent > SHIFT_MAX ? SHIFT_MAX : exponent < -SHIFT_MAX ? -SHIFT_MAX : exponent;
}

int pot8_mean_weight(double ratio, int *weight)
{
	int shift = pot8_weight_shift(ratio);

	*weight = (int)lrint(ldexp(ratio, shift));
	return shift;
}

/* A segment with one slope: y = ((a * x) >> shift) + b. */
struct segment {
	int a, b, shift;
	double error;
};

static int floor_shift(int v, int shift)
{
	return v >= 0 ? v >> shift : -((-v + (1 << shift) - 1) >> shift);
}

static double clamp8(double v)
{
	return v < -128 ? -128 : v > 127 ? 127 : v;
}

/* Chooses b for a slope; keeps the segment if it is better than the best. */
static void try_slope(const double *wanted, int first, int a, int shift, struct segment *best)
{
	struct segment s = { .a = a, .shift = shift };
	double sum = 0;

	if (a < -128 || a > 127)
		return;
	for (int i = 0; i < SEGMENTS; i++)
		sum += wanted[i] - floor_shift(a * (first + i), shift);
	s.b = (int)lrint(sum / SEGMENTS);
	for (int i = 0; i < SEGMENTS; i++) {
		double d = clamp8(floor_shift(a * (first + i), shift) + s.b) - wanted[i];

		s.error += d * d;
	}
	if (s.error < best->error)
		*best = s;
}

/* The slope of the line with the least squared error. */
static double slope_of(const double *wanted)
{
	double sum = 0, squares = 0;

	for (int i = 0; i < SEGMENTS; i++) {
		double x = i - (SEGMENTS - 1) / 2.0;

		sum += x * wanted[i];
		squares += x * x;
	}
	return sum / squares;
}

static struct segment fit_segment(const double *wanted, int first)
{
	struct segment best = { .error = INFINITY };
	double slope = slope_of(wanted);

	for (int shift = 0; shift < SEGMENT_SHIFTS; shift++) {
		int a = (int)lrint(ldexp(slope, shift));

		for (int d = -1; d <= 1; d++)
			try_slope(wanted, first, a + d, shift, &best);
	}
	/* Beyond the range of a: a step. */
	if (!isfinite(best.error))
		try_slope(wanted, first, slope > 0 ? 127 : -128, 0, &best);
	return best;
}

void pot8_fit_table(const double wanted[256], uint32_t table[16])
{
	for (int i = 0; i < SEGMENTS; i++) {
		/* Entry i is for bits 7:4 of x: 0 to 127, then -128 to -1. */
		int first = SEGMENTS * (i < SEGMENTS / 2 ? i : i - SEGMENTS);
		double clamped[SEGMENTS];
		struct segment s;

		for (int k = 0; k < SEGMENTS; k++)
			clamped[k] = clamp8(wanted[first + 128 + k]);
		s = fit_segment(clamped, first);
		table[i] = ((uint32_t)s.a & 0xff) | ((uint32_t)s.b & 0xffff) << 8 |
			   (uint32_t)s.shift << 24;
	}
}
