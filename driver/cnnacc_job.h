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
 * @CNNACC_END_DONE: all tasks done
 * @CNNACC_END_FAILED: a task failed, the completion record says how
 * @CNNACC_END_HANG: no progress, or the device lost it
 * @CNNACC_END_LOST: taken by a reset that it did not cause
 * @CNNACC_END_CANCELED: never started, as what it waited for failed or its context is gone
 * @CNNACC_END_GONE: the device is gone
 */
enum cnnacc_end {
	CNNACC_END_DONE,
	CNNACC_END_FAILED,
	CNNACC_END_HANG,
	CNNACC_END_LOST,
	CNNACC_END_CANCELED,
	CNNACC_END_GONE,
};

/**
 * struct cnnacc_fence - signalled when the hardware is done with a job.
 * @base: fence
 * @core: core, held
 */
struct cnnacc_fence {
	struct dma_fence base;
	struct cnnacc_core *core;
};

/**
 * struct cnnacc_dep - fence that a job waits for.
 * @cb: callback on @fence
 * @gate: its gate
 * @fence: the fence, held
 * @fatal: its error cancels the job
 */
struct cnnacc_dep {
	struct dma_fence_cb cb;
	struct cnnacc_gate *gate;
	struct dma_fence *fence;
	bool fatal;
};

/**
 * struct cnnacc_gate - one fence for all that a job waits for; can be opened early.
 * @base: fence
 * @lock: its lock
 * @pending: dependencies not signalled, one more while they are being added
 * @count: dependencies
 * @max: size of @deps
 * @deps: dependencies
 */
struct cnnacc_gate {
	struct dma_fence base;
	spinlock_t lock;	/* fence lock */
	atomic_t pending;
	unsigned int count;
	unsigned int max;
	struct cnnacc_dep deps[] __counted_by(max);
};

/**
 * struct cnnacc_batch - jobs that the scheduler hands to a core together.
 * @done: signalled when the last of them has ended; counts who uses the batch
 * @lock: its lock
 * @base: what the scheduler sees
 * @ctx: their context, which outlives it
 * @core: their core
 * @link: in &cnnacc_ctx.batches
 * @gate: opens when the dependencies of the first job are done; NULL if it has none
 * @jobs: jobs that have not ended, in order
 * @task_count: tasks of all jobs
 * @cycles: their cycle limits
 * @cpu: CPU that submits them
 * @kicked: the packets of @jobs are in the ring
 */
struct cnnacc_batch {
	struct dma_fence done;
	spinlock_t lock;	/* fence lock */
	struct drm_sched_job base;
	struct cnnacc_ctx *ctx;
	struct cnnacc_core *core;
	struct list_head link;
	struct cnnacc_gate *gate;
	struct list_head jobs;
	u32 task_count;
	u64 cycles;
	unsigned int cpu;
	bool kicked;
};

/**
 * struct cnnacc_job - job; freed at its end.
 * @link: in &cnnacc_batch.jobs
 * @ctx: its context, which outlives it
 * @core: its core
 * @flags: DRM_CNNACC_JOB_*
 * @seqno: number in its context
 * @fence: hardware fence, held
 * @fence_live: @fence is initialised and counted
 * @last_of: the batch that it is the last job of, else NULL
 * @first_fence: fence value of the first packet
 * @done: tasks done since it was kicked
 * @runtime_ns: device time of its tasks
 * @cycles: cycles of its tasks
 * @task_count: tasks
 * @tasks: tasks
 */
struct cnnacc_job {
	struct list_head link;
	struct cnnacc_ctx *ctx;
	struct cnnacc_core *core;
	u32 flags;
	u64 seqno;
	struct cnnacc_fence *fence;
	bool fence_live;
	struct cnnacc_batch *last_of;
	u64 first_fence;
	u32 done;
	u64 runtime_ns;
	u64 cycles;
	u32 task_count;
	struct drm_cnnacc_task tasks[] __counted_by(task_count);
};

/**
 * struct cnnacc_failure - a job that stopped its core's queue; to be ended.
 * @job: the job, in no batch any more, or NULL
 * @end: why it ends
 * @has_record: @record is its own
 * @record: last completion record, in host byte order
 */
struct cnnacc_failure {
	struct cnnacc_job *job;
	enum cnnacc_end end;
	bool has_record;
	struct cnnacc_completion record;
};

/**
 * struct cnnacc_param - module parameter of at least 10 ms.
 * @ms: its value; first, as functions for parameters of type uint have to find it
 * @max_ms: its largest value
 */
struct cnnacc_param {
	unsigned int ms;
	unsigned int max_ms;
};

static inline struct cnnacc_batch *to_cnnacc_batch(struct drm_sched_job *base)
{
	return container_of(base, struct cnnacc_batch, base);
}

/* cnnacc_gate.c */
struct cnnacc_gate *cnnacc_gate_create(unsigned int max);
void cnnacc_gate_add(struct cnnacc_gate *gate, struct dma_fence *fence, bool fatal);
void cnnacc_gate_arm(struct cnnacc_gate *gate);
void cnnacc_gate_open(struct cnnacc_gate *gate);
bool cnnacc_gate_failed(struct cnnacc_gate *gate);

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
