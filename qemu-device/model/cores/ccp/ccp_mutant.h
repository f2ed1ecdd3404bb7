/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Seeded mistakes of ccp; see mutant.h. */
#ifndef CCP_MUTANT_H
#define CCP_MUTANT_H

#include "cnnacc_hw.h"
#include "mutant.h"

#define CCP_MUTANTS(M) \
	M(TAPS, "conv adds its taps in reverse order") \
	M(BIAS, "conv adds the bias to the LOB instead of to the last sum") \
	M(BORDER, "max pooling fills borders with 0") \
	M(CLIP, "a tile over the right edge loses a column") \
	M(BANK, "the weight bank is counted from co_start") \
	M(SPLIT, "banks are always split")

enum ccp_mutant {
	CM_MUTANT_CCP_BASE = CM_MUTANT_BASE(CNNACC_CORE_CCP) - 1,
	CCP_MUTANTS(CM_MUTANT_NUMBER)
};

#endif
