/* SPDX-License-Identifier: MIT */
/*
 * Requantisation by the linear multiply-add. What the CPU makes of a sum of products is a function
 * that only grows; the core's is another one. They are the same if they step at the same sums.
 */
#ifndef GCUC_REQUANT_H
#define GCUC_REQUANT_H

#include <cnnacc_gcu.h>

#include "ops/quant.h"

/* The operator's own requantisation of the sums of a channel. */
struct gcuc_requant {
	enum { GCUC_BY_FLOAT, GCUC_BY_FACTOR, GCUC_BY_WIDE } rule;
	float scale;			/* GCUC_BY_FLOAT: cnn_requantize */
	struct cnn_factor factor;	/* GCUC_BY_FACTOR: cnn_times_factor */
	struct cnn_wide_scale wide;	/* GCUC_BY_WIDE: cnn_wide_requantize */
	struct cnn_range range;		/* of the results */
	int64_t bias;			/* that it adds to the sums before */
	int64_t low, high;		/* sums that can occur, with the bias */
};

/* A channel's part of the linear table; its zero point is added behind. */
struct gcuc_linear {
	int32_t a;
	int shift;
	int64_t b;
};

/*
 * Finds a linear multiply-add that gives the operator's results for all sums from low to high;
 * round_up: the layer's rounding. False: none was found.
 */
bool gcuc_requant_solve(const struct gcuc_requant *r, bool round_up, struct gcuc_linear *l);

#endif
