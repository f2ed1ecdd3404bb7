/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Seeded mistakes of gcu; see mutant.h. */
#ifndef GCU_MUTANT_H
#define GCU_MUTANT_H

#include "cnnacc_hw.h"
#include "mutant.h"

#define GCU_MUTANTS(M) \
	M(TRUNCATE, "FP16 products are always truncated to minus infinity") \
	M(SATURATE, "integer accumulators saturate at the end of a row only") \
	M(TIES, "halves are rounded away from zero") \
	M(GAP, "inner padding is one point too much") \
	M(TRIGGER, "the trigger is compared with the incremented OP4") \
	M(SWAP, "the second swap slot is filled before the first") \
	M(LANES, "FUNC is the maximum over lanes that are not zero") \
	M(STALL, "a stall counts twice")

enum gcu_mutant {
	CM_MUTANT_GCU_BASE = CM_MUTANT_BASE(CNNACC_CORE_GCU) - 1,
	GCU_MUTANTS(CM_MUTANT_NUMBER)
};

#endif
