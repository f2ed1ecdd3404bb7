/* SPDX-License-Identifier: MIT */
/*
 * Runs a job: its segments on cores, and its operators on the CPU, which are called units. A unit
 * starts when those that it waits for have ended. Cores run several segments at a time; between two
 * operators the CPU starts what has become ready for a core.
 */
#include "job.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4)))
static int fail(struct cnnrt_job *job, int code, const char *fmt, ...)
{
	struct cnnrt_job_status *s = &job->status;
	va_list ap;

	*s = (struct cnnrt_job_status){
		.state = CNNRT_JOB_FAILED, .code = code, .core = -1,
		.class_name = "CPU", .code_name = "NONE",
	};
	va_start(ap, fmt);
	vsnprintf(s->text, sizeof(s->text), fmt, ap);
	va_end(ap);
	return code;
}

/* Prefixes a core's failure with the operator that the failed task computes. */
static void name_failure(const struct cnnrt_job *job, int first_task, struct cnnrt_job_status *s)
{
	const struct cnn_graph *g = job->program->graph;
	char what[CNNRT_ERROR_TEXT];
	const struct cnn_task *t;

	if (s->core < 0 || (uint32_t)first_task + s->task >= (uint32_t)job->program->low->n_tasks)
		return;
	s->task += (uint32_t)first_task;
	t = &job->program->low->tasks[s->task];
	snprintf(what, sizeof(what), "%.40s %.60s: %.200s", g->nodes[t->first_node].op_type,
		 g->nodes[t->first_node].name, s->text);
	memcpy(s->text, what, sizeof(what));
}

static int check_stop(struct cnnrt_job *job)
{
	return atomic_load(&job->stop) ? fail(job, CNNRT_ECANCELED, "the job is being freed") :
					 CNNRT_OK;
}

static uint64_t elapsed(const struct cnnrt_job *job)
{
	return rt_now() - job->start_ns;
}

static void set_step(struct cnnrt_job *job, struct cnnrt_step *step, enum cnnrt_step_kind kind,
		     int core, int node)
{
	*step = (struct cnnrt_step){
		.struct_size = sizeof(*step), .kind = kind,
		.name = job->program->graph->nodes[node].name, .core = core,
		.place = core < 0 ? "cpu" : job->dev->core[core].name, .op = (unsigned int)node,
		.start_ns = elapsed(job),
	};
	step->submitted_ns = step->end_ns = step->start_ns;
}

/* Starts a step of the host now; end_step ends it before the next one starts. */
static struct cnnrt_step *begin_step(struct cnnrt_job *job, enum cnnrt_step_kind kind, int node)
{
	struct cnnrt_step *step = &job->steps[job->step_count++];

	set_step(job, step, kind, -1, node);
	return step;
}

/* Starts a step of a core; one that is run again replaces the earlier one. Returns its index. */
static int begin_tasks(struct cnnrt_job *job, int core, int first, int count)
{
	int i = job->task_step[first] < 0 ? job->step_count++ : job->task_step[first];
	struct cnnrt_step *step = &job->steps[i];

	job->task_step[first] = i;
	set_step(job, step, CNNRT_STEP_TASKS, core, job->program->low->tasks[first].first_node);
	step->first_task = (unsigned int)first;
	step->task_count = (unsigned int)count;
	return i;
}

static void end_step(struct cnnrt_job *job, struct cnnrt_step *step)
{
	step->end_ns = elapsed(job);
}

static bool is_mapped(const struct cnnrt_job *job, int v)
{
	const struct cnnrt_program *p = job->program;

	for (int d = 0; d < 2; d++)
		for (unsigned int i = 0; i < cnnrt_program_io_count(p, d); i++)
			if (job->bind[d][i].mapped && rt_io_value(p, d, i) == v)
				return true;
	return false;
}

/* Is the value's data in the pages that the core accesses, so that no copy is needed? */
static bool is_in_place(const struct cnnrt_job *job, int v)
{
	enum rt_value_location location = job->values[v].location;

	return location == RT_AT_NONE || location == RT_AT_ARENA ||
	       (location == RT_AT_USER_BUFFER && is_mapped(job, v));
}

/* Must the host write the value's slot before the core reads it? */
static bool is_written_by_host(const struct cnnrt_job *job, int v)
{
	return !rt_made_on_device(job->program, v) && !is_in_place(job, v);
}

/* Nothing overwrites a slot before its last reader, so that the first one that starts fills it. */
static void copy_inputs_in(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	for (int i = 0; i < seg->n_in; i++) {
		struct rt_value *val = &job->values[seg->in[i]];

		if (!is_written_by_host(job, seg->in[i]) || val->slot_run == job->run)
			continue;
		cnn_slot_write(&job->program->low->slots[seg->in[i]], job->arena.map, val->t.data);
		val->slot_run = job->run;
	}
}

static void copy_outputs_out(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	for (int i = 0; i < seg->n_out; i++) {
		int v = seg->out[i];

		if (!is_in_place(job, v))
			cnn_slot_read(&job->program->low->slots[v], job->arena.map,
				      job->values[v].t.data);
	}
}

static bool overlap(const struct cnn_slot *a, const struct cnn_slot *b)
{
	return a->used && b->used && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

/* Does the segment use the memory of a value that a caller's buffer may provide? */
static bool uses_slot(const struct cnnrt_job *job, const struct cnn_segment *seg, int v)
{
	const struct cnn_slot *slots = job->program->low->slots;

	for (int i = 0; i < seg->n_in; i++)
		if (overlap(&slots[seg->in[i]], &slots[v]))
			return true;
	for (int i = 0; i < seg->n_out; i++)
		if (overlap(&slots[seg->out[i]], &slots[v]))
			return true;
	return false;
}

/* The caller's buffers that the segment uses: others would make it wait for nothing. */
static uint32_t buffer_refs(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	uint32_t count = 0;

	for (int d = 0; d < 2; d++) {
		for (unsigned int i = 0; i < cnnrt_program_io_count(job->program, d); i++) {
			const struct rt_binding *b = &job->bind[d][i];

			if (!b->mapped || !uses_slot(job, seg, rt_io_value(job->program, d, i)))
				continue;
			job->refs[count++] = (struct drm_cnnacc_bo_ref){
				.handle = b->buf->bo.handle,
				.flags = d == CNNRT_INPUT ? DRM_CNNACC_BO_REF_READ :
							    DRM_CNNACC_BO_REF_WRITE,
			};
		}
	}
	return count;
}

static uint32_t job_flags(const struct cnnrt_job *job, const struct cnn_segment *seg, int count)
{
	bool pinned = job->program->pinned & 1u << seg->core;

	return (seg->restartable && count == seg->n_tasks ? DRM_CNNACC_JOB_RESTARTABLE : 0) |
	       (pinned ? 0 : DRM_CNNACC_JOB_ANY_EQUAL);
}

/* Submits the tasks of a flight from f->first on, as many as a job takes. */
static int submit_tasks(struct cnnrt_job *job, struct rt_flight *f, int in_fence)
{
	const struct cnn_segment *seg = f->seg;
	int left = seg->first_task + seg->n_tasks - f->first, ret;
	struct cnnrt_step *step;
	struct rt_submit s;

	f->count = left < (int)job->dev->max_tasks ? left : (int)job->dev->max_tasks;
	f->step = begin_tasks(job, seg->core, f->first, f->count);
	s = (struct rt_submit){
		.ctx_id = job->ctx_id, .core = (uint32_t)seg->core,
		.flags = job_flags(job, seg, f->count),
		.tasks = &job->tasks[f->first], .task_count = (uint32_t)f->count,
		.bos = job->refs, .bo_count = buffer_refs(job, seg), .in_fence = in_fence,
	};
	ret = job->dev->ops->submit(job->dev, &s);
	if (ret)
		return ret;
	step = &job->steps[f->step];
	step->core = (int)s.core;
	step->submitted_ns = elapsed(job);
	f->fence = s.out_fence;
	f->seqno = s.seqno;
	return 0;
}

/* Called after the next submit, because close() takes time that the core can use. */
static void close_ended_fence(struct cnnrt_job *job)
{
	if (job->ended_fence >= 0)
		close(job->ended_fence);
	job->ended_fence = -1;
}

static int submit_flight(struct cnnrt_job *job, struct rt_flight *f)
{
	int ret = submit_tasks(job, f, -1);

	if (ret)
		return fail(job, rt_code_of_errno(-ret), "submitting %d programs to core %d: %s",
			    f->count, f->seg->core, strerrordesc_np(-ret));
	close_ended_fence(job);
	return CNNRT_OK;
}

/*
 * A segment that a reset cancels without its fault is submitted again, at most so often per run.
 * The driver does that itself where one job is the whole segment (DRM_CNNACC_JOB_RESTARTABLE).
 */
#define RESUBMITS	3

/*
 * Did a reset that the job did not cause cancel a submission, and may it be repeated? Of several
 * that resets have canceled, each is asked about once.
 */
static bool may_resubmit(struct cnnrt_job *job, const struct cnn_segment *seg,
			 const struct cnnrt_job_status *status)
{
	struct drm_cnnacc_ctx_query q = { .ctx_id = job->ctx_id };

	if (status->code != CNNRT_ECANCELED || job->dev->ops->ctx_query(job->dev, &q) ||
	    q.reset_jobs == job->reset_jobs)
		return false;
	job->reset_jobs++;
	return seg->restartable && job->resubmits++ < RESUBMITS;
}

/* Of a run that has failed: what resets have canceled is no matter of the next run. */
static void know_resets(struct cnnrt_job *job)
{
	struct drm_cnnacc_ctx_query q = { .ctx_id = job->ctx_id };

	if (job->ctx_id && !job->dev->ops->ctx_query(job->dev, &q))
		job->reset_jobs = q.reset_jobs;
}

/* Adds up the tasks' statistics records, which must have been synced for the CPU. */
static void count_tasks(struct cnnrt_job *job, struct cnnrt_step *step)
{
	const struct cnnacc_stats *stats = job->stats.map;

	for (unsigned int i = 0; i < step->task_count; i++) {
		step->cycles += stats[step->first_task + i].cycles;
		step->scrub_cycles += stats[step->first_task + i].scrub_cycles;
		step->macs += stats[step->first_task + i].mac_useful;
		step->mac_slots += stats[step->first_task + i].mac_slots;
	}
}

static int sync_arena(struct cnnrt_job *job, uint32_t flags)
{
	int ret = 0;

	if (job->arena.handle)
		ret = job->dev->ops->bo_sync(job->dev, &job->arena, flags);
	if (!ret && job->stats.handle)
		ret = job->dev->ops->bo_sync(job->dev, &job->stats, flags);
	return ret ? fail(job, rt_code_of_errno(-ret), "syncing the caches of the job's memory: %s",
			  strerrordesc_np(-ret)) :
		     CNNRT_OK;
}

/* Those that waited for a unit which has ended, and for no other, are ready. */
static void end_unit(struct cnnrt_job *job, int unit)
{
	job->ended_count++;
	for (int i = job->order.first[unit]; i < job->order.first[unit + 1]; i++) {
		int next = job->order.next[i], at;

		if (--job->waits[next])
			continue;
		for (at = job->ready_count++; at && job->ready[at - 1] > next; at--)
			job->ready[at] = job->ready[at - 1];
		job->ready[at] = next;
	}
}

static const struct cnn_segment *segment_of(const struct cnnrt_job *job, int unit)
{
	return &job->program->low->segments[job->order.units[unit].segment];
}

/* The values that a core has made are in the arena. */
static int finish_device(struct cnnrt_job *job, int unit)
{
	const struct cnn_segment *seg = segment_of(job, unit);
	struct cnnrt_step *step =
		begin_step(job, CNNRT_STEP_COPY, seg->nodes[seg->n_nodes - 1]);
	int ret = sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_CPU);

	if (ret)
		return ret;
	copy_outputs_out(job, seg);
	end_step(job, step);
	for (int i = seg->first_task; i < seg->first_task + seg->n_tasks;
	     i += (int)job->dev->max_tasks)
		count_tasks(job, &job->steps[job->task_step[i]]);
	end_unit(job, unit);
	return CNNRT_OK;
}

static int start_device(struct cnnrt_job *job, int unit)
{
	const struct cnn_segment *seg = segment_of(job, unit);
	struct cnnrt_step *step = begin_step(job, CNNRT_STEP_COPY, seg->nodes[0]);
	struct rt_flight *f = &job->flights[job->flight_count];
	int ret;

	copy_inputs_in(job, seg);
	ret = sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_DEVICE);
	end_step(job, step);
	if (ret)
		return ret;
	if (!seg->n_tasks)
		return finish_device(job, unit);
	*f = (struct rt_flight){ .seg = seg, .unit = unit, .first = seg->first_task };
	ret = submit_flight(job, f);
	if (!ret)
		job->flight_count++;
	return ret;
}

/* When a core ended a flight, which may be before the host has looked. */
static uint64_t flight_end(const struct cnnrt_job *job, uint64_t seqno, int fence)
{
	uint64_t end;

	if (job->dev->ops->end_time(job->dev, job->ctx_id, seqno, fence, &end) ||
	    end < job->start_ns)
		end = rt_now();
	return end - job->start_ns;
}

static void end_tasks(const struct cnnrt_job *job, const struct rt_flight *f)
{
	struct cnnrt_step *step = &job->steps[f->step];

	step->end_ns = flight_end(job, f->seqno, f->fence);
	if (step->submitted_ns > step->end_ns)
		step->submitted_ns = step->end_ns;
}

static void remove_flight(struct cnnrt_job *job, int i)
{
	job->flights[i] = job->flights[--job->flight_count];
}

/* Submits a flight that has failed once more, or makes its failure that of the job. */
static int flight_failed(struct cnnrt_job *job, int i, int fence_errno)
{
	struct rt_flight *f = &job->flights[i];
	struct cnnrt_job_status status = { 0 };
	int ret;

	rt_job_failure(job->dev, job->ctx_id, f->seqno, fence_errno, &status);
	name_failure(job, f->first, &status);
	if (may_resubmit(job, f->seg, &status)) {
		f->first = f->seg->first_task;
		ret = check_stop(job) ?: submit_flight(job, f);
	} else {
		job->status = status;
		ret = status.code;
	}
	if (ret)
		remove_flight(job, i);
	return ret;
}

/* Operators on the CPU follow. */
static void wake_pool(struct cnnrt_job *job)
{
	if (!job->pool_awake)
		rt_thread_pool_wake(job->pool);
	job->pool_awake = true;
}

static void put_pool_to_sleep(struct cnnrt_job *job)
{
	if (job->pool_awake)
		rt_thread_pool_idle(job->pool);
	job->pool_awake = false;
}

/* Is there an operator on the CPU that waits for this unit alone? */
static bool cpu_follows(const struct cnnrt_job *job, int unit)
{
	const struct rt_order *order = &job->order;

	for (int i = order->first[unit]; i < order->first[unit + 1]; i++)
		if (order->units[order->next[i]].node >= 0 && job->waits[order->next[i]] == 1)
			return true;
	return false;
}

/* A flight's fence is signaled. late: since a while, perhaps. */
static int end_flight(struct cnnrt_job *job, int i, bool late)
{
	struct rt_flight *f = &job->flights[i];
	int unit = f->unit, ret = rt_fence_status(f->fence);

	if (late)
		end_tasks(job, f);
	else
		end_step(job, &job->steps[f->step]);
	close_ended_fence(job);
	job->ended_fence = f->fence;
	if (ret)
		return flight_failed(job, i, ret);
	f->first += f->count;
	if (f->first < f->seg->first_task + f->seg->n_tasks) {
		ret = check_stop(job) ?: submit_flight(job, f);
		if (ret)
			remove_flight(job, i);
		return ret;
	}
	remove_flight(job, i);
	if (cpu_follows(job, unit))
		wake_pool(job);
	return finish_device(job, unit);
}

/* The first flight whose fence is signaled; -1: none within the time. timeout: as of poll. */
static int signaled_flight(const struct cnnrt_job *job, int timeout)
{
	struct pollfd p[RT_FLIGHTS];
	int n;

	for (int i = 0; i < job->flight_count; i++)
		p[i] = (struct pollfd){ .fd = job->flights[i].fence, .events = POLLIN };
	do {
		n = poll(p, (nfds_t)job->flight_count, timeout);
	} while (n < 0 && errno == EINTR);
	for (int i = 0; i < job->flight_count && n > 0; i++)
		if (p[i].revents)
			return i;
	return -1;
}

static int take_ready(struct cnnrt_job *job, int i)
{
	int unit = job->ready[i];

	memmove(&job->ready[i], &job->ready[i + 1],
		(size_t)(--job->ready_count - i) * sizeof(*job->ready));
	return unit;
}

/* May a unit that is ready start? Where units must not overlap, in the serial order only. */
static bool may_start(const struct cnnrt_job *job, int i)
{
	return job->pipelined || job->ready[i] == job->ended_count;
}

/* Takes a segment that is ready; -1: there is none, or all flights are in use. */
static int take_segment(struct cnnrt_job *job)
{
	for (int i = 0; i < job->ready_count && job->flight_count < RT_FLIGHTS; i++)
		if (job->order.units[job->ready[i]].node < 0 && may_start(job, i))
			return take_ready(job, i);
	return -1;
}

/* Takes an operator that is ready, one that a core waits for if there is one; -1: there is none. */
static int take_operator(struct cnnrt_job *job)
{
	int best = -1;

	for (int i = 0; i < job->ready_count; i++) {
		const struct rt_unit *unit = &job->order.units[job->ready[i]];

		if (unit->node < 0 || !may_start(job, i))
			continue;
		if (unit->feeds_core)
			return take_ready(job, i);
		best = best < 0 ? i : best;
	}
	return best < 0 ? -1 : take_ready(job, best);
}

static int start_ready(struct cnnrt_job *job)
{
	int unit, ret = CNNRT_OK;

	while (!ret && (unit = take_segment(job)) >= 0)
		ret = start_device(job, unit);
	return ret;
}

/* Ends the flights that have landed while the CPU was busy. */
static int end_landed(struct cnnrt_job *job)
{
	int i, ret = CNNRT_OK;

	while (!ret && job->flight_count && (i = signaled_flight(job, 0)) >= 0)
		ret = end_flight(job, i, true);
	return ret;
}

/*
 * The job has failed: waits for the cores, which use its memory. A failure that says more than the
 * first one, which only one segment of several that failed at once can do, takes its place.
 */
static void drain_flights(struct cnnrt_job *job)
{
	while (job->flight_count) {
		struct rt_flight *f = &job->flights[--job->flight_count];
		struct cnnrt_job_status status = { 0 };
		int ret = rt_fence_wait(f->fence, -1) ?: rt_fence_status(f->fence);

		end_tasks(job, f);
		close(f->fence);
		if (!ret || job->status.core >= 0 || job->status.code != CNNRT_EJOB)
			continue;
		rt_job_failure(job->dev, job->ctx_id, f->seqno, ret, &status);
		name_failure(job, f->first, &status);
		if (status.core >= 0)
			job->status = status;
	}
	know_resets(job);
}

static int run_cpu(struct cnnrt_job *job, int unit)
{
	const struct cnnrt_program *p = job->program;
	int node = job->order.units[unit].node;
	struct cnn_err e = { 0 };
	struct cnnrt_step *step;

	wake_pool(job);
	step = begin_step(job, CNNRT_STEP_OP, node);
	step->macs = p->low->nodes[node].macs > 0 ? (uint64_t)p->low->nodes[node].macs : 0;
	if (rt_job_run_node(job, node, &e))
		return fail(job, e.code, "%s", e.text);
	end_step(job, step);
	end_unit(job, unit);
	return CNNRT_OK;
}

/* Copies the outputs that were not made in the caller's buffers. */
static int copy_to_bound(struct cnnrt_job *job)
{
	const struct cnnrt_program *p = job->program;

	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_OUTPUT); i++) {
		const struct rt_binding *b = &job->bind[CNNRT_OUTPUT][i];
		const struct rt_value *val = &job->values[rt_io_value(p, CNNRT_OUTPUT, i)];
		uint8_t *to = b->buf ? (uint8_t *)b->buf->bo.map + b->offset : NULL;
		int64_t size = cnn_tensor_bytes(&val->t);

		if (!to || val->t.data == to || b->mapped)
			continue;
		if (size < 0 || (uint64_t)size > b->buf->bo.size - b->offset)
			return fail(job, CNNRT_EINVAL, "output %u: it has %lld bytes, the bound "
				    "buffer has %llu from its offset", i, (long long)size,
				    (unsigned long long)(b->buf->bo.size - b->offset));
		memcpy(to, val->t.data, (size_t)size);
	}
	return CNNRT_OK;
}

/* Do two of the caller's bindings share a buffer, so that the order of accesses matters? */
static bool shares_buffer(const struct cnnrt_job *job)
{
	const struct cnnrt_program *p = job->program;
	unsigned int inputs = cnnrt_program_io_count(p, CNNRT_INPUT);
	unsigned int count = inputs + cnnrt_program_io_count(p, CNNRT_OUTPUT);

	for (unsigned int i = 0; i < count; i++) {
		const struct rt_binding *a = i < inputs ? &job->bind[CNNRT_INPUT][i] :
						       &job->bind[CNNRT_OUTPUT][i - inputs];

		for (unsigned int k = 0; a->buf && k < count - inputs; k++) {
			const struct rt_binding *b = &job->bind[CNNRT_OUTPUT][k];

			if (b != a && b->buf && b->buf->bo.handle == a->buf->bo.handle)
				return true;
		}
	}
	return false;
}

static void start_run(struct cnnrt_job *job)
{
	const struct cnn_lowered *low = job->program->low;

	job->start_ns = rt_now();
	job->run++;
	job->step_count = 0;
	job->run_bytes = 0;
	job->run_work = 0;
	job->resubmits = 0;
	job->ready_count = job->ended_count = 0;
	/* Cache maintenance of the whole arena needs cores and CPU to take turns. */
	job->pipelined = job->dev->info.features & CNNACC_FEATURE_COHERENT && !shares_buffer(job);
	for (int i = 0; i < job->order.count; i++) {
		job->waits[i] = job->order.waits[i];
		if (!job->waits[i])
			job->ready[job->ready_count++] = i;
	}
	for (int i = 0; i < low->n_tasks; i++)
		job->task_step[i] = -1;
}

/* Waits for a core. */
static int wait_flight(struct cnnrt_job *job)
{
	int i;

	put_pool_to_sleep(job);
	if (!job->flight_count)
		return CNNRT_OK;
	i = signaled_flight(job, -1);
	return i >= 0 ? end_flight(job, i, false) :
			fail(job, CNNRT_ESYSTEM, "waiting for a core: %s", strerrordesc_np(errno));
}

/* Starts the segments that are ready, and runs an operator; if there is none, waits for a core. */
static int advance(struct cnnrt_job *job)
{
	int unit, ret = start_ready(job) ?: check_stop(job);

	if (ret)
		return ret;
	unit = take_operator(job);
	return unit < 0 ? wait_flight(job) : run_cpu(job, unit) ?: end_landed(job);
}

/* A step that was run again has not the place of its new start. */
static void sort_steps(struct cnnrt_job *job)
{
	for (int i = 1; i < job->step_count; i++) {
		struct cnnrt_step step = job->steps[i];
		int at = i;

		for (; at && job->steps[at - 1].start_ns > step.start_ns; at--)
			job->steps[at] = job->steps[at - 1];
		job->steps[at] = step;
	}
}

void rt_job_run(struct cnnrt_job *job)
{
	int ret = CNNRT_OK;

	start_run(job);
	while (!ret && job->ended_count < job->order.count)
		ret = advance(job);
	put_pool_to_sleep(job);
	if (ret)
		drain_flights(job);
	close_ended_fence(job);
	sort_steps(job);
	if (!ret)
		ret = copy_to_bound(job);
	if (!ret)
		rt_job_done(&job->status);
}

static const struct cnn_segment *only_segment(const struct cnnrt_job *job)
{
	const struct cnn_lowered *low = job->program->low;
	const struct cnn_segment *seg = low->segments;

	return low->n_segments == 1 && seg->core >= 0 && seg->n_tasks > 0 &&
	       (uint32_t)seg->n_tasks <= job->dev->max_tasks ? seg : NULL;
}

static bool is_direct(const struct cnnrt_job *job, const struct cnn_segment *seg)
{
	const struct cnn_graph *g = job->program->graph;

	for (int i = 0; i < seg->n_in; i++)
		if (is_written_by_host(job, seg->in[i]))
			return false;
	for (int i = 0; i < g->n_outputs; i++)
		if (!is_in_place(job, g->outputs[i]) ||
		    (job->bind[CNNRT_OUTPUT][i].buf && !job->bind[CNNRT_OUTPUT][i].mapped))
			return false;
	return true;
}

int rt_job_submit_direct(struct cnnrt_job *job, int in_fence, struct cnnrt_error *err)
{
	const struct rt_device_ops *ops = job->dev->ops;
	const struct cnn_segment *seg = only_segment(job);
	struct rt_flight *f = &job->flights[0];
	int ret;

	if (!seg || !is_direct(job, seg) ||
	    (in_fence >= 0 && !(ops->takes_fence && ops->takes_fence(job->dev, in_fence))))
		return CNNRT_EUNSUPPORTED;
	start_run(job);
	*f = (struct rt_flight){ .seg = seg, .first = seg->first_task };
	if (sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_DEVICE))
		return rt_fail(err, job->status.code, "%s", job->status.text);
	ret = submit_tasks(job, f, in_fence);
	if (ret)
		return rt_fail_errno(err, ret, "submitting %d programs to core %d", seg->n_tasks,
				     seg->core);
	job->fence = f->fence;
	return CNNRT_OK;
}

/* Not if the application has the fence and may have seen it fail. */
static bool resubmit_direct(struct cnnrt_job *job)
{
	struct rt_flight *f = &job->flights[0];

	if (job->fence_shared || !may_resubmit(job, f->seg, &job->status) ||
	    submit_tasks(job, f, -1))
		return false;
	close(job->fence);
	job->fence = f->fence;
	return true;
}

bool rt_job_finish_direct(struct cnnrt_job *job)
{
	const struct rt_flight *f = &job->flights[0];
	int ret = rt_fence_status(job->fence);

	if (ret) {
		rt_job_failure(job->dev, job->ctx_id, f->seqno, ret, &job->status);
		if (resubmit_direct(job))
			return false;
		name_failure(job, f->first, &job->status);
		know_resets(job);
		return true;
	}
	if (sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_CPU))
		return true;
	end_tasks(job, f);
	count_tasks(job, &job->steps[f->step]);
	rt_job_done(&job->status);
	return true;
}
