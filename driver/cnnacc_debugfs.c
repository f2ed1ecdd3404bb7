// SPDX-License-Identifier: GPL-2.0-only
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"

/**
 * DOC: debugfs
 *
 * ============ ================================================================
 * stats        the device's counters of each core, since probe
 * contexts     every context: its creator, jobs, failures and usage of each core
 * queues       every core: state of the queue, resets, and jobs in the ring
 * mm           address ranges that each context maps, and the memory of all buffers
 * selftest     reading it tests the device: "ok", or what is wrong
 * ban          write 0 to let contexts and files fail without being banned, 1 to ban them
 * force_reset  write "device" or the name of a core, such as NAME.0, to reset it
 * ============ ================================================================
 *
 * A line begins with the name of its object, followed by "key=value" pairs.  Reading never blocks
 * for long: an object whose lock may be held for long is shown as busy, and long lists are cut off.
 */

#define CNNACC_DEBUGFS_RANGES	256	/* maximum shown for each context */

static const char * const cnnacc_stats_names[] = CNNACC_STATS_NAMES;

static void cnnacc_debugfs_stats(struct seq_file *m, struct cnnacc_device *cdev)
{
	u64 counters[CNNACC_COUNTERS];
	unsigned int i, j;

	for (i = 0; i < cdev->core_count; i++) {
		cnnacc_stats_counters(cdev->cores[i], counters);
		seq_puts(m, cdev->cores[i]->name);
		for (j = 0; j < CNNACC_COUNTERS; j++)
			seq_printf(m, " %s=%llu", cnnacc_stats_names[j], counters[j]);
		seq_puts(m, "\n");
	}
}

static void cnnacc_debugfs_show_usage(struct seq_file *m, const struct cnnacc_usage *usage)
{
	seq_printf(m, " jobs=%llu busy_ns=%llu cycles=%llu\n", usage->jobs, usage->busy_ns,
		   usage->cycles);
}

/* The process name comes last, as it may contain any characters. */
static void cnnacc_debugfs_context(struct seq_file *m, struct cnnacc_ctx *ctx)
{
	struct cnnacc_device *cdev = ctx->cdev;
	struct drm_cnnacc_ctx_query status;
	struct cnnacc_usage usage;
	unsigned int i;
	bool busy;

	scoped_guard(spinlock_irq, &ctx->status_lock)
		status = ctx->status;
	scoped_guard(spinlock, &ctx->file->queue_lock)
		busy = ctx->queued;

	seq_printf(m, "ctx %u pid=%d state=%#x dead=%d submitted=%llu failed=%u reset=%u busy=%d comm=",
		   ctx->vm->hw_id, ctx->pid, status.state, READ_ONCE(ctx->dead),
		   READ_ONCE(ctx->seqno), status.failed_jobs, status.reset_jobs, busy);
	seq_escape(m, ctx->comm, " \t\n\\");
	seq_puts(m, "\n");
	for (i = 0; i < cdev->core_count; i++) {
		cnnacc_stats_get(cdev->cores[i], &ctx->usage[i], &usage);
		seq_printf(m, "ctx %u core %s", ctx->vm->hw_id, cdev->cores[i]->name);
		cnnacc_debugfs_show_usage(m, &usage);
	}
}

static void cnnacc_debugfs_contexts(struct seq_file *m, struct cnnacc_device *cdev)
{
	struct cnnacc_ctx *ctx;

	guard(mutex)(&cdev->ctx_lock);
	list_for_each_entry(ctx, &cdev->contexts, link)
		cnnacc_debugfs_context(m, ctx);
}

static void cnnacc_debugfs_queue(struct seq_file *m, struct cnnacc_core *core)
{
	const char *name = core->name;
	struct cnnacc_usage usage;
	struct cnnacc_job *job, *first;
	unsigned int jobs = 0, tasks = 0;

	spin_lock_irq(&core->lock);
	first = cnnacc_core_first_job(core);
	list_for_each_entry(job, &core->jobs, link) {
		if (!job->written)
			break;
		jobs++;
		tasks += job->task_count - job->tasks_done;
	}
	seq_printf(m, "%s enabled=%d ready=%d broken=%d head=%u tail=%u record=%u resets=%llu jobs=%u tasks=%u waiting=%d\n",
		   name, core->enabled, core->ready, core->broken,
		   core->enabled ? cnnacc_queue_read(core, CNNACC_QREG_RING_HEAD) : 0,
		   core->tail, core->head,
		   core->resets, jobs, tasks, !first && !list_empty(&core->jobs));
	if (first)
		seq_printf(m, "%s oldest ctx=%u seqno=%llu fence=%llu:%llu task=%u/%u age_ms=%u\n",
			   name, first->ctx->vm->hw_id, first->seqno, first->fence->base.context,
			   (u64)first->fence->base.seqno, first->tasks_done, first->task_count,
			   jiffies_to_msecs(jiffies - core->job_start));
	spin_unlock_irq(&core->lock);
	cnnacc_stats_get(core, &core->meter.total, &usage);
	seq_printf(m, "%s total", name);
	cnnacc_debugfs_show_usage(m, &usage);
}

static void cnnacc_debugfs_queues(struct seq_file *m, struct cnnacc_device *cdev)
{
	unsigned int i;

	for (i = 0; i < cdev->core_count; i++)
		cnnacc_debugfs_queue(m, cdev->cores[i]);
}

static void cnnacc_debugfs_vm(struct seq_file *m, struct cnnacc_vm *vm)
{
	const struct drm_mm_node *node;
	unsigned int shown = 0;

	/* A VM_BIND holds the lock while it waits for the device. */
	if (!mutex_trylock(&vm->lock)) {
		seq_printf(m, "ctx %u busy\n", vm->hw_id);
		return;
	}
	seq_printf(m, "ctx %u mappings=%u\n", vm->hw_id, vm->mappings);
	if (vm->root)
		drm_mm_for_each_node(node, &vm->mm) {
			if (shown++ == CNNACC_DEBUGFS_RANGES) {
				seq_printf(m, "ctx %u and more\n", vm->hw_id);
				break;
			}
			seq_printf(m, "ctx %u %08llx-%08llx\n", vm->hw_id,
				   node->start << CNNACC_PAGE_SHIFT,
				   ((node->start + node->size) << CNNACC_PAGE_SHIFT) - 1);
		}
	mutex_unlock(&vm->lock);
}

static void cnnacc_debugfs_mm(struct seq_file *m, struct cnnacc_device *cdev)
{
	u64 size = 0, resident = 0;
	unsigned int count = 0;
	struct cnnacc_vm *vm;
	struct cnnacc_bo *bo;

	scoped_guard(mutex, &cdev->ctx_lock)
		list_for_each_entry(vm, &cdev->vms, link)
			cnnacc_debugfs_vm(m, vm);

	scoped_guard(mutex, &cdev->bo_lock) {
		list_for_each_entry(bo, &cdev->bos, link) {
			count++;
			size += bo->base.base.size;
			if (READ_ONCE(bo->base.pages))
				resident += bo->base.base.size;
		}
	}
	seq_printf(m, "buffers count=%u bytes=%llu resident=%llu\n", count, size, resident);
}

/* Used for all files: keeps the device registered and resumed during a read. */
static int cnnacc_debugfs_show(struct seq_file *m, void *data)
{
	void (*show)(struct seq_file *m, struct cnnacc_device *cdev);
	struct drm_debugfs_entry *entry = m->private;
	struct cnnacc_device *cdev = to_cnnacc_device(entry->dev);

	/* Not cnnacc_device_enter(): suspend_lock comes after the locks that @show takes. */
	CLASS(cnnacc_section, section)(&cdev->drm);
	if (section < 0 || cnnacc_pm_get(cdev))
		return -ENODEV;
	show = entry->file.data;
	show(m, cdev);
	cnnacc_pm_put(cdev);
	return 0;
}

static int cnnacc_debugfs_selftest(struct seq_file *m, void *data)
{
	struct drm_debugfs_entry *entry = m->private;

	return cnnacc_selftest(m, to_cnnacc_device(entry->dev));
}

static const struct drm_debugfs_info cnnacc_debugfs_files[] = {
	{ "stats", cnnacc_debugfs_show, 0, cnnacc_debugfs_stats },
	{ "contexts", cnnacc_debugfs_show, 0, cnnacc_debugfs_contexts },
	{ "queues", cnnacc_debugfs_show, 0, cnnacc_debugfs_queues },
	{ "mm", cnnacc_debugfs_show, 0, cnnacc_debugfs_mm },
	{ "selftest", cnnacc_debugfs_selftest },
};

static int cnnacc_debugfs_reset(struct cnnacc_device *cdev, const char *name)
{
	unsigned int i;

	if (!strcmp(name, "device")) {
		cnnacc_device_request_reset(cdev);
		return 0;
	}
	for (i = 0; i < cdev->core_count; i++)
		if (!strcmp(name, cdev->cores[i]->name)) {
			cnnacc_core_force_reset(cdev->cores[i]);
			return 0;
		}
	return -EINVAL;
}

static ssize_t cnnacc_debugfs_force_reset(struct file *file, const char __user *from,
					  size_t count, loff_t *pos)
{
	struct cnnacc_device *cdev = file->private_data;
	char name[sizeof(cdev->cores[0]->name)] = "";
	int ret;

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, count))
		return -EFAULT;
	CLASS(cnnacc_section, section)(&cdev->drm);
	if (section < 0 || cnnacc_pm_get(cdev))
		return -ENODEV;
	ret = cnnacc_debugfs_reset(cdev, strim(name));
	cnnacc_pm_put(cdev);
	return ret ? ret : count;
}

static const struct file_operations cnnacc_debugfs_force_reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = cnnacc_debugfs_force_reset,
};

/* Creates the files of a registered device; its removal deletes them before the cores. */
void cnnacc_debugfs_init(struct cnnacc_device *cdev)
{
	drm_debugfs_add_files(&cdev->drm, cnnacc_debugfs_files, ARRAY_SIZE(cnnacc_debugfs_files));
	debugfs_create_bool("ban", 0600, cdev->drm.debugfs_root, &cdev->ban);
	debugfs_create_file("force_reset", 0200, cdev->drm.debugfs_root, cdev,
			    &cnnacc_debugfs_force_reset_fops);
}
