// SPDX-License-Identifier: MIT
/*
 * Lets every allocation and every copy of user memory in an ioctl fail once: the ioctl returns the
 * error and leaks nothing.  Needs a kernel with FAULT_INJECTION.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "failnth.h"
#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define VA 0x40000000u

static struct kmd_env env;
static char debug_dir[40];

static int do_open(void)
{
	int fd = open(kmd_node(), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int do_query(void)
{
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_dev_query query = {
		.result = DRM_CNNACC_OBJ_ARRAY(1, &info),
	};

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query);
}

static int do_vm(void)
{
	struct drm_cnnacc_vm_create create = { };
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_VM_CREATE, &create);

	if (!ret)
		kmd_vm_destroy(env.fd, create.vm_id);
	return ret;
}

static int do_ctx(void)
{
	struct drm_cnnacc_ctx_create create = { .priority = 1, .vm_id = env.vm };
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create);

	if (!ret)
		kmd_ctx_destroy(env.fd, create.ctx_id);
	return ret;
}

static int do_bo(void)
{
	struct drm_cnnacc_bo_create create = {
		.size = 65536, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = env.vm,
	};
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);

	if (!ret)
		drmCloseBufferHandle(env.fd, create.handle);
	return ret;
}

/* With a new buffer and a new address space, so that pages and tables are allocated too. */
static int do_bind(void)
{
	struct drm_cnnacc_bo_create create = { .size = 65536 };
	struct drm_cnnacc_vm_create vm = { };
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_VM_CREATE, &vm);

	if (ret)
		return ret;
	ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	if (!ret) {
		ret = kmd_map(env.fd, vm.vm_id, create.handle, RW, VA - 8192, 65536);
		if (!ret)
			ret = kmd_unmap(env.fd, vm.vm_id, VA - 8192, 65536);
		drmCloseBufferHandle(env.fd, create.handle);
	}
	kmd_vm_destroy(env.fd, vm.vm_id);
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

static int exported, other;

static int do_import(void)
{
	uint32_t handle;

	if (drmPrimeFDToHandle(other, exported, &handle))
		return -errno;
	drmCloseBufferHandle(other, handle);
	return 0;
}

static int do_info(void)
{
	struct drm_cnnacc_bo_info info = { .handle = env.data.handle };

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_INFO, &info);
}

static int do_ctx_query(void)
{
	struct drm_cnnacc_ctx_query query = { .ctx_id = env.ctx };

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_CTX_QUERY, &query);
}

static int do_eventfd(void)
{
	struct drm_cnnacc_eventfd args = { .ctx_id = env.ctx, .fd = eventfd(0, EFD_CLOEXEC) };
	int ret = args.fd < 0 ? -errno : kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_EVENTFD, &args);

	if (args.fd >= 0)
		close(args.fd);
	return ret;
}

static int do_reg(void)
{
	struct drm_cnnacc_reg_rw args = { .offset = CNNACC_REG_MAGIC };

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_REG_RW, &args);
}

static int do_mmap(void)
{
	struct drm_cnnacc_bo_create create = { .size = 65536 };
	struct drm_cnnacc_bo_info info = { };
	void *map = MAP_FAILED;
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);

	if (ret)
		return ret;
	info.handle = create.handle;
	ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_INFO, &info);
	if (!ret) {
		map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, env.fd,
			   info.mmap_offset);
		ret = map == MAP_FAILED ? -errno : 0;
	}
	if (!ret) {
		memset(map, 1, 65536);
		munmap(map, 65536);
	}
	drmCloseBufferHandle(env.fd, create.handle);
	return ret;
}

/* The files that report on the device allocate, too. */
static int do_read(const char *path)
{
	char text[512];
	ssize_t n = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	while (n > 0)
		n = read(fd, text, sizeof(text));
	ret = n < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int do_fdinfo(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", env.fd);
	return do_read(path);
}

static int do_debugfs(void)
{
	static const char *const names[] = { "contexts", "queues", "mm" };
	char path[64];
	int ret = 0;

	for (size_t i = 0; i < ARRAY_LEN(names) && !ret; i++) {
		snprintf(path, sizeof(path), "%s/%s", debug_dir, names[i]);
		ret = do_read(path);
	}
	return ret;
}

static void sweep(const char *name, int (*step)(void))
{
	unsigned int n = 0, odd = 0;
	bool again = true;
	int ret;

	while (again && n < 2000) {
		failnth_arm(++n);
		ret = step();
		again = failnth_fired();
		/* shmem returns ENOSPC if it cannot allocate an inode. */
		if (again && ret && ret != -ENOMEM && ret != -EFAULT && ret != -ENOSPC)
			odd++;
	}
	ok(n < 2000 && !odd, "%s: %u points of failure, %u other errors", name, n - 1, odd);
	ok_ret(step(), 0, "%s: without a failure", name);
	ok_ret(kmd_run(&env, 4), 0, "%s: and jobs run", name);
}

static void sweep_all(void)
{
	static const struct {
		const char *name;
		int (*step)(void);
	} steps[] = {
		{ "open", do_open }, { "DEV_QUERY", do_query }, { "VM_CREATE", do_vm },
		{ "CTX_CREATE", do_ctx }, { "CTX_QUERY", do_ctx_query },
		{ "BO_CREATE", do_bo }, { "BO_INFO", do_info }, { "BO_SYNC", do_sync },
		{ "VM_BIND", do_bind }, { "SUBMIT", do_submit },
		{ "EVENTFD", do_eventfd }, { "REG_RW", do_reg }, { "export", do_export },
		{ "import", do_import }, { "mmap", do_mmap }, { "fdinfo", do_fdinfo },
	};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		sweep(steps[i].name, steps[i].step);
	if (*debug_dir)
		sweep("debugfs", do_debugfs);
}

static void find_debugfs(void)
{
	glob_t found;

	if (glob(KMD_DEBUGFS "/contexts", GLOB_BRACE, NULL, &found))
		return;
	snprintf(debug_dir, sizeof(debug_dir), "%.*s",
		 (int)(strrchr(found.gl_pathv[0], '/') - found.gl_pathv[0]), found.gl_pathv[0]);
	globfree(&found);
}

int main(void)
{
	struct kmd_left before = kmd_left();

	env = kmd_env(kmd_open());
	kmd_program_nop(&env);
	if (!failnth_prepare()) {
		skip("allocation failures", "the kernel has no FAULT_INJECTION");
		return done_testing();
	}
	out = kmd_syncobj(env.fd);
	timeline = kmd_syncobj(env.fd);
	if (drmSyncobjCreate(env.fd, DRM_SYNCOBJ_CREATE_SIGNALED, &in))
		bail("drmSyncobjCreate");
	other = kmd_open();
	if (drmPrimeHandleToFD(env.fd, env.data.handle, DRM_CLOEXEC, &exported))
		bail("drmPrimeHandleToFD");
	find_debugfs();
	sweep_all();
	close(exported);
	close(other);
	kmd_env_free(&env);
	/* An export that cannot copy the descriptor to user space has created it nevertheless. */
	close_range(3, ~0u, 0);
	kmd_check_left(before);
	return done_testing();
}
