// SPDX-License-Identifier: MIT
/* Fusing: what merges, what must not, and that results stay. */
#include <stdio.h>

#include "util.h"

static struct onnx_build *conv_chain(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 2, 6, 5));
	ob_random(b, "w", 1, OB_DIMS(3, 2, 3, 3));
	ob_random(b, "c", 9, OB_DIMS(1, 3, 1, 1));
	ob_random(b, "scale", 2, OB_DIMS(3));
	ob_random(b, "shift", 3, OB_DIMS(3));
	ob_random(b, "mean", 4, OB_DIMS(3));
	ob_floats(b, "var", OB_DIMS(3), (const float[]){ 0.5f, 1, 2 });
	ob_node(b, "Identity", "x", "i");
	ob_node(b, "Conv", "i w", "c1");
	ob_node(b, "BatchNormalization", "c1 scale shift mean var", "n");
	ob_node(b, "Add", "c n", "a");
	ob_node(b, "Dropout", "a", "d");
	ob_node(b, "Relu", "d", "y");
	ob_output(b, "y");
	return b;
}

static void test_conv_chain(void **state)
{
	struct cnn_graph *g = compare_fused(conv_chain, CNN_FUSE_ALL, 1e-5);

	(void)state;
	assert_int_equal(g->n_nodes, 1);
	assert_int_equal(g->nodes[0].op, CNN_OP_CONV);
	assert_int_equal(g->nodes[0].act.kind, CNN_ACT_RELU);
	assert_int_equal(g->nodes[0].n_in, 3);
	assert_non_null(strstr(g->nodes[0].fused, "BatchNormalization"));
	assert_int_equal(g->values[g->outputs[0]].producer, 0);
	cnn_graph_free(g);
	g = compare_fused(conv_chain, 0, 0);
	assert_int_equal(g->n_nodes, 6);
	cnn_graph_free(g);
	g = compare_fused(conv_chain, CNN_FUSE_NOP | CNN_FUSE_RELU, 0);
	assert_int_equal(g->n_nodes, 3);
	assert_int_equal(g->nodes[2].act.kind, CNN_ACT_RELU);
	cnn_graph_free(g);
}

/* Two convolutions share weights, and the value between conv and norm is an output. */
static struct onnx_build *shared(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 2, 4, 4));
	ob_random(b, "w", 1, OB_DIMS(2, 2, 1, 1));
	ob_random(b, "scale", 2, OB_DIMS(2));
	ob_random(b, "shift", 3, OB_DIMS(2));
	ob_random(b, "mean", 4, OB_DIMS(2));
	ob_floats(b, "var", OB_DIMS(2), (const float[]){ 0.5f, 3 });
	ob_node(b, "Conv", "x w", "c1");
	ob_node(b, "BatchNormalization", "c1 scale shift mean var", "n1");
	ob_node(b, "Conv", "n1 w", "c2");
	ob_node(b, "BatchNormalization", "c2 scale shift mean var", "n2");
	ob_node(b, "Relu", "n2", "r2");
	ob_node(b, "Add", "n1 r2", "y");
	ob_output(b, "c2 y");
	return b;
}

static void test_shared(void **state)
{
	struct cnn_graph *g = compare_fused(shared, CNN_FUSE_ALL, 1e-5);

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_CONV), 2);
	assert_int_equal(count_op(g, CNN_OP_BATCH_NORM), 1);	/* c2 is an output */
	assert_int_equal(count_op(g, CNN_OP_RELU), 0);		/* into the norm that stayed */
	cnn_graph_free(g);
}

static struct onnx_build *dense(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(3, 6));
	ob_random(b, "w", 1, OB_DIMS(6, 4));
	ob_random(b, "c", 2, OB_DIMS(4));
	ob_random(b, "d", 3, OB_DIMS(3, 1));
	ob_floats(b, "lo", 0, NULL, (const float[]){ -0.25f });
	ob_floats(b, "hi", 0, NULL, (const float[]){ 0.25f });
	ob_floats(b, "zero", 0, NULL, (const float[]){ 0 });
	ob_node(b, "MatMul", "x w", "m");
	ob_node(b, "Add", "m c", "a");
	ob_node(b, "Clip", "a lo hi", "k");
	ob_node(b, "MatMul", "x w", "m2");
	ob_node(b, "Add", "d m2", "a2");
	ob_node(b, "Clip", "a2 zero", "k2");
	ob_node(b, "MatMul", "x w", "m3");
	ob_node(b, "Sigmoid", "m3", "k3");
	ob_node(b, "MatMul", "x w", "m4");
	ob_node(b, "HardSwish", "m4", "k4");
	ob_output(b, "k k2 k3 k4");
	return b;
}

static void test_dense(void **state)
{
	struct cnn_graph *g = compare_fused(dense, CNN_FUSE_ALL, 0);

	(void)state;
	assert_int_equal(g->n_nodes, 4);
	assert_int_equal(count_op(g, CNN_OP_GEMM), 2);
	assert_int_equal(g->nodes[0].act.kind, CNN_ACT_CLIP);
	assert_int_equal(g->nodes[1].act.kind, CNN_ACT_RELU);
	assert_int_equal(g->nodes[2].act.kind, CNN_ACT_SIGMOID);
	assert_int_equal(g->nodes[3].act.kind, CNN_ACT_HARD_SWISH);
	cnn_graph_free(g);
	g = compare_fused(dense, CNN_FUSE_BIAS | CNN_FUSE_RELU | CNN_FUSE_FOR_CPU, 0);
	assert_int_equal(g->n_nodes, 7);
	cnn_graph_free(g);
	g = compare_fused(dense, CNN_FUSE_BIAS | CNN_FUSE_RELU, 0);
	assert_int_equal(g->n_nodes, 8);
	assert_int_equal(count_op(g, CNN_OP_GEMM), 1);	/* d is not one value per column */
	cnn_graph_free(g);
}

/* Nothing here may merge: other readers, operands that are not constants, shapes that grow. */
static struct onnx_build *open_ends(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 2, 3, 3));
	ob_input(b, "v", 1, OB_DIMS(1, 1, 1, 1));
	ob_random(b, "w", 1, OB_DIMS(1, 2, 3, 3));
	ob_random(b, "big", 2, OB_DIMS(1, 4, 1, 1));
	ob_random(b, "row", 3, OB_DIMS(1, 1, 1, 3));
	ob_node(b, "Conv", "x w", "c1");
	ob_node(b, "Add", "c1 v", "a1");
	ob_node(b, "Conv", "x w", "c2");
	ob_node(b, "Add", "c2 big", "a2");
	ob_node(b, "Conv", "x w", "c3");
	ob_node(b, "HardSigmoid", "c3", "s3");
	ob_node(b, "Mul", "c3 s3", "m3");
	ob_node(b, "Add", "x row", "a4");
	ob_output(b, "a1 a2 m3 a4");
	return b;
}

static void test_open_ends(void **state)
{
	struct cnn_graph *g = compare_fused(open_ends, CNN_FUSE_ALL & ~CNN_FUSE_ADD, 0);

	(void)state;
	assert_int_equal(g->n_nodes, 8);
	cnn_graph_free(g);
}

/* HardSwish and Swish as networks spell them, in every order of operands. */
static struct onnx_build *chains(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 2, 3, 3));
	ob_floats(b, "zero", 0, NULL, (const float[]){ 0 });
	ob_floats(b, "three", OB_DIMS(1), (const float[]){ 3 });
	ob_floats(b, "six", OB_DIMS(1), (const float[]){ 6 });
	ob_floats(b, "sixf", 0, NULL, (const float[]){ 6 });
	ob_floats(b, "sixth", 0, NULL, (const float[]){ 0.16666667f });
	ob_node(b, "Add", "x three", "a1");
	ob_node(b, "Clip", "a1 zero sixf", "c1");
	ob_node(b, "Mul", "x c1", "m1");
	ob_node(b, "Div", "m1 six", "y1");
	ob_node(b, "Add", "three y1", "a2");
	ob_node(b, "Clip", "a2 zero sixf", "c2");
	ob_node(b, "Mul", "c2 y1", "m2");
	ob_node(b, "Mul", "sixth m2", "y2");
	ob_node(b, "Add", "y2 three", "a3");
	ob_node(b, "Clip", "a3 zero sixf", "c3");
	ob_node(b, "Div", "c3 six", "d3");
	ob_node(b, "Mul", "d3 y2", "y3");
	ob_attr_float(ob_node(b, "HardSigmoid", "y3", "h4"), "alpha", 0.1666667f);
	ob_node(b, "Mul", "y3 h4", "y4");
	ob_node(b, "Sigmoid", "y4", "s5");
	ob_node(b, "Mul", "s5 y4", "y5");
	ob_node(b, "Mul", "y5 sixth", "y6");
	ob_node(b, "Add", "three y6", "y7");
	ob_output(b, "y7");
	return b;
}

static void test_chains(void **state)
{
	struct cnn_graph *g = compare_fused(chains, CNN_FUSE_ALL, 1e-6);

	(void)state;
	assert_int_equal(g->n_nodes, 3);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(g->nodes[i].op, CNN_OP_HARD_SWISH);
		assert_int_equal(g->nodes[i].act.kind, CNN_ACT_HARD_SWISH);
	}
	assert_int_equal(g->nodes[2].op, CNN_OP_SWISH);
	assert_int_equal(g->nodes[2].act.kind, CNN_ACT_AFFINE);
	cnn_graph_free(g);
}

/* Nearly the same: a constant, a bound or an operand is not that of HardSwish, or is an output. */
static struct onnx_build *no_chains(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(4));
	ob_floats(b, "zero", 0, NULL, (const float[]){ 0 });
	ob_floats(b, "three", 0, NULL, (const float[]){ 3 });
	ob_floats(b, "four", 0, NULL, (const float[]){ 4 });
	ob_floats(b, "six", 0, NULL, (const float[]){ 6 });
	ob_node(b, "Add", "x four", "a1");
	ob_node(b, "Clip", "a1 zero six", "c1");
	ob_node(b, "Mul", "x c1", "m1");
	ob_node(b, "Div", "m1 six", "y1");
	ob_node(b, "Add", "x three", "a2");
	ob_node(b, "Clip", "a2 zero four", "c2");
	ob_node(b, "Mul", "x c2", "m2");
	ob_node(b, "Div", "m2 six", "y2");
	ob_node(b, "Add", "x three", "a3");
	ob_node(b, "Clip", "a3 zero six", "c3");
	ob_node(b, "Mul", "y1 c3", "m3");
	ob_node(b, "Div", "m3 six", "y3");
	ob_node(b, "Sigmoid", "x", "s4");
	ob_node(b, "Mul", "s4 x", "y4");
	ob_output(b, "y2 y3 y4 s4");
	return b;
}

static void test_no_chains(void **state)
{
	struct cnn_graph *g = compare_fused(no_chains, CNN_FUSE_IDIOMS, 0);

	(void)state;
	assert_int_equal(g->n_nodes, 14);
	cnn_graph_free(g);
}

/* Squeeze and excite with a shortcut; and with factors that others read, or as many as elements. */
static struct onnx_build *shortcuts(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 3, 4, 4));
	ob_node(b, "GlobalAveragePool", "x", "g1");
	ob_node(b, "HardSigmoid", "g1", "s1");
	ob_node(b, "Mul", "s1 x", "m1");
	ob_node(b, "Add", "x m1", "y1");
	ob_node(b, "Sigmoid", "g1", "s2");
	ob_node(b, "Mul", "x s2", "m2");
	ob_node(b, "Add", "m2 x", "y2");
	ob_node(b, "HardSigmoid", "g1", "s3");
	ob_node(b, "Mul", "x s3", "m3");
	ob_node(b, "Add", "m3 x", "y3");
	ob_node(b, "Sigmoid", "y1", "s4");
	ob_node(b, "Mul", "x s4", "m4");
	ob_node(b, "Add", "m4 x", "a4");
	ob_node(b, "Sub", "a4 y2", "y4");
	ob_output(b, "y3 s3 y4");
	return b;
}

static void test_shortcuts(void **state)
{
	struct cnn_graph *g = compare_fused(shortcuts, CNN_FUSE_IDIOMS, 5e-7);

	(void)state;
	assert_int_equal(g->n_nodes, 10);	/* the second Sigmoid is in the first Mul */
	assert_int_equal(count_op(g, CNN_OP_ADD), 1);
	assert_int_equal(g->nodes[g->values[cnn_graph_find_value(g, "y3")].producer].op,
			 CNN_OP_SCALED_ADD);
	assert_int_equal(g->nodes[g->values[cnn_graph_find_value(g, "s4")].producer].op, CNN_OP_MUL);
	assert_int_equal(g->nodes[g->values[cnn_graph_find_value(g, "y2")].producer].op, CNN_OP_MUL);
	cnn_graph_free(g);
}

/* The one that such factors gain is not lost where their sigmoid could go into what is before it. */
static struct onnx_build *gates(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 3, 4, 4));
	ob_random(b, "w", 1, OB_DIMS(3, 3, 1, 1));
	ob_node(b, "GlobalAveragePool", "x", "g1");
	ob_node(b, "Sigmoid", "g1", "s1");
	ob_node(b, "Mul", "x s1", "m1");
	ob_node(b, "Add", "x m1", "y1");
	ob_node(b, "GlobalMaxPool", "y1", "g2");
	ob_node(b, "Conv", "g2 w", "c2");
	ob_node(b, "HardSigmoid", "c2", "s2");
	ob_node(b, "Mul", "s2 y1", "m2");
	ob_node(b, "Add", "m2 y1", "y2");
	ob_node(b, "GlobalMaxPool", "y2", "g3");
	ob_node(b, "ConvTranspose", "g3 w", "c3");
	ob_node(b, "Sigmoid", "c3", "s3");
	ob_node(b, "Mul", "s3 y2", "m3");
	ob_node(b, "Add", "y2 m3", "y3");
	ob_output(b, "y1 y2 y3");
	return b;
}

static void test_gates(void **state)
{
	struct cnn_graph *g = compare_fused(gates, CNN_FUSE_ALL, 5e-6);

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_ADD) + count_op(g, CNN_OP_SCALED_ADD), 0);
	cnn_graph_free(g);
}

/* What is around a grouped ConvTranspose moves into its constants. */
static struct onnx_build *transposed(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 4, 3, 2));
	ob_random(b, "w", 1, OB_DIMS(4, 3, 2, 2));
	ob_random(b, "c", 9, OB_DIMS(6, 1, 1));
	ob_random(b, "f", 8, OB_DIMS(1, 6, 1, 1));
	ob_random(b, "scale", 2, OB_DIMS(6));
	ob_random(b, "shift", 3, OB_DIMS(6));
	ob_random(b, "mean", 4, OB_DIMS(6));
	ob_floats(b, "var", OB_DIMS(6), (const float[]){ 0.5f, 1, 2, 3, 4, 5 });
	n = ob_node(b, "ConvTranspose", "x w", "t");
	ob_attr_int(n, "group", 2);
	ob_node(b, "Add", "t c", "a");
	ob_node(b, "BatchNormalization", "a scale shift mean var", "n");
	ob_node(b, "Mul", "f n", "m");
	ob_attr_float(ob_node(b, "LeakyRelu", "m", "y"), "alpha", 0.25f);
	ob_output(b, "y");
	return b;
}

static void test_transposed(void **state)
{
	struct cnn_graph *g = compare_fused(transposed, CNN_FUSE_ALL, 1e-5);

	(void)state;
	assert_int_equal(g->n_nodes, 1);
	assert_int_equal(g->nodes[0].act.kind, CNN_ACT_LEAKY_RELU);
	cnn_graph_free(g);
}

/* Merged, these would be nothing a core runs: each stays as it is. */
static struct onnx_build *core_products(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(3, 6));
	ob_random(b, "w", 1, OB_DIMS(6, 4));
	ob_random(b, "full", 2, OB_DIMS(3, 4));
	ob_random(b, "rows", 3, OB_DIMS(3, 1));
	ob_random(b, "a", 4, OB_DIMS(5, 3));
	ob_random(b, "c", 5, OB_DIMS(6));
	ob_node(b, "MatMul", "x w", "m1");
	ob_node(b, "Add", "m1 full", "y1");
	ob_node(b, "MatMul", "x w", "m2");
	ob_node(b, "Add", "m2 rows", "y2");
	ob_node(b, "MatMul", "a x", "m3");
	ob_node(b, "Add", "m3 c", "y3");
	ob_output(b, "y1 y2 y3");
	return b;
}

static void pool(struct onnx_build *b, const char *in, const char *out)
{
	ob_attr_ints(ob_node(b, "MaxPool", in, out), "kernel_shape", 2, (const int64_t[]){ 2, 2 });
}

/* Relu after a pool of an input, of a value with two readers, and of one the pool alone reads. */
static struct onnx_build *core_pools(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 2, 6, 5));
	ob_random(b, "w", 1, OB_DIMS(3, 2, 3, 3));
	pool(b, "x", "p1");
	ob_node(b, "Relu", "p1", "y1");
	ob_node(b, "Conv", "x w", "c2");
	pool(b, "c2", "p2");
	ob_node(b, "Relu", "p2", "y2");
	ob_node(b, "Sigmoid", "c2", "s2");
	ob_node(b, "Conv", "x w", "c3");
	pool(b, "c3", "p3");
	ob_node(b, "Relu", "p3", "y3");
	ob_output(b, "y1 y2 s2 y3");
	return b;
}

static void test_stays_on_core(void **state)
{
	const unsigned int what = CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU;
	struct cnn_graph *g = compare_fused(core_products, what, 0);

	(void)state;
	assert_int_equal(g->n_nodes, 6);
	assert_int_equal(count_op(g, CNN_OP_GEMM), 0);
	cnn_graph_free(g);
	g = compare_fused(core_pools, what, 0);
	assert_int_equal(g->n_nodes, 8);
	assert_int_equal(count_op(g, CNN_OP_RELU), 2);
	for (int i = 0; i < g->n_nodes; i++)
		assert_true(g->nodes[i].op != CNN_OP_MAX_POOL || !g->nodes[i].act.kind);
	assert_int_equal(g->nodes[g->values[cnn_graph_find_value(g, "c3")].producer].act.kind,
			 CNN_ACT_RELU);
	cnn_graph_free(g);
	g = compare_fused(core_pools, CNN_FUSE_ALL, 0);
	assert_int_equal(count_op(g, CNN_OP_RELU), 0);
	cnn_graph_free(g);
}

/* A Dropout that may turn out to train, and one that reads the value before it as its ratio. */
static void test_dropout(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;
	struct cnn_err err;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(4));
	ob_input(b, "ratio", 1, 0, NULL);
	ob_input(b, "train", 9, 0, NULL);
	ob_node(b, "Dropout", "x ratio train", "d");
	ob_node(b, "Relu", "d", "y");
	ob_node(b, "Relu", "ratio", "r");
	ob_node(b, "Dropout", "x r", "z");
	ob_output(b, "y z");
	g = inferred(b);
	assert_int_equal(cnn_graph_fuse(g, CNN_FUSE_ALL, &err), 0);
	assert_int_equal(g->n_nodes, 4);
	cnn_graph_free(g);
}

/* A residual block that ends in op, one whose op adds a constant, and a Sum of one value. */
static struct onnx_build *sums(const char *op, int opset)
{
	struct onnx_build *b = ob_new(opset);

	ob_input(b, "x", 1, OB_DIMS(1, 4, 5, 5));
	ob_random(b, "w", 1, OB_DIMS(4, 4, 1, 1));
	ob_random(b, "c", 2, OB_DIMS(1, 4, 5, 5));
	ob_node(b, "Conv", "x w", "c1");
	ob_node(b, "Identity", "c1", "i1");
	ob_node(b, op, "i1 x", "s1");
	ob_node(b, "Relu", "s1", "r1");
	ob_node(b, "Conv", "r1 w", "c2");
	ob_node(b, op, "c2 c", "s2");
	ob_node(b, !strcmp(op, "Sum") ? op : "Identity", "s2", "s3");
	ob_node(b, "Relu", "s3", "y");
	ob_output(b, "y");
	return b;
}

static void check_sums(int opset, unsigned int what)
{
	struct cnn_graph *g[2] = { inferred(sums("Sum", opset)), inferred(sums("Add", opset)) };
	struct cnn_tensor in = random_tensor(7, OB_DIMS(1, 4, 5, 5)), out[2];
	struct cnn_err err;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(cnn_graph_fuse(g[i], what, &err), 0);
		run_graph(g[i], &in, &out[i]);
	}
	assert_int_equal(g[0]->n_nodes, g[1]->n_nodes);
	for (int i = 0; i < g[0]->n_nodes; i++) {
		assert_int_equal(g[0]->nodes[i].op, g[1]->nodes[i].op);
		assert_int_equal(g[0]->nodes[i].act.kind, g[1]->nodes[i].act.kind);
	}
	assert_int_equal(count_op(g[0], CNN_OP_RELU), 0);
	assert_non_null(strstr(g[0]->nodes[0].fused, "Sum"));
	assert_memory_equal(out[0].data, out[1].data, (size_t)cnn_tensor_bytes(&out[0]));
	for (int i = 0; i < 2; i++) {
		cnn_tensor_release(&out[i]);
		cnn_graph_free(g[i]);
	}
	cnn_tensor_release(&in);
}

static void test_sums(void **state)
{
	(void)state;
	check_sums(6, CNN_FUSE_ALL);
	check_sums(13, CNN_FUSE_ALL);
	check_sums(13, CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU);
}

/* Scales and shifts behind an operator that is none of the products; then a Relu. */
static struct onnx_build *affine_chain(const char *first, const char *inputs, const char *order)
{
	struct onnx_build *b = ob_new(13);
	char from[32] = "m", to[32];
	int i = 0;

	ob_input(b, "x", 1, OB_DIMS(2, 3, 6, 5));
	ob_input(b, "z", 1, OB_DIMS(4, 3));
	ob_random(b, "w", 1, OB_DIMS(3, 3, 3, 3));
	ob_random(b, "v", 1, OB_DIMS(3, 3));
	ob_random(b, "c", 9, OB_DIMS(3));
	ob_random(b, "cm", 8, OB_DIMS(1, 3, 1, 1));
	ob_random(b, "cs", 7, OB_DIMS(1));
	ob_random(b, "scale", 2, OB_DIMS(3));
	ob_random(b, "mean", 4, OB_DIMS(3));
	ob_floats(b, "var", OB_DIMS(3), (const float[]){ 0.5f, 1, 2 });
	ob_node(b, first, inputs, "m");
	for (; *order; order++) {
		const char *c = *order < 'a' ? "cs" : !strchr(inputs, 'z') ? "cm" : "c";
		char in[64];

		snprintf(to, sizeof(to), "t%d", i++);
		if (*order == 'b')
			snprintf(in, sizeof(in), "%s scale c mean var", from);
		else if (i % 2)
			snprintf(in, sizeof(in), "%s %s", from, c);
		else
			snprintf(in, sizeof(in), "%s %s", c, from);
		ob_node(b, *order == 'b' ? "BatchNormalization" :
			*order == 'm' || *order == 'M' ? "Mul" : "Add", in, to);
		strcpy(from, to);
	}
	ob_node(b, "Relu", from, "y");
	ob_output(b, "y");
	return b;
}

static struct {
	const char *first, *inputs, *order;
} chain;

static struct onnx_build *make_chain(void)
{
	return affine_chain(chain.first, chain.inputs, chain.order);
}

/* b, m, a: BatchNormalization, Mul, Add of channels; M, A: of one number. All become one node. */
static void check_chain(const char *first, const char *inputs, enum cnn_op op, int nodes)
{
	static const char *const orders[] = {
		"bma", "amb", "mab", "bb", "ma", "am", "mm", "aa", "bM", "Ab", "MAb", "bAMm",
		"aMAbmbaAMm",
	};
	static const unsigned int what[] = { CNN_FUSE_ALL, CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU };

	chain.first = first;
	chain.inputs = inputs;
	for (size_t i = 0; i < 2 * sizeof(orders) / sizeof(orders[0]); i++) {
		struct cnn_graph *g;

		chain.order = orders[i / 2];
		g = compare_fused(make_chain, what[i & 1], 1e-5);
		if (g->n_nodes != nodes || count_op(g, op) != 1)
			fail_msg("%s, %s: %d nodes", first, chain.order, g->n_nodes);
		assert_int_equal(g->nodes[nodes - 1].op, op);
		assert_int_equal(g->nodes[nodes - 1].act.kind, CNN_ACT_RELU);
		cnn_graph_free(g);
	}
}

static void test_affine_chains(void **state)
{
	(void)state;
	check_chain("Sigmoid", "x", CNN_OP_BATCH_NORM, 2);
	check_chain("Conv", "x w", CNN_OP_CONV, 1);
	check_chain("ConvTranspose", "x w", CNN_OP_CONV_TRANSPOSE, 1);
	check_chain("MatMul", "z v", CNN_OP_GEMM, 1);
	check_chain("Gemm", "z v", CNN_OP_GEMM, 1);
	check_chain("Gemm", "z v c", CNN_OP_GEMM, 1);
}

/* What must stay: a value in between that is read twice, numbers by row, and two numbers. */
static struct onnx_build *no_affine_chains(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 3, 3, 3));
	ob_random(b, "c", 1, OB_DIMS(1, 3, 1, 1));
	ob_random(b, "row", 2, OB_DIMS(3, 1));
	ob_random(b, "v", 3, OB_DIMS(3));
	ob_random(b, "wide", 4, OB_DIMS(2, 3, 1, 1));
	ob_node(b, "Mul", "x c", "m1");
	ob_node(b, "Add", "m1 c", "y1");
	ob_node(b, "Mul", "y1 c", "y2");
	ob_node(b, "Mul", "x c", "m3");
	ob_node(b, "Add", "m3 row", "y3");
	ob_node(b, "Mul", "x c", "m4");
	ob_node(b, "Add", "m4 wide", "y4");
	ob_output(b, "y1 y2 y3 y4");
	return b;
}

static void test_no_affine_chains(void **state)
{
	struct cnn_graph *g = compare_fused(no_affine_chains, CNN_FUSE_ALL, 1e-6);

	(void)state;
	assert_int_equal(g->n_nodes, 6);
	assert_int_equal(count_op(g, CNN_OP_BATCH_NORM), 1);
	cnn_graph_free(g);
}

/* A block of a DenseNet: the normalisation and its Relu come before the Conv. */
static struct onnx_build *preactivated(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 3, 6, 5));
	ob_random(b, "w", 1, OB_DIMS(2, 3, 3, 3));
	ob_random(b, "scale", 2, OB_DIMS(3));
	ob_random(b, "mean", 4, OB_DIMS(3));
	ob_floats(b, "var", OB_DIMS(3), (const float[]){ 0.5f, 1, 2 });
	ob_node(b, "BatchNormalization", "x scale mean mean var", "n");
	ob_node(b, "Relu", "n", "r");
	ob_node(b, "Conv", "r w", "y");
	ob_node(b, "Sigmoid", "x", "s");
	ob_node(b, "BatchNormalization", "s scale mean mean var", "z");
	ob_output(b, "y z");
	return b;
}

static void test_preactivated(void **state)
{
	struct cnn_graph *g = compare_fused(preactivated, CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU, 1e-5);

	(void)state;
	assert_int_equal(g->n_nodes, 4);
	assert_int_equal(count_op(g, CNN_OP_CONV), 2);
	assert_int_equal(count_op(g, CNN_OP_BATCH_NORM), 1);	/* of z: no Conv is near */
	assert_int_equal(g->nodes[0].params.window.group, 3);
	assert_int_equal(g->nodes[0].act.kind, CNN_ACT_RELU);
	cnn_graph_free(g);
	g = compare_fused(preactivated, CNN_FUSE_ALL, 0);
	assert_int_equal(count_op(g, CNN_OP_BATCH_NORM), 2);
	cnn_graph_free(g);
}

static void test_networks(void **state)
{
	(void)state;
	for (int i = 0; i < OB_NETWORKS; i++) {
		struct cnn_graph *g = inferred(ob_network(i));
		struct cnn_err err;
		int n = g->n_nodes;

		assert_int_equal(cnn_graph_fuse(g, CNN_FUSE_ALL, &err), 0);
		assert_true(g->n_nodes < n);
		cnn_graph_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv_chain),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_dense),
		cmocka_unit_test(test_open_ends),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_no_chains),
		cmocka_unit_test(test_shortcuts),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_transposed),
		cmocka_unit_test(test_stays_on_core),
		cmocka_unit_test(test_dropout),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_affine_chains),
		cmocka_unit_test(test_no_affine_chains),
		cmocka_unit_test(test_preactivated),
		cmocka_unit_test(test_networks),
	};

	return cmocka_run_group_tests_name("graph fuse", tests, NULL, NULL);
}
