/* SPDX-License-Identifier: MIT */
/*
 * The weights of programs in device memory: one copy for an open device, mapped once in each
 * address space that has a job of the program.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* Where the weights are in one address space. */
struct mapping {
	struct rt_vm *vm;
	uint32_t va;
	int jobs;
	struct mapping *next;
};

struct rt_weight_image {
	const struct cnnrt_program *program;
	struct rt_bo bo;	/* handle 0: it has no weights */
	struct mapping *mappings;
	struct rt_weight_image *next;
};

static struct rt_weight_image **find_image(struct cnnrt_device *dev,
					   const struct cnnrt_program *program)
{
	struct rt_weight_image **link = &dev->images;

	while (*link && (*link)->program != program)
		link = &(*link)->next;
	return link;
}

static struct mapping **find_mapping(struct rt_weight_image *im, const struct rt_vm *vm)
{
	struct mapping **link = &im->mappings;

	while (*link && (*link)->vm != vm)
		link = &(*link)->next;
	return link;
}

static void free_image(struct cnnrt_device *dev, struct rt_weight_image **link)
{
	struct rt_weight_image *im = *link;

	*link = im->next;
	if (im->bo.handle)
		dev->ops->bo_close(dev, &im->bo);
	free(im);
}

static int new_image(struct cnnrt_device *dev, const struct cnnrt_program *program,
		     struct rt_weight_image **link, struct cnnrt_error *err)
{
	const struct cnn_lowered *low = program->low;
	struct rt_weight_image *im = calloc(1, sizeof(*im));
	int ret;

	if (!im)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	ret = rt_bo_upload(dev, low->weights, (uint64_t)low->weight_bytes, DRM_CNNACC_BO_WEIGHT,
			   &im->bo, err);
	if (ret) {
		free(im);
		return ret;
	}
	im->program = program;
	*link = im;
	return CNNRT_OK;
}

static int new_mapping(struct cnnrt_device *dev, struct rt_weight_image *im, struct rt_vm *vm,
		       struct cnnrt_error *err)
{
	struct mapping *m = calloc(1, sizeof(*m));
	struct rt_bind_range range = {
		.bo = &im->bo, .size = im->bo.size, .flags = DRM_CNNACC_BIND_READ,
	};
	int ret = CNNRT_OK;

	if (!m)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	if (!rt_vm_reserve(vm, im->bo.size, &m->va)) {
		free(m);
		return RT_VM_FULL;
	}
	range.va = m->va;
	if (im->bo.handle)
		ret = rt_bind(dev, rt_vm_id(vm), &range, err);
	if (ret) {
		rt_vm_release(vm, m->va, im->bo.size);
		free(m);
		return ret;
	}
	m->vm = vm;
	m->next = im->mappings;
	im->mappings = m;
	return CNNRT_OK;
}

int rt_weights_get(struct cnnrt_device *dev, const struct cnnrt_program *program,
		   struct rt_vm *vm, uint32_t *va, struct cnnrt_error *err)
{
	struct rt_weight_image **link = find_image(dev, program);
	struct mapping *m;
	int ret = *link ? CNNRT_OK : new_image(dev, program, link, err);

	if (ret)
		return ret;
	if (!*find_mapping(*link, vm))
		ret = new_mapping(dev, *link, vm, err);
	if (!ret) {
		m = *find_mapping(*link, vm);
		m->jobs++;
		*va = m->va;
	} else if (!(*link)->mappings) {
		free_image(dev, link);
	}
	return ret;
}

void rt_weights_put(struct cnnrt_device *dev, const struct cnnrt_program *program,
		    struct rt_vm *vm)
{
	struct rt_weight_image **link = find_image(dev, program), *im = *link;
	struct mapping **at = find_mapping(im, vm), *m = *at;
	struct rt_mapped range = { m->va, im->bo.size };

	if (--m->jobs)
		return;
	*at = m->next;
	if (!im->bo.handle || !rt_unbind(dev, rt_vm_id(vm), &range, 1, NULL))
		rt_vm_release(vm, m->va, im->bo.size);
	free(m);
	if (!im->mappings)
		free_image(dev, link);
}
