// SPDX-License-Identifier: MIT
/* If, Loop and Scan: what inference expands, and what it refuses. */
#include "util.h"

/* One operator on a and b, which are outside. */
static struct onnx_build *body_of(const char *op, const char *inputs, const char *out)
{
	struct onnx_build *b = ob_new(13);

	ob_node(b, op, inputs, out);
	ob_output(b, out);
	return b;
}

/* Counts down to 0: the next condition is i < most; v grows by one each time. */
static struct onnx_build *counting(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "i", CNN_INT64, 0, NULL);
	ob_input(b, "c", CNN_BOOL, 0, NULL);
	ob_input(b, "v", CNN_FLOAT32, 0, NULL);
	ob_floats(b, "one", 0, NULL, (const float[]){ 1 });
	ob_node(b, "Less", "i most", "go");
	ob_node(b, "Add", "v one", "w");
	ob_output(b, "go w v");
	return b;
}

static struct onnx_build *loop(const char *inputs, int64_t count, int64_t most)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2));
	ob_int64s(b, "n", 1, &count);
	ob_int64s(b, "most", 1, &most);
	ob_attr_graph(ob_node(b, "Loop", inputs, "y z"), "body", counting());
	ob_output(b, "y z");
	return b;
}

static void loops(struct onnx_build *b, int times)
{
	struct cnn_graph *g = inferred(b);
	float x[2] = { 10, 20 };
	struct cnn_tensor in = view(CNN_FLOAT32, OB_DIMS(2), x), out[2];

	run_graph(g, &in, out);
	assert_dims(&out[1], OB_DIMS(times, 2));
	assert_true(((float *)out[0].data)[1] == 20.0f + (float)times);
	for (int i = 0; i < times; i++)
		assert_true(((float *)out[1].data)[2 * i] == 10.0f + (float)i);
	cnn_tensor_release(&out[0]);
	cnn_tensor_release(&out[1]);
	cnn_graph_free(g);
}

static void refused(struct onnx_build *b, int code, const char *part)
{
	struct cnn_err err = { 0 };

	assert_int_equal(import_and_infer(b, &err), code);
	assert_says(err, part);
}

static void test_loop(void **state)
{
	(void)state;
	loops(loop("n - x", 3, 99), 3);		/* the count ends it */
	loops(loop("n - x", 9, 1), 2);		/* the condition of iteration 1 */
	loops(loop("- - x", 9, 0), 1);
	refused(loop("n - x", 0, 9), CNN_EUNSUPPORTED, "no iteration");
	refused(loop("- - x", 9, 9999), CNN_ELIMIT, "1024 iterations");
	refused(loop("n - x x", 3, 9), CNN_EINVAL, "inputs and outputs");
	refused(loop("n", 3, 9), CNN_EINVAL, "inputs and outputs");
	refused(loop("x - x", 3, 9), CNN_EUNSUPPORTED, "known only when the network runs");
	refused(loop("most most x", 3, 9), CNN_EINVAL, "not one bool");
}

/* An If of a condition: an input, or whether x has so many rows. */
static struct onnx_build *choice(const char *condition, int64_t rows)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2, 3));
	ob_input(b, "given", CNN_BOOL, 0, NULL);
	ob_int64s(b, "shape", 2, (const int64_t[]){ rows, 3 });
	ob_int64s(b, "first", 1, (const int64_t[]){ 0 });
	ob_node(b, "Shape", "x", "s");
	ob_node(b, "Equal", "s shape", "e");
	ob_node(b, "Gather", "e first", "same");
	n = ob_node(b, "If", condition, "y");
	ob_attr_graph(n, "then_branch", body_of("Exp", "x", "p"));
	ob_attr_graph(n, "else_branch", body_of("Log", "x", "q"));
	ob_output(b, "y");
	return b;
}

static void test_if(void **state)
{
	struct onnx_build *b;
	Onnx__NodeProto *n;

	(void)state;
	for (int64_t rows = 1; rows < 3; rows++) {
		struct cnn_graph *g = inferred(choice("same", rows));

		assert_int_equal(count_op(g, CNN_OP_EXP), rows == 2);
		assert_int_equal(count_op(g, CNN_OP_LOG), rows == 1);
		assert_int_equal(count_op(g, CNN_OP_IF), 0);
		assert_dims(&g->values[g->outputs[0]].t, OB_DIMS(2, 3));
		cnn_graph_free(g);
	}
	refused(choice("given", 1), CNN_EUNSUPPORTED, "known only when the network runs");
	refused(choice("x", 1), CNN_EUNSUPPORTED, "known only when the network runs");
	refused(choice("shape", 1), CNN_EINVAL, "not one bool");
	b = ob_new(13);
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2, 3));
	ob_bytes(b, "c", CNN_BOOL, 0, NULL, (const uint8_t[]){ 1 });
	n = ob_node(b, "If", "c", "y");
	ob_attr_graph(n, "then_branch", body_of("Exp", "x", "p"));
	ob_output(b, "y");
	refused(b, CNN_EINVAL, "branch is missing");
}

/* Each branch reads what it names, whichever of them the file has first. */
static void test_branch_order(void **state)
{
	static const char *const names[] = { "then_branch", "else_branch" };

	(void)state;
	for (int at = 0; at < 4; at++) {
		bool condition = at & 1, swapped = at & 2;
		struct onnx_build *b = ob_new(13);
		struct cnn_graph *g;
		Onnx__NodeProto *n;

		ob_floats(b, "v", OB_DIMS(1), (const float[]){ 2 });
		ob_floats(b, "w", OB_DIMS(1), (const float[]){ 3 });
		ob_bytes(b, "c", CNN_BOOL, 0, NULL, (const uint8_t[]){ condition });
		n = ob_node(b, "If", "c", "y");
		for (int i = 0; i < 2; i++) {
			int which = i ^ swapped;

			ob_attr_graph(n, names[which], which ? body_of("Neg", "w", "q") :
							       body_of("Abs", "v", "p"));
		}
		ob_output(b, "y");
		g = inferred(b);
		assert_true(*(float *)g->values[g->outputs[0]].t.data == (condition ? 2 : -3));
		cnn_graph_free(g);
	}
}

/* What a branch reads must be there, and operators in the branch that is not taken do not matter. */
static void test_names(void **state)
{
	struct onnx_build *b;
	Onnx__NodeProto *n;

	(void)state;
	for (int bad = 0; bad < 3; bad++) {
		b = ob_new(13);
		ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2, 3));
		ob_bytes(b, "c", CNN_BOOL, 0, NULL, (const uint8_t[]){ 1 });
		n = ob_node(b, "If", "c", "y");
		ob_attr_graph(n, "then_branch",
			      body_of(bad == 1 ? "Unheard" : "Exp", bad ? "x" : "nobody", "p"));
		ob_attr_graph(n, "else_branch", body_of(bad == 2 ? "Unheard" : "Log", "x", "q"));
		ob_output(b, "y");
		if (bad == 2)
			cnn_graph_free(inferred(b));
		else
			refused(b, bad ? CNN_EUNSUPPORTED : CNN_EINVAL,
				bad ? "Unheard" : "nothing gives its input nobody");
	}
}

static void test_scan(void **state)
{
	for (int bad = 0; bad < 4; bad++) {
		struct onnx_build *b = ob_new(bad == 3 ? 8 : 13), *scan = ob_new(13);
		Onnx__NodeProto *n;

		(void)state;
		ob_input(scan, "s", CNN_FLOAT32, 0, NULL);
		ob_input(scan, "a", CNN_FLOAT32, 0, NULL);
		ob_node(scan, "Add", "s a", "t");
		ob_output(scan, "t");
		ob_input(b, "x", CNN_FLOAT32, OB_DIMS(4, 3));
		ob_floats(b, "zero", OB_DIMS(3), (const float[]){ 0, 0, 0 });
		n = ob_node(b, "Scan", "zero x", "y");
		ob_attr_graph(n, "body", scan);
		ob_attr_int(n, "num_scan_inputs", bad == 1 ? 3 : 1);
		ob_attr_ints(n, "scan_input_axes", 1, (const int64_t[]){ bad == 2 ? 2 : 0 });
		ob_output(b, "y");
		if (bad) {
			refused(b, bad == 3 ? CNN_EUNSUPPORTED : CNN_EINVAL,
				bad == 1 ? "num_scan_inputs" : bad == 2 ? "scan_input_axes" :
				"operator set 8");
		} else {
			struct cnn_graph *g = inferred(b);

			assert_int_equal(count_op(g, CNN_OP_ADD), 4);
			cnn_graph_free(g);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_if),
		cmocka_unit_test(test_branch_order),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_scan),
	};

	return cmocka_run_group_tests_name("graph control", tests, NULL, NULL);
}
