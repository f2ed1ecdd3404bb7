// SPDX-License-Identifier: MIT
/*
 * Waiting: poll() on a fence file, timeouts, and processes killed while they wait.
 *
 * kmd_wait bound: an UNMAP behind jobs that take minutes times out after 30 s.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define KILLED_S 5.0

/* Retries with a job twice as long if the job has ended meanwhile. */
static void test_poll(int fd)
{
	struct kmd_env env = kmd_env(fd);
	uint32_t out = kmd_syncobj(fd), length = kmd_program_long(&env), tasks;
	bool runs = false, unready = false, wakes = false;
	struct pollfd p = { .events = POLLIN };
	int ret = 0, wait = 0;

	for (tasks = 1; tasks <= KMD_TASKS_MAX && !runs && !ret; tasks *= 2) {
		ret = kmd_submit_tasks(&env, length, tasks, 0, out);
		if (drmSyncobjExportSyncFile(fd, out, &p.fd))
			bail("drmSyncobjExportSyncFile");
		unready = poll(&p, 1, 0) == 0;
		wait = drmSyncobjWait(fd, &out, 1, kmd_deadline(1), 0, NULL);
		runs = kmd_fence_status(fd, out) == -EBUSY;
		wakes = poll(&p, 1, 120000) == 1 && p.revents == POLLIN;
		close(p.fd);
	}
	ok_ret(ret, 0, "a long job");
	ok(unready, "its fence file is not readable");
	ok_ret(wait, -ETIME, "a short wait ends");
	ok(wakes, "poll wakes up when the job ends");
	drmSyncobjDestroy(fd, out);
	kmd_env_free(&env);
}

/* A killed process does not affect others. */
static void test_kill(const char *name, void (*child)(void))
{
	double took = KILLED_S;
	pid_t pid;
	int tries;

	for (tries = 0; tries < KMD_TRIES && took >= KILLED_S; tries++) {
		pid = fork();
		if (!pid) {
			child();
			_exit(0);
		}
		took = kmd_kill(pid);
	}
	ok(took >= 0, "%s is killed", name);
	ok(took < KILLED_S, "%s dies at once", name);

	int fd = kmd_open();
	struct kmd_env env = kmd_env(fd);

	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "%s: the next process runs", name);
	kmd_env_free(&env);
	close(fd);
}

/* Submits jobs that run for much longer than their process. */
static struct kmd_env busy_env(int jobs)
{
	struct kmd_env env = kmd_env(kmd_open());
	uint32_t length = kmd_program_endless(&env);

	for (int i = 0; i < jobs; i++)
		kmd_submit(&env, length, 0, 0);
	return env;
}

static void unmap_while_busy(void)
{
	struct kmd_env env = busy_env(20);

	kmd_unmap(env.fd, env.vm, KMD_DATA_VA, env.data.size);
}

static void leave_a_queue(void)
{
	busy_env(20);
	pause();
}

/* Closes many files with unfinished jobs, without waiting for them. */
static void test_close_busy(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		struct kmd_env env = kmd_env(kmd_open());
		uint32_t length = kmd_program_delay(&env, 100000);

		kmd_submit(&env, length, 0, 0);
		kmd_submit(&env, length, 0, 0);
		close(env.fd);
	}
	struct kmd_env env = kmd_env(kmd_open());

	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "files closed with jobs under way");
}

/* The mapping stays, so that the long jobs do not write to reused memory. */
static void test_bound(void)
{
	struct kmd_env env = busy_env(200);
	double start = kmd_seconds(), took;

	ok_ret(kmd_unmap(env.fd, env.vm, KMD_DATA_VA, env.data.size), -ETIMEDOUT,
	       "UNMAP does not wait for ever");
	took = kmd_seconds() - start;
	ok(took > 29 && took < 60, "but for 30 s (%.1f)", took);
	ok_ret(kmd_map(env.fd, env.vm, env.data.handle, DRM_CNNACC_BIND_READ, KMD_DATA_VA,
		       env.data.size), -EEXIST, "and has unmapped nothing");
	close(env.fd);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc > 1 && !strcmp(argv[1], "bound")) {
		test_bound();
		return done_testing();
	}
	fd = kmd_open();
	test_poll(fd);
	close(fd);
	test_kill("a process in UNMAP", unmap_while_busy);
	test_kill("a process with a queue of jobs", leave_a_queue);
	test_close_busy();
	return done_testing();
}
