/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_UOBJ_H
#define CNNACC_UOBJ_H

#include <linux/sched.h>
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

void *cnnacc_uobj_get_array(struct drm_device *drm, const struct drm_cnnacc_obj_array *array,
			    u32 max, size_t size);
int cnnacc_uobj_put(struct drm_device *drm, u64 pointer, u32 *size, const void *object,
		    size_t object_size);

#endif
