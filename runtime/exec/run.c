/* SPDX-License-Identifier: MIT */
/* Runs a job: its segments in order, on cores and on the CPU. */
#include "job.h"

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
static void name_failure(struct cnnrt_job *job, int first_task)
{
	const struct cnn_graph *g = job->program->graph;
	struct cnnrt_job_status *s = &job->status;
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

/* Starts a step now; end_step ends it. */
static struct cnnrt_step *begin_step(struct cnnrt_job *job, enum cnnrt_step_kind kind, int core,
				     int node)
{
	struct cnnrt_step *step = &job->steps[job->step_count++];

	*step = (struct cnnrt_step){
		.struct_size = sizeof(*step), .kind = kind,
		.name = job->program->graph->nodes[node].name, .core = core,
		.place = core < 0 ? "cpu" : job->dev->core[core].name, .op = (unsigned int)node,
		.start_ns = elapsed(job),
	};
	step->submitted_ns = step->end_ns = step->start_ns;
	return step;
}

static void begin_tasks(struct cnnrt_job *job, int core, int first, int count)
{
	struct cnnrt_step *step = begin_step(job, CNNRT_STEP_TASKS, core,
					     job->program->low->tasks[first].first_node);

	step->first_task = (unsigned int)first;
	step->task_count = (unsigned int)count;
}

static struct cnnrt_step *last_step(const struct cnnrt_job *job)
{
	return &job->steps[job->step_count - 1];
}

static void end_step(struct cnnrt_job *job)
{
	last_step(job)->end_ns = elapsed(job);
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

static void copy_inputs_in(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	for (int i = 0; i < seg->n_in; i++)
		if (is_written_by_host(job, seg->in[i]))
			cnn_slot_write(&job->program->low->slots[seg->in[i]], job->arena.map,
				       job->values[seg->in[i]].t.data);
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

static uint32_t buffer_refs(struct cnnrt_job *job)
{
	uint32_t count = 0;

	for (int d = 0; d < 2; d++) {
		for (unsigned int i = 0; i < cnnrt_program_io_count(job->program, d); i++) {
			const struct rt_binding *b = &job->bind[d][i];

			if (b->mapped)
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

/* Submits tasks of the step that was begun last. */
static int submit_tasks(struct cnnrt_job *job, const struct cnn_segment *seg, int first, int count,
			int in_fence, struct rt_submit *s)
{
	int ret;

	*s = (struct rt_submit){
		.ctx_id = job->ctx_id, .core = (uint32_t)seg->core,
		.flags = job_flags(job, seg, count),
		.tasks = &job->tasks[first], .task_count = (uint32_t)count,
		.bos = job->refs, .bo_count = buffer_refs(job), .in_fence = in_fence,
	};
	ret = job->dev->ops->submit(job->dev, s);
	if (!ret)
		last_step(job)->core = (int)s->core;
	return ret;
}

/* Called after the next submit, because close() takes time that the core can use. */
static void close_ended_fence(struct cnnrt_job *job)
{
	if (job->ended_fence >= 0)
		close(job->ended_fence);
	job->ended_fence = -1;
}

static bool cpu_follows(const struct cnnrt_job *job, const struct cnn_segment *seg)
{
	const struct cnn_lowered *low = job->program->low;

	return seg + 1 < low->segments + low->n_segments && seg[1].core < 0;
}

static int run_tasks(struct cnnrt_job *job, const struct cnn_segment *seg, int first, int count)
{
	struct rt_submit s;
	int ret;

	begin_tasks(job, seg->core, first, count);
	ret = submit_tasks(job, seg, first, count, -1, &s);
	if (ret)
		return fail(job, rt_code_of_errno(-ret), "submitting %d programs to core %d: %s",
			    count, seg->core, strerrordesc_np(-ret));
	last_step(job)->submitted_ns = elapsed(job);
	close_ended_fence(job);
	ret = rt_fence_wait(s.out_fence, -1) ?: rt_fence_status(s.out_fence);
	job->ended_fence = s.out_fence;
	end_step(job);
	if (cpu_follows(job, seg))
		rt_thread_pool_wake(job->pool);
	if (!ret)
		return CNNRT_OK;
	rt_job_failure(job->dev, job->ctx_id, s.seqno, ret, &job->status);
	name_failure(job, first);
	return job->status.code;
}

/*
 * A segment that a reset cancels without its fault is submitted again, at most so often per run.
 * The driver does that itself where one job is the whole segment (DRM_CNNACC_JOB_RESTARTABLE).
 */
#define RESUBMITS	3

/* Did a reset that the job did not cause cancel the last submission, and may it be repeated? */
static bool may_resubmit(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	struct drm_cnnacc_ctx_query q = { .ctx_id = job->ctx_id };
	uint32_t before = job->reset_jobs;

	if (job->status.code != CNNRT_ECANCELED || job->dev->ops->ctx_query(job->dev, &q))
		return false;
	job->reset_jobs = q.reset_jobs;
	return q.reset_jobs != before && seg->restartable && job->resubmits++ < RESUBMITS;
}

/* Adds up the tasks' statistics records, which must have been synced for the CPU. */
static void count_tasks(struct cnnrt_job *job, struct cnnrt_step *step)
{
	const struct cnnacc_stats *stats = job->stats.map;

	for (unsigned int i = 0; i < step->task_count; i++) {
		step->cycles += stats[step->first_task + i].cycles;
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

static int run_all_tasks(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	int max = (int)job->dev->max_tasks, end = seg->first_task + seg->n_tasks, ret = CNNRT_OK;

	for (int i = seg->first_task; i < end && !ret; i += max) {
		ret = run_tasks(job, seg, i, end - i < max ? end - i : max) ?: check_stop(job);
	}
	return ret;
}

static int run_device(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	int first_step, ret;

	begin_step(job, CNNRT_STEP_COPY, -1, seg->nodes[0]);
	copy_inputs_in(job, seg);
	ret = sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_DEVICE);
	end_step(job);
	first_step = job->step_count;
	do {
		job->step_count = first_step;
		if (!ret)
			ret = run_all_tasks(job, seg);
	} while (ret && may_resubmit(job, seg) && !(ret = check_stop(job)));
	if (ret)
		return ret;
	begin_step(job, CNNRT_STEP_COPY, -1, seg->nodes[seg->n_nodes - 1]);
	ret = sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_CPU);
	if (ret)
		return ret;
	copy_outputs_out(job, seg);
	end_step(job);
	for (int i = first_step; i < job->step_count; i++)
		count_tasks(job, &job->steps[i]);
	return CNNRT_OK;
}

static bool is_dynamic(const struct cnnrt_job *job, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i] >= 0 && job->values[n->out[i]].location == RT_AT_RUN_TIME)
			return true;
	return false;
}

/* Infers the output shapes that depend on the data of inputs, and checks their size. */
static int infer_at_run_time(struct cnnrt_job *job, const struct cnn_node *n, struct cnn_err *e)
{
	const struct cnn_limits *lim = &job->program->graph->limits;
	int ret;

	for (int i = 0; i < n->n_out; i++)
		if (job->out[i] && job->values[n->out[i]].location == RT_AT_RUN_TIME)
			cnn_tensor_release(job->out[i]);
	ret = cnn_cpu_check(n, job->in, job->out, e) ?: cnn_cpu_infer(n, job->in, job->out, e);
	if (ret > 0)
		return cnn_fail(e, CNN_EINVAL, "%s (%.60s): the shape of its output cannot be "
				"inferred", n->op_type, n->name);
	for (int i = 0; i < n->n_out && !ret; i++) {
		int64_t bytes = job->out[i] ? cnn_tensor_bytes(job->out[i]) : 0;

		if (bytes < 0 || bytes > lim->tensor_bytes ||
		    bytes > lim->total_bytes - job->run_bytes)
			ret = cnn_fail(e, CNN_ELIMIT, "%s (%.60s): output %d goes over the "
				       "limit of %lld bytes", n->op_type, n->name, i,
				       (long long)lim->tensor_bytes);
		job->run_bytes += bytes;
	}
	return ret;
}

static int run_node(struct cnnrt_job *job, const struct cnn_node *n)
{
	const struct cnn_limits *lim = &job->program->graph->limits;
	struct cnn_err e = { 0 };
	int64_t work;
	int ret = 0;

	for (int i = 0; i < n->n_in; i++)
		job->in[i] = n->in[i] < 0 ? NULL : &job->values[n->in[i]].t;
	for (int i = 0; i < n->n_out; i++)
		job->out[i] = n->out[i] < 0 ? NULL : &job->values[n->out[i]].t;
	if (is_dynamic(job, n))
		ret = infer_at_run_time(job, n, &e);
	if (!ret) {
		work = cnn_cpu_work(n, job->in, job->out);
		if (work > lim->work - job->run_work)
			ret = cnn_fail(&e, CNN_ELIMIT, "%s (%.60s): the run takes more than %lld "
				       "multiply-adds or elements", n->op_type, n->name,
				       (long long)lim->work);
		else
			job->run_work += work;
	}
	if (!ret)
		ret = cnn_cpu_run(n, job->in, job->out, rt_thread_pool_workers(job->pool), &e);
	return ret ? fail(job, e.code, "%s", e.text) : CNNRT_OK;
}

/* Moves the elements of a value to the slot of another one, see cnn_moves_to_slot. */
static void run_move(struct cnnrt_job *job, const struct cnn_node *n)
{
	const struct cnn_lowered *low = job->program->low;
	const struct cnn_slot *from = &low->slots[n->in[0]], *to = &low->slots[n->out[0]];
	struct cnn_layout source = cnn_move_source(job->program->graph, low, n->in[0]);
	const void *data = job->values[n->in[0]].t.data;

	/* A dense one may be in the caller's buffer instead. */
	if (rt_made_on_device(job->program, n->in[0]) && !cnn_layout_dense(&source))
		data = NULL;
	cnn_layout_move(&to->layout, (uint8_t *)job->arena.map + to->offset, &source,
			data ? data : (uint8_t *)job->arena.map + from->offset);
}

static int run_cpu(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	rt_thread_pool_wake(job->pool);
	for (int i = 0; i < seg->n_nodes; i++) {
		const struct cnn_node *n = &job->program->graph->nodes[seg->nodes[i]];
		int64_t macs = job->program->low->nodes[seg->nodes[i]].macs;
		int ret = check_stop(job);

		if (ret)
			return ret;
		begin_step(job, CNNRT_STEP_OP, -1, seg->nodes[i])->macs =
			macs > 0 ? (uint64_t)macs : 0;
		if (cnn_moves_to_slot(job->program->graph, job->program->low, seg->nodes[i]))
			run_move(job, n);
		else
			ret = run_node(job, n);
		if (ret)
			return ret;
		end_step(job);
	}
	rt_thread_pool_idle(job->pool);
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

static void start_run(struct cnnrt_job *job)
{
	job->start_ns = rt_now();
	job->step_count = 0;
	job->run_bytes = 0;
	job->run_work = 0;
	job->resubmits = 0;
}

void rt_job_run(struct cnnrt_job *job)
{
	const struct cnn_lowered *low = job->program->low;
	int ret = CNNRT_OK;

	start_run(job);
	for (int i = 0; i < low->n_segments && !ret; i++) {
		const struct cnn_segment *seg = &low->segments[i];

		ret = seg->core >= 0 ? run_device(job, seg) : run_cpu(job, seg);
	}
	close_ended_fence(job);
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
	struct rt_submit s;
	int ret;

	if (!seg || !is_direct(job, seg) ||
	    (in_fence >= 0 && !(ops->takes_fence && ops->takes_fence(job->dev, in_fence))))
		return CNNRT_EUNSUPPORTED;
	start_run(job);
	begin_tasks(job, seg->core, seg->first_task, seg->n_tasks);
	if (sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_DEVICE))
		return rt_fail(err, job->status.code, "%s", job->status.text);
	ret = submit_tasks(job, seg, seg->first_task, seg->n_tasks, in_fence, &s);
	if (ret)
		return rt_fail_errno(err, ret, "submitting %d programs to core %d", seg->n_tasks,
				     seg->core);
	last_step(job)->submitted_ns = elapsed(job);
	job->fence = s.out_fence;
	job->seqno = s.seqno;
	return CNNRT_OK;
}

/* When the device ended it, which may be long before the application asks. */
static uint64_t direct_end(const struct cnnrt_job *job)
{
	uint64_t end;

	if (job->dev->ops->end_time(job->dev, job->ctx_id, job->fence, &end) || end < job->start_ns)
		end = rt_now();
	return end - job->start_ns;
}

/* Not if the application has the fence and may have seen it fail. */
static bool resubmit_direct(struct cnnrt_job *job, const struct cnn_segment *seg)
{
	struct rt_submit s;

	if (job->fence_shared || !may_resubmit(job, seg) ||
	    submit_tasks(job, seg, seg->first_task, seg->n_tasks, -1, &s))
		return false;
	close(job->fence);
	job->fence = s.out_fence;
	job->seqno = s.seqno;
	return true;
}

bool rt_job_finish_direct(struct cnnrt_job *job)
{
	const struct cnn_segment *seg = only_segment(job);
	int ret = rt_fence_status(job->fence);
	struct cnnrt_step *step;

	if (ret) {
		rt_job_failure(job->dev, job->ctx_id, job->seqno, ret, &job->status);
		if (resubmit_direct(job, seg))
			return false;
		name_failure(job, seg->first_task);
		return true;
	}
	if (sync_arena(job, DRM_CNNACC_BO_SYNC_FOR_CPU))
		return true;
	step = last_step(job);
	step->end_ns = direct_end(job);
	if (step->submitted_ns > step->end_ns)
		step->submitted_ns = step->end_ns;
	count_tasks(job, step);
	rt_job_done(&job->status);
	return true;
}
