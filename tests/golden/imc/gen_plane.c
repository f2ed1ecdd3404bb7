// SPDX-License-Identifier: MIT
#include "gen.h"
#include "../min_max.h"

#define MACS_MAX	60000	/* of a plane, and those that are rare */
#define MACS_RARE	600000
#define CLOCKS_MAX	5000
#define BYTES_MAX	0xa000	/* between the first and the last byte of what a bank holds */

/* Few, around @unit or more. */
static int64_t channels(struct gen_imc *gen, int64_t unit)
{
	if (imc_chance(gen, 60))
		return imc_pick(gen, 1, 7);
	if (imc_chance(gen, 50))
		return min64(imc_pick(gen, unit, unit + 2), 200);
	return imc_pick(gen, 1, min64(3 * unit + 2, 200));
}

static uint32_t format(struct gen_imc *gen)
{
	return imc_pick(gen, 0, gen->params.fp32 ? 2 : 1);
}

/* Strides of the input: compact, with gaps, overlapping or 0. */
static void input_strides(struct gen_imc *gen, struct imc_setup *s)
{
	s->in_column = imc_chance(gen, 70) ? s->cin : imc_pick(gen, 0, 2 * s->cin + 1);
	s->in_row = imc_chance(gen, 70) ? s->w * s->in_column :
		    imc_pick(gen, 0, s->w * s->in_column + 9);
}

static void result_strides(struct gen_imc *gen, struct imc_setup *s)
{
	s->res_column = s->cout + (imc_chance(gen, 25) ? imc_pick(gen, 1, 5) : 0);
	s->res_row = (s->w - s->n) * s->res_column + s->cout +
		     (imc_chance(gen, 25) ? imc_pick(gen, 1, 9) : 0);
}

static int64_t kernel(struct gen_imc *gen)
{
	int64_t n = imc_chance(gen, 70) ? imc_pick(gen, 1, 5) : imc_pick(gen, 1, CNNACC_IMC_N_MAX);

	return min64(n, gen->params.n_max);
}

static struct imc_setup try_setup(struct gen_imc *gen)
{
	struct imc_setup s = { .n = kernel(gen) };

	s.format = format(gen);
	s.full = gen->params.full_reuse && s.n <= gen->params.csus && imc_chance(gen, 50);
	s.w = s.n + imc_pick(gen, 0, imc_chance(gen, 15) ? 20 : 8);
	s.h = s.n + imc_pick(gen, 0, imc_chance(gen, 10) ? 12 : 5);
	s.cin = channels(gen, gen->params.cin_max);
	s.cout = channels(gen, s.full ? gen->params.csus / s.n : gen->params.csus);
	input_strides(gen, &s);
	result_strides(gen, &s);
	return s;
}

/* The words as they are: imc_setup_words() makes strides of 0 compact. */
static void encode(const struct imc_setup *s, uint32_t words[6])
{
	imc_setup_words(s, words);
	words[3] = s->in_column | s->res_column << 16;
	words[4] = s->in_row;
	words[5] = s->res_row;
}

static uint64_t macs_of(const struct imc_plane *p)
{
	return (uint64_t)p->n * p->n * p->ho * p->wo * p->cin * p->cout;
}

uint64_t imc_clocks_of(const struct imc_plane *p)
{
	return p->groups * p->passes * imc_row_passes(p) * p->n * p->wo;
}

static bool fits(struct gen_imc *gen, const struct imc_plane *p)
{
	uint64_t macs = imc_chance(gen, 10) ? MACS_RARE : MACS_MAX;

	return macs_of(p) <= macs && imc_clocks_of(p) <= CLOCKS_MAX &&
	       imc_input_end(p) <= (uint64_t)min64(gen->params.input, BYTES_MAX) &&
	       imc_weight_end(p) <= (uint64_t)min64(gen->params.weight, BYTES_MAX) &&
	       imc_result_end(p) <= (uint64_t)min64(gen->params.unit, BYTES_MAX);
}

void gen_imc_setup(struct gen_imc *gen, uint32_t words[6])
{
	static const uint32_t at_zero[4];
	struct imc_setup one = { 1, .w = 1, .h = 1, .cin = 1, .cout = 1, .in_column = 1,
				 .res_column = 1, .in_row = 1, .res_row = 1 };

	for (unsigned int try = 0; try < 50; try++) {
		struct imc_setup s = try_setup(gen);
		struct imc_plane p;

		encode(&s, words);
		p = imc_decode(&gen->params, words, at_zero);
		if (fits(gen, &p))
			return;
	}
	encode(&one, words);
}

/* An address for @length bytes in a bank: the first, the last or any one. */
static uint32_t address(struct gen_imc *gen, unsigned int memory, uint64_t length, uint32_t align)
{
	uint32_t room = (gen->bytes[memory] - length) / align;

	return align * (imc_chance(gen, 25) ? 0 : imc_chance(gen, 25) ? room :
			imc_pick(gen, 0, room));
}

void gen_imc_conv(struct gen_imc *gen, uint32_t words[4])
{
	struct imc_plane p;

	words[0] = CNNACC_IMC_CONV | (prng_next(&gen->prng) & (CNNACC_IMC_CONV_INPUT1 |
		   CNNACC_IMC_CONV_WEIGHT1 | CNNACC_IMC_CONV_UNIT1));
	if (imc_chance(gen, 35))
		words[0] |= CNNACC_IMC_CONV_ACCUMULATE;
	words[1] = words[2] = words[3] = 0;
	p = imc_decode(&gen->params, gen->setup, words);
	words[1] = address(gen, p.in_bank, imc_input_end(&p), p.esz);
	words[2] = address(gen, p.wt_bank, imc_weight_end(&p), p.esz);
	words[3] = address(gen, p.res_bank, imc_result_end(&p), 4);
}
