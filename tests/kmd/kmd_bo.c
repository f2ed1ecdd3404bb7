// SPDX-License-Identifier: MIT
/*
 * kmd_bo [sync]: buffer objects: creation, contents, mmap, info, sync and wait.  With "sync", only
 * sync, for a device that is not coherent: the other tests do not sync what they write.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define MANY_OPS	1024u
#define KILLED_S	2.0

static int create(int fd, struct drm_cnnacc_bo_create args)
{
	int ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &args);

	if (!ret)
		drmCloseBufferHandle(fd, args.handle);
	return ret;
}

static void test_create(int fd)
{
	struct drm_cnnacc_dev_info info;
	uint32_t vm = kmd_vm(fd);

	kmd_dev_info(fd, &info);
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){ .size = 0 }), -EINVAL, "size 0");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){ .size = info.max_bo_size + 1 }), -EINVAL,
	       "too large");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){ .size = UINT64_MAX }), -EINVAL,
	       "so large that rounding wraps");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){ .size = 1, .use = 3 }), -EINVAL,
	       "unknown use");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){ .size = 1, .flags = 4 }), -EINVAL,
	       "unknown flag");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){ .size = 1, .vm_id = vm }), -EINVAL,
	       "an address space without the private flag");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){
			.size = 1, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = 99 }), -ENOENT,
	       "private to an unknown address space");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){
			.size = 1, .flags = DRM_CNNACC_BO_PRIVATE | DRM_CNNACC_BO_CACHED,
			.vm_id = vm }), 0, "private and cached");
	/* On a device that is not coherent, an uncached buffer gets its pages at creation. */
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){
			.size = info.max_bo_size,
			.flags = info.features & CNNACC_FEATURE_COHERENT ? 0 : DRM_CNNACC_BO_CACHED,
		}), 0,
	       "the largest, without pages");
	kmd_vm_destroy(fd, vm);
}

static void test_contents(int fd)
{
	struct kmd_bo bo = kmd_bo(fd, DRM_CNNACC_BO_DATA, 100001);
	struct drm_cnnacc_bo_info info = { .handle = bo.handle };
	uint8_t *again;
	size_t i = 0;

	ok(bo.size == 102400, "the size is rounded up to pages");
	while (i < bo.size && !((uint8_t *)bo.map)[i])
		i++;
	ok(i == bo.size, "the memory is zero");
	memset(bo.map, 0x5a, bo.size);
	again = kmd_mmap(fd, bo.handle, bo.size);
	ok(again[0] == 0x5a && again[bo.size - 1] == 0x5a, "two mappings show the same");
	munmap(again, bo.size);

	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_INFO, &info), 0, "BO_INFO");
	ok(info.size == bo.size && info.use == DRM_CNNACC_BO_DATA && !info.flags, "tells all");
	info.pad = 1;
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_INFO, &info), -EINVAL, "BO_INFO with pad set");
	info = (struct drm_cnnacc_bo_info){ .handle = 4711 };
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_INFO, &info), -ENOENT, "of an unknown handle");
	kmd_bo_free(fd, &bo);

	bo = kmd_bo(fd, DRM_CNNACC_BO_DATA, 102400);
	ok(!memcmp(bo.map, (uint8_t[64]){ 0 }, 64), "memory used before is zero again");
	kmd_bo_free(fd, &bo);
}

static void test_mmap(int fd)
{
	struct kmd_bo bo = kmd_bo(fd, DRM_CNNACC_BO_DATA, 8192);
	struct drm_cnnacc_bo_info info = { .handle = bo.handle };
	int other = kmd_open();

	kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_INFO, &info);
	ok(mmap(NULL, 8192, PROT_READ, MAP_SHARED, other, info.mmap_offset) == MAP_FAILED &&
	   errno == EACCES, "another file cannot map it");
	ok(mmap(NULL, 12288, PROT_READ, MAP_SHARED, fd, info.mmap_offset) == MAP_FAILED &&
	   errno == EINVAL, "nobody can map more than there is");
	drmCloseBufferHandle(fd, bo.handle);
	memset(bo.map, 1, 8192);
	ok(*(uint8_t *)bo.map == 1, "a mapping outlives the handle");
	munmap(bo.map, bo.size);
	close(other);
}

static int sync_one(int fd, struct drm_cnnacc_bo_sync_op op)
{
	struct drm_cnnacc_bo_sync args = { .ops = DRM_CNNACC_OBJ_ARRAY(1, &op) };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_SYNC, &args);
}

static void test_sync(int fd)
{
	struct kmd_bo bo = kmd_bo(fd, DRM_CNNACC_BO_DATA, 8192);
	struct drm_cnnacc_bo_sync_op op = {
		.handle = bo.handle, .flags = DRM_CNNACC_BO_SYNC_FOR_DEVICE, .size = 8192,
	};

	ok_ret(sync_one(fd, op), 0, "sync for the device");
	op.flags = DRM_CNNACC_BO_SYNC_FOR_CPU;
	op.offset = 100;
	op.size = 3;
	ok_ret(sync_one(fd, op), 0, "sync of some bytes for the CPU");
	op.flags = 3;
	ok_ret(sync_one(fd, op), -EINVAL, "sync in both directions");
	op.flags = 0;
	ok_ret(sync_one(fd, op), -EINVAL, "sync in none");
	op.flags = DRM_CNNACC_BO_SYNC_FOR_CPU;
	op.offset = 8192;
	op.size = 1;
	ok_ret(sync_one(fd, op), -EINVAL, "sync past the end");
	op.offset = UINT64_MAX;
	ok_ret(sync_one(fd, op), -EINVAL, "sync that wraps");
	op.handle = 4711;
	ok_ret(sync_one(fd, op), -ENOENT, "sync of an unknown handle");
	kmd_bo_free(fd, &bo);
}

/* With bounce buffers, the maximum number of syncs takes long, and its process can be killed. */
static void test_sync_killed(int fd)
{
	struct kmd_bo bo = kmd_bo_flags(fd, DRM_CNNACC_BO_DATA, DRM_CNNACC_BO_CACHED, 16 << 20);
	static struct drm_cnnacc_bo_sync_op ops[MANY_OPS];
	struct drm_cnnacc_bo_sync args = { .ops = DRM_CNNACC_OBJ_ARRAY(MANY_OPS, ops) };
	double took = KILLED_S;
	struct drm_cnnacc_dev_info info;
	pid_t pid;
	int tries;

	kmd_dev_info(fd, &info);
	for (size_t i = 0; i < MANY_OPS; i++)
		ops[i] = (struct drm_cnnacc_bo_sync_op){
			.handle = bo.handle, .flags = DRM_CNNACC_BO_SYNC_FOR_DEVICE,
			.size = bo.size,
		};
	for (tries = 0; tries < KMD_TRIES && took >= KILLED_S; tries++) {
		pid = fork();
		if (!pid)
			for (;;)
				if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_SYNC, &args))
					_exit(1);
		took = kmd_kill(pid);
	}
	ok(took >= 0 && took < KILLED_S,
	   "%u syncs of %llu bytes end when they are killed", MANY_OPS,
	   (unsigned long long)bo.size);
	note("%.2f s later, on a device that is %scoherent", took,
	     info.features & CNNACC_FEATURE_COHERENT ? "" : "not ");
	kmd_bo_free(fd, &bo);
}

/* Of a dma-buf, POLLIN waits for writers, POLLOUT for readers, too. */
static bool ready(int buf, short events, int timeout_ms)
{
	struct pollfd p = { .fd = buf, .events = events };

	return poll(&p, 1, timeout_ms) == 1;
}

/* The fences of a shared buffer while a job runs and after it has ended. */
struct seen {
	int submit;
	bool any, writer, timeout, end;
};

/* A job that refers to the buffer with @flags. */
static int submit_with_bo(struct kmd_env *env, uint32_t tasks, uint32_t handle, uint32_t flags,
			  uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_bo_ref ref = { .handle = handle, .flags = flags };
	uint32_t length = kmd_program_delay(env, 20000000);
	struct drm_cnnacc_task task[KMD_TASKS_MAX];
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(tasks, task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
		.bos = DRM_CNNACC_OBJ_ARRAY(1, &ref),
	};

	for (uint32_t i = 0; i < tasks; i++)
		task[i] = kmd_task(length);
	return kmd_submit_jobs(env->fd, env->ctx, &job, 1);
}

/* Retries with a job twice as long if the job has ended meanwhile. */
static struct seen look(struct kmd_env *env, int buf, uint32_t flags)
{
	uint32_t out = kmd_syncobj(env->fd), tasks;
	struct seen s = { };
	bool runs = false;

	for (tasks = 1; tasks <= KMD_TASKS_MAX && !runs && !s.submit; tasks *= 2) {
		s.submit = submit_with_bo(env, tasks, env->data.handle, flags, out);
		s.any = !ready(buf, POLLOUT, 0);
		s.writer = !ready(buf, POLLIN, 0);
		s.timeout = !ready(buf, POLLOUT, 1);
		runs = kmd_fence_status(env->fd, out) == -EBUSY;
		s.end = ready(buf, POLLOUT, 120000);
		kmd_wait(env->fd, out);
	}
	drmSyncobjDestroy(env->fd, out);
	return s;
}

static void test_fences(int fd)
{
	struct kmd_env env = kmd_env(fd);
	struct seen s;
	int buf;

	if (drmPrimeHandleToFD(fd, env.data.handle, DRM_CLOEXEC | DRM_RDWR, &buf))
		bail("drmPrimeHandleToFD");
	ok(ready(buf, POLLIN, 0) && ready(buf, POLLOUT, 0), "an unused buffer is ready");
	s = look(&env, buf, DRM_CNNACC_BO_REF_READ);
	ok_ret(s.submit, 0, "a long reader");
	ok(s.any && s.timeout, "the buffer is busy");
	ok(!s.writer, "but nobody writes it");
	ok(s.end, "until the reader ends");
	s = look(&env, buf, DRM_CNNACC_BO_REF_WRITE);
	ok_ret(s.submit, 0, "a long writer");
	ok(s.any && s.writer, "somebody writes it");
	ok(s.end, "until the writer ends");
	close(buf);
	kmd_env_free(&env);
}

int main(int argc, char **argv)
{
	int fd = kmd_open();

	test_sync(fd);
	test_sync_killed(fd);
	if (argc > 1 && !strcmp(argv[1], "sync"))
		return done_testing();
	test_create(fd);
	test_contents(fd);
	test_mmap(fd);
	test_fences(fd);
	return done_testing();
}
