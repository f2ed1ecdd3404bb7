/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Core sample, which adds quantised maps element by element
 * (Documentation/hardware/sample.rst), programmed through the sequencer.
 */
#ifndef CNNACC_SAMPLE_H
#define CNNACC_SAMPLE_H

#include "cnnacc_seq.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Type in the discovery table; not assigned, so it is from the experimental range. */
#define CNNACC_SAMPLE_TYPE		(CNNACC_CORE_EXPERIMENTAL + 0)

/* Index into cnnacc_core_entry.param. */
#define CNNACC_SAMPLE_PARAM_BANK	0	/* bytes of a bank */
#define CNNACC_SAMPLE_PARAM_LANES	1	/* elements of a cycle */

#define CNNACC_SAMPLE_BANKS		2	/* local memories of the sequencer's commands */
#define CNNACC_SAMPLE_LANES		16

/* Default build; the discovery table has the actual one. */
#define CNNACC_SAMPLE_BANK_DEFAULT	0x10000
#define CNNACC_SAMPLE_PROGRAM_DEFAULT	0x4000

/* Condition of WAIT. */
#define CNNACC_SAMPLE_WAIT_IDLE		0x1u	/* no instruction is running */

/*
 * ADD, as an EXEC.  Instruction word 0: 7:0 operation, 15:8 bank, 31:16 zero; words 1 to 3: factor
 * of a, factor of b, bias.  Operand 0: 7:0 zero point, 12:8 shift, 31:13 zero; operand 1: number of
 * elements.
 */
#define CNNACC_SAMPLE_ADD		1u
#define CNNACC_SAMPLE_INSN(op, bank)	((op) | ((__u32)(bank) << 8))
#define CNNACC_SAMPLE_RESULT(zero, shift) \
	(((__u32)(zero) & 0xff) | ((__u32)(shift) << 8))

/**
 * enum cnnacc_sample_code - status codes of sample.
 * @CNNACC_SAMPLE_E_ILLEGAL: class BAD_PROGRAM; detail is enum cnnacc_sample_illegal
 * @CNNACC_SAMPLE_E_BUSY: class BAD_PROGRAM: an instruction is running; detail is its bank
 * @CNNACC_SAMPLE_E_CFG: class CONFIG; detail is enum cnnacc_sample_cfg
 */
enum cnnacc_sample_code {
	CNNACC_SAMPLE_E_ILLEGAL = 32,
	CNNACC_SAMPLE_E_BUSY = 33,
	CNNACC_SAMPLE_E_CFG = 34,
};

/**
 * enum cnnacc_sample_illegal - detail of E_ILLEGAL, in the order of the checks.
 * @CNNACC_SAMPLE_BAD_OPERATION: unknown operation, or a reserved bit of instruction word 0
 * @CNNACC_SAMPLE_BAD_BANK: no such bank
 */
enum cnnacc_sample_illegal {
	CNNACC_SAMPLE_BAD_OPERATION = 1,
	CNNACC_SAMPLE_BAD_BANK = 2,
};

/**
 * enum cnnacc_sample_cfg - detail of E_CFG, in the order of the checks.
 * @CNNACC_SAMPLE_BAD_RESULT: a reserved bit of operand 0
 * @CNNACC_SAMPLE_BAD_COUNT: no elements, or more than half a bank holds
 */
enum cnnacc_sample_cfg {
	CNNACC_SAMPLE_BAD_RESULT = 1,
	CNNACC_SAMPLE_BAD_COUNT = 2,
};

/* Core window behind the sequencer's registers, all read only. */
#define CNNACC_SAMPLE_REG_STATUS	0x040	/* 0: running; 15:8: bank of the last instruction */
#define CNNACC_SAMPLE_REG_ELEMENTS	0x044	/* of the last instruction */
#define CNNACC_SAMPLE_WINDOW_SIZE	0x1000

#define CNNACC_SAMPLE_STATUS_RUNNING	0x1u
#define CNNACC_SAMPLE_STATUS_BANK_SHIFT	8

#define CNNACC_SAMPLE_ID		0x4c504d53	/* "SMPL" */

/* Description of the core: initialisers of the structures in cnnacc_hw.h. */
#define CNNACC_SAMPLE_PARAMS { \
	{ "bank", CNNACC_SAMPLE_PARAM_BANK, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "program", CNNACC_PARAM_PROGRAM_MAX, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "lanes", CNNACC_SAMPLE_PARAM_LANES, 0, 8, 0 }, \
}

#define CNNACC_SAMPLE_CODES { \
	{ "E_ILLEGAL", CNNACC_SAMPLE_E_ILLEGAL, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_BUSY", CNNACC_SAMPLE_E_BUSY, CNNACC_STATUS_BAD_PROGRAM, "bank" }, \
	{ "E_CFG", CNNACC_SAMPLE_E_CFG, CNNACC_STATUS_CONFIG, 0 }, \
}

#define CNNACC_SAMPLE_DETAILS { \
	{ "operation", CNNACC_SAMPLE_E_ILLEGAL, CNNACC_SAMPLE_BAD_OPERATION }, \
	{ "bank", CNNACC_SAMPLE_E_ILLEGAL, CNNACC_SAMPLE_BAD_BANK }, \
	{ "zero point and shift", CNNACC_SAMPLE_E_CFG, CNNACC_SAMPLE_BAD_RESULT }, \
	{ "number of elements", CNNACC_SAMPLE_E_CFG, CNNACC_SAMPLE_BAD_COUNT }, \
}

#define CNNACC_SAMPLE_REGS { \
	{ "ID", CNNACC_SEQ_REG_ID, 1, CNNACC_SAMPLE_ID }, \
	{ "STATUS", CNNACC_SAMPLE_REG_STATUS, 1, 0 }, \
	{ "ELEMENTS", CNNACC_SAMPLE_REG_ELEMENTS, 1, 0 }, \
}

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_SAMPLE_H */
