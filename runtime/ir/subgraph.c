// SPDX-License-Identifier: MIT
/* Copies a part of a graph as a graph of its own. */
#include <stdlib.h>

#include "graph_internal.h"

struct part {
	const struct cnn_graph *from;
	const int *nodes;	/* of from, ascending */
	int n_nodes;
	int *values;		/* of from, ascending: value i of the copy is values[i] */
	int n_values;
	struct cnn_graph *g;
};

static int compare_int(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static int find(const int *list, int n, int key)
{
	const int *at = bsearch(&key, list, (size_t)n, sizeof(*list), compare_int);

	return at ? (int)(at - list) : -1;
}

static void add_values(struct part *p, const int *list, int n)
{
	for (int i = 0; i < n; i++)
		if (list[i] >= 0)
			p->values[p->n_values++] = list[i];
}

static int list_values(struct part *p, struct cnn_err *err)
{
	size_t count = 0;
	int n = 0;

	for (int i = 0; i < p->n_nodes; i++)
		count += (size_t)(p->from->nodes[p->nodes[i]].n_in +
				  p->from->nodes[p->nodes[i]].n_out);
	p->values = malloc((count + 1) * sizeof(*p->values));
	if (!p->values)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a part of the graph");
	for (int i = 0; i < p->n_nodes; i++) {
		const struct cnn_node *node = &p->from->nodes[p->nodes[i]];

		add_values(p, node->in, node->n_in);
		add_values(p, node->out, node->n_out);
	}
	qsort(p->values, (size_t)p->n_values, sizeof(*p->values), compare_int);
	for (int i = 0; i < p->n_values; i++)
		if (!n || p->values[n - 1] != p->values[i])
			p->values[n++] = p->values[i];
	p->n_values = n;
	return CNN_OK;
}

static bool is_read_outside(const struct part *p, const struct cnn_value *v)
{
	for (int i = 0; i < v->n_consumers; i++)
		if (find(p->nodes, p->n_nodes, v->consumers[i]) < 0)
			return true;
	return v->is_output;
}

/* What the part does not make and what is no constant is an input; what others read an output. */
static int copy_value(struct part *p, int i, struct cnn_err *err)
{
	const struct cnn_value *from = &p->from->values[p->values[i]];
	bool made = find(p->nodes, p->n_nodes, from->producer) >= 0;
	struct cnn_tensor t = from->t;
	int ret;

	t.owned = false;
	ret = cnn_graph_add_value(p->g, from->name, &t, err);
	if (ret < 0)
		return ret;
	p->g->values[i].rewritten = from->rewritten;
	if (!made && !from->t.data) {
		p->g->values[i].is_input = true;
		p->g->inputs[p->g->n_inputs++] = i;
	}
	if (made && is_read_outside(p, from)) {
		p->g->values[i].is_output = true;
		p->g->outputs[p->g->n_outputs++] = i;
	}
	return CNN_OK;
}

static void renumber(const struct part *p, int *list, int n)
{
	for (int i = 0; i < n; i++)
		if (list[i] >= 0)
			list[i] = find(p->values, p->n_values, list[i]);
}

static int copy_nodes(struct part *p, struct cnn_err *err)
{
	int ret = CNN_OK;

	while (p->g->n_nodes < p->n_nodes && !ret) {
		struct cnn_node *n = &p->g->nodes[p->g->n_nodes];

		ret = cnn_node_copy(n, &p->from->nodes[p->nodes[p->g->n_nodes++]], err);
		if (ret)
			break;
		renumber(p, n->in, n->n_in);
		renumber(p, n->out, n->n_out);
	}
	return ret;
}

static int fill(struct part *p, struct cnn_err *err)
{
	struct cnn_graph *g = p->g;
	int ret = list_values(p, err);

	if (ret)
		return ret;
	g->name = calloc(1, 1);
	g->nodes = calloc((size_t)p->n_nodes + 1, sizeof(*g->nodes));
	g->inputs = calloc((size_t)p->n_values + 1, sizeof(*g->inputs));
	g->outputs = calloc((size_t)p->n_values + 1, sizeof(*g->outputs));
	if (!g->name || !g->nodes || !g->inputs || !g->outputs)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a part of the graph");
	for (int i = 0; i < p->n_values && !ret; i++)
		ret = copy_value(p, i, err);
	return ret ?: copy_nodes(p, err) ?: cnn_graph_link(g, err);
}

int cnn_subgraph_copy(const struct cnn_graph *g, const int *nodes, int n, struct cnn_graph **out,
		      struct cnn_err *err)
{
	struct part p = { .from = g, .nodes = nodes, .n_nodes = n };
	int ret;

	p.g = *out = calloc(1, sizeof(*p.g));
	if (!p.g)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a part of the graph");
	p.g->limits = g->limits;
	p.g->inferred = g->inferred;
	p.g->fp16 = g->fp16;
	p.g->whole_groups = g->whole_groups;
	ret = fill(&p, err);
	free(p.values);
	if (!ret)
		return CNN_OK;
	cnn_graph_free(p.g);
	*out = NULL;
	return ret;
}
