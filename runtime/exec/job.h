/* SPDX-License-Identifier: MIT */
/* A job: one instance of a program with its memory. */
#ifndef CNNRT_JOB_H
#define CNNRT_JOB_H

#include "context.h"
#include "program/model.h"
#include "thread_pool.h"

#include <stdatomic.h>

/* Statistics records of all tasks; below what lowering uses. */
#define RT_VA_STATS	0x08000000u

/* Where the elements of a value are while the job runs. */
enum rt_home {
	RT_HOME_NONE,		/* nobody needs it, or only device nodes */
	RT_HOME_CONST,		/* in the graph */
	RT_HOME_ARENA,		/* in its slot, in the tensor's own order */
	RT_HOME_HOST,		/* in host memory; moved to or from its slot if it has one */
	RT_HOME_RUN,		/* shape known at run time only: allocated then */
	RT_HOME_USER,		/* in the caller's buffer */
};

struct rt_value {
	struct cnn_tensor t;
	enum rt_home home, first_home;	/* first_home: when nothing is bound */
	void *first_data;
};

/* A buffer that the caller bound to an input or output. */
struct rt_binding {
	struct cnnrt_buffer *buf;	/* NULL: none */
	size_t offset;
	bool mapped;			/* its pages replace those of the value's slot */
};

struct rt_block {
	void *mem;
	size_t size;
	bool used;			/* while memory is planned */
};

struct cnnrt_job {
	struct cnnrt_context *ctx;
	struct cnnrt_device *dev;
	const struct cnnrt_program *program;

	/* device memory */
	uint32_t ctx_id;
	struct rt_images *images;
	struct rt_bo arena, stats;

	/* host memory */
	struct rt_value *values;
	struct rt_block *blocks;
	int block_count;
	uint64_t host_bytes;		/* of all blocks */
	const struct cnn_tensor **in;	/* of the node being run */
	struct cnn_tensor **out;
	struct rt_thread_pool *team;	/* for operators on the CPU */
	struct drm_cnnacc_task *tasks;	/* one for each of low->tasks */
	struct rt_binding *bind[2];	/* by direction */
	struct drm_cnnacc_bo_ref *refs;	/* of one submit */

	/* one run */
	struct cnnrt_step *steps;
	int step_count;
	uint64_t start_ns;
	int64_t run_bytes, run_work;	/* of values whose shape was not known */
	uint32_t reset_jobs;		/* of the context, as last seen */
	unsigned int resubmits;		/* after resets that the job did not cause */
	struct cnnrt_job_status status;	/* when it has ended */

	/* asynchrony */
	pthread_mutex_t lock;		/* what follows */
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, quit;
	atomic_bool stop;		/* end the run after this step */
	bool running;
	bool direct;			/* the fence below ends the run, no thread does */
	int fence;			/* direct: of the device; else ours; -1: none */
	bool fence_shared;		/* direct: the application has it too */
	uint64_t seqno;			/* direct */
	int in_fence;			/* for the thread, -1: none */
	int spent_fence;		/* of tasks that have ended, still open; -1: none */
	int cancel;			/* eventfd: stop waiting for in_fence */
};

/* CNNRT_EBUSY while it runs, CNNRT_EINVAL in a child. */
int rt_job_idle(struct cnnrt_job *job, struct cnnrt_error *err);

/* memory.c: plans and allocates; free takes a half-made job too. */
int rt_job_memory(struct cnnrt_job *job, struct cnnrt_error *err);
void rt_job_memory_free(struct cnnrt_job *job);

/* weight_image.c */
int rt_images_get(struct cnnrt_context *ctx, const struct cnnrt_program *program,
		  struct rt_images **out, struct cnnrt_error *err);
void rt_images_put(struct cnnrt_context *ctx, struct rt_images *images);

/* run.c: one whole run on the calling thread; fills job->status. */
void rt_job_run(struct cnnrt_job *job);
/* The only device segment of a direct job: submit, and what to do when its fence has ended. */
int rt_job_submit_direct(struct cnnrt_job *job, int in_fence, struct cnnrt_error *err);
/* False if it runs once more. */
bool rt_job_finish_direct(struct cnnrt_job *job);

static inline bool rt_slot_is_dense(const struct cnnrt_job *job, int value)
{
	const struct cnn_slot *slot = &job->program->low->slots[value];

	return slot->used && cnn_layout_dense(&slot->layout);
}

/* May another buffer's pages take the place of the value's slot? */
static inline bool rt_own_pages(const struct cnnrt_job *job, int value)
{
	return job->program->low->slots[value].own_pages &&
	       job->dev->page_size == CNNACC_PAGE_SIZE;
}

static inline int rt_io_value(const struct cnnrt_program *p, enum cnnrt_direction dir,
			      unsigned int index)
{
	return dir == CNNRT_INPUT ? p->graph->inputs[index] : p->graph->outputs[index];
}

#endif
