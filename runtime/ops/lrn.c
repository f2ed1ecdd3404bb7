// SPDX-License-Identifier: MIT
/* LRN: local response normalisation across channels. */
#include "ops.h"

int cnn_infer_lrn(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (!ret && x->rank < 2)
		ret = cnn_op_fail(c, CNN_EINVAL, "%d axes, 2 or more wanted", x->rank);
	if (!ret && c->node->params.lrn.size < 1)
		ret = cnn_op_fail(c, CNN_EINVAL, "attribute size is %lld, 1 or more wanted",
				  (long long)c->node->params.lrn.size);
	return ret ? ret : cnn_infer_like(c, x);
}

struct lrn_call {
	const struct cnn_call *c;
	int64_t channels, map;		/* elements of a channel */
};

/* One channel of one image: its neighbours are size - 1 channels, more after it than before. */
static void one_channel(const struct lrn_call *l, int64_t channel, const float *image, float *y)
{
	const struct cnn_lrn_params *p = &l->c->node->params.lrn;
	int64_t before = (p->size - 1) / 2, after = p->size - 1 - before;
	int64_t first = channel > before ? channel - before : 0;
	int64_t last = after < l->channels - channel ? channel + after :
		       l->channels - 1;
	double share = p->alpha / (double)p->size;

	for (int64_t i = 0; i < l->map; i++) {
		double squares = 0;

		for (int64_t j = first; j <= last; j++) {
			double v = image[j * l->map + i];

			squares += v * v;
		}
		y[i] = (float)(image[channel * l->map + i] /
			       cnn_pow(p->bias + share * squares, p->beta));
	}
}

static void some_channels(const void *arg, int64_t first, int64_t n)
{
	const struct lrn_call *l = arg;
	const float *x = l->c->in[0]->data;
	float *y = l->c->out[0]->data;

	for (int64_t i = first; i < first + n; i++)
		one_channel(l, i % l->channels, x + i / l->channels * l->channels * l->map,
			    y + i * l->map);
}

int cnn_compute_lrn(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct lrn_call l = { .c = c, .channels = x->dims[1], .map = 1 };

	if (!cnn_tensor_count(x))
		return CNN_OK;
	for (int i = 2; i < x->rank; i++)
		l.map *= x->dims[i];
	cnn_for_blocks(c, x->dims[0] * l.channels, 1 + CNN_BLOCK / l.map, some_channels, &l);
	return CNN_OK;
}
