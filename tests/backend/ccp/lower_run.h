/* SPDX-License-Identifier: MIT */
/* Runs a lowered graph: device segments on the golden model of ccp, the rest on the CPU. */
#ifndef LOWER_RUN_H
#define LOWER_RUN_H

#include <cnnacc_hw.h>

#include "compile/compile.h"
#include "import/import.h"
#include "passes/passes.h"

/* A ccp core with these memories, in bytes (lob: vectors); 0: default. Its banks are split. */
struct cnnrt_core_info lower_core(uint32_t data_bank, uint32_t weight_bank, uint32_t icache,
			   uint32_t lob);

struct lower_result {
	struct cnnacc_stats stats;	/* of all tasks, each once */
	int tasks;
};

/* Graph, core and compiled form, ready to run. */
struct lower_case {
	struct cnn_graph *graph;	/* as lowered: fused */
	struct cnnrt_core_info core;
	struct cnn_lowered *lowered;
};

/*
 * Imports (the buffer stays the caller's), infers, partitions, lowers. 0 or the status with
 * err.
 */
int lower_open(struct lower_case *c, const void *onnx, size_t len, const struct cnnrt_core_info *core,
	       struct cnn_err *err);
void lower_close(struct lower_case *c);

/*
 * in has graph->n_inputs tensors, out gets graph->n_outputs owned ones. Each task must take the
 * cycles it was said to, and all of them together what the nodes' costs add up to; what is
 * restartable is run twice, and the banks are full of NaNs before each. NULL, or what went wrong.
 */
const char *lower_run(const struct lower_case *c, const struct cnn_tensor *in,
		      struct cnn_tensor *out, struct lower_result *result);

/* NULL, or a text about the first element beyond atol + rtol * |b|. */
const char *lower_compare(const struct cnn_tensor *a, const struct cnn_tensor *b, double rtol,
			  double atol);

#endif
