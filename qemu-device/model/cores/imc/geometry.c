// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* A plane's geometry, and the order of its clocks. */
#include "imc.h"
#include "imc_mutant.h"

static uint32_t low(uint32_t word)
{
	return word & 0xffff;
}

static uint32_t high(uint32_t word)
{
	return word >> 16;
}

void imc_decode_setup(const uint32_t setup[IMC_SETUP_WORDS], struct imc_plane *p)
{
	p->n = setup[0] >> CNNACC_IMC_SETUP_N_SHIFT & 0xf;
	p->format = setup[0] >> CNNACC_IMC_SETUP_FORMAT_SHIFT & 3;
	p->full = setup[0] & CNNACC_IMC_SETUP_FULL;
	p->esz = p->format == CNNACC_IMC_FP32 ? 4 : 1;
	p->w = low(setup[1]);
	p->h = high(setup[1]);
	p->wo = p->w - p->n + 1;
	p->ho = p->h - p->n + 1;
	p->cin = low(setup[2]);
	p->cout = high(setup[2]);
	p->in_column = (uint64_t)low(setup[3]) * p->esz;
	p->result_column = (uint64_t)high(setup[3]) * 4;
	p->in_row = (uint64_t)setup[4] * p->esz;
	p->result_row = (uint64_t)setup[5] * 4;
}

uint32_t imc_input(const uint32_t *conv)
{
	return conv[0] & CNNACC_IMC_CONV_INPUT1 ? CNNACC_IMC_INPUT1 : CNNACC_IMC_INPUT0;
}

uint32_t imc_weight(const uint32_t *conv)
{
	return conv[0] & CNNACC_IMC_CONV_WEIGHT1 ? CNNACC_IMC_WEIGHT1 : CNNACC_IMC_WEIGHT0;
}

uint32_t imc_unit(const uint32_t *conv)
{
	return conv[0] & CNNACC_IMC_CONV_UNIT1 ? CNNACC_IMC_UNIT1 : CNNACC_IMC_UNIT0;
}

void imc_plane(const struct imc *h, struct imc_plane *p)
{
	const uint32_t *conv = h->s->conv;

	imc_decode_setup(h->s->setup, p);
	p->accumulate = (conv[0] & CNNACC_IMC_CONV_ACCUMULATE) || MUTANT(FIRST);
	p->in = h->seq.memory[imc_input(conv)].bytes + conv[1];
	p->weight = h->seq.memory[imc_weight(conv)].bytes + conv[2];
	p->result = h->seq.memory[imc_unit(conv)].bytes + conv[3];
	p->cin_max = h->build.cin_max;
	p->port = h->build.port;
	p->group = p->full ? h->build.csus / p->n : h->build.csus;
	p->groups = imc_ceil(p->cout, p->group);
	p->passes = imc_ceil(p->cin, p->cin_max);
	p->rows = p->full ? p->h : p->ho;
}

uint32_t imc_channels(const struct imc_plane *p, uint32_t pass)
{
	return imc_least(p->cin_max, p->cin - pass * p->cin_max);
}

uint32_t imc_load(const struct imc_plane *p, uint32_t pass)
{
	return imc_ceil(imc_channels(p, pass) * p->esz, p->port);
}

uint32_t imc_kernels(const struct imc_plane *p, uint32_t group)
{
	return imc_least(p->group, p->cout - group * p->group);
}

/* Result o = j - w + 1 is at most Wo. */
uint32_t imc_lowest_weight(const struct imc_plane *p, uint32_t j)
{
	return j > p->wo ? j - p->wo + 1 : 1;
}

/* And it is at least 1. */
uint32_t imc_highest_weight(const struct imc_plane *p, uint32_t j)
{
	return imc_least(p->n, j);
}

/* Advance to the next row pass; false at the end of the plane. */
static bool next_row_pass(const struct imc_plane *p, struct imc_position *at)
{
	if (!p->full && ++at->kernel_row < p->n)
		return true;
	at->kernel_row = 0;
	if (++at->row < p->rows)
		return true;
	at->row = 0;
	if (++at->pass < p->passes)
		return true;
	at->pass = 0;
	return ++at->group < p->groups;
}

bool imc_next(const struct imc_plane *p, struct imc_position *at)
{
	if (at->weight > imc_lowest_weight(p, at->element)) {
		at->weight--;
		return true;
	}
	if (at->element < p->w) {
		at->weight = imc_highest_weight(p, ++at->element);
		return true;
	}
	at->element = 1;
	at->weight = 1;
	return next_row_pass(p, at);
}

bool imc_position_possible(const struct imc_plane *p, const struct imc_position *at)
{
	return at->group < p->groups && at->pass < p->passes && at->row < p->rows &&
	       at->kernel_row < (p->full ? 1 : p->n) && at->element >= 1 && at->element <= p->w &&
	       at->weight >= imc_lowest_weight(p, at->element) &&
	       at->weight <= imc_highest_weight(p, at->element);
}

/* One entry for each result that has its first product but not yet its last. */
uint32_t imc_level(const struct imc_plane *p, const struct imc_position *at)
{
	uint32_t begun = imc_least(at->element - 1, p->wo), done = 0;

	if (at->element >= p->n)
		done = at->element - p->n + (at->weight < p->n);
	return begun > done ? begun - done : 0;
}
