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

/* A layer of one piece of a slab. */
struct shape {
	const struct enpuc_hw *hw;
	const struct enpuc_layer *l;
	const struct enpuc_piece *piece;
	const struct enpuc_slab *slab;
	const struct enpuc_binding *bind;
	unsigned int uses;	/* of the first stage */
};

/* The loads of a first stage: of 16 channels each, the last one perhaps of fewer. */
struct loads {
	int64_t units, count;	/* of the layer; of a unit */
	int64_t first, last;	/* clocks of compute of the first one and the last one of a unit */
	int64_t words;		/* of the map, of each */
	int64_t weights;	/* words, of all of a unit */
};

static bool same_memory(const struct shape *s)
{
	return s->uses & ENPUC_MAP_B && s->bind->in.memory == s->bind->b[0].memory;
}

static struct loads loads_of(const struct shape *s, int64_t p, const struct enpuc_tile *t)
{
	bool all = s->uses & ENPUC_ALL_CHANNELS, window = s->uses & ENPUC_WINDOW;
	int64_t taps = window ? s->l->hk * s->l->wk : 1, channels = all ? s->piece->ci : 1;
	int64_t rest = (channels - 1) % ENPUC_WORD + 1;
	struct loads l = {
		.units = cnn_div_up(s->slab->h, t->y) * cnn_div_up(s->slab->w, t->x) *
			 (all ? 1 : enpuc_groups(s->piece->co)),
		.count = cnn_div_up(channels, ENPUC_WORD), .last = rest * taps * p,
		.words = window ? t->in_y * t->in_x : same_memory(s) ? 2 * p : p,
		.weights = s->uses & ENPUC_WEIGHTS ? channels * taps * t->zs : 0,
	};

	l.first = l.count > 1 ? ENPUC_WORD * taps * p : l.last;
	return l;
}

static int64_t unit_compute(const struct loads *l)
{
	return (l->count - 1) * l->first + l->last;
}

/* F of the page: how far the word of a product is behind its turn. */
static int64_t lag_of(const struct shape *s, int64_t p, const struct enpuc_tile *t)
{
	const struct enpuc_layer *l = s->l;

	if (!(s->uses & ENPUC_WINDOW))
		return same_memory(s) ? p : 0;
	return (t->y - 1) * (l->sh * t->in_x - t->x) + (t->x - 1) * (l->sw - 1) +
	       (l->hk - 1) * cnn_max(0, (l->dh + 1) * t->in_x - l->wk * p) +
	       (l->wk - 1) * cnn_max(0, l->dw + 1 - p);
}

/* Clocks of loads and compute; @hidden: of the setup, in which loads may come. */
static int64_t load_cycles(const struct shape *s, const struct loads *l, int64_t lag,
			   int64_t hidden)
{
	int64_t sum = l->units * unit_compute(l), loads = l->units * l->count;

	if (!s->hw->prefetch && s->l->stage[0].opcode == CNNACC_ENPU_RESHAPE)
		return l->units * l->words;
	if (!s->hw->prefetch)
		return sum + loads * l->words + l->units * l->weights;
	if (l->first >= l->words)
		return sum + cnn_max(0, lag - hidden) + (l->units - 1) * cnn_max(0, lag - l->last);
	return cnn_max(sum, lag + l->last + cnn_max((loads - 1) * l->words - hidden,
						    l->first + (loads - 3) * l->words));
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
	/* Byte by byte if channels move to another lane. */
	bool lanes = s->l->order && s->l->order >> 6 != 3;
	int64_t cycles = 0, store = lanes ? ENPUC_WORD * p : p;

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
			cycles += store;
		if (last && s->bind->has_out)
			cycles += store;
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
	int64_t words = t->y * t->x * t->zs, fused, later, setup = (int64_t)setup_cycles(&s);
	struct loads loads = loads_of(&s, words, t);
	bool reshape = l->stage[0].opcode == CNNACC_ENPU_RESHAPE;

	later = (int64_t)later_cycles(&s, words, t->zs, &fused);
	return (struct enpuc_cost){
		.cycles = (uint64_t)(setup + load_cycles(&s, &loads, lag_of(&s, words, t), setup - 1) +
				     loads.units * later),
		.slots = CNNACC_ENPU_PES *
			 (uint64_t)(loads.units * ((reshape ? 0 : unit_compute(&loads)) + fused)),
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
