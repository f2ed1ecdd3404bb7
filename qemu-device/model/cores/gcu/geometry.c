// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Which inputs, channel groups and columns a layer's outputs are made of. */
#include <string.h>

#include "gcu.h"
#include "gcu_mutant.h"

void gcu_group(const struct gcu *g, const struct gcu_layer *l, uint32_t i, struct gcu_group *group)
{
	uint32_t per = l->channels / l->group_n, k1, last;

	group->k0 = i * g->atomic_k;
	group->kn = gcu_least(g->atomic_k, l->kernels - group->k0);
	k1 = group->k0 + group->kn - 1;
	group->first = 0;
	last = (l->channels - 1) / g->atomic_c;
	if (l->group_n > 1) {
		group->first = group->k0 / per * per / g->atomic_c;
		last = ((k1 / per + 1) * per - 1) / g->atomic_c;
	}
	group->count = last - group->first + 1;
	group->resident = group->count;
	group->swaps = 0;
	if (l->group_count < group->count) {
		group->resident = l->group_count - GCU_SWAPS;
		group->swaps = (uint64_t)(group->count - group->resident) * l->ofmh;
	}
}

int32_t gcu_input_row(const struct gcu_layer *l, uint32_t h, uint32_t r)
{
	uint32_t y = h * l->step_v + r * l->dil_v;

	if (y < l->top)
		return -1;
	y -= l->top;
	if (l->gap_v > 1) {
		if (y % l->gap_v)
			return -1;
		y /= l->gap_v;
	}
	return y < l->height ? (int32_t)y : -1;
}

bool gcu_needed_before(const struct gcu_layer *l, uint32_t h, uint32_t y)
{
	uint32_t at = l->top + y * l->gap_v;

	for (uint32_t r = 0; r < l->r && r * l->dil_v <= at; r++) {
		uint32_t begin = at - r * l->dil_v;

		if (begin % l->step_v == 0 && begin / l->step_v < h)
			return true;
	}
	return false;
}

uint64_t gcu_pairs(const struct gcu *g, const struct gcu_layer *l, const struct gcu_group *group,
		   uint32_t cg)
{
	uint32_t c0 = cg * g->atomic_c, c1 = c0 + gcu_real(g, l->channels, cg);
	uint32_t k1 = group->k0 + group->kn, per = l->channels / l->group_n;
	uint64_t pairs = 0;

	if (l->group_n == 1)
		return (uint64_t)(c1 - c0) * group->kn;
	for (uint32_t n = c0 / per; n * per < c1; n++) {
		uint32_t begin = n * per, end = begin + per;
		uint32_t c_begin = begin > c0 ? begin : c0, k_begin = begin > group->k0 ? begin :
								      group->k0;
		uint32_t c_end = gcu_least(end, c1), k_end = gcu_least(end, k1);

		if (k_begin < k_end)
			pairs += (uint64_t)(c_end - c_begin) * (k_end - k_begin);
	}
	return pairs;
}

/* Input column at column @x of the extended map, -1 if there is none. */
static int32_t input_column(const struct gcu_layer *l, uint32_t x)
{
	if (x < l->left || (x - l->left) % l->gap_h)
		return -1;
	x = (x - l->left) / l->gap_h;
	return x < l->width ? (int32_t)x : -1;
}

/* Places of columns with the same remainder: of all steps, and the taps' distances from them. */
static uint32_t phase_places(const struct gcu_layer *l)
{
	uint32_t columns = (l->ofmw + GCU_STEP_COLUMNS - 1) / GCU_STEP_COLUMNS * GCU_STEP_COLUMNS;

	return columns + (l->s - 1) * l->dil_h / l->step_h;
}

uint32_t gcu_row_taps(const struct gcu_layer *l, const struct gcu_columns *columns)
{
	uint32_t taps = 0;

	for (uint32_t s = 0; s < l->s; s++)
		for (uint32_t w = 0; w < l->ofmw; w++)
			taps += columns->real[columns->tap[s] + w] & 1;
	return taps;
}

void gcu_lay_out_columns(const struct gcu_layer *l, struct gcu_columns *columns)
{
	uint32_t phase[CNNACC_GCU_STRIDE_MAX], length = phase_places(l), places = 0;

	memset(phase, 0xff, sizeof(phase));
	for (uint32_t s = 0; s < l->s; s++) {
		uint32_t at = s * l->dil_h, rest = at % l->step_h;

		if (phase[rest] == UINT32_MAX) {
			phase[rest] = places;
			for (uint32_t j = 0; j < length; j++) {
				int32_t x = input_column(l, rest + j * l->step_h);

				columns->source[places + j] = x;
				columns->real[places + j] = x < 0 ? 0 : UINT32_MAX;
			}
			places += length;
		}
		columns->tap[s] = phase[rest] + at / l->step_h;
	}
	columns->pitch = (places + GCU_STEP_COLUMNS - 1) / GCU_STEP_COLUMNS * GCU_STEP_COLUMNS;
	for (; places < columns->pitch; places++) {
		columns->source[places] = -1;
		columns->real[places] = 0;
	}
}
