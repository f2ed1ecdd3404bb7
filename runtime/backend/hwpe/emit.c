// SPDX-License-Identifier: MIT
/* The programs of one node: its weights once, then its tiles. */
#include <stdlib.h>

#include "hwpe.h"

/* Where the halves of a tile begin in the input, and their sizes. */
struct half {
	int64_t x, y, columns, rows;
};

/* Interleaved: two parts of so many rows, which overlap; the second begins at row part_step(). */
static int64_t part_step(const struct hwpec_node *n, int64_t th)
{
	return th / 2 * n->sh;
}

static int64_t part_rows(const struct hwpec_node *n, int64_t th)
{
	return (th / 2 - 1) * n->sh + n->kh;
}

int64_t hwpec_column_bytes(const struct hwpec_node *n, int64_t th)
{
	return n->cs * (n->interleaved ? 2 * part_rows(n, th) : (th - 1) * n->sh + n->kh);
}

int64_t hwpec_row_step(const struct hwpec_node *n)
{
	return n->sh * n->cs * (n->interleaved ? 2 : 1);
}

static struct half get_half(const struct hwpec_node *n, const struct hwpec_tile *t, int side)
{
	int64_t columns = t->tw / HWPEC_OUT_COLUMNS;

	return (struct half){
		.x = (t->x + side * columns) * n->sw - n->pl, .y = t->y * n->sh - n->pt,
		.columns = (columns - 1) * n->sw + (n->kw - 1) * n->dw + 1,
		.rows = (t->th - 1) * n->sh + n->kh,
	};
}

/* ---- what it takes --------------------------------------------------------------------- */

#define DRAIN_CYCLES	(1 + CNNACC_HWPE_ACCS * (16 + 2))
#define START_CYCLES	(8 + CNNACC_HWPE_ACCS * CNNACC_HWPE_PES)
#define TASK_CYCLES	512

uint64_t hwpec_tile_cycles(const struct hwpec_node *n)
{
	const struct hwpec_tile t = { .th = n->th, .tw = n->tw };
	struct half h = get_half(n, &t, 0);
	int64_t windows = n->chunk * (n->th / HWPEC_OUT_ROWS) * (n->tw / HWPEC_OUT_COLUMNS);
	int64_t column = hwpec_column_bytes(n, n->th), bytes = h.columns * column;
	int64_t pieces = h.columns, window = 8 * n->rounds + 12 + DRAIN_CYCLES;

	if (n->start)
		window += START_CYCLES;
	if (n->cs != n->cp)
		pieces *= h.rows;
	if (n->interleaved)
		pieces *= column;
	return (uint64_t)(TASK_CYCLES + windows * window + 2 * n->chunk * n->rounds +
			  HWPEC_OUT_COLUMNS * (2 * cnn_div_up(bytes, CNNACC_LINE_SIZE) +
					       2 * pieces + 17 * h.columns));
}

int64_t hwpec_tiles(const struct hwpec_node *n)
{
	return n->n * cnn_div_up(n->ohp, n->th) * cnn_div_up(n->owp, n->tw);
}

int64_t hwpec_slots(const struct hwpec_node *n)
{
	int64_t windows = n->n * (n->ohp / HWPEC_OUT_ROWS) * (n->owp / HWPEC_OUT_COLUMNS),
		slots = 0;

	for (int64_t b = 0; b < n->blocks; b++)
		slots += windows * cnn_div_up(hwpec_block_outputs(n, b), HWPEC_COLUMNS) *
			 n->rounds * HWPEC_COLUMNS * CNNACC_HWPE_ACCS * HWPEC_WORD * n->per_byte;
	return slots;
}

/* ---- tiles ----------------------------------------------------------------------------- */

struct unit {
	struct hwpec_node *n;
	struct hwpec_task *task;
	uint32_t in, out;		/* addresses */
	int64_t block, first, groups;	/* of 16 outputs */
	uint32_t weights;
	struct hwpec_tile loaded; /* whose input is in the SRAMs; th 0: none */
};

/* Columns x0 to x1 of both parts of a half, a byte at a time. */
static void load_parts(const struct unit *u, const struct hwpec_tile *t, int side, int64_t x0,
		       int64_t x1)
{
	const struct hwpec_node *n = u->n;
	struct half h = get_half(n, t, side);
	int64_t column = hwpec_column_bytes(n, t->th);

	for (int part = 0; part < 2; part++) {
		int64_t y = h.y + part * part_step(n, t->th), y0 = cnn_max(y, 0);
		int64_t y1 = cnn_min(y + part_rows(n, t->th), n->ih);
		const uint32_t arg[6] = {
			(uint32_t)(u->in + t->n * n->in_l.image_pitch + x0 * n->column + y0 * n->cp),
			(uint32_t)((x0 - h.x) * column + (y0 - y) * n->cp * 2 + part),
			(uint32_t)((y1 - y0) * n->cp), 1, 1, 2,
		};

		if (y0 < y1)
			hwpec_copy_columns(u->task, (uint32_t)side, arg, x1 - x0,
					   (uint32_t)n->column, (uint32_t)column);
	}
}

/* What there is of a half in the input; the rest is padding, or nobody's. */
static void load_half(const struct unit *u, const struct hwpec_tile *t, int side)
{
	const struct hwpec_node *n = u->n;
	struct half h = get_half(n, t, side);
	int64_t x0 = cnn_max(h.x, 0), x1 = cnn_min(h.x + h.columns, n->iw);
	int64_t y0 = cnn_max(h.y, 0), y1 = cnn_min(h.y + h.rows, n->ih);
	int64_t c0 = u->block * n->block_groups * n->ci / n->per_byte;
	int64_t width = cnn_min(n->cs, n->cp - c0);
	int64_t local = ((x0 - h.x) * h.rows + y0 - h.y) * n->cs, va;

	if (n->product)
		y1 = cnn_min(y1, n->rows - x0 * n->ih);
	else if (x0 != h.x || y0 != h.y || x1 != h.x + h.columns || y1 != h.y + h.rows)
		hwpec_fill(u->task, (uint32_t)side, n->pad,
			   (uint32_t)(h.columns * hwpec_column_bytes(n, t->th)));
	if (x1 <= x0 || y1 <= y0)
		return;
	if (n->interleaved) {
		load_parts(u, t, side, x0, x1);
		return;
	}
	va = u->in + t->n * n->in_l.image_pitch / n->per_byte + x0 * n->column + y0 * n->cp + c0;
	if (n->cs == n->cp) {
		const uint32_t arg[6] = {
			(uint32_t)va, (uint32_t)local, (uint32_t)(x1 - x0),
			(uint32_t)((y1 - y0) * n->cp), (uint32_t)n->column,
			(uint32_t)(h.rows * n->cs),
		};

		hwpec_copy(u->task, (uint32_t)side, arg, false);
	} else {
		const uint32_t arg[6] = {
			(uint32_t)va, (uint32_t)local, (uint32_t)(y1 - y0), (uint32_t)width,
			(uint32_t)n->cp, (uint32_t)n->cs,
		};

		hwpec_copy_columns(u->task, (uint32_t)side, arg, x1 - x0, (uint32_t)n->column,
				   (uint32_t)(h.rows * n->cs));
	}
}

/* Channel of the first of 16 outputs. */
static int64_t first_channel(const struct unit *u)
{
	return u->block * u->n->block_groups * u->n->co + u->first * HWPEC_COLUMNS;
}

static void get_start(const struct unit *u, int32_t start[HWPEC_COLUMNS])
{
	int64_t left = hwpec_block_outputs(u->n, u->block) - u->first * HWPEC_COLUMNS;

	for (int64_t i = 0; i < HWPEC_COLUMNS; i++)
		start[i] = i < left ? u->n->start[first_channel(u) + i] : 0;
}

static void configure(const struct unit *u, const struct hwpec_tile *t)
{
	const struct hwpec_node *n = u->n;
	uint32_t shift = n->shift < 0 ? 0 : (uint32_t)n->shift;

	hwpec_exec(u->task, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_CFG, HWPEC_BOTH, 0, 0, 0),
		   (uint32_t)n->words | (uint32_t)(n->dw * hwpec_column_bytes(n, t->th)) << 16,
		   (uint32_t)n->kw | n->type << CNNACC_HWPE_CFG_TYPE_SHIFT |
			   (n->input ? CNNACC_HWPE_CFG_INPUT : 0) |
			   (n->interleaved ? CNNACC_HWPE_CFG_333 : 0) |
			   shift << CNNACC_HWPE_CFG_SHIFT_SHIFT |
			   (uint32_t)u->groups << CNNACC_HWPE_CFG_K_SHIFT);
}

static bool is_loaded(const struct unit *u, const struct hwpec_tile *t)
{
	return u->loaded.th && u->loaded.n == t->n && u->loaded.x == t->x && u->loaded.y == t->y;
}

static void run_tile(struct unit *u, const struct hwpec_tile *t)
{
	const struct hwpec_node *n = u->n;
	int64_t size = hwpec_result_bytes(n), row = n->kp * size, column = n->ohp * row;
	int32_t start[HWPEC_COLUMNS];
	struct hwpec_windows w = {
		.groups = u->groups,
		.wc = t->tw / HWPEC_OUT_COLUMNS,
		.hc = t->th / HWPEC_OUT_ROWS,
		.group_step = (uint32_t)(HWPEC_COLUMNS * size),
		.column_step = (uint32_t)column,
		.row_step = (uint32_t)row,
		.base_row = (uint32_t)hwpec_row_step(n),
		.base_column = (uint32_t)(n->sw * hwpec_column_bytes(n, t->th)),
	};

	w.va = u->out + (uint32_t)(t->n * n->out_l.image_pitch * size + t->x * column +
				   t->y * row + first_channel(u) * size);
	w.row_pitch = (uint32_t)(w.hc * row);
	w.pitch = (uint32_t)(w.wc * column);
	w.base_step = (uint32_t)w.hc * w.base_row;
	for (int side = 0; side < HWPEC_OUT_COLUMNS && !is_loaded(u, t); side++)
		load_half(u, t, side);
	u->loaded = *t;
	configure(u, t);
	if (n->start) {
		get_start(u, start);
		w.start = start;
		hwpec_run_started(u->task, n, &w);
	} else {
		hwpec_run(u->task, n, &w);
	}
}

static void load_weights(const struct unit *u)
{
	const uint32_t arg[6] = {
		u->weights, 0, 1,
		(uint32_t)(u->groups * u->n->rounds * CNNACC_HWPE_ROUND_BYTES), 0, 0,
	};

	hwpec_copy(u->task, CNNACC_HWPE_KERNEL, arg, true);
}

static bool is_full(const struct hwpec_task *t, const struct hwpec_node *n)
{
	uint64_t boot = (uint64_t)t->hw->commands / 2 + 32;

	return t->count + HWPEC_TILE_COMMANDS > t->hw->commands ||
	       t->cost.cycles + hwpec_tile_cycles(n) + boot > t->hw->cycles_max;
}

/* A tile, in a new program if this one is full; weights tells whether it has them. */
static int add_tile(struct unit *u, const struct hwpec_tile *t, bool *weights)
{
	int ret = CNN_OK;

	if (u->task->count && is_full(u->task, u->n)) {
		ret = hwpec_end(u->task);
		u->task->count = 0;
	}
	if (ret)
		return ret;
	if (!u->task->count) {
		hwpec_begin(u->task);
		*weights = false;
		u->loaded.th = 0;
	}
	if (!*weights)
		load_weights(u);
	*weights = true;
	run_tile(u, t);
	return CNN_OK;
}

static int add_tiles(struct unit *u)
{
	const struct hwpec_node *n = u->n;
	struct hwpec_tile t = { 0 };
	bool weights = false;
	int ret = CNN_OK;

	for (t.n = 0; t.n < n->n; t.n++)
		for (t.x = 0; t.x < n->owp; t.x += n->tw)
			for (t.y = 0; t.y < n->ohp && !ret; t.y += n->th) {
				t.tw = cnn_min(n->tw, n->owp - t.x);
				t.th = cnn_min(n->th, n->ohp - t.y);
				ret = add_tile(u, &t, &weights);
			}
	return ret;
}

/* The outputs of a block whose weights are in the kernel memory at once. */
static int add_chunk(struct unit *u)
{
	struct cnn_compile *lw = u->task->lw;
	int64_t bytes = u->groups * u->n->rounds * CNNACC_HWPE_ROUND_BYTES;
	int64_t at;

	if (u->task->dry)
		return add_tiles(u);
	at = cnn_image_add(lw, &lw->weights, bytes, CNNACC_LINE_SIZE);
	if (at < 0)
		return (int)at;
	hwpec_pack(u->n, u->block, u->first, u->groups, lw->weights.data + at);
	u->weights = CNN_VA_WEIGHTS + (uint32_t)at;
	return add_tiles(u);
}

static int add_blocks(struct unit *u)
{
	int ret = CNN_OK;

	for (u->block = 0; u->block < u->n->blocks && !ret; u->block++) {
		int64_t groups = cnn_div_up(hwpec_block_outputs(u->n, u->block), HWPEC_COLUMNS);

		u->loaded.th = 0;
		for (u->first = 0; u->first < groups && !ret; u->first += u->n->chunk) {
			u->groups = cnn_min(u->n->chunk, groups - u->first);
			ret = add_chunk(u);
		}
	}
	return ret;
}

uint64_t hwpec_cycles(struct hwpec_core *core, struct hwpec_node *n)
{
	struct hwpec_task task = { .lw = core->base.lw, .hw = &core->hw, .dry = true };
	struct unit u = { .n = n, .task = &task };
	int ret = add_blocks(&u);

	if (!ret && task.count)
		ret = hwpec_end(&task);
	free(task.command);
	return ret ? 0 : task.total;
}

int hwpec_emit(struct hwpec_core *core, int node)
{
	struct hwpec_node *n = &core->nodes[node];
	const struct cnn_slot *slots = core->base.lw->out->slots;
	struct hwpec_task task = { .lw = core->base.lw, .hw = &core->hw, .node = node };
	struct unit u = {
		.n = n, .task = &task, .in = CNN_VA_ARENA + (uint32_t)slots[n->in].offset,
		.out = CNN_VA_ARENA + (uint32_t)slots[n->out].offset,
	};
	int ret = add_blocks(&u);

	if (!ret && task.count)
		ret = hwpec_end(&task);
	free(task.command);
	return ret;
}
