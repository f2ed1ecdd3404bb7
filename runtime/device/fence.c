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

static int eventfd_status(int fd)
{
	unsigned long long count = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	/* Status unknown (no /proc or no free descriptor): report failure. */
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "eventfd-count: %llx", &count) == 1)
			break;
	fclose(f);
	return count > 1 && count < 4096 ? -(int)(count - 1) : 0;
}

int rt_fence_status(int fd)
{
	struct sync_file_info info = { 0 };

	if (ioctl(fd, SYNC_IOC_FILE_INFO, &info))
		return eventfd_status(fd);
	return info.status < 0 ? info.status : 0;
}
