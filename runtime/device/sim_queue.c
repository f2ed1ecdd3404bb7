/* SPDX-License-Identifier: MIT */
/*
 * Jobs of the in-process device: a worker thread per core runs the model's core and schedules its
 * jobs. A ring has at most one packet at a time, so no packet is behind one that fails.
 */
#include "backend/lowered.h"
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S	1000000000
#define SIM_BUDGET_NS	2000000u

static uint32_t queue_read(struct rt_sim_core *core, uint32_t reg)
{
	return cm_device_read(core->sim->model,
			      core->sim->base.core[core->index].queue_offset + reg);
}

static void queue_write(struct rt_sim_core *core, uint32_t reg, uint32_t value)
{
	cm_device_write(core->sim->model,
			core->sim->base.core[core->index].queue_offset + reg, value);
}

/* What a class of status means to the job's fence, and to its context. */
struct outcome {
	int fence;
	uint32_t state;
};

static struct outcome outcome_of(uint32_t status_class)
{
	switch (status_class) {
	case CNNACC_STATUS_OK:
		return (struct outcome){ 0, 0 };
	case CNNACC_STATUS_MMU_FAULT:
	case CNNACC_STATUS_BUS_ERROR:
		return (struct outcome){ -EFAULT, DRM_CNNACC_CTX_FAULT };
	case CNNACC_STATUS_TIME_LIMIT:
		return (struct outcome){ -ETIMEDOUT, DRM_CNNACC_CTX_TIME_LIMIT };
	case CNNACC_STATUS_ABORTED:
		return (struct outcome){ -ECANCELED, 0 };
	}
	return (struct outcome){ -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM };
}

static void end_job(struct rt_sim *sim, struct rt_sim_job *job, int status)
{
	job->ctx->ended_ns[job->seqno % RT_END_TIMES] = rt_now();
	job->core->load -= job->load;
	rt_fence_signal(job->fence, status);
	close(job->fence);
	free(job->tasks);
	free(job);
	pthread_cond_broadcast(&sim->changed);
}

/* Ends a job that a reset canceled; the job counts as innocent of it. */
static void cancel_by_reset(struct rt_sim_core *core, struct rt_sim_job *job)
{
	struct drm_cnnacc_ctx_query *q = &job->ctx->last;

	q->state |= DRM_CNNACC_CTX_INNOCENT_RESET;
	q->reset_jobs++;
	end_job(core->sim, job, -ECANCELED);
}

static void note_failure(struct rt_sim_core *core, const struct cnnacc_completion *c)
{
	struct rt_sim_job *job = core->running;
	struct drm_cnnacc_ctx_query *q = &job->ctx->last;

	*q = (struct drm_cnnacc_ctx_query){
		.ctx_id = job->ctx->id, .state = q->state | outcome_of(c->status_class).state,
		.failed_jobs = q->failed_jobs + 1, .reset_jobs = q->reset_jobs, .seqno = job->seqno,
		.core = core->index, .task = job->task, .status_class = c->status_class,
		.status_code = c->status_code, .detail = c->detail, .pc = c->pc,
		.access = c->access, .fault_va = c->fault_va,
	};
}

/* Before the job ends: the model does not run meanwhile. */
static void count_events(struct rt_sim_core *core)
{
	uint32_t now = queue_read(core, CNNACC_QREG_EVENT_COUNT), count = now - core->events;
	int fd = core->running ? core->running->ctx->event_fd[core->index] : -1;

	core->events = now;
	/* A reset has cleared the device's count, and what the job raised before. */
	if (count && fd >= 0 && queue_read(core, CNNACC_QREG_STATE) != CNNACC_QSTATE_DISABLED)
		(void)!eventfd_write(fd, count);
}

static int enable(struct rt_sim_core *core)
{
	uint32_t irqs = CNNACC_IRQ_CORE(core->index) | CNNACC_IRQ_EVENT(core->index);

	cm_device_write(core->sim->model, CNNACC_REG_IRQ_ENABLE, irqs |
			cm_device_read(core->sim->model, CNNACC_REG_IRQ_ENABLE));
	core->tail = 0;
	core->compl_head = 0;
	core->events = queue_read(core, CNNACC_QREG_EVENT_COUNT);
	queue_write(core, CNNACC_QREG_RING_BASE_LO, (uint32_t)core->ring);
	queue_write(core, CNNACC_QREG_RING_BASE_HI, (uint32_t)(core->ring >> 32));
	queue_write(core, CNNACC_QREG_RING_SIZE, RT_SIM_RING);
	queue_write(core, CNNACC_QREG_COMPL_BASE_LO, (uint32_t)core->compl);
	queue_write(core, CNNACC_QREG_COMPL_BASE_HI, (uint32_t)(core->compl >> 32));
	queue_write(core, CNNACC_QREG_COMPL_SIZE, RT_SIM_RING);
	queue_write(core, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	return queue_read(core, CNNACC_QREG_STATE) == CNNACC_QSTATE_IDLE ? 0 : -EIO;
}

static void put_packet(struct rt_sim_core *core)
{
	struct rt_sim *sim = core->sim;
	struct rt_sim_job *job = core->running;
	const struct drm_cnnacc_task *task = &job->tasks[job->task];
	struct cnnacc_packet *ring = rt_sim_mem_ptr(&sim->mem, core->ring);
	uint64_t limit = sim->base.core[core->index].job_cycles_max;

	ring[core->tail] = (struct cnnacc_packet){
		.flags = CNNACC_PACKET_IRQ |
			 (task->flags & DRM_CNNACC_TASK_STATS ? CNNACC_PACKET_STATS : 0),
		.ctx_id = job->ctx->vm->id, .root = job->ctx->vm->root, .fence = ++core->fence,
		.cycle_limit = task->cycle_limit ? task->cycle_limit : limit,
		.program_va = task->program_va, .program_len = task->program_len,
		.stats_va = task->stats_va,
	};
	core->tail = (core->tail + 1) % RT_SIM_RING;
	queue_write(core, CNNACC_QREG_RING_TAIL, core->tail);
}

/* Did a register write by the administrator reset the core? Its running job is lost. */
static bool was_reset(struct rt_sim_core *core)
{
	return queue_read(core, CNNACC_QREG_STATE) == CNNACC_QSTATE_DISABLED;
}

static void start_next(struct rt_sim_core *core)
{
	struct rt_sim_job *job = core->queue;

	if (core->running || !job || (was_reset(core) && enable(core)))
		return;
	core->queue = job->next;
	if (!core->queue)
		core->queue_end = &core->queue;
	core->running = job;
	put_packet(core);
}

static void complete(struct rt_sim_core *core, const struct cnnacc_completion *c)
{
	struct rt_sim_job *job = core->running;
	int status = outcome_of(c->status_class).fence;

	if (!job || c->fence != core->fence)
		return;
	if (status) {
		note_failure(core, c);
		/* This is the core's worker, so the model does not run it and resets it at once. */
		queue_write(core, CNNACC_QREG_RESET, 1);
		enable(core);
	} else if (++job->task < job->task_count) {
		put_packet(core);
		return;
	}
	core->running = NULL;
	end_job(core->sim, job, status);
}

static void handle_irq(struct rt_sim_core *core)
{
	struct rt_sim *sim = core->sim;
	const struct cnnacc_completion *ring = rt_sim_mem_ptr(&sim->mem, core->compl);

	core->irq = false;
	cm_device_write(sim->model, CNNACC_REG_IRQ_STATUS,
			CNNACC_IRQ_CORE(core->index) | CNNACC_IRQ_EVENT(core->index));
	count_events(core);
	while (core->compl_head != queue_read(core, CNNACC_QREG_COMPL_TAIL)) {
		struct cnnacc_completion c = ring[core->compl_head];

		core->compl_head = (core->compl_head + 1) % RT_SIM_RING;
		queue_write(core, CNNACC_QREG_COMPL_HEAD, core->compl_head);
		complete(core, &c);
	}
}

/* The end of a wait: a second from now, or the earlier time at which the model wants to run. */
static void get_deadline(struct rt_sim_core *core, struct timespec *ts)
{
	uint64_t at = cm_device_wake_time(core->sim->model, core->index), now = rt_now();
	long ns = at && at < now + NS_PER_S ? (long)(at > now ? at - now : 0) : NS_PER_S;

	clock_gettime(CLOCK_REALTIME, ts);
	ns += ts->tv_nsec;
	ts->tv_sec += ns / NS_PER_S;
	ts->tv_nsec = ns % NS_PER_S;
}

/* Sleeps until the core has work, at most until the deadline while a reset may be in progress. */
static void wait_for_work(struct rt_sim_core *core)
{
	struct rt_sim_job *lost = core->running;
	struct timespec ts;

	if (!lost && !core->queue) {
		pthread_cond_wait(&core->wake, &core->sim->lock);
	} else if (lost && was_reset(core)) {
		core->running = NULL;
		cancel_by_reset(core, lost);
	} else {
		get_deadline(core, &ts);
		pthread_cond_timedwait(&core->wake, &core->sim->lock, &ts);
	}
}

static void *worker(void *arg)
{
	struct rt_sim_core *core = arg;
	struct rt_sim *sim = core->sim;

	pthread_mutex_lock(&sim->lock);
	while (!sim->stop) {
		start_next(core);
		if (cm_device_begin(sim->model, core->index)) {
			pthread_mutex_unlock(&sim->lock);
			cm_device_run(sim->model, core->index, SIM_BUDGET_NS);
			pthread_mutex_lock(&sim->lock);
			cm_device_end(sim->model, core->index);
			pthread_cond_broadcast(&sim->changed);
		} else if (!core->irq) {
			wait_for_work(core);
		}
		if (core->irq)
			handle_irq(core);
	}
	pthread_mutex_unlock(&sim->lock);
	return NULL;
}

int rt_sim_queue_start(struct rt_sim_core *core)
{
	struct rt_sim_mem *mem = &core->sim->mem;
	int ret;

	core->queue_end = &core->queue;
	ret = rt_sim_mem_alloc(mem, CNNACC_PAGE_SIZE, -1, &core->ring) ?:
	      rt_sim_mem_alloc(mem, CNNACC_PAGE_SIZE, -1, &core->compl) ?: enable(core) ?:
	      -pthread_create(&core->thread, NULL, worker, core);
	core->started = !ret;
	return ret;
}

/* cnnacc_balance_better() of the driver, without priorities. */
static bool is_better(const struct rt_sim_core *a, const struct rt_sim_core *b, uint32_t vm_id)
{
	if (a->load != b->load)
		return a->load < b->load;
	if ((a->last_vm == vm_id) != (b->last_vm == vm_id))
		return a->last_vm == vm_id;
	return a->charged < b->charged;
}

uint32_t rt_sim_queue_choose(struct rt_sim *sim, uint32_t vm_id, uint32_t core)
{
	const struct cnnrt_device *dev = &sim->base;
	uint32_t equal = cnn_equal_cores(dev->core, dev->info.core_count, core), best = core;

	for (uint32_t i = 0; i < dev->info.core_count; i++)
		if (equal & 1u << i && is_better(&sim->core[i], &sim->core[best], vm_id))
			best = i;
	return best;
}

/* Longer jobs count as such, so that the sum cannot overflow. */
static uint64_t load_of(const struct rt_sim_core *core, const struct rt_sim_job *job)
{
	uint64_t limit = core->sim->base.core[core->index].job_cycles_max, sum = 0;

	for (uint32_t i = 0; i < job->task_count && sum < UINT32_MAX; i++) {
		uint64_t cycles = job->tasks[i].cycle_limit ? job->tasks[i].cycle_limit : limit;

		sum += cycles < UINT32_MAX ? cycles : UINT32_MAX;
	}
	return sum < UINT32_MAX ? sum : UINT32_MAX;
}

void rt_sim_queue_push(struct rt_sim_core *core, struct rt_sim_job *job)
{
	job->core = core;
	job->load = load_of(core, job);
	core->load += job->load;
	core->charged += job->load;
	core->last_vm = job->ctx->vm->id;
	*core->queue_end = job;
	core->queue_end = &job->next;
	pthread_cond_signal(&core->wake);
}

static void cancel_waiting(struct rt_sim_core *core, const struct rt_sim_ctx *ctx)
{
	struct rt_sim_job **link = &core->queue, *job;

	while ((job = *link)) {
		if (job->ctx != ctx) {
			link = &job->next;
			continue;
		}
		*link = job->next;
		end_job(core->sim, job, -ECANCELED);
	}
	core->queue_end = link;
}

void rt_sim_queue_cancel(struct rt_sim *sim, const struct rt_sim_ctx *ctx, bool abort)
{
	for (unsigned int i = 0; i < sim->base.info.core_count; i++) {
		struct rt_sim_core *core = &sim->core[i];

		cancel_waiting(core, ctx);
		if (!abort || !core->running || core->running->ctx != ctx)
			continue;
		/* Do not start its next task. */
		core->running->task_count = core->running->task + 1;
		queue_write(core, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
		pthread_cond_signal(&core->wake);
	}
}

static bool is_running(const struct rt_sim *sim, const struct rt_sim_vm *vm,
		       const struct rt_sim_ctx *ctx)
{
	for (unsigned int i = 0; i < sim->base.info.core_count; i++) {
		const struct rt_sim_job *job = sim->core[i].running;

		if (job && job->ctx->vm == vm && (!ctx || job->ctx == ctx))
			return true;
	}
	return false;
}

void rt_sim_queue_idle(struct rt_sim *sim, const struct rt_sim_vm *vm, const struct rt_sim_ctx *ctx)
{
	while (is_running(sim, vm, ctx))
		pthread_cond_wait(&sim->changed, &sim->lock);
}

void rt_sim_invalidate(struct rt_sim *sim, uint32_t value)
{
	uint32_t seq;

	cm_device_write(sim->model, CNNACC_REG_INVALIDATE, value);
	seq = cm_device_read(sim->model, CNNACC_REG_INV_SEQ);
	while ((int32_t)(cm_device_read(sim->model, CNNACC_REG_INV_DONE) - seq) < 0)
		pthread_cond_wait(&sim->changed, &sim->lock);
}

void rt_sim_queue_stop(struct rt_sim *sim)
{
	pthread_mutex_lock(&sim->lock);
	sim->stop = true;
	for (unsigned int i = 0; i < CNNRT_MAX_CORES; i++)
		if (sim->core[i].started)
			pthread_cond_signal(&sim->core[i].wake);
	pthread_mutex_unlock(&sim->lock);
	for (unsigned int i = 0; i < CNNRT_MAX_CORES; i++)
		if (sim->core[i].started)
			pthread_join(sim->core[i].thread, NULL);
}
