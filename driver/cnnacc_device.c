// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"
#include "cnnacc_trace.h"

/**
 * DOC: device
 *
 * The bus-neutral part of a device: identification, reset, TLB invalidation, and the order of
 * bring-up and removal.
 *
 * Lock order, outermost first:
 *
 * - &cnnacc_device.ctx_lock
 * - &cnnacc_vm.lock
 * - &cnnacc_vm.dump_lock, which is also taken where resets run
 * - &cnnacc_device.suspend_lock
 * - &cnnacc_ctx.submit_lock
 * - &cnnacc_device.bo_lock
 * - reservation objects
 * - &cnnacc_ctx.job_lock
 * - &cnnacc_core.lock
 * - &cnnacc_ctx.status_lock, &cnnacc_ctx.event_lock
 * - &cnnacc_device.irq_lock
 * - fence locks
 *
 * A fence is never signalled under &cnnacc_core.lock.  Everything that resets a core or the device
 * runs on the ordered workqueue &cnnacc_device.reset_wq, as do the schedulers' timeouts, so resets
 * need no lock of their own.
 */

#define CNNACC_RESET_TIMEOUT_US		2000000
#define CNNACC_INVALIDATE_TIMEOUT_US	2000000
#define CNNACC_DRAIN_TIMEOUT_US		500000
#define CNNACC_FREE_TIMEOUT_MS		10000

/* Reads a 64-bit register by the offset of its lo half. */
u64 cnnacc_device_read_pair(struct cnnacc_device *cdev, u32 offset)
{
	u64 value;

	scoped_guard(spinlock_irqsave, &cdev->pair_lock) {
		value = cnnacc_read(cdev, offset);
		value |= (u64)cnnacc_read(cdev, offset + 4) << 32;
	}
	return value;
}

/* Reads a 32-bit register; for a hi half the value latched by the last read of its lo half. */
u32 cnnacc_device_read_any(struct cnnacc_device *cdev, u32 offset)
{
	u32 value;

	/* Reading a lo half latches the hi half: not in the middle of a pair read. */
	scoped_guard(spinlock_irqsave, &cdev->pair_lock)
		value = cnnacc_read(cdev, offset);
	return value;
}

/* Has the device been removed from the bus, so that it does not answer? */
bool cnnacc_device_gone(struct cnnacc_device *cdev)
{
	unsigned int tries = 3;

	if (cdev->unpowered)
		return true;
	/* Retry: a single wrong answer may be transient, a removal is permanent. */
	while (tries--)
		if (cnnacc_read(cdev, CNNACC_REG_MAGIC) == CNNACC_MAGIC)
			return false;
	return true;
}

static int cnnacc_device_hw_reset(struct cnnacc_device *cdev)
{
	u32 value;
	int ret;

	if (cdev->unpowered)
		return -ENODEV;
	cnnacc_write(cdev, CNNACC_REG_RESET, 1);
	ret = read_poll_timeout(cnnacc_read, value, !(value & 1) || value == ~0u, 100,
				CNNACC_RESET_TIMEOUT_US, false, cdev, CNNACC_REG_RESET);
	if (!ret && cnnacc_device_gone(cdev))
		ret = -ENODEV;
	return ret;
}

/* Like drm_dev_wedged_event(), which Linux 6.12 lacks and which requires a primary node. */
static void cnnacc_device_wedged_work(struct work_struct *work)
{
	struct cnnacc_device *cdev = container_of(work, struct cnnacc_device, wedged_work);
	struct drm_minor *minor = cdev->drm.accel ? cdev->drm.accel : cdev->drm.primary;
	char *envp[2] = { (char *)cdev->bus->wedged };

	CLASS(cnnacc_section, section)(&cdev->drm);
	if (section >= 0 && READ_ONCE(cdev->wedged))
		kobject_uevent_env(&minor->kdev->kobj, KOBJ_CHANGE, envp);
}

/* Gives the device up: no more jobs start, and it is cut off from memory. */
static void cnnacc_device_wedge(struct cnnacc_device *cdev)
{
	bool before = cdev->wedged;

	cdev->bus->allow_dma(cdev->drm.dev, false);
	WRITE_ONCE(cdev->wedged, true);
	/* In a work item: an uevent allocates memory, and reclaim may wait for our fences. */
	if (!before)
		queue_work(cdev->report_wq, &cdev->wedged_work);
}

static bool cnnacc_device_busy(struct cnnacc_device *cdev)
{
	unsigned int i;

	for (i = 0; i < cdev->core_count; i++)
		if (cnnacc_core_busy(cdev->cores[i]))
			return true;
	return false;
}

/*
 * Gives running jobs a bounded time to end and then disables all queues.  The caller resets the
 * device.
 */
static void cnnacc_device_drain(struct cnnacc_device *cdev)
{
	unsigned int i;
	bool busy;

	for (i = 0; i < cdev->core_count; i++)
		cnnacc_core_pause(cdev->cores[i]);
	if (!cnnacc_device_gone(cdev))
		read_poll_timeout(cnnacc_device_busy, busy, !busy, 1000,
				  CNNACC_DRAIN_TIMEOUT_US, false, cdev);
	for (i = 0; i < cdev->core_count; i++) {
		cnnacc_core_disable(cdev->cores[i]);
		cnnacc_stats_save(cdev->cores[i]);
	}
}

/*
 * Stops the device before it loses power or is reset from outside: it then does no DMA and raises
 * no interrupts.
 */
void cnnacc_device_suspend(struct cnnacc_device *cdev)
{
	cnnacc_device_drain(cdev);
	if (cnnacc_device_hw_reset(cdev))
		cnnacc_device_wedge(cdev);
}

/**
 * cnnacc_device_restart() - Reset a device and resume its queues
 * @cdev: device whose queues are disabled
 *
 * Jobs that were running are run again if they are restartable, else they end as innocent.  Tries
 * to reset a wedged device once more.
 */
void cnnacc_device_restart(struct cnnacc_device *cdev)
{
	bool gone = cnnacc_device_gone(cdev);
	unsigned int i;
	int ret;

	ret = gone ? -ENODEV : cnnacc_device_hw_reset(cdev);
	if (ret) {
		drm_err(&cdev->drm, "the device %s: jobs fail with ENODEV until it is reset or rebound\n",
			gone ? "is gone" : "does not reset");
		cnnacc_device_wedge(cdev);
	} else if (cdev->wedged) {
		cdev->bus->allow_dma(cdev->drm.dev, true);
		WRITE_ONCE(cdev->wedged, false);
	}
	atomic_inc(&cdev->reset_gen);

	for (i = 0; i < cdev->core_count; i++) {
		cnnacc_core_cancel_jobs(cdev->cores[i],
					ret ? CNNACC_END_GONE : CNNACC_END_INNOCENT);
		if (!ret)
			ret = cnnacc_core_enable(cdev->cores[i]);
	}
	if (ret) {
		cnnacc_device_wedge(cdev);
		for (i = 0; i < cdev->core_count; i++)
			cnnacc_core_cancel_jobs(cdev->cores[i], CNNACC_END_GONE);
		return;
	}
	cnnacc_irq_enable(cdev);
	for (i = 0; i < cdev->core_count; i++)
		cnnacc_core_resume(cdev->cores[i]);
}

/* Resets the device, if the reset of a core failed; on &cnnacc_device.reset_wq only. */
void cnnacc_device_reset(struct cnnacc_device *cdev)
{
	if (cdev->wedged)
		return;

	dev_warn_ratelimited(cdev->drm.dev, "reset of the device\n");
	trace_cnnacc_reset(cdev, -1, atomic64_read(&cdev->reset_count) + 1);
	cnnacc_device_drain(cdev);
	atomic64_inc(&cdev->reset_count);
	cnnacc_device_restart(cdev);
}

static void cnnacc_device_reset_work(struct work_struct *work)
{
	struct cnnacc_device *cdev = container_of(work, struct cnnacc_device, reset_work);
	bool cookie;

	CLASS(cnnacc_section, section)(&cdev->drm);
	if (section < 0 || cnnacc_pm_get(cdev))
		return;
	cookie = dma_fence_begin_signalling();
	cnnacc_device_reset(cdev);
	dma_fence_end_signalling(cookie);
	cnnacc_pm_put(cdev);
}

/*
 * Resets the device and waits until that is done.  The caller is not between cnnacc_device_enter()
 * and cnnacc_device_exit().
 */
void cnnacc_device_request_reset(struct cnnacc_device *cdev)
{
	queue_work(cdev->reset_wq, &cdev->reset_work);
	flush_work(&cdev->reset_work);
}

static bool cnnacc_device_invalidated(struct cnnacc_device *cdev, u32 seq, int gen)
{
	/* The device ignores INVALIDATE during a reset, but the reset drops all translations. */
	if (cnnacc_read(cdev, CNNACC_REG_RESET) & 1)
		return false;
	return (s32)(cnnacc_read(cdev, CNNACC_REG_INV_DONE) - seq) >= 0 ||
	       atomic_read(&cdev->reset_gen) != gen;
}

/* If the device is unplugged, cnnacc_device_stop() is running and completes it in bounded time. */
static void cnnacc_device_wait_dma_stopped(struct cnnacc_device *cdev)
{
	if (drm_dev_is_unplugged(&cdev->drm))
		wait_for_completion_timeout(&cdev->dma_stopped,
					    msecs_to_jiffies(CNNACC_FREE_TIMEOUT_MS));
}

/**
 * cnnacc_device_invalidate() - Invalidate the TLB entries of a context
 * @cdev: device; the caller is not between cnnacc_device_enter() and cnnacc_device_exit()
 * @hw_id: hardware id of the context
 * @flags: CNNACC_INVALIDATE_RETIRE if the context is being destroyed, else 0
 *
 * When this returns the device no longer uses page table entries that were changed before the
 * call.  If the invalidation times out, the device is reset.
 */
void cnnacc_device_invalidate(struct cnnacc_device *cdev, u32 hw_id, u32 flags)
{
	int gen = atomic_read(&cdev->reset_gen), idx, ret = 0;
	bool done;
	u32 seq;

	if (cnnacc_device_enter(cdev, &idx)) {
		/* Otherwise it is suspended and has no translations. */
		cnnacc_device_wait_dma_stopped(cdev);
		return;
	}
	if (!READ_ONCE(cdev->wedged)) {
		scoped_guard(spinlock, &cdev->inv_lock) {
			cnnacc_write(cdev, CNNACC_REG_INVALIDATE, hw_id | flags);
			seq = cnnacc_read(cdev, CNNACC_REG_INV_SEQ);
		}
		ret = read_poll_timeout(cnnacc_device_invalidated, done, done, 50,
					CNNACC_INVALIDATE_TIMEOUT_US, false, cdev, seq, gen);
	}
	cnnacc_device_exit(cdev, idx);
	if (ret) {
		drm_err(&cdev->drm, "TLB invalidation of context %u timed out, resetting the device\n",
			hw_id);
		cnnacc_device_request_reset(cdev);
		/* The reset work does nothing once the device is unplugged. */
		cnnacc_device_wait_dma_stopped(cdev);
	}
}

static int cnnacc_device_identify(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;
	u32 magic = cnnacc_read(cdev, CNNACC_REG_MAGIC);

	if (magic != CNNACC_MAGIC)
		return dev_err_probe(dev, -ENODEV, "not a cnnacc device: magic %#x%s\n", magic,
				     magic == ~0u ? ": no power, or registers not decoded" : "");
	cdev->hw_version = cnnacc_read(cdev, CNNACC_REG_HW_VERSION);
	if (cdev->hw_version >> 16 != CNNACC_HW_VERSION >> 16)
		return dev_err_probe(dev, -ENODEV,
				     "hardware version %#x not supported, the driver supports %u.x\n",
				     cdev->hw_version, CNNACC_HW_VERSION >> 16);
	cdev->features = cnnacc_read(cdev, CNNACC_REG_FEATURES);
	cdev->clock_hz = cnnacc_read(cdev, CNNACC_REG_CLOCK_HZ);
	cdev->core_count = cnnacc_read(cdev, CNNACC_REG_CORE_COUNT);
	if (cdev->core_count < 1 || cdev->core_count > CNNACC_MAX_CORES)
		return dev_err_probe(dev, -ENODEV, "%u cores, supported are 1 to %u\n",
				     cdev->core_count, CNNACC_MAX_CORES);
	return 0;
}

/* DMA through bounce buffers (swiotlb) is not coherent, even if the device is. */
static int cnnacc_device_check_coherence(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;
	dma_addr_t dma;

	void *page __free(kfree) = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	dma = dma_map_single(dev, page, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, dma))
		return dev_err_probe(dev, -EIO, "cannot map a page for DMA\n");
	if (dma_need_sync(dev, dma) || dma_addressing_limited(dev))
		cdev->features &= ~CNNACC_FEATURE_COHERENT;
	dma_unmap_single(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	return 0;
}

static void cnnacc_device_destroy_queues(struct drm_device *drm, void *unused)
{
	struct cnnacc_device *cdev = to_cnnacc_device(drm);
	struct workqueue_struct *queues[] = {
		cdev->free_wq, cdev->report_wq, cdev->reset_wq, cdev->sched_wq,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		if (queues[i])
			destroy_workqueue(queues[i]);
}

static int cnnacc_device_init_software(struct cnnacc_device *cdev)
{
	int ret;

	spin_lock_init(&cdev->pair_lock);
	spin_lock_init(&cdev->irq_lock);
	spin_lock_init(&cdev->inv_lock);
	ida_init(&cdev->hw_ids);
	INIT_LIST_HEAD(&cdev->contexts);
	INIT_LIST_HEAD(&cdev->vms);
	INIT_LIST_HEAD(&cdev->users);
	INIT_LIST_HEAD(&cdev->bos);
	init_waitqueue_head(&cdev->idle);
	init_completion(&cdev->dma_stopped);
	INIT_WORK(&cdev->reset_work, cnnacc_device_reset_work);
	INIT_WORK(&cdev->wedged_work, cnnacc_device_wedged_work);
	INIT_WORK(&cdev->suspend_work, cnnacc_pm_suspend_work);
	init_rwsem(&cdev->suspend_lock);
	init_completion(&cdev->stopped);
	init_completion(&cdev->resume);
	ret = drmm_mutex_init(&cdev->drm, &cdev->ctx_lock) ?:
	      drmm_mutex_init(&cdev->drm, &cdev->user_lock) ?:
	      drmm_mutex_init(&cdev->drm, &cdev->bo_lock) ?:
	      drmm_mutex_init(&cdev->drm, &cdev->pause_lock);
	return ret ?: cnnacc_dump_init(cdev);
}

static int cnnacc_device_init_queues(struct cnnacc_device *cdev)
{
	int ret;

	/*
	 * Per CPU: the submitter goes to sleep, so its own CPU is the nearest idle one.  At high
	 * priority: a job starts while the submitter is still on its way to sleep.
	 */
	cdev->sched_wq = alloc_workqueue("cnnacc-sched",
					 WQ_MEM_RECLAIM | WQ_PERCPU | WQ_HIGHPRI, 0);
	cdev->reset_wq = alloc_ordered_workqueue("cnnacc-reset", WQ_MEM_RECLAIM);
	cdev->report_wq = alloc_workqueue("cnnacc-report", WQ_UNBOUND, 0);
	/* Few workers: each waits for the device only. */
	cdev->free_wq = alloc_workqueue("cnnacc-free", WQ_UNBOUND, 4);
	ret = drmm_add_action_or_reset(&cdev->drm, cnnacc_device_destroy_queues, NULL);
	if (ret)
		return ret;
	return cdev->sched_wq && cdev->reset_wq && cdev->report_wq && cdev->free_wq ? 0 : -ENOMEM;
}

static void cnnacc_device_free_cores(struct cnnacc_device *cdev)
{
	unsigned int i;

	for (i = 0; i < cdev->core_count; i++) {
		if (cdev->cores[i])
			cnnacc_core_destroy(cdev->cores[i]);
		cdev->cores[i] = NULL;
	}
}

/* When this returns, neither interrupt handlers nor resets use the cores. */
static void cnnacc_device_quiesce(struct cnnacc_device *cdev)
{
	unsigned int i;

	cnnacc_irq_fini(cdev);
	for (i = 0; i < cdev->core_count; i++)
		if (cdev->cores[i]) {
			cancel_work_sync(&cdev->cores[i]->done_work);
			cnnacc_core_disable(cdev->cores[i]);
		}
	flush_workqueue(cdev->reset_wq);
}

/**
 * cnnacc_device_create() - Allocate and identify a device, without starting it
 * @dev: bus device
 * @regs: mapped registers
 * @bus: bus operations
 *
 * Return: the device, or an error pointer
 */
struct cnnacc_device *cnnacc_device_create(struct device *dev, void __iomem *regs,
					   const struct cnnacc_bus *bus)
{
	struct cnnacc_device *cdev;
	int ret;

	cdev = devm_drm_dev_alloc(dev, &cnnacc_drm_driver, struct cnnacc_device, drm);
	if (IS_ERR(cdev))
		return cdev;
	cdev->regs = regs;
	cdev->ban = true;
	cdev->bus = bus;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(CNNACC_BUS_ADDR_BITS));
	if (ret) {
		dev_err_probe(dev, ret, "cannot set a %u-bit DMA mask\n", CNNACC_BUS_ADDR_BITS);
		return ERR_PTR(ret);
	}
	dma_set_max_seg_size(dev, UINT_MAX);

	ret = cnnacc_device_identify(cdev);
	if (ret)
		return ERR_PTR(ret);
	ret = cnnacc_device_check_coherence(cdev);
	if (ret)
		return ERR_PTR(ret);
	ret = cnnacc_device_init_software(cdev);
	if (!ret)
		ret = cnnacc_device_init_queues(cdev);
	return ret ? ERR_PTR(ret) : cdev;
}

static int cnnacc_device_init_cores(struct cnnacc_device *cdev)
{
	struct cnnacc_core *core;
	unsigned int i;
	u64 cycles = 0;

	for (i = 0; i < cdev->core_count; i++) {
		core = cnnacc_core_create(cdev, i);
		if (IS_ERR(core))
			return PTR_ERR(core);
		cdev->cores[i] = core;
		cycles = max(cycles, core->info.job_cycles_max);
	}
	cdev->max_queued_cycles = min(cycles, CNNACC_CYCLES_MAX) * CNNACC_MAX_QUEUED;
	cnnacc_balance_init(cdev);
	return 0;
}

static int cnnacc_device_run(struct cnnacc_device *cdev)
{
	unsigned int i;
	int ret;

	for (i = 0; i < cdev->core_count; i++) {
		ret = cnnacc_core_enable(cdev->cores[i]);
		if (ret)
			return ret;
		cnnacc_core_resume(cdev->cores[i]);
	}
	cnnacc_irq_enable(cdev);
	ret = drm_dev_register(&cdev->drm, 0);
	if (!ret)
		cnnacc_debugfs_init(cdev);
	return ret;
}

/* Resets a device, starts its cores and registers it; after an error nothing is left running. */
int cnnacc_device_start(struct cnnacc_device *cdev)
{
	int ret;

	ret = cnnacc_device_hw_reset(cdev);
	if (ret)
		return dev_err_probe(cdev->drm.dev, ret, "the device does not reset\n");
	ret = cnnacc_device_init_cores(cdev);
	if (!ret)
		ret = cnnacc_irq_init(cdev);
	if (!ret)
		ret = cnnacc_device_run(cdev);
	if (ret) {
		cnnacc_device_quiesce(cdev);
		cnnacc_device_hw_reset(cdev);
		cnnacc_device_free_cores(cdev);
	}
	return ret;
}

/**
 * cnnacc_device_stop() - Unregister a device and release its resources
 * @cdev: device
 *
 * Files may stay open: from now on their ioctls return -ENODEV, their fences are signalled, and
 * their mappings stay valid.
 */
void cnnacc_device_stop(struct cnnacc_device *cdev)
{
	unsigned int i;

	drm_dev_unplug(&cdev->drm);
	cnnacc_device_quiesce(cdev);
	if (cnnacc_device_hw_reset(cdev))
		cnnacc_device_wedge(cdev);
	WRITE_ONCE(cdev->wedged, true);
	complete_all(&cdev->dma_stopped);
	for (i = 0; i < cdev->core_count; i++)
		cnnacc_core_cancel_jobs(cdev->cores[i], CNNACC_END_GONE);
	flush_work(&cdev->dump_work);	/* no more resets run */

	cnnacc_ctx_kill_all(cdev);
	/* Queued jobs wait for the fences that they depend on, also for those of other devices. */
	wait_event_idle(cdev->idle, !atomic_read(&cdev->job_count));
	synchronize_rcu();		/* for cnnacc_ctx_remove_job() */
	cnnacc_vm_fini_all(cdev);
	cnnacc_gem_unmap_all(cdev);
	cnnacc_device_free_cores(cdev);
}
