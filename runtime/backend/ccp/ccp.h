/* SPDX-License-Identifier: MIT */
/* Core ccp's compiler, shared by ccp*.c. All sizes are in floats unless a name says lines. */
#ifndef CNN_LOWER_CCP_H
#define CNN_LOWER_CCP_H

#include "backend/backend.h"
#include <cnnacc_ccp.h>

#define LINE_FLOATS	(CNNACC_LINE_SIZE / 4)
#define WEIGHT_TGT(b)	(CNNACC_CCP_TGT_WEIGHT0 + (b))

struct ccpc_hw {
	int64_t bank;		/* one data bank */
	int64_t wbank;		/* one weight bank */
	int64_t lob;		/* output channels of one EXEC */
	uint32_t groups;	/* core groups, 1..4 */
	uint32_t insns;		/* of a program */
	uint64_t cycles_max;
	char bad[CNN_REASON_LEN];	/* why no node fits this core; "" if it is fine */
};

/* ---- clock: the cycle model of Documentation/hardware/ccp.rst ----------------------------- */

/*
 * Memories that a transfer or a unit keeps busy: the lower and the upper half of data banks 0, 1
 * and of weight banks 0..3. Sets of them are masks.
 */
#define CCP_HALVES	(2 * (CNNACC_CCP_DATA_BANKS + CNNACC_CCP_WEIGHT_BANKS))

struct ccpc_clock {
	uint32_t reg[CNNACC_CCP_GPRS];
	uint32_t conv0[CNNACC_CCP_GPRS], conv1[CNNACC_CCP_GPRS];
	uint32_t pool[CNNACC_CCP_GPRS], pad[CNNACC_CCP_GPRS], fc[CNNACC_CCP_GPRS];
	unsigned int sel;	/* data bank that is the read bank */
	uint64_t t, d;		/* controller; DMA engine free */
	uint64_t written[CCP_HALVES], read[CCP_HALVES];
	struct cnnrt_cost count;	/* so far; cycles, control and the minimum are not filled */
	struct ccpc_trace *trace;	/* told of every span; NULL: nobody */
	uint64_t steps;		/* instructions run */
	int64_t bank, wbank;	/* of the device */
};

void ccpc_clock_boot(struct ccpc_clock *c, const struct ccpc_hw *hw, uint32_t insns);
/* Runs one instruction; returns where the next one is. */
uint32_t ccpc_clock_step(struct ccpc_clock *c, const uint32_t *words, uint32_t pc);
/* Runs words[from..to), which must not jump out of that range. */
void ccpc_clock_run(struct ccpc_clock *c, const uint32_t *words, uint32_t from, uint32_t to);

/* A page of so many lines replaces the code: a jump, its LOAD, a jump. */
void ccpc_clock_turn(struct ccpc_clock *c, int64_t lines);

static inline uint64_t ccpc_clock_cycles(const struct ccpc_clock *c)
{
	return c->t > c->d ? c->t : c->d;
}

/* ---- accounts -------------------------------------------------------------------------- */

struct ccpc_code;

/* Runs the code of a whole task and books what it takes to the nodes that its words belong to. */
int ccpc_account(struct ccpc_code *c, struct cnn_task *task);
/* The clock has spent from..to-1 on something. */
void ccpc_trace_add(struct ccpc_trace *t, enum cnnrt_activity what, uint64_t from, uint64_t to);

/* T of one conv EXEC without its end (bias, save, fill), and of the end. */
int64_t ccpc_conv_body(const struct ccpc_hw *hw, int64_t ci, int64_t co, int64_t vec, int64_t kh,
		       int64_t kw, int64_t sy, int64_t sx);

/* ---- code ------------------------------------------------------------------------------ */

/* Where a node has a value in a data bank. */
struct ccpc_home {
	bool kept;		/* all of it from line at on, as it lies in memory; nothing is moved */
	int64_t at;
	int64_t spare, room;	/* bank line and floats for parts of it, if it is not kept */
	int64_t half, half_at[2];	/* floats for them in either half of the bank, and lines */
};

#define CCPC_BOUNDLESS ((int64_t)1 << 48)

/* Where part of a value is in memory, and where in a data bank. */
struct ccpc_region {
	bool kept;		/* in the bank as in memory: pieces and lines do not count */
	int64_t line, lines;	/* first piece: memory line (VA / 64), length */
	int64_t at;		/* line of the bank where the pieces go, one after the other */
	int64_t pieces, step;	/* further pieces, that many memory lines apart */
	int64_t base;		/* float in the bank of its first element */
	int64_t pitch;		/* between planes in the bank */
	int64_t lo, hi;		/* first and behind last float in memory */
};

#define CCP_SPANS	64

/* Memory lines from..to-1. */
struct ccpc_span {
	int64_t from, to;
};

/* What a node takes. */
struct ccpc_trial {
	int64_t words, weights;
	uint64_t steps;		/* instructions that the clock has run */
	uint64_t cycles, bytes;	/* of the tasks that have ended; moved by LOAD and STORE */
};

/* Weights for the first banks weight banks: lines of each, one after the other in memory. */
struct ccpc_chunk {
	int64_t line, lines;	/* lines 0: none */
	int banks;
	int node;		/* whose they are */
};

struct ccpc_code {
	const struct ccpc_hw *hw;
	struct cnn_compile *lw; /* NULL: trial, nothing is kept */
	int node;		/* whose code is being made */
	uint32_t *words;	/* of the task */
	int *owner;		/* of each word: the node that it works for */
	int64_t words_cap;
	uint32_t n;		/* so far */
	uint32_t *pages;		/* where those begin that have been ended */
	int n_pages, page_units;
	uint32_t page, page_end, limit;	/* the page at hand; words that a page may have */
	bool overflow;
	unsigned int sel;	/* data bank that is the read bank */
	bool pinned;		/* a bank holds what must not be lost */
	uint32_t reg[CNNACC_CCP_GPRS];	/* what each register holds */
	struct ccpc_clock clock;
	uint32_t timed;		/* instructions the clock has run */
	/* What the read bank holds, in each half if parts alternate; lines 0: unknown. */
	struct ccpc_region in_bank[2];
	unsigned int in_half, out_half;	/* those that are in use */
	/* Steps: computed but not yet stored, in the write bank, and an input that is still there. */
	struct ccpc_region pending, beside;
	bool turn;		/* the banks change places before the next step computes */
	bool odd;		/* they have done so an odd number of times in this node */
	/* First memory line of what is in the halves of the weight banks; -1: nothing known. */
	int64_t weights[2];
	unsigned int weight_half;	/* the one that was used last */
	struct ccpc_chunk next;		/* what the next node begins with */
	/* Memory the task has read before it wrote it, and written. */
	struct ccpc_span reads[CCP_SPANS], writes[CCP_SPANS];
	int n_reads, n_writes;
	int first_node, last_node;	/* of the task; first -1: none yet */
	bool restartable;
	struct ccpc_trial trial; /* since the trial of a node began */
};

/* Beyond these a node is not worth a program: words, and instructions run in it. */
#define CCPC_WORDS_MAX (CNN_PROGRAM_MAX / 4 / 16)
#define CCPC_STEPS_MAX 100000000u
/* The same for all trials of one compilation, so that its time is bounded. */
#define CCPC_ALL_STEPS_MAX 2000000000u

int ccpc_code_init(struct ccpc_code *c, const struct ccpc_hw *hw, struct cnn_compile *lw);
void ccpc_code_free(struct ccpc_code *c);
/* Ends the task if there is one. */
int ccpc_code_flush(struct ccpc_code *c);

/*
 * A unit is a stretch of code that loads what it needs and leaves its results in memory, so
 * that a task may end before and after it. emit makes the code of one; if the task gets too
 * long or too slow, it is made again as the first of a new task. CCPC_TOO_BIG: no task can hold
 * it. CCPC_TOO_MUCH: a trial has gone beyond what a node may take. CCPC_PINNED: the task gets too
 * slow, and cannot end here.
 */
enum { CCPC_TOO_BIG = 1, CCPC_TOO_MUCH = 2, CCPC_PINNED = 3 };

/* Page i of the task, 0..n_pages: the index of its first word, and its length. */
uint32_t ccpc_page(const struct ccpc_code *c, int i, uint32_t *n);
/* Words that every page begins with. */
#define CCPC_HEAD 2

int ccpc_unit(struct ccpc_code *c, void (*emit)(struct ccpc_code *c, const void *arg),
	      const void *arg);

/* A task may be run again if it never writes what it has read from outside. */
void ccpc_note_read(struct ccpc_code *c, const struct ccpc_region *r);
void ccpc_note_write(struct ccpc_code *c, const struct ccpc_region *r);

/* Registers of a transfer: memory line, length, bank line; and of a loop. */
#define CCPC_MEM   0
#define CCPC_LEN   1
#define CCPC_BANK  2
#define CCPC_COUNT 7

void ccpc_op(struct ccpc_code *c, uint32_t insn);
/* Makes rd hold value. */
void ccpc_set(struct ccpc_code *c, unsigned int rd, int64_t value);
/* The same for a memory line, with the code size independent of where values lie in a trial. */
void ccpc_set_line(struct ccpc_code *c, unsigned int rd, int64_t line);
/* The same for a place in the weight banks: which half it is in is not known in a trial. */
void ccpc_set_weights(struct ccpc_code *c, unsigned int rd, int64_t value);
/* Adds at run time, inside a loop. */
void ccpc_add(struct ccpc_code *c, unsigned int rd, int64_t delta);
/* The loop from top on runs R7 times; R7 is zero after it. */
uint32_t ccpc_loop(struct ccpc_code *c, int64_t count);
void ccpc_loop_end(struct ccpc_code *c, uint32_t top);
/* Tells that rd gained delta in the loop that has just ended. */
void ccpc_gained(struct ccpc_code *c, unsigned int rd, int64_t delta);

/* Planes c0..c1-1 of an image, floats f0..f1-1 of each; line0 is where the value starts. */
struct ccpc_region ccpc_region(int64_t line0, const struct ccpc_home *home,
			       const struct cnn_layout *l, int64_t image, int64_t c0, int64_t c1,
			       int64_t f0, int64_t f1);
/* Can such a region be made at all (else planes must be taken whole)? */
bool ccpc_splits_planes(const struct cnn_layout *l);
/* Floats of the room that it takes. */
static inline int64_t ccpc_region_floats(const struct ccpc_region *r)
{
	return r->lines * r->pieces * LINE_FLOATS;
}

/* Cycles that moving it takes, about. */
static inline int64_t ccpc_region_cycles(const struct ccpc_region *r)
{
	return r->kept ? 0 : r->pieces * (r->lines + 22);
}

bool ccpc_same_region(const struct ccpc_region *a, const struct ccpc_region *b);
/* Puts one that is not kept at a line of a bank. */
void ccpc_place(struct ccpc_region *r, int64_t at);

static inline void ccpc_forget_input(struct ccpc_code *c)
{
	c->in_bank[0].lines = c->in_bank[1].lines = 0;
}

/* Exchanges the banks. */
void ccpc_swap(struct ccpc_code *c);
/* Brings a region into the read bank. */
void ccpc_load(struct ccpc_code *c, const struct ccpc_region *r);
/* The same for either bank, whatever it holds. */
void ccpc_load_to(struct ccpc_code *c, const struct ccpc_region *r, enum cnnacc_ccp_target bank);
/*
 * Prepares the write bank for a region that will be stored. Lines are the unit of a STORE: where
 * the region starts inside a line, what an earlier store left in front of it is fetched first;
 * what lies behind its end must be stored later than this. whole: fetch all of it.
 */
void ccpc_open_out(struct ccpc_code *c, const struct ccpc_region *r, bool whole);
void ccpc_store(struct ccpc_code *c, const struct ccpc_region *r);
/* Lines that always fit a half of a weight bank. */
static inline int64_t ccpc_half_lines(const struct ccpc_hw *hw)
{
	return hw->wbank / LINE_FLOATS / 2;
}

/* Returns the line of the weight banks where the chunk is: the half that is not in use, or all. */
int64_t ccpc_load_weights(struct ccpc_code *c, const struct ccpc_chunk *k);
/* Loads what ccpc_load_weights will be asked for next, if it goes beside what is in use. */
void ccpc_load_ahead(struct ccpc_code *c, const struct ccpc_chunk *k);
/* Lines from line on to line at of a data bank, or from there. */
struct ccpc_move {
	bool load;
	unsigned int bank;
	int64_t at, line, lines;
};

void ccpc_move(struct ccpc_code *c, const struct ccpc_move *m);
/* Lines to a linear place in the weight banks. */
void ccpc_load_linear(struct ccpc_code *c, int64_t line, int64_t lines, int64_t target);

/* ---- nodes ----------------------------------------------------------------------------- */

/* w(o, c, k) = scale * data[o * so + c * sc + k], or scale without data; bias likewise. */
struct ccpc_weights {
	const float *data;
	int64_t so, sc;
	float scale;
	const float *bias;	/* NULL: none */
	int64_t bias_step;	/* 0: one for all */
	float bias_scale;
};

struct ccpc_conv {
	int64_t n, groups, ci, co;	/* ci, co: of one group */
	int64_t ih, iw, oh, ow, kh, kw, sy, sx, pt, pb, pl, pr;
	struct ccpc_weights w;
	/*
	 * An average whose divisor is the number of elements under the window: those of the map and
	 * of this much of its padding. Weights are then one kernel for each such number.
	 */
	bool average;
	int64_t top, bottom, left, right;
	bool adds;		/* the node's add is added */
	/* Plan: rows of a slab, output channels of a step, and of a chunk of weights. */
	int64_t rows, out_co, weight_co;
	int64_t block;		/* groups of a step; 0: one by one */
	int64_t slice;		/* input channels per EXEC; 0: all */
	bool slice_input;	/* the read bank holds a slice only */
	bool out_first;		/* weights stay while slabs change */
	int64_t columns;	/* tiles of 8 columns per unit */
};

struct ccpc_fc {
	int64_t rows, in, out;
	struct ccpc_weights w;
	/* Plan: rows of x in the bank, outputs per slice, slices per unit, slots for slices. */
	int64_t block, slice, unit, slots;
};

struct ccpc_mean {
	int64_t n, c, plane;
	int64_t block;		/* channels per unit */
};

struct ccpc_pool {
	int64_t n, c, ih, iw, oh, ow, kh, kw, sy, sx, pt, pl;
	bool average;
	int64_t rows, block;	/* per unit */
};

struct ccpc_pad {
	int64_t n, c, ih, iw, layers;
	int64_t block;
};

enum ccpc_kind { CCP_NONE, CCP_CONV, CCP_FC, CCP_MEAN, CCP_POOL, CCP_PAD };

struct ccpc_node {
	enum ccpc_kind kind;
	int node;		/* of the graph */
	union {
		struct ccpc_conv conv;
		struct ccpc_fc fc;
		struct ccpc_mean mean;
		struct ccpc_pool pool;
		struct ccpc_pad pad;
	};
	bool relu;
	bool split;		/* plan: parts of what is not kept alternate between halves */
	int in, out;		/* values */
	/* What a convolution adds to each output, after the bias and before ReLU; -1: nothing. */
	int add;
	struct cnn_layout in_l, out_l, add_l;
	int64_t in_line, out_line, add_line;	/* where they start in memory */
	struct ccpc_home in_home, out_home, add_home; /* in the read, write and read bank */
	int64_t weight_line;	/* where its weight image starts */
	struct ccpc_chunk first; /* of its weights */
};

/* Floats that regions of the input and of the output may take. */
static inline int64_t ccpc_room(const struct ccpc_node *n, const struct ccpc_home *home)
{
	return home->kept ? CCPC_BOUNDLESS : n->split ? home->half : home->room;
}

static inline int64_t ccpc_in_room(const struct ccpc_node *n)
{
	return ccpc_room(n, &n->in_home);
}

static inline int64_t ccpc_out_room(const struct ccpc_node *n)
{
	return ccpc_room(n, &n->out_home);
}

/* ---- steps of a node ------------------------------------------------------------------- */

/*
 * In turn for each step: load its input (NULL: the caller does) and what is to be added (NULL:
 * nothing), which says where these and the output are in the banks; load weights; start; compute;
 * done, or add, which calls it. What is done is stored with the next step, or at the end of the
 * node or task, when the banks are again where they were. If halves alternate, ahead loads the
 * input of the next step before this one computes.
 */
void ccpc_step_load(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
		    struct ccpc_region *add, struct ccpc_region *out);
void ccpc_step_start(struct ccpc_code *c);
void ccpc_step_ahead(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region in);
void ccpc_step_done(struct ccpc_code *c, const struct ccpc_region *out);
void ccpc_step_end(struct ccpc_code *c);
/* Cycles that it may take to end them now. */
uint64_t ccpc_step_left(const struct ccpc_code *c);
/* Exchanges the banks inside the node. */
void ccpc_step_turn(struct ccpc_code *c);
/* The lines of the read and of the write bank from which on what is not kept has its room. */
int64_t ccpc_step_read(const struct ccpc_code *c, const struct ccpc_node *n);
int64_t ccpc_step_write(const struct ccpc_code *c, const struct ccpc_node *n);
/*
 * Adds add to what is computed as out, and ReLU; the result is in the other bank, behind in, which
 * stays there (NULL: in its place). ones: float of weight bank 0 where two weights of 1 are.
 */
void ccpc_step_add(struct ccpc_code *c, const struct ccpc_node *n, const struct ccpc_region *in,
		   const struct ccpc_region *add, struct ccpc_region *out, int64_t ones);
/* May steps of the node exchange the banks, and additions, and may halves alternate? */
bool ccpc_can_turn(const struct ccpc_node *n);
bool ccpc_can_halve(const struct ccpc_node *n);
bool ccpc_can_add(const struct ccpc_node *n);
/*
 * Parts into which a node that moves so many lines is best cut if halves alternate: the first load
 * and the last store have no EXEC beside them, but each step costs the controller some cycles.
 */
int64_t ccpc_parts(int64_t lines);
/* Floats of a bank that both what is stored and what is loaded may take then. */
int64_t ccpc_turn_room(const struct ccpc_node *n);
/* How long an addition takes for lines of output, and the most floats of it. */
int64_t ccpc_add_cycles(int64_t lines);
#define CCPC_ADD_MAX ((int64_t)UINT16_MAX * CNNACC_CCP_LANES)

/*
 * Of each kind: pick the sizes of its units, smaller at each further attempt (from 0 on; false:
 * there is no smaller one), make its weight image, which sets weight_line and first, and make its
 * code (positive: what ccpc_unit says).
 */
bool ccpc_conv_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);
int ccpc_conv_weights(struct ccpc_code *c, struct ccpc_node *n);
int ccpc_conv_emit(struct ccpc_code *c, struct ccpc_node *n);
bool ccpc_fc_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);
int ccpc_fc_weights(struct ccpc_code *c, struct ccpc_node *n);
int ccpc_fc_emit(struct ccpc_code *c, struct ccpc_node *n);
bool ccpc_mean_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);
int ccpc_mean_weights(struct ccpc_code *c, struct ccpc_node *n);
int ccpc_mean_emit(struct ccpc_code *c, struct ccpc_node *n);
/* Does it compute in the room of its input and output? Neither can be kept then. */
bool ccpc_pool_passes(const struct ccpc_node *n);
bool ccpc_pool_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);
int ccpc_pool_emit(struct ccpc_code *c, struct ccpc_node *n);
bool ccpc_pad_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);
int ccpc_pad_emit(struct ccpc_code *c, struct ccpc_node *n);

/*
 * Room for a node's weights: sets *line to its memory line and *data to its floats (NULL in a
 * trial).
 */
int ccpc_weight_room(struct ccpc_code *c, int64_t floats, int64_t *line, float **data);
float ccpc_weight(const struct ccpc_weights *w, int64_t o, int64_t c, int64_t k);
float ccpc_bias(const struct ccpc_weights *w, int64_t o);

/* ---- segments -------------------------------------------------------------------------- */

struct ccpc_core {
	struct cnn_backend base;
	struct ccpc_hw hw;
	struct ccpc_node *nodes; /* by graph index */
	int *index;		/* scratch by value, -1 */
	int64_t words, weights;	/* of all nodes planned so far */
	uint64_t steps;		/* of all trials so far */
	uint64_t keep_steps;	/* of those to find out what to keep on chip */
};

static inline int64_t ccpc_value_line(const struct ccpc_core *core, int value)
{
	return (CNN_VA_ARENA + core->base.lw->out->slots[value].offset) / CNNACC_LINE_SIZE;
}

/* Picks the sizes of n's units for its homes, and tells what it takes; false: it cannot. */
bool ccpc_try(struct ccpc_core *core, struct ccpc_node *n, struct ccpc_trial *t);
int ccpc_weights(struct ccpc_code *c, struct ccpc_node *n);
int ccpc_emit(struct ccpc_code *c, struct ccpc_node *n);
/* Says in a reason what the node has become: its unit, what stays on chip, its tiles. */
void ccpc_describe(const struct ccpc_node *n, const char *op, char *reason);

#define CCPC_KEPT  8 /* values that the banks hold at most */
#define CCPC_MOVES (CCPC_KEPT + 2)

/* What is done around a node of a segment. */
struct ccpc_step {
	struct ccpc_move moves[CCPC_MOVES]; /* before it */
	int n_moves, cut_at;
	bool cut;		/* a new task begins before move cut_at */
	unsigned int bank;	/* to read */
	struct ccpc_home in, out, add;
	bool pinned;		/* the task must not end inside the node */
	bool store;		/* the output, after it */
};

/*
 * Finds a step for each node of a segment that has code, and sets the homes and sizes of these
 * nodes. False if there is no memory or no way.
 */
bool ccpc_keep(struct ccpc_core *core, const struct cnn_segment *seg, struct ccpc_step *steps);
int ccpc_lower(struct cnn_backend *base, struct cnn_segment *seg);

/* From a graph node to its kind; false with the reason. */
bool ccpc_match(const struct ccpc_hw *hw, const struct cnn_graph *g, int node, struct ccpc_node *n,
		char *reason);

#endif
