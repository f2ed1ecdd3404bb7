/* SPDX-License-Identifier: MIT */
/*
 * Core enpu: one instruction for a layer of 8 bits (Documentation/hardware/enpu.rst).
 *
 * A unit of the graph is a layer of one or more stages.  Its maps lie in the arena as in the DTCMs:
 * [n][H][W][C], the channels of a pixel padded to words of 16.  A layer that fits the DTCMs is
 * computed as a whole, and its maps stay there for the layers behind it (residency.c); another one
 * is cut into slabs that come from memory and go back there (slabs.c).  The output channels of a
 * layer are cut into pieces: what is one instruction, or one chain.
 */
#ifndef ENPUC_ENPU_H
#define ENPUC_ENPU_H

#include <cnnacc_enpu.h>

#include "backend/sequencer.h"

#define ENPUC_WORD		CNNACC_ENPU_WORD_BYTES
#define ENPUC_FIELD_MAX		256	/* Ho, Wo, Co, Ci */
#define ENPUC_STAGES		12	/* of a layer */
#define ENPUC_PIECES		64	/* of a layer */
#define ENPUC_BANKS		CNNACC_ENPU_BANKS
#define ENPUC_COMMANDS_MIN	512	/* of a program */

/* What the discovery table says of a core; memories in words, by enum cnnacc_enpu_memory. */
struct enpuc_hw {
	int64_t words[CNNACC_ENPU_MEMORIES];
	int64_t insns;			/* of the ITCM */
	int stages;			/* of a layer at most */
	int64_t commands;		/* of a program */
	uint64_t cycles_max;
	bool prefetch;
	int psum_bits;
	char bad[CNN_REASON_LEN];	/* why this core gets no nodes; "": it is supported */
};

/* How the second map of ADD and MUL becomes as large as the first. */
enum enpuc_repeat { ENPUC_WHOLE, ENPUC_REPEAT_ROW, ENPUC_REPEAT_COLUMN, ENPUC_REPEAT_PIXEL };

/* A stage; what it takes from tensors of the graph lives as long as that. */
struct enpuc_stage {
	uint32_t opcode;		/* enum cnnacc_enpu_opcode */
	int node;			/* of the graph */
	int result;			/* value of the graph; -1: only the next stage reads it */
	bool stored;			/* others read the result */
	bool relu;			/* CONV becomes CONV_RELU */
	const int8_t *weights;		/* output channel k, input channel, row, column */
	int64_t per_channel;		/* weights of an output channel */
	bool transposed;		/* weights [input channel][output channel] of a matrix */
	const struct cnn_tensor *add, *shift;	/* NULL: 0 */
	int zero;			/* of the input: less zero times the weights' sum */
	const uint32_t *table;		/* of LUT */
	int b;				/* second map, or -1 */
	enum enpuc_repeat repeat;
	struct cnn_layout b_layout;
};

enum { ENPUC_ROWS, ENPUC_COLUMNS, ENPUC_AXES };

/*
 * How copies put a window layer together that the core cannot compute of the maps as they lie.  A
 * dilated kernel is dense over one pixel of so many (a phase); rows of a kernel are channels.
 */
struct enpuc_gather {
	bool used;
	int64_t out[ENPUC_AXES], in[ENPUC_AXES];	/* pixels from one of a phase to the next */
	int64_t kernel_rows;		/* that are channels, with stride in[ENPUC_ROWS]; or 1 */
	int64_t dilation;		/* of these */
};

/* A layer: the nodes of a unit.  Filled by match. */
struct enpuc_layer {
	int stages;			/* 0: none, or another node leads its unit */
	struct enpuc_stage stage[ENPUC_STAGES];
	int in;				/* value */
	struct cnn_layout in_layout, out_layout;
	int64_t n, hi, wi, ci, ho, wo, co;	/* ci: with kernel rows that are channels */
	int64_t hk, wk, sh, sw, dh, dw;		/* as in the instruction's fields */
	int64_t ph, pw;				/* of the whole map */
	struct enpuc_gather gather;
	int64_t groups;
	int8_t pad;
	/* Transpose: the record's permutation, else 0; ho, wo and co are those of the input. */
	uint32_t order;
	int64_t out_words;		/* of an image of the result */
	/*
	 * Concat along the channels, or the rows of one image: the input and the second maps are
	 * copied into the result, each by an instruction of its own, which is no stage.
	 */
	bool concat, of_rows;
	int64_t part[ENPUC_STAGES];	/* channels or rows of each */
	/* Slice: where it begins in the input, whose sizes are in_layout's; hi, wi, ci: its own. */
	bool slice;
	int64_t from[CNN_DIMS];
};

/* Output channels that are computed together. */
struct enpuc_piece {
	/* First channels are multiples of 16.  Concat: ci0 is the first one of the part. */
	int64_t ci0, ci, co0, co;
	int source;			/* of Concat: the part */
	int64_t words;			/* in the weight DTCM */
};

/* How it is computed.  Filled by plan. */
struct enpuc_plan {
	struct enpuc_piece piece[ENPUC_PIECES];
	int pieces;
	bool whole;			/* all of it fits the DTCMs at once */
	int64_t rows, columns;		/* of the output, in a slab */
	int64_t buffers;		/* slabs that the DTCMs hold */
};

struct enpuc_node {
	struct enpuc_layer layer;
	struct enpuc_plan plan;
};

struct enpuc_core {
	struct cnn_backend base;
	struct enpuc_hw hw;
	struct enpuc_node *nodes;	/* by node index */
};

static inline int64_t enpuc_groups(int64_t channels)
{
	return cnn_div_up(channels, ENPUC_WORD);
}

/* Bits of enpuc_uses(). */
enum { ENPUC_WINDOW = 1, ENPUC_ALL_CHANNELS = 2, ENPUC_WEIGHTS = 4, ENPUC_MAP_B = 8 };

/* What kind of opcode it is. */
unsigned int enpuc_uses(uint32_t opcode);

/* The second map of a stage has as many rows and columns as is said, in the DTCM. */
struct enpuc_place {
	uint32_t memory;		/* CNNACC_ENPU_WORK or CNNACC_ENPU_SKIP */
	int64_t word;
	int64_t step;			/* words from a pixel to the next; 0: no others between */
};

/* Part of the output, and the input that it needs: the first pixel in the map, and how many. */
struct enpuc_slab {
	int64_t n, y, x, h, w;		/* of the output */
	int64_t in_y, in_x, in_h, in_w;	/* of the input, without padding */
	int64_t ph, pw;			/* padding before it */
};

/* Where the maps of a slab are in the DTCMs. */
struct enpuc_binding {
	struct enpuc_place in, b[ENPUC_STAGES], out, skip[ENPUC_STAGES];
	bool has_out;			/* the last result is in the working DTCM */
	bool has_skip[ENPUC_STAGES];	/* a stage's result is in the skip DTCM */
};

/* How many slabs a layer has, and one of them. */
int64_t enpuc_count_slabs(const struct enpuc_layer *l, const struct enpuc_plan *p);
struct enpuc_slab enpuc_slab_of(const struct enpuc_layer *l, const struct enpuc_plan *p, int64_t i);
/* The most that a slab of h x w pixels of the output may need. */
struct enpuc_slab enpuc_largest_slab(const struct enpuc_layer *l, int64_t h, int64_t w);
/* All of both maps. */
struct enpuc_slab enpuc_whole(const struct enpuc_layer *l);
/* Commands of a slab at most; clocks of copies by pixels besides one for each word. */
int64_t enpuc_slab_commands(const struct enpuc_layer *l);
uint64_t enpuc_gather_cycles(const struct enpuc_layer *l, const struct enpuc_slab *s);

/* Channels of the second map of stage i. */
static inline int64_t enpuc_second_channels(const struct enpuc_layer *l, int i)
{
	return l->concat && !l->of_rows ? l->part[i] : l->co;
}

/* The same of rows. */
static inline int64_t enpuc_second_rows(const struct enpuc_layer *l, int i)
{
	return l->of_rows ? l->part[i] : l->ho;
}

/* Has a slab a second map for stage i?  A window's input has other pixels than its output. */
bool enpuc_needs_second(const struct enpuc_layer *l, int i);

/* ---- match.c, plan.c ---- */
bool enpuc_is_for(const struct cnn_graph *g, const struct cnn_node *n);
bool enpuc_match(struct cnn_backend *base, struct cnn_unit *unit, char *reason);
int enpuc_companions(const struct cnn_graph *g, int node, int *nodes);
bool enpuc_plan(struct cnn_backend *base, const struct cnn_unit *unit, char *reason);
/* Words of a slab of the input and of the output. */
int64_t enpuc_in_words(const struct enpuc_layer *l, const struct enpuc_slab *s);
int64_t enpuc_out_words(const struct enpuc_layer *l, const struct enpuc_slab *s);
/* ---- legalize.c ---- */
/* Is it left out, or a constant of one number or one for each channel of a map? */
bool enpuc_is_by_channel(const struct cnn_tensor *t, int rank, int64_t channels);
int enpuc_legalize(struct cnn_graph *g, int place, struct cnn_err *err);

/* ---- cost.c ---- */
struct enpuc_cost {
	uint64_t cycles, slots, useful;
};

struct enpuc_tile {
	int64_t y, x, in_y, in_x, zs;
};

/* The tile of the least cycles for a piece of a slab; false: the kernel fits no tile. */
bool enpuc_find_tile(const struct enpuc_hw *hw, const struct enpuc_layer *l,
		     const struct enpuc_piece *p, const struct enpuc_slab *s,
		     const struct enpuc_binding *bind, struct enpuc_tile *t);
/* What the device counts for a piece of a slab. */
struct enpuc_cost enpuc_layer_cost(const struct enpuc_hw *hw, const struct enpuc_layer *l,
				   const struct enpuc_piece *p, const struct enpuc_slab *s,
				   const struct enpuc_binding *bind, const struct enpuc_tile *t);

/* ---- code.c: instructions and weights of an EXEC ---- */
struct enpuc_code {
	struct cnnacc_enpu_insn *insn;
	struct cnnacc_enpu_record *record;
	uint8_t *weights;		/* an image of the weight DTCM */
	int64_t insns, words;
	int64_t base;			/* word of the weight DTCM at which the image begins */
	struct enpuc_cost cost;
	bool failed;			/* no memory */
};

void enpuc_code_free(struct enpuc_code *c);
/* A piece of a slab of a layer, and where its maps and weights are. */
struct enpuc_part {
	const struct enpuc_layer *layer;
	const struct enpuc_piece *piece;
	struct enpuc_slab slab;
	const struct enpuc_binding *bind;
	int64_t weights;		/* word */
};

/* Appends instructions and records of a part, and adds what they cost. */
void enpuc_code_add(struct enpuc_code *c, const struct enpuc_hw *hw, const struct enpuc_part *part);
/* Puts the weights of a part into the image. */
void enpuc_code_pack(struct enpuc_code *c, const struct enpuc_part *part);
void enpuc_code_stop(struct enpuc_code *c);
/* Words of a Concat's result before the first one of a part. */
int64_t enpuc_words_before(const struct enpuc_layer *l, int part);
/* Is a piece of a Concat in its place in the result already? */
bool enpuc_is_in_place(const struct enpuc_layer *l, const struct enpuc_piece *p,
		       const struct enpuc_binding *b);
/* Words of the weight DTCM that a piece takes. */
int64_t enpuc_piece_words(const struct enpuc_layer *l, const struct enpuc_piece *p);

/* ---- residency.c, emit.c, slabs.c ---- */
/* Do all maps of a layer fit the DTCMs at once, if these have nothing else? */
bool enpuc_fits_whole(const struct enpuc_core *core, const struct enpuc_layer *l);

/* ENPUC_SLICE: the layer's result is loaded out of its input. */
enum enpuc_action_kind {
	ENPUC_LOAD, ENPUC_STORE, ENPUC_SLICE, ENPUC_RUN, ENPUC_SLABS, ENPUC_CUT,
};

/* A step of a segment. */
struct enpuc_action {
	enum enpuc_action_kind kind;
	int node;			/* that it is done for: its layer */
	/* Of LOAD, STORE and SLICE. */
	int value;
	enum enpuc_repeat repeat;	/* of LOAD */
	struct enpuc_place at;
	int64_t words;			/* from the first to the last, without repetition */
	int64_t pixel;			/* words of one, if at.step is not 0 */
	struct enpuc_binding bind;	/* of RUN */
};

struct enpuc_schedule {
	struct enpuc_action *action;
	int count;
	bool failed;			/* no memory */
};

/* The steps of nodes, with what stays in the DTCMs. */
void enpuc_schedule_segment(struct enpuc_core *core, const struct cnn_segment *seg,
			    struct enpuc_schedule *s);
/* A single node with all its values in memory. */
void enpuc_schedule_node(struct enpuc_core *core, int node, struct enpuc_schedule *s);

/* Addresses. */
struct enpuc_range {
	int64_t from, to;
};

/* A schedule that becomes programs. */
struct enpuc_emitter {
	struct enpuc_core *core;
	struct seqc *seq;
	const struct enpuc_schedule *schedule;
	bool running;			/* an EXEC has no WAIT yet */
	struct cnnrt_cost told;		/* of the program: what nodes have got */
	int first_node;			/* of the program, or -1 */
	/* What the program has read from the arena before it wrote it, and what it has written. */
	struct enpuc_range *reads, *writes;
	int n_reads, n_writes;
	bool restartable;
};

/* Begins a program; what a node has cost since the last call; waits for the core; ends it. */
void enpuc_begin(struct enpuc_emitter *e);
void enpuc_tell_cost(struct enpuc_emitter *e, int node);
void enpuc_wait(struct enpuc_emitter *e);
int enpuc_end(struct enpuc_emitter *e);
/* A copy between the arena and a DTCM, in a loop of @count if that is not 1. */
void enpuc_move(struct enpuc_emitter *e, const struct seqc_copy *c, int64_t count,
		int64_t va_advance, int64_t local_advance);
/* Puts code, or weights if that is wanted, into the image: the address, or an error below 0. */
int64_t enpuc_keep(struct enpuc_emitter *e, const void *data, int64_t bytes);
/* Copies instructions and records to the entries from @first on. */
int enpuc_load_code(struct enpuc_emitter *e, const struct enpuc_code *c, int64_t first);
int enpuc_load_weights(struct enpuc_emitter *e, const struct enpuc_code *c);
void enpuc_exec(struct enpuc_emitter *e, int64_t first);
int enpuc_no_memory(struct enpuc_emitter *e);
int enpuc_emit(struct enpuc_emitter *e);
/* A layer in slabs (slabs.c). */
int enpuc_emit_slabs(struct enpuc_emitter *e, int node);
/* Copies the part of a Slice's input that a slab of its result is. */
void enpuc_load_slice(struct enpuc_emitter *e, const struct enpuc_layer *l,
		      const struct enpuc_slab *slab, const struct enpuc_place *at);
int64_t enpuc_address(const struct enpuc_emitter *e, int value);
int enpuc_lower(struct cnn_backend *base, struct cnn_segment *seg);
uint64_t enpuc_cycles(struct cnn_backend *base, int lead);

#endif
