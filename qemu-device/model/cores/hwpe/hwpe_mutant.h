/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Seeded mistakes of hwpe; see mutant.h. */
#ifndef HWPE_MUTANT_H
#define HWPE_MUTANT_H

#include "cnnacc_hw.h"
#include "mutant.h"

#define HWPE_MUTANTS(M) \
	M(ORDER, "windows advance along W before H") \
	M(SATURATE, "AccRegs wrap instead of saturating") \
	M(CLEAR, "ReLUWrite does not clear the AccReg") \
	M(FIRST, "the first window of a task takes as long as the others")

enum hwpe_mutant {
	CM_MUTANT_HWPE_BASE = CM_MUTANT_BASE(CNNACC_CORE_HWPE) - 1,
	HWPE_MUTANTS(CM_MUTANT_NUMBER)
};

#endif
