// SPDX-License-Identifier: MIT
/*
 * Every allocation and every copy of user memory that an ioctl makes fails once: the
 * ioctl says so and nothing is left behind.  Needs a kernel with FAULT_INJECTION.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define VA 0x40000000u

static struct kmd_env env;
static int control;

static void set_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		note("cannot write %s", path);
	close(fd);
}

static bool prepare(void)
{
	control = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (control < 0)
		return false;
	set_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	set_file("/sys/kernel/debug/failslab/verbose", "0");
	set_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	set_file("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	set_file("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	set_file("/sys/kernel/debug/fail_usercopy/verbose", "0");
	return true;
}

static void arm(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	/* Reading the number may be what fails. */
	while (pwrite(control, text, length, 0) != length)
		;
}

/* Was there an Nth thing to fail? */
static bool fired(void)
{
	char text[16] = "";

	while (pread(control, text, sizeof(text) - 1, 0) <= 0)
		;
	if (atoi(text))
		arm(0);
	return !atoi(text);
}

static int do_open(void)
{
	int fd = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int do_query(void)
{
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_dev_query query = {
		.size = sizeof(info), .pointer = (uintptr_t)&info,
	};

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query);
}

static int do_ctx(void)
{
	struct drm_cnnacc_ctx_create create = { .priority = 1 };
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create);

	if (!ret)
		kmd_ctx_destroy(env.fd, create.ctx_id);
	return ret;
}

static int do_bo(void)
{
	struct drm_cnnacc_bo_create create = {
		.size = 65536, .flags = DRM_CNNACC_BO_PRIVATE, .ctx_id = env.ctx,
	};
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);

	if (!ret)
		drmCloseBufferHandle(env.fd, create.handle);
	return ret;
}

/* With a new buffer and a new context, so that pages and tables are allocated too. */
static int do_bind(void)
{
	struct drm_cnnacc_bo_create create = { .size = 65536 };
	struct drm_cnnacc_ctx_create ctx = { .priority = 1 };
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_CTX_CREATE, &ctx);

	if (ret)
		return ret;
	ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	if (!ret) {
		ret = kmd_map(env.fd, ctx.ctx_id, create.handle, RW, VA - 8192, 65536);
		if (!ret)
			ret = kmd_unmap(env.fd, ctx.ctx_id, VA - 8192, 65536);
		drmCloseBufferHandle(env.fd, create.handle);
	}
	kmd_ctx_destroy(env.fd, ctx.ctx_id);
	return ret;
}

static uint32_t in, out, timeline;

static int do_submit(void)
{
	static uint64_t point;
	struct drm_cnnacc_sync syncs[] = {
		{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = in },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL | DRM_CNNACC_SYNC_TIMELINE,
		  .handle = timeline, .point = ++point },
	};
	struct drm_cnnacc_bo_ref refs[] = {
		{ .handle = env.data.handle, .flags = DRM_CNNACC_BO_REF_WRITE },
		{ .handle = env.program.handle, .flags = DRM_CNNACC_BO_REF_READ },
	};
	struct drm_cnnacc_task tasks[] = { kmd_task(4), kmd_task(4) };
	struct drm_cnnacc_job jobs[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		jobs[i] = (struct drm_cnnacc_job){
			.core = env.core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(2, tasks),
			.syncs = DRM_CNNACC_OBJ_ARRAY(i ? 2 : 3, syncs),
			.bos = DRM_CNNACC_OBJ_ARRAY(2, refs),
		};
	return kmd_submit_jobs(env.fd, env.ctx, jobs, 2);
}

static int do_sync(void)
{
	struct drm_cnnacc_bo_sync_op op = { env.data.handle, 1, 0, 64 };
	struct drm_cnnacc_bo_sync args = { .ops = DRM_CNNACC_OBJ_ARRAY(1, &op) };

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_SYNC, &args);
}

static int do_export(void)
{
	int fd;

	if (drmPrimeHandleToFD(env.fd, env.data.handle, DRM_CLOEXEC, &fd))
		return -errno;
	close(fd);
	return 0;
}

static void sweep(const char *name, int (*step)(void))
{
	unsigned int n = 0, odd = 0;
	bool again = true;
	int ret;

	while (again && n < 2000) {
		arm(++n);
		ret = step();
		again = fired();
		/* shmem says ENOSPC if it gets no inode. */
		if (again && ret && ret != -ENOMEM && ret != -EFAULT && ret != -ENOSPC)
			odd++;
	}
	ok(n < 2000 && !odd, "%s: %u points of failure, %u other errors", name, n - 1, odd);
	ok_ret(step(), 0, "%s: without a failure", name);
	ok_ret(kmd_run(&env, 4), 0, "%s: and jobs run", name);
}

int main(void)
{
	env = kmd_env(kmd_open());
	kmd_program_nop(&env);
	if (!prepare()) {
		skip("allocation failures", "the kernel has no FAULT_INJECTION");
		return done_testing();
	}
	out = kmd_syncobj(env.fd);
	timeline = kmd_syncobj(env.fd);
	if (drmSyncobjCreate(env.fd, DRM_SYNCOBJ_CREATE_SIGNALED, &in))
		bail("drmSyncobjCreate");
	sweep("open", do_open);
	sweep("query", do_query);
	sweep("context", do_ctx);
	sweep("buffer", do_bo);
	sweep("bind", do_bind);
	sweep("submit", do_submit);
	sweep("sync", do_sync);
	sweep("export", do_export);
	kmd_env_free(&env);
	close(env.fd);
	return done_testing();
}
