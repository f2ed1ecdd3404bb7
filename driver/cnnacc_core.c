// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_trace.h"

/**
 * DOC: core
 *
 * A core's hardware queue.  The scheduler hands over one job at a time; its tasks are
 * put into the ring together.  A job is owned by whoever takes it out of
 * &cnnacc_core.job under &cnnacc_core.lock, and that one ends it: the interrupt thread when
 * the device says so, else a reset.  While a queue is being brought back, a job
 * that is handed over waits in &cnnacc_core.job and is kicked afterwards.
 *
 * What the device writes is checked like what a user writes: a record that does
 * not fit the running job means the core has lost its mind, and is a hang.
 */

#define CNNACC_CORE_RESET_TIMEOUT_US	1000000
#define CNNACC_ABORT_TIMEOUT_US		100000
#define CNNACC_EVENTS_AT_ONCE		4096

static const char * const cnnacc_core_types[] = {
	[CNNACC_CORE_NONE] = "none",
	[CNNACC_CORE_CCP] = "ccp",
	[CNNACC_CORE_GCU] = "gcu",
	[CNNACC_CORE_HWPE] = "hwpe",
	[CNNACC_CORE_ENPU] = "enpu",
	[CNNACC_CORE_IMC] = "imc",
};

static int cnnacc_core_hw_reset(struct cnnacc_core *core)
{
	u32 value;

	cnnacc_queue_write(core, CNNACC_QREG_RESET, 1);
	return read_poll_timeout(cnnacc_queue_read, value, !(value & 1), 100,
				 CNNACC_CORE_RESET_TIMEOUT_US, false, core, CNNACC_QREG_RESET);
}

/**
 * cnnacc_core_enable() - Program and enable the queue of a core that was just reset
 * @core: core
 *
 * Return: 0 or -EIO if the queue does not accept it
 */
int cnnacc_core_enable(struct cnnacc_core *core)
{
	cnnacc_queue_write(core, CNNACC_QREG_RING_BASE_LO, lower_32_bits(core->ring_dma));
	cnnacc_queue_write(core, CNNACC_QREG_RING_BASE_HI, upper_32_bits(core->ring_dma));
	cnnacc_queue_write(core, CNNACC_QREG_RING_SIZE, CNNACC_RING_ENTRIES);
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_BASE_LO, lower_32_bits(core->records_dma));
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_BASE_HI, upper_32_bits(core->records_dma));
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_SIZE, CNNACC_RING_ENTRIES);
	cnnacc_queue_write(core, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	if (cnnacc_queue_read(core, CNNACC_QREG_STATE) != CNNACC_QSTATE_IDLE) {
		drm_err(&core->cdev->drm, "%s: the queue does not start\n", core->name);
		return -EIO;
	}

	spin_lock(&core->lock);
	core->tail = 0;
	core->head = 0;
	core->seq = 0;
	core->events = cnnacc_queue_read(core, CNNACC_QREG_EVENT_COUNT);
	core->broken = false;
	core->aborting = false;
	core->enabled = true;
	spin_unlock(&core->lock);
	return 0;
}

/**
 * cnnacc_core_disable() - Look at the queue no more; the core is about to be reset
 * @core: core
 */
void cnnacc_core_disable(struct cnnacc_core *core)
{
	spin_lock(&core->lock);
	core->enabled = false;
	core->ready = false;
	spin_unlock(&core->lock);
}

/**
 * cnnacc_core_hold() - Kick no more jobs
 * @core: core
 */
void cnnacc_core_hold(struct cnnacc_core *core)
{
	spin_lock(&core->lock);
	core->ready = false;
	spin_unlock(&core->lock);
}

/**
 * cnnacc_core_busy() - Is a job in the ring?
 * @core: core
 *
 * Return: true if so
 */
bool cnnacc_core_busy(struct cnnacc_core *core)
{
	bool busy;

	spin_lock(&core->lock);
	busy = core->enabled && core->job && core->job->kicked;
	spin_unlock(&core->lock);
	return busy;
}

static void cnnacc_core_write_packet(struct cnnacc_core *core, struct cnnacc_job *job,
				     u32 index)
{
	const struct drm_cnnacc_task *task = &job->tasks[index];
	u32 flags = 0;

	if (task->flags & DRM_CNNACC_TASK_STATS)
		flags |= CNNACC_PACKET_STATS;
	if (job->flags & DRM_CNNACC_JOB_EVENT_WAIT)
		flags |= CNNACC_PACKET_EVENT_WAIT;
	if (index == job->task_count - 1)
		flags |= CNNACC_PACKET_IRQ;

	core->ring[core->tail] = (struct cnnacc_packet) {
		.flags = (__force u32)cpu_to_le32(flags),
		.ctx_id = (__force u32)cpu_to_le32(job->ctx->hw_id),
		.root = (__force u64)cpu_to_le64(job->ctx->vm.root_dma),
		.fence = (__force u64)cpu_to_le64(job->first_fence + index),
		.cycle_limit = (__force u64)cpu_to_le64(task->cycle_limit),
		.program_va = (__force u32)cpu_to_le32(task->program_va),
		.program_len = (__force u32)cpu_to_le32(task->program_len),
		.stats_va = (__force u32)cpu_to_le32(task->stats_va),
	};
	core->tail = (core->tail + 1) % CNNACC_RING_ENTRIES;
}

static void cnnacc_core_kick_locked(struct cnnacc_core *core)
{
	struct cnnacc_job *job = core->job;
	u32 i;

	lockdep_assert_held(&core->lock);
	if (!core->ready || !job || job->kicked)
		return;

	job->kicked = true;
	job->done = 0;
	job->first_fence = core->next_fence;
	core->next_fence += job->task_count;
	for (i = 0; i < job->task_count; i++)
		cnnacc_core_write_packet(core, job, i);
	core->progress = cnnacc_queue_read(core, CNNACC_QREG_PROGRESS);
	trace_cnnacc_job_start(job);
	cnnacc_queue_write(core, CNNACC_QREG_RING_TAIL, core->tail);
}

/**
 * cnnacc_core_resume() - Kick jobs again
 * @core: core, enabled
 */
void cnnacc_core_resume(struct cnnacc_core *core)
{
	spin_lock(&core->lock);
	if (core->enabled) {
		core->ready = true;
		cnnacc_core_kick_locked(core);
	}
	spin_unlock(&core->lock);
}

/**
 * cnnacc_core_start() - Run a job, at once or when the queue is back
 * @core: core
 * @job: job
 */
void cnnacc_core_start(struct cnnacc_core *core, struct cnnacc_job *job)
{
	bool gone;
	int idx;

	gone = !drm_dev_enter(&core->cdev->drm, &idx);
	spin_lock(&core->lock);
	if (!gone && !READ_ONCE(core->cdev->wedged)) {
		core->job = job;
		job = NULL;
		cnnacc_core_kick_locked(core);
	}
	spin_unlock(&core->lock);
	if (!gone)
		drm_dev_exit(idx);
	if (job)
		cnnacc_job_end(job, CNNACC_END_GONE, NULL);
}

static void cnnacc_core_count_events(struct cnnacc_core *core)
{
	u32 now = cnnacc_queue_read(core, CNNACC_QREG_EVENT_COUNT);
	u32 count = now - core->events;

	if (!count || !core->job)
		return;
	/* All events belong to the running job: no other starts before its end is seen. */
	core->events = now;
	cnnacc_ctx_signal_events(core->job->ctx, core->index,
				 min_t(u32, count, CNNACC_EVENTS_AT_ONCE));
	if (core->job->flags & DRM_CNNACC_JOB_EVENT_WAIT)
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
	struct cnnacc_job *job = core->job;

	return job && job->kicked && record->seq == ++core->seq &&
	       record->fence == job->first_fence + job->done &&
	       record->ctx_id == job->ctx->hw_id &&
	       record->status_class <= CNNACC_STATUS_ABORTED;
}

/*
 * Takes in completion records before @tail up to the end of a job, which becomes the caller's.
 * Returns that job, or NULL if there is none.
 */
static struct cnnacc_job *cnnacc_core_take_done(struct cnnacc_core *core, u32 tail,
						struct cnnacc_completion *record)
{
	struct cnnacc_job *job = NULL;

	if (tail >= CNNACC_RING_ENTRIES)
		core->broken = true;
	while (!job && !core->broken && core->head != tail) {
		cnnacc_core_read_record(core, record);
		if (!cnnacc_core_record_fits(core, record)) {
			core->broken = true;
			break;
		}
		job = core->job;
		job->done++;
		job->cycles += record->cycles;
		if (record->end_ns > record->start_ns)
			job->runtime_ns += record->end_ns - record->start_ns;
		if (record->status_class == CNNACC_STATUS_OK && job->done < job->task_count)
			job = NULL;
	}
	if (core->broken)
		return NULL;
	cnnacc_queue_write(core, CNNACC_QREG_COMPL_HEAD, core->head);
	if (job)
		core->job = NULL;
	return job;
}

/**
 * cnnacc_core_process() - Look at what a core has done
 * @core: core
 *
 * Events are counted and a finished job is ended.  If the queue halted or the
 * device answered nonsense, a reset of the core is queued.
 */
void cnnacc_core_process(struct cnnacc_core *core)
{
	enum cnnacc_end end = CNNACC_END_DONE;
	struct cnnacc_job *job = NULL;
	struct cnnacc_completion record;
	bool halted = false;
	u32 tail;

	spin_lock(&core->lock);
	if (core->enabled) {
		/* In this order no event of a job is counted after its end. */
		tail = cnnacc_queue_read(core, CNNACC_QREG_COMPL_TAIL);
		cnnacc_core_count_events(core);
		job = cnnacc_core_take_done(core, tail, &record);
		if (job && record.status_class != CNNACC_STATUS_OK) {
			halted = true;
			end = CNNACC_END_FAILED;
			if (record.status_class == CNNACC_STATUS_ABORTED)
				end = core->aborting ? CNNACC_END_HANG : CNNACC_END_LOST;
		}
		if (halted || core->broken) {
			core->enabled = false;
			core->ready = false;
			queue_work(core->cdev->reset_wq, &core->reset_work);
		}
	}
	spin_unlock(&core->lock);

	if (job)
		cnnacc_job_end(job, end, &record);
}

/* Runs on the reset workqueue, as all that touches a queue which is not ready. */
static void cnnacc_core_recover(struct cnnacc_core *core)
{
	struct cnnacc_job *job = NULL;
	bool back = false;

	spin_lock(&core->lock);
	if (core->ready) {
		spin_unlock(&core->lock);
		return;
	}
	core->enabled = false;
	if (core->job && core->job->kicked) {
		job = core->job;
		core->job = NULL;
	}
	spin_unlock(&core->lock);

	if (!READ_ONCE(core->cdev->wedged)) {
		back = !cnnacc_core_hw_reset(core) && !cnnacc_core_enable(core);
		if (!back)
			cnnacc_device_reset(core->cdev);
	}
	/* Its memory is others' from here on: the core had to let go of it first. */
	if (job)
		cnnacc_job_end(job, CNNACC_END_HANG, NULL);
	if (back) {
		/* They may be what was lost. */
		cnnacc_irq_enable(core->cdev);
		cnnacc_core_resume(core);
	}
}

static void cnnacc_core_reset_work(struct work_struct *work)
{
	struct cnnacc_core *core = container_of(work, struct cnnacc_core, reset_work);
	int idx;

	if (!drm_dev_enter(&core->cdev->drm, &idx))
		return;
	cnnacc_core_recover(core);
	drm_dev_exit(idx);
}

/**
 * cnnacc_core_break() - Give up the running job and reset the core
 * @core: core
 */
void cnnacc_core_break(struct cnnacc_core *core)
{
	spin_lock(&core->lock);
	core->broken = true;
	core->enabled = false;
	core->ready = false;
	spin_unlock(&core->lock);
	queue_work(core->cdev->reset_wq, &core->reset_work);
}

/**
 * cnnacc_core_hung() - Does the core's job stand still?
 * @core: core
 * @job: job that has run for a watchdog period
 *
 * Return: true if nothing moved since this was last asked or the job was kicked
 */
bool cnnacc_core_hung(struct cnnacc_core *core, struct cnnacc_job *job)
{
	bool hung = false;
	u32 progress;

	/* A lost interrupt is no hang. */
	cnnacc_core_process(core);

	spin_lock(&core->lock);
	if (core->job == job && job->kicked) {
		progress = cnnacc_queue_read(core, CNNACC_QREG_PROGRESS);
		hung = progress == core->progress;
		core->progress = progress;
	}
	spin_unlock(&core->lock);
	return hung;
}

static bool cnnacc_core_abort(struct cnnacc_core *core, struct cnnacc_job *job)
{
	bool ended;

	cnnacc_core_process(core);
	spin_lock(&core->lock);
	ended = core->job != job;
	spin_unlock(&core->lock);
	return ended;
}

/**
 * cnnacc_core_kill() - End a job that hangs
 * @core: core
 * @job: job
 *
 * Aborts it, which tells where it stood, and resets the core.  Runs on
 * &cnnacc_device.reset_wq only.
 */
void cnnacc_core_kill(struct cnnacc_core *core, struct cnnacc_job *job)
{
	bool ended;

	drm_warn(&core->cdev->drm, "%s: job %llu of context %u hangs\n", core->name,
		 job->seqno, job->ctx->hw_id);
	spin_lock(&core->lock);
	core->aborting = true;
	core->ready = false;
	cnnacc_queue_write(core, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	spin_unlock(&core->lock);
	read_poll_timeout(cnnacc_core_abort, ended, ended, 1000, CNNACC_ABORT_TIMEOUT_US,
			  false, core, job);
	cnnacc_core_recover(core);
}

/**
 * cnnacc_core_cancel() - End the job of a core that a device reset has stopped
 * @core: core, disabled
 * @end: CNNACC_END_LOST, or CNNACC_END_GONE if no job will run again
 *
 * A restartable job is kept and will be kicked again, unless the device is gone.
 */
void cnnacc_core_cancel(struct cnnacc_core *core, enum cnnacc_end end)
{
	struct cnnacc_job *job;

	spin_lock(&core->lock);
	job = core->job;
	if (job && end == CNNACC_END_LOST) {
		if (job->flags & DRM_CNNACC_JOB_RESTARTABLE)
			job->kicked = false;
		if (!job->kicked)
			job = NULL;
	}
	if (job)
		core->job = NULL;
	spin_unlock(&core->lock);

	if (job)
		cnnacc_job_end(job, end, NULL);
}

static int cnnacc_core_discover(struct cnnacc_core *core)
{
	struct cnnacc_device *cdev = core->cdev;
	struct drm_cnnacc_core_info *info = &core->info;
	u64 entry = cnnacc_read(cdev, CNNACC_REG_CORE_TABLE) +
		    (u64)core->index * CNNACC_CORE_ENTRY_SIZE;
	u32 words[CNNACC_CORE_ENTRY_SIZE / 4];
	unsigned int i;

	if (entry % 4 || entry > CNNACC_REGS_SIZE - CNNACC_CORE_ENTRY_SIZE)
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = cnnacc_read(cdev, entry + i * 4);

	info->type = words[0];
	info->version = words[1];
	info->window_offset = words[2];
	info->window_size = words[3];
	info->queue_offset = words[4];
	info->program_max = words[5];
	info->job_cycles_max = words[6] | (u64)words[7] << 32;
	memcpy(info->param, &words[8], sizeof(info->param));

	if (info->queue_offset % 4 ||
	    info->queue_offset > CNNACC_REGS_SIZE - CNNACC_QREG_BLOCK_SIZE ||
	    info->window_size > CNNACC_REGS_SIZE ||
	    info->window_offset > CNNACC_REGS_SIZE - info->window_size ||
	    info->program_max < 4 || !info->job_cycles_max || info->job_cycles_max > S64_MAX)
		return -ENODEV;

	snprintf(core->name, sizeof(core->name), "%s.%u",
		 info->type < ARRAY_SIZE(cnnacc_core_types) ?
		 cnnacc_core_types[info->type] : "unknown", core->index);
	return 0;
}

static int cnnacc_core_alloc_rings(struct cnnacc_core *core)
{
	struct device *dev = core->cdev->drm.dev;

	core->ring = dma_alloc_coherent(dev, CNNACC_RING_ENTRIES * sizeof(*core->ring),
					&core->ring_dma, GFP_KERNEL);
	core->records = dma_alloc_coherent(dev, CNNACC_RING_ENTRIES * sizeof(*core->records),
					   &core->records_dma, GFP_KERNEL);
	return core->ring && core->records ? 0 : -ENOMEM;
}

static void cnnacc_core_free_rings(struct cnnacc_core *core)
{
	struct device *dev = core->cdev->drm.dev;

	if (core->ring)
		dma_free_coherent(dev, CNNACC_RING_ENTRIES * sizeof(*core->ring),
				  core->ring, core->ring_dma);
	if (core->records)
		dma_free_coherent(dev, CNNACC_RING_ENTRIES * sizeof(*core->records),
				  core->records, core->records_dma);
}

/**
 * cnnacc_core_release() - Free a core when nothing points to it any more
 * @ref: its reference count
 */
void cnnacc_core_release(struct kref *ref)
{
	kfree(container_of(ref, struct cnnacc_core, ref));
}

/**
 * cnnacc_core_create() - Discover a core and give it rings and a scheduler
 * @cdev: device
 * @index: core index
 *
 * Return: the core, its queue not yet enabled, or an error pointer
 */
struct cnnacc_core *cnnacc_core_create(struct cnnacc_device *cdev, unsigned int index)
{
	struct device *dev = cdev->drm.dev;
	struct cnnacc_core *core;
	int ret;

	core = kzalloc(sizeof(*core), GFP_KERNEL);
	if (!core)
		return ERR_PTR(-ENOMEM);
	kref_init(&core->ref);
	core->cdev = cdev;
	core->index = index;
	core->fence_context = dma_fence_context_alloc(1);
	core->next_fence = 1;
	spin_lock_init(&core->fence_lock);
	spin_lock_init(&core->lock);
	INIT_WORK(&core->reset_work, cnnacc_core_reset_work);

	ret = cnnacc_core_discover(core);
	if (ret)
		dev_err_probe(dev, ret, "core %u: bad discovery entry\n", index);
	if (!ret)
		ret = cnnacc_core_alloc_rings(core);
	if (!ret)
		ret = cnnacc_sched_init(core);
	if (ret) {
		cnnacc_core_free_rings(core);
		kref_put(&core->ref, cnnacc_core_release);
		return ERR_PTR(ret);
	}
	return core;
}

/**
 * cnnacc_core_destroy() - Take a core's scheduler and rings away
 * @core: core without jobs, which the device does not touch any more
 */
void cnnacc_core_destroy(struct cnnacc_core *core)
{
	cnnacc_sched_fini(core);
	cnnacc_core_free_rings(core);
	kref_put(&core->ref, cnnacc_core_release);
}
