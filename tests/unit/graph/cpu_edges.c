// SPDX-License-Identifier: MIT
/* What ONNX's own cases do not ask: empty tensors, extreme numbers, parameters that are refused. */
#include <math.h>

#include "util.h"

/* ---- refusals ---------------------------------------------------------------------------- */

#define MAX_IN	3

/* A node whose inputs are constants of zeros, but for the integers of the last one. */
static const struct refusal {
	const char *op;
	int opset;
	int types[MAX_IN], ranks[MAX_IN];	/* type 0: no more inputs */
	int64_t dims[MAX_IN][4], last[4];
	const char *attr;
	int64_t value;
	int code;
	const char *says;
} refusals[] = {
	{ "Sin", 7, { CNN_FLOAT64 }, { 1 }, { { 2 } }, .code = CNN_EUNSUPPORTED, .says = "float64" },
	{ "BitShift", 11, { CNN_UINT8, CNN_UINT8 }, .code = CNN_EINVAL, .says = "direction" },
	{ "BitwiseAnd", 18, { CNN_FLOAT32, CNN_FLOAT32 }, .code = CNN_EUNSUPPORTED,
	  .says = "float32" },
	{ "BitwiseAnd", 18, { CNN_INT8, CNN_UINT8 }, .code = CNN_EINVAL, .says = "int8 and uint8" },
	{ "Mod", 13, { CNN_FLOAT32, CNN_FLOAT32 }, .code = CNN_EINVAL, .says = "fmod is 0" },
	{ "Mod", 13, { CNN_BOOL, CNN_BOOL }, .code = CNN_EUNSUPPORTED, .says = "bool" },
	{ "IsNaN", 13, { CNN_INT32 }, .code = CNN_EUNSUPPORTED, .says = "int32" },
	{ "Range", 11, { CNN_INT64, CNN_INT64, CNN_INT64 }, .code = CNN_EINVAL,
	  .says = "delta is 0" },
	{ "Range", 11, { CNN_INT64, CNN_INT64, CNN_INT64 }, { 1 }, { { 2 } }, .last = { 1 },
	  .code = CNN_EINVAL, .says = "start is not one int64" },
	{ "Range", 11, { CNN_INT64, CNN_INT32, CNN_INT64 }, .code = CNN_EINVAL,
	  .says = "limit is not one int64" },
	{ "Range", 11, { CNN_UINT8, CNN_UINT8, CNN_UINT8 }, .code = CNN_EUNSUPPORTED,
	  .says = "uint8" },
	{ "Tile", 1, { CNN_FLOAT32, CNN_INT64 }, { 1, 1 }, { { 2 }, { 1 } },
	  .code = CNN_EUNSUPPORTED, .says = "operator set 1" },
	{ "Tile", 13, { CNN_FLOAT32, CNN_INT64 }, { 1, 1 }, { { 2 }, { 2 } }, .code = CNN_EINVAL,
	  .says = "repeats has 2 entries, 1 expected" },
	{ "Tile", 13, { CNN_FLOAT32, CNN_INT64 }, { 1, 1 }, { { 2 }, { 1 } }, { -1 },
	  .code = CNN_EINVAL, .says = "repeats[0] is -1" },
	{ "Tile", 13, { CNN_FLOAT32, CNN_INT64 }, { 2, 1 }, { { 2, 2 }, { 2 } },
	  { INT64_MAX, INT64_MAX }, .code = CNN_ELIMIT, .says = "Tile" },
	{ "HannWindow", 17, { CNN_INT64 }, { 1 }, { { 2 } }, .code = CNN_EINVAL,
	  .says = "size is not one number" },
	{ "HannWindow", 17, { CNN_INT64 }, .last = { -1 }, .code = CNN_ELIMIT, .says = "size is -1" },
	{ "HannWindow", 17, { CNN_INT64 }, .last = { INT64_MAX }, .code = CNN_ELIMIT,
	  .says = "HannWindow" },
	{ "HannWindow", 17, { CNN_INT64 }, .last = { 3 }, .attr = "output_datatype",
	  .value = CNN_STRING, .code = CNN_EUNSUPPORTED, .says = "output_datatype" },
	{ "OneHot", 11, { CNN_FLOAT32, CNN_INT64, CNN_FLOAT32 }, { 1, 0, 1 },
	  { { 2 }, { 0 }, { 3 } }, .code = CNN_EINVAL, .says = "values has 3 elements" },
	{ "OneHot", 11, { CNN_FLOAT32, CNN_INT64, CNN_INT64 }, { 1, 1, 1 },
	  { { 2 }, { 2 }, { 2 } }, .code = CNN_EINVAL, .says = "depth is not one number" },
	{ "OneHot", 11, { CNN_FLOAT32, CNN_INT64, CNN_INT64 }, { 1, 0, 1 },
	  { { 2 }, { 0 }, { 2 } }, .attr = "axis", .value = 2, .code = CNN_EINVAL,
	  .says = "axis 2, limits -2 to 1" },
	{ "EyeLike", 9, { CNN_FLOAT32 }, { 3 }, { { 1, 1, 1 } }, .code = CNN_EINVAL,
	  .says = "3 axes, 2 wanted" },
	{ "EyeLike", 9, { CNN_FLOAT32 }, { 2 }, { { 1, 1 } }, .attr = "dtype",
	  .value = CNN_BFLOAT16, .code = CNN_EUNSUPPORTED, .says = "bfloat16" },
	{ "Trilu", 14, { CNN_FLOAT32 }, { 1 }, { { 4 } }, .code = CNN_EINVAL, .says = "1 axes" },
	{ "Trilu", 14, { CNN_FLOAT32, CNN_INT32 }, { 2 }, { { 2, 2 } }, .code = CNN_EINVAL,
	  .says = "k is not one int64" },
	{ "SpaceToDepth", 13, { CNN_FLOAT32 }, { 4 }, { { 1, 1, 4, 6 } }, .code = CNN_EINVAL,
	  .says = "blocksize 0" },
	{ "SpaceToDepth", 13, { CNN_FLOAT32 }, { 4 }, { { 1, 1, 4, 6 } }, .attr = "blocksize",
	  .value = 4, .code = CNN_EINVAL, .says = "blocksize 4 with a map of 4 x 6" },
	{ "LRN", 13, { CNN_FLOAT32 }, { 4 }, { { 1, 1, 1, 1 } }, .code = CNN_EINVAL,
	  .says = "size is 0" },
	{ "DFT", 17, { CNN_FLOAT32 }, { 3 }, { { 1, 4, 3 } }, .code = CNN_EINVAL,
	  .says = "last axis has 3 elements" },
	{ "DFT", 17, { CNN_FLOAT32 }, { 3 }, { { 1, 4, 2 } }, .attr = "axis", .value = 2,
	  .code = CNN_EINVAL, .says = "axis 2 holds the parts" },
	{ "DFT", 17, { CNN_FLOAT32 }, { 3 }, { { 1, 4, 2 } }, .attr = "onesided", .value = 1,
	  .code = CNN_EINVAL, .says = "onesided" },
	{ "DFT", 17, { CNN_FLOAT32, CNN_INT64 }, { 3 }, { { 1, 4, 2 } }, .last = { 1 << 25 },
	  .code = CNN_ELIMIT, .says = "dft_length is 33554432" },
	{ "STFT", 17, { CNN_FLOAT32, CNN_INT64 }, { 3 }, { { 1, 4, 1 } }, .last = { 2 },
	  .code = CNN_ELIMIT, .says = "frame_length is 0" },
	{ "STFT", 17, { CNN_FLOAT32, CNN_INT64, CNN_FLOAT32 }, { 3, 0, 1 },
	  { { 1, 4, 1 }, { 0 }, { 5 } }, .code = CNN_ELIMIT, .says = "frame_step is 0" },
	{ "LpNormalization", 1, { CNN_FLOAT32 }, { 2 }, { { 2, 2 } }, .attr = "p", .value = 3,
	  .code = CNN_EINVAL, .says = "p is 3" },
	{ "GlobalLpPool", 2, { CNN_FLOAT32 }, { 3 }, { { 1, 2, 2 } }, .attr = "p", .value = 0,
	  .code = CNN_ELIMIT, .says = "p is 0" },
	{ "InstanceNormalization", 6, { CNN_FLOAT32, CNN_FLOAT32, CNN_FLOAT32 }, { 3, 1, 1 },
	  { { 1, 2, 3 }, { 2 }, { 3 } }, .code = CNN_EINVAL,
	  .says = "input 2 does not have 2 numbers" },
	{ "GroupNormalization", 21, { CNN_FLOAT32, CNN_FLOAT32, CNN_FLOAT32 }, { 3, 1, 1 },
	  { { 1, 2, 3 }, { 2 }, { 2 } }, .attr = "num_groups", .value = 3, .code = CNN_EINVAL,
	  .says = "num_groups 3 with 2 channels" },
	{ "GroupNormalization", 21, { CNN_FLOAT32, CNN_FLOAT32, CNN_FLOAT32 }, { 3, 1, 1 },
	  { { 1, 2, 3 }, { 2 }, { 2 } }, .code = CNN_EINVAL, .says = "num_groups 0" },
	{ "LayerNormalization", 17, { CNN_FLOAT32, CNN_FLOAT32 }, { 2, 1 }, { { 2, 3 }, { 2 } },
	  .code = CNN_EINVAL, .says = "broadcast" },
	{ "LayerNormalization", 17, { CNN_FLOAT32, CNN_FLOAT32 }, { 2, 2 }, { { 2, 3 }, { 2, 3 } },
	  .code = CNN_EINVAL, .says = "input 1 does not broadcast" },
	{ "LayerNormalization", 17, { CNN_FLOAT32, CNN_FLOAT32 }, { 2, 1 }, { { 2, 3 }, { 3 } },
	  .attr = "axis", .value = -3, .code = CNN_EINVAL, .says = "axis -3, limits -2 to 1" },
	{ "MeanVarianceNormalization", 13, { CNN_FLOAT32 }, { 3 }, { { 2, 2, 2 } },
	  .code = CNN_EINVAL, .says = "axis 3" },
	{ "Hardmax", 13, { CNN_FLOAT32 }, { 2 }, { { 2, 2 } }, .attr = "axis", .value = 2,
	  .code = CNN_EINVAL, .says = "axis 2" },
};

static void test_refusals(void **state)
{
	static const char *const names[] = { "a", "b", "c" }, *const lists[] = { "a", "a b", "a b c" };
	static const int64_t zeros[64];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct onnx_build *b = ob_new(r->opset);
		struct cnn_err err = { 0 };
		Onnx__NodeProto *node;
		int n = 0, code;

		for (; n < MAX_IN && r->types[n]; n++) {
			bool last = n + 1 == MAX_IN || !r->types[n + 1];

			ob_raw(b, names[n], r->types[n], cnn_dtype_size(r->types[n]), r->ranks[n],
			       r->dims[n], last && r->last[0] ? r->last : zeros);
		}
		node = ob_node(b, r->op, lists[n - 1], "y");
		if (r->attr)
			ob_attr_int(node, r->attr, r->value);
		ob_output(b, "y");
		code = import_and_infer(b, &err);
		if (code != r->code || !strstr(err.text, r->says))
			fail_msg("refusal %zu of %s: %d, %s; \"%s\" expected", i, r->op, code,
				 err.text, r->says);
	}
}

/* ---- integers ---------------------------------------------------------------------------- */

static void assert_bytes(struct cnn_tensor y, const void *want)
{
	assert_memory_equal(y.data, want, (size_t)cnn_tensor_bytes(&y));
	cnn_tensor_release(&y);
}

static void test_mod(void **state)
{
	int32_t a[7] = { 7, -7, 7, -7, INT32_MIN, 5, 0 }, b[7] = { 3, 3, -3, -3, -1, 0, 4 };
	uint64_t c[2] = { UINT64_MAX, 9 }, d[2] = { 10, 0 };
	struct cnn_tensor in[2] = { view(CNN_INT32, OB_DIMS(7), a), view(CNN_INT32, OB_DIMS(7), b) };
	struct cnn_tensor whole[2] = { view(CNN_UINT64, OB_DIMS(2), c),
				       view(CNN_UINT64, OB_DIMS(2), d) };

	(void)state;
	assert_bytes(run_op("Mod", 13, 2, in), (const int32_t[]){ 1, 2, -2, -1, 0, 0, 0 });
	assert_bytes(run_op("Mod", 13, 2, whole), (const uint64_t[]){ 5, 0 });
}

static void test_bits(void **state)
{
	int16_t a[3] = { -1, 0x0ff0, INT16_MIN }, b[3] = { 0x00ff, -256, -1 };
	struct cnn_tensor in[2] = { view(CNN_INT16, OB_DIMS(3), a), view(CNN_INT16, OB_DIMS(3), b) };

	(void)state;
	assert_bytes(run_op("BitwiseAnd", 18, 2, in), (const int16_t[]){ 0x00ff, 0x0f00, INT16_MIN });
	assert_bytes(run_op("BitwiseOr", 18, 2, in), (const int16_t[]){ -1, -16, -1 });
	assert_bytes(run_op("BitwiseXor", 18, 2, in), (const int16_t[]){ -256, -3856, INT16_MAX });
	assert_bytes(run_op("BitwiseNot", 18, 1, in), (const int16_t[]){ 0, -4081, INT16_MAX });
}

/* A shift by as many bits as there are, or more, leaves none. */
static void test_shift(void **state)
{
	uint8_t a[4] = { 255, 255, 255, 255 }, b[4] = { 0, 7, 8, 255 };
	struct cnn_tensor in[2] = { view(CNN_UINT8, OB_DIMS(4), a), view(CNN_UINT8, OB_DIMS(4), b) };

	(void)state;
	for (int left = 0; left < 2; left++) {
		struct onnx_build *build = ob_new(11);
		struct cnn_tensor y;
		struct cnn_graph *g;

		ob_input(build, "a", CNN_UINT8, OB_DIMS(4));
		ob_input(build, "b", CNN_UINT8, OB_DIMS(4));
		ob_attr_str(ob_node(build, "BitShift", "a b", "y"), "direction",
			    left ? "LEFT" : "RIGHT");
		ob_output(build, "y");
		g = inferred(build);
		run_graph(g, in, &y);
		cnn_graph_free(g);
		assert_bytes(y, left ? (const uint8_t[]){ 255, 128, 0, 0 } :
				       (const uint8_t[]){ 255, 1, 0, 0 });
	}
}

static void test_signs(void **state)
{
	int8_t a[3] = { -128, 0, 127 };
	uint16_t b[2] = { 0, 65535 };
	struct cnn_tensor x = view(CNN_INT8, OB_DIMS(3), a), u = view(CNN_UINT16, OB_DIMS(2), b);

	(void)state;
	assert_bytes(run_op("Sign", 13, 1, &x), (const int8_t[]){ -1, 0, 1 });
	assert_bytes(run_op("Sign", 13, 1, &u), (const uint16_t[]){ 0, 1 });
	assert_bytes(run_op("Abs", 13, 1, &u), b);
}

/* Each type compares with its own sign. */
static void test_comparisons(void **state)
{
	uint8_t a[3] = { 200, 5, 7 }, b[3] = { 100, 5, 9 };
	struct cnn_tensor u[2] = { view(CNN_UINT8, OB_DIMS(3), a), view(CNN_UINT8, OB_DIMS(3), b) };
	struct cnn_tensor s[2] = { view(CNN_INT8, OB_DIMS(3), a), view(CNN_INT8, OB_DIMS(3), b) };

	(void)state;
	assert_bytes(run_op("Greater", 13, 2, u), (const uint8_t[]){ 1, 0, 0 });
	assert_bytes(run_op("Greater", 13, 2, s), (const uint8_t[]){ 0, 0, 0 });
	assert_bytes(run_op("LessOrEqual", 16, 2, u), (const uint8_t[]){ 0, 1, 1 });
	assert_bytes(run_op("LessOrEqual", 16, 2, s), (const uint8_t[]){ 1, 1, 1 });
}

/* ---- shapes ------------------------------------------------------------------------------- */

/* One node with constants for all inputs but the first, of integers. */
static struct cnn_tensor run_with(const char *op, int opset, const struct cnn_tensor *x,
				  int n, const int64_t *v)
{
	struct onnx_build *b = ob_new(opset);
	struct cnn_tensor y;
	struct cnn_graph *g;

	ob_input(b, "x", x->dtype, x->rank, x->dims);
	ob_int64s(b, "v", n, v);
	ob_node(b, op, "x v", "y");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, x, &y);
	cnn_graph_free(g);
	return y;
}

static void test_tile(void **state)
{
	int16_t v[6] = { 1, 2, 3, 4, 5, 6 };
	static const int16_t twice[] = { 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6 };
	struct cnn_tensor x = view(CNN_INT16, OB_DIMS(2, 3, 1), v), y;

	(void)state;
	assert_bytes(run_with("Tile", 13, &x, 3, (const int64_t[]){ 1, 2, 1 }), twice);
	y = run_with("Tile", 13, &x, 3, (const int64_t[]){ 2, 0, 3 });
	assert_dims(&y, OB_DIMS(4, 0, 3));
	cnn_tensor_release(&y);
}

static void test_trilu(void **state)
{
	int32_t v[6] = { 1, 2, 3, 4, 5, 6 };
	static const int32_t none[6];
	struct cnn_tensor x = view(CNN_INT32, OB_DIMS(2, 3), v);
	struct cnn_tensor empty = view(CNN_INT32, OB_DIMS(2, 0), v), y;

	(void)state;
	assert_bytes(run_with("Trilu", 14, &x, 1, (const int64_t[]){ INT64_MIN }), v);
	assert_bytes(run_with("Trilu", 14, &x, 1, (const int64_t[]){ INT64_MAX }), none);
	assert_bytes(run_with("Trilu", 14, &x, 1, (const int64_t[]){ 2 }),
		     (const int32_t[]){ 0, 0, 3, 0, 0, 0 });
	y = run_with("Trilu", 14, &empty, 1, (const int64_t[]){ 0 });
	assert_dims(&y, OB_DIMS(2, 0));
	cnn_tensor_release(&y);
}

/* The extremes have as many elements as arithmetic without overflow says. */
static void test_range(void **state)
{
	static const struct {
		int64_t v[3], count, last;
	} t[] = {
		{ { INT64_MIN, INT64_MAX, INT64_MAX }, 3, INT64_MAX - 1 },
		{ { INT64_MAX, INT64_MIN, INT64_MIN }, 2, -1 },
		{ { 3, 3, 1 }, 0, 0 }, { { 3, 9, -1 }, 0, 0 }, { { 10, 3, -3 }, 3, 4 },
	};
	static const int64_t too_many[3] = { 0, INT64_MAX, 1 };
	struct cnn_err err = { 0 };
	struct onnx_build *b;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cnn_tensor in[3], y;
		int64_t v[3];

		memcpy(v, t[i].v, sizeof(v));
		for (int j = 0; j < 3; j++)
			in[j] = view(CNN_INT64, 0, NULL, &v[j]);
		b = ob_new(11);
		for (int j = 0; j < 3; j++)
			ob_raw(b, (const char *[]){ "a", "b", "c" }[j], CNN_INT64, 8, 0, NULL,
			       in[j].data);
		ob_node(b, "Range", "a b c", "y");
		ob_output(b, "y");
		struct cnn_graph *g = inferred(b);

		run_graph(g, NULL, &y);
		cnn_graph_free(g);
		assert_dims(&y, 1, &t[i].count);
		if (t[i].count)
			assert_int_equal(((int64_t *)y.data)[t[i].count - 1], t[i].last);
		cnn_tensor_release(&y);
	}
	b = ob_new(11);
	for (int j = 0; j < 3; j++)
		ob_raw(b, (const char *[]){ "a", "b", "c" }[j], CNN_INT64, 8, 0, NULL, &too_many[j]);
	ob_node(b, "Range", "a b c", "y");
	ob_output(b, "y");
	assert_int_equal(import_and_infer(b, &err), CNN_ELIMIT);
	assert_says(err, "Range");
}

static void test_one_hot(void **state)
{
	float indices[5] = { 0, -1, 3, -4, NAN };
	int8_t values[2] = { 5, 9 };
	static const int8_t want[15] = { 9, 5, 5, 5, 5, 9, 5, 5, 5, 5, 5, 5, 9, 5, 5 };
	struct onnx_build *b = ob_new(11);
	struct cnn_tensor x = view(CNN_FLOAT32, OB_DIMS(5), indices), y;
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(5));
	ob_int64s(b, "depth", 1, (const int64_t[]){ 3 });
	ob_raw(b, "values", CNN_INT8, 1, OB_DIMS(2), values);
	ob_node(b, "OneHot", "x depth values", "y");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &x, &y);
	cnn_graph_free(g);
	assert_bytes(y, want);
}

static void test_eye(void **state)
{
	static const struct {
		int64_t k;
		int at[3];		/* the column of the one in each row, -1: none */
	} t[] = {
		{ INT64_MIN, { -1, -1, -1 } }, { INT64_MAX, { -1, -1, -1 } },
		{ -1, { -1, 0, 1 } }, { 3, { 3, -1, -1 } },
	};
	float v[12] = { 0 };
	struct cnn_tensor x = view(CNN_FLOAT32, OB_DIMS(3, 4), v), y;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct onnx_build *b = ob_new(9);
		uint16_t want[12] = { 0 };
		Onnx__NodeProto *node;
		struct cnn_graph *g;

		ob_input(b, "x", CNN_FLOAT32, OB_DIMS(3, 4));
		node = ob_node(b, "EyeLike", "x", "y");
		ob_attr_int(node, "k", t[i].k);
		ob_attr_int(node, "dtype", CNN_FLOAT16);
		ob_output(b, "y");
		g = inferred(b);
		run_graph(g, &x, &y);
		cnn_graph_free(g);
		for (int j = 0; j < 3; j++)
			if (t[i].at[j] >= 0)
				want[4 * j + t[i].at[j]] = 0x3c00;
		assert_bytes(y, want);
	}
}

/* Axes that are named, the last one from the end; the others are not padded. */
static void test_pad_axes(void **state)
{
	static const int64_t axes[2] = { -1, 0 }, twice[2] = { 0, 3 };
	float v[4] = { 1, 2, 3, 4 };
	static const float want[9] = { 0, 0, 0, 0, 1, 2, 0, 3, 4 };
	struct cnn_tensor x = view(CNN_FLOAT32, OB_DIMS(2, 1, 2), v), y;
	struct cnn_err err = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct onnx_build *b = ob_new(18);
		struct cnn_graph *g;

		ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2, 1, 2));
		ob_int64s(b, "pads", 4, (const int64_t[]){ 1, 1, 0, 0 });
		ob_int64s(b, "axes", 2, i ? twice : axes);
		ob_node(b, "Pad", "x pads - axes", "y");
		ob_output(b, "y");
		if (i) {
			assert_int_equal(import_and_infer(b, &err), CNN_EINVAL);
			assert_says(err, "axis 3, limits -3 to 2");
			break;
		}
		g = inferred(b);
		run_graph(g, &x, &y);
		cnn_graph_free(g);
		assert_dims(&y, OB_DIMS(3, 1, 3));
		assert_bytes(y, want);
	}
}

/* No exponential overflows, and an infinity is the result, not NaN. */
static void test_log_sum_exp(void **state)
{
	float v[6] = { 1000, 1000, -INFINITY, -INFINITY, INFINITY, INFINITY };
	static const float want[3] = { 1000 + (float)M_LN2, -INFINITY, INFINITY };
	struct cnn_tensor x = view(CNN_FLOAT32, OB_DIMS(3, 2), v), y;
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(3, 2));
	ob_attr_ints(ob_node(b, "ReduceLogSumExp", "x", "y"), "axes", 1, (const int64_t[]){ 1 });
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &x, &y);
	cnn_graph_free(g);
	assert_bytes(y, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_mod),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_shift),
		cmocka_unit_test(test_signs),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_tile),
		cmocka_unit_test(test_trilu),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_one_hot),
		cmocka_unit_test(test_eye),
		cmocka_unit_test(test_pad_axes),
		cmocka_unit_test(test_log_sum_exp),
	};

	return cmocka_run_group_tests_name("cpu edges", tests, NULL, NULL);
}
