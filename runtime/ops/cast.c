// SPDX-License-Identifier: MIT
/* Cast and CastLike between every pair of number types, through blocks of double or 64-bit integers. */
#include <math.h>
#include <string.h>

#include "float16.h"

#define BLOCK	256

enum class { CLASS_FLOAT, CLASS_SIGNED, CLASS_UNSIGNED };

static enum class class_of(enum cnn_dtype t)
{
	switch (t) {
#define CASE(dtype, suffix, type)	case CNN_##dtype:
	CNN_FLOATS(CASE)
	case CNN_FLOAT16:
		return CLASS_FLOAT;
	CNN_SIGNED(CASE)
		return CLASS_SIGNED;
#undef CASE
	default:
		return CLASS_UNSIGNED;
	}
}

/* A block of elements: doubles, or 64-bit integers with the sign the source type has. */
struct block {
	enum class class;
	double f[BLOCK];
	uint64_t i[BLOCK];
};

static double from_half(uint16_t h)
{
	int exp = h >> 10 & 31, frac = h & 1023;
	double v;

	if (exp == 31)
		v = frac ? NAN : INFINITY;
	else if (exp)
		v = (1024 + frac) * 0x1p-24 * (double)(1 << (exp - 1));
	else
		v = frac * 0x1p-24;
	return h & 0x8000 ? -v : v;
}

/* To the nearest integer, ties to even; 0 <= v < 2^32. */
static uint32_t round_even(double v)
{
	return (uint32_t)((v + 0x1p52) - 0x1p52);
}

static uint16_t to_half(double v)
{
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	uint64_t bits;
	uint32_t frac;
	int exp;

	v = fabs(v);
	if (v != v)
		return 0x7e00;
	if (v >= 65520)
		return sign | 0x7c00;
	if (v < 0x1p-14)
		return sign | round_even(v * 0x1p24);
	memcpy(&bits, &v, sizeof(bits));
	exp = (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffff) | 0x3ff0000000000000;
	memcpy(&v, &bits, sizeof(v));
	frac = round_even(v * 1024);		/* 1024..2048: a carry moves into the exponent */
	return sign | (uint16_t)(((exp + 14) << 10) + frac);
}

#define LOAD(member, dtype, type)					\
	case CNN_##dtype:						\
		for (int j = 0; j < n; j++)				\
			b->member[j] = ((const type *)src)[j];		\
		break;
#define LOAD_FLOAT(dtype, suffix, type)	LOAD(f, dtype, type)
#define LOAD_INT(dtype, suffix, type)	LOAD(i, dtype, type)

static void load(struct block *b, enum cnn_dtype t, const void *src, int n)
{
	switch (t) {
	CNN_FLOATS(LOAD_FLOAT)
	CNN_SIGNED(LOAD_INT)
	CNN_UNSIGNED(LOAD_INT)
	LOAD(i, BOOL, uint8_t)
	case CNN_FLOAT16:
		for (int j = 0; j < n; j++)
			b->f[j] = from_half(((const uint16_t *)src)[j]);
		break;
	default:
		break;
	}
}

/* Out of range saturates, NaN is 0: C leaves both undefined. */
static int64_t to_signed(double v)
{
	if (v != v)
		return 0;
	return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

static uint64_t to_unsigned(double v)
{
	return v >= 0x1p64 ? UINT64_MAX : v > 0 ? (uint64_t)v : 0;
}

/* Brings a block into the class of the target type. */
static void convert(struct block *b, enum cnn_dtype to, int n)
{
	enum class target = class_of(to);

	for (int j = 0; j < n; j++) {
		if (to == CNN_BOOL)
			b->i[j] = b->class == CLASS_FLOAT ? b->f[j] != 0 : b->i[j] != 0;
		else if (target == CLASS_FLOAT && b->class == CLASS_SIGNED)
			b->f[j] = (double)(int64_t)b->i[j];
		else if (target == CLASS_FLOAT && b->class == CLASS_UNSIGNED)
			b->f[j] = (double)b->i[j];
		else if (target == CLASS_SIGNED && b->class == CLASS_FLOAT)
			b->i[j] = to_signed(b->f[j]);
		else if (target == CLASS_UNSIGNED && b->class == CLASS_FLOAT)
			b->i[j] = b->f[j] < 0 ? (uint64_t)to_signed(b->f[j]) : to_unsigned(b->f[j]);
	}
}

#define STORE(member, dtype, type)					\
	case CNN_##dtype:						\
		for (int j = 0; j < n; j++)				\
			((type *)dst)[j] = (type)b->member[j];		\
		break;
#define STORE_FLOAT(dtype, suffix, type)	STORE(f, dtype, type)
#define STORE_INT(dtype, suffix, type)		STORE(i, dtype, type)

static void store(const struct block *b, enum cnn_dtype t, void *dst, int n)
{
	switch (t) {
	CNN_FLOATS(STORE_FLOAT)
	CNN_SIGNED(STORE_INT)
	CNN_UNSIGNED(STORE_INT)
	STORE(i, BOOL, uint8_t)
	case CNN_FLOAT16:
		for (int j = 0; j < n; j++)
			((uint16_t *)dst)[j] = to_half(b->f[j]);
		break;
	default:
		break;
	}
}

int cnn_infer_cast(struct cnn_call *c)
{
	int64_t to = c->node->params.cast.to;
	int ret = cnn_infer_like(c, c->in[0]);

	if (to <= 0 || to > CNN_BFLOAT16 || !cnn_dtype_size(to))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute to: type %s (%lld)",
				   to > 0 && to <= CNN_BFLOAT16 ? cnn_dtype_name(to) : "unknown",
				   (long long)to);
	c->out[0]->dtype = to;
	return ret;
}

int cnn_infer_cast_like(struct cnn_call *c)
{
	int ret = cnn_infer_like(c, c->in[0]);

	c->out[0]->dtype = c->in[1]->dtype;
	return ret;
}

/* Of sums to what scales them. */
CNN_CLONES
static void cast_sums(const int32_t *src, float *dst, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		dst[i] = (float)src[i];
}

CNN_CLONES
static void cast_halves(const uint16_t *src, float *dst, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		dst[i] = half_to_float(src[i]);
}

CNN_CLONES
static void cast_floats(const float *src, uint16_t *dst, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		dst[i] = float_to_half(src[i]);
}

void cnn_cast(enum cnn_dtype from, const void *src, enum cnn_dtype to, void *dst, int64_t n)
{
	size_t from_size = cnn_dtype_size(from), to_size = cnn_dtype_size(to);
	struct block b;

	if (from == CNN_INT32 && to == CNN_FLOAT32) {
		cast_sums(src, dst, n);
		return;
	}
	if (from == CNN_FLOAT16 && to == CNN_FLOAT32) {
		cast_halves(src, dst, n);
		return;
	}
	if (from == CNN_FLOAT32 && to == CNN_FLOAT16) {
		cast_floats(src, dst, n);
		return;
	}
	for (int64_t at = 0; at < n; at += BLOCK) {
		int m = n - at < BLOCK ? n - at : BLOCK;

		b.class = class_of(from);
		load(&b, from, (const char *)src + at * from_size, m);
		convert(&b, to, m);
		store(&b, to, (char *)dst + at * to_size, m);
	}
}

static void cast_block(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];

	cnn_cast(x->dtype, (char *)x->data + (size_t)first * cnn_dtype_size(x->dtype),
		 y->dtype, (char *)y->data + (size_t)first * cnn_dtype_size(y->dtype), n);
}

int cnn_compute_cast(struct cnn_call *c)
{
	if (c->in[0]->dtype == c->out[0]->dtype)
		return cnn_compute_copy(c);
	cnn_for_blocks(c, cnn_tensor_count(c->in[0]), CNN_BLOCK, cast_block, c);
	return CNN_OK;
}

double cnn_tensor_element(const struct cnn_tensor *t, int64_t i)
{
	double v;

	if (t->dtype == CNN_FLOAT32)
		return (double)((const float *)t->data)[i];
	cnn_cast(t->dtype, (const uint8_t *)t->data + (size_t)i * cnn_dtype_size(t->dtype),
		 CNN_FLOAT64, &v, 1);
	return v;
}
