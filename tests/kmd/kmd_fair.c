// SPDX-License-Identifier: MIT
/*
 * kmd_fair: what a context can take from others, and what it gets when it fails: turns of contexts,
 * a low priority, bounds of a queue, bans, errors of input fences.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include <xf86drm.h>

#include "kmd.h"

#define FLOOD		20	/* endless jobs of a file */
#define FLOODS		3
#define LIMIT		10000000u	/* cycles: long enough to be noticed, short enough to wait for */
#define PATIENCE_S	1	/* after which a job of low priority with that limit has its turn */
#define FEEDERS		2
#define FED_LOOPS	2000000	/* so long that a job ends after the next is there */

static struct drm_cnnacc_job one_job(const struct kmd_env *env, const struct drm_cnnacc_task *task)
{
	return (struct drm_cnnacc_job){
		.core = env->core, .tasks = DRM_CNNACC_OBJ_ARRAY(1, task),
	};
}

static int submit(struct kmd_env *env, uint32_t length, struct drm_cnnacc_sync *syncs,
		  uint32_t count)
{
	struct drm_cnnacc_task task = kmd_task(length);
	struct drm_cnnacc_job job = one_job(env, &task);

	job.syncs = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(count, syncs);
	return kmd_submit_jobs(env->fd, env->ctx, &job, 1);
}

static int submit_flood(struct kmd_env *env)
{
	struct drm_cnnacc_task task = kmd_task(kmd_program_endless(env));
	struct drm_cnnacc_job jobs[FLOOD];

	task.cycle_limit = LIMIT;
	for (uint32_t i = 0; i < FLOOD; i++)
		jobs[i] = one_job(env, &task);
	return kmd_submit_jobs(env->fd, env->ctx, jobs, FLOOD);
}

static uint32_t ended(struct kmd_env *floods, uint32_t count)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += kmd_ctx_query(floods[i].fd, floods[i].ctx).failed_jobs;
	return sum;
}

/* How many endless jobs of other contexts end while a nop waits; all if anything fails. */
static uint32_t ended_meanwhile(struct kmd_env *floods, uint32_t count, struct kmd_env *other)
{
	uint32_t out = kmd_syncobj(other->fd), nop = kmd_program_nop(other), before;
	int ret = 0;

	for (uint32_t i = 0; i < count && !ret; i++)
		ret = submit_flood(&floods[i]);
	before = ended(floods, count);
	ret = ret ?: kmd_submit(other, nop, 1000000, out) ?: kmd_wait(other->fd, out);
	drmSyncobjDestroy(other->fd, out);
	return ret ? FLOOD * count : ended(floods, count) - before;
}

/* A nop behind the endless jobs of other contexts waits for one of each. */
static void test_flood(uint32_t count)
{
	uint32_t least = FLOOD * count;

	for (int try = 0; try < KMD_TRIES && least > count; try++) {
		struct kmd_env floods[FLOODS], other = kmd_env(kmd_open());
		uint32_t n;

		for (uint32_t i = 0; i < count; i++)
			floods[i] = kmd_env(kmd_open());
		n = ended_meanwhile(floods, count, &other);
		note("%u of %u endless jobs ended before a nop of another file", n, FLOOD * count);
		least = n < least ? n : least;
		for (uint32_t i = 0; i < count; i++) {
			kmd_env_free(&floods[i]);
			close(floods[i].fd);
		}
		kmd_env_free(&other);
		close(other.fd);
	}
	ok(least <= count, "behind %u endless jobs of each of %u other files a nop waits for one",
	   FLOOD, count);
}

static atomic_bool fed;

/* Keeps a job of normal priority waiting all the time. */
static void *feed(void *arg)
{
	struct kmd_env env = kmd_env(kmd_open());
	uint32_t length = kmd_program_delay(&env, FED_LOOPS), outs[2], i;
	intptr_t bad = 0;

	(void)arg;
	for (i = 0; i < 2; i++)
		outs[i] = kmd_syncobj(env.fd);
	bad |= !!kmd_submit(&env, length, 0, outs[0]);
	for (i = 1; atomic_load(&fed) && !bad; i++) {
		bad |= !!kmd_submit(&env, length, 0, outs[i % 2]);
		bad |= !!kmd_wait(env.fd, outs[(i - 1) % 2]);
	}
	bad |= !!kmd_wait(env.fd, outs[(i - 1) % 2]);
	kmd_env_free(&env);
	close(env.fd);
	return (void *)bad;
}

/* A job of low priority gets its turn beside others that are never idle. */
static void test_low(void)
{
	struct kmd_env low = kmd_env(kmd_open());
	struct drm_cnnacc_ctx_create create = {
		.vm_id = low.vm, .priority = DRM_CNNACC_PRIORITY_LOW,
	};
	uint32_t nop = kmd_program_nop(&low), out = kmd_syncobj(low.fd);
	pthread_t feeders[FEEDERS];
	void *bad, *any = NULL;
	double start, took;

	ok_ret(kmd_ioctl(low.fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create), 0, "a low priority");
	kmd_ctx_destroy(low.fd, low.ctx);
	low.ctx = create.ctx_id;
	atomic_store(&fed, true);
	for (int i = 0; i < FEEDERS; i++)
		if (pthread_create(&feeders[i], NULL, feed, NULL))
			bail("pthread_create");
	usleep(500000);
	start = kmd_seconds();
	ok_ret(kmd_submit(&low, nop, LIMIT, out), 0, "a job of it");
	ok_ret(kmd_wait(low.fd, out), 0, "ends");
	took = kmd_seconds() - start;
	atomic_store(&fed, false);
	for (int i = 0; i < FEEDERS; i++) {
		pthread_join(feeders[i], &bad);
		any = bad ?: any;
	}
	ok(!any, "beside jobs of normal priority");
	ok(took < PATIENCE_S + 10, "after %.1f s", took);
	drmSyncobjDestroy(low.fd, out);
	kmd_env_free(&low);
	close(low.fd);
}

static int submit_nonblock(struct kmd_env *env, struct drm_cnnacc_job *jobs, uint32_t count)
{
	struct drm_cnnacc_submit submit = {
		.ctx_id = env->ctx, .flags = DRM_CNNACC_SUBMIT_NONBLOCK,
		.jobs = DRM_CNNACC_OBJ_ARRAY(count, jobs),
	};

	/* drmIoctl() repeats after EAGAIN. */
	return ioctl(env->fd, DRM_IOCTL_CNNACC_SUBMIT, &submit) ? -errno : 0;
}

static bool writable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, timeout_ms) == 1 && p.revents & POLLOUT;
}

/*
 * Queues jobs until there is no room; returns what the last SUBMIT did.  Repeats it if one has ended
 * before the file could be polled.
 */
static int fill(struct kmd_env *env, struct drm_cnnacc_job *job, uint32_t *count, bool *full)
{
	int ret = 0;

	*full = false;
	for (int tries = 0; tries < KMD_TRIES && !*full; tries++) {
		while (!(ret = submit_nonblock(env, job, 1)) && *count < 1000)
			(*count)++;
		*full = !writable(env->fd, 0);
	}
	return ret;
}

/* A context queues a bounded number of cycles. */
static void test_room(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct drm_cnnacc_task task = kmd_task(kmd_program_delay(&env, 2000000));
	struct drm_cnnacc_dev_info dev;
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_job job = one_job(&env, &task);
	uint32_t count = 0;
	bool full;
	int ret;

	kmd_dev_info(env.fd, &dev);
	kmd_core_info(env.fd, env.core, &core);
	ok(writable(env.fd, 0), "a file without jobs is writable");
	ret = fill(&env, &job, &count, &full);
	ok_ret(ret, -EAGAIN, "SUBMIT without a wait, after %u jobs", count);
	ok(count * core.job_cycles_max >= dev.max_queued_cycles && count < 1000,
	   "of the limit's cycles");
	ok(full, "then the file is not writable");
	ok(writable(env.fd, 60000), "until a job has ended");
	ok_ret(submit_nonblock(&env, &job, 1), 0, "when there is room for one");
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, &job, 1), 0, "SUBMIT waits for room otherwise");
	kmd_env_free(&env);
	close(env.fd);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* A SUBMIT that waits for room ends at a signal. */
static void test_interrupt(void)
{
	/* Repeats: the first may come before the ioctl. */
	struct itimerval often = { { .tv_usec = 100000 }, { .tv_usec = 100000 } }, never = { };
	struct sigaction action = { .sa_handler = on_alarm };
	struct kmd_env env = kmd_env(kmd_open());
	struct drm_cnnacc_task task = kmd_task(kmd_program_endless(&env));
	struct drm_cnnacc_job job = one_job(&env, &task);
	struct drm_cnnacc_submit submit = {
		.ctx_id = env.ctx, .jobs = DRM_CNNACC_OBJ_ARRAY(1, &job),
	};
	uint32_t count = 0;
	bool full;
	int ret;

	fill(&env, &job, &count, &full);
	ok(full, "%u long jobs leave no room", count);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	/* drmIoctl() repeats after EINTR. */
	ret = ioctl(env.fd, DRM_IOCTL_CNNACC_SUBMIT, &submit) ? -errno : 0;
	setitimer(ITIMER_REAL, &never, NULL);
	ok_ret(ret, -EINTR, "a signal ends the wait for it");
	kmd_env_free(&env);
	close(env.fd);
}

/* Three failures in succession ban a context, eight a file. */
static void test_ban(void)
{
	struct kmd_env env = kmd_env(kmd_open()), env2 = kmd_env(env.fd), env3 = kmd_env(env.fd);
	struct drm_cnnacc_ctx_create create = { .vm_id = env.vm, .priority = 1 };
	struct kmd_env *bad[] = { &env, &env2, &env3 };
	struct kmd_env other = kmd_env(kmd_open());

	kmd_ban(true);
	for (int i = 0; i < 2; i++)
		ok_ret(kmd_run(&env, kmd_program_illegal(&env)), -EINVAL, "failure %d", i + 1);
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "a success between");
	for (int i = 0; i < 3; i++)
		ok_ret(kmd_run(&env, kmd_program_illegal(&env)), -EINVAL, "failure %d", i + 1);
	ok_ret(kmd_submit(&env, kmd_program_nop(&env), 0, 0), -EIO, "three ban the context");
	ok(kmd_ctx_query(env.fd, env.ctx).state & DRM_CNNACC_CTX_BANNED, "which its state says");
	ok(!(kmd_ctx_query(env.fd, env2.ctx).state & DRM_CNNACC_CTX_BANNED), "no other context");
	for (int i = 0; i < 5; i++) {
		struct kmd_env *e = bad[1 + i / 3];

		ok_ret(kmd_run(e, kmd_program_illegal(e)), -EINVAL, "failure %d of the file", i + 4);
	}
	ok_ret(kmd_submit(&env3, kmd_program_nop(&env3), 0, 0), -EIO, "eight ban the file");
	ok_ret(kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create), -EIO, "and its new contexts");
	ok_ret(kmd_run(&other, kmd_program_nop(&other)), 0, "no other file");
	kmd_ban(false);
	close(env.fd);
	kmd_env_free(&other);
	close(other.fd);
}

/* The error of an input fence cancels a job. */
static void test_errors(void)
{
	struct kmd_env bad = kmd_env(kmd_open()), env = kmd_env(bad.fd);
	uint32_t line = kmd_syncobj(bad.fd), first = kmd_syncobj(bad.fd), out = kmd_syncobj(bad.fd);
	uint32_t second = kmd_syncobj(bad.fd);
	const uint32_t timeline = DRM_CNNACC_SYNC_TIMELINE;
	struct drm_cnnacc_sync fails[] = {
		{ .flags = DRM_CNNACC_SYNC_SIGNAL | timeline, .handle = line, .point = 1 },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = first },
	};
	struct drm_cnnacc_sync works[] = {
		{ .flags = DRM_CNNACC_SYNC_SIGNAL | timeline, .handle = line, .point = 2 },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = second },
	};
	struct drm_cnnacc_sync waits[] = {
		{ .flags = DRM_CNNACC_SYNC_WAIT | timeline, .handle = line, .point = 1 },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out },
	};
	struct drm_cnnacc_sync both[] = {
		{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = first },
		{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = second },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out },
	};

	ok_ret(submit(&bad, kmd_program_illegal(&bad), fails, 2), 0, "a job that fails");
	ok_ret(kmd_wait(bad.fd, first), -EINVAL, "fails");
	ok_ret(submit(&env, kmd_program_nop(&env), waits, 2), 0, "one that waits for its point");
	ok_ret(kmd_wait(env.fd, out), -ECANCELED, "while that is the last is canceled");
	ok_ret(submit(&bad, kmd_program_nop(&bad), works, 2), 0, "a later point of the same context");
	ok_ret(kmd_wait(bad.fd, second), 0, "is reached");
	ok_ret(submit(&env, kmd_program_nop(&env), waits, 2), 0, "the failed one has been passed");
	ok_ret(kmd_wait(env.fd, out), 0, "and tells nothing, as the header says");
	ok_ret(submit(&env, kmd_program_nop(&env), both, 3), 0, "two fences of one context");
	ok_ret(kmd_wait(env.fd, out), -ECANCELED, "the error of the earlier one counts too");
	kmd_env_free(&env);
	kmd_env_free(&bad);
	close(bad.fd);
}

/* Within one SUBMIT a later job sees the error of an earlier one, however late it looks. */
static void test_errors_within(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct drm_cnnacc_task tasks[3] = { kmd_task(kmd_program_illegal(&env)) };
	uint32_t line = kmd_syncobj(env.fd), out = kmd_syncobj(env.fd);
	const uint32_t timeline = DRM_CNNACC_SYNC_TIMELINE;
	struct drm_cnnacc_sync syncs[3][2] = {
		{ { .flags = DRM_CNNACC_SYNC_SIGNAL | timeline, .handle = line, .point = 1 } },
		{ { .flags = DRM_CNNACC_SYNC_SIGNAL | timeline, .handle = line, .point = 2 } },
		{ { .flags = DRM_CNNACC_SYNC_WAIT | timeline, .handle = line, .point = 1 },
		  { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out } },
	};
	struct drm_cnnacc_job jobs[3];

	tasks[1] = kmd_task_nop(&env);
	tasks[2] = tasks[1];
	for (int i = 0; i < 3; i++) {
		jobs[i] = one_job(&env, &tasks[i]);
		jobs[i].syncs = (struct drm_cnnacc_obj_array)
			DRM_CNNACC_OBJ_ARRAY(i == 2 ? 2 : 1, syncs[i]);
	}
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, 3), 0, "one that fails, two behind");
	ok_ret(kmd_wait(env.fd, out), -ECANCELED, "the one that waits for it is canceled");
	ok(kmd_ctx_query(env.fd, env.ctx).failed_jobs == 1, "the other is not");
	kmd_env_free(&env);
	close(env.fd);
}

int main(void)
{
	test_flood(1);
	test_flood(FLOODS);
	test_low();
	test_room();
	test_interrupt();
	test_ban();
	test_errors();
	test_errors_within();
	return done_testing();
}
