/* SPDX-License-Identifier: MIT */
/*
 * Packed formats of int8 elements that hold few values, in codes of few bits. A core brings its own
 * (backend/NAME/packed_format.c); a layout and cnnquant name them by number.
 */
#ifndef CNN_PACKED_FORMAT_H
#define CNN_PACKED_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

struct cnn_packed_format {
	const char *name; /* "EXP4" */
	const char *core; /* that brings it */
	int bits;	  /* of a code: 2 or 4 */
	int largest;	  /* value */
	bool shifts_zero; /* so few values that cnnquant also tries a zero point of -1 */
	unsigned int (*encode)(int8_t value);
	/* y[i]: the value nearest to x[i] / scale + zero, of two the smaller; 0 for a NaN. */
	void (*quantize)(const float *x, float scale, float zero, int8_t *y, int64_t n);
};

/* Number 0 is plain int8, one byte each; NULL, as for a number that is none. */
const struct cnn_packed_format *cnn_packed_format(int64_t number);
/* The number of a format of a core's table. */
int cnn_packed_number(const struct cnn_packed_format *format);

static inline int cnn_packed_bits(int64_t number)
{
	const struct cnn_packed_format *f = cnn_packed_format(number);

	return f ? f->bits : 8;
}

/* The codes of n values that are stride apart, first in the lowest bits; zeros fill a byte. */
void cnn_packed_encode(int64_t number, const int8_t *values, int64_t stride, int64_t n,
		       uint8_t *to);

#endif
