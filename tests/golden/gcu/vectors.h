/* SPDX-License-Identifier: MIT */
/* The vectors of gcu's page that are whole programs. */
#ifndef GOLDEN_GCU_VECTORS_H
#define GOLDEN_GCU_VECTORS_H

#include "gcu.h"
#include "../job.h"

/**
 * struct gcu_vector - a program with a known result.
 * @fp_floor, @bus: needs the default build, but with fp-floor on, or this bus if it is not 0
 * @build: write the program and its data
 * @check: after the run: is the memory as expected? NULL: nothing to check
 * @argument: for both
 * @want: how the job ends
 * @cycles: and when, the boot included; 0: see @check
 * @out_row, @channel_group: registers after a deadlock
 * @counters: of the window; @fills, @fill_count: first rows; NULL: not known
 */
struct gcu_vector {
	const char *name;
	bool fp_floor;
	uint32_t bus;
	void (*build)(struct job *job, unsigned int argument);
	bool (*check)(struct job *job, unsigned int argument);
	unsigned int argument;
	struct golden_status want;
	uint64_t cycles;
	uint32_t out_row, channel_group;
	const struct golden_gcu_counters *counters;
	const struct golden_gcu_fill *fills;
	unsigned int fill_count;
};

/* vectors_sums.c, vectors_stages.c, vectors_cycles.c: their vectors */
extern const struct gcu_vector gcu_sum_vectors[], gcu_stage_vectors[], gcu_cycle_vectors[];
extern const unsigned int gcu_sum_vector_count, gcu_stage_vector_count, gcu_cycle_vector_count;

#define GCU_VECTOR_IN		0x00010000u	/* ifmap; pages below 0x00080000 are mapped */
#define GCU_VECTOR_WEIGHTS	0x00020000u
#define GCU_VECTOR_OUT		0x00030000u
#define GCU_VECTOR_LINEAR	0x00040000u
#define GCU_VECTOR_PSUM		0x00050000u
#define GCU_VECTOR_TABLES	0x00060000u
#define GCU_VECTOR_LUT		0x00070000u
#define GCU_VECTOR_PROGRAM	0x7ff00000u
#define GCU_VECTOR_STATS	0xfffff000u

/* All of the above as regions, but the program's. */
void gcu_vector_regions(struct job *job);
/* A layer with stride 1 and no padding, 1 x 1 and compact blocked maps; of ATOMIC_C 8. */
struct cnnacc_gcu_layer gcu_vector_layer(uint32_t control, uint32_t w, uint32_t h, uint32_t c,
					 uint32_t k);
/* A kernel of @size x @size for it. */
void gcu_vector_kernel(struct cnnacc_gcu_layer *layer, uint32_t size);
void gcu_vector_put(struct job *job, uint32_t va, const void *bytes, size_t length);
/* Compare a word of memory and say what differs. */
bool gcu_vector_same(struct job *job, const char *what, uint32_t va, uint32_t should);

/* All vectors, for struct compare_vectors and test_vectors.c. */
unsigned int gcu_vector_count(void);
const struct gcu_vector *gcu_vector(unsigned int index);
const char *gcu_vector_name(unsigned int index);
void gcu_vector_build(unsigned int index, struct job *job);
bool gcu_vector_check(unsigned int index, struct job *job);

#endif /* GOLDEN_GCU_VECTORS_H */
