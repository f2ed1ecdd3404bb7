// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "cnnacc_device.h"

/**
 * DOC: core
 *
 * Creation of a core: reads its discovery entry, allocates its rings, initialises its scheduler.
 */

static_assert(sizeof_field(struct drm_cnnacc_core_info, name) == CNNACC_CORE_NAME_LEN);
static_assert(sizeof_field(struct drm_cnnacc_core_info, param) == CNNACC_CORE_PARAMS * 4);

/* The name is part of fdinfo keys, debugfs lines and messages, so its characters are limited. */
static bool cnnacc_core_name_valid(const char name[CNNACC_CORE_NAME_LEN])
{
	size_t len;

	if (name[CNNACC_CORE_NAME_LEN - 1])
		return false;
	len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return len && !memchr_inv(name + len, 0, CNNACC_CORE_NAME_LEN - len);
}

static int cnnacc_core_discover(struct cnnacc_core *core)
{
	struct cnnacc_device *cdev = core->cdev;
	struct drm_cnnacc_core_info *info = &core->info;
	const struct cnnacc_core_entry *entry = &core->entry;
	u64 at = cnnacc_read(cdev, CNNACC_REG_CORE_TABLE) +
		 (u64)core->index * CNNACC_CORE_ENTRY_SIZE;
	__le32 *words = (__le32 *)&core->entry;
	unsigned int i;

	if (at % 4 || at > CNNACC_REGS_SIZE - CNNACC_CORE_ENTRY_SIZE)
		return -ENODEV;
	for (i = 0; i < CNNACC_CORE_ENTRY_SIZE / 4; i++)
		words[i] = cpu_to_le32(cnnacc_read(cdev, at + i * 4));

	info->type = le32_to_cpu(entry->type);
	info->version = le32_to_cpu(entry->version);
	info->window_offset = le32_to_cpu(entry->window_offset);
	info->window_size = le32_to_cpu(entry->window_size);
	info->queue_offset = le32_to_cpu(entry->queue_offset);
	info->program_max = le32_to_cpu(entry->program_max);
	info->job_cycles_max = le32_to_cpu(entry->job_cycles_max_lo) |
			       (u64)le32_to_cpu(entry->job_cycles_max_hi) << 32;
	memcpy(info->name, entry->name, sizeof(info->name));
	for (i = 0; i < ARRAY_SIZE(info->param); i++)
		info->param[i] = le32_to_cpu(entry->param[i]);

	if ((info->queue_offset | info->window_offset | info->window_size) % 4 ||
	    info->queue_offset > CNNACC_REGS_SIZE - CNNACC_QREG_BLOCK_SIZE ||
	    info->window_size > CNNACC_REGS_SIZE ||
	    info->window_offset > CNNACC_REGS_SIZE - info->window_size ||
	    !cnnacc_core_name_valid(info->name) || info->program_max < 4 ||
	    !info->job_cycles_max || info->job_cycles_max > S64_MAX)
		return -ENODEV;

	snprintf(core->name, sizeof(core->name), "%s.%u", info->name, core->index);
	return 0;
}

/* The rings are freed after the driver has left the device. */
static int cnnacc_core_alloc_rings(struct cnnacc_core *core)
{
	struct device *dev = core->cdev->drm.dev;

	core->ring = dmam_alloc_coherent(dev, CNNACC_RING_ENTRIES * sizeof(*core->ring),
					 &core->ring_dma, GFP_KERNEL);
	core->records = dmam_alloc_coherent(dev, CNNACC_RING_ENTRIES * sizeof(*core->records),
					    &core->records_dma, GFP_KERNEL);
	return core->ring && core->records ? 0 : -ENOMEM;
}

/* Frees a core, for kref_put() of &cnnacc_core.ref. */
void cnnacc_core_release(struct kref *ref)
{
	kfree(container_of(ref, struct cnnacc_core, ref));
}

/* Returns a new core, discovered and whose queue is not enabled yet, or an error pointer. */
struct cnnacc_core *cnnacc_core_create(struct cnnacc_device *cdev, unsigned int index)
{
	struct device *dev = cdev->drm.dev;
	struct cnnacc_core *core;
	unsigned int i;
	int ret;

	core = kzalloc(sizeof(*core), GFP_KERNEL);
	if (!core)
		return ERR_PTR(-ENOMEM);
	kref_init(&core->ref);
	core->cdev = cdev;
	core->index = index;
	core->next_fence = 1;
	spin_lock_init(&core->fence_lock);
	spin_lock_init(&core->lock);
	INIT_WORK(&core->reset_work, cnnacc_core_reset_work);
	INIT_DELAYED_WORK(&core->event_work, cnnacc_core_event_work);
	INIT_LIST_HEAD(&core->innocent);
	INIT_LIST_HEAD(&core->jobs);
	INIT_WORK(&core->done_work, cnnacc_irq_core_work);
	for (i = 0; i < ARRAY_SIZE(core->queues); i++)
		INIT_LIST_HEAD(&core->queues[i]);
	core->yielded = jiffies;

	ret = cnnacc_core_discover(core);
	if (ret)
		dev_err_probe(dev, ret, "core %u: bad discovery entry\n", index);
	ret = ret ?: cnnacc_core_alloc_rings(core) ?: cnnacc_sched_init(core);
	if (ret) {
		kref_put(&core->ref, cnnacc_core_release);
		return ERR_PTR(ret);
	}
	return core;
}

/* Frees the scheduler of a core without jobs and entities, and drops the device's reference. */
void cnnacc_core_destroy(struct cnnacc_core *core)
{
	cancel_delayed_work_sync(&core->event_work);
	drm_sched_fini(&core->sched);
	kref_put(&core->ref, cnnacc_core_release);
}
