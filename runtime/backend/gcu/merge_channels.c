// SPDX-License-Identifier: MIT
/*
 * MergeChannels: the channels of two tensors in one. Inputs: a, b of the same type, and for each
 * channel of b, ascending, its number in the result; the channels of a are the others, in order.
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
	if (a->dtype != b->dtype || a->rank != b->rank || index->rank != 1 ||
	    index->dims[0] != b->dims[axis])
		return cnn_op_fail(c, CNN_EINVAL, "inputs do not fit each other");
	for (int i = 0; i < a->rank; i++)
		if (i != axis && a->dims[i] != b->dims[i])
			return cnn_op_fail(c, CNN_EINVAL, "dimension %d is %lld and %lld", i,
					   (long long)a->dims[i], (long long)b->dims[i]);
	c->out[0]->dims[axis] = a->dims[axis] + b->dims[axis];
	return CNN_OK;
}

/* Are the numbers ascending, and those of channels? */
static int check_index(const struct cnn_call *c, int64_t channels)
{
	const int32_t *index = c->in[2]->data;

	for (int64_t i = 0, least = 0; i < c->in[2]->dims[0]; i++) {
		if (index[i] < least || index[i] >= channels)
			return cnn_op_fail(c, CNN_EINVAL, "channel %d as number %lld", index[i],
					   (long long)i);
		least = index[i] + 1;
	}
	return CNN_OK;
}

int cnn_compute_merge_channels(struct cnn_call *c)
{
	const struct cnn_tensor *y = c->out[0];
	const char *a = c->in[0]->data, *b = c->in[1]->data;
	const int32_t *index = c->in[2]->data;
	int64_t axis = c->node->params.axis.axis, n = c->in[2]->dims[0], outer;
	size_t bytes;
	char *to = y->data;
	int ret = cnn_op_axis(c, &axis, y->rank) ?: check_index(c, y->dims[axis]);

	if (ret || !cnn_tensor_count(y))
		return ret;
	outer = cnn_span(y, 0, (int)axis);
	bytes = (size_t)cnn_span(y, (int)axis + 1, y->rank) * cnn_dtype_size(y->dtype);
	for (int64_t i = 0; i < outer; i++)
		for (int64_t k = 0, at = 0; k < y->dims[axis]; k++, to += bytes) {
			const char **from = at < n && index[at] == k ? &b : &a;

			at += from == &b;
			memcpy(to, *from, bytes);
			*from += bytes;
		}
	return CNN_OK;
}
