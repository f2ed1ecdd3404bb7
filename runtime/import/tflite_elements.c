// SPDX-License-Identifier: MIT
/* TensorFlow Lite's operators of elements as nodes. */
#include <math.h>
#include <string.h>

#include "ops/quant.h"
#include "tflite_ops.h"

/*
 * An operand of an operator whose result has that many dimensions: in NCHW if these are four, with
 * dimensions of 1 in front if it has fewer.
 */
static int operand(struct tfl *m, const struct tfl_op *op, int tensor, int rank)
{
	static const int64_t to_nchw[] = { 0, 3, 1, 2 };
	const struct tfl_tensor *t = &m->tensors[tensor];
	int64_t dims[4] = { 1, 1, 1, 1 };
	int v = tfl_value(m, op, tensor, rank == 4 ? TFL_NCHW : TFL_FILE);

	if (rank != 4 || t->rank >= 4 || t->rank == 0)
		return v;
	for (int i = 0; i < t->rank; i++)
		dims[4 - t->rank + i] = t->dims[i];
	v = tfl_reshape(m, op, v, dims, 4);
	v = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &v);
	tfl_permute(m, to_nchw);
	return v;
}

/* The larger number of dimensions of both operands, which is the result's. */
static int result_rank(struct tfl *m, const struct tfl_op *op)
{
	int a = m->tensors[op->in[0]].rank, b = m->tensors[op->in[1]].rank, rank = a < b ? b : a;

	tfl_want_rank(m, op, op->out, rank);
	return rank;
}

/* ADD of int16 whose three scales are powers of two. Option: that may be made use of. */
static bool are_shifted(const struct tfl *m, const struct tfl_op *op)
{
	const int tensors[] = { op->in[0], op->in[1], op->out };
	int exponent;

	if (m->status || tfl_type(m, op->in[0]) != CNN_INT16 || !fb_int(&op->options, 1, 1, 1))
		return false;
	for (int i = 0; i < 3; i++)
		if (!cnn_near_power(tfl_first_scale(m, tensors[i]), &exponent))
			return false;
	return true;
}

/* The node of a quantised operator of two operands. */
static int quantised_pair(struct tfl *m, const struct tfl_op *op, enum cnn_op kind, int x, int y)
{
	int a = op->in[0], b = op->in[1];
	const int in[] = {
		x, tfl_scale(m, op, a), tfl_zero(m, op, a),
		y, tfl_scale(m, op, b), tfl_zero(m, op, b),
		tfl_scale(m, op, op->out), tfl_zero(m, op, op->out),
	};

	x = tfl_node(m, op, kind, 8, in);
	if (kind == CNN_OP_QLINEAR_ADD && are_shifted(m, op))
		tfl_params(m)->product.multiplier_bits = 0;
	return x;
}

struct pair_kind {
	int code;
	enum cnn_op real, quantised;
};

/*
 * ADD, SUB and MUL: XNNPACK's, if they are quantised. MAXIMUM and MINIMUM of tensors quantised
 * alike are those of their bytes. The others are of floats and integers.
 */
void tfl_make_pair(struct tfl *m, const struct tfl_op *op)
{
	static const struct pair_kind kinds[] = {
		{ ADD, CNN_OP_ADD, CNN_OP_QLINEAR_ADD }, { SUB, CNN_OP_SUB, CNN_OP_QLINEAR_SUB },
		{ MUL, CNN_OP_MUL, CNN_OP_QLINEAR_MUL }, { DIV, CNN_OP_DIV, CNN_OP_UNKNOWN },
		{ MAXIMUM, CNN_OP_MAX, CNN_OP_MAX }, { MINIMUM, CNN_OP_MIN, CNN_OP_MIN },
		{ POW, CNN_OP_POW, CNN_OP_UNKNOWN }, { LOGICAL_AND, CNN_OP_AND, CNN_OP_UNKNOWN },
		{ LOGICAL_OR, CNN_OP_OR, CNN_OP_UNKNOWN },
	};
	int rank = result_rank(m, op), x = operand(m, op, op->in[0], rank);
	int y = operand(m, op, op->in[1], rank), v;
	const struct pair_kind *k = kinds;
	bool order = op->kind->code == MAXIMUM || op->kind->code == MINIMUM;

	for (int i = 0; i < 2 && order; i++)
		tfl_want_same(m, op, op->in[i]);
	while (k->code != op->kind->code)
		k++;
	if (!k->quantised)
		tfl_want_plain(m, op);
	if (order || !tfl_is_quantised(m, op->in[0]))
		v = tfl_node(m, op, k->real, 2, (const int[]){ x, y });
	else
		v = quantised_pair(m, op, k->quantised, x, y);
	tfl_give_act(m, op, rank == 4 ? TFL_NCHW : TFL_FILE, fb_int(&op->options, 0, 1, 0),
		     BOUND_XNNPACK, v);
}

/* fmod(a, b) with the sign of b. A rounded quotient would not do: a / b may have 24 bits or more. */
static int floor_mod(struct tfl *m, const struct tfl_op *op, const int *in)
{
	int v = tfl_node(m, op, CNN_OP_MOD, 2, in), zero = tfl_float(m, 0), below[2], wrong[2];

	tfl_params(m)->mod.fmod = true;
	below[0] = tfl_node(m, op, CNN_OP_LESS, 2, (const int[]){ v, zero });
	below[1] = tfl_node(m, op, CNN_OP_LESS, 2, (const int[]){ in[1], zero });
	wrong[0] = tfl_node(m, op, CNN_OP_XOR, 2, below);
	wrong[1] = tfl_node(m, op, CNN_OP_EQUAL, 2, (const int[]){ v, zero });
	wrong[1] = tfl_node(m, op, CNN_OP_NOT, 1, &wrong[1]);
	wrong[0] = tfl_node(m, op, CNN_OP_AND, 2, wrong);
	wrong[1] = tfl_node(m, op, CNN_OP_ADD, 2, (const int[]){ v, in[1] });
	return tfl_node(m, op, CNN_OP_WHERE, 3, (const int[]){ wrong[0], wrong[1], v });
}

/* Of floats: floor(a / b). Of integers: what remains of a quotient has the sign of b. */
void tfl_make_floor_div(struct tfl *m, const struct tfl_op *op)
{
	bool whole = !tfl_is_float(m, op), modulo = op->kind->code == FLOOR_MOD;
	int rank = result_rank(m, op);
	int in[] = { operand(m, op, op->in[0], rank), operand(m, op, op->in[1], rank) }, v = -1;

	tfl_want_plain(m, op);
	if (whole) {
		v = tfl_node(m, op, CNN_OP_MOD, 2, in);
		if (!modulo)
			v = tfl_node(m, op, CNN_OP_DIV, 2, (const int[]){
				tfl_node(m, op, CNN_OP_SUB, 2, (const int[]){ in[0], v }), in[1] });
	} else if (modulo) {
		v = floor_mod(m, op, in);
	} else {
		v = tfl_node(m, op, CNN_OP_DIV, 2, in);
		v = tfl_node(m, op, CNN_OP_FLOOR, 1, &v);
	}
	tfl_give(m, op, rank == 4 ? TFL_NCHW : TFL_FILE, v);
}

/* SQUARE and, of two operands, SQUARED_DIFFERENCE: of floats and integers. */
void tfl_make_square(struct tfl *m, const struct tfl_op *op)
{
	bool difference = op->kind->code == SQUARED_DIFFERENCE;
	int rank = difference ? result_rank(m, op) : m->tensors[op->in[0]].rank;
	int in[2] = { operand(m, op, op->in[0], rank) };

	tfl_want_rank(m, op, op->out, rank);
	tfl_want_plain(m, op);
	if (difference) {
		in[1] = operand(m, op, op->in[1], rank);
		in[0] = tfl_node(m, op, CNN_OP_SUB, 2, in);
	}
	in[1] = in[0];
	tfl_give(m, op, rank == 4 ? TFL_NCHW : TFL_FILE, tfl_node(m, op, CNN_OP_MUL, 2, in));
}

/*
 * What a comparison compares of an operand: its numbers; of a quantised one, as TensorFlow Lite's
 * own kernel does, 256 times the real number as an integer; of bytes without a scale, int32.
 */
static int comparable(struct tfl *m, const struct tfl_op *op, int tensor, int v)
{
	enum cnn_dtype type = tfl_type(m, tensor);

	if (tfl_is_quantised(m, tensor))
		return tfl_node(m, op, CNN_OP_LOOKUP, 2,
				(const int[]){ v, tfl_order_table(m, op, tensor) });
	if (type == CNN_INT8 || type == CNN_UINT8) {
		v = tfl_node(m, op, CNN_OP_CAST, 1, &v);
		tfl_params(m)->cast.to = CNN_INT32;
	}
	return v;
}

void tfl_make_compare(struct tfl *m, const struct tfl_op *op)
{
	const struct { int code; enum cnn_op kind; } kinds[] = {
		{ EQUAL, CNN_OP_EQUAL }, { NOT_EQUAL, CNN_OP_EQUAL }, { LESS, CNN_OP_LESS },
		{ LESS_EQUAL, CNN_OP_LESS_OR_EQUAL }, { GREATER, CNN_OP_GREATER },
		{ GREATER_EQUAL, CNN_OP_GREATER_OR_EQUAL },
	}, *k = kinds;
	int rank = result_rank(m, op), in[2], v;

	while (k->code != op->kind->code)
		k++;
	if (tfl_type(m, op->out) != CNN_BOOL)
		tfl_fail(m, op, CNN_EINVAL, "its output is %s, bool wanted",
			 cnn_dtype_name(tfl_type(m, op->out)));
	for (int i = 0; i < 2; i++)
		in[i] = comparable(m, op, op->in[i], operand(m, op, op->in[i], rank));
	v = tfl_node(m, op, k->kind, 2, in);
	if (k->code == NOT_EQUAL)
		v = tfl_node(m, op, CNN_OP_NOT, 1, &v);
	tfl_give(m, op, rank == 4 ? TFL_NCHW : TFL_FILE, v);
}

/* SELECT, whose condition may be one for each element of axis 0, and SELECT_V2. */
void tfl_make_select(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *c = &m->tensors[op->in[0]];
	int rank = m->tensors[op->out].rank, in[3];
	int64_t dims[CNN_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	for (int i = 1; i < 3; i++) {
		tfl_want_same(m, op, op->in[i]);
		if (m->tensors[op->in[i]].rank > rank)
			tfl_want_rank(m, op, op->in[i], rank);
	}
	in[0] = operand(m, op, op->in[0], rank);
	in[1] = operand(m, op, op->in[1], rank);
	in[2] = operand(m, op, op->in[2], rank);
	if (op->kind->code == SELECT && c->rank == 1 && rank > 1) {
		dims[0] = c->dims[0];
		in[0] = tfl_reshape(m, op, tfl_value(m, op, op->in[0], TFL_FILE), dims, rank);
	}
	tfl_give(m, op, rank == 4 ? TFL_NCHW : TFL_FILE, tfl_node(m, op, CNN_OP_WHERE, 3, in));
}

/* Of floats only: TensorFlow Lite has no other. */
void tfl_make_prelu(struct tfl *m, const struct tfl_op *op)
{
	int rank = result_rank(m, op);
	const int in[] = { operand(m, op, op->in[0], rank), operand(m, op, op->in[1], rank) };

	tfl_want_like(m, op);
	tfl_want_plain(m, op);
	tfl_give(m, op, rank == 4 ? TFL_NCHW : TFL_FILE, tfl_node(m, op, CNN_OP_PRELU, 2, in));
}

/* x over the root of the sum of the squares of its channels, which counts as 1e-6 at least. */
void tfl_make_l2_normalization(struct tfl *m, const struct tfl_op *op)
{
	bool map = m->tensors[op->in[0]].rank == 4;
	int x = tfl_value(m, op, op->in[0], TFL_NCHW), in[2];

	tfl_want_like(m, op);
	tfl_want_plain(m, op);
	in[0] = tfl_node(m, op, CNN_OP_REDUCE_L2, 1, &x);
	tfl_params(m)->reduce.axes.n = 1;
	tfl_params(m)->reduce.axes.v[0] = map ? 1 : -1;
	in[1] = tfl_float(m, 1e-6f);
	in[1] = tfl_node(m, op, CNN_OP_MAX, 2, in);
	in[0] = x;
	tfl_give_act(m, op, TFL_NCHW, fb_int(&op->options, 0, 1, 0), BOUND_TFLITE,
		     tfl_node(m, op, CNN_OP_DIV, 2, in));
}

/* exp(beta * x): a factor of floats, or of the scale. */
void tfl_make_softmax(struct tfl *m, const struct tfl_op *op)
{
	bool logs = op->kind->code == LOG_SOFTMAX;
	float beta = logs ? 1 : fb_float(&op->options, 0, 0);
	int v = tfl_value(m, op, op->in[0], TFL_FILE), in[4];

	tfl_want_like(m, op);
	if (tfl_is_float(m, op)) {
		if (beta != 1)
			v = tfl_node(m, op, CNN_OP_MUL, 2,
				     (const int[]){ v, tfl_float(m, beta) });
		v = tfl_node(m, op, logs ? CNN_OP_LOG_SOFTMAX : CNN_OP_SOFTMAX, 1, &v);
		tfl_params(m)->axis.axis = -1;
		tfl_give(m, op, TFL_FILE, v);
		return;
	}
	if (logs)
		tfl_want_plain(m, op);
	in[0] = v;
	in[1] = tfl_scale(m, op, op->in[0]);
	in[2] = tfl_scale(m, op, op->out);
	in[3] = tfl_zero(m, op, op->out);
	if (beta != 1 && !m->status)	/* TensorFlow Lite multiplies these as floats, too */
		in[1] = tfl_float(m, beta * tfl_first_scale(m, op->in[0]));
	tfl_give(m, op, TFL_FILE, tfl_node(m, op, CNN_OP_QLINEAR_SOFTMAX, 4, in));
}

/* From one quantisation to another: the factor of the elements has that many bits. */
static int requantise(struct tfl *m, const struct tfl_op *op, int x, int bits)
{
	const int in[] = {
		x, tfl_scale(m, op, op->in[0]), tfl_zero(m, op, op->in[0]),
		tfl_scale(m, op, op->out), tfl_zero(m, op, op->out),
	};
	int v = tfl_node(m, op, CNN_OP_REQUANTIZE, 5, in);

	tfl_params(m)->requantize.multiplier_bits = bits;
	return v;
}

void tfl_make_relu(struct tfl *m, const struct tfl_op *op)
{
	int64_t act = op->kind->code - RELU + ACT_RELU;	/* in the same order */
	enum tfl_layout layout = tfl_layout_of(m, op->in[0]);
	int v = tfl_value(m, op, op->in[0], layout);

	tfl_want_like(m, op);
	if (tfl_type(m, op->in[0]) == CNN_INT16)
		v = tfl_node(m, op, CNN_OP_LOOKUP, 2, (const int[]){ v, tfl_table(m, op) });
	else if (!tfl_is_float(m, op))
		v = requantise(m, op, v, 31);
	tfl_give_act(m, op, layout, act, BOUND_TFLITE, v);
}

/* LOGISTIC, TANH, HARD_SWISH, ELU and LEAKY_RELU are tables if quantised; others are of floats. */
void tfl_make_function(struct tfl *m, const struct tfl_op *op)
{
	enum tfl_layout layout = tfl_layout_of(m, op->in[0]);
	const struct { int code; enum cnn_op real; } kinds[] = {
		{ LOGISTIC, CNN_OP_SIGMOID }, { TANH, CNN_OP_TANH },
		{ HARD_SWISH, CNN_OP_HARD_SWISH }, { ELU, CNN_OP_ELU },
		{ LEAKY_RELU, CNN_OP_LEAKY_RELU }, { SQRT, CNN_OP_SQRT }, { EXP, CNN_OP_EXP },
		{ LOG, CNN_OP_LOG }, { ABS, CNN_OP_ABS }, { NEG, CNN_OP_NEG },
		{ FLOOR, CNN_OP_FLOOR }, { CEIL, CNN_OP_CEIL }, { ROUND, CNN_OP_ROUND },
		{ SIN, CNN_OP_SIN }, { COS, CNN_OP_COS }, { RSQRT, CNN_OP_SQRT },
		{ LOGICAL_NOT, CNN_OP_NOT },
	}, *k = kinds;
	int v = tfl_value(m, op, op->in[0], layout);

	tfl_want_like(m, op);
	while (k->code != op->kind->code)
		k++;
	if (tfl_is_quantised(m, op->in[0])) {
		v = tfl_node(m, op, CNN_OP_LOOKUP, 2, (const int[]){ v, tfl_table(m, op) });
	} else {
		v = tfl_node(m, op, k->real, 1, &v);
		if (k->real == CNN_OP_LEAKY_RELU)
			tfl_params(m)->unary.alpha = fb_float(&op->options, 0, 0);
		if (op->kind->code == RSQRT)
			v = tfl_node(m, op, CNN_OP_RECIPROCAL, 1, &v);
	}
	tfl_give(m, op, layout, v);
}

/* Numbers as they are in the file: scales have no part in it. */
void tfl_make_cast(struct tfl *m, const struct tfl_op *op)
{
	enum tfl_layout layout = tfl_layout_of(m, op->in[0]);
	int v = tfl_value(m, op, op->in[0], layout);

	tfl_want_like(m, op);
	v = tfl_node(m, op, CNN_OP_CAST, 1, &v);
	tfl_params(m)->cast.to = tfl_type(m, op->out);
	tfl_give(m, op, layout, v);
}

/* XNNPACK multiplies by the rounded reciprocal of the scale, where ONNX divides. */
static int quantise(struct tfl *m, const struct tfl_op *op, int x)
{
	int in[3] = { x }, zero = tfl_zero(m, op, op->out);

	if (m->status)
		return -1;
	in[1] = tfl_float(m, 1 / tfl_first_scale(m, op->out));
	in[0] = tfl_node(m, op, CNN_OP_MUL, 2, in);
	in[1] = tfl_float(m, 1);
	in[2] = zero;
	return tfl_node(m, op, CNN_OP_QUANTIZE_LINEAR, 3, in);
}

/* To int16, TensorFlow Lite's own: a quotient of doubles, halves away from zero. */
static int quantise_wide(struct tfl *m, const struct tfl_op *op, int x)
{
	int in[2] = { tfl_node(m, op, CNN_OP_CAST, 1, &x) };
	double scale;

	tfl_params(m)->cast.to = CNN_FLOAT64;
	tfl_scale(m, op, op->out);
	if (m->status)
		return -1;
	scale = (double)tfl_first_scale(m, op->out);
	in[1] = tfl_scalar(m, CNN_FLOAT64, &scale);
	return tfl_to_int16(m, op, tfl_node(m, op, CNN_OP_DIV, 2, in), CNN_FLOAT64);
}

void tfl_make_quantize(struct tfl *m, const struct tfl_op *op)
{
	enum tfl_layout layout = tfl_layout_of(m, op->in[0]);
	int x = op->in[0], v = tfl_value(m, op, x, layout);
	float ratio;

	tfl_want_like(m, op);
	if (tfl_is_float(m, op)) {
		v = tfl_type(m, op->out) == CNN_INT16 ? quantise_wide(m, op, v) :
							 quantise(m, op, v);
		tfl_give(m, op, layout, v);
		return;
	}
	if (tfl_type(m, x) == CNN_INT16 || tfl_type(m, op->out) == CNN_INT16) {
		v = tfl_node(m, op, CNN_OP_LOOKUP, 2, (const int[]){ v, tfl_table(m, op) });
		tfl_give(m, op, layout, v);
		return;
	}
	tfl_scale(m, op, x);
	tfl_scale(m, op, op->out);
	if (m->status)
		return;
	ratio = tfl_first_scale(m, x) / tfl_first_scale(m, op->out);
	v = requantise(m, op, v, tfl_type(m, x) == tfl_type(m, op->out) && ratio >= 0x1p-8f &&
			       ratio <= 0x1p7f ? 8 : 31);
	tfl_give(m, op, layout, v);
}

void tfl_make_dequantize(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]];
	enum tfl_layout layout = x->scale.count > 1 ? TFL_FILE : tfl_layout_of(m, op->in[0]);
	int in[3] = { tfl_value(m, op, op->in[0], layout) };

	tfl_want_like(m, op);
	if (tfl_type(m, op->out) != CNN_FLOAT32)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "its output is %s, float32 wanted",
			 cnn_dtype_name(tfl_type(m, op->out)));
	if (x->dtype == CNN_FLOAT16) {
		in[0] = tfl_node(m, op, CNN_OP_CAST, 1, in);
		tfl_params(m)->cast.to = CNN_FLOAT32;
	} else {
		in[1] = tfl_scale(m, op, op->in[0]);
		in[2] = tfl_zero(m, op, op->in[0]);
		in[0] = tfl_node(m, op, CNN_OP_DEQUANTIZE_LINEAR, 3, in);
		tfl_params(m)->axis.axis = x->axis;
	}
	tfl_give(m, op, layout, in[0]);
}
