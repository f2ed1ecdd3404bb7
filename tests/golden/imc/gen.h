/* SPDX-License-Identifier: MIT */
/* Random programs for an imc of given sizes, legal ones and ones with a known kind of damage. */
#ifndef GOLDEN_GEN_IMC_H
#define GOLDEN_GEN_IMC_H

#include "script.h"
#include "state.h"
#include "../random_job.h"

/** enum gen_imc_kind - what is wrong with a job. */
enum gen_imc_kind {
	GEN_IMC_LEGAL,
	GEN_IMC_STEP,		/* legal, planes in step mode */
	GEN_IMC_SHORT,		/* legal, few and cheap commands */
	GEN_IMC_COMMAND,	/* a word that the sequencer refuses, or flags of EXEC */
	GEN_IMC_ILLEGAL,	/* an operation, unused bits, a register */
	GEN_IMC_CFG,		/* a field of SETUP, an alignment, clocks of STEP, no SETUP */
	GEN_IMC_ADDR,		/* a plane past the end of its bank */
	GEN_IMC_BUSY,		/* an operation in the wrong state */
	GEN_IMC_DEADLOCK,	/* WAIT for a plane in step mode */
	GEN_IMC_CONFLICT,	/* rows in any bank beside a plane */
	GEN_IMC_ROWS,		/* rows past the end of a local memory */
	GEN_IMC_FLIP,		/* a few bits flipped */
	GEN_IMC_NOISE,		/* EXEC of random words */
	GEN_IMC_FAULT,		/* damage to the page tables or a hole in RAM */
	GEN_IMC_PACKET,		/* a bad packet field */
	GEN_IMC_LIMIT,		/* legal, but the caller lowers the cycle limit */
	GEN_IMC_KINDS,
};

/** enum gen_imc_source - what is copied into the banks. */
enum gen_imc_source { SOURCE_BYTES, SOURCE_FLOATS, SOURCE_SUMS, GEN_IMC_SOURCES };

/**
 * struct gen_imc - a job being made.
 * @bytes: sizes of the local memories
 * @setup: words of the SETUP that holds; @configured: there is one
 * @plane: the plane that was begun last; @busy: it may not have ended
 */
struct gen_imc {
	struct prng prng;
	struct golden_imc_params params;
	struct job *job;
	enum gen_imc_kind kind;
	bool spoilt;
	struct places places;
	struct random_region source[GEN_IMC_SOURCES], sink;
	uint32_t bytes[CNNACC_IMC_MEMORIES];
	uint32_t setup[6];
	bool configured, busy;
	struct imc_plane plane;
};

/* Fill @job, whose image is @image; depends on @seed alone. */
void gen_imc_job(struct gen_imc *gen, enum gen_imc_kind kind, uint64_t seed,
		 const struct golden_imc_params *params, uint64_t job_cycles_max,
		 struct job *job, struct image *image);

int64_t imc_pick(struct gen_imc *gen, int64_t low, int64_t high);
bool imc_chance(struct gen_imc *gen, unsigned int percent);
/* Decide at random to insert the damage of this kind now; true at most once. */
bool gen_imc_due(struct gen_imc *gen, enum gen_imc_kind kind, unsigned int percent);
void gen_imc_emit(struct gen_imc *gen, const struct cnnacc_seq_command *c);

/* gen_plane.c: words of a SETUP, and of a CONV for it, that the banks have room for */
void gen_imc_setup(struct gen_imc *gen, uint32_t words[6]);
void gen_imc_conv(struct gen_imc *gen, uint32_t words[4]);
uint64_t imc_clocks_of(const struct imc_plane *plane);

/* gen_spoil.c: damage to a command */
void gen_imc_spoil(struct gen_imc *gen, struct cnnacc_seq_command *c);

/* Print a program of the sequencer. */
void imc_print(FILE *out, const struct program *program, unsigned int base);

#endif /* GOLDEN_GEN_IMC_H */
