/* SPDX-License-Identifier: MIT */
/* The device of the kernel's driver, cnnacc.ko. */
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <xf86drm.h>

struct kernel {
	struct cnnrt_device dev;
	pthread_mutex_t lock; /* protects what follows, and closing of handles */
	uint32_t *refs;	      /* by GEM handle: buffers that share it */
	uint32_t handle_cap;
	uint32_t free_syncobj; /* one that no SUBMIT uses; 0: none */
};

static struct kernel *to_kernel(struct cnnrt_device *dev)
{
	return (struct kernel *)dev;
}

static int kernel_ioctl(struct cnnrt_device *dev, unsigned long request, void *arg)
{
	return drmIoctl(dev->fd, request, arg) ? -errno : 0;
}

static void kernel_close(struct cnnrt_device *dev)
{
	struct kernel *k = to_kernel(dev);

	if (dev->fd >= 0)
		close(dev->fd);
	pthread_mutex_destroy(&k->lock);
	free(k->refs);
	free(k);
}

static int kernel_query(struct cnnrt_device *dev, uint32_t type,
			struct drm_cnnacc_obj_array result)
{
	struct drm_cnnacc_dev_query query = { .type = type, .result = result };

	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_DEV_QUERY, &query);
}

#define QUERY(dev, type, count, to) \
	kernel_query(dev, DRM_CNNACC_DEV_QUERY_##type, \
		     (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(count, to))

static int kernel_state(struct cnnrt_device *dev, struct rt_device_state *state)
{
	struct drm_cnnacc_dev_info info = { 0 };
	int ret = QUERY(dev, DEV_INFO, 1, &info) ?: QUERY(dev, CLOCKS, 1, &state->clocks) ?:
		  QUERY(dev, TIMESTAMP, 1, &state->time);

	state->reset_count = info.reset_count;
	return ret;
}

static int kernel_vm_create(struct cnnrt_device *dev, uint32_t *id)
{
	struct drm_cnnacc_vm_create create = { 0 };
	int ret = kernel_ioctl(dev, DRM_IOCTL_CNNACC_VM_CREATE, &create);

	*id = create.vm_id;
	return ret;
}

static int kernel_vm_destroy(struct cnnrt_device *dev, uint32_t id)
{
	struct drm_cnnacc_vm_destroy destroy = { .vm_id = id };

	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_VM_DESTROY, &destroy);
}

static int kernel_ctx_create(struct cnnrt_device *dev, uint32_t vm_id, uint32_t priority,
			     uint32_t *id)
{
	struct drm_cnnacc_ctx_create create = { .priority = priority, .vm_id = vm_id };
	int ret = kernel_ioctl(dev, DRM_IOCTL_CNNACC_CTX_CREATE, &create);

	*id = create.ctx_id;
	return ret;
}

static int kernel_ctx_destroy(struct cnnrt_device *dev, uint32_t id)
{
	struct drm_cnnacc_ctx_destroy destroy = { .ctx_id = id };

	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_CTX_DESTROY, &destroy);
}

static int kernel_ctx_query(struct cnnrt_device *dev, struct drm_cnnacc_ctx_query *query)
{
	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_CTX_QUERY, query);
}

static int kernel_eventfd(struct cnnrt_device *dev, uint32_t ctx_id, uint32_t core, int fd)
{
	struct drm_cnnacc_eventfd eventfd = { .ctx_id = ctx_id, .core = core, .fd = fd };

	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_EVENTFD, &eventfd);
}

/* GEM handles are small integers from 1 on, so they index an array. */
static int grow_refs(struct kernel *k, uint32_t handle)
{
	size_t cap = ((size_t)handle | 63) + 1;
	uint32_t *refs;

	if (handle < k->handle_cap)
		return 0;
	if (cap > UINT32_MAX)
		return -ENOMEM;
	refs = reallocarray(k->refs, cap, sizeof(*refs));
	if (!refs)
		return -ENOMEM;
	memset(refs + k->handle_cap, 0, (cap - k->handle_cap) * sizeof(*refs));
	k->refs = refs;
	k->handle_cap = (uint32_t)cap;
	return 0;
}

/* Takes a reference to a handle from an ioctl; a new handle is closed on failure. */
static int get_handle(struct kernel *k, uint32_t handle)
{
	int ret = grow_refs(k, handle);

	if (ret)
		drmCloseBufferHandle(k->dev.fd, handle);
	else
		k->refs[handle]++;
	return ret;
}

static void put_handle(struct kernel *k, uint32_t handle)
{
	pthread_mutex_lock(&k->lock);
	if (!--k->refs[handle])
		drmCloseBufferHandle(k->dev.fd, handle);
	pthread_mutex_unlock(&k->lock);
}

/*
 * PRIME returns the same handle each time a buffer is imported into an open device, also if the
 * buffer was created there.
 */
static int import_handle(struct kernel *k, int fd, uint32_t *handle)
{
	int ret;

	pthread_mutex_lock(&k->lock);
	ret = drmPrimeFDToHandle(k->dev.fd, fd, handle) ? -errno : get_handle(k, *handle);
	pthread_mutex_unlock(&k->lock);
	return ret;
}

static int kernel_bo_create(struct cnnrt_device *dev, uint64_t size, uint32_t use,
			    uint32_t flags, uint32_t vm_id, struct rt_bo *bo)
{
	struct drm_cnnacc_bo_create create = {
		.size = size, .use = use, .flags = flags, .vm_id = vm_id,
	};
	struct kernel *k = to_kernel(dev);
	int ret = kernel_ioctl(dev, DRM_IOCTL_CNNACC_BO_CREATE, &create);

	if (ret)
		return ret;
	pthread_mutex_lock(&k->lock);
	ret = get_handle(k, create.handle);
	pthread_mutex_unlock(&k->lock);
	if (!ret)
		*bo = (struct rt_bo){ .handle = create.handle, .size = create.size };
	return ret;
}

static void kernel_bo_close(struct cnnrt_device *dev, struct rt_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->size);
	if (bo->imported)
		close(bo->dmabuf);
	put_handle(to_kernel(dev), bo->handle);
	memset(bo, 0, sizeof(*bo));
}

static int kernel_bo_info(struct cnnrt_device *dev, uint32_t handle,
			  struct drm_cnnacc_bo_info *info)
{
	*info = (struct drm_cnnacc_bo_info){ .handle = handle };
	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_BO_INFO, info);
}

static int kernel_bo_import(struct cnnrt_device *dev, int fd, struct rt_bo *bo)
{
	struct drm_cnnacc_bo_info info;
	uint32_t handle;
	int ret = import_handle(to_kernel(dev), fd, &handle);

	if (ret)
		return ret;
	ret = kernel_bo_info(dev, handle, &info);
	*bo = (struct rt_bo){ .handle = handle, .size = info.size };
	if (!ret && info.flags & DRM_CNNACC_BO_IMPORTED) {
		bo->dmabuf = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		bo->imported = bo->dmabuf >= 0;
		ret = bo->imported ? 0 : -errno;
	}
	if (ret)
		kernel_bo_close(dev, bo);
	return ret;
}

static int kernel_bo_export(struct cnnrt_device *dev, const struct rt_bo *bo, int *fd)
{
	return drmPrimeHandleToFD(dev->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, fd) ? -errno : 0;
}

/* Caches of another driver's memory are its exporter's to maintain. */
static int dmabuf_sync(const struct rt_bo *bo, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_RW | flags };

	return drmIoctl(bo->dmabuf, DMA_BUF_IOCTL_SYNC, &sync) ? -errno : 0;
}

/* Maps another driver's memory through its dma-buf, and begins CPU access. */
static int dmabuf_map(struct rt_bo *bo)
{
	void *map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, bo->dmabuf, 0);
	int ret = map == MAP_FAILED ? -errno : dmabuf_sync(bo, DMA_BUF_SYNC_START);

	if (!ret)
		bo->map = map;
	else if (map != MAP_FAILED)
		munmap(map, bo->size);
	return ret;
}

static int kernel_bo_map(struct cnnrt_device *dev, struct rt_bo *bo)
{
	struct drm_cnnacc_bo_info info;
	void *map;
	int ret;

	if (bo->imported)
		return dmabuf_map(bo);
	ret = kernel_bo_info(dev, bo->handle, &info);
	if (ret)
		return ret;
	map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd,
		   (off_t)info.mmap_offset);
	if (map == MAP_FAILED)
		return -errno;
	bo->map = map;
	return 0;
}

static int kernel_bo_sync(struct cnnrt_device *dev, const struct rt_bo *bo, uint32_t flags)
{
	struct drm_cnnacc_bo_sync_op op = {
		.handle = bo->handle, .flags = flags, .size = bo->size,
	};
	struct drm_cnnacc_bo_sync sync = { .ops = DRM_CNNACC_OBJ_ARRAY(1, &op) };

	if (bo->imported && !bo->map)
		return 0;
	if (bo->imported)
		return dmabuf_sync(bo, flags == DRM_CNNACC_BO_SYNC_FOR_CPU ? DMA_BUF_SYNC_START :
								DMA_BUF_SYNC_END);
	if (dev->info.features & CNNACC_FEATURE_COHERENT)
		return 0;
	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_BO_SYNC, &sync);
}

static int kernel_bind(struct cnnrt_device *dev, uint32_t vm_id,
		       const struct drm_cnnacc_bind_op *ops, uint32_t count)
{
	struct drm_cnnacc_vm_bind bind = {
		.vm_id = vm_id, .ops = DRM_CNNACC_OBJ_ARRAY(count, ops),
	};

	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_VM_BIND, &bind);
}

/* A new syncobj, with the fence of sync_file unless that is negative. */
static int make_syncobj(int fd, int sync_file, uint32_t *handle)
{
	int ret;

	if (drmSyncobjCreate(fd, 0, handle))
		return -errno;
	if (sync_file < 0 || !drmSyncobjImportSyncFile(fd, *handle, sync_file))
		return 0;
	ret = -errno;
	drmSyncobjDestroy(fd, *handle);
	return ret;
}

/* Reuses a syncobj: an ioctl to create one would delay each submit. */
static int take_syncobj(struct kernel *k, uint32_t *handle)
{
	pthread_mutex_lock(&k->lock);
	*handle = k->free_syncobj;
	k->free_syncobj = 0;
	pthread_mutex_unlock(&k->lock);
	return *handle ? 0 : make_syncobj(k->dev.fd, -1, handle);
}

static void give_syncobj(struct kernel *k, uint32_t handle)
{
	uint32_t other;

	pthread_mutex_lock(&k->lock);
	other = k->free_syncobj;
	k->free_syncobj = handle;
	pthread_mutex_unlock(&k->lock);
	if (other)
		drmSyncobjDestroy(k->dev.fd, other);
}

static int submit_synced(struct cnnrt_device *dev, struct rt_submit *s, uint32_t wait,
			 uint32_t signal)
{
	struct drm_cnnacc_sync syncs[2] = {
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = signal },
		{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = wait },
	};
	struct drm_cnnacc_job job = {
		.core = s->core, .flags = s->flags,
		.tasks = DRM_CNNACC_OBJ_ARRAY(s->task_count, s->tasks),
		.syncs = DRM_CNNACC_OBJ_ARRAY(wait ? 2 : 1, syncs),
		.bos = DRM_CNNACC_OBJ_ARRAY(s->bo_count, s->bos),
	};
	struct drm_cnnacc_submit submit = {
		.ctx_id = s->ctx_id, .jobs = DRM_CNNACC_OBJ_ARRAY(1, &job),
	};
	/* Without DRM_CNNACC_SUBMIT_NONBLOCK: drmIoctl() repeats a call for ever after EAGAIN. */
	int ret = kernel_ioctl(dev, DRM_IOCTL_CNNACC_SUBMIT, &submit);

	s->seqno = submit.first_seqno;
	if (!ret && job.flags & DRM_CNNACC_JOB_ANY_EQUAL)
		s->core = submit.core[s->core];
	if (!ret && drmSyncobjExportSyncFile(dev->fd, signal, &s->out_fence)) {
		ret = -errno;
		/* The caller treats the job as never started: wait until its memory is unused. */
		drmSyncobjWait(dev->fd, &signal, 1, INT64_MAX, 0, NULL);
	}
	return ret;
}

static int kernel_submit(struct cnnrt_device *dev, struct rt_submit *s)
{
	uint32_t wait = 0, signal;
	int ret = take_syncobj(to_kernel(dev), &signal);

	if (ret)
		return ret;
	if (s->in_fence >= 0)
		ret = make_syncobj(dev->fd, s->in_fence, &wait);
	if (!ret) {
		ret = submit_synced(dev, s, wait, signal);
		if (wait)
			drmSyncobjDestroy(dev->fd, wait);
	}
	give_syncobj(to_kernel(dev), signal);
	return ret;
}

static bool kernel_takes_fence(struct cnnrt_device *dev, int fd)
{
	struct sync_file_info info = { 0 };

	(void)dev;
	return !ioctl(fd, SYNC_IOC_FILE_INFO, &info);
}

static int kernel_end_time(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t seqno, int fence,
			   uint64_t *ns)
{
	struct sync_fence_info ended = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&ended };

	(void)dev;
	(void)ctx_id;
	(void)seqno;
	if (ioctl(fence, SYNC_IOC_FILE_INFO, &info))
		return -errno;
	*ns = ended.timestamp_ns;
	return 0;
}

static int kernel_reg_rw(struct cnnrt_device *dev, struct drm_cnnacc_reg_rw *rw)
{
	return kernel_ioctl(dev, DRM_IOCTL_CNNACC_REG_RW, rw);
}

static const struct rt_device_ops kernel_ops = {
	.close = kernel_close,
	.state = kernel_state,
	.vm_create = kernel_vm_create,
	.vm_destroy = kernel_vm_destroy,
	.ctx_create = kernel_ctx_create,
	.ctx_destroy = kernel_ctx_destroy,
	.ctx_query = kernel_ctx_query,
	.eventfd = kernel_eventfd,
	.bo_create = kernel_bo_create,
	.bo_import = kernel_bo_import,
	.bo_export = kernel_bo_export,
	.bo_map = kernel_bo_map,
	.bo_sync = kernel_bo_sync,
	.bo_close = kernel_bo_close,
	.bind = kernel_bind,
	.submit = kernel_submit,
	.takes_fence = kernel_takes_fence,
	.end_time = kernel_end_time,
	.reg_rw = kernel_reg_rw,
};

static int check_driver(struct cnnrt_device *dev, const char *path, struct cnnrt_error *err)
{
	drmVersionPtr v = drmGetVersion(dev->fd);
	int ret = CNNRT_OK;

	if (!v || strcmp(v->name, "cnnacc"))
		ret = rt_fail(err, CNNRT_ENODEV, "%s: not a cnnacc accelerator", path);
	else if (v->version_major != DRM_CNNACC_VERSION_MAJOR)
		ret = rt_fail(err, CNNRT_EUNSUPPORTED,
			      "%s: driver interface %d.%d, this library needs %d.x", path,
			      v->version_major, v->version_minor, DRM_CNNACC_VERSION_MAJOR);
	drmFreeVersion(v);
	return ret;
}

/* Finds the device's name on its bus through sysfs; Debian 12's libdrm lacks accel nodes. */
static void read_bus(struct cnnrt_device *dev)
{
	char path[64], target[PATH_MAX], *name;
	struct stat st;

	if (fstat(dev->fd, &st))
		return;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	if (!realpath(path, target))
		return;
	name = strrchr(target, '/');
	snprintf(dev->info.bus, sizeof(dev->info.bus), "%.60s", name ? name + 1 : target);
}

static int read_info(struct cnnrt_device *dev, const char *path, struct cnnrt_error *err)
{
	struct drm_cnnacc_core_info from[CNNRT_MAX_CORES] = { 0 };
	struct cnnrt_core_info cores[CNNRT_MAX_CORES];
	struct drm_cnnacc_dev_info info = { 0 };
	struct drm_cnnacc_clocks clocks = { 0 };
	int ret;

	ret = QUERY(dev, DEV_INFO, 1, &info) ?: QUERY(dev, CLOCKS, 1, &clocks) ?:
	      QUERY(dev, CORE_INFO, CNNRT_MAX_CORES, from);
	for (int i = 0; i < CNNRT_MAX_CORES; i++) {
		const struct drm_cnnacc_core_info *c = &from[i];

		cores[i] = (struct cnnrt_core_info){
			.type = c->type, .version = c->version, .window_offset = c->window_offset,
			.window_size = c->window_size, .queue_offset = c->queue_offset,
			.program_max = c->program_max, .job_cycles_max = c->job_cycles_max,
		};
		memcpy(cores[i].name, c->name, sizeof(c->name));
		memcpy(cores[i].param, c->param, sizeof(c->param));
	}
	if (!ret && rt_device_set_info(dev, &info, clocks.max_hz, cores))
		ret = -EINVAL;
	if (ret)
		return rt_fail_errno(err, ret, "%s: query", path);
	snprintf(dev->info.path, sizeof(dev->info.path), "%.127s", path);
	strcpy(dev->info.driver, "cnnacc");
	read_bus(dev);
	return CNNRT_OK;
}

/* Adds the remedy for each reason. */
static int fail_open(struct cnnrt_error *err, const char *path, int e)
{
	switch (e) {
	case ENOENT:
		return rt_fail(err, CNNRT_ENODEV, "%s: there is no such node", path);
	case EACCES:
	case EPERM:
		return rt_fail(err, CNNRT_EACCES, "%s: this user may not open it: join the group "
			       "of the node, or pass it to the container (--device)", path);
	case EBUSY:
		return rt_fail(err, CNNRT_EBUSY, "%s: another program uses the device exclusively",
			       path);
	case ENODEV:
	case ENXIO:
		return rt_fail(err, CNNRT_ENODRIVER, "%s: the node has no driver: the module is "
			       "not loaded, or the device is gone", path);
	default:
		return rt_fail_errno(err, e, "%s", path);
	}
}

int rt_kernel_open(const char *path, struct cnnrt_device **out, struct cnnrt_error *err)
{
	struct kernel *k = calloc(1, sizeof(*k));
	struct cnnrt_device *dev;
	int ret;

	if (!k)
		return rt_fail(err, CNNRT_ENOMEM, "%s: out of memory", path);
	pthread_mutex_init(&k->lock, NULL);
	dev = &k->dev;
	dev->ops = &kernel_ops;
	dev->fd = open(path, O_RDWR | O_CLOEXEC);
	if (dev->fd < 0)
		ret = fail_open(err, path, errno);
	else
		ret = check_driver(dev, path, err);
	if (!ret)
		ret = read_info(dev, path, err);
	if (ret)
		kernel_close(dev);
	else
		*out = dev;
	return ret;
}
