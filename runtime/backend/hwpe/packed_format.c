// SPDX-License-Identifier: MIT
/* Formats of few values. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "packed_format.h"

static const struct {
	const char *name;
	int most;
} formats[CNN_CODES_COUNT] = {
	[CNN_CODES_NONE] = { "INT8", 127 },
	[CNN_CODES_EXP4] = { "EXP4", 64 },
	[CNN_CODES_TER2] = { "TER2", 1 },
};

const char *cnn_codes_name(enum cnn_codes f)
{
	return formats[f].name;
}

int cnn_codes_most(enum cnn_codes f)
{
	return formats[f].most;
}

bool cnn_codes_find(const char *name, enum cnn_codes *f)
{
	for (int i = 0; i < CNN_CODES_COUNT; i++) {
		if (!strcmp(formats[i].name, name)) {
			*f = (enum cnn_codes)i;
			return true;
		}
	}
	return false;
}

/* ---- which values a tensor holds ------------------------------------------------------- */

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
		return cnn_codes_find(cnn_node_str(n, "format", ""), &f) ? f : CNN_CODES_NONE;
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
			cnn_codes_of(t->data, cnn_tensor_count(t)) : CNN_CODES_NONE;
	}
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];
		enum cnn_codes f = codes_of_node(n, of);

		for (int k = 0; k < n->n_out; k++)
			if (n->out[k] >= 0)
				of[n->out[k]] = f;
	}
}

/* ---- values and codes ------------------------------------------------------------------ */

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

void cnn_codes_quantize(enum cnn_codes f, const float *x, float scale, float zero, int8_t *y,
			int64_t n)
{
	if (f == CNN_CODES_EXP4)
		quantize_exp4(x, scale, zero, y, n);
	else
		quantize_ter2(x, scale, zero, y, n);
}

static unsigned int code_of(enum cnn_codes f, int8_t value)
{
	unsigned int most = value < 0 ? -value : value;

	if (f == CNN_CODES_NONE)
		return (uint8_t)value;
	if (!most)
		return 0;
	return f == CNN_CODES_TER2 ? (value < 0 ? 3 : 1) :
	       (unsigned int)(1 + __builtin_ctz(most)) | (value < 0 ? 8 : 0);
}

void cnn_codes_pack(enum cnn_codes f, const int8_t *values, int64_t stride, int64_t n,
		    uint8_t *to)
{
	int bits = cnn_codes_bits(f);

	for (int64_t i = 0; i < n; to++) {
		unsigned int byte = 0;

		for (int at = 0; at < 8 && i < n; at += bits, i++)
			byte |= code_of(f, values[i * stride]) << at;
		*to = (uint8_t)byte;
	}
}

uint8_t cnn_codes_fill(enum cnn_codes f, int8_t value)
{
	const int8_t same[4] = { value, value, value, value };
	uint8_t byte;

	cnn_codes_pack(f, same, 1, 8 / cnn_codes_bits(f), &byte);
	return byte;
}
