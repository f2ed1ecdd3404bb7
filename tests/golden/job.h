/* SPDX-License-Identifier: MIT */
/* A packet with its program and its memory. */
#ifndef GOLDEN_JOB_H
#define GOLDEN_JOB_H

#include "program.h"
#include "space.h"

#define JOB_REGIONS	64

struct job_region {
	uint64_t va;
	uint64_t length;
	uint32_t permissions;
};

struct job {
	struct space space;
	struct program program;
	struct cnnacc_packet packet;
	unsigned int regions;
	struct job_region region[JOB_REGIONS];	/* for reports and damage */
};

/* An empty job whose space is in @image; the packet asks for statistics. */
void job_begin(struct job *job, uint8_t *image, struct prng *prng);
/* Memory of @lines lines at @va. */
void job_region(struct job *job, uint64_t va, uint64_t lines, uint32_t permissions);
/* The program to its place and the packet's remaining fields. */
void job_finish(struct job *job, uint32_t program_va, uint32_t stats_va);
/* As job_finish(), the first @words of the program only. */
void job_finish_short(struct job *job, uint32_t program_va, uint32_t stats_va,
		      unsigned int words);
void job_print(FILE *out, const struct job *job);

#endif /* GOLDEN_JOB_H */
