// SPDX-License-Identifier: MIT
#include "state.h"

#include "../words.h"

static int64_t bits(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & (0xffffffffu >> (31 - (high - low)));
}

/* A size whose 0 means 256. */
static int64_t size8(uint32_t word, unsigned int low)
{
	int64_t size = bits(word, low + 7, low);

	return size ? size : 256;
}

static void decode_insn(const uint8_t *at, struct enpu_insn *i)
{
	uint32_t w0 = word_get(at, 0), w1 = word_get(at, 1);
	uint32_t w2 = word_get(at, 2), w3 = word_get(at, 3);

	i->opcode = bits(w0, 7, 0);
	i->op = i->opcode & ~(CNNACC_ENPU_FUSED | CNNACC_ENPU_STORED);
	i->fused = i->opcode & CNNACC_ENPU_FUSED;
	i->stored = i->opcode & CNNACC_ENPU_STORED;
	i->sh = bits(w0, 11, 8);
	i->sw = bits(w0, 15, 12);
	i->ph = bits(w0, 19, 16);
	i->pw = bits(w0, 23, 20);
	i->dh = bits(w0, 27, 24);
	i->dw = bits(w0, 31, 28);
	i->y = bits(w1, 5, 0);
	i->x = bits(w1, 11, 6);
	i->in_y = bits(w1, 17, 12);
	i->in_x = bits(w1, 23, 18);
	i->hk = bits(w1, 31, 24);
	i->wk = bits(w2, 7, 0);
	i->ho = size8(w2, 8);
	i->wo = size8(w2, 16);
	i->co = size8(w2, 24);
	i->ci = size8(w3, 0);
	i->zs = bits(w3, 15, 8);
}

static void decode_record(const uint8_t *at, struct enpu_insn *i)
{
	uint32_t steps = word_get(at, 9);

	i->flags = word_get(at, 0);
	i->hi = bits(word_get(at, 1), 15, 0);
	i->wi = bits(word_get(at, 1), 31, 16);
	i->in = word_get(at, 2);
	i->out = word_get(at, 3);
	i->skip = word_get(at, 4);
	i->b = word_get(at, 5);
	i->weight = word_get(at, 6);
	i->block = word_get(at, 7);
	i->lut = word_get(at, 8);
	i->step_a = bits(steps, 7, 0);
	i->step_b = bits(steps, 15, 8);
	i->step_out = bits(steps, 23, 16);
	i->shift = (int8_t)word_get(at, 10);
	i->pad = (int8_t)word_get(at, 11);
	i->reshape = word_get(at, 12);
}

void enpu_decode_insn(const struct golden_enpu *enpu, uint32_t index, struct enpu_insn *insn)
{
	insn->index = index;
	insn->first = true;
	decode_insn(enpu->memory[CNNACC_ENPU_ITCM] + index * CNNACC_ENPU_INSN_BYTES, insn);
	decode_record(enpu->memory[CNNACC_ENPU_TABLE] + index * CNNACC_ENPU_RECORD_BYTES, insn);
}

int64_t enpu_groups(int64_t channels)
{
	return (channels + CNNACC_ENPU_PES - 1) / CNNACC_ENPU_PES;
}

bool enpu_is_conv(const struct enpu_insn *insn)
{
	return insn->op == CNNACC_ENPU_CONV || insn->op == CNNACC_ENPU_CONV_RELU;
}

static bool is_depthwise(const struct enpu_insn *insn)
{
	return insn->op == CNNACC_ENPU_DEPTHWISE || insn->op == CNNACC_ENPU_AVG_POOL;
}

bool enpu_is_window(const struct enpu_insn *insn)
{
	return enpu_is_conv(insn) || is_depthwise(insn) || insn->op == CNNACC_ENPU_MAX_POOL;
}

bool enpu_is_pointwise(const struct enpu_insn *insn)
{
	return !enpu_is_window(insn) && insn->op != CNNACC_ENPU_RESHAPE;
}

bool enpu_is_known(uint32_t op)
{
	static const uint8_t known[] = {
		CNNACC_ENPU_CONV, CNNACC_ENPU_CONV_RELU, CNNACC_ENPU_DEPTHWISE,
		CNNACC_ENPU_AVG_POOL, CNNACC_ENPU_MAX_POOL, CNNACC_ENPU_BN, CNNACC_ENPU_RELU,
		CNNACC_ENPU_LUT, CNNACC_ENPU_ADD, CNNACC_ENPU_MUL, CNNACC_ENPU_RESHAPE,
	};

	for (unsigned int n = 0; n < sizeof(known); n++)
		if (op == known[n])
			return true;
	return false;
}

bool enpu_has_weights(const struct enpu_insn *insn)
{
	return enpu_is_conv(insn) || is_depthwise(insn) || insn->op == CNNACC_ENPU_BN;
}

bool enpu_has_bias(const struct enpu_insn *insn)
{
	return enpu_has_weights(insn);
}

bool enpu_has_block(const struct enpu_insn *insn)
{
	return enpu_has_bias(insn) && (insn->flags & CNNACC_ENPU_F_BLOCK);
}

bool enpu_has_b(const struct enpu_insn *insn)
{
	return insn->op == CNNACC_ENPU_ADD || insn->op == CNNACC_ENPU_MUL;
}

bool enpu_has_shift(const struct enpu_insn *insn)
{
	return insn->op == CNNACC_ENPU_MUL || (enpu_has_bias(insn) && !enpu_has_block(insn));
}

bool enpu_has_skip(const struct enpu_insn *insn)
{
	return insn->stored;
}

bool enpu_has_out(const struct enpu_insn *insn)
{
	return !insn->fused && !(insn->flags & CNNACC_ENPU_F_OUT_ONLY);
}

int64_t enpu_channels_a(const struct enpu_insn *insn)
{
	return enpu_is_conv(insn) ? insn->ci : insn->co;
}

int64_t enpu_stage_z(const struct enpu_insn *first)
{
	return enpu_is_conv(first) ? enpu_groups(first->co) : 1;
}
