/* SPDX-License-Identifier: MIT */
/* Shared by ccp_conv*.c: what a convolution's plan means. */
#ifndef CNN_LOWER_CCP_CONV_H
#define CNN_LOWER_CCP_CONV_H

#include "ccp.h"

#define TILE_ROWS	CNNACC_CCP_ROWS
#define TILE_COLUMNS	CNNACC_CCP_LANES

/* Output rows y0..y1-1 and the input rows they need, clipped to the map. */
struct slab {
	int64_t y0, y1, first, rows, pt, pb;
};

struct slab ccpc_slab(const struct ccpc_conv *v, int64_t y0, int64_t y1);

/* Channels c0..c1-1 of a slab where they are in memory. */
struct ccpc_region ccpc_slab_in(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				const struct slab *s);
struct ccpc_region ccpc_slab_out(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				 const struct slab *s);
struct ccpc_region ccpc_slab_add(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				 const struct slab *s);
/*
 * Most floats that channels of a slab take in a bank if slabs have rows rows; false if one of
 * them has no input rows or more padding than a field holds.
 */
bool ccpc_slab_floats(const struct ccpc_node *n, int64_t rows, int64_t in_ch, int64_t out_ch,
		      int64_t *in, int64_t *out);
/* May slabs have rows rows? */
bool ccpc_can_split(const struct ccpc_node *n, int64_t rows);

/* Tiles of a slab: full ones of TILE_ROWS rows, and the rows of the last (0: none). */
static inline int64_t slab_full(const struct slab *s)
{
	return (s->y1 - s->y0) / TILE_ROWS;
}

static inline int64_t slab_rest(const struct slab *s)
{
	return (s->y1 - s->y0) % TILE_ROWS;
}

static inline int64_t conv_columns(const struct ccpc_conv *v)
{
	return cnn_div_up(v->ow, TILE_COLUMNS);
}

/*
 * A step loads a slab, computes a batch of output channels (or a block of groups) of it and
 * stores that.
 */
struct step {
	struct slab s;
	int64_t o0, o1;		/* output channels of the group */
	int64_t g0, g1;		/* groups, if they are done in blocks */
};

int64_t ccpc_step_count(const struct ccpc_conv *v);
struct step ccpc_step_at(const struct ccpc_conv *v, int64_t i);

/* A step, or some columns of it. */
struct conv_unit {
	const struct ccpc_node *n;
	int64_t image, group;
	int64_t i;		/* step */
	int64_t x0, x1;		/* tiles of columns */
};

/* What the unit after u reads; lines 0: nothing new, or not all at once. */
struct ccpc_region ccpc_next_input(const struct conv_unit *u);

void ccpc_emit_dense(struct ccpc_code *c, const void *unit);
void ccpc_emit_block(struct ccpc_code *c, const void *unit);

/* The part of the parameters that changes inside a step. */
struct conv_span {
	int64_t ci0, ci1;	/* input channels of the EXEC, ci1 inclusive */
	int64_t co_num, co_start, co_cnt;
	int64_t in, out, weight, bias;	/* bases */
};

/* Registers of the two parameter groups but R4 of the first, which places the tile. */
void ccpc_conv_geometry(struct ccpc_code *c, const struct ccpc_node *n, const struct slab *s,
			const struct conv_span *p, int64_t vec);
void ccpc_conv_bases(struct ccpc_code *c, const struct slab *s, const struct conv_span *p,
		     const struct ccpc_region *in, const struct ccpc_region *out);

/* ---- weight image ---------------------------------------------------------------------- */

/* What a chunk of weights looks like in a bank. */
struct chunk {
	int banks;
	int64_t lines;		/* of a bank */
	int64_t quads;		/* output channels of a bank, per group */
	int64_t bias;		/* float where the biases start */
	int64_t ones;		/* float where two weights of 1 are, if something is added */
	int64_t channels;	/* input channels in it */
};

struct chunk ccpc_chunk_shape(const struct ccpc_conv *v);
/* Number of the chunk that holds output channel o of a group in a slice. */
int64_t ccpc_chunk_index(const struct ccpc_conv *v, int64_t g, int64_t o, int64_t slice);
struct ccpc_chunk ccpc_chunk_at(const struct ccpc_node *n, int64_t index);
int64_t ccpc_chunk_count(const struct ccpc_conv *v);
void ccpc_pack(const struct ccpc_conv *v, const struct chunk *k, float *data);
/* A kernel for every number of rows and columns that an average's window may cover. */
int64_t ccpc_average_weights(const struct ccpc_conv *v);

static inline int64_t chunk_lines(const struct chunk *k)
{
	return k->banks * k->lines;
}

static inline int64_t slice_count(const struct ccpc_conv *v)
{
	return v->slice ? cnn_div_up(v->ci, v->slice) : 1;
}

/* ---- plan ------------------------------------------------------------------------------ */

/* Most rows of a slab, and output channels or groups of a step. */
struct conv_limits {
	int64_t rows, co;
};

/* Cycles of T of one EXEC of ci input and co output channels. */
int64_t ccpc_conv_time(const struct ccpc_hw *hw, const struct ccpc_conv *v, int64_t ci, int64_t co,
		       int64_t vec, bool last);
/* Cycles of one image and group with the plan in n, and a share for each line moved. */
int64_t ccpc_dense_cost(const struct ccpc_hw *hw, const struct ccpc_node *n, int64_t limit);
bool ccpc_plan_dense(const struct ccpc_hw *hw, struct ccpc_node *n, const struct conv_limits *l);
bool ccpc_plan_blocks(const struct ccpc_hw *hw, struct ccpc_node *n, const struct conv_limits *l);
/* Rows of a slab to try after rows (0: first); 0: no more. */
int64_t ccpc_next_rows(const struct ccpc_conv *v, int64_t rows, int64_t limit);
/* A round number that is not above value. */
int64_t ccpc_round_channels(int64_t value, int64_t all);

#endif
