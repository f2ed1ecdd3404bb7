/* SPDX-License-Identifier: MIT */
/*
 * EXP4 and TER2 (Documentation/hardware/hwpe.rst, Types): few values, in codes of few bits. In the
 * graph they are int8 tensors that hold nothing but such values.
 */
#ifndef HWPE_PACKED_FORMAT_H
#define HWPE_PACKED_FORMAT_H

#include "backend/packed_format.h"
#include "ir/graph.h"

/* Each has all values of the next. */
enum cnn_codes {
	CNN_CODES_NONE = 0, /* any int8 */
	CNN_CODES_EXP4,	    /* 0, and 1 to 64 times a power of two, of both signs */
	CNN_CODES_TER2,	    /* -1, 0, 1 */
	CNN_CODES_COUNT
};

/* A format of enum cnn_codes but CNN_CODES_NONE. */
const struct cnn_packed_format *cnn_codes_format(enum cnn_codes f);
/* Its number; 0 for CNN_CODES_NONE. */
int cnn_codes_number(enum cnn_codes f);

/* The last format that has all of these values. */
enum cnn_codes cnn_codes_of(const int8_t *values, int64_t n);
/* of[v]: the format that the int8 values of each tensor are known to have; n_values of them. */
void cnn_graph_codes(const struct cnn_graph *g, enum cnn_codes *of);

/* A byte of nothing but codes of this value. */
uint8_t cnn_codes_fill(enum cnn_codes f, int8_t value);

#endif
