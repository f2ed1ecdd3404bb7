// SPDX-License-Identifier: MIT
/*
 * DRM_CNNACC_JOB_ANY_EQUAL: which core a job is sent to, and that it is like any other job there.
 * For a device with two or more equal cores and one that is not, which has the gate: a job that all
 * others wait for, so that they are submitted before the first of them runs.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sync_file.h>
#include <xf86drm.h>

#include "kmd.h"

#define JOBS	8
#define SHORT	100000u		/* cycle limits */
#define LONG	10000000u

struct balance {
	int fd;
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_core_info core[CNNACC_MAX_CORES];
	uint32_t equal;		/* mask */
	uint32_t count;		/* of equal cores */
	struct kmd_env env[2], gate;
	uint32_t length[2];	/* bytes of the environment's program */
	uint32_t closed;	/* syncobj of the gate; 0: jobs do not wait */
};

/* A job that was submitted. */
struct sent {
	uint32_t out, core;
	int ret;
};

static uint32_t equal_cores(const struct balance *b, uint32_t to)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < b->info.core_count; i++) {
		struct drm_cnnacc_core_info other = b->core[i];

		other.window_offset = b->core[to].window_offset;
		other.window_size = b->core[to].window_size;
		other.queue_offset = b->core[to].queue_offset;
		mask |= memcmp(&other, &b->core[to], sizeof(other)) ? 0 : 1u << i;
	}
	return mask;
}

static void prepare(struct balance *b)
{
	b->fd = kmd_open();
	kmd_dev_info(b->fd, &b->info);
	for (uint32_t i = 0; i < b->info.core_count; i++)
		kmd_core_info(b->fd, i, &b->core[i]);
	for (int i = 0; i < 2; i++) {
		b->env[i] = kmd_env(b->fd);
		b->length[i] = kmd_program_nop(&b->env[i]);
	}
	b->equal = equal_cores(b, b->env[0].core);
	b->count = (uint32_t)__builtin_popcount(b->equal);
	b->gate = kmd_env(b->fd);
	while (b->gate.core < b->info.core_count && b->equal & 1u << b->gate.core)
		b->gate.core++;
	if (b->count < 2 || b->gate.core == b->info.core_count)
		bail("two equal cores and one that is not wanted, as cores=ccp+hwpe+ccp has");
	b->gate.programs = core_programs(b->core[b->gate.core].name);
}

/* From here on jobs wait until the gate has opened, in half a second or later. */
static void close_gate(struct balance *b)
{
	b->closed = kmd_syncobj(b->fd);
	if (kmd_submit(&b->gate, kmd_program_long(&b->gate), 0, b->closed))
		bail("the gate");
}

static struct sent send(struct balance *b, int env, uint32_t flags, uint64_t limit)
{
	struct drm_cnnacc_task task = kmd_task(b->length[env]);
	struct sent sent = { .out = kmd_syncobj(b->fd) };
	struct drm_cnnacc_submit submit;
	struct drm_cnnacc_sync syncs[2] = {
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = sent.out },
		{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = b->closed },
	};
	struct drm_cnnacc_job job = {
		.core = b->env[env].core, .flags = flags,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(b->closed ? 2 : 1, syncs),
	};

	task.cycle_limit = limit;
	sent.ret = kmd_submit_told(b->fd, b->env[env].ctx, &job, 1, &submit);
	sent.core = submit.core[job.core];
	return sent;
}

static struct sent send_any(struct balance *b, int env, uint64_t limit)
{
	return send(b, env, DRM_CNNACC_JOB_ANY_EQUAL, limit);
}

static int end(struct balance *b, struct sent *sent)
{
	int ret = sent->ret ?: kmd_wait(b->fd, sent->out);

	drmSyncobjDestroy(b->fd, sent->out);
	return ret;
}

/*
 * Did all jobs wait at the gate?  If not, the machine was too busy: the jobs are waited for, and the
 * test is to be repeated.  Jobs that follow do not wait at the gate.
 */
static bool waited(struct balance *b, struct sent *sent, int count)
{
	bool closed = kmd_fence_status(b->fd, b->closed) == -EBUSY;

	drmSyncobjDestroy(b->fd, b->closed);
	b->closed = 0;
	for (int i = 0; i < count && !closed; i++)
		end(b, &sent[i]);
	return closed;
}

/* The first error of the jobs. */
static int end_all(struct balance *b, struct sent *sent, int count)
{
	int ret = 0;

	for (int i = 0; i < count; i++) {
		int error = end(b, &sent[i]);

		ret = ret ?: error;
	}
	return ret;
}

static void test_arguments(struct balance *b)
{
	struct sent sent = send(b, 0, DRM_CNNACC_JOB_ANY_EQUAL << 1, SHORT);
	struct drm_cnnacc_task task = kmd_task(b->length[0]);
	struct drm_cnnacc_job job = {
		.core = b->info.core_count, .flags = DRM_CNNACC_JOB_ANY_EQUAL,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
	};

	ok_ret(end(b, &sent), -EINVAL, "an unknown flag");
	ok_ret(kmd_submit_jobs(b->fd, b->env[0].ctx, &job, 1), -EINVAL, "no such core");
	job.core = UINT32_MAX;
	ok_ret(kmd_submit_jobs(b->fd, b->env[0].ctx, &job, 1), -EINVAL, "far from any core");
	task.cycle_limit = b->core[0].job_cycles_max + 1;
	job.core = b->env[0].core;
	ok_ret(kmd_submit_jobs(b->fd, b->env[0].ctx, &job, 1), -EINVAL, "too many cycles");
	sent = send_any(b, 0, SHORT);
	ok_ret(end(b, &sent), 0, "a job for any equal core");
	ok(b->equal & 1u << sent.core, "runs on one of 0x%x: core %u", b->equal, sent.core);
}

/* Jobs of one context or of two in turn: every core gets as many, to one. */
static bool test_share(struct balance *b, int contexts)
{
	uint32_t count[CNNACC_MAX_CORES] = { 0 }, used = 0, most = 0, least = UINT_MAX;
	uint64_t before[CNNACC_MAX_CORES], charged = 0;
	struct sent sent[2 * JOBS];

	for (uint32_t i = 0; i < b->info.core_count; i++)
		before[i] = kmd_usage(b->fd, i).jobs;
	for (int i = 0; i < 2 * JOBS; i++) {
		sent[i] = send_any(b, i % contexts, LONG);
		used |= 1u << sent[i].core;
		count[sent[i].core]++;
	}
	if (!waited(b, sent, 2 * JOBS))
		return false;
	ok_ret(end_all(b, sent, 2 * JOBS), 0, "jobs of %d contexts at a time", contexts);
	ok(used == b->equal, "use all equal cores and no other: 0x%x", used);
	for (uint32_t i = 0; i < b->info.core_count; i++) {
		if (!(b->equal & 1u << i))
			continue;
		charged += kmd_usage(b->fd, i).jobs - before[i] == count[i];
		most = count[i] > most ? count[i] : most;
		least = count[i] < least ? count[i] : least;
	}
	ok(most - least <= 1, "each core gets its share: %u to %u", least, most);
	ok(charged == b->count, "fdinfo charges them to the core that ran them");
	return true;
}

/* One long job weighs as much as many short ones. */
static bool test_load(struct balance *b)
{
	struct sent sent[JOBS];
	int same = 0;

	sent[0] = send_any(b, 0, LONG);
	for (int i = 1; i < JOBS; i++) {
		sent[i] = send_any(b, 0, SHORT);
		same += sent[i].core == sent[0].core;
	}
	if (!waited(b, sent, JOBS))
		return false;
	ok_ret(end_all(b, sent, JOBS), 0, "short jobs after a long one");
	ok(!same, "keep off its core: %d do not", same);
	return true;
}

/* One job at a time: a context returns to a core that need not be cleared. */
static void test_again(struct balance *b)
{
	uint32_t used[2] = { 0 };
	int failed = 0;

	for (int i = 0; i < 2 * JOBS; i++) {
		struct sent sent = send_any(b, i % 2, SHORT);

		failed += end(b, &sent) != 0;
		used[i % 2] |= 1u << sent.core;
	}
	ok(!failed, "jobs of two contexts, one at a time");
	ok(!(used[0] & used[1]), "each context stays on cores of its own: 0x%x and 0x%x", used[0],
	   used[1]);
}

/*
 * A core whose job does not end holds up no job for any equal core, neither while it runs nor while
 * the core is reset, once the job has exceeded its limit.
 */
static void test_hung(struct balance *b)
{
	uint32_t behind = 0, jobs = 0, failed = 0;
	struct sent sent[2 * JOBS], bad;

	b->length[1] = kmd_program_endless(&b->env[1]);
	bad = send_any(b, 1, b->core[b->env[1].core].job_cycles_max);
	for (int i = 0; i < 2 * JOBS; i++) {
		sent[i] = send_any(b, 0, LONG);
		behind += sent[i].core == bad.core;
	}
	ok_ret(end_all(b, sent, 2 * JOBS), 0, "jobs beside a core whose job does not end");
	ok(!behind, "none waits behind it: %u", behind);
	ok_ret(kmd_fence_status(b->fd, bad.out), -EBUSY, "which still runs");
	for (; kmd_fence_status(b->fd, bad.out) == -EBUSY; jobs++) {
		sent[0] = send_any(b, 0, SHORT);
		behind += sent[0].core == bad.core;
		failed += end(b, &sent[0]) != 0;
	}
	note("%u jobs until its core was reset", jobs);
	ok(!failed && !behind, "all run on the other cores: %u, %u", failed, behind);
	ok_ret(end(b, &bad), -ETIMEDOUT, "the job ends at its limit");
	b->length[1] = kmd_program_nop(&b->env[1]);
}

static bool test_pinned(struct balance *b)
{
	struct sent sent[JOBS];
	int away = 0;

	for (int i = 0; i < JOBS - 1; i++) {
		sent[i] = send(b, 0, 0, LONG);
		away += sent[i].core != b->env[0].core;
	}
	sent[JOBS - 1] = send_any(b, 1, LONG);
	if (!waited(b, sent, JOBS))
		return false;
	ok(sent[JOBS - 1].core != b->env[0].core, "a job for any core avoids those for one");
	ok_ret(end_all(b, sent, JOBS), 0, "all end well");
	ok(!away, "the others run on their core");
	return true;
}

/* Jobs of one SUBMIT: each reads what the one before wrote. */
static void test_order(struct balance *b)
{
	struct kmd_env *env = &b->env[0];
	uint32_t *words = env->data.map, out = kmd_syncobj(b->fd), cores = 0;
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_task task[JOBS];
	struct drm_cnnacc_job job[JOBS];

	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t at = i * CNNACC_PAGE_SIZE / JOBS;

		task[i] = kmd_task(env->programs->copy((uint32_t *)((char *)env->program.map + at),
						       KMD_DATA_VA + 64 * i,
						       KMD_DATA_VA + 64 * (i + 1), 1));
		task[i].program_va += at;
		job[i] = (struct drm_cnnacc_job){
			.core = env->core, .flags = DRM_CNNACC_JOB_ANY_EQUAL,
			.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task[i]),
		};
	}
	job[JOBS - 1].syncs = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &sync);
	memset(words, 0, CNNACC_PAGE_SIZE);
	words[0] = 0x1234567;
	ok_ret(kmd_submit_jobs(b->fd, env->ctx, job, JOBS), 0, "jobs of one SUBMIT");
	for (int i = 0; i < JOBS; i++)
		cores |= 1u << job[i].core;
	ok_ret(kmd_wait(b->fd, out), 0, "end well");
	ok(__builtin_popcount(cores) == 1, "on one core");
	ok(words[JOBS * 16] == words[0], "in order");
	drmSyncobjDestroy(b->fd, out);
	b->length[0] = kmd_program_nop(env);
}

/*
 * A job that loops until its limit stops one core while jobs wait for that one and for others.
 * Only it fails; the jobs behind it run after the reset.
 */
static bool test_reset(struct balance *b)
{
	struct drm_cnnacc_ctx_query before = kmd_ctx_query(b->fd, b->env[1].ctx), after;
	struct sent sent[2 * JOBS + 1], bad;
	int behind = 0;

	b->length[1] = kmd_program_endless(&b->env[1]);
	bad = sent[2 * JOBS] = send_any(b, 1, LONG);
	for (int i = 0; i < 2 * JOBS; i++) {
		sent[i] = send_any(b, 0, LONG);
		behind += sent[i].core == bad.core;
	}
	if (!waited(b, sent, 2 * JOBS + 1))
		return false;
	ok(behind >= JOBS / (int)b->count, "jobs wait for the core that will fail: %d", behind);
	ok_ret(end(b, &bad), -ETIMEDOUT, "a job beyond its limit");
	ok_ret(end_all(b, sent, 2 * JOBS), 0, "the jobs that waited end well");
	after = kmd_ctx_query(b->fd, b->env[1].ctx);
	ok(after.failed_jobs == before.failed_jobs + 1 && after.core == bad.core,
	   "the context's status names core %u: %u", bad.core, after.core);
	ok(!kmd_ctx_query(b->fd, b->env[0].ctx).state, "no other context has a failure");
	b->length[1] = kmd_program_nop(&b->env[1]);
	return true;
}

/*
 * The load of canceled jobs goes with them, once what they wait for has ended: what follows is shared
 * as before.
 */
static bool test_destroy(struct balance *b)
{
	struct sent sent[JOBS];
	uint32_t used = 0;
	int i, canceled = 0;

	for (i = 0; i < JOBS - 1; i++)
		sent[i] = send_any(b, 1, LONG);
	if (kmd_ctx_destroy(b->fd, b->env[1].ctx))
		bail("CTX_DESTROY");
	b->env[1] = kmd_env(b->fd);
	b->length[1] = kmd_program_nop(&b->env[1]);
	if (!waited(b, sent, JOBS - 1))
		return false;
	for (i = 0; i < JOBS - 1; i++)
		canceled += end(b, &sent[i]) == -ECANCELED;
	close_gate(b);
	for (i = 0; i < (int)b->count; i++) {
		sent[i] = send_any(b, i % 2, LONG);
		used |= 1u << sent[i].core;
	}
	if (!waited(b, sent, (int)b->count))
		return false;
	ok(canceled == JOBS - 1, "the jobs of a destroyed context are canceled: %d", canceled);
	ok_ret(end_all(b, sent, (int)b->count), 0, "jobs afterwards");
	ok(used == b->equal, "use all equal cores: 0x%x", used);
	return true;
}

/* The error of a fence that is in a sync_file; after the removal there are no syncobjs. */
static int file_error(int file)
{
	struct pollfd ended = { .fd = file, .events = POLLIN };
	struct sync_file_info info = { 0 };
	int ret = poll(&ended, 1, 120000) == 1 ? 0 : -ETIME;

	if (!ret && ioctl(file, SYNC_IOC_FILE_INFO, &info))
		ret = -errno;
	close(file);
	return ret ?: info.status < 0 ? info.status : 0;
}

/* Unbinds the driver while the jobs wait; the last test. */
static bool test_removal(struct balance *b)
{
	struct sent sent[JOBS];
	int file[JOBS], gone = 0, error = 0;

	for (int i = 0; i < JOBS; i++) {
		sent[i] = send_any(b, i % 2, LONG);
		if (sent[i].ret || drmSyncobjExportSyncFile(b->fd, sent[i].out, &file[i]))
			bail("a job and its fence");
	}
	if (!waited(b, sent, JOBS))
		return false;
	ok_ret(kmd_driver_file("unbind"), 0,
	       "the driver is unbound");
	for (int i = 0; i < JOBS; i++) {
		error = file_error(file[i]);
		gone += error == -ENODEV;
	}
	ok(gone == JOBS, "the jobs of all cores end with ENODEV: %d of %d, %d", gone, JOBS, error);
	ok_ret(kmd_driver_file("bind"), 0,
	       "it is bound again");
	return true;
}

static bool share_of_one(struct balance *b)
{
	return test_share(b, 1);
}

static bool share_of_two(struct balance *b)
{
	return test_share(b, 2);
}

int main(void)
{
	static bool (*const gated[])(struct balance *b) = {
		share_of_one, share_of_two, test_load, test_pinned, test_reset, test_destroy,
		test_removal,
	};
	struct balance b = { 0 };
	int tries;

	kmd_function();
	prepare(&b);
	test_arguments(&b);
	test_again(&b);
	test_order(&b);
	test_hung(&b);
	for (size_t i = 0; i < ARRAY_LEN(gated); i++) {
		tries = 0;
		do
			close_gate(&b);
		while (!gated[i](&b) && ++tries < KMD_TRIES);
		if (tries == KMD_TRIES)
			bail("the machine is too busy");
	}
	return done_testing();
}
