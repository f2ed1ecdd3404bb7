// SPDX-License-Identifier: GPL-2.0-only
/* KUnit suite of recovery, with a mock device; included in cnnacc_recovery.c. */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/kthread.h>

#include "cnnacc_mock.h"

static void cnnacc_recovery_test_after(struct kunit *test, struct cnnacc_mock *mock,
				       unsigned int core_resets, unsigned int resets)
{
	struct cnnacc_ctx *other = cnnacc_mock_ctx(mock);

	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, other, 3), 0);
	KUNIT_EXPECT_EQ(test, other->status.state, 0);
	KUNIT_EXPECT_EQ(test, mock->core_resets, core_resets);
	KUNIT_EXPECT_EQ(test, mock->resets, resets);
	KUNIT_EXPECT_FALSE(test, mock->stopped_dma);
}

static const struct cnnacc_recovery_test_hang {
	const char *name;
	bool no_abort;
	bool core_reset_stuck;
	unsigned int core_resets;
	unsigned int resets;
} cnnacc_recovery_test_hangs[] = {
	{ "abort", .core_resets = 1 },
	{ "no abort", .no_abort = true, .core_resets = 1 },
	{ "abort, no core reset", .core_reset_stuck = true, .resets = 1 },
	{ "no abort, no core reset", .no_abort = true, .core_reset_stuck = true, .resets = 1 },
};

static void cnnacc_recovery_test_hang_desc(const struct cnnacc_recovery_test_hang *hang, char *desc)
{
	strscpy(desc, hang->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cnnacc_recovery_test_hang, cnnacc_recovery_test_hangs,
		  cnnacc_recovery_test_hang_desc);

/* Only the job that hangs ends; the jobs queued behind it run. */
static void cnnacc_recovery_test_hanging(struct kunit *test)
{
	const struct cnnacc_recovery_test_hang *param = test->param_value;
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *guilty = cnnacc_mock_ctx(mock), *innocent = cnnacc_mock_ctx(mock);
	struct dma_fence *fence, *behind;

	mock->no_abort = param->no_abort;
	mock->core_reset_stuck = param->core_reset_stuck;
	mock->does = CNNACC_MOCK_HANGS;
	fence = cnnacc_mock_submit(mock, guilty, 2, 0);
	behind = cnnacc_mock_submit(mock, innocent, 2, 0);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -ETIMEDOUT);
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, behind), 0);
	KUNIT_EXPECT_EQ(test, guilty->status.state, DRM_CNNACC_CTX_HANG);
	KUNIT_EXPECT_EQ(test, guilty->status.failed_jobs, 1);
	KUNIT_EXPECT_EQ(test, guilty->status.seqno, 1);
	KUNIT_EXPECT_EQ(test, innocent->status.state, 0);
	cnnacc_recovery_test_after(test, mock, param->core_resets, param->resets);
}

/* A fault leads to a core reset; the job behind it has not started and runs. */
static void cnnacc_recovery_test_fault(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *guilty = cnnacc_mock_ctx(mock), *innocent = cnnacc_mock_ctx(mock);
	struct dma_fence *fence, *behind;

	mock->does = CNNACC_MOCK_FAULTS;
	fence = cnnacc_mock_submit(mock, guilty, 3, 0);
	behind = cnnacc_mock_submit(mock, innocent, 3, 0);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -EFAULT);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, behind), 0);
	KUNIT_EXPECT_EQ(test, guilty->status.state, DRM_CNNACC_CTX_FAULT);
	KUNIT_EXPECT_EQ(test, guilty->status.status_class, CNNACC_STATUS_MMU_FAULT);
	KUNIT_EXPECT_EQ(test, guilty->status.task, 0);
	cnnacc_recovery_test_after(test, mock, 1, 0);
}

/* A slow job that makes progress is not a hang. */
static void cnnacc_recovery_test_slow(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *fence;

	mock->does = CNNACC_MOCK_WORKS;
	fence = cnnacc_mock_submit(mock, ctx, 2, 0);
	msleep(5000);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), 0);
	cnnacc_recovery_test_after(test, mock, 0, 0);
}

/* It is one after job_limit_ms. */
static void cnnacc_recovery_test_too_long(struct kunit *test)
{
	unsigned int limit = cnnacc_job_limit_ms;
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);

	cnnacc_job_limit_ms = 1000;
	mock->does = CNNACC_MOCK_WORKS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 1), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ctx->status.state, DRM_CNNACC_CTX_HANG);
	cnnacc_job_limit_ms = limit;
	cnnacc_recovery_test_after(test, mock, 1, 0);
}

/* A device that does not reset is cut off from memory, and all jobs fail with -ENODEV. */
static void cnnacc_recovery_test_wedged(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock), *innocent = cnnacc_mock_ctx(mock);
	struct dma_fence *fence, *behind;

	mock->core_reset_stuck = true;
	mock->reset_stuck = true;
	mock->does = CNNACC_MOCK_HANGS;
	fence = cnnacc_mock_submit(mock, ctx, 1, 0);
	behind = cnnacc_mock_submit(mock, innocent, 1, 0);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, behind), -ENODEV);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, innocent, 1), -ENODEV);
	KUNIT_EXPECT_TRUE(test, mock->cdev->wedged);
	KUNIT_EXPECT_TRUE(test, mock->stopped_dma);
	mock->reset_stuck = false;
}

/* The jobs of a device that is gone are not guilty. */
static void cnnacc_recovery_test_gone(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *fence, *behind;

	mock->does = CNNACC_MOCK_HANGS;
	fence = cnnacc_mock_submit(mock, ctx, 1, 0);
	behind = cnnacc_mock_submit(mock, ctx, 1, 0);
	cnnacc_mock_remove(mock);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -ENODEV);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, behind), -ENODEV);
	KUNIT_EXPECT_EQ(test, ctx->status.state, 0);
	KUNIT_EXPECT_EQ(test, ctx->status.failed_jobs, 0);
}

/* A requested reset ends the running job, which is innocent. */
static void cnnacc_recovery_test_forced(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *fence;

	mock->does = CNNACC_MOCK_WORKS;
	fence = cnnacc_mock_submit(mock, ctx, 1, 0);
	while (!cnnacc_mock_read(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_PROGRESS))
		usleep_range(100, 1000);
	cnnacc_core_force_reset(mock->cdev->cores[0]);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -ECANCELED);
	KUNIT_EXPECT_EQ(test, ctx->status.state, DRM_CNNACC_CTX_INNOCENT_RESET);
	KUNIT_EXPECT_EQ(test, ctx->status.failed_jobs, 0);
	cnnacc_recovery_test_after(test, mock, 1, 0);
}

/* A restartable job runs again after a device reset, and its context state is unchanged. */
static void cnnacc_recovery_test_restart(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *lost, *again;

	mock->does = CNNACC_MOCK_WORKS;
	lost = cnnacc_mock_submit(mock, ctx, 1, 0);
	while (!cnnacc_mock_read(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_PROGRESS))
		usleep_range(100, 1000);
	cnnacc_device_request_reset(mock->cdev);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, lost), -ECANCELED);

	again = cnnacc_mock_submit(mock, ctx, 1, DRM_CNNACC_JOB_RESTARTABLE);
	while (!cnnacc_mock_read(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_PROGRESS))
		usleep_range(100, 1000);
	cnnacc_device_request_reset(mock->cdev);
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, again), 0);
	KUNIT_EXPECT_EQ(test, ctx->status.reset_jobs, 1);
	cnnacc_recovery_test_after(test, mock, 0, 2);
}

/* Destroying a context cancels its jobs except for those that the core has been given. */
static void cnnacc_recovery_test_destroy(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct drm_cnnacc_ctx_destroy args = { .ctx_id = 1 };
	struct dma_fence *running, *given, *queued;

	mock->does = CNNACC_MOCK_WORKS;
	running = cnnacc_mock_submit(mock, ctx, 1, 0);
	given = cnnacc_mock_submit(mock, ctx, 1, 0);
	queued = cnnacc_mock_submit(mock, ctx, CNNACC_MOCK_RING_TASKS, 0);
	while (cnnacc_mock_read(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_RING_TAIL) < 2)
		usleep_range(100, 1000);
	KUNIT_EXPECT_EQ(test, cnnacc_ctx_destroy_ioctl(&mock->cdev->drm, &args,
						       cnnacc_mock_file(mock)), 0);
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, running), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, given), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, queued), -ECANCELED);
	cnnacc_recovery_test_after(test, mock, 0, 0);
}

/*
 * A job whose file is closed is ended even if it makes progress, and is not run again, also not
 * after a device reset; jobs of others are not affected.
 */
static void cnnacc_recovery_test_orphan(struct kunit *test)
{
	const struct cnnacc_recovery_test_hang *param = test->param_value;
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *fence;

	mock->no_abort = param->no_abort;
	mock->core_reset_stuck = param->core_reset_stuck;
	mock->does = CNNACC_MOCK_WORKS;
	fence = cnnacc_mock_submit(mock, ctx, 3, DRM_CNNACC_JOB_RESTARTABLE);
	while (!cnnacc_mock_read(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_PROGRESS))
		usleep_range(100, 1000);
	fput(mock->file);
	flush_delayed_fput();
	mock->file = NULL;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -ECANCELED);
	KUNIT_EXPECT_EQ(test, ctx->status.failed_jobs, 0);
	cnnacc_recovery_test_after(test, mock, param->core_resets, param->resets);
}

#define CNNACC_RECOVERY_TEST_JOBS	32

/* A core, and jobs of a context whose file is closed while they are looked at. */
struct cnnacc_recovery_test_closing {
	struct cnnacc_core core;
	struct cnnacc_ctx ctx;
	struct cnnacc_file file;
	struct cnnacc_job *jobs[CNNACC_RECOVERY_TEST_JOBS];
};

static int cnnacc_recovery_test_closer(void *data)
{
	struct cnnacc_recovery_test_closing *closing = data;

	while (!kthread_should_stop()) {
		WRITE_ONCE(closing->file.closed, true);
		cond_resched();
	}
	return 0;
}

/* Returns how many jobs a list has, or -1 if they are not in order from number @first on. */
static int cnnacc_recovery_test_count(const struct list_head *jobs, u64 first)
{
	const struct cnnacc_job *job;
	int count = 0;

	list_for_each_entry(job, jobs, link)
		if (job->seqno != first + count++)
			return -1;
	return count;
}

/* Of a file that is closed meanwhile the earlier jobs go, if not all. */
static void cnnacc_recovery_test_closed(struct kunit *test)
{
	struct cnnacc_recovery_test_closing *closing = kunit_kzalloc(test, sizeof(*closing),
								     GFP_KERNEL);
	struct cnnacc_core *core;
	struct task_struct *closer;
	int i, round, gone;

	KUNIT_ASSERT_NOT_NULL(test, closing);
	core = &closing->core;
	spin_lock_init(&core->lock);
	closing->ctx.file = &closing->file;
	for (i = 0; i < CNNACC_RECOVERY_TEST_JOBS; i++) {
		closing->jobs[i] = kunit_kzalloc(test, sizeof(*closing->jobs[i]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, closing->jobs[i]);
		closing->jobs[i]->ctx = &closing->ctx;
		closing->jobs[i]->seqno = i;
	}
	closer = kthread_run(cnnacc_recovery_test_closer, closing, "cnnacc-closer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(closer));
	for (round = 0; round < 20000; round++) {
		INIT_LIST_HEAD(&core->jobs);
		INIT_LIST_HEAD(&core->innocent);
		for (i = 0; i < CNNACC_RECOVERY_TEST_JOBS; i++)
			list_add_tail(&closing->jobs[i]->link, &core->jobs);
		scoped_guard(spinlock_irq, &core->lock) {
			WRITE_ONCE(closing->file.closed, false);
			cnnacc_core_drop_orphans(core);
		}
		gone = cnnacc_recovery_test_count(&core->innocent, 0);
		if (gone < 0 || cnnacc_recovery_test_count(&core->jobs, gone) < 0)
			break;
	}
	KUNIT_EXPECT_EQ(test, round, 20000);
	kthread_stop(closer);
}

static struct kunit_case cnnacc_recovery_test_cases[] = {
	KUNIT_CASE_PARAM(cnnacc_recovery_test_hanging, cnnacc_recovery_test_hang_gen_params),
	KUNIT_CASE(cnnacc_recovery_test_fault),
	KUNIT_CASE_SLOW(cnnacc_recovery_test_slow),
	KUNIT_CASE_SLOW(cnnacc_recovery_test_too_long),
	KUNIT_CASE_SLOW(cnnacc_recovery_test_wedged),
	KUNIT_CASE(cnnacc_recovery_test_gone),
	KUNIT_CASE(cnnacc_recovery_test_forced),
	KUNIT_CASE(cnnacc_recovery_test_restart),
	KUNIT_CASE(cnnacc_recovery_test_destroy),
	KUNIT_CASE(cnnacc_recovery_test_closed),
	KUNIT_CASE_PARAM_ATTR(cnnacc_recovery_test_orphan, cnnacc_recovery_test_hang_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	{ }
};

static struct kunit_suite cnnacc_recovery_test_suite = {
	.name = "cnnacc_recovery",
	.test_cases = cnnacc_recovery_test_cases,
};

kunit_test_suite(cnnacc_recovery_test_suite);
