/* SPDX-License-Identifier: MIT */
/* The compiler of core ccp: nodes and segments. Sizes are in floats unless a name says lines. */
#ifndef CCPC_CCP_H
#define CCPC_CCP_H

#include "code.h"

struct ccpc_padding {
	int64_t top, bottom, left, right;
};

struct ccpc_conv {
	int64_t n, groups, ci, co;		/* ci, co: input, output channels of one group */
	int64_t ih, iw, oh, ow, kh, kw, sy, sx; /* input, output, kernel, strides */
	struct ccpc_padding pad;
	struct ccpc_weights w;
	/*
	 * An average whose divisor is the number of elements under the window: those of the map and
	 * of the padding @counted. There is one kernel of weights for each such number.
	 */
	bool average;
	struct ccpc_padding counted;
	bool adds; /* the node's operand add is added */
	/*
	 * Plan: rows and columns of a slab, columns 0: all; output channels of a tile, and of a
	 * chunk of weights.
	 */
	int64_t rows, columns, out_co, weight_co;
	int64_t block;		/* groups of a tile; 0: one by one */
	int64_t slice;		/* input channels per EXEC; 0: all */
	bool slice_input;	/* the read bank holds one slice only */
	bool out_first;		/* weights stay while slabs change */
	int64_t part_columns;	/* columns of patches per section */
};

struct ccpc_fc {
	int64_t rows, in, out;
	struct ccpc_weights w;
	/* Plan: rows of x in the bank, outputs per weight slice, slices per section, buffers. */
	int64_t block, slice, section_slices, buffers;
};

struct ccpc_mean {
	int64_t n, c, plane;
	int64_t block; /* plan: channels per section */
};

struct ccpc_pool {
	int64_t n, c, ih, iw, oh, ow, kh, kw, sy, sx;
	struct ccpc_padding pad; /* top and left only */
	bool average;
	int64_t rows, block; /* plan: rows and channels per section */
};

struct ccpc_pad {
	int64_t n, c, ih, iw, layers;
	int64_t block; /* plan: channels per section */
};

struct ccpc_kind;

struct ccpc_node {
	const struct ccpc_kind *kind; /* NULL: it has no code */
	int node; /* index in the graph */
	union {
		struct ccpc_conv conv;
		struct ccpc_fc fc;
		struct ccpc_mean mean;
		struct ccpc_pool pool;
		struct ccpc_pad pad;
	};
	bool relu;
	bool alternate;	/* plan: tiles alternate between the halves of the banks */
	struct ccpc_operand in, out; /* bound to the read and the write bank */
	/* Added to each output after the bias and before ReLU; bound to the read bank. */
	struct ccpc_operand add;
	int64_t weight_line;		/* memory line of its packed weights */
	uint64_t trial_cycles;		/* of the plan */
	struct ccpc_weight_chunk first; /* of its weights */
};

/* Floats that tiles of an operand may take in its bank. */
static inline int64_t ccpc_capacity(const struct ccpc_node *n, const struct ccpc_operand *o)
{
	return o->bind.resident ? CCPC_UNLIMITED :
	       n->alternate	? o->bind.half_capacity :
				  o->bind.capacity;
}

static inline int64_t ccpc_in_capacity(const struct ccpc_node *n)
{
	return ccpc_capacity(n, &n->in);
}

static inline int64_t ccpc_out_capacity(const struct ccpc_node *n)
{
	return ccpc_capacity(n, &n->out);
}

/*
 * A tile is loaded, computed and stored. For each tile the caller goes through this order:
 * ccpc_tile_load loads the input (NULL: the caller loads it) and the addend (NULL: none), and
 * places input, addend and output in the banks; then the caller loads weights; ccpc_tile_start;
 * the caller emits the EXECs; ccpc_tile_done, or ccpc_tile_add, which calls it. The output is
 * stored with the next tile, or by ccpc_tile_flush at the end of the node or task, which also
 * restores the roles of the banks. If tiles alternate, ccpc_tile_prefetch loads the input of the
 * next tile before this one computes.
 */
void ccpc_tile_load(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
		    struct ccpc_region *add, struct ccpc_region *out);
void ccpc_tile_start(struct ccpc_code *c);
void ccpc_tile_prefetch(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region in);
void ccpc_tile_done(struct ccpc_code *c, const struct ccpc_region *out);
/* Makes a section; without an argument. */
void ccpc_tile_flush(struct ccpc_code *c, const void *none);
/* Most cycles that ccpc_tile_flush takes. */
uint64_t ccpc_tile_cycles_left(const struct ccpc_code *c);
/* Exchanges the banks inside a node. */
void ccpc_tile_swap(struct ccpc_code *c);
/* First free line of the read and of the write bank. */
int64_t ccpc_tile_read_line(const struct ccpc_code *c, const struct ccpc_node *n);
int64_t ccpc_tile_write_line(const struct ccpc_code *c, const struct ccpc_node *n);
/*
 * Adds @add to the computed @out and applies ReLU. The result goes to the other bank, behind @in,
 * which stays there (NULL: the result replaces it). @ones: float of weight bank 0 where two weights
 * of 1 are.
 */
void ccpc_tile_add(struct ccpc_code *c, const struct ccpc_node *n, const struct ccpc_region *in,
		   const struct ccpc_region *add, struct ccpc_region *out, int64_t ones);

/* True if the node's tiles may exchange the banks, alternate between halves, or be added to. */
bool ccpc_can_swap(const struct ccpc_node *n);
bool ccpc_can_alternate(const struct ccpc_node *n);
bool ccpc_can_add(const struct ccpc_node *n);
/*
 * Best number of tiles for a node that moves @lines and whose tiles alternate. The first load and
 * the last store overlap no EXEC, so tiles should be small; each costs the controller some cycles.
 */
int64_t ccpc_best_parts(int64_t lines);
/* Floats of a bank that a pending output and a new input may share when the banks are exchanged. */
int64_t ccpc_swap_capacity(const struct ccpc_node *n);
/* Cycles of an addition to @lines of output, and the most floats that one takes. */
int64_t ccpc_add_cycles(int64_t lines);
#define CCPC_ADD_MAX ((int64_t)UINT16_MAX * CNNACC_CCP_LANES)

/* What a node runs on: each kind is in a file of its name. */
struct ccpc_kind {
	const char *text; /* for reasons */
	/*
	 * Picks tile sizes for the node's bindings; each further attempt (from 0) makes the sections
	 * smaller, and false means there is nothing smaller.
	 */
	bool (*plan)(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);
	/* Packs the weights and sets weight_line and first; NULL: it has none. */
	int (*weights)(struct ccpc_code *c, struct ccpc_node *n);
	/* Makes the code, and returns what ccpc_emit_section does. */
	int (*emit)(struct ccpc_code *c, struct ccpc_node *n);
};

extern const struct ccpc_kind ccpc_conv, ccpc_fc, ccpc_mean, ccpc_pool, ccpc_pad;

bool ccpc_conv_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);

/* True if a pool runs in stages, which overwrite input and output: neither may be resident. */
bool ccpc_pool_is_staged(const struct ccpc_node *n);

struct ccpc_core {
	struct cnn_backend base;
	struct ccpc_hw hw;
	struct ccpc_node *nodes; /* by graph index */
	int *index;		/* scratch by value, -1 */
	int64_t words, weights;	/* of all nodes planned so far */
	uint64_t residency_insns; /* those of the search for residency */
};

static inline int64_t ccpc_value_line(const struct ccpc_core *core, int value)
{
	return (CNN_VA_ARENA + core->base.compile->out->slots[value].offset) / CNNACC_LINE_SIZE;
}

enum ccpc_trial_result { CCPC_FITS, CCPC_NO_MEMORY, CCPC_NO_TASK, CCPC_NO_CAPACITY };

/* Picks tile sizes for n's bindings by making its code without keeping it; *t: what it takes. */
enum ccpc_trial_result ccpc_node_try(struct ccpc_core *core, struct ccpc_node *n,
				     struct ccpc_trial *t);
int ccpc_node_weights(struct ccpc_code *c, struct ccpc_node *n);
int ccpc_node_emit(struct ccpc_code *c, struct ccpc_node *n);
/* Writes to reason how the node runs: its unit, what stays on chip, its tiles. */
void ccpc_node_describe(const struct ccpc_node *n, const char *op, char *reason);

#define CCPC_RESIDENT_MAX 8 /* values resident at a time */
#define CCPC_MOVES_MAX	  (CCPC_RESIDENT_MAX + 2)

/* What is done around a node of a segment. */
struct ccpc_node_schedule {
	struct ccpc_move moves[CCPC_MOVES_MAX]; /* before it */
	int n_moves, cut_at;
	bool cut;		/* a new task begins before move cut_at */
	unsigned int bank;	/* to read */
	struct ccpc_bank_binding in, out, add;
	bool pinned;		/* the task must not end inside the node */
	bool store;		/* store the output after it */
};

/*
 * Finds a schedule for each node of a segment that has code, and sets bindings and sizes of these
 * nodes. False if there is no memory or no schedule.
 */
bool ccpc_search_residency(struct ccpc_core *core, const struct cnn_segment *seg,
			   struct ccpc_node_schedule *schedules);
int ccpc_lower(struct cnn_backend *base, struct cnn_segment *seg);

/*
 * legalize.c: dilated convolutions become convolutions of phases; strides, scales and
 * ConvTransposes what the core has.
 */
int ccpc_legalize(struct cnn_graph *g, int place, struct cnn_err *err);
/* A BatchNormalization only pays beside a convolution. */
int ccpc_companions(const struct cnn_graph *g, int node, int *nodes);

/* Describes a graph node as a ccpc_node; false with the reason if it cannot run on ccp. */
bool ccpc_match(const struct ccpc_hw *hw, const struct cnn_graph *g, int node, struct ccpc_node *n,
		char *reason);

#endif
