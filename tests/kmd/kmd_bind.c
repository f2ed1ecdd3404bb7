// SPDX-License-Identifier: MIT
/* VM_BIND: wrong arguments, order of operations, exact ranges, and the device's view of memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define VA 0x40000000ull
#define MANY_OPS 1024

static uint32_t vm, data, weight, program;

static struct drm_cnnacc_bind_op map_op(void)
{
	return (struct drm_cnnacc_bind_op){
		.op = DRM_CNNACC_BIND_MAP, .flags = RW, .handle = data, .va = VA, .size = 8192,
	};
}

static int bind_ops(int fd, struct drm_cnnacc_bind_op *ops, uint32_t count, uint32_t *done)
{
	struct drm_cnnacc_vm_bind args = {
		.vm_id = vm, .ops = DRM_CNNACC_OBJ_ARRAY(count, ops),
	};
	int ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_BIND, &args);

	if (done)
		*done = args.done;
	return ret;
}

static int bind(int fd, struct drm_cnnacc_bind_op op)
{
	return bind_ops(fd, &op, 1, NULL);
}

static void test_map_arguments(int fd)
{
	static const struct {
		const char *name;
		size_t offset;
		uint64_t value;
		int wanted;
	} cases[] = {
#define CASE(name, field, value, wanted) \
		{ name, offsetof(struct drm_cnnacc_bind_op, field), value, wanted }
		CASE("unknown operation", op, 2, -EINVAL),
		CASE("no permission", flags, 0, -EINVAL),
		CASE("unknown flag", flags, 8 | RW, -EINVAL),
		CASE("executable data", flags, DRM_CNNACC_BIND_EXEC, -EINVAL),
		CASE("pad set", pad, 1, -EINVAL),
		CASE("unknown handle", handle, 4711, -ENOENT),
		CASE("VA not of a page", va, VA + 1, -EINVAL),
		CASE("VA beyond 4 GiB", va, 1ull << 32, -EINVAL),
		CASE("range beyond 4 GiB", va, 0xfffff000, -EINVAL),
		CASE("VA that wraps", va, 0xfffffffffffff000, -EINVAL),
		CASE("offset not of a page", bo_offset, 64, -EINVAL),
		CASE("range past the buffer", bo_offset, 4096, -EINVAL),
		CASE("offset past the buffer", bo_offset, 1 << 20, -EINVAL),
		CASE("offset that wraps", bo_offset, 0xfffffffffffff000, -EINVAL),
		CASE("size 0", size, 0, -EINVAL),
		CASE("size not of a page", size, 4095, -EINVAL),
		CASE("size that wraps", size, 0xfffffffffffff000, -EINVAL),
#undef CASE
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		struct drm_cnnacc_bind_op op = map_op();
		bool wide = cases[i].offset >= offsetof(struct drm_cnnacc_bind_op, va);

		memcpy((char *)&op + cases[i].offset, &cases[i].value, wide ? 8 : 4);
		ok_ret(bind(fd, op), cases[i].wanted, "map: %s", cases[i].name);
	}
}

static void test_unmap_arguments(int fd)
{
	struct drm_cnnacc_bind_op op = map_op();

	ok_ret(bind(fd, op), 0, "map");
	ok_ret(bind(fd, op), -EEXIST, "map twice");
	op.va -= 4096;
	ok_ret(bind(fd, op), -EEXIST, "map over the start of another");
	op.va += 8192;
	ok_ret(bind(fd, op), -EEXIST, "map over the end of another");
	op = (struct drm_cnnacc_bind_op){ .op = DRM_CNNACC_BIND_UNMAP, .va = VA, .size = 4096 };
	ok_ret(bind(fd, op), -ENOENT, "unmap half a mapping");
	op.va += 4096;
	ok_ret(bind(fd, op), -ENOENT, "unmap the other half");
	op.va = VA;
	op.size = 16384;
	ok_ret(bind(fd, op), -ENOENT, "unmap more than a mapping");
	op.size = 8192;
	op.flags = RW;
	ok_ret(bind(fd, op), -EINVAL, "unmap with flags");
	op.flags = 0;
	op.handle = data;
	ok_ret(bind(fd, op), -EINVAL, "unmap with a handle");
	op.handle = 0;
	op.bo_offset = 4096;
	ok_ret(bind(fd, op), -EINVAL, "unmap with an offset");
	op.bo_offset = 0;
	op.size = 0;
	ok_ret(bind(fd, op), -EINVAL, "unmap of size 0");
	op.size = 8192;
	ok_ret(bind(fd, op), 0, "unmap");
	ok_ret(bind(fd, op), -ENOENT, "unmap twice");
}

static void test_uses(int fd)
{
	static const uint32_t flags[] = {
		DRM_CNNACC_BIND_READ, DRM_CNNACC_BIND_WRITE, DRM_CNNACC_BIND_EXEC,
	};
	const uint32_t handles[] = { data, weight, program };
	static const char *const names[] = { "data", "weights", "a program" };
	static const bool allowed[3][3] = { { 1, 1, 0 }, { 1, 0, 0 }, { 0, 0, 1 } };
	static const char *const verbs[] = { "read", "written", "executed" };
	size_t use, i;

	for (use = 0; use < 3; use++)
		for (i = 0; i < 3; i++) {
			int wanted = allowed[use][i] ? 0 : -EINVAL;

			ok_ret(kmd_map(fd, vm, handles[use], flags[i], VA, 4096), wanted,
			       "%s may%s be %s", names[use], wanted ? " not" : "", verbs[i]);
			if (!wanted)
				kmd_unmap(fd, vm, VA, 4096);
		}
}

static void test_arrays(int fd)
{
	struct drm_cnnacc_bind_op ops[3] = { map_op(), map_op(), map_op() };
	struct drm_cnnacc_vm_bind args = { .vm_id = vm };
	uint32_t done;

	ops[1].va += 8192;
	ok_ret(bind_ops(fd, ops, 3, &done), -EEXIST, "the third operation fails");
	ok(done == 2, "two are done");
	ops[0].op = ops[1].op = DRM_CNNACC_BIND_UNMAP;
	ops[0].flags = ops[1].flags = ops[0].handle = ops[1].handle = 0;
	ok_ret(bind_ops(fd, ops, 3, &done), 0, "unmap both and map again in one go");
	ok(done == 3, "three are done");
	kmd_unmap(fd, vm, VA, 8192);

	args.flags = 1;
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_BIND, &args), -EINVAL, "unknown flag");
	args.flags = 0;
	args.pad = 1;
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_BIND, &args), -EINVAL, "pad set");
	args = (struct drm_cnnacc_vm_bind){ .vm_id = 4711 };
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_BIND, &args), -ENOENT, "unknown address space");
}

static void test_private(int fd)
{
	struct drm_cnnacc_bo_create create = {
		.size = 4096, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = vm,
	};
	uint32_t other = kmd_vm(fd);

	kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	ok_ret(kmd_map(fd, other, create.handle, RW, VA, 4096), -EINVAL,
	       "a private buffer in another address space");
	ok_ret(kmd_map(fd, vm, create.handle, RW, VA, 4096), 0, "and in its own");
	drmCloseBufferHandle(fd, create.handle);
	ok_ret(kmd_unmap(fd, vm, VA, 4096), 0, "a mapping outlives its handle");
	kmd_vm_destroy(fd, other);
}

/* The device accesses the first and the last page, and other data after a remap. */
static void test_device_view(int fd)
{
	struct kmd_env env = kmd_env(fd);
	struct kmd_bo edge = kmd_bo(fd, DRM_CNNACC_BO_DATA, 3 * 4096);
	uint32_t *words = edge.map, *out = env.data.map, i;

	for (i = 0; i < 3; i++)
		words[i * 1024] = 100 + i;
	ok_ret(kmd_map(fd, env.vm, edge.handle, RW, 0, 4096), 0, "map at VA 0");
	ok_ret(kmd_map(fd, env.vm, edge.handle, RW, 0xffffd000, 3 * 4096), 0, "map at the end");
	ok_ret(kmd_run(&env, kmd_program_copy(&env, 0, KMD_DATA_VA, 1)), 0, "VA 0 is read");
	ok(out[0] == 100, "as an ordinary address");
	ok_ret(kmd_run(&env, kmd_program_copy(&env, 0xfffff000, KMD_DATA_VA, 64)), 0,
	       "the last page is read");
	ok(out[0] == 102, "whole");

	ok_ret(kmd_unmap(fd, env.vm, 0, 4096), 0, "unmap VA 0");
	struct drm_cnnacc_bind_op op = {
		.op = DRM_CNNACC_BIND_MAP, .flags = RW, .handle = edge.handle,
		.bo_offset = 4096, .size = 4096,
	};
	struct drm_cnnacc_vm_bind args = {
		.vm_id = env.vm, .ops = DRM_CNNACC_OBJ_ARRAY(1, &op),
	};
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_BIND, &args), 0, "map another page there");
	ok_ret(kmd_run(&env, kmd_program_copy(&env, 0, KMD_DATA_VA, 1)), 0, "VA 0 is read again");
	ok(out[0] == 101, "and shows the other page");
	kmd_bo_free(fd, &edge);
	kmd_env_free(&env);
}

/* An UNMAP waits for the jobs that may use the mapping. */
static void test_unmap_waits(int fd)
{
	struct kmd_env env = kmd_env(fd);
	uint32_t out = kmd_syncobj(fd);

	ok_ret(kmd_submit(&env, kmd_program_delay(&env, 20000000), 0, out), 0, "a long job");
	ok_ret(kmd_fence_status(fd, out), -EBUSY, "runs");
	ok_ret(kmd_unmap(fd, env.vm, KMD_DATA_VA, env.data.size), 0, "unmap");
	ok_ret(kmd_fence_status(fd, out), 0, "after the job");
	drmSyncobjDestroy(fd, out);
	kmd_env_free(&env);
}

/* Many small mappings across the address space reach the limit of page tables per file. */
static void test_table_limit(void)
{
	int fd = kmd_open(), ret = 0;
	uint32_t handle = kmd_bo(fd, DRM_CNNACC_BO_DATA, 4096).handle, i, n = 0;

	for (i = 0; i < 8 && !ret; i++) {
		uint32_t id = kmd_vm(fd);
		uint64_t va;

		for (va = 0; va < 1ull << 32 && !ret; va += 1 << 22, n++)
			ret = kmd_map(fd, id, handle, RW, va, 4096);
	}
	ok_ret(ret, -ENOSPC, "page tables are limited per file (%u mappings)", n);
	close(fd);
}

/* A process that is killed in a long VM_BIND ends before all operations are executed. */
static void test_killed(int fd)
{
	static struct drm_cnnacc_bind_op ops[MANY_OPS];
	struct kmd_bo bo = kmd_bo(fd, DRM_CNNACC_BO_DATA, 64 << 20);
	double all = kmd_seconds(), took;
	int tries, ret;
	pid_t pid;

	for (size_t i = 0; i < MANY_OPS; i += 2) {
		ops[i] = map_op();
		ops[i].handle = bo.handle;
		ops[i].size = bo.size;
		ops[i + 1] = (struct drm_cnnacc_bind_op){
			.op = DRM_CNNACC_BIND_UNMAP, .flags = DRM_CNNACC_BIND_NOWAIT, .va = VA,
			.size = bo.size,
		};
	}
	ret = bind_ops(fd, ops, MANY_OPS, NULL);
	all = kmd_seconds() - all;
	took = all;
	ok_ret(ret, 0, "%d operations", MANY_OPS);
	for (tries = 0; tries < KMD_TRIES && took > all / 8; tries++) {
		pid = fork();
		if (!pid)
			for (;;)
				if (bind_ops(fd, ops, MANY_OPS, NULL))
					_exit(1);
		took = kmd_kill(pid);
	}
	ok(took >= 0 && took <= all / 8, "end when they are killed");
	note("%.2f s later, instead of within %.2f s", took, all);
	kmd_bo_free(fd, &bo);
}

int main(void)
{
	int fd = kmd_open();

	vm = kmd_vm(fd);
	data = kmd_bo(fd, DRM_CNNACC_BO_DATA, 8192).handle;
	weight = kmd_bo(fd, DRM_CNNACC_BO_WEIGHT, 8192).handle;
	program = kmd_bo(fd, DRM_CNNACC_BO_PROGRAM, 8192).handle;
	test_map_arguments(fd);
	test_unmap_arguments(fd);
	test_uses(fd);
	test_arrays(fd);
	test_private(fd);
	test_device_view(fd);
	test_unmap_waits(fd);
	test_killed(fd);
	test_table_limit();
	return done_testing();
}
