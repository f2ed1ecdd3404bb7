// SPDX-License-Identifier: MIT
/*
 * Steps of a unit of core ccp, one after the other: load, compute, store. While a unit computes,
 * lines move in the halves of banks that it does not touch, and to memory from the bank that it
 * reads. So either inputs and outputs alternate between the halves of their banks, where they fit;
 * or the input of a step goes beside what the step before has computed, then that is stored, and
 * the banks change places.
 */
#include "ccp.h"

static int64_t region_lines(const struct ccpc_region *r)
{
	return r->lines * r->pieces;
}

bool ccpc_can_turn(const struct ccpc_node *n)
{
	return !n->in_home.kept && !n->out_home.kept;
}

bool ccpc_can_add(const struct ccpc_node *n)
{
	return !n->add_home.kept && !n->out_home.kept;
}

bool ccpc_can_halve(const struct ccpc_node *n)
{
	return n->add < 0 && !(n->in_home.kept && n->out_home.kept);
}

#define STEP_CYCLES	100

int64_t ccpc_parts(int64_t lines)
{
	int64_t parts = 1;

	while (lines > STEP_CYCLES * parts * (parts + 1))
		parts++;
	return parts;
}

int64_t ccpc_turn_room(const struct ccpc_node *n)
{
	return cnn_min(n->in_home.room, n->out_home.room);
}

int64_t ccpc_step_read(const struct ccpc_code *c, const struct ccpc_node *n)
{
	return c->odd ? n->out_home.spare : n->in_home.spare;
}

int64_t ccpc_step_write(const struct ccpc_code *c, const struct ccpc_node *n)
{
	return c->odd ? n->in_home.spare : n->out_home.spare;
}

void ccpc_step_turn(struct ccpc_code *c)
{
	ccpc_swap(c);
	c->odd = !c->odd;
}

/* Does the input fit behind what has not yet been stored? */
static bool fits_behind(const struct ccpc_code *c, const struct ccpc_node *n,
			const struct ccpc_region *in)
{
	int64_t lines = c->pending.at - ccpc_step_write(c, n) + region_lines(&c->pending) +
			region_lines(in);

	return ccpc_can_turn(n) && lines <= ccpc_turn_room(n) / LINE_FLOATS;
}

static void store_pending(struct ccpc_code *c)
{
	if (c->pending.lines)
		ccpc_store(c, &c->pending);
	c->pending.lines = 0;
}

/* ---- halves ---------------------------------------------------------------------------- */

static bool half_holds(const struct ccpc_code *c, unsigned int half, const struct ccpc_region *in)
{
	return c->in_bank[half].lines && ccpc_same_region(&c->in_bank[half], in);
}

static void load_half(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region in,
		      unsigned int half)
{
	struct ccpc_region other = c->in_bank[!half];

	ccpc_place(&in, n->in_home.half_at[half]);
	ccpc_load_to(c, &in, CNNACC_CCP_TGT_READ_BANK);
	c->in_bank[half] = in;
	c->in_bank[!half] = other;
}

void ccpc_step_ahead(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region in)
{
	if (n->split && in.lines && !half_holds(c, 0, &in) && !half_holds(c, 1, &in))
		load_half(c, n, in, !c->in_half);
}

static void load_split(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
		       struct ccpc_region *out)
{
	store_pending(c);
	if (!in->kept && !half_holds(c, c->in_half, in)) {
		c->in_half = !c->in_half;
		if (!half_holds(c, c->in_half, in))
			load_half(c, n, *in, c->in_half);
	}
	ccpc_place(in, n->in_home.half_at[c->in_half]);
	c->out_half = !c->out_half;
	ccpc_place(out, n->out_home.half_at[c->out_half]);
}

/* ---- steps ----------------------------------------------------------------------------- */

static void load_whole(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
		       struct ccpc_region *add, struct ccpc_region *out)
{
	bool old = c->pending.lines && in, held = in && ccpc_same_region(&c->in_bank[0], in);
	bool beside = old && (in->kept ? c->odd : ccpc_same_region(&c->beside, in));
	int64_t write;

	c->turn = beside || (old && !held && fits_behind(c, n, in));
	write = c->turn ? ccpc_step_read(c, n) : ccpc_step_write(c, n);
	ccpc_place(out, write);
	if (add)
		ccpc_place(add, write + region_lines(out));
	if (beside) {
		ccpc_place(in, c->beside.at);
	} else if (c->turn) {
		ccpc_place(in, c->pending.at + region_lines(&c->pending));
		ccpc_load_to(c, in, CNNACC_CCP_TGT_WRITE_BANK);
	} else {
		store_pending(c);
		if (in) {
			ccpc_place(in, held ? c->in_bank[0].at : ccpc_step_read(c, n));
			ccpc_load(c, in);
		}
	}
	if (add)
		ccpc_load_to(c, add,
			     c->turn ? CNNACC_CCP_TGT_READ_BANK : CNNACC_CCP_TGT_WRITE_BANK);
	if (c->turn)
		c->beside = *in;
}

void ccpc_step_load(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
		    struct ccpc_region *add, struct ccpc_region *out)
{
	if (n->split)
		load_split(c, n, in, out);
	else
		load_whole(c, n, in, add, out);
}

void ccpc_step_start(struct ccpc_code *c)
{
	if (!c->turn)
		return;
	c->turn = false;
	store_pending(c);
	ccpc_step_turn(c);
	c->in_bank[0] = c->beside;
}

void ccpc_step_done(struct ccpc_code *c, const struct ccpc_region *out)
{
	c->pending = *out;
	c->beside.lines = 0;
}

/* Loop and registers of a store take no longer than its first lines. */
uint64_t ccpc_step_left(const struct ccpc_code *c)
{
	return c->pending.lines ? (uint64_t)ccpc_region_cycles(&c->pending) + 64 : 0;
}

void ccpc_step_end(struct ccpc_code *c)
{
	store_pending(c);
	c->beside.lines = 0;
	if (c->odd)
		ccpc_step_turn(c);
}

/* ---- additions ------------------------------------------------------------------------- */

#define ADD_ROWS	CNNACC_CCP_ROWS
#define ADD_COLUMNS	CNNACC_CCP_LANES
#define ADD_UNROLL	4
/* Cycles of CFG, EXEC of two channels, and the controller's part. */
#define ADD_CYCLES	(2 * (ADD_ROWS + 2 + 9) + ADD_ROWS + 6 + 10)

int64_t ccpc_add_cycles(int64_t lines)
{
	return cnn_div_up(lines * LINE_FLOATS / ADD_COLUMNS, ADD_ROWS) * ADD_CYCLES;
}

static void exec_add(struct ccpc_code *c)
{
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	ccpc_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

static void exec_adds(struct ccpc_code *c, int64_t tiles)
{
	int64_t first = tiles % ADD_UNROLL, loops = tiles / ADD_UNROLL;
	uint32_t top;

	for (int64_t i = 0; i < first; i++) {
		exec_add(c);
		ccpc_set(c, 4, (i + 1) * ADD_ROWS);
	}
	if (!loops)
		return;
	top = ccpc_loop(c, loops);
	for (int i = 0; i < ADD_UNROLL; i++) {
		exec_add(c);
		ccpc_add(c, 4, ADD_ROWS);
	}
	ccpc_loop_end(c, top);
	ccpc_gained(c, 4, loops * ADD_UNROLL * ADD_ROWS);
}

/* Group 1: the two operands as channels, the result as one. */
static void set_add_bases(struct ccpc_code *c, int64_t from, int64_t distance, int64_t to,
			  int64_t rows, int64_t ones)
{
	ccpc_set(c, 0, from * LINE_FLOATS);
	ccpc_set(c, 1, to * LINE_FLOATS);
	ccpc_set_weights(c, 2, ones);
	ccpc_set(c, 3, 0);
	ccpc_set(c, 4, rows | rows << 16);
	ccpc_set(c, 5, distance * LINE_FLOATS);
	ccpc_set(c, 6, 0);
	ccpc_set(c, 7, 0);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
}

/*
 * A convolution 1 x 1 of two channels with weights of 1, what was computed and what is added: whole
 * lines as rows of eight, whatever planes they belong to.
 */
void ccpc_step_add(struct ccpc_code *c, const struct ccpc_node *n, const struct ccpc_region *in,
		   const struct ccpc_region *add, struct ccpc_region *out, int64_t ones)
{
	int64_t rows = region_lines(out) * LINE_FLOATS / ADD_COLUMNS, from = out->at;
	int64_t to = in ? in->at + region_lines(in) : ccpc_step_read(c, n);

	ccpc_step_turn(c);
	ccpc_place(out, to);
	set_add_bases(c, from, add->at - from, to, rows, ones);
	ccpc_set(c, 0,
		 (n->relu ? CNNACC_CCP_R0_RELU : 0) | 1 << CNNACC_CCP_R0_STRIDE_SHIFT |
			 1 << CNNACC_CCP_R0_KERNEL_SHIFT);
	ccpc_set(c, 1, ADD_COLUMNS | ADD_COLUMNS << 16);
	ccpc_set(c, 2, 2 | 1 << 16);
	ccpc_set(c, 3, 1 << 16);
	ccpc_set(c, 4, 0);
	ccpc_set(c, 5, ADD_ROWS | (int64_t)(c->hw->groups - 1) << CNNACC_CCP_R5_GROUPS_SHIFT);
	ccpc_set(c, 6, 1);
	exec_adds(c, cnn_div_up(rows, ADD_ROWS));
	ccpc_step_done(c, out);
	if (in)
		c->beside = *in;
}
