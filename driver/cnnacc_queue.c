// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/smp.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_queue.h"
#include "cnnacc_trace.h"

/**
 * DOC: queue
 *
 * A core's hardware queue.  The scheduler hands over one batch of jobs at a time; the
 * tasks of all of them are put into the ring together.  A job is owned by whoever takes
 * it out of &cnnacc_core.batch under &cnnacc_core.lock, and that one ends it: the
 * interrupt handler when the device says so, else a reset.  Jobs end in order, which
 * &cnnacc_core.ending sees to.  A queue that stops at a job that failed is reset, and the
 * jobs behind it, which have not started, are kicked again.  While a queue is being
 * brought back, a batch that is handed over waits in &cnnacc_core.batch and is
 * kicked afterwards.
 *
 * What the device writes is checked like what a user writes: a record that does
 * not fit the running job means the core has lost its mind, and is a hang.
 */

#define CNNACC_EVENTS_MAX		0x100000	/* more in one look: a device gone mad */
#define CNNACC_EVENTS_AT_ONCE		64
/* Records in use and those of a whole batch fit into the ring. */
#define CNNACC_RECORDS_UNTOLD		(CNNACC_RING_ENTRIES - CNNACC_MAX_TASKS - 1)

/**
 * cnnacc_core_program() - Tell a core that was just reset where its rings are
 * @core: core
 */
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

/**
 * cnnacc_core_enable() - Program and enable the queue of a core that was just reset
 * @core: core
 *
 * Return: 0 or -EIO if the queue does not accept it
 */
int cnnacc_core_enable(struct cnnacc_core *core)
{
	cnnacc_core_program(core);
	if (cnnacc_queue_read(core, CNNACC_QREG_STATE) != CNNACC_QSTATE_IDLE) {
		drm_err(&core->cdev->drm, "%s: the queue does not start\n", core->name);
		return -EIO;
	}

	spin_lock_irq(&core->lock);
	core->tail = 0;
	core->head = 0;
	core->head_told = 0;
	core->seq = 0;
	core->events = cnnacc_queue_read(core, CNNACC_QREG_EVENT_COUNT);
	core->broken = false;
	core->aborting = 0;
	core->watched = 0;
	core->meter.saved = false;
	core->enabled = true;
	spin_unlock_irq(&core->lock);
	return 0;
}

/**
 * cnnacc_core_stop_locked() - Neither look at the queue nor kick
 * @core: core, locked
 */
void cnnacc_core_stop_locked(struct cnnacc_core *core)
{
	lockdep_assert_held(&core->lock);
	core->enabled = false;
	core->ready = false;
}

/**
 * cnnacc_core_disable() - Look at the queue no more; the core is about to be reset
 * @core: core
 *
 * When this returns nobody but the caller ends jobs of the core.
 */
void cnnacc_core_disable(struct cnnacc_core *core)
{
	spin_lock_irq(&core->lock);
	cnnacc_core_stop_locked(core);
	cnnacc_stats_use(core, NULL);
	while (core->ending || test_bit(CNNACC_CORE_FORWARDED, &core->flags)) {
		spin_unlock_irq(&core->lock);
		/* It may be a thread that waits for this CPU. */
		usleep_range(10, 100);
		spin_lock_irq(&core->lock);
	}
	spin_unlock_irq(&core->lock);
}

/**
 * cnnacc_core_hold() - Kick no more batches
 * @core: core
 */
void cnnacc_core_hold(struct cnnacc_core *core)
{
	spin_lock_irq(&core->lock);
	core->ready = false;
	spin_unlock_irq(&core->lock);
}

/**
 * cnnacc_core_busy() - Are jobs in the ring?
 * @core: core
 *
 * Return: true if so
 */
bool cnnacc_core_busy(struct cnnacc_core *core)
{
	bool busy;

	spin_lock_irq(&core->lock);
	busy = core->enabled && core->batch && core->batch->kicked;
	spin_unlock_irq(&core->lock);
	return busy;
}

/**
 * cnnacc_core_make_packet() - Make the packet of a task
 * @job: job in the ring
 * @index: index of the task
 * @packet: the packet, as the device wants it
 */
void cnnacc_core_make_packet(const struct cnnacc_job *job, u32 index,
			     struct cnnacc_packet *packet)
{
	const struct drm_cnnacc_task *task = &job->tasks[index];
	u32 flags = 0;

	if (task->flags & DRM_CNNACC_TASK_STATS)
		flags |= CNNACC_PACKET_STATS;
	if (job->flags & DRM_CNNACC_JOB_EVENT_WAIT)
		flags |= CNNACC_PACKET_EVENT_WAIT;
	if (index == job->task_count - 1)
		flags |= CNNACC_PACKET_IRQ;

	*packet = (struct cnnacc_packet) {
		.flags = (__force u32)cpu_to_le32(flags),
		.ctx_id = (__force u32)cpu_to_le32(job->ctx->hw_id),
		.root = (__force u64)cpu_to_le64(job->ctx->vm.root_dma),
		.fence = (__force u64)cpu_to_le64(job->first_fence + index),
		.cycle_limit = (__force u64)cpu_to_le64(task->cycle_limit),
		.program_va = (__force u32)cpu_to_le32(task->program_va),
		.program_len = (__force u32)cpu_to_le32(task->program_len),
		.stats_va = (__force u32)cpu_to_le32(task->stats_va),
	};
}

static void cnnacc_core_write_job(struct cnnacc_core *core, struct cnnacc_job *job)
{
	u32 i;

	job->done = 0;
	job->first_fence = core->next_fence;
	core->next_fence += job->task_count;
	for (i = 0; i < job->task_count; i++) {
		cnnacc_core_make_packet(job, i, &core->ring[core->tail]);
		core->tail = (core->tail + 1) % CNNACC_RING_ENTRIES;
	}
	trace_cnnacc_job_start(job);
}

static void cnnacc_core_kick_locked(struct cnnacc_core *core)
{
	struct cnnacc_batch *batch = core->batch;
	struct cnnacc_job *job;

	lockdep_assert_held(&core->lock);
	if (!core->ready || !batch || batch->kicked)
		return;

	batch->kicked = true;
	core->since = jiffies;
	cnnacc_stats_use(core, batch->ctx);
	WRITE_ONCE(core->cpu, batch->cpu);
	list_for_each_entry(job, &batch->jobs, link)
		cnnacc_core_write_job(core, job);
	cnnacc_queue_write(core, CNNACC_QREG_RING_TAIL, core->tail);
}

/**
 * cnnacc_core_resume() - Kick batches again
 * @core: core, enabled
 */
void cnnacc_core_resume(struct cnnacc_core *core)
{
	spin_lock_irq(&core->lock);
	if (core->enabled) {
		core->ready = true;
		cnnacc_core_kick_locked(core);
	}
	spin_unlock_irq(&core->lock);
}

/**
 * cnnacc_core_start() - Run a batch, at once or when the queue is back
 * @core: core
 * @batch: batch with jobs
 */
void cnnacc_core_start(struct cnnacc_core *core, struct cnnacc_batch *batch)
{
	bool gone;
	int idx;

	gone = !drm_dev_enter(&core->cdev->drm, &idx);
	spin_lock_irq(&core->lock);
	if (!gone && !READ_ONCE(core->cdev->wedged)) {
		core->batch = batch;
		batch = NULL;
		cnnacc_core_kick_locked(core);
	}
	spin_unlock_irq(&core->lock);
	if (!gone)
		drm_dev_exit(idx);
	if (batch)
		cnnacc_batch_end(batch, CNNACC_END_GONE);
}

/**
 * cnnacc_core_first_job() - The job that the core is at
 * @core: core, locked
 *
 * Return: the first job in the ring that has not ended, or NULL
 */
struct cnnacc_job *cnnacc_core_first_job(struct cnnacc_core *core)
{
	if (!core->batch || !core->batch->kicked)
		return NULL;
	return list_first_entry(&core->batch->jobs, struct cnnacc_job, link);
}

/* Drops the lock, as an event wakes somebody up; &cnnacc_core.ending keeps the job. */
static void cnnacc_core_count_events(struct cnnacc_core *core, u32 now, unsigned long *flags)
{
	struct cnnacc_job *job = cnnacc_core_first_job(core);
	u32 left = now - core->events;
	u32 count;

	if (!left || !job)
		return;
	if (left > CNNACC_EVENTS_MAX)
		left = 0;
	/* All jobs in the ring are of one context and of one mind about waiting. */
	core->events = now;
	for (; left; left -= count) {
		count = min_t(u32, left, CNNACC_EVENTS_AT_ONCE);
		spin_unlock_irqrestore(&core->lock, *flags);
		cnnacc_ctx_signal_events(job->ctx, core->index, count);
		spin_lock_irqsave(&core->lock, *flags);
	}
	if (core->enabled && job->flags & DRM_CNNACC_JOB_EVENT_WAIT)
		cnnacc_queue_write(core, CNNACC_QREG_EVENT_ACK, 1);
}

/* Copies the next record, in host byte order. */
static void cnnacc_core_read_record(struct cnnacc_core *core, struct cnnacc_completion *to)
{
	const struct cnnacc_completion *from = &core->records[core->head];

	to->fence = le64_to_cpu((__force __le64)READ_ONCE(from->fence));
	to->seq = le32_to_cpu((__force __le32)READ_ONCE(from->seq));
	to->ctx_id = le32_to_cpu((__force __le32)READ_ONCE(from->ctx_id));
	to->status_class = le16_to_cpu((__force __le16)READ_ONCE(from->status_class));
	to->status_code = le16_to_cpu((__force __le16)READ_ONCE(from->status_code));
	to->pc = le32_to_cpu((__force __le32)READ_ONCE(from->pc));
	to->detail = le32_to_cpu((__force __le32)READ_ONCE(from->detail));
	to->access = le32_to_cpu((__force __le32)READ_ONCE(from->access));
	to->fault_va = le64_to_cpu((__force __le64)READ_ONCE(from->fault_va));
	to->cycles = le64_to_cpu((__force __le64)READ_ONCE(from->cycles));
	to->start_ns = le64_to_cpu((__force __le64)READ_ONCE(from->start_ns));
	to->end_ns = le64_to_cpu((__force __le64)READ_ONCE(from->end_ns));
	core->head = (core->head + 1) % CNNACC_RING_ENTRIES;
}

static bool cnnacc_core_record_fits(struct cnnacc_core *core,
				    const struct cnnacc_completion *record)
{
	struct cnnacc_job *job = cnnacc_core_first_job(core);

	return job && record->seq == ++core->seq &&
	       record->fence == job->first_fence + job->done &&
	       record->ctx_id == job->ctx->hw_id &&
	       record->status_class <= CNNACC_STATUS_ABORTED;
}

/**
 * cnnacc_core_pop_job() - Take the first job out of the batch
 * @core: core with a batch, locked; after the last job it has no more to do with the batch
 *
 * Return: the job, to be ended
 */
struct cnnacc_job *cnnacc_core_pop_job(struct cnnacc_core *core)
{
	struct cnnacc_job *job = cnnacc_batch_pop(core->batch);

	core->since = jiffies;
	if (list_empty(&core->batch->jobs))
		core->batch = NULL;
	return job;
}

/**
 * cnnacc_core_take_done() - Take in completion records up to the end of a job
 * @core: core, locked
 * @tail: index after the last record
 * @record: the job's last record
 *
 * Return: the job, to be ended, or NULL if there is none
 */
struct cnnacc_job *cnnacc_core_take_done(struct cnnacc_core *core, u32 tail,
					 struct cnnacc_completion *record)
{
	struct cnnacc_job *job;

	lockdep_assert_held(&core->lock);
	while (!core->broken && core->head != tail) {
		cnnacc_core_read_record(core, record);
		if (!cnnacc_core_record_fits(core, record)) {
			core->broken = true;
			break;
		}
		job = cnnacc_core_first_job(core);
		job->done++;
		cnnacc_stats_record(core, job, record);
		if (record->status_class != CNNACC_STATUS_OK || job->done == job->task_count)
			return cnnacc_core_pop_job(core);
	}
	return NULL;
}

static void cnnacc_core_tell_head(struct cnnacc_core *core)
{
	u32 untold = (core->head - core->head_told) % CNNACC_RING_ENTRIES;

	if (untold < CNNACC_RECORDS_UNTOLD)
		return;
	core->head_told = core->head;
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_HEAD, core->head);
}

/**
 * cnnacc_core_how_ended() - Why a job ended
 * @core: its core
 * @record: its last completion record
 *
 * Return: one of CNNACC_END_*
 */
enum cnnacc_end cnnacc_core_how_ended(struct cnnacc_core *core,
				      const struct cnnacc_completion *record)
{
	switch (record->status_class) {
	case CNNACC_STATUS_OK:
		return CNNACC_END_DONE;
	case CNNACC_STATUS_ABORTED:
		return record->fence == core->aborting ? CNNACC_END_HANG : CNNACC_END_LOST;
	default:
		return CNNACC_END_FAILED;
	}
}

/**
 * cnnacc_core_fail() - Note the job that stopped a queue
 * @core: core, locked, without a failure
 * @job: the job, taken out of the batch; whoever brings the core back ends it
 * @end: why it ends
 * @record: its last completion record, or NULL
 *
 * What is behind the job has not started and will be kicked again, as will a restartable job
 * that was lost.
 */
void cnnacc_core_fail(struct cnnacc_core *core, struct cnnacc_job *job, enum cnnacc_end end,
		      const struct cnnacc_completion *record)
{
	lockdep_assert_held(&core->lock);
	if (end == CNNACC_END_LOST && job->flags & DRM_CNNACC_JOB_RESTARTABLE) {
		if (!core->batch)
			core->batch = job->last_of;
		list_add(&job->link, &core->batch->jobs);
		job = NULL;
	}
	core->failure = (struct cnnacc_failure) { .job = job, .end = end };
	if (record) {
		core->failure.has_record = true;
		core->failure.record = *record;
	}
	if (core->batch)
		core->batch->kicked = false;
}

/*
 * Ends the jobs that are done.  If the queue halted or the device answered nonsense, a
 * reset of the core is queued, which ends the job that failed.  Drops the lock to end a job.
 */
static void cnnacc_core_end_done(struct cnnacc_core *core, u32 tail, unsigned long *flags)
{
	struct cnnacc_completion record;
	enum cnnacc_end end;
	struct cnnacc_job *job;

	if (tail >= CNNACC_RING_ENTRIES)
		core->broken = true;
	while (core->enabled) {
		job = cnnacc_core_take_done(core, tail, &record);
		end = job ? cnnacc_core_how_ended(core, &record) : CNNACC_END_DONE;
		if (end != CNNACC_END_DONE || core->broken) {
			if (job)
				cnnacc_core_fail(core, job, end, &record);
			cnnacc_core_stop_locked(core);
			queue_work(core->cdev->reset_wq, &core->reset_work);
			break;
		}
		if (!job)
			break;
		spin_unlock_irqrestore(&core->lock, *flags);
		cnnacc_job_end(job, end, &record);
		spin_lock_irqsave(&core->lock, *flags);
	}
	if (core->enabled)
		cnnacc_core_tell_head(core);
}

/* False if there are events, which take their time, and @hard says that there is none. */
static bool cnnacc_core_look(struct cnnacc_core *core, bool hard, unsigned long *flags)
{
	bool done = true;
	u32 tail, events;

	lockdep_assert_held(&core->lock);
	core->again = true;
	if (core->ending)
		return true;
	core->ending = true;
	while (core->again && core->enabled && done) {
		core->again = false;
		/* In this order no event of a job is counted after its end. */
		tail = cnnacc_queue_read(core, CNNACC_QREG_COMPL_TAIL);
		events = cnnacc_queue_read(core, CNNACC_QREG_EVENT_COUNT);
		done = !hard || events == core->events || !core->batch;
		if (done) {
			cnnacc_core_count_events(core, events, flags);
			cnnacc_core_end_done(core, tail, flags);
		}
	}
	core->ending = false;
	return done;
}

/**
 * cnnacc_core_process() - Look at what a core has done: count events and end jobs
 * @core: core
 * @hard: whether this is a hard interrupt
 *
 * Return: false if it is to be called again outside of one
 */
bool cnnacc_core_process(struct cnnacc_core *core, bool hard)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&core->lock, flags);
	done = !core->enabled || cnnacc_core_look(core, hard, &flags);
	spin_unlock_irqrestore(&core->lock, flags);
	return done;
}

/**
 * cnnacc_core_forwarded() - Look at what a core has done, on the CPU its jobs come from
 * @arg: core
 */
void cnnacc_core_forwarded(void *arg)
{
	struct cnnacc_core *core = arg;

	clear_bit(CNNACC_CORE_FORWARDED, &core->flags);
	smp_mb__after_atomic();		/* what comes later is forwarded again */
	if (!cnnacc_core_process(core, true))
		cnnacc_irq_defer(core);
}

/**
 * cnnacc_core_forward() - Have a core's interrupt handled where its jobs come from
 * @core: core
 *
 * Who waits for a job is likely to be on the CPU that submitted it, and, were the job ended
 * on another, would wake up to wait for the locks that the other one holds.  So this is done
 * without locks.
 *
 * Return: false if that is this CPU, or if hard interrupts must not take locks
 */
bool cnnacc_core_forward(struct cnnacc_core *core)
{
	unsigned int cpu = READ_ONCE(core->cpu);

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || cpu == raw_smp_processor_id())
		return false;
	if (test_and_set_bit(CNNACC_CORE_FORWARDED, &core->flags))
		return true;
	if (!smp_call_function_single_async(cpu, &core->csd))
		return true;
	clear_bit(CNNACC_CORE_FORWARDED, &core->flags);
	return false;
}
