// SPDX-License-Identifier: MIT
/*
 * Quantised products as sums that the core computes, and the node by which the CPU requantises
 * them: QLinearSums where all numbers are bytes and the product is not transposed, RequantizeSums
 * for the others.
 */
#include <stdio.h>
#include <string.h>

#include "ops/quant.h"
#include "qproduct.h"
#include "split_sums.h"

int cnn_split_add_const(const struct cnn_split *s, struct cnn_tensor *t, const char *suffix,
			void **data)
{
	return cnn_rewrite_add_const(s->g, s->name, suffix, t, data, s->err);
}

int cnn_split_take_list(const struct cnn_split *s, int i, enum cnn_split_part part,
			const char *suffix, int *value)
{
	struct cnn_tensor t = {
		.dtype = s->t[i].dtype, .rank = 1, .dims = { cnn_split_count(s, part) },
	};
	size_t size = cnn_dtype_size(t.dtype);
	void *data;
	char *to;

	*value = s->in[i];
	if (part == CNN_SPLIT_ALL || *value < 0 || cnn_tensor_count(&s->t[i]) == 1)
		return CNN_OK;
	*value = cnn_split_add_const(s, &t, suffix, &data);
	to = data;
	for (int64_t k = 0; k < s->channels && *value >= 0; k++)
		if (cnn_split_has(s, part, k)) {
			memcpy(to, (const char *)s->t[i].data + (size_t)k * size, size);
			to += size;
		}
	return *value < 0 ? *value : CNN_OK;
}

int cnn_split_take_weights(const struct cnn_split *s, enum cnn_split_part part, const char *suffix,
			   int *value)
{
	const struct cnn_tensor *w = &s->t[CNN_SPLIT_W];
	struct cnn_tensor t = { .dtype = w->dtype, .rank = w->rank };
	bool conv = s->conv || s->transposed;
	int64_t inner = conv ? s->w_k : 1, outer;
	size_t size = cnn_dtype_size(w->dtype), run = (size_t)inner * size;
	void *data;
	char *to;

	*value = s->in[CNN_SPLIT_W];
	if ((part == CNN_SPLIT_ALL && s->w_k == inner) || !s->channels)
		return CNN_OK;
	outer = cnn_tensor_count(w) / s->channels / inner;
	memcpy(t.dims, w->dims, sizeof(t.dims));
	t.dims[s->conv ? 0 : s->transposed ? 1 : w->rank - 1] = cnn_split_count(s, part);
	if (!conv)
		t.dims[w->rank - 2] = outer;
	*value = cnn_split_add_const(s, &t, suffix, &data);
	to = data;
	for (int64_t i = 0; i < outer * s->channels && *value >= 0; i++) {
		int64_t k = i % s->channels, c = i / s->channels;

		if (!cnn_split_has(s, part, k))
			continue;
		memcpy(to, (const char *)w->data + (size_t)(k * s->w_k + c * s->w_c) * size, run);
		to += run;
	}
	return *value < 0 ? *value : CNN_OK;
}

int cnn_split_add_value(const struct cnn_split *s, enum cnn_dtype type, enum cnn_split_part part,
			const char *suffix)
{
	struct cnn_tensor t = s->y;

	t.dtype = type;
	t.dims[s->axis] = cnn_split_count(s, part);
	return cnn_rewrite_add_value(s->g, s->g->values[s->out].name, suffix, &t, s->err);
}

/* ---- sums -------------------------------------------------------------------------------- */

enum cnn_op cnn_split_sums_op(const struct cnn_split *s)
{
	if (s->transposed)
		return CNN_OP_INTEGER_CONV_TRANSPOSE;
	if (s->conv)
		return s->plain ? CNN_OP_CONV_INTEGER : CNN_OP_INTEGER_CONV;
	return s->plain ? CNN_OP_MATMUL_INTEGER : CNN_OP_INTEGER_MATMUL;
}

int cnn_split_set_sums(const struct cnn_split *s, struct cnn_node *n, int weights, int zero)
{
	return cnn_rewrite_set_input(n, 1, weights, s->err) ?:
	       cnn_rewrite_set_input(n, 2, s->in[CNN_SPLIT_X_ZERO], s->err) ?:
	       cnn_rewrite_set_input(n, 3, zero, s->err);
}

/* The product becomes the sums. */
static int turn_to_sums(struct cnn_split *s, int *sums)
{
	struct cnn_node *n;
	int w, ret = cnn_split_take_weights(s, CNN_SPLIT_ALL, "_sum_weights", &w);

	if (ret)
		return ret;
	*sums = cnn_split_add_value(s, CNN_INT32, CNN_SPLIT_ALL, "_sums");
	if (*sums < 0)
		return *sums;
	n = &s->g->nodes[s->node++];
	n->n_in = 1;
	n->out[0] = *sums;
	return cnn_rewrite_rename(n, cnn_split_sums_op(s), s->err) ?:
	       cnn_split_set_sums(s, n, w, s->in[CNN_SPLIT_W_ZERO]);
}

/* ---- requantisation ---------------------------------------------------------------------- */

static const struct cnn_tensor *bias_of(const struct cnn_split *s)
{
	return s->bias < 0 || s->in[s->bias] < 0 ? NULL : &s->t[s->bias];
}

/* What is added to the sums of a part, and their scales, rounded as the operators do. */
static int add_numbers(const struct cnn_split *s, enum cnn_split_part part, int *terms,
		       int *scales)
{
	struct cnn_tensor t = {
		.dtype = CNN_INT32, .rank = 1, .dims = { cnn_split_count(s, part) },
	};
	const int32_t *bias = bias_of(s) ? bias_of(s)->data : NULL;
	float x = cnn_scale(&s->t[CNN_SPLIT_X_SCALE], 0), y = cnn_scale(&s->t[s->y_scale], 0);
	void *add, *scale;

	*terms = cnn_split_add_const(s, &t, "_terms", &add);
	t = (struct cnn_tensor){
		.dtype = CNN_FLOAT32, .rank = 1, .dims = { cnn_split_count(s, part) },
	};
	*scales = *terms < 0 ? *terms : cnn_split_add_const(s, &t, "_scales", &scale);
	for (int64_t k = 0, at = 0; k < s->channels && *scales >= 0; k++) {
		if (!cnn_split_has(s, part, k))
			continue;
		((int32_t *)add)[at] = bias ? bias[k] : 0;
		((float *)scale)[at++] = x * cnn_scale(&s->t[CNN_SPLIT_W_SCALE], k) / y;
	}
	return *scales < 0 ? *scales : CNN_OK;
}

/* Adds the node, and moves s->node behind it. */
static int add_node(struct cnn_split *s, enum cnn_op op, int sums, int out)
{
	struct cnn_node *n;
	int ret = cnn_rewrite_insert(s->g, s->node, op, sums, out, s->err);

	if (ret)
		return ret;
	n = &s->g->nodes[s->node++];
	n->params.sums.axis = s->axis;
	memcpy(n->params.sums.why, s->why, sizeof(s->why));
	return CNN_OK;
}

/* Of a plain product. */
static int add_qlinear_sums(struct cnn_split *s, enum cnn_split_part part, int sums, int out)
{
	struct cnn_node *n;
	int terms, scales, ret = add_numbers(s, part, &terms, &scales) ?:
				 add_node(s, CNN_OP_QLINEAR_SUMS, sums, out);

	if (ret)
		return ret;
	n = &s->g->nodes[s->node - 1];
	n->params.sums.group = 1;
	return cnn_rewrite_set_input(n, 1, terms, s->err) ?:
	       cnn_rewrite_set_input(n, 3, scales, s->err) ?:
	       cnn_rewrite_set_input(n, 4, s->in[s->y_zero], s->err);
}

static int add_wide_terms(const struct cnn_split *s, enum cnn_split_part part)
{
	struct cnn_tensor t = {
		.dtype = CNN_INT64, .rank = 1, .dims = { cnn_split_count(s, part) },
	};
	const struct cnn_tensor *bias = bias_of(s);
	void *data;
	int ret = cnn_split_add_const(s, &t, "_terms", &data);

	for (int64_t k = 0, at = 0; bias && k < s->channels && ret >= 0; k++)
		if (cnn_split_has(s, part, k))
			((int64_t *)data)[at++] = bias->dtype == CNN_INT64 ?
							  ((const int64_t *)bias->data)[k] :
							  ((const int32_t *)bias->data)[k];
	return ret;
}

static int add_requantize_sums(struct cnn_split *s, enum cnn_split_part part, int sums, int out)
{
	int in[] = { s->in[CNN_SPLIT_X_SCALE], s->in[CNN_SPLIT_W_SCALE], s->in[s->y_scale],
		     s->in[s->y_zero] };
	struct cnn_node *n;
	int terms = add_wide_terms(s, part), ret;

	ret = terms < 0 ? terms :
			  cnn_split_take_list(s, CNN_SPLIT_W_SCALE, part, "_scales", &in[1]);
	ret = ret ?: add_node(s, CNN_OP_REQUANTIZE_SUMS, sums, out);
	if (ret)
		return ret;
	n = &s->g->nodes[s->node - 1];
	n->params.product.multiplier_bits = s->bits;
	ret = cnn_rewrite_set_input(n, 1, terms, s->err);
	for (int i = 0; i < 4 && !ret; i++)
		ret = cnn_rewrite_set_input(n, 2 + i, in[i], s->err);
	return ret;
}

int cnn_split_requantise(struct cnn_split *s, enum cnn_split_part part, int sums, int out)
{
	return s->plain ? add_qlinear_sums(s, part, sums, out) :
			  add_requantize_sums(s, part, sums, out);
}

int cnn_split_all(struct cnn_split *s)
{
	int sums, ret = turn_to_sums(s, &sums);

	if (!ret)
		ret = cnn_split_requantise(s, CNN_SPLIT_ALL, sums, s->out);
	s->node--;
	return ret;
}

/* Divides by no 0, also where there are no weights. */
static void set_strides(struct cnn_split *s, bool trans_b)
{
	const struct cnn_tensor *w = &s->t[CNN_SPLIT_W];
	int64_t count = cnn_max(cnn_tensor_count(w), 1);

	if (s->transposed) {
		s->w_k = cnn_max(count / cnn_max(w->dims[0] * w->dims[1], 1), 1);
		s->w_c = w->dims[1] * s->w_k;
		return;
	}
	s->w_k = s->conv || trans_b ? cnn_max(count / cnn_max(s->channels, 1), 1) : 1;
	s->w_c = trans_b ? 1 : s->channels;
}

void cnn_split_get(struct cnn_split *s)
{
	const struct cnn_node *n = &s->g->nodes[s->node];
	const struct cnn_qproduct_form *form = cnn_qproduct_form(n->op);

	s->conv = n->op == CNN_OP_QLINEAR_CONV;
	s->transposed = n->op == CNN_OP_QLINEAR_CONV_TRANSPOSE;
	s->bias = form->bias;
	s->y_scale = form->y_scale;
	s->y_zero = s->y_scale + 1;
	for (int i = 0; i < CNN_SPLIT_INPUTS; i++) {
		s->in[i] = i < n->n_in ? n->in[i] : -1;
		if (s->in[i] >= 0)
			s->t[i] = s->g->values[s->in[i]].t;
	}
	s->out = n->out[0];
	s->y = s->g->values[s->out].t;
	s->axis = s->conv || s->transposed ? 1 : s->y.rank - 1;
	s->channels = s->y.rank > s->axis ? s->y.dims[s->axis] : 0;
	s->plain = !s->transposed && cnn_dtype_size(s->t[CNN_SPLIT_X].dtype) == 1 &&
		   cnn_dtype_size(s->t[CNN_SPLIT_W].dtype) == 1 &&
		   cnn_dtype_size(s->y.dtype) == 1;
	s->bits = s->transposed ? n->params.product.multiplier_bits : 53;
	set_strides(s, n->op == CNN_OP_QGEMM && n->params.gemm.trans_b);
	snprintf(s->name, sizeof(s->name), "%s", n->name);
}
