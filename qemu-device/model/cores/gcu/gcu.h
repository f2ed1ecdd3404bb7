/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Internals of core gcu (Documentation/hardware/gcu.rst). */
#ifndef CM_GCU_H
#define CM_GCU_H

#include "cnnacc_gcu.h"
#include "core.h"
#include "mmu.h"

#define GCU_ATOMIC_MAX	CNNACC_GCU_ATOMIC_MAX
#define GCU_ROWS_MAX	CNNACC_GCU_ROWS_MAX
#define GCU_BANKS_MAX	CNNACC_GCU_RBUF_BANKS_MAX
#define GCU_BANK_WORDS	CNNACC_GCU_BANK_WORDS
#define GCU_TAPS_MAX	CNNACC_GCU_POINTS_MAX
#define GCU_LATENCY	16	/* cycles from a transfer's last line to its data */
#define GCU_SETUP	16	/* cycles at the start of the boot and of a block */
#define GCU_SWAPS	2	/* swap slots of the kernel area */

/* A step of the computation: a block of kernels and of columns.  Saved states count in steps. */
#define GCU_STEP_KERNELS	8
#define GCU_STEP_COLUMNS	16
#define GCU_PENDING_MAX		256

enum gcu_phase {
	GCU_IDLE,
	GCU_BOOT,
	GCU_BLOCK,		/* check a block and begin it */
	GCU_PROBE,		/* or fill */
	GCU_PAUSE,		/* a wait block */
	GCU_LUT,
	GCU_KERNELS,		/* a kernel group's part of the linear table */
	GCU_WEIGHTS,		/* fill the kernel area */
	GCU_FIRST_ENTRY,	/* of the replacement tables */
	GCU_WALK,		/* request rows; s->after says where to go on */
	GCU_ROW,		/* begin an output row */
	GCU_PSUM,
	GCU_OP4,
	GCU_OP3,		/* and those behind it */
	GCU_SWAP,		/* release the swap slot */
	GCU_REPLACE,		/* TABLE: evict rows */
	GCU_OUTPUT,
	GCU_CHECK,		/* of the cycle limit after an op4 */
	GCU_END,		/* of the layer */
	GCU_PHASES
};

/** struct gcu_counts - counters of a job or of the running block. */
struct gcu_counts {
	struct cnnacc_stats n;
	uint64_t row_fills, row_bytes, row_refills, evictions;
	uint64_t weight_bytes, weight_refills, table_bytes;
	uint64_t stall_row, stall_weight, stall_psum, stall_rbuf;
	uint64_t taps_masked, taps;
};

/** struct gcu_op - an op3 whose products are not yet in the accumulators. */
struct gcu_op {
	uint16_t row_slot;
	uint16_t kernel_slot;
	uint16_t r;		/* kernel row */
	uint16_t reserved;
};

/** struct gcu_state - head of the flat state; the memories follow it. */
struct gcu_state {
	uint64_t cycle_limit;
	uint64_t time;			/* T: end of the last block */
	uint64_t t, f, w, p, o;		/* array; rows, weights, psum, results */
	uint64_t bank_free[GCU_BANKS_MAX];
	uint64_t row_ready[GCU_ROWS_MAX];
	uint64_t resident_ready;	/* of the resident group that the array used last */
	uint64_t swap_ready[GCU_SWAPS];
	uint64_t weight_va;		/* of the running kernel group */
	uint64_t swap_next;		/* number of the next swap request */
	uint64_t packet_done;		/* op4 of the packet that are complete */
	uint64_t pos;			/* progress inside a phase */
	uint64_t row_valid[GCU_ROWS_MAX / 64];
	struct gcu_counts job;		/* of completed blocks */
	struct gcu_counts block;
	uint32_t row_tag[GCU_ROWS_MAX];	/* row << 16 | channel group */
	uint32_t program_va, program_len;
	uint32_t pc;			/* block index */
	uint32_t phase, after;		/* enum gcu_phase */
	uint32_t narrow;		/* STATUS.NARROW */
	/* Registers of the window. */
	uint32_t kernel_group, out_row, channel_group;
	uint32_t fifo_write, fifo_oldest;
	uint32_t op4, trigger, entry;
	uint32_t resident, resident_first;
	uint32_t swap_valid, swap[GCU_SWAPS];
	/* Position of the array: kernel group, output row, channel group, kernel row. */
	uint32_t i, h, cg, r;
	uint32_t rows_begun;		/* output rows begun in this layer */
	/* Position of the generator of row requests in its packet. */
	uint32_t need_h, need_cg, need_r;
	/* For SEARCH. */
	uint32_t layer_ran, last_columns, last_size;
	uint32_t pending_count, steps;	/* steps of them that are done */
	struct gcu_op pending[GCU_PENDING_MAX];
	uint8_t vector[GCU_ROWS_MAX / 8];
};

/** struct gcu_layer - a decoded layer block. */
struct gcu_layer {
	struct cnnacc_gcu_layer b;
	uint32_t format, out, act;
	bool acc16, psum, linear, round_up, clamp, table;
	bool unsigned_ifmap, unsigned_weights;
	int32_t zx, zw, zy;
	uint32_t width, height, channels, kernels;
	uint32_t ofmw, ofmh;
	uint32_t s, r;
	uint32_t step_h, step_v;	/* strides */
	uint32_t dil_h, dil_v;		/* distance of kernel points */
	uint32_t gap_h, gap_v;		/* distance of inputs in the extended map */
	uint32_t left, right, top, bottom;
	uint32_t group_n;
	uint32_t fmap_banks, columns, rows;
	uint32_t group_size, group_count;
	uint32_t esz, osz;		/* bytes of an element of the ifmap, the ofmap */
	uint32_t kernel_groups;
	uint32_t op1_cycles;		/* max(ofmw, RBUF_WT_LA + 1) */
	uint32_t latency, tail;		/* P, Q */
};

/** struct gcu_group - a kernel group of a layer. */
struct gcu_group {
	uint32_t k0, kn;
	uint32_t first, count;		/* channel groups */
	uint32_t resident;		/* of them with a slot of their own */
	uint64_t swaps;			/* swap requests */
};

/** struct gcu_index - finds valid slots by tag; a chain is in order of age. */
#define GCU_BUCKETS	1024
#define GCU_NONE	0xffffu
struct gcu_index {
	uint16_t head[GCU_BUCKETS];
	uint16_t next[GCU_ROWS_MAX];
};

/**
 * struct gcu_columns - where a layer's taps find their inputs in a row of operands.
 *
 * A row of operands has the columns of the extended map, padding included, sorted by their
 * remainder modulo the stride, so that the columns of a tap are consecutive.
 */
struct gcu_columns {
	uint32_t pitch;				/* places of a row */
	uint32_t tap[GCU_TAPS_MAX];		/* place of column 0 of tap s */
	int32_t *source;			/* by place: input column, -1: none */
	uint32_t *real;				/* by place: all ones or 0 */
};

struct gcu_simd;
struct gcu_operands;

struct gcu {
	struct gcu_state *s;
	uint8_t *program;
	uint8_t *cbuf;
	int32_t *acc;			/* [kernel][acc_pitch]: accumulators of the running row */
	uint8_t *linear;		/* of the running kernel group */
	uint8_t *lut;
	size_t size;			/* of the state */

	uint32_t atomic_c, atomic_k, banks, max_rows, rbuf_banks, rbuf_depth, bus, program_size;
	bool fp_floor;
	uint32_t word;			/* bytes of a CBUF word */
	uint32_t word_shift;		/* log2 of it */
	uint32_t line_cycles;		/* LB */
	struct cm_core_resources resources;
	const struct gcu_simd *simd;
	bool filled;			/* a job may have filled the memories */

	/* Derived from the state, never saved. */
	struct gcu_layer layer;
	struct gcu_group group;
	struct gcu_index index;
	struct gcu_columns columns;
	uint32_t row_taps;		/* gcu_row_taps() */
	uint32_t acc_pitch;		/* columns, rounded up to steps */
	uint32_t valid_rows;
	struct gcu_operands *operands;
	uint8_t *buffer;		/* for a transfer */
};

/** struct gcu_run - a call of step(). */
struct gcu_run {
	struct cm_port *port;
	int64_t budget;			/* ns */
	struct cm_core_fault *fault;
};

enum gcu_outcome {
	GCU_GO_ON,
	GCU_WAIT,		/* too early for the next access */
	GCU_ENDED,
	GCU_FAILED,		/* the fault is filled in */
};

/* controller.c */
enum cm_core_step gcu_step(void *core, struct cm_port *port, uint32_t budget_ns,
			   struct cm_core_fault *fault);
/* Derive from a loaded state what its layer is; false if it is no legal one. */
bool gcu_prepare(struct gcu *g);

/* outcome.c */
enum gcu_outcome gcu_fail(struct gcu_run *run, uint32_t status_class, uint32_t code,
			  uint32_t detail);
/* A refused access has filled in the rest of the fault. */
enum gcu_outcome gcu_refused(struct gcu_run *run);
/* The block is complete at @end: count it, check the limit, go to the next one. */
enum gcu_outcome gcu_complete(struct gcu *g, uint64_t end, struct gcu_run *run);
enum gcu_outcome gcu_time_limit(struct gcu *g, uint64_t cycles, struct gcu_run *run);
/* What the block has done so far counts. */
void gcu_count_block(struct gcu *g);

/* block.c: decode block @pc; return enum cnnacc_gcu_field of the first bad field, or 0 */
uint32_t gcu_block_kind(const struct gcu *g, uint32_t pc);
uint32_t gcu_decode_layer(const struct gcu *g, uint32_t pc, struct gcu_layer *l);
uint32_t gcu_check_probe(const struct gcu *g, uint32_t pc, struct cnnacc_gcu_probe *b);
uint32_t gcu_check_wait(const struct gcu *g, uint32_t pc, struct cnnacc_gcu_wait *b);

/* geometry.c */
void gcu_group(const struct gcu *g, const struct gcu_layer *l, uint32_t i, struct gcu_group *group);
/* Input row that kernel row @r of output row @h reads, -1 if it is padding. */
int32_t gcu_input_row(const struct gcu_layer *l, uint32_t h, uint32_t r);
/* Does an output row before @h need input row @y? */
bool gcu_needed_before(const struct gcu_layer *l, uint32_t h, uint32_t y);
/* Pairs of a kernel and a channel of group @cg that are in one group of the convolution. */
uint64_t gcu_pairs(const struct gcu *g, const struct gcu_layer *l, const struct gcu_group *group,
		   uint32_t cg);
void gcu_lay_out_columns(const struct gcu_layer *l, struct gcu_columns *columns);
/* (s, w) of an op3 that are not masked. */
uint32_t gcu_row_taps(const struct gcu_layer *l, const struct gcu_columns *columns);
/* Places of the longest row of operands of any layer. */
#define GCU_PLACES_MAX	36864u

/* layer.c: phases of a layer */
enum gcu_outcome gcu_layer_phase(struct gcu *g, struct gcu_run *run);
void gcu_begin_layer(struct gcu *g);

/* slots.c: the feature-map area */
void gcu_index_rebuild(struct gcu *g);
uint32_t gcu_find_row(const struct gcu *g, uint32_t cg, uint32_t y);
uint32_t gcu_valid_rows(const struct gcu_state *s);
enum gcu_outcome gcu_walk(struct gcu *g, struct gcu_run *run);
void gcu_evict_fifo(struct gcu *g);
void gcu_evict_all(struct gcu *g);
void gcu_evict_vector(struct gcu *g);
enum gcu_outcome gcu_load_next(struct gcu *g, struct gcu_run *run);

/* kernels.c: the kernel area */
enum gcu_outcome gcu_load_linear(struct gcu *g, struct gcu_run *run);
enum gcu_outcome gcu_load_weights(struct gcu *g, struct gcu_run *run);
enum gcu_outcome gcu_release_swap(struct gcu *g, struct gcu_run *run);
/* Slot of the channel group at position @cg of the kernel group, and when it is ready. */
uint32_t gcu_kernel_slot(const struct gcu *g, uint32_t cg, uint64_t *ready);
void gcu_resident_next(struct gcu *g, uint32_t cg);

/* cbuf.c */
/* Where the surfaces of a row slot are. */
uint8_t *gcu_row_slot(const struct gcu *g, uint32_t slot);
void gcu_store_row(struct gcu *g, uint32_t slot, uint32_t real, const uint8_t *data);
void gcu_store_kernels(struct gcu *g, uint32_t slot, const uint8_t *data);
/* Physical byte of logical byte @at of the kernel area. */
size_t gcu_kernel_byte(const struct gcu *g, size_t at);
/* Words of the kernel area from logical byte @at on, where a word begins. */
void gcu_load_words(const struct gcu *g, size_t at, size_t count, uint8_t *to);
/* Some words of a probe or fill. */
void gcu_read_words(const struct gcu *g, const struct cnnacc_gcu_probe *b, uint32_t first,
		    uint32_t count, uint8_t *out);
void gcu_write_words(struct gcu *g, const struct cnnacc_gcu_probe *b, uint32_t first,
		     uint32_t count, const uint8_t *in);

/* maps.c: parts of rows of maps in memory */
struct gcu_part {
	uint64_t va;
	uint64_t stride;	/* from a column to the next */
	uint32_t columns, bytes;	/* of each column */
};

struct gcu_part gcu_map_part(const struct cnnacc_gcu_map *map, uint64_t cg, uint64_t y,
			     uint32_t columns, uint32_t bytes);
uint64_t gcu_lines(const struct gcu_part *part);
/* Move columns @first.. of a part; @buf has them without gaps. */
int gcu_move(struct gcu_run *run, const struct gcu_part *part, uint8_t *buf,
	     enum cnnacc_access access);

/* output.c: what begins and ends an output row */
uint64_t gcu_psum_lines(const struct gcu *g);
uint64_t gcu_ofmap_lines(const struct gcu *g);
/* Return 1: done, 0: budget used up, -1: refused. */
int gcu_read_psum(struct gcu *g, struct gcu_run *run);
int gcu_write_ofmap(struct gcu *g, struct gcu_run *run);

/* activation.c: outputs of kernel @k, an element's bits in the low bits of each word */
void gcu_activate(const struct gcu *g, uint32_t k, const int32_t *acc, uint32_t count,
		  int32_t *out);

/* products.c */
/* Add an op3 to those that are pending; false: call again, the budget is used up. */
bool gcu_products_add(struct gcu *g, const struct gcu_op *op, struct gcu_run *run);
/* Compute until nothing is pending (true) or the budget is used up. */
bool gcu_products_finish(struct gcu *g, struct gcu_run *run);
/* Do pending op3 use a slot's contents? */
bool gcu_row_pending(const struct gcu *g, uint32_t slot);
bool gcu_kernel_pending(const struct gcu *g, uint32_t slot);
/*
 * Before a slot gets other contents; @pending is the answer of the functions above.  False: call
 * again, the budget is used up.
 */
bool gcu_products_overwrite(struct gcu *g, bool pending, struct gcu_run *run);
/* The end of step(): compute what a saved state could not. */
void gcu_products_save(struct gcu *g, struct gcu_run *run);
/* Nothing is pending any more. */
void gcu_products_drop(struct gcu *g);
/* A loaded state has pending op3. */
void gcu_products_rebuild(struct gcu *g);
uint32_t gcu_steps(const struct gcu *g);
/* An output row begins with zeros, or with accumulators of any size. */
void gcu_products_reset(struct gcu *g, bool zero);

/* operands.c: a layer begins; a slot gets other contents */
void gcu_operands_drop(struct gcu *g);
void gcu_operands_drop_row(struct gcu *g, uint32_t slot);
void gcu_operands_drop_kernels(struct gcu *g, uint32_t slot);

/* probe.c: a probe or fill block */
enum gcu_outcome gcu_probe(struct gcu *g, struct gcu_run *run);

/* pause.c: a wait block */
enum gcu_outcome gcu_pause(struct gcu *g, struct gcu_run *run);

/* timing.c */
static inline uint64_t gcu_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* End of a transfer of @lines on a stream that is free at @stream. */
static inline uint64_t gcu_end(const struct gcu *g, uint64_t stream, uint64_t lines)
{
	return gcu_later(stream, g->s->t) + g->line_cycles * lines;
}

void gcu_count_read(struct gcu *g, uint64_t lines, uint64_t bytes);
void gcu_count_write(struct gcu *g, uint64_t lines, uint64_t bytes);
void gcu_wait(struct gcu *g, uint64_t *stall, uint64_t until);
void gcu_count_op3(struct gcu *g, bool masked);
void gcu_counts_add(struct gcu_counts *sum, const struct gcu_counts *add);

static inline uint32_t gcu_tag(uint32_t cg, uint32_t y)
{
	return y << 16 | cg;
}

static inline uint64_t gcu_div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static inline uint32_t gcu_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Real channels of group @cg of a map with @channels. */
static inline uint32_t gcu_real(const struct gcu *g, uint32_t channels, uint32_t cg)
{
	return gcu_least(g->atomic_c, channels - cg * g->atomic_c);
}

#endif
