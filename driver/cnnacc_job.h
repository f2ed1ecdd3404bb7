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

/* Larger sums of cycle limits count as that; those of all jobs of a SUBMIT fit into 64 bits. */
#define CNNACC_CYCLES_MAX	BIT_ULL(52)

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
 * @core: core, referenced; NULL until the fence is initialised
 */
struct cnnacc_fence {
	struct dma_fence base;
	struct cnnacc_core *core;
};

/**
 * struct cnnacc_job - job; the scheduler frees it when it and its followers have ended.
 * @base: scheduler job; not initialised in a follower
 * @followers: jobs of the same SUBMIT that the scheduler starts with this one, linked by @follow
 * @follow: in &cnnacc_job.followers of another job
 * @link: in &cnnacc_ctx_queue.waiting, then in &cnnacc_ctx_queue.pushed, then in &cnnacc_core.jobs
 * @ctx: context; it outlives the job
 * @core: core
 * @flags: DRM_CNNACC_JOB_*
 * @cycle_limit: sum of the cycle limits of the tasks, at most CNNACC_CYCLES_MAX
 * @load: its part of &cnnacc_core.load
 * @credits: its part of CNNACC_CREDITS, the length of the ring and of its time
 * @group_credits: sum of @credits of the job and its followers
 * @pushed: jiffies when it was given to the scheduler
 * @seqno: number of the job in its context
 * @fence: hardware fence, referenced
 * @fatal: fences, referenced, that it waits for and whose error cancels it
 * @fatal_count: number of @fatal
 * @end: CNNACC_END_DONE, or why it is not to start
 * @written: its packets are in the ring
 * @first_fence: fence value of the first packet
 * @tasks_done: tasks completed since the job was last written to the ring
 * @runtime_ns: device time of the completed tasks
 * @cycles: cycles of the completed tasks
 * @task_count: number of tasks
 * @tasks: the tasks
 */
struct cnnacc_job {
	struct drm_sched_job base;
	struct list_head followers;
	struct list_head follow;
	struct list_head link;
	struct cnnacc_ctx *ctx;
	struct cnnacc_core *core;
	u32 flags;
	u64 cycle_limit;
	u32 load;
	u32 credits;
	u32 group_credits;
	unsigned long pushed;
	u64 seqno;
	struct cnnacc_fence *fence;
	struct dma_fence **fatal;
	u32 fatal_count;
	enum cnnacc_end end;
	bool written;
	u64 first_fence;
	u32 tasks_done;
	u64 runtime_ns;
	u64 cycles;
	u32 task_count;
	struct drm_cnnacc_task tasks[] __counted_by(task_count);
};

/**
 * struct cnnacc_failure - the job that stopped a core's queue.
 * @job: the job, removed from the core, for recovery to end; or NULL
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

static inline struct cnnacc_job *to_cnnacc_job(struct drm_sched_job *base)
{
	return container_of(base, struct cnnacc_job, base);
}

/* cnnacc_job.c */
u64 cnnacc_job_cycles(const struct cnnacc_core *core, const struct drm_cnnacc_task *tasks,
		      u32 count);
struct cnnacc_job *cnnacc_job_create(struct cnnacc_ctx *ctx, const struct drm_cnnacc_job *args,
				     const struct drm_cnnacc_task *tasks);
void cnnacc_job_init_fence(struct cnnacc_job *job);
int cnnacc_job_add_fatal(struct cnnacc_job *job, struct dma_fence *fence);
bool cnnacc_job_follow(struct cnnacc_job *job, struct cnnacc_job *leader);
int cnnacc_job_arm(struct cnnacc_job *job, struct drm_file *file);
bool cnnacc_job_dep_failed(const struct cnnacc_job *job);
void cnnacc_job_free(struct cnnacc_job *job);
struct dma_fence *cnnacc_job_last_fence(struct cnnacc_job *job);
void cnnacc_job_end(struct cnnacc_job *job, enum cnnacc_end end,
		    const struct cnnacc_completion *record);
void cnnacc_job_end_list(struct list_head *jobs, enum cnnacc_end end);

/* cnnacc_sched.c */
extern const struct kernel_param_ops cnnacc_param_ops;	/* ms, 10 to a day */
int cnnacc_sched_init(struct cnnacc_core *core);
u32 cnnacc_sched_credits(const struct cnnacc_job *job);
void cnnacc_sched_queue(struct cnnacc_job *job);
void cnnacc_sched_remove(struct cnnacc_ctx *ctx, struct cnnacc_core *core);

/* cnnacc_submit.c */
int cnnacc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
