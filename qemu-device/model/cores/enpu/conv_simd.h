/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Products of CONV and requantisation; included once for each vector width, with SIMD(name),
 * VECTOR, MAC(sum, input, weight), SPLAT(word) and SIMD_TARGET.
 */

#define PARTS		(ENPU_LANES * sizeof(uint32_t) / sizeof(VECTOR))
#define SIMD_INLINE	SIMD_TARGET static inline __attribute__((always_inline))

/* Psums of @pixels pixels of a group, in registers from the first product to the last. */
SIMD_INLINE void SIMD(sum)(uint32_t (*psum)[ENPU_LANES], const uint32_t *const *at,
			   const struct enpu_taps *taps, const struct enpu_factors *f,
			   uint32_t group, const uint32_t pixels)
{
	const VECTOR *weight = (const VECTOR *)f->weight[(size_t)group * taps->steps];
	/* GCC 12 keeps arrays of __v16si in registers, but spills arrays of __m512i. */
	LANES sum[ENPU_BLOCK][PARTS];

	UNROLL
	for (uint32_t p = 0; p < pixels; p++)
		UNROLL
		for (uint32_t i = 0; i < PARTS; i++)
			memcpy(&sum[p][i], (const char *)f->start[group] + i * sizeof(VECTOR),
			       sizeof(VECTOR));
	for (uint32_t n = 0; n < taps->steps; n++, weight += PARTS) {
		VECTOR w[PARTS];

		UNROLL
		for (uint32_t i = 0; i < PARTS; i++)
			w[i] = weight[i];
		UNROLL
		for (uint32_t p = 0; p < pixels; p++) {
			VECTOR input = SPLAT((int)at[p][taps->offset[n]]);

			UNROLL
			for (uint32_t i = 0; i < PARTS; i++)
				sum[p][i] = (LANES)MAC((VECTOR)sum[p][i], input, w[i]);
		}
	}
	UNROLL
	for (uint32_t p = 0; p < pixels; p++)
		memcpy(psum[p], sum[p], sizeof(psum[p]));
}

/* All pixels of a group, @block at a time; the last ones again if they are fewer. */
SIMD_INLINE void SIMD(group)(uint32_t (*psum)[ENPU_LANES], const uint32_t *const *at,
			     const struct enpu_taps *taps, const struct enpu_factors *f,
			     uint32_t group, const uint32_t block)
{
	for (uint32_t p = 0; p < taps->pixels; p += block) {
		uint32_t first = p + block > taps->pixels ? taps->pixels - block : p;

		SIMD(sum)(psum + first, at + first, taps, f, group, block);
	}
}

SIMD_TARGET static void SIMD(conv)(enpu_psums psum, const enpu_steps *input,
				   const struct enpu_window *w, const struct enpu_factors *f)
{
	const uint32_t *at[ENPU_PSUMS];
	struct enpu_taps taps;

	enpu_find_taps(&taps, at, input, w, f, STEP);
	for (uint32_t g = 0; g < f->groups; g++, psum += taps.pixels)
		if (taps.pixels >= ENPU_BLOCK)
			SIMD(group)(psum, at, &taps, f, g, ENPU_BLOCK);
		else if (taps.pixels >= 4)
			SIMD(group)(psum, at, &taps, f, g, 4);
		else
			SIMD(group)(psum, at, &taps, f, g, 1);
}

SIMD_TARGET static void SIMD(requantise)(const uint32_t (*psum)[ENPU_LANES],
					 const struct enpu_scale *scale, uint32_t bits,
					 int8_t (*value)[ENPU_LANES], uint32_t count)
{
	enpu_requantise_words(psum, scale, bits, value, count);
}

#undef PARTS
#undef SIMD_INLINE
