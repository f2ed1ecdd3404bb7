// SPDX-License-Identifier: MIT
/* Softmax, LogSoftmax and Hardmax. */
#include <math.h>

#include "ops.h"

int cnn_infer_softmax(struct cnn_call *c)
{
	int64_t axis = c->node->params.axis.axis;
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	/* Before opset 13 axis could be the rank: rows of one element. */
	if (!ret && (c->node->opset >= 13 || axis != c->in[0]->rank))
		ret = cnn_op_axis(c, &axis, c->in[0]->rank);
	return ret ?: cnn_infer_like(c, c->in[0]);
}

/* n elements, step apart; logs: the logarithms of the results. */
static void softmax_row(const float *x, float *y, int64_t n, int64_t step, bool logs)
{
	float max = -INFINITY, ln;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		if (x[i * step] > max)
			max = x[i * step];
	if (step == 1)
		cnn_exp_shifted(x, max, y, n);
	for (int64_t i = 0; i < n; i++) {
		if (step != 1)
			y[i * step] = cnn_expf(x[i * step] - max);
		sum += y[i * step];
	}
	ln = (float)cnn_ln(sum);
	for (int64_t i = 0; i < n; i++)
		y[i * step] = logs ? x[i * step] - max - ln : (float)(y[i * step] / sum);
}

/* 1 for the first of the largest, 0 for the others */
static void hardmax_row(const float *x, float *y, int64_t n, int64_t step)
{
	int64_t best = 0;

	for (int64_t i = 0; i < n; i++) {
		if (x[i * step] > x[best * step])
			best = i;
		y[i * step] = 0;
	}
	y[best * step] = 1;
}

static void one_row(enum cnn_op op, const float *x, float *y, int64_t n, int64_t step)
{
	if (op == CNN_OP_HARDMAX)
		hardmax_row(x, y, n, step);
	else
		softmax_row(x, y, n, step, op == CNN_OP_LOG_SOFTMAX);
}

int cnn_compute_softmax(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	bool flat = c->node->opset < 13;
	int64_t axis = c->node->params.axis.axis, outer, n, inner;
	float *y = c->out[0]->data;
	int end;

	if (!cnn_tensor_count(x))
		return CNN_OK;
	axis += axis < 0 ? x->rank : 0;
	end = flat ? x->rank : axis + 1;
	outer = cnn_span(x, 0, axis);
	n = cnn_span(x, axis, end);
	inner = cnn_span(x, end, x->rank);
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < inner; i++)
			one_row(c->node->op, (float *)x->data + o * n * inner + i,
				y + o * n * inner + i, n, inner);
	return CNN_OK;
}
