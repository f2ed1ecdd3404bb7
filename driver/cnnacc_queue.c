// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>

#include <drm/drm_print.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_trace.h"

/**
 * DOC: queue
 *
 * A core's hardware queue.  The packets of a job are written to the ring when the scheduler starts
 * it; the ring may hold jobs of several contexts.  CNNACC_CREDITS bounds their packets and their
 * time.
 *
 * Whoever removes a job from &cnnacc_core.jobs under &cnnacc_core.lock owns it and must end it: the
 * interrupt handler when its completion records have arrived, else recovery.  Only one thread at a
 * time processes completions (&cnnacc_core.processing), so jobs end in order.  Fences of one
 * context and core must signal in order, as a reservation object keeps only the last of them.
 *
 * A failed job halts the queue.  Recovery then resets the core and writes the jobs behind it, which
 * have not started, to the ring again.  Jobs that the scheduler starts meanwhile stay in
 * &cnnacc_core.jobs until the queue is ready.
 *
 * The device counts events, but not of which job, so they are signalled only for a job that has the
 * ring alone.
 *
 * What the device writes is validated like user input.  A record that does not match the running
 * job is treated as a hang.
 */

#define CNNACC_EVENTS_MAX		0x100000	/* larger increments are implausible */
#define CNNACC_EVENTS_PER_LOCK		64
/* The unacknowledged records and those of all jobs in the ring together fit into it. */
#define CNNACC_RECORDS_UNACKED_MAX		(CNNACC_RING_ENTRIES - CNNACC_CREDITS - 1)

/* Programs the ring registers and enables the queue of a core that was just reset. */
void cnnacc_core_program(struct cnnacc_core *core)
{
	cnnacc_queue_write(core, CNNACC_QREG_RING_BASE_LO, lower_32_bits(core->ring_dma));
	cnnacc_queue_write(core, CNNACC_QREG_RING_BASE_HI, upper_32_bits(core->ring_dma));
	cnnacc_queue_write(core, CNNACC_QREG_RING_SIZE, CNNACC_RING_ENTRIES);
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_BASE_LO, lower_32_bits(core->records_dma));
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_BASE_HI, upper_32_bits(core->records_dma));
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_SIZE, CNNACC_RING_ENTRIES);
	cnnacc_queue_write(core, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
}

/* Enables the queue of a core that was just reset, or returns -EIO if it does not become idle. */
int cnnacc_core_enable(struct cnnacc_core *core)
{
	cnnacc_core_program(core);
	if (cnnacc_queue_read(core, CNNACC_QREG_STATE) != CNNACC_QSTATE_IDLE) {
		drm_err(&core->cdev->drm, "%s: the queue does not start after a reset\n",
			core->name);
		return -EIO;
	}

	spin_lock_irq(&core->lock);
	core->tail = 0;
	core->head = 0;
	core->head_acked = 0;
	core->seq = 0;
	core->events = cnnacc_queue_read(core, CNNACC_QREG_EVENT_COUNT);
	core->broken = false;
	core->aborting = 0;
	core->watchdog_fence = 0;
	core->meter.saved = false;
	core->enabled = true;
	spin_unlock_irq(&core->lock);
	return 0;
}

/* Stops processing completions and writing packets; called under &cnnacc_core.lock. */
void cnnacc_core_stop_locked(struct cnnacc_core *core)
{
	lockdep_assert_held(&core->lock);
	core->enabled = false;
	core->ready = false;
}

/* Stops using the queue, before a reset: when this returns, only the caller ends its jobs. */
void cnnacc_core_disable(struct cnnacc_core *core)
{
	spin_lock_irq(&core->lock);
	cnnacc_core_stop_locked(core);
	while (core->processing) {
		spin_unlock_irq(&core->lock);
		/* Sleep: the thread that processes completions may need this CPU. */
		usleep_range(10, 100);
		spin_lock_irq(&core->lock);
	}
	spin_unlock_irq(&core->lock);
}

/* Stops writing packets; running jobs continue. */
void cnnacc_core_pause(struct cnnacc_core *core)
{
	scoped_guard(spinlock_irq, &core->lock)
		core->ready = false;
}

/* Are there jobs in the ring of an enabled queue? */
bool cnnacc_core_busy(struct cnnacc_core *core)
{
	bool busy;

	scoped_guard(spinlock_irq, &core->lock)
		busy = core->enabled && cnnacc_core_first_job(core);
	return busy;
}

/* Makes the packet of a task of a job in the ring. */
void cnnacc_core_make_packet(const struct cnnacc_job *job, u32 index,
			     struct cnnacc_packet *packet)
{
	const struct drm_cnnacc_task *task = &job->tasks[index];
	u32 flags = 0;

	if (task->flags & DRM_CNNACC_TASK_STATS)
		flags |= CNNACC_PACKET_STATS;
	if (index == job->task_count - 1)
		flags |= CNNACC_PACKET_IRQ;

	*packet = (struct cnnacc_packet) {
		.flags = cpu_to_le32(flags),
		.ctx_id = cpu_to_le32(job->ctx->vm->hw_id),
		.root = cpu_to_le64(job->ctx->vm->root_dma),
		.fence = cpu_to_le64(job->first_fence + index),
		.cycle_limit = cpu_to_le64(task->cycle_limit),
		.program_va = cpu_to_le32(task->program_va),
		.program_len = cpu_to_le32(task->program_len),
		.stats_va = cpu_to_le32(task->stats_va),
	};
}

static void cnnacc_core_write_job(struct cnnacc_core *core, struct cnnacc_job *job)
{
	u32 i;

	job->tasks_done = 0;
	job->first_fence = core->next_fence;
	core->next_fence += job->task_count;
	for (i = 0; i < job->task_count; i++) {
		cnnacc_core_make_packet(job, i, &core->ring[core->tail]);
		core->tail = (core->tail + 1) % CNNACC_RING_ENTRIES;
	}
	trace_cnnacc_job_start(job);
}

static bool cnnacc_core_has_listener(const struct cnnacc_core *core, const struct cnnacc_job *job)
{
	return READ_ONCE(job->ctx->events[core->index]);
}

/* The device is not suspended, as there are jobs in the ring of an enabled queue. */
static void cnnacc_core_listen_locked(struct cnnacc_core *core)
{
	struct cnnacc_job *job;

	lockdep_assert_held(&core->lock);
	if (!core->enabled || core->event_irq || delayed_work_pending(&core->event_work))
		return;
	list_for_each_entry(job, &core->jobs, link)
		if (job->written && cnnacc_core_has_listener(core, job)) {
			cnnacc_irq_set_events(core, true);
			return;
		}
}

static void cnnacc_core_kick_locked(struct cnnacc_core *core)
{
	u32 before = core->tail;
	struct cnnacc_job *job;

	lockdep_assert_held(&core->lock);
	if (!core->ready)
		return;
	if (!cnnacc_core_first_job(core))
		core->job_start = jiffies;
	list_for_each_entry_reverse(job, &core->jobs, link)
		if (job->written)
			break;
	list_for_each_entry_continue(job, &core->jobs, link) {
		cnnacc_core_write_job(core, job);
		job->written = true;
	}
	if (core->tail == before)
		return;
	cnnacc_core_listen_locked(core);
	cnnacc_queue_write(core, CNNACC_QREG_RING_TAIL, core->tail);
}

/* Lets events interrupt if a job in the ring has an eventfd. */
void cnnacc_core_listen(struct cnnacc_core *core)
{
	scoped_guard(spinlock_irq, &core->lock)
		cnnacc_core_listen_locked(core);
}

/* Counts events and lets them interrupt again: &cnnacc_core.event_work. */
void cnnacc_core_event_work(struct work_struct *work)
{
	struct cnnacc_core *core = container_of(work, struct cnnacc_core, event_work.work);

	cnnacc_core_process(core, false);
	cnnacc_core_listen(core);
}

/* Writes packets of an enabled core again, first those of jobs that wait. */
void cnnacc_core_resume(struct cnnacc_core *core)
{
	scoped_guard(spinlock_irq, &core->lock)
		if (core->enabled) {
			core->ready = true;
			cnnacc_core_kick_locked(core);
		}
}

/* Runs a job that follows no other, and its followers, now or when the queue is ready again. */
void cnnacc_core_start(struct cnnacc_core *core, struct cnnacc_job *job)
{
	struct cnnacc_job *follower;
	LIST_HEAD(jobs);

	list_add(&job->link, &jobs);
	list_for_each_entry(follower, &job->followers, follow)
		list_add_tail(&follower->link, &jobs);
	scoped_guard(spinlock_irq, &core->lock) {
		/* Recovery ends the jobs of a device that is wedged or unplugged after this. */
		if (!READ_ONCE(core->cdev->wedged)) {
			WRITE_ONCE(core->cpu, raw_smp_processor_id());
			list_splice_tail_init(&jobs, &core->jobs);
			cnnacc_core_kick_locked(core);
		}
	}
	cnnacc_job_end_list(&jobs, CNNACC_END_GONE);
}

/* Returns the job that runs: the first in the ring of a locked core, or NULL. */
struct cnnacc_job *cnnacc_core_first_job(struct cnnacc_core *core)
{
	struct cnnacc_job *job = list_first_entry_or_null(&core->jobs, struct cnnacc_job, link);

	return job && job->written ? job : NULL;
}

/*
 * Drops the lock, since signalling an eventfd wakes its waiters.  The job stays valid, as no other
 * thread ends jobs while &cnnacc_core.processing is set.
 */
static void cnnacc_core_count_events(struct cnnacc_core *core, u32 now, unsigned long *flags)
	__must_hold(&core->lock)
{
	struct cnnacc_job *job = cnnacc_core_first_job(core);
	u32 remaining = now - core->events;
	u32 count;

	if (!remaining || !job)
		return;
	/* With others in the ring they may be another's. */
	if (remaining > CNNACC_EVENTS_MAX || job->credits < CNNACC_CREDITS)
		remaining = 0;
	core->events = now;
	for (; remaining; remaining -= count) {
		count = min_t(u32, remaining, CNNACC_EVENTS_PER_LOCK);
		spin_unlock_irqrestore(&core->lock, *flags);
		cnnacc_ctx_signal_events(job->ctx, core->index, count);
		spin_lock_irqsave(&core->lock, *flags);
	}
}

/* Copies the next record, so that it does not change after it was checked. */
static void cnnacc_core_read_record(struct cnnacc_core *core, struct cnnacc_completion *to)
{
	memcpy(to, &core->records[core->head], sizeof(*to));
	barrier_data(to);
	core->head = (core->head + 1) % CNNACC_RING_ENTRIES;
}

static bool cnnacc_core_record_valid(struct cnnacc_core *core,
				     const struct cnnacc_completion *record)
{
	struct cnnacc_job *job = cnnacc_core_first_job(core);

	return job && le32_to_cpu(record->seq) == ++core->seq &&
	       le64_to_cpu(record->fence) == job->first_fence + job->tasks_done &&
	       le32_to_cpu(record->ctx_id) == job->ctx->vm->hw_id &&
	       le16_to_cpu(record->status_class) <= CNNACC_STATUS_ABORTED;
}

/* Removes the first job of a locked core, for the caller to end it. */
void cnnacc_core_remove_job(struct cnnacc_core *core, struct cnnacc_job *job)
{
	core->job_start = jiffies;
	list_del(&job->link);
}

/* Has all jobs of a locked, stopped core written to the ring again when it is ready. */
void cnnacc_core_rewind(struct cnnacc_core *core)
{
	struct cnnacc_job *job;

	list_for_each_entry(job, &core->jobs, link)
		job->written = false;
}

/**
 * cnnacc_core_take_done() - Read completion records until a job has completed or failed
 * @core: core, locked
 * @tail: index after the last valid record
 * @record: out: last record of the job
 *
 * An invalid record sets &cnnacc_core.broken.
 *
 * Return: the job, for the caller to end, or NULL if none has completed
 */
struct cnnacc_job *cnnacc_core_take_done(struct cnnacc_core *core, u32 tail,
					 struct cnnacc_completion *record)
{
	struct cnnacc_job *job;

	lockdep_assert_held(&core->lock);
	while (!core->broken && core->head != tail) {
		cnnacc_core_read_record(core, record);
		if (!cnnacc_core_record_valid(core, record)) {
			core->broken = true;
			break;
		}
		job = cnnacc_core_first_job(core);
		job->tasks_done++;
		cnnacc_stats_record(core, job, record);
		if (le16_to_cpu(record->status_class) != CNNACC_STATUS_OK ||
		    job->tasks_done == job->task_count) {
			cnnacc_core_remove_job(core, job);
			return job;
		}
	}
	return NULL;
}

static void cnnacc_core_ack_records(struct cnnacc_core *core)
{
	u32 unacked = (core->head - core->head_acked) % CNNACC_RING_ENTRIES;

	if (unacked < CNNACC_RECORDS_UNACKED_MAX)
		return;
	core->head_acked = core->head;
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_HEAD, core->head);
}

/* Returns why a job ended, by its last completion record. */
enum cnnacc_end cnnacc_core_end_reason(struct cnnacc_core *core,
				       const struct cnnacc_completion *record)
{
	switch (le16_to_cpu(record->status_class)) {
	case CNNACC_STATUS_OK:
		return CNNACC_END_DONE;
	case CNNACC_STATUS_ABORTED:
		return le64_to_cpu(record->fence) == core->aborting ? CNNACC_END_HANG :
								      CNNACC_END_INNOCENT;
	default:
		return CNNACC_END_FAILED;
	}
}

/**
 * cnnacc_core_set_failure() - Record the job that stopped a queue
 * @core: core, locked, without a recorded failure
 * @job: the job, removed from the core; recovery ends it
 * @end: why it ends
 * @record: last completion record of the job, or NULL
 *
 * The jobs behind it have not started and are written to the ring again after the reset.  So is
 * the job itself if it is innocent and restartable.
 */
void cnnacc_core_set_failure(struct cnnacc_core *core, struct cnnacc_job *job, enum cnnacc_end end,
			     const struct cnnacc_completion *record)
{
	lockdep_assert_held(&core->lock);
	if (end == CNNACC_END_INNOCENT && job->flags & DRM_CNNACC_JOB_RESTARTABLE) {
		list_add(&job->link, &core->jobs);
		job = NULL;
	}
	core->failure = (struct cnnacc_failure) { .job = job, .end = end, .has_record = record };
	if (record)
		core->failure.record = *record;
	cnnacc_core_rewind(core);
}

/*
 * Ends the completed jobs.  If a job failed or a record is invalid, stops the queue and schedules
 * recovery, which ends that job.  Drops the lock while it ends a job: a record beyond the last job
 * in the ring is noticed before, as a job that starts meanwhile would be blamed for it.
 */
static void cnnacc_core_end_completed(struct cnnacc_core *core, u32 tail, unsigned long *flags)
	__must_hold(&core->lock)
{
	struct cnnacc_completion record;
	enum cnnacc_end end;
	struct cnnacc_job *job;

	if (tail >= CNNACC_RING_ENTRIES)
		core->broken = true;
	while (core->enabled) {
		job = cnnacc_core_take_done(core, tail, &record);
		end = job ? cnnacc_core_end_reason(core, &record) : CNNACC_END_DONE;
		if (core->head != tail && !cnnacc_core_first_job(core))
			core->broken = true;
		if (end != CNNACC_END_DONE || core->broken) {
			cnnacc_core_stop_locked(core);
			queue_work(core->cdev->reset_wq, &core->reset_work);
		}
		if (end != CNNACC_END_DONE)
			cnnacc_core_set_failure(core, job, end, &record);
		if (!job || end != CNNACC_END_DONE)
			break;
		spin_unlock_irqrestore(&core->lock, *flags);
		cnnacc_job_end(job, end, &record);
		spin_lock_irqsave(&core->lock, *flags);
	}
	if (core->enabled)
		cnnacc_core_ack_records(core);
}

/* Returns false if events are pending and the caller is in hard-IRQ context. */
static bool cnnacc_core_process_locked(struct cnnacc_core *core, bool hard, unsigned long *flags)
{
	struct cnnacc_job *first;
	bool done = true;
	u32 tail, events;

	lockdep_assert_held(&core->lock);
	core->reprocess = true;
	if (core->processing)
		return true;
	core->processing = true;
	while (core->reprocess && core->enabled && done) {
		core->reprocess = false;
		/* Tail first: the event count then includes all events of the jobs that end. */
		tail = cnnacc_queue_read(core, CNNACC_QREG_COMPL_TAIL);
		events = cnnacc_queue_read(core, CNNACC_QREG_EVENT_COUNT);
		first = cnnacc_core_first_job(core);
		done = !hard || events == core->events || !first ||
		       !cnnacc_core_has_listener(core, first);
		if (done) {
			cnnacc_core_count_events(core, events, flags);
			cnnacc_core_end_completed(core, tail, flags);
		}
	}
	core->processing = false;
	return done;
}

/**
 * cnnacc_core_process() - Process events and completion records of a core
 * @core: core
 * @hard: the caller is in hard-IRQ context, where events are not signalled
 *
 * Return: false if the caller must have it called again in thread context
 */
bool cnnacc_core_process(struct cnnacc_core *core, bool hard)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&core->lock, flags);
	done = !core->enabled || cnnacc_core_process_locked(core, hard, &flags);
	spin_unlock_irqrestore(&core->lock, flags);
	return done;
}
