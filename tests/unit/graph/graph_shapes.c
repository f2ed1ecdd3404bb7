// SPDX-License-Identifier: MIT
/* Shape inference, constant folding, geometry and limits. */
#include "util.h"

static void test_dynamic_input(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_err err;
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(-1, 3));
	ob_node(b, "Relu", "x", "y");
	ob_output(b, "y");
	g = import(b);
	assert_int_equal(cnn_graph_infer(g, &err), CNN_EINVAL);
	assert_says(err, "input x");
	assert_int_equal(cnn_graph_set_input_shape(g, 0, 2, (int64_t[]){ 4, 5 }, &err), CNN_EINVAL);
	assert_int_equal(cnn_graph_set_input_shape(g, 0, 1, (int64_t[]){ 4 }, &err), CNN_EINVAL);
	assert_int_equal(cnn_graph_set_input_shape(g, 1, 1, (int64_t[]){ 4 }, &err), CNN_EINVAL);
	assert_int_equal(cnn_graph_set_input_shape(g, 0, 2, (int64_t[]){ 4, 3 }, &err), 0);
	assert_int_equal(cnn_graph_infer(g, &err), 0);
	assert_dims(&g->values[g->outputs[0]].t, OB_DIMS(4, 3));
	assert_int_equal(cnn_graph_infer(g, &err), CNN_EINVAL);
	cnn_graph_free(g);
}

/* Shape -> Slice, Gather -> Concat -> Reshape and ConstantOfShape vanish into constants. */
static void test_shape_chain(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;
	Onnx__NodeProto *n;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(2, 3, 4));
	ob_int64s(b, "zero", 1, (const int64_t[]){ 0 });
	ob_int64s(b, "one", 1, (const int64_t[]){ 1 });
	ob_int64s(b, "three", 1, (const int64_t[]){ 3 });
	ob_int64s(b, "rest", 1, (const int64_t[]){ -1 });
	ob_node(b, "Shape", "x", "s");
	ob_node(b, "Gather", "s zero", "batch");
	ob_node(b, "Slice", "s one three", "tail");
	n = ob_node(b, "Concat", "batch rest", "flat");
	ob_attr_int(n, "axis", 0);
	ob_node(b, "Reshape", "x flat", "f");
	ob_node(b, "Reshape", "f s", "back");
	ob_node(b, "ConstantOfShape", "tail", "zeros");
	ob_node(b, "Add", "back zeros", "y");
	ob_output(b, "y");
	g = inferred(b);
	assert_int_equal(g->n_nodes, 3);
	assert_dims(&g->values[cnn_graph_find_value(g, "f")].t, OB_DIMS(2, 12));
	assert_dims(&g->values[cnn_graph_find_value(g, "zeros")].t, OB_DIMS(3, 4));
	assert_non_null(g->values[cnn_graph_find_value(g, "zeros")].t.data);
	assert_dims(&g->values[g->outputs[0]].t, OB_DIMS(2, 3, 4));
	cnn_graph_free(g);
}

/* A shape that comes at run time: unknown in the graph, right in the run. */
static void test_runtime_shape(void **state)
{
	struct onnx_build *b = ob_new(13);
	float data[6] = { -1, 2, -3, 4, -5, 6 };
	int64_t shape[2] = { 3, 2 };
	struct cnn_tensor in[2] = { view(CNN_FLOAT32, OB_DIMS(6), data),
				    view(CNN_INT64, OB_DIMS(2), shape) };
	struct cnn_tensor out;
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(6));
	ob_input(b, "shape", 7, OB_DIMS(2));
	ob_node(b, "Reshape", "x shape", "r");
	ob_node(b, "Relu", "r", "y");
	ob_output(b, "y");
	g = inferred(b);
	assert_int_equal(g->values[g->outputs[0]].t.rank, -1);
	run_graph(g, in, &out);
	assert_dims(&out, OB_DIMS(3, 2));
	assert_true(((float *)out.data)[5] == 6 && ((float *)out.data)[4] == 0);
	cnn_tensor_release(&out);
	cnn_graph_free(g);
}

/* The same with the shape given before inference. */
static void test_input_data(void **state)
{
	struct onnx_build *b = ob_new(13);
	int64_t shape[2] = { 3, 2 };
	struct cnn_tensor t = view(CNN_INT64, OB_DIMS(2), shape);
	struct cnn_graph *g;
	struct cnn_err err;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(6));
	ob_input(b, "shape", 7, OB_DIMS(-1));
	ob_node(b, "Reshape", "x shape", "y");
	ob_output(b, "y");
	g = import(b);
	assert_int_equal(cnn_graph_set_input_data(g, 0, &t, &err), CNN_EINVAL);
	assert_int_equal(cnn_graph_set_input_data(g, 1, &t, &err), 0);
	assert_int_equal(cnn_graph_infer(g, &err), 0);
	assert_dims(&g->values[g->outputs[0]].t, OB_DIMS(3, 2));
	cnn_graph_free(g);
}

static void cannot_infer(struct onnx_build *b, int code, const char *part)
{
	struct cnn_err err = { 0 };

	assert_int_equal(import_and_infer(b, &err), code);
	if (!strstr(err.text, part))
		fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

static struct onnx_build *one(const char *op, const char *inputs, Onnx__NodeProto **n)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 2, 5, 5));
	ob_random(b, "w", 1, OB_DIMS(3, 2, 3, 3));
	ob_random(b, "v", 1, OB_DIMS(3));
	*n = ob_node(b, op, inputs, "y");
	ob_output(b, "y");
	return b;
}

static void test_messages(void **state)
{
	struct onnx_build *b;
	Onnx__NodeProto *n;

	(void)state;
	cannot_infer(one("Bernoulli", "x", &n), CNN_EUNSUPPORTED, "operator Bernoulli");
	b = one("Relu", "x", &n);
	n->domain = strdup("com.example");
	cannot_infer(b, CNN_EUNSUPPORTED, "operator com.example.Relu");
	b = one("Relu", "x", &n);
	ob_attr_int(n, "slope", 1);
	cannot_infer(b, CNN_EUNSUPPORTED, "Relu (Relu_0): attribute slope");
	b = one("Conv", "x w", &n);
	ob_attr_float(n, "strides", 1);
	cannot_infer(b, CNN_EINVAL, "attribute strides has the wrong type");
	b = one("Conv", "x w", &n);
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 1, 0 });
	cannot_infer(b, CNN_ELIMIT, "strides is 0, limits 1 to 1073741824");
	b = one("Conv", "x w", &n);
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 3, 2 });
	cannot_infer(b, CNN_EINVAL, "kernel_shape 2");
	b = one("Conv", "x w", &n);
	ob_attr_int(n, "group", 2);
	cannot_infer(b, CNN_EINVAL, "group 2 does not fit");
	b = one("Conv", "x w", &n);
	ob_attr_ints(n, "dilations", 2, (const int64_t[]){ 3, 1 });
	cannot_infer(b, CNN_EINVAL, "the kernel is larger than the padded input on spatial axis 0");
	cannot_infer(one("Conv", "x w w", &n), CNN_EINVAL, "the bias is not one number");
	cannot_infer(one("Conv", "x", &n), CNN_EINVAL, "input 1 is missing");
	cannot_infer(one("Relu", "x x", &n), CNN_EUNSUPPORTED, "2 inputs, limit 1");
	cannot_infer(one("Add", "x v", &n), CNN_EINVAL, "dimensions 5 and 3 do not broadcast");
	b = one("Transpose", "x", &n);
	ob_attr_ints(n, "perm", 4, (const int64_t[]){ 0, 1, 2, 2 });
	cannot_infer(b, CNN_EINVAL, "perm is not an order of 4 axes");
	b = one("Softmax", "x", &n);
	ob_attr_int(n, "axis", 4);
	cannot_infer(b, CNN_EINVAL, "axis 4, limits -4 to 3");
	b = one("Cast", "x", &n);
	ob_attr_int(n, "to", 8);
	cannot_infer(b, CNN_EUNSUPPORTED, "type string");
}

static struct onnx_build *constant(const char *attr, Onnx__AttributeProto **a)
{
	struct onnx_build *b = ob_new(5);

	*a = ob_attr(ob_node(b, "Constant", "", "y"), attr, 0);
	ob_output(b, "y");
	return b;
}

/* Lists without elements or type, and what is no value. */
static void test_empty_constants(void **state)
{
	static const char *const names[] = { "value_floats", "value_ints" };
	Onnx__AttributeProto *a;
	struct onnx_build *b;

	(void)state;
	for (int typed = 0; typed < 2; typed++)
		for (int i = 0; i < 2; i++) {
			struct cnn_tensor out;
			struct cnn_graph *g;

			b = constant(names[i], &a);
			a->type = !typed ? 0 : i ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS :
				  ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
			g = inferred(b);
			run_graph(g, NULL, &out);
			assert_dims(&out, OB_DIMS(0));
			assert_int_equal(out.dtype, i ? CNN_INT64 : CNN_FLOAT32);
			cnn_tensor_release(&out);
			cnn_graph_free(g);
		}
	cannot_infer(constant("value", &a), CNN_EINVAL, "attribute value has the wrong type");
	cannot_infer(constant("consumed_inputs", &a), CNN_EINVAL, "not exactly one attribute");
	b = constant("consumed_inputs", &a);
	a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
	cannot_infer(b, CNN_EINVAL, "attribute consumed_inputs has the wrong type");
}

static void test_limits(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_tensor in = { .rank = -1 }, out;
	struct cnn_err err;
	struct cnn_graph *g;

	(void)state;
	ob_int64s(b, "size", 2, (const int64_t[]){ 1 << 20, 1 << 20 });
	ob_node(b, "ConstantOfShape", "size", "y");
	ob_output(b, "y");
	cannot_infer(b, CNN_ELIMIT, "over the limit of 2147483648 bytes");

	b = ob_new(13);
	ob_input(b, "x", 1, OB_DIMS(64, 64));
	ob_node(b, "MatMul", "x x", "y");
	ob_output(b, "y");
	g = inferred(b);
	in = random_tensor(1, OB_DIMS(64, 64));
	g->limits.work = 64 * 64 * 64 - 1;
	assert_int_equal(cnn_graph_run_cpu(g, &in, &out, &err), CNN_ELIMIT);
	assert_says(err, "MatMul");
	g->limits.work *= 2;
	run_graph(g, &in, &out);
	cnn_tensor_release(&out);
	cnn_tensor_release(&in);
	cnn_graph_free(g);

	b = ob_new(13);
	ob_random(b, "w", 1, OB_DIMS(64, 64));
	ob_node(b, "MatMul", "w w", "y");
	ob_output(b, "y");
	g = import(b);
	g->limits.fold_work = 1000;
	assert_int_equal(cnn_graph_infer(g, &err), CNN_ELIMIT);
	cnn_graph_free(g);
}

/* Multiply-accumulates of each tap: a mean has one, a maximum none. */
static int64_t macs_of_tap(const struct cnn_node *n, const struct cnn_window *w)
{
	switch (n->op) {
	case CNN_OP_CONV:
		return w->in_ch / w->group;
	case CNN_OP_AVERAGE_POOL:
	case CNN_OP_GLOBAL_AVERAGE_POOL:
		return 1;
	default:
		return 0;
	}
}

static void window_of(struct onnx_build *b, struct cnn_window *w)
{
	struct cnn_graph *g = inferred(b);
	struct cnn_err err;

	assert_int_equal(cnn_node_window(g, &g->nodes[0], w, &err), 0);
	assert_int_equal(cnn_node_macs(g, &g->nodes[0]),
			 w->batch * w->out_ch * w->out[0] * w->out[1] * w->kernel[0] *
			 w->kernel[1] * macs_of_tap(&g->nodes[0], w));
	cnn_graph_free(g);
}

/* As many as a global pool of the same map. */
static void test_mean_macs(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(2, 3, 4, 5));
	ob_attr_ints(ob_node(b, "ReduceMean", "x", "y"), "axes", 2, (const int64_t[]){ 2, 3 });
	ob_node(b, "GlobalAveragePool", "x", "z");
	ob_node(b, "GlobalMaxPool", "x", "m");
	ob_output(b, "y z m");
	g = inferred(b);
	assert_int_equal(cnn_node_macs(g, &g->nodes[0]), 120);
	assert_int_equal(cnn_node_macs(g, &g->nodes[1]), 120);
	assert_int_equal(cnn_node_macs(g, &g->nodes[2]), 0);
	cnn_graph_free(g);
}

static void test_windows(void **state)
{
	struct onnx_build *b;
	struct cnn_window w;
	Onnx__NodeProto *n;

	(void)state;
	b = one("Conv", "x w", &n);
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 1 });
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 0, 0, 2 });
	window_of(b, &w);
	assert_true(w.spatial == 2 && w.in_ch == 2 && w.out_ch == 3 && w.group == 1);
	assert_true(w.kernel[0] == 3 && w.stride[0] == 2 && w.stride[1] == 1 && w.dilation[0] == 1);
	assert_true(w.pad_begin[0] == 1 && w.pad_end[0] == 0 && w.pad_begin[1] == 0 &&
		    w.pad_end[1] == 2);
	assert_true(w.out[0] == 2 && w.out[1] == 5);
	b = one("Conv", "x w", &n);
	ob_attr_str(n, "auto_pad", "SAME_LOWER");
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_attr_ints(n, "dilations", 2, (const int64_t[]){ 1, 2 });
	window_of(b, &w);
	assert_true(w.out[0] == 3 && w.out[1] == 3);
	assert_true(w.pad_begin[0] == 1 && w.pad_end[0] == 1 && w.pad_begin[1] == 2 &&
		    w.pad_end[1] == 2);
	b = one("MaxPool", "x", &n);
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 3 });
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 3 });
	ob_attr_int(n, "ceil_mode", 1);
	window_of(b, &w);
	assert_true(w.out[0] == 3 && w.out[1] == 2 && w.ceil_mode && w.group == 2);
	b = one("AveragePool", "x", &n);	/* no window may start in the padding at the end */
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 1, 1 });
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 3, 4 });
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 0, 0, 0, 2 });
	ob_attr_int(n, "ceil_mode", 1);
	window_of(b, &w);
	assert_true(w.out[0] == 2 && w.out[1] == 2);
	window_of(one("GlobalAveragePool", "x", &n), &w);
	assert_true(w.kernel[0] == 5 && w.kernel[1] == 5 && w.out[0] == 1 && w.out[1] == 1);
}

static void test_matmul_view(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_matmul mm;
	struct cnn_err err;
	struct cnn_graph *g;
	Onnx__NodeProto *n;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(7, 4));
	ob_random(b, "w", 1, OB_DIMS(5, 7));
	ob_random(b, "c", 1, OB_DIMS(5));
	n = ob_node(b, "Gemm", "x w c", "y");
	ob_attr_int(n, "transA", 1);
	ob_attr_int(n, "transB", 1);
	ob_output(b, "y");
	g = inferred(b);
	assert_int_equal(cnn_node_matmul(g, &g->nodes[0], &mm, &err), 0);
	assert_true(mm.m == 4 && mm.k == 7 && mm.n == 5 && mm.batch == 1 && mm.b_const && mm.has_c);
	assert_int_equal(cnn_node_macs(g, &g->nodes[0]), 4 * 7 * 5);
	cnn_graph_free(g);
	b = ob_new(13);
	ob_input(b, "x", 1, OB_DIMS(2, 1, 3, 4));
	ob_input(b, "z", 1, OB_DIMS(5, 4, 6));
	ob_node(b, "MatMul", "x z", "y");
	ob_output(b, "y");
	g = inferred(b);
	assert_int_equal(cnn_node_matmul(g, &g->nodes[0], &mm, &err), 0);
	assert_true(mm.m == 3 && mm.k == 4 && mm.n == 6 && mm.batch == 10 && !mm.b_const);
	cnn_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dynamic_input),
		cmocka_unit_test(test_shape_chain),
		cmocka_unit_test(test_runtime_shape),
		cmocka_unit_test(test_input_data),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_empty_constants),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_mean_macs),
		cmocka_unit_test(test_matmul_view),
	};

	return cmocka_run_group_tests_name("graph shapes", tests, NULL, NULL);
}
