// SPDX-License-Identifier: MIT
/* Comparisons, selections and reductions against slow readings of their definitions. */
#include <math.h>
#include <stdio.h>

#include "util.h"

static int pick(uint32_t *state, int lo, int hi)
{
	return lo + (int)(ob_rand(state) % (uint32_t)(hi - lo + 1));
}

static void unravel(int64_t i, int rank, const int64_t *dims, int64_t *at)
{
	for (int a = rank - 1; a >= 0; a--) {
		at[a] = i % dims[a];
		i /= dims[a];
	}
}

static void test_integers(void **state)
{
	int64_t v[4] = { INT64_MIN, -5, 0, 7 };
	int8_t w[4] = { -128, -5, 0, 7 };
	static const int64_t neg[4] = { INT64_MIN, 5, 0, -7 };
	static const int8_t abs8[4] = { -128, 5, 0, 7 };
	struct cnn_tensor x = view(CNN_INT64, OB_DIMS(4), v), y = run_op("Neg", 13, 1, &x);

	(void)state;
	assert_memory_equal(y.data, neg, sizeof(neg));
	cnn_tensor_release(&y);
	x = view(CNN_INT8, OB_DIMS(4), w);
	y = run_op("Abs", 13, 1, &x);
	assert_memory_equal(y.data, abs8, sizeof(abs8));
	cnn_tensor_release(&y);
}

/* ---- Pow ---------------------------------------------------------------------------------- */

static void test_pow(void **state)
{
	static const float special[] = {
		0, -0.0f, 1, -1, 2, -2, 3, -3, 0.5f, -0.5f, 1.5f, 100, -101, 1e9f, INFINITY,
		-INFINITY, NAN, 1e-40f, 65, -65, 1e30f,
	};
	enum { N = sizeof(special) / sizeof(special[0]) };
	float a[N * N], b[N * N];
	struct cnn_tensor in[2] = { view(1, OB_DIMS(N * N), a), view(1, OB_DIMS(N * N), b) }, y;
	uint32_t rng = 55;

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < N * N; i++) {
			a[i] = round ? pick(&rng, 1, 100000) / 1000.0f : special[i / N];
			b[i] = round ? pick(&rng, -20000, 20000) / 1000.0f : special[i % N];
		}
		y = run_op("Pow", 13, 2, in);
		for (int i = 0; i < N * N; i++) {
			float got = ((float *)y.data)[i], want = (float)pow(a[i], b[i]);

			if (!(got == want || (isnan(got) && isnan(want)) ||
			      fabs((double)got - want) <= 1.2e-7 * fabs(want)))
				fail_msg("%g ^ %g: %.9g, %.9g expected", a[i], b[i], got, want);
		}
		cnn_tensor_release(&y);
	}
}

static void test_pow_integers(void **state)
{
	int64_t a[6] = { 3, -2, 2, -1, 49, 10 };
	int64_t b[6] = { 39, 63, 64, 1000001, 1, 0 };
	float h[6] = { 2, 3, -1, 2, 0.5f, 0.30103f };
	static const int64_t whole[6] = { 4052555153018976267, INT64_MIN, 0, -1, 49, 1 };
	static const int64_t real[6] = { 9, -8, 0, 1, 7, 2 };
	struct cnn_tensor in[2] = { view(7, OB_DIMS(6), a), view(7, OB_DIMS(6), b) }, y;

	(void)state;
	y = run_op("Pow", 13, 2, in);
	assert_memory_equal(y.data, whole, sizeof(whole));
	cnn_tensor_release(&y);
	in[1] = view(1, OB_DIMS(6), h);
	y = run_op("Pow", 13, 2, in);
	assert_memory_equal(y.data, real, sizeof(real));
	cnn_tensor_release(&y);
}

/* ---- several operands ---------------------------------------------------------------------- */

/* Up to three shapes that broadcast together; the last may lack its outer axes. */
static void random_shapes(uint32_t *rng, int n, int *rank, int64_t dims[3][5])
{
	int full = pick(rng, 0, 5);

	for (int i = 0; i < n; i++)
		rank[i] = i ? pick(rng, 0, full) : full;
	for (int a = 0; a < full; a++) {
		int64_t d = pick(rng, 1, 4);

		for (int i = 0; i < n; i++)
			if (a >= full - rank[i])
				dims[i][a - (full - rank[i])] = pick(rng, 0, 2) ? d : 1;
	}
}

/* The element of t that broadcasts to place at of a tensor of this rank. */
static int64_t broadcast_index(const struct cnn_tensor *t, int rank, const int64_t *at)
{
	int64_t index = 0;

	for (int i = 0; i < t->rank; i++)
		index = index * t->dims[i] +
			(t->dims[i] == 1 ? 0 : at[rank - t->rank + i]);
	return index;
}

static const char *const wide_ops[] = {
	"Max", "Min", "Sum", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", "Where",
	"PRelu",
};

static double slow_wide(int op, double u, double v, double w)
{
	switch (op) {
	case 0:
		return fmax(fmax(u, v), w);
	case 1:
		return fmin(fmin(u, v), w);
	case 2:
		return (float)(u + v) + w;
	case 3:
		return u > v;
	case 4:
		return u < v;
	case 5:
		return u >= v;
	case 6:
		return u <= v;
	case 7:
		return u == v;
	case 8:
		return u > 0 ? v : w;
	default:
		return u < 0 ? u * v : u;
	}
}

/* Compares y with the definition; the condition of Where is a > 0. */
static void check_wide(int op, int n, const struct cnn_tensor *in, const struct cnn_tensor *y)
{
	for (int64_t j = 0; j < cnn_tensor_count(y); j++) {
		double v[3] = { 0 }, got, want;
		int64_t at[5];

		unravel(j, y->rank, y->dims, at);
		for (int k = 0; k < n; k++) {
			int64_t i = broadcast_index(&in[k], y->rank, at);

			v[k] = in[k].dtype == CNN_BOOL ? ((uint8_t *)in[k].data)[i] :
							 ((float *)in[k].data)[i];
		}
		want = slow_wide(op, v[0], v[1], v[2]);
		got = y->dtype == CNN_BOOL ? ((uint8_t *)y->data)[j] : ((float *)y->data)[j];
		if (got != (float)want)
			fail_msg("%s, element %lld: %g, %g expected", wide_ops[op], (long long)j,
				 got, want);
	}
}

static void test_wide(void **state)
{
	uint32_t rng = 161803;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int op = i % 10, n = op < 3 || op == 8 ? 3 : 2, rank[3];
		struct cnn_tensor in[3], y;
		int64_t dims[3][5];
		uint8_t cond[4096];

		random_shapes(&rng, n, rank, dims);
		for (int k = 0; k < n; k++) {
			if (op == 9 && k == 1)		/* the slope may not enlarge */
				for (int a = 0; a < rank[1]; a++)
					dims[1][a] = 1;
			in[k] = random_tensor(i + 10 * k, rank[k], dims[k]);
			for (int64_t j = 0; op == 7 && j < cnn_tensor_count(&in[k]); j++)
				((float *)in[k].data)[j] = pick(&rng, 0, 2);
		}
		if (op == 8) {
			for (int64_t j = 0; j < cnn_tensor_count(&in[0]); j++)
				cond[j] = ((float *)in[0].data)[j] > 0;
			cnn_tensor_release(&in[0]);
			in[0] = view(CNN_BOOL, rank[0], dims[0], cond);
		}
		y = run_op(wide_ops[op], 16, n, in);
		check_wide(op, n, in, &y);
		for (int k = 0; k < n; k++)
			cnn_tensor_release(&in[k]);
		cnn_tensor_release(&y);
	}
}

static void test_logic(void **state)
{
	static const char *const ops[] = { "And", "Or", "Xor", "Equal" };
	static const uint8_t want[4][4] = { { 0, 0, 0, 1 }, { 0, 1, 1, 1 }, { 0, 1, 1, 0 },
					    { 1, 0, 0, 1 } };
	uint8_t a[4] = { 0, 0, 1, 1 }, b[4] = { 0, 1, 0, 1 };
	struct cnn_tensor in[2] = { view(CNN_BOOL, OB_DIMS(4), a),
				    view(CNN_BOOL, OB_DIMS(4), b) }, y;

	(void)state;
	for (int i = 0; i < 4; i++) {
		y = run_op(ops[i], 13, 2, in);
		assert_memory_equal(y.data, want[i], 4);
		cnn_tensor_release(&y);
	}
}

static void test_order_nan(void **state)
{
	float a[3] = { NAN, 1, NAN }, b[3] = { 1, NAN, NAN };
	struct cnn_tensor in[2] = { view(1, OB_DIMS(3), a), view(1, OB_DIMS(3), b) }, y;

	(void)state;
	for (int i = 0; i < 2; i++) {
		y = run_op(i ? "Max" : "Min", 13, 2, in);
		for (int j = 0; j < 3; j++)
			assert_true(isnan(((float *)y.data)[j]));
		cnn_tensor_release(&y);
	}
}

/* A list of slopes was one per channel before opset 7. */
static void test_old_prelu(void **state)
{
	float x[8] = { -1, -2, 3, -4, -5, 6, -7, -8 }, slope[2] = { 2, 10 };
	static const float want[8] = { -2, -4, 3, -8, -50, 6, -70, -80 };
	struct cnn_tensor in[2] = { view(1, OB_DIMS(1, 2, 2, 2), x), view(1, OB_DIMS(2), slope) };
	struct cnn_tensor y = run_op("PRelu", 6, 2, in);

	(void)state;
	assert_memory_equal(y.data, want, sizeof(want));
	cnn_tensor_release(&y);
}

static void test_expand(void **state)
{
	float x[3] = { 1, 2, 3 };
	struct cnn_tensor in = view(1, OB_DIMS(3, 1), x), y;
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(3, 1));
	ob_int64s(b, "shape", 3, (const int64_t[]){ 2, 1, 4 });
	ob_node(b, "Expand", "x shape", "y");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &in, &y);
	assert_dims(&y, OB_DIMS(2, 3, 4));
	for (int i = 0; i < 24; i++)
		assert_true(((float *)y.data)[i] == x[i / 4 % 3]);
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* ---- reductions ---------------------------------------------------------------------------- */

static const char *const reductions[] = {
	"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceL2",
	"ReduceSumSquare",
};

static double slow_step(int op, double acc, double v)
{
	switch (op) {
	case 1:
		return fmax(acc, v);
	case 2:
		return fmin(acc, v);
	case 3:
		return acc * v;
	case 5:
		return acc + fabs(v);
	case 6:
	case 7:
		return acc + v * v;
	default:
		return acc + v;
	}
}

/* The reduction at one place of the input with the reduced axes kept as ones. */
static double slow_reduce(int op, const struct cnn_tensor *x, unsigned int set, const int64_t *at)
{
	double acc = op == 1 ? -INFINITY : op == 2 ? INFINITY : op == 3;
	int64_t n = 0, p[5];

	for (int64_t i = 0; i < cnn_tensor_count(x); i++) {
		bool here = true;

		unravel(i, x->rank, x->dims, p);
		for (int a = 0; a < x->rank; a++)
			here &= set & 1u << a || p[a] == at[a];
		if (!here)
			continue;
		n++;
		acc = slow_step(op, acc, x->dtype == CNN_INT64 ? ((int64_t *)x->data)[i] :
				((float *)x->data)[i]);
	}
	return op == 4 ? acc / n : op == 6 ? sqrt(acc) : acc;
}

static struct cnn_graph *reduce_graph(int op, int opset, const struct cnn_tensor *x,
				      unsigned int set)
{
	struct onnx_build *b = ob_new(opset);
	int64_t axes[5];
	Onnx__NodeProto *n;
	int count = 0;

	for (int a = 0; a < x->rank; a++)
		if (set & 1u << a)
			axes[count++] = a & 1 ? a : a - x->rank;
	ob_input(b, "x", x->dtype, x->rank, x->dims);
	ob_int64s(b, "axes", count, axes);
	n = ob_node(b, reductions[op], opset >= 18 ? "x axes" : "x", "y");
	if (opset < 18 && op)
		ob_attr_ints(n, "axes", count, axes);
	ob_output(b, "y");
	return inferred(b);
}

static void test_reduce(void **state)
{
	uint32_t rng = 5772;

	(void)state;
	for (int i = 0; i < 400; i++) {
		int op = i % 8, opset = op && i & 8 ? 11 : 18, rank = pick(&rng, 1, 5);
		unsigned int set = pick(&rng, 1, (1 << rank) - 1);
		int64_t dims[5], at[5];
		struct cnn_tensor x, y;
		struct cnn_graph *g;

		for (int a = 0; a < rank; a++)
			dims[a] = pick(&rng, 1, 4);
		x = random_tensor(i, rank, dims);
		g = reduce_graph(op, opset, &x, set);
		run_graph(g, &x, &y);
		for (int64_t j = 0; j < cnn_tensor_count(&y); j++) {
			double want;

			unravel(j, rank, y.dims, at);
			want = slow_reduce(op, &x, set, at);
			assert_true(fabs(((float *)y.data)[j] - want) <= 1e-6 * (1 + fabs(want)));
		}
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

static void test_reduce_integers(void **state)
{
	int64_t v[6] = { -5, 3, 7, 2, -9, 4 };
	struct cnn_tensor x = view(CNN_INT64, OB_DIMS(2, 3), v), y;

	(void)state;
	for (int op = 0; op < 8; op++) {
		struct cnn_graph *g;

		if (op == 5)
			continue;
		g = reduce_graph(op, 18, &x, 2);
		run_graph(g, &x, &y);
		assert_int_equal(y.dtype, CNN_INT64);
		for (int64_t j = 0; j < 2; j++)
			assert_true(((int64_t *)y.data)[j] ==
				    (int64_t)slow_reduce(op, &x, 2, &j));
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

static void test_arg(void **state)
{
	float v[12] = { 1, 5, 2, 5, 5, 2, 1, NAN, 2, -3, -3, NAN };
	struct cnn_tensor x = view(1, OB_DIMS(3, 4), v), y;

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct onnx_build *b = ob_new(13);
		int axis = i & 1, min = i >> 1 & 1, last = i >> 2;
		struct cnn_graph *g;
		Onnx__NodeProto *n;

		ob_input(b, "x", 1, OB_DIMS(3, 4));
		n = ob_node(b, min ? "ArgMin" : "ArgMax", "x", "y");
		ob_attr_int(n, "axis", axis);
		ob_attr_int(n, "keepdims", 0);
		ob_attr_int(n, "select_last_index", last);
		ob_output(b, "y");
		g = inferred(b);
		run_graph(g, &x, &y);
		for (int j = 0; j < (axis ? 3 : 4); j++) {
			int64_t best = -1;

			for (int k = 0; k < (axis ? 4 : 3); k++) {
				float c = v[axis ? j * 4 + k : k * 4 + j];
				float o = best < 0 ? 0 : v[axis ? j * 4 + best : best * 4 + j];

				if (best < 0 || (isnan(c) && !isnan(o)) || (min ? c < o : c > o) ||
				    (last && c == o))
					best = k;
			}
			assert_true(((int64_t *)y.data)[j] == best);
		}
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_pow),
		cmocka_unit_test(test_pow_integers),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_logic),
		cmocka_unit_test(test_order_nan),
		cmocka_unit_test(test_old_prelu),
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_reduce_integers),
		cmocka_unit_test(test_arg),
	};

	return cmocka_run_group_tests_name("cpu elements", tests, NULL, NULL);
}
