/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Row results for one vector width.  Defined where this is included: SIMD(), SIMD_TARGET, LANES of
 * 32 bits, and MADD(x, w), the sums of the products of two 16-bit integers.
 */

typedef int32_t SIMD(ints) __attribute__((vector_size(LANES * 4)));
typedef uint32_t SIMD(words) __attribute__((vector_size(LANES * 4)));
typedef float SIMD(reals) __attribute__((vector_size(LANES * 4)));

#define INTS	SIMD(ints)
#define WORDS	SIMD(words)
#define REALS	SIMD(reals)
#define VECTORS	2	/* of output channels, for which an element is loaded once */
#define INLINE	SIMD_TARGET static inline __attribute__((always_inline))
#define UNROLL	_Pragma("GCC unroll 4")
/* Vectors may lie anywhere in memory. */
#define LOAD(v, from)	memcpy(&(v), from, sizeof(v))
#define STORE(to, v)	memcpy(to, &(v), sizeof(v))

/* Nearest signed sums. */
INLINE void SIMD(add_saturated)(WORDS *sum, const WORDS *p)
{
	WORDS wrapped = *sum + *p;
	WORDS over = (WORDS)((INTS)((*sum ^ wrapped) & (*p ^ wrapped)) >> 31);
	WORDS limit = (WORDS)((INTS)*sum >> 31) ^ INT32_MAX;

	*sum = MUTANT(WRAP) ? wrapped : (wrapped & ~over) | (limit & over);
}

/* The row results of IMC_STEP columns and @vectors times LANES output channels, from @lane on. */
INLINE void SIMD(add_columns)(const struct imc_tile *t, uint32_t column, uint32_t lane,
			      const uint32_t vectors)
{
	const size_t words = t->words, taps = t->n * words;
	const uint32_t *x = t->elements + column * words, *w = t->weights + lane;
	uint32_t *cells = t->cells + (size_t)column * t->lanes + lane;
	WORDS sum[IMC_STEP][VECTORS], weights[VECTORS], cell;

	UNROLL
	for (uint32_t c = 0; c < IMC_STEP; c++)
		UNROLL
		for (uint32_t v = 0; v < vectors; v++)
			sum[c][v] = (WORDS){ 0 };
	/* The elements of a row are one after the other, and so are the weights of its taps. */
	for (size_t i = 0; i < taps; i++, w += t->lanes) {
		UNROLL
		for (uint32_t v = 0; v < vectors; v++)
			LOAD(weights[v], w + v * LANES);
		UNROLL
		for (uint32_t c = 0; c < IMC_STEP; c++) {
			WORDS element = (WORDS){ 0 } + x[c * words + i];

			UNROLL
			for (uint32_t v = 0; v < vectors; v++)
				sum[c][v] += (WORDS)MADD(element, weights[v]);
		}
	}
	UNROLL
	for (uint32_t c = 0; c < IMC_STEP; c++, cells += t->lanes)
		UNROLL
		for (uint32_t v = 0; v < vectors; v++) {
			LOAD(cell, cells + v * LANES);
			if (t->add)
				SIMD(add_saturated)(&cell, &sum[c][v]);
			else
				cell = sum[c][v];
			STORE(cells + v * LANES, cell);
		}
}

/* Adder 1 cannot saturate: a row result has at most 11 * 64 products. */
SIMD_TARGET static void SIMD(integers)(const struct imc_tile *t)
{
	for (uint32_t column = 0; column < t->columns; column += IMC_STEP) {
		uint32_t lane = 0;

		for (; lane + VECTORS * LANES <= t->lanes; lane += VECTORS * LANES)
			SIMD(add_columns)(t, column, lane, VECTORS);
		for (; lane < t->lanes; lane += LANES)
			SIMD(add_columns)(t, column, lane, 1);
	}
}

INLINE REALS SIMD(real_product)(uint32_t x, const REALS *weights)
{
	float value;

	memcpy(&value, &x, sizeof(value));
	return value * *weights;
}

INLINE void SIMD(real_alu)(const struct imc_tile *t, uint32_t column, uint32_t s,
			   const uint32_t *w, REALS p[IMC_STEP])
{
	const uint32_t *x = t->elements + (size_t)(column + s) * t->words;
	REALS weights;

	w += (size_t)s * t->words * t->lanes;
	LOAD(weights, w);
	UNROLL
	for (uint32_t c = 0; c < IMC_STEP; c++)
		p[c] = SIMD(real_product)(x[c * t->words], &weights);
	for (uint32_t i = 1; i < t->words; i++) {
		LOAD(weights, w += t->lanes);
		UNROLL
		for (uint32_t c = 0; c < IMC_STEP; c++)
			p[c] += SIMD(real_product)(x[c * t->words + i], &weights);
	}
}

INLINE void SIMD(real_rows)(const struct imc_tile *t, uint32_t column, const uint32_t *w,
			    REALS sum[IMC_STEP])
{
	REALS p[IMC_STEP];

	SIMD(real_alu)(t, column, 0, w, sum);
	for (uint32_t s = 1; s < t->n; s++) {
		SIMD(real_alu)(t, column, s, w, p);
		UNROLL
		for (uint32_t c = 0; c < IMC_STEP; c++)
			sum[c] += p[c];
	}
}

/* A NaN stays one in all sums, so only those of the cells have to be made the same. */
SIMD_TARGET static void SIMD(floats)(const struct imc_tile *t)
{
	for (uint32_t lane = 0; lane < t->lanes; lane += LANES)
		for (uint32_t column = 0; column < t->columns; column += IMC_STEP) {
			uint32_t *cells = t->cells + (size_t)column * t->lanes + lane;
			REALS sum[IMC_STEP], cell;

			SIMD(real_rows)(t, column, t->weights + lane, sum);
			for (uint32_t c = 0; c < IMC_STEP; c++, cells += t->lanes) {
				WORDS nan, bits;

				LOAD(cell, cells);
				cell = t->add ? cell + sum[c] : sum[c];
				nan = (WORDS)(cell != cell);
				bits = ((WORDS)cell & ~nan) | (IMC_NAN & nan);
				STORE(cells, bits);
			}
		}
}

#undef INTS
#undef WORDS
#undef REALS
#undef VECTORS
#undef INLINE
#undef UNROLL
#undef LOAD
#undef STORE
