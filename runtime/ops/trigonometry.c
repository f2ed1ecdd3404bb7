// SPDX-License-Identifier: MIT
/* Trigonometric and hyperbolic functions, computed in double: within an ulp of a float. */
#include <math.h>

#include "scalar.h"

#define HALF_PI	0x1.921fb54442d18p0

/* An angle: quarters of a turn, modulo 4, and what is left of it, at most pi/4 either way. */
struct angle {
	unsigned int quarters;
	double rest;
};

/*
 * Of v = m 2^e, m a whole number, the product with 2/pi is wanted modulo 4 only. So the bits of 2/pi
 * that m 2^e moves beyond the weight 2 do not matter: 96 bits from there on give the rest to 2^-62.
 */
static struct angle reduce(float v)
{
	static const uint32_t two_over_pi[] = {
		0,				/* before the binary point */
		0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
	};
	uint32_t bits = as_bits(fabsf(v)), m = (bits & 0x7fffff) | 0x800000, word[3];
	int first = (int)(bits >> 23) - 150 + 30;
	struct angle a = { .rest = v };
	uint64_t product;

	if (bits < 0x3f400000)			/* 0.75 */
		return a;
	for (int i = 0; i < 3; i++) {
		const uint32_t *at = &two_over_pi[(first >> 5) + i];

		word[i] = (uint32_t)((((uint64_t)at[0] << 32 | at[1]) << (first & 31)) >> 32);
	}
	product = ((uint64_t)(m * word[0]) << 32) + (uint64_t)m * word[1] +
		  ((uint64_t)m * word[2] >> 32);
	a.quarters = (unsigned int)((product + ((uint64_t)1 << 61)) >> 62);
	a.rest = (double)(int64_t)(product - ((uint64_t)a.quarters << 62)) * (HALF_PI * 0x1p-62);
	if (v < 0) {
		a.quarters = 0 - a.quarters;
		a.rest = -a.rest;
	}
	a.quarters &= 3;
	return a;
}

static double sin_near_0(double x)
{
	double q = x * x, p;

	p = 1.0 / 6227020800;
	p = p * q - 1.0 / 39916800;
	p = p * q + 1.0 / 362880;
	p = p * q - 1.0 / 5040;
	p = p * q + 1.0 / 120;
	p = p * q - 1.0 / 6;
	return x + x * q * p;
}

static double cos_near_0(double x)
{
	double q = x * x, p;

	p = -1.0 / 87178291200;
	p = p * q + 1.0 / 479001600;
	p = p * q - 1.0 / 3628800;
	p = p * q + 1.0 / 40320;
	p = p * q - 1.0 / 720;
	p = p * q + 1.0 / 24;
	p = p * q - 1.0 / 2;
	return 1 + q * p;
}

/* The sine of an angle with so many quarters of a turn more. */
static float sin_of(float v, unsigned int more)
{
	struct angle a;
	double r;

	if (!(fabsf(v) < INFINITY))
		return NAN;
	a = reduce(v);
	a.quarters += more;
	r = a.quarters & 1 ? cos_near_0(a.rest) : sin_near_0(a.rest);
	return (float)(a.quarters & 2 ? -r : r);
}

double cnn_cos_turn(double turns)
{
	unsigned int quarters = (unsigned int)(4 * turns + 0.5);
	double rest = (4 * turns - quarters) * HALF_PI;
	double r = quarters & 1 ? -sin_near_0(rest) : cos_near_0(rest);

	return quarters & 2 ? -r : r;
}

static float tan1(float v)
{
	struct angle a;
	double s, c;

	if (!(fabsf(v) < INFINITY))
		return NAN;
	a = reduce(v);
	s = sin_near_0(a.rest);
	c = cos_near_0(a.rest);
	return (float)(a.quarters & 1 ? -c / s : s / c);
}

/* From 0 to infinity; above tan(pi/8) the arguments 1 / t and (t - 1) / (t + 1) are less than it. */
static double atan_positive(double t)
{
	bool beyond = t > 1;
	double q, p, add = 0;

	t = beyond ? 1 / t : t;
	if (t > 0x1.a8279ap-2) {
		t = (t - 1) / (t + 1);
		add = HALF_PI / 2;
	}
	q = t * t;
	p = -1.0 / 23;
	p = p * q + 1.0 / 21;
	p = p * q - 1.0 / 19;
	p = p * q + 1.0 / 17;
	p = p * q - 1.0 / 15;
	p = p * q + 1.0 / 13;
	p = p * q - 1.0 / 11;
	p = p * q + 1.0 / 9;
	p = p * q - 1.0 / 7;
	p = p * q + 1.0 / 5;
	p = p * q - 1.0 / 3;
	p = add + (t + t * q * p);
	return beyond ? HALF_PI - p : p;
}

static float atan1(float v)
{
	double x = v;

	return v != v ? v : (float)copysign(atan_positive(fabs(x)), x);
}

static float asin1(float v)
{
	double x = v, a = fabs(x);

	return a <= 1 ? (float)copysign(atan_positive(a / sqrt((1 - a) * (1 + a))), x) : NAN;
}

static float acos1(float v)
{
	double x = v;

	return fabs(x) <= 1 ? (float)(2 * atan_positive(sqrt((1 - x) / (1 + x)))) : NAN;
}

/* Near 0 the odd series, which keeps the relative error: here and below. */
static float sinh1(float v)
{
	double x = v, q = x * x, e = exp_double(exp_range(fabs(x))), p;

	p = 1.0 / 362880;
	p = p * q + 1.0 / 5040;
	p = p * q + 1.0 / 120;
	p = p * q + 1.0 / 6;
	if (fabs(x) < 0.5)
		return (float)(x + x * q * p);
	return v != v ? v : (float)copysign((e - 1 / e) / 2, x);
}

static float cosh1(float v)
{
	double e = exp_double(exp_range(fabs((double)v)));

	return v != v ? v : (float)((e + 1 / e) / 2);
}

static float asinh1(float v)
{
	double x = v, a = fabs(x);

	if (a < 0x1p-10)
		return (float)(x - x * x * x / 6);
	return v != v ? v : (float)copysign(cnn_ln(a + sqrt(a * a + 1)), x);
}

static float acosh1(float v)
{
	double x = v;

	return x >= 1 ? (float)cnn_ln(x + sqrt((x - 1) * (x + 1))) : NAN;
}

static float atanh1(float v)
{
	double x = v;

	if (fabs(x) < 0x1p-10)
		return (float)(x + x * x * x / 3);
	return fabs(x) <= 1 ? (float)(cnn_ln((1 + x) / (1 - x)) / 2) : NAN;
}

UNARY(sine, sin_of(v, 0))
UNARY(cosine, sin_of(v, 1))
UNARY(tangent, tan1(v))
UNARY(arc_sine, asin1(v))
UNARY(arc_cosine, acos1(v))
UNARY(arc_tangent, atan1(v))
UNARY(hyperbolic_sine, sinh1(v))
UNARY(hyperbolic_cosine, cosh1(v))
UNARY(area_sine, asinh1(v))
UNARY(area_cosine, acosh1(v))
UNARY(area_tangent, atanh1(v))

cnn_unary_fn *cnn_trigonometry_of(enum cnn_op op)
{
	static cnn_unary_fn *const fn[CNN_OP_COUNT] = {
		[CNN_OP_ACOS] = arc_cosine, [CNN_OP_ACOSH] = area_cosine,
		[CNN_OP_ASIN] = arc_sine, [CNN_OP_ASINH] = area_sine,
		[CNN_OP_ATAN] = arc_tangent, [CNN_OP_ATANH] = area_tangent,
		[CNN_OP_COS] = cosine, [CNN_OP_COSH] = hyperbolic_cosine,
		[CNN_OP_SIN] = sine, [CNN_OP_SINH] = hyperbolic_sine, [CNN_OP_TAN] = tangent,
	};

	return fn[op];
}
