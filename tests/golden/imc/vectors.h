/* SPDX-License-Identifier: MIT */
/* imc jobs with independently known results: the vectors of the page. */
#ifndef GOLDEN_VECTORS_IMC_H
#define GOLDEN_VECTORS_IMC_H

#include "script.h"

unsigned int imc_vector_count(void);
const char *imc_vector_name(unsigned int index);
/* The build that a vector needs: the default one but for CIN_MAX and the port. */
struct golden_imc_params imc_vector_params(unsigned int index);
/* Make the job of a vector. */
void imc_vector_build(unsigned int index, struct job *job);
/* After the run: are memory and statistics as expected? */
bool imc_vector_check(unsigned int index, struct job *job);
/* How the job has to end; the rest of the status is zero. */
struct golden_status imc_vector_status(unsigned int index);

#endif /* GOLDEN_VECTORS_IMC_H */
