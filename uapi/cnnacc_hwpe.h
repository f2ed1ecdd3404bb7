/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Core hwpe, the CNN-HWPE matrix multiplication coprocessor
 * (Documentation/hardware/hwpe.rst), programmed through the sequencer.
 */
#ifndef CNNACC_HWPE_H
#define CNNACC_HWPE_H

#include "cnnacc_seq.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Index into cnnacc_core_entry.param. */
#define CNNACC_HWPE_PARAM_FMAP		0	/* bytes of one fmap SRAM (two) */
#define CNNACC_HWPE_PARAM_KERNEL	1	/* bytes of both kernel SRAMs */
#define CNNACC_HWPE_PARAM_GEOMETRY	2	/* 7:0 PEs, 15:8 AccRegs each, 23:16 operand bits */
#define CNNACC_HWPE_PARAM_LIMITS	3	/* 7:0 kernel, 15:8 shift maximum */

#define CNNACC_HWPE_PES			16
#define CNNACC_HWPE_ACCS		8	/* AccRegs of a PE, one for each left row */
#define CNNACC_HWPE_OPERAND_BYTES	8
#define CNNACC_HWPE_KERNEL_MAX		11
#define CNNACC_HWPE_SHIFT_MAX		24
#define CNNACC_HWPE_ROUND_BYTES		128	/* of the kernel memory: 16 columns of 64 bits */
#define CNNACC_HWPE_SRAM2		0x100000u	/* fmap address of the second SRAM */

/* Default build; the discovery table has the actual one. */
#define CNNACC_HWPE_FMAP_DEFAULT	0x100000
#define CNNACC_HWPE_KERNEL_DEFAULT	0x200000
#define CNNACC_HWPE_PROGRAM_DEFAULT	0x10000

/**
 * enum cnnacc_hwpe_memory - local memories of the sequencer's commands.
 * @CNNACC_HWPE_FMAP0: fmap SRAM 1, left half of the maps
 * @CNNACC_HWPE_FMAP1: fmap SRAM 2, right half
 * @CNNACC_HWPE_KERNEL: both kernel SRAMs as one, bit 6 of the address selects
 * @CNNACC_HWPE_MEMORIES: their number
 */
enum cnnacc_hwpe_memory {
	CNNACC_HWPE_FMAP0 = 0,
	CNNACC_HWPE_FMAP1 = 1,
	CNNACC_HWPE_KERNEL = 2,
	CNNACC_HWPE_MEMORIES = 3,
};

/* Conditions of WAIT. */
#define CNNACC_HWPE_WAIT_ROUND		0x1u	/* a round is done and the task is suspended */
#define CNNACC_HWPE_WAIT_IDLE		0x2u	/* no task */

/**
 * enum cnnacc_hwpe_funct - funct7 of an instruction (seed, table 2).
 * @CNNACC_HWPE_WRITE_FMAP_ADDR: FmapAddrBase[rd & 6], [rd | 1] = operands 0, 1
 * @CNNACC_HWPE_WRITE_CFG: CfgReg0, CfgReg1 = operands 0, 1
 * @CNNACC_HWPE_MATRIX_MAC: start; operand 0 15:0 H_count, 31:16 W_count,
 *	operand 1 15:0 H_stride, 31:16 W_stride
 * @CNNACC_HWPE_WRITE_ACC: AccReg[PE rs2][rd] = operand 0
 * @CNNACC_HWPE_READ_ACC: result = AccReg[PE rs2][rs1 2:0]; rs1 bit 4 resumes
 * @CNNACC_HWPE_RELU_WRITE: 16 bytes at VA operand 0 = relu8 of AccReg rs2 2:0 of each
 *	PE; rs2 bit 4 resumes
 * @CNNACC_HWPE_RESET: set everything except the AccRegs to its reset value
 */
enum cnnacc_hwpe_funct {
	CNNACC_HWPE_WRITE_FMAP_ADDR = 1,
	CNNACC_HWPE_WRITE_CFG = 2,
	CNNACC_HWPE_MATRIX_MAC = 4,
	CNNACC_HWPE_WRITE_ACC = 8,
	CNNACC_HWPE_READ_ACC = 16,
	CNNACC_HWPE_RELU_WRITE = 32,
	CNNACC_HWPE_RESET = 64,
};

#define CNNACC_HWPE_OPCODE		0x0bu	/* custom-0 */
#define CNNACC_HWPE_XD			0x4000u	/* writes rd */
#define CNNACC_HWPE_XS1			0x2000u	/* takes operand 0 */
#define CNNACC_HWPE_XS2			0x1000u	/* takes operand 1 */
#define CNNACC_HWPE_ENABLE		0x10u	/* in rs1 or rs2: resume the task */
#define CNNACC_HWPE_INSN(funct, flags, rd, rs1, rs2) \
	(CNNACC_HWPE_OPCODE | (flags) | ((__u32)(funct) << 25) | ((__u32)(rd) << 7) | \
	 ((__u32)(rs1) << 15) | ((__u32)(rs2) << 20))

/* CfgReg0: 15:0 Conv_CH_count, 31:16 Conv_W_offset. */

/* CfgReg1 */
#define CNNACC_HWPE_CFG_KERNEL_MASK	0x0000000fu	/* Kernel_size 1..11 */
#define CNNACC_HWPE_CFG_TYPE_SHIFT	4		/* enum cnnacc_hwpe_type */
#define CNNACC_HWPE_CFG_INPUT		0x00000040u	/* Layer_type: input layer */
#define CNNACC_HWPE_CFG_333		0x00000080u	/* Kernel_333 */
#define CNNACC_HWPE_CFG_SHIFT_SHIFT	8		/* AccReg_shift 0..24, five bits */
#define CNNACC_HWPE_CFG_K_SHIFT		13		/* K_count: output channels / 16, 10 bits */
#define CNNACC_HWPE_CFG_RESERVED	0xff800000u

/**
 * enum cnnacc_hwpe_type - Data_type.
 * @CNNACC_HWPE_UINT8: unsigned left, signed INT8 right
 * @CNNACC_HWPE_TER2: 00 0, 01 +1, 11 -1; 10 counts as -1 and sets BAD_TER2
 * @CNNACC_HWPE_EXP4: sign and exponent, low three bits 0: zero
 * @CNNACC_HWPE_INT8: signed left and right
 */
enum cnnacc_hwpe_type {
	CNNACC_HWPE_UINT8 = 0,
	CNNACC_HWPE_TER2 = 1,
	CNNACC_HWPE_EXP4 = 2,
	CNNACC_HWPE_INT8 = 3,
};

/**
 * enum cnnacc_hwpe_code - status codes of hwpe.
 * @CNNACC_HWPE_E_ILLEGAL: class BAD_PROGRAM; detail is enum cnnacc_hwpe_illegal
 * @CNNACC_HWPE_E_BUSY: class BAD_PROGRAM: not allowed in the task's state; detail is
 *	enum cnnacc_hwpe_state
 * @CNNACC_HWPE_E_ENABLE_IDLE: class BAD_PROGRAM: the enable flag without a suspended task
 * @CNNACC_HWPE_E_CFG: class CONFIG; detail is enum cnnacc_hwpe_cfg
 * @CNNACC_HWPE_E_FMAP_2ADDR: class BAD_PROGRAM: a base is in the other port's fmap SRAM;
 *	detail is the base register
 * @CNNACC_HWPE_E_ADDR: class BAD_PROGRAM: a window outside its memory; detail is the base
 *	register, 8 for the kernel memory
 */
enum cnnacc_hwpe_code {
	CNNACC_HWPE_E_ILLEGAL = 32,
	CNNACC_HWPE_E_BUSY = 33,
	CNNACC_HWPE_E_ENABLE_IDLE = 34,
	CNNACC_HWPE_E_CFG = 35,
	CNNACC_HWPE_E_FMAP_2ADDR = 36,
	CNNACC_HWPE_E_ADDR = 37,
};

/**
 * enum cnnacc_hwpe_illegal - detail of E_ILLEGAL, in the order of the checks.
 * @CNNACC_HWPE_BAD_OPCODE: not CNNACC_HWPE_OPCODE
 * @CNNACC_HWPE_BAD_FUNCT: not in enum cnnacc_hwpe_funct
 * @CNNACC_HWPE_BAD_FLAGS: xd, xs1 or xs2 wrong for the instruction
 * @CNNACC_HWPE_BAD_PE: PE above 15
 * @CNNACC_HWPE_BAD_ACC: AccReg above 7
 * @CNNACC_HWPE_BAD_BASE: FmapAddrBase above 7
 */
enum cnnacc_hwpe_illegal {
	CNNACC_HWPE_BAD_OPCODE = 1,
	CNNACC_HWPE_BAD_FUNCT = 2,
	CNNACC_HWPE_BAD_FLAGS = 3,
	CNNACC_HWPE_BAD_PE = 4,
	CNNACC_HWPE_BAD_ACC = 5,
	CNNACC_HWPE_BAD_BASE = 6,
};

/**
 * enum cnnacc_hwpe_cfg - detail of E_CFG, in the order of the checks.
 * @CNNACC_HWPE_BAD_RESERVED: a bit that must be zero
 * @CNNACC_HWPE_BAD_KERNEL: Kernel_size 0 or above 11, or not 3 with Kernel_333
 * @CNNACC_HWPE_BAD_TYPE: input layer or Kernel_333 of a type other than INT8 and UINT8
 * @CNNACC_HWPE_BAD_LAYER: Kernel_333 of an inner layer
 * @CNNACC_HWPE_BAD_SHIFT: AccReg_shift above 24
 * @CNNACC_HWPE_BAD_CH_COUNT: Conv_CH_count 0 without Kernel_333
 */
enum cnnacc_hwpe_cfg {
	CNNACC_HWPE_BAD_RESERVED = 1,
	CNNACC_HWPE_BAD_KERNEL = 2,
	CNNACC_HWPE_BAD_TYPE = 3,
	CNNACC_HWPE_BAD_LAYER = 4,
	CNNACC_HWPE_BAD_SHIFT = 5,
	CNNACC_HWPE_BAD_CH_COUNT = 6,
};

/**
 * enum cnnacc_hwpe_state - state of the task (spec 6).
 * @CNNACC_HWPE_IDLE: no task
 * @CNNACC_HWPE_RUNNING: a window is running; no WAIT has observed its end
 * @CNNACC_HWPE_SUSPENDED: a round is done; its AccRegs can be drained
 */
enum cnnacc_hwpe_state {
	CNNACC_HWPE_IDLE = 0,
	CNNACC_HWPE_RUNNING = 1,
	CNNACC_HWPE_SUSPENDED = 2,
};

/* Core window behind the sequencer's registers, all read only. */
#define CNNACC_HWPE_REG_STATUS		0x040	/* 1:0 enum cnnacc_hwpe_state; bits: see below */
#define CNNACC_HWPE_REG_ROUND		0x044	/* rounds of the task that are done */
#define CNNACC_HWPE_REG_ROUNDS		0x048	/* rounds of the task, modulo 2^32 */
#define CNNACC_HWPE_REG_CFG(n)		(0x050 + 4 * (n))	/* CfgReg0, CfgReg1 */
#define CNNACC_HWPE_REG_MAC(n)		(0x058 + 4 * (n))	/* operands of MatrixMac */
#define CNNACC_HWPE_REG_BASE(n)		(0x060 + 4 * (n))	/* FmapAddrBase 0..7 */
#define CNNACC_HWPE_REG_ACC(pe, n)	(0x200 + 64 * (n) + 4 * (pe))	/* AccReg n of a PE */
#define CNNACC_HWPE_WINDOW_SIZE		0x1000

#define CNNACC_HWPE_STATUS_LAST		0x4u	/* the window is the task's last */
#define CNNACC_HWPE_STATUS_BAD_TER2	0x10u	/* sticky: a TER2 operand was 10 */
#define CNNACC_HWPE_STATUS_ALIGN	0x20u	/* sticky: an inner layer's address not aligned */

#define CNNACC_HWPE_ID			0x45505748	/* "HWPE" */

/* Description of the core: initialisers of the structures in cnnacc_hw.h. */
#define CNNACC_HWPE_PARAMS { \
	{ "fmap", CNNACC_HWPE_PARAM_FMAP, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "kernel", CNNACC_HWPE_PARAM_KERNEL, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "program", CNNACC_PARAM_PROGRAM_MAX, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "pes", CNNACC_HWPE_PARAM_GEOMETRY, 0, 8, 0 }, \
	{ "accs", CNNACC_HWPE_PARAM_GEOMETRY, 8, 8, 0 }, \
	{ "operand-bits", CNNACC_HWPE_PARAM_GEOMETRY, 16, 8, 0 }, \
	{ "kernel-max", CNNACC_HWPE_PARAM_LIMITS, 0, 8, 0 }, \
	{ "shift-max", CNNACC_HWPE_PARAM_LIMITS, 8, 8, 0 }, \
}

#define CNNACC_HWPE_CODES { \
	{ "E_ILLEGAL", CNNACC_HWPE_E_ILLEGAL, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_BUSY", CNNACC_HWPE_E_BUSY, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_ENABLE_IDLE", CNNACC_HWPE_E_ENABLE_IDLE, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_CFG", CNNACC_HWPE_E_CFG, CNNACC_STATUS_CONFIG, 0 }, \
	{ "E_FMAP_2ADDR", CNNACC_HWPE_E_FMAP_2ADDR, CNNACC_STATUS_BAD_PROGRAM, "base register" }, \
	{ "E_ADDR", CNNACC_HWPE_E_ADDR, CNNACC_STATUS_BAD_PROGRAM, "base register" }, \
}

#define CNNACC_HWPE_DETAILS { \
	{ "opcode", CNNACC_HWPE_E_ILLEGAL, CNNACC_HWPE_BAD_OPCODE }, \
	{ "funct7", CNNACC_HWPE_E_ILLEGAL, CNNACC_HWPE_BAD_FUNCT }, \
	{ "xd, xs1 or xs2", CNNACC_HWPE_E_ILLEGAL, CNNACC_HWPE_BAD_FLAGS }, \
	{ "PE", CNNACC_HWPE_E_ILLEGAL, CNNACC_HWPE_BAD_PE }, \
	{ "AccReg", CNNACC_HWPE_E_ILLEGAL, CNNACC_HWPE_BAD_ACC }, \
	{ "base register", CNNACC_HWPE_E_ILLEGAL, CNNACC_HWPE_BAD_BASE }, \
	{ "no task", CNNACC_HWPE_E_BUSY, CNNACC_HWPE_IDLE }, \
	{ "the task is running", CNNACC_HWPE_E_BUSY, CNNACC_HWPE_RUNNING }, \
	{ "the task is suspended", CNNACC_HWPE_E_BUSY, CNNACC_HWPE_SUSPENDED }, \
	{ "reserved bit set", CNNACC_HWPE_E_CFG, CNNACC_HWPE_BAD_RESERVED }, \
	{ "kernel size", CNNACC_HWPE_E_CFG, CNNACC_HWPE_BAD_KERNEL }, \
	{ "data type", CNNACC_HWPE_E_CFG, CNNACC_HWPE_BAD_TYPE }, \
	{ "Kernel_333 of an inner layer", CNNACC_HWPE_E_CFG, CNNACC_HWPE_BAD_LAYER }, \
	{ "AccReg shift", CNNACC_HWPE_E_CFG, CNNACC_HWPE_BAD_SHIFT }, \
	{ "channel count", CNNACC_HWPE_E_CFG, CNNACC_HWPE_BAD_CH_COUNT }, \
	{ "kernel memory", CNNACC_HWPE_E_ADDR, 8 }, \
}

#define CNNACC_HWPE_REGS { \
	{ "ID", CNNACC_SEQ_REG_ID, 1, CNNACC_HWPE_ID }, \
	{ "STATUS", CNNACC_HWPE_REG_STATUS, 1, 0 }, \
	{ "ROUND", CNNACC_HWPE_REG_ROUND, 1, 0 }, \
	{ "ROUNDS", CNNACC_HWPE_REG_ROUNDS, 1, 0 }, \
	{ "CFG", CNNACC_HWPE_REG_CFG(0), 2, 0 }, \
	{ "MAC", CNNACC_HWPE_REG_MAC(0), 2, 0 }, \
	{ "BASE", CNNACC_HWPE_REG_BASE(0), 8, 0 }, \
	{ "ACC0", CNNACC_HWPE_REG_ACC(0, 0), CNNACC_HWPE_PES, 0 }, \
	{ "ACC1", CNNACC_HWPE_REG_ACC(0, 1), CNNACC_HWPE_PES, 0 }, \
	{ "ACC2", CNNACC_HWPE_REG_ACC(0, 2), CNNACC_HWPE_PES, 0 }, \
	{ "ACC3", CNNACC_HWPE_REG_ACC(0, 3), CNNACC_HWPE_PES, 0 }, \
	{ "ACC4", CNNACC_HWPE_REG_ACC(0, 4), CNNACC_HWPE_PES, 0 }, \
	{ "ACC5", CNNACC_HWPE_REG_ACC(0, 5), CNNACC_HWPE_PES, 0 }, \
	{ "ACC6", CNNACC_HWPE_REG_ACC(0, 6), CNNACC_HWPE_PES, 0 }, \
	{ "ACC7", CNNACC_HWPE_REG_ACC(0, 7), CNNACC_HWPE_PES, 0 }, \
}

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_HWPE_H */
