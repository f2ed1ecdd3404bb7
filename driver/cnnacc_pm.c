// SPDX-License-Identifier: GPL-2.0-only
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>

#include "cnnacc_device.h"

/**
 * DOC: power management
 *
 * A device is suspended 50 ms after its last use (runtime PM) and with the system, and it may be
 * reset from outside (FLR).  Each of these may clear all of its state, so all use
 * cnnacc_device_suspend() before and cnnacc_device_restart() after.
 *
 * A SUBMIT, a job and an ioctl or debugfs file that accesses registers hold a runtime PM reference.
 * An ioctl does so between cnnacc_device_enter() and cnnacc_device_exit(), which also exclude a
 * system suspend and a reset from outside.  A debugfs file reads registers under &cnnacc_core.lock:
 * those of a queue while it is enabled, counters until they are saved.  During a suspend or such a
 * reset a work item occupies &cnnacc_device.reset_wq, so that neither a reset nor the watchdog
 * touches the device.
 */

#define CNNACC_AUTOSUSPEND_MS	50

/* Takes a runtime PM reference and resumes the device; returns 0 or -ENODEV. */
int cnnacc_pm_get(struct cnnacc_device *cdev)
{
	return pm_runtime_resume_and_get(cdev->drm.dev) < 0 ? -ENODEV : 0;
}

/* Releases a runtime PM reference. */
void cnnacc_pm_put(struct cnnacc_device *cdev)
{
	pm_runtime_mark_last_busy(cdev->drm.dev);
	pm_runtime_put_autosuspend(cdev->drm.dev);
}

/**
 * cnnacc_device_enter() - Begin a section that accesses registers, outside of jobs and resets
 * @cdev: device
 * @idx: out: cookie for cnnacc_device_exit()
 *
 * The section must not wait for a reset: it excludes &cnnacc_device.suspend_work, which resets
 * wait for.
 *
 * Return: 0, or -ENODEV if the device is unplugged or has no power
 */
int cnnacc_device_enter(struct cnnacc_device *cdev, int *idx)
{
	if (!drm_dev_enter(&cdev->drm, idx))
		return -ENODEV;
	if (cnnacc_pm_get(cdev)) {
		drm_dev_exit(*idx);
		return -ENODEV;
	}
	down_read(&cdev->suspend_lock);
	if (cdev->unpowered) {
		cnnacc_device_exit(cdev, *idx);
		return -ENODEV;
	}
	return 0;
}

/* Ends a section that cnnacc_device_enter() began. */
void cnnacc_device_exit(struct cnnacc_device *cdev, int idx)
{
	up_read(&cdev->suspend_lock);
	cnnacc_pm_put(cdev);
	drm_dev_exit(idx);
}

/* Suspends and restarts the device, and excludes all users meanwhile. */
void cnnacc_pm_suspend_work(struct work_struct *work)
{
	struct cnnacc_device *cdev = container_of(work, struct cnnacc_device, suspend_work);

	guard(rwsem_write)(&cdev->suspend_lock);
	if (!cdev->unpowered)
		cnnacc_device_suspend(cdev);
	cnnacc_irq_block(cdev);
	complete(&cdev->stopped);
	/* TASK_IDLE: the system may be suspended for longer than the hung-task timeout. */
	wait_for_completion_state(&cdev->resume, TASK_IDLE);
	cnnacc_device_restart(cdev);
}

/*
 * Stops the device before it may lose its state.  Running jobs get a bounded time to end, and users
 * of registers block until cnnacc_pm_resume().  Returns 0.
 */
int cnnacc_pm_suspend(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	reinit_completion(&cdev->stopped);
	reinit_completion(&cdev->resume);
	queue_work(cdev->reset_wq, &cdev->suspend_work);
	wait_for_completion(&cdev->stopped);
	return 0;
}

/*
 * Restarts the device.  Jobs that had not started, or that are restartable, run again; other jobs
 * end as innocent.  Returns 0.
 */
int cnnacc_pm_resume(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	complete(&cdev->resume);
	flush_work(&cdev->suspend_work);
	return 0;
}

/* No job and no section of cnnacc_device_enter() exists, as each holds a reference.  Returns 0. */
int cnnacc_pm_runtime_suspend(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	if (!cdev->wedged)
		cnnacc_device_suspend(cdev);
	cnnacc_irq_block(cdev);
	return 0;
}

/*
 * A device that does not restart becomes wedged, which tells users more than an error from here.
 * A wedged device is not reset again: each user would have to wait for another failing reset.
 * Returns 0.
 */
int cnnacc_pm_runtime_resume(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	if (!cdev->wedged)
		cnnacc_device_restart(cdev);
	return 0;
}

const struct dev_pm_ops cnnacc_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(cnnacc_pm_suspend, cnnacc_pm_resume)
	RUNTIME_PM_OPS(cnnacc_pm_runtime_suspend, cnnacc_pm_runtime_resume, NULL)
};

/* Enables runtime PM and releases the reference that the probe holds. */
void cnnacc_pm_start(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;

	pm_runtime_set_autosuspend_delay(dev, CNNACC_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_allow(dev);
	cnnacc_pm_put(cdev);
}

/* Resumes the device, if it gets power, and disables runtime PM. */
void cnnacc_pm_stop(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;

	if (pm_runtime_get_sync(dev) < 0)
		cdev->unpowered = true;
	pm_runtime_forbid(dev);
	pm_runtime_dont_use_autosuspend(dev);
}
