/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_PM_H
#define CNNACC_PM_H

#include <linux/pm.h>

struct cnnacc_device;
struct work_struct;

extern const struct dev_pm_ops cnnacc_pm_ops;

int cnnacc_pm_get(struct cnnacc_device *cdev);
void cnnacc_pm_get_again(struct cnnacc_device *cdev);
void cnnacc_pm_put(struct cnnacc_device *cdev);
int cnnacc_device_enter(struct cnnacc_device *cdev, int *idx);
void cnnacc_device_exit(struct cnnacc_device *cdev, int idx);
void cnnacc_pm_suspend_work(struct work_struct *work);
void cnnacc_pm_suspend(struct cnnacc_device *cdev);
void cnnacc_pm_resume(struct cnnacc_device *cdev);
void cnnacc_pm_start(struct cnnacc_device *cdev);
void cnnacc_pm_stop(struct cnnacc_device *cdev);

#endif
