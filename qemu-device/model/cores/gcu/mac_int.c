// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Sums of integer products, without vectors. */
#include "gcu_mutant.h"
#include "mac.h"

#define COLUMNS	GCU_STEP_COLUMNS

/* The factors of kernel @k for a tap of columns @w.. of an op3. */
static const int16_t *row_at(const struct gcu_batch *b, const struct gcu_factors *op, uint32_t tap,
			     uint32_t pair, uint32_t w)
{
	return (const int16_t *)op->row + ((size_t)pair * b->pitch + b->tap[tap] + w) * 2;
}

static const int16_t *weight_at(const struct gcu_batch *b, const struct gcu_factors *op,
				uint32_t tap, uint32_t pair, uint32_t k)
{
	return (const int16_t *)op->weight +
	       (((size_t)tap * (b->channels / 2) + pair) * b->kernels + k) * 2;
}

/* Modulo 2^32. */
static void add_op(const struct gcu_batch *b, const struct gcu_factors *op, uint32_t k, uint32_t w,
		   uint32_t sum[COLUMNS])
{
	for (uint32_t s = 0; s < b->taps; s++)
		for (uint32_t pair = 0; pair < b->channels / 2; pair++) {
			const int16_t *x = row_at(b, op, s, pair, w);
			const int16_t *y = weight_at(b, op, s, pair, k);

			for (uint32_t j = 0; j < COLUMNS; j++)
				sum[j] += (uint32_t)(x[2 * j] * y[0]) +
					  (uint32_t)(x[2 * j + 1] * y[1]);
		}
}

void gcu_add_integers(const struct gcu_batch *b, struct gcu_tile tile)
{
	for (uint32_t k = tile.k; k < tile.k + tile.kernels; k++)
		for (uint32_t w = tile.w; w < tile.w + tile.columns; w += COLUMNS) {
			uint32_t *acc = (uint32_t *)b->acc + (size_t)k * b->acc_pitch + w;
			uint32_t sum[COLUMNS];

			for (uint32_t j = 0; j < COLUMNS; j++)
				sum[j] = acc[j] + (uint32_t)b->offset[k];
			for (uint32_t i = 0; i < b->count; i++)
				add_op(b, &b->op[i], k, w, sum);
			for (uint32_t j = 0; j < COLUMNS; j++)
				acc[j] = sum[j];
		}
}

static void saturate(const struct gcu_batch *b, int64_t sum[COLUMNS])
{
	int64_t high = b->high, low = -high - 1;

	for (uint32_t j = 0; j < COLUMNS; j++)
		sum[j] = sum[j] > high ? high : sum[j] < low ? low : sum[j];
}

static void add_op_saturating(const struct gcu_batch *b, const struct gcu_factors *op, uint32_t k,
			      uint32_t w, int64_t sum[COLUMNS])
{
	for (uint32_t s = 0; s < b->taps; s++) {
		for (uint32_t pair = 0; pair < b->channels / 2; pair++) {
			const int16_t *x = row_at(b, op, s, pair, w);
			const int16_t *y = weight_at(b, op, s, pair, k);

			for (uint32_t j = 0; j < COLUMNS; j++)
				sum[j] += (int64_t)(x[2 * j] * y[0]) + x[2 * j + 1] * y[1];
		}
		if (!MUTANT(SATURATE))
			saturate(b, sum);
	}
}

void gcu_add_saturating(const struct gcu_batch *b, struct gcu_tile tile)
{
	for (uint32_t k = tile.k; k < tile.k + tile.kernels; k++)
		for (uint32_t w = tile.w; w < tile.w + tile.columns; w += COLUMNS) {
			int32_t *acc = b->acc + (size_t)k * b->acc_pitch + w;
			int64_t sum[COLUMNS];

			for (uint32_t j = 0; j < COLUMNS; j++)
				sum[j] = acc[j];
			for (uint32_t i = 0; i < b->count; i++)
				add_op_saturating(b, &b->op[i], k, w, sum);
			saturate(b, sum);
			for (uint32_t j = 0; j < COLUMNS; j++)
				acc[j] = (int32_t)sum[j];
		}
}
