/* SPDX-License-Identifier: MIT */
/* What the tests of graph and CPU operators share. */
#ifndef GRAPH_TEST_UTIL_H
#define GRAPH_TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/import.h"
#include "run_graph.h"
#include "passes/passes.h"
#include "onnx_build.h"

/* Packs, frees the builder and imports; the status must be want. */
struct cnn_graph *import_as(struct onnx_build *b, int want, struct cnn_err *err);
/* Import that must succeed; then inference that must. */
struct cnn_graph *import(struct onnx_build *b);
struct cnn_graph *inferred(struct onnx_build *b);
/* The first status of the two that is an error: importing checks parameters, inference shapes. */
int import_and_infer(struct onnx_build *b, struct cnn_err *err);

#define assert_says(err, part)	assert_non_null(strstr((err).text, part))

/* A float tensor of numbers from -1 to 1 that follow from seed; owned. */
struct cnn_tensor random_tensor(uint32_t seed, int rank, const int64_t *dims);
/* A tensor over the caller's data. */
struct cnn_tensor view(int dtype, int rank, const int64_t *dims, void *data);

/* Runs the only node of b's graph on the CPU: out is owned. */
void run_graph(struct cnn_graph *g, const struct cnn_tensor *in, struct cnn_tensor *out);
/* Runs op on n inputs, at most 3, that the caller owns: the result is owned. */
struct cnn_tensor run_op(const char *op, int opset, int n, const struct cnn_tensor *in);

int count_op(const struct cnn_graph *g, enum cnn_op op);
/*
 * Runs two copies of a network, one fused, on the same input (at most 2 inputs and 4 outputs);
 * gives the fused graph.
 */
struct cnn_graph *compare_fused(struct onnx_build *(*make)(void), unsigned int what, double rtol);

void assert_close(const struct cnn_tensor *a, const struct cnn_tensor *b, double rtol,
		  double atol);
void assert_dims(const struct cnn_tensor *t, int rank, const int64_t *dims);

#endif
