// SPDX-License-Identifier: MIT
/* OneHot: each index becomes a row of depth elements, one of which is on. */
#include <string.h>

#include "ops.h"

/* Element i as an integer. */
static int64_t whole(const struct cnn_tensor *t, int64_t i)
{
	int64_t v;

	cnn_cast(t->dtype, (const char *)t->data + i * (int64_t)cnn_dtype_size(t->dtype), CNN_INT64,
		 &v, 1);
	return v;
}

static int check(struct cnn_call *c)
{
	const struct cnn_tensor *depth = c->in[1], *values = c->in[2];

	if (c->in[0]->rank == CNN_MAX_RANK)
		return cnn_op_fail(c, CNN_ELIMIT, "makes over %d dimensions", CNN_MAX_RANK);
	if (cnn_tensor_count(depth) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "depth is not one number");
	if (cnn_tensor_count(values) != 2)
		return cnn_op_fail(c, CNN_EINVAL, "values has %lld elements, 2 wanted",
				   (long long)cnn_tensor_count(values));
	return CNN_OK;
}

int cnn_infer_one_hot(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis = c->node->params.axis.axis, depth;
	struct cnn_tensor *y = c->out[0];
	int ret = check(c);

	if (!ret)
		ret = cnn_op_axis(c, &axis, x->rank + 1);
	if (!ret && !c->in[1]->data)
		ret = CNN_NEED_DATA;
	if (ret)
		return ret;
	depth = whole(c->in[1], 0);
	if (depth < 0 || depth > CNN_MAX_TENSOR_BYTES)
		return cnn_op_fail(c, CNN_ELIMIT, "depth is %lld, limits 0 to %lld",
				   (long long)depth, (long long)CNN_MAX_TENSOR_BYTES);
	y->dtype = c->in[2]->dtype;
	y->rank = x->rank + 1;
	for (int i = 0; i < y->rank; i++)
		y->dims[i] = i == axis ? depth : x->dims[i < axis ? i : i - 1];
	return CNN_OK;
}

int cnn_compute_one_hot(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t axis = c->node->params.axis.axis, size = cnn_dtype_size(y->dtype), inner = 1, depth;
	const char *off = c->in[2]->data, *on = off + size;
	int64_t count = cnn_tensor_count(y);
	char *to = y->data;

	axis += axis < 0 ? y->rank : 0;
	depth = y->dims[axis];
	for (int i = axis + 1; i < y->rank; i++)
		inner *= y->dims[i];
	for (int64_t i = 0; i < count; i++)
		memcpy(to + i * size, off, (size_t)size);
	for (int64_t i = 0; count && i < cnn_tensor_count(x); i++) {
		int64_t at = whole(x, i);

		at += at < 0 ? depth : 0;
		if (at >= 0 && at < depth)
			memcpy(to + ((i / inner * depth + at) * inner + i % inner) * size, on,
			       (size_t)size);
	}
	return CNN_OK;
}
