/* SPDX-License-Identifier: MIT */
/* Golden model of the sequencer: slow, scalar, one reading of its documentation. */
#ifndef GOLDEN_SEQUENCER_H
#define GOLDEN_SEQUENCER_H

#include "cnnacc_seq.h"
#include "core.h"

#define GOLDEN_SEQ_WORDS	8	/* of a command */
#define GOLDEN_SEQ_OPS		(CNNACC_SEQ_LOOP + 1)
#define GOLDEN_SEQ_MEMORIES	6	/* maximum of any core */
#define GOLDEN_SEQ_CODES	64	/* the sequencer's and its core's status codes */

/** enum golden_seq_wait - state of a WAIT's conditions: never true, true, true later. */
enum golden_seq_wait { GOLDEN_SEQ_NEVER, GOLDEN_SEQ_HOLDS, GOLDEN_SEQ_COMES };

/** struct golden_seq_memory - a local memory. */
struct golden_seq_memory {
	uint8_t *bytes;
	uint32_t size;
};

/**
 * struct golden_seq_core - the core behind a sequencer.
 * @insn_words: instruction words of EXEC that the core uses
 * @registers: number of result registers
 * @conditions: mask of those that WAIT accepts
 * @reset: a job begins
 * @clear: zero all state, result registers included
 * @uses: does the running core claim any of those bytes of a local memory?  They may lie past its
 *	end; with @length 0 there are none, but a core without banks claims all of a memory
 * @busy: is it running?
 * @exec, @drain: run the command or golden_seq_fail(); words 0 and 7 of EXEC, its unused
 *	instruction words and all of DRAIN have been checked as far as the sequencer's page does
 * @wait: state of those conditions
 * @waited: a WAIT has seen the end of the core's work
 */
struct golden_seq_core {
	void *priv;
	unsigned int memories;
	struct golden_seq_memory memory[GOLDEN_SEQ_MEMORIES];
	unsigned int insn_words;
	uint32_t registers;
	uint32_t conditions;
	void (*reset)(void *priv);
	void (*clear)(void *priv);
	bool (*uses)(void *priv, unsigned int memory, uint64_t first, uint64_t length);
	bool (*busy)(void *priv);
	bool (*exec)(void *priv, const struct cnnacc_seq_command *command);
	bool (*drain)(void *priv, const struct cnnacc_seq_command *command);
	enum golden_seq_wait (*wait)(void *priv, uint32_t conditions);
	void (*waited)(void *priv);
};

/** struct golden_seq_regs - the sequencer's registers in its core's window. */
struct golden_seq_regs {
	uint32_t pc;
	uint32_t event;
	uint32_t loops;
	uint32_t iteration[CNNACC_SEQ_LOOPS];
};

/** struct golden_seq_coverage - number of occurrences. */
struct golden_seq_coverage {
	uint64_t op[GOLDEN_SEQ_OPS];		/* completed */
	uint64_t code[GOLDEN_SEQ_CODES];	/* of finished jobs */
	uint64_t word[GOLDEN_SEQ_OPS][GOLDEN_SEQ_WORDS];	/* E_COMMAND */
	uint64_t unknown_op;
	uint64_t loop[CNNACC_SEQ_LOOP_PAIR0 + 3];
	uint64_t conflict[GOLDEN_SEQ_MEMORIES];
	uint64_t range[GOLDEN_SEQ_MEMORIES];
	uint64_t limit[GOLDEN_SEQ_OPS];		/* op that exceeded the cycle limit */
	uint64_t limit_boot;
	uint64_t copied_in[GOLDEN_SEQ_MEMORIES];
	uint64_t copied_out[GOLDEN_SEQ_MEMORIES];
	uint64_t filled[GOLDEN_SEQ_MEMORIES];
	uint64_t nothing;			/* rows or row bytes 0 */
	uint64_t too_long[GOLDEN_SEQ_OPS];	/* COPY2D, FILL past the limit */
	uint64_t wait[GOLDEN_SEQ_COMES + 1];
	uint64_t depth[CNNACC_SEQ_LOOPS + 1];	/* loops under way at a command */
	uint64_t stepped[GOLDEN_SEQ_OPS];	/* a command with words that a loop has changed */
	uint64_t many[2];			/* pairs for one command, for more */
	uint64_t shared_end;			/* loops that end with the same command */
	uint64_t ended_in_loop;
	uint64_t ended_busy;			/* END while the core works */
};

struct golden_seq_loop {
	uint32_t first, count;	/* commands of the body */
	uint32_t iterations, done;
	uint32_t pair[6];
};

/**
 * struct golden_seq - a sequencer.
 * @t, @d: time of the sequencer, and when the core's work ends
 * @event: the command raises an event
 */
struct golden_seq {
	struct golden_seq_core core;
	uint32_t program_max;
	uint8_t *program;
	struct golden_seq_regs regs;
	struct golden_seq_loop loop[CNNACC_SEQ_LOOPS];
	uint64_t t, d;
	bool event;
	unsigned int op;	/* of the command being run */
	enum cnnacc_access refused;	/* kind of the access that failed last */
	struct golden_seq_coverage coverage;

	const struct golden_job *job;
	const struct golden_memory *memory;
	struct golden_status *status;
	struct cnnacc_stats *stats;
};

/* False if there is no memory for the program; @seq->core is the caller's to fill in. */
bool golden_seq_init(struct golden_seq *seq, uint32_t program_max);
void golden_seq_free(struct golden_seq *seq);
/* Fills @core for the shell; job_cycles_max stays the caller's. */
void golden_seq_shell(struct golden_seq *seq, struct golden_core *core);

/* ---- for the core */

/* Fail the command; returns false. */
bool golden_seq_fail(struct golden_seq *seq, uint16_t status_class, uint16_t code,
		     uint32_t detail);
/* Charge cycles to the command. */
void golden_seq_spend(struct golden_seq *seq, uint64_t cycles);
/* Lines of memory that [va, +length) touches. */
uint64_t golden_seq_lines(uint64_t va, uint64_t length);
/* Write bytes to memory; false with E_DMA if a line faults. */
bool golden_seq_store(struct golden_seq *seq, uint64_t va, const void *bytes, uint64_t length);
/* VA of the @n-th register of a DRAIN. */
uint64_t golden_seq_drain_va(const struct cnnacc_seq_command *command, uint32_t n);

#endif /* GOLDEN_SEQUENCER_H */
