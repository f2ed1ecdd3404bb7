// SPDX-License-Identifier: MIT
/* Operators about shapes and constants. */
#include <string.h>

#include "ops.h"

static int copy(struct cnn_call *c, const struct cnn_tensor *from)
{
	int64_t bytes = cnn_tensor_bytes(c->out[0]);

	if (bytes)
		memcpy(c->out[0]->data, from->data, bytes);
	return CNN_OK;
}

int cnn_compute_copy(struct cnn_call *c)
{
	return copy(c, c->in[0]);
}

int cnn_infer_identity(struct cnn_call *c)
{
	return cnn_infer_like(c, c->in[0]);
}

int cnn_infer_dropout(struct cnn_call *c)
{
	const struct cnn_tensor *mode = cnn_in(c, 2);
	struct cnn_tensor *mask = cnn_out(c, 1);

	if (mode && (mode->dtype != CNN_BOOL || cnn_tensor_count(mode) != 1))
		return cnn_op_fail(c, CNN_EINVAL, "training_mode is not one bool");
	if (mode && !mode->data)
		return CNN_NEED_DATA;
	if ((mode && *(uint8_t *)mode->data) ||
	    (c->node->opset < 7 && !c->node->params.norm.is_test))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute training_mode");
	cnn_infer_like(c, c->in[0]);
	if (mask) {
		cnn_set_shape(mask, c->node->opset < 10 ? c->in[0]->dtype : CNN_BOOL, c->in[0]);
		if (mask->dtype != CNN_BOOL && mask->dtype != CNN_FLOAT32)
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s of output mask",
					   cnn_dtype_name(mask->dtype));
	}
	return CNN_OK;
}

int cnn_compute_dropout(struct cnn_call *c)
{
	struct cnn_tensor *mask = cnn_out(c, 1);
	int64_t n = mask ? cnn_tensor_count(mask) : 0;

	for (int64_t i = 0; i < n; i++) {
		if (mask->dtype == CNN_BOOL)
			((uint8_t *)mask->data)[i] = 1;
		else
			((float *)mask->data)[i] = 1;
	}
	return cnn_compute_copy(c);
}

int cnn_infer_reshape(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	const struct cnn_reshape_params *p = &c->node->params.reshape;
	int64_t *shape, known = 1, count = cnn_tensor_count(x);
	struct cnn_tensor *y = c->out[0];
	struct cnn_ints list;
	int free_axis = -1, ret = cnn_op_ints(c, "shape", &p->shape, 1, CNN_MAX_RANK, &list);

	if (ret)
		return ret;
	if (list.n < 0)
		return cnn_op_fail(c, CNN_EINVAL, "there is no shape");
	shape = list.v;
	for (int i = 0; i < list.n; i++) {
		if (!shape[i] && !p->allowzero) {
			if (i >= x->rank)
				return cnn_op_fail(c, CNN_EINVAL, "shape keeps axis %d of %d", i,
						   x->rank);
			shape[i] = x->dims[i];
		} else if (shape[i] == -1 && free_axis < 0) {
			free_axis = i;
			continue;
		}
		if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known))
			return cnn_op_fail(c, CNN_EINVAL, "shape[%d] is %lld", i,
					   (long long)shape[i]);
	}
	if (free_axis >= 0)
		shape[free_axis] = known ? count / known : 0;
	if (free_axis >= 0 ? known && count % known : known != count)
		return cnn_op_fail(c, CNN_EINVAL, "%lld elements do not fit the shape",
				   (long long)count);
	y->dtype = x->dtype;
	y->rank = list.n;
	memcpy(y->dims, shape, sizeof(shape[0]) * list.n);
	return CNN_OK;
}

int cnn_infer_flatten(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis = c->node->params.axis.axis;
	struct cnn_tensor *y = c->out[0];

	if (axis < -x->rank || axis > x->rank)
		return cnn_op_fail(c, CNN_EINVAL, "axis %lld, limits %d to %d", (long long)axis,
				   -x->rank, x->rank);
	axis += axis < 0 ? x->rank : 0;
	y->dtype = x->dtype;
	y->rank = 2;
	y->dims[0] = cnn_span(x, 0, axis);
	y->dims[1] = cnn_span(x, axis, x->rank);
	return CNN_OK;
}

/* The axes of a rank as a set. */
static int axis_set(struct cnn_call *c, struct cnn_ints *axes, int rank, unsigned int *set)
{
	*set = 0;
	for (int j = 0; j < axes->n; j++) {
		int ret = cnn_op_axis(c, &axes->v[j], rank);

		if (ret)
			return ret;
		if (*set & 1u << axes->v[j])
			return cnn_op_fail(c, CNN_EINVAL, "axis %lld is named twice",
					   (long long)axes->v[j]);
		*set |= 1u << axes->v[j];
	}
	return CNN_OK;
}

int cnn_infer_squeeze(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor *y = c->out[0];
	struct cnn_ints axes;
	unsigned int set;
	int ret = cnn_op_ints(c, "axes", &c->node->params.axes, 1, CNN_MAX_RANK, &axes) ?:
		  axis_set(c, &axes, x->rank, &set);

	if (ret)
		return ret;
	y->dtype = x->dtype;
	y->rank = 0;
	for (int i = 0; i < x->rank; i++) {
		if (axes.n >= 0 && (set & 1u << i) && x->dims[i] != 1)
			return cnn_op_fail(c, CNN_EINVAL, "axis %d has %lld elements, not 1", i,
					   (long long)x->dims[i]);
		if (axes.n < 0 ? x->dims[i] != 1 : !(set & 1u << i))
			y->dims[y->rank++] = x->dims[i];
	}
	return CNN_OK;
}

int cnn_infer_unsqueeze(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor *y = c->out[0];
	struct cnn_ints axes;
	unsigned int set;
	int from = 0, ret = cnn_op_ints(c, "axes", &c->node->params.axes, 1, CNN_MAX_RANK, &axes);

	if (ret)
		return ret;
	if (axes.n < 0 || x->rank + axes.n > CNN_MAX_RANK)
		return cnn_op_fail(c, CNN_ELIMIT, "axes is missing or makes over %d dimensions",
				   CNN_MAX_RANK);
	ret = axis_set(c, &axes, x->rank + axes.n, &set);
	if (ret)
		return ret;
	y->dtype = x->dtype;
	y->rank = x->rank + axes.n;
	for (int i = 0; i < y->rank; i++)
		y->dims[i] = set & 1u << i ? 1 : x->dims[from++];
	return CNN_OK;
}

static int64_t shape_bound(const struct cnn_call *c, int64_t v)
{
	int rank = c->in[0]->rank;

	v += v < 0 ? rank : 0;
	return v < 0 ? 0 : v > rank ? rank : v;
}

int cnn_infer_shape(struct cnn_call *c)
{
	const struct cnn_shape_params *p = &c->node->params.shape;
	int64_t n = shape_bound(c, p->end) - shape_bound(c, p->start);

	c->out[0]->dtype = CNN_INT64;
	c->out[0]->rank = 1;
	c->out[0]->dims[0] = n > 0 ? n : 0;
	return CNN_OK;
}

int cnn_compute_shape(struct cnn_call *c)
{
	int64_t start = shape_bound(c, c->node->params.shape.start), *y = c->out[0]->data;

	for (int64_t i = 0; i < c->out[0]->dims[0]; i++)
		y[i] = c->in[0]->dims[start + i];
	return CNN_OK;
}

int cnn_infer_size(struct cnn_call *c)
{
	c->out[0]->dtype = CNN_INT64;
	c->out[0]->rank = 0;
	return CNN_OK;
}

int cnn_compute_size(struct cnn_call *c)
{
	*(int64_t *)c->out[0]->data = cnn_tensor_count(c->in[0]);
	return CNN_OK;
}

int cnn_infer_constant(struct cnn_call *c)
{
	const struct cnn_tensor *value = &c->node->params.constant.value;

	if (value->rank < 0)
		return cnn_op_fail(c, CNN_EINVAL, "not exactly one attribute with the value");
	return cnn_infer_like(c, value);
}

int cnn_compute_constant(struct cnn_call *c)
{
	return copy(c, &c->node->params.constant.value);
}

int cnn_infer_constant_of_shape(struct cnn_call *c)
{
	const struct cnn_tensor *value = &c->node->params.constant.value;
	struct cnn_tensor *y = c->out[0];
	int ret = cnn_op_list(c, "input", c->in[0], CNN_MAX_RANK, y->dims);

	if (ret)
		return ret;
	if (value->rank >= 0 && cnn_tensor_count(value) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "attribute value is not one element");
	y->dtype = value->rank >= 0 ? value->dtype : CNN_FLOAT32;
	y->rank = (int)cnn_tensor_count(c->in[0]);
	if (cnn_tensor_bytes(y) < 0)
		return cnn_op_fail(c, CNN_ELIMIT,
				   "a dimension is negative or the tensor too large");
	return CNN_OK;
}

int cnn_compute_constant_of_shape(struct cnn_call *c)
{
	const struct cnn_tensor *value = &c->node->params.constant.value;
	size_t size = cnn_dtype_size(c->out[0]->dtype);
	int64_t n = cnn_tensor_count(c->out[0]);
	static const int64_t zero;

	for (int64_t i = 0; i < n; i++)
		memcpy((char *)c->out[0]->data + i * size, value->rank < 0 ? &zero : value->data,
		       size);
	return CNN_OK;
}
