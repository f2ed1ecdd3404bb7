/* SPDX-License-Identifier: MIT */
/* Sums with results that were computed by hand, for the default build. */
#ifndef GOLDEN_VECTORS_SAMPLE_H
#define GOLDEN_VECTORS_SAMPLE_H

#include "../job.h"

unsigned int sample_vector_count(void);
const char *sample_vector_name(unsigned int index);
/* Make the job of a vector. */
void sample_vector_build(unsigned int index, struct job *job);
/* After the run: are memory and statistics as expected? */
bool sample_vector_check(unsigned int index, struct job *job);
void sample_print(FILE *out, const struct program *program, unsigned int base);

#endif /* GOLDEN_VECTORS_SAMPLE_H */
