/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* What the kernels of all vector widths have in common. */
#ifndef CM_ENPU_SIMD_H
#define CM_ENPU_SIMD_H

#include <string.h>

#include "enpu.h"

#define ENPU_BLOCK	8u	/* pixels whose psums are in registers */
#define UNROLL		_Pragma("GCC unroll 16")
/* Steps of a layer, at most: of 256 channels and a kernel that fills a pad. */
#define ENPU_MAX_STEPS	(256 / 2 * CNNACC_ENPU_IFMAP_PAD)

/** struct enpu_taps - where the inputs of a pixel's products are. */
struct enpu_taps {
	uint32_t pixels, steps;
	uint32_t offset[ENPU_MAX_STEPS];	/* from the pixel's first one */
};

/* Steps of the channels from @c on, of 16 at most. */
static inline uint32_t enpu_steps_at(uint32_t channels, uint32_t c, uint32_t step)
{
	uint32_t rest = channels - c < ENPU_LANES ? channels - c : ENPU_LANES;

	return (rest + step - 1) / step;
}

/* @step: channels of a step; @at: first input of each pixel. */
static inline void enpu_find_taps(struct enpu_taps *taps, const uint32_t **at,
				  const enpu_steps *input, const struct enpu_window *w,
				  const struct enpu_factors *f, uint32_t step)
{
	const uint32_t pad = sizeof(enpu_steps) / sizeof(uint32_t);

	taps->pixels = w->y * w->x;
	for (uint32_t n = 0; n < taps->pixels; n++)
		at[n] = input[0][enpu_point(w, n / w->x, n % w->x, 0, 0)];
	taps->steps = 0;
	for (uint32_t c = 0; c < f->channels; c += ENPU_LANES)
		for (uint32_t i = 0; i < enpu_steps_at(f->channels, c, step); i++)
			for (uint32_t r = 0; r < w->hk; r++)
				for (uint32_t s = 0; s < w->wk; s++)
					taps->offset[taps->steps++] = c / ENPU_LANES * pad + i +
						enpu_point(w, 0, 0, r, s) * ENPU_STEPS;
}

static inline __attribute__((always_inline)) int32_t enpu_clamp(int32_t v)
{
	v = v < INT8_MIN ? INT8_MIN : v;
	return v > INT8_MAX ? INT8_MAX : v;
}

/*
 * Halves up without more than 32 bits: the last bit that is shifted out is added.  What is shifted
 * to the left is clamped before, too.
 */
static inline __attribute__((always_inline)) void
enpu_requantise_words(const uint32_t (*psum)[ENPU_LANES], const struct enpu_scale *scale,
		      uint32_t bits, int8_t (*value)[ENPU_LANES], uint32_t count)
{
	const struct enpu_scale k = *scale;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t o = 0; o < ENPU_LANES; o++) {
			uint32_t sum = psum[i][o] + (uint32_t)k.bias[o];
			int32_t v = (int32_t)(sum << (32 - bits)) >> (32 - bits);

			v = (v >> k.right[o]) + ((v >> k.last[o]) & k.half[o]);
			value[i][o] = (int8_t)enpu_clamp(enpu_clamp(v) * (1 << k.left[o]));
		}
}

#endif
