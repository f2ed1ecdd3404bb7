// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* What the processing elements compute, in plain C. */
#include "enpu.h"
#include "enpu_mutant.h"

static int8_t clamp8(int64_t v)
{
	return (int8_t)(v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v);
}

void enpu_set_shift(struct enpu_scale *scale, uint32_t lane, int32_t shift)
{
	scale->right[lane] = shift > 0 ? shift : 0;
	scale->last[lane] = shift > 0 ? shift - 1 : 0;
	scale->half[lane] = shift > 0 && !MUTANT(FLOOR);
	/* 1 << 8 is as far out of range as any more. */
	scale->left[lane] = shift >= 0 ? 0 : shift > -8 ? -shift : 8;
}

void enpu_relu(int8_t (*value)[ENPU_LANES], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t o = 0; o < ENPU_LANES; o++)
			value[i][o] = value[i][o] < 0 ? 0 : value[i][o];
}

void enpu_lookup(int8_t (*value)[ENPU_LANES], const struct enpu_segment *table, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t o = 0; o < ENPU_LANES; o++) {
			uint32_t bits = (uint8_t)value[i][o] ^ (MUTANT(SEGMENT) ? 0x80 : 0);
			const struct enpu_segment *s = &table[bits >> 4];

			value[i][o] = clamp8(((s->a * value[i][o]) >> s->shift) + s->b);
		}
}

void enpu_add(int8_t (*value)[ENPU_LANES], const int8_t (*b)[ENPU_LANES], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t o = 0; o < ENPU_LANES; o++)
			value[i][o] = clamp8(value[i][o] + b[i][o]);
}

/* ---- windows ---- */

void enpu_max(enpu_values value, const struct enpu_pad *pad, const struct enpu_window *w)
{
	for (uint32_t n = 0; n < w->y * w->x; n++)
		for (uint32_t o = 0; o < ENPU_LANES; o++)
			value[n][o] = INT8_MIN;
	for (uint32_t k = 0; k < w->hk * w->wk; k++)
		for (uint32_t n = 0; n < w->y * w->x; n++) {
			uint32_t at = enpu_point(w, n / w->x, n % w->x, k / w->wk, k % w->wk);

			for (uint32_t o = 0; o < ENPU_LANES; o++)
				value[n][o] = pad->point[at][o] > value[n][o] ?
					      pad->point[at][o] : value[n][o];
		}
}

void enpu_channelwise(enpu_psums psum, const struct enpu_pad *pad, const struct enpu_window *w,
		      const int8_t *weight, uint32_t groups)
{
	for (uint32_t k = 0; k < w->hk * w->wk; k++, weight += (size_t)groups * ENPU_LANES)
		for (uint32_t n = 0; n < w->y * w->x; n++) {
			uint32_t at = enpu_point(w, n / w->x, n % w->x, k / w->wk, k % w->wk);

			for (uint32_t o = 0; o < ENPU_LANES; o++)
				psum[n][o] += (uint32_t)(pad->point[at][o] * weight[o]);
		}
}

/* One channel's kernel point, all groups. */
static void conv_point(enpu_psums psum, const int8_t *pad, const struct enpu_window *w,
		       const int8_t *weight, uint32_t groups)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < groups; g++, weight += ENPU_LANES)
		for (uint32_t i = 0; i < w->y; i++)
			for (uint32_t j = 0; j < w->x; j++, n++) {
				int32_t a = pad[(size_t)enpu_point(w, i, j, 0, 0) * ENPU_LANES];

				for (uint32_t o = 0; o < ENPU_LANES; o++)
					psum[n][o] += (uint32_t)(a * weight[o]);
			}
}

void enpu_conv(enpu_psums psum, const struct enpu_pad *pad, const struct enpu_window *w,
	       const int8_t *weight, uint32_t channels, uint32_t groups)
{
	for (uint32_t c = 0; c < channels; c++)
		for (uint32_t r = 0; r < w->hk; r++)
			for (uint32_t s = 0; s < w->wk; s++) {
				const int8_t *from = &pad->point[enpu_point(w, 0, 0, r, s)][c];

				conv_point(psum, from, w, weight, groups);
				weight += (size_t)groups * ENPU_LANES;
			}
}
