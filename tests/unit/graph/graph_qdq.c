// SPDX-License-Identifier: MIT
/* Operators between DequantizeLinear and QuantizeLinear become quantised operators. */
#include <math.h>
#include <stdio.h>

#include "util.h"

enum act { ACT_NONE, ACT_RELU, ACT_CLIP, ACTS };

/* What differs between the networks. */
struct form {
	const char *op;			/* Conv, Gemm, MatMul */
	int x_type, w_type, y_type, channels;	/* channels: parameters of the weights */
	enum act act;
	bool biased, trans, no_zero;
	float bias_error;		/* of the bias's scale */
	const char *also;		/* another graph output */
	int64_t axis;			/* of the weights' parameters */
	float factor[4];		/* of the scales of x, one weight, its bias, y; 1: as it is */
	float alpha;
};

static const struct form plain = {
	.op = "Conv", .x_type = CNN_UINT8, .w_type = CNN_INT8, .y_type = CNN_UINT8, .biased = true,
	.channels = 3, .alpha = 1, .factor = { 1, 1, 1, 1 },
};

static const float x_scale = 0.02f, y_scale = 0.05f, w_scales[3] = { 0.01f, 0.03f, 0.02f };

/* Of numbers of 16 bits a 256th, so that floats hold the sums. */
static float step_of(int type)
{
	return cnn_dtype_size(type) > 1 ? 0x1p-8f : 1;
}

static float times(const struct form *f, int i, float scale)
{
	return scale * f->factor[i];
}

static void add_bias(struct onnx_build *b, const struct form *f)
{
	const int64_t three = 3;
	float scales[3];

	for (int i = 0; i < 3; i++)
		scales[i] = x_scale * step_of(f->x_type) * step_of(f->w_type) *
			    w_scales[f->channels == 3 ? i : 0] * (1 + f->bias_error);
	scales[0] = times(f, 2, scales[0]);
	ob_raw(b, "bq", CNN_INT32, 4, OB_DIMS(3), (const int32_t[]){ 900, -700, 40 });
	ob_floats(b, "bs", f->channels == 3, &three, scales);
	ob_attr_int(ob_node(b, "DequantizeLinear", "bq bs", "b"), "axis", 0);
}

/* Small numbers of any quantised type: zero points, or elements of 16 bits if there are so many. */
static void add_numbers(struct onnx_build *b, const char *name, int type, int rank,
			const int64_t *dims, const int16_t *v)
{
	uint8_t bytes[3];
	int64_t n = rank ? dims[0] : 1;

	for (int64_t i = 0; i < n && i < 3; i++)
		bytes[i] = (uint8_t)v[i];
	if (cnn_dtype_size(type) > 1)
		ob_raw(b, name, type, 2, rank, dims, v);
	else
		ob_bytes(b, name, type, rank, dims, bytes);
}

static void add_weights(struct onnx_build *b, const struct form *f)
{
	bool conv = !strcmp(f->op, "Conv");
	int rank = conv ? 4 : 2;
	int64_t dims[4] = { conv || f->trans ? 3 : 8, conv ? 2 : f->trans ? 8 : 3, 2, 2 };
	const int64_t three = 3;
	const float step = step_of(f->w_type);
	float scales[3] = { times(f, 1, w_scales[0] * step), w_scales[1] * step,
			    w_scales[2] * step };
	uint16_t wide[24];
	uint8_t w[24];

	for (int i = 0; i < 24; i++) {
		w[i] = (uint8_t)(i * 37 + 11);
		wide[i] = (uint16_t)(i * 2711 + 11);
	}
	if (cnn_dtype_size(f->w_type) > 1)
		ob_raw(b, "wq", f->w_type, 2, rank, dims, wide);
	else
		ob_bytes(b, "wq", f->w_type, rank, dims, w);
	ob_floats(b, "ws", f->channels == 3, &three, scales);
	add_numbers(b, "wz", f->w_type, f->channels == 3, &three, (const int16_t[]){ 5, 3, 120 });
	ob_attr_int(ob_node(b, "DequantizeLinear", "wq ws wz", "w"), "axis", f->axis);
}

static void add_product(struct onnx_build *b, const struct form *f)
{
	Onnx__NodeProto *n = ob_node(b, f->op, f->biased ? "x w b" : "x w", "p");

	if (!strcmp(f->op, "Conv"))
		ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 0, 1, 1 });
	if (!strcmp(f->op, "Gemm")) {
		ob_attr_int(n, "transB", f->trans);
		ob_attr_float(n, "alpha", f->alpha);
	}
	if (f->act == ACT_RELU)
		ob_node(b, "Relu", "p", "r");
	else if (f->act == ACT_CLIP)
		ob_node(b, "Clip", "p lo hi", "r");
}

static struct onnx_build *make(const struct form *f)
{
	static const int64_t dims[2][4] = { { 1, 2, 5, 6 }, { 7, 8 } };
	bool conv = !strcmp(f->op, "Conv");
	const float xs = times(f, 0, x_scale * step_of(f->x_type)), ys = times(f, 3, y_scale);
	struct onnx_build *b = ob_new(13);

	ob_input(b, "xq", f->x_type, conv ? 4 : 2, dims[!conv]);
	ob_floats(b, "xs", 0, NULL, &xs);
	ob_floats(b, "ys", 0, NULL, &ys);
	ob_floats(b, "lo", 0, NULL, (const float[]){ -0.33f });
	ob_floats(b, "hi", 0, NULL, (const float[]){ 1.97f });
	add_numbers(b, "xz", f->x_type, 0, NULL, (const int16_t[]){ 99 });
	add_numbers(b, "yz", f->y_type, 0, NULL, (const int16_t[]){ 17 });
	ob_node(b, "DequantizeLinear", f->no_zero ? "xq xs" : "xq xs xz", "x");
	add_weights(b, f);
	if (f->biased)
		add_bias(b, f);
	add_product(b, f);
	ob_node(b, "QuantizeLinear", f->act ? "r ys yz" : "p ys yz", "q");
	ob_node(b, "DequantizeLinear", "q ys yz", "y");
	ob_output(b, "y");
	if (f->also)
		ob_output(b, f->also);
	return b;
}

static struct cnn_tensor bytes_for(const struct cnn_graph *g, uint32_t seed)
{
	struct cnn_tensor t = g->values[g->inputs[0]].t;
	struct cnn_err err;

	assert_int_equal(cnn_tensor_alloc(&t, 0, &err), 0);
	for (size_t i = 0; i < t.capacity; i++)
		((uint8_t *)t.data)[i] = (uint8_t)ob_rand(&seed);
	return t;
}

/* Fused and plain: equal but for elements that lie on a boundary. The fused graph. */
static struct cnn_graph *compare(const struct form *f, double off_by_one)
{
	struct cnn_graph *g = inferred(make(f)), *fused = inferred(make(f));
	struct cnn_tensor in = bytes_for(g, 12345), a[2], b[2];
	struct cnn_err err = { 0 };
	int64_t n, off = 0;

	if (cnn_graph_fuse(fused, CNN_FUSE_ALL, &err))
		fail_msg("fuse: %s", err.text);
	run_graph(g, &in, a);
	run_graph(fused, &in, b);
	assert_true(cnn_tensor_same_shape(&a[0], &b[0]));
	n = cnn_tensor_count(&a[0]);
	for (int64_t i = 0; i < n; i++) {
		float d = fabsf(((float *)a[0].data)[i] - ((float *)b[0].data)[i]);

		if (!(d < 1.001f * y_scale))
			fail_msg("%s of types %d, %d, %d: %g, %g", f->op, f->x_type, f->w_type,
				 f->y_type, (double)((float *)a[0].data)[i],
				 (double)((float *)b[0].data)[i]);
		off += d > 0.5f * y_scale;
	}
	assert_true(off <= off_by_one * n);
	for (int i = 0; i < g->n_outputs; i++) {
		cnn_tensor_release(&a[i]);
		cnn_tensor_release(&b[i]);
	}
	cnn_tensor_release(&in);
	cnn_graph_free(g);
	return fused;
}

static void check_fused(const struct form *f, enum cnn_op op)
{
	struct cnn_graph *g = compare(f, 0.02);

	assert_int_equal(count_op(g, op), 1);
	assert_int_equal(count_op(g, CNN_OP_DEQUANTIZE_LINEAR), 1);
	assert_int_equal(count_op(g, CNN_OP_QUANTIZE_LINEAR), 0);
	assert_int_equal(count_op(g, CNN_OP_RELU), 0);
	assert_non_null(strstr(g->nodes[0].fused, "QuantizeLinear"));
	cnn_graph_free(g);
}

static void test_fused(void **state)
{
	static const int types[2] = { CNN_INT8, CNN_UINT8 };

	(void)state;
	for (int i = 0; i < 96; i++) {
		struct form f = plain;

		f.x_type = types[i & 1];
		f.w_type = types[i >> 1 & 1];
		f.y_type = types[i >> 2 & 1];
		f.channels = i >> 3 & 1 ? 3 : 1;
		f.biased = i >> 4 & 1;
		f.act = i >> 5;
		f.no_zero = i % 5 == 0;
		check_fused(&f, CNN_OP_QLINEAR_CONV);
		f.op = "Gemm";
		f.trans = i & 1;
		f.axis = f.trans ? 0 : -1;
		check_fused(&f, CNN_OP_QGEMM);
		f.op = "MatMul";
		f.trans = f.biased = false;
		f.axis = 1;
		check_fused(&f, CNN_OP_QLINEAR_MATMUL);
	}
}

/* The same with 16 bits on any side, whose sums no int32 need hold. */
static void test_wide(void **state)
{
	static const int types[4] = { CNN_INT8, CNN_UINT8, CNN_INT16, CNN_UINT16 };

	(void)state;
	for (int i = 0; i < 64; i++) {
		struct form f = plain;

		f.x_type = types[i & 3];
		f.w_type = types[i >> 2 & 3];
		f.y_type = types[i >> 4 & 3];
		f.channels = i % 3 ? 3 : 1;
		f.biased = i % 5;
		f.act = i % ACTS;
		f.no_zero = i % 7 == 0;
		check_fused(&f, CNN_OP_QLINEAR_CONV);
		f.op = "Gemm";
		f.trans = i & 1;
		f.axis = f.trans ? 0 : -1;
		check_fused(&f, CNN_OP_QGEMM);
		f.op = "MatMul";
		f.trans = f.biased = false;
		f.axis = 1;
		check_fused(&f, CNN_OP_QLINEAR_MATMUL);
	}
}

/* A bound in the middle of the range is a Clip of bytes, one at its end nothing. */
static void test_bounds(void **state)
{
	struct form f = plain;
	struct cnn_graph *g;

	(void)state;
	f.act = ACT_CLIP;
	g = compare(&f, 0.02);
	assert_int_equal(count_op(g, CNN_OP_CLIP), 1);
	assert_int_equal(g->nodes[1].op, CNN_OP_CLIP);
	assert_int_equal(*(uint8_t *)cnn_node_in(g, &g->nodes[1], 1)->data, 17 - 7);
	assert_int_equal(*(uint8_t *)cnn_node_in(g, &g->nodes[1], 2)->data, 17 + 39);
	cnn_graph_free(g);
	f.act = ACT_NONE;
	g = compare(&f, 0.02);
	assert_int_equal(count_op(g, CNN_OP_CLIP), 0);
	cnn_graph_free(g);
}

static void check_left(struct form f, const char *why)
{
	struct cnn_graph *g = compare(&f, 0);

	if (count_op(g, CNN_OP_QUANTIZE_LINEAR) != 1 || count_op(g, CNN_OP_QLINEAR_CONV) ||
	    count_op(g, CNN_OP_QGEMM) || count_op(g, CNN_OP_DEQUANTIZE_LINEAR) != 2)
		fail_msg("%s: was fused", why);
	cnn_graph_free(g);
}

/* Where integers would compute something else, or someone needs the floats. */
static void test_left(void **state)
{
	struct form f = plain;

	(void)state;
	f.bias_error = 1e-3f;
	check_left(f, "scale of the bias");
	f = plain;
	f.also = "p";
	check_left(f, "the product is an output");
	f.also = "r";
	f.act = ACT_RELU;
	check_left(f, "the activation is an output");
	f = plain;
	f.op = "Gemm";
	f.alpha = 0.5f;
	f.trans = true;
	check_left(f, "alpha");
}

/* Is the network fused? */
static bool is_fused(const struct form *f)
{
	struct cnn_graph *g = inferred(make(f));
	struct cnn_err err;
	int left;

	assert_int_equal(cnn_graph_fuse(g, CNN_FUSE_ALL, &err), 0);
	left = count_op(g, CNN_OP_QUANTIZE_LINEAR);
	cnn_graph_free(g);
	return !left;
}

/* No quantised operator says what these scales mean, whichever of them is no positive number. */
static void test_bad_scales(void **state)
{
	static const char *const ops[] = { "Conv", "Gemm", "MatMul" };
	const float bad[] = { 0, -0.0f, -1, NAN, INFINITY, -INFINITY };

	(void)state;
	for (int i = 0; i < 3 * 2 * 4; i++) {
		struct form f = plain;

		f.op = ops[i % 3];
		f.channels = i / 3 % 2 ? 3 : 1;
		f.axis = i % 3 ? 1 : 0;
		f.biased = i % 3 < 2;
		assert_true(is_fused(&f));
		for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
			f.factor[i / 6] = bad[k];
			if (is_fused(&f) && (f.biased || i / 6 != 2))
				fail_msg("%s: scale %d times %g was fused", f.op, i / 6,
					 (double)bad[k]);
		}
	}
}

/* Of single scales that are numbers, the ratio that requantises may be none. */
static void test_bad_ratio(void **state)
{
	struct form f = plain;

	(void)state;
	f.biased = false;
	f.factor[0] = 1e30f;
	assert_true(is_fused(&f));
	f.factor[3] = 1e-20f;
	assert_false(is_fused(&f));
	f.factor[0] = 1e-30f;
	f.factor[3] = 1e20f;
	assert_false(is_fused(&f));
}

/* DequantizeLinear, op, QuantizeLinear with scale s2 */
static struct onnx_build *mover(const char *op, float s2)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", CNN_INT8, OB_DIMS(1, 2, 4, 4));
	ob_floats(b, "s", 0, NULL, &x_scale);
	ob_floats(b, "s2", 0, NULL, &s2);
	ob_bytes(b, "z", CNN_INT8, 0, NULL, (const int8_t[]){ -7 });
	ob_int64s(b, "shape", 2, (const int64_t[]){ 2, 16 });
	ob_node(b, "DequantizeLinear", "x s z", "d");
	n = ob_node(b, op, !strcmp(op, "Reshape") ? "d shape" : "d", "m");
	if (!strcmp(op, "MaxPool"))
		ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 3 });
	ob_node(b, "QuantizeLinear", "m s2 z", "y");
	ob_output(b, "y");
	return b;
}

static void check_mover(const char *op, float s2, int nodes)
{
	struct cnn_graph *g = inferred(mover(op, s2)), *fused = inferred(mover(op, s2));
	struct cnn_tensor in = bytes_for(g, 77), a, b;
	struct cnn_err err;

	assert_int_equal(cnn_graph_fuse(fused, CNN_FUSE_ALL, &err), 0);
	assert_int_equal(fused->n_nodes, nodes);
	run_graph(g, &in, &a);
	run_graph(fused, &in, &b);
	assert_true(cnn_tensor_same_shape(&a, &b));
	assert_memory_equal(a.data, b.data, (size_t)cnn_tensor_bytes(&a));
	cnn_tensor_release(&in);
	cnn_tensor_release(&a);
	cnn_tensor_release(&b);
	cnn_graph_free(g);
	cnn_graph_free(fused);
}

static void test_movers(void **state)
{
	(void)state;
	check_mover("MaxPool", x_scale, 1);
	check_mover("Transpose", x_scale, 1);
	check_mover("Reshape", x_scale, 1);
	check_mover("Flatten", x_scale, 1);
	check_mover("Flatten", 0.03f, 3);
	check_mover("Relu", x_scale, 3);
}

/* Without fusing, and for other readers, weights become floats once and for all. */
static void test_folded(void **state)
{
	struct form f = plain;
	struct cnn_graph *g = inferred(make(&f));
	struct cnn_err err;

	(void)state;
	assert_int_equal(count_op(g, CNN_OP_DEQUANTIZE_LINEAR), 4);
	assert_int_equal(cnn_graph_fuse(g, CNN_FUSE_NOP, &err), 0);
	assert_int_equal(count_op(g, CNN_OP_DEQUANTIZE_LINEAR), 2);
	assert_int_equal(count_op(g, CNN_OP_CONV), 1);
	cnn_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fused), cmocka_unit_test(test_wide),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_bad_scales),
		cmocka_unit_test(test_bad_ratio),
		cmocka_unit_test(test_movers),
		cmocka_unit_test(test_folded),
	};

	return cmocka_run_group_tests_name("graph qdq", tests, NULL, NULL);
}
