/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_UOBJ_H
#define CNNACC_UOBJ_H

#include <linux/err.h>
#include <linux/sched.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include <drm/drm_device.h>
#include <drm/drm_print.h>

#include <cnnacc_accel.h>

/**
 * cnnacc_refuses() - Check an ioctl argument and log a refusal at debug level
 * @_drm: DRM device
 * @_cond: condition that refuses the argument, in terms of the field and its limit; it is logged
 *
 * Return: @_cond
 */
#define cnnacc_refuses(_drm, _cond)						\
({										\
	bool _refused = (_cond);						\
										\
	if (_refused)								\
		drm_dbg(_drm, "%s: refused: %s\n", current->comm, #_cond);	\
	_refused;								\
})

/**
 * cnnacc_uobj_get() - Copy an array from user space
 * @_drm: DRM device
 * @_array: struct drm_cnnacc_obj_array given by user space
 * @_max: maximum number of elements
 * @_to: out: the copy, to be freed with kvfree(), or NULL for no elements
 * @_last: last member of the first version of an element of @_to
 *
 * Return: 0 or a negative error code
 */
#define cnnacc_uobj_get(_drm, _array, _max, _to, _last)				\
({										\
	typeof(_to) _out = (_to);						\
	void *_copy = cnnacc_uobj_get_array(_drm, _array, _max,			\
					    offsetofend(typeof(**_out), _last),	\
					    sizeof(**_out));			\
										\
	*_out = IS_ERR(_copy) ? NULL : _copy;					\
	PTR_ERR_OR_ZERO(_copy);							\
})

void *cnnacc_uobj_get_array(struct drm_device *drm, const struct drm_cnnacc_obj_array *array,
			    u32 max, size_t min_stride, size_t size);
int cnnacc_uobj_put_array(struct drm_device *drm, struct drm_cnnacc_obj_array *array,
			  const void *objects, u32 count, size_t size);

#endif
