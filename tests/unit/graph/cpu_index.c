// SPDX-License-Identifier: MIT
/*
 * Operators whose indices, counts and lengths come from tensors: what a run refuses, and outputs
 * of the size that it finds.
 */
#include "util.h"

/* A network of one node whose inputs are data, so that nothing is folded. */
struct net {
	struct onnx_build *b;
	Onnx__NodeProto *n;
	struct cnn_tensor in[8];
	int count;
};

static void start(struct net *t, const char *op, const char *inputs, const char *outputs)
{
	t->b = ob_new(18);
	t->n = ob_node(t->b, op, inputs, outputs);
	t->count = 0;
	ob_output(t->b, "y");
}

static void add(struct net *t, const char *name, int dtype, int rank, const int64_t *dims,
		const void *data)
{
	ob_input(t->b, name, dtype, rank, dims);
	t->in[t->count++] = view(dtype, rank, dims, (void *)data);
}

#define FLOATS(t, name, dims, ...)	add(t, name, CNN_FLOAT32, dims, (const float[]){ __VA_ARGS__ })
#define INT64S(t, name, dims, ...)	add(t, name, CNN_INT64, dims, (const int64_t[]){ __VA_ARGS__ })
#define D(...)	OB_DIMS(__VA_ARGS__)

static int run(struct net *t, struct cnn_tensor *y, struct cnn_err *err)
{
	struct cnn_graph *g = inferred(t->b);
	int ret = cnn_graph_run_cpu(g, t->in, y, err);

	cnn_graph_free(g);
	return ret;
}

/* The run must fail and say so. */
static void refused(struct net *t, const char *part)
{
	struct cnn_tensor y[4];
	struct cnn_err err = { 0 };

	assert_int_equal(run(t, y, &err), CNN_EINVAL);
	assert_says(err, part);
}

/* Output 0 must have these dimensions. */
static void gives(struct net *t, int rank, const int64_t *dims)
{
	struct cnn_tensor y[4];
	struct cnn_err err = { 0 };

	if (run(t, y, &err))
		fail_msg("run: %s", err.text);
	assert_dims(&y[0], rank, dims);
	cnn_tensor_release(&y[0]);
}

static void test_bad_indices(void **state)
{
	static const int64_t bad[] = { 2, -3, INT64_MAX, INT64_MIN };
	struct net t;

	(void)state;
	for (int i = 0; i < 4; i++) {
		start(&t, "GatherElements", "x i", "y");
		FLOATS(&t, "x", D(2), 1, 2);
		INT64S(&t, "i", D(1), bad[i]);
		refused(&t, "limits -2 to 1");
		start(&t, "ScatterElements", "x i u", "y");
		FLOATS(&t, "x", D(2), 1, 2);
		INT64S(&t, "i", D(1), bad[i]);
		FLOATS(&t, "u", D(1), 3);
		refused(&t, "limits -2 to 1");
		start(&t, "GatherND", "x i", "y");
		FLOATS(&t, "x", D(2, 1), 1, 2);
		INT64S(&t, "i", D(1, 1), bad[i]);
		refused(&t, "limits -2 to 1");
		start(&t, "ScatterND", "x i u", "y");
		FLOATS(&t, "x", D(2, 1), 1, 2);
		INT64S(&t, "i", D(1, 2), 0, bad[i]);
		FLOATS(&t, "u", D(1), 3);
		refused(&t, "limits -1 to 0");
		start(&t, "MaxUnpool", "x i", "y");
		ob_attr_ints(t.n, "kernel_shape", 1, (const int64_t[]){ 2 });
		FLOATS(&t, "x", D(1, 1, 1), 1);
		INT64S(&t, "i", D(1, 1, 1), bad[i]);
		refused(&t, "limits 0 to 1");
	}
}

static void test_bad_counts(void **state)
{
	static const int64_t bad[] = { -1, 3, INT64_MIN };
	struct net t;

	(void)state;
	for (int i = 0; i < 3; i++) {
		start(&t, "TopK", "x k", "y z");
		FLOATS(&t, "x", D(2), 1, 2);
		INT64S(&t, "k", D(1), bad[i]);
		refused(&t, "k is");
		start(&t, "ReverseSequence", "x l", "y");
		FLOATS(&t, "x", D(2, 1), 1, 2);
		INT64S(&t, "l", D(1), bad[i]);
		refused(&t, "sequence_lens[0]");
		start(&t, "CumSum", "x a", "y");
		FLOATS(&t, "x", D(2), 1, 2);
		INT64S(&t, "a", D(1), i == 2 ? INT64_MIN : 1 + i);
		refused(&t, "axis");
		start(&t, "RoiAlign", "x r b", "y");
		FLOATS(&t, "x", D(1, 1, 1, 1), 1);
		FLOATS(&t, "r", D(1, 4), 0, 0, 1, 1);
		INT64S(&t, "b", D(1), bad[i]);
		refused(&t, "batch_indices[0]");
	}
	start(&t, "NonMaxSuppression", "b s m i", "y");
	FLOATS(&t, "b", D(1, 1, 4), 0, 0, 1, 1);
	FLOATS(&t, "s", D(1, 1, 1), 1);
	INT64S(&t, "m", D(1), 1);
	FLOATS(&t, "i", D(1), 1.5f);
	refused(&t, "iou_threshold");
}

static void test_bad_lengths(void **state)
{
	static const int32_t bad[] = { -1, 3 };
	static const float w[4] = { 0 };
	struct net t;

	(void)state;
	for (int i = 0; i < 2; i++) {
		start(&t, "RNN", "x w r - l", "y");
		FLOATS(&t, "x", D(2, 1, 1), 1, 2);
		add(&t, "w", CNN_FLOAT32, D(1, 1, 1), w);
		add(&t, "r", CNN_FLOAT32, D(1, 1, 1), w);
		add(&t, "l", CNN_INT32, D(1), &bad[i]);
		refused(&t, "sequence_lens[0]");
	}
}

/* Sizes that a run finds: none, some, all. */
static void test_found_sizes(void **state)
{
	struct net t;

	(void)state;
	for (int64_t n = 0; n < 3; n++) {
		start(&t, "NonZero", "x", "y");
		FLOATS(&t, "x", D(2, 1), n > 0, n > 1);
		gives(&t, D(2, n));
		start(&t, "Compress", "x c", "y");
		ob_attr_int(t.n, "axis", 0);
		FLOATS(&t, "x", D(2, 1), 1, 2);
		add(&t, "c", CNN_BOOL, D(2), (const uint8_t[]){ n > 1, n > 0 });
		gives(&t, D(n, 1));
		start(&t, "NonMaxSuppression", "b s m", "y");
		FLOATS(&t, "b", D(1, 2, 4), 0, 0, 1, 1, n > 1 ? 2 : 0, 0, n > 1 ? 3 : 1, 1);
		FLOATS(&t, "s", D(1, 1, 2), 1, 2);
		INT64S(&t, "m", D(1), n ? INT64_MAX : INT64_MIN);
		gives(&t, D(n, 3));
		start(&t, "Unique", "x", "y");
		ob_attr_int(t.n, "axis", 1);
		FLOATS(&t, "x", D(1, 2), 7, n > 1 ? 8 : 7);
		gives(&t, D(1, n > 1 ? 2 : 1));
	}
}

static void test_empty(void **state)
{
	static const float none[1] = { 0 };
	struct net t;

	(void)state;
	start(&t, "GatherElements", "x i", "y");
	FLOATS(&t, "x", D(2), 1, 2);
	add(&t, "i", CNN_INT64, D(0), none);
	gives(&t, D(0));
	start(&t, "GatherND", "x i", "y");
	add(&t, "x", CNN_FLOAT32, D(0, 2), none);
	add(&t, "i", CNN_INT64, D(0, 1), none);
	gives(&t, D(0, 2));
	start(&t, "Unique", "x", "y");
	add(&t, "x", CNN_FLOAT32, D(0, 2), none);
	gives(&t, D(0));
	start(&t, "CumSum", "x a", "y");
	add(&t, "x", CNN_FLOAT32, D(2, 0), none);
	INT64S(&t, "a", D(1), 1);
	gives(&t, D(2, 0));
	start(&t, "NonMaxSuppression", "b s", "y");
	add(&t, "b", CNN_FLOAT32, D(1, 0, 4), none);
	add(&t, "s", CNN_FLOAT32, D(1, 2, 0), none);
	gives(&t, D(0, 3));
	start(&t, "Einsum", "x z", "y");
	ob_attr_str(t.n, "equation", "ij,jk->ik");
	add(&t, "x", CNN_FLOAT32, D(2, 0), none);
	add(&t, "z", CNN_FLOAT32, D(0, 3), none);
	gives(&t, D(2, 3));
	start(&t, "Det", "x", "y");
	add(&t, "x", CNN_FLOAT32, D(2, 0, 0), none);
	gives(&t, D(2));
}

/* What takes no memory takes no time either. */
static void test_empty_and_long(void **state)
{
	const int64_t many = (int64_t)1 << 40;
	const float none[1] = { 0 };
	struct net t;

	(void)state;
	start(&t, "Unique", "x", "y");
	ob_attr_int(t.n, "axis", 1);
	add(&t, "x", CNN_FLOAT32, D(many, 2, 0), none);
	gives(&t, D(many, 1, 0));
	start(&t, "Unique", "x", "y");
	ob_attr_int(t.n, "axis", 1);
	add(&t, "x", CNN_FLOAT32, D(many, 0), none);
	gives(&t, D(many, 0));
	start(&t, "EyeLike", "x", "y");
	add(&t, "x", CNN_FLOAT32, D(many, 0), none);
	gives(&t, D(many, 0));
	start(&t, "NonMaxSuppression", "b s", "y");
	add(&t, "b", CNN_FLOAT32, D(1, 0, 4), none);
	add(&t, "s", CNN_FLOAT32, D(1, many, 0), none);
	gives(&t, D(0, 3));
	start(&t, "Compress", "x c", "y");
	ob_attr_int(t.n, "axis", 1);
	add(&t, "x", CNN_FLOAT32, D(many, 1, 0), none);
	ob_bytes(t.b, "c", CNN_BOOL, OB_DIMS(1), (const uint8_t[]){ 1 });
	gives(&t, D(many, 1, 0));
	start(&t, "ReverseSequence", "x l", "y");
	ob_attr_int(t.n, "batch_axis", 1);
	ob_attr_int(t.n, "time_axis", 0);
	add(&t, "x", CNN_FLOAT32, D(many, 1, 0), none);
	INT64S(&t, "l", D(1), 1);
	gives(&t, D(many, 1, 0));
}

static void test_equations(void **state)
{
	static const char *const bad[] = {
		"", "ij", "i,j", "i->", "ijk->i", "ij->iii", "ij->k", "......", "ij-", "ij-i", "i1",
		"ij->i,j", "ii", "ij->ij ?",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct onnx_build *b = ob_new(12);
		struct cnn_err err = { 0 };
		bool good = !strcmp(bad[i], "ij");

		ob_input(b, "x", 1, OB_DIMS(2, 3));
		ob_attr_str(ob_node(b, "Einsum", "x", "y"), "equation", bad[i]);
		ob_output(b, "y");
		assert_int_equal(import_and_infer(b, &err), good ? CNN_OK : CNN_EINVAL);
		if (!good)
			assert_says(err, "equation");
	}
}

/* A region far larger than the map takes no longer than the map. */
static void test_large_region(void **state)
{
	struct cnn_tensor y[1];
	struct cnn_err err = { 0 };
	struct net t;

	(void)state;
	start(&t, "RoiAlign", "x r b", "y");
	FLOATS(&t, "x", D(1, 1, 2, 2), 1, 1, 1, 1);
	FLOATS(&t, "r", D(1, 4), -1e9f, -1e9f, 1e9f, 1e9f);
	INT64S(&t, "b", D(1), 0);
	assert_int_equal(run(&t, y, &err), CNN_OK);
	assert_true(*(float *)y[0].data >= 0 && *(float *)y[0].data < 1e-9f);
	cnn_tensor_release(&y[0]);
}

/* An STFT takes its frames, not the whole signal for each. */
static void test_long_signal(void **state)
{
	(void)state;
	for (int window = 0; window < 2; window++) {
		struct onnx_build *b = ob_new(17);
		struct cnn_err err = { 0 };
		struct cnn_graph *g;

		ob_int64s(b, "size", 3, (const int64_t[]){ 1, 10000, 1 });
		ob_int64s(b, "w", 1, (const int64_t[]){ 16 });
		ob_int64s(b, "step", 1, (const int64_t[]){ 16 });
		ob_node(b, "ConstantOfShape", "size", "x");
		ob_node(b, "ConstantOfShape", "w", "window");
		ob_node(b, "STFT", window ? "x step window" : "x step - w", "y");
		ob_output(b, "y");
		g = import(b);
		g->limits.fold_work = 625 * 9 * 2 * 16 + 25000;
		if (cnn_graph_infer(g, &err))
			fail_msg("infer: %s", err.text);
		cnn_graph_free(g);
	}
}

/* Elimination takes the third power of a matrix's rows. */
static void test_large_matrix(void **state)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_err err = { 0 };
	struct cnn_graph *g;

	(void)state;
	ob_int64s(b, "size", 2, (const int64_t[]){ 300, 300 });
	ob_node(b, "ConstantOfShape", "size", "x");
	ob_node(b, "Det", "x", "y");
	ob_output(b, "y");
	g = import(b);
	g->limits.fold_work = 300 * 300 * 300 - 1;
	assert_int_equal(cnn_graph_infer(g, &err), CNN_ELIMIT);
	assert_says(err, "Det");
	cnn_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_indices),
		cmocka_unit_test(test_bad_counts),
		cmocka_unit_test(test_bad_lengths),
		cmocka_unit_test(test_found_sizes),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_empty_and_long),
		cmocka_unit_test(test_equations),
		cmocka_unit_test(test_large_region),
		cmocka_unit_test(test_large_matrix),
		cmocka_unit_test(test_long_signal),
	};

	return cmocka_run_group_tests_name("cpu index", tests, NULL, NULL);
}
