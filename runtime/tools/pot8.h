/* SPDX-License-Identifier: MIT */
/*
 * cnnquant --format POT8: a network of int8 whose requantisation is a shift.  Layers and what lies
 * between them become integer operators:
 *
 *	QuantizeLinear -> ConvInteger -> ShiftRequantize -> ... -> DequantizeLinear
 *
 * A value is scale times (integer less zero).  The ratio of two scales is in the weights, so any
 * scale will do; what is added has one scale, what is multiplied powers of two.
 */
#ifndef POT8_H
#define POT8_H

#include "cnnquant.h"

/* What becomes of a node. */
enum pot8_kind {
	POT8_FLOAT,	/* it stays */
	POT8_GONE,	/* part of the node before it: Relu, or Clip from 0 */
	POT8_LAYER,	/* Conv, Gemm, MatMul: ConvInteger or MatMulInteger, and ShiftRequantize */
	POT8_MEAN,	/* AveragePool: ConvInteger of equal weights, and ShiftRequantize */
	POT8_SCALE,	/* BatchNormalization: ShiftRequantize with times */
	POT8_TABLE,	/* a function of one number: SegmentedLinear */
	POT8_ADD,	/* SaturatingAdd */
	POT8_MUL,	/* ShiftRequantize of two maps */
	POT8_MOVE,	/* the same operator on int8 */
};

struct pot8_node {
	enum pot8_kind kind;
	int out;		/* value that it makes, with the Relu behind it */
	bool relu;
};

struct pot8_value {
	float low, high;	/* over all samples */
	int same, scale_group;	/* values of one scale and zero, of one scale: index of another */
	/* Of the value that stands for its group. */
	bool added, multiplied;	/* a term or a sum, a factor or a product */
	float scale;
	int zero;
	int codes;		/* its int8 in the new graph, or -1 */
	int map;		/* that this flat vector was, to be read by a kernel as large; or -1 */
	bool is_int8;		/* a node makes it as int8 */
	bool has_float;		/* it is there as a float */
};

struct pot8 {
	struct quantizer *q;
	struct pot8_node *node;
	struct pot8_value *value;
	int n_values;
	bool show;		/* print each layer */
};

/* Scale and zero of a value. */
float pot8_scale(const struct pot8 *p, int value);
int pot8_zero(const struct pot8 *p, int value);

/* pot8_plan.c: what becomes of each node; groups of values, and their scales after the samples. */
int pot8_plan(struct pot8 *p);
int pot8_choose_scales(struct pot8 *p);
/* pot8_ranges.c: runs the samples. */
int pot8_find_ranges(struct pot8 *p, int64_t count);

/* Weights of an output channel: round(w * ratio * 2^shift), at most 127; returns the shift. */
int pot8_weight_shift(double most);
/* pot8_fit.c: y = f(x) in 16 segments.  wanted: f of -128..127 in units of y, with its zero. */
void pot8_fit_table(const double wanted[256], uint32_t table[16]);
/* Elements of a mean of n: weight and shift, so that *weight / 2^shift is near ratio. */
int pot8_mean_weight(double ratio, int *weight);

/* pot8_write.c: the new graph. */
int pot8_write(struct pot8 *p);

/* All of it, with the first count samples; show: prints what has become of each layer. */
int pot8_quantize(struct quantizer *q, int64_t count, bool show);

#endif
