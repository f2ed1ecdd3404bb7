/* SPDX-License-Identifier: MIT */
/*
 * Fences: sync_files of DRM drivers, and eventfds where no kernel driver is involved. An eventfd's
 * count is the status: 1 for success, 1 + errno for a failure. The eventfd is never read, so it
 * stays readable for all waiters; the count comes from /proc/self/fdinfo.
 */
#include "device.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <linux/sync_file.h>

int rt_fence_create(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

void rt_fence_signal(int fd, int status)
{
	/* Cannot fail: the count is 0 and the descriptor is the library's. */
	(void)!eventfd_write(fd, 1 + (eventfd_t)-status);
}

int rt_fence_wait(int fd, int64_t timeout_ns)
{
	uint64_t end = rt_now() + (uint64_t)timeout_ns;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		struct timespec ts = { 0 };
		uint64_t now = rt_now();
		int n;

		if (timeout_ns > 0 && now < end) {
			ts.tv_sec = (time_t)((end - now) / 1000000000u);
			ts.tv_nsec = (long)((end - now) % 1000000000u);
		}
		n = ppoll(&p, 1, timeout_ns < 0 ? NULL : &ts, NULL);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			return p.revents & POLLNVAL ? -EBADF : 0;
		if (timeout_ns >= 0 && rt_now() >= end)
			return -ETIMEDOUT;
	}
}

/* 0 or a negative errno: -EINVAL if fd is no eventfd. */
static int eventfd_count(int fd, unsigned long long *count)
{
	char path[64], line[128];
	int ret = -EINVAL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	/* No such descriptor, no /proc, or no free descriptor. */
	if (!f)
		return errno == ENOENT ? -EBADF : -errno;
	while (ret && fgets(line, sizeof(line), f))
		if (sscanf(line, "eventfd-count: %llx", count) == 1)
			ret = 0;
	fclose(f);
	return ret;
}

static bool is_sync_file(int fd, struct sync_file_info *info)
{
	memset(info, 0, sizeof(*info));
	return !ioctl(fd, SYNC_IOC_FILE_INFO, info);
}

int rt_fence_check(int fd)
{
	unsigned long long count;
	struct sync_file_info info;

	return is_sync_file(fd, &info) ? 0 : eventfd_count(fd, &count);
}

int rt_fence_status(int fd)
{
	struct sync_file_info info;
	unsigned long long count;
	int ret;

	if (is_sync_file(fd, &info))
		return info.status < 0 ? info.status : 0;
	ret = eventfd_count(fd, &count);
	if (ret)
		return ret;
	return count > 1 && count < 4096 ? -(int)(count - 1) : 0;
}
