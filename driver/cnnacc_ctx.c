// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/eventfd.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_trace.h"
#include "cnnacc_uobj.h"

/**
 * DOC: context
 *
 * cnnacc_ctx_kill() makes a context reject new jobs; it does not wait for the others.  It takes
 * those that have not started from the scheduler, which frees each when the fences that it depends
 * on are signalled and those ahead of it have ended: without a turn on the core, so that they need
 * not wait for other contexts.  The last job to go drops the last reference, and a work item then
 * frees the context.  No thread ever waits for jobs.
 */

static void cnnacc_ctx_free_work(struct work_struct *work)
{
	struct cnnacc_ctx *ctx = container_of(work, struct cnnacc_ctx, free_work);
	struct cnnacc_device *cdev = ctx->cdev;
	unsigned int i;

	scoped_guard(mutex, &cdev->ctx_lock)
		list_del(&ctx->link);
	for (i = 0; i < cdev->core_count; i++)
		dma_fence_put(ctx->queues[i].last);
	for (i = 0; i < CNNACC_MAX_CORES; i++)
		if (ctx->events[i])
			eventfd_ctx_put(ctx->events[i]);
	cnnacc_file_uncharge(ctx->file, CNNACC_QUOTA_CONTEXTS);
	cnnacc_vm_put(ctx->vm);
	mutex_destroy(&ctx->submit_lock);
	/* The signal of a dependency may still be waking an entity's scheduler. */
	kfree_rcu_mightsleep(ctx);
}

static void cnnacc_ctx_last_put(struct kref *ref)
{
	struct cnnacc_ctx *ctx = container_of(ref, struct cnnacc_ctx, ref);

	queue_work(ctx->cdev->free_wq, &ctx->free_work);
}

/* Drops a reference, if @ctx is not NULL; does not sleep. */
void cnnacc_ctx_put(struct cnnacc_ctx *ctx)
{
	if (ctx)
		kref_put(&ctx->ref, cnnacc_ctx_last_put);
}

/* Looks up a context of a file by its id; returns it with a reference, or NULL. */
struct cnnacc_ctx *cnnacc_ctx_get(struct drm_file *file, u32 id)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct cnnacc_ctx *ctx;

	xa_lock(&cfile->contexts);
	ctx = xa_load(&cfile->contexts, id);
	if (ctx)
		kref_get(&ctx->ref);
	xa_unlock(&cfile->contexts);
	return ctx;
}

/* Counts a job, which the context must outlive. */
void cnnacc_ctx_add_job(struct cnnacc_ctx *ctx)
{
	kref_get(&ctx->ref);
	atomic_inc(&ctx->cdev->job_count);
}

/* Takes a job that is freed off the count; the context may be freed once this returns. */
void cnnacc_ctx_remove_job(struct cnnacc_ctx *ctx)
{
	struct cnnacc_device *cdev = ctx->cdev;

	cnnacc_ctx_put(ctx);
	/* cnnacc_device_stop() waits for the section: the device is freed after it. */
	scoped_guard(rcu)
		if (atomic_dec_and_test(&cdev->job_count))
			wake_up(&cdev->idle);
}

static void cnnacc_ctx_stop(struct cnnacc_ctx *ctx)
{
	unsigned int i;

	guard(mutex)(&ctx->submit_lock);
	if (ctx->dead)
		return;
	WRITE_ONCE(ctx->dead, true);
	for (i = 0; i < ctx->cdev->core_count; i++)
		cnnacc_sched_remove(ctx, ctx->cdev->cores[i]);
	/* SUBMITs that wait for room give up. */
	wake_up_all(&ctx->file->room);
}

/*
 * Destroys a context whose id is gone; the caller gives its reference away.  Jobs that have not
 * started are canceled, in order, when the one before them has ended.
 */
void cnnacc_ctx_kill(struct cnnacc_ctx *ctx)
{
	cnnacc_ctx_stop(ctx);
	cnnacc_ctx_put(ctx);
}

/*
 * Stops all contexts of a device that is unplugged and stopped.  Those whose file is open are freed
 * when it is closed.
 */
void cnnacc_ctx_kill_all(struct cnnacc_device *cdev)
{
	struct cnnacc_ctx *ctx;

	guard(mutex)(&cdev->ctx_lock);
	list_for_each_entry(ctx, &cdev->contexts, link)
		cnnacc_ctx_stop(ctx);
}

/* A context bans itself alone, unless its file has more that fail. */
static void cnnacc_ctx_count_failure(struct cnnacc_ctx *ctx)
{
	lockdep_assert_held(&ctx->status_lock);
	if (!READ_ONCE(ctx->cdev->ban))
		return;
	if (++ctx->failures >= CNNACC_CTX_FAILURES)
		WRITE_ONCE(ctx->banned, true);
	if (atomic_inc_return(&ctx->file->failures) >= CNNACC_FILE_FAILURES)
		WRITE_ONCE(ctx->file->banned, true);
}

static bool cnnacc_ctx_banned(const struct cnnacc_ctx *ctx)
{
	return READ_ONCE(ctx->banned) || READ_ONCE(ctx->file->banned);
}

/**
 * cnnacc_ctx_state() - Check whether a context may run jobs
 * @ctx: context
 *
 * Return: 0, -ENODEV if the device is unplugged, -ENOENT if the context is destroyed, or -EIO if it
 * or its file is banned
 */
int cnnacc_ctx_state(const struct cnnacc_ctx *ctx)
{
	if (drm_dev_is_unplugged(&ctx->cdev->drm))
		return -ENODEV;
	if (READ_ONCE(ctx->dead))
		return -ENOENT;
	return cnnacc_ctx_banned(ctx) ? -EIO : 0;
}

/* Records that a job has succeeded. */
void cnnacc_ctx_job_done(struct cnnacc_ctx *ctx)
{
	if (READ_ONCE(ctx->failures)) {
		scoped_guard(spinlock_irqsave, &ctx->status_lock)
			ctx->failures = 0;
	}
	if (atomic_read(&ctx->file->failures))
		atomic_set(&ctx->file->failures, 0);
}

static bool cnnacc_ctx_fits(const struct cnnacc_ctx *ctx, u32 jobs, u64 cycles)
{
	lockdep_assert_held(&ctx->file->queue_lock);
	/* A context without jobs may queue any SUBMIT. */
	return ctx->file->jobs + jobs <= CNNACC_MAX_QUEUED_JOBS &&
	       (!ctx->queued || ctx->queued + cycles <= ctx->cdev->max_queued_cycles);
}

static bool cnnacc_ctx_try_reserve(struct cnnacc_ctx *ctx, u32 jobs, u64 cycles)
{
	bool fits;

	scoped_guard(spinlock, &ctx->file->queue_lock) {
		fits = cnnacc_ctx_fits(ctx, jobs, cycles);
		ctx->refused_jobs = fits ? 0 : jobs;
		ctx->refused_cycles = cycles;
		if (fits) {
			ctx->file->jobs += jobs;
			ctx->queued += cycles;
		}
	}
	return fits;
}

/**
 * cnnacc_ctx_reserve() - Reserve room for the jobs of a SUBMIT
 * @ctx: context
 * @jobs: number of jobs
 * @cycles: sum of their cycle limits
 * @wait: wait for room
 *
 * Return: 0, -EAGAIN if there is no room, -ERESTARTSYS, or an error of cnnacc_ctx_state()
 */
int cnnacc_ctx_reserve(struct cnnacc_ctx *ctx, u32 jobs, u64 cycles, bool wait)
{
	bool room = cnnacc_ctx_try_reserve(ctx, jobs, cycles);
	int ret = 0;

	if (!room && wait)
		ret = wait_event_interruptible(ctx->file->room,
					       (room = cnnacc_ctx_try_reserve(ctx, jobs, cycles)) ||
					       cnnacc_ctx_state(ctx));
	if (room || ret)
		return room ? 0 : ret;
	return cnnacc_ctx_state(ctx) ?: -EAGAIN;
}

/* Gives back the room of jobs, and the sum of their cycle limits. */
void cnnacc_ctx_release(struct cnnacc_ctx *ctx, u32 jobs, u64 cycles)
{
	scoped_guard(spinlock, &ctx->file->queue_lock) {
		ctx->file->jobs -= jobs;
		ctx->queued -= cycles;
	}
	if (wq_has_sleeper(&ctx->file->room))
		wake_up_poll(&ctx->file->room, EPOLLOUT | EPOLLWRNORM);
}

/*
 * Is there room for the last SUBMIT if it was refused?  Also true if it would fail for another
 * reason.
 */
bool cnnacc_ctx_has_room(struct cnnacc_ctx *ctx)
{
	bool room;

	scoped_guard(spinlock, &ctx->file->queue_lock)
		room = !ctx->refused_jobs || cnnacc_ctx_state(ctx) ||
		       cnnacc_ctx_fits(ctx, ctx->refused_jobs, ctx->refused_cycles);
	return room;
}

/**
 * cnnacc_ctx_job_failed() - Record a job that failed or hung in the context's status
 * @ctx: context
 * @job: the job
 * @state: DRM_CNNACC_CTX_*
 * @record: completion record, or NULL
 */
void cnnacc_ctx_job_failed(struct cnnacc_ctx *ctx, struct cnnacc_job *job, u32 state,
			   const struct cnnacc_completion *record)
{
	static const struct cnnacc_completion none;
	struct drm_cnnacc_ctx_query *status = &ctx->status;
	bool hang = state == DRM_CNNACC_CTX_HANG;
	unsigned long flags;

	if (!record)
		record = &none;
	spin_lock_irqsave(&ctx->status_lock, flags);
	status->state |= state;
	status->failed_jobs++;
	cnnacc_ctx_count_failure(ctx);
	status->seqno = job->seqno;
	status->core = job->core->index;
	/* A record counts the task it is about as done. */
	status->task = job->tasks_done - (record != &none);
	status->status_class = hang ? 0 : le16_to_cpu(record->status_class);
	status->status_code = hang ? 0 : le16_to_cpu(record->status_code);
	status->detail = le32_to_cpu(record->detail);
	status->pc = le32_to_cpu(record->pc);
	status->access = le32_to_cpu(record->access);
	status->fault_va = le64_to_cpu(record->fault_va);
	trace_cnnacc_fault(job, status);
	spin_unlock_irqrestore(&ctx->status_lock, flags);
}

/* Records that a reset ended a job that did not cause it. */
void cnnacc_ctx_job_innocent(struct cnnacc_ctx *ctx)
{
	scoped_guard(spinlock_irqsave, &ctx->status_lock) {
		ctx->status.state |= DRM_CNNACC_CTX_INNOCENT_RESET;
		ctx->status.reset_jobs++;
	}
}

/* Signals the eventfd of a core, if the context has one. */
void cnnacc_ctx_signal_events(struct cnnacc_ctx *ctx, unsigned int core, u32 count)
{
	scoped_guard(spinlock_irqsave, &ctx->event_lock)
		while (ctx->events[core] && count--)
			eventfd_signal(ctx->events[core]);
}

static const enum drm_sched_priority cnnacc_priorities[] = {
	[DRM_CNNACC_PRIORITY_LOW] = DRM_SCHED_PRIORITY_LOW,
	[DRM_CNNACC_PRIORITY_NORMAL] = DRM_SCHED_PRIORITY_NORMAL,
	[DRM_CNNACC_PRIORITY_HIGH] = DRM_SCHED_PRIORITY_HIGH,
};

static int cnnacc_ctx_init_queues(struct cnnacc_ctx *ctx)
{
	struct drm_gpu_scheduler *sched;
	unsigned int i;
	int ret;

	for (i = 0; i < ctx->cdev->core_count; i++) {
		sched = &ctx->cdev->cores[i]->sched;
		INIT_LIST_HEAD(&ctx->queues[i].waiting);
		INIT_LIST_HEAD(&ctx->queues[i].pushed);
		ret = drm_sched_entity_init(&ctx->queues[i].entity,
					    cnnacc_priorities[ctx->priority], &sched, 1, NULL);
		if (ret) {
			while (i--)
				drm_sched_entity_fini(&ctx->queues[i].entity);
			return ret;
		}
	}
	return 0;
}

static struct cnnacc_ctx *cnnacc_ctx_alloc(struct cnnacc_vm *vm, u32 priority)
{
	struct cnnacc_ctx *ctx = kzalloc(struct_size(ctx, queues, vm->cdev->core_count),
					 GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	kref_init(&ctx->ref);
	ctx->cdev = vm->cdev;
	ctx->file = vm->file;
	ctx->vm = vm;
	ctx->priority = priority;
	mutex_init(&ctx->submit_lock);
	spin_lock_init(&ctx->job_lock);
	spin_lock_init(&ctx->status_lock);
	spin_lock_init(&ctx->event_lock);
	ctx->fence_context = dma_fence_context_alloc(CNNACC_MAX_CORES);
	ctx->pid = task_tgid_nr(current);
	get_task_comm(ctx->comm, current);
	INIT_WORK(&ctx->free_work, cnnacc_ctx_free_work);
	return ctx;
}

/* Links the context in the section, so that cnnacc_ctx_kill_all() sees it. */
static int cnnacc_ctx_start(struct cnnacc_ctx *ctx)
{
	int ret;

	CLASS(cnnacc_section, section)(&ctx->cdev->drm);
	if (section < 0)
		return -ENODEV;
	ret = cnnacc_ctx_init_queues(ctx);
	if (ret)
		return ret;
	guard(mutex)(&ctx->cdev->ctx_lock);
	list_add_tail(&ctx->link, &ctx->cdev->contexts);
	return 0;
}

static struct cnnacc_ctx *cnnacc_ctx_create(struct cnnacc_vm *vm, u32 priority)
{
	struct cnnacc_ctx *ctx;
	int ret;

	ret = cnnacc_file_charge(vm->file, CNNACC_QUOTA_CONTEXTS);
	if (ret)
		return ERR_PTR(ret);
	ctx = cnnacc_ctx_alloc(vm, priority);
	ret = ctx ? cnnacc_ctx_start(ctx) : -ENOMEM;
	if (ret) {
		kfree(ctx);
		cnnacc_file_uncharge(vm->file, CNNACC_QUOTA_CONTEXTS);
		return ERR_PTR(ret);
	}
	kref_get(&vm->ref);
	return ctx;
}

int cnnacc_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct drm_cnnacc_ctx_create *args = data;
	struct cnnacc_vm *vm __free(cnnacc_vm) = NULL;
	struct cnnacc_ctx *ctx;
	u32 priority;
	int ret;

	if (cnnacc_refuses(drm, args->flags) ||
	    cnnacc_refuses(drm, args->priority >= ARRAY_SIZE(cnnacc_priorities)))
		return -EINVAL;
	if (args->priority == DRM_CNNACC_PRIORITY_HIGH && !capable(CAP_SYS_NICE))
		return -EACCES;
	if (READ_ONCE(cfile->banned))
		return -EIO;
	vm = cnnacc_vm_get(file, args->vm_id);
	if (!vm)
		return -ENOENT;
	priority = array_index_nospec(args->priority, ARRAY_SIZE(cnnacc_priorities));
	ctx = cnnacc_ctx_create(vm, priority);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	ret = xa_alloc(&cfile->contexts, &args->ctx_id, ctx, XA_LIMIT(1, CNNACC_FILE_QUOTA),
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		cnnacc_ctx_kill(ctx);
	return ret;
}

int cnnacc_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct drm_cnnacc_ctx_destroy *args = data;
	struct cnnacc_ctx *ctx;

	if (cnnacc_refuses(drm, args->pad))
		return -EINVAL;
	ctx = xa_erase(&cfile->contexts, args->ctx_id);
	if (!ctx)
		return -ENOENT;
	cnnacc_ctx_kill(ctx);
	return 0;
}

int cnnacc_ctx_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_ctx *ctx __free(cnnacc_ctx) = NULL;
	struct drm_cnnacc_ctx_query *args = data;
	u32 id = args->ctx_id;

	if (cnnacc_refuses(drm, args->pad[0] || args->pad[1]))
		return -EINVAL;
	ctx = cnnacc_ctx_get(file, id);
	if (!ctx)
		return -ENOENT;
	scoped_guard(spinlock_irq, &ctx->status_lock) {
		*args = ctx->status;
	}
	if (cnnacc_ctx_banned(ctx))
		args->state |= DRM_CNNACC_CTX_BANNED;
	args->ctx_id = id;
	return 0;
}

int cnnacc_eventfd_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_ctx *ctx __free(cnnacc_ctx) = NULL;
	struct cnnacc_device *cdev = to_cnnacc_device(drm);
	struct drm_cnnacc_eventfd *args = data;
	struct eventfd_ctx *event = NULL;
	int core;

	if (cnnacc_refuses(drm, args->flags & ~DRM_CNNACC_EVENTFD_REMOVE) ||
	    cnnacc_refuses(drm, args->core >= cdev->core_count))
		return -EINVAL;
	core = array_index_nospec(args->core, cdev->core_count);
	ctx = cnnacc_ctx_get(file, args->ctx_id);
	if (!ctx)
		return -ENOENT;
	if (!(args->flags & DRM_CNNACC_EVENTFD_REMOVE)) {
		event = eventfd_ctx_fdget(args->fd);
		if (IS_ERR(event))
			return PTR_ERR(event);
	}
	scoped_guard(spinlock_irq, &ctx->event_lock)
		swap(ctx->events[core], event);
	if (event)
		eventfd_ctx_put(event);
	/* Its jobs may run already. */
	CLASS(cnnacc_section, section)(drm);
	if (section >= 0)
		cnnacc_core_listen(cdev->cores[core]);
	return 0;
}
