// SPDX-License-Identifier: GPL-2.0-only
#include <linux/slab.h>

#include <drm/drm_file.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_job.h"
#include "cnnacc_pm.h"

/**
 * DOC: batch
 *
 * A batch is what the scheduler schedules: one or more jobs of a SUBMIT for one core.  The sum of
 * the cycle limits in a batch is at most that of one job (job_cycles_max), so a batch delays other
 * contexts, and the destruction of its own, no longer than one job may.  Every job has its own
 * fence and fails alone.
 */

static const char *cnnacc_batch_driver_name(struct dma_fence *fence)
{
	return "cnnacc";
}

static const char *cnnacc_batch_timeline_name(struct dma_fence *fence)
{
	return "batch";
}

static const struct dma_fence_ops cnnacc_batch_ops = {
	.get_driver_name = cnnacc_batch_driver_name,
	.get_timeline_name = cnnacc_batch_timeline_name,
};

/**
 * cnnacc_batch_create() - Create a batch of one job
 * @first: the job; until the batch is pushed the caller owns it and holds a runtime PM reference
 * @file: file that submits it
 *
 * Return: the batch, to be freed with cnnacc_batch_free(), or an error pointer
 */
struct cnnacc_batch *cnnacc_batch_create(struct cnnacc_job *first, struct drm_file *file)
{
	struct cnnacc_ctx *ctx = first->ctx;
	struct cnnacc_batch *batch;
	int ret;

	BUILD_BUG_ON(offsetof(struct cnnacc_batch, done));	/* for dma_fence_free() */
	batch = kzalloc(sizeof(*batch), GFP_KERNEL_ACCOUNT);
	if (!batch)
		return ERR_PTR(-ENOMEM);
	ret = cnnacc_compat_sched_job_init(&batch->base, &ctx->entities[first->core->index],
					   ctx, file);
	if (ret) {
		kfree(batch);
		return ERR_PTR(ret);
	}
	/* Only the scheduler sees this fence, and it ignores context and number. */
	spin_lock_init(&batch->lock);
	dma_fence_init(&batch->done, &cnnacc_batch_ops, &batch->lock, 0, 0);
	INIT_LIST_HEAD(&batch->jobs);
	batch->ctx = ctx;
	batch->core = first->core;
	cnnacc_pm_get_again(ctx->cdev);
	cnnacc_ctx_add_batch(ctx, batch);
	cnnacc_batch_add(batch, first);
	return batch;
}

/**
 * cnnacc_batch_add() - Add a job to a batch
 * @batch: batch, not pushed yet
 * @job: job for the same core
 *
 * Return: false if the batch would exceed its cycle or task limit, or the flags differ
 */
bool cnnacc_batch_add(struct cnnacc_batch *batch, struct cnnacc_job *job)
{
	struct cnnacc_job *first = list_first_entry_or_null(&batch->jobs, struct cnnacc_job, link);
	u64 max = batch->core->info.job_cycles_max, cycles = 0;
	u32 i;

	/* The sums cannot overflow: each limit is at most @max, which is below 2^63. */
	for (i = 0; i < job->task_count && cycles <= max; i++)
		cycles += job->tasks[i].cycle_limit;
	if (first &&
	    (job->flags != first->flags || batch->task_count + job->task_count > CNNACC_MAX_TASKS ||
	     batch->cycles > max || cycles > max - batch->cycles))
		return false;
	batch->task_count += job->task_count;
	batch->cycles += cycles;
	list_add_tail(&job->link, &batch->jobs);
	return true;
}

/**
 * cnnacc_batch_arm() - Prepare a batch for drm_sched_entity_push_job()
 * @batch: batch whose jobs are armed
 */
void cnnacc_batch_arm(struct cnnacc_batch *batch)
{
	list_last_entry(&batch->jobs, struct cnnacc_job, link)->last_of = batch;
	batch->cpu = raw_smp_processor_id();
	if (batch->deps)
		cnnacc_deps_arm(batch->deps);
	drm_sched_job_arm(&batch->base);
}

/**
 * cnnacc_batch_pop() - Remove the first job from a batch
 * @batch: batch
 *
 * Return: the job, for the caller to end, or NULL if there is none
 */
struct cnnacc_job *cnnacc_batch_pop(struct cnnacc_batch *batch)
{
	struct cnnacc_job *job = list_first_entry_or_null(&batch->jobs, struct cnnacc_job, link);

	if (job)
		list_del(&job->link);
	return job;
}

/**
 * cnnacc_batch_end_jobs() - End jobs
 * @jobs: list of jobs, linked by &cnnacc_job.link and removed from their batch
 * @end: why they end
 */
void cnnacc_batch_end_jobs(struct list_head *jobs, enum cnnacc_end end)
{
	struct cnnacc_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link)
		cnnacc_job_end(job, end, NULL);
}

/**
 * cnnacc_batch_end() - End all jobs of a batch that no core runs
 * @batch: batch; the scheduler may free it once its last job has ended
 * @end: why they end
 */
void cnnacc_batch_end(struct cnnacc_batch *batch, enum cnnacc_end end)
{
	LIST_HEAD(jobs);

	list_splice_init(&batch->jobs, &jobs);
	cnnacc_batch_end_jobs(&jobs, end);
}

/**
 * cnnacc_batch_free() - Free a batch that is finished or was never pushed
 * @batch: batch
 */
void cnnacc_batch_free(struct cnnacc_batch *batch)
{
	struct cnnacc_job *first = list_first_entry_or_null(&batch->jobs, struct cnnacc_job, link);

	/* Jobs that the scheduler never started; jobs that are not armed belong to the caller. */
	if (first && first->fence_live)
		cnnacc_batch_end(batch, READ_ONCE(batch->ctx->cdev->wedged) ?
				 CNNACC_END_GONE : CNNACC_END_CANCELED);
	drm_sched_job_cleanup(&batch->base);
	cnnacc_pm_put(batch->ctx->cdev);
	/* First, as the context may signal the dependencies early until it is removed. */
	cnnacc_ctx_remove_batch(batch->ctx, batch);
	if (batch->deps)
		dma_fence_put(&batch->deps->base);
	dma_fence_put(&batch->done);
}
