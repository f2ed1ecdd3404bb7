/* SPDX-License-Identifier: MIT */
/*
 * A device behind a table of functions: the kernel's driver or the one in this process.  Both
 * take the structures of cnnacc_accel.h and give the same negative errno for the same mistake;
 * the words are added above this table, so they are the same too.
 */
#ifndef CNNRT_DEVICE_H
#define CNNRT_DEVICE_H

#include "base/base.h"

#include <cnnacc_accel.h>
#include <cnnacc_hw.h>

/* A buffer object of a device. */
struct rt_bo {
	uint32_t handle;	/* 0: none */
	uint64_t size;		/* whole pages */
	void *map;		/* NULL until mapped */
	bool imported;		/* memory of another driver: */
	int dmabuf;
};

struct rt_submit {
	uint32_t ctx_id;
	uint32_t core;
	uint32_t flags;		/* DRM_CNNACC_JOB_* */
	const struct drm_cnnacc_task *tasks;
	uint32_t task_count;
	const struct drm_cnnacc_bo_ref *bos;	/* shared buffers */
	uint32_t bo_count;
	int in_fence;		/* one that takes_fence accepts, or -1 */
	int out_fence;		/* out: the caller closes it */
	uint64_t seqno;		/* out: as in struct drm_cnnacc_ctx_query */
};

/* Every function returns 0 or a negative errno and may be called by many threads. */
struct rt_device_ops {
	void (*close)(struct cnnrt_device *dev);
	int (*reset_count)(struct cnnrt_device *dev, uint64_t *count);
	int (*ctx_create)(struct cnnrt_device *dev, uint32_t priority, uint32_t *id);
	int (*ctx_destroy)(struct cnnrt_device *dev, uint32_t id);
	int (*ctx_query)(struct cnnrt_device *dev, struct drm_cnnacc_ctx_query *query);
	int (*bo_create)(struct cnnrt_device *dev, uint64_t size, uint32_t use, uint32_t flags,
			 uint32_t ctx_id, struct rt_bo *bo);
	int (*bo_import)(struct cnnrt_device *dev, int fd, struct rt_bo *bo);
	int (*bo_export)(struct cnnrt_device *dev, const struct rt_bo *bo, int *fd);
	int (*bo_map)(struct cnnrt_device *dev, struct rt_bo *bo);
	int (*bo_sync)(struct cnnrt_device *dev, const struct rt_bo *bo, uint32_t flags);
	/* The buffer must not be bound any more. */
	void (*bo_close)(struct cnnrt_device *dev, struct rt_bo *bo);
	int (*bind)(struct cnnrt_device *dev, uint32_t ctx_id,
		    const struct drm_cnnacc_bind_op *ops, uint32_t count);
	int (*submit)(struct cnnrt_device *dev, struct rt_submit *submit);
	/* Can submit wait for this descriptor by itself? */
	bool (*takes_fence)(struct cnnrt_device *dev, int fd);
	/* CLOCK_MONOTONIC, ns: when the context's latest job ended, whose fence that is. */
	int (*end_time)(struct cnnrt_device *dev, uint32_t ctx_id, int fence, uint64_t *ns);
	int (*reg_rw)(struct cnnrt_device *dev, struct drm_cnnacc_reg_rw *rw);
};

/* The first member of every back end's device. */
struct cnnrt_device {
	const struct rt_device_ops *ops;
	int fd;			/* -1: none */
	unsigned int forks;	/* that led to the process that opened it */
	struct cnnrt_device_info info;
	struct cnnrt_core_info core[CNNRT_MAX_CORES];
	uint32_t page_size;	/* what bind counts in */
	uint32_t max_contexts;
	uint32_t max_tasks;	/* per job */
};

/*
 * A child of fork() has neither the threads that jobs and the device in process need, nor kernel
 * objects of its own: what it freed would be gone for its parent.
 */
bool rt_is_ours(const struct cnnrt_device *dev);
/* CNNRT_OK, or CNNRT_EINVAL and words for a child. */
int rt_check_process(const struct cnnrt_device *dev, struct cnnrt_error *err);

/*
 * Fills dev->info and dev->core from what a back end read: NULL, or the name of what makes no sense.
 */
const char *rt_device_set_info(struct cnnrt_device *dev, const struct drm_cnnacc_dev_info *info,
			       const struct drm_cnnacc_core_info *cores);

int rt_kernel_open(const char *path, struct cnnrt_device **dev, struct cnnrt_error *err);
int rt_caps_open(const char *path, struct cnnrt_device **dev, struct cnnrt_error *err);
/* Is it nothing but a description? */
bool rt_is_caps(const struct cnnrt_device *dev);
int rt_sim_open(const char *props, struct cnnrt_device **dev, struct cnnrt_error *err);

/* Loads cnnacc.ko and waits until a node is there. */
int rt_load_module(struct cnnrt_error *err);

/* ---- fences ---------------------------------------------------------------------------- */

/* A new fence of ours, or a negative errno. */
int rt_fence_create(void);
/* Ends it: status 0 or a negative errno, which rt_fence_status reads back. */
void rt_fence_signal(int fd, int status);
/* 0, -ETIMEDOUT, or a negative errno of poll.  timeout_ns < 0: as long as it takes. */
int rt_fence_wait(int fd, int64_t timeout_ns);
/* Of an ended fence: 0 or the negative errno it ended with. */
int rt_fence_status(int fd);

/* ---- words ----------------------------------------------------------------------------- */

const char *rt_core_name(uint32_t type);
const char *rt_class_name(uint32_t status_class);
const char *rt_code_name(uint32_t core_type, uint32_t code);
/* Of a build parameter, CNNACC_*_PARAM_*. */
const char *rt_param_name(uint32_t core_type, uint32_t index);
/* "MMU_FAULT (E_DMA) at instruction 4: read of VA 0x1000: no page" */
void rt_status_text(uint32_t core_type, const struct drm_cnnacc_ctx_query *q, char *buf,
		    size_t len);

#endif
