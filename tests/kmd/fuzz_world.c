// SPDX-License-Identifier: MIT
/* State of a sequence: random numbers, known objects, the log, setup and teardown. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

/* ---- random numbers (splitmix64) ------------------------------------------------------- */

uint64_t fuzz_next(struct fuzz_world *w)
{
	uint64_t z = w->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint32_t fuzz_below(struct fuzz_world *w, uint32_t limit)
{
	return (fuzz_next(w) >> 32) % limit;
}

bool fuzz_chance(struct fuzz_world *w, uint32_t in)
{
	return !fuzz_below(w, in);
}

uint64_t fuzz_odd(struct fuzz_world *w, uint64_t right)
{
	if (!w->odd || !fuzz_chance(w, w->odd))
		return right;
	switch (fuzz_below(w, 8)) {
	case 0: return 0;
	case 1: return UINT64_MAX;
	case 2: return right + 1;
	case 3: return right - 1;
	case 4: return right ^ 1ull << fuzz_below(w, 64);
	case 5: return 1ull << fuzz_below(w, 64);
	case 6: return fuzz_below(w, 64);
	default: return fuzz_next(w);
	}
}

uint64_t fuzz_pointer(struct fuzz_world *w, const void *right)
{
	if (!w->odd || !fuzz_chance(w, w->odd))
		return (uintptr_t)right;
	switch (fuzz_below(w, 4)) {
	case 0: return 0;
	case 1: return 64;
	case 2: return 0xffff888000000000;
	default: return (uintptr_t)right + fuzz_below(w, 9) - 4;
	}
}

/* ---- what there is to name -------------------------------------------------------------- */

unsigned int fuzz_file(struct fuzz_world *w)
{
	uint32_t r = fuzz_below(w, w->odd ? 32 : 100);

	return r < 4 ? FUZZ_SHARED : r < 8 && w->fd[1] >= 0 ? 1 : w->home;
}

uint32_t fuzz_id(struct fuzz_world *w, const struct fuzz_set *set, unsigned int file)
{
	uint32_t i = set->count ? fuzz_below(w, set->count) : 0, tries;

	/* Ids of objects that other threads created in the shared file are guessed. */
	if (w->odd && fuzz_chance(w, file == FUZZ_SHARED ? 3 : w->odd))
		return fuzz_odd(w, fuzz_below(w, 12));
	for (tries = 0; tries < set->count; tries++, i = (i + 1) % set->count)
		if (set->at[i].file == file)
			return set->at[i].id;
	return fuzz_below(w, 4);
}

void fuzz_forget(struct fuzz_world *w, struct fuzz_set *set, unsigned int file, uint32_t id)
{
	uint32_t i;

	if (fuzz_chance(w, 8))
		return;
	for (i = 0; i < set->count; i++)
		if (set->at[i].file == file && set->at[i].id == id)
			set->at[i] = set->at[--set->count];
}

bool fuzz_add(struct fuzz_set *set, unsigned int file, uint32_t id)
{
	uint32_t i;

	/* An import returns the existing handle. */
	for (i = 0; i < set->count; i++)
		if (set->at[i].file == file && set->at[i].id == id)
			return true;
	if (set->count == FUZZ_OBJECTS)
		return false;
	set->at[set->count].file = file;
	set->at[set->count++].id = id;
	return true;
}

void fuzz_add_map(struct fuzz_world *w, void *addr, size_t size)
{
	if (w->map_count == FUZZ_OBJECTS)
		munmap(addr, size);
	else
		w->maps[w->map_count++] = (struct fuzz_map){ addr, size };
}

/* ---- log -------------------------------------------------------------------------------- */

void fuzz_begin(struct fuzz_world *w, const char *name, uint64_t a, uint64_t b, uint64_t c,
		uint64_t d)
{
	if (w->log_count == ARRAY_LEN(w->log))
		bail("a sequence of more calls than it may have");
	w->log[w->log_count++] = (struct fuzz_entry){ name, { a, b, c, d }, 1 };
	w->started = kmd_seconds();
	if (w->base->verbose)
		note("%s %#llx %#llx %#llx %#llx", name, (unsigned long long)a,
		     (unsigned long long)b, (unsigned long long)c, (unsigned long long)d);
}

/* Errors allowed while the device exists: not -ENODEV, -EIO or -ENOSYS. */
static bool may_be(int error)
{
	static const int errors[] = {
		EPERM, ENOENT, EINTR, E2BIG, EBADF, EAGAIN, ENOMEM, EACCES, EFAULT, EBUSY,
		EEXIST, EINVAL, ENOTTY, ENOSPC, ETIME, ETIMEDOUT, EOPNOTSUPP, ECANCELED,
	};

	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i] == error)
			return true;
	return error <= 0;
}

int fuzz_end(struct fuzz_world *w, int ret)
{
	w->log[w->log_count - 1].ret = ret;
	if (w->base->verbose)
		note("  = %d", ret);
	w->failed |= !may_be(-ret);
	w->calls++;
	w->good += !ret;
	if (!strcmp(w->log[w->log_count - 1].name, "SUBMIT")) {
		w->submits++;
		w->good_submits += !ret;
	}
	return ret;
}

int fuzz_ioctl(struct fuzz_world *w, const char *name, unsigned int file, unsigned long request,
	       void *arg)
{
	uint64_t a[3] = { 0 };
	size_t size = (request >> 16) & 0x3fff;

	memcpy(a, arg, size < sizeof(a) ? size : sizeof(a));
	fuzz_begin(w, name, file, a[0], a[1], a[2]);
	return fuzz_end(w, kmd_ioctl(w->fd[file], request, arg));
}

void fuzz_print(const struct fuzz_world *w)
{
	note("sequence %#llx, with those before it on its files: --seed %#llx --count %llu",
	     (unsigned long long)w->seed, (unsigned long long)w->first,
	     (unsigned long long)(w->seed - w->first + 1));
	for (unsigned int i = 0; i < w->log_count; i++) {
		const struct fuzz_entry *e = &w->log[i];

		note("  %2u %s file=%llu %#llx %#llx %#llx = %s%d", i, e->name,
		     (unsigned long long)e->arg[0], (unsigned long long)e->arg[1],
		     (unsigned long long)e->arg[2], (unsigned long long)e->arg[3],
		     e->ret == 1 ? "never ended " : "", e->ret);
	}
}

/* ---- beginning and end ------------------------------------------------------------------ */

static uint32_t import(struct fuzz_world *w, unsigned int file, int dmabuf)
{
	struct drm_prime_handle prime = { .fd = dmabuf };

	fuzz_ioctl(w, "PRIME_FD_TO_HANDLE", file, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);
	return prime.handle;
}

void fuzz_setup(struct fuzz_world *w, unsigned int file)
{
	struct drm_cnnacc_ctx_create ctx = { .priority = fuzz_below(w, 3) };
	struct drm_cnnacc_vm_create vm = { };
	struct drm_cnnacc_bind_op ops[] = {
		{ .flags = DRM_CNNACC_BIND_EXEC, .va = KMD_PROGRAM_VA, .size = CNNACC_PAGE_SIZE },
		{ .flags = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE, .va = KMD_DATA_VA,
		  .size = FUZZ_DATA_SIZE },
	};
	struct drm_cnnacc_vm_bind bind = { .ops = DRM_CNNACC_OBJ_ARRAY(2, ops) };
	struct drm_syncobj_create syncobj = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };

	if (fuzz_ioctl(w, "VM_CREATE", file, DRM_IOCTL_CNNACC_VM_CREATE, &vm))
		return;
	if (!fuzz_add(&w->vms, file, vm.vm_id)) {
		kmd_vm_destroy(w->fd[file], vm.vm_id);
		return;
	}
	ctx.vm_id = vm.vm_id;
	if (fuzz_ioctl(w, "CTX_CREATE", file, DRM_IOCTL_CNNACC_CTX_CREATE, &ctx))
		return;
	if (!fuzz_add(&w->ctxs, file, ctx.ctx_id)) {
		kmd_ctx_destroy(w->fd[file], ctx.ctx_id);
		return;
	}
	ops[0].handle = import(w, file, w->base->program);
	ops[1].handle = import(w, file, w->base->data);
	fuzz_add(&w->bos, file, ops[1].handle);
	bind.vm_id = vm.vm_id;
	fuzz_ioctl(w, "VM_BIND", file, DRM_IOCTL_CNNACC_VM_BIND, &bind);
	if (fuzz_ioctl(w, "SYNCOBJ_CREATE", file, DRM_IOCTL_SYNCOBJ_CREATE, &syncobj))
		return;
	if (!fuzz_add(&w->syncobjs, file, syncobj.handle))
		drmSyncobjDestroy(w->fd[file], syncobj.handle);
	else if (file == w->home)
		w->signalled = syncobj.handle;
}

/* Removes the objects of a sequence from the shared file; another thread may have done so. */
static void clean_shared(struct fuzz_world *w)
{
	unsigned int i;

	for (i = 0; i < w->ctxs.count; i++)
		if (w->ctxs.at[i].file == FUZZ_SHARED)
			kmd_ctx_destroy(w->fd[FUZZ_SHARED], w->ctxs.at[i].id);
	for (i = 0; i < w->vms.count; i++)
		if (w->vms.at[i].file == FUZZ_SHARED)
			kmd_vm_destroy(w->fd[FUZZ_SHARED], w->vms.at[i].id);
	for (i = 0; i < w->bos.count; i++)
		if (w->bos.at[i].file == FUZZ_SHARED)
			drmCloseBufferHandle(w->fd[FUZZ_SHARED], w->bos.at[i].id);
	for (i = 0; i < w->syncobjs.count; i++)
		if (w->syncobjs.at[i].file == FUZZ_SHARED)
			drmSyncobjDestroy(w->fd[FUZZ_SHARED], w->syncobjs.at[i].id);
}

void fuzz_finish(struct fuzz_world *w)
{
	unsigned int i;

	clean_shared(w);
	for (i = 0; i < w->map_count; i++)
		munmap(w->maps[i].addr, w->maps[i].size);
	for (i = 0; i < FUZZ_SHARED; i++)
		if (w->fd[i] >= 0)
			close(w->fd[i]);
	for (i = 0; i < w->fds.count; i++)
		close(w->fds.at[i].id);
	w->started = 0;
}

static void begin(struct fuzz_world *w)
{
	w->vms.count = w->ctxs.count = w->bos.count = w->syncobjs.count = w->fds.count = 0;
	w->map_count = w->log_count = 0;
	w->first = w->seed;
	w->fd[0] = kmd_open();
	w->fd[1] = fuzz_chance(w, 4) ? kmd_open() : -1;
	w->fd[FUZZ_SHARED] = w->base->shared_fd;
	w->odd = 0;
	w->home = fuzz_chance(w, 8) ? FUZZ_SHARED : 0;
	if (!fuzz_chance(w, 16))
		fuzz_setup(w, w->home);
}

void fuzz_sequence(struct fuzz_world *w, uint64_t seed, bool new_files)
{
	uint32_t calls;

	w->seed = w->random = seed;
	if (new_files)
		begin(w);
	calls = FUZZ_CALLS_MIN + fuzz_below(w, FUZZ_CALLS_MAX - FUZZ_CALLS_MIN + 1);
	while (calls-- && !w->failed)
		fuzz_call(w);
}
