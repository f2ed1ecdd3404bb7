/* SPDX-License-Identifier: MIT */
/* A job: one instance of a program, with its own memory. */
#ifndef CNNRT_JOB_H
#define CNNRT_JOB_H

#include "context.h"
#include "program/model.h"
#include "thread_pool.h"

#include <stdatomic.h>

/* Positive: an address space has not enough free addresses. */
#define RT_VM_FULL	1

/* Where the job's memory is in an address space of the device. */
struct rt_place {
	struct rt_vm *vm;	/* NULL: the job has no device memory */
	struct cnn_bases bases;
	uint32_t stats_va;	/* of the statistics records of all tasks */
	struct rt_mapped *mapped; /* all but the weights */
	unsigned int count;
};

/* Where the host finds the elements of a value while the job runs. */
enum rt_value_location {
	RT_AT_NONE,	   /* the host does not read it */
	RT_AT_GRAPH,	   /* a constant of the graph */
	RT_AT_ARENA,	   /* in its slot, with a dense layout */
	RT_AT_HOST,	   /* in host memory; copied to or from its slot if it has one */
	RT_AT_RUN_TIME,	   /* allocated when the run finds its shape */
	RT_AT_USER_BUFFER, /* in the caller's buffer */
};

struct rt_value {
	struct cnn_tensor t;
	/* unbound_*: without a buffer of the caller's */
	enum rt_value_location location, unbound_location;
	void *unbound_data;
	uint64_t slot_run;	/* the run in which the host has written its slot */
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
	/* only while values are placed; last_node: reads or writes it last, -1: none has yet */
	bool used;
	int last_node;
};

/* A segment that a core runs, or an operator on the CPU. */
struct rt_unit {
	int segment;	/* in low->segments */
	int node;	/* in the graph, -1: the segment */
	bool feeds_core; /* a segment waits for it */
};

/* Which units wait for which. They are in the serial order, and wait for earlier ones only. */
struct rt_order {
	struct rt_unit *units;
	int count;
	int *waits;	/* by unit: how many others it waits for */
	int *first;	/* by unit: where in next those begin that wait for it; one more: the end */
	int *next;
};

/* Segments that cores run at the same time; each has a fence. */
#define RT_FLIGHTS	16

/* A segment that a core runs. */
struct rt_flight {
	const struct cnn_segment *seg;
	int unit;
	int first, count;	/* the tasks that are submitted */
	int step;
	int fence;
	uint64_t seqno;
};

struct cnnrt_job {
	struct cnnrt_context *ctx;
	struct cnnrt_device *dev;
	const struct cnnrt_program *program;

	/* device memory */
	uint32_t ctx_id;
	struct rt_place place;
	struct rt_bo arena, stats;
	struct rt_bo code;	/* the programs, relocated to place.bases */

	/* host memory */
	struct rt_value *values;
	struct rt_block *blocks;
	int block_count;
	uint64_t host_bytes;		/* sum over blocks */
	/* of the node being run */
	const struct cnn_tensor *in[CNN_MAX_INPUTS];
	struct cnn_tensor *out[CNN_MAX_INPUTS];
	struct rt_thread_pool *pool;	/* for operators on the CPU */
	struct drm_cnnacc_task *tasks;	/* one for each of low->tasks */
	struct rt_binding *bind[2];	/* by direction */
	struct drm_cnnacc_bo_ref *refs; /* for one submit */

	struct rt_order order;
	bool pipelined;			/* bindings and caches allow units to overlap */
	bool pool_awake;

	/* one run */
	uint64_t run;			/* its number */
	int *waits;			/* by unit: how many others it still waits for */
	int *ready;			/* units that wait for none, ascending */
	int ready_count, ended_count;
	struct rt_flight flights[RT_FLIGHTS]; /* direct: the first is the run */
	int flight_count;
	struct cnnrt_step *steps;
	int step_count;
	int *task_step;			/* by task: the step that begins with it, -1: none yet */
	uint64_t start_ns;
	int64_t run_bytes;		/* of values whose shape the run found */
	int64_t run_work;		/* of all operators on the CPU, as cnn_cpu_work */
	uint32_t reset_jobs;		/* the context's, of which the job knows */
	unsigned int resubmits;		/* after resets that the job did not cause */
	struct cnnrt_job_status status; /* valid once the run has ended */

	/* asynchrony */
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, quit;
	atomic_bool stop;		/* end the run after this step */
	bool running;
	bool direct;			/* the run is one device job, without the thread */
	int fence;			/* direct: the device's, else the thread's; -1: none */
	bool fence_shared;		/* direct: the application has a copy of it */
	int in_fence;			/* for the thread, -1: none */
	int ended_fence;		/* signaled, to be closed while a core computes; -1: none */
	int cancel;			/* eventfd that ends the wait for in_fence */

	struct cnnrt_job *next_kept;	/* in the list of kept_jobs.c */
};

/* Which of the jobs that cnnrt_run() keeps: what is NULL does not matter. */
struct rt_job_owner {
	const struct cnnrt_device *dev;
	const struct cnnrt_context *ctx;
	const struct cnnrt_program *program;
};

/* Frees them; returns how many there were. */
unsigned int rt_kept_jobs_free(const struct rt_job_owner *owner);

/* CNNRT_EBUSY while it runs, CNNRT_EINVAL in a forked child. */
int rt_job_idle(struct cnnrt_job *job, struct cnnrt_error *err);

/* Places values and allocates memory; free also takes what a failed rt_job_memory leaves. */
int rt_job_memory(struct cnnrt_job *job, struct cnnrt_error *err);
void rt_job_memory_free(struct cnnrt_job *job);

/*
 * Takes addresses in an address space of the device, where the weights are then mapped. The first
 * address space that has them is taken, or a new one.
 */
int rt_place_get(struct cnnrt_job *job, struct cnnrt_error *err);
/* Unmaps all; the job's buffers are to be closed afterwards. */
void rt_place_put(struct cnnrt_job *job);
/* Creates the job's programs and statistics records there. */
int rt_place_fill(struct cnnrt_job *job, struct cnnrt_error *err);
/* Maps a range until rt_place_put(). */
int rt_place_map(struct cnnrt_job *job, const struct rt_bind_range *range,
		 struct cnnrt_error *err);

/*
 * Maps a program's weights for one job; *va: where they are. RT_VM_FULL if there is no room. These
 * two with dev->lock held.
 */
int rt_weights_get(struct cnnrt_device *dev, const struct cnnrt_program *program,
		   struct rt_vm *vm, uint32_t *va, struct cnnrt_error *err);
void rt_weights_put(struct cnnrt_device *dev, const struct cnnrt_program *program,
		    struct rt_vm *vm);

/* Which units wait for which; once values have their places. */
int rt_order_build(struct cnnrt_job *job, struct cnnrt_error *err);
void rt_order_free(struct rt_order *order);

/* Runs an operator on the CPU: 0 or a negative enum cnnrt_code. */
int rt_job_run_node(struct cnnrt_job *job, int node, struct cnn_err *e);
/* Runs all units from the calling thread and fills job->status. */
void rt_job_run(struct cnnrt_job *job);
/* Submits a job that is one device segment; CNNRT_EUNSUPPORTED if it is not, or needs copies. */
int rt_job_submit_direct(struct cnnrt_job *job, int in_fence, struct cnnrt_error *err);
/* To be called once its fence is signaled. False: it was submitted again after a reset. */
bool rt_job_finish_direct(struct cnnrt_job *job);

static inline bool rt_slot_is_dense(const struct cnnrt_job *job, int value)
{
	const struct cnn_slot *slot = &job->program->low->slots[value];

	return slot->used && cnn_layout_dense(&slot->layout);
}

/* May the caller's buffer be mapped in place of the value's slot? */
static inline bool rt_has_own_pages(const struct cnnrt_job *job, int value)
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
