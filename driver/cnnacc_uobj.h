/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_UOBJ_H
#define CNNACC_UOBJ_H

#include <linux/types.h>

#include <cnnacc_accel.h>

void *cnnacc_uobj_get_array(const struct drm_cnnacc_obj_array *array, u32 max, size_t size);
int cnnacc_uobj_put(u64 pointer, u32 *size, const void *object, size_t object_size);

#endif
