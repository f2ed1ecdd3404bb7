/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_JOB_H
#define CNNACC_JOB_H

#include <linux/dma-fence.h>
#include <linux/list.h>

#include <drm/gpu_scheduler.h>

#include <cnnacc_accel.h>
#include <cnnacc_hw.h>

struct cnnacc_core;
struct cnnacc_ctx;
struct drm_device;
struct drm_file;

/**
 * enum cnnacc_end - why a job ended.
 * @CNNACC_END_DONE: all tasks succeeded
 * @CNNACC_END_FAILED: a task failed; its completion record has the reason
 * @CNNACC_END_HANG: guilty of a reset: no progress, or the core's answers made no sense
 * @CNNACC_END_INNOCENT: ended by a reset that it did not cause
 * @CNNACC_END_CANCELED: never started: a dependency failed or its context was destroyed
 * @CNNACC_END_GONE: the device is gone or wedged
 */
enum cnnacc_end {
	CNNACC_END_DONE,
	CNNACC_END_FAILED,
	CNNACC_END_HANG,
	CNNACC_END_INNOCENT,
	CNNACC_END_CANCELED,
	CNNACC_END_GONE,
};

/**
 * struct cnnacc_fence - hardware fence of a job; signalled when the job has ended.
 * @base: fence
 * @core: core, referenced
 */
struct cnnacc_fence {
	struct dma_fence base;
	struct cnnacc_core *core;
};

/**
 * struct cnnacc_dep - fence that a job waits for.
 * @cb: callback on @fence
 * @deps: the dependencies it is one of
 * @fence: the fence, referenced
 * @fatal: an error of @fence cancels the job
 */
struct cnnacc_dep {
	struct dma_fence_cb cb;
	struct cnnacc_deps *deps;
	struct dma_fence *fence;
	bool fatal;
};

/**
 * struct cnnacc_deps - all fences that a job waits for, as one fence.
 * @base: signalled when all of @entries are, or early by cnnacc_deps_force_signal()
 * @lock: lock of @base
 * @pending: entries that are not signalled, plus one until cnnacc_deps_arm() has returned
 * @count: entries in use
 * @max: entries allocated
 * @entries: the fences
 */
struct cnnacc_deps {
	struct dma_fence base;
	spinlock_t lock;	/* fence lock */
	atomic_t pending;
	unsigned int count;
	unsigned int max;
	struct cnnacc_dep entries[] __counted_by(max);
};

/**
 * struct cnnacc_batch - jobs that the scheduler starts on a core together.
 * @done: signalled when the last job has ended; its reference count is that of the batch
 * @lock: lock of @done
 * @base: scheduler job
 * @ctx: context of the jobs; it outlives the batch
 * @core: core of the jobs
 * @link: in &cnnacc_ctx.batches
 * @deps: dependencies of the first job; NULL if it has none
 * @jobs: jobs that have not ended, in order
 * @task_count: tasks of all jobs
 * @cycles: sum of the cycle limits of all tasks
 * @cpu: CPU that submitted the jobs
 * @kicked: the packets of @jobs are in the ring
 */
struct cnnacc_batch {
	struct dma_fence done;
	spinlock_t lock;	/* fence lock */
	struct drm_sched_job base;
	struct cnnacc_ctx *ctx;
	struct cnnacc_core *core;
	struct list_head link;
	struct cnnacc_deps *deps;
	struct list_head jobs;
	u32 task_count;
	u64 cycles;
	unsigned int cpu;
	bool kicked;
};

/**
 * struct cnnacc_job - job; cnnacc_job_end() frees it.
 * @link: in &cnnacc_batch.jobs
 * @ctx: context; it outlives the job
 * @core: core
 * @flags: DRM_CNNACC_JOB_*
 * @load: its part of &cnnacc_core.load
 * @seqno: number of the job in its context
 * @fence: hardware fence, referenced
 * @fence_live: @fence is initialised and reference-counted
 * @last_of: the batch whose last job this is, else NULL
 * @first_fence: fence value of the first packet
 * @tasks_done: tasks completed since the job was last written to the ring
 * @runtime_ns: device time of the completed tasks
 * @cycles: cycles of the completed tasks
 * @task_count: number of tasks
 * @tasks: the tasks
 */
struct cnnacc_job {
	struct list_head link;
	struct cnnacc_ctx *ctx;
	struct cnnacc_core *core;
	u32 flags;
	u32 load;
	u64 seqno;
	struct cnnacc_fence *fence;
	bool fence_live;
	struct cnnacc_batch *last_of;
	u64 first_fence;
	u32 tasks_done;
	u64 runtime_ns;
	u64 cycles;
	u32 task_count;
	struct drm_cnnacc_task tasks[] __counted_by(task_count);
};

/**
 * struct cnnacc_failure - the job that stopped a core's queue.
 * @job: the job, removed from its batch, for recovery to end; or NULL
 * @end: why the job ends
 * @has_record: @record is valid
 * @record: last completion record
 */
struct cnnacc_failure {
	struct cnnacc_job *job;
	enum cnnacc_end end;
	bool has_record;
	struct cnnacc_completion record;
};

/**
 * struct cnnacc_param - module parameter in ms, with a minimum of 10.
 * @ms: value; must be the first member, as the functions for uint parameters access it there
 * @max_ms: maximum
 */
struct cnnacc_param {
	unsigned int ms;
	unsigned int max_ms;
};

static inline struct cnnacc_batch *to_cnnacc_batch(struct drm_sched_job *base)
{
	return container_of(base, struct cnnacc_batch, base);
}

/* cnnacc_deps.c */
struct cnnacc_deps *cnnacc_deps_create(unsigned int max);
void cnnacc_deps_add(struct cnnacc_deps *deps, struct dma_fence *fence, bool fatal);
void cnnacc_deps_arm(struct cnnacc_deps *deps);
void cnnacc_deps_force_signal(struct cnnacc_deps *deps);
bool cnnacc_deps_failed(struct cnnacc_deps *deps);

/* cnnacc_job.c */
struct cnnacc_job *cnnacc_job_create(struct cnnacc_ctx *ctx, const struct drm_cnnacc_job *args,
				     const struct drm_cnnacc_task *tasks);
struct dma_fence *cnnacc_job_arm(struct cnnacc_job *job);
void cnnacc_job_free(struct cnnacc_job *job);
void cnnacc_job_end(struct cnnacc_job *job, enum cnnacc_end end,
		    const struct cnnacc_completion *record);

/* cnnacc_batch.c */
struct cnnacc_batch *cnnacc_batch_create(struct cnnacc_job *first, struct drm_file *file);
bool cnnacc_batch_add(struct cnnacc_batch *batch, struct cnnacc_job *job);
void cnnacc_batch_arm(struct cnnacc_batch *batch);
struct cnnacc_job *cnnacc_batch_pop(struct cnnacc_batch *batch);
void cnnacc_batch_end_jobs(struct list_head *jobs, enum cnnacc_end end);
void cnnacc_batch_end(struct cnnacc_batch *batch, enum cnnacc_end end);
void cnnacc_batch_free(struct cnnacc_batch *batch);

/* cnnacc_sched.c */
extern const struct kernel_param_ops cnnacc_param_ops;
int cnnacc_sched_init(struct cnnacc_core *core);
void cnnacc_sched_fini(struct cnnacc_core *core);

/* cnnacc_submit.c */
int cnnacc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
