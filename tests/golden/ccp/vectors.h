/* SPDX-License-Identifier: MIT */
/* ccp layers whose results come from an independent calculation. */
#ifndef GOLDEN_VECTORS_CCP_H
#define GOLDEN_VECTORS_CCP_H

#include "asm.h"
#include "ccp.h"
#include "../job.h"

unsigned int vector_count(void);
const char *vector_name(unsigned int index);
/* Sizes of the core that the vector is for; NULL: those of the default build. */
const struct golden_ccp_params *vector_params(unsigned int index);
/* Make the job of a vector. */
void vector_build(unsigned int index, struct job *job);
/* After the run: is the output as expected? */
bool vector_check(unsigned int index, struct job *job);

#endif /* GOLDEN_VECTORS_CCP_H */
