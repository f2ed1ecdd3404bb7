// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>

#include "util.h"

/* Packs, frees the builder and imports. */
static int import_file(struct onnx_build *b, struct cnn_graph **g, struct cnn_err *err)
{
	size_t len;
	void *buf = ob_pack(b, &len);
	int ret = cnn_graph_import_onnx(buf, len, -1, g, err);

	ob_free(b);
	free(buf);
	return ret;
}

struct cnn_graph *import_as(struct onnx_build *b, int want, struct cnn_err *err)
{
	struct cnn_graph *g;
	int ret = import_file(b, &g, err);

	if (ret != want)
		print_error("import: %d, %s\n", ret, ret ? err->text : "");
	assert_int_equal(ret, want);
	return g;
}

int import_and_infer(struct onnx_build *b, struct cnn_err *err)
{
	struct cnn_graph *g;
	int ret = import_file(b, &g, err);

	if (!ret)
		ret = cnn_graph_infer(g, err);
	cnn_graph_free(g);
	return ret;
}

struct cnn_graph *import(struct onnx_build *b)
{
	struct cnn_err err;

	return import_as(b, CNN_OK, &err);
}

struct cnn_graph *inferred(struct onnx_build *b)
{
	struct cnn_graph *g = import(b);
	struct cnn_err err = { 0 };

	if (cnn_graph_infer(g, &err))
		fail_msg("infer: %s", err.text);
	return g;
}

struct cnn_tensor view(int dtype, int rank, const int64_t *dims, void *data)
{
	struct cnn_tensor t = { .dtype = dtype, .rank = rank, .data = data };

	if (rank)
		memcpy(t.dims, dims, sizeof(*dims) * rank);
	t.capacity = cnn_tensor_bytes(&t);
	return t;
}

struct cnn_tensor random_tensor(uint32_t seed, int rank, const int64_t *dims)
{
	struct cnn_tensor t = view(CNN_FLOAT32, rank, dims, NULL);
	uint32_t state = seed * 2654435761u + 1;
	int64_t n = cnn_tensor_count(&t);
	struct cnn_err err;

	assert_int_equal(cnn_tensor_alloc(&t, 0, &err), 0);
	for (int64_t i = 0; i < n; i++)
		((float *)t.data)[i] = (float)(ob_rand(&state) % 2001) / 1000 - 1;
	return t;
}

void run_graph(struct cnn_graph *g, const struct cnn_tensor *in, struct cnn_tensor *out)
{
	struct cnn_err err = { 0 };

	if (cnn_graph_run_cpu(g, in, out, &err))
		fail_msg("run: %s", err.text);
}

void assert_dims(const struct cnn_tensor *t, int rank, const int64_t *dims)
{
	assert_int_equal(t->rank, rank);
	for (int i = 0; i < rank; i++)
		assert_int_equal(t->dims[i], dims[i]);
}

void assert_close(const struct cnn_tensor *a, const struct cnn_tensor *b, double rtol, double atol)
{
	int64_t n = cnn_tensor_count(a);

	assert_true(cnn_tensor_same_shape(a, b));
	for (int64_t i = 0; i < n; i++) {
		double x = ((float *)a->data)[i], y = ((float *)b->data)[i];

		if (x != y && !(isfinite(x - y) && fabs(x - y) <= atol + rtol * fabs(y)))
			fail_msg("element %lld: %.9g, %.9g expected", (long long)i, x, y);
	}
}

int count_op(const struct cnn_graph *g, enum cnn_op op)
{
	int n = 0;

	for (int i = 0; i < g->n_nodes; i++)
		n += g->nodes[i].op == op;
	return n;
}

struct cnn_graph *compare_fused(struct onnx_build *(*make)(void), unsigned int what, double rtol)
{
	struct cnn_graph *plain = inferred(make()), *fused = inferred(make());
	struct cnn_tensor in[2], a[4], b[4];
	struct cnn_err err;

	assert_int_equal(cnn_graph_fuse(fused, what, &err), 0);
	for (int i = 0; i < plain->n_inputs; i++) {
		const struct cnn_tensor *t = &plain->values[plain->inputs[i]].t;

		in[i] = random_tensor(i + 50, t->rank, t->dims);
	}
	run_graph(plain, in, a);
	run_graph(fused, in, b);
	for (int i = 0; i < plain->n_outputs; i++) {
		assert_close(&b[i], &a[i], rtol, rtol);
		cnn_tensor_release(&a[i]);
		cnn_tensor_release(&b[i]);
	}
	for (int i = 0; i < plain->n_inputs; i++)
		cnn_tensor_release(&in[i]);
	cnn_graph_free(plain);
	return fused;
}

struct cnn_tensor run_op(const char *op, int opset, int n, const struct cnn_tensor *in)
{
	static const char *const names[] = { "", "a", "a b", "a b c" };
	struct onnx_build *b = ob_new(opset);
	struct cnn_tensor y;
	struct cnn_graph *g;

	for (int i = 0; i < n; i++)
		ob_input(b, (const char *[]){ "a", "b", "c" }[i], in[i].dtype, in[i].rank,
			 in[i].dims);
	ob_node(b, op, names[n], "y");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, in, &y);
	cnn_graph_free(g);
	return y;
}
