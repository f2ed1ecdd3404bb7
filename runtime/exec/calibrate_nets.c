/* SPDX-License-Identifier: MIT */
/* Networks of one operator each, to measure. */
#include "calibrate.h"
#include "ir/graph_internal.h"
#include "ops/cpu.h"
#include "passes/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPSET		11	/* Reduce operators have their axes as attributes */
#define OPSET_ATTRIBUTES	7	/* as have Pad and Upsample their lists */
#define OPSET_K		1	/* and TopK its k */
#define MAX_NODE_INPUTS	9

/* A graph that is being made; after the first failure nothing is added. */
struct maker {
	struct cnn_graph *g;
	struct cnn_node *node;
	int in[MAX_NODE_INPUTS];
	int status;
	struct cnn_err *err;
};

static int nomem(struct maker *m)
{
	m->status = cnn_fail(m->err, CNN_ENOMEM, "no memory for a network to measure");
	return m->status;
}

void rt_sample_fill(struct cnn_tensor *t)
{
	int64_t count = cnn_tensor_count(t);

	for (int64_t i = 0; i < count; i++) {
		int v = (int)(i % 13) - 6;

		if (t->dtype == CNN_FLOAT32)
			((float *)t->data)[i] = (float)v / 16;
		else
			((int8_t *)t->data)[i] = (int8_t)v;
	}
}

static int add_value(struct maker *m, enum cnn_dtype type, int rank, const int64_t *dims,
		     bool constant)
{
	struct cnn_tensor t = { .dtype = type, .rank = rank };
	char name[16];
	int v;

	if (m->status)
		return -1;
	for (int i = 0; i < rank; i++)
		t.dims[i] = dims[i];
	if (constant) {
		m->status = cnn_tensor_alloc(&t, CNN_MAX_TENSOR_BYTES, m->err);
		if (m->status)
			return -1;
		rt_sample_fill(&t);
	}
	snprintf(name, sizeof(name), "v%d", m->g->n_values);
	v = cnn_graph_add_value(m->g, name, &t, m->err);
	if (v < 0)
		m->status = v;
	return v;
}

/* An input of the network and of the node. */
static void add_input(struct maker *m, enum cnn_dtype type, int rank, const int64_t *dims)
{
	int v = add_value(m, type, rank, dims, false);

	if (v < 0)
		return;
	m->g->values[v].is_input = true;
	m->g->inputs[m->g->n_inputs++] = v;
	m->in[m->node->n_in++] = v;
}

static void add_constant(struct maker *m, enum cnn_dtype type, int rank, const int64_t *dims)
{
	m->in[m->node->n_in++] = add_value(m, type, rank, dims, true);
}

/* A scale and a zero point. */
static void add_scale(struct maker *m, enum cnn_dtype type, float scale)
{
	int s = add_value(m, CNN_FLOAT32, 0, NULL, true), z = add_value(m, type, 0, NULL, true);

	if (m->status)
		return;
	*(float *)m->g->values[s].t.data = scale;
	*(int8_t *)m->g->values[z].t.data = 0;
	m->in[m->node->n_in++] = s;
	m->in[m->node->n_in++] = z;
}

/* ---- nodes ------------------------------------------------------------------------------- */

static int64_t *map_dims(const struct rt_sample_net *net, int64_t dims[4])
{
	dims[0] = 1;
	dims[1] = net->channels;
	dims[2] = dims[3] = net->side;
	return dims;
}

static void set_ints(struct cnn_ints *list, int n, const int64_t *v)
{
	list->n = n;
	memcpy(list->v, v, (size_t)n * sizeof(*v));
}

static void set_window(struct cnn_window_ints *list, int n, int64_t v)
{
	list->n = n;
	for (int i = 0; i < n; i++)
		list->v[i] = v;
}

/* A convolution that keeps the map's size. */
static void make_conv(struct maker *m, const struct rt_sample_net *net)
{
	struct cnn_window_params *p = &m->node->params.window;
	int64_t x[4], w[4] = { net->outs, net->channels / net->group, net->kernel, net->kernel };
	bool quantised = net->op == CNN_OP_QLINEAR_CONV;

	add_input(m, net->type, 4, map_dims(net, x));
	if (quantised)
		add_scale(m, net->type, 1);
	add_constant(m, quantised ? CNN_INT8 : net->type, 4, w);
	if (quantised) {
		add_scale(m, CNN_INT8, 1);
		add_scale(m, net->type, 64);
	}
	p->group = net->group;
	set_window(&p->pads, 4, net->kernel / 2);
}

static void make_matmul(struct maker *m, const struct rt_sample_net *net)
{
	const int64_t a[2] = { net->side, net->channels }, b[2] = { net->channels, net->outs };
	bool quantised = net->op == CNN_OP_QLINEAR_MATMUL;

	add_input(m, net->type, 2, a);
	if (quantised)
		add_scale(m, net->type, 1);
	add_constant(m, net->type, 2, b);
	if (quantised) {
		add_scale(m, net->type, 1);
		add_scale(m, net->type, 64);
	}
}

/* Two maps; the second one a constant for each channel if outs is 1. */
static void make_binary(struct maker *m, const struct rt_sample_net *net)
{
	int64_t x[4];

	add_input(m, net->type, 4, map_dims(net, x));
	if (net->op == CNN_OP_QLINEAR_ADD)
		add_scale(m, net->type, 1);
	if (net->outs == 1) {
		x[2] = x[3] = 1;
		add_constant(m, net->type, 4, x);
	} else {
		add_input(m, net->type, 4, x);
	}
	if (net->op == CNN_OP_QLINEAR_ADD) {
		add_scale(m, net->type, 1);
		add_scale(m, net->type, 2);
	}
}

static void make_pool(struct maker *m, const struct rt_sample_net *net)
{
	struct cnn_window_params *p = &m->node->params.window;

	set_window(&p->kernel_shape, 2, net->kernel);
	set_window(&p->strides, 2, net->kernel == 2 ? 2 : 1);
}

/* Parameters of operators with one map as input. */
static void set_params(struct maker *m, const struct rt_sample_net *net)
{
	static const int64_t axes[] = { 2, 3 }, perm[] = { 0, 2, 3, 1 };
	static const int64_t pads[] = { 0, 0, 1, 1, 0, 0, 1, 1 };
	struct cnn_params *p = &m->node->params;

	switch (net->op) {
	case CNN_OP_MAX_POOL:
	case CNN_OP_AVERAGE_POOL:
		make_pool(m, net);
		break;
	case CNN_OP_REDUCE_MAX:
	case CNN_OP_REDUCE_MEAN:
		set_ints(&p->reduce.axes, 2, axes);
		break;
	case CNN_OP_TRANSPOSE:
		set_ints(&p->transpose.perm, 4, perm);
		break;
	case CNN_OP_PAD:
		set_ints(&p->pad.pads, 8, pads);
		break;
	case CNN_OP_UPSAMPLE:
		p->resize.mode = net->kernel == 1 ? CNN_RESIZE_NEAREST : CNN_RESIZE_LINEAR;
		p->resize.scales = (struct cnn_floats){ .n = 4, .v = { 1, 1, 2, 2 } };
		break;
	case CNN_OP_TOP_K:
		p->top_k.k = 4;
		break;
	case CNN_OP_CONCAT:
		p->axis.axis = 1;
		break;
	default:
		break;
	}
}

static void make_inputs(struct maker *m, const struct rt_sample_net *net)
{
	int64_t x[4];

	set_params(m, net);
	switch (net->op) {
	case CNN_OP_CONV:
	case CNN_OP_QLINEAR_CONV:
		make_conv(m, net);
		return;
	case CNN_OP_MATMUL:
	case CNN_OP_QLINEAR_MATMUL:
		make_matmul(m, net);
		return;
	case CNN_OP_ADD:
	case CNN_OP_CONCAT:
	case CNN_OP_MUL:
	case CNN_OP_QLINEAR_ADD:
		make_binary(m, net);
		return;
	default:
		break;
	}
	add_input(m, net->type, 4, map_dims(net, x));
	if (net->op == CNN_OP_QUANTIZE_LINEAR)
		add_scale(m, CNN_INT8, 1.0f / 16);
	else if (net->op == CNN_OP_DEQUANTIZE_LINEAR)
		add_scale(m, net->type, 1.0f / 16);
}

static int opset_of(enum cnn_op op)
{
	switch (op) {
	case CNN_OP_PAD:
	case CNN_OP_UPSAMPLE:
		return OPSET_ATTRIBUTES;
	case CNN_OP_TOP_K:
		return OPSET_K;
	default:
		return OPSET;
	}
}

static void make_node(struct maker *m, const struct rt_sample_net *net)
{
	struct cnn_tensor none = { .rank = -1 };
	struct cnn_node *n = m->node;
	int y;

	n->op = net->op;
	n->opset = opset_of(net->op);
	cnn_params_init(n);
	n->op_type = strdup(cnn_op_desc(net->op)->name);
	n->domain = strdup("");
	n->name = strdup("measured");
	n->in = malloc(MAX_NODE_INPUTS * sizeof(*n->in));
	n->out = malloc(2 * sizeof(*n->out));
	if (!n->op_type || !n->domain || !n->name || !n->in || !n->out) {
		nomem(m);
		return;
	}
	make_inputs(m, net);
	memcpy(n->in, m->in, (size_t)n->n_in * sizeof(*n->in));
	do {
		y = m->status ? -1 : cnn_graph_add_value(m->g, "y", &none, m->err);
		if (y < 0) {
			m->status = m->status ?: y;
			return;
		}
		none.rank = -1;
		n->out[n->n_out++] = y;
		m->g->values[y].is_output = true;
		m->g->outputs[m->g->n_outputs++] = y;
	} while (net->op == CNN_OP_TOP_K && n->n_out < 2);
}

int rt_sample_net_graph(const struct rt_sample_net *net, struct cnn_graph **graph,
			struct cnn_err *err)
{
	struct maker m = { .g = calloc(1, sizeof(*m.g)), .err = err };

	if (!m.g)
		return nomem(&m);
	cnn_graph_default_limits(m.g);
	m.g->name = strdup("measured");
	m.g->inputs = calloc(MAX_NODE_INPUTS, sizeof(*m.g->inputs));
	m.g->outputs = calloc(2, sizeof(*m.g->outputs));
	m.g->nodes = calloc(1, sizeof(*m.g->nodes));
	if (!m.g->name || !m.g->inputs || !m.g->outputs || !m.g->nodes) {
		nomem(&m);
	} else {
		m.node = m.g->nodes;
		m.g->n_nodes = 1;
		make_node(&m, net);
	}
	if (!m.status)
		m.status = cnn_graph_link(m.g, err) ?: cnn_graph_infer(m.g, err);
	if (m.status)
		cnn_graph_free(m.g);
	else
		*graph = m.g;
	return m.status;
}
