/* SPDX-License-Identifier: MIT */
/*
 * Compares each value of a job with what the CPU computes from the same inputs: with the operators
 * of the file before fusion, or with the program's own where those are not known. The program is
 * compiled with observe, so all values stay in memory to the end of the run.
 */
#include "job.h"
#include "backend/backend.h"
#include "ops/ops.h"
#include "passes/passes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POISON		0x7fa0ccccu	/* a signalling NaN; those of operators are 0x7fc00000 */
#define POISON_HALF	0x7da0u		/* the same of float16, where NaNs are 0x7e00 */
#define DEFAULT_ATOL	1e-5
#define DEFAULT_RTOL	1e-4
#define HALF_ERROR	0x1p-11	/* of a number that is rounded to float16 */

struct compare {
	struct cnnrt_job *job;
	double atol, rtol;
	/* of the current node */
	const struct cnn_tensor *in[CNN_MAX_INPUTS];
	struct cnn_tensor *out[CNN_MAX_INPUTS], seen[CNN_MAX_INPUTS], made[CNN_MAX_INPUTS];
	const struct cnn_graph *file; /* the file's operators; NULL: not known */
	struct cnn_tensor *file_made; /* by value: their results, while they are needed */
	int next;		      /* the next of file's nodes to run */
	/* Of output 0 of the current node, if its core rounds in a way of its own; else NULL. */
	double *exact, *bound;
	bool *saturated;
	void (*report)(const struct cnnrt_layer *layer, void *opaque);
	void *opaque;
	int bad;
};

static void fill(void *p, size_t bytes, bool halves)
{
	uint32_t *word = p;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = halves ? POISON_HALF << 16 | POISON_HALF : POISON;
}

/* Is it an input under another name? */
static bool shares_input(const struct cnnrt_job *job, int v)
{
	const struct cnn_graph *g = job->program->graph;
	const struct cnn_slot *slots = job->program->low->slots;

	for (int i = 0; i < g->n_inputs; i++)
		if (slots[g->inputs[i]].used &&
		    slots[g->inputs[i]].offset < slots[v].offset + slots[v].bytes &&
		    slots[v].offset < slots[g->inputs[i]].offset + slots[g->inputs[i]].bytes)
			return true;
	return false;
}

static void poison(struct cnnrt_job *job)
{
	const struct cnn_graph *g = job->program->graph;

	for (int v = 0; v < g->n_values; v++) {
		const struct cnn_value *from = &g->values[v];
		const struct cnn_slot *slot = &job->program->low->slots[v];
		struct rt_value *val = &job->values[v];
		bool halves = from->t.dtype == CNN_FLOAT16;

		/* What the application gives must stay. */
		if (from->is_input || (from->producer < 0 && from->t.data))
			continue;
		if (slot->used && !shares_input(job, v))
			fill((uint8_t *)job->arena.map + slot->offset, (size_t)slot->bytes,
			     halves || slot->layout.half);
		if (val->location == RT_AT_HOST && val->t.data)
			fill(val->t.data, val->t.capacity, halves);
	}
}

static bool is_dense_in_arena(const struct cnnrt_job *job, int v)
{
	const struct cnn_value *val = &job->program->graph->values[v];

	return val->producer >= 0 && job->program->low->nodes[val->producer].core >= 0 &&
	       rt_slot_is_dense(job, v);
}

/* Floats from halves in the arena; those that were never written stay to be told from NaNs. */
static int get_halves(const struct cnnrt_job *job, const struct cnn_slot *slot,
		      struct cnn_tensor *t, struct cnn_err *e)
{
	struct cnn_layout as_they_are = slot->layout;
	int64_t count = cnn_tensor_count(t);
	uint16_t *half = malloc((size_t)count * sizeof(*half) + 1);
	uint32_t *bits = t->data;

	if (!half)
		return cnn_fail(e, CNN_ENOMEM, "compare: out of memory");
	as_they_are.half = 0;
	cnn_layout_read(&as_they_are, (const uint8_t *)job->arena.map + slot->offset, half);
	cnn_cast(CNN_FLOAT16, half, CNN_FLOAT32, t->data, count);
	for (int64_t i = 0; i < count; i++)
		bits[i] = half[i] == POISON_HALF ? POISON : bits[i];
	free(half);
	return CNN_OK;
}

/*
 * Sets t to the value v as a dense tensor; t->owned if it is a copy. Packed codes cannot be read:
 * they are what the host has packed.
 */
static int get_value(struct cnnrt_job *job, int v, struct cnn_tensor *t, struct cnn_err *e)
{
	const struct cnn_graph *g = job->program->graph;
	const struct cnn_slot *slot = &job->program->low->slots[v];
	int producer = job->program->graph->values[v].producer;
	int ret;

	*t = job->values[v].t;
	t->owned = false;
	if (producer < 0 || (job->program->low->nodes[producer].core < 0 &&
			     !cnn_moves_to_slot(g, job->program->low, producer)))
		return CNN_OK;
	if (slot->layout.codes) {
		ret = get_value(job, g->nodes[producer].in[0], t, e);
		t->rank = g->values[v].t.rank;
		memcpy(t->dims, g->values[v].t.dims, sizeof(t->dims));
		return ret;
	}
	if (!slot->used)
		return cnn_fail(e, CNN_EINVAL, "compare: value %.60s is not in memory: its core "
				"did not store it", job->program->graph->values[v].name);
	if (is_dense_in_arena(job, v)) {
		t->data = (uint8_t *)job->arena.map + slot->offset;
		t->capacity = (size_t)slot->bytes;
		return CNN_OK;
	}
	t->data = NULL;
	ret = cnn_tensor_alloc(t, 0, e);
	if (!ret && slot->layout.half)
		ret = get_halves(job, slot, t, e);
	else if (!ret)
		cnn_slot_read(slot, job->arena.map, t->data);
	return ret;
}

/* Differences that are allowed besides rounding. */
struct allowance {
	/*
	 * A pooling unit compares with -FLT_MAX where a window has padding or is not full
	 * (Documentation/hardware/, Pooling). That is the maximum if all else is -infinity.
	 */
	bool fills;
	/* It only renames its input, but is kept as float16. */
	bool halves;
	double integer; /* of integers */
};

/* Infinities and NaNs are equal to their like only. */
static double distance(double x, double y)
{
	if (x == y || (isnan(x) && isnan(y)))
		return 0;
	return isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
}

static double difference(const struct cnn_tensor *got, const struct cnn_tensor *want, int64_t i,
			 bool fills)
{
	double x = cnn_tensor_element(got, i), y = cnn_tensor_element(want, i);

	if (fills && y == (double)-INFINITY && x == (double)-FLT_MAX)
		return 0;
	return distance(x, y);
}

static bool is_poison(const struct cnn_tensor *t, int64_t i)
{
	if (t->dtype == CNN_FLOAT16)
		return ((const uint16_t *)t->data)[i] == POISON_HALF;
	return t->dtype == CNN_FLOAT32 && ((const uint32_t *)t->data)[i] == POISON;
}

/*
 * The scale of the absolute tolerance. A sum's rounding error depends on its terms, which may
 * cancel, so the tensor's largest element serves for all.
 */
static double largest(const struct cnn_tensor *t, int64_t count)
{
	double most = 1;

	for (int64_t i = 0; i < count; i++) {
		double v = fabs(cnn_tensor_element(t, i));

		if (v > most && !isinf(v))
			most = v;
	}
	return most;
}

static void note_beyond(struct cnnrt_layer *l, uint64_t i, double got, double want)
{
	if (l->beyond++)
		return;
	l->first = i;
	l->got = got;
	l->want = want;
}

/*
 * A core with bounds of its own: its results are within these of the exact ones. Those of the file
 * must be equal to the exact ones as ever, unless they are float16, where each node rounds.
 */
static void compare_bounds(const struct compare *c, const struct cnn_tensor *got,
			   const struct cnn_tensor *want, struct cnnrt_layer *l)
{
	bool rounds = want->dtype == CNN_FLOAT16;
	double atol = c->atol * largest(want, cnn_tensor_count(got));

	l->count = (uint64_t)cnn_tensor_count(got);
	for (int64_t i = 0; i < (int64_t)l->count; i++) {
		double x = cnn_tensor_element(got, i), y = cnn_tensor_element(want, i);
		double exact = c->exact[i], error = distance(x, exact);
		bool unwritten = is_poison(got, i);

		l->unwritten += unwritten;
		l->bound = fmax(l->bound, c->bound[i]);
		if (!unwritten && isfinite(error))
			l->error = fmax(l->error, error);
		if (unwritten || !(error <= c->bound[i])) {
			note_beyond(l, (uint64_t)i, x, exact);
			l->saturated += !unwritten && c->saturated[i];
		} else if (!rounds && fabs(y - exact) > atol + c->rtol * fabs(y)) {
			note_beyond(l, (uint64_t)i, exact, y);
		}
	}
}

static void compare_value(const struct compare *c, const struct cnn_tensor *got,
			  const struct cnn_tensor *want, struct allowance may,
			  struct cnnrt_layer *l)
{
	double atol = may.integer, rtol = 0;

	l->count = (uint64_t)cnn_tensor_count(got);
	if (got->dtype == CNN_FLOAT32 || got->dtype == CNN_FLOAT64 || got->dtype == CNN_FLOAT16) {
		atol = c->atol * largest(want, (int64_t)l->count);
		rtol = may.halves ? HALF_ERROR : c->rtol;
	}
	l->bound = atol;
	for (int64_t i = 0; i < (int64_t)l->count; i++) {
		bool unwritten = is_poison(got, i);
		double d = unwritten ? 0 : difference(got, want, i, may.fills);
		double bound = atol + rtol * fabs(cnn_tensor_element(want, i));

		l->unwritten += unwritten;
		l->error = d > l->error ? d : l->error;
		if (isfinite(bound))
			l->bound = fmax(l->bound, bound);
		if (!unwritten && (!d || (isfinite(d) && d <= bound)))
			continue;
		note_beyond(l, (uint64_t)i, cnn_tensor_element(got, i),
			    cnn_tensor_element(want, i));
	}
}

/* Does the program's value v equal the value v of the file, apart from rounding? */
static bool is_of_file(const struct compare *c, int v)
{
	const struct cnn_value *mine = &c->job->program->graph->values[v];

	return c->file && v < c->file->n_values && c->file->values[v].producer >= 0 &&
	       mine->producer >= 0 && !mine->rewritten;
}

/* Gets an input of a node: the job's value, else what the nodes of the file computed. */
static int get_input(struct compare *c, bool of_file, int v, struct cnn_tensor *t,
		     struct cnn_err *e)
{
	const struct cnn_value *val = of_file ? &c->file->values[v] : NULL;

	if (!val || (!val->t.data && (val->producer < 0 || is_of_file(c, v))))
		return get_value(c->job, v, t, e);
	*t = val->t.data ? val->t : c->file_made[v];
	t->owned = false;
	return CNN_OK;
}

/* Sets c->in, whose tensors are in c->seen. */
static int get_inputs(struct compare *c, const struct cnn_node *n, bool of_file, struct cnn_err *e)
{
	int ret = CNN_OK;

	for (int k = 0; k < n->n_in; k++) {
		c->seen[k] = (struct cnn_tensor){ .rank = -1 };
		c->in[k] = n->in[k] < 0 ? NULL : &c->seen[k];
		if (n->in[k] >= 0 && !ret)
			ret = get_input(c, of_file, n->in[k], &c->seen[k], e);
	}
	return ret;
}

static int run_of_file(struct compare *c, int node, struct cnn_err *e)
{
	const struct cnn_node *n = &c->file->nodes[node];
	int ret = get_inputs(c, n, true, e);

	for (int k = 0; k < n->n_out; k++) {
		c->out[k] = n->out[k] < 0 ? NULL : &c->file_made[n->out[k]];
		if (c->out[k])
			*c->out[k] = (struct cnn_tensor){ .rank = -1 };
	}
	if (!ret)
		ret = cnn_cpu_run(n, c->in, c->out, NULL, e);
	for (int k = 0; k < n->n_in; k++) {
		const struct cnn_value *v = n->in[k] < 0 ? NULL : &c->file->values[n->in[k]];

		cnn_tensor_release(&c->seen[k]);
		if (v && v->consumers[v->n_consumers - 1] == node && !is_of_file(c, n->in[k]))
			cnn_tensor_release(&c->file_made[n->in[k]]);
	}
	return ret;
}

/* Integer sums are exact where the file's float sums are rounded: see CNN_FUSE_QDQ. */
static struct allowance allowance(const struct compare *c, int node, int v)
{
	const struct cnn_node *n = &c->job->program->graph->nodes[node];
	bool core = c->job->program->low->nodes[node].core >= 0;
	int from = is_of_file(c, v) ? c->file->values[v].producer : -1;
	bool quantises = from >= 0 && c->file->nodes[from].op == CNN_OP_QUANTIZE_LINEAR;

	return (struct allowance){
		.fills = core && n->op == CNN_OP_MAX_POOL,
		.halves = core && cnn_op_renames(n->op) &&
			  c->job->program->low->slots[v].layout.half,
		.integer = quantises && n->op != CNN_OP_QUANTIZE_LINEAR,
	};
}

static int ask_bounds(struct compare *c, const struct cnnrt_core_info *info, int node,
		      const struct cnn_tensor *in[], struct cnn_err *e)
{
	const struct cnn_graph *g = c->job->program->graph;
	size_t count = (size_t)cnn_tensor_count(cnn_node_out(g, &g->nodes[node], 0));
	int ret;

	c->exact = malloc(count * (2 * sizeof(*c->exact) + sizeof(*c->saturated)) + 1);
	if (!c->exact)
		return cnn_fail(e, CNN_ENOMEM, "compare: out of memory");
	c->bound = c->exact + count;
	c->saturated = (bool *)(c->bound + count);
	ret = cnn_backend_find(info->name)->bounds(info, &(struct cnn_bounds){
		.g = g, .node = node, .in = in, .exact = c->exact, .bound = c->bound,
		.saturated = c->saturated,
	});
	if (ret < 0)
		return cnn_fail(e, ret, "compare: no bounds of %.60s", g->nodes[node].op_type);
	if (!ret) {
		free(c->exact);
		c->exact = NULL;
	}
	return CNN_OK;
}

/* Sets c->exact and c->bound. */
static int get_bounds(struct compare *c, int node, struct cnn_err *e)
{
	const struct cnnrt_program *p = c->job->program;
	const struct cnn_node *n = &p->graph->nodes[node];
	int core = p->low->nodes[node].core, ret = CNN_OK;
	const struct cnn_tensor *in[CNN_MAX_INPUTS];
	struct cnn_tensor *seen;

	if (core < 0 || !cnn_backend_find(p->core[core].name)->bounds)
		return CNN_OK;
	seen = calloc((size_t)n->n_in + 1, sizeof(*seen));
	if (!seen)
		return cnn_fail(e, CNN_ENOMEM, "compare: out of memory");
	for (int k = 0; k < n->n_in; k++) {
		in[k] = n->in[k] < 0 ? NULL : &seen[k];
		if (in[k] && !ret)
			ret = get_value(c->job, n->in[k], &seen[k], e);
	}
	ret = ret ?: ask_bounds(c, &p->core[core], node, in, e);
	for (int k = 0; k < n->n_in; k++)
		cnn_tensor_release(&seen[k]);
	free(seen);
	return ret;
}

static int compare_output(struct compare *c, int node, int k, const struct cnn_tensor *want,
			  struct cnn_err *e)
{
	const struct cnnrt_program *p = c->job->program;
	const struct cnn_node *n = &p->graph->nodes[node];
	const struct cnn_placement *at = &p->low->nodes[node];
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_layer l = {
		.struct_size = sizeof(l),
		.index = (unsigned int)node, .op = n->op_type, .name = n->name,
		.place = at->core < 0 ? "cpu" : p->core[at->core].name,
	};
	struct cnn_tensor got;
	int ret = get_value(c->job, n->out[k], &got, e);

	if (ret)
		return ret;
	rt_tensor_info(p->graph->values[n->out[k]].name, &got, &info, NULL);
	l.value = &info;
	if (got.dtype != want->dtype || !cnn_tensor_same_shape(&got, want)) {
		cnn_tensor_release(&got);
		return cnn_fail(e, CNN_EINVAL, "%s (%.60s): output %d has another type or shape on "
				"the CPU", n->op_type, n->name, k);
	}
	if (c->exact && k == 0)
		compare_bounds(c, &got, want, &l);
	else
		compare_value(c, &got, want, allowance(c, node, n->out[k]), &l);
	cnn_tensor_release(&got);
	c->bad += l.beyond > 0;
	c->report(&l, c->opaque);
	return CNN_OK;
}

/* False: an output is not a value of the file, so the program's operator must compute it. */
static bool compare_with_file(struct compare *c, int node, int *ret, struct cnn_err *e)
{
	const struct cnn_node *n = &c->job->program->graph->nodes[node];

	for (int k = 0; k < n->n_out; k++)
		if (n->out[k] >= 0 && !is_of_file(c, n->out[k]))
			return false;
	*ret = CNN_OK;
	for (int k = 0; k < n->n_out && !*ret; k++) {
		int v = n->out[k];

		if (v < 0)
			continue;
		while (c->next <= c->file->values[v].producer && !*ret)
			*ret = run_of_file(c, c->next++, e);
		if (!*ret)
			*ret = compare_output(c, node, k, &c->file_made[v], e);
		cnn_tensor_release(&c->file_made[v]);
	}
	return true;
}

static int compare_with_program(struct compare *c, int node, struct cnn_err *e)
{
	const struct cnn_node *n = &c->job->program->graph->nodes[node];
	int ret = CNN_OK;

	ret = get_inputs(c, n, false, e);
	for (int k = 0; k < n->n_out; k++) {
		c->made[k] = (struct cnn_tensor){ .rank = -1 };
		c->out[k] = n->out[k] < 0 ? NULL : &c->made[k];
	}
	if (!ret)
		ret = cnn_cpu_run(n, c->in, c->out, NULL, e);
	for (int k = 0; k < n->n_out && !ret; k++)
		if (c->out[k])
			ret = compare_output(c, node, k, &c->made[k], e);
	for (int k = 0; k < n->n_in; k++)
		cnn_tensor_release(&c->seen[k]);
	for (int k = 0; k < n->n_out; k++)
		cnn_tensor_release(&c->made[k]);
	return ret;
}

static int compare_node(struct compare *c, int node, struct cnn_err *e)
{
	int ret = get_bounds(c, node, e);

	if (!ret && !compare_with_file(c, node, &ret, e))
		ret = compare_with_program(c, node, e);
	free(c->exact);
	c->exact = NULL;
	return ret;
}

static int compare_all(struct compare *c, struct cnn_err *e)
{
	const struct cnn_lowered *low = c->job->program->low;
	int ret = CNN_OK, values;

	c->file = c->job->program->file_graph;
	values = c->file ? c->file->n_values : 0;
	c->file_made = calloc((size_t)values + 1, sizeof(*c->file_made));
	if (!c->file_made)
		ret = cnn_fail(e, CNN_ENOMEM, "compare: out of memory");
	for (int s = 0; s < low->n_segments && !ret; s++)
		for (int i = 0; i < low->segments[s].n_nodes && !ret; i++)
			ret = compare_node(c, low->segments[s].nodes[i], e);
	for (int v = 0; c->file_made && v < values; v++)
		cnn_tensor_release(&c->file_made[v]);
	free(c->file_made);
	return ret;
}

static int check_job(const struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnnrt_program *p = job->program;

	if (!p->observe)
		return rt_fail(err, CNNRT_EINVAL, "compare: the program was not compiled with "
			       "observe (cnnrun: --compile --compare)");
	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_OUTPUT); i++)
		if (job->bind[CNNRT_OUTPUT][i].buf)
			return rt_fail(err, CNNRT_EINVAL, "compare: output %u is bound to a "
				       "buffer: unbind it", i);
	return CNNRT_OK;
}

int cnnrt_compare(struct cnnrt_job *job, const struct cnnrt_compare_options *options,
		  void (*report)(const struct cnnrt_layer *layer, void *opaque), void *opaque,
		  struct cnnrt_error *err)
{
	struct cnnrt_compare_options o;
	struct compare *c;
	struct cnn_err e = { 0 };
	int ret = rt_struct_read(RT_STRUCT(cnnrt_compare_options, rtol), &o, options, err) ?:
		  rt_job_idle(job, err) ?: check_job(job, err);

	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c)
		return rt_fail(err, CNNRT_ENOMEM, "compare: out of memory");
	c->job = job;
	c->report = report;
	c->opaque = opaque;
	c->atol = o.atol > 0 ? o.atol : DEFAULT_ATOL;
	c->rtol = o.rtol > 0 ? o.rtol : DEFAULT_RTOL;
	poison(job);
	ret = cnnrt_job_submit(job, -1, NULL, err) ?: cnnrt_job_wait(job, -1, err);
	if (!ret)
		ret = compare_all(c, &e) ? rt_graph_error(err, &e) : c->bad;
	free(c);
	return ret;
}
