/* SPDX-License-Identifier: MIT */
/* ONNX external data: tensors whose elements are in a file beside the model. */
#ifndef CNN_IMPORT_EXTERNAL_DATA_H
#define CNN_IMPORT_EXTERNAL_DATA_H

#include "ir/graph.h"
#include "onnx.pb-c.h"

/* Where a model's other files are, and the one that was read last, which stays open. */
struct cnn_external {
	int folder;		/* descriptor of the model's folder, -1: there is none */
	int64_t left;		/* bytes that the model's tensors may still take */
	int fd;
	char *location;		/* NULL: no file is open */
	int64_t size;		/* bytes of that file */
};

/* folder stays the caller's. */
void cnn_external_init(struct cnn_external *x, int folder);
void cnn_external_close(struct cnn_external *x);

/*
 * Reads the elements of tp, whose type and dimensions t has, into memory that t then owns. The file
 * must be beneath the folder, also after symbolic links, and long enough.
 */
int cnn_external_read(struct cnn_external *x, const Onnx__TensorProto *tp, struct cnn_tensor *t,
		      struct cnn_err *err);

#endif
