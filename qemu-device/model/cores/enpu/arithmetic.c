// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* What the processing elements compute, in plain C. */
#include "enpu.h"
#include "enpu_mutant.h"

static int8_t clamp8(int64_t v)
{
	return (int8_t)(v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v);
}

/* The signed number of @bits bits that is congruent to @v. */
static int32_t wrap(uint32_t v, uint32_t bits)
{
	return (int32_t)(v << (32 - bits)) >> (32 - bits);
}

static int8_t requantise(int32_t v, int32_t shift)
{
	int64_t half = shift > 0 && !MUTANT(FLOOR) ? (int64_t)1 << (shift - 1) : 0;

	if (shift < 0)
		return clamp8((int64_t)v * ((int64_t)1 << -shift));
	return clamp8(((int64_t)v + half) >> shift);
}

void enpu_requantise(const uint32_t (*psum)[ENPU_LANES], const struct enpu_scale *scale,
		     uint32_t bits, int8_t (*value)[ENPU_LANES], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t o = 0; o < ENPU_LANES; o++)
			value[i][o] = requantise(wrap(psum[i][o] + (uint32_t)scale->bias[o], bits),
						 scale->shift[o]);
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

/* Point of the pad that pixel (@i, @j) multiplies with the weight of kernel point (@r, @s). */
static uint32_t point(const struct enpu_window *w, uint32_t i, uint32_t j, uint32_t r, uint32_t s)
{
	return (i * w->sh + r * w->dh) * w->pitch + j * w->sw + s * w->dw;
}

void enpu_max(enpu_values value, const struct enpu_pad *pad, const struct enpu_window *w)
{
	for (uint32_t n = 0; n < w->y * w->x; n++)
		for (uint32_t o = 0; o < ENPU_LANES; o++)
			value[n][o] = INT8_MIN;
	for (uint32_t k = 0; k < w->hk * w->wk; k++)
		for (uint32_t n = 0; n < w->y * w->x; n++) {
			uint32_t at = point(w, n / w->x, n % w->x, k / w->wk, k % w->wk);

			for (uint32_t o = 0; o < ENPU_LANES; o++)
				value[n][o] = pad->point[at][o] > value[n][o] ?
					      pad->point[at][o] : value[n][o];
		}
}

static void channelwise_any(enpu_psums psum, const struct enpu_pad *pad,
			    const struct enpu_window *w, const int8_t *weight, uint32_t groups)
{
	for (uint32_t k = 0; k < w->hk * w->wk; k++, weight += (size_t)groups * ENPU_LANES)
		for (uint32_t n = 0; n < w->y * w->x; n++) {
			uint32_t at = point(w, n / w->x, n % w->x, k / w->wk, k % w->wk);

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
				int32_t a = pad[(size_t)point(w, i, j, 0, 0) * ENPU_LANES];

				for (uint32_t o = 0; o < ENPU_LANES; o++)
					psum[n][o] += (uint32_t)(a * weight[o]);
			}
}

static void conv_any(enpu_psums psum, const struct enpu_pad *pad, const struct enpu_window *w,
		     const int8_t *weight, uint32_t channels, uint32_t groups)
{
	for (uint32_t c = 0; c < channels; c++)
		for (uint32_t r = 0; r < w->hk; r++)
			for (uint32_t s = 0; s < w->wk; s++) {
				conv_point(psum, &pad->point[point(w, 0, 0, r, s)][c], w, weight,
					   groups);
				weight += (size_t)groups * ENPU_LANES;
			}
}

const struct enpu_simd *enpu_simd(uint32_t simd)
{
	static const struct enpu_simd any = { conv_any, channelwise_any };

	(void)simd;
	return &any;
}
