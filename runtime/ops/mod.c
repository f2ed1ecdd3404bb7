// SPDX-License-Identifier: MIT
/* Mod: of integers with the sign of the divisor, or, as floats always, with that of the dividend. */
#include <math.h>

#include "binary.h"

/* A remainder of a division by 0 is 0, as the quotient is. */
static inline int64_t remainder_of(int64_t u, int64_t v)
{
	return v == 0 || v == -1 ? 0 : u % v;
}

static inline int64_t modulus_of(int64_t u, int64_t v)
{
	int64_t r = remainder_of(u, v);

	return r && (r < 0) != (v < 0) ? r + v : r;
}

#define MOD_SIGNED(suffix, type)					\
	BINARY(, modulus_##suffix, type, type, modulus_of(u, v))	\
	BINARY(, remainder_##suffix, type, type, remainder_of(u, v))
#define MOD_UNSIGNED(suffix, type)	\
	BINARY(, modulus_##suffix, type, type, v ? u % v : 0)

MOD_SIGNED(i8, int8_t)
MOD_SIGNED(i16, int16_t)
MOD_SIGNED(i32, int32_t)
MOD_SIGNED(i64, int64_t)
MOD_UNSIGNED(u8, uint8_t)
MOD_UNSIGNED(u16, uint16_t)
MOD_UNSIGNED(u32, uint32_t)
MOD_UNSIGNED(u64, uint64_t)
/* fmod() is exact, and so the same everywhere. */
BINARY(, remainder_f32, float, float, fmodf(u, v))
BINARY(, remainder_f64, double, double, fmod(u, v))

#define UNSIGNED							\
	[CNN_UINT8] = modulus_u8, [CNN_UINT16] = modulus_u16,		\
	[CNN_UINT32] = modulus_u32, [CNN_UINT64] = modulus_u64
#define SIGNED(name)							\
	[CNN_INT8] = name##_i8, [CNN_INT16] = name##_i16,		\
	[CNN_INT32] = name##_i32, [CNN_INT64] = name##_i64

static cnn_binary_fn *mod_of(const struct cnn_node *n, enum cnn_dtype t)
{
	static cnn_binary_fn *const fn[2][CNN_UINT64 + 1] = {
		{ UNSIGNED, SIGNED(modulus) },
		{ UNSIGNED, SIGNED(remainder),
		  [CNN_FLOAT32] = remainder_f32, [CNN_FLOAT64] = remainder_f64 },
	};

	return t <= CNN_UINT64 ? fn[n->params.mod.fmod][t] : NULL;
}

int cnn_infer_mod(struct cnn_call *c)
{
	enum cnn_dtype t = c->in[0]->dtype;
	int ret;

	if (!c->node->params.mod.fmod && (t == CNN_FLOAT32 || t == CNN_FLOAT64))
		return cnn_op_fail(c, CNN_EINVAL, "attribute fmod is 0, type %s needs 1",
				   cnn_dtype_name(t));
	ret = cnn_same_types(c, mod_of(c->node, t));
	return ret ? ret : cnn_infer_broadcast(c);
}

int cnn_compute_mod(struct cnn_call *c)
{
	cnn_run_binary(c, mod_of(c->node, c->in[0]->dtype), c->in[0], c->in[1], true);
	return CNN_OK;
}
