// SPDX-License-Identifier: MIT
/* The table of TensorFlow Lite's operators. */
#include "tflite_ops.h"

const struct tfl_kind *tfl_find_kind(int64_t code)
{
	static const struct tfl_kind kinds[] = {
		{ ADD, 11, 2, 2, tfl_make_pair, false },
		{ AVERAGE_POOL_2D, 5, 1, 1, tfl_make_pool, false },
		{ CONCATENATION, 10, 1, CNN_MAX_INPUTS, tfl_make_concat, false },
		{ CONV_2D, 1, 2, 3, tfl_make_conv, false },
		{ DEPTHWISE_CONV_2D, 2, 2, 3, tfl_make_depthwise_conv, false },
		{ DEQUANTIZE, 0, 1, 1, tfl_make_dequantize, true },
		{ FULLY_CONNECTED, 8, 2, 3, tfl_make_fully_connected, false },
		{ MAX_POOL_2D, 5, 1, 1, tfl_make_pool, false },
		{ RELU, 0, 1, 1, tfl_make_relu, false },
		{ RELU_N1_TO_1, 0, 1, 1, tfl_make_relu, false },
		{ RELU6, 0, 1, 1, tfl_make_relu, false },
		{ RESHAPE, 0, 1, 2, tfl_make_reshape, false },
		{ SOFTMAX, 9, 1, 1, tfl_make_softmax, false },
		{ PAD, 0, 2, 2, tfl_make_pad, false },
		{ MEAN, 27, 2, 2, tfl_make_mean, false },
		{ QUANTIZE, 0, 1, 1, tfl_make_quantize, true },
		{ LOGISTIC, 0, 1, 1, tfl_make_function, false },
		{ TANH, 0, 1, 1, tfl_make_function, false },
		{ HARD_SWISH, 0, 1, 1, tfl_make_function, false },
		{ ELU, 0, 1, 1, tfl_make_function, false },
		{ LEAKY_RELU, 75, 1, 1, tfl_make_function, false },
		{ SUB, 28, 2, 2, tfl_make_pair, false },
		{ MUL, 21, 2, 2, tfl_make_pair, false },
		{ DIV, 29, 2, 2, tfl_make_pair, false },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].code == code)
			return &kinds[i];
	return NULL;
}
