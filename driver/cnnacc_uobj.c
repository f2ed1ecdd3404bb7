// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cnnacc_uobj.h"

/**
 * DOC: user objects
 *
 * Arrays of objects of a size that user space names, and objects of a size that
 * both sides name, so that either side may know more fields than the other.
 */

#define CNNACC_UOBJ_MAX		65536	/* bytes of room that make sense */

/**
 * cnnacc_uobj_get_array() - Copy an array from user space
 * @drm: DRM device
 * @array: what user space says about it
 * @max: most elements
 * @size: size of an element as the kernel knows it, which is that of its first version
 *
 * Return: the copy, to be freed with kvfree(); NULL for no elements; or an error pointer
 */
void *cnnacc_uobj_get_array(struct drm_device *drm, const struct drm_cnnacc_obj_array *array,
			    u32 max, size_t size)
{
	void *copy;
	u32 i;
	int ret;

	if (!array->count)
		return NULL;
	if (array->count > max || array->stride < size) {
		drm_dbg(drm, "%s: refused: array of %u, stride %u: %u at most, stride %zu at least\n",
			current->comm, array->count, array->stride, max, size);
		return ERR_PTR(-EINVAL);
	}
	if (array->stride > PAGE_SIZE)
		return ERR_PTR(-E2BIG);

	copy = kvcalloc(array->count, size, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < array->count; i++) {
		ret = copy_struct_from_user(copy + i * size, size,
					    u64_to_user_ptr(array->array +
							    (u64)i * array->stride),
					    array->stride);
		if (ret) {
			kvfree(copy);
			return ERR_PTR(ret);
		}
	}
	return copy;
}

/**
 * cnnacc_uobj_put() - Copy an object to user space
 * @drm: DRM device
 * @pointer: user pointer, or 0 to ask for the size only
 * @size: in: bytes at @pointer; out: bytes the kernel has
 * @object: the object
 * @object_size: its size
 *
 * Return: 0 or a negative error code
 */
int cnnacc_uobj_put(struct drm_device *drm, u64 pointer, u32 *size, const void *object,
		    size_t object_size)
{
	void __user *to = u64_to_user_ptr(pointer);
	size_t room = *size;
	size_t bytes = min(room, object_size);

	*size = object_size;
	if (!pointer)
		return 0;
	if (cnnacc_refuses(drm, room > CNNACC_UOBJ_MAX))
		return -EINVAL;
	if (copy_to_user(to, object, bytes) || clear_user(to + bytes, room - bytes))
		return -EFAULT;
	return 0;
}
