// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Row results with vectors of 128, 256 and 512 bits, and the choice at run time. */
#include "imc.h"
#include "imc_mutant.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define SIMD(name)	name##_avx512
#define SIMD_TARGET	__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#define LANES		16
#define MADD(x, w)	_mm512_madd_epi16((__m512i)(x), (__m512i)(w))
#include "row_simd.h"
#undef SIMD
#undef SIMD_TARGET
#undef LANES
#undef MADD

#define SIMD(name)	name##_avx2
#define SIMD_TARGET	__attribute__((target("avx2")))
#define LANES		8
#define MADD(x, w)	_mm256_madd_epi16((__m256i)(x), (__m256i)(w))
#include "row_simd.h"
#undef SIMD
#undef SIMD_TARGET
#undef LANES
#undef MADD

#define MADD(x, w)	_mm_madd_epi16((__m128i)(x), (__m128i)(w))
#else
typedef int32_t halves __attribute__((vector_size(16)));

/* Sums of two products of 16-bit integers; the shift right keeps the sign. */
#define LOW_HALF(v)	((halves)((v) << 16) >> 16)
#define HIGH_HALF(v)	((halves)(v) >> 16)
#define MADD(x, w) \
	(LOW_HALF(x) * LOW_HALF(w) + HIGH_HALF(x) * HIGH_HALF(w))
#endif

#define SIMD(name)	name##_any
#define SIMD_TARGET
#define LANES		4
#include "row_simd.h"

const struct imc_simd *imc_simd(uint32_t simd)
{
	static const struct imc_simd any = {
		.integer_ps = 25, .float_ps = 60, .integers = integers_any, .floats = floats_any,
	};
#if defined(__x86_64__) && !defined(CM_PORTABLE)
	static const struct imc_simd avx2 = {
		.integer_ps = 12, .float_ps = 27, .integers = integers_avx2,
		.floats = floats_avx2,
	};
	static const struct imc_simd avx512 = {
		.integer_ps = 6, .float_ps = 14, .integers = integers_avx512,
		.floats = floats_avx512,
	};

	if (simd == CM_SIMD_AVX512)
		return &avx512;
	if (simd == CM_SIMD_AVX2)
		return &avx2;
#endif
	(void)simd;
	return &any;
}
