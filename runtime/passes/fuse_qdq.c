// SPDX-License-Identifier: MIT
/*
 * Pass: fuse DequantizeLinear, a Conv, MatMul or Gemm, perhaps Relu or Clip, and QuantizeLinear
 * (QDQ format) into QLinearConv, QLinearMatMul or QGemm and perhaps a Clip of bytes. An operator
 * that only moves elements between DequantizeLinear and QuantizeLinear moves bytes instead.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/quant.h"
#include "merge.h"

/* Relative rounding error allowed between a bias's scale and the products' scale. */
#define BIAS_SCALE_ERROR	0x1p-20

/* The nodes of a pattern; act and bias may be NULL. */
struct qdq {
	struct cnn_node *product, *act, *quantize;
	struct cnn_node *x, *w, *bias;	/* their DequantizeLinear */
	float low, high;		/* of act */
};

static struct cnn_node *producer(const struct cnn_graph *g, const struct cnn_node *n, int i)
{
	int v = i < n->n_in ? n->in[i] : -1;

	return v < 0 || g->values[v].producer < 0 ? NULL : &g->nodes[g->values[v].producer];
}

/* As producer, if n is the only reader. */
static struct cnn_node *sole_producer(const struct cnn_graph *g, const struct cnn_node *n, int i)
{
	struct cnn_node *m = producer(g, n, i);

	if (!m || m->n_out != 1 || cnn_rewrite_only_reader(g, m) != n)
		return NULL;
	return m->act.kind == CNN_ACT_NONE ? m : NULL;
}

static const struct cnn_tensor *constant(const struct cnn_graph *g, const struct cnn_node *n, int i)
{
	const struct cnn_tensor *t = cnn_node_in(g, n, i);

	return t && t->data ? t : NULL;
}

static bool is_quantised(const struct cnn_tensor *t)
{
	return t->dtype == CNN_INT8 || t->dtype == CNN_UINT8 || t->dtype == CNN_INT16 ||
	       t->dtype == CNN_UINT16;
}

/* Are scale and zero point of a QuantizeLinear or DequantizeLinear constant and per tensor? */
static bool is_uniform(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *scale = constant(g, n, 1), *zero = cnn_node_in(g, n, 2);

	return cnn_is_const(scale) && cnn_tensor_count(scale) == 1 && cnn_scale(scale, 0) > 0 &&
	       isfinite(cnn_scale(scale, 0)) &&
	       (!zero || (zero->data && cnn_tensor_count(zero) == 1));
}

/* The DequantizeLinear of 8 or 16 bits (bias: of a constant int32) that is input i of n, or NULL. */
static struct cnn_node *dequantizer(const struct cnn_graph *g, const struct cnn_node *n, int i,
				    bool bias)
{
	struct cnn_node *d = producer(g, n, i);
	const struct cnn_tensor *x = d ? cnn_node_in(g, d, 0) : NULL;

	if (!d || d->op != CNN_OP_DEQUANTIZE_LINEAR || x->rank < 0 ||
	    !cnn_is_const(cnn_node_in(g, d, 1)) ||
	    (cnn_node_in(g, d, 2) && !constant(g, d, 2)))
		return NULL;
	return (bias ? x->dtype == CNN_INT32 && x->data : is_quantised(x)) ? d : NULL;
}

/* Are the weights quantised per tensor, or per output channel (axis)? */
static bool weights_fit(const struct cnn_graph *g, const struct cnn_node *d, int64_t axis)
{
	const struct cnn_tensor *w = cnn_node_in(g, d, 0), *scale = constant(g, d, 1);
	int64_t own = d->params.axis.axis, n = cnn_tensor_count(scale);

	for (int64_t i = 0; i < n; i++)
		if (!(cnn_scale(scale, i) > 0) || !isfinite(cnn_scale(scale, i)))
			return false;
	return n == 1 || (own + (own < 0 ? w->rank : 0) == axis && n == w->dims[axis]);
}

/* Is what requantises the sums, in the operators' floats, a positive number, too? */
static bool ratios_fit(const struct cnn_graph *g, const struct qdq *q)
{
	const struct cnn_tensor *x = constant(g, q->x, 1), *w = constant(g, q->w, 1);
	float y = cnn_scale(constant(g, q->quantize, 1), 0);

	for (int64_t i = 0; i < cnn_tensor_count(w); i++) {
		float ratio = cnn_scale(x, 0) * cnn_scale(w, i) / y;

		if (!(ratio > 0) || !isfinite(ratio))
			return false;
	}
	return true;
}

/* Has the bias one element per channel, the products' scale and zero point 0? */
static bool bias_fits(const struct cnn_graph *g, const struct qdq *q, int64_t channels)
{
	const struct cnn_node *d = q->bias;
	const struct cnn_tensor *b = cnn_node_in(g, d, 0), *own = constant(g, d, 1);
	const struct cnn_tensor *w = constant(g, q->w, 1);
	double x = cnn_scale(constant(g, q->x, 1), 0);
	int64_t n = cnn_tensor_count(own);

	if (b->rank != 1 || b->dims[0] != channels || (n != 1 && n != channels))
		return false;
	for (int64_t i = 0; i < channels; i++) {
		double want = x * cnn_scale(w, i), have = cnn_scale(own, i);

		if (!(fabs(have - want) <= want * BIAS_SCALE_ERROR) ||
		    cnn_zero_point(constant(g, d, 2), i))
			return false;
	}
	return true;
}

/* Finds the operands of the product; false if they do not fit. */
static bool find_operands(const struct cnn_graph *g, struct qdq *q)
{
	const struct cnn_node *n = q->product;
	bool gemm = n->op == CNN_OP_GEMM, conv = n->op == CNN_OP_CONV;
	const struct cnn_gemm_params *p = &n->params.gemm;
	bool biased = n->n_in > 2 && n->in[2] >= 0;
	const struct cnn_tensor *weights;
	int64_t axis;

	q->x = dequantizer(g, n, 0, false);
	q->w = dequantizer(g, n, 1, false);
	q->bias = biased ? dequantizer(g, n, 2, true) : NULL;
	weights = q->w ? cnn_node_in(g, q->w, 0) : NULL;
	if (!q->x || !q->w || !is_uniform(g, q->x) || n->n_in > 3 || weights->rank < 2)
		return false;
	axis = conv || (gemm && p->trans_b) ? 0 : weights->rank - 1;
	if (!weights_fit(g, q->w, axis) || !ratios_fit(g, q) ||
	    (n->op == CNN_OP_MATMUL && n->n_in > 2))
		return false;
	if (gemm && (p->trans_a || p->alpha != 1 || (q->bias && p->beta != 1)))
		return false;
	return !biased || (q->bias && bias_fits(g, q, weights->dims[axis]));
}

/* Bounds of a Relu or Clip between the product and its QuantizeLinear. */
static bool find_bounds(const struct cnn_graph *g, const struct cnn_node *act, struct qdq *q)
{
	if (act->op == CNN_OP_RELU)
		q->low = 0;
	else if (!cnn_clip_bounds(g, act, &q->low, &q->high))
		return false;
	return q->low <= q->high;
}

/* Finds the pattern that ends in QuantizeLinear number i. */
static bool find_pattern(const struct cnn_graph *g, int i, struct qdq *q)
{
	struct cnn_node *end = &g->nodes[i], *n = sole_producer(g, end, 0);

	*q = (struct qdq){ .quantize = end, .low = -INFINITY, .high = INFINITY };
	if (end->op != CNN_OP_QUANTIZE_LINEAR || !is_uniform(g, end))
		return false;
	if (n && (n->op == CNN_OP_RELU || n->op == CNN_OP_CLIP)) {
		if (!find_bounds(g, n, q))
			return false;
		q->act = n;
		n = sole_producer(g, n, 0);
	}
	if (!n || (n->op != CNN_OP_CONV && n->op != CNN_OP_MATMUL && n->op != CNN_OP_GEMM) ||
	    cnn_node_out(g, n, 0)->rank < 0)
		return false;
	q->product = n;
	return find_operands(g, q);
}

/* Adds a constant of one element; its value index or an error. */
static int add_element(struct cnn_graph *g, enum cnn_dtype type, int v, struct cnn_err *err)
{
	struct cnn_tensor t = { .dtype = type };
	int ret = cnn_tensor_alloc(&t, 0, err);

	if (ret)
		return ret;
	if (cnn_dtype_size(type) > 1)
		*(uint16_t *)t.data = (uint16_t)v;
	else
		*(uint8_t *)t.data = (uint8_t)v;
	return cnn_graph_add_value(g, "constant", &t, err);
}

/* The zero point of node n; if it has none, a new constant 0 of that type. */
static int zero_value(struct cnn_graph *g, const struct cnn_node *n, enum cnn_dtype type,
		      struct cnn_err *err)
{
	return n->n_in > 2 && n->in[2] >= 0 ? n->in[2] : add_element(g, type, 0, err);
}

/* Fills in the inputs of the quantised operator; their number or an error. */
static int quantised_inputs(struct cnn_graph *g, const struct qdq *q, bool gemm, int *in,
			    struct cnn_err *err)
{
	const struct cnn_node *x = q->x, *w = q->w, *y = q->quantize;
	int zeros[] = {
		zero_value(g, x, cnn_node_in(g, x, 0)->dtype, err),
		zero_value(g, w, cnn_node_in(g, w, 0)->dtype, err),
		zero_value(g, y, cnn_node_out(g, y, 0)->dtype, err),
	};
	int bias = q->bias ? q->bias->in[0] : -1, at = 6;

	for (int i = 0; i < 3; i++)
		if (zeros[i] < 0)
			return zeros[i];
	memcpy(in, (const int[]){ x->in[0], x->in[1], zeros[0], w->in[0], w->in[1], zeros[1] },
	       6 * sizeof(*in));
	if (gemm)
		in[at++] = bias;
	in[at++] = y->in[1];
	in[at++] = zeros[2];
	if (!gemm && bias >= 0)
		in[at++] = bias;
	return at;
}

static int set_inputs(struct cnn_node *n, const int *in, int count, struct cnn_err *err)
{
	int *copy = malloc(sizeof(*copy) * (size_t)count);

	if (!copy)
		return cnn_rewrite_nomem(err);
	memcpy(copy, in, sizeof(*copy) * (size_t)count);
	free(n->in);
	n->in = copy;
	n->n_in = count;
	return CNN_OK;
}

/* Bound v as QuantizeLinear would quantise it. */
static int quantised_bound(const struct cnn_graph *g, const struct cnn_node *end, float v)
{
	struct cnn_range r = cnn_range_of(cnn_node_out(g, end, 0)->dtype,
					  cnn_zero_point(constant(g, end, 2), 0));
	float q = v / cnn_scale(constant(g, end, 1), 0);

	q = fminf(fmaxf(q, (float)(r.low - r.zero_point)), (float)(r.high - r.zero_point));
	return (int)nearbyintf(q) + r.zero_point;
}

/* Turns the QuantizeLinear into a Clip to the bounds, or removes it if they bound nothing. */
static int finish(struct cnn_graph *g, const struct qdq *q, struct cnn_err *err)
{
	struct cnn_node *end = q->quantize, *n = q->product;
	enum cnn_dtype type = cnn_node_out(g, end, 0)->dtype;
	struct cnn_range range = cnn_range_of(type, 0);
	int low = quantised_bound(g, end, q->low), high = quantised_bound(g, end, q->high), in[3];

	if (low == range.low && high == range.high) {
		n->out[0] = end->out[0];
		cnn_node_free(end);
		return CNN_OK;
	}
	cnn_node_out(g, n, 0)->dtype = type;
	g->values[n->out[0]].rewritten = true;
	in[0] = n->out[0];
	in[1] = add_element(g, type, low, err);
	in[2] = add_element(g, type, high, err);
	if (in[1] < 0 || in[2] < 0)
		return in[1] < 0 ? in[1] : in[2];
	return set_inputs(end, in, 3, err) ?: cnn_rewrite_rename(end, CNN_OP_CLIP, err);
}

static int note(struct cnn_graph *g, const struct qdq *q, struct cnn_err *err)
{
	const struct cnn_node *const parts[] = { q->x, q->w, q->bias, q->act, q->quantize };
	int ret = CNN_OK;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !ret; i++)
		if (parts[i] && (parts[i] == q->quantize ||
				 g->values[parts[i]->out[0]].n_consumers == 1))
			ret = cnn_rewrite_note(q->product, parts[i], err);
	return ret;
}

static int rewrite(struct cnn_graph *g, const struct qdq *q, struct cnn_err *err)
{
	enum cnn_op op = q->product->op;
	enum cnn_op to = op == CNN_OP_CONV ? CNN_OP_QLINEAR_CONV :
			 op == CNN_OP_GEMM ? CNN_OP_QGEMM : CNN_OP_QLINEAR_MATMUL;
	int in[9], count = quantised_inputs(g, q, op == CNN_OP_GEMM, in, err);
	int ret = count < 0 ? count : note(g, q, err);

	ret = ret ?: set_inputs(q->product, in, count, err) ?:
	      cnn_rewrite_rename(q->product, to, err) ?: finish(g, q, err);
	if (!ret && q->act)
		cnn_node_free(q->act);
	return ret ?: cnn_graph_compact(g, err);
}

static bool moves_elements(const struct cnn_node *n)
{
	switch (n->op) {
	case CNN_OP_FLATTEN:
	case CNN_OP_MAX_POOL:
	case CNN_OP_RESHAPE:
	case CNN_OP_SQUEEZE:
	case CNN_OP_TRANSPOSE:
	case CNN_OP_UNSQUEEZE:
		return n->n_out == 1 && n->act.kind == CNN_ACT_NONE;
	default:
		return false;
	}
}

static bool same_quantisation(const struct cnn_graph *g, const struct cnn_node *a,
			      const struct cnn_node *b)
{
	const struct cnn_tensor *x = cnn_node_in(g, a, 0), *y = cnn_node_out(g, b, 0);

	return is_uniform(g, a) && is_uniform(g, b) && x->dtype == y->dtype &&
	       cnn_scale(constant(g, a, 1), 0) == cnn_scale(constant(g, b, 1), 0) &&
	       cnn_zero_point(constant(g, a, 2), 0) == cnn_zero_point(constant(g, b, 2), 0);
}

/* Removes DequantizeLinear, and QuantizeLinear number i, around an operator that moves elements. */
static int fuse_mover(struct cnn_graph *g, int i, struct cnn_err *err)
{
	struct cnn_node *end = &g->nodes[i];
	struct cnn_node *n = end->op == CNN_OP_QUANTIZE_LINEAR ? sole_producer(g, end, 0) : NULL;
	struct cnn_node *d = n && moves_elements(n) ? dequantizer(g, n, 0, false) : NULL;
	int ret;

	if (!d || !same_quantisation(g, d, end))
		return 0;
	ret = cnn_rewrite_note(n, end, err);
	if (ret)
		return ret;
	n->in[0] = d->in[0];
	n->out[0] = end->out[0];
	cnn_node_free(end);
	return cnn_graph_compact(g, err) ?: 1;
}

/* 1 if QuantizeLinear number i was fused, 0 if not, or an error. */
static int fuse_quantize(struct cnn_graph *g, int i, struct cnn_err *err)
{
	int ret = fuse_mover(g, i, err);
	struct qdq q;

	if (ret || !find_pattern(g, i, &q))
		return ret;
	return rewrite(g, &q, err) ?: 1;
}

int cnn_pass_fuse_qdq(struct cnn_pass *p)
{
	int ret = CNN_OK, i = 0;

	while (i < p->g->n_nodes && ret >= 0) {
		ret = fuse_quantize(p->g, i, p->err);
		i = ret <= 0 ? i + 1 : i > 4 ? i - 4 : 0; /* at most three nodes were removed */
	}
	return ret < 0 ? ret : cnn_graph_prune(p->g, p->err);
}
