// SPDX-License-Identifier: MIT
/* Resize and Upsample: attributes, inputs and shapes. */
#include <math.h>
#include <string.h>

#include "resize.h"

static int read_modes(struct cnn_call *c, struct resize *r)
{
	const struct cnn_resize_params *p = &c->node->params.resize;
	bool upsample = c->node->op == CNN_OP_UPSAMPLE;

	r->mode = p->mode == CNN_RESIZE_BILINEAR ? CNN_RESIZE_LINEAR : p->mode;
	r->coordinates = upsample ? CNN_RESIZE_ASYMMETRIC : p->coordinates;
	r->rounding = upsample ? CNN_RESIZE_FLOOR : p->rounding;
	r->cubic_a = upsample ? -0.75f : p->cubic_coeff_a;
	r->exclude_outside = p->exclude_outside;
	r->antialias = p->antialias;
	r->extrapolation = p->extrapolation_value;
	if (r->mode != CNN_RESIZE_NEAREST || r->coordinates == CNN_RESIZE_TF_CROP_AND_RESIZE)
		return CNN_WANT(c, c->in[0], CNN_FLOAT32);
	return CNN_OK;
}

/* The axes that roi, scales and sizes list. */
static int read_axes(struct cnn_call *c, int rank, int *axes, int *n)
{
	const struct cnn_ints *list = &c->node->params.resize.axes;
	bool all = list->n < 0 || c->node->op == CNN_OP_UPSAMPLE;
	unsigned int seen = 0;

	*n = all ? rank : list->n;
	if (*n > rank)
		return cnn_op_fail(c, CNN_EINVAL, "%d axes, limit %d", *n, rank);
	for (int i = 0; i < *n; i++) {
		int64_t axis = all ? i : list->v[i];
		int ret = cnn_op_axis(c, &axis, rank);

		if (ret)
			return ret;
		if (seen & 1u << axis)
			return cnn_op_fail(c, CNN_EINVAL, "axis %lld is named twice",
					   (long long)axis);
		seen |= 1u << axis;
		axes[i] = axis;
	}
	return CNN_OK;
}

/* Input i if it is there and not empty: count numbers of the type. */
static int read_list(struct cnn_call *c, int i, const char *name, enum cnn_dtype type, int count,
		     const void **data)
{
	const struct cnn_tensor *t = cnn_in(c, i);

	*data = NULL;
	if (!t || !cnn_tensor_count(t))
		return CNN_OK;
	if (t->dtype != type || t->rank != 1 || t->dims[0] != count)
		return cnn_op_fail(c, CNN_EINVAL, "%s is not %d numbers of type %s", name, count,
				   cnn_dtype_name(type));
	if (!t->data)
		return CNN_NEED_DATA;
	*data = t->data;
	return CNN_OK;
}

static int apply_scale(struct cnn_call *c, struct resize *r, int axis, float scale)
{
	double size = floor((double)((float)r->in[axis] * scale));

	if (!(scale > 0) || !(size < 0x1p40))
		return cnn_op_fail(c, CNN_EINVAL,
				   "scale %g of axis %d is not positive or too large", scale, axis);
	r->scale[axis] = scale;
	r->out[axis] = (int64_t)size;
	return CNN_OK;
}

/* Sizes are bounds of one common scale unless the policy is to stretch. */
static int apply_sizes(struct cnn_call *c, struct resize *r, const int *axes, int n,
		       const int64_t *sizes)
{
	enum cnn_resize_policy policy = c->node->params.resize.policy;
	double common = 0;

	for (int i = 0; i < n; i++) {
		double scale = (double)sizes[i] / (double)r->in[axes[i]];

		if (sizes[i] < 0 || sizes[i] > (int64_t)1 << 40 || !r->in[axes[i]])
			return cnn_op_fail(c, CNN_EINVAL, "size %lld from %lld of axis %d",
					   (long long)sizes[i], (long long)r->in[axes[i]], axes[i]);
		if (!i || (policy == CNN_RESIZE_NOT_LARGER ? scale < common : scale > common))
			common = scale;
	}
	for (int i = 0; i < n; i++) {
		double in = (double)r->in[axes[i]];
		bool own = policy == CNN_RESIZE_STRETCH;

		r->out[axes[i]] = own ? sizes[i] : (int64_t)floor(common * in + 0.5);
		r->scale[axes[i]] = (float)(own ? (double)sizes[i] / in : common);
	}
	r->by_size = policy == CNN_RESIZE_STRETCH;
	return CNN_OK;
}

/* Where the scales come from: Upsample-7 and -9, Resize-10, Resize-11 and later. */
static int read_shape(struct cnn_call *c, struct resize *r)
{
	bool first = c->node->op == CNN_OP_UPSAMPLE || c->node->opset < 11;
	int axes[CNN_MAX_RANK], n = 0, ret = read_axes(c, r->rank, axes, &n);
	const struct cnn_floats *given = &c->node->params.resize.scales;
	const void *scales = NULL, *sizes = NULL, *roi = NULL;

	ret = ret ?: read_list(c, first ? 1 : 2, "scales", CNN_FLOAT32, n, &scales);
	if (!ret && !first)
		ret = read_list(c, 3, "sizes", CNN_INT64, n, &sizes);
	if (!ret && r->coordinates == CNN_RESIZE_TF_CROP_AND_RESIZE)
		ret = read_list(c, 1, "roi", CNN_FLOAT32, 2 * n, &roi);
	if (ret)
		return ret;
	if (c->node->op == CNN_OP_UPSAMPLE && given->n == n)
		scales = given->v;
	if (!scales == !sizes || (r->coordinates == CNN_RESIZE_TF_CROP_AND_RESIZE && !roi))
		return cnn_op_fail(c, CNN_EINVAL, "scales, sizes or roi do not fit");
	for (int i = 0; roi && i < 2 * n; i++)
		r->roi[i >= n][axes[i % n]] = ((const float *)roi)[i];
	if (sizes)
		return apply_sizes(c, r, axes, n, sizes);
	for (int i = 0; !ret && i < n; i++)
		ret = apply_scale(c, r, axes[i], ((const float *)scales)[i]);
	return ret;
}

int cnn_resize_resolve(struct cnn_call *c, struct resize *r)
{
	const struct cnn_tensor *x = c->in[0];

	memset(r, 0, sizeof(*r));
	r->rank = x->rank;
	for (int i = 0; i < x->rank; i++) {
		if (x->dims[i] > (int64_t)1 << 40)
			return cnn_op_fail(c, CNN_ELIMIT, "dimension %lld", (long long)x->dims[i]);
		r->in[i] = r->out[i] = x->dims[i];
		r->scale[i] = 1;
		r->roi[1][i] = 1;
	}
	return read_modes(c, r) ?: read_shape(c, r);
}

int cnn_infer_resize(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	struct resize r;
	int ret = cnn_resize_resolve(c, &r);

	if (ret)
		return ret;
	cnn_infer_like(c, c->in[0]);
	if (r.rank)
		memcpy(y->dims, r.out, sizeof(y->dims[0]) * r.rank);
	if (cnn_tensor_count(y) > 0 && !cnn_tensor_count(c->in[0]))
		return cnn_op_fail(c, CNN_EINVAL, "the input is empty");
	return CNN_OK;
}

double cnn_resize_source(const struct resize *r, int axis, int64_t o)
{
	double in = (double)r->in[axis], x = (double)o, scale = r->scale[axis];
	double width = r->by_size ? (double)r->out[axis] : scale * in;
	float first, span;

	switch (r->coordinates) {
	case CNN_RESIZE_ALIGN_CORNERS:
		return width == 1 ? 0 : x * (in - 1) / (width - 1);
	case CNN_RESIZE_TF_CROP_AND_RESIZE:
		first = r->roi[0][axis];
		span = r->roi[1][axis] - first;
		return (double)(first * (float)(in - 1) +
				(width == 1 ? span * (float)(in - 1) / 2 :
				 (float)x * span * (float)(in - 1) / (float)(width - 1)));
	case CNN_RESIZE_ASYMMETRIC:
		return r->by_size ? x * in / width : (double)((float)x / r->scale[axis]);
	case CNN_RESIZE_TF_HALF_PIXEL_FOR_NN:
		return r->by_size ? (x + 0.5) * in / width :
				    (double)(((float)x + 0.5f) / r->scale[axis]);
	case CNN_RESIZE_PYTORCH_HALF_PIXEL:
		if (width == 1)
			return -0.5;
		break;
	default:
		break;
	}
	x = r->by_size ? (x + 0.5) * in / width - 0.5 :
			 (double)(((float)x + 0.5f) / r->scale[axis] - 0.5f);
	if (r->coordinates == CNN_RESIZE_HALF_PIXEL_SYMMETRIC)
		x += in / 2 * (1 - (double)r->out[axis] / width);
	return x;
}
