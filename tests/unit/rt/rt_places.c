/* SPDX-License-Identifier: MIT */
/* rt_places: places of nodes against every possible choice, parts of graphs, and offers. */
#include "compile/partition.h"
#include "ir/graph_internal.h"
#include "../graph/util.h"

#define NODES	7
#define PLACES	3
#define GRAPHS	400

static uint32_t state_of_random = 1;

static int64_t pick(int64_t most)
{
	return (int64_t)(ob_rand(&state_of_random) % (uint32_t)(most + 1));
}

/* Sums of two earlier values each. */
static struct cnn_graph *random_graph(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "v0", 1, OB_DIMS(1, 4, 8, 8));
	for (int i = 0; i < NODES; i++) {
		char in[32], out[16];

		snprintf(in, sizeof(in), "v%d v%d", (int)pick(i), i);
		snprintf(out, sizeof(out), "v%d", i + 1);
		ob_node(b, "Add", in, out);
	}
	ob_output(b, "v7");
	return inferred(b);
}

static void random_costs(struct cnn_partition *p)
{
	for (int i = 0; i < NODES; i++) {
		for (int k = 0; k < PLACES; k++) {
			struct cnn_place_cost *c = cnn_place_cost(p, i, k);

			c->ns = c->weighed = pick(5000);
			if (k && !pick(3))
				c->weighed = CNN_PLACE_NEVER;
			c->arranges = k && pick(1);
			c->on_cpu = k && !pick(3);
		}
	}
}

/* By the words of the header: nodes, and each value brought once to each place that reads it. */
static int64_t cost_of_all(const struct cnn_partition *p)
{
	int64_t copy = cnn_copy_cost_ns(p->target, 4 * 256, 256, true), ns = 0;

	for (int i = 0; i < NODES; i++)
		ns += cnn_place_cost(p, i, p->place[i])->weighed;
	for (int v = 0; v < p->g->n_values; v++) {
		const struct cnn_value *val = &p->g->values[v];
		int core = val->producer < 0 ? 0 : p->place[val->producer];
		bool on_cpu = core && cnn_place_cost(p, val->producer, core)->on_cpu;
		bool leaves = core && (val->is_output || on_cpu), seen[PLACES] = { 0 };
		int from = on_cpu ? 0 : core;

		for (int i = 0; i < val->n_consumers; i++) {
			int reader = val->consumers[i], to = p->place[reader];

			if (to == from || seen[to])
				continue;
			seen[to] = leaves = true;
			if (to)
				ns += p->target->submit_ns +
				      (cnn_place_cost(p, reader, to)->arranges ? copy : 0);
		}
		if (leaves && core && cnn_place_cost(p, val->producer, core)->arranges)
			ns += copy;
	}
	return ns;
}

static int64_t best_of_all(struct cnn_partition *p)
{
	int64_t least = INT64_MAX;
	int total = 1;

	for (int i = 0; i < NODES; i++)
		total *= PLACES;
	for (int code = 0; code < total; code++) {
		int64_t ns;

		for (int i = 0, rest = code; i < NODES; i++, rest /= PLACES)
			p->place[i] = rest % PLACES;
		ns = cost_of_all(p);
		least = ns < least ? ns : least;
	}
	return least;
}

/* Never more than a tenth above the best choice in nineteen of twenty, and never a place that is not. */
static void test_best(void **state)
{
	struct cnn_target target = cnn_target_reference;
	int near = 0;

	(void)state;
	target.submit_ns = 1000;
	for (int i = 0; i < GRAPHS; i++) {
		struct cnn_graph *g = random_graph();
		struct cnn_place_cost costs[NODES * PLACES] = { 0 };
		int place[NODES] = { 0 }, stamp[64] = { 0 };
		struct cnn_partition p = {
			.g = g, .target = &target, .n_places = PLACES, .costs = costs,
			.place = place, .stamp = stamp,
		};
		int64_t found;

		random_costs(&p);
		assert_int_equal(cnn_choose_places(&p, NULL), 0);
		found = cost_of_all(&p);
		assert_true(found < CNN_PLACE_NEVER);
		near += found * 10 <= best_of_all(&p) * 11;
		cnn_graph_free(g);
	}
	print_message("%d of %d within a tenth of the best\n", near, GRAPHS);
	assert_true(near * 20 >= GRAPHS * 19);
}

/* A part has the values of its nodes; what crosses its edge are its inputs and outputs. */
static void test_part(void **state)
{
	struct cnn_graph *g = random_graph(), *part;
	const int nodes[] = { 2, 4 };

	(void)state;
	assert_int_equal(cnn_subgraph_copy(g, nodes, 2, &part, NULL), 0);
	assert_int_equal(part->n_nodes, 2);
	for (int i = 0; i < 2; i++)
		assert_string_equal(part->nodes[i].name, g->nodes[nodes[i]].name);
	assert_string_equal(part->values[part->nodes[1].out[0]].name, "v5");
	assert_true(part->values[part->nodes[1].out[0]].is_output);
	for (int v = 0; v < part->n_values; v++)
		assert_true(part->values[v].is_input == (part->values[v].producer < 0));
	cnn_graph_free(part);
	cnn_graph_free(g);
}

/* ---- a core that has Neg, and nothing else ----------------------------------------------- */

static const struct cnn_backend_ops ops;

static struct cnn_backend *open_core(struct cnn_compile *compile,
				     const struct cnnrt_core_info *info)
{
	struct cnn_backend *core = calloc(1, sizeof(*core));

	assert_non_null(core);
	*core = (struct cnn_backend){ .ops = &ops, .compile = compile, .info = info };
	return core;
}

static void close_core(struct cnn_backend *core)
{
	free(core);
}

static bool is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	(void)g;
	return n->op == CNN_OP_NEG;
}

static bool match(struct cnn_backend *core, struct cnn_unit *unit, char *reason)
{
	(void)core;
	return is_for(unit->g, &unit->g->nodes[unit->nodes[0]]) || cnn_reject(reason, "no Neg");
}

static bool plan(struct cnn_backend *core, const struct cnn_unit *unit, char *reason)
{
	(void)core;
	(void)unit;
	(void)reason;
	return true;
}

static uint64_t cycles(struct cnn_backend *core, int lead)
{
	(void)core;
	(void)lead;
	return 3;
}

static const struct cnn_backend_ops ops = {
	.name = "neg", .open = open_core, .close = close_core, .is_for = is_for, .match = match,
	.plan = plan, .cycles = cycles,
};

/* An offer says whose output the CPU makes; what renames an output of the core is not the CPU's. */
static void test_on_cpu(void **state)
{
	struct cnn_target target = cnn_target_reference;
	struct cnn_core_choice core = { .ops = &ops, .target = &target };
	struct onnx_build *b = ob_new(13);
	struct cnn_offer offer;
	struct cnn_graph *g;

	(void)state;
	target.core_hz[0] = 1000000000;
	ob_input(b, "x", 1, OB_DIMS(1, 4, 8, 8));
	ob_node(b, "Neg", "x", "v0");
	ob_node(b, "Flatten", "v0", "v1");
	ob_node(b, "Add", "v1 v1", "v2");
	ob_output(b, "v2");
	g = inferred(b);
	assert_int_equal(cnn_ask_core(g, (const int[]){ 0, 1, 2 }, 3, &core, &offer, NULL), 0);
	assert_true(offer.taken);
	assert_int_equal(offer.which, 1);
	assert_int_equal(offer.on_cpu, 4);
	assert_int_equal(offer.ns, 3 + cnn_cpu_cost_ns(&target, g, &g->nodes[2]));
	cnn_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_on_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
