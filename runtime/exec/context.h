/* SPDX-License-Identifier: MIT */
/* Contexts and buffers, which jobs and raw programs use. */
#ifndef CNNRT_CONTEXT_H
#define CNNRT_CONTEXT_H

#include "device/device.h"

struct cnnrt_context {
	struct cnnrt_device *dev;
	enum cnnrt_priority priority;
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

/* Creates a buffer object and maps it for the CPU; vm_id 0: address spaces may share it. */
int rt_bo_new(struct cnnrt_device *dev, uint64_t size, uint32_t use, uint32_t vm_id,
	      struct rt_bo *bo, struct cnnrt_error *err);
/* The same with contents, for any address space; of no bytes there is none. */
int rt_bo_upload(struct cnnrt_device *dev, const void *data, uint64_t size, uint32_t use,
		 struct rt_bo *bo, struct cnnrt_error *err);

/* A mapping of whole pages of a buffer object into an address space. */
struct rt_bind_range {
	const struct rt_bo *bo;
	uint64_t bo_offset, va, size;
	uint32_t flags; /* DRM_CNNACC_BIND_* */
};

/* Creates a context whose jobs count for the device's struct cnnrt_event; *id is 0 on failure. */
int rt_ctx_create(struct cnnrt_device *dev, uint32_t vm_id, uint32_t priority, uint32_t *id);

/* What was mapped. */
struct rt_mapped {
	uint64_t va, size;
};

int rt_bind(struct cnnrt_device *dev, uint32_t vm_id, const struct rt_bind_range *range,
	    struct cnnrt_error *err);
/* Does not wait for jobs of the address space: none may use these mappings any more. */
int rt_unbind(struct cnnrt_device *dev, uint32_t vm_id, const struct rt_mapped *mapped,
	      unsigned int count, struct cnnrt_error *err);

#define RT_JOB_STATUS	RT_STRUCT(cnnrt_job_status, text)

void rt_job_done(struct cnnrt_job_status *status);
/*
 * Fills status from the negative errno of a signaled fence and the context's last failure, if that
 * was of the job with this seqno.
 */
void rt_job_failure(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t seqno, int fence_errno,
		    struct cnnrt_job_status *status);

#endif
