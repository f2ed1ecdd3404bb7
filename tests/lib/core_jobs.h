/* SPDX-License-Identifier: MIT */
/* Runs jobs of one core on the model: a device, a context and one range of its memory. */
#ifndef CORE_JOBS_H
#define CORE_JOBS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_host.h"

#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define ELEMENTS(a)	(sizeof(a) / sizeof((a)[0]))

/** struct core_jobs - core 0, and what its last job left. */
struct core_jobs {
	struct model_host *h;
	struct mh_space space;
	uint8_t *data;			/* of the range */
	struct cnnacc_stats stats;
	struct cnnacc_completion done;
	uint64_t limit;			/* of the next jobs */
	uint32_t flags;			/* CNNACC_PACKET_* beside statistics and interrupt */
};

/** struct cj_range - the range of memory that jobs read and write. */
struct cj_range {
	uint32_t va;
	size_t bytes;
};

/* @cores as in cm_config_set(), in place of those of @config. */
void cj_start(struct core_jobs *f, const char *cores, const struct cm_config *config,
	      struct cj_range range);
/* Has this host the vectors of the configuration? */
bool cj_possible(const struct cm_config *config);
/* For cmocka, whose state begins with a struct core_jobs. */
int cj_teardown(void **state);

struct cnnacc_packet cj_packet(struct core_jobs *f, const uint32_t *program, size_t words);
/* Resets the core first if it is halted. */
void cj_submit(struct core_jobs *f, const uint32_t *program, size_t words);
/* Takes the job's record and statistics; false if it has not ended. */
bool cj_done(struct core_jobs *f);
/* Submits a job and takes what it left. */
void cj_run(struct core_jobs *f, const uint32_t *program, size_t words);

/* Registers of the core's window, of 32 and of 64 bits. */
uint32_t cj_reg(struct core_jobs *f, uint32_t reg);
uint64_t cj_counter(struct core_jobs *f, uint32_t reg);

#endif
