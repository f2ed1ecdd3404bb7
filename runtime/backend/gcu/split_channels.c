// SPDX-License-Identifier: MIT
/*
 * A quantised product of which the core requantises some channels becomes two: one of these, and
 * sums of the others (backend/split_sums.c), which are merged with the former (MergeChannels). One
 * with groups keeps all channels, as a group of the core has as many outputs as the others; the
 * weights of those that it does not requantise become zero.
 */
#include <string.h>

#include "gcu.h"
#include "ops/quant.h"

/* Lists the groups of the others as input 4 of their sums. */
static int list_groups(const struct cnn_split *s, int64_t group, struct cnn_node *n)
{
	struct cnn_tensor t = {
		.dtype = CNN_INT32, .rank = 1, .dims = { cnn_split_count(s, CNN_SPLIT_OTHERS) },
	};
	void *data;
	int list = cnn_split_add_const(s, &t, "_groups", &data);

	for (int64_t k = 0, at = 0; k < s->channels && list >= 0; k++)
		if (!s->passes[k])
			((int32_t *)data)[at++] = (int32_t)(k / group);
	n->params.window.uneven_groups = true;
	return list < 0 ? list : cnn_rewrite_set_input(n, 4, list, s->err);
}

/* Sums of products of the others, as a node before the product; *sums: their value. */
static int add_sums(struct cnn_split *s, int64_t group, int *sums)
{
	enum cnn_op op = s->conv && group ? CNN_OP_INTEGER_CONV : cnn_split_sums_op(s);
	struct cnn_node *n;
	int w, zero, ret;

	ret = cnn_split_take_weights(s, CNN_SPLIT_OTHERS, "_sum_weights", &w) ?:
	      cnn_split_take_list(s, CNN_SPLIT_W_ZERO, CNN_SPLIT_OTHERS, "_sum_zeros", &zero);
	if (ret)
		return ret;
	*sums = cnn_split_add_value(s, CNN_INT32, CNN_SPLIT_OTHERS, "_sums");
	if (*sums < 0)
		return *sums;
	ret = cnn_rewrite_insert(s->g, s->node, op, s->in[CNN_SPLIT_X], *sums, s->err);
	if (ret)
		return ret;
	n = &s->g->nodes[s->node++];
	/* The place was chosen by the cost of both products there. */
	n->place = s->g->nodes[s->node].place;
	if (s->conv || s->transposed)
		n->params.window = s->g->nodes[s->node].params.window;
	return cnn_split_set_sums(s, n, w, zero) ?: (group ? list_groups(s, group, n) : CNN_OK);
}

/* Of groups: the product keeps all channels, and the others get weights that are zero. */
static int clear_others(struct cnn_split *s, int out)
{
	struct cnn_tensor t = s->t[CNN_SPLIT_W];
	const struct cnn_tensor *zeros = s->in[CNN_SPLIT_W_ZERO] < 0 ? NULL :
								       &s->t[CNN_SPLIT_W_ZERO];
	size_t size = cnn_dtype_size(t.dtype), run = (size_t)s->w_k * size;
	struct cnn_node *n;
	void *data;
	int w;

	t.data = NULL;
	w = cnn_split_add_const(s, &t, "_weights", &data);
	if (w < 0)
		return w;
	memcpy(data, s->t[CNN_SPLIT_W].data, run * (size_t)s->channels);
	for (int64_t k = 0; k < s->channels; k++) {
		int32_t zero = zeros ? cnn_zero_point(zeros, k) : 0;

		for (int64_t i = k * s->w_k; i < (k + 1) * s->w_k && !s->passes[k]; i++)
			if (size == 1)
				((uint8_t *)data)[i] = (uint8_t)zero;
			else
				((int16_t *)data)[i] = (int16_t)zero;
	}
	n = &s->g->nodes[s->node];
	n->in[CNN_SPLIT_W] = w;
	n->out[0] = out;
	n->params.product.unused_outputs = s->channels - s->passing;
	return CNN_OK;
}

/* The product becomes that of the channels which the core requantises. */
static int keep_passing(struct cnn_split *s, int out)
{
	const enum cnn_split_part part = CNN_SPLIT_PASSING;
	struct cnn_node *n;
	int w, scale, zero, bias = -1;
	int ret = cnn_split_take_weights(s, part, "_weights", &w) ?:
		  cnn_split_take_list(s, CNN_SPLIT_W_SCALE, part, "_weight_scales", &scale) ?:
		  cnn_split_take_list(s, CNN_SPLIT_W_ZERO, part, "_weight_zeros", &zero);

	if (!ret && s->bias >= 0)
		ret = cnn_split_take_list(s, s->bias, part, "_bias", &bias);
	if (ret)
		return ret;
	n = &s->g->nodes[s->node];
	n->in[CNN_SPLIT_W] = w;
	n->in[CNN_SPLIT_W_SCALE] = scale;
	n->in[CNN_SPLIT_W_ZERO] = zero;
	if (bias >= 0)
		n->in[s->bias] = bias;
	if (n->op == CNN_OP_QGEMM)
		n->params.gemm.trans_b = false;
	n->out[0] = out;
	return CNN_OK;
}

static int merge(struct cnn_split *s, bool groups, int a, int b)
{
	struct cnn_tensor t = { .dtype = CNN_INT32, .rank = 1, .dims = { s->channels } };
	int32_t of_a = 0, of_b = (int32_t)(groups ? s->channels : s->passing);
	void *data;
	int index = cnn_split_add_const(s, &t, "_index", &data), ret;

	for (int64_t k = 0; k < s->channels && index >= 0; k++, of_a += groups)
		((int32_t *)data)[k] = !s->passes[k] ? of_b++ : groups ? of_a : of_a++;
	ret = index < 0 ? index : cnn_rewrite_insert(s->g, s->node + 1, CNN_OP_MERGE_CHANNELS, a,
						     s->out, s->err);
	if (ret)
		return ret;
	s->g->nodes[++s->node].params.axis.axis = s->axis;
	return cnn_rewrite_set_input(&s->g->nodes[s->node], 1, b, s->err) ?:
	       cnn_rewrite_set_input(&s->g->nodes[s->node], 2, index, s->err);
}

int gcuc_split_channels(struct cnn_split *s, int64_t group)
{
	enum cnn_split_part kept = group ? CNN_SPLIT_ALL : CNN_SPLIT_PASSING;
	int a = cnn_split_add_value(s, s->y.dtype, kept, "_requantised"), b, sums, ret;

	b = a < 0 ? a : cnn_split_add_value(s, s->y.dtype, CNN_SPLIT_OTHERS, "_others");
	ret = b < 0 ? b : add_sums(s, group, &sums);
	return ret ?: cnn_split_requantise(s, CNN_SPLIT_OTHERS, sums, b) ?:
	       (group ? clear_others(s, a) : keep_passing(s, a)) ?: merge(s, group, a, b);
}
