/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Seeded mistakes of sample; see mutant.h. */
#ifndef SAMPLE_MUTANT_H
#define SAMPLE_MUTANT_H

#include "cnnacc_sample.h"
#include "mutant.h"

#define SAMPLE_MUTANTS(M) \
	M(WRAP, "results wrap instead of saturating") \
	M(BOTH, "an instruction uses both banks")

enum sample_mutant {
	CM_MUTANT_SAMPLE_BASE = CM_MUTANT_BASE(CNNACC_SAMPLE_TYPE) - 1,
	SAMPLE_MUTANTS(CM_MUTANT_NUMBER)
};

#endif
