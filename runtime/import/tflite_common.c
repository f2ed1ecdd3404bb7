// SPDX-License-Identifier: MIT
/* What the readers of TensorFlow Lite's operators share: checks, activations, lists of integers. */
#include <math.h>

#include "ops/quant.h"
#include "tflite_ops.h"

void tfl_want_rank(struct tfl *m, const struct tfl_op *op, int tensor, int rank)
{
	const struct tfl_tensor *t = &m->tensors[tensor];

	if (t->rank != rank)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "tensor %.60s has %d dimensions, %d wanted",
			 t->name, t->rank, rank);
}

void tfl_want_like(struct tfl *m, const struct tfl_op *op)
{
	tfl_want_rank(m, op, op->out, m->tensors[op->in[0]].rank);
}

void tfl_want_maps(struct tfl *m, const struct tfl_op *op, int other)
{
	tfl_want_rank(m, op, op->in[0], 4);
	tfl_want_rank(m, op, other, 4);
	tfl_want_rank(m, op, op->out, 4);
}

void tfl_want_plain(struct tfl *m, const struct tfl_op *op)
{
	if (tfl_is_quantised(m, op->in[0]))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "type %s with a scale",
			 cnn_dtype_name(tfl_type(m, op->in[0])));
}

void tfl_want_alike(struct tfl *m, const struct tfl_op *op, int a, int b)
{
	if (!tfl_is_quantised(m, a) && !tfl_is_quantised(m, b))
		return;
	tfl_scale(m, op, a);
	tfl_scale(m, op, b);
	if (!m->status && (m->tensors[a].scale.count > 1 || m->tensors[b].scale.count > 1 ||
			   tfl_first_scale(m, a) != tfl_first_scale(m, b) ||
			   tfl_first_zero(m, a) != tfl_first_zero(m, b)))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "%.40s and %.40s are quantised differently, or "
			 "by channels", m->tensors[a].name, m->tensors[b].name);
}

void tfl_want_same(struct tfl *m, const struct tfl_op *op, int a)
{
	tfl_want_alike(m, op, a, op->out);
}

/* What of float32 an activation lets through; false: it is not one that is known here. */
static bool bounds_of(int64_t act, float *low, float *high)
{
	*low = act == ACT_RELU_N1_TO_1 ? -1 : act == ACT_NONE ? -INFINITY : 0;
	*high = act == ACT_RELU_N1_TO_1 ? 1 : act == ACT_RELU6 ? 6 : INFINITY;
	return act >= ACT_NONE && act <= ACT_RELU6;
}

static int quantised_bound(const struct tfl *m, const struct tfl_op *op, float v,
			   enum tfl_bound rule)
{
	const struct cnn_range range = cnn_range_of(tfl_type(m, op->out), 0);
	float zero = (float)tfl_first_zero(m, op->out), q = v / tfl_first_scale(m, op->out);

	rule = range.type == CNN_INT16 ? BOUND_TFLITE : rule;
	q = rule == BOUND_XNNPACK ? q + zero : roundf(q) + zero;
	q = fminf(fmaxf(q, (float)range.low), (float)range.high);
	return (int)nearbyintf(q);
}

static int clip(struct tfl *m, const struct tfl_op *op, int v, int low, int high)
{
	int in[] = { v, low, high };

	return tfl_node(m, op, CNN_OP_CLIP, 3, in);
}

static int quantised_activation(struct tfl *m, const struct tfl_op *op, float low, float high,
				enum tfl_bound rule, int v)
{
	enum cnn_dtype type = tfl_type(m, op->out);
	const struct cnn_range range = cnn_range_of(type, 0);
	int16_t bounds[2];	/* the low byte comes first */
	int q[2];

	tfl_scale(m, op, op->out);
	if (m->status)
		return -1;
	q[0] = quantised_bound(m, op, low, rule);
	q[1] = quantised_bound(m, op, high, rule);
	if (q[0] == range.low && q[1] == range.high)
		return v;
	bounds[0] = (int16_t)q[0];
	bounds[1] = (int16_t)q[1];
	return clip(m, op, v, tfl_scalar(m, type, &bounds[0]), tfl_scalar(m, type, &bounds[1]));
}

void tfl_give_act(struct tfl *m, const struct tfl_op *op, enum tfl_layout layout, int64_t act,
		 enum tfl_bound rule, int v)
{
	float low, high;

	if (!bounds_of(act, &low, &high))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "activation %lld, limit %d (RELU6)",
			 (long long)act, ACT_RELU6);
	else if (act != ACT_NONE && !tfl_is_float(m, op))
		v = quantised_activation(m, op, low, high, rule, v);
	else if (act == ACT_RELU)
		v = tfl_node(m, op, CNN_OP_RELU, 1, &v);
	else if (act != ACT_NONE)
		v = clip(m, op, v, tfl_float(m, low), tfl_float(m, high));
	tfl_give(m, op, layout, v);
}

int tfl_reshape(struct tfl *m, const struct tfl_op *op, int v, const int64_t *dims, int rank)
{
	int in[] = { v, tfl_list(m, dims, rank) };

	return tfl_node(m, op, CNN_OP_RESHAPE, 2, in);
}

int tfl_as_declared(struct tfl *m, const struct tfl_op *op, int v)
{
	const struct tfl_tensor *y = &m->tensors[op->out];

	v = tfl_reshape(m, op, v, y->dims, y->rank);
	tfl_params(m)->reshape.allowzero = true;
	return v;
}

static int number(struct tfl *m, enum cnn_dtype type, double v)
{
	return type == CNN_FLOAT64 ? tfl_scalar(m, type, &v) : tfl_float(m, (float)v);
}

/* Adds the largest number below a half, so that cutting the sum off never gives one too many. */
int tfl_to_int16(struct tfl *m, const struct tfl_op *op, int v, enum cnn_dtype type)
{
	double half = type == CNN_FLOAT64 ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2;
	int sign = tfl_node(m, op, CNN_OP_SIGN, 1, &v);

	sign = tfl_node(m, op, CNN_OP_MUL, 2, (const int[]){ sign, number(m, type, half) });
	v = tfl_node(m, op, CNN_OP_ADD, 2, (const int[]){ v, sign });
	v = clip(m, op, v, number(m, type, INT16_MIN), number(m, type, INT16_MAX));
	v = tfl_node(m, op, CNN_OP_CAST, 1, &v);
	tfl_params(m)->cast.to = CNN_INT16;
	return v;
}

const struct tfl_tensor *tfl_integers(struct tfl *m, const struct tfl_op *op, int tensor,
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

enum { PADDING_SAME, PADDING_VALID };

void tfl_fill_window(struct tfl *m, const struct tfl_op *op, const int64_t *stride,
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
