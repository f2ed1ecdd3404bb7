// SPDX-License-Identifier: MIT
/*
 * The tile loop of core ccp: load, compute, store. While an EXEC runs, transfers may use the halves
 * of banks that it does not touch, and may store from the bank that it reads. There are two ways to
 * overlap them. If tiles fit halves of the banks, inputs and outputs alternate between the halves.
 * Otherwise the input of a tile is loaded behind the pending output of the previous tile, the
 * output is stored, and the banks are exchanged.
 */
#include "ccp.h"

bool ccpc_can_swap(const struct ccpc_node *n)
{
	return !n->in.bind.resident && !n->out.bind.resident;
}

bool ccpc_can_add(const struct ccpc_node *n)
{
	return !n->add.bind.resident && !n->out.bind.resident;
}

bool ccpc_can_alternate(const struct ccpc_node *n)
{
	return n->add.value < 0 && !(n->in.bind.resident && n->out.bind.resident);
}

#define STEP_CYCLES	100

int64_t ccpc_best_parts(int64_t lines)
{
	int64_t parts = 1;

	while (lines > STEP_CYCLES * parts * (parts + 1))
		parts++;
	return parts;
}

int64_t ccpc_swap_capacity(const struct ccpc_node *n)
{
	return cnn_min(n->in.bind.capacity, n->out.bind.capacity);
}

int64_t ccpc_tile_read_line(const struct ccpc_code *c, const struct ccpc_node *n)
{
	return c->swapped ? n->out.bind.free_line : n->in.bind.free_line;
}

int64_t ccpc_tile_write_line(const struct ccpc_code *c, const struct ccpc_node *n)
{
	return c->swapped ? n->in.bind.free_line : n->out.bind.free_line;
}

void ccpc_tile_swap(struct ccpc_code *c)
{
	ccpc_swap(c);
	c->swapped = !c->swapped;
}

/* True if the input fits behind the pending output. */
static bool fits_behind(const struct ccpc_code *c, const struct ccpc_node *n,
			const struct ccpc_region *in)
{
	int64_t lines = c->pending.at - ccpc_tile_write_line(c, n) + ccpc_region_lines(&c->pending) +
			ccpc_region_lines(in);

	return ccpc_can_swap(n) && lines <= ccpc_swap_capacity(n) / CCPC_LINE_FLOATS;
}

static void store_pending(struct ccpc_code *c)
{
	if (c->pending.lines)
		ccpc_store(c, &c->pending);
	c->pending.lines = 0;
}

static bool half_holds(const struct ccpc_code *c, unsigned int half, const struct ccpc_region *in)
{
	return c->in_bank[half].lines && ccpc_same_region(&c->in_bank[half], in);
}

static void load_half(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region in,
		      unsigned int half)
{
	struct ccpc_region other = c->in_bank[!half];

	ccpc_region_place(&in, n->in.bind.half_line[half]);
	ccpc_load_to(c, &in, CNNACC_CCP_TGT_READ_BANK);
	c->in_bank[half] = in;
	c->in_bank[!half] = other;
}

void ccpc_tile_prefetch(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region in)
{
	if (n->alternate && in.lines && !half_holds(c, 0, &in) && !half_holds(c, 1, &in))
		load_half(c, n, in, !c->in_half);
}

static void load_alternate(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
			   struct ccpc_region *out)
{
	store_pending(c);
	if (!in->resident && !half_holds(c, c->in_half, in)) {
		c->in_half = !c->in_half;
		if (!half_holds(c, c->in_half, in))
			load_half(c, n, *in, c->in_half);
	}
	ccpc_region_place(in, n->in.bind.half_line[c->in_half]);
	c->out_half = !c->out_half;
	ccpc_region_place(out, n->out.bind.half_line[c->out_half]);
}

static void load_whole(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
		       struct ccpc_region *add, struct ccpc_region *out)
{
	bool old = c->pending.lines && in, held = in && ccpc_same_region(&c->in_bank[0], in);
	bool beside = old && (in->resident ? c->swapped : ccpc_same_region(&c->behind, in));
	int64_t write;

	c->swap_next = beside || (old && !held && fits_behind(c, n, in));
	write = c->swap_next ? ccpc_tile_read_line(c, n) : ccpc_tile_write_line(c, n);
	ccpc_region_place(out, write);
	if (add)
		ccpc_region_place(add, write + ccpc_region_lines(out));
	if (beside) {
		ccpc_region_place(in, c->behind.at);
	} else if (c->swap_next) {
		ccpc_region_place(in, c->pending.at + ccpc_region_lines(&c->pending));
		ccpc_load_to(c, in, CNNACC_CCP_TGT_WRITE_BANK);
	} else {
		store_pending(c);
		if (in) {
			ccpc_region_place(in, held ? c->in_bank[0].at : ccpc_tile_read_line(c, n));
			ccpc_load(c, in);
		}
	}
	if (add)
		ccpc_load_to(c, add,
			     c->swap_next ? CNNACC_CCP_TGT_READ_BANK : CNNACC_CCP_TGT_WRITE_BANK);
	if (c->swap_next)
		c->behind = *in;
}

void ccpc_tile_load(struct ccpc_code *c, const struct ccpc_node *n, struct ccpc_region *in,
		    struct ccpc_region *add, struct ccpc_region *out)
{
	if (n->alternate)
		load_alternate(c, n, in, out);
	else
		load_whole(c, n, in, add, out);
}

void ccpc_tile_start(struct ccpc_code *c)
{
	if (!c->swap_next)
		return;
	c->swap_next = false;
	store_pending(c);
	ccpc_tile_swap(c);
	c->in_bank[0] = c->behind;
}

void ccpc_tile_done(struct ccpc_code *c, const struct ccpc_region *out)
{
	c->pending = *out;
	c->behind.lines = 0;
}

/* Loop and register setup of a store take no longer than the transfer of its first lines. */
uint64_t ccpc_tile_cycles_left(const struct ccpc_code *c)
{
	return c->pending.lines ? (uint64_t)ccpc_region_cycles(&c->pending) + 64 : 0;
}

void ccpc_tile_flush(struct ccpc_code *c, const void *none)
{
	(void)none;
	store_pending(c);
	c->behind.lines = 0;
	if (c->swapped)
		ccpc_tile_swap(c);
}

#define ADD_ROWS	CNNACC_CCP_ROWS
#define ADD_COLUMNS	CNNACC_CCP_LANES
#define ADD_UNROLL	4
/* Cycles of CFG, EXEC of two channels, and the controller. */
#define ADD_CYCLES	(2 * (ADD_ROWS + 2 + 9) + ADD_ROWS + 6 + 10)

int64_t ccpc_add_cycles(int64_t lines)
{
	return cnn_div_up(lines * CCPC_LINE_FLOATS / ADD_COLUMNS, ADD_ROWS) * ADD_CYCLES;
}

static void exec_add(struct ccpc_code *c)
{
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
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
	ccpc_reg_advanced(c, 4, loops * ADD_UNROLL * ADD_ROWS);
}

/* Parameter group 1: the two operands are input channels, the result is the output channel. */
static void set_add_bases(struct ccpc_code *c, int64_t from, int64_t distance, int64_t to,
			  int64_t rows, int64_t ones)
{
	ccpc_set(c, 0, from * CCPC_LINE_FLOATS);
	ccpc_set(c, 1, to * CCPC_LINE_FLOATS);
	ccpc_set_weights(c, 2, ones);
	ccpc_set(c, 3, 0);
	ccpc_set(c, 4, rows | rows << 16);
	ccpc_set(c, 5, distance * CCPC_LINE_FLOATS);
	ccpc_set(c, 6, 0);
	ccpc_set(c, 7, 0);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
}

/*
 * Adds by a 1 x 1 convolution of two channels with weights of 1. It works on whole lines as rows of
 * eight elements, across planes.
 */
void ccpc_tile_add(struct ccpc_code *c, const struct ccpc_node *n, const struct ccpc_region *in,
		   const struct ccpc_region *add, struct ccpc_region *out, int64_t ones)
{
	int64_t rows = ccpc_region_lines(out) * CCPC_LINE_FLOATS / ADD_COLUMNS, from = out->at;
	int64_t to = in ? in->at + ccpc_region_lines(in) : ccpc_tile_read_line(c, n);

	ccpc_tile_swap(c);
	ccpc_region_place(out, to);
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
	ccpc_tile_done(c, out);
	if (in)
		c->behind = *in;
}
