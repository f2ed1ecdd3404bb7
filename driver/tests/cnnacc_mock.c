// SPDX-License-Identifier: GPL-2.0-only
/* Mock device for KUnit: registers in memory and a thread as the shell. */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/kthread.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_kunit_helpers.h>

#include "../cnnacc_ctx.h"
#include "../cnnacc_device.h"
#include "../cnnacc_job.h"
#include "cnnacc_mock.h"

#define CNNACC_MOCK_WAIT_MS	60000

static u32 *cnnacc_mock_reg(struct cnnacc_mock *mock, u32 offset)
{
	return (u32 *)(mock->regs + offset);
}

/**
 * cnnacc_mock_read() - Read a register, from the side of the device
 * @mock: device
 * @offset: register
 *
 * Return: the value
 */
u32 cnnacc_mock_read(struct cnnacc_mock *mock, u32 offset)
{
	return READ_ONCE(*cnnacc_mock_reg(mock, offset));
}

/**
 * cnnacc_mock_write() - Write a register, from the side of the device
 * @mock: device
 * @offset: register
 * @value: value
 */
void cnnacc_mock_write(struct cnnacc_mock *mock, u32 offset, u32 value)
{
	WRITE_ONCE(*cnnacc_mock_reg(mock, offset), value);
}

static u32 cnnacc_mock_queue_read(struct cnnacc_mock *mock, u32 offset)
{
	return cnnacc_mock_read(mock, CNNACC_MOCK_QUEUE + offset);
}

static void cnnacc_mock_queue_write(struct cnnacc_mock *mock, u32 offset, u32 value)
{
	cnnacc_mock_write(mock, CNNACC_MOCK_QUEUE + offset, value);
}

/**
 * cnnacc_mock_interrupt() - Raise an interrupt
 * @mock: device
 * @vector: 0: vector of the core, 1: vector of errors
 */
void cnnacc_mock_interrupt(struct cnnacc_mock *mock, unsigned int vector)
{
	generic_handle_irq_safe(mock->irqs[vector]);
}

/**
 * cnnacc_mock_remove() - Simulate a surprise removal
 * @mock: device; its registers read as all ones from now on
 */
void cnnacc_mock_remove(struct cnnacc_mock *mock)
{
	kthread_park(mock->thread);
	memset(mock->regs, 0xff, CNNACC_REGS_SIZE);
}

/* Updates STATE at once after a write to CTRL, as the driver reads it next. */
static void cnnacc_mock_reset_queue(struct cnnacc_mock *mock)
{
	memset(mock->regs + CNNACC_MOCK_QUEUE, 0, CNNACC_QREG_BLOCK_SIZE);
	cnnacc_mock_queue_write(mock, CNNACC_QREG_STATE, CNNACC_QSTATE_IDLE);
	mock->head = 0;
	mock->tail = 0;
	mock->seq = 0;
	mock->halted = false;
}

static void cnnacc_mock_fill(struct cnnacc_mock *mock)
{
	const u32 entry[] = {
		CNNACC_MOCK_TYPE, 0x10000, 0x4000, 0x1000, CNNACC_MOCK_QUEUE,
		CNNACC_MOCK_PROGRAM, CNNACC_MOCK_CYCLES, 0, 'm' | 'o' << 8 | 'c' << 16 | 'k' << 24,
	};

	cnnacc_mock_write(mock, CNNACC_REG_MAGIC, CNNACC_MAGIC);
	cnnacc_mock_write(mock, CNNACC_REG_HW_VERSION, CNNACC_HW_VERSION);
	cnnacc_mock_write(mock, CNNACC_REG_FEATURES, CNNACC_FEATURE_COHERENT);
	cnnacc_mock_write(mock, CNNACC_REG_CORE_COUNT, 1);
	cnnacc_mock_write(mock, CNNACC_REG_CLOCK_HZ, CNNACC_MOCK_HZ);
	cnnacc_mock_write(mock, CNNACC_REG_CORE_TABLE, CNNACC_CORE_TABLE_OFFSET);
	memcpy(mock->regs + CNNACC_CORE_TABLE_OFFSET, entry, sizeof(entry));
	cnnacc_mock_reset_queue(mock);
}

/* Ends the packet at the head. */
static void cnnacc_mock_complete(struct cnnacc_mock *mock, u16 class)
{
	struct cnnacc_core *core = mock->cdev->cores[0];
	const struct cnnacc_packet *packet = &core->ring[mock->head];
	struct cnnacc_completion record = {
		.fence = packet->fence,
		.seq = cpu_to_le32(++mock->seq),
		.ctx_id = packet->ctx_id,
		.status_class = cpu_to_le16(class),
		.cycles = cpu_to_le64(1),
	};

	if (mock->spoil)
		mock->spoil(mock, &record);
	core->records[mock->tail] = record;
	mock->tail = (mock->tail + 1) % CNNACC_RING_ENTRIES;
	if (mock->repeat) {
		core->records[mock->tail] = record;
		mock->tail = (mock->tail + 1) % CNNACC_RING_ENTRIES;
	}
	if (class == CNNACC_STATUS_OK)
		mock->head = (mock->head + 1) % CNNACC_RING_ENTRIES;
	else
		mock->halted = true;
	smp_wmb();	/* the record must be visible before its index */
	cnnacc_mock_queue_write(mock, CNNACC_QREG_COMPL_TAIL, mock->tail);
	if (!mock->no_irq)
		cnnacc_mock_interrupt(mock, 0);
}

static void cnnacc_mock_serve_queue(struct cnnacc_mock *mock)
{
	u32 ctrl = cnnacc_mock_queue_read(mock, CNNACC_QREG_CTRL);
	u32 progress = cnnacc_mock_queue_read(mock, CNNACC_QREG_PROGRESS);
	bool abort = ctrl & CNNACC_QCTRL_ABORT && !mock->no_abort;

	if (abort)
		cnnacc_mock_queue_write(mock, CNNACC_QREG_CTRL, ctrl & ~CNNACC_QCTRL_ABORT);
	if (!(ctrl & CNNACC_QCTRL_ENABLE) || mock->halted ||
	    mock->head == cnnacc_mock_queue_read(mock, CNNACC_QREG_RING_TAIL))
		return;
	smp_rmb();	/* read the packet after its index */
	if (READ_ONCE(mock->does) != CNNACC_MOCK_HANGS)
		cnnacc_mock_queue_write(mock, CNNACC_QREG_PROGRESS, progress + 1);
	if (abort) {
		cnnacc_mock_complete(mock, CNNACC_STATUS_ABORTED);
	} else if (READ_ONCE(mock->does) == CNNACC_MOCK_FAULTS) {
		mock->does = CNNACC_MOCK_RUNS;
		cnnacc_mock_complete(mock, CNNACC_STATUS_MMU_FAULT);
	} else if (READ_ONCE(mock->does) == CNNACC_MOCK_RUNS) {
		cnnacc_mock_complete(mock, CNNACC_STATUS_OK);
	}
}

static void cnnacc_mock_serve(struct cnnacc_mock *mock)
{
	if (cnnacc_mock_read(mock, CNNACC_REG_RESET) & 1 && !READ_ONCE(mock->reset_stuck)) {
		cnnacc_mock_reset_queue(mock);
		mock->resets++;
		cnnacc_mock_write(mock, CNNACC_REG_RESET, 0);
	}
	if (!(cnnacc_mock_queue_read(mock, CNNACC_QREG_RESET) & 1)) {
		cnnacc_mock_serve_queue(mock);
	} else if (!READ_ONCE(mock->core_reset_stuck)) {
		cnnacc_mock_reset_queue(mock);
		mock->core_resets++;
	}
}

static int cnnacc_mock_thread(void *data)
{
	struct cnnacc_mock *mock = data;

	while (!kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		else
			cnnacc_mock_serve(mock);
		usleep_range(50, 200);
	}
	return 0;
}

static struct cnnacc_mock *cnnacc_mock_of(struct device *dev)
{
	return dev_get_platdata(dev);
}

static int cnnacc_mock_irq(struct device *dev, unsigned int vector)
{
	return cnnacc_mock_of(dev)->irqs[vector];
}

static void cnnacc_mock_allow_dma(struct device *dev, bool allow)
{
	cnnacc_mock_of(dev)->stopped_dma = !allow;
}

static const struct cnnacc_bus cnnacc_mock_bus = {
	.irq = cnnacc_mock_irq,
	.allow_dma = cnnacc_mock_allow_dma,
	.wedged = "WEDGED=rebind",
	.irq_hint = "the mock device",
};

static void cnnacc_mock_free(void *data)
{
	kfree(data);
}

static void cnnacc_mock_free_irqs(void *data)
{
	struct cnnacc_mock *mock = data;

	irq_free_descs(mock->irqs[0], ARRAY_SIZE(mock->irqs));
}

static void cnnacc_mock_alloc_irqs(struct cnnacc_mock *mock)
{
	int base = irq_alloc_descs(-1, 0, ARRAY_SIZE(mock->irqs), NUMA_NO_NODE);
	unsigned int i;

	KUNIT_ASSERT_GE(mock->test, base, 0);
	for (i = 0; i < ARRAY_SIZE(mock->irqs); i++) {
		mock->irqs[i] = base + i;
		irq_set_chip_and_handler(base + i, &dummy_irq_chip, handle_simple_irq);
	}
	KUNIT_ASSERT_EQ(mock->test, 0,
			kunit_add_action_or_reset(mock->test, cnnacc_mock_free_irqs, mock));
}

/* The device is stopped before the thread, as the stop needs the shell. */
static void cnnacc_mock_end(void *data)
{
	struct cnnacc_mock *mock = data;

	if (mock->file) {
		fput(mock->file);
		flush_delayed_fput();
	}
	mock->does = CNNACC_MOCK_RUNS;
	if (mock->cdev)
		cnnacc_device_stop(mock->cdev);
	kthread_stop(mock->thread);
}

/**
 * cnnacc_mock_create() - Create a mock device and start it
 * @test: test, at whose end it is freed
 *
 * Return: the device
 */
struct cnnacc_mock *cnnacc_mock_create(struct kunit *test)
{
	struct cnnacc_mock *mock = kunit_kzalloc(test, sizeof(*mock), GFP_KERNEL);
	struct cnnacc_device *cdev;
	struct device *dev;

	KUNIT_ASSERT_NOT_NULL(test, mock);
	mock->test = test;
	mock->regs = kzalloc(CNNACC_REGS_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mock->regs);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, cnnacc_mock_free, mock->regs));
	cnnacc_mock_alloc_irqs(mock);
	cnnacc_mock_fill(mock);
	dev = drm_kunit_helper_alloc_device(test);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	dev->platform_data = mock;
	dev->dma_parms = kunit_kzalloc(test, sizeof(*dev->dma_parms), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev->dma_parms);
	/* Hold a runtime PM reference until the end. */
	pm_runtime_get_noresume(dev);
	pm_runtime_set_active(dev);
	KUNIT_ASSERT_EQ(test, 0, devm_pm_runtime_enable(dev));

	cdev = cnnacc_device_create(dev, (__force void __iomem *)mock->regs, &cnnacc_mock_bus);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cdev);
	mock->thread = kthread_run(cnnacc_mock_thread, mock, "cnnacc-mock");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mock->thread);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, cnnacc_mock_end, mock));
	mock->cdev = cdev;
	cdev->vector_max = ARRAY_SIZE(mock->irqs);
	KUNIT_ASSERT_EQ(test, 0, cnnacc_device_start(cdev));
	mock->resets = 0;
	return mock;
}

/**
 * cnnacc_mock_file() - Open a DRM file of the device
 * @mock: device
 *
 * Return: the file, freed with the device
 */
struct drm_file *cnnacc_mock_file(struct cnnacc_mock *mock)
{
	char path[32];

	if (!mock->file) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", mock->cdev->drm.accel->index);
		mock->file = filp_open(path, O_RDWR, 0);
		if (IS_ERR(mock->file)) {
			KUNIT_FAIL(mock->test, "cannot open %s", path);
			mock->file = NULL;
			kunit_try_catch_throw(&mock->test->try_catch);
		}
	}
	return mock->file->private_data;
}

static void cnnacc_mock_put_ctx(void *data)
{
	cnnacc_ctx_put(data);
}

/**
 * cnnacc_mock_ctx() - Create a context with an address space of its own
 * @mock: device
 *
 * Return: the context, referenced until the test ends
 */
struct cnnacc_ctx *cnnacc_mock_ctx(struct cnnacc_mock *mock)
{
	struct drm_cnnacc_ctx_create args = { .priority = DRM_CNNACC_PRIORITY_NORMAL };
	struct drm_cnnacc_vm_create vm = { };
	struct drm_file *file = cnnacc_mock_file(mock);
	struct cnnacc_ctx *ctx;

	KUNIT_ASSERT_EQ(mock->test, 0, cnnacc_vm_create_ioctl(&mock->cdev->drm, &vm, file));
	args.vm_id = vm.vm_id;
	KUNIT_ASSERT_EQ(mock->test, 0, cnnacc_ctx_create_ioctl(&mock->cdev->drm, &args, file));
	ctx = cnnacc_ctx_get(file, args.ctx_id);
	KUNIT_ASSERT_NOT_NULL(mock->test, ctx);
	KUNIT_ASSERT_EQ(mock->test, 0,
			kunit_add_action_or_reset(mock->test, cnnacc_mock_put_ctx, ctx));
	return ctx;
}

static void cnnacc_mock_put_fence(void *data)
{
	dma_fence_put(data);
}

/**
 * cnnacc_mock_submit() - Queue a job
 * @mock: device
 * @ctx: context
 * @tasks: number of tasks
 * @flags: DRM_CNNACC_JOB_*
 *
 * Return: fence of the job, referenced until the test ends
 */
struct dma_fence *cnnacc_mock_submit(struct cnnacc_mock *mock, struct cnnacc_ctx *ctx,
				     u32 tasks, u32 flags)
{
	static const struct drm_cnnacc_task task = { .program_va = 0x1000, .program_len = 64 };
	struct drm_cnnacc_job args = { .flags = flags, .tasks.count = tasks };
	struct drm_cnnacc_task copies[CNNACC_MAX_TASKS];
	struct dma_fence *fence;
	struct cnnacc_job *job;
	int ret;
	u32 i;

	for (i = 0; i < tasks; i++)
		copies[i] = task;
	KUNIT_ASSERT_EQ(mock->test, 0, cnnacc_vm_prepare(ctx->vm));
	KUNIT_ASSERT_EQ(mock->test, 0,
			cnnacc_ctx_reserve(ctx, 1, (u64)tasks * CNNACC_MOCK_CYCLES, true));
	mutex_lock(&ctx->submit_lock);
	job = cnnacc_job_create(ctx, &args, copies);
	ret = PTR_ERR_OR_ZERO(job);
	if (!ret) {
		cnnacc_job_init_fence(job);
		cnnacc_job_follow(job, NULL);
		ret = cnnacc_job_arm(job, cnnacc_mock_file(mock));
	}
	if (ret) {
		mutex_unlock(&ctx->submit_lock);
		KUNIT_FAIL(mock->test, "no job: %d", ret);
		kunit_try_catch_throw(&mock->test->try_catch);
	}
	fence = dma_fence_get(&job->fence->base);
	job->seqno = ++ctx->seqno;
	cnnacc_sched_queue(job);
	mutex_unlock(&ctx->submit_lock);
	KUNIT_ASSERT_EQ(mock->test, 0,
			kunit_add_action_or_reset(mock->test, cnnacc_mock_put_fence, fence));
	return fence;
}

/**
 * cnnacc_mock_wait() - Wait for a job
 * @mock: device
 * @fence: fence of the job
 *
 * Return: 0, the fence's error, or 1 if it is not signalled in time
 */
int cnnacc_mock_wait(struct cnnacc_mock *mock, struct dma_fence *fence)
{
	if (dma_fence_wait_timeout(fence, false, msecs_to_jiffies(CNNACC_MOCK_WAIT_MS)) <= 0)
		return 1;
	return fence->error;
}

/**
 * cnnacc_mock_run() - Run a job
 * @mock: device
 * @ctx: context
 * @tasks: number of tasks
 *
 * Return: result of cnnacc_mock_wait()
 */
int cnnacc_mock_run(struct cnnacc_mock *mock, struct cnnacc_ctx *ctx, u32 tasks)
{
	return cnnacc_mock_wait(mock, cnnacc_mock_submit(mock, ctx, tasks, 0));
}
