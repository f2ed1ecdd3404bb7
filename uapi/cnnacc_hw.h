/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * cnnacc hardware contract: registers and structures that software and the device share.
 *
 * The device is a shell (host interface) with up to CNNACC_MAX_CORES cores
 * behind it.  All registers and all structures in memory are little-endian.
 * Registers are accessed as aligned 32-bit words; an access of another size or
 * alignment reads as zero and writes nothing.  A 64-bit register is a lo/hi
 * pair: reading lo latches what hi reads next.  Registers not listed read as zero
 * and ignore writes.
 *
 * Sizes are in bytes, times in nanoseconds and cycles in core clock cycles
 * unless a field says otherwise.  "VA" is an address in a context's 32-bit
 * device address space, "bus" an address from the DMA API.
 *
 * Documentation/hardware/shell.rst specifies the behaviour; each core has a page beside it.
 */
#ifndef CNNACC_HW_H
#define CNNACC_HW_H

#include <linux/types.h>

#include "cnnacc_status.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* ------------------------------------------------------------------ shell */

#define CNNACC_PCI_VENDOR_ID		0x1234
#define CNNACC_PCI_DEVICE_ID		0xcacc
#define CNNACC_PCI_BAR_REGS		0	/* 64-bit memory BAR */
#define CNNACC_PCI_BAR_MSIX		4
#define CNNACC_DT_COMPATIBLE		"cnnacc,cnnacc-1.0"

#define CNNACC_REGS_SIZE		0x10000	/* size of the register page set */
#define CNNACC_MAX_CORES		8	/* core indices 0..7 */
#define CNNACC_BUS_ADDR_BITS		40	/* width of every bus address */
#define CNNACC_VA_BITS			32
#define CNNACC_PAGE_SHIFT		12
#define CNNACC_PAGE_SIZE		4096
#define CNNACC_LINE_SIZE		64	/* unit of DMA */

/* Global registers: offset in BAR 0. */
#define CNNACC_REG_MAGIC		0x0000	/* RO CNNACC_MAGIC */
#define CNNACC_REG_HW_VERSION		0x0004	/* RO 31:16 major, 15:0 minor */
#define CNNACC_REG_FEATURES		0x0008	/* RO CNNACC_FEATURE_* */
#define CNNACC_REG_CORE_COUNT		0x000c	/* RO 1..CNNACC_MAX_CORES */
#define CNNACC_REG_CORE_TABLE		0x0010	/* RO offset of the discovery table */
#define CNNACC_REG_CLOCK_HZ		0x0014	/* RO core clock, Hz */
#define CNNACC_REG_RESET		0x0018	/* W 1: device reset; R bit 0: in progress */
#define CNNACC_REG_SCRATCH		0x001c	/* RW no function; for self-tests */
#define CNNACC_REG_IRQ_STATUS		0x0020	/* R pending CNNACC_IRQ_*, W1C */
#define CNNACC_REG_IRQ_ENABLE		0x0024	/* RW CNNACC_IRQ_* */
#define CNNACC_REG_IRQ_RAISE		0x0028	/* W sets those status bits; for self-tests */
/* RO messages not sent because they were aimed at the device's own BARs, wraps */
#define CNNACC_REG_MSG_REFUSED		0x002c
/* RO enum cnnacc_shell_error, first since CNNACC_IRQ_ERROR was cleared */
#define CNNACC_REG_ERR_CODE		0x0030
#define CNNACC_REG_ERR_CORE		0x0034	/* RO core index of that error */
#define CNNACC_REG_ERR_ADDR_LO		0x0038	/* RO bus address or value of that error */
#define CNNACC_REG_ERR_ADDR_HI		0x003c
#define CNNACC_REG_TIME_LO		0x0040	/* RO device time, ns */
#define CNNACC_REG_TIME_HI		0x0044
#define CNNACC_REG_INVALIDATE		0x0050	/* W 15:0 context id: drop its translations */
#define CNNACC_REG_INV_SEQ		0x0054	/* RO number of INVALIDATE writes taken, wraps */
#define CNNACC_REG_INV_DONE		0x0058	/* RO number of them complete, wraps */

#define CNNACC_MAGIC			0x434e4e41	/* "CNNA" */
#define CNNACC_HW_VERSION		0x00010000	/* 1.0 */

/* INVALIDATE */
#define CNNACC_INVALIDATE_RETIRE	0x10000u	/* the id's next job has a new context */

/* IRQ_STATUS, IRQ_ENABLE, IRQ_RAISE */
#define CNNACC_IRQ_CORE(n)		(1u << (n))		/* core n: completion written */
#define CNNACC_IRQ_EVENT(n)		(1u << (8 + (n)))	/* core n: EVENT_COUNT went up */
#define CNNACC_IRQ_ERROR		0x80000000u		/* shell error, see ERR_CODE */
/*
 * MSI-X vector n serves core n (both its bits), vector CORE_COUNT serves
 * CNNACC_IRQ_ERROR.  A message is sent when (STATUS & ENABLE) of a vector goes
 * from zero to non-zero, and again if a status bit is set while the vector's
 * other bits are pending.  On AXI one level wire is (STATUS & ENABLE) != 0.
 */

/**
 * enum cnnacc_shell_error - errors that belong to no job (ERR_CODE).
 * @CNNACC_SHELL_OK: none
 * @CNNACC_SHELL_RING: ring or completion ring not usable: base misaligned or
 *	beyond 40 bits, size not a power of two in range; queue stays disabled
 * @CNNACC_SHELL_DOORBELL: RING_TAIL or COMPL_HEAD written with an index >= size;
 *	the write is ignored
 * @CNNACC_SHELL_PACKET_READ: a packet could not be read (bus error); queue halts
 * @CNNACC_SHELL_COMPL_WRITE: a completion record could not be written; queue halts
 */
enum cnnacc_shell_error {
	CNNACC_SHELL_OK = 0,
	CNNACC_SHELL_RING = 1,
	CNNACC_SHELL_DOORBELL = 2,
	CNNACC_SHELL_PACKET_READ = 3,
	CNNACC_SHELL_COMPL_WRITE = 4,
};

/*
 * Queue block of a core: offsets from the discovery entry's queue_offset.
 * A core reset gives every register of its block its reset value, except the
 * statistics counters, which only a device reset clears.
 */
#define CNNACC_QREG_RING_BASE_LO	0x00	/* RW bus address, 4 KiB aligned */
#define CNNACC_QREG_RING_BASE_HI	0x04
#define CNNACC_QREG_RING_SIZE		0x08	/* RW packets, power of two 2..4096 */
/* RW doorbell: index after the last packet, 0..size-1 */
#define CNNACC_QREG_RING_TAIL		0x0c
#define CNNACC_QREG_RING_HEAD		0x10	/* RO index of the oldest packet not finished */
#define CNNACC_QREG_COMPL_BASE_LO	0x14	/* RW bus address, 4 KiB aligned */
#define CNNACC_QREG_COMPL_BASE_HI	0x18
#define CNNACC_QREG_COMPL_SIZE		0x1c	/* RW records, power of two 2..4096 */
#define CNNACC_QREG_COMPL_TAIL		0x20	/* RO index where the device writes next */
#define CNNACC_QREG_COMPL_HEAD		0x24	/* RW index of the oldest record not yet read */
#define CNNACC_QREG_CTRL		0x28	/* RW CNNACC_QCTRL_* */
#define CNNACC_QREG_STATE		0x2c	/* RO enum cnnacc_queue_state */
#define CNNACC_QREG_RESET		0x30	/* W 1: core reset; R bit 0: in progress */
/* RO changes while the running job makes progress, wraps */
#define CNNACC_QREG_PROGRESS		0x34
#define CNNACC_QREG_STATUS		0x38	/* RO last failed job: 31:16 class, 15:0 code */
#define CNNACC_QREG_STATUS_PC		0x3c	/* RO its program counter */
#define CNNACC_QREG_STATUS_VA_LO	0x40	/* RO its fault VA */
#define CNNACC_QREG_STATUS_VA_HI	0x44
/* RO context whose residue the core holds, CNNACC_NO_CONTEXT if clean */
#define CNNACC_QREG_CONTEXT		0x48
#define CNNACC_QREG_EVENT_COUNT		0x4c	/* RO events raised by programs, wraps */
#define CNNACC_QREG_EVENT_ACK		0x50	/* W 1: resume a program suspended by an event */
/* RO struct cnnacc_stats summed over all jobs, as lo/hi pairs */
#define CNNACC_QREG_STATS		0x80
#define CNNACC_QREG_BLOCK_SIZE		0x100

#define CNNACC_NO_CONTEXT		0xffffffffu
#define CNNACC_RING_SIZE_MIN		2
#define CNNACC_RING_SIZE_MAX		4096

/* CTRL */
/* run packets; bases and sizes are sampled on 0 -> 1 */
#define CNNACC_QCTRL_ENABLE		0x1u
/* W 1: end the running job ABORTED; reads as zero */
#define CNNACC_QCTRL_ABORT		0x2u

/**
 * enum cnnacc_queue_state - state of a queue (QREG_STATE).
 * @CNNACC_QSTATE_DISABLED: CTRL.ENABLE clear, or its rings were refused
 * @CNNACC_QSTATE_IDLE: no packet to run
 * @CNNACC_QSTATE_RUNNING: a packet is being run
 * @CNNACC_QSTATE_HALTED: the packet at HEAD failed; a core reset is needed
 */
enum cnnacc_queue_state {
	CNNACC_QSTATE_DISABLED = 0,
	CNNACC_QSTATE_IDLE = 1,
	CNNACC_QSTATE_RUNNING = 2,
	CNNACC_QSTATE_HALTED = 3,
};

/**
 * struct cnnacc_reg_info - one line of the register table.
 * @name: register name without its prefix
 * @offset: offset in BAR 0, or in the queue block
 * @reset: value after reset where it does not depend on the build
 * @flags: CNNACC_REG_F_*
 */
struct cnnacc_reg_info {
	const char *name;
	__u32 offset;
	__u32 reset;
	__u32 flags;
};

#define CNNACC_REG_F_WRITE		0x1u	/* writable */
#define CNNACC_REG_F_BUILD		0x2u	/* reset value depends on the build */
#define CNNACC_REG_F_LIVE		0x4u	/* changes by itself */
#define CNNACC_REG_F_ACTION		0x8u	/* a write is a command and does not read back */

/* Initialisers of arrays of struct cnnacc_reg_info: the reset value table. */
#define CNNACC_GLOBAL_REGS { \
	{ "MAGIC", CNNACC_REG_MAGIC, CNNACC_MAGIC, 0 }, \
	{ "HW_VERSION", CNNACC_REG_HW_VERSION, CNNACC_HW_VERSION, 0 }, \
	{ "FEATURES", CNNACC_REG_FEATURES, 0, CNNACC_REG_F_BUILD }, \
	{ "CORE_COUNT", CNNACC_REG_CORE_COUNT, 0, CNNACC_REG_F_BUILD }, \
	{ "CORE_TABLE", CNNACC_REG_CORE_TABLE, CNNACC_CORE_TABLE_OFFSET, 0 }, \
	{ "CLOCK_HZ", CNNACC_REG_CLOCK_HZ, 0, CNNACC_REG_F_BUILD }, \
	{ "RESET", CNNACC_REG_RESET, 0, CNNACC_REG_F_ACTION }, \
	{ "SCRATCH", CNNACC_REG_SCRATCH, 0, CNNACC_REG_F_WRITE }, \
	{ "IRQ_STATUS", CNNACC_REG_IRQ_STATUS, 0, CNNACC_REG_F_ACTION }, \
	{ "IRQ_ENABLE", CNNACC_REG_IRQ_ENABLE, 0, CNNACC_REG_F_WRITE }, \
	{ "IRQ_RAISE", CNNACC_REG_IRQ_RAISE, 0, CNNACC_REG_F_ACTION }, \
	{ "MSG_REFUSED", CNNACC_REG_MSG_REFUSED, 0, 0 }, \
	{ "ERR_CODE", CNNACC_REG_ERR_CODE, 0, 0 }, \
	{ "ERR_CORE", CNNACC_REG_ERR_CORE, 0, 0 }, \
	{ "ERR_ADDR_LO", CNNACC_REG_ERR_ADDR_LO, 0, 0 }, \
	{ "ERR_ADDR_HI", CNNACC_REG_ERR_ADDR_HI, 0, 0 }, \
	{ "TIME_LO", CNNACC_REG_TIME_LO, 0, CNNACC_REG_F_LIVE }, \
	{ "TIME_HI", CNNACC_REG_TIME_HI, 0, CNNACC_REG_F_LIVE }, \
	{ "INVALIDATE", CNNACC_REG_INVALIDATE, 0, CNNACC_REG_F_ACTION }, \
	{ "INV_SEQ", CNNACC_REG_INV_SEQ, 0, 0 }, \
	{ "INV_DONE", CNNACC_REG_INV_DONE, 0, 0 }, \
}

#define CNNACC_QUEUE_REGS { \
	{ "RING_BASE_LO", CNNACC_QREG_RING_BASE_LO, 0, CNNACC_REG_F_WRITE }, \
	{ "RING_BASE_HI", CNNACC_QREG_RING_BASE_HI, 0, CNNACC_REG_F_WRITE }, \
	{ "RING_SIZE", CNNACC_QREG_RING_SIZE, 0, CNNACC_REG_F_WRITE }, \
	{ "RING_TAIL", CNNACC_QREG_RING_TAIL, 0, CNNACC_REG_F_ACTION }, \
	{ "RING_HEAD", CNNACC_QREG_RING_HEAD, 0, 0 }, \
	{ "COMPL_BASE_LO", CNNACC_QREG_COMPL_BASE_LO, 0, CNNACC_REG_F_WRITE }, \
	{ "COMPL_BASE_HI", CNNACC_QREG_COMPL_BASE_HI, 0, CNNACC_REG_F_WRITE }, \
	{ "COMPL_SIZE", CNNACC_QREG_COMPL_SIZE, 0, CNNACC_REG_F_WRITE }, \
	{ "COMPL_TAIL", CNNACC_QREG_COMPL_TAIL, 0, 0 }, \
	{ "COMPL_HEAD", CNNACC_QREG_COMPL_HEAD, 0, CNNACC_REG_F_ACTION }, \
	{ "CTRL", CNNACC_QREG_CTRL, 0, CNNACC_REG_F_ACTION }, \
	{ "STATE", CNNACC_QREG_STATE, CNNACC_QSTATE_DISABLED, 0 }, \
	{ "RESET", CNNACC_QREG_RESET, 0, CNNACC_REG_F_ACTION }, \
	{ "PROGRESS", CNNACC_QREG_PROGRESS, 0, 0 }, \
	{ "STATUS", CNNACC_QREG_STATUS, 0, 0 }, \
	{ "STATUS_PC", CNNACC_QREG_STATUS_PC, 0, 0 }, \
	{ "STATUS_VA_LO", CNNACC_QREG_STATUS_VA_LO, 0, 0 }, \
	{ "STATUS_VA_HI", CNNACC_QREG_STATUS_VA_HI, 0, 0 }, \
	{ "CONTEXT", CNNACC_QREG_CONTEXT, CNNACC_NO_CONTEXT, 0 }, \
	{ "EVENT_COUNT", CNNACC_QREG_EVENT_COUNT, 0, 0 }, \
	{ "EVENT_ACK", CNNACC_QREG_EVENT_ACK, 0, CNNACC_REG_F_ACTION }, \
}

/* -------------------------------------------------------------- discovery */

#define CNNACC_CORE_TABLE_OFFSET	0x1000	/* entries of CNNACC_CORE_ENTRY_SIZE */
#define CNNACC_CORE_ENTRY_SIZE		128
#define CNNACC_CORE_PARAMS		16
#define CNNACC_CORE_NAME_LEN		8	/* with the NUL */

/**
 * enum cnnacc_core_type - which design a core is.
 * @CNNACC_CORE_NONE: unused table entry
 * @CNNACC_CORE_CCP: programmable CNN coprocessor (FP32)
 * @CNNACC_CORE_GCU: generic convolution unit (INT8, INT16, FP16)
 * @CNNACC_CORE_HWPE: CNN-HWPE (INT8, UINT8, EXP4, TER2)
 * @CNNACC_CORE_ENPU: EasyNPU (INT8)
 * @CNNACC_CORE_IMC: in-memory CNN scheduler (INT8)
 * @CNNACC_CORE_EXPERIMENTAL: the first type that is never assigned; this and all above it are
 *	free for designs under development
 */
enum cnnacc_core_type {
	CNNACC_CORE_NONE = 0,
	CNNACC_CORE_CCP = 1,
	CNNACC_CORE_GCU = 2,
	CNNACC_CORE_HWPE = 3,
	CNNACC_CORE_ENPU = 4,
	CNNACC_CORE_IMC = 5,
	CNNACC_CORE_EXPERIMENTAL = 0x8000,
};

/**
 * struct cnnacc_core_entry - discovery table entry, read as 32 registers.
 * @type: enum cnnacc_core_type, for information: software knows a core by its name
 * @version: 31:16 major, 15:0 minor
 * @window_offset: BAR 0 offset of the core's own registers
 * @window_size: their size
 * @queue_offset: BAR 0 offset of its queue block
 * @program_max: largest program a packet may name
 * @job_cycles_max_lo: largest cycle limit a packet may carry, 1..2^63-1, bits 31:0
 * @job_cycles_max_hi: its bits 63:32
 * @name: 1 to 7 of the characters a-z, 0-9 and '-', padded with NUL; first in the lowest byte
 * @reserved: zero
 * @param: build parameters; meaning per core (CNNACC_NAME_PARAM_*)
 */
struct cnnacc_core_entry {
	__le32 type;
	__le32 version;
	__le32 window_offset;
	__le32 window_size;
	__le32 queue_offset;
	__le32 program_max;
	__le32 job_cycles_max_lo;
	__le32 job_cycles_max_hi;
	char name[CNNACC_CORE_NAME_LEN];
	__le32 reserved[6];
	__le32 param[CNNACC_CORE_PARAMS];
};

/* -------------------------------------------------- description of a core */

/*
 * cnnacc_NAME.h describes a core in four tables of these structures: CNNACC_NAME_PARAMS, _CODES,
 * _DETAILS and _REGS are initialisers of arrays.  CNNACC_SEQ_CODES, _DETAILS and _REGS hold for
 * every core behind the sequencer, beside the core's own.
 */

/**
 * struct cnnacc_param_info - one build parameter.
 * @name: name in QEMU's property "cores", if that can set it
 * @index: of cnnacc_core_entry.param, or CNNACC_PARAM_PROGRAM_MAX
 * @shift: of its lowest bit in that word
 * @bits: its width
 * @flags: CNNACC_PARAM_F_*
 */
struct cnnacc_param_info {
	const char *name;
	__u32 index;
	__u32 shift;
	__u32 bits;
	__u32 flags;
};

#define CNNACC_PARAM_PROGRAM_MAX	0xffffffffu	/* @index: cnnacc_core_entry.program_max */
#define CNNACC_PARAM_F_BUILD		0x1u	/* differs between builds; others are fixed */
#define CNNACC_PARAM_F_BYTES		0x2u	/* a size in bytes */
#define CNNACC_PARAM_F_SIZE		(CNNACC_PARAM_F_BUILD | CNNACC_PARAM_F_BYTES)
#define CNNACC_PARAM_F_ON_OFF		0x4u	/* "on" is 1, "off" is 0 */
#define CNNACC_PARAM_F_SWITCH		(CNNACC_PARAM_F_BUILD | CNNACC_PARAM_F_ON_OFF)

/**
 * struct cnnacc_code_info - one status code.
 * @name: its name
 * @code: the code
 * @status_class: enum cnnacc_status_class; MMU_FAULT stands for BUS_ERROR, too
 * @detail: name of the quantity in the completion's detail; NULL: see struct cnnacc_detail_info
 */
struct cnnacc_code_info {
	const char *name;
	__u32 code;
	__u32 status_class;
	const char *detail;
};

/**
 * struct cnnacc_detail_info - one detail of a status code.
 * @text: what it means
 * @code: the code
 * @detail: the detail
 */
struct cnnacc_detail_info {
	const char *text;
	__u32 code;
	__u32 detail;
};

/**
 * struct cnnacc_window_info - registers of a core's window, four bytes apart.
 * @name: their name; if there are several, the number follows
 * @offset: of the first from cnnacc_core_entry.window_offset
 * @count: their number
 * @reset: value of each after a reset
 */
struct cnnacc_window_info {
	const char *name;
	__u32 offset;
	__u32 count;
	__u32 reset;
};

/* -------------------------------------------------------------------- MMU */

/*
 * Two levels of 1024 four-byte entries, both tables one 4 KiB page.  VA bits
 * 31:22 index the root (directory) table, 21:12 the page table.  Directory
 * entries use VALID and the address only; their permission bits must be zero.
 * An entry that is not VALID, or sets a reserved combination, faults.
 */
#define CNNACC_PTE_VALID		0x1u
#define CNNACC_PTE_READ			0x2u
#define CNNACC_PTE_WRITE		0x4u
#define CNNACC_PTE_EXEC			0x8u
#define CNNACC_PTE_FLAGS		0x0000000fu
#define CNNACC_PTE_ADDR(bus)		((__u32)(((__u64)(bus) >> 12) << 4))
#define CNNACC_PTE_BUS(pte)		(((__u64)(pte) >> 4) << 12)
#define CNNACC_PT_ENTRIES		1024
#define CNNACC_PT_DIR_INDEX(va)		(((va) >> 22) & 0x3ff)
#define CNNACC_PT_PAGE_INDEX(va)	(((va) >> 12) & 0x3ff)

/* ------------------------------------------------------------------ queue */

/**
 * struct cnnacc_packet - one program to run (64 bytes in the ring).
 * @flags: CNNACC_PACKET_*; other bits zero
 * @ctx_id: context, 0..65535
 * @root: bus address of its directory table, 4 KiB aligned
 * @fence: copied to the completion record
 * @cycle_limit: 1..the core's job_cycles_max
 * @program_va: first instruction, 64-byte aligned
 * @program_len: bytes, 4..the core's program_max, multiple of 4
 * @stats_va: where struct cnnacc_stats goes if CNNACC_PACKET_STATS, 64-byte aligned
 * @reserved: zero
 */
struct cnnacc_packet {
	__le32 flags;
	__le32 ctx_id;
	__le64 root;
	__le64 fence;
	__le64 cycle_limit;
	__le32 program_va;
	__le32 program_len;
	__le32 stats_va;
	__le32 reserved[5];
};

#define CNNACC_PACKET_STATS		0x1u	/* write the statistics record to stats_va */
#define CNNACC_PACKET_IRQ		0x2u	/* set CNNACC_IRQ_CORE also on success */
#define CNNACC_PACKET_EVENT_WAIT	0x4u	/* an event suspends the program until EVENT_ACK */
#define CNNACC_PACKET_FLAGS		0x00000007u

/**
 * struct cnnacc_completion - end of one packet (64 bytes in the completion ring).
 * @fence: the packet's fence value
 * @seq: number of this record since the queue was enabled, from 1, wraps
 * @ctx_id: the packet's context
 * @status_class: enum cnnacc_status_class
 * @status_code: enum cnnacc_status_code or a core's own code
 * @pc: program counter: index of the instruction or command; 0 if none ran
 * @detail: meaning per code: packet field, fault level, or the core's field
 * @access: enum cnnacc_access of a fault
 * @fault_va: address of a fault, may exceed 32 bits; 0 if there was none
 * @cycles: cycles the job took, the context switch included
 * @start_ns: device time when the packet was taken
 * @end_ns: device time when it ended
 */
struct cnnacc_completion {
	__le64 fence;
	__le32 seq;
	__le32 ctx_id;
	__le16 status_class;
	__le16 status_code;
	__le32 pc;
	__le32 detail;
	__le32 access;
	__le64 fault_va;
	__le64 cycles;
	__le64 start_ns;
	__le64 end_ns;
};

/* ---------------------------------------------------------------- numbers */

#define CNNACC_FP32_NAN			0x7fc00000u	/* every NaN that a unit computes */

/* ---------------------------------------------------------- layout checks */

enum cnnacc_hw_layout {
	CNNACC_LAYOUT_CORE_ENTRY = CNNACC_LAYOUT(sizeof(struct cnnacc_core_entry) ==
						 CNNACC_CORE_ENTRY_SIZE),
	CNNACC_LAYOUT_PACKET = CNNACC_LAYOUT(sizeof(struct cnnacc_packet) == 64),
	CNNACC_LAYOUT_COMPLETION = CNNACC_LAYOUT(sizeof(struct cnnacc_completion) == 64),
	CNNACC_LAYOUT_PROGRAM_VA = CNNACC_LAYOUT(CNNACC_AT(packet, program_va) == 32),
	CNNACC_LAYOUT_RESERVED = CNNACC_LAYOUT(CNNACC_AT(packet, reserved) == 44),
	CNNACC_LAYOUT_FAULT_VA = CNNACC_LAYOUT(CNNACC_AT(completion, fault_va) == 32),
	CNNACC_LAYOUT_END_NS = CNNACC_LAYOUT(CNNACC_AT(completion, end_ns) == 56),
	CNNACC_LAYOUT_NAME = CNNACC_LAYOUT(CNNACC_AT(core_entry, name) == 32),
	CNNACC_LAYOUT_PARAM = CNNACC_LAYOUT(CNNACC_AT(core_entry, param) == 64),
};

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_HW_H */
