/* SPDX-License-Identifier: MIT */
/*
 * Convolutions on core ccp, shared by conv*.c. The map is cut into slabs of rows, and perhaps of
 * columns, a slab and the output channels into tiles, and the output of a tile into patches: what
 * one EXEC computes, up to CCPC_EXEC_ROWS rows by CCPC_EXEC_COLUMNS columns.
 */
#ifndef CCPC_CONV_H
#define CCPC_CONV_H

#include "ccp.h"

#define CCPC_EXEC_ROWS	  CNNACC_CCP_ROWS
#define CCPC_EXEC_COLUMNS CNNACC_CCP_LANES

/*
 * Output rows y0..y1-1 and columns x0..x1-1, and the input rows first..first+rows-1 that they need,
 * without padding. The read bank has in_columns of these rows from in_x on, the write bank
 * out_columns from out_x on. Those from first_x on are stored: rows that start inside a line need
 * some before it.
 */
struct ccpc_slab {
	int64_t y0, y1, first, rows, x0, x1, first_x;
	int64_t in_x, in_columns, out_x, out_columns;
	struct ccpc_padding pad; /* around what the read bank has */
};

int64_t ccpc_slab_count(const struct ccpc_conv *v);
/* They follow one another from left to right, then from top to bottom. */
void ccpc_slab_at(const struct ccpc_conv *v, int64_t i, struct ccpc_slab *s);
/* Columns of the widest slab. */
int64_t ccpc_slab_columns(const struct ccpc_conv *v);

static inline bool ccpc_same_slab(const struct ccpc_slab *a, const struct ccpc_slab *b)
{
	return a->y0 == b->y0 && a->x0 == b->x0;
}

static inline bool ccpc_is_cut(const struct ccpc_conv *v)
{
	return v->rows < v->oh || v->columns;
}

/* Channels c0..c1-1 of a slab of the input, and of its output in operand @o (out or add). */
struct ccpc_region ccpc_slab_in(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				const struct ccpc_slab *s);
struct ccpc_region ccpc_slab_out(const struct ccpc_node *n, const struct ccpc_operand *o,
				 int64_t image, int64_t c0, int64_t c1, const struct ccpc_slab *s);
/*
 * Sets *in and *out to the most floats that so many channels of a slab take in a bank. False if a
 * slab has no input rows, more padding than a register field holds, or columns that the unit does
 * not compute.
 */
bool ccpc_slab_floats(const struct ccpc_node *n, int64_t in_ch, int64_t out_ch, int64_t *in,
		      int64_t *out);
/* True if slabs may have the rows of the plan. */
bool ccpc_can_cut_rows(const struct ccpc_node *n);
/* Columns of a slab to try after those of the plan (0: first); 0: no more. */
int64_t ccpc_next_columns(const struct ccpc_hw *hw, const struct ccpc_node *n);

/* Patches of CCPC_EXEC_ROWS rows in a column of a slab. */
static inline int64_t ccpc_full_patches(const struct ccpc_slab *s)
{
	return (s->y1 - s->y0) / CCPC_EXEC_ROWS;
}

/* Rows of the patch below them; 0: none. */
static inline int64_t ccpc_last_rows(const struct ccpc_slab *s)
{
	return (s->y1 - s->y0) % CCPC_EXEC_ROWS;
}

static inline int64_t ccpc_patch_columns(const struct ccpc_slab *s)
{
	return cnn_div_up(s->x1 - s->x0, CCPC_EXEC_COLUMNS);
}

/* First column of a column of patches in the write bank. */
static inline int64_t ccpc_patch_column(const struct ccpc_slab *s, int64_t i)
{
	return s->x0 - s->out_x + i * CCPC_EXEC_COLUMNS;
}

/* Rows of a slab to try after @rows (0: first); 0: no more. */
int64_t ccpc_next_rows(const struct ccpc_conv *v, int64_t rows, int64_t limit);
/*
 * Sets rows to those to try for slabs that are cut in columns: as many as fit with so many channels,
 * fewer but evenly, and those of an EXEC. What is the same or does not fit is 0.
 */
void ccpc_rows_to_try(const struct ccpc_node *n, int64_t in_ch, int64_t out_ch, int64_t limit,
		      int64_t rows[3]);
/* A round number of channels, at most @value. */
int64_t ccpc_round_channels(int64_t value, int64_t all);

/* A batch of output channels, or a block of groups, of a slab. */
struct ccpc_conv_tile {
	struct ccpc_slab s;
	int64_t o0, o1;		/* output channels of the group */
	int64_t g0, g1;		/* groups, if they are computed in blocks */
};

/* Sections of the widest tile. */
static inline int64_t ccpc_conv_sections(const struct ccpc_conv *v)
{
	return cnn_div_up(cnn_div_up(ccpc_slab_columns(v), CCPC_EXEC_COLUMNS), v->part_columns);
}

int64_t ccpc_conv_tile_count(const struct ccpc_conv *v);
struct ccpc_conv_tile ccpc_conv_tile_at(const struct ccpc_conv *v, int64_t i);

/* What one section computes: a tile, or some columns of its patches. */
struct ccpc_conv_part {
	const struct ccpc_node *n;
	int64_t image, group;
	int64_t i;	/* tile */
	int64_t x0, x1; /* columns of patches */
};

/* Input of the part after u; lines 0: it is the same, or is not loaded as a whole. */
struct ccpc_region ccpc_next_input(const struct ccpc_conv_part *u);

void ccpc_emit_dense(struct ccpc_code *c, const void *part);
void ccpc_emit_block(struct ccpc_code *c, const void *part);

/* Parameters of an EXEC that change inside a tile. */
struct ccpc_conv_params {
	int64_t ci0, ci1;	/* input channels of the EXEC, ci1 inclusive */
	int64_t co_num, co_start, co_cnt;
	int64_t in, out, weight, bias;	/* bases */
};

/* Sets the registers of parameter group 0, except R4, which places the patch. */
void ccpc_conv_geometry(struct ccpc_code *c, const struct ccpc_node *n, const struct ccpc_slab *s,
			const struct ccpc_conv_params *p, int64_t rows);
/* Sets the registers of parameter group 1. */
void ccpc_conv_bases(struct ccpc_code *c, const struct ccpc_slab *s,
		     const struct ccpc_conv_params *p, const struct ccpc_region *in,
		     const struct ccpc_region *out);

/* Contents of a chunk of weights in each bank. */
struct ccpc_chunk_shape {
	int banks;
	int64_t lines;		/* of a bank */
	int64_t quads;		/* output channels of a bank, per group */
	int64_t bias;		/* float where the biases start */
	int64_t ones;		/* float of two weights of 1, if something is added */
	int64_t channels;	/* input channels in it */
};

struct ccpc_chunk_shape ccpc_chunk_shape_of(const struct ccpc_conv *v);
/* Index of the chunk that holds output channel o of a group in a slice. */
int64_t ccpc_chunk_index(const struct ccpc_conv *v, int64_t g, int64_t o, int64_t slice);
struct ccpc_weight_chunk ccpc_chunk_at(const struct ccpc_node *n, int64_t index);
int64_t ccpc_chunk_count(const struct ccpc_conv *v);
void ccpc_pack(const struct ccpc_conv *v, const struct ccpc_chunk_shape *k, float *data);
/* Floats of the kernels of an average: one for each number of rows and columns under the window. */
int64_t ccpc_average_weights(const struct ccpc_conv *v);

static inline int64_t ccpc_chunk_lines(const struct ccpc_chunk_shape *k)
{
	return k->banks * k->lines;
}

static inline int64_t ccpc_slice_count(const struct ccpc_conv *v)
{
	return v->slice ? cnn_div_up(v->ci, v->slice) : 1;
}

/* Most rows of a slab, and most output channels or groups of a tile. */
struct ccpc_conv_limits {
	int64_t rows, co;
};

/* Cycles of one EXEC of ci input and co output channels; @last: it ends the sums. */
int64_t ccpc_conv_exec_cycles(const struct ccpc_hw *hw, const struct ccpc_conv *v, int64_t ci,
			      int64_t co, int64_t rows, bool last);
/* Cost of one batch element and group with the plan in n: cycles, and a share per line moved. */
int64_t ccpc_dense_cost(const struct ccpc_hw *hw, const struct ccpc_node *n, int64_t limit);
bool ccpc_plan_blocks(const struct ccpc_hw *hw, struct ccpc_node *n,
		      const struct ccpc_conv_limits *l);

#endif
