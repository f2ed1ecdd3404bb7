// SPDX-License-Identifier: MIT
/* From a graph to images: what does not depend on the kind of core. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const struct cnn_backend_ops *const core_ops[] = {
#define CORE(name) &cnn_backend_##name,
#include "backend/cores.def"
#undef CORE
};

/* ---- images ---------------------------------------------------------------------------- */

static int64_t buf_grow(struct cnn_compile *lw, struct cnn_image *b, int64_t need)
{
	int64_t cap = cnn_max(b->cap * 2, cnn_round_up(need, 4096));
	uint8_t *data = realloc(b->data, (size_t)cap);

	if (!data)
		return cnn_fail(lw->err, CNN_ENOMEM, "no memory for %lld bytes of %s",
				(long long)cap, b->what);
	b->data = data;
	b->cap = cap;
	return 0;
}

int64_t cnn_image_add(struct cnn_compile *lw, struct cnn_image *b, int64_t len, int64_t align)
{
	int64_t at = cnn_round_up(b->len, align);

	if (len > b->max - at)
		return cnn_fail(lw->err, CNN_ELIMIT, "%s would exceed %lld bytes", b->what,
				(long long)b->max);
	if (at + len > b->cap && buf_grow(lw, b, at + len))
		return CNN_ENOMEM;
	memset(b->data + b->len, 0, (size_t)(at + len - b->len));
	b->len = at + len;
	return at;
}

struct cnn_task *cnn_add_task(struct cnn_compile *lw, int64_t program, uint32_t length)
{
	struct cnn_lowered *out = lw->out;

	if (out->n_tasks == lw->task_cap) {
		int cap = lw->task_cap ? 2 * lw->task_cap : 64;
		struct cnn_task *tasks = realloc(out->tasks, (size_t)cap * sizeof(*tasks));

		if (!tasks) {
			cnn_fail(lw->err, CNN_ENOMEM, "no memory for %d tasks", cap);
			return NULL;
		}
		out->tasks = tasks;
		lw->task_cap = cap;
	}
	out->tasks[out->n_tasks] = (struct cnn_task){ .offset = program, .length = length };
	return &out->tasks[out->n_tasks++];
}

void cnn_progress(struct cnn_compile *lw, int nodes)
{
	unsigned int done = lw->before + (unsigned int)nodes;

	if (done <= lw->done)
		return;
	lw->done = done;
	if (lw->opt && lw->opt->progress)
		lw->opt->progress(lw->done, 2 * (unsigned int)lw->out->n_nodes, lw->opt->opaque);
}

struct cnnrt_span *cnn_add_span(struct cnn_compile *lw)
{
	struct cnn_lowered *out = lw->out;

	if (out->n_spans == lw->span_cap) {
		int cap = lw->span_cap ? 2 * lw->span_cap : 1024;
		struct cnnrt_span *spans = realloc(out->spans, (size_t)cap * sizeof(*spans));

		if (!spans) {
			cnn_fail(lw->err, CNN_ENOMEM, "no memory for %d spans", cap);
			return NULL;
		}
		out->spans = spans;
		lw->span_cap = cap;
	}
	return &out->spans[out->n_spans++];
}

/* ---- the whole ------------------------------------------------------------------------- */

static const struct cnn_backend_ops *find_ops(uint32_t type)
{
	for (size_t i = 0; i < sizeof(core_ops) / sizeof(core_ops[0]); i++)
		if (core_ops[i]->type == type)
			return core_ops[i];
	return NULL;
}

static bool is_wanted(const struct cnn_core *cores, int i, const struct cnn_lower_options *opt)
{
	if (opt && (opt->cpu_only || (opt->cores && !(opt->cores >> i & 1))))
		return false;
	return find_ops(cores[i].type) != NULL;
}

unsigned int cnn_lower_fuse_mask(const struct cnn_core *cores, int n_cores,
				 const struct cnn_lower_options *opt)
{
	unsigned int mask = CNN_FUSE_ALL, wants = 0;

	for (int i = 0; i < n_cores; i++) {
		if (!is_wanted(cores, i, opt))
			continue;
		mask &= find_ops(cores[i].type)->fuse;
		wants |= find_ops(cores[i].type)->wants;
	}
	return mask | wants;
}

static int open_cores(struct cnn_compiler *x, const struct cnn_core *cores, int n_cores,
		      const struct cnn_lower_options *opt)
{
	x->cores = calloc((size_t)n_cores + 1, sizeof(*x->cores));
	if (!x->cores)
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for cores");
	x->n_cores = n_cores;
	for (int i = 0; i < n_cores; i++) {
		if (!is_wanted(cores, i, opt))
			continue;
		x->cores[i] = find_ops(cores[i].type)->open(&x->lw, &cores[i]);
		if (!x->cores[i])
			return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for cores");
	}
	return CNN_OK;
}

static int alloc_results(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;
	size_t values = (size_t)x->lw.g->n_values + 1;
	size_t slots = values + (size_t)x->lw.g->n_nodes;	/* a copy for each node */

	out->n_nodes = x->lw.g->n_nodes;
	out->n_values = out->n_slots = x->lw.g->n_values;
	out->nodes = calloc((size_t)out->n_nodes + 1, sizeof(*out->nodes));
	out->slots = calloc(slots, sizeof(*out->slots));
	x->lw.root = calloc(slots, sizeof(int));
	x->first = calloc(slots, sizeof(int));
	x->last = calloc(slots, sizeof(int));
	x->shared = calloc(slots, sizeof(bool));
	x->joined = calloc(values, sizeof(bool));
	x->copy = calloc((size_t)out->n_nodes + 1, sizeof(int));
	x->next_copy = calloc(slots, sizeof(int));
	if (!out->nodes || !out->slots || !x->lw.root || !x->first || !x->last || !x->shared ||
	    !x->joined || !x->copy || !x->next_copy)
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for %d nodes", out->n_nodes);
	for (int s = 0; s < (int)slots; s++) {
		out->slots[s].from = x->lw.root[s] = s;
		x->first[s] = out->n_nodes;
		x->last[s] = -1;
	}
	for (int i = 0; i < out->n_nodes; i++)
		x->copy[i] = -1;
	return CNN_OK;
}

static int lower_segments(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;

	for (int i = 0; i < out->n_segments; i++) {
		struct cnn_segment *seg = &out->segments[i];
		int ret = CNN_OK;

		if (seg->core >= 0) {
			seg->first_task = out->n_tasks;
			ret = x->cores[seg->core]->ops->lower(x->cores[seg->core], seg);
			seg->n_tasks = out->n_tasks - seg->first_task;
		}
		if (ret)
			return ret;
		cnn_progress(&x->lw, seg->n_nodes);
		x->lw.before = x->lw.done;
	}
	return CNN_OK;
}

static void add_up(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;
	int64_t on_chip = 0;

	for (int i = 0; i < x->n_cores; i++)
		if (x->cores[i])
			on_chip = cnn_max(on_chip, x->cores[i]->on_chip);
	for (int i = 0; i < out->n_nodes; i++) {
		struct cnn_placement *p = &out->nodes[i];
		const struct cnn_backend *core = p->core < 0 ? NULL : x->cores[p->core];

		cnn_compulsory_traffic(x->lw.g, i, on_chip, p);
		out->macs = cnn_add_sat(out->macs, p->macs);
		if (!core)
			continue;
		out->device_macs = cnn_add_sat(out->device_macs, p->macs);
		p->cost.mac_peak = p->cost.cycles * (uint64_t)core->ops->peak(core, i);
	}
}

static int lower_graph(struct cnn_compiler *x)
{
	int ret;

	for (int i = x->lw.g->n_nodes - 1; i >= 0; i--)
		cnn_place_host_copy(x, i);
	cnn_settle_owners(x);
	ret = cnn_make_segments(x);

	if (!ret)
		ret = cnn_allocate_arena(x);
	if (!ret)
		ret = lower_segments(x);
	add_up(x);
	return ret;
}

static void close_lowering(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;

	for (int i = 0; i < x->n_cores; i++)
		if (x->cores[i])
			x->cores[i]->ops->close(x->cores[i]);
	free(x->cores);
	free(x->lw.root);
	free(x->first);
	free(x->last);
	free(x->shared);
	free(x->joined);
	free(x->copy);
	free(x->next_copy);
	out->program = x->lw.program.data;
	out->program_bytes = x->lw.program.len;
	out->weights = x->lw.weights.data;
	out->weight_bytes = x->lw.weights.len;
}

int cnn_lower(const struct cnn_graph *g, const struct cnn_core *cores, int n_cores,
	      const struct cnn_lower_options *opt, struct cnn_lowered **out, struct cnn_err *err)
{
	struct cnn_compiler x = {
		.observe = opt && opt->observe,
		.lw = {
			.g = g, .err = err, .opt = opt,
			.no_keep = opt && (opt->no_keep || opt->observe),
			.program = { .max = CNN_PROGRAM_MAX, .what = "programs" },
			.weights = { .max = CNN_WEIGHTS_MAX, .what = "weights" },
		},
	};
	int ret;

	*out = NULL;
	x.lw.out = calloc(1, sizeof(*x.lw.out));
	if (!x.lw.out)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a compiled network");
	ret = alloc_results(&x);
	if (!ret)
		ret = open_cores(&x, cores, n_cores, opt);
	for (int i = 0; i < g->n_nodes && !ret; i++) {
		cnn_place_node(&x, i);
		cnn_progress(&x.lw, i + 1);
	}
	x.lw.before = x.lw.done;
	if (!ret)
		ret = lower_graph(&x);
	close_lowering(&x);
	if (ret)
		cnn_lowered_free(x.lw.out);
	else
		*out = x.lw.out;
	return ret;
}
