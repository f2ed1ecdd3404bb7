// SPDX-License-Identifier: MIT
/*
 * QLinearConvTranspose, which the TensorFlow Lite reader makes: inputs as QLinearConv has them,
 * geometry as ConvTranspose. Sums are exact modulo 2^32; multiplier_bits says whether they are
 * requantised in float32 (24: XNNPACK) or with factors of 31 bits (TensorFlow Lite's own kernel).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant.h"

static int resolve(const struct cnn_call *c, struct cnn_window *w)
{
	int ret = cnn_window_resolve(c->node, c->in[0], c->in[3], w, c->err);

	if (!ret && (w->spatial != 2 || w->group != 1 || w->dilation[0] != 1 ||
		     w->dilation[1] != 1))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "%d spatial axes, group %lld or dilations, "
				   "limits 2 and 1", w->spatial, (long long)w->group);
	return ret;
}

int cnn_infer_qlinear_conv_transpose(struct cnn_call *c)
{
	int64_t bits = c->node->params.product.multiplier_bits;
	const struct cnn_tensor *bias = cnn_in(c, 8);
	struct cnn_tensor *y = c->out[0];
	struct cnn_window w;
	int ret = cnn_quant_operand(c, 0, 1);

	if (!ret)
		ret = resolve(c, &w);
	if (!ret)
		ret = cnn_quant_operand(c, 3, w.out_ch);
	if (!ret)
		ret = cnn_quant_result(c, 6);
	if (!ret && bias && (bias->dtype != CNN_INT32 || bias->rank != 1 ||
			     bias->dims[0] != w.out_ch))
		ret = cnn_op_fail(c, CNN_EINVAL, "the bias is not one int32 for each of %lld "
				  "output channels", (long long)w.out_ch);
	if (!ret && bits != 24 && bits != 31)
		ret = cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute multiplier_bits %lld",
				  (long long)bits);
	if (ret)
		return ret;
	y->rank = 4;
	y->dims[0] = w.batch;
	y->dims[1] = w.out_ch;
	y->dims[2] = w.out[0];
	y->dims[3] = w.out[1];
	return CNN_OK;
}

struct transposed {
	const struct cnn_call *c;
	struct cnn_window w;
	const float *x, *weights;	/* whole numbers, zero points subtracted */
	int32_t *acc;
};

/* The outputs o = i * stride + tap - pad that lie in y: first <= i < end. */
static void reached(const struct cnn_window *w, int axis, int64_t tap, int64_t *first, int64_t *end)
{
	int64_t stride = w->stride[axis], shift = w->pad_begin[axis] - tap;
	int64_t beyond = w->out[axis] + shift;

	*first = shift > 0 ? (shift + stride - 1) / stride : 0;
	*end = beyond > 0 ? (beyond + stride - 1) / stride : 0;
	*end = *end < w->in[axis] ? *end : w->in[axis];
}

/* Adds what a plane of x gives through one tap to a plane of sums. */
static void add_tap(const struct cnn_window *w, const float *x, float weight, const int64_t *tap,
		    uint32_t *acc)
{
	int64_t first[2], end[2];

	for (int i = 0; i < 2; i++)
		reached(w, i, tap[i], &first[i], &end[i]);
	for (int64_t i = first[0]; i < end[0]; i++) {
		uint32_t *row = acc + (i * w->stride[0] + tap[0] - w->pad_begin[0]) * w->out[1] +
				tap[1] - w->pad_begin[1];

		for (int64_t j = first[1]; j < end[1]; j++)
			row[j * w->stride[1]] += (uint32_t)(int32_t)(x[i * w->in[1] + j] * weight);
	}
}

static void finish_plane(const struct transposed *t, int64_t channel, const int32_t *acc, int64_t n,
			 uint8_t *y)
{
	const struct cnn_call *c = t->c;
	struct cnn_range r = cnn_range_of(c->out[0]->dtype, cnn_zero_point(c->in[7], 0));
	float x = cnn_scale(c->in[1], 0), w = cnn_scale(c->in[4], channel);
	float scale = x * w / cnn_scale(c->in[6], 0);
	struct cnn_factor f;

	if (c->node->params.product.multiplier_bits == 24) {
		cnn_requantize(&r, &scale, 0, acc, n, y);
		return;
	}
	f = cnn_factor_of((double)x * (double)w / (double)cnn_scale(c->in[6], 0));
	for (int64_t i = 0; i < n; i++) {
		int64_t v = cnn_times_factor(acc[i], f) + r.zero_point;

		y[i] = (uint8_t)(v < r.low ? r.low : v > r.high ? r.high : v);
	}
}

static void some_planes(const void *arg, int64_t first, int64_t n)
{
	const struct transposed *t = arg;
	const struct cnn_window *w = &t->w;
	int64_t in_plane = w->in[0] * w->in[1], out_plane = w->out[0] * w->out[1];
	int64_t taps = w->kernel[0] * w->kernel[1];
	const struct cnn_tensor *bias = cnn_in(t->c, 8);

	for (int64_t p = first; p < first + n; p++) {
		int64_t image = p / w->out_ch, channel = p % w->out_ch;
		int32_t *acc = t->acc + p * out_plane;

		for (int64_t i = 0; i < out_plane; i++)
			acc[i] = bias ? ((const int32_t *)bias->data)[channel] : 0;
		for (int64_t i = 0; i < w->in_ch * taps; i++) {
			const int64_t tap[] = { i % taps / w->kernel[1], i % w->kernel[1] };
			int64_t from = i / taps;

			add_tap(w, t->x + (image * w->in_ch + from) * in_plane,
				t->weights[(from * w->out_ch + channel) * taps + i % taps], tap,
				(uint32_t *)acc);
		}
		finish_plane(t, channel, acc, out_plane,
			     (uint8_t *)t->c->out[0]->data + p * out_plane);
	}
}

/* Do all sums times their factors of 31 bits fit 64? */
static bool factors_fit(const struct cnn_call *c)
{
	for (int64_t i = 0; i < cnn_tensor_count(c->in[4]); i++) {
		double product = (double)cnn_scale(c->in[1], 0) * (double)cnn_scale(c->in[4], i);

		if (!(fabs(product / (double)cnn_scale(c->in[6], 0)) < 1.9))
			return false;
	}
	return true;
}

/* Weights as whole numbers: zero points are one, or one for each output channel. */
static void whole_weights(const struct cnn_call *c, const struct cnn_window *w, float *y)
{
	const struct cnn_tensor *t = c->in[3];
	int64_t taps = w->kernel[0] * w->kernel[1];

	for (int64_t i = 0; i < w->in_ch * w->out_ch; i++)
		cnn_whole(t->dtype, (const char *)t->data + i * taps,
			  cnn_zero_point(c->in[5], i % w->out_ch), y + i * taps, taps);
}

int cnn_compute_qlinear_conv_transpose(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *w = c->in[3], *y = c->out[0];
	int64_t nx = cnn_tensor_count(x), nw = cnn_tensor_count(w), ny = cnn_tensor_count(y);
	struct transposed t = { .c = c };
	float *fx, *fw;
	int ret = resolve(c, &t.w);

	if (ret || !ny)
		return ret;
	if (c->node->params.product.multiplier_bits == 31 && !factors_fit(c))
		return cnn_op_fail(c, CNN_ELIMIT, "the scales of input and weights make 1.9 times "
				   "that of the output or more");
	t.x = fx = malloc(nx * sizeof(*fx));
	t.weights = fw = malloc(nw * sizeof(*fw));
	t.acc = malloc(ny * sizeof(*t.acc));
	if (fx && fw && t.acc) {
		cnn_whole(x->dtype, x->data, cnn_zero_point(c->in[2], 0), fx, nx);
		whole_weights(c, &t.w, fw);
		cnn_for_blocks(c, t.w.batch * t.w.out_ch, 1, some_planes, &t);
	} else {
		ret = cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld sums", (long long)ny);
	}
	free(fx);
	free(fw);
	free(t.acc);
	return ret;
}
