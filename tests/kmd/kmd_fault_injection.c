// SPDX-License-Identifier: MIT
/*
 * kmd_fault_injection JOBS: submits jobs from two processes to a device that injects faults.  Each
 * job must end in bounded time, with success or with an error that a fence may have.  A copy job
 * that ended with success must have copied.
 *
 * kmd_fault_injection COUNT orphans: kills COUNT processes, one after another, while such a device
 * has jobs of theirs.  Nothing of them may be left after a bounded time.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define PROCESSES	2
#define BOUND_MS	60000
#define LINES		64
#define ORPHANS		16	/* jobs of each killed process */

static const int errors[] = { 0, -ETIMEDOUT, -EFAULT, -EINVAL, -ECANCELED, -ENODEV };

struct tally {
	unsigned int ends[ARRAY_LEN(errors)];
	unsigned int stuck, odd, wrong;
	double worst;
};

/* Emits the program of a job: a copy, an illegal instruction or an MMU fault. */
static uint32_t program(struct kmd_env *env, int job)
{
	if (job % 8 == 5)
		return kmd_program_illegal(env);
	if (job % 8 == 7)
		return kmd_program_load(env, 0x50000000 / 64, 1);
	return kmd_program_copy(env, KMD_DATA_VA, KMD_DATA_VA + 8192, LINES);
}

static int wait_bounded(int fd, uint32_t out)
{
	int ret = drmSyncobjWait(fd, &out, 1, kmd_deadline(BOUND_MS), 0, NULL);

	return ret ? -ETIME : kmd_fence_status(fd, out);
}

static void count(struct tally *t, int ret)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		if (ret == errors[i]) {
			t->ends[i]++;
			return;
		}
	}
	if (ret == -ETIME)
		t->stuck++;
	else
		t->odd++;
}

static void run_one(struct kmd_env *env, int job, struct tally *t)
{
	uint32_t *words = env->data.map, *copy = words + 2048, out = kmd_syncobj(env->fd), i;
	uint32_t length = program(env, job);
	double start = kmd_seconds();
	int ret;

	for (i = 0; i < LINES * 16; i++) {
		words[i] = (uint32_t)job * 7919 + i;
		copy[i] = 0;
	}
	ret = kmd_submit(env, length, 1000000, out);
	if (!ret)
		ret = wait_bounded(env->fd, out);
	if (kmd_seconds() - start > t->worst)
		t->worst = kmd_seconds() - start;
	count(t, ret);
	if (!ret && job % 8 != 5 && job % 8 != 7)
		t->wrong += memcmp(words, copy, LINES * 64) != 0;
	drmSyncobjDestroy(env->fd, out);
}

static void worker(int number, int jobs, int out)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct tally t = { };

	for (int job = 0; job < jobs && !t.stuck; job++)
		run_one(&env, job + number, &t);
	kmd_env_free(&env);
	drmClose(env.fd);
	_exit(write(out, &t, sizeof(t)) != sizeof(t));
}

/* Queues jobs and waits to be killed.  Those with RESTARTABLE run again after a reset. */
static void own(uint32_t flags, int ready)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct drm_cnnacc_task tasks[] = {
		kmd_task(kmd_program_delay(&env, 1000000)), kmd_task_nop(&env),
	};
	struct drm_cnnacc_job job = {
		.core = env.core, .flags = flags,
		.tasks = DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(tasks), tasks),
	};

	for (int i = 0; i < ORPHANS; i++)
		if (kmd_submit_jobs(env.fd, env.ctx, &job, 1))
			_exit(1);
	if (write(ready, "", 1) == 1)
		pause();
	_exit(1);
}

static int run_orphans(int count)
{
	struct kmd_left before = kmd_left();
	int ready[2], status;
	pid_t pid;
	char c;

	if (pipe(ready))
		bail("pipe");
	for (int i = 0; i < count; i++) {
		pid = fork();
		if (!pid)
			own(i % 2 ? DRM_CNNACC_JOB_RESTARTABLE : 0, ready[1]);
		if (read(ready[0], &c, 1) != 1)
			bail("read");
		usleep((useconds_t)(i * 7919 % 20) * 1000);
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			bail("an owner");
		kmd_check_left(before);
	}
	return done_testing();
}

int main(int argc, char **argv)
{
	int jobs = argc > 1 ? atoi(argv[1]) : 20, pipes[2], i, status, failed = 0;
	struct tally sum = { }, t;
	size_t k;

	if (argc > 2 && !strcmp(argv[2], "orphans"))
		return run_orphans(jobs);
	if (pipe(pipes))
		bail("pipe");
	for (i = 0; i < PROCESSES; i++)
		if (!fork())
			worker(i, (jobs + PROCESSES - 1) / PROCESSES, pipes[1]);
	for (i = 0; i < PROCESSES; i++) {
		if (wait(&status) < 0 || status) {
			failed++;
			continue;
		}
		if (read(pipes[0], &t, sizeof(t)) != sizeof(t))
			bail("read");
		for (k = 0; k < ARRAY_LEN(errors); k++)
			sum.ends[k] += t.ends[k];
		sum.stuck += t.stuck;
		sum.odd += t.odd;
		sum.wrong += t.wrong;
		sum.worst = t.worst > sum.worst ? t.worst : sum.worst;
	}
	note("%u done, %u timed out, %u faulted, %u invalid, %u canceled, %u without a device; "
	     "%.2f s at most", sum.ends[0], sum.ends[1], sum.ends[2], sum.ends[3], sum.ends[4],
	     sum.ends[5], sum.worst);
	ok(!failed, "the processes end");
	ok(!sum.stuck, "every job ends");
	ok(!sum.odd, "every error is one that a fence may have");
	ok(!sum.wrong, "a copy that succeeded was made");
	return done_testing();
}
