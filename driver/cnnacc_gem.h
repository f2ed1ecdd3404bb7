/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_GEM_H
#define CNNACC_GEM_H

#include <drm/drm_gem_shmem_helper.h>

struct cnnacc_device;
struct cnnacc_vm;
struct dma_buf;
struct drm_device;
struct drm_file;

/**
 * struct cnnacc_bo - buffer object.
 * @base: shmem object
 * @use: enum drm_cnnacc_bo_use
 * @flags: DRM_CNNACC_BO_*
 * @link: in &cnnacc_device.bos
 * @resv: for a private buffer, the referenced object whose reservation it shares; else NULL
 * @detached: dma-buf of an imported buffer that was detached, referenced; else NULL
 */
struct cnnacc_bo {
	struct drm_gem_shmem_object base;
	u32 use;
	u32 flags;
	struct list_head link;
	struct drm_gem_object *resv;
	struct dma_buf *detached;
};

static inline struct cnnacc_bo *to_cnnacc_bo(struct drm_gem_object *obj)
{
	return container_of(to_drm_gem_shmem_obj(obj), struct cnnacc_bo, base);
}

DEFINE_FREE(cnnacc_obj, struct drm_gem_object *, drm_gem_object_put(_T))

struct drm_gem_object *cnnacc_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *cnnacc_gem_import(struct drm_device *drm, struct dma_buf *buf);
void cnnacc_gem_unmap_all(struct cnnacc_device *cdev);
bool cnnacc_gem_usable(struct drm_gem_object *obj, struct cnnacc_vm *vm);

int cnnacc_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_bo_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_bo_sync_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
