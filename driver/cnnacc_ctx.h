/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_CTX_H
#define CNNACC_CTX_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/gpu_scheduler.h>

#include <cnnacc_accel.h>
#include <cnnacc_hw.h>

#include "cnnacc_stats.h"
#include "cnnacc_vm.h"

struct cnnacc_batch;
struct cnnacc_device;
struct cnnacc_job;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct eventfd_ctx;

/**
 * struct cnnacc_file - per-file state.
 * @ref: held by the open file and by its contexts
 * @contexts: contexts by id
 * @tables: number of page table pages of the contexts
 * @buffers: number of buffer handles
 * @jobs: number of jobs that have not ended
 * @closed: the file is closed; its running jobs are ended
 * @usage: usage of each core
 */
struct cnnacc_file {
	struct kref ref;
	struct xarray contexts;
	atomic_t tables;
	atomic_t buffers;
	atomic_t jobs;
	bool closed;
	struct cnnacc_usage usage[CNNACC_MAX_CORES];
};

/**
 * struct cnnacc_ctx - context: an address space and an entity per core.
 * @ref: held by the file, by running ioctls and by @destroy_work
 * @cdev: device
 * @file: file, referenced
 * @link: in &cnnacc_device.contexts
 * @hw_id: hardware context id
 * @vm: address space
 * @resv: GEM object whose reservation object the private buffers share
 * @priority: DRM_CNNACC_PRIORITY_*
 * @entities: scheduler entities, by core
 * @submit_lock: serialises SUBMIT; protects @dead, @seqno and @fence_seqno
 * @dead: destroyed; accepts no more jobs
 * @seqno: number of the last job
 * @fence_context: first of CNNACC_MAX_CORES fence contexts, one per core
 * @fence_seqno: number of the last hardware fence, by core
 * @job_lock: protects @batches
 * @batches: batches that are not yet freed
 * @idle: woken when @batches becomes empty
 * @destroy_work: frees the context's resources when its jobs have ended
 * @status_lock: protects @status
 * @status: answer to CTX_QUERY
 * @event_lock: protects @events
 * @events: eventfds, by core
 * @usage: usage of each core
 * @pid: process that created the context
 * @comm: name of that process
 */
struct cnnacc_ctx {
	struct kref ref;
	struct cnnacc_device *cdev;
	struct cnnacc_file *file;
	struct list_head link;
	u32 hw_id;
	struct cnnacc_vm vm;
	struct drm_gem_object *resv;
	u32 priority;
	struct drm_sched_entity entities[CNNACC_MAX_CORES];
	struct mutex submit_lock;	/* serialises SUBMIT */
	bool dead;
	u64 seqno;
	u64 fence_context;
	u64 fence_seqno[CNNACC_MAX_CORES];
	spinlock_t job_lock;		/* protects @batches */
	struct list_head batches;
	wait_queue_head_t idle;
	struct work_struct destroy_work;
	spinlock_t status_lock;		/* protects @status */
	struct drm_cnnacc_ctx_query status;
	spinlock_t event_lock;		/* protects @events */
	struct eventfd_ctx *events[CNNACC_MAX_CORES];
	struct cnnacc_usage usage[CNNACC_MAX_CORES];
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

struct cnnacc_file *cnnacc_file_create(void);
void cnnacc_file_close(struct cnnacc_file *file);

struct cnnacc_ctx *cnnacc_ctx_get(struct drm_file *file, u32 id);
void cnnacc_ctx_put(struct cnnacc_ctx *ctx);
void cnnacc_ctx_kill_all(struct cnnacc_device *cdev);
void cnnacc_ctx_add_batch(struct cnnacc_ctx *ctx, struct cnnacc_batch *batch);
void cnnacc_ctx_remove_batch(struct cnnacc_ctx *ctx, struct cnnacc_batch *batch);
void cnnacc_ctx_job_failed(struct cnnacc_ctx *ctx, struct cnnacc_job *job, u32 state,
			   const struct cnnacc_completion *record);
void cnnacc_ctx_job_innocent(struct cnnacc_ctx *ctx);
void cnnacc_ctx_signal_events(struct cnnacc_ctx *ctx, unsigned int core, u32 count);

int cnnacc_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_ctx_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_eventfd_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
