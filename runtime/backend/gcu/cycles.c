// SPDX-License-Identifier: MIT
/* What a layer block costs: the page's Sequence, Cycles and Counters. */
#include <stdlib.h>

#include "block.h"

#define LATENCY		16	/* cycles until data that was moved is there */
#define START		16	/* cycles of a layer before anything moves */
#define LUT_BYTES	(2 * CNNACC_GCU_LUT_ENTRIES)

struct clock {
	const struct gcuc_hw *hw;
	const struct gcuc_block *b;
	struct gcuc_count *n;
	struct gcuc_slots slots;
	uint64_t line;			/* clocks of a line */
	uint64_t t, f, w, p, o;
	uint64_t free[CNNACC_GCU_RBUF_BANKS_MAX];
	int64_t rows_done;		/* of the ofmap, all kernel groups */
	/* Kernel area. */
	int64_t resident, swap_count, swap_next, swap_done, swap_total;
	uint64_t *ready, swap_ready[2];	/* by number in the kernel group; by swap slot */
	int64_t weights_at;		/* of the kernel group, in the weights */
	/* Tables. */
	int64_t entry;
	uint32_t op4, trigger;
	const uint8_t *vector;
	int64_t taps;			/* of a row that is not masked */
};

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void wait_until(struct clock *c, uint64_t time)
{
	if (time > c->t) {
		c->n->stall += time - c->t;
		c->t = time;
	}
}

/* A transfer on a stream; returns when its data is there. */
static uint64_t use(struct clock *c, uint64_t *stream, uint64_t lines)
{
	*stream = max64(*stream, c->t) + c->line * lines;
	c->n->lines += lines;
	*(stream == &c->w ? &c->n->dma_weights : &c->n->dma_rows) += c->line * lines;
	return *stream + LATENCY;
}

static uint64_t lines_of(int64_t at, int64_t bytes)
{
	return (uint64_t)((at + bytes - 1) / CNNACC_LINE_SIZE - at / CNNACC_LINE_SIZE + 1);
}

/* Lines of @n columns of @bytes each, from @at on. */
static uint64_t column_lines(int64_t at, int64_t n, int64_t bytes, int64_t stride)
{
	uint64_t lines = 0;

	if (stride <= CNNACC_LINE_SIZE)
		return lines_of(at, (n - 1) * stride + bytes);
	if (CNNACC_LINE_SIZE % bytes == 0 && at % bytes == 0 && stride % bytes == 0)
		return (uint64_t)n;
	for (int64_t i = 0; i < n; i++)
		lines += lines_of(at + i * stride, bytes);
	return lines;
}

/* Lines of the row of a kernel group in the psum or the ofmap. */
static uint64_t result_lines(const struct clock *c, const struct gcuc_map *m, int64_t bytes,
			     int64_t kg, int64_t h)
{
	int64_t lanes = c->hw->atomic_c, end = cnn_min((kg + 1) * c->hw->atomic_k, c->b->k);
	uint64_t lines = 0;

	for (int64_t k = kg * c->hw->atomic_k; k < end;) {
		int64_t next = cnn_min(k - k % lanes + lanes, end);

		lines += column_lines(m->at + k / lanes * m->group + h * m->row + k % lanes * bytes,
				      c->b->x.out, (next - k) * bytes, m->column);
		k = next;
	}
	return lines;
}

static uint64_t load_row(void *opaque, int64_t group, int64_t row, bool again)
{
	struct clock *c = opaque;
	const struct gcuc_map *m = &c->b->ifmap;
	int64_t lanes = cnn_min(c->hw->atomic_c, c->b->c - group * c->hw->atomic_c);
	int64_t column = lanes * c->b->element, bytes = column * c->b->x.in;

	c->n->read_rows += (uint64_t)bytes;
	*(again ? &c->n->row_refills : &c->n->rows_once) += (uint64_t)bytes;
	return use(c, &c->f,
		   column_lines(m->at + group * m->group + row * m->row, c->b->x.in, column,
				m->column));
}

static uint64_t read_weights(struct clock *c, int64_t at, int64_t bytes)
{
	c->n->read_weights += (uint64_t)bytes;
	return use(c, &c->w, lines_of(at, bytes));
}

/* ---- kernel area ------------------------------------------------------------------------- */

static uint64_t load_group(struct clock *c, int64_t number)
{
	const struct gcuc_range *r = &c->slots.range;
	int64_t bytes = c->b->y.kernel * c->b->x.kernel * r->kernels * c->hw->atomic_c *
			c->b->element;

	return read_weights(c, c->weights_at + number * bytes, bytes);
}

/* The next swap request, if there is one. */
static void request_swap(struct clock *c)
{
	int64_t number = c->swap_next++;

	if (number >= c->swap_total)
		return;
	if (number >= c->swap_count)
		c->n->weight_refills += (uint64_t)(c->b->y.kernel * c->b->x.kernel *
						   c->slots.range.kernels * c->hw->atomic_c *
						   c->b->element);
	c->swap_ready[number % 2] = load_group(c, c->resident + number % c->swap_count);
}

static void begin_weights(struct clock *c, int64_t kg)
{
	const struct gcuc_range *r = &c->slots.range;

	if (c->b->control & CNNACC_GCU_LINEAR)
		read_weights(c, kg * c->hw->atomic_k * (int64_t)sizeof(struct cnnacc_gcu_linear),
			     r->kernels * (int64_t)sizeof(struct cnnacc_gcu_linear));
	c->resident = c->b->kbuf_groups >= r->count ? r->count : c->b->kbuf_groups - 2;
	c->swap_count = r->count - c->resident;
	c->swap_total = c->swap_count * c->b->y.out;
	c->swap_next = c->swap_done = 0;
	for (int64_t i = 0; i < c->resident; i++)
		c->ready[i] = load_group(c, i);
	for (int i = 0; i < 2; i++)
		request_swap(c);
}

static void wait_for_weights(struct clock *c, int64_t number)
{
	wait_until(c, number < c->resident ? c->ready[number] : c->swap_ready[c->swap_done % 2]);
}

static void end_weights(struct clock *c, int64_t number)
{
	if (number < c->resident)
		return;
	c->swap_done++;
	request_swap(c);
}

/* ---- tables ------------------------------------------------------------------------------ */

static bool load_next(struct clock *c)
{
	const struct gcuc_table *t = c->b->table;
	uint64_t bytes = (uint64_t)(1 + t->vector_bytes), clocks;
	uint8_t increment;

	if (c->entry >= t->n)
		return false;
	increment = t->increment[c->entry];
	c->vector = t->vector + c->entry * t->vector_bytes;
	if (increment == CNNACC_GCU_RESTART) {
		c->trigger = 0;
		c->vector = NULL;
		c->entry = 0;
	} else {
		c->trigger += increment;
		c->entry++;
	}
	clocks = (bytes + (uint64_t)c->hw->bus - 1) / (uint64_t)c->hw->bus;
	c->w = max64(c->w, c->t) + clocks;
	c->n->dma_weights += clocks;
	c->n->read_weights += bytes;
	c->n->table_bytes += bytes;
	return true;
}

static bool end_op4(struct clock *c)
{
	bool ok = true;

	if (c->op4 == c->trigger) {
		for (int64_t i = 0; c->vector && i < c->b->rows; i++)
			if (c->vector[i / 8] >> i % 8 & 1)
				gcuc_slots_evict(&c->slots, i);
		ok = load_next(c);
	}
	c->op4++;
	return ok;
}

/* ---- the loop nest ----------------------------------------------------------------------- */

static uint64_t latency_of(const struct clock *c)
{
	bool fp16 = gcuc_is_fp16(c->b);
	int64_t mac = (fp16 ? 4 : 2) + __builtin_ctzll((uint64_t)c->hw->atomic_c);

	return (uint64_t)(mac + (fp16 ? CNNACC_GCU_UPDATE_FP16 : CNNACC_GCU_UPDATE_INT) + 2);
}

static uint64_t drain_of(const struct gcuc_block *b)
{
	uint64_t linear = gcuc_is_fp16(b) ? 9 : 8;

	return 3 + (b->control & CNNACC_GCU_LINEAR ? linear : 0) + (gcuc_act(b) ? 6 : 0);
}

/* Pairs of kernel and channel that exist and are in one group of the convolution. */
static int64_t count_pairs(const struct clock *c, int64_t kg, int64_t group)
{
	int64_t size = c->b->c / c->b->groups, pairs = 0, lanes = c->hw->atomic_c;
	int64_t from = group * lanes, to = cnn_min(from + lanes, c->b->c);
	int64_t first = kg * c->hw->atomic_k;

	if (c->b->groups == 1)
		return (to - from) * c->slots.range.kernels;
	for (int64_t k = first; k < first + c->slots.range.kernels; k++)
		pairs += cnn_max(0, cnn_min(to, (k / size + 1) * size) -
				    cnn_max(from, k / size * size));
	return pairs;
}

static bool run_op4(struct clock *c, int64_t op4, int64_t pairs)
{
	const int64_t r_max = c->b->y.kernel;
	const uint64_t step = (uint64_t)gcuc_step_cycles(c->b);

	wait_for_weights(c, op4 % c->slots.range.count);
	for (int64_t need = op4 * r_max; need < (op4 + 1) * r_max; need++) {
		bool masked = gcuc_slots_row(&c->slots, need) < 0;
		struct gcuc_slot *slot = masked ? NULL : gcuc_slots_find(&c->slots, need);

		if (!masked && !slot)
			return false;
		if (slot)
			wait_until(c, slot->ready);
		c->t += step;
		c->n->compute += step;
		c->n->useful += masked ? 0 : (uint64_t)(c->taps * pairs);
		if (slot && !gcuc_uses_table(c->b))
			gcuc_slots_fifo(&c->slots, op4);
	}
	end_weights(c, op4 % c->slots.range.count);
	if (gcuc_uses_table(c->b) && !end_op4(c))
		return false;
	gcuc_slots_walk(&c->slots, op4 + 1);
	return true;
}

static void begin_row(struct clock *c, int64_t kg, int64_t h)
{
	uint64_t free = c->free[c->rows_done % c->hw->rbuf_banks], lines;

	wait_until(c, free);
	if (!(c->b->control & CNNACC_GCU_PSUM))
		return;
	lines = result_lines(c, &c->b->psum, 4, kg, h);
	c->p = max64(c->p, free) + c->line * lines;
	c->n->read_rows += (uint64_t)(c->b->x.out * c->slots.range.kernels * 4);
	c->n->lines += lines;
	c->n->dma_rows += c->line * lines;
	wait_until(c, c->p + LATENCY);
}

static void end_row(struct clock *c, int64_t kg, int64_t h)
{
	uint64_t lines = result_lines(c, &c->b->ofmap, c->b->result, kg, h);

	c->o = max64(c->o, c->t + latency_of(c)) + max64((uint64_t)c->b->x.out, c->line * lines);
	c->free[c->rows_done++ % c->hw->rbuf_banks] = c->o;
	c->n->lines += lines;
	c->n->dma_rows += c->line * lines;
	c->n->written += (uint64_t)(c->b->x.out * c->slots.range.kernels * c->b->result);
}

static bool run_kernel_group(struct clock *c, int64_t kg)
{
	int64_t op4 = 0;

	gcuc_slots_begin(&c->slots, kg);
	begin_weights(c, kg);
	if (gcuc_uses_table(c->b) && !load_next(c))
		return false;
	gcuc_slots_walk(&c->slots, 0);
	for (int64_t h = 0; h < c->b->y.out; h++) {
		begin_row(c, kg, h);
		for (int64_t i = 0; i < c->slots.range.count; i++)
			if (!run_op4(c, op4++, count_pairs(c, kg, c->slots.range.first + i)))
				return false;
		end_row(c, kg, h);
	}
	c->weights_at += gcuc_weight_bytes(c->hw, c->b, kg);
	if (!gcuc_uses_table(c->b))
		gcuc_slots_fifo_end(&c->slots);
	else if (c->b->groups == 1)
		c->op4 = 0;
	return true;
}

static bool run(struct clock *c, int64_t kernel_groups)
{
	kernel_groups = cnn_min(kernel_groups, gcuc_kernel_groups(c->hw, c->b));
	c->t = c->f = c->w = c->p = c->o = START;
	for (int64_t i = 0; i < c->hw->rbuf_banks; i++)
		c->free[i] = c->t;
	if (gcuc_uses_lut(c->b))
		read_weights(c, 0, LUT_BYTES);
	for (int64_t kg = 0; kg < kernel_groups; kg++)
		if (!run_kernel_group(c, kg))
			return false;
	c->n->cycles = c->o + drain_of(c->b);
	c->n->slots = c->n->compute * (uint64_t)(c->hw->atomic_c * c->hw->atomic_k);
	return true;
}

bool gcuc_count_block(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t kernel_groups,
		      struct gcuc_count *n)
{
	struct clock c = {
		.hw = hw, .b = b, .n = n, .line = (uint64_t)(CNNACC_LINE_SIZE / hw->bus),
		.taps = gcuc_taps_of_row(&b->x),
	};
	bool ok;

	*n = (struct gcuc_count){ 0 };
	c.ready = malloc((size_t)gcuc_channel_groups(hw, b) * sizeof(*c.ready));
	ok = c.ready && !gcuc_slots_init(&c.slots, hw, b);
	if (ok) {
		c.slots.load = load_row;
		c.slots.opaque = &c;
		ok = run(&c, kernel_groups);
		gcuc_slots_free(&c.slots);
	}
	free(c.ready);
	return ok;
}
