/* SPDX-License-Identifier: MIT */
/* Contexts and buffers; what jobs and raw programs are made of. */
#ifndef CNNRT_CONTEXT_H
#define CNNRT_CONTEXT_H

#include "device/device.h"

#include <pthread.h>

/*
 * Weights and programs of one cnnrt_program in device memory, shared by its jobs.  Each job
 * has an address space of its own, so the same addresses serve all of them.
 */
struct rt_images {
	const struct cnnrt_program *program;
	struct rt_bo weights, code;	/* handle 0: empty */
	int refs;
	struct rt_images *next;
};

struct cnnrt_context {
	struct cnnrt_device *dev;
	enum cnnrt_priority priority;
	pthread_mutex_t lock;		/* images */
	struct rt_images *images;
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

/* Creates and maps a buffer object; ctx_id 0: may be shared by contexts. */
int rt_bo_new(struct cnnrt_device *dev, uint64_t size, uint32_t use, uint32_t ctx_id,
	      struct rt_bo *bo, struct cnnrt_error *err);
/* One mapping of whole pages. */
int rt_bind(struct cnnrt_device *dev, uint32_t ctx_id, const struct rt_bo *bo, uint64_t bo_offset,
	    uint64_t va, uint64_t size, uint32_t flags, struct cnnrt_error *err);
int rt_unbind(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t va, uint64_t size,
	      struct cnnrt_error *err);

void rt_job_done(struct cnnrt_job_status *status);
/*
 * Fills status from an ended fence's negative errno and the context's last failure; seqno is
 * that of the submit.
 */
void rt_job_failure(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t seqno, int fence_errno,
		    struct cnnrt_job_status *status);

#endif
