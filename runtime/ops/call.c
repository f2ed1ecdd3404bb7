// SPDX-License-Identifier: MIT
/* What the operators share: errors, types, axes, blocks of elements. */
#include <string.h>

#include "ops.h"

int cnn_op_want(const struct cnn_call *c, const struct cnn_tensor *t, const enum cnn_dtype *types,
		int n)
{
	for (int i = 0; i < n; i++)
		if (t->dtype == types[i])
			return CNN_OK;
	return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(t->dtype));
}

void cnn_set_shape(struct cnn_tensor *y, enum cnn_dtype type, const struct cnn_tensor *t)
{
	y->dtype = type;
	y->rank = t->rank;
	memcpy(y->dims, t->dims, sizeof(y->dims));
}

int cnn_infer_like(struct cnn_call *c, const struct cnn_tensor *t)
{
	cnn_set_shape(c->out[0], t->dtype, t);
	return CNN_OK;
}

int cnn_op_axis(const struct cnn_call *c, int64_t *axis, int limit)
{
	int64_t a = *axis < 0 ? *axis + limit : *axis;

	if (a < 0 || a >= limit)
		return cnn_op_fail(c, CNN_EINVAL, "axis %lld, limits %d to %d", (long long)*axis,
				   -limit, limit - 1);
	*axis = a;
	return CNN_OK;
}

int cnn_op_index(const struct cnn_call *c, int64_t *at, int64_t dim)
{
	if (*at < -dim || *at >= dim)
		return cnn_op_fail(c, CNN_EINVAL, "index %lld, limits %lld to %lld",
				   (long long)*at, (long long)-dim, (long long)dim - 1);
	*at += *at < 0 ? dim : 0;
	return CNN_OK;
}

int64_t cnn_int_at(const struct cnn_tensor *t, int64_t i)
{
	return t->dtype == CNN_INT32 ? ((const int32_t *)t->data)[i] :
				       ((const int64_t *)t->data)[i];
}

int cnn_op_list(const struct cnn_call *c, const char *name, const struct cnn_tensor *t, int max,
		int64_t *v)
{
	int64_t count = cnn_tensor_count(t);
	int ret = CNN_WANT(c, t, CNN_INT64, CNN_INT32);

	if (ret)
		return ret;
	if (count > max || t->rank > 1)
		return cnn_op_fail(c, CNN_EINVAL, "%s has %lld entries, limit %d", name,
				   (long long)count, max);
	if (!t->data)
		return CNN_NEED_DATA;
	for (int64_t j = 0; j < count; j++)
		v[j] = cnn_int_at(t, j);
	return CNN_OK;
}

int cnn_op_ints(const struct cnn_call *c, const char *name, const struct cnn_ints *given, int i,
		int max, struct cnn_ints *list)
{
	const struct cnn_tensor *t = cnn_in(c, i);
	int ret;

	if (!t) {
		*list = *given;
		return CNN_OK;
	}
	ret = cnn_op_list(c, name, t, max, list->v);
	list->n = ret ? 0 : (int)cnn_tensor_count(t);
	return ret;
}

int64_t cnn_span(const struct cnn_tensor *t, int from, int end)
{
	int64_t n = 1;

	for (int i = from; i < end; i++)
		n *= t->dims[i];
	return n;
}

void cnn_strides(const struct cnn_tensor *t, int64_t *strides)
{
	int64_t s = 1;

	for (int i = t->rank - 1; i >= 0; i--) {
		strides[i] = s;
		s *= t->dims[i];
	}
}

typedef uint32_t __attribute__((may_alias)) bits;

CNN_CLONES
static bool has_nan(const bits *p, int64_t n)
{
	uint32_t above = 0;

	for (int64_t i = 0; i < n; i++)
		above |= 0x7f800000 - (p[i] & 0x7fffffff);
	return above >> 31;
}

/* Processors differ in the sign and payload of the NaNs they make. */
void cnn_canonical_nans(float *x, int64_t n)
{
	bits *p = (void *)x;

	if (!has_nan(p, n))
		return;
	for (int64_t i = 0; i < n; i++)
		p[i] = (p[i] & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : p[i];
}

struct blocks {
	void (*fn)(const void *arg, int64_t first, int64_t n);
	const void *arg;
	int64_t count, block;
};

static void one_block(void *opaque, int part)
{
	const struct blocks *b = opaque;
	int64_t first = part * b->block, left = b->count - first;

	b->fn(b->arg, first, left < b->block ? left : b->block);
}

void cnn_for_blocks(const struct cnn_call *c, int64_t count, int64_t block,
		    void (*fn)(const void *arg, int64_t first, int64_t n), const void *arg)
{
	struct blocks b = { fn, arg, count, block };
	int64_t parts = (count + block - 1) / block;

	if (c->workers && parts > 1 && parts <= INT32_MAX / 2) {
		c->workers->run(c->workers, (int)parts, one_block, &b);
		return;
	}
	for (int64_t i = 0; i < count; i += block)
		fn(arg, i, count - i < block ? count - i : block);
}
