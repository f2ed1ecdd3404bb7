// SPDX-License-Identifier: MIT
/*
 * EXP4 and TER2: QuantizeCodes against a search of all codes, codes in bytes, formats of values.
 * The other operators of the domain cnnacc in a file.
 */
#include <math.h>

#include "backend/hwpe/packed_format.h"
#include "util.h"

/* Core hwpe's table of types: what a code stands for. */
static int value_of(enum cnn_codes f, unsigned int code)
{
	int e = code & 7;

	if (f == CNN_CODES_TER2)
		return code == 3 ? -1 : (int)code;
	return (code & 8 ? -1 : 1) * (e ? 1 << (e - 1) : 0);
}

static bool is_code(enum cnn_codes f, unsigned int code)
{
	return f == CNN_CODES_EXP4 ? code < 16 : code < 4 && code != 2;
}

/* The nearest value; of two the one with the smaller magnitude. */
static int nearest(enum cnn_codes f, double x)
{
	int best = 0;

	x = fmin(fmax(x, -1000), 1000);
	for (unsigned int code = 0; code < 16; code++) {
		int v = value_of(f, code);
		double d;

		if (!is_code(f, code))
			continue;
		d = fabs(x - v) - fabs(x - best);
		if (d < 0 || (d == 0 && abs(v) < abs(best)))
			best = v;
	}
	return best;
}

static struct onnx_build *quantizer(const char *domain, const char *format, float scale, int8_t zero,
				    int64_t n)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *node;

	ob_input(b, "x", CNN_FLOAT32, 1, &n);
	ob_floats(b, "s", 0, NULL, &scale);
	ob_bytes(b, "z", CNN_INT8, 0, NULL, &zero);
	node = ob_node(b, "QuantizeCodes", zero ? "x s z" : "x s", "y");
	node->domain = strdup(domain);
	ob_attr_str(node, "format", format);
	ob_output(b, "y");
	return b;
}

#define COUNT	2000

static void check_values(enum cnn_codes f, float scale, int8_t zero, const float *x)
{
	struct cnn_graph *g =
		import(quantizer("cnnacc", cnn_codes_format(f)->name, scale, zero, COUNT));
	struct cnn_tensor in = view(CNN_FLOAT32, OB_DIMS(COUNT), (void *)x), out;
	struct cnn_err err;

	assert_int_equal(cnn_graph_infer(g, &err), 0);
	run_graph(g, &in, &out);
	assert_int_equal(out.dtype, CNN_INT8);
	assert_dims(&out, OB_DIMS(COUNT));
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(((int8_t *)out.data)[i],
				 isnan(x[i]) ? 0 : nearest(f, (double)(x[i] / scale + zero)));
	cnn_tensor_release(&out);
	cnn_graph_free(g);
}

/* Numbers of all sizes, quarters with all ties among them, infinities and NaN. */
static void test_values(void **state)
{
	const float odd[] = { 0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, 3e38f, -3e38f };
	uint32_t rng = 7;
	float x[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++)
		x[i] = i < 8 ? odd[i] : i < 1000 ? (float)(i - 504) / 4 :
		       ldexpf((float)(ob_rand(&rng) % 4001) - 2000, (int)(ob_rand(&rng) % 12) - 11);
	check_values(CNN_CODES_EXP4, 1, 0, x);
	check_values(CNN_CODES_EXP4, 0.125f, -3, x);
	check_values(CNN_CODES_TER2, 1, 0, x);
	check_values(CNN_CODES_TER2, 32, 0, x);
	check_values(CNN_CODES_TER2, 0.5f, -1, x);
}

/* Every value of a format, apart by three, comes out as its code. */
static void check_codes(enum cnn_codes f)
{
	int bits = cnn_codes_format(f)->bits, n = 0;
	int8_t values[3 * 16] = { 0 };
	uint8_t bytes[9];

	for (unsigned int code = 0; code < 16; code++)
		if (is_code(f, code) && (value_of(f, code) || !code))
			values[3 * n++] = (int8_t)value_of(f, code);
	memset(bytes, 0x5a, sizeof(bytes));
	cnn_packed_encode(cnn_codes_number(f), values, 3, n, bytes);
	for (int i = 0; i < n; i++)
		assert_int_equal(value_of(f, bytes[i * bits / 8] >> i * bits % 8 &
					     ((1u << bits) - 1)), values[3 * i]);
	for (int i = 0; i < n; i++)
		assert_int_equal(cnn_codes_fill(f, values[3 * i]),
				 (bytes[i * bits / 8] >> i * bits % 8 & ((1u << bits) - 1)) *
				 (f == CNN_CODES_EXP4 ? 0x11u : 0x55u));
	if (n * bits % 8)
		assert_int_equal(bytes[n * bits / 8] >> n * bits % 8, 0);
	assert_int_equal(bytes[(n * bits + 7) / 8], 0x5a);
	assert_int_equal(cnn_codes_of(values, 3 * n), f);
}

static void test_codes(void **state)
{
	const int8_t other[] = { 3, -128, 65, 127, -3 };

	(void)state;
	check_codes(CNN_CODES_EXP4);
	check_codes(CNN_CODES_TER2);
	for (size_t i = 0; i < sizeof(other); i++)
		assert_int_equal(cnn_codes_of(&other[i], 1), CNN_CODES_NONE);
}

/* What is only moved has the values that it had; of two formats the wider one. */
static void test_graph(void **state)
{
	const int64_t shape[4] = { 1, 4, 2, 2 };
	const float one = 1;
	struct onnx_build *b = ob_new(13);
	enum cnn_codes of[32];
	struct cnn_graph *g;
	Onnx__NodeProto *n;

	(void)state;
	ob_input(b, "x", CNN_FLOAT32, 4, shape);
	ob_floats(b, "s", 0, NULL, &one);
	for (int i = 0; i < 2; i++) {
		n = ob_node(b, "QuantizeCodes", "x s", i ? "t" : "e");
		n->domain = strdup("cnnacc");
		ob_attr_str(n, "format", i ? "TER2" : "EXP4");
	}
	ob_node(b, "Transpose", "t", "moved");
	ob_node(b, "Flatten", "e", "flat");
	ob_attr_int(ob_node(b, "Concat", "e t", "both"), "axis", 1);
	ob_attr_int(ob_node(b, "Concat", "t t", "same"), "axis", 1);
	ob_node(b, "Add", "t t", "sum");
	ob_output(b, "moved flat both same sum");
	g = inferred(b);
	assert_true(g->n_values <= 32);
	cnn_graph_codes(g, of);
	assert_int_equal(of[cnn_graph_find_value(g, "moved")], CNN_CODES_TER2);
	assert_int_equal(of[cnn_graph_find_value(g, "flat")], CNN_CODES_EXP4);
	assert_int_equal(of[cnn_graph_find_value(g, "both")], CNN_CODES_EXP4);
	assert_int_equal(of[cnn_graph_find_value(g, "same")], CNN_CODES_TER2);
	assert_int_equal(of[cnn_graph_find_value(g, "sum")], CNN_CODES_NONE);
	cnn_graph_free(g);
}

static void refuse(const char *domain, const char *format, float scale, const char *part)
{
	struct cnn_err err;

	assert_true(import_and_infer(quantizer(domain, format, scale, 0, 4), &err) < 0);
	assert_says(err, part);
}

static void test_messages(void **state)
{
	(void)state;
	refuse("", "EXP4", 1, "operator QuantizeCodes");
	refuse("other", "EXP4", 1, "operator other.QuantizeCodes");
	refuse("cnnacc", "EXP3", 1, "attribute format is \"EXP3\"");
	refuse("cnnacc", "INT8", 1, "attribute format is \"INT8\"");
	refuse("cnnacc", "TER2", 0, "scale 0 is not a positive number");
	refuse("cnnacc", "TER2", -1, "scale -1 is not a positive number");
	refuse("cnnacc", "TER2", INFINITY, "scale inf is not a positive number");
	refuse("cnnacc", "TER2", NAN, "is not a positive number");
}

static Onnx__NodeProto *own_node(struct onnx_build *b, const char *op, const char *inputs,
				 const char *outputs)
{
	Onnx__NodeProto *node = ob_node(b, op, inputs, outputs);

	node->domain = strdup("cnnacc");
	return node;
}

/* A file of three uint8, 10, 20 and 30, times 3, that has the other operators of the domain. */
static void run_products(bool shift, struct cnn_tensor *out)
{
	static uint8_t bytes[] = { 10, 20, 30 };
	const int8_t weight = 3;
	const int32_t start = -40, add = 7;
	struct onnx_build *b = ob_new(13);
	struct cnn_tensor in = view(CNN_UINT8, OB_DIMS(1, 1, 1, 3), bytes);
	struct cnn_graph *g;
	struct cnn_err err;

	ob_input(b, "x", CNN_UINT8, OB_DIMS(1, 1, 1, 3));
	ob_bytes(b, "w", CNN_INT8, OB_DIMS(1, 1, 1, 1), &weight);
	ob_raw(b, "start", CNN_INT32, sizeof(start), OB_DIMS(1), &start);
	ob_raw(b, "add", CNN_INT32, sizeof(add), OB_DIMS(1), &add);
	if (shift) {
		ob_attr_int(own_node(b, "ConvInteger", "x w - - start", "y"), "shift_out", 2);
	} else {
		own_node(b, "ConvInteger", "x w", "sums");
		own_node(b, "QLinearSums", "sums add", "y");
	}
	ob_output(b, "y");
	g = import(b);
	assert_int_equal(cnn_graph_infer(g, &err), 0);
	run_graph(g, &in, out);
	cnn_graph_free(g);
}

static void test_products(void **state)
{
	const int32_t sums[] = { 37, 67, 97 };
	const uint8_t shifted[] = { 0, 5, 12 };
	struct cnn_tensor out;

	(void)state;
	run_products(true, &out);
	assert_int_equal(out.dtype, CNN_UINT8);
	assert_memory_equal(out.data, shifted, sizeof(shifted));
	cnn_tensor_release(&out);
	run_products(false, &out);
	assert_int_equal(out.dtype, CNN_INT32);
	assert_memory_equal(out.data, sums, sizeof(sums));
	cnn_tensor_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_products),
	};

	return cmocka_run_group_tests_name("cpu codes", tests, NULL, NULL);
}
