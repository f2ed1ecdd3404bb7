// SPDX-License-Identifier: MIT
/*
 * Factors of the linear multiply-add for requantisation: the operator's own scale, which has 15, 24
 * or 31 bits, or 31 bits of a double. The core rounds the exact product once, to the nearest,
 * halves to even or up. The CPU rounds it to a float32 first, which makes a half of what is nearly
 * one, or to an integer with some bits more. Where that changes the result of a sum that can occur,
 * there are no such factors: a line with another slope or offset gives other sums wrong, as the
 * steps are closer than its room.
 */
#include <math.h>

#include "requant.h"

#define SHIFT_MAX	62

static int64_t clamp_to(const struct cnn_range *r, int64_t v)
{
	return v < r->low ? r->low : v > r->high ? r->high : v;
}

/* The operator's result. */
static int64_t wanted(const struct gcuc_requant *r, int64_t sum)
{
	switch (r->rule) {
	case GCUC_BY_FLOAT:
		return cnn_to_range(&r->range, (float)(int32_t)sum * r->scale);
	case GCUC_BY_FACTOR:
		return clamp_to(&r->range,
				cnn_times_factor(sum, r->factor) + r->range.zero_point);
	default:
		return cnn_wide_requantize(&r->wide, sum);
	}
}

static int64_t round_shift(int64_t p, int shift, bool up)
{
	int64_t floor = p >> shift, rest = p - (int64_t)((uint64_t)floor << shift);
	int64_t half = shift ? (int64_t)1 << (shift - 1) : 0;

	if (!shift)
		return p;
	return floor + (rest > half || (rest == half && (up || floor & 1)));
}

/* The core's result for a sum with the bias. */
static int64_t given(const struct gcuc_requant *r, const struct gcuc_linear *l, bool up,
		     int64_t sum)
{
	int64_t v = round_shift(sum * l->a + l->b, l->shift, up);

	v = v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
	return clamp_to(&r->range, v + r->range.zero_point);
}

static bool same(const struct gcuc_requant *r, const struct gcuc_linear *l, bool up, int64_t sum)
{
	return sum < r->low || sum > r->high || wanted(r, sum) == given(r, l, up, sum);
}

static double slope_of(const struct gcuc_requant *r)
{
	switch (r->rule) {
	case GCUC_BY_FLOAT:
		return (double)r->scale;
	case GCUC_BY_FACTOR:
		return ldexp((double)r->factor.bits, r->factor.exponent - 31);
	default:
		return r->wide.fixed ? ldexp((double)r->wide.factor, -r->wide.shift) :
				       r->wide.ratio;
	}
}

/* Half a level below level k. */
static double edge(const struct gcuc_requant *r, int64_t k)
{
	return (double)(k - r->range.zero_point) - 0.5;
}

/* The first sum of low..high that gives level k or more; there is one. */
static int64_t find_step(const struct gcuc_requant *r, int64_t k)
{
	double guess = edge(r, k) / slope_of(r);
	int64_t low = r->low, high = r->high, at, by = 1;

	at = guess < (double)low ? low : guess > (double)high ? high : (int64_t)guess;
	if (wanted(r, at) >= k) {
		for (high = at; at > low && wanted(r, at) >= k; by *= 2)
			high = at, at = at - by < low ? low : at - by;
		low = wanted(r, at) >= k ? at - 1 : at;
		high = wanted(r, at) >= k ? at : high;
	} else {
		for (low = at; wanted(r, at) < k; by *= 2)
			low = at, at = at + by > high ? high : at + by;
		high = at;
	}
	while (high - low > 1) {
		at = low + (high - low) / 2;
		*(wanted(r, at) >= k ? &high : &low) = at;
	}
	return high;
}

/* Is the step to level k at the same sum? */
static bool same_step(const struct gcuc_requant *r, const struct gcuc_linear *l, bool up, int64_t k)
{
	int64_t step = find_step(r, k);

	return same(r, l, up, step) && same(r, l, up, step - 1);
}

/*
 * Both functions grow, so they are equal if they are so at both ends and on both sides of each of
 * the operator's steps. Those furthest from zero, which differ first, are looked at first.
 */
static bool verify(const struct gcuc_requant *r, const struct gcuc_linear *l, bool up)
{
	int64_t low = wanted(r, r->low) + 1, high = wanted(r, r->high);

	if (!same(r, l, up, r->low) || !same(r, l, up, r->high))
		return false;
	for (; low <= high; low++, high--)
		if (!same_step(r, l, up, low) || !same_step(r, l, up, high))
			return false;
	return true;
}

/* Does p stay below 2^62, so that no sum saturates? */
static bool fits(const struct gcuc_requant *r, double slope, int shift)
{
	double most = fmax(fabs((double)r->low), fabs((double)r->high)) + 1;

	return most * slope * ldexp(1, shift) < 0x1p61;
}

/* The operator's own scale. */
static bool try_exact(const struct gcuc_requant *r, bool up, struct gcuc_linear *l)
{
	int exponent;
	double bits = rint(ldexp(frexp(slope_of(r), &exponent), 31));

	*l = (struct gcuc_linear){ 0 };
	if (bits > INT32_MAX) {
		bits /= 2;
		exponent++;
	}
	/* Without the zeros at its end. */
	for (; bits == floor(bits / 2) * 2 && bits > 0 && exponent < 31; exponent++)
		bits /= 2;
	if (exponent > 31 || 31 - exponent > SHIFT_MAX || !fits(r, slope_of(r), 31 - exponent))
		return false;
	l->a = (int32_t)bits;
	l->shift = 31 - exponent;
	/* That rule is the core's own. */
	return (up && r->rule == GCUC_BY_WIDE && r->wide.fixed) || verify(r, l, up);
}

/* All sums give the same. */
static bool try_constant(const struct gcuc_requant *r, bool up, struct gcuc_linear *l)
{
	*l = (struct gcuc_linear){ .b = wanted(r, r->low) - r->range.zero_point };
	return verify(r, l, up);
}

bool gcuc_requant_solve(const struct gcuc_requant *r, bool up, struct gcuc_linear *l)
{
	bool grows = slope_of(r) > 0 && isfinite(slope_of(r));

	if (r->low < INT32_MIN || r->high > INT32_MAX || (!grows && r->low != r->high))
		return false;
	if (!(grows && try_exact(r, up, l)) && !try_constant(r, up, l))
		return false;
	/* The core's sums are without the bias. */
	l->b += r->bias * l->a;
	return true;
}
