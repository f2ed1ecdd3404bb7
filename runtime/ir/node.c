// SPDX-License-Identifier: MIT
/* Nodes with their parameters and bodies: released, converted, copied. */
#include <stdlib.h>
#include <string.h>

#include "graph_internal.h"

void cnn_params_release(struct cnn_node *n)
{
	for (const struct cnn_field *f = cnn_node_fields(n); f->name; f++)
		if (f->kind == CNN_FIELD_TENSOR)
			cnn_tensor_release(cnn_field_at(&n->params, f));
		else if (f->kind == CNN_FIELD_GRAPH)
			cnn_graph_free(*(struct cnn_graph **)cnn_field_at(&n->params, f));
}

void cnn_node_free(struct cnn_node *n)
{
	cnn_params_release(n);
	free(n->op_type);
	free(n->domain);
	free(n->name);
	free(n->in);
	free(n->out);
	free(n->fused);
	free(n->refused);
	free(n->choice);
	memset(n, 0, sizeof(*n));
}

void cnn_graph_free(struct cnn_graph *g)
{
	if (!g)
		return;
	for (int i = 0; i < g->n_nodes; i++)
		cnn_node_free(&g->nodes[i]);
	for (int i = 0; i < g->n_values; i++) {
		free(g->values[i].name);
		free(g->values[i].consumers);
		cnn_tensor_release(&g->values[i].t);
	}
	free(g->nodes);
	free(g->values);
	free(g->inputs);
	free(g->outputs);
	free(g->name);
	free(g);
}

void cnn_params_convert(struct cnn_node *n, enum cnn_op op)
{
	struct cnn_node old = *n;

	n->op = op;
	cnn_params_init(n);
	for (const struct cnn_field *f = cnn_node_fields(n); f->name; f++) {
		const struct cnn_field *from = cnn_node_field(&old, f->name);

		if (from && from->kind == f->kind && from->offset == f->offset &&
		    from->kind != CNN_FIELD_TENSOR && from->kind != CNN_FIELD_GRAPH)
			memcpy(cnn_field_at(&n->params, f), cnn_field_at(&old.params, f), f->size);
	}
	cnn_params_release(&old);
}

static int nomem(struct cnn_err *err)
{
	return cnn_fail(err, CNN_ENOMEM, "no memory for the graph");
}

static int *copy_indices(const int *from, int n)
{
	int *to = malloc(sizeof(*to) * ((size_t)n + 1));

	if (to && n)
		memcpy(to, from, sizeof(*to) * (size_t)n);
	return to;
}

static int copy_value(struct cnn_value *to, const struct cnn_value *from, struct cnn_err *err)
{
	to->producer = -1;
	to->is_input = from->is_input;
	to->is_output = from->is_output;
	to->name = strdup(from->name);
	return to->name ? cnn_tensor_copy(&to->t, &from->t, err) : nomem(err);
}

/* A body, which has nodes, values, inputs and outputs only. */
static int copy_body(const struct cnn_graph *from, struct cnn_graph **body, struct cnn_err *err)
{
	struct cnn_graph *g = *body = calloc(1, sizeof(*g));
	int ret = CNN_OK;

	if (!g)
		return nomem(err);
	g->name = strdup(from->name);
	g->nodes = calloc((size_t)from->n_nodes + 1, sizeof(*g->nodes));
	g->values = calloc((size_t)from->n_values + 1, sizeof(*g->values));
	g->inputs = copy_indices(from->inputs, from->n_inputs);
	g->outputs = copy_indices(from->outputs, from->n_outputs);
	if (!g->name || !g->nodes || !g->values || !g->inputs || !g->outputs)
		return nomem(err);
	g->n_inputs = from->n_inputs;
	g->n_outputs = from->n_outputs;
	while (!ret && g->n_values < from->n_values) {
		ret = copy_value(&g->values[g->n_values], &from->values[g->n_values], err);
		g->n_values++;
	}
	while (!ret && g->n_nodes < from->n_nodes) {
		ret = cnn_node_copy(&g->nodes[g->n_nodes], &from->nodes[g->n_nodes], err);
		g->n_nodes++;
	}
	return ret;
}

static int copy_params(struct cnn_node *to, const struct cnn_node *from, struct cnn_err *err)
{
	int ret = CNN_OK;

	to->params = from->params;
	for (const struct cnn_field *f = cnn_node_fields(to); f->name; f++) {
		struct cnn_graph **body = cnn_field_at(&to->params, f);

		if (f->kind == CNN_FIELD_TENSOR && !f->alias)
			*(struct cnn_tensor *)body = (struct cnn_tensor){ .rank = -1 };
		else if (f->kind == CNN_FIELD_GRAPH)
			*body = NULL;
	}
	for (const struct cnn_field *f = cnn_node_fields(to); f->name && !ret; f++) {
		const void *at = cnn_field_at((struct cnn_params *)&from->params, f);
		void *copy = cnn_field_at(&to->params, f);

		if (f->kind == CNN_FIELD_TENSOR && !f->alias)
			ret = cnn_tensor_copy(copy, at, err);
		else if (f->kind == CNN_FIELD_GRAPH && *(struct cnn_graph *const *)at)
			ret = copy_body(*(struct cnn_graph *const *)at, copy, err);
	}
	return ret;
}

int cnn_node_copy(struct cnn_node *to, const struct cnn_node *from, struct cnn_err *err)
{
	memset(to, 0, sizeof(*to));
	to->op_type = strdup(from->op_type);
	to->domain = strdup(from->domain);
	to->name = strdup(from->name);
	to->in = copy_indices(from->in, from->n_in);
	to->out = copy_indices(from->out, from->n_out);
	if (from->refused)
		to->refused = malloc(sizeof(*to->refused));
	if (!to->op_type || !to->domain || !to->name || !to->in || !to->out ||
	    (from->refused && !to->refused))
		return nomem(err);
	if (from->refused)
		*to->refused = *from->refused;
	to->n_in = from->n_in;
	to->n_out = from->n_out;
	to->opset = from->opset;
	to->act = from->act;
	to->wide = from->wide;
	to->place = from->place;
	to->op = from->op;
	return copy_params(to, from, err);
}
