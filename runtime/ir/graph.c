// SPDX-License-Identifier: MIT
/* The graph's structure: links, order, removal, inputs. */
#include <stdlib.h>
#include <string.h>

#include "graph_internal.h"

void cnn_graph_default_limits(struct cnn_graph *g)
{
	g->limits = (struct cnn_limits){
		.tensor_bytes = CNN_MAX_TENSOR_BYTES,
		.total_bytes = CNN_DEFAULT_TOTAL_BYTES,
		.work = CNN_DEFAULT_WORK,
		.fold_work = CNN_DEFAULT_FOLD_WORK,
	};
}

int cnn_graph_find_value(const struct cnn_graph *g, const char *name)
{
	for (int i = 0; i < g->n_values; i++)
		if (!strcmp(g->values[i].name, name))
			return i;
	return -1;
}

static int link_outputs(struct cnn_graph *g, struct cnn_err *err)
{
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];

		for (int j = 0; j < n->n_out; j++) {
			struct cnn_value *v = n->out[j] < 0 ? NULL : &g->values[n->out[j]];

			if (v && (v->producer >= 0 || v->is_input || v->t.data))
				return cnn_node_fail(n, err, CNN_EINVAL, "output %.80s is given "
						     "elsewhere too", v->name);
			if (v)
				v->producer = i;
		}
	}
	return CNN_OK;
}

static int add_consumer(struct cnn_value *v, int node, struct cnn_err *err)
{
	int *list;

	if (v->n_consumers && v->consumers[v->n_consumers - 1] == node)
		return CNN_OK;
	list = realloc(v->consumers, sizeof(*list) * (v->n_consumers + 1));
	if (!list)
		return cnn_fail(err, CNN_ENOMEM, "no memory for the graph");
	v->consumers = list;
	list[v->n_consumers++] = node;
	return CNN_OK;
}

static int link_inputs(struct cnn_graph *g, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; i < g->n_nodes; i++)
		for (int j = 0; !ret && j < g->nodes[i].n_in; j++)
			if (g->nodes[i].in[j] >= 0)
				ret = add_consumer(&g->values[g->nodes[i].in[j]], i, err);
	return ret;
}

static int link(struct cnn_graph *g, struct cnn_err *err)
{
	for (int i = 0; i < g->n_values; i++) {
		g->values[i].producer = -1;
		free(g->values[i].consumers);
		g->values[i].consumers = NULL;
		g->values[i].n_consumers = 0;
	}
	return link_outputs(g, err) ?: link_inputs(g, err);
}

static int check_sources(const struct cnn_graph *g, struct cnn_err *err)
{
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];

		for (int j = 0; j < n->n_in; j++) {
			const struct cnn_value *v = n->in[j] < 0 ? NULL : &g->values[n->in[j]];

			if (v && v->producer < 0 && !v->is_input && !v->t.data &&
			    !v->in_weight_image)
				return cnn_node_fail(n, err, CNN_EINVAL,
						     "nothing gives its input %.80s", v->name);
		}
	}
	return CNN_OK;
}

static bool sorted(const struct cnn_graph *g)
{
	for (int i = 0; i < g->n_nodes; i++)
		for (int j = 0; j < g->nodes[i].n_in; j++)
			if (g->nodes[i].in[j] >= 0 && g->values[g->nodes[i].in[j]].producer >= i)
				return false;
	return true;
}

/*
 * Kahn: order[] receives node indices; returns how many could be placed. pending: how many distinct
 * produced values each node waits for.
 */
static int kahn(const struct cnn_graph *g, int *pending, int *order)
{
	int tail = 0;

	memset(pending, 0, sizeof(*pending) * g->n_nodes);
	for (int i = 0; i < g->n_values; i++)
		for (int j = 0; g->values[i].producer >= 0 && j < g->values[i].n_consumers; j++)
			pending[g->values[i].consumers[j]]++;
	for (int i = 0; i < g->n_nodes; i++)
		if (!pending[i])
			order[tail++] = i;
	for (int head = 0; head < tail; head++) {
		const struct cnn_node *n = &g->nodes[order[head]];

		for (int j = 0; j < n->n_out; j++) {
			const struct cnn_value *v = n->out[j] < 0 ? NULL : &g->values[n->out[j]];

			for (int k = 0; v && k < v->n_consumers; k++)
				if (!--pending[v->consumers[k]])
					order[tail++] = v->consumers[k];
		}
	}
	return tail;
}

static int sort(struct cnn_graph *g, struct cnn_err *err)
{
	int *pending = malloc(sizeof(int) * 2 * g->n_nodes);
	struct cnn_node *nodes = malloc(sizeof(*nodes) * g->n_nodes);
	int *order = pending ? pending + g->n_nodes : NULL;
	int ret;

	if (!pending || !nodes) {
		ret = cnn_fail(err, CNN_ENOMEM, "no memory for the graph");
	} else if (kahn(g, pending, order) < g->n_nodes) {
		ret = cnn_fail(err, CNN_EINVAL, "the nodes form a cycle");
	} else {
		for (int i = 0; i < g->n_nodes; i++)
			nodes[i] = g->nodes[order[i]];
		memcpy(g->nodes, nodes, sizeof(*nodes) * g->n_nodes);
		ret = link(g, err);
	}
	free(pending);
	free(nodes);
	return ret;
}

int cnn_graph_link(struct cnn_graph *g, struct cnn_err *err)
{
	int ret = link(g, err) ?: check_sources(g, err);

	if (!ret && !sorted(g))
		ret = sort(g, err);
	return ret;
}

int cnn_graph_compact(struct cnn_graph *g, struct cnn_err *err)
{
	int n = 0;

	for (int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].op_type)
			g->nodes[n++] = g->nodes[i];
	g->n_nodes = n;
	return cnn_graph_link(g, err);
}

static bool needed(const struct cnn_graph *g, const struct cnn_node *n, const bool *live)
{
	for (int j = 0; j < n->n_out; j++)
		if (n->out[j] >= 0 && (g->values[n->out[j]].is_output || live[n->out[j]]))
			return true;
	return false;
}

int cnn_graph_prune(struct cnn_graph *g, struct cnn_err *err)
{
	bool *live = calloc(g->n_values ? g->n_values : 1, sizeof(*live));

	if (!live)
		return cnn_fail(err, CNN_ENOMEM, "no memory for the graph");
	for (int i = g->n_nodes - 1; i >= 0; i--) {
		struct cnn_node *n = &g->nodes[i];

		if (!needed(g, n, live)) {
			cnn_node_free(n);
			continue;
		}
		for (int j = 0; j < n->n_in; j++)
			if (n->in[j] >= 0)
				live[n->in[j]] = true;
	}
	free(live);
	return cnn_graph_compact(g, err);
}

int cnn_graph_add_value(struct cnn_graph *g, const char *name, struct cnn_tensor *t,
			struct cnn_err *err)
{
	bool full = g->n_values >= CNN_MAX_VALUES;
	struct cnn_value *values =
		full ? NULL : realloc(g->values, sizeof(*values) * (g->n_values + 1));
	char *own = strdup(name);

	if (values)
		g->values = values;
	if (!values || !own) {
		free(own);
		cnn_tensor_release(t);
		return full ? cnn_fail(err, CNN_ELIMIT, "more than %d values", CNN_MAX_VALUES) :
			      cnn_fail(err, CNN_ENOMEM, "no memory for the graph");
	}
	values[g->n_values] = (struct cnn_value){ .name = own, .producer = -1, .t = *t };
	g->const_bytes += t->capacity;
	memset(t, 0, sizeof(*t));
	return g->n_values++;
}

static int input_value(const struct cnn_graph *g, int i, struct cnn_value **v, struct cnn_err *err)
{
	*v = NULL;
	if (i < 0 || i >= g->n_inputs)
		return cnn_fail(err, CNN_EINVAL, "input %d: the network has %d", i, g->n_inputs);
	if (g->inferred)
		return cnn_fail(err, CNN_EINVAL, "inputs are fixed once shapes are inferred");
	*v = &g->values[g->inputs[i]];
	return CNN_OK;
}

static int check_shape(const struct cnn_value *v, const struct cnn_tensor *t, struct cnn_err *err)
{
	char have[128], want[128];
	bool ok = v->t.rank < 0 || v->t.rank == t->rank;

	for (int i = 0; ok && i < v->t.rank; i++)
		ok = v->t.dims[i] < 0 || v->t.dims[i] == t->dims[i];
	if (!ok || cnn_tensor_bytes(t) < 0)
		return cnn_fail(err, CNN_EINVAL, "input %.60s is %s in the network, %s was given",
				v->name, cnn_tensor_describe(&v->t, want, sizeof(want)),
				cnn_tensor_describe(t, have, sizeof(have)));
	return CNN_OK;
}

int cnn_graph_set_input_shape(struct cnn_graph *g, int i, int rank, const int64_t *dims,
			      struct cnn_err *err)
{
	struct cnn_tensor t = { .rank = rank };
	struct cnn_value *v;
	int ret = input_value(g, i, &v, err);

	if (ret)
		return ret;
	if (rank < 0 || rank > CNN_MAX_RANK)
		return cnn_fail(err, CNN_ELIMIT, "input %.60s: %d dimensions, limit %d", v->name,
				rank, CNN_MAX_RANK);
	t.dtype = v->t.dtype;
	if (rank)
		memcpy(t.dims, dims, sizeof(*dims) * rank);
	ret = check_shape(v, &t, err);
	if (ret)
		return ret;
	v->t.rank = rank;
	memcpy(v->t.dims, t.dims, sizeof(t.dims));
	return CNN_OK;
}

int cnn_graph_set_input_data(struct cnn_graph *g, int i, const struct cnn_tensor *t,
			     struct cnn_err *err)
{
	struct cnn_tensor copy;
	struct cnn_value *v;
	int ret = input_value(g, i, &v, err);

	if (ret)
		return ret;
	if (t->dtype != v->t.dtype || !t->data)
		return cnn_fail(err, CNN_EINVAL, "input %.60s is %s in the network, not %s",
				v->name, cnn_dtype_name(v->t.dtype), cnn_dtype_name(t->dtype));
	ret = check_shape(v, t, err) ?: cnn_tensor_copy(&copy, t, err);
	if (ret)
		return ret;
	cnn_tensor_release(&v->t);
	v->t = copy;
	g->const_bytes += copy.capacity;
	return CNN_OK;
}
