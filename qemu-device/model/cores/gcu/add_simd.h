/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Sums of integer products modulo 2^32 for one vector width.  Defined where this is included:
 * SIMD(), SIMD_TARGET, VECTOR with LANES sums, KERNELS that are computed together, CHANNELS in 32
 * bits of a factor, and the operations LOAD, STORE, SPLAT, ADD and MADD(sum, x, w).
 */

#define UNROLL	_Pragma("GCC unroll 16")
/* Keep a vector in its register instead of moving it to another. */
#define IN_REGISTER(v)	__asm__("" : "+v"(v))
#define VECTORS	2	/* of columns, computed together */

/** struct position - sums that are computed together. */
struct SIMD(position) {
	uint32_t k, w;
};

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_block)(const struct gcu_batch *b, struct SIMD(position) at,
		     const unsigned int kernels, const unsigned int vectors)
{
	int32_t *acc = b->acc + (size_t)at.k * b->acc_pitch + at.w;
	VECTOR sum[KERNELS][VECTORS];

	UNROLL
	for (unsigned int i = 0; i < kernels; i++)
		UNROLL
		for (unsigned int v = 0; v < vectors; v++)
			sum[i][v] = ADD(LOAD(acc + (size_t)i * b->acc_pitch + v * LANES),
					SPLAT(b->offset[at.k + i]));
	for (uint32_t n = 0; n < b->count; n++) {
		const int32_t *w = (const int32_t *)b->op[n].weight + at.k;

		for (uint32_t s = 0; s < b->taps; s++) {
			const int32_t *x = (const int32_t *)b->op[n].row + b->tap[s] + at.w;

			for (uint32_t c = 0; c < b->channels;
			     c += CHANNELS, x += b->pitch, w += b->kernels)
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

SIMD_TARGET static void SIMD(integers)(const struct gcu_batch *b, struct gcu_tile t)
{
	uint32_t k = t.k, end = t.k + t.kernels;

	for (; k + KERNELS <= end; k += KERNELS)
		SIMD(add_columns)(b, t, k, KERNELS);
	for (; k < end; k++)
		SIMD(add_columns)(b, t, k, 1);
}
