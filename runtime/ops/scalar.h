/* SPDX-License-Identifier: MIT */
/*
 * Functions of one number that loops inline: the same bits on every machine, as nothing but IEEE 754
 * arithmetic is used.
 */
#ifndef CNN_OPS_SCALAR_H
#define CNN_OPS_SCALAR_H

#include <string.h>

#include "ops.h"

/*
 * exp(x) = 2^n * exp(r), |r| <= ln2/2, for -700 < x < 700: the polynomial's error is far below
 * half an ulp of a float, and no operation depends on the machine.
 */
static inline double exp_double(double x)
{
	const double round = 0x1.8p52;
	double n, r, p;
	uint64_t bits;
	double scale;

	n = x * 0x1.71547652b82fep0 + round;
	memcpy(&bits, &n, sizeof(bits));
	n -= round;
	r = x - n * 0x1.62e42fefa39efp-1;
	p = 1.0 / 40320;
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r + 1.0;
	p = p * r + 1.0;
	bits = (bits + 1023) << 52;	/* the low bits of n + round are n */
	memcpy(&scale, &bits, sizeof(scale));
	return p * scale;
}

/* The range in which the exponential as a float is neither 0 nor infinite. */
static inline double exp_range(double x)
{
	x = x < -110.0 ? -110.0 : x;
	return x > 90.0 ? 90.0 : x;
}

/* exp(x) - 1; near 0 the series, as the difference would lose what a float can tell. */
static inline double exp_minus_1(double x)
{
	double e = exp_double(exp_range(x)) - 1, p;

	p = 1.0 / 120;
	p = p * x + 1.0 / 24;
	p = p * x + 1.0 / 6;
	p = p * x + 1.0 / 2;
	p = x + x * x * p;
	return x > -0x1p-6 && x < 0x1p-6 ? p : e;
}

/* ln(2^e * m) = e ln2 + 2 atanh((m - 1) / (m + 1)), sqrt(1/2) <= m < sqrt(2), for normal x. */
static inline double log_normal(double x)
{
	uint64_t bits;
	int64_t e;
	double m, s, q, p;

	memcpy(&bits, &x, sizeof(bits));
	e = (int64_t)((bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)) >> 52) - 1023;
	bits -= (uint64_t)e << 52;
	memcpy(&m, &bits, sizeof(m));
	s = (m - 1) / (m + 1);
	q = s * s;
	p = 1.0 / 19;
	p = p * q + 1.0 / 17;
	p = p * q + 1.0 / 15;
	p = p * q + 1.0 / 13;
	p = p * q + 1.0 / 11;
	p = p * q + 1.0 / 9;
	p = p * q + 1.0 / 7;
	p = p * q + 1.0 / 5;
	p = p * q + 1.0 / 3;
	p = p * q + 1.0;
	return (double)(int32_t)e * 0x1.62e42fefa39efp-1 + 2 * s * p;
}

/* 1 - erf(a) for a >= 0, from a Chebyshev fit: a relative error of 1.2e-7. */
static inline double erfc_double(double a)
{
	double t = 1 / (1 + 0.5 * a), c;

	c = 0.17087277;
	c = c * t - 0.82215223;
	c = c * t + 1.48851587;
	c = c * t - 1.13520398;
	c = c * t + 0.27886807;
	c = c * t - 0.18628806;
	c = c * t + 0.09678418;
	c = c * t + 0.37409196;
	c = c * t + 1.00002368;
	return t * exp_double(exp_range(c * t - 1.26551223 - a * a));
}

static inline float as_float(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline uint32_t as_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

/* y[i] = expr of v = x[i] and two parameters. */
#define UNARY(name, expr)								\
CNN_CLONES										\
static void name(const float *x, float *y, int64_t n, float a, float b)			\
{											\
	(void)a;									\
	(void)b;									\
	for (int64_t i = 0; i < n; i++) {						\
		float v = x[i];								\
											\
		y[i] = expr;								\
	}										\
}

#endif
