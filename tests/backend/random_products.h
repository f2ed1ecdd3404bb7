/* SPDX-License-Identifier: MIT */
/* Random quantised products; the state of the numbers is random_state (core_run.h). */
#ifndef RANDOM_PRODUCTS_H
#define RANDOM_PRODUCTS_H

#include <stdbool.h>
#include <stdint.h>

#include "onnx_build.h"

/* Types of ONNX. */
#define FLOAT	1
#define UINT8	2
#define INT8	3
#define INT32	6

struct conv {
	int64_t x[4], w[4], groups, stride[2], dilation[2], pads[4];
};

/* INT8 or UINT8. */
int byte_type(void);
/* A convolution of one of several kinds; about a half have groups. */
void random_conv(struct conv *c);
void conv_attributes(Onnx__NodeProto *n, const struct conv *c);
/* Makes it a transposed one, with weights [in][out of a group], whose padding leaves results. */
void transpose_conv(struct conv *c);
/* A constant of random bytes, sometimes extreme ones, so that sums can be large. */
void add_bytes(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims);
/* x to y: a QLinearConv, or a ConvInteger. */
void add_conv(struct onnx_build *b, const struct conv *c, bool quantised);
/* What the TensorFlow Lite reader makes of a TRANSPOSE_CONV; XNNPACK's rounding. */
void add_transposed(struct onnx_build *b);
/* A QLinearMatMul or a MatMulInteger, with one matrix of weights or several. */
void add_product(struct onnx_build *b, bool quantised);
/* Floats that DynamicQuantizeLinear quantises, so that the zero point is known at run time only. */
void add_dynamic(struct onnx_build *b);

#endif
