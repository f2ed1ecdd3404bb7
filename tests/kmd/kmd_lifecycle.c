// SPDX-License-Identifier: MIT
/*
 * The driver goes away under its users and comes back: unload is refused while
 * somebody needs the module, unbind is not and harms nobody.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sync_file.h>
#include <xf86drm.h>

#include "kmd.h"

#define DRIVER "/sys/bus/pci/drivers/cnnacc/"

static char function[NAME_MAX + 1];

static void find_function(void)
{
	char path[PATH_MAX];

	if (!realpath("/sys/class/accel/accel0/device", path))
		bail("sysfs node of the device");
	snprintf(function, sizeof(function), "%s", basename(path));
}

/* 0 or -errno. */
static int driver_file(const char *name)
{
	char path[PATH_MAX];
	int fd, ret;

	snprintf(path, sizeof(path), DRIVER "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, function, strlen(function)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "cnnacc", O_NONBLOCK) ? -errno : 0;
}

static int load(void)
{
	return system("modprobe cnnacc") ? -EIO : 0;
}

/* The node's number changes while an old node is open. */
static void find_node(void)
{
	char path[PATH_MAX];
	glob_t found;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/accel/accel*", function);
	if (glob(path, 0, NULL, &found))
		bail("node of the device");
	snprintf(path, sizeof(path), "/dev/accel/%s", basename(found.gl_pathv[0]));
	setenv("CNNACC_DEVICE", path, 1);
	globfree(&found);
}

static void check_works(const char *when)
{
	struct kmd_env env;

	find_node();
	env = kmd_env(kmd_open());
	ok_ret(kmd_run(&env, kmd_program_copy(&env, KMD_DATA_VA, KMD_DATA_VA + 64, 1)), 0,
	       "the device works %s", when);
	kmd_env_free(&env);
	close(env.fd);
}

/* The last users may be a moment away from being gone. */
static int unload_soon(void)
{
	int i, ret = -EAGAIN;

	for (i = 0; i < 100 && ret == -EAGAIN; i++) {
		ret = unload();
		if (ret)
			usleep(50000);
	}
	return ret;
}

static void test_unload(void)
{
	int fd = kmd_open(), i, ret = 0;

	ok_ret(unload(), -EAGAIN, "unload is refused while a file is open");
	close(fd);
	for (i = 0; i < 10 && !ret; i++) {
		ret = unload_soon();
		if (!ret)
			ret = load();
	}
	ok_ret(ret, 0, "unload and load ten times");
	check_works("after that");
}

static void test_fence_file(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct sync_file_info info = { };
	uint32_t out = kmd_syncobj(env.fd);
	int file;

	kmd_submit(&env, kmd_program_nop(&env), 0, out);
	ok_ret(kmd_wait(env.fd, out), 0, "a job ends");
	if (drmSyncobjExportSyncFile(env.fd, out, &file))
		bail("drmSyncobjExportSyncFile");
	kmd_env_free(&env);
	close(env.fd);
	usleep(200000);
	ok_ret(unload(), -EAGAIN, "unload is refused while a fence file is open");
	ok(!ioctl(file, SYNC_IOC_FILE_INFO, &info) && info.status == 1,
	   "which still tells how the job ended");
	close(file);
	ok_ret(unload_soon(), 0, "unload after it is closed");
	ok_ret(load(), 0, "load");
}

static void test_rebind(void)
{
	int i, ret = 0;

	for (i = 0; i < 10 && !ret; i++) {
		ret = driver_file("unbind");
		if (!ret)
			ret = driver_file("bind");
	}
	ok_ret(ret, 0, "unbind and bind ten times");
	check_works("after that");
}

struct waiter {
	int fd;
	uint32_t handle;
	int ret;
};

static void *wait_for_bo(void *arg)
{
	struct waiter *waiter = arg;
	struct drm_cnnacc_bo_wait wait = {
		.handle = waiter->handle, .timeout_ns = kmd_deadline(60000),
	};

	waiter->ret = kmd_ioctl(waiter->fd, DRM_IOCTL_CNNACC_BO_WAIT, &wait);
	return NULL;
}

static int fence_file_status(int file, struct sync_fence_info *fence)
{
	struct sync_file_info info = {
		.num_fences = 1, .sync_fence_info = (uintptr_t)fence,
	};

	return ioctl(file, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
}

static void check_dead_file(struct kmd_env *env)
{
	struct drm_cnnacc_ctx_create create = { .priority = 1 };
	struct drm_cnnacc_dev_query query = { };
	struct drm_cnnacc_bo_create bo = { .size = 4096 };

	ok_ret(kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query), -ENODEV, "DEV_QUERY");
	ok_ret(kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create), -ENODEV, "CTX_CREATE");
	ok_ret(kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_BO_CREATE, &bo), -ENODEV, "BO_CREATE");
	ok_ret(kmd_submit(env, 4, 0, 0), -ENODEV, "SUBMIT");
	ok_ret(kmd_unmap(env->fd, env->ctx, KMD_DATA_VA, env->data.size), -ENODEV, "VM_BIND");
}

/* A running job, a queued one, a thread that waits, mappings and a dma-buf. */
static void test_unbind_in_use(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	uint32_t first = kmd_syncobj(env.fd), last = kmd_syncobj(env.fd), i;
	struct drm_cnnacc_bo_create create = {
		.size = 4096, .flags = DRM_CNNACC_BO_PRIVATE, .ctx_id = env.ctx,
	};
	struct sync_fence_info fence = { };
	struct waiter waiter = { .fd = env.fd };
	int buf, file[2];
	pthread_t thread;
	uint32_t *map;

	if (drmPrimeHandleToFD(env.fd, env.data.handle, DRM_CLOEXEC | DRM_RDWR, &buf))
		bail("drmPrimeHandleToFD");
	kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	waiter.handle = create.handle;
	kmd_submit(&env, kmd_program_endless(&env), 0, first);
	for (i = 0; i < 10; i++)
		kmd_submit(&env, 8, 0, last);
	if (drmSyncobjExportSyncFile(env.fd, first, &file[0]) ||
	    drmSyncobjExportSyncFile(env.fd, last, &file[1]))
		bail("drmSyncobjExportSyncFile");
	pthread_create(&thread, NULL, wait_for_bo, &waiter);
	usleep(100000);

	ok_ret(driver_file("unbind"), 0, "unbind while everything is in use");
	pthread_join(thread, NULL);
	ok_ret(waiter.ret, 0, "the thread that waited goes on");
	ok_ret(fence_file_status(file[0], &fence), -ENODEV, "the running job's fence");
	ok_ret(fence_file_status(file[1], &fence), -ENODEV, "the queued job's fence");
	note("fence of driver %s, timeline %s", fence.driver_name, fence.obj_name);
	check_dead_file(&env);
	memset(env.data.map, 0x77, env.data.size);
	map = mmap(NULL, env.data.size, PROT_READ, MAP_SHARED, buf, 0);
	ok(map != MAP_FAILED && *map == 0x77777777, "the memory is still there");
	ok_ret(unload(), -EAGAIN, "unload is refused");

	ok_ret(driver_file("bind"), 0, "bind again");
	check_works("for a new file");
	kmd_bo_free(env.fd, &env.program);
	munmap(env.data.map, env.data.size);
	close(env.fd);
	ok(*map == 0x77777777, "the dma-buf outlives the file");
	ok_ret(unload(), -EAGAIN, "and keeps the module");
	munmap(map, env.data.size);
	close(buf);
	close(file[0]);
	close(file[1]);
	ok_ret(unload_soon(), 0, "unload when all is closed");
	ok_ret(load(), 0, "load");
	check_works("after that");
}

/* Runs until the device is gone; the helpers' complaints about that are unheard. */
static void load_the_device(void)
{
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	for (;;) {
		struct kmd_env env = kmd_env(kmd_open());
		uint32_t i;

		for (i = 0; i < 20; i++) {
			kmd_submit(&env, kmd_program_delay(&env, 10000 * i), 0, 0);
			if (kmd_unmap(env.fd, env.ctx, KMD_DATA_VA, env.data.size) == -ENODEV)
				_exit(0);
			kmd_map(env.fd, env.ctx, env.data.handle, DRM_CNNACC_BIND_READ,
				KMD_DATA_VA, env.data.size);
		}
		kmd_env_free(&env);
		close(env.fd);
	}
}

static void test_unbind_under_load(void)
{
	int i, round, status, ret = 0;
	bool died = false;

	for (round = 0; round < 5 && !ret; round++) {
		pid_t pid[4];

		for (i = 0; i < 4; i++) {
			pid[i] = fork();
			if (!pid[i])
				load_the_device();
		}
		usleep(200000 + round * 37000);
		ret = driver_file("unbind");
		for (i = 0; i < 4; i++)
			died |= waitpid(pid[i], &status, 0) != pid[i] || WIFSIGNALED(status);
		if (!ret)
			ret = driver_file("bind");
		find_node();
	}
	ok_ret(ret, 0, "unbind and bind under load");
	ok(!died, "everybody ends by himself");
	check_works("after that");
}

int main(void)
{
	find_function();
	test_unload();
	test_fence_file();
	test_rebind();
	test_unbind_in_use();
	test_unbind_under_load();
	return done_testing();
}
