/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Seeded mistakes (mutants), each of which the tests must notice.
 *
 * They exist only in a model that is compiled with -DCM_MUTANTS: there cm_mutant_select() enables
 * one at run time.  In the product MUTANT() is a constant 0.
 *
 * A core lists its own mutants in a header in its folder, numbers them from CM_MUTANT_BASE(type),
 * and names them in its struct cm_core_ops.
 */
#ifndef CM_MUTANT_H
#define CM_MUTANT_H

#define CM_MUTANT_BASE(type)		((type) * 64)
#define CM_MUTANT_NUMBER(name, what)	CM_MUTANT_##name,
#define CM_MUTANT_NAME(name, what)	#name,

/* Value of cm_core_ops.mutants. */
#ifdef CM_MUTANTS
#define CM_MUTANT_NAMES(list)	(const char *const []){ list(CM_MUTANT_NAME) NULL }
#else
#define CM_MUTANT_NAMES(list)	NULL
#endif

#define CM_SEQUENCER_MUTANTS(M) \
	M(INNER, "LOOP plays its own words without the increments")

enum cm_sequencer_mutant {
	CM_MUTANT_NONE,
	CM_SEQUENCER_MUTANTS(CM_MUTANT_NUMBER)
};

#ifdef CM_MUTANTS
extern int cm_mutant;		/* number of the enabled mutant; CM_MUTANT_NONE: the model itself */
#define MUTANT(name)	(cm_mutant == CM_MUTANT_##name)
#else
#define MUTANT(name)	((int)CM_MUTANT_##name < 0)	/* false */
#endif

#endif
