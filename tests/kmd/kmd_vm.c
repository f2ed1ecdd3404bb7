// SPDX-License-Identifier: MIT
/* Address spaces: ids, contexts that share one, order of destruction, what the device clears. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define VA 0x40000000u

static int create(int fd, uint32_t flags)
{
	struct drm_cnnacc_vm_create args = { .flags = flags };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_CREATE, &args);
}

static void test_arguments(int fd)
{
	struct drm_cnnacc_vm_destroy destroy = { .vm_id = 1, .pad = 1 };
	uint32_t vm = kmd_vm(fd);

	ok(vm, "an id is not 0");
	ok_ret(create(fd, 1), -EINVAL, "unknown flag");
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_DESTROY, &destroy), -EINVAL, "pad set");
	ok_ret(kmd_vm_destroy(fd, 0), -ENOENT, "destroy of id 0");
	ok_ret(kmd_vm_destroy(fd, vm), 0, "destroy");
	ok_ret(kmd_vm_destroy(fd, vm), -ENOENT, "destroy twice");
}

static void test_limit(void)
{
	struct drm_cnnacc_dev_info info;
	uint32_t i, vm = 0;
	int fd = kmd_open();

	kmd_dev_info(fd, &info);
	for (i = 0; i < info.max_vms; i++)
		vm = kmd_vm(fd);
	ok_ret(create(fd, 0), -ENOSPC, "one more than max_vms (%u)", info.max_vms);
	ok_ret(kmd_vm_destroy(fd, vm), 0, "destroy one");
	ok_ret(create(fd, 0), 0, "its place is free again");
	close(fd);
}

/* Runs the program of an environment in another context: the fence's error. */
static int run_in(struct kmd_env *env, uint32_t ctx, uint32_t length)
{
	struct kmd_env other = *env;

	other.ctx = ctx;
	return kmd_run(&other, length);
}

static void test_shared(int fd)
{
	struct kmd_env env = kmd_env(fd);
	uint32_t second = kmd_ctx_in(fd, env.vm), *words = env.data.map;

	memset(words, 0, env.data.size);
	words[0] = 1234;
	ok_ret(run_in(&env, second, kmd_program_copy(&env, KMD_DATA_VA, KMD_DATA_VA + 4096, 1)), 0,
	       "a job of a second context runs");
	ok(words[1024] == 1234, "in the mappings of the first");
	ok_ret(run_in(&env, kmd_ctx(fd), 4), -EFAULT, "one in another address space faults");
	ok(!kmd_ctx_query(fd, second).failed_jobs && !kmd_ctx_query(fd, env.ctx).failed_jobs,
	   "and those two have no failure");
	kmd_ctx_destroy(fd, second);
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "the first runs without the second");
	kmd_env_free(&env);
}

/* A failure of one context is not one of the other. */
static void test_failure(int fd)
{
	struct kmd_env env = kmd_env(fd);
	uint32_t second = kmd_ctx_in(fd, env.vm);

	ok_ret(run_in(&env, second, kmd_program_illegal(&env)), -EINVAL, "a bad program");
	ok(kmd_ctx_query(fd, second).failed_jobs == 1, "counts for its context");
	ok(!kmd_ctx_query(fd, env.ctx).failed_jobs, "and not for another of the address space");
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "which runs on");
	kmd_env_free(&env);
	kmd_ctx_destroy(fd, second);
}

/* An UNMAP waits for the jobs of all contexts. */
static void test_unmap(int fd)
{
	struct kmd_env env = kmd_env(fd), other = env;
	uint32_t out = kmd_syncobj(fd);

	other.ctx = kmd_ctx_in(fd, env.vm);
	ok_ret(kmd_submit(&other, kmd_program_delay(&env, 20000000), 0, out), 0,
	       "a long job of another context");
	ok_ret(kmd_fence_status(fd, out), -EBUSY, "runs");
	ok_ret(kmd_unmap(fd, env.vm, KMD_DATA_VA, env.data.size), 0, "unmap");
	ok_ret(kmd_fence_status(fd, out), 0, "after the job");
	drmSyncobjDestroy(fd, out);
	kmd_ctx_destroy(fd, other.ctx);
	kmd_env_free(&env);
}

/* With NOWAIT it does not, and a job that uses the range faults. */
static void test_unmap_now(int fd)
{
	struct drm_cnnacc_bind_op op = {
		.op = DRM_CNNACC_BIND_UNMAP, .flags = DRM_CNNACC_BIND_NOWAIT, .va = KMD_DATA_VA,
	};
	struct kmd_env env = kmd_env(fd);
	struct drm_cnnacc_vm_bind b = { .vm_id = env.vm, .ops = DRM_CNNACC_OBJ_ARRAY(1, &op) };
	uint32_t out = kmd_syncobj(fd);

	op.size = env.data.size;
	ok_ret(kmd_submit(&env, kmd_program_delay(&env, 20000000), 0, out), 0, "a long job");
	ok_ret(kmd_fence_status(fd, out), -EBUSY, "runs");
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_BIND, &b), 0, "unmap without a wait");
	ok_ret(kmd_fence_status(fd, out), -EBUSY, "before the job ends");
	ok_ret(kmd_wait(fd, out), 0, "which uses none of it");
	ok_ret(kmd_run(&env, kmd_program_copy(&env, KMD_DATA_VA, KMD_DATA_VA + 4096, 1)), -EFAULT,
	       "a job that does faults");
	drmSyncobjDestroy(fd, out);
	kmd_env_free(&env);
}

/* Destroys the address space, its context and its buffers in each order, while a job runs. */
static void test_order(int fd)
{
	static const char orders[][5] = { "vcb", "vbc", "cvb", "cbv", "bvc", "bcv" };

	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct kmd_env env = kmd_env(fd);
		uint32_t out = kmd_syncobj(fd);
		int odd = kmd_submit(&env, kmd_program_delay(&env, 5000000), 0, out);

		for (const char *o = orders[i]; *o; o++) {
			if (*o == 'v') {
				odd |= kmd_vm_destroy(fd, env.vm);
			} else if (*o == 'c') {
				kmd_runs(&env, out);
				odd |= kmd_ctx_destroy(fd, env.ctx);
			} else {
				kmd_bo_free(fd, &env.program);
				kmd_bo_free(fd, &env.data);
			}
		}
		ok_ret(odd, 0, "order %s: all is destroyed", orders[i]);
		ok_ret(kmd_wait(fd, out), 0, "order %s: the job runs to its end", orders[i]);
		drmSyncobjDestroy(fd, out);
	}
}

static void test_destroyed(int fd)
{
	struct kmd_env env = kmd_env(fd);
	struct drm_cnnacc_ctx_create args = { .vm_id = env.vm };

	ok_ret(kmd_vm_destroy(fd, env.vm), 0, "destroy an address space with a context");
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "whose jobs still run");
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_CREATE, &args), -ENOENT,
	       "it takes no more contexts");
	ok_ret(kmd_unmap(fd, env.vm, KMD_DATA_VA, env.data.size), -ENOENT, "and cannot be changed");
	kmd_env_free(&env);
}

static void test_other_file(int fd)
{
	struct kmd_env env = kmd_env(fd);
	struct drm_cnnacc_ctx_create args = { .vm_id = env.vm };
	int other = kmd_open();
	struct kmd_bo bo = kmd_bo(other, DRM_CNNACC_BO_DATA, 4096);

	ok_ret(kmd_ioctl(other, DRM_IOCTL_CNNACC_CTX_CREATE, &args), -ENOENT,
	       "a context in the address space of another file");
	ok_ret(kmd_map(other, env.vm, bo.handle, RW, VA, 4096), -ENOENT, "a mapping there");
	ok_ret(kmd_vm_destroy(other, env.vm), -ENOENT, "its end");
	kmd_bo_free(other, &bo);
	close(other);
	kmd_env_free(&env);
}

static void test_private(int fd)
{
	struct drm_cnnacc_bo_create bo = {
		.size = 4096, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = kmd_vm(fd),
	};
	struct kmd_env env = kmd_env(fd);
	uint32_t other = env.vm;

	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &bo), 0, "a private buffer");
	ok_ret(kmd_map(fd, other, bo.handle, RW, VA, 4096), -EINVAL, "of another address space");
	ok_ret(kmd_map(fd, bo.vm_id, bo.handle, RW, VA, 4096), 0, "of its own");
	ok_ret(kmd_vm_destroy(fd, bo.vm_id), 0, "its address space goes");
	ok_ret(kmd_map(fd, other, bo.handle, RW, VA, 4096), -EINVAL, "it is still not another's");
	drmCloseBufferHandle(fd, bo.handle);
	kmd_env_free(&env);
}

/* A VM without mappings costs no page for its tables, but its jobs need one. */
static void test_empty(int fd)
{
	struct kmd_env env = kmd_env(fd);

	ok_ret(run_in(&env, kmd_ctx(fd), 4), -EFAULT, "a job without any mapping faults");
	kmd_env_free(&env);
}

#define STATS_VA (KMD_DATA_VA + 8192)

/* Runs a nop with statistics: the cycles that the core took to clear what another had left. */
static uint64_t scrub_of(struct kmd_env *env)
{
	struct drm_cnnacc_sync sync = {
		.flags = DRM_CNNACC_SYNC_SIGNAL, .handle = kmd_syncobj(env->fd),
	};
	struct drm_cnnacc_task task = kmd_task(kmd_program_nop(env));
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};
	struct cnnacc_stats *stats = (void *)((char *)env->data.map + 8192);

	task.flags = DRM_CNNACC_TASK_STATS;
	task.stats_va = STATS_VA;
	memset(stats, 0xff, sizeof(*stats));
	if (kmd_submit_jobs(env->fd, env->ctx, &job, 1) || kmd_wait(env->fd, sync.handle))
		bail("a nop with statistics");
	drmSyncobjDestroy(env->fd, sync.handle);
	return le64toh(stats->scrub_cycles);
}

static void test_scrub(int fd)
{
	struct kmd_env a = kmd_env(fd), second = a, b = kmd_env(fd);
	uint64_t same, other;

	/* A reset by the power management would clear the core, too. */
	kmd_stay_awake(true);
	second.ctx = kmd_ctx_in(fd, a.vm);
	scrub_of(&a);
	same = scrub_of(&second) + scrub_of(&a);
	other = scrub_of(&b);
	ok(!same, "the device clears nothing between contexts of one address space");
	ok(other > 0 && scrub_of(&a) > 0, "it does between address spaces (%llu cycles)",
	   (unsigned long long)other);
	kmd_stay_awake(false);
	kmd_ctx_destroy(fd, second.ctx);
	kmd_env_free(&a);
	kmd_env_free(&b);
}

int main(void)
{
	struct kmd_left before;
	int fd = kmd_open();

	before = kmd_left();
	test_arguments(fd);
	test_limit();
	test_shared(fd);
	test_failure(fd);
	test_unmap(fd);
	test_unmap_now(fd);
	test_order(fd);
	test_destroyed(fd);
	test_other_file(fd);
	test_private(fd);
	test_empty(fd);
	test_scrub(fd);
	close(fd);
	kmd_check_left(before);
	return done_testing();
}
