// SPDX-License-Identifier: MIT
/* Clocks and counters of a program, by the formulas of the page. */
#include "state.h"

/** struct unit - what a unit of a layer costs. */
struct unit {
	uint64_t pixels;	/* P of the page */
	uint64_t compute, load, weights;	/* C, L and V, summed over its loads */
	uint64_t loads, first, last;	/* their number; C of the first and the last one */
	uint64_t later, norms;	/* stages after the first, RESHAPE left out; BN among them */
	uint64_t results, store;
};

static int64_t max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static void add_load(struct unit *u, const uint64_t clv[3])
{
	u->first = u->loads++ ? u->first : clv[0];
	u->last = clv[0];
	u->compute += clv[0];
	u->load += clv[1];
	u->weights += clv[2];
}

static bool same_memory(const struct enpu_insn *i)
{
	return enpu_has_b(i) && enpu_range_a(i).memory == enpu_range_b(i).memory;
}

static void window_loads(const struct enpu_insn *i, struct unit *u)
{
	uint64_t taps = i->hk * i->wk, sub = i->in_y * i->in_x;

	if (!enpu_is_conv(i)) {
		add_load(u, (uint64_t[]){ taps * u->pixels, sub,
					  enpu_has_weights(i) ? taps : 0 });
		return;
	}
	for (int64_t kz = 0; kz < i->ci; kz += 16) {
		uint64_t k = i->ci - kz < 16 ? i->ci - kz : 16;

		add_load(u, (uint64_t[]){ k * taps * u->pixels, sub, k * taps * i->zs });
	}
}

static void loads(const struct enpu_insn *i, struct unit *u)
{
	u->pixels = i->y * i->x * enpu_stage_z(i);
	if (enpu_is_window(i))
		window_loads(i, u);
	else
		add_load(u, (uint64_t[]){ i->op == CNNACC_ENPU_RESHAPE ? 0 : u->pixels,
					  u->pixels * (same_memory(i) ? 2 : 1),
					  i->op == CNNACC_ENPU_BN });
}

/* F of the page. */
static int64_t lead(const struct enpu_insn *i, const struct unit *u)
{
	int64_t p = u->pixels, most = 0;

	if (!enpu_is_window(i))
		return same_memory(i) ? p : 0;
	/* Of the first channel and group: the word that comes latest for its turn. */
	for (int64_t r = 0; r < i->hk; r++)
		for (int64_t s = 0; s < i->wk; s++)
			for (int64_t n = 0; n < i->y * i->x; n++) {
				int64_t row = n / i->x * i->sh + r * (i->dh + 1);
				int64_t column = n % i->x * i->sw + s * (i->dw + 1);

				most = max_i64(most, row * i->in_x + column -
						     ((r * i->wk + s) * p + n));
			}
	return most;
}

/* Clocks of the first stage of @units units, @setup being those before it. */
static uint64_t first_stage(const struct golden_enpu *enpu, const struct enpu_insn *i,
			    const struct unit *u, int64_t units, int64_t setup)
{
	bool reshape = i->op == CNNACC_ENPU_RESHAPE;
	int64_t f = lead(i, u), n = units * u->loads, load = u->load / u->loads;
	int64_t c1 = reshape ? (int64_t)u->pixels : (int64_t)u->first;
	int64_t cn = reshape ? (int64_t)u->pixels : (int64_t)u->last;
	int64_t sum = units * (reshape ? u->pixels : u->compute), wait;

	if (!enpu->params.prefetch)
		return units * (u->compute + u->load + u->weights);
	if (c1 >= load) {
		wait = max_i64(0, f - (setup - 1)) + (units - 1) * max_i64(0, f - cn);
	} else {
		wait = (n - 1) * load + f + cn - (setup - 1) - sum;
		wait = max_i64(0, max_i64(wait, c1 + (n - 3) * load + f + cn - sum));
	}
	return sum + wait;
}

/* What a stage adds to a unit beside the loads. */
static void add_stage(const struct enpu_insn *i, struct unit *u)
{
	uint64_t results = enpu_has_skip(i) + enpu_has_out(i);
	bool bytes = i->op == CNNACC_ENPU_RESHAPE && enpu_lanes_change(i);

	u->later += !i->first && i->op != CNNACC_ENPU_RESHAPE;
	u->norms += !i->first && i->op == CNNACC_ENPU_BN;
	u->results += results;
	u->store += results * u->pixels * (bytes ? 16 : 1);
}

/* --------------------------------------------------------------- memories */

/* Of the sub-image that begins at @first, rows or columns that lie inside the input. */
static uint64_t inside(int64_t first, int64_t count, int64_t size)
{
	uint64_t found = 0;

	for (int64_t n = first; n < first + count; n++)
		found += n >= 0 && n < size;
	return found;
}

static uint64_t window_reads(const struct enpu_insn *i)
{
	uint64_t words = 0;

	for (int64_t oy = 0; oy < i->ho; oy += i->y)
		for (int64_t ox = 0; ox < i->wo; ox += i->x)
			words += inside(oy * i->sh - i->ph, i->in_y, i->hi) *
				 inside(ox * i->sw - i->pw, i->in_x, i->wi);
	return words * enpu_groups(enpu_channels_a(i));
}

static void count_read(struct golden_enpu *enpu, enum cnnacc_enpu_memory memory, uint64_t words)
{
	enpu->regs.count[memory == CNNACC_ENPU_WORK ? ENPU_WORK_READS : ENPU_SKIP_READS] += words;
	enpu->seq.stats->local_read_bytes += 16 * words;
}

static void count_writes(struct golden_enpu *enpu, const struct enpu_insn *i)
{
	bool bytes = i->op == CNNACC_ENPU_RESHAPE && enpu_lanes_change(i);
	uint64_t each = i->ho * i->wo * (bytes ? i->co : enpu_groups(i->co));

	enpu->regs.count[ENPU_SKIP_WRITES] += enpu_has_skip(i) ? each : 0;
	enpu->regs.count[ENPU_WORK_WRITES] += enpu_has_out(i) ? each : 0;
	enpu->seq.stats->local_write_bytes += (enpu_has_skip(i) + enpu_has_out(i)) *
					      (bytes ? each : 16 * each);
}

/* Parameters that a layer reads before its first tile: words. */
static uint64_t parameters(const struct enpu_insn *i)
{
	return (enpu_has_block(i) ? 5 * enpu_groups(i->co) : 0) +
	       (i->op == CNNACC_ENPU_LUT ? 4 : 0);
}

static uint64_t products(const struct enpu_insn *i)
{
	uint64_t each = enpu_is_conv(i) ? i->ci * i->hk * i->wk :
			enpu_is_window(i) ? i->hk * i->wk : 1;

	if (i->op == CNNACC_ENPU_MAX_POOL || i->op == CNNACC_ENPU_RELU ||
	    i->op == CNNACC_ENPU_ADD || i->op == CNNACC_ENPU_RESHAPE)
		return 0;
	return each * i->ho * i->wo * i->co;
}

static void count_stage(struct golden_enpu *enpu, const struct enpu_insn *i)
{
	uint64_t map = i->ho * i->wo * enpu_groups(i->co);

	if (i->first)
		count_read(enpu, enpu_range_a(i).memory, enpu_is_window(i) ? window_reads(i) : map);
	if (enpu_has_b(i))
		count_read(enpu, enpu_range_b(i).memory, map);
	count_writes(enpu, i);
	enpu->regs.count[ENPU_SETUP] += 1 + parameters(i);
	enpu->regs.count[ENPU_WEIGHT_READS] += parameters(i);
	enpu->seq.stats->mac_useful += products(i);
	enpu->seq.stats->local_read_bytes += 16 + 64 + 16 * parameters(i);
}

/* ------------------------------------------------------------------ layers */

static void count_units(struct golden_enpu *enpu, const struct enpu_insn *i, const struct unit *u,
			uint64_t units)
{
	uint64_t *count = enpu->regs.count, weights, z = enpu_stage_z(i);
	bool reshape = i->op == CNNACC_ENPU_RESHAPE;

	weights = units * (u->weights + u->norms * z);
	count[ENPU_COMPUTE] += units * u->compute;
	count[ENPU_FUSED] += units * u->later * u->pixels;
	count[ENPU_LOAD] += units * u->load;
	count[ENPU_STORE] += units * u->store;
	count[ENPU_WEIGHT_READS] += weights;
	count[ENPU_WPAD_WRITES] += weights;
	count[ENPU_WPAD_READS] += units * ((enpu_has_weights(i) ? u->compute : 0) +
					   u->norms * u->pixels);
	count[ENPU_IFPAD_WRITES] += units * (u->load - (same_memory(i) ? u->pixels : 0));
	count[ENPU_IFPAD_READS] += units * (reshape ? u->pixels : u->compute);
	count[ENPU_PSUM_WRITES] += units * (u->compute + u->later * u->pixels);
	count[ENPU_PSUM_READS] += units * (u->compute + u->later * u->pixels +
					   (reshape ? 0 : u->results * u->pixels));
	enpu->seq.stats->local_read_bytes += 16 * weights;
	enpu->seq.stats->compute_cycles += units * (u->compute + u->later * u->pixels);
	enpu->seq.stats->mac_slots += 16 * units * (u->compute + u->later * u->pixels);
}

/* Count the layer that begins with stage @n; return the stage after it. */
static unsigned int count_layer(struct golden_enpu *enpu, unsigned int n, uint64_t *clocks)
{
	const struct enpu_insn *i = &enpu->insn[n];
	uint64_t tiles = ceil_div(i->ho, i->y) * ceil_div(i->wo, i->x), each;
	uint64_t units = enpu_is_conv(i) ? 1 : enpu_groups(i->co), setup;
	struct unit u = { 0 };

	setup = enpu->regs.count[ENPU_SETUP];
	loads(i, &u);
	for (const struct enpu_insn *stage = i; ; stage++) {
		add_stage(stage, &u);
		count_stage(enpu, stage);
		n++;
		if (!stage->fused)
			break;
	}
	setup = enpu->regs.count[ENPU_SETUP] - setup;
	each = u.later * u.pixels + u.store;
	if (!enpu->params.prefetch)
		each += u.norms * enpu_stage_z(i);
	count_units(enpu, i, &u, units * tiles);
	enpu->regs.count[ENPU_LAYERS]++;
	enpu->regs.count[ENPU_TILES] += tiles;
	*clocks += setup + first_stage(enpu, i, &u, tiles * units, setup) + tiles * units * each;
	return n;
}

uint64_t enpu_count(struct golden_enpu *enpu)
{
	uint64_t clocks = 1;

	for (unsigned int n = 0; n < enpu->insns;)
		n = count_layer(enpu, n, &clocks);
	enpu->regs.count[ENPU_SETUP]++;
	enpu->seq.stats->local_read_bytes += 16;
	enpu->seq.stats->cycles_serial += clocks;
	return clocks;
}
