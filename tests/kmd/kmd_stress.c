// SPDX-License-Identifier: MIT
/*
 * kmd_stress [SECONDS]: concurrent processes make random calls with valid and invalid arguments and
 * are killed; every copy that succeeds must be correct, and no memory and no thread may be left.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define SCRATCH_VA 0x80000000u
#define PROCESSES 4
#define KILL_US 150000	/* between two kills */
#define ROUNDS 12u
/*
 * That the kernel may take for itself meanwhile: it frees the stacks of processes late, and keeps
 * up to 230 KiB about them with two processors (lazy_max_pages()).
 */
#define SLAB_KIB 512

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

static _Noreturn void worker(uint32_t number)
{
	seed = number * 7919;
	while (true) {
		struct kmd_env env = kmd_env(kmd_open());
		uint32_t steps = 1 + pick(100);

		while (steps--)
			do_something(&env);
		if (pick(2))
			kmd_ctx_destroy(env.fd, env.ctx);
		munmap(env.program.map, env.program.size);
		munmap(env.data.map, env.data.size);
		close(env.fd);
	}
}

static pid_t start(uint32_t number)
{
	pid_t pid = fork();

	if (!pid)
		worker(number);
	if (pid < 0)
		bail("fork");
	return pid;
}

/* Kills a worker, which only ends by itself if something went wrong. */
static bool stop(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		bail("waitpid");
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Workers that ended by themselves. */
static unsigned int failed;

/* Kills and replaces processes in turn for a while, then all; returns how many were killed. */
static unsigned int run_round(uint32_t first, double seconds)
{
	double end = kmd_seconds() + seconds;
	pid_t pid[PROCESSES];
	unsigned int killed = 0, i;

	for (i = 0; i < PROCESSES; i++)
		pid[i] = start(first + i);
	while (kmd_seconds() < end) {
		i = killed++ % PROCESSES;
		usleep(KILL_US);
		failed += !stop(pid[i]);
		pid[i] = start(first + PROCESSES + killed);
	}
	for (i = 0; i < PROCESSES; i++)
		failed += !stop(pid[i]);
	return killed + PROCESSES;
}

/* What a killed process must not leave behind. */
struct usage {
	long slab_kib;
	unsigned int threads;
};

/* The kernel keeps workers that are idle, as many as it likes; "+" is in the names of others. */
static bool is_busy(const char *name)
{
	return strncmp(name, "kworker/", 8) || strchr(name, '+');
}

/* The fewest in a while: some workers are busy now and then. */
static unsigned int count_threads(void)
{
	unsigned int least = kmd_count_threads(is_busy), now;

	for (int i = 0; i < 10; i++) {
		usleep(20000);
		now = kmd_count_threads(is_busy);
		least = now < least ? now : least;
	}
	return least;
}

static struct usage usage(void)
{
	struct usage now = { .threads = count_threads() };
	char line[256];
	FILE *file = fopen("/proc/meminfo", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "SUnreclaim: %ld", &now.slab_kib);
	if (file)
		fclose(file);
	return now;
}

/* The least of several rounds: the kernel's own work comes and goes. */
static struct usage least(const struct usage *rounds, unsigned int count)
{
	struct usage min = rounds[0];

	for (; count--; rounds++) {
		if (rounds->slab_kib < min.slab_kib)
			min.slab_kib = rounds->slab_kib;
		if (rounds->threads < min.threads)
			min.threads = rounds->threads;
	}
	return min;
}

/* Compares the second third of the rounds with the last; the first fills caches. */
static void check_slope(const struct usage *rounds)
{
	struct usage before = least(rounds + ROUNDS / 3, ROUNDS / 3);
	struct usage after = least(rounds + ROUNDS / 3 * 2, ROUNDS / 3);

	for (unsigned int i = 0; i < ROUNDS; i++)
		note("round %u: slab %ld KiB, %u threads", i, rounds[i].slab_kib, rounds[i].threads);
	ok(after.threads <= before.threads, "no thread is left");
	/* What checkers remember of freed objects is slab, too; they find leaks by themselves. */
	if (kmd_has_checkers())
		skip("no slab is left", "the kernel has checkers");
	else
		ok(after.slab_kib <= before.slab_kib + SLAB_KIB, "no slab is left");
}

/* Each core has an interrupt with the driver's and the core's name. */
static void check_interrupts(int fd)
{
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_core_info core;
	char text[16384], name[64], all[64];
	FILE *file = fopen("/proc/interrupts", "r");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	uint32_t i;

	text[length] = 0;
	if (file)
		fclose(file);
	kmd_dev_info(fd, &info);
	/* If all cores share one wire. */
	snprintf(all, sizeof(all), "cnnacc-all@%s", kmd_function());
	for (i = 0; i < info.core_count; i++) {
		kmd_core_info(fd, i, &core);
		snprintf(name, sizeof(name), "cnnacc-%s.%u@%s", core.name, i, kmd_function());
		ok(strstr(text, name) || strstr(text, all), "/proc/interrupts has %s", name);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 20;
	struct kmd_left before = kmd_left();
	struct usage rounds[ROUNDS];
	unsigned int killed = 0, i;
	struct kmd_env env;

	for (i = 0; i < ROUNDS; i++) {
		killed += run_round(i * 100000, seconds / ROUNDS);
		kmd_soon(kmd_left().contexts <= before.contexts);
		rounds[i] = usage();
	}
	note("%u processes killed", killed);
	ok(!failed, "no process had a wrong answer");
	kmd_check_left(before);
	check_slope(rounds);
	env = kmd_env(kmd_open());
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "the device still works");
	check_interrupts(env.fd);
	return done_testing();
}
