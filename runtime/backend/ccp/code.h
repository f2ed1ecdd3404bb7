/* SPDX-License-Identifier: MIT */
/*
 * Code of core ccp while it is made: instructions, transfers, sections, tasks, and the loop over a
 * node's tiles. Sizes are in floats unless a name says lines.
 */
#ifndef CCPC_CODE_H
#define CCPC_CODE_H

#include "cycle_model.h"

#define CCPC_WEIGHT_TGT(b) (CNNACC_CCP_TGT_WEIGHT0 + (b))

/*
 * What a node may use of the data bank that it reads or writes a value in. A resident value is in
 * the bank completely, laid out as in memory, and is not transferred. Any other value passes
 * through free space in tiles: through one stretch, or alternately through one in each half.
 */
struct ccpc_bank_binding {
	bool resident;
	int64_t at;	/* bank line of a resident value */
	int64_t free_line, capacity;	/* bank line and floats of the free stretch */
	int64_t half_line[2], half_capacity; /* bank line and floats of those in the halves */
};

/* A value that a node reads or writes. */
struct ccpc_operand {
	int value; /* index in the graph; -1: no such operand */
	struct cnn_planes layout;
	int64_t line; /* memory line (VA / 64) where it starts */
	struct ccpc_bank_binding bind;
};

/* Capacity of a bank for a value that is not transferred. */
#define CCPC_UNLIMITED ((int64_t)1 << 48)

/*
 * Columns of rows: of the @width columns of a row in memory, the bank has @count from @first on, and
 * from..to-1 of these at least are transferred, in whole lines. @first and @from are at the start of
 * a line of a row that is itself; @count exceeds @width by lines. So a line of the bank has the same
 * floats of a row as one of memory, wherever in a line the row starts.
 */
struct ccpc_columns {
	int64_t width, first, count, from, to;
};

/* Most floats by which a row of so many may start behind the start of a line. */
int64_t ccpc_most_phase(int64_t width);

/* Floats f0..f1-1 of each plane c0..c1-1 of one batch element. */
struct ccpc_planes {
	int64_t image, c0, c1, f0, f1;
};

/* Part of a value: where it is in memory, and where in a data bank. */
struct ccpc_region {
	bool resident;	/* nothing is transferred; pieces and lines have no meaning */
	int64_t line, lines; /* first piece: memory line, length */
	int64_t at;	/* bank line where it starts; its pieces follow without gaps */
	int64_t pieces, piece_pitch; /* number of pieces, memory lines from one to the next */
	/*
	 * If rows are cut, a piece is a plane of @rows rows, @row_pitch floats apart in memory and
	 * @row_floats in the bank, the first of which starts @phase floats behind the start of a
	 * line. Of each, @lines are moved, or as many as its next @row_end floats take, if that
	 * is not 0. In the bank the first @skip of its lines are not transferred. Otherwise a
	 * piece is one row.
	 */
	int64_t rows, row_pitch, row_floats, phase, skip, row_end;
	int64_t piece_lines;	/* that a piece takes in the bank */
	bool shares_start;	/* the first row, its first line with what is before it */
	int64_t base;	/* float in the bank of the first element */
	int64_t pitch;	/* floats between planes in the bank */
	int64_t lo, hi;	/* floats of the value, first and one past the last */
};

struct ccpc_region ccpc_region_of(const struct ccpc_operand *o, const struct ccpc_planes *p);
/* The same of whole rows, but only the given columns of them. */
struct ccpc_region ccpc_region_of_columns(const struct ccpc_operand *o, const struct ccpc_planes *p,
					  const struct ccpc_columns *columns);
/* True if a region may take parts of planes; otherwise it takes them whole. */
bool ccpc_can_cut_planes(const struct cnn_planes *l);
bool ccpc_same_region(const struct ccpc_region *a, const struct ccpc_region *b);
/* Moves a region that is not resident to bank line @at. */
void ccpc_region_place(struct ccpc_region *r, int64_t at);

/* Bank lines that a region takes. */
static inline int64_t ccpc_region_lines(const struct ccpc_region *r)
{
	return r->pieces * r->piece_lines;
}

static inline int64_t ccpc_region_floats(const struct ccpc_region *r)
{
	return ccpc_region_lines(r) * CCPC_LINE_FLOATS;
}

/* Lines that its transfer moves. */
static inline int64_t ccpc_region_moved(const struct ccpc_region *r)
{
	return r->pieces * r->rows * r->lines;
}

/* Estimated cycles of its transfer. */
static inline int64_t ccpc_region_cycles(const struct ccpc_region *r)
{
	return r->resident ? 0 : r->pieces * r->rows * (r->lines + 22);
}

/* Lines that row i of a piece starts behind the first one, if rows are so many floats apart. */
static inline int64_t ccpc_row_line(const struct ccpc_region *r, int64_t i, int64_t floats)
{
	return (r->phase + i * floats) / CCPC_LINE_FLOATS;
}

/* Lines of row i that are moved. */
static inline int64_t ccpc_row_lines(const struct ccpc_region *r, int64_t i)
{
	int64_t phase = (r->phase + i * r->row_pitch) % CCPC_LINE_FLOATS;

	return r->row_end ? cnn_div_up(phase + r->row_end, CCPC_LINE_FLOATS) : r->lines;
}

/* Estimated cycles to fetch what an output shares with others before it is computed. */
int64_t ccpc_prepare_cycles(const struct ccpc_region *r);

/* Cycles of the controller for the transfer of rows that are cut; other regions have few pieces. */
static inline int64_t ccpc_region_control(const struct ccpc_region *r)
{
	return r->rows > 1 ? r->pieces * (3 * r->rows + 5) : 0;
}

/* Packed weights: @lines for each of the first @banks weight banks, adjacent in memory. */
struct ccpc_weight_chunk {
	int64_t line, lines; /* lines 0: no chunk */
	int banks;
	int node; /* its owner, for cost attribution */
};

/* What a node takes. */
struct ccpc_trial {
	int64_t words, weights;
	uint64_t insns_run;	/* by the cycle model */
	uint64_t cycles, bytes; /* of finished tasks; bytes moved by LOAD and STORE */
};

#define CCPC_RANGES 64

/* Memory lines from..to-1. */
struct ccpc_line_range {
	int64_t from, to;
};

struct ccpc_code {
	const struct ccpc_hw *hw;
	struct cnn_compile *compile; /* NULL: a trial, whose code is discarded */
	int node;	/* whose code is being made */
	uint32_t *words;	/* of the task */
	int *owner;	/* node that each word works for */
	bool *is_address; /* by word: LDIH of the line of an address */
	int64_t words_cap;
	uint32_t n;	/* words so far */
	uint32_t *overlays; /* first words of the finished overlays */
	int n_overlays, overlay_sections;
	uint32_t overlay, overlay_end, limit; /* current overlay; words that one may have */
	bool overflow;	/* the current overlay is too small */
	unsigned int read_bank;
	bool pinned; /* a bank holds data that memory lacks: the task must not end */
	uint32_t reg[CNNACC_CCP_GPRS]; /* contents of the registers */
	/* The buffer whose line it is, plus 1; 0: a number, which no base changes. */
	unsigned int buffer[CNNACC_CCP_GPRS];
	struct ccpc_clock clock;
	uint32_t timed; /* words that the clock has run */
	/* Inputs in the read bank, one for each half if tiles alternate; lines 0: unknown. */
	struct ccpc_region in_bank[2];
	unsigned int in_half, out_half; /* halves in use */
	/* In the write bank: an output not yet stored, and the input of a tile behind it. */
	struct ccpc_region pending, behind;
	bool swap_next; /* exchange the banks before the next tile is computed */
	bool swapped;	/* they are exchanged relative to the start of the node */
	/* First memory line of the chunk in each half of the weight banks; -1: unknown. */
	int64_t weights[2];
	unsigned int weight_half;      /* the one used last */
	struct ccpc_weight_chunk next; /* first chunk of the next node */
	/* Memory that the task has read before writing it, and memory that it has written. */
	struct ccpc_line_range reads[CCPC_RANGES], writes[CCPC_RANGES];
	int n_reads, n_writes;
	int first_node, last_node; /* of the task; first -1: none yet */
	bool restartable;
	struct ccpc_trial trial; /* since the trial of a node began */
};

/* Bounds of a trial: a node beyond them is not worth a program. */
#define CCPC_WORDS_MAX	     (CNN_PROGRAM_MAX / 4 / 16)
#define CCPC_TRIAL_INSNS_MAX 100000000u
/* Bound of all trials of one compilation, which bounds its time. */
#define CCPC_ALL_TRIAL_INSNS_MAX 2000000000u

/* Words that every overlay begins with. */
#define CCPC_OVERLAY_HEAD 2

/* Returns the first word of overlay @i (0..n_overlays) of the task and sets *n to its length. */
uint32_t ccpc_overlay(const struct ccpc_code *c, int i, uint32_t *n);

/* Registers of a transfer (memory line, length, bank line) and of a loop. */
#define CCPC_MEM   0
#define CCPC_LEN   1
#define CCPC_BANK  2
#define CCPC_COUNT 7
/* Register of a loop around that loop. */
#define CCPC_PLANES 6

void ccpc_insn(struct ccpc_code *c, uint32_t insn);
/* Makes register rd hold value. */
void ccpc_set(struct ccpc_code *c, unsigned int rd, int64_t value);
/* The same for a place in the weight banks. A trial does not know which half is used. */
void ccpc_set_weights(struct ccpc_code *c, unsigned int rd, int64_t value);
/* Emits rd += delta. The caller tracks the value with ccpc_reg_advanced. */
void ccpc_add(struct ccpc_code *c, unsigned int rd, int64_t delta);
/* Begins a loop of count rounds and returns its first word. R7 counts and is zero at the end. */
uint32_t ccpc_loop(struct ccpc_code *c, int64_t count);
void ccpc_loop_end(struct ccpc_code *c, uint32_t top);
/* Tells that the loop or transfer just emitted has added delta to rd. */
void ccpc_reg_advanced(struct ccpc_code *c, unsigned int rd, int64_t delta);

static inline void ccpc_forget_input(struct ccpc_code *c)
{
	c->in_bank[0].lines = c->in_bank[1].lines = 0;
}

/* Exchanges the read and the write bank. */
void ccpc_swap(struct ccpc_code *c);
/* Loads a region into the read bank unless it is there. */
void ccpc_load(struct ccpc_code *c, const struct ccpc_region *r);
/* Loads a region into either bank, whatever that holds. */
void ccpc_load_to(struct ccpc_code *c, const struct ccpc_region *r, enum cnnacc_ccp_target bank);
/*
 * Prepares the write bank for a region that will be stored. A STORE writes whole lines. Where the
 * region starts inside a line, the line is fetched first to keep what an earlier store has put in
 * front. Data behind the end of the region must be stored later. @whole: fetch all of the region.
 */
void ccpc_prepare_out(struct ccpc_code *c, const struct ccpc_region *r, bool whole);
void ccpc_store(struct ccpc_code *c, const struct ccpc_region *r);

/* A transfer of adjacent lines between memory and bank line @at. */
struct ccpc_move {
	bool load;
	unsigned int bank;
	int64_t at, line, lines;
};

void ccpc_move(struct ccpc_code *c, const struct ccpc_move *m);

/* Lines of half a weight bank; 0: halves are no memories of their own, so using them saves nothing. */
static inline int64_t ccpc_half_lines(const struct ccpc_hw *hw)
{
	return hw->split_banks ? hw->weight_bank / CCPC_LINE_FLOATS / 2 : 0;
}

/* Loads a chunk unless it is there, into the half not in use or both; returns its bank line. */
int64_t ccpc_load_weights(struct ccpc_code *c, const struct ccpc_weight_chunk *k);
/* Loads a chunk that is needed later, if it fits beside the one in use. */
void ccpc_prefetch_weights(struct ccpc_code *c, const struct ccpc_weight_chunk *k);
/* Loads lines into the weight banks seen as one linear memory, from its line @target on. */
void ccpc_load_linear(struct ccpc_code *c, int64_t line, int64_t lines, int64_t target);

/* w(o, c, k) = scale * data[o * stride_out + c * stride_in + k]; without data, scale. */
struct ccpc_weights {
	const float *data;
	int64_t stride_out, stride_in;
	float scale;
	const float *bias;   /* NULL: none */
	int64_t bias_stride; /* 0: one value for all outputs */
	float bias_scale;
};

/* Reserves memory for packed weights: sets *line and *data (NULL in a trial). */
int ccpc_reserve_weights(struct ccpc_code *c, int64_t floats, int64_t *line, float **data);
float ccpc_weight(const struct ccpc_weights *w, int64_t o, int64_t c, int64_t k);
float ccpc_bias(const struct ccpc_weights *w, int64_t o);

/*
 * A task may run again from its start if it never writes memory that it has read before. These
 * record what it reads and writes, and clear c->restartable.
 */
void ccpc_note_read(struct ccpc_code *c, const struct ccpc_region *r);
void ccpc_note_write(struct ccpc_code *c, const struct ccpc_region *r);

int ccpc_code_init(struct ccpc_code *c, const struct ccpc_hw *hw, struct cnn_compile *compile);
void ccpc_code_free(struct ccpc_code *c);
/* Ends the current task, if it has code. */
int ccpc_code_flush(struct ccpc_code *c);

/*
 * A section is code that loads what it needs and leaves its results in memory, so a task may end
 * before and after it. ccpc_emit_section calls emit to make it. If the overlay or the task gets too
 * long or too slow, it discards the code and calls emit again in a new one: emit may run many times
 * and must change nothing but c. Positive results:
 * CCPC_TOO_BIG: no task can hold the section. CCPC_TOO_MUCH: a trial exceeds the bounds of a node.
 * CCPC_PINNED: the task gets too slow and must not end here.
 */
enum { CCPC_TOO_BIG = 1, CCPC_TOO_MUCH = 2, CCPC_PINNED = 3 };

int ccpc_emit_section(struct ccpc_code *c, void (*emit)(struct ccpc_code *c, const void *arg),
		      const void *arg);

/* Runs the code of a whole task and attributes its cost to the nodes that own its words. */
int ccpc_attribute_cost(struct ccpc_code *c, struct cnn_task *task);

#endif
