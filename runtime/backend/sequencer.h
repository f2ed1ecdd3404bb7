/* SPDX-License-Identifier: MIT */
/*
 * Programs of the sequencer, for the cores behind it (Documentation/hardware/sequencer.rst).
 * Functions append commands and, where it says so, add what they cost when they run once. The
 * sequencer waits for its own transfers, so that these costs add up; what the core computes
 * between seqc_start() and seqc_idle() overlaps them.
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
	uint8_t *addresses;	/* by command: bit i: argument i is one */
	int64_t count;		/* 0: no program is under way */
	uint64_t time, busy;	/* cycles so far; when the core will be idle */
	struct cnnrt_cost cost;	/* of this program; the core adds what it computes */
	uint64_t total;		/* cycles of all programs that have ended */
	bool failed;		/* no memory */
};

/* Begins a new program. */
void seqc_begin(struct seqc *s);
/* Ends the program and makes it a task, unless it is dry; 0 or an error. */
int seqc_end(struct seqc *s);
/*
 * Ends the program if so many more commands and cycles would exceed its limits; 0 or an error. If
 * count is 0 then, the caller begins the next one.
 */
int seqc_reserve(struct seqc *s, int64_t commands, uint64_t cycles);
/* Ends the program that is under way, unless ret is an error, and frees all; ret or an error. */
int seqc_finish(struct seqc *s, int ret);

/* Adds cycles of the sequencer. */
void seqc_charge(struct seqc *s, uint64_t cycles);
/* The core, which is idle, computes for so many cycles beside the commands that follow. */
void seqc_start(struct seqc *s, uint64_t cycles);
/* The sequencer has waited for that. */
void seqc_idle(struct seqc *s);
/* Adds cycles in which a core that has more to compute waits for the sequencer. */
void seqc_stall(struct seqc *s, uint64_t cycles);

/* A COPY2D between memory and a local memory. */
struct seqc_copy {
	uint32_t memory;	/* the local one */
	int64_t va, local, rows, row_bytes, va_pitch, local_pitch;
	bool store;		/* to memory */
	bool weights;		/* for the cost */
};

/* Appends a COPY2D and adds its cost. */
void seqc_copy(struct seqc *s, const struct seqc_copy *c);
/* The same @count times in a loop that advances both addresses. */
void seqc_copy_loop(struct seqc *s, const struct seqc_copy *c, int64_t count, int64_t va_advance,
		    int64_t local_advance);
/* Fills the first bytes of a local memory and adds the cost. */
void seqc_fill(struct seqc *s, uint32_t memory, uint32_t value, int64_t bytes);
/* The same of rows: what a copy says of the local memory. */
void seqc_fill_rows(struct seqc *s, const struct seqc_copy *c, uint32_t value);

/* A change of layout of a value in memory. */
struct seqc_change {
	const struct cnn_layout *to, *from;
	int64_t to_va, from_va;
	uint32_t memory;	/* a local one */
	int64_t bytes;		/* of that memory */
};

/*
 * Does the value fit the local memory, and are the layouts such that a bounded number of COPY2D, in
 * programs of the limits of s, does it?
 */
bool seqc_can_change(const struct seqc *s, const struct seqc_change *c);
/*
 * Appends the change, from memory to the local memory and back, as several programs if it exceeds
 * one. The last program is left under way. 0 or an error.
 */
int seqc_change(struct seqc *s, const struct seqc_change *c);

/* An increment of a loop: added to the arguments that @words (CNNACC_SEQ_STEP) names. */
struct seqc_advance {
	uint32_t words, by;
};

/* Appends a LOOP over the next @body commands, with up to three increments. No cost is added. */
void seqc_loop(struct seqc *s, uint32_t body, int64_t times, const struct seqc_advance *advance,
	       int advances);
/* Appends an EXEC of a native instruction of one word with two operands. No cost is added. */
void seqc_exec(struct seqc *s, uint32_t insn, uint32_t a, uint32_t b);
/* The same, operand @a being the address of the result. */
void seqc_exec_to(struct seqc *s, uint32_t insn, uint32_t va, uint32_t b);
/* The same of four words; no operand is an address. */
void seqc_exec_wide(struct seqc *s, const uint32_t insn[4], uint32_t a, uint32_t b);
/* Appends a WAIT for any of these conditions. No cost is added. */
void seqc_wait(struct seqc *s, uint32_t conditions);

/* A DRAIN of @count registers from @first on. */
struct seqc_drain {
	uint32_t va, first, count, per_row, row_pitch, pitch;
	bool resume;		/* the last register resumes the core */
};

/* Appends a DRAIN. No cost is added. */
void seqc_drain(struct seqc *s, const struct seqc_drain *d);

/* What a core does with a tile in one of its buffers, each with its cost. */
struct seqc_stages {
	void (*begin)(struct seqc *s, void *opaque);	/* a program; calls seqc_begin() */
	void (*load)(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque);
	void (*run)(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque); /* seqc_start() */
	void (*store)(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque);
	uint32_t idle;		/* condition of WAIT that the core has ended */
	int64_t commands;	/* most of a tile, with its WAIT; a program holds two tiles */
	uint64_t cycles;
};

/*
 * Appends all tiles, as several programs if they exceed one. With two buffers, a tile is loaded
 * while the core computes the one before it, which is stored while the core computes this one;
 * with one buffer, nothing overlaps. The last program is left under way. 0 or an error.
 */
int seqc_tiles(struct seqc *s, const struct seqc_stages *stages, int64_t tiles, uint32_t buffers,
	       void *opaque);

/* Lines of memory that rows of bytes touch. */
uint64_t seqc_lines(uint64_t va, uint64_t rows, uint64_t bytes, uint64_t pitch);

#endif
