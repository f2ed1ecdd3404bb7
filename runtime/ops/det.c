// SPDX-License-Identifier: MIT
/* Det: determinants of the matrices in the last two axes. */
#include <math.h>
#include <stdlib.h>

#include "ops.h"

int cnn_infer_det(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int ret = CNN_WANT(c, x, CNN_FLOAT32, CNN_FLOAT64);

	if (ret)
		return ret;
	if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
		return cnn_op_fail(c, CNN_EINVAL, "the input is not made of square matrices");
	cnn_infer_like(c, x);
	c->out[0]->rank -= 2;
	return CNN_OK;
}

static void swap_rows(double *a, double *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double v = a[i];

		a[i] = b[i];
		b[i] = v;
	}
}

/* Gaussian elimination with the largest pivot of each column; destroys the n x n matrix. */
static double determinant(double *m, int64_t n)
{
	double det = 1;

	for (int64_t k = 0; k < n; k++) {
		int64_t pivot = k;

		for (int64_t i = k + 1; i < n; i++)
			if (fabs(m[i * n + k]) > fabs(m[pivot * n + k]))
				pivot = i;
		if (pivot != k) {
			swap_rows(m + k * n, m + pivot * n, n);
			det = -det;
		}
		det *= m[k * n + k];
		for (int64_t i = k + 1; i < n && m[k * n + k] != 0; i++) {
			double f = m[i * n + k] / m[k * n + k];

			for (int64_t j = k + 1; j < n; j++)
				m[i * n + j] -= f * m[k * n + j];
		}
	}
	return det;
}

int cnn_compute_det(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t n = x->dims[x->rank - 1], count = cnn_tensor_count(c->out[0]);
	int64_t size = cnn_dtype_size(x->dtype);
	double *m, det;

	m = malloc((n * n + 1) * sizeof(*m));
	if (!m)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for a matrix");
	for (int64_t i = 0; i < count; i++) {
		cnn_cast(x->dtype, (char *)x->data + i * n * n * size, CNN_FLOAT64, m, n * n);
		det = determinant(m, n);
		cnn_cast(CNN_FLOAT64, &det, x->dtype, (char *)c->out[0]->data + i * size, 1);
	}
	free(m);
	return CNN_OK;
}
