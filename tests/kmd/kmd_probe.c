// SPDX-License-Identifier: MIT
/*
 * Lets every allocation of a probe fail once: the driver returns the error, leaks nothing, and the
 * next probe succeeds.  Needs a kernel with FAULT_INJECTION, and a second device whose probe fails
 * right after its DRM device is allocated (probe-fault=magic).
 *
 * Some points are excluded, since Linux 6.12 itself fails there: drm_minor_alloc_release() crashes
 * if drm_sysfs_minor_alloc() has failed, and the interrupt core warns when it removes a /proc file
 * that it could not create.  So the points are counted: from the first one within
 * drm_minor_alloc() up to the point where the refused device fails, none is injected.  Only
 * kmalloc() may fail, not the slab caches, one of which is that of /proc files.
 * On one processor and without KMEMLEAK, the count is the same for each probe, plus or minus one.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "failnth.h"
#include "kmd.h"

#define POINTS_MAX	5000u
#define DEBUG		"/sys/kernel/debug/"

static int driver_file(const char *name, const char *function, unsigned int n)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/cnnacc/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	failnth_arm(n);
	ret = write(fd, function, strlen(function)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int unbind(const char *function)
{
	return driver_file("unbind", function, 0);
}

/* Number of failure points of a probe that ends like this. */
static unsigned int count_points(const char *function, int wanted)
{
	int ret = driver_file("bind", function, POINTS_MAX);
	unsigned int left = failnth_left();

	ok_ret(ret, wanted, "probe of %s", function);
	return POINTS_MAX - left;
}

static bool sysfs_is(const char *function, const char *name, const char *wanted)
{
	char path[PATH_MAX], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", function, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		bail("%s", path);
	close(fd);
	return !strncmp(text, wanted, strlen(wanted));
}

/* Name of a device that the driver has refused, to be freed; NULL if there is none. */
static char *find_refused(void)
{
	char *found = NULL, driver[PATH_MAX];
	glob_t all;
	size_t i;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &all))
		bail("no PCI devices");
	for (i = 0; i < all.gl_pathc && !found; i++) {
		const char *name = strrchr(all.gl_pathv[i], '/') + 1;

		snprintf(driver, sizeof(driver), "%s/driver", all.gl_pathv[i]);
		if (access(driver, F_OK) && sysfs_is(name, "vendor", "0x1234") &&
		    sysfs_is(name, "device", "0xcacc"))
			found = strdup(name);
	}
	globfree(&all);
	return found;
}

static void only_kmalloc(void)
{
	glob_t caches;
	size_t i;

	if (glob("/sys/kernel/slab/kmalloc-*/failslab", 0, NULL, &caches) ||
	    kmd_write_file(DEBUG "failslab/cache-filter", "Y"))
		bail("failslab cannot be told which caches may fail");
	for (i = 0; i < caches.gl_pathc; i++)
		if (kmd_write_file(caches.gl_pathv[i], "1"))
			bail("%s", caches.gl_pathv[i]);
	globfree(&caches);
}

static void show_failures(bool show)
{
	kmd_write_file(DEBUG "failslab/verbose", show ? "2" : "0");
	kmd_write_file(DEBUG "fail_page_alloc/verbose", show ? "2" : "0");
}

/* Was the last injected failure within that function? */
static bool failed_within(const char *name)
{
	static char text[1 << 15];
	int length = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, text, sizeof(text) - 1);
	char *at, *last = NULL;

	if (length < 0)
		bail("klogctl");
	text[length] = '\0';
	for (at = text; (at = strstr(at, "FAULT_INJECTION: ")); at++)
		last = at;
	if (!last)
		bail("the kernel does not tell what failed");
	return strstr(last, name);
}

static struct {
	unsigned int points, bound, odd;
} seen;

/* Returns false if there is no Nth point. */
static bool fail_at(const char *function, unsigned int n)
{
	int ret = driver_file("bind", function, n);
	bool fired = failnth_fired();

	seen.points += fired;
	if (!ret) {
		seen.bound += fired;
		ret = unbind(function);
		seen.odd += !!ret;
	} else {
		seen.odd += !fired;
	}
	return fired;
}

static void sweep(const char *function, unsigned int refused_points)
{
	unsigned int n = 0;

	show_failures(true);
	do {
		if (!fail_at(function, ++n))
			bail("no point within drm_minor_alloc()");
	} while (!failed_within("drm_minor_alloc+"));
	show_failures(false);
	note("%u points before, and the first within drm_minor_alloc(); %u left out", n - 1,
	     refused_points - n);
	n = refused_points;
	while (fail_at(function, ++n) && n < POINTS_MAX)
		;
}

int main(void)
{
	const char *function = kmd_function();
	char *refused = find_refused();
	unsigned int points, refused_points;
	struct kmd_env env;

	if (!failnth_prepare()) {
		skip("allocations of a probe", "the kernel has no FAULT_INJECTION");
		return done_testing();
	}
	if (!refused) {
		skip("allocations of a probe", "no second device, with probe-fault=magic");
		return done_testing();
	}
	only_kmalloc();
	ok_ret(unbind(function), 0, "unbind");
	refused_points = count_points(refused, -ENODEV);
	points = count_points(function, 0);
	ok_ret(unbind(function), 0, "unbind");
	sweep(function, refused_points);
	ok(seen.points > points / 2 && !seen.odd,
	   "%u of %u points of failure, the device bound at %u of them, %u wrong", seen.points,
	   points, seen.bound, seen.odd);
	kmd_write_file(DEBUG "failslab/cache-filter", "N");
	ok_ret(driver_file("bind", function, 0), 0, "without a failure");
	env = kmd_env(kmd_open());
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "and jobs run");
	kmd_env_free(&env);
	close(env.fd);
	free(refused);
	return done_testing();
}
