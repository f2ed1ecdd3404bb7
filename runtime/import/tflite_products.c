// SPDX-License-Identifier: MIT
/*
 * TensorFlow Lite's convolutions and matrix products as nodes: quantised ones are XNNPACK's, but
 * for what TRANSPOSE_CONV says.
 */
#include "tflite_ops.h"

static bool is_depthwise(const struct tfl_op *op)
{
	return op->kind->code == DEPTHWISE_CONV_2D;
}

/* Floats and weights of int8: "dynamic range". */
static bool is_dynamic(const struct tfl *m, const struct tfl_op *op)
{
	return tfl_is_float(m, op) && tfl_type(m, op->in[1]) == CNN_INT8;
}

/*
 * TensorFlow Lite's own kernels quantise the floats at run time, each image or row for itself:
 * symmetrically if the weights have one scale, but for DEPTHWISE_CONV_2D and where an option asks
 * for more. The products are then those of integers, which floats hold nearly as well.
 */
static void make_dynamic(struct tfl *m, const struct tfl_op *op, int *x, int *w)
{
	bool product = op->kind->code == FULLY_CONNECTED;
	bool one = m->tensors[op->in[1]].scale.count == 1 && !is_depthwise(op);
	bool symmetric = product ? !fb_int(&op->options, 3, 1, 0) : one;
	const int weights[] = { *w, tfl_scale(m, op, op->in[1]), tfl_zero(m, op, op->in[1]) };

	*w = tfl_node(m, op, CNN_OP_DEQUANTIZE_LINEAR, 3, weights);
	tfl_params(m)->axis.axis = 0;
	*x = tfl_node(m, op, CNN_OP_DYNAMIC_LEVELS, 1, x);
	tfl_params(m)->levels.symmetric = symmetric;
}

/* Elements of int16 have weights of int8 and biases of int64: "16x8". */
static bool is_16x8(const struct tfl *m, const struct tfl_op *op)
{
	int bias = tfl_input(op, 2);

	return tfl_type(m, op->in[0]) == CNN_INT16 && tfl_type(m, op->in[1]) == CNN_INT8 &&
	       (bias < 0 || tfl_type(m, bias) == CNN_INT64);
}

/* Of the input's type, with scales of the tensor or of its output channels. */
static void check_weights(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *w = &m->tensors[op->in[1]];
	int axis = is_depthwise(op) ? 3 : 0;

	if (tfl_type(m, op->in[0]) == CNN_INT16 ? !is_16x8(m, op) :
	    w->dtype != tfl_type(m, op->in[0]) && !is_dynamic(m, op))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "input %s, weights %s, bias %s",
			 cnn_dtype_name(tfl_type(m, op->in[0])), cnn_dtype_name(w->dtype),
			 tfl_input(op, 2) < 0 ? "none" : cnn_dtype_name(tfl_type(m, op->in[2])));
	if (w->dtype != CNN_FLOAT32 && w->scale.count > 1 && w->axis != axis)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "weights have scales on axis %d, output channels "
			 "are axis %d", w->axis, axis);
}

/* The node of a convolution or product: x and y as they are, w and bias as values. */
static int weighted(struct tfl *m, const struct tfl_op *op, enum cnn_op real, enum cnn_op quantised,
		    int x, int w, int bias)
{
	int xt = op->in[0], wt = op->in[1], yt = op->out;
	bool product = quantised == CNN_OP_QGEMM;

	check_weights(m, op);
	if (is_dynamic(m, op))
		make_dynamic(m, op, &x, &w);
	if (tfl_is_float(m, op))
		return tfl_node(m, op, real, bias < 0 ? 2 : 3, (const int[]){ x, w, bias });
	const int in[] = {
		x, tfl_scale(m, op, xt), tfl_zero(m, op, xt),
		w, tfl_scale(m, op, wt), tfl_zero(m, op, wt),
		product ? bias : tfl_scale(m, op, yt),
		product ? tfl_scale(m, op, yt) : tfl_zero(m, op, yt),
		product ? tfl_zero(m, op, yt) : bias,
	};
	x = tfl_node(m, op, quantised, product || bias >= 0 ? 9 : 8, in);
	if (is_16x8(m, op))
		tfl_params(m)->product.multiplier_bits = 15;
	return x;
}

static int bias_of(struct tfl *m, const struct tfl_op *op)
{
	int bias = tfl_input(op, 2);

	return bias < 0 ? -1 : tfl_value(m, op, bias, TFL_FILE);
}

static void convolve(struct tfl *m, const struct tfl_op *op, int w, int64_t group)
{
	int dilations = is_depthwise(op) ? 5 : 4;
	const struct fb_table *o = &op->options;
	int64_t stride[] = { fb_int(o, 2, 4, 0), fb_int(o, 1, 4, 0) };
	int64_t dilation[] = { fb_int(o, dilations + 1, 4, 1), fb_int(o, dilations, 4, 1) };
	int x = tfl_value(m, op, op->in[0], TFL_NCHW);
	int v = weighted(m, op, CNN_OP_CONV, CNN_OP_QLINEAR_CONV, x, w, bias_of(m, op));

	tfl_fill_window(m, op, stride, dilation, fb_int(o, 0, 1, 0));
	tfl_params(m)->window.group = group;
	tfl_give_act(m, op, TFL_NCHW, fb_int(o, is_depthwise(op) ? 4 : 3, 1, 0), BOUND_XNNPACK, v);
}

/* Weights OHWI: as a map of NHWC they become OIHW. */
void tfl_make_conv(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]], *w = &m->tensors[op->in[1]];

	tfl_want_maps(m, op, op->in[1]);
	if (!m->status && (w->dims[3] < 1 || x->dims[3] % w->dims[3]))
		tfl_fail(m, op, CNN_EINVAL, "%lld input channels, weights for %lld",
			 (long long)x->dims[3], (long long)w->dims[3]);
	if (!m->status)
		convolve(m, op, tfl_value(m, op, op->in[1], TFL_NCHW), x->dims[3] / w->dims[3]);
}

/* Weights 1HWO become O1HW. */
void tfl_make_depthwise_conv(struct tfl *m, const struct tfl_op *op)
{
	static const int64_t perm[] = { 3, 0, 1, 2 };
	int w;

	tfl_want_maps(m, op, op->in[1]);
	w = m->status ? -1 : tfl_value(m, op, op->in[1], TFL_FILE);
	w = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &w);
	tfl_permute(m, perm);
	if (!m->status)
		convolve(m, op, w, m->tensors[op->in[0]].dims[3]);
}

/* Options: activation, format of the weights, keep_num_dims, which the output's shape tells. */
void tfl_make_fully_connected(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]], *w = &m->tensors[op->in[1]];
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	if (w->rank != 2 || fb_int(&op->options, 1, 1, 0)) {
		tfl_fail(m, op, CNN_EUNSUPPORTED, "weights of %d dimensions in format %lld",
			 w->rank, (long long)fb_int(&op->options, 1, 1, 0));
		return;
	}
	if (x->rank != 2 || x->dims[1] != w->dims[1])
		v = tfl_reshape(m, op, v, (const int64_t[]){ -1, w->dims[1] }, 2);
	v = weighted(m, op, CNN_OP_GEMM, CNN_OP_QGEMM, v, tfl_value(m, op, op->in[1], TFL_FILE),
		     bias_of(m, op));
	tfl_params(m)->gemm.trans_b = true;
	if (m->tensors[op->out].rank != 2)
		v = tfl_as_declared(m, op, v);
	tfl_give_act(m, op, TFL_FILE, fb_int(&op->options, 0, 1, 0), BOUND_XNNPACK, v);
}

/* Of floats. Options: are the last two axes of each operand exchanged? */
void tfl_make_batch_matmul(struct tfl *m, const struct tfl_op *op)
{
	int in[2];

	for (int i = 0; i < 2; i++) {
		struct cnn_ints perm = { m->tensors[op->in[i]].rank, { 0, 1, 2, 3, 4, 5, 6, 7 } };

		in[i] = tfl_value(m, op, op->in[i], TFL_FILE);
		if (!fb_int(&op->options, i, 1, 0))
			continue;
		if (perm.n < 2)
			tfl_fail(m, op, CNN_EINVAL, "operand %d has %d dimensions", i, perm.n);
		if (m->status)
			return;
		perm.v[perm.n - 1] = perm.n - 2;
		perm.v[perm.n - 2] = perm.n - 1;
		in[i] = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &in[i]);
		tfl_params(m)->transpose.perm = perm;
	}
	if (!tfl_is_float(m, op))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "type %s",
			 cnn_dtype_name(tfl_type(m, op->in[0])));
	tfl_give(m, op, TFL_FILE, tfl_node(m, op, CNN_OP_MATMUL, 2, in));
}

/*
 * Which part of the sums of all taps is the output: SAME cuts from both ends, VALID from the last
 * one; where there are none the output is the bias. Does the output fit what the taps reach?
 */
static bool fill_transposed(struct tfl *m, const struct tfl_op *op, const int64_t *size,
			    const int64_t *stride)
{
	struct cnn_window_params *p = &tfl_params(m)->window;
	const int64_t *in = m->tensors[op->in[2]].dims, *k = m->tensors[op->in[1]].dims;
	bool same = fb_int(&op->options, 0, 1, 0) == 0, fits = true;

	tfl_fill_window(m, op, stride, NULL, fb_int(&op->options, 0, 1, 0));
	p->auto_pad = CNN_PAD_NOTSET;
	p->pads.n = 4;
	p->output_padding.n = 2;
	for (int i = 0; i < 2; i++) {
		int64_t full, cut;

		if (__builtin_mul_overflow(in[1 + i] - 1, stride[i], &full))
			full = INT32_MAX;
		full += k[1 + i];
		cut = full > size[1 + i] ? full - size[1 + i] : 0;
		p->pads.v[i] = same ? cut / 2 : 0;
		p->pads.v[2 + i] = cut - p->pads.v[i];
		p->output_padding.v[i] = size[1 + i] > full ? size[1 + i] - full : 0;
		fits = fits && size[1 + i] <= full;
	}
	return fits;
}

/* XNNPACK's, or TensorFlow Lite's own where XNNPACK refuses: by channels, or beyond the taps. */
static int transposed(struct tfl *m, const struct tfl_op *op, int x, int w, int bias)
{
	int xt = op->in[2], wt = op->in[1], yt = op->out;

	if (tfl_type(m, xt) == CNN_FLOAT32)
		return tfl_node(m, op, CNN_OP_CONV_TRANSPOSE, bias < 0 ? 2 : 3,
				(const int[]){ x, w, bias });
	const int in[] = {
		x, tfl_scale(m, op, xt), tfl_zero(m, op, xt),
		w, tfl_scale(m, op, wt), tfl_zero(m, op, wt),
		tfl_scale(m, op, yt), tfl_zero(m, op, yt), bias,
	};
	return tfl_node(m, op, CNN_OP_QLINEAR_CONV_TRANSPOSE, bias < 0 ? 8 : 9, in);
}

/* Inputs: shape of the output, weights OHWI, which become IOHW, maps, bias. */
void tfl_make_transpose_conv(struct tfl *m, const struct tfl_op *op)
{
	static const int64_t perm[] = { 3, 0, 1, 2 };
	const struct tfl_tensor *w = &m->tensors[op->in[1]];
	int64_t stride[] = { fb_int(&op->options, 2, 4, 0), fb_int(&op->options, 1, 4, 0) };
	int bias = tfl_input(op, 3), v, weights;
	int64_t size[4] = { 0 };
	size_t n;

	tfl_integers(m, op, op->in[0], size, 4, &n);
	for (int i = 1; i < 3; i++)
		tfl_want_rank(m, op, op->in[i], 4);
	tfl_want_rank(m, op, op->out, 4);
	for (int i = 0; i < 2 && !m->status; i++)
		if (n != 4 || size[1 + i] < 1 || size[1 + i] > INT32_MAX || w->dims[1 + i] < 1 ||
		    stride[i] < 1)
			tfl_fail(m, op, CNN_EINVAL, "size %lld of the output, kernel %lld, stride "
				 "%lld, limits 1 and %d", (long long)size[1 + i],
				 (long long)w->dims[1 + i], (long long)stride[i], INT32_MAX);
	if (w->dtype != tfl_type(m, op->in[2]) || w->dtype != tfl_type(m, op->out) ||
	    (w->scale.count > 1 && w->axis))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "weights %s with scales on axis %d, input %s",
			 cnn_dtype_name(w->dtype), w->axis,
			 cnn_dtype_name(tfl_type(m, op->in[2])));
	if (m->status)
		return;
	weights = tfl_value(m, op, op->in[1], TFL_FILE);
	weights = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &weights);
	tfl_permute(m, perm);
	bias = bias < 0 ? -1 : tfl_value(m, op, bias, TFL_FILE);
	v = transposed(m, op, tfl_value(m, op, op->in[2], TFL_NCHW), weights, bias);
	if (!m->status && (!fill_transposed(m, op, size, stride) || w->scale.count > 1) &&
	    w->dtype != CNN_FLOAT32)
		tfl_params(m)->product.multiplier_bits = 31;
	tfl_give_act(m, op, TFL_NCHW, fb_int(&op->options, 3, 1, 0), BOUND_XNNPACK, v);
}
