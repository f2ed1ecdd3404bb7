// SPDX-License-Identifier: MIT
/* DEV_QUERY: answers, size negotiation, wrong arguments; the version. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

static int query(int fd, uint32_t type, struct drm_cnnacc_obj_array *result)
{
	struct drm_cnnacc_dev_query query = { .type = type, .result = *result };
	int ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query);

	*result = query.result;
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
	struct drm_cnnacc_dev_info info;

	kmd_dev_info(fd, &info);
	ok(info.hw_version == CNNACC_HW_VERSION, "hardware version");
	ok(info.core_count >= 1 && info.core_count <= CNNACC_MAX_CORES, "core count");
	ok(info.va_bits == CNNACC_VA_BITS && info.page_size >= CNNACC_PAGE_SIZE, "addresses");
	ok(info.max_vms && info.max_contexts && info.max_bind_ops && info.max_sync_ops &&
	   info.max_jobs && info.max_tasks && info.max_syncs && info.max_bos && info.max_bo_size, "limits");
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

static void test_clocks(int fd)
{
	struct drm_cnnacc_clocks clocks = { };
	struct drm_cnnacc_obj_array to = DRM_CNNACC_OBJ_ARRAY(1, &clocks);

	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_CLOCKS, &to), 0, "clocks");
	ok(clocks.min_hz && clocks.min_hz <= clocks.current_hz &&
	   clocks.current_hz <= clocks.max_hz, "are in order");
}

static void test_timestamp(int fd)
{
	struct drm_cnnacc_timestamp a = { }, b = { };
	struct drm_cnnacc_obj_array to = DRM_CNNACC_OBJ_ARRAY(1, &a);
	int64_t before = kmd_deadline(0), device, cpu;

	kmd_stay_awake(true);
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_TIMESTAMP, &to), 0, "a pair of times");
	usleep(300000);
	to = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &b);
	query(fd, DRM_CNNACC_DEV_QUERY_TIMESTAMP, &to);
	device = (int64_t)(b.device_ns - a.device_ns);
	cpu = (int64_t)(b.cpu_ns - a.cpu_ns);
	note("%lld ns of the device, %lld ns of the CPU", (long long)device, (long long)cpu);
	ok((int64_t)a.cpu_ns >= before && (int64_t)b.cpu_ns <= kmd_deadline(0),
	   "the CPU's is CLOCK_MONOTONIC");
	ok(device > 0 && cpu >= 300000000, "both go on");
	kmd_stay_awake(false);
}

/* What the driver knows does not wake the device; what is read from it does. */
static void test_sleep(int fd)
{
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_clocks clocks;
	struct drm_cnnacc_obj_array to = DRM_CNNACC_OBJ_ARRAY(1, &clocks);

	ok(kmd_soon(kmd_power_is("suspended")), "the device sleeps");
	kmd_dev_info(fd, &info);
	kmd_core_info(fd, 0, &core);
	ok(kmd_power_is("suspended"), "DEV_INFO and CORE_INFO let it sleep");
	kmd_stay_awake(true);
	kmd_stay_awake(false);
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_CLOCKS, &to), 0, "CLOCKS reads it");
}

/* A program whose structure is longer or shorter than the kernel's. */
static void test_strides(int fd)
{
	const size_t size = sizeof(struct drm_cnnacc_core_info);
	uint8_t buffer[CNNACC_MAX_CORES * (sizeof(struct drm_cnnacc_core_info) + 8)];
	struct drm_cnnacc_core_info core[CNNACC_MAX_CORES];
	struct drm_cnnacc_obj_array to = { };
	uint32_t i, count, wrong = 0;

	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_CORE_INFO, &to), 0, "asking for the size");
	ok(to.stride == size && to.count >= 1 && !to.array, "gives size and count");
	count = to.count;
	for (i = 0; i < count; i++)
		kmd_core_info(fd, i, &core[i]);

	memset(buffer, 0xaa, sizeof(buffer));
	to = (struct drm_cnnacc_obj_array){ size + 8, CNNACC_MAX_CORES, (uintptr_t)buffer };
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_CORE_INFO, &to), 0, "a newer program");
	for (i = 0; i < count; i++)
		wrong += memcmp(buffer + i * (size + 8), &core[i], size) != 0 ||
			 memcmp(buffer + i * (size + 8) + size, (uint8_t[8]){ }, 8) != 0;
	ok(!wrong && to.stride == size && to.count == count,
	   "finds each core at its stride, the rest zero");
	ok(count == CNNACC_MAX_CORES || buffer[count * (size + 8)] == 0xaa, "and nothing behind");

	memset(buffer, 0xaa, sizeof(buffer));
	to = (struct drm_cnnacc_obj_array){ 8, CNNACC_MAX_CORES, (uintptr_t)buffer };
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_CORE_INFO, &to), 0, "an older program");
	for (i = 0; i < count; i++)
		wrong += memcmp(buffer + i * 8, &core[i], 8) != 0;
	ok(!wrong && buffer[count * 8] == 0xaa, "finds each core at its stride");

	memset(buffer, 0xaa, sizeof(buffer));
	to = (struct drm_cnnacc_obj_array){ size, 0, (uintptr_t)buffer };
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_CORE_INFO, &to), 0, "no room");
	ok(buffer[0] == 0xaa && to.count == count, "is not written to");
}

static void test_bad(int fd)
{
	struct drm_cnnacc_dev_query q = { .pad = 1 };
	struct drm_cnnacc_obj_array to = { 64, 1, 64 };
	uint8_t buffer[64];

	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &to), -EFAULT, "a bad pointer");
	to = (struct drm_cnnacc_obj_array){ 0xffffffff, 1, (uintptr_t)buffer };
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &to), -EINVAL, "an absurd stride");
	to = (struct drm_cnnacc_obj_array){ 0, 1, (uintptr_t)buffer };
	ok_ret(query(fd, DRM_CNNACC_DEV_QUERY_DEV_INFO, &to), -EINVAL, "no stride");
	to = (struct drm_cnnacc_obj_array){ 64, 1, (uintptr_t)buffer };
	ok_ret(query(fd, 99, &to), -EINVAL, "an unknown type");
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_DEV_QUERY, &q), -EINVAL, "pad");
}

/* An ioctl number with another size: shorter is zero-extended, longer is truncated. */
static void test_ioctl_size(int fd)
{
	uint32_t word[4] = { DRM_CNNACC_DEV_QUERY_DEV_INFO };
	unsigned long nr = DRM_COMMAND_BASE + DRM_CNNACC_DEV_QUERY;

	ok(!ioctl(fd, DRM_IOWR(nr, uint32_t[4]), word) &&
	   word[2] == sizeof(struct drm_cnnacc_dev_info), "an ioctl of older user space");
	ok(ioctl(fd, DRM_IO(DRM_COMMAND_BASE + 0x3f), NULL) && errno == EINVAL,
	   "an ioctl that does not exist");
}

int main(void)
{
	int fd = kmd_open();

	test_version(fd);
	test_dev_info(fd);
	test_core_info(fd);
	test_clocks(fd);
	test_timestamp(fd);
	test_sleep(fd);
	test_strides(fd);
	test_bad(fd);
	test_ioctl_size(fd);
	return done_testing();
}
