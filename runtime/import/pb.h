/* SPDX-License-Identifier: MIT */
/* What only the reading of ONNX files needs: nothing else in the library knows protobuf. */
#ifndef CNN_IMPORT_PB_H
#define CNN_IMPORT_PB_H

#include "external_data.h"
#include "ir/graph_internal.h"
#include "onnx.pb-c.h"

/* A type of attributes. */
#define ATTR(name)	ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

/* A protobuf-c allocator that refuses to give more than a budget in total. */
struct cnn_pb_arena {
	ProtobufCAllocator base;
	size_t left;
	bool exhausted;
};

void cnn_pb_arena_init(struct cnn_pb_arena *a, size_t file_len);
/* Refuses messages too deep or malformed for protobuf-c, which has no limits of its own. */
int cnn_pb_check(const ProtobufCMessageDescriptor *desc, const uint8_t *buf, size_t len,
		 struct cnn_err *err);
/* raw_data that fits is taken over from tp, not copied; external NULL: no other file is read. */
int cnn_tensor_from_proto(Onnx__TensorProto *tp, struct cnn_external *external,
			  struct cnn_tensor *t, struct cnn_err *err);
/* tp points into t and name. */
void cnn_tensor_to_proto(const struct cnn_tensor *t, const char *name, Onnx__TensorProto *tp);

#endif
