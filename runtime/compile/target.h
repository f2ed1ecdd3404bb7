/* SPDX-License-Identifier: MIT */
/*
 * What a program costs on a stated target, in nanoseconds. The target is a table of numbers, in the
 * tree or in a file of key=value lines: nothing is measured at compile time, so that the same
 * network, options and table always give the same program (Documentation/user/cost.rst).
 */
#ifndef CNN_TARGET_H
#define CNN_TARGET_H

#include <cnnrt.h>

#include "ir/graph.h"

/* Kinds of operators on the CPU, by what their time depends on. */
enum cnn_cost_kind {
	CNN_COST_OTHER = 0,	/* sorts, searches, boxes, loops */
	CNN_COST_PRODUCT,	/* convolutions and matrix products of floats */
	CNN_COST_DEPTHWISE,	/* convolutions of one channel each */
	CNN_COST_INTEGER,	/* products of 8-bit integers */
	CNN_COST_INTEGER_DEPTHWISE,
	CNN_COST_POOL,
	CNN_COST_REDUCE,
	CNN_COST_ELEMENT,	/* element-wise: additions, comparisons, activations */
	CNN_COST_FUNCTION,	/* element-wise by a polynomial: exp, tanh, softmax */
	CNN_COST_QUANT,		/* to, from and between quantised elements */
	CNN_COST_COPY,		/* the same bytes under another name: Reshape */
	CNN_COST_MOVE,		/* rows of elements to other places: Concat, Pad, Gather */
	CNN_COST_TRANSPOSE,	/* single elements to other places */
	CNN_COST_RESIZE,
	CNN_COST_KINDS
};

/* An operator takes so many femtoseconds (1 ps is 1000 fs) for each of these. */
struct cnn_cost_rate {
	int64_t step;		/* a multiply-add, or without any what cnn_cpu_work counts */
	int64_t element;	/* of its outputs; DEPTHWISE: a row of them, and tap */
	int64_t byte;		/* of its inputs and outputs; COPY to TRANSPOSE: outputs, twice */
};

struct cnn_target {
	struct cnn_cost_rate cpu[CNN_COST_KINDS];
	int64_t op_ns;			/* each operator on the CPU, besides */
	int64_t copy_fs_per_byte;	/* between the application and the arena, as it is */
	int64_t rearrange_fs_per_element;	/* the same with a change of layout */
	int64_t submit_ns;		/* a device segment: submit its job and wait for its end */
	/* Cycles per second of real time, by the core's index; 0: unknown, as 100 MHz. */
	int64_t core_hz[CNNRT_MAX_CORES];
};

/* One Cortex-A53 at 1.2 GHz; cores at the device's clock. */
extern const struct cnn_target cnn_target_reference;

enum cnn_cost_kind cnn_cost_kind_of(const struct cnn_graph *g, const struct cnn_node *n);

/* What the rates of its kind are multiplied with; 0 where shapes are not known. */
struct cnn_cost_rate cnn_cpu_quantities(const struct cnn_graph *g, const struct cnn_node *n);

/*
 * These saturate at INT64_MAX.
 *
 * A node on the CPU with its fused activation, without copies of what cores made. Only the fixed
 * cost where shapes are not known.
 */
int64_t cnn_cpu_cost_ns(const struct cnn_target *t, const struct cnn_graph *g,
			const struct cnn_node *n);
/* The host copies a tensor of so many bytes and elements to or from the arena. */
int64_t cnn_copy_cost_ns(const struct cnn_target *t, int64_t bytes, int64_t elements,
			 bool rearranged);
/* So many cycles of a core. */
int64_t cnn_cycles_ns(const struct cnn_target *t, int core, uint64_t cycles);

/*
 * The table as a list of numbers with keys such as "cpu.product.fs_per_step", the same in every
 * file; the core's clocks come last, as "core0.hz".
 */
#define CNN_TARGET_NUMBERS	(3 * CNN_COST_KINDS + 4 + CNNRT_MAX_CORES)
#define CNN_TARGET_KEY_LEN	48
#define CNN_TARGET_NUMBER_MAX	((int64_t)1 << 40)	/* in a file; the least is 0 */

void cnn_target_key(int i, char key[CNN_TARGET_KEY_LEN]);
int64_t cnn_target_number(const struct cnn_target *t, int i);
void cnn_target_set_number(struct cnn_target *t, int i, int64_t v);
/* Of all numbers, the clocks of n_cores cores among them. */
uint64_t cnn_target_hash(const struct cnn_target *t, int n_cores);

#endif
