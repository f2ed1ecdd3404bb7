// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include "cnnacc_device.h"
#include "cnnacc_file.h"
#include "cnnacc_gem.h"
#include "cnnacc_uobj.h"
#include "cnnacc_vm.h"

/**
 * DOC: buffers
 *
 * Buffers are shmem GEM objects, so their memory is charged to the creator's memcg.  The private
 * buffers of an address space share its reservation object, so a job adds its fence once for all of
 * them.
 * The pages of a buffer stay pinned once it has been mapped for the device.
 */

/* Detaches, too, as an exporter may keep the pages mapped until its importers detach. */
static void cnnacc_gem_detach(struct cnnacc_bo *bo)
{
	struct drm_gem_object *obj = &bo->base.base;
	struct dma_buf_attachment *attach = obj->import_attach;

	dma_buf_unmap_attachment_unlocked(attach, bo->base.sgt, DMA_BIDIRECTIONAL);
	bo->base.sgt = NULL;
	/* Keep the dma-buf: the buffer uses its reservation object. */
	bo->detached = attach->dmabuf;
	obj->import_attach = NULL;
	dma_buf_detach(bo->detached, attach);
}

static void cnnacc_gem_unmap(struct cnnacc_bo *bo)
{
	struct drm_gem_shmem_object *shmem = &bo->base;
	struct drm_gem_object *obj = &shmem->base;

	if (!shmem->sgt)
		return;
	if (drm_gem_is_imported(obj)) {
		cnnacc_gem_detach(bo);
		return;
	}
	dma_resv_lock(obj->resv, NULL);
	dma_unmap_sgtable(obj->dev->dev, shmem->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(shmem->sgt);
	kfree(shmem->sgt);
	shmem->sgt = NULL;
	dma_resv_unlock(obj->resv);
}

static void cnnacc_gem_free(struct drm_gem_object *obj)
{
	struct cnnacc_device *cdev = to_cnnacc_device(obj->dev);
	struct drm_gem_object *resv = to_cnnacc_bo(obj)->resv;
	struct dma_buf *detached;
	bool alive;
	int idx;

	/*
	 * No mapping may outlive cnnacc_gem_unmap_all().  It waits for this function, before the
	 * unplug by drm_dev_enter(), after the unplug by bo_lock.  Before the unplug, bo_lock is
	 * released first: the exporter's locks may take long, and other buffers need not wait.
	 */
	alive = drm_dev_enter(obj->dev, &idx);
	scoped_guard(mutex, &cdev->bo_lock) {
		if (!alive)
			cnnacc_gem_unmap(to_cnnacc_bo(obj));
		list_del(&to_cnnacc_bo(obj)->link);
	}
	if (alive) {
		cnnacc_gem_unmap(to_cnnacc_bo(obj));
		drm_dev_exit(idx);
	}
	detached = to_cnnacc_bo(obj)->detached;
	drm_gem_shmem_object_free(obj);
	if (detached)
		dma_buf_put(detached);
	if (resv)
		drm_gem_object_put(resv);
}

/* drm_gem_map_dma_buf() skips the sync of caches, for which the importer need not ask. */
static struct sg_table *cnnacc_gem_map_dma_buf(struct dma_buf_attachment *attach,
					       enum dma_data_direction dir)
{
	struct sg_table *sgt = drm_gem_map_dma_buf(attach, dir);

	if (!IS_ERR(sgt)) {
		attach->priv = sgt;
		dma_sync_sgtable_for_device(attach->dev, sgt, dir);
	}
	return sgt;
}

static void cnnacc_gem_unmap_dma_buf(struct dma_buf_attachment *attach, struct sg_table *sgt,
				     enum dma_data_direction dir)
{
	attach->priv = NULL;
	dma_sync_sgtable_for_cpu(attach->dev, sgt, dir);
	drm_gem_unmap_dma_buf(attach, sgt, dir);
}

static void cnnacc_gem_sync(struct dma_buf *buf, enum dma_data_direction dir,
			    void (*sync)(struct device *dev, struct sg_table *sgt,
					 enum dma_data_direction dir))
{
	struct drm_gem_object *obj = buf->priv;
	struct dma_buf_attachment *attach;

	dma_resv_lock(obj->resv, NULL);
	if (to_cnnacc_bo(obj)->base.sgt)
		sync(obj->dev->dev, to_cnnacc_bo(obj)->base.sgt, dir);
	list_for_each_entry(attach, &buf->attachments, node)
		if (attach->priv)
			sync(attach->dev, attach->priv, dir);
	dma_resv_unlock(obj->resv);
}

static int cnnacc_gem_begin_cpu_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	/* dma_buf_begin_cpu_access() waits too late, after this function. */
	long ret = dma_resv_wait_timeout(buf->resv, dma_resv_usage_rw(dir != DMA_FROM_DEVICE),
					 true, MAX_SCHEDULE_TIMEOUT);

	if (ret < 0)
		return ret;
	/* In both directions: a CPU that only writes may write a part, and the rest must stay. */
	cnnacc_gem_sync(buf, DMA_BIDIRECTIONAL, dma_sync_sgtable_for_cpu);
	return 0;
}

static int cnnacc_gem_end_cpu_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	cnnacc_gem_sync(buf, dir, dma_sync_sgtable_for_device);
	return 0;
}

/* Those of DRM, and the maintenance of caches and bounce buffers. */
static const struct dma_buf_ops cnnacc_gem_dma_buf_ops = {
	.attach = drm_gem_map_attach,
	.detach = drm_gem_map_detach,
	.map_dma_buf = cnnacc_gem_map_dma_buf,
	.unmap_dma_buf = cnnacc_gem_unmap_dma_buf,
	.begin_cpu_access = cnnacc_gem_begin_cpu_access,
	.end_cpu_access = cnnacc_gem_end_cpu_access,
	.release = drm_gem_dmabuf_release,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

static struct dma_buf *cnnacc_gem_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = "cnnacc",
		.owner = THIS_MODULE,
		.ops = &cnnacc_gem_dma_buf_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};

	if (cnnacc_refuses(obj->dev, to_cnnacc_bo(obj)->resv))
		return ERR_PTR(-EINVAL);
	return drm_gem_dmabuf_export(obj->dev, &info);
}

static int cnnacc_gem_open(struct drm_gem_object *obj, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;

	if (atomic_inc_return(&cfile->buffers) <= CNNACC_MAX_BUFFERS)
		return 0;
	atomic_dec(&cfile->buffers);
	return -ENOSPC;
}

static void cnnacc_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;

	atomic_dec(&cfile->buffers);
}

static enum drm_gem_object_status cnnacc_gem_status(struct drm_gem_object *obj)
{
	return drm_gem_is_imported(obj) || to_cnnacc_bo(obj)->base.pages ?
		DRM_GEM_OBJECT_RESIDENT : 0;
}

static const struct drm_gem_object_funcs cnnacc_gem_funcs = {
	.free = cnnacc_gem_free,
	.open = cnnacc_gem_open,
	.close = cnnacc_gem_close,
	.print_info = drm_gem_shmem_object_print_info,
	.export = cnnacc_gem_export,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = drm_gem_shmem_object_mmap,
	.status = cnnacc_gem_status,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

/* &drm_driver.gem_create_object */
struct drm_gem_object *cnnacc_gem_create_object(struct drm_device *drm, size_t size)
{
	struct cnnacc_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&bo->link);
	bo->base.base.funcs = &cnnacc_gem_funcs;
	return &bo->base.base;
}

/* &drm_driver.gem_prime_import */
struct drm_gem_object *cnnacc_gem_import(struct drm_device *drm, struct dma_buf *buf)
{
	struct cnnacc_device *cdev = to_cnnacc_device(drm);
	struct drm_gem_object *obj = buf->priv;

	CLASS(cnnacc_section, section)(drm);
	if (section < 0)
		return ERR_PTR(-ENODEV);
	if (buf->ops == &cnnacc_gem_dma_buf_ops && obj->dev == drm)
		drm_gem_object_get(obj);
	else
		obj = drm_gem_prime_import(drm, buf);
	if (!IS_ERR(obj) && drm_gem_is_imported(obj)) {
		guard(mutex)(&cdev->bo_lock);
		list_add_tail(&to_cnnacc_bo(obj)->link, &cdev->bos);
	}
	return obj;
}

/*
 * Unmaps the memory of all buffers from a device that is stopped and being removed.  The buffers
 * and their CPU mappings stay valid while files are open.
 */
void cnnacc_gem_unmap_all(struct cnnacc_device *cdev)
{
	struct cnnacc_bo *bo;

	/* A PRIME ioctl that still runs reads attachments under this lock. */
	guard(mutex)(&cdev->drm.object_name_lock);
	guard(mutex)(&cdev->bo_lock);
	list_for_each_entry(bo, &cdev->bos, link)
		cnnacc_gem_unmap(bo);
}

/* May the address space use the buffer?  Not if it is private to another one. */
bool cnnacc_gem_usable(struct drm_gem_object *obj, struct cnnacc_vm *vm)
{
	struct cnnacc_bo *bo = to_cnnacc_bo(obj);

	return !bo->resv || bo->resv == vm->resv;
}

static int cnnacc_bo_create(struct drm_file *file, struct drm_gem_object *resv,
			    struct drm_cnnacc_bo_create *args)
{
	struct cnnacc_device *cdev = to_cnnacc_device(file->minor->dev);
	struct drm_gem_shmem_object *shmem;
	struct sg_table *sgt;
	struct cnnacc_bo *bo;
	int ret = 0;

	shmem = drm_gem_shmem_create(&cdev->drm, args->size);
	if (IS_ERR(shmem))
		return PTR_ERR(shmem);
	bo = to_cnnacc_bo(&shmem->base);
	bo->use = args->use;
	bo->flags = args->flags;
	shmem->map_wc = !(args->flags & DRM_CNNACC_BO_CACHED) &&
			!(cdev->features & CNNACC_FEATURE_COHERENT);
	if (resv) {
		drm_gem_object_get(resv);
		bo->resv = resv;
		shmem->base.resv = resv->resv;
	}
	scoped_guard(mutex, &cdev->bo_lock)
		list_add_tail(&bo->link, &cdev->bos);
	/* Mapping for DMA now writes back zeroes of the new pages that are in a CPU cache. */
	if (shmem->map_wc) {
		sgt = drm_gem_shmem_get_pages_sgt(shmem);
		ret = PTR_ERR_OR_ZERO(sgt);
	}
	args->size = shmem->base.size;
	if (!ret)
		ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	drm_gem_object_put(&shmem->base);
	return ret;
}

int cnnacc_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_cnnacc_bo_create *args = data;
	struct cnnacc_vm *vm __free(cnnacc_vm) = NULL;

	if (cnnacc_refuses(drm, args->flags & ~(DRM_CNNACC_BO_CACHED | DRM_CNNACC_BO_PRIVATE)) ||
	    cnnacc_refuses(drm, args->use > DRM_CNNACC_BO_PROGRAM) ||
	    cnnacc_refuses(drm, !args->size || args->size > CNNACC_MAX_BO_SIZE) ||
	    cnnacc_refuses(drm, args->vm_id && !(args->flags & DRM_CNNACC_BO_PRIVATE)))
		return -EINVAL;
	if (args->flags & DRM_CNNACC_BO_PRIVATE) {
		vm = cnnacc_vm_get(file, args->vm_id);
		if (!vm)
			return -ENOENT;
	}
	CLASS(cnnacc_section, section)(drm);
	return section < 0 ? -ENODEV : cnnacc_bo_create(file, vm ? vm->resv : NULL, args);
}

int cnnacc_bo_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_gem_object *obj __free(cnnacc_obj) = NULL;
	struct drm_cnnacc_bo_info *args = data;
	struct cnnacc_bo *bo;

	if (cnnacc_refuses(drm, args->pad))
		return -EINVAL;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	bo = to_cnnacc_bo(obj);
	args->flags = bo->flags;
	args->use = bo->use;
	args->size = obj->size;
	args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);
	if (drm_gem_is_imported(obj)) {
		args->flags |= DRM_CNNACC_BO_IMPORTED;
		args->mmap_offset = 0;
	}
	return 0;
}

static void cnnacc_bo_sync_range(struct device *dev, struct sg_table *sgt,
				 const struct drm_cnnacc_bo_sync_op *op)
{
	u64 at = op->offset, end = op->offset + op->size;
	struct sg_dma_page_iter page;
	dma_addr_t dma;
	size_t size;

	/* Page by page: an IOMMU makes one segment of pages that are scattered in memory. */
	for_each_sgtable_dma_page(sgt, &page, at >> PAGE_SHIFT) {
		size = min(end - at, PAGE_SIZE - offset_in_page(at));
		if (!size || fatal_signal_pending(current))
			break;
		dma = sg_page_iter_dma_address(&page) + offset_in_page(at);
		if (op->flags & DRM_CNNACC_BO_SYNC_FOR_DEVICE)
			dma_sync_single_for_device(dev, dma, size, DMA_BIDIRECTIONAL);
		else
			dma_sync_single_for_cpu(dev, dma, size, DMA_BIDIRECTIONAL);
		at += size;
		cond_resched();
	}
}

static int cnnacc_bo_sync(struct cnnacc_device *cdev, struct drm_file *file,
			  const struct drm_cnnacc_bo_sync_op *op)
{
	struct drm_gem_object *obj __free(cnnacc_obj) = NULL;
	struct sg_table *sgt;

	if (fatal_signal_pending(current))
		return -EINTR;
	if (cnnacc_refuses(&cdev->drm, op->flags != DRM_CNNACC_BO_SYNC_FOR_DEVICE &&
			   op->flags != DRM_CNNACC_BO_SYNC_FOR_CPU))
		return -EINVAL;
	obj = drm_gem_object_lookup(file, op->handle);
	if (!obj)
		return -ENOENT;
	if (cnnacc_refuses(&cdev->drm, op->offset > obj->size ||
			   op->size > obj->size - op->offset))
		return -EINVAL;
	/* For an imported buffer that is up to the exporter (DMA_BUF_IOCTL_SYNC). */
	if (drm_gem_is_imported(obj) || cdev->features & CNNACC_FEATURE_COHERENT)
		return 0;
	sgt = drm_gem_shmem_get_pages_sgt(&to_cnnacc_bo(obj)->base);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	cnnacc_bo_sync_range(cdev->drm.dev, sgt, op);
	return 0;
}

int cnnacc_bo_sync_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_cnnacc_bo_sync *args = data;
	struct drm_cnnacc_bo_sync_op *ops __free(kvfree) = NULL;
	int ret;
	u32 i;

	ret = cnnacc_uobj_get(drm, &args->ops, CNNACC_MAX_SYNC_OPS, &ops, size);
	for (i = 0; i < args->ops.count && !ret; i++) {
		/* One section for each operation, so that an unplug waits for one only. */
		CLASS(cnnacc_section, section)(drm);
		ret = section < 0 ? -ENODEV : cnnacc_bo_sync(to_cnnacc_device(drm), file, &ops[i]);
	}
	return ret;
}

#if IS_ENABLED(CONFIG_CNNACC_KUNIT_TEST)
#include "tests/cnnacc_gem_test.c"
#endif
