// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/eventfd.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"
#include "cnnacc_trace.h"
#include "cnnacc_uobj.h"

/**
 * DOC: context
 *
 * A context is destroyed in two steps.  cnnacc_ctx_kill() does not wait: it makes the context
 * reject new jobs and signals the dependencies of its queued jobs early, so that they pass through
 * the scheduler at once and are canceled.  A work item then waits for the running job, frees the
 * address space, and only then the hardware id.
 */

/**
 * cnnacc_file_create() - Allocate the state of an open file
 *
 * Return: the state or NULL
 */
struct cnnacc_file *cnnacc_file_create(void)
{
	struct cnnacc_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	kref_init(&file->ref);
	xa_init_flags(&file->contexts, XA_FLAGS_ALLOC1);
	return file;
}

static void cnnacc_file_release(struct kref *ref)
{
	kfree(container_of(ref, struct cnnacc_file, ref));
}

static void cnnacc_ctx_release(struct kref *ref)
{
	struct cnnacc_ctx *ctx = container_of(ref, struct cnnacc_ctx, ref);
	unsigned int i;

	for (i = 0; i < CNNACC_MAX_CORES; i++)
		if (ctx->events[i])
			eventfd_ctx_put(ctx->events[i]);
	drm_gem_object_put(ctx->resv);
	kref_put(&ctx->file->ref, cnnacc_file_release);
	mutex_destroy(&ctx->submit_lock);
	kvfree(ctx);
}

/**
 * cnnacc_ctx_put() - Drop a reference
 * @ctx: context
 */
void cnnacc_ctx_put(struct cnnacc_ctx *ctx)
{
	kref_put(&ctx->ref, cnnacc_ctx_release);
}

/**
 * cnnacc_ctx_get() - Look up a context
 * @file: DRM file
 * @id: id of the context in that file
 *
 * Return: the context, referenced, or NULL
 */
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

/**
 * cnnacc_ctx_add_batch() - Add a batch, which the context must outlive
 * @ctx: context
 * @batch: batch
 */
void cnnacc_ctx_add_batch(struct cnnacc_ctx *ctx, struct cnnacc_batch *batch)
{
	atomic_inc(&ctx->cdev->batch_count);
	scoped_guard(spinlock, &ctx->job_lock)
		list_add_tail(&batch->link, &ctx->batches);
}

/**
 * cnnacc_ctx_remove_batch() - Remove a batch that is about to be freed
 * @ctx: context, which may be freed once this returns
 * @batch: batch
 */
void cnnacc_ctx_remove_batch(struct cnnacc_ctx *ctx, struct cnnacc_batch *batch)
{
	struct cnnacc_device *cdev = ctx->cdev;

	scoped_guard(spinlock, &ctx->job_lock) {
		list_del(&batch->link);
		if (list_empty(&ctx->batches))
			wake_up(&ctx->idle);
	}
	if (atomic_dec_and_test(&cdev->batch_count))
		wake_up(&cdev->idle);
}

static bool cnnacc_ctx_idle(struct cnnacc_ctx *ctx)
{
	bool idle;

	spin_lock(&ctx->job_lock);
	idle = list_empty(&ctx->batches);
	spin_unlock(&ctx->job_lock);
	return idle;
}

static void cnnacc_ctx_fini_entities(struct cnnacc_ctx *ctx, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		drm_sched_entity_destroy(&ctx->entities[i]);
}

/* The queued jobs have been canceled, so the waits last no longer than one batch. */
static void cnnacc_ctx_destroy_work(struct work_struct *work)
{
	struct cnnacc_ctx *ctx = container_of(work, struct cnnacc_ctx, destroy_work);
	struct cnnacc_device *cdev = ctx->cdev;
	unsigned int i;

	cnnacc_ctx_fini_entities(ctx, cdev->core_count);
	/* TASK_IDLE: a job may take longer than the hung-task timeout. */
	wait_event_idle(ctx->idle, cnnacc_ctx_idle(ctx));
	for (i = 0; i < cdev->core_count; i++)
		cnnacc_stats_drop_owner(cdev->cores[i], ctx);
	cnnacc_vm_fini(ctx);
	ida_free(&cdev->ctx_ids, ctx->hw_id);

	scoped_guard(mutex, &cdev->ctx_lock)
		list_del(&ctx->link);
	cnnacc_ctx_put(ctx);
}

/*
 * Signals the dependencies of all queued jobs.  The context is dead, so no batch is added while the
 * lock is dropped.
 */
static void cnnacc_ctx_release_jobs(struct cnnacc_ctx *ctx)
{
	struct cnnacc_batch *batch;
	LIST_HEAD(shut);

	spin_lock(&ctx->job_lock);
	list_splice_init(&ctx->batches, &shut);
	while (!list_empty(&shut)) {
		batch = list_first_entry(&shut, struct cnnacc_batch, link);
		list_move_tail(&batch->link, &ctx->batches);
		if (batch->deps)
			cnnacc_deps_force_signal(batch->deps);
		cond_resched_lock(&ctx->job_lock);
	}
	spin_unlock(&ctx->job_lock);
}

static void cnnacc_ctx_kill(struct cnnacc_ctx *ctx)
{
	/* Under the lock, so that the work is queued whenever @dead is set. */
	guard(mutex)(&ctx->submit_lock);
	if (ctx->dead)
		return;
	WRITE_ONCE(ctx->dead, true);
	cnnacc_ctx_release_jobs(ctx);
	kref_get(&ctx->ref);
	queue_work(ctx->cdev->ctx_wq, &ctx->destroy_work);
}

/**
 * cnnacc_ctx_kill_all() - Kill all contexts of a device that is being removed
 * @cdev: device, unplugged
 */
void cnnacc_ctx_kill_all(struct cnnacc_device *cdev)
{
	struct cnnacc_ctx *ctx;

	guard(mutex)(&cdev->ctx_lock);
	list_for_each_entry(ctx, &cdev->contexts, link)
		cnnacc_ctx_kill(ctx);
}

/**
 * cnnacc_file_close() - Kill the contexts of a file and release its state
 * @file: file
 */
void cnnacc_file_close(struct cnnacc_file *file)
{
	struct cnnacc_ctx *ctx;
	unsigned long id;

	/* The watchdog ends the running jobs. */
	WRITE_ONCE(file->closed, true);
	xa_for_each(&file->contexts, id, ctx) {
		cnnacc_ctx_kill(ctx);
		cnnacc_ctx_put(ctx);
	}
	xa_destroy(&file->contexts);
	kref_put(&file->ref, cnnacc_file_release);
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

/**
 * cnnacc_ctx_job_innocent() - Record that a reset ended a job that did not cause it
 * @ctx: context
 */
void cnnacc_ctx_job_innocent(struct cnnacc_ctx *ctx)
{
	scoped_guard(spinlock_irqsave, &ctx->status_lock) {
		ctx->status.state |= DRM_CNNACC_CTX_INNOCENT_RESET;
		ctx->status.reset_jobs++;
	}
}

/**
 * cnnacc_ctx_signal_events() - Signal the eventfd of a core, if there is one
 * @ctx: context whose job raised them
 * @core: core index
 * @count: number of events
 */
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

static int cnnacc_ctx_init_entities(struct cnnacc_ctx *ctx)
{
	struct drm_gpu_scheduler *sched;
	unsigned int i;
	int ret;

	for (i = 0; i < ctx->cdev->core_count; i++) {
		sched = &ctx->cdev->cores[i]->sched;
		ret = drm_sched_entity_init(&ctx->entities[i], cnnacc_priorities[ctx->priority],
					    &sched, 1, NULL);
		if (ret) {
			cnnacc_ctx_fini_entities(ctx, i);
			return ret;
		}
	}
	return 0;
}

static struct cnnacc_ctx *cnnacc_ctx_alloc(struct cnnacc_device *cdev, struct cnnacc_file *file,
					   u32 priority)
{
	struct cnnacc_ctx *ctx = kvzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	ctx->resv = cnnacc_gem_create_resv(&cdev->drm);
	if (!ctx->resv) {
		kvfree(ctx);
		return NULL;
	}
	kref_init(&ctx->ref);
	ctx->cdev = cdev;
	kref_get(&file->ref);
	ctx->file = file;
	ctx->priority = priority;
	mutex_init(&ctx->submit_lock);
	spin_lock_init(&ctx->job_lock);
	spin_lock_init(&ctx->status_lock);
	spin_lock_init(&ctx->event_lock);
	INIT_LIST_HEAD(&ctx->batches);
	ctx->fence_context = dma_fence_context_alloc(CNNACC_MAX_CORES);
	ctx->pid = task_tgid_nr(current);
	get_task_comm(ctx->comm, current);
	init_waitqueue_head(&ctx->idle);
	INIT_WORK(&ctx->destroy_work, cnnacc_ctx_destroy_work);
	return ctx;
}

/* Called in a drm_dev_enter() section, so that cnnacc_ctx_kill_all() sees every context. */
static struct cnnacc_ctx *cnnacc_ctx_create(struct cnnacc_device *cdev,
					    struct cnnacc_file *file, u32 priority)
{
	struct cnnacc_ctx *ctx;
	int ret;

	ctx = cnnacc_ctx_alloc(cdev, file, priority);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ret = ida_alloc_max(&cdev->ctx_ids, CNNACC_CTX_IDS - 1, GFP_KERNEL);
	if (ret < 0)
		goto err;
	ctx->hw_id = ret;
	ret = cnnacc_ctx_init_entities(ctx);
	if (ret)
		goto err_id;
	/* Last, so that no error path needs cnnacc_vm_fini(), which may wait for an unplug. */
	ret = cnnacc_vm_init(ctx);
	if (ret)
		goto err_entities;
	scoped_guard(mutex, &cdev->ctx_lock)
		list_add_tail(&ctx->link, &cdev->contexts);
	return ctx;
err_entities:
	cnnacc_ctx_fini_entities(ctx, cdev->core_count);
err_id:
	ida_free(&cdev->ctx_ids, ctx->hw_id);
err:
	cnnacc_ctx_put(ctx);
	return ERR_PTR(ret);
}

/**
 * cnnacc_ctx_create_ioctl() - DRM_IOCTL_CNNACC_CTX_CREATE
 * @drm: DRM device
 * @data: struct drm_cnnacc_ctx_create
 * @file: DRM file
 *
 * Return: 0 or a negative error code
 */
int cnnacc_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct drm_cnnacc_ctx_create *args = data;
	struct cnnacc_ctx *ctx;
	int ret, idx;

	if (cnnacc_refuses(drm, args->flags) || cnnacc_refuses(drm, args->pad) ||
	    cnnacc_refuses(drm, args->priority >= ARRAY_SIZE(cnnacc_priorities)))
		return -EINVAL;
	if (args->priority == DRM_CNNACC_PRIORITY_HIGH && !capable(CAP_SYS_NICE))
		return -EACCES;

	/* Reserve an id, which enforces the limit; it loads as NULL until the context exists. */
	ret = xa_alloc(&cfile->contexts, &args->ctx_id, NULL,
		       XA_LIMIT(1, CNNACC_MAX_CONTEXTS), GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -ENOSPC : ret;

	if (!drm_dev_enter(drm, &idx)) {
		xa_erase(&cfile->contexts, args->ctx_id);
		return -ENODEV;
	}
	ctx = cnnacc_ctx_create(to_cnnacc_device(drm), cfile, args->priority);
	drm_dev_exit(idx);
	if (IS_ERR(ctx)) {
		xa_erase(&cfile->contexts, args->ctx_id);
		return PTR_ERR(ctx);
	}
	xa_store(&cfile->contexts, args->ctx_id, ctx, GFP_KERNEL_ACCOUNT);
	return 0;
}

/**
 * cnnacc_ctx_destroy_ioctl() - DRM_IOCTL_CNNACC_CTX_DESTROY
 * @drm: DRM device
 * @data: struct drm_cnnacc_ctx_destroy
 * @file: DRM file
 *
 * Return: 0 or a negative error code
 */
int cnnacc_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct drm_cnnacc_ctx_destroy *args = data;
	struct cnnacc_ctx *ctx;

	if (cnnacc_refuses(drm, args->pad))
		return -EINVAL;
	xa_lock(&cfile->contexts);
	/* A reserved id loads as NULL and must stay reserved. */
	ctx = xa_load(&cfile->contexts, args->ctx_id);
	if (ctx)
		__xa_erase(&cfile->contexts, args->ctx_id);
	xa_unlock(&cfile->contexts);
	if (!ctx)
		return -ENOENT;
	cnnacc_ctx_kill(ctx);
	cnnacc_ctx_put(ctx);
	return 0;
}

/**
 * cnnacc_ctx_query_ioctl() - DRM_IOCTL_CNNACC_CTX_QUERY
 * @drm: DRM device
 * @data: struct drm_cnnacc_ctx_query
 * @file: DRM file
 *
 * Return: 0 or a negative error code
 */
int cnnacc_ctx_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_cnnacc_ctx_query *args = data;
	u32 id = args->ctx_id;
	struct cnnacc_ctx *ctx;

	if (cnnacc_refuses(drm, args->pad[0] || args->pad[1]))
		return -EINVAL;
	ctx = cnnacc_ctx_get(file, id);
	if (!ctx)
		return -ENOENT;
	spin_lock_irq(&ctx->status_lock);
	*args = ctx->status;
	spin_unlock_irq(&ctx->status_lock);
	args->ctx_id = id;
	cnnacc_ctx_put(ctx);
	return 0;
}

/**
 * cnnacc_eventfd_ioctl() - DRM_IOCTL_CNNACC_EVENTFD
 * @drm: DRM device
 * @data: struct drm_cnnacc_eventfd
 * @file: DRM file
 *
 * Return: 0 or a negative error code
 */
int cnnacc_eventfd_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	unsigned int core_count = to_cnnacc_device(drm)->core_count;
	struct drm_cnnacc_eventfd *args = data;
	struct eventfd_ctx *event = NULL;
	struct cnnacc_ctx *ctx;

	if (cnnacc_refuses(drm, args->flags & ~DRM_CNNACC_EVENTFD_REMOVE) ||
	    cnnacc_refuses(drm, args->core >= core_count))
		return -EINVAL;
	if (!(args->flags & DRM_CNNACC_EVENTFD_REMOVE)) {
		event = eventfd_ctx_fdget(args->fd);
		if (IS_ERR(event))
			return PTR_ERR(event);
	}
	ctx = cnnacc_ctx_get(file, args->ctx_id);
	if (ctx) {
		scoped_guard(spinlock_irq, &ctx->event_lock)
			swap(ctx->events[array_index_nospec(args->core, core_count)], event);
		cnnacc_ctx_put(ctx);
	}
	if (event)
		eventfd_ctx_put(event);
	return ctx ? 0 : -ENOENT;
}
