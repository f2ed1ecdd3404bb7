// SPDX-License-Identifier: MIT
/* GatherElements, GatherND, ScatterElements (once Scatter) and ScatterND. */
#include <string.h>

#include "ops.h"

#define INDEX_TYPES	CNN_INT64, CNN_INT32

static int64_t product(const int64_t *dims, int from, int to)
{
	int64_t n = 1;

	for (int i = from; i < to; i++)
		n *= dims[i];
	return n;
}

/* A walk over indices: base is where their element would be in x if the index were 0. */
struct elements {
	const struct cnn_tensor *x, *idx;
	int64_t axis, base;
	int64_t strides[CNN_MAX_RANK], at[CNN_MAX_RANK];
};

static void elements_start(struct elements *e, const struct cnn_call *c, int64_t axis)
{
	memset(e, 0, sizeof(*e));
	e->x = c->in[0];
	e->idx = c->in[1];
	e->axis = axis;
	cnn_strides(e->x, e->strides);
}

static void elements_next(struct elements *e)
{
	for (int i = e->idx->rank - 1; i >= 0; i--) {
		int64_t stride = i == e->axis ? 0 : e->strides[i];

		e->base += stride;
		if (++e->at[i] < e->idx->dims[i])
			return;
		e->base -= stride * e->at[i];
		e->at[i] = 0;
	}
}

static int check_elements(struct cnn_call *c, int64_t *axis)
{
	const struct cnn_tensor *x = c->in[0], *idx = c->in[1];
	int ret = CNN_WANT(c, idx, INDEX_TYPES);

	*axis = c->node->params.scatter.axis;
	if (!ret)
		ret = cnn_op_axis(c, axis, x->rank);
	if (!ret && idx->rank != x->rank)
		ret = cnn_op_fail(c, CNN_EINVAL, "indices have %d dimensions, data %d", idx->rank,
				  x->rank);
	for (int i = 0; !ret && i < x->rank; i++)
		if (i != *axis && idx->dims[i] > x->dims[i])
			ret = cnn_op_fail(c, CNN_EINVAL, "indices: dimension %d is %lld, limit %lld",
					  i, (long long)idx->dims[i], (long long)x->dims[i]);
	return ret;
}

int cnn_infer_gather_elements(struct cnn_call *c)
{
	int64_t axis;
	int ret = check_elements(c, &axis);

	if (ret)
		return ret;
	cnn_infer_like(c, c->in[1]);
	c->out[0]->dtype = c->in[0]->dtype;
	return CNN_OK;
}

int cnn_compute_gather_elements(struct cnn_call *c)
{
	int64_t axis, n = cnn_tensor_count(c->in[1]);
	size_t size = cnn_dtype_size(c->in[0]->dtype);
	char *dst = c->out[0]->data;
	struct elements e;
	int ret = check_elements(c, &axis);

	if (ret)
		return ret;
	elements_start(&e, c, axis);
	for (int64_t i = 0; i < n; i++, elements_next(&e)) {
		int64_t at = cnn_int_at(e.idx, i);

		ret = cnn_op_index(c, &at, e.x->dims[axis]);
		if (ret)
			return ret;
		memcpy(dst + i * (int64_t)size,
		       (char *)e.x->data + (e.base + at * e.strides[axis]) * (int64_t)size, size);
	}
	return CNN_OK;
}

typedef void reduce_fn(enum cnn_scatter_reduction r, void *y, const void *u, int64_t n);

/* wide: the type of sums and products, unsigned for integers, which wrap. */
#define REDUCE(name, type, wide)							\
static void reduce_##name(enum cnn_scatter_reduction r, void *py, const void *pu, int64_t n)	\
{											\
	const type *u = pu;								\
	type *y = py;									\
											\
	for (int64_t i = 0; i < n; i++) {						\
		if (r == CNN_SCATTER_ADD)						\
			y[i] = (type)((wide)y[i] + (wide)u[i]);				\
		else if (r == CNN_SCATTER_MUL)						\
			y[i] = (type)((wide)y[i] * (wide)u[i]);				\
		else if (u[i] != u[i] || (r == CNN_SCATTER_MAX ? u[i] > y[i] : u[i] < y[i]))	\
			y[i] = u[i];							\
	}										\
}

REDUCE(f32, float, float)
REDUCE(f64, double, double)
REDUCE(i8, int8_t, uint64_t)
REDUCE(i16, int16_t, uint64_t)
REDUCE(i32, int32_t, uint64_t)
REDUCE(i64, int64_t, uint64_t)
REDUCE(u8, uint8_t, uint64_t)
REDUCE(u16, uint16_t, uint64_t)
REDUCE(u32, uint32_t, uint64_t)
REDUCE(u64, uint64_t, uint64_t)

static reduce_fn *reduce_of(enum cnn_dtype t)
{
	static reduce_fn *const fn[] = {
		[CNN_FLOAT32] = reduce_f32, [CNN_FLOAT64] = reduce_f64, [CNN_INT8] = reduce_i8,
		[CNN_INT16] = reduce_i16, [CNN_INT32] = reduce_i32, [CNN_INT64] = reduce_i64,
		[CNN_UINT8] = reduce_u8, [CNN_UINT16] = reduce_u16, [CNN_UINT32] = reduce_u32,
		[CNN_UINT64] = reduce_u64,
	};

	return t < sizeof(fn) / sizeof(fn[0]) ? fn[t] : NULL;
}

/* Elements first.. of the output meet n elements of the updates from from on. */
static void update(const struct cnn_call *c, int64_t first, int64_t from, int64_t n)
{
	enum cnn_scatter_reduction r = c->node->params.scatter.reduction;
	enum cnn_dtype t = c->in[0]->dtype;
	int64_t size = cnn_dtype_size(t);
	char *y = (char *)c->out[0]->data + first * size;
	const char *u = (const char *)c->in[2]->data + from * size;

	if (r == CNN_SCATTER_NONE)
		memcpy(y, u, n * size);
	else
		reduce_of(t)(r, y, u, n);
}

static int infer_scatter(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];

	if (c->in[2]->dtype != x->dtype)
		return cnn_op_fail(c, CNN_EINVAL, "updates are %s, data %s",
				   cnn_dtype_name(c->in[2]->dtype), cnn_dtype_name(x->dtype));
	if (c->node->params.scatter.reduction != CNN_SCATTER_NONE && !reduce_of(x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	return cnn_infer_like(c, x);
}

int cnn_infer_scatter_elements(struct cnn_call *c)
{
	int64_t axis;
	int ret = check_elements(c, &axis);

	if (!ret && !cnn_tensor_same_shape(c->in[1], c->in[2]))
		ret = cnn_op_fail(c, CNN_EINVAL, "updates and indices differ in shape");
	return ret ? ret : infer_scatter(c);
}

int cnn_compute_scatter_elements(struct cnn_call *c)
{
	int64_t axis, n = cnn_tensor_count(c->in[1]);
	struct elements e;
	int ret = check_elements(c, &axis);

	if (ret)
		return ret;
	cnn_compute_copy(c);
	elements_start(&e, c, axis);
	for (int64_t i = 0; i < n; i++, elements_next(&e)) {
		int64_t at = cnn_int_at(e.idx, i);

		ret = cnn_op_index(c, &at, e.x->dims[axis]);
		if (ret)
			return ret;
		update(c, e.base + at * e.strides[axis], i, 1);
	}
	return CNN_OK;
}

struct slices {
	int batch, depth;		/* axes in common, axes that an index goes over */
	int64_t count, per_batch;	/* indices */
	int64_t run, pitch;		/* elements of a slice, and of x for one batch */
	int64_t strides[CNN_MAX_RANK];
};

static int resolve_slices(struct cnn_call *c, int64_t batch, struct slices *s)
{
	const struct cnn_tensor *x = c->in[0], *idx = c->in[1];
	int64_t depth = idx->rank ? idx->dims[idx->rank - 1] : 0;
	int ret = CNN_WANT(c, idx, INDEX_TYPES);

	if (ret)
		return ret;
	if (batch < 0 || batch >= idx->rank || batch > x->rank)
		return cnn_op_fail(c, CNN_EINVAL, "batch_dims is %lld, data has %d dimensions and "
				   "indices %d", (long long)batch, x->rank, idx->rank);
	if (depth < 1 || depth > x->rank - batch)
		return cnn_op_fail(c, CNN_EINVAL, "indices name %lld axes, limit %lld",
				   (long long)depth, (long long)(x->rank - batch));
	for (int i = 0; i < batch; i++)
		if (x->dims[i] != idx->dims[i])
			return cnn_op_fail(c, CNN_EINVAL, "batch axis %d is %lld and %lld", i,
					   (long long)x->dims[i], (long long)idx->dims[i]);
	s->batch = (int)batch;
	s->depth = (int)depth;
	s->count = product(idx->dims, 0, idx->rank - 1);
	s->per_batch = product(idx->dims, s->batch, idx->rank - 1);
	s->run = product(x->dims, s->batch + s->depth, x->rank);
	s->pitch = product(x->dims, s->batch, x->rank);
	cnn_strides(x, s->strides);
	return CNN_OK;
}

/* The first element of x that index number i means. */
static int slice_at(struct cnn_call *c, const struct slices *s, int64_t i, int64_t *first)
{
	int ret = CNN_OK;

	*first = i / s->per_batch * s->pitch;
	for (int k = 0; !ret && k < s->depth; k++) {
		int64_t at = cnn_int_at(c->in[1], i * s->depth + k);

		ret = cnn_op_index(c, &at, c->in[0]->dims[s->batch + k]);
		*first += ret ? 0 : at * s->strides[s->batch + k];
	}
	return ret;
}

/* Dimensions of the indices without the last one, then those of a slice. */
static int slices_shape(struct cnn_call *c, const struct slices *s, struct cnn_tensor *t)
{
	const struct cnn_tensor *x = c->in[0], *idx = c->in[1];
	int rank = idx->rank - 1 + x->rank - s->batch - s->depth;

	if (rank > CNN_MAX_RANK)
		return cnn_op_fail(c, CNN_ELIMIT, "%d dimensions, limit %d", rank, CNN_MAX_RANK);
	t->dtype = x->dtype;
	t->rank = 0;
	for (int i = 0; i < idx->rank - 1; i++)
		t->dims[t->rank++] = idx->dims[i];
	for (int i = s->batch + s->depth; i < x->rank; i++)
		t->dims[t->rank++] = x->dims[i];
	return CNN_OK;
}

int cnn_infer_gather_nd(struct cnn_call *c)
{
	struct slices s;
	int ret = resolve_slices(c, c->node->params.scatter.batch_dims, &s);

	return ret ? ret : slices_shape(c, &s, c->out[0]);
}

int cnn_compute_gather_nd(struct cnn_call *c)
{
	int64_t size = cnn_dtype_size(c->in[0]->dtype), first;
	char *dst = c->out[0]->data;
	struct slices s;
	int ret = resolve_slices(c, c->node->params.scatter.batch_dims, &s);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	for (int64_t i = 0; i < s.count; i++, dst += s.run * size) {
		ret = slice_at(c, &s, i, &first);
		if (ret)
			return ret;
		memcpy(dst, (char *)c->in[0]->data + first * size, s.run * size);
	}
	return CNN_OK;
}

int cnn_infer_scatter_nd(struct cnn_call *c)
{
	struct cnn_tensor want;
	struct slices s;
	int ret = resolve_slices(c, 0, &s);

	if (!ret)
		ret = slices_shape(c, &s, &want);
	if (!ret && !cnn_tensor_same_shape(&want, c->in[2]))
		ret = cnn_op_fail(c, CNN_EINVAL, "updates do not have the shape of indices and "
				  "slices");
	return ret ? ret : infer_scatter(c);
}

int cnn_compute_scatter_nd(struct cnn_call *c)
{
	struct slices s;
	int64_t first;
	int ret = resolve_slices(c, 0, &s);

	if (ret)
		return ret;
	cnn_compute_copy(c);
	for (int64_t i = 0; i < s.count; i++) {
		ret = slice_at(c, &s, i, &first);
		if (ret)
			return ret;
		update(c, first, i * s.run, s.run);
	}
	return CNN_OK;
}
