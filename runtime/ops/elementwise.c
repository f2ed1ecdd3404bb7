// SPDX-License-Identifier: MIT
/* Operators of one tensor that take many types: Relu, Clip, Neg, Abs, Not. */
#include <math.h>

#include "ops.h"

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

/* ---- Neg, Abs and Not ------------------------------------------------------------------- */

typedef void sign_fn(const void *x, void *y, int64_t n);

#define SIGN(name, type, expr)					\
static void name(const void *px, void *py, int64_t n)		\
{								\
	const type *x = px;					\
	type *y = py;						\
								\
	for (int64_t i = 0; i < n; i++) {			\
		type v = x[i];					\
								\
		y[i] = (type)(expr);				\
	}							\
}

/* The smallest integer has no negative: it wraps to itself. */
SIGN(neg_f32, float, -v)
SIGN(neg_f64, double, -v)
SIGN(neg_i8, int8_t, 0 - (uint64_t)v)
SIGN(neg_i16, int16_t, 0 - (uint64_t)v)
SIGN(neg_i32, int32_t, 0 - (uint64_t)v)
SIGN(neg_i64, int64_t, 0 - (uint64_t)v)
SIGN(abs_f32, float, fabsf(v))
SIGN(abs_f64, double, fabs(v))
SIGN(abs_i8, int8_t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v)
SIGN(abs_i16, int16_t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v)
SIGN(abs_i32, int32_t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v)
SIGN(abs_i64, int64_t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v)
SIGN(not_bool, uint8_t, !v)

static sign_fn *sign_of(enum cnn_op op, enum cnn_dtype t)
{
	static sign_fn *const fn[][2] = {
		[CNN_FLOAT32] = { neg_f32, abs_f32 }, [CNN_FLOAT64] = { neg_f64, abs_f64 },
		[CNN_INT8] = { neg_i8, abs_i8 }, [CNN_INT16] = { neg_i16, abs_i16 },
		[CNN_INT32] = { neg_i32, abs_i32 }, [CNN_INT64] = { neg_i64, abs_i64 },
	};

	if (op == CNN_OP_NOT)
		return t == CNN_BOOL ? not_bool : NULL;
	return t < sizeof(fn) / sizeof(fn[0]) ? fn[t][op == CNN_OP_ABS] : NULL;
}

int cnn_infer_sign(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];

	if (!sign_of(c->node->op, x->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(x->dtype));
	return cnn_infer_like(c, x);
}

int cnn_compute_sign(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];

	sign_of(c->node->op, x->dtype)(x->data, c->out[0]->data, cnn_tensor_count(x));
	return CNN_OK;
}
