// SPDX-License-Identifier: MIT
/*
 * imc-trace N W: the clocks of a row pass with A_j = j and W_w = 10^(w - 1), a line each:
 *
 *   CLOCK PHASE ELEMENT WEIGHT SEL RD_EN WR_EN STROBE P HEAD OUT ENTRY...
 *
 * ENTRY: what the FIFO holds after the clock, oldest first; N is at most 3, as a weight is a byte.
 */
#include <stdio.h>
#include <stdlib.h>

#include "script.h"
#include "state.h"

#define COMPONENTS	1024

static bool bit(const struct golden_imc_last *last, uint32_t mask)
{
	return last->sig & mask;
}

static void print_clock(const struct golden_imc *imc)
{
	const struct golden_imc_last *last = &imc->regs.last;

	printf("%u %u %u %u %d %d %d %d %d %d %d", last->sig >> CNNACC_IMC_SIG_CLOCK_SHIFT,
	       last->sig >> CNNACC_IMC_SIG_PHASE_SHIFT & 3, last->element, last->weight,
	       bit(last, CNNACC_IMC_SIG_SEL), bit(last, CNNACC_IMC_SIG_RD_EN),
	       bit(last, CNNACC_IMC_SIG_WR_EN), bit(last, CNNACC_IMC_SIG_STROBE),
	       (int32_t)last->p, (int32_t)last->head, (int32_t)last->out);
	for (unsigned int n = 0; n < imc->csu[0].level; n++)
		printf(" %d", (int32_t)last->fifo[n]);
	printf("\n");
}

static void load(struct golden_imc *imc, const struct imc_setup *setup)
{
	static const uint32_t at_zero[4];
	uint8_t power = 1;

	for (uint32_t j = 0; j < setup->w; j++)
		imc->memory[CNNACC_IMC_INPUT0][j] = j + 1;
	for (uint32_t w = 0; w < setup->n; w++, power *= 10)
		imc->memory[CNNACC_IMC_WEIGHT0][w] = power;
	imc_setup_words(setup, imc->regs.setup);
	imc->plane = imc_decode(&imc->params, imc->regs.setup, at_zero);
}

int main(int argc, char **argv)
{
	const struct golden_imc_params params = {
		.cin_max = 1, .csus = 1, .n_max = 3, .input = COMPONENTS, .weight = COMPONENTS,
		.unit = COMPONENTS, .port = 1, .program = COMPONENTS,
	};
	struct imc_setup setup = { .n = argc > 1 ? atoi(argv[1]) : 0, .cin = 1, .cout = 1 };
	struct cnnacc_stats stats = { 0 };
	struct golden_imc *imc;

	setup.w = argc > 2 ? atoi(argv[2]) : 0;
	setup.h = setup.n;
	if (argc != 3 || !setup.n || setup.n > 3 || setup.w < setup.n || setup.w > 100) {
		fprintf(stderr, "usage: %s N W, N from 1 to 3, W from N to 100\n", argv[0]);
		return 2;
	}
	imc = golden_imc_create(&params);
	if (!imc)
		return 1;
	imc->seq.stats = &stats;
	load(imc, &setup);
	imc_begin(imc);
	for (uint32_t clocks = setup.n * (setup.w - setup.n + 1); clocks; clocks--) {
		imc_clock(imc, true);
		print_clock(imc);
	}
	golden_imc_destroy(imc);
	return 0;
}
