// SPDX-License-Identifier: MIT
/* The checks of an EXEC, in the order of the page. */
#include "state.h"

#include "../words.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/** struct check - an instruction being checked, and the first one of its layer. */
struct check {
	struct golden_enpu *enpu;
	const struct enpu_insn *i, *first;
};

static bool wrong(struct golden_enpu *enpu, uint64_t index, int64_t value, int64_t limit)
{
	enpu->regs.err_insn = index;
	enpu->regs.err_value = value;
	enpu->regs.err_limit = limit;
	return false;
}

static bool bad_cfg(const struct check *c, enum cnnacc_enpu_cfg detail, int64_t value,
		    int64_t limit)
{
	wrong(c->enpu, c->i->index, value, limit);
	c->enpu->coverage.cfg[detail]++;
	return golden_seq_fail(&c->enpu->seq, CNNACC_STATUS_CONFIG, CNNACC_ENPU_E_CFG, detail);
}

static bool illegal(const struct check *c, enum cnnacc_enpu_illegal detail)
{
	wrong(c->enpu, c->i->index, c->i->opcode, 0);
	c->enpu->coverage.illegal[detail]++;
	return golden_seq_fail(&c->enpu->seq, CNNACC_STATUS_BAD_PROGRAM, CNNACC_ENPU_E_ILLEGAL,
			       detail);
}

static bool bad_range(struct golden_enpu *enpu, enum cnnacc_enpu_range detail)
{
	enpu->coverage.range[detail]++;
	return golden_seq_fail(&enpu->seq, CNNACC_STATUS_BAD_PROGRAM, CNNACC_ENPU_E_RANGE, detail);
}

/* ----------------------------------------------------- opcodes and chains */

static bool check_opcode(const struct check *c)
{
	bool stop = c->i->opcode == CNNACC_ENPU_STOP;

	if (!stop && !enpu_is_known(c->i->op))
		return illegal(c, CNNACC_ENPU_BAD_OPCODE);
	if (!c->i->first && (stop || enpu_is_window(c->i)))
		return illegal(c, CNNACC_ENPU_BAD_CHAIN);
	if (!stop && c->i->op == CNNACC_ENPU_RESHAPE && c->i->fused)
		return illegal(c, CNNACC_ENPU_BAD_CHAIN);
	return true;
}

/* ------------------------------------------------------------------ E_CFG */

static bool check_reserved(const struct check *c)
{
	const uint8_t *insn = c->enpu->memory[CNNACC_ENPU_ITCM] +
			      c->i->index * CNNACC_ENPU_INSN_BYTES;
	const uint8_t *record = c->enpu->memory[CNNACC_ENPU_TABLE] +
				c->i->index * CNNACC_ENPU_RECORD_BYTES;
	const struct {
		uint32_t word, allowed;
	} words[] = {
		{ word_get(insn, 3), ~CNNACC_ENPU_WORD3_RESERVED },
		{ word_get(record, 0), CNNACC_ENPU_FLAGS },
		{ word_get(record, 9), 0x00ffffff },
		{ word_get(record, 10), 0xff },
		{ word_get(record, 11), 0xff },
		{ word_get(record, 12), ~CNNACC_ENPU_SHAPE_RESERVED },
		{ word_get(record, 13), 0 },
		{ word_get(record, 14), 0 },
		{ word_get(record, 15), 0 },
	};

	for (unsigned int n = 0; n < COUNT(words); n++)
		if (words[n].word & ~words[n].allowed)
			return bad_cfg(c, CNNACC_ENPU_BAD_RESERVED, words[n].word,
				       words[n].allowed);
	return true;
}

static bool check_flags(const struct check *c)
{
	uint32_t allowed = 0;

	if (c->i->stored && !c->i->fused)
		allowed |= CNNACC_ENPU_F_OUT_ONLY;
	if (c->i->first)
		allowed |= CNNACC_ENPU_F_A_SKIP;
	if (enpu_has_b(c->i))
		allowed |= CNNACC_ENPU_F_B_WORK;
	if (enpu_has_bias(c->i))
		allowed |= CNNACC_ENPU_F_BLOCK;
	if (c->i->flags & ~allowed)
		return bad_cfg(c, CNNACC_ENPU_BAD_FLAGS, c->i->flags, allowed);
	return true;
}

static bool check_later(const struct check *c)
{
	const int64_t size[3] = { c->i->ho, c->i->wo, c->i->co };
	const int64_t should[3] = { c->first->ho, c->first->wo, c->first->co };

	for (unsigned int n = 0; n < 3; n++)
		if (size[n] != should[n])
			return bad_cfg(c, CNNACC_ENPU_BAD_SHAPE, size[n], should[n]);
	return true;
}

static bool check_tile(const struct check *c)
{
	int64_t zs = enpu_stage_z(c->i), psums = c->i->y * c->i->x * c->i->zs;

	if (!c->i->y || !c->i->x)
		return bad_cfg(c, CNNACC_ENPU_BAD_TILE, 0, 1);
	if (c->i->zs != zs)
		return bad_cfg(c, CNNACC_ENPU_BAD_ZS, c->i->zs, zs);
	if (psums > CNNACC_ENPU_PSUMS)
		return bad_cfg(c, CNNACC_ENPU_BAD_PSUMS, psums, CNNACC_ENPU_PSUMS);
	return true;
}

static bool check_window(const struct check *c)
{
	const struct enpu_insn *i = c->i;
	int64_t in_y = i->sh * (i->y - 1) + (i->dh + 1) * (i->hk - 1) + 1;
	int64_t in_x = i->sw * (i->x - 1) + (i->dw + 1) * (i->wk - 1) + 1;

	if (!i->hk || !i->wk)
		return bad_cfg(c, CNNACC_ENPU_BAD_KERNEL, 0, 1);
	if (!i->sh || !i->sw)
		return bad_cfg(c, CNNACC_ENPU_BAD_STRIDE, 0, 1);
	if (i->in_y != in_y)
		return bad_cfg(c, CNNACC_ENPU_BAD_TILE_Y, i->in_y, in_y);
	if (i->in_x != in_x)
		return bad_cfg(c, CNNACC_ENPU_BAD_TILE_X, i->in_x, in_x);
	if (in_y * in_x > CNNACC_ENPU_IFMAP_PAD)
		return bad_cfg(c, CNNACC_ENPU_BAD_PAD, in_y * in_x, CNNACC_ENPU_IFMAP_PAD);
	if (!i->hi || !i->wi)
		return bad_cfg(c, CNNACC_ENPU_BAD_IN_SIZE, 0, 1);
	return true;
}

static bool check_reshape(const struct check *c)
{
	const int64_t size[4] = { 1, c->i->ho, c->i->wo, c->i->co };
	uint32_t word = c->i->reshape, seen = 0;
	uint32_t split = word >> CNNACC_ENPU_SPLIT_SHIFT & 3;
	uint32_t stack = word >> CNNACC_ENPU_STACK_SHIFT & 3;
	int64_t factor = word >> CNNACC_ENPU_FACTOR_SHIFT & 255;

	for (unsigned int k = 0; k < 4; k++)
		seen |= 1u << (word >> (2 * k) & 3);
	if (seen != 15 || (factor >= 2 && split == stack))
		return bad_cfg(c, CNNACC_ENPU_BAD_RESHAPE, word, 0);
	if (factor >= 2 && size[split] % factor)
		return bad_cfg(c, CNNACC_ENPU_BAD_RESHAPE, word, size[split]);
	return true;
}

static bool check_step(const struct check *c, enum cnnacc_enpu_cfg detail, int64_t step,
		       int64_t channels)
{
	int64_t least = enpu_groups(channels);

	return !step || step >= least || bad_cfg(c, detail, step, least);
}

static bool check_steps(const struct check *c)
{
	const struct enpu_insn *i = c->i;

	if (i->first && !check_step(c, CNNACC_ENPU_BAD_STEP_A, i->step_a, enpu_channels_a(i)))
		return false;
	if (enpu_has_b(i) && !check_step(c, CNNACC_ENPU_BAD_STEP_B, i->step_b, i->co))
		return false;
	return (!enpu_has_skip(i) && !enpu_has_out(i)) ||
	       check_step(c, CNNACC_ENPU_BAD_STEP_OUT, i->step_out, enpu_shape_of(i).size[3]);
}

static bool check_shift(const struct check *c, int64_t shift)
{
	if (shift < -CNNACC_ENPU_SHIFT_MAX || shift > CNNACC_ENPU_SHIFT_MAX)
		return bad_cfg(c, CNNACC_ENPU_BAD_SHIFT, shift, CNNACC_ENPU_SHIFT_MAX);
	return true;
}

static bool check_cfg(const struct check *c)
{
	if (!check_reserved(c) || !check_flags(c))
		return false;
	if (!(c->i->first ? check_tile(c) : check_later(c)))
		return false;
	if (enpu_is_window(c->i) && !check_window(c))
		return false;
	if (c->i->op == CNNACC_ENPU_RESHAPE && !check_reshape(c))
		return false;
	return check_steps(c) && (!enpu_has_shift(c->i) || check_shift(c, c->i->shift));
}

/* ---------------------------------------------------------------- E_RANGE */

static bool check_range(const struct check *c, enum cnnacc_enpu_range detail, struct enpu_range r)
{
	int64_t words = c->enpu->bytes[r.memory] / CNNACC_ENPU_WORD_BYTES;

	if (r.first + r.words <= words)
		return true;
	wrong(c->enpu, c->i->index, r.first + r.words - 1, words);
	return bad_range(c->enpu, detail);
}

static bool check_ranges(const struct check *c)
{
	const struct enpu_insn *i = c->i;

	if (i->first && !check_range(c, CNNACC_ENPU_RANGE_A, enpu_range_a(i)))
		return false;
	if (enpu_has_b(i) && !check_range(c, CNNACC_ENPU_RANGE_B, enpu_range_b(i)))
		return false;
	if (enpu_has_weights(i) && !check_range(c, CNNACC_ENPU_RANGE_WEIGHT, enpu_range_weights(i)))
		return false;
	if (enpu_has_block(i) && !check_range(c, CNNACC_ENPU_RANGE_BLOCK, enpu_range_block(i)))
		return false;
	if (i->op == CNNACC_ENPU_LUT && !check_range(c, CNNACC_ENPU_RANGE_LUT, enpu_range_lut(i)))
		return false;
	if (enpu_has_skip(i) && !check_range(c, CNNACC_ENPU_RANGE_SKIP, enpu_range_skip(i)))
		return false;
	return !enpu_has_out(i) || check_range(c, CNNACC_ENPU_RANGE_OUT, enpu_range_out(i));
}

static bool check_block(const struct check *c)
{
	for (int64_t o = 0; o < c->i->co; o++) {
		int64_t word = c->i->block + CNNACC_ENPU_BLOCK_WORDS * (o / 16) + 4;
		int8_t shift = c->enpu->memory[CNNACC_ENPU_WEIGHT][16 * word + o % 16];

		if (check_shift(c, shift))
			continue;
		c->enpu->coverage.block_shift++;
		return false;
	}
	return true;
}

/* -------------------------------------------------------------- E_OVERLAP */

/** struct result - a result of a stage. */
struct result {
	const struct enpu_insn *i;
	struct enpu_range r;
};

static bool meet(struct enpu_range a, struct enpu_range b)
{
	return a.memory == b.memory && a.first < b.first + b.words && b.first < a.first + a.words;
}

/* May the result lie exactly where the map is? */
static bool in_place(const struct result *result, struct enpu_range map)
{
	return result->i->op != CNNACC_ENPU_RESHAPE && result->r.first == map.first &&
	       result->r.step == map.step;
}

static bool overlaps(const struct check *c, const struct result *result, struct enpu_range other,
		     enum cnnacc_enpu_overlap detail)
{
	wrong(c->enpu, result->i->index, result->r.first, other.first);
	c->enpu->coverage.overlap[detail]++;
	return golden_seq_fail(&c->enpu->seq, CNNACC_STATUS_BAD_PROGRAM, CNNACC_ENPU_E_OVERLAP,
			       detail);
}

static bool check_against_maps(const struct check *c, const struct result *result)
{
	struct enpu_range map = enpu_range_a(c->first);

	if (meet(result->r, map)) {
		if (!in_place(result, map) || !enpu_is_pointwise(c->first))
			return overlaps(c, result, map, CNNACC_ENPU_OVERLAP_A);
		c->enpu->coverage.in_place[0]++;
	}
	for (const struct enpu_insn *i = c->first; i <= c->i; i++) {
		map = enpu_range_b(i);
		if (!enpu_has_b(i) || !meet(result->r, map))
			continue;
		if (!in_place(result, map) || i > result->i)
			return overlaps(c, result, map, CNNACC_ENPU_OVERLAP_B);
		c->enpu->coverage.in_place[1]++;
	}
	return true;
}

/* Results of a stage: skip before out; their number. */
static unsigned int results_of(const struct enpu_insn *i, struct result result[2])
{
	unsigned int count = 0;

	if (enpu_has_skip(i))
		result[count++] = (struct result){ i, enpu_range_skip(i) };
	if (enpu_has_out(i))
		result[count++] = (struct result){ i, enpu_range_out(i) };
	return count;
}

/* The result before it: those of the stages up to its own. */
static bool check_against_results(const struct check *c, const struct result *result)
{
	struct result other[2];

	for (const struct enpu_insn *i = c->first; i <= result->i; i++) {
		unsigned int count = results_of(i, other);

		for (unsigned int n = 0; n < count; n++) {
			if (i == result->i && other[n].r.memory == result->r.memory)
				return true;
			if (meet(result->r, other[n].r))
				return overlaps(c, result, other[n].r, CNNACC_ENPU_OVERLAP_RESULT);
		}
	}
	return true;
}

static bool check_overlap(const struct check *c)
{
	struct result result[2];

	for (const struct enpu_insn *i = c->first; i <= c->i; i++) {
		unsigned int count = results_of(i, result);

		for (unsigned int n = 0; n < count; n++)
			if (!check_against_maps(c, &result[n]) ||
			    !check_against_results(c, &result[n]))
				return false;
	}
	return true;
}

/* ------------------------------------------------------------ the program */

static bool check_insn(const struct check *c)
{
	if (!check_cfg(c) || !check_ranges(c))
		return false;
	if (enpu_has_block(c->i) && !check_block(c))
		return false;
	return c->i->fused || check_overlap(c);
}

bool enpu_check(struct golden_enpu *enpu, uint32_t start)
{
	uint64_t limit = enpu->params.itcm / CNNACC_ENPU_INSN_BYTES;
	unsigned int first = 0, n = 0;

	for (uint64_t index = start; index < limit; index++, n++) {
		struct enpu_insn *i = &enpu->insn[n];
		struct check c = { enpu, i, &enpu->insn[first] };

		enpu_decode_insn(enpu, index, i);
		i->first = n == first;
		if (!check_opcode(&c))
			return false;
		enpu->insns = n;
		if (i->opcode == CNNACC_ENPU_STOP)
			return true;
		if (!check_insn(&c))
			return false;
		if (!i->fused)
			first = n + 1;
	}
	wrong(enpu, (uint64_t)start + n, (uint64_t)start + n, limit);
	return bad_range(enpu, CNNACC_ENPU_RANGE_ITCM);
}
