// SPDX-License-Identifier: MIT
/* Col2Im: adds blocks, each a column of the input, where they overlap in an image. */
#include <string.h>

#include "ops.h"

struct columns {
	int axes;
	int64_t block[CNN_MAX_SPATIAL], image[CNN_MAX_SPATIAL], steps[CNN_MAX_SPATIAL];
	int64_t stride[CNN_MAX_SPATIAL], dilation[CNN_MAX_SPATIAL], pad[CNN_MAX_SPATIAL];
	int64_t taps, places, pixels;	/* of a block, of blocks, of an image */
};

/* An attribute of the window for one axis. */
static int64_t entry(const struct cnn_window_ints *list, int i, int64_t def)
{
	return list->n > i ? list->v[i] : def;
}

static int resolve_axis(struct cnn_call *c, struct columns *l, int i)
{
	const struct cnn_window_params *p = &c->node->params.window;
	int64_t span;

	if (l->block[i] < 1 || l->image[i] < 1 || l->block[i] > CNN_MAX_TENSOR_BYTES ||
	    l->image[i] > CNN_MAX_TENSOR_BYTES)
		return cnn_op_fail(c, CNN_EINVAL, "a block of %lld in an image of %lld",
				   (long long)l->block[i], (long long)l->image[i]);
	l->stride[i] = entry(&p->strides, i, 1);
	l->dilation[i] = entry(&p->dilations, i, 1);
	l->pad[i] = entry(&p->pads, i, 0);
	span = l->image[i] + l->pad[i] + entry(&p->pads, l->axes + i, 0) -
	       l->dilation[i] * (l->block[i] - 1) - 1;
	l->steps[i] = span < 0 ? 0 : span / l->stride[i] + 1;
	l->taps = cnn_mul_sat(l->taps, l->block[i]);
	l->places = cnn_mul_sat(l->places, l->steps[i]);
	l->pixels = cnn_mul_sat(l->pixels, l->image[i]);
	return CNN_OK;
}

static int resolve(struct cnn_call *c, struct columns *l)
{
	const struct cnn_tensor *x = c->in[0];
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	*l = (struct columns){ .taps = 1, .places = 1, .pixels = 1 };
	if (!ret)
		ret = cnn_op_list(c, "image_shape", c->in[1], CNN_MAX_SPATIAL, l->image);
	if (!ret)
		ret = cnn_op_list(c, "block_shape", c->in[2], CNN_MAX_SPATIAL, l->block);
	if (ret)
		return ret;
	l->axes = (int)cnn_tensor_count(c->in[1]);
	if (x->rank != 3 || cnn_tensor_count(c->in[2]) != l->axes)
		return cnn_op_fail(c, CNN_EINVAL, "the input does not have 3 dimensions, or "
				   "image_shape and block_shape differ in length");
	for (int i = 0; i < l->axes && !ret; i++)
		ret = resolve_axis(c, l, i);
	if (!ret && (x->dims[1] % l->taps || x->dims[2] != l->places))
		ret = cnn_op_fail(c, CNN_EINVAL, "%lld rows and %lld columns, blocks have %lld and "
				  "the image %lld of them", (long long)x->dims[1],
				  (long long)x->dims[2], (long long)l->taps, (long long)l->places);
	return ret;
}

int cnn_infer_col2im(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	struct columns l;
	int ret = resolve(c, &l);

	if (ret)
		return ret;
	y->dtype = CNN_FLOAT32;
	y->rank = l.axes + 2;
	y->dims[0] = c->in[0]->dims[0];
	y->dims[1] = c->in[0]->dims[1] / l.taps;
	memcpy(y->dims + 2, l.image, sizeof(l.image[0]) * (size_t)l.axes);
	return CNN_OK;
}

/* The pixel that tap number tap of the block at place number place is; -1: in the padding. */
static int64_t pixel(const struct columns *l, int64_t tap, int64_t place)
{
	int64_t at = 0, pitch = 1;

	for (int i = l->axes - 1; i >= 0; i--) {
		int64_t x = place % l->steps[i] * l->stride[i] +
			    tap % l->block[i] * l->dilation[i] - l->pad[i];

		if (x < 0 || x >= l->image[i])
			return -1;
		at += x * pitch;
		pitch *= l->image[i];
		tap /= l->block[i];
		place /= l->steps[i];
	}
	return at;
}

int cnn_compute_col2im(struct cnn_call *c)
{
	int64_t images, bytes = cnn_tensor_bytes(c->out[0]);
	const float *x = c->in[0]->data;
	float *y = c->out[0]->data;
	struct columns l;
	int ret = resolve(c, &l);

	if (ret || !bytes)
		return ret;
	memset(y, 0, bytes);
	images = c->out[0]->dims[0] * c->out[0]->dims[1];
	for (int64_t i = 0; i < images; i++, y += l.pixels)
		for (int64_t tap = 0; tap < l.taps; tap++)
			for (int64_t place = 0; place < l.places; place++, x++) {
				int64_t at = pixel(&l, tap, place);

				if (at >= 0)
					y[at] += *x;
			}
	return CNN_OK;
}
