// SPDX-License-Identifier: MIT
/* Instructions and records of layers (Documentation/hardware/enpu.rst, Instruction). */
#include <stdlib.h>
#include <string.h>

#include "enpu.h"

void enpuc_code_free(struct enpuc_code *c)
{
	free(c->insn);
	free(c->record);
	free(c->weights);
	*c = (struct enpuc_code){ .insns = 0 };
}

static int64_t stage_weight_words(const struct enpuc_layer *l, const struct enpuc_stage *s,
				  const struct enpuc_piece *p)
{
	unsigned int uses = enpuc_uses(s->opcode);
	int64_t taps = uses & ENPUC_WINDOW ? l->hk * l->wk : 1;

	if (!(uses & ENPUC_WEIGHTS))
		return 0;
	return (uses & ENPUC_ALL_CHANNELS ? p->ci : 1) * taps * enpuc_groups(p->co);
}

static int64_t stage_words(const struct enpuc_layer *l, const struct enpuc_stage *s,
			   const struct enpuc_piece *p)
{
	if (s->opcode == CNNACC_ENPU_LUT)
		return CNNACC_ENPU_LUT_WORDS;
	if (!(enpuc_uses(s->opcode) & ENPUC_WEIGHTS))
		return 0;
	return stage_weight_words(l, s, p) + CNNACC_ENPU_BLOCK_WORDS * enpuc_groups(p->co);
}

int64_t enpuc_piece_words(const struct enpuc_layer *l, const struct enpuc_piece *p)
{
	int64_t words = 0;

	for (int i = 0; i < l->stages; i++)
		words += stage_words(l, &l->stage[i], p);
	return words;
}

/* ---- weights ---- */

/* The weight of output channel k for input channel c, which another group may have. */
static int8_t weight_at(const struct enpuc_layer *l, const struct enpuc_stage *s, int64_t k,
			int64_t c, int64_t tap)
{
	int64_t in = l->ci / l->groups, out = l->co / l->groups;

	if (s->transposed)
		return s->weights[c * l->co + k];
	if (c / in != k / out)
		return 0;
	if (l->gather.kernel_rows > 1) {
		int64_t rows = l->gather.kernel_rows, row = c / (in / rows);

		return s->weights[((k * in + c % (in / rows) * rows) + row) * l->wk + tap];
	}
	return s->weights[(k * in + c % in) * l->hk * l->wk + tap];
}

static void pack_all_channels(const struct enpuc_part *part, const struct enpuc_stage *s,
			      uint8_t *to)
{
	const struct enpuc_layer *l = part->layer;
	const struct enpuc_piece *p = part->piece;

	for (int64_t c = 0; c < p->ci; c++)
		for (int64_t tap = 0; tap < l->hk * l->wk; tap++) {
			for (int64_t k = 0; k < p->co; k++)
				to[k] = (uint8_t)weight_at(l, s, p->co0 + k, p->ci0 + c, tap);
			to += enpuc_groups(p->co) * ENPUC_WORD;
		}
}

static void pack_by_channel(const struct enpuc_part *part, const struct enpuc_stage *s, uint8_t *to)
{
	const struct enpuc_piece *p = part->piece;
	int64_t taps = enpuc_uses(s->opcode) & ENPUC_WINDOW ? part->layer->hk * part->layer->wk : 1;

	for (int64_t tap = 0; tap < taps; tap++)
		for (int64_t k = 0; k < p->co; k++)
			to[tap * enpuc_groups(p->co) * ENPUC_WORD + k] =
				(uint8_t)s->weights[(p->co0 + k) * s->per_channel + tap * (taps > 1)];
}

static int32_t element(const struct cnn_tensor *t, int64_t k)
{
	int64_t i = t && cnn_tensor_count(t) > 1 ? k : 0;

	if (!t)
		return 0;
	return t->dtype == CNN_INT32 ? ((const int32_t *)t->data)[i] : ((const int8_t *)t->data)[i];
}

/* What is added to the sum of channel k: the padding value is what the input has for zero. */
static int32_t bias_of(const struct enpuc_layer *l, const struct enpuc_stage *s, int64_t k)
{
	uint32_t sum = 0;

	for (int64_t i = 0; i < s->per_channel && s->zero; i++)
		sum += (uint32_t)(s->transposed ? s->weights[i * l->co + k] :
						  s->weights[k * s->per_channel + i]);
	return (int32_t)((uint32_t)element(s->add, k) - (uint32_t)s->zero * sum);
}

static void pack_block(const struct enpuc_part *part, const struct enpuc_stage *s, uint8_t *to)
{
	const int64_t biases = ENPUC_WORD * (int64_t)sizeof(int32_t);

	for (int64_t k = 0; k < part->piece->co; k++) {
		uint8_t *block = to + k / ENPUC_WORD * CNNACC_ENPU_BLOCK_WORDS * ENPUC_WORD;
		int64_t channel = part->piece->co0 + k, lane = k % ENPUC_WORD;
		int32_t bias = bias_of(part->layer, s, channel);

		memcpy(block + lane * (int64_t)sizeof(bias), &bias, sizeof(bias));
		block[biases + lane] = (uint8_t)element(s->shift, channel);
	}
}

static void pack_stage(const struct enpuc_part *part, const struct enpuc_stage *s, uint8_t *to)
{
	if (s->opcode == CNNACC_ENPU_LUT)
		memcpy(to, s->table, CNNACC_ENPU_LUT_WORDS * ENPUC_WORD);
	if (!(enpuc_uses(s->opcode) & ENPUC_WEIGHTS))
		return;
	if (enpuc_uses(s->opcode) & ENPUC_ALL_CHANNELS)
		pack_all_channels(part, s, to);
	else
		pack_by_channel(part, s, to);
	pack_block(part, s, to + stage_weight_words(part->layer, s, part->piece) * ENPUC_WORD);
}

void enpuc_code_pack(struct enpuc_code *c, const struct enpuc_part *part)
{
	int64_t words = part->weights - c->base + enpuc_piece_words(part->layer, part->piece);
	int64_t at = part->weights;
	uint8_t *more = c->failed ? NULL : realloc(c->weights, (size_t)(words * ENPUC_WORD) + 1);

	c->failed |= !more;
	if (!more)
		return;
	c->weights = more;
	memset(more + c->words * ENPUC_WORD, 0, (size_t)((words - c->words) * ENPUC_WORD));
	c->words = words;
	for (int i = 0; i < part->layer->stages; i++) {
		pack_stage(part, &part->layer->stage[i], more + (at - c->base) * ENPUC_WORD);
		at += stage_words(part->layer, &part->layer->stage[i], part->piece);
	}
}

/* ---- instructions ---- */

static bool append(struct enpuc_code *c)
{
	void *insn = reallocarray(c->insn, (size_t)c->insns + 1, sizeof(*c->insn)), *record;

	if (insn)
		c->insn = insn;
	record = reallocarray(c->record, (size_t)c->insns + 1, sizeof(*c->record));
	if (record)
		c->record = record;
	c->failed |= !insn || !record;
	if (c->failed)
		return false;
	c->insn[c->insns] = (struct cnnacc_enpu_insn){ .word0 = 0 };
	c->record[c->insns] = (struct cnnacc_enpu_record){ .flags = 0 };
	c->insns++;
	return true;
}

static uint32_t opcode_of(const struct enpuc_part *part, int i)
{
	const struct enpuc_stage *s = &part->layer->stage[i];
	uint32_t op = s->opcode == CNNACC_ENPU_CONV && s->relu ? CNNACC_ENPU_CONV_RELU : s->opcode;

	if (i < part->layer->stages - 1)
		op |= CNNACC_ENPU_FUSED;
	return part->bind->has_skip[i] ? op | CNNACC_ENPU_STORED : op;
}

static void set_insn(struct cnnacc_enpu_insn *insn, const struct enpuc_part *part, int i,
		     const struct enpuc_tile *t)
{
	const struct enpuc_layer *l = part->layer;
	const struct enpuc_slab *s = &part->slab;
	bool window = enpuc_uses(l->stage[0].opcode) & ENPUC_WINDOW;

	insn->word0 = opcode_of(part, i);
	if (!i && window)
		insn->word0 = CNNACC_ENPU_WORD0(insn->word0, l->sh, l->sw, s->ph, s->pw, l->dh,
						l->dw);
	if (!i)
		insn->word1 = CNNACC_ENPU_WORD1(t->y, t->x, window ? t->in_y : 0,
						window ? t->in_x : 0, window ? l->hk : 0);
	insn->word2 = CNNACC_ENPU_WORD2(!i && window ? l->wk : 0, s->h, s->w, part->piece->co);
	insn->word3 = i ? 0 : CNNACC_ENPU_WORD3(part->piece->ci, t->zs);
}

static uint32_t flags_of(const struct enpuc_part *part, int i)
{
	const struct enpuc_binding *b = part->bind;
	const struct enpuc_stage *s = &part->layer->stage[i];
	bool last = i == part->layer->stages - 1;
	uint32_t flags = 0;

	if (last && b->has_skip[i] && !b->has_out)
		flags |= CNNACC_ENPU_F_OUT_ONLY;
	if (!i && b->in.memory == CNNACC_ENPU_SKIP)
		flags |= CNNACC_ENPU_F_A_SKIP;
	if (enpuc_uses(s->opcode) & ENPUC_MAP_B && b->b[i].memory == CNNACC_ENPU_WORK)
		flags |= CNNACC_ENPU_F_B_WORK;
	if (enpuc_uses(s->opcode) & ENPUC_WEIGHTS)
		flags |= CNNACC_ENPU_F_BLOCK;
	return flags;
}

/* Words from a pixel of a map of so many channels to the next. */
static int64_t step_of(const struct enpuc_place *p, int64_t channels)
{
	return p->step ? p->step : enpuc_groups(channels);
}

static const struct enpuc_place *result_of(const struct enpuc_binding *b, int i)
{
	return b->has_skip[i] ? &b->skip[i] : &b->out;
}

static const struct enpuc_place *source_of(const struct enpuc_binding *b,
					   const struct enpuc_piece *p)
{
	return p->source ? &b->b[p->source] : &b->in;
}

int64_t enpuc_words_before(const struct enpuc_layer *l, int part)
{
	int64_t words = 0;

	for (int i = 0; i < part; i++)
		words += l->of_rows ? l->part[i] * l->wo * enpuc_groups(l->co) :
				      enpuc_groups(l->part[i]);
	return words;
}

bool enpuc_is_in_place(const struct enpuc_layer *l, const struct enpuc_piece *p,
		       const struct enpuc_binding *b)
{
	const struct enpuc_place *from = source_of(b, p), *to = result_of(b, l->stages - 1);

	return l->concat && from->memory == to->memory &&
	       from->word == to->word + enpuc_words_before(l, p->source) &&
	       step_of(from, enpuc_second_channels(l, p->source)) == enpuc_groups(l->co);
}

static void set_record(struct cnnacc_enpu_record *r, const struct enpuc_part *part, int i,
		       int64_t weights)
{
	const struct enpuc_layer *l = part->layer;
	const struct enpuc_stage *s = &l->stage[i];
	const struct enpuc_binding *b = part->bind;
	int64_t first = part->piece->co0 / ENPUC_WORD;
	int64_t from = enpuc_uses(l->stage[0].opcode) & ENPUC_ALL_CHANNELS ?
			       part->piece->ci0 / ENPUC_WORD : first;

	r->flags = flags_of(part, i);
	r->steps = l->order ? 0 : (uint32_t)(step_of(result_of(b, i), l->co) << 16);
	r->reshape = l->slice ? CNNACC_ENPU_PERM(0, 1, 2, 3) : l->order;
	if (!i) {
		r->in_size = (uint32_t)(part->slab.in_h | part->slab.in_w << 16);
		r->in = (uint32_t)(b->in.word + from);
		r->steps |= (uint32_t)step_of(&b->in, l->ci);
		r->pad = (uint8_t)l->pad;
	}
	r->out = (uint32_t)(b->out.word + first);
	r->skip = (uint32_t)(b->skip[i].word + first);
	if (enpuc_uses(s->opcode) & ENPUC_MAP_B) {
		r->b = (uint32_t)(b->b[i].word + first);
		r->steps |= (uint32_t)(step_of(&b->b[i], l->co) << 8);
	}
	r->weight = r->lut = (uint32_t)weights;
	r->block = (uint32_t)(weights + stage_weight_words(l, s, part->piece));
	if (s->opcode == CNNACC_ENPU_MUL)
		r->shift = (uint8_t)element(s->shift, 0);
}

/* The instruction that copies a part of a Concat. */
static void set_copy(struct enpuc_code *c, const struct enpuc_part *part,
		     const struct enpuc_tile *t)
{
	const struct enpuc_binding *b = part->bind;
	const struct enpuc_piece *p = part->piece;
	const struct enpuc_place *from = source_of(b, p);
	int last = part->layer->stages - 1;
	struct cnnacc_enpu_insn *insn = &c->insn[c->insns - 1];
	struct cnnacc_enpu_record *r = &c->record[c->insns - 1];
	int64_t of_part = (p->co0 - p->ci0) / ENPUC_WORD;
	int64_t first = enpuc_words_before(part->layer, p->source) + of_part;

	insn->word0 = CNNACC_ENPU_RESHAPE | (b->has_skip[last] ? CNNACC_ENPU_STORED : 0);
	insn->word1 = CNNACC_ENPU_WORD1(t->y, t->x, 0, 0, 0);
	insn->word2 = CNNACC_ENPU_WORD2(0, part->slab.h, part->slab.w, p->co);
	insn->word3 = CNNACC_ENPU_WORD3(0, t->zs);
	r->flags = (b->has_skip[last] && !b->has_out ? CNNACC_ENPU_F_OUT_ONLY : 0) |
		   (from->memory == CNNACC_ENPU_SKIP ? CNNACC_ENPU_F_A_SKIP : 0);
	r->in = (uint32_t)(from->word + of_part);
	r->out = (uint32_t)(b->out.word + first);
	r->skip = (uint32_t)(b->skip[last].word + first);
	r->steps = (uint32_t)(step_of(from, enpuc_second_channels(part->layer, p->source)) |
			      enpuc_groups(part->layer->co) << 16);
	r->reshape = CNNACC_ENPU_PERM(0, 1, 2, 3);
}

void enpuc_code_add(struct enpuc_code *c, const struct enpuc_hw *hw, const struct enpuc_part *part)
{
	const struct enpuc_layer *l = part->layer;
	int64_t weights = part->weights;
	struct enpuc_cost cost;
	struct enpuc_tile t = { 0 };

	enpuc_find_tile(hw, l, part->piece, &part->slab, part->bind, &t);
	for (int i = 0; i < (l->concat ? 1 : l->stages); i++) {
		if (!append(c))
			return;
		if (l->concat) {
			set_copy(c, part, &t);
			continue;
		}
		set_insn(&c->insn[c->insns - 1], part, i, &t);
		set_record(&c->record[c->insns - 1], part, i, weights);
		weights += stage_words(l, &l->stage[i], part->piece);
	}
	cost = enpuc_layer_cost(hw, l, part->piece, &part->slab, part->bind, &t);
	c->cost.cycles += cost.cycles;
	c->cost.slots += cost.slots;
	c->cost.useful += cost.useful;
}

void enpuc_code_stop(struct enpuc_code *c)
{
	if (!append(c))
		return;
	c->insn[c->insns - 1].word0 = CNNACC_ENPU_STOP;
	c->cost.cycles++;
}
