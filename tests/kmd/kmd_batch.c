// SPDX-License-Identifier: MIT
/*
 * Jobs of one SUBMIT with small cycle limits are started on the core together.  Each ends on its
 * own, and none runs twice.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define JOBS		16
#define BAD		5	/* index of the job that fails */
#define LIMIT		10000	/* cycles */
#define NOWHERE		0x80000000u
#define ENDLESS		(CNNACC_PAGE_SIZE / 2)	/* offset of that program */

struct batch {
	struct kmd_env *env;
	struct drm_cnnacc_task tasks[JOBS];
	struct drm_cnnacc_sync syncs[JOBS];
	struct drm_cnnacc_job jobs[JOBS];
	uint32_t endless_len;		/* bytes of the program at ENDLESS */
};

static void prepare(struct batch *b, struct kmd_env *env)
{
	uint32_t length = kmd_program_nop(env);

	b->endless_len = env->programs->endless((uint32_t *)((char *)env->program.map + ENDLESS));
	b->env = env;
	for (int i = 0; i < JOBS; i++) {
		b->tasks[i] = kmd_task(length);
		b->tasks[i].cycle_limit = LIMIT;
		b->syncs[i] = (struct drm_cnnacc_sync){
			.flags = DRM_CNNACC_SYNC_SIGNAL, .handle = kmd_syncobj(env->fd),
		};
		b->jobs[i] = (struct drm_cnnacc_job){
			.core = env->core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(1, &b->tasks[i]),
			.syncs = DRM_CNNACC_OBJ_ARRAY(1, &b->syncs[i]),
		};
	}
}

static void drop(struct batch *b)
{
	for (int i = 0; i < JOBS; i++)
		drmSyncobjDestroy(b->env->fd, b->syncs[i].handle);
}

static uint32_t queue_reg(struct kmd_env *env, uint32_t offset)
{
	struct drm_cnnacc_core_info core;

	kmd_core_info(env->fd, env->core, &core);
	return core.queue_offset + offset;
}

static uint32_t read_reg(struct kmd_env *env, uint32_t offset)
{
	struct drm_cnnacc_reg_rw args = { .offset = offset };

	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_REG_RW, &args))
		bail("REG_RW");
	return args.value;
}

/* Number of jobs that the core has run since the last reset of the device. */
static uint32_t jobs_run(struct kmd_env *env)
{
	return read_reg(env, queue_reg(env, CNNACC_QREG_STATS + offsetof(struct cnnacc_stats, jobs)));
}

/* Number of jobs other than @bad that succeeded. */
static int good_ones(struct batch *b, int bad)
{
	int good = 0;

	for (int i = 0; i < JOBS; i++)
		good += i != bad && !kmd_wait(b->env->fd, b->syncs[i].handle);
	return good;
}

static void test_all_good(struct batch *b)
{
	uint32_t before = jobs_run(b->env);

	ok_ret(kmd_submit_jobs(b->env->fd, b->env->ctx, b->jobs, JOBS), 0, "short jobs");
	ok(good_ones(b, -1) == JOBS, "all end well");
	ok(jobs_run(b->env) - before == JOBS, "each has run once");
}

static void test_one_fails(struct batch *b, uint32_t program_va, uint32_t length, int error)
{
	struct drm_cnnacc_task good = b->tasks[BAD];
	struct drm_cnnacc_submit submit;
	struct drm_cnnacc_ctx_query q = kmd_ctx_query(b->env->fd, b->env->ctx);
	uint32_t before = jobs_run(b->env), failed = q.failed_jobs;

	b->tasks[BAD].program_va = program_va;
	b->tasks[BAD].program_len = length;
	ok_ret(kmd_submit_told(b->env->fd, b->env->ctx, b->jobs, JOBS, &submit), 0,
	       "a bad one among them");
	ok(good_ones(b, BAD) == JOBS - 1, "the others end well");
	ok_ret(kmd_wait(b->env->fd, b->syncs[BAD].handle), error, "it does not");
	q = kmd_ctx_query(b->env->fd, b->env->ctx);
	ok(q.failed_jobs == failed + 1 && q.seqno == submit.first_seqno + BAD, "the context knows which");
	ok(jobs_run(b->env) - before == JOBS, "each has run once");
	b->tasks[BAD] = good;
}

static void test_hang(struct batch *b)
{
	uint32_t before = jobs_run(b->env);

	kmd_poke(queue_reg(b->env, CNNACC_QREG_CTRL), 0);
	ok_ret(kmd_submit_jobs(b->env->fd, b->env->ctx, b->jobs, JOBS), 0, "to a core that stands");
	ok(good_ones(b, 0) == JOBS - 1, "the others end well");
	ok_ret(kmd_fence_status(b->env->fd, b->syncs[0].handle), -ETIMEDOUT, "the first has hung");
	ok(jobs_run(b->env) - before == JOBS - 1, "each other has run once");
}

/* Some jobs end before the reset, one may be ended by it, the others run afterwards. */
static void test_device_reset(struct batch *b)
{
	struct drm_cnnacc_ctx_query before = kmd_ctx_query(b->env->fd, b->env->ctx), after;
	int lost;

	for (int i = 0; i < JOBS; i++)
		b->tasks[i].program_len = kmd_program_delay(b->env, LIMIT / 8);
	ok_ret(kmd_submit_jobs(b->env->fd, b->env->ctx, b->jobs, JOBS), 0, "before a device reset");
	ok_ret(kmd_force_reset("device"), 0, "which is requested");
	lost = JOBS - good_ones(b, -1);
	after = kmd_ctx_query(b->env->fd, b->env->ctx);
	ok(lost <= 1 && after.reset_jobs - before.reset_jobs == (uint32_t)lost,
	   "at most the one that ran is lost");
	ok(after.failed_jobs == before.failed_jobs, "none is to blame");
}

int main(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct batch b;

	prepare(&b, &env);
	kmd_stay_awake(true);
	test_all_good(&b);
	test_one_fails(&b, NOWHERE, 4, -EFAULT);
	test_one_fails(&b, KMD_PROGRAM_VA + ENDLESS, b.endless_len, -ETIMEDOUT);
	test_hang(&b);
	test_all_good(&b);
	test_device_reset(&b);
	kmd_stay_awake(false);
	drop(&b);
	kmd_env_free(&env);
	return done_testing();
}
