// SPDX-License-Identifier: MIT
/* Networks of float16: every operator computes in float32, and its result is rounded. */
#include <math.h>

#include "ops/ops.h"
#include "util.h"

static uint16_t to_half(float v)
{
	uint16_t h;

	cnn_cast(CNN_FLOAT32, &v, CNN_FLOAT16, &h, 1);
	return h;
}

static float to_float(uint16_t h)
{
	float v;

	cnn_cast(CNN_FLOAT16, &h, CNN_FLOAT32, &v, 1);
	return v;
}

static struct cnn_tensor run_network(struct onnx_build *b, const struct cnn_tensor *x,
				     unsigned int fuse)
{
	struct cnn_graph *g = inferred(b);
	struct cnn_err err = { 0 };
	struct cnn_tensor y;

	assert_int_equal(cnn_graph_fuse(g, fuse, &err), 0);
	run_graph(g, x, &y);
	cnn_graph_free(g);
	return y;
}

/* A Conv, a BatchNormalization and a Relu in float16, or the same numbers in float32. */
static struct onnx_build *network(bool half)
{
	static const float w[] = { 0.5f, -0.25f, 1, 0.125f }, four[] = { 0.1f, 2 };
	struct onnx_build *b = ob_new(15);
	int type = half ? CNN_FLOAT16 : CNN_FLOAT32;
	uint16_t w16[4], four16[2];

	for (int i = 0; i < 4; i++)
		w16[i] = to_half(w[i]);
	for (int i = 0; i < 2; i++)
		four16[i] = to_half(four[i]);
	ob_input(b, "x", type, OB_DIMS(1, 2, 3, 3));
	ob_raw(b, "w", type, half ? 2 : 4, OB_DIMS(2, 2, 1, 1), half ? (void *)w16 : (void *)w);
	ob_raw(b, "s", type, half ? 2 : 4, OB_DIMS(2), half ? (void *)four16 : (void *)four);
	ob_node(b, "Conv", "x w", "c");
	ob_node(b, "BatchNormalization", "c s s s s", "n");
	ob_node(b, "Relu", "n", "y");
	ob_output(b, "y");
	return b;
}

static void test_network(void **state)
{
	struct cnn_tensor x = random_tensor(3, OB_DIMS(1, 2, 3, 3)), x16, y, y16;
	uint16_t halves[18];

	(void)state;
	for (int i = 0; i < 18; i++) {
		halves[i] = to_half(((float *)x.data)[i]);
		((float *)x.data)[i] = to_float(halves[i]);
	}
	x16 = view(CNN_FLOAT16, OB_DIMS(1, 2, 3, 3), halves);
	y = run_network(network(false), &x, CNN_FUSE_ALL);
	y16 = run_network(network(true), &x16, CNN_FUSE_ALL);
	assert_int_equal(y16.dtype, CNN_FLOAT16);
	assert_dims(&y16, OB_DIMS(1, 2, 3, 3));
	for (int i = 0; i < 18; i++)
		if (!(fabsf(to_float(((uint16_t *)y16.data)[i]) - ((float *)y.data)[i]) < 4e-3f))
			fail_msg("element %d: %g, %g expected", i,
				 to_float(((uint16_t *)y16.data)[i]), ((float *)y.data)[i]);
	cnn_tensor_release(&x);
	cnn_tensor_release(&y);
	cnn_tensor_release(&y16);
}

/* Fused for a core that computes float16, the network is one node, which rounds once. */
static void test_fused(void **state)
{
	struct cnn_tensor x = random_tensor(3, OB_DIMS(1, 2, 3, 3)), x16, y, y16;
	struct cnn_graph *g = inferred(network(true)), *wide = inferred(network(false));
	struct cnn_err err = { 0 };
	uint16_t halves[18];
	float *w;

	(void)state;
	for (int i = 0; i < 18; i++) {
		halves[i] = to_half(((float *)x.data)[i]);
		((float *)x.data)[i] = to_float(halves[i]);
	}
	x16 = view(CNN_FLOAT16, OB_DIMS(1, 2, 3, 3), halves);
	assert_int_equal(cnn_graph_fuse(g, CNN_FUSE_NEUTRAL | CNN_FUSE_HALF, &err), 0);
	assert_int_equal(g->n_nodes, 1);
	assert_int_equal(g->nodes[0].act.kind, CNN_ACT_RELU);
	assert_int_equal(cnn_node_in(g, &g->nodes[0], 1)->dtype, CNN_FLOAT32);
	run_graph(g, &x16, &y16);
	/* The same weights in the network of float32. */
	for (int i = 0; i < wide->n_values; i++) {
		struct cnn_tensor *t = &wide->values[i].t;

		w = t->data;
		for (int64_t k = 0; w && k < cnn_tensor_count(t); k++)
			w[k] = to_float(to_half(w[k]));
	}
	assert_int_equal(cnn_graph_fuse(wide, CNN_FUSE_NEUTRAL, &err), 0);
	run_graph(wide, &x, &y);
	assert_int_equal(y16.dtype, CNN_FLOAT16);
	for (int i = 0; i < 18; i++)
		assert_int_equal(((uint16_t *)y16.data)[i], to_half(((float *)y.data)[i]));
	cnn_graph_free(g);
	cnn_graph_free(wide);
	cnn_tensor_release(&x);
	cnn_tensor_release(&y);
	cnn_tensor_release(&y16);
}

/* Without that no two of its nodes become one, but what costs nothing. */
static void test_not_fused(void **state)
{
	struct cnn_graph *g = inferred(network(true));
	struct cnn_err err = { 0 };

	(void)state;
	assert_int_equal(cnn_graph_fuse(g, CNN_FUSE_ALL, &err), 0);
	assert_int_equal(g->n_nodes, 3);
	cnn_graph_free(g);
}

/* Each result is rounded: a sum that no half holds is not there for the next operator. */
static void test_rounding(void **state)
{
	uint16_t v[2] = { to_half(2048), to_half(1) };
	struct cnn_tensor x = view(CNN_FLOAT16, OB_DIMS(1), v), y;
	struct onnx_build *b = ob_new(14);

	(void)state;
	ob_input(b, "x", CNN_FLOAT16, OB_DIMS(1));
	ob_raw(b, "one", CNN_FLOAT16, 2, OB_DIMS(1), &v[1]);
	ob_node(b, "Add", "x one", "sum");
	ob_node(b, "Sub", "sum x", "y");
	ob_output(b, "y");
	y = run_network(b, &x, CNN_FUSE_ALL);
	assert_int_equal(*(uint16_t *)y.data, 0);
	cnn_tensor_release(&y);
}

/* Outputs of other types stay what they are. */
static void test_types(void **state)
{
	uint16_t v[4] = { to_half(1), to_half(-3), to_half(2), 0x7e00 };
	struct cnn_tensor x = view(CNN_FLOAT16, OB_DIMS(2, 2), v), same[2] = { x, x }, y;
	float tenth = 0.1f;

	(void)state;
	y = run_op("Greater", 13, 2, same);
	assert_int_equal(y.dtype, CNN_BOOL);
	cnn_tensor_release(&y);
	y = run_op("IsNaN", 13, 1, &x);
	assert_int_equal(y.dtype, CNN_BOOL);
	assert_memory_equal(y.data, ((const uint8_t[]){ 0, 0, 0, 1 }), 4);
	cnn_tensor_release(&y);
	y = run_op("ArgMax", 13, 1, &x);
	assert_int_equal(y.dtype, CNN_INT64);
	cnn_tensor_release(&y);
	y = run_op("Max", 13, 2, same);
	assert_int_equal(y.dtype, CNN_FLOAT16);
	assert_memory_equal(y.data, v, sizeof(v));
	cnn_tensor_release(&y);
	same[0] = view(CNN_FLOAT32, OB_DIMS(1), &tenth);
	y = run_op("CastLike", 15, 2, same);
	assert_int_equal(*(uint16_t *)y.data, to_half(tenth));
	cnn_tensor_release(&y);
}

/* LayerNormalization's means are in the type in which it computes. */
static void test_means(void **state)
{
	uint16_t v[4] = { to_half(1), to_half(3), to_half(-2), to_half(6) };
	struct cnn_tensor x = view(CNN_FLOAT16, OB_DIMS(2, 2), v), out[2];
	struct onnx_build *b = ob_new(17);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", CNN_FLOAT16, OB_DIMS(2, 2));
	ob_raw(b, "s", CNN_FLOAT16, 2, OB_DIMS(2), v);
	ob_node(b, "LayerNormalization", "x s", "y mean");
	ob_output(b, "y mean");
	g = inferred(b);
	run_graph(g, &x, out);
	cnn_graph_free(g);
	assert_int_equal(out[0].dtype, CNN_FLOAT16);
	assert_int_equal(out[1].dtype, CNN_FLOAT32);
	assert_memory_equal(out[1].data, ((const float[]){ 2, 2 }), 8);
	cnn_tensor_release(&out[0]);
	cnn_tensor_release(&out[1]);
}

/* Scales in float16 are not fused as if they were in float32. */
static void test_scales(void **state)
{
	uint16_t scale = to_half(0.5f);
	int8_t v[4] = { 1, -2, 3, 4 };
	static const int8_t want[4] = { 1, 0, 3, 4 };
	struct cnn_tensor x = view(CNN_INT8, OB_DIMS(4), v), y;
	struct onnx_build *b = ob_new(19);

	(void)state;
	ob_input(b, "x", CNN_INT8, OB_DIMS(4));
	ob_raw(b, "s", CNN_FLOAT16, 2, 0, NULL, &scale);
	ob_raw(b, "z", CNN_INT8, 1, 0, NULL, (const int8_t[]){ 0 });
	ob_node(b, "DequantizeLinear", "x s z", "f");
	ob_node(b, "Relu", "f", "r");
	ob_node(b, "QuantizeLinear", "r s z", "y");
	ob_output(b, "y");
	y = run_network(b, &x, CNN_FUSE_ALL);
	assert_int_equal(y.dtype, CNN_INT8);
	assert_memory_equal(y.data, want, 4);
	cnn_tensor_release(&y);
}

/* Scalars of float16 give a shape when they are constants. */
static void test_shape(void **state)
{
	uint16_t v[3] = { to_half(1), to_half(4), to_half(0.5f) };
	struct onnx_build *b = ob_new(11);
	struct cnn_graph *g;
	struct cnn_tensor y;

	(void)state;
	for (int i = 0; i < 3; i++)
		ob_raw(b, (const char *[]){ "a", "b", "c" }[i], CNN_FLOAT16, 2, 0, NULL, &v[i]);
	ob_node(b, "Range", "a b c", "y");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, NULL, &y);
	cnn_graph_free(g);
	assert_int_equal(y.dtype, CNN_FLOAT16);
	assert_dims(&y, OB_DIMS(6));
	assert_int_equal(((uint16_t *)y.data)[5], to_half(3.5f));
	cnn_tensor_release(&y);
}

/* So do all elements, where their number is to be found. */
static void test_unique(void **state)
{
	static uint16_t v[300];
	struct cnn_tensor x = view(CNN_FLOAT16, OB_DIMS(300), v), y;

	(void)state;
	for (int i = 0; i < 300; i++)
		v[i] = to_half((float)(i % 7));
	y = run_op("Unique", 11, 1, &x);
	assert_int_equal(y.dtype, CNN_FLOAT16);
	assert_dims(&y, OB_DIMS(7));
	assert_int_equal(((uint16_t *)y.data)[6], to_half(6));
	cnn_tensor_release(&y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_fused), cmocka_unit_test(test_not_fused),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_means),
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_unique),
	};

	return cmocka_run_group_tests_name("cpu half", tests, NULL, NULL);
}
