/* SPDX-License-Identifier: MIT */
/* Networks from files, and back. */
#ifndef CNN_IMPORT_H
#define CNN_IMPORT_H

#include "ir/graph.h"

/*
 * An ONNX file. folder: descriptor of the folder beneath which the file's external data is, -1 if
 * there is none; it stays the caller's.
 */
int cnn_graph_import_onnx(const void *buf, size_t len, int folder, struct cnn_graph **graph,
			  struct cnn_err *err);
/* Can a file be an ONNX file, to judge by the first byte? */
bool cnn_starts_as_onnx(const uint8_t *buf);
/*
 * Such a file, or a TensorFlow Lite file as the identifier at its byte 4 tells: quantised or
 * float32, inputs and outputs in the file's layout (NHWC).
 */
int cnn_graph_import(const void *buf, size_t len, int folder, struct cnn_graph **graph,
		     struct cnn_err *err);
/*
 * The graph as an ONNX file, *buf malloc'ed: nodes and constants as they are, inputs with the shapes
 * that they have now, the newest operator set that a node has. A value has a name of its own there.
 * Fails on what only we have but CNN_DOMAIN's operators.
 */
int cnn_graph_export_onnx(const struct cnn_graph *g, void **buf, size_t *len, struct cnn_err *err);

#endif
