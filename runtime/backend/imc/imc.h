/* SPDX-License-Identifier: MIT */
/*
 * Core imc: planes of stride 1, of bytes or FP32 (Documentation/hardware/imc.rst).
 *
 * A node becomes a convolution of maps whose channels touch, [n][H][W][C] in and [n][H][W][K] out,
 * in the arena as in the core's banks. Strides and dilations are in the strides of its planes, so
 * that one copy of an input serves all planes that read it. The results are the sums, int32 or
 * FP32; what else a node does with them is the CPU's (legalize.c).
 */
#ifndef IMCC_IMC_H
#define IMCC_IMC_H

#include <cnnacc_imc.h>

#include "backend/sequencer.h"

#define IMCC_BANKS		2	/* of each kind */
#define IMCC_RESULT_BYTES	4
#define IMCC_PLANES_MAX		256	/* of a tile, for each part of its channels */

/* What the discovery table says of a core. */
struct imcc_hw {
	int64_t cin_max, csus, n_max;
	bool full, fp32;
	int64_t input, weight, unit;	/* bytes of a bank */
	int64_t port;			/* bytes of an element in a clock */
	int64_t cin_limit, cout_limit;	/* of a plane */
	int64_t commands;		/* of a program */
	uint64_t cycles_max;
	char bad[CNN_REASON_LEN];	/* why this core gets no nodes; "": it is supported */
};

/*
 * One axis. Result o and tap k meet at input o * stride + k * dilation - pad. With
 * o = classes * q + a and k = phases * m + b that is
 *
 *	step * (q + m) + a * stride + b * dilation - pad:
 *
 * for each class a and phase b a convolution of stride 1 over every step-th input.
 *
 * Transposed, they meet where input * stride + k * dilation - pad = o. Then each class of results
 * has a phase of its own, whose taps are those that fall on inputs, in descending order:
 *
 *	input = step * (q + m) + what depends on the class, k = last - phases * m
 */
struct imcc_axis {
	int64_t in, out, kernel, stride, dilation, pad;
	bool transposed;
	int64_t classes, phases, step;
	int64_t class_input;		/* inputs from class to class of a phase */
	int64_t first_input;		/* the lowest that result 0 or those of its step may meet */
};

/* Elements from one group, output channel, input channel, row and column of the kernel to the next. */
struct imcc_weights {
	const void *data;
	int64_t group, k, c, y, x;
	bool is_unsigned;		/* uint8 */
	const struct cnn_tensor *zero;	/* subtracted from bytes; NULL: nothing is */
};

/* What is computed: the node as a convolution. Filled by match. */
struct imcc_conv {
	int in, out;			/* values */
	struct cnn_layout ifm, ofm;	/* in the arena */
	int64_t ofm_bytes;
	bool product;			/* a matrix product: rows of the left matrix are columns */
	int64_t batch, groups, ci, co;	/* ci, co: channels of one group */
	struct imcc_axis y, x;
	struct imcc_weights weights;
	uint32_t format;		/* enum cnnacc_imc_format */
	int64_t size;			/* bytes of a component */
	uint8_t pad_byte;		/* what surrounds the map */
	int32_t x_zero;			/* subtracted from the input, by what the sums start with */
	int64_t addends;		/* bytes whose sum is a weight less its zero point */
	/*
	 * Columns of the kernel that are channels of an element, which then is so many pixels; the
	 * planes have one tap. 1: none.
	 */
	int64_t fold;
	/* Blocks of groups, each with a dense kernel that has zeros between groups. */
	int64_t block_groups, blocks;
};

/* How it is computed. Filled by plan. */
struct imcc_plan {
	int64_t pixel, row, image;	/* bytes of a pixel, a row and a map in the arena */
	int64_t k, c;			/* output and input channels of a part */
	int64_t h, w;			/* rows and columns of a tile of the result */
	bool keep_weights;		/* the tiles change first, not the output channels */
};

struct imcc_node {
	bool planned;		/* to be lowered */
	struct imcc_conv conv;
	struct imcc_plan plan;
};

struct imcc_core {
	struct cnn_backend base;
	struct imcc_hw hw;
	struct imcc_node *nodes;	/* by node index */
};

/* The taps of a phase of an axis: first, first + step, ... of the kernel. */
struct imcc_taps {
	int64_t first, step, count;
	int64_t input;			/* what class 0 meets first, from the first input of a tile on */
	int64_t class_first, class_end;	/* of its results */
};

/* One phase of both axes: a kernel of n x n, zeros where an axis has fewer; 0: no taps at all. */
struct imcc_phase {
	struct imcc_taps y, x;
	int64_t n;
};

/* A plane as SETUP has it. */
struct imcc_plane {
	int64_t n, w, h, cin, cout, size;
	bool full;
};

/* What a plane costs, without the cycles of its commands. */
struct imcc_cycles {
	uint64_t start, clocks, stalls;
};

/* ---- planes.c ---------------------------------------------------------------------------- */

/* Sets what is behind transposed. */
void imcc_set_axis(struct imcc_axis *a);
/* The first input that results from @out on meet; @out is a multiple of imcc_unit(). */
int64_t imcc_input_at(const struct imcc_axis *a, int64_t out);
/* Results of a tile along an axis are a multiple of this, or all. */
static inline int64_t imcc_unit(const struct imcc_axis *a)
{
	return a->transposed ? a->classes : 1;
}

/* Taps of the largest phase along an axis, at most. */
int64_t imcc_most_taps(const struct imcc_conv *v);
/*
 * Makes the columns of the kernel channels and each of its rows a phase, so that no weight is a
 * zero that the kernel does not have; false if the convolution does not allow that.
 */
bool imcc_fold(struct imcc_conv *v);
/* Phases of both axes, and number @i of them, in the order of their sums. */
int64_t imcc_phases(const struct imcc_conv *v);
struct imcc_phase imcc_phase(const struct imcc_conv *v, int64_t i);
/* Sum of n * n of the phases before number @i. */
int64_t imcc_taps_before(const struct imcc_conv *v, int64_t i);
/* Results of @out that are of class @a. */
int64_t imcc_class_size(const struct imcc_axis *axis, int64_t a, int64_t out);
/* Inputs along an axis that @out results read, zero taps included. */
int64_t imcc_reach(const struct imcc_conv *v, const struct imcc_axis *axis, int64_t out);
struct imcc_cycles imcc_plane_cycles(const struct imcc_hw *hw, const struct imcc_plane *p);
static inline uint64_t imcc_total(const struct imcc_cycles *c)
{
	return c->start + c->clocks + c->stalls;
}

/* Takes full reuse if that is faster. */
void imcc_choose_mode(const struct imcc_hw *hw, struct imcc_plane *p);

/* Channels of a block. */
static inline int64_t imcc_block_groups(const struct imcc_conv *v, int64_t block)
{
	return cnn_min(v->block_groups, v->groups - block * v->block_groups);
}

/* ---- match.c, legalize.c ----------------------------------------------------------------- */

/* Describes a graph node as a convolution; false with the reason if it cannot run on imc. */
bool imcc_match(const struct imcc_core *core, int node, struct imcc_conv *v, char *reason);
/* Is it made for such nodes? */
bool imcc_is_for(const struct cnn_graph *g, const struct cnn_node *n);
/*
 * Rewrites the graph for this core: quantised products become sums and a QLinearSums; of float
 * ones the bias, what else is added and the activation become an Add each.
 */
int imcc_legalize(struct cnn_graph *g, int place, struct cnn_err *err);

/* ---- plan.c, emit.c, pack.c -------------------------------------------------------------- */

/* Finds the plan that costs least; false with the reason if there is none. */
bool imcc_find_plan(struct imcc_core *core, struct imcc_node *n, const char *op, char *reason);
/* Most commands and cycles of a tile. */
int64_t imcc_tile_commands(const struct imcc_node *n);
uint64_t imcc_tile_cycles(const struct imcc_hw *hw, const struct imcc_node *n);
int64_t imcc_tiles(const struct imcc_node *n);
/* Cycles of the node's programs, to compare plans; 0: no memory. */
uint64_t imcc_cycles(struct imcc_core *core, struct imcc_node *n);
int imcc_emit(struct imcc_core *core, int node);

/* A part of the weights: output channels of a block from k0, input channels from c0, a phase. */
struct imcc_part {
	int64_t block, k0, k, c0, c;
	struct imcc_phase phase;
	int64_t addend;
};

/* Weight of bytes @data less its zero point: of channel @k of all, @c of its group, a tap. */
int32_t imcc_weight(const struct imcc_conv *v, int64_t k, int64_t c, int64_t y, int64_t x);
/* Addend @i of a weight; the rest of it is not 0 if there are more. */
int8_t imcc_addend(int32_t weight, int64_t i, int32_t *rest);
/* Writes [k][n][n][fold][c] weights. */
void imcc_pack(const struct imcc_conv *v, const struct imcc_part *p, void *to);
/* What the sums of channel @k of all start with, in a phase: x_zero times its weights, negative. */
int32_t imcc_start(const struct imcc_conv *v, int64_t k, const struct imcc_phase *f);

#endif
