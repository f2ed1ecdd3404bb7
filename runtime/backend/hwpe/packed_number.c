// SPDX-License-Identifier: MIT
/* This core's packed formats among those of all cores. */
#include "packed_format.h"

int cnn_codes_number(enum cnn_codes f)
{
	return f ? cnn_packed_number(cnn_codes_format(f)) : 0;
}

uint8_t cnn_codes_fill(enum cnn_codes f, int8_t value)
{
	const int8_t same[4] = { value, value, value, value };
	int number = cnn_codes_number(f);
	uint8_t byte;

	cnn_packed_encode(number, same, 1, 8 / cnn_packed_bits(number), &byte);
	return byte;
}
