/* SPDX-License-Identifier: MIT */
/*
 * A job's values, each held against what the CPU makes of the same inputs. The program keeps them
 * all in memory to the end of the run.
 */
#include "job.h"
#include "cpu/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POISON		0x7fa0ccccu	/* a signalling NaN; those of operators are 0x7fc00000 */
#define DEFAULT_ATOL	1e-5
#define DEFAULT_RTOL	1e-4

struct compare {
	struct cnnrt_job *job;
	double atol, rtol;
	/* of one node, CNN_MAX_INPUTS each */
	const struct cnn_tensor **in;
	struct cnn_tensor **out;
	struct cnn_tensor *seen, *made;
	void (*report)(const struct cnnrt_layer *layer, void *opaque);
	void *opaque;
	int bad;
};

/* ---- poison ------------------------------------------------------------------------- */

static void fill(void *p, size_t bytes)
{
	uint32_t *word = p;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = POISON;
}

/* Is it an application's input, which stays as it is? Nothing else lies in its memory. */
static bool is_given(const struct cnn_value *v)
{
	return v->is_input || (v->producer < 0 && v->t.data);
}

static void poison(struct cnnrt_job *job)
{
	const struct cnn_graph *g = job->program->graph;

	for (int v = 0; v < g->n_values; v++) {
		const struct cnn_slot *slot = &job->program->low->slots[v];
		struct rt_value *val = &job->values[v];

		if (is_given(&g->values[v]))
			continue;
		if (slot->used)
			fill((uint8_t *)job->arena.map + slot->offset, (size_t)slot->bytes);
		if (val->home == RT_HOME_HOST && val->t.data)
			fill(val->t.data, val->t.capacity);
	}
}

/* ---- what was made ------------------------------------------------------------------ */

static bool is_dense_in_arena(const struct cnnrt_job *job, int v)
{
	const struct cnn_value *val = &job->program->graph->values[v];

	return val->producer >= 0 && job->program->low->nodes[val->producer].core >= 0 &&
	       rt_slot_is_dense(job, v);
}

/* The value v as a dense tensor; t->owned if it had to be copied. */
static int see(struct cnnrt_job *job, int v, struct cnn_tensor *t, struct cnn_err *e)
{
	const struct cnn_slot *slot = &job->program->low->slots[v];
	int producer = job->program->graph->values[v].producer;
	int ret;

	*t = job->values[v].t;
	t->owned = false;
	if (producer < 0 || job->program->low->nodes[producer].core < 0)
		return CNN_OK;
	if (!slot->used)
		return cnn_fail(e, CNN_EINVAL, "value %.60s of a core is not in memory",
				job->program->graph->values[v].name);
	if (is_dense_in_arena(job, v)) {
		t->data = (uint8_t *)job->arena.map + slot->offset;
		t->capacity = (size_t)slot->bytes;
		return CNN_OK;
	}
	t->data = NULL;
	ret = cnn_tensor_alloc(t, 0, e);
	if (!ret)
		cnn_slot_read(slot, job->arena.map, t->data);
	return ret;
}

/* ---- one value ---------------------------------------------------------------------- */

static bool is_float(enum cnn_dtype t)
{
	return t == CNN_FLOAT32 || t == CNN_FLOAT64 || t == CNN_FLOAT16;
}

static double element(const struct cnn_tensor *t, int64_t i)
{
	double v;

	if (t->dtype == CNN_FLOAT32)
		return (double)((const float *)t->data)[i];
	cnn_cast(t->dtype, (const uint8_t *)t->data + (size_t)i * cnn_dtype_size(t->dtype),
		 CNN_FLOAT64, &v, 1);
	return v;
}

static double difference(const struct cnn_tensor *got, const struct cnn_tensor *want, int64_t i)
{
	double x = element(got, i), y = element(want, i);

	if (x == y || (isnan(x) && isnan(y)))
		return 0;
	return isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
}

static bool is_poison(const struct cnn_tensor *t, int64_t i)
{
	return t->dtype == CNN_FLOAT32 && ((const uint32_t *)t->data)[i] == POISON;
}

/* Sums are rounded by the size of what is added, which may cancel: a tensor's largest tells it. */
static double largest(const struct cnn_tensor *t, int64_t count)
{
	double most = 1;

	for (int64_t i = 0; i < count; i++) {
		double v = fabs(element(t, i));

		if (v > most && !isinf(v))
			most = v;
	}
	return most;
}

static void compare_value(const struct compare *c, const struct cnn_tensor *got,
			  const struct cnn_tensor *want, struct cnnrt_layer *l)
{
	double atol;

	l->count = (uint64_t)cnn_tensor_count(got);
	atol = is_float(got->dtype) ? c->atol * largest(want, (int64_t)l->count) : 0;
	l->bound = atol;
	for (int64_t i = 0; i < (int64_t)l->count; i++) {
		bool unwritten = is_poison(got, i);
		double d = unwritten ? 0 : difference(got, want, i);

		l->unwritten += unwritten;
		l->error = d > l->error ? d : l->error;
		if (!unwritten && (!d || (is_float(got->dtype) &&
					  d <= atol + c->rtol * fabs(element(want, i)))))
			continue;
		if (!l->beyond++) {
			l->first = (uint64_t)i;
			l->got = element(got, i);
			l->want = element(want, i);
		}
	}
}

/* ---- one operator ------------------------------------------------------------------- */

static int compare_output(struct compare *c, int node, int k, struct cnn_err *e)
{
	const struct cnnrt_program *p = c->job->program;
	const struct cnn_node *n = &p->graph->nodes[node];
	const struct cnn_placement *at = &p->low->nodes[node];
	struct cnnrt_layer l = {
		.index = (unsigned int)node, .op = n->op_type, .name = n->name,
		.place = at->core < 0 ? "cpu" : p->core[at->core].name,
	};
	struct cnn_tensor got;
	int ret = see(c->job, n->out[k], &got, e);

	if (ret)
		return ret;
	rt_tensor_info(p->graph->values[n->out[k]].name, &got, &l.value);
	if (got.dtype != c->made[k].dtype || !cnn_tensor_same_shape(&got, &c->made[k])) {
		cnn_tensor_release(&got);
		return cnn_fail(e, CNN_EINVAL, "%s (%.60s): the CPU gives output %d another shape",
				n->op_type, n->name, k);
	}
	compare_value(c, &got, &c->made[k], &l);
	cnn_tensor_release(&got);
	c->bad += l.beyond > 0;
	c->report(&l, c->opaque);
	return CNN_OK;
}

static int compare_node(struct compare *c, int node, struct cnn_err *e)
{
	const struct cnn_node *n = &c->job->program->graph->nodes[node];
	int ret = CNN_OK;

	for (int k = 0; k < n->n_in; k++) {
		c->seen[k] = (struct cnn_tensor){ .rank = -1 };
		c->in[k] = n->in[k] < 0 ? NULL : &c->seen[k];
		if (n->in[k] >= 0 && !ret)
			ret = see(c->job, n->in[k], &c->seen[k], e);
	}
	for (int k = 0; k < n->n_out; k++) {
		c->made[k] = (struct cnn_tensor){ .rank = -1 };
		c->out[k] = n->out[k] < 0 ? NULL : &c->made[k];
	}
	if (!ret)
		ret = cnn_cpu_run(n, c->in, c->out, NULL, e);
	for (int k = 0; k < n->n_out && !ret; k++)
		if (c->out[k])
			ret = compare_output(c, node, k, e);
	for (int k = 0; k < n->n_in; k++)
		cnn_tensor_release(&c->seen[k]);
	for (int k = 0; k < n->n_out; k++)
		cnn_tensor_release(&c->made[k]);
	return ret;
}

/* ---- the whole ---------------------------------------------------------------------- */

static int compare_all(struct compare *c, struct cnn_err *e)
{
	const struct cnn_lowered *low = c->job->program->low;
	int ret = CNN_OK;

	c->in = calloc(CNN_MAX_INPUTS, sizeof(*c->in));
	c->out = calloc(CNN_MAX_INPUTS, sizeof(*c->out));
	c->seen = calloc(CNN_MAX_INPUTS, sizeof(*c->seen));
	c->made = calloc(CNN_MAX_INPUTS, sizeof(*c->made));
	if (!c->in || !c->out || !c->seen || !c->made)
		ret = cnn_fail(e, CNN_ENOMEM, "compare: out of memory");
	for (int s = 0; s < low->n_segments && !ret; s++)
		for (int i = 0; i < low->segments[s].n_nodes && !ret; i++)
			ret = compare_node(c, low->segments[s].nodes[i], e);
	free(c->in);
	free(c->out);
	free(c->seen);
	free(c->made);
	return ret;
}

static int check_job(const struct cnnrt_job *job, struct cnnrt_error *err)
{
	const struct cnnrt_program *p = job->program;

	if (!p->observe)
		return rt_fail(err, CNNRT_EINVAL, "compare: the program was not compiled to be "
			       "observed");
	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_OUTPUT); i++)
		if (job->bind[CNNRT_OUTPUT][i].buf)
			return rt_fail(err, CNNRT_EINVAL, "compare: output %u is bound to a buffer",
				       i);
	return CNNRT_OK;
}

int cnnrt_compare(struct cnnrt_job *job, const struct cnnrt_compare_options *o,
		  void (*report)(const struct cnnrt_layer *layer, void *opaque), void *opaque,
		  struct cnnrt_error *err)
{
	struct compare c = {
		.job = job, .report = report, .opaque = opaque,
		.atol = o && o->atol > 0 ? o->atol : DEFAULT_ATOL,
		.rtol = o && o->rtol > 0 ? o->rtol : DEFAULT_RTOL,
	};
	struct cnn_err e = { 0 };
	int ret = rt_job_idle(job, err);

	if (!ret)
		ret = check_job(job, err);
	if (ret)
		return ret;
	poison(job);
	ret = cnnrt_job_submit(job, -1, NULL, err);
	if (!ret)
		ret = cnnrt_job_wait(job, -1, err);
	if (ret)
		return ret;
	return compare_all(&c, &e) ? rt_graph_error(err, &e) : c.bad;
}
