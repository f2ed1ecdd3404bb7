/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * What applications, the kernel and the device share: features, the status of a job and the record
 * of its statistics.
 *
 * cnnacc_accel.h includes it for applications, cnnacc_hw.h for drivers and models.  Structures are
 * in memory that the device writes: little-endian.
 */
#ifndef CNNACC_STATUS_H
#define CNNACC_STATUS_H

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* drm_cnnacc_dev_info.features, register FEATURES */
#define CNNACC_FEATURE_COHERENT		0x1u	/* device DMA snoops CPU caches */
#define CNNACC_FEATURE_MODELLED_TIME	0x2u	/* completions appear at the modelled time */

/**
 * enum cnnacc_status_class - result of a job; the same for every core.
 * @CNNACC_STATUS_OK: done
 * @CNNACC_STATUS_BAD_PROGRAM: illegal instruction, operand or address in the program
 * @CNNACC_STATUS_MMU_FAULT: no translation or no permission
 * @CNNACC_STATUS_BUS_ERROR: the bus refused a translated access or a table read
 * @CNNACC_STATUS_CONFIG: bad packet or bad unit configuration
 * @CNNACC_STATUS_DEADLOCK: the program waits for something that cannot happen
 * @CNNACC_STATUS_TIME_LIMIT: the cycle limit was exceeded
 * @CNNACC_STATUS_ABORTED: the driver ended it
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
 * enum cnnacc_access - kind of an access that faulted.
 * @CNNACC_ACCESS_NONE: no access
 * @CNNACC_ACCESS_READ: data read
 * @CNNACC_ACCESS_WRITE: data write
 * @CNNACC_ACCESS_EXEC: program fetch
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
 * struct cnnacc_stats - statistics record of one job (128 bytes).
 * @cycles: elapsed, DMA overlapping compute, @scrub_cycles included
 * @cycles_serial: elapsed if nothing overlapped, @scrub_cycles included
 * @compute_cycles: cycles the units were busy
 * @stall_cycles: cycles the controller waited for DMA, or a suspended task waited to be resumed
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
	__le64 cycles;
	__le64 cycles_serial;
	__le64 compute_cycles;
	__le64 stall_cycles;
	__le64 dma_cycles;
	__le64 mac_slots;
	__le64 mac_useful;
	__le64 mem_read_bytes;
	__le64 mem_write_bytes;
	__le64 local_read_bytes;
	__le64 local_write_bytes;
	__le64 instructions;
	__le64 events;
	__le64 scrub_cycles;
	__le64 jobs;
	__le64 reserved;
};

/* Names of the fields above in order, for tools. */
#define CNNACC_STATS_NAMES { \
	"cycles", "cycles_serial", "compute_cycles", "stall_cycles", \
	"dma_cycles", "mac_slots", "mac_useful", "mem_read_bytes", \
	"mem_write_bytes", "local_read_bytes", "local_write_bytes", \
	"instructions", "events", "scrub_cycles", "jobs", "reserved", \
}

/* A wrong layout makes an array size negative. */
#define CNNACC_LAYOUT(cond)	sizeof(char[(cond) ? 1 : -1])
#define CNNACC_AT(type, field)	__builtin_offsetof(struct cnnacc_##type, field)

enum cnnacc_status_layout {
	CNNACC_LAYOUT_STATS = CNNACC_LAYOUT(sizeof(struct cnnacc_stats) == 128),
};

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_STATUS_H */
