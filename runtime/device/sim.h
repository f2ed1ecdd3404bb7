/* SPDX-License-Identifier: MIT */
/*
 * The in-process device: a small driver that uses the model's registers, page tables and rings as
 * cnnacc.ko uses the device's.
 */
#ifndef CNNRT_SIM_H
#define CNNRT_SIM_H

#include "device.h"

#include <pthread.h>

#include <cnnacc_model.h>

struct rt_sim_extent {
	uint64_t bus, size;
	struct rt_sim_extent *next;
};

struct rt_sim_mem {
	uint8_t *base;		/* host address of bus address 0 */
	uint64_t size;
	uint64_t *ram;		    /* bitmap by page: is it RAM? */
	struct rt_sim_extent *used; /* ascending */
};

int rt_sim_mem_init(struct rt_sim_mem *mem);
void rt_sim_mem_fini(struct rt_sim_mem *mem);
/* Allocates zeroed RAM of whole pages; fd >= 0: maps that file. 0 or a negative errno. */
int rt_sim_mem_alloc(struct rt_sim_mem *mem, uint64_t size, int fd, uint64_t *bus);
void rt_sim_mem_free(struct rt_sim_mem *mem, uint64_t bus);
/* A range of RAM; NULL if part of it is none. May be called by any thread. */
void *rt_sim_mem_ram(const struct rt_sim_mem *mem, uint64_t bus, uint64_t len);

static inline void *rt_sim_mem_ptr(const struct rt_sim_mem *mem, uint64_t bus)
{
	return mem->base + bus;
}

struct rt_sim_bo {
	uint64_t bus, size;
	uint32_t use, vm_id;	/* vm_id: the buffer is private to it; 0: shared */
	int fd;			/* memfd or imported file, -1: private memory */
	int refs;		/* the handle and every mapping */
};

struct rt_sim_mapping {
	uint64_t va, size;
	struct rt_sim_bo *bo;
	struct rt_sim_mapping *next;
};

struct rt_sim_vm {
	uint32_t id;
	bool destroyed;		/* its contexts keep it */
	uint32_t ctx_count;
	uint64_t root;
	uint64_t table[CNNACC_PT_ENTRIES];	/* bus address of each page table, 0: none */
	struct rt_sim_mapping *mappings;
	struct rt_sim_vm *next;
};

struct rt_sim_ctx {
	uint32_t id;
	struct rt_sim_vm *vm;
	uint64_t seqno;
	struct drm_cnnacc_ctx_query last;
	uint64_t ended_ns[RT_END_TIMES]; /* when its latest jobs ended, by seqno */
	int event_fd[CNNRT_MAX_CORES];	/* -1: none */
	struct rt_sim_ctx *next;
};

struct rt_sim_job {
	struct rt_sim_ctx *ctx;
	struct rt_sim_core *core;
	uint64_t load;		/* its part of the core's */
	struct drm_cnnacc_task *tasks;
	uint32_t task_count, task; /* task: the one that runs, or is next */
	uint64_t seqno;
	int fence;
	struct rt_sim_job *next;
};

#define RT_SIM_RING 16 /* packets, and completion records */

struct rt_sim_core {
	struct rt_sim *sim;
	unsigned int index;
	pthread_t thread;
	pthread_cond_t wake;
	bool started;
	bool irq;
	uint64_t ring, compl;	/* bus addresses */
	uint32_t tail, compl_head;
	struct rt_sim_job *queue, **queue_end;
	struct rt_sim_job *running; /* its packet is in the ring */
	uint64_t load;		/* cycle limits of the jobs that have not ended */
	uint64_t charged;	/* of all jobs */
	uint32_t last_vm;	/* of the last job */
	uint64_t fence;
	uint32_t events;	/* the device's count, as far as contexts have been told */
};

struct rt_sim {
	struct cnnrt_device base;
	struct cm_device *model;
	pthread_mutex_t lock;	/* protects what follows, and the model's calls that need a lock */
	pthread_cond_t changed; /* a run of the model or a job ended */
	struct rt_sim_mem mem;
	struct rt_sim_core core[CNNRT_MAX_CORES];
	struct rt_sim_vm *vms;
	struct rt_sim_ctx *ctxs;
	uint32_t last_vm_id, vm_count, last_ctx_id, ctx_count;
	struct rt_sim_bo **bos; /* by handle - 1 */
	uint32_t bo_cap;
	bool stop, verbose;
};

int rt_sim_queue_start(struct rt_sim_core *core);
/* The least loaded of the cores that are equal to this one, as cnnacc.ko chooses it. */
uint32_t rt_sim_queue_choose(struct rt_sim *sim, uint32_t vm_id, uint32_t core);
void rt_sim_queue_push(struct rt_sim_core *core, struct rt_sim_job *job);
/* Ends a context's waiting jobs; abort: also the running ones. */
void rt_sim_queue_cancel(struct rt_sim *sim, const struct rt_sim_ctx *ctx, bool abort);
/* Waits until no job of the address space is on a core; of one context only, if that is given. */
void rt_sim_queue_idle(struct rt_sim *sim, const struct rt_sim_vm *vm,
		       const struct rt_sim_ctx *ctx);
/* Invalidates translations and waits for accesses in flight; value: CNNACC_REG_INVALIDATE. */
void rt_sim_invalidate(struct rt_sim *sim, uint32_t value);
/* Without the lock: stops and joins the workers. */
void rt_sim_queue_stop(struct rt_sim *sim);

#endif
