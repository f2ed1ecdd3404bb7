// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Sums of products with vectors of 256 bits. */
#include "mac.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define SIMD(name)	name##_avx2
#define SIMD_TARGET	__attribute__((target("avx2")))
#define LANES		8
#define KERNELS		4
#define CHANNELS	2
#define VECTOR		__m256i
#define LOAD(p)		_mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v)	_mm256_storeu_si256((__m256i *)(p), v)
#define SPLAT(n)	_mm256_set1_epi32(n)
#define ADD		_mm256_add_epi32
#define SUB		_mm256_sub_epi32
#define AND		_mm256_and_si256
#define MIN		_mm256_min_epi32
#define MAX		_mm256_max_epi32
#define SRAI16		_mm256_srai_epi16
#define SRAI32		_mm256_srai_epi32
#define SLLI		_mm256_slli_epi32
#define GREATER		_mm256_cmpgt_epi32
#define MADD(sum, x, w)	ADD(sum, _mm256_madd_epi16(x, w))
#define FIX_LOW(low, high, max, min) \
	_mm256_andnot_si256(GREATER(min, high), \
			    _mm256_or_si256(low, _mm256_srli_epi32(GREATER(high, max), 24)))
#include "add_simd.h"
#include "saturate_simd.h"

#define FLOATS		__m256
#define INTS		__m256i
#define MASK		__m256i
#define DOUBLES		__m256d
#define SRLI		_mm256_srli_epi32
#define SELECT(m, a, b)	_mm256_blendv_epi8(b, a, m)
#define KEEP		AND
#define REAL		LOAD
#define AS_FLOATS	_mm256_castsi256_ps
#define AS_INTS		_mm256_castps_si256
#define FLOAT_LOAD	_mm256_loadu_ps
#define FLOAT_SPLAT	_mm256_set1_ps
#define FLOAT_MUL	_mm256_mul_ps
#define TRUNCATE	_mm256_cvttps_epi32
#define ROUND		_mm256_cvtps_epi32
#define NEGATIVE(v)	AS_INTS(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ))
#define LOW(v)		_mm256_castps256_ps128(v)
#define HIGH(v)		_mm256_extractf128_ps(v, 1)
#define JOIN(a, b)	_mm256_set_m128(b, a)
#define TO_DOUBLES	_mm256_cvtps_pd
#define TO_FLOATS	_mm256_cvtpd_ps
#define INTS_LOW(v)	_mm256_cvtepi32_pd(_mm256_castsi256_si128(v))
#define INTS_HIGH(v)	_mm256_cvtepi32_pd(_mm256_extracti128_si256(v, 1))
#define DOUBLE_STORE	_mm256_storeu_pd
#define DOUBLE_SPLAT	_mm256_set1_pd
#define DOUBLE_ADD	_mm256_add_pd
#define DOUBLE_SUB	_mm256_sub_pd
#define DOUBLE_MUL	_mm256_mul_pd
#define DOUBLE_MAX	_mm256_max_pd
#define DOUBLE_BITS(n)	_mm256_castsi256_pd(_mm256_set1_epi64x(n))
#define DOUBLE_EXPONENT(v)	_mm256_and_pd(v, DOUBLE_BITS(0x7ff0000000000000))
#define BYTES_TO_INTS(p)	_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p)))

/* Lanes whose magnitude is below the power, for two vectors of doubles. */
SIMD_TARGET static inline __m256i smaller_avx2(const __m256d y[2], const __m256d power[2])
{
	__m256d a = _mm256_cmp_pd(_mm256_and_pd(y[0], DOUBLE_BITS(INT64_MAX)), power[0], _CMP_LT_OQ);
	__m256d b = _mm256_cmp_pd(_mm256_and_pd(y[1], DOUBLE_BITS(INT64_MAX)), power[1], _CMP_LT_OQ);
	__m256 both = _mm256_shuffle_ps(_mm256_castpd_ps(a), _mm256_castpd_ps(b), 0x88);

	return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xd8);
}

/* Is there a lane with @d above @max, unsigned, and @field not zero? */
SIMD_TARGET static inline bool any_beyond_avx2(__m256i d, int max, __m256i field)
{
	__m256i within = _mm256_cmpeq_epi32(_mm256_min_epu32(d, SPLAT(max)), d);

	within = _mm256_or_si256(within, _mm256_cmpeq_epi32(field, _mm256_setzero_si256()));
	return _mm256_movemask_epi8(within) != -1;
}

#define SMALLER		smaller_avx2
#define ANY_BEYOND	any_beyond_avx2
#include "fp16_simd.h"

const struct gcu_simd gcu_avx2 = {
	.integers_ps = 12, .saturating_ps = 30, .floats_ps = 100,
	.integers = integers_avx2, .saturating = saturating_avx2, .floats = floats_avx2,
};
#endif
