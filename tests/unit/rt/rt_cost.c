/* SPDX-License-Identifier: MIT */
/* rt_cost: what operators cost by a table, and the table itself. */
#include "compile/target.h"
#include "exec/calibrate.h"
#include "../graph/util.h"

/* A table in which every rate is 0 and nothing else costs anything. */
static struct cnn_target free_target(void)
{
	return (struct cnn_target){ .core_hz = { 1000 } };
}

/* The cost of the last node if so many fs are taken for each step, element or byte of its kind. */
static int64_t cost(const struct cnn_graph *g, enum cnn_cost_kind kind, struct cnn_cost_rate rate)
{
	struct cnn_target t = free_target();

	t.cpu[kind] = rate;
	return cnn_cpu_cost_ns(&t, g, &g->nodes[g->n_nodes - 1]);
}

static struct onnx_build *conv(int64_t group)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, 6, 10, 10));
	ob_random(b, "w", 1, OB_DIMS(6, 6 / group, 3, 3));
	ob_attr_int(ob_node(b, "Conv", "x w", "y"), "group", group);
	ob_output(b, "y");
	return b;
}

static void test_products(void **state)
{
	struct cnn_graph *g = inferred(conv(1));
	const struct cnn_node *n = &g->nodes[0];

	(void)state;
	assert_int_equal(cnn_cost_kind_of(g, n), CNN_COST_PRODUCT);
	assert_int_equal(cost(g, CNN_COST_PRODUCT, (struct cnn_cost_rate){ .step = 1000000 }),
			 6 * 64 * 6 * 9);
	assert_int_equal(cost(g, CNN_COST_PRODUCT, (struct cnn_cost_rate){ .element = 1000000 }),
			 6 * 64);
	assert_int_equal(cost(g, CNN_COST_PRODUCT, (struct cnn_cost_rate){ .byte = 1000000 }),
			 4 * (600 + 6 * 6 * 9 + 6 * 64));
	/* Under a ns a step is not lost. */
	assert_int_equal(cost(g, CNN_COST_PRODUCT, (struct cnn_cost_rate){ .step = 1000 }),
			 6 * 64 * 6 * 9 / 1000);
	assert_int_equal(cost(g, CNN_COST_POOL, (struct cnn_cost_rate){ .step = 1000000 }), 0);
	/* At most 2^63 fs. */
	assert_int_equal(cost(g, CNN_COST_PRODUCT,
			      (struct cnn_cost_rate){ .step = INT64_MAX / 2 }),
			 INT64_MAX / 1000000);
	cnn_graph_free(g);
	g = inferred(conv(6));
	assert_int_equal(cnn_cost_kind_of(g, &g->nodes[0]), CNN_COST_DEPTHWISE);
	assert_int_equal(cost(g, CNN_COST_DEPTHWISE, (struct cnn_cost_rate){ .step = 1000000 }),
			 6 * 64 * 9);
	cnn_graph_free(g);
}

static struct cnn_graph *one_op(const char *op)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 2, 4, 4));
	n = ob_node(b, op, "x", "y");
	if (strstr(op, "Pool"))
		ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 2 });
	ob_output(b, "y");
	return inferred(b);
}

/* Steps of operators without multiply-adds, bytes of those that only move. */
static void test_others(void **state)
{
	const struct cnn_cost_rate steps = { .step = 1000000 }, bytes = { .byte = 1000000 };
	struct cnn_graph *g = one_op("MaxPool");

	(void)state;
	assert_int_equal(cost(g, CNN_COST_POOL, steps), 1 + 2 * 9 * 4 + 32);
	cnn_graph_free(g);
	g = one_op("Transpose");
	assert_int_equal(cost(g, CNN_COST_TRANSPOSE, bytes), 2 * 32 * 4);
	cnn_graph_free(g);
	g = one_op("Flatten");
	assert_int_equal(cost(g, CNN_COST_COPY, bytes), 2 * 32 * 4);
	cnn_graph_free(g);
	g = one_op("Tanh");
	assert_int_equal(cost(g, CNN_COST_FUNCTION, bytes), 2 * 32 * 4);
	cnn_graph_free(g);
}

/* A fused activation costs what its operator alone does for an element. */
static void test_activation(void **state)
{
	struct cnn_target t = free_target();
	struct cnn_graph *g = inferred(conv(1));

	(void)state;
	t.cpu[CNN_COST_FUNCTION].element = 5000000;
	t.cpu[CNN_COST_ELEMENT].element = 1000000;
	t.op_ns = 7;
	g->nodes[0].act.kind = CNN_ACT_SIGMOID;
	assert_int_equal(cnn_cpu_cost_ns(&t, g, &g->nodes[0]), 7 + 5 * 6 * 64);
	g->nodes[0].act.kind = CNN_ACT_RELU;
	assert_int_equal(cnn_cpu_cost_ns(&t, g, &g->nodes[0]), 7 + 6 * 64);
	/* Without a shape only the fixed cost is known. */
	g->values[g->nodes[0].out[0]].t.rank = -1;
	assert_int_equal(cnn_cpu_cost_ns(&t, g, &g->nodes[0]), 7);
	cnn_graph_free(g);
}

static void test_copies_and_cycles(void **state)
{
	struct cnn_target t = free_target();

	(void)state;
	t.copy_fs_per_byte = 2000000;
	t.rearrange_fs_per_element = 3000000;
	assert_int_equal(cnn_copy_cost_ns(&t, 100, 25, false), 200);
	assert_int_equal(cnn_copy_cost_ns(&t, 100, 25, true), 75);
	assert_int_equal(cnn_cycles_ns(&t, 0, 3), 3000000);
	assert_int_equal(cnn_cycles_ns(&t, 1, 7), 70);	/* 100 MHz */
	assert_int_equal(cnn_cycles_ns(&t, 0, UINT64_MAX), INT64_MAX);
	t.core_hz[0] = 333333333;
	assert_int_equal(cnn_cycles_ns(&t, 0, 333333333ull * 20 + 1), 20000000003);
	t.core_hz[0] = CNN_TARGET_NUMBER_MAX;
	assert_int_equal(cnn_cycles_ns(&t, 0, CNN_TARGET_NUMBER_MAX - 1), 999999999);
}

/* Every number has a key of its own, and counts for the hash; the reference is in bounds. */
static void test_table(void **state)
{
	struct cnn_target t = cnn_target_reference;
	uint64_t hash = cnn_target_hash(&t, CNNRT_MAX_CORES);
	char a[CNN_TARGET_KEY_LEN], b[CNN_TARGET_KEY_LEN];

	(void)state;
	for (int i = 0; i < CNN_TARGET_NUMBERS; i++) {
		int64_t v = cnn_target_number(&t, i);

		assert_in_range(v, 0, CNN_TARGET_NUMBER_MAX);
		cnn_target_set_number(&t, i, v + 1);
		assert_int_not_equal(cnn_target_hash(&t, CNNRT_MAX_CORES), hash);
		cnn_target_set_number(&t, i, v);
		cnn_target_key(i, a);
		for (int k = 0; k < i; k++) {
			cnn_target_key(k, b);
			assert_string_not_equal(a, b);
		}
	}
	assert_int_equal(cnn_target_hash(&t, CNNRT_MAX_CORES), hash);
	assert_int_not_equal(cnn_target_hash(&t, 1), hash);
	cnn_target_key(3 * CNN_COST_PRODUCT, a);
	assert_string_equal(a, "cpu.product.fs_per_step");
	cnn_target_key(CNN_TARGET_NUMBERS - 1, a);
	assert_string_equal(a, "core7.hz");
	assert_int_equal(cnn_target_number(&t, 3 * CNN_COST_POOL + 1),
			 t.cpu[CNN_COST_POOL].element);
	t.core_hz[0] = 5;
	assert_int_equal(cnn_target_number(&t, CNN_TARGET_NUMBERS - CNNRT_MAX_CORES), 5);
}

static double time_of(const struct cnn_cost_rate *n, const struct cnn_cost_rate *rate)
{
	return 100 + 1e-6 * ((double)n->step * (double)rate->step +
			     (double)n->element * (double)rate->element +
			     (double)n->byte * (double)rate->byte);
}

static void assert_near(int64_t got, int64_t want)
{
	if (got < want - want / 20 || got > want + want / 20)
		fail_msg("%lld, about %lld wanted", (long long)got, (long long)want);
}

/* Times that follow from rates give these rates; what they leave open keeps its proportion. */
static void test_fit(void **state)
{
	static const struct cnn_cost_rate want = { 20000, 600000, 50000 };
	struct rt_sample s[] = {
		{ .count = { 10000000, 1000, 1000 } }, { .count = { 1000000, 500000, 20000 } },
		{ .count = { 100000, 1000, 9000000 } }, { .count = { 1000000, 100000, 1000000 } },
	};
	struct cnn_cost_rate rate = { 833333, 1666666, 250000 };

	(void)state;
	for (int i = 0; i < 4; i++)
		s[i].ns = time_of(&s[i].count, &want);
	rt_fit_rates(s, 4, 100, &rate);
	assert_near(rate.step, want.step);
	assert_near(rate.element, want.element);
	assert_near(rate.byte, want.byte);
	rate = (struct cnn_cost_rate){ 0, 1000000, 500000 };
	s[0].count = (struct cnn_cost_rate){ 77, 1000000, 2000000 };
	s[0].ns = 100 + 1000000 / 4;
	rt_fit_rates(s, 1, 100, &rate);
	assert_int_equal(rate.step, 0);
	assert_near(rate.element, 125000);
	assert_near(rate.byte, 62500);
	/* Faster than nothing, or endless: within the bounds of a file. */
	s[0].ns = 1;
	rt_fit_rates(s, 1, 100, &rate);
	assert_true(rate.element >= 0 && rate.byte >= 0);
	s[0].ns = 1e30;
	rt_fit_rates(s, 1, 100, &rate);
	assert_int_equal(rate.element, CNN_TARGET_NUMBER_MAX);
}

static void test_fit_core(void **state)
{
	struct rt_core_sample small = { 1000, 30000 }, large = { 101000, 1030000 };
	int64_t hz, submit;

	(void)state;
	rt_fit_core(&small, &large, &hz, &submit);
	assert_near(hz, 100000000);
	assert_near(submit, 20000);
	/* Noise: the large one was faster. */
	large.ns = 20000;
	rt_fit_core(&small, &large, &hz, &submit);
	assert_true(hz > 0 && submit >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_activation),
		cmocka_unit_test(test_copies_and_cycles),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_fit_core),
	};

	return cmocka_run_group_tests_name("rt_cost", tests, NULL, NULL);
}
