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

/**
 * cnnacc_uobj_get_array() - Copy an array from user space
 * @drm: DRM device
 * @array: address, count and stride given by user space
 * @max: maximum number of elements
 * @min_stride: size of the element's first version, the smallest valid stride
 * @size: size of the kernel's element
 *
 * Return: the copy, to be freed with kvfree(); NULL for no elements; or an error pointer
 */
void *cnnacc_uobj_get_array(struct drm_device *drm, const struct drm_cnnacc_obj_array *array,
			    u32 max, size_t min_stride, size_t size)
{
	void *copy __free(kvfree) = NULL;
	u32 i;
	int ret;

	if (!array->count)
		return NULL;
	if (array->count > max || array->stride < min_stride) {
		drm_dbg(drm, "%s: refused: array of %u, stride %u: %u at most, stride %zu at least\n",
			current->comm, array->count, array->stride, max, min_stride);
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

static int cnnacc_uobj_put(u64 pointer, size_t space, const void *object, size_t size)
{
	void __user *to = u64_to_user_ptr(pointer);
	size_t bytes = min(space, size);

	if (copy_to_user(to, object, bytes) || clear_user(to + bytes, space - bytes))
		return -EFAULT;
	return 0;
}

/**
 * cnnacc_uobj_put_array() - Copy an array to user space
 * @drm: DRM device
 * @array: in: address (0 to write nothing), count and stride of the user's array; out: @count and
 *	@size
 * @objects: the objects
 * @count: number of objects
 * @size: size of an object
 *
 * Return: 0 or a negative error code
 */
int cnnacc_uobj_put_array(struct drm_device *drm, struct drm_cnnacc_obj_array *array,
			  const void *objects, u32 count, size_t size)
{
	u32 i, space = min(array->count, count), stride = array->stride;
	int ret = 0;

	if (cnnacc_refuses(drm, array->array && (!stride || stride > PAGE_SIZE)))
		return -EINVAL;
	for (i = 0; array->array && i < space && !ret; i++)
		ret = cnnacc_uobj_put(array->array + (u64)i * stride, stride, objects + i * size,
				      size);
	array->count = count;
	array->stride = size;
	return ret;
}
