// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The core's registers. */
#include "imc.h"

#define WORD(offset)	((offset) / 4)

_Static_assert(offsetof(struct imc_last, csu) == CNNACC_IMC_REG_CSU - CNNACC_IMC_REG_SIG &&
	       offsetof(struct imc_last, out) == CNNACC_IMC_REG_OUT - CNNACC_IMC_REG_SIG &&
	       offsetof(struct imc_last, fifo) == CNNACC_IMC_REG_FIFO(0) - CNNACC_IMC_REG_SIG,
	       "the last clock is in the order of the window");
_Static_assert(offsetof(struct imc_counters, pops) ==
	       CNNACC_IMC_REG_POPS - CNNACC_IMC_REG_ROW_READS &&
	       sizeof(struct imc_counters) ==
	       CNNACC_IMC_REG_PARTIAL_STORES + 8 - CNNACC_IMC_REG_ROW_READS,
	       "the counters are in the order of the window");

void imc_registers(const struct imc_state *s, uint32_t *window)
{
	const uint64_t clocks[2] = { s->seq.n.compute_cycles, s->seq.n.stall_cycles };

	window[WORD(CNNACC_IMC_REG_STATUS)] = s->state;
	window[WORD(CNNACC_IMC_REG_FIFO_PEAK)] = s->peak;
	memcpy(&window[WORD(CNNACC_IMC_REG_SETUP(0))], s->setup, sizeof(s->setup));
	memcpy(&window[WORD(CNNACC_IMC_REG_CONV(0))], s->conv, sizeof(s->conv));
	memcpy(&window[WORD(CNNACC_IMC_REG_SIG)], &s->last, sizeof(s->last));
	memcpy(&window[WORD(CNNACC_IMC_REG_CLOCKS)], clocks, sizeof(clocks));
	memcpy(&window[WORD(CNNACC_IMC_REG_ROW_READS)], &s->n, sizeof(s->n));
}
