// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_syncobj.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"
#include "cnnacc_job.h"
#include "cnnacc_trace.h"
#include "cnnacc_uobj.h"

/**
 * DOC: submit
 *
 * A SUBMIT is all or nothing, so it has two phases.  The first phase creates the jobs, looks up the
 * fences that they wait for, allocates everything that signalling needs and locks the reservation
 * objects; it may fail at any point.  The second phase, cnnacc_submit_push(), publishes the fences
 * of the jobs and queues the jobs in order; it cannot fail.
 *
 * User memory is read before &cnnacc_ctx.submit_lock is taken, since user space controls how long a
 * page fault takes.
 *
 * Jobs with DRM_CNNACC_JOB_ANY_EQUAL are given their core in the first phase: the first one of a
 * SUBMIT chooses among its equal cores, and the others follow it.
 *
 * Dependencies between jobs of one SUBMIT are bit masks of job indices until they are added.
 */

/**
 * struct cnnacc_signal - syncobj that a job signals.
 * @syncobj: syncobj, referenced
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
 * struct cnnacc_ref - shared buffer that a job uses.
 * @obj: buffer, referenced
 * @job: job index
 * @write: the job writes the buffer
 */
struct cnnacc_ref {
	struct drm_gem_object *obj;
	u32 job;
	bool write;
};

/**
 * struct cnnacc_job_arrays - arrays of a job, copied from user space.
 * @tasks: tasks
 * @syncs: syncs, NULL if none
 * @bos: shared buffers, NULL if none
 */
struct cnnacc_job_arrays {
	struct drm_cnnacc_task *tasks;
	struct drm_cnnacc_sync *syncs;
	struct drm_cnnacc_bo_ref *bos;
};

/**
 * struct cnnacc_submit - state of a SUBMIT.
 * @ctx: context, referenced
 * @file: DRM file
 * @count: number of jobs
 * @args: job descriptions from user space
 * @arrays: arrays of each job
 * @jobs: the jobs, owned until the second phase
 * @chosen: by the first of equal cores, the one that was chosen, or NULL
 * @implicit_deps: by job index, mask of jobs that it depends on through shared buffers
 * @signals: syncobjs to signal
 * @signal_count: number of @signals
 * @refs: shared buffers, sorted by reservation object and then by job
 * @ref_count: number of @refs
 */
struct cnnacc_submit {
	struct cnnacc_ctx *ctx;
	struct drm_file *file;
	u32 count;
	struct drm_cnnacc_job *args;
	struct cnnacc_job_arrays arrays[CNNACC_MAX_JOBS];
	struct cnnacc_job *jobs[CNNACC_MAX_JOBS];
	struct cnnacc_core *chosen[CNNACC_MAX_CORES];
	u64 implicit_deps[CNNACC_MAX_JOBS];
	struct cnnacc_signal *signals;
	u32 signal_count;
	struct cnnacc_ref *refs;
	u32 ref_count;
};

/* Called under &cnnacc_ctx.submit_lock: armed jobs keep the context busy. */
static void cnnacc_submit_free_jobs(struct cnnacc_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->count; i++)
		if (submit->jobs[i])
			cnnacc_job_free(submit->jobs[i]);
}

static void cnnacc_submit_free(struct cnnacc_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->count; i++) {
		kvfree(submit->arrays[i].tasks);
		kvfree(submit->arrays[i].syncs);
		kvfree(submit->arrays[i].bos);
	}
	for (i = 0; i < submit->signal_count; i++) {
		dma_fence_chain_free(submit->signals[i].chain);
		drm_syncobj_put(submit->signals[i].syncobj);
	}
	for (i = 0; i < submit->ref_count; i++)
		drm_gem_object_put(submit->refs[i].obj);
	kvfree(submit->signals);
	kvfree(submit->refs);
	kvfree(submit->args);
	kfree(submit);
}

/* Allocates for all syncobjs and shared buffers. */
static int cnnacc_submit_alloc_lists(struct cnnacc_submit *submit)
{
	u32 syncs = 0, bos = 0, i;

	for (i = 0; i < submit->count; i++) {
		syncs += submit->args[i].syncs.count;
		bos += submit->args[i].bos.count;
	}
	if (syncs)
		submit->signals = kvcalloc(syncs, sizeof(*submit->signals), GFP_KERNEL_ACCOUNT);
	if (bos)
		submit->refs = kvcalloc(bos, sizeof(*submit->refs), GFP_KERNEL_ACCOUNT);
	return (syncs && !submit->signals) || (bos && !submit->refs) ? -ENOMEM : 0;
}

static int cnnacc_submit_add_signal(struct cnnacc_submit *submit, u32 job,
				    const struct drm_cnnacc_sync *sync)
{
	struct cnnacc_signal *signal = &submit->signals[submit->signal_count];

	signal->syncobj = drm_syncobj_find(submit->file, sync->handle);
	if (!signal->syncobj)
		return -ENOENT;
	submit->signal_count++;
	signal->job = job;
	signal->point = sync->point;
	if (!sync->point)
		return 0;
	signal->chain = dma_fence_chain_alloc();
	return signal->chain ? 0 : -ENOMEM;
}

/* Returns the last job before @job that signals a binary syncobj, as a mask; 0 if none does. */
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

/*
 * Returns the jobs before @job whose signals make a timeline reach @point, as a mask; 0 if they do
 * not.
 */
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

static struct dma_fence *cnnacc_submit_fence(struct cnnacc_submit *submit, u32 job)
{
	return &submit->jobs[job]->fence->base;
}

static int cnnacc_submit_find_wait(struct cnnacc_submit *submit, u32 index,
				   const struct drm_cnnacc_sync *sync,
				   struct drm_syncobj *syncobj)
{
	struct cnnacc_job *job = submit->jobs[index];
	struct dma_fence *fence = NULL;
	u64 mask = 0;
	int ret = 0;
	u32 i;

	if (!sync->point)
		mask = cnnacc_submit_binary_signaller(submit, index, syncobj);
	if (!mask) {
		ret = drm_syncobj_find_fence(submit->file, sync->handle, sync->point, 0, &fence);
		if (ret && sync->point)
			mask = cnnacc_submit_timeline_signallers(submit, index, syncobj,
								 sync->point);
		if (ret && !mask)
			return ret;
		/* The points that the timeline has already must be signalled too. */
		if (ret)
			fence = drm_syncobj_fence_get(syncobj);
		ret = fence ? cnnacc_job_add_fatal(job, fence) : 0;
	}
	for (i = 0; i < index && !ret; i++)
		if (mask & BIT_ULL(i))
			ret = cnnacc_job_add_fatal(job,
						   dma_fence_get(cnnacc_submit_fence(submit, i)));
	return ret;
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
	struct drm_gem_object *obj __free(cnnacc_obj) = NULL;

	if (cnnacc_refuses(drm, !bo->flags || bo->flags & ~(DRM_CNNACC_BO_REF_READ |
							    DRM_CNNACC_BO_REF_WRITE)))
		return -EINVAL;
	obj = drm_gem_object_lookup(submit->file, bo->handle);
	if (!obj)
		return -ENOENT;
	if (cnnacc_refuses(drm, !cnnacc_gem_usable(obj, submit->ctx->vm)))
		return -EINVAL;
	/* The reservation object of the address space covers a private buffer. */
	if (to_cnnacc_bo(obj)->resv)
		return 0;
	submit->refs[submit->ref_count++] = (struct cnnacc_ref) {
		.obj = no_free_ptr(obj),
		.job = job,
		.write = bo->flags & DRM_CNNACC_BO_REF_WRITE,
	};
	return 0;
}

static void cnnacc_submit_choose_core(struct cnnacc_submit *submit, struct cnnacc_job *job)
{
	struct cnnacc_core **chosen = &submit->chosen[__ffs(job->core->equal)];

	if (!(job->flags & DRM_CNNACC_JOB_ANY_EQUAL)) {
		cnnacc_balance_charge(job);
	} else if (*chosen) {
		job->core = *chosen;
		cnnacc_balance_charge(job);
	} else {
		cnnacc_balance_choose(job);
		*chosen = job->core;
	}
}

static int cnnacc_submit_add_job(struct cnnacc_submit *submit, u32 index)
{
	const struct drm_cnnacc_job *args = &submit->args[index];
	const struct cnnacc_job_arrays *arrays = &submit->arrays[index];
	struct cnnacc_job *job;
	int ret = 0;
	u32 i;

	job = cnnacc_job_create(submit->ctx, args, arrays->tasks);
	if (IS_ERR(job))
		return PTR_ERR(job);
	submit->jobs[index] = job;
	cnnacc_submit_choose_core(submit, job);
	cnnacc_job_init_fence(job);
	for (i = 0; i < args->syncs.count && !ret; i++)
		ret = cnnacc_submit_add_sync(submit, index, &arrays->syncs[i]);
	for (i = 0; i < args->bos.count && !ret; i++)
		ret = cnnacc_submit_add_bo(submit, index, &arrays->bos[i]);
	return ret;
}

static int cnnacc_submit_compare_refs(const void *left, const void *right)
{
	const struct cnnacc_ref *a = left, *b = right;

	if (a->obj->resv != b->obj->resv)
		return a->obj->resv < b->obj->resv ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

/* Implicit dependencies: a reader of a buffer follows its writers, a writer follows all users. */
static void cnnacc_submit_order_jobs(struct cnnacc_submit *submit)
{
	u64 readers = 0, writers = 0;
	struct cnnacc_ref *ref;
	u32 i;

	for (i = 0; i < submit->ref_count; i++) {
		ref = &submit->refs[i];
		if (!i || ref[-1].obj->resv != ref->obj->resv) {
			readers = 0;
			writers = 0;
		}
		submit->implicit_deps[ref->job] |= writers;
		if (ref->write) {
			submit->implicit_deps[ref->job] |= readers;
			writers |= BIT_ULL(ref->job);
		} else {
			readers |= BIT_ULL(ref->job);
		}
	}
}

/* A job may add its fence twice to an object, as that of a writer and as that of a reader. */
static int cnnacc_submit_lock(struct cnnacc_submit *submit, struct drm_exec *exec)
{
	int ret = 0;
	u32 i;

	drm_exec_until_all_locked(exec) {
		ret = drm_exec_prepare_obj(exec, submit->ctx->vm->resv, submit->count);
		drm_exec_retry_on_contention(exec);
		for (i = 0; i < submit->ref_count && !ret; i++) {
			ret = drm_exec_prepare_obj(exec, submit->refs[i].obj, 2 * submit->count);
			drm_exec_retry_on_contention(exec);
		}
		if (ret)
			break;
	}
	return ret;
}

/* Lets jobs that depend on nothing follow the last job for their core that does neither. */
static void cnnacc_submit_group_jobs(struct cnnacc_submit *submit)
{
	struct cnnacc_job *leaders[CNNACC_MAX_CORES] = { };
	struct cnnacc_job **leader, *job;
	bool depends;
	u32 i;

	for (i = 0; i < submit->count; i++) {
		job = submit->jobs[i];
		leader = &leaders[job->core->index];
		depends = job->fatal_count || submit->implicit_deps[i] || submit->args[i].bos.count;
		if (depends)
			*leader = NULL;
		if (!cnnacc_job_follow(job, *leader))
			*leader = depends ? NULL : job;
	}
}

static int cnnacc_submit_arm_jobs(struct cnnacc_submit *submit)
{
	int ret = 0;
	u32 i;

	cnnacc_submit_group_jobs(submit);
	for (i = 0; i < submit->count && !ret; i++)
		ret = cnnacc_job_arm(submit->jobs[i], submit->file);
	return ret;
}

/* Adds the earlier users of shared buffers, whose errors do not cancel our jobs. */
static int cnnacc_submit_add_deps(struct cnnacc_submit *submit)
{
	struct dma_fence *fence;
	struct cnnacc_ref *ref;
	int ret = 0;
	u32 i, k;

	for (i = 0; i < submit->ref_count && !ret; i++) {
		ref = &submit->refs[i];
		ret = drm_sched_job_add_implicit_dependencies(&submit->jobs[ref->job]->base,
							      ref->obj, ref->write);
	}
	for (i = 0; i < submit->count; i++)
		for (k = 0; k < i && !ret; k++)
			if (submit->implicit_deps[i] & BIT_ULL(k)) {
				fence = dma_fence_get(cnnacc_submit_fence(submit, k));
				ret = drm_sched_job_add_dependency(&submit->jobs[i]->base, fence);
			}
	return ret;
}

static void cnnacc_submit_attach_fences(struct cnnacc_submit *submit)
{
	struct cnnacc_signal *signal;
	struct dma_fence *fence;
	struct cnnacc_ref *ref;
	u32 i;

	/* With READ, unlike BOOKKEEP, drm_show_memory_stats() counts private buffers as active. */
	for (i = 0; i < submit->count; i++)
		dma_resv_add_fence(submit->ctx->vm->resv->resv, cnnacc_submit_fence(submit, i),
				   DMA_RESV_USAGE_READ);
	for (i = 0; i < submit->ref_count; i++) {
		ref = &submit->refs[i];
		dma_resv_add_fence(ref->obj->resv, cnnacc_submit_fence(submit, ref->job),
				   ref->write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	}
	for (i = 0; i < submit->signal_count; i++) {
		signal = &submit->signals[i];
		fence = cnnacc_submit_fence(submit, signal->job);
		if (signal->chain)
			drm_syncobj_add_point(signal->syncobj, signal->chain, fence,
					      signal->point);
		else
			drm_syncobj_replace_fence(signal->syncobj, fence);
		signal->chain = NULL;
	}
}

/* The second phase, which cannot fail. */
static void cnnacc_submit_push(struct cnnacc_submit *submit)
{
	bool cookie = dma_fence_begin_signalling();
	struct cnnacc_job *leaders[CNNACC_MAX_JOBS], *job;
	u32 count = 0, i;

	/* Before any job runs, so that an UNMAP waits for it. */
	cnnacc_submit_attach_fences(submit);
	for (i = 0; i < submit->count; i++) {
		submit->jobs[i]->seqno = ++submit->ctx->seqno;
		trace_cnnacc_job_queue(submit->jobs[i]);
	}
	for (i = 0; i < submit->count; i++) {
		job = submit->jobs[i];
		submit->jobs[i] = NULL;
		if (list_empty(&job->follow))
			leaders[count++] = job;
	}
	/* Jobs may be freed from here on. */
	for (i = 0; i < count; i++)
		cnnacc_sched_queue(leaders[i]);
	dma_fence_end_signalling(cookie);
}

static int cnnacc_submit_commit(struct cnnacc_submit *submit)
{
	struct drm_exec exec;
	int ret;

	/* Imported buffers may share a reservation object. */
	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = cnnacc_submit_lock(submit, &exec) ?: cnnacc_submit_arm_jobs(submit) ?:
	      cnnacc_submit_add_deps(submit);
	if (!ret)
		cnnacc_submit_push(submit);
	drm_exec_fini(&exec);
	return ret;
}

static int cnnacc_submit_build(struct cnnacc_submit *submit)
{
	int ret;
	u32 i;

	ret = cnnacc_submit_alloc_lists(submit);
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
	cnnacc_submit_order_jobs(submit);
	return 0;
}

/*
 * Called under &cnnacc_ctx.submit_lock.  Each armed job keeps a context that is not dead yet from
 * being destroyed.
 */
static int cnnacc_submit_locked(struct cnnacc_submit *submit)
{
	struct cnnacc_ctx *ctx = submit->ctx;
	int ret;

	ret = cnnacc_ctx_state(ctx) ?: cnnacc_pm_get(ctx->cdev);
	if (ret)
		return ret;
	ret = cnnacc_submit_build(submit) ?: cnnacc_submit_commit(submit);
	cnnacc_submit_free_jobs(submit);
	cnnacc_pm_put(ctx->cdev);
	return ret;
}

static int cnnacc_submit_copy_arrays(struct cnnacc_submit *submit)
{
	struct drm_device *drm = &submit->ctx->cdev->drm;
	const struct drm_cnnacc_job *args;
	struct cnnacc_job_arrays *to;
	int ret = 0;
	u32 i;

	for (i = 0; i < submit->count && !ret; i++) {
		args = &submit->args[i];
		to = &submit->arrays[i];
		ret = cnnacc_uobj_get(drm, &args->tasks, CNNACC_MAX_TASKS, &to->tasks,
				      cycle_limit) ?:
		      cnnacc_uobj_get(drm, &args->syncs, CNNACC_MAX_SYNCS, &to->syncs, point) ?:
		      cnnacc_uobj_get(drm, &args->bos, CNNACC_MAX_BOS, &to->bos, flags);
	}
	return ret;
}

static void cnnacc_submit_report(const struct cnnacc_submit *submit, u64 first,
				 struct drm_cnnacc_submit *args)
{
	const struct cnnacc_device *cdev = submit->ctx->cdev;
	const struct cnnacc_core *chosen;
	u32 i;

	static_assert(ARRAY_SIZE(args->core) == CNNACC_MAX_CORES);
	args->first_seqno = first;
	for (i = 0; i < cdev->core_count; i++) {
		chosen = submit->chosen[__ffs(cdev->cores[i]->equal)];
		args->core[i] = chosen ? chosen->index : i;
	}
}

static int cnnacc_submit_cycles(const struct cnnacc_submit *submit, u64 *cycles)
{
	const struct cnnacc_device *cdev = submit->ctx->cdev;
	u32 i, core;

	CLASS(cnnacc_section, section)(&submit->ctx->cdev->drm);
	if (section < 0)
		return -ENODEV;
	*cycles = 0;
	for (i = 0; i < submit->count; i++) {
		core = submit->args[i].core;
		/* Otherwise it is refused later. */
		if (core >= cdev->core_count)
			continue;
		core = array_index_nospec(core, cdev->core_count);
		*cycles += cnnacc_job_cycles(cdev->cores[core], submit->arrays[i].tasks,
					     submit->args[i].tasks.count);
	}
	return 0;
}

/* Waits for room without a lock, as a context must be destroyed without a wait. */
static int cnnacc_submit_reserved(struct cnnacc_submit *submit, struct drm_cnnacc_submit *args)
{
	struct cnnacc_ctx *ctx = submit->ctx;
	u64 cycles, first;
	int ret;

	ret = cnnacc_submit_cycles(submit, &cycles);
	if (!ret)
		ret = cnnacc_ctx_reserve(ctx, submit->count, cycles,
					 !(args->flags & DRM_CNNACC_SUBMIT_NONBLOCK));
	if (ret)
		return ret;
	scoped_cond_guard(mutex_intr, ret = -ERESTARTSYS, &ctx->submit_lock) {
		first = ctx->seqno + 1;
		ret = cnnacc_submit_locked(submit);
		/* Locked: a removal of the device frees its cores later. */
		if (!ret)
			cnnacc_submit_report(submit, first, args);
	}
	if (ret)
		cnnacc_ctx_release(ctx, submit->count, cycles);
	return ret;
}

static struct cnnacc_submit *cnnacc_submit_create(struct cnnacc_ctx *ctx, struct drm_file *file,
						  const struct drm_cnnacc_obj_array *array)
{
	struct drm_cnnacc_job *args __free(kvfree) = NULL;
	struct cnnacc_submit *submit;
	int ret;

	ret = cnnacc_uobj_get(&ctx->cdev->drm, array, CNNACC_MAX_JOBS, &args, bos);
	if (ret)
		return ERR_PTR(ret);
	if (cnnacc_refuses(&ctx->cdev->drm, !array->count))
		return ERR_PTR(-EINVAL);
	submit = kzalloc(sizeof(*submit), GFP_KERNEL_ACCOUNT);
	if (!submit)
		return ERR_PTR(-ENOMEM);
	submit->ctx = ctx;
	submit->file = file;
	submit->count = array->count;
	submit->args = no_free_ptr(args);
	return submit;
}

int cnnacc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_ctx *ctx __free(cnnacc_ctx) = NULL;
	struct drm_cnnacc_submit *args = data;
	struct cnnacc_submit *submit;
	int ret;

	if (cnnacc_refuses(drm, args->flags & ~DRM_CNNACC_SUBMIT_NONBLOCK))
		return -EINVAL;
	ctx = cnnacc_ctx_get(file, args->ctx_id);
	if (!ctx)
		return -ENOENT;
	submit = cnnacc_submit_create(ctx, file, &args->jobs);
	if (IS_ERR(submit))
		return PTR_ERR(submit);
	ret = cnnacc_submit_copy_arrays(submit);
	if (!ret)
		ret = cnnacc_vm_prepare(ctx->vm);
	if (!ret)
		ret = cnnacc_submit_reserved(submit, args);
	cnnacc_submit_free(submit);
	return ret;
}
