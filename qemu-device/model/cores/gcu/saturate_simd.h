/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Sums of products of 16-bit integers that saturate after each tap, for one vector width.  Defined
 * where this is included: as for add_simd.h, and the operations AND, SRAI16, SRAI32, SLLI, MIN, MAX
 * and FIX_LOW(low, high, max, min): 255 where high > max, 0 where high < min, else low.
 */

/*
 * A sum is 256 * high + low with low in 0..255 between taps, and
 * so are inputs: no product's parts or their sums leave 32 bits.
 */
SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(saturate_block)(const struct gcu_batch *b, uint32_t k, uint32_t w,
			  const unsigned int kernels)
{
	const VECTOR byte = SPLAT(255), bytes = SPLAT(0x00ff00ff);
	const VECTOR max = SPLAT(b->high >> 8), min = SPLAT(-(b->high >> 8) - 1);
	int32_t *acc = b->acc + (size_t)k * b->acc_pitch + w;
	VECTOR high[KERNELS], low[KERNELS];

	UNROLL
	for (unsigned int i = 0; i < kernels; i++) {
		VECTOR sum = LOAD(acc + (size_t)i * b->acc_pitch);

		high[i] = SRAI32(sum, 8);
		low[i] = AND(sum, byte);
	}
	for (uint32_t n = 0; n < b->count; n++) {
		const int32_t *y = (const int32_t *)b->op[n].weight + k;

		for (uint32_t s = 0; s < b->taps; s++) {
			const int32_t *x = (const int32_t *)b->op[n].row + b->tap[s] + w;

			for (uint32_t c = 0; c < b->channels;
			     c += 2, x += b->pitch, y += b->kernels) {
				const VECTOR x_high = SRAI16(LOAD(x), 8);
				const VECTOR x_low = AND(LOAD(x), bytes);

				UNROLL
				for (unsigned int i = 0; i < kernels; i++) {
					high[i] = MADD(high[i], x_high, SPLAT(y[i]));
					low[i] = MADD(low[i], x_low, SPLAT(y[i]));
					IN_REGISTER(high[i]);
					IN_REGISTER(low[i]);
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

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(saturate_columns)(const struct gcu_batch *b, struct gcu_tile t, uint32_t k,
			    const unsigned int kernels)
{
	for (uint32_t w = t.w; w < t.w + t.columns; w += LANES)
		SIMD(saturate_block)(b, k, w, kernels);
}

SIMD_TARGET static void SIMD(saturating)(const struct gcu_batch *b, struct gcu_tile t)
{
	uint32_t k = t.k, end = t.k + t.kernels;

	for (; k + KERNELS <= end; k += KERNELS)
		SIMD(saturate_columns)(b, t, k, KERNELS);
	for (; k < end; k++)
		SIMD(saturate_columns)(b, t, k, 1);
}
