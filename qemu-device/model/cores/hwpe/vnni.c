// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Products with AVX-512: VNNI adds four byte products, VPOPCNTDQ counts 64 bits of TER2.
 *
 * VNNI multiplies unsigned by signed bytes.  So 128 is added to signed left elements, and 128
 * times the sum of a right column is subtracted from the result.
 */
#include <string.h>

#include "hwpe.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define TARGET	__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni," \
				      "avx512vpopcntdq")))
#define UNROLL	_Pragma("GCC unroll 16")
#define INLINE	TARGET static inline __attribute__((always_inline))
#define BIAS	128
#define EVEN	0x5555555555555555u
/* of _mm512_ternarylogic */
#define XOR_AND		0x78		/* a ^ (b & c) */
#define OR_AND_NOT	0xf4		/* a | (b & ~c) */
#define TER2_LEFT	0x43		/* a ? b & ~c : ~b */
#define HALVES	2		/* vectors for 16 columns: one holds eight words */
#define WORDS	8		/* words in a vector */

/* Number of 64-bit words after conversion of one left word. */
static uint32_t words_of(uint32_t type)
{
	return type == CNNACC_HWPE_EXP4 ? 2 : 1;
}

/* Decode the EXP4 codes in the low nibbles of all bytes, and add @bias. */
INLINE __m512i exp4_bytes(__m512i codes, int8_t bias)
{
	const __m128i values = _mm_setr_epi8(0, 1, 2, 4, 8, 16, 32, 64,
					     0, -1, -2, -4, -8, -16, -32, -64);
	const __m512i table = _mm512_broadcast_i32x4(_mm_add_epi8(values, _mm_set1_epi8(bias)));

	return _mm512_shuffle_epi8(table, _mm512_and_si512(codes, _mm512_set1_epi8(15)));
}

/* ---- right words ---- */

/* Decode the low nibbles of all words, followed by the high nibbles. */
INLINE void right_exp4(const uint8_t *in, uint32_t rounds, uint8_t *out)
{
	size_t all = (size_t)rounds * CNNACC_HWPE_ROUND_BYTES;

	for (size_t i = 0; i < all; i += 64) {
		__m512i codes = _mm512_loadu_si512(in + i);

		_mm512_store_si512(out + i, exp4_bytes(codes, 0));
		_mm512_store_si512(out + all + i, exp4_bytes(_mm512_srli_epi16(codes, 4), 0));
	}
}

/*
 * For each eight columns, two vectors with two bits for each element.  The first is the mask of
 * the left element: both bits set unless the right element is 0.  The second is XORed: both bits
 * set for -1, none for +1, only the low bit for 0.
 */
INLINE void right_ter2(const uint8_t *in, uint32_t rounds, uint8_t *out)
{
	const __m512i even = _mm512_set1_epi64(EVEN);

	for (uint32_t i = 0; i < rounds * HALVES; i++, in += 64, out += 128) {
		__m512i word = _mm512_loadu_si512(in);
		__m512i minus = _mm512_and_si512(_mm512_srli_epi64(word, 1), even);
		__m512i any = _mm512_or_si512(_mm512_and_si512(word, even), minus);
		__m512i both = _mm512_or_si512(any, _mm512_slli_epi64(any, 1));

		minus = _mm512_or_si512(minus, _mm512_slli_epi64(minus, 1));
		_mm512_store_si512(out, both);
		_mm512_store_si512(out + 64,
				   _mm512_or_si512(minus, _mm512_andnot_si512(both, even)));
	}
}

/* Add neighbouring 32-bit lanes: each of the 16 columns has two partial sums. */
INLINE __m512i fold(__m512i low, __m512i high)
{
	const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14,
						16, 18, 20, 22, 24, 26, 28, 30);
	const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(1));

	return _mm512_add_epi32(_mm512_permutex2var_epi32(low, first, high),
				_mm512_permutex2var_epi32(low, second, high));
}

/* INT8 and UINT8 words need no conversion. */
TARGET static const void *right(const uint8_t *in, uint32_t rounds, uint32_t type, void *out,
				int32_t sum[HWPE_PES])
{
	const __m512i bias = _mm512_set1_epi8((char)BIAS);
	__m512i low = _mm512_setzero_si512(), high = low;
	const __m512i *words = type == CNNACC_HWPE_EXP4 ? out : (const __m512i *)in, *w = words;

	memset(sum, 0, HWPE_PES * sizeof(*sum));
	if (type == CNNACC_HWPE_TER2) {
		right_ter2(in, rounds, out);
		return out;
	}
	if (type == CNNACC_HWPE_EXP4)
		right_exp4(in, rounds, out);
	if (type == CNNACC_HWPE_UINT8)
		return words;
	for (uint32_t i = 0; i < rounds * words_of(type); i++, w += HALVES) {
		low = _mm512_dpbusd_epi32(low, bias, w[0]);
		high = _mm512_dpbusd_epi32(high, bias, w[1]);
	}
	_mm512_storeu_si512(sum, fold(low, high));
	return words;
}

/* ---- left words ---- */

/*
 * Convert up to eight words, those in @mask.  INT8: add BIAS.  EXP4: decode the low nibbles to
 * @out and the high nibbles @rounds words later.  TER2: two bits for each element, "is 1" and "is
 * at least 0"; sets bits of @bad for a value of 10.
 */
INLINE void left_words(const uint8_t *in, uint32_t type, __mmask8 mask, uint64_t *out,
		       uint32_t rounds, __m512i *bad)
{
	__m512i word = _mm512_maskz_loadu_epi64(mask, in), high;

	if (type == CNNACC_HWPE_EXP4) {
		high = exp4_bytes(_mm512_srli_epi16(word, 4), (int8_t)BIAS);
		word = exp4_bytes(word, (int8_t)BIAS);
		_mm512_mask_storeu_epi64(out + rounds, mask, high);
	} else if (type == CNNACC_HWPE_TER2) {
		high = _mm512_srli_epi64(word, 1);
		*bad = _mm512_ternarylogic_epi64(*bad, high, word, OR_AND_NOT);
		word = _mm512_ternarylogic_epi64(_mm512_set1_epi64(EVEN), word, high, TER2_LEFT);
	} else if (type == CNNACC_HWPE_INT8) {
		word = _mm512_xor_si512(word, _mm512_set1_epi8((char)BIAS));
	}
	_mm512_mask_storeu_epi64(out, mask, word);
}

/* Convert all left words, @pitch words for each row; return whether a TER2 value is 10. */
INLINE bool prepare(const struct hwpe_left *left, uint32_t type, uint64_t *out, size_t pitch)
{
	__m512i bad = _mm512_setzero_si512();

	for (unsigned int i = 0; i < HWPE_ACCS; i++, out += pitch)
		for (struct hwpe_run run = { 0 }; hwpe_left_run(left, i, &run);
		     run.to += run.words) {
			const uint8_t *in = run.in;
			uint64_t *to = out + run.to, *end = to + run.words / WORDS * WORDS;
			uint32_t rest = run.words % WORDS;

			for (; to < end; to += WORDS, in += 64)
				left_words(in, type, 0xff, to, left->rounds, &bad);
			if (rest)
				left_words(in, type, (__mmask8)((1u << rest) - 1), to,
					   left->rounds, &bad);
		}
	return _mm512_test_epi64_mask(bad, _mm512_set1_epi64(EVEN));
}

/* ---- sums ---- */

INLINE void add_bytes(int32_t acc[HWPE_ACCS][HWPE_PES], const uint64_t *left, size_t pitch,
		      uint32_t words, const __m512i *w, const int32_t sum[HWPE_PES])
{
	const __m512i off = _mm512_loadu_si512(sum);
	/* GCC 12 keeps arrays of __v16si in registers, but spills arrays of __m512i. */
	__v16si a[HWPE_ACCS][HALVES];

	UNROLL
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		a[i][0] = a[i][1] = (__v16si)_mm512_setzero_si512();
	for (uint32_t t = 0; t < words; t++, w += HALVES) {
		const __m512i low = w[0], high = w[1];

		UNROLL
		for (unsigned int i = 0; i < HWPE_ACCS; i++) {
			__m512i l = _mm512_set1_epi64((int64_t)left[i * pitch + t]);

			a[i][0] = (__v16si)_mm512_dpbusd_epi32((__m512i)a[i][0], l, low);
			a[i][1] = (__v16si)_mm512_dpbusd_epi32((__m512i)a[i][1], l, high);
		}
	}
	UNROLL
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		__m512i all = _mm512_sub_epi32(_mm512_loadu_si512(acc[i]), off);

		all = _mm512_add_epi32(all, fold((__m512i)a[i][0], (__m512i)a[i][1]));
		_mm512_storeu_si512(acc[i], all);
	}
}

/* The number of bits set for an element's product is the product plus 1. */
INLINE void add_ter2(int32_t acc[HWPE_ACCS][HWPE_PES], const uint64_t *left, size_t pitch,
		     uint32_t rounds, const __m512i *w)
{
	const __m256i off = _mm256_set1_epi32((int)(rounds * HWPE_ELEMENTS));
	__m512i a[HWPE_ACCS][HALVES];

	UNROLL
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		a[i][0] = a[i][1] = _mm512_setzero_si512();
	for (uint32_t t = 0; t < rounds; t++, w += 2 * HALVES) {
		const __m512i both[HALVES] = { w[0], w[2] }, change[HALVES] = { w[1], w[3] };

		UNROLL
		for (unsigned int i = 0; i < HWPE_ACCS; i++) {
			__m512i l = _mm512_set1_epi64((int64_t)left[i * pitch + t]);

			UNROLL
			for (unsigned int j = 0; j < HALVES; j++) {
				__m512i p = _mm512_ternarylogic_epi64(change[j], both[j], l,
								      XOR_AND);

				a[i][j] = _mm512_add_epi64(a[i][j], _mm512_popcnt_epi64(p));
			}
		}
	}
	UNROLL
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		UNROLL
		for (unsigned int j = 0; j < HALVES; j++) {
			__m256i *to = (__m256i *)&acc[i][8 * j];
			__m256i all = _mm256_sub_epi32(_mm256_loadu_si256(to), off);

			all = _mm256_add_epi32(all, _mm512_cvtepi64_epi32(a[i][j]));
			_mm256_storeu_si256(to, all);
		}
}

/* Inlined for each type, so that each has a specialised loop. */
INLINE bool add_type(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left, uint32_t type,
		     const void *right, const int32_t sum[HWPE_PES], void *scratch)
{
	uint32_t words = left->rounds * words_of(type);
	size_t pitch = words + HWPE_PAD;
	bool bad = prepare(left, type, scratch, pitch);

	if (type == CNNACC_HWPE_TER2)
		add_ter2(acc, scratch, pitch, words, right);
	else
		add_bytes(acc, scratch, pitch, words, right, sum);
	return bad;
}

TARGET static bool add(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left,
		       uint32_t type, const void *right, const int32_t sum[HWPE_PES], void *scratch)
{
	switch (type) {
	case CNNACC_HWPE_TER2:
		return add_type(acc, left, CNNACC_HWPE_TER2, right, sum, scratch);
	case CNNACC_HWPE_EXP4:
		return add_type(acc, left, CNNACC_HWPE_EXP4, right, sum, scratch);
	case CNNACC_HWPE_INT8:
		return add_type(acc, left, CNNACC_HWPE_INT8, right, sum, scratch);
	}
	return add_type(acc, left, CNNACC_HWPE_UINT8, right, sum, scratch);
}

const struct hwpe_simd *hwpe_vnni(void)
{
	static const struct hwpe_simd vnni = { 6, right, add };

	if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq"))
		return &vnni;
	return NULL;
}
#else
const struct hwpe_simd *hwpe_vnni(void)
{
	return NULL;
}
#endif
