// SPDX-License-Identifier: MIT
/* Damage: each function makes one thing bad and leaves the rest as it was. */
#include "gen.h"

#include <string.h>

#define BLOCK_WORDS	GOLDEN_GCU_BLOCK_WORDS
#define ACT_MASK	(7u << CNNACC_GCU_ACT_SHIFT)
#define OUT_MASK	(7u << CNNACC_GCU_OUT_SHIFT)

static uint32_t any_bit(struct gen_gcu *gen, unsigned int low, unsigned int high)
{
	return 1u << gcu_pick(gen, low, high);
}

static uint32_t not_zero(struct gen_gcu *gen)
{
	return gcu_chance(gen, 50) ? any_bit(gen, 0, 31) : 1 + prng_next(&gen->prng) % 0xffff;
}

/* Byte @n of a word becomes @value. */
static void set_byte(uint32_t *word, unsigned int n, uint32_t value)
{
	*word = (*word & ~(0xffu << 8 * n)) | value << 8 * n;
}

static void set_half(uint32_t *word, unsigned int n, uint32_t value)
{
	*word = (*word & ~(0xffffu << 16 * n)) | value << 16 * n;
}

static unsigned int format_of(const struct cnnacc_gcu_layer *l)
{
	return l->control >> CNNACC_GCU_FORMAT_SHIFT & 3;
}

/* --------------------------------------------------------- words of any block */

static void bad_kind(struct gen_gcu *gen, uint32_t *words)
{
	words[0] = (words[0] & ~15u) | (gcu_chance(gen, 30) ? 0 : gcu_pick(gen, 5, 15));
}

static void bad_reserved(struct gen_gcu *gen, uint32_t *words)
{
	unsigned int word = 0, bit = 0;
	uint32_t reserved = 0;

	while (!(reserved >> bit & 1)) {
		/* Often a word that has fields, too. */
		word = gcu_pick(gen, 0, gcu_chance(gen, 60) ? 15 : BLOCK_WORDS - 1);
		bit = gcu_pick(gen, 0, 31);
		reserved = golden_gcu_reserved(words[0] & 15, word);
	}
	words[word] |= 1u << bit;
}

/* ----------------------------------------------------------------- layers */

static void bad_flags(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	if (format_of(l) != CNNACC_GCU_INT8 && gcu_chance(gen, 70))
		l->control |= any_bit(gen, 8, 10);
	else if (format_of(l) != CNNACC_GCU_FP16)
		l->control = (l->control & ~CNNACC_GCU_LINEAR) | CNNACC_GCU_ROUND_UP;
	else
		l->control |= CNNACC_GCU_ROUND_UP;
}

static void bad_out(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t out = format_of(l) != CNNACC_GCU_FP16 ? gcu_pick(gen, 4, 7) :
		       gcu_chance(gen, 50) ? gcu_pick(gen, 0, 3) : gcu_pick(gen, 6, 7);

	l->control = (l->control & ~OUT_MASK) | out << CNNACC_GCU_OUT_SHIFT;
}

static void bad_replacement(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	if (l->control & CNNACC_GCU_TABLE)
		l->threshold |= any_bit(gen, 0, 15);
	else if (gcu_chance(gen, 40))
		l->table_entries = not_zero(gen);
	else if (gcu_chance(gen, 50))
		l->increment_va = not_zero(gen);
	else
		l->vector_va = not_zero(gen);
}

static void bad_psum(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t words[4] = { l->psum.va, l->psum.column_stride, l->psum.row_stride,
			      l->psum.group_stride };

	l->control &= ~CNNACC_GCU_PSUM;
	memset(words, 0, sizeof(words));
	words[gcu_pick(gen, 0, 3)] = not_zero(gen);
	l->psum = (struct cnnacc_gcu_map){ words[0], words[1], words[2], words[3] };
}

/* A factor or a shift that the activation does not use. */
static void bad_factor(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	bool fp = format_of(l) == CNNACC_GCU_FP16;

	if (fp && gcu_chance(gen, 50)) {
		l->act_shift |= any_bit(gen, 0, 5);
		return;
	}
	l->control &= ~ACT_MASK;
	l->lut_va = 0;
	l->act_factor = gcu_chance(gen, 50) ? not_zero(gen) : 0;
	l->act_shift = l->act_factor ? 0 : any_bit(gen, 0, 5);
}

static void bad_unused(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	switch (gcu_pick(gen, 0, 5)) {
	case 0:
		bad_replacement(gen, l);
		break;
	case 1:
		bad_psum(gen, l);
		break;
	case 2:
		l->control &= ~(CNNACC_GCU_LINEAR | CNNACC_GCU_ROUND_UP);
		l->linear_va = not_zero(gen);
		break;
	case 3:
		l->control &= ~ACT_MASK;
		l->act_factor = l->act_shift = 0;
		l->lut_va = not_zero(gen);
		break;
	case 4:
		l->control &= ~CNNACC_GCU_CLAMP;
		l->clamp_low = gcu_chance(gen, 50) ? not_zero(gen) : 0;
		l->clamp_high = l->clamp_low ? 0 : not_zero(gen);
		break;
	default:
		bad_factor(gen, l);
		break;
	}
}

/* A zero point just outside of its type. */
static void bad_zero(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	bool unsigned_ifmap = l->control & CNNACC_GCU_UNSIGNED_IFMAP;
	bool unsigned_weights = l->control & CNNACC_GCU_UNSIGNED_WEIGHTS, low = gcu_chance(gen, 50);

	if (format_of(l) != CNNACC_GCU_INT8 && gcu_chance(gen, 70))
		set_half(&l->zero_in, gcu_pick(gen, 0, 1), gcu_pick(gen, 1, 65535));
	else if (format_of(l) == CNNACC_GCU_FP16)
		l->zero_out = not_zero(gen);
	else if (format_of(l) == CNNACC_GCU_INT8 && gcu_chance(gen, 40))
		set_half(&l->zero_in, 0, unsigned_ifmap ? (low ? 0xffff : 256) :
						   (low ? 0xff7f : 128));
	else if (format_of(l) == CNNACC_GCU_INT8 && gcu_chance(gen, 60))
		set_half(&l->zero_in, 1, unsigned_weights ? (low ? 0xffff : 256) :
						     (low ? 0xff7f : 128));
	else
		l->zero_out = (uint32_t[]){ low ? -129 : 128, low ? -1 : 256,
					    low ? -32769 : 32768, 0 }
			      [l->control >> CNNACC_GCU_OUT_SHIFT & 3];
}

static void bad_size(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	set_half(gcu_chance(gen, 50) ? &l->in_size : &l->channels, gcu_pick(gen, 0, 1), 0);
}

static void bad_kernel(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	if (gcu_chance(gen, 50)) {
		set_byte(&l->kernel, gcu_pick(gen, 0, 1), 0);
		return;
	}
	set_byte(&l->kernel, 0, gcu_pick(gen, 2, 61));
	set_byte(&l->kernel, 1, 122 / (l->kernel & 0xff) + gcu_pick(gen, 1, 100));
}

static void bad_stride(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	set_byte(&l->kernel, gcu_pick(gen, 2, 3),
		 gcu_chance(gen, 40) ? 0 : gcu_chance(gen, 50) ? 9 : gcu_pick(gen, 9, 255));
}

static void bad_groups(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t c = l->channels & 0xffff;

	switch (gcu_pick(gen, 0, 2)) {
	case 0:
		l->groups = 0;
		break;
	case 1:		/* C is not K */
		l->groups = gcu_pick(gen, 2, 8);
		l->channels = gcu_halves(c, c == 1 ? 2 : c - 1);
		break;
	default:	/* groups do not divide C */
		l->channels = gcu_halves(c, c);
		l->groups = c + gcu_pick(gen, 1, 3);
		break;
	}
}

static void bad_out_size(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	unsigned int axis = gcu_pick(gen, 0, 1);

	switch (gcu_pick(gen, 0, 3)) {
	case 0:
		set_half(&l->out_size, axis, 0);
		break;
	case 1:
		set_half(&l->out_size, axis, 0xffff);
		break;
	case 2:		/* by one: an axis of which nothing is left out */
		set_half(&l->in_size, axis, 50);
		l->kernel = gcu_bytes(2, 2, 3, 3);
		l->spacing = 0;
		l->padding = gcu_bytes(1, 1, 1, 1);
		set_half(&l->out_size, axis, (52 - 2) / 3 + 2);
		break;
	default:	/* the kernel is larger than the extended map */
		set_half(&l->in_size, axis, 1);
		set_byte(&l->kernel, axis, 3);
		set_byte(&l->kernel, 1 - axis, 1);
		set_byte(&l->spacing, axis, 63);
		set_byte(&l->padding, 2 * axis, 60);
		set_byte(&l->padding, 2 * axis + 1, 60);
		break;
	}
}

static void bad_rbuf(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t most = gen->params.rbuf_depth * (l->control & CNNACC_GCU_ACC16 ? 2 : 1);

	set_half(&l->in_size, 0, 65535);
	set_byte(&l->kernel, 2, 1);
	set_half(&l->out_size, 0, most + (gcu_chance(gen, 70) ? 1 : gcu_pick(gen, 1, 1000)));
}

static void bad_rows(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t columns = 4u << (l->fmbuf >> 8 & 15), words = (l->fmbuf & 0xff) * 512;

	switch (gcu_pick(gen, 0, 2)) {
	case 0:
		set_half(&l->fmbuf, 1, 0);
		break;
	case 1:
		set_half(&l->fmbuf, 1, gen->params.fmbuf_rows + 1);
		break;
	default:
		set_half(&l->fmbuf, 1, words / columns + 1);
		break;
	}
}

static void bad_kbuf_size(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	static const uint8_t sizes[] = { 0, 2, 8, 10, 16, 36, 64, 100, 120, 122, 144, 255 };

	set_byte(&l->kbuf, 0, gcu_chance(gen, 60) ? sizes[gcu_pick(gen, 0, 11)] :
			      gcu_chance(gen, 50) ? 1 : 9);
}

static void bad_kbuf_groups(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t words = (gen->params.cbuf_banks - (l->fmbuf & 0xff)) * 512;
	uint32_t size = l->kbuf & 0xff, most = size ? words / (size * gen->params.atomic_k) : 0;

	set_half(&l->kbuf, 1, gcu_chance(gen, 50) ? gcu_pick(gen, 0, 2) :
			      gcu_chance(gen, 70) ? most + 1 : 0xffff);
}

static void bad_columns(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t w = l->in_size & 0xffff, code = gcu_pick(gen, 11, 15);

	/* Too small for W. */
	if (w > 4 && gcu_chance(gen, 50))
		for (code = 0; 8u << code < w; code++)
			;
	l->fmbuf = (l->fmbuf & ~0xf00u) | code << 8;
}

static void bad_table(struct cnnacc_gcu_layer *l)
{
	l->control |= CNNACC_GCU_TABLE;
	l->threshold = l->table_entries = 0;
}

static void bad_clamp(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	bool low = gcu_chance(gen, 50);

	l->control |= CNNACC_GCU_CLAMP;
	if (format_of(l) != CNNACC_GCU_FP16) {
		l->clamp_low = gcu_pick(gen, -100, 100);
		l->clamp_high = l->clamp_low - gcu_pick(gen, 1, 3);
	} else if (gcu_chance(gen, 50)) {
		l->clamp_low = low ? 0x7fc00000 : 0;
		l->clamp_high = low ? 0 : 0xff800001;
	} else {
		l->clamp_low = low ? 0x3f800001 : 0xbf800000;
		l->clamp_high = low ? 0x3f800000 : 0xbf800001;
	}
}

static void odd_map(struct gen_gcu *gen, struct cnnacc_gcu_map *m, uint32_t bytes)
{
	switch (gcu_pick(gen, 0, 3)) {
	case 0:
		m->va += bytes;
		break;
	case 1:
		m->column_stride += bytes;
		break;
	case 2:
		m->row_stride += bytes;
		break;
	default:
		m->group_stride += bytes;
		break;
	}
}

static void bad_align(struct gen_gcu *gen, struct cnnacc_gcu_layer *l)
{
	uint32_t *const words[] = { &l->weight_va, &l->linear_va, &l->lut_va, &l->increment_va,
				    &l->vector_va };
	unsigned int n = gcu_pick(gen, 0, 4);

	switch (gcu_pick(gen, 0, 3)) {
	case 0:
		odd_map(gen, &l->ifmap, 1);
		break;
	case 1:
		odd_map(gen, &l->ofmap, gcu_pick(gen, 1, 3));
		break;
	case 2:
		if (l->control & CNNACC_GCU_PSUM)
			odd_map(gen, &l->psum, gcu_pick(gen, 1, 3));
		break;
	default:
		n = *words[n] ? n : 0;
		*words[n] |= any_bit(gen, 0, 5);
		break;
	}
}

/* BAD_FORMAT to BAD_GROUPS. */
static void spoil_number(struct gen_gcu *gen, struct cnnacc_gcu_layer *l,
			 enum cnnacc_gcu_field field)
{
	switch (field) {
	case CNNACC_GCU_BAD_FORMAT:
		l->control |= 3u << CNNACC_GCU_FORMAT_SHIFT;
		break;
	case CNNACC_GCU_BAD_FLAGS:
		bad_flags(gen, l);
		break;
	case CNNACC_GCU_BAD_ACT:
		l->control = (l->control & ~ACT_MASK) |
			     (uint32_t)gcu_pick(gen, 5, 7) << CNNACC_GCU_ACT_SHIFT;
		break;
	case CNNACC_GCU_BAD_OUT:
		bad_out(gen, l);
		break;
	case CNNACC_GCU_BAD_UNUSED:
		bad_unused(gen, l);
		break;
	case CNNACC_GCU_BAD_ZERO:
		bad_zero(gen, l);
		break;
	case CNNACC_GCU_BAD_SIZE:
		bad_size(gen, l);
		break;
	case CNNACC_GCU_BAD_KERNEL:
		bad_kernel(gen, l);
		break;
	case CNNACC_GCU_BAD_STRIDE:
		bad_stride(gen, l);
		break;
	case CNNACC_GCU_BAD_DILATION:
		set_byte(&l->spacing, gcu_pick(gen, 0, 1), 64 + gcu_pick(gen, 0, 191));
		break;
	case CNNACC_GCU_BAD_INNER:
		set_byte(&l->spacing, gcu_pick(gen, 2, 3), 8 + gcu_pick(gen, 0, 247));
		break;
	default:
		bad_groups(gen, l);
		break;
	}
}

/* BAD_OUT_SIZE to BAD_ALIGN. */
static void spoil_sizes(struct gen_gcu *gen, struct cnnacc_gcu_layer *l,
			enum cnnacc_gcu_field field)
{
	switch (field) {
	case CNNACC_GCU_BAD_OUT_SIZE:
		bad_out_size(gen, l);
		break;
	case CNNACC_GCU_BAD_RBUF:
		bad_rbuf(gen, l);
		break;
	case CNNACC_GCU_BAD_BANKS:
		set_byte(&l->fmbuf, 0, gcu_chance(gen, 40) ? 0 : gen->params.cbuf_banks +
				       (gcu_chance(gen, 50) ? 0 : gcu_pick(gen, 0, 200)));
		break;
	case CNNACC_GCU_BAD_COLUMNS:
		bad_columns(gen, l);
		break;
	case CNNACC_GCU_BAD_ROWS:
		bad_rows(gen, l);
		break;
	case CNNACC_GCU_BAD_KBUF_SIZE:
		bad_kbuf_size(gen, l);
		break;
	case CNNACC_GCU_BAD_KBUF_GROUPS:
		bad_kbuf_groups(gen, l);
		break;
	case CNNACC_GCU_BAD_TABLE:
		bad_table(l);
		break;
	case CNNACC_GCU_BAD_CLAMP:
		bad_clamp(gen, l);
		break;
	default:
		bad_align(gen, l);
		break;
	}
}

static void spoil_layer(struct gen_gcu *gen, uint32_t *words)
{
	enum cnnacc_gcu_field field = gcu_pick(gen, CNNACC_GCU_BAD_FORMAT, CNNACC_GCU_BAD_ALIGN);
	struct cnnacc_gcu_layer l;

	memcpy(&l, words, sizeof(l));
	if (field <= CNNACC_GCU_BAD_GROUPS)
		spoil_number(gen, &l, field);
	else
		spoil_sizes(gen, &l, field);
	memcpy(words, &l, sizeof(l));
}

/* ----------------------------------------------------------------- probes */

static void spoil_probe(struct gen_gcu *gen, uint32_t *words)
{
	bool search = words[1] == CNNACC_GCU_PORT_SEARCH;
	bool fills = (words[0] & 15) == CNNACC_GCU_FILL;
	uint32_t most = CNNACC_GCU_PROBE_WORDS;

	switch (gcu_pick(gen, 0, fills ? 4 : 3)) {
	case 0:
		words[1] = gcu_chance(gen, 50) ? 3 - fills : gcu_pick(gen, 3 - fills, 0xffffffff);
		break;
	case 1:
		words[1] = gcu_pick(gen, 0, 1);
		words[3] = gcu_chance(gen, 40) ? 0 : gcu_chance(gen, 50) ? most + 1 :
			   gcu_pick(gen, most + 1, 0xffffffff);
		break;
	case 2:		/* BAD_UNUSED or BAD_BANKS */
		words[5] = search ? not_zero(gen) : gcu_chance(gen, 40) ? 0 :
			   gen->params.cbuf_banks + gcu_pick(gen, 0, 1);
		break;
	case 3:
		words[4] |= any_bit(gen, 0, 5);
		break;
	default:
		words[2] += gcu_pick(gen, 1, 2 * gen->params.atomic_c - 1);
		break;
	}
}

void gen_gcu_spoil_config(struct gen_gcu *gen)
{
	struct program *program = &gen->job->program;
	unsigned int block = gcu_pick(gen, 0, gcu_blocks(program) - 1);
	uint32_t *words = program->word + block * BLOCK_WORDS;

	/* At times spoil a second field, to check which one is reported. */
	do {
		int64_t mood = gcu_pick(gen, 0, 15);
		unsigned int kind = words[0] & 15;

		if (mood == 0)
			bad_kind(gen, words);
		else if (mood == 1 || kind == CNNACC_GCU_WAIT)
			bad_reserved(gen, words);
		else if (kind == CNNACC_GCU_PROBE || kind == CNNACC_GCU_FILL)
			spoil_probe(gen, words);
		else
			spoil_layer(gen, words);
	} while (gcu_chance(gen, 25));
}

void gen_gcu_spoil_range(struct gen_gcu *gen, struct cnnacc_gcu_probe *p)
{
	int64_t word_bytes = 2 * gen->params.atomic_c;
	int64_t words = 512 * (p->port == CNNACC_GCU_PORT_FMAP ? p->fmbuf_banks :
			       gen->params.cbuf_banks - p->fmbuf_banks);

	switch (gcu_pick(gen, 0, 2)) {
	case 0:		/* by one word */
		p->address = (words - p->count + 1) * word_bytes;
		break;
	case 1:
		p->address = words * word_bytes + gcu_pick(gen, 0, 5000);
		break;
	default:
		p->address = gcu_pick(gen, words * word_bytes, 0xffffffff);
		break;
	}
}

/* --------------------------------------------------------------- random bits */

void gen_gcu_flip(struct gen_gcu *gen)
{
	struct program *program = &gen->job->program;

	for (int64_t flips = gcu_pick(gen, 1, 4); flips; flips--) {
		unsigned int block = gcu_pick(gen, 0, gcu_blocks(program) - 1);

		program->word[block * BLOCK_WORDS + gcu_pick(gen, 0, 34)] ^= any_bit(gen, 0, 31);
	}
}

/* A value that is plausible in some word. */
static uint32_t any_value(struct gen_gcu *gen)
{
	switch (gcu_pick(gen, 0, 6)) {
	case 0:
		return gcu_halves(gcu_pick(gen, 0, 9), gcu_pick(gen, 0, 9));
	case 1:
		return gcu_bytes(gcu_pick(gen, 0, 3), gcu_pick(gen, 0, 3), gcu_pick(gen, 0, 3),
				 gcu_pick(gen, 0, 3));
	case 2:
		return prng_next(&gen->prng);
	case 3:
		return gen->job->regions ?
		       gen->job->region[gcu_pick(gen, 0, gen->job->regions - 1)].va : 0;
	default:
		return gcu_pick(gen, 0, gcu_chance(gen, 50) ? 4 : 300);
	}
}

/* Words of the program become random, or it gets a block of nothing else. */
void gen_gcu_noise(struct gen_gcu *gen)
{
	struct program *program = &gen->job->program;
	unsigned int block;

	if (!gcu_blocks(program)) {
		program_emit(program, gcu_pick(gen, 0, 5) | any_value(gen));
		for (unsigned int n = 1; n < BLOCK_WORDS; n++)
			program_emit(program, n < 36 ? any_value(gen) : 0);
		return;
	}
	block = gcu_pick(gen, 0, gcu_blocks(program) - 1);
	for (int64_t times = gcu_pick(gen, 1, 3); times; times--)
		program->word[block * BLOCK_WORDS + gcu_pick(gen, 0, 34)] = any_value(gen);
}
