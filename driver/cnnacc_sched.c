// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include <drm/drm_drv.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"

/**
 * DOC: scheduler
 *
 * Each core has a DRM scheduler with one batch in flight, which cnnacc_core_start() runs.
 *
 * The watchdog checks a core twice per period, as the first check only samples its progress.  The
 * driver itself ends a job that hangs and reports no hang to the scheduler, which finds the batch's
 * fence signalled and frees the batch.  The scheduler is never stopped.
 */

static int cnnacc_param_set(const char *val, const struct kernel_param *kp)
{
	const struct cnnacc_param *param = kp->arg;

	return param_set_uint_minmax(val, kp, 10, param->max_ms);
}

const struct kernel_param_ops cnnacc_param_ops = {
	.set = cnnacc_param_set,
	.get = param_get_uint,
};

static struct cnnacc_param cnnacc_watchdog = { .ms = 1500, .max_ms = 600000 };
module_param_cb(watchdog_ms, &cnnacc_param_ops, &cnnacc_watchdog, 0444);
__MODULE_PARM_TYPE(watchdog_ms, "uint");
MODULE_PARM_DESC(watchdog_ms,
		 "ms without progress after which a job counts as hung (10 to 600000, default 1500)");

/* Checked before the dependencies, which may have failed for that reason. */
static bool cnnacc_sched_gone(struct cnnacc_device *cdev)
{
	return READ_ONCE(cdev->wedged) || drm_dev_is_unplugged(&cdev->drm);
}

static struct dma_fence *cnnacc_sched_run_job(struct drm_sched_job *base)
{
	struct cnnacc_batch *batch = to_cnnacc_batch(base);
	struct dma_fence *done = dma_fence_get(&batch->done);
	bool cookie = dma_fence_begin_signalling();

	if (cnnacc_sched_gone(batch->ctx->cdev)) {
		cnnacc_batch_end(batch, CNNACC_END_GONE);
	} else if (READ_ONCE(batch->ctx->dead)) {
		cnnacc_batch_end(batch, CNNACC_END_CANCELED);
	} else {
		if (batch->deps && cnnacc_deps_failed(batch->deps))
			cnnacc_job_end(cnnacc_batch_pop(batch), CNNACC_END_CANCELED, NULL);
		if (!list_empty(&batch->jobs))
			cnnacc_core_start(batch->core, batch);
	}
	dma_fence_end_signalling(cookie);
	return done;
}

static enum drm_gpu_sched_stat cnnacc_sched_timedout_job(struct drm_sched_job *base)
{
	struct cnnacc_core *core = to_cnnacc_batch(base)->core;
	bool cookie;
	int idx;

	if (drm_dev_enter(&core->cdev->drm, &idx)) {
		cookie = dma_fence_begin_signalling();
		if (cnnacc_core_hung(core))
			cnnacc_core_handle_hang(core);
		dma_fence_end_signalling(cookie);
		drm_dev_exit(idx);
	}
	return cnnacc_compat_sched_no_hang(base);
}

static void cnnacc_sched_free_job(struct drm_sched_job *base)
{
	cnnacc_batch_free(to_cnnacc_batch(base));
}

static const struct drm_sched_backend_ops cnnacc_sched_ops = {
	.run_job = cnnacc_sched_run_job,
	.timedout_job = cnnacc_sched_timedout_job,
	.free_job = cnnacc_sched_free_job,
};

/**
 * cnnacc_sched_init() - Initialise the scheduler of a core
 * @core: core
 *
 * Return: 0 or a negative error code
 */
int cnnacc_sched_init(struct cnnacc_core *core)
{
	return cnnacc_compat_sched_init(&core->sched, &cnnacc_sched_ops, core->cdev->sched_wq,
					core->cdev->reset_wq,
					msecs_to_jiffies(cnnacc_watchdog.ms / 2),
					core->name, core->cdev->drm.dev);
}

/**
 * cnnacc_sched_fini() - Tear down the scheduler of a core
 * @core: core without jobs and entities
 */
void cnnacc_sched_fini(struct cnnacc_core *core)
{
	drm_sched_fini(&core->sched);
}
