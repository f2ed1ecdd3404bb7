/* SPDX-License-Identifier: MIT */
/* The weight and program images in device memory, one copy per context and program. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

static int upload(struct cnnrt_device *dev, const void *data, int64_t size, uint32_t use,
		  struct rt_bo *bo, struct cnnrt_error *err)
{
	int ret;

	if (!size)
		return CNNRT_OK;
	ret = rt_bo_new(dev, (uint64_t)size, use, 0, bo, err);
	if (ret)
		return ret;
	memcpy(bo->map, data, (size_t)size);
	ret = dev->ops->bo_sync(dev, bo, DRM_CNNACC_BO_SYNC_FOR_DEVICE);
	return ret ? rt_fail_errno(err, ret, "uploading %lld bytes of weights or programs",
				   (long long)size) :
		     CNNRT_OK;
}

static void free_images(struct cnnrt_device *dev, struct rt_weight_images *im)
{
	if (im->weights.handle)
		dev->ops->bo_close(dev, &im->weights);
	if (im->code.handle)
		dev->ops->bo_close(dev, &im->code);
	free(im);
}

static int new_images(struct cnnrt_context *ctx, const struct cnnrt_program *program,
		      struct rt_weight_images **out, struct cnnrt_error *err)
{
	const struct cnn_lowered *low = program->low;
	struct rt_weight_images *im = calloc(1, sizeof(*im));
	int ret;

	if (!im)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	im->program = program;
	ret = upload(ctx->dev, low->weights, low->weight_bytes, DRM_CNNACC_BO_WEIGHT, &im->weights,
		     err) ?:
	      upload(ctx->dev, low->program, low->program_bytes, DRM_CNNACC_BO_PROGRAM, &im->code,
		     err);
	if (ret) {
		free_images(ctx->dev, im);
		return ret;
	}
	im->next = ctx->images;
	ctx->images = im;
	*out = im;
	return CNNRT_OK;
}

int rt_weight_images_get(struct cnnrt_context *ctx, const struct cnnrt_program *program,
			 struct rt_weight_images **out, struct cnnrt_error *err)
{
	struct rt_weight_images *im;
	int ret = CNNRT_OK;

	pthread_mutex_lock(&ctx->lock);
	for (im = ctx->images; im && im->program != program; im = im->next)
		;
	if (!im)
		ret = new_images(ctx, program, &im, err);
	if (!ret) {
		im->refs++;
		*out = im;
	}
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

void rt_weight_images_put(struct cnnrt_context *ctx, struct rt_weight_images *im)
{
	struct rt_weight_images **link;

	if (!im)
		return;
	pthread_mutex_lock(&ctx->lock);
	if (!--im->refs) {
		for (link = &ctx->images; *link != im; link = &(*link)->next)
			;
		*link = im->next;
		free_images(ctx->dev, im);
	}
	pthread_mutex_unlock(&ctx->lock);
}
