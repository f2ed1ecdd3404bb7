// SPDX-License-Identifier: MIT
/* Legal programs: layers of one or several stages, with maps anywhere in the job's words. */
#include "gen.h"

#include <string.h>

#define MACS		60000	/* of a layer, at most */
#define TRIES		40
#define STAGES		5

/** struct layer - a layer being made: its stages, and where A, B and the results are. */
struct layer {
	struct enpu_insn stage[STAGES];
	unsigned int stages;
};

static const uint8_t first_ops[] = {
	CNNACC_ENPU_CONV, CNNACC_ENPU_CONV, CNNACC_ENPU_CONV_RELU, CNNACC_ENPU_DEPTHWISE,
	CNNACC_ENPU_AVG_POOL, CNNACC_ENPU_MAX_POOL, CNNACC_ENPU_BN, CNNACC_ENPU_RELU,
	CNNACC_ENPU_LUT, CNNACC_ENPU_ADD, CNNACC_ENPU_MUL, CNNACC_ENPU_RESHAPE,
};

static const uint8_t later_ops[] = {
	CNNACC_ENPU_BN, CNNACC_ENPU_RELU, CNNACC_ENPU_LUT, CNNACC_ENPU_ADD, CNNACC_ENPU_MUL,
	CNNACC_ENPU_RESHAPE,
};

/* -------------------------------------------------------------------- sizes */

/* Mostly small; at times all that the field can say. */
static int64_t pick_size(struct gen_enpu *gen, int64_t small)
{
	if (enpu_chance(gen, 3))
		return 256;
	return enpu_pick(gen, 1, enpu_chance(gen, 5) ? 64 : small);
}

/* Rows or columns of the input: near what the output needs, or any number. */
static int64_t pick_input(struct gen_enpu *gen, int64_t out, int64_t stride, int64_t reach)
{
	int64_t size = (out - 1) * stride + reach - enpu_pick(gen, 0, 4);

	if (enpu_chance(gen, 15))
		size = enpu_pick(gen, 1, 12);
	return size < 1 ? 1 : size;
}

static void pick_window(struct gen_enpu *gen, struct enpu_insn *i)
{
	bool strange = enpu_chance(gen, 10);

	i->hk = enpu_pick(gen, 1, strange ? 8 : 4);
	i->wk = enpu_chance(gen, 60) ? i->hk : enpu_pick(gen, 1, strange ? 8 : 4);
	i->sh = enpu_pick(gen, 1, strange ? 15 : 3);
	i->sw = enpu_chance(gen, 60) ? i->sh : enpu_pick(gen, 1, strange ? 15 : 3);
	i->dh = enpu_chance(gen, 70) ? 0 : enpu_pick(gen, 1, strange ? 15 : 2);
	i->dw = enpu_chance(gen, 70) ? i->dh : enpu_pick(gen, 0, strange ? 15 : 2);
	i->ph = enpu_chance(gen, 40) ? 0 : enpu_pick(gen, 0, strange ? 15 : 2);
	i->pw = enpu_chance(gen, 60) ? i->ph : enpu_pick(gen, 0, strange ? 15 : 2);
	i->hi = pick_input(gen, i->ho, i->sh, (i->dh + 1) * (i->hk - 1) + 1);
	i->wi = pick_input(gen, i->wo, i->sw, (i->dw + 1) * (i->wk - 1) + 1);
	i->pad = enpu_chance(gen, 50) ? 0 : enpu_pick(gen, -128, 127);
}

#define FIELD_MAX	63	/* y' and x' have six bits */

/* Does the tile fit into the pads? */
static bool tile_fits(struct enpu_insn *i)
{
	enpu_fit(i);
	if (i->y * i->x * i->zs > CNNACC_ENPU_PSUMS)
		return false;
	return !enpu_is_window(i) || (i->in_y <= FIELD_MAX && i->in_x <= FIELD_MAX &&
				      i->in_y * i->in_x <= CNNACC_ENPU_IFMAP_PAD);
}

static bool pick_tile(struct gen_enpu *gen, struct enpu_insn *i)
{
	for (unsigned int n = 0; n < TRIES; n++) {
		i->y = enpu_pick(gen, 1, enpu_chance(gen, 10) ? 63 : 8);
		i->x = enpu_pick(gen, 1, enpu_chance(gen, 10) ? 63 : 8);
		if (tile_fits(i))
			return true;
	}
	i->y = i->x = 1;
	return tile_fits(i);
}

static uint32_t pick_permutation(struct gen_enpu *gen)
{
	unsigned int p[4] = { 0, 1, 2, 3 };

	for (unsigned int n = 3; n; n--) {
		unsigned int other = enpu_pick(gen, 0, n), kept = p[n];

		p[n] = p[other];
		p[other] = kept;
	}
	return CNNACC_ENPU_PERM(p[0], p[1], p[2], p[3]);
}

static void pick_reshape(struct gen_enpu *gen, struct enpu_insn *i)
{
	const int64_t size[4] = { 1, i->ho, i->wo, i->co };
	unsigned int split = enpu_pick(gen, 0, 3), stack = enpu_pick(gen, 0, 3);
	int64_t factor = enpu_pick(gen, 0, 6);

	if (factor > 1 && (split == stack || size[split] % factor))
		factor = enpu_pick(gen, 0, 1);
	i->reshape = CNNACC_ENPU_SHAPE(enpu_chance(gen, 30) ? 0xe4 : pick_permutation(gen), split,
				       stack, enpu_chance(gen, 50), factor);
}

static int64_t products(const struct enpu_insn *i)
{
	int64_t each = enpu_is_window(i) ? i->hk * i->wk : 1;

	return i->ho * i->wo * i->co * each * (enpu_is_conv(i) ? i->ci : 1);
}

static int64_t pick_step(struct gen_enpu *gen, int64_t channels)
{
	int64_t step = enpu_groups(channels) + enpu_pick(gen, 0, 3);

	return enpu_chance(gen, 60) || step > 255 ? 0 : step;
}

/* Fields without a meaning may have any value. */
static void pick_ignored(struct gen_enpu *gen, struct enpu_insn *i)
{
	i->hk = enpu_pick(gen, 0, 255);
	i->sh = enpu_pick(gen, 0, 15);
	i->in_y = enpu_pick(gen, 0, 63);
	i->hi = enpu_pick(gen, 0, 65535);
	i->ci = enpu_pick(gen, 1, 256);
	i->lut = prng_next(&gen->prng) & 0xffffffff;
	i->skip = prng_next(&gen->prng) & 0xffffffff;
}

static bool pick_first(struct gen_enpu *gen, struct enpu_insn *i)
{
	bool ignored = enpu_chance(gen, 20);

	memset(i, 0, sizeof(*i));
	i->first = true;
	i->op = first_ops[enpu_pick(gen, 0, sizeof(first_ops) - 1)];
	i->ho = pick_size(gen, 9);
	i->wo = pick_size(gen, 9);
	i->co = pick_size(gen, 40);
	i->ci = pick_size(gen, 40);
	if (enpu_is_window(i))
		pick_window(gen, i);
	else if (ignored)
		pick_ignored(gen, i);
	return pick_tile(gen, i) && products(i) <= MACS;
}

static void pick_later(struct gen_enpu *gen, const struct enpu_insn *first, struct enpu_insn *i)
{
	memset(i, 0, sizeof(*i));
	if (enpu_chance(gen, 20)) {
		pick_ignored(gen, i);
		i->zs = enpu_pick(gen, 0, 255);
		i->y = enpu_pick(gen, 0, 63);
	}
	i->op = later_ops[enpu_pick(gen, 0, sizeof(later_ops) - 1)];
	i->ho = first->ho;
	i->wo = first->wo;
	i->co = first->co;
}

/* ------------------------------------------------------------------- places */

/* A word from which @words fit into the job's part of a memory; -1 if there is none. */
static int64_t place(struct gen_enpu *gen, enum cnnacc_enpu_memory memory, int64_t words)
{
	int64_t room = gen->span[memory] - words;

	if (room < 0)
		return -1;
	if (enpu_chance(gen, 15))
		return gen->low[memory] + (enpu_chance(gen, 50) ? 0 : room);
	return gen->low[memory] + enpu_pick(gen, 0, room);
}

static int32_t pick_bias(struct gen_enpu *gen)
{
	int32_t any = prng_next(&gen->prng);

	if (enpu_chance(gen, 10))
		return any;
	if (enpu_chance(gen, 10))
		return 0x800000 - any % 40000;
	return any % (enpu_chance(gen, 50) ? 300 : 20000);
}

static int8_t pick_shift(struct gen_enpu *gen)
{
	if (enpu_chance(gen, 10))
		return enpu_pick(gen, -31, 31);
	return enpu_pick(gen, enpu_chance(gen, 10) ? -2 : 1, 11);
}

/* Take words for a block and fill it; false if there are none left. */
static bool place_block(struct gen_enpu *gen, struct enpu_insn *i)
{
	int64_t words = CNNACC_ENPU_BLOCK_WORDS * enpu_groups(i->co), low;

	if (gen->blocks + words > gen->span[CNNACC_ENPU_WEIGHT])
		return false;
	low = gen->blocks;
	gen->blocks += words;
	i->block = gen->low[CNNACC_ENPU_WEIGHT] + low;
	i->flags |= CNNACC_ENPU_F_BLOCK;
	for (int64_t o = 0; o < i->co; o++) {
		uint8_t *group = gen->weight + 16 * (low + CNNACC_ENPU_BLOCK_WORDS * (o / 16));
		uint32_t bias = pick_bias(gen);

		for (unsigned int n = 0; n < 4; n++)
			group[4 * (o % 16) + n] = bias >> 8 * n;
		group[64 + o % 16] = pick_shift(gen);
	}
	return true;
}

static bool place_parameters(struct gen_enpu *gen, struct enpu_insn *i)
{
	i->shift = pick_shift(gen);
	if (enpu_has_weights(i)) {
		i->weight = place(gen, CNNACC_ENPU_WEIGHT, enpu_range_weights(i).words);
		if (enpu_chance(gen, 70))
			place_block(gen, i);
	}
	if (i->op == CNNACC_ENPU_LUT)
		i->lut = place(gen, CNNACC_ENPU_WEIGHT, CNNACC_ENPU_LUT_WORDS);
	return i->weight >= 0 && i->lut >= 0;
}

static bool place_stage(struct gen_enpu *gen, struct enpu_insn *i)
{
	if (i->op == CNNACC_ENPU_RESHAPE)
		pick_reshape(gen, i);
	i->step_out = pick_step(gen, enpu_shape_of(i).size[3]);
	if (i->first) {
		i->flags |= enpu_chance(gen, 40) ? CNNACC_ENPU_F_A_SKIP : 0;
		i->step_a = pick_step(gen, enpu_channels_a(i));
		i->in = place(gen, enpu_range_a(i).memory, enpu_range_a(i).words);
	}
	if (enpu_has_b(i)) {
		i->flags |= enpu_chance(gen, 40) ? CNNACC_ENPU_F_B_WORK : 0;
		i->step_b = pick_step(gen, i->co);
		i->b = place(gen, enpu_range_b(i).memory, enpu_range_b(i).words);
	}
	return i->in >= 0 && i->b >= 0 && place_parameters(gen, i);
}

/* ------------------------------------------------------------------ results */

static bool meet(struct enpu_range a, struct enpu_range b)
{
	return a.memory == b.memory && a.first < b.first + b.words && b.first < a.first + a.words;
}

static bool same(const struct enpu_insn *i, struct enpu_range r, struct enpu_range map)
{
	return i->op != CNNACC_ENPU_RESHAPE && r.first == map.first && r.step == map.step;
}

/* May stage @n leave a result there? */
static bool may_be(const struct layer *l, unsigned int n, struct enpu_range r)
{
	const struct enpu_insn *i = &l->stage[n];
	struct enpu_range a = enpu_range_a(&l->stage[0]);

	if (meet(r, a) && !(enpu_is_pointwise(&l->stage[0]) && same(i, r, a)))
		return false;
	for (unsigned int k = 0; k < l->stages; k++) {
		const struct enpu_insn *other = &l->stage[k];

		if (enpu_has_b(other) && meet(r, enpu_range_b(other)) &&
		    !(k <= n && same(i, r, enpu_range_b(other))))
			return false;
		if (k < n && enpu_has_skip(other) && meet(r, enpu_range_skip(other)))
			return false;
	}
	return true;
}

/* Put the result exactly over A or a map B, if that may be. */
static void try_in_place(struct layer *l, unsigned int n, bool skip)
{
	struct enpu_insn *i = &l->stage[n], kept = *i;

	for (unsigned int k = 0; k <= n; k++) {
		struct enpu_range map = enpu_has_b(&l->stage[k]) ? enpu_range_b(&l->stage[k]) :
								    enpu_range_a(&l->stage[0]);

		i->step_out = map.step;
		*(skip ? &i->skip : &i->out) = map.first;
		if (map.step < 256 && map.memory == (skip ? CNNACC_ENPU_SKIP : CNNACC_ENPU_WORK) &&
		    may_be(l, n, skip ? enpu_range_skip(i) : enpu_range_out(i)))
			return;
		*i = kept;
	}
}

static bool place_result(struct gen_enpu *gen, struct layer *l, unsigned int n, bool skip)
{
	struct enpu_insn *i = &l->stage[n];
	struct enpu_range r;

	for (unsigned int try = 0; try < TRIES; try++) {
		r = skip ? enpu_range_skip(i) : enpu_range_out(i);
		r.first = place(gen, r.memory, r.words);
		if (r.first < 0)
			return false;
		*(skip ? &i->skip : &i->out) = r.first;
		if (may_be(l, n, r))
			return true;
	}
	return false;
}

static bool place_last(struct gen_enpu *gen, struct layer *l)
{
	unsigned int n = l->stages - 1;
	struct enpu_insn *i = &l->stage[n];
	bool reshape = i->op == CNNACC_ENPU_RESHAPE;

	i->stored = enpu_chance(gen, 40);
	if (i->stored && enpu_chance(gen, 50))
		i->flags |= CNNACC_ENPU_F_OUT_ONLY;
	if (enpu_has_skip(i) && !place_result(gen, l, n, true))
		return false;
	if (enpu_has_out(i) && !place_result(gen, l, n, false))
		return false;
	/* Both have one step, so only a single result moves. */
	if (!reshape && enpu_has_skip(i) != enpu_has_out(i) && enpu_chance(gen, 40))
		try_in_place(l, n, i->stored);
	return true;
}

static bool place_results(struct gen_enpu *gen, struct layer *l)
{
	for (unsigned int n = 0; n + 1 < l->stages; n++) {
		l->stage[n].fused = true;
		if (enpu_chance(gen, 70))
			continue;
		l->stage[n].stored = true;
		if (!place_result(gen, l, n, true))
			l->stage[n].stored = false;
	}
	return place_last(gen, l);
}

/* ------------------------------------------------------------------- layers */

static bool try_layer(struct gen_enpu *gen, struct layer *l, unsigned int most)
{
	if (!pick_first(gen, &l->stage[0]) || !place_stage(gen, &l->stage[0]))
		return false;
	l->stages = 1;
	while (l->stages < most && enpu_chance(gen, 45)) {
		if (l->stage[l->stages - 1].op == CNNACC_ENPU_RESHAPE)
			break;
		pick_later(gen, &l->stage[0], &l->stage[l->stages]);
		if (!place_stage(gen, &l->stage[l->stages]))
			break;
		l->stages++;
	}
	return place_results(gen, l);
}

/* ReLU of one channel in place: always possible. */
static void least_layer(struct gen_enpu *gen, struct layer *l)
{
	l->stages = 1;
	l->stage[0] = (struct enpu_insn){
		.first = true, .op = CNNACC_ENPU_RELU, .ho = 1, .wo = 1, .co = 1, .y = 1, .x = 1,
		.zs = 1, .in = gen->low[CNNACC_ENPU_WORK], .out = gen->low[CNNACC_ENPU_WORK],
	};
}

static void add_layer(struct gen_enpu *gen, unsigned int most)
{
	struct layer l;
	bool good = false;

	for (unsigned int try = 0; try < TRIES && !good; try++) {
		int64_t blocks = gen->blocks;

		good = try_layer(gen, &l, most < STAGES ? most : STAGES);
		if (!good)
			gen->blocks = blocks;
	}
	if (!good)
		least_layer(gen, &l);
	for (unsigned int n = 0; n < l.stages; n++) {
		struct enpu_insn *i = &l.stage[n];

		i->opcode = i->op | (i->fused ? CNNACC_ENPU_FUSED : 0) |
			    (i->stored ? CNNACC_ENPU_STORED : 0);
		gen->insn[gen->insns++] = *i;
	}
}

void gen_enpu_program(struct gen_enpu *gen)
{
	int64_t room = gen->bytes[CNNACC_ENPU_ITCM] / CNNACC_ENPU_INSN_BYTES;
	int64_t most = enpu_pick(gen, 1, room <= GEN_ENPU_INSNS ? room - 1 : GEN_ENPU_INSNS);

	gen->insns = 0;
	gen->blocks = 0;
	for (int64_t n = 0; n < 16 * gen->span[CNNACC_ENPU_WEIGHT]; n++)
		gen->weight[n] = prng_next(&gen->prng) >> 16;
	if (!enpu_chance(gen, 2))
		while (gen->insns < most)
			add_layer(gen, most - gen->insns);
	room -= gen->insns + 1;
	gen->start = enpu_chance(gen, 30) ? 0 : enpu_chance(gen, 20) ? room :
		     enpu_pick(gen, 0, room);
}
