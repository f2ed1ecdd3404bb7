/* SPDX-License-Identifier: MIT */
#include "context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cnnrt_context_create(struct cnnrt_device *dev, enum cnnrt_priority priority,
			 struct cnnrt_context **out, struct cnnrt_error *err)
{
	struct cnnrt_context *ctx;
	int ret = rt_check_runs(dev, err);

	if (ret)
		return ret;
	if ((unsigned int)priority > CNNRT_PRIORITY_HIGH)
		return rt_fail(err, CNNRT_EINVAL, "context: priority %d: 0..2 wanted",
			       (int)priority);
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return rt_fail(err, CNNRT_ENOMEM, "context: out of memory");
	ctx->dev = dev;
	ctx->priority = priority;
	*out = ctx;
	return CNNRT_OK;
}

int rt_bo_new(struct cnnrt_device *dev, uint64_t size, uint32_t use, uint32_t vm_id,
	      struct rt_bo *bo, struct cnnrt_error *err)
{
	uint32_t flags = DRM_CNNACC_BO_CACHED | (vm_id ? DRM_CNNACC_BO_PRIVATE : 0);
	int ret = dev->ops->bo_create(dev, size, use, flags, vm_id, bo);

	if (ret)
		return rt_fail_errno(err, ret, "device memory of %llu bytes (at most %llu)",
				     (unsigned long long)size,
				     (unsigned long long)dev->info.max_buffer);
	ret = dev->ops->bo_map(dev, bo);
	if (!ret)
		return CNNRT_OK;
	dev->ops->bo_close(dev, bo);
	return rt_fail_errno(err, ret, "mapping %llu bytes of device memory",
			     (unsigned long long)size);
}

int rt_bo_upload(struct cnnrt_device *dev, const void *data, uint64_t size, uint32_t use,
		 struct rt_bo *bo, struct cnnrt_error *err)
{
	int ret = size ? rt_bo_new(dev, size, use, 0, bo, err) : CNNRT_OK;

	if (ret || !size)
		return ret;
	memcpy(bo->map, data, (size_t)size);
	ret = dev->ops->bo_sync(dev, bo, DRM_CNNACC_BO_SYNC_FOR_DEVICE);
	if (!ret)
		return CNNRT_OK;
	dev->ops->bo_close(dev, bo);
	return rt_fail_errno(err, ret, "uploading %llu bytes", (unsigned long long)size);
}

int rt_bind(struct cnnrt_device *dev, uint32_t vm_id, const struct rt_bind_range *range,
	    struct cnnrt_error *err)
{
	struct drm_cnnacc_bind_op op = {
		.op = DRM_CNNACC_BIND_MAP, .flags = range->flags, .handle = range->bo->handle,
		.va = range->va, .bo_offset = range->bo_offset, .size = range->size,
	};
	int ret = dev->ops->bind(dev, vm_id, &op, 1);

	if (ret)
		return rt_fail_errno(err, ret, "mapping %llu bytes at VA 0x%llx",
				     (unsigned long long)range->size,
				     (unsigned long long)range->va);
	return CNNRT_OK;
}

/* Operations of one ioctl; every driver takes more. */
#define UNMAPS	16

int rt_unbind(struct cnnrt_device *dev, uint32_t vm_id, const struct rt_mapped *mapped,
	      unsigned int count, struct cnnrt_error *err)
{
	struct drm_cnnacc_bind_op op[UNMAPS];
	int ret = 0;

	for (unsigned int i = 0, n; i < count && !ret; i += n) {
		n = count - i < UNMAPS ? count - i : UNMAPS;
		for (unsigned int k = 0; k < n; k++)
			op[k] = (struct drm_cnnacc_bind_op){
				.op = DRM_CNNACC_BIND_UNMAP, .flags = DRM_CNNACC_BIND_NOWAIT,
				.va = mapped[i + k].va, .size = mapped[i + k].size,
			};
		ret = dev->ops->bind(dev, vm_id, op, n);
	}
	return ret ? rt_fail_errno(err, ret, "unmapping device memory") : CNNRT_OK;
}

static int new_buffer(struct cnnrt_context *ctx, struct cnnrt_buffer **out, struct cnnrt_error *err)
{
	int ret = rt_check_process(ctx->dev, err);

	if (ret)
		return ret;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return rt_fail(err, CNNRT_ENOMEM, "buffer: out of memory");
	(*out)->dev = ctx->dev;
	return CNNRT_OK;
}

int cnnrt_buffer_create(struct cnnrt_context *ctx, size_t size, struct cnnrt_buffer **out,
			struct cnnrt_error *err)
{
	struct cnnrt_buffer *buf;
	int ret = new_buffer(ctx, &buf, err);

	if (ret)
		return ret;
	ret = rt_bo_new(ctx->dev, size, DRM_CNNACC_BO_DATA, 0, &buf->bo, err);
	if (ret)
		free(buf);
	else
		*out = buf;
	return ret;
}

int cnnrt_buffer_import(struct cnnrt_context *ctx, int fd, struct cnnrt_buffer **out,
			struct cnnrt_error *err)
{
	struct cnnrt_buffer *buf;
	int ret = new_buffer(ctx, &buf, err);

	if (ret)
		return ret;
	ret = ctx->dev->ops->bo_import(ctx->dev, fd, &buf->bo);
	if (ret) {
		free(buf);
		return rt_fail_errno(err, ret, "buffer: importing descriptor %d", fd);
	}
	*out = buf;
	return CNNRT_OK;
}

int cnnrt_buffer_export(struct cnnrt_buffer *buf, int *fd, struct cnnrt_error *err)
{
	int ret = rt_check_process(buf->dev, err);

	if (ret)
		return ret;
	ret = buf->dev->ops->bo_export(buf->dev, &buf->bo, fd);
	return ret ? rt_fail_errno(err, ret, "buffer: export") : CNNRT_OK;
}

int cnnrt_buffer_map(struct cnnrt_buffer *buf, void **ptr, struct cnnrt_error *err)
{
	int ret = rt_check_process(buf->dev, err);

	if (ret)
		return ret;
	ret = buf->bo.map ? 0 : buf->dev->ops->bo_map(buf->dev, &buf->bo);
	if (ret)
		return rt_fail_errno(err, ret, "buffer: map");
	*ptr = buf->bo.map;
	return CNNRT_OK;
}

size_t cnnrt_buffer_size(const struct cnnrt_buffer *buf)
{
	return buf->bo.size;
}

int cnnrt_buffer_sync(struct cnnrt_buffer *buf, enum cnnrt_sync what, struct cnnrt_error *err)
{
	int ret = rt_check_process(buf->dev, err);

	if (ret)
		return ret;
	if (what != CNNRT_SYNC_FOR_DEVICE && what != CNNRT_SYNC_FOR_CPU)
		return rt_fail(err, CNNRT_EINVAL, "buffer: sync %d: 1 or 2 wanted", (int)what);
	ret = buf->dev->ops->bo_sync(buf->dev, &buf->bo,
				     what == CNNRT_SYNC_FOR_DEVICE ?
				     DRM_CNNACC_BO_SYNC_FOR_DEVICE : DRM_CNNACC_BO_SYNC_FOR_CPU);
	return ret ? rt_fail_errno(err, ret, "buffer: sync") : CNNRT_OK;
}

void cnnrt_buffer_free(struct cnnrt_buffer *buf)
{
	if (!buf || !rt_is_ours(buf->dev))
		return;
	buf->dev->ops->bo_close(buf->dev, &buf->bo);
	free(buf);
}

static int code_of_fence(int fence_errno)
{
	switch (fence_errno) {
	case 0:
		return CNNRT_OK;
	case -ECANCELED:
		return CNNRT_ECANCELED;
	case -ENODEV:
		return CNNRT_EGONE;
	}
	return CNNRT_EJOB;
}

int cnnrt_status_describe(const char *core, struct cnnrt_job_status *status,
			  struct cnnrt_error *err)
{
	struct drm_cnnacc_ctx_query q;
	struct cnnrt_job_status s;
	int ret = rt_struct_read(RT_JOB_STATUS, &s, status, err);

	if (ret)
		return ret;
	q = (struct drm_cnnacc_ctx_query){
		.status_class = s.status_class, .status_code = s.status_code,
		.detail = s.detail, .pc = s.pc, .access = s.access, .fault_va = s.va,
	};
	s.class_name = rt_class_name(q.status_class);
	s.code_name = rt_code_name(core, q.status_code);
	if (q.status_class == CNNACC_STATUS_OK)
		snprintf(s.text, sizeof(s.text), "OK");
	else
		rt_status_text(core, &q, s.text, sizeof(s.text));
	rt_struct_write(RT_JOB_STATUS, status, &s);
	return CNNRT_OK;
}

void rt_job_done(struct cnnrt_job_status *status)
{
	*status = (struct cnnrt_job_status){
		.state = CNNRT_JOB_DONE, .core = -1, .class_name = rt_class_name(CNNACC_STATUS_OK),
		.code_name = rt_code_name("", CNNACC_CODE_NONE),
	};
}

void rt_job_failure(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t seqno, int fence_errno,
		    struct cnnrt_job_status *status)
{
	struct drm_cnnacc_ctx_query q = { .ctx_id = ctx_id };
	char text[CNNRT_ERROR_TEXT / 2];

	status->state = CNNRT_JOB_FAILED;
	status->code = code_of_fence(fence_errno);
	status->core = -1;
	status->class_name = status->code == CNNRT_EGONE ? "GONE" : "CANCELED";
	status->code_name = "NONE";
	if (dev->ops->ctx_query(dev, &q) || q.seqno != seqno || q.core >= dev->info.core_count) {
		snprintf(status->text, sizeof(status->text), "%s", cnnrt_strerror(status->code));
		return;
	}
	status->core = (int)q.core;
	status->task = q.task;
	status->status_class = q.status_class;
	status->status_code = q.status_code;
	status->detail = q.detail;
	status->pc = q.pc;
	status->access = q.access;
	status->va = q.fault_va;
	status->class_name = q.status_class ? rt_class_name(q.status_class) : "HANG";
	status->code_name = rt_code_name(dev->core[q.core].name, q.status_code);
	rt_status_text(dev->core[q.core].name, &q, text, sizeof(text));
	snprintf(status->text, sizeof(status->text), "core %u (%s): %s", q.core,
		 dev->core[q.core].name, text);
}
