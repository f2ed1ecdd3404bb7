/* SPDX-License-Identifier: MIT */
/* Means and variances, for the operators that normalise with them. */
#ifndef CNN_OPS_MOMENTS_H
#define CNN_OPS_MOMENTS_H

#include "ops.h"

struct cnn_moments {
	double mean, inverse;	/* of the standard deviation, that is 1 / sqrt(variance + epsilon) */
};

struct cnn_moments cnn_moments_of(const float *x, int64_t n, double epsilon);
/* The same about 0 instead of the mean. */
struct cnn_moments cnn_moments_about_0(const float *x, int64_t n, double epsilon);
/* y[i] = (x[i] - mean) * factor + bias; x and y may be the same. */
void cnn_normalize(const float *x, float *y, int64_t n, float mean, float factor, float bias);

#endif
