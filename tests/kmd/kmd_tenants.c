// SPDX-License-Identifier: MIT
/* What one user can take from the others: ids, memory, the workers that free things. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define RW (DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE)
#define IDS		65536u	/* of the hardware */
#define DYING		4000
#define HOG_JOBS	32	/* of at least half a minute: the last outlasts any host's delays */
#define INNOCENT_SIZE	(64u << 20)
#define WORKERS_MAX	24	/* more than were there before */

/* ---- the workers ------------------------------------------------------------------------- */

static bool is_kworker(const char *name)
{
	return !strncmp(name, "kworker", 7);
}

static int count_kworkers(void)
{
	return (int)kmd_count_threads(is_kworker);
}

/* A context of low priority with a job that waits behind the others, destroyed at once. */
static int make_dying(int fd, uint32_t core)
{
	struct drm_cnnacc_ctx_create create = { .priority = DRM_CNNACC_PRIORITY_LOW };
	struct drm_cnnacc_vm_create vm = { };
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_job job = {
		.core = core, .tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
	};
	int ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_CREATE, &vm);

	if (ret)
		return ret;
	create.vm_id = vm.vm_id;
	ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create);
	kmd_vm_destroy(fd, vm.vm_id);
	if (ret)
		return ret;
	ret = kmd_submit_jobs(fd, create.ctx_id, &job, 1);
	return kmd_ctx_destroy(fd, create.ctx_id) ?: ret;
}

/* A process that has memory mapped, no job, and ends. */
static void run_innocent(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int fd = kmd_open();
		struct kmd_bo bo = kmd_bo_flags(fd, DRM_CNNACC_BO_DATA, DRM_CNNACC_BO_CACHED,
						INNOCENT_SIZE);
		uint32_t vm = kmd_vm(fd);

		kmd_ctx_in(fd, vm);
		_exit(!!kmd_map(fd, vm, bo.handle, RW, 0x40000000, bo.size));
	}
	ok(waitpid(pid, &status, 0) == pid && !status, "another process maps memory and ends");
}

/* Long jobs one after the other; out is of the last. */
static int submit_hog(struct kmd_env *hog, uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_task tasks[KMD_TASKS_MAX];
	struct drm_cnnacc_job jobs[HOG_JOBS];
	uint32_t length = kmd_program_long(hog);

	for (size_t i = 0; i < ARRAY_LEN(tasks); i++)
		tasks[i] = kmd_task(length);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		jobs[i] = (struct drm_cnnacc_job){
			.core = hog->core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(tasks), tasks),
		};
	jobs[HOG_JOBS - 1].syncs = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &sync);
	return kmd_submit_jobs(hog->fd, hog->ctx, jobs, HOG_JOBS);
}

static void test_dying(void)
{
	struct kmd_env hog = kmd_env(kmd_open());
	uint32_t out = kmd_syncobj(hog.fd), i;
	int fd = kmd_open(), workers = count_kworkers(), ret, refused = 0;
	struct kmd_left before;
	double start;

	ret = submit_hog(&hog, out);
	ok_ret(ret, 0, "long jobs");
	before = kmd_left();
	for (i = 0; i < DYING && !ret; i++)
		/* What is being freed counts. */
		while ((ret = make_dying(fd, hog.core)) == -ENOSPC && ++refused < 100 * DYING)
			usleep(1000);
	ok_ret(ret, 0, "%d contexts made, given a job and destroyed (%d refusals)", DYING, refused);
	workers = count_kworkers() - workers;
	ok(workers <= WORKERS_MAX, "few workers are busy with them (%d)", workers);
	start = kmd_seconds();
	run_innocent();
	ok(kmd_soon(kmd_left().buffers <= before.buffers && kmd_left().vms <= before.vms),
	   "its memory is free, and so are those contexts (%.1f s)", kmd_seconds() - start);
	ok_ret(kmd_fence_status(hog.fd, out), -EBUSY, "while the long jobs run");
	close(fd);
	kmd_env_free(&hog);
	close(hog.fd);
}

/* Submits the long jobs; returns a syncobj of another file with the fence of the last one. */
static uint32_t fence_of(struct kmd_env *hog, int fd)
{
	uint32_t out = kmd_syncobj(hog->fd), handle;
	int file;

	if (submit_hog(hog, out) || drmSyncobjHandleToFD(hog->fd, out, &file) ||
	    drmSyncobjFDToHandle(fd, file, &handle))
		bail("long jobs");
	close(file);
	return handle;
}

/* A context with a job that waits for a fence, destroyed at once: it is freed after the fence. */
static int make_waiting(int fd, uint32_t vm, uint32_t core, uint32_t fence)
{
	struct drm_cnnacc_ctx_create create = {
		.priority = DRM_CNNACC_PRIORITY_NORMAL, .vm_id = vm,
	};
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_WAIT, .handle = fence };
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_job job = {
		.core = core, .tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};
	int ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create);

	if (ret)
		return ret;
	ret = kmd_submit_jobs(fd, create.ctx_id, &job, 1);
	return kmd_ctx_destroy(fd, create.ctx_id) ?: ret;
}

/* A destroyed context counts against the limit of its file until it is freed. */
static void test_dying_count(void)
{
	struct kmd_env hog = kmd_env(kmd_open());
	struct drm_cnnacc_dev_info info;
	int fd = kmd_open(), other = kmd_open(), ret;
	uint32_t fence = fence_of(&hog, fd), vm = kmd_vm(fd), count = 0;

	kmd_dev_info(fd, &info);
	ok(info.max_contexts == IDS / 32 && info.max_vms == IDS / 32, "a file has 1/32 of the ids");
	while (!(ret = make_waiting(fd, vm, hog.core, fence)) && count < IDS)
		count++;
	ok_ret(ret, -ENOSPC, "contexts that are destroyed and not freed have an end");
	ok(count == info.max_contexts, "at those of a file (%u)", count);
	ok(kmd_ctx(other), "another file has its own");
	kmd_env_free(&hog);
	close(hog.fd);
	ok(kmd_soon(!(ret = make_waiting(fd, vm, hog.core, fence))),
	   "there are more once the fence is signalled");
	close(fd);
	close(other);
}

/* ---- the ids ----------------------------------------------------------------------------- */

struct taken {
	uint32_t count, files;
	int last;		/* what the one too many got */
};

static int take_one(int fd, uint32_t *vm, bool contexts)
{
	struct drm_cnnacc_ctx_create ctx = { .priority = DRM_CNNACC_PRIORITY_NORMAL };
	struct drm_cnnacc_vm_create create = { };
	int ret = 0;

	if (!contexts || !*vm)
		ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_CREATE, &create);
	if (!ret && !*vm)
		*vm = create.vm_id;
	ctx.vm_id = *vm;
	return contexts && !ret ? kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_CREATE, &ctx) : ret;
}

/* Takes as much as all files together give; -ENOSPC: one file is full. */
static struct taken take_all(bool contexts)
{
	struct taken t = { .last = -ENOSPC };
	uint32_t vm;
	int fd;

	while (t.last == -ENOSPC && t.count < IDS) {
		fd = kmd_open();
		vm = 0;
		t.files++;
		while (!(t.last = take_one(fd, &vm, contexts)))
			t.count++;
	}
	return t;
}

/* Writes what a user got to a pipe, and keeps it until the process is killed. */
static pid_t start_greedy(bool contexts, int out)
{
	pid_t pid = fork();

	if (!pid) {
		struct taken t = { };

		if (!setuid(65534))
			t = take_all(contexts);
		if (write(out, &t, sizeof(t)) != sizeof(t))
			_exit(1);
		pause();
	}
	return pid;
}

static long long slab_kib(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	long long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Slab: %lld", &kib);
	if (file)
		fclose(file);
	return kib;
}

static void test_greedy(bool contexts)
{
	const char *what = contexts ? "contexts" : "address spaces";
	struct kmd_left before = kmd_left();
	long long slab = slab_kib();
	struct taken t = { };
	struct kmd_env env;
	pid_t pid;
	int out[2];

	if (pipe(out))
		bail("pipe");
	pid = start_greedy(contexts, out[1]);
	if (read(out[0], &t, sizeof(t)) != sizeof(t))
		bail("a user's process");
	slab = (slab_kib() - slab) * 1024 / (t.count ? t.count : 1);
	ok_ret(t.last, -EDQUOT, "%s: a user's share has an end", what);
	ok(t.count <= IDS / 2 && t.count > IDS / 2 - 256 && t.files > 1,
	   "%s: at half of the ids (%u in %u files)", what, t.count, t.files);
	/* Checkers put red zones around each object, and keep where it was allocated. */
	if (kmd_has_checkers())
		skip("one costs less than 4 KiB", "the kernel has checkers");
	else
		ok(slab < 4096, "%s: one costs less than 4 KiB (%lld)", what, slab);
	env = kmd_env(kmd_open());
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "%s: another user works meanwhile", what);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	kmd_env_free(&env);
	close(env.fd);
	close(out[0]);
	close(out[1]);
	kmd_check_left(before);
}

int main(void)
{
	const char *path = kmd_node();
	struct kmd_left before = kmd_left();
	struct stat node;

	if (stat(path, &node) || chmod(path, 0666))
		bail("%s", path);
	test_dying();
	test_dying_count();
	test_greedy(false);
	test_greedy(true);
	chmod(path, node.st_mode & 07777);
	kmd_check_left(before);
	return done_testing();
}
