// SPDX-License-Identifier: MIT
/* Formats of few values. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "packed_format.h"

extern const struct cnn_packed_format cnn_packed_hwpe[];

enum cnn_codes cnn_codes_of(const int8_t *values, int64_t n)
{
	enum cnn_codes f = CNN_CODES_TER2;

	for (int64_t i = 0; i < n; i++) {
		unsigned int most = values[i] < 0 ? -values[i] : values[i];

		if (most > 64 || most & (most - 1))
			return CNN_CODES_NONE;
		if (most > 1)
			f = CNN_CODES_EXP4;
	}
	return f;
}

/* Does it give nothing but elements of its inputs? inputs: those that have them. */
static bool only_moves(const struct cnn_node *n, int *inputs)
{
	*inputs = n->op == CNN_OP_CONCAT ? n->n_in : 1;
	switch (n->op) {
	case CNN_OP_CONCAT:
	case CNN_OP_CONVERT_LAYOUT:
	case CNN_OP_FLATTEN:
	case CNN_OP_IDENTITY:
	case CNN_OP_RESHAPE:
	case CNN_OP_SPLIT:
	case CNN_OP_SQUEEZE:
	case CNN_OP_TRANSPOSE:
	case CNN_OP_UNSQUEEZE:
		return n->act.kind == CNN_ACT_NONE;
	default:
		return false;
	}
}

static enum cnn_codes codes_of_node(const struct cnn_node *n, const enum cnn_codes *of)
{
	enum cnn_codes f = CNN_CODES_COUNT - 1;
	int inputs;

	if (n->op == CNN_OP_QUANTIZE_CODES)
		return (enum cnn_codes)n->params.codes.format;
	if (!only_moves(n, &inputs))
		return CNN_CODES_NONE;
	for (int i = 0; i < inputs; i++)
		if (n->in[i] < 0 || of[n->in[i]] < f)
			f = n->in[i] < 0 ? CNN_CODES_NONE : of[n->in[i]];
	return f;
}

void cnn_graph_codes(const struct cnn_graph *g, enum cnn_codes *of)
{
	for (int v = 0; v < g->n_values; v++) {
		const struct cnn_tensor *t = &g->values[v].t;

		of[v] = t->data && t->dtype == CNN_INT8 ?
				cnn_codes_of(t->data, cnn_tensor_count(t)) :
				CNN_CODES_NONE;
	}
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];
		enum cnn_codes f = codes_of_node(n, of);

		for (int k = 0; k < n->n_out; k++)
			if (n->out[k] >= 0)
				of[n->out[k]] = f;
	}
}

/*
 * 1.5 2^k is half-way between two powers of two and the largest that is rounded down: what is
 * added to the bits of a float carries into its exponent from the next float on.
 */
CNN_CLONES
static void quantize_exp4(const float *x, float scale, float zero, int8_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float v = x[i] / scale + zero, a = fabsf(v) < 64 ? fabsf(v) : 64;
		int32_t e, m;

		memcpy(&e, &a, sizeof(e));
		e = ((e + 0x3fffff) >> 23) - 127;
		m = fabsf(v) > 0.5f ? 1 << (e > 0 ? e : 0) : 0;
		y[i] = (int8_t)(v < 0 ? -m : m);
	}
}

CNN_CLONES
static void quantize_ter2(const float *x, float scale, float zero, int8_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float v = x[i] / scale + zero;

		y[i] = (int8_t)((v > 0.5f) - (v < -0.5f));
	}
}

static unsigned int encode_exp4(int8_t value)
{
	unsigned int most = value < 0 ? -value : value;

	return most ? (unsigned int)(1 + __builtin_ctz(most)) | (value < 0 ? 8 : 0) : 0;
}

static unsigned int encode_ter2(int8_t value)
{
	return value ? value < 0 ? 3 : 1 : 0;
}

const struct cnn_packed_format cnn_packed_hwpe[] = {
	[CNN_CODES_EXP4 - 1] = { .name = "EXP4", .core = "hwpe", .bits = 4, .largest = 64,
				 .encode = encode_exp4, .quantize = quantize_exp4 },
	[CNN_CODES_TER2 - 1] = { .name = "TER2", .core = "hwpe", .bits = 2, .largest = 1,
				 .shifts_zero = true, .encode = encode_ter2,
				 .quantize = quantize_ter2 },
	{ .name = NULL }
};

const struct cnn_packed_format *cnn_codes_format(enum cnn_codes f)
{
	return &cnn_packed_hwpe[f - 1];
}
