// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Products with 128-bit and 256-bit vectors or plain C, and the choice at run time. */
#include <string.h>

#include "hwpe.h"

#define WORD_BYTES	CNNACC_HWPE_OPERAND_BYTES

/* Initialiser of a table with an entry for each byte value. */
#define TABLE4(entry, b)	entry(b), entry((b) + 1), entry((b) + 2), entry((b) + 3)
#define TABLE16(entry, b) \
	TABLE4(entry, b), TABLE4(entry, (b) + 4), TABLE4(entry, (b) + 8), TABLE4(entry, (b) + 12)
#define TABLE64(entry, b) \
	TABLE16(entry, b), TABLE16(entry, (b) + 16), TABLE16(entry, (b) + 32), \
	TABLE16(entry, (b) + 48)
#define TABLE(entry) \
	TABLE64(entry, 0), TABLE64(entry, 64), TABLE64(entry, 128), TABLE64(entry, 192)

#define EXP4(n)	(((n) & 7 ? 1 << (((n) + 7) & 7) : 0) * ((n) & 8 ? -1 : 1))
#define TER2(n)	((n) & 2 ? -1 : (n) & 1)
#define EXP4_BYTE(b)	{ EXP4(b), EXP4((b) >> 4) }
#define TER2_BYTE(b)	{ TER2(b), TER2((b) >> 2), TER2((b) >> 4), TER2((b) >> 6) }

static const int16_t exp4_bytes[256][2] = { TABLE(EXP4_BYTE) };
static const int16_t ter2_bytes[256][4] = { TABLE(TER2_BYTE) };

/* ---- 16-bit elements, multiplied and added in pairs ---- */

/* Widen the elements of @words words to 16 bits; only left UINT8 words are unsigned. */
static void widen(const uint8_t *in, size_t words, uint32_t type, bool left, int16_t *out)
{
	size_t bytes = words * WORD_BYTES;

	if (type == CNNACC_HWPE_UINT8 && left)
		for (size_t i = 0; i < bytes; i++)
			out[i] = in[i];
	else if (type == CNNACC_HWPE_UINT8 || type == CNNACC_HWPE_INT8)
		for (size_t i = 0; i < bytes; i++)
			out[i] = (int8_t)in[i];
	else if (type == CNNACC_HWPE_EXP4)
		for (size_t i = 0; i < bytes; i++)
			memcpy(out + 2 * i, exp4_bytes[in[i]], sizeof(exp4_bytes[0]));
	else
		for (size_t i = 0; i < bytes; i++)
			memcpy(out + 4 * i, ter2_bytes[in[i]], sizeof(ter2_bytes[0]));
}

/* Layout of @out: [pair of elements][column][2]. */
static const void *right_pairs(const uint8_t *in, uint32_t rounds, uint32_t type, void *out,
			       int32_t sum[HWPE_PES])
{
	uint32_t pairs = hwpe_elements(type) / 2;
	int16_t word[HWPE_ELEMENTS], *to = out;

	(void)sum;
	for (uint32_t t = 0; t < rounds; t++, to += pairs * HWPE_PES * 2)
		for (unsigned int q = 0; q < HWPE_PES; q++, in += WORD_BYTES) {
			widen(in, 1, type, false, word);
			for (uint32_t p = 0; p < pairs; p++)
				memcpy(to + (p * HWPE_PES + q) * 2, word + 2 * p, 4);
		}
	return out;
}

/* Widen the left words of all rows; return whether a TER2 value is 10. */
static bool left_pairs(const struct hwpe_left *left, uint32_t type, int16_t *out, size_t pitch)
{
	bool bad = false;

	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		for (struct hwpe_run run = { 0 }; hwpe_left_run(left, i, &run);
		     run.to += run.words) {
			widen(run.in, run.words, type, true,
			      out + i * pitch * 2 + (size_t)run.to * hwpe_elements(type));
			if (type == CNNACC_HWPE_TER2)
				bad |= hwpe_bad_ter2(run.in, run.words);
		}
	return bad;
}

/* Number of pairs in a row of left words. */
static size_t pairs_of(const struct hwpe_left *left, uint32_t type)
{
	return (size_t)left->rounds * hwpe_elements(type) / 2;
}

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define ROWS	4	/* rows whose sums are kept in registers */
#define UNROLL	_Pragma("GCC unroll 16")

#define SIMD(name)	name##_avx2
#define VECTOR		__m256i
#define ADD		_mm256_add_epi32
#define MADD		_mm256_madd_epi16
#define SPLAT		_mm256_set1_epi32
#define ZERO		_mm256_setzero_si256
#define SIMD_TARGET	__attribute__((target("avx2")))
#include "pairs_simd.h"
#undef SIMD
#undef VECTOR
#undef ADD
#undef MADD
#undef SPLAT
#undef ZERO
#undef SIMD_TARGET

#define SIMD(name)	name##_any
#define VECTOR		__m128i
#define ADD		_mm_add_epi32
#define MADD		_mm_madd_epi16
#define SPLAT		_mm_set1_epi32
#define ZERO		_mm_setzero_si128
#define SIMD_TARGET
#include "pairs_simd.h"

/* The pack instructions saturate to signed 16 bits, then to unsigned 8 bits. */
void hwpe_relu(const int32_t acc[HWPE_PES], uint32_t shift, uint8_t out[HWPE_PES])
{
	const __m128i *in = (const __m128i *)acc, count = _mm_cvtsi32_si128((int)shift);
	__m128i v[4];

	UNROLL
	for (unsigned int i = 0; i < 4; i++)
		v[i] = _mm_sra_epi32(_mm_loadu_si128(in + i), count);
	_mm_storeu_si128((__m128i *)out, _mm_packus_epi16(_mm_packs_epi32(v[0], v[1]),
							  _mm_packs_epi32(v[2], v[3])));
}

#else

void hwpe_relu(const int32_t acc[HWPE_PES], uint32_t shift, uint8_t out[HWPE_PES])
{
	for (unsigned int q = 0; q < HWPE_PES; q++) {
		int32_t v = acc[q] < 0 ? 0 : acc[q] >> shift;

		out[q] = (uint8_t)(v > 255 ? 255 : v);
	}
}

static bool add_any(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left, uint32_t type,
		    const void *right, const int32_t sum[HWPE_PES], void *scratch)
{
	size_t pairs = pairs_of(left, type), pitch = pairs + HWPE_PAD;
	bool bad = left_pairs(left, type, scratch, pitch);

	(void)sum;
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		const int16_t *l = (const int16_t *)scratch + i * pitch * 2, *r = right;

		for (size_t p = 0; p < pairs; p++, l += 2, r += 2 * HWPE_PES)
			for (unsigned int q = 0; q < HWPE_PES; q++)
				acc[i][q] += l[0] * r[2 * q] + l[1] * r[2 * q + 1];
	}
	return bad;
}

#endif

const struct hwpe_simd *hwpe_simd(uint32_t simd)
{
	static const struct hwpe_simd any = { 120, right_pairs, add_any };
#if defined(__x86_64__) && !defined(CM_PORTABLE)
	static const struct hwpe_simd avx2 = { 40, right_pairs, add_avx2 };

	if (simd == CM_SIMD_AVX512 && hwpe_vnni())
		return hwpe_vnni();
	if (simd != CM_SIMD_BASELINE)
		return &avx2;
#endif
	(void)simd;
	return &any;
}
