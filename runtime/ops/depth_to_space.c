// SPDX-License-Identifier: MIT
/* DepthToSpace: channels become the pixels of a block; and SpaceToDepth, its inverse. */
#include <string.h>

#include "ops.h"

int cnn_infer_depth_to_space(struct cnn_call *c)
{
	int64_t block = c->node->params.depth_to_space.blocksize;
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor *y = c->out[0];

	if (x->rank != 4)
		return cnn_op_fail(c, CNN_EINVAL, "%d axes, 4 wanted", x->rank);
	if (block < 1 || block > INT32_MAX || x->dims[1] % (block * block))
		return cnn_op_fail(c, CNN_EINVAL, "blocksize %lld with %lld channels",
				   (long long)block, (long long)x->dims[1]);
	cnn_infer_like(c, x);
	y->dims[1] /= block * block;
	y->dims[2] = cnn_mul_sat(y->dims[2], block);
	y->dims[3] = cnn_mul_sat(y->dims[3], block);
	return CNN_OK;
}

CNN_CLONES
static void weave2(const uint32_t *a, const uint32_t *b, uint32_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		y[2 * i] = a[i];
		y[2 * i + 1] = b[i];
	}
}

/* n elements each of block rows that are step bytes apart, in turn. */
static void weave(const char *x, int64_t step, char *y, int64_t n, int64_t block, size_t size)
{
	if (block == 2 && size == 4) {
		weave2((const uint32_t *)x, (const uint32_t *)(x + step), (uint32_t *)y, n);
		return;
	}
	for (int64_t s = 0; s < block; s++, x += step)
		for (int64_t i = 0; i < n; i++)
			memcpy(y + (i * block + s) * (int64_t)size, x + i * (int64_t)size, size);
}

int cnn_compute_depth_to_space(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	size_t size = cnn_dtype_size(x->dtype);
	int64_t block = c->node->params.depth_to_space.blocksize;
	bool column_row = c->node->params.depth_to_space.mode == CNN_COLUMN_ROW_DEPTH;
	int64_t h = x->dims[2], w = x->dims[3], row = w * (int64_t)size;
	const char *image = x->data;
	char *to = y->data;

	if (!cnn_tensor_count(y))
		return CNN_OK;
	for (int64_t n = 0; n < x->dims[0]; n++, image += x->dims[1] * h * row)
		for (int64_t ch = 0; ch < y->dims[1]; ch++)
			for (int64_t i = 0; i < y->dims[2]; i++, to += block * row) {
				int64_t r = i % block * block;
				int64_t plane =
					column_row ? ch * block * block + r : r * y->dims[1] + ch;
				int64_t step = (column_row ? 1 : y->dims[1]) * h * row;

				weave(image + (plane * h + i / block) * row, step, to, w, block,
				      size);
			}
	return CNN_OK;
}

int cnn_infer_space_to_depth(struct cnn_call *c)
{
	int64_t block = c->node->params.depth_to_space.blocksize;
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor *y = c->out[0];

	if (x->rank != 4)
		return cnn_op_fail(c, CNN_EINVAL, "%d axes, 4 wanted", x->rank);
	if (block < 1 || block > INT32_MAX || x->dims[2] % block || x->dims[3] % block)
		return cnn_op_fail(c, CNN_EINVAL, "blocksize %lld with a map of %lld x %lld",
				   (long long)block, (long long)x->dims[2], (long long)x->dims[3]);
	cnn_infer_like(c, x);
	y->dims[1] = cnn_mul_sat(y->dims[1], block * block);
	y->dims[2] /= block;
	y->dims[3] /= block;
	return CNN_OK;
}

/* A row of n elements that are step bytes apart. */
static void gather_row(const char *x, int64_t step, char *y, int64_t n, size_t size)
{
	for (int64_t i = 0; i < n; i++)
		memcpy(y + i * (int64_t)size, x + i * step, size);
}

int cnn_compute_space_to_depth(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t block = c->node->params.depth_to_space.blocksize, channels = x->dims[1];
	int64_t size = cnn_dtype_size(x->dtype), row = x->dims[3] * size;
	int64_t image = channels * x->dims[2] * row;
	char *to = y->data;

	if (!cnn_tensor_count(y))
		return CNN_OK;
	for (int64_t n = 0; n < y->dims[0]; n++)
		for (int64_t ch = 0; ch < y->dims[1]; ch++) {
			int64_t pixel = ch / channels, plane = ch % channels * x->dims[2];
			const char *from = (const char *)x->data + n * image +
					   (plane + pixel / block) * row + pixel % block * size;

			for (int64_t i = 0; i < y->dims[2]; i++, to += y->dims[3] * size)
				gather_row(from + i * block * row, block * size, to, y->dims[3],
					   (size_t)size);
		}
	return CNN_OK;
}
