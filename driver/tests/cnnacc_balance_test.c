// SPDX-License-Identifier: GPL-2.0-only
/* KUnit suite of the choice among equal cores; no device, as that touches only its description. */
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kunit/test.h>

#include "../cnnacc_ctx.h"
#include "../cnnacc_device.h"

#define CNNACC_BALANCE_TEST_CORES	4

/* Core 1 differs from the others, which are equal. */
static int cnnacc_balance_test_init(struct kunit *test)
{
	struct cnnacc_device *cdev = kunit_kzalloc(test, sizeof(*cdev), GFP_KERNEL);
	struct cnnacc_core *core;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, cdev);
	cdev->core_count = CNNACC_BALANCE_TEST_CORES;
	for (i = 0; i < cdev->core_count; i++) {
		core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, core);
		core->index = i;
		core->cdev = cdev;
		core->ready = true;
		core->info.type = 1 + (i == 1);
		core->info.queue_offset = 0x1000 * i;
		cdev->cores[i] = core;
	}
	cnnacc_balance_init(cdev);
	test->priv = cdev;
	return 0;
}

static struct cnnacc_ctx *cnnacc_balance_test_ctx(struct kunit *test, u32 hw_id, u32 priority)
{
	struct cnnacc_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->vm = kunit_kzalloc(test, sizeof(*ctx->vm), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ctx->vm);
	ctx->cdev = test->priv;
	ctx->vm->hw_id = hw_id;
	ctx->priority = priority;
	return ctx;
}

/* A job that may run on any core that is equal to core 0; it has not been charged yet. */
static struct cnnacc_job *cnnacc_balance_test_job(struct kunit *test, struct cnnacc_ctx *ctx,
						  u64 cycles)
{
	struct cnnacc_device *cdev = test->priv;
	struct cnnacc_job *job = kunit_kzalloc(test, sizeof(*job), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, job);
	job->ctx = ctx;
	job->core = cdev->cores[0];
	job->cycle_limit = cycles;
	return job;
}

/* The core that such a job is sent to. */
static unsigned int cnnacc_balance_test_send(struct kunit *test, struct cnnacc_ctx *ctx,
					     u64 cycles)
{
	struct cnnacc_job *job = cnnacc_balance_test_job(test, ctx, cycles);

	cnnacc_balance_choose(job);
	return job->core->index;
}

static void cnnacc_balance_test_equal(struct kunit *test)
{
	struct cnnacc_device *cdev = test->priv;

	KUNIT_EXPECT_EQ(test, cdev->cores[0]->equal, BIT(0) | BIT(2) | BIT(3));
	KUNIT_EXPECT_EQ(test, cdev->cores[1]->equal, BIT(1));
	cdev->cores[3]->info.param[0]++;
	cnnacc_balance_init(cdev);
	KUNIT_EXPECT_EQ(test, cdev->cores[0]->equal, BIT(0) | BIT(2));
}

/* Jobs of the same length go round; a long one weighs as much as many short ones. */
static void cnnacc_balance_test_load(struct kunit *test)
{
	struct cnnacc_ctx *ctx = cnnacc_balance_test_ctx(test, 1, 1);
	unsigned int i, used = 0, same = 0, busy;

	for (i = 0; i < 3; i++)
		used |= BIT(cnnacc_balance_test_send(test, ctx, 100));
	KUNIT_EXPECT_EQ(test, used, BIT(0) | BIT(2) | BIT(3));
	busy = cnnacc_balance_test_send(test, ctx, 1000);
	for (i = 0; i < 18; i++)
		same += cnnacc_balance_test_send(test, ctx, 100) == busy;
	KUNIT_EXPECT_EQ(test, same, 0);
}

/* A job that ends takes its load with it, once. */
static void cnnacc_balance_test_discharge(struct kunit *test)
{
	struct cnnacc_ctx *ctx = cnnacc_balance_test_ctx(test, 1, 1);
	struct cnnacc_job *job = cnnacc_balance_test_job(test, ctx, U64_MAX);
	struct cnnacc_core *core;

	cnnacc_balance_choose(job);
	core = job->core;
	KUNIT_EXPECT_EQ(test, atomic64_read(&core->load[1]), U32_MAX);
	cnnacc_balance_discharge(job);
	cnnacc_balance_discharge(job);
	KUNIT_EXPECT_EQ(test, atomic64_read(&core->load[1]), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&core->charged), U32_MAX);
}

/* Jobs of lower priority run behind, and do not count. */
static void cnnacc_balance_test_priority(struct kunit *test)
{
	struct cnnacc_ctx *low = cnnacc_balance_test_ctx(test, 1, 0);
	struct cnnacc_ctx *high = cnnacc_balance_test_ctx(test, 2, CNNACC_PRIORITIES - 1);
	struct cnnacc_device *cdev = test->priv;
	unsigned int first;

	first = cnnacc_balance_test_send(test, high, 100);
	atomic64_add(U32_MAX, &cdev->cores[first == 3 ? 2 : 3]->load[0]);
	KUNIT_EXPECT_NE(test, cnnacc_balance_test_send(test, high, 100), first);
	KUNIT_EXPECT_NE(test, cnnacc_balance_test_send(test, high, 100), first);
	KUNIT_EXPECT_NE(test, cnnacc_balance_test_send(test, low, 100), first == 3 ? 2 : 3);
}

/* A core that is being reset gets no job, whatever the others have to do, unless all are. */
static void cnnacc_balance_test_recovery(struct kunit *test)
{
	struct cnnacc_ctx *ctx = cnnacc_balance_test_ctx(test, 1, 1);
	struct cnnacc_device *cdev = test->priv;
	unsigned int i;

	cdev->cores[0]->ready = false;
	cdev->cores[2]->ready = false;
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, cnnacc_balance_test_send(test, ctx, U64_MAX), 3);
	cdev->cores[3]->ready = false;
	KUNIT_EXPECT_NE(test, cnnacc_balance_test_send(test, ctx, 100), 3);
	cdev->cores[0]->ready = true;
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, cnnacc_balance_test_send(test, ctx, 100), 0);
}

/* Among idle cores, the one that had the context's last job; else the one charged least. */
static void cnnacc_balance_test_again(struct kunit *test)
{
	struct cnnacc_ctx *a = cnnacc_balance_test_ctx(test, 1, 1);
	struct cnnacc_ctx *b = cnnacc_balance_test_ctx(test, 2, 1);
	struct cnnacc_job *job;
	unsigned int i, core[2];

	for (i = 0; i < 20; i++) {
		job = cnnacc_balance_test_job(test, i % 2 ? b : a, 100);
		cnnacc_balance_choose(job);
		if (i >= 2)
			KUNIT_EXPECT_EQ(test, job->core->index, core[i % 2]);
		core[i % 2] = job->core->index;
		cnnacc_balance_discharge(job);
	}
	KUNIT_EXPECT_NE(test, core[0], core[1]);
}

static struct kunit_case cnnacc_balance_test_cases[] = {
	KUNIT_CASE(cnnacc_balance_test_equal),
	KUNIT_CASE(cnnacc_balance_test_load),
	KUNIT_CASE(cnnacc_balance_test_discharge),
	KUNIT_CASE(cnnacc_balance_test_priority),
	KUNIT_CASE(cnnacc_balance_test_recovery),
	KUNIT_CASE(cnnacc_balance_test_again),
	{ }
};

static struct kunit_suite cnnacc_balance_test_suite = {
	.name = "cnnacc_balance",
	.init = cnnacc_balance_test_init,
	.test_cases = cnnacc_balance_test_cases,
};

kunit_test_suite(cnnacc_balance_test_suite);
