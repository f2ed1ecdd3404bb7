/* SPDX-License-Identifier: MIT */
/* Random programs for an enpu of given sizes, legal ones and ones with a known kind of damage. */
#ifndef GOLDEN_GEN_ENPU_H
#define GOLDEN_GEN_ENPU_H

#include "images.h"
#include "../random_job.h"

/** enum gen_enpu_kind - what is wrong with a job. */
enum gen_enpu_kind {
	GEN_ENPU_LEGAL,
	GEN_ENPU_SHORT,		/* legal, few and cheap commands */
	GEN_ENPU_COMMAND,	/* a word that the sequencer or EXEC refuses */
	GEN_ENPU_ILLEGAL,	/* an opcode, or a chain */
	GEN_ENPU_CFG,		/* a field of an instruction or a record */
	GEN_ENPU_SHIFT,		/* a shift, in a record or a block */
	GEN_ENPU_ENDLESS,	/* no STOP before the end of the ITCM */
	GEN_ENPU_RANGE,		/* an address */
	GEN_ENPU_OVERLAP,	/* a result over a map or another result */
	GEN_ENPU_BUSY,		/* EXEC beside a program */
	GEN_ENPU_CONFLICT,	/* rows in any bank beside a program */
	GEN_ENPU_ROWS,		/* rows past the end of a local memory */
	GEN_ENPU_FLIP,		/* a few bits flipped, of commands or instructions */
	GEN_ENPU_FAULT,		/* damage to the page tables or a hole in RAM */
	GEN_ENPU_PACKET,	/* a bad packet field */
	GEN_ENPU_NOISE,		/* instructions of random words */
	GEN_ENPU_LIMIT,		/* legal, but the caller lowers the cycle limit */
	GEN_ENPU_KINDS,
};

#define GEN_ENPU_INSNS	12

/**
 * struct gen_enpu - a job being made.
 * @bytes: sizes of the local memories
 * @low, @span: words of each DTCM that the job works in
 * @start, @insn, @insns: the program, without its STOP
 * @weight: what is loaded into the weight DTCM's words from @low on
 * @blocks: first word of it that no block has taken
 */
struct gen_enpu {
	struct prng prng;
	struct golden_enpu_params params;
	struct job *job;
	enum gen_enpu_kind kind;
	bool spoilt;
	struct places places;
	struct random_region source, sink;
	uint32_t bytes[CNNACC_ENPU_MEMORIES];
	int64_t low[CNNACC_ENPU_MEMORIES], span[CNNACC_ENPU_MEMORIES];
	uint32_t start;
	struct enpu_insn insn[GEN_ENPU_INSNS];
	unsigned int insns;
	uint8_t weight[ENPU_IMAGE_BYTES];
	int64_t blocks;
};

/* Fill @job, whose image is @image; depends on @seed alone. */
void gen_enpu_job(struct gen_enpu *gen, enum gen_enpu_kind kind, uint64_t seed,
		  const struct golden_enpu_params *params, uint64_t job_cycles_max,
		  struct job *job, struct image *image);

int64_t enpu_pick(struct gen_enpu *gen, int64_t low, int64_t high);
bool enpu_chance(struct gen_enpu *gen, unsigned int percent);
/* Decide at random to insert the damage of this kind now; true at most once. */
bool gen_enpu_due(struct gen_enpu *gen, enum gen_enpu_kind kind, unsigned int percent);
void gen_enpu_emit(struct gen_enpu *gen, const struct cnnacc_seq_command *c);

/* gen_program.c: a legal program in @gen->insn, and the blocks it needs in @gen->weight */
void gen_enpu_program(struct gen_enpu *gen);

/* gen_spoil.c: damage */
void gen_enpu_spoil_command(struct gen_enpu *gen, struct cnnacc_seq_command *c);
/* Of the program, before it is encoded and after. */
void gen_enpu_spoil_program(struct gen_enpu *gen);
void gen_enpu_spoil_words(struct gen_enpu *gen, uint8_t *insns, uint8_t *records);

/* Print a program of the sequencer. */
void enpu_print(FILE *out, const struct program *program, unsigned int base);

#endif /* GOLDEN_GEN_ENPU_H */
