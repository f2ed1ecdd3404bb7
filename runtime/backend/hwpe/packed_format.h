/* SPDX-License-Identifier: MIT */
/*
 * EXP4 and TER2 (Documentation/hardware/hwpe.rst, Types): few values, in codes of few bits. In the
 * graph they are int8 tensors that hold nothing but such values.
 */
#ifndef CNN_GRAPH_CODES_H
#define CNN_GRAPH_CODES_H

#include "ir/graph.h"

/* Each has all values of the next. */
enum cnn_codes {
	CNN_CODES_NONE = 0,	/* any int8 */
	CNN_CODES_EXP4,		/* 0, and 1 to 64 times a power of two, of both signs */
	CNN_CODES_TER2,		/* -1, 0, 1 */
	CNN_CODES_COUNT
};

/* "EXP4", "TER2"; CNN_CODES_NONE: "INT8". */
const char *cnn_codes_name(enum cnn_codes f);
bool cnn_codes_find(const char *name, enum cnn_codes *f);
/* The largest value. */
int cnn_codes_most(enum cnn_codes f);

static inline int cnn_codes_bits(enum cnn_codes f)
{
	return f == CNN_CODES_EXP4 ? 4 : f == CNN_CODES_TER2 ? 2 : 8;
}

/* The last format that has all of these values. */
enum cnn_codes cnn_codes_of(const int8_t *values, int64_t n);
/* of[v]: the format that the int8 values of each tensor are known to have; n_values of them. */
void cnn_graph_codes(const struct cnn_graph *g, enum cnn_codes *of);

/* y[i]: the nearest value to x[i] / scale + zero, of two the smaller; 0 for a NaN. Not for NONE. */
void cnn_codes_quantize(enum cnn_codes f, const float *x, float scale, float zero, int8_t *y,
			int64_t n);

/* The codes of n values that are stride apart, first in the lowest bits; zeros fill a byte. */
void cnn_codes_pack(enum cnn_codes f, const int8_t *values, int64_t stride, int64_t n,
		    uint8_t *to);
/* A byte of nothing but codes of this value. */
uint8_t cnn_codes_fill(enum cnn_codes f, int8_t value);

#endif
