// SPDX-License-Identifier: MIT
/* Activations from our own exponential: the same bits on every machine. */
#include <string.h>

#include "ops.h"

/*
 * exp(x) = 2^n * exp(r), |r| <= ln2/2, in double: the polynomial's error is far below half an
 * ulp of the float result, and no operation depends on the machine.
 */
static inline float exp_scaled(float xf)
{
	const double round = 0x1.8p52;
	double x = xf, n, r, p;
	uint64_t bits;
	double scale;

	x = x < -110.0 ? -110.0 : x;
	x = x > 90.0 ? 90.0 : x;
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
	return (float)(p * scale);
}

float cnn_expf(float x)
{
	return x != x ? x : exp_scaled(x);
}

CNN_CLONES
static void sigmoid(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float s = 1.0f / (1.0f + exp_scaled(-x[i]));

		y[i] = x[i] != x[i] ? x[i] : s;
	}
}

CNN_CLONES
static void clip(const float *x, float *y, int64_t n, float lo, float hi)
{
	for (int64_t i = 0; i < n; i++) {
		float v = x[i] < lo ? lo : x[i];

		y[i] = v > hi ? hi : v;
	}
}

CNN_CLONES
static void relu(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] < 0 ? 0 : x[i];
}

static inline float hard_sigmoid1(float x, float alpha, float beta)
{
	float v = alpha * x + beta;

	v = v < 0 ? 0 : v;
	return v > 1 ? 1 : v;
}

CNN_CLONES
static void hard_sigmoid(const float *x, float *y, int64_t n, float alpha, float beta)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = hard_sigmoid1(x[i], alpha, beta);
}

CNN_CLONES
static void hard_swish(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * hard_sigmoid1(x[i], 1.0f / 6, 0.5f);
}

void cnn_act_apply(const struct cnn_act *act, const float *x, float *y, int64_t n)
{
	switch (act->kind) {
	case CNN_ACT_RELU:
		relu(x, y, n);
		break;
	case CNN_ACT_CLIP:
		clip(x, y, n, act->a, act->b);
		break;
	case CNN_ACT_SIGMOID:
		sigmoid(x, y, n);
		break;
	case CNN_ACT_HARD_SIGMOID:
		hard_sigmoid(x, y, n, act->a, act->b);
		break;
	case CNN_ACT_HARD_SWISH:
		hard_swish(x, y, n);
		break;
	case CNN_ACT_NONE:
		if (x != y && n)
			memmove(y, x, n * sizeof(*y));
		break;
	}
}
