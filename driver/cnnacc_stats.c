// SPDX-License-Identifier: GPL-2.0-only
#include <linux/nospec.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"
#include "cnnacc_queue.h"
#include "cnnacc_stats.h"
#include "cnnacc_uobj.h"

/**
 * DOC: usage
 *
 * What a core did is counted for the context, for its file and for all at once, under the
 * core's lock.  Times and cycles come from the completion records.  A record has no room for
 * MACs and bytes; those come from the counters that the device keeps over all jobs of a core,
 * which are read when another context's turn comes, or when somebody asks.
 *
 * Those counters start anew when the device is reset or sleeps.  What they had reached is kept
 * before, so that they too only grow for whoever reads them in debugfs.
 *
 * A running job counts from the first time that somebody, or the watchdog, looked: when it
 * began only its record will say.  So no sum ever goes back.
 *
 * fdinfo has, for each core NAME as in "ccp.0", the keys of drm-usage-stats.rst:
 *
 * - drm-engine-NAME: ns that jobs of the file ran there.  Every core is an engine of its own,
 *   as a job names its core.
 * - drm-cycles-NAME, drm-maxfreq-NAME: cycles of those jobs, and the clock
 * - cnnacc-jobs-NAME, cnnacc-macs-NAME, cnnacc-read-NAME, cnnacc-written-NAME: jobs,
 *   multiply-accumulates, and bytes from and to memory
 *
 * and the memory of the file's buffers, of which those are active that a job may use which has
 * not ended: for a private one that is any job of its context.
 */

/* Adds a usage of the core for a context to all that count it. */
static void cnnacc_stats_add(struct cnnacc_core *core, struct cnnacc_ctx *ctx,
			     const struct cnnacc_usage *more)
{
	struct cnnacc_usage *to[] = {
		&core->meter.total, &ctx->usage[core->index], &ctx->file->usage[core->index],
	};
	unsigned int i;

	lockdep_assert_held(&core->lock);
	for (i = 0; i < ARRAY_SIZE(to); i++) {
		to[i]->jobs += more->jobs;
		to[i]->busy_ns += more->busy_ns;
		to[i]->cycles += more->cycles;
		to[i]->macs += more->macs;
		to[i]->read_bytes += more->read_bytes;
		to[i]->write_bytes += more->write_bytes;
	}
}

static u64 cnnacc_stats_counter(struct cnnacc_core *core, size_t offset)
{
	return cnnacc_device_read_pair(core->cdev, core->info.queue_offset +
				       CNNACC_QREG_STATS + offset);
}

/* Gives what the device has counted since it was last asked to the context it was for. */
static void cnnacc_stats_settle(struct cnnacc_core *core)
{
	struct cnnacc_meter *meter = &core->meter;
	const struct cnnacc_usage now = {
		.macs = cnnacc_stats_counter(core, offsetof(struct cnnacc_stats, mac_useful)),
		.read_bytes = cnnacc_stats_counter(core, offsetof(struct cnnacc_stats,
								  mem_read_bytes)),
		.write_bytes = cnnacc_stats_counter(core, offsetof(struct cnnacc_stats,
								   mem_write_bytes)),
	};
	const struct cnnacc_usage more = {
		.macs = now.macs - meter->counters.macs,
		.read_bytes = now.read_bytes - meter->counters.read_bytes,
		.write_bytes = now.write_bytes - meter->counters.write_bytes,
	};

	/* A device that is gone answers with ones only. */
	if (now.macs == U64_MAX || now.read_bytes == U64_MAX || now.write_bytes == U64_MAX)
		return;
	if (meter->owner)
		cnnacc_stats_add(core, meter->owner, &more);
	meter->counters = now;
}

/**
 * cnnacc_stats_use() - Count for a context what a core does from now on
 * @core: core without jobs in the ring, locked
 * @ctx: context; NULL if the counters may be lost, or before the registers are
 */
void cnnacc_stats_use(struct cnnacc_core *core, struct cnnacc_ctx *ctx)
{
	lockdep_assert_held(&core->lock);
	if (core->meter.owner == ctx)
		return;
	cnnacc_stats_settle(core);
	core->meter.owner = ctx;
}

/* False if the device is gone: it answers with ones only. */
static bool cnnacc_stats_add_counters(struct cnnacc_core *core, u64 *to)
{
	u64 now[CNNACC_COUNTERS];
	size_t i;

	for (i = 0; i < CNNACC_COUNTERS; i++) {
		now[i] = cnnacc_stats_counter(core, i * sizeof(u64));
		if (now[i] == U64_MAX)
			return false;
	}
	for (i = 0; i < CNNACC_COUNTERS; i++)
		to[i] += now[i];
	return true;
}

/**
 * cnnacc_stats_save() - Keep what the device has counted, as a reset of all of it is next
 * @core: core, disabled
 */
void cnnacc_stats_save(struct cnnacc_core *core)
{
	struct cnnacc_meter *meter = &core->meter;

	spin_lock_irq(&core->lock);
	if (!meter->saved)
		meter->saved = cnnacc_stats_add_counters(core, meter->past);
	spin_unlock_irq(&core->lock);
}

/**
 * cnnacc_stats_counters() - Read the counters of a core, whatever the device forgot meanwhile
 * @core: core of a device that is awake
 * @to: CNNACC_COUNTERS values, in the order of struct cnnacc_stats
 */
void cnnacc_stats_counters(struct cnnacc_core *core, u64 *to)
{
	struct cnnacc_meter *meter = &core->meter;

	spin_lock_irq(&core->lock);
	memcpy(to, meter->past, sizeof(meter->past));
	if (!meter->saved)
		cnnacc_stats_add_counters(core, to);
	spin_unlock_irq(&core->lock);
}

/**
 * cnnacc_stats_forget() - Count for a context no more
 * @core: core
 * @ctx: context without jobs
 */
void cnnacc_stats_forget(struct cnnacc_core *core, struct cnnacc_ctx *ctx)
{
	bool gone;
	int idx;

	gone = !drm_dev_enter(&core->cdev->drm, &idx);
	spin_lock_irq(&core->lock);
	if (core->meter.owner == ctx && !gone)
		cnnacc_stats_use(core, NULL);
	else if (core->meter.owner == ctx)
		core->meter.owner = NULL;
	spin_unlock_irq(&core->lock);
	if (!gone)
		drm_dev_exit(idx);
}

/* A record is the device's word: what it says of times must be possible. */
static u64 cnnacc_stats_busy(const struct cnnacc_core *core,
			     const struct cnnacc_completion *record)
{
	u64 most = 2 * jiffies64_to_nsecs(jiffies - core->since) + NSEC_PER_SEC;

	return record->end_ns > record->start_ns ?
	       min(record->end_ns - record->start_ns, most) : 0;
}

/**
 * cnnacc_stats_record() - Count a task that the device has ended
 * @core: core, locked
 * @job: its job, which this task may be the last of
 * @record: its completion record
 */
void cnnacc_stats_record(struct cnnacc_core *core, struct cnnacc_job *job,
			 const struct cnnacc_completion *record)
{
	struct cnnacc_meter *meter = &core->meter;
	struct cnnacc_usage more = {
		.cycles = min(record->cycles, 2 * core->info.job_cycles_max),
		.busy_ns = cnnacc_stats_busy(core, record),
	};

	job->runtime_ns += more.busy_ns;
	job->cycles += more.cycles;
	if (record->fence == meter->seen)
		more.busy_ns -= min(more.busy_ns, meter->counted_ns);
	more.jobs = record->status_class != CNNACC_STATUS_OK || job->done == job->task_count;
	cnnacc_stats_add(core, job->ctx, &more);
}

/**
 * cnnacc_stats_look() - Count the running job up to now
 * @core: core, locked
 */
void cnnacc_stats_look(struct cnnacc_core *core)
{
	struct cnnacc_job *job = cnnacc_core_first_job(core);
	struct cnnacc_meter *meter = &core->meter;
	struct cnnacc_usage more = { };
	u64 fence, now;

	lockdep_assert_held(&core->lock);
	if (!job || !core->enabled ||
	    cnnacc_queue_read(core, CNNACC_QREG_STATE) != CNNACC_QSTATE_RUNNING)
		return;
	now = cnnacc_device_read_pair(core->cdev, CNNACC_REG_TIME_LO);
	/* In this order: if there is no record yet, it was still running then. */
	if (cnnacc_queue_read(core, CNNACC_QREG_COMPL_TAIL) != core->head)
		return;
	fence = job->first_fence + job->done;
	if (meter->seen != fence) {
		meter->seen = fence;
		meter->seen_ns = now;
		meter->counted_ns = 0;
	}
	if (now < meter->seen_ns + meter->counted_ns)
		return;
	more.busy_ns = now - meter->seen_ns - meter->counted_ns;
	meter->counted_ns += more.busy_ns;
	cnnacc_stats_add(core, job->ctx, &more);
}

/**
 * cnnacc_stats_get() - Read a usage of a core, up to date
 * @core: core of a device that drm_dev_enter() has been called for
 * @of: one of its context's, its file's or its own
 * @to: where to put it
 */
void cnnacc_stats_get(struct cnnacc_core *core, const struct cnnacc_usage *of,
		      struct cnnacc_usage *to)
{
	spin_lock_irq(&core->lock);
	cnnacc_stats_look(core);
	if (core->meter.owner)
		cnnacc_stats_settle(core);
	*to = *of;
	spin_unlock_irq(&core->lock);
}

/* As drm_show_memory_stats(), which does not know which fences are a private buffer's. */
static void cnnacc_stats_show_memory(struct drm_printer *p, struct drm_file *file)
{
	struct drm_memory_stats stats = { };
	struct drm_gem_object *obj;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		if (drm_gem_object_is_shared_for_memory_stats(obj))
			stats.shared += obj->size;
		else
			stats.private += obj->size;
		if (obj->funcs->status(obj) & DRM_GEM_OBJECT_RESIDENT)
			stats.resident += obj->size;
		if (cnnacc_gem_active(obj))
			stats.active += obj->size;
	}
	spin_unlock(&file->table_lock);
	drm_print_memory_stats(p, &stats, CNNACC_COMPAT_MEMORY_STATS, "memory");
}

/**
 * cnnacc_stats_show_file() - &drm_driver.show_fdinfo
 * @p: where to print to
 * @file: DRM file
 */
void cnnacc_stats_show_file(struct drm_printer *p, struct drm_file *file)
{
	struct cnnacc_device *cdev = to_cnnacc_device(file->minor->dev);
	struct cnnacc_file *cfile = file->driver_priv;
	struct cnnacc_usage usage;
	const char *name;
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&cdev->drm, &idx))
		return;
	for (i = 0; i < cdev->core_count; i++) {
		name = cdev->cores[i]->name;
		cnnacc_stats_get(cdev->cores[i], &cfile->usage[i], &usage);
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", name, usage.busy_ns);
		drm_printf(p, "drm-cycles-%s:\t%llu\n", name, usage.cycles);
		drm_printf(p, "drm-maxfreq-%s:\t%u Hz\n", name, cdev->clock_hz);
		drm_printf(p, "cnnacc-jobs-%s:\t%llu\n", name, usage.jobs);
		drm_printf(p, "cnnacc-macs-%s:\t%llu\n", name, usage.macs);
		drm_printf(p, "cnnacc-read-%s:\t%llu\n", name, usage.read_bytes);
		drm_printf(p, "cnnacc-written-%s:\t%llu\n", name, usage.write_bytes);
	}
	drm_dev_exit(idx);
	cnnacc_stats_show_memory(p, file);
}

/**
 * cnnacc_ctx_stats_ioctl() - DRM_IOCTL_CNNACC_CTX_STATS
 * @drm: DRM device
 * @data: struct drm_cnnacc_ctx_stats
 * @file: DRM file
 *
 * Return: 0 or a negative error code
 */
int cnnacc_ctx_stats_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_device *cdev = to_cnnacc_device(drm);
	struct drm_cnnacc_ctx_stats *args = data;
	struct cnnacc_usage usage;
	struct cnnacc_ctx *ctx;
	int core, idx;

	if (cnnacc_refuses(drm, args->core >= cdev->core_count))
		return -EINVAL;
	core = array_index_nospec(args->core, cdev->core_count);
	ctx = cnnacc_ctx_get(file, args->ctx_id);
	if (!ctx)
		return -ENOENT;
	if (!drm_dev_enter(drm, &idx)) {
		cnnacc_ctx_put(ctx);
		return -ENODEV;
	}
	cnnacc_stats_get(cdev->cores[core], &ctx->usage[core], &usage);
	drm_dev_exit(idx);
	cnnacc_ctx_put(ctx);
	args->jobs = usage.jobs;
	args->busy_ns = usage.busy_ns;
	args->cycles = usage.cycles;
	args->macs = usage.macs;
	args->read_bytes = usage.read_bytes;
	args->write_bytes = usage.write_bytes;
	return 0;
}
