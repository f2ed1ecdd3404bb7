// SPDX-License-Identifier: GPL-2.0-only
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>

#include "cnnacc_device.h"
#include "cnnacc_pm.h"

/**
 * DOC: power
 *
 * A device goes to sleep 50 ms after its last use, goes to sleep with the machine, or is
 * reset from outside (FLR).  Each time it may forget everything, so there is one way down,
 * cnnacc_device_halt(), and one way up, cnnacc_device_revive().
 *
 * A SUBMIT, a batch of jobs, and whoever touches registers for a user hold a runtime PM
 * reference; the latter between cnnacc_device_enter() and cnnacc_device_exit(), which also
 * keeps a sleep or a reset from outside away.  While either lasts, a work item occupies
 * &cnnacc_device.reset_wq, so that neither a reset nor the watchdog touches the device.
 */

#define CNNACC_AUTOSUSPEND_MS	50

/**
 * cnnacc_pm_get() - Wake the device up and keep it awake
 * @cdev: device
 *
 * Return: 0 or -ENODEV
 */
int cnnacc_pm_get(struct cnnacc_device *cdev)
{
	return pm_runtime_resume_and_get(cdev->drm.dev) < 0 ? -ENODEV : 0;
}

/**
 * cnnacc_pm_get_again() - Take one more reference
 * @cdev: device that the caller keeps awake
 */
void cnnacc_pm_get_again(struct cnnacc_device *cdev)
{
	pm_runtime_get_noresume(cdev->drm.dev);
}

/**
 * cnnacc_pm_put() - Let the device sleep when nobody needs it
 * @cdev: device
 */
void cnnacc_pm_put(struct cnnacc_device *cdev)
{
	pm_runtime_mark_last_busy(cdev->drm.dev);
	pm_runtime_put_autosuspend(cdev->drm.dev);
}

/**
 * cnnacc_device_enter() - Begin to use registers, outside of a job and of a reset
 * @cdev: device
 * @idx: for cnnacc_device_exit()
 *
 * Not to be held while waiting for a reset.
 *
 * Return: 0 or -ENODEV
 */
int cnnacc_device_enter(struct cnnacc_device *cdev, int *idx)
{
	if (!drm_dev_enter(&cdev->drm, idx))
		return -ENODEV;
	if (cnnacc_pm_get(cdev)) {
		drm_dev_exit(*idx);
		return -ENODEV;
	}
	down_read(&cdev->away_lock);
	return 0;
}

/**
 * cnnacc_device_exit() - End what cnnacc_device_enter() began
 * @cdev: device
 * @idx: from it
 */
void cnnacc_device_exit(struct cnnacc_device *cdev, int idx)
{
	up_read(&cdev->away_lock);
	cnnacc_pm_put(cdev);
	drm_dev_exit(idx);
}

/**
 * cnnacc_pm_away_work() - Keep everybody off the device while it is away
 * @work: &cnnacc_device.away_work
 */
void cnnacc_pm_away_work(struct work_struct *work)
{
	struct cnnacc_device *cdev = container_of(work, struct cnnacc_device, away_work);

	down_write(&cdev->away_lock);
	cnnacc_device_halt(cdev);
	complete(&cdev->left);
	/* Idle, as the machine may sleep for longer than a task may hang. */
	wait_for_completion_state(&cdev->back, TASK_IDLE);
	cnnacc_device_revive(cdev);
	up_write(&cdev->away_lock);
}

/**
 * cnnacc_pm_leave() - Prepare for a time in which the device forgets everything
 * @cdev: device
 *
 * Jobs that run get a bounded time to end.
 */
void cnnacc_pm_leave(struct cnnacc_device *cdev)
{
	reinit_completion(&cdev->left);
	reinit_completion(&cdev->back);
	queue_work(cdev->reset_wq, &cdev->away_work);
	wait_for_completion(&cdev->left);
}

/**
 * cnnacc_pm_return() - Bring the device back
 * @cdev: device
 *
 * Jobs that had not ended are run again if they had not started or are restartable, or
 * are lost.
 */
void cnnacc_pm_return(struct cnnacc_device *cdev)
{
	complete(&cdev->back);
	flush_work(&cdev->away_work);
}

static int cnnacc_pm_suspend(struct device *dev)
{
	cnnacc_pm_leave(dev_get_drvdata(dev));
	return 0;
}

static int cnnacc_pm_resume(struct device *dev)
{
	cnnacc_pm_return(dev_get_drvdata(dev));
	return 0;
}

/* There are no jobs, and nobody is between enter and exit. */
static int cnnacc_pm_runtime_suspend(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	if (!cdev->wedged)
		cnnacc_device_halt(cdev);
	return 0;
}

/*
 * A device that does not come back is wedged, which tells users more than an error here, and
 * stays so: another chance at each use would cost each user the time of a failed reset.
 */
static int cnnacc_pm_runtime_resume(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	if (!cdev->wedged)
		cnnacc_device_revive(cdev);
	return 0;
}

const struct dev_pm_ops cnnacc_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(cnnacc_pm_suspend, cnnacc_pm_resume)
	RUNTIME_PM_OPS(cnnacc_pm_runtime_suspend, cnnacc_pm_runtime_resume, NULL)
};

/**
 * cnnacc_pm_start() - Let the device sleep from now on
 * @cdev: device whose probe holds a reference, which this drops
 */
void cnnacc_pm_start(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;

	pm_runtime_set_autosuspend_delay(dev, CNNACC_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_allow(dev);
	cnnacc_pm_put(cdev);
}

/**
 * cnnacc_pm_stop() - Wake the device up for good
 * @cdev: device
 */
void cnnacc_pm_stop(struct cnnacc_device *cdev)
{
	struct device *dev = cdev->drm.dev;

	pm_runtime_get_sync(dev);
	pm_runtime_forbid(dev);
	pm_runtime_dont_use_autosuspend(dev);
}
