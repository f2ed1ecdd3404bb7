// SPDX-License-Identifier: MIT
/*
 * ConvInteger and MatMulInteger with what cores do besides. shift_out requantises the sums:
 * min(max(sum, 0) >> shift_out, 255), where input 4 is what each channel adds to its sums before.
 * pad_value is what pads x, in its type.
 */
#include <stdlib.h>

#include "quant.h"

static int infer_shift_out(struct cnn_call *c, int64_t channels)
{
	int64_t shift = c->node->params.product.shift_out;
	const struct cnn_tensor *start = cnn_in(c, 4);

	c->out[0]->dtype = shift < 0 ? CNN_INT32 : CNN_UINT8;
	if (!start || (shift >= 0 && start->dtype == CNN_INT32 && start->rank == 1 &&
		       start->dims[0] == channels))
		return CNN_OK;
	return cnn_op_fail(c, CNN_EINVAL, "input 4 is not one int32 for each of %lld channels, "
			   "with attribute shift_out", (long long)channels);
}

/* Where the sums are made; NULL after a message if there is no memory. */
static int32_t *begin_sums(const struct cnn_call *c)
{
	int64_t n = cnn_tensor_count(c->out[0]);
	int32_t *sums = c->out[0]->data;

	if (c->out[0]->dtype != CNN_INT32)
		sums = malloc((size_t)n * sizeof(*sums));
	if (!sums)
		cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld sums", (long long)n);
	return sums;
}

static int end_sums(const struct cnn_call *c, int32_t *sums, int64_t channels, int64_t inner,
		    int ret)
{
	const struct cnn_tensor *y = c->out[0], *start = cnn_in(c, 4);
	int shift = (int)c->node->params.product.shift_out;
	int64_t n = cnn_tensor_count(y);

	if (y->dtype == CNN_INT32)
		return ret;
	for (int64_t i = 0; i < n && !ret; i++) {
		uint32_t from = start ? ((const uint32_t *)start->data)[i / inner % channels] : 0;
		int32_t v = (int32_t)((uint32_t)sums[i] + from);

		v = v > 0 ? v >> shift : 0;
		((uint8_t *)y->data)[i] = (uint8_t)(v < UINT8_MAX ? v : UINT8_MAX);
	}
	free(sums);
	return ret;
}

/* What pads x has the type of x, which has no zero point then. */
static int check_padding(const struct cnn_call *c)
{
	int64_t pad = c->node->params.product.pad_value;
	bool is_signed = c->in[0]->dtype == CNN_INT8;

	if (!pad || (pad >= (is_signed ? INT8_MIN : 0) &&
		     pad <= (is_signed ? INT8_MAX : UINT8_MAX) &&
		     !cnn_in(c, 2) && !cnn_in(c, 3) && c->in[1]->dtype == CNN_INT8))
		return CNN_OK;
	return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute pad_value %lld: with zero points, of "
			   "another type, or weights not int8", (long long)pad);
}

int cnn_infer_conv_sums(struct cnn_call *c)
{
	return cnn_infer_conv_integer(c) ?: infer_shift_out(c, c->out[0]->dims[1]) ?:
	       check_padding(c);
}

int cnn_infer_matmul_sums(struct cnn_call *c)
{
	const struct cnn_tensor *w = c->in[1];
	int ret = cnn_infer_matmul_integer(c);

	return ret ? ret : infer_shift_out(c, w->rank > 1 ? w->dims[w->rank - 1] : 1);
}

/* What sums of products with x - pad lack: pad times the sum of each channel's weights. */
static void add_padding(const struct cnn_call *c, int32_t pad, int32_t *acc)
{
	const struct cnn_tensor *w = c->in[1], *y = c->out[0];
	int64_t channels = y->dims[1], taps = cnn_tensor_count(w) / channels, plane;

	plane = cnn_tensor_count(y) / y->dims[0] / channels;
	for (int64_t i = 0; i < y->dims[0] * channels; i++, acc += plane) {
		const int8_t *from = (const int8_t *)w->data + i % channels * taps;
		uint32_t sum = 0;

		for (int64_t t = 0; t < taps; t++)
			sum += (uint32_t)from[t];
		for (int64_t j = 0; j < plane; j++)
			acc[j] = (int32_t)((uint32_t)acc[j] + (uint32_t)pad * sum);
	}
}

int cnn_compute_conv_sums(struct cnn_call *c)
{
	int32_t pad = (int32_t)c->node->params.product.pad_value;
	int64_t n = cnn_tensor_count(c->out[0]), channels = c->out[0]->dims[1];
	int32_t *acc;
	int ret;

	if (!n)
		return CNN_OK;
	acc = begin_sums(c);
	if (!acc)
		return CNN_ENOMEM;
	ret = cnn_conv_sums(c, 1, pad ? pad : cnn_zero_point(cnn_in(c, 2), 0), cnn_in(c, 3), acc);
	if (!ret && pad)
		add_padding(c, pad, acc);
	return end_sums(c, acc, channels, n / c->out[0]->dims[0] / channels, ret);
}

int cnn_compute_matmul_sums(struct cnn_call *c)
{
	const struct cnn_tensor *w = c->in[1];
	int64_t n = cnn_tensor_count(c->out[0]);
	int32_t *acc;

	if (!n)
		return CNN_OK;
	acc = begin_sums(c);
	if (!acc)
		return CNN_ENOMEM;
	return end_sums(c, acc, w->rank > 1 ? w->dims[w->rank - 1] : 1, 1, cnn_matmul_sums(c, acc));
}
