// SPDX-License-Identifier: MIT
/* Clocks of a layer (Documentation/hardware/enpu.rst, Cycles), and the tile that has the fewest. */
#include "enpu.h"

unsigned int enpuc_uses(uint32_t opcode)
{
	switch (opcode) {
	case CNNACC_ENPU_CONV:
	case CNNACC_ENPU_CONV_RELU:
		return ENPUC_WINDOW | ENPUC_ALL_CHANNELS | ENPUC_WEIGHTS;
	case CNNACC_ENPU_DEPTHWISE:
	case CNNACC_ENPU_AVG_POOL:
		return ENPUC_WINDOW | ENPUC_WEIGHTS;
	case CNNACC_ENPU_MAX_POOL:
		return ENPUC_WINDOW;
	case CNNACC_ENPU_BN:
		return ENPUC_WEIGHTS;
	case CNNACC_ENPU_ADD:
	case CNNACC_ENPU_MUL:
		return ENPUC_MAP_B;
	default:
		return 0;
	}
}

/* What the loads of a unit cost: compute, words of the map, words of weights. */
struct load {
	int64_t compute, load, weights;
};

static uint64_t load_cycles(const struct enpuc_hw *hw, const struct load *l, int64_t count)
{
	if (hw->prefetch)
		return (uint64_t)(count * cnn_max(l->compute, l->load));
	return (uint64_t)(count * (l->compute + l->load + l->weights));
}

/* A layer of one piece of a slab. */
struct shape {
	const struct enpuc_hw *hw;
	const struct enpuc_layer *l;
	const struct enpuc_piece *piece;
	const struct enpuc_slab *slab;
	const struct enpuc_binding *bind;
	unsigned int uses;	/* of the first stage */
};

/* The loads of a unit of the first stage; sets the clocks that compute. */
static uint64_t unit_cycles(const struct shape *s, int64_t p, const struct enpuc_tile *t,
			    int64_t *compute)
{
	int64_t taps = s->l->hk * s->l->wk, full = 1, rest = 0, channels = 1;
	int64_t in = s->uses & ENPUC_WINDOW ? t->in_y * t->in_x : p;
	uint64_t cycles;

	if (s->uses & ENPUC_ALL_CHANNELS) {
		full = s->piece->ci / ENPUC_WORD;
		rest = s->piece->ci % ENPUC_WORD;
		channels = ENPUC_WORD;
	}
	if (s->l->stage[0].opcode == CNNACC_ENPU_RESHAPE) {
		*compute = 0;
		return (uint64_t)p;
	}
	if (!(s->uses & ENPUC_WINDOW))
		taps = 1;
	if (s->uses & ENPUC_MAP_B && s->bind->in.memory == s->bind->b[0].memory)
		in = 2 * p;

	int64_t zs = s->uses & ENPUC_WEIGHTS ? t->zs : 0;
	struct load load = { channels * taps * p, in, channels * taps * zs };

	cycles = load_cycles(s->hw, &load, full);
	*compute = full * load.compute;
	if (rest) {
		load = (struct load){ rest * taps * p, in, rest * taps * zs };
		cycles += load_cycles(s->hw, &load, 1);
		*compute += load.compute;
	}
	return cycles;
}

static bool has_block(const struct enpuc_stage *s)
{
	return enpuc_uses(s->opcode) & ENPUC_WEIGHTS;
}

static uint64_t setup_cycles(const struct shape *s)
{
	uint64_t cycles = 0;

	for (int i = 0; i < (s->l->concat ? 1 : s->l->stages); i++) {
		const struct enpuc_stage *st = &s->l->stage[i];

		cycles += 1;
		if (has_block(st))
			cycles += CNNACC_ENPU_BLOCK_WORDS * (uint64_t)enpuc_groups(s->piece->co);
		if (st->opcode == CNNACC_ENPU_LUT)
			cycles += CNNACC_ENPU_LUT_WORDS;
	}
	return cycles;
}

/* Later stages and stores of a unit; sets the clocks of later stages. */
static uint64_t later_cycles(const struct shape *s, int64_t p, int64_t z, int64_t *fused)
{
	int64_t cycles = 0;

	*fused = 0;
	for (int i = 0; i < s->l->stages; i++) {
		bool last = i == s->l->stages - 1;

		if (i && !s->l->concat) {
			*fused += p;
			cycles += p;
		}
		if (i && !s->hw->prefetch && s->l->stage[i].opcode == CNNACC_ENPU_BN)
			cycles += z;
		if (s->bind->has_skip[i])
			cycles += p;
		if (last && s->bind->has_out)
			cycles += p;
	}
	return (uint64_t)cycles;
}

static uint64_t useful_of(const struct shape *s)
{
	uint64_t values = (uint64_t)(s->slab->h * s->slab->w * s->piece->co), sum = 0;

	for (int i = 0; i < s->l->stages; i++) {
		uint32_t op = s->l->stage[i].opcode;
		unsigned int uses = enpuc_uses(op);
		uint64_t taps = (uint64_t)(s->l->hk * s->l->wk);

		if (uses & ENPUC_WINDOW && uses & ENPUC_WEIGHTS)
			sum += values * taps *
			       (uses & ENPUC_ALL_CHANNELS ? (uint64_t)s->piece->ci : 1);
		else if (op == CNNACC_ENPU_BN || op == CNNACC_ENPU_LUT || op == CNNACC_ENPU_MUL)
			sum += values;
	}
	return sum;
}

struct enpuc_cost enpuc_layer_cost(const struct enpuc_hw *hw, const struct enpuc_layer *l,
				   const struct enpuc_piece *p, const struct enpuc_slab *slab,
				   const struct enpuc_binding *bind, const struct enpuc_tile *t)
{
	const struct shape s = { hw, l, p, slab, bind, enpuc_uses(l->stage[0].opcode) };
	int64_t words = t->y * t->x * t->zs, compute, fused, units;
	uint64_t unit = unit_cycles(&s, words, t, &compute);

	unit += later_cycles(&s, words, t->zs, &fused);
	units = cnn_div_up(slab->h, t->y) * cnn_div_up(slab->w, t->x);
	if (!(s.uses & ENPUC_ALL_CHANNELS))
		units *= enpuc_groups(p->co);
	return (struct enpuc_cost){
		.cycles = setup_cycles(&s) + (uint64_t)units * unit,
		.slots = CNNACC_ENPU_PES * (uint64_t)(units * (compute + fused)),
		.useful = useful_of(&s),
	};
}

bool enpuc_find_tile(const struct enpuc_hw *hw, const struct enpuc_layer *l,
		     const struct enpuc_piece *p, const struct enpuc_slab *s,
		     const struct enpuc_binding *bind, struct enpuc_tile *best)
{
	unsigned int uses = enpuc_uses(l->stage[0].opcode);
	uint64_t least = UINT64_MAX;
	struct enpuc_tile t = { .zs = uses & ENPUC_ALL_CHANNELS ? enpuc_groups(p->co) : 1 };

	for (t.y = 1; t.y <= cnn_min(s->h, 63); t.y++) {
		t.in_y = l->sh * (t.y - 1) + (l->dh + 1) * (l->hk - 1) + 1;
		for (t.x = 1; t.x <= cnn_min(s->w, 63); t.x++) {
			struct enpuc_cost c;

			t.in_x = l->sw * (t.x - 1) + (l->dw + 1) * (l->wk - 1) + 1;
			if (t.y * t.x * t.zs > CNNACC_ENPU_PSUMS ||
			    (uses & ENPUC_WINDOW && t.in_y * t.in_x > CNNACC_ENPU_IFMAP_PAD))
				break;
			c = enpuc_layer_cost(hw, l, p, s, bind, &t);
			if (c.cycles >= least)
				continue;
			least = c.cycles;
			*best = t;
		}
	}
	return least < UINT64_MAX;
}
