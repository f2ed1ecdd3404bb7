// SPDX-License-Identifier: MIT
/*
 * Wrong arguments that the tests of single ioctls do not cover: stale and foreign ids, each array
 * of each ioctl, memory that the kernel cannot write, limits that take long to reach.
 *
 * Every check of an argument in driver/ and the test of it ("here" is this file):
 *
 *   ioctl        check                                           test
 *   all          unknown number, shorter and longer argument     kmd_query test_ioctl_size
 *                device is gone (-ENODEV)                        kmd_lifecycle
 *   DEV_QUERY    type, pad, array                                kmd_query test_strides
 *                memory behind the answer                        here test_query
 *   VM_CREATE    flags                                           kmd_vm test_arguments
 *                number of address spaces                        kmd_vm test_limit
 *   VM_DESTROY   pad, unknown id, 0, destroyed                   kmd_vm test_arguments
 *   CTX_CREATE   flags, priority, vm_id                          kmd_ctx test_arguments
 *                privilege                                       kmd_ctx test_priority
 *                number of contexts                              kmd_ctx test_limit
 *   CTX_DESTROY  pad, unknown id, 0, destroyed                   kmd_ctx test_arguments, _limit
 *   CTX_QUERY    pads, unknown id                                kmd_ctx, here test_ctx_query
 *   BO_CREATE    size, use, flags, vm_id                         kmd_bo test_create
 *                number of buffers                               here test_buffer_limit
 *   BO_INFO      pad, unknown handle                             kmd_bo test_contents
 *   BO_SYNC      flags, handle, range                            kmd_bo test_sync, here
 *                                                                test_sync_ranges
 *   VM_BIND      flags, pad, vm_id                               kmd_bind test_arrays
 *                MAP: every field, use, private, free range      kmd_bind test_map_arguments,
 *                                                                _uses, _private
 *                UNMAP: every field, exactness                   kmd_bind, here test_unmap
 *                number of tables and of mappings                kmd_bind test_table_limit,
 *                                                                here test_mapping_limit
 *   SUBMIT       flags, ctx_id; every field of job, task, sync   kmd_submit test_arguments
 *                and shared buffer
 *                private buffer of another address space         here test_submit_objects
 *                jobs that cannot be written                     here test_read_only
 *                number of queued jobs                           here test_queue_limit
 *   EVENTFD      core, flags, fd, ctx_id                         kmd_admin test_eventfd
 *   REG_RW       offset, flags, pad, privilege                   kmd_admin test_registers
 *   every array  count, stride, pointer, unknown tail            here test_arrays
 *   every id     of another file, of what is destroyed           here test_vms, _contexts, _handles
 *   mmap         another file, length                            kmd_bo test_mmap
 *                offset, kind of mapping                         here test_mmap
 *   PRIME        private buffer                                  kmd_prime test_private
 *                handle, flags, fd                               here test_prime
 *
 * Not testable by arguments: imported buffers that are not page-aligned or above 40 bits (VM_BIND).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define VA 0x40000000ull
#define PAGE 4096u

static struct kmd_env env;	/* valid objects */
static int other;		/* a file without these objects */
static uint32_t dead_ctx, dead_vm, closed_bo;

/* ---- every ioctl that takes an address space, a context or a handle ---------------------------------------- */

static int do_destroy(int fd, uint32_t ctx)
{
	return kmd_ctx_destroy(fd, ctx);
}

static int do_ctx_query(int fd, uint32_t ctx)
{
	struct drm_cnnacc_ctx_query q = { .ctx_id = ctx };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_QUERY, &q);
}

static int do_private(int fd, uint32_t vm)
{
	struct drm_cnnacc_bo_create c = {
		.size = PAGE, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = vm,
	};

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &c);
}

static int do_bind(int fd, uint32_t vm)
{
	return kmd_unmap(fd, vm, KMD_DATA_VA, env.data.size);
}

static int do_submit(int fd, uint32_t ctx)
{
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_job job = {
		.core = env.core, .tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
	};

	return kmd_submit_jobs(fd, ctx, &job, 1);
}

static int do_eventfd(int fd, uint32_t ctx)
{
	struct drm_cnnacc_eventfd e = { .ctx_id = ctx, .flags = DRM_CNNACC_EVENTFD_REMOVE };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_EVENTFD, &e);
}

static int do_ctx(int fd, uint32_t vm)
{
	struct drm_cnnacc_ctx_create c = { .priority = DRM_CNNACC_PRIORITY_NORMAL, .vm_id = vm };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_CREATE, &c);
}

static void test_vms(void)
{
	static const struct {
		const char *name;
		int (*call)(int fd, uint32_t vm);
	} calls[] = {
		{ "VM_DESTROY", kmd_vm_destroy }, { "CTX_CREATE", do_ctx },
		{ "BO_CREATE", do_private }, { "VM_BIND", do_bind },
	};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		ok_ret(calls[i].call(other, env.vm), -ENOENT, "%s: address space of another file",
		       calls[i].name);
		ok_ret(calls[i].call(env.fd, dead_vm), -ENOENT, "%s: destroyed address space",
		       calls[i].name);
		ok_ret(calls[i].call(env.fd, 0), -ENOENT, "%s: address space 0", calls[i].name);
		ok_ret(calls[i].call(env.fd, UINT32_MAX), -ENOENT,
		       "%s: the largest address space", calls[i].name);
	}
}

static void test_contexts(void)
{
	static const struct {
		const char *name;
		int (*call)(int fd, uint32_t ctx);
	} calls[] = {
		{ "CTX_DESTROY", do_destroy }, { "CTX_QUERY", do_ctx_query },
		{ "SUBMIT", do_submit }, { "EVENTFD", do_eventfd },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		ok_ret(calls[i].call(other, env.ctx), -ENOENT, "%s: context of another file",
		       calls[i].name);
		ok_ret(calls[i].call(env.fd, dead_ctx), -ENOENT, "%s: destroyed context",
		       calls[i].name);
		ok_ret(calls[i].call(env.fd, 0), -ENOENT, "%s: context 0", calls[i].name);
		ok_ret(calls[i].call(env.fd, UINT32_MAX), -ENOENT, "%s: the largest id",
		       calls[i].name);
	}
}

static int do_info(int fd, uint32_t handle)
{
	struct drm_cnnacc_bo_info i = { .handle = handle };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_INFO, &i);
}

static int do_sync(int fd, uint32_t handle)
{
	struct drm_cnnacc_bo_sync_op op = {
		.handle = handle, .flags = DRM_CNNACC_BO_SYNC_FOR_CPU, .size = 1,
	};
	struct drm_cnnacc_bo_sync s = { .ops = DRM_CNNACC_OBJ_ARRAY(1, &op) };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_SYNC, &s);
}

/* With an address space of the file itself, so that only the handle is wrong. */
static int do_map(int fd, uint32_t handle)
{
	uint32_t vm = kmd_vm(fd);
	int ret = kmd_map(fd, vm, handle, RW, VA, PAGE);

	kmd_vm_destroy(fd, vm);
	return ret;
}

static int do_ref(int fd, uint32_t handle)
{
	struct drm_cnnacc_bo_ref ref = { .handle = handle, .flags = DRM_CNNACC_BO_REF_READ };
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_job job = {
		.core = env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.bos = DRM_CNNACC_OBJ_ARRAY(1, &ref),
	};
	uint32_t ctx = kmd_ctx(fd);
	int ret = kmd_submit_jobs(fd, ctx, &job, 1);

	kmd_ctx_destroy(fd, ctx);
	return ret;
}

static int do_export(int fd, uint32_t handle)
{
	struct drm_prime_handle p = { .handle = handle };

	return kmd_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);
}

static void test_handles(void)
{
	static const struct {
		const char *name;
		int (*call)(int fd, uint32_t handle);
	} calls[] = {
		{ "BO_INFO", do_info }, { "BO_SYNC", do_sync }, { "VM_BIND", do_map },
		{ "SUBMIT", do_ref }, { "PRIME", do_export },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		ok_ret(calls[i].call(other, env.data.handle), -ENOENT, "%s: handle of another file",
		       calls[i].name);
		ok_ret(calls[i].call(env.fd, closed_bo), -ENOENT, "%s: closed handle",
		       calls[i].name);
		ok_ret(calls[i].call(env.fd, 0), -ENOENT, "%s: handle 0", calls[i].name);
	}
}

/* ---- every array ------------------------------------------------------------------------- */

/* A valid element of each kind, with space for fields of a newer user space. */
static struct {
	struct { struct drm_cnnacc_bo_sync_op is; uint64_t more; } range;
	struct { struct drm_cnnacc_bind_op is; uint64_t more; } op;
	struct { struct drm_cnnacc_job is; uint64_t more; } job;
	struct { struct drm_cnnacc_task is; uint64_t more; } task;
	struct { struct drm_cnnacc_sync is; uint64_t more; } sync;
	struct { struct drm_cnnacc_bo_ref is; uint64_t more; } ref;
} el;

static void fill_elements(void)
{
	memset(&el, 0, sizeof(el));
	el.range.is = (struct drm_cnnacc_bo_sync_op){
		.handle = env.data.handle, .flags = DRM_CNNACC_BO_SYNC_FOR_CPU, .size = 1,
	};
	/* Each call maps what the previous one has unmapped. */
	el.op.is = (struct drm_cnnacc_bind_op){
		.flags = RW, .handle = env.data.handle, .va = VA, .size = PAGE,
	};
	el.task.is = kmd_task(4);
	el.job.is.core = env.core;
	el.sync.is = (struct drm_cnnacc_sync){
		.flags = DRM_CNNACC_SYNC_SIGNAL, .handle = kmd_syncobj(env.fd),
	};
	el.ref.is = (struct drm_cnnacc_bo_ref){ env.data.handle, DRM_CNNACC_BO_REF_READ };
}

static int with_ranges(struct drm_cnnacc_obj_array array)
{
	struct drm_cnnacc_bo_sync s = { .ops = array };

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_SYNC, &s);
}

static int with_ops(struct drm_cnnacc_obj_array array)
{
	struct drm_cnnacc_vm_bind b = { .vm_id = env.vm, .ops = array };
	int ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_VM_BIND, &b);

	if (b.done)
		kmd_unmap(env.fd, env.vm, VA, PAGE);
	return ret;
}

static int with_jobs(struct drm_cnnacc_obj_array array)
{
	struct drm_cnnacc_submit s = { .ctx_id = env.ctx, .jobs = array };

	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_SUBMIT, &s);
}

static int with_parts(struct drm_cnnacc_obj_array tasks, struct drm_cnnacc_obj_array syncs,
		      struct drm_cnnacc_obj_array bos)
{
	struct drm_cnnacc_job job = {
		.core = env.core, .tasks = tasks, .syncs = syncs, .bos = bos,
	};

	return kmd_submit_jobs(env.fd, env.ctx, &job, 1);
}

static const struct drm_cnnacc_obj_array none;

static struct drm_cnnacc_obj_array one_task(void)
{
	return (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &el.task.is);
}

static int with_tasks(struct drm_cnnacc_obj_array array)
{
	return with_parts(array, none, none);
}

static int with_syncs(struct drm_cnnacc_obj_array array)
{
	return with_parts(one_task(), array, none);
}

static int with_refs(struct drm_cnnacc_obj_array array)
{
	return with_parts(one_task(), none, array);
}

/* An element of @size bytes, followed by eight bytes that the kernel does not know. */
static void test_array(const char *name, int (*call)(struct drm_cnnacc_obj_array array),
		       void *element, uint32_t size, uint32_t max)
{
	const struct drm_cnnacc_obj_array right = { size, 1, (uintptr_t)element };
	struct drm_cnnacc_obj_array a = right;
	uint64_t *more = (void *)((char *)element + size);

	ok_ret(call(a), 0, "%s: one", name);
	a.stride = size + 8;
	ok_ret(call(a), 0, "%s: larger, the rest zero", name);
	*more = 1ull << 63;
	ok_ret(call(a), -E2BIG, "%s: larger, the rest not zero", name);
	*more = 0;
	a.stride = size - 1;
	ok_ret(call(a), -EINVAL, "%s: too small", name);
	a.stride = 0;
	ok_ret(call(a), -EINVAL, "%s: of no size", name);
	a.stride = UINT32_MAX;
	ok_ret(call(a), -E2BIG, "%s: absurdly large", name);
	a = right;
	a.count = max + 1;
	ok_ret(call(a), -EINVAL, "%s: one too many", name);
	a.count = UINT32_MAX;
	ok_ret(call(a), -EINVAL, "%s: absurdly many", name);
	a = right;
	a.array = 0;
	ok_ret(call(a), -EFAULT, "%s: at address 0", name);
	a.array = 0xffff800000000000;
	ok_ret(call(a), -EFAULT, "%s: at an address of the kernel", name);
	a.array = UINT64_MAX;
	ok_ret(call(a), -EFAULT, "%s: at the end of all addresses", name);
}

/* The second element is at an unmapped address. */
static void test_array_end(const char *name, int (*call)(struct drm_cnnacc_obj_array array),
			   const void *element, uint32_t size)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED || munmap(page + PAGE, PAGE))
		bail("mmap");
	memcpy(page + PAGE - size, element, size);
	ok_ret(call((struct drm_cnnacc_obj_array){ size, 2, (uintptr_t)page + PAGE - size }),
	       -EFAULT, "%s: the second is not there", name);
	munmap(page, PAGE);
}

static void test_arrays(void)
{
	struct drm_cnnacc_dev_info info;

	kmd_dev_info(env.fd, &info);
	fill_elements();
	el.job.is.tasks = one_task();
	test_array("BO_SYNC ops", with_ranges, &el.range, sizeof(el.range.is), info.max_sync_ops);
	test_array("VM_BIND ops", with_ops, &el.op, sizeof(el.op.is), info.max_bind_ops);
	test_array("SUBMIT jobs", with_jobs, &el.job, sizeof(el.job.is), info.max_jobs);
	test_array("job tasks", with_tasks, &el.task, sizeof(el.task.is), info.max_tasks);
	test_array("job syncs", with_syncs, &el.sync, sizeof(el.sync.is), info.max_syncs);
	test_array("job bos", with_refs, &el.ref, sizeof(el.ref.is), info.max_bos);
	test_array_end("BO_SYNC ops", with_ranges, &el.range, sizeof(el.range.is));
	test_array_end("VM_BIND ops", with_ops, &el.op, sizeof(el.op.is));
	test_array_end("SUBMIT jobs", with_jobs, &el.job, sizeof(el.job.is));
	test_array_end("job tasks", with_tasks, &el.task, sizeof(el.task.is));
	test_array_end("job syncs", with_syncs, &el.sync, sizeof(el.sync.is));
	test_array_end("job bos", with_refs, &el.ref, sizeof(el.ref.is));
	ok_ret(with_ranges(none), 0, "BO_SYNC ops: none");
	ok_ret(with_ops(none), 0, "VM_BIND ops: none");
	ok_ret(with_jobs(none), -EINVAL, "SUBMIT jobs: none");
	ok_ret(with_tasks(none), -EINVAL, "job tasks: none");
	ok_ret(with_syncs(none), 0, "job syncs: none");
	ok_ret(with_refs(none), 0, "job bos: none");
	drmSyncobjDestroy(env.fd, el.sync.is.handle);
}

/* ---- the rest, ioctl by ioctl ------------------------------------------------------------ */

static void test_query(void)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct drm_cnnacc_dev_query q = { .result = { .stride = 128, .count = 1 } };

	if (page == MAP_FAILED || munmap(page + PAGE, PAGE))
		bail("mmap");
	q.result.array = (uintptr_t)page + PAGE - 100;
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_DEV_QUERY, &q), -EFAULT,
	       "DEV_QUERY: the end of the room is not there");
	if (mprotect(page, PAGE, PROT_READ))
		bail("mprotect");
	q.result = (struct drm_cnnacc_obj_array){ .stride = 64, .count = 1, .array = (uintptr_t)page };
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_DEV_QUERY, &q), -EFAULT,
	       "DEV_QUERY: the room cannot be written");
	q = (struct drm_cnnacc_dev_query){ .type = UINT32_MAX };
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_DEV_QUERY, &q), -EINVAL,
	       "DEV_QUERY: the last type");
	munmap(page, PAGE);
}

static void test_ctx_query(void)
{
	struct drm_cnnacc_ctx_query q = { .ctx_id = env.ctx, .pad = { 1, 0 } };

	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_CTX_QUERY, &q), -EINVAL, "CTX_QUERY: pad set");
	q.pad[0] = 0;
	q.pad[1] = 1;
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_CTX_QUERY, &q), -EINVAL,
	       "CTX_QUERY: the other pad set");
}

static void test_sync_ranges(void)
{
	struct drm_cnnacc_bo_sync_op ops[2] = {
		{ env.data.handle, DRM_CNNACC_BO_SYNC_FOR_CPU, 0, env.data.size },
		{ env.data.handle, DRM_CNNACC_BO_SYNC_FOR_CPU, 0, env.data.size + 1 },
	};
	struct drm_cnnacc_bo_sync s = { .ops = DRM_CNNACC_OBJ_ARRAY(2, ops) };

	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_SYNC, &s), -EINVAL,
	       "BO_SYNC: the second range is too long");
	ops[1].size = 0;
	ops[1].offset = env.data.size;
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_SYNC, &s), 0, "BO_SYNC: nothing at the end");
	ops[1].offset++;
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_SYNC, &s), -EINVAL,
	       "BO_SYNC: nothing past the end");
	ops[1].offset = 1;
	ops[1].size = UINT64_MAX;
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_SYNC, &s), -EINVAL, "BO_SYNC: all there is");
	ops[1] = ops[0];
	ops[1].flags |= 4;
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_SYNC, &s), -EINVAL, "BO_SYNC: unknown flag");
}

static void test_unmap(void)
{
	static const struct {
		const char *name;
		struct drm_cnnacc_bind_op op;
	} cases[] = {
		{ "pad set", { .va = KMD_DATA_VA, .size = 65536, .pad = 1 } },
		{ "VA not of a page", { .va = KMD_DATA_VA + 64, .size = 65536 } },
		{ "size not of a page", { .va = KMD_DATA_VA, .size = 65535 } },
		{ "VA beyond 4 GiB", { .va = 1ull << 32, .size = 65536 } },
		{ "range beyond 4 GiB", { .va = 0xffff8000, .size = 65536 } },
		{ "range that wraps", { .va = 0xfffffffffffff000, .size = 65536 } },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		struct drm_cnnacc_bind_op op = cases[i].op;
		struct drm_cnnacc_vm_bind b = {
			.vm_id = env.vm, .ops = DRM_CNNACC_OBJ_ARRAY(1, &op),
		};

		op.op = DRM_CNNACC_BIND_UNMAP;
		ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_VM_BIND, &b), -EINVAL, "UNMAP: %s",
		       cases[i].name);
	}
}

/* Maps single pages until the address space has reached its limit of mappings. */
static void test_mapping_limit(void)
{
	static struct drm_cnnacc_bind_op ops[1024];
	struct drm_cnnacc_vm_bind bind = { .vm_id = kmd_vm(env.fd) };
	uint32_t handle = kmd_bo(env.fd, DRM_CNNACC_BO_DATA, PAGE).handle, done = 0, i;
	int ret = 0;

	bind.ops = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(ops), ops);
	while (!ret && done < 1u << 20) {
		for (i = 0; i < ARRAY_LEN(ops); i++)
			ops[i] = (struct drm_cnnacc_bind_op){
				.flags = RW, .handle = handle, .size = PAGE,
				.va = (uint64_t)(done + i) * PAGE,
			};
		ret = kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_VM_BIND, &bind);
		done += bind.done;
	}
	ok_ret(ret, -ENOSPC, "VM_BIND: mappings are limited per address space (%u)", done);
	kmd_vm_destroy(env.fd, bind.vm_id);
	drmCloseBufferHandle(env.fd, handle);
}

static void test_buffer_limit(void)
{
	struct drm_cnnacc_bo_create create;
	struct drm_cnnacc_dev_info info;
	int fd = kmd_open(), ret = 0;
	uint32_t count = 0;

	kmd_dev_info(fd, &info);
	while (!ret && count <= info.max_buffers) {
		create = (struct drm_cnnacc_bo_create){ .size = PAGE };
		ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
		count += !ret;
	}
	ok_ret(ret, -ENOSPC, "BO_CREATE: one buffer too many");
	ok(count == info.max_buffers, "BO_CREATE: not one too few");
	drmCloseBufferHandle(fd, 1);
	create = (struct drm_cnnacc_bo_create){ .size = PAGE };
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create), 0,
	       "BO_CREATE: the place of a closed one");
	close(fd);
}

/* Submits jobs that take minutes; returns a syncobj of @fd that the last one signals. */
static uint32_t block(struct kmd_env *blocker, int fd)
{
	uint32_t last = kmd_syncobj(blocker->fd), length = kmd_program_endless(blocker), handle;
	int i, file;

	for (i = 0; i < 60; i++)
		if (kmd_submit(blocker, length, 0, i == 59 ? last : 0))
			bail("SUBMIT");
	if (drmSyncobjHandleToFD(blocker->fd, last, &file) ||
	    drmSyncobjFDToHandle(fd, file, &handle))
		bail("drmSyncobjHandleToFD");
	close(file);
	return handle;
}

static int submit_nonblock(const struct kmd_env *full, const struct drm_cnnacc_job *jobs,
			   uint32_t count)
{
	struct drm_cnnacc_submit submit = {
		.ctx_id = full->ctx, .flags = DRM_CNNACC_SUBMIT_NONBLOCK,
		.jobs = DRM_CNNACC_OBJ_ARRAY(count, jobs),
	};

	/* drmIoctl() repeats after EAGAIN. */
	return ioctl(full->fd, DRM_IOCTL_CNNACC_SUBMIT, &submit) ? -errno : 0;
}

static void test_queue_limit(void)
{
	static struct drm_cnnacc_job jobs[64];
	struct kmd_env full = kmd_env(kmd_open()), blocker = kmd_env(kmd_open());
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_WAIT };
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_dev_info info;
	uint32_t count = 0, i;
	int ret = 0;

	kmd_dev_info(full.fd, &info);
	sync.handle = block(&blocker, full.fd);
	task.cycle_limit = 1000;
	for (i = 0; i < ARRAY_LEN(jobs); i++)
		jobs[i] = (struct drm_cnnacc_job){
			.core = full.core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
			.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
		};
	ok_ret(kmd_submit_jobs(full.fd, full.ctx, jobs, 1), 0, "SUBMIT: a job that has to wait");
	for (count = 1; !ret && count <= info.max_queued_jobs; count += ret ? 0 : ARRAY_LEN(jobs))
		ret = submit_nonblock(&full, jobs, ARRAY_LEN(jobs));
	ok_ret(ret, -EAGAIN, "SUBMIT: more jobs than may be queued");
	ok(count == info.max_queued_jobs - ARRAY_LEN(jobs) + 1, "SUBMIT: as many as may be");
	ok_ret(submit_nonblock(&full, jobs, ARRAY_LEN(jobs) - 1), 0,
	       "SUBMIT: those for which there is room");
	ok_ret(submit_nonblock(&full, jobs, 1), -EAGAIN, "SUBMIT: not one more");
	ok_ret(kmd_submit(&env, kmd_program_nop(&env), 0, 0), 0,
	       "SUBMIT: another file has its own room");
	kmd_env_free(&blocker);
	kmd_env_free(&full);
	close(blocker.fd);
	close(full.fd);
}

static int submit_ref(uint32_t ctx, uint32_t handle)
{
	struct drm_cnnacc_bo_ref ref = { .handle = handle, .flags = DRM_CNNACC_BO_REF_READ };
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_job job = {
		.core = env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.bos = DRM_CNNACC_OBJ_ARRAY(1, &ref),
	};

	return kmd_submit_jobs(env.fd, ctx, &job, 1);
}

static void test_submit_objects(void)
{
	struct drm_cnnacc_bo_create create = {
		.size = PAGE, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = kmd_vm(env.fd),
	};
	struct drm_cnnacc_sync sync = {
		.flags = DRM_CNNACC_SYNC_SIGNAL, .handle = kmd_syncobj(env.fd),
	};
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_job job = {
		.core = env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};

	if (kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create))
		bail("BO_CREATE");
	ok_ret(submit_ref(env.ctx, create.handle), -EINVAL,
	       "SUBMIT: private buffer of another address space");
	ok_ret(submit_ref(kmd_ctx_in(env.fd, create.vm_id), create.handle), 0,
	       "SUBMIT: private buffer of its own");
	ok_ret(kmd_submit_jobs(other, kmd_ctx(other), &job, 1), -ENOENT,
	       "SUBMIT: syncobj of another file");
	drmSyncobjDestroy(env.fd, sync.handle);
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, &job, 1), -ENOENT, "SUBMIT: destroyed syncobj");
	drmCloseBufferHandle(env.fd, create.handle);
	kmd_vm_destroy(env.fd, create.vm_id);
}

/* The kernel only reads jobs. */
static void test_read_only(void)
{
	struct drm_cnnacc_task task = kmd_task(kmd_program_nop(&env));
	struct drm_cnnacc_job *job = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (job == MAP_FAILED)
		bail("mmap");
	*job = (struct drm_cnnacc_job){
		.core = env.core, .tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
	};
	if (mprotect(job, PAGE, PROT_READ))
		bail("mprotect");
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, job, 1), 0,
	       "SUBMIT: jobs that cannot be written");
	munmap(job, PAGE);
}

static void test_eventfd_kinds(void)
{
	struct drm_cnnacc_eventfd e = { .ctx_id = env.ctx, .fd = eventfd(0, EFD_CLOEXEC) };

	close(e.fd);
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_EVENTFD, &e), -EBADF, "EVENTFD: closed fd");
	e.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_EVENTFD, &e), -EINVAL, "EVENTFD: another kind");
	close(e.fd);
}

static int map_error(int fd, uint64_t offset, int flags)
{
	void *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, offset);

	if (map == MAP_FAILED)
		return -errno;
	munmap(map, PAGE);
	return 0;
}

static void test_mmap(void)
{
	struct kmd_bo bo = kmd_bo(env.fd, DRM_CNNACC_BO_DATA, PAGE);
	struct drm_cnnacc_bo_info info = { .handle = bo.handle };

	if (kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_INFO, &info))
		bail("BO_INFO");
	ok_ret(map_error(env.fd, info.mmap_offset, MAP_SHARED), 0, "mmap: as it is meant");
	ok_ret(map_error(env.fd, info.mmap_offset, MAP_PRIVATE), -EINVAL, "mmap: private");
	ok_ret(map_error(env.fd, 0, MAP_SHARED), -EINVAL, "mmap: offset 0");
	ok_ret(map_error(env.fd, info.mmap_offset + (1ull << 30), MAP_SHARED), -EINVAL,
	       "mmap: offset of nothing");
	kmd_bo_free(env.fd, &bo);
	ok_ret(map_error(env.fd, info.mmap_offset, MAP_SHARED), -EINVAL,
	       "mmap: offset of a closed buffer");
}

static void test_prime(void)
{
	struct drm_prime_handle p = { .handle = env.data.handle, .flags = 1u << 30 };

	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p), -EINVAL,
	       "PRIME: unknown flag");
	p = (struct drm_prime_handle){ .fd = -1 };
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p), -EBADF, "PRIME: no file");
	p.fd = env.fd;
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p), -EINVAL,
	       "PRIME: not a dma-buf");
}

/* ---- what the kernel's log says of them --------------------------------------------------- */

#define DEBUG_PARAM "/sys/module/drm/parameters/debug"

static void test_log(void)
{
	struct drm_cnnacc_bo_create create = { .size = 0 };
	struct drm_cnnacc_job job = { .tasks = { .count = 65, .stride = 8 } };
	unsigned int before = kmd_log_count("kmd_args: refused");
	char text[128];

	kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	ok(kmd_log_count("kmd_args: refused") == before, "log: nothing is said unless it is asked for");
	if (kmd_write_file(DEBUG_PARAM, "2"))
		bail(DEBUG_PARAM);
	kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	ok(kmd_log_count("kmd_args: refused: !args->size || args->size > CNNACC_MAX_BO_SIZE"),
	   "log: a field of an ioctl, and its limit");
	kmd_map(env.fd, env.vm, env.data.handle, RW, VA + 1, PAGE);
	ok(kmd_log_count("kmd_args: refused: (va | size) % CNNACC_PAGE_SIZE"),
	   "log: a field of an operation");
	kmd_submit_jobs(env.fd, env.ctx, &job, 1);
	snprintf(text, sizeof(text), "kmd_args: refused: array of 65, stride 8: 64 at most, "
		 "stride %zu at least", sizeof(struct drm_cnnacc_task));
	ok(kmd_log_count(text), "log: an array");
	ok(kmd_log_count("kmd_args: refused") == before + 3, "log: no more than that");
	kmd_write_file(DEBUG_PARAM, "0");
}

int main(void)
{
	struct kmd_bo closed;

	env = kmd_env(kmd_open());
	kmd_program_nop(&env);
	other = kmd_open();
	dead_ctx = kmd_ctx(env.fd);
	kmd_ctx_destroy(env.fd, dead_ctx);
	dead_vm = kmd_vm(env.fd);
	kmd_vm_destroy(env.fd, dead_vm);
	closed = kmd_bo(env.fd, DRM_CNNACC_BO_DATA, PAGE);
	closed_bo = closed.handle;
	kmd_bo_free(env.fd, &closed);
	test_vms();
	test_contexts();
	test_handles();
	test_arrays();
	test_query();
	test_ctx_query();
	test_sync_ranges();
	test_unmap();
	test_mapping_limit();
	test_buffer_limit();
	test_queue_limit();
	test_submit_objects();
	test_read_only();
	test_eventfd_kinds();
	test_mmap();
	test_prime();
	test_log();
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "the device runs a job afterwards");
	kmd_env_free(&env);
	return done_testing();
}
