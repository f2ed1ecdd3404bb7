/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The sequencer of a small core: Documentation/hardware/sequencer.rst in C.
 *
 * A core behind it embeds struct seq as its first member and begins its flat
 * state with struct seq_state.
 */
#ifndef CM_SEQUENCER_H
#define CM_SEQUENCER_H

#include "core.h"
#include "mmu.h"
#include "cnnacc_seq.h"

#define SEQ_MEMORIES	4	/* local memories of a core, at most */
#define SEQ_PAIRS	3	/* of LOOP */
#define SEQ_WORDS	8	/* of a command */
#define SEQ_UNUSED_RESULT	(CNNACC_SEQ_LOOP + 1)	/* index of EXEC with RESULT */
#define SEQ_COMMAND_NS	20	/* of the host for a command, about */

enum seq_phase {
	SEQ_PHASE_IDLE,
	SEQ_PHASE_BOOT,
	SEQ_PHASE_FETCH,
	SEQ_PHASE_WORK,		/* what the command at pc has started is being computed */
	SEQ_PHASE_EVENT,	/* suspended by the command before pc */
	SEQ_PHASES
};

enum seq_outcome {
	SEQ_NEXT,		/* command complete */
	SEQ_EVENT,		/* the same, and it raises an event */
	SEQ_END,		/* the same, and the program is over */
	SEQ_AGAIN,		/* budget used up in the middle of the command */
	SEQ_WAIT,		/* for the horizon, nothing done */
	SEQ_FAILED,		/* fault filled */
};

/** struct seq_loop - a loop under way; its pairs as they were when it began. */
struct seq_loop {
	uint32_t begin, end;	/* commands of the body */
	uint32_t iteration, iterations;
	struct {
		uint32_t step, increment;
	} pair[SEQ_PAIRS];
};

/** struct seq_state - the sequencer's part of the flat state. */
struct seq_state {
	uint64_t t;			/* the sequencer's time */
	uint64_t d;			/* when the core ends what it does */
	struct cnnacc_stats n;		/* but for cycles, stall_cycles apart */
	uint64_t cycle_limit;
	uint64_t row, byte;		/* of COPY2D: done of it */
	uint32_t program_va;
	uint32_t program_len;
	uint32_t event_wait;
	uint32_t event;			/* value of the last IRQ */
	uint32_t pc;
	uint32_t phase;			/* enum seq_phase */
	uint32_t depth;
	uint32_t reserved;
	struct seq_loop loop[CNNACC_SEQ_LOOPS];
};

struct seq_memory {
	uint8_t *bytes;
	uint32_t size;
};

struct seq;

/**
 * struct seq_ops - what a core is to its sequencer.
 *
 * exec, drain and wait check what is the core's own, return SEQ_WAIT if what they are about
 * to do is still to come, do it, and account for it with seq_spend().
 */
struct seq_ops {
	uint32_t insn_words;		/* of EXEC that an instruction may have */
	uint32_t registers;		/* that DRAIN may name */
	uint32_t conditions;		/* of WAIT */
	enum seq_outcome (*exec)(struct seq *seq, const struct cnnacc_seq_command *command,
				 struct cm_port *port, struct core_fault *fault);
	enum seq_outcome (*drain)(struct seq *seq, const struct cnnacc_seq_command *command,
				  struct cm_port *port, struct core_fault *fault);
	enum seq_outcome (*wait)(struct seq *seq, const struct cnnacc_seq_command *command,
				 struct cm_port *port, struct core_fault *fault);
	/* Computes what exec or drain has started; true when that is done. */
	bool (*work)(struct seq *seq, int64_t *budget);
	/* Does what the core does just now use that local memory? */
	bool (*uses)(const struct seq *seq, uint32_t memory);
	/* COPY2D or FILL is about to change it. */
	void (*written)(struct seq *seq, uint32_t memory);
	/* The step ends: no other thread computes on. */
	void (*pause)(struct seq *seq);
};

/** struct seq - a sequencer; nothing but what @s and the memories point to is saved. */
struct seq {
	const struct seq_ops *ops;
	struct seq_state *s;
	struct seq_memory memory[SEQ_MEMORIES];
	uint32_t memories;
	uint32_t unused[SEQ_UNUSED_RESULT + 1][SEQ_WORDS];	/* all ones: no word of the operation */
	struct cnnacc_seq_command *program;
	uint32_t commands;		/* that the program memory holds */
	/* The same with the increments of the loops under way; derived from the state. */
	struct cnnacc_seq_command *live;
	bool live_valid;
	bool filled;			/* local memories may hold something */
};

/* Once, when ops is set. */
void seq_init(struct seq *seq);
/* The state has been written. */
void seq_forget(struct seq *seq);
/* The program starts; the core has reset itself, but for its memories. */
void seq_start(struct seq *seq, const struct core_job *job);
enum core_step seq_step(struct seq *seq, struct cm_port *port, uint32_t budget_ns,
			struct core_fault *fault);
void seq_stats(const struct seq *seq, struct cnnacc_stats *stats);
uint32_t seq_stop(struct seq *seq);
uint64_t seq_scrub_cycles(const struct seq *seq);
/* The registers before those of the core. */
void seq_publish(const struct seq *seq, uint32_t id, uint32_t *window);
/* Is the state one that can have been saved?  *field and *value are what is not. */
bool seq_check(struct seq *seq, const char **field, uint64_t *value);

/* Fills @fault. */
enum seq_outcome seq_fail(struct core_fault *fault, uint32_t status_class, uint32_t code,
			  uint32_t detail);
/* E_COMMAND about a word: 0 op, 1 + n arg[n]. */
enum seq_outcome seq_bad_word(struct core_fault *fault, uint32_t word);
/* Writes to memory; SEQ_FAILED with E_DMA, or SEQ_NEXT. */
enum seq_outcome seq_store(struct cm_port *port, uint64_t va, const void *buf, size_t len,
			   struct core_fault *fault);

/* The sequencer is busy that long. */
static inline void seq_spend(struct seq *seq, uint64_t cycles)
{
	seq->s->t += cycles;
	seq->s->n.cycles_serial += cycles;
}

static inline uint64_t seq_elapsed(const struct seq *seq)
{
	return seq->s->t > seq->s->d ? seq->s->t : seq->s->d;
}

/* 64-byte lines that @len bytes from @va on touch; @len is not 0. */
static inline uint64_t seq_lines(uint64_t va, uint64_t len)
{
	return (va % CNNACC_LINE_SIZE + len + CNNACC_LINE_SIZE - 1) / CNNACC_LINE_SIZE;
}

#endif
