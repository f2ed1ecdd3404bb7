/* SPDX-License-Identifier: MIT */
/* Runs a raw program: maps the caller's ranges, submits one task and reports its status. */
#include "context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VA_END	(1ull << CNNACC_VA_BITS)

/* Pages that one range or several overlapping ranges cover. */
struct span {
	uint64_t va, end;
	unsigned int flags;
	struct rt_bo bo;
};

struct run {
	struct cnnrt_device *dev;
	const struct cnnrt_exec *exec;
	uint32_t vm_id, ctx_id;
	struct span *spans;
	unsigned int span_count;
	bool wants_stats;
	uint64_t stats_va;
	struct rt_bo stats; /* handle 0: the program has its own record, or none is wanted */
};

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

static const struct cnnrt_range *range_at(const struct cnnrt_exec *exec, unsigned int i)
{
	return (const void *)((const char *)exec->ranges + i * exec->range_size);
}

/* size: sizeof(struct cnnrt_range) of the caller */
static int check_range(const struct cnnrt_range *r, unsigned int i, size_t size,
		       struct cnnrt_error *err)
{
	unsigned int known = CNNRT_MAP_READ | CNNRT_MAP_WRITE | CNNRT_MAP_EXEC;

	if (!r->size || r->va >= VA_END || r->size > VA_END - r->va)
		return rt_fail(err, CNNRT_EINVAL, "range %u: 0x%" PRIx64 ":0x%" PRIx64 " is empty "
			       "or ends beyond 4 GiB", i, r->va, r->size);
	if (!r->flags || r->flags & ~known || (r->flags & CNNRT_MAP_EXEC &&
					       r->flags != CNNRT_MAP_EXEC))
		return rt_fail(err, CNNRT_EINVAL, "range %u at VA 0x%" PRIx64 ": flags 0x%x: "
			       "read, write, both, or execute wanted", i, r->va, r->flags);
	if (!rt_is_zero(r, sizeof(*r), size))
		return rt_fail(err, CNNRT_EINVAL, "range %u at VA 0x%" PRIx64 ": a field that "
			       "libcnnrt %s does not have is not zero", i, r->va, cnnrt_version());
	return CNNRT_OK;
}

static int merge_spans(struct run *run, struct cnnrt_error *err)
{
	unsigned int out = 0;

	qsort(run->spans, run->span_count, sizeof(*run->spans), compare_spans);
	for (unsigned int i = 1; i < run->span_count; i++) {
		struct span *last = &run->spans[out], *s = &run->spans[i];

		if (s->va >= last->end) {
			run->spans[++out] = *s;
			continue;
		}
		if (s->flags != last->flags)
			return rt_fail(err, CNNRT_EINVAL, "page at VA 0x%" PRIx64
				       ": two ranges want it with different permissions", s->va);
		if (s->end > last->end)
			last->end = s->end;
	}
	run->span_count = out + 1;
	return CNNRT_OK;
}

static int make_spans(struct run *run, struct cnnrt_error *err)
{
	const struct cnnrt_exec *exec = run->exec;

	run->spans = calloc(exec->range_count, sizeof(*run->spans));
	if (!run->spans)
		return rt_fail(err, CNNRT_ENOMEM, "exec: out of memory");
	for (unsigned int i = 0; i < exec->range_count; i++) {
		const struct cnnrt_range *r = range_at(exec, i);
		int ret = check_range(r, i, exec->range_size, err);

		if (ret)
			return ret;
		run->spans[i].va = r->va & ~(uint64_t)(run->dev->page_size - 1);
		run->spans[i].end = rt_pages(run->dev, r->va + r->size);
		run->spans[i].flags = r->flags;
	}
	run->span_count = exec->range_count;
	return merge_spans(run, err);
}

/* The statistics record goes to the highest page that the caller leaves free. */
static void place_stats(struct run *run)
{
	if (run->exec->own_stats || !run->wants_stats)
		return;
	run->stats_va = VA_END - run->dev->page_size;
	for (unsigned int i = run->span_count; i-- > 0;) {
		if (run->spans[i].end <= run->stats_va)
			break;
		run->stats_va = run->spans[i].va - run->dev->page_size;
	}
}

static uint32_t use_of_flags(unsigned int flags)
{
	if (flags & CNNRT_MAP_EXEC)
		return DRM_CNNACC_BO_PROGRAM;
	return flags & CNNRT_MAP_WRITE ? DRM_CNNACC_BO_DATA : DRM_CNNACC_BO_WEIGHT;
}

static int map_stats(struct run *run, struct cnnrt_error *err)
{
	struct rt_bind_range range = {
		.bo = &run->stats, .va = run->stats_va, .size = run->dev->page_size,
		.flags = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE,
	};
	int ret =
		rt_bo_new(run->dev, range.size, DRM_CNNACC_BO_DATA, run->vm_id, &run->stats, err);

	return ret ? ret : rt_bind(run->dev, run->vm_id, &range, err);
}

static int map_spans(struct run *run, struct cnnrt_error *err)
{
	int ret = CNNRT_OK;

	for (unsigned int i = 0; i < run->span_count && !ret; i++) {
		struct span *s = &run->spans[i];
		struct rt_bind_range range = {
			.bo = &s->bo, .va = s->va, .size = s->end - s->va, .flags = s->flags,
		};

		ret = rt_bo_new(run->dev, s->end - s->va, use_of_flags(s->flags), run->vm_id,
				&s->bo, err) ?:
		      rt_bind(run->dev, run->vm_id, &range, err);
	}
	if (ret || run->exec->own_stats || !run->wants_stats)
		return ret;
	return map_stats(run, err);
}

static const struct span *span_of(const struct run *run, uint64_t va)
{
	for (unsigned int i = 0; i < run->span_count; i++)
		if (va >= run->spans[i].va && va < run->spans[i].end)
			return &run->spans[i];
	return NULL;
}

static void copy_ranges(const struct run *run, bool out)
{
	for (unsigned int i = 0; i < run->exec->range_count; i++) {
		const struct cnnrt_range *r = range_at(run->exec, i);
		const struct span *s = span_of(run, r->va);
		uint8_t *mem = (uint8_t *)s->bo.map + (r->va - s->va);

		if (out && r->out)
			memcpy(r->out, mem, r->size);
		else if (!out && r->in)
			memcpy(mem, r->in, r->size);
	}
}

static void sync_spans(const struct run *run, uint32_t flags)
{
	for (unsigned int i = 0; i < run->span_count; i++)
		run->dev->ops->bo_sync(run->dev, &run->spans[i].bo, flags);
	if (run->stats.handle)
		run->dev->ops->bo_sync(run->dev, &run->stats, flags);
}

static int run_program(struct run *run, struct cnnrt_job_status *status, struct cnnrt_error *err)
{
	const struct cnnrt_exec *exec = run->exec;
	struct drm_cnnacc_task task = {
		.flags = run->wants_stats || exec->own_stats ? DRM_CNNACC_TASK_STATS : 0,
		.program_va = (uint32_t)exec->program_va,
		.program_len = (uint32_t)exec->program_size, .stats_va = (uint32_t)run->stats_va,
		.cycle_limit = exec->cycle_limit,
	};
	struct rt_submit s = {
		.ctx_id = run->ctx_id, .core = exec->core, .tasks = &task, .task_count = 1,
		.in_fence = -1,
	};
	int ret = run->dev->ops->submit(run->dev, &s);

	if (ret)
		return rt_fail_errno(err, ret, "core %u: program at VA 0x%" PRIx64
				     " of %" PRIu64 " bytes, cycle limit %" PRIu64, exec->core,
				     exec->program_va, exec->program_size, exec->cycle_limit);
	ret = rt_fence_wait(s.out_fence, exec->timeout_ns);
	if (ret == -ETIMEDOUT)
		ret = rt_fail(err, CNNRT_ETIMEDOUT, "core %u: the program still runs after "
			      "%" PRId64 " ms", exec->core, exec->timeout_ns / 1000000);
	else if (ret)
		ret = rt_fail_errno(err, ret, "core %u: wait", exec->core);
	else if ((ret = rt_fence_status(s.out_fence))) {
		*status = (struct cnnrt_job_status){ 0 };
		rt_job_failure(run->dev, run->ctx_id, s.seqno, ret, status);
		ret = CNNRT_OK;
	} else {
		rt_job_done(status);
	}
	close(s.out_fence);
	return ret;
}

static void free_run(struct run *run)
{
	if (run->ctx_id)
		run->dev->ops->ctx_destroy(run->dev, run->ctx_id);
	if (run->vm_id)
		run->dev->ops->vm_destroy(run->dev, run->vm_id);
	for (unsigned int i = 0; i < run->span_count; i++)
		if (run->spans[i].bo.handle)
			run->dev->ops->bo_close(run->dev, &run->spans[i].bo);
	if (run->stats.handle)
		run->dev->ops->bo_close(run->dev, &run->stats);
	free(run->spans);
}

static int check_exec(const struct cnnrt_device *dev, const struct cnnrt_exec *exec,
		      struct cnnrt_error *err)
{
	const struct cnnrt_core_info *core;

	if (exec->core >= dev->info.core_count)
		return rt_fail(err, CNNRT_EINVAL, "core %u: %s has cores 0..%u", exec->core,
			       dev->info.path, dev->info.core_count - 1);
	core = &dev->core[exec->core];
	if (!exec->range_count || !exec->ranges)
		return rt_fail(err, CNNRT_EINVAL, "exec: no ranges");
	if (exec->range_size < sizeof(struct cnnrt_range) || exec->range_size % 8)
		return rt_fail(err, CNNRT_EINVAL, "struct cnnrt_exec: range_size is %zu, a multiple "
			       "of 8 from %zu is valid; set it to sizeof(struct cnnrt_range)",
			       exec->range_size, sizeof(struct cnnrt_range));
	if (exec->program_va >= VA_END)
		return rt_fail(err, CNNRT_EINVAL, "program at VA 0x%" PRIx64 ": beyond 4 GiB",
			       exec->program_va);
	if (exec->program_va % CNNACC_LINE_SIZE)
		return rt_fail(err, CNNRT_EINVAL, "program at VA 0x%" PRIx64 ": multiple of %d "
			       "wanted", exec->program_va, CNNACC_LINE_SIZE);
	if (!exec->program_size || exec->program_size % 4 || exec->program_size > core->program_max)
		return rt_fail(err, CNNRT_EINVAL, "program of %" PRIu64 " bytes: core %s takes a "
			       "multiple of 4 up to %u", exec->program_size, core->name,
			       core->program_max);
	if (exec->own_stats && (exec->stats_va >= VA_END || exec->stats_va % CNNACC_LINE_SIZE))
		return rt_fail(err, CNNRT_EINVAL, "statistics at VA 0x%" PRIx64 ": multiple of %d "
			       "below 4 GiB wanted", exec->stats_va, CNNACC_LINE_SIZE);
	if (exec->cycle_limit > core->job_cycles_max)
		return rt_fail(err, CNNRT_EINVAL, "cycle limit %" PRIu64 ": core %s takes at most "
			       "%" PRIu64, exec->cycle_limit, core->name, core->job_cycles_max);
	return CNNRT_OK;
}

static int create_space(struct run *run, struct cnnrt_error *err)
{
	struct cnnrt_device *dev = run->dev;
	int ret = dev->ops->vm_create(dev, &run->vm_id);

	if (ret) {
		run->vm_id = 0;
		return rt_fail_errno(err, ret, "creating an address space (an open device has at "
				     "most %u)", dev->max_vms);
	}
	ret = rt_ctx_create(dev, run->vm_id, DRM_CNNACC_PRIORITY_NORMAL, &run->ctx_id);
	if (!ret)
		return CNNRT_OK;
	return rt_fail_errno(err, ret, "creating a context (an open device has at most %u)",
			     dev->max_contexts);
}

static int execute(struct run *run, struct cnnrt_job_status *status, void *stats,
		   struct cnnrt_error *err)
{
	int ret = make_spans(run, err);

	if (ret)
		return ret;
	place_stats(run);
	ret = create_space(run, err) ?: map_spans(run, err);
	if (ret)
		return ret;
	copy_ranges(run, false);
	sync_spans(run, DRM_CNNACC_BO_SYNC_FOR_DEVICE);
	ret = run_program(run, status, err);
	if (ret)
		return ret;
	sync_spans(run, DRM_CNNACC_BO_SYNC_FOR_CPU);
	copy_ranges(run, true);
	if (stats && run->stats.handle)
		memcpy(stats, run->stats.map, sizeof(struct cnnacc_stats));
	else if (stats)
		memset(stats, 0, sizeof(struct cnnacc_stats));
	return CNNRT_OK;
}

int cnnrt_exec(struct cnnrt_device *dev, const struct cnnrt_exec *from,
	       struct cnnrt_job_status *status, void *stats, struct cnnrt_error *err)
{
	struct cnnrt_exec exec;
	struct cnnrt_job_status own = { 0 };
	struct run run = { .dev = dev, .exec = &exec, .wants_stats = stats };
	int ret = rt_struct_read(RT_STRUCT(cnnrt_exec, stats_va), &exec, from, err) ?:
		  rt_struct_check(RT_JOB_STATUS, status->struct_size, err) ?:
		  rt_check_runs(dev, err) ?: check_exec(dev, &exec, err);

	if (ret)
		return ret;
	run.stats_va = exec.stats_va;
	ret = execute(&run, &own, stats, err);
	free_run(&run);
	if (!ret)
		rt_struct_write(RT_JOB_STATUS, status, &own);
	return ret;
}
