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

static uint64_t load_cycles(const struct enpu *h, const struct load *load)
{
	if (!h->prefetch)
		return load->compute + load->load + load->weights;
	return load->compute > load->load ? load->compute : load->load;
}

/* The first stage's loads and compute; @loads of them in each unit. */
static void add_loads(const struct enpu *h, const struct enpu_stage *s, const struct load *load,
		      uint64_t loads, struct enpu_cost *cost)
{
	uint64_t *n = cost->counter;
	struct unit unit = unit_of(s);
	bool reshape = s->op->kind == ENPU_RESHAPE;
	/* A second P of ADD and MUL does not go to the pads. */
	uint64_t pads = s->op->uses & ENPU_MAP_B ? unit.p : load->load;

	loads *= unit.units;
	cost->cycles += loads * load_cycles(h, load);
	n[ENPU_COUNTER(COMPUTE)] += loads * load->compute;
	n[ENPU_COUNTER(LOAD)] += loads * load->load;
	n[ENPU_COUNTER(IFPAD_WRITES)] += loads * pads;
	n[ENPU_COUNTER(IFPAD_READS)] += loads * (reshape ? unit.p : load->compute);
	n[ENPU_COUNTER(WPAD_WRITES)] += loads * load->weights;
	n[ENPU_COUNTER(WEIGHT_READS)] += loads * load->weights;
	n[ENPU_COUNTER(WPAD_READS)] += s->op->uses & ENPU_WEIGHTS ? loads * load->compute : 0;
	n[ENPU_COUNTER(PSUM_WRITES)] += loads * load->compute;
	n[ENPU_COUNTER(PSUM_READS)] += loads * load->compute;
}

static void add_first(const struct enpu *h, const struct enpu_stage *s, struct enpu_cost *cost)
{
	uint32_t full = all_channels(s) ? s->ci / ENPU_LANES : 1;
	uint32_t rest = all_channels(s) ? s->ci % ENPU_LANES : 0;
	struct unit unit = unit_of(s);
	struct load load = load_of(s, &unit, ENPU_LANES);

	add_loads(h, s, &load, full, cost);
	if (!rest)
		return;
	load = load_of(s, &unit, rest);
	add_loads(h, s, &load, 1, cost);
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
	uint64_t words = s->block ? CNNACC_ENPU_BLOCK_WORDS * (uint64_t)s->groups : 0;

	words += s->op->uses & ENPU_TABLE ? CNNACC_ENPU_LUT_WORDS : 0;
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
	add_first(h, first, cost);
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
