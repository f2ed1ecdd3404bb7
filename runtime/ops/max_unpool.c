// SPDX-License-Identifier: MIT
/* MaxUnpool: puts the maxima of a MaxPool back where they were. */
#include <string.h>

#include "ops.h"

/* The shape that the window gives: the least that a MaxPool could have had. */
static int window_shape(const struct cnn_call *c, struct cnn_tensor *y)
{
	const struct cnn_window_params *p = &c->node->params.window;
	const struct cnn_tensor *x = c->in[0];
	int n = x->rank - 2;

	if (n < 1 || n > CNN_MAX_SPATIAL || p->kernel_shape.n != n ||
	    (p->strides.n >= 0 && p->strides.n != n) || (p->pads.n >= 0 && p->pads.n != 2 * n))
		return cnn_op_fail(c, CNN_EINVAL, "kernel_shape, strides or pads do not fit %d "
				   "spatial axes", n);
	*y = *x;
	for (int i = 0; i < n; i++) {
		int64_t stride = p->strides.n < 0 ? 1 : p->strides.v[i];
		int64_t pads = p->pads.n < 0 ? 0 : p->pads.v[i] + p->pads.v[n + i];

		if (x->dims[i + 2] > CNN_MAX_TENSOR_BYTES)
			return cnn_op_fail(c, CNN_ELIMIT, "dimension %lld",
					   (long long)x->dims[i + 2]);
		y->dims[i + 2] = (x->dims[i + 2] - 1) * stride + p->kernel_shape.v[i] - pads;
		if (y->dims[i + 2] < 0)
			return cnn_op_fail(c, CNN_EINVAL, "pads remove more than there is");
	}
	return CNN_OK;
}

int cnn_infer_max_unpool(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *shape = cnn_in(c, 2);
	int64_t dims[CNN_MAX_RANK];
	struct cnn_tensor y;
	int ret = CNN_WANT(c, c->in[1], CNN_INT64);

	if (!ret && !cnn_tensor_same_shape(x, c->in[1]))
		ret = cnn_op_fail(c, CNN_EINVAL, "indices do not have the shape of X");
	if (!ret)
		ret = window_shape(c, &y);
	if (!ret && shape)
		ret = cnn_op_list(c, "output_shape", shape, CNN_MAX_RANK, dims);
	if (ret)
		return ret;
	/* ONNX does not say which of two shapes the indices count in. */
	if (shape && (cnn_tensor_count(shape) != x->rank ||
		      memcmp(dims, y.dims, sizeof(dims[0]) * x->rank)))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "output_shape is not the shape that the "
				   "window gives");
	return cnn_infer_like(c, &y);
}

int cnn_compute_max_unpool(struct cnn_call *c)
{
	int64_t n = cnn_tensor_count(c->in[0]), limit = cnn_tensor_count(c->out[0]);
	int64_t size = cnn_dtype_size(c->in[0]->dtype);
	char *y = c->out[0]->data;

	if (limit)
		memset(y, 0, limit * size);
	for (int64_t i = 0; i < n; i++) {
		int64_t at = cnn_int_at(c->in[1], i);

		if (at < 0 || at >= limit)
			return cnn_op_fail(c, CNN_EINVAL, "index %lld, limits 0 to %lld",
					   (long long)at, (long long)limit - 1);
		memcpy(y + at * size, (char *)c->in[0]->data + i * size, size);
	}
	return CNN_OK;
}
