// SPDX-License-Identifier: MIT
/* Add, Sub, Mul, Div with broadcasting; Relu, Clip and the other activations. */
#include <string.h>

#include "ops.h"

typedef void binary_fn(const void *a, const void *b, void *y, int64_t n, int sa, int sb);

/* sa and sb are 0 (one value for all) or 1. */
#define BINARY(name, type, expr)							\
CNN_CLONES										\
static void name(const void *pa, const void *pb, void *py, int64_t n, int sa, int sb)	\
{											\
	const type *a = pa, *b = pb;							\
	type *y = py, u, v;								\
											\
	if (sa && sb) {									\
		for (int64_t i = 0; i < n; i++) {					\
			u = a[i];							\
			v = b[i];							\
			y[i] = (type)(expr);						\
		}									\
	} else if (sa) {								\
		v = b[0];								\
		for (int64_t i = 0; i < n; i++) {					\
			u = a[i];							\
			y[i] = (type)(expr);						\
		}									\
	} else {									\
		u = a[0];								\
		for (int64_t i = 0; i < n; i++) {					\
			v = b[sb ? i : 0];						\
			y[i] = (type)(expr);						\
		}									\
	}										\
}

#define BINARY_FLOAT(suffix, type)			\
	BINARY(add_##suffix, type, u + v)		\
	BINARY(sub_##suffix, type, u - v)		\
	BINARY(mul_##suffix, type, u * v)		\
	BINARY(div_##suffix, type, u / v)

/* Integers wrap; a quotient by 0 is 0, and the one that overflows wraps. */
#define BINARY_INT(suffix, type, quotient)				\
	BINARY(add_##suffix, type, (uint64_t)u + (uint64_t)v)		\
	BINARY(sub_##suffix, type, (uint64_t)u - (uint64_t)v)		\
	BINARY(mul_##suffix, type, (uint64_t)u * (uint64_t)v)		\
	BINARY(div_##suffix, type, quotient)

#define BINARY_SIGNED(suffix, type)	\
	BINARY_INT(suffix, type, !v ? 0 : v == -1 ? (type)(0 - (uint64_t)u) : u / v)
#define BINARY_UNSIGNED(suffix, type)	\
	BINARY_INT(suffix, type, !v ? 0 : u / v)

BINARY_FLOAT(f32, float)
BINARY_FLOAT(f64, double)
BINARY_SIGNED(i8, int8_t)
BINARY_UNSIGNED(u8, uint8_t)
BINARY_SIGNED(i16, int16_t)
BINARY_UNSIGNED(u16, uint16_t)
BINARY_SIGNED(i32, int32_t)
BINARY_UNSIGNED(u32, uint32_t)
BINARY_SIGNED(i64, int64_t)
BINARY_UNSIGNED(u64, uint64_t)

#define ROW(type, suffix) [type] = { add_##suffix, sub_##suffix, mul_##suffix, div_##suffix }

static binary_fn *binary_of(enum cnn_op op, enum cnn_dtype t)
{
	static binary_fn *const fn[][4] = {
		ROW(CNN_FLOAT32, f32), ROW(CNN_FLOAT64, f64), ROW(CNN_INT8, i8),
		ROW(CNN_UINT8, u8), ROW(CNN_INT16, i16), ROW(CNN_UINT16, u16),
		ROW(CNN_INT32, i32), ROW(CNN_UINT32, u32), ROW(CNN_INT64, i64),
		ROW(CNN_UINT64, u64),
	};
	int column = op == CNN_OP_ADD ? 0 : op == CNN_OP_SUB ? 1 : op == CNN_OP_MUL ? 2 : 3;

	return t < sizeof(fn) / sizeof(fn[0]) ? fn[t][column] : NULL;
}

/*
 * b as the broadcasting sees it. Before opset 7 it had to be asked for, and "axis" told where
 * b's axes lie in a.
 */
static int legacy_shape(struct cnn_call *c, struct cnn_tensor *b)
{
	const struct cnn_tensor *a = c->in[0];
	int64_t axis = cnn_node_int(c->node, "axis", a->rank - b->rank);
	int rank = b->rank;

	if (c->node->opset >= 7)
		return CNN_OK;
	if (!cnn_node_int(c->node, "broadcast", 0)) {
		if (!cnn_tensor_same_shape(a, b))
			return cnn_op_fail(c, CNN_EINVAL, "shapes differ without broadcast");
		return CNN_OK;
	}
	if (axis < 0)
		axis += a->rank;
	if (axis < 0 || axis + rank > a->rank)
		return cnn_op_fail(c, CNN_EINVAL, "axis %lld, limits 0 to %d", (long long)axis,
				   a->rank - rank);
	while (axis + b->rank < a->rank)
		b->dims[b->rank++] = 1;
	return CNN_OK;
}

int cnn_infer_binary(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0];
	struct cnn_tensor b = *c->in[1], *y = c->out[0];
	int ret = legacy_shape(c, &b);

	if (ret)
		return ret;
	if (!binary_of(c->node->op, a->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(a->dtype));
	if (a->dtype != b.dtype)
		return cnn_op_fail(c, CNN_EINVAL, "types %s and %s", cnn_dtype_name(a->dtype),
				   cnn_dtype_name(b.dtype));
	y->dtype = a->dtype;
	y->rank = a->rank > b.rank ? a->rank : b.rank;
	for (int i = 0; i < y->rank; i++) {
		int ia = i - (y->rank - a->rank), ib = i - (y->rank - b.rank);
		int64_t da = ia < 0 ? 1 : a->dims[ia], db = ib < 0 ? 1 : b.dims[ib];

		if (da != db && da != 1 && db != 1)
			return cnn_op_fail(c, CNN_EINVAL,
					   "dimensions %lld and %lld do not broadcast",
					   (long long)da, (long long)db);
		y->dims[i] = da == 1 ? db : da;
	}
	return CNN_OK;
}

/* The axes of a broadcast, outermost first, neighbours merged where both operands allow it. */
struct walk {
	int rank;
	int64_t dims[CNN_MAX_RANK], a[CNN_MAX_RANK], b[CNN_MAX_RANK];	/* strides in elements */
};

static int64_t broadcast_stride(const struct cnn_tensor *t, int axis, const int64_t *strides)
{
	return axis < 0 || t->dims[axis] == 1 ? 0 : strides[axis];
}

static void plan_walk(struct walk *w, const struct cnn_tensor *a, const struct cnn_tensor *b,
		      const struct cnn_tensor *y)
{
	int64_t sa[CNN_MAX_RANK], sb[CNN_MAX_RANK];

	cnn_strides(a, sa);
	cnn_strides(b, sb);
	w->rank = 0;
	for (int i = 0; i < y->rank; i++) {
		int64_t da = broadcast_stride(a, i - (y->rank - a->rank), sa);
		int64_t db = broadcast_stride(b, i - (y->rank - b->rank), sb);
		int last = w->rank - 1;

		if (y->dims[i] == 1)
			continue;
		if (last >= 0 && w->a[last] == da * y->dims[i] && w->b[last] == db * y->dims[i]) {
			w->dims[last] *= y->dims[i];
		} else {
			last = w->rank++;
			w->dims[last] = y->dims[i];
		}
		w->a[last] = da;
		w->b[last] = db;
	}
}

int cnn_compute_binary(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0];
	struct cnn_tensor b = *c->in[1], *y = c->out[0];
	binary_fn *fn = binary_of(c->node->op, a->dtype);
	int64_t left = cnn_tensor_count(y), n, at[CNN_MAX_RANK] = { 0 };
	size_t size = cnn_dtype_size(a->dtype);
	const char *pa = a->data, *pb = b.data;
	char *py = y->data;
	struct walk w;
	int inner, ret = legacy_shape(c, &b);

	if (ret || !left)
		return ret;
	plan_walk(&w, a, &b, y);
	inner = w.rank - 1;
	n = w.rank ? w.dims[inner] : 1;
	for (; left; left -= n, py += n * size) {
		fn(pa, pb, py, n, w.rank && w.a[inner], w.rank && w.b[inner]);
		for (int i = inner - 1; i >= 0; i--) {
			pa += w.a[i] * (int64_t)size;
			pb += w.b[i] * (int64_t)size;
			if (++at[i] < w.dims[i])
				break;
			at[i] = 0;
			pa -= w.a[i] * w.dims[i] * (int64_t)size;
			pb -= w.b[i] * w.dims[i] * (int64_t)size;
		}
	}
	return CNN_OK;
}

/* ---- Relu and Clip, for any signed or unsigned number ----------------------------------- */

#define CLIP(suffix, type)								\
static void clip_##suffix(const void *px, void *py, int64_t n, const void *plo,		\
			  const void *phi)						\
{											\
	const type *x = px, *lo = plo, *hi = phi;					\
	type *y = py;									\
											\
	for (int64_t i = 0; i < n; i++) {						\
		type v = lo && x[i] < *lo ? *lo : x[i];					\
											\
		y[i] = hi && v > *hi ? *hi : v;						\
	}										\
}

CLIP(f32, float)
CLIP(f64, double)
CLIP(i8, int8_t)
CLIP(u8, uint8_t)
CLIP(i16, int16_t)
CLIP(u16, uint16_t)
CLIP(i32, int32_t)
CLIP(u32, uint32_t)
CLIP(i64, int64_t)
CLIP(u64, uint64_t)

typedef void clip_fn(const void *x, void *y, int64_t n, const void *lo, const void *hi);

static clip_fn *clip_of(enum cnn_dtype t)
{
	static clip_fn *const fn[] = {
		[CNN_FLOAT32] = clip_f32, [CNN_FLOAT64] = clip_f64, [CNN_INT8] = clip_i8,
		[CNN_UINT8] = clip_u8, [CNN_INT16] = clip_i16, [CNN_UINT16] = clip_u16,
		[CNN_INT32] = clip_i32, [CNN_UINT32] = clip_u32, [CNN_INT64] = clip_i64,
		[CNN_UINT64] = clip_u64,
	};

	return t < sizeof(fn) / sizeof(fn[0]) ? fn[t] : NULL;
}

int cnn_infer_relu(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];

	if (!clip_of(x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	return cnn_infer_like(c, x);
}

int cnn_compute_relu(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	static const int64_t zero;	/* all bits 0 is the zero of every type */

	clip_of(x->dtype)(x->data, c->out[0]->data, cnn_tensor_count(x), &zero, NULL);
	return CNN_OK;
}

int cnn_infer_clip(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];

	for (int i = 1; i <= 2; i++) {
		const struct cnn_tensor *t = cnn_in(c, i);

		if (t && (t->dtype != x->dtype || cnn_tensor_count(t) != 1))
			return cnn_op_fail(c, CNN_EINVAL,
					   "%s is not one %s", i == 1 ? "min" : "max",
					   cnn_dtype_name(x->dtype));
	}
	if (x->dtype != CNN_FLOAT32 &&
	    (cnn_node_has(c->node, "min") || cnn_node_has(c->node, "max")))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	return cnn_infer_relu(c);
}

int cnn_compute_clip(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *lo = cnn_in(c, 1), *hi = cnn_in(c, 2);
	float flo = cnn_node_float(c->node, "min", 0), fhi = cnn_node_float(c->node, "max", 0);
	const void *plo = lo ? lo->data : cnn_node_has(c->node, "min") ? &flo : NULL;
	const void *phi = hi ? hi->data : cnn_node_has(c->node, "max") ? &fhi : NULL;

	clip_of(x->dtype)(x->data, c->out[0]->data, cnn_tensor_count(x), plo, phi);
	return CNN_OK;
}

/* ---- activations ------------------------------------------------------------------------ */

int cnn_infer_unary_float(struct cnn_call *c)
{
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	return ret ? ret : cnn_infer_like(c, c->in[0]);
}

int cnn_compute_activation(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_act act = { .kind = CNN_ACT_SIGMOID };

	if (c->node->op == CNN_OP_HARD_SIGMOID) {
		act.kind = CNN_ACT_HARD_SIGMOID;
		act.a = cnn_node_float(c->node, "alpha", 0.2f);
		act.b = cnn_node_float(c->node, "beta", 0.5f);
	} else if (c->node->op == CNN_OP_HARD_SWISH) {
		act.kind = CNN_ACT_HARD_SWISH;
	}
	cnn_act_apply(&act, x->data, c->out[0]->data, cnn_tensor_count(x));
	return CNN_OK;
}
