// SPDX-License-Identifier: MIT
/* HannWindow, HammingWindow and BlackmanWindow: sums of cosines. */
#include "ops.h"

static const double *coefficients(enum cnn_op op)
{
	static const double hann[3] = { 0.5, 0.5, 0 }, hamming[3] = { 25.0 / 46, 21.0 / 46, 0 };
	static const double blackman[3] = { 0.42, 0.5, 0.08 };

	return op == CNN_OP_HANN_WINDOW ? hann : op == CNN_OP_HAMMING_WINDOW ? hamming : blackman;
}

int cnn_infer_cosine_window(struct cnn_call *c)
{
	int64_t type = c->node->params.cosine_window.dtype, size;
	struct cnn_tensor *y = c->out[0];
	int ret;

	if (type <= 0 || type > CNN_BFLOAT16 || !cnn_dtype_size(type))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute output_datatype: type %lld",
				   (long long)type);
	if (cnn_tensor_count(c->in[0]) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "size is not one number");
	ret = cnn_op_list(c, "size", c->in[0], 1, &size);
	if (ret)
		return ret;
	if (size < 0 || size > CNN_MAX_TENSOR_BYTES)
		return cnn_op_fail(c, CNN_ELIMIT, "size is %lld, limits 0 to %lld",
				   (long long)size, (long long)CNN_MAX_TENSOR_BYTES);
	y->dtype = type;
	y->rank = 1;
	y->dims[0] = size;
	return CNN_OK;
}

/* A window of one element is 1, as nothing is beside it. */
int cnn_compute_cosine_window(struct cnn_call *c)
{
	const double *a = coefficients(c->node->op);
	struct cnn_tensor *y = c->out[0];
	int64_t size = y->dims[0], period = size - !c->node->params.cosine_window.periodic;

	for (int64_t i = 0; i < size; i++) {
		double turn = (double)i / (double)period, v = 1;

		if (period)
			v = a[0] - a[1] * cnn_cos_turn(turn) + a[2] * cnn_cos_turn(2 * turn);
		cnn_cast(CNN_FLOAT64, &v, y->dtype,
			 (char *)y->data + i * (int64_t)cnn_dtype_size(y->dtype), 1);
	}
	return CNN_OK;
}
