/* SPDX-License-Identifier: MIT */
/* The layers that can be quantised, their weights and biases, and the formats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ops/quant.h"
#include "cnnquant.h"

bool leave_layer(struct layer *l, const char *why)
{
	l->format = FORMAT_FLOAT32;
	l->why = why;
	return false;
}

static bool is_finite(const struct cnn_tensor *t)
{
	for (int64_t i = 0; i < cnn_tensor_count(t); i++)
		if (!isfinite(((const float *)t->data)[i]))
			return false;
	return true;
}

static bool is_constant(const struct cnn_tensor *t)
{
	return t && t->data && t->dtype == CNN_FLOAT32;
}

/* Can the node become an integer product with one bias for each output? */
static bool can_quantize(const struct cnn_graph *g, const struct cnn_node *n, struct layer *l)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *w = cnn_node_in(g, n, 1);
	const struct cnn_tensor *c = cnn_node_in(g, n, 2);

	if (!x || x->rank < 2 || cnn_tensor_count(x) < 1 || x->data)
		return leave_layer(l, "its input is constant, empty or of unknown shape");
	if (x->dtype != CNN_FLOAT32 || !is_constant(w) || cnn_tensor_count(w) < 1)
		return leave_layer(l, "its weights are no constant floats");
	if (!is_finite(w) || (c && c->data && !is_finite(c)))
		return leave_layer(l, "a weight or bias is not finite");
	if (n->op == CNN_OP_MATMUL && w->rank != 2)
		return leave_layer(l, "its weights are not one matrix");
	if (n->op == CNN_OP_GEMM && n->params.gemm.trans_a)
		return leave_layer(l, "transA");
	l->conv = n->op == CNN_OP_CONV;
	l->outputs = l->conv ? w->dims[0] : w->dims[!(n->op == CNN_OP_GEMM && n->params.gemm.trans_b)];
	l->taps = cnn_tensor_count(w) / l->outputs;
	if (c && (!is_constant(c) ||
		  (cnn_tensor_count(c) != 1 &&
		   (cnn_tensor_count(c) != l->outputs || c->dims[c->rank - 1] != l->outputs))))
		return leave_layer(l, "its bias is not one constant for each output");
	return true;
}

/* Copies weights and bias: those of a Gemm scaled by alpha and beta, and not transposed. */
static int copy_weights(struct quantizer *q, const struct cnn_node *n, struct layer *l)
{
	const struct cnn_tensor *c = cnn_node_in(q->g, n, 2);
	const float *from = cnn_node_in(q->g, n, 1)->data;
	bool gemm = n->op == CNN_OP_GEMM, trans = gemm && n->params.gemm.trans_b;
	float alpha = gemm ? n->params.gemm.alpha : 1;
	float beta = gemm ? n->params.gemm.beta : 1;
	size_t count = (size_t)(l->outputs * l->taps);

	l->weights = malloc(count * sizeof(*l->weights));
	l->codes = malloc(count);
	l->scale = calloc((size_t)l->outputs, sizeof(*l->scale));
	l->bias = calloc((size_t)l->outputs, sizeof(*l->bias));
	if (!l->weights || !l->codes || !l->scale || !l->bias)
		return complain(EXIT_FAILED, "out of memory");
	for (int64_t k = 0; k < l->outputs; k++) {
		for (int64_t t = 0; t < l->taps; t++) {
			int64_t at = weight_index(l, k, t);

			l->weights[at] = alpha * from[trans ? k * l->taps + t : at];
		}
		if (c)
			l->bias[k] = beta * cnn_scale(c, k);
	}
	return EXIT_DONE;
}

/* Sets the format of all layers of that name; returns false if there is none. */
static bool set_named(struct quantizer *q, const char *name, enum format f)
{
	bool found = false;

	for (int i = 0; i < q->n_layers; i++) {
		if (strcmp(q->g->nodes[q->layers[i].node].name, name))
			continue;
		q->layers[i].format = f;
		found = true;
	}
	return found;
}

static int set_formats(struct quantizer *q)
{
	const struct quant_options *o = q->o;

	for (int i = 0; i < q->n_layers; i++)
		q->layers[i].format = !i && o->first != FORMAT_UNSET ? o->first :
				      i + 1 == q->n_layers && o->last != FORMAT_UNSET ? o->last :
				      o->format;
	for (unsigned int k = 0; k < o->layers; k++) {
		if (set_named(q, o->layer[k].name, o->layer[k].format))
			continue;
		complain(0, "--layer %s: the network has no such layer; it has:", o->layer[k].name);
		for (int i = 0; i < q->n_layers; i++)
			complain(0, "  %s", q->g->nodes[q->layers[i].node].name);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

int find_layers(struct quantizer *q)
{
	int ret;

	q->layers = calloc((size_t)q->g->n_nodes + 1, sizeof(*q->layers));
	if (!q->layers)
		return complain(EXIT_FAILED, "out of memory");
	for (int i = 0; i < q->g->n_nodes; i++) {
		enum cnn_op op = q->g->nodes[i].op;

		if (op == CNN_OP_CONV || op == CNN_OP_GEMM || op == CNN_OP_MATMUL)
			q->layers[q->n_layers++].node = i;
	}
	if (!q->n_layers)
		return complain(EXIT_FAILED, "%s: it has no Conv, Gemm or MatMul", q->o->model);
	ret = set_formats(q);
	for (int i = 0; i < q->n_layers && !ret; i++) {
		struct layer *l = &q->layers[i];

		if (l->format == FORMAT_FLOAT32)
			leave_layer(l, "as asked for");
		else if (can_quantize(q->g, &q->g->nodes[l->node], l))
			ret = copy_weights(q, &q->g->nodes[l->node], l);
	}
	return ret;
}

struct layer *layer_at(const struct quantizer *q, int node)
{
	for (int i = 0; i < q->n_layers; i++)
		if (q->layers[i].node == node && q->layers[i].format != FORMAT_FLOAT32)
			return &q->layers[i];
	return NULL;
}

void free_layers(struct quantizer *q)
{
	for (int i = 0; i < q->n_layers; i++) {
		free(q->layers[i].weights);
		free(q->layers[i].codes);
		free(q->layers[i].scale);
		free(q->layers[i].bias);
	}
	free(q->layers);
}

const char *format_name(enum format f)
{
	const struct cnn_packed_format *packed = cnn_packed_format(f);

	if (f == FORMAT_FLOAT32)
		return "FLOAT32";
	return f == FORMAT_INT8 ? "INT8" : packed ? packed->name : NULL;
}

bool find_format(const char *name, enum format *f)
{
	for (int i = FORMAT_FLOAT32; format_name((enum format)i); i++) {
		if (strcasecmp(name, format_name((enum format)i)))
			continue;
		*f = (enum format)i;
		return true;
	}
	return false;
}

bool find_network_format(const char *name, struct quant_options *o)
{
	o->pot8 = !strcasecmp(name, "POT8");
	return o->pot8 || find_format(name, &o->format);
}

float scale_number(enum format f, float most, int i)
{
	const struct cnn_packed_format *packed = cnn_packed_format(f);
	int exponent;

	if (!(most > 0))
		return 1;
	frexpf(most / (float)(packed ? packed->largest : INT8_MAX), &exponent);
	return ldexpf(1, exponent + 1 - i < -100 ? -100 : exponent + 1 - i);
}

void quantize(enum format f, const float *x, float scale, int8_t zero, int8_t *y, int64_t n)
{
	struct cnn_range range = cnn_range_of(CNN_INT8, zero);

	if (f >= FORMAT_PACKED)
		cnn_packed_format(f)->quantize(x, scale, (float)zero, y, n);
	else
		for (int64_t i = 0; i < n; i++)
			y[i] = (int8_t)cnn_to_range(&range, x[i] / scale);
}
