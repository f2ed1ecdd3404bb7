// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Products of pairs of channels in 16 bits, plain C, and the choice at run time. */
#include "simd.h"

static void requantise_any(const uint32_t (*psum)[ENPU_LANES], const struct enpu_scale *scale,
			   uint32_t bits, int8_t (*value)[ENPU_LANES], uint32_t count)
{
	enpu_requantise_words(psum, scale, bits, value, count);
}

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define STEP	2u	/* channels */

/* Bytes to 16 bits, lower half and upper half. */
static void widen(__m128i bytes, __m128i *to)
{
	const __m128i zero = _mm_setzero_si128();

	_mm_storeu_si128(to, _mm_srai_epi16(_mm_unpacklo_epi8(zero, bytes), 8));
	_mm_storeu_si128(to + 1, _mm_srai_epi16(_mm_unpackhi_epi8(zero, bytes), 8));
}

static void split(enpu_steps *to, const struct enpu_pad *pad, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		widen(_mm_loadu_si128((const __m128i *)pad->point[i]), (__m128i *)to[i]);
}

/* The weights of two channels, alternating; @second may be missing. */
static void pack_pair(__m128i *to, const int8_t *first, const int8_t *second)
{
	__m128i a = _mm_loadu_si128((const __m128i *)first);
	__m128i b = second ? _mm_loadu_si128((const __m128i *)second) : _mm_setzero_si128();

	widen(_mm_unpacklo_epi8(a, b), to);
	widen(_mm_unpackhi_epi8(a, b), to + 2);
}

static void pack(struct enpu_factors *f, uint32_t (*to)[ENPU_LANES], const int8_t *weight)
{
	size_t word = (size_t)f->groups * ENPU_LANES, channel = f->points * word;

	f->weight = (const uint32_t (*)[ENPU_LANES])to;
	memset(f->start, 0, sizeof(f->start));
	for (uint32_t g = 0; g < f->groups; g++)
		for (uint32_t c = 0; c < f->channels; c += STEP)
			for (uint32_t n = 0; n < f->points; n++, to++) {
				const int8_t *w = weight + c * channel + n * word + g * ENPU_LANES;

				pack_pair((__m128i *)to, w,
					  c + 1 < f->channels ? w + channel : NULL);
			}
}

#define SIMD(name)	name##_avx2
#define VECTOR		__m256i
#define LANES		__v8si
#define MAC(sum, a, b)	_mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
#define SPLAT		_mm256_set1_epi32
#define SIMD_TARGET	__attribute__((target("avx2")))
#define BLOCK		4
#define GROUPS		1
#include "conv_simd.h"

SIMD_TARGET static void requantise_avx2(const uint32_t (*psum)[ENPU_LANES],
					const struct enpu_scale *scale, uint32_t bits,
					int8_t (*value)[ENPU_LANES], uint32_t count)
{
	enpu_requantise_words(psum, scale, bits, value, count);
}

#undef SIMD
#undef VECTOR
#undef LANES
#undef MAC
#undef SPLAT
#undef SIMD_TARGET
#undef BLOCK

#define SIMD(name)	name##_sse2
#define VECTOR		__m128i
#define LANES		__v4si
#define MAC(sum, a, b)	_mm_add_epi32(sum, _mm_madd_epi16(a, b))
#define SPLAT		_mm_set1_epi32
#define SIMD_TARGET
#define BLOCK		2
#include "conv_simd.h"

static const struct enpu_simd sse2 = { STEP, 800, pack, split, conv_sse2, requantise_any };
static const struct enpu_simd avx2 = { STEP, 300, pack, split, conv_avx2, requantise_avx2 };

static const struct enpu_simd *vectors(uint32_t simd)
{
	if (simd == CM_SIMD_AVX512 && enpu_vnni())
		return enpu_vnni();
	return simd == CM_SIMD_BASELINE ? &sse2 : &avx2;
}
#else
static const struct enpu_simd *vectors(uint32_t simd)
{
	static const struct enpu_simd any = { .word_ps = 4000, .requantise = requantise_any };

	(void)simd;
	return &any;
}
#endif

const struct enpu_simd *enpu_simd(uint32_t simd)
{
	return vectors(simd);
}
