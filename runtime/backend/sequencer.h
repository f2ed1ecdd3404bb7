/* SPDX-License-Identifier: MIT */
/*
 * Programs of the sequencer, for the cores behind it (Documentation/hardware/sequencer.rst).
 * Functions append commands and, where it says so, add what they cost when they run once.
 */
#ifndef CNN_BACKEND_SEQUENCER_H
#define CNN_BACKEND_SEQUENCER_H

#include <cnnacc_seq.h>

#include "backend.h"

/* A program under way. The caller sets the first group and may use the rest read-only. */
struct seqc {
	struct cnn_compile *compile;
	int node;		/* whose program it is */
	int64_t commands_max;	/* of a program */
	uint64_t cycles_max;	/* of a job */
	bool dry;		/* only the cost is wanted */

	struct cnnacc_seq_command *command;
	int64_t count;
	struct cnnrt_cost cost;	/* of this program; the core adds what it computes */
	uint64_t total;		/* cycles of all programs that have ended */
	bool failed;		/* no memory */
};

/* Begins a new program. */
void seqc_begin(struct seqc *s);
/* Ends the program and makes it a task, unless it is dry; 0 or an error. */
int seqc_end(struct seqc *s);
void seqc_free(struct seqc *s);

/* Adds cycles in which the core only waits for the sequencer. */
void seqc_charge(struct seqc *s, uint64_t cycles);

/* A COPY2D from memory to a local memory. */
struct seqc_copy {
	uint32_t memory;	/* the local one */
	int64_t va, local, rows, row_bytes, va_pitch, local_pitch;
	bool weights;		/* for the cost */
};

/* Appends a COPY2D and adds its cost. */
void seqc_copy(struct seqc *s, const struct seqc_copy *c);
/* The same @count times in a loop that advances both addresses. */
void seqc_copy_loop(struct seqc *s, const struct seqc_copy *c, int64_t count, int64_t va_advance,
		    int64_t local_advance);
/* Fills the first bytes of a local memory and adds the cost. */
void seqc_fill(struct seqc *s, uint32_t memory, uint32_t value, int64_t bytes);

/* An increment of a loop: added to the arguments that @words (CNNACC_SEQ_STEP) names. */
struct seqc_advance {
	uint32_t words, by;
};

/* Appends a LOOP over the next @body commands, with up to three increments. No cost is added. */
void seqc_loop(struct seqc *s, uint32_t body, int64_t times, const struct seqc_advance *advance,
	       int advances);
/* Appends an EXEC of a native instruction with two operands. No cost is added. */
void seqc_exec(struct seqc *s, uint32_t insn, uint32_t a, uint32_t b);
/* Appends a WAIT for any of these conditions. No cost is added. */
void seqc_wait(struct seqc *s, uint32_t conditions);

/* A DRAIN of @count registers from @first on. */
struct seqc_drain {
	uint32_t va, first, count, per_row, row_pitch, pitch;
	bool resume;		/* the last register resumes the core */
};

/* Appends a DRAIN. No cost is added. */
void seqc_drain(struct seqc *s, const struct seqc_drain *d);

/* Lines of memory that rows of bytes touch. */
uint64_t seqc_lines(uint64_t va, uint64_t rows, uint64_t bytes, uint64_t pitch);

#endif
