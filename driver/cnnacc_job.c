// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>
#include <linux/slab.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_job.h"
#include "cnnacc_trace.h"

/**
 * DOC: job
 *
 * A job is tasks that run one after the other on one core, and one fence.  This is
 * where user tasks are checked, so that no packet is ever refused by the device,
 * and where the device's status becomes a fence error and a context state.
 */

static int cnnacc_job_check_task(const struct cnnacc_core *core, struct drm_cnnacc_task *task)
{
	const struct drm_cnnacc_core_info *info = &core->info;

	if (task->flags & ~DRM_CNNACC_TASK_STATS)
		return -EINVAL;
	if (task->stats_va % CNNACC_LINE_SIZE ||
	    (task->stats_va && !(task->flags & DRM_CNNACC_TASK_STATS)))
		return -EINVAL;
	if (task->program_va % CNNACC_LINE_SIZE || task->program_len % 4 ||
	    !task->program_len || task->program_len > info->program_max)
		return -EINVAL;
	if (task->cycle_limit > info->job_cycles_max)
		return -EINVAL;
	if (!task->cycle_limit)
		task->cycle_limit = info->job_cycles_max;
	return 0;
}

static struct cnnacc_job *cnnacc_job_alloc(struct cnnacc_core *core, u32 task_count,
					   const struct drm_cnnacc_task *tasks)
{
	struct cnnacc_job *job;
	u32 i;
	int ret;

	job = kzalloc(struct_size(job, tasks, task_count), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->task_count = task_count;
	for (i = 0; i < task_count; i++) {
		job->tasks[i] = tasks[i];
		ret = cnnacc_job_check_task(core, &job->tasks[i]);
		if (ret) {
			kfree(job);
			return ERR_PTR(ret);
		}
	}
	return job;
}

static void cnnacc_job_free_fence(struct cnnacc_job *job)
{
	if (job->fence_live) {
		dma_fence_put(&job->fence->base);
		return;
	}
	kfree(job->fence);
	module_put(THIS_MODULE);
}

/**
 * cnnacc_job_create() - Make a job from what the user says
 * @ctx: context, which the caller keeps from being torn down
 * @file: file that submits it
 * @args: the user's description
 * @tasks: its tasks
 *
 * Return: the job, to be freed with cnnacc_job_free() until it is pushed, or an error
 * pointer
 */
struct cnnacc_job *cnnacc_job_create(struct cnnacc_ctx *ctx, struct drm_file *file,
				     const struct drm_cnnacc_job *args,
				     const struct drm_cnnacc_task *tasks)
{
	struct cnnacc_core *core;
	struct cnnacc_job *job;
	int ret = -ENOMEM;

	if (args->core >= ctx->cdev->core_count || !args->tasks.count ||
	    args->flags & ~(DRM_CNNACC_JOB_RESTARTABLE | DRM_CNNACC_JOB_EVENT_WAIT))
		return ERR_PTR(-EINVAL);
	core = ctx->cdev->cores[args->core];

	job = cnnacc_job_alloc(core, args->tasks.count, tasks);
	if (IS_ERR(job))
		return job;
	job->core = core;
	job->flags = args->flags;
	job->fence = kzalloc(sizeof(*job->fence), GFP_KERNEL_ACCOUNT);
	if (!job->fence)
		goto err_job;
	/* For the fence: the file that is open now keeps the module from going. */
	__module_get(THIS_MODULE);
	ret = cnnacc_compat_sched_job_init(&job->base, &ctx->entities[args->core], ctx, file);
	if (ret)
		goto err_fence;

	job->ctx = ctx;
	cnnacc_ctx_add_job(ctx, job);
	return job;
err_fence:
	cnnacc_job_free_fence(job);
err_job:
	kfree(job);
	return ERR_PTR(ret);
}

/**
 * cnnacc_job_free() - Free a job that is done or was never pushed
 * @job: job
 */
void cnnacc_job_free(struct cnnacc_job *job)
{
	drm_sched_job_cleanup(&job->base);
	/* Until then the context may open the gate. */
	cnnacc_ctx_remove_job(job->ctx, job);
	if (job->gate)
		dma_fence_put(&job->gate->base);
	cnnacc_job_free_fence(job);
	kfree(job);
}

static int cnnacc_job_status(const struct cnnacc_completion *record, u32 *state)
{
	switch (record->status_class) {
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

/* Tells the context; returns the fence's error. */
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
	case CNNACC_END_LOST:
		cnnacc_ctx_job_lost(job->ctx);
		return -ECANCELED;
	default:
		return -ENODEV;
	}
}

/**
 * cnnacc_job_end() - Signal the fence of a job that its core is done with
 * @job: job, not to be touched afterwards
 * @end: why it ended
 * @record: last completion record, or NULL
 */
void cnnacc_job_end(struct cnnacc_job *job, enum cnnacc_end end,
		    const struct cnnacc_completion *record)
{
	struct dma_fence *fence = dma_fence_get(&job->fence->base);
	bool cookie = dma_fence_begin_signalling();
	int error;

	atomic64_add(job->runtime_ns, &job->ctx->file->engine_ns[job->core->index]);
	error = cnnacc_job_report(job, end, record);
	trace_cnnacc_job_done(job, error, record);
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	dma_fence_end_signalling(cookie);
	dma_fence_put(fence);
}
