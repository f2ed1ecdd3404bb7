/* SPDX-License-Identifier: MIT */
/* Builds small ONNX files for tests. A failed allocation ends the program. */
#ifndef ONNX_BUILD_H
#define ONNX_BUILD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "onnx.pb-c.h"

struct onnx_build;

struct onnx_build *ob_new(int opset);
void ob_free(struct onnx_build *b);
Onnx__ModelProto *ob_model(struct onnx_build *b);

/* A dimension of -1 is dynamic. */
void ob_input(struct onnx_build *b, const char *name, int dtype, int rank, const int64_t *dims);
/* One output or several: names separated by blanks. */
void ob_output(struct onnx_build *b, const char *names);
/* Initializers: numbers from -1 to 1 that follow from seed; given floats; given integers. */
void ob_random(struct onnx_build *b, const char *name, unsigned int seed, int rank,
	       const int64_t *dims);
void ob_floats(struct onnx_build *b, const char *name, int rank, const int64_t *dims,
	       const float *v);
/* int8 or uint8; any type, elements of size bytes. */
void ob_bytes(struct onnx_build *b, const char *name, int dtype, int rank, const int64_t *dims,
	      const void *v);
void ob_raw(struct onnx_build *b, const char *name, int dtype, size_t size, int rank,
	    const int64_t *dims, const void *v);
void ob_int64s(struct onnx_build *b, const char *name, int n, const int64_t *v);
/* Appends the raw data of the initializers to f, which they then name by location. */
void ob_move_data(struct onnx_build *b, const char *location, FILE *f);
/* inputs: names separated by blanks, "-" for an omitted one. Several outputs likewise. */
Onnx__NodeProto *ob_node(struct onnx_build *b, const char *op, const char *inputs,
			 const char *outputs);
void ob_attr_int(Onnx__NodeProto *n, const char *name, int64_t v);
void ob_attr_float(Onnx__NodeProto *n, const char *name, float v);
void ob_attr_str(Onnx__NodeProto *n, const char *name, const char *v);
void ob_attr_ints(Onnx__NodeProto *n, const char *name, int count, const int64_t *v);
/* The network of body, which it frees. */
void ob_attr_graph(Onnx__NodeProto *n, const char *name, struct onnx_build *body);
Onnx__AttributeProto *ob_attr(Onnx__NodeProto *n, const char *name, int type);

/* The file, malloc'ed. */
void *ob_pack(struct onnx_build *b, size_t *len);

/* xorshift: never 0 for a state that is not 0. */
uint32_t ob_rand(uint32_t *state);

#define OB_DIMS(...)	(int)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)),	\
			(const int64_t[]){ __VA_ARGS__ }

/* Networks that together use every kind of operator. */
#define OB_NETWORKS	11
struct onnx_build *ob_network(int i);

#endif
