// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include <drm/drm_drv.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"

/**
 * DOC: scheduler
 *
 * Each core has a DRM scheduler, each context an entity per core.  A job costs credits: the larger
 * of its packets and of its part of CNNACC_RING_MS of the core's time, so that short jobs follow
 * each other in the ring without a gap and a long one has the ring alone.
 *
 * Contexts of one priority take turns.  The scheduler takes the oldest of the jobs that it was
 * given, or one of each context in turn (gpu_sched.sched_policy); with both, no context waits for
 * more than one ring of another's jobs, or one long job, as that is all that a context gives to the
 * scheduler at a time.  The other jobs wait in &cnnacc_ctx_queue.waiting; when a job is freed the
 * next is given.
 *
 * A higher priority goes first, but not for ever: if a job that could start has waited for ten
 * times as long as its cycle limits allow it to run, 100 ms to 10 s, the jobs of higher priorities
 * wait until it has started.  So a lower priority gets at most an eleventh of a busy core, unless
 * its jobs may run for more than a second.
 *
 * The watchdog checks a core twice per period, as the first check only samples its progress.  The
 * driver itself ends a job that hangs and reports no hang to the scheduler, which finds the job's
 * fence signalled and frees the job.  The scheduler is paused only to remove a dead context.
 */

#define CNNACC_PATIENCE_MIN_MS	100
#define CNNACC_PATIENCE_MAX_MS	10000
#define CNNACC_STARVED_TRIES	4	/* contexts looked at when a job is about to start */

static int cnnacc_param_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 10, 86400000);
}

const struct kernel_param_ops cnnacc_param_ops = {
	.set = cnnacc_param_set,
	.get = param_get_uint,
};

static unsigned int cnnacc_watchdog_ms = 1500;
module_param_cb(watchdog_ms, &cnnacc_param_ops, &cnnacc_watchdog_ms, 0444);
__MODULE_PARM_TYPE(watchdog_ms, "uint");
MODULE_PARM_DESC(watchdog_ms,
		 "ms without progress after which a job counts as hung (10 to 86400000, default 1500)");

static struct cnnacc_ctx_queue *cnnacc_sched_queue_of(const struct cnnacc_job *job)
{
	return &job->ctx->queues[job->core->index];
}

/* Returns what a job costs, 1 to CNNACC_CREDITS: all if it must have the ring alone. */
u32 cnnacc_sched_credits(const struct cnnacc_job *job)
{
	u32 ring = job->core->cdev->clock_hz / 1000 * CNNACC_RING_MS;

	/* The events of a core are one counter. */
	if (job->cycle_limit >= ring ||
	    READ_ONCE(job->ctx->events[job->core->index]))
		return CNNACC_CREDITS;
	return max(job->task_count,
		   DIV_ROUND_UP((u32)job->cycle_limit * CNNACC_CREDITS, ring));
}

/**
 * cnnacc_sched_push() - Give the scheduler as many of the waiting jobs as a context may have there
 * @ctx: context, with &cnnacc_ctx.job_lock held; if it is dead, all of them are given
 * @core: core
 */
static void cnnacc_sched_push(struct cnnacc_ctx *ctx, struct cnnacc_core *core)
{
	struct cnnacc_ctx_queue *queue = &ctx->queues[core->index];
	struct cnnacc_job *job;

	lockdep_assert_held(&ctx->job_lock);
	while ((job = list_first_entry_or_null(&queue->waiting, struct cnnacc_job, link))) {
		if (!ctx->dead && queue->credits &&
		    queue->credits + job->group_credits > CNNACC_CREDITS)
			break;
		queue->credits += job->group_credits;
		job->pushed = jiffies;
		drm_sched_job_arm(&job->base);
		scoped_guard(spinlock_irq, &core->lock) {
			if (list_empty(&queue->pushed))
				list_add_tail(&queue->link, &core->queues[ctx->priority]);
			list_move_tail(&job->link, &queue->pushed);
		}
		drm_sched_entity_push_job(&job->base);
	}
}

/**
 * cnnacc_sched_queue() - Queue a job
 * @job: armed job that follows no other; it may end and be freed at any time from here on
 */
void cnnacc_sched_queue(struct cnnacc_job *job)
{
	struct cnnacc_core *core = job->core;
	struct cnnacc_ctx *ctx = job->ctx;
	struct dma_fence *fence;
	unsigned long index;

	/*
	 * Otherwise some, such as those of timeline points, are not marked as signalled until the
	 * scheduler looks at the job, which it does not while higher priorities are busy.
	 */
	xa_for_each(&job->base.dependencies, index, fence)
		cnnacc_compat_enable_signaling(fence);
	scoped_guard(spinlock, &ctx->job_lock) {
		list_add_tail(&job->link, &ctx->queues[core->index].waiting);
		cnnacc_sched_push(ctx, core);
	}
}

/*
 * Takes all jobs of a dead context from the scheduler of a core.  Each is freed when the fences it
 * depends on are signalled and the jobs ahead of it have ended.  If some have not started, the
 * scheduler is paused, as drm_sched_entity_pop_job() of Linux 6.12 returns an entity with more jobs
 * to its run queue even if drm_sched_entity_fini() has just removed it.
 */
void cnnacc_sched_remove(struct cnnacc_ctx *ctx, struct cnnacc_core *core)
{
	struct cnnacc_ctx_queue *queue = &ctx->queues[core->index];

	scoped_guard(spinlock, &ctx->job_lock)
		cnnacc_sched_push(ctx, core);
	if (list_empty(&queue->pushed)) {
		drm_sched_entity_fini(&queue->entity);
		return;
	}
	guard(mutex)(&core->cdev->pause_lock);
	drm_sched_wqueue_stop(&core->sched);
	drm_sched_entity_fini(&queue->entity);
	drm_sched_wqueue_start(&core->sched);
	flush_workqueue(core->cdev->sched_wq);	/* or the next pause cancels what it waits for */
}

static enum cnnacc_end cnnacc_sched_verdict(const struct cnnacc_job *job)
{
	struct cnnacc_device *cdev = job->ctx->cdev;

	/* Checked before the dependencies, which may have failed for that reason. */
	if (READ_ONCE(cdev->wedged) || drm_dev_is_unplugged(&cdev->drm))
		return CNNACC_END_GONE;
	if (cnnacc_ctx_state(job->ctx) || cnnacc_job_dep_failed(job))
		return CNNACC_END_CANCELED;
	return CNNACC_END_DONE;
}

static unsigned long cnnacc_sched_patience(const struct cnnacc_job *job)
{
	u64 ten_times_ms = div_u64(job->cycle_limit, max(job->core->cdev->clock_hz / 10000, 1));

	return msecs_to_jiffies(clamp_t(u64, ten_times_ms, CNNACC_PATIENCE_MIN_MS,
					CNNACC_PATIENCE_MAX_MS));
}

static bool cnnacc_sched_starves(struct cnnacc_job *job)
{
	unsigned long since = job->pushed, index;
	struct dma_fence *fence;

	if (time_before(since, job->core->yielded))
		since = job->core->yielded;
	if (READ_ONCE(job->ctx->dead) ||
	    time_before(jiffies, since + cnnacc_sched_patience(job)))
		return false;
	/* Not dma_fence_is_signaled(), which may signal: the core is locked. */
	xa_for_each(&job->base.dependencies, index, fence)
		if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags))
			return false;
	return true;
}

/* Returns the next job of a context and moves the context behind the others of its priority. */
static struct cnnacc_job *cnnacc_sched_next_of(struct cnnacc_core *core, u32 priority)
{
	struct cnnacc_ctx_queue *queue;

	queue = list_first_entry_or_null(&core->queues[priority], struct cnnacc_ctx_queue, link);
	if (!queue)
		return NULL;
	list_move_tail(&queue->link, &core->queues[priority]);
	return list_first_entry(&queue->pushed, struct cnnacc_job, link);
}

/* Called under &cnnacc_core.lock, which keeps the jobs in its lists valid. */
static struct cnnacc_job *cnnacc_sched_find_starved(struct cnnacc_core *core, u32 priority)
{
	struct cnnacc_job *job;
	unsigned int i;
	u32 lower;

	lockdep_assert_held(&core->lock);
	for (lower = 0; lower < priority; lower++)
		for (i = 0; i < CNNACC_STARVED_TRIES; i++) {
			job = cnnacc_sched_next_of(core, lower);
			if (!job)
				break;
			if (cnnacc_sched_starves(job))
				return job;
		}
	return NULL;
}

/* Called in the work item that also runs the job. */
static struct dma_fence *cnnacc_sched_prepare_job(struct drm_sched_job *base,
						  struct drm_sched_entity *entity)
{
	struct cnnacc_job *job = to_cnnacc_job(base);
	struct cnnacc_core *core = job->core;
	struct dma_fence *last = cnnacc_sched_queue_of(job)->last, *wait = NULL;

	if (job->end == CNNACC_END_DONE)
		job->end = cnnacc_sched_verdict(job);
	/* A canceled job ends when it is run: not before those ahead of it. */
	if (job->end != CNNACC_END_DONE)
		return last && !dma_fence_is_signaled(last) ? dma_fence_get(last) : NULL;
	scoped_guard(spinlock_irq, &core->lock) {
		if (!core->turn)
			core->turn = cnnacc_sched_find_starved(core, job->ctx->priority);
		if (core->turn && core->turn != job)
			wait = dma_fence_get(&core->turn->base.s_fence->scheduled);
	}
	return wait;
}

/* Takes a job off the lists of those that the scheduler was given. */
static void cnnacc_sched_take(struct cnnacc_job *job)
{
	struct cnnacc_ctx_queue *queue = cnnacc_sched_queue_of(job);
	struct cnnacc_core *core = job->core;

	scoped_guard(spinlock_irq, &core->lock) {
		list_del_init(&job->link);
		if (list_empty(&queue->pushed))
			list_del(&queue->link);
		if (core->turn == job) {
			core->turn = NULL;
			core->yielded = jiffies;
		}
	}
}

/* Ends a job that does not start, and its followers. */
static void cnnacc_sched_end(struct cnnacc_job *job, enum cnnacc_end end)
{
	struct cnnacc_job *follower;

	cnnacc_job_end(job, end, NULL);
	list_for_each_entry(follower, &job->followers, follow)
		cnnacc_job_end(follower, end, NULL);
}

static struct dma_fence *cnnacc_sched_run_job(struct drm_sched_job *base)
{
	struct cnnacc_job *job = to_cnnacc_job(base);
	struct cnnacc_ctx_queue *queue = cnnacc_sched_queue_of(job);
	struct dma_fence *fence = dma_fence_get(cnnacc_job_last_fence(job));
	bool cookie = dma_fence_begin_signalling();

	cnnacc_sched_take(job);
	dma_fence_put(queue->last);
	queue->last = dma_fence_get(fence);
	if (job->end == CNNACC_END_DONE)
		cnnacc_core_start(job->core, job);
	else
		cnnacc_sched_end(job, job->end);
	dma_fence_end_signalling(cookie);
	return fence;
}

static enum drm_gpu_sched_stat cnnacc_sched_timedout_job(struct drm_sched_job *base)
{
	struct cnnacc_core *core = to_cnnacc_job(base)->core;
	bool cookie;
	int idx;

	if (drm_dev_enter(&core->cdev->drm, &idx)) {
		cookie = dma_fence_begin_signalling();
		if (cnnacc_core_hung(core))
			cnnacc_core_handle_hang(core);
		dma_fence_end_signalling(cookie);
		drm_dev_exit(idx);
	}
	/* On some kernels this ends a pause. */
	guard(mutex)(&core->cdev->pause_lock);
	return cnnacc_compat_sched_no_hang(base);
}

static void cnnacc_sched_free_job(struct drm_sched_job *base)
{
	struct cnnacc_job *job = to_cnnacc_job(base), *follower, *next;
	u64 cycles = job->cycle_limit;
	u32 jobs = 1;

	/* Its context is dead and the scheduler has not run it. */
	if (!dma_fence_is_signaled(&job->fence->base)) {
		cnnacc_sched_take(job);
		cnnacc_sched_end(job, cnnacc_sched_verdict(job));
	}
	scoped_guard(spinlock, &job->ctx->job_lock) {
		cnnacc_sched_queue_of(job)->credits -= job->group_credits;
		cnnacc_sched_push(job->ctx, job->core);
	}
	list_for_each_entry_safe(follower, next, &job->followers, follow) {
		cycles += follower->cycle_limit;
		jobs++;
		cnnacc_job_free(follower);
	}
	cnnacc_ctx_release(job->ctx, jobs, cycles);
	cnnacc_job_free(job);
}

static const struct drm_sched_backend_ops cnnacc_sched_ops = {
	.prepare_job = cnnacc_sched_prepare_job,
	.run_job = cnnacc_sched_run_job,
	.timedout_job = cnnacc_sched_timedout_job,
	.free_job = cnnacc_sched_free_job,
};

/* Initialises the scheduler of a core. */
int cnnacc_sched_init(struct cnnacc_core *core)
{
	return cnnacc_compat_sched_init(&core->sched, &cnnacc_sched_ops, CNNACC_CREDITS,
					core->cdev->sched_wq, core->cdev->reset_wq,
					msecs_to_jiffies(cnnacc_watchdog_ms / 2),
					core->name, core->cdev->drm.dev);
}
