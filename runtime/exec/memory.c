/* SPDX-License-Identifier: MIT */
/* A job's memory: the location of each value, shared host memory, and device memory. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT	64
#define NEAR_MAX	256	/* nodes that are looked at to find what another one waits for */

static enum rt_value_location choose_location(const struct cnnrt_job *job, int v)
{
	const struct cnn_value *val = &job->program->graph->values[v];

	if (val->t.data)
		return RT_AT_GRAPH;
	if (rt_made_on_device(job->program, v)) {
		if (!cnn_read_dense(job->program->graph, job->program->low, v))
			return RT_AT_NONE;
		return rt_slot_is_dense(job, v) ? RT_AT_ARENA : RT_AT_HOST;
	}
	if (!val->is_input && val->producer < 0)
		return RT_AT_NONE;
	if (val->producer >= 0 &&
	    cnn_moves_to_slot(job->program->graph, job->program->low, val->producer))
		return RT_AT_NONE;
	if (val->t.rank < 0 || cnn_tensor_bytes(&val->t) < 0)
		return RT_AT_RUN_TIME;
	/* Inputs and outputs must outlive the run, which an arena slot does only with own pages. */
	if ((val->is_input || val->is_output) && !rt_has_own_pages(job, v))
		return RT_AT_HOST;
	return rt_slot_is_dense(job, v) ? RT_AT_ARENA : RT_AT_HOST;
}

/* Values get their places in the order of execution. */
struct placer {
	struct cnnrt_job *job;
	int *block_of;		/* by value: its block, -1: none yet */
	int *before;		/* by node: the last one that was found to wait for it, plus 1 */
	int near[NEAR_MAX];	/* nodes that have been found */
};

/* Finds the nearest nodes that a node waits for, since it reads what they make. */
static void find_nearest(struct placer *p, int node)
{
	const struct cnn_graph *g = p->job->program->graph;
	int count = 1;

	p->near[0] = node;
	for (int i = 0; i < count; i++) {
		const struct cnn_node *n = &g->nodes[p->near[i]];

		for (int k = 0; k < n->n_in && count < NEAR_MAX; k++) {
			int from = n->in[k] < 0 ? -1 : g->values[n->in[k]].producer;

			if (from < 0 || p->before[from] == node + 1)
				continue;
			p->before[from] = node + 1;
			p->near[count++] = from;
		}
	}
}

/*
 * Would a node wait for a block's last user, and for no other reason? A core could idle for that time,
 * as the CPU does not run its operators in the order in which they get their places.
 */
static bool makes_wait(const struct placer *p, int node, const struct rt_block *block)
{
	return p->job->program->low->n_tasks && node >= 0 && block->last_node >= 0 &&
	       p->before[block->last_node] != node + 1;
}

/* The smallest free block that is large enough, or -1. */
static int find_block(struct placer *p, int node, size_t size, bool may_wait)
{
	const struct cnnrt_job *job = p->job;
	int best = -1;

	for (int i = 0; i < job->block_count; i++)
		if (!job->blocks[i].used && job->blocks[i].size >= size &&
		    (best < 0 || job->blocks[i].size < job->blocks[best].size) &&
		    (may_wait || !makes_wait(p, node, &job->blocks[i])))
			best = i;
	return best;
}

static int new_block(struct cnnrt_job *job, size_t size)
{
	struct rt_block *block = &job->blocks[job->block_count];

	size = (size + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);
	if (size > (uint64_t)job->program->graph->limits.total_bytes - job->host_bytes)
		return CNNRT_ELIMIT;
	block->mem = aligned_alloc(ALIGNMENT, size);
	if (!block->mem)
		return CNNRT_ENOMEM;
	memset(block->mem, 0, size);
	block->size = size;
	block->last_node = -1;
	job->host_bytes += size;
	return job->block_count++;
}

/* A block for what a node makes (-1: for an input); or a negative enum cnnrt_code. */
static int take_block(struct placer *p, int node, size_t size)
{
	struct cnnrt_job *job = p->job;
	int block;

	if (node >= 0)
		find_nearest(p, node);
	block = find_block(p, node, size, false);
	if (block < 0)
		block = new_block(job, size);
	if (block == CNNRT_ELIMIT)
		block = find_block(p, node, size, true);
	if (block == -1)
		return CNNRT_ELIMIT;
	if (block >= 0)
		job->blocks[block].used = true;
	return block;
}

static int host_value(struct placer *p, int v, struct cnnrt_error *err)
{
	struct cnnrt_job *job = p->job;
	struct rt_value *val = &job->values[v];
	int block = take_block(p, job->program->graph->values[v].producer,
			       (size_t)cnn_tensor_bytes(&val->t));

	if (block == CNNRT_ELIMIT)
		return rt_fail(err, block, "value %.80s: with its %lld bytes the job's values go "
			       "over the limit of %lld", job->program->graph->values[v].name,
			       (long long)cnn_tensor_bytes(&val->t),
			       (long long)job->program->graph->limits.total_bytes);
	if (block < 0)
		return rt_fail(err, block, "value %.80s: no memory for %lld bytes",
			       job->program->graph->values[v].name,
			       (long long)cnn_tensor_bytes(&val->t));
	p->block_of[v] = block;
	val->t.data = job->blocks[block].mem;
	val->t.capacity = job->blocks[block].size;
	return CNNRT_OK;
}

/* Do all readers of the value run up to node? */
static bool is_last_reader(const struct cnnrt_job *job, const struct cnn_value *val, int node)
{
	const struct cnn_placement *nodes = job->program->low->nodes;

	for (int i = 0; i < val->n_consumers; i++)
		if (nodes[val->consumers[i]].order > nodes[node].order)
			return false;
	return true;
}

/* Frees the blocks of values whose last reader is node i. */
static void release_dead(struct placer *p, int i)
{
	const struct cnnrt_job *job = p->job;
	const struct cnn_graph *g = job->program->graph;
	const struct cnn_node *n = &g->nodes[i];

	if (job->program->observe)
		return;
	for (int j = 0; j < n->n_in + n->n_out; j++) {
		int v = j < n->n_in ? n->in[j] : n->out[j - n->n_in];
		const struct cnn_value *val = v < 0 ? NULL : &g->values[v];

		if (val && p->block_of[v] >= 0 && !val->is_output && !val->is_input &&
		    is_last_reader(job, val, i)) {
			job->blocks[p->block_of[v]].used = false;
			job->blocks[p->block_of[v]].last_node = i;
		}
	}
}

static int place_value(struct placer *p, int v, struct cnnrt_error *err)
{
	struct cnnrt_job *job = p->job;
	struct rt_value *val = &job->values[v];

	if (val->location == RT_AT_ARENA) {
		val->t.data = (uint8_t *)job->arena.map + job->program->low->slots[v].offset;
		val->t.capacity = (size_t)job->program->low->slots[v].bytes;
	} else if (val->location == RT_AT_HOST && p->block_of[v] < 0) {
		return host_value(p, v, err);
	}
	return CNNRT_OK;
}

static int place_node(struct placer *p, int i, struct cnnrt_error *err)
{
	const struct cnn_node *n = &p->job->program->graph->nodes[i];
	int ret = CNNRT_OK;

	for (int j = 0; j < n->n_out && !ret; j++)
		if (n->out[j] >= 0)
			ret = place_value(p, n->out[j], err);
	release_dead(p, i);
	return ret;
}

/* In the order of execution, so that blocks of dead values are reused. */
static int place_all(struct placer *p, struct cnnrt_error *err)
{
	const struct cnn_graph *g = p->job->program->graph;
	const struct cnn_lowered *low = p->job->program->low;
	int ret = CNNRT_OK;

	for (int i = 0; i < g->n_inputs && !ret; i++)
		ret = place_value(p, g->inputs[i], err);
	for (int s = 0; s < low->n_segments; s++)
		for (int i = 0; i < low->segments[s].n_nodes && !ret; i++)
			ret = place_node(p, low->segments[s].nodes[i], err);
	return ret;
}

static int place_values(struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnn_graph *g = job->program->graph;
	size_t n = (size_t)g->n_values + 1;
	struct placer p = {
		.job = job, .block_of = malloc(n * sizeof(int)),
		.before = calloc((size_t)g->n_nodes + 1, sizeof(int)),
	};
	int ret;

	job->values = calloc(n, sizeof(*job->values));
	job->blocks = calloc(n, sizeof(*job->blocks));
	if (!p.block_of || !p.before || !job->values || !job->blocks) {
		free(p.block_of);
		free(p.before);
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	}
	for (int v = 0; v < g->n_values; v++) {
		p.block_of[v] = -1;
		job->values[v].t = g->values[v].t;
		job->values[v].t.owned = false;
		job->values[v].location = choose_location(job, v);
	}
	ret = place_all(&p, err);
	for (int v = 0; v < g->n_values; v++) {
		job->values[v].unbound_location = job->values[v].location;
		job->values[v].unbound_data = job->values[v].t.data;
	}
	free(p.block_of);
	free(p.before);
	return ret;
}

static int compare_slots(const void *a, const void *b)
{
	const struct cnn_slot *const *x = a, *const *y = b;

	return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

static int bind_arena(struct cnnrt_job *job, uint64_t offset, uint64_t size,
		      struct cnnrt_error *err)
{
	struct rt_bind_range range = {
		.bo = &job->arena, .bo_offset = offset, .va = job->place.bases.va[CNN_ARENA] + offset,
		.size = size, .flags = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE,
	};

	return rt_place_map(job, &range, err);
}

/*
 * Gives each slot that a caller's buffer may replace a mapping of its own, and maps what is between
 * them. Values that share a slot share the mapping.
 */
static int map_arena(struct cnnrt_job *job, const struct cnn_slot **slots, size_t count,
		     struct cnnrt_error *err)
{
	uint64_t at = 0;
	int ret = CNNRT_OK;

	qsort(slots, count, sizeof(*slots), compare_slots);
	for (size_t i = 0; i <= count && !ret; i++) {
		uint64_t next = i < count ? (uint64_t)slots[i]->offset : job->arena.size;
		uint64_t size = i < count ? rt_pages(job->dev, (uint64_t)slots[i]->bytes) : 0;

		if (next < at)
			continue;
		if (next > at)
			ret = bind_arena(job, at, next - at, err);
		if (size && !ret)
			ret = bind_arena(job, next, size, err);
		at = next + size;
	}
	return ret;
}

static int create_arena(struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnn_graph *g = job->program->graph;
	const struct cnn_lowered *low = job->program->low;
	const struct cnn_slot **slots;
	size_t count = 0;
	int ret;

	if (!low->arena_bytes)
		return CNNRT_OK;
	slots = malloc((size_t)(g->n_values + 1) * sizeof(*slots));
	if (!slots)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	for (int v = 0; v < g->n_values; v++)
		if (low->slots[v].used && rt_has_own_pages(job, v) &&
		    (g->values[v].is_input || g->values[v].is_output))
			slots[count++] = &low->slots[v];
	ret = rt_bo_new(job->dev, (uint64_t)low->arena_bytes, DRM_CNNACC_BO_DATA,
			rt_vm_id(job->place.vm), &job->arena, err) ?:
	      map_arena(job, slots, count, err);
	free(slots);
	return ret;
}

static int create_device_memory(struct cnnrt_job *job, struct cnnrt_error *err)
{
	int ret = rt_place_get(job, err);

	if (ret)
		return ret;
	ret = rt_ctx_create(job->dev, rt_vm_id(job->place.vm), job->ctx->priority, &job->ctx_id);
	if (ret)
		return rt_fail_errno(err, ret, "job: creating its queues (an open device has at "
				     "most %u jobs)", job->dev->max_contexts);
	return rt_place_fill(job, err) ?: create_arena(job, err);
}

static int make_tasks(struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnn_lowered *low = job->program->low;

	job->tasks = calloc((size_t)low->n_tasks + 1, sizeof(*job->tasks));
	if (!job->tasks)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	for (int i = 0; i < low->n_tasks; i++)
		job->tasks[i] = (struct drm_cnnacc_task){
			.flags = DRM_CNNACC_TASK_STATS,
			.program_va = job->place.bases.va[CNN_PROGRAM] + (uint32_t)low->tasks[i].offset,
			.program_len = low->tasks[i].length,
			.stats_va = job->place.stats_va + (uint32_t)i * sizeof(struct cnnacc_stats),
			.cycle_limit = low->tasks[i].cycle_limit,
		};
	return CNNRT_OK;
}

int rt_job_memory(struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnnrt_program *p = job->program;
	int ret = CNNRT_OK;

	for (int d = 0; d < 2; d++) {
		job->bind[d] = calloc(cnnrt_program_io_count(p, d) + 1, sizeof(*job->bind[d]));
		if (!job->bind[d])
			return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	}
	job->refs = calloc((size_t)p->graph->n_inputs + (size_t)p->graph->n_outputs + 1,
			   sizeof(*job->refs));
	/* A segment on a core has a copy step, at most one step per task, and a copy step. */
	job->steps = calloc((size_t)p->graph->n_nodes + (size_t)p->low->n_tasks +
			    2 * (size_t)p->low->n_segments + 1, sizeof(*job->steps));
	job->pool = rt_thread_pool_create();
	job->waits = calloc((size_t)p->graph->n_nodes + 1, sizeof(*job->waits));
	job->ready = calloc((size_t)p->graph->n_nodes + 1, sizeof(*job->ready));
	job->task_step = calloc((size_t)p->low->n_tasks + 1, sizeof(*job->task_step));
	if (!job->refs || !job->steps || !job->pool || !job->waits || !job->ready ||
	    !job->task_step)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	if (p->low->n_tasks || p->low->arena_bytes)
		ret = create_device_memory(job, err);
	return ret ?: make_tasks(job, err) ?: place_values(job, err) ?: rt_order_build(job, err);
}

void rt_job_memory_free(struct cnnrt_job *job)
{
	struct cnnrt_device *dev = job->dev;

	if (job->ctx_id)
		dev->ops->ctx_destroy(dev, job->ctx_id);
	rt_place_put(job);
	if (job->arena.handle)
		dev->ops->bo_close(dev, &job->arena);
	if (job->stats.handle)
		dev->ops->bo_close(dev, &job->stats);
	if (job->code.handle)
		dev->ops->bo_close(dev, &job->code);
	rt_thread_pool_free(job->pool);
	for (int v = 0; job->values && v < job->program->graph->n_values; v++)
		cnn_tensor_release(&job->values[v].t);
	for (int i = 0; i < job->block_count; i++)
		free(job->blocks[i].mem);
	free(job->values);
	free(job->blocks);
	free(job->refs);
	free(job->steps);
	free(job->waits);
	free(job->ready);
	free(job->task_step);
	rt_order_free(&job->order);
	free(job->tasks);
	free(job->bind[0]);
	free(job->bind[1]);
}
