// SPDX-License-Identifier: GPL-2.0-only
/* KUnit suite of the hardware queue, with a mock device. */
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/module.h>

#include "../cnnacc_ctx.h"
#include "../cnnacc_device.h"
#include "cnnacc_mock.h"

/* More packets than ring entries, in consecutive jobs. */
static void cnnacc_queue_test_wrap(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	u32 packets, tasks;

	for (packets = 0; packets < 3 * CNNACC_RING_ENTRIES; packets += tasks) {
		tasks = 1 + packets % CNNACC_MAX_TASKS;
		KUNIT_ASSERT_EQ(test, cnnacc_mock_run(mock, ctx, tasks), 0);
	}
	KUNIT_EXPECT_EQ(test, mock->seq, packets);
	KUNIT_EXPECT_EQ(test, mock->head, packets % CNNACC_RING_ENTRIES);
}

/* Queued jobs of two contexts all run, in order within each context. */
static void cnnacc_queue_test_many(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx[] = { cnnacc_mock_ctx(mock), cnnacc_mock_ctx(mock) };
	struct dma_fence *fences[32];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fences); i++)
		fences[i] = cnnacc_mock_submit(mock, ctx[i % 2], 1 + i % 3, 0);
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fences[i]), 0);
	for (i = 2; i < ARRAY_SIZE(fences); i++)
		KUNIT_EXPECT_GE(test, ktime_compare(fences[i]->timestamp,
						    fences[i - 2]->timestamp), 0);
}

/* A packet has the fields of its task; only the last packet of a job has the IRQ flag. */
static void cnnacc_queue_test_packets(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	const struct cnnacc_packet *ring = mock->cdev->cores[0]->ring;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, cnnacc_mock_run(mock, ctx, 3), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, le32_to_cpu(ring[i].flags),
				i == 2 ? CNNACC_PACKET_IRQ : 0);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(ring[i].ctx_id), ctx->vm->hw_id);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(ring[i].root), ctx->vm->root_dma);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(ring[i].fence),
				le64_to_cpu(ring[0].fence) + i);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(ring[i].cycle_limit), CNNACC_MOCK_CYCLES);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(ring[i].program_va), 0x1000);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(ring[i].program_len), 64);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(ring[i].stats_va), 0);
		KUNIT_EXPECT_NULL(test, memchr_inv(ring[i].reserved, 0,
						   sizeof(ring[i].reserved)));
	}
}

static void cnnacc_queue_test_wrong_seq(struct cnnacc_mock *mock, struct cnnacc_completion *record)
{
	le32_add_cpu(&record->seq, 1);
}

static void cnnacc_queue_test_wrong_fence(struct cnnacc_mock *mock,
					  struct cnnacc_completion *record)
{
	record->fence ^= cpu_to_le64(BIT_ULL(63));
}

static void cnnacc_queue_test_wrong_ctx(struct cnnacc_mock *mock, struct cnnacc_completion *record)
{
	le32_add_cpu(&record->ctx_id, 1);
}

static void cnnacc_queue_test_wrong_class(struct cnnacc_mock *mock,
					  struct cnnacc_completion *record)
{
	record->status_class = cpu_to_le16(CNNACC_STATUS_ABORTED + 1);
}

static void cnnacc_queue_test_nothing(struct cnnacc_mock *mock, struct cnnacc_completion *record)
{
	memset(record, 0, sizeof(*record));
}

static const struct cnnacc_queue_test_spoiler {
	const char *name;
	void (*spoil)(struct cnnacc_mock *mock, struct cnnacc_completion *record);
} cnnacc_queue_test_spoilers[] = {
	{ "wrong number", cnnacc_queue_test_wrong_seq },
	{ "wrong fence value", cnnacc_queue_test_wrong_fence },
	{ "wrong context", cnnacc_queue_test_wrong_ctx },
	{ "unknown class", cnnacc_queue_test_wrong_class },
	{ "nothing written", cnnacc_queue_test_nothing },
};

static void cnnacc_queue_test_spoiler_desc(const struct cnnacc_queue_test_spoiler *spoiler,
					   char *desc)
{
	strscpy(desc, spoiler->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cnnacc_queue_test_spoiler, cnnacc_queue_test_spoilers,
		  cnnacc_queue_test_spoiler_desc);

/* An invalid record counts as a hang: the core is reset and runs the next job. */
static void cnnacc_queue_test_bad_record(struct kunit *test)
{
	const struct cnnacc_queue_test_spoiler *param = test->param_value;
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);

	KUNIT_ASSERT_EQ(test, cnnacc_mock_run(mock, ctx, 2), 0);
	mock->spoil = param->spoil;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 2), -ETIMEDOUT);
	mock->spoil = NULL;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 2), 0);
	KUNIT_EXPECT_EQ(test, mock->core_resets, 1);
	KUNIT_EXPECT_EQ(test, ctx->status.state, DRM_CNNACC_CTX_HANG);
	KUNIT_EXPECT_EQ(test, ctx->status.failed_jobs, 1);
}

static struct dma_fence *cnnacc_queue_test_start(struct cnnacc_mock *mock, struct cnnacc_ctx *ctx,
						 u32 flags)
{
	struct dma_fence *fence;

	mock->does = CNNACC_MOCK_WORKS;
	fence = cnnacc_mock_submit(mock, ctx, 1, flags);
	while (!cnnacc_mock_read(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_PROGRESS))
		usleep_range(100, 1000);
	return fence;
}

/* So does an index that is out of range. */
static void cnnacc_queue_test_bad_tail(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *fence = cnnacc_queue_test_start(mock, ctx, 0);

	cnnacc_mock_write(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_COMPL_TAIL, CNNACC_RING_ENTRIES);
	cnnacc_mock_interrupt(mock, 0);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -ETIMEDOUT);
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 1), 0);
}

struct cnnacc_queue_test_end {
	struct dma_fence_cb cb;
	struct cnnacc_core *core;
	bool enabled;
};

static void cnnacc_queue_test_ended(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct cnnacc_queue_test_end *end = container_of(cb, struct cnnacc_queue_test_end, cb);

	end->enabled = READ_ONCE(end->core->enabled);
}

/* When a job ends with a record too many, no other starts, which would be blamed for the record. */
static void cnnacc_queue_test_repeated_record(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct cnnacc_queue_test_end end = { .core = mock->cdev->cores[0], .enabled = true };
	struct dma_fence *fence = cnnacc_queue_test_start(mock, ctx, 0);

	KUNIT_ASSERT_EQ(test, dma_fence_add_callback(fence, &end.cb, cnnacc_queue_test_ended), 0);
	mock->repeat = true;
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), 0);
	KUNIT_EXPECT_FALSE(test, end.enabled);
	mock->repeat = false;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 1), 0);
	KUNIT_EXPECT_EQ(test, mock->core_resets, 1);
	KUNIT_EXPECT_EQ(test, ctx->status.failed_jobs, 0);
}

/* A spurious interrupt has no effect; the watchdog finds a lost one. */
static void cnnacc_queue_test_interrupts(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	unsigned int i;

	for (i = 0; i < 100; i++) {
		cnnacc_mock_interrupt(mock, i % 2);
		if (i % 10 == 0)
			KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 1), 0);
	}
	mock->no_irq = true;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 1), 0);
	KUNIT_EXPECT_EQ(test, mock->core_resets, 0);
}

/* Events are counted while the job runs. */
static void cnnacc_queue_test_events(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *fence = cnnacc_queue_test_start(mock, ctx, 0);
	unsigned int i;

	cnnacc_mock_write(mock, CNNACC_MOCK_QUEUE + CNNACC_QREG_EVENT_COUNT, 200);
	cnnacc_mock_interrupt(mock, 0);
	for (i = 0; i < 1000 && READ_ONCE(mock->cdev->cores[0]->events) != 200; i++)
		msleep(20);
	KUNIT_EXPECT_LT(test, i, 1000);
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), 0);
}

/* A core that cannot read its packets is reset. */
static void cnnacc_queue_test_shell_error(struct kunit *test)
{
	struct cnnacc_mock *mock = cnnacc_mock_create(test);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(mock);
	struct dma_fence *fence = cnnacc_queue_test_start(mock, ctx, 0);

	cnnacc_mock_write(mock, CNNACC_REG_ERR_CODE, CNNACC_SHELL_PACKET_READ);
	cnnacc_mock_write(mock, CNNACC_REG_ERR_CORE, 0);
	cnnacc_mock_write(mock, CNNACC_REG_IRQ_STATUS, CNNACC_IRQ_ERROR);
	cnnacc_mock_interrupt(mock, 1);
	KUNIT_EXPECT_EQ(test, cnnacc_mock_wait(mock, fence), -ETIMEDOUT);
	cnnacc_mock_write(mock, CNNACC_REG_IRQ_STATUS, 0);
	mock->does = CNNACC_MOCK_RUNS;
	KUNIT_EXPECT_EQ(test, cnnacc_mock_run(mock, ctx, 1), 0);
	KUNIT_EXPECT_EQ(test, mock->core_resets, 1);
}

static struct kunit_case cnnacc_queue_test_cases[] = {
	KUNIT_CASE(cnnacc_queue_test_wrap),
	KUNIT_CASE(cnnacc_queue_test_many),
	KUNIT_CASE(cnnacc_queue_test_packets),
	KUNIT_CASE_PARAM(cnnacc_queue_test_bad_record, cnnacc_queue_test_spoiler_gen_params),
	KUNIT_CASE(cnnacc_queue_test_bad_tail),
	KUNIT_CASE(cnnacc_queue_test_repeated_record),
	KUNIT_CASE(cnnacc_queue_test_interrupts),
	KUNIT_CASE(cnnacc_queue_test_events),
	KUNIT_CASE(cnnacc_queue_test_shell_error),
	{ }
};

static struct kunit_suite cnnacc_queue_test_suite = {
	.name = "cnnacc_queue",
	.test_cases = cnnacc_queue_test_cases,
};

kunit_test_suite(cnnacc_queue_test_suite);
