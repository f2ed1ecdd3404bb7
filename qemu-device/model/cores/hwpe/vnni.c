// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Products with AVX-512: four bytes at once (VNNI), or 64 bits of TER2 (VPOPCNTDQ).
 *
 * VNNI multiplies unsigned by signed bytes.  Signed left elements are raised by 128,
 * for which 128 times the sum of a column is taken off again.
 */
#include <string.h>

#include "hwpe.h"

#if defined(__x86_64__) && !defined(CNN_PORTABLE)
#include <immintrin.h>

#define TARGET	__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni," \
				      "avx512vpopcntdq")))
#define UNROLL	_Pragma("GCC unroll 16")
#define INLINE	TARGET static inline __attribute__((always_inline))
#define BIAS	128
#define EVEN	0x5555555555555555u
#define SELECT	0xca		/* of _mm512_ternarylogic: a ? b : c */
#define HALVES	2		/* of the columns: eight are a vector */
#define WORDS	8		/* of a vector */

/* 64-bit words that a word becomes. */
static uint32_t words_of(uint32_t type)
{
	return type == CNNACC_HWPE_EXP4 || type == CNNACC_HWPE_TER2 ? 2 : 1;
}

/* Values of the EXP4 elements of four words, raised by @bias. */
INLINE __m512i exp4_bytes(const void *in, int8_t bias)
{
	const __m128i values = _mm_setr_epi8(0, 1, 2, 4, 8, 16, 32, 64,
					     0, -1, -2, -4, -8, -16, -32, -64);
	const __m512i table = _mm512_broadcast_i32x4(_mm_add_epi8(values, _mm_set1_epi8(bias)));
	__m512i x = _mm512_cvtepu8_epi16(_mm256_loadu_si256(in));

	x = _mm512_or_si512(x, _mm512_slli_epi16(x, 4));
	return _mm512_shuffle_epi8(table, _mm512_and_si512(x, _mm512_set1_epi8(15)));
}

/* ---- right words ---- */

INLINE void right_bytes(const uint8_t *in, uint32_t rounds, uint8_t *out)
{
	memcpy(out, in, (size_t)rounds * CNNACC_HWPE_ROUND_BYTES);
}

/* The first halves of all columns, then the second ones. */
INLINE void right_exp4(const uint8_t *in, uint32_t rounds, uint8_t *out)
{
	const __m512i first = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
	const __m512i second = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);

	for (uint32_t i = 0; i < rounds * HALVES; i++, in += 64) {
		__m512i a = exp4_bytes(in, 0), b = exp4_bytes(in + 32, 0);
		uint8_t *to = out + (size_t)(i / 2) * 256 + i % 2 * 64;

		_mm512_store_si512(to, _mm512_permutex2var_epi64(a, first, b));
		_mm512_store_si512(to + 128, _mm512_permutex2var_epi64(a, second, b));
	}
}

/* Of eight columns each, both bits of an element: all that are not 0, those that are -1. */
INLINE void right_ter2(const uint8_t *in, uint32_t rounds, uint8_t *out)
{
	const __m512i even = _mm512_set1_epi64(EVEN);

	for (uint32_t i = 0; i < rounds * HALVES; i++, in += 64, out += 128) {
		__m512i word = _mm512_loadu_si512(in);
		__m512i minus = _mm512_and_si512(_mm512_srli_epi64(word, 1), even);
		__m512i any = _mm512_or_si512(_mm512_and_si512(word, even), minus);

		_mm512_store_si512(out, _mm512_or_si512(any, _mm512_slli_epi64(any, 1)));
		_mm512_store_si512(out + 64, _mm512_or_si512(minus, _mm512_slli_epi64(minus, 1)));
	}
}

/* Sums of neighbours: of 16 columns, whose halves are in two words each. */
INLINE __m512i fold(__m512i low, __m512i high)
{
	const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14,
						16, 18, 20, 22, 24, 26, 28, 30);
	const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(1));

	return _mm512_add_epi32(_mm512_permutex2var_epi32(low, first, high),
				_mm512_permutex2var_epi32(low, second, high));
}

TARGET static void right(const uint8_t *in, uint32_t rounds, uint32_t type, void *out,
			 int32_t sum[HWPE_PES])
{
	const __m512i bias = _mm512_set1_epi8((char)BIAS);
	__m512i low = _mm512_setzero_si512(), high = low;
	const __m512i *w = out;

	memset(sum, 0, HWPE_PES * sizeof(*sum));
	if (type == CNNACC_HWPE_TER2) {
		right_ter2(in, rounds, out);
		return;
	}
	if (type == CNNACC_HWPE_EXP4)
		right_exp4(in, rounds, out);
	else
		right_bytes(in, rounds, out);
	if (type == CNNACC_HWPE_UINT8)
		return;
	for (uint32_t i = 0; i < rounds * words_of(type); i++, w += HALVES) {
		low = _mm512_dpbusd_epi32(low, bias, w[0]);
		high = _mm512_dpbusd_epi32(high, bias, w[1]);
	}
	_mm512_storeu_si512(sum, fold(low, high));
}

/* ---- left words ---- */

/*
 * Whole vectors are read and written, more than a row may have: of its padding, of the
 * next row, which is written later.
 */
INLINE void left_int8(const uint64_t *in, uint32_t rounds, uint64_t *out)
{
	const __m512i bias = _mm512_set1_epi8((char)BIAS);

	for (uint32_t t = 0; t < rounds; t += WORDS)
		_mm512_storeu_si512(out + t, _mm512_xor_si512(_mm512_loadu_si512(in + t), bias));
}

INLINE void left_exp4(const uint64_t *in, uint32_t rounds, uint64_t *out)
{
	for (uint32_t t = 0; t < rounds; t += WORDS / 2)
		_mm512_storeu_si512(out + 2 * t, exp4_bytes(in + t, (int8_t)BIAS));
}

/*
 * Each element as two bits, whether it is at least 0 and whether it is 1; first as it is,
 * then negated.
 */
INLINE void left_ter2(const uint64_t *in, uint32_t rounds, uint64_t *out)
{
	const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
	const __m512i second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
	const __m512i even = _mm512_set1_epi64(EVEN);

	for (uint32_t t = 0; t < rounds; t += WORDS) {
		__m512i word = _mm512_loadu_si512(in + t), same, negated;
		__m512i minus = _mm512_and_si512(_mm512_srli_epi64(word, 1), even);
		__m512i plus = _mm512_andnot_si512(minus, _mm512_and_si512(word, even));

		same = _mm512_or_si512(_mm512_andnot_si512(minus, even),
				       _mm512_slli_epi64(plus, 1));
		negated = _mm512_or_si512(_mm512_andnot_si512(plus, even),
					  _mm512_slli_epi64(minus, 1));
		_mm512_storeu_si512(out + 2 * t, _mm512_permutex2var_epi64(same, first, negated));
		_mm512_storeu_si512(out + 2 * t + WORDS,
				    _mm512_permutex2var_epi64(same, second, negated));
	}
}

/* The left words as the type's loop wants them; those of UINT8 are so already. */
INLINE struct hwpe_left prepare(const struct hwpe_left *left, uint32_t rounds, uint32_t type,
				void *scratch)
{
	struct hwpe_left l = { .words = scratch, .pitch = rounds * words_of(type) + HWPE_PAD };

	if (type == CNNACC_HWPE_UINT8)
		return *left;
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		const uint64_t *in = left->words + i * left->pitch;
		uint64_t *out = l.words + i * l.pitch;

		if (type == CNNACC_HWPE_INT8)
			left_int8(in, rounds, out);
		else if (type == CNNACC_HWPE_EXP4)
			left_exp4(in, rounds, out);
		else
			left_ter2(in, rounds, out);
	}
	return l;
}

/* ---- sums ---- */

INLINE void add_bytes(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left,
		      uint32_t words, const __m512i *w, const int32_t sum[HWPE_PES])
{
	const __m512i off = _mm512_loadu_si512(sum);
	__m512i a[HWPE_ACCS][HALVES];

	UNROLL
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		a[i][0] = a[i][1] = _mm512_setzero_si512();
	for (uint32_t t = 0; t < words; t++, w += HALVES) {
		const __m512i low = w[0], high = w[1];

		UNROLL
		for (unsigned int i = 0; i < HWPE_ACCS; i++) {
			__m512i l = _mm512_set1_epi64((int64_t)left->words[i * left->pitch + t]);

			a[i][0] = _mm512_dpbusd_epi32(a[i][0], l, low);
			a[i][1] = _mm512_dpbusd_epi32(a[i][1], l, high);
		}
	}
	UNROLL
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		__m512i all = _mm512_sub_epi32(_mm512_loadu_si512(acc[i]), off);

		_mm512_storeu_si512(acc[i], _mm512_add_epi32(all, fold(a[i][0], a[i][1])));
	}
}

/* A product has two bits for each element, of which as many are set as it is above -1. */
INLINE void add_ter2(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left,
		     uint32_t rounds, const __m512i *w)
{
	const __m512i zero = _mm512_set1_epi64(EVEN);
	const __m256i off = _mm256_set1_epi32((int)(rounds * HWPE_ELEMENTS));
	__m512i a[HWPE_ACCS][HALVES];

	UNROLL
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		a[i][0] = a[i][1] = _mm512_setzero_si512();
	for (uint32_t t = 0; t < rounds; t++, w += 2 * HALVES) {
		UNROLL
		for (unsigned int i = 0; i < HWPE_ACCS; i++) {
			const uint64_t *l = left->words + i * left->pitch + 2 * t;
			__m512i same = _mm512_set1_epi64((int64_t)l[0]);
			__m512i negated = _mm512_set1_epi64((int64_t)l[1]);

			UNROLL
			for (unsigned int j = 0; j < HALVES; j++) {
				__m512i p = _mm512_ternarylogic_epi64(w[2 * j + 1], negated, same,
								      SELECT);

				p = _mm512_ternarylogic_epi64(w[2 * j], p, zero, SELECT);
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

TARGET static void add(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left,
		       uint32_t rounds, uint32_t type, const void *right,
		       const int32_t sum[HWPE_PES], void *scratch)
{
	struct hwpe_left l = prepare(left, rounds, type, scratch);

	if (type == CNNACC_HWPE_TER2)
		add_ter2(acc, &l, rounds, right);
	else
		add_bytes(acc, &l, rounds * words_of(type), right, sum);
}

const struct hwpe_simd *hwpe_vnni(void)
{
	static const struct hwpe_simd vnni = { 10, right, add };

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
