// SPDX-License-Identifier: MIT
/* Operators of one tensor that take many types: Relu, Clip, Neg, Abs, Not. */
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
#define NEG_ABS(dtype, suffix, type)						\
	SIGN(neg_##suffix, type, 0 - (uint64_t)v)				\
	SIGN(abs_##suffix, type, v < 0 ? 0 - (uint64_t)v : (uint64_t)v)

CNN_SIGNED(NEG_ABS)
SIGN(neg_f32, float, -v)
SIGN(neg_f64, double, -v)
SIGN(abs_f32, float, fabsf(v))
SIGN(abs_f64, double, fabs(v))
SIGN(not_bool, uint8_t, !v)

static sign_fn *sign_of(enum cnn_op op, enum cnn_dtype t)
{
	static sign_fn *const fn[][2] = {
#define ENTRY(dtype, suffix, type)	[CNN_##dtype] = { neg_##suffix, abs_##suffix },
		CNN_FLOATS(ENTRY) CNN_SIGNED(ENTRY)
#undef ENTRY
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
