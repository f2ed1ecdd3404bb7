/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * cnnacc hardware contract: everything that software and the device share.
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
 * device address space, "bus" an address as the DMA API gives it.
 *
 * Behaviour that a declaration cannot show is in
 * Documentation/hardware/shell.rst and, per core, Documentation/hardware/NAME.rst.
 */
#ifndef CNNACC_HW_H
#define CNNACC_HW_H

#include <linux/types.h>

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
/* RO enum cnnacc_shell_error, first since CNNACC_IRQ_ERROR was cleared */
#define CNNACC_REG_ERR_CODE		0x0030
#define CNNACC_REG_ERR_CORE		0x0034	/* RO core index of that error */
#define CNNACC_REG_ERR_ADDR_LO		0x0038	/* RO bus address or value of that error */
#define CNNACC_REG_ERR_ADDR_HI		0x003c
#define CNNACC_REG_TIME_LO		0x0040	/* RO device time, ns */
#define CNNACC_REG_TIME_HI		0x0044
#define CNNACC_REG_INVALIDATE		0x0050	/* W 15:0 context id: forget its translations */
#define CNNACC_REG_INV_SEQ		0x0054	/* RO number of INVALIDATE writes taken, wraps */
#define CNNACC_REG_INV_DONE		0x0058	/* RO number of them complete, wraps */

#define CNNACC_MAGIC			0x434e4e41	/* "CNNA" */
#define CNNACC_HW_VERSION		0x00010000	/* 1.0 */

/* INVALIDATE */
#define CNNACC_INVALIDATE_RETIRE	0x10000u	/* the id's next job is another context's */

/* FEATURES */
#define CNNACC_FEATURE_COHERENT		0x1u	/* device DMA snoops CPU caches */
#define CNNACC_FEATURE_MODELLED_TIME	0x2u	/* completions appear at the modelled time */

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
/* RO changes while the running job gets anywhere, wraps */
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
 * enum cnnacc_queue_state - what a queue does (QREG_STATE).
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
#define CNNACC_REG_F_ACTION		0x8u	/* a write does something; does not read back */

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
#define CNNACC_CORE_ENTRY_SIZE		64
#define CNNACC_CORE_PARAMS		8

/**
 * enum cnnacc_core_type - which design a core is.
 * @CNNACC_CORE_NONE: unused table entry
 * @CNNACC_CORE_CCP: programmable CNN coprocessor (FP32)
 * @CNNACC_CORE_GCU: generic convolution unit (INT8, INT16, FP16)
 * @CNNACC_CORE_HWPE: CNN-HWPE (INT8, UINT8, EXP4, TER2)
 * @CNNACC_CORE_ENPU: EasyNPU (INT8)
 * @CNNACC_CORE_IMC: in-memory CNN scheduler (INT8)
 */
enum cnnacc_core_type {
	CNNACC_CORE_NONE = 0,
	CNNACC_CORE_CCP = 1,
	CNNACC_CORE_GCU = 2,
	CNNACC_CORE_HWPE = 3,
	CNNACC_CORE_ENPU = 4,
	CNNACC_CORE_IMC = 5,
};

/**
 * struct cnnacc_core_entry - discovery table entry, read as 16 registers.
 * @type: enum cnnacc_core_type
 * @version: 31:16 major, 15:0 minor
 * @window_offset: BAR 0 offset of the core's own registers
 * @window_size: their size
 * @queue_offset: BAR 0 offset of its queue block
 * @program_max: largest program a packet may name
 * @job_cycles_max_lo: largest cycle limit a packet may carry, 1..2^63-1, bits 31:0
 * @job_cycles_max_hi: its bits 63:32
 * @param: build parameters; meaning per core type (CNNACC_CCP_PARAM_*)
 */
struct cnnacc_core_entry {
	__u32 type;
	__u32 version;
	__u32 window_offset;
	__u32 window_size;
	__u32 queue_offset;
	__u32 program_max;
	__u32 job_cycles_max_lo;
	__u32 job_cycles_max_hi;
	__u32 param[CNNACC_CORE_PARAMS];
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

/**
 * enum cnnacc_access - kind of an access that faulted.
 * @CNNACC_ACCESS_NONE: no access
 * @CNNACC_ACCESS_READ: data read, needs CNNACC_PTE_READ
 * @CNNACC_ACCESS_WRITE: data write, needs CNNACC_PTE_WRITE
 * @CNNACC_ACCESS_EXEC: program fetch, needs CNNACC_PTE_EXEC
 */
enum cnnacc_access {
	CNNACC_ACCESS_NONE = 0,
	CNNACC_ACCESS_READ = 1,
	CNNACC_ACCESS_WRITE = 2,
	CNNACC_ACCESS_EXEC = 3,
};

/**
 * enum cnnacc_fault_level - why a translation failed (completion detail of
 * MMU_FAULT and BUS_ERROR).
 * @CNNACC_FAULT_NONE: translation was fine; the bus refused the data access
 * @CNNACC_FAULT_BEYOND: address at or beyond 4 GiB
 * @CNNACC_FAULT_DIR: directory entry not valid, or the directory unreadable
 * @CNNACC_FAULT_PAGE: page entry not valid, or the page table unreadable
 * @CNNACC_FAULT_PERM: page valid, permission missing
 */
enum cnnacc_fault_level {
	CNNACC_FAULT_NONE = 0,
	CNNACC_FAULT_BEYOND = 1,
	CNNACC_FAULT_DIR = 2,
	CNNACC_FAULT_PAGE = 3,
	CNNACC_FAULT_PERM = 4,
};

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
	__u32 flags;
	__u32 ctx_id;
	__u64 root;
	__u64 fence;
	__u64 cycle_limit;
	__u32 program_va;
	__u32 program_len;
	__u32 stats_va;
	__u32 reserved[5];
};

#define CNNACC_PACKET_STATS		0x1u	/* write the statistics record to stats_va */
#define CNNACC_PACKET_IRQ		0x2u	/* set CNNACC_IRQ_CORE also on success */
#define CNNACC_PACKET_EVENT_WAIT	0x4u	/* an event suspends the program until EVENT_ACK */
#define CNNACC_PACKET_FLAGS		0x00000007u

/**
 * enum cnnacc_packet_field - completion detail of CNNACC_CODE_PACKET: the
 * first bad field, in the order in which they are checked.
 * @CNNACC_PACKET_BAD_FLAGS: unknown flag
 * @CNNACC_PACKET_BAD_CTX: ctx_id > 65535
 * @CNNACC_PACKET_BAD_ROOT: root misaligned or beyond 40 bits
 * @CNNACC_PACKET_BAD_LIMIT: cycle_limit zero or above job_cycles_max
 * @CNNACC_PACKET_BAD_PROGRAM_VA: program_va not 64-byte aligned
 * @CNNACC_PACKET_BAD_PROGRAM_LEN: program_len zero, no multiple of 4, or above program_max
 * @CNNACC_PACKET_BAD_STATS_VA: stats_va not 64-byte aligned while flagged
 * @CNNACC_PACKET_BAD_RESERVED: reserved word not zero
 */
enum cnnacc_packet_field {
	CNNACC_PACKET_BAD_FLAGS = 1,
	CNNACC_PACKET_BAD_CTX = 2,
	CNNACC_PACKET_BAD_ROOT = 3,
	CNNACC_PACKET_BAD_LIMIT = 4,
	CNNACC_PACKET_BAD_PROGRAM_VA = 5,
	CNNACC_PACKET_BAD_PROGRAM_LEN = 6,
	CNNACC_PACKET_BAD_STATS_VA = 7,
	CNNACC_PACKET_BAD_RESERVED = 8,
};

/**
 * struct cnnacc_completion - end of one packet (64 bytes in the completion ring).
 * @fence: the packet's fence value
 * @seq: number of this record since the queue was enabled, from 1, wraps
 * @ctx_id: the packet's context
 * @status_class: enum cnnacc_status_class
 * @status_code: enum cnnacc_status_code or a core's own code
 * @pc: program counter: index of the instruction (ccp) or command; 0 if none ran
 * @detail: meaning per code: packet field, fault level, or the core's field
 * @access: enum cnnacc_access of a fault
 * @fault_va: address of a fault, may exceed 32 bits; 0 if there was none
 * @cycles: cycles the job took, the context switch included
 * @start_ns: device time when the packet was taken
 * @end_ns: device time when it ended
 */
struct cnnacc_completion {
	__u64 fence;
	__u32 seq;
	__u32 ctx_id;
	__u16 status_class;
	__u16 status_code;
	__u32 pc;
	__u32 detail;
	__u32 access;
	__u64 fault_va;
	__u64 cycles;
	__u64 start_ns;
	__u64 end_ns;
};

/**
 * enum cnnacc_status_class - what kind of end a job had; the same for every core.
 * @CNNACC_STATUS_OK: done
 * @CNNACC_STATUS_BAD_PROGRAM: illegal instruction, operand or address in the program
 * @CNNACC_STATUS_MMU_FAULT: no translation or no permission
 * @CNNACC_STATUS_BUS_ERROR: the bus refused a translated access or a table read
 * @CNNACC_STATUS_CONFIG: bad packet or bad unit configuration
 * @CNNACC_STATUS_DEADLOCK: the program waits for something that cannot happen
 * @CNNACC_STATUS_TIME_LIMIT: the cycle limit was exceeded
 * @CNNACC_STATUS_ABORTED: CNNACC_QCTRL_ABORT
 */
enum cnnacc_status_class {
	CNNACC_STATUS_OK = 0,
	CNNACC_STATUS_BAD_PROGRAM = 1,
	CNNACC_STATUS_MMU_FAULT = 2,
	CNNACC_STATUS_BUS_ERROR = 3,
	CNNACC_STATUS_CONFIG = 4,
	CNNACC_STATUS_DEADLOCK = 5,
	CNNACC_STATUS_TIME_LIMIT = 6,
	CNNACC_STATUS_ABORTED = 7,
};

/**
 * enum cnnacc_status_code - codes of the shell; core codes start at 16.
 * @CNNACC_CODE_NONE: class OK
 * @CNNACC_CODE_PACKET: class CONFIG; detail is enum cnnacc_packet_field
 * @CNNACC_CODE_FETCH: class MMU_FAULT or BUS_ERROR while loading the program
 * @CNNACC_CODE_STATS: class MMU_FAULT or BUS_ERROR while writing the statistics record
 * @CNNACC_CODE_TIME_LIMIT: class TIME_LIMIT
 * @CNNACC_CODE_ABORT: class ABORTED
 * @CNNACC_CODE_CORE: first code of a core
 */
enum cnnacc_status_code {
	CNNACC_CODE_NONE = 0,
	CNNACC_CODE_PACKET = 1,
	CNNACC_CODE_FETCH = 2,
	CNNACC_CODE_STATS = 3,
	CNNACC_CODE_TIME_LIMIT = 4,
	CNNACC_CODE_ABORT = 5,
	CNNACC_CODE_CORE = 16,
};

/**
 * struct cnnacc_stats - statistics record of one job (128 bytes).
 * @cycles: elapsed, DMA overlapping compute, @scrub_cycles included
 * @cycles_serial: elapsed if nothing overlapped, @scrub_cycles included
 * @compute_cycles: cycles the units were busy
 * @stall_cycles: cycles the controller waited for DMA, or a started task for its resuming
 * @dma_cycles: cycles the DMA engine was busy
 * @mac_slots: multiply-accumulate slots of the busy units
 * @mac_useful: multiply-accumulates that went into a stored or partial result
 * @mem_read_bytes: bytes read from system memory
 * @mem_write_bytes: bytes written to system memory by the program
 * @local_read_bytes: bytes read from on-chip memories
 * @local_write_bytes: bytes written to on-chip memories
 * @instructions: instructions or commands executed
 * @events: events raised
 * @scrub_cycles: cycles spent clearing the previous context's residue
 * @jobs: 1
 * @reserved: zero
 */
struct cnnacc_stats {
	__u64 cycles;
	__u64 cycles_serial;
	__u64 compute_cycles;
	__u64 stall_cycles;
	__u64 dma_cycles;
	__u64 mac_slots;
	__u64 mac_useful;
	__u64 mem_read_bytes;
	__u64 mem_write_bytes;
	__u64 local_read_bytes;
	__u64 local_write_bytes;
	__u64 instructions;
	__u64 events;
	__u64 scrub_cycles;
	__u64 jobs;
	__u64 reserved;
};

/* Names of the fields above in order, for tools. */
#define CNNACC_STATS_NAMES { \
	"cycles", "cycles_serial", "compute_cycles", "stall_cycles", \
	"dma_cycles", "mac_slots", "mac_useful", "mem_read_bytes", \
	"mem_write_bytes", "local_read_bytes", "local_write_bytes", \
	"instructions", "events", "scrub_cycles", "jobs", "reserved", \
}

/* -------------------------------------------------------------- sequencer */

/**
 * struct cnnacc_seq_command - one command of the sequencer that programs hwpe,
 * enpu and imc (Documentation/hardware/sequencer.rst).
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
 * WAIT    0; mask of core conditions, any of which ends it
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
#define CNNACC_SEQ_EVENTS		0x400u	/* EXEC: what it starts raises events */
#define CNNACC_SEQ_RESUME		0x800u	/* DRAIN: the last register resumes the core */
#define CNNACC_SEQ_OP_MASK		0x000000ffu
#define CNNACC_SEQ_PARAM_SHIFT		16

/*
 * A pair of LOOP adds its increment once per iteration done to arg[@word] of
 * @more + 1 commands of the body from command @first of it on.
 */
#define CNNACC_SEQ_STEP(first, more, word) \
	((__u32)(first) | ((__u32)(more) << 12) | ((__u32)(word) << 24))
#define CNNACC_SEQ_LOOPS		4	/* may be nested */

/**
 * enum cnnacc_seq_code - status codes of the sequencer; codes of a core behind it
 * start at CNNACC_SEQ_CODE_CORE.
 * @CNNACC_SEQ_E_COMMAND: class BAD_PROGRAM; detail is the bad word, 0 op, 1 + n arg[n]
 * @CNNACC_SEQ_E_PC: class BAD_PROGRAM: past the program memory
 * @CNNACC_SEQ_E_LOOP: class BAD_PROGRAM; detail is enum cnnacc_seq_loop
 * @CNNACC_SEQ_E_CONFLICT: class BAD_PROGRAM: the running core uses that memory; detail is
 *	the local memory
 * @CNNACC_SEQ_E_RANGE: class BAD_PROGRAM: past the end of a local memory, which detail is
 * @CNNACC_SEQ_E_DMA: class MMU_FAULT or BUS_ERROR; detail is enum cnnacc_fault_level
 * @CNNACC_SEQ_E_DEADLOCK: class DEADLOCK: WAIT for what cannot happen
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
 * enum cnnacc_seq_loop - what is wrong with a LOOP, in the order of the checks.
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
#define CNNACC_SEQ_REG_ID		0x000	/* of the core: CNNACC_HWPE_ID */
#define CNNACC_SEQ_REG_PC		0x004	/* command index */
#define CNNACC_SEQ_REG_STATE		0x008	/* enum cnnacc_seq_state */
#define CNNACC_SEQ_REG_EVENT		0x00c	/* value of the last IRQ */
#define CNNACC_SEQ_REG_LOOPS		0x010	/* loops under way */
#define CNNACC_SEQ_REG_ITERATION(n)	(0x020 + 4 * (n))	/* done of loop n, 0: outermost */
#define CNNACC_SEQ_REGS_SIZE		0x040	/* registers of the core follow */

/**
 * enum cnnacc_seq_state - what the sequencer does.
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

/* -------------------------------------------------------------------- ccp */

/*
 * Core ccp, the programmable CNN coprocessor (Documentation/hardware/ccp.rst).
 * A program is an array of 32-bit instructions; the packet's program is loaded
 * into the instruction cache, the rest of which reads as NOP, and run from
 * instruction 0 with R0..R7, all parameter groups and the bank select zero.
 */

/* Index into cnnacc_core_entry.param. */
#define CNNACC_CCP_PARAM_DATA_BANK	0	/* bytes of one data bank (two banks) */
#define CNNACC_CCP_PARAM_WEIGHT_BANK	1	/* bytes of one weight bank (four banks) */
#define CNNACC_CCP_PARAM_GEOMETRY	2	/* 7:0 rows, 15:8 lanes, 23:16 core groups */
#define CNNACC_CCP_PARAM_LOB		3	/* vectors per local output buffer */
#define CNNACC_CCP_PARAM_LIMITS		4	/* 7:0 kernel, 15:8 stride, 23:16 padding maximum */

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
#define CNNACC_CCP_REG_STATE		0x008	/* 3:0 enum cnnacc_ccp_state, 7:4 unit being run */
#define CNNACC_CCP_REG_BANK_SEL		0x00c	/* data bank that is the read bank: 0 or 1 */
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
 * @CNNACC_CCP_EXEC: a unit or the DMA engine works
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
 * @CNNACC_CCP_STORE: the same from target to memory
 * @CNNACC_CCP_CFG: parameter group = R0..R7
 * @CNNACC_CCP_EXEC_UNIT: run a unit to its end
 * @CNNACC_CCP_SWAP: exchange the data banks' roles
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
 * Parameter groups: word n is R[n] at the CFG.  "(ours)" marks what the spec's
 * packing leaves reserved and this project defines; zero there always means
 * the spec's square, compact layer.  Bits not named must be zero (except a
 * word called ignored).  Bases are signed float offsets: what counts is that
 * every float of the touched range is inside the bank.  A plane is rows x
 * columns floats, compact; the plane pitch is the distance between the planes
 * of consecutive channels in floats, 0 = rows * columns, else at least that.
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
#define CNNACC_FP32_NAN			0x7fc00000u	/* every NaN that a unit computes */
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
 * enum cnnacc_ccp_field - what an E_CFG (1..15) or E_RANGE (16..) is about.
 * At EXEC a unit checks its parameters in this order and names the first bad one.
 * @CNNACC_CCP_BAD_RESERVED: a bit that must be zero
 * @CNNACC_CCP_BAD_KERNEL: kernel rows or columns
 * @CNNACC_CCP_BAD_STRIDE: stride or column stride
 * @CNNACC_CCP_BAD_PAD: pad unit's layers not 1 or 2
 * @CNNACC_CCP_BAD_IN_SIZE: input rows or columns zero, or padded input smaller than the kernel
 * @CNNACC_CCP_BAD_OUT_SIZE: output size not what the formula gives
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

/* ------------------------------------------------------------------- hwpe */

/*
 * Core hwpe, the CNN-HWPE matrix multiplication coprocessor
 * (Documentation/hardware/hwpe.rst), programmed through the sequencer.
 */

/* Index into cnnacc_core_entry.param. */
#define CNNACC_HWPE_PARAM_FMAP		0	/* bytes of one fmap SRAM (two) */
#define CNNACC_HWPE_PARAM_KERNEL	1	/* bytes of both kernel SRAMs */
#define CNNACC_HWPE_PARAM_GEOMETRY	2	/* 7:0 PEs, 15:8 AccRegs each, 23:16 operand bits */
#define CNNACC_HWPE_PARAM_LIMITS	3	/* 7:0 kernel, 15:8 shift maximum */

#define CNNACC_HWPE_PES			16
#define CNNACC_HWPE_ACCS		8	/* AccRegs of a PE: left rows of a round */
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
#define CNNACC_HWPE_WAIT_ROUND		0x1u	/* a round is done, the task suspended */
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
 * @CNNACC_HWPE_RESET: everything but the AccRegs to its reset value
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
 * @CNNACC_HWPE_E_BUSY: class BAD_PROGRAM: not while the task is in that state; detail is
 *	enum cnnacc_hwpe_state
 * @CNNACC_HWPE_E_ENABLE_IDLE: class BAD_PROGRAM: resumes, and no task is suspended
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
 * enum cnnacc_hwpe_illegal - what is wrong with an instruction word, in the order of
 * the checks.
 * @CNNACC_HWPE_BAD_OPCODE: not CNNACC_HWPE_OPCODE
 * @CNNACC_HWPE_BAD_FUNCT: not in enum cnnacc_hwpe_funct
 * @CNNACC_HWPE_BAD_FLAGS: xd, xs1, xs2 not those of the instruction
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
 * enum cnnacc_hwpe_cfg - what is wrong with a configuration, in the order of the checks.
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
 * @CNNACC_HWPE_IDLE: none
 * @CNNACC_HWPE_RUNNING: a round that no WAIT has seen done
 * @CNNACC_HWPE_SUSPENDED: a round is done, its AccRegs can be drained
 */
enum cnnacc_hwpe_state {
	CNNACC_HWPE_IDLE = 0,
	CNNACC_HWPE_RUNNING = 1,
	CNNACC_HWPE_SUSPENDED = 2,
};

/* Core window behind the sequencer's registers, all read only. */
#define CNNACC_HWPE_REG_STATUS		0x040	/* 1:0 enum cnnacc_hwpe_state; bits: see below */
#define CNNACC_HWPE_REG_ROUND		0x044	/* rounds of the task seen done */
#define CNNACC_HWPE_REG_ROUNDS		0x048	/* rounds of the task, modulo 2^32 */
#define CNNACC_HWPE_REG_CFG(n)		(0x050 + 4 * (n))	/* CfgReg0, CfgReg1 */
#define CNNACC_HWPE_REG_MAC(n)		(0x058 + 4 * (n))	/* operands of MatrixMac */
#define CNNACC_HWPE_REG_BASE(n)		(0x060 + 4 * (n))	/* FmapAddrBase 0..7 */
#define CNNACC_HWPE_REG_ACC(pe, n)	(0x200 + 64 * (n) + 4 * (pe))	/* AccReg n of a PE */
#define CNNACC_HWPE_WINDOW_SIZE		0x1000

#define CNNACC_HWPE_STATUS_LAST		0x4u	/* the round is the task's last */
#define CNNACC_HWPE_STATUS_BAD_TER2	0x10u	/* sticky: a TER2 operand was 10 */
#define CNNACC_HWPE_STATUS_ALIGN	0x20u	/* sticky: an inner layer's address not aligned */

#define CNNACC_HWPE_ID			0x45505748	/* "HWPE" */

/* ---------------------------------------------------------- layout checks */

/* A wrong layout makes an array size negative. */
#define CNNACC_LAYOUT(cond)	sizeof(char[(cond) ? 1 : -1])
#define CNNACC_AT(type, field)	__builtin_offsetof(struct cnnacc_##type, field)

enum cnnacc_hw_layout {
	CNNACC_LAYOUT_CORE_ENTRY = CNNACC_LAYOUT(sizeof(struct cnnacc_core_entry) == 64),
	CNNACC_LAYOUT_PACKET = CNNACC_LAYOUT(sizeof(struct cnnacc_packet) == 64),
	CNNACC_LAYOUT_COMPLETION = CNNACC_LAYOUT(sizeof(struct cnnacc_completion) == 64),
	CNNACC_LAYOUT_STATS = CNNACC_LAYOUT(sizeof(struct cnnacc_stats) == 128),
	CNNACC_LAYOUT_SEQ_COMMAND = CNNACC_LAYOUT(sizeof(struct cnnacc_seq_command) == 32),
	CNNACC_LAYOUT_PROGRAM_VA = CNNACC_LAYOUT(CNNACC_AT(packet, program_va) == 32),
	CNNACC_LAYOUT_RESERVED = CNNACC_LAYOUT(CNNACC_AT(packet, reserved) == 44),
	CNNACC_LAYOUT_FAULT_VA = CNNACC_LAYOUT(CNNACC_AT(completion, fault_va) == 32),
	CNNACC_LAYOUT_END_NS = CNNACC_LAYOUT(CNNACC_AT(completion, end_ns) == 56),
	CNNACC_LAYOUT_PARAM = CNNACC_LAYOUT(CNNACC_AT(core_entry, param) == 32),
};

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_HW_H */
