/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Core enpu, the EasyNPU (Documentation/hardware/enpu.rst): one instruction a layer, 16 processing
 * elements, INT8.  It is programmed through the sequencer.
 */
#ifndef CNNACC_ENPU_H
#define CNNACC_ENPU_H

#include "cnnacc_seq.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Index into cnnacc_core_entry.param. */
#define CNNACC_ENPU_PARAM_ITCM		0	/* bytes of the ITCM; side table: 4 times */
#define CNNACC_ENPU_PARAM_WORK		1	/* bytes of the working DTCM */
#define CNNACC_ENPU_PARAM_SKIP		2	/* bytes of the skip DTCM */
#define CNNACC_ENPU_PARAM_WEIGHT	3	/* bytes of the weight DTCM */
/* 7:0 PEs, 15:8 bits of a psum, 16 prefetch */
#define CNNACC_ENPU_PARAM_PE		4
/* 7:0 entries of an ifmap pad, 15:8 of a weight pad, 23:16 psums of a PE, 31:24 shift maximum */
#define CNNACC_ENPU_PARAM_LIMITS	5

#define CNNACC_ENPU_PES			16
#define CNNACC_ENPU_WORD_BYTES		16	/* of the DTCMs: 16 channels */
#define CNNACC_ENPU_INSN_BYTES		16
#define CNNACC_ENPU_RECORD_BYTES	64
#define CNNACC_ENPU_IFMAP_PAD		64	/* entries: y' * x' at most */
#define CNNACC_ENPU_WEIGHT_PAD		16	/* entries: groups of output channels at most */
#define CNNACC_ENPU_PSUMS		64	/* of a PE: y * x * zs at most */
#define CNNACC_ENPU_SHIFT_MAX		31
#define CNNACC_ENPU_BLOCK_WORDS		5	/* bias/scale block of 16 channels, DTCM words */
#define CNNACC_ENPU_LUT_WORDS		4	/* an activation table, DTCM words */
#define CNNACC_ENPU_LUT_SEGMENTS	16

/* Limits of a build: sizes are multiples of 64 bytes. */
#define CNNACC_ENPU_ITCM_MIN		64
#define CNNACC_ENPU_ITCM_MAX		0x4000
#define CNNACC_ENPU_DTCM_MIN		1024
#define CNNACC_ENPU_DTCM_MAX		0x100000
#define CNNACC_ENPU_PSUM_BITS_SMALL	24
#define CNNACC_ENPU_PSUM_BITS_LARGE	32

/* Default build; the discovery table has the actual one. */
#define CNNACC_ENPU_ITCM_DEFAULT	0x1000
#define CNNACC_ENPU_DTCM_DEFAULT	0x10000	/* of each of the three */
#define CNNACC_ENPU_PSUM_BITS_DEFAULT	32
#define CNNACC_ENPU_PROGRAM_DEFAULT	0x10000

/**
 * enum cnnacc_enpu_memory - local memories of the sequencer's commands.  Each has two banks for
 * conflicts: its lower and its upper half.
 * @CNNACC_ENPU_ITCM: instructions, struct cnnacc_enpu_insn
 * @CNNACC_ENPU_TABLE: side table, struct cnnacc_enpu_record
 * @CNNACC_ENPU_WORK: working DTCM
 * @CNNACC_ENPU_SKIP: skip DTCM
 * @CNNACC_ENPU_WEIGHT: weight DTCM
 * @CNNACC_ENPU_MEMORIES: their number
 */
enum cnnacc_enpu_memory {
	CNNACC_ENPU_ITCM = 0,
	CNNACC_ENPU_TABLE = 1,
	CNNACC_ENPU_WORK = 2,
	CNNACC_ENPU_SKIP = 3,
	CNNACC_ENPU_WEIGHT = 4,
	CNNACC_ENPU_MEMORIES = 5,
};

#define CNNACC_ENPU_BANKS		2	/* of each memory */

/* EXEC: instruction word 0 is this operation, operand 0 the ITCM index at which to start. */
#define CNNACC_ENPU_RUN			1u

/* Conditions of WAIT. */
#define CNNACC_ENPU_WAIT_IDLE		0x1u	/* no program is running */

/**
 * struct cnnacc_enpu_insn - one layer, or one stage of a fused chain, in the ITCM.
 * @word0: 7:0 opcode, 11:8 Sh, 15:12 Sw, 19:16 Ph, 23:20 Pw, 27:24 Dh, 31:28 Dw
 * @word1: 5:0 y, 11:6 x, 17:12 y', 23:18 x', 31:24 Hk
 * @word2: 7:0 Wk, 15:8 Ho, 23:16 Wo, 31:24 Co; 0 in Ho, Wo or Co means 256
 * @word3: 7:0 Ci, 0 means 256; 15:8 Zs; 31:16 zero
 */
struct cnnacc_enpu_insn {
	__le32 word0;
	__le32 word1;
	__le32 word2;
	__le32 word3;
};

#define CNNACC_ENPU_WORD0(opcode, sh, sw, ph, pw, dh, dw) \
	((__u32)(opcode) | ((__u32)(sh) << 8) | ((__u32)(sw) << 12) | ((__u32)(ph) << 16) | \
	 ((__u32)(pw) << 20) | ((__u32)(dh) << 24) | ((__u32)(dw) << 28))
#define CNNACC_ENPU_WORD1(y, x, in_y, in_x, hk) \
	((__u32)(y) | ((__u32)(x) << 6) | ((__u32)(in_y) << 12) | ((__u32)(in_x) << 18) | \
	 ((__u32)(hk) << 24))
#define CNNACC_ENPU_WORD2(wk, ho, wo, co) \
	((__u32)(wk) | (((__u32)(ho) & 255) << 8) | (((__u32)(wo) & 255) << 16) | \
	 (((__u32)(co) & 255) << 24))
#define CNNACC_ENPU_WORD3(ci, zs)	(((__u32)(ci) & 255) | ((__u32)(zs) << 8))
#define CNNACC_ENPU_WORD3_RESERVED	0xffff0000u

/**
 * enum cnnacc_enpu_opcode - opcode without CNNACC_ENPU_FUSED and CNNACC_ENPU_STORED.
 * @CNNACC_ENPU_CONV: convolution, fully connected layer
 * @CNNACC_ENPU_DEPTHWISE: depthwise convolution
 * @CNNACC_ENPU_BN: multiply and add by channel
 * @CNNACC_ENPU_CONV_RELU: convolution and ReLU
 * @CNNACC_ENPU_RELU: ReLU
 * @CNNACC_ENPU_LUT: activation by a table of 16 segments
 * @CNNACC_ENPU_MAX_POOL: maximum of a window
 * @CNNACC_ENPU_AVG_POOL: as depthwise convolution
 * @CNNACC_ENPU_ADD: saturating sum of two maps
 * @CNNACC_ENPU_MUL: requantised product of two maps
 * @CNNACC_ENPU_RESHAPE: permutation and split of dimensions
 * @CNNACC_ENPU_STOP: end of the program, the whole byte
 */
enum cnnacc_enpu_opcode {
	CNNACC_ENPU_CONV = 0x00,
	CNNACC_ENPU_DEPTHWISE = 0x01,
	CNNACC_ENPU_BN = 0x02,
	CNNACC_ENPU_CONV_RELU = 0x04,
	CNNACC_ENPU_RELU = 0x06,
	CNNACC_ENPU_LUT = 0x0a,
	CNNACC_ENPU_MAX_POOL = 0x0e,
	CNNACC_ENPU_AVG_POOL = 0x12,
	CNNACC_ENPU_ADD = 0x16,
	CNNACC_ENPU_MUL = 0x1a,
	CNNACC_ENPU_RESHAPE = 0x80,
	CNNACC_ENPU_STOP = 0xff,
};

#define CNNACC_ENPU_FUSED		0x20u	/* the next one is a stage of this layer */
#define CNNACC_ENPU_STORED		0x40u	/* the result is also stored in the skip DTCM */

/**
 * struct cnnacc_enpu_record - what an instruction lacks; record i belongs to instruction i.
 * Addresses and steps count words of 16 bytes.  Fields without a meaning for the instruction are
 * ignored.
 * @flags: CNNACC_ENPU_F_*; other bits zero
 * @in_size: of map A: 15:0 Hi, 31:16 Wi
 * @in: map A, in the working DTCM, with CNNACC_ENPU_F_A_SKIP in the skip DTCM
 * @out: result in the working DTCM
 * @skip: result in the skip DTCM, of a stored instruction
 * @b: map B of ADD and MUL, in the skip DTCM, with CNNACC_ENPU_F_B_WORK in the working DTCM
 * @weight: weights in the weight DTCM
 * @block: bias/scale block in the weight DTCM, with CNNACC_ENPU_F_BLOCK
 * @lut: activation table in the weight DTCM
 * @steps: words from a pixel to the next, 0: as many as its channels need; 7:0 of map A, 15:8 of
 *	map B, 23:16 of the results; 31:24 zero
 * @shift: 7:0 signed shift without CNNACC_ENPU_F_BLOCK; 31:8 zero
 * @pad: 7:0 signed padding value; 31:8 zero
 * @reshape: CNNACC_ENPU_SHAPE()
 * @reserved: zero
 */
struct cnnacc_enpu_record {
	__le32 flags;
	__le32 in_size;
	__le32 in;
	__le32 out;
	__le32 skip;
	__le32 b;
	__le32 weight;
	__le32 block;
	__le32 lut;
	__le32 steps;
	__le32 shift;
	__le32 pad;
	__le32 reshape;
	__le32 reserved[3];
};

#define CNNACC_ENPU_F_OUT_ONLY		0x1u	/* STORED: result in the skip DTCM only */
#define CNNACC_ENPU_F_A_SKIP		0x2u	/* map A is in the skip DTCM */
#define CNNACC_ENPU_F_B_WORK		0x4u	/* map B is in the working DTCM */
#define CNNACC_ENPU_F_BLOCK		0x8u	/* bias and shift of each channel from a block */
#define CNNACC_ENPU_FLAGS		0x0000000fu

/*
 * RESHAPE.  Dimensions are 0 N, 1 H, 2 W, 3 C.  Dimension @split is cut into @factor equal parts,
 * which are stacked on dimension @stack (@factor 0 or 1: nothing is cut); then dimension i of the
 * result is dimension perm_i.
 */
#define CNNACC_ENPU_PERM(p0, p1, p2, p3) \
	((__u32)(p0) | ((__u32)(p1) << 2) | ((__u32)(p2) << 4) | ((__u32)(p3) << 6))
#define CNNACC_ENPU_SHAPE(perm, split, stack, interleave, factor) \
	((__u32)(perm) | ((__u32)(split) << 8) | ((__u32)(stack) << 10) | \
	 ((__u32)(interleave) << 12) | ((__u32)(factor) << 16))
#define CNNACC_ENPU_PERM_MASK		0x000000ffu
#define CNNACC_ENPU_SPLIT_SHIFT		8	/* two bits */
#define CNNACC_ENPU_STACK_SHIFT		10	/* two bits */
#define CNNACC_ENPU_INTERLEAVE		0x00001000u	/* the parts alternate along @stack */
#define CNNACC_ENPU_FACTOR_SHIFT	16	/* eight bits */
#define CNNACC_ENPU_SHAPE_RESERVED	0xff00e000u

/* An entry of an activation table, 32 bits: y = clamp8(((a * x) >> shift) + b). */
#define CNNACC_ENPU_SEGMENT(a, b, shift) \
	(((__u32)(a) & 0xff) | (((__u32)(b) & 0xffff) << 8) | (((__u32)(shift) & 15) << 24))

/**
 * enum cnnacc_enpu_code - status codes of enpu.
 * @CNNACC_ENPU_E_ILLEGAL: class BAD_PROGRAM; detail is enum cnnacc_enpu_illegal
 * @CNNACC_ENPU_E_BUSY: class BAD_PROGRAM: a program is running; detail 0
 * @CNNACC_ENPU_E_CFG: class CONFIG; detail is enum cnnacc_enpu_cfg
 * @CNNACC_ENPU_E_RANGE: class BAD_PROGRAM: past the end of a memory; detail is
 *	enum cnnacc_enpu_range
 * @CNNACC_ENPU_E_OVERLAP: class BAD_PROGRAM: a layer would overwrite what it still needs; detail
 *	is enum cnnacc_enpu_overlap
 */
enum cnnacc_enpu_code {
	CNNACC_ENPU_E_ILLEGAL = 32,
	CNNACC_ENPU_E_BUSY = 33,
	CNNACC_ENPU_E_CFG = 34,
	CNNACC_ENPU_E_RANGE = 35,
	CNNACC_ENPU_E_OVERLAP = 36,
};

/**
 * enum cnnacc_enpu_illegal - detail of E_ILLEGAL, in the order of the checks.
 * @CNNACC_ENPU_BAD_EXEC: operation of EXEC
 * @CNNACC_ENPU_BAD_OPCODE: not in enum cnnacc_enpu_opcode
 * @CNNACC_ENPU_BAD_CHAIN: an opcode that cannot be a later stage, or a fused RESHAPE
 */
enum cnnacc_enpu_illegal {
	CNNACC_ENPU_BAD_EXEC = 1,
	CNNACC_ENPU_BAD_OPCODE = 2,
	CNNACC_ENPU_BAD_CHAIN = 3,
};

/**
 * enum cnnacc_enpu_cfg - detail of E_CFG, in the order of the checks.
 * @CNNACC_ENPU_BAD_RESERVED: a bit that must be zero
 * @CNNACC_ENPU_BAD_FLAGS: a flag without a meaning for the instruction
 * @CNNACC_ENPU_BAD_SHAPE: Ho, Wo or Co of a later stage is not that of the first
 * @CNNACC_ENPU_BAD_TILE: y or x is 0
 * @CNNACC_ENPU_BAD_ZS: Zs
 * @CNNACC_ENPU_BAD_PSUMS: y * x * Zs above 64
 * @CNNACC_ENPU_BAD_KERNEL: Hk or Wk is 0
 * @CNNACC_ENPU_BAD_STRIDE: Sh or Sw is 0
 * @CNNACC_ENPU_BAD_TILE_Y: y' is not what the formula gives
 * @CNNACC_ENPU_BAD_TILE_X: x' is not what the formula gives
 * @CNNACC_ENPU_BAD_PAD: y' * x' above 64
 * @CNNACC_ENPU_BAD_IN_SIZE: Hi or Wi is 0
 * @CNNACC_ENPU_BAD_RESHAPE: not a permutation, or a split that is not possible
 * @CNNACC_ENPU_BAD_STEP_A: step below the words of a pixel of map A
 * @CNNACC_ENPU_BAD_STEP_B: of map B
 * @CNNACC_ENPU_BAD_STEP_OUT: of the results
 * @CNNACC_ENPU_BAD_SHIFT: shift outside -31..31
 */
enum cnnacc_enpu_cfg {
	CNNACC_ENPU_BAD_RESERVED = 1,
	CNNACC_ENPU_BAD_FLAGS = 2,
	CNNACC_ENPU_BAD_SHAPE = 3,
	CNNACC_ENPU_BAD_TILE = 4,
	CNNACC_ENPU_BAD_ZS = 5,
	CNNACC_ENPU_BAD_PSUMS = 6,
	CNNACC_ENPU_BAD_KERNEL = 7,
	CNNACC_ENPU_BAD_STRIDE = 8,
	CNNACC_ENPU_BAD_TILE_Y = 9,
	CNNACC_ENPU_BAD_TILE_X = 10,
	CNNACC_ENPU_BAD_PAD = 11,
	CNNACC_ENPU_BAD_IN_SIZE = 12,
	CNNACC_ENPU_BAD_RESHAPE = 13,
	CNNACC_ENPU_BAD_STEP_A = 14,
	CNNACC_ENPU_BAD_STEP_B = 15,
	CNNACC_ENPU_BAD_STEP_OUT = 16,
	CNNACC_ENPU_BAD_SHIFT = 17,
};

/**
 * enum cnnacc_enpu_range - detail of E_RANGE, in the order of the checks.
 * @CNNACC_ENPU_RANGE_ITCM: the program goes on past the end of the ITCM
 * @CNNACC_ENPU_RANGE_A: map A
 * @CNNACC_ENPU_RANGE_B: map B
 * @CNNACC_ENPU_RANGE_WEIGHT: weights
 * @CNNACC_ENPU_RANGE_BLOCK: bias/scale block
 * @CNNACC_ENPU_RANGE_LUT: activation table
 * @CNNACC_ENPU_RANGE_SKIP: result in the skip DTCM
 * @CNNACC_ENPU_RANGE_OUT: result in the working DTCM
 */
enum cnnacc_enpu_range {
	CNNACC_ENPU_RANGE_ITCM = 1,
	CNNACC_ENPU_RANGE_A = 2,
	CNNACC_ENPU_RANGE_B = 3,
	CNNACC_ENPU_RANGE_WEIGHT = 4,
	CNNACC_ENPU_RANGE_BLOCK = 5,
	CNNACC_ENPU_RANGE_LUT = 6,
	CNNACC_ENPU_RANGE_SKIP = 7,
	CNNACC_ENPU_RANGE_OUT = 8,
};

/**
 * enum cnnacc_enpu_overlap - detail of E_OVERLAP: what a result overlaps.
 * @CNNACC_ENPU_OVERLAP_A: map A
 * @CNNACC_ENPU_OVERLAP_B: a map B
 * @CNNACC_ENPU_OVERLAP_RESULT: another result of the layer
 */
enum cnnacc_enpu_overlap {
	CNNACC_ENPU_OVERLAP_A = 1,
	CNNACC_ENPU_OVERLAP_B = 2,
	CNNACC_ENPU_OVERLAP_RESULT = 3,
};

/* Core window behind the sequencer's registers, all read only. */
#define CNNACC_ENPU_REG_STATUS		0x040	/* 0: a program is running */
#define CNNACC_ENPU_REG_START		0x044	/* operand 0 of the last EXEC */
#define CNNACC_ENPU_REG_END		0x048	/* ITCM index of the STOP of its program */
#define CNNACC_ENPU_REG_BANKS		0x04c	/* claimed banks: bit 2 * memory + bank */
#define CNNACC_ENPU_REG_ERR_INSN	0x050	/* ITCM index of the instruction that failed */
#define CNNACC_ENPU_REG_ERR_VALUE	0x054	/* value that is wrong */
#define CNNACC_ENPU_REG_ERR_LIMIT	0x058	/* what it should have been, or its limit */
/* Counters of the job, lo and hi. */
#define CNNACC_ENPU_REG_LAYERS		0x080	/* layers; a chain is one */
#define CNNACC_ENPU_REG_TILES		0x088	/* tiles */
#define CNNACC_ENPU_REG_SETUP		0x090	/* clocks of fetch and parameters */
#define CNNACC_ENPU_REG_COMPUTE		0x098	/* clocks of first stages */
#define CNNACC_ENPU_REG_FUSED		0x0a0	/* clocks of later stages */
#define CNNACC_ENPU_REG_LOAD		0x0a8	/* clocks of loads, hidden or not */
#define CNNACC_ENPU_REG_STORE		0x0b0	/* clocks of stores */
#define CNNACC_ENPU_REG_WORK_READS	0x0b8	/* words read from the working DTCM */
#define CNNACC_ENPU_REG_WORK_WRITES	0x0c0	/* words, or single bytes, written to it */
#define CNNACC_ENPU_REG_SKIP_READS	0x0c8
#define CNNACC_ENPU_REG_SKIP_WRITES	0x0d0
#define CNNACC_ENPU_REG_WEIGHT_READS	0x0d8	/* words read from the weight DTCM */
#define CNNACC_ENPU_REG_IFPAD_WRITES	0x0e0	/* words written to the 16 ifmap pads */
#define CNNACC_ENPU_REG_IFPAD_READS	0x0e8	/* clocks in which ifmap pads were read */
#define CNNACC_ENPU_REG_WPAD_WRITES	0x0f0	/* words written to the 16 weight pads */
#define CNNACC_ENPU_REG_WPAD_READS	0x0f8	/* clocks in which weight pads were read */
#define CNNACC_ENPU_REG_PSUM_READS	0x100	/* clocks in which psum pads were read */
#define CNNACC_ENPU_REG_PSUM_WRITES	0x108	/* clocks in which psum pads were written */
#define CNNACC_ENPU_WINDOW_SIZE		0x1000

#define CNNACC_ENPU_STATUS_RUNNING	0x1u

#define CNNACC_ENPU_ID			0x55504e45	/* "ENPU" */

enum cnnacc_enpu_layout {
	CNNACC_LAYOUT_ENPU_INSN = CNNACC_LAYOUT(sizeof(struct cnnacc_enpu_insn) ==
						CNNACC_ENPU_INSN_BYTES),
	CNNACC_LAYOUT_ENPU_RECORD = CNNACC_LAYOUT(sizeof(struct cnnacc_enpu_record) ==
						  CNNACC_ENPU_RECORD_BYTES),
	CNNACC_LAYOUT_ENPU_RESHAPE = CNNACC_LAYOUT(CNNACC_AT(enpu_record, reshape) == 48),
};

/* Description of the core: initialisers of the structures in cnnacc_hw.h. */
#define CNNACC_ENPU_PARAMS { \
	{ "itcm", CNNACC_ENPU_PARAM_ITCM, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "dtcm", CNNACC_ENPU_PARAM_WORK, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "skip", CNNACC_ENPU_PARAM_SKIP, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "weight", CNNACC_ENPU_PARAM_WEIGHT, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "program", CNNACC_PARAM_PROGRAM_MAX, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "pes", CNNACC_ENPU_PARAM_PE, 0, 8, 0 }, \
	{ "psum-bits", CNNACC_ENPU_PARAM_PE, 8, 8, CNNACC_PARAM_F_BUILD }, \
	{ "prefetch", CNNACC_ENPU_PARAM_PE, 16, 1, CNNACC_PARAM_F_SWITCH }, \
	{ "ifmap-pad", CNNACC_ENPU_PARAM_LIMITS, 0, 8, 0 }, \
	{ "weight-pad", CNNACC_ENPU_PARAM_LIMITS, 8, 8, 0 }, \
	{ "psums", CNNACC_ENPU_PARAM_LIMITS, 16, 8, 0 }, \
	{ "shift-max", CNNACC_ENPU_PARAM_LIMITS, 24, 8, 0 }, \
}

#define CNNACC_ENPU_CODES { \
	{ "E_ILLEGAL", CNNACC_ENPU_E_ILLEGAL, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_BUSY", CNNACC_ENPU_E_BUSY, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_CFG", CNNACC_ENPU_E_CFG, CNNACC_STATUS_CONFIG, 0 }, \
	{ "E_RANGE", CNNACC_ENPU_E_RANGE, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_OVERLAP", CNNACC_ENPU_E_OVERLAP, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
}

#define CNNACC_ENPU_DETAILS { \
	{ "operation of EXEC", CNNACC_ENPU_E_ILLEGAL, CNNACC_ENPU_BAD_EXEC }, \
	{ "opcode", CNNACC_ENPU_E_ILLEGAL, CNNACC_ENPU_BAD_OPCODE }, \
	{ "opcode in a fused chain", CNNACC_ENPU_E_ILLEGAL, CNNACC_ENPU_BAD_CHAIN }, \
	{ "a program is running", CNNACC_ENPU_E_BUSY, 0 }, \
	{ "reserved bit set", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_RESERVED }, \
	{ "flags", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_FLAGS }, \
	{ "size of a fused stage", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_SHAPE }, \
	{ "y or x", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_TILE }, \
	{ "Zs", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_ZS }, \
	{ "y * x * Zs", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_PSUMS }, \
	{ "kernel size", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_KERNEL }, \
	{ "stride", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_STRIDE }, \
	{ "y'", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_TILE_Y }, \
	{ "x'", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_TILE_X }, \
	{ "y' * x'", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_PAD }, \
	{ "Hi or Wi", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_IN_SIZE }, \
	{ "reshape", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_RESHAPE }, \
	{ "step of map A", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_STEP_A }, \
	{ "step of map B", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_STEP_B }, \
	{ "step of the results", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_STEP_OUT }, \
	{ "shift", CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_SHIFT }, \
	{ "ITCM", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_ITCM }, \
	{ "map A", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_A }, \
	{ "map B", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_B }, \
	{ "weights", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_WEIGHT }, \
	{ "bias/scale block", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_BLOCK }, \
	{ "activation table", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_LUT }, \
	{ "result in the skip DTCM", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_SKIP }, \
	{ "result in the working DTCM", CNNACC_ENPU_E_RANGE, CNNACC_ENPU_RANGE_OUT }, \
	{ "map A", CNNACC_ENPU_E_OVERLAP, CNNACC_ENPU_OVERLAP_A }, \
	{ "map B", CNNACC_ENPU_E_OVERLAP, CNNACC_ENPU_OVERLAP_B }, \
	{ "another result", CNNACC_ENPU_E_OVERLAP, CNNACC_ENPU_OVERLAP_RESULT }, \
}

#define CNNACC_ENPU_REGS { \
	{ "ID", CNNACC_SEQ_REG_ID, 1, CNNACC_ENPU_ID }, \
	{ "STATUS", CNNACC_ENPU_REG_STATUS, 1, 0 }, \
	{ "START", CNNACC_ENPU_REG_START, 1, 0 }, \
	{ "END", CNNACC_ENPU_REG_END, 1, 0 }, \
	{ "BANKS", CNNACC_ENPU_REG_BANKS, 1, 0 }, \
	{ "ERR_INSN", CNNACC_ENPU_REG_ERR_INSN, 1, 0 }, \
	{ "ERR_VALUE", CNNACC_ENPU_REG_ERR_VALUE, 1, 0 }, \
	{ "ERR_LIMIT", CNNACC_ENPU_REG_ERR_LIMIT, 1, 0 }, \
	{ "LAYERS", CNNACC_ENPU_REG_LAYERS, 2, 0 }, \
	{ "TILES", CNNACC_ENPU_REG_TILES, 2, 0 }, \
	{ "SETUP", CNNACC_ENPU_REG_SETUP, 2, 0 }, \
	{ "COMPUTE", CNNACC_ENPU_REG_COMPUTE, 2, 0 }, \
	{ "FUSED", CNNACC_ENPU_REG_FUSED, 2, 0 }, \
	{ "LOAD", CNNACC_ENPU_REG_LOAD, 2, 0 }, \
	{ "STORE", CNNACC_ENPU_REG_STORE, 2, 0 }, \
	{ "WORK_READS", CNNACC_ENPU_REG_WORK_READS, 2, 0 }, \
	{ "WORK_WRITES", CNNACC_ENPU_REG_WORK_WRITES, 2, 0 }, \
	{ "SKIP_READS", CNNACC_ENPU_REG_SKIP_READS, 2, 0 }, \
	{ "SKIP_WRITES", CNNACC_ENPU_REG_SKIP_WRITES, 2, 0 }, \
	{ "WEIGHT_READS", CNNACC_ENPU_REG_WEIGHT_READS, 2, 0 }, \
	{ "IFPAD_WRITES", CNNACC_ENPU_REG_IFPAD_WRITES, 2, 0 }, \
	{ "IFPAD_READS", CNNACC_ENPU_REG_IFPAD_READS, 2, 0 }, \
	{ "WPAD_WRITES", CNNACC_ENPU_REG_WPAD_WRITES, 2, 0 }, \
	{ "WPAD_READS", CNNACC_ENPU_REG_WPAD_READS, 2, 0 }, \
	{ "PSUM_READS", CNNACC_ENPU_REG_PSUM_READS, 2, 0 }, \
	{ "PSUM_WRITES", CNNACC_ENPU_REG_PSUM_WRITES, 2, 0 }, \
}

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_ENPU_H */
