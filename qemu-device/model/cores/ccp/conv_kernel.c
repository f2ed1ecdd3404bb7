// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Inner loop of the convolution.  Vectors run across the eight output columns
 * of a vector unit and blocks across its rows, so every output adds its taps
 * in the order of the specification.
 */
#include <string.h>

#include "ccp.h"
#include "mutant.h"

#define LANES	CNNACC_CCP_LANES
#define BLOCK	8	/* rows whose sums fit the host's vector registers */

typedef float vec __attribute__((vector_size(4 * LANES)));
/* The same in memory: floats at any element. */
typedef float vec_mem __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* 1.0 * bias is bias.  Lanes outside the map keep what the LOB held. */
static inline __attribute__((always_inline))
void rows(float *lob, const float *tile, const struct ccp_conv *p, const float *weights,
	  uint32_t depth, const float *bias, bool first, const uint32_t n)
{
	size_t step = (size_t)p->sy * p->tile_row;
	uint32_t taps = p->kh * p->kw;
	vec total[BLOCK];

	for (uint32_t i = 0; i < n; i++)
		total[i] = *(const vec_mem *)(lob + i * LANES);
	for (uint32_t c = 0; c < depth; c++, tile += p->tile_size, weights += taps) {
		vec sum[BLOCK];

		for (uint32_t i = 0; i < n; i++)
			sum[i] = (vec){ 0 };
		for (uint32_t t = 0; t < taps; t++) {
			float weight = weights[MUTANT(TAPS) ? taps - 1 - t : t];
			const float *x = tile + p->tap[t];

			for (uint32_t i = 0; i < n; i++)
				sum[i] += *(const vec_mem *)(x + i * step) * weight;
		}
		if (bias && c + 1 == depth && !MUTANT(BIAS))
			for (uint32_t i = 0; i < n; i++)
				sum[i] += *bias;
		for (uint32_t i = 0; i < n; i++)
			total[i] = first && !c ? sum[i] : total[i] + sum[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		if (bias && MUTANT(BIAS))
			total[i] += *bias;
		if (p->cols == LANES)
			*(vec_mem *)(lob + i * LANES) = total[i];
		else
			memcpy(lob + i * LANES, &total[i], p->cols * sizeof(*lob));
	}
}

/* Sums and totals of four rows fit the registers; taps earn more from eight. */
static inline __attribute__((always_inline))
void channel(float *lob, const float *tile, const struct ccp_conv *p, const float *weights,
	     uint32_t depth, const float *bias, bool first)
{
	size_t step = (size_t)p->sy * p->tile_row;
	uint32_t left = p->rows;

	if (p->kh * p->kw > 1)
		for (; left >= BLOCK; left -= BLOCK, lob += BLOCK * LANES, tile += BLOCK * step)
			rows(lob, tile, p, weights, depth, bias, first, BLOCK);
	for (; left >= 4; left -= 4, lob += 4 * LANES, tile += 4 * step)
		rows(lob, tile, p, weights, depth, bias, first, 4);
	for (; left; left--, lob += LANES, tile += step)
		rows(lob, tile, p, weights, depth, bias, first, 1);
}

static void channel_any(float *lob, const float *tile, const struct ccp_conv *p,
			const float *weights, uint32_t depth, const float *bias, bool first)
{
	channel(lob, tile, p, weights, depth, bias, first);
}

#if defined(__x86_64__) && !defined(CNN_PORTABLE)
__attribute__((target("avx2")))
static void channel_avx2(float *lob, const float *tile, const struct ccp_conv *p,
			 const float *weights, uint32_t depth, const float *bias, bool first)
{
	channel(lob, tile, p, weights, depth, bias, first);
}
#endif

ccp_conv_fn ccp_conv_select(void)
{
#if defined(__x86_64__) && !defined(CNN_PORTABLE)
	if (__builtin_cpu_supports("avx2"))
		return channel_avx2;
#endif
	return channel_any;
}
