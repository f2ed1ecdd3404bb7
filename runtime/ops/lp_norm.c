// SPDX-License-Identifier: MIT
/* LpNormalization: the elements along an axis by their norm. */
#include <math.h>

#include "ops.h"

int cnn_infer_lp_norm(struct cnn_call *c)
{
	int64_t axis = c->node->params.lp_norm.axis, p = c->node->params.lp_norm.p;
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	if (!ret)
		ret = cnn_op_axis(c, &axis, c->in[0]->rank);
	if (!ret && p != 1 && p != 2)
		ret = cnn_op_fail(c, CNN_EINVAL, "attribute p is %lld, 1 or 2 wanted", (long long)p);
	return ret ? ret : cnn_infer_like(c, c->in[0]);
}

/* n elements, step apart; zeros stay zeros. */
static void normalize_row(const float *x, float *y, int64_t n, int64_t step, bool squares)
{
	double norm = 0;

	for (int64_t i = 0; i < n; i++) {
		double v = x[i * step];

		norm += squares ? v * v : fabs(v);
	}
	norm = squares ? sqrt(norm) : norm;
	for (int64_t i = 0; i < n; i++)
		y[i * step] = norm != 0 ? (float)(x[i * step] / norm) : 0;
}

int cnn_compute_lp_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis = c->node->params.lp_norm.axis, inner = 1, n;
	int64_t count = cnn_tensor_count(x);
	const float *from = x->data;
	float *to = c->out[0]->data;

	axis += axis < 0 ? x->rank : 0;
	n = x->dims[axis];
	for (int i = (int)axis + 1; i < x->rank; i++)
		inner *= x->dims[i];
	for (int64_t at = 0; at < count; at += n * inner)
		for (int64_t i = 0; i < inner; i++)
			normalize_row(from + at + i, to + at + i, n, inner,
				      c->node->params.lp_norm.p == 2);
	return CNN_OK;
}
