// SPDX-License-Identifier: MIT
/* The programs of a node: for each chunk of weights, the weights and then all tiles. */

#include "hwpe.h"

/* One side of a tile: the input that one SRAM holds. */
struct side_tile {
	int64_t x, y, columns, rows;
};

/* Interleaved: a column has two parts that overlap; the input rows of one. */
static int64_t part_rows(const struct hwpec_conv *v, int64_t tile_h)
{
	return (tile_h / 2 - 1) * v->sh + v->kh;
}

int64_t hwpec_column_bytes(const struct hwpec_node *n, int64_t tile_h)
{
	const struct hwpec_conv *v = &n->conv;

	return v->sram_pixel *
	       (n->plan.interleaved ? 2 * part_rows(v, tile_h) : (tile_h - 1) * v->sh + v->kh);
}

int64_t hwpec_row_advance(const struct hwpec_node *n)
{
	return n->conv.sh * n->conv.sram_pixel * (n->plan.interleaved ? 2 : 1);
}

static struct side_tile get_side(const struct hwpec_node *n, const struct hwpec_tile *t, int side)
{
	const struct hwpec_conv *v = &n->conv;
	int64_t columns = t->w / HWPEC_OUT_COLUMNS;

	return (struct side_tile){
		.x = (t->x + side * columns) * v->sw - v->pad_left, .y = t->y * v->sh - v->pad_top,
		.columns = (columns - 1) * v->sw + (v->kw - 1) * v->dw + 1,
		.rows = (t->h - 1) * v->sh + v->kh,
	};
}

#define DRAIN_CYCLES	(1 + CNNACC_HWPE_ACCS * (16 + 2))
#define INIT_CYCLES	(8 + CNNACC_HWPE_ACCS * CNNACC_HWPE_PES)
#define TASK_CYCLES	512

uint64_t hwpec_tile_cycles(const struct hwpec_node *n)
{
	const struct hwpec_tile t = { .h = n->plan.tile_h, .w = n->plan.tile_w };
	struct side_tile h = get_side(n, &t, 0);
	int64_t windows = n->plan.chunk * (n->plan.tile_h / HWPEC_OUT_ROWS) *
			  (n->plan.tile_w / HWPEC_OUT_COLUMNS);
	int64_t column = hwpec_column_bytes(n, n->plan.tile_h), bytes = h.columns * column;
	int64_t pieces = h.columns, window = 8 * n->plan.rounds + 12 + DRAIN_CYCLES;

	if (n->conv.acc_init)
		window += INIT_CYCLES;
	if (n->conv.sram_pixel != n->plan.pixel)
		pieces *= h.rows;
	if (n->plan.interleaved)
		pieces *= column;
	return (uint64_t)(TASK_CYCLES + windows * window + 2 * n->plan.chunk * n->plan.rounds +
			  HWPEC_OUT_COLUMNS * (2 * cnn_div_up(bytes, CNNACC_LINE_SIZE) +
					       2 * pieces + 17 * h.columns));
}

int64_t hwpec_tiles(const struct hwpec_node *n)
{
	return n->conv.batch * cnn_div_up(n->conv.ofm_h_padded, n->plan.tile_h) *
	       cnn_div_up(n->conv.ofm_w_padded, n->plan.tile_w);
}

int64_t hwpec_slots(const struct hwpec_node *n)
{
	int64_t windows = n->conv.batch * (n->conv.ofm_h_padded / HWPEC_OUT_ROWS) *
			  (n->conv.ofm_w_padded / HWPEC_OUT_COLUMNS),
		slots = 0;

	for (int64_t b = 0; b < n->conv.blocks; b++)
		slots += windows * cnn_div_up(hwpec_block_outputs(&n->conv, b), HWPEC_COLUMNS) *
			 n->plan.rounds * HWPEC_COLUMNS * CNNACC_HWPE_ACCS * HWPEC_WORD *
			 n->conv.per_byte;
	return slots;
}

struct emitter {
	struct hwpec_node *n;
	struct seqc *seq;
	uint32_t in, out;		/* addresses */
	int64_t block, first, groups;	/* of 16 outputs */
	uint32_t weights;
	struct hwpec_tile loaded; /* its input is in the SRAMs; h 0: none */
};

/* Columns x0..x1-1 of both parts of a side, byte by byte. */
static void load_parts(const struct emitter *u, const struct hwpec_tile *t, int side, int64_t x0,
		       int64_t x1)
{
	const struct hwpec_conv *v = &u->n->conv;
	struct side_tile h = get_side(u->n, t, side);
	int64_t pixel = u->n->plan.pixel, column = hwpec_column_bytes(u->n, t->h);
	int64_t va = u->in + t->n * u->n->plan.image + x0 * u->n->plan.column;

	for (int part = 0; part < 2; part++) {
		int64_t y = h.y + part * (t->h / 2 * v->sh), y0 = cnn_max(y, 0);
		int64_t y1 = cnn_min(y + part_rows(v, t->h), v->ifm_h);
		const struct seqc_copy copy = {
			.memory = (uint32_t)side, .va = va + y0 * pixel,
			.local = (x0 - h.x) * column + (y0 - y) * pixel * 2 + part,
			.rows = (y1 - y0) * pixel, .row_bytes = 1, .va_pitch = 1, .local_pitch = 2,
		};

		if (y0 < y1)
			seqc_copy_loop(u->seq, &copy, x1 - x0, u->n->plan.column, column);
	}
}

/* The part of a side that the input has: columns x0..x1-1, rows y0..y1-1. */
struct side_part {
	int64_t x0, x1, y0, y1;
};

static struct side_part clip_side(const struct hwpec_conv *v, const struct side_tile *h)
{
	struct side_part p = {
		.x0 = cnn_max(h->x, 0), .x1 = cnn_min(h->x + h->columns, v->ifm_w),
		.y0 = cnn_max(h->y, 0), .y1 = cnn_min(h->y + h->rows, v->ifm_h),
	};

	if (v->product)
		p.y1 = cnn_min(p.y1, v->rows - p.x0 * v->ifm_h);
	return p;
}

/* Whole columns if an SRAM has all channels of a pixel, otherwise pixel by pixel. */
static void load_pixels(const struct emitter *u, const struct hwpec_tile *t, int side,
			const struct side_part *p)
{
	const struct hwpec_conv *v = &u->n->conv;
	const struct hwpec_plan *plan = &u->n->plan;
	struct side_tile h = get_side(u->n, t, side);
	int64_t c0 = u->block * v->block_groups * v->ci / v->per_byte;
	int64_t column = h.rows * v->sram_pixel, rows = p->y1 - p->y0, columns = p->x1 - p->x0;
	struct seqc_copy copy = {
		.memory = (uint32_t)side,
		.va = u->in + t->n * plan->image + p->x0 * plan->column + p->y0 * plan->pixel + c0,
		.local = ((p->x0 - h.x) * h.rows + p->y0 - h.y) * v->sram_pixel,
	};

	if (v->sram_pixel == plan->pixel) {
		copy.rows = columns;
		copy.row_bytes = rows * plan->pixel;
		copy.va_pitch = plan->column;
		copy.local_pitch = column;
		seqc_copy(u->seq, &copy);
	} else {
		copy.rows = rows;
		copy.row_bytes = cnn_min(v->sram_pixel, plan->pixel - c0);
		copy.va_pitch = plan->pixel;
		copy.local_pitch = v->sram_pixel;
		seqc_copy_loop(u->seq, &copy, columns, plan->column, column);
	}
}

/* Loads one side of a tile. What the input does not have is padding, or does not matter. */
static void load_side(const struct emitter *u, const struct hwpec_tile *t, int side)
{
	const struct hwpec_conv *v = &u->n->conv;
	struct side_tile h = get_side(u->n, t, side);
	struct side_part p = clip_side(v, &h);
	bool whole = p.x0 == h.x && p.y0 == h.y && p.x1 == h.x + h.columns && p.y1 == h.y + h.rows;

	if (!v->product && !whole)
		seqc_fill(u->seq, (uint32_t)side, v->pad_byte,
			  h.columns * hwpec_column_bytes(u->n, t->h));
	if (p.x1 <= p.x0 || p.y1 <= p.y0)
		return;
	if (u->n->plan.interleaved)
		load_parts(u, t, side, p.x0, p.x1);
	else
		load_pixels(u, t, side, &p);
}

/* Index of the first of 16 output channels. */
static int64_t first_channel(const struct emitter *u)
{
	return u->block * u->n->conv.block_groups * u->n->conv.co + u->first * HWPEC_COLUMNS;
}

static void get_acc_init(const struct emitter *u, int32_t acc_init[HWPEC_COLUMNS])
{
	int64_t left = hwpec_block_outputs(&u->n->conv, u->block) - u->first * HWPEC_COLUMNS;

	for (int64_t i = 0; i < HWPEC_COLUMNS; i++)
		acc_init[i] = i < left ? u->n->conv.acc_init[first_channel(u) + i] : 0;
}

static void configure(const struct emitter *u, const struct hwpec_tile *t)
{
	const struct hwpec_node *n = u->n;
	uint32_t shift = n->conv.shift < 0 ? 0 : (uint32_t)n->conv.shift;

	hwpec_exec(u->seq, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_CFG, HWPEC_BOTH, 0, 0, 0),
		   (uint32_t)n->conv.words | (uint32_t)(n->conv.dw * hwpec_column_bytes(n, t->h))
						     << 16,
		   (uint32_t)n->conv.kw | n->conv.type << CNNACC_HWPE_CFG_TYPE_SHIFT |
			   (n->conv.input_layer ? CNNACC_HWPE_CFG_INPUT : 0) |
			   (n->plan.interleaved ? CNNACC_HWPE_CFG_333 : 0) |
			   shift << CNNACC_HWPE_CFG_SHIFT_SHIFT |
			   (uint32_t)u->groups << CNNACC_HWPE_CFG_K_SHIFT);
}

static bool is_loaded(const struct emitter *u, const struct hwpec_tile *t)
{
	return u->loaded.h && u->loaded.n == t->n && u->loaded.x == t->x && u->loaded.y == t->y;
}

/* The windows of a tile, but for acc_init. */
static struct hwpec_windows get_windows(const struct emitter *u, const struct hwpec_tile *t)
{
	const struct hwpec_conv *v = &u->n->conv;
	int64_t size = hwpec_result_bytes(v), row = v->ofm_c_padded * size;
	int64_t column = v->ofm_h_padded * row;
	struct hwpec_windows w = {
		.groups = u->groups, .w = t->w / HWPEC_OUT_COLUMNS, .h = t->h / HWPEC_OUT_ROWS,
		.va = u->out + (uint32_t)((t->n * v->ofm_w_padded + t->x) * column + t->y * row +
					  first_channel(u) * size),
		.group_pitch = (uint32_t)(HWPEC_COLUMNS * size), .column_advance = (uint32_t)column,
		.row_advance = (uint32_t)row, .base_row = (uint32_t)hwpec_row_advance(u->n),
		.base_column = (uint32_t)(v->sw * hwpec_column_bytes(u->n, t->h)),
	};

	w.row_pitch = (uint32_t)(w.h * row);
	w.pitch = (uint32_t)(w.w * column);
	w.base_pitch = (uint32_t)w.h * w.base_row;
	return w;
}

static void run_tile(struct emitter *u, const struct hwpec_tile *t)
{
	struct hwpec_windows w = get_windows(u, t);
	int32_t acc_init[HWPEC_COLUMNS];

	for (int side = 0; side < HWPEC_OUT_COLUMNS && !is_loaded(u, t); side++)
		load_side(u, t, side);
	u->loaded = *t;
	configure(u, t);
	if (u->n->conv.acc_init) {
		get_acc_init(u, acc_init);
		w.acc_init = acc_init;
	}
	hwpec_run(u->seq, u->n, &w);
}

static int64_t weight_bytes(const struct emitter *u)
{
	return u->groups * u->n->plan.rounds * CNNACC_HWPE_ROUND_BYTES;
}

static void load_weights(const struct emitter *u)
{
	const struct seqc_copy copy = {
		.memory = CNNACC_HWPE_KERNEL, .va = u->weights, .rows = 1,
		.row_bytes = weight_bytes(u), .weights = true,
	};

	seqc_copy(u->seq, &copy);
}

/* Appends a tile, to a new program if this one is full. *weights: the program has loaded them. */
static int add_tile(struct emitter *u, const struct hwpec_tile *t, bool *weights)
{
	int ret = seqc_reserve(u->seq, HWPEC_TILE_COMMANDS, hwpec_tile_cycles(u->n));

	if (ret)
		return ret;
	if (!u->seq->count) {
		hwpec_begin(u->seq);
		*weights = false;
		u->loaded.h = 0;
	}
	if (!*weights)
		load_weights(u);
	*weights = true;
	run_tile(u, t);
	return CNN_OK;
}

static int add_tiles(struct emitter *u)
{
	const struct hwpec_node *n = u->n;
	struct hwpec_tile t = { 0 };
	bool weights = false;
	int ret = CNN_OK;

	for (t.n = 0; t.n < n->conv.batch; t.n++)
		for (t.x = 0; t.x < n->conv.ofm_w_padded; t.x += n->plan.tile_w)
			for (t.y = 0; t.y < n->conv.ofm_h_padded && !ret; t.y += n->plan.tile_h) {
				t.w = cnn_min(n->plan.tile_w, n->conv.ofm_w_padded - t.x);
				t.h = cnn_min(n->plan.tile_h, n->conv.ofm_h_padded - t.y);
				ret = add_tile(u, &t, &weights);
			}
	return ret;
}

/* The outputs of a block whose weights fit the kernel memory. */
static int add_chunk(struct emitter *u)
{
	struct cnn_compile *compile = u->seq->compile;
	int64_t at;

	if (u->seq->dry)
		return add_tiles(u);
	at = cnn_image_add(compile, &compile->weights, weight_bytes(u), CNNACC_LINE_SIZE);
	if (at < 0)
		return (int)at;
	hwpec_pack(u->n, u->block, u->first, u->groups, compile->weights.data + at);
	u->weights = CNN_VA_WEIGHTS + (uint32_t)at;
	return add_tiles(u);
}

static int add_blocks(struct emitter *u)
{
	int ret = CNN_OK;

	for (u->block = 0; u->block < u->n->conv.blocks && !ret; u->block++) {
		int64_t groups =
			cnn_div_up(hwpec_block_outputs(&u->n->conv, u->block), HWPEC_COLUMNS);

		u->loaded.h = 0;
		for (u->first = 0; u->first < groups && !ret; u->first += u->n->plan.chunk) {
			u->groups = cnn_min(u->n->plan.chunk, groups - u->first);
			ret = add_chunk(u);
		}
	}
	return ret;
}

/* Makes all programs of a node. */
static int add_programs(struct hwpec_core *core, struct emitter *u)
{
	u->seq->compile = core->base.compile;
	u->seq->commands_max = core->hw.commands;
	u->seq->cycles_max = core->hw.cycles_max;
	return seqc_finish(u->seq, add_blocks(u));
}

uint64_t hwpec_cycles(struct hwpec_core *core, struct hwpec_node *n)
{
	struct seqc seq = { .dry = true };
	struct emitter u = { .n = n, .seq = &seq };

	return add_programs(core, &u) ? 0 : seq.total;
}

int hwpec_emit(struct hwpec_core *core, int node)
{
	struct hwpec_node *n = &core->nodes[node];
	const struct cnn_slot *slots = core->base.compile->out->slots;
	struct seqc seq = { .node = node };
	struct emitter u = {
		.n = n, .seq = &seq, .in = CNN_VA_ARENA + (uint32_t)slots[n->conv.in].offset,
		.out = CNN_VA_ARENA + (uint32_t)slots[n->conv.out].offset,
	};

	return add_programs(core, &u);
}
