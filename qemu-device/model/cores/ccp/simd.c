// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The inner loops for each vector width, and the choice at run time. */
#include <string.h>

#include "ccp_mutant.h"
#include "simd.h"

/* Floats of a map's row, and masks for them; _mem: aligned to a float only. */
typedef float row2 __attribute__((vector_size(8), may_alias));
typedef float row4 __attribute__((vector_size(16), may_alias));
typedef float row8 __attribute__((vector_size(32), may_alias));
typedef float row2_mem __attribute__((vector_size(8), aligned(4), may_alias));
typedef float row4_mem __attribute__((vector_size(16), aligned(4), may_alias));
typedef float row8_mem __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t bits4 __attribute__((vector_size(16), may_alias));
typedef int32_t bits8 __attribute__((vector_size(32), may_alias));

#define JOIN4(a, b)	__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define HALF4(v, n)	__builtin_shufflevector(v, v, n, (n) + 1, (n) + 2, (n) + 3)

/* Eight floats or eight int32_t. */
#define SPLAT8(n)	__extension__({ \
	__auto_type n_ = (n); \
\
	(__typeof__(n_) __attribute__((vector_size(32)))){ n_, n_, n_, n_, n_, n_, n_, n_ }; \
})
#define KEEP(type, new, old, mask)	((type)(((new) & (mask)) | ((old) & ~(mask))))

#define UNROLL	_Pragma("GCC unroll 16")

/* Keep a vector in a register instead of loading it again for each use. */
#if defined(__x86_64__)
#define IN_REGISTER(v)	__asm__("" : "+v"(v))
#elif defined(__aarch64__)
#define IN_REGISTER(v)	__asm__("" : "+w"(v))
#else
#define IN_REGISTER(v)	((void)(v))
#endif

#define CCP_BLOCK_CHANNELS	4	/* output channels computed together */

/**
 * struct ccp_block - sums that are computed together: of some output channels, vectors of a tile.
 * @weight: weights of each output channel from the slice's first channel on
 * @bias: its bias
 * @first, @channels: output channels of the EXEC
 * @i, @n: vectors, as struct ccp_conv numbers them
 * @column: first lane, where a vector has fewer than a row
 */
struct ccp_block {
	const float *weight[CCP_BLOCK_CHANNELS];
	float bias[CCP_BLOCK_CHANNELS];
	uint32_t first, channels, i, n, column;
};

/* An input row outside the map. */
static const float zeros[CNNACC_CCP_KERNEL_MAX + CNNACC_CCP_LANES * CNNACC_CCP_STRIDE_MAX];

/* Indices of the inputs of a block, to mask the last one. */
static const int32_t fc_input[CNNACC_CCP_FC_LANES] __attribute__((aligned(64))) = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};

/*
 * Fill a tile from its input rows without vectors: for loads of eight that could leave the bank,
 * and for strides above 2.
 */
static void ccp_conv_fill_slow(const struct ccp_conv *p, float *tile, const float *const *row)
{
	for (uint32_t s = 0; s < p->kw; s++)
		for (uint32_t q = 0; q < p->tile_rows; q++, tile += p->vector_floats)
			for (uint32_t i = 0; i < p->vector_floats; i++) {
				size_t below = (size_t)(i / p->lanes) * p->height * p->sy;
				int64_t x = s + i % p->lanes * p->sx;
				bool exists = p->first_column + x >= 0 &&
					      p->first_column + x < p->m.iw;

				tile[i] = exists ? row[q + below][x] : 0.0f;
			}
}

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

/* For the generic forms the compiler copies each half once more. */
#define JOIN8(a, b)	_mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1)
#define LOW8(v)		_mm512_castps512_ps256(v)
#define HIGH8(v)	_mm512_extractf32x8_ps(v, 1)

#define SIMD(name)	name##_avx512
#define SIMD_WIDTH	16
#define SIMD_BLOCK	4
#define SIMD_TARGET	__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#include "conv_simd.h"
#include "conv_direct.h"
#include "fc_simd.h"
#undef SIMD
#undef SIMD_WIDTH
#undef SIMD_BLOCK
#undef SIMD_TARGET

#define SIMD(name)	name##_avx2
#define SIMD_WIDTH	8
#define SIMD_BLOCK	2
#define SIMD_TARGET	__attribute__((target("avx2")))
#include "conv_simd.h"
#include "conv_direct.h"
#include "fc_simd.h"
#undef SIMD
#undef SIMD_WIDTH
#undef SIMD_BLOCK
#undef SIMD_TARGET
#endif

/* SSE2, NEON, or what the compiler makes of vectors elsewhere. */
#define SIMD(name)	name##_any
#define SIMD_WIDTH	4
#ifdef __aarch64__
#define SIMD_BLOCK	4
#else
#define SIMD_BLOCK	2
#endif
#define SIMD_TARGET
#include "conv_simd.h"
#include "conv_direct.h"
#include "fc_simd.h"

#define PATH(id, width, speed) { width, speed, fill_##id, add_##id, direct_##id, fc_##id }

const struct ccp_simd *ccp_simd(uint32_t simd)
{
	static const struct ccp_simd paths[] = {
		[CM_SIMD_BASELINE] = PATH(any, 4, 500),
#if defined(__x86_64__) && !defined(CM_PORTABLE)
		[CM_SIMD_AVX2] = PATH(avx2, 8, 100),
		[CM_SIMD_AVX512] = PATH(avx512, 16, 50),
#endif
	};

	return &paths[simd];
}
