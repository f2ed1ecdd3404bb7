/* SPDX-License-Identifier: MIT */
/*
 * The readers of TensorFlow Lite's operators, and what they share. Quantised operators compute what
 * XNNPACK computes, and what TensorFlow Lite's own kernels compute where those are used: each
 * reader says which.
 */
#ifndef CNN_IMPORT_TFLITE_OPS_H
#define CNN_IMPORT_TFLITE_OPS_H

#include "tflite.h"

/* BuiltinOperator */
enum {
	ADD = 0, AVERAGE_POOL_2D = 1, CONCATENATION = 2, CONV_2D = 3, DEPTHWISE_CONV_2D = 4,
	DEPTH_TO_SPACE = 5, DEQUANTIZE = 6, FLOOR = 8, FULLY_CONNECTED = 9, L2_NORMALIZATION = 11,
	LOGISTIC = 14, MAX_POOL_2D = 17, MUL = 18, RELU = 19, RELU_N1_TO_1 = 20, RELU6 = 21,
	RESHAPE = 22, RESIZE_BILINEAR = 23, SOFTMAX = 25, SPACE_TO_DEPTH = 26, TANH = 28,
	PAD = 34, GATHER = 36, BATCH_TO_SPACE_ND = 37, SPACE_TO_BATCH_ND = 38, TRANSPOSE = 39,
	MEAN = 40, SUB = 41, DIV = 42, SQUEEZE = 43, STRIDED_SLICE = 45, EXP = 47, SPLIT = 49,
	LOG_SOFTMAX = 50, CAST = 53, PRELU = 54, MAXIMUM = 55, ARG_MAX = 56, MINIMUM = 57,
	LESS = 58, NEG = 59, PADV2 = 60, GREATER = 61, GREATER_EQUAL = 62, LESS_EQUAL = 63,
	SELECT = 64, SLICE = 65, SIN = 66, TRANSPOSE_CONV = 67, TILE = 69, EXPAND_DIMS = 70,
	EQUAL = 71, NOT_EQUAL = 72, LOG = 73, SUM = 74, SQRT = 75, RSQRT = 76, SHAPE = 77,
	POW = 78, ARG_MIN = 79, REDUCE_PROD = 81, REDUCE_MAX = 82, PACK = 83, LOGICAL_OR = 84,
	LOGICAL_AND = 86, LOGICAL_NOT = 87, UNPACK = 88, REDUCE_MIN = 89, FLOOR_DIV = 90,
	SQUARE = 92, FILL = 94, FLOOR_MOD = 95, RESIZE_NEAREST_NEIGHBOR = 97, LEAKY_RELU = 98,
	SQUARED_DIFFERENCE = 99, MIRROR_PAD = 100, ABS = 101, SPLIT_V = 102, CEIL = 104,
	REVERSE_V2 = 105, GATHER_ND = 107, COS = 108, ELU = 111, QUANTIZE = 114, ROUND = 116,
	HARD_SWISH = 117, SELECT_V2 = 123, BATCH_MATMUL = 126, BROADCAST_TO = 130,
};

/* Fused activations, in the order of the operators RELU, RELU_N1_TO_1 and RELU6. */
enum { ACT_NONE, ACT_RELU, ACT_RELU_N1_TO_1, ACT_RELU6 };

static inline enum cnn_dtype tfl_type(const struct tfl *m, int tensor)
{
	return m->tensors[tensor].dtype;
}

static inline bool tfl_is_float(const struct tfl *m, const struct tfl_op *op)
{
	return tfl_type(m, op->in[0]) == CNN_FLOAT32;
}

/* Bytes or int16 with a scale. Others are numbers that stand for themselves. */
static inline bool tfl_is_quantised(const struct tfl *m, int tensor)
{
	const struct tfl_tensor *t = &m->tensors[tensor];

	return (t->dtype == CNN_INT8 || t->dtype == CNN_UINT8 || t->dtype == CNN_INT16) &&
	       t->scale.count;
}

/* Number of the tensor of an input; -1: left out. */
static inline int tfl_input(const struct tfl_op *op, int i)
{
	return i < op->n_in ? op->in[i] : -1;
}

static inline int tfl_float(struct tfl *m, float v)
{
	return tfl_scalar(m, CNN_FLOAT32, &v);
}

/* The first scale and zero point, once tfl_scale has found them good. */
static inline float tfl_first_scale(const struct tfl *m, int tensor)
{
	return fb_float_at(&m->tensors[tensor].scale, 0);
}

static inline int tfl_first_zero(const struct tfl *m, int tensor)
{
	const struct tfl_tensor *t = &m->tensors[tensor];

	return t->zero.count ? (int)fb_int_at(&t->zero, 0, 8) : 0;
}

/* The layout in which a tensor is there already. */
static inline enum tfl_layout tfl_layout_of(const struct tfl *m, int tensor)
{
	return m->tensors[tensor].value[TFL_NCHW] >= 0 ? TFL_NCHW : TFL_FILE;
}

/* The axis of NCHW that an axis of NHWC is. */
static inline int64_t tfl_nchw_axis(int64_t axis)
{
	return axis == 3 ? 1 : axis ? axis + 1 : 0;
}

void tfl_want_rank(struct tfl *m, const struct tfl_op *op, int tensor, int rank);
/* The output has as many dimensions as input 0. */
void tfl_want_like(struct tfl *m, const struct tfl_op *op);
/* Input 0, another tensor and the output have four. */
void tfl_want_maps(struct tfl *m, const struct tfl_op *op, int other);
/* Input 0 has no scale. */
void tfl_want_plain(struct tfl *m, const struct tfl_op *op);
/* Two tensors that share their elements share one scale and zero point too, if they have any. */
void tfl_want_alike(struct tfl *m, const struct tfl_op *op, int a, int b);
/* A tensor and the output. */
void tfl_want_same(struct tfl *m, const struct tfl_op *op, int a);

/* How a bound is quantised: XNNPACK rounds it after the zero point is added, ties to even. */
enum tfl_bound { BOUND_XNNPACK, BOUND_TFLITE };

/* The output is v after the fused activation act. */
void tfl_give_act(struct tfl *m, const struct tfl_op *op, enum tfl_layout layout, int64_t act,
		  enum tfl_bound rule, int v);

/* v with these dimensions; -1: what remains. */
int tfl_reshape(struct tfl *m, const struct tfl_op *op, int v, const int64_t *dims, int rank);
/* v with the dimensions that the file gives its output. */
int tfl_as_declared(struct tfl *m, const struct tfl_op *op, int v);
/* Numbers of that type, float32 or float64, to the nearest int16, halves away from zero. */
int tfl_to_int16(struct tfl *m, const struct tfl_op *op, int v, enum cnn_dtype type);
/* The integers of a constant tensor of int32 or int64: at most max of them, how many is in *n. */
const struct tfl_tensor *tfl_integers(struct tfl *m, const struct tfl_op *op, int tensor,
				      int64_t *v, size_t max, size_t *n);

/*
 * Strides, dilations (NULL: none; both height, width) and padding (a number of the schema) of the
 * last node made.
 */
void tfl_fill_window(struct tfl *m, const struct tfl_op *op, const int64_t *stride,
		     const int64_t *dilation, int64_t padding);

/* Tables for Lookup: of a quantised operator of one tensor, of what a comparison compares. */
int tfl_table(struct tfl *m, const struct tfl_op *op);
/* tfl_table of an operator from or to int16. */
int tfl_wide_table(struct tfl *m, const struct tfl_op *op);
int tfl_order_table(struct tfl *m, const struct tfl_op *op, int tensor);

void tfl_make_arg_max(struct tfl *m, const struct tfl_op *op);
void tfl_make_batch_matmul(struct tfl *m, const struct tfl_op *op);
void tfl_make_batch_to_space(struct tfl *m, const struct tfl_op *op);
void tfl_make_cast(struct tfl *m, const struct tfl_op *op);
void tfl_make_compare(struct tfl *m, const struct tfl_op *op);
void tfl_make_concat(struct tfl *m, const struct tfl_op *op);
void tfl_make_conv(struct tfl *m, const struct tfl_op *op);
void tfl_make_depth_to_space(struct tfl *m, const struct tfl_op *op);
void tfl_make_depthwise_conv(struct tfl *m, const struct tfl_op *op);
void tfl_make_dequantize(struct tfl *m, const struct tfl_op *op);
void tfl_make_expand(struct tfl *m, const struct tfl_op *op);
void tfl_make_floor_div(struct tfl *m, const struct tfl_op *op);
void tfl_make_fully_connected(struct tfl *m, const struct tfl_op *op);
void tfl_make_function(struct tfl *m, const struct tfl_op *op);
void tfl_make_gather(struct tfl *m, const struct tfl_op *op);
void tfl_make_gather_nd(struct tfl *m, const struct tfl_op *op);
void tfl_make_l2_normalization(struct tfl *m, const struct tfl_op *op);
void tfl_make_mirror_pad(struct tfl *m, const struct tfl_op *op);
void tfl_make_pack(struct tfl *m, const struct tfl_op *op);
void tfl_make_pad(struct tfl *m, const struct tfl_op *op);
void tfl_make_pair(struct tfl *m, const struct tfl_op *op);
void tfl_make_pool(struct tfl *m, const struct tfl_op *op);
void tfl_make_prelu(struct tfl *m, const struct tfl_op *op);
void tfl_make_quantize(struct tfl *m, const struct tfl_op *op);
void tfl_make_reduce(struct tfl *m, const struct tfl_op *op);
void tfl_make_relu(struct tfl *m, const struct tfl_op *op);
void tfl_make_reshape(struct tfl *m, const struct tfl_op *op);
void tfl_make_resize(struct tfl *m, const struct tfl_op *op);
void tfl_make_resize_nearest(struct tfl *m, const struct tfl_op *op);
void tfl_make_reverse(struct tfl *m, const struct tfl_op *op);
void tfl_make_select(struct tfl *m, const struct tfl_op *op);
void tfl_make_shape(struct tfl *m, const struct tfl_op *op);
void tfl_make_slice(struct tfl *m, const struct tfl_op *op);
void tfl_make_softmax(struct tfl *m, const struct tfl_op *op);
void tfl_make_space_to_batch(struct tfl *m, const struct tfl_op *op);
void tfl_make_split(struct tfl *m, const struct tfl_op *op);
void tfl_make_square(struct tfl *m, const struct tfl_op *op);
void tfl_make_strided_slice(struct tfl *m, const struct tfl_op *op);
void tfl_make_tile(struct tfl *m, const struct tfl_op *op);
void tfl_make_transpose(struct tfl *m, const struct tfl_op *op);
void tfl_make_transpose_conv(struct tfl *m, const struct tfl_op *op);
void tfl_make_unpack(struct tfl *m, const struct tfl_op *op);

#endif
