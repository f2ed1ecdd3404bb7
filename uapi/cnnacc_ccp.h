/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Core ccp, the programmable CNN coprocessor (Documentation/hardware/ccp.rst).
 * A program is an array of 32-bit instructions.  A job loads the packet's program into the
 * instruction cache, the rest of which reads as NOP, and starts it at instruction 0 with R0..R7,
 * all parameter groups and the bank select zero.
 */
#ifndef CNNACC_CCP_H
#define CNNACC_CCP_H

#include "cnnacc_hw.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Index into cnnacc_core_entry.param. */
#define CNNACC_CCP_PARAM_DATA_BANK	0	/* bytes of one data bank (two banks) */
#define CNNACC_CCP_PARAM_WEIGHT_BANK	1	/* bytes of one weight bank (four banks) */
#define CNNACC_CCP_PARAM_GEOMETRY	2	/* 7:0 rows, 15:8 lanes, 23:16 core groups */
#define CNNACC_CCP_PARAM_LOB		3	/* vectors per local output buffer */
#define CNNACC_CCP_PARAM_LIMITS		4	/* 7:0 kernel, 15:8 stride, 23:16 padding maximum */
#define CNNACC_CCP_PARAM_BANKS		5
#define CNNACC_CCP_BANKS_SPLIT		0x1u	/* each half of a bank is a memory of its own */

#define CNNACC_CCP_DATA_BANKS		2
#define CNNACC_CCP_WEIGHT_BANKS		4
#define CNNACC_CCP_ROWS			16
#define CNNACC_CCP_LANES		8
#define CNNACC_CCP_GROUPS		4
#define CNNACC_CCP_BEATS		4
#define CNNACC_CCP_KERNEL_MAX		11
#define CNNACC_CCP_STRIDE_MAX		8
#define CNNACC_CCP_PAD_MAX		15
#define CNNACC_CCP_FC_LANES		16
#define CNNACC_CCP_GPRS			8

/* Default build; the discovery table has the actual one. */
#define CNNACC_CCP_DATA_BANK_DEFAULT	0x100000
#define CNNACC_CCP_WEIGHT_BANK_DEFAULT	0x10000
#define CNNACC_CCP_ICACHE_DEFAULT	0x2000
#define CNNACC_CCP_LOB_DEFAULT		256

/* Core window: offsets from cnnacc_core_entry.window_offset, all read only. */
#define CNNACC_CCP_REG_ID		0x000	/* CNNACC_CCP_ID */
#define CNNACC_CCP_REG_PC		0x004	/* instruction index */
#define CNNACC_CCP_REG_STATE		0x008	/* 3:0 enum cnnacc_ccp_state, 7:4 active unit */
#define CNNACC_CCP_REG_BANK_SEL		0x00c	/* number of the read bank: 0 or 1 */
#define CNNACC_CCP_REG_GPR(n)		(0x020 + 4 * (n))	/* R0..R7 */
#define CNNACC_CCP_REG_CONV0(n)		(0x040 + 4 * (n))	/* parameter groups as configured */
#define CNNACC_CCP_REG_CONV1(n)		(0x060 + 4 * (n))
#define CNNACC_CCP_REG_POOL0(n)		(0x080 + 4 * (n))
#define CNNACC_CCP_REG_PAD0(n)		(0x0a0 + 4 * (n))
#define CNNACC_CCP_REG_FC0(n)		(0x0c0 + 4 * (n))
#define CNNACC_CCP_WINDOW_SIZE		0x1000

#define CNNACC_CCP_ID			0x50434331	/* "PCC1" */

/**
 * enum cnnacc_ccp_state - controller state (spec 2.3).
 * @CNNACC_CCP_WAIT: no program
 * @CNNACC_CCP_BOOT: loading the instruction cache
 * @CNNACC_CCP_FETCH: between instructions
 * @CNNACC_CCP_EXEC: a unit or the DMA engine is busy
 */
enum cnnacc_ccp_state {
	CNNACC_CCP_WAIT = 0,
	CNNACC_CCP_BOOT = 1,
	CNNACC_CCP_FETCH = 2,
	CNNACC_CCP_EXEC = 3,
};

/**
 * enum cnnacc_ccp_op - opcodes, bits 31:28 (spec 2.2; 10..15 are illegal).
 * @CNNACC_CCP_NOP: end of the program
 * @CNNACC_CCP_LDI: rd = zero-extended imm
 * @CNNACC_CCP_LDIH: rd = imm << 16 | rd[15:0]
 * @CNNACC_CCP_ADDI: rd = rs + sign-extended imm, wraps
 * @CNNACC_CCP_LOAD: DMA of R[rl] lines from VA R[ra] * 64 to target line R[rt]
 * @CNNACC_CCP_STORE: DMA in the other direction, from target to memory
 * @CNNACC_CCP_CFG: parameter group = R0..R7
 * @CNNACC_CCP_EXEC_UNIT: run a unit to its end
 * @CNNACC_CCP_SWAP: exchange the roles of the data banks
 * @CNNACC_CCP_BNZ: if R[rs] != 0 continue at the target instruction
 */
enum cnnacc_ccp_op {
	CNNACC_CCP_NOP = 0,
	CNNACC_CCP_LDI = 1,
	CNNACC_CCP_LDIH = 2,
	CNNACC_CCP_ADDI = 3,
	CNNACC_CCP_LOAD = 4,
	CNNACC_CCP_STORE = 5,
	CNNACC_CCP_CFG = 6,
	CNNACC_CCP_EXEC_UNIT = 7,
	CNNACC_CCP_SWAP = 8,
	CNNACC_CCP_BNZ = 9,
};

/* Instruction fields: shift of the lowest bit; unused bits are ignored. */
#define CNNACC_CCP_OP_SHIFT		28
#define CNNACC_CCP_RD_SHIFT		25	/* 3 bits: LDI, LDIH, ADDI rd; BNZ rs */
#define CNNACC_CCP_RS_SHIFT		22	/* 3 bits: ADDI rs */
#define CNNACC_CCP_RA_SHIFT		25	/* 3 bits: LOAD, STORE memory line */
#define CNNACC_CCP_RL_SHIFT		22	/* 3 bits: LOAD, STORE length in lines */
#define CNNACC_CCP_RT_SHIFT		19	/* 3 bits: LOAD, STORE target line */
#define CNNACC_CCP_TGT_SHIFT		16	/* 3 bits: enum cnnacc_ccp_target */
#define CNNACC_CCP_UNIT_SHIFT		26	/* 2 bits: enum cnnacc_ccp_unit */
#define CNNACC_CCP_GROUP_SHIFT		24	/* 2 bits: parameter group of CFG */
#define CNNACC_CCP_IMM_MASK		0xffffu
#define CNNACC_CCP_TARGET_MASK		0x7ffu	/* BNZ instruction index */

/* Encoders: r* are register numbers 0..7. */
#define CNNACC_CCP_INSN_NOP		0u
#define CNNACC_CCP_INSN_LDI(rd, imm) \
	(0x10000000u | ((__u32)(rd) << 25) | ((__u32)(imm) & 0xffffu))
#define CNNACC_CCP_INSN_LDIH(rd, imm) \
	((2u << 28) | ((__u32)(rd) << 25) | ((__u32)(imm) & 0xffffu))
#define CNNACC_CCP_INSN_ADDI(rd, rs, imm) \
	((3u << 28) | ((__u32)(rd) << 25) | ((__u32)(rs) << 22) | ((__u32)(imm) & 0xffffu))
#define CNNACC_CCP_INSN_LOAD(ra, rl, rt, tgt) \
	((4u << 28) | ((__u32)(ra) << 25) | ((__u32)(rl) << 22) | \
	 ((__u32)(rt) << 19) | ((__u32)(tgt) << 16))
#define CNNACC_CCP_INSN_STORE(ra, rl, rt, tgt) \
	((5u << 28) | ((__u32)(ra) << 25) | ((__u32)(rl) << 22) | \
	 ((__u32)(rt) << 19) | ((__u32)(tgt) << 16))
#define CNNACC_CCP_INSN_CFG(unit, group) \
	((6u << 28) | ((__u32)(unit) << 26) | ((__u32)(group) << 24))
#define CNNACC_CCP_INSN_EXEC(unit)	((7u << 28) | ((__u32)(unit) << 26))
#define CNNACC_CCP_INSN_SWAP		(8u << 28)
#define CNNACC_CCP_INSN_BNZ(rs, target) \
	((9u << 28) | ((__u32)(rs) << 25) | ((__u32)(target) & 0x7ffu))

/**
 * enum cnnacc_ccp_target - DMA targets.
 * @CNNACC_CCP_TGT_READ_BANK: data bank that units read
 * @CNNACC_CCP_TGT_WRITE_BANK: data bank that units write
 * @CNNACC_CCP_TGT_ICACHE: instruction cache, LOAD only, needs execute permission
 * @CNNACC_CCP_TGT_RESERVED: illegal
 * @CNNACC_CCP_TGT_WEIGHT0: weight bank 0..3 are 4..7, LOAD only
 */
enum cnnacc_ccp_target {
	CNNACC_CCP_TGT_READ_BANK = 0,
	CNNACC_CCP_TGT_WRITE_BANK = 1,
	CNNACC_CCP_TGT_ICACHE = 2,
	CNNACC_CCP_TGT_RESERVED = 3,
	CNNACC_CCP_TGT_WEIGHT0 = 4,
};

/**
 * enum cnnacc_ccp_unit - units of CFG and EXEC.
 * @CNNACC_CCP_CONV: convolution, parameter groups 0 and 1
 * @CNNACC_CCP_POOL: pooling, group 0
 * @CNNACC_CCP_PAD: zero padding, group 0
 * @CNNACC_CCP_FC: fully connected, group 0
 */
enum cnnacc_ccp_unit {
	CNNACC_CCP_CONV = 0,
	CNNACC_CCP_POOL = 1,
	CNNACC_CCP_PAD = 2,
	CNNACC_CCP_FC = 3,
};

/*
 * Parameter groups: word n is the value of R[n] at the CFG.  "(ours)" marks fields that this
 * project defines in bits that the spec's packing reserves; zero in all of them gives the spec's
 * square, compact layer.  Bits not named must be zero, except in a word called ignored.  Bases
 * are signed offsets in floats; a base may be outside the bank if every accessed float is inside.
 * A plane is rows x columns floats, compact.  The plane pitch is the distance between the planes of
 * consecutive channels in floats: 0 = rows * columns, else at least that.
 *
 * conv group 0
 *  R0  0 relu; 1 bias enable; 15:8 stride 1..8; 23:16 kernel rows 1..11;
 *      27:24 column stride 1..8, 0 = stride (ours);
 *      31:28 kernel columns 1..11, 0 = kernel rows (ours)
 *  R1  15:0 input columns 1..65535; 31:16 output columns
 *  R2  15:0 ci_num; 31:16 co_num
 *  R3  15:0 ci_start; 31:16 ci_end (inclusive)
 *  R4  15:0 row_start; 31:16 col_start
 *  R5  4:0 vec_active 1..16; 9:8 core groups - 1; 31:16 co_start
 *  R6  15:0 co_cnt, 0 = co_num - co_start;
 *      zero padding 19:16 top, 23:20 bottom, 27:24 left, 31:28 right (ours)
 *  R7  ignored
 * conv group 1
 *  R0  input base (read bank)           R1  output base (write bank)
 *  R2  weight base (every weight bank)  R3  bias base (every weight bank)
 *  R4  15:0 input rows, 0 = input columns; 31:16 output rows, 0 = output columns (ours)
 *  R5  input plane pitch (ours)         R6  output plane pitch (ours)
 *  R7  15:0 weight pitch: input channels between the weights of output channels
 *      o and o + 4, 0 = ci_num (ours)
 * pool group 0
 *  R0  0 mode: 0 maximum, 1 average; 15:8 stride 1..8; 23:16 kernel rows;
 *      27:24 column stride 1..8, 0 = stride (ours);
 *      31:28 kernel columns, 0 = kernel rows (ours)
 *      kernel: 2 or 3 with kernel columns 0; else both 1..3 and not 1 x 1
 *  R1  15:0 input columns; 31:16 input rows, 0 = input columns (ours)
 *  R2  15:0 channels; fill padding 19:16 top, 23:20 bottom, 27:24 left, 31:28 right (ours)
 *  R3  input base                       R4  output base
 *  R5  15:0 output columns, 31:16 output rows; each 0 = the spec's formula,
 *      else 1..that (ours)
 *  R6  input plane pitch (ours)         R7  output plane pitch (ours)
 * pad group 0
 *  R0  zero layers: 1 or 2
 *  R1  15:0 input columns; 31:16 input rows, 0 = input columns (ours)
 *  R2  15:0 channels
 *  R3  input base                       R4  output base
 *  R5  input plane pitch (ours)         R6  output plane pitch (ours)
 *  R7  ignored
 * fc group 0
 *  R0  0 relu; 1 bias enable
 *  R1  input length 1..                 R2  output length 1..
 *  R3  input base                       R4  output base
 *  R5  weight base, R6 bias base: linear over the four banks, bank 0 first
 *  R7  ignored
 */

/* conv R0, pool R0 */
#define CNNACC_CCP_R0_RELU		0x1u	/* conv, fc */
#define CNNACC_CCP_R0_AVERAGE		0x1u	/* pool */
#define CNNACC_CCP_R0_BIAS		0x2u	/* conv, fc */
#define CNNACC_CCP_R0_STRIDE_SHIFT	8
#define CNNACC_CCP_R0_KERNEL_SHIFT	16
#define CNNACC_CCP_R0_STRIDE_X_SHIFT	24
#define CNNACC_CCP_R0_KERNEL_X_SHIFT	28
/* conv R5 */
#define CNNACC_CCP_R5_GROUPS_SHIFT	8
#define CNNACC_CCP_R5_CO_START_SHIFT	16
/* conv R6, pool R2 */
#define CNNACC_CCP_PAD_TOP_SHIFT	16
#define CNNACC_CCP_PAD_BOTTOM_SHIFT	20
#define CNNACC_CCP_PAD_LEFT_SHIFT	24
#define CNNACC_CCP_PAD_RIGHT_SHIFT	28

/* Bit patterns of the numeric rules. */
#define CNNACC_CCP_POOL_MAX_FILL	0xff7fffffu	/* -FLT_MAX, border of a maximum */

/**
 * enum cnnacc_ccp_code - status codes of ccp.
 * @CNNACC_CCP_E_ILLEGAL: class BAD_PROGRAM: opcode, parameter group or DMA target
 * @CNNACC_CCP_E_PC: class BAD_PROGRAM: program counter past the instruction cache
 * @CNNACC_CCP_E_RANGE: class BAD_PROGRAM: outside a cache; detail is enum cnnacc_ccp_field
 * @CNNACC_CCP_E_CFG: class CONFIG: unit parameters; detail is enum cnnacc_ccp_field
 * @CNNACC_CCP_E_DMA: class MMU_FAULT or BUS_ERROR; detail is enum cnnacc_fault_level
 */
enum cnnacc_ccp_code {
	CNNACC_CCP_E_ILLEGAL = 16,
	CNNACC_CCP_E_PC = 17,
	CNNACC_CCP_E_RANGE = 18,
	CNNACC_CCP_E_CFG = 19,
	CNNACC_CCP_E_DMA = 20,
};

/**
 * enum cnnacc_ccp_field - detail of E_CFG (1..15) and E_RANGE (16..).
 * At EXEC a unit checks its parameters in this order and reports the first bad one.
 * @CNNACC_CCP_BAD_RESERVED: a bit that must be zero
 * @CNNACC_CCP_BAD_KERNEL: kernel rows or columns
 * @CNNACC_CCP_BAD_STRIDE: stride or column stride
 * @CNNACC_CCP_BAD_PAD: layers of the pad unit not 1 or 2
 * @CNNACC_CCP_BAD_IN_SIZE: input rows or columns zero, or padded input smaller than the kernel
 * @CNNACC_CCP_BAD_OUT_SIZE: output size differs from the formula's result
 * @CNNACC_CCP_BAD_CHANNELS: a channel count zero, ci_start > ci_end, ci_end >= ci_num,
 *	co_start + co_cnt > co_num, or co_cnt more than the local output buffers hold
 * @CNNACC_CCP_BAD_VEC_ACTIVE: vec_active zero or above 16
 * @CNNACC_CCP_BAD_CONTINUE: ci_start > 0 does not continue the last conv iteration
 * @CNNACC_CCP_BAD_IN_PITCH: input plane pitch below rows * columns
 * @CNNACC_CCP_BAD_OUT_PITCH: output plane pitch below rows * columns
 * @CNNACC_CCP_BAD_LENGTH: fc length zero
 * @CNNACC_CCP_RANGE_INPUT: input outside the read bank
 * @CNNACC_CCP_RANGE_OUTPUT: output outside the write bank
 * @CNNACC_CCP_RANGE_WEIGHT: weights outside a weight bank
 * @CNNACC_CCP_RANGE_BIAS: bias outside a weight bank
 * @CNNACC_CCP_RANGE_DMA: LOAD or STORE past the end of its target
 */
enum cnnacc_ccp_field {
	CNNACC_CCP_BAD_RESERVED = 1,
	CNNACC_CCP_BAD_KERNEL = 2,
	CNNACC_CCP_BAD_STRIDE = 3,
	CNNACC_CCP_BAD_PAD = 4,
	CNNACC_CCP_BAD_IN_SIZE = 5,
	CNNACC_CCP_BAD_OUT_SIZE = 6,
	CNNACC_CCP_BAD_CHANNELS = 7,
	CNNACC_CCP_BAD_VEC_ACTIVE = 8,
	CNNACC_CCP_BAD_CONTINUE = 9,
	CNNACC_CCP_BAD_IN_PITCH = 10,
	CNNACC_CCP_BAD_OUT_PITCH = 11,
	CNNACC_CCP_BAD_LENGTH = 12,
	CNNACC_CCP_RANGE_INPUT = 16,
	CNNACC_CCP_RANGE_OUTPUT = 17,
	CNNACC_CCP_RANGE_WEIGHT = 18,
	CNNACC_CCP_RANGE_BIAS = 19,
	CNNACC_CCP_RANGE_DMA = 20,
};

/* Description of the core: initialisers of the structures in cnnacc_hw.h. */
#define CNNACC_CCP_PARAMS { \
	{ "data-bank", CNNACC_CCP_PARAM_DATA_BANK, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "weight-bank", CNNACC_CCP_PARAM_WEIGHT_BANK, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "icache", CNNACC_PARAM_PROGRAM_MAX, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "lob", CNNACC_CCP_PARAM_LOB, 0, 32, CNNACC_PARAM_F_BUILD }, \
	{ "rows", CNNACC_CCP_PARAM_GEOMETRY, 0, 8, 0 }, \
	{ "lanes", CNNACC_CCP_PARAM_GEOMETRY, 8, 8, 0 }, \
	{ "groups", CNNACC_CCP_PARAM_GEOMETRY, 16, 8, 0 }, \
	{ "kernel-max", CNNACC_CCP_PARAM_LIMITS, 0, 8, 0 }, \
	{ "stride-max", CNNACC_CCP_PARAM_LIMITS, 8, 8, 0 }, \
	{ "pad-max", CNNACC_CCP_PARAM_LIMITS, 16, 8, 0 }, \
	{ "split-banks", CNNACC_CCP_PARAM_BANKS, 0, 1, CNNACC_PARAM_F_SWITCH }, \
}

#define CNNACC_CCP_CODES { \
	{ "E_ILLEGAL", CNNACC_CCP_E_ILLEGAL, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_PC", CNNACC_CCP_E_PC, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_RANGE", CNNACC_CCP_E_RANGE, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_CFG", CNNACC_CCP_E_CFG, CNNACC_STATUS_CONFIG, 0 }, \
	{ "E_DMA", CNNACC_CCP_E_DMA, CNNACC_STATUS_MMU_FAULT, 0 }, \
}

#define CNNACC_CCP_DETAILS { \
	{ "reserved bit set", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_RESERVED }, \
	{ "kernel size", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_KERNEL }, \
	{ "stride", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_STRIDE }, \
	{ "zero layers", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_PAD }, \
	{ "input size", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_IN_SIZE }, \
	{ "output size", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_OUT_SIZE }, \
	{ "channel counts", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_CHANNELS }, \
	{ "active vectors", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_VEC_ACTIVE }, \
	{ "does not continue the last iteration", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_CONTINUE }, \
	{ "input plane pitch", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_IN_PITCH }, \
	{ "output plane pitch", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_OUT_PITCH }, \
	{ "length", CNNACC_CCP_E_CFG, CNNACC_CCP_BAD_LENGTH }, \
	{ "input outside the read bank", CNNACC_CCP_E_RANGE, CNNACC_CCP_RANGE_INPUT }, \
	{ "output outside the write bank", CNNACC_CCP_E_RANGE, CNNACC_CCP_RANGE_OUTPUT }, \
	{ "weights outside a weight bank", CNNACC_CCP_E_RANGE, CNNACC_CCP_RANGE_WEIGHT }, \
	{ "bias outside a weight bank", CNNACC_CCP_E_RANGE, CNNACC_CCP_RANGE_BIAS }, \
	{ "transfer past the end of its target", CNNACC_CCP_E_RANGE, CNNACC_CCP_RANGE_DMA }, \
}

#define CNNACC_CCP_REGS { \
	{ "ID", CNNACC_CCP_REG_ID, 1, CNNACC_CCP_ID }, \
	{ "PC", CNNACC_CCP_REG_PC, 1, 0 }, \
	{ "STATE", CNNACC_CCP_REG_STATE, 1, 0 }, \
	{ "BANK_SEL", CNNACC_CCP_REG_BANK_SEL, 1, 0 }, \
	{ "GPR", CNNACC_CCP_REG_GPR(0), CNNACC_CCP_GPRS, 0 }, \
	{ "CONV0", CNNACC_CCP_REG_CONV0(0), CNNACC_CCP_GPRS, 0 }, \
	{ "CONV1", CNNACC_CCP_REG_CONV1(0), CNNACC_CCP_GPRS, 0 }, \
	{ "POOL0", CNNACC_CCP_REG_POOL0(0), CNNACC_CCP_GPRS, 0 }, \
	{ "PAD0", CNNACC_CCP_REG_PAD0(0), CNNACC_CCP_GPRS, 0 }, \
	{ "FC0", CNNACC_CCP_REG_FC0(0), CNNACC_CCP_GPRS, 0 }, \
}

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_CCP_H */
