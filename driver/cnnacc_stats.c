// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device.h>
#include <linux/sysfs.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_stats.h"

/**
 * DOC: accounting
 *
 * The work of a core is charged to the context, to its file and to the core's total at once, under
 * &cnnacc_core.lock.  Times and cycles come from the completion records.  The records do not have
 * MACs and bytes, and the device's counters of these run over the jobs of all contexts.
 *
 * The device's counters restart at zero when it is reset or suspended.  Their values are saved
 * before, so that the values in debugfs never decrease.
 *
 * The time of a running job is charged from its first sample on, by the watchdog or by a query,
 * since only its completion record has the start time.  So no usage ever decreases.
 *
 * fdinfo has, for each core, with NAME as in debugfs, the keys of drm-usage-stats.rst:
 *
 * - drm-engine-NAME: ns that jobs of the file ran on the core.  Every core is an engine of its
 *   own, as user space selects the core of a job.
 * - drm-cycles-NAME, drm-maxfreq-NAME: cycles of those jobs, and the clock
 * - cnnacc-jobs-NAME: jobs
 *
 * and the memory of the file's buffers.  A buffer is active while a job that may use it has not
 * ended; every job of a context may use its private buffers.
 *
 * sysfs has the busy time of each core, see Documentation/ABI/testing/sysfs-driver-cnnacc.
 */

/* Adds usage of the core by a context to its three accounts. */
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
	}
}

/* Adds the device's counters to @to.  Returns false if the device is gone. */
static bool cnnacc_stats_add_counters(struct cnnacc_core *core, u64 *to)
{
	const u32 base = core->info.queue_offset + CNNACC_QREG_STATS;
	u64 now[CNNACC_COUNTERS];
	size_t i;

	for (i = 0; i < CNNACC_COUNTERS; i++) {
		now[i] = cnnacc_device_read_pair(core->cdev, base + i * sizeof(u64));
		if (now[i] == U64_MAX)
			return false;
	}
	for (i = 0; i < CNNACC_COUNTERS; i++)
		to[i] += now[i];
	return true;
}

/* Saves the counters of a disabled core before a device reset clears them. */
void cnnacc_stats_save(struct cnnacc_core *core)
{
	struct cnnacc_meter *meter = &core->meter;

	scoped_guard(spinlock_irq, &core->lock)
		if (!meter->saved)
			meter->saved = cnnacc_stats_add_counters(core, meter->saved_counters);
}

/*
 * Reads the CNNACC_COUNTERS counters of a core in the order of struct cnnacc_stats, including those
 * saved before resets.  The caller holds a runtime PM reference.
 */
void cnnacc_stats_counters(struct cnnacc_core *core, u64 *to)
{
	struct cnnacc_meter *meter = &core->meter;

	scoped_guard(spinlock_irq, &core->lock) {
		memcpy(to, meter->saved_counters, sizeof(meter->saved_counters));
		if (!meter->saved)
			cnnacc_stats_add_counters(core, to);
	}
}

/* Limits the time in a record to a plausible value, as the device is not trusted. */
static u64 cnnacc_stats_busy(const struct cnnacc_core *core,
			     const struct cnnacc_completion *record)
{
	u64 most = 2 * jiffies64_to_nsecs(jiffies - core->job_start) + NSEC_PER_SEC;
	u64 start = le64_to_cpu(record->start_ns), end = le64_to_cpu(record->end_ns);

	return end > start ? min(end - start, most) : 0;
}

/* Charges a task that has ended and that job->tasks_done includes, under &cnnacc_core.lock. */
void cnnacc_stats_record(struct cnnacc_core *core, struct cnnacc_job *job,
			 const struct cnnacc_completion *record)
{
	struct cnnacc_meter *meter = &core->meter;
	struct cnnacc_usage more = {
		.cycles = min(le64_to_cpu(record->cycles), 2 * core->info.job_cycles_max),
		.busy_ns = cnnacc_stats_busy(core, record),
	};

	job->runtime_ns += more.busy_ns;
	job->cycles += more.cycles;
	if (le64_to_cpu(record->fence) == meter->sampled_fence)
		more.busy_ns -= min(more.busy_ns, meter->counted_ns);
	more.jobs = le16_to_cpu(record->status_class) != CNNACC_STATUS_OK ||
		    job->tasks_done == job->task_count;
	cnnacc_stats_add(core, job->ctx, &more);
}

/* Charges the time of the running job of a locked core up to now. */
void cnnacc_stats_sample(struct cnnacc_core *core)
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
	/* Time first: without a record afterwards, the job was still running at that time. */
	if (cnnacc_queue_read(core, CNNACC_QREG_COMPL_TAIL) != core->head)
		return;
	fence = job->first_fence + job->tasks_done;
	if (meter->sampled_fence != fence) {
		meter->sampled_fence = fence;
		meter->sampled_ns = now;
		meter->counted_ns = 0;
	}
	if (now < meter->sampled_ns + meter->counted_ns)
		return;
	more.busy_ns = now - meter->sampled_ns - meter->counted_ns;
	meter->counted_ns += more.busy_ns;
	cnnacc_stats_add(core, job->ctx, &more);
}

/*
 * Updates and reads an account: of a context, of a file or the core's total.  The caller is in a
 * drm_dev_enter() section.
 */
void cnnacc_stats_get(struct cnnacc_core *core, const struct cnnacc_usage *of,
		      struct cnnacc_usage *to)
{
	scoped_guard(spinlock_irq, &core->lock) {
		cnnacc_stats_sample(core);
		*to = *of;
	}
}

/* &drm_driver.show_fdinfo, which DRM calls in a drm_dev_enter() section. */
void cnnacc_stats_show_file(struct drm_printer *p, struct drm_file *file)
{
	struct cnnacc_device *cdev = to_cnnacc_device(file->minor->dev);
	struct cnnacc_file *cfile = file->driver_priv;
	struct cnnacc_usage usage;
	const char *name;
	unsigned int i;

	for (i = 0; i < cdev->core_count; i++) {
		name = cdev->cores[i]->name;
		cnnacc_stats_get(cdev->cores[i], &cfile->usage[i], &usage);
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", name, usage.busy_ns);
		drm_printf(p, "drm-cycles-%s:\t%llu\n", name, usage.cycles);
		drm_printf(p, "drm-maxfreq-%s:\t%u Hz\n", name, cdev->clock_hz);
		drm_printf(p, "cnnacc-jobs-%s:\t%llu\n", name, usage.jobs);
	}
	drm_show_memory_stats(p, file);
}

static unsigned int cnnacc_stats_attr_core(const struct attribute *attr)
{
	return attr->name[strlen("core")] - '0';
}

static ssize_t core_busy_time_ns_show(struct device *dev, struct device_attribute *attr,
				      char *buf)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);
	struct cnnacc_usage usage;
	struct cnnacc_core *core;

	CLASS(cnnacc_section, section)(&cdev->drm);
	if (section < 0)
		return -ENODEV;
	core = cdev->cores[cnnacc_stats_attr_core(&attr->attr)];
	cnnacc_stats_get(core, &core->meter.total, &usage);
	return sysfs_emit(buf, "%llu\n", usage.busy_ns);
}

#define CNNACC_CORE_ATTR(n) (&((struct device_attribute) \
	__ATTR(core##n##_busy_time_ns, 0444, core_busy_time_ns_show, NULL)).attr)

static struct attribute *cnnacc_stats_attrs[] = {
	CNNACC_CORE_ATTR(0), CNNACC_CORE_ATTR(1), CNNACC_CORE_ATTR(2), CNNACC_CORE_ATTR(3),
	CNNACC_CORE_ATTR(4), CNNACC_CORE_ATTR(5), CNNACC_CORE_ATTR(6), CNNACC_CORE_ATTR(7),
	NULL
};

static_assert(ARRAY_SIZE(cnnacc_stats_attrs) == CNNACC_MAX_CORES + 1);

static umode_t cnnacc_stats_attr_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	struct cnnacc_device *cdev = dev_get_drvdata(kobj_to_dev(kobj));

	return cnnacc_stats_attr_core(attr) < cdev->core_count ? attr->mode : 0;
}

static const struct attribute_group cnnacc_stats_attr_group = {
	.attrs = cnnacc_stats_attrs,
	.is_visible = cnnacc_stats_attr_visible,
};

const struct attribute_group *cnnacc_stats_attr_groups[] = { &cnnacc_stats_attr_group, NULL };
