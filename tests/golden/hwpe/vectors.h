/* SPDX-License-Identifier: MIT */
/* hwpe layers and streams with independently known results, for the default build. */
#ifndef GOLDEN_VECTORS_HWPE_H
#define GOLDEN_VECTORS_HWPE_H

#include "../job.h"

unsigned int hwpe_vector_count(void);
const char *hwpe_vector_name(unsigned int index);
/* Make the job of a vector. */
void hwpe_vector_build(unsigned int index, struct job *job);
/* After the run: are memory and statistics as expected? */
bool hwpe_vector_check(unsigned int index, struct job *job);

#endif /* GOLDEN_VECTORS_HWPE_H */
