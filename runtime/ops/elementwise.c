// SPDX-License-Identifier: MIT
/* Operators of one tensor that take many types: Relu, Clip, Neg, Abs, Sign, Not and their like. */
#include <math.h>

#include "ops.h"

#define CLIP(dtype, suffix, type)							\
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

CNN_NUMBERS(CLIP)

typedef void clip_fn(const void *x, void *y, int64_t n, const void *lo, const void *hi);

static clip_fn *clip_of(enum cnn_dtype t)
{
	static clip_fn *const fn[] = {
#define ENTRY(dtype, suffix, type)	[CNN_##dtype] = clip_##suffix,
		CNN_NUMBERS(ENTRY)
#undef ENTRY
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
	    (c->node->params.clip.min != -INFINITY || c->node->params.clip.max != INFINITY))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	return cnn_infer_relu(c);
}

int cnn_compute_clip(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *lo = cnn_in(c, 1), *hi = cnn_in(c, 2);
	const struct cnn_clip_params *p = &c->node->params.clip;
	const void *plo = lo ? lo->data : p->min != -INFINITY ? &p->min : NULL;
	const void *phi = hi ? hi->data : p->max != INFINITY ? &p->max : NULL;

	clip_of(x->dtype)(x->data, c->out[0]->data, cnn_tensor_count(x), plo, phi);
	return CNN_OK;
}

typedef void sign_fn(const void *x, void *y, int64_t n);

#define SIGN(name, type, ytype, expr)				\
static void name(const void *px, void *py, int64_t n)		\
{								\
	const type *x = px;					\
	ytype *y = py;						\
								\
	for (int64_t i = 0; i < n; i++) {			\
		type v = x[i];					\
								\
		y[i] = (ytype)(expr);				\
	}							\
}

#define SIGN_FLOAT(dtype, suffix, type)						\
	SIGN(neg_##suffix, type, type, -v)					\
	SIGN(abs_##suffix, type, type, fabs(v))					\
	SIGN(sign_##suffix, type, type, v > 0 ? 1 : v < 0 ? -1 : v)		\
	SIGN(is_nan_##suffix, type, uint8_t, v != v)				\
	SIGN(never_##suffix, type, uint8_t, v > INFINITY)			\
	SIGN(is_positive_inf_##suffix, type, uint8_t, v == INFINITY)		\
	SIGN(is_negative_inf_##suffix, type, uint8_t, v == -INFINITY)		\
	SIGN(is_inf_##suffix, type, uint8_t, fabs(v) == INFINITY)

/* The smallest integer has no negative: it wraps to itself. */
#define SIGN_SIGNED(dtype, suffix, type)					\
	SIGN(neg_##suffix, type, type, 0 - (uint64_t)v)				\
	SIGN(abs_##suffix, type, type, v < 0 ? 0 - (uint64_t)v : (uint64_t)v)	\
	SIGN(sign_##suffix, type, type, (v > 0) - (v < 0))			\
	SIGN(flip_##suffix, type, type, ~v)

#define SIGN_UNSIGNED(dtype, suffix, type)					\
	SIGN(abs_##suffix, type, type, v)					\
	SIGN(sign_##suffix, type, type, v > 0)					\
	SIGN(flip_##suffix, type, type, ~v)

CNN_FLOATS(SIGN_FLOAT)
CNN_SIGNED(SIGN_SIGNED)
CNN_UNSIGNED(SIGN_UNSIGNED)
SIGN(not_bool, uint8_t, uint8_t, !v)

#define SIGNED(name)							\
	[CNN_INT8] = name##_i8, [CNN_INT16] = name##_i16,		\
	[CNN_INT32] = name##_i32, [CNN_INT64] = name##_i64
#define UNSIGNED(name)							\
	[CNN_UINT8] = name##_u8, [CNN_UINT16] = name##_u16,		\
	[CNN_UINT32] = name##_u32, [CNN_UINT64] = name##_u64
#define FLOATS(name)	[CNN_FLOAT32] = name##_f32, [CNN_FLOAT64] = name##_f64

/* IsInf may be asked for one of the two infinities only. */
static sign_fn *is_inf_of(const struct cnn_is_inf_params *p, enum cnn_dtype t)
{
	static sign_fn *const fn[2][2][CNN_UINT64 + 1] = {
		{ { FLOATS(never) }, { FLOATS(is_negative_inf) } },
		{ { FLOATS(is_positive_inf) }, { FLOATS(is_inf) } },
	};

	return fn[p->positive][p->negative][t];
}

static sign_fn *sign_of(const struct cnn_node *n, enum cnn_dtype t)
{
	static sign_fn *const fn[CNN_OP_COUNT][CNN_UINT64 + 1] = {
		[CNN_OP_ABS] = { FLOATS(abs), SIGNED(abs), UNSIGNED(abs) },
		[CNN_OP_BITWISE_NOT] = { SIGNED(flip), UNSIGNED(flip) },
		[CNN_OP_IS_NAN] = { FLOATS(is_nan) },
		[CNN_OP_NEG] = { FLOATS(neg), SIGNED(neg) },
		[CNN_OP_NOT] = { [CNN_BOOL] = not_bool },
		[CNN_OP_SIGN] = { FLOATS(sign), SIGNED(sign), UNSIGNED(sign) },
	};

	if (t > CNN_UINT64)
		return NULL;
	return n->op == CNN_OP_IS_INF ? is_inf_of(&n->params.is_inf, t) : fn[n->op][t];
}

int cnn_infer_sign(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];

	if (!sign_of(c->node, x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	return cnn_infer_like(c, x);
}

/* IsNaN and IsInf */
int cnn_infer_is(struct cnn_call *c)
{
	int ret = cnn_infer_sign(c);

	c->out[0]->dtype = CNN_BOOL;
	return ret;
}

int cnn_compute_sign(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];

	sign_of(c->node, x->dtype)(x->data, c->out[0]->data, cnn_tensor_count(x));
	return CNN_OK;
}
