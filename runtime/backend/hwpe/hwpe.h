/* SPDX-License-Identifier: MIT */
/*
 * Core hwpe: sums of products of bytes, or of packed codes (Documentation/hardware/hwpe.rst).
 *
 * A node becomes a convolution. Its maps lie in the arena column by column, the pixels of a column
 * one after the other, the channels of a pixel together: [n][W][H][C] bytes in, [n][W][H][K] int32
 * out, or bytes where the core requantises by a shift. A row of the matrix is a strip: the C
 * channels of as many pixels of a column as the kernel has rows, taken Kernel_size times, once per
 * column. A matrix product is a convolution of two columns of pixels.
 */
#ifndef HWPEC_HWPE_H
#define HWPEC_HWPE_H

#include <cnnacc_hwpe.h>

#include "backend/qproduct.h"
#include "backend/sequencer.h"
#include "packed_format.h"

#define HWPEC_WORD		CNNACC_HWPE_OPERAND_BYTES
#define HWPEC_COLUMNS		CNNACC_HWPE_PES	/* output channels of a round */
#define HWPEC_BOTH		(CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2)	/* both operands */
#define HWPEC_OUT_ROWS		4	/* rows of a window: bases of one SRAM */
#define HWPEC_OUT_COLUMNS	2	/* columns of a window: SRAMs */

/* What the discovery table says of a core. */
struct hwpec_hw {
	int64_t fmap, kernel;		/* bytes of one fmap SRAM, of the kernel memory */
	int64_t kernel_max, shift_max;
	int64_t commands;		/* of a program */
	uint64_t cycles_max;
	char bad[CNN_REASON_LEN];	/* why this core gets no nodes; "": it is supported */
};

/* Weights by output channel k, input channel c of its group, row y and column x of the kernel. */
struct hwpec_weights {
	const int8_t *data;
	int64_t k, c, y, x;		/* elements from one to the next */
};

/* What is computed: the node as a convolution. Filled by match. */
struct hwpec_conv {
	int in, out;			/* values */
	struct cnn_layout ifm, ofm;	/* in the arena */
	int64_t ofm_bytes;
	bool product;			/* a matrix product: @rows of ifm_w * ifm_h exist */
	int64_t rows;
	int64_t batch, ifm_h, ifm_w, ofm_h, ofm_w;
	int64_t kh, kw, dh, dw, sh, sw;	/* kernel, dilation, stride; kh includes dilation */
	int64_t pad_top, pad_left;
	int64_t groups, ci, co;		/* ci, co: channels of one group */
	struct hwpec_weights weights;
	enum cnn_codes codes;		/* format of both operands */
	int64_t per_byte;		/* elements of a byte */
	uint32_t type;			/* enum cnnacc_hwpe_type */
	bool input_layer;		/* Layer_type: strips of any length at any address */
	uint8_t pad_byte;		/* what surrounds the map */
	int shift;			/* requantisation to bytes; -1: sums are written */
	const int32_t *acc_init;	/* first value of the sums by output channel; NULL: zero */
	int64_t ofm_c_padded, ofm_h_padded, ofm_w_padded;	/* as written */
	/* Blocks of groups, each a convolution with a dense kernel. */
	int64_t block_groups, blocks;
	int64_t pixel, sram_pixel;	/* bytes of a pixel in the preferred layout, in an SRAM */
	int64_t words;			/* Conv_CH_count */
};

/* How it is computed. Filled by plan. */
struct hwpec_plan {
	int64_t pixel, column, image;	/* bytes of a pixel, a column and a map in the arena */
	bool interleaved;		/* Kernel_333: two parts of a column, byte by byte */
	int64_t rounds;			/* of a window */
	int64_t tile_h, tile_w;		/* rows and columns of the output */
	int64_t chunk;			/* groups of 16 output channels whose weights fit */
	uint32_t accs;			/* AccRegs with results; others are not read */
};

/* A change of layout instead of a convolution. */
struct hwpec_change {
	bool wanted;
	int in, out;			/* values */
	struct cnn_layout from, to;
};

struct hwpec_node {
	struct hwpec_conv conv;
	struct hwpec_plan plan;
	struct hwpec_change change;
};

/* Part of the output: from row y, column x of batch element n on. Sizes are padded. */
struct hwpec_tile {
	int64_t n, y, x, h, w;
};

struct hwpec_core {
	struct cnn_backend base;
	struct hwpec_hw hw;
	enum cnn_codes *codes;		/* by value index */
	struct hwpec_node *nodes;	/* by node index */
};

/* Describes a graph node as a convolution; false with the reason if it cannot run on hwpe. */
bool hwpec_match(const struct hwpec_core *core, int node, struct hwpec_conv *v, char *reason);

/* Bytes of one result in memory. */
static inline int64_t hwpec_result_bytes(const struct hwpec_conv *v)
{
	return v->shift < 0 ? 4 : 1;
}

/* Output channels of a block. */
static inline int64_t hwpec_block_outputs(const struct hwpec_conv *v, int64_t block)
{
	return cnn_min(v->block_groups, v->groups - block * v->block_groups) * v->co;
}

/*
 * legalize.c: rewrites the graph for this core. A quantised product with constant parameters becomes
 * sums and a QLinearSums. Where a shift gives the same results, there is no QLinearSums: parameter
 * shift_out is the shift, input 4 what each channel adds before.
 */
int hwpec_legalize(struct cnn_graph *g, int place, struct cnn_err *err);

/* requant_shift.c: sets the shift that gives bit-identical results, or -1 and why there is none. */
void hwpec_find_shift(struct cnn_qproduct *p);
/* Weights of channel k are then multiplied by 2 to the power of this. */
int hwpec_shift_up(const struct cnn_qproduct *p, int64_t k);
/* Initial value of the sums of channel k. */
int32_t hwpec_shift_start(const struct cnn_qproduct *p, int64_t k);
/* int8 results that the core could write become uint8, if only products read them. */
int hwpec_shift_types(struct cnn_graph *g, int place, struct cnn_err *err);
/* The products that read what this one makes, if that lets the core requantise it. */
int hwpec_companions(const struct cnn_graph *g, int node, int *nodes);

/* Packs the weights of groups of 16 outputs of a block, from the first on, for kernel memory. */
void hwpec_pack(const struct hwpec_node *n, int64_t block, int64_t first, int64_t count,
		uint8_t *to);

/* Begins a program. */
void hwpec_begin(struct seqc *s);
/* Appends an instruction and adds the cost of the command. */
void hwpec_exec(struct seqc *s, uint32_t insn, uint32_t a, uint32_t b);

/* The windows of a tile, and where their results go. */
struct hwpec_windows {
	int64_t groups, w, h;		/* groups of 16 outputs, columns, rows */
	uint32_t va;			/* of AccReg 0 of the first window */
	uint32_t row_pitch, pitch;	/* from AccReg 0 to 2 and to 1 */
	uint32_t group_pitch;		/* to the next group */
	uint32_t column_advance, row_advance;	/* to the next window */
	uint32_t base_pitch;		/* from FmapAddrBase 0 to 2 */
	uint32_t base_column, base_row;	/* of the bases, to the next window */
	const int32_t *acc_init;	/* of 16 outputs, if the node has any */
};

/* Runs all windows and writes their results. */
void hwpec_run(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w);

/* Most cycles and most commands of one tile with its weights. */
uint64_t hwpec_tile_cycles(const struct hwpec_node *n);
#define HWPEC_TILE_COMMANDS	64
int hwpec_emit(struct hwpec_core *core, int node);
int hwpec_emit_change(struct hwpec_core *core, int node);
/* Cycles of the node's change of layout; 0: it cannot be done, or no memory. */
uint64_t hwpec_change_cycles(struct hwpec_core *core, const struct hwpec_change *c);
/* Cycles of the node's programs, to compare plans; 0: no memory. */
uint64_t hwpec_cycles(struct hwpec_core *core, struct hwpec_node *n);
/* Bytes in an SRAM of a column of a tile of @tile_h rows, and between the rows of windows. */
int64_t hwpec_column_bytes(const struct hwpec_node *n, int64_t tile_h);
int64_t hwpec_row_advance(const struct hwpec_node *n);
/* Multiply-add slots and tiles of the node. */
int64_t hwpec_slots(const struct hwpec_node *n);
int64_t hwpec_tiles(const struct hwpec_node *n);

#endif
