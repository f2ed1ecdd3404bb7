/* SPDX-License-Identifier: MIT */
/* The first core of a device and raw programs for it. */
#ifndef RT_PROGRAMS_H
#define RT_PROGRAMS_H

#include "core_programs.h"
#include "rt.h"

static inline struct cnnrt_core_info rt_first_core(struct cnnrt_device *dev)
{
	struct cnnrt_core_info info = { .struct_size = sizeof(info) };

	OK(cnnrt_device_core(dev, 0, &info, &rt_err));
	return info;
}

static inline const struct core_programs *rt_programs(struct cnnrt_device *dev)
{
	const struct cnnrt_core_info core = rt_first_core(dev);
	const struct core_programs *programs = core_programs(core.name);

	assert_non_null(programs);
	return programs;
}

#endif
