// SPDX-License-Identifier: MIT
#include "state.h"

/* A map from word @first on; @step as in the record. */
static struct enpu_range map(enum cnnacc_enpu_memory memory, int64_t first, int64_t step,
			     const int64_t shape[2])
{
	int64_t groups = enpu_groups(shape[1]), distance = step ? step : groups;

	return (struct enpu_range){ memory, first, (shape[0] - 1) * distance + groups, distance };
}

struct enpu_range enpu_range_a(const struct enpu_insn *insn)
{
	int64_t pixels = enpu_is_window(insn) ? insn->hi * insn->wi : insn->ho * insn->wo;
	bool skip = insn->flags & CNNACC_ENPU_F_A_SKIP;

	return map(skip ? CNNACC_ENPU_SKIP : CNNACC_ENPU_WORK, insn->in, insn->step_a,
		   (int64_t[]){ pixels, enpu_channels_a(insn) });
}

struct enpu_range enpu_range_b(const struct enpu_insn *insn)
{
	bool work = insn->flags & CNNACC_ENPU_F_B_WORK;

	return map(work ? CNNACC_ENPU_WORK : CNNACC_ENPU_SKIP, insn->b, insn->step_b,
		   (int64_t[]){ insn->ho * insn->wo, insn->co });
}

struct enpu_range enpu_range_weights(const struct enpu_insn *insn)
{
	int64_t words = enpu_groups(insn->co);

	if (enpu_is_window(insn))
		words *= insn->hk * insn->wk;
	if (enpu_is_conv(insn))
		words *= insn->ci;
	return (struct enpu_range){ CNNACC_ENPU_WEIGHT, insn->weight, words, 0 };
}

struct enpu_range enpu_range_block(const struct enpu_insn *insn)
{
	return (struct enpu_range){
		CNNACC_ENPU_WEIGHT, insn->block, CNNACC_ENPU_BLOCK_WORDS * enpu_groups(insn->co), 0,
	};
}

struct enpu_range enpu_range_lut(const struct enpu_insn *insn)
{
	return (struct enpu_range){ CNNACC_ENPU_WEIGHT, insn->lut, CNNACC_ENPU_LUT_WORDS, 0 };
}

static struct enpu_range result(const struct enpu_insn *insn, enum cnnacc_enpu_memory memory,
				int64_t first)
{
	struct enpu_shape s = enpu_shape_of(insn);
	int64_t pixels = s.size[0] * s.size[1] * s.size[2];

	return map(memory, first, insn->step_out, (int64_t[]){ pixels, s.size[3] });
}

struct enpu_range enpu_range_skip(const struct enpu_insn *insn)
{
	return result(insn, CNNACC_ENPU_SKIP, insn->skip);
}

struct enpu_range enpu_range_out(const struct enpu_insn *insn)
{
	return result(insn, CNNACC_ENPU_WORK, insn->out);
}

/* ----------------------------------------------------------------- banks */

static uint32_t banks_of(const uint32_t *bytes, struct enpu_range r)
{
	uint64_t half = bytes[r.memory] / CNNACC_ENPU_BANKS;
	uint64_t first = r.first * CNNACC_ENPU_WORD_BYTES;
	uint64_t last = first + r.words * CNNACC_ENPU_WORD_BYTES - 1;
	uint32_t banks = 0;

	for (unsigned int bank = 0; bank < CNNACC_ENPU_BANKS; bank++)
		if (first < (bank + 1) * half && last >= bank * half)
			banks |= 1u << (CNNACC_ENPU_BANKS * r.memory + bank);
	return banks;
}

static uint32_t banks_of_insn(const uint32_t *bytes, const struct enpu_insn *i)
{
	uint32_t banks = 0;

	if (i->first)
		banks |= banks_of(bytes, enpu_range_a(i));
	if (enpu_has_b(i))
		banks |= banks_of(bytes, enpu_range_b(i));
	if (enpu_has_weights(i))
		banks |= banks_of(bytes, enpu_range_weights(i));
	if (enpu_has_block(i))
		banks |= banks_of(bytes, enpu_range_block(i));
	if (i->op == CNNACC_ENPU_LUT)
		banks |= banks_of(bytes, enpu_range_lut(i));
	if (enpu_has_skip(i))
		banks |= banks_of(bytes, enpu_range_skip(i));
	if (enpu_has_out(i))
		banks |= banks_of(bytes, enpu_range_out(i));
	return banks;
}

uint32_t enpu_banks(const uint32_t *bytes, uint32_t start, const struct enpu_insn *insn,
		    unsigned int insns)
{
	int64_t entries = insns + 1;
	uint32_t banks = banks_of(bytes, (struct enpu_range){ CNNACC_ENPU_ITCM, start, entries, 0 });

	banks |= banks_of(bytes, (struct enpu_range){ CNNACC_ENPU_TABLE, 4 * (int64_t)start,
						     4 * entries, 0 });
	for (unsigned int n = 0; n < insns; n++)
		banks |= banks_of_insn(bytes, &insn[n]);
	return banks;
}
