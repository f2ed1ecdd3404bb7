/* SPDX-License-Identifier: MIT */
/*
 * A clocked model of core gcu that counts cycles by stepping: one call per clock, no formula.
 * It moves no data, only tracks when each line moves and when each surface is used.
 *
 * In a clock the fetchers look at what is free, the streams move bytes, the array takes a
 * surface, and the output stage a column.  What a part of the core changes, the others see in
 * the next clock.
 */
#ifndef GCU_MICRO_H
#define GCU_MICRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cnnacc_gcu.h"

#define MICRO_START		16	/* clocks before a layer does anything */
#define MICRO_LATENCY		16	/* from a line's last byte to its use */
#define MICRO_SLOTS		CNNACC_GCU_ROWS_MAX
#define MICRO_QUEUE		1024
#define MICRO_COLUMNS		(2 * CNNACC_GCU_RBUF_DEPTH_MAX)

/** struct micro_build - build parameters that matter. */
struct micro_build {
	unsigned int atomic_c, atomic_k, rbuf_banks, bus;
};

/** struct micro_layer - numbers of a layer's block, and its tables. */
struct micro_layer {
	unsigned int w, h, c, k, ofmw, ofmh, s, r, vstride, hstride;
	unsigned int dil_h, dil_v, inner_lr, inner_tb, left, top, groups;
	unsigned int rows, kernel_slots, threshold;
	unsigned int bytes, out_bytes;		/* of an element */
	bool fp16, psum, linear, act, lut, table;
	struct cnnacc_gcu_map ifmap, psum_map, ofmap;
	uint32_t weight_va, linear_va;
	const uint8_t *increment, *vector;
};

/** struct micro_count - what the clocks were. */
struct micro_count {
	uint64_t cycles;
	uint64_t busy;			/* clocks of the array with a surface, masked or not */
	uint64_t held;			/* for the update pipeline */
	uint64_t waited;		/* without data or an empty bank */
	uint64_t first, last;		/* clocks of the first and the last surface */
	uint64_t macs, slots;		/* of the busy clocks with an unmasked surface; of all */
};

/** struct micro_stream - a memory stream with its requests in order. */
struct micro_stream {
	struct micro_request {
		uint64_t clocks;	/* that it still takes */
		uint64_t *ready;	/* gets the clock in which the data can be used */
	} queue[MICRO_QUEUE];
	unsigned int head, count;
};

enum micro_slot_state { MICRO_FREE, MICRO_TAKEN };

struct micro_slot {
	enum micro_slot_state state;
	unsigned int cg, row;
	uint64_t ready;
};

/** struct micro_walker - a place in the order of the loops: op5, op4, op3. */
struct micro_walker {
	unsigned int h, cg, r;
	uint64_t op4;			/* of the packet */
	bool end;
};

struct micro {
	struct micro_build build;
	struct micro_layer l;
	struct micro_count *count;
	uint64_t clock;

	/* kernel group */
	unsigned int group, groups, k0, kn, cg_first, cg_last;
	bool group_begun;

	struct micro_stream rows, weights, psum;

	/* row slots */
	struct micro_slot slot[MICRO_SLOTS];
	unsigned int taken, fifo_write, fifo_oldest;
	struct micro_walker fetch;
	uint32_t op4, trigger, entry;
	uint8_t vector[MICRO_SLOTS / 8];

	/* kernel area: ready clocks by slot, and which channel group is in the swap slots */
	uint64_t kernel_ready[1 << 16];
	unsigned int swap_cg[2];
	bool swap_taken[2];
	uint64_t swap_requests;
	uint64_t weight_va;		/* of the kernel group */

	/* array */
	struct micro_walker at;
	unsigned int s, column;
	unsigned int step_clocks;	/* of this op2 step so far */
	bool in_op3;
	bool array_done;
	int slot_used;

	/* RBUF and output stage */
	uint64_t row_begun, row_out, psum_asked;	/* ofmap rows, in order */
	bool bank_taken[CNNACC_GCU_RBUF_BANKS_MAX];
	uint64_t psum_ready[CNNACC_GCU_RBUF_BANKS_MAX];
	struct {
		unsigned int h, k0, kn;
	} bank_row[CNNACC_GCU_RBUF_BANKS_MAX];
	uint64_t full;			/* ofmap rows complete and not yet begun to be read */
	uint64_t sums;			/* bit n: a row's last surface is in stage n, 0: CBUF */
	bool reading;
	unsigned int out_column;
	unsigned int lines_at[MICRO_COLUMNS];	/* lines that begin with a column */
	uint64_t to_move;		/* clocks of the bus for lines that have begun */
	uint64_t in_stages;		/* bit n: something is in stage n behind the bank */
};

/* streams.c */
void micro_request(struct micro *m, struct micro_stream *s, uint64_t clocks, uint64_t *ready);
unsigned int micro_line_clocks(const struct micro *m);
void micro_stream_step(struct micro *m, struct micro_stream *s);
unsigned int micro_lines(uint64_t va, uint64_t bytes);
/* Lines of @n columns of @m bytes. */
uint64_t micro_row_lines(uint64_t va, unsigned int n, unsigned int m, uint32_t stride);

/* geometry.c */
void micro_begin_group(struct micro *m);
unsigned int micro_channels(const struct micro *m, unsigned int cg);
/* The input row of (h, r), the input column of (w, s); -1: masked. */
int micro_row(const struct micro *m, unsigned int h, unsigned int r);
int micro_column(const struct micro *m, unsigned int w, unsigned int s);
struct micro_walker micro_first(const struct micro *m);
/* One op3 further; true if an op4 has ended. */
bool micro_next(const struct micro *m, struct micro_walker *at);
/* Multiply-accumulates of a surface that are in the convolution. */
unsigned int micro_useful(const struct micro *m, unsigned int cg);

/* rows.c, weights.c */
void micro_rows_begin(struct micro *m);
void micro_fetch_step(struct micro *m);
int micro_find(const struct micro *m, unsigned int cg, unsigned int row);
void micro_after_op3(struct micro *m);
void micro_after_op4(struct micro *m);
void micro_rows_end(struct micro *m);
void micro_weights_begin(struct micro *m);
uint64_t micro_weights_ready(const struct micro *m, unsigned int cg);
void micro_weights_used(struct micro *m, unsigned int cg);

/* array.c, output.c */
void micro_array_step(struct micro *m);
void micro_psum_step(struct micro *m);
void micro_output_step(struct micro *m);
bool micro_output_busy(const struct micro *m);

/* micro.c: cycles of a program of one layer, its boot included */
void micro_run(const struct micro_build *build, const struct cnnacc_gcu_layer *block,
	       const uint8_t *increment, const uint8_t *vector, struct micro_count *count);

#endif /* GCU_MICRO_H */
