/* SPDX-License-Identifier: MIT */
/*
 * How far outputs may be from the exact ones, where cores round in ways of their own, such as to
 * float16: every node runs on the CPU, with the bounds that its core states and with what comes of
 * those of its inputs. Behind a core only operators that keep order (a larger input gives no
 * smaller result) hand bounds on: they run on the least and on the largest values there can be.
 */
#include "job.h"
#include "backend/backend.h"
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value: one number that it may be, and how far each element may be off; NULL: not at all. */
struct range {
	struct cnn_tensor t;
	double *spread;
};

struct ranges {
	const struct cnnrt_job *job;
	struct range *values;
	const struct cnn_tensor *in[CNN_MAX_INPUTS];
	const double *spread[CNN_MAX_INPUTS];
	struct cnn_err *e;
};

static bool keeps_order(const struct cnn_node *n)
{
	switch (n->op) {
	case CNN_OP_ADD:
	case CNN_OP_AVERAGE_POOL:
	case CNN_OP_CAST:
	case CNN_OP_CLIP:
	case CNN_OP_GLOBAL_AVERAGE_POOL:
	case CNN_OP_GLOBAL_MAX_POOL:
	case CNN_OP_HARD_SIGMOID:
	case CNN_OP_MAX:
	case CNN_OP_MAX_POOL:
	case CNN_OP_MEAN:
	case CNN_OP_MIN:
	case CNN_OP_RELU:
	case CNN_OP_SIGMOID:
	case CNN_OP_SUM:
	case CNN_OP_TANH:
		break;
	case CNN_OP_LEAKY_RELU:
		return n->params.unary.alpha >= 0;
	case CNN_OP_CONCAT:
	case CNN_OP_DEPTH_TO_SPACE:
	case CNN_OP_GATHER:
	case CNN_OP_PAD:
	case CNN_OP_SLICE:
	case CNN_OP_SPACE_TO_DEPTH:
	case CNN_OP_SPLIT:
	case CNN_OP_TRANSPOSE:
		break;
	default:
		if (!cnn_op_renames(n->op))
			return false;
	}
	return n->act.kind == CNN_ACT_NONE || n->act.kind == CNN_ACT_RELU ||
	       n->act.kind == CNN_ACT_CLIP || n->act.kind == CNN_ACT_SIGMOID;
}

static int no_memory(const struct ranges *r)
{
	return cnn_fail(r->e, CNN_ENOMEM, "bounds: out of memory");
}

/* An element, and how far rounding it to the tensor's type changes it; not at all to infinity. */
static double put(const struct cnn_tensor *t, int64_t i, double v)
{
	float f = (float)v;

	cnn_cast(CNN_FLOAT32, &f, t->dtype, (uint8_t *)t->data + (size_t)i * cnn_dtype_size(t->dtype),
		 1);
	return isfinite(cnn_tensor_element(t, i)) ? fabs(cnn_tensor_element(t, i) - v) : 0;
}

/* 1: node's core has its own bounds, which are now output 0's; 0 if not; or an error. */
static int ask_core(const struct ranges *r, int node)
{
	const struct cnnrt_program *p = r->job->program;
	const struct cnn_node *n = &p->graph->nodes[node];
	int core = p->low->nodes[node].core, ret;
	struct range *y = &r->values[n->out[0]];
	struct cnn_bounds b = { p->graph, node, r->in, r->spread, NULL, NULL, NULL };
	int64_t count;

	if (core < 0 || n->n_out > 1 || !cnn_backend_find(p->core[core].name)->bounds)
		return 0;
	y->t = p->graph->values[n->out[0]].t;
	if (cnn_tensor_alloc(&y->t, 0, r->e))
		return CNN_ENOMEM;
	count = cnn_tensor_count(&y->t);
	b.exact = malloc((size_t)count * (2 * sizeof(double) + sizeof(bool)) + 1);
	b.bound = b.exact + count;
	b.saturated = (bool *)(b.bound + count);
	y->spread = calloc((size_t)count + 1, sizeof(double));
	ret = b.exact && y->spread ? cnn_backend_find(p->core[core].name)->bounds(&p->core[core], &b) :
				     no_memory(r);
	for (int64_t i = 0; i < count && ret > 0; i++)
		y->spread[i] = b.bound[i] + put(&y->t, i, b.exact[i]);
	free(b.exact);
	if (ret > 0)
		return ret;
	cnn_tensor_release(&y->t);
	free(y->spread);
	y->spread = NULL;
	return ret < 0 && !r->e->code ? cnn_fail(r->e, ret, "bounds: %.60s fails", n->op_type) : ret;
}

/* The inputs with all of their spread added (sign 1) or taken away (-1), in moved. */
static int move_inputs(const struct ranges *r, int n, int sign, struct cnn_tensor *moved)
{
	for (int i = 0; i < n; i++) {
		int64_t count;

		moved[i] = (struct cnn_tensor){ .rank = -1 };
		if (!r->in[i])
			continue;
		moved[i] = *r->in[i];
		moved[i].owned = false;
		if (!r->spread[i])
			continue;
		moved[i].data = NULL;
		if (cnn_tensor_alloc(&moved[i], 0, r->e))
			return CNN_ENOMEM;
		count = cnn_tensor_count(&moved[i]);
		for (int64_t k = 0; k < count; k++)
			put(&moved[i], k, cnn_tensor_element(r->in[i], k) + sign * r->spread[i][k]);
	}
	return CNN_OK;
}

/* How far an element of a type may be from the number that it was rounded from. */
static double rounding(enum cnn_dtype type, double v)
{
	return type == CNN_FLOAT16 ? fabs(v) * 0x1p-11 + 0x1p-25 : fabs(v) * 0x1p-22;
}

static void widen_spread(const struct range *y, const struct cnn_tensor *other)
{
	for (int64_t i = 0; i < cnn_tensor_count(&y->t); i++) {
		double v = cnn_tensor_element(&y->t, i), o = cnn_tensor_element(other, i);

		y->spread[i] = fmax(y->spread[i], fabs(v - o) + rounding(y->t.dtype, o));
	}
}

/* Runs a node on the inputs moved one way, whose results widen the spread of the outputs. */
static int run_moved(const struct ranges *r, const struct cnn_node *n, int sign)
{
	struct cnn_tensor *moved = calloc((size_t)(n->n_in + n->n_out) + 1, sizeof(*moved));
	const struct cnn_tensor *in[CNN_MAX_INPUTS];
	struct cnn_tensor *out[CNN_MAX_INPUTS], *made = moved + n->n_in;
	int ret = moved ? move_inputs(r, n->n_in, sign, moved) : no_memory(r);

	for (int i = 0; i < n->n_in && moved; i++)
		in[i] = r->in[i] ? &moved[i] : NULL;
	for (int i = 0; i < n->n_out && moved; i++) {
		made[i] = (struct cnn_tensor){ .rank = -1 };
		out[i] = n->out[i] < 0 ? NULL : &made[i];
	}
	ret = ret ?: cnn_cpu_run(n, in, out, NULL, r->e);
	for (int i = 0; i < n->n_out && !ret; i++)
		if (out[i])
			widen_spread(&r->values[n->out[i]], &made[i]);
	for (int i = 0; i < n->n_in + n->n_out && moved; i++)
		cnn_tensor_release(&moved[i]);
	free(moved);
	return ret;
}

static int hand_on(const struct ranges *r, const struct cnn_node *n)
{
	if (!keeps_order(n))
		return cnn_fail(r->e, CNN_EUNSUPPORTED, "bounds: %.60s (%.60s) reads what a core has "
				"rounded, and does not keep order", n->op_type, n->name);
	for (int i = 0; i < n->n_out; i++) {
		struct range *y = n->out[i] < 0 ? NULL : &r->values[n->out[i]];

		if (!y)
			continue;
		y->spread = calloc((size_t)cnn_tensor_count(&y->t) + 1, sizeof(*y->spread));
		if (!y->spread)
			return no_memory(r);
	}
	return run_moved(r, n, -1) ?: run_moved(r, n, 1);
}

static int run_node(struct ranges *r, int node)
{
	const struct cnn_node *n = &r->job->program->graph->nodes[node];
	struct cnn_tensor *out[CNN_MAX_INPUTS];
	bool spread = false;
	int ret;

	for (int i = 0; i < n->n_in; i++) {
		const struct range *x = n->in[i] < 0 ? NULL : &r->values[n->in[i]];

		r->in[i] = x ? &x->t : NULL;
		r->spread[i] = x ? x->spread : NULL;
		spread |= r->spread[i] != NULL;
	}
	ret = ask_core(r, node);
	if (ret)
		return ret < 0 ? ret : CNN_OK;
	for (int i = 0; i < n->n_out; i++) {
		out[i] = n->out[i] < 0 ? NULL : &r->values[n->out[i]].t;
		if (out[i])
			*out[i] = (struct cnn_tensor){ .rank = -1 };
	}
	ret = cnn_cpu_run(n, r->in, out, NULL, r->e);
	return ret || !spread ? ret : hand_on(r, n);
}

/* Constants, and the job's inputs. */
static int start(struct ranges *r)
{
	const struct cnn_graph *g = r->job->program->graph;

	for (int v = 0; v < g->n_values; v++) {
		struct cnn_tensor *t = &r->values[v].t;

		*t = (struct cnn_tensor){ .rank = -1 };
		if (g->values[v].producer >= 0)
			continue;
		*t = g->values[v].is_input && !g->values[v].t.data ? r->job->values[v].t :
								      g->values[v].t;
		t->owned = false;
		if (!t->data && g->values[v].n_consumers)
			return cnn_fail(r->e, CNN_EINVAL, "bounds: constant %.60s is in the weights "
					"only: the program is from a file", g->values[v].name);
	}
	return CNN_OK;
}

static int copy_spread(const struct ranges *r, int value, double *bound, uint64_t count)
{
	const struct range *y = &r->values[value];

	if ((uint64_t)cnn_tensor_count(&y->t) != count)
		return cnn_fail(r->e, CNN_EINVAL, "bounds: room for %llu elements, the output has %lld",
				(unsigned long long)count, (long long)cnn_tensor_count(&y->t));
	for (uint64_t i = 0; i < count; i++)
		bound[i] = y->spread ? y->spread[i] : 0;
	return CNN_OK;
}

static bool has_own_rounding(const struct cnnrt_program *p)
{
	for (int i = 0; i < p->graph->n_nodes; i++) {
		int core = p->low->nodes[i].core;

		if (core >= 0 && cnn_backend_find(p->core[core].name)->bounds)
			return true;
	}
	return false;
}

static int find_bounds(const struct cnnrt_job *job, int value, double *bound, uint64_t count,
		       struct cnn_err *e)
{
	const struct cnn_graph *g = job->program->graph;
	struct ranges *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return cnn_fail(e, CNN_ENOMEM, "bounds: out of memory");
	r->job = job;
	r->e = e;
	r->values = calloc((size_t)g->n_values + 1, sizeof(*r->values));
	ret = r->values ? start(r) : no_memory(r);
	for (int i = 0; i < g->n_nodes && !ret; i++)
		ret = run_node(r, i);
	ret = ret ?: copy_spread(r, value, bound, count);
	for (int v = 0; v < g->n_values && r->values; v++) {
		cnn_tensor_release(&r->values[v].t);
		free(r->values[v].spread);
	}
	free(r->values);
	free(r);
	return ret;
}

int cnnrt_job_bounds(struct cnnrt_job *job, unsigned int output, double *bound, size_t count,
		     struct cnnrt_error *err)
{
	const struct cnnrt_program *p = job->program;
	struct cnn_err e = { 0 };
	int ret = rt_job_idle(job, err);

	if (ret)
		return ret;
	if (output >= cnnrt_program_io_count(p, CNNRT_OUTPUT))
		return rt_fail(err, CNNRT_EINVAL, "bounds: output %u, there are %u", output,
			       cnnrt_program_io_count(p, CNNRT_OUTPUT));
	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_INPUT); i++)
		if (job->bind[CNNRT_INPUT][i].buf)
			return rt_fail(err, CNNRT_EINVAL, "bounds: input %u is bound to a buffer: "
				       "unbind it", i);
	memset(bound, 0, count * sizeof(*bound));
	if (!has_own_rounding(p))
		return CNNRT_OK;
	return find_bounds(job, p->graph->outputs[output], bound, count, &e) ?
	       rt_graph_error(err, &e) : CNNRT_OK;
}
