/* SPDX-License-Identifier: MIT */
/* Contexts and buffers, which jobs and raw programs use. */
#ifndef CNNRT_CONTEXT_H
#define CNNRT_CONTEXT_H

#include "device/device.h"

#include <pthread.h>

/*
 * The weight and program images of one cnnrt_program in device memory, shared by its jobs. Each job
 * has an address space of its own and maps them at the same addresses.
 */
struct rt_weight_images {
	const struct cnnrt_program *program;
	struct rt_bo weights, code;	/* handle 0: empty */
	int refs;
	struct rt_weight_images *next;
};

struct cnnrt_context {
	struct cnnrt_device *dev;
	enum cnnrt_priority priority;
	pthread_mutex_t lock; /* protects images */
	struct rt_weight_images *images;
};

struct cnnrt_buffer {
	struct cnnrt_device *dev;
	struct rt_bo bo;
};

/* Rounds up to whole pages. */
static inline uint64_t rt_pages(const struct cnnrt_device *dev, uint64_t size)
{
	return (size + dev->page_size - 1) & ~(uint64_t)(dev->page_size - 1);
}

/* An address space and a context in it; ids of 0: none. */
struct rt_space {
	uint32_t vm_id, ctx_id;
};

int rt_space_create(struct cnnrt_device *dev, enum cnnrt_priority priority, struct rt_space *space,
		    struct cnnrt_error *err);
void rt_space_destroy(struct cnnrt_device *dev, const struct rt_space *space);

/* Creates a buffer object and maps it for the CPU; vm_id 0: address spaces may share it. */
int rt_bo_new(struct cnnrt_device *dev, uint64_t size, uint32_t use, uint32_t vm_id,
	      struct rt_bo *bo, struct cnnrt_error *err);

/* A mapping of whole pages of a buffer object into an address space. */
struct rt_bind_range {
	const struct rt_bo *bo;
	uint64_t bo_offset, va, size;
	uint32_t flags; /* DRM_CNNACC_BIND_* */
};

int rt_bind(struct cnnrt_device *dev, uint32_t vm_id, const struct rt_bind_range *range,
	    struct cnnrt_error *err);
int rt_unbind(struct cnnrt_device *dev, uint32_t vm_id, uint64_t va, uint64_t size,
	      struct cnnrt_error *err);

#define RT_JOB_STATUS	RT_STRUCT(cnnrt_job_status, text)

void rt_job_done(struct cnnrt_job_status *status);
/*
 * Fills status from the negative errno of a signaled fence and the context's last failure, if that
 * was of the job with this seqno.
 */
void rt_job_failure(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t seqno, int fence_errno,
		    struct cnnrt_job_status *status);

#endif
