// SPDX-License-Identifier: MIT
/* DEV_QUERY: answers, size negotiation, wrong arguments; the version. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

static int query(int fd, uint32_t type, uint32_t *size, void *to)
{
	struct drm_cnnacc_dev_query query = {
		.type = type, .size = *size, .pointer = (uintptr_t)to,
	};
	int ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query);

	*size = query.size;
	return ret;
}

static void test_version(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);

	ok(version && !strcmp(version->name, "cnnacc"), "the driver is called cnnacc");
	ok(version && version->version_major == DRM_CNNACC_VERSION_MAJOR &&
	   version->version_minor == DRM_CNNACC_VERSION_MINOR, "its version");
	drmFreeVersion(version);
}

static void test_dev_info(int fd)
{
	struct drm_cnnacc_dev_info info, again;

	kmd_dev_info(fd, &info);
	ok(info.hw_version == CNNACC_HW_VERSION, "hardware version");
	ok(info.core_count >= 1 && info.core_count <= CNNACC_MAX_CORES, "core count");
	ok(info.clock_hz > 0, "clock");
	ok(info.va_bits == CNNACC_VA_BITS && info.page_size >= CNNACC_PAGE_SIZE, "addresses");
	ok(info.max_vms && info.max_contexts && info.max_bind_ops && info.max_sync_ops &&
	   info.max_jobs && info.max_tasks && info.max_syncs && info.max_bos && info.max_bo_size, "limits");
	usleep(1000);
	kmd_dev_info(fd, &again);
	ok(again.timestamp_ns > info.timestamp_ns, "device time goes on");
}

static void test_core_info(int fd)
{
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_core_info core;
	uint32_t i;

	kmd_dev_info(fd, &info);
	for (i = 0; i < info.core_count; i++) {
		kmd_core_info(fd, i, &core);
		ok(core.type != CNNACC_CORE_NONE && core.program_max >= 4 && core.job_cycles_max &&
		   core.queue_offset + CNNACC_QREG_BLOCK_SIZE <= CNNACC_REGS_SIZE,
		   "core %u makes sense", i);
	}
}

static void test_sizes(int fd)
{
	uint8_t buffer[sizeof(struct drm_cnnacc_dev_info) + 64];
	uint32_t size = 0;

	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &size, NULL), 0, "asking for the size");
	ok(size == sizeof(struct drm_cnnacc_dev_info), "gives the size");

	memset(buffer, 0xaa, sizeof(buffer));
	size = sizeof(buffer);
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &size, buffer), 0, "too much room");
	ok(!buffer[sizeof(buffer) - 1] && size == sizeof(struct drm_cnnacc_dev_info),
	   "the rest is zeroed");

	memset(buffer, 0xaa, sizeof(buffer));
	size = 8;
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &size, buffer), 0, "too little room");
	ok(buffer[8] == 0xaa && !memcmp(buffer, &(uint32_t){ CNNACC_HW_VERSION }, 4),
	   "is filled and no more");

	size = 64;
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &size, (void *)64), -EFAULT,
	       "a bad pointer");
	size = 0xffffffff;
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &size, buffer), -EINVAL,
	       "an absurd size");
	size = 64;
	ok_ret(query(fd, 99, &size, buffer), -EINVAL, "an unknown type");
}

/* An ioctl number with another size: shorter is zero-extended, longer is truncated. */
static void test_ioctl_size(int fd)
{
	uint32_t word[2] = { DRM_CNNACC_DEV_QUERY_DEV_INFO, 0 };
	unsigned long nr = DRM_COMMAND_BASE + DRM_CNNACC_DEV_QUERY;

	ok(!ioctl(fd, DRM_IOWR(nr, uint32_t[2]), word) &&
	   word[1] == sizeof(struct drm_cnnacc_dev_info), "an ioctl of older user space");
	ok(ioctl(fd, DRM_IO(DRM_COMMAND_BASE + 0x3f), NULL) && errno == EINVAL,
	   "an ioctl that does not exist");
}

int main(void)
{
	int fd = kmd_open();

	test_version(fd);
	test_dev_info(fd);
	test_core_info(fd);
	test_sizes(fd);
	test_ioctl_size(fd);
	return done_testing();
}
