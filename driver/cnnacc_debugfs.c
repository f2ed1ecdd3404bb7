// SPDX-License-Identifier: GPL-2.0-only
#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>

#include "cnnacc_device.h"

/**
 * DOC: debugfs
 *
 * "regs": every register by name, global and per core; "cores": the discovery table.
 */

static const struct cnnacc_reg_info cnnacc_global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info cnnacc_queue_regs[] = CNNACC_QUEUE_REGS;
static const char * const cnnacc_stats_names[] = CNNACC_STATS_NAMES;

static struct cnnacc_device *cnnacc_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_cnnacc_device(entry->dev);
}

static void cnnacc_debugfs_show_table(struct seq_file *m, const char *prefix, u32 base,
				      const struct cnnacc_reg_info *info, size_t count)
{
	struct cnnacc_device *cdev = cnnacc_debugfs_device(m);
	size_t i;

	for (i = 0; i < count; i++)
		seq_printf(m, "%s%-14s %04x %08x\n", prefix, info[i].name, base + info[i].offset,
			   cnnacc_read(cdev, base + info[i].offset));
}

static void cnnacc_debugfs_show_stats(struct seq_file *m, struct cnnacc_core *core)
{
	u32 at = core->info.queue_offset + CNNACC_QREG_STATS;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cnnacc_stats_names); i++)
		seq_printf(m, "%s %s %llu\n", core->name, cnnacc_stats_names[i],
			   cnnacc_device_read_pair(core->cdev, at + i * 8));
}

static int cnnacc_debugfs_regs(struct seq_file *m, void *data)
{
	struct cnnacc_device *cdev = cnnacc_debugfs_device(m);
	char prefix[24];
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&cdev->drm, &idx))
		return -ENODEV;
	cnnacc_debugfs_show_table(m, "", 0, cnnacc_global_regs, ARRAY_SIZE(cnnacc_global_regs));
	for (i = 0; i < cdev->core_count; i++) {
		snprintf(prefix, sizeof(prefix), "%s ", cdev->cores[i]->name);
		cnnacc_debugfs_show_table(m, prefix, cdev->cores[i]->info.queue_offset,
					  cnnacc_queue_regs, ARRAY_SIZE(cnnacc_queue_regs));
		cnnacc_debugfs_show_stats(m, cdev->cores[i]);
	}
	drm_dev_exit(idx);
	return 0;
}

static int cnnacc_debugfs_cores(struct seq_file *m, void *data)
{
	struct cnnacc_device *cdev = cnnacc_debugfs_device(m);
	const struct drm_cnnacc_core_info *info;
	unsigned int i, j;
	int idx;

	if (!drm_dev_enter(&cdev->drm, &idx))
		return -ENODEV;
	for (i = 0; i < cdev->core_count; i++) {
		info = &cdev->cores[i]->info;
		seq_printf(m, "%s version %u.%u window %x+%x queue %x program_max %u job_cycles_max %llu param",
			   cdev->cores[i]->name, info->version >> 16, info->version & 0xffff,
			   info->window_offset, info->window_size, info->queue_offset,
			   info->program_max, info->job_cycles_max);
		for (j = 0; j < ARRAY_SIZE(info->param); j++)
			seq_printf(m, " %x", info->param[j]);
		seq_puts(m, "\n");
	}
	drm_dev_exit(idx);
	return 0;
}

static const struct drm_debugfs_info cnnacc_debugfs_files[] = {
	{ "regs", cnnacc_debugfs_regs, 0 },
	{ "cores", cnnacc_debugfs_cores, 0 },
};

/**
 * cnnacc_debugfs_init() - Add the files; they appear when the device is registered
 * @cdev: device
 */
void cnnacc_debugfs_init(struct cnnacc_device *cdev)
{
	drm_debugfs_add_files(&cdev->drm, cnnacc_debugfs_files, ARRAY_SIZE(cnnacc_debugfs_files));
}
