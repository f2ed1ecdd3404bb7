/* SPDX-License-Identifier: MIT */
/*
 * The operators on the CPU. Deterministic: every result is the same on every machine that does
 * IEEE 754 arithmetic (no libm in the arithmetic, no contraction, fixed order of sums).
 */
#ifndef CNN_OPS_CPU_H
#define CNN_OPS_CPU_H

#include "ir/graph.h"

/* Threads that a caller lends to an operator. */
struct cnn_workers {
	/* Calls fn(arg, i) for 0 <= i < parts, many at a time, and returns when all have returned. */
	void (*run)(struct cnn_workers *w, int parts, void (*fn)(void *arg, int part), void *arg);
};

/* infer and compute of one operator see this. in[i] is NULL for an omitted input. */
struct cnn_call {
	const struct cnn_node *node;
	int n_in, n_out;
	const struct cnn_tensor *const *in;
	struct cnn_tensor **out;	/* out[i] NULL: output i is not wanted */
	struct cnn_workers *workers;	/* NULL: none */
	struct cnn_err *err;
	bool finished;			/* compute has called cnn_op_finish for all of output 0 */
};

/* infer's answer when it needs the data of an input that has none yet. */
#define CNN_NEED_DATA	1

struct cnn_op_desc {
	const char *name;
	const char *domain;	/* "": ONNX's, and what we have besides */
	/* Sets dtype, rank and dims of each wanted output, or fails; checks the parameters. */
	int (*infer)(struct cnn_call *c);
	/*
	 * Fills the outputs, whose shapes infer has set and whose data exists. Where the elements of
	 * the inputs decide the size, so that infer needs their data, infer may set a bound: compute
	 * then makes the dimensions smaller.
	 */
	int (*compute)(struct cnn_call *c);
	int min_in, max_in, max_out;
	bool math;		/* computes floats: NaNs of the result are made 0x7fc00000 */
};

/* NULL if the operator is unknown; domain "" or "ai.onnx". */
const struct cnn_op_desc *cnn_op_find(const char *domain, const char *op_type, enum cnn_op *op);
const struct cnn_op_desc *cnn_op_desc(enum cnn_op op);

/* Is the operator known, with the right number of inputs and outputs? */
int cnn_cpu_check(const struct cnn_node *node, const struct cnn_tensor *const *in,
		  struct cnn_tensor *const *out, struct cnn_err *err);

/*
 * Shapes of the outputs from inputs whose shapes are known; data only where they have it.
 * 0, CNN_NEED_DATA or an error. An output's data pointer is left alone.
 */
int cnn_cpu_infer(const struct cnn_node *node, const struct cnn_tensor *const *in,
		  struct cnn_tensor **out, struct cnn_err *err);

/*
 * Runs one node with its fused activation: in has node->n_in entries (NULL: omitted), out has
 * node->n_out (NULL: not wanted). An output with data must be large enough (capacity);
 * one without gets its own allocation, to be released with cnn_tensor_release. The result does
 * not depend on workers, which may be NULL.
 */
int cnn_cpu_run(const struct cnn_node *node, const struct cnn_tensor *const *in,
		struct cnn_tensor **out, struct cnn_workers *workers, struct cnn_err *err);

/* Does the operator look at the shape of its input only, so that it needs no data? */
static inline bool cnn_op_reads_shape(enum cnn_op op)
{
	return op == CNN_OP_SHAPE || op == CNN_OP_SIZE;
}

#define CNN_RESIZE_INPUTS	4
/* Does this Resize (NULL: left out) repeat each element of a map over a rectangle of the output? */
bool cnn_resize_repeats(const struct cnn_node *node, const struct cnn_tensor *const *in);

/* Multiply-adds or element steps that cnn_cpu_run would take; shapes must be known. */
int64_t cnn_cpu_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
		     struct cnn_tensor *const *out);

/* y[i] = act(x[i]); x and y may be the same. */
void cnn_act_apply(const struct cnn_act *act, const float *x, float *y, int64_t n);

/* Our own exp: within 2 ulp, the same bits everywhere. */
float cnn_expf(float x);

#endif
