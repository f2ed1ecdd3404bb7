// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Decode instructions and records, and the ranges of words that they name. */
#include <string.h>

#include "enpu.h"

static const struct enpu_op ops[] = {
	{ CNNACC_ENPU_CONV, ENPU_WINDOW,
	  ENPU_ALL_CHANNELS | ENPU_WEIGHTS | ENPU_BLOCK | ENPU_SHIFT },
	{ CNNACC_ENPU_CONV_RELU, ENPU_WINDOW,
	  ENPU_ALL_CHANNELS | ENPU_WEIGHTS | ENPU_BLOCK | ENPU_SHIFT },
	{ CNNACC_ENPU_DEPTHWISE, ENPU_WINDOW, ENPU_WEIGHTS | ENPU_BLOCK | ENPU_SHIFT },
	{ CNNACC_ENPU_AVG_POOL, ENPU_WINDOW, ENPU_WEIGHTS | ENPU_BLOCK | ENPU_SHIFT },
	{ CNNACC_ENPU_MAX_POOL, ENPU_WINDOW, 0 },
	{ CNNACC_ENPU_BN, ENPU_POINTWISE, ENPU_WEIGHTS | ENPU_BLOCK | ENPU_SHIFT },
	{ CNNACC_ENPU_RELU, ENPU_POINTWISE, 0 },
	{ CNNACC_ENPU_LUT, ENPU_POINTWISE, ENPU_TABLE },
	{ CNNACC_ENPU_ADD, ENPU_POINTWISE, ENPU_MAP_B },
	{ CNNACC_ENPU_MUL, ENPU_POINTWISE, ENPU_MAP_B | ENPU_SHIFT },
	{ CNNACC_ENPU_RESHAPE, ENPU_RESHAPE, 0 },
};

static const struct enpu_op *op_of(uint32_t opcode)
{
	uint32_t code = opcode & ~(CNNACC_ENPU_FUSED | CNNACC_ENPU_STORED);

	if (opcode == CNNACC_ENPU_STOP)
		return NULL;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].opcode == code)
			return &ops[i];
	return NULL;
}

/* Bits @shift to @shift + @bits - 1. */
static uint32_t field(uint32_t word, unsigned int shift, unsigned int bits)
{
	return word >> shift & ((1u << bits) - 1);
}

/* An 8-bit size, of which 0 means 256. */
static uint32_t size_field(uint32_t word, unsigned int shift)
{
	uint32_t size = field(word, shift, 8);

	return size ? size : 256;
}

static void decode_geometry(const struct cnnacc_enpu_insn *insn, struct enpu_stage *s)
{
	s->sh = field(insn->word0, 8, 4);
	s->sw = field(insn->word0, 12, 4);
	s->ph = field(insn->word0, 16, 4);
	s->pw = field(insn->word0, 20, 4);
	s->dh = field(insn->word0, 24, 4);
	s->dw = field(insn->word0, 28, 4);
	s->y = field(insn->word1, 0, 6);
	s->x = field(insn->word1, 6, 6);
	s->in_y = field(insn->word1, 12, 6);
	s->in_x = field(insn->word1, 18, 6);
	s->hk = field(insn->word1, 24, 8);
	s->wk = field(insn->word2, 0, 8);
	s->ho = size_field(insn->word2, 8);
	s->wo = size_field(insn->word2, 16);
	s->co = size_field(insn->word2, 24);
	s->ci = size_field(insn->word3, 0);
	s->zs = field(insn->word3, 8, 8);
	s->word3 = insn->word3;
}

void enpu_decode(const struct enpu *h, uint32_t index, bool first, struct enpu_stage *stage)
{
	struct cnnacc_enpu_insn insn;

	memcpy(&insn, h->seq.memory[CNNACC_ENPU_ITCM].bytes + (size_t)index * sizeof(insn),
	       sizeof(insn));
	memcpy(&stage->r,
	       h->seq.memory[CNNACC_ENPU_TABLE].bytes + (size_t)index * sizeof(stage->r),
	       sizeof(stage->r));
	decode_geometry(&insn, stage);
	stage->opcode = insn.word0 & 0xff;
	stage->op = op_of(stage->opcode);
	stage->index = index;
	stage->first = first;
	stage->fused = stage->opcode & CNNACC_ENPU_FUSED;
	stage->stored = stage->opcode & CNNACC_ENPU_STORED;
	stage->block = stage->op && stage->op->uses & ENPU_BLOCK &&
		       stage->r.flags & CNNACC_ENPU_F_BLOCK;
	stage->groups = enpu_ceil16(stage->co);
	stage->hi = stage->r.in_size & 0xffff;
	stage->wi = stage->r.in_size >> 16;
	/* The input of other layers is as large as their output. */
	if (stage->op && stage->op->kind != ENPU_WINDOW) {
		stage->hi = stage->ho;
		stage->wi = stage->wo;
	}
}

uint32_t enpu_channels(const struct enpu_stage *stage)
{
	return stage->op->uses & ENPU_ALL_CHANNELS ? stage->ci : stage->co;
}

/* ---- ranges ---- */

/* A map of @pixels with @words of each; @step as in the record. */
static bool map_range(struct enpu_range *range, uint64_t pixels, uint32_t words, uint32_t step)
{
	range->step = step & 0xff ? step & 0xff : words;
	range->count = (pixels - 1) * range->step + words;
	return true;
}

static bool result_range(const struct enpu_stage *s, struct enpu_range *range)
{
	uint32_t step = s->r.steps >> 16;
	struct enpu_shape shape;

	if (s->op->kind != ENPU_RESHAPE)
		return map_range(range, (uint64_t)s->ho * s->wo, s->groups, step);
	shape = enpu_shape(s);
	return map_range(range, (uint64_t)shape.size[0] * shape.size[1] * shape.size[2],
			 enpu_ceil16(shape.size[3]), step);
}

static uint64_t weight_words(const struct enpu_stage *s)
{
	uint64_t words = s->groups;

	if (s->op->kind == ENPU_WINDOW)
		words *= (uint64_t)s->hk * s->wk;
	return s->op->uses & ENPU_ALL_CHANNELS ? words * s->ci : words;
}

static bool maps(const struct enpu_stage *s, uint32_t which, struct enpu_range *range)
{
	const struct cnnacc_enpu_record *r = &s->r;

	switch (which) {
	case CNNACC_ENPU_RANGE_A:
		range->memory = r->flags & CNNACC_ENPU_F_A_SKIP ? CNNACC_ENPU_SKIP :
								   CNNACC_ENPU_WORK;
		range->first = r->in;
		return s->first && map_range(range, (uint64_t)s->hi * s->wi,
					     enpu_ceil16(enpu_channels(s)), r->steps);
	case CNNACC_ENPU_RANGE_B:
		range->memory = r->flags & CNNACC_ENPU_F_B_WORK ? CNNACC_ENPU_WORK :
								   CNNACC_ENPU_SKIP;
		range->first = r->b;
		return s->op->uses & ENPU_MAP_B &&
		       map_range(range, (uint64_t)s->ho * s->wo, s->groups, r->steps >> 8);
	case CNNACC_ENPU_RANGE_SKIP:
		range->memory = CNNACC_ENPU_SKIP;
		range->first = r->skip;
		return s->stored && result_range(s, range);
	default:
		range->memory = CNNACC_ENPU_WORK;
		range->first = r->out;
		return enpu_last(s) && !(r->flags & CNNACC_ENPU_F_OUT_ONLY) &&
		       result_range(s, range);
	}
}

bool enpu_range(const struct enpu_stage *s, uint32_t which, struct enpu_range *range)
{
	*range = (struct enpu_range){ .memory = CNNACC_ENPU_WEIGHT };
	switch (which) {
	case CNNACC_ENPU_RANGE_WEIGHT:
		range->first = s->r.weight;
		range->count = weight_words(s);
		return s->op->uses & ENPU_WEIGHTS;
	case CNNACC_ENPU_RANGE_BLOCK:
		range->first = s->r.block;
		range->count = CNNACC_ENPU_BLOCK_WORDS * (uint64_t)s->groups;
		return s->block;
	case CNNACC_ENPU_RANGE_LUT:
		range->first = s->r.lut;
		range->count = CNNACC_ENPU_LUT_WORDS;
		return s->op->uses & ENPU_TABLE;
	}
	return maps(s, which, range);
}
