/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Core imc, the row-FIFO convolver of an in-memory CNN scheduler
 * (Documentation/hardware/imc.rst), programmed through the sequencer.
 */
#ifndef CNNACC_IMC_H
#define CNNACC_IMC_H

#include "cnnacc_seq.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Index into cnnacc_core_entry.param. */
#define CNNACC_IMC_PARAM_ARRAY		0	/* 7:0 CIN_MAX, 15:8 CSUs, 19:16 n max, flags */
#define CNNACC_IMC_PARAM_INPUT		1	/* bytes of an input bank (two) */
#define CNNACC_IMC_PARAM_WEIGHT		2	/* bytes of a weight bank (two) */
#define CNNACC_IMC_PARAM_UNIT		3	/* bytes of a bank of the memory unit (two) */
#define CNNACC_IMC_PARAM_PORT		4	/* bytes per clock of the element port */
#define CNNACC_IMC_PARAM_LIMITS		5	/* 15:0 largest cin, 31:16 largest cout */
#define CNNACC_IMC_ARRAY_FULL		0x01000000u	/* full reuse is present */
#define CNNACC_IMC_ARRAY_FP32		0x02000000u	/* the format FP32 is present */

#define CNNACC_IMC_CHANNELS_MAX		4096	/* cin and cout of a plane */
#define CNNACC_IMC_CLOCKS_MAX		4096	/* of one STEP */

/* Limits of a build: CIN_MAX, CSUs and n max are at least 1; a bank is a multiple of 64 bytes. */
#define CNNACC_IMC_CIN_MAX_MAX		64
#define CNNACC_IMC_CSUS_MAX		128
#define CNNACC_IMC_N_MAX		11
#define CNNACC_IMC_BANK_MIN		1024
#define CNNACC_IMC_BANK_MAX		0x400000
#define CNNACC_IMC_PORT_MAX		256	/* a power of two, at least 1 */

/* Default build, with full reuse and FP32; the discovery table has the actual one. */
#define CNNACC_IMC_CIN_MAX_DEFAULT	64
#define CNNACC_IMC_CSUS_DEFAULT		64
#define CNNACC_IMC_N_DEFAULT		11
#define CNNACC_IMC_INPUT_DEFAULT	0x40000
#define CNNACC_IMC_WEIGHT_DEFAULT	0x40000
#define CNNACC_IMC_UNIT_DEFAULT		0x80000
#define CNNACC_IMC_PORT_DEFAULT		64
#define CNNACC_IMC_PROGRAM_DEFAULT	0x10000

/**
 * enum cnnacc_imc_memory - local memories of the sequencer's commands.
 * @CNNACC_IMC_INPUT0: input bank 0
 * @CNNACC_IMC_INPUT1: input bank 1
 * @CNNACC_IMC_WEIGHT0: weight bank 0
 * @CNNACC_IMC_WEIGHT1: weight bank 1
 * @CNNACC_IMC_UNIT0: bank 0 of the memory unit, results
 * @CNNACC_IMC_UNIT1: bank 1 of the memory unit
 * @CNNACC_IMC_MEMORIES: their number
 */
enum cnnacc_imc_memory {
	CNNACC_IMC_INPUT0 = 0,
	CNNACC_IMC_INPUT1 = 1,
	CNNACC_IMC_WEIGHT0 = 2,
	CNNACC_IMC_WEIGHT1 = 3,
	CNNACC_IMC_UNIT0 = 4,
	CNNACC_IMC_UNIT1 = 5,
	CNNACC_IMC_MEMORIES = 6,
};

/* Conditions of WAIT. */
#define CNNACC_IMC_WAIT_IDLE		0x1u	/* no plane */

/**
 * enum cnnacc_imc_op - operation of an EXEC, bits 3:0 of its instruction word 0.
 * @CNNACC_IMC_SETUP: set geometry and formats of the planes that follow
 * @CNNACC_IMC_CONV: convolve a plane
 * @CNNACC_IMC_STEP: run clocks of a plane in step mode
 * @CNNACC_IMC_READ: result = a register of the core's window
 *
 * ===== ============================= =============== =============== ==============
 * word  SETUP                         CONV            STEP            READ
 * ===== ============================= =============== =============== ==============
 * insn0 SETUP_*, n, format            CONV_*          STEP_*          op
 * insn1 15:0 W, 31:16 H               input address   clocks          window offset
 * insn2 15:0 cin, 31:16 cout          weight address  0               0
 * insn3 15:0 input column stride,     result address  0               0
 *       31:16 result column stride
 * op. 0 input row stride              0               0               0
 * op. 1 result row stride             0               0               0
 * ===== ============================= =============== =============== ==============
 *
 * Addresses count bytes in their bank; input strides count components, result strides results.
 */
enum cnnacc_imc_op {
	CNNACC_IMC_SETUP = 1,
	CNNACC_IMC_CONV = 2,
	CNNACC_IMC_STEP = 3,
	CNNACC_IMC_READ = 4,
};

#define CNNACC_IMC_OP_MASK		0x0000000fu
#define CNNACC_IMC_SETUP_N_SHIFT	4		/* 4 bits: rows and columns of the kernel */
#define CNNACC_IMC_SETUP_FORMAT_SHIFT	8		/* 2 bits: enum cnnacc_imc_format */
#define CNNACC_IMC_SETUP_FULL		0x00001000u	/* full reuse; else partial */
#define CNNACC_IMC_SETUP_RESERVED	0xffffec00u
#define CNNACC_IMC_CONV_ACCUMULATE	0x00000100u	/* add to the results that are there */
#define CNNACC_IMC_CONV_STEP		0x00000200u	/* start the plane in step mode */
#define CNNACC_IMC_CONV_INPUT1		0x00001000u	/* input bank 1; else 0 */
#define CNNACC_IMC_CONV_WEIGHT1		0x00002000u	/* weight bank 1 */
#define CNNACC_IMC_CONV_UNIT1		0x00004000u	/* bank 1 of the memory unit */
#define CNNACC_IMC_CONV_RESERVED	0xffff8cf0u
#define CNNACC_IMC_STEP_VALID		0x00000100u	/* the external valid flag */
#define CNNACC_IMC_STEP_RESERVED	0xfffffef0u
#define CNNACC_IMC_READ_RESERVED	0xfffffff0u

/**
 * enum cnnacc_imc_format - types of components of elements and weights, and of results.
 * @CNNACC_IMC_INT8: signed bytes; results INT32, every addition saturates
 * @CNNACC_IMC_UINT8: the same with elements 0..255; weights are signed
 * @CNNACC_IMC_FP32: FP32 throughout, every operation rounded on its own
 */
enum cnnacc_imc_format {
	CNNACC_IMC_INT8 = 0,
	CNNACC_IMC_UINT8 = 1,
	CNNACC_IMC_FP32 = 2,
};

/**
 * enum cnnacc_imc_code - status codes of imc.
 * @CNNACC_IMC_E_ILLEGAL: class BAD_PROGRAM; detail is enum cnnacc_imc_illegal
 * @CNNACC_IMC_E_BUSY: class BAD_PROGRAM: not allowed in the core's state; detail is
 *	enum cnnacc_imc_state
 * @CNNACC_IMC_E_CFG: class CONFIG; detail is enum cnnacc_imc_cfg
 * @CNNACC_IMC_E_ADDR: class BAD_PROGRAM: a plane outside its bank; detail is the local memory
 */
enum cnnacc_imc_code {
	CNNACC_IMC_E_ILLEGAL = 32,
	CNNACC_IMC_E_BUSY = 33,
	CNNACC_IMC_E_CFG = 34,
	CNNACC_IMC_E_ADDR = 35,
};

/**
 * enum cnnacc_imc_illegal - detail of E_ILLEGAL, in the order of the checks.
 * @CNNACC_IMC_BAD_OP: not in enum cnnacc_imc_op
 * @CNNACC_IMC_BAD_BITS: a bit or word that the operation does not use is not zero
 * @CNNACC_IMC_BAD_REGISTER: READ of an offset that is not a multiple of 4 from 0x40 to 0x1fc
 */
enum cnnacc_imc_illegal {
	CNNACC_IMC_BAD_OP = 1,
	CNNACC_IMC_BAD_BITS = 2,
	CNNACC_IMC_BAD_REGISTER = 3,
};

/**
 * enum cnnacc_imc_cfg - detail of E_CFG, in the order of the checks.
 * @CNNACC_IMC_BAD_FORMAT: SETUP: format 3, or FP32 in a build without it
 * @CNNACC_IMC_BAD_KERNEL: SETUP: n zero or above the build's maximum
 * @CNNACC_IMC_BAD_MODE: SETUP: full reuse in a build without it, or n above the number of CSUs
 * @CNNACC_IMC_BAD_WIDTH: SETUP: W below n
 * @CNNACC_IMC_BAD_HEIGHT: SETUP: H below n
 * @CNNACC_IMC_BAD_CIN: SETUP: cin zero or above 4096
 * @CNNACC_IMC_BAD_COUT: SETUP: cout zero or above 4096
 * @CNNACC_IMC_BAD_RESULT_COLUMN: SETUP: result column stride below cout
 * @CNNACC_IMC_BAD_RESULT_ROW: SETUP: result row stride shorter than a row of results
 * @CNNACC_IMC_BAD_SETUP: CONV: no SETUP in this job
 * @CNNACC_IMC_BAD_ALIGN: CONV: an address is no multiple of what lies there
 * @CNNACC_IMC_BAD_CLOCKS: STEP: clocks zero or above 4096
 */
enum cnnacc_imc_cfg {
	CNNACC_IMC_BAD_FORMAT = 1,
	CNNACC_IMC_BAD_KERNEL = 2,
	CNNACC_IMC_BAD_MODE = 3,
	CNNACC_IMC_BAD_WIDTH = 4,
	CNNACC_IMC_BAD_HEIGHT = 5,
	CNNACC_IMC_BAD_CIN = 6,
	CNNACC_IMC_BAD_COUT = 7,
	CNNACC_IMC_BAD_RESULT_COLUMN = 8,
	CNNACC_IMC_BAD_RESULT_ROW = 9,
	CNNACC_IMC_BAD_SETUP = 10,
	CNNACC_IMC_BAD_ALIGN = 11,
	CNNACC_IMC_BAD_CLOCKS = 12,
};

/**
 * enum cnnacc_imc_state - state of the core.
 * @CNNACC_IMC_IDLE: no plane
 * @CNNACC_IMC_RUNNING: a plane is running; no WAIT has observed its end
 * @CNNACC_IMC_STEPPING: a plane in step mode has clocks left
 */
enum cnnacc_imc_state {
	CNNACC_IMC_IDLE = 0,
	CNNACC_IMC_RUNNING = 1,
	CNNACC_IMC_STEPPING = 2,
};

/**
 * enum cnnacc_imc_phase - phase of a row pass (claim 7).
 * @CNNACC_IMC_PHASE_NONE: no clock was run
 * @CNNACC_IMC_PHASE_START: an element before the n-th
 * @CNNACC_IMC_PHASE_LOOP: a later one
 * @CNNACC_IMC_PHASE_END: the last clock
 */
enum cnnacc_imc_phase {
	CNNACC_IMC_PHASE_NONE = 0,
	CNNACC_IMC_PHASE_START = 1,
	CNNACC_IMC_PHASE_LOOP = 2,
	CNNACC_IMC_PHASE_END = 3,
};

/* Core window behind the sequencer's registers, all read only. */
#define CNNACC_IMC_REG_STATUS		0x040	/* enum cnnacc_imc_state */
#define CNNACC_IMC_REG_FIFO_PEAK	0x044	/* most entries a FIFO held in the job */
#define CNNACC_IMC_REG_SETUP(n)		(0x048 + 4 * (n))	/* the six words of SETUP */
#define CNNACC_IMC_REG_CONV(n)		(0x060 + 4 * (n))	/* the four words of CONV */
/* The last clock of a plane in step mode. */
#define CNNACC_IMC_REG_SIG		0x080	/* CNNACC_IMC_SIG_* */
#define CNNACC_IMC_REG_GROUP		0x084	/* group of output channels */
#define CNNACC_IMC_REG_PASS		0x088	/* pass of CIN_MAX channels */
#define CNNACC_IMC_REG_ROW		0x08c	/* input row, from 0 */
#define CNNACC_IMC_REG_CSU		0x090	/* lowest active CSU; what follows is its own */
#define CNNACC_IMC_REG_KERNEL_ROW	0x094	/* from 0 */
#define CNNACC_IMC_REG_ELEMENT		0x098	/* j, from 1 */
#define CNNACC_IMC_REG_WEIGHT		0x09c	/* w, from 1 */
#define CNNACC_IMC_REG_P		0x0a0	/* output of the ALU */
#define CNNACC_IMC_REG_HEAD		0x0a4	/* entry popped, 0 without rd_en */
#define CNNACC_IMC_REG_OUT		0x0a8	/* last row result */
#define CNNACC_IMC_REG_FIFO(n)		(0x0b0 + 4 * (n))	/* entries, oldest first */
/* Counters of the job, lo and hi. */
#define CNNACC_IMC_REG_CLOCKS		0x100	/* clocks with valid = 1 */
#define CNNACC_IMC_REG_STALLS		0x108	/* clocks with valid = 0 */
#define CNNACC_IMC_REG_ROW_READS	0x110	/* row passes */
#define CNNACC_IMC_REG_ELEMENT_READS	0x118
#define CNNACC_IMC_REG_WEIGHT_READS	0x120
#define CNNACC_IMC_REG_PUSHES		0x128
#define CNNACC_IMC_REG_POPS		0x130
#define CNNACC_IMC_REG_OUTPUTS		0x138	/* row results */
#define CNNACC_IMC_REG_PARTIAL_STORES	0x140	/* of which the result is not complete yet */
#define CNNACC_IMC_REG_END		0x200	/* READ accepts offsets below */
#define CNNACC_IMC_WINDOW_SIZE		0x1000

/* SIG; 15:8 entries of the FIFO after the clock, 31:16 number of the clock, from 1, modulo 65536 */
#define CNNACC_IMC_SIG_VALID		0x1u
#define CNNACC_IMC_SIG_SEL		0x2u
#define CNNACC_IMC_SIG_RD_EN		0x4u
#define CNNACC_IMC_SIG_WR_EN		0x8u
#define CNNACC_IMC_SIG_STROBE		0x10u	/* a row result leaves the CSU */
#define CNNACC_IMC_SIG_PHASE_SHIFT	6	/* 2 bits: enum cnnacc_imc_phase */
#define CNNACC_IMC_SIG_LEVEL_SHIFT	8
#define CNNACC_IMC_SIG_CLOCK_SHIFT	16

#define CNNACC_IMC_ID			0x20434d49	/* "IMC " */

/* Description of the core: initialisers of the structures in cnnacc_hw.h. */
#define CNNACC_IMC_PARAMS { \
	{ "cin-max", CNNACC_IMC_PARAM_ARRAY, 0, 8, CNNACC_PARAM_F_BUILD }, \
	{ "csus", CNNACC_IMC_PARAM_ARRAY, 8, 8, CNNACC_PARAM_F_BUILD }, \
	{ "n-max", CNNACC_IMC_PARAM_ARRAY, 16, 4, CNNACC_PARAM_F_BUILD }, \
	{ "full-reuse", CNNACC_IMC_PARAM_ARRAY, 24, 1, CNNACC_PARAM_F_SWITCH }, \
	{ "fp32", CNNACC_IMC_PARAM_ARRAY, 25, 1, CNNACC_PARAM_F_SWITCH }, \
	{ "input", CNNACC_IMC_PARAM_INPUT, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "weight", CNNACC_IMC_PARAM_WEIGHT, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "unit", CNNACC_IMC_PARAM_UNIT, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "port", CNNACC_IMC_PARAM_PORT, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "program", CNNACC_PARAM_PROGRAM_MAX, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "cin-limit", CNNACC_IMC_PARAM_LIMITS, 0, 16, 0 }, \
	{ "cout-limit", CNNACC_IMC_PARAM_LIMITS, 16, 16, 0 }, \
}

#define CNNACC_IMC_CODES { \
	{ "E_ILLEGAL", CNNACC_IMC_E_ILLEGAL, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_BUSY", CNNACC_IMC_E_BUSY, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_CFG", CNNACC_IMC_E_CFG, CNNACC_STATUS_CONFIG, 0 }, \
	{ "E_ADDR", CNNACC_IMC_E_ADDR, CNNACC_STATUS_BAD_PROGRAM, "local memory" }, \
}

#define CNNACC_IMC_DETAILS { \
	{ "operation", CNNACC_IMC_E_ILLEGAL, CNNACC_IMC_BAD_OP }, \
	{ "unused bit or word not zero", CNNACC_IMC_E_ILLEGAL, CNNACC_IMC_BAD_BITS }, \
	{ "register offset", CNNACC_IMC_E_ILLEGAL, CNNACC_IMC_BAD_REGISTER }, \
	{ "no plane", CNNACC_IMC_E_BUSY, CNNACC_IMC_IDLE }, \
	{ "a plane is running", CNNACC_IMC_E_BUSY, CNNACC_IMC_RUNNING }, \
	{ "a plane is in step mode", CNNACC_IMC_E_BUSY, CNNACC_IMC_STEPPING }, \
	{ "format", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_FORMAT }, \
	{ "kernel size not 1..n-max", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_KERNEL }, \
	{ "full reuse", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_MODE }, \
	{ "width below kernel size", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_WIDTH }, \
	{ "height below kernel size", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_HEIGHT }, \
	{ "input channels not 1..4096", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_CIN }, \
	{ "output channels not 1..4096", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_COUT }, \
	{ "result column stride below cout", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_RESULT_COLUMN }, \
	{ "result row stride below a row", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_RESULT_ROW }, \
	{ "no SETUP before CONV", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_SETUP }, \
	{ "alignment", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_ALIGN }, \
	{ "clocks not 1..4096", CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_CLOCKS }, \
}

#define CNNACC_IMC_REGS { \
	{ "ID", CNNACC_SEQ_REG_ID, 1, CNNACC_IMC_ID }, \
	{ "STATUS", CNNACC_IMC_REG_STATUS, 1, 0 }, \
	{ "FIFO_PEAK", CNNACC_IMC_REG_FIFO_PEAK, 1, 0 }, \
	{ "SETUP", CNNACC_IMC_REG_SETUP(0), 6, 0 }, \
	{ "CONV", CNNACC_IMC_REG_CONV(0), 4, 0 }, \
	{ "SIG", CNNACC_IMC_REG_SIG, 1, 0 }, \
	{ "GROUP", CNNACC_IMC_REG_GROUP, 1, 0 }, \
	{ "PASS", CNNACC_IMC_REG_PASS, 1, 0 }, \
	{ "ROW", CNNACC_IMC_REG_ROW, 1, 0 }, \
	{ "CSU", CNNACC_IMC_REG_CSU, 1, 0 }, \
	{ "KERNEL_ROW", CNNACC_IMC_REG_KERNEL_ROW, 1, 0 }, \
	{ "ELEMENT", CNNACC_IMC_REG_ELEMENT, 1, 0 }, \
	{ "WEIGHT", CNNACC_IMC_REG_WEIGHT, 1, 0 }, \
	{ "P", CNNACC_IMC_REG_P, 1, 0 }, \
	{ "HEAD", CNNACC_IMC_REG_HEAD, 1, 0 }, \
	{ "OUT", CNNACC_IMC_REG_OUT, 1, 0 }, \
	{ "FIFO", CNNACC_IMC_REG_FIFO(0), CNNACC_IMC_N_MAX, 0 }, \
	{ "CLOCKS", CNNACC_IMC_REG_CLOCKS, 2, 0 }, \
	{ "STALLS", CNNACC_IMC_REG_STALLS, 2, 0 }, \
	{ "ROW_READS", CNNACC_IMC_REG_ROW_READS, 2, 0 }, \
	{ "ELEMENT_READS", CNNACC_IMC_REG_ELEMENT_READS, 2, 0 }, \
	{ "WEIGHT_READS", CNNACC_IMC_REG_WEIGHT_READS, 2, 0 }, \
	{ "PUSHES", CNNACC_IMC_REG_PUSHES, 2, 0 }, \
	{ "POPS", CNNACC_IMC_REG_POPS, 2, 0 }, \
	{ "OUTPUTS", CNNACC_IMC_REG_OUTPUTS, 2, 0 }, \
	{ "PARTIAL_STORES", CNNACC_IMC_REG_PARTIAL_STORES, 2, 0 }, \
}

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_IMC_H */
