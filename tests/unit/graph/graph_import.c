// SPDX-License-Identifier: MIT
/* What import takes, and what it refuses with which words. */
#include "util.h"

#include <fcntl.h>
#include <unistd.h>

#include "import/pb.h"

/* x -> Relu -> y, to be spoilt. */
static struct onnx_build *small(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(2, 3));
	ob_node(b, "Relu", "x", "y");
	ob_output(b, "y");
	return b;
}

static void refused(struct onnx_build *b, int code, const char *part)
{
	struct cnn_err err = { 0 };

	assert_null(import_as(b, code, &err));
	assert_says(err, part);
}

static void test_small(void **state)
{
	struct cnn_graph *g = import(small());

	(void)state;
	assert_int_equal(g->n_nodes, 1);
	assert_int_equal(g->nodes[0].op, CNN_OP_RELU);
	assert_string_equal(g->nodes[0].name, "Relu_0");
	assert_int_equal(g->nodes[0].opset, 13);
	assert_int_equal(g->n_inputs, 1);
	assert_int_equal(g->values[g->inputs[0]].n_consumers, 1);
	assert_int_equal(g->values[g->outputs[0]].producer, 0);
	assert_int_equal(cnn_graph_find_value(g, "y"), g->outputs[0]);
	assert_int_equal(cnn_graph_find_value(g, "z"), -1);
	cnn_graph_free(g);
}

static void test_not_onnx(void **state)
{
	static const uint8_t junk[] = "this is not a network";
	struct cnn_err err;
	struct cnn_graph *g;

	(void)state;
	assert_int_equal(cnn_graph_import_onnx(NULL, 0, -1, &g, &err), CNN_EINVAL);
	assert_says(err, "empty");
	assert_int_equal(cnn_graph_import_onnx(junk, sizeof(junk), -1, &g, &err), CNN_EINVAL);
	assert_says(err, "not an ONNX file");
	assert_int_equal(cnn_graph_import_onnx(junk, sizeof(junk), -1, &g, NULL), CNN_EINVAL);
}

/* graph { node { attribute { g { node { ... : protobuf-c would recurse into it. */
static void test_nesting(void **state)
{
	enum { DEPTH = 3000, SIZE = 1 << 16 };
	static uint8_t buf[SIZE];
	static const uint8_t tags[] = { 0x0a, 0x2a, 0x32 };
	size_t at = SIZE;
	struct cnn_err err;
	struct cnn_graph *g;

	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		size_t len = SIZE - at;

		buf[--at] = len >> 14;
		buf[--at] = len >> 7 | 0x80;
		buf[--at] = len | 0x80;
		buf[--at] = i == DEPTH - 1 ? 0x3a : tags[(DEPTH - 2 - i) % 3];
	}
	assert_int_equal(cnn_graph_import_onnx(buf + at, SIZE - at, -1, &g, &err), CNN_ELIMIT);
	assert_says(err, "nested");
}

/* Two bytes of file for each message of some hundred bytes. */
static void test_expansion(void **state)
{
	enum { N = 400000 };
	uint8_t *buf = malloc(2 * N + 4);
	size_t len = 2 * N;
	struct cnn_err err;
	struct cnn_graph *g;

	(void)state;
	buf[0] = 0x3a;
	buf[1] = len | 0x80;
	buf[2] = len >> 7 | 0x80;
	buf[3] = len >> 14;
	for (int i = 0; i < N; i++) {
		buf[4 + 2 * i] = 0x0a;
		buf[5 + 2 * i] = 0;
	}
	assert_true(len >> 14 < 0x80);
	assert_int_equal(cnn_graph_import_onnx(buf, len + 4, -1, &g, &err), CNN_ELIMIT);
	free(buf);
}

static void test_structure(void **state)
{
	struct onnx_build *b = small();

	(void)state;
	ob_node(b, "Relu", "x", "y");
	refused(b, CNN_EINVAL, "output y is given elsewhere");
	b = small();
	ob_node(b, "Relu", "x", "x");
	refused(b, CNN_EINVAL, "output x is given elsewhere");
	b = small();
	ob_node(b, "Relu", "nowhere", "z");
	refused(b, CNN_EINVAL, "nothing gives its input nowhere");
	b = small();
	ob_output(b, "z");
	refused(b, CNN_EINVAL, "nothing gives the output z");
	b = small();
	ob_output(b, "y");
	refused(b, CNN_EINVAL, "two outputs are called y");
	b = small();
	ob_input(b, "x", 1, OB_DIMS(1));
	refused(b, CNN_EINVAL, "two inputs are called x");
	b = small();
	ob_node(b, "Relu", "q", "p");
	ob_node(b, "Relu", "p", "q");
	refused(b, CNN_EINVAL, "cycle");
	refused(ob_new(13), CNN_EINVAL, "no output");
	refused(ob_new(0), CNN_EUNSUPPORTED, "operator set version 0");
}

/* Attributes of operator sets 19 to 27 are taken with their defaults. */
static struct onnx_build *newer(int opset, int64_t block_size)
{
	struct onnx_build *b = ob_new(opset);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(2, 3));
	ob_floats(b, "s", 0, NULL, (const float[]){ 0.5f });
	n = ob_node(b, "QuantizeLinear", "x s", "q");
	ob_attr_int(n, "saturate", 1);
	ob_attr_int(n, "block_size", block_size);
	ob_attr_int(n, "precision", 0);
	ob_attr_int(n, "output_dtype", CNN_INT8);
	n = ob_node(b, "Cast", "q", "y");
	ob_attr_int(n, "to", CNN_FLOAT32);
	ob_attr_int(n, "saturate", 1);
	ob_attr_str(n, "round_mode", "up");
	ob_output(b, "y");
	return b;
}

/* The file is never refused, only an operator whose version is not known. */
static void test_newer_sets(void **state)
{
	struct cnn_err err = { 0 };
	struct cnn_graph *g;

	(void)state;
	for (int opset = 23; opset <= 27; opset++) {
		g = inferred(newer(opset, 0));
		assert_int_equal(cnn_node_out(g, &g->nodes[0], 0)->dtype, CNN_INT8);
		cnn_graph_free(g);
	}
	assert_int_equal(import_and_infer(newer(25, 16), &err), CNN_EUNSUPPORTED);
	assert_says(err, "QuantizeLinear");
	assert_says(err, "block_size is 16, only 0 is supported");
	g = import(newer(28, 0));
	assert_int_equal(cnn_graph_infer(g, &err), CNN_EUNSUPPORTED);
	assert_says(err, "QuantizeLinear");
	assert_says(err, "operator set 28 is not known, the newest known set is 27");
	cnn_graph_free(g);
}

static void test_order(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(2));
	ob_node(b, "Sigmoid", "q", "y");
	ob_node(b, "Add", "p x", "q");
	ob_node(b, "Relu", "x", "p");
	ob_output(b, "y");
	g = import(b);
	assert_int_equal(g->nodes[0].op, CNN_OP_RELU);
	assert_int_equal(g->nodes[1].op, CNN_OP_ADD);
	assert_int_equal(g->nodes[2].op, CNN_OP_SIGMOID);
	assert_int_equal(g->values[g->outputs[0]].producer, 2);
	cnn_graph_free(g);
}

static Onnx__TensorProto *initializer(struct onnx_build *b)
{
	ob_random(b, "w", 1, OB_DIMS(2, 3));
	return ob_model(b)->graph->initializer[0];
}

/* Imports b, whose weights are moved to a file of which size bytes are kept. */
static int import_external(struct onnx_build *b, long size, struct cnn_err *err)
{
	char path[] = "/tmp/cnnacc-external-XXXXXX";
	struct cnn_graph *g = NULL;
	int folder, ret;
	size_t len;
	void *buf;
	FILE *f;

	assert_non_null(mkdtemp(path));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f = fdopen(openat(folder, "w", O_RDWR | O_CREAT | O_CLOEXEC, 0600), "wb");
	assert_non_null(f);
	ob_move_data(b, "w", f);
	fflush(f);
	if (size >= 0)
		assert_int_equal(ftruncate(fileno(f), size), 0);
	fclose(f);
	buf = ob_pack(b, &len);
	ret = cnn_graph_import(buf, len, folder, &g, err);
	cnn_graph_free(g);
	if (!ret)
		assert_int_equal(cnn_graph_import(buf, len, -1, &g, err), CNN_EINVAL);
	ob_free(b);
	free(buf);
	unlinkat(folder, "w", 0);
	close(folder);
	rmdir(path);
	return ret;
}

static void test_external_data(void **state)
{
	struct onnx_build *b = small();
	struct cnn_err err;

	(void)state;
	initializer(b);
	assert_int_equal(import_external(b, -1, &err), CNN_OK);
	assert_says(err, "tensor w: external data in \"w\": no folder was given");
	b = small();
	initializer(b);
	assert_int_equal(import_external(b, 23, &err), CNN_EINVAL);
	assert_says(err, "24 bytes at 0 are wanted, it has 23");
}

static void test_external_limit(void **state)
{
	struct onnx_build *b = small();
	Onnx__TensorProto *tp = initializer(b);
	struct cnn_external x;
	struct cnn_tensor t;
	struct cnn_err err;
	FILE *f = tmpfile();

	(void)state;
	ob_move_data(b, "w", f);
	cnn_external_init(&x, -1);
	/* As if the file had been opened already. */
	x.location = strdup("w");
	x.fd = dup(fileno(f));
	x.size = 24;
	fflush(f);
	x.left = 47;
	assert_int_equal(cnn_tensor_from_proto(tp, &x, &t, &err), CNN_EINVAL);
	x.folder = 0;
	assert_int_equal(cnn_tensor_from_proto(tp, &x, &t, &err), CNN_OK);
	cnn_tensor_release(&t);
	assert_int_equal(cnn_tensor_from_proto(tp, &x, &t, &err), CNN_ELIMIT);
	assert_says(err, "external data exceeds 8589934592 bytes");
	x.left = 24;
	x.size = 24;
	assert_int_equal(ftruncate(fileno(f), 23), 0);
	assert_int_equal(cnn_tensor_from_proto(tp, &x, &t, &err), CNN_EINVAL);
	assert_says(err, "it became shorter while it was read");
	cnn_external_close(&x);
	fclose(f);
	ob_free(b);
}

static void test_initializers(void **state)
{
	struct onnx_build *b = small();

	(void)state;
	initializer(b)->dims[0] = 3;
	refused(b, CNN_EINVAL, "tensor w: 24 bytes of raw_data, 36 expected");
	b = small();
	initializer(b)->dims[0] = (int64_t)1 << 62;
	refused(b, CNN_ELIMIT, "tensor w: dimensions");
	b = small();
	initializer(b)->dims[0] = -2;
	refused(b, CNN_ELIMIT, "tensor w: dimensions");
	b = small();
	initializer(b)->data_type = CNN_STRING;
	refused(b, CNN_EUNSUPPORTED, "tensor w: type string");
	b = small();
	initializer(b)->has_data_location = 1;
	ob_model(b)->graph->initializer[0]->data_location =
		ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	refused(b, CNN_EINVAL, "external data without a location");
	b = small();
	initializer(b);
	initializer(b);
	refused(b, CNN_EINVAL, "two initializers are called w");
	b = small();
	ob_random(b, "x", 1, OB_DIMS(2, 3));
	assert_int_equal(0, ({
		struct cnn_graph *g = import(b);	/* an input with a default is a constant */
		int n = g->n_inputs;

		cnn_graph_free(g);
		n;
	}));
}

static void test_types(void **state)
{
	struct onnx_build *b = ob_new(13);

	(void)state;
	ob_input(b, "x", CNN_STRING, OB_DIMS(2));
	ob_output(b, "x");
	refused(b, CNN_EUNSUPPORTED, "input x: type string");
	b = small();
	ob_model(b)->graph->input[0]->type->tensor_type->has_elem_type = 0;
	ob_model(b)->graph->input[0]->type->tensor_type->elem_type = 0;
	refused(b, CNN_EUNSUPPORTED, "type undefined");
}

/* Each way a TensorProto can hold its elements. */
static void test_tensor_forms(void **state)
{
	static const struct {
		int dtype;
		const char *field;
	} forms[] = {
		{ CNN_FLOAT32, "float" }, { CNN_FLOAT64, "double" }, { CNN_INT64, "int64" },
		{ CNN_UINT64, "uint64" }, { CNN_UINT32, "uint64" }, { CNN_INT32, "int32" },
		{ CNN_INT8, "int32" }, { CNN_UINT8, "int32" }, { CNN_BOOL, "int32" },
		{ CNN_INT16, "int32" },
	};
	float f[3] = { 1, 0, 1 };
	double d[3] = { 1, 0, 1 };
	int32_t i[3] = { 1, 0, 1 };
	int64_t l[3] = { 1, 0, 1 }, dims[1] = { 3 };

	(void)state;
	for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
		Onnx__TensorProto tp = ONNX__TENSOR_PROTO__INIT;
		struct cnn_tensor t, two = { .rank = 0, .dtype = CNN_INT64 };
		struct cnn_err err;
		uint8_t buf[256];
		size_t len;

		tp.dims = dims;
		tp.n_dims = 1;
		tp.has_data_type = 1;
		tp.data_type = forms[k].dtype;
		tp.float_data = f;
		tp.double_data = d;
		tp.int32_data = i;
		tp.int64_data = l;
		tp.uint64_data = (uint64_t *)l;
		tp.n_float_data = !strcmp(forms[k].field, "float") ? 3 : 0;
		tp.n_double_data = !strcmp(forms[k].field, "double") ? 3 : 0;
		tp.n_int32_data = !strcmp(forms[k].field, "int32") ? 3 : 0;
		tp.n_int64_data = !strcmp(forms[k].field, "int64") ? 3 : 0;
		tp.n_uint64_data = !strcmp(forms[k].field, "uint64") ? 3 : 0;
		len = onnx__tensor_proto__pack(&tp, buf);
		assert_int_equal(cnn_tensor_from_pb(buf, len, &t, NULL, &err), 0);
		assert_int_equal(t.dtype, forms[k].dtype);
		assert_int_equal(cnn_tensor_bytes(&t), 3 * cnn_dtype_size(t.dtype));
		for (int j = 0; j < 3; j++)
			assert_int_equal(!!memcmp((char *)t.data + j * cnn_dtype_size(t.dtype),
						  (char[8]){ 0 }, cnn_dtype_size(t.dtype)), j != 1);
		cnn_tensor_release(&t);
		cnn_tensor_release(&two);
	}
}

static void test_round_trip(void **state)
{
	struct cnn_tensor t = random_tensor(3, OB_DIMS(2, 1, 5)), back;
	struct cnn_err err;
	char *name;
	size_t len;
	void *buf;

	(void)state;
	assert_int_equal(cnn_tensor_to_pb(&t, "weights", &buf, &len, &err), 0);
	assert_int_equal(cnn_tensor_from_pb(buf, len, &back, &name, &err), 0);
	assert_string_equal(name, "weights");
	assert_close(&back, &t, 0, 0);
	free(name);
	free(buf);
	cnn_tensor_release(&t);
	cnn_tensor_release(&back);
}

static void test_count(void **state)
{
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = 3, .dims = { 1 << 30, 1 << 30, 16 } };
	struct cnn_err err;

	(void)state;
	assert_int_equal(cnn_tensor_count(&t), -1);
	t.dims[0] = 0;
	assert_int_equal(cnn_tensor_count(&t), 0);
	t.dims[1] = INT64_MAX;
	assert_int_equal(cnn_tensor_count(&t), -1);
	t = (struct cnn_tensor){ .dtype = CNN_FLOAT64, .rank = 1, .dims = { INT64_MAX / 4 } };
	assert_int_equal(cnn_tensor_bytes(&t), -1);
	assert_int_equal(cnn_tensor_alloc(&t, 0, &err), CNN_ELIMIT);
	assert_says(err, "float64[");
}

/* Parameters: of one given twice the first counts, and those of a node without readers may be wrong. */
static void test_parameters(void **state)
{
	const int64_t pads[4] = { -1, -1, -1, -1 }, kernel[2] = { 2, 2 };
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 1, 4, 4));
	n = ob_node(b, "LeakyRelu", "x", "l");
	ob_attr_float(n, "alpha", 2);
	ob_attr_float(n, "alpha", 3);
	n = ob_node(b, "MaxPool", "l", "y");
	ob_attr_ints(n, "kernel_shape", 2, kernel);
	ob_attr_str(n, "auto_pad", "VALID");
	ob_attr_ints(n, "pads", 4, pads);
	n = ob_node(b, "Cast", "x", "dead");
	ob_attr_int(n, "to", CNN_FLOAT32);
	ob_attr_int(n, "unheard_of", 1);
	ob_output(b, "y");
	g = inferred(b);
	assert_int_equal(g->n_nodes, 2);
	assert_true(g->nodes[0].params.unary.alpha == 2);
	cnn_graph_free(g);
}

/* A node that is needed is refused, and by which parameter. */
static void test_refused_parameters(void **state)
{
	struct onnx_build *b = ob_new(6);
	struct cnn_err err = { 0 };
	Onnx__NodeProto *n;

	(void)state;
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2, 3));
	ob_random(b, "w", 1, OB_DIMS(2, 3));
	n = ob_node(b, "Add", "x w", "y");
	ob_attr_int(n, "broadcast", 1);
	ob_attr_int(n, "axis", INT64_MAX);
	ob_output(b, "y");
	assert_int_equal(import_and_infer(b, &err), CNN_EINVAL);
	assert_says(err, "axis");

	b = ob_new(13);
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2, 3));
	n = ob_node(b, "Cast", "x", "y");
	ob_attr_int(n, "to", CNN_FLOAT32);
	ob_attr_int(n, "unheard_of", 1);
	ob_output(b, "y");
	assert_int_equal(import_and_infer(b, &err), CNN_EUNSUPPORTED);
	assert_says(err, "unheard_of");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_not_onnx),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_expansion),
		cmocka_unit_test(test_structure),
		cmocka_unit_test(test_newer_sets),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_initializers),
		cmocka_unit_test(test_external_data),
		cmocka_unit_test(test_external_limit),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_tensor_forms),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_refused_parameters),
	};

	return cmocka_run_group_tests_name("graph import", tests, NULL, NULL);
}
