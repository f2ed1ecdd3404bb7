/* SPDX-License-Identifier: MIT */
/* What the random jobs of every core have in common. */
#ifndef GOLDEN_RANDOM_JOB_H
#define GOLDEN_RANDOM_JOB_H

#include "cnnacc_seq.h"
#include "job.h"
#include "places.h"

/** struct random_region - bytes of memory, [@va, +@length), that commands use. */
struct random_region {
	uint32_t va, length;
};

/** struct random_bytes - bytes of a local memory. */
struct random_bytes {
	unsigned int memory;
	int64_t first, length;
};

/* An empty job of some context; @fault: its memory will be damaged. */
void random_job_begin(struct job *job, struct image *image, struct places *places,
		      struct prng *prng, bool fault);
/* Map whole lines of at least @bytes at a place of their own. */
struct random_region random_job_region(struct job *job, struct places *places, uint64_t bytes,
				       uint32_t permissions);
/* Place program and statistics, of a @fault at times beyond 4 GiB, and finish the job. */
void random_job_finish(struct job *job, struct places *places, bool fault);
/* Flags of the packet; an address of statistics that are not asked for. */
void random_job_flags(struct job *job, struct prng *prng);

/* For the sequencer: COPY2D between bytes and a region, @out: to memory; FILL of bytes. */
struct cnnacc_seq_command random_copy(struct prng *prng, const struct random_bytes *local,
				      const struct random_region *region, bool out);
struct cnnacc_seq_command random_fill(struct prng *prng, const struct random_bytes *local);
/* COPY2D of all of @local as one row. */
struct cnnacc_seq_command copy_all(const struct random_bytes *local, uint32_t va, bool out);

#endif /* GOLDEN_RANDOM_JOB_H */
