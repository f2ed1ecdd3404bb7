// SPDX-License-Identifier: MIT
/* Weights of convolutions, packed for the weight banks of core ccp. */
#include "conv.h"

int64_t ccpc_average_weights(const struct ccpc_conv *v)
{
	return v->kh * v->kw * v->kh * v->kw;
}

struct ccpc_chunk_shape ccpc_chunk_shape_of(const struct ccpc_conv *v)
{
	int64_t co = v->block ? v->co : v->weight_co;
	struct ccpc_chunk_shape k = {
		.banks = (int)cnn_min(co, CNNACC_CCP_WEIGHT_BANKS),
		.quads = cnn_div_up(co, CNNACC_CCP_WEIGHT_BANKS),
		.channels = v->slice ? v->slice : v->ci,
	};
	int64_t groups = v->block ? v->block : 1;

	if (v->average) {
		k.lines = cnn_div_up(ccpc_average_weights(v), CCPC_LINE_FLOATS);
		return k;
	}
	k.bias = groups * k.quads * k.channels * v->kh * v->kw;
	k.ones = k.bias + groups * k.quads;
	k.lines = cnn_div_up(k.ones + (v->adds ? 2 : 0), CCPC_LINE_FLOATS);
	return k;
}

/* Output channels o0..o1-1 and input channels c0..c1-1 of group g, as number nth of a chunk. */
struct pack_part {
	int64_t nth, g, o0, o1, c0, c1;
};

static void pack(const struct ccpc_conv *v, const struct ccpc_chunk_shape *k, float *data,
		 const struct pack_part *p)
{
	int64_t taps = v->kh * v->kw, bank_floats = k->lines * CCPC_LINE_FLOATS;

	for (int64_t o = p->o0; o < p->o1; o++) {
		int64_t quad = (o - p->o0) / CNNACC_CCP_WEIGHT_BANKS;
		float *bank = data + (o - p->o0) % CNNACC_CCP_WEIGHT_BANKS * bank_floats;
		float *w = bank + (p->nth * k->quads * k->channels + quad * (p->c1 - p->c0)) * taps;

		for (int64_t c = p->c0; c < p->c1; c++)
			for (int64_t t = 0; t < taps; t++)
				*w++ = ccpc_weight(&v->w, p->g * v->co + o, c, t);
		if (v->w.bias)
			bank[k->bias + p->nth * k->quads + quad] =
				ccpc_bias(&v->w, p->g * v->co + o);
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
	return v->groups * cnn_div_up(v->co, v->weight_co) * ccpc_slice_count(v);
}

int64_t ccpc_chunk_index(const struct ccpc_conv *v, int64_t g, int64_t o, int64_t slice)
{
	return (g * cnn_div_up(v->co, v->weight_co) + o / v->weight_co) * ccpc_slice_count(v) +
	       slice;
}

struct ccpc_weight_chunk ccpc_chunk_at(const struct ccpc_node *n, int64_t index)
{
	const struct ccpc_chunk_shape k = ccpc_chunk_shape_of(&n->conv);

	return (struct ccpc_weight_chunk){ n->weight_line + index * ccpc_chunk_lines(&k), k.lines,
					   k.banks, n->node };
}

static void pack_average(const struct ccpc_conv *v, float *data)
{
	int64_t taps = v->kh * v->kw;

	for (int64_t rows = 1; rows <= v->kh; rows++)
		for (int64_t columns = 1; columns <= v->kw; columns++)
			for (int64_t t = 0; t < taps; t++)
				*data++ = (float)(1.0 / (double)(rows * columns));
}

/* Packs the chunks of one group, if groups are not computed in blocks. */
static void pack_group(const struct ccpc_conv *v, const struct ccpc_chunk_shape *k, float *data,
		       int64_t g)
{
	int64_t chunk_floats = ccpc_chunk_lines(k) * CCPC_LINE_FLOATS;

	for (int64_t o = 0; o < v->co; o += v->weight_co) {
		for (int64_t s = 0; s < ccpc_slice_count(v); s++) {
			const struct pack_part p = {
				.g = g, .o0 = o, .o1 = cnn_min(o + v->weight_co, v->co),
				.c0 = s * k->channels, .c1 = cnn_min((s + 1) * k->channels, v->ci),
			};

			pack(v, k, data + ccpc_chunk_index(v, g, o, s) * chunk_floats, &p);
		}
	}
}

void ccpc_pack(const struct ccpc_conv *v, const struct ccpc_chunk_shape *k, float *data)
{
	int64_t chunk_floats = ccpc_chunk_lines(k) * CCPC_LINE_FLOATS;

	if (v->average) {
		pack_average(v, data);
		return;
	}
	for (int64_t g = 0; g < v->groups; g++) {
		const struct pack_part p = {
			.nth = v->block ? g % v->block : 0, .g = g, .o1 = v->co, .c1 = v->ci,
		};

		if (v->block)
			pack(v, k, data + g / v->block * chunk_floats, &p);
		else
			pack_group(v, k, data, g);
	}
}
