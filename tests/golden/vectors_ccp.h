/* SPDX-License-Identifier: MIT */
/* ccp layers with results known from outside this model. */
#ifndef GOLDEN_VECTORS_CCP_H
#define GOLDEN_VECTORS_CCP_H

#include "job.h"

unsigned int vector_count(void);
const char *vector_name(unsigned int index);
/* Make the job of a vector, for a core with default sizes. */
void vector_build(unsigned int index, struct job *job);
/* After the run: is the output what the vector says? */
bool vector_check(unsigned int index, struct job *job);

#endif /* GOLDEN_VECTORS_CCP_H */
