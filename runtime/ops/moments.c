// SPDX-License-Identifier: MIT
/* Means and variances of rows, and what is done with them. */
#include <math.h>

#include "moments.h"

struct cnn_moments cnn_moments_of(const float *x, int64_t n, double epsilon)
{
	double sum = 0, squares = 0, mean;

	for (int64_t i = 0; i < n; i++)
		sum += x[i];
	mean = sum / (double)n;
	for (int64_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return (struct cnn_moments){ mean, 1 / sqrt(squares / (double)n + epsilon) };
}

struct cnn_moments cnn_moments_about_0(const float *x, int64_t n, double epsilon)
{
	double squares = 0;

	for (int64_t i = 0; i < n; i++)
		squares += (double)x[i] * x[i];
	return (struct cnn_moments){ 0, 1 / sqrt(squares / (double)n + epsilon) };
}

CNN_CLONES
void cnn_normalize(const float *x, float *y, int64_t n, float mean, float factor, float bias)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) * factor + bias;
}
