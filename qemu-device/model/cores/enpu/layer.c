// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Compute layers, tile by tile. */
#include <string.h>

#include "enpu.h"
#include "enpu_mutant.h"

#define TILE_NS		100	/* estimated host time of a tile */
#define PACK_PS		100	/* of the weights of a word, brought into the order of steps */
#define CHANNELWISE_NS	4	/* of the MACs of a word that are of one channel each */
#define STAGE_NS	40	/* of a word in a stage: requantised, stored */

/** struct unit - a unit of the loop nest: a tile, and some groups of its channels. */
struct unit {
	uint32_t oy, ox;
	uint32_t rows, columns;		/* of the tile, computed */
	uint32_t pixels;		/* rows * columns */
	uint32_t group, groups;		/* first group of channels, and their number */
};

/* ---- maps ---- */

/* Is pixel @n of the tile one of the layer's? */
static bool inside(const struct enpu_stage *s, const struct unit *u, uint32_t n)
{
	return u->oy + n / u->columns < s->ho && u->ox + n % u->columns < s->wo;
}

/* Is it stored?  The seeded mistake stores what does not end up outside the map. */
static bool stored(const struct enpu_stage *s, const struct unit *u, uint32_t n)
{
	uint32_t row = u->oy + n / u->columns, column = u->ox + n % u->columns;

	return inside(s, u, n) || (MUTANT(EDGE) && s->op->kind != ENPU_RESHAPE &&
				   row * s->wo + column < s->ho * s->wo);
}

static uint64_t pixel_word(const struct enpu_stage *s, const struct enpu_range *map,
			   const struct unit *u, uint32_t n)
{
	uint64_t row = u->oy + n / u->columns, column = u->ox + n % u->columns;

	return map->first + (row * s->wo + column) * map->step;
}

/* Load the unit's words of a map of Ho x Wo x Co; zeros beyond it. */
static void load_map(const struct enpu *h, const struct enpu_stage *s, uint32_t which,
		     const struct unit *u, enpu_values value)
{
	struct enpu_range map;

	enpu_range(s, which, &map);
	for (uint32_t g = 0; g < u->groups; g++)
		for (uint32_t n = 0; n < u->pixels; n++, value++) {
			uint64_t word = pixel_word(s, &map, u, n) + u->group + g;

			if (inside(s, u, n))
				memcpy(value[0], enpu_word(h, map.memory, word), ENPU_WORD);
			else
				memset(value[0], 0, ENPU_WORD);
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
	for (uint32_t i = 0; i < s->in_y; i++, to += s->in_x) {
		/* Rows and columns above and left of the map wrap to large numbers. */
		uint32_t iy = u->oy * s->sh + i - s->ph, ix = u->ox * s->sw - s->pw;
		uint64_t row = a.first + (uint64_t)iy * s->wi * a.step + group;

		memset(to, padding, s->in_x * ENPU_WORD);
		for (uint32_t j = 0; iy < s->hi && j < s->in_x; j++, ix++)
			if (ix < s->wi)
				memcpy(to[j], enpu_word(h, a.memory, row + (uint64_t)ix * a.step),
				       ENPU_WORD);
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
	const uint32_t pad = sizeof(enpu_steps) / sizeof(uint32_t);
	uint32_t *offset = f->offset;

	f->pixels = w->y * w->x;
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
	if (h->packed)
		return;
	h->factors.channels = s->ci;
	h->factors.points = s->hk * s->wk;
	h->factors.groups = s->groups;
	find_inputs(&h->factors, w, h->simd->step);
	h->simd->pack(&h->factors, h->steps, weights(h, s, 0));
	h->packed = true;
}

/* All products of CONV, step by step. */
static void add_steps(struct enpu *h, const struct enpu_stage *s, const struct unit *u,
		      const struct enpu_window *w)
{
	pack(h, s, w);
	for (uint32_t c = 0; c < s->ci; c += ENPU_LANES) {
		load_pad(h, s, u, c / ENPU_LANES);
		h->simd->split(h->input[c / ENPU_LANES], &h->pad, s->in_y * s->in_x);
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
		.y = s->y, .x = s->x, .hk = s->hk, .wk = s->wk, .sh = s->sh, .sw = s->sw,
		.dh = MUTANT(DILATION) ? 1 : s->dh + 1, .dw = MUTANT(DILATION) ? 1 : s->dw + 1,
		.pitch = s->in_x,
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

/* Store word @n of the unit's values, with 0 in the lanes beyond the last channel. */
static void store_word(const struct enpu *h, const struct enpu_stage *s,
		       const struct enpu_range *map, const struct unit *u, uint32_t n)
{
	uint32_t pixel = n % u->pixels, group = u->group + n / u->pixels;
	uint32_t lanes = s->co - group * ENPU_LANES;
	int8_t word[ENPU_LANES];

	if (lanes >= ENPU_LANES && s->op->kind != ENPU_RESHAPE) {
		memcpy(enpu_word(h, map->memory, pixel_word(s, map, u, pixel) + group),
		       h->value[n], sizeof(word));
		return;
	}
	memcpy(word, h->value[n], sizeof(word));
	if (lanes < ENPU_LANES)
		memset(word + lanes, 0, ENPU_LANES - lanes);
	if (s->op->kind == ENPU_RESHAPE)
		enpu_store_reshaped(h, s, map, (const uint32_t[]){
			u->oy + pixel / u->columns, u->ox + pixel % u->columns, group }, word);
	else
		memcpy(enpu_word(h, map->memory, pixel_word(s, map, u, pixel) + group), word,
		       sizeof(word));
}

static void store(const struct enpu *h, const struct enpu_stage *s, const struct unit *u)
{
	for (uint32_t which = CNNACC_ENPU_RANGE_SKIP; which <= CNNACC_ENPU_RANGE_OUT; which++) {
		struct enpu_range map;

		if (!enpu_range(s, which, &map))
			continue;
		for (uint32_t n = 0; n < u->groups * u->pixels; n++)
			if (stored(s, u, n % u->pixels))
				store_word(h, s, &map, u, n);
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

static void compute_tile(struct enpu *h)
{
	const struct enpu_stage *first = h->layer.stage;
	bool all = first->op->uses & ENPU_ALL_CHANNELS;
	struct unit u = {
		.oy = h->s->oy, .ox = h->s->ox, .rows = first->y, .columns = first->x,
		.pixels = first->y * first->x, .groups = all ? first->groups : 1,
	};

	for (; u.group < first->groups; u.group += u.groups)
		compute_unit(h, &u);
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

/* Go to the next tile, or to the next layer. */
static void advance(struct enpu *h)
{
	const struct enpu_stage *first = h->layer.stage;
	struct enpu_state *s = h->s;

	s->ox += first->x;
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

	*budget -= (int64_t)h->check_ns;
	h->check_ns = 0;
	while (h->s->pending && *budget > 0) {
		if (!h->layer_valid)
			load_layer(h, h->s->layer);
		*budget -= tile_ns(h);
		compute_tile(h);
		advance(h);
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
