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
 * @CNNACC_END_GONE: the device is gone
 */
enum cnnacc_end {
	CNNACC_END_DONE,
	CNNACC_END_FAILED,
	CNNACC_END_HANG,
	CNNACC_END_LOST,
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
 * struct cnnacc_job - job.
 * @base: what the scheduler sees
 * @ctx: its context, which outlives it
 * @core: its core
 * @link: in &cnnacc_ctx.jobs
 * @flags: DRM_CNNACC_JOB_*
 * @seqno: number in its context
 * @gate: opens when its dependencies are done; NULL if it has none
 * @fence: hardware fence, allocated with the job
 * @fence_live: @fence is initialised and counted
 * @kicked: its packets are in the ring
 * @first_fence: fence value of the first packet
 * @done: tasks done since it was kicked
 * @runtime_ns: device time of its tasks
 * @cycles: cycles of its tasks
 * @task_count: tasks
 * @tasks: tasks
 */
struct cnnacc_job {
	struct drm_sched_job base;
	struct cnnacc_ctx *ctx;
	struct cnnacc_core *core;
	struct list_head link;
	u32 flags;
	u64 seqno;
	struct cnnacc_gate *gate;
	struct cnnacc_fence *fence;
	bool fence_live;
	bool kicked;
	u64 first_fence;
	u32 done;
	u64 runtime_ns;
	u64 cycles;
	u32 task_count;
	struct drm_cnnacc_task tasks[] __counted_by(task_count);
};

static inline struct cnnacc_job *to_cnnacc_job(struct drm_sched_job *base)
{
	return container_of(base, struct cnnacc_job, base);
}

/* cnnacc_gate.c */
struct cnnacc_gate *cnnacc_gate_create(unsigned int max);
void cnnacc_gate_add(struct cnnacc_gate *gate, struct dma_fence *fence, bool fatal);
void cnnacc_gate_arm(struct cnnacc_gate *gate);
void cnnacc_gate_open(struct cnnacc_gate *gate);
bool cnnacc_gate_failed(struct cnnacc_gate *gate);

/* cnnacc_job.c */
struct cnnacc_job *cnnacc_job_create(struct cnnacc_ctx *ctx, struct drm_file *file,
				     const struct drm_cnnacc_job *args,
				     const struct drm_cnnacc_task *tasks);
void cnnacc_job_free(struct cnnacc_job *job);
void cnnacc_job_end(struct cnnacc_job *job, enum cnnacc_end end,
		    const struct cnnacc_completion *record);

/* cnnacc_sched.c */
int cnnacc_sched_init(struct cnnacc_core *core);
void cnnacc_sched_fini(struct cnnacc_core *core);

/* cnnacc_submit.c */
int cnnacc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
