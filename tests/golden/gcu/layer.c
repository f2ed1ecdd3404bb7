// SPDX-License-Identifier: MIT
/* A layer from its first to its last effect; section "Sequence". */
#include "fp16.h"
#include "stages.h"
#include "state.h"

#include <string.h>

#include "../min_max.h"
#include "../words.h"

static int64_t update_depth(const struct golden_gcu_layer *l)
{
	return l->fp16 ? CNNACC_GCU_UPDATE_FP16 : CNNACC_GCU_UPDATE_INT;
}

/* P and Q of section "Cycles". */
static int64_t drain_clocks(const struct golden_gcu *gcu)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	int64_t log = 0;

	while (1u << log < gcu->params.atomic_c)
		log++;
	return log + (l->fp16 ? 4 : 2) + update_depth(l) + 2;
}

static int64_t stage_clocks(const struct golden_gcu_layer *l)
{
	return 3 + (l->linear ? l->fp16 ? 9 : 8 : 0) + (l->act ? 6 : 0);
}

static int64_t accumulator_bytes(const struct golden_gcu_layer *l)
{
	return l->acc16 ? 2 : 4;
}

/* ------------------------------------------------------------------- MACs */

static int64_t int8_of(uint8_t byte, bool is_unsigned)
{
	return is_unsigned ? byte : (int8_t)byte;
}

/* The exact sum of an integer MAC; @cg: whose lanes. */
static int64_t mac_int(const struct golden_gcu *gcu, const uint8_t *surface,
		       const uint8_t *weights, int64_t cg)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	int64_t sum = 0;

	for (int64_t j = 0; j < gcu->params.atomic_c; j++) {
		int64_t x, w;

		if (cg * gcu->params.atomic_c + j >= l->c)
			break;
		if (l->format == CNNACC_GCU_INT8) {
			x = int8_of(surface[j], l->unsigned_ifmap);
			w = int8_of(weights[j], l->unsigned_weights);
		} else {
			x = (int16_t)(surface[2 * j] | surface[2 * j + 1] << 8);
			w = (int16_t)(weights[2 * j] | weights[2 * j + 1] << 8);
		}
		sum += (x - l->zx) * (w - l->zw);
	}
	return sum;
}

static uint32_t add_int(struct golden_gcu *gcu, uint32_t acc, int64_t m)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	int64_t low = l->acc16 ? INT16_MIN : INT32_MIN, high = l->acc16 ? INT16_MAX : INT32_MAX;
	int64_t sum = (int32_t)acc + m;

	if (sum < low || sum > high)
		gcu->coverage.saturated[l->acc16][sum > high]++;
	return min64(max64(sum, low), high);
}

static struct golden_gcu_mac mac_fp16(struct golden_gcu *gcu, const uint8_t *surface,
				      const uint8_t *weights)
{
	uint16_t x[CNNACC_GCU_ATOMIC_MAX], w[CNNACC_GCU_ATOMIC_MAX];

	for (unsigned int j = 0; j < gcu->params.atomic_c; j++) {
		x[j] = surface[2 * j] | surface[2 * j + 1] << 8;
		w[j] = weights[2 * j] | weights[2 * j + 1] << 8;
	}
	return golden_gcu_mac(x, w, gcu->params.atomic_c, gcu->params.fp_floor, &gcu->coverage);
}

/* op0 of one tap: column @w of the accumulators, all kernels. */
static void compute_tap(struct golden_gcu *gcu, int64_t w, const uint8_t *surface,
			struct golden_gcu_point at)
{
	for (at.kernel = 0; at.kernel < gcu->run.range.kn; at.kernel++) {
		uint32_t *acc = &gcu->run.acc[w][at.kernel];
		const uint8_t *weights =
			golden_gcu_cbuf_at(gcu, CNNACC_GCU_PORT_KERNEL,
					   golden_gcu_kernel_byte(gcu->run.l, &gcu->params, at),
					   gcu->run.l->fmbufbankn);

		if (gcu->run.l->fp16)
			*acc = golden_gcu_add(*acc, mac_fp16(gcu, surface, weights),
					      &gcu->coverage);
		else
			*acc = add_int(gcu, *acc, mac_int(gcu, surface, weights, gcu->run.cg));
	}
}

/* op2 and op1; returns the taps that are not masked. */
static int64_t compute_op3(struct golden_gcu *gcu, int64_t slot, int64_t r)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	int64_t weights = golden_gcu_weights_slot(gcu), taps = 0;

	for (int64_t s = 0; s < l->s; s++)
		for (int64_t w = 0; w < l->ofmw; w++) {
			int64_t x = golden_gcu_tap_column(l, w, s);
			struct golden_gcu_point at = { weights, r, s, 0 };

			if (x < 0)
				continue;
			compute_tap(gcu, w,
				    golden_gcu_cbuf_at(gcu, CNNACC_GCU_PORT_FMAP,
						       golden_gcu_slot_byte(l, gcu->params.atomic_c,
									    slot, x),
						       l->fmbufbankn), at);
			taps++;
		}
	gcu->coverage.masked_column += taps < l->s * l->ofmw;
	return taps;
}

/* (kernel, channel) pairs of this kernel and channel group in one group of the convolution. */
static int64_t useful_pairs(const struct golden_gcu *gcu)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	const struct golden_gcu_range *range = &gcu->run.range;
	int64_t gs = l->c / l->group_n, low = gcu->run.cg * gcu->params.atomic_c, pairs = 0;

	for (int64_t k = range->k0; k <= range->k1; k++)
		for (int64_t c = low; c < low + gcu->params.atomic_c; c++)
			pairs += c < l->c && (l->group_n == 1 || k / gs == c / gs);
	return pairs;
}

static void count_op3(struct golden_gcu *gcu, bool masked, int64_t taps)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	struct golden_gcu_counts *c = &gcu->block;
	int64_t clocks = l->s * max64(l->ofmw, update_depth(l) + 1);
	int64_t kn = gcu->run.range.kn, surface = gcu->params.atomic_c * l->esz;
	int64_t sums = taps * kn * accumulator_bytes(l);

	gcu->run.time.t += clocks;
	c->stats.compute_cycles += clocks;
	c->stats.cycles_serial += clocks;
	c->stats.mac_slots += clocks * gcu->params.atomic_c * gcu->params.atomic_k;
	c->stats.mac_useful += taps * useful_pairs(gcu);
	c->window.taps += taps;
	c->window.taps_masked += l->s * l->ofmw - taps;
	c->stats.local_write_bytes += sums;
	if (!masked)
		c->stats.local_read_bytes += l->s * kn * surface + taps * surface + sums;
}

static bool run_op3(struct golden_gcu *gcu, int64_t r)
{
	int64_t row = golden_gcu_tap_row(gcu->run.l, gcu->run.h, r), slot;

	if (row < 0) {
		gcu->coverage.masked_row++;
		count_op3(gcu, true, 0);
		return true;
	}
	slot = golden_gcu_slot_for(gcu, row, r);
	if (slot < 0)
		return false;
	golden_gcu_wait(gcu, GOLDEN_GCU_STALL_ROW, gcu->slot[slot].ready);
	count_op3(gcu, false, compute_op3(gcu, slot, r));
	return golden_gcu_rows_after_op3(gcu);
}

/* ------------------------------------------------------ psum and ofmap rows */

/** struct part - the channels of a row that are in one channel group of a map. */
struct part {
	int64_t first, count;	/* kernels, from k0 on */
	uint64_t va;
};

/* The part in channel group @g of the row @h of @map, of elements of @bytes bytes. */
static struct part part_of(const struct golden_gcu *gcu, const struct golden_gcu_map *map,
			   int64_t g, int64_t bytes)
{
	const struct golden_gcu_range *range = &gcu->run.range;
	int64_t low = max64(range->k0, g * gcu->params.atomic_c);
	int64_t high = min64(range->k1, (g + 1) * gcu->params.atomic_c - 1);

	return (struct part){
		low - range->k0, high - low + 1,
		map->va + g * map->group + gcu->run.h * map->row +
			low % gcu->params.atomic_c * bytes,
	};
}

static int64_t first_part(const struct golden_gcu *gcu)
{
	return gcu->run.range.k0 / gcu->params.atomic_c;
}

static int64_t last_part(const struct golden_gcu *gcu)
{
	return gcu->run.range.k1 / gcu->params.atomic_c;
}

static int64_t row_lines(const struct golden_gcu *gcu, const struct golden_gcu_map *map,
			 int64_t bytes)
{
	int64_t lines = 0;

	for (int64_t g = first_part(gcu); g <= last_part(gcu); g++) {
		struct part part = part_of(gcu, map, g, bytes);

		lines += golden_gcu_part_lines(part.va, gcu->run.l->ofmw, part.count * bytes,
					       map->column);
	}
	return lines;
}

static uint32_t initial(const struct golden_gcu_layer *l, uint32_t psum)
{
	if (!l->acc16)
		return psum;
	return min64(max64((int32_t)psum, INT16_MIN), INT16_MAX);
}

static bool read_psum_part(struct golden_gcu *gcu, const struct part *part)
{
	uint8_t bytes[4 * CNNACC_GCU_ATOMIC_MAX];

	for (int64_t w = 0; w < gcu->run.l->ofmw; w++) {
		if (!golden_gcu_read(gcu, GOLDEN_GCU_PSUM, part->va + w * gcu->run.l->psum.column,
				     bytes, 4 * part->count))
			return false;
		for (int64_t n = 0; n < part->count; n++)
			gcu->run.acc[w][part->first + n] = initial(gcu->run.l, word_get(bytes, n));
	}
	return true;
}

static bool read_psum(struct golden_gcu *gcu, uint64_t bank_free)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	struct golden_gcu_times *time = &gcu->run.time;
	int64_t lines = row_lines(gcu, &l->psum, 4);

	for (int64_t g = first_part(gcu); g <= last_part(gcu); g++) {
		struct part part = part_of(gcu, &l->psum, g, 4);

		if (!read_psum_part(gcu, &part))
			return false;
	}
	time->p = max_u64(time->p, bank_free) + golden_gcu_moved(gcu, lines);
	golden_gcu_count_transfer(gcu, lines);
	golden_gcu_count_read(gcu, 4 * l->ofmw * gcu->run.range.kn);
	gcu->coverage.stride[1][l->psum.column > 64]++;
	golden_gcu_wait(gcu, GOLDEN_GCU_STALL_PSUM, time->p + 16);
	return true;
}

static void compute_outputs(struct golden_gcu *gcu)
{
	struct golden_gcu_run *run = &gcu->run;

	for (int64_t n = 0; n < run->range.kn; n++) {
		struct golden_gcu_entry entry = golden_gcu_entry(run->linear + 16 * n);

		for (int64_t w = 0; w < run->l->ofmw; w++)
			run->out[w][n] = golden_gcu_stages(run->l, &entry, run->lut,
							   run->acc[w][n], &gcu->coverage);
	}
}

static bool write_part(struct golden_gcu *gcu, const struct part *part)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	uint8_t bytes[4 * CNNACC_GCU_ATOMIC_MAX];

	for (int64_t w = 0; w < l->ofmw; w++) {
		for (int64_t n = 0; n < part->count * l->out_bytes; n++)
			bytes[n] = gcu->run.out[w][part->first + n / l->out_bytes] >>
				   n % l->out_bytes * 8;
		if (!golden_gcu_write(gcu, GOLDEN_GCU_OFMAP, part->va + w * l->ofmap.column,
				      bytes, part->count * l->out_bytes)) {
			gcu->coverage.partly_written += w > 0;
			return false;
		}
	}
	return true;
}

static bool write_row(struct golden_gcu *gcu, uint64_t *bank_free)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	struct golden_gcu_times *time = &gcu->run.time;
	int64_t lines = row_lines(gcu, &l->ofmap, l->out_bytes);
	int64_t values = l->ofmw * gcu->run.range.kn;

	compute_outputs(gcu);
	for (int64_t g = first_part(gcu); g <= last_part(gcu); g++) {
		struct part part = part_of(gcu, &l->ofmap, g, l->out_bytes);

		if (!write_part(gcu, &part))
			return false;
	}
	time->o = max_u64(time->o, time->t + drain_clocks(gcu)) +
		  max_u64(l->ofmw, golden_gcu_moved(gcu, lines));
	*bank_free = time->o;
	golden_gcu_count_transfer(gcu, lines);
	gcu->block.stats.mem_write_bytes += values * l->out_bytes;
	gcu->block.stats.local_read_bytes += values * accumulator_bytes(l);
	gcu->coverage.stride[2][l->ofmap.column > 64]++;
	return true;
}

/* ------------------------------------------------------------------ loops */

static bool run_op4(struct golden_gcu *gcu, uint64_t *bank_free)
{
	struct golden_gcu_run *run = &gcu->run;
	bool last = run->cg == run->range.last;

	gcu->regs.kernel_group = run->i;
	gcu->regs.out_row = run->h;
	gcu->regs.channel_group = run->cg;
	golden_gcu_wait(gcu, GOLDEN_GCU_STALL_WEIGHT,
			run->weight_ready[golden_gcu_weights_slot(gcu)]);
	for (int64_t r = 0; r < run->l->r; r++)
		if (!run_op3(gcu, r))
			return false;
	run->complete++;
	if (!golden_gcu_weights_after_op4(gcu) || !golden_gcu_rows_after_op4(gcu))
		return false;
	if (last && !write_row(gcu, bank_free))
		return false;
	return golden_gcu_within_limit(gcu, max_u64(run->time.t, run->time.o),
				       last ? GOLDEN_GCU_AT_ROW : GOLDEN_GCU_AT_OP4);
}

static bool run_op5(struct golden_gcu *gcu)
{
	struct golden_gcu_run *run = &gcu->run;
	uint64_t *bank_free = &run->time.free[run->rows_done % gcu->params.rbuf_banks];

	run->rows_done++;
	golden_gcu_wait(gcu, GOLDEN_GCU_STALL_RBUF, *bank_free);
	memset(run->acc, 0, sizeof(run->acc[0]) * run->l->ofmw);
	if (run->l->psum_on && !read_psum(gcu, *bank_free))
		return false;
	for (run->cg = run->range.first; run->cg <= run->range.last; run->cg++)
		if (!run_op4(gcu, bank_free))
			return false;
	return true;
}

static bool read_linear(struct golden_gcu *gcu)
{
	struct golden_gcu_run *run = &gcu->run;
	uint64_t va = run->l->linear_va + 16 * run->range.k0;
	int64_t bytes = 16 * run->range.kn;

	if (!run->l->linear)
		return true;
	if (!golden_gcu_read(gcu, GOLDEN_GCU_LINEAR, va, run->linear, bytes))
		return false;
	golden_gcu_use(gcu, &run->time.w, golden_gcu_lines(va, bytes));
	golden_gcu_count_read(gcu, bytes);
	return true;
}

static bool run_op6(struct golden_gcu *gcu)
{
	struct golden_gcu_run *run = &gcu->run;

	run->range = golden_gcu_range(run->l, gcu->params.atomic_c, gcu->params.atomic_k, run->i);
	run->complete = 0;
	golden_gcu_weights_invalid(gcu);
	if (!read_linear(gcu) || !golden_gcu_weights_begin_op6(gcu) ||
	    !golden_gcu_rows_begin_op6(gcu))
		return false;
	for (run->h = 0; run->h < run->l->ofmh; run->h++)
		if (!run_op5(gcu))
			return false;
	golden_gcu_rows_after_op6(gcu);
	return true;
}

static bool read_lut(struct golden_gcu *gcu)
{
	struct golden_gcu_run *run = &gcu->run;
	uint8_t bytes[2 * CNNACC_GCU_LUT_ENTRIES];

	if (!run->l->uses_lut)
		return true;
	if (!golden_gcu_read(gcu, GOLDEN_GCU_LUT, run->l->lut_va, bytes, sizeof(bytes)))
		return false;
	for (int64_t n = 0; n < CNNACC_GCU_LUT_ENTRIES; n++)
		run->lut[n] = bytes[2 * n] | bytes[2 * n + 1] << 8;
	golden_gcu_use(gcu, &run->time.w, golden_gcu_lines(run->l->lut_va, sizeof(bytes)));
	golden_gcu_count_read(gcu, sizeof(bytes));
	return true;
}

static void begin(struct golden_gcu *gcu, const struct golden_gcu_layer *layer)
{
	struct golden_gcu_times *time = &gcu->run.time;

	gcu->has_layer = true;
	gcu->layer = *layer;
	gcu->run.l = &gcu->layer;
	gcu->run.rows_done = 0;
	gcu->regs = (struct golden_gcu_regs){ .status = gcu->regs.status };
	if (layer->ofmw < update_depth(layer) + 1)
		gcu->regs.status |= CNNACC_GCU_STATUS_NARROW;
	golden_gcu_rows_begin(gcu);
	time->t = time->f = time->w = time->p = time->o = gcu->time + 16;
	for (unsigned int n = 0; n < CNNACC_GCU_RBUF_BANKS_MAX; n++)
		time->free[n] = time->t;
	gcu->block.stats.cycles_serial += 16;
}

bool golden_gcu_run_layer(struct golden_gcu *gcu, const struct golden_gcu_layer *layer)
{
	struct golden_gcu_run *run = &gcu->run;
	int64_t groups = golden_gcu_kernel_groups(layer, gcu->params.atomic_k);

	begin(gcu, layer);
	if (!read_lut(gcu))
		return false;
	for (run->i = 0; run->i < groups; run->i++)
		if (!run_op6(gcu))
			return false;
	gcu->time = run->time.o + stage_clocks(layer);
	gcu->block.stats.cycles_serial += drain_clocks(gcu) + stage_clocks(layer);
	return true;
}
