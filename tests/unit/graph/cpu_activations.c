// SPDX-License-Identifier: MIT
/* Activations whose loops are written for speed, against double precision. */
#include <math.h>

#include "util.h"

/* Over the whole range of floats that matter, to the smallest results. */
static void test_sigmoid(void **state)
{
	const struct cnn_act act = { .kind = CNN_ACT_SIGMOID };
	float special[] = { INFINITY, -INFINITY, NAN, 0, -0.0f, 1000, -1000 };

	(void)state;
	for (int i = -104 * 512; i < 104 * 512; i++) {
		float x = (float)i / 512 + 1e-4f, y;
		double want = 1 / (1 + exp(-(double)x));

		cnn_act_apply(&act, &x, &y, 1);
		if (!(fabs((double)y - want) <= want * 3e-7 + 1.5e-45))
			fail_msg("sigmoid(%.9g) is %.9g, %.9g expected", (double)x, (double)y, want);
	}
	cnn_act_apply(&act, special, special, 7);
	assert_true(special[0] == 1 && special[1] == 0 && special[2] != special[2]);
	assert_true(special[3] == 0.5f && special[4] == 0.5f && special[5] == 1);
	assert_true(special[6] >= 0 && special[6] < 1e-44f);
}

/* A HardSwish and what scales and shifts it: one loop, a few ulp from two. */
static struct onnx_build *scaled_swish(void)
{
	struct onnx_build *b = ob_new(14);

	ob_input(b, "x", 1, OB_DIMS(3, 5000));
	ob_floats(b, "ten", 0, NULL, (const float[]){ 10 });
	ob_floats(b, "a", 0, NULL, (const float[]){ -1.7f });
	ob_floats(b, "b", 0, NULL, (const float[]){ 0.3f });
	ob_node(b, "Mul", "x ten", "x10");
	ob_node(b, "HardSwish", "x10", "h");
	ob_node(b, "Mul", "h a", "m");
	ob_node(b, "Add", "m b", "y");
	ob_output(b, "y");
	return b;
}

static void test_scaled_swish(void **state)
{
	struct cnn_graph *g = compare_fused(scaled_swish, CNN_FUSE_ALL & ~CNN_FUSE_HARD_SWISH, 5e-7);

	(void)state;
	assert_int_equal(g->n_nodes, 2);
	assert_int_equal(g->nodes[1].act.kind, CNN_ACT_AFFINE);
	cnn_graph_free(g);
}

/* ---- workers --------------------------------------------------------------------------- */

struct backwards {
	struct cnn_workers workers;
	int parts;
};

static void run_backwards(struct cnn_workers *w, int count, void (*fn)(void *arg, int part),
			  void *arg)
{
	((struct backwards *)w)->parts += count;
	while (count-- > 0)
		fn(arg, count);
}

/* One node of two inputs, alone and in parts from the last to the first: the same bits. */
static void compare_parts(const char *op, const int64_t *dims, const int64_t *second)
{
	struct cnn_tensor in[2] = { random_tensor(1, 4, dims), random_tensor(2, 4, second) };
	const struct cnn_tensor *const inputs[2] = { &in[0], &in[1] };
	struct cnn_tensor one = { 0 }, other = { 0 }, *out[1] = { &one };
	struct backwards w = { { run_backwards }, 0 };
	struct onnx_build *b = ob_new(14);
	struct cnn_err err = { 0 };
	struct cnn_graph *g;

	ob_input(b, "a", 1, 4, dims);
	ob_input(b, "b", 1, 4, second);
	ob_node(b, op, strcmp(op, "HardSwish") ? "a b" : "a", "y");
	ob_output(b, "y");
	g = inferred(b);
	((float *)in[0].data)[12345] = NAN;
	assert_int_equal(cnn_cpu_run(&g->nodes[0], inputs, out, NULL, &err), 0);
	out[0] = &other;
	assert_int_equal(cnn_cpu_run(&g->nodes[0], inputs, out, &w.workers, &err), 0);
	assert_true(w.parts > 1);
	assert_memory_equal(one.data, other.data, (size_t)cnn_tensor_bytes(&one));
	for (int i = 0; i < 2; i++)
		cnn_tensor_release(&in[i]);
	cnn_tensor_release(&one);
	cnn_tensor_release(&other);
	cnn_graph_free(g);
}

static void test_workers(void **state)
{
	const int64_t map[4] = { 2, 5, 60, 71 }, one[4] = { 1, 5, 1, 1 }, row[4] = { 2, 1, 1, 71 };
	const int64_t last[4] = { 1, 1, 1, 71 };

	(void)state;
	compare_parts("HardSwish", map, map);
	compare_parts("Add", map, map);
	compare_parts("Mul", map, one);
	compare_parts("Sub", map, row);
	compare_parts("LayerNormalization", map, last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sigmoid),
		cmocka_unit_test(test_scaled_swish),
		cmocka_unit_test(test_workers),
	};

	return cmocka_run_group_tests_name("cpu activations", tests, NULL, NULL);
}
