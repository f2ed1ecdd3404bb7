// SPDX-License-Identifier: MIT
/* Geometry of a plane, and what it costs as a whole. */
#include "state.h"
#include "../min_max.h"

#define RESULT_BYTES	4

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static void decode_setup(const uint32_t word[6], struct imc_plane *p)
{
	p->n = word[0] >> CNNACC_IMC_SETUP_N_SHIFT & 15;
	p->format = word[0] >> CNNACC_IMC_SETUP_FORMAT_SHIFT & 3;
	p->full = word[0] & CNNACC_IMC_SETUP_FULL;
	p->w = word[1] & 0xffff;
	p->h = word[1] >> 16;
	p->cin = word[2] & 0xffff;
	p->cout = word[2] >> 16;
	p->in_column = word[3] & 0xffff;
	p->res_column = word[3] >> 16;
	p->in_row = word[4];
	p->res_row = word[5];
	p->esz = p->format == CNNACC_IMC_FP32 ? 4 : 1;
	p->wo = p->w - p->n + 1;
	p->ho = p->h - p->n + 1;
}

static void decode_conv(const uint32_t word[4], struct imc_plane *p)
{
	p->accumulate = word[0] & CNNACC_IMC_CONV_ACCUMULATE;
	p->in_bank = word[0] & CNNACC_IMC_CONV_INPUT1 ? CNNACC_IMC_INPUT1 : CNNACC_IMC_INPUT0;
	p->wt_bank = word[0] & CNNACC_IMC_CONV_WEIGHT1 ? CNNACC_IMC_WEIGHT1 : CNNACC_IMC_WEIGHT0;
	p->res_bank = word[0] & CNNACC_IMC_CONV_UNIT1 ? CNNACC_IMC_UNIT1 : CNNACC_IMC_UNIT0;
	p->in = word[1];
	p->wt = word[2];
	p->res = word[3];
}

struct imc_plane imc_decode(const struct golden_imc_params *params, const uint32_t setup[6],
			    const uint32_t conv[4])
{
	struct imc_plane p = { 0 };

	decode_setup(setup, &p);
	decode_conv(conv, &p);
	p.cin_max = params->cin_max;
	p.passes = ceil_div(p.cin, p.cin_max);
	p.group_channels = p.full ? params->csus / (p.n ? p.n : 1) : params->csus;
	p.groups = p.group_channels ? ceil_div(p.cout, p.group_channels) : 0;
	return p;
}

int64_t imc_pass_channels(const struct imc_plane *plane, int64_t pass)
{
	return min64(plane->cin_max, plane->cin - pass * plane->cin_max);
}

int64_t imc_load_clocks(const struct golden_imc *imc, const struct imc_plane *plane, int64_t pass)
{
	return ceil_div(imc_pass_channels(plane, pass) * plane->esz, imc->params.port);
}

int64_t imc_row_passes(const struct imc_plane *plane)
{
	return plane->full ? plane->h : plane->ho * plane->n;
}

uint64_t imc_input_end(const struct imc_plane *p)
{
	return p->in + ((p->h - 1) * p->in_row + (p->w - 1) * p->in_column + p->cin) * p->esz;
}

uint64_t imc_weight_end(const struct imc_plane *p)
{
	return p->wt + p->cout * p->n * p->n * p->cin * p->esz;
}

uint64_t imc_result_end(const struct imc_plane *p)
{
	return p->res + ((p->ho - 1) * p->res_row + (p->wo - 1) * p->res_column + p->cout) *
			RESULT_BYTES;
}

/* ---------------------------------------------------------------- formulas */

/* Clocks with valid = 1 of element @j of a row pass. */
static int64_t uses_of(const struct imc_plane *p, int64_t j)
{
	return min64(min64(j, p->n), min64(p->wo, p->w - j + 1));
}

/* Stalls of a row pass if those of its first element follow the last one of a row pass. */
static uint64_t row_stalls(const struct imc_plane *p, int64_t load)
{
	uint64_t stalls = 0;

	for (int64_t j = 1; j <= p->w; j++)
		stalls += load > uses_of(p, j) ? load - uses_of(p, j) : 0;
	return stalls;
}

static uint64_t all_stalls(const struct golden_imc *imc, const struct imc_plane *p)
{
	uint64_t stalls = 0;

	for (int64_t pass = 0; pass < p->passes; pass++)
		stalls += p->groups * imc_row_passes(p) *
			  row_stalls(p, imc_load_clocks(imc, p, pass));
	/* Nothing precedes the first element. */
	return stalls - (imc_load_clocks(imc, p, 0) - 1);
}

struct imc_cost imc_cost(const struct golden_imc *imc, const struct imc_plane *p)
{
	uint64_t results = p->passes * p->n * p->ho * p->wo * p->cout;
	uint64_t cells = p->ho * p->wo * p->cout, rows = imc_row_passes(p);
	struct imc_cost c = { 0 };

	c.count[IMC_ROW_READS] = p->groups * p->passes * rows;
	c.count[IMC_CLOCKS] = c.count[IMC_ROW_READS] * p->n * p->wo;
	c.count[IMC_STALLS] = all_stalls(imc, p);
	c.count[IMC_ELEMENT_READS] = c.count[IMC_ROW_READS] * p->w;
	c.count[IMC_WEIGHT_READS] = results * p->n;
	c.count[IMC_PUSHES] = c.count[IMC_POPS] = results * (p->n - 1);
	c.count[IMC_OUTPUTS] = results;
	c.count[IMC_PARTIAL_STORES] = results - cells;
	c.slots = c.count[IMC_CLOCKS] * imc->params.cin_max * imc->params.csus;
	c.useful = cells * p->n * p->n * p->cin;
	c.read = p->groups * p->w * rows * p->cin * p->esz + c.useful * p->esz +
		 (results - (p->accumulate ? 0 : cells)) * RESULT_BYTES;
	c.written = results * RESULT_BYTES;
	c.peak = min64(p->n - 1, p->wo);
	c.duration = 4 + imc_load_clocks(imc, p, 0) + c.count[IMC_CLOCKS] + c.count[IMC_STALLS];
	return c;
}
