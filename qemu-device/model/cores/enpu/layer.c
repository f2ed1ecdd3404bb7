// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Compute layers, tile by tile. */
#include "enpu.h"
#include "workers.h"

#define TILE_NS		100	/* estimated host time of a tile */
#define PACK_PS		100	/* of the weights of a word, brought into the order of steps */
#define CHANNELWISE_NS	4	/* of the MACs of a word that are of one channel each */
#define STAGE_NS	40	/* of a word in a stage: requantised, stored */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/** struct batch - tiles of the layer, one row of them after the other, that threads share. */
struct batch {
	struct enpu *h;
	uint32_t first, count;
	unsigned int parts;
};

static uint32_t in_columns(const struct enpu_stage *s, uint32_t columns)
{
	return s->op->kind == ENPU_WINDOW ?
	       s->sw * (columns - 1) + (s->dw + 1) * (s->wk - 1) + 1 : columns;
}

static bool all_channels(const struct enpu_stage *s)
{
	return s->op->uses & ENPU_ALL_CHANNELS;
}

static uint32_t tiles_in_row(const struct enpu_stage *s)
{
	return (s->wo + s->x - 1) / s->x;
}

/* Tiles of a row to compute at once, of @left; what they give does not depend on how many. */
static uint32_t tiles_at_once(const struct enpu_stage *s, uint32_t left)
{
	uint32_t words = s->y * s->x * (all_channels(s) ? s->groups : 1);
	uint32_t most = least(left, ENPU_WORDS / words), rounds;

	while (s->op->kind == ENPU_WINDOW && most > 1 &&
	       s->in_y * in_columns(s, most * s->x) > ENPU_POINTS)
		most--;
	/* About as many each time. */
	rounds = (left + most - 1) / most;
	return (left + rounds - 1) / rounds;
}

/* Compute tile @tile and others of its row, all below @end; returns how many. */
static uint32_t compute_tiles(const struct enpu *h, struct enpu_scratch *scratch, uint32_t tile,
			      uint32_t end)
{
	const struct enpu_stage *s = h->layer.stage;
	uint32_t row = tiles_in_row(s), column = tile % row;
	uint32_t tiles = tiles_at_once(s, least(row - column, end - tile));
	struct enpu_unit u = {
		.scratch = scratch, .oy = tile / row * s->y, .ox = column * s->x,
		.rows = s->y, .columns = tiles * s->x, .in_columns = in_columns(s, tiles * s->x),
		.pixels = s->y * tiles * s->x, .groups = all_channels(s) ? s->groups : 1,
	};

	for (; u.group < s->groups; u.group += u.groups)
		enpu_compute(h, &u);
	return tiles;
}

/* No tile reads what another one of its layer writes. */
static void compute_part(void *opaque, unsigned int part, unsigned int thread)
{
	const struct batch *b = opaque;
	uint32_t tile = b->first + (uint32_t)((uint64_t)b->count * part / b->parts);
	uint32_t end = b->first + (uint32_t)((uint64_t)b->count * (part + 1) / b->parts);

	while (tile < end)
		tile += compute_tiles(b->h, &b->h->scratch[thread], tile, end);
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
	return ns + words * first->ci * h->simd->word_ps / 1000;
}

/* Pack the layer's weights, if it has steps; returns the estimated host time. */
static int64_t pack(struct enpu *h)
{
	const struct enpu_stage *s = h->layer.stage;

	if (h->packed || !enpu_has_steps(h))
		return 0;
	enpu_pack(h);
	h->packed = true;
	return (int64_t)s->hk * s->wk * s->ci * s->groups * PACK_PS / 1000;
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
	h->layers++;
	h->packed = false;
	enpu_set_scales(h);
}

/* Tile of the layer that is next. */
static uint32_t next_tile(const struct enpu *h)
{
	const struct enpu_stage *first = h->layer.stage;

	return h->s->oy / first->y * tiles_in_row(first) + h->s->ox / first->x;
}

/* Go on to tile @tile, or to the next layer. */
static void advance(struct enpu *h, uint32_t tile)
{
	const struct enpu_stage *first = h->layer.stage;
	uint32_t row = tiles_in_row(first);
	struct enpu_state *s = h->s;

	s->oy = tile / row * first->y;
	s->ox = tile % row * first->x;
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

/* Compute as many tiles of the layer as the budget allows, one at least. */
static void run_batch(struct enpu *h, int64_t *budget)
{
	int64_t ns = tile_ns(h), most = *budget > ns ? *budget / ns : 1, parts;
	struct batch b = { .h = h, .first = next_tile(h) };
	uint64_t left = enpu_tiles(h->layer.stage) - b.first;

	b.count = (uint32_t)(left < (uint64_t)most ? left : (uint64_t)most);
	parts = b.count * ns / CM_MIN_PART_NS;
	parts = parts < (int64_t)b.count ? parts : (int64_t)b.count;
	parts = parts < (int64_t)h->resources.threads ? parts : (int64_t)h->resources.threads;
	b.parts = parts > 1 ? (unsigned int)parts : 1;
	cm_workers_run(h->resources.workers, compute_part, &b, b.parts);
	*budget -= b.count * ns / b.parts;
	advance(h, b.first + b.count);
}

bool enpu_work(struct cm_seq *seq, int64_t *budget)
{
	struct enpu *h = enpu_of(seq);

	*budget -= (int64_t)h->check_ns;
	h->check_ns = 0;
	while (h->s->pending && *budget > 0) {
		if (!h->layer_valid)
			load_layer(h, h->s->layer);
		*budget -= pack(h);
		run_batch(h, budget);
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
