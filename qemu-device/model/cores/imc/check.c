// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Checks of SETUP and CONV, and of a loaded state. */
#include "imc.h"

/* Field by field, in the order of enum cnnacc_imc_cfg. */
uint32_t imc_bad_setup(const struct imc_build *build, const uint32_t setup[IMC_SETUP_WORDS])
{
	uint32_t n = setup[0] >> CNNACC_IMC_SETUP_N_SHIFT & 0xf;
	uint32_t format = setup[0] >> CNNACC_IMC_SETUP_FORMAT_SHIFT & 3;
	uint32_t w = setup[1] & 0xffff, h = setup[1] >> 16;
	uint32_t cin = setup[2] & 0xffff, cout = setup[2] >> 16, column = setup[3] >> 16;

	if (format > CNNACC_IMC_FP32 || (format == CNNACC_IMC_FP32 && !build->fp32))
		return CNNACC_IMC_BAD_FORMAT;
	if (!n || n > build->n_max)
		return CNNACC_IMC_BAD_KERNEL;
	if ((setup[0] & CNNACC_IMC_SETUP_FULL) && (!build->full || n > build->csus))
		return CNNACC_IMC_BAD_MODE;
	if (w < n)
		return CNNACC_IMC_BAD_WIDTH;
	if (h < n)
		return CNNACC_IMC_BAD_HEIGHT;
	if (!cin || cin > CNNACC_IMC_CHANNELS_MAX)
		return CNNACC_IMC_BAD_CIN;
	if (!cout || cout > CNNACC_IMC_CHANNELS_MAX)
		return CNNACC_IMC_BAD_COUT;
	if (column < cout)
		return CNNACC_IMC_BAD_RESULT_COLUMN;
	if (setup[5] < (uint64_t)(w - n) * column + cout)
		return CNNACC_IMC_BAD_RESULT_ROW;
	return 0;
}

uint32_t imc_bad_align(const struct imc_state *s, const uint32_t conv[IMC_CONV_WORDS])
{
	uint32_t format = s->setup[0] >> CNNACC_IMC_SETUP_FORMAT_SHIFT & 3;
	uint32_t operands = format == CNNACC_IMC_FP32 ? conv[1] | conv[2] : 0;

	if (!s->setup[0])
		return CNNACC_IMC_BAD_SETUP;
	return (operands | conv[3]) % 4 ? CNNACC_IMC_BAD_ALIGN : 0;
}

/* No product or sum exceeds 64 bits: counts are below 2^16, strides below 2^32. */
uint32_t imc_bad_memory(const struct imc *h, const uint32_t conv[IMC_CONV_WORDS])
{
	const struct cm_seq_memory *memory = h->seq.memory;
	struct imc_plane p;
	uint64_t end;

	imc_decode_setup(h->s->setup, &p);
	end = conv[1] + (p.h - 1) * p.in_row + (p.w - 1) * p.in_column + (uint64_t)p.cin * p.esz;
	if (end > memory[imc_input(conv)].size)
		return imc_input(conv);
	end = conv[2] + (uint64_t)p.cout * p.n * p.n * p.cin * p.esz;
	if (end > memory[imc_weight(conv)].size)
		return imc_weight(conv);
	end = conv[3] + (p.ho - 1) * p.result_row + (p.wo - 1) * p.result_column +
	      (uint64_t)p.cout * 4;
	if (end > memory[imc_unit(conv)].size)
		return imc_unit(conv);
	return CNNACC_IMC_MEMORIES;
}

static bool setup_possible(const struct imc *h)
{
	const uint32_t *setup = h->s->setup;
	uint32_t any = 0;

	if ((setup[0] & CNNACC_IMC_OP_MASK) == CNNACC_IMC_SETUP)
		return !(setup[0] & CNNACC_IMC_SETUP_RESERVED) &&
		       !imc_bad_setup(&h->build, setup);
	for (unsigned int i = 0; i < IMC_SETUP_WORDS; i++)
		any |= setup[i];
	return !any;
}

/* The words of a CONV that ended may not fit the SETUP that followed it. */
static bool conv_possible(const struct imc *h)
{
	const struct imc_state *s = h->s;
	const uint32_t *conv = s->conv;
	bool none = !(conv[0] | conv[1] | conv[2] | conv[3]);

	if (s->state == CNNACC_IMC_IDLE && none)
		return true;
	if ((conv[0] & CNNACC_IMC_OP_MASK) != CNNACC_IMC_CONV ||
	    (conv[0] & CNNACC_IMC_CONV_RESERVED) || !s->setup[0])
		return false;
	if (s->state == CNNACC_IMC_IDLE)
		return true;
	return !imc_bad_align(s, conv) && imc_bad_memory(h, conv) == CNNACC_IMC_MEMORIES &&
	       !(conv[0] & CNNACC_IMC_CONV_STEP) == (s->state == CNNACC_IMC_RUNNING);
}

static bool blocks_possible(const struct imc *h)
{
	const struct imc_state *s = h->s;
	struct imc_plane p;

	if (!s->computing)
		return !s->blocks;
	if (s->computing > 1 || s->state != CNNACC_IMC_RUNNING ||
	    s->seq.phase != CM_SEQ_PHASE_WORK)
		return false;
	imc_plane(h, &p);
	return s->blocks < imc_blocks(&p);
}

static bool clocks_possible(const struct imc_state *s)
{
	if (s->external > 1)
		return false;
	if (!s->clocks)
		return true;
	return s->clocks <= CNNACC_IMC_CLOCKS_MAX && s->state == CNNACC_IMC_STEPPING &&
	       s->seq.phase == CM_SEQ_PHASE_WORK;
}

static bool position_possible(const struct imc *h)
{
	const struct imc_state *s = h->s;
	struct imc_plane p;

	if (s->state != CNNACC_IMC_STEPPING)
		return true;
	imc_plane(h, &p);
	return imc_position_possible(&p, &s->at) && s->level == imc_level(&p, &s->at) &&
	       s->oldest < CNNACC_IMC_N_MAX && s->left <= imc_load(&p, 0);
}

bool imc_state_possible(const struct imc *h, const char **field, uint64_t *value)
{
	const struct imc_state *s = h->s;

	*field = "state";
	*value = s->state;
	if (s->state > CNNACC_IMC_STEPPING)
		return false;
	*field = "SETUP";
	*value = s->setup[0];
	if (!setup_possible(h))
		return false;
	*field = "CONV";
	*value = s->conv[0];
	if (!conv_possible(h))
		return false;
	*field = "block";
	*value = s->blocks;
	if (!blocks_possible(h))
		return false;
	*field = "clocks of STEP";
	*value = s->clocks;
	if (!clocks_possible(s))
		return false;
	*field = "element";
	*value = s->at.element;
	if (!position_possible(h))
		return false;
	*field = "FIFO_PEAK";
	*value = s->peak;
	return s->peak <= h->build.n_max && !s->last.none && !s->reserved;
}
