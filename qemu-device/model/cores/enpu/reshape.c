// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* RESHAPE: dimensions are cut, stacked and permuted. */
#include <string.h>

#include "enpu.h"

enum { N, H, W, C, DIMENSIONS };

static uint32_t dimension(const struct enpu_stage *s, uint32_t i)
{
	const uint32_t size[DIMENSIONS] = { 1, s->ho, s->wo, s->co };

	return size[i];
}

/* The fields alone. */
static struct enpu_shape decode(uint32_t word)
{
	struct enpu_shape shape = {
		.split = word >> CNNACC_ENPU_SPLIT_SHIFT & 3,
		.stack = word >> CNNACC_ENPU_STACK_SHIFT & 3,
		.factor = word >> CNNACC_ENPU_FACTOR_SHIFT & 0xff,
		.interleave = word & CNNACC_ENPU_INTERLEAVE,
	};

	if (!shape.factor)
		shape.factor = 1;
	for (uint32_t i = 0; i < DIMENSIONS; i++)
		shape.perm[i] = word >> 2 * i & 3;
	return shape;
}

bool enpu_bad_shape(const struct enpu_stage *stage, uint32_t *limit)
{
	struct enpu_shape shape = decode(stage->r.reshape);
	uint32_t seen = 0, size = dimension(stage, shape.split);

	*limit = 0;
	for (uint32_t i = 0; i < DIMENSIONS; i++)
		seen |= 1u << shape.perm[i];
	if (seen != (1u << DIMENSIONS) - 1)
		return true;
	if (shape.factor < 2)
		return false;
	if (shape.split == shape.stack)
		return true;
	if (size % shape.factor == 0)
		return false;
	*limit = size;
	return true;
}

struct enpu_shape enpu_shape(const struct enpu_stage *stage)
{
	struct enpu_shape shape = decode(stage->r.reshape);
	bool cut = shape.factor > 1;
	uint32_t size[DIMENSIONS];

	for (uint32_t i = 0; i < DIMENSIONS; i++)
		size[i] = dimension(stage, i);
	shape.part = size[shape.split] / shape.factor;
	shape.stacked = size[shape.stack];
	if (cut) {
		size[shape.split] = shape.part;
		size[shape.stack] *= shape.factor;
	}
	for (uint32_t i = 0; i < DIMENSIONS; i++)
		shape.size[i] = size[shape.perm[i]];
	shape.keeps_words = shape.perm[C] == C &&
			    (!cut || (shape.split != C && shape.stack != C));
	return shape;
}

/* Index of the result for index @i of the map. */
static void place(const struct enpu_shape *shape, const uint32_t i[DIMENSIONS],
		  uint32_t out[DIMENSIONS])
{
	uint32_t e[DIMENSIONS];

	memcpy(e, i, sizeof(e));
	if (shape->factor > 1) {
		uint32_t part = i[shape->split] / shape->part, *stack = &e[shape->stack];

		e[shape->split] = i[shape->split] % shape->part;
		*stack = shape->interleave ? *stack * shape->factor + part :
					     part * shape->stacked + *stack;
	}
	for (uint32_t k = 0; k < DIMENSIONS; k++)
		out[k] = e[shape->perm[k]];
}

/* First word of the result's pixel. */
static uint64_t pixel_word(const struct enpu_shape *shape, const struct enpu_range *range,
			   const uint32_t at[DIMENSIONS])
{
	uint64_t row = (uint64_t)at[N] * shape->size[H] + at[H];

	return range->first + (row * shape->size[W] + at[W]) * range->step;
}

static void store_byte(const struct enpu *h, const struct enpu_shape *shape,
		       const struct enpu_range *range, const uint32_t from[DIMENSIONS],
		       int8_t value)
{
	uint32_t at[DIMENSIONS], lane;
	int8_t *word;

	place(shape, from, at);
	lane = at[C] % ENPU_LANES;
	word = enpu_word(h, range->memory, pixel_word(shape, range, at) + at[C] / ENPU_LANES);
	word[lane] = value;
	if (at[C] == shape->size[C] - 1)
		memset(word + lane + 1, 0, ENPU_LANES - 1 - lane);
}

void enpu_store_reshaped(const struct enpu *h, const struct enpu_stage *stage,
			 const struct enpu_range *range, const uint32_t pixel[3],
			 const int8_t value[ENPU_LANES])
{
	struct enpu_shape shape = enpu_shape(stage);
	uint32_t from[DIMENSIONS] = { 0, pixel[0], pixel[1], pixel[2] * ENPU_LANES };
	uint32_t at[DIMENSIONS];

	if (shape.keeps_words) {
		place(&shape, from, at);
		memcpy(enpu_word(h, range->memory, pixel_word(&shape, range, at) + pixel[2]),
		       value, ENPU_LANES);
		return;
	}
	for (uint32_t lane = 0; lane < ENPU_LANES && from[C] < stage->co; lane++, from[C]++)
		store_byte(h, &shape, range, from, value[lane]);
}
