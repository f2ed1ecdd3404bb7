/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Products of pairs of 16-bit elements; simd.c includes this file once for each vector width. */

#define PARTS	(HWPE_PES * sizeof(int32_t) / sizeof(VECTOR))	/* vectors for all columns */

/* Add the products of @pairs pairs to ROWS rows. */
SIMD_TARGET static void SIMD(add_rows)(int32_t (*acc)[HWPE_PES], const int32_t *left,
				       size_t pitch, size_t pairs, const VECTOR *right)
{
	VECTOR sum[ROWS][PARTS];

	UNROLL
	for (unsigned int i = 0; i < ROWS; i++)
		UNROLL
		for (unsigned int j = 0; j < PARTS; j++)
			sum[i][j] = ZERO();
	for (size_t p = 0; p < pairs; p++, right += PARTS)
		UNROLL
		for (unsigned int i = 0; i < ROWS; i++) {
			VECTOR pair = SPLAT(left[i * pitch + p]);

			UNROLL
			for (unsigned int j = 0; j < PARTS; j++)
				sum[i][j] = ADD(sum[i][j], MADD(pair, right[j]));
		}
	for (unsigned int i = 0; i < ROWS; i++)
		for (unsigned int j = 0; j < PARTS; j++) {
			VECTOR all;

			memcpy(&all, (char *)acc[i] + j * sizeof(all), sizeof(all));
			all = ADD(all, sum[i][j]);
			memcpy((char *)acc[i] + j * sizeof(all), &all, sizeof(all));
		}
}

static bool SIMD(add)(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left,
		      uint32_t type, const void *right, const int32_t sum[HWPE_PES],
		      void *scratch)
{
	size_t pairs = pairs_of(left, type), pitch = pairs + HWPE_PAD;
	bool bad = left_pairs(left, type, scratch, pitch);

	(void)sum;
	for (unsigned int i = 0; i < HWPE_ACCS; i += ROWS)
		SIMD(add_rows)(acc + i, (const int32_t *)scratch + i * pitch, pitch, pairs, right);
	return bad;
}

#undef PARTS
