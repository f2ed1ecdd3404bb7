// SPDX-License-Identifier: MIT
/* Functions of one number against the C library's in double. */
#include <math.h>

#include "util.h"

static double elu(double x)
{
	return x < 0 ? expm1(x) : x;
}

static double leaky(double x)
{
	return x < 0 ? 0.01f * x : x;
}

static double softplus(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double reciprocal(double x)
{
	return 1 / x;
}

static double swish(double x)
{
	return x / (1 + exp(-x));
}

static double negative(double x)
{
	return -x;
}

static double selu(double x)
{
	return 1.0507010221481323 * (x > 0 ? x : 1.6732631921768188 * expm1(x));
}

static double celu(double x)
{
	return x > 0 ? x : expm1(x);
}

static double softsign(double x)
{
	return x / (1 + fabs(x));
}

static double mish(double x)
{
	return x * tanh(log1p(exp(x)));
}

static double gelu(double x)
{
	return x / 2 * erfc(-x * M_SQRT1_2);
}

static double thresholded(double x)
{
	return x > 1 ? x : 0;
}

static double shrink(double x)
{
	return fabs(x) > 0.5 ? x : 0;
}

static double sign(double x)
{
	return (x > 0) - (x < 0);
}

static const struct function {
	const char *op;
	double (*fn)(double x);
	double rtol, from, to;
} functions[] = {
	{ "Abs", fabs, 0, -9, 9 },
	{ "Acos", acos, 1.2e-7, -1, 1 },
	{ "Acosh", acosh, 1.2e-7, 1, 1.01 },
	{ "Acosh", acosh, 1.2e-7, 1, 3e38 },
	{ "Asin", asin, 1.2e-7, -1, 1 },
	{ "Asin", asin, 1.2e-7, -1e-5, 1e-5 },
	{ "Asinh", asinh, 1.2e-7, -0.01, 0.01 },
	{ "Asinh", asinh, 1.2e-7, -9, 9 },
	{ "Asinh", asinh, 1.2e-7, -3e38, 3e38 },
	{ "Atan", atan, 1.2e-7, -3, 3 },
	{ "Atan", atan, 1.2e-7, -1e-5, 1e6 },
	{ "Atanh", atanh, 1e-7, -1, 1 },
	{ "Atanh", atanh, 1e-7, -0.01, 0.01 },
	{ "Ceil", ceil, 0, -9, 9 },
	{ "Celu", celu, 2e-7, -20, 5 },
	{ "Cos", cos, 1.2e-7, -20, 20 },
	{ "Cos", cos, 1.2e-7, 1e5, 1e7 },
	{ "Cos", cos, 1.2e-7, -3e38, 3e38 },
	{ "Cosh", cosh, 1.2e-7, -89, 89 },
	{ "Elu", elu, 2e-7, -20, 5 },
	{ "Erf", erf, 4e-7, -6, 6 },
	{ "Exp", exp, 1e-7, -80, 80 },
	{ "Floor", floor, 0, -9, 9 },
	{ "Gelu", gelu, 4e-7, -8, 8 },
	{ "LeakyRelu", leaky, 2e-7, -9, 9 },
	{ "Log", log, 1e-7, 1e-30, 900 },
	{ "Log", log, 1e-7, 1e-44, 1e-37 },
	{ "Mish", mish, 4e-7, -30, 30 },
	{ "Neg", negative, 0, -9, 9 },
	{ "Reciprocal", reciprocal, 1e-7, -9, 9 },
	{ "Selu", selu, 2e-7, -20, 5 },
	{ "Shrink", shrink, 0, -2, 2 },
	{ "Sign", sign, 0, -2, 2 },
	{ "Sin", sin, 1.2e-7, -20, 20 },
	{ "Sin", sin, 1.2e-7, -1e-5, 1e-5 },
	{ "Sin", sin, 1.2e-7, 1e5, 1e7 },
	{ "Sin", sin, 1.2e-7, -3e38, 3e38 },
	{ "Sinh", sinh, 1.2e-7, -1, 1 },
	{ "Sinh", sinh, 1.2e-7, -89, 89 },
	{ "Softsign", softsign, 2e-7, -9, 9 },
	{ "Softplus", softplus, 2e-7, -30, 90 },
	{ "Sqrt", sqrt, 1e-7, 0, 1e9 },
	{ "Swish", swish, 4e-7, -30, 30 },
	{ "Tan", tan, 1.2e-7, -20, 20 },
	{ "Tan", tan, 1.2e-7, -3e38, 3e38 },
	{ "ThresholdedRelu", thresholded, 0, -9, 9 },
	{ "Tanh", tanh, 1e-7, -12, 12 },
	{ "Tanh", tanh, 1e-7, -1e-6, 1e-6 },
};

static void test_functions(void **state)
{
	static float v[20001];
	struct cnn_tensor x = view(1, OB_DIMS(20001), v);

	(void)state;
	for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
		const struct function *fn = &functions[f];
		struct cnn_tensor y;

		for (int i = 0; i < 20001; i++)
			v[i] = (float)(fn->from * (1 - i / 20000.0) + fn->to * (i / 20000.0));
		y = run_op(fn->op, 20, 1, &x);
		for (int i = 0; i < 20001; i++) {
			double got = ((float *)y.data)[i], want = (float)fn->fn(v[i]);

			if (got != want && !(fabs(got - want) <= fn->rtol * fabs(want)))
				fail_msg("%s(%.9g): %.9g, %.9g expected", fn->op, v[i], got, want);
		}
		cnn_tensor_release(&y);
	}
}

static void test_function_limits(void **state)
{
	static const struct {
		const char *op;
		float x, y;
	} t[] = {
		{ "Exp", -INFINITY, 0 }, { "Exp", INFINITY, INFINITY }, { "Exp", NAN, NAN },
		{ "Log", 0, -INFINITY }, { "Log", -1, NAN }, { "Log", INFINITY, INFINITY },
		{ "Log", NAN, NAN }, { "Log", 1, 0 }, { "Tanh", INFINITY, 1 },
		{ "Tanh", -INFINITY, -1 }, { "Tanh", NAN, NAN }, { "Erf", INFINITY, 1 },
		{ "Erf", -INFINITY, -1 }, { "Erf", NAN, NAN }, { "Sqrt", -1, NAN },
		{ "Softplus", INFINITY, INFINITY }, { "Softplus", -INFINITY, 0 },
		{ "Softplus", NAN, NAN }, { "Elu", -INFINITY, -1 }, { "Elu", NAN, NAN },
		{ "LeakyRelu", NAN, NAN }, { "Abs", -INFINITY, INFINITY }, { "HardSwish", 9, 9 },
		{ "HardSwish", -3, 0 }, { "Reciprocal", 0, INFINITY },
		{ "Sin", INFINITY, NAN }, { "Sin", NAN, NAN }, { "Cos", -INFINITY, NAN },
		{ "Cos", 0, 1 }, { "Tan", INFINITY, NAN }, { "Asin", 1.5f, NAN },
		{ "Acos", -1.5f, NAN }, { "Acos", 1, 0 }, { "Acos", -1, (float)M_PI },
		{ "Atan", INFINITY, (float)M_PI_2 }, { "Atan", -INFINITY, -(float)M_PI_2 },
		{ "Atan", NAN, NAN }, { "Sinh", 200, INFINITY }, { "Sinh", -200, -INFINITY },
		{ "Sinh", NAN, NAN }, { "Cosh", -200, INFINITY }, { "Cosh", NAN, NAN },
		{ "Asinh", -INFINITY, -INFINITY }, { "Asinh", NAN, NAN }, { "Acosh", 0.5f, NAN },
		{ "Acosh", INFINITY, INFINITY }, { "Acosh", NAN, NAN }, { "Atanh", 1, INFINITY },
		{ "Atanh", -1, -INFINITY }, { "Atanh", 2, NAN }, { "Atanh", NAN, NAN },
		{ "Floor", NAN, NAN }, { "Floor", -0.5f, -1 }, { "Ceil", 1e30f, 1e30f },
		{ "Ceil", -INFINITY, -INFINITY }, { "Gelu", NAN, NAN }, { "Gelu", 1e9f, 1e9f },
		{ "Gelu", -1e9f, 0 }, { "Mish", NAN, NAN }, { "Mish", 1e9f, 1e9f },
		{ "Mish", -1e9f, 0 }, { "Selu", NAN, NAN }, { "Celu", NAN, NAN },
		{ "Sign", NAN, NAN }, { "ThresholdedRelu", NAN, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		float v = t[i].x;
		struct cnn_tensor x = view(1, 0, NULL, &v), y = run_op(t[i].op, 20, 1, &x);
		float got = *(float *)y.data;

		if (!(got == t[i].y || (isnan(got) && isnan(t[i].y))))
			fail_msg("%s(%g): %g, %g expected", t[i].op, v, got, t[i].y);
		cnn_tensor_release(&y);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_function_limits),
	};

	return cmocka_run_group_tests_name("cpu functions", tests, NULL, NULL);
}
