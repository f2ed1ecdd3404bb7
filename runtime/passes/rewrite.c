// SPDX-License-Identifier: MIT
/* Rewriting of graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu.h"
#include "rewrite.h"

struct cnn_node *cnn_rewrite_only_reader(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_value *v = &g->values[n->out[0]];

	if (v->is_output || v->n_consumers != 1 ||
	    !cnn_can_share_place(n->place, g->nodes[v->consumers[0]].place))
		return NULL;
	return &g->nodes[v->consumers[0]];
}

struct cnn_node *cnn_rewrite_producer(const struct cnn_graph *g, int value, enum cnn_op op)
{
	const struct cnn_value *v = value < 0 ? NULL : &g->values[value];

	if (!v || v->producer < 0 || v->is_output || v->n_consumers != 1)
		return NULL;
	return g->nodes[v->producer].op == op ? &g->nodes[v->producer] : NULL;
}

bool cnn_clip_bounds(const struct cnn_graph *g, const struct cnn_node *clip, float *low,
		     float *high)
{
	for (int i = 1; i <= 2; i++) {
		const struct cnn_tensor *t = cnn_node_in(g, clip, i);
		const struct cnn_clip_params *p = &clip->params.clip;

		if (t && (!cnn_is_const(t) || cnn_tensor_count(t) != 1))
			return false;
		*(i == 1 ? low : high) = t ? *(float *)t->data : i == 1 ? p->min : p->max;
	}
	return true;
}

int cnn_rewrite_note(struct cnn_node *a, const struct cnn_node *b, struct cnn_err *err)
{
	size_t old = a->fused ? strlen(a->fused) : 0;
	size_t len =
		old + strlen(b->op_type) + strlen(b->name) + (b->fused ? strlen(b->fused) : 0) + 6;
	char *text = realloc(a->fused, len);

	if (!text)
		return cnn_rewrite_nomem(err);
	snprintf(text + old, len - old, "%s%s %s%s%s", old ? ", " : "", b->op_type, b->name,
		 b->fused ? ", " : "", b->fused ? b->fused : "");
	a->fused = text;
	return CNN_OK;
}

int cnn_rewrite_merge(struct cnn_graph *g, struct cnn_node *a, struct cnn_node *b,
		      struct cnn_node *note, struct cnn_err *err)
{
	struct cnn_value *mid = &g->values[a->out[0]], *end = &g->values[b->out[0]];
	int ret = cnn_rewrite_note(note, b, err);

	if (ret)
		return ret;
	end->producer = mid->producer;
	mid->producer = -1;
	mid->n_consumers = 0;
	a->place = a->place ?: b->place;
	a->out[0] = b->out[0];
	cnn_node_free(b);
	return 1;
}

int cnn_rewrite_set_input(struct cnn_node *a, int i, int b, struct cnn_err *err)
{
	if (i >= a->n_in) {
		int *in = realloc(a->in, sizeof(*in) * (i + 1));

		if (!in)
			return cnn_rewrite_nomem(err);
		while (a->n_in <= i)
			in[a->n_in++] = -1;
		a->in = in;
	}
	a->in[i] = b;
	return CNN_OK;
}

int cnn_rewrite_add_value(struct cnn_graph *g, const char *name, const char *suffix,
			  struct cnn_tensor *t, struct cnn_err *err)
{
	char text[128];

	snprintf(text, sizeof(text), "%.100s%s", name, suffix);
	return cnn_graph_add_value(g, text, t, err);
}

int cnn_rewrite_add_const(struct cnn_graph *g, const char *name, const char *suffix,
			  struct cnn_tensor *t, void **data, struct cnn_err *err)
{
	int ret = cnn_tensor_alloc(t, g->limits.tensor_bytes, err);

	if (ret)
		return ret;
	*data = t->data;
	return cnn_rewrite_add_value(g, name, suffix, t, err);
}

int cnn_rewrite_set_const(struct cnn_graph *g, struct cnn_node *a, int i,
			  const struct cnn_tensor *shape, const char *suffix, float **data,
			  struct cnn_err *err)
{
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = shape->rank };
	void *new_data = NULL;
	int ret;

	memcpy(t.dims, shape->dims, sizeof(t.dims));
	ret = cnn_rewrite_add_const(g, a->name, suffix, &t, &new_data, err);
	*data = new_data;
	return ret < 0 ? ret : cnn_rewrite_set_input(a, i, ret, err);
}

int cnn_rewrite_rename(struct cnn_node *n, enum cnn_op op, struct cnn_err *err)
{
	char *name = strdup(cnn_op_desc(op)->name), *domain = strdup(cnn_op_desc(op)->domain);

	if (!name || !domain) {
		free(name);
		free(domain);
		return cnn_rewrite_nomem(err);
	}
	free(n->op_type);
	free(n->domain);
	n->op_type = name;
	n->domain = domain;
	cnn_params_convert(n, op);
	return CNN_OK;
}

int cnn_rewrite_insert(struct cnn_graph *g, int at, enum cnn_op op, int in, int out,
		       struct cnn_err *err)
{
	const char *type = cnn_op_desc(op)->name;
	struct cnn_node n = { .op = op, .opset = 13, .n_in = 1, .n_out = 1 };
	struct cnn_node *nodes = realloc(g->nodes, sizeof(*nodes) * (g->n_nodes + 1));
	char name[128];

	if (nodes)
		g->nodes = nodes;
	snprintf(name, sizeof(name), "%.100s_%s", g->values[out].name, type);
	n.op_type = strdup(type);
	n.domain = strdup(cnn_op_desc(op)->domain);
	n.name = strdup(name);
	n.in = malloc(sizeof(*n.in));
	n.out = malloc(sizeof(*n.out));
	if (!nodes || !n.op_type || !n.domain || !n.name || !n.in || !n.out) {
		cnn_node_free(&n);
		return cnn_fail(err, CNN_ENOMEM, "no memory to fuse nodes");
	}
	n.in[0] = in;
	n.out[0] = out;
	cnn_params_init(&n);
	memmove(&nodes[at + 1], &nodes[at], sizeof(*nodes) * (g->n_nodes++ - at));
	nodes[at] = n;
	return CNN_OK;
}
