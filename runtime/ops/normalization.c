// SPDX-License-Identifier: MIT
/* BatchNormalization (inference). */
#include <math.h>

#include "moments.h"

static bool training(const struct cnn_node *n)
{
	if (n->opset < 7)
		return !n->params.norm.is_test;
	return n->params.norm.training_mode;
}

int cnn_infer_batch_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (ret)
		return ret;
	if (training(c->node))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute training_mode");
	if (!c->node->params.norm.spatial)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute spatial 0");
	for (int i = 1; i < c->n_out; i++)
		if (c->out[i])
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "output %d belongs to training", i);
	for (int i = 1; i < 5; i++) {
		if (c->in[i]->dtype != x->dtype)
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "input %d: type %s", i,
					   cnn_dtype_name(c->in[i]->dtype));
		if (c->in[i]->rank != 1 || c->in[i]->dims[0] != (x->rank > 1 ? x->dims[1] : 1))
			return cnn_op_fail(c, CNN_EINVAL, "input %d is not one number per channel",
					   i);
	}
	return cnn_infer_like(c, x);
}

int cnn_compute_batch_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	const float *scale = c->in[1]->data, *bias = c->in[2]->data;
	const float *mean = c->in[3]->data, *var = c->in[4]->data, *src = x->data;
	float epsilon = c->node->params.norm.epsilon, *dst = c->out[0]->data;
	int64_t channels = x->rank > 1 ? x->dims[1] : 1, n = cnn_span(x, 2, x->rank);

	if (!cnn_tensor_count(x))
		return CNN_OK;
	for (int64_t b = 0; b < (x->rank ? x->dims[0] : 1); b++)
		for (int64_t ch = 0; ch < channels; ch++, src += n, dst += n)
			cnn_normalize(src, dst, n, mean[ch],
				      scale[ch] / sqrtf(var[ch] + epsilon), bias[ch]);
	return CNN_OK;
}
