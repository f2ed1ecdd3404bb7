// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "cnnacc_balance.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_job.h"
#include "cnnacc_trace.h"
#include "cnnacc_uobj.h"

/**
 * DOC: job
 *
 * A job is a sequence of tasks for one core with one fence.  This file validates the tasks of user
 * space, so that the device never refuses a packet, and translates the device's status to a fence
 * error and a context state.
 */

static int cnnacc_job_check_task(const struct cnnacc_core *core, struct drm_cnnacc_task *task)
{
	const struct drm_cnnacc_core_info *info = &core->info;
	struct drm_device *drm = &core->cdev->drm;

	if (cnnacc_refuses(drm, task->flags & ~DRM_CNNACC_TASK_STATS))
		return -EINVAL;
	if (cnnacc_refuses(drm, task->stats_va % CNNACC_LINE_SIZE) ||
	    cnnacc_refuses(drm, task->stats_va && !(task->flags & DRM_CNNACC_TASK_STATS)))
		return -EINVAL;
	if (cnnacc_refuses(drm, task->program_va % CNNACC_LINE_SIZE) ||
	    cnnacc_refuses(drm, task->program_len % 4) ||
	    cnnacc_refuses(drm, !task->program_len || task->program_len > info->program_max))
		return -EINVAL;
	if (cnnacc_refuses(drm, task->cycle_limit > info->job_cycles_max))
		return -EINVAL;
	if (!task->cycle_limit)
		task->cycle_limit = info->job_cycles_max;
	return 0;
}

static struct cnnacc_job *cnnacc_job_alloc(struct cnnacc_core *core, u32 task_count,
					   const struct drm_cnnacc_task *tasks)
{
	struct cnnacc_job *job __free(kfree) = NULL;
	u32 i;
	int ret;

	job = kzalloc(struct_size(job, tasks, task_count), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->task_count = task_count;
	for (i = 0; i < task_count; i++) {
		job->tasks[i] = tasks[i];
		ret = cnnacc_job_check_task(core, &job->tasks[i]);
		if (ret)
			return ERR_PTR(ret);
	}
	return_ptr(job);
}

static const char *cnnacc_fence_driver_name(struct dma_fence *fence)
{
	return "cnnacc";
}

static const char *cnnacc_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct cnnacc_fence, base)->core->name;
}

static void cnnacc_fence_release(struct dma_fence *fence)
{
	struct cnnacc_core *core = container_of(fence, struct cnnacc_fence, base)->core;

	dma_fence_free(fence);
	kref_put(&core->ref, cnnacc_core_release);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops cnnacc_fence_ops = {
	.get_driver_name = cnnacc_fence_driver_name,
	.get_timeline_name = cnnacc_fence_timeline_name,
	.release = cnnacc_fence_release,
};

/**
 * cnnacc_job_create() - Validate a user's job and create it
 * @ctx: context; the caller keeps it from being destroyed
 * @args: job description from user space
 * @tasks: tasks of the job
 *
 * Return: the job, to be freed by cnnacc_job_free() or, once its batch is pushed, by
 * cnnacc_job_end(); or an error pointer
 */
struct cnnacc_job *cnnacc_job_create(struct cnnacc_ctx *ctx, const struct drm_cnnacc_job *args,
				     const struct drm_cnnacc_task *tasks)
{
	struct drm_device *drm = &ctx->cdev->drm;
	struct cnnacc_core *core;
	struct cnnacc_job *job;

	if (cnnacc_refuses(drm, args->core >= ctx->cdev->core_count) ||
	    cnnacc_refuses(drm, !args->tasks.count) ||
	    cnnacc_refuses(drm, args->flags & ~(DRM_CNNACC_JOB_RESTARTABLE |
						DRM_CNNACC_JOB_ANY_EQUAL)))
		return ERR_PTR(-EINVAL);
	core = ctx->cdev->cores[array_index_nospec(args->core, ctx->cdev->core_count)];

	job = cnnacc_job_alloc(core, args->tasks.count, tasks);
	if (IS_ERR(job))
		return job;
	job->ctx = ctx;
	job->core = core;
	job->flags = args->flags;
	job->fence = kzalloc(sizeof(*job->fence), GFP_KERNEL_ACCOUNT);
	if (!job->fence) {
		kfree(job);
		return ERR_PTR(-ENOMEM);
	}
	return job;
}

/**
 * cnnacc_job_arm() - Number a job and initialise its fence
 * @job: job; from here on it must be ended by cnnacc_job_end()
 *
 * Jobs of a context run on a core in the order of these calls.
 *
 * Return: the fence of the job, referenced
 */
struct dma_fence *cnnacc_job_arm(struct cnnacc_job *job)
{
	struct cnnacc_core *core = job->core;
	struct cnnacc_ctx *ctx = job->ctx;

	job->seqno = ++ctx->seqno;
	kref_get(&core->ref);
	/* Safe: the open file of the caller keeps the module loaded. */
	__module_get(THIS_MODULE);
	job->fence->core = core;
	dma_fence_init(&job->fence->base, &cnnacc_fence_ops, &core->fence_lock,
		       ctx->fence_context + core->index, ++ctx->fence_seqno[core->index]);
	job->fence_live = true;
	return dma_fence_get(&job->fence->base);
}

/**
 * cnnacc_job_free() - Free a job that has ended or was never pushed
 * @job: job
 */
void cnnacc_job_free(struct cnnacc_job *job)
{
	cnnacc_balance_discharge(job);
	if (job->fence_live)
		dma_fence_put(&job->fence->base);
	else
		kfree(job->fence);
	kfree(job);
}

static int cnnacc_job_status(const struct cnnacc_completion *record, u32 *state)
{
	switch (le16_to_cpu(record->status_class)) {
	case CNNACC_STATUS_MMU_FAULT:
	case CNNACC_STATUS_BUS_ERROR:
		*state = DRM_CNNACC_CTX_FAULT;
		return -EFAULT;
	case CNNACC_STATUS_TIME_LIMIT:
		*state = DRM_CNNACC_CTX_TIME_LIMIT;
		return -ETIMEDOUT;
	default:
		*state = DRM_CNNACC_CTX_BAD_PROGRAM;
		return -EINVAL;
	}
}

/* Updates the status of the context; returns the error for the fence. */
static int cnnacc_job_report(struct cnnacc_job *job, enum cnnacc_end end,
			     const struct cnnacc_completion *record)
{
	u32 state;
	int error;

	switch (end) {
	case CNNACC_END_DONE:
		return 0;
	case CNNACC_END_FAILED:
		error = cnnacc_job_status(record, &state);
		cnnacc_ctx_job_failed(job->ctx, job, state, record);
		return error;
	case CNNACC_END_HANG:
		cnnacc_ctx_job_failed(job->ctx, job, DRM_CNNACC_CTX_HANG, record);
		return -ETIMEDOUT;
	case CNNACC_END_INNOCENT:
		cnnacc_ctx_job_innocent(job->ctx);
		return -ECANCELED;
	case CNNACC_END_CANCELED:
		return -ECANCELED;
	default:
		return -ENODEV;
	}
}

/**
 * cnnacc_job_end() - Signal the fence of a job and free the job
 * @job: job, removed from its batch
 * @end: why it ended
 * @record: last completion record, or NULL
 *
 * If it was the last job of its batch, the scheduler may free the batch from here on.
 */
void cnnacc_job_end(struct cnnacc_job *job, enum cnnacc_end end,
		    const struct cnnacc_completion *record)
{
	struct dma_fence *fence = &job->fence->base;
	struct cnnacc_batch *batch = job->last_of;
	bool cookie = dma_fence_begin_signalling();
	int error;

	atomic_dec(&job->ctx->file->jobs);
	/* First, so that who waits for the job finds its core free. */
	cnnacc_balance_discharge(job);
	error = cnnacc_job_report(job, end, record);
	trace_cnnacc_job_done(job, error, record);
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	/* Signal the scheduler's fence second, so that waiters wake first. */
	if (batch)
		dma_fence_signal(&batch->done);
	dma_fence_end_signalling(cookie);
	cnnacc_job_free(job);
}

#if IS_ENABLED(CONFIG_CNNACC_KUNIT_TEST)
#include "tests/cnnacc_job_test.c"
#endif
