// SPDX-License-Identifier: MIT
/*
 * The device loses its state while jobs run or wait: a reset from outside (FLR), system suspend,
 * runtime suspend.
 *
 * kmd_power		resets, runtime suspend, and system suspend of the devices only (pm_test)
 * kmd_power mem|freeze	real suspend to RAM or to idle; the machine has to be woken from outside
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

/* Longer than the time to drain (500 ms), except on a very fast device. */
#define AGAIN_TASKS	3
/* The autosuspend delay is 50 ms. */
#define UNUSED_US	200000

static int flr(void)
{
	return kmd_write_file(kmd_function_file("reset"), "1");
}

/* Jobs in the queues when the device is suspended: the first runs, the others wait. */
struct queued {
	struct kmd_env lost, again, waits;
	uint32_t out[3];
};

static void submit_tasks(struct kmd_env *env, uint32_t length, uint32_t tasks, uint32_t flags,
			 uint32_t out)
{
	if (kmd_submit_tasks(env, length, tasks, flags, out))
		bail("SUBMIT");
}

/* A job that is run again must end; a job that the reset ends must not end before the reset. */
static struct queued queue_jobs(uint32_t flags)
{
	int fd = kmd_open(), i;
	struct queued q = { .lost = kmd_env(fd), .again = kmd_env(fd), .waits = kmd_env(fd) };

	for (i = 0; i < 3; i++)
		q.out[i] = kmd_syncobj(fd);
	memset(q.waits.data.map, 0x3c, 64);
	submit_tasks(&q.lost, kmd_program_long(&q.lost),
		     flags ? AGAIN_TASKS : KMD_LONG_TASKS, flags, q.out[0]);
	submit_tasks(&q.again, kmd_program_nop(&q.again), 3, 0, q.out[1]);
	kmd_submit(&q.waits, kmd_program_copy(&q.waits, KMD_DATA_VA, KMD_DATA_VA + 4096, 1), 0,
		   q.out[2]);
	kmd_runs(&q.lost, q.out[0]);
	return q;
}

static void check_jobs(const char *when, struct queued *q, int first)
{
	struct drm_cnnacc_ctx_query query;
	uint8_t *data = q->waits.data.map;

	ok_ret(kmd_wait(q->lost.fd, q->out[0]), first, "%s: the job that ran", when);
	query = kmd_ctx_query(q->lost.fd, q->lost.ctx);
	ok(query.reset_jobs == !!first &&
	   query.state == (first ? DRM_CNNACC_CTX_INNOCENT_RESET : 0), "%s: its context", when);
	ok_ret(kmd_wait(q->lost.fd, q->out[1]), 0, "%s: the next job", when);
	ok_ret(kmd_wait(q->lost.fd, q->out[2]), 0, "%s: the last job", when);
	ok(data[4096] == 0x3c && data[4159] == 0x3c && !data[4160], "%s: its bytes", when);
	ok(!kmd_ctx_query(q->waits.fd, q->waits.ctx).state, "%s: the others are healthy", when);
	kmd_env_free(&q->lost);
	kmd_env_free(&q->again);
	kmd_env_free(&q->waits);
	close(q->lost.fd);
}

static void test_flr(void)
{
	struct drm_cnnacc_dev_info before, after;
	struct queued q = queue_jobs(0);
	double start = kmd_seconds();
	int fd = kmd_open();

	kmd_dev_info(fd, &before);
	ok_ret(flr(), 0, "FLR while jobs run");
	note("took %.2f s", kmd_seconds() - start);
	check_jobs("FLR", &q, -ECANCELED);
	kmd_dev_info(fd, &after);
	ok(after.reset_count == before.reset_count + 1, "FLR: counted");
	q = queue_jobs(DRM_CNNACC_JOB_RESTARTABLE);
	ok_ret(flr(), 0, "FLR while a restartable job runs");
	check_jobs("FLR, restartable", &q, 0);
	close(fd);
}

static bool stop;

static void *use_registers(void *arg)
{
	struct kmd_bo bo = kmd_bo(*(int *)arg, DRM_CNNACC_BO_DATA, CNNACC_PAGE_SIZE);
	uint32_t vm = kmd_vm(*(int *)arg);
	unsigned long wrong = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct drm_cnnacc_reg_rw args = { .offset = CNNACC_REG_MAGIC };

		wrong += kmd_ioctl(*(int *)arg, DRM_IOCTL_CNNACC_REG_RW, &args) ||
			 args.value != CNNACC_MAGIC;
		wrong += !!kmd_map(*(int *)arg, vm, bo.handle, DRM_CNNACC_BIND_READ, 0, bo.size);
		wrong += !!kmd_unmap(*(int *)arg, vm, 0, bo.size);
	}
	return (void *)wrong;
}

/* During a function reset nobody reads registers or misses a TLB invalidation. */
static void test_flr_in_use(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	int i, ret = 0, jobs = 0;
	pthread_t thread;
	void *wrong;

	pthread_create(&thread, NULL, use_registers, &env.fd);
	for (i = 0; i < 10 && !ret; i++) {
		ret = flr();
		jobs += !kmd_run(&env, kmd_program_nop(&env));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, &wrong);
	ok_ret(ret, 0, "FLR ten times while registers are read and buffers unmapped");
	ok(!wrong, "nobody sees anything of it");
	ok(jobs == 10, "and jobs run in between");
	kmd_env_free(&env);
	close(env.fd);
}

/* While a job runs.  Retries with a job twice as long if the job has ended meanwhile. */
static void test_awake(struct kmd_env *env)
{
	uint32_t out = kmd_syncobj(env->fd), length = kmd_program_long(env), tasks;
	bool active = false, runs = false;
	int ret = 0;

	for (tasks = 1; tasks <= KMD_TASKS_MAX && !runs && !ret; tasks *= 2) {
		submit_tasks(env, length, tasks, 0, out);
		kmd_runs(env, out);
		usleep(UNUSED_US);
		active = kmd_power_is("active");
		runs = kmd_fence_status(env->fd, out) == -EBUSY;
		ret = kmd_wait(env->fd, out);
	}
	ok(active && runs, "it stays awake while a job runs");
	ok_ret(ret, 0, "the job ends");
	drmSyncobjDestroy(env->fd, out);
}

static void test_runtime(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct drm_cnnacc_reg_rw args = { .offset = CNNACC_REG_MAGIC };
	int i, ret = 0;

	ok(kmd_soon(kmd_power_is("suspended")), "sleeps when it is not used");
	ok(!kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_REG_RW, &args) && args.value == CNNACC_MAGIC,
	   "a register read wakes it up");
	ok(kmd_soon(kmd_power_is("suspended")), "and it sleeps again");
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "a job wakes it up");
	test_awake(&env);
	for (i = 0; i < 5 && !ret; i++) {
		usleep(120000);
		ret = kmd_run(&env, kmd_program_copy(&env, KMD_DATA_VA, KMD_DATA_VA + 64, 1));
	}
	ok_ret(ret, 0, "sleep and wake five times");
	ok(!kmd_ctx_query(env.fd, env.ctx).state, "the context is healthy");
	kmd_env_free(&env);
	close(env.fd);
}

static void test_sleep(const char *state, uint32_t flags, int first)
{
	struct queued q = queue_jobs(flags);
	char when[64];

	snprintf(when, sizeof(when), "%s%s", state, flags ? ", restartable" : "");
	ok_ret(kmd_write_file("/sys/power/state", state), 0, "%s: with jobs queued", when);
	check_jobs(when, &q, first);
}

static void test_devices_sleep(void)
{
	if (kmd_write_file("/sys/power/pm_test", "devices")) {
		skip("suspend", "the kernel has no pm_test");
		return;
	}
	kmd_write_file("/sys/module/suspend/parameters/pm_test_delay", "1");
	test_sleep("freeze", DRM_CNNACC_JOB_RESTARTABLE, 0);
	test_sleep("mem", 0, -ECANCELED);
	kmd_soon(kmd_power_is("suspended"));	/* the device is suspended already */
	ok_ret(kmd_write_file("/sys/power/state", "mem"), 0, "mem: without a job");
	kmd_write_file("/sys/power/pm_test", "none");
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		test_sleep(argv[1], 0, -ECANCELED);
		test_sleep(argv[1], DRM_CNNACC_JOB_RESTARTABLE, 0);
		test_runtime();
		return done_testing();
	}
	if (kmd_is_pci()) {
		test_flr();
		test_flr_in_use();
	}
	test_runtime();
	test_devices_sleep();
	test_runtime();
	return done_testing();
}
