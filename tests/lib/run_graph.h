/* SPDX-License-Identifier: MIT */
/* Graphs without a compiler: what the operators themselves compute, for tests to compare with. */
#ifndef RUN_GRAPH_H
#define RUN_GRAPH_H

#include "ops/cpu.h"

/*
 * Runs a whole graph (inferred; fused or not) on the CPU. in has graph->n_inputs tensors; out
 * has graph->n_outputs, which are overwritten with owned tensors.
 */
int cnn_graph_run_cpu(const struct cnn_graph *g, const struct cnn_tensor *in,
		      struct cnn_tensor *out, struct cnn_err *err);

#endif
