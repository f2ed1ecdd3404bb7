/* SPDX-License-Identifier: MIT */
/* What cnnrt_device_calibrate() runs, and how costs follow from what that took. */
#ifndef CNNRT_CALIBRATE_H
#define CNNRT_CALIBRATE_H

#include "base/base.h"
#include "compile/target.h"

/* A network of one operator. */
struct rt_sample_net {
	enum cnn_op op;
	/* Of its input: 1 x channels x side x side, of a MatMul side x channels. */
	enum cnn_dtype type;
	int channels, side;
	int outs, kernel, group;	/* of a product; kernel also of a pool */
};

/* The network as a graph whose shapes are inferred; its inputs have no data. */
int rt_sample_net_graph(const struct rt_sample_net *net, struct cnn_graph **graph,
			struct cnn_err *err);
/* Small numbers of both signs, floats with a fraction, for 8-bit integers and floats. */
void rt_sample_fill(struct cnn_tensor *t);

/* An operator on the CPU: how much of what, and the time that it took. */
struct rt_sample {
	struct cnn_cost_rate count;
	double ns;
};

#define RT_SAMPLES_MAX	8	/* of a kind */

/*
 * Rates with which n operators of a kind take the times measured, each with a like relative error.
 * rate: in: those of another machine; rates of 0 stay 0, and what the operators leave open follows
 * the proportions of the others.
 */
void rt_fit_rates(const struct rt_sample *samples, int n, int64_t op_ns,
		  struct cnn_cost_rate *rate);

/* A program on a core. */
struct rt_core_sample {
	uint64_t cycles;
	double ns;
};

/* Clock and cost of a submission with which a small and a large program take these times. */
void rt_fit_core(const struct rt_core_sample *small, const struct rt_core_sample *large,
		 int64_t *hz, int64_t *submit_ns);

#endif
