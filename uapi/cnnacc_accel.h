/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * cnnacc ioctl interface: applications (libcnnrt) <-> cnnacc.ko.
 *
 * Rules:
 *
 * - Structures only grow at the end; a field or flag added later comes with a
 *   new driver minor version.  Numbers and flags are never reused.
 * - Names that are not defined here are in cnnacc_status.h.
 * - Padding, reserved fields and unknown flags must be zero, else -EINVAL.
 * - Arrays go through struct drm_cnnacc_obj_array, which has the element size that
 *   user space was built with: bytes that the kernel does not know must be zero
 *   (-E2BIG), bytes that user space does not know are taken as zero.  An element size below
 *   that of the structure's first version, or a count above the limit in
 *   struct drm_cnnacc_dev_info, is -EINVAL.
 * - Ids are per file.  An unknown id or handle is -ENOENT.
 * - Timeouts are absolute CLOCK_MONOTONIC nanoseconds; 0 or a time in the past polls.
 * - After the device is removed every ioctl returns -ENODEV.
 * - User space allocates device addresses (VA); VA 0 is an ordinary address.
 *
 * Fence errors: 0 done; -EFAULT MMU fault or bus error; -EINVAL bad program or
 * bad configuration; -ETIMEDOUT cycle limit or hang; -ECANCELED a dependency failed, the
 * context was destroyed, or a reset ended an innocent job; -ENODEV device removed or wedged.
 * DRM_CNNACC_CTX_QUERY has the details.
 */
#ifndef CNNACC_ACCEL_H
#define CNNACC_ACCEL_H

#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include <drm.h>
#endif

#include "cnnacc_status.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_CNNACC_VERSION_MAJOR	2
#define DRM_CNNACC_VERSION_MINOR	0

/**
 * enum drm_cnnacc_ioctl_id - ioctl numbers.
 * @DRM_CNNACC_DEV_QUERY: properties and limits of the device and the driver
 * @DRM_CNNACC_VM_CREATE: new address space
 * @DRM_CNNACC_VM_DESTROY: give its id back; its contexts keep it
 * @DRM_CNNACC_CTX_CREATE: new context: a queue per core, in an address space
 * @DRM_CNNACC_CTX_DESTROY: cancel its queued jobs and free it
 * @DRM_CNNACC_CTX_QUERY: state and last failure of a context
 * @DRM_CNNACC_BO_CREATE: new buffer object
 * @DRM_CNNACC_BO_INFO: size, use and mmap offset of a buffer object
 * @DRM_CNNACC_BO_SYNC: cache maintenance of ranges
 * @DRM_CNNACC_VM_BIND: map and unmap buffer objects in an address space
 * @DRM_CNNACC_SUBMIT: queue jobs
 * @DRM_CNNACC_EVENTFD: signal an eventfd for each event of a core
 * @DRM_CNNACC_REG_RW: read or write a device register (CAP_SYS_ADMIN)
 */
enum drm_cnnacc_ioctl_id {
	DRM_CNNACC_DEV_QUERY = 0,
	DRM_CNNACC_VM_CREATE,
	DRM_CNNACC_VM_DESTROY,
	DRM_CNNACC_CTX_CREATE,
	DRM_CNNACC_CTX_DESTROY,
	DRM_CNNACC_CTX_QUERY,
	DRM_CNNACC_BO_CREATE,
	DRM_CNNACC_BO_INFO,
	DRM_CNNACC_BO_SYNC,
	DRM_CNNACC_VM_BIND,
	DRM_CNNACC_SUBMIT,
	DRM_CNNACC_EVENTFD,
	DRM_CNNACC_REG_RW,
};

/**
 * struct drm_cnnacc_obj_array - array in user memory.
 * @stride: size of one element as user space knows it, bytes
 * @count: number of elements; 0 = no array
 * @array: user pointer to the first element
 */
struct drm_cnnacc_obj_array {
	__u32 stride;
	__u32 count;
	__u64 array;
};

/* Initialiser: DRM_CNNACC_OBJ_ARRAY(2, ops) */
#define DRM_CNNACC_OBJ_ARRAY(cnt, ptr) \
	{ .stride = sizeof((ptr)[0]), .count = (cnt), .array = (__u64)(__UINTPTR_TYPE__)(ptr) }

/**
 * enum drm_cnnacc_dev_query_type - what DRM_CNNACC_DEV_QUERY returns.
 * @DRM_CNNACC_DEV_QUERY_DEV_INFO: one struct drm_cnnacc_dev_info
 * @DRM_CNNACC_DEV_QUERY_CORE_INFO: one struct drm_cnnacc_core_info per core
 * @DRM_CNNACC_DEV_QUERY_CLOCKS: one struct drm_cnnacc_clocks; wakes a sleeping device
 * @DRM_CNNACC_DEV_QUERY_TIMESTAMP: one struct drm_cnnacc_timestamp; wakes a sleeping device
 */
enum drm_cnnacc_dev_query_type {
	DRM_CNNACC_DEV_QUERY_DEV_INFO = 0,
	DRM_CNNACC_DEV_QUERY_CORE_INFO = 1,
	DRM_CNNACC_DEV_QUERY_CLOCKS = 2,
	DRM_CNNACC_DEV_QUERY_TIMESTAMP = 3,
};

/**
 * struct drm_cnnacc_dev_query - argument of DRM_CNNACC_DEV_QUERY.
 * @type: enum drm_cnnacc_dev_query_type
 * @pad: zero
 * @result: in: array for the structures; out: size and number of the kernel's structures
 *
 * At most result.count structures are written, each as long as result.stride: truncated, or padded
 * with zeros.  With result.array 0 nothing is written.
 */
struct drm_cnnacc_dev_query {
	__u32 type;
	__u32 pad;
	struct drm_cnnacc_obj_array result;
};

/**
 * struct drm_cnnacc_dev_info - device and limits.
 * @hw_version: hardware version: 31:16 major, 15:0 minor
 * @features: CNNACC_FEATURE_*
 * @core_count: cores, 1..8
 * @va_bits: width of a device address: VAs are 0..2^va_bits - 1
 * @page_size: granularity of VM_BIND, bytes
 * @max_vms: address spaces per file
 * @max_contexts: contexts per file
 * @max_bind_ops: operations per VM_BIND
 * @max_sync_ops: ranges per BO_SYNC
 * @max_jobs: jobs per SUBMIT
 * @max_tasks: tasks per job
 * @max_syncs: synchronisation operations per job
 * @max_bos: shared buffers per job
 * @max_buffers: buffer handles per file
 * @max_queued_jobs: queued and running jobs per file
 * @pad: zero
 * @max_bo_size: bytes of one buffer object
 * @reset_count: device resets since the driver was bound to it
 * @max_queued_cycles: sum of the cycle limits of queued and running jobs per context; a SUBMIT to a
 *	context without jobs may exceed it
 */
struct drm_cnnacc_dev_info {
	__u32 hw_version;
	__u32 features;
	__u32 core_count;
	__u32 va_bits;
	__u32 page_size;
	__u32 max_vms;
	__u32 max_contexts;
	__u32 max_bind_ops;
	__u32 max_sync_ops;
	__u32 max_jobs;
	__u32 max_tasks;
	__u32 max_syncs;
	__u32 max_bos;
	__u32 max_buffers;
	__u32 max_queued_jobs;
	__u32 pad;
	__u64 max_bo_size;
	__u64 reset_count;
	__u64 max_queued_cycles;
};

/**
 * struct drm_cnnacc_core_info - one core, from the discovery table.
 * @type: number of the design, for information: software knows a core by its name
 * @version: 31:16 major, 15:0 minor
 * @window_offset: offset in the register file of the core's registers (REG_RW)
 * @window_size: size of the core's registers, bytes
 * @queue_offset: offset in the register file of the core's queue registers (REG_RW)
 * @program_max: largest program, bytes
 * @job_cycles_max: largest cycle limit of a task
 * @param: build parameters, per core
 * @name: 1 to 7 of the characters a-z, 0-9 and '-', padded with NUL
 */
struct drm_cnnacc_core_info {
	__u32 type;
	__u32 version;
	__u32 window_offset;
	__u32 window_size;
	__u32 queue_offset;
	__u32 program_max;
	__u64 job_cycles_max;
	__u32 param[16];
	char name[8];
};

/**
 * struct drm_cnnacc_clocks - clock of the cores, Hz.
 * @current_hz: now
 * @min_hz: lowest
 * @max_hz: highest
 */
struct drm_cnnacc_clocks {
	__u64 current_hz;
	__u64 min_hz;
	__u64 max_hz;
};

/**
 * struct drm_cnnacc_timestamp - one moment on two clocks, ns.
 * @device_ns: device time, as in completion records; restarts at a reset of the device
 * @cpu_ns: CLOCK_MONOTONIC, right before the device's clock was read
 */
struct drm_cnnacc_timestamp {
	__u64 device_ns;
	__u64 cpu_ns;
};

/**
 * struct drm_cnnacc_vm_create - argument of DRM_CNNACC_VM_CREATE.
 * @flags: zero
 * @vm_id: out: id, never 0
 *
 * An address space is what the device isolates: contexts in one share all mappings, and what a job
 * leaves in a core is cleared before a job of another address space runs there.
 *
 * -ENOSPC: the file has max_vms, or the device is out of address spaces; -EDQUOT: the user who
 * opened the file has too many in all files.  One that is destroyed counts until it is freed.
 */
struct drm_cnnacc_vm_create {
	__u32 flags;
	__u32 vm_id;
};

/**
 * struct drm_cnnacc_vm_destroy - argument of DRM_CNNACC_VM_DESTROY.
 * @vm_id: address space
 * @pad: zero
 *
 * The id is free at once.  The address space and its mappings live until its last context is
 * destroyed and that context's jobs have ended.
 */
struct drm_cnnacc_vm_destroy {
	__u32 vm_id;
	__u32 pad;
};

/**
 * enum drm_cnnacc_priority - scheduling priority of a context.
 * @DRM_CNNACC_PRIORITY_LOW: after the others, but see below
 * @DRM_CNNACC_PRIORITY_NORMAL: default
 * @DRM_CNNACC_PRIORITY_HIGH: before the others; needs CAP_SYS_NICE, else -EACCES
 *
 * Contexts of one priority that have work for a core take turns: none waits for more than one job
 * of each other, or 1 ms of short ones.  A higher priority goes first.  A job that has waited ten
 * times as long as its cycle limits allow it to run, at least 100 ms and at most 10 s, goes before
 * those of higher priorities; several such jobs do so one after the other, each after such a time.
 */
enum drm_cnnacc_priority {
	DRM_CNNACC_PRIORITY_LOW = 0,
	DRM_CNNACC_PRIORITY_NORMAL = 1,
	DRM_CNNACC_PRIORITY_HIGH = 2,
};

/**
 * struct drm_cnnacc_ctx_create - argument of DRM_CNNACC_CTX_CREATE.
 * @flags: zero
 * @priority: enum drm_cnnacc_priority
 * @vm_id: address space that its jobs run in
 * @ctx_id: out: id, never 0
 *
 * -ENOSPC: the file has max_contexts; -EDQUOT: the user who opened the file has too many in all
 * files.  One that is destroyed counts until it is freed.
 */
struct drm_cnnacc_ctx_create {
	__u32 flags;
	__u32 priority;
	__u32 vm_id;
	__u32 ctx_id;
};

/**
 * struct drm_cnnacc_ctx_destroy - argument of DRM_CNNACC_CTX_DESTROY.
 * @ctx_id: context
 * @pad: zero
 *
 * Queued jobs end with -ECANCELED, once the fences that they wait for have signalled; jobs that
 * their core has been given are allowed to finish.  When the file is closed, also by the death of
 * its process, a long-running job is aborted and ends with -ECANCELED too.
 */
struct drm_cnnacc_ctx_destroy {
	__u32 ctx_id;
	__u32 pad;
};

/* drm_cnnacc_ctx_query.state */
#define DRM_CNNACC_CTX_FAULT		0x1u	/* a job had an MMU fault or bus error */
#define DRM_CNNACC_CTX_BAD_PROGRAM	0x2u	/* a job ended BAD_PROGRAM, CONFIG or DEADLOCK */
#define DRM_CNNACC_CTX_TIME_LIMIT	0x4u	/* a job hit its cycle limit */
/* a job made no progress, or ran for longer than the driver allows (job_limit_ms) */
#define DRM_CNNACC_CTX_HANG		0x8u
#define DRM_CNNACC_CTX_INNOCENT_RESET	0x10u	/* a reset ended a job that did not cause it */
/*
 * Three jobs of the context failed or hung in succession, or eight of its file: its queued jobs end
 * with -ECANCELED, SUBMIT returns -EIO, and so does CTX_CREATE after eight of the file.
 */
#define DRM_CNNACC_CTX_BANNED		0x20u

/**
 * struct drm_cnnacc_ctx_query - argument of DRM_CNNACC_CTX_QUERY.
 * @ctx_id: context
 * @state: out: all DRM_CNNACC_CTX_* states since creation
 * @failed_jobs: out: number of jobs that failed or hung
 * @reset_jobs: out: number of jobs that a reset ended and that did not cause it
 * @seqno: out: SUBMIT sequence number of the last failed job, 0 if none;
 *	the fields below describe it
 * @core: out: core index
 * @task: out: index of the failed task in the job
 * @status_class: out: enum cnnacc_status_class; 0 if the job hung
 * @status_code: out: enum cnnacc_status_code or core code
 * @detail: out: meaning per code: enum cnnacc_packet_field, enum cnnacc_fault_level, or the core's
 * @pc: out: program counter
 * @access: out: enum cnnacc_access
 * @pad: zero
 * @fault_va: out: fault address
 */
struct drm_cnnacc_ctx_query {
	__u32 ctx_id;
	__u32 state;
	__u32 failed_jobs;
	__u32 reset_jobs;
	__u64 seqno;
	__u32 core;
	__u32 task;
	__u16 status_class;
	__u16 status_code;
	__u32 detail;
	__u32 pc;
	__u32 access;
	__u32 pad[2];
	__u64 fault_va;
};

/**
 * enum drm_cnnacc_bo_use - use of a buffer object; limits the permissions of its mappings.
 * @DRM_CNNACC_BO_DATA: activations, scratch, statistics: read and write, never execute
 * @DRM_CNNACC_BO_WEIGHT: weights: the device may only read
 * @DRM_CNNACC_BO_PROGRAM: programs: the device may only execute
 */
enum drm_cnnacc_bo_use {
	DRM_CNNACC_BO_DATA = 0,
	DRM_CNNACC_BO_WEIGHT = 1,
	DRM_CNNACC_BO_PROGRAM = 2,
};

/* drm_cnnacc_bo_create.flags */
/* CPU mapping cached instead of write-combined */
#define DRM_CNNACC_BO_CACHED		0x1u
/* only for vm_id: cheaper to submit, cannot be exported */
#define DRM_CNNACC_BO_PRIVATE		0x2u

/**
 * struct drm_cnnacc_bo_create - argument of DRM_CNNACC_BO_CREATE.
 * @size: in: bytes, 1..max_bo_size; out: rounded up to pages
 * @use: enum drm_cnnacc_bo_use
 * @flags: DRM_CNNACC_BO_*
 * @vm_id: address space if DRM_CNNACC_BO_PRIVATE, else zero
 * @handle: out: GEM handle
 *
 * The memory reads as zero.  Close with DRM_IOCTL_GEM_CLOSE.  -ENOSPC: max_buffers reached.
 */
struct drm_cnnacc_bo_create {
	__u64 size;
	__u32 use;
	__u32 flags;
	__u32 vm_id;
	__u32 handle;
};

/* drm_cnnacc_bo_info.flags, besides DRM_CNNACC_BO_* */
#define DRM_CNNACC_BO_IMPORTED		0x10000u	/* imported dma-buf of another driver */

/**
 * struct drm_cnnacc_bo_info - argument of DRM_CNNACC_BO_INFO.
 * @handle: GEM handle
 * @flags: out: DRM_CNNACC_BO_*
 * @size: out: bytes
 * @mmap_offset: out: offset for mmap() on the device node; 0 if imported
 *	(map the dma-buf instead)
 * @use: out: enum drm_cnnacc_bo_use
 * @pad: zero
 */
struct drm_cnnacc_bo_info {
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u64 mmap_offset;
	__u32 use;
	__u32 pad;
};

/* drm_cnnacc_bo_sync_op.flags */
#define DRM_CNNACC_BO_SYNC_FOR_DEVICE	0x1u	/* CPU wrote, device will read */
#define DRM_CNNACC_BO_SYNC_FOR_CPU	0x2u	/* device wrote, CPU will read */

/**
 * struct drm_cnnacc_bo_sync_op - one range.
 * @handle: GEM handle
 * @flags: exactly one DRM_CNNACC_BO_SYNC_FOR_*
 * @offset: first byte
 * @size: bytes
 */
struct drm_cnnacc_bo_sync_op {
	__u32 handle;
	__u32 flags;
	__u64 offset;
	__u64 size;
};

/**
 * struct drm_cnnacc_bo_sync - argument of DRM_CNNACC_BO_SYNC.
 * @ops: struct drm_cnnacc_bo_sync_op, at most max_sync_ops
 *
 * Required for every buffer if CNNACC_FEATURE_COHERENT is clear, for example with bounce
 * buffers; does nothing if it is set.
 */
struct drm_cnnacc_bo_sync {
	struct drm_cnnacc_obj_array ops;
};

/**
 * enum drm_cnnacc_bind_op_type - VM_BIND operations.
 * @DRM_CNNACC_BIND_MAP: map a range of a buffer at a free VA range
 * @DRM_CNNACC_BIND_UNMAP: remove one mapping, identified by its exact VA and size
 */
enum drm_cnnacc_bind_op_type {
	DRM_CNNACC_BIND_MAP = 0,
	DRM_CNNACC_BIND_UNMAP = 1,
};

/* drm_cnnacc_bind_op.flags of a MAP: at least one, limited by the buffer's use */
#define DRM_CNNACC_BIND_READ		0x1u
#define DRM_CNNACC_BIND_WRITE		0x2u
#define DRM_CNNACC_BIND_EXEC		0x4u
/* drm_cnnacc_bind_op.flags of an UNMAP: wait for no job; one that uses the range faults */
#define DRM_CNNACC_BIND_NOWAIT		0x8u

/**
 * struct drm_cnnacc_bind_op - one operation; VA, offset and size in whole pages.
 * @op: enum drm_cnnacc_bind_op_type
 * @flags: DRM_CNNACC_BIND_*
 * @handle: GEM handle; zero for UNMAP
 * @pad: zero
 * @va: first device address
 * @bo_offset: first byte in the buffer; zero for UNMAP
 * @size: bytes
 */
struct drm_cnnacc_bind_op {
	__u32 op;
	__u32 flags;
	__u32 handle;
	__u32 pad;
	__u64 va;
	__u64 bo_offset;
	__u64 size;
};

/**
 * struct drm_cnnacc_vm_bind - argument of DRM_CNNACC_VM_BIND.
 * @vm_id: address space
 * @flags: zero
 * @ops: struct drm_cnnacc_bind_op, at most max_bind_ops, executed in order
 * @done: out: number of executed operations; on error the index of the one that failed
 * @pad: zero
 *
 * Synchronous.  With an UNMAP without DRM_CNNACC_BIND_NOWAIT it first waits for the jobs that all
 * contexts of the address space have submitted; -ETIMEDOUT if that takes too long.  -EEXIST: MAP
 * into a range that is not free; -ENOENT: no such mapping; -ENOSPC: too many mappings in the
 * address space, or page tables in the file.
 */
struct drm_cnnacc_vm_bind {
	__u32 vm_id;
	__u32 flags;
	struct drm_cnnacc_obj_array ops;
	__u32 done;
	__u32 pad;
};

/* drm_cnnacc_sync.flags: exactly one of WAIT and SIGNAL */
#define DRM_CNNACC_SYNC_WAIT		0x1u
#define DRM_CNNACC_SYNC_SIGNAL		0x2u
#define DRM_CNNACC_SYNC_TIMELINE	0x4u	/* @point is a timeline point */

/**
 * struct drm_cnnacc_sync - synchronisation with a syncobj.
 * @flags: DRM_CNNACC_SYNC_*
 * @handle: syncobj handle
 * @point: timeline point, >= 1; zero for a binary syncobj
 */
struct drm_cnnacc_sync {
	__u32 flags;
	__u32 handle;
	__u64 point;
};

/* drm_cnnacc_bo_ref.flags: at least one */
#define DRM_CNNACC_BO_REF_READ		0x1u
#define DRM_CNNACC_BO_REF_WRITE		0x2u

/**
 * struct drm_cnnacc_bo_ref - shared buffer of a job, for implicit fencing.
 * @handle: GEM handle; private buffers need no entry
 * @flags: DRM_CNNACC_BO_REF_*
 */
struct drm_cnnacc_bo_ref {
	__u32 handle;
	__u32 flags;
};

/* drm_cnnacc_task.flags */
#define DRM_CNNACC_TASK_STATS		0x1u	/* write struct cnnacc_stats to stats_va */

/**
 * struct drm_cnnacc_task - one run of a program; becomes one packet.
 * @flags: DRM_CNNACC_TASK_*
 * @program_va: VA of the program, 64-byte aligned
 * @program_len: bytes, 4..program_max, multiple of 4
 * @stats_va: VA of the statistics record, 64-byte aligned; zero without DRM_CNNACC_TASK_STATS
 * @cycle_limit: 1..job_cycles_max; 0 = job_cycles_max
 */
struct drm_cnnacc_task {
	__u32 flags;
	__u32 program_va;
	__u32 program_len;
	__u32 stats_va;
	__u64 cycle_limit;
};

/* drm_cnnacc_job.flags */
/* writes nothing that it reads, so it may be run again after a reset */
#define DRM_CNNACC_JOB_RESTARTABLE	0x1u
/*
 * may run on any core whose struct drm_cnnacc_core_info differs from that of the job's core in
 * window_offset, window_size and queue_offset at most; SUBMIT chooses the one whose jobs that have
 * not ended have the smallest sum of cycle limits
 */
#define DRM_CNNACC_JOB_ANY_EQUAL	0x2u

/**
 * struct drm_cnnacc_job - tasks that run in order on one core, with one fence.
 * @core: core index
 * @flags: DRM_CNNACC_JOB_*
 * @tasks: struct drm_cnnacc_task, 1..max_tasks; a failed task cancels the rest
 * @syncs: struct drm_cnnacc_sync, at most max_syncs
 * @bos: struct drm_cnnacc_bo_ref, at most max_bos
 */
struct drm_cnnacc_job {
	__u32 core;
	__u32 flags;
	struct drm_cnnacc_obj_array tasks;
	struct drm_cnnacc_obj_array syncs;
	struct drm_cnnacc_obj_array bos;
};

/* drm_cnnacc_submit.flags */
#define DRM_CNNACC_SUBMIT_NONBLOCK	0x1u	/* -EAGAIN instead of a wait for room */

/**
 * struct drm_cnnacc_submit - argument of DRM_CNNACC_SUBMIT.
 * @ctx_id: context
 * @flags: DRM_CNNACC_SUBMIT_*
 * @jobs: struct drm_cnnacc_job, 1..max_jobs; only read
 * @first_seqno: out: sequence number of the first job in its context, from 1; job i has
 *	first_seqno + i
 * @core: out: by core index, the core that runs the jobs which name that core and have
 *	DRM_CNNACC_JOB_ANY_EQUAL
 *
 * All or nothing: everything is checked before the first job is queued; on error
 * nothing runs and no syncobj changes.  Jobs of one context run in order on each core.
 * Across cores only syncobjs order them; a job may wait for a syncobj that an earlier job
 * of the same SUBMIT signals.
 *
 * A job is canceled if one that it waits for by a syncobj has failed: one of the same SUBMIT,
 * the fence of a binary syncobj, or the job that reaches a timeline point which is not passed,
 * or is the last of its timeline, when SUBMIT is called.  A point below the last that is
 * signalled by then tells nothing, as the kernel keeps no fence of it: use a binary syncobj, or
 * CTX_QUERY.
 *
 * Waits, interruptibly, while more than max_queued_jobs or max_queued_cycles would be queued; with
 * DRM_CNNACC_SUBMIT_NONBLOCK it returns -EAGAIN, and poll() reports POLLOUT on the file when it
 * would have room.  (libdrm's drmIoctl() repeats an ioctl after -EAGAIN: call ioctl() then.)
 * -EIO: the context or its file is banned (DRM_CNNACC_CTX_BANNED).
 *
 * Jobs of one SUBMIT with DRM_CNNACC_JOB_ANY_EQUAL that name equal cores run on one core, and so in
 * order.  Those of different SUBMITs, also of one context, may run on different cores at the same
 * time: only syncobjs order them.
 */
struct drm_cnnacc_submit {
	__u32 ctx_id;
	__u32 flags;
	struct drm_cnnacc_obj_array jobs;
	__u64 first_seqno;
	__u8 core[8];
};

/* drm_cnnacc_eventfd.flags */
#define DRM_CNNACC_EVENTFD_REMOVE	0x1u	/* remove the eventfd; @fd is ignored */

/**
 * struct drm_cnnacc_eventfd - argument of DRM_CNNACC_EVENTFD.
 * @ctx_id: context whose jobs raise the events
 * @core: core index
 * @fd: eventfd to increment for each event; replaces an earlier one
 * @flags: DRM_CNNACC_EVENTFD_*
 */
struct drm_cnnacc_eventfd {
	__u32 ctx_id;
	__u32 core;
	__s32 fd;
	__u32 flags;
};

/* drm_cnnacc_reg_rw.flags */
#define DRM_CNNACC_REG_WRITE		0x1u	/* write @value; otherwise read it */

/**
 * struct drm_cnnacc_reg_rw - argument of DRM_CNNACC_REG_RW.
 * @offset: offset in the register file, multiple of 4, below 65536
 * @flags: DRM_CNNACC_REG_*
 * @value: in or out
 * @pad: zero
 *
 * -EPERM: a write to a register that the driver owns or that has a side effect, which are all but
 * those that Documentation/driver/driver.rst lists.
 */
struct drm_cnnacc_reg_rw {
	__u32 offset;
	__u32 flags;
	__u32 value;
	__u32 pad;
};

#define DRM_IOCTL_CNNACC(nr, type) \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_CNNACC_##nr, struct drm_cnnacc_##type)

#define DRM_IOCTL_CNNACC_DEV_QUERY	DRM_IOCTL_CNNACC(DEV_QUERY, dev_query)
#define DRM_IOCTL_CNNACC_VM_CREATE	DRM_IOCTL_CNNACC(VM_CREATE, vm_create)
#define DRM_IOCTL_CNNACC_VM_DESTROY	DRM_IOCTL_CNNACC(VM_DESTROY, vm_destroy)
#define DRM_IOCTL_CNNACC_CTX_CREATE	DRM_IOCTL_CNNACC(CTX_CREATE, ctx_create)
#define DRM_IOCTL_CNNACC_CTX_DESTROY	DRM_IOCTL_CNNACC(CTX_DESTROY, ctx_destroy)
#define DRM_IOCTL_CNNACC_CTX_QUERY	DRM_IOCTL_CNNACC(CTX_QUERY, ctx_query)
#define DRM_IOCTL_CNNACC_BO_CREATE	DRM_IOCTL_CNNACC(BO_CREATE, bo_create)
#define DRM_IOCTL_CNNACC_BO_INFO	DRM_IOCTL_CNNACC(BO_INFO, bo_info)
#define DRM_IOCTL_CNNACC_BO_SYNC	DRM_IOCTL_CNNACC(BO_SYNC, bo_sync)
#define DRM_IOCTL_CNNACC_VM_BIND	DRM_IOCTL_CNNACC(VM_BIND, vm_bind)
#define DRM_IOCTL_CNNACC_SUBMIT		DRM_IOCTL_CNNACC(SUBMIT, submit)
#define DRM_IOCTL_CNNACC_EVENTFD	DRM_IOCTL_CNNACC(EVENTFD, eventfd)
#define DRM_IOCTL_CNNACC_REG_RW		DRM_IOCTL_CNNACC(REG_RW, reg_rw)

/* Compile-time check: the layout is the same for 32 and 64 bit, without holes. */
#define DRM_CNNACC_LAYOUT(type, size)	sizeof(char[sizeof(struct type) == (size) ? 1 : -1])

enum drm_cnnacc_layout {
	DRM_CNNACC_LAYOUT_OBJ_ARRAY = DRM_CNNACC_LAYOUT(drm_cnnacc_obj_array, 16),
	DRM_CNNACC_LAYOUT_DEV_QUERY = DRM_CNNACC_LAYOUT(drm_cnnacc_dev_query, 24),
	DRM_CNNACC_LAYOUT_DEV_INFO = DRM_CNNACC_LAYOUT(drm_cnnacc_dev_info, 88),
	DRM_CNNACC_LAYOUT_CORE_INFO = DRM_CNNACC_LAYOUT(drm_cnnacc_core_info, 104),
	DRM_CNNACC_LAYOUT_CLOCKS = DRM_CNNACC_LAYOUT(drm_cnnacc_clocks, 24),
	DRM_CNNACC_LAYOUT_TIMESTAMP = DRM_CNNACC_LAYOUT(drm_cnnacc_timestamp, 16),
	DRM_CNNACC_LAYOUT_VM_CREATE = DRM_CNNACC_LAYOUT(drm_cnnacc_vm_create, 8),
	DRM_CNNACC_LAYOUT_VM_DESTROY = DRM_CNNACC_LAYOUT(drm_cnnacc_vm_destroy, 8),
	DRM_CNNACC_LAYOUT_CTX_CREATE = DRM_CNNACC_LAYOUT(drm_cnnacc_ctx_create, 16),
	DRM_CNNACC_LAYOUT_CTX_DESTROY = DRM_CNNACC_LAYOUT(drm_cnnacc_ctx_destroy, 8),
	DRM_CNNACC_LAYOUT_CTX_QUERY = DRM_CNNACC_LAYOUT(drm_cnnacc_ctx_query, 64),
	DRM_CNNACC_LAYOUT_BO_CREATE = DRM_CNNACC_LAYOUT(drm_cnnacc_bo_create, 24),
	DRM_CNNACC_LAYOUT_BO_INFO = DRM_CNNACC_LAYOUT(drm_cnnacc_bo_info, 32),
	DRM_CNNACC_LAYOUT_BO_SYNC_OP = DRM_CNNACC_LAYOUT(drm_cnnacc_bo_sync_op, 24),
	DRM_CNNACC_LAYOUT_BO_SYNC = DRM_CNNACC_LAYOUT(drm_cnnacc_bo_sync, 16),
	DRM_CNNACC_LAYOUT_BIND_OP = DRM_CNNACC_LAYOUT(drm_cnnacc_bind_op, 40),
	DRM_CNNACC_LAYOUT_VM_BIND = DRM_CNNACC_LAYOUT(drm_cnnacc_vm_bind, 32),
	DRM_CNNACC_LAYOUT_SYNC = DRM_CNNACC_LAYOUT(drm_cnnacc_sync, 16),
	DRM_CNNACC_LAYOUT_BO_REF = DRM_CNNACC_LAYOUT(drm_cnnacc_bo_ref, 8),
	DRM_CNNACC_LAYOUT_TASK = DRM_CNNACC_LAYOUT(drm_cnnacc_task, 24),
	DRM_CNNACC_LAYOUT_JOB = DRM_CNNACC_LAYOUT(drm_cnnacc_job, 56),
	DRM_CNNACC_LAYOUT_SUBMIT = DRM_CNNACC_LAYOUT(drm_cnnacc_submit, 40),
	DRM_CNNACC_LAYOUT_EVENTFD = DRM_CNNACC_LAYOUT(drm_cnnacc_eventfd, 16),
	DRM_CNNACC_LAYOUT_REG_RW = DRM_CNNACC_LAYOUT(drm_cnnacc_reg_rw, 16),
};

#if defined(__cplusplus)
}
#endif

#endif /* CNNACC_ACCEL_H */
