/* SPDX-License-Identifier: MIT */
/* Random streams for an hwpe of given sizes, legal ones and ones with a known kind of damage. */
#ifndef GOLDEN_GEN_HWPE_H
#define GOLDEN_GEN_HWPE_H

#include "cnnacc_hwpe.h"
#include "hwpe.h"
#include "../random_job.h"
#include "insn.h"

/** enum gen_hwpe_kind - what is wrong with a stream. */
enum gen_hwpe_kind {
	GEN_HWPE_LEGAL,
	GEN_HWPE_LAYER,		/* legal, bases and strides of a layer by the published tables */
	GEN_HWPE_SHORT,		/* legal, few and cheap commands */
	GEN_HWPE_COMMAND,	/* a word that the sequencer or an instruction refuses */
	GEN_HWPE_ILLEGAL,	/* an instruction word that does not exist */
	GEN_HWPE_CONFIG,	/* a bad configuration, or none */
	GEN_HWPE_WINDOW,	/* a window out of its memory */
	GEN_HWPE_STATE,		/* a command that the core's state does not allow */
	GEN_HWPE_LOOP,		/* a LOOP that is refused */
	GEN_HWPE_RANGE,		/* rows past the end of a local memory */
	GEN_HWPE_PC,		/* runs past the program memory */
	GEN_HWPE_FLIP,		/* a few bits of the program flipped */
	GEN_HWPE_FAULT,		/* damage to the page tables or a hole in RAM */
	GEN_HWPE_PACKET,	/* a bad packet field */
	GEN_HWPE_NOISE,		/* commands of random words */
	GEN_HWPE_LIMIT,		/* legal, but the caller lowers the cycle limit */
	GEN_HWPE_KINDS,
};

enum gen_hwpe_sink { SINK_COPY, SINK_RESULT, SINK_RELU, SINK_DRAIN, SINKS };

/* A LOOP whose body is being written. */
struct gen_hwpe_loop {
	unsigned int command, pairs;
	int64_t iterations;
};

struct gen_hwpe {
	struct prng prng;
	struct golden_hwpe_params params;
	uint64_t job_cycles_max;
	struct job *job;
	enum gen_hwpe_kind kind;
	bool spoilt;			/* the intended damage is in the program */
	struct places places;

	struct random_region source, sink[SINKS];
	int64_t low[2], span;		/* of an fmap SRAM: what this job uses */
	int64_t kernel_span;

	enum cnnacc_hwpe_state state;
	unsigned int depth;
	struct gen_hwpe_loop loop[CNNACC_SEQ_LOOPS];
	int64_t rounds;			/* left for this job */
};

/* Fill @job, whose image is @image; depends on @seed alone. */
void gen_hwpe_job(struct gen_hwpe *gen, enum gen_hwpe_kind kind, uint64_t seed,
		  const struct golden_hwpe_params *params, uint64_t job_cycles_max,
		  struct job *job, struct image *image);

int64_t hwpe_pick(struct gen_hwpe *gen, int64_t low, int64_t high);
bool hwpe_chance(struct gen_hwpe *gen, unsigned int percent);
/* Decide at random to insert the damage of this kind now; true at most once. */
bool gen_hwpe_due(struct gen_hwpe *gen, enum gen_hwpe_kind kind, unsigned int percent);
void gen_hwpe_emit(struct gen_hwpe *gen, const struct cnnacc_seq_command *c);
/* A LOOP over what follows; false if it may not be nested deeper. */
bool gen_hwpe_open(struct gen_hwpe *gen, int64_t iterations);
void gen_hwpe_close(struct gen_hwpe *gen);

/*
 * Let the enclosing loops change @word of the next command @c: it may grow by up to @room,
 * in steps of @granule.
 */
void gen_hwpe_step(struct gen_hwpe *gen, struct cnnacc_seq_command *c, unsigned int word,
		   int64_t room, int64_t granule);

/* A small command that is legal unless RUNNING; one that is legal while RUNNING. */
void gen_hwpe_simple(struct gen_hwpe *gen);
void gen_hwpe_beside(struct gen_hwpe *gen);

/* gen_task.c: all windows of a task, from IDLE to IDLE */
void gen_hwpe_task(struct gen_hwpe *gen);
/* A command that drains, with the enable flag if @enable. */
void gen_hwpe_drain(struct gen_hwpe *gen, bool enable);
void gen_hwpe_exec(struct gen_hwpe *gen, uint32_t insn, uint32_t op0, uint32_t op1);

/* gen_spoil.c: damage */
void gen_hwpe_spoil_command(struct gen_hwpe *gen, struct cnnacc_seq_command *c);
void gen_hwpe_spoil_state(struct gen_hwpe *gen);
void gen_hwpe_spoil_config(struct gen_hwpe *gen, uint32_t cfg[2]);
void gen_hwpe_spoil_loop(struct gen_hwpe *gen);
void gen_hwpe_flip(struct gen_hwpe *gen);
void gen_hwpe_noise(struct gen_hwpe *gen);
void gen_hwpe_past_end(struct gen_hwpe *gen);

#endif /* GOLDEN_GEN_HWPE_H */
