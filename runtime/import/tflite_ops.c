// SPDX-License-Identifier: MIT
/*
 * The operators of TensorFlow Lite as nodes. Quantised ones compute what XNNPACK computes, and
 * what TensorFlow Lite's own kernels compute where those are used (AVERAGE_POOL_2D, SOFTMAX, the
 * RELU family, QUANTIZE between int8 and uint8).
 */
#include <math.h>

#include "tflite.h"

/* BuiltinOperator */
enum {
	ADD = 0, AVERAGE_POOL_2D = 1, CONCATENATION = 2, CONV_2D = 3, DEPTHWISE_CONV_2D = 4,
	DEQUANTIZE = 6, FULLY_CONNECTED = 9, MAX_POOL_2D = 17, RELU = 19, RELU_N1_TO_1 = 20,
	RELU6 = 21, RESHAPE = 22, SOFTMAX = 25, PAD = 34, MEAN = 40, QUANTIZE = 114,
};

enum { PADDING_SAME, PADDING_VALID };
enum { ACT_NONE, ACT_RELU, ACT_RELU_N1_TO_1, ACT_RELU6 };

static enum cnn_dtype type_of(const struct tfl *m, int tensor)
{
	return m->tensors[tensor].dtype;
}

static bool is_float(const struct tfl *m, const struct tfl_op *op)
{
	return type_of(m, op->in[0]) == CNN_FLOAT32;
}

static int float_constant(struct tfl *m, float v)
{
	return tfl_scalar(m, CNN_FLOAT32, &v);
}

/* The first scale and zero point, once tfl_scale has found them good. */
static float first_scale(const struct tfl *m, int tensor)
{
	return fb_float_at(&m->tensors[tensor].scale, 0);
}

static int first_zero(const struct tfl *m, int tensor)
{
	const struct tfl_tensor *t = &m->tensors[tensor];

	return t->zero.count ? (int)fb_int_at(&t->zero, 0, 8) : 0;
}

static void want_rank(struct tfl *m, const struct tfl_op *op, int tensor, int rank)
{
	const struct tfl_tensor *t = &m->tensors[tensor];

	if (t->rank != rank)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "tensor %.60s has %d dimensions, %d wanted",
			 t->name, t->rank, rank);
}

/* The output has as many dimensions as input 0. */
static void want_like(struct tfl *m, const struct tfl_op *op)
{
	want_rank(m, op, op->out, m->tensors[op->in[0]].rank);
}

static void want_maps(struct tfl *m, const struct tfl_op *op, int other)
{
	want_rank(m, op, op->in[0], 4);
	want_rank(m, op, other, 4);
	want_rank(m, op, op->out, 4);
}

/* Do a tensor and the output, which share their elements, share one scale and zero point too? */
static void want_same(struct tfl *m, const struct tfl_op *op, int a)
{
	if (is_float(m, op))
		return;
	tfl_scale(m, op, a);
	tfl_scale(m, op, op->out);
	if (!m->status && (m->tensors[a].scale.count > 1 || m->tensors[op->out].scale.count > 1 ||
			   first_scale(m, a) != first_scale(m, op->out) ||
			   first_zero(m, a) != first_zero(m, op->out)))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "%.40s and %.40s are quantised differently, or "
			 "by channels", m->tensors[a].name, m->tensors[op->out].name);
}

/* What of float32 an activation lets through; false: it is not one that is known here. */
static bool bounds_of(int64_t act, float *low, float *high)
{
	*low = act == ACT_RELU_N1_TO_1 ? -1 : act == ACT_NONE ? -INFINITY : 0;
	*high = act == ACT_RELU_N1_TO_1 ? 1 : act == ACT_RELU6 ? 6 : INFINITY;
	return act >= ACT_NONE && act <= ACT_RELU6;
}

/* How a bound is quantised: XNNPACK rounds it after the zero point is added, ties to even. */
enum bound_rule { BOUND_XNNPACK, BOUND_TFLITE };

static int quantised_bound(const struct tfl *m, const struct tfl_op *op, float v,
			   enum bound_rule rule)
{
	float low = type_of(m, op->out) == CNN_INT8 ? -128 : 0;
	float zero = (float)first_zero(m, op->out), q = v / first_scale(m, op->out);

	q = rule == BOUND_XNNPACK ? q + zero : roundf(q) + zero;
	q = fminf(fmaxf(q, low), low + 255);
	return (int)nearbyintf(q);
}

static int clip(struct tfl *m, const struct tfl_op *op, int v, int low, int high)
{
	int in[] = { v, low, high };

	return tfl_node(m, op, CNN_OP_CLIP, 3, in);
}

static int quantised_activation(struct tfl *m, const struct tfl_op *op, float low, float high,
				enum bound_rule rule, int v)
{
	enum cnn_dtype type = type_of(m, op->out);
	int least = type == CNN_INT8 ? -128 : 0, q[2];
	int8_t bytes[2];

	tfl_scale(m, op, op->out);
	if (m->status)
		return -1;
	q[0] = quantised_bound(m, op, low, rule);
	q[1] = quantised_bound(m, op, high, rule);
	if (q[0] == least && q[1] == least + 255)
		return v;
	bytes[0] = (int8_t)q[0];
	bytes[1] = (int8_t)q[1];
	return clip(m, op, v, tfl_scalar(m, type, &bytes[0]), tfl_scalar(m, type, &bytes[1]));
}

/* The output is v after the activation. */
static void give(struct tfl *m, const struct tfl_op *op, enum tfl_layout layout, int64_t act,
		 enum bound_rule rule, int v)
{
	float low, high;

	if (!bounds_of(act, &low, &high))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "activation %lld, limit %d (RELU6)",
			 (long long)act, ACT_RELU6);
	else if (act != ACT_NONE && !is_float(m, op))
		v = quantised_activation(m, op, low, high, rule, v);
	else if (act == ACT_RELU)
		v = tfl_node(m, op, CNN_OP_RELU, 1, &v);
	else if (act != ACT_NONE)
		v = clip(m, op, v, float_constant(m, low), float_constant(m, high));
	tfl_give(m, op, layout, v);
}

static void fill_window(struct tfl *m, const struct tfl_op *op, const int64_t *stride,
			const int64_t *dilation, int64_t padding)
{
	struct cnn_window_params *p = &tfl_params(m)->window;

	if (padding != PADDING_SAME && padding != PADDING_VALID)
		tfl_fail(m, op, CNN_EINVAL, "padding %lld", (long long)padding);
	p->auto_pad = padding == PADDING_SAME ? CNN_PAD_SAME_UPPER : CNN_PAD_VALID;
	p->strides = (struct cnn_window_ints){ 2, { stride[0], stride[1] } };
	if (dilation)
		p->dilations = (struct cnn_window_ints){ 2, { dilation[0], dilation[1] } };
}

static bool is_depthwise(const struct tfl_op *op)
{
	return op->kind->code == DEPTHWISE_CONV_2D;
}

/* Of the input's type, with scales of the tensor or of its output channels. */
static void check_weights(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *w = &m->tensors[op->in[1]];
	int axis = is_depthwise(op) ? 3 : 0;

	if (w->dtype != type_of(m, op->in[0]))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "input %s, weights %s",
			 cnn_dtype_name(type_of(m, op->in[0])), cnn_dtype_name(w->dtype));
	if (!is_float(m, op) && w->scale.count > 1 && w->axis != axis)
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
	if (is_float(m, op))
		return tfl_node(m, op, real, bias < 0 ? 2 : 3, (const int[]){ x, w, bias });
	const int in[] = {
		x, tfl_scale(m, op, xt), tfl_zero(m, op, xt),
		w, tfl_scale(m, op, wt), tfl_zero(m, op, wt),
		product ? bias : tfl_scale(m, op, yt),
		product ? tfl_scale(m, op, yt) : tfl_zero(m, op, yt),
		product ? tfl_zero(m, op, yt) : bias,
	};
	return tfl_node(m, op, quantised, product || bias >= 0 ? 9 : 8, in);
}

static int bias_of(struct tfl *m, const struct tfl_op *op)
{
	int bias = op->n_in > 2 ? op->in[2] : -1;

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

	fill_window(m, op, stride, dilation, fb_int(o, 0, 1, 0));
	tfl_params(m)->window.group = group;
	give(m, op, TFL_NCHW, fb_int(o, is_depthwise(op) ? 4 : 3, 1, 0), BOUND_XNNPACK, v);
}

/* Weights OHWI: as a map of NHWC they become OIHW. */
static void make_conv(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]], *w = &m->tensors[op->in[1]];

	want_maps(m, op, op->in[1]);
	if (!m->status && (w->dims[3] < 1 || x->dims[3] % w->dims[3]))
		tfl_fail(m, op, CNN_EINVAL, "%lld input channels, weights for %lld",
			 (long long)x->dims[3], (long long)w->dims[3]);
	if (!m->status)
		convolve(m, op, tfl_value(m, op, op->in[1], TFL_NCHW), x->dims[3] / w->dims[3]);
}

/* Weights 1HWO become O1HW. */
static void make_depthwise_conv(struct tfl *m, const struct tfl_op *op)
{
	static const int64_t perm[] = { 3, 0, 1, 2 };
	int w;

	want_maps(m, op, op->in[1]);
	w = m->status ? -1 : tfl_value(m, op, op->in[1], TFL_FILE);
	w = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &w);
	tfl_permute(m, perm);
	if (!m->status)
		convolve(m, op, w, m->tensors[op->in[0]].dims[3]);
}

/* v with these dimensions. */
static int reshape(struct tfl *m, const struct tfl_op *op, int v, const int64_t *dims, int rank)
{
	int in[] = { v, tfl_list(m, dims, rank) };

	return tfl_node(m, op, CNN_OP_RESHAPE, 2, in);
}

static int as_declared(struct tfl *m, const struct tfl_op *op, int v)
{
	const struct tfl_tensor *y = &m->tensors[op->out];

	v = reshape(m, op, v, y->dims, y->rank);
	tfl_params(m)->reshape.allowzero = true;
	return v;
}

/* Options: activation, format of the weights, keep_num_dims, which the output's shape tells. */
static void make_fully_connected(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]], *w = &m->tensors[op->in[1]];
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	if (w->rank != 2 || fb_int(&op->options, 1, 1, 0)) {
		tfl_fail(m, op, CNN_EUNSUPPORTED, "weights of %d dimensions in format %lld",
			 w->rank, (long long)fb_int(&op->options, 1, 1, 0));
		return;
	}
	if (x->rank != 2 || x->dims[1] != w->dims[1])
		v = reshape(m, op, v, (const int64_t[]){ -1, w->dims[1] }, 2);
	v = weighted(m, op, CNN_OP_GEMM, CNN_OP_QGEMM, v, tfl_value(m, op, op->in[1], TFL_FILE),
		     bias_of(m, op));
	tfl_params(m)->gemm.trans_b = true;
	if (m->tensors[op->out].rank != 2)
		v = as_declared(m, op, v);
	give(m, op, TFL_FILE, fb_int(&op->options, 0, 1, 0), BOUND_XNNPACK, v);
}

static void make_pool(struct tfl *m, const struct tfl_op *op)
{
	bool max = op->kind->code == MAX_POOL_2D;
	const struct fb_table *o = &op->options;
	int64_t stride[] = { fb_int(o, 2, 4, 0), fb_int(o, 1, 4, 0) };
	const struct cnn_window_ints kernel = { 2, { fb_int(o, 4, 4, 0), fb_int(o, 3, 4, 0) } };
	int v;

	want_maps(m, op, op->in[0]);
	want_same(m, op, op->in[0]);
	v = tfl_value(m, op, op->in[0], TFL_NCHW);
	v = tfl_node(m, op, max ? CNN_OP_MAX_POOL : CNN_OP_AVERAGE_POOL, 1, &v);
	tfl_params(m)->window.kernel_shape = kernel;
	fill_window(m, op, stride, NULL, fb_int(o, 0, 1, 0));
	give(m, op, TFL_NCHW, fb_int(o, 5, 1, 0), max ? BOUND_XNNPACK : BOUND_TFLITE, v);
}

/* The integers of a constant tensor of int32 or int64: at most max of them, how many is in *n. */
static const struct tfl_tensor *integers(struct tfl *m, const struct tfl_op *op, int tensor,
					 int64_t *v, size_t max, size_t *n)
{
	const struct tfl_tensor *t = &m->tensors[tensor];
	size_t size = cnn_dtype_size(t->dtype);

	*n = size ? t->data.count / size : 0;
	if ((t->dtype != CNN_INT32 && t->dtype != CNN_INT64) || *n > max || !*n) {
		tfl_fail(m, op, CNN_EUNSUPPORTED, "tensor %.60s is not a list of at most %zu "
			 "constant integers", t->name, max);
		*n = 0;
	}
	for (size_t i = 0; i < *n; i++)
		v[i] = fb_int_at(&t->data, i, (int)size);
	return t;
}

/* The axis of NCHW that an axis of NHWC is. */
static int64_t nchw_axis(int64_t axis)
{
	return axis == 3 ? 1 : axis ? axis + 1 : 0;
}

static void make_pad(struct tfl *m, const struct tfl_op *op)
{
	int64_t pads[2 * CNN_MAX_RANK], onnx[2 * CNN_MAX_RANK] = { 0 };
	int rank = m->tensors[op->in[0]].rank, in[3];
	size_t n;

	want_like(m, op);
	want_same(m, op, op->in[0]);
	integers(m, op, op->in[1], pads, 2 * CNN_MAX_RANK, &n);
	if (!m->status && n != 2 * (size_t)rank)
		tfl_fail(m, op, CNN_EINVAL, "%zu paddings, %d dimensions", n, rank);
	for (int i = 0; i < rank && !m->status; i++) {
		int axis = rank == 4 ? (int)nchw_axis(i) : i;

		onnx[axis] = pads[2 * i];
		onnx[axis + rank] = pads[2 * i + 1];
		if (pads[2 * i] < 0 || pads[2 * i + 1] < 0)
			tfl_fail(m, op, CNN_EINVAL, "padding %lld and %lld of axis %d",
				 (long long)pads[2 * i], (long long)pads[2 * i + 1], i);
	}
	in[0] = tfl_value(m, op, op->in[0], TFL_NCHW);
	in[1] = tfl_list(m, onnx, 2 * rank);
	in[2] = is_float(m, op) ? -1 : tfl_zero(m, op, op->in[0]);
	tfl_give(m, op, TFL_NCHW, tfl_node(m, op, CNN_OP_PAD, in[2] < 0 ? 2 : 3, in));
}

/* Height and width of maps only: a global average, of quantised ones from their sums. */
static void make_mean(struct tfl *m, const struct tfl_op *op)
{
	int64_t axes[CNN_MAX_RANK];
	unsigned int set = 0;
	int in[5];
	size_t n;

	integers(m, op, op->in[1], axes, CNN_MAX_RANK, &n);
	for (size_t i = 0; i < n; i++)
		set |= axes[i] >= -4 && axes[i] < 4 ? 1u << (axes[i] & 3) : 1u << 4;
	if (m->tensors[op->in[0]].rank != 4 || set != 6)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "axes other than height and width of a map");
	in[0] = tfl_value(m, op, op->in[0], TFL_NCHW);
	if (is_float(m, op)) {
		in[0] = tfl_node(m, op, CNN_OP_GLOBAL_AVERAGE_POOL, 1, in);
	} else {
		in[1] = tfl_scale(m, op, op->in[0]);
		in[2] = tfl_zero(m, op, op->in[0]);
		in[3] = tfl_scale(m, op, op->out);
		in[4] = tfl_zero(m, op, op->out);
		in[0] = tfl_node(m, op, CNN_OP_QLINEAR_GLOBAL_AVERAGE_POOL, 5, in);
	}
	if (m->tensors[op->out].rank != 4)
		in[0] = as_declared(m, op, in[0]);
	tfl_give(m, op, TFL_NCHW, in[0]);
}

static void make_add(struct tfl *m, const struct tfl_op *op)
{
	int a = op->in[0], b = op->in[1], v;
	bool maps = m->tensors[a].rank == 4 && m->tensors[b].rank == 4;
	enum tfl_layout layout = maps ? TFL_NCHW : TFL_FILE;
	int x = tfl_value(m, op, a, layout), y = tfl_value(m, op, b, layout);

	want_rank(m, op, op->out, m->tensors[m->tensors[a].rank < m->tensors[b].rank ? b : a].rank);
	if (is_float(m, op)) {
		v = tfl_node(m, op, CNN_OP_ADD, 2, (const int[]){ x, y });
	} else {
		const int in[] = {
			x, tfl_scale(m, op, a), tfl_zero(m, op, a),
			y, tfl_scale(m, op, b), tfl_zero(m, op, b),
			tfl_scale(m, op, op->out), tfl_zero(m, op, op->out),
		};

		v = tfl_node(m, op, CNN_OP_QLINEAR_ADD, 8, in);
	}
	give(m, op, layout, fb_int(&op->options, 0, 1, 0), BOUND_XNNPACK, v);
}

static void make_concat(struct tfl *m, const struct tfl_op *op)
{
	int64_t axis = fb_int(&op->options, 0, 4, 0);
	int rank = m->tensors[op->in[0]].rank, in[CNN_MAX_INPUTS];

	want_like(m, op);
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis >= rank)
		tfl_fail(m, op, CNN_EINVAL, "axis %lld of %d", (long long)axis, rank);
	for (int i = 0; i < op->n_in && !m->status; i++) {
		if (op->in[i] < 0 || m->tensors[op->in[i]].rank != rank) {
			tfl_fail(m, op, CNN_EINVAL, "input %d does not fit the others", i);
			return;
		}
		want_same(m, op, op->in[i]);
		in[i] = tfl_value(m, op, op->in[i], TFL_NCHW);
	}
	if (m->status)
		return;
	in[0] = tfl_node(m, op, CNN_OP_CONCAT, op->n_in, in);
	tfl_params(m)->axis.axis = rank == 4 ? nchw_axis(axis) : axis;
	give(m, op, TFL_NCHW, fb_int(&op->options, 1, 1, 0), BOUND_XNNPACK, in[0]);
}

/* The new shape is that of the output, which input 1 and the options only repeat. */
static void make_reshape(struct tfl *m, const struct tfl_op *op)
{
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	tfl_give(m, op, TFL_FILE, as_declared(m, op, v));
}

/* exp(beta * x): a factor of floats, or of the scale. */
static void make_softmax(struct tfl *m, const struct tfl_op *op)
{
	float beta = fb_float(&op->options, 0, 0);
	int v = tfl_value(m, op, op->in[0], TFL_FILE), in[4];

	want_like(m, op);
	if (is_float(m, op)) {
		if (beta != 1)
			v = tfl_node(m, op, CNN_OP_MUL, 2,
				     (const int[]){ v, float_constant(m, beta) });
		v = tfl_node(m, op, CNN_OP_SOFTMAX, 1, &v);
		tfl_params(m)->axis.axis = -1;
		tfl_give(m, op, TFL_FILE, v);
		return;
	}
	in[0] = v;
	in[1] = tfl_scale(m, op, op->in[0]);
	in[2] = tfl_scale(m, op, op->out);
	in[3] = tfl_zero(m, op, op->out);
	if (beta != 1 && !m->status)
		in[1] = float_constant(m, beta * first_scale(m, op->in[0]));
	tfl_give(m, op, TFL_FILE, tfl_node(m, op, CNN_OP_QLINEAR_SOFTMAX, 4, in));
}

/* From one quantisation to another: the factor of the elements has that many bits. */
static int requantise(struct tfl *m, const struct tfl_op *op, int x, int bits)
{
	const int in[] = {
		x, tfl_scale(m, op, op->in[0]), tfl_zero(m, op, op->in[0]),
		tfl_scale(m, op, op->out), tfl_zero(m, op, op->out),
	};
	int v = tfl_node(m, op, CNN_OP_REQUANTIZE, 5, in);

	tfl_params(m)->requantize.multiplier_bits = bits;
	return v;
}

/* The layout in which a tensor is there already. */
static enum tfl_layout layout_of(const struct tfl *m, int tensor)
{
	return m->tensors[tensor].value[TFL_NCHW] >= 0 ? TFL_NCHW : TFL_FILE;
}

static void make_relu(struct tfl *m, const struct tfl_op *op)
{
	int64_t act = op->kind->code - RELU + ACT_RELU;	/* in the same order */
	enum tfl_layout layout = layout_of(m, op->in[0]);
	int v = tfl_value(m, op, op->in[0], layout);

	want_like(m, op);
	if (!is_float(m, op))
		v = requantise(m, op, v, 31);
	give(m, op, layout, act, BOUND_TFLITE, v);
}

/* XNNPACK multiplies by the rounded reciprocal of the scale, where ONNX divides. */
static int quantise(struct tfl *m, const struct tfl_op *op, int x)
{
	int in[3] = { x }, zero = tfl_zero(m, op, op->out);

	if (m->status)
		return -1;
	in[1] = float_constant(m, 1 / first_scale(m, op->out));
	in[0] = tfl_node(m, op, CNN_OP_MUL, 2, in);
	in[1] = float_constant(m, 1);
	in[2] = zero;
	return tfl_node(m, op, CNN_OP_QUANTIZE_LINEAR, 3, in);
}

static void make_quantize(struct tfl *m, const struct tfl_op *op)
{
	enum tfl_layout layout = layout_of(m, op->in[0]);
	int x = op->in[0], v = tfl_value(m, op, x, layout);
	float ratio;

	want_like(m, op);
	if (is_float(m, op)) {
		tfl_give(m, op, layout, quantise(m, op, v));
		return;
	}
	tfl_scale(m, op, x);
	tfl_scale(m, op, op->out);
	if (m->status)
		return;
	ratio = first_scale(m, x) / first_scale(m, op->out);
	v = requantise(m, op, v, type_of(m, x) == type_of(m, op->out) && ratio >= 0x1p-8f &&
			       ratio <= 0x1p7f ? 8 : 31);
	tfl_give(m, op, layout, v);
}

static void make_dequantize(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]];
	enum tfl_layout layout = x->scale.count > 1 ? TFL_FILE : layout_of(m, op->in[0]);
	int in[3] = { tfl_value(m, op, op->in[0], layout) };

	want_like(m, op);
	if (type_of(m, op->out) != CNN_FLOAT32)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "its output is %s, float32 wanted",
			 cnn_dtype_name(type_of(m, op->out)));
	if (x->dtype == CNN_FLOAT16) {
		in[0] = tfl_node(m, op, CNN_OP_CAST, 1, in);
		tfl_params(m)->cast.to = CNN_FLOAT32;
	} else {
		in[1] = tfl_scale(m, op, op->in[0]);
		in[2] = tfl_zero(m, op, op->in[0]);
		in[0] = tfl_node(m, op, CNN_OP_DEQUANTIZE_LINEAR, 3, in);
		tfl_params(m)->axis.axis = x->axis;
	}
	tfl_give(m, op, layout, in[0]);
}

const struct tfl_kind *tfl_find_kind(int64_t code)
{
	static const struct tfl_kind kinds[] = {
		{ ADD, 11, 2, 2, make_add, false },
		{ AVERAGE_POOL_2D, 5, 1, 1, make_pool, false },
		{ CONCATENATION, 10, 1, CNN_MAX_INPUTS, make_concat, false },
		{ CONV_2D, 1, 2, 3, make_conv, false },
		{ DEPTHWISE_CONV_2D, 2, 2, 3, make_depthwise_conv, false },
		{ DEQUANTIZE, 0, 1, 1, make_dequantize, true },
		{ FULLY_CONNECTED, 8, 2, 3, make_fully_connected, false },
		{ MAX_POOL_2D, 5, 1, 1, make_pool, false },
		{ RELU, 0, 1, 1, make_relu, false },
		{ RELU_N1_TO_1, 0, 1, 1, make_relu, false },
		{ RELU6, 0, 1, 1, make_relu, false },
		{ RESHAPE, 0, 1, 2, make_reshape, false },
		{ SOFTMAX, 9, 1, 1, make_softmax, false },
		{ PAD, 0, 2, 2, make_pad, false },
		{ MEAN, 27, 2, 2, make_mean, false },
		{ QUANTIZE, 0, 1, 1, make_quantize, true },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].code == code)
			return &kinds[i];
	return NULL;
}
