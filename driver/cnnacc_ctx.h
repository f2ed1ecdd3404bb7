/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_CTX_H
#define CNNACC_CTX_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include <cnnacc_accel.h>
#include <cnnacc_hw.h>

#include "cnnacc_file.h"
#include "cnnacc_stats.h"
#include "cnnacc_vm.h"

struct cnnacc_device;
struct cnnacc_job;
struct drm_device;
struct drm_file;
struct eventfd_ctx;

/**
 * struct cnnacc_ctx_queue - jobs of a context for one core.
 * @entity: scheduler entity
 * @waiting: jobs that are not given to the scheduler yet
 * @pushed: jobs that the scheduler has not started, in order
 * @link: in &cnnacc_core.queues while @pushed is not empty
 * @credits: sum of the credits of the jobs that the scheduler was given and has not freed
 * @last: fence of the job that the scheduler started last, referenced, or NULL
 * @fence_seqno: number of the last hardware fence
 */
struct cnnacc_ctx_queue {
	struct drm_sched_entity entity;
	struct list_head waiting;
	struct list_head pushed;
	struct list_head link;
	u32 credits;
	struct dma_fence *last;
	u64 fence_seqno;
};

/**
 * struct cnnacc_ctx - context: an entity per core, in an address space.
 * @ref: held by the file, until it is destroyed, by running ioctls and by jobs
 * @cdev: device
 * @file: file, which @vm keeps
 * @link: in &cnnacc_device.contexts
 * @vm: address space, referenced
 * @priority: DRM_CNNACC_PRIORITY_*
 * @submit_lock: serialises SUBMIT; protects @dead, @seqno and the fence numbers
 * @dead: destroyed; accepts no more jobs
 * @seqno: number of the last job
 * @fence_context: first of CNNACC_MAX_CORES fence contexts, one per core
 * @job_lock: protects the waiting jobs and the credits of @queues
 * @free_work: frees the context
 * @queued: cycle limits of the jobs that are queued or run
 * @refused_jobs: number of jobs of the last SUBMIT, if it was refused for want of room, else 0
 * @refused_cycles: their cycle limits
 * @banned: its jobs failed too often in succession
 * @failures: jobs that have failed in succession
 * @status_lock: protects @status and @failures
 * @status: answer to CTX_QUERY
 * @event_lock: protects @events
 * @events: eventfds, by core
 * @usage: usage of each core
 * @pid: process that created the context
 * @comm: name of that process
 * @queues: jobs, by core
 */
struct cnnacc_ctx {
	struct kref ref;
	struct cnnacc_device *cdev;
	struct cnnacc_file *file;
	struct list_head link;
	struct cnnacc_vm *vm;
	u32 priority;
	struct mutex submit_lock;	/* serialises SUBMIT */
	bool dead;
	u64 seqno;
	u64 fence_context;
	spinlock_t job_lock;		/* protects @queues */
	struct work_struct free_work;
	u64 queued;
	u32 refused_jobs;
	u64 refused_cycles;
	bool banned;
	u32 failures;
	spinlock_t status_lock;		/* protects @status and @failures */
	struct drm_cnnacc_ctx_query status;
	spinlock_t event_lock;		/* protects @events */
	struct eventfd_ctx *events[CNNACC_MAX_CORES];
	struct cnnacc_usage usage[CNNACC_MAX_CORES];
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct cnnacc_ctx_queue queues[];
};

struct cnnacc_ctx *cnnacc_ctx_get(struct drm_file *file, u32 id);
void cnnacc_ctx_put(struct cnnacc_ctx *ctx);
DEFINE_FREE(cnnacc_ctx, struct cnnacc_ctx *, cnnacc_ctx_put(_T))
void cnnacc_ctx_kill(struct cnnacc_ctx *ctx);
void cnnacc_ctx_kill_all(struct cnnacc_device *cdev);
int cnnacc_ctx_state(const struct cnnacc_ctx *ctx);
int cnnacc_ctx_reserve(struct cnnacc_ctx *ctx, u32 jobs, u64 cycles, bool wait);
void cnnacc_ctx_release(struct cnnacc_ctx *ctx, u32 jobs, u64 cycles);
bool cnnacc_ctx_has_room(struct cnnacc_ctx *ctx);
void cnnacc_ctx_job_done(struct cnnacc_ctx *ctx);
void cnnacc_ctx_add_job(struct cnnacc_ctx *ctx);
void cnnacc_ctx_remove_job(struct cnnacc_ctx *ctx);
void cnnacc_ctx_job_failed(struct cnnacc_ctx *ctx, struct cnnacc_job *job, u32 state,
			   const struct cnnacc_completion *record);
void cnnacc_ctx_job_innocent(struct cnnacc_ctx *ctx);
void cnnacc_ctx_signal_events(struct cnnacc_ctx *ctx, unsigned int core, u32 count);

int cnnacc_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_ctx_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_eventfd_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
