// SPDX-License-Identifier: MIT
/* Operators that only move elements: Concat, Expand, Gather, Pad, Slice, Split, Transpose. */
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* A row of n elements whose sources are stride elements apart. */
static void copy_row(char *dst, const char *src, int64_t n, int64_t stride, size_t size)
{
	if (stride == 1) {
		memcpy(dst, src, n * size);
	} else if (size == 4) {
		for (int64_t i = 0; i < n; i++)
			memcpy(dst + i * 4, src + i * stride * 4, 4);
	} else if (size == 8) {
		for (int64_t i = 0; i < n; i++)
			memcpy(dst + i * 8, src + i * stride * 8, 8);
	} else {
		for (int64_t i = 0; i < n; i++)
			memcpy(dst + i * (int64_t)size, src + i * stride * (int64_t)size, size);
	}
}

/* Fills y in its order from src, walking by strides (elements, any sign) along y's axes. */
static void copy_strided(const struct cnn_tensor *y, const char *src, const int64_t *strides)
{
	int64_t at[CNN_MAX_RANK] = { 0 }, left = cnn_tensor_count(y);
	int64_t size = cnn_dtype_size(y->dtype);
	int inner = y->rank - 1;
	int64_t n = inner < 0 ? 1 : y->dims[inner];
	char *dst = y->data;

	for (; left > 0; left -= n, dst += n * size) {
		copy_row(dst, src, n, inner < 0 ? 1 : strides[inner], size);
		for (int i = inner - 1; i >= 0; i--) {
			src += strides[i] * size;
			if (++at[i] < y->dims[i])
				break;
			at[i] = 0;
			src -= strides[i] * y->dims[i] * size;
		}
	}
}

static int permutation(struct cnn_call *c, int *perm)
{
	const struct cnn_ints *p = &c->node->params.transpose.perm;
	int rank = c->in[0]->rank;
	unsigned int seen = 0;

	for (int i = 0; i < rank && p->n < 0; i++)
		perm[i] = rank - 1 - i;
	if (p->n < 0)
		return CNN_OK;
	for (int i = 0; i < p->n && p->n == rank; i++) {
		if (p->v[i] < 0 || p->v[i] >= rank)
			break;
		perm[i] = p->v[i];
		seen |= 1u << p->v[i];
	}
	if (p->n != rank || seen != (1u << rank) - 1)
		return cnn_op_fail(c, CNN_EINVAL, "perm is not an order of %d axes", rank);
	return CNN_OK;
}

int cnn_infer_transpose(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	int perm[CNN_MAX_RANK], ret = permutation(c, perm);

	if (ret)
		return ret;
	cnn_infer_like(c, c->in[0]);
	for (int i = 0; i < y->rank; i++)
		y->dims[i] = c->in[0]->dims[perm[i]];
	return CNN_OK;
}

int cnn_compute_transpose(struct cnn_call *c)
{
	int64_t strides[CNN_MAX_RANK], by_axis[CNN_MAX_RANK];
	int perm[CNN_MAX_RANK], ret = permutation(c, perm);

	if (ret)
		return ret;
	cnn_strides(c->in[0], strides);
	for (int i = 0; i < c->in[0]->rank; i++)
		by_axis[i] = strides[perm[i]];
	copy_strided(c->out[0], c->in[0]->data, by_axis);
	return CNN_OK;
}

static int concat_axis(struct cnn_call *c, int64_t *axis)
{
	*axis = c->node->params.axis.axis;
	if (*axis == CNN_AXIS_NONE)
		return cnn_op_fail(c, CNN_EINVAL, "attribute axis is missing");
	return cnn_op_axis(c, axis, c->in[0]->rank);
}

int cnn_infer_concat(struct cnn_call *c)
{
	const struct cnn_tensor *first = c->in[0];
	struct cnn_tensor *y = c->out[0];
	int64_t axis, sum = 0;
	int ret = concat_axis(c, &axis);

	if (ret)
		return ret;
	for (int i = 0; i < c->n_in; i++) {
		struct cnn_tensor t;

		if (!c->in[i] || c->in[i]->dtype != first->dtype)
			return cnn_op_fail(c, CNN_EINVAL,
					   "input %d is missing or of another type", i);
		t = *c->in[i];
		if (t.rank == first->rank) {
			if (__builtin_add_overflow(sum, t.dims[axis], &sum))
				return cnn_op_fail(c, CNN_ELIMIT, "the output is too large");
			t.dims[axis] = first->dims[axis];
		}
		if (!cnn_tensor_same_shape(&t, first))
			return cnn_op_fail(c, CNN_EINVAL, "input %d does not fit the others", i);
	}
	cnn_infer_like(c, first);
	y->dims[axis] = sum;
	return CNN_OK;
}

int cnn_compute_concat(struct cnn_call *c)
{
	const struct cnn_tensor *y = c->out[0];
	int64_t axis, outer, pitch, size = cnn_dtype_size(y->dtype);
	char *dst = y->data;
	int ret = concat_axis(c, &axis);

	if (ret || !cnn_tensor_count(y))
		return ret;
	outer = cnn_span(y, 0, axis);
	pitch = cnn_span(y, axis, y->rank) * size;
	for (int i = 0; i < c->n_in; i++) {
		int64_t run = cnn_span(c->in[i], axis, y->rank) * size;

		for (int64_t o = 0; o < outer; o++)
			memcpy(dst + o * pitch, (char *)c->in[i]->data + o * run, run);
		dst += run;
	}
	return CNN_OK;
}

/* Sizes of the parts: given, or as equal as can be (the last may be smaller from opset 18). */
static int split_sizes(struct cnn_call *c, int64_t *axis, int64_t *size)
{
	const struct cnn_split_params *p = &c->node->params.split;
	const struct cnn_tensor *list = cnn_in(c, 1) ? cnn_in(c, 1) :
					p->split.rank >= 0 ? &p->split : NULL;
	int64_t dim, sum = 0, parts = p->num_outputs != -1 ? p->num_outputs : c->n_out;
	int n = list ? (int)cnn_tensor_count(list) : -1, ret = CNN_OK;

	*axis = p->axis;
	if (list)
		ret = cnn_op_list(c, "split", list, CNN_MAX_INPUTS, size);
	ret = ret ?: cnn_op_axis(c, axis, c->in[0]->rank);
	if (ret)
		return ret;
	dim = c->in[0]->dims[*axis];
	if (parts != c->n_out || (n >= 0 && n != c->n_out))
		return cnn_op_fail(c, CNN_EINVAL, "%d outputs, %lld parts", c->n_out,
				   (long long)(n >= 0 ? n : parts));
	if (n < 0 && dim % parts && p->num_outputs == -1)
		return cnn_op_fail(c, CNN_EINVAL, "%lld elements in %lld equal parts",
				   (long long)dim, (long long)parts);
	for (int i = 0; i < c->n_out; i++) {
		int64_t left = dim - sum;

		if (n < 0) {
			size[i] = dim / parts + !!(dim % parts);
			size[i] = size[i] < left ? size[i] : left;
		}
		if (size[i] < 0 || size[i] > left)
			return cnn_op_fail(c, CNN_EINVAL, "split[%d] is %lld, limits 0 to %lld", i,
					   (long long)size[i], (long long)left);
		sum += size[i];
	}
	if (sum != dim)
		return cnn_op_fail(c, CNN_EINVAL, "split adds up to %lld, not %lld",
				   (long long)sum, (long long)dim);
	return CNN_OK;
}

int cnn_infer_split(struct cnn_call *c)
{
	int64_t axis, size[CNN_MAX_INPUTS];
	int ret = split_sizes(c, &axis, size);

	for (int i = 0; !ret && i < c->n_out; i++) {
		if (!c->out[i])
			continue;
		cnn_set_shape(c->out[i], c->in[0]->dtype, c->in[0]);
		c->out[i]->dims[axis] = size[i];
	}
	return ret;
}

int cnn_compute_split(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis, outer, pitch, inner, size[CNN_MAX_INPUTS];
	const char *src = x->data;
	int ret = split_sizes(c, &axis, size);

	if (ret || !cnn_tensor_count(x))
		return ret;
	outer = cnn_span(x, 0, axis);
	inner = cnn_span(x, axis + 1, x->rank) * cnn_dtype_size(x->dtype);
	pitch = x->dims[axis] * inner;
	for (int i = 0; i < c->n_out; i++) {
		int64_t run = size[i] * inner;

		for (int64_t o = 0; c->out[i] && run && o < outer; o++)
			memcpy((char *)c->out[i]->data + o * run, src + o * pitch, run);
		src += run;
	}
	return CNN_OK;
}

int cnn_infer_expand(struct cnn_call *c)
{
	struct cnn_tensor shape = { .rank = -1 };
	int ret = cnn_op_list(c, "shape", c->in[1], CNN_MAX_RANK, shape.dims);

	if (ret)
		return ret;
	shape.rank = (int)cnn_tensor_count(c->in[1]);
	for (int i = 0; i < shape.rank; i++)
		if (shape.dims[i] < 0)
			return cnn_op_fail(c, CNN_EINVAL, "shape[%d] is %lld", i,
					   (long long)shape.dims[i]);
	cnn_infer_like(c, c->in[0]);
	return cnn_broadcast(c, c->out[0], &shape);
}

int cnn_compute_expand(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t from[CNN_MAX_RANK], strides[CNN_MAX_RANK];
	int skip = y->rank - x->rank;

	if (!cnn_tensor_count(y))
		return CNN_OK;
	cnn_strides(x, from);
	for (int i = 0; i < y->rank; i++)
		strides[i] = i < skip || x->dims[i - skip] == 1 ? 0 : from[i - skip];
	copy_strided(y, x->data, strides);
	return CNN_OK;
}

int cnn_infer_gather(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *idx = c->in[1];
	int64_t axis = c->node->params.axis.axis;
	struct cnn_tensor *y = c->out[0];
	int ret = CNN_WANT(c, idx, CNN_INT64, CNN_INT32) ?: cnn_op_axis(c, &axis, x->rank);

	if (ret)
		return ret;
	if (x->rank + idx->rank - 1 > CNN_MAX_RANK)
		return cnn_op_fail(c, CNN_ELIMIT, "%d dimensions, limit %d",
				   x->rank + idx->rank - 1, CNN_MAX_RANK);
	y->dtype = x->dtype;
	y->rank = 0;
	for (int i = 0; i < axis; i++)
		y->dims[y->rank++] = x->dims[i];
	for (int i = 0; i < idx->rank; i++)
		y->dims[y->rank++] = idx->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		y->dims[y->rank++] = x->dims[i];
	return CNN_OK;
}

int cnn_compute_gather(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *idx = c->in[1];
	int64_t axis = c->node->params.axis.axis, n = cnn_tensor_count(idx), outer, run, dim;
	char *dst = c->out[0]->data;
	int ret = cnn_op_axis(c, &axis, x->rank);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	dim = x->dims[axis];
	outer = cnn_span(x, 0, axis);
	run = cnn_span(x, axis + 1, x->rank) * cnn_dtype_size(x->dtype);
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < n; i++, dst += run) {
			int64_t at = cnn_int_at(idx, i);

			ret = cnn_op_index(c, &at, dim);
			if (ret)
				return ret;
			memcpy(dst, (char *)x->data + (o * dim + at) * run, run);
		}
	return CNN_OK;
}

struct slice {
	int64_t start[CNN_MAX_RANK], step[CNN_MAX_RANK], count[CNN_MAX_RANK];
};

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static void slice_axis(struct slice *s, int axis, int64_t dim, int64_t start, int64_t end,
		       int64_t step)
{
	int64_t span;

	step = clamp(step, -CNN_MAX_TENSOR_BYTES, CNN_MAX_TENSOR_BYTES);
	start += start < 0 ? dim : 0;
	end += end < 0 ? dim : 0;
	if (step > 0) {
		start = clamp(start, 0, dim);
		span = clamp(end, 0, dim) - start;
	} else {
		start = clamp(start, 0, dim - 1);
		span = start - clamp(end, -1, dim - 1);
	}
	s->start[axis] = start;
	s->step[axis] = step;
	s->count[axis] = dim && span > 0 ? (span - 1) / (step < 0 ? -step : step) + 1 : 0;
}

static int resolve_slice(struct cnn_call *c, struct slice *s)
{
	const struct cnn_slice_params *p = &c->node->params.slice;
	const struct cnn_ints none = { .n = -1 };
	struct cnn_ints starts, ends, axes, steps;
	int rank = c->in[0]->rank, n, ret;

	ret = cnn_op_ints(c, "starts", &p->starts, 1, CNN_MAX_RANK, &starts) ?:
	      cnn_op_ints(c, "ends", &p->ends, 2, CNN_MAX_RANK, &ends) ?:
	      cnn_op_ints(c, "axes", &p->axes, 3, CNN_MAX_RANK, &axes) ?:
	      cnn_op_ints(c, "steps", &none, 4, CNN_MAX_RANK, &steps);
	if (ret)
		return ret;
	n = starts.n;
	if (n < 0 || n != ends.n || (axes.n >= 0 && axes.n != n) ||
	    (steps.n >= 0 && steps.n != n) || n > rank)
		return cnn_op_fail(c, CNN_EINVAL, "starts, ends, axes and steps differ in length");
	for (int i = 0; i < rank; i++)
		slice_axis(s, i, c->in[0]->dims[i], 0, INT64_MAX, 1);
	for (int i = 0; i < n; i++) {
		int64_t axis = axes.n >= 0 ? axes.v[i] : i, step = steps.n >= 0 ? steps.v[i] : 1;

		ret = cnn_op_axis(c, &axis, rank);
		if (ret)
			return ret;
		if (!step)
			return cnn_op_fail(c, CNN_EINVAL, "a step is 0");
		slice_axis(s, axis, c->in[0]->dims[axis], starts.v[i], ends.v[i], step);
	}
	return CNN_OK;
}

int cnn_infer_slice(struct cnn_call *c)
{
	struct slice s;
	int ret = resolve_slice(c, &s);

	if (ret)
		return ret;
	cnn_infer_like(c, c->in[0]);
	memcpy(c->out[0]->dims, s.count, sizeof(s.count[0]) * c->out[0]->rank);
	return CNN_OK;
}

int cnn_compute_slice(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t strides[CNN_MAX_RANK], offset = 0;
	struct slice s;
	int ret = resolve_slice(c, &s);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	cnn_strides(x, strides);
	for (int i = 0; i < x->rank; i++) {
		offset += s.start[i] * strides[i];
		/* An axis of one element takes no step: its stride could overflow. */
		strides[i] *= s.count[i] > 1 ? s.step[i] : 0;
	}
	copy_strided(c->out[0], (char *)x->data + offset * (int64_t)cnn_dtype_size(x->dtype),
		     strides);
	return CNN_OK;
}

static int check_pad(const struct cnn_call *c, int axis, int64_t amount)
{
	int64_t dim = c->in[0]->dims[axis];

	if (amount > CNN_MAX_TENSOR_BYTES || amount < -dim)
		return cnn_op_fail(c, CNN_ELIMIT, "pads is %lld, limits %lld to %lld",
				   (long long)amount, (long long)-dim,
				   (long long)CNN_MAX_TENSOR_BYTES);
	if (c->node->params.pad.mode != CNN_PAD_CONSTANT && !dim && amount > 0)
		return cnn_op_fail(c, CNN_EINVAL, "an empty axis has nothing to repeat");
	return CNN_OK;
}

/* The pads of all axes, checked: at the beginning of each axis, then at their ends. */
static int resolve_pad(struct cnn_call *c, struct cnn_ints *pads)
{
	const struct cnn_ints none = { .n = -1 };
	int rank = c->in[0]->rank, n;
	struct cnn_ints list, axes;
	int ret = cnn_op_ints(c, "pads", &c->node->params.pad.pads, 1, 2 * CNN_MAX_RANK, &list) ?:
		  cnn_op_ints(c, "axes", &none, 3, CNN_MAX_RANK, &axes);

	if (ret)
		return ret;
	*pads = (struct cnn_ints){ 0 };
	n = axes.n < 0 ? rank : axes.n;
	if (list.n != 2 * n)
		return cnn_op_fail(c, CNN_EINVAL, "pads has %d entries, %d expected", list.n, 2 * n);
	for (int i = 0; i < n; i++) {
		int64_t axis = axes.n < 0 ? i : axes.v[i];

		ret = cnn_op_axis(c, &axis, rank) ?: check_pad(c, (int)axis, list.v[i]) ?:
		      check_pad(c, (int)axis, list.v[i + n]);
		if (ret)
			return ret;
		pads->v[axis] = list.v[i];
		pads->v[axis + rank] = list.v[i + n];
	}
	return CNN_OK;
}

int cnn_infer_pad(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *value = cnn_in(c, 2);
	struct cnn_ints pads;
	int ret = resolve_pad(c, &pads);

	if (ret)
		return ret;
	if (value && (value->dtype != x->dtype || cnn_tensor_count(value) != 1))
		return cnn_op_fail(c, CNN_EINVAL, "the constant is not one %s",
				   cnn_dtype_name(x->dtype));
	if (x->dtype != CNN_FLOAT32 && c->node->params.pad.value != 0)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	cnn_infer_like(c, x);
	for (int i = 0; i < x->rank; i++) {
		c->out[0]->dims[i] += pads.v[i] + pads.v[i + x->rank];
		if (c->out[0]->dims[i] < 0)
			return cnn_op_fail(c, CNN_EINVAL, "pads remove more than there is");
	}
	return CNN_OK;
}

/* Which element of an axis is repeated at position i of the output; -1: the constant. */
static int64_t pad_source(enum cnn_pad_mode mode, int64_t i, int64_t dim)
{
	if (i >= 0 && i < dim)
		return i;
	if (mode == CNN_PAD_CONSTANT)
		return -1;
	if (mode == CNN_PAD_EDGE || dim == 1)
		return i < 0 ? 0 : dim - 1;
	if (mode == CNN_PAD_WRAP)
		return i % dim < 0 ? i % dim + dim : i % dim;
	i %= 2 * (dim - 1);		/* reflections repeat with this period */
	if (i < 0)
		i += 2 * (dim - 1);
	return i < dim ? i : 2 * (dim - 1) - i;
}

struct pad_walk {
	const struct cnn_tensor *x, *y;
	const char *fill;
	enum cnn_pad_mode mode;
	struct cnn_ints pads;
	int64_t strides[CNN_MAX_RANK];
	int64_t *inner;			/* sources along the innermost axis */
	size_t size;
};

static char *pad_row(const struct pad_walk *w, const char *src, char *dst)
{
	int64_t n = w->y->dims[w->y->rank - 1];

	for (int64_t i = 0; i < n; i++, dst += w->size)
		memcpy(dst, src && w->inner[i] >= 0 ? src + w->inner[i] * w->size : w->fill,
		       w->size);
	return dst;
}

/* Fills axes axis.. of the output; src is NULL where an outer axis is in constant padding. */
static char *pad_axes(const struct pad_walk *w, int axis, const char *src, char *dst)
{
	if (axis == w->y->rank - 1)
		return pad_row(w, src, dst);
	for (int64_t i = 0; i < w->y->dims[axis]; i++) {
		int64_t s = pad_source(w->mode, i - w->pads.v[axis], w->x->dims[axis]);

		dst = pad_axes(w, axis + 1, src && s >= 0 ?
			       src + s * w->strides[axis] * (int64_t)w->size : NULL, dst);
	}
	return dst;
}

int cnn_compute_pad(struct cnn_call *c)
{
	const struct cnn_pad_params *p = &c->node->params.pad;
	struct pad_walk w = { .x = c->in[0], .y = c->out[0], .mode = p->mode };
	static const int64_t zero[2];
	int64_t n;
	int ret = resolve_pad(c, &w.pads), inner = w.y->rank - 1;

	if (ret || !cnn_tensor_count(w.y))
		return ret;
	w.size = cnn_dtype_size(w.x->dtype);
	if (inner < 0) {
		memcpy(w.y->data, w.x->data, w.size);
		return CNN_OK;
	}
	w.fill = cnn_in(c, 2) ? c->in[2]->data : w.x->dtype == CNN_FLOAT32 ?
		 (const void *)&p->value : (const void *)zero;
	cnn_strides(w.x, w.strides);
	n = w.y->dims[inner];
	w.inner = malloc(n * sizeof(*w.inner));
	if (!w.inner)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	for (int64_t i = 0; i < n; i++)
		w.inner[i] = pad_source(w.mode, i - w.pads.v[inner], w.x->dims[inner]);
	pad_axes(&w, 0, w.x->data, w.y->data);
	free(w.inner);
	return CNN_OK;
}
