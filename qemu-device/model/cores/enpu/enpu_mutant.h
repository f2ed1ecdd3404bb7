/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Seeded mistakes of enpu; see mutant.h. */
#ifndef ENPU_MUTANT_H
#define ENPU_MUTANT_H

#include "cnnacc_hw.h"
#include "mutant.h"

#define ENPU_MUTANTS(M) \
	M(HALVES, "requantisation truncates instead of rounding halves up") \
	M(LANES, "stored words keep the lanes beyond the last channel") \
	M(PADDING, "maximum pooling pads with the record's value") \
	M(SEGMENT, "the table is indexed by x + 128") \
	M(STAGE, "a stored stage that is not the last stores nothing") \
	M(PREFETCH, "loads are added to compute with prefetch, too") \
	M(BANKS, "a program claims both banks of the working DTCM") \
	M(INTERLEAVE, "a split never interleaves")

enum enpu_mutant {
	CM_MUTANT_ENPU_BASE = CM_MUTANT_BASE(CNNACC_CORE_ENPU) - 1,
	ENPU_MUTANTS(CM_MUTANT_NUMBER)
};

#endif
