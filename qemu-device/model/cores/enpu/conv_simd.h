/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Products of CONV; included once for each vector width, with SIMD(name), VECTOR and its LANES,
 * MAC(sum, input, weight), SPLAT(word), SIMD_TARGET, and the BLOCK pixels of GROUPS groups whose
 * psums are in registers.
 */

#define PARTS		(ENPU_LANES * sizeof(uint32_t) / sizeof(VECTOR))
#define SIMD_INLINE	SIMD_TARGET static inline __attribute__((always_inline))

/* Psums of @pixels pixels, from @at on, in @groups groups from @group on. */
SIMD_INLINE void SIMD(sum)(enpu_psums psum, const struct enpu_inputs *in,
			   const struct enpu_factors *f, const uint32_t first[2],
			   const uint32_t pixels, const uint32_t groups)
{
	const uint32_t at = first[0], group = first[1];
	const VECTOR *weight = (const VECTOR *)f->weight[(size_t)group * in->steps];
	const uint32_t *from[BLOCK];
	/* GCC 12 keeps arrays of __v16si in registers, but spills arrays of __m512i. */
	LANES sum[BLOCK * GROUPS][PARTS];

	UNROLL
	for (uint32_t p = 0; p < pixels; p++)
		from[p] = in->step[0] + in->pixel[at + p];
	UNROLL
	for (uint32_t n = 0; n < pixels * groups; n++)
		UNROLL
		for (uint32_t i = 0; i < PARTS; i++)
			memcpy(&sum[n][i], (const char *)f->start[group + n / pixels] +
			       i * sizeof(VECTOR), sizeof(VECTOR));
	for (uint32_t n = 0; n < in->steps; n++, weight += PARTS) {
		VECTOR w[GROUPS][PARTS];

		UNROLL
		for (uint32_t i = 0; i < groups * PARTS; i++)
			w[i / PARTS][i % PARTS] =
				weight[i / PARTS * in->steps * PARTS + i % PARTS];
		UNROLL
		for (uint32_t p = 0; p < pixels; p++) {
			VECTOR value = SPLAT((int)from[p][in->offset[n]]);

			UNROLL
			for (uint32_t i = 0; i < groups * PARTS; i++) {
				LANES *s = &sum[i / PARTS * pixels + p][i % PARTS];

				*s = (LANES)MAC((VECTOR)*s, value, w[i / PARTS][i % PARTS]);
			}
		}
	}
	UNROLL
	for (uint32_t n = 0; n < pixels * groups; n++)
		memcpy(psum[(group + n / pixels) * in->pixels + at + n % pixels], sum[n],
		       sizeof(psum[0]));
}

/* All pixels of @groups groups, @pixels at a time; the last ones again if they are fewer. */
SIMD_INLINE void SIMD(group)(enpu_psums psum, const struct enpu_inputs *in,
			     const struct enpu_factors *f, uint32_t group, const uint32_t pixels,
			     const uint32_t groups)
{
	for (uint32_t p = 0; p < in->pixels; p += pixels) {
		uint32_t at = p + pixels > in->pixels ? in->pixels - pixels : p;

		SIMD(sum)(psum, in, f, (const uint32_t[]){ at, group }, pixels, groups);
	}
}

SIMD_TARGET static void SIMD(conv)(enpu_psums psum, const struct enpu_inputs *in,
				   const struct enpu_factors *f)
{
	uint32_t g = 0;

	for (; g + GROUPS <= f->groups; g += GROUPS)
		if (in->pixels >= BLOCK)
			SIMD(group)(psum, in, f, g, BLOCK, GROUPS);
		else
			SIMD(group)(psum, in, f, g, 1, GROUPS);
	for (; g < f->groups; g++)
		if (in->pixels >= BLOCK)
			SIMD(group)(psum, in, f, g, BLOCK, 1);
		else
			SIMD(group)(psum, in, f, g, 1, 1);
}

#undef PARTS
#undef SIMD_INLINE
