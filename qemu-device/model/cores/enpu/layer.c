// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Compute layers, tile by tile. */
#include <string.h>

#include "enpu.h"
#include "enpu_mutant.h"

#define TILE_NS		100	/* estimated host time of a tile */
#define PACK_PS		100	/* of the weights of a word, brought into the order of steps */
#define CHANNELWISE_NS	4	/* of the MACs of a word that are of one channel each */
#define STAGE_NS	40	/* of a word in a stage: requantised, stored */

/** struct unit - a unit of the loop nest: tiles of a row, and some groups of their channels. */
struct unit {
	uint32_t oy, ox;
	uint32_t rows, columns;		/* computed */
	uint32_t in_columns;		/* of the sub-image of a window layer */
	uint32_t pixels;		/* rows * columns */
	uint32_t group, groups;		/* first group of channels, and their number */
};

/* ---- maps ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Rows and columns of the tiles that are the layer's. */
static uint32_t rows_inside(const struct enpu_stage *s, const struct unit *u)
{
	return least(u->rows, s->ho - u->oy);
}

static uint32_t columns_inside(const struct enpu_stage *s, const struct unit *u)
{
	return least(u->columns, s->wo - u->ox);
}

/* First word of row @i of a group of the tiles in a map of Ho x Wo x Co. */
static uint64_t row_word(const struct enpu_stage *s, const struct enpu_range *map,
			 const struct unit *u, uint32_t i, uint32_t group)
{
	return map->first + ((uint64_t)(u->oy + i) * s->wo + u->ox) * map->step + group;
}

/* Load the unit's words of a map of Ho x Wo x Co; zeros beyond it. */
static void load_map(const struct enpu *h, const struct enpu_stage *s, uint32_t which,
		     const struct unit *u, enpu_values value)
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
static void load_pad(struct enpu *h, const struct enpu_stage *s, const struct unit *u,
		     uint32_t group)
{
	bool max = s->op->opcode == CNNACC_ENPU_MAX_POOL;
	int padding = max ? (MUTANT(PAD) ? 0 : INT8_MIN) : (int8_t)s->r.pad;
	int8_t (*to)[ENPU_LANES] = h->pad.point;
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

/* Psums to values, each group with its scale. */
static void requantise(struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	for (uint32_t g = 0; g < u->groups; g++) {
		struct enpu_scale scale;

		if (s->first)
			scale = h->scale[u->group + g];
		else
			scale = scale_of(h, s, u->group + g);
		h->simd->requantise((const uint32_t (*)[ENPU_LANES])&h->psum[g * u->pixels],
				    &scale, h->psum_bits, &h->value[g * u->pixels], u->pixels);
	}
}

static void lookup(struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	struct enpu_segment table[CNNACC_ENPU_LUT_SEGMENTS];
	uint32_t words[CNNACC_ENPU_LUT_SEGMENTS];

	memcpy(words, enpu_word(h, CNNACC_ENPU_WEIGHT, s->r.lut), sizeof(words));
	for (uint32_t i = 0; i < CNNACC_ENPU_LUT_SEGMENTS; i++)
		table[i] = (struct enpu_segment){
			.a = (int8_t)words[i], .b = (int16_t)(words[i] >> 8),
			.shift = words[i] >> 24 & 15,
		};
	enpu_lookup(h->value, table, u->groups * u->pixels);
}

/* Psums are the values times the weights of their channels. */
static void multiply_weights(struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	for (uint32_t n = 0; n < u->groups * u->pixels; n++) {
		const int8_t *w = weights(h, s, u->group + n / u->pixels);

		for (uint32_t o = 0; o < ENPU_LANES; o++)
			h->psum[n][o] = (uint32_t)(h->value[n][o] * w[o]);
	}
}

static void multiply_map(struct enpu *h, const struct unit *u)
{
	for (uint32_t n = 0; n < u->groups * u->pixels; n++)
		for (uint32_t o = 0; o < ENPU_LANES; o++)
			h->psum[n][o] = (uint32_t)(h->value[n][o] * h->b[n][o]);
}

/* A pointwise stage, of the values of the stage before or of map A. */
static void pointwise(struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	uint32_t count = u->groups * u->pixels;

	if (s->op->uses & ENPU_MAP_B)
		load_map(h, s, CNNACC_ENPU_RANGE_B, u, h->b);
	switch (s->op->opcode) {
	case CNNACC_ENPU_BN:
		multiply_weights(h, s, u);
		requantise(h, s, u);
		return;
	case CNNACC_ENPU_RELU:
		enpu_relu(h->value, count);
		return;
	case CNNACC_ENPU_LUT:
		lookup(h, s, u);
		return;
	case CNNACC_ENPU_ADD:
		enpu_add(h->value, (const int8_t (*)[ENPU_LANES])h->b, count);
		return;
	case CNNACC_ENPU_MUL:
		multiply_map(h, u);
		requantise(h, s, u);
		return;
	}
}

/* Steps of the channels from @c on, of 16 at most. */
static uint32_t steps_at(const struct enpu_factors *f, uint32_t c, uint32_t step)
{
	uint32_t rest = f->channels - c < ENPU_LANES ? f->channels - c : ENPU_LANES;

	return (rest + step - 1) / step;
}

/* @step: channels of a step */
static void find_inputs(struct enpu_factors *f, const struct enpu_window *w, uint32_t step)
{
	const uint32_t pad = w->points * ENPU_STEPS;
	uint32_t *offset = f->offset;

	f->pixels = w->y * w->x;
	f->pitch = w->pitch;
	for (uint32_t n = 0; n < f->pixels; n++)
		f->pixel[n] = enpu_point(w, n / w->x, n % w->x, 0, 0) * ENPU_STEPS;
	for (uint32_t c = 0; c < f->channels; c += ENPU_LANES)
		for (uint32_t i = 0; i < steps_at(f, c, step); i++)
			for (uint32_t n = 0; n < f->points; n++)
				*offset++ = c / ENPU_LANES * pad + i + ENPU_STEPS *
					enpu_point(w, 0, 0, n / w->wk, n % w->wk);
	f->steps = (uint32_t)(offset - f->offset);
}

/* The weights of the layer in the order of steps; they cannot change while it is computed. */
static void pack(struct enpu *h, const struct enpu_stage *s, const struct enpu_window *w)
{
	struct enpu_factors *f = &h->factors;

	f->channels = s->ci;
	f->points = s->hk * s->wk;
	f->groups = s->groups;
	if (!h->packed || f->pixels != w->y * w->x || f->pitch != w->pitch)
		find_inputs(f, w, h->simd->step);
	if (!h->packed)
		h->simd->pack(f, h->steps, weights(h, s, 0));
	h->packed = true;
}

/* All products of CONV, step by step. */
static void add_steps(struct enpu *h, const struct enpu_stage *s, const struct unit *u,
		      const struct enpu_window *w)
{
	pack(h, s, w);
	for (uint32_t c = 0; c < s->ci; c += ENPU_LANES) {
		load_pad(h, s, u, c / ENPU_LANES);
		h->simd->split(h->input + c / ENPU_LANES * w->points, &h->pad, w->points);
	}
	h->simd->conv(h->psum, (const enpu_steps *)h->input, &h->factors);
}

static void add_products(struct enpu *h, const struct enpu_stage *s, const struct unit *u,
			 const struct enpu_window *w)
{
	uint64_t points = (uint64_t)s->hk * s->wk * s->groups;

	if (h->simd->step && s->op->uses & ENPU_ALL_CHANNELS) {
		add_steps(h, s, u, w);
		return;
	}
	memset(h->psum, 0, u->groups * u->pixels * sizeof(h->psum[0]));
	if (!(s->op->uses & ENPU_ALL_CHANNELS)) {
		load_pad(h, s, u, u->group);
		enpu_channelwise(h->psum, &h->pad, w, weights(h, s, u->group), s->groups);
		return;
	}
	for (uint32_t c = 0; c < s->ci; c += ENPU_LANES) {
		uint32_t channels = s->ci - c < ENPU_LANES ? s->ci - c : ENPU_LANES;

		load_pad(h, s, u, c / ENPU_LANES);
		enpu_conv(h->psum, &h->pad, w, weights(h, s, c * points), channels, s->groups);
	}
}

static void window(struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	const struct enpu_window w = {
		.y = u->rows, .x = u->columns, .hk = s->hk, .wk = s->wk, .sh = s->sh, .sw = s->sw,
		.dh = MUTANT(DILATION) ? 1 : s->dh + 1, .dw = MUTANT(DILATION) ? 1 : s->dw + 1,
		.pitch = u->in_columns, .points = s->in_y * u->in_columns,
	};

	if (s->op->opcode == CNNACC_ENPU_MAX_POOL) {
		load_pad(h, s, u, u->group);
		enpu_max(h->value, &h->pad, &w);
		return;
	}
	add_products(h, s, u, &w);
	requantise(h, s, u);
	if (s->op->opcode == CNNACC_ENPU_CONV_RELU)
		enpu_relu(h->value, u->groups * u->pixels);
}

/* ---- results ---- */

/* Clear the lanes beyond the last channel in what is stored. */
static void clear_lanes(struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	uint32_t last = s->groups - 1, lanes = s->co - last * ENPU_LANES;
	int8_t (*value)[ENPU_LANES];

	if (lanes == ENPU_LANES || u->group + u->groups < s->groups)
		return;
	value = h->value + (last - u->group) * u->pixels;
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
static uint32_t columns_stored(const struct enpu_stage *s, const struct unit *u, uint32_t i)
{
	uint32_t inside = columns_inside(s, u);

	if (MUTANT(EDGE) && s->op->kind != ENPU_RESHAPE)
		return least(u->columns, (s->ho - u->oy - i) * s->wo - u->ox);
	return inside;
}

static void store(struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	uint32_t rows = rows_inside(s, u);

	for (uint32_t which = CNNACC_ENPU_RANGE_SKIP; which <= CNNACC_ENPU_RANGE_OUT; which++) {
		const int8_t (*value)[ENPU_LANES] = (const int8_t (*)[ENPU_LANES])h->value;
		struct enpu_range map;

		if (!enpu_range(s, which, &map))
			continue;
		clear_lanes(h, s, u);
		for (uint32_t g = 0; g < u->groups; g++, value += u->pixels)
			for (uint32_t i = 0; i < rows; i++)
				store_row(h, s, &map,
					  (const uint32_t[]){ u->oy + i, u->ox, u->group + g },
					  value + i * u->columns, columns_stored(s, u, i));
	}
}

/* ---- tiles ---- */

static void compute_unit(struct enpu *h, const struct unit *u)
{
	const struct enpu_stage *first = h->layer.stage;

	if (first->op->kind == ENPU_WINDOW)
		window(h, first, u);
	else
		load_map(h, first, CNNACC_ENPU_RANGE_A, u, h->value);
	for (uint32_t i = 0; i < h->layer.count; i++) {
		const struct enpu_stage *s = &h->layer.stage[i];

		if (s->op->kind == ENPU_POINTWISE)
			pointwise(h, s, u);
		store(h, s, u);
	}
}

static uint32_t in_columns(const struct enpu_stage *s, uint32_t columns)
{
	return s->op->kind == ENPU_WINDOW ?
	       s->sw * (columns - 1) + (s->dw + 1) * (s->wk - 1) + 1 : columns;
}

static bool all_channels(const struct enpu_stage *s)
{
	return s->op->uses & ENPU_ALL_CHANNELS;
}

/* Compute @tiles tiles of a row; what they give does not depend on how many. */
static void compute_tiles(struct enpu *h, uint32_t tiles)
{
	const struct enpu_stage *first = h->layer.stage;
	struct unit u = {
		.oy = h->s->oy, .ox = h->s->ox, .rows = first->y, .columns = tiles * first->x,
		.in_columns = in_columns(first, tiles * first->x),
		.pixels = first->y * tiles * first->x,
		.groups = all_channels(first) ? first->groups : 1,
	};

	for (; u.group < first->groups; u.group += u.groups)
		compute_unit(h, &u);
}

/* Tiles to compute at once in @budget: one at least, as many as there is room for at most. */
static uint32_t tiles_of(const struct enpu *h, int64_t ns, int64_t budget)
{
	const struct enpu_stage *s = h->layer.stage;
	uint32_t words = s->y * s->x * (all_channels(s) ? s->groups : 1);
	uint32_t left = (s->wo - h->s->ox + s->x - 1) / s->x;
	uint32_t most = least(left, ENPU_WORDS / words), rounds;

	if ((int64_t)most * ns > budget)
		most = budget > ns ? (uint32_t)(budget / ns) : 1;
	while (s->op->kind == ENPU_WINDOW && most > 1 &&
	       s->in_y * in_columns(s, most * s->x) > ENPU_POINTS)
		most--;
	/* About as many each time. */
	rounds = (left + most - 1) / most;
	return (left + rounds - 1) / rounds;
}

/* Estimated host time of a tile of the layer. */
static int64_t tile_ns(const struct enpu *h)
{
	const struct enpu_layer *layer = &h->layer;
	const struct enpu_stage *first = layer->stage;
	int64_t words = (int64_t)first->y * first->x * first->groups;
	int64_t ns = TILE_NS + words * layer->count * STAGE_NS;

	if (first->op->kind != ENPU_WINDOW)
		return ns;
	words *= (int64_t)first->hk * first->wk;
	if (!(first->op->uses & ENPU_ALL_CHANNELS))
		return ns + words * CHANNELWISE_NS;
	ns += words * first->ci * h->simd->word_ps / 1000;
	if (h->packed || !h->simd->step)
		return ns;
	return ns + (int64_t)first->hk * first->wk * first->ci * first->groups * PACK_PS / 1000;
}

/* Decode the layer that begins at @index of a program that has passed the checks. */
static void load_layer(struct enpu *h, uint32_t index)
{
	struct enpu_layer *layer = &h->layer;

	layer->count = 0;
	do
		enpu_decode(h, index + layer->count, !layer->count, &layer->stage[layer->count]);
	while (layer->stage[layer->count++].fused);
	h->layer_valid = true;
	h->packed = false;
	for (uint32_t g = 0; layer->stage->op->uses & ENPU_SHIFT && g < layer->stage->groups; g++)
		h->scale[g] = scale_of(h, layer->stage, g);
}

/* Go @tiles tiles on, or to the next layer. */
static void advance(struct enpu *h, uint32_t tiles)
{
	const struct enpu_stage *first = h->layer.stage;
	struct enpu_state *s = h->s;

	s->ox += tiles * first->x;
	if (s->ox < first->wo)
		return;
	s->ox = 0;
	s->oy += first->y;
	if (s->oy < first->ho)
		return;
	s->oy = 0;
	s->layer += h->layer.count;
	h->layer_valid = false;
	if (s->layer < s->end)
		return;
	s->pending = 0;
	s->layer = 0;
}

bool enpu_work(struct cm_seq *seq, int64_t *budget)
{
	struct enpu *h = enpu_of(seq);
	uint32_t tiles;
	int64_t ns;

	*budget -= (int64_t)h->check_ns;
	h->check_ns = 0;
	while (h->s->pending && *budget > 0) {
		if (!h->layer_valid)
			load_layer(h, h->s->layer);
		ns = tile_ns(h);
		tiles = tiles_of(h, ns, *budget);
		*budget -= tiles * ns;
		compute_tiles(h, tiles);
		advance(h, tiles);
	}
	return !h->s->pending;
}

/* Decode the layer of s->layer; false if no layer of the program begins there. */
static bool find_layer(struct enpu *h)
{
	const struct enpu_state *s = h->s;
	uint32_t index = s->start;

	while (index < s->end) {
		load_layer(h, index);
		if (index == s->layer)
			return true;
		index += h->layer.count;
	}
	return false;
}

bool enpu_position_possible(struct enpu *h)
{
	const struct enpu_stage *first = h->layer.stage;
	const struct enpu_state *s = h->s;
	struct enpu_program program;
	bool found;

	if (!enpu_check_program(h, s->start, &program) || program.end != s->end ||
	    program.banks != s->banks)
		return false;
	if (!s->pending)
		return true;
	found = find_layer(h);
	h->layer_valid = false;
	return found && s->oy < first->ho && s->oy % first->y == 0 &&
	       s->ox < first->wo && s->ox % first->x == 0;
}
