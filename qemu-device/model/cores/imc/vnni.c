// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Integer row results with AVX-512 VNNI, which adds four products of bytes to a sum.
 *
 * VNNI multiplies unsigned by signed bytes.  So 128 is added to signed components of elements, and
 * a row result starts with -128 times the sum of its weights.  Adder 1 cannot saturate: a row
 * result has at most 11 * 64 products.
 */
#include "imc.h"
#include "imc_mutant.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include <immintrin.h>

#define TARGET	__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni")))
#define INLINE	TARGET static inline __attribute__((always_inline))
#define UNROLL	_Pragma("GCC unroll 16")
#define LANES	16
#define BIAS	128

/* Nearest signed sums. */
INLINE __m512i add_saturated(__m512i a, __m512i b)
{
	__m512i sum = _mm512_add_epi32(a, b);
	__m512i over = _mm512_and_si512(_mm512_xor_si512(a, sum), _mm512_xor_si512(b, sum));
	__m512i limit = _mm512_xor_si512(_mm512_srai_epi32(a, 31), _mm512_set1_epi32(INT32_MAX));

	if (MUTANT(WRAP))
		return sum;
	return _mm512_mask_mov_epi32(sum, _mm512_movepi32_mask(over), limit);
}

/* ---- weights and elements ---- */

static uint64_t bytes_mask(uint32_t channels)
{
	return channels < 64 ? (1ull << channels) - 1 : ~0ull;
}

/* Words become lanes: vector @i gets word @i of each. */
INLINE void transpose(__m512i v[LANES])
{
	__m512i t[LANES];

	UNROLL
	for (unsigned int i = 0; i < LANES; i += 2) {
		t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
		t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
	}
	UNROLL
	for (unsigned int i = 0; i < LANES; i += 4) {
		v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
	UNROLL
	for (unsigned int i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
	}
	UNROLL
	for (unsigned int i = 0; i < 8; i++) {
		v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
	}
}

/* A tap of the LANES output channels from @lane on; return @sum plus BIAS times the weights. */
INLINE __m512i pack_tap(const struct imc_pack *p, const uint8_t *from, uint32_t lane,
			uint32_t *to, __m512i sum)
{
	__mmask64 bytes = bytes_mask(p->channels);
	__m512i v[LANES];

	UNROLL
	for (unsigned int i = 0; i < LANES; i++)
		v[i] = lane + i < p->kernels ?
		       _mm512_maskz_loadu_epi8(bytes, from + (lane + i) * p->kernel) :
		       _mm512_setzero_si512();
	transpose(v);
	UNROLL
	for (unsigned int i = 0; i < LANES; i++) {
		if (i < p->words)
			_mm512_storeu_si512(to + (size_t)i * p->lanes + lane, v[i]);
		sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8((char)BIAS), v[i]);
	}
	return sum;
}

TARGET static void pack(const struct imc_pack *p)
{
	for (uint32_t lane = 0; lane < p->lanes; lane += LANES) {
		const uint8_t *from = p->from;
		uint32_t *to = p->to;

		for (uint32_t r = 0; r < p->n; r++) {
			__m512i sum = _mm512_setzero_si512();

			for (uint32_t s = 0; s < p->n; s++, from += p->tap) {
				sum = pack_tap(p, from, lane, to, sum);
				to += (size_t)p->words * p->lanes;
			}
			sum = _mm512_sub_epi32(_mm512_setzero_si512(), sum);
			if (!p->is_signed)
				sum = _mm512_setzero_si512();
			_mm512_storeu_si512(p->start + (size_t)r * p->lanes + lane, sum);
		}
	}
}

TARGET static void unpack(const struct imc_unpack *u)
{
	__mmask64 bytes = bytes_mask(u->channels), whole = bytes_mask(4 * u->words);
	__m512i bias = _mm512_set1_epi8((char)(u->is_signed ? BIAS : 0));
	const uint8_t *from = u->from;
	uint32_t *to = u->to;

	for (uint32_t i = 0; i < u->elements; i++, from += u->column, to += u->words) {
		__m512i v = _mm512_maskz_loadu_epi8(bytes, from);

		_mm512_mask_storeu_epi8(to, whole, _mm512_xor_si512(v, bias));
	}
}

/* ---- row results ---- */

/* IMC_STEP columns and @vectors times LANES output channels, from @lane on. */
INLINE void add_columns(const struct imc_tile *t, uint32_t column, uint32_t lane,
			const unsigned int vectors)
{
	const uint32_t *x = t->elements + (size_t)column * t->words, *w = t->weights + lane;
	uint32_t *cells = t->cells + (size_t)column * t->lanes + lane;
	/* GCC 12 keeps arrays of __v16si in registers, but spills arrays of __m512i. */
	__v16si sum[IMC_STEP][4];

	UNROLL
	for (unsigned int c = 0; c < IMC_STEP; c++)
		UNROLL
		for (unsigned int v = 0; v < vectors; v++)
			sum[c][v] = (__v16si)_mm512_loadu_si512(t->start + lane + v * LANES);
	/* The elements of a row are one after the other, and so are the weights of its taps. */
	for (uint32_t i = 0; i < t->n * t->words; i++, w += t->lanes) {
		UNROLL
		for (unsigned int c = 0; c < IMC_STEP; c++) {
			__m512i a = _mm512_set1_epi32((int)x[c * t->words + i]);

			UNROLL
			for (unsigned int v = 0; v < vectors; v++)
				sum[c][v] = (__v16si)_mm512_dpbusd_epi32(
					(__m512i)sum[c][v], a, _mm512_loadu_si512(w + v * LANES));
		}
	}
	UNROLL
	for (unsigned int c = 0; c < IMC_STEP; c++, cells += t->lanes)
		UNROLL
		for (unsigned int v = 0; v < vectors; v++) {
			__m512i cell = _mm512_loadu_si512(cells + v * LANES);

			_mm512_storeu_si512(cells + v * LANES,
					    t->add ? add_saturated(cell, (__m512i)sum[c][v]) :
						     (__m512i)sum[c][v]);
		}
}

TARGET static void integers(const struct imc_tile *t)
{
	for (uint32_t column = 0; column < t->columns; column += IMC_STEP) {
		uint32_t lane = 0;

		for (; lane + 4 * LANES <= t->lanes; lane += 4 * LANES)
			add_columns(t, column, lane, 4);
		for (; lane + 2 * LANES <= t->lanes; lane += 2 * LANES)
			add_columns(t, column, lane, 2);
		for (; lane < t->lanes; lane += LANES)
			add_columns(t, column, lane, 1);
	}
}

const struct imc_bytes *imc_vnni(void)
{
	static const struct imc_bytes vnni = { 3, 40, pack, unpack, integers };

	return __builtin_cpu_supports("avx512vnni") ? &vnni : NULL;
}
#else
const struct imc_bytes *imc_vnni(void)
{
	return NULL;
}
#endif
