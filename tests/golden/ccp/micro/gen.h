/* SPDX-License-Identifier: MIT */
/* Small random programs for core ccp, each with its cycles by the spec's formula. */
#ifndef MICRO_GEN_H
#define MICRO_GEN_H

#include "micro.h"

#define CASE_WORDS	2048
#define CASE_LINE	0x4000u		/* first line of the memory that programs use */
#define CASE_LINES	0x4000u

enum case_kind { CASE_CONV, CASE_POOL, CASE_PAD, CASE_FC, CASE_MIXED, CASE_KINDS };

/** struct micro_case - a program. */
struct micro_case {
	enum case_kind kind;
	uint64_t seed;
	uint32_t word[CASE_WORDS];
	size_t words;
	unsigned int times;		/* executions of the code being emitted */
	uint64_t term[MICRO_UNIT_STATES];	/* clocks by the spec's formula */
	char text[200];
};

/* Where data begins in a bank: at its first float, which spans both halves, or above. */
enum case_place { PLACE_LOWER, PLACE_BOTH, PLACE_UPPER, CASE_PLACES };

/** struct conv_layer - parameters of a convolution. */
struct conv_layer {
	unsigned int kh, kw, sy, sx, ih, iw, top, bottom, left, right, oh, ow;
	unsigned int ci, co, groups, vec;
	unsigned int in_shift, in_gap, out_gap;
	enum case_place in, out, weights, biases;
	bool bias, relu;
};

void case_init(struct micro_case *c, enum case_kind kind, uint64_t seed);
/* A whole layer or, of kind CASE_MIXED, transfers and units in any order. */
void case_fill(struct micro_case *c);
void case_end(struct micro_case *c);

struct conv_layer case_conv_layer(struct micro_case *c);
/* One iteration at row 0, column 0: input channels 0..@last, output channels 0..@co - 1. */
void case_conv_probe(struct micro_case *c, const struct conv_layer *l, unsigned int last,
		     unsigned int co);

#endif
