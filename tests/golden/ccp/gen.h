/* SPDX-License-Identifier: MIT */
/* Random jobs for a ccp of given sizes, legal ones and ones with a known kind of damage. */
#ifndef GOLDEN_GEN_H
#define GOLDEN_GEN_H

#include "asm.h"
#include "ccp.h"
#include "../job.h"
#include "layer.h"
#include "../places.h"

/** enum gen_kind - what is wrong with a job. */
enum gen_kind {
	GEN_LEGAL,
	GEN_EXTREME,	/* legal, sizes at their limits */
	GEN_SHORT,	/* legal, few and cheap instructions */
	GEN_FIELD,	/* one unit parameter bad on purpose */
	GEN_FLIP,	/* a few bits of a unit's parameters flipped */
	GEN_DMA,	/* a LOAD or STORE out of its target, illegal or beyond 4 GiB */
	GEN_ILLEGAL,	/* an opcode or parameter group that does not exist */
	GEN_PC,		/* runs past the instruction cache */
	GEN_FAULT,	/* damage to the page tables or a hole in RAM */
	GEN_PACKET,	/* a bad packet field */
	GEN_NOISE,	/* random words as a program */
	GEN_LIMIT,	/* legal, but the caller lowers the cycle limit */
	GEN_KINDS,
};

/* Words low..high - 1 of a bank, which the layers use; its upper half starts at middle. */
struct gen_window {
	int64_t low, high, middle;
};

struct gen {
	struct prng prng;
	struct golden_ccp_params params;
	uint64_t job_cycles_max;
	struct job *job;
	enum gen_kind kind;
	bool spoilt;		/* the intended damage is in the program */
	int64_t macs;		/* left for this job */

	struct program *code;	/* being written */
	uint32_t code_base, code_limit;
	uint32_t *code_lines;	/* LDI whose immediate becomes the length of the segment */

	struct places places;
	struct gen_window data, weight;
	uint32_t data_source[2], weight_source[4], data_sink[2];	/* VA */
	bool sink_readable[2];
};

/* Fill @job, whose image is @image; depends on @seed alone. */
void gen_job(struct gen *gen, enum gen_kind kind, uint64_t seed,
	     const struct golden_ccp_params *params, uint64_t job_cycles_max, struct job *job,
	     struct image *image);

/* gen_code.c: instructions, data */
int64_t gen_pick(struct gen *gen, int64_t low, int64_t high);
bool gen_chance(struct gen *gen, unsigned int percent);
void gen_fill(struct gen *gen, uint64_t va, uint64_t lines, uint32_t permissions);
void gen_code_begin(struct gen *gen);
void gen_code_end(struct gen *gen);
void gen_room(struct gen *gen, unsigned int words);
bool gen_full(const struct gen *gen);
void gen_emit(struct gen *gen, uint32_t insn);
void gen_set(struct gen *gen, unsigned int reg, uint32_t value);
void gen_switch(struct gen *gen);
void gen_dma(struct gen *gen, bool load, uint64_t va, uint64_t lines, uint64_t local_line,
	     unsigned int target);

/* gen_layers.c: a legal layer with all its EXECs; false if nothing fitted */
bool gen_layer(struct gen *gen);
void gen_unit(struct gen *gen, unsigned int unit, uint32_t g[8]);
void gen_conv_exec(struct gen *gen, const struct conv_layer *layer, bool bases);
/* Legal instructions without effect on the layers around them. */
void gen_noise(struct gen *gen);

/* gen_spoil.c: damage */
void gen_spoil_conv(struct gen *gen, uint32_t g0[8], uint32_t g1[8]);
void gen_spoil_unit(struct gen *gen, unsigned int unit, uint32_t g[8]);

#endif /* GOLDEN_GEN_H */
