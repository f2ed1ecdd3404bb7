// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Compute layers, tile by tile. */
#include "enpu.h"

#define TILE_NS		100	/* estimated host time of a tile */
#define PACK_PS		100	/* of the weights of a word, brought into the order of steps */
#define CHANNELWISE_NS	4	/* of the MACs of a word that are of one channel each */
#define STAGE_NS	40	/* of a word in a stage: requantised, stored */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
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
	struct enpu_unit u = {
		.oy = h->s->oy, .ox = h->s->ox, .rows = first->y, .columns = tiles * first->x,
		.in_columns = in_columns(first, tiles * first->x),
		.pixels = first->y * tiles * first->x,
		.groups = all_channels(first) ? first->groups : 1,
	};

	for (; u.group < first->groups; u.group += u.groups)
		enpu_compute(h, &u);
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
	enpu_set_scales(h);
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
