// SPDX-License-Identifier: GPL-2.0-only
/* KUnit suite of the validation of jobs; included in cnnacc_job.c. */
#include <kunit/test.h>

#define CNNACC_JOB_TEST_CYCLES	1000
#define CNNACC_JOB_TEST_PROGRAM	4096
#define CNNACC_JOB_TEST_RING	(10 * CNNACC_CREDITS)	/* cycles: 10 for each credit */

static const struct cnnacc_job_test_task {
	const char *name;
	struct drm_cnnacc_task task;
	int ret;
} cnnacc_job_test_tasks[] = {
	{ "smallest program", { .program_len = 4 }, 0 },
	{ "largest program", { .program_len = CNNACC_JOB_TEST_PROGRAM }, 0 },
	{ "last line", { .program_va = 0xffffffc0, .program_len = 4 }, 0 },
	{ "most cycles", { .program_len = 4, .cycle_limit = CNNACC_JOB_TEST_CYCLES }, 0 },
	{ "statistics", { .flags = DRM_CNNACC_TASK_STATS, .program_len = 4, .stats_va = 64 }, 0 },
	{ "statistics at 0", { .flags = DRM_CNNACC_TASK_STATS, .program_len = 4 }, 0 },
	{ "no program", { .program_len = 0 }, -EINVAL },
	{ "half an instruction", { .program_len = 6 }, -EINVAL },
	{ "too large a program", { .program_len = CNNACC_JOB_TEST_PROGRAM + 4 }, -EINVAL },
	{ "program across lines", { .program_va = 4, .program_len = 4 }, -EINVAL },
	{ "too many cycles",
	  { .program_len = 4, .cycle_limit = CNNACC_JOB_TEST_CYCLES + 1 }, -EINVAL },
	{ "far too many cycles", { .program_len = 4, .cycle_limit = U64_MAX }, -EINVAL },
	{ "unknown flag", { .flags = 2, .program_len = 4 }, -EINVAL },
	{ "statistics not asked for", { .program_len = 4, .stats_va = 64 }, -EINVAL },
	{ "statistics across lines",
	  { .flags = DRM_CNNACC_TASK_STATS, .program_len = 4, .stats_va = 32 }, -EINVAL },
};

static void cnnacc_job_test_task_desc(const struct cnnacc_job_test_task *task, char *desc)
{
	strscpy(desc, task->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cnnacc_job_test_task, cnnacc_job_test_tasks, cnnacc_job_test_task_desc);

/* A context of a device with one core. */
static int cnnacc_job_test_init(struct kunit *test)
{
	struct cnnacc_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct cnnacc_device *cdev = kunit_kzalloc(test, sizeof(*cdev), GFP_KERNEL);
	struct cnnacc_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_ASSERT_NOT_NULL(test, cdev);
	KUNIT_ASSERT_NOT_NULL(test, core);
	core->info.job_cycles_max = CNNACC_JOB_TEST_CYCLES;
	core->info.program_max = CNNACC_JOB_TEST_PROGRAM;
	core->cdev = cdev;
	cdev->clock_hz = CNNACC_JOB_TEST_RING / CNNACC_RING_MS * 1000;
	cdev->core_count = 1;
	cdev->cores[0] = core;
	ctx->cdev = cdev;
	test->priv = ctx;
	return 0;
}

static void cnnacc_job_test_check_task(struct kunit *test)
{
	const struct cnnacc_job_test_task *param = test->param_value;
	struct cnnacc_ctx *ctx = test->priv;
	struct drm_cnnacc_task task = param->task;

	KUNIT_EXPECT_EQ(test, cnnacc_job_check_task(ctx->cdev->cores[0], &task), param->ret);
	if (!param->ret)
		KUNIT_EXPECT_EQ(test, task.cycle_limit,
				param->task.cycle_limit ?: CNNACC_JOB_TEST_CYCLES);
}

static void cnnacc_job_test_create(struct kunit *test)
{
	const struct drm_cnnacc_task tasks[] = { { .program_len = 4 }, { .program_len = 2 } };
	struct drm_cnnacc_job args = { .tasks.count = 1 };
	struct cnnacc_ctx *ctx = test->priv;
	struct cnnacc_job *job;

	job = cnnacc_job_create(ctx, &args, tasks);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, job);
	KUNIT_EXPECT_EQ(test, job->task_count, 1);
	KUNIT_EXPECT_PTR_EQ(test, job->core, ctx->cdev->cores[0]);
	cnnacc_job_free(job);

	args.tasks.count = 2;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_job_create(ctx, &args, tasks)), -EINVAL);
	args.tasks.count = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_job_create(ctx, &args, tasks)), -EINVAL);
	args.tasks.count = 1;
	args.core = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_job_create(ctx, &args, tasks)), -EINVAL);
	args.core = U32_MAX;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_job_create(ctx, &args, tasks)), -EINVAL);
	args.core = 0;
	args.flags = BIT(31);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cnnacc_job_create(ctx, &args, tasks)), -EINVAL);
}

static void cnnacc_job_test_status(struct kunit *test)
{
	static const struct {
		int error;
		u32 state;
	} wanted[] = {
		[CNNACC_STATUS_BAD_PROGRAM] = { -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM },
		[CNNACC_STATUS_MMU_FAULT] = { -EFAULT, DRM_CNNACC_CTX_FAULT },
		[CNNACC_STATUS_BUS_ERROR] = { -EFAULT, DRM_CNNACC_CTX_FAULT },
		[CNNACC_STATUS_CONFIG] = { -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM },
		[CNNACC_STATUS_DEADLOCK] = { -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM },
		[CNNACC_STATUS_TIME_LIMIT] = { -ETIMEDOUT, DRM_CNNACC_CTX_TIME_LIMIT },
	};
	struct cnnacc_completion record = { };
	u32 state;
	u16 class;

	for (class = CNNACC_STATUS_BAD_PROGRAM; class < ARRAY_SIZE(wanted); class++) {
		record.status_class = cpu_to_le16(class);
		KUNIT_EXPECT_EQ(test, cnnacc_job_status(&record, &state), wanted[class].error);
		KUNIT_EXPECT_EQ(test, state, wanted[class].state);
	}
}

static u32 cnnacc_job_test_cost(struct kunit *test, u32 tasks, u64 cycle_limit)
{
	struct drm_cnnacc_task task = { .program_len = 4, .cycle_limit = cycle_limit };
	const struct drm_cnnacc_task copies[] = { task, task, task };
	struct drm_cnnacc_job args = { .tasks.count = tasks };
	struct cnnacc_job *job = cnnacc_job_create(test->priv, &args, copies);
	u32 credits;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, job);
	credits = cnnacc_sched_credits(job);
	cnnacc_job_free(job);
	return credits;
}

/* A job costs the larger of its packets and its part of the ring's time, or all. */
static void cnnacc_job_test_credits(struct kunit *test)
{
	struct cnnacc_ctx *ctx = test->priv;

	KUNIT_EXPECT_EQ(test, cnnacc_job_test_cost(test, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, cnnacc_job_test_cost(test, 3, 1), 3);
	KUNIT_EXPECT_EQ(test, cnnacc_job_test_cost(test, 1, 101), 11);
	KUNIT_EXPECT_EQ(test, cnnacc_job_test_cost(test, 3, 100), 30);
	KUNIT_EXPECT_EQ(test, cnnacc_job_test_cost(test, 1, CNNACC_JOB_TEST_RING - 1),
			CNNACC_CREDITS);
	KUNIT_EXPECT_EQ(test, cnnacc_job_test_cost(test, 1, CNNACC_JOB_TEST_CYCLES),
			CNNACC_CREDITS);
	ctx->events[0] = ERR_PTR(-ENOENT);
	KUNIT_EXPECT_EQ(test, cnnacc_job_test_cost(test, 1, 1), CNNACC_CREDITS);
	ctx->events[0] = NULL;
}

/* Jobs follow another up to the credits that one job may have. */
static void cnnacc_job_test_follow(struct kunit *test)
{
	const struct drm_cnnacc_task task = { .program_len = 4, .cycle_limit = 200 };
	struct drm_cnnacc_job args = { .tasks.count = 1 };
	struct cnnacc_job *jobs[4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = cnnacc_job_create(test->priv, &args, &task);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, jobs[i]);
		KUNIT_EXPECT_EQ(test, cnnacc_job_follow(jobs[i], i ? jobs[0] : NULL),
				i == 1 || i == 2);
	}
	KUNIT_EXPECT_EQ(test, jobs[0]->group_credits, 60);
	KUNIT_EXPECT_EQ(test, jobs[3]->group_credits, 20);
	KUNIT_EXPECT_PTR_EQ(test, cnnacc_job_last_fence(jobs[0]), &jobs[2]->fence->base);
	KUNIT_EXPECT_PTR_EQ(test, cnnacc_job_last_fence(jobs[3]), &jobs[3]->fence->base);
	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		cnnacc_job_free(jobs[i]);
}

static struct kunit_case cnnacc_job_test_cases[] = {
	KUNIT_CASE_PARAM(cnnacc_job_test_check_task, cnnacc_job_test_task_gen_params),
	KUNIT_CASE(cnnacc_job_test_create),
	KUNIT_CASE(cnnacc_job_test_status),
	KUNIT_CASE(cnnacc_job_test_credits),
	KUNIT_CASE(cnnacc_job_test_follow),
	{ }
};

static struct kunit_suite cnnacc_job_test_suite = {
	.name = "cnnacc_job",
	.init = cnnacc_job_test_init,
	.test_cases = cnnacc_job_test_cases,
};

kunit_test_suite(cnnacc_job_test_suite);
