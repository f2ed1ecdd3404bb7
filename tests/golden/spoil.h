/* SPDX-License-Identifier: MIT */
/* Damage to a job's memory and packet, whatever its core. */
#ifndef GOLDEN_SPOIL_H
#define GOLDEN_SPOIL_H

#include "job.h"

/* Damage to the page tables or a hole in RAM, under a region of the job's, or any of them. */
void spoil_region(struct prng *prng, struct job *job, const struct job_region *region);
void spoil_memory(struct prng *prng, struct job *job);
/* What a job that is to fault has wrong: its memory, its root, at times neither. */
void spoil_fault(struct prng *prng, struct job *job);
/* A few bits of a program flipped. */
void spoil_program(struct prng *prng, struct program *program);
/* A bad field, or several. */
void spoil_packet(struct prng *prng, struct cnnacc_packet *packet, uint32_t program_max,
		  uint64_t job_cycles_max);

#endif /* GOLDEN_SPOIL_H */
