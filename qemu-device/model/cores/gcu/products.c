// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Products are computed after the op3 that they belong to, many op3 at once: at the latest when the
 * output row ends, or before one of their slots gets other contents.
 */
#include <string.h>

#include "mac.h"
#include "workers.h"

/* Estimated times on one thread: of a step; of all that the end of step() must not leave undone. */
#define STEP_NS_MAX	100000
#define STALE_NS_MAX	200000
#define STEP_SUMS	(GCU_STEP_KERNELS * GCU_STEP_COLUMNS)

/** struct share - steps of a batch that threads compute. */
struct share {
	const struct gcu *g;
	uint32_t first, count;
	unsigned int parts;
};

static bool is_fp16(const struct gcu *g)
{
	return g->layer.format == CNNACC_GCU_FP16;
}

static uint32_t column_steps(const struct gcu *g)
{
	return (g->layer.ofmw + GCU_STEP_COLUMNS - 1) / GCU_STEP_COLUMNS;
}

uint32_t gcu_steps(const struct gcu *g)
{
	return (g->group.kn + GCU_STEP_KERNELS - 1) / GCU_STEP_KERNELS * column_steps(g);
}

/* Estimated ns of a step with @ops op3. */
static int64_t step_ns(const struct gcu *g, uint32_t ops)
{
	const struct gcu_simd *simd = g->simd;
	uint32_t ps = is_fp16(g) ? simd->floats_ps : g->operands->batch.saturate ?
						     simd->saturating_ps : simd->integers_ps;
	uint64_t macs = (uint64_t)ops * g->layer.s * g->atomic_c * STEP_SUMS;

	return (int64_t)(macs * ps / 1000) + 1;
}

/* ---- bounds ---- */

void gcu_products_reset(struct gcu *g, bool zero)
{
	struct gcu_operands *o = g->operands;

	o->acc_bound = zero ? 0 : -1;
	o->acc_known = zero;
	o->acc_bits = INT16_MIN;
	o->acc_func = INT16_MAX;
}

static int64_t largest_acc(const struct gcu *g)
{
	int64_t largest = 0;

	for (uint32_t k = 0; k < g->group.kn; k++)
		for (uint32_t w = 0; w < g->layer.ofmw; w++) {
			int64_t v = g->acc[(size_t)k * g->acc_pitch + w];

			v = v < 0 ? -v : v;
			largest = v > largest ? v : largest;
		}
	return largest;
}

/* No sum of some of the pending products in pairs is larger. */
static int64_t largest_pairs(const struct gcu *g)
{
	const struct gcu_operands *o = g->operands;
	uint64_t sum[GCU_ATOMIC_MAX] = { 0 }, largest = 0;

	for (uint32_t i = 0; i < g->s->pending_count; i++) {
		const struct gcu_op *op = &g->s->pending[i];
		const uint32_t *weights = o->kernel_size +
			((size_t)op->kernel_slot * g->layer.r + op->r) * g->atomic_k;
		uint32_t x = o->row_max[o->place[i]];

		for (uint32_t k = 0; k < g->group.kn; k++)
			sum[k] += (uint64_t)x * weights[k];
	}
	for (uint32_t k = 0; k < g->group.kn; k++)
		largest = sum[k] > largest ? sum[k] : largest;
	return (int64_t)largest;
}

/* Products in quads of an op3: no sum of some of them is larger. */
static int64_t quads_bound(const struct gcu *g)
{
	return (int64_t)g->layer.s * g->atomic_c * 255 * 128;
}

static void find_acc_bound(struct gcu *g)
{
	struct gcu_operands *o = g->operands;

	if (o->acc_bound < 0)
		o->acc_bound = largest_acc(g);
}

/* Do the pending products have to saturate? */
static void find_bound(struct gcu *g)
{
	struct gcu_operands *o = g->operands;
	struct gcu_batch *b = &o->batch;

	b->high = g->layer.acc16 ? INT16_MAX : INT32_MAX;
	find_acc_bound(g);
	o->acc_bound += o->quads ? g->s->pending_count * quads_bound(g) : largest_pairs(g);
	b->saturate = o->acc_bound > b->high;
	if (b->saturate)
		o->acc_bound = -1;
}

/* ---- bounds of FP16 ---- */

/*
 * Exponents of an accumulator and of a tap differ by 63 at most, if no accumulator reaches
 * 2^(37 + 4 * func), and none other than 0 is below 2^(4 * func - 90).  What is not 0 after a tap
 * is at least its unit, 2^(4 * func - 50).
 */
#define FUNC_RANGE	10

static int32_t bits_of(uint32_t n)
{
	return n < 2 ? 0 : 32 - __builtin_clz(n - 1);
}

static void find_distance(struct gcu *g)
{
	struct gcu_operands *o = g->operands;
	int32_t high = 0, low = o->acc_func, bits;

	for (uint32_t i = 0; i < g->s->pending_count; i++) {
		const struct gcu_op *op = &g->s->pending[i];
		int32_t x = (int32_t)o->row_max[o->place[i]];
		int32_t func = x + o->kernel_high[op->kernel_slot];
		int32_t least = o->kernel_low[op->kernel_slot];

		high = func > high ? func : high;
		low = least < low ? least : low;
	}
	/* A product has less than 28 bits. */
	bits = bits_of(g->s->pending_count * g->layer.s * g->atomic_c) + 28 + 4 * high - 50;
	bits = (bits > o->acc_bits ? bits : o->acc_bits) + 1;
	o->batch.near = o->acc_known && high - low <= FUNC_RANGE && bits <= 37 + 4 * low;
	o->acc_func = low;
	o->acc_bits = bits;
}

/* ---- computation ---- */

/* Rows in quads have a zero point: subtract what it adds to the sums. */
static void find_offsets(struct gcu *g)
{
	const struct gcu_operands *o = g->operands;
	int32_t *offset = g->operands->batch.offset;
	uint32_t zero = gcu_row_zero(&g->layer), sum[GCU_ATOMIC_MAX] = { 0 };

	memset(offset, 0, sizeof(o->batch.offset));
	if (!o->quads || !zero)
		return;
	for (uint32_t i = 0; i < g->s->pending_count; i++) {
		const struct gcu_op *op = &g->s->pending[i];
		const int32_t *weights = o->kernel_sum +
			((size_t)op->kernel_slot * g->layer.r + op->r) * g->atomic_k;

		for (uint32_t k = 0; k < g->group.kn; k++)
			sum[k] += (uint32_t)weights[k];
	}
	for (uint32_t k = 0; k < g->group.kn; k++)
		offset[k] = (int32_t)(0 - sum[k] * zero);
}

static void make_batch(struct gcu *g)
{
	struct gcu_batch *b = &g->operands->batch;

	b->taps = g->layer.s;
	b->channels = g->atomic_c;
	b->kernels = g->atomic_k;
	b->columns = g->layer.ofmw;
	b->pitch = g->columns.pitch;
	b->tap = g->columns.tap;
	b->real = g->columns.real;
	b->acc = g->acc;
	b->acc_pitch = g->acc_pitch;
	b->floor = g->fp_floor;
	b->count = g->s->pending_count;
	if (is_fp16(g)) {
		find_distance(g);
		return;
	}
	find_bound(g);
	find_offsets(g);
}

/* Steps from @first on that are one tile: those of the same kernels, or whole rows. */
static uint32_t tile_steps(const struct gcu *g, uint32_t first, uint32_t end)
{
	uint32_t row = column_steps(g);

	return row == 1 ? end - first : gcu_least(row - first % row, end - first);
}

static void run_tile(const struct gcu *g, struct gcu_tile tile)
{
	const struct gcu_batch *b = &g->operands->batch;

	if (is_fp16(g))
		g->simd->floats(b, tile);
	else if (b->saturate)
		g->simd->saturating(b, tile);
	else if (g->operands->quads)
		g->simd->quads(b, tile);
	else
		g->simd->integers(b, tile);
}

/* Compute steps @first..@end - 1. */
static void run_steps(const struct gcu *g, uint32_t first, uint32_t end)
{
	uint32_t row = column_steps(g);

	while (first < end) {
		uint32_t steps = tile_steps(g, first, end), k = first / row * GCU_STEP_KERNELS;
		uint32_t kernels = row == 1 ? steps * GCU_STEP_KERNELS : GCU_STEP_KERNELS;

		run_tile(g, (struct gcu_tile){
			.k = k, .kernels = gcu_least(kernels, g->group.kn - k),
			.w = first % row * GCU_STEP_COLUMNS,
			.columns = (row == 1 ? 1 : steps) * GCU_STEP_COLUMNS,
		});
		first += steps;
	}
}

static void run_part(void *opaque, unsigned int part, unsigned int thread)
{
	const struct share *share = opaque;

	(void)thread;
	run_steps(share->g, share->first + share->count * part / share->parts,
		  share->first + share->count * (part + 1) / share->parts);
}

/* Compute up to @count steps, as many as the budget allows. */
static void run_share(struct gcu *g, uint32_t count, struct gcu_run *run)
{
	int64_t ns = step_ns(g, g->s->pending_count), most = run->budget / ns + 1, parts;
	struct share share = { .g = g, .first = g->s->steps, .count = count };

	if (most < count)
		share.count = (uint32_t)most;
	parts = share.count * ns / CM_MIN_PART_NS;
	if (parts > g->resources.threads)
		parts = g->resources.threads;
	if (parts > share.count)
		parts = share.count;
	share.parts = parts > 1 ? (unsigned int)parts : 1;
	cm_workers_run(g->resources.workers, run_part, &share, share.parts);
	g->s->steps += share.count;
	run->budget -= share.count * ns / share.parts;
}

void gcu_products_drop(struct gcu *g)
{
	g->s->pending_count = 0;
	g->s->steps = 0;
	g->operands->stale = false;
	g->operands->number++;
}

bool gcu_products_finish(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	uint32_t steps = gcu_steps(g);

	if (!s->pending_count)
		return true;
	if (run->budget <= 0)
		return false;
	make_batch(g);
	while (s->steps < steps) {
		if (run->budget <= 0) {
			gcu_products_reset(g, false);
			return false;
		}
		run_share(g, steps - s->steps, run);
	}
	gcu_products_drop(g);
	return true;
}

/* ---- pending op3 ---- */

/* Estimated ns of everything pending and one op3 more. */
static int64_t pending_ns(const struct gcu *g)
{
	return step_ns(g, g->s->pending_count + 1) * gcu_steps(g);
}

static bool room(const struct gcu *g)
{
	const struct gcu_state *s = g->s;

	if (s->steps || s->pending_count == GCU_PENDING_MAX)
		return false;
	if (g->operands->stale && pending_ns(g) > STALE_NS_MAX)
		return false;
	return !s->pending_count || step_ns(g, s->pending_count + 1) <= STEP_NS_MAX;
}

/* Sums in quads must not have to saturate: if they can, go on in pairs. */
static bool check_quads(struct gcu *g, struct gcu_run *run)
{
	struct gcu_operands *o = g->operands;
	int64_t one = quads_bound(g);

	if (o->acc_bound >= 0 && o->acc_bound + (g->s->pending_count + 1) * one <= INT32_MAX)
		return true;
	if (!gcu_products_finish(g, run))
		return false;
	find_acc_bound(g);
	if (o->acc_bound + one > INT32_MAX)
		gcu_operands_place(g, false);
	return true;
}

/* The slots of an op3 have factors, and the pending batch refers to them. */
static bool append(struct gcu *g, const struct gcu_op *op)
{
	struct gcu_operands *o = g->operands;
	uint32_t n = g->s->pending_count;

	if (!gcu_make_row(g, op->row_slot) || !gcu_make_kernels(g, op->kernel_slot))
		return false;
	gcu_factors(g, op, &o->batch.op[n]);
	o->place[n] = o->place_of[op->row_slot];
	o->row_batch[o->place[n]] = o->number;
	o->kernel_batch[op->kernel_slot] = o->number;
	return true;
}

bool gcu_products_add(struct gcu *g, const struct gcu_op *op, struct gcu_run *run)
{
	struct gcu_state *s = g->s;

	if (!room(g) && !gcu_products_finish(g, run))
		return false;
	if (g->operands->quads && !check_quads(g, run))
		return false;
	if (!append(g, op)) {
		if (!gcu_products_finish(g, run))
			return false;
		append(g, op);
	}
	s->pending[s->pending_count++] = *op;
	return true;
}

void gcu_products_rebuild(struct gcu *g)
{
	struct gcu_state *s = g->s;
	uint32_t count = s->pending_count;

	gcu_products_reset(g, false);
	g->operands->stale = false;
	for (s->pending_count = 0; s->pending_count < count; s->pending_count++)
		append(g, &s->pending[s->pending_count]);
}

bool gcu_products_overwrite(struct gcu *g, bool pending, struct gcu_run *run)
{
	if (!pending)
		return true;
	if (pending_ns(g) > STALE_NS_MAX)
		return gcu_products_finish(g, run);
	g->operands->stale = true;
	return true;
}

bool gcu_row_pending(const struct gcu *g, uint32_t slot)
{
	const struct gcu_operands *o = g->operands;
	uint32_t place = o->place_of[slot];

	return g->s->pending_count && place != GCU_NO_PLACE && o->row_batch[place] == o->number;
}

bool gcu_kernel_pending(const struct gcu *g, uint32_t slot)
{
	const struct gcu_operands *o = g->operands;

	return g->s->pending_count && o->kernel_known[slot] && o->kernel_batch[slot] == o->number;
}

void gcu_products_save(struct gcu *g, struct gcu_run *run)
{
	if (!g->operands->stale)
		return;
	run->budget = INT64_MAX;
	gcu_products_finish(g, run);
}
