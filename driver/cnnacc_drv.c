// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/nospec.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_ioctl.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_file.h"
#include "cnnacc_gem.h"
#include "cnnacc_uobj.h"
#include "compat/cnnacc_compat.h"

/**
 * DOC: driver
 *
 * The DRM driver: open and close, the table of ioctls, DEV_QUERY and REG_RW; the module.
 */

static int cnnacc_open(struct drm_device *drm, struct drm_file *file)
{
	file->driver_priv = cnnacc_file_create(to_cnnacc_device(drm));
	return file->driver_priv ? 0 : -ENOMEM;
}

static void cnnacc_postclose(struct drm_device *drm, struct drm_file *file)
{
	cnnacc_file_close(file->driver_priv);
}

/* Answer to DEV_QUERY. */
union cnnacc_query_result {
	struct drm_cnnacc_dev_info device;
	struct drm_cnnacc_core_info cores[CNNACC_MAX_CORES];
	struct drm_cnnacc_clocks clocks;
	struct drm_cnnacc_timestamp timestamp;
};

static const size_t cnnacc_query_sizes[] = {
	[DRM_CNNACC_DEV_QUERY_DEV_INFO] = sizeof(struct drm_cnnacc_dev_info),
	[DRM_CNNACC_DEV_QUERY_CORE_INFO] = sizeof(struct drm_cnnacc_core_info),
	[DRM_CNNACC_DEV_QUERY_CLOCKS] = sizeof(struct drm_cnnacc_clocks),
	[DRM_CNNACC_DEV_QUERY_TIMESTAMP] = sizeof(struct drm_cnnacc_timestamp),
};

static void cnnacc_query_device(struct cnnacc_device *cdev, struct drm_cnnacc_dev_info *info)
{
	*info = (struct drm_cnnacc_dev_info) {
		.hw_version = cdev->hw_version,
		.features = cdev->features,
		.core_count = cdev->core_count,
		.va_bits = CNNACC_VA_BITS,
		.page_size = max_t(u32, PAGE_SIZE, CNNACC_PAGE_SIZE),
		.max_vms = CNNACC_FILE_QUOTA,
		.max_contexts = CNNACC_FILE_QUOTA,
		.max_bind_ops = CNNACC_MAX_BIND_OPS,
		.max_sync_ops = CNNACC_MAX_SYNC_OPS,
		.max_jobs = CNNACC_MAX_JOBS,
		.max_tasks = CNNACC_MAX_TASKS,
		.max_syncs = CNNACC_MAX_SYNCS,
		.max_bos = CNNACC_MAX_BOS,
		.max_buffers = CNNACC_MAX_BUFFERS,
		.max_queued_jobs = CNNACC_MAX_QUEUED_JOBS,
		.max_queued_cycles = cdev->max_queued_cycles,
		.max_bo_size = CNNACC_MAX_BO_SIZE,
		.reset_count = atomic64_read(&cdev->reset_count),
	};
}

/* What the driver knows: does not wake a sleeping device. */
static int cnnacc_query_cached(struct cnnacc_device *cdev, u32 type,
			       union cnnacc_query_result *result)
{
	unsigned int i;

	CLASS(cnnacc_section, section)(&cdev->drm);
	if (section < 0)
		return -ENODEV;
	if (type == DRM_CNNACC_DEV_QUERY_DEV_INFO)
		cnnacc_query_device(cdev, &result->device);
	for (i = 0; type == DRM_CNNACC_DEV_QUERY_CORE_INFO && i < cdev->core_count; i++)
		result->cores[i] = cdev->cores[i]->info;
	return 0;
}

static int cnnacc_query_registers(struct cnnacc_device *cdev, u32 type,
				  union cnnacc_query_result *result)
{
	int idx;

	if (cnnacc_device_enter(cdev, &idx))
		return -ENODEV;
	if (type == DRM_CNNACC_DEV_QUERY_CLOCKS) {
		/* The clock has one rate. */
		result->clocks = (struct drm_cnnacc_clocks) {
			.current_hz = cnnacc_read(cdev, CNNACC_REG_CLOCK_HZ),
			.min_hz = cdev->clock_hz,
			.max_hz = cdev->clock_hz,
		};
	} else {
		result->timestamp.cpu_ns = ktime_get_ns();
		result->timestamp.device_ns = cnnacc_device_read_pair(cdev, CNNACC_REG_TIME_LO);
	}
	cnnacc_device_exit(cdev, idx);
	return 0;
}

static int cnnacc_dev_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_device *cdev = to_cnnacc_device(drm);
	struct drm_cnnacc_dev_query *args = data;
	union cnnacc_query_result result;
	u32 type = args->type, count;
	int ret;

	if (cnnacc_refuses(drm, type >= ARRAY_SIZE(cnnacc_query_sizes)) ||
	    cnnacc_refuses(drm, args->pad))
		return -EINVAL;
	type = array_index_nospec(type, ARRAY_SIZE(cnnacc_query_sizes));
	if (type <= DRM_CNNACC_DEV_QUERY_CORE_INFO)
		ret = cnnacc_query_cached(cdev, type, &result);
	else
		ret = cnnacc_query_registers(cdev, type, &result);
	if (ret)
		return ret;
	count = type == DRM_CNNACC_DEV_QUERY_CORE_INFO ? cdev->core_count : 1;
	/* After the sections above: a page fault may take long and must not delay an unplug. */
	return cnnacc_uobj_put_array(drm, &args->result, &result, count, cnnacc_query_sizes[type]);
}

static int cnnacc_reg_rw_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_device *cdev = to_cnnacc_device(drm);
	struct drm_cnnacc_reg_rw *args = data;
	bool write = args->flags & DRM_CNNACC_REG_WRITE;
	int idx;

	if (cnnacc_refuses(drm, args->flags & ~DRM_CNNACC_REG_WRITE) ||
	    cnnacc_refuses(drm, args->pad) || cnnacc_refuses(drm, args->offset % 4) ||
	    cnnacc_refuses(drm, args->offset >= CNNACC_REGS_SIZE))
		return -EINVAL;
	/* The driver does not use SCRATCH, and it has no side effect; driver.rst says so. */
	if (write && args->offset != CNNACC_REG_SCRATCH)
		return -EPERM;
	if (cnnacc_device_enter(cdev, &idx))
		return -ENODEV;
	if (write)
		cnnacc_write(cdev, args->offset, args->value);
	else
		args->value = cnnacc_device_read_any(cdev, args->offset);
	cnnacc_device_exit(cdev, idx);
	return 0;
}

static const struct drm_ioctl_desc cnnacc_ioctls[] = {
#define CNNACC_IOCTL(id, func, flags) \
	DRM_IOCTL_DEF_DRV(CNNACC_##id, cnnacc_##func##_ioctl, DRM_RENDER_ALLOW | (flags))
	CNNACC_IOCTL(DEV_QUERY, dev_query, 0),
	CNNACC_IOCTL(VM_CREATE, vm_create, 0),
	CNNACC_IOCTL(VM_DESTROY, vm_destroy, 0),
	CNNACC_IOCTL(CTX_CREATE, ctx_create, 0),
	CNNACC_IOCTL(CTX_DESTROY, ctx_destroy, 0),
	CNNACC_IOCTL(CTX_QUERY, ctx_query, 0),
	CNNACC_IOCTL(BO_CREATE, bo_create, 0),
	CNNACC_IOCTL(BO_INFO, bo_info, 0),
	CNNACC_IOCTL(BO_SYNC, bo_sync, 0),
	CNNACC_IOCTL(VM_BIND, vm_bind, 0),
	CNNACC_IOCTL(SUBMIT, submit, 0),
	CNNACC_IOCTL(EVENTFD, eventfd, 0),
	CNNACC_IOCTL(REG_RW, reg_rw, DRM_ROOT_ONLY),
};

/* Readable as DRM has it; writable if SUBMIT has room. */
static __poll_t cnnacc_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct drm_file *file = filp->private_data;
	struct cnnacc_file *cfile = file->driver_priv;
	__poll_t events = drm_poll(filp, wait);

	poll_wait(filp, &cfile->room, wait);
	return cnnacc_file_writable(cfile) ? events | EPOLLOUT | EPOLLWRNORM : events;
}

static const struct file_operations cnnacc_fops = {
	.owner = THIS_MODULE,
	.open = CNNACC_COMPAT_OPEN,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = cnnacc_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
	.show_fdinfo = drm_show_fdinfo,
};

const struct drm_driver cnnacc_drm_driver = {
	.driver_features = CNNACC_COMPAT_NODE | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = cnnacc_open,
	.postclose = cnnacc_postclose,
	.show_fdinfo = cnnacc_stats_show_file,
	.gem_create_object = cnnacc_gem_create_object,
	.gem_prime_import = cnnacc_gem_import,
	.gem_prime_import_sg_table = drm_gem_shmem_prime_import_sg_table,
	.ioctls = cnnacc_ioctls,
	.num_ioctls = ARRAY_SIZE(cnnacc_ioctls),
	.fops = &cnnacc_fops,
	.name = "cnnacc",
	.desc = "CNN accelerator",
	.major = DRM_CNNACC_VERSION_MAJOR,
	.minor = DRM_CNNACC_VERSION_MINOR,
};

static int __init cnnacc_init(void)
{
	int ret = pci_register_driver(&cnnacc_pci_driver);

	if (ret)
		return ret;
	ret = platform_driver_register(&cnnacc_platform_driver);
	if (ret)
		pci_unregister_driver(&cnnacc_pci_driver);
	return ret;
}
module_init(cnnacc_init);

static void __exit cnnacc_exit(void)
{
	platform_driver_unregister(&cnnacc_platform_driver);
	pci_unregister_driver(&cnnacc_pci_driver);
	rcu_barrier();			/* for cnnacc_fence_free() */
}
module_exit(cnnacc_exit);

MODULE_DESCRIPTION("CNN accelerator");
MODULE_AUTHOR("The cnnacc authors");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(CNNACC_COMPAT_DMA_BUF);
