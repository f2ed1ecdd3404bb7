/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Sums of integer products modulo 2^32 of rows that would leave most of a vector of columns empty:
 * the vectors are of kernels.  Included behind add_simd.h, with the same definitions, and GATHER
 * and SCATTER of 32-bit elements.
 */

#define NARROW_COLUMNS	7	/* computed together */
#define NARROW_MAX	(2 * NARROW_COLUMNS)

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(narrow_block)(const struct gcu_batch *b, struct SIMD(position) at,
			const unsigned int columns, const unsigned int vectors)
{
	const VECTOR index = MULTIPLY(LANE_NUMBERS, SPLAT((int32_t)b->acc_pitch));
	VECTOR sum[NARROW_COLUMNS][VECTORS], weights[VECTORS];
	int32_t *acc = b->acc + (size_t)at.k * b->acc_pitch + at.w;

	UNROLL
	for (unsigned int j = 0; j < columns; j++)
		UNROLL
		for (unsigned int v = 0; v < vectors; v++)
			sum[j][v] = ADD(GATHER(acc + (size_t)v * LANES * b->acc_pitch + j, index),
					LOAD(b->offset + at.k + v * LANES));
	for (uint32_t n = 0; n < b->count; n++) {
		const int32_t *w = (const int32_t *)b->op[n].weight + at.k;

		for (uint32_t s = 0; s < b->taps; s++) {
			const int32_t *x = (const int32_t *)b->op[n].row + b->tap[s] + at.w;

			for (uint32_t c = 0; c < b->channels;
			     c += CHANNELS, x += b->pitch, w += b->kernels) {
				UNROLL
				for (unsigned int v = 0; v < vectors; v++)
					weights[v] = LOAD(w + v * LANES);
				UNROLL
				for (unsigned int j = 0; j < columns; j++)
					UNROLL
					for (unsigned int v = 0; v < vectors; v++)
						sum[j][v] = MADD(sum[j][v], SPLAT(x[j]),
								 weights[v]);
			}
		}
	}
	UNROLL
	for (unsigned int j = 0; j < columns; j++)
		UNROLL
		for (unsigned int v = 0; v < vectors; v++)
			SCATTER(acc + (size_t)v * LANES * b->acc_pitch + j, index, sum[j][v]);
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(narrow_columns)(const struct gcu_batch *b, struct SIMD(position) at, uint32_t columns,
			  const unsigned int vectors)
{
	switch (columns) {
	case 1:
		return SIMD(narrow_block)(b, at, 1, vectors);
	case 2:
		return SIMD(narrow_block)(b, at, 2, vectors);
	case 3:
		return SIMD(narrow_block)(b, at, 3, vectors);
	case 4:
		return SIMD(narrow_block)(b, at, 4, vectors);
	case 5:
		return SIMD(narrow_block)(b, at, 5, vectors);
	case 6:
		return SIMD(narrow_block)(b, at, 6, vectors);
	}
	SIMD(narrow_block)(b, at, NARROW_COLUMNS, vectors);
}

/* Whole rows; kernels that fill no vector are left to integers(). */
SIMD_TARGET static void SIMD(narrow)(const struct gcu_batch *b, struct gcu_tile t)
{
	uint32_t k = t.k, end = t.k + t.kernels;

	while (end - k >= LANES) {
		bool two = end - k >= VECTORS * LANES;

		for (uint32_t w = 0; w < b->columns; w += NARROW_COLUMNS) {
			uint32_t columns = gcu_least(NARROW_COLUMNS, b->columns - w);
			struct SIMD(position) at = { k, w };

			if (two)
				SIMD(narrow_columns)(b, at, columns, VECTORS);
			else
				SIMD(narrow_columns)(b, at, columns, 1);
		}
		k += two ? VECTORS * LANES : LANES;
	}
	t.k = k;
	t.kernels = end - k;
	SIMD(integers)(b, t);
}

/* The faster one; a tile of many kernels has whole rows. */
static void SIMD(any_width)(const struct gcu_batch *b, struct gcu_tile t)
{
	if (b->columns <= NARROW_MAX && t.kernels >= LANES)
		SIMD(narrow)(b, t);
	else
		SIMD(integers)(b, t);
}
