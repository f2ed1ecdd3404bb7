// SPDX-License-Identifier: MIT
/*
 * ShiftConv and ShiftMatMul, which the back end makes of ConvInteger or MatMulInteger and the
 * ShiftRequantize behind it: their inputs 0 to 3, then what is added to the sums of each channel,
 * int32, and by how much they are shifted, int8, one or one for each channel.
 */
#include <stdlib.h>

#include "arithmetic.h"
#include "ops/quant.h"

enum { ADD = 4, SHIFT = 5 };

static int check_constants(struct cnn_call *c, int64_t channels)
{
	c->out[0]->dtype = CNN_INT8;
	for (int i = ADD; i <= SHIFT; i++) {
		const struct cnn_tensor *t = cnn_in(c, i);

		if (t && (!t->data || t->dtype != (i == ADD ? CNN_INT32 : CNN_INT8) ||
			  (cnn_tensor_count(t) != 1 && cnn_tensor_count(t) != channels)))
			return cnn_op_fail(c, CNN_EINVAL, "input %d is not one constant, or one for "
					   "each of %lld channels", i, (long long)channels);
	}
	return CNN_OK;
}

static int64_t columns_of(const struct cnn_tensor *w)
{
	return w->rank > 1 ? w->dims[w->rank - 1] : 1;
}

int cnn_infer_shift_conv(struct cnn_call *c)
{
	return cnn_infer_conv_integer(c) ?: check_constants(c, c->in[1]->dims[0]);
}

int cnn_infer_shift_matmul(struct cnn_call *c)
{
	return cnn_infer_matmul_integer(c) ?: check_constants(c, columns_of(c->in[1]));
}

static int64_t element(const struct cnn_tensor *t, int64_t channel)
{
	int64_t i = t && cnn_tensor_count(t) > 1 ? channel : 0;

	if (!t)
		return 0;
	return t->dtype == CNN_INT32 ? ((const int32_t *)t->data)[i] : ((const int8_t *)t->data)[i];
}

/* Sums of channels of so many elements that touch; channels in turns. */
static void requantize(const struct cnn_call *c, const int32_t *sums, int64_t channels,
		       int64_t inner)
{
	const bool relu = c->node->params.product.relu;
	int8_t *y = c->out[0]->data;
	int64_t count = cnn_tensor_count(c->out[0]);

	for (int64_t at = 0; at < count; at += inner) {
		uint32_t add = (uint32_t)element(cnn_in(c, ADD), at / inner % channels);
		int shift = (int)element(cnn_in(c, SHIFT), at / inner % channels);

		for (int64_t i = at; i < at + inner; i++) {
			int8_t v = enpuc_requantize((int32_t)((uint32_t)sums[i] + add), shift);

			y[i] = relu && v < 0 ? 0 : v;
		}
	}
}

static int compute(struct cnn_call *c, bool conv)
{
	int64_t n = cnn_tensor_count(c->out[0]), channels, inner = 1;
	int32_t *sums = malloc((size_t)(n + 1) * sizeof(*sums));
	int ret;

	if (!sums)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld sums", (long long)n);
	channels = conv ? c->in[1]->dims[0] : columns_of(c->in[1]);
	if (conv && n)
		inner = n / c->out[0]->dims[0] / channels;
	ret = !n ? CNN_OK :
	      conv ? cnn_conv_sums(c, 1, cnn_zero_point(cnn_in(c, 2), 0), cnn_in(c, 3), sums) :
		     cnn_matmul_sums(c, sums);
	if (!ret && n)
		requantize(c, sums, channels, inner);
	free(sums);
	return ret;
}

int cnn_compute_shift_conv(struct cnn_call *c)
{
	return compute(c, true);
}

int cnn_compute_shift_matmul(struct cnn_call *c)
{
	return compute(c, false);
}
