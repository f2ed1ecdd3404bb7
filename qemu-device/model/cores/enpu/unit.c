// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Compute a unit of a layer: its stages, from maps to maps. */
#include <string.h>

#include "enpu.h"
#include "enpu_mutant.h"

/* ---- maps ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Rows and columns of the tiles that are the layer's. */
static uint32_t rows_inside(const struct enpu_stage *s, const struct enpu_unit *u)
{
	return least(u->rows, s->ho - u->oy);
}

static uint32_t columns_inside(const struct enpu_stage *s, const struct enpu_unit *u)
{
	return least(u->columns, s->wo - u->ox);
}

/* First word of row @i of a group of the tiles in a map of Ho x Wo x Co. */
static uint64_t row_word(const struct enpu_stage *s, const struct enpu_range *map,
			 const struct enpu_unit *u, uint32_t i, uint32_t group)
{
	return map->first + ((uint64_t)(u->oy + i) * s->wo + u->ox) * map->step + group;
}

/* Load the unit's words of a map of Ho x Wo x Co; zeros beyond it. */
static void load_map(const struct enpu *h, const struct enpu_stage *s, uint32_t which,
		     const struct enpu_unit *u, enpu_values value)
{
	uint32_t rows = rows_inside(s, u), columns = columns_inside(s, u);
	struct enpu_range map;

	enpu_range(s, which, &map);
	if (rows < u->rows || columns < u->columns)
		memset(value, 0, (size_t)u->groups * u->pixels * ENPU_WORD);
	for (uint32_t n = 0; n < u->groups * u->rows; n++, value += u->columns) {
		uint32_t i = n % u->rows;
		const int8_t *from;

		if (i >= rows)
			continue;
		from = enpu_word(h, map.memory,
				 row_word(s, &map, u, i, u->group + n / u->rows));
		for (uint32_t j = 0; j < columns; j++, from += map.step * ENPU_WORD)
			memcpy(value[j], from, ENPU_WORD);
	}
}

/* Load 16 channels, @group, of the sub-image of a window layer's tile. */
static void load_pad(const struct enpu *h, const struct enpu_stage *s, const struct enpu_unit *u,
		     uint32_t group)
{
	bool max = s->op->opcode == CNNACC_ENPU_MAX_POOL;
	int padding = max ? (MUTANT(PAD) ? 0 : INT8_MIN) : (int8_t)s->r.pad;
	int8_t (*to)[ENPU_LANES] = u->scratch->pad.point;
	struct enpu_range a;

	enpu_range(s, CNNACC_ENPU_RANGE_A, &a);
	for (uint32_t i = 0; i < s->in_y; i++, to += u->in_columns) {
		/* Rows and columns above and left of the map wrap to large numbers. */
		uint32_t iy = u->oy * s->sh + i - s->ph, ix = u->ox * s->sw - s->pw;
		uint64_t row = a.first + (uint64_t)iy * s->wi * a.step + group;

		for (uint32_t j = 0; j < u->in_columns; j++, ix++)
			if (iy < s->hi && ix < s->wi)
				memcpy(to[j], enpu_word(h, a.memory, row + (uint64_t)ix * a.step),
				       ENPU_WORD);
			else
				memset(to[j], padding, ENPU_WORD);
	}
}

/* ---- stages ---- */

static const int8_t *weights(const struct enpu *h, const struct enpu_stage *s, uint64_t word)
{
	return enpu_word(h, CNNACC_ENPU_WEIGHT, s->r.weight + word);
}

/* Bias and shift of a group; 0 in lanes beyond the last channel. */
static struct enpu_scale scale_of(const struct enpu *h, const struct enpu_stage *s, uint32_t group)
{
	uint32_t lanes = s->co - group * ENPU_LANES;
	struct enpu_scale scale = { 0 };
	const int8_t *block;

	lanes = lanes < ENPU_LANES ? lanes : ENPU_LANES;
	if (!s->block) {
		for (uint32_t o = 0; o < lanes; o++)
			enpu_set_shift(&scale, o, (int8_t)s->r.shift);
		return scale;
	}
	block = enpu_word(h, CNNACC_ENPU_WEIGHT,
			  s->r.block + CNNACC_ENPU_BLOCK_WORDS * (uint64_t)group);
	memcpy(scale.bias, block, lanes * sizeof(scale.bias[0]));
	for (uint32_t o = 0; o < lanes; o++)
		enpu_set_shift(&scale, o, block[4 * ENPU_WORD + o]);
	return scale;
}

void enpu_set_scales(struct enpu *h)
{
	const struct enpu_stage *s = h->layer.stage;

	for (uint32_t g = 0; s->op->uses & ENPU_SHIFT && g < s->groups; g++)
		h->scale[g] = scale_of(h, s, g);
}

/* Psums to values, each group with its scale. */
static void requantise(const struct enpu *h, const struct enpu_stage *s, const struct enpu_unit *u)
{
	struct enpu_scratch *t = u->scratch;

	for (uint32_t g = 0; g < u->groups; g++) {
		struct enpu_scale scale;

		if (s->first)
			scale = h->scale[u->group + g];
		else
			scale = scale_of(h, s, u->group + g);
		h->simd->requantise((const uint32_t (*)[ENPU_LANES])&t->psum[g * u->pixels],
				    &scale, h->psum_bits, &t->value[g * u->pixels], u->pixels);
	}
}

static void lookup(const struct enpu *h, const struct enpu_stage *s, const struct enpu_unit *u)
{
	struct enpu_segment table[CNNACC_ENPU_LUT_SEGMENTS];
	uint32_t words[CNNACC_ENPU_LUT_SEGMENTS];

	memcpy(words, enpu_word(h, CNNACC_ENPU_WEIGHT, s->r.lut), sizeof(words));
	for (uint32_t i = 0; i < CNNACC_ENPU_LUT_SEGMENTS; i++)
		table[i] = (struct enpu_segment){
			.a = (int8_t)words[i], .b = (int16_t)(words[i] >> 8),
			.shift = words[i] >> 24 & 15,
		};
	enpu_lookup(u->scratch->value, table, u->groups * u->pixels);
}

/* Psums are the values times the weights of their channels. */
static void multiply_weights(const struct enpu *h, const struct enpu_stage *s,
			     const struct enpu_unit *u)
{
	struct enpu_scratch *t = u->scratch;

	for (uint32_t n = 0; n < u->groups * u->pixels; n++) {
		const int8_t *w = weights(h, s, u->group + n / u->pixels);

		for (uint32_t o = 0; o < ENPU_LANES; o++)
			t->psum[n][o] = (uint32_t)(t->value[n][o] * w[o]);
	}
}

static void multiply_map(const struct enpu_unit *u)
{
	struct enpu_scratch *t = u->scratch;

	for (uint32_t n = 0; n < u->groups * u->pixels; n++)
		for (uint32_t o = 0; o < ENPU_LANES; o++)
			t->psum[n][o] = (uint32_t)(t->value[n][o] * t->b[n][o]);
}

/* A pointwise stage, of the values of the stage before or of map A. */
static void pointwise(const struct enpu *h, const struct enpu_stage *s, const struct enpu_unit *u)
{
	struct enpu_scratch *t = u->scratch;
	uint32_t count = u->groups * u->pixels;

	if (s->op->uses & ENPU_MAP_B)
		load_map(h, s, CNNACC_ENPU_RANGE_B, u, t->b);
	switch (s->op->opcode) {
	case CNNACC_ENPU_BN:
		multiply_weights(h, s, u);
		requantise(h, s, u);
		return;
	case CNNACC_ENPU_RELU:
		enpu_relu(t->value, count);
		return;
	case CNNACC_ENPU_LUT:
		lookup(h, s, u);
		return;
	case CNNACC_ENPU_ADD:
		enpu_add(t->value, (const int8_t (*)[ENPU_LANES])t->b, count);
		return;
	case CNNACC_ENPU_MUL:
		multiply_map(u);
		requantise(h, s, u);
		return;
	}
}

/* Steps of the channels from @c on, of 16 at most. */
static uint32_t steps_at(const struct enpu_stage *s, uint32_t c, uint32_t step)
{
	return (least(s->ci - c, ENPU_LANES) + step - 1) / step;
}

/* @step: channels of a step */
static void find_inputs(struct enpu_inputs *in, const struct enpu_stage *s,
			const struct enpu_window *w, uint32_t step)
{
	const uint32_t pad = w->points * ENPU_STEPS;
	uint32_t *offset = in->offset;

	in->pixels = w->y * w->x;
	in->pitch = w->pitch;
	for (uint32_t n = 0; n < in->pixels; n++)
		in->pixel[n] = enpu_point(w, n / w->x, n % w->x, 0, 0) * ENPU_STEPS;
	for (uint32_t c = 0; c < s->ci; c += ENPU_LANES)
		for (uint32_t i = 0; i < steps_at(s, c, step); i++)
			for (uint32_t n = 0; n < s->hk * s->wk; n++)
				*offset++ = c / ENPU_LANES * pad + i + ENPU_STEPS *
					enpu_point(w, 0, 0, n / w->wk, n % w->wk);
	in->steps = (uint32_t)(offset - in->offset);
}

void enpu_pack(struct enpu *h)
{
	const struct enpu_stage *s = h->layer.stage;

	h->factors.channels = s->ci;
	h->factors.points = s->hk * s->wk;
	h->factors.groups = s->groups;
	h->simd->pack(&h->factors, h->steps, weights(h, s, 0));
}

/* All products of CONV, step by step. */
static void add_steps(const struct enpu *h, const struct enpu_stage *s, const struct enpu_unit *u,
		      const struct enpu_window *w)
{
	struct enpu_scratch *t = u->scratch;
	struct enpu_inputs *in = &t->inputs;

	if (in->layer != h->layers || in->pixels != w->y * w->x || in->pitch != w->pitch)
		find_inputs(in, s, w, h->simd->step);
	in->layer = h->layers;
	for (uint32_t c = 0; c < s->ci; c += ENPU_LANES) {
		load_pad(h, s, u, c / ENPU_LANES);
		h->simd->split(in->step + c / ENPU_LANES * w->points, &t->pad, w->points);
	}
	h->simd->conv(t->psum, in, &h->factors);
}

static void add_products(const struct enpu *h, const struct enpu_stage *s,
			 const struct enpu_unit *u, const struct enpu_window *w)
{
	uint64_t points = (uint64_t)s->hk * s->wk * s->groups;
	struct enpu_scratch *t = u->scratch;

	if (enpu_has_steps(h)) {
		add_steps(h, s, u, w);
		return;
	}
	memset(t->psum, 0, u->groups * u->pixels * sizeof(t->psum[0]));
	if (!(s->op->uses & ENPU_ALL_CHANNELS)) {
		load_pad(h, s, u, u->group);
		enpu_channelwise(t->psum, &t->pad, w, weights(h, s, u->group), s->groups);
		return;
	}
	for (uint32_t c = 0; c < s->ci; c += ENPU_LANES) {
		load_pad(h, s, u, c / ENPU_LANES);
		enpu_conv(t->psum, &t->pad, w, weights(h, s, c * points),
			  least(s->ci - c, ENPU_LANES), s->groups);
	}
}

static void window(const struct enpu *h, const struct enpu_stage *s, const struct enpu_unit *u)
{
	const struct enpu_window w = {
		.y = u->rows, .x = u->columns, .hk = s->hk, .wk = s->wk, .sh = s->sh, .sw = s->sw,
		.dh = MUTANT(DILATION) ? 1 : s->dh + 1, .dw = MUTANT(DILATION) ? 1 : s->dw + 1,
		.pitch = u->in_columns, .points = s->in_y * u->in_columns,
	};

	if (s->op->opcode == CNNACC_ENPU_MAX_POOL) {
		load_pad(h, s, u, u->group);
		enpu_max(u->scratch->value, &u->scratch->pad, &w);
		return;
	}
	add_products(h, s, u, &w);
	requantise(h, s, u);
	if (s->op->opcode == CNNACC_ENPU_CONV_RELU)
		enpu_relu(u->scratch->value, u->groups * u->pixels);
}

/* ---- results ---- */

/* Clear the lanes beyond the last channel in what is stored. */
static void clear_lanes(const struct enpu_stage *s, const struct enpu_unit *u)
{
	uint32_t last = s->groups - 1, lanes = s->co - last * ENPU_LANES;
	int8_t (*value)[ENPU_LANES];

	if (lanes == ENPU_LANES || u->group + u->groups < s->groups)
		return;
	value = u->scratch->value + (last - u->group) * u->pixels;
	for (uint32_t n = 0; n < u->pixels; n++)
		memset(value[n] + lanes, 0, ENPU_LANES - lanes);
}

static void store_row(const struct enpu *h, const struct enpu_stage *s,
		      const struct enpu_range *map, const uint32_t place[3],
		      const int8_t (*value)[ENPU_LANES], uint32_t columns)
{
	uint64_t pixel = (uint64_t)place[0] * s->wo + place[1];
	int8_t *to;

	if (s->op->kind == ENPU_RESHAPE) {
		for (uint32_t j = 0; j < columns; j++)
			enpu_store_reshaped(h, s, map, (const uint32_t[]){
				place[0], place[1] + j, place[2] }, value[j]);
		return;
	}
	to = enpu_word(h, map->memory, map->first + pixel * map->step + place[2]);
	for (uint32_t j = 0; j < columns; j++, to += map->step * ENPU_WORD)
		memcpy(to, value[j], ENPU_WORD);
}

/* Columns of row @i that are stored: the seeded mistake lets them go on into the next row. */
static uint32_t columns_stored(const struct enpu_stage *s, const struct enpu_unit *u, uint32_t i)
{
	uint32_t inside = columns_inside(s, u);

	if (MUTANT(EDGE) && s->op->kind != ENPU_RESHAPE)
		return least(u->columns, (s->ho - u->oy - i) * s->wo - u->ox);
	return inside;
}

static void store(const struct enpu *h, const struct enpu_stage *s, const struct enpu_unit *u)
{
	uint32_t rows = rows_inside(s, u);

	for (uint32_t which = CNNACC_ENPU_RANGE_SKIP; which <= CNNACC_ENPU_RANGE_OUT; which++) {
		const int8_t (*value)[ENPU_LANES] =
			(const int8_t (*)[ENPU_LANES])u->scratch->value;
		struct enpu_range map;

		if (!enpu_range(s, which, &map))
			continue;
		clear_lanes(s, u);
		for (uint32_t g = 0; g < u->groups; g++, value += u->pixels)
			for (uint32_t i = 0; i < rows; i++)
				store_row(h, s, &map,
					  (const uint32_t[]){ u->oy + i, u->ox, u->group + g },
					  value + i * u->columns, columns_stored(s, u, i));
	}
}

/* ---- stages of a unit ---- */

void enpu_compute(const struct enpu *h, const struct enpu_unit *u)
{
	const struct enpu_stage *first = h->layer.stage;

	if (first->op->kind == ENPU_WINDOW)
		window(h, first, u);
	else
		load_map(h, first, CNNACC_ENPU_RANGE_A, u, u->scratch->value);
	for (uint32_t i = 0; i < h->layer.count; i++) {
		const struct enpu_stage *s = &h->layer.stage[i];

		if (s->op->kind == ENPU_POINTWISE)
			pointwise(h, s, u);
		store(h, s, u);
	}
}
