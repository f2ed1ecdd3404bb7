/* SPDX-License-Identifier: MIT */
/*
 * Core hwpe: sums of products of bytes, or of codes (Documentation/hardware/hwpe.rst).
 *
 * A node becomes a convolution of maps that lie in the arena column after column, a column's
 * pixels one after the other, a pixel's channels together: [n][W][H][C] bytes in, [n][W][H][K]
 * int32 out, or bytes where the core shifts sums out by itself. A row of the matrix is a strip of C
 * times the kernel's rows bytes, taken Kernel_size times from column to column. A matrix product is a
 * convolution of two columns of pixels.
 */
#ifndef CNN_LOWER_HWPE_H
#define CNN_LOWER_HWPE_H

#include "backend/backend.h"
#include <cnnacc_seq.h>
#include <cnnacc_hwpe.h>

#define HWPEC_WORD	  CNNACC_HWPE_OPERAND_BYTES
#define HWPEC_COLUMNS	  CNNACC_HWPE_PES
#define HWPEC_BOTH	  (CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2) /* an instruction's operands */
#define HWPEC_OUT_ROWS	  4 /* parts of a tile that the bases of one SRAM serve */
#define HWPEC_OUT_COLUMNS 2 /* SRAMs */

/* What the discovery table says of a core. */
struct hwpec_hw {
	int64_t fmap, kernel;		/* bytes of one fmap SRAM, of the kernel memory */
	int64_t kernel_max, shift_max;
	int64_t commands;		/* of a program */
	uint64_t cycles_max;
	char bad[CNN_REASON_LEN];	/* why it gets no nodes */
};

/* Weights of output channel k, input channel c of its group, row y and column x of the kernel. */
struct hwpec_weights {
	const int8_t *data;
	int64_t k, c, y, x;		/* elements from one to the next */
};

struct hwpec_node {
	int in, out;		/* slots */
	struct cnn_layout in_l, out_l;
	int64_t out_bytes;
	bool product;		/* a matrix product: rows, of iw * ih, are there */
	int64_t rows;
	int64_t n, ih, iw, oh, ow;
	int64_t kh, kw, dh, dw, sh, sw, pt, pl;
	int64_t groups, ci, co;		/* of a group */
	struct hwpec_weights w;
	enum cnn_codes codes;	/* the format that both operands have */
	int64_t per_byte;	/* elements of a byte */
	uint32_t type;		/* enum cnnacc_hwpe_type */
	bool input;		/* Layer_type: strips of any length at any address */
	bool interleaved;	/* Kernel_333: a tile's upper and lower half, byte by byte */
	uint8_t pad;		/* what is around the map */
	int shift;		/* of what the core writes as bytes; -1: sums are written */
	const int32_t *start;	/* what each channel adds to its sums before; NULL: nothing */
	int64_t cp, column;	/* bytes from pixel to pixel, and column to column, in the arena */
	int64_t kp, ohp, owp;	/* channels, rows, columns of the output and what is beside it */
	/* Groups are taken block_groups at a time, as dense blocks. */
	int64_t block_groups, blocks, cs;	/* cs: bytes from pixel to pixel in an SRAM */
	int64_t words, rounds;	/* Conv_CH_count, rounds of a window */
	int64_t th, tw;		/* a tile's rows and columns of the output */
	int64_t chunk;		/* groups of 16 output channels whose weights fit */
	uint32_t accs;		/* AccRegs that hold what is wanted; the others are never read */
};

/* Part of the output: from row y, column x of image n on; th, tw padded. */
struct hwpec_tile {
	int64_t n, y, x, th, tw;
};

struct hwpec_core {
	struct cnn_backend base;
	struct hwpec_hw hw;
	enum cnn_codes *codes;		/* by value index */
	struct hwpec_node *nodes;	/* by node index */
};

/* A program under way and what it takes so far. */
struct hwpec_task {
	struct cnn_compile *lw;
	const struct hwpec_hw *hw;
	int node;
	struct cnnacc_seq_command *command;
	int64_t count, cap;
	struct cnnrt_cost cost;
	uint64_t total;			/* cycles of all programs */
	bool dry;			/* only the cycles are wanted */
	bool failed;			/* no memory */
};

/* match.c: a quantised operator that legalize.c has left as it was. */
bool hwpec_is_unsplit(const struct cnn_node *n);
/* The node as a convolution, and the layouts it has. */
bool hwpec_match(const struct hwpec_core *core, int node, struct hwpec_node *n, char *reason);

/* Of a result in memory. */
static inline int64_t hwpec_result_bytes(const struct hwpec_node *n)
{
	return n->shift < 0 ? 4 : 1;
}

/* pack.c */
static inline int64_t hwpec_block_outputs(const struct hwpec_node *n, int64_t block)
{
	return cnn_min(n->block_groups, n->groups - block * n->block_groups) * n->co;
}

/* The bytes of the kernel memory for the groups of 16 outputs from first on of a block. */
void hwpec_pack(const struct hwpec_node *n, int64_t block, int64_t first, int64_t count,
		uint8_t *to);

/* task.c: commands, and what each takes by the cycle rules of the core's page. */
void hwpec_begin(struct hwpec_task *t);
/* Ends the program and makes it a task; 0 or an error. */
int hwpec_end(struct hwpec_task *t);
void hwpec_copy(struct hwpec_task *t, uint32_t memory, const uint32_t arg[6], bool weights);
/* The same for count columns: in each the address and the local address move on. */
void hwpec_copy_columns(struct hwpec_task *t, uint32_t memory, const uint32_t arg[6], int64_t count,
			uint32_t va_step, uint32_t local_step);
void hwpec_fill(struct hwpec_task *t, uint32_t memory, uint32_t value, uint32_t bytes);
void hwpec_exec(struct hwpec_task *t, uint32_t insn, uint32_t a, uint32_t b);
/* Runs all windows of a tile and writes their results from va on. */
struct hwpec_windows {
	int64_t groups, wc, hc;
	uint32_t va, row_pitch, pitch;		/* from AccReg 0 to 2 and to 1 */
	uint32_t group_step, column_step, row_step;
	uint32_t base_step, base_column, base_row;	/* of FmapAddrBase: from 0 to 2, strides */
	const int32_t *start;		/* of 16 columns, if the node has any */
};

void hwpec_run(struct hwpec_task *t, const struct hwpec_node *n, const struct hwpec_windows *w);
/* The same of a node with starts: each window is a task, so that its AccRegs can be set before. */
void hwpec_run_started(struct hwpec_task *t, const struct hwpec_node *n,
		       const struct hwpec_windows *w);

/* emit.c */
/* The most cycles and commands of one tile with its weights. */
uint64_t hwpec_tile_cycles(const struct hwpec_node *n);
#define HWPEC_TILE_COMMANDS 64
int hwpec_emit(struct hwpec_core *core, int node);
/* Cycles of the node's programs, so that ways to run it can be compared; 0 without memory. */
uint64_t hwpec_cycles(struct hwpec_core *core, struct hwpec_node *n);
/* Bytes of a column of a tile of th rows in an SRAM, and from an output's rows to the next's. */
int64_t hwpec_column_bytes(const struct hwpec_node *n, int64_t th);
int64_t hwpec_row_step(const struct hwpec_node *n);
/* Multiply-add slots of the node, and tiles; without memory or output. */
int64_t hwpec_slots(const struct hwpec_node *n);
int64_t hwpec_tiles(const struct hwpec_node *n);

#endif
