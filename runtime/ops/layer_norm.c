// SPDX-License-Identifier: MIT
/*
 * LayerNormalization, and RMSNormalization, which leaves the mean where it is: the last axes are
 * normalised, and each of their elements has its scale.
 */
#include <stdlib.h>
#include <string.h>

#include "moments.h"

/* The normalised axes as a tensor. */
static int layer_of(struct cnn_call *c, struct cnn_tensor *layer)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis = c->node->params.norm.axis;
	int ret = cnn_op_axis(c, &axis, x->rank);

	if (ret)
		return ret;
	*layer = (struct cnn_tensor){ .dtype = CNN_FLOAT32, .rank = x->rank - (int)axis };
	memcpy(layer->dims, x->dims + axis, sizeof(layer->dims[0]) * layer->rank);
	return CNN_OK;
}

/* Does scale or bias t broadcast to a layer? It may have ones before that. */
static int check_operand(struct cnn_call *c, int i, const struct cnn_tensor *layer)
{
	struct cnn_tensor y = *layer;
	int ret;

	if (c->in[i]->dtype != c->in[0]->dtype)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "input %d: type %s", i,
				   cnn_dtype_name(c->in[i]->dtype));
	ret = cnn_broadcast(c, &y, c->in[i]);
	if (!ret && cnn_tensor_count(&y) != cnn_tensor_count(layer))
		return cnn_op_fail(c, CNN_EINVAL, "input %d does not broadcast to the axes", i);
	return ret;
}

int cnn_infer_layer_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct cnn_tensor layer;
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (!ret)
		ret = layer_of(c, &layer);
	for (int i = 1; !ret && i <= 2; i++)
		if (cnn_in(c, i))
			ret = check_operand(c, i, &layer);
	if (ret)
		return ret;
	for (int i = 1; i < c->n_out; i++) {
		struct cnn_tensor *y = c->out[i];

		if (!y)
			continue;
		y->dtype = CNN_FLOAT32;
		y->rank = x->rank;
		for (int j = 0; j < x->rank; j++)
			y->dims[j] = j < x->rank - layer.rank ? x->dims[j] : 1;
	}
	return cnn_infer_like(c, x);
}

struct layer_call {
	const struct cnn_call *c;
	int64_t n;			/* elements of a layer */
	const float *scale, *bias;	/* for each of them; NULL: no bias */
	float *mean, *inverse;		/* outputs; NULL: not wanted */
};

static void some_layers(const void *arg, int64_t first, int64_t count)
{
	const struct layer_call *l = arg;

	for (int64_t i = first; i < first + count; i++) {
		const float *x = (const float *)l->c->in[0]->data + i * l->n;
		float *y = (float *)l->c->out[0]->data + i * l->n;
		double epsilon = l->c->node->params.norm.epsilon;
		struct cnn_moments m = l->c->node->op == CNN_OP_RMS_NORM ?
				       cnn_moments_about_0(x, l->n, epsilon) :
				       cnn_moments_of(x, l->n, epsilon);

		cnn_normalize(x, y, l->n, (float)m.mean, (float)m.inverse, 0);
		for (int64_t j = 0; j < l->n; j++)
			y[j] = y[j] * l->scale[j] + (l->bias ? l->bias[j] : 0);
		if (l->mean)
			l->mean[i] = (float)m.mean;
		if (l->inverse)
			l->inverse[i] = (float)m.inverse;
	}
}

/* Input i for each element of a layer. */
static void spread(const struct cnn_tensor *t, const struct cnn_tensor *layer, float *to)
{
	int64_t left = cnn_tensor_count(layer);
	struct cnn_tensor view = *t;
	const struct cnn_tensor *const operands[1] = { &view };
	struct cnn_walk w;

	for (; view.rank > layer->rank; view.rank--)
		memmove(view.dims, view.dims + 1, sizeof(view.dims[0]) * (view.rank - 1));
	for (cnn_walk_start(&w, layer, 1, operands); left > 0; left -= w.row, cnn_walk_next(&w)) {
		const float *from = (const float *)w.p[0];

		for (int64_t i = 0; i < w.row; i++)
			*to++ = from[w.moves[0] ? i : 0];
	}
}

int cnn_compute_layer_norm(struct cnn_call *c)
{
	struct cnn_tensor *mean = cnn_out(c, 1), *inverse = cnn_out(c, 2), layer;
	struct layer_call l = { .c = c };
	float *spreads;
	int ret = layer_of(c, &layer);

	l.n = cnn_tensor_count(&layer);
	if (ret || !cnn_tensor_count(c->in[0]))
		return ret;
	spreads = malloc(2 * l.n * sizeof(*spreads));
	if (!spreads)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	spread(c->in[1], &layer, spreads);
	l.scale = spreads;
	if (cnn_in(c, 2)) {
		spread(c->in[2], &layer, spreads + l.n);
		l.bias = spreads + l.n;
	}
	l.mean = mean ? mean->data : NULL;
	l.inverse = inverse ? inverse->data : NULL;
	cnn_for_blocks(c, cnn_tensor_count(c->in[0]) / l.n, 1 + CNN_BLOCK / l.n, some_layers, &l);
	if (mean)
		cnn_canonical_nans(mean->data, cnn_tensor_count(mean));
	if (inverse)
		cnn_canonical_nans(inverse->data, cnn_tensor_count(inverse));
	free(spreads);
	return CNN_OK;
}
