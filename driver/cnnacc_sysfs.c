// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device.h>
#include <linux/sysfs.h>

#include <drm/drm_drv.h>

#include "cnnacc_device.h"

/**
 * DOC: sysfs
 *
 * Attributes of the bus device, see Documentation/ABI/testing/sysfs-driver-cnnacc.
 */

static int cnnacc_sysfs_busy(struct device *dev, unsigned int first, unsigned int count,
			     u64 *busy_ns)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);
	struct cnnacc_usage usage;
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&cdev->drm, &idx))
		return -ENODEV;
	*busy_ns = 0;
	for (i = first; i < first + count; i++) {
		cnnacc_stats_get(cdev->cores[i], &cdev->cores[i]->meter.total, &usage);
		*busy_ns += usage.busy_ns;
	}
	drm_dev_exit(idx);
	return 0;
}

static ssize_t busy_time_ns_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);
	u64 busy_ns;
	int ret = cnnacc_sysfs_busy(dev, 0, cdev->core_count, &busy_ns);

	return ret ? ret : sysfs_emit(buf, "%llu\n", busy_ns);
}
static DEVICE_ATTR_RO(busy_time_ns);

static unsigned int cnnacc_sysfs_core(const struct attribute *attr)
{
	return attr->name[strlen("core")] - '0';
}

static ssize_t core_busy_time_ns_show(struct device *dev, struct device_attribute *attr,
				      char *buf)
{
	u64 busy_ns;
	int ret = cnnacc_sysfs_busy(dev, cnnacc_sysfs_core(&attr->attr), 1, &busy_ns);

	return ret ? ret : sysfs_emit(buf, "%llu\n", busy_ns);
}

#define CNNACC_CORE_ATTR(n) \
	static struct device_attribute dev_attr_core##n = \
		__ATTR(core##n##_busy_time_ns, 0444, core_busy_time_ns_show, NULL)
CNNACC_CORE_ATTR(0);
CNNACC_CORE_ATTR(1);
CNNACC_CORE_ATTR(2);
CNNACC_CORE_ATTR(3);
CNNACC_CORE_ATTR(4);
CNNACC_CORE_ATTR(5);
CNNACC_CORE_ATTR(6);
CNNACC_CORE_ATTR(7);

static struct attribute *cnnacc_sysfs_attrs[] = {
	&dev_attr_busy_time_ns.attr,
	&dev_attr_core0.attr,
	&dev_attr_core1.attr,
	&dev_attr_core2.attr,
	&dev_attr_core3.attr,
	&dev_attr_core4.attr,
	&dev_attr_core5.attr,
	&dev_attr_core6.attr,
	&dev_attr_core7.attr,
	NULL
};

static umode_t cnnacc_sysfs_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	struct cnnacc_device *cdev = dev_get_drvdata(kobj_to_dev(kobj));

	/* Attribute 0 is for the device, attribute n + 1 for core n. */
	return index <= (int)cdev->core_count ? attr->mode : 0;
}

static const struct attribute_group cnnacc_sysfs_group = {
	.attrs = cnnacc_sysfs_attrs,
	.is_visible = cnnacc_sysfs_visible,
};

const struct attribute_group *cnnacc_sysfs_groups[] = { &cnnacc_sysfs_group, NULL };
