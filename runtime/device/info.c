/* SPDX-License-Identifier: MIT */
/* Checks and stores a device's description, from a driver or a file. */
#include "backend/desc.h"
#include "device.h"

/* The largest page of any kernel; the library's fixed VAs are multiples of it. */
#define MAX_PAGE_SIZE 0x10000u

static const char *check_info(const struct drm_cnnacc_dev_info *info, uint64_t clock_hz)
{
	if (!info->core_count || info->core_count > CNNRT_MAX_CORES)
		return "core_count";
	if (info->va_bits != CNNACC_VA_BITS)
		return "va_bits";
	if (!clock_hz || clock_hz > UINT32_MAX)
		return "clock_hz";
	if (info->page_size < CNNACC_PAGE_SIZE || info->page_size > MAX_PAGE_SIZE ||
	    info->page_size & (info->page_size - 1))
		return "page_size";
	return info->max_tasks ? NULL : "max_tasks";
}

const char *rt_device_set_info(struct cnnrt_device *dev, const struct drm_cnnacc_dev_info *info,
			       uint64_t clock_hz, const struct cnnrt_core_info *cores)
{
	const char *bad = check_info(info, clock_hz);

	if (bad)
		return bad;
	dev->info.hw_version = info->hw_version;
	dev->info.features = info->features;
	dev->info.clock_hz = (uint32_t)clock_hz;
	dev->info.core_count = info->core_count;
	dev->info.reset_count = info->reset_count;
	dev->info.max_buffer = info->max_bo_size;
	dev->page_size = info->page_size;
	dev->max_vms = info->max_vms;
	dev->max_contexts = info->max_contexts;
	dev->max_tasks = info->max_tasks;
	for (uint32_t i = 0; i < info->core_count; i++) {
		if (!cnn_core_name_ok(cores[i].name, sizeof(cores[i].name)))
			return "name";
		dev->core[i] = cores[i];
	}
	dev->target = cnn_target_reference;
	for (int i = 0; i < CNNRT_MAX_CORES; i++)
		dev->target.core_hz[i] = dev->info.clock_hz;
	return NULL;
}
