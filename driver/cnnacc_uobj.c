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
 * Copies arrays and objects between user space and kernel, which may have been built with different
 * versions of a struct.  Fields that only user space has must be zero in an array, and are cleared
 * in an object that is returned.
 */

#define CNNACC_UOBJ_MAX		65536	/* largest buffer accepted from user space, in bytes */

/**
 * cnnacc_uobj_get_array() - Copy an array from user space
 * @drm: DRM device
 * @array: address, count and stride given by user space
 * @max: maximum number of elements
 * @size: size of the kernel's element, which is also the smallest valid stride
 *
 * Return: the copy, to be freed with kvfree(); NULL for no elements; or an error pointer
 */
void *cnnacc_uobj_get_array(struct drm_device *drm, const struct drm_cnnacc_obj_array *array,
			    u32 max, size_t size)
{
	void *copy __free(kvfree) = NULL;
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
		if (ret)
			return ERR_PTR(ret);
	}
	return_ptr(copy);
}

/**
 * cnnacc_uobj_put() - Copy an object to user space
 * @drm: DRM device
 * @pointer: user pointer, or 0 to query the size only
 * @size: in: bytes available at @pointer; out: size of the kernel's object
 * @object: the object
 * @object_size: size of @object
 *
 * Return: 0 or a negative error code
 */
int cnnacc_uobj_put(struct drm_device *drm, u64 pointer, u32 *size, const void *object,
		    size_t object_size)
{
	void __user *to = u64_to_user_ptr(pointer);
	size_t space = *size;
	size_t bytes = min(space, object_size);

	*size = object_size;
	if (!pointer)
		return 0;
	if (cnnacc_refuses(drm, space > CNNACC_UOBJ_MAX))
		return -EINVAL;
	if (copy_to_user(to, object, bytes) || clear_user(to + bytes, space - bytes))
		return -EFAULT;
	return 0;
}
