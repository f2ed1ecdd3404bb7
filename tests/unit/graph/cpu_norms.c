// SPDX-License-Identifier: MIT
/* Normalizations against slow readings of their definitions. */
#include <math.h>

#include "util.h"

#define N	2
#define C	6
#define H	3
#define W	5
#define COUNT	(N * C * H * W)

static struct cnn_tensor map(void)
{
	return random_tensor(4, OB_DIMS(N, C, H, W));
}

/* Compares y with (x - mean) / deviation * scale + bias for groups: element i is of groups[i]. */
static void check(const struct cnn_tensor *x, const struct cnn_tensor *y, const int *groups,
		  double epsilon, double (*affine)(int i, double v))
{
	for (int i = 0; i < COUNT; i++) {
		double mean = 0, square = 0, n = 0, v, want;

		for (int j = 0; j < COUNT; j++)
			if (groups[j] == groups[i]) {
				mean += ((float *)x->data)[j];
				square += pow(((float *)x->data)[j], 2);
				n++;
			}
		mean /= n;
		v = (((float *)x->data)[i] - mean) / sqrt(square / n - mean * mean + epsilon);
		want = affine(i, v);
		if (!(fabs(((float *)y->data)[i] - want) <= 3e-6 * (1 + fabs(want))))
			fail_msg("element %d: %g, %g expected", i, ((float *)y->data)[i], want);
	}
}

/* Runs one node on a map with two constants, and gives the map, too. */
static void run(struct onnx_build *b, struct cnn_tensor *x, struct cnn_tensor *y)
{
	struct cnn_graph *g = inferred(b);

	*x = map();
	run_graph(g, x, y);
	cnn_graph_free(g);
}

static struct onnx_build *start(int opset)
{
	struct onnx_build *b = ob_new(opset);

	ob_input(b, "x", 1, OB_DIMS(N, C, H, W));
	return b;
}

static const float scales[C] = { 1, -2, 3, 0.5f, 0, 7 }, biases[C] = { 0, 1, -1, 2, 3, -3 };

static double by_channel(int i, double v)
{
	return v * scales[i / (H * W) % C] + biases[i / (H * W) % C];
}

/* Three groups of two channels each. */
static double by_group(int i, double v)
{
	return v * scales[i / (2 * H * W) % 3] + biases[i / (2 * H * W) % 3];
}

static double plain(int i, double v)
{
	(void)i;
	return v;
}

static void test_group(void **state)
{
	(void)state;
	for (int opset = 18; opset <= 21; opset += 3) {
		int64_t count = opset == 18 ? 3 : C;
		struct onnx_build *b = start(opset);
		struct cnn_tensor x, y;
		Onnx__NodeProto *node;
		int groups[COUNT];

		ob_floats(b, "scale", 1, &count, scales);
		ob_floats(b, "bias", 1, &count, biases);
		node = ob_node(b, "GroupNormalization", "x scale bias", "y");
		ob_attr_int(node, "num_groups", 3);
		ob_attr_float(node, "epsilon", 0.01f);
		ob_output(b, "y");
		run(b, &x, &y);
		for (int i = 0; i < COUNT; i++)
			groups[i] = i / (2 * H * W);
		check(&x, &y, groups, 0.01, opset == 18 ? by_group : by_channel);
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
	}
}

/* A scale for each channel broadcasts to the normalised axes. */
static void test_layer(void **state)
{
	struct onnx_build *b = start(17);
	struct cnn_tensor x = map(), out[3];
	Onnx__NodeProto *node;
	int groups[COUNT];
	struct cnn_graph *g;

	(void)state;
	ob_floats(b, "scale", OB_DIMS(C, 1, 1), scales);
	ob_floats(b, "bias", OB_DIMS(1, C, 1, 1), biases);
	node = ob_node(b, "LayerNormalization", "x scale bias", "y mean inverse");
	ob_attr_int(node, "axis", 1);
	ob_output(b, "y mean inverse");
	g = inferred(b);
	run_graph(g, &x, out);
	cnn_graph_free(g);
	for (int i = 0; i < COUNT; i++)
		groups[i] = i / (C * H * W);
	check(&x, &out[0], groups, 1e-5, by_channel);
	for (int i = 1; i < 3; i++)
		assert_dims(&out[i], OB_DIMS(N, 1, 1, 1));
	for (int i = 0; i < 3; i++)
		cnn_tensor_release(&out[i]);
	cnn_tensor_release(&x);
}

static void test_mean_variance(void **state)
{
	struct onnx_build *b = start(13);
	struct cnn_tensor x, y;
	int groups[COUNT];

	(void)state;
	ob_attr_ints(ob_node(b, "MeanVarianceNormalization", "x", "y"), "axes", 2,
		     (const int64_t[]){ 1, -1 });
	ob_output(b, "y");
	run(b, &x, &y);
	for (int i = 0; i < COUNT; i++)
		groups[i] = i / (C * H * W) * H + i / W % H;
	check(&x, &y, groups, 0, plain);
	cnn_tensor_release(&x);
	cnn_tensor_release(&y);
}

/* An even size has one neighbour more after a channel than before it; a huge one has all. */
static void test_lrn(void **state)
{
	static const int64_t sizes[] = { 1, 2, 4, 5, INT64_MAX };

	(void)state;
	for (int s = 0; s < 5; s++) {
		struct onnx_build *b = start(13);
		struct cnn_tensor x, y;
		Onnx__NodeProto *node = ob_node(b, "LRN", "x", "y");

		ob_attr_int(node, "size", sizes[s]);
		ob_attr_float(node, "alpha", 0.5f);
		ob_output(b, "y");
		run(b, &x, &y);
		for (int i = 0; i < COUNT; i++) {
			int image = i / (C * H * W), channel = i / (H * W) % C;
			int64_t before = (sizes[s] - 1) / 2, after = sizes[s] - 1 - before;
			double sum = 0, want;

			for (int j = 0; j < C; j++)
				if (j >= channel - before && j - channel <= after)
					sum += pow(((float *)x.data)[(image * C + j) * H * W +
								     i % (H * W)], 2);
			want = ((float *)x.data)[i] /
			       pow(1 + 0.5 / (double)sizes[s] * sum, 0.75);
			if (!(fabs(((float *)y.data)[i] - want) <= 1e-6 * fabs(want)))
				fail_msg("size %lld, element %d: %g, %g expected",
					 (long long)sizes[s], i, ((float *)y.data)[i], want);
		}
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
	}
}

/* Nothing is normalised if there is nothing. */
static void test_empty(void **state)
{
	static const char *const ops[] = {
		"InstanceNormalization", "LayerNormalization", "MeanVarianceNormalization", "LRN",
		"Hardmax",
	};

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct cnn_tensor x = view(1, OB_DIMS(0, 2, 3, 4), NULL), y;
		struct onnx_build *b = ob_new(17);
		Onnx__NodeProto *node;
		struct cnn_graph *g;
		char nothing[1];

		x.data = nothing;
		ob_input(b, "x", 1, OB_DIMS(0, 2, 3, 4));
		ob_floats(b, "s", OB_DIMS(2), scales);
		ob_floats(b, "t", OB_DIMS(4), scales);
		node = ob_node(b, ops[i], i == 0 ? "x s s" : i == 1 ? "x t" : "x", "y");
		if (i == 3)
			ob_attr_int(node, "size", 3);
		ob_output(b, "y");
		g = inferred(b);
		run_graph(g, &x, &y);
		assert_dims(&y, OB_DIMS(0, 2, 3, 4));
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_layer),
		cmocka_unit_test(test_mean_variance),
		cmocka_unit_test(test_lrn),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests_name("cpu norms", tests, NULL, NULL);
}
