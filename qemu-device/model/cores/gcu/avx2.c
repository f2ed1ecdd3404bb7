// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Sums of products with vectors of 256 bits. */
#include "mac.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define SIMD(name)	name##_avx2
#define SIMD_TARGET	__attribute__((target("avx2,fma")))
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
#define FLOAT_MAX	_mm256_max_ps
#define MAGNITUDE(v)	_mm256_and_ps(v, AS_FLOATS(SPLAT(INT32_MAX)))
#define SMALLER(a, b)	AS_INTS(_mm256_cmp_ps(a, b, _CMP_LT_OQ))
#define DROP(m, v)	_mm256_andnot_si256(m, v)
/* Is there a lane of the mask with a magnitude other than 0? */
#define ANY_OF(m, v)	(!_mm256_testz_si256(_mm256_and_si256(m, v), SPLAT(INT32_MAX)))
#define LOW(v)		_mm256_castps256_ps128(v)
#define HIGH(v)		_mm256_extractf128_ps(v, 1)
#define JOIN(a, b)	_mm256_set_m128(b, a)
#define TO_DOUBLES	_mm256_cvtps_pd
#define TO_FLOATS	_mm256_cvtpd_ps
#define INTS_LOW(v)	_mm256_cvtepi32_pd(_mm256_castsi256_si128(v))
#define INTS_HIGH(v)	_mm256_cvtepi32_pd(_mm256_extracti128_si256(v, 1))
#define DOUBLE_STORE	_mm256_storeu_pd
#define DOUBLE_ADD	_mm256_add_pd
#define MULTIPLY_ADD	_mm256_fmadd_pd
#define BYTES_TO_INTS(p)	_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p)))

/* Is there a lane with @d above @max, unsigned, and @field not zero? */
SIMD_TARGET static inline bool any_beyond_avx2(__m256i d, int max, __m256i field)
{
	__m256i within = _mm256_cmpeq_epi32(_mm256_min_epu32(d, SPLAT(max)), d);

	within = _mm256_or_si256(within, _mm256_cmpeq_epi32(field, _mm256_setzero_si256()));
	return _mm256_movemask_epi8(within) != -1;
}

#define ANY_BEYOND	any_beyond_avx2
#include "fp16_simd.h"

const struct gcu_simd gcu_avx2 = {
	.integers_ps = 12, .saturating_ps = 30, .floats_ps = 100,
	.integers = integers_avx2, .saturating = saturating_avx2, .floats = floats_avx2,
};
#endif
