// SPDX-License-Identifier: MIT
/* Weights of convolutions as the weight banks of core ccp want them. */
#include "conv.h"

int64_t ccpc_average_weights(const struct ccpc_conv *v)
{
	return v->kh * v->kw * v->kh * v->kw;
}

struct chunk ccpc_chunk_shape(const struct ccpc_conv *v)
{
	int64_t co = v->block ? v->co : v->weight_co;
	struct chunk k = {
		.banks = (int)cnn_min(co, CNNACC_CCP_WEIGHT_BANKS),
		.quads = cnn_div_up(co, CNNACC_CCP_WEIGHT_BANKS),
		.channels = v->slice ? v->slice : v->ci,
	};
	int64_t groups = v->block ? v->block : 1;

	if (v->average) {
		k.lines = cnn_div_up(ccpc_average_weights(v), LINE_FLOATS);
		return k;
	}
	k.bias = groups * k.quads * k.channels * v->kh * v->kw;
	k.ones = k.bias + groups * k.quads;
	k.lines = cnn_div_up(k.ones + (v->adds ? 2 : 0), LINE_FLOATS);
	return k;
}

/* Output channels o0..o1-1 of group g (input channels c0..c1-1) as number nth of a chunk. */
static void pack(const struct ccpc_conv *v, const struct chunk *k, float *data, int64_t nth,
		 int64_t g, int64_t o0, int64_t o1, int64_t c0, int64_t c1)
{
	int64_t taps = v->kh * v->kw;

	for (int64_t o = o0; o < o1; o++) {
		int64_t quad = (o - o0) / CNNACC_CCP_WEIGHT_BANKS;
		float *bank = data + (o - o0) % CNNACC_CCP_WEIGHT_BANKS * k->lines * LINE_FLOATS;
		float *w = bank + (nth * k->quads * k->channels + quad * (c1 - c0)) * taps;

		for (int64_t c = c0; c < c1; c++)
			for (int64_t t = 0; t < taps; t++)
				*w++ = ccpc_weight(&v->w, g * v->co + o, c, t);
		if (v->w.bias)
			bank[k->bias + nth * k->quads + quad] = ccpc_bias(&v->w, g * v->co + o);
	}
	for (int i = 0; i < 2 && v->adds; i++)
		data[k->ones + i] = 1;
}

int64_t ccpc_chunk_count(const struct ccpc_conv *v)
{
	if (v->average)
		return 1;
	if (v->block)
		return cnn_div_up(v->groups, v->block);
	return v->groups * cnn_div_up(v->co, v->weight_co) * slice_count(v);
}

int64_t ccpc_chunk_index(const struct ccpc_conv *v, int64_t g, int64_t o, int64_t slice)
{
	return (g * cnn_div_up(v->co, v->weight_co) + o / v->weight_co) * slice_count(v) + slice;
}

struct ccpc_chunk ccpc_chunk_at(const struct ccpc_node *n, int64_t index)
{
	const struct chunk k = ccpc_chunk_shape(&n->conv);

	return (struct ccpc_chunk){
		n->weight_line + index * chunk_lines(&k),
		k.lines,
		k.banks,
		n->node,
	};
}

static void pack_average(const struct ccpc_conv *v, float *data)
{
	int64_t taps = v->kh * v->kw;

	for (int64_t rows = 1; rows <= v->kh; rows++)
		for (int64_t columns = 1; columns <= v->kw; columns++)
			for (int64_t t = 0; t < taps; t++)
				*data++ = (float)(1.0 / (double)(rows * columns));
}

void ccpc_pack(const struct ccpc_conv *v, const struct chunk *k, float *data)
{
	int64_t step = chunk_lines(k) * LINE_FLOATS;

	if (v->average) {
		pack_average(v, data);
		return;
	}

	for (int64_t g = 0; g < v->groups; g++) {
		if (v->block) {
			pack(v, k, data + g / v->block * step, g % v->block, g, 0, v->co, 0, v->ci);
			continue;
		}
		for (int64_t o = 0; o < v->co; o += v->weight_co)
			for (int64_t s = 0; s < slice_count(v); s++)
				pack(v, k, data + ccpc_chunk_index(v, g, o, s) * step, 0, g, o,
				     cnn_min(o + v->weight_co, v->co), s * k->channels,
				     cnn_min((s + 1) * k->channels, v->ci));
	}
}
