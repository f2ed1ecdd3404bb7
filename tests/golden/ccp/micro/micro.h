/* SPDX-License-Identifier: MIT */
/*
 * A clocked model of core ccp that counts cycles by stepping: one call per clock,
 * no formula.  Written from the core's state tables alone, to check the count that
 * the device model computes.  It moves no data, only tracks when each word moves.
 */
#ifndef MICRO_H
#define MICRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stages behind an operand's issue, each one clock. */
#define MICRO_PORT_STAGES	2	/* cache read, write of the local input buffers */
#define MICRO_MUL_STAGES	1
#define MICRO_ADD_STAGES	3
#define MICRO_SUM_STAGES	1	/* accumulate register */
#define MICRO_WRITE_STAGES	1	/* result into a local output buffer or the write bank */
#define MICRO_TREE_STAGES	4	/* 9-5-3-2-1 and 16-8-4-2-1 */
#define MICRO_CONV_STAGES \
	(MICRO_MUL_STAGES + MICRO_ADD_STAGES + MICRO_SUM_STAGES + MICRO_WRITE_STAGES)
#define MICRO_POOL_STAGES	(MICRO_TREE_STAGES + MICRO_MUL_STAGES)
#define MICRO_DMA_SETUP		16
#define MICRO_CFG_CLOCKS	8

/* Alternative readings where the state tables are ambiguous. */
#define MICRO_SERIAL		0x01u	/* LOAD and STORE block the controller */
#define MICRO_ALIGNED_PORT	0x02u	/* the data cache gives aligned lines only */
#define MICRO_CLIP_EDGES	0x04u	/* what is outside the map is not walked */
#define MICRO_BIAS_ALWAYS	0x08u	/* the BIAS state is entered without a bias too */
#define MICRO_SHARED_BUS	0x10u	/* units and the DMA engine share one bus */
#define MICRO_EXEC_DECODE	0x20u	/* EXEC takes a clock before its unit starts */
#define MICRO_EARLY_SAVE	0x40u	/* SAVE need not wait for the pipeline to drain */
#define MICRO_PLANE_WORDS	0x80u	/* pad: a bus word holds floats of one plane only */
#define MICRO_FLAT_TREE		0x100u	/* fc: the adder tree takes no clock of its own */
#define MICRO_LATE_ENGINE	0x200u	/* an idle DMA engine starts a clock after the request */
#define MICRO_WHOLE_BANKS	0x400u	/* each bank is one memory: split-banks=off */
#define MICRO_READINGS		11

/* Where a clock went: the units' states, the controller's, the DMA engine's. */
enum micro_state {
	MICRO_LOAD,
	MICRO_SHIFT,
	MICRO_SWITCH,
	MICRO_BIAS,
	MICRO_ACC,
	MICRO_DRAIN,
	MICRO_SAVE,
	MICRO_POOL,
	MICRO_PAD,
	MICRO_FC,
	MICRO_BOOT,
	MICRO_SIMPLE,		/* an instruction of the controller itself */
	MICRO_BLOCKED,		/* waiting for DMA though nothing depends on it */
	MICRO_STALL,		/* waiting for DMA that a unit or the end depends on */
	MICRO_SETUP,
	MICRO_MOVE,
	MICRO_STATES,
};

#define MICRO_UNIT_STATES	(MICRO_FC + 1)

#define MICRO_STATE_NAMES { \
	"LOAD", "SHIFT", "SWITCH", "BIAS", "ACC", "drain", "SAVE", "pool", "pad", "fc", \
	"boot", "simple", "blocked", "stall", "DMA setup", "DMA move", \
}

/** struct micro_count - cycles and counters of one program. */
struct micro_count {
	uint64_t state[MICRO_STATES];
	uint64_t cycles;
	uint64_t instructions;
	uint64_t mac_useful;
	uint64_t hazards;	/* clocks an operand had to wait for a sum */
};

/** struct micro_walk - columns, then rows, then planes. */
struct micro_walk {
	unsigned int cols, rows, planes;
	unsigned int col, row, plane;
};

/* Memories of a unit; the four weight banks are one memory. */
enum micro_memory { MICRO_READ_BANK, MICRO_WRITE_BANK, MICRO_WEIGHTS };

/** struct micro_span - floats that a run of a unit may read or write. */
struct micro_span {
	enum micro_memory memory;
	int64_t first, last;
};

#define MICRO_SPANS	10	/* conv: input, output, weights and biases of four banks */

/** struct micro_unit - one run of a unit; step it until it is done. */
struct micro_unit {
	const uint32_t *group[2];
	unsigned int flags;
	struct micro_count *count;
	struct micro_span span[MICRO_SPANS];
	unsigned int spans;
	bool bus;		/* this clock used the internal bus */
	uint64_t clock;
	uint32_t pipe;		/* bit n: an operand is in stage n */
	uint64_t beat_clock[4];	/* when each beat may issue again */
	enum micro_state state;

	unsigned int kh, kw, sy, sx;
	unsigned int vec, groups, lanes_useful, co_cnt;
	unsigned int channel, channel_end, channel_num;
	unsigned int pass, row, tap, beat;
	bool shifter_full;
	unsigned int bus_row;
	int bus_col;
	bool bus_row_open;	/* bus_col is inside bus_row */
	unsigned int port[MICRO_PORT_STAGES];
	unsigned int lib_rows[16];
	struct micro_walk walk;	/* vectors to save, windows, floats to write */
	unsigned int block, blocks, outputs;
};

/* Takes the parameters; @unit's group, flags and count are set. */
void micro_conv_start(struct micro_unit *unit);
void micro_pool_start(struct micro_unit *unit);
void micro_pad_start(struct micro_unit *unit);
void micro_fc_start(struct micro_unit *unit);

/* @unit may use @length floats of @memory from float @first on. */
void micro_use(struct micro_unit *unit, enum micro_memory memory, int64_t first, int64_t length);

/* One clock; true if it was the last. */
bool micro_conv_step(struct micro_unit *unit);
bool micro_pool_step(struct micro_unit *unit);
bool micro_pad_step(struct micro_unit *unit);
bool micro_fc_step(struct micro_unit *unit);

/* One item further; false after the last. */
bool micro_walk_next(struct micro_walk *walk);
/* An operand of @beat enters a pipeline; false if its beat's sum is not ready. */
bool micro_issue(struct micro_unit *unit, unsigned int beat);
/* The pipelines move by one stage of @stages; false if they are empty. */
bool micro_advance(struct micro_unit *unit, unsigned int stages);

/* Run @program to its NOP; it must be legal. */
void micro_run(const uint32_t *program, size_t words, unsigned int flags,
	       struct micro_count *count);

#endif
