// SPDX-License-Identifier: MIT
/*
 * ScaledAdd, which fusing makes: x * s + b, with one s for each channel and each element of b
 * repeated over a rectangle of y, as where a smaller map of a pyramid joins a larger one.
 */
#include "ops.h"

int cnn_infer_scaled_add(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *s = c->in[1], *b = c->in[2];

	for (int i = 0; i < 3; i++) {
		int ret = CNN_WANT(c, c->in[i], CNN_FLOAT32);

		if (ret)
			return ret;
		if (c->in[i]->rank != 4)
			return cnn_op_fail(c, CNN_EINVAL, "input %d has %d axes, 4 wanted", i,
					   c->in[i]->rank);
	}
	for (int i = 0; i < 2; i++)
		if (s->dims[i] != x->dims[i] || b->dims[i] != x->dims[i] || s->dims[i + 2] != 1)
			return cnn_op_fail(c, CNN_EINVAL, "the scale is not one for each channel");
	for (int i = 2; i < 4; i++)
		if (b->dims[i] < 1 || x->dims[i] % b->dims[i])
			return cnn_op_fail(c, CNN_EINVAL, "axis %d: %lld elements from %lld", i,
					   (long long)x->dims[i], (long long)b->dims[i]);
	return cnn_infer_like(c, x);
}

CNN_CLONES
static void scale_add(const float *x, float s, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * s + y[i];
}

static void planes(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	const struct cnn_tensor *x = c->in[0], *b = c->in[2];
	int64_t w = x->dims[3], size = x->dims[2] * w, bw = b->dims[3], rows = x->dims[2] / b->dims[2];
	const float *px = (const float *)x->data + first * size, *s = c->in[1]->data;
	const uint32_t *pb = (const uint32_t *)b->data + first * b->dims[2] * bw;
	float *y = (float *)c->out[0]->data + first * size;

	for (int64_t p = first; p < first + n; p++, px += size, y += size) {
		for (int64_t i = 0; i < x->dims[2]; i++)
			cnn_repeat(pb + i / rows * bw, (uint32_t *)(y + i * w), bw, w / bw);
		pb += b->dims[2] * bw;
		scale_add(px, s[p], y, size);
		cnn_op_finish(c, y, size);
	}
}

int cnn_compute_scaled_add(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t size = x->dims[2] * x->dims[3];

	c->finished = true;
	if (cnn_tensor_count(x))
		cnn_for_blocks(c, x->dims[0] * x->dims[1], 1 + CNN_SHARE / size, planes, c);
	return CNN_OK;
}
