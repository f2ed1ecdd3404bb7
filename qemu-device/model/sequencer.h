/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The sequencer that drives a small core (Documentation/hardware/sequencer.rst).
 *
 * A core behind it embeds struct cm_seq as its first member and begins its flat
 * state with struct cm_seq_state.
 */
#ifndef CM_SEQUENCER_H
#define CM_SEQUENCER_H

#include "cnnacc_seq.h"
#include "core.h"
#include "mmu.h"

#define CM_SEQ_MEMORIES	6	/* local memories of a core, at most */
#define CM_SEQ_PAIRS	3	/* pairs of a LOOP */
#define CM_SEQ_WORDS	8	/* words of a command */
#define CM_SEQ_UNUSED_RESULT	(CNNACC_SEQ_LOOP + 1)	/* index of EXEC with RESULT */
#define CM_SEQ_COMMAND_NS	20	/* estimated host time of a command */

enum cm_seq_phase {
	CM_SEQ_PHASE_IDLE,
	CM_SEQ_PHASE_BOOT,
	CM_SEQ_PHASE_FETCH,
	CM_SEQ_PHASE_WORK,		/* the command at pc is being computed */
	CM_SEQ_PHASE_EVENT,	/* suspended by the command before pc */
	CM_SEQ_PHASES
};

enum cm_seq_outcome {
	CM_SEQ_NEXT,		/* command complete */
	CM_SEQ_EVENT,		/* command complete, and it raises an event */
	CM_SEQ_END,		/* command complete, and the program ends */
	CM_SEQ_AGAIN,		/* budget used up in the middle of the command */
	CM_SEQ_WAIT,		/* too early for the command; nothing was done */
	CM_SEQ_FAILED,		/* the fault is filled in */
};

/** struct cm_seq_loop - an active loop; its pairs are those of the LOOP when it started. */
struct cm_seq_loop {
	uint32_t begin, end;	/* commands of the body */
	uint32_t iteration, iterations;
	struct {
		uint32_t target, increment;	/* target: CNNACC_SEQ_STEP() */
	} pair[CM_SEQ_PAIRS];
};

/** struct cm_seq_state - the sequencer's part of the flat state. */
struct cm_seq_state {
	uint64_t t;			/* the sequencer's time, in cycles */
	uint64_t d;			/* cycle at which the core becomes idle */
	struct cnnacc_stats n;		/* all counters except cycles */
	uint64_t cycle_limit;
	uint64_t row, byte;		/* progress of a COPY2D */
	uint32_t program_va;
	uint32_t program_len;
	uint32_t event_wait;
	uint32_t event;			/* value of the last IRQ */
	uint32_t pc;
	uint32_t phase;			/* enum cm_seq_phase */
	uint32_t depth;
	uint32_t reserved;
	struct cm_seq_loop loop[CNNACC_SEQ_LOOPS];
};

struct cm_seq_memory {
	uint8_t *bytes;
	uint32_t size;
};

struct cm_seq;

/**
 * struct cm_seq_ops - a core as its sequencer sees it.
 *
 * exec, drain and wait make the core's own checks, return CM_SEQ_WAIT if it is too early for an
 * access to memory or an event, perform the command, and charge its cycles with cm_seq_spend().  A
 * core without registers has no drain; work, written and pause may be NULL.
 */
struct cm_seq_ops {
	uint32_t insn_words;		/* instruction words of EXEC that the core uses */
	uint32_t registers;		/* number of registers for DRAIN */
	uint32_t conditions;		/* mask of conditions for WAIT */
	enum cm_seq_outcome (*exec)(struct cm_seq *seq, const struct cnnacc_seq_command *command,
				    struct cm_port *port, struct cm_core_fault *fault);
	enum cm_seq_outcome (*drain)(struct cm_seq *seq, const struct cnnacc_seq_command *command,
				     struct cm_port *port, struct cm_core_fault *fault);
	enum cm_seq_outcome (*wait)(struct cm_seq *seq, const struct cnnacc_seq_command *command,
				    struct cm_port *port, struct cm_core_fault *fault);
	/* Compute what exec or drain has started; return true when done. */
	bool (*work)(struct cm_seq *seq, int64_t *budget);
	/*
	 * Does the running core use that local memory?  A copy touches its bytes @begin to
	 * @end - 1, which may lie past its end; none if both are equal.
	 */
	bool (*uses)(const struct cm_seq *seq, uint32_t memory, uint64_t begin, uint64_t end);
	/* COPY2D or FILL is about to change that local memory. */
	void (*written)(struct cm_seq *seq, uint32_t memory);
	/* The step ends: stop all other threads. */
	void (*pause)(struct cm_seq *seq);
};

/** struct cm_seq - a sequencer; only what @s, @memory and @program point to is saved. */
struct cm_seq {
	const struct cm_seq_ops *ops;
	struct cm_seq_state *s;
	struct cm_seq_memory memory[CM_SEQ_MEMORIES];
	uint32_t memories;
	/* By operation: all ones for each word that it does not use. */
	uint32_t unused[CM_SEQ_UNUSED_RESULT + 1][CM_SEQ_WORDS];
	struct cnnacc_seq_command *program;
	uint32_t commands;		/* capacity of the program memory */
	/* The program with the increments of all active loops added; derived from the state. */
	struct cnnacc_seq_command *patched;
	bool patched_valid;
	bool filled;			/* a job has written to a local memory */
	size_t head, size;		/* bytes of the state: before the memories, in total */
};

/*
 * Allocate the zeroed state: @head bytes, which begin with struct cm_seq_state, the local memories
 * and the program memory.  Call once, after setting ops, memories, commands and the sizes of the
 * memories.  Return false without memory; the core calls cm_seq_free() in any case.
 */
bool cm_seq_create(struct cm_seq *seq, size_t head);
void cm_seq_free(struct cm_seq *seq);

/* For struct cm_core_ops of a core that adds nothing, or to be called by its own. */
void *cm_seq_state(void *core, size_t *size);
uint64_t cm_seq_scrub_cycles(const void *core);
void cm_seq_drop_derived(void *core);
void cm_seq_on_zeroed(void *core);
bool cm_seq_try_fast_zero(void *core);
enum cm_core_step cm_seq_step(void *core, struct cm_port *port, uint32_t budget_ns,
			      struct cm_core_fault *fault);
void cm_seq_stats(const void *core, struct cnnacc_stats *stats);
uint32_t cm_seq_stop(void *core);

/* Start the program; the core has reset its own state except for its memories. */
void cm_seq_start(struct cm_seq *seq, const struct cm_core_job *job);
/* Fill in the sequencer's registers, which precede the core's in the window. */
void cm_seq_publish(const struct cm_seq *seq, uint32_t id, uint32_t *window);
/* Validate a loaded state; on false, *field and *value describe what is impossible. */
bool cm_seq_check(struct cm_seq *seq, const char **field, uint64_t *value);

/* Fill in @fault; returns CM_SEQ_FAILED. */
enum cm_seq_outcome cm_seq_fail(struct cm_core_fault *fault, uint32_t status_class, uint32_t code,
				uint32_t detail);
/* Fail with E_COMMAND; @word is 0 for op, 1 + n for arg[n]. */
enum cm_seq_outcome cm_seq_bad_word(struct cm_core_fault *fault, uint32_t word);
/* Write to memory; returns CM_SEQ_NEXT, or CM_SEQ_FAILED with E_DMA. */
enum cm_seq_outcome cm_seq_store(struct cm_port *port, uint64_t va, const void *buf, size_t len,
				 struct cm_core_fault *fault);

/* Charge @cycles of the sequencer's time. */
static inline void cm_seq_spend(struct cm_seq *seq, uint64_t cycles)
{
	seq->s->t += cycles;
	seq->s->n.cycles_serial += cycles;
}

static inline uint64_t cm_seq_elapsed(const struct cm_seq *seq)
{
	return seq->s->t > seq->s->d ? seq->s->t : seq->s->d;
}

/* Number of 64-byte lines that @len > 0 bytes from @va on touch. */
static inline uint64_t cm_seq_lines(uint64_t va, uint64_t len)
{
	return (va % CNNACC_LINE_SIZE + len + CNNACC_LINE_SIZE - 1) / CNNACC_LINE_SIZE;
}

#endif
