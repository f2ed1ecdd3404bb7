// SPDX-License-Identifier: MIT
/* Range: numbers from a start to a limit, as far apart as delta. */
#include <math.h>

#include "ops.h"

static double number(const struct cnn_tensor *t)
{
	double v;

	cnn_cast(t->dtype, t->data, CNN_FLOAT64, &v, 1);
	return v;
}

/* How many integers; delta is not 0. */
static uint64_t count_integers(int64_t start, int64_t limit, int64_t delta)
{
	uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start :
				    (uint64_t)start - (uint64_t)limit;
	uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;

	if (delta > 0 ? start >= limit : start <= limit)
		return 0;
	return (span - 1) / step + 1;
}

static int count(struct cnn_call *c, double *n)
{
	const struct cnn_tensor *const *in = c->in;
	double delta = number(in[2]), span = number(in[1]) - number(in[0]);
	int64_t v[3];

	if (delta == 0)
		return cnn_op_fail(c, CNN_EINVAL, "delta is 0");
	if (in[0]->dtype == CNN_FLOAT32) {
		*n = ceil((float)span / delta);
	} else if (in[0]->dtype == CNN_FLOAT64) {
		*n = ceil(span / delta);
	} else {
		for (int i = 0; i < 3; i++)
			cnn_cast(in[i]->dtype, in[i]->data, CNN_INT64, &v[i], 1);
		*n = (double)count_integers(v[0], v[1], v[2]);
	}
	if (!(*n <= CNN_MAX_TENSOR_BYTES))
		return cnn_op_fail(c, CNN_ELIMIT, "%g elements, limit %lld", *n,
				   (long long)CNN_MAX_TENSOR_BYTES);
	*n = *n > 0 ? *n : 0;
	return CNN_OK;
}

int cnn_infer_range(struct cnn_call *c)
{
	static const char *const names[] = { "start", "limit", "delta" };
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32, CNN_FLOAT64, CNN_INT16, CNN_INT32, CNN_INT64);
	struct cnn_tensor *y = c->out[0];
	double n = 0;

	for (int i = 0; !ret && i < 3; i++) {
		if (c->in[i]->dtype != c->in[0]->dtype || cnn_tensor_count(c->in[i]) != 1)
			ret = cnn_op_fail(c, CNN_EINVAL, "%s is not one %s", names[i],
					  cnn_dtype_name(c->in[0]->dtype));
	}
	for (int i = 0; !ret && i < 3; i++)
		ret = c->in[i]->data ? CNN_OK : CNN_NEED_DATA;
	if (!ret)
		ret = count(c, &n);
	if (ret)
		return ret;
	y->dtype = c->in[0]->dtype;
	y->rank = 1;
	y->dims[0] = (int64_t)n;
	return CNN_OK;
}

/* Integers that fit need no wider arithmetic: cnn_cast cuts them off. */
int cnn_compute_range(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	bool real = x->dtype == CNN_FLOAT32 || x->dtype == CNN_FLOAT64;
	int64_t size = cnn_dtype_size(y->dtype), start = 0, delta = 0;
	double from = number(x), step = number(c->in[2]);

	cnn_cast(x->dtype, x->data, CNN_INT64, &start, 1);
	cnn_cast(x->dtype, c->in[2]->data, CNN_INT64, &delta, 1);
	for (int64_t i = 0; i < y->dims[0]; i++) {
		int64_t whole = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
		double v = from + (double)i * step;

		if (real)
			cnn_cast(CNN_FLOAT64, &v, y->dtype, (char *)y->data + i * size, 1);
		else
			cnn_cast(CNN_INT64, &whole, y->dtype, (char *)y->data + i * size, 1);
	}
	return CNN_OK;
}
