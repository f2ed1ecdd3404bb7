// SPDX-License-Identifier: MIT
/* InstanceNormalization and GroupNormalization: maps of a channel, or of some, are normalised. */
#include "moments.h"

/* A scale and a bias for each of count: channels, or groups before operator set 21. */
static int check(struct cnn_call *c, int64_t groups, int64_t count)
{
	const struct cnn_tensor *x = c->in[0];

	if (x->rank < 2)
		return cnn_op_fail(c, CNN_EINVAL, "%d axes, 2 or more wanted", x->rank);
	if (groups < 1 || x->dims[1] % groups)
		return cnn_op_fail(c, CNN_EINVAL, "num_groups %lld with %lld channels",
				   (long long)groups, (long long)x->dims[1]);
	for (int i = 1; i <= 2; i++) {
		if (c->in[i]->dtype != x->dtype)
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "input %d: type %s", i,
					   cnn_dtype_name(c->in[i]->dtype));
		if (c->in[i]->rank != 1 || c->in[i]->dims[0] != count)
			return cnn_op_fail(c, CNN_EINVAL, "input %d does not have %lld numbers", i,
					   (long long)count);
	}
	return cnn_infer_like(c, x);
}

static bool is_group(const struct cnn_call *c)
{
	return c->node->op == CNN_OP_GROUP_NORM;
}

int cnn_infer_group_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t channels = x->rank > 1 ? x->dims[1] : 0, groups = channels;
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (ret)
		return ret;
	if (is_group(c))
		groups = c->node->params.norm.num_groups;
	else if (!groups)
		groups = 1;
	return check(c, groups, is_group(c) && c->node->opset < 21 ? groups : channels);
}

struct group_call {
	const struct cnn_call *c;
	int64_t groups, channels, map;	/* channels of a group, elements of a channel */
	bool by_group;			/* a scale and a bias for each group */
};

static void some_groups(const void *arg, int64_t first, int64_t n)
{
	const struct group_call *g = arg;
	const float *scale = g->c->in[1]->data, *bias = g->c->in[2]->data;
	int64_t size = g->channels * g->map;

	for (int64_t i = first; i < first + n; i++) {
		const float *x = (const float *)g->c->in[0]->data + i * size;
		float *y = (float *)g->c->out[0]->data + i * size;
		struct cnn_moments m = cnn_moments_of(x, size, g->c->node->params.norm.epsilon);
		int64_t group = i % g->groups;

		for (int64_t j = 0; j < g->channels; j++) {
			int64_t at = g->by_group ? group : group * g->channels + j;

			cnn_normalize(x + j * g->map, y + j * g->map, g->map, (float)m.mean,
				      (float)(scale[at] * m.inverse), bias[at]);
		}
	}
}

int cnn_compute_group_norm(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct group_call g = { .c = c, .map = 1 };

	if (!cnn_tensor_count(x))
		return CNN_OK;
	g.groups = is_group(c) ? c->node->params.norm.num_groups : x->dims[1];
	g.channels = x->dims[1] / g.groups;
	g.by_group = is_group(c) && c->node->opset < 21;
	for (int i = 2; i < x->rank; i++)
		g.map *= x->dims[i];
	cnn_for_blocks(c, x->dims[0] * g.groups, 1 + CNN_BLOCK / (g.channels * g.map), some_groups,
		       &g);
	return CNN_OK;
}
