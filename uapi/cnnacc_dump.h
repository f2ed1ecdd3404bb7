/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * Format of a cnnacc device coredump: cnnacc.ko -> /sys/class/devcoredump -> cnnctl.
 *
 * A file is one struct cnnacc_dump_header, then sections until its size: each a struct
 * cnnacc_dump_section and that many bytes, padded with zeros to a multiple of 8.  All
 * numbers are little-endian.  A reader skips section types that it does not know.  Sections only
 * grow at the end; a reader takes missing bytes of a shorter section as zero.  The first section
 * has type CNNACC_DUMP_JOB, and there is no other one of that type; other types may be missing.
 *
 * Documentation/driver/coredump.rst describes when a dump is taken and how to use it.
 */
#ifndef CNNACC_DUMP_H
#define CNNACC_DUMP_H

#include <linux/types.h>

#include "cnnacc_hw.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define CNNACC_DUMP_MAGIC		0x504d4443	/* "CDMP" */
#define CNNACC_DUMP_VERSION		2	/* incremented by incompatible changes */

/* Limits of what the driver writes. */
#define CNNACC_DUMP_PROGRAM_MAX		0x101000	/* bytes of all PROGRAM sections */
#define CNNACC_DUMP_RANGES_MAX		4096		/* ranges of the MAP section */

/* cnnacc_dump_header.flags */
#define CNNACC_DUMP_TRUNCATED		0x1u	/* incomplete: there was no more room */

/**
 * struct cnnacc_dump_header - start of the file.
 * @magic: CNNACC_DUMP_MAGIC
 * @version: CNNACC_DUMP_VERSION
 * @size: bytes of the whole file
 * @flags: CNNACC_DUMP_TRUNCATED
 * @reserved: zero
 */
struct cnnacc_dump_header {
	__le32 magic;
	__le32 version;
	__le64 size;
	__le32 flags;
	__le32 reserved;
};

/**
 * enum cnnacc_dump_type - type of a section.
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
	__le32 type;
	__le32 reserved;
	__le64 va;
	__le64 size;
};

/**
 * enum cnnacc_dump_reason - why the job ended.
 * @CNNACC_DUMP_FAILED: the device reported an error: class and code are in the record
 * @CNNACC_DUMP_HANG: the driver ended a hung job; a record, if there is one, is that of the abort
 */
enum cnnacc_dump_reason {
	CNNACC_DUMP_FAILED = 1,
	CNNACC_DUMP_HANG = 2,
};

/* cnnacc_dump_job.flags */
#define CNNACC_DUMP_HAS_RECORD		0x1u	/* @record is valid */

/**
 * struct cnnacc_dump_job - the guilty job.
 * @reason: enum cnnacc_dump_reason
 * @flags: CNNACC_DUMP_HAS_RECORD
 * @time_ns: wall-clock time of the dump, ns since 1970
 * @seqno: number of the job in its context
 * @ctx_id: hardware id of the context
 * @task: index of the task in the job
 * @task_count: tasks of the job
 * @core: core index
 * @hw_version: register HW_VERSION
 * @clock_hz: register CLOCK_HZ
 * @ring_tail: index after the last packet of PACKETS
 * @records_head: index of the first record of RECORDS that the driver has not processed
 * @entry: discovery entry of the core
 * @packet: packet of the task
 * @record: completion record of the task
 */
struct cnnacc_dump_job {
	__le32 reason;
	__le32 flags;
	__le64 time_ns;
	__le64 seqno;
	__le32 ctx_id;
	__le32 task;
	__le32 task_count;
	__le32 core;
	__le32 hw_version;
	__le32 clock_hz;
	__le32 ring_tail;
	__le32 records_head;
	struct cnnacc_core_entry entry;
	struct cnnacc_packet packet;
	struct cnnacc_completion record;
};

/**
 * struct cnnacc_dump_reg - a register.
 * @offset: BAR offset
 * @value: value
 */
struct cnnacc_dump_reg {
	__le32 offset;
	__le32 value;
};

/**
 * struct cnnacc_dump_range - adjacent pages with the same permissions.
 * @va: first device address
 * @size: bytes, whole pages
 * @flags: CNNACC_PTE_*
 * @reserved: zero
 */
struct cnnacc_dump_range {
	__le64 va;
	__le64 size;
	__le32 flags;
	__le32 reserved;
};

/**
 * struct cnnacc_dump_walk - table walk of the fault address, or of the program if there is none.
 * @va: address
 * @root: bus address of the directory table
 * @dir_entry: entry of the directory, 0 for an address above 4 GiB
 * @page_entry: entry of the page table, 0 if there is none
 */
struct cnnacc_dump_walk {
	__le64 va;
	__le64 root;
	__le32 dir_entry;
	__le32 page_entry;
};

enum cnnacc_dump_layout {
	CNNACC_LAYOUT_DUMP_HEADER = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_header) == 24),
	CNNACC_LAYOUT_DUMP_SECTION = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_section) == 24),
	CNNACC_LAYOUT_DUMP_JOB = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_job) == 312),
	CNNACC_LAYOUT_DUMP_ENTRY = CNNACC_LAYOUT(CNNACC_AT(dump_job, entry) == 56),
	CNNACC_LAYOUT_DUMP_REG = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_reg) == 8),
	CNNACC_LAYOUT_DUMP_RANGE = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_range) == 24),
	CNNACC_LAYOUT_DUMP_WALK = CNNACC_LAYOUT(sizeof(struct cnnacc_dump_walk) == 24),
};

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_DUMP_H */
