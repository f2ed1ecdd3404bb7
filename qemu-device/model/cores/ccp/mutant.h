/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Seeded mistakes.  The golden comparison compiles the model again with
 * -DCNN_MUTANT=n and must notice each of them; 0 is the model itself.
 */
#ifndef CNN_CCP_MUTANT_H
#define CNN_CCP_MUTANT_H

#ifndef CNN_MUTANT
#define CNN_MUTANT	0
#endif

#define CNN_MUTANT_TAPS		1	/* conv adds its taps in reverse order */
#define CNN_MUTANT_BIAS		2	/* conv adds the bias to the LOB, not to the last sum */
#define CNN_MUTANT_BORDER	3	/* maximum fills borders with 0 */
#define CNN_MUTANT_CLIP		4	/* a tile over the right edge loses a column */
#define CNN_MUTANT_BANK		5	/* weight bank counted from co_start */

#define MUTANT(name)	(CNN_MUTANT == CNN_MUTANT_##name)

#endif
