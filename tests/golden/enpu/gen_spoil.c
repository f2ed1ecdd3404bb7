// SPDX-License-Identifier: MIT
/* Damage: each function makes one thing bad and leaves the rest as it was. */
#include "gen.h"

#include <string.h>

#include "../words.h"

#define VA_END		(1ull << CNNACC_VA_BITS)
#define PARAM(value)	((uint32_t)(value) << CNNACC_SEQ_PARAM_SHIFT)

static uint32_t any_bit(struct gen_enpu *gen, unsigned int low, unsigned int high)
{
	return 1u << enpu_pick(gen, low, high);
}

static unsigned int op_of(const struct cnnacc_seq_command *c)
{
	return c->op & CNNACC_SEQ_OP_MASK;
}

/* ----------------------------------------------------------------- commands */

static void bad_op(struct gen_enpu *gen, struct cnnacc_seq_command *c)
{
	switch (enpu_pick(gen, 0, 3)) {
	case 0:		/* the core has no registers to drain */
		c->op = CNNACC_SEQ_DRAIN | PARAM(enpu_pick(gen, 0, 2));
		break;
	case 1:
		c->op |= any_bit(gen, 8, 15);
		break;
	case 2:
		c->op = (c->op & 0xffff) | PARAM(enpu_pick(gen, CNNACC_ENPU_MEMORIES, 0xffff));
		break;
	default:
		c->op = (c->op & ~0xffu) | enpu_pick(gen, 8, 255);
		break;
	}
}

static void bad_exec(struct gen_enpu *gen, struct cnnacc_seq_command *c)
{
	do {
		switch (enpu_pick(gen, 0, 3)) {
		case 0:
			c->op |= enpu_chance(gen, 50) ? CNNACC_SEQ_RESULT : CNNACC_SEQ_EVENTS;
			break;
		case 1:
			c->arg[0] = enpu_chance(gen, 50) ? 0 : any_bit(gen, 1, 31);
			break;
		default:
			c->arg[enpu_chance(gen, 40) ? 5 : enpu_pick(gen, 1, 6)] |=
				any_bit(gen, 0, 31);
			break;
		}
	} while (enpu_chance(gen, 30));
}

static void bad_command(struct gen_enpu *gen, struct cnnacc_seq_command *c)
{
	if (op_of(c) == CNNACC_SEQ_EXEC && enpu_chance(gen, 80))
		bad_exec(gen, c);
	else if (op_of(c) == CNNACC_SEQ_WAIT && enpu_chance(gen, 70))
		c->arg[0] = enpu_chance(gen, 50) ? 0 : c->arg[0] | any_bit(gen, 1, 31);
	else if (enpu_chance(gen, 50))
		bad_op(gen, c);
	else
		c->arg[6] |= any_bit(gen, 0, 31);
}

static void bad_rows(struct gen_enpu *gen, struct cnnacc_seq_command *c)
{
	uint32_t size = gen->bytes[c->op >> CNNACC_SEQ_PARAM_SHIFT];

	c->arg[2] = c->arg[2] ? c->arg[2] : 1;
	c->arg[3] = c->arg[3] ? c->arg[3] : 1;
	switch (enpu_pick(gen, 0, 2)) {
	case 0:		/* by one byte */
		c->arg[1] = size - (c->arg[2] - 1) * c->arg[5] - c->arg[3] + 1;
		break;
	case 1:
		c->arg[1] = 0xffffffff - enpu_pick(gen, 0, 3);
		break;
	default:	/* the last row only */
		c->arg[2]++;
		c->arg[5] = enpu_chance(gen, 50) ? 0xffffffff : size;
		break;
	}
}

/* Across or past the end of the address space. */
static void beyond(struct gen_enpu *gen, struct cnnacc_seq_command *c)
{
	if (enpu_chance(gen, 50))
		c->arg[0] = VA_END - enpu_pick(gen, 1, CNNACC_LINE_SIZE);
	else
		c->arg[4] = 0xffffffff - enpu_pick(gen, 0, CNNACC_LINE_SIZE);
}

void gen_enpu_spoil_command(struct gen_enpu *gen, struct cnnacc_seq_command *c)
{
	bool rows = op_of(c) == CNNACC_SEQ_COPY2D || op_of(c) == CNNACC_SEQ_FILL;
	bool exec = op_of(c) == CNNACC_SEQ_EXEC;

	if (gen_enpu_due(gen, GEN_ENPU_COMMAND, exec ? 60 : 8))
		bad_command(gen, c);
	else if (rows && gen_enpu_due(gen, GEN_ENPU_ROWS, 20))
		bad_rows(gen, c);
	else if (op_of(c) == CNNACC_SEQ_COPY2D && gen->kind == GEN_ENPU_FAULT &&
		 enpu_chance(gen, 2))
		beyond(gen, c);
}

/* ------------------------------------------------------------- instructions */

static void bad_opcode(struct gen_enpu *gen, unsigned int n)
{
	struct enpu_insn *i = &gen->insn[n];

	switch (enpu_pick(gen, 0, 3)) {
	case 0:
		i->opcode = enpu_pick(gen, 0, 255);
		break;
	case 1:		/* a RESHAPE or the last one goes on */
		i->opcode |= CNNACC_ENPU_FUSED;
		break;
	case 2:		/* a window in the middle of a layer */
		if (n)
			gen->insn[n - 1].opcode |= CNNACC_ENPU_FUSED;
		break;
	default:
		i->opcode = CNNACC_ENPU_RESHAPE | CNNACC_ENPU_FUSED;
		break;
	}
}

static void bad_tile(struct gen_enpu *gen, struct enpu_insn *i)
{
	switch (enpu_pick(gen, 0, 5)) {
	case 0:
		*(enpu_chance(gen, 50) ? &i->y : &i->x) = enpu_chance(gen, 50) ? 0 : 63;
		break;
	case 1:
		i->zs = enpu_pick(gen, 0, 255);
		break;
	case 2:		/* psums */
		i->y = enpu_pick(gen, 8, 63);
		i->x = enpu_pick(gen, 8, 63);
		break;
	case 3:		/* a sub-image that the formula gives, but that is too large */
		i->y = enpu_pick(gen, 1, 20);
		i->x = enpu_pick(gen, 1, 64 / i->y);
		i->hk = i->wk = enpu_pick(gen, 5, 9);
		enpu_fit(i);
		break;
	case 4:
		i->in_y = enpu_pick(gen, 0, 63);
		break;
	default:
		i->in_x = enpu_pick(gen, 0, 63);
		break;
	}
}

static void bad_size(struct gen_enpu *gen, struct enpu_insn *i)
{
	switch (enpu_pick(gen, 0, 5)) {
	case 0:
		*(enpu_chance(gen, 50) ? &i->hk : &i->wk) = 0;
		break;
	case 1:
		*(enpu_chance(gen, 50) ? &i->sh : &i->sw) = 0;
		break;
	case 2:
		*(enpu_chance(gen, 50) ? &i->hi : &i->wi) = 0;
		break;
	case 3:
		i->ho = enpu_pick(gen, 1, 256);
		break;
	case 4:
		i->wo = enpu_pick(gen, 1, 256);
		break;
	default:
		i->co = enpu_pick(gen, 1, 256);
		break;
	}
}

static void bad_word(struct gen_enpu *gen, struct enpu_insn *i)
{
	switch (enpu_pick(gen, 0, 4)) {
	case 0:
		i->flags ^= any_bit(gen, 0, enpu_chance(gen, 80) ? 3 : 31);
		break;
	case 1:
		i->reshape = enpu_chance(gen, 50) ? i->reshape ^ any_bit(gen, 0, 23) :
			     CNNACC_ENPU_SHAPE(0xe4, enpu_pick(gen, 0, 3), enpu_pick(gen, 0, 3), 0,
					       enpu_pick(gen, 2, 255));
		break;
	case 2:
		i->step_a = enpu_pick(gen, 1, 3);
		break;
	case 3:
		i->step_b = enpu_pick(gen, 1, 3);
		break;
	default:
		i->step_out = enpu_pick(gen, 1, 3);
		break;
	}
}

static void bad_cfg(struct gen_enpu *gen, struct enpu_insn *i)
{
	switch (enpu_pick(gen, 0, 2)) {
	case 0:
		bad_tile(gen, i);
		break;
	case 1:
		bad_size(gen, i);
		break;
	default:
		bad_word(gen, i);
		break;
	}
}

static void bad_shift(struct gen_enpu *gen, struct enpu_insn *i)
{
	int64_t low = gen->low[CNNACC_ENPU_WEIGHT];
	int8_t shift = enpu_chance(gen, 50) ? enpu_pick(gen, 32, 127) : enpu_pick(gen, -128, -32);

	i->shift = shift;
	if (i->flags & CNNACC_ENPU_F_BLOCK) {
		int64_t o = enpu_pick(gen, 0, i->co - 1);

		gen->weight[16 * (i->block - low + CNNACC_ENPU_BLOCK_WORDS * (o / 16) + 4) +
			    o % 16] = shift;
	}
}

/* An address past the end, by a word or by far. */
static int64_t past(struct gen_enpu *gen, struct enpu_range r)
{
	int64_t words = gen->bytes[r.memory] / CNNACC_ENPU_WORD_BYTES;

	return enpu_chance(gen, 70) ? (words >= r.words ? words - r.words + 1 : 0) :
	       enpu_pick(gen, 0xffffff00, 0xffffffff);
}

static void bad_range(struct gen_enpu *gen, struct enpu_insn *i)
{
	switch (enpu_pick(gen, 0, 6)) {
	case 0:
		i->in = past(gen, enpu_range_a(i));
		break;
	case 1:
		i->b = past(gen, enpu_range_b(i));
		break;
	case 2:
		i->weight = past(gen, enpu_range_weights(i));
		break;
	case 3:
		i->block = past(gen, enpu_range_block(i));
		break;
	case 4:
		i->lut = past(gen, enpu_range_lut(i));
		break;
	case 5:
		i->skip = past(gen, enpu_range_skip(i));
		break;
	default:
		i->out = past(gen, enpu_range_out(i));
		break;
	}
}

/* Results over A, over a map B or over another result, shifted or with another step. */
static void bad_overlap(struct gen_enpu *gen, unsigned int n)
{
	struct enpu_insn *i = &gen->insn[n];
	const struct enpu_insn *other = &gen->insn[enpu_pick(gen, n > 3 ? n - 3 : 0,
							     gen->insns - 1)];
	int64_t first[] = { other->in, other->b, other->skip, other->out };
	int64_t at = first[enpu_pick(gen, 0, 3)] + (enpu_chance(gen, 50) ? enpu_pick(gen, 0, 3) : 0);

	if (enpu_chance(gen, 50) && i->stored)
		i->skip = at;
	else
		i->out = at;
	if (enpu_chance(gen, 20))
		i->step_out = 0;
	if (enpu_chance(gen, 30) && n) {
		gen->insn[n - 1].opcode |= CNNACC_ENPU_STORED;
		gen->insn[n - 1].skip = at;
	}
}

void gen_enpu_spoil_program(struct gen_enpu *gen)
{
	unsigned int n = gen->insns ? enpu_pick(gen, 0, gen->insns - 1) : 0;
	struct enpu_insn *i = &gen->insn[n];

	if (!gen->insns)
		return;
	if (gen_enpu_due(gen, GEN_ENPU_ILLEGAL, 60))
		bad_opcode(gen, n);
	if (gen_enpu_due(gen, GEN_ENPU_CFG, 60))
		do
			bad_cfg(gen, i);
		while (enpu_chance(gen, 30));
	if (gen_enpu_due(gen, GEN_ENPU_SHIFT, 60))
		bad_shift(gen, i);
	if (gen_enpu_due(gen, GEN_ENPU_RANGE, 60))
		do
			bad_range(gen, i);
		while (enpu_chance(gen, 30));
	if (gen_enpu_due(gen, GEN_ENPU_OVERLAP, 60))
		bad_overlap(gen, n);
}

/* -------------------------------------------------------------------- words */

static void bad_bit(uint8_t *word, uint32_t bit)
{
	word_put(word, 0, word_get(word, 0) | bit);
}

/* A reserved bit of any word that has one. */
static void bad_reserved(struct gen_enpu *gen, uint8_t *insn, uint8_t *record)
{
	static const struct {
		uint8_t word, low;
	} words[] = { { 0, 4 }, { 9, 24 }, { 10, 8 }, { 11, 8 }, { 12, 24 }, { 13, 0 }, { 14, 0 },
		      { 15, 0 } };
	unsigned int n = enpu_pick(gen, 0, 8);

	if (n == 8)
		bad_bit(insn + 12, any_bit(gen, 16, 31));
	else
		bad_bit(record + 4 * words[n].word, any_bit(gen, words[n].low, 31));
}

static void noise(struct gen_enpu *gen, uint8_t *bytes, unsigned int count)
{
	for (unsigned int n = 0; n < count; n++)
		if (enpu_chance(gen, 20))
			bytes[n] = prng_next(&gen->prng) >> 16;
}

void gen_enpu_spoil_words(struct gen_enpu *gen, uint8_t *insns, uint8_t *records)
{
	unsigned int n = gen->insns ? enpu_pick(gen, 0, gen->insns - 1) : 0;

	if (gen_enpu_due(gen, GEN_ENPU_CFG, 30))
		bad_reserved(gen, insns + 16 * n, records + 64 * n);
	if (gen_enpu_due(gen, GEN_ENPU_NOISE, 80))
		noise(gen, enpu_chance(gen, 50) ? insns + 16 * n : records + 64 * n, 16);
	if (gen_enpu_due(gen, GEN_ENPU_FLIP, 60)) {
		unsigned int bit = enpu_pick(gen, 0, 127);
		uint8_t *at = enpu_chance(gen, 50) ? insns + 16 * n : records + 64 * n;

		at[bit / 8] ^= 1u << bit % 8;
	}
	/* The program goes on into whatever comes after it. */
	if (gen_enpu_due(gen, GEN_ENPU_ENDLESS, 80)) {
		int64_t room = gen->bytes[CNNACC_ENPU_ITCM] / CNNACC_ENPU_INSN_BYTES;

		memcpy(insns + 16 * gen->insns, insns, 16);
		memcpy(records + 64 * gen->insns, records, 64);
		gen->start = enpu_chance(gen, 20) ? gen->start : room - gen->insns - 1;
	}
}
