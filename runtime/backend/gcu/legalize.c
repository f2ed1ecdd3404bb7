// SPDX-License-Identifier: MIT
/*
 * Rewrites the graph for core gcu. Floats are fused as its linear multiply-add and activations
 * allow. A quantised product of which the core requantises some channels only becomes two: one of
 * these, and sums of the others, which the CPU requantises (QLinearSums, RequantizeSums) and merges
 * with the former (MergeChannels). One with groups keeps all channels, as a group of the core has
 * as many outputs as the others; the weights of those that it does not requantise become zero.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcu.h"
#include "passes/rewrite.h"

/* What the linear multiply-add and the activations take, of floats and of halves. */
#define OWN_FUSING \
	((CNN_FUSE_NEUTRAL & ~(CNN_FUSE_QDQ | CNN_FUSE_IDIOMS)) | CNN_FUSE_HALF | CNN_FUSE_CLIP | \
	 CNN_FUSE_SIGMOID | CNN_FUSE_LEAKY_RELU | CNN_FUSE_HARD_SIGMOID | CNN_FUSE_DEPTHWISE)

#define INPUTS_MAX	9
#define CHAIN_MAX	4	/* nodes from what is fused into a product to the product */

/* Inputs of quantised products; those behind differ. */
enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO };

/* A product that is split. Tensors are copies: the graph's move when it gets more values. */
struct split {
	struct cnn_graph *g;
	struct cnn_err *err;
	int node;			/* where it is */
	int in[INPUTS_MAX], out;	/* values; -1: none */
	int bias, y_scale, y_zero;	/* inputs; bias -1: it has none */
	struct cnn_tensor t[INPUTS_MAX], y;
	bool conv;			/* weights are by output channel */
	bool plain;			/* ConvInteger and QLinearSums: bytes, not transposed */
	bool transposed, grouped;
	int64_t bits;			/* multiplier_bits of RequantizeSums, if not plain */
	int64_t w_k, w_c;		/* weights between output and input channels */
	int64_t group;			/* output channels of one */
	bool *passes;			/* by output channel */
	int64_t channels, passing;
	int axis;			/* of the channels in the result */
	char name[100];
	char why[CNN_WHY_MAX];
};

/* The channels that a part of the product has. */
enum part { PASSING, OTHERS, ALL };

static bool is_in(const struct split *s, enum part part, int64_t k)
{
	return part == ALL || s->passes[k] == (part == PASSING);
}

static int64_t count_in(const struct split *s, enum part part)
{
	return part == ALL ? s->channels : part == PASSING ? s->passing :
							     s->channels - s->passing;
}

/* Adds a constant, which the caller fills. Returns its value, or an error. */
static int add_const(const struct split *s, struct cnn_tensor *t, const char *suffix, void **data)
{
	char name[128];
	int ret = cnn_tensor_alloc(t, s->g->limits.tensor_bytes, s->err);

	if (ret)
		return ret;
	*data = t->data;
	snprintf(name, sizeof(name), "%s%s", s->name, suffix);
	ret = cnn_graph_add_value(s->g, name, t, s->err);
	if (ret < 0)
		cnn_tensor_release(t);
	return ret;
}

/* Input i, a list with a number for each channel, for a part; one number for all is as it is. */
static int take_list(const struct split *s, int i, enum part part, const char *suffix, int *value)
{
	struct cnn_tensor t = { .dtype = s->t[i].dtype, .rank = 1, .dims = { count_in(s, part) } };
	size_t size = cnn_dtype_size(t.dtype);
	void *data;
	char *to;

	*value = s->in[i];
	if (part == ALL || *value < 0 || cnn_tensor_count(&s->t[i]) == 1)
		return CNN_OK;
	*value = add_const(s, &t, suffix, &data);
	to = data;
	for (int64_t k = 0; k < s->channels && *value >= 0; k++)
		if (is_in(s, part, k)) {
			memcpy(to, (const char *)s->t[i].data + (size_t)k * size, size);
			to += size;
		}
	return *value < 0 ? *value : CNN_OK;
}

/* The weights of a part: of convolutions in their order, of a matrix product as columns. */
static int take_weights(const struct split *s, enum part part, const char *suffix, int *value)
{
	const struct cnn_tensor *w = &s->t[W];
	struct cnn_tensor t = { .dtype = w->dtype, .rank = w->rank };
	int64_t inner = s->conv || s->transposed ? s->w_k : 1;
	int64_t outer = cnn_tensor_count(w) / s->channels / inner;
	size_t size = cnn_dtype_size(w->dtype), run = (size_t)inner * size;
	void *data;
	char *to;

	*value = s->in[W];
	if (part == ALL && s->w_k == inner)
		return CNN_OK;
	memcpy(t.dims, w->dims, sizeof(t.dims));
	t.dims[s->conv ? 0 : s->transposed ? 1 : w->rank - 1] = count_in(s, part);
	if (!s->conv && !s->transposed)
		t.dims[w->rank - 2] = outer;
	*value = add_const(s, &t, suffix, &data);
	to = data;
	for (int64_t i = 0; i < outer * s->channels && *value >= 0; i++) {
		int64_t k = i % s->channels, c = i / s->channels;

		if (!is_in(s, part, k))
			continue;
		memcpy(to, (const char *)w->data + (size_t)(k * s->w_k + c * s->w_c) * size, run);
		to += run;
	}
	return *value < 0 ? *value : CNN_OK;
}

/* A value like the result, with the channels of a part. */
static int add_value(const struct split *s, enum cnn_dtype type, enum part part, const char *suffix)
{
	struct cnn_tensor t = s->y;
	char name[128];

	t.dtype = type;
	t.dims[s->axis] = count_in(s, part);
	snprintf(name, sizeof(name), "%.100s%s", s->g->values[s->out].name, suffix);
	return cnn_graph_add_value(s->g, name, &t, s->err);
}

/* ---- the parts --------------------------------------------------------------------------- */

static enum cnn_op sums_op(const struct split *s, enum part part)
{
	if (s->transposed)
		return CNN_OP_INTEGER_CONV_TRANSPOSE;
	if (s->conv)
		return s->plain && (part == ALL || !s->grouped) ? CNN_OP_CONV_INTEGER :
								  CNN_OP_INTEGER_CONV;
	return s->plain ? CNN_OP_MATMUL_INTEGER : CNN_OP_INTEGER_MATMUL;
}

/* Makes a node with input X one of sums. */
static int set_sums(const struct split *s, struct cnn_node *n, int weights, int zero)
{
	return cnn_rewrite_set_input(n, 1, weights, s->err) ?:
	       cnn_rewrite_set_input(n, 2, s->in[X_ZERO], s->err) ?:
	       cnn_rewrite_set_input(n, 3, zero, s->err);
}

/* Lists the groups of a part's channels as input 4 of its sums. */
static int list_groups(const struct split *s, enum part part, struct cnn_node *n)
{
	struct cnn_tensor t = { .dtype = CNN_INT32, .rank = 1, .dims = { count_in(s, part) } };
	void *data;
	int list = add_const(s, &t, "_groups", &data);

	for (int64_t k = 0, at = 0; k < s->channels && list >= 0; k++)
		if (is_in(s, part, k))
			((int32_t *)data)[at++] = (int32_t)(k / s->group);
	n->params.window.uneven_groups = true;
	return list < 0 ? list : cnn_rewrite_set_input(n, 4, list, s->err);
}

/* Sums of products of a part, as a node before the product; *sums: their value. */
static int add_sums(struct split *s, enum part part, int *sums)
{
	struct cnn_node *n;
	int w, zero, ret = take_weights(s, part, "_sum_weights", &w) ?:
			   take_list(s, W_ZERO, part, "_sum_zeros", &zero);

	if (ret)
		return ret;
	*sums = add_value(s, CNN_INT32, part, "_sums");
	ret = *sums < 0 ? *sums :
			  cnn_rewrite_insert(s->g, s->node, sums_op(s, part), s->in[X], *sums,
				     s->err);
	if (ret)
		return ret;
	n = &s->g->nodes[s->node++];
	if (s->conv || s->transposed)
		n->params.window = s->g->nodes[s->node].params.window;
	return set_sums(s, n, w, zero) ?: (s->grouped ? list_groups(s, part, n) : CNN_OK);
}

/* The product becomes the sums. */
static int turn_to_sums(struct split *s, int *sums)
{
	struct cnn_node *n;
	int w, ret = take_weights(s, ALL, "_sum_weights", &w);

	if (ret)
		return ret;
	*sums = add_value(s, CNN_INT32, ALL, "_sums");
	if (*sums < 0)
		return *sums;
	n = &s->g->nodes[s->node++];
	n->n_in = 1;
	n->out[0] = *sums;
	return cnn_rewrite_rename(n, sums_op(s, ALL), s->err) ?: set_sums(s, n, w, s->in[W_ZERO]);
}

/* What is added to the sums of a part, and their scales, rounded as the operators do. */
static int add_numbers(const struct split *s, enum part part, int *terms, int *scales)
{
	struct cnn_tensor t = { .dtype = CNN_INT32, .rank = 1, .dims = { count_in(s, part) } };
	const int32_t *bias = s->bias < 0 || s->in[s->bias] < 0 ? NULL : s->t[s->bias].data;
	float x = cnn_scale(&s->t[X_SCALE], 0), y = cnn_scale(&s->t[s->y_scale], 0);
	void *add, *scale;

	*terms = add_const(s, &t, "_terms", &add);
	t = (struct cnn_tensor){ .dtype = CNN_FLOAT32, .rank = 1, .dims = { count_in(s, part) } };
	*scales = *terms < 0 ? *terms : add_const(s, &t, "_scales", &scale);
	for (int64_t k = 0, at = 0; k < s->channels && *scales >= 0; k++) {
		if (!is_in(s, part, k))
			continue;
		((int32_t *)add)[at] = bias ? bias[k] : 0;
		((float *)scale)[at++] = x * cnn_scale(&s->t[W_SCALE], k) / y;
	}
	return *scales < 0 ? *scales : CNN_OK;
}

/* Requantises sums of a plain product on the CPU, as a node before number s->node. */
static int add_plain_requantisation(struct split *s, enum part part, int sums, int out)
{
	struct cnn_node *n;
	int terms, scales, ret = add_numbers(s, part, &terms, &scales) ?:
		cnn_rewrite_insert(s->g, s->node, CNN_OP_QLINEAR_SUMS, sums, out, s->err);

	if (ret)
		return ret;
	n = &s->g->nodes[s->node++];
	n->params.sums.axis = s->axis;
	n->params.sums.group = 1;
	memcpy(n->params.sums.why, s->why, sizeof(s->why));
	return cnn_rewrite_set_input(n, 1, terms, s->err) ?:
	       cnn_rewrite_set_input(n, 3, scales, s->err) ?:
	       cnn_rewrite_set_input(n, 4, s->in[s->y_zero], s->err);
}

static int add_wide_terms(const struct split *s, enum part part)
{
	struct cnn_tensor t = { .dtype = CNN_INT64, .rank = 1, .dims = { count_in(s, part) } };
	const struct cnn_tensor *bias = s->bias < 0 || s->in[s->bias] < 0 ? NULL : &s->t[s->bias];
	void *data;
	int ret = add_const(s, &t, "_terms", &data);

	for (int64_t k = 0, at = 0; bias && k < s->channels && ret >= 0; k++)
		if (is_in(s, part, k))
			((int64_t *)data)[at++] = bias->dtype == CNN_INT64 ?
							  ((const int64_t *)bias->data)[k] :
							  ((const int32_t *)bias->data)[k];
	return ret;
}

/* The same of a product that is not plain. */
static int add_wide_requantisation(struct split *s, enum part part, int sums, int out)
{
	int in[] = { s->in[X_SCALE], s->in[W_SCALE], s->in[s->y_scale], s->in[s->y_zero] };
	struct cnn_node *n;
	int terms = add_wide_terms(s, part), ret;

	ret = terms < 0 ? terms : take_list(s, W_SCALE, part, "_scales", &in[1]);
	ret = ret ?: cnn_rewrite_insert(s->g, s->node, CNN_OP_REQUANTIZE_SUMS, sums, out, s->err);
	if (ret)
		return ret;
	n = &s->g->nodes[s->node++];
	n->params.sums.axis = s->axis;
	n->params.product.multiplier_bits = s->bits;
	memcpy(n->params.sums.why, s->why, sizeof(s->why));
	ret = cnn_rewrite_set_input(n, 1, terms, s->err);
	for (int i = 0; i < 4 && !ret; i++)
		ret = cnn_rewrite_set_input(n, 2 + i, in[i], s->err);
	return ret;
}

static int add_requantisation(struct split *s, enum part part, int sums, int out)
{
	return s->plain ? add_plain_requantisation(s, part, sums, out) :
			  add_wide_requantisation(s, part, sums, out);
}

/* Of groups: the product keeps all channels, and the others get weights that are zero. */
static int clear_others(struct split *s, int out)
{
	struct cnn_tensor t = s->t[W];
	size_t size = cnn_dtype_size(t.dtype), run = (size_t)s->w_k * size;
	struct cnn_node *n;
	void *data;
	int w;

	t.data = NULL;
	w = add_const(s, &t, "_weights", &data);
	if (w < 0)
		return w;
	memcpy(data, s->t[W].data, run * (size_t)s->channels);
	for (int64_t k = 0; k < s->channels; k++) {
		int32_t zero = s->in[W_ZERO] < 0 ? 0 : cnn_zero_point(&s->t[W_ZERO], k);

		for (int64_t i = k * s->w_k; i < (k + 1) * s->w_k && !s->passes[k]; i++)
			if (size == 1)
				((uint8_t *)data)[i] = (uint8_t)zero;
			else
				((int16_t *)data)[i] = (int16_t)zero;
	}
	n = &s->g->nodes[s->node];
	n->in[W] = w;
	n->out[0] = out;
	n->params.product.unused_outputs = s->channels - s->passing;
	return CNN_OK;
}

/* The product becomes that of the channels which the core requantises. */
static int keep_passing(struct split *s, int out)
{
	struct cnn_node *n;
	int w, scale, zero, bias = -1;
	int ret = take_weights(s, PASSING, "_weights", &w) ?:
		  take_list(s, W_SCALE, PASSING, "_weight_scales", &scale) ?:
		  take_list(s, W_ZERO, PASSING, "_weight_zeros", &zero) ?:
		  (s->bias < 0 ? CNN_OK : take_list(s, s->bias, PASSING, "_bias", &bias));

	if (ret)
		return ret;
	n = &s->g->nodes[s->node];
	n->in[W] = w;
	n->in[W_SCALE] = scale;
	n->in[W_ZERO] = zero;
	if (bias >= 0)
		n->in[s->bias] = bias;
	if (n->op == CNN_OP_QGEMM)
		n->params.gemm.trans_b = false;
	n->out[0] = out;
	return CNN_OK;
}

static int merge(struct split *s, int a, int b)
{
	struct cnn_tensor t = { .dtype = CNN_INT32, .rank = 1, .dims = { s->channels } };
	int32_t of_a = 0, of_b = (int32_t)(s->grouped ? s->channels : s->passing);
	void *data;
	int index = add_const(s, &t, "_index", &data), ret;

	for (int64_t k = 0; k < s->channels && index >= 0; k++, of_a += s->grouped)
		((int32_t *)data)[k] = !s->passes[k] ? of_b++ : s->grouped ? of_a : of_a++;
	ret = index < 0 ? index : cnn_rewrite_insert(s->g, s->node + 1, CNN_OP_MERGE_CHANNELS, a,
						     s->out, s->err);
	if (ret)
		return ret;
	s->g->nodes[++s->node].params.axis.axis = s->axis;
	return cnn_rewrite_set_input(&s->g->nodes[s->node], 1, b, s->err) ?:
	       cnn_rewrite_set_input(&s->g->nodes[s->node], 2, index, s->err);
}

static int split_channels(struct split *s)
{
	int sums, b, ret;
	int a = add_value(s, s->y.dtype, s->grouped ? ALL : PASSING, "_requantised");

	b = a < 0 ? a : add_value(s, s->y.dtype, OTHERS, "_others");
	ret = b < 0 ? b : add_sums(s, OTHERS, &sums);
	return ret ?: add_requantisation(s, OTHERS, sums, b) ?:
	       (s->grouped ? clear_others(s, a) : keep_passing(s, a)) ?: merge(s, a, b);
}

static int split_all(struct split *s)
{
	int sums, ret = turn_to_sums(s, &sums);

	if (!ret)
		ret = add_requantisation(s, ALL, sums, s->out);
	s->node--;
	return ret;
}

/* ---- which products ---------------------------------------------------------------------- */

static void get_inputs(struct split *s, const struct cnn_node *n)
{
	s->conv = n->op == CNN_OP_QLINEAR_CONV;
	s->transposed = n->op == CNN_OP_QLINEAR_CONV_TRANSPOSE;
	s->bias = s->conv || s->transposed ? 8 : n->op == CNN_OP_QGEMM ? 6 : -1;
	s->y_scale = n->op == CNN_OP_QGEMM ? 7 : 6;
	s->y_zero = s->y_scale + 1;
	for (int i = 0; i < INPUTS_MAX; i++) {
		s->in[i] = i < n->n_in ? n->in[i] : -1;
		if (s->in[i] >= 0)
			s->t[i] = s->g->values[s->in[i]].t;
	}
	s->out = n->out[0];
	s->y = s->g->values[s->out].t;
	s->axis = s->conv || s->transposed ? 1 : s->y.rank - 1;
	s->plain = !s->transposed && cnn_dtype_size(s->t[X].dtype) == 1 &&
		   cnn_dtype_size(s->t[W].dtype) == 1 && cnn_dtype_size(s->y.dtype) == 1;
	s->bits = s->transposed ? n->params.product.multiplier_bits : 53;
	snprintf(s->name, sizeof(s->name), "%s", n->name);
}

/* Splits the node if the core can add its sums up, but does not requantise all channels. */
static int legalize_product(struct split *s)
{
	const struct cnn_node *n = &s->g->nodes[s->node];
	struct gcuc_conv v = { .add = -1 };
	char reason[CNN_REASON_LEN] = "";
	struct gcuc_product p;
	int ret = CNN_OK;
	bool whole;

	if (!gcuc_product_get(s->g, n, &p) || p.sums)
		return CNN_OK;
	get_inputs(s, n);
	s->channels = s->y.rank > s->axis ? s->y.dims[s->axis] : 0;
	s->passes = calloc((size_t)cnn_max(s->channels, 1), sizeof(*s->passes));
	if (!s->passes)
		return cnn_fail(s->err, CNN_ENOMEM, "no memory to split products");
	s->passing = gcuc_match_product(&p, &v, s->passes, reason);
	s->w_k = v.weights.k;
	s->w_c = v.weights.c;
	s->group = v.co;
	s->grouped = v.groups > 1;
	if (s->passing >= 0 && s->passing < s->channels) {
		whole = s->grouped && s->g->whole_groups;
		snprintf(s->why, sizeof(s->why), "%d of %d channels, whose sums it rounds "
			 "otherwise%s", (int)(s->channels - s->passing), (int)s->channels,
			 whole && s->passing ? "; the others by cost" : "");
		ret = s->passing && !whole ? split_channels(s) : split_all(s);
	}
	gcuc_conv_free(&v);
	free(s->passes);
	return ret;
}

/* May it be fused into a product before it? */
static bool may_join(enum cnn_op op)
{
	switch (op) {
	case CNN_OP_ADD:
	case CNN_OP_BATCH_NORM:
	case CNN_OP_CLIP:
	case CNN_OP_HARD_SIGMOID:
	case CNN_OP_LEAKY_RELU:
	case CNN_OP_MUL:
	case CNN_OP_RELU:
	case CNN_OP_SIGMOID:
		return true;
	default:
		return false;
	}
}

/* The node that makes the first input that one makes; -1: none does. */
static int node_before(const struct cnn_graph *g, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] >= 0 && g->values[n->in[i]].producer >= 0)
			return g->values[n->in[i]].producer;
	return -1;
}

/* A convolution that reads what a BatchNormalization makes, which becomes a depthwise one. */
static int conv_behind(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_value *y = &g->values[n->out[0]];

	for (int i = 0; i < y->n_consumers && n->op == CNN_OP_BATCH_NORM; i++)
		if (g->nodes[y->consumers[i]].op == CNN_OP_CONV)
			return y->consumers[i];
	return -1;
}

int gcuc_companions(const struct cnn_graph *g, int node, int *nodes)
{
	const struct cnn_node *n = &g->nodes[node];
	int count = 0;

	if (!may_join(n->op))
		return 0;
	nodes[0] = conv_behind(g, n);
	if (nodes[0] >= 0)
		return 1;
	while (may_join(n->op) && count < CHAIN_MAX) {
		nodes[count] = node_before(g, n);
		if (nodes[count] < 0)
			return 0;
		n = &g->nodes[nodes[count++]];
	}
	return gcuc_is_float_product(g, n) ? count : 0;
}

int gcuc_legalize(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = cnn_graph_fuse_at(g, place, OWN_FUSING, err);

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct split s = { .g = g, .err = err, .node = i };

		if (!cnn_can_share_place(g->nodes[i].place, place) ||
		    g->n_nodes + 3 > CNN_MAX_NODES)
			continue;
		ret = legalize_product(&s);
		i = s.node;
	}
	if (!ret)
		ret = cnn_graph_link(g, err);
	if (!ret)
		cnn_graph_drop_constants(g);
	return ret;
}
