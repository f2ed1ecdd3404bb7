// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-fence-chain.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include <drm/drm_file.h>

#include "compat/cnnacc_compat.h"
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
 *
 * The scheduler waits for the fences that a job depends on.  It does not look at their errors, and
 * of two fences of one timeline it keeps the later, so a job has references of its own to those
 * whose error cancels it.
 *
 * What the scheduler does for a job costs more than a short job takes.  So jobs of one SUBMIT that
 * depend on nothing follow the first of them, as long as their credits add up to no more than one
 * job may have: the scheduler knows the first only.
 */

static int cnnacc_job_check_task(const struct cnnacc_core *core, struct drm_cnnacc_task *task)
{
	const struct drm_cnnacc_core_info *info = &core->info;
	struct drm_device *drm = &core->cdev->drm;

	if (cnnacc_refuses(drm, task->flags & ~DRM_CNNACC_TASK_STATS) ||
	    cnnacc_refuses(drm, task->stats_va % CNNACC_LINE_SIZE) ||
	    cnnacc_refuses(drm, task->stats_va && !(task->flags & DRM_CNNACC_TASK_STATS)) ||
	    cnnacc_refuses(drm, task->program_va % CNNACC_LINE_SIZE) ||
	    cnnacc_refuses(drm, task->program_len % 4) ||
	    cnnacc_refuses(drm, !task->program_len || task->program_len > info->program_max) ||
	    cnnacc_refuses(drm, task->cycle_limit > info->job_cycles_max))
		return -EINVAL;
	if (!task->cycle_limit)
		task->cycle_limit = info->job_cycles_max;
	return 0;
}

/* Adds up the cycle limits of tasks, which may be invalid, to CNNACC_CYCLES_MAX at most. */
u64 cnnacc_job_cycles(const struct cnnacc_core *core, const struct drm_cnnacc_task *tasks,
		      u32 count)
{
	u64 cycles = 0;
	u32 i;

	for (i = 0; i < count && cycles < CNNACC_CYCLES_MAX; i++)
		cycles += min(tasks[i].cycle_limit ?: core->info.job_cycles_max,
			      CNNACC_CYCLES_MAX);
	return min(cycles, CNNACC_CYCLES_MAX);
}

static const char *cnnacc_fence_driver_name(struct dma_fence *fence)
{
	return "cnnacc";
}

static const char *cnnacc_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct cnnacc_fence, base)->core->name;
}

static void cnnacc_fence_free(struct rcu_head *rcu)
{
	struct cnnacc_fence *fence = container_of(rcu, struct cnnacc_fence, base.rcu);

	kref_put(&fence->core->ref, cnnacc_core_release);
	kfree(fence);
	/* The module is not gone before this returns: its exit has an rcu_barrier(). */
	module_put(THIS_MODULE);
}

static void cnnacc_fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, cnnacc_fence_free);
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
 * Return: the job, to be freed by cnnacc_job_free() unless it is queued; or an error pointer
 */
struct cnnacc_job *cnnacc_job_create(struct cnnacc_ctx *ctx, const struct drm_cnnacc_job *args,
				     const struct drm_cnnacc_task *tasks)
{
	struct cnnacc_job *job __free(kfree) = NULL;
	struct drm_device *drm = &ctx->cdev->drm;
	struct cnnacc_core *core;
	u32 i;
	int ret;

	if (cnnacc_refuses(drm, args->core >= ctx->cdev->core_count) ||
	    cnnacc_refuses(drm, !args->tasks.count) ||
	    cnnacc_refuses(drm, args->flags & ~(DRM_CNNACC_JOB_RESTARTABLE |
						DRM_CNNACC_JOB_ANY_EQUAL)))
		return ERR_PTR(-EINVAL);
	core = ctx->cdev->cores[array_index_nospec(args->core, ctx->cdev->core_count)];

	job = kzalloc(struct_size(job, tasks, args->tasks.count), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->task_count = args->tasks.count;
	for (i = 0; i < job->task_count; i++) {
		job->tasks[i] = tasks[i];
		ret = cnnacc_job_check_task(core, &job->tasks[i]);
		if (ret)
			return ERR_PTR(ret);
	}
	job->ctx = ctx;
	job->core = core;
	job->cycle_limit = cnnacc_job_cycles(core, job->tasks, job->task_count);
	job->flags = args->flags;
	INIT_LIST_HEAD(&job->followers);
	INIT_LIST_HEAD(&job->follow);
	job->fence = kzalloc(sizeof(*job->fence), GFP_KERNEL_ACCOUNT);
	if (!job->fence)
		return ERR_PTR(-ENOMEM);
	return_ptr(job);
}

/* Initialises the fence of a job whose core is chosen: in order, under &cnnacc_ctx.submit_lock. */
void cnnacc_job_init_fence(struct cnnacc_job *job)
{
	struct cnnacc_core *core = job->core;
	struct cnnacc_ctx_queue *queue = &job->ctx->queues[core->index];

	kref_get(&core->ref);
	/* Safe: the open file of the caller keeps the module loaded. */
	__module_get(THIS_MODULE);
	job->fence->core = core;
	dma_fence_init(&job->fence->base, &cnnacc_fence_ops, &core->fence_lock,
		       job->ctx->fence_context + core->index, ++queue->fence_seqno);
}

/**
 * cnnacc_job_add_fatal() - Let a job wait for a fence whose error cancels it
 * @job: job, not armed yet
 * @fence: fence; consumes the caller's reference
 *
 * Return: 0 or -ENOMEM
 */
int cnnacc_job_add_fatal(struct cnnacc_job *job, struct dma_fence *fence)
{
	struct dma_fence **fatal;
	u32 i;

	for (i = 0; i < job->fatal_count; i++)
		if (job->fatal[i] == fence) {
			dma_fence_put(fence);
			return 0;
		}
	fatal = krealloc_array(job->fatal, i + 1, sizeof(*fatal), GFP_KERNEL_ACCOUNT);
	if (!fatal) {
		dma_fence_put(fence);
		return -ENOMEM;
	}
	job->fatal = fatal;
	fatal[job->fatal_count++] = fence;
	return 0;
}

/**
 * cnnacc_job_follow() - Let the scheduler start a job with one before it
 * @job: job without dependencies
 * @leader: earlier job of its SUBMIT without dependencies, or NULL
 *
 * Return: true if it does; @job may have followers of its own otherwise
 */
bool cnnacc_job_follow(struct cnnacc_job *job, struct cnnacc_job *leader)
{
	job->credits = cnnacc_sched_credits(job);
	job->group_credits = job->credits;
	if (!leader || leader->group_credits + job->credits > CNNACC_CREDITS)
		return false;
	leader->group_credits += job->credits;
	list_add_tail(&job->follow, &leader->followers);
	return true;
}

/* Returns the fence, not referenced, that signals when a job and its followers have ended. */
struct dma_fence *cnnacc_job_last_fence(struct cnnacc_job *job)
{
	if (!list_empty(&job->followers))
		job = list_last_entry(&job->followers, struct cnnacc_job, follow);
	return &job->fence->base;
}

/**
 * cnnacc_job_arm() - Prepare a job for the scheduler
 * @job: job with a fence, for which cnnacc_job_follow() was called
 * @file: file that submits it; its owner holds a runtime PM reference
 *
 * Return: 0 or a negative error code
 */
int cnnacc_job_arm(struct cnnacc_job *job, struct drm_file *file)
{
	struct cnnacc_ctx *ctx = job->ctx;
	int ret;
	u32 i;

	if (!list_empty(&job->follow))
		return 0;
	ret = cnnacc_compat_sched_job_init(&job->base, &ctx->queues[job->core->index].entity,
					   job->group_credits, ctx, file);
	if (ret)
		return ret;
	pm_runtime_get_noresume(ctx->cdev->drm.dev);
	cnnacc_ctx_add_job(ctx);
	for (i = 0; i < job->fatal_count && !ret; i++)
		ret = drm_sched_job_add_dependency(&job->base, dma_fence_get(job->fatal[i]));
	return ret;
}

/* Has one of the fatal fences of a job whose dependencies are signalled an error? */
bool cnnacc_job_dep_failed(const struct cnnacc_job *job)
{
	u32 i;

	for (i = 0; i < job->fatal_count; i++)
		if (dma_fence_get_status(dma_fence_chain_contained(job->fatal[i])) < 0)
			return true;
	return false;
}

/* Frees a job that was never queued, or has ended; its followers are freed separately. */
void cnnacc_job_free(struct cnnacc_job *job)
{
	struct cnnacc_ctx *ctx = job->ctx;
	bool scheduled = job->base.s_fence;
	u32 i;

	cnnacc_balance_discharge(job);
	for (i = 0; i < job->fatal_count; i++)
		dma_fence_put(job->fatal[i]);
	kfree(job->fatal);
	if (scheduled)
		drm_sched_job_cleanup(&job->base);
	if (job->fence->core)
		dma_fence_put(&job->fence->base);
	else
		kfree(job->fence);
	kfree(job);
	if (!scheduled)
		return;
	cnnacc_pm_put(ctx->cdev);
	cnnacc_ctx_remove_job(ctx);
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
		cnnacc_ctx_job_done(job->ctx);
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

/*
 * Signals the fence of a job that is in no list; the scheduler then frees the job.  @record is its
 * last completion record or NULL.
 */
void cnnacc_job_end(struct cnnacc_job *job, enum cnnacc_end end,
		    const struct cnnacc_completion *record)
{
	bool cookie = dma_fence_begin_signalling();
	int error;

	/* First, so that who waits for the job finds its core free. */
	cnnacc_balance_discharge(job);
	error = cnnacc_job_report(job, end, record);
	trace_cnnacc_job_done(job, error, record);
	if (error)
		dma_fence_set_error(&job->fence->base, error);
	dma_fence_signal(&job->fence->base);
	dma_fence_end_signalling(cookie);
}

/* Ends jobs, linked by &cnnacc_job.link, that were removed from their core. */
void cnnacc_job_end_list(struct list_head *jobs, enum cnnacc_end end)
{
	struct cnnacc_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link)
		cnnacc_job_end(job, end, NULL);
}

#if IS_ENABLED(CONFIG_CNNACC_KUNIT_TEST)
#include "tests/cnnacc_job_test.c"
#endif
