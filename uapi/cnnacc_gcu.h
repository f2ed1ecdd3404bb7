/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Core gcu, the generic convolution unit (Documentation/hardware/gcu.rst).
 * A program is an array of 256-byte blocks, which run in order.
 */
#ifndef CNNACC_GCU_H
#define CNNACC_GCU_H

#include "cnnacc_hw.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Index into cnnacc_core_entry.param. */
#define CNNACC_GCU_PARAM_ATOMIC		0	/* 7:0 ATOMIC_C, 15:8 ATOMIC_K */
#define CNNACC_GCU_PARAM_CBUF		1	/* 15:0 CBUF_BANK_N, 31:16 words of a bank */
#define CNNACC_GCU_PARAM_ROWS		2	/* MAX_FMBUF_ROWN */
#define CNNACC_GCU_PARAM_RBUF		3	/* 15:0 RBUF_BANK_N, 31:16 RBUF_DEPTH */
#define CNNACC_GCU_PARAM_BUS		4	/* bytes per clock of each memory stream */
#define CNNACC_GCU_PARAM_FP		5
/* 7:0 kernel points, 15:8 stride, 23:16 dilation, 31:24 inner padding: maxima */
#define CNNACC_GCU_PARAM_LIMITS		6
#define CNNACC_GCU_FP_FLOOR		0x1u	/* FP16 products are truncated to minus infinity */

#define CNNACC_GCU_BANK_WORDS		512
#define CNNACC_GCU_POINTS_MAX		121	/* R * S */
#define CNNACC_GCU_STRIDE_MAX		8
#define CNNACC_GCU_DILATION_MAX		63
#define CNNACC_GCU_INNER_MAX		7
#define CNNACC_GCU_COLUMNS_MIN		4	/* fmbufcoln = this << code */
#define CNNACC_GCU_COLUMNS_CODE_MAX	10
#define CNNACC_GCU_LOOKAHEAD		256	/* op4 between the array and the row requests */
#define CNNACC_GCU_UPDATE_INT		4	/* RBUF_WT_LA of INT8 and INT16 */
#define CNNACC_GCU_UPDATE_FP16		9	/* RBUF_WT_LA of FP16 */

/* Limits of a build; ATOMIC_C and ATOMIC_K are 4, 8, 16 or 32. */
#define CNNACC_GCU_ATOMIC_MAX		32
#define CNNACC_GCU_CBUF_BANKS_MIN	4
#define CNNACC_GCU_CBUF_BANKS_MAX	32
#define CNNACC_GCU_CBUF_MAX		0x100000	/* bytes of the largest CBUF */
#define CNNACC_GCU_ROWS_MIN		8
#define CNNACC_GCU_ROWS_MAX		1024	/* multiple of 8 */
#define CNNACC_GCU_RBUF_BANKS_MIN	2
#define CNNACC_GCU_RBUF_BANKS_MAX	8
#define CNNACC_GCU_RBUF_DEPTH_MIN	16
#define CNNACC_GCU_RBUF_DEPTH_MAX	4096	/* multiple of 16 */
#define CNNACC_GCU_RBUF_MAX		0x400000	/* bytes of the largest RBUF */
#define CNNACC_GCU_BUS_MIN		8	/* a power of two */
#define CNNACC_GCU_BUS_MAX		64

/* Default build; the discovery table has the actual one. */
#define CNNACC_GCU_ATOMIC_DEFAULT	8
#define CNNACC_GCU_CBUF_BANKS_DEFAULT	16
#define CNNACC_GCU_ROWS_DEFAULT		512
#define CNNACC_GCU_RBUF_BANKS_DEFAULT	4
#define CNNACC_GCU_RBUF_DEPTH_DEFAULT	512
#define CNNACC_GCU_BUS_DEFAULT		64
#define CNNACC_GCU_PROGRAM_DEFAULT	0x10000

/* ------------------------------------------------------------------ program */

/**
 * struct cnnacc_gcu_map - a map in memory, in groups of ATOMIC_C channels.
 * @va: VA of channel 0, row 0, column 0
 * @column_stride: bytes from a column to the next
 * @row_stride: bytes from a row to the next
 * @group_stride: bytes from a channel to the one ATOMIC_C behind it
 */
struct cnnacc_gcu_map {
	__u32 va;
	__u32 column_stride;
	__u32 row_stride;
	__u32 group_stride;
};

/**
 * struct cnnacc_gcu_layer - a block of kind CNNACC_GCU_LAYER (256 bytes).
 * @control: CNNACC_GCU_* and fields below
 * @zero_in: 15:0 zero point of the ifmap, 31:16 of the weights; both signed
 * @zero_out: zero point of the ofmap, signed
 * @in_size: 15:0 W, 31:16 H
 * @channels: 15:0 C, 31:16 K
 * @out_size: 15:0 ofmw, 31:16 ofmh
 * @kernel: 7:0 S (columns), 15:8 R (rows), 23:16 column stride, 31:24 row stride
 * @spacing: 7:0 column dilation, 15:8 row dilation, 23:16 inner padding between columns, 31:24
 *	between rows
 * @padding: 7:0 left, 15:8 right, 23:16 top, 31:24 bottom
 * @groups: 15:0 group_n
 * @fmbuf: 7:0 fmbufbankn, 11:8 code of fmbufcoln, 31:16 fmbufrown
 * @kbuf: 7:0 kbufgrpsz, 31:16 kbufgrpn
 * @threshold: 15:0 valid rows that the FIFO scheme keeps
 * @table_entries: entries of both replacement tables
 * @act_factor: factor of the activation: signed integer or FP32
 * @act_shift: 5:0 its right shift
 * @ifmap: input
 * @psum: accumulators to continue
 * @ofmap: output
 * @weight_va: weights, 64-byte aligned, as all below
 * @linear_va: K of struct cnnacc_gcu_linear
 * @lut_va: CNNACC_GCU_LUT_ENTRIES of __le16
 * @increment_va: increment table, one byte for each entry
 * @vector_va: eviction vector table
 * @clamp_low: least output: signed integer or FP32
 * @clamp_high: largest output
 * @reserved: zero
 */
struct cnnacc_gcu_layer {
	__u32 control;
	__u32 zero_in;
	__u32 zero_out;
	__u32 in_size;
	__u32 channels;
	__u32 out_size;
	__u32 kernel;
	__u32 spacing;
	__u32 padding;
	__u32 groups;
	__u32 fmbuf;
	__u32 kbuf;
	__u32 threshold;
	__u32 table_entries;
	__u32 act_factor;
	__u32 act_shift;
	struct cnnacc_gcu_map ifmap;
	struct cnnacc_gcu_map psum;
	struct cnnacc_gcu_map ofmap;
	__u32 weight_va;
	__u32 linear_va;
	__u32 lut_va;
	__u32 increment_va;
	__u32 vector_va;
	__u32 clamp_low;
	__u32 clamp_high;
	__u32 reserved[29];
};

/**
 * struct cnnacc_gcu_probe - a block of kind CNNACC_GCU_PROBE or CNNACC_GCU_FILL (256 bytes).
 * @control: 3:0 kind
 * @port: enum cnnacc_gcu_port
 * @address: logical byte address of the first word; for SEARCH 15:0 channel group, 31:16 row
 * @count: words, 1..CNNACC_GCU_PROBE_WORDS; for SEARCH the column
 * @va: where the words go or come from, 64-byte aligned
 * @fmbuf_banks: fmbufbankn; for SEARCH zero
 * @reserved: zero
 */
struct cnnacc_gcu_probe {
	__u32 control;
	__u32 port;
	__u32 address;
	__u32 count;
	__u32 va;
	__u32 fmbuf_banks;
	__u32 reserved[58];
};

/**
 * struct cnnacc_gcu_wait - a block of kind CNNACC_GCU_WAIT (256 bytes).
 * @control: 3:0 kind
 * @cycles: how long
 * @reserved: zero
 */
struct cnnacc_gcu_wait {
	__u32 control;
	__u32 cycles;
	__u32 reserved[62];
};

/**
 * struct cnnacc_gcu_linear - linear multiply-add of one output channel (16 bytes).
 * @a: factor: signed integer or FP32
 * @shift: integers: 5:0 right shift; other bits, and all of it for FP16, are ignored
 * @b_lo: addend: bits 31:0 of a signed 64-bit integer, or FP32
 * @b_hi: integers: bits 63:32; FP16: ignored
 */
struct cnnacc_gcu_linear {
	__le32 a;
	__le32 shift;
	__le32 b_lo;
	__le32 b_hi;
};

#define CNNACC_GCU_BLOCK_SIZE		256
#define CNNACC_GCU_LUT_ENTRIES		4096
#define CNNACC_GCU_PROBE_WORDS		16384
#define CNNACC_GCU_MISS			0xffffffffu	/* SEARCH: no slot holds the row */
#define CNNACC_GCU_RESTART		255		/* increment that restarts the tables */

/* control */
#define CNNACC_GCU_KIND_MASK		0x0000000fu	/* enum cnnacc_gcu_kind */
#define CNNACC_GCU_FORMAT_SHIFT		4		/* 2 bits: enum cnnacc_gcu_format */
#define CNNACC_GCU_UNSIGNED_IFMAP	0x00000100u	/* INT8 */
#define CNNACC_GCU_UNSIGNED_WEIGHTS	0x00000200u	/* INT8 */
#define CNNACC_GCU_ACC16		0x00000400u	/* INT8: accumulators of 16 bits */
#define CNNACC_GCU_PSUM			0x00000800u	/* accumulators begin with those of psum */
#define CNNACC_GCU_LINEAR		0x00001000u	/* linear multiply-add */
#define CNNACC_GCU_ROUND_UP		0x00002000u	/* its rounding: halves up, not to even */
#define CNNACC_GCU_CLAMP		0x00004000u	/* limit to clamp_low..clamp_high */
#define CNNACC_GCU_TABLE		0x00008000u	/* replacement by tables, not FIFO */
#define CNNACC_GCU_ACT_SHIFT		16		/* 3 bits: enum cnnacc_gcu_act */
#define CNNACC_GCU_OUT_SHIFT		20		/* 3 bits: enum cnnacc_gcu_out */
#define CNNACC_GCU_CONTROL_RESERVED	0xff8800c0u

/**
 * enum cnnacc_gcu_kind - kind of a block.
 * @CNNACC_GCU_LAYER: convolution
 * @CNNACC_GCU_PROBE: store what CBUF holds, for diagnosis
 * @CNNACC_GCU_FILL: the reverse
 * @CNNACC_GCU_WAIT: let time pass
 */
enum cnnacc_gcu_kind {
	CNNACC_GCU_LAYER = 1,
	CNNACC_GCU_PROBE = 2,
	CNNACC_GCU_FILL = 3,
	CNNACC_GCU_WAIT = 4,
};

/**
 * enum cnnacc_gcu_format - calfmt, type of ifmap and weights.
 * @CNNACC_GCU_INT8: 8 bits, signed or unsigned
 * @CNNACC_GCU_INT16: 16 bits, signed
 * @CNNACC_GCU_FP16: half precision
 */
enum cnnacc_gcu_format {
	CNNACC_GCU_INT8 = 0,
	CNNACC_GCU_INT16 = 1,
	CNNACC_GCU_FP16 = 2,
};

/**
 * enum cnnacc_gcu_act - activation.
 * @CNNACC_GCU_ACT_NONE: none
 * @CNNACC_GCU_ACT_RELU: negative values become zero
 * @CNNACC_GCU_ACT_LEAKY: negative values are multiplied by act_factor
 * @CNNACC_GCU_ACT_SIGMOID: by the table at lut_va
 * @CNNACC_GCU_ACT_TANH: by the same table
 */
enum cnnacc_gcu_act {
	CNNACC_GCU_ACT_NONE = 0,
	CNNACC_GCU_ACT_RELU = 1,
	CNNACC_GCU_ACT_LEAKY = 2,
	CNNACC_GCU_ACT_SIGMOID = 3,
	CNNACC_GCU_ACT_TANH = 4,
};

/**
 * enum cnnacc_gcu_out - type of the ofmap.
 * @CNNACC_GCU_OUT_INT8: of INT8 and INT16, as the next three
 * @CNNACC_GCU_OUT_UINT8: unsigned
 * @CNNACC_GCU_OUT_INT16: signed
 * @CNNACC_GCU_OUT_INT32: signed; accumulators, unless something changes them
 * @CNNACC_GCU_OUT_FP16: of FP16
 * @CNNACC_GCU_OUT_FP32: of FP16; accumulators, unless something changes them
 */
enum cnnacc_gcu_out {
	CNNACC_GCU_OUT_INT8 = 0,
	CNNACC_GCU_OUT_UINT8 = 1,
	CNNACC_GCU_OUT_INT16 = 2,
	CNNACC_GCU_OUT_INT32 = 3,
	CNNACC_GCU_OUT_FP16 = 4,
	CNNACC_GCU_OUT_FP32 = 5,
};

/**
 * enum cnnacc_gcu_port - what a probe reads, a fill writes.
 * @CNNACC_GCU_PORT_FMAP: feature-map area
 * @CNNACC_GCU_PORT_KERNEL: kernel area
 * @CNNACC_GCU_PORT_SEARCH: where a surface is; probes only
 */
enum cnnacc_gcu_port {
	CNNACC_GCU_PORT_FMAP = 0,
	CNNACC_GCU_PORT_KERNEL = 1,
	CNNACC_GCU_PORT_SEARCH = 2,
};

/* ------------------------------------------------------------- status codes */

/**
 * enum cnnacc_gcu_code - status codes of gcu.
 * @CNNACC_GCU_E_LENGTH: class BAD_PROGRAM: the program is not a number of blocks; detail is the
 *	number of bytes after the last whole block
 * @CNNACC_GCU_E_CFG: class CONFIG; detail is enum cnnacc_gcu_field
 * @CNNACC_GCU_E_RANGE: class BAD_PROGRAM: a probe or fill outside its area; detail is enum
 *	cnnacc_gcu_port
 * @CNNACC_GCU_E_TABLE: class BAD_PROGRAM: past the end of the replacement tables; detail is the
 *	entry
 * @CNNACC_GCU_E_DEADLOCK: class DEADLOCK; detail is enum cnnacc_gcu_deadlock
 * @CNNACC_GCU_E_DMA: class MMU_FAULT or BUS_ERROR; detail is enum cnnacc_fault_level
 */
enum cnnacc_gcu_code {
	CNNACC_GCU_E_LENGTH = 16,
	CNNACC_GCU_E_CFG = 17,
	CNNACC_GCU_E_RANGE = 18,
	CNNACC_GCU_E_TABLE = 19,
	CNNACC_GCU_E_DEADLOCK = 20,
	CNNACC_GCU_E_DMA = 21,
};

/**
 * enum cnnacc_gcu_field - detail of E_CFG, in the order of the checks.
 * @CNNACC_GCU_BAD_KIND: kind of the block
 * @CNNACC_GCU_BAD_RESERVED: a bit that must be zero
 * @CNNACC_GCU_BAD_PORT: port of a probe
 * @CNNACC_GCU_BAD_COUNT: number of words of a probe
 * @CNNACC_GCU_BAD_FORMAT: calfmt
 * @CNNACC_GCU_BAD_FLAGS: a flag that the format or the other flags do not allow
 * @CNNACC_GCU_BAD_ACT: activation
 * @CNNACC_GCU_BAD_OUT: type of the ofmap
 * @CNNACC_GCU_BAD_UNUSED: a word that the layer does not use is not zero
 * @CNNACC_GCU_BAD_ZERO: a zero point outside its type
 * @CNNACC_GCU_BAD_SIZE: W, H, C or K zero
 * @CNNACC_GCU_BAD_KERNEL: R or S zero, or too many points
 * @CNNACC_GCU_BAD_STRIDE: a stride
 * @CNNACC_GCU_BAD_DILATION: a dilation
 * @CNNACC_GCU_BAD_INNER: an inner padding
 * @CNNACC_GCU_BAD_GROUPS: group_n
 * @CNNACC_GCU_BAD_OUT_SIZE: ofmw or ofmh zero or larger than the formula's result
 * @CNNACC_GCU_BAD_RBUF: ofmw larger than a bank of RBUF
 * @CNNACC_GCU_BAD_BANKS: fmbufbankn
 * @CNNACC_GCU_BAD_COLUMNS: fmbufcoln
 * @CNNACC_GCU_BAD_ROWS: fmbufrown
 * @CNNACC_GCU_BAD_KBUF_SIZE: kbufgrpsz
 * @CNNACC_GCU_BAD_KBUF_GROUPS: kbufgrpn
 * @CNNACC_GCU_BAD_TABLE: no entries
 * @CNNACC_GCU_BAD_CLAMP: clamp_low above clamp_high, or a NaN
 * @CNNACC_GCU_BAD_ALIGN: an address or a stride is not aligned
 */
enum cnnacc_gcu_field {
	CNNACC_GCU_BAD_KIND = 1,
	CNNACC_GCU_BAD_RESERVED = 2,
	CNNACC_GCU_BAD_PORT = 3,
	CNNACC_GCU_BAD_COUNT = 4,
	CNNACC_GCU_BAD_FORMAT = 5,
	CNNACC_GCU_BAD_FLAGS = 6,
	CNNACC_GCU_BAD_ACT = 7,
	CNNACC_GCU_BAD_OUT = 8,
	CNNACC_GCU_BAD_UNUSED = 9,
	CNNACC_GCU_BAD_ZERO = 10,
	CNNACC_GCU_BAD_SIZE = 11,
	CNNACC_GCU_BAD_KERNEL = 12,
	CNNACC_GCU_BAD_STRIDE = 13,
	CNNACC_GCU_BAD_DILATION = 14,
	CNNACC_GCU_BAD_INNER = 15,
	CNNACC_GCU_BAD_GROUPS = 16,
	CNNACC_GCU_BAD_OUT_SIZE = 17,
	CNNACC_GCU_BAD_RBUF = 18,
	CNNACC_GCU_BAD_BANKS = 19,
	CNNACC_GCU_BAD_COLUMNS = 20,
	CNNACC_GCU_BAD_ROWS = 21,
	CNNACC_GCU_BAD_KBUF_SIZE = 22,
	CNNACC_GCU_BAD_KBUF_GROUPS = 23,
	CNNACC_GCU_BAD_TABLE = 24,
	CNNACC_GCU_BAD_CLAMP = 25,
	CNNACC_GCU_BAD_ALIGN = 26,
};

/**
 * enum cnnacc_gcu_deadlock - detail of E_DEADLOCK: why a row that the array needs never comes.
 * @CNNACC_GCU_DEADLOCK_FULL: its request waits for a slot, but no slot will become invalid
 * @CNNACC_GCU_DEADLOCK_EVICTED: it was evicted before this use
 */
enum cnnacc_gcu_deadlock {
	CNNACC_GCU_DEADLOCK_FULL = 1,
	CNNACC_GCU_DEADLOCK_EVICTED = 2,
};

/* -------------------------------------------------------------- core window */

/* Offsets from cnnacc_core_entry.window_offset, all read only. */
#define CNNACC_GCU_REG_ID		0x000	/* CNNACC_GCU_ID */
#define CNNACC_GCU_REG_PC		0x004	/* block index */
#define CNNACC_GCU_REG_STATE		0x008	/* enum cnnacc_gcu_state */
#define CNNACC_GCU_REG_STATUS		0x00c	/* CNNACC_GCU_STATUS_* */
/* Position of the layer: the op4 that runs, or the last one. */
#define CNNACC_GCU_REG_KERNEL_GROUP	0x010
#define CNNACC_GCU_REG_OUT_ROW		0x014
#define CNNACC_GCU_REG_CHANNEL_GROUP	0x018
/* Feature-map area. */
#define CNNACC_GCU_REG_ROWS_VALID	0x020	/* valid slots */
#define CNNACC_GCU_REG_FIFO_WRITE	0x024	/* slot that is written next */
#define CNNACC_GCU_REG_FIFO_OLDEST	0x028	/* slot that is evicted next */
#define CNNACC_GCU_REG_OP4		0x02c	/* op4 counter */
#define CNNACC_GCU_REG_TRIGGER		0x030	/* op4 of the next eviction */
#define CNNACC_GCU_REG_ENTRY		0x034	/* table pointer */
/* Kernel area. */
#define CNNACC_GCU_REG_RESIDENT		0x040	/* valid groups of the resident area */
#define CNNACC_GCU_REG_RESIDENT_FIRST	0x044	/* channel group of its group 0 */
#define CNNACC_GCU_REG_SWAP_VALID	0x048	/* bits 1:0 */
#define CNNACC_GCU_REG_SWAP(n)		(0x04c + 4 * (n))	/* their channel groups */
/* Counters of the job, lo and hi. */
#define CNNACC_GCU_REG_ROW_FILLS	0x080	/* surface rows that were loaded */
#define CNNACC_GCU_REG_ROW_BYTES	0x088	/* their bytes */
#define CNNACC_GCU_REG_ROW_REFILLS	0x090	/* bytes of rows loaded before in the same layer */
#define CNNACC_GCU_REG_EVICTIONS	0x098	/* valid rows evicted */
#define CNNACC_GCU_REG_WEIGHT_BYTES	0x0a0	/* weights that were loaded */
#define CNNACC_GCU_REG_WEIGHT_REFILLS	0x0a8	/* bytes of weights loaded before */
#define CNNACC_GCU_REG_TABLE_BYTES	0x0b0	/* replacement tables */
#define CNNACC_GCU_REG_STALL_ROW	0x0b8	/* cycles without the row needed */
#define CNNACC_GCU_REG_STALL_WEIGHT	0x0c0	/* cycles without the weights needed */
#define CNNACC_GCU_REG_STALL_PSUM	0x0c8	/* cycles without the accumulators to continue */
#define CNNACC_GCU_REG_STALL_RBUF	0x0d0	/* cycles without an empty bank of RBUF */
#define CNNACC_GCU_REG_TAPS_MASKED	0x0d8	/* surfaces not computed: padding */
#define CNNACC_GCU_REG_TAPS		0x0e0	/* surfaces computed */
#define CNNACC_GCU_WINDOW_SIZE		0x1000

#define CNNACC_GCU_ID			0x20554347	/* "GCU " */

/**
 * enum cnnacc_gcu_state - state of the core.
 * @CNNACC_GCU_IDLE: no program
 * @CNNACC_GCU_BOOT: loading the program
 * @CNNACC_GCU_RUN: running a block
 */
enum cnnacc_gcu_state {
	CNNACC_GCU_IDLE = 0,
	CNNACC_GCU_BOOT = 1,
	CNNACC_GCU_RUN = 2,
};

#define CNNACC_GCU_STATUS_NARROW	0x1u	/* sticky: ofmw below RBUF_WT_LA + 1 */

enum cnnacc_gcu_layout {
	CNNACC_LAYOUT_GCU_LAYER = CNNACC_LAYOUT(sizeof(struct cnnacc_gcu_layer) ==
						CNNACC_GCU_BLOCK_SIZE),
	CNNACC_LAYOUT_GCU_PROBE = CNNACC_LAYOUT(sizeof(struct cnnacc_gcu_probe) ==
						CNNACC_GCU_BLOCK_SIZE),
	CNNACC_LAYOUT_GCU_WAIT = CNNACC_LAYOUT(sizeof(struct cnnacc_gcu_wait) ==
					       CNNACC_GCU_BLOCK_SIZE),
	CNNACC_LAYOUT_GCU_LINEAR = CNNACC_LAYOUT(sizeof(struct cnnacc_gcu_linear) == 16),
	CNNACC_LAYOUT_GCU_IFMAP = CNNACC_LAYOUT(CNNACC_AT(gcu_layer, ifmap) == 64),
	CNNACC_LAYOUT_GCU_WEIGHT = CNNACC_LAYOUT(CNNACC_AT(gcu_layer, weight_va) == 112),
	CNNACC_LAYOUT_GCU_RESERVED = CNNACC_LAYOUT(CNNACC_AT(gcu_layer, reserved) == 140),
};

/* Description of the core: initialisers of the structures in cnnacc_hw.h. */
#define CNNACC_GCU_PARAMS { \
	{ "atomic-c", CNNACC_GCU_PARAM_ATOMIC, 0, 8, CNNACC_PARAM_F_BUILD }, \
	{ "atomic-k", CNNACC_GCU_PARAM_ATOMIC, 8, 8, CNNACC_PARAM_F_BUILD }, \
	{ "cbuf-banks", CNNACC_GCU_PARAM_CBUF, 0, 16, CNNACC_PARAM_F_BUILD }, \
	{ "bank-words", CNNACC_GCU_PARAM_CBUF, 16, 16, 0 }, \
	{ "fmbuf-rows", CNNACC_GCU_PARAM_ROWS, 0, 32, CNNACC_PARAM_F_BUILD }, \
	{ "rbuf-banks", CNNACC_GCU_PARAM_RBUF, 0, 16, CNNACC_PARAM_F_BUILD }, \
	{ "rbuf-depth", CNNACC_GCU_PARAM_RBUF, 16, 16, CNNACC_PARAM_F_BUILD }, \
	{ "bus", CNNACC_GCU_PARAM_BUS, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "program", CNNACC_PARAM_PROGRAM_MAX, 0, 32, CNNACC_PARAM_F_SIZE }, \
	{ "fp-floor", CNNACC_GCU_PARAM_FP, 0, 1, CNNACC_PARAM_F_SWITCH }, \
	{ "points-max", CNNACC_GCU_PARAM_LIMITS, 0, 8, 0 }, \
	{ "stride-max", CNNACC_GCU_PARAM_LIMITS, 8, 8, 0 }, \
	{ "dilation-max", CNNACC_GCU_PARAM_LIMITS, 16, 8, 0 }, \
	{ "inner-max", CNNACC_GCU_PARAM_LIMITS, 24, 8, 0 }, \
}

#define CNNACC_GCU_CODES { \
	{ "E_LENGTH", CNNACC_GCU_E_LENGTH, CNNACC_STATUS_BAD_PROGRAM, "bytes" }, \
	{ "E_CFG", CNNACC_GCU_E_CFG, CNNACC_STATUS_CONFIG, 0 }, \
	{ "E_RANGE", CNNACC_GCU_E_RANGE, CNNACC_STATUS_BAD_PROGRAM, 0 }, \
	{ "E_TABLE", CNNACC_GCU_E_TABLE, CNNACC_STATUS_BAD_PROGRAM, "entry" }, \
	{ "E_DEADLOCK", CNNACC_GCU_E_DEADLOCK, CNNACC_STATUS_DEADLOCK, 0 }, \
	{ "E_DMA", CNNACC_GCU_E_DMA, CNNACC_STATUS_MMU_FAULT, 0 }, \
}

#define CNNACC_GCU_DETAILS { \
	{ "kind of block", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_KIND }, \
	{ "reserved bit set", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_RESERVED }, \
	{ "port", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_PORT }, \
	{ "number of words", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_COUNT }, \
	{ "data format", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_FORMAT }, \
	{ "flags", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_FLAGS }, \
	{ "activation", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_ACT }, \
	{ "output type", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_OUT }, \
	{ "unused word not zero", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_UNUSED }, \
	{ "zero point", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_ZERO }, \
	{ "input size or channels", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_SIZE }, \
	{ "kernel size", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_KERNEL }, \
	{ "stride", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_STRIDE }, \
	{ "dilation", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_DILATION }, \
	{ "inner padding", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_INNER }, \
	{ "number of groups", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_GROUPS }, \
	{ "output size", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_OUT_SIZE }, \
	{ "output row larger than RBUF", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_RBUF }, \
	{ "banks of the feature map", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_BANKS }, \
	{ "columns of a slot", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_COLUMNS }, \
	{ "number of slots", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_ROWS }, \
	{ "size of a kernel channel group", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_KBUF_SIZE }, \
	{ "number of kernel channel groups", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_KBUF_GROUPS }, \
	{ "table without entries", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_TABLE }, \
	{ "clamp", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_CLAMP }, \
	{ "alignment", CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_ALIGN }, \
	{ "outside the feature-map area", CNNACC_GCU_E_RANGE, CNNACC_GCU_PORT_FMAP }, \
	{ "outside the kernel area", CNNACC_GCU_E_RANGE, CNNACC_GCU_PORT_KERNEL }, \
	{ "no slot for a row", CNNACC_GCU_E_DEADLOCK, CNNACC_GCU_DEADLOCK_FULL }, \
	{ "row evicted before its use", CNNACC_GCU_E_DEADLOCK, CNNACC_GCU_DEADLOCK_EVICTED }, \
}

#define CNNACC_GCU_REGS { \
	{ "ID", CNNACC_GCU_REG_ID, 1, CNNACC_GCU_ID }, \
	{ "PC", CNNACC_GCU_REG_PC, 1, 0 }, \
	{ "STATE", CNNACC_GCU_REG_STATE, 1, 0 }, \
	{ "STATUS", CNNACC_GCU_REG_STATUS, 1, 0 }, \
	{ "KERNEL_GROUP", CNNACC_GCU_REG_KERNEL_GROUP, 1, 0 }, \
	{ "OUT_ROW", CNNACC_GCU_REG_OUT_ROW, 1, 0 }, \
	{ "CHANNEL_GROUP", CNNACC_GCU_REG_CHANNEL_GROUP, 1, 0 }, \
	{ "ROWS_VALID", CNNACC_GCU_REG_ROWS_VALID, 1, 0 }, \
	{ "FIFO_WRITE", CNNACC_GCU_REG_FIFO_WRITE, 1, 0 }, \
	{ "FIFO_OLDEST", CNNACC_GCU_REG_FIFO_OLDEST, 1, 0 }, \
	{ "OP4", CNNACC_GCU_REG_OP4, 1, 0 }, \
	{ "TRIGGER", CNNACC_GCU_REG_TRIGGER, 1, 0 }, \
	{ "ENTRY", CNNACC_GCU_REG_ENTRY, 1, 0 }, \
	{ "RESIDENT", CNNACC_GCU_REG_RESIDENT, 1, 0 }, \
	{ "RESIDENT_FIRST", CNNACC_GCU_REG_RESIDENT_FIRST, 1, 0 }, \
	{ "SWAP_VALID", CNNACC_GCU_REG_SWAP_VALID, 1, 0 }, \
	{ "SWAP", CNNACC_GCU_REG_SWAP(0), 2, 0 }, \
	{ "ROW_FILLS", CNNACC_GCU_REG_ROW_FILLS, 2, 0 }, \
	{ "ROW_BYTES", CNNACC_GCU_REG_ROW_BYTES, 2, 0 }, \
	{ "ROW_REFILLS", CNNACC_GCU_REG_ROW_REFILLS, 2, 0 }, \
	{ "EVICTIONS", CNNACC_GCU_REG_EVICTIONS, 2, 0 }, \
	{ "WEIGHT_BYTES", CNNACC_GCU_REG_WEIGHT_BYTES, 2, 0 }, \
	{ "WEIGHT_REFILLS", CNNACC_GCU_REG_WEIGHT_REFILLS, 2, 0 }, \
	{ "TABLE_BYTES", CNNACC_GCU_REG_TABLE_BYTES, 2, 0 }, \
	{ "STALL_ROW", CNNACC_GCU_REG_STALL_ROW, 2, 0 }, \
	{ "STALL_WEIGHT", CNNACC_GCU_REG_STALL_WEIGHT, 2, 0 }, \
	{ "STALL_PSUM", CNNACC_GCU_REG_STALL_PSUM, 2, 0 }, \
	{ "STALL_RBUF", CNNACC_GCU_REG_STALL_RBUF, 2, 0 }, \
	{ "TAPS_MASKED", CNNACC_GCU_REG_TAPS_MASKED, 2, 0 }, \
	{ "TAPS", CNNACC_GCU_REG_TAPS, 2, 0 }, \
}

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_GCU_H */
