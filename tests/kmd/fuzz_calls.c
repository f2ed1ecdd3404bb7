// SPDX-License-Identifier: MIT
/* Random calls: every ioctl of the driver, and related ones of the DRM core. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <xf86drm.h>

#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD
struct drm_syncobj_eventfd {
	__u32 handle, flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};
#define DRM_IOCTL_SYNCOBJ_EVENTFD DRM_IOWR(0xCF, struct drm_syncobj_eventfd)
#endif

#define SCRATCH_VA	0x20000000u
#define FUZZ_BO_MAX	(1u << 20)
#define ODD		10	/* of this many fields one is wrong, on average */

static uint32_t pages(struct fuzz_world *w)
{
	return CNNACC_PAGE_SIZE << fuzz_below(w, 5);
}

/* An absolute timeout in the near future. */
static int64_t soon(struct fuzz_world *w)
{
	return fuzz_chance(w, 8) ? (int64_t)fuzz_odd(w, 0) % kmd_deadline(2) :
	       fuzz_chance(w, 2) ? 0 : kmd_deadline(fuzz_below(w, 3));
}

/* ---- the driver's ioctls ---------------------------------------------------------------- */

static void call_query(struct fuzz_world *w)
{
	uint8_t room[1024];
	struct drm_cnnacc_dev_query q = {
		.type = fuzz_odd(w, fuzz_below(w, 4)),
		.pad = fuzz_odd(w, 0),
		.result.stride = fuzz_odd(w, fuzz_below(w, 120)),
		.result.count = fuzz_odd(w, fuzz_below(w, 9)),
	};

	/* The kernel writes at most as many structures as there are cores. */
	q.result.array = q.result.stride <= 120 ? fuzz_pointer(w, room + 4) : 64;
	fuzz_ioctl(w, "DEV_QUERY", fuzz_file(w), DRM_IOCTL_CNNACC_DEV_QUERY, &q);
}

static void call_vm_create(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_vm_create c = { .flags = fuzz_odd(w, 0) };

	if (!fuzz_ioctl(w, "VM_CREATE", file, DRM_IOCTL_CNNACC_VM_CREATE, &c) &&
	    !fuzz_add(&w->vms, file, c.vm_id))
		kmd_vm_destroy(w->fd[file], c.vm_id);
}

static void call_vm_destroy(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_vm_destroy d = {
		.vm_id = fuzz_id(w, &w->vms, file), .pad = fuzz_odd(w, 0),
	};

	if (!fuzz_ioctl(w, "VM_DESTROY", file, DRM_IOCTL_CNNACC_VM_DESTROY, &d))
		fuzz_forget(w, &w->vms, file, d.vm_id);
}

static void call_ctx_create(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_ctx_create c = {
		.flags = fuzz_odd(w, 0), .priority = fuzz_odd(w, fuzz_below(w, 3)),
		.vm_id = fuzz_id(w, &w->vms, file),
	};

	/* Without programs, the jobs of a context only fault. */
	if (fuzz_chance(w, 2)) {
		fuzz_setup(w, file);
		return;
	}
	if (!fuzz_ioctl(w, "CTX_CREATE", file, DRM_IOCTL_CNNACC_CTX_CREATE, &c) &&
	    !fuzz_add(&w->ctxs, file, c.ctx_id))
		kmd_ctx_destroy(w->fd[file], c.ctx_id);
}

static void call_ctx_destroy(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_ctx_destroy d = {
		.ctx_id = fuzz_id(w, &w->ctxs, file), .pad = fuzz_odd(w, 0),
	};

	if (!fuzz_ioctl(w, "CTX_DESTROY", file, DRM_IOCTL_CNNACC_CTX_DESTROY, &d))
		fuzz_forget(w, &w->ctxs, file, d.ctx_id);
}

static void call_ctx_query(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_ctx_query q = {
		.ctx_id = fuzz_id(w, &w->ctxs, file), .pad = { fuzz_odd(w, 0), fuzz_odd(w, 0) },
	};

	fuzz_ioctl(w, "CTX_QUERY", file, DRM_IOCTL_CNNACC_CTX_QUERY, &q);
}

static void call_bo_create(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	bool private = fuzz_chance(w, 3);
	struct drm_cnnacc_bo_create c = {
		.size = fuzz_odd(w, pages(w)), .use = fuzz_odd(w, fuzz_below(w, 3)),
		.flags = fuzz_odd(w, private ? DRM_CNNACC_BO_PRIVATE : fuzz_below(w, 2)),
		.vm_id = fuzz_odd(w, private ? fuzz_id(w, &w->vms, file) : 0),
	};

	/* A MAP allocates all pages of the buffer, so limit the size. */
	if (c.size > FUZZ_BO_MAX && c.size <= w->base->max_bo_size)
		c.size = FUZZ_BO_MAX;

	if (!fuzz_ioctl(w, "BO_CREATE", file, DRM_IOCTL_CNNACC_BO_CREATE, &c) &&
	    !fuzz_add(&w->bos, file, c.handle))
		drmCloseBufferHandle(w->fd[file], c.handle);
}

static void call_bo_info(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_bo_info i = {
		.handle = fuzz_id(w, &w->bos, file), .pad = fuzz_odd(w, 0),
	};

	fuzz_ioctl(w, "BO_INFO", file, DRM_IOCTL_CNNACC_BO_INFO, &i);
}

static void call_bo_sync(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_bo_sync_op ops[3];
	struct drm_cnnacc_bo_sync s;
	uint32_t i;

	for (i = 0; i < 3; i++)
		ops[i] = (struct drm_cnnacc_bo_sync_op){
			.handle = fuzz_id(w, &w->bos, file),
			.flags = fuzz_odd(w, 1 + fuzz_below(w, 2)),
			.offset = fuzz_odd(w, fuzz_below(w, 4096)),
			.size = fuzz_odd(w, fuzz_below(w, 4096)),
		};
	s.ops = (struct drm_cnnacc_obj_array){
		fuzz_odd(w, sizeof(ops[0])), fuzz_odd(w, 1 + fuzz_below(w, 3)),
		fuzz_pointer(w, ops) };
	fuzz_ioctl(w, "BO_SYNC", file, DRM_IOCTL_CNNACC_BO_SYNC, &s);
}

static void make_bind_op(struct fuzz_world *w, unsigned int file, struct drm_cnnacc_bind_op *op)
{
	static const uint32_t flags[] = { 1, 2, 3, 3, 3, 4 };

	memset(op, 0, sizeof(*op));
	op->va = SCRATCH_VA + fuzz_below(w, 16) * CNNACC_PAGE_SIZE;
	op->size = pages(w);
	if (fuzz_chance(w, 3)) {
		op->op = DRM_CNNACC_BIND_UNMAP;
		op->flags = fuzz_chance(w, 2) ? DRM_CNNACC_BIND_NOWAIT : 0;
		if (fuzz_chance(w, 4)) {
			op->va = KMD_DATA_VA;
			op->size = FUZZ_DATA_SIZE;
		}
	} else {
		if (fuzz_chance(w, 8))
			op->va = KMD_DATA_VA;
		op->flags = fuzz_odd(w, flags[fuzz_below(w, ARRAY_LEN(flags))]);
		op->handle = fuzz_id(w, &w->bos, file);
		op->bo_offset = fuzz_odd(w, fuzz_below(w, 2) * CNNACC_PAGE_SIZE);
	}
	op->op = fuzz_odd(w, op->op);
	op->pad = fuzz_odd(w, 0);
	op->va = fuzz_odd(w, op->va);
	op->size = fuzz_odd(w, op->size);
}

static void call_vm_bind(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_bind_op ops[4];
	struct drm_cnnacc_vm_bind b = {
		.vm_id = fuzz_id(w, &w->vms, file), .flags = fuzz_odd(w, 0),
		.pad = fuzz_odd(w, 0), .done = fuzz_odd(w, 0),
	};
	uint32_t i;

	for (i = 0; i < 4; i++)
		make_bind_op(w, file, &ops[i]);
	b.ops = (struct drm_cnnacc_obj_array){
		fuzz_odd(w, sizeof(ops[0])), fuzz_odd(w, 1 + fuzz_below(w, 4)),
		fuzz_pointer(w, ops) };
	fuzz_ioctl(w, "VM_BIND", file, DRM_IOCTL_CNNACC_VM_BIND, &b);
}

static void call_eventfd(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_eventfd e = {
		.ctx_id = fuzz_id(w, &w->ctxs, file),
		.core = fuzz_odd(w, fuzz_below(w, w->base->core_count)),
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.flags = fuzz_odd(w, fuzz_below(w, 2)),
	};

	if (e.fd >= 0 && !fuzz_add(&w->fds, 0, e.fd))
		close(e.fd);
	e.fd = fuzz_odd(w, e.fd);
	fuzz_ioctl(w, "EVENTFD", file, DRM_IOCTL_CNNACC_EVENTFD, &e);
}

/* Reads and writes any register; behind the driver's back only those whose change it survives. */
static void call_reg_rw(struct fuzz_world *w)
{
	struct drm_cnnacc_reg_rw r = {
		.offset = fuzz_odd(w, fuzz_below(w, CNNACC_REGS_SIZE / 4) * 4),
		.flags = fuzz_odd(w, fuzz_chance(w, 4) ? DRM_CNNACC_REG_WRITE : 0),
		.value = fuzz_next(w), .pad = fuzz_odd(w, 0),
	};

	if (fuzz_chance(w, 400))
		kmd_poke(CNNACC_REG_IRQ_RAISE, r.value);
	if (fuzz_chance(w, 400))
		kmd_force_reset("device");
	/* The next job on a queue that was stopped hangs. */
	if (fuzz_chance(w, 400))
		kmd_poke(w->base->queue + CNNACC_QREG_CTRL, 0);
	fuzz_ioctl(w, "REG_RW", fuzz_file(w), DRM_IOCTL_CNNACC_REG_RW, &r);
}

/* An ioctl number with the size of older or newer user space, or an unknown one. */
static void call_sizes(struct fuzz_world *w)
{
	uint8_t arg[256] = { 0 };
	uint32_t nr = DRM_COMMAND_BASE + fuzz_below(w, 14), size = fuzz_below(w, sizeof(arg));
	unsigned int file = fuzz_file(w);

	if (fuzz_chance(w, 2))
		memset(arg, fuzz_below(w, 3) - 1, sizeof(arg));
	fuzz_begin(w, "any size", file, nr, size, arg[0]);
	fuzz_end(w, ioctl(w->fd[file], DRM_IOC(DRM_IOC_READWRITE, DRM_IOCTL_BASE, nr, size), arg) ?
		 -errno : 0);
}

/* ---- files and memory ------------------------------------------------------------------- */

static void call_open(struct fuzz_world *w)
{
	if (w->fd[1] < 0)
		w->fd[1] = kmd_open();
	if (fuzz_chance(w, 2))
		fuzz_setup(w, 1);
}

static void call_close(struct fuzz_world *w)
{
	if (w->fd[1] < 0 || fuzz_chance(w, 2))
		return;
	fuzz_begin(w, "close", 1, 0, 0, 0);
	fuzz_end(w, close(w->fd[1]) ? -errno : 0);
	w->fd[1] = -1;
}

static void call_mmap(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_cnnacc_bo_info i = { .handle = fuzz_id(w, &w->bos, file) };
	uint64_t offset, size = pages(w);
	void *map;

	if (kmd_ioctl(w->fd[file], DRM_IOCTL_CNNACC_BO_INFO, &i) || i.size > FUZZ_BO_MAX)
		return;
	if (!fuzz_chance(w, 4))
		size = i.size;
	offset = fuzz_odd(w, i.mmap_offset);
	fuzz_begin(w, "mmap", file, offset, size, 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd[file], offset);
	fuzz_end(w, 0);
	if (map == MAP_FAILED)
		return;
	/* A mapping is never larger than its buffer, so all of it can be accessed. */
	memset(map, fuzz_below(w, 256), size);
	fuzz_add_map(w, map, size);
}

static void call_munmap(struct fuzz_world *w)
{
	if (!w->map_count)
		return;
	w->map_count--;
	munmap(w->maps[w->map_count].addr, w->maps[w->map_count].size);
}

static void call_gem_close(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_gem_close c = {
		.handle = fuzz_id(w, &w->bos, file), .pad = fuzz_odd(w, 0),
	};

	if (!fuzz_ioctl(w, "GEM_CLOSE", file, DRM_IOCTL_GEM_CLOSE, &c))
		fuzz_forget(w, &w->bos, file, c.handle);
}

static void call_export(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_prime_handle p = {
		.handle = fuzz_id(w, &w->bos, file), .flags = fuzz_odd(w, DRM_CLOEXEC | DRM_RDWR),
	};

	if (!fuzz_ioctl(w, "PRIME_HANDLE_TO_FD", file, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p) &&
	    !fuzz_add(&w->fds, 0, p.fd))
		close(p.fd);
}

/* A random file descriptor of the sequence, of any kind. */
static int any_fd(struct fuzz_world *w)
{
	return w->fds.count ? (int)w->fds.at[fuzz_below(w, w->fds.count)].id : w->base->data;
}

static void call_import(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_prime_handle p = { .fd = any_fd(w), .flags = fuzz_odd(w, 0) };

	if (!fuzz_ioctl(w, "PRIME_FD_TO_HANDLE", file, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p) &&
	    !fuzz_add(&w->bos, file, p.handle))
		drmCloseBufferHandle(w->fd[file], p.handle);
}

static void call_dma_buf(struct fuzz_world *w)
{
	struct dma_buf_sync sync = { .flags = fuzz_odd(w, fuzz_below(w, 8)) };
	struct dma_buf_export_sync_file file = { .flags = fuzz_odd(w, 1 + fuzz_below(w, 3)) };
	int fd = any_fd(w);

	if (fuzz_chance(w, 2)) {
		fuzz_begin(w, "DMA_BUF_IOCTL_EXPORT_SYNC_FILE", FUZZ_FILES, fd, file.flags, 0);
		if (!fuzz_end(w, ioctl(fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &file) ? -errno : 0) &&
		    !fuzz_add(&w->fds, 0, file.fd))
			close(file.fd);
		return;
	}
	fuzz_begin(w, "DMA_BUF_IOCTL_SYNC", FUZZ_FILES, fd, sync.flags, 0);
	fuzz_end(w, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) ? -errno : 0);
}

static void call_poll(struct fuzz_world *w)
{
	struct pollfd p = { .fd = any_fd(w), .events = POLLIN | POLLOUT };

	fuzz_begin(w, "poll", FUZZ_FILES, p.fd, 0, 0);
	poll(&p, 1, fuzz_chance(w, 8));
	fuzz_end(w, 0);
}

static void call_fdinfo(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	char path[64], text[4096];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", w->fd[file]);
	fuzz_begin(w, "fdinfo", file, 0, 0, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	fuzz_end(w, fd < 0 || read(fd, text, sizeof(text)) < 0 ? -errno : 0);
	if (fd >= 0)
		close(fd);
}

/* ---- syncobjs --------------------------------------------------------------------------- */

static void call_sync_create(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_syncobj_create c = { .flags = fuzz_odd(w, fuzz_below(w, 2)) };

	if (!fuzz_ioctl(w, "SYNCOBJ_CREATE", file, DRM_IOCTL_SYNCOBJ_CREATE, &c) &&
	    !fuzz_add(&w->syncobjs, file, c.handle))
		drmSyncobjDestroy(w->fd[file], c.handle);
}

static void call_sync_destroy(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_syncobj_destroy d = {
		.handle = fuzz_id(w, &w->syncobjs, file), .pad = fuzz_odd(w, 0),
	};

	if (!fuzz_ioctl(w, "SYNCOBJ_DESTROY", file, DRM_IOCTL_SYNCOBJ_DESTROY, &d))
		fuzz_forget(w, &w->syncobjs, file, d.handle);
}

static void call_sync_wait(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	uint32_t handles[2] = { fuzz_id(w, &w->syncobjs, file), fuzz_id(w, &w->syncobjs, file) };
	uint64_t points[2] = { fuzz_below(w, 6), fuzz_below(w, 6) };
	struct drm_syncobj_timeline_wait t = {
		.handles = fuzz_pointer(w, handles), .points = fuzz_pointer(w, points),
		.timeout_nsec = soon(w), .count_handles = 1 + fuzz_below(w, 2),
		.flags = fuzz_odd(w, fuzz_below(w, 8)),
	};
	struct drm_syncobj_wait b = {
		.handles = t.handles, .timeout_nsec = t.timeout_nsec,
		.count_handles = t.count_handles, .flags = t.flags & 3,
	};

	if (fuzz_chance(w, 2))
		fuzz_ioctl(w, "SYNCOBJ_WAIT", file, DRM_IOCTL_SYNCOBJ_WAIT, &b);
	else
		fuzz_ioctl(w, "SYNCOBJ_TIMELINE_WAIT", file, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &t);
}

static void call_sync_change(struct fuzz_world *w)
{
	static const struct {
		const char *name;
		unsigned long request;
	} kinds[] = {
		{ "SYNCOBJ_RESET", DRM_IOCTL_SYNCOBJ_RESET },
		{ "SYNCOBJ_SIGNAL", DRM_IOCTL_SYNCOBJ_SIGNAL },
		{ "SYNCOBJ_TIMELINE_SIGNAL", DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL },
		{ "SYNCOBJ_QUERY", DRM_IOCTL_SYNCOBJ_QUERY },
	};
	unsigned int file = fuzz_file(w), kind = fuzz_below(w, ARRAY_LEN(kinds));
	uint32_t handle = fuzz_id(w, &w->syncobjs, file);
	uint64_t point = 1 + fuzz_below(w, 8);
	struct drm_syncobj_timeline_array t = {
		.handles = fuzz_pointer(w, &handle), .points = fuzz_pointer(w, &point),
		.count_handles = fuzz_chance(w, 30) ? 0 : 1, .flags = fuzz_odd(w, 0),
	};
	struct drm_syncobj_array a = {
		.handles = t.handles, .count_handles = t.count_handles, .pad = fuzz_odd(w, 0),
	};

	fuzz_ioctl(w, kinds[kind].name, file, kinds[kind].request,
		   kind < 2 ? (void *)&a : (void *)&t);
}

static void call_sync_transfer(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_syncobj_transfer t = {
		.src_handle = fuzz_id(w, &w->syncobjs, file),
		.dst_handle = fuzz_id(w, &w->syncobjs, file),
		.src_point = fuzz_below(w, 4), .dst_point = fuzz_below(w, 6),
		.flags = fuzz_odd(w, 0), .pad = fuzz_odd(w, 0),
	};

	fuzz_ioctl(w, "SYNCOBJ_TRANSFER", file, DRM_IOCTL_SYNCOBJ_TRANSFER, &t);
}

static void call_sync_export(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_syncobj_handle h = {
		.handle = fuzz_id(w, &w->syncobjs, file), .flags = fuzz_odd(w, fuzz_below(w, 2)),
	};

	if (!fuzz_ioctl(w, "SYNCOBJ_HANDLE_TO_FD", file, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h) &&
	    !fuzz_add(&w->fds, 0, h.fd))
		close(h.fd);
}

static void call_sync_import(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_syncobj_handle h = {
		.handle = fuzz_id(w, &w->syncobjs, file), .flags = fuzz_odd(w, fuzz_below(w, 2)),
		.fd = any_fd(w),
	};
	bool into = h.flags & DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE;

	if (!fuzz_ioctl(w, "SYNCOBJ_FD_TO_HANDLE", file, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &h) &&
	    !into && !fuzz_add(&w->syncobjs, file, h.handle))
		drmSyncobjDestroy(w->fd[file], h.handle);
}

static void call_sync_eventfd(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	struct drm_syncobj_eventfd e = {
		.handle = fuzz_id(w, &w->syncobjs, file), .flags = fuzz_odd(w, 0),
		.point = fuzz_below(w, 5), .fd = any_fd(w), .pad = fuzz_odd(w, 0),
	};

	fuzz_ioctl(w, "SYNCOBJ_EVENTFD", file, DRM_IOCTL_SYNCOBJ_EVENTFD, &e);
}

/* ---- choice ----------------------------------------------------------------------------- */

void fuzz_call(struct fuzz_world *w)
{
	static const struct {
		void (*call)(struct fuzz_world *w);
		uint32_t weight;
		uint32_t odd;	/* ODD unless there are many fields */
	} calls[] = {
		{ fuzz_submit, 24, 60 }, { call_vm_bind, 12, 24 }, { call_bo_create, 8, 0 },
		{ call_vm_create, 1, 0 }, { call_vm_destroy, 2, 0 },
		{ call_ctx_create, 3, 0 }, { call_ctx_destroy, 2, 0 }, { call_ctx_query, 3, 0 },
		{ call_query, 2, 0 }, { call_bo_info, 2, 0 }, { call_bo_sync, 3, 0 },
		{ call_eventfd, 2, 0 },
		{ call_reg_rw, 2, 0 }, { call_sizes, 3, 0 }, { call_open, 2, 0 },
		{ call_close, 2, 0 }, { call_mmap, 3, 0 }, { call_munmap, 1, 0 },
		{ call_gem_close, 3, 0 }, { call_export, 3, 0 }, { call_import, 3, 0 },
		{ call_dma_buf, 2, 0 }, { call_poll, 1, 0 }, { call_fdinfo, 1, 0 },
		{ call_sync_create, 4, 0 }, { call_sync_destroy, 2, 0 }, { call_sync_wait, 4, 0 },
		{ call_sync_change, 4, 0 }, { call_sync_transfer, 2, 0 },
		{ call_sync_export, 2, 0 }, { call_sync_import, 2, 0 },
		{ call_sync_eventfd, 1, 0 },
	};
	unsigned int made = w->log_count;
	uint32_t sum = 0, at, i;

	for (i = 0; i < ARRAY_LEN(calls); i++)
		sum += calls[i].weight;
	/* The chosen call may have nothing to act on; then choose again. */
	while (w->log_count == made) {
		at = fuzz_below(w, sum);
		for (i = 0; at >= calls[i].weight; i++)
			at -= calls[i].weight;
		w->odd = !fuzz_chance(w, 3) ? 0 : calls[i].odd ? calls[i].odd : ODD;
		if (calls[i].call == call_reg_rw && !w->base->admin)
			continue;
		calls[i].call(w);
	}
}
