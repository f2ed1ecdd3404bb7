// SPDX-License-Identifier: MIT
/* Costs in nanoseconds on a stated target. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu.h"

#define FS_PER_NS	1000000
#define NS_PER_S	1000000000
#define CYCLE		833333		/* fs of a cycle of the reference CPU */
#define TRAFFIC		250000		/* fs of a byte between it and its memory */
#define CLOCK_HZ	100000000	/* of a core whose clock is unknown */

/* Numbers of a table behind the rates. */
#define FIRST_OTHER	(3 * CNN_COST_KINDS)
#define FIRST_HZ	(CNN_TARGET_NUMBERS - CNNRT_MAX_CORES)

/* Documentation/user/cost.rst derives each number. */
const struct cnn_target cnn_target_reference = {
	.cpu = {
		[CNN_COST_PRODUCT] = { .step = CYCLE, .element = 2 * CYCLE, .byte = TRAFFIC },
		[CNN_COST_DEPTHWISE] = { .step = 3 * CYCLE / 2, .element = 20 * CYCLE,
					 .byte = TRAFFIC },
		[CNN_COST_INTEGER] = { .step = CYCLE, .element = 8 * CYCLE, .byte = 2 * CYCLE },
		[CNN_COST_INTEGER_DEPTHWISE] = { .step = 3 * CYCLE / 2, .element = 20 * CYCLE,
						 .byte = 6 * CYCLE },
		[CNN_COST_POOL] = { .step = CYCLE, .element = 2 * CYCLE, .byte = TRAFFIC },
		[CNN_COST_REDUCE] = { .step = CYCLE, .byte = TRAFFIC },
		[CNN_COST_ELEMENT] = { .element = CYCLE, .byte = TRAFFIC },
		[CNN_COST_FUNCTION] = { .element = 12 * CYCLE, .byte = TRAFFIC },
		[CNN_COST_QUANT] = { .element = 6 * CYCLE, .byte = TRAFFIC },
		[CNN_COST_COPY] = { .byte = TRAFFIC },
		[CNN_COST_MOVE] = { .element = CYCLE, .byte = TRAFFIC },
		[CNN_COST_TRANSPOSE] = { .element = 4 * CYCLE, .byte = TRAFFIC },
		[CNN_COST_RESIZE] = { .element = 10 * CYCLE, .byte = TRAFFIC },
		[CNN_COST_OTHER] = { .step = 10 * CYCLE, .byte = TRAFFIC },
	},
	.op_ns = 2000,
	.copy_fs_per_byte = 500000,
	.rearrange_fs_per_element = 4 * CYCLE,
	.submit_ns = 30000,
};

/* Do all inputs and outputs have a known shape? */
static bool has_shapes(const struct cnn_graph *g, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_in + n->n_out; i++) {
		int v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];

		if (v >= 0 && cnn_tensor_count(&g->values[v].t) < 0)
			return false;
	}
	return true;
}

/* Multiply-adds; without any, the element steps of the CPU's kernel. */
static int64_t count_steps(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor **in, **out;
	int64_t steps = cnn_node_macs(g, n);

	if (steps)
		return steps;
	in = calloc((size_t)(n->n_in + n->n_out) + 1, sizeof(*in));
	if (!in)
		return 0;
	out = in + n->n_in;
	for (int i = 0; i < n->n_in; i++)
		in[i] = cnn_node_in(g, n, i);
	for (int i = 0; i < n->n_out; i++)
		out[i] = cnn_node_out(g, n, i);
	steps = cnn_cpu_work(n, in, (struct cnn_tensor *const *)out);
	free(in);
	return steps;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t sum_bytes(const struct cnn_graph *g, const int *values, int n)
{
	int64_t bytes = 0;

	for (int i = 0; i < n; i++) {
		int64_t one = values[i] < 0 ? 0 : cnn_tensor_bytes(&g->values[values[i]].t);

		bytes = cnn_add_sat(bytes, larger(one, 0));
	}
	return bytes;
}

static int64_t sum_elements(const struct cnn_graph *g, const struct cnn_node *n)
{
	int64_t elements = 0;

	for (int i = 0; i < n->n_out; i++)
		if (n->out[i] >= 0)
			elements = cnn_add_sat(elements,
					       cnn_tensor_count(&g->values[n->out[i]].t));
	return elements;
}

/* Femtoseconds that a fused activation adds to each element. */
static int64_t activation_rate(const struct cnn_target *t, const struct cnn_node *n)
{
	switch (n->act.kind) {
	case CNN_ACT_NONE:
		return 0;
	case CNN_ACT_SIGMOID:
	case CNN_ACT_SWISH:
		return t->cpu[CNN_COST_FUNCTION].element;
	default:
		return t->cpu[CNN_COST_ELEMENT].element;
	}
}

/* How often a depthwise convolution's inner loop runs: rows of the output times taps. */
static int64_t count_rows(const struct cnn_graph *g, const struct cnn_node *n)
{
	struct cnn_window w;

	if (cnn_node_window(g, n, &w, NULL))
		return 0;
	return cnn_mul_sat(sum_elements(g, n) / larger(w.out[w.spatial - 1], 1),
			   cnn_window_taps(&w));
}

struct cnn_cost_rate cnn_cpu_quantities(const struct cnn_graph *g, const struct cnn_node *n)
{
	enum cnn_cost_kind kind = cnn_cost_kind_of(g, n);
	bool moves = kind == CNN_COST_COPY || kind == CNN_COST_MOVE || kind == CNN_COST_TRANSPOSE;
	bool depthwise = kind == CNN_COST_DEPTHWISE || kind == CNN_COST_INTEGER_DEPTHWISE;
	int64_t bytes;

	if (!has_shapes(g, n) || cnn_op_reads_shape(n->op))
		return (struct cnn_cost_rate){ 0 };
	bytes = sum_bytes(g, n->out, n->n_out);
	return (struct cnn_cost_rate){
		.step = count_steps(g, n),
		.element = depthwise ? count_rows(g, n) : sum_elements(g, n),
		.byte = cnn_add_sat(bytes, moves ? bytes : sum_bytes(g, n->in, n->n_in)),
	};
}

int64_t cnn_cpu_cost_ns(const struct cnn_target *t, const struct cnn_graph *g,
			const struct cnn_node *n)
{
	const struct cnn_cost_rate *rate = &t->cpu[cnn_cost_kind_of(g, n)];
	struct cnn_cost_rate q = cnn_cpu_quantities(g, n);
	int64_t fs = cnn_mul_sat(q.step, rate->step), act = activation_rate(t, n);

	fs = cnn_add_sat(fs, cnn_mul_sat(q.element, rate->element));
	fs = cnn_add_sat(fs, cnn_mul_sat(q.byte, rate->byte));
	if (act && q.byte)
		fs = cnn_add_sat(fs, cnn_mul_sat(sum_elements(g, n), act));
	return t->op_ns + fs / FS_PER_NS;
}

int64_t cnn_copy_cost_ns(const struct cnn_target *t, int64_t bytes, int64_t elements,
			 bool rearranged)
{
	return (rearranged ? cnn_mul_sat(elements, t->rearrange_fs_per_element) :
			     cnn_mul_sat(bytes, t->copy_fs_per_byte)) / FS_PER_NS;
}

int64_t cnn_cycles_ns(const struct cnn_target *t, int core, uint64_t cycles)
{
	const uint64_t hz = t->core_hz[core] > 0 ? (uint64_t)t->core_hz[core] : CLOCK_HZ;
	uint64_t seconds = cycles / hz, us;

	if (seconds > INT64_MAX / NS_PER_S - 1)
		return INT64_MAX;
	/* In two steps: a rest of up to 2^40 cycles would overflow if multiplied at once. */
	cycles = cycles % hz * 1000000;
	us = cycles / hz;
	return (int64_t)(seconds * NS_PER_S + us * 1000 + cycles % hz * 1000 / hz);
}

static const char *const kind_names[CNN_COST_KINDS] = {
	[CNN_COST_PRODUCT] = "product", [CNN_COST_DEPTHWISE] = "depthwise",
	[CNN_COST_INTEGER] = "integer", [CNN_COST_INTEGER_DEPTHWISE] = "integer_depthwise",
	[CNN_COST_POOL] = "pool", [CNN_COST_REDUCE] = "reduce", [CNN_COST_ELEMENT] = "element",
	[CNN_COST_FUNCTION] = "function", [CNN_COST_QUANT] = "quant", [CNN_COST_COPY] = "copy",
	[CNN_COST_MOVE] = "move", [CNN_COST_TRANSPOSE] = "transpose",
	[CNN_COST_RESIZE] = "resize", [CNN_COST_OTHER] = "other",
};

_Static_assert(sizeof(struct cnn_target) == CNN_TARGET_NUMBERS * sizeof(int64_t),
	       "struct cnn_target is a list of numbers");

void cnn_target_key(int i, char key[CNN_TARGET_KEY_LEN])
{
	static const char *const rates[3] = { "step", "element", "byte" };
	static const char *const others[] = {
		"cpu.op_ns", "copy.fs_per_byte", "rearrange.fs_per_element", "submit_ns",
	};

	if (i < FIRST_OTHER)
		snprintf(key, CNN_TARGET_KEY_LEN, "cpu.%s.fs_per_%s", kind_names[i / 3],
			 rates[i % 3]);
	else if (i < FIRST_HZ)
		snprintf(key, CNN_TARGET_KEY_LEN, "%s", others[i - FIRST_OTHER]);
	else
		snprintf(key, CNN_TARGET_KEY_LEN, "core%d.hz", i - FIRST_HZ);
}

int64_t cnn_target_number(const struct cnn_target *t, int i)
{
	int64_t v;

	memcpy(&v, (const char *)t + (size_t)i * sizeof(v), sizeof(v));
	return v;
}

void cnn_target_set_number(struct cnn_target *t, int i, int64_t v)
{
	memcpy((char *)t + (size_t)i * sizeof(v), &v, sizeof(v));
}

/* FNV-1a over the numbers, each as 8 bytes, the lowest first. */
uint64_t cnn_target_hash(const struct cnn_target *t, int n_cores)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (int i = 0; i < FIRST_HZ + n_cores; i++) {
		uint64_t v = (uint64_t)cnn_target_number(t, i);

		for (int k = 0; k < 8; k++, v >>= 8)
			hash = (hash ^ (v & 0xff)) * 0x100000001b3;
	}
	return hash;
}
