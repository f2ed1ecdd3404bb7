// SPDX-License-Identifier: MIT
/*
 * RequantizeSums: what is left of a quantised product when its sums have been made. Inputs: the
 * sums, int32; what is added for each channel, int64; the scales of x, of the weights (one or one
 * for each channel) and of the result, whose zero point and type come last. multiplier_bits: 24, in
 * float32; 31, with factors of integers; 53, in double, of products of 16 bits.
 */
#include "quant.h"

struct channel {
	float scale;
	struct cnn_factor factor;
	struct cnn_wide_scale wide;
};

int cnn_infer_requantize_sums(struct cnn_call *c)
{
	int64_t bits = c->node->params.product.multiplier_bits, axis = c->node->params.sums.axis;
	const struct cnn_tensor *terms = c->in[1];
	int ret = CNN_WANT(c, c->in[0], CNN_INT32) ?: CNN_WANT(c, terms, CNN_INT64) ?:
		  cnn_op_axis(c, &axis, c->in[0]->rank) ?: cnn_infer_like(c, c->in[0]);

	if (ret)
		return ret;
	if (terms->rank != 1 || terms->dims[0] != c->in[0]->dims[axis])
		return cnn_op_fail(c, CNN_EINVAL, "input 1 is not one number for each channel");
	if (bits != 24 && bits != 31 && bits != 53)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute multiplier_bits %lld",
				   (long long)bits);
	return cnn_quant_param(c, 2, CNN_FLOAT32, 1) ?:
	       cnn_quant_param(c, 3, CNN_FLOAT32, terms->dims[0]) ?: cnn_quant_wide_result(c, 4);
}

static struct channel channel_of(const struct cnn_call *c, int64_t k, struct cnn_range range)
{
	float x = cnn_scale(c->in[2], 0), w = cnn_scale(c->in[3], k), y = cnn_scale(c->in[4], 0);
	double ratio = (double)x * (double)w / (double)y;

	return (struct channel){
		.scale = x * w / y, .factor = cnn_factor_of(ratio),
		.wide = { .range = range, .ratio = ratio },
	};
}

static int64_t requantize(const struct channel *h, int64_t bits, int64_t sum)
{
	const struct cnn_range *r = &h->wide.range;
	int64_t v;

	if (bits == 53)
		return cnn_wide_requantize(&h->wide, sum);
	if (bits == 24)
		return cnn_to_range(r, (float)(int32_t)sum * h->scale);
	v = cnn_times_factor((int32_t)sum, h->factor) + r->zero_point;
	return v < r->low ? r->low : v > r->high ? r->high : v;
}

int cnn_compute_requantize_sums(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	struct cnn_range range = cnn_range_of(y->dtype, cnn_zero_point(c->in[5], 0));
	int64_t bits = c->node->params.product.multiplier_bits, axis = c->node->params.sums.axis;
	const int64_t *terms = c->in[1]->data;
	int64_t inner;
	int ret = cnn_op_axis(c, &axis, x->rank);

	if (ret || !cnn_tensor_count(y))
		return ret;
	inner = cnn_span(x, (int)axis + 1, x->rank);
	for (int64_t at = 0; at < cnn_tensor_count(y); at += inner) {
		int64_t k = at / inner % x->dims[axis];
		struct channel h = channel_of(c, k, range);

		for (int64_t i = at; i < at + inner; i++) {
			int64_t v = requantize(&h, bits, ((const int32_t *)x->data)[i] + terms[k]);

			if (cnn_dtype_size(y->dtype) == 1)
				((uint8_t *)y->data)[i] = (uint8_t)v;
			else
				((uint16_t *)y->data)[i] = (uint16_t)v;
		}
	}
	return CNN_OK;
}
