/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Seeded mistakes of imc; see mutant.h. */
#ifndef IMC_MUTANT_H
#define IMC_MUTANT_H

#include "cnnacc_hw.h"
#include "mutant.h"

#define IMC_MUTANTS(M) \
	M(WRAP, "adder 1 wraps instead of saturating") \
	M(FIRST, "the first row results of a plane are added to what is there") \
	M(LOAD, "no element is loaded while the external valid flag is 0") \
	M(REREAD, "in full reuse each row is read once per kernel row")

enum imc_mutant {
	CM_MUTANT_IMC_BASE = CM_MUTANT_BASE(CNNACC_CORE_IMC) - 1,
	IMC_MUTANTS(CM_MUTANT_NUMBER)
};

#endif
