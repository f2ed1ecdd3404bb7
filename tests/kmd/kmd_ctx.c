// SPDX-License-Identifier: MIT
/* Contexts: creation, limits, priorities, destruction with unfinished jobs. */
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

static int create(int fd, uint32_t flags, uint32_t priority)
{
	struct drm_cnnacc_ctx_create args = {
		.flags = flags, .priority = priority, .vm_id = kmd_vm(fd),
	};

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_CREATE, &args);
}

static void test_arguments(int fd)
{
	struct drm_cnnacc_ctx_destroy destroy = { .ctx_id = 1, .pad = 1 };
	struct drm_cnnacc_ctx_query query = { .ctx_id = 77 };

	ok_ret(create(fd, 1, 0), -EINVAL, "unknown flag");
	ok_ret(create(fd, 0, 3), -EINVAL, "unknown priority");
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_DESTROY, &destroy), -EINVAL,
	       "destroy with pad set");
	ok_ret(kmd_ctx_destroy(fd, 77), -ENOENT, "destroy of an unknown id");
	ok_ret(kmd_ctx_destroy(fd, 0), -ENOENT, "destroy of id 0");
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_QUERY, &query), -ENOENT,
	       "query of an unknown id");
	query.pad[1] = 1;
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_QUERY, &query), -EINVAL, "query with pad set");
}

static void test_priority(int fd)
{
	int status;
	pid_t pid;

	ok_ret(create(fd, 0, DRM_CNNACC_PRIORITY_HIGH), 0, "root may have a high priority");
	pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(2);
		_exit(create(fd, 0, DRM_CNNACC_PRIORITY_HIGH) == -EACCES ? 0 : 1);
	}
	ok(waitpid(pid, &status, 0) == pid && !status, "another user may not");
}

static void test_limit(void)
{
	struct drm_cnnacc_dev_info info;
	int fd = kmd_open();
	uint32_t vm = kmd_vm(fd), *ids, i;

	kmd_dev_info(fd, &info);
	ids = calloc(info.max_contexts, sizeof(*ids));
	for (i = 0; i < info.max_contexts; i++)
		ids[i] = kmd_ctx_in(fd, vm);
	ok(ids[0] != 0 && ids[0] != ids[1], "ids differ and are not 0");
	ok_ret(create(fd, 0, 0), -ENOSPC, "one above the limit");
	ok_ret(kmd_ctx_destroy(fd, ids[3]), 0, "destroy");
	ok_ret(kmd_ctx_destroy(fd, ids[3]), -ENOENT, "destroy twice");
	ok_ret(create(fd, 0, 0), 0, "its place is free again");
	free(ids);
	close(fd);
}

static void test_ids_are_per_file(int fd)
{
	struct drm_cnnacc_ctx_query query = { .ctx_id = kmd_ctx(fd) };
	int other = kmd_open();

	ok_ret(kmd_ioctl(other, DRM_IOCTL_CNNACC_CTX_QUERY, &query), -ENOENT,
	       "another file does not see a context");
	close(other);
}

/* Creates and destroys more contexts than there are hardware ids. */
static void test_churn(int fd)
{
	uint32_t i, ctx;
	int ret = 0;

	for (i = 0; i < 2000 && !ret; i++) {
		ctx = kmd_ctx(fd);
		ret = kmd_ctx_destroy(fd, ctx);
	}
	ok_ret(ret, 0, "2000 contexts one after the other");
}

struct destroyed {
	int submit, destroy, first, last;
	bool runs;	/* the first job runs when its context is destroyed */
};

static struct destroyed destroy_with_jobs(int fd, uint32_t tasks)
{
	uint32_t first = kmd_syncobj(fd), last = kmd_syncobj(fd), length, i;
	struct kmd_env env = kmd_env(fd);
	struct destroyed d;

	length = kmd_program_delay(&env, 20000000);
	d.submit = kmd_submit_tasks(&env, length, tasks, 0, first);
	for (i = 0; i < 20 && !d.submit; i++)
		d.submit = kmd_submit(&env, length, 0, last);
	kmd_runs(&env, first);
	d.destroy = kmd_ctx_destroy(fd, env.ctx);
	d.runs = kmd_fence_status(fd, first) == -EBUSY;
	d.last = kmd_wait(fd, last);
	d.first = kmd_wait(fd, first);
	drmSyncobjDestroy(fd, first);
	drmSyncobjDestroy(fd, last);
	kmd_bo_free(fd, &env.program);
	kmd_bo_free(fd, &env.data);
	kmd_vm_destroy(fd, env.vm);
	return d;
}

/* Retries with a job twice as long if the job has ended meanwhile. */
static void test_destroy_with_jobs(int fd)
{
	struct destroyed d = { };

	for (uint32_t tasks = 1; tasks <= KMD_TASKS_MAX && !d.runs && !d.submit; tasks *= 2)
		d = destroy_with_jobs(fd, tasks);
	ok_ret(d.submit, 0, "a queue of jobs");
	ok_ret(d.destroy, 0, "destroy the context");
	ok(d.runs, "without waiting for its jobs");
	ok_ret(d.last, -ECANCELED, "the last job is cancelled");
	ok_ret(d.first, 0, "the running one was let finish");
}

int main(void)
{
	int fd = kmd_open();

	test_arguments(fd);
	test_priority(fd);
	test_limit();
	test_ids_are_per_file(fd);
	test_churn(fd);
	test_destroy_with_jobs(fd);
	return done_testing();
}
