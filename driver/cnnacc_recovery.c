// SPDX-License-Identifier: GPL-2.0-only
#include <linux/iopoll.h>
#include <linux/module.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_trace.h"

/**
 * DOC: recovery
 *
 * What happens when the queue of a core has stopped, because a job failed or the core hangs:
 *
 * - A coredump is taken.
 * - The core is reset; if that does not succeed, the device.
 * - The job that ran ends.  If it is innocent and restartable it is run again instead.
 * - The jobs behind it in the ring, of whatever context, had not started and are written to the
 *   ring again.
 */

#define CNNACC_CORE_RESET_TIMEOUT_US	1000000

static unsigned int cnnacc_job_limit_ms = 120000;
module_param_cb(job_limit_ms, &cnnacc_param_ops, &cnnacc_job_limit_ms, 0644);
__MODULE_PARM_TYPE(job_limit_ms, "uint");
MODULE_PARM_DESC(job_limit_ms,
		 "ms after which a job counts as hung even if it makes progress (10 to 86400000, default 120000)");

static unsigned int cnnacc_abort_ms = 300;
module_param_cb(abort_ms, &cnnacc_param_ops, &cnnacc_abort_ms, 0644);
__MODULE_PARM_TYPE(abort_ms, "uint");
MODULE_PARM_DESC(abort_ms,
		 "ms that a core has to abort a job, else the job counts as hung (10 to 86400000, default 300)");

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
	       le32_to_cpu(READ_ONCE(next->seq)) == core->seq + 1 &&
	       le64_to_cpu(READ_ONCE(next->fence)) == job->first_fence + job->tasks_done;
}

/*
 * Ends the jobs that completed before their core was reset, so that the first remaining job is the
 * one that ran.  The reset has cleared COMPL_TAIL, so the records themselves tell which are valid.
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
		end = cnnacc_core_end_reason(core, &record);
		if (end != CNNACC_END_DONE) {
			cnnacc_core_set_failure(core, job, end, &record);
			break;
		}
		spin_unlock_irq(&core->lock);
		cnnacc_job_end(job, end, &record);
		spin_lock_irq(&core->lock);
	}
	spin_unlock_irq(&core->lock);
}

/*
 * Why the first job ends without a completion record.  Only the packet that is being aborted is
 * guilty: the first job may have started after the job that hung ended by itself.
 */
static enum cnnacc_end cnnacc_core_reset_status(struct cnnacc_core *core,
						const struct cnnacc_job *job)
{
	lockdep_assert_held(&core->lock);
	return core->broken || job->first_fence + job->tasks_done == core->aborting ?
	       CNNACC_END_HANG : CNNACC_END_INNOCENT;
}

static bool cnnacc_core_list_has_ctx(const struct list_head *jobs, const struct cnnacc_ctx *ctx)
{
	const struct cnnacc_job *job;

	list_for_each_entry(job, jobs, link)
		if (job->ctx == ctx)
			return true;
	return false;
}

/*
 * Takes those jobs out of the ring that a core which cannot be trusted may have started and that
 * cannot run again: they are not restartable, or a later job of their context goes, and the fences
 * of a context signal in order.  The first job stays, no longer restartable if it is such a job.
 */
static void cnnacc_core_take_innocent(struct cnnacc_core *core)
{
	struct cnnacc_job *job, *prev;

	list_for_each_entry_safe_reverse(job, prev, &core->jobs, link) {
		if (!job->written || (job->flags & DRM_CNNACC_JOB_RESTARTABLE &&
				      !cnnacc_core_list_has_ctx(&core->innocent, job->ctx)))
			continue;
		if (list_is_first(&job->link, &core->jobs))
			job->flags &= ~DRM_CNNACC_JOB_RESTARTABLE;
		else
			list_move(&job->link, &core->innocent);
	}
}

/*
 * Takes the job that ran off the core, unless a failed job is recorded already, and decides whether
 * it is guilty of the reset.  The jobs behind it have not started, unless the core cannot be
 * trusted.
 */
static void cnnacc_core_mark_guilty(struct cnnacc_core *core, bool trusted)
{
	struct cnnacc_job *job;

	scoped_guard(spinlock_irq, &core->lock) {
		job = cnnacc_core_first_job(core);
		if (!job)
			return;
		if (!trusted)
			cnnacc_core_take_innocent(core);
		cnnacc_core_remove_job(core, job);
		cnnacc_core_set_failure(core, job, cnnacc_core_reset_status(core, job), NULL);
	}
}

static void cnnacc_core_end_failed(struct cnnacc_core *core)
{
	struct cnnacc_failure *failure = &core->failure;
	struct cnnacc_job *job = failure->job;
	LIST_HEAD(innocent);

	failure->job = NULL;
	if (job)
		cnnacc_job_end(job, failure->end,
			       failure->has_record ? &failure->record : NULL);
	list_replace_init(&core->innocent, &innocent);
	cnnacc_job_end_list(&innocent, CNNACC_END_INNOCENT);
}

/* Called before the reset: the registers still show what the core did last. */
static void cnnacc_core_dump(struct cnnacc_core *core)
{
	struct cnnacc_job *first;

	if (core->failure.job) {
		if (core->failure.end != CNNACC_END_INNOCENT)
			cnnacc_dump_take(core);
		return;
	}
	/* The job is only dumped here: its completion record may still show up after the reset. */
	scoped_guard(spinlock_irq, &core->lock) {
		first = cnnacc_core_first_job(core);
		if (first && cnnacc_core_reset_status(core, first) != CNNACC_END_HANG)
			first = NULL;
	}
	if (!first)
		return;
	core->failure = (struct cnnacc_failure) { .job = first, .end = CNNACC_END_HANG };
	cnnacc_dump_take(core);
	core->failure.job = NULL;
}

/*
 * Returns true if the core was reset; its ring is empty.  Otherwise the whole device was reset,
 * which ended the failed job, and the core may run other jobs already.
 */
static bool cnnacc_core_reset(struct cnnacc_core *core)
{
	struct cnnacc_device *cdev = core->cdev;
	bool gone = cnnacc_device_gone(cdev), reset = false;

	if (!gone) {
		cnnacc_core_dump(core);
		reset = !cnnacc_core_hw_reset(core);
	}
	if (reset)
		cnnacc_core_end_finished(core);
	/* Until the device is reset, a core that does not reset may go on to the next job. */
	if (reset || gone || core->broken)
		cnnacc_core_mark_guilty(core, gone || !core->broken);
	if (gone && !core->failure.has_record)
		core->failure.end = CNNACC_END_GONE;
	if (reset && !cnnacc_core_enable(core))
		return true;
	cnnacc_device_reset(cdev);
	return false;
}

/*
 * A job whose file is closed is ended even if another process holds its fence or an output buffer:
 * a process that has exited must not occupy a core.
 */
static bool cnnacc_core_orphaned(const struct cnnacc_job *job)
{
	return READ_ONCE(job->ctx->file->closed);
}

/*
 * Takes the jobs of closed files off a core.  Later jobs first: if a file is closed meanwhile, a
 * job goes with all before it, as the fences of a context signal in order.
 */
static void cnnacc_core_drop_orphans(struct cnnacc_core *core)
{
	struct cnnacc_job *job, *prev;
	LIST_HEAD(orphans);

	lockdep_assert_held(&core->lock);
	list_for_each_entry_safe_reverse(job, prev, &core->jobs, link)
		if (cnnacc_core_orphaned(job))
			list_move(&job->link, &orphans);
	list_splice_tail(&orphans, &core->innocent);
}

/* Runs on &cnnacc_device.reset_wq, like everything that touches a queue that is not ready. */
static void cnnacc_core_recover(struct cnnacc_core *core)
{
	scoped_guard(spinlock_irq, &core->lock)
		if (core->ready)
			return;

	cnnacc_core_disable(core);
	/* All jobs of a wedged device have ended. */
	if (READ_ONCE(core->cdev->wedged))
		return;
	if (!cnnacc_core_reset(core))
		return;
	scoped_guard(spinlock_irq, &core->lock)
		cnnacc_core_drop_orphans(core);
	/* The pages may be reused from here on, so the core must be reset first. */
	cnnacc_core_end_failed(core);
	/* Restore the enable bits, in case their loss has caused the hang. */
	cnnacc_irq_enable(core->cdev);
	cnnacc_core_resume(core);
}

/* Recovers a core whose queue has stopped: &cnnacc_core.reset_work. */
void cnnacc_core_reset_work(struct work_struct *work)
{
	struct cnnacc_core *core = container_of(work, struct cnnacc_core, reset_work);
	bool cookie;

	CLASS(cnnacc_section, section)(&core->cdev->drm);
	if (section < 0 || cnnacc_pm_get(core->cdev))
		return;
	cookie = dma_fence_begin_signalling();
	cnnacc_core_recover(core);
	dma_fence_end_signalling(cookie);
	cnnacc_pm_put(core->cdev);
}

/* Takes the running job for hung and schedules a reset, if the queue is enabled. */
void cnnacc_core_set_broken(struct cnnacc_core *core)
{
	scoped_guard(spinlock_irqsave, &core->lock) {
		if (!core->enabled)
			return;
		core->broken = true;
		cnnacc_core_stop_locked(core);
	}
	queue_work(core->cdev->reset_wq, &core->reset_work);
}

/* The device sends no other message for a status bit that stays set, so a lost one is fatal. */
static void cnnacc_core_check_lost_irq(struct cnnacc_core *core)
{
	unsigned int count = READ_ONCE(cnnacc_irq_vector(core)->count);
	u32 status = cnnacc_read(core->cdev, CNNACC_REG_IRQ_STATUS);

	status &= CNNACC_IRQ_CORE(core->index) |
		  (READ_ONCE(core->event_irq) ? CNNACC_IRQ_EVENT(core->index) : 0);
	/*
	 * A bit that is found once may belong to an interrupt in flight.  The interrupt is lost if
	 * the bit is found twice and no interrupt was handled in between.
	 */
	if (status && core->irq_seen && core->irq_count == count && !core->irq_lost) {
		core->irq_lost = true;
		drm_warn(&core->cdev->drm, "%s: lost interrupt found by the watchdog\n",
			 core->name);
	}
	core->irq_seen = status;
	core->irq_count = count;
	if (status)
		cnnacc_write(core->cdev, CNNACC_REG_IRQ_STATUS, status);
	cnnacc_core_process(core, false);
}

/* Is the job orphaned, over its time limit, or without progress since the last watchdog check? */
static bool cnnacc_core_timed_out(struct cnnacc_core *core, const struct cnnacc_job *job)
{
	unsigned long limit = msecs_to_jiffies(READ_ONCE(cnnacc_job_limit_ms));

	lockdep_assert_held(&core->lock);
	return cnnacc_core_orphaned(job) || time_after(jiffies, core->job_start + limit) ||
	       (core->watchdog_fence == job->first_fence + job->tasks_done &&
		core->watchdog_progress == cnnacc_queue_read(core, CNNACC_QREG_PROGRESS));
}

static void cnnacc_core_write_abort(struct cnnacc_core *core)
{
	lockdep_assert_held(&core->lock);
	/* Keep the ENABLE bit as it is: enabling a disabled queue would restart its ring. */
	cnnacc_queue_write(core, CNNACC_QREG_CTRL,
			   cnnacc_queue_read(core, CNNACC_QREG_CTRL) | CNNACC_QCTRL_ABORT);
}

/*
 * Aborts the running packet unless the core was reset since @resets was read or is disabled.
 * Returns the fence value of the packet, or 0.
 */
static u64 cnnacc_core_abort_running(struct cnnacc_core *core, u64 resets)
{
	struct cnnacc_job *job;
	u64 fence = 0;

	spin_lock_irq(&core->lock);
	job = cnnacc_core_first_job(core);
	if (core->resets == resets)
		core->ready = false;
	if (core->resets == resets && core->enabled && job) {
		cnnacc_core_write_abort(core);
		fence = job->first_fence + job->tasks_done;
	}
	spin_unlock_irq(&core->lock);
	return fence;
}

/*
 * Resets a core, which may be idle or make progress, and waits until that is done.  The running job
 * ends as innocent, or as hung if it cannot be aborted.
 */
void cnnacc_core_force_reset(struct cnnacc_core *core)
{
	u64 before = READ_ONCE(core->resets), fence;
	u64 first = cnnacc_core_abort_running(core, before);

	/* Repeat: the job may end before the abort takes effect, and the next one start. */
	read_poll_timeout(cnnacc_core_abort_running, fence, !fence, 1000,
			  1000ull * READ_ONCE(cnnacc_abort_ms), first, core, before);
	/* Otherwise the completion of the aborted job has triggered the reset already. */
	scoped_guard(spinlock_irq, &core->lock)
		if (core->resets == before) {
			core->aborting = first;
			cnnacc_core_stop_locked(core);
		}
	queue_work(core->cdev->reset_wq, &core->reset_work);
	flush_work(&core->reset_work);
}

/*
 * Watchdog check: has the running job made no progress since the last check, does it exceed the
 * time limit, or is its file closed?
 */
bool cnnacc_core_hung(struct cnnacc_core *core)
{
	struct cnnacc_job *job;
	bool hung = false;

	/* Handle a lost interrupt first, as it is not a hang. */
	cnnacc_core_check_lost_irq(core);

	spin_lock_irq(&core->lock);
	job = cnnacc_core_first_job(core);
	if (job) {
		cnnacc_stats_sample(core);
		hung = cnnacc_core_timed_out(core, job);
		core->watchdog_fence = job->first_fence + job->tasks_done;
		core->watchdog_progress = cnnacc_queue_read(core, CNNACC_QREG_PROGRESS);
	}
	spin_unlock_irq(&core->lock);
	return hung;
}

static bool cnnacc_core_job_ended(struct cnnacc_core *core, u64 first_fence)
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
 * cnnacc_core_handle_hang() - End the running job if it hangs or belongs to a closed file
 * @core: core
 *
 * Aborts the job, so that its completion record has the program counter, and resets the core.
 * Runs on &cnnacc_device.reset_wq only.
 */
void cnnacc_core_handle_hang(struct cnnacc_core *core)
{
	struct cnnacc_job *job;
	bool ended, hangs;
	u64 first_fence, seqno;
	u32 hw_id;

	scoped_guard(spinlock_irq, &core->lock) {
		job = cnnacc_core_first_job(core);
		/* The job may have made progress or ended since cnnacc_core_hung(). */
		if (!job || !cnnacc_core_timed_out(core, job))
			return;
		first_fence = job->first_fence;
		hangs = !cnnacc_core_orphaned(job);
		if (hangs)
			core->aborting = first_fence + job->tasks_done;
		seqno = job->seqno;
		hw_id = job->ctx->vm->hw_id;
		core->ready = false;
		cnnacc_core_write_abort(core);
	}

	if (hangs)
		dev_warn_ratelimited(core->cdev->drm.dev, "%s: job %llu of context %u hangs\n",
				     core->name, seqno, hw_id);
	read_poll_timeout(cnnacc_core_job_ended, ended, ended, 1000,
			  1000ull * READ_ONCE(cnnacc_abort_ms), false, core, first_fence);
	cnnacc_core_recover(core);
}

/* Takes the job that made the core hang, and the device be reset, off the core. */
static void cnnacc_core_take_hung(struct cnnacc_core *core)
{
	struct cnnacc_job *job = cnnacc_core_first_job(core);

	lockdep_assert_held(&core->lock);
	if (!job || job->first_fence + job->tasks_done != core->aborting)
		return;
	cnnacc_core_remove_job(core, job);
	cnnacc_core_set_failure(core, job, CNNACC_END_HANG, NULL);
}

/**
 * cnnacc_core_cancel_jobs() - End the jobs of a core that a device reset has stopped
 * @core: core, disabled
 * @end: CNNACC_END_INNOCENT, or CNNACC_END_GONE to end all jobs
 *
 * A job that hung ends as such.  With CNNACC_END_INNOCENT, jobs that had not started stay queued
 * and are written to the ring again, and so is the job that ran if it is restartable.  Jobs of a
 * closed file end.
 */
void cnnacc_core_cancel_jobs(struct cnnacc_core *core, enum cnnacc_end end)
{
	struct cnnacc_job *job;
	LIST_HEAD(jobs);

	if (end == CNNACC_END_INNOCENT)
		cnnacc_core_end_finished(core);
	spin_lock_irq(&core->lock);
	cnnacc_core_take_hung(core);
	job = cnnacc_core_first_job(core);
	if (end != CNNACC_END_INNOCENT) {
		list_splice_init(&core->jobs, &jobs);
	} else {
		if (job && !(job->flags & DRM_CNNACC_JOB_RESTARTABLE)) {
			cnnacc_core_remove_job(core, job);
			list_add_tail(&job->link, &core->innocent);
		}
		cnnacc_core_drop_orphans(core);
		cnnacc_core_rewind(core);
	}
	spin_unlock_irq(&core->lock);
	cnnacc_core_end_failed(core);
	cnnacc_job_end_list(&jobs, end);
}

#if IS_ENABLED(CONFIG_CNNACC_KUNIT_TEST)
#include "tests/cnnacc_recovery_test.c"
#endif
