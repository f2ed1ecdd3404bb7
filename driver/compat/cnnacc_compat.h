/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wraps the few kernel interfaces that differ between supported kernels.  compat/probe.sh detects
 * which form the kernel headers have.
 */
#ifndef CNNACC_COMPAT_H
#define CNNACC_COMPAT_H

#include <linux/dma-fence.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/gpu_scheduler.h>

#ifdef CNNACC_NO_HEADERS
#error "the kernel headers were not found"
#endif

/* On kernels without DRM_ACCEL the device is a render node. */
#ifdef HAVE_DRM_ACCEL
#define CNNACC_COMPAT_NODE DRIVER_COMPUTE_ACCEL
#define CNNACC_COMPAT_OPEN accel_open
#else
#define CNNACC_COMPAT_NODE DRIVER_RENDER
#define CNNACC_COMPAT_OPEN drm_open
#endif

/* The argument of MODULE_IMPORT_NS(). */
#ifdef HAVE_NAMESPACE_STRING
#define CNNACC_COMPAT_DMA_BUF "DMA_BUF"
#else
#define CNNACC_COMPAT_DMA_BUF DMA_BUF
#endif

/* The default without WQ_UNBOUND; newer kernels require the flag. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif

/* One run queue per priority. */
static inline int cnnacc_compat_sched_init(struct drm_gpu_scheduler *sched,
					   const struct drm_sched_backend_ops *ops,
					   u32 credit_limit,
					   struct workqueue_struct *submit_wq,
					   struct workqueue_struct *timeout_wq,
					   long timeout, const char *name,
					   struct device *dev)
{
#ifdef HAVE_SCHED_INIT_ARGS
	const struct drm_sched_init_args args = {
		.ops = ops,
		.submit_wq = submit_wq,
		.timeout_wq = timeout_wq,
#ifdef HAVE_SCHED_NUM_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = credit_limit,
		.timeout = timeout,
		.name = name,
		.dev = dev,
	};

	return drm_sched_init(sched, &args);
#else
	return drm_sched_init(sched, ops, submit_wq, DRM_SCHED_PRIORITY_COUNT, credit_limit, 0,
			      timeout, timeout_wq, NULL, name, dev);
#endif
}

static inline int cnnacc_compat_sched_job_init(struct drm_sched_job *job,
					       struct drm_sched_entity *entity,
					       u32 credits, void *owner, struct drm_file *file)
{
#ifdef HAVE_SCHED_JOB_CLIENT_ID
	return drm_sched_job_init(job, entity, credits, owner, file->client_id);
#else
	return drm_sched_job_init(job, entity, credits, owner);
#endif
}

static inline void cnnacc_compat_enable_signaling(struct dma_fence *fence)
{
#ifdef HAVE_FENCE_ENABLE_SIGNALING
	dma_fence_enable_signaling(fence);
#else
	dma_fence_enable_sw_signaling(fence);
#endif
}

/*
 * Return value of a timedout_job callback that handled the job itself or found it making progress.
 * Returns the job to the scheduler's pending list; it is freed once its fence is signalled.
 */
static inline enum drm_gpu_sched_stat
cnnacc_compat_sched_no_hang(struct drm_sched_job *job)
{
#ifdef HAVE_SCHED_STAT_NO_HANG
	return DRM_GPU_SCHED_STAT_NO_HANG;
#else
	struct drm_gpu_scheduler *sched = job->sched;

	spin_lock(&sched->job_list_lock);
	list_add(&job->list, &sched->pending_list);
	/*
	 * The scheduler is not stopped; this makes it check for finished jobs.  Under the lock,
	 * since the scheduler may be torn down once the job is freed.
	 */
	drm_sched_wqueue_start(sched);
	spin_unlock(&sched->job_list_lock);
	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

#endif
