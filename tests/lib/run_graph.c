// SPDX-License-Identifier: MIT
/* A whole graph on the CPU, one operator after the other. */
#include <stdlib.h>
#include <string.h>

#include "run_graph.h"

struct run {
	const struct cnn_graph *g;
	struct cnn_err *err;
	struct cnn_tensor *t;		/* per value; constants and inputs are views */
	const struct cnn_tensor **in;
	struct cnn_tensor **out;
	int64_t bytes, work;
};

static int take_inputs(struct run *r, const struct cnn_tensor *in)
{
	const struct cnn_graph *g = r->g;
	char want[128], have[128];

	for (int i = 0; i < g->n_values; i++) {
		r->t[i] = g->values[i].t;
		r->t[i].owned = false;
	}
	for (int i = 0; i < g->n_inputs; i++) {
		const struct cnn_value *v = &g->values[g->inputs[i]];

		if (v->t.data)
			continue;
		if (!in[i].data || in[i].dtype != v->t.dtype ||
		    !cnn_tensor_same_shape(&in[i], &v->t))
			return cnn_fail(r->err, CNN_EINVAL, "input %.60s is %s, %s was given",
					v->name, cnn_tensor_describe(&v->t, want, sizeof(want)),
					cnn_tensor_describe(&in[i], have, sizeof(have)));
		r->t[g->inputs[i]] = in[i];
		r->t[g->inputs[i]].owned = false;
	}
	return CNN_OK;
}

/* Accounts for a node before its outputs are allocated. */
static int charge(struct run *r, const struct cnn_node *n)
{
	const struct cnn_limits *lim = &r->g->limits;

	for (int i = 0; i < n->n_out; i++) {
		int64_t bytes = r->out[i] ? cnn_tensor_bytes(r->out[i]) : 0;

		if (bytes < 0 || bytes > lim->tensor_bytes || r->bytes + bytes > lim->total_bytes)
			return cnn_node_fail(n, r->err, CNN_ELIMIT, "output %d goes over the limit "
					     "of %lld bytes", i, (long long)lim->tensor_bytes);
		r->bytes += bytes;
	}
	r->work = cnn_add_sat(r->work, cnn_cpu_work(n, r->in, r->out));
	if (r->work > lim->work)
		return cnn_node_fail(n, r->err, CNN_ELIMIT, "more than %lld steps",
				     (long long)lim->work);
	return CNN_OK;
}

static void drop(struct run *r, int value)
{
	if (!r->t[value].owned)
		return;
	r->bytes -= r->t[value].capacity;
	cnn_tensor_release(&r->t[value]);
}

/* Frees what node i was the last to need. */
static void drop_dead(struct run *r, int i)
{
	const struct cnn_node *n = &r->g->nodes[i];

	for (int j = 0; j < n->n_in + n->n_out; j++) {
		int index = j < n->n_in ? n->in[j] : n->out[j - n->n_in];
		const struct cnn_value *v = index < 0 ? NULL : &r->g->values[index];

		if (v && !v->is_output &&
		    (!v->n_consumers || v->consumers[v->n_consumers - 1] == i))
			drop(r, index);
	}
}

static int run_node(struct run *r, int i)
{
	const struct cnn_node *n = &r->g->nodes[i];
	int ret;

	for (int j = 0; j < n->n_in; j++)
		r->in[j] = n->in[j] < 0 ? NULL : &r->t[n->in[j]];
	for (int j = 0; j < n->n_out; j++)
		r->out[j] = n->out[j] < 0 ? NULL : &r->t[n->out[j]];
	ret = cnn_cpu_check(n, r->in, r->out, r->err) ?: cnn_cpu_infer(n, r->in, r->out, r->err) ?:
	      charge(r, n) ?: cnn_cpu_run(n, r->in, r->out, NULL, r->err);
	drop_dead(r, i);
	return ret;
}

static int give_outputs(struct run *r, struct cnn_tensor *out)
{
	for (int i = 0; i < r->g->n_outputs; i++) {
		struct cnn_tensor *t = &r->t[r->g->outputs[i]];
		int ret;

		if (t->owned) {
			out[i] = *t;
			t->owned = false;
			continue;
		}
		ret = cnn_tensor_copy(&out[i], t, r->err);
		if (ret)
			return ret;
	}
	return CNN_OK;
}

static void clean_up(struct run *r, struct cnn_tensor *out, int ret)
{
	for (int i = 0; ret && i < r->g->n_outputs; i++)
		cnn_tensor_release(&out[i]);
	for (int i = 0; r->t && i < r->g->n_values; i++)
		cnn_tensor_release(&r->t[i]);
	free(r->t);
	free(r->in);
	free(r->out);
}

int cnn_graph_run_cpu(const struct cnn_graph *g, const struct cnn_tensor *in,
		      struct cnn_tensor *out, struct cnn_err *err)
{
	struct run r = { .g = g, .err = err };
	int ret;

	if (!g->inferred)
		return cnn_fail(err, CNN_EINVAL, "shapes are not inferred yet");
	if (g->n_outputs)
		memset(out, 0, sizeof(*out) * g->n_outputs);
	r.t = calloc(g->n_values + 1, sizeof(*r.t));
	r.in = calloc(CNN_MAX_INPUTS, sizeof(*r.in));
	r.out = calloc(CNN_MAX_INPUTS, sizeof(*r.out));
	if (r.t && r.in && r.out)
		ret = take_inputs(&r, in);
	else
		ret = cnn_fail(err, CNN_ENOMEM, "no memory for the run");
	for (int i = 0; !ret && i < g->n_nodes; i++)
		ret = run_node(&r, i);
	if (!ret)
		ret = give_outputs(&r, out);
	clean_up(&r, out, ret);
	return ret;
}
