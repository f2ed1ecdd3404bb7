// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_syncobj.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"
#include "cnnacc_job.h"
#include "cnnacc_pm.h"
#include "cnnacc_trace.h"
#include "cnnacc_uobj.h"

/**
 * DOC: submit
 *
 * A SUBMIT is all or nothing, so it has two halves.  The first builds jobs, finds the
 * fences they wait for, allocates whatever signalling needs and locks the reservations;
 * it may fail anywhere.  The second, cnnacc_submit_push(), arms the jobs and pushes
 * their batches in order and cannot fail.
 *
 * User memory is read before the submit lock is taken and written after it is released:
 * a page fault may last as long as a user likes.
 *
 * Jobs of one SUBMIT depend on one another by job index, kept in bit masks, since their
 * fences do not exist before the second half.
 */

/**
 * struct cnnacc_signal - syncobj that a job signals.
 * @syncobj: syncobj, held
 * @chain: preallocated node for a timeline point, else NULL
 * @point: timeline point, 0 for a binary syncobj
 * @job: job index
 */
struct cnnacc_signal {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
	u32 job;
};

/**
 * struct cnnacc_wait - fence from outside that a job waits for.
 * @fence: fence, held
 * @job: job index
 * @fatal: whether its error cancels the job
 */
struct cnnacc_wait {
	struct dma_fence *fence;
	u32 job;
	bool fatal;
};

/**
 * struct cnnacc_ref - shared buffer that a job uses.
 * @obj: buffer, held
 * @job: job index
 * @write: whether the job writes it
 */
struct cnnacc_ref {
	struct drm_gem_object *obj;
	u32 job;
	bool write;
};

/**
 * struct cnnacc_parts - arrays of a job, copied from user space.
 * @tasks: tasks
 * @syncs: syncs, NULL if none
 * @bos: shared buffers, NULL if none
 */
struct cnnacc_parts {
	struct drm_cnnacc_task *tasks;
	struct drm_cnnacc_sync *syncs;
	struct drm_cnnacc_bo_ref *bos;
};

/**
 * struct cnnacc_submit - a SUBMIT being made.
 * @ctx: context, held
 * @file: DRM file
 * @count: jobs
 * @args: what the user said about each
 * @parts: its arrays
 * @jobs: the jobs; those before the second half are ours to free
 * @batches: the batches that begin with the job of that index, else NULL; ours to free
 *	before the second half
 * @needs: jobs each job depends on, as explicit syncs say
 * @follows: jobs each job depends on, as shared buffers say
 * @signals: syncobjs to signal
 * @signal_count: how many
 * @waits: fences to wait for
 * @wait_count: how many
 * @wait_max: size of @waits
 * @refs: shared buffers, sorted by buffer and then by job
 * @ref_count: how many
 */
struct cnnacc_submit {
	struct cnnacc_ctx *ctx;
	struct drm_file *file;
	u32 count;
	struct drm_cnnacc_job *args;
	struct cnnacc_parts parts[CNNACC_MAX_JOBS];
	struct cnnacc_job *jobs[CNNACC_MAX_JOBS];
	struct cnnacc_batch *batches[CNNACC_MAX_JOBS];
	u64 needs[CNNACC_MAX_JOBS];
	u64 follows[CNNACC_MAX_JOBS];
	struct cnnacc_signal *signals;
	u32 signal_count;
	struct cnnacc_wait *waits;
	u32 wait_count;
	u32 wait_max;
	struct cnnacc_ref *refs;
	u32 ref_count;
};

/* Batches that were not pushed keep their context busy, so they go before the lock does. */
static void cnnacc_submit_drop_jobs(struct cnnacc_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->count; i++) {
		if (submit->batches[i])
			cnnacc_batch_free(submit->batches[i]);
		if (submit->jobs[i])
			cnnacc_job_free(submit->jobs[i]);
	}
}

static void cnnacc_submit_free(struct cnnacc_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->count; i++) {
		kvfree(submit->parts[i].tasks);
		kvfree(submit->parts[i].syncs);
		kvfree(submit->parts[i].bos);
	}
	for (i = 0; i < submit->signal_count; i++) {
		dma_fence_chain_free(submit->signals[i].chain);
		drm_syncobj_put(submit->signals[i].syncobj);
	}
	for (i = 0; i < submit->wait_count; i++)
		dma_fence_put(submit->waits[i].fence);
	for (i = 0; i < submit->ref_count; i++)
		drm_gem_object_put(submit->refs[i].obj);
	kvfree(submit->signals);
	kvfree(submit->waits);
	kvfree(submit->refs);
	kvfree(submit->args);
	kfree(submit);
}

/* Room for what the jobs name, and for a fence per shared buffer. */
static int cnnacc_submit_alloc_arrays(struct cnnacc_submit *submit)
{
	u32 syncs = 0, bos = 0, i;

	for (i = 0; i < submit->count; i++) {
		syncs += submit->args[i].syncs.count;
		bos += submit->args[i].bos.count;
	}
	submit->wait_max = syncs + bos;
	if (syncs)
		submit->signals = kvcalloc(syncs, sizeof(*submit->signals), GFP_KERNEL_ACCOUNT);
	if (bos)
		submit->refs = kvcalloc(bos, sizeof(*submit->refs), GFP_KERNEL_ACCOUNT);
	if (submit->wait_max)
		submit->waits = kvcalloc(submit->wait_max, sizeof(*submit->waits),
					 GFP_KERNEL_ACCOUNT);
	if ((syncs && !submit->signals) || (bos && !submit->refs) ||
	    (submit->wait_max && !submit->waits))
		return -ENOMEM;
	return 0;
}

static void cnnacc_submit_add_wait(struct cnnacc_submit *submit, u32 job,
				   struct dma_fence *fence, bool fatal)
{
	submit->waits[submit->wait_count++] = (struct cnnacc_wait) {
		.fence = fence,
		.job = job,
		.fatal = fatal,
	};
}

static int cnnacc_submit_add_signal(struct cnnacc_submit *submit, u32 job,
				    const struct drm_cnnacc_sync *sync)
{
	struct cnnacc_signal *signal = &submit->signals[submit->signal_count];

	signal->job = job;
	signal->point = sync->point;
	if (sync->point) {
		signal->chain = dma_fence_chain_alloc();
		if (!signal->chain)
			return -ENOMEM;
	}
	signal->syncobj = drm_syncobj_find(submit->file, sync->handle);
	if (!signal->syncobj) {
		dma_fence_chain_free(signal->chain);
		signal->chain = NULL;
		return -ENOENT;
	}
	submit->signal_count++;
	return 0;
}

/* The last job before this one that signals a binary syncobj; 0 if none does. */
static u64 cnnacc_submit_binary_signaller(struct cnnacc_submit *submit, u32 job,
					  struct drm_syncobj *syncobj)
{
	u32 i = submit->signal_count;

	while (i--)
		if (submit->signals[i].syncobj == syncobj && submit->signals[i].job < job &&
		    !submit->signals[i].point)
			return BIT_ULL(submit->signals[i].job);
	return 0;
}

/* The jobs before this one that a timeline must pass to reach a point; 0 if it never will. */
static u64 cnnacc_submit_timeline_signallers(struct cnnacc_submit *submit, u32 job,
					     struct drm_syncobj *syncobj, u64 point)
{
	u64 mask = 0, reached = 0;
	u32 i;

	for (i = 0; i < submit->signal_count && reached < point; i++) {
		if (submit->signals[i].syncobj != syncobj || submit->signals[i].job >= job)
			continue;
		mask |= BIT_ULL(submit->signals[i].job);
		reached = max(reached, submit->signals[i].point);
	}
	return reached < point ? 0 : mask;
}

static int cnnacc_submit_find_wait(struct cnnacc_submit *submit, u32 job,
				   const struct drm_cnnacc_sync *sync,
				   struct drm_syncobj *syncobj)
{
	struct dma_fence *fence;
	u64 mask = 0;
	int ret;

	if (!sync->point)
		mask = cnnacc_submit_binary_signaller(submit, job, syncobj);
	if (!mask) {
		ret = drm_syncobj_find_fence(submit->file, sync->handle, sync->point, 0, &fence);
		if (!ret) {
			cnnacc_submit_add_wait(submit, job, fence, true);
			return 0;
		}
		if (sync->point)
			mask = cnnacc_submit_timeline_signallers(submit, job, syncobj,
								 sync->point);
		if (!mask)
			return ret;
		/* The timeline also has to pass what it holds already. */
		fence = drm_syncobj_fence_get(syncobj);
		if (fence)
			cnnacc_submit_add_wait(submit, job, fence, true);
	}
	submit->needs[job] |= mask;
	return 0;
}

static int cnnacc_submit_add_sync(struct cnnacc_submit *submit, u32 job,
				  const struct drm_cnnacc_sync *sync)
{
	const u32 kind = sync->flags & (DRM_CNNACC_SYNC_WAIT | DRM_CNNACC_SYNC_SIGNAL);
	struct drm_device *drm = &submit->ctx->cdev->drm;
	struct drm_syncobj *syncobj;
	int ret;

	if (cnnacc_refuses(drm, sync->flags & ~(kind | DRM_CNNACC_SYNC_TIMELINE)) ||
	    cnnacc_refuses(drm, kind != DRM_CNNACC_SYNC_WAIT && kind != DRM_CNNACC_SYNC_SIGNAL) ||
	    cnnacc_refuses(drm, !sync->point != !(sync->flags & DRM_CNNACC_SYNC_TIMELINE)))
		return -EINVAL;
	if (kind == DRM_CNNACC_SYNC_SIGNAL)
		return cnnacc_submit_add_signal(submit, job, sync);

	syncobj = drm_syncobj_find(submit->file, sync->handle);
	if (!syncobj)
		return -ENOENT;
	ret = cnnacc_submit_find_wait(submit, job, sync, syncobj);
	drm_syncobj_put(syncobj);
	return ret;
}

static int cnnacc_submit_add_bo(struct cnnacc_submit *submit, u32 job,
				const struct drm_cnnacc_bo_ref *bo)
{
	struct drm_device *drm = &submit->ctx->cdev->drm;
	struct drm_gem_object *obj;
	int ret = 0;

	if (cnnacc_refuses(drm, !bo->flags || bo->flags & ~(DRM_CNNACC_BO_REF_READ |
							    DRM_CNNACC_BO_REF_WRITE)))
		return -EINVAL;
	obj = drm_gem_object_lookup(submit->file, bo->handle);
	if (!obj)
		return -ENOENT;
	if (!to_cnnacc_bo(obj)->resv) {
		submit->refs[submit->ref_count++] = (struct cnnacc_ref) {
			.obj = obj,
			.job = job,
			.write = bo->flags & DRM_CNNACC_BO_REF_WRITE,
		};
		return 0;
	}
	/* A private buffer is covered by the context's reservation. */
	if (cnnacc_refuses(drm, !cnnacc_gem_usable(obj, submit->ctx)))
		ret = -EINVAL;
	drm_gem_object_put(obj);
	return ret;
}

static int cnnacc_submit_add_job(struct cnnacc_submit *submit, u32 index)
{
	const struct drm_cnnacc_job *args = &submit->args[index];
	const struct cnnacc_parts *parts = &submit->parts[index];
	struct cnnacc_job *job;
	int ret = 0;
	u32 i;

	job = cnnacc_job_create(submit->ctx, args, parts->tasks);
	if (IS_ERR(job))
		return PTR_ERR(job);
	submit->jobs[index] = job;
	for (i = 0; i < args->syncs.count && !ret; i++)
		ret = cnnacc_submit_add_sync(submit, index, &parts->syncs[i]);
	for (i = 0; i < args->bos.count && !ret; i++)
		ret = cnnacc_submit_add_bo(submit, index, &parts->bos[i]);
	return ret;
}

static int cnnacc_submit_compare_refs(const void *left, const void *right)
{
	const struct cnnacc_ref *a = left, *b = right;

	if (a->obj != b->obj)
		return a->obj < b->obj ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

/* One entry per buffer and job: a job's fence takes one slot in a reservation. */
static void cnnacc_submit_merge_refs(struct cnnacc_submit *submit)
{
	struct cnnacc_ref *last = NULL, *ref;
	u32 i, count = 0;

	for (i = 0; i < submit->ref_count; i++) {
		ref = &submit->refs[i];
		if (last && last->obj == ref->obj && last->job == ref->job) {
			last->write |= ref->write;
			drm_gem_object_put(ref->obj);
		} else {
			last = &submit->refs[count++];
			*last = *ref;
		}
	}
	submit->ref_count = count;
}

/* Orders the jobs that use one buffer: readers after the writer, a writer after all. */
static void cnnacc_submit_order_jobs(struct cnnacc_submit *submit)
{
	u64 readers = 0, writers = 0;
	struct cnnacc_ref *ref;
	u32 i;

	for (i = 0; i < submit->ref_count; i++) {
		ref = &submit->refs[i];
		if (!i || ref[-1].obj != ref->obj) {
			readers = 0;
			writers = 0;
		}
		submit->follows[ref->job] |= writers;
		if (ref->write) {
			submit->follows[ref->job] |= readers;
			writers |= BIT_ULL(ref->job);
		} else {
			readers |= BIT_ULL(ref->job);
		}
	}
}

static struct drm_gem_object *cnnacc_submit_next_obj(struct cnnacc_submit *submit, u32 *at)
{
	struct drm_gem_object *obj;

	if (*at == submit->ref_count)
		return NULL;
	obj = submit->refs[*at].obj;
	while (*at < submit->ref_count && submit->refs[*at].obj == obj)
		++*at;
	return obj;
}

static int cnnacc_submit_lock(struct cnnacc_submit *submit, struct drm_exec *exec)
{
	struct drm_gem_object *obj;
	bool two_bos_have_one_resv;
	int ret = 0;
	u32 at;

	drm_exec_until_all_locked(exec) {
		at = 0;
		ret = drm_exec_prepare_obj(exec, submit->ctx->resv, submit->count);
		drm_exec_retry_on_contention(exec);
		while (!ret && (obj = cnnacc_submit_next_obj(submit, &at))) {
			ret = drm_exec_prepare_obj(exec, obj, submit->count);
			drm_exec_retry_on_contention(exec);
		}
		if (ret)
			break;
	}
	/* Their exporter does not say so. */
	two_bos_have_one_resv = ret == -EALREADY;
	if (cnnacc_refuses(&submit->ctx->cdev->drm, two_bos_have_one_resv))
		ret = -EINVAL;
	return ret;
}

/* What was there before this SUBMIT; an old error in it is nothing to do with us. */
static int cnnacc_submit_add_implicit(struct cnnacc_submit *submit)
{
	struct dma_fence *fence;
	struct cnnacc_ref *ref;
	int ret;
	u32 i;

	for (i = 0; i < submit->ref_count; i++) {
		ref = &submit->refs[i];
		ret = dma_resv_get_singleton(ref->obj->resv, dma_resv_usage_rw(ref->write),
					     &fence);
		if (ret)
			return ret;
		if (fence)
			cnnacc_submit_add_wait(submit, ref->job, fence, false);
	}
	return 0;
}

/*
 * Gives each job that waits a gate, with the fences that exist already, in a batch that
 * begins with it; the others go into the batch before them on their core if they fit.
 */
static int cnnacc_submit_make_batches(struct cnnacc_submit *submit)
{
	struct cnnacc_batch *open[CNNACC_MAX_CORES] = { };
	u32 waits[CNNACC_MAX_JOBS] = { };
	struct cnnacc_batch *batch;
	struct cnnacc_job *job;
	u32 i, max;

	for (i = 0; i < submit->wait_count; i++)
		waits[submit->waits[i].job]++;
	for (i = 0; i < submit->count; i++) {
		job = submit->jobs[i];
		max = waits[i] + hweight64(submit->needs[i]) +
		      hweight64(submit->follows[i] & ~submit->needs[i]);
		batch = open[job->core->index];
		if (!max && batch && cnnacc_batch_add(batch, job))
			continue;
		batch = cnnacc_batch_create(job, submit->file);
		if (IS_ERR(batch))
			return PTR_ERR(batch);
		submit->batches[i] = batch;
		open[job->core->index] = batch;
		if (max)
			batch->gate = cnnacc_gate_create(max);
		if (max && !batch->gate)
			return -ENOMEM;
	}
	return 0;
}

static int cnnacc_submit_add_gates(struct cnnacc_submit *submit)
{
	struct cnnacc_batch *batch;
	struct cnnacc_wait *wait;
	int ret = 0;
	u32 i;

	for (i = 0; i < submit->count && !ret; i++) {
		batch = submit->batches[i];
		if (batch && batch->gate)
			ret = drm_sched_job_add_dependency(&batch->base,
							   dma_fence_get(&batch->gate->base));
	}
	for (i = 0; i < submit->wait_count && !ret; i++) {
		wait = &submit->waits[i];
		cnnacc_gate_add(submit->batches[wait->job]->gate, dma_fence_get(wait->fence),
				wait->fatal);
	}
	return ret;
}

static void cnnacc_submit_push_batch(struct cnnacc_submit *submit, struct dma_fence **fences,
				     u32 index)
{
	struct cnnacc_batch *batch = submit->batches[index];
	u64 mask = submit->needs[index] | submit->follows[index];
	u32 i;

	for (i = 0; i < index; i++)
		if (mask & BIT_ULL(i))
			cnnacc_gate_add(batch->gate, dma_fence_get(fences[i]),
					submit->needs[index] & BIT_ULL(i));
	cnnacc_batch_arm(batch);
	submit->batches[index] = NULL;
	drm_sched_entity_push_job(&batch->base);
}

static void cnnacc_submit_publish(struct cnnacc_submit *submit, struct dma_fence **fences)
{
	struct cnnacc_signal *signal;
	struct cnnacc_ref *ref;
	u32 i;

	for (i = 0; i < submit->count; i++)
		dma_resv_add_fence(submit->ctx->resv->resv, fences[i], DMA_RESV_USAGE_BOOKKEEP);
	for (i = 0; i < submit->ref_count; i++) {
		ref = &submit->refs[i];
		dma_resv_add_fence(ref->obj->resv, fences[ref->job],
				   ref->write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	}
	for (i = 0; i < submit->signal_count; i++) {
		signal = &submit->signals[i];
		if (signal->chain)
			drm_syncobj_add_point(signal->syncobj, signal->chain,
					      fences[signal->job], signal->point);
		else
			drm_syncobj_replace_fence(signal->syncobj, fences[signal->job]);
		signal->chain = NULL;
	}
}

/* The second half: nothing here can fail. */
static void cnnacc_submit_push(struct cnnacc_submit *submit)
{
	struct dma_fence *fences[CNNACC_MAX_JOBS];
	u32 i;

	trace_cnnacc_submit(submit->ctx, submit->ctx->seqno + 1, submit->count);
	for (i = 0; i < submit->count; i++) {
		fences[i] = cnnacc_job_arm(submit->jobs[i]);
		trace_cnnacc_job_queue(submit->jobs[i]);
		submit->jobs[i] = NULL;
	}
	/* Before any of them runs, so that an UNMAP waits for it. */
	cnnacc_submit_publish(submit, fences);
	for (i = 0; i < submit->count; i++)
		if (submit->batches[i])
			cnnacc_submit_push_batch(submit, fences, i);
	for (i = 0; i < submit->count; i++)
		dma_fence_put(fences[i]);
}

static int cnnacc_submit_commit(struct cnnacc_submit *submit)
{
	struct drm_exec exec;
	int ret;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT, 0);
	ret = cnnacc_submit_lock(submit, &exec);
	if (!ret)
		ret = cnnacc_submit_add_implicit(submit);
	if (!ret)
		ret = cnnacc_submit_make_batches(submit);
	if (!ret)
		ret = cnnacc_submit_add_gates(submit);
	if (!ret)
		cnnacc_submit_push(submit);
	drm_exec_fini(&exec);
	return ret;
}

static int cnnacc_submit_build(struct cnnacc_submit *submit)
{
	int ret;
	u32 i;

	ret = cnnacc_submit_alloc_arrays(submit);
	for (i = 0; i < submit->count && !ret; i++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = cnnacc_submit_add_job(submit, i);
		cond_resched();
	}
	if (ret)
		return ret;
	sort(submit->refs, submit->ref_count, sizeof(*submit->refs),
	     cnnacc_submit_compare_refs, NULL);
	cnnacc_submit_merge_refs(submit);
	cnnacc_submit_order_jobs(submit);
	return 0;
}

/* A job that is being made keeps its context from being torn down, if it is not dead yet. */
static int cnnacc_submit_locked(struct cnnacc_submit *submit)
{
	struct cnnacc_ctx *ctx = submit->ctx;
	atomic_t *jobs = &ctx->file->jobs;
	int ret;

	if (ctx->dead)
		return drm_dev_is_unplugged(&ctx->cdev->drm) ? -ENODEV : -ENOENT;
	ret = cnnacc_pm_get(ctx->cdev);
	if (ret)
		return ret;
	if (atomic_add_return(submit->count, jobs) > CNNACC_MAX_QUEUED_JOBS)
		ret = -ENOSPC;
	if (!ret)
		ret = cnnacc_submit_build(submit);
	if (!ret)
		ret = cnnacc_submit_commit(submit);
	cnnacc_submit_drop_jobs(submit);
	if (ret)
		atomic_sub(submit->count, jobs);
	cnnacc_pm_put(ctx->cdev);
	return ret;
}

static int cnnacc_submit_copy_parts(struct cnnacc_submit *submit)
{
	struct drm_device *drm = &submit->ctx->cdev->drm;
	const struct drm_cnnacc_job *args;
	struct cnnacc_parts *parts;
	void *copy;
	u32 i;

	for (i = 0; i < submit->count; i++) {
		args = &submit->args[i];
		parts = &submit->parts[i];
		copy = cnnacc_uobj_get_array(drm, &args->tasks, CNNACC_MAX_TASKS,
					     sizeof(*parts->tasks));
		if (IS_ERR(copy))
			return PTR_ERR(copy);
		parts->tasks = copy;
		copy = cnnacc_uobj_get_array(drm, &args->syncs, CNNACC_MAX_SYNCS,
					     sizeof(*parts->syncs));
		if (IS_ERR(copy))
			return PTR_ERR(copy);
		parts->syncs = copy;
		copy = cnnacc_uobj_get_array(drm, &args->bos, CNNACC_MAX_BOS, sizeof(*parts->bos));
		if (IS_ERR(copy))
			return PTR_ERR(copy);
		parts->bos = copy;
	}
	return 0;
}

/* Writes the jobs' numbers, which follow @last, to the user's array. */
static int cnnacc_submit_tell_seqnos(struct cnnacc_submit *submit,
				     const struct drm_cnnacc_obj_array *array, u64 last)
{
	u64 seqno, at;
	u32 i;

	for (i = 0; i < submit->count; i++) {
		seqno = last + i + 1;
		at = array->array + (u64)i * array->stride +
		     offsetof(struct drm_cnnacc_job, seqno);
		if (copy_to_user(u64_to_user_ptr(at), &seqno, sizeof(seqno)))
			return -EFAULT;
	}
	return 0;
}

static struct cnnacc_submit *cnnacc_submit_create(struct cnnacc_ctx *ctx, struct drm_file *file,
						  const struct drm_cnnacc_obj_array *array)
{
	struct cnnacc_submit *submit;
	struct drm_cnnacc_job *args;

	args = cnnacc_uobj_get_array(&ctx->cdev->drm, array, CNNACC_MAX_JOBS, sizeof(*args));
	if (IS_ERR(args))
		return ERR_CAST(args);
	if (cnnacc_refuses(&ctx->cdev->drm, !array->count))
		return ERR_PTR(-EINVAL);
	submit = kzalloc(sizeof(*submit), GFP_KERNEL_ACCOUNT);
	if (!submit) {
		kvfree(args);
		return ERR_PTR(-ENOMEM);
	}
	submit->ctx = ctx;
	submit->file = file;
	submit->count = array->count;
	submit->args = args;
	return submit;
}

/**
 * cnnacc_submit_ioctl() - DRM_IOCTL_CNNACC_SUBMIT
 * @drm: DRM device
 * @data: struct drm_cnnacc_submit
 * @file: DRM file
 *
 * Return: 0 or a negative error code, after which nothing was queued
 */
int cnnacc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_cnnacc_submit *args = data;
	struct cnnacc_submit *submit;
	struct cnnacc_ctx *ctx;
	u64 last;
	int ret;

	if (cnnacc_refuses(drm, args->flags))
		return -EINVAL;
	ctx = cnnacc_ctx_get(file, args->ctx_id);
	if (!ctx)
		return -ENOENT;
	submit = cnnacc_submit_create(ctx, file, &args->jobs);
	if (IS_ERR(submit)) {
		ret = PTR_ERR(submit);
		goto out;
	}

	ret = cnnacc_submit_copy_parts(submit);
	/* Find out now whether the numbers can be written. */
	if (!ret)
		ret = cnnacc_submit_tell_seqnos(submit, &args->jobs, 0);
	if (!ret)
		ret = mutex_lock_interruptible(&ctx->submit_lock);
	if (!ret) {
		last = ctx->seqno;
		ret = cnnacc_submit_locked(submit);
		mutex_unlock(&ctx->submit_lock);
		if (!ret)
			cnnacc_submit_tell_seqnos(submit, &args->jobs, last);
	}
	cnnacc_submit_free(submit);
out:
	cnnacc_ctx_put(ctx);
	return ret;
}
