// SPDX-License-Identifier: MIT
/*
 * QuantizeCodes, an operator of our own domain: floats over one scale, plus one zero point, to the
 * nearest values of the format that its attribute names, as int8.
 */
#include <math.h>

#include "ops/quant.h"
#include "packed_format.h"

static enum cnn_codes format_of(const struct cnn_call *c)
{
	return (enum cnn_codes)c->node->params.codes.format;
}

int cnn_infer_quantize_codes(struct cnn_call *c)
{
	const struct cnn_tensor *scale = c->in[1];
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	if (!ret && format_of(c) == CNN_CODES_NONE)
		return cnn_op_fail(c, CNN_EINVAL, "attribute format is missing");
	if (!ret)
		ret = cnn_quant_param(c, 1, CNN_FLOAT32, 1);
	if (!ret && scale->data && !(cnn_scale(scale, 0) > 0 && isfinite(cnn_scale(scale, 0))))
		return cnn_op_fail(c, CNN_EINVAL, "scale %g is not a positive number",
				   (double)cnn_scale(scale, 0));
	ret = ret ?: cnn_quant_param(c, 2, CNN_INT8, 1) ?: cnn_infer_like(c, c->in[0]);
	c->out[0]->dtype = CNN_INT8;
	return ret;
}

static void quantize_block(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	const float *x = (const float *)c->in[0]->data + first;

	cnn_codes_format(format_of(c))
		->quantize(x, cnn_scale(c->in[1], 0), (float)cnn_zero_point(cnn_in(c, 2), 0),
			   (int8_t *)c->out[0]->data + first, n);
}

int cnn_compute_quantize_codes(struct cnn_call *c)
{
	cnn_for_blocks(c, cnn_tensor_count(c->out[0]), CNN_BLOCK, quantize_block, c);
	return CNN_OK;
}
