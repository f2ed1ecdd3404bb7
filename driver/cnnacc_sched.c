// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"

/**
 * DOC: scheduler
 *
 * One DRM scheduler per core lets one job at a time through to cnnacc_core_start().
 * Hardware fences are allocated with the job and hold the core and the module, since
 * a fence may outlive the device.
 *
 * A job that timed out is ended by us and then given back to the scheduler, which finds
 * its fence signalled and frees it; the scheduler is never stopped.
 */

static unsigned int cnnacc_watchdog_ms = 2000;
module_param_named(watchdog_ms, cnnacc_watchdog_ms, uint, 0444);
MODULE_PARM_DESC(watchdog_ms, "ms without progress after which a job hangs (default 2000)");

static const char *cnnacc_fence_driver_name(struct dma_fence *fence)
{
	return "cnnacc";
}

static const char *cnnacc_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct cnnacc_fence, base)->core->name;
}

static void cnnacc_fence_release(struct dma_fence *fence)
{
	struct cnnacc_core *core = container_of(fence, struct cnnacc_fence, base)->core;

	dma_fence_free(fence);
	kref_put(&core->ref, cnnacc_core_release);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops cnnacc_fence_ops = {
	.get_driver_name = cnnacc_fence_driver_name,
	.get_timeline_name = cnnacc_fence_timeline_name,
	.release = cnnacc_fence_release,
};

static void cnnacc_sched_init_fence(struct cnnacc_job *job)
{
	struct cnnacc_core *core = job->core;

	kref_get(&core->ref);
	job->fence->core = core;
	dma_fence_init(&job->fence->base, &cnnacc_fence_ops, &core->fence_lock,
		       core->fence_context, ++core->fence_seqno);
	job->fence_live = true;
}

static struct dma_fence *cnnacc_sched_run_job(struct drm_sched_job *base)
{
	struct cnnacc_job *job = to_cnnacc_job(base);
	struct dma_fence *fence;

	cnnacc_sched_init_fence(job);
	fence = dma_fence_get(&job->fence->base);
	if (READ_ONCE(job->ctx->cdev->wedged)) {
		cnnacc_job_end(job, CNNACC_END_GONE, NULL);
	} else if (READ_ONCE(job->ctx->dead) || (job->gate && cnnacc_gate_failed(job->gate))) {
		dma_fence_set_error(fence, -ECANCELED);
		dma_fence_signal(fence);
	} else {
		cnnacc_core_start(job->core, job);
	}
	return fence;
}

static enum drm_gpu_sched_stat cnnacc_sched_timedout_job(struct drm_sched_job *base)
{
	struct cnnacc_job *job = to_cnnacc_job(base);
	struct cnnacc_core *core = job->core;
	int idx;

	if (drm_dev_enter(&core->cdev->drm, &idx)) {
		if (cnnacc_core_hung(core, job))
			cnnacc_core_kill(core, job);
		drm_dev_exit(idx);
	}
	return cnnacc_compat_sched_give_back(base);
}

static void cnnacc_sched_free_job(struct drm_sched_job *base)
{
	cnnacc_job_free(to_cnnacc_job(base));
}

static const struct drm_sched_backend_ops cnnacc_sched_ops = {
	.run_job = cnnacc_sched_run_job,
	.timedout_job = cnnacc_sched_timedout_job,
	.free_job = cnnacc_sched_free_job,
};

/**
 * cnnacc_sched_init() - Give a core its scheduler
 * @core: core
 *
 * Return: 0 or a negative error code
 */
int cnnacc_sched_init(struct cnnacc_core *core)
{
	return cnnacc_compat_sched_init(&core->sched, &cnnacc_sched_ops, core->cdev->reset_wq,
					msecs_to_jiffies(max(cnnacc_watchdog_ms, 10u)),
					core->name, core->cdev->drm.dev);
}

/**
 * cnnacc_sched_fini() - Take a core's scheduler away
 * @core: core without jobs and entities
 */
void cnnacc_sched_fini(struct cnnacc_core *core)
{
	drm_sched_fini(&core->sched);
}
