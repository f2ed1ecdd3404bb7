// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite of imported buffers whose exporter blocks in unmapping, or of which two share memory;
 * included in cnnacc_gem.c.
 */
#include <linux/completion.h>
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "cnnacc_mock.h"

#define CNNACC_GEM_TEST_MS	60000	/* timeout of operations that must not block */

/**
 * struct cnnacc_gem_test - an imported buffer whose exporter blocks in unmapping.
 * @mock: device
 * @page: memory of the buffer
 * @buf: dma-buf
 * @obj: buffer
 * @asked: completed when the exporter is asked to unmap
 * @takes: completed to let the exporter unmap
 * @free: releases the buffer
 * @stop: stops the device
 * @others: creates and closes another buffer
 * @freed: completed when @free is done
 * @stopped: completed when @stop is done
 * @used: completed when @others is done
 * @ret: result of @others
 */
struct cnnacc_gem_test {
	struct cnnacc_mock *mock;
	struct page *page;
	struct dma_buf *buf;
	struct drm_gem_object *obj;
	struct completion asked;
	struct completion takes;
	struct work_struct free;
	struct work_struct stop;
	struct work_struct others;
	struct completion freed;
	struct completion stopped;
	struct completion used;
	int ret;
};

static struct sg_table *cnnacc_gem_test_map(struct dma_buf_attachment *attach,
					    enum dma_data_direction dir)
{
	struct cnnacc_gem_test *t = attach->dmabuf->priv;
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	if (sg_alloc_table(sgt, 1, GFP_KERNEL)) {
		kfree(sgt);
		return ERR_PTR(-ENOMEM);
	}
	sg_set_page(sgt->sgl, t->page, PAGE_SIZE, 0);
	/* Nobody uses the memory, which may be mapped twice. */
	if (dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC)) {
		sg_free_table(sgt);
		kfree(sgt);
		return ERR_PTR(-EIO);
	}
	return sgt;
}

static void cnnacc_gem_test_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
				  enum dma_data_direction dir)
{
	struct cnnacc_gem_test *t = attach->dmabuf->priv;

	complete(&t->asked);
	wait_for_completion(&t->takes);
	dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

static void cnnacc_gem_test_release(struct dma_buf *buf)
{
	struct cnnacc_gem_test *t = buf->priv;

	__free_page(t->page);
}

static const struct dma_buf_ops cnnacc_gem_test_ops = {
	.map_dma_buf = cnnacc_gem_test_map,
	.unmap_dma_buf = cnnacc_gem_test_unmap,
	.release = cnnacc_gem_test_release,
};

static void cnnacc_gem_test_free_work(struct work_struct *work)
{
	struct cnnacc_gem_test *t = container_of(work, struct cnnacc_gem_test, free);

	drm_gem_object_put(t->obj);
	complete(&t->freed);
}

static void cnnacc_gem_test_stop_work(struct work_struct *work)
{
	struct cnnacc_gem_test *t = container_of(work, struct cnnacc_gem_test, stop);

	cnnacc_device_stop(t->mock->cdev);
	complete(&t->stopped);
}

static void cnnacc_gem_test_others_work(struct work_struct *work)
{
	struct cnnacc_gem_test *t = container_of(work, struct cnnacc_gem_test, others);
	struct drm_cnnacc_bo_create args = { .size = PAGE_SIZE };
	struct drm_file *file = t->mock->file->private_data;

	t->ret = cnnacc_bo_create_ioctl(&t->mock->cdev->drm, &args, file);
	if (!t->ret)
		t->ret = drm_gem_handle_delete(file, args.handle);
	complete(&t->used);
}

static void cnnacc_gem_test_put(void *data)
{
	dma_buf_put(data);
	flush_delayed_fput();
}

static int cnnacc_gem_test_init(struct kunit *test)
{
	struct cnnacc_gem_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	KUNIT_ASSERT_NOT_NULL(test, t);
	init_completion(&t->asked);
	init_completion(&t->takes);
	init_completion(&t->freed);
	init_completion(&t->stopped);
	init_completion(&t->used);
	INIT_WORK(&t->free, cnnacc_gem_test_free_work);
	INIT_WORK(&t->stop, cnnacc_gem_test_stop_work);
	INIT_WORK(&t->others, cnnacc_gem_test_others_work);
	t->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, t->page);
	info.ops = &cnnacc_gem_test_ops;
	info.size = PAGE_SIZE;
	info.priv = t;
	t->buf = dma_buf_export(&info);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->buf);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, cnnacc_gem_test_put, t->buf));
	t->mock = cnnacc_mock_create(test);
	t->obj = cnnacc_gem_import(&t->mock->cdev->drm, t->buf);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->obj);
	test->priv = t;
	return 0;
}

static bool cnnacc_gem_test_waited(struct completion *done)
{
	return wait_for_completion_timeout(done, msecs_to_jiffies(CNNACC_GEM_TEST_MS));
}

/* Only the release of an imported buffer waits for its exporter. */
static void cnnacc_gem_test_blocked(struct kunit *test)
{
	struct cnnacc_gem_test *t = test->priv;

	cnnacc_mock_file(t->mock);
	queue_work(system_unbound_wq, &t->free);
	KUNIT_EXPECT_TRUE(test, cnnacc_gem_test_waited(&t->asked));
	queue_work(system_unbound_wq, &t->others);
	KUNIT_EXPECT_TRUE(test, cnnacc_gem_test_waited(&t->used));
	KUNIT_EXPECT_EQ(test, t->ret, 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&t->freed));
	complete(&t->takes);
	flush_work(&t->free);
	flush_work(&t->others);
}

/* Stopping the device waits until the exporter has unmapped its memory, whoever asked for that. */
static void cnnacc_gem_test_stopped(struct kunit *test, bool free_first)
{
	struct cnnacc_gem_test *t = test->priv;

	if (free_first) {
		queue_work(system_unbound_wq, &t->free);
		KUNIT_EXPECT_TRUE(test, cnnacc_gem_test_waited(&t->asked));
	}
	queue_work(system_unbound_wq, &t->stop);
	if (!free_first)
		KUNIT_EXPECT_TRUE(test, cnnacc_gem_test_waited(&t->asked));
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&t->stopped, msecs_to_jiffies(200)));
	complete(&t->takes);
	flush_work(&t->stop);
	t->mock->cdev = NULL;
	if (!free_first)
		queue_work(system_unbound_wq, &t->free);
	flush_work(&t->free);
}

static void cnnacc_gem_test_stop_kept(struct kunit *test)
{
	cnnacc_gem_test_stopped(test, false);
}

static void cnnacc_gem_test_stop_freed(struct kunit *test)
{
	cnnacc_gem_test_stopped(test, true);
}

/* What a SUBMIT of one job reads from user memory. */
struct cnnacc_gem_test_user {
	struct drm_cnnacc_job job;
	struct drm_cnnacc_task task;
	struct drm_cnnacc_bo_ref refs[2];
};

static u64 cnnacc_gem_test_copy(struct kunit *test, const u32 *handles)
{
	u64 user = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
				 MAP_ANONYMOUS | MAP_PRIVATE, 0);
	struct cnnacc_gem_test_user copy = {
		.job.tasks = {
			.stride = sizeof(copy.task), .count = 1,
			.array = user + offsetof(struct cnnacc_gem_test_user, task),
		},
		.job.bos = {
			.stride = sizeof(copy.refs[0]), .count = ARRAY_SIZE(copy.refs),
			.array = user + offsetof(struct cnnacc_gem_test_user, refs),
		},
		.task = { .program_va = 0x1000, .program_len = 64 },
		.refs = {
			{ .handle = handles[0], .flags = DRM_CNNACC_BO_REF_READ },
			{ .handle = handles[1], .flags = DRM_CNNACC_BO_REF_WRITE },
		},
	};

	KUNIT_ASSERT_NE(test, user, 0);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user(u64_to_user_ptr(user), &copy, sizeof(copy)));
	return user;
}

/* Two buffers of one dma-buf have one reservation object, and a job may use both. */
static void cnnacc_gem_test_one_resv(struct kunit *test)
{
	struct cnnacc_gem_test *t = test->priv;
	struct drm_device *drm = &t->mock->cdev->drm;
	struct drm_file *file = cnnacc_mock_file(t->mock);
	struct cnnacc_ctx *ctx = cnnacc_mock_ctx(t->mock);
	struct drm_gem_object *second = cnnacc_gem_import(drm, t->buf);
	struct drm_cnnacc_submit args = {
		.ctx_id = 1, .jobs = { .stride = sizeof(struct drm_cnnacc_job), .count = 1 },
	};
	u32 handles[2];

	complete_all(&t->takes);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	KUNIT_EXPECT_PTR_NE(test, second, t->obj);
	KUNIT_EXPECT_PTR_EQ(test, second->resv, t->obj->resv);
	KUNIT_ASSERT_EQ(test, 0, drm_gem_handle_create(file, t->obj, &handles[0]));
	KUNIT_ASSERT_EQ(test, 0, drm_gem_handle_create(file, second, &handles[1]));
	drm_gem_object_put(t->obj);
	drm_gem_object_put(second);
	args.jobs.array = cnnacc_gem_test_copy(test, handles);
	KUNIT_EXPECT_EQ(test, 0, cnnacc_submit_ioctl(drm, &args, file));
	KUNIT_EXPECT_EQ(test, args.first_seqno, 1);
	KUNIT_EXPECT_EQ(test, 0, cnnacc_mock_run(t->mock, ctx, 1));
}

static struct kunit_case cnnacc_gem_test_cases[] = {
	KUNIT_CASE(cnnacc_gem_test_blocked),
	KUNIT_CASE(cnnacc_gem_test_stop_kept),
	KUNIT_CASE(cnnacc_gem_test_stop_freed),
	KUNIT_CASE(cnnacc_gem_test_one_resv),
	{ }
};

static struct kunit_suite cnnacc_gem_test_suite = {
	.name = "cnnacc_gem",
	.init = cnnacc_gem_test_init,
	.test_cases = cnnacc_gem_test_cases,
};

kunit_test_suite(cnnacc_gem_test_suite);
