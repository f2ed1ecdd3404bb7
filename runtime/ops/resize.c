// SPDX-License-Identifier: MIT
/* Resize and Upsample: attributes, inputs and shapes. */
#include <math.h>
#include <string.h>

#include "resize.h"

enum policy { STRETCH, NOT_LARGER, NOT_SMALLER };

static const char *const mode_names[] = { "nearest", "linear", "cubic", NULL };
static const char *const coordinate_names[] = {
	"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
	"tf_crop_and_resize", "tf_half_pixel_for_nn", NULL,
};
static const char *const rounding_names[] = {
	"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL,
};
static const char *const policy_names[] = { "stretch", "not_larger", "not_smaller", NULL };

static int pick(struct cnn_call *c, const char *attr, const char *const *names, int def)
{
	const char *s = cnn_node_str(c->node, attr, names[def]);

	for (int i = 0; names[i]; i++)
		if (!strcmp(s, names[i]))
			return i;
	return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute %s %.30s", attr, s);
}

static int read_modes(struct cnn_call *c, struct resize *r)
{
	bool old = c->node->opset < 11 || c->node->op == CNN_OP_UPSAMPLE;
	const char *mode = cnn_node_str(c->node, "mode", "nearest");
	int coordinates = pick(c, "coordinate_transformation_mode", coordinate_names,
			       old ? ASYMMETRIC : HALF_PIXEL);
	int rounding = pick(c, "nearest_mode", rounding_names, old ? FLOOR : ROUND_PREFER_FLOOR);
	/* Opset 7 to 9 had other words. */
	int m = !strcmp(mode, "bilinear") ? LINEAR : pick(c, "mode", mode_names, NEAREST);

	if (coordinates < 0 || rounding < 0 || m < 0)
		return CNN_EUNSUPPORTED;
	r->mode = m;
	r->coordinates = coordinates;
	r->rounding = rounding;
	r->cubic_a = cnn_node_float(c->node, "cubic_coeff_a", -0.75f);
	r->exclude_outside = cnn_node_int(c->node, "exclude_outside", 0);
	r->extrapolation = cnn_node_float(c->node, "extrapolation_value", 0);
	if (cnn_node_int(c->node, "antialias", 0))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute antialias");
	if (m != NEAREST || coordinates == TF_CROP_AND_RESIZE)
		return CNN_WANT(c, c->in[0], CNN_FLOAT32);
	return CNN_OK;
}

/* The axes that roi, scales and sizes list. */
static int read_axes(struct cnn_call *c, int rank, int *axes, int *n)
{
	const int64_t *list = cnn_node_ints(c->node, "axes", n);
	unsigned int seen = 0;

	if (!list)
		*n = rank;
	if (*n > rank)
		return cnn_op_fail(c, CNN_EINVAL, "%d axes, limit %d", *n, rank);
	for (int i = 0; i < *n; i++) {
		int64_t axis = list ? list[i] : i;
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
		return cnn_op_fail(c, CNN_EINVAL, "scale %g of axis %d is not positive or too large",
				   scale, axis);
	r->scale[axis] = scale;
	r->out[axis] = (int64_t)size;
	return CNN_OK;
}

/* Sizes are bounds of one common scale unless the policy is to stretch. */
static int apply_sizes(struct cnn_call *c, struct resize *r, const int *axes, int n,
		       const int64_t *sizes)
{
	int policy = pick(c, "keep_aspect_ratio_policy", policy_names, STRETCH);
	double common = 0;

	if (policy < 0)
		return policy;
	for (int i = 0; i < n; i++) {
		double scale = (double)sizes[i] / (double)r->in[axes[i]];

		if (sizes[i] < 0 || sizes[i] > (int64_t)1 << 40 || !r->in[axes[i]])
			return cnn_op_fail(c, CNN_EINVAL, "size %lld from %lld of axis %d",
					   (long long)sizes[i], (long long)r->in[axes[i]], axes[i]);
		if (!i || (policy == NOT_LARGER ? scale < common : scale > common))
			common = scale;
	}
	for (int i = 0; i < n; i++) {
		double in = (double)r->in[axes[i]];

		r->out[axes[i]] = policy == STRETCH ? sizes[i] : (int64_t)floor(common * in + 0.5);
		r->scale[axes[i]] = (float)((double)r->out[axes[i]] / in);
	}
	r->by_size = policy == STRETCH;
	return CNN_OK;
}

/* Where the scales come from: Upsample-7 and -9, Resize-10, Resize-11 and later. */
static int read_shape(struct cnn_call *c, struct resize *r)
{
	bool first = c->node->op == CNN_OP_UPSAMPLE || c->node->opset < 11;
	int axes[CNN_MAX_RANK], n = 0, ret = read_axes(c, r->rank, axes, &n);
	const struct cnn_attr *attr = cnn_node_attr(c->node, "scales");
	const void *scales = NULL, *sizes = NULL, *roi = NULL;

	if (!ret)
		ret = read_list(c, first ? 1 : 2, "scales", CNN_FLOAT32, n, &scales);
	if (!ret && !first)
		ret = read_list(c, 3, "sizes", CNN_INT64, n, &sizes);
	if (!ret && r->coordinates == TF_CROP_AND_RESIZE)
		ret = read_list(c, 1, "roi", CNN_FLOAT32, 2 * n, &roi);
	if (ret)
		return ret;
	if (attr && attr->type == 'F' && attr->count == n)
		scales = attr->floats;
	if (!scales == !sizes || (r->coordinates == TF_CROP_AND_RESIZE && !roi))
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
	int ret;

	memset(r, 0, sizeof(*r));
	r->rank = x->rank;
	for (int i = 0; i < x->rank; i++) {
		if (x->dims[i] > (int64_t)1 << 40)
			return cnn_op_fail(c, CNN_ELIMIT, "dimension %lld", (long long)x->dims[i]);
		r->in[i] = r->out[i] = x->dims[i];
		r->scale[i] = 1;
		r->roi[1][i] = 1;
	}
	ret = read_modes(c, r);
	return ret ? ret : read_shape(c, r);
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
