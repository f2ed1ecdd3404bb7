/* SPDX-License-Identifier: MIT */
/* Random programs for a gcu of a given build, legal ones and ones with a known kind of damage. */
#ifndef GOLDEN_GEN_GCU_H
#define GOLDEN_GEN_GCU_H

#include "block.h"
#include "geometry.h"
#include "../job.h"
#include "../places.h"
#include "writer.h"

/** enum gen_gcu_kind - what is wrong with a program. */
enum gen_gcu_kind {
	GEN_GCU_LEGAL,
	GEN_GCU_LONG,		/* legal, layers with many op4 */
	GEN_GCU_SHORT,		/* legal, small layers and probes */
	GEN_GCU_CONFIG,		/* a block that the checks refuse */
	GEN_GCU_TABLE,		/* runs past the end of the tables */
	GEN_GCU_STUCK,		/* a row that never comes */
	GEN_GCU_RANGE,		/* a probe outside its area */
	GEN_GCU_LENGTH,		/* not a number of blocks */
	GEN_GCU_FLIP,		/* a few bits of the program flipped */
	GEN_GCU_NOISE,		/* blocks of random words */
	GEN_GCU_FAULT,		/* damage to the page tables, or a hole in RAM */
	GEN_GCU_PACKET,		/* a bad packet field */
	GEN_GCU_LIMIT,		/* legal, but the caller lowers the cycle limit */
	GEN_GCU_KINDS,
};

#define GEN_GCU_ENTRIES		4096
#define GEN_GCU_VECTOR		(CNNACC_GCU_ROWS_MAX / 8)
#define GEN_GCU_LAYERS		8

/** struct gen_gcu_tables - replacement tables that are being written. */
struct gen_gcu_tables {
	unsigned int count;
	int64_t trigger;	/* after the last entry */
	bool dense;		/* an entry for every op4 */
	uint8_t increment[GEN_GCU_ENTRIES];
	uint8_t vector[GEN_GCU_ENTRIES][GEN_GCU_VECTOR];
};

/** struct gen_gcu_spot - which region of the job an access uses. */
struct gen_gcu_spot {
	enum golden_gcu_access access;
	unsigned int region;
};

struct gen_gcu {
	struct prng prng;
	struct golden_gcu_params params;
	uint64_t job_cycles_max;
	struct job *job;
	enum gen_gcu_kind kind;
	struct places places;

	unsigned int spots;
	struct gen_gcu_spot spot[JOB_REGIONS];
	enum golden_gcu_access target;	/* FAULT */
	bool beyond;			/* put the target across the end of the address space */
	bool many_op4;			/* make layers long and narrow */

	unsigned int layers;
	struct golden_gcu_layer layer[GEN_GCU_LAYERS];
	struct gen_gcu_tables tables;
};

/* Fill @job, whose image is @image; depends on @seed alone. */
void gen_gcu_job(struct gen_gcu *gen, enum gen_gcu_kind kind, uint64_t seed,
		 const struct golden_gcu_params *params, uint64_t job_cycles_max,
		 struct job *job, struct image *image);
/*
 * The same layer again and again, under other schemes and with other areas of CBUF; returns
 * how often.  gen->layer has them all; only their ofmaps differ.
 */
unsigned int gen_gcu_schemes(struct gen_gcu *gen, uint64_t seed,
			     const struct golden_gcu_params *params, struct job *job,
			     struct image *image);

int64_t gcu_pick(struct gen_gcu *gen, int64_t low, int64_t high);
bool gcu_chance(struct gen_gcu *gen, unsigned int percent);
bool gen_gcu_legal(enum gen_gcu_kind kind);
/* A block of these numbers. */
struct cnnacc_gcu_layer gen_gcu_encode(const struct golden_gcu_layer *l);
/* Set the fields that others follow from. */
void gen_gcu_derive(struct golden_gcu_layer *l);

/* gen_layer.c: format, sizes, areas of CBUF; all but replacement and memory */
void gen_gcu_shape(struct gen_gcu *gen, struct golden_gcu_layer *l);
/* Other areas of CBUF for the same layer. */
bool gen_gcu_areas(struct gen_gcu *gen, struct golden_gcu_layer *l);

/* gen_rows.c: row slots and tables, which may fail if @stuck */
void gen_gcu_rows(struct gen_gcu *gen, struct golden_gcu_layer *l, bool stuck);

/* gen_maps.c: memory */
void gen_gcu_memory(struct gen_gcu *gen, struct golden_gcu_layer *l);
void gen_gcu_tables(struct gen_gcu *gen, struct golden_gcu_layer *l);
/* Memory for an access; filled with numbers of @size bytes. */
uint32_t gen_gcu_take(struct gen_gcu *gen, enum golden_gcu_access access, uint64_t bytes);
uint32_t gen_gcu_take_filled(struct gen_gcu *gen, enum golden_gcu_access access, uint64_t bytes,
			     unsigned int size);
/* An ofmap of its own for @l, like the one that it has. */
void gen_gcu_other_ofmap(struct gen_gcu *gen, struct golden_gcu_layer *l);

/* gen_spoil.c: damage */
void gen_gcu_spoil_config(struct gen_gcu *gen);
void gen_gcu_flip(struct gen_gcu *gen);
void gen_gcu_noise(struct gen_gcu *gen);
void gen_gcu_spoil_range(struct gen_gcu *gen, struct cnnacc_gcu_probe *probe);

#endif /* GOLDEN_GEN_GCU_H */
