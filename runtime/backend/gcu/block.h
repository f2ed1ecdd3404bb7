/* SPDX-License-Identifier: MIT */
/*
 * A layer block of core gcu, without its addresses: what it does with rows, weights and memory, by
 * Documentation/hardware/gcu.rst. Sizes of memory are in bytes.
 */
#ifndef GCUC_BLOCK_H
#define GCUC_BLOCK_H

#include <cnnacc_gcu.h>

#include "backend/backend.h"

/* What the discovery table says of a core. */
struct gcuc_hw {
	int64_t atomic_c, atomic_k;
	int64_t banks, rows_max;	/* of CBUF */
	int64_t rbuf_banks, rbuf_depth;
	int64_t bus;
	int64_t blocks;			/* of a program */
	uint64_t cycles_max;		/* of a job */
	char bad[CNN_REASON_LEN];	/* why this core gets no nodes; "": it is supported */
};

/* Rows or columns of a block. */
struct gcuc_axis {
	int64_t in, out, kernel, stride;
	int64_t dilation, inner;	/* points between those of the kernel, of the map */
	int64_t begin, end;		/* external padding */
};

/* A map: strides, and where channel 0 is in its slot. */
struct gcuc_map {
	int64_t at, column, row, group;
};

/* Replacement tables: @n increments and vectors of @vector_bytes. */
struct gcuc_table {
	uint8_t *increment, *vector;
	int64_t n, room, vector_bytes;
};

struct gcuc_block {
	struct gcuc_axis y, x;
	int64_t c, k, groups;
	uint32_t control;		/* word of struct cnnacc_gcu_layer */
	int64_t element, result;	/* bytes of an element of the ifmap, of the ofmap */
	struct gcuc_map ifmap, psum, ofmap;
	/* CBUF */
	int64_t fmbuf_banks, column_code, rows;
	int64_t kbuf_points, kbuf_groups;
	int64_t threshold;		/* FIFO */
	const struct gcuc_table *table;	/* with CNNACC_GCU_TABLE */
};

/* Channel groups of a kernel group. */
struct gcuc_range {
	int64_t first, count;
	int64_t kernels;		/* that exist */
};

static inline bool gcuc_is_fp16(const struct gcuc_block *b)
{
	return (b->control >> CNNACC_GCU_FORMAT_SHIFT & 3) == CNNACC_GCU_FP16;
}

static inline bool gcuc_uses_table(const struct gcuc_block *b)
{
	return b->control & CNNACC_GCU_TABLE;
}

static inline uint32_t gcuc_act(const struct gcuc_block *b)
{
	return b->control >> CNNACC_GCU_ACT_SHIFT & 7;
}

static inline bool gcuc_uses_lut(const struct gcuc_block *b)
{
	return gcuc_act(b) >= CNNACC_GCU_ACT_SIGMOID;
}

static inline int64_t gcuc_columns(const struct gcuc_block *b)
{
	return (int64_t)CNNACC_GCU_COLUMNS_MIN << b->column_code;
}

static inline int64_t gcuc_kernel_groups(const struct gcuc_hw *hw, const struct gcuc_block *b)
{
	return cnn_div_up(b->k, hw->atomic_k);
}

static inline int64_t gcuc_channel_groups(const struct gcuc_hw *hw, const struct gcuc_block *b)
{
	return cnn_div_up(b->c, hw->atomic_c);
}

struct gcuc_range gcuc_range(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t kg);
/* Clocks of the array for S taps of a row. */
int64_t gcuc_step_cycles(const struct gcuc_block *b);
/* The row that output row h reads at kernel row r; -1: none, it is padding. */
int64_t gcuc_row_of(const struct gcuc_axis *y, int64_t h, int64_t r);
/* Columns of the output that have a tap at kernel column s, all s together. */
int64_t gcuc_taps_of_row(const struct gcuc_axis *x);
/* Points that a kernel reaches over. */
static inline int64_t gcuc_reach(const struct gcuc_axis *a)
{
	return a->kernel + (a->kernel - 1) * a->dilation;
}

/* Bytes of the weights of kernel group kg, which are stored one behind the other. */
int64_t gcuc_weight_bytes(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t kg);

/*
 * Row slots, as the core fills and empties them. What it does depends on no time, so tables are
 * made and cycles are counted with the same code.
 */
struct gcuc_slot {
	int32_t tag;			/* channel group * rows + row */
	bool valid;
	int64_t next;			/* TABLE: number of the need that it is kept for */
	int64_t same;			/* FIFO: next request of this row, or -1 */
	uint64_t ready;			/* time of its data */
};

#define GCUC_NEVER INT64_MAX

struct gcuc_slots {
	const struct gcuc_hw *hw;
	const struct gcuc_block *b;
	/* Called for each row that is read; returns the time of its data. NULL: none is kept. */
	uint64_t (*load)(void *opaque, int64_t group, int64_t row, bool again);
	void *opaque;
	struct gcuc_slot *slot;
	int64_t *at;			/* by tag: TABLE the slot, FIFO the oldest request, or -1 */
	int64_t *last;			/* by tag, FIFO: the newest request */
	int32_t *row;			/* by h * R + r */
	int64_t *use;			/* by h * R + r: next h that needs this row, or -1 */
	bool *seen;			/* by tag: has been read in this block */
	uint64_t empty[CNNACC_GCU_ROWS_MAX / 64];	/* TABLE: invalid slots */
	int64_t written, oldest;	/* FIFO: numbers of requests */
	struct gcuc_range range;	/* of the packet */
	int64_t needs, need;		/* of the packet; the generator's next */
	int64_t valid;			/* slots */
};

/* 0, or an error without a message: there is no memory, or the map has too many rows. */
int gcuc_slots_init(struct gcuc_slots *s, const struct gcuc_hw *hw, const struct gcuc_block *b);
void gcuc_slots_free(struct gcuc_slots *s);
/* A packet begins: the needs of kernel group kg. */
void gcuc_slots_begin(struct gcuc_slots *s, int64_t kg);
/* The generator goes on, with so many op4 of the packet complete. */
void gcuc_slots_walk(struct gcuc_slots *s, int64_t complete);
/* The slot of what need number @need of the packet reads; NULL: in none. */
struct gcuc_slot *gcuc_slots_find(struct gcuc_slots *s, int64_t need);
/* The row of a need: -1 if it is padding. */
int64_t gcuc_slots_row(const struct gcuc_slots *s, int64_t need);
/* TABLE: a slot becomes invalid. */
void gcuc_slots_evict(struct gcuc_slots *s, int64_t slot);
/* FIFO: after an op3 that has used a slot, with so many op4 complete; after the last op4. */
void gcuc_slots_fifo(struct gcuc_slots *s, int64_t complete);
void gcuc_slots_fifo_end(struct gcuc_slots *s);

/*
 * table.c: makes the replacement tables of a block for its number of slots. The first @pinned
 * rows that a kernel group needs stay for all others. false: the slots do not suffice, or there is
 * no memory.
 */
bool gcuc_table_make(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t pinned,
		     struct gcuc_table *t);
void gcuc_table_free(struct gcuc_table *t);

/* What a block costs, as the core counts it. */
struct gcuc_count {
	uint64_t cycles, compute, stall;
	uint64_t dma_rows, dma_weights;		/* clocks; rows: and psum, ofmap */
	/* Bytes; rows: and psum; weights: all else. */
	uint64_t read_rows, read_weights, written;
	uint64_t slots, useful;
	/* Rows read first and again, weights read again, tables: bytes. Part of the above. */
	uint64_t rows_once, row_refills, weight_refills, table_bytes;
	uint64_t lines;
};

/*
 * Counts a block that begins at time 0, without boot. Of more than kernel_groups of them the first
 * ones only. false: the array would wait for ever, or there is no memory.
 */
bool gcuc_count_block(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t kernel_groups,
		      struct gcuc_count *n);

#endif
