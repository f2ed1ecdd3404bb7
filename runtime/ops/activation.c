// SPDX-License-Identifier: MIT
/* Activations that no pass fuses, and Floor and Ceil. */
#include <math.h>

#include "scalar.h"

/* gamma * (v, below 0 alpha * (exp(v) - 1)) */
static inline float selu1(float v, float alpha, float gamma)
{
	return (float)(gamma * (v < 0 ? alpha * exp_minus_1(v) : v));
}

static inline float celu1(float v, float alpha)
{
	return v < 0 ? (float)(alpha * exp_minus_1((double)v / alpha)) : v;
}

static inline float shrink1(float v, float lambda, float bias)
{
	return v < -lambda ? v + bias : v > lambda ? v - bias : 0;
}

/* v tanh(ln(1 + e)) = v (e^2 + 2 e) / (e^2 + 2 e + 2), e = exp(v); 0 where no float is as small. */
static inline float mish1(float v)
{
	double e = v < -110 ? 0 : exp_double(exp_range(v)), p = e * (e + 2);

	return v != v ? v : (float)(v * (p / (p + 2)));
}

/* v / 2 (1 + erf(v / sqrt(2))); below 0 erfc keeps the relative error. */
static inline float gelu1(float v)
{
	double x = v, c = erfc_double(fabs(x) * 0x1.6a09e667f3bcdp-1);

	return v != v ? v : (float)(x / 2 * (x < 0 ? c : 2 - c));
}

/*
 * v / 2 (1 + tanh(u)) = v / (1 + exp(-2 u)), u = sqrt(2 / pi) (v + 0.044715 v^3); where that is less
 * than any float it is 0.
 */
static inline float gelu_tanh1(float v)
{
	double x = v, u = 0x1.9884533d43651p-1 * (x + 0.044715 * x * x * x);

	double part = 1 / (1 + exp_double(fmin(fmax(-2 * u, -110), 110)));

	return v != v ? v : (float)(x * (u < -55 ? 0 : part));
}

UNARY(selu, selu1(v, a, b))
UNARY(celu, celu1(v, a))
UNARY(thresholded_relu, v > a ? v : 0)
UNARY(softsign, v / (1 + fabsf(v)))
UNARY(shrink, shrink1(v, a, b))
UNARY(mish, mish1(v))
UNARY(gelu, gelu1(v))
UNARY(gelu_tanh, gelu_tanh1(v))
UNARY(round_down, floorf(v))
UNARY(round_up, ceilf(v))

cnn_unary_fn *cnn_activation_of(const struct cnn_node *node)
{
	static cnn_unary_fn *const fn[CNN_OP_COUNT] = {
		[CNN_OP_CEIL] = round_up,
		[CNN_OP_CELU] = celu,
		[CNN_OP_FLOOR] = round_down,
		[CNN_OP_GELU] = gelu,
		[CNN_OP_MISH] = mish,
		[CNN_OP_SELU] = selu,
		[CNN_OP_SHRINK] = shrink,
		[CNN_OP_SOFTSIGN] = softsign,
		[CNN_OP_THRESHOLDED_RELU] = thresholded_relu,
	};

	if (node->op == CNN_OP_GELU && node->params.unary.approximate == CNN_GELU_TANH)
		return gelu_tanh;
	return fn[node->op];
}
