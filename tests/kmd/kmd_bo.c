// SPDX-License-Identifier: MIT
/*
 * kmd_bo [sync]: buffer objects: creation, contents, mmap, info, sync and wait.  With "sync", only
 * sync, for a device that is not coherent: the other tests do not sync what they write.
 */
#include <errno.h>
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
	uint32_t ctx = kmd_ctx(fd);

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
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){ .size = 1, .ctx_id = ctx }), -EINVAL,
	       "a context without the private flag");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){
			.size = 1, .flags = DRM_CNNACC_BO_PRIVATE, .ctx_id = 99 }), -ENOENT,
	       "private to an unknown context");
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){
			.size = 1, .flags = DRM_CNNACC_BO_PRIVATE | DRM_CNNACC_BO_CACHED,
			.ctx_id = ctx }), 0, "private and cached");
	/* On a device that is not coherent, an uncached buffer gets its pages at creation. */
	ok_ret(create(fd, (struct drm_cnnacc_bo_create){
			.size = info.max_bo_size,
			.flags = info.features & CNNACC_FEATURE_COHERENT ? 0 : DRM_CNNACC_BO_CACHED,
		}), 0,
	       "the largest, without pages");
	kmd_ctx_destroy(fd, ctx);
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

static int wait_bo(int fd, uint32_t handle, uint32_t flags, int64_t timeout)
{
	struct drm_cnnacc_bo_wait args = {
		.handle = handle, .flags = flags, .timeout_ns = timeout,
	};

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_WAIT, &args);
}

/* BO_WAIT of a buffer while a job runs and after it has ended. */
struct seen {
	int submit, any, writer, timeout, end;
};

/* A job that refers to the buffer with @flags; 0: a private buffer of its context. */
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
		.bos = DRM_CNNACC_OBJ_ARRAY(!!flags, &ref),
	};

	for (uint32_t i = 0; i < tasks; i++)
		task[i] = kmd_task(length);
	return kmd_submit_jobs(env->fd, env->ctx, &job, 1);
}

/* Retries with a job twice as long if the job has ended meanwhile. */
static struct seen look(struct kmd_env *env, uint32_t handle, uint32_t flags)
{
	uint32_t out = kmd_syncobj(env->fd), tasks;
	struct seen s = { };
	bool runs = false;

	for (tasks = 1; tasks <= KMD_TASKS_MAX && !runs && !s.submit; tasks *= 2) {
		s.submit = submit_with_bo(env, tasks, handle, flags, out);
		s.any = wait_bo(env->fd, handle, 0, -1);
		s.writer = wait_bo(env->fd, handle, DRM_CNNACC_BO_WAIT_WRITE, 0);
		s.timeout = wait_bo(env->fd, handle, 0, kmd_deadline(1));
		runs = kmd_fence_status(env->fd, out) == -EBUSY;
		s.end = wait_bo(env->fd, handle, flags == DRM_CNNACC_BO_REF_READ ? 0 :
				DRM_CNNACC_BO_WAIT_WRITE, kmd_deadline(120000));
	}
	drmSyncobjDestroy(env->fd, out);
	return s;
}

static void test_wait(int fd)
{
	struct kmd_env env = kmd_env(fd);
	uint32_t handle = env.data.handle;
	struct seen s;

	ok_ret(wait_bo(fd, 4711, 0, 0), -ENOENT, "wait for an unknown handle");
	ok_ret(wait_bo(fd, handle, 2, 0), -EINVAL, "wait with an unknown flag");
	ok_ret(wait_bo(fd, handle, 0, 0), 0, "poll an unused buffer");
	ok_ret(wait_bo(fd, handle, 0, kmd_deadline(100)), 0, "wait for an unused buffer");
	s = look(&env, handle, DRM_CNNACC_BO_REF_READ);
	ok_ret(s.submit, 0, "a long reader");
	ok_ret(s.any, -EBUSY, "the buffer is busy");
	ok_ret(s.writer, 0, "but nobody writes it");
	ok_ret(s.timeout, -ETIMEDOUT, "a short wait times out");
	ok_ret(s.end, 0, "a long wait ends");
	s = look(&env, handle, DRM_CNNACC_BO_REF_WRITE);
	ok_ret(s.submit, 0, "a long writer");
	ok_ret(s.writer, -EBUSY, "somebody writes it");
	ok_ret(s.end, 0, "and is waited for");
	kmd_env_free(&env);
}

static void test_private_wait(int fd)
{
	struct kmd_env env = kmd_env(fd);
	struct drm_cnnacc_bo_create create = {
		.size = 4096, .flags = DRM_CNNACC_BO_PRIVATE, .ctx_id = env.ctx,
	};
	struct seen s;

	kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	s = look(&env, create.handle, 0);
	ok_ret(s.submit, 0, "a long job");
	ok_ret(s.any, -EBUSY, "its context's private buffer is busy");
	ok_ret(s.end, 0, "until it ends");
	kmd_env_free(&env);
	drmCloseBufferHandle(fd, create.handle);
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
	test_wait(fd);
	test_private_wait(fd);
	return done_testing();
}
