/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * The sequencer, which issues instructions to cores that cannot fetch them: its commands, status
 * codes and registers.  Documentation/hardware/sequencer.rst specifies the behaviour.
 */
#ifndef CNNACC_SEQ_H
#define CNNACC_SEQ_H

#include "cnnacc_hw.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * struct cnnacc_seq_command - one command of the sequencer
 * (Documentation/hardware/sequencer.rst).
 * @op: 7:0 enum cnnacc_seq_op, 15:8 CNNACC_SEQ_*, 31:16 as below
 * @arg: as below; unused words are zero
 *
 * ======= ======================================================================
 * op      31:16; arg[0]..arg[6]
 * ======= ======================================================================
 * END     0
 * COPY2D  local memory; VA, local address, rows, row bytes, VA stride, local stride
 * FILL    local memory; byte value, local address, rows, row bytes, 0, local stride
 * EXEC    0; four instruction words, operand 0, operand 1, VA of the result
 * DRAIN   registers; VA, first register, registers per row (0: all), row pitch, pitch
 * WAIT    0; mask of core conditions, any of which ends the wait
 * IRQ     0; event value
 * LOOP    commands of the body, which follow; iterations, then three pairs of
 *         CNNACC_SEQ_STEP() and an increment
 * ======= ======================================================================
 */
struct cnnacc_seq_command {
	__u32 op;
	__u32 arg[7];
};

/**
 * enum cnnacc_seq_op - sequencer operations; see struct cnnacc_seq_command.
 * @CNNACC_SEQ_END: end of the program
 * @CNNACC_SEQ_COPY2D: copy rows between memory and a local memory
 * @CNNACC_SEQ_FILL: fill rows of a local memory
 * @CNNACC_SEQ_EXEC: run one native instruction
 * @CNNACC_SEQ_DRAIN: write result registers to memory
 * @CNNACC_SEQ_WAIT: wait for the core
 * @CNNACC_SEQ_IRQ: raise an event
 * @CNNACC_SEQ_LOOP: repeat the commands that follow
 */
enum cnnacc_seq_op {
	CNNACC_SEQ_END = 0,
	CNNACC_SEQ_COPY2D = 1,
	CNNACC_SEQ_FILL = 2,
	CNNACC_SEQ_EXEC = 3,
	CNNACC_SEQ_DRAIN = 4,
	CNNACC_SEQ_WAIT = 5,
	CNNACC_SEQ_IRQ = 6,
	CNNACC_SEQ_LOOP = 7,
};

#define CNNACC_SEQ_TO_MEMORY		0x100u	/* COPY2D: local -> VA instead of VA -> local */
#define CNNACC_SEQ_RESULT		0x200u	/* EXEC: store the 32-bit result */
#define CNNACC_SEQ_EVENTS		0x400u	/* EXEC: the task that it starts raises events */
#define CNNACC_SEQ_RESUME		0x800u	/* DRAIN: the last register resumes the core */
#define CNNACC_SEQ_OP_MASK		0x000000ffu
#define CNNACC_SEQ_PARAM_SHIFT		16

/*
 * A pair of LOOP adds its increment, once for each completed iteration, to arg[@word] of
 * @more + 1 commands of the body, starting with the body's command @first.
 */
#define CNNACC_SEQ_STEP(first, more, word) \
	((__u32)(first) | ((__u32)(more) << 12) | ((__u32)(word) << 24))
#define CNNACC_SEQ_LOOPS		4	/* maximum nesting depth */

/**
 * enum cnnacc_seq_code - status codes of the sequencer; codes of a core behind it
 * start at CNNACC_SEQ_CODE_CORE.
 * @CNNACC_SEQ_E_COMMAND: class BAD_PROGRAM; detail is the bad word, 0 op, 1 + n arg[n]
 * @CNNACC_SEQ_E_PC: class BAD_PROGRAM: past the program memory
 * @CNNACC_SEQ_E_LOOP: class BAD_PROGRAM; detail is enum cnnacc_seq_loop
 * @CNNACC_SEQ_E_CONFLICT: class BAD_PROGRAM: the running core uses that memory; detail is
 *	the local memory
 * @CNNACC_SEQ_E_RANGE: class BAD_PROGRAM: past the end of a local memory; detail is
 *	the local memory
 * @CNNACC_SEQ_E_DMA: class MMU_FAULT or BUS_ERROR; detail is enum cnnacc_fault_level
 * @CNNACC_SEQ_E_DEADLOCK: class DEADLOCK: WAIT for a condition that cannot become true
 * @CNNACC_SEQ_CODE_CORE: first code of the core's own
 */
enum cnnacc_seq_code {
	CNNACC_SEQ_E_COMMAND = 16,
	CNNACC_SEQ_E_PC = 17,
	CNNACC_SEQ_E_LOOP = 18,
	CNNACC_SEQ_E_CONFLICT = 19,
	CNNACC_SEQ_E_RANGE = 20,
	CNNACC_SEQ_E_DMA = 21,
	CNNACC_SEQ_E_DEADLOCK = 22,
	CNNACC_SEQ_CODE_CORE = 32,
};

/**
 * enum cnnacc_seq_loop - detail of E_LOOP, in the order of the checks.
 * @CNNACC_SEQ_LOOP_BODY: no command, or past the program memory or the enclosing body
 * @CNNACC_SEQ_LOOP_DEPTH: nested too deep
 * @CNNACC_SEQ_LOOP_ITERATIONS: zero
 * @CNNACC_SEQ_LOOP_PAIR0: reserved bits, arg[7], or a command that is not in the body; then
 *	the other two pairs
 */
enum cnnacc_seq_loop {
	CNNACC_SEQ_LOOP_BODY = 1,
	CNNACC_SEQ_LOOP_DEPTH = 2,
	CNNACC_SEQ_LOOP_ITERATIONS = 3,
	CNNACC_SEQ_LOOP_PAIR0 = 4,
};

/* Registers of the sequencer at the start of its core's window, all read only. */
#define CNNACC_SEQ_REG_ID		0x000	/* of the core: CNNACC_NAME_ID */
#define CNNACC_SEQ_REG_PC		0x004	/* command index */
#define CNNACC_SEQ_REG_STATE		0x008	/* enum cnnacc_seq_state */
#define CNNACC_SEQ_REG_EVENT		0x00c	/* value of the last IRQ */
#define CNNACC_SEQ_REG_LOOPS		0x010	/* number of active loops */
#define CNNACC_SEQ_REG_ITERATION(n)	(0x020 + 4 * (n))	/* of loop n; 0: outermost */
#define CNNACC_SEQ_REGS_SIZE		0x040	/* registers of the core follow */

/**
 * enum cnnacc_seq_state - state of the sequencer.
 * @CNNACC_SEQ_IDLE: no program
 * @CNNACC_SEQ_BOOT: loading the program memory
 * @CNNACC_SEQ_RUN: running commands
 * @CNNACC_SEQ_EVENT: suspended by an event until EVENT_ACK
 */
enum cnnacc_seq_state {
	CNNACC_SEQ_IDLE = 0,
	CNNACC_SEQ_BOOT = 1,
	CNNACC_SEQ_RUN = 2,
	CNNACC_SEQ_EVENT = 3,
};

enum cnnacc_seq_layout {
	CNNACC_LAYOUT_SEQ_COMMAND = CNNACC_LAYOUT(sizeof(struct cnnacc_seq_command) == 32),
};

/*
 * Description common to all cores behind the sequencer: initialisers of the structures in
 * cnnacc_hw.h.  Each core describes the register ID itself.
 */
#define CNNACC_SEQ_CODES { \
	{ "E_COMMAND", CNNACC_SEQ_E_COMMAND, CNNACC_STATUS_BAD_PROGRAM, "word" }, \
	{ "E_PC", CNNACC_SEQ_E_PC, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_LOOP", CNNACC_SEQ_E_LOOP, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_CONFLICT", CNNACC_SEQ_E_CONFLICT, CNNACC_STATUS_BAD_PROGRAM, "local memory" }, \
	{ "E_RANGE", CNNACC_SEQ_E_RANGE, CNNACC_STATUS_BAD_PROGRAM, "local memory" }, \
	{ "E_DMA", CNNACC_SEQ_E_DMA, CNNACC_STATUS_MMU_FAULT, 0 }, \
	{ "E_DEADLOCK", CNNACC_SEQ_E_DEADLOCK, CNNACC_STATUS_DEADLOCK, 0 }, \
}

#define CNNACC_SEQ_DETAILS { \
	{ "body", CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_BODY }, \
	{ "nested too deep", CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_DEPTH }, \
	{ "no iterations", CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_ITERATIONS }, \
	{ "first pair", CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_PAIR0 }, \
	{ "second pair", CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_PAIR0 + 1 }, \
	{ "third pair", CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_PAIR0 + 2 }, \
}

#define CNNACC_SEQ_REGS { \
	{ "PC", CNNACC_SEQ_REG_PC, 1, 0 }, \
	{ "STATE", CNNACC_SEQ_REG_STATE, 1, 0 }, \
	{ "EVENT", CNNACC_SEQ_REG_EVENT, 1, 0 }, \
	{ "LOOPS", CNNACC_SEQ_REG_LOOPS, 1, 0 }, \
	{ "ITERATION", CNNACC_SEQ_REG_ITERATION(0), CNNACC_SEQ_LOOPS, 0 }, \
}

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_SEQ_H */
