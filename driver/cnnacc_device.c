// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "compat/cnnacc_compat.h"
#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"
#include "cnnacc_pm.h"
#include "cnnacc_trace.h"

/**
 * DOC: device
 *
 * The bus-neutral part of a device: discovery, reset, forgetting of translations,
 * and the order in which everything comes up and goes away.
 *
 * Lock order, outermost first:
 *
 * - &cnnacc_vm.lock
 * - &cnnacc_vm.dump_lock, which is also taken where resets run
 * - &cnnacc_device.away_lock
 * - &cnnacc_device.ctx_lock
 * - &cnnacc_ctx.submit_lock
 * - &cnnacc_device.bo_lock
 * - reservation objects
 * - &cnnacc_ctx.job_lock
 * - &cnnacc_core.lock
 * - &cnnacc_ctx.status_lock, &cnnacc_ctx.event_lock
 * - fence locks
 *
 * A fence is never signalled under &cnnacc_core.lock.  Whatever resets a core or
 * the device runs on the ordered workqueue &cnnacc_device.reset_wq, as do the
 * schedulers' timeouts, so resets need no lock of their own.
 */

#define CNNACC_RESET_TIMEOUT_US		2000000
#define CNNACC_INVALIDATE_TIMEOUT_US	2000000
#define CNNACC_DRAIN_TIMEOUT_US		500000
#define CNNACC_FREE_TIMEOUT_MS		10000

/**
 * cnnacc_device_read_pair() - Read a 64-bit register
 * @cdev: device
 * @offset: offset of its lo half
 *
 * Return: its value
 */
u64 cnnacc_device_read_pair(struct cnnacc_device *cdev, u32 offset)
{
	unsigned long flags;
	u64 value;

	spin_lock_irqsave(&cdev->pair_lock, flags);
	value = cnnacc_read(cdev, offset);
	value |= (u64)cnnacc_read(cdev, offset + 4) << 32;
	spin_unlock_irqrestore(&cdev->pair_lock, flags);
	return value;
}

/**
 * cnnacc_device_read_any() - Read a register that may be half of a pair
 * @cdev: device
 * @offset: its offset
 *
 * Return: its value; a hi half's is what the lo half that was read last has latched
 */
u32 cnnacc_device_read_any(struct cnnacc_device *cdev, u32 offset)
{
	unsigned long flags;
	u32 value;

	/* Nobody's pair is torn apart by what this latches. */
	spin_lock_irqsave(&cdev->pair_lock, flags);
	value = cnnacc_read(cdev, offset);
	spin_unlock_irqrestore(&cdev->pair_lock, flags);
	return value;
}

/**
 * cnnacc_device_lost() - Has the device vanished from the bus?
 * @cdev: device
 *
 * Return: true if it does not answer any more
 */
bool cnnacc_device_lost(struct cnnacc_device *cdev)
{
	unsigned int tries = 3;

	/* To be gone is for good, a wrong answer may not be. */
	while (tries--)
		if (cnnacc_read(cdev, CNNACC_REG_MAGIC) == CNNACC_MAGIC)
			return false;
	return true;
}

static int cnnacc_device_hw_reset(struct cnnacc_device *cdev)
{
	u32 value;
	int ret;

	cnnacc_write(cdev, CNNACC_REG_RESET, 1);
	ret = read_poll_timeout(cnnacc_read, value, !(value & 1) || value == ~0u, 100,
				CNNACC_RESET_TIMEOUT_US, false, cdev, CNNACC_REG_RESET);
	if (!ret && cnnacc_device_lost(cdev))
		ret = -ENODEV;
	return ret;
}

/* As drm_dev_wedged_event() does, which 6.12 lacks and which wants a primary node. */
static void cnnacc_device_wedged_work(struct work_struct *work)
{
	struct cnnacc_device *cdev = container_of(work, struct cnnacc_device, wedged_work);
	struct drm_minor *minor = cdev->drm.accel ? cdev->drm.accel : cdev->drm.primary;
	char methods[] = "WEDGED=rebind,bus-reset";
	char *envp[2] = { methods };
	int idx;

	if (!drm_dev_enter(&cdev->drm, &idx))
		return;
	if (READ_ONCE(cdev->wedged))
		kobject_uevent_env(&minor->kdev->kobj, KOBJ_CHANGE, envp);
	drm_dev_exit(idx);
}

/* Nothing starts any more, and the device cannot reach memory. */
static void cnnacc_device_wedge(struct cnnacc_device *cdev)
{
	bool before = cdev->wedged;

	cdev->bus->allow_dma(cdev->drm.dev, false);
	WRITE_ONCE(cdev->wedged, true);
	/* Later, as an event takes memory, for which fences may be waited. */
	if (!before)
		queue_work(cdev->ctx_wq, &cdev->wedged_work);
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
 * Jobs that run get a bounded time to end; then nobody looks at the queues any more.  A reset
 * of the device is next.
 */
static void cnnacc_device_settle(struct cnnacc_device *cdev)
{
	unsigned int i;
	bool busy;

	for (i = 0; i < cdev->core_count; i++)
		cnnacc_core_hold(cdev->cores[i]);
	if (!cnnacc_device_lost(cdev))
		read_poll_timeout(cnnacc_device_busy, busy, !busy, 1000,
				  CNNACC_DRAIN_TIMEOUT_US, false, cdev);
	for (i = 0; i < cdev->core_count; i++) {
		cnnacc_core_disable(cdev->cores[i]);
		cnnacc_stats_save(cdev->cores[i]);
	}
}

/**
 * cnnacc_device_halt() - Stop the device, for it to sleep or to be reset from outside
 * @cdev: device
 *
 * When this returns it does no DMA and raises no interrupt.
 */
void cnnacc_device_halt(struct cnnacc_device *cdev)
{
	cnnacc_device_settle(cdev);
	if (cnnacc_device_hw_reset(cdev))
		cnnacc_device_wedge(cdev);
	cnnacc_irq_sync(cdev);
}

/**
 * cnnacc_device_revive() - Reset a device whose queues nobody looks at, and go on
 * @cdev: device
 *
 * Jobs that were running are run again if they are restartable, or lost.  A device that was
 * given up gets another chance.
 */
void cnnacc_device_revive(struct cnnacc_device *cdev)
{
	bool lost = cnnacc_device_lost(cdev);
	unsigned int i;
	int ret;

	ret = lost ? -ENODEV : cnnacc_device_hw_reset(cdev);
	if (ret) {
		drm_err(&cdev->drm, "the device %s, giving up on it\n",
			lost ? "is gone" : "does not reset");
		cnnacc_device_wedge(cdev);
	} else if (cdev->wedged) {
		cdev->bus->allow_dma(cdev->drm.dev, true);
		WRITE_ONCE(cdev->wedged, false);
	}
	atomic_inc(&cdev->reset_gen);

	for (i = 0; i < cdev->core_count; i++) {
		cnnacc_core_cancel(cdev->cores[i], ret ? CNNACC_END_GONE : CNNACC_END_LOST);
		if (!ret)
			ret = cnnacc_core_enable(cdev->cores[i]);
	}
	if (ret) {
		cnnacc_device_wedge(cdev);
		for (i = 0; i < cdev->core_count; i++)
			cnnacc_core_cancel(cdev->cores[i], CNNACC_END_GONE);
		return;
	}
	cnnacc_irq_enable(cdev);
	for (i = 0; i < cdev->core_count; i++)
		cnnacc_core_resume(cdev->cores[i]);
}

/**
 * cnnacc_device_reset() - Reset the device, when resetting a core did not help
 * @cdev: device
 *
 * Runs on &cnnacc_device.reset_wq only.
 */
void cnnacc_device_reset(struct cnnacc_device *cdev)
{
	if (cdev->wedged)
		return;

	dev_warn_ratelimited(cdev->drm.dev, "resetting the device\n");
	trace_cnnacc_reset(cdev, -1, atomic64_read(&cdev->reset_count) + 1);
	cnnacc_device_settle(cdev);
	atomic64_inc(&cdev->reset_count);
	cnnacc_device_revive(cdev);
}

static void cnnacc_device_reset_work(struct work_struct *work)
{
	struct cnnacc_device *cdev = container_of(work, struct cnnacc_device, reset_work);
	bool cookie;
	int idx;

	if (!drm_dev_enter(&cdev->drm, &idx))
		return;
	if (!cnnacc_pm_get(cdev)) {
		cookie = dma_fence_begin_signalling();
		cnnacc_device_reset(cdev);
		dma_fence_end_signalling(cookie);
		cnnacc_pm_put(cdev);
	}
	drm_dev_exit(idx);
}

/**
 * cnnacc_device_request_reset() - Reset the device and wait until that is done
 * @cdev: device, not entered
 */
void cnnacc_device_request_reset(struct cnnacc_device *cdev)
{
	queue_work(cdev->reset_wq, &cdev->reset_work);
	flush_work(&cdev->reset_work);
}

static bool cnnacc_device_invalidated(struct cnnacc_device *cdev, u32 seq, int gen)
{
	/* An INVALIDATE written during a reset was not taken: the reset does its work. */
	if (cnnacc_read(cdev, CNNACC_REG_RESET) & 1)
		return false;
	return (s32)(cnnacc_read(cdev, CNNACC_REG_INV_DONE) - seq) >= 0 ||
	       atomic_read(&cdev->reset_gen) != gen;
}

/* cnnacc_device_stop() is at work and gets there in bounded time. */
static void cnnacc_device_wait_silent(struct cnnacc_device *cdev)
{
	wait_for_completion_timeout(&cdev->silent, msecs_to_jiffies(CNNACC_FREE_TIMEOUT_MS));
}

/**
 * cnnacc_device_invalidate() - Have the device forget a context's translations
 * @cdev: device, not entered
 * @hw_id: the context's hardware id
 * @flags: CNNACC_INVALIDATE_RETIRE if the context goes away, else 0
 *
 * When this returns the device uses none of the entries that the context's tables
 * held before, even if that took a reset of the device.
 */
void cnnacc_device_invalidate(struct cnnacc_device *cdev, u32 hw_id, u32 flags)
{
	int gen = atomic_read(&cdev->reset_gen), idx, ret = 0;
	bool done;
	u32 seq;

	if (cnnacc_device_enter(cdev, &idx)) {
		/* Else it is asleep. */
		if (drm_dev_is_unplugged(&cdev->drm))
			cnnacc_device_wait_silent(cdev);
		return;
	}
	if (!READ_ONCE(cdev->wedged)) {
		spin_lock(&cdev->inv_lock);
		cnnacc_write(cdev, CNNACC_REG_INVALIDATE, hw_id | flags);
		seq = cnnacc_read(cdev, CNNACC_REG_INV_SEQ);
		spin_unlock(&cdev->inv_lock);
		ret = read_poll_timeout(cnnacc_device_invalidated, done, done, 50,
					CNNACC_INVALIDATE_TIMEOUT_US, false, cdev, seq, gen);
	}
	cnnacc_device_exit(cdev, idx);
	if (ret) {
		drm_err(&cdev->drm, "translations of context %u stay in use\n", hw_id);
		cnnacc_device_request_reset(cdev);
		/* Then there may have been no reset. */
		if (drm_dev_is_unplugged(&cdev->drm))
			cnnacc_device_wait_silent(cdev);
	}
}

static int cnnacc_device_identify(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;
	u32 magic = cnnacc_read(cdev, CNNACC_REG_MAGIC);

	if (magic != CNNACC_MAGIC)
		return dev_err_probe(dev, -ENODEV, "no cnnacc here: magic %#x%s\n", magic,
				     magic == ~0u ? ": no power, or BAR not decoded" : "");
	cdev->hw_version = cnnacc_read(cdev, CNNACC_REG_HW_VERSION);
	if (cdev->hw_version >> 16 != CNNACC_HW_VERSION >> 16)
		return dev_err_probe(dev, -ENODEV, "hardware version %#x not supported\n",
				     cdev->hw_version);
	cdev->features = cnnacc_read(cdev, CNNACC_REG_FEATURES);
	cdev->clock_hz = cnnacc_read(cdev, CNNACC_REG_CLOCK_HZ);
	cdev->core_count = cnnacc_read(cdev, CNNACC_REG_CORE_COUNT);
	if (cdev->core_count < 1 || cdev->core_count > CNNACC_MAX_CORES)
		return dev_err_probe(dev, -ENODEV, "%u cores\n", cdev->core_count);
	return 0;
}

/* Bounce buffers break coherence whatever the device says. */
static int cnnacc_device_check_coherence(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;
	dma_addr_t dma;
	void *page;

	page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	dma = dma_map_single(dev, page, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, dma)) {
		free_page((unsigned long)page);
		return dev_err_probe(dev, -EIO, "memory cannot be mapped for the device\n");
	}
	if (dma_need_sync(dev, dma) || dma_addressing_limited(dev))
		cdev->features &= ~CNNACC_FEATURE_COHERENT;
	dma_unmap_single(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	free_page((unsigned long)page);
	return 0;
}

static void cnnacc_device_destroy_wq(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

static int cnnacc_device_init_software(struct cnnacc_device *cdev)
{
	int ret;

	spin_lock_init(&cdev->pair_lock);
	spin_lock_init(&cdev->inv_lock);
	ida_init(&cdev->ctx_ids);
	INIT_LIST_HEAD(&cdev->contexts);
	INIT_LIST_HEAD(&cdev->bos);
	init_waitqueue_head(&cdev->idle);
	init_completion(&cdev->silent);
	INIT_WORK(&cdev->reset_work, cnnacc_device_reset_work);
	INIT_WORK(&cdev->wedged_work, cnnacc_device_wedged_work);
	cnnacc_dump_init(cdev);
	INIT_WORK(&cdev->away_work, cnnacc_pm_away_work);
	init_rwsem(&cdev->away_lock);
	init_completion(&cdev->left);
	init_completion(&cdev->back);
	ret = drmm_mutex_init(&cdev->drm, &cdev->ctx_lock);
	if (!ret)
		ret = drmm_mutex_init(&cdev->drm, &cdev->bo_lock);
	if (ret)
		return ret;

	/* Not unbound: the submitter goes to sleep, so its CPU is the nearest that is free. */
	cdev->sched_wq = alloc_workqueue("cnnacc-sched", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!cdev->sched_wq)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&cdev->drm, cnnacc_device_destroy_wq, cdev->sched_wq);
	if (ret)
		return ret;
	cdev->reset_wq = alloc_ordered_workqueue("cnnacc-reset", WQ_MEM_RECLAIM);
	if (!cdev->reset_wq)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&cdev->drm, cnnacc_device_destroy_wq, cdev->reset_wq);
	if (ret)
		return ret;
	cdev->ctx_wq = alloc_workqueue("cnnacc-ctx", WQ_UNBOUND, 0);
	if (!cdev->ctx_wq)
		return -ENOMEM;
	return drmm_add_action_or_reset(&cdev->drm, cnnacc_device_destroy_wq, cdev->ctx_wq);
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

/* After this nobody looks at the cores: no interrupts, nor what they had others do. */
static void cnnacc_device_quiesce(struct cnnacc_device *cdev)
{
	unsigned int i;

	cnnacc_irq_fini(cdev);
	for (i = 0; i < cdev->core_count; i++)
		if (cdev->cores[i])
			cnnacc_core_disable(cdev->cores[i]);
	synchronize_rcu();
	flush_workqueue(cdev->reset_wq);
}

/**
 * cnnacc_device_create() - Make a device that does not run yet
 * @dev: its struct device
 * @regs: its register pages
 * @bus: what its bus does
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
	cdev->bus = bus;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(CNNACC_BUS_ADDR_BITS));
	if (ret) {
		dev_err_probe(dev, ret, "no %u-bit bus addresses\n", CNNACC_BUS_ADDR_BITS);
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
	return ret ? ERR_PTR(ret) : cdev;
}

static int cnnacc_device_init_cores(struct cnnacc_device *cdev)
{
	struct cnnacc_core *core;
	unsigned int i;

	for (i = 0; i < cdev->core_count; i++) {
		core = cnnacc_core_create(cdev, i);
		if (IS_ERR(core))
			return PTR_ERR(core);
		cdev->cores[i] = core;
	}
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

/**
 * cnnacc_device_start() - Reset a device, bring its cores up and register it
 * @cdev: device
 *
 * Return: 0 or a negative error code, after which nothing is left running
 */
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
		ret = cnnacc_selftest(cdev);
	if (!ret)
		ret = cnnacc_device_hw_reset(cdev);
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
 * cnnacc_device_stop() - Unregister a device and let go of everything it uses
 * @cdev: device
 *
 * Files may stay open: their ioctls return -ENODEV from now on, their fences are
 * signalled, their mappings stay usable.
 */
void cnnacc_device_stop(struct cnnacc_device *cdev)
{
	unsigned int i;

	drm_dev_unplug(&cdev->drm);
	cnnacc_device_quiesce(cdev);
	if (cnnacc_device_hw_reset(cdev))
		cnnacc_device_wedge(cdev);
	WRITE_ONCE(cdev->wedged, true);
	complete_all(&cdev->silent);
	for (i = 0; i < cdev->core_count; i++)
		cnnacc_core_cancel(cdev->cores[i], CNNACC_END_GONE);
	cnnacc_dump_fini(cdev);

	cnnacc_ctx_kill_all(cdev);
	drain_workqueue(cdev->ctx_wq);
	if (!wait_event_timeout(cdev->idle, !atomic_read(&cdev->batch_count),
				msecs_to_jiffies(CNNACC_FREE_TIMEOUT_MS)))
		drm_err(&cdev->drm, "%d batches of jobs are left\n",
			atomic_read(&cdev->batch_count));
	cnnacc_gem_unmap_all(cdev);
	cnnacc_device_free_cores(cdev);
	ida_destroy(&cdev->ctx_ids);
}
