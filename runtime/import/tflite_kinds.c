// SPDX-License-Identifier: MIT
/* The table of TensorFlow Lite's operators. */
#include "tflite_ops.h"

const struct tfl_kind *tfl_find_kind(int64_t code)
{
	static const struct tfl_kind kinds[] = {
		{ ABS, 0, 1, 1, tfl_make_function, 0 },
		{ ADD, 11, 2, 2, tfl_make_pair, 0 },
		{ ARG_MAX, 0, 2, 2, tfl_make_arg_max, TFL_CONVERTS },
		{ ARG_MIN, 0, 2, 2, tfl_make_arg_max, TFL_CONVERTS },
		{ AVERAGE_POOL_2D, 5, 1, 1, tfl_make_pool, 0 },
		{ CAST, 0, 1, 1, tfl_make_cast, TFL_CONVERTS },
		{ CONCATENATION, 10, 1, CNN_MAX_INPUTS, tfl_make_concat, 0 },
		{ CONV_2D, 1, 2, 3, tfl_make_conv, 0 },
		{ DEPTHWISE_CONV_2D, 2, 2, 3, tfl_make_depthwise_conv, 0 },
		{ DEPTH_TO_SPACE, 94, 1, 1, tfl_make_depth_to_space, 0 },
		{ DEQUANTIZE, 0, 1, 1, tfl_make_dequantize, TFL_CONVERTS },
		{ DIV, 29, 2, 2, tfl_make_pair, 0 },
		{ ELU, 0, 1, 1, tfl_make_function, 0 },
		{ EQUAL, 0, 2, 2, tfl_make_compare, TFL_CONVERTS },
		{ EXP, 0, 1, 1, tfl_make_function, 0 },
		{ EXPAND_DIMS, 0, 2, 2, tfl_make_reshape, 0 },
		{ FULLY_CONNECTED, 8, 2, 3, tfl_make_fully_connected, 0 },
		{ GATHER, 23, 2, 2, tfl_make_gather, 0 },
		{ GREATER, 0, 2, 2, tfl_make_compare, TFL_CONVERTS },
		{ GREATER_EQUAL, 0, 2, 2, tfl_make_compare, TFL_CONVERTS },
		{ HARD_SWISH, 0, 1, 1, tfl_make_function, 0 },
		{ LEAKY_RELU, 75, 1, 1, tfl_make_function, 0 },
		{ LESS, 0, 2, 2, tfl_make_compare, TFL_CONVERTS },
		{ LESS_EQUAL, 0, 2, 2, tfl_make_compare, TFL_CONVERTS },
		{ LOG, 0, 1, 1, tfl_make_function, 0 },
		{ LOGISTIC, 0, 1, 1, tfl_make_function, 0 },
		{ MAX_POOL_2D, 5, 1, 1, tfl_make_pool, 0 },
		{ MEAN, 27, 2, 2, tfl_make_mean, 0 },
		{ MUL, 21, 2, 2, tfl_make_pair, 0 },
		{ NEG, 0, 1, 1, tfl_make_function, 0 },
		{ NOT_EQUAL, 0, 2, 2, tfl_make_compare, TFL_CONVERTS },
		{ PACK, 59, 1, CNN_MAX_INPUTS, tfl_make_pack, 0 },
		{ PAD, 0, 2, 2, tfl_make_pad, 0 },
		{ PRELU, 0, 2, 2, tfl_make_prelu, 0 },
		{ QUANTIZE, 0, 1, 1, tfl_make_quantize, TFL_CONVERTS },
		{ RELU, 0, 1, 1, tfl_make_relu, 0 },
		{ RELU6, 0, 1, 1, tfl_make_relu, 0 },
		{ RELU_N1_TO_1, 0, 1, 1, tfl_make_relu, 0 },
		{ RESHAPE, 0, 1, 2, tfl_make_reshape, 0 },
		{ RESIZE_BILINEAR, 15, 2, 2, tfl_make_resize, 0 },
		{ RESIZE_NEAREST_NEIGHBOR, 74, 2, 2, tfl_make_resize_nearest, 0 },
		{ SLICE, 0, 3, 3, tfl_make_slice, 0 },
		{ SOFTMAX, 9, 1, 1, tfl_make_softmax, 0 },
		{ SPLIT, 0, 2, 2, tfl_make_split, TFL_CONVERTS | TFL_MANY },
		{ SPLIT_V, 0, 3, 3, tfl_make_split, TFL_MANY },
		{ SQRT, 0, 1, 1, tfl_make_function, 0 },
		{ SQUEEZE, 0, 1, 1, tfl_make_reshape, 0 },
		{ STRIDED_SLICE, 32, 4, 4, tfl_make_strided_slice, 0 },
		{ SUB, 28, 2, 2, tfl_make_pair, 0 },
		{ TANH, 0, 1, 1, tfl_make_function, 0 },
		{ TRANSPOSE_CONV, 49, 3, 4, tfl_make_transpose_conv, TFL_CONVERTS },
		{ TRANSPOSE, 0, 2, 2, tfl_make_transpose, 0 },
		{ UNPACK, 64, 1, 1, tfl_make_unpack, TFL_MANY },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].code == code)
			return &kinds[i];
	return NULL;
}
