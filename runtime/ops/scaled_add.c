// SPDX-License-Identifier: MIT
/*
 * ScaledAdd, which fusing makes: x * s + b, with one s for each channel and each element of b
 * repeated over a rectangle of y, as where a smaller map of a pyramid joins a larger one.
 */
#include <string.h>

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

/* y = x * s + b; is there a NaN among the results? */
CNN_CLONES
static bool scale_add(const float *x, float s, const float *b, float *y, int64_t n)
{
	uint32_t above = 0;

	for (int64_t i = 0; i < n; i++) {
		float v = x[i] * s + b[i];
		uint32_t bits;

		memcpy(&bits, &v, sizeof(bits));
		above |= 0x7f800000 - (bits & 0x7fffffff);
		y[i] = v;
	}
	return above >> 31;
}

/* Elements of a row of y that are computed together, with those of b beside them. */
#define LINE	1024

/* Elements first..first+n-1 of a row of b with each element repeated. */
static void expand(const uint32_t *b, int64_t times, int64_t first, int64_t n, uint32_t *line)
{
	if (first % times == 0 && n % times == 0) {
		cnn_repeat(b + first / times, line, n / times, times);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		line[i] = b[(first + i) / times];
}

/* The rows of y that one row of b belongs to. */
static bool add_row(const float *x, float s, const uint32_t *b, float *y, int64_t rows, int64_t w,
		    int64_t times)
{
	int64_t step = times < LINE ? LINE - LINE % times : LINE;
	union {
		uint32_t bits[LINE];
		float f[LINE];
	} line;
	bool nan = false;

	for (int64_t at = 0; at < w; at += step) {
		int64_t n = w - at < step ? w - at : step;

		expand(b, times, at, n, line.bits);
		for (int64_t i = at; i < rows * w; i += w)
			nan |= scale_add(x + i, s, line.f, y + i, n);
	}
	return nan;
}

static void planes(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	const struct cnn_tensor *x = c->in[0], *b = c->in[2];
	int64_t w = x->dims[3], size = x->dims[2] * w, bh = b->dims[2], bw = b->dims[3];
	const float *px = (const float *)x->data + first * size, *s = c->in[1]->data;
	const uint32_t *pb = (const uint32_t *)b->data + first * bh * bw;
	float *y = (float *)c->out[0]->data + first * size;

	for (int64_t p = first; p < first + n; p++, px += size, y += size) {
		bool nan = false;

		for (int64_t i = 0; i < size; i += size / bh, pb += bw)
			nan |= add_row(px + i, s[p], pb, y + i, x->dims[2] / bh, w, w / bw);
		if (nan || c->node->act.kind != CNN_ACT_NONE)
			cnn_op_finish(c, y, size);
	}
}

int cnn_compute_scaled_add(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t size = x->dims[2] * x->dims[3];

	c->finished = true;
	if (cnn_tensor_count(x))
		cnn_for_blocks(c, x->dims[0] * x->dims[1], 1 + CNN_BLOCK / size, planes, c);
	return CNN_OK;
}
