/* SPDX-License-Identifier: MIT */
/* A job's place in an address space of its device, which other jobs share. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

static uint64_t stats_bytes(const struct cnn_lowered *low)
{
	return ((uint64_t)low->n_tasks + 1) * sizeof(struct cnnacc_stats);
}

/* Activations, and behind them the statistics records. */
static uint64_t data_bytes(const struct cnnrt_job *job)
{
	const struct cnn_lowered *low = job->program->low;

	return rt_pages(job->dev, (uint64_t)low->arena_bytes) +
	       rt_pages(job->dev, stats_bytes(low));
}

static void release(struct cnnrt_job *job)
{
	struct rt_place *p = &job->place;

	rt_vm_release(p->vm, p->bases.va[CNN_ARENA], data_bytes(job));
	rt_vm_release(p->vm, p->bases.va[CNN_PROGRAM],
		      (uint64_t)job->program->low->program_bytes);
}

/* Reserves addresses; RT_VM_FULL, with nothing reserved, if there are not enough. */
static int reserve(struct cnnrt_job *job, struct rt_vm *vm)
{
	struct rt_place *p = &job->place;

	if (!rt_vm_reserve(vm, data_bytes(job), &p->bases.va[CNN_ARENA]))
		return RT_VM_FULL;
	if (!rt_vm_reserve(vm, (uint64_t)job->program->low->program_bytes,
			   &p->bases.va[CNN_PROGRAM])) {
		rt_vm_release(vm, p->bases.va[CNN_ARENA], data_bytes(job));
		return RT_VM_FULL;
	}
	p->vm = vm;
	p->stats_va = p->bases.va[CNN_ARENA] +
		      (uint32_t)rt_pages(job->dev, (uint64_t)job->program->low->arena_bytes);
	return CNNRT_OK;
}

static int try_vm(struct cnnrt_job *job, struct rt_vm *vm, struct cnnrt_error *err)
{
	struct rt_place *p = &job->place;
	int ret = reserve(job, vm);

	if (ret)
		return ret;
	rt_vm_get(vm);
	ret = rt_weights_get(job->dev, job->program, vm, &p->bases.va[CNN_WEIGHTS], err);
	if (!ret)
		return CNNRT_OK;
	release(job);
	rt_vm_put(job->dev, vm);
	p->vm = NULL;
	return ret;
}

static int find_place(struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnn_lowered *low = job->program->low;
	struct rt_vm *vm = NULL;
	int ret = RT_VM_FULL;

	while (ret == RT_VM_FULL && (vm = rt_vm_next(job->dev, vm)))
		ret = try_vm(job, vm, err);
	if (ret == RT_VM_FULL)
		ret = rt_vm_create(job->dev, &vm, err) ?: try_vm(job, vm, err);
	if (ret == RT_VM_FULL)
		ret = rt_fail(err, CNNRT_ELIMIT, "job: %lld bytes of weights, %lld of activations "
			      "and %lld of programs exceed a device address space of 4 GiB",
			      (long long)low->weight_bytes, (long long)low->arena_bytes,
			      (long long)low->program_bytes);
	return ret;
}

int rt_place_get(struct cnnrt_job *job, struct cnnrt_error *err)
{
	int ret;

	pthread_mutex_lock(&job->dev->lock);
	ret = find_place(job, err);
	pthread_mutex_unlock(&job->dev->lock);
	return ret;
}

/* A range that cannot be unmapped, because the device is gone, stays reserved. */
void rt_place_put(struct cnnrt_job *job)
{
	struct rt_place *p = &job->place;
	bool clean;

	if (!p->vm)
		return;
	clean = !p->count || !rt_unbind(job->dev, rt_vm_id(p->vm), p->mapped, p->count, NULL);
	pthread_mutex_lock(&job->dev->lock);
	if (clean)
		release(job);
	rt_weights_put(job->dev, job->program, p->vm);
	rt_vm_put(job->dev, p->vm);
	pthread_mutex_unlock(&job->dev->lock);
	free(p->mapped);
	*p = (struct rt_place){ .vm = NULL };
}

int rt_place_map(struct cnnrt_job *job, const struct rt_bind_range *range,
		 struct cnnrt_error *err)
{
	struct rt_place *p = &job->place;
	struct rt_mapped *mapped = reallocarray(p->mapped, p->count + 1, sizeof(*mapped));
	int ret;

	if (!mapped)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	p->mapped = mapped;
	ret = rt_bind(job->dev, rt_vm_id(p->vm), range, err);
	if (!ret)
		mapped[p->count++] = (struct rt_mapped){ range->va, range->size };
	return ret;
}

static int create_code(struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnn_lowered *low = job->program->low;
	struct rt_bind_range range = {
		.bo = &job->code, .va = job->place.bases.va[CNN_PROGRAM],
		.flags = DRM_CNNACC_BIND_EXEC,
	};
	int ret;

	if (!low->program_bytes)
		return CNNRT_OK;
	ret = rt_bo_new(job->dev, (uint64_t)low->program_bytes, DRM_CNNACC_BO_PROGRAM,
			rt_vm_id(job->place.vm), &job->code, err);
	if (ret)
		return ret;
	memcpy(job->code.map, low->program, (size_t)low->program_bytes);
	cnn_relocate(low, &job->place.bases, job->code.map);
	ret = job->dev->ops->bo_sync(job->dev, &job->code, DRM_CNNACC_BO_SYNC_FOR_DEVICE);
	if (ret)
		return rt_fail_errno(err, ret, "uploading %lld bytes of programs",
				     (long long)low->program_bytes);
	range.size = job->code.size;
	return rt_place_map(job, &range, err);
}

static int create_stats(struct cnnrt_job *job, struct cnnrt_error *err)
{
	struct rt_bind_range range = {
		.bo = &job->stats, .va = job->place.stats_va,
		.flags = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE,
	};
	int ret = rt_bo_new(job->dev, stats_bytes(job->program->low), DRM_CNNACC_BO_DATA,
			    rt_vm_id(job->place.vm), &job->stats, err);

	range.size = job->stats.size;
	return ret ?: rt_place_map(job, &range, err);
}

int rt_place_fill(struct cnnrt_job *job, struct cnnrt_error *err)
{
	return create_code(job, err) ?: create_stats(job, err);
}
