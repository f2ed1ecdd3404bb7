/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Seeded mistakes of enpu; see mutant.h. */
#ifndef ENPU_MUTANT_H
#define ENPU_MUTANT_H

#include "cnnacc_hw.h"
#include "mutant.h"

#define ENPU_MUTANTS(M) \
	M(FLOOR, "requantisation rounds to minus infinity instead of halves up") \
	M(PAD, "maximum pooling pads with 0") \
	M(DILATION, "kernel points are next to each other whatever the dilation") \
	M(EDGE, "tiles at the edge are stored whole") \
	M(SEGMENT, "the table is indexed by x + 128")

enum enpu_mutant {
	CM_MUTANT_ENPU_BASE = CM_MUTANT_BASE(CNNACC_CORE_ENPU) - 1,
	ENPU_MUTANTS(CM_MUTANT_NUMBER)
};

#endif
