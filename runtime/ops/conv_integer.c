// SPDX-License-Identifier: MIT
/* ConvInteger and QLinearConv. */
#include <stdlib.h>

#include "geom.h"
#include "quant.h"

int cnn_infer_conv_integer(struct cnn_call *c)
{
	struct cnn_window w;
	int ret = cnn_quant_bytes(c, 0) ?: cnn_quant_bytes(c, 1) ?:
		  cnn_infer_window(c, c->in[1], &w) ?: cnn_quant_param(c, 2, c->in[0]->dtype, 1) ?:
		  cnn_quant_param(c, 3, c->in[1]->dtype, w.out_ch);

	c->out[0]->dtype = CNN_INT32;
	return ret;
}

int cnn_infer_qlinear_conv(struct cnn_call *c)
{
	struct cnn_window w;

	return cnn_quant_wide_operand(c, 0, 1) ?: cnn_infer_window(c, c->in[3], &w) ?:
	       cnn_quant_wide_operand(c, 3, w.out_ch) ?: cnn_quant_wide_result(c, 6) ?:
	       cnn_infer_product(c, cnn_in(c, 8), w.out_ch);
}

int cnn_conv_sums(const struct cnn_call *c, int weights, int32_t x_zero,
		  const struct cnn_tensor *w_zero, int32_t *acc)
{
	const struct cnn_tensor *x = c->in[0], *w = c->in[weights];
	int64_t nx = cnn_tensor_count(x), nw = cnn_tensor_count(w), taps;
	struct cnn_window win;
	float *fx, *fw;
	int ret = cnn_window_resolve(c->node, x, w, &win, c->err);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	taps = nw / win.out_ch;
	fx = malloc(nx * sizeof(*fx));
	fw = malloc(nw * sizeof(*fw));
	if (fx && fw) {
		cnn_whole(x->dtype, x->data, x_zero, fx, nx);
		for (int64_t i = 0; i < win.out_ch; i++)
			cnn_whole(w->dtype, (const char *)w->data + i * taps,
				  cnn_zero_point(w_zero, i), fw + i * taps, taps);
		ret = cnn_conv_whole(c, &win, fx, fw, acc);
	} else {
		ret = cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	}
	free(fx);
	free(fw);
	return ret;
}

int cnn_compute_conv_integer(struct cnn_call *c)
{
	return cnn_conv_sums(c, 1, cnn_zero_point(cnn_in(c, 2), 0), cnn_in(c, 3), c->out[0]->data);
}

/* Adds the bias and requantises, a plane at a time: each has one scale. */
static void finish(const struct cnn_call *c, int32_t *acc)
{
	const struct cnn_tensor *bias = cnn_in(c, 8), *y = c->out[0];
	struct cnn_range range = cnn_range_of(y->dtype, cnn_zero_point(c->in[7], 0));
	int64_t channels = y->dims[1], plane = cnn_span(y, 2, y->rank);
	uint8_t *out = y->data;

	for (int64_t i = 0; i < y->dims[0] * channels; i++, acc += plane, out += plane) {
		uint32_t b = bias ? ((const uint32_t *)bias->data)[i % channels] : 0;
		float scale = cnn_scale(c->in[1], 0) * cnn_scale(c->in[4], i % channels) /
			      cnn_scale(c->in[6], 0);

		for (int64_t j = 0; b && j < plane; j++)
			acc[j] = (int32_t)((uint32_t)acc[j] + b);
		cnn_requantize(&range, &scale, 0, acc, plane, out);
	}
}

int cnn_compute_qlinear_conv(struct cnn_call *c)
{
	int64_t n = cnn_tensor_count(c->out[0]);
	int32_t *acc;
	int ret;

	if (!n)
		return CNN_OK;
	if (cnn_is_wide_product(c))
		return cnn_wide_conv(c);
	acc = malloc(n * sizeof(*acc));
	if (!acc)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld sums", (long long)n);
	ret = cnn_conv_sums(c, 3, cnn_zero_point(c->in[2], 0), c->in[5], acc);
	if (!ret)
		finish(c, acc);
	free(acc);
	return ret;
}
