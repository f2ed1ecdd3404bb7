// SPDX-License-Identifier: MIT
/* Operators against slow readings of their definitions, and against pinned bits. */
#include <math.h>
#include <stdio.h>

#include "util.h"

static int pick(uint32_t *state, int lo, int hi)
{
	return lo + (int)(ob_rand(state) % (uint32_t)(hi - lo + 1));
}

/* ---- windows ---------------------------------------------------------------------------- */

struct layer {
	int rank, group;
	int64_t x[5], w[5], kernel[3], stride[3], dilation[3], pads[6];
};

static struct layer random_layer(uint32_t *state)
{
	struct layer l = { .rank = pick(state, 1, 3), .group = pick(state, 1, 3) };
	int per_in = pick(state, 1, 3), per_out = pick(state, 1, 9);

	l.x[0] = pick(state, 1, 2);
	l.x[1] = l.group * per_in;
	l.w[0] = l.group * per_out;
	l.w[1] = per_in;
	for (int i = 0; i < l.rank; i++) {
		l.kernel[i] = l.w[i + 2] = pick(state, 1, 4);
		l.stride[i] = pick(state, 1, 3);
		l.dilation[i] = pick(state, 1, 3);
		l.x[i + 2] = l.dilation[i] * (l.kernel[i] - 1) +
			     pick(state, 1, l.rank > 2 ? 4 : 20);
		l.pads[i] = pick(state, 0, l.kernel[i] - 1);
		l.pads[i + l.rank] = pick(state, 0, l.kernel[i] - 1);
	}
	return l;
}

static void window_attrs(Onnx__NodeProto *n, const struct layer *l)
{
	ob_attr_ints(n, "kernel_shape", l->rank, l->kernel);
	ob_attr_ints(n, "strides", l->rank, l->stride);
	ob_attr_ints(n, "dilations", l->rank, l->dilation);
	ob_attr_ints(n, "pads", 2 * l->rank, l->pads);
}

/* Coordinates of element i of a box. */
static void unravel(int64_t i, int rank, const int64_t *dims, int64_t *at)
{
	for (int a = rank - 1; a >= 0; a--) {
		at[a] = i % dims[a];
		i /= dims[a];
	}
}

/* Index in one input plane of tap k of output o; -1 in the padding. */
static int64_t tap(const struct layer *l, const int64_t *o, int64_t k)
{
	int64_t at[3], index = 0;

	unravel(k, l->rank, l->kernel, at);
	for (int i = 0; i < l->rank; i++) {
		int64_t p = o[i] * l->stride[i] + at[i] * l->dilation[i] - l->pads[i];

		if (p < 0 || p >= l->x[i + 2])
			return -1;
		index = index * l->x[i + 2] + p;
	}
	return index;
}

static int64_t volume(int rank, const int64_t *dims)
{
	int64_t n = 1;

	for (int i = 0; i < rank; i++)
		n *= dims[i];
	return n;
}

static double conv_at(const struct layer *l, const float *x, const float *w, const int64_t *y)
{
	int64_t plane = volume(l->rank, l->x + 2), taps = volume(l->rank, l->kernel);
	int64_t g = y[1] / (l->w[0] / l->group);
	double sum = 0;

	for (int64_t c = 0; c < l->w[1]; c++)
		for (int64_t k = 0; k < taps; k++) {
			int64_t p = tap(l, y + 2, k);

			if (p >= 0)
				sum += (double)x[(y[0] * l->x[1] + g * l->w[1] + c) * plane + p] *
				       w[(y[1] * l->w[1] + c) * taps + k];
		}
	return sum;
}

static void test_conv(void **state)
{
	uint32_t rng = 4711;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct layer l = random_layer(&rng);
		struct cnn_tensor x = random_tensor(i, l.rank + 2, l.x), y;
		struct onnx_build *b = ob_new(11);
		struct cnn_graph *g;
		Onnx__NodeProto *n;
		const float *w, *bias;

		ob_input(b, "x", 1, l.rank + 2, l.x);
		ob_random(b, "w", i + 1, l.rank + 2, l.w);
		ob_random(b, "b", i + 2, 1, l.w);
		n = ob_node(b, "Conv", "x w b", "y");
		window_attrs(n, &l);
		ob_attr_int(n, "group", l.group);
		ob_output(b, "y");
		g = inferred(b);
		w = g->values[cnn_graph_find_value(g, "w")].t.data;
		bias = g->values[cnn_graph_find_value(g, "b")].t.data;
		run_graph(g, &x, &y);
		for (int64_t j = 0; j < cnn_tensor_count(&y); j++) {
			int64_t at[5];
			double want;

			unravel(j, y.rank, y.dims, at);
			want = conv_at(&l, x.data, w, at) + bias[at[1]];
			if (fabs(((float *)y.data)[j] - want) > 2e-5)
				fail_msg("layer %d, element %lld: %g, %g expected", i, (long long)j,
					 ((float *)y.data)[j], want);
		}
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

static double pool_at(const struct layer *l, const float *plane, const int64_t *o, bool max,
		      bool include_pad)
{
	int64_t taps = volume(l->rank, l->kernel), n = 0;
	double best = -INFINITY, sum = 0;

	for (int64_t k = 0; k < taps; k++) {
		int64_t p = tap(l, o, k);

		if (p < 0)
			continue;
		n++;
		sum += plane[p];
		best = plane[p] > best ? plane[p] : best;
	}
	return max ? best : sum / (include_pad ? taps : n);
}

static void test_pools(void **state)
{
	uint32_t rng = 815;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct layer l = random_layer(&rng);
		bool max = i & 1, include = i & 2;
		struct onnx_build *b = ob_new(19);
		struct cnn_tensor x, y;
		struct cnn_graph *g;
		Onnx__NodeProto *n;

		for (int j = 0; j < l.rank; j++)	/* a window must meet the map */
			l.pads[j] = l.pads[j + l.rank] = l.dilation[j] == 1 ? l.pads[j] : 0;
		x = random_tensor(i, l.rank + 2, l.x);
		ob_input(b, "x", 1, l.rank + 2, l.x);
		n = ob_node(b, max ? "MaxPool" : "AveragePool", "x", "y");
		window_attrs(n, &l);
		if (!max)
			ob_attr_int(n, "count_include_pad", include);
		ob_output(b, "y");
		g = inferred(b);
		run_graph(g, &x, &y);
		for (int64_t j = 0; j < cnn_tensor_count(&y); j++) {
			int64_t at[5];
			const float *plane;
			double want;

			unravel(j, y.rank, y.dims, at);
			plane = (float *)x.data +
				(at[0] * l.x[1] + at[1]) * volume(l.rank, l.x + 2);
			want = pool_at(&l, plane, at + 2, max, include);
			if (fabs(((float *)y.data)[j] - want) > 1e-6)
				fail_msg("pool %d, element %lld: %g, %g expected", i, (long long)j,
					 ((float *)y.data)[j], want);
		}
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

/* ---- products --------------------------------------------------------------------------- */

static void test_gemm(void **state)
{
	uint32_t rng = 99;

	(void)state;
	for (int i = 0; i < 200; i++) {
		int64_t m = pick(&rng, 1, 9), k = pick(&rng, 1, 40), n = pick(&rng, 1, 40);
		bool ta = i & 1, tb = i & 2;
		int64_t ad[2] = { ta ? k : m, ta ? m : k }, bd[2] = { tb ? n : k, tb ? k : n };
		int64_t cd[2] = { i & 4 ? m : 1, i & 8 ? n : 1 };
		struct cnn_tensor in[3] = { random_tensor(i, 2, ad), random_tensor(i + 1, 2, bd),
					    random_tensor(i + 2, 2, cd) }, y;
		const float *a = in[0].data, *b = in[1].data, *c = in[2].data;
		struct onnx_build *ob = ob_new(13);
		struct cnn_graph *g;
		Onnx__NodeProto *node;

		ob_input(ob, "a", 1, 2, ad);
		ob_input(ob, "b", 1, 2, bd);
		ob_input(ob, "c", 1, 2, cd);
		node = ob_node(ob, "Gemm", "a b c", "y");
		ob_attr_int(node, "transA", ta);
		ob_attr_int(node, "transB", tb);
		ob_attr_float(node, "alpha", 0.5f);
		ob_attr_float(node, "beta", 2);
		ob_output(ob, "y");
		g = inferred(ob);
		run_graph(g, in, &y);
		for (int64_t j = 0; j < m * n; j++) {
			int64_t row = j / n, col = j % n;
			double want = 2 * c[(i & 4 ? row : 0) * cd[1] + (i & 8 ? col : 0)];

			for (int64_t l = 0; l < k; l++)
				want += 0.5 * a[ta ? l * m + row : row * k + l] *
					b[tb ? col * k + l : l * n + col];
			assert_true(fabs(((float *)y.data)[j] - want) < 1e-5);
		}
		for (int j = 0; j < 3; j++)
			cnn_tensor_release(&in[j]);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

static struct cnn_graph *binary_graph(const char *op, int dtype, int ra, const int64_t *a, int rb,
				      const int64_t *b)
{
	struct onnx_build *ob = ob_new(14);

	ob_input(ob, "a", dtype, ra, a);
	ob_input(ob, "b", dtype, rb, b);
	ob_node(ob, op, "a b", "y");
	ob_output(ob, "y");
	return inferred(ob);
}

static void test_int64_matmul(void **state)
{
	int64_t a[12], b[8], want;
	struct cnn_tensor in[2] = { view(CNN_INT64, OB_DIMS(2, 3, 2), a),
				    view(CNN_INT64, OB_DIMS(2, 4), b) }, y;
	struct cnn_graph *g = binary_graph("MatMul", 7, OB_DIMS(2, 3, 2), OB_DIMS(2, 4));

	(void)state;
	for (int i = 0; i < 12; i++)
		a[i] = i - 5;
	for (int i = 0; i < 8; i++)
		b[i] = INT64_MAX / 7 * (i - 3);		/* products wrap */
	run_graph(g, in, &y);
	assert_dims(&y, OB_DIMS(2, 3, 4));
	for (int i = 0; i < 24; i++) {
		want = (int64_t)((uint64_t)a[i / 4 * 2] * (uint64_t)b[i % 4] +
				 (uint64_t)a[i / 4 * 2 + 1] * (uint64_t)b[4 + i % 4]);
		assert_true(((int64_t *)y.data)[i] == want);
	}
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* ---- element by element ----------------------------------------------------------------- */

static void random_shapes(uint32_t *rng, int *rank, int64_t *a, int64_t *b)
{
	*rank = pick(rng, 0, 5);
	for (int i = 0; i < *rank; i++) {
		int64_t d = pick(rng, 1, 4);
		int how = pick(rng, 0, 3);

		a[i] = how == 1 ? 1 : d;
		b[i] = how == 2 ? 1 : d;
	}
}

static void test_broadcast(void **state)
{
	static const char *const ops[] = { "Add", "Sub", "Mul", "Div" };
	uint32_t rng = 31337;

	(void)state;
	for (int i = 0; i < 400; i++) {
		int64_t a[5], b[5], at[5];
		int rank, skip;
		struct cnn_tensor in[2], y;
		struct cnn_graph *g;

		random_shapes(&rng, &rank, a, b);
		skip = rank ? pick(&rng, 0, rank) : 0;		/* b without its outer axes */
		in[0] = random_tensor(i, rank, a);
		in[1] = random_tensor(i + 7, rank - skip, b + skip);
		g = binary_graph(ops[i % 4], 1, rank, a, rank - skip, b + skip);
		run_graph(g, in, &y);
		for (int64_t j = 0; j < cnn_tensor_count(&y); j++) {
			int64_t ia = 0, ib = 0;
			float u, v, want;

			unravel(j, y.rank, y.dims, at);
			for (int k = 0; k < rank; k++) {
				ia = ia * a[k] + (a[k] == 1 ? 0 : at[k]);
				if (k >= skip)
					ib = ib * b[k] + (b[k] == 1 ? 0 : at[k]);
			}
			u = ((float *)in[0].data)[ia];
			v = ((float *)in[1].data)[ib];
			want = i % 4 == 0 ? u + v : i % 4 == 1 ? u - v : i % 4 == 2 ? u * v : u / v;
			assert_true(((float *)y.data)[j] == want || isnan(want));
		}
		cnn_tensor_release(&in[0]);
		cnn_tensor_release(&in[1]);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

static void test_int_division(void **state)
{
	int64_t a[4] = { INT64_MIN, 7, -7, 7 }, b[4] = { -1, 0, 2, -2 };
	static const int64_t want[4] = { INT64_MIN, 0, -3, -3 };
	struct cnn_tensor in[2] = { view(CNN_INT64, OB_DIMS(4), a),
				    view(CNN_INT64, OB_DIMS(4), b) };
	struct cnn_graph *g = binary_graph("Div", 7, OB_DIMS(4), OB_DIMS(4));
	struct cnn_tensor y;

	(void)state;
	run_graph(g, in, &y);
	assert_memory_equal(y.data, want, sizeof(want));
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static void test_nan(void **state)
{
	float a[4] = { INFINITY, 0, -NAN, 1 }, b[4] = { INFINITY, 0, 1, 1 };
	struct cnn_tensor in[2] = { view(1, OB_DIMS(4), a), view(1, OB_DIMS(4), b) }, y;
	struct cnn_graph *g = binary_graph("Sub", 1, OB_DIMS(4), OB_DIMS(4));

	(void)state;
	run_graph(g, in, &y);
	assert_int_equal(bits(((float *)y.data)[0]), 0x7fc00000);
	assert_int_equal(bits(((float *)y.data)[1]), 0);
	assert_int_equal(bits(((float *)y.data)[2]), 0x7fc00000);
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* ---- pinned bits ------------------------------------------------------------------------ */

static uint64_t digest(const void *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)p)[i]) * 0x100000001b3;
	return h;
}

static void test_exp(void **state)
{
	static float y[4096];
	double worst = 0;

	(void)state;
	for (int i = 0; i < 2000000; i++) {
		float x = -87.0f + 175.0f * (float)i / 2000000;
		double want = exp((double)x), ulp = ldexp(1, ilogb(want) - 23);
		double off = fabs(cnn_expf(x) - want) / ulp;

		worst = off > worst ? off : worst;
	}
	assert_true(worst < 0.51);
	assert_true(cnn_expf(0) == 1 && cnn_expf(-INFINITY) == 0 && cnn_expf(89) == INFINITY);
	assert_true(cnn_expf(-150) == 0 && isnan(cnn_expf(NAN)) && cnn_expf(-100) > 0);
	for (int i = 0; i < 4096; i++)
		y[i] = cnn_expf((float)(i - 2048) / 23);
	assert_int_equal(digest(y, sizeof(y)), 0x30b0cb76d2d06650);
}

/* A whole network gives these bits on every machine. */
static void test_network_bits(void **state)
{
	struct cnn_graph *g = inferred(ob_network(0));
	struct cnn_tensor x = random_tensor(5, OB_DIMS(1, 2, 6, 7)), y;

	(void)state;
	run_graph(g, &x, &y);
	assert_int_equal(digest(y.data, cnn_tensor_bytes(&y)), 0xd4103cf954792477);
	cnn_tensor_release(&x);
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* ---- movement --------------------------------------------------------------------------- */

static struct cnn_graph *cast_graph(int from, int to, int64_t n)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", from, 1, &n);
	ob_attr_int(ob_node(b, "Cast", "x", "y"), "to", to);
	ob_output(b, "y");
	return inferred(b);
}

static void cast(int from, int to, int64_t n, void *x, struct cnn_tensor *y)
{
	struct cnn_graph *g = cast_graph(from, to, n);
	struct cnn_tensor in = view(from, 1, &n, x);

	run_graph(g, &in, y);
	cnn_graph_free(g);
}

static void test_half(void **state)
{
	static uint16_t h[65536];
	struct cnn_tensor wide, back;
	/* ties to even, overflow, subnormals, the largest */
	float f[6] = { 2049, 2051, 65519, 65520, 0x1.8p-25f, 0x1p-25f };
	static const uint16_t want[6] = { 0x6800, 0x6802, 0x7bff, 0x7c00, 1, 0 };

	(void)state;
	for (int i = 0; i < 65536; i++)
		h[i] = i;
	cast(CNN_FLOAT16, CNN_FLOAT32, 65536, h, &wide);
	cast(CNN_FLOAT32, CNN_FLOAT16, 65536, wide.data, &back);
	for (int i = 0; i < 65536; i++)
		if ((i & 0x7c00) != 0x7c00 || !(i & 0x3ff))
			assert_int_equal(((uint16_t *)back.data)[i], i);
	cnn_tensor_release(&wide);
	cnn_tensor_release(&back);
	cast(CNN_FLOAT32, CNN_FLOAT16, 6, f, &back);
	assert_memory_equal(back.data, want, sizeof(want));
	cnn_tensor_release(&back);
}

/* Floats round to the same halves as the doubles that are equal to them. */
static void test_half_rounding(void **state)
{
	static uint32_t bits[200000];
	struct cnn_tensor wide, from_float, from_double;
	uint32_t rng = 99;

	(void)state;
	for (int i = 0; i < 200000; i++)	/* from 2^-30 to 2^20, halfway cases among them */
		bits[i] = (ob_rand(&rng) & (i & 1 ? 0x80000fff : 0x80001000)) | (97 + (uint32_t)i % 51) << 23 |
			  (ob_rand(&rng) & 0x7ff000);
	cast(CNN_FLOAT32, CNN_FLOAT16, 200000, bits, &from_float);
	cast(CNN_FLOAT32, CNN_FLOAT64, 200000, bits, &wide);
	cast(CNN_FLOAT64, CNN_FLOAT16, 200000, wide.data, &from_double);
	assert_memory_equal(from_float.data, from_double.data, 400000);
	cnn_tensor_release(&wide);
	cnn_tensor_release(&from_float);
	cnn_tensor_release(&from_double);
}

static void test_cast_limits(void **state)
{
	float f[6] = { 1e30f, -1e30f, NAN, -1.9f, INFINITY, 300 };
	static const int64_t want[6] = { INT64_MAX, INT64_MIN, 0, -1, INT64_MAX, 300 };
	struct cnn_tensor y;

	(void)state;
	cast(CNN_FLOAT32, CNN_INT64, 6, f, &y);
	assert_memory_equal(y.data, want, sizeof(want));
	cnn_tensor_release(&y);
	cast(CNN_FLOAT32, CNN_BOOL, 6, f, &y);
	for (int i = 0; i < 6; i++)
		assert_int_equal(((uint8_t *)y.data)[i], 1);
	cnn_tensor_release(&y);
}

static void test_softmax_forms(void **state)
{
	struct cnn_tensor x = random_tensor(1, OB_DIMS(2, 3, 4)), y;

	(void)state;
	for (int opset = 11; opset <= 13; opset += 2) {
		struct onnx_build *b = ob_new(opset);
		struct cnn_graph *g;

		ob_input(b, "x", 1, OB_DIMS(2, 3, 4));
		ob_attr_int(ob_node(b, "Softmax", "x", "y"), "axis", 1);
		ob_output(b, "y");
		g = inferred(b);
		run_graph(g, &x, &y);
		for (int i = 0; i < 2; i++) {
			double column = 0, all = 0;

			for (int j = 0; j < 12; j++) {
				all += ((float *)y.data)[i * 12 + j];
				column += j % 4 ? 0 : ((float *)y.data)[i * 12 + j];
			}
			assert_true(fabs((opset < 13 ? all : column) - 1) < 1e-6);
		}
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
	cnn_tensor_release(&x);
}

/* The executor brings its own memory for outputs. */
static void test_given_output(void **state)
{
	struct cnn_graph *g = binary_graph("Add", 1, OB_DIMS(4), OB_DIMS(4));
	float a[4] = { 1, 2, 3, 4 }, sum[4];
	struct cnn_tensor x = view(1, OB_DIMS(4), a), y = view(1, OB_DIMS(4), sum);
	const struct cnn_tensor *in[2] = { &x, &x };
	struct cnn_tensor *out[1] = { &y };
	struct cnn_err err;

	(void)state;
	g->nodes[0].act = (struct cnn_act){ CNN_ACT_CLIP, 3, 7 };
	assert_int_equal(cnn_cpu_run(&g->nodes[0], in, out, NULL, &err), 0);
	assert_true(y.data == sum && sum[0] == 3 && sum[1] == 4 && sum[3] == 7);
	y.capacity = 15;
	assert_int_equal(cnn_cpu_run(&g->nodes[0], in, out, NULL, &err), CNN_ELIMIT);
	x.data = NULL;
	assert_int_equal(cnn_cpu_run(&g->nodes[0], in, out, NULL, &err), CNN_EINVAL);
	cnn_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_gemm),
		cmocka_unit_test(test_int64_matmul),
		cmocka_unit_test(test_broadcast),
		cmocka_unit_test(test_int_division),
		cmocka_unit_test(test_nan),
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_network_bits),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_half_rounding),
		cmocka_unit_test(test_cast_limits),
		cmocka_unit_test(test_softmax_forms),
		cmocka_unit_test(test_given_output),
	};

	return cmocka_run_group_tests_name("cpu operators", tests, NULL, NULL);
}
