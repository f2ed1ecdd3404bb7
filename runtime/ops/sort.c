// SPDX-License-Identifier: MIT
/* TopK and Unique, and the order of elements that both sort by. */
#include <stdlib.h>
#include <string.h>

#include "ops.h"

typedef int compare_fn(const void *a, const void *b);

/* A NaN is equal to any other, and larger than all numbers. */
#define COMPARE(name, type)							\
static int compare_##name(const void *pa, const void *pb)			\
{										\
	type a = *(const type *)pa, b = *(const type *)pb;			\
										\
	return a < b ? -1 : a > b ? 1 : (a != a) - (b != b);			\
}

COMPARE(f32, float)
COMPARE(f64, double)
COMPARE(i8, int8_t)
COMPARE(i16, int16_t)
COMPARE(i32, int32_t)
COMPARE(i64, int64_t)
COMPARE(u8, uint8_t)
COMPARE(u16, uint16_t)
COMPARE(u32, uint32_t)
COMPARE(u64, uint64_t)

static compare_fn *compare_of(enum cnn_dtype t)
{
	static compare_fn *const fn[] = {
		[CNN_FLOAT32] = compare_f32, [CNN_FLOAT64] = compare_f64,
		[CNN_INT8] = compare_i8, [CNN_INT16] = compare_i16, [CNN_INT32] = compare_i32,
		[CNN_INT64] = compare_i64, [CNN_UINT8] = compare_u8, [CNN_UINT16] = compare_u16,
		[CNN_UINT32] = compare_u32, [CNN_UINT64] = compare_u64, [CNN_BOOL] = compare_u8,
	};

	return t < sizeof(fn) / sizeof(fn[0]) ? fn[t] : NULL;
}

/* A tensor along an axis: outer blocks of dim slices of inner elements. */
struct slices {
	const char *x;
	compare_fn *compare;
	int64_t size, outer, dim, inner;
	bool falling;
};

static void split_at(const struct cnn_tensor *x, int64_t axis, struct slices *s)
{
	*s = (struct slices){
		.x = x->data, .compare = compare_of(x->dtype), .size = cnn_dtype_size(x->dtype),
		.outer = 1, .dim = x->rank ? x->dims[axis] : 1, .inner = 1,
	};
	for (int i = 0; i < x->rank; i++) {
		s->outer *= i < axis ? x->dims[i] : 1;
		s->inner *= i > axis ? x->dims[i] : 1;
	}
	/* Nothing to go over, however many blocks there are. */
	s->outer = s->dim && s->inner ? s->outer : 0;
}

static int64_t *numbers(const struct cnn_call *c, int64_t n)
{
	int64_t *v = malloc((n + 1) * sizeof(*v));

	if (!v)
		cnn_op_fail(c, CNN_ENOMEM, "no memory to sort %lld elements", (long long)n);
	for (int64_t i = 0; v && i < n; i++)
		v[i] = i;
	return v;
}

static int resolve_top_k(struct cnn_call *c, int64_t *axis, int64_t *k)
{
	const struct cnn_tensor *x = c->in[0], *count = cnn_in(c, 1);
	int ret = CNN_OK;

	*axis = c->node->params.top_k.axis;
	*k = c->node->params.top_k.k;
	if (!compare_of(x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	if (count && cnn_tensor_count(count) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "k is not one number");
	if (count)
		ret = cnn_op_list(c, "k", count, 1, k);
	if (!ret)
		ret = cnn_op_axis(c, axis, x->rank);
	if (!ret && (*k < 0 || *k > x->dims[*axis]))
		ret = cnn_op_fail(c, CNN_EINVAL, "k is %lld, limit %lld", (long long)*k,
				  (long long)x->dims[*axis]);
	return ret;
}

int cnn_infer_top_k(struct cnn_call *c)
{
	struct cnn_tensor *indices = cnn_out(c, 1);
	int64_t axis, k;
	int ret = resolve_top_k(c, &axis, &k);

	if (ret)
		return ret;
	cnn_infer_like(c, c->in[0]);
	c->out[0]->dims[axis] = k;
	if (indices) {
		indices->dtype = CNN_INT64;
		indices->rank = c->out[0]->rank;
		memcpy(indices->dims, c->out[0]->dims, sizeof(indices->dims));
	}
	return CNN_OK;
}

/* Elements of a row, whose first one is at s->x; equal ones by index. */
static int compare_in_row(const void *pa, const void *pb, void *opaque)
{
	const struct slices *s = opaque;
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	int order = s->compare(s->x + a * s->inner * s->size, s->x + b * s->inner * s->size);

	if (order)
		return s->falling ? -order : order;
	return a < b ? -1 : a > b;
}

static void top_of_row(const struct cnn_call *c, struct slices *s, int64_t row, int64_t k,
		       int64_t *order)
{
	int64_t o = row / s->inner, i = row % s->inner;
	int64_t *indices = cnn_out(c, 1) ? c->out[1]->data : NULL;
	char *y = c->out[0]->data;

	s->x = (char *)c->in[0]->data + (o * s->dim * s->inner + i) * s->size;
	for (int64_t j = 0; j < s->dim; j++)
		order[j] = j;
	qsort_r(order, s->dim, sizeof(*order), compare_in_row, s);
	for (int64_t j = 0; j < k; j++) {
		int64_t to = (o * k + j) * s->inner + i;

		memcpy(y + to * s->size, s->x + order[j] * s->inner * s->size, s->size);
		if (indices)
			indices[to] = order[j];
	}
}

int cnn_compute_top_k(struct cnn_call *c)
{
	int64_t axis, k, *order;
	struct slices s = { 0 };
	int ret = resolve_top_k(c, &axis, &k);

	if (ret || !cnn_tensor_count(c->in[0]))
		return ret;
	split_at(c->in[0], axis, &s);
	s.falling = c->node->params.top_k.largest;
	order = numbers(c, s.dim);
	if (!order)
		return CNN_ENOMEM;
	for (int64_t row = 0; row < s.outer * s.inner; row++)
		top_of_row(c, &s, row, k, order);
	free(order);
	return CNN_OK;
}

static int resolve_unique(struct cnn_call *c, struct slices *s, int64_t *axis)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor flat = *x;
	int ret;

	*axis = c->node->params.unique.axis;
	if (!compare_of(x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	if (*axis == CNN_AXIS_NONE) {
		flat.rank = 1;
		flat.dims[0] = cnn_tensor_count(x);
		split_at(&flat, 0, s);
		return CNN_OK;
	}
	ret = cnn_op_axis(c, axis, x->rank);
	if (!ret)
		split_at(x, *axis, s);
	return ret;
}

static void set_list(struct cnn_tensor *t, int64_t n)
{
	if (!t)
		return;
	t->dtype = CNN_INT64;
	t->rank = 1;
	t->dims[0] = n;
}

/* Output 0 has n slices, the lists of their first places and counts n numbers. */
static void set_unique(struct cnn_call *c, const struct slices *s, int64_t axis, int64_t n)
{
	struct cnn_tensor *y = c->out[0];

	cnn_infer_like(c, c->in[0]);
	if (axis == CNN_AXIS_NONE) {
		y->rank = 1;
		axis = 0;
	}
	y->dims[axis] = n;
	set_list(cnn_out(c, 1), n);
	set_list(cnn_out(c, 2), s->dim);
	set_list(cnn_out(c, 3), n);
}

/* As if all slices were unique: compute finds how many are. */
int cnn_infer_unique(struct cnn_call *c)
{
	struct slices s = { 0 };
	int64_t axis;
	int ret = resolve_unique(c, &s, &axis);

	if (ret)
		return ret;
	if (!s.x)
		return CNN_NEED_DATA;
	set_unique(c, &s, axis, s.dim);
	return CNN_OK;
}

static int compare_slices(const struct slices *s, int64_t a, int64_t b)
{
	for (int64_t o = 0; o < s->outer; o++)
		for (int64_t i = 0; i < s->inner; i++) {
			const char *x = s->x + (o * s->dim * s->inner + i) * s->size;
			int order = s->compare(x + a * s->inner * s->size,
					       x + b * s->inner * s->size);

			if (order)
				return order;
		}
	return 0;
}

static int compare_by_slice(const void *pa, const void *pb, void *opaque)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	int order = compare_slices(opaque, a, b);

	return order ? order : a < b ? -1 : a > b;
}

/* What the outputs list: first has the first slice of each kind, kind the kind of each slice. */
struct kinds {
	int64_t n, *first, *kind;
};

static void find_kinds(const struct slices *s, bool sorted, int64_t *order, struct kinds *k)
{
	qsort_r(order, s->dim, sizeof(*order), compare_by_slice, (void *)s);
	for (int64_t i = 0; i < s->dim; i++) {
		if (!i || compare_slices(s, order[i - 1], order[i]))
			k->first[k->n++] = order[i];
		k->kind[order[i]] = k->n - 1;
	}
	if (sorted)
		return;
	/* By the first slice of each: it is the one whose kind has not been numbered again. */
	for (int64_t i = 0; i < k->n; i++)
		order[i] = -1;
	k->n = 0;
	for (int64_t i = 0; i < s->dim; i++) {
		if (order[k->kind[i]] < 0) {
			order[k->kind[i]] = k->n;
			k->first[k->n++] = i;
		}
		k->kind[i] = order[k->kind[i]];
	}
}

static void write_lists(const struct cnn_call *c, const struct slices *s, const struct kinds *k)
{
	int64_t *first = cnn_out(c, 1) ? c->out[1]->data : NULL;
	int64_t *inverse = cnn_out(c, 2) ? c->out[2]->data : NULL;
	int64_t *counts = cnn_out(c, 3) ? c->out[3]->data : NULL;

	if (first && k->n)
		memcpy(first, k->first, k->n * sizeof(*first));
	if (inverse && s->dim)
		memcpy(inverse, k->kind, s->dim * sizeof(*inverse));
	if (!counts)
		return;
	if (k->n)
		memset(counts, 0, k->n * sizeof(*counts));
	for (int64_t i = 0; i < s->dim; i++)
		counts[k->kind[i]]++;
}

static void write_unique(struct cnn_call *c, const struct slices *s, const struct kinds *k)
{
	int64_t run = s->inner * s->size;
	char *y = c->out[0]->data;

	for (int64_t o = 0; o < s->outer; o++)
		for (int64_t i = 0; i < k->n; i++, y += run)
			memcpy(y, s->x + (o * s->dim + k->first[i]) * run, run);
	write_lists(c, s, k);
}

int cnn_compute_unique(struct cnn_call *c)
{
	int64_t axis, *order;
	struct kinds k = { 0 };
	struct slices s = { 0 };
	int ret = resolve_unique(c, &s, &axis);

	if (ret)
		return ret;
	order = numbers(c, s.dim);
	k.first = numbers(c, s.dim);
	k.kind = numbers(c, s.dim);
	if (order && k.first && k.kind) {
		find_kinds(&s, c->node->params.unique.sorted, order, &k);
		write_unique(c, &s, &k);
		set_unique(c, &s, axis, k.n);
	} else {
		ret = CNN_ENOMEM;
	}
	free(order);
	free(k.first);
	free(k.kind);
	return ret;
}
