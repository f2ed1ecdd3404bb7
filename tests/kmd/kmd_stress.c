// SPDX-License-Identifier: MIT
/*
 * kmd_stress [SECONDS [PROCESSES]]: concurrent processes make random calls with valid and invalid
 * arguments; every copy that succeeds must be correct.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define SCRATCH_VA 0x80000000u

static uint32_t seed;

static uint32_t pick(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Copies random lines; returns false if the result is wrong. */
static bool do_copy(struct kmd_env *env)
{
	uint32_t from = pick(128), to = 148 + pick(80), lines = 1 + pick(20), i;
	uint32_t *words = env->data.map;
	int ret;

	for (i = 0; i < lines * 16; i++)
		words[from * 16 + i] = seed + i;
	ret = kmd_run(env, kmd_program_copy(env, KMD_DATA_VA + from * 64, KMD_DATA_VA + to * 64,
					    lines));
	/* A device reset may end the job of a bystander. */
	if (ret)
		return ret == -ECANCELED;
	return !memcmp(words + from * 16, words + to * 16, lines * 64);
}

static bool do_fail(struct kmd_env *env)
{
	int ret;

	switch (pick(3)) {
	case 0:
		ret = kmd_run(env, kmd_program_illegal(env));
		return ret == -EINVAL || ret == -ECANCELED;
	case 1:
		ret = kmd_run(env, kmd_program_load(env, 0x3000000 + pick(100), 1 + pick(3)));
		return ret == -EFAULT || ret == -ECANCELED;
	default:
		ret = kmd_run_limited(env, kmd_program_endless(env), 1 + pick(100000));
		return ret == -ETIMEDOUT || ret == -ECANCELED;
	}
}

static bool do_bind(struct kmd_env *env)
{
	struct kmd_bo bo = kmd_bo(env->fd, pick(3), 4096 << pick(6));
	uint64_t va = SCRATCH_VA + ((uint64_t)pick(4096) << 12);
	int ret;

	ret = kmd_map(env->fd, env->vm, bo.handle, 1 << pick(3), va, bo.size >> pick(2));
	if (!ret && pick(2))
		kmd_submit(env, kmd_program_load(env, va / 64, 4), 0, 0);
	if (!ret && pick(4))
		ret = kmd_unmap(env->fd, env->vm, va, bo.size);
	kmd_bo_free(env->fd, &bo);
	return ret != -ENODEV;
}

/* Submits jobs linked by syncobjs and does not wait for them. */
static bool do_leave(struct kmd_env *env)
{
	uint32_t length = kmd_program_delay(env, 1000 + pick(100000)), i;
	struct drm_cnnacc_task tasks[8];
	struct drm_cnnacc_sync syncs[2] = { };
	struct drm_cnnacc_job jobs[8];
	uint32_t out = kmd_syncobj(env->fd);

	for (i = 0; i < 8; i++)
		tasks[i] = kmd_task(length);
	syncs[0] = (struct drm_cnnacc_sync){ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	syncs[1] = (struct drm_cnnacc_sync){ .flags = DRM_CNNACC_SYNC_WAIT, .handle = out };
	for (i = 0; i < 8; i++)
		jobs[i] = (struct drm_cnnacc_job){
			.core = env->core,
			.flags = (pick(2) ? DRM_CNNACC_JOB_RESTARTABLE : 0) |
				 (pick(2) ? DRM_CNNACC_JOB_ANY_EQUAL : 0),
			.tasks = DRM_CNNACC_OBJ_ARRAY(1 + pick(8), tasks),
			.syncs = DRM_CNNACC_OBJ_ARRAY(i && pick(2) ? 2 : 1, syncs),
		};
	kmd_submit_jobs(env->fd, env->ctx, jobs, 1 + pick(8));
	drmSyncobjDestroy(env->fd, out);
	return true;
}

static bool do_context(struct kmd_env *env)
{
	uint32_t vm = kmd_vm(env->fd), ctx = kmd_ctx_in(env->fd, vm);

	kmd_map(env->fd, vm, env->data.handle, RW, (uint64_t)pick(1024) << 22, 4096);
	return !kmd_vm_destroy(env->fd, vm) && !kmd_ctx_destroy(env->fd, ctx);
}

static void do_something(struct kmd_env *env)
{
	static const struct {
		const char *name;
		bool (*run)(struct kmd_env *env);
	} steps[] = {
		{ "fail", do_fail }, { "bind", do_bind }, { "bind", do_bind },
		{ "leave", do_leave }, { "context", do_context },
		{ "copy", do_copy }, { "copy", do_copy }, { "copy", do_copy },
	};
	uint32_t step = pick(ARRAY_LEN(steps));

	if (!steps[step].run(env)) {
		note("%s went wrong", steps[step].name);
		_exit(1);
	}
}

static void worker(uint32_t number, double end)
{
	seed = number * 7919;
	while (kmd_seconds() < end) {
		struct kmd_env env = kmd_env(kmd_open());
		uint32_t steps = 1 + pick(100);

		while (steps-- && kmd_seconds() < end)
			do_something(&env);
		if (pick(2))
			kmd_ctx_destroy(env.fd, env.ctx);
		munmap(env.program.map, env.program.size);
		munmap(env.data.map, env.data.size);
		close(env.fd);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	double end = kmd_seconds() + (argc > 1 ? atoi(argv[1]) : 10);
	int processes = argc > 2 ? atoi(argv[2]) : 4, killed = 0, i, status;
	pid_t *pid = calloc(processes, sizeof(*pid));

	for (i = 0; i < processes; i++) {
		pid[i] = fork();
		if (!pid[i])
			worker(i + 1, end);
	}
	/* Repeatedly kills one of the processes. */
	while (kmd_seconds() < end - 1) {
		usleep(700000);
		kill(pid[0], SIGKILL);
		waitpid(pid[0], &status, 0);
		pid[0] = fork();
		if (!pid[0])
			worker(1000 + killed, end);
		killed++;
	}
	for (i = 0; i < processes; i++)
		ok(waitpid(pid[i], &status, 0) == pid[i] && !status, "process %d", i);
	note("%d processes killed", killed);
	free(pid);

	struct kmd_env env = kmd_env(kmd_open());

	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "the device still works");
	return done_testing();
}
