/* SPDX-License-Identifier: MIT */
/*
 * Core gcu: convolutions of bytes, 16-bit integers and half-precision floats
 * (Documentation/hardware/gcu.rst).
 *
 * A node becomes a convolution, and that one or more layer blocks. Maps lie in the arena as
 * [n][C / ATOMIC_C][H][W][ATOMIC_C], matrices row after row: a row is a pixel, its elements the
 * channels. The core reads any layout whose channels touch in groups of ATOMIC_C.
 */
#ifndef GCUC_GCU_H
#define GCUC_GCU_H

#include "backend/split_sums.h"
#include "block.h"
#include "requant.h"

/* Strides of a value in the arena, in bytes. */
struct gcuc_view {
	int64_t column, row, slice, group, image;
};

/* Sizes of a value as maps: elements are in the order of these. */
struct gcuc_maps {
	int64_t n, c, d, h, w;	/* d: slices of h rows */
	bool matrix;		/* of w rows with c elements each */
};

/* view.c: does the core read or write this layout? */
bool gcuc_view(const struct cnn_layout *l, const struct gcuc_maps *maps, int64_t lanes,
	       struct gcuc_view *v);
/* The layout that it likes. half: of float32 values. */
struct cnn_layout gcuc_layout(const struct gcuc_maps *maps, int64_t lanes, int64_t size, bool half);
bool gcuc_reads(const struct cnn_layout *has, struct cnn_layout *want);

/* Weights in the graph: strides in elements, by group, output and input channel, row and column. */
struct gcuc_weights {
	const struct cnn_tensor *t, *zero;	/* zero: integers; NULL: none */
	int64_t group, k, c, z, y, x;
	bool flip;				/* slices, rows and columns from the end */
	bool subtract;				/* zero points, before the core sees them */
};

/* What is computed: the node as a convolution. Filled by match. */
struct gcuc_conv {
	int in, out, add;		/* values; add: added before the activation, or -1 */
	struct gcuc_maps ifm, ofm;
	int64_t groups, ci, co;		/* ci, co: channels of one group */
	const int32_t *group_of;	/* the output channels, ascending; NULL: co of each */
	struct gcuc_axis z, y, x;	/* of whole maps; begin may be negative, end is not set */
	enum cnnacc_gcu_format format;
	bool half;			/* float32 values as float16 */
	bool x_unsigned, w_unsigned;
	int32_t x_zero, w_zero, y_zero;
	struct gcuc_weights weights;
	enum cnnacc_gcu_out result;
	enum cnnacc_gcu_act act;
	bool round_up, clamp;
	uint32_t act_factor, clamp_low, clamp_high;
	struct cnnacc_gcu_linear *linear;	/* of each output channel; NULL: none */
	/* Memory behind the output for accumulators between pieces; 0 bytes: none. */
	int64_t psum_at, psum_bytes;
};

/* Sizes of the pieces that become blocks; the last ones may be smaller. */
struct gcuc_sizes {
	int64_t rows, columns;		/* of the output */
	int64_t k, c;			/* output and input channels */
	int64_t kernel_y, kernel_x;
};

/* How it is computed. Filled by plan. */
struct gcuc_plan {
	struct gcuc_view ifm, ofm, add;
	int64_t merge;			/* rows of the maps that are one: kernels of one point */
	bool phases;			/* transposed in phases; else points between inputs */
	struct gcuc_sizes sizes;
	int64_t fmbuf_banks;
	struct gcuc_count count;	/* of all blocks */
	uint64_t fifo_refills;		/* of all blocks, if they had FIFO */
	int64_t blocks;
};

struct gcuc_node {
	struct gcuc_conv conv;
	struct gcuc_plan plan;
	bool used;
};

struct gcuc_core {
	struct cnn_backend base;
	struct gcuc_hw hw;
	struct gcuc_node *nodes;	/* by node index */
	int n_nodes;			/* of the graph that it was opened for */
	int64_t lut;			/* offset in the weights; -1: not there yet */
};

static inline int64_t gcuc_group(const struct gcuc_conv *v, int64_t k)
{
	return v->group_of ? v->group_of[k] : k / v->co;
}

/* Bytes of an element of the ifmap and of the ofmap. */
static inline int64_t gcuc_element(const struct gcuc_conv *v)
{
	return v->format == CNNACC_GCU_INT8 ? 1 : 2;
}

static inline int64_t gcuc_result(const struct gcuc_conv *v)
{
	static const int8_t bytes[] = { 1, 1, 2, 4, 2, 4 };

	return bytes[v->result];
}

/* Describes a graph node as a convolution; false with the reason if it cannot run on gcu. */
bool gcuc_match(const struct gcuc_core *core, int node, struct gcuc_conv *v, char *reason);
bool gcuc_is_float_product(const struct cnn_graph *g, const struct cnn_node *n);
bool gcuc_is_for(const struct cnn_graph *g, const struct cnn_node *n);
void gcuc_conv_free(struct gcuc_conv *v);

/*
 * product.c: a quantised product and its constants. Sets what of v concerns numbers, but for
 * linear; false with the reason.
 */
struct gcuc_product {
	const struct cnn_graph *g;
	const struct cnn_node *n;
	const struct cnn_tensor *x, *w, *bias;
	const struct cnn_tensor *x_zero, *w_zero, *x_scale, *w_scale, *y_scale, *y_zero;
	const struct cnn_tensor *groups;	/* of output channels; NULL: as many of each */
	int y;				/* input with the result's scale */
	bool sums;			/* int32 results */
};

/* match.c: the node, a quantised product, as a convolution; the number of channels of it that the
 * core requantises, which passes tells; -1 with the reason if it cannot even add its sums up.
 */
int64_t gcuc_match_product(const struct gcuc_product *p, struct gcuc_conv *v, bool *passes,
			   char *reason);
bool gcuc_product_get(const struct cnn_graph *g, const struct cnn_node *n, struct gcuc_product *p);
bool gcuc_product_numbers(const struct gcuc_product *p, struct gcuc_conv *v, char *reason);
/*
 * Finds the linear multiply-adds of all channels; returns the number of those that have one, and
 * which (passes may be NULL), or -1 if the core cannot add their sums up.
 */
int64_t gcuc_product_requantise(const struct gcuc_product *p, struct gcuc_conv *v, bool *passes,
				char *reason);
/* A point of the kernel, and of all of them number i. */
struct gcuc_point {
	int64_t z, y, x;
};

static inline int64_t gcuc_points(const struct gcuc_conv *v)
{
	return v->z.kernel * v->y.kernel * v->x.kernel;
}

static inline struct gcuc_point gcuc_point_at(const struct gcuc_conv *v, int64_t i)
{
	return (struct gcuc_point){
		.z = i / v->x.kernel / v->y.kernel, .y = i / v->x.kernel % v->y.kernel,
		.x = i % v->x.kernel,
	};
}

/* An integer weight less what is subtracted; a float one. */
int32_t gcuc_weight_int(const struct gcuc_conv *v, int64_t k, int64_t c, struct gcuc_point p);
float gcuc_weight_float(const struct gcuc_conv *v, int64_t k, int64_t c, struct gcuc_point p);

int gcuc_legalize(struct cnn_graph *g, int place, struct cnn_err *err);
/*
 * Splits a product of which the core requantises s->passing channels (split_channels.c). group:
 * output channels of a group; 0: there are no groups. Moves s->node to the last of the new nodes.
 */
int gcuc_split_channels(struct cnn_split *s, int64_t group);
/* Hook: what is fused into a product, or becomes one beside it, is not for the core alone. */
int gcuc_companions(const struct cnn_graph *g, int node, int *nodes);

/* ---- pieces.c: the convolution in pieces, each of which is a block ------------------------- */

/* A piece: the block that computes it, and where its parts are. */
struct gcuc_piece {
	struct gcuc_block b;
	int64_t k0, c0, c_end;		/* output channels from k0, input channels c0..c_end - 1 */
	struct gcuc_point first, step;	/* of the kernel: where it begins, and to the next */
	int64_t number;			/* of its weights, from 0 */
	bool adds;			/* it only takes the addend, as it is */
};

/* Groups that the core knows, or dense pieces with zeros. */
bool gcuc_is_native(const struct gcuc_conv *v);
/* Pieces of the kernel and the channels, as far as they have weights of their own. */
int64_t gcuc_weight_pieces(const struct gcuc_hw *hw, const struct gcuc_node *n);
/*
 * Calls each for the pieces, in order, until it returns an error, which is returned.
 * CNN_ELIMIT without a call: a piece is beyond the core's fields.
 */
int gcuc_each_piece(const struct gcuc_hw *hw, const struct gcuc_node *n,
		    int (*each)(void *opaque, const struct gcuc_piece *p), void *opaque);
/* The piece in the middle of the map that stands for all; false: beyond the core's fields. */
bool gcuc_typical_piece(const struct gcuc_hw *hw, const struct gcuc_node *n, struct gcuc_piece *p);
int64_t gcuc_count_pieces(const struct gcuc_hw *hw, const struct gcuc_node *n);
/* Sets where accumulators can be kept between pieces, if pieces may have to add up. */
void gcuc_reserve_psum(const struct gcuc_hw *hw, struct gcuc_conv *v, int64_t ofm_bytes);
/* Sizes of the kernel area: the least that holds so many points, or 0. */
int64_t gcuc_kbuf_points(int64_t points);
/* Bytes of accumulators of one part of the output. */
int64_t gcuc_psum_bytes(const struct gcuc_hw *hw, const struct gcuc_node *n);
/* Can a transposed convolution be done as one for each phase of its strides, without gaps? */
bool gcuc_has_phases(const struct gcuc_conv *v);
/* Rows and columns of the largest phase, or of all, and of its kernel. */
void gcuc_phase_size(const struct gcuc_node *n, struct gcuc_sizes *s);
/* Cuts the kernel until the kernel area takes the pieces. */
void gcuc_cut_kernel(const struct gcuc_hw *hw, struct gcuc_sizes *s);

/*
 * scheme.c: how the rows of a block are replaced: by tables or FIFO. Blocks that differ in their
 * place only share that, so some are remembered.
 */
struct gcuc_scheme {
	struct gcuc_block key;		/* as it was asked for */
	struct gcuc_block b;		/* with the scheme, which may refer to table */
	struct gcuc_table table;
	struct gcuc_count count;
	uint64_t fifo_refills;		/* bytes of rows that FIFO reads again */
	int64_t table_at;		/* the caller's: where the table is; -1: nowhere yet */
};

#define GCUC_SCHEMES	12

struct gcuc_schemes {
	struct gcuc_scheme known[GCUC_SCHEMES];
	int n, next;
};

/* NULL: the block cannot run, or there is no memory. kernel_groups: as gcuc_count_block. */
struct gcuc_scheme *gcuc_choose_scheme(const struct gcuc_hw *hw, struct gcuc_schemes *list,
				       const struct gcuc_block *b, int64_t kernel_groups);
void gcuc_schemes_free(struct gcuc_schemes *list);
/* What a block costs the core and the memory together, to compare plans. */
uint64_t gcuc_weigh(const struct gcuc_count *n);

/* ---- plan.c, emit.c ---------------------------------------------------------------------- */

/* Sets the plan that costs least, with the layouts that its views have. */
bool gcuc_find_plan(const struct gcuc_hw *hw, struct gcuc_node *n, const char *op, uint64_t *tried,
		    char *reason);
int gcuc_emit(struct gcuc_core *core, int node);

#endif
