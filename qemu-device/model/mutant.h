/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Seeded mistakes.  The golden comparison compiles the model again with
 * -DCM_MUTANT=n and must notice each of them; 0 is the model itself.
 */
#ifndef CM_MUTANT_H
#define CM_MUTANT_H

#ifndef CM_MUTANT
#define CM_MUTANT	0
#endif

#define CM_MUTANT_TAPS		1	/* conv adds its taps in reverse order */
#define CM_MUTANT_BIAS		2	/* conv adds the bias to the LOB, not to the last sum */
#define CM_MUTANT_BORDER	3	/* maximum fills borders with 0 */
#define CM_MUTANT_CLIP		4	/* a tile over the right edge loses a column */
#define CM_MUTANT_BANK		5	/* weight bank counted from co_start */
#define CM_MUTANT_INNER	6	/* LOOP takes its own words without increments */
#define CM_MUTANT_ORDER	7	/* windows of hwpe go W first */
#define CM_MUTANT_SATURATE	8	/* AccRegs wrap */
#define CM_MUTANT_CLEAR	9	/* ReLUWrite leaves the AccReg as it is */
#define CM_MUTANT_FIRST	10	/* the first window of a task takes as long as the others */

#define MUTANT(name)	(CM_MUTANT == CM_MUTANT_##name)

#endif
