// SPDX-License-Identifier: GPL-2.0-only
#include <linux/iopoll.h>
#include <linux/module.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_pm.h"
#include "cnnacc_queue.h"
#include "cnnacc_trace.h"

/**
 * DOC: recovery
 *
 * What happens to the jobs of a core whose queue stands, be it that a job failed or that the
 * core hangs: what there is to know is dumped, the core is reset, or the device if that does not
 * help; the job that ran ends, or is run again if it may be and was not to blame; those behind
 * it in the ring had not started and are kicked again.
 */

#define CNNACC_CORE_RESET_TIMEOUT_US	1000000
#define CNNACC_ABORT_TIMEOUT_US		300000

static struct cnnacc_param cnnacc_job_limit = { .ms = 120000, .max_ms = 86400000 };
module_param_cb(job_limit_ms, &cnnacc_param_ops, &cnnacc_job_limit, 0644);
__MODULE_PARM_TYPE(job_limit_ms, "uint");
MODULE_PARM_DESC(job_limit_ms,
		 "ms after which a job hangs even if it makes progress (10 to 86400000, default 120000)");

static int cnnacc_core_hw_reset(struct cnnacc_core *core)
{
	u32 value;

	trace_cnnacc_reset(core->cdev, core->index, ++core->resets);
	cnnacc_queue_write(core, CNNACC_QREG_RESET, 1);
	if (read_poll_timeout(cnnacc_queue_read, value, !(value & 1) || value == ~0u, 100,
			      CNNACC_CORE_RESET_TIMEOUT_US, false, core, CNNACC_QREG_RESET))
		return -ETIMEDOUT;
	return value ? -ENODEV : 0;
}

static bool cnnacc_core_has_record(struct cnnacc_core *core)
{
	const struct cnnacc_completion *next = &core->records[core->head];
	struct cnnacc_job *job = cnnacc_core_first_job(core);

	return job && !core->broken &&
	       le32_to_cpu((__force __le32)next->seq) == core->seq + 1 &&
	       le64_to_cpu((__force __le64)next->fence) == job->first_fence + job->done;
}

/*
 * Ends the jobs that finished before their core was reset, which the device cannot tell
 * any more, so that the one left first is the one that ran.
 */
static void cnnacc_core_end_finished(struct cnnacc_core *core)
{
	struct cnnacc_completion record;
	struct cnnacc_job *job;
	enum cnnacc_end end;

	spin_lock_irq(&core->lock);
	while (cnnacc_core_has_record(core)) {
		job = cnnacc_core_take_done(core, (core->head + 1) % CNNACC_RING_ENTRIES, &record);
		if (!job)
			continue;
		end = cnnacc_core_how_ended(core, &record);
		if (end != CNNACC_END_DONE) {
			cnnacc_core_fail(core, job, end, &record);
			break;
		}
		spin_unlock_irq(&core->lock);
		cnnacc_job_end(job, end, &record);
		spin_lock_irq(&core->lock);
	}
	spin_unlock_irq(&core->lock);
}

/* Why the first job ends, without a record: it may have begun when the one that hung ended. */
static enum cnnacc_end cnnacc_core_verdict(struct cnnacc_core *core, const struct cnnacc_job *job)
{
	lockdep_assert_held(&core->lock);
	return core->broken || job->first_fence + job->done == core->aborting ?
	       CNNACC_END_HANG : CNNACC_END_LOST;
}

/*
 * Takes the job that ran, if none failed.  Those behind it have not started; but a core that
 * cannot be trusted may have started them as well.
 */
static void cnnacc_core_blame(struct cnnacc_core *core, bool trusted, struct list_head *lost)
{
	struct cnnacc_job *job;
	enum cnnacc_end end;
	u32 flags;

	spin_lock_irq(&core->lock);
	job = cnnacc_core_first_job(core);
	if (job) {
		flags = job->flags;
		end = cnnacc_core_verdict(core, job);
		cnnacc_core_fail(core, cnnacc_core_pop_job(core), end, NULL);
		if (core->batch && !trusted && !(flags & DRM_CNNACC_JOB_RESTARTABLE)) {
			list_splice_init(&core->batch->jobs, lost);
			core->batch = NULL;
		}
	}
	spin_unlock_irq(&core->lock);
}

static void cnnacc_core_end_failed(struct cnnacc_core *core)
{
	struct cnnacc_failure *failure = &core->failure;
	struct cnnacc_job *job = failure->job;

	failure->job = NULL;
	if (job)
		cnnacc_job_end(job, failure->end,
			       failure->has_record ? &failure->record : NULL);
}

/* While nobody else looks at the core; what it did last may show in its registers. */
static void cnnacc_core_dump(struct cnnacc_core *core)
{
	struct cnnacc_job *first;

	if (core->failure.job) {
		if (core->failure.end != CNNACC_END_LOST)
			cnnacc_dump_take(core);
		return;
	}
	/* It may turn out to have ended after all, when the reset is over. */
	spin_lock_irq(&core->lock);
	first = cnnacc_core_first_job(core);
	if (first && cnnacc_core_verdict(core, first) != CNNACC_END_HANG)
		first = NULL;
	spin_unlock_irq(&core->lock);
	if (!first)
		return;
	core->failure = (struct cnnacc_failure) { .job = first, .end = CNNACC_END_HANG };
	cnnacc_dump_take(core);
	core->failure.job = NULL;
}

/*
 * True if the core is back, with nothing in its ring; else the device was reset, which ended the
 * failed job, and the core may be at others again.
 */
static bool cnnacc_core_bring_back(struct cnnacc_core *core, struct list_head *lost)
{
	struct cnnacc_device *cdev = core->cdev;
	bool gone = cnnacc_device_lost(cdev), reset = false;

	if (!gone) {
		cnnacc_core_dump(core);
		reset = !cnnacc_core_hw_reset(core);
	}
	if (reset)
		cnnacc_core_end_finished(core);
	cnnacc_core_blame(core, gone || (reset && !core->broken), lost);
	if (gone && !core->failure.has_record)
		core->failure.end = CNNACC_END_GONE;
	if (reset && !cnnacc_core_enable(core))
		return true;
	cnnacc_device_reset(cdev);
	return false;
}

/*
 * A job whose file is closed is given up, on purpose: others may still have its fence or a buffer
 * of its output, but a process that is gone shall not keep a core.
 */
static bool cnnacc_core_orphaned(const struct cnnacc_batch *batch)
{
	return batch && READ_ONCE(batch->ctx->file->closed);
}

/* Jobs that would be kicked again, for nobody. */
static void cnnacc_core_take_orphans(struct cnnacc_core *core, struct list_head *lost)
{
	spin_lock_irq(&core->lock);
	if (cnnacc_core_orphaned(core->batch)) {
		list_splice_tail_init(&core->batch->jobs, lost);
		core->batch = NULL;
	}
	spin_unlock_irq(&core->lock);
}

/* Runs on the reset workqueue, as all that touches a queue which is not ready. */
static void cnnacc_core_recover(struct cnnacc_core *core)
{
	LIST_HEAD(lost);
	bool ready;

	spin_lock_irq(&core->lock);
	ready = core->ready;
	spin_unlock_irq(&core->lock);
	if (ready)
		return;

	cnnacc_core_disable(core);
	/* All jobs of a device that was given up have ended. */
	if (READ_ONCE(core->cdev->wedged))
		return;
	if (!cnnacc_core_bring_back(core, &lost)) {
		cnnacc_batch_end_jobs(&lost, CNNACC_END_LOST);
		return;
	}
	cnnacc_core_take_orphans(core, &lost);
	/* Its memory is others' from here on: the core had to let go of it first. */
	cnnacc_core_end_failed(core);
	cnnacc_batch_end_jobs(&lost, CNNACC_END_LOST);
	/* They may be what was lost. */
	cnnacc_irq_enable(core->cdev);
	cnnacc_core_resume(core);
}

/**
 * cnnacc_core_reset_work() - Bring a core back whose queue stands
 * @work: &cnnacc_core.reset_work
 */
void cnnacc_core_reset_work(struct work_struct *work)
{
	struct cnnacc_core *core = container_of(work, struct cnnacc_core, reset_work);
	bool cookie;
	int idx;

	if (!drm_dev_enter(&core->cdev->drm, &idx))
		return;
	if (!cnnacc_pm_get(core->cdev)) {
		cookie = dma_fence_begin_signalling();
		cnnacc_core_recover(core);
		dma_fence_end_signalling(cookie);
		cnnacc_pm_put(core->cdev);
	}
	drm_dev_exit(idx);
}

/**
 * cnnacc_core_break() - Give up the running job and reset the core
 * @core: core; one that is not in use, as in the self-test, is left alone
 */
void cnnacc_core_break(struct cnnacc_core *core)
{
	unsigned long flags;
	bool used;

	spin_lock_irqsave(&core->lock, flags);
	used = core->enabled;
	if (used) {
		core->broken = true;
		cnnacc_core_stop_locked(core);
	}
	spin_unlock_irqrestore(&core->lock, flags);
	if (used)
		queue_work(core->cdev->reset_wq, &core->reset_work);
}

/* A status bit that stays set keeps the device from sending another message. */
static void cnnacc_core_find_irq(struct cnnacc_core *core)
{
	unsigned int count = READ_ONCE(core->cdev->vectors[core->index].count);
	u32 status = cnnacc_read(core->cdev, CNNACC_REG_IRQ_STATUS);

	status &= CNNACC_IRQ_CORE(core->index) | CNNACC_IRQ_EVENT(core->index);
	/* One that is found just once was on its way, as one among many may be each time. */
	if (status && core->irq_seen && core->irq_count == count && !core->irq_lost) {
		core->irq_lost = true;
		drm_warn(&core->cdev->drm, "%s: an interrupt was lost; the watchdog found it\n",
			 core->name);
	}
	core->irq_seen = status;
	core->irq_count = count;
	if (status)
		cnnacc_write(core->cdev, CNNACC_REG_IRQ_STATUS, status);
	cnnacc_core_process(core, false);
}

/* Has the first job no owner, too much time, or not moved since the watchdog last looked? */
static bool cnnacc_core_overdue(struct cnnacc_core *core, const struct cnnacc_job *job)
{
	unsigned long limit = msecs_to_jiffies(READ_ONCE(cnnacc_job_limit.ms));

	lockdep_assert_held(&core->lock);
	return cnnacc_core_orphaned(core->batch) || time_after(jiffies, core->since + limit) ||
	       (core->watched == job->first_fence + job->done &&
		core->progress == cnnacc_queue_read(core, CNNACC_QREG_PROGRESS));
}

static void cnnacc_core_write_abort(struct cnnacc_core *core)
{
	lockdep_assert_held(&core->lock);
	/* A queue that is not enabled stays so: enabling it would lose its place. */
	cnnacc_queue_write(core, CNNACC_QREG_CTRL,
			   cnnacc_queue_read(core, CNNACC_QREG_CTRL) | CNNACC_QCTRL_ABORT);
}

/* Aborts what runs, unless the core was reset or is away; returns its fence value, else 0. */
static u64 cnnacc_core_abort_any(struct cnnacc_core *core, u64 resets)
{
	struct cnnacc_job *job;
	u64 fence = 0;

	spin_lock_irq(&core->lock);
	job = cnnacc_core_first_job(core);
	if (core->resets == resets)
		core->ready = false;
	if (core->resets == resets && core->enabled && job) {
		cnnacc_core_write_abort(core);
		fence = job->first_fence + job->done;
	}
	spin_unlock_irq(&core->lock);
	return fence;
}

/**
 * cnnacc_core_force_reset() - Reset a core that may be well and wait until that is done
 * @core: core
 *
 * A job that runs is lost, but not to blame unless it does not let itself be aborted.
 */
void cnnacc_core_force_reset(struct cnnacc_core *core)
{
	u64 before = READ_ONCE(core->resets), first = cnnacc_core_abort_any(core, before), fence;

	/* Again and again, as a job may have ended before it was told, and the next begun. */
	read_poll_timeout(cnnacc_core_abort_any, fence, !fence, 1000, CNNACC_ABORT_TIMEOUT_US,
			  first, core, before);
	spin_lock_irq(&core->lock);
	/* The end of an aborted job has the core reset. */
	if (core->resets == before) {
		core->aborting = first;
		cnnacc_core_stop_locked(core);
	}
	spin_unlock_irq(&core->lock);
	queue_work(core->cdev->reset_wq, &core->reset_work);
	flush_work(&core->reset_work);
}

/**
 * cnnacc_core_hung() - Is the job that a core is at to be ended?
 * @core: core
 *
 * Return: true if nothing moved since this was last asked, or the job takes too long or is
 * nobody's any more
 */
bool cnnacc_core_hung(struct cnnacc_core *core)
{
	struct cnnacc_job *job;
	bool hung = false;

	/* A lost interrupt is no hang. */
	cnnacc_core_find_irq(core);

	spin_lock_irq(&core->lock);
	job = cnnacc_core_first_job(core);
	if (job) {
		cnnacc_stats_look(core);
		hung = cnnacc_core_overdue(core, job);
		core->watched = job->first_fence + job->done;
		core->progress = cnnacc_queue_read(core, CNNACC_QREG_PROGRESS);
	}
	spin_unlock_irq(&core->lock);
	return hung;
}

static bool cnnacc_core_abort(struct cnnacc_core *core, u64 first_fence)
{
	struct cnnacc_job *job;
	bool ended;

	cnnacc_core_process(core, false);
	spin_lock_irq(&core->lock);
	job = cnnacc_core_first_job(core);
	ended = !job || job->first_fence != first_fence;
	spin_unlock_irq(&core->lock);
	return ended;
}

/**
 * cnnacc_core_kill() - End the job that hangs or is nobody's
 * @core: core
 *
 * Aborts it, which tells where it stood, and resets the core.  Runs on
 * &cnnacc_device.reset_wq only.
 */
void cnnacc_core_kill(struct cnnacc_core *core)
{
	struct cnnacc_job *job;
	bool ended, hangs;
	u64 first_fence, seqno;
	u32 hw_id;

	spin_lock_irq(&core->lock);
	job = cnnacc_core_first_job(core);
	/* It may have gone on, or ended, since it was looked at. */
	if (!job || !cnnacc_core_overdue(core, job)) {
		spin_unlock_irq(&core->lock);
		return;
	}
	first_fence = job->first_fence;
	hangs = !cnnacc_core_orphaned(core->batch);
	if (hangs)
		core->aborting = first_fence + job->done;
	seqno = job->seqno;
	hw_id = job->ctx->hw_id;
	core->ready = false;
	cnnacc_core_write_abort(core);
	spin_unlock_irq(&core->lock);

	if (hangs)
		dev_warn_ratelimited(core->cdev->drm.dev, "%s: job %llu of context %u hangs\n",
				     core->name, seqno, hw_id);
	read_poll_timeout(cnnacc_core_abort, ended, ended, 1000, CNNACC_ABORT_TIMEOUT_US,
			  false, core, first_fence);
	cnnacc_core_recover(core);
}

/**
 * cnnacc_core_cancel() - End jobs of a core that a device reset has stopped
 * @core: core, disabled
 * @end: CNNACC_END_LOST, or CNNACC_END_GONE if no job will run again
 *
 * Jobs that had not started will be kicked again, unless the device is gone or they are
 * nobody's any more; so will the one that ran if it is restartable.
 */
void cnnacc_core_cancel(struct cnnacc_core *core, enum cnnacc_end end)
{
	struct cnnacc_job *job;
	LIST_HEAD(jobs);

	if (end == CNNACC_END_LOST)
		cnnacc_core_end_finished(core);
	/* Before those behind it, which may run again at once. */
	cnnacc_core_end_failed(core);
	spin_lock_irq(&core->lock);
	if (core->batch && (end != CNNACC_END_LOST || cnnacc_core_orphaned(core->batch))) {
		list_splice_init(&core->batch->jobs, &jobs);
		core->batch = NULL;
	} else if (core->batch) {
		job = cnnacc_core_first_job(core);
		core->batch->kicked = false;
		if (job && !(job->flags & DRM_CNNACC_JOB_RESTARTABLE))
			list_add(&cnnacc_core_pop_job(core)->link, &jobs);
	}
	spin_unlock_irq(&core->lock);
	cnnacc_batch_end_jobs(&jobs, end);
}

#if IS_ENABLED(CONFIG_CNNACC_KUNIT_TEST)
#include "tests/cnnacc_recovery_test.c"
#endif
