// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Sums of products with vectors of 512 bits. */
#include "mac.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include "ops512.h"

#define SIMD(name)	name##_avx512
#define SIMD_TARGET	__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#define CHANNELS	2
#define MADD(sum, x, w)	ADD(sum, _mm512_madd_epi16(x, w))
#include "add_simd.h"
#include "saturate_simd.h"

#define FLOATS		__m512
#define INTS		__m512i
#define DOUBLES		__m512d
#define SRLI		_mm512_srli_epi32
#define SELECT(m, a, b)	_mm512_mask_mov_epi32(b, m, a)
#define AS_FLOATS	_mm512_castsi512_ps
#define AS_INTS		_mm512_castps_si512
#define FLOAT_LOAD	_mm512_loadu_ps
#define FLOAT_SPLAT	_mm512_set1_ps
#define FLOAT_MUL	_mm512_mul_ps
#define TRUNCATE	_mm512_cvttps_epi32
#define ROUND		_mm512_cvtps_epi32
#define LOW(v)		_mm512_castps512_ps256(v)
#define HIGH(v)		_mm512_extractf32x8_ps(v, 1)
#define JOIN(a, b)	_mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1)
#define TO_DOUBLES	_mm512_cvtps_pd
#define TO_FLOATS	_mm512_cvtpd_ps
#define INTS_LOW(v)	_mm512_cvtepi32_pd(_mm512_castsi512_si256(v))
#define INTS_HIGH(v)	_mm512_cvtepi32_pd(_mm512_extracti32x8_epi32(v, 1))
#define DOUBLE_STORE	_mm512_storeu_pd
#define DOUBLE_ADD	_mm512_add_pd
#define MULTIPLY_ADD	_mm512_fmadd_pd
#define BYTES_TO_INTS(p)	_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define FLOAT_MAX	_mm512_max_ps
#define MAGNITUDE	_mm512_abs_ps
#define MASK		__mmask16
#define REAL(p)		_mm512_test_epi32_mask(LOAD(p), LOAD(p))
#define KEEP(m, v)	_mm512_maskz_mov_epi32(m, v)
#define DROP(m, v)	_mm512_maskz_mov_epi32(_knot_mask16(m), v)
#define GREATER		_mm512_cmpgt_epi32_mask
#define SMALLER(a, b)	_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
/* Is there a lane of the mask with a magnitude other than 0? */
#define ANY_OF(m, v)	_mm512_mask_test_epi32_mask(m, v, SPLAT(INT32_MAX))

/* Is there a lane with @d above @max, unsigned, and @field not zero? */
SIMD_TARGET static inline bool any_beyond_avx512(__m512i d, int max, __m512i field)
{
	return _mm512_mask_cmpgt_epu32_mask(_mm512_test_epi32_mask(field, field), d, SPLAT(max));
}

#define ANY_BEYOND	any_beyond_avx512
#include "fp16_simd.h"

const struct gcu_simd gcu_avx512 = {
	.integers_ps = 6, .saturating_ps = 15, .floats_ps = 60,
	.integers = integers_avx512, .saturating = saturating_avx512, .floats = floats_avx512,
};

void gcu_floats_avx512(const struct gcu_batch *b, struct gcu_tile tile)
{
	floats_avx512(b, tile);
}
#endif
