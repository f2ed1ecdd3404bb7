// SPDX-License-Identifier: MIT
/*
 * Recovery, triggered through registers: a queue that does not start its jobs is a hang, a lost
 * interrupt is not, and a device reset distinguishes guilty from innocent jobs.
 */
#include <errno.h>

#include <xf86drm.h>

#include "kmd.h"

static void test_hang(struct kmd_env *env, struct kmd_env *other)
{
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_ctx_query q;
	uint32_t out = kmd_syncobj(env->fd);
	double start = kmd_seconds();

	kmd_core_info(env->fd, env->core, &core);
	kmd_poke(core.queue_offset + CNNACC_QREG_CTRL, 0);
	ok_ret(kmd_submit(env, kmd_program_nop(env), 0, out), 0, "a job that will not start");
	ok_ret(kmd_run(other, kmd_program_nop(other)), 0, "the next one runs");
	ok_ret(kmd_fence_status(env->fd, out), -ETIMEDOUT, "the first has hung");
	note("after %.1f s", kmd_seconds() - start);
	q = kmd_ctx_query(env->fd, env->ctx);
	ok(q.state == DRM_CNNACC_CTX_HANG && q.failed_jobs == 1 && !q.status_class &&
	   !q.reset_jobs, "and its context knows");
	ok(!kmd_ctx_query(other->fd, other->ctx).state, "the other one is healthy");
	drmSyncobjDestroy(env->fd, out);
}

static void test_lost_interrupt(struct kmd_env *env)
{
	struct drm_cnnacc_ctx_query before = kmd_ctx_query(env->fd, env->ctx);
	int i, ret = 0;

	kmd_poke(CNNACC_REG_IRQ_ENABLE, 0);
	ok_ret(kmd_run(env, kmd_program_nop(env)), 0, "a job whose interrupt is lost ends");
	ok(kmd_ctx_query(env->fd, env->ctx).failed_jobs == before.failed_jobs, "well");
	kmd_poke(CNNACC_REG_IRQ_ENABLE, 0x80ffffff);
	for (i = 0; i < 10 && !ret; i++)
		ret = kmd_run(env, kmd_program_nop(env));
	ok_ret(ret, 0, "and so do the next");
}

static int submit_long(struct kmd_env *env, uint32_t tasks, uint32_t flags, uint32_t out)
{
	return kmd_submit_tasks(env, kmd_program_long(env), tasks, flags, out);
}

/* A job that runs longer than the watchdog's period. */
static void test_slow(struct kmd_env *env)
{
	struct drm_cnnacc_ctx_query before = kmd_ctx_query(env->fd, env->ctx);
	uint32_t out = kmd_syncobj(env->fd);
	double start = kmd_seconds();

	ok_ret(submit_long(env, 4, 0, out), 0, "a slow job");
	ok_ret(kmd_wait(env->fd, out), 0, "is let finish");
	note("after %.1f s", kmd_seconds() - start);
	ok(kmd_ctx_query(env->fd, env->ctx).failed_jobs == before.failed_jobs,
	   "and is no failure");
	drmSyncobjDestroy(env->fd, out);
}

static void test_device_reset(struct kmd_env *env, struct kmd_env *other)
{
	uint32_t out = kmd_syncobj(env->fd), next = kmd_syncobj(env->fd);
	struct drm_cnnacc_dev_info before, after;
	struct drm_cnnacc_ctx_query q;

	kmd_dev_info(env->fd, &before);
	submit_long(env, KMD_LONG_TASKS, 0, out);
	kmd_submit(other, kmd_program_nop(other), 0, next);
	ok(kmd_runs(env, out), "a job runs");
	ok_ret(kmd_force_reset("device"), 0, "a device reset");
	ok_ret(kmd_wait(env->fd, out), -ECANCELED, "a job lost to a device reset");
	ok_ret(kmd_wait(env->fd, next), 0, "one that had not started runs");
	q = kmd_ctx_query(env->fd, env->ctx);
	ok(q.state & DRM_CNNACC_CTX_INNOCENT_RESET && q.reset_jobs == 1, "its context knows");
	ok(!kmd_ctx_query(other->fd, other->ctx).state, "the other is healthy");
	kmd_dev_info(env->fd, &after);
	ok(after.reset_count == before.reset_count + 1, "the reset is counted");

	submit_long(env, 2, DRM_CNNACC_JOB_RESTARTABLE, out);
	kmd_runs(env, out);
	ok_ret(kmd_force_reset("device"), 0, "a device reset");
	ok_ret(kmd_wait(env->fd, out), 0, "a restartable job is run again");
	ok(kmd_ctx_query(env->fd, env->ctx).reset_jobs == 1, "and not counted as lost");
	drmSyncobjDestroy(env->fd, out);
	drmSyncobjDestroy(env->fd, next);
}

int main(void)
{
	struct kmd_env env = kmd_env(kmd_open()), other = kmd_env(env.fd);

	kmd_stay_awake(true);
	test_hang(&env, &other);
	test_lost_interrupt(&env);
	test_slow(&env);
	test_device_reset(&env, &other);
	kmd_stay_awake(false);
	return done_testing();
}
