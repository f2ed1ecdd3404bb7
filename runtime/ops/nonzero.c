// SPDX-License-Identifier: MIT
/* NonZero and Compress: the size of the output depends on the elements of an input. */
#include <string.h>

#include "ops.h"

static bool is_nonzero(const struct cnn_tensor *x, int64_t i)
{
	uint8_t b;

	cnn_cast(x->dtype, (char *)x->data + i * (int64_t)cnn_dtype_size(x->dtype), CNN_BOOL, &b, 1);
	return b;
}

int cnn_infer_nonzero(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor *y = c->out[0];
	int64_t count = cnn_tensor_count(x);

	if (!x->data)
		return CNN_NEED_DATA;
	y->dtype = CNN_INT64;
	y->rank = 2;
	y->dims[0] = x->rank;
	y->dims[1] = 0;
	for (int64_t i = 0; i < count; i++)
		y->dims[1] += is_nonzero(x, i);
	return CNN_OK;
}

int cnn_compute_nonzero(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t *y = c->out[0]->data, pitch = c->out[0]->dims[1], n = 0;
	int64_t count = cnn_tensor_count(x);

	for (int64_t i = 0; i < count; i++) {
		int64_t rest = i;

		if (!is_nonzero(x, i))
			continue;
		for (int a = x->rank - 1; a >= 0; a--) {
			y[a * pitch + n] = rest % x->dims[a];
			rest /= x->dims[a];
		}
		n++;
	}
	return CNN_OK;
}

static bool is_taken(const struct cnn_call *c, int64_t i)
{
	return ((const uint8_t *)c->in[1]->data)[i];
}

/* x as outer times dim times run: without an axis it is one row. */
struct rows {
	int64_t outer, dim, run;
};

static int resolve_rows(struct cnn_call *c, int64_t *axis, struct rows *r)
{
	const struct cnn_tensor *x = c->in[0], *take = c->in[1];
	int ret = CNN_WANT(c, take, CNN_BOOL);

	*axis = c->node->params.axis.axis;
	*r = (struct rows){ 1, cnn_tensor_count(x), 1 };
	if (!ret && *axis != CNN_AXIS_NONE) {
		ret = cnn_op_axis(c, axis, x->rank);
		r->dim = 1;
	}
	if (ret)
		return ret;
	for (int i = 0; *axis != CNN_AXIS_NONE && i < x->rank; i++) {
		if (i < *axis)
			r->outer *= x->dims[i];
		else if (i == *axis)
			r->dim = x->dims[i];
		else
			r->run *= x->dims[i];
	}
	if (take->rank != 1 || take->dims[0] > r->dim)
		return cnn_op_fail(c, CNN_EINVAL, "condition has %lld elements, limit %lld",
				   (long long)cnn_tensor_count(take), (long long)r->dim);
	return take->data ? CNN_OK : CNN_NEED_DATA;
}

int cnn_infer_compress(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	struct rows r;
	int64_t axis, taken = 0;
	int ret = resolve_rows(c, &axis, &r);

	if (ret)
		return ret;
	for (int64_t i = 0; i < c->in[1]->dims[0]; i++)
		taken += is_taken(c, i);
	cnn_infer_like(c, c->in[0]);
	if (axis == CNN_AXIS_NONE) {
		y->rank = 1;
		axis = 0;
	}
	y->dims[axis] = taken;
	return CNN_OK;
}

int cnn_compute_compress(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis, size = cnn_dtype_size(x->dtype);
	char *dst = c->out[0]->data;
	struct rows r;
	int ret = resolve_rows(c, &axis, &r);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	for (int64_t o = 0; o < r.outer; o++)
		for (int64_t i = 0; i < c->in[1]->dims[0]; i++) {
			if (!is_taken(c, i))
				continue;
			memcpy(dst, (char *)x->data + (o * r.dim + i) * r.run * size,
			       r.run * size);
			dst += r.run * size;
		}
	return CNN_OK;
}
