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

/* Code that a program loads into its instruction memory, at word @base. */
struct job_segment {
	uint32_t va;
	uint32_t base;
	struct program code;
};

struct job {
	struct space space;
	struct program program;		/* what the packet points to */
	unsigned int segments;
	struct job_segment segment[JOB_SEGMENTS];
	struct cnnacc_packet packet;
	unsigned int regions;
	struct job_region region[JOB_REGIONS];	/* for reports and damage */
};

/* An empty job whose space is in @image; the packet asks for statistics. */
void job_begin(struct job *job, struct image *image, struct prng *prng);
/* Map @lines lines at @va and remember them as a region. */
void job_region(struct job *job, uint64_t va, uint64_t lines, uint32_t permissions);
/* Write all code to memory, map the statistics record and fill in the rest of the packet. */
void job_finish(struct job *job, uint32_t program_va, uint32_t stats_va);
/* Print @code; @base: index of its first instruction or command. */
typedef void job_print_code(FILE *out, const struct program *code, unsigned int base);
void job_print(FILE *out, const struct job *job, job_print_code *print_code);

#endif /* GOLDEN_JOB_H */
