// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The checks of a program, in the order of the hardware page. */
#include "enpu.h"

#define CHECK_NS	60	/* estimated host time to check an instruction */
#define CHANNEL_NS	2	/* and a channel's shift */

/* Bits that may be set in the words of an instruction and its record. */
#define STEPS_BITS	0x00ffffffu
#define BYTE_BITS	0xffu
#define FIRST_ENPU_RANGE	CNNACC_ENPU_RANGE_A
#define LAST_ENPU_RANGE		CNNACC_ENPU_RANGE_OUT

/** struct check - a stage being checked. */
struct check {
	const struct enpu *h;
	const struct enpu_stage *s;
	const struct enpu_stage *first;		/* of its layer */
	struct enpu_error *error;
};

/* ---- E_CFG ---- */

static bool bad(const struct check *c, uint32_t field, uint32_t value, uint32_t limit)
{
	*c->error = (struct enpu_error){
		.status_class = CNNACC_STATUS_CONFIG, .code = CNNACC_ENPU_E_CFG, .detail = field,
		.insn = c->s->index, .value = value, .limit = limit,
	};
	return false;
}

static bool check_reserved(const struct check *c)
{
	const struct cnnacc_enpu_record *r = &c->s->r;
	const struct { uint32_t word, bits; } words[] = {
		{ c->s->word3, ~CNNACC_ENPU_WORD3_RESERVED },
		{ r->flags, CNNACC_ENPU_FLAGS },
		{ r->steps, STEPS_BITS },
		{ r->shift, BYTE_BITS },
		{ r->pad, BYTE_BITS },
		{ r->reshape, ~CNNACC_ENPU_SHAPE_RESERVED },
		{ r->reserved[0], 0 }, { r->reserved[1], 0 }, { r->reserved[2], 0 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].word & ~words[i].bits)
			return bad(c, CNNACC_ENPU_BAD_RESERVED, words[i].word, words[i].bits);
	return true;
}

static bool check_flags(const struct check *c)
{
	const struct enpu_stage *s = c->s;
	uint32_t may = 0;

	if (s->stored && enpu_last(s))
		may |= CNNACC_ENPU_F_OUT_ONLY;
	if (s->first)
		may |= CNNACC_ENPU_F_A_SKIP;
	if (s->op->uses & ENPU_MAP_B)
		may |= CNNACC_ENPU_F_B_WORK;
	if (s->op->uses & ENPU_BLOCK)
		may |= CNNACC_ENPU_F_BLOCK;
	return !(s->r.flags & ~may) || bad(c, CNNACC_ENPU_BAD_FLAGS, s->r.flags, may);
}

/* A later stage has the sizes of the first one. */
static bool check_sizes(const struct check *c)
{
	const struct enpu_stage *s = c->s, *first = c->first;

	if (s->ho != first->ho)
		return bad(c, CNNACC_ENPU_BAD_SHAPE, s->ho, first->ho);
	if (s->wo != first->wo)
		return bad(c, CNNACC_ENPU_BAD_SHAPE, s->wo, first->wo);
	return s->co == first->co || bad(c, CNNACC_ENPU_BAD_SHAPE, s->co, first->co);
}

static bool check_tile(const struct check *c)
{
	const struct enpu_stage *s = c->s;
	uint32_t zs = s->op->uses & ENPU_ALL_CHANNELS ? s->groups : 1;

	if (!s->y || !s->x)
		return bad(c, CNNACC_ENPU_BAD_TILE, 0, 1);
	if (s->zs != zs)
		return bad(c, CNNACC_ENPU_BAD_ZS, s->zs, zs);
	return s->y * s->x * zs <= ENPU_PSUMS ||
	       bad(c, CNNACC_ENPU_BAD_PSUMS, s->y * s->x * zs, ENPU_PSUMS);
}

static bool check_window(const struct check *c)
{
	const struct enpu_stage *s = c->s;
	uint32_t in_y, in_x;

	if (!s->hk || !s->wk)
		return bad(c, CNNACC_ENPU_BAD_KERNEL, 0, 1);
	if (!s->sh || !s->sw)
		return bad(c, CNNACC_ENPU_BAD_STRIDE, 0, 1);
	in_y = s->sh * (s->y - 1) + (s->dh + 1) * (s->hk - 1) + 1;
	in_x = s->sw * (s->x - 1) + (s->dw + 1) * (s->wk - 1) + 1;
	if (s->in_y != in_y)
		return bad(c, CNNACC_ENPU_BAD_TILE_Y, s->in_y, in_y);
	if (s->in_x != in_x)
		return bad(c, CNNACC_ENPU_BAD_TILE_X, s->in_x, in_x);
	if (in_y * in_x > CNNACC_ENPU_IFMAP_PAD)
		return bad(c, CNNACC_ENPU_BAD_PAD, in_y * in_x, CNNACC_ENPU_IFMAP_PAD);
	return (s->hi && s->wi) || bad(c, CNNACC_ENPU_BAD_IN_SIZE, 0, 1);
}

/* @step as in the record. */
static bool check_step(const struct check *c, uint32_t field, uint32_t step, uint32_t words)
{
	step &= 0xff;
	return !step || step >= words || bad(c, field, step, words);
}

static bool check_steps(const struct check *c)
{
	const struct enpu_stage *s = c->s;
	uint32_t words = s->groups;

	if (s->first && !check_step(c, CNNACC_ENPU_BAD_STEP_A, s->r.steps,
				    enpu_ceil16(enpu_channels(s))))
		return false;
	if (s->op->uses & ENPU_MAP_B &&
	    !check_step(c, CNNACC_ENPU_BAD_STEP_B, s->r.steps >> 8, words))
		return false;
	if (!s->stored && !enpu_last(s))
		return true;
	if (s->op->kind == ENPU_RESHAPE)
		words = enpu_ceil16(enpu_shape(s).size[3]);
	return check_step(c, CNNACC_ENPU_BAD_STEP_OUT, s->r.steps >> 16, words);
}

static bool check_shift(const struct check *c, int8_t shift)
{
	return (shift >= -CNNACC_ENPU_SHIFT_MAX && shift <= CNNACC_ENPU_SHIFT_MAX) ||
	       bad(c, CNNACC_ENPU_BAD_SHIFT, (uint32_t)shift, CNNACC_ENPU_SHIFT_MAX);
}

static bool check_config(const struct check *c)
{
	const struct enpu_stage *s = c->s;
	uint32_t limit;

	if (!check_reserved(c) || !check_flags(c))
		return false;
	if (!(s->first ? check_tile(c) : check_sizes(c)))
		return false;
	if (s->op->kind == ENPU_WINDOW && !check_window(c))
		return false;
	if (s->op->kind == ENPU_RESHAPE && enpu_bad_shape(s, &limit))
		return bad(c, CNNACC_ENPU_BAD_RESHAPE, s->r.reshape, limit);
	if (!check_steps(c))
		return false;
	return s->block || !(s->op->uses & ENPU_SHIFT) || check_shift(c, (int8_t)s->r.shift);
}

/* ---- E_RANGE and shifts of a block ---- */

static bool bad_range(struct enpu_error *error, uint32_t insn, uint32_t detail, uint64_t value,
		      uint32_t limit)
{
	*error = (struct enpu_error){
		.status_class = CNNACC_STATUS_BAD_PROGRAM, .code = CNNACC_ENPU_E_RANGE,
		.detail = detail, .insn = insn, .value = (uint32_t)value, .limit = limit,
	};
	return false;
}

static bool check_ranges(const struct check *c)
{
	for (uint32_t which = FIRST_ENPU_RANGE; which <= LAST_ENPU_RANGE; which++) {
		struct enpu_range range;
		uint32_t words;

		if (!enpu_range(c->s, which, &range))
			continue;
		words = c->h->seq.memory[range.memory].size / ENPU_WORD;
		if (range.first + range.count > words)
			return bad_range(c->error, c->s->index, which,
					 range.first + range.count - 1, words);
	}
	return true;
}

static bool check_block(const struct check *c)
{
	struct enpu_range block;

	if (!enpu_range(c->s, CNNACC_ENPU_RANGE_BLOCK, &block))
		return true;
	for (uint32_t o = 0; o < c->s->co; o++) {
		uint64_t word = block.first + CNNACC_ENPU_BLOCK_WORDS * (o / ENPU_LANES) + 4;

		if (!check_shift(c, enpu_word(c->h, block.memory, word)[o % ENPU_LANES]))
			return false;
	}
	return true;
}

/* ---- claims ---- */

/* Bits in BANKS of @count bytes from @first on. */
static uint32_t banks_of(const struct enpu *h, uint32_t memory, uint64_t first, uint64_t count)
{
	uint32_t half = h->seq.memory[memory].size / 2, banks = 0;

	if (first < half)
		banks |= 1u;
	if (first + count > half)
		banks |= 2u;
	return banks << CNNACC_ENPU_BANKS * memory;
}

static uint32_t stage_banks(const struct enpu *h, const struct enpu_stage *s)
{
	struct enpu_range range;
	uint32_t banks = 0;

	for (uint32_t which = FIRST_ENPU_RANGE; which <= LAST_ENPU_RANGE; which++)
		if (enpu_range(s, which, &range))
			banks |= banks_of(h, range.memory, range.first * ENPU_WORD,
					  range.count * ENPU_WORD);
	return banks;
}

static uint32_t insn_banks(const struct enpu *h, uint32_t start, uint32_t end)
{
	uint64_t count = end - start + 1;

	return banks_of(h, CNNACC_ENPU_ITCM, (uint64_t)start * CNNACC_ENPU_INSN_BYTES,
			count * CNNACC_ENPU_INSN_BYTES) |
	       banks_of(h, CNNACC_ENPU_TABLE, (uint64_t)start * CNNACC_ENPU_RECORD_BYTES,
			count * CNNACC_ENPU_RECORD_BYTES);
}

/* ---- a program ---- */

static bool illegal(struct enpu_error *error, const struct enpu_stage *s, uint32_t detail)
{
	*error = (struct enpu_error){
		.status_class = CNNACC_STATUS_BAD_PROGRAM, .code = CNNACC_ENPU_E_ILLEGAL,
		.detail = detail, .insn = s->index, .value = s->opcode,
	};
	return false;
}

static bool bad_chain(const struct enpu_stage *s)
{
	if (s->first)
		return s->op && s->op->kind == ENPU_RESHAPE && s->fused;
	return !s->op || s->op->kind == ENPU_WINDOW || (s->op->kind == ENPU_RESHAPE && s->fused);
}

/* Decode and check one instruction; STOP, which has no op, passes where it ends the program. */
static bool check_insn(struct enpu *h, uint32_t index, struct enpu_error *error)
{
	struct enpu_layer *layer = &h->layer;
	struct enpu_stage *s = &layer->stage[layer->count];
	struct check c = { .h = h, .s = s, .first = layer->stage, .error = error };

	if (index >= h->insns)
		return bad_range(error, index, CNNACC_ENPU_RANGE_ITCM, index, h->insns);
	enpu_decode(h, index, !layer->count, s);
	if (!s->op && s->opcode != CNNACC_ENPU_STOP)
		return illegal(error, s, CNNACC_ENPU_BAD_OPCODE);
	if (bad_chain(s))
		return illegal(error, s, CNNACC_ENPU_BAD_CHAIN);
	if (!s->op)
		return true;
	h->check_ns += CHECK_NS + (s->block ? s->co * CHANNEL_NS : 0);
	return check_config(&c) && check_ranges(&c) && check_block(&c);
}

/* Check the layer that begins at @index; @program->end is what follows it. */
static bool check_layer(struct enpu *h, uint32_t index, struct enpu_program *program)
{
	const struct enpu_stage *s;

	h->layer.count = 0;
	do {
		if (!check_insn(h, index, &program->error))
			return false;
		s = &h->layer.stage[h->layer.count];
		if (!s->op)
			break;
		program->banks |= stage_banks(h, s);
		h->layer.count++;
		index++;
	} while (s->fused);
	program->end = index;
	return !h->layer.count || enpu_check_overlap(h, &h->layer, &program->error);
}

bool enpu_check_program(struct enpu *h, uint32_t start, struct enpu_program *program)
{
	*program = (struct enpu_program){ .end = start };
	h->layer_valid = false;
	do {
		if (!check_layer(h, program->end, program))
			return false;
		if (h->layer.count)
			enpu_add_cost(h, &h->layer, &program->cost);
	} while (h->layer.count);
	program->banks |= insn_banks(h, start, program->end);
	/* STOP: a clock, and its instruction is read. */
	program->cost.cycles++;
	program->cost.counter[ENPU_COUNTER(SETUP)]++;
	program->cost.local_read_bytes += CNNACC_ENPU_INSN_BYTES;
	return true;
}
