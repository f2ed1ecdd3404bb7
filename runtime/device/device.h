/* SPDX-License-Identifier: MIT */
/*
 * The device interface. It has two implementations, the kernel's driver and the in-process driver,
 * which take the structures of cnnacc_accel.h and return the same negative errno for the same
 * mistake. The callers add the error text, so that is the same too.
 */
#ifndef CNNRT_DEVICE_H
#define CNNRT_DEVICE_H

#include "base/base.h"
#include "backend/lowered.h"
#include "compile/target.h"

#include <pthread.h>

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

#define RT_END_TIMES	32

struct rt_submit {
	uint32_t ctx_id;
	uint32_t core;		/* with JOB_ANY_EQUAL also out: the core that was chosen */
	uint32_t flags;		/* DRM_CNNACC_JOB_* */
	const struct drm_cnnacc_task *tasks;
	uint32_t task_count;
	const struct drm_cnnacc_bo_ref *bos;	/* shared buffers */
	uint32_t bo_count;
	int in_fence;		/* a descriptor that takes_fence accepts, or -1 */
	int out_fence;		/* out: the caller closes it */
	uint64_t seqno;		/* out: as in struct drm_cnnacc_ctx_query */
};

/* What of a device changes. */
struct rt_device_state {
	uint64_t reset_count;
	struct drm_cnnacc_clocks clocks;
	struct drm_cnnacc_timestamp time;
};

/* Every function returns 0 or a negative errno and may be called by many threads. */
struct rt_device_ops {
	void (*close)(struct cnnrt_device *dev);
	/* Optional: a description of a device has no state. */
	int (*state)(struct cnnrt_device *dev, struct rt_device_state *state);
	/* An address space; it lives until its id and all its contexts are destroyed. */
	int (*vm_create)(struct cnnrt_device *dev, uint32_t *id);
	int (*vm_destroy)(struct cnnrt_device *dev, uint32_t id);
	int (*ctx_create)(struct cnnrt_device *dev, uint32_t vm_id, uint32_t priority,
			  uint32_t *id);
	int (*ctx_destroy)(struct cnnrt_device *dev, uint32_t id);
	int (*ctx_query)(struct cnnrt_device *dev, struct drm_cnnacc_ctx_query *query);
	/* Adds 1 to an eventfd for each event that the context's programs raise on a core. */
	int (*eventfd)(struct cnnrt_device *dev, uint32_t ctx_id, uint32_t core, int fd);
	int (*bo_create)(struct cnnrt_device *dev, uint64_t size, uint32_t use, uint32_t flags,
			 uint32_t vm_id, struct rt_bo *bo);
	int (*bo_import)(struct cnnrt_device *dev, int fd, struct rt_bo *bo);
	int (*bo_export)(struct cnnrt_device *dev, const struct rt_bo *bo, int *fd);
	int (*bo_map)(struct cnnrt_device *dev, struct rt_bo *bo);
	int (*bo_sync)(struct cnnrt_device *dev, const struct rt_bo *bo, uint32_t flags);
	/* The buffer must not be bound any more. */
	void (*bo_close)(struct cnnrt_device *dev, struct rt_bo *bo);
	int (*bind)(struct cnnrt_device *dev, uint32_t vm_id,
		    const struct drm_cnnacc_bind_op *ops, uint32_t count);
	int (*submit)(struct cnnrt_device *dev, struct rt_submit *submit);
	/* Optional: can submit take this descriptor as in_fence? */
	bool (*takes_fence)(struct cnnrt_device *dev, int fd);
	/*
	 * When one of the context's RT_END_TIMES latest jobs ended, given by its number and its
	 * signaled fence. CLOCK_MONOTONIC, ns.
	 */
	int (*end_time)(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t seqno, int fence,
			uint64_t *ns);
	int (*reg_rw)(struct cnnrt_device *dev, struct drm_cnnacc_reg_rw *rw);
};

/* The first member of every back end's device. */
struct cnnrt_device {
	const struct rt_device_ops *ops;
	int fd;			/* -1: none */
	unsigned int fork_count; /* of the process that opened it: see rt_is_ours */
	struct cnnrt_device_info info;
	struct cnnrt_core_info core[CNNRT_MAX_CORES];
	uint32_t page_size; /* bytes; the granularity of bind */
	uint32_t max_vms, max_contexts;
	uint32_t max_tasks;	/* per job */
	struct cnn_target target;

	pthread_mutex_t lock;	/* protects what follows */
	struct rt_vm *vms;	/* in the order of their creation */
	struct rt_weight_image *images;
	int event_fd[CNNRT_MAX_CORES];	/* where new contexts count events, -1: nowhere */
};

/*
 * Address spaces; all but rt_vm_id with dev->lock held. The first one stays until the device is
 * closed, any other until its last user has put it.
 */
struct rt_vm;

int rt_vm_create(struct cnnrt_device *dev, struct rt_vm **vm, struct cnnrt_error *err);
/* The one after vm, the first for NULL; NULL: there is none. */
struct rt_vm *rt_vm_next(const struct cnnrt_device *dev, const struct rt_vm *vm);
void rt_vm_get(struct rt_vm *vm);
void rt_vm_put(struct cnnrt_device *dev, struct rt_vm *vm);
void rt_vm_destroy_all(struct cnnrt_device *dev);
uint32_t rt_vm_id(const struct rt_vm *vm);
/*
 * Reserves a range of addresses from a multiple of CNN_BASE_ALIGN on, of which the rest up to the
 * next is not used either. False: there is no such range. A size of 0 takes none.
 */
bool rt_vm_reserve(struct rt_vm *vm, uint64_t size, uint32_t *va);
void rt_vm_release(struct rt_vm *vm, uint32_t va, uint64_t size);

/*
 * Did this process open the device? A child of fork() must not use it: it has not the threads that
 * jobs and the in-process device need, and freeing kernel objects would free its parent's.
 */
bool rt_is_ours(const struct cnnrt_device *dev);
/* CNNRT_OK, or CNNRT_EINVAL in a forked child. */
int rt_check_process(const struct cnnrt_device *dev, struct cnnrt_error *err);
/* The same, and CNNRT_ENODEV for a device description. */
int rt_check_runs(const struct cnnrt_device *dev, struct cnnrt_error *err);

/* Writes its cores, "NAME.0, NAME.1". */
void rt_list_cores(const struct cnnrt_device *dev, char *text, size_t len);
/*
 * Fills dev->info and dev->core; dev->target is the reference, at the device's clock. NULL, or the
 * name of an invalid field.
 */
const char *rt_device_set_info(struct cnnrt_device *dev, const struct drm_cnnacc_dev_info *info,
			       uint64_t clock_hz, const struct cnnrt_core_info *cores);

int rt_kernel_open(const char *path, struct cnnrt_device **dev, struct cnnrt_error *err);
int rt_caps_open(const char *path, struct cnnrt_device **dev, struct cnnrt_error *err);
/*
 * Reads the costs in a device description to use them with dev: what the file does not say is the
 * reference's, and its clocks of cores must be of cores of the same names.
 */
int rt_caps_read_target(const char *path, const struct cnnrt_device *dev,
			struct cnn_target *target, struct cnnrt_error *err);
/* Is it a device description, without a device? */
bool rt_is_caps(const struct cnnrt_device *dev);
int rt_sim_open(const char *props, struct cnnrt_device **dev, struct cnnrt_error *err);

/* Loads cnnacc.ko and waits up to 5 seconds for a usable device node. */
int rt_load_module(struct cnnrt_error *err);

/* A new eventfd fence, or a negative errno. */
int rt_fence_create(void);
/* 0 if fd is a sync_file or an eventfd, else a negative errno. */
int rt_fence_check(int fd);
/* Signals an eventfd fence; status: 0 or a negative errno, which rt_fence_status returns. */
void rt_fence_signal(int fd, int status);
/* 0, -ETIMEDOUT, or a negative errno of poll. timeout_ns < 0: no timeout. */
int rt_fence_wait(int fd, int64_t timeout_ns);
/* The status of a signaled fence: 0 or a negative errno. */
int rt_fence_status(int fd);

const char *rt_class_name(uint32_t status_class);
/* core: the core's name. */
const char *rt_code_name(const char *core, uint32_t code);
/* "MMU_FAULT (E_DMA) at instruction 4: read of VA 0x1000: no page" */
void rt_status_text(const char *core, const struct drm_cnnacc_ctx_query *q, char *buf, size_t len);

#endif
