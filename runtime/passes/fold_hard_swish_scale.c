// SPDX-License-Identifier: MIT
/*
 * Pass: fold the scale and shift of a HardSwish into the Convs that read it, and its division by
 * six too, which leaves one product per element. With padding the shift is not folded, since the
 * zeros of the padding are not shifted.
 */
#include <math.h>

#include "merge.h"

/* y = scale * (6 HardSwish(x) + shift) */
struct scaling {
	float scale, shift;
};

static bool get_scaling(const struct cnn_node *n, struct scaling *s)
{
	bool affine = n->act.kind == CNN_ACT_AFFINE;

	if (n->op != CNN_OP_HARD_SWISH || (!affine && n->act.kind != CNN_ACT_NONE))
		return false;
	s->scale = (affine ? n->act.a : 1) / 6;
	s->shift = affine ? n->act.b / s->scale : 0;
	return isnormal(s->scale) && isfinite(s->shift);
}

/* Is n a Conv of value v with constant float weights and bias? */
static bool takes_scaling(const struct cnn_graph *g, const struct cnn_node *n, int v)
{
	const struct cnn_tensor *bias = cnn_node_in(g, n, 2);

	if (n->op != CNN_OP_CONV || n->in[0] != v || !cnn_is_const(cnn_node_in(g, n, 1)) ||
	    (bias && !cnn_is_const(bias)) || !cnn_tensor_count(cnn_node_in(g, n, 1)))
		return false;
	for (int i = 1; i < n->n_in; i++)
		if (n->in[i] == v)
			return false;
	return cnn_node_out(g, n, 0)->rank > 1;
}

static bool has_padding(const struct cnn_graph *g, const struct cnn_node *n)
{
	struct cnn_window w;

	return cnn_node_window(g, n, &w, NULL) || cnn_window_is_padded(&w);
}

/* Multiplies the weights by scale, and adds what the shift contributes to the bias. */
static int scale_conv(struct cnn_pass *f, struct cnn_node *n, float scale, float shift)
{
	const struct cnn_tensor *t = cnn_node_in(f->g, n, 1);
	int64_t channels = t->dims[0], taps = cnn_tensor_count(t) / channels;
	float *w, *bias = NULL;
	int ret = cnn_merge_own_weights(f, n, &w);

	if (!ret && shift != 0)
		ret = cnn_merge_own_bias(f, n, channels, &bias);
	for (int64_t c = 0; c < channels && !ret; c++) {
		double sum = 0;

		for (int64_t i = c * taps; i < (c + 1) * taps; i++) {
			w[i] *= scale;
			sum += w[i];
		}
		if (bias)
			bias[c] += (float)(shift * sum);
	}
	return ret;
}

int cnn_pass_fold_hard_swish_scale(struct cnn_pass *f, int number)
{
	struct cnn_node *n = &f->g->nodes[number];
	const struct cnn_value *v = &f->g->values[n->out[0]];
	int readers = v->n_consumers, ret = CNN_OK;
	bool padded = false;
	struct scaling s;

	if (!get_scaling(n, &s) || v->is_output)
		return CNN_OK;
	for (int i = 0; i < readers; i++) {
		const struct cnn_node *conv = &f->g->nodes[v->consumers[i]];

		if (!takes_scaling(f->g, conv, n->out[0]))
			return CNN_OK;
		padded |= has_padding(f->g, conv);
	}
	for (int i = 0; i < readers && !ret; i++) /* adding constants may move the values */
		ret = scale_conv(f, &f->g->nodes[f->g->values[n->out[0]].consumers[i]], s.scale,
				 padded ? 0 : s.shift);
	n->act = (struct cnn_act){ CNN_ACT_AFFINE, 6, padded ? s.shift : 0 };
	f->g->values[n->out[0]].rewritten = true;
	return ret;
}
