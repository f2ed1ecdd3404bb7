/* SPDX-License-Identifier: MIT */
/* Replaces quantised layers by nodes of ONNX and by QuantizeCodes, an operator of cnnacc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnnquant.h"

#define LEAST_OPSET	10	/* the first with ConvInteger */
#define LAYER_NODES	5

struct rewriting {
	struct quantizer *q;
	struct cnn_node *nodes;		/* of the rewritten graph */
	int n_nodes, opset;
	int x_zero;			/* value that is the zero point of the layer's inputs; -1: none */
};

/* Adds a value named after the layer's node. Returns its index, below 0 on failure. */
static int add_value(struct rewriting *r, const struct layer *l, const char *what,
		     struct cnn_tensor *t)
{
	struct cnn_graph *g = r->q->g;
	char name[200];

	snprintf(name, sizeof(name), "%.150s/%s", g->nodes[l->node].name, what);
	return cnn_graph_add_value(g, name, t, &r->q->err);
}

/* Adds a constant with a copy of data. */
static int add_const(struct rewriting *r, const struct layer *l, const char *what,
		     const struct cnn_tensor *shape, const void *data)
{
	struct cnn_tensor t = *shape;
	int v;

	t.data = NULL;
	t.owned = false;
	if (cnn_tensor_alloc(&t, 0, &r->q->err))
		return CNN_ENOMEM;
	memcpy(t.data, data, (size_t)cnn_tensor_bytes(&t));
	v = add_value(r, l, what, &t);
	if (v < 0)
		cnn_tensor_release(&t);
	return v;
}

/* Adds a node with inputs a and, unless it is below 0, b, and output out. */
static struct cnn_node *add_node(struct rewriting *r, const struct layer *l, const char *type,
				 enum cnn_op op, int a, int b, int out)
{
	struct cnn_node *n = &r->nodes[r->n_nodes];
	const char *own = r->q->g->nodes[l->node].name;

	*n = (struct cnn_node){ .op = op, .opset = r->opset, .n_in = b < 0 ? 1 : 2, .n_out = 1 };
	n->op_type = strdup(type);
	n->domain = strdup(op == CNN_OP_QUANTIZE_CODES ? CNN_DOMAIN : "");
	n->in = calloc(3, sizeof(*n->in));
	n->out = calloc(1, sizeof(*n->out));
	r->n_nodes++;
	if (asprintf(&n->name, "%s/%s", own, type) < 0)
		n->name = NULL;
	if (!n->op_type || !n->domain || !n->name || !n->in || !n->out || a < 0 || out < 0) {
		if (r->q->err.code == CNN_OK)
			cnn_fail(&r->q->err, CNN_ENOMEM, "out of memory");
		return NULL;
	}
	cnn_params_init(n);
	n->in[0] = a;
	n->in[1] = b;
	n->out[0] = out;
	return n;
}

/* Adds a value without data of the shape of value like. */
static int add_result(struct rewriting *r, const struct layer *l, const char *what, int like,
		      enum cnn_dtype type)
{
	struct cnn_tensor t = r->q->g->values[like].t;

	t.dtype = type;
	t.data = NULL;
	t.capacity = 0;
	t.owned = false;
	return add_value(r, l, what, &t);
}

/* Quantises the layer's input and sets x_zero. Returns the value, below 0 on failure. */
static int add_quantizer(struct rewriting *r, const struct layer *l)
{
	const struct cnn_tensor scalar = { .dtype = CNN_FLOAT32 }, byte = { .dtype = CNN_INT8 };
	int x = r->q->g->nodes[l->node].in[0];
	int scale = add_const(r, l, "x_scale", &scalar, &l->x_scale);
	int out = add_result(r, l, "x", x, CNN_INT8);
	bool codes = l->format != FORMAT_INT8;
	struct cnn_node *n;

	r->x_zero = -1;
	if (!codes || l->x_zero) {
		r->x_zero = add_const(r, l, "x_zero", &byte, &l->x_zero);
		if (r->x_zero < 0)
			return CNN_ENOMEM;
	}
	if (scale < 0 || out < 0)
		return CNN_ENOMEM;
	n = codes ? add_node(r, l, "QuantizeCodes", CNN_OP_QUANTIZE_CODES, x, scale, out) :
		    add_node(r, l, "QuantizeLinear", CNN_OP_QUANTIZE_LINEAR, x, scale, out);
	if (!n)
		return CNN_ENOMEM;
	if (codes) {
		n->opset = 1;
		n->params.codes.format =
			cnn_field_choice(cnn_node_field(n, "format"), format_name(l->format));
	}
	if (r->x_zero >= 0) {
		n->n_in = 3;
		n->in[2] = r->x_zero;
	}
	if (!l->x_zero)
		r->x_zero = -1;
	return out;
}

/* Adds the quantised weights as a constant. */
static int add_codes(struct rewriting *r, const struct layer *l)
{
	const struct cnn_node *n = &r->q->g->nodes[l->node];
	struct cnn_tensor t = r->q->g->values[n->in[1]].t;

	t.dtype = CNN_INT8;
	if (!l->conv) {
		t.rank = 2;
		t.dims[0] = l->taps;
		t.dims[1] = l->outputs;
	}
	return add_const(r, l, "codes", &t, l->codes);
}

/* Adds a constant with a number for each output, along the axis of the outputs. */
static int add_list(struct rewriting *r, const struct layer *l, const char *what, const float *v)
{
	int rank = r->q->g->values[r->q->g->nodes[l->node].out[0]].t.rank;
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = l->conv ? rank - 1 : 1 };

	for (int i = 0; i < t.rank; i++)
		t.dims[i] = i ? 1 : l->outputs;
	return add_const(r, l, what, &t, v);
}

static int rewrite_layer(struct rewriting *r, const struct layer *l)
{
	int y = r->q->g->nodes[l->node].out[0];
	int x = add_quantizer(r, l), w = x < 0 ? x : add_codes(r, l);
	int scale = w < 0 ? w : add_list(r, l, "scale", l->scale);
	int bias = scale < 0 ? scale : add_list(r, l, "bias", l->bias);
	int sums = bias < 0 ? bias : add_result(r, l, "sums", y, CNN_INT32);
	int real = sums < 0 ? sums : add_result(r, l, "real", y, CNN_FLOAT32);
	int scaled = real < 0 ? real : add_result(r, l, "scaled", y, CNN_FLOAT32);
	int zero = r->x_zero;
	struct cnn_node *n, *cast;

	if (scaled < 0)
		return quant_fail(r->q);
	n = l->conv ? add_node(r, l, "ConvInteger", CNN_OP_CONV_INTEGER, x, w, sums) :
		      add_node(r, l, "MatMulInteger", CNN_OP_MATMUL_INTEGER, x, w, sums);
	if (n && zero >= 0) {
		n->n_in = 3;
		n->in[2] = zero;
	}
	if (n && l->conv)	/* a Conv has no other parameters */
		n->params.window = r->q->g->nodes[l->node].params.window;
	cast = n ? add_node(r, l, "Cast", CNN_OP_CAST, sums, -1, real) : NULL;
	if (cast)
		cast->params.cast.to = CNN_FLOAT32;
	if (!cast || !add_node(r, l, "Mul", CNN_OP_MUL, real, scale, scaled) ||
	    !add_node(r, l, "Add", CNN_OP_ADD, scaled, bias, y))
		return quant_fail(r->q);
	cnn_node_free(&r->q->g->nodes[l->node]);
	return EXIT_DONE;
}

/* Refuses operators that LEAST_OPSET changed or removed. */
static int check_opset(struct rewriting *r)
{
	static const enum cnn_op changed[] = { CNN_OP_SLICE, CNN_OP_UPSAMPLE, CNN_OP_RESIZE };
	const struct cnn_graph *g = r->q->g;

	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];

		if (!*n->domain && n->opset > r->opset)
			r->opset = n->opset;
		for (size_t k = 0; k < ARRAY_SIZE(changed); k++)
			if (n->op == changed[k] && n->opset < LEAST_OPSET)
				return complain(EXIT_FAILED, "%s: %s (%s) of operator set %d, "
						"%d wanted", r->q->o->model, n->op_type, n->name,
						n->opset, LEAST_OPSET);
		if (!*n->domain && n->opset < 7)
			return complain(EXIT_FAILED, "%s: operator set %d, 7 or newer wanted",
					r->q->o->model, n->opset);
	}
	return EXIT_DONE;
}

int rewrite(struct quantizer *q)
{
	struct rewriting r = { .q = q, .opset = LEAST_OPSET };
	struct cnn_graph *g = q->g;
	int ret = check_opset(&r);

	if (ret)
		return ret;
	q->err.code = CNN_OK;
	r.nodes = calloc((size_t)g->n_nodes + (size_t)q->n_layers * LAYER_NODES, sizeof(*r.nodes));
	if (!r.nodes)
		return complain(EXIT_FAILED, "out of memory");
	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct layer *l = layer_at(q, i);

		if (l) {
			ret = rewrite_layer(&r, l);
			continue;
		}
		r.nodes[r.n_nodes++] = g->nodes[i];
		memset(&g->nodes[i], 0, sizeof(g->nodes[i]));
	}
	for (int i = 0; i < g->n_nodes; i++)
		cnn_node_free(&g->nodes[i]);
	free(g->nodes);
	g->nodes = r.nodes;
	g->n_nodes = r.n_nodes;
	if (ret)
		return ret;
	ret = cnn_graph_link(g, &q->err);
	cnn_graph_drop_constants(g);
	return ret ? quant_fail(q) : EXIT_DONE;
}
