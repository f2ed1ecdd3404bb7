/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Sums of integer products for one vector width, in pairs of channels.  Defined where this is
 * included: SIMD(), SIMD_TARGET, VECTOR with LANES sums, KERNELS that are computed together, and
 * the operations LOAD, STORE, SPLAT, MADD(sum, x, w), ADD, SUB, AND, SRAI16, SRAI32, MIN, MAX, and
 * FIX_LOW(low, high, max, min): 255 where high > max, 0 where high < min, else low.
 */

#define UNROLL	_Pragma("GCC unroll 16")
#define VECTORS	2	/* of columns, computed together */

/** struct position - sums that are computed together. */
struct SIMD(position) {
	uint32_t k, w;
};

/* Add modulo 2^32. */
SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_block)(const struct gcu_batch *b, struct SIMD(position) at, const unsigned int kernels,
		     const unsigned int vectors)
{
	int32_t *acc = b->acc + (size_t)at.k * b->acc_pitch + at.w;
	VECTOR sum[KERNELS][VECTORS];

	UNROLL
	for (unsigned int i = 0; i < kernels; i++)
		UNROLL
		for (unsigned int v = 0; v < vectors; v++)
			sum[i][v] = LOAD(acc + (size_t)i * b->acc_pitch + v * LANES);
	for (uint32_t n = 0; n < b->count; n++) {
		const int32_t *w = (const int32_t *)b->op[n].weight + at.k;

		for (uint32_t s = 0; s < b->taps; s++) {
			const int32_t *x = (const int32_t *)b->op[n].row + b->tap[s] + at.w;

			for (uint32_t c = 0; c < b->channels; c += 2, x += b->pitch, w += b->kernels)
				UNROLL
				for (unsigned int i = 0; i < kernels; i++)
					UNROLL
					for (unsigned int v = 0; v < vectors; v++)
						sum[i][v] = MADD(sum[i][v], LOAD(x + v * LANES),
								 SPLAT(w[i]));
		}
	}
	UNROLL
	for (unsigned int i = 0; i < kernels; i++)
		UNROLL
		for (unsigned int v = 0; v < vectors; v++)
			STORE(acc + (size_t)i * b->acc_pitch + v * LANES, sum[i][v]);
}

/*
 * Add and saturate after each tap.  A sum is 256 * high + low with low in 0..255 between taps, and
 * so are inputs: no product's parts or their sums leave 32 bits.
 */
SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(saturate_block)(const struct gcu_batch *b, struct SIMD(position) at,
			  const unsigned int kernels)
{
	const VECTOR byte = SPLAT(255), bytes = SPLAT(0x00ff00ff);
	const VECTOR max = SPLAT(b->high >> 8), min = SPLAT(-(b->high >> 8) - 1);
	int32_t *acc = b->acc + (size_t)at.k * b->acc_pitch + at.w;
	VECTOR high[KERNELS], low[KERNELS];

	UNROLL
	for (unsigned int i = 0; i < kernels; i++) {
		VECTOR sum = LOAD(acc + (size_t)i * b->acc_pitch);

		high[i] = SRAI32(sum, 8);
		low[i] = AND(sum, byte);
	}
	for (uint32_t n = 0; n < b->count; n++) {
		const int32_t *w = (const int32_t *)b->op[n].weight + at.k;

		for (uint32_t s = 0; s < b->taps; s++) {
			const int32_t *x = (const int32_t *)b->op[n].row + b->tap[s] + at.w;

			for (uint32_t c = 0; c < b->channels; c += 2, x += b->pitch, w += b->kernels) {
				const VECTOR x_high = SRAI16(LOAD(x), 8), x_low = AND(LOAD(x), bytes);

				UNROLL
				for (unsigned int i = 0; i < kernels; i++) {
					high[i] = MADD(high[i], x_high, SPLAT(w[i]));
					low[i] = MADD(low[i], x_low, SPLAT(w[i]));
				}
			}
			UNROLL
			for (unsigned int i = 0; i < kernels; i++) {
				high[i] = ADD(high[i], SRAI32(low[i], 8));
				low[i] = FIX_LOW(AND(low[i], byte), high[i], max, min);
				high[i] = MIN(MAX(high[i], min), max);
			}
		}
	}
	UNROLL
	for (unsigned int i = 0; i < kernels; i++)
		STORE(acc + (size_t)i * b->acc_pitch, ADD(SLLI(high[i], 8), low[i]));
}

/* Columns of some kernels, all that the tile has. */
SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_columns)(const struct gcu_batch *b, struct gcu_tile t, uint32_t k,
		       const unsigned int kernels)
{
	uint32_t w = t.w, end = t.w + t.columns;

	for (; w + VECTORS * LANES <= end; w += VECTORS * LANES)
		SIMD(add_block)(b, (struct SIMD(position)){ k, w }, kernels, VECTORS);
	for (; w < end; w += LANES)
		SIMD(add_block)(b, (struct SIMD(position)){ k, w }, kernels, 1);
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(saturate_columns)(const struct gcu_batch *b, struct gcu_tile t, uint32_t k,
			    const unsigned int kernels)
{
	for (uint32_t w = t.w; w < t.w + t.columns; w += LANES)
		SIMD(saturate_block)(b, (struct SIMD(position)){ k, w }, kernels);
}

SIMD_TARGET static void SIMD(integers)(const struct gcu_batch *b, struct gcu_tile t)
{
	uint32_t k = t.k, end = t.k + t.kernels;

	for (; k + KERNELS <= end; k += KERNELS)
		SIMD(add_columns)(b, t, k, KERNELS);
	for (; k < end; k++)
		SIMD(add_columns)(b, t, k, 1);
}

SIMD_TARGET static void SIMD(saturating)(const struct gcu_batch *b, struct gcu_tile t)
{
	uint32_t k = t.k, end = t.k + t.kernels;

	for (; k + KERNELS <= end; k += KERNELS)
		SIMD(saturate_columns)(b, t, k, KERNELS);
	for (; k < end; k++)
		SIMD(saturate_columns)(b, t, k, 1);
}
