// SPDX-License-Identifier: MIT
/*
 * MergeChannels: channels of two tensors in one. Inputs: a, b of the same type, and for each
 * channel of the result its number among those of a and, behind these, of b.
 */
#include <string.h>

#include "ops/ops.h"

int cnn_infer_merge_channels(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0], *b = c->in[1], *index = c->in[2];
	int64_t axis = c->node->params.axis.axis;
	int ret = CNN_WANT(c, index, CNN_INT32) ?: cnn_op_axis(c, &axis, a->rank) ?:
		  cnn_infer_like(c, a);

	if (ret)
		return ret;
	if (a->dtype != b->dtype || a->rank != b->rank || index->rank != 1)
		return cnn_op_fail(c, CNN_EINVAL, "inputs do not fit each other");
	for (int i = 0; i < a->rank; i++)
		if (i != axis && a->dims[i] != b->dims[i])
			return cnn_op_fail(c, CNN_EINVAL, "dimension %d is %lld and %lld", i,
					   (long long)a->dims[i], (long long)b->dims[i]);
	c->out[0]->dims[axis] = index->dims[0];
	return CNN_OK;
}

/* Are the numbers those of channels? */
static int check_index(const struct cnn_call *c, int64_t channels)
{
	const int32_t *index = c->in[2]->data;

	for (int64_t i = 0; i < c->in[2]->dims[0]; i++)
		if (index[i] < 0 || index[i] >= channels)
			return cnn_op_fail(c, CNN_EINVAL, "channel %d as number %lld, limit %lld",
					   index[i], (long long)i, (long long)channels - 1);
	return CNN_OK;
}

int cnn_compute_merge_channels(struct cnn_call *c)
{
	const struct cnn_tensor *y = c->out[0];
	const char *a = c->in[0]->data, *b = c->in[1]->data;
	const int32_t *index = c->in[2]->data;
	int64_t axis = c->node->params.axis.axis, of_a, of_b, outer;
	char *to = y->data;
	size_t bytes;
	int ret = cnn_op_axis(c, &axis, y->rank);

	if (ret || !cnn_tensor_count(y))
		return ret;
	of_a = c->in[0]->dims[axis];
	of_b = c->in[1]->dims[axis];
	outer = cnn_span(y, 0, (int)axis);
	bytes = (size_t)cnn_span(y, (int)axis + 1, y->rank) * cnn_dtype_size(y->dtype);
	ret = check_index(c, of_a + of_b);
	for (int64_t i = 0; i < outer && !ret; i++) {
		for (int64_t k = 0; k < y->dims[axis]; k++, to += bytes)
			memcpy(to, index[k] < of_a ? a + (size_t)index[k] * bytes :
						     b + (size_t)(index[k] - of_a) * bytes, bytes);
		a += (size_t)of_a * bytes;
		b += (size_t)of_b * bytes;
	}
	return ret;
}
