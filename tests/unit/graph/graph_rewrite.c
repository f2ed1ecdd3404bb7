// SPDX-License-Identifier: MIT
/* Nodes that become others so that a core can run them: what is rewritten and that results stay. */
#include <stdio.h>

#include "util.h"

static struct cnn_node *maker(struct cnn_graph *g, const char *value)
{
	int producer = g->values[cnn_graph_find_value(g, value)].producer;

	assert_true(producer >= 0);
	return &g->nodes[producer];
}

/* ---- additions into convolutions ------------------------------------------------------- */

/* A block whose shortcut is its input, and one whose shortcut is a convolution that comes later. */
static struct onnx_build *residual(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 3, 5, 4));
	ob_random(b, "w", 1, OB_DIMS(3, 3, 1, 1));
	ob_random(b, "bias", 2, OB_DIMS(3));
	ob_node(b, "Conv", "x w bias", "c1");
	ob_node(b, "Add", "x c1", "a1");
	ob_node(b, "Relu", "a1", "r1");
	ob_node(b, "Conv", "r1 w", "c2");
	ob_node(b, "Conv", "r1 w bias", "c3");
	ob_node(b, "Sum", "c3 c2", "a2");
	ob_node(b, "Conv", "a2 w", "c4");
	ob_attr_ints(ob_node(b, "MaxPool", "r1", "p"), "kernel_shape", 2, (const int64_t[]){ 1, 1 });
	ob_node(b, "Add", "c4 p", "y");
	ob_output(b, "y");
	return b;
}

static void test_residual(void **state)
{
	struct cnn_graph *g = compare_fused(residual, CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU, 0);
	const struct cnn_node *n = maker(g, "r1");

	(void)state;
	assert_int_equal(g->n_nodes, 5);
	assert_int_equal(count_op(g, CNN_OP_CONV), 4);
	assert_int_equal(n->in[3], g->inputs[0]);
	assert_int_equal(n->act.kind, CNN_ACT_RELU);
	assert_non_null(strstr(n->fused, "Add"));
	assert_non_null(strstr(n->fused, "Relu"));
	n = maker(g, "a2");			/* the later of two */
	assert_int_equal(n->in[3], cnn_graph_find_value(g, "c2"));
	assert_int_equal(n->n_in, 4);
	n = maker(g, "y");			/* behind the pool */
	assert_int_equal(n->in[2], -1);
	assert_int_equal(n->in[3], cnn_graph_find_value(g, "p"));
	assert_ptr_equal(n, &g->nodes[4]);
	cnn_graph_free(g);
}

/* Depthwise: only the CPU adds. */
static struct onnx_build *depthwise(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(2, 3, 5, 5));
	ob_random(b, "w", 1, OB_DIMS(3, 1, 3, 3));
	ob_random(b, "bias", 2, OB_DIMS(3));
	n = ob_node(b, "Conv", "x w bias", "c");
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 1, 1, 1 });
	ob_attr_int(n, "group", 3);
	ob_node(b, "Add", "c x", "a");
	ob_node(b, "HardSwish", "a", "y");
	ob_output(b, "y");
	return b;
}

static void test_depthwise(void **state)
{
	struct cnn_graph *g = compare_fused(depthwise, CNN_FUSE_ALL, 0);

	(void)state;
	assert_int_equal(g->n_nodes, 1);
	assert_int_equal(g->nodes[0].act.kind, CNN_ACT_HARD_SWISH);
	cnn_graph_free(g);
	g = compare_fused(depthwise, CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU, 0);
	assert_int_equal(g->n_nodes, 2);
	cnn_graph_free(g);
}

/*
 * Nothing here may merge: an activation before the Add, other readers, shapes that broadcast, a
 * value and itself, a graph output.
 */
static struct onnx_build *no_residual(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 2, 3, 3));
	ob_input(b, "v", 1, OB_DIMS(1, 2, 3, 1));
	ob_random(b, "w", 1, OB_DIMS(2, 2, 1, 1));
	ob_node(b, "Conv", "x w", "c1");
	ob_node(b, "Relu", "c1", "r1");
	ob_node(b, "Add", "r1 x", "a1");
	ob_node(b, "Conv", "a1 w", "c2");
	ob_node(b, "Add", "c2 v", "a2");
	ob_node(b, "Conv", "a2 w", "c3");
	ob_node(b, "Add", "c3 c3", "a3");
	ob_node(b, "Conv", "a3 w", "c4");
	ob_node(b, "Add", "c4 a3", "a4");
	ob_node(b, "Conv", "a4 w", "c5");
	ob_node(b, "Add", "c5 a4", "a5");
	ob_node(b, "Mul", "c5 a5", "m5");
	ob_output(b, "c4 m5");
	return b;
}

static void test_no_residual(void **state)
{
	struct cnn_graph *g = compare_fused(no_residual, CNN_FUSE_ALL & ~CNN_FUSE_IDIOMS, 0);

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_ADD), 5);
	for (int i = 0; i < g->n_nodes; i++)
		assert_true(g->nodes[i].op != CNN_OP_CONV || g->nodes[i].n_in < 4);
	cnn_graph_free(g);
}

/* A file cannot say it. */
static void test_four_inputs(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;
	struct cnn_err err;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(1, 2, 3, 3));
	ob_random(b, "w", 1, OB_DIMS(2, 2, 1, 1));
	ob_node(b, "Conv", "x w - x", "y");
	ob_output(b, "y");
	g = import(b);
	assert_int_equal(cnn_graph_infer(g, &err), CNN_EUNSUPPORTED);
	assert_says(err, "4 inputs, limit 3");
	cnn_graph_free(g);
}

/* ---- ConvTranspose --------------------------------------------------------------------- */

static void transpose(struct onnx_build *b, const char *in, const char *out, int64_t k)
{
	ob_attr_ints(ob_node(b, "ConvTranspose", in, out), "strides", 2, (const int64_t[]){ k, k });
}

/* Two in a row with all that may be around them, and one of three by three. */
static struct onnx_build *shuffles(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 3, 4, 5));
	ob_random(b, "w1", 1, OB_DIMS(3, 4, 2, 2));
	ob_random(b, "b1", 2, OB_DIMS(4));
	ob_random(b, "w2", 3, OB_DIMS(4, 1, 2, 2));
	ob_random(b, "c2", 4, OB_DIMS(1, 1, 1, 1));
	ob_random(b, "w3", 5, OB_DIMS(3, 2, 3, 3));
	transpose(b, "x w1 b1", "t1", 2);
	ob_node(b, "Relu", "t1", "r1");
	transpose(b, "r1 w2", "t2", 2);
	ob_node(b, "Add", "t2 c2", "a2");
	ob_node(b, "Sigmoid", "a2", "y2");
	transpose(b, "x w3", "y3", 3);
	ob_output(b, "y2 y3");
	return b;
}

static void test_shuffles(void **state)
{
	const unsigned int what = CNN_FUSE_ALL & ~(CNN_FUSE_FOR_CPU | CNN_FUSE_SIGMOID);
	struct cnn_graph *g = compare_fused(shuffles, what, 0);
	const struct cnn_node *last = maker(g, "y2"), *n = maker(g, "y3");

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_CONV_TRANSPOSE), 0);
	assert_int_equal(count_op(g, CNN_OP_CONV), 3);
	assert_int_equal(count_op(g, CNN_OP_DEPTH_TO_SPACE), 3);
	assert_int_equal(g->n_nodes, 6);
	assert_int_equal(last->op, CNN_OP_DEPTH_TO_SPACE);
	assert_int_equal(last->act.kind, CNN_ACT_SIGMOID);
	last = &g->nodes[g->values[last->in[0]].producer];
	assert_int_equal(last->op, CNN_OP_DEPTH_TO_SPACE);
	last = &g->nodes[g->values[last->in[0]].producer];
	assert_int_equal(last->op, CNN_OP_CONV);
	assert_int_equal(last->params.window.group, 4);
	assert_int_equal(cnn_node_macs(g, last), 2 * 4 * 4 * 4 * 20);
	assert_int_equal(n->op, CNN_OP_DEPTH_TO_SPACE);
	assert_int_equal(cnn_node_macs(g, &g->nodes[g->values[n->in[0]].producer]), 2 * 3 * 18 * 20);
	cnn_graph_free(g);
	g = compare_fused(shuffles, CNN_FUSE_ALL, 0);	/* nothing for the CPU alone */
	assert_int_equal(count_op(g, CNN_OP_CONV_TRANSPOSE), 3);
	cnn_graph_free(g);
}

/* Each of these overlaps, leaves gaps, or has no block: they stay. */
static struct onnx_build *no_shuffles(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 4, 3, 3));
	ob_random(b, "w", 1, OB_DIMS(4, 2, 2, 2));
	ob_random(b, "w3", 2, OB_DIMS(4, 2, 3, 3));
	transpose(b, "x w3", "y1", 2);
	transpose(b, "x w", "y2", 3);
	n = ob_node(b, "ConvTranspose", "x w", "y3");
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_attr_int(n, "group", 2);
	n = ob_node(b, "ConvTranspose", "x w", "y4");
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 0, 0, 1 });
	ob_output(b, "y1 y2 y3 y4");
	return b;
}

static void test_no_shuffles(void **state)
{
	struct cnn_graph *g = compare_fused(no_shuffles, CNN_FUSE_SHUFFLE, 0);

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_CONV_TRANSPOSE), 4);
	cnn_graph_free(g);
}

/* A DepthToSpace of the file: one whose channels lie as a grouped convolution wants them. */
static struct onnx_build *file_shuffles(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 8, 3, 2));
	ob_random(b, "w", 1, OB_DIMS(3, 2, 1, 1));
	ob_random(b, "w3", 2, OB_DIMS(3, 3, 3, 3));
	ob_random(b, "bias", 3, OB_DIMS(3));
	n = ob_node(b, "DepthToSpace", "x", "d1");
	ob_attr_int(n, "blocksize", 2);
	ob_node(b, "Conv", "d1 w bias", "c1");
	ob_node(b, "Conv", "c1 w3 bias", "y1");
	n = ob_node(b, "DepthToSpace", "x", "d2");
	ob_attr_int(n, "blocksize", 2);
	ob_attr_str(n, "mode", "CRD");
	ob_node(b, "Conv", "d2 w", "y2");
	ob_output(b, "y1 y2");
	return b;
}

static void test_file_shuffles(void **state)
{
	struct cnn_graph *g = compare_fused(file_shuffles, CNN_FUSE_SHUFFLE, 0);

	(void)state;
	assert_int_equal(maker(g, "c1")->op, CNN_OP_DEPTH_TO_SPACE);
	assert_int_equal(maker(g, "d1")->params.window.group, 4);
	assert_int_equal(maker(g, "d2")->op, CNN_OP_DEPTH_TO_SPACE);
	cnn_graph_free(g);
}

/* ---- strides of 1 x 1 convolutions ----------------------------------------------------- */

static void strided(struct onnx_build *b, const char *inputs, const char *out, int64_t stride_x)
{
	ob_attr_ints(ob_node(b, "Conv", inputs, out), "strides", 2, (const int64_t[]){ 2, stride_x });
}

/* Two, of which the second has an activation; one whose map is small and one with one stride. */
static struct onnx_build *strides(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(2, 4, 23, 24));
	ob_random(b, "w", 1, OB_DIMS(5, 4, 1, 1));
	ob_random(b, "bias", 4, OB_DIMS(5));
	strided(b, "x w bias", "y1", 2);
	strided(b, "x w", "c", 2);
	ob_node(b, "Relu", "c", "y2");
	n = ob_node(b, "MaxPool", "x", "s");
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 3, 3 });
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	strided(b, "s w", "y3", 2);
	strided(b, "x w", "y4", 1);
	ob_output(b, "y1 y2 y3 y4");
	return b;
}

static void test_strides(void **state)
{
	struct cnn_graph *g = compare_fused(strides, CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU, 0);

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_AVERAGE_POOL), 2);
	for (int i = 1; i <= 4; i++) {
		const struct cnn_node *n = maker(g, (const char[]){ 'y', (char)('0' + i), 0 });
		int from = g->values[n->in[0]].producer;
		struct cnn_window w;

		assert_int_equal(n->op, CNN_OP_CONV);
		assert_int_equal(cnn_node_window(g, n, &w, NULL), CNN_OK);
		assert_int_equal(w.stride[0], i <= 2 ? 1 : 2);
		if (i <= 2)
			assert_int_equal(g->nodes[from].op, CNN_OP_AVERAGE_POOL);
	}
	cnn_graph_free(g);
}

/* Neither 3 x 3 nor in groups. */
static struct onnx_build *no_strides(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 4, 27, 28));
	ob_random(b, "w", 1, OB_DIMS(5, 4, 3, 3));
	ob_random(b, "v", 2, OB_DIMS(4, 2, 1, 1));
	strided(b, "x w", "y1", 2);
	n = ob_node(b, "Conv", "x v", "y2");
	ob_attr_int(n, "group", 2);
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_output(b, "y1 y2");
	return b;
}

static void test_no_strides(void **state)
{
	struct cnn_graph *g = compare_fused(no_strides, CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU, 0);

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_AVERAGE_POOL), 0);
	cnn_graph_free(g);
}

/* ---- scales into convolutions ---------------------------------------------------------- */

/* Read by a 1 x 1 convolution alone, by one with padding as well, and by something else. */
static struct onnx_build *scales(void)
{
	struct onnx_build *b = ob_new(14);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(2, 3, 5, 4));
	ob_random(b, "w", 1, OB_DIMS(3, 3, 1, 1));
	ob_random(b, "k", 2, OB_DIMS(3, 1, 3, 3));
	ob_random(b, "bias", 3, OB_DIMS(3));
	ob_floats(b, "a", 0, NULL, (const float[]){ -1.7f });
	ob_floats(b, "b", 0, NULL, (const float[]){ 0.3f });
	ob_node(b, "HardSwish", "x", "h1");
	ob_node(b, "Mul", "h1 a", "m1");
	ob_node(b, "Add", "m1 b", "y1");
	ob_node(b, "Conv", "y1 w bias", "c1");
	ob_node(b, "HardSwish", "c1", "h2");
	ob_node(b, "Add", "b h2", "y2");
	n = ob_node(b, "Conv", "y2 k", "c2");
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 1, 1, 1 });
	ob_attr_int(n, "group", 3);
	ob_node(b, "Conv", "y2 w bias", "c3");
	ob_node(b, "HardSwish", "c3", "y3");
	ob_node(b, "Conv", "y3 w", "c4");
	ob_node(b, "Mul", "y3 c4", "c5");
	ob_output(b, "c2 c5");
	return b;
}

static void test_scales(void **state)
{
	struct cnn_graph *g = compare_fused(scales, CNN_FUSE_ALL & ~CNN_FUSE_HARD_SWISH, 5e-6);
	const struct cnn_node *n = maker(g, "y1");

	(void)state;
	assert_true(n->act.kind == CNN_ACT_AFFINE && n->act.a == 6 && n->act.b == 0);
	n = maker(g, "y2");
	assert_true(n->act.kind == CNN_ACT_AFFINE && n->act.a == 6);
	assert_true(n->act.b > 1.79f && n->act.b < 1.81f);
	assert_int_equal(maker(g, "y3")->act.kind, CNN_ACT_NONE);
	cnn_graph_free(g);
}

/* A convolution of no channels has no weights to scale. */
static struct onnx_build *no_scales(void)
{
	struct onnx_build *b = ob_new(14);

	ob_input(b, "x", 1, OB_DIMS(1, 3, 5, 4));
	ob_floats(b, "w", OB_DIMS(0, 3, 1, 1), NULL);
	ob_node(b, "HardSwish", "x", "h");
	ob_node(b, "Conv", "h w", "y");
	ob_output(b, "y");
	return b;
}

static void test_no_scales(void **state)
{
	struct cnn_graph *g = compare_fused(no_scales, CNN_FUSE_ALL, 0);

	(void)state;
	assert_int_equal(maker(g, "h")->act.kind, CNN_ACT_NONE);
	cnn_graph_free(g);
}

/* ---- ScaledAdd ------------------------------------------------------------------------- */

static void add_resize(struct onnx_build *b, const char *x, const char *y, const char *mode)
{
	char inputs[16];
	Onnx__NodeProto *n;

	snprintf(inputs, sizeof(inputs), "%s - scales", x);
	n = ob_node(b, "Resize", inputs, y);
	ob_attr_str(n, "mode", mode);
	ob_attr_str(n, "coordinate_transformation_mode", "asymmetric");
	ob_attr_str(n, "nearest_mode", "floor");
}

/* A pyramid: with a map half as large, with one as large, with one that is not repeated. */
static struct onnx_build *pyramid(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 3, 6, 2040));
	ob_input(b, "small", 1, OB_DIMS(2, 3, 2, 1020));
	ob_floats(b, "scales", OB_DIMS(4), (const float[]){ 1, 1, 3, 2 });
	ob_node(b, "GlobalAveragePool", "x", "mean");
	ob_node(b, "Sigmoid", "mean", "s");
	ob_node(b, "Mul", "x s", "m1");
	add_resize(b, "small", "r1", "nearest");
	ob_node(b, "Add", "m1 r1", "a1");
	ob_node(b, "Relu", "a1", "y1");
	ob_node(b, "Mul", "s y1", "m2");
	ob_node(b, "Add", "x m2", "y2");
	ob_node(b, "Mul", "y2 s", "m3");
	add_resize(b, "small", "r3", "linear");
	ob_node(b, "Add", "m3 r3", "y3");
	ob_node(b, "Mul", "y3 x", "m4");
	ob_node(b, "Add", "m4 y2", "y4");
	ob_output(b, "y4");
	return b;
}

static void test_scaled_adds(void **state)
{
	struct cnn_graph *g = compare_fused(pyramid, CNN_FUSE_ALL & ~CNN_FUSE_RELU, 0);
	const struct cnn_node *n = maker(g, "a1");

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_SCALED_ADD), 3);
	assert_int_equal(n->in[0], g->inputs[0]);
	assert_int_equal(n->in[1], cnn_graph_find_value(g, "s"));
	assert_int_equal(n->in[2], g->inputs[1]);
	assert_non_null(strstr(n->fused, "Resize"));
	assert_int_equal(maker(g, "y2")->op, CNN_OP_SCALED_ADD);
	assert_int_equal(maker(g, "y3")->in[2], cnn_graph_find_value(g, "r3"));
	assert_int_equal(maker(g, "y4")->op, CNN_OP_ADD);
	assert_int_equal(count_op(g, CNN_OP_RESIZE), 1);
	assert_int_equal(count_op(g, CNN_OP_MUL), 1);
	cnn_graph_free(g);
}

/* A scale that the convolution before takes. */
static struct onnx_build *constant_scale(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 3, 6, 5));
	ob_random(b, "w", 1, OB_DIMS(3, 3, 1, 1));
	ob_random(b, "s", 2, OB_DIMS(1, 3, 1, 1));
	ob_node(b, "Conv", "x w", "c");
	ob_node(b, "Mul", "c s", "m");
	ob_node(b, "Add", "m x", "y");
	ob_output(b, "y");
	return b;
}

static void test_constant_scale(void **state)
{
	struct cnn_graph *g = compare_fused(constant_scale, CNN_FUSE_ALL, 1e-6);

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_SCALED_ADD), 0);
	assert_int_equal(count_op(g, CNN_OP_MUL), 0);
	cnn_graph_free(g);
}

/* ---- files ----------------------------------------------------------------------------- */

/* Operators that only we have are refused, but for those of our own domain, which come back. */
static void test_no_file(void **state)
{
	const int8_t w[8] = { 1, -2, 3, -4, 5, -6, 7, -8 };
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g, *again;
	struct cnn_node *n;
	struct cnn_err err;
	void *buf;
	size_t len;

	(void)state;
	ob_input(b, "x", CNN_UINT8, OB_DIMS(1, 4));
	ob_bytes(b, "w", CNN_INT8, OB_DIMS(4, 2), w);
	ob_node(b, "MatMulInteger", "x w", "y");
	ob_output(b, "y");
	g = inferred(b);
	n = (struct cnn_node *)maker(g, "y");
	assert_int_equal(cnn_rewrite_rename(n, CNN_OP_MATMUL_SUMS, &err), CNN_OK);
	n->params.product.shift_out = 3;
	assert_int_equal(cnn_graph_export_onnx(g, &buf, &len, &err), CNN_OK);
	assert_int_equal(cnn_graph_import(buf, len, -1, &again, &err), CNN_OK);
	free(buf);
	assert_int_equal(maker(again, "y")->op, CNN_OP_MATMUL_SUMS);
	assert_int_equal(maker(again, "y")->params.product.shift_out, 3);
	cnn_graph_free(again);

	assert_int_equal(cnn_rewrite_rename(n, CNN_OP_SCALED_ADD, &err), CNN_OK);
	assert_int_equal(cnn_graph_export_onnx(g, &buf, &len, &err), CNN_EUNSUPPORTED);
	assert_says(err, "ScaledAdd");
	cnn_graph_free(g);
}

/* Values of one name, or of none, have names of their own in a file. */
static void test_file_names(void **state)
{
	static const char *const names[] = { "a", "", "a", "a_3" };
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g, *again;
	struct cnn_err err;
	void *buf;
	size_t len;

	(void)state;
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2));
	ob_random(b, "w", 1, OB_DIMS(2));
	ob_node(b, "Add", "x w", "v");
	ob_node(b, "Mul", "v w", "y");
	ob_output(b, "y");
	g = inferred(b);
	assert_int_equal(g->n_values, 4);
	for (int v = 0; v < 4; v++) {
		free(g->values[v].name);
		g->values[v].name = strdup(names[v]);
	}
	assert_int_equal(cnn_graph_export_onnx(g, &buf, &len, &err), CNN_OK);
	assert_int_equal(cnn_graph_import(buf, len, -1, &again, &err), CNN_OK);
	free(buf);
	assert_int_equal(again->n_nodes, 2);
	for (int i = 0; i < 2; i++) {
		const struct cnn_node *n = &again->nodes[i];

		assert_int_equal(n->n_in, 2);
		assert_int_not_equal(n->in[0], n->in[1]);
		assert_false(cnn_node_in(again, n, 0)->data);
		assert_memory_equal(cnn_node_in(again, n, 1)->data,
				    cnn_node_in(g, &g->nodes[i], 1)->data, 2 * sizeof(float));
	}
	assert_int_equal(again->nodes[1].in[0], again->nodes[0].out[0]);
	cnn_graph_free(again);
	cnn_graph_free(g);
}

/* ---- Transposes that move no element ------------------------------------------------------ */

/* Of a map of one pixel, before a Reshape and for others, and one that moves elements. */
static struct onnx_build *pixels(void)
{
	const int64_t flat[2] = { 2, -1 }, last[4] = { 0, 2, 3, 1 }, swap[4] = { 0, 1, 3, 2 };
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 6, 1, 5));
	ob_input(b, "m", 1, OB_DIMS(2, 6, 1, 1));
	ob_int64s(b, "flat", 2, flat);
	ob_attr_ints(ob_node(b, "Transpose", "m", "t1"), "perm", 4, last);
	ob_node(b, "Reshape", "t1 flat", "y1");
	ob_attr_ints(ob_node(b, "Transpose", "x", "t2"), "perm", 4, swap);
	ob_node(b, "Neg", "t2", "y2");
	ob_attr_ints(ob_node(b, "Transpose", "x", "t3"), "perm", 4, last);
	ob_node(b, "Reshape", "t3 flat", "y3");
	ob_node(b, "Transpose", "m", "y4");	/* axes the other way round */
	for (int i = 1; i <= 4; i++) {
		char name[4];

		snprintf(name, sizeof(name), "y%d", i);
		ob_output(b, name);
	}
	return b;
}

static void test_transposes(void **state)
{
	struct cnn_graph *g = compare_fused(pixels, CNN_FUSE_RESHAPE, 0);

	(void)state;
	assert_int_equal(g->n_nodes, 6);
	assert_int_equal(maker(g, "y1")->in[0], cnn_graph_find_value(g, "m"));
	assert_non_null(strstr(maker(g, "y1")->fused, "Transpose"));
	assert_int_equal(maker(g, "t2")->op, CNN_OP_RESHAPE);
	assert_int_equal(maker(g, "t3")->op, CNN_OP_TRANSPOSE);
	assert_int_equal(maker(g, "y3")->in[0], cnn_graph_find_value(g, "t3"));
	assert_int_equal(maker(g, "y4")->op, CNN_OP_TRANSPOSE);
	cnn_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transposes),
		cmocka_unit_test(test_residual),
		cmocka_unit_test(test_depthwise),
		cmocka_unit_test(test_no_residual),
		cmocka_unit_test(test_four_inputs),
		cmocka_unit_test(test_shuffles),
		cmocka_unit_test(test_no_shuffles),
		cmocka_unit_test(test_file_shuffles),
		cmocka_unit_test(test_strides),
		cmocka_unit_test(test_no_strides),
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_no_scales),
		cmocka_unit_test(test_scaled_adds),
		cmocka_unit_test(test_constant_scale),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_file_names),
	};

	return cmocka_run_group_tests_name("graph rewrite", tests, NULL, NULL);
}
