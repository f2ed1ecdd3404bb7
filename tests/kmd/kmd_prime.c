// SPDX-License-Identifier: MIT
/*
 * PRIME: export, import by another file, imported buffers of other drivers, private buffers.
 *
 * kmd_prime sync: only that DMA_BUF_IOCTL_SYNC of an exported buffer is enough for CPU and device
 * to see what the other wrote; for a machine whose device is not coherent.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define VA 0x50000000u
#define SIZE 16384

static void test_export(int fd)
{
	struct kmd_bo bo = kmd_bo(fd, DRM_CNNACC_BO_WEIGHT, SIZE);
	struct drm_cnnacc_bo_info info = { };
	int buf, other = kmd_open(), ret;
	uint32_t handle, again;
	uint32_t *map;

	*(uint32_t *)bo.map = 0xbeef;
	ret = drmPrimeHandleToFD(fd, bo.handle, DRM_CLOEXEC | DRM_RDWR, &buf);
	if (!ok(!ret, "export"))
		return;
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, buf, 0);
	ok(map != MAP_FAILED && *map == 0xbeef, "the dma-buf shows the memory");
	ok(!drmPrimeFDToHandle(fd, buf, &again) && again == bo.handle,
	   "import into the same file gives the same handle");
	ok(!drmPrimeFDToHandle(other, buf, &handle), "import into another file");
	info.handle = handle;
	ok(!kmd_ioctl(other, DRM_IOCTL_CNNACC_BO_INFO, &info) && info.size == SIZE &&
	   info.use == DRM_CNNACC_BO_WEIGHT && !(info.flags & DRM_CNNACC_BO_IMPORTED),
	   "it is the same buffer there");
	ok_ret(kmd_map(other, kmd_vm(other), handle, RW, VA, SIZE), -EINVAL,
	       "and stays as restricted as it was");
	kmd_bo_free(fd, &bo);
	ok(*map == 0xbeef, "the dma-buf outlives the handle");
	munmap(map, SIZE);
	close(buf);
	close(other);
}

static void cpu_sync(int buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	if (ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync))
		bail("DMA_BUF_IOCTL_SYNC");
}

static void cpu_access(int buf, uint64_t flags)
{
	cpu_sync(buf, flags | DMA_BUF_SYNC_RW);
}

/* Exports a buffer to *buf, maps it at VA and returns a mapping of the dma-buf. */
static uint32_t *export_bo(struct kmd_env *env, const struct kmd_bo *bo, int *buf)
{
	uint32_t *map = MAP_FAILED;

	if (!drmPrimeHandleToFD(env->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, buf) &&
	    !kmd_map(env->fd, env->vm, bo->handle, RW, VA, SIZE))
		map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *buf, 0);
	if (map == MAP_FAILED)
		bail("export");
	return map;
}

/* Lets a device that is not coherent see a program. */
static int sync_program(struct kmd_env *env)
{
	struct drm_cnnacc_bo_sync_op op = {
		.handle = env->program.handle, .flags = DRM_CNNACC_BO_SYNC_FOR_DEVICE,
		.size = env->program.size,
	};
	struct drm_cnnacc_bo_sync args = { .ops = DRM_CNNACC_OBJ_ARRAY(1, &op) };

	return kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_BO_SYNC, &args);
}

/* The device copies a line of the buffer to another one, and so on, with the CPU in between. */
static void test_sync(int fd, uint32_t flags, const char *name)
{
	struct kmd_env env = kmd_env(fd);
	struct kmd_bo bo = kmd_bo_flags(fd, DRM_CNNACC_BO_DATA, flags, SIZE);
	uint32_t length, round, read_stale = 0, wrote_stale = 0;
	int buf, ret = 0;
	uint32_t *map = export_bo(&env, &bo, &buf);

	for (round = 1; round <= 8 && !ret; round++) {
		cpu_access(buf, DMA_BUF_SYNC_START);
		read_stale += map[1024] != (round - 1) * 0x11110000;
		map[0] = round * 0x11110000;
		map[1024] = 0xdead;
		cpu_access(buf, DMA_BUF_SYNC_END);
		length = kmd_program_copy(&env, VA, VA + 4096, 1);
		ret = sync_program(&env) ?: kmd_run(&env, length);
		cpu_access(buf, DMA_BUF_SYNC_START);
		wrote_stale += map[1024] != round * 0x11110000;
		cpu_access(buf, DMA_BUF_SYNC_END);
	}
	ok_ret(ret, 0, "%s: copies in an exported buffer", name);
	ok(!read_stale && !wrote_stale, "%s: DMA_BUF_IOCTL_SYNC shows each what the other wrote", name);
	munmap(map, SIZE);
	close(buf);
	kmd_bo_free(fd, &bo);
	kmd_env_free(&env);
}

/* A job that writes a buffer, behind one that takes long. */
static int submit_slow_write(struct kmd_env *slow, struct kmd_env *env, uint32_t handle)
{
	struct drm_cnnacc_task task = kmd_task(kmd_program_long(slow));
	struct drm_cnnacc_bo_ref ref = { .handle = handle, .flags = DRM_CNNACC_BO_REF_WRITE };
	struct drm_cnnacc_job job = {
		.core = slow->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.bos = DRM_CNNACC_OBJ_ARRAY(1, &ref),
	};
	int ret = sync_program(slow) ?: kmd_submit_jobs(slow->fd, slow->ctx, &job, 1);

	task = kmd_task(kmd_program_copy(env, VA, VA + 4096, 1));
	return ret ?: sync_program(env) ?: kmd_submit_jobs(env->fd, env->ctx, &job, 1);
}

/* The access of the CPU begins after the jobs that write the buffer. */
static void test_sync_waits(int fd)
{
	struct kmd_env env = kmd_env(fd), slow = kmd_env(fd);
	struct kmd_bo bo = kmd_bo_flags(fd, DRM_CNNACC_BO_DATA, DRM_CNNACC_BO_CACHED, SIZE);
	int buf;
	uint32_t *map = export_bo(&env, &bo, &buf);

	cpu_access(buf, DMA_BUF_SYNC_START);
	map[0] = 0xbeef;
	cpu_access(buf, DMA_BUF_SYNC_END);
	ok_ret(submit_slow_write(&slow, &env, bo.handle), 0, "a job that will write the buffer");
	cpu_access(buf, DMA_BUF_SYNC_START);
	ok(map[1024] == 0xbeef, "DMA_BUF_IOCTL_SYNC shows what a job wrote that had to be waited for");
	cpu_access(buf, DMA_BUF_SYNC_END);
	munmap(map, SIZE);
	close(buf);
	kmd_bo_free(fd, &bo);
	kmd_env_free(&slow);
	kmd_env_free(&env);
}

/* The CPU changes a part of a buffer and only announces that it writes. */
static void test_sync_part(int fd)
{
	struct kmd_env env = kmd_env(fd);
	struct kmd_bo bo = kmd_bo_flags(fd, DRM_CNNACC_BO_DATA, DRM_CNNACC_BO_CACHED, SIZE);
	int buf, ret;
	uint32_t *map = export_bo(&env, &bo, &buf), length;

	cpu_access(buf, DMA_BUF_SYNC_START);
	map[0] = 0xbeef;
	cpu_access(buf, DMA_BUF_SYNC_END);
	length = kmd_program_copy(&env, VA, VA + 4096, 1);
	ret = sync_program(&env) ?: kmd_run(&env, length);
	ok_ret(ret, 0, "the device writes a line of a buffer");
	cpu_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
	map[2048] = 0xdead;
	cpu_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
	cpu_access(buf, DMA_BUF_SYNC_START);
	ok(map[1024] == 0xbeef && map[2048] == 0xdead,
	   "which stays when the CPU, with DMA_BUF_SYNC_WRITE, writes another one");
	cpu_access(buf, DMA_BUF_SYNC_END);
	munmap(map, SIZE);
	close(buf);
	kmd_bo_free(fd, &bo);
	kmd_env_free(&env);
}

static void test_private(int fd)
{
	struct drm_cnnacc_bo_create create = {
		.size = SIZE, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = kmd_vm(fd),
	};
	int buf;

	kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	ok(drmPrimeHandleToFD(fd, create.handle, DRM_CLOEXEC, &buf) && errno == EINVAL,
	   "a private buffer cannot be exported");
	kmd_vm_destroy(fd, create.vm_id);
}

/* The device reads and writes a buffer of another driver. */
static void test_import(int fd, const char *name, int buf)
{
	struct kmd_env env = kmd_env(fd);
	struct drm_cnnacc_bo_info info = { };
	uint32_t *map, *data = env.data.map;
	struct drm_cnnacc_bo_ref ref = { .flags = DRM_CNNACC_BO_REF_WRITE };
	struct drm_cnnacc_task task;
	struct drm_cnnacc_sync sync = {
		.flags = DRM_CNNACC_SYNC_SIGNAL, .handle = kmd_syncobj(fd),
	};
	struct drm_cnnacc_job job = {
		.core = env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
		.bos = DRM_CNNACC_OBJ_ARRAY(1, &ref),
	};

	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
	ok(map != MAP_FAILED && !drmPrimeFDToHandle(fd, buf, &info.handle), "%s: import", name);
	ok(!kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_INFO, &info) && info.size == SIZE &&
	   info.flags & DRM_CNNACC_BO_IMPORTED && !info.mmap_offset, "%s: is known as such", name);
	ok_ret(kmd_map(fd, env.vm, info.handle, RW, VA, SIZE), 0, "%s: map", name);
	map[1024] = 4242;
	data[0] = 2424;
	ok_ret(kmd_run(&env, kmd_program_copy(&env, VA + 4096, KMD_DATA_VA + 64, 1)), 0,
	       "%s: the device reads it", name);
	ok(data[16] == 4242, "%s: right", name);
	task = kmd_task(kmd_program_copy(&env, KMD_DATA_VA, VA + 8192, 1));
	ref.handle = info.handle;
	ok_ret(kmd_submit_jobs(fd, env.ctx, &job, 1), 0, "%s: the device writes it", name);
	ok_ret(kmd_wait(fd, sync.handle), 0, "%s: wait", name);
	drmSyncobjDestroy(fd, sync.handle);
	ok(map[2048] == 2424, "%s: right", name);
	drmCloseBufferHandle(fd, info.handle);
	munmap(map, SIZE);
	close(buf);
	ok_ret(kmd_run(&env, kmd_program_copy(&env, VA + 4096, KMD_DATA_VA, 1)), 0,
	       "%s: the mapping outlives handle and dma-buf", name);
	kmd_env_free(&env);
}

static void test_udmabuf(int fd)
{
	struct udmabuf_create create = { .size = SIZE };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memfd, buf;

	if (dev < 0) {
		skip("udmabuf", "the kernel has none");
		return;
	}
	memfd = memfd_create("kmd", MFD_ALLOW_SEALING);
	if (memfd < 0 || ftruncate(memfd, SIZE) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		bail("memfd");
	create.memfd = memfd;
	buf = ioctl(dev, UDMABUF_CREATE, &create);
	if (buf < 0)
		bail("UDMABUF_CREATE");
	test_import(fd, "udmabuf", buf);
	close(memfd);
	close(dev);
}

static void test_heap(int fd)
{
	struct dma_heap_allocation_data data = { .len = SIZE, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);

	if (heap < 0) {
		skip("dma-buf heap", "the kernel has none");
		return;
	}
	if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data))
		bail("DMA_HEAP_IOCTL_ALLOC");
	test_import(fd, "dma-buf heap", data.fd);
	close(heap);
}

int main(int argc, char **argv)
{
	int fd = kmd_open();

	test_sync(fd, 0, "write-combined");
	test_sync(fd, DRM_CNNACC_BO_CACHED, "cached");
	test_sync_waits(fd);
	test_sync_part(fd);
	if (argc > 1 && !strcmp(argv[1], "sync"))
		return done_testing();
	test_export(fd);
	test_private(fd);
	test_udmabuf(fd);
	test_heap(fd);
	return done_testing();
}
