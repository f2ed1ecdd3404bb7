// SPDX-License-Identifier: MIT
/* Waiting: poll on a fence file, timeouts, and processes killed while they wait. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define LONG_DELAY 50000000

static void test_poll(int fd)
{
	struct kmd_env env = kmd_env(fd);
	uint32_t out = kmd_syncobj(fd);
	struct pollfd p = { .events = POLLIN };

	ok_ret(kmd_submit(&env, kmd_program_delay(&env, LONG_DELAY), 0, out), 0, "a long job");
	if (drmSyncobjExportSyncFile(fd, out, &p.fd))
		bail("drmSyncobjExportSyncFile");
	ok(poll(&p, 1, 0) == 0, "its fence file is not readable");
	ok(drmSyncobjWait(fd, &out, 1, kmd_deadline(1), 0, NULL) == -ETIME, "a short wait ends");
	ok(poll(&p, 1, 60000) == 1 && p.revents == POLLIN, "poll wakes up when the job ends");
	close(p.fd);
	drmSyncobjDestroy(fd, out);
	kmd_env_free(&env);
}

/* A process that is killed leaves nothing behind that hinders others. */
static void test_kill(const char *name, void (*child)(void))
{
	double start;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		child();
		_exit(0);
	}
	usleep(200000);
	start = kmd_seconds();
	kill(pid, SIGKILL);
	ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	   WTERMSIG(status) == SIGKILL, "%s is killed", name);
	ok(kmd_seconds() - start < 5, "%s dies at once", name);

	int fd = kmd_open();
	struct kmd_env env = kmd_env(fd);

	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "%s: the next process runs", name);
	kmd_env_free(&env);
	close(fd);
}

static struct kmd_env busy_env(int jobs)
{
	struct kmd_env env = kmd_env(kmd_open());
	uint32_t length = kmd_program_endless(&env);

	while (jobs--)
		kmd_submit(&env, length, 0, 0);
	return env;
}

static void unmap_while_busy(void)
{
	struct kmd_env env = busy_env(5);

	kmd_unmap(env.fd, env.ctx, KMD_DATA_VA, env.data.size);
}

static void wait_for_bo(void)
{
	struct kmd_env env = busy_env(5);
	struct drm_cnnacc_bo_create create = {
		.size = 4096, .flags = DRM_CNNACC_BO_PRIVATE, .ctx_id = env.ctx,
	};
	struct drm_cnnacc_bo_wait wait = { .timeout_ns = kmd_deadline(60000) };

	kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	wait.handle = create.handle;
	kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_WAIT, &wait);
}

static void leave_a_queue(void)
{
	busy_env(10);
	pause();
}

/* Many files closed with jobs under way, and never waited for. */
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

int main(void)
{
	int fd = kmd_open();

	test_poll(fd);
	close(fd);
	test_kill("a process in UNMAP", unmap_while_busy);
	test_kill("a process in BO_WAIT", wait_for_bo);
	test_kill("a process with a queue of jobs", leave_a_queue);
	test_close_busy();
	return done_testing();
}
