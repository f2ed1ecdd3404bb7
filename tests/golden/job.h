/* SPDX-License-Identifier: MIT */
/* A packet with its program and its memory. */
#ifndef GOLDEN_JOB_H
#define GOLDEN_JOB_H

#include "program.h"
#include "space.h"

#define JOB_REGIONS	160
#define JOB_SEGMENTS	64

struct job_region {
	uint64_t va;
	uint64_t length;
	uint32_t permissions;
};

/* Code that a program of ccp loads into the instruction cache, at word @base. */
struct job_segment {
	uint32_t va;
	uint32_t base;
	struct program code;
};

struct job {
	struct space space;
	struct program program;		/* what the boot loads */
	unsigned int segments;
	struct job_segment segment[JOB_SEGMENTS];
	void (*print_code)(FILE *out, const struct program *code, unsigned int base);
	struct cnnacc_packet packet;
	unsigned int regions;
	struct job_region region[JOB_REGIONS];	/* for reports and damage */
};

/* An empty job of ccp whose space is in @image; the packet asks for statistics. */
void job_begin(struct job *job, struct image *image, struct prng *prng);
/* Memory of @lines lines at @va. */
void job_region(struct job *job, uint64_t va, uint64_t lines, uint32_t permissions);
/* Code to its places, a mapping for the record, the packet's remaining fields. */
void job_finish(struct job *job, uint32_t program_va, uint32_t stats_va);
void job_print(FILE *out, const struct job *job);

#endif /* GOLDEN_JOB_H */
