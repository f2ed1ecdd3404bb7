/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Format of a cnnacc device coredump: cnnacc.ko -> /sys/class/devcoredump -> cnnctl.
 *
 * A file is one struct cnnacc_dump_header, then sections until its size: each a struct
 * cnnacc_dump_section and that many bytes, padded with zeros to a multiple of 8.  All
 * numbers are little-endian.  A reader skips section types that it does not know and takes what
 * a section is shorter than it expects as zero; sections only grow at the end.  The first
 * section is the only one of type CNNACC_DUMP_JOB; others may be missing.
 *
 * Documentation/driver/coredump.rst tells when a dump is taken and how to use it.
 */
#ifndef CNNACC_DUMP_H
#define CNNACC_DUMP_H

#include <linux/types.h>

#include "cnnacc_hw.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define CNNACC_DUMP_MAGIC		0x504d4443	/* "CDMP" */
#define CNNACC_DUMP_VERSION		1	/* goes up when old readers would be wrong */

/* Limits of what the driver writes. */
#define CNNACC_DUMP_PROGRAM_MAX		0x101000	/* bytes of all PROGRAM sections */
#define CNNACC_DUMP_RANGES_MAX		4096		/* ranges of the MAP section */

/* cnnacc_dump_header.flags */
#define CNNACC_DUMP_TRUNCATED		0x1u	/* something was left out for want of memory */

/**
 * struct cnnacc_dump_header - start of the file.
 * @magic: CNNACC_DUMP_MAGIC
 * @version: CNNACC_DUMP_VERSION
 * @size: bytes of the whole file
 * @flags: CNNACC_DUMP_TRUNCATED
 * @reserved: zero
 */
struct cnnacc_dump_header {
	__u32 magic;
	__u32 version;
	__u64 size;
	__u32 flags;
	__u32 reserved;
};

/**
 * enum cnnacc_dump_type - what a section holds.
 * @CNNACC_DUMP_JOB: struct cnnacc_dump_job
 * @CNNACC_DUMP_REGS: array of struct cnnacc_dump_reg; window words that are zero are left out
 * @CNNACC_DUMP_MAP: array of struct cnnacc_dump_range, ascending: the context's page tables
 * @CNNACC_DUMP_WALK: struct cnnacc_dump_walk
 * @CNNACC_DUMP_PROGRAM: bytes of an executable range, at the section's VA
 * @CNNACC_DUMP_PACKETS: the core's ring, array of struct cnnacc_packet
 * @CNNACC_DUMP_RECORDS: its completion ring, array of struct cnnacc_completion
 */
enum cnnacc_dump_type {
	CNNACC_DUMP_JOB = 1,
	CNNACC_DUMP_REGS = 2,
	CNNACC_DUMP_MAP = 3,
	CNNACC_DUMP_WALK = 4,
	CNNACC_DUMP_PROGRAM = 5,
	CNNACC_DUMP_PACKETS = 6,
	CNNACC_DUMP_RECORDS = 7,
};

/**
 * struct cnnacc_dump_section - start of a section.
 * @type: enum cnnacc_dump_type
 * @reserved: zero
 * @va: device address of the first byte of a PROGRAM, else zero
 * @size: bytes that follow, without padding
 */
struct cnnacc_dump_section {
	__u32 type;
	__u32 reserved;
	__u64 va;
	__u64 size;
};

/**
 * enum cnnacc_dump_reason - why the job ended.
 * @CNNACC_DUMP_FAILED: the device says how: class and code of the record
 * @CNNACC_DUMP_HANG: the driver gave it up; a record, if there is one, is that of the abort
 */
enum cnnacc_dump_reason {
	CNNACC_DUMP_FAILED = 1,
	CNNACC_DUMP_HANG = 2,
};

/* cnnacc_dump_job.flags */
#define CNNACC_DUMP_HAS_RECORD		0x1u	/* @record is the task's */

/**
 * struct cnnacc_dump_job - the job to blame.
 * @reason: enum cnnacc_dump_reason
 * @flags: CNNACC_DUMP_HAS_RECORD
 * @time_ns: wall-clock time of the dump, ns since 1970
 * @seqno: the job's number in its context
 * @ctx_id: the context's hardware id
 * @task: index of the task in the job
 * @task_count: tasks of the job
 * @core: core index
 * @hw_version: register HW_VERSION
 * @clock_hz: register CLOCK_HZ
 * @ring_tail: index after the last packet of PACKETS
 * @records_head: index of the first record of RECORDS that the driver has not taken in
 * @entry: the core's discovery entry
 * @packet: the task's packet
 * @record: its completion record
 */
struct cnnacc_dump_job {
	__u32 reason;
	__u32 flags;
	__u64 time_ns;
	__u64 seqno;
	__u32 ctx_id;
	__u32 task;
	__u32 task_count;
	__u32 core;
	__u32 hw_version;
	__u32 clock_hz;
	__u32 ring_tail;
	__u32 records_head;
	struct cnnacc_core_entry entry;
	struct cnnacc_packet packet;
	struct cnnacc_completion record;
};

/**
 * struct cnnacc_dump_reg - a register.
 * @offset: BAR offset
 * @value: its value
 */
struct cnnacc_dump_reg {
	__u32 offset;
	__u32 value;
};

/**
 * struct cnnacc_dump_range - neighbouring pages with the same permissions.
 * @va: first device address
 * @size: bytes, whole pages
 * @flags: CNNACC_PTE_*
 * @reserved: zero
 */
struct cnnacc_dump_range {
	__u64 va;
	__u64 size;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct cnnacc_dump_walk - the table walk of the fault address, else of the program's.
 * @va: address
 * @root: bus address of the directory table
 * @dir_entry: entry of the directory, 0 beyond 4 GiB
 * @page_entry: entry of the page table, 0 if there is none
 */
struct cnnacc_dump_walk {
	__u64 va;
	__u64 root;
	__u32 dir_entry;
	__u32 page_entry;
};

enum cnnacc_dump_layout {
	CNNACC_LAYOUT_DUMP_HEADER = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_header) == 24),
	CNNACC_LAYOUT_DUMP_SECTION = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_section) == 24),
	CNNACC_LAYOUT_DUMP_JOB = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_job) == 248),
	CNNACC_LAYOUT_DUMP_ENTRY = CNNACC_LAYOUT(CNNACC_AT(dump_job, entry) == 56),
	CNNACC_LAYOUT_DUMP_REG = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_reg) == 8),
	CNNACC_LAYOUT_DUMP_RANGE = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_range) == 24),
	CNNACC_LAYOUT_DUMP_WALK = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_walk) == 24),
};

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_DUMP_H */
