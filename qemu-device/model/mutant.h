/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Seeded mistakes.  The golden comparison compiles the model again with
 * -DCNN_MUTANT=n and must notice each of them; 0 is the model itself.
 */
#ifndef CNN_MUTANT_H
#define CNN_MUTANT_H

#ifndef CNN_MUTANT
#define CNN_MUTANT	0
#endif

#define CNN_MUTANT_TAPS		1	/* conv adds its taps in reverse order */
#define CNN_MUTANT_BIAS		2	/* conv adds the bias to the LOB, not to the last sum */
#define CNN_MUTANT_BORDER	3	/* maximum fills borders with 0 */
#define CNN_MUTANT_CLIP		4	/* a tile over the right edge loses a column */
#define CNN_MUTANT_BANK		5	/* weight bank counted from co_start */
#define CNN_MUTANT_INNER	6	/* LOOP takes its own words without increments */
#define CNN_MUTANT_ORDER	7	/* windows of hwpe go W first */
#define CNN_MUTANT_SATURATE	8	/* AccRegs wrap */
#define CNN_MUTANT_CLEAR	9	/* ReLUWrite leaves the AccReg as it is */
#define CNN_MUTANT_FIRST	10	/* the first window of a task takes as long as the others */

#define MUTANT(name)	(CNN_MUTANT == CNN_MUTANT_##name)

#endif
