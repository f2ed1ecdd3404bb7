/* SPDX-License-Identifier: MIT */
/* Timing of transfers that overlap with an EXEC, by halves of banks. */
#ifndef VECTORS_HALVES_H
#define VECTORS_HALVES_H

#include "asm.h"
#include "ccp.h"
#include "../job.h"

unsigned int halves_count(void);
const char *halves_name(unsigned int index);
/* Sizes of the core that the vector is for; NULL: those of the default build. */
const struct golden_ccp_params *halves_params(unsigned int index);
void halves_build(unsigned int index, struct job *job);
/* After the job has run: are its cycles and stalls the expected ones? */
bool halves_check(unsigned int index, struct job *job);

#endif /* VECTORS_HALVES_H */
