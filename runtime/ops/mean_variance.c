// SPDX-License-Identifier: MIT
/* MeanVarianceNormalization: over any axes, without scale and bias. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* The shape of the means: ones where axes go. */
static int means_of(struct cnn_call *c, struct cnn_tensor *means)
{
	const struct cnn_tensor *x = c->in[0];
	const struct cnn_ints *given = &c->node->params.axes, usual = { 3, { 0, 2, 3 } };
	struct cnn_ints axes = given->n < 0 ? usual : *given;
	int ret = CNN_OK;

	*means = (struct cnn_tensor){ .dtype = CNN_FLOAT64, .rank = x->rank };
	memcpy(means->dims, x->dims, sizeof(means->dims));
	for (int i = 0; !ret && i < axes.n; i++) {
		ret = cnn_op_axis(c, &axes.v[i], x->rank);
		if (!ret)
			means->dims[axes.v[i]] = 1;
	}
	return ret;
}

int cnn_infer_mean_variance(struct cnn_call *c)
{
	struct cnn_tensor means;
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	if (!ret)
		ret = means_of(c, &means);
	return ret ? ret : cnn_infer_like(c, c->in[0]);
}

enum step { STEP_SUM, STEP_SQUARES, STEP_NORMALIZE };

/* One row: a mean and a deviation for each element, or one for all. */
static void one_row(enum step step, const struct cnn_walk *w, float *y)
{
	const float *x = (const float *)w->p[0];
	double *mean = (double *)w->p[1], *deviation = (double *)w->p[2];

	for (int64_t i = 0; i < w->row; i++) {
		int64_t at = w->moves[1] ? i : 0;
		double d = x[i] - mean[at];

		if (step == STEP_SUM)
			mean[at] += x[i];
		else if (step == STEP_SQUARES)
			deviation[at] += d * d;
		else
			y[i] = (float)(d / (deviation[at] + 1e-9));
	}
}

static void all_rows(enum step step, struct cnn_call *c, const struct cnn_tensor *means,
		     const struct cnn_tensor *deviations)
{
	const struct cnn_tensor *const operands[3] = { c->in[0], means, deviations };
	int64_t left = cnn_tensor_count(c->in[0]);
	float *y = c->out[0]->data;
	struct cnn_walk w;

	for (cnn_walk_start(&w, c->in[0], 3, operands); left > 0; left -= w.row) {
		one_row(step, &w, y);
		y += w.row;
		cnn_walk_next(&w);
	}
}

int cnn_compute_mean_variance(struct cnn_call *c)
{
	struct cnn_tensor means, deviations;
	double *mean, *deviation, per;
	int ret = means_of(c, &means);
	int64_t n = cnn_tensor_count(&means);

	if (ret || !cnn_tensor_count(c->in[0]))
		return ret;
	mean = calloc(2 * n, sizeof(*mean));
	if (!mean)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	deviation = mean + n;
	per = (double)(cnn_tensor_count(c->in[0]) / n);
	deviations = means;
	means.data = mean;
	deviations.data = deviation;
	all_rows(STEP_SUM, c, &means, &deviations);
	for (int64_t i = 0; i < n; i++)
		mean[i] /= per;
	all_rows(STEP_SQUARES, c, &means, &deviations);
	for (int64_t i = 0; i < n; i++)
		deviation[i] = sqrt(deviation[i] / per);
	all_rows(STEP_NORMALIZE, c, &means, &deviations);
	free(mean);
	return CNN_OK;
}
