// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Clocks and counters of a layer. */
#include "enpu.h"

/** struct load - clocks of a load and of the compute that uses it. */
struct load {
	uint64_t compute, load, weights;
};

/** struct unit - a unit of a layer's loop nest. */
struct unit {
	uint64_t p;		/* words of a tile */
	uint64_t z;		/* groups of channels */
	uint64_t units;		/* in the whole layer */
};

/** struct axis - rows, or columns, of a window layer. */
struct axis {
	uint32_t out, tile, stride, pad, in_tile, in;
};

static uint64_t count_tiles(uint32_t size, uint32_t tile)
{
	return (size + tile - 1) / tile;
}

uint64_t enpu_tiles(const struct enpu_stage *first)
{
	return count_tiles(first->ho, first->y) * count_tiles(first->wo, first->x);
}

static bool all_channels(const struct enpu_stage *s)
{
	return s->op->uses & ENPU_ALL_CHANNELS;
}

static struct unit unit_of(const struct enpu_stage *first)
{
	struct unit unit = {
		.z = all_channels(first) ? first->zs : 1,
		.units = enpu_tiles(first) * (all_channels(first) ? 1 : first->groups),
	};

	unit.p = unit.z * first->y * first->x;
	return unit;
}

/* A load of @channels channels, which matter to CONV only. */
static struct load load_of(const struct enpu_stage *s, const struct unit *unit, uint32_t channels)
{
	uint64_t points = (uint64_t)s->hk * s->wk, p = unit->p;
	struct enpu_range a, b;
	bool same;

	if (s->op->kind == ENPU_RESHAPE)
		return (struct load){ 0, p, 0 };
	if (s->op->kind == ENPU_WINDOW) {
		points *= all_channels(s) ? channels : 1;
		return (struct load){
			points * p, (uint64_t)s->in_y * s->in_x,
			s->op->uses & ENPU_WEIGHTS ? points * unit->z : 0,
		};
	}
	enpu_range(s, CNNACC_ENPU_RANGE_A, &a);
	same = enpu_range(s, CNNACC_ENPU_RANGE_B, &b) && a.memory == b.memory;
	return (struct load){ p, same ? 2 * p : p, s->op->uses & ENPU_WEIGHTS ? 1 : 0 };
}

/* Count the loads and compute of a first stage; @load is the sum of those of a unit. */
static void count_loads(const struct enpu_stage *s, const struct load *load,
			struct enpu_cost *cost)
{
	uint64_t *n = cost->counter;
	struct unit unit = unit_of(s);
	bool reshape = s->op->kind == ENPU_RESHAPE;
	/* A second P of ADD and MUL does not go to the pads. */
	uint64_t pads = s->op->uses & ENPU_MAP_B ? unit.p : load->load;

	n[ENPU_COUNTER(COMPUTE)] += unit.units * load->compute;
	n[ENPU_COUNTER(LOAD)] += unit.units * load->load;
	n[ENPU_COUNTER(IFPAD_WRITES)] += unit.units * pads;
	n[ENPU_COUNTER(IFPAD_READS)] += unit.units * (reshape ? unit.p : load->compute);
	n[ENPU_COUNTER(WPAD_WRITES)] += unit.units * load->weights;
	n[ENPU_COUNTER(WEIGHT_READS)] += unit.units * load->weights;
	n[ENPU_COUNTER(WPAD_READS)] += s->op->uses & ENPU_WEIGHTS ? unit.units * load->compute : 0;
	n[ENPU_COUNTER(PSUM_WRITES)] += unit.units * load->compute;
	n[ENPU_COUNTER(PSUM_READS)] += unit.units * load->compute;
}

/* Parameters that a stage reads before the first tile, in words. */
static uint64_t parameters(const struct enpu_stage *s)
{
	return (s->block ? CNNACC_ENPU_BLOCK_WORDS * (uint64_t)s->groups : 0) +
	       (s->op->uses & ENPU_TABLE ? CNNACC_ENPU_LUT_WORDS : 0);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* F of the page: the clocks that a load has to begin before its products, so that none waits. */
static int64_t lead(const struct enpu_stage *s, int64_t p)
{
	int64_t row = (s->dh + 1) * (int64_t)s->in_x - s->wk * p, column = s->dw + 1 - p;
	struct enpu_range a, b;

	if (s->op->kind == ENPU_WINDOW)
		return (s->y - 1) * ((int64_t)s->sh * s->in_x - s->x) +
		       (s->x - 1) * ((int64_t)s->sw - 1) +
		       (s->hk - 1) * larger(row, 0) + (s->wk - 1) * larger(column, 0);
	enpu_range(s, CNNACC_ENPU_RANGE_A, &a);
	return enpu_range(s, CNNACC_ENPU_RANGE_B, &b) && a.memory == b.memory ? p : 0;
}

/* Clocks of the first stage's @loads loads with prefetch, of which the last is @last. */
static uint64_t overlapped(const struct enpu_layer *layer, uint64_t loads, struct load first,
			   struct load last)
{
	const struct enpu_stage *s = layer->stage;
	struct unit unit = unit_of(s);
	int64_t f = lead(s, (int64_t)unit.p), hidden = -1, sum, end;
	int64_t c = (int64_t)first.compute, l = (int64_t)first.load, d = (int64_t)last.compute;
	int64_t n = (int64_t)(loads * unit.units);

	for (uint32_t i = 0; i < layer->count; i++)
		hidden += 1 + (int64_t)parameters(&layer->stage[i]);
	sum = (int64_t)unit.units * ((int64_t)(loads - 1) * c + d);
	if (c >= l)
		return (uint64_t)(sum + larger(f - hidden, 0) +
				  ((int64_t)unit.units - 1) * larger(f - d, 0));
	/* The port is always busy, from the setup or from the second unit of compute on. */
	end = larger((n - 1) * l - hidden, c + (n - 3) * l) + f + d;
	return (uint64_t)larger(sum, end);
}

static void add_first(const struct enpu *h, const struct enpu_layer *layer, struct enpu_cost *cost)
{
	const struct enpu_stage *s = layer->stage;
	uint32_t full = all_channels(s) ? s->ci / ENPU_LANES : 1;
	uint32_t rest = all_channels(s) ? s->ci % ENPU_LANES : 0;
	struct unit unit = unit_of(s);
	struct load first = load_of(s, &unit, ENPU_LANES), last = load_of(s, &unit, rest);
	struct load serial = {
		full * first.compute + (rest ? last.compute : 0), (full + (rest > 0)) * first.load,
		full * first.weights + (rest ? last.weights : 0),
	};

	count_loads(s, &serial, cost);
	if (!h->prefetch) {
		cost->cycles += unit.units * (serial.compute + serial.load + serial.weights);
		return;
	}
	/* RESHAPE passes words on, which is no compute, but takes as long. */
	if (s->op->kind == ENPU_RESHAPE)
		first.compute = unit.p;
	if (!rest)
		last = first;
	cost->cycles += overlapped(layer, full + (rest > 0), full ? first : last, last);
}

static void add_later(const struct enpu *h, const struct enpu_stage *s, const struct unit *unit,
		      struct enpu_cost *cost)
{
	uint64_t clocks = s->op->kind == ENPU_RESHAPE ? 0 : unit->units * unit->p;
	uint64_t words = s->op->uses & ENPU_WEIGHTS ? unit->units * unit->z : 0;
	uint64_t *n = cost->counter;

	cost->cycles += clocks + (h->prefetch ? 0 : words);
	n[ENPU_COUNTER(FUSED)] += clocks;
	n[ENPU_COUNTER(WPAD_WRITES)] += words;
	n[ENPU_COUNTER(WEIGHT_READS)] += words;
	n[ENPU_COUNTER(WPAD_READS)] += words ? clocks : 0;
	n[ENPU_COUNTER(PSUM_WRITES)] += clocks;
	n[ENPU_COUNTER(PSUM_READS)] += clocks;
}

static void add_setup(const struct enpu_stage *s, struct enpu_cost *cost)
{
	uint64_t words = parameters(s);

	cost->cycles += 1 + words;
	cost->counter[ENPU_COUNTER(SETUP)] += 1 + words;
	cost->counter[ENPU_COUNTER(WEIGHT_READS)] += words;
	cost->local_read_bytes += CNNACC_ENPU_INSN_BYTES + CNNACC_ENPU_RECORD_BYTES;
}

static void add_results(const struct enpu_stage *s, const struct unit *unit, bool reshape,
			struct enpu_cost *cost)
{
	uint64_t *n = cost->counter, pixels = (uint64_t)s->ho * s->wo, words = pixels * s->groups;
	bool bytes = s->op->kind == ENPU_RESHAPE && !enpu_shape(s).keeps_words;
	uint64_t clocks = unit->units * unit->p * (bytes ? ENPU_LANES : 1);

	for (uint32_t which = CNNACC_ENPU_RANGE_SKIP; which <= CNNACC_ENPU_RANGE_OUT; which++) {
		struct enpu_range range;

		if (!enpu_range(s, which, &range))
			continue;
		cost->cycles += clocks;
		cost->local_write_bytes += bytes ? pixels * s->co : words * ENPU_WORD;
		n[ENPU_COUNTER(STORE)] += clocks;
		n[ENPU_COUNTER(PSUM_READS)] += reshape ? 0 : unit->units * unit->p;
		n[range.memory == CNNACC_ENPU_WORK ? ENPU_COUNTER(WORK_WRITES) :
						     ENPU_COUNTER(SKIP_WRITES)] +=
			bytes ? pixels * s->co : words;
	}
}

/* Sum over the tiles of their points inside the input. */
static uint64_t points_inside(const struct axis *a)
{
	uint64_t sum = 0;

	for (uint32_t o = 0; o < a->out; o += a->tile) {
		int64_t begin = (int64_t)o * a->stride - a->pad, end = begin + a->in_tile;

		begin = begin < 0 ? 0 : begin;
		end = end > a->in ? a->in : end;
		sum += end > begin ? (uint64_t)(end - begin) : 0;
	}
	return sum;
}

static uint64_t words_of_a(const struct enpu_stage *s)
{
	const struct axis rows = { s->ho, s->y, s->sh, s->ph, s->in_y, s->hi };
	const struct axis columns = { s->wo, s->x, s->sw, s->pw, s->in_x, s->wi };

	if (s->op->kind != ENPU_WINDOW)
		return (uint64_t)s->ho * s->wo * s->groups;
	return points_inside(&rows) * points_inside(&columns) * enpu_ceil16(enpu_channels(s));
}

static void add_map_reads(const struct enpu_stage *s, struct enpu_cost *cost)
{
	for (uint32_t which = CNNACC_ENPU_RANGE_A; which <= CNNACC_ENPU_RANGE_B; which++) {
		struct enpu_range range;

		if (!enpu_range(s, which, &range))
			continue;
		cost->counter[range.memory == CNNACC_ENPU_WORK ? ENPU_COUNTER(WORK_READS) :
								  ENPU_COUNTER(SKIP_READS)] +=
			which == CNNACC_ENPU_RANGE_A ? words_of_a(s) :
						       (uint64_t)s->ho * s->wo * s->groups;
	}
}

static uint64_t useful(const struct enpu_stage *s)
{
	uint64_t values = (uint64_t)s->ho * s->wo * s->co;

	if (s->op->kind == ENPU_WINDOW)
		return s->op->uses & ENPU_WEIGHTS ?
			values * s->hk * s->wk * (all_channels(s) ? s->ci : 1) : 0;
	return s->op->uses & (ENPU_WEIGHTS | ENPU_TABLE) ||
	       s->op->opcode == CNNACC_ENPU_MUL ? values : 0;
}

void enpu_add_cost(const struct enpu *h, const struct enpu_layer *layer, struct enpu_cost *cost)
{
	const struct enpu_stage *first = layer->stage;
	bool reshape = first->op->kind == ENPU_RESHAPE;
	uint64_t *n = cost->counter, reads = n[ENPU_COUNTER(WORK_READS)] +
		n[ENPU_COUNTER(SKIP_READS)] + n[ENPU_COUNTER(WEIGHT_READS)];
	struct unit unit = unit_of(first);

	n[ENPU_COUNTER(LAYERS)]++;
	n[ENPU_COUNTER(TILES)] += enpu_tiles(first);
	add_first(h, layer, cost);
	for (uint32_t i = 0; i < layer->count; i++) {
		const struct enpu_stage *s = &layer->stage[i];

		add_setup(s, cost);
		if (i)
			add_later(h, s, &unit, cost);
		add_map_reads(s, cost);
		add_results(s, &unit, reshape, cost);
		cost->mac_useful += useful(s);
	}
	cost->local_read_bytes += ENPU_WORD * (n[ENPU_COUNTER(WORK_READS)] +
		n[ENPU_COUNTER(SKIP_READS)] + n[ENPU_COUNTER(WEIGHT_READS)] - reads);
}
