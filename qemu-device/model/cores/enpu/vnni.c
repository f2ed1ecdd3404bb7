// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Products of four channels with AVX-512 VNNI, which multiplies unsigned by signed bytes.  So 128
 * is added to the inputs, and the psums begin with -128 times the sum of their weights.
 */
#include "simd.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define SIMD_TARGET	__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni")))
#define STEP		4u	/* channels */

static void split(enpu_steps *to, const struct enpu_pad *pad, uint32_t count)
{
	const __m128i bias = _mm_set1_epi8((char)0x80);

	for (uint32_t i = 0; i < count; i++)
		_mm_storeu_si128((__m128i *)to[i],
				 _mm_xor_si128(_mm_loadu_si128((const __m128i *)pad->point[i]),
					       bias));
}

/* The weights of up to four channels, @channel bytes apart, alternating. */
static void pack_four(__m128i *to, const int8_t *weight, size_t channel, uint32_t channels)
{
	__m128i w[STEP], low, high;

	for (uint32_t i = 0; i < STEP; i++)
		w[i] = i < channels ? _mm_loadu_si128((const __m128i *)(weight + i * channel)) :
				      _mm_setzero_si128();
	low = _mm_unpacklo_epi8(w[0], w[1]);
	high = _mm_unpacklo_epi8(w[2], w[3]);
	_mm_storeu_si128(to, _mm_unpacklo_epi16(low, high));
	_mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low, high));
	low = _mm_unpackhi_epi8(w[0], w[1]);
	high = _mm_unpackhi_epi8(w[2], w[3]);
	_mm_storeu_si128(to + 2, _mm_unpacklo_epi16(low, high));
	_mm_storeu_si128(to + 3, _mm_unpackhi_epi16(low, high));
}

/* Psums of a group without products: -128 times the sums of @count steps. */
SIMD_TARGET static void start(uint32_t psum[ENPU_LANES], const uint32_t (*step)[ENPU_LANES],
			      uint32_t count)
{
	const __m512i bias = _mm512_set1_epi8((char)0x80);
	__m512i sum = _mm512_setzero_si512();

	for (uint32_t i = 0; i < count; i++)
		sum = _mm512_dpbusd_epi32(sum, bias, _mm512_loadu_si512(step[i]));
	_mm512_storeu_si512(psum, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
}

static void pack(struct enpu_factors *f, uint32_t (*to)[ENPU_LANES], const int8_t *weight)
{
	size_t word = (size_t)f->groups * ENPU_LANES, channel = f->points * word;

	f->weight = (const uint32_t (*)[ENPU_LANES])to;
	for (uint32_t g = 0; g < f->groups; g++) {
		const uint32_t (*begin)[ENPU_LANES] = (const uint32_t (*)[ENPU_LANES])to;

		for (uint32_t c = 0; c < f->channels; c += STEP)
			for (uint32_t n = 0; n < f->points; n++, to++)
				pack_four((__m128i *)to,
					  weight + c * channel + n * word + g * ENPU_LANES,
					  channel, f->channels - c);
		start(f->start[g], begin, (uint32_t)(to - (uint32_t (*)[ENPU_LANES])begin));
	}
}

#define SIMD(name)	name##_avx512
#define VECTOR		__m512i
#define LANES		__v16si
#define MAC		_mm512_dpbusd_epi32
#define SPLAT		_mm512_set1_epi32
#define BLOCK		8
#define GROUPS		2
#include "conv_simd.h"

/* The last instruction saturates. */
SIMD_TARGET static __m128i requantise_word(__m512i v, const __m512i k[4])
{
	const __m512i low = _mm512_set1_epi32(INT8_MIN), high = _mm512_set1_epi32(INT8_MAX);
	__m512i half = _mm512_and_si512(_mm512_srav_epi32(v, k[1]), k[2]);

	v = _mm512_add_epi32(_mm512_srav_epi32(v, k[0]), half);
	v = _mm512_min_epi32(_mm512_max_epi32(v, low), high);
	return _mm512_cvtsepi32_epi8(_mm512_sllv_epi32(v, k[3]));
}

SIMD_TARGET static void requantise(const uint32_t (*psum)[ENPU_LANES],
				   const struct enpu_scale *scale, uint32_t bits,
				   int8_t (*value)[ENPU_LANES], uint32_t count)
{
	const __m512i bias = _mm512_loadu_si512(scale->bias), k[4] = {
		_mm512_loadu_si512(scale->right), _mm512_loadu_si512(scale->last),
		_mm512_loadu_si512(scale->half), _mm512_loadu_si512(scale->left),
	};
	const __m128i unused = _mm_cvtsi32_si128(32 - (int)bits);

	for (uint32_t i = 0; i < count; i++) {
		__m512i v = _mm512_add_epi32(_mm512_loadu_si512(psum[i]), bias);

		v = _mm512_sra_epi32(_mm512_sll_epi32(v, unused), unused);
		_mm_storeu_si128((__m128i *)value[i], requantise_word(v, k));
	}
}

const struct enpu_simd *enpu_vnni(void)
{
	static const struct enpu_simd vnni = {
		STEP, 100, pack, split, conv_avx512, requantise,
	};

	return __builtin_cpu_supports("avx512vnni") ? &vnni : NULL;
}
#else
const struct enpu_simd *enpu_vnni(void)
{
	return NULL;
}
#endif
