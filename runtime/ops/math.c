// SPDX-License-Identifier: MIT
/*
 * Functions of one number from our own exponential and logarithm, the same bits everywhere, and the
 * operators of one float32 tensor and at most two parameters.
 */
#include <math.h>
#include <string.h>

#include "scalar.h"

double cnn_ln(double x)
{
	if (x < 0x1p-1022)
		return x < 0 ? NAN : -INFINITY;
	return x < INFINITY ? log_normal(x) : x;
}

/* x to an integer power by squaring: exact as long as the result fits a double. */
static double power_of(double x, double y)
{
	double r = 1, n = fabs(y);

	for (uint64_t i = (uint64_t)n; i; i >>= 1, x *= x)
		r *= i & 1 ? x : 1;
	return y < 0 ? 1 / r : r;
}

double cnn_pow(double x, double y)
{
	double a = fabs(x), r;
	bool whole, odd;

	if (y == 0 || x == 1)
		return 1;
	if (x != x || y != y)
		return NAN;
	whole = fabs(y) >= 0x1p53 || y == (double)(int64_t)y;
	odd = whole && fabs(y) < 0x1p53 && ((int64_t)y & 1);
	if (x < 0 && !whole && x > -INFINITY)
		return NAN;
	if (whole && fabs(y) <= 64)
		return power_of(x, y);
	if (a == 1)
		return odd ? x : 1;
	if (a == 0 || a == INFINITY || fabs(y) == INFINITY)
		r = (a > 1) == (y > 0) ? INFINITY : 0;
	else
		r = exp_double(fmin(fmax(y * cnn_ln(a), -690), 690));
	return x < 0 && odd ? -r : r;
}

/* min(max(v, lo), hi); NaN stays. */
static inline float between(float v, float lo, float hi)
{
	v = v < lo ? lo : v;
	return v > hi ? hi : v;
}

/*
 * min(max(v, 0), 6) for all but NaN, which the caller's product sees. Comparing the bits is as
 * fast as comparing floats, and much faster where instructions are translated.
 */
static inline float clip6(float v)
{
	const int32_t six = 0x40c00000;
	int32_t bits = (int32_t)as_bits(v);

	bits = bits > 0 ? bits : 0;
	return as_float((uint32_t)(bits > six ? six : bits));
}

/* exp(-v) for 0 <= v <= 105 in floats, to the smallest subnormals: within 2.5 ulp. */
static inline float exp_down(float v)
{
	const float round = 0x1.8p23f;
	float n = v * -0x1.715476p0f + round, r, p;
	int32_t k = (int32_t)(as_bits(n) - 0x4b400000), half = k >> 1;

	n -= round;
	r = -v - n * 0x1.63p-1f - n * -0x1.bd0106p-13f;	/* ln 2: the first product is exact */
	p = 0x1.a0d2cep-13f;
	p = p * r + 0x1.6e879cp-10f;
	p = p * r + 0x1.1112dp-7f;
	p = p * r + 0x1.55542p-5f;
	p = p * r + 0x1.555554p-3f;
	p = p * r + 0x1p-1f;
	p = p * r * r + r + 1;
	return p * as_float((uint32_t)(half + 127) << 23) *
	       as_float((uint32_t)(k - half + 127) << 23);
}

/*
 * 1 / (1 + exp(-v)), below 0 exp(v) / (1 + exp(v)). Choices are made of bits: a compiler makes
 * branches of others, and no vectors.
 */
static inline float sigmoid1(float v)
{
	const uint32_t one = 0x3f800000, most = 0x42d20000, inf = 0x7f800000;	/* 1, 105 */
	uint32_t bits = as_bits(v), size = bits & 0x7fffffff, below = -(bits >> 31);
	uint32_t nan = -(uint32_t)(size > inf);
	float e = exp_down(as_float(size < most ? size : most));
	float s = as_float((as_bits(e) & below) | (one & ~below)) / (1 + e);

	return as_float((bits & nan) | (as_bits(s) & ~nan));
}

/* Near 0 the odd series, which keeps the relative error. */
static inline float tanh1(float v)
{
	double x = v, a = x < 0 ? -x : x, q = x * x, e = 1 - 2 / (exp_double(exp_range(2 * a)) + 1);
	double p = -1382.0 / 155925;

	p = p * q + 62.0 / 2835;
	p = p * q - 17.0 / 315;
	p = p * q + 2.0 / 15;
	p = p * q - 1.0 / 3;
	p = x + x * q * p;
	e = x < 0 ? -e : e;
	e = a < 0.25 ? p : e;
	return v != v ? v : (float)e;
}

/* Near 0 the series. */
static inline float erf1(float v)
{
	double x = v, a = x < 0 ? -x : x, q = x * x, c = 1 - erfc_double(a), p;

	c = x < 0 ? -c : c;
	p = 1.0 / 9360;
	p = p * q - 1.0 / 1320;
	p = p * q + 1.0 / 216;
	p = p * q - 1.0 / 42;
	p = p * q + 1.0 / 10;
	p = p * q - 1.0 / 3;
	p = (x + x * q * p) * 0x1.20dd750429b6dp0;
	c = a < 0.5 ? p : c;
	return v != v ? v : (float)c;
}

static inline float log1(float v)
{
	float r = (float)log_normal(v > 0 && v < INFINITY ? (double)v : 1.0);

	r = v == 0 ? -INFINITY : r;
	r = v == INFINITY ? v : r;
	return v >= 0 ? r : NAN;
}

/* ln(1 + exp(v)) */
static inline float softplus1(float v)
{
	double e = exp_double(exp_range(v < 0 ? v : -v)), l = e < 1e-8 ? e : log_normal(1 + e);

	return v != v ? v : (float)((v > 0 ? v : 0) + l);
}

static inline float elu1(float v, float alpha)
{
	return v < 0 ? (float)(alpha * exp_minus_1(v)) : v;
}

/* Within exp_range, which choosing bits gives without a branch. */
static inline float exp1(float v)
{
	const uint32_t least = 0x42dc0000, most = 0x42b40000, inf = 0x7f800000;	/* 110, 90 */
	uint32_t bits = as_bits(v), size = bits & 0x7fffffff, below = -(bits >> 31);
	uint32_t limit = (least & below) | (most & ~below), nan = -(uint32_t)(size > inf);
	float e = (float)exp_double(as_float((size < limit ? size : limit) | (below << 31)));

	return as_float((bits & nan) | (as_bits(e) & ~nan));
}

float cnn_expf(float x)
{
	return exp1(x);
}

/* To the nearest whole number, ties to even; the sign stays. From 2^23 on all numbers are whole. */
static inline float round1(float v)
{
	float a = fabsf(v), whole = (a + 0x1p23f) - 0x1p23f;

	return a < 0x1p23f ? copysignf(whole, v) : v;
}

UNARY(relu, v < 0 ? 0 : v)
UNARY(clip, between(v, a, b))
UNARY(leaky_relu, v < 0 ? a * v : v)
UNARY(sigmoid, sigmoid1(v))
UNARY(hard_sigmoid, between(a * v + b, 0, 1))
/* As networks write it that have no HardSwish; exact where it is the identity. */
UNARY(hard_swish, v * (clip6(v + 3) * (1.0f / 6)))
/* Then a * y + b, with a / 6 in one. */
UNARY(hard_swish_affine, v * (clip6(v + 3) * a) + b)
/*
 * The same without a factor, 6 y, and shifted, 6 y + b; and whether there is a NaN among them: most
 * networks that have a HardSwish have many, and what reads again costs as much as a multiplication.
 */
#define HARD_SWISH_6(name, expr)							\
CNN_CLONES										\
static bool name(const float *x, float *y, int64_t n, float b)				\
{											\
	uint32_t above = 0;								\
											\
	(void)b;									\
	for (int64_t i = 0; i < n; i++) {						\
		float v = x[i];								\
											\
		y[i] = v = expr;							\
		above |= 0x7f800000 - (as_bits(v) & 0x7fffffff);			\
	}										\
	return above >> 31;								\
}

HARD_SWISH_6(hard_swish_6, v * clip6(v + 3))
HARD_SWISH_6(hard_swish_6_plus, v * clip6(v + 3) + b)
UNARY(swish, v * sigmoid1(a * v))
UNARY(affine, v * a + b)
UNARY(exponential, exp1(v))
UNARY(logarithm, log1(v))
UNARY(square_root, sqrtf(v))
UNARY(reciprocal, 1 / v)
UNARY(round_even, round1(v))
UNARY(hyperbolic_tangent, tanh1(v))
UNARY(error_function, erf1(v))
UNARY(softplus, softplus1(v))
UNARY(elu, elu1(v, a))

CNN_CLONES
void cnn_exp_shifted(const float *x, float shift, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = exp1(x[i] - shift);
}

void cnn_act_apply(const struct cnn_act *act, const float *x, float *y, int64_t n)
{
	static cnn_unary_fn *const fn[] = {
		[CNN_ACT_RELU] = relu, [CNN_ACT_CLIP] = clip, [CNN_ACT_SIGMOID] = sigmoid,
		[CNN_ACT_HARD_SIGMOID] = hard_sigmoid, [CNN_ACT_HARD_SWISH] = hard_swish,
		[CNN_ACT_LEAKY_RELU] = leaky_relu, [CNN_ACT_SWISH] = swish,
		[CNN_ACT_AFFINE] = affine,
	};

	if (act->kind != CNN_ACT_NONE)
		fn[act->kind](x, y, n, act->a, act->b);
	else if (x != y && n)
		memmove(y, x, n * sizeof(*y));
}

void cnn_op_finish(const struct cnn_call *c, float *y, int64_t n)
{
	cnn_act_apply(&c->node->act, y, y, n);
	cnn_canonical_nans(y, n);
}

int cnn_infer_unary_float(struct cnn_call *c)
{
	return CNN_WANT(c, c->in[0], CNN_FLOAT32) ?: cnn_infer_like(c, c->in[0]);
}

/* HardSwish and the affine activation act in one loop, NaNs made canonical. */
static void hard_swish_scaled(const struct cnn_act *act, const float *x, float *y, int64_t n)
{
	bool nan = true;

	if (act->a != 6)
		hard_swish_affine(x, y, n, act->a * (1.0f / 6), act->b);
	else if (act->b != 0)
		nan = hard_swish_6_plus(x, y, n, act->b);
	else
		nan = hard_swish_6(x, y, n, 0);
	if (nan)
		cnn_canonical_nans(y, n);
}

cnn_unary_fn *cnn_unary_of(enum cnn_op op)
{
	static cnn_unary_fn *const fn[CNN_OP_COUNT] = {
		[CNN_OP_ELU] = elu, [CNN_OP_ERF] = error_function, [CNN_OP_EXP] = exponential,
		[CNN_OP_HARD_SIGMOID] = hard_sigmoid, [CNN_OP_HARD_SWISH] = hard_swish,
		[CNN_OP_LEAKY_RELU] = leaky_relu, [CNN_OP_LOG] = logarithm,
		[CNN_OP_RECIPROCAL] = reciprocal, [CNN_OP_RELU] = relu, [CNN_OP_ROUND] = round_even,
		[CNN_OP_SIGMOID] = sigmoid, [CNN_OP_SOFTPLUS] = softplus,
		[CNN_OP_SQRT] = square_root, [CNN_OP_SWISH] = swish,
		[CNN_OP_TANH] = hyperbolic_tangent,
	};

	return fn[op];
}

static cnn_unary_fn *function_of(const struct cnn_node *n)
{
	return cnn_unary_of(n->op) ?: cnn_trigonometry_of(n->op) ?: cnn_activation_of(n);
}

static void unary_block(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	const struct cnn_node *node = c->node;
	const struct cnn_unary_params *p = &node->params.unary;
	const float *x = (const float *)c->in[0]->data + first;
	float *y = (float *)c->out[0]->data + first;

	if (node->op == CNN_OP_HARD_SWISH && node->act.kind == CNN_ACT_AFFINE) {
		hard_swish_scaled(&node->act, x, y, n);
		return;
	}
	function_of(node)(x, y, n, p->alpha, p->beta);
	cnn_op_finish(c, y, n);
}

int cnn_compute_unary_float(struct cnn_call *c)
{
	cnn_for_blocks(c, cnn_tensor_count(c->in[0]), CNN_BLOCK, unary_block, c);
	c->finished = true;
	return CNN_OK;
}
