// SPDX-License-Identifier: MIT
/* Damage: each function makes one thing bad and leaves the rest as it was. */
#include "gen.h"

static void set_bits(uint32_t *word, unsigned int high, unsigned int low, uint32_t value)
{
	uint32_t mask = (uint32_t)((1ull << (high - low + 1)) - 1) << low;

	*word = (*word & ~mask) | (value << low & mask);
}

static uint32_t get_bits(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & (uint32_t)((1ull << (high - low + 1)) - 1);
}

static uint32_t or_default(uint32_t value, uint32_t if_zero)
{
	return value ? value : if_zero;
}

static void set_any_bit(struct gen *gen, uint32_t *word, unsigned int high, unsigned int low)
{
	*word |= 1u << gen_pick(gen, low, high);
}

/* Does this EXEC get the damage? */
static bool due(struct gen *gen, enum gen_kind kind)
{
	if (gen->kind != kind || gen->spoilt || gen_chance(gen, 40))
		return false;
	gen->spoilt = true;
	return true;
}

/* Planes of a map as registers describe them. */
struct planes {
	uint32_t *base, *pitch;
	int64_t plane, first, last;
};

static void spoil_range(struct gen *gen, const struct planes *p)
{
	int64_t pitch = or_default(*p->pitch, p->plane), size = gen->params.data_bank / 4;

	switch (gen_pick(gen, 0, 3)) {
	case 0:		/* one float before the bank */
		*p->base = -p->first * pitch - 1;
		break;
	case 1:		/* one float behind it */
		*p->base = size - (p->last * pitch + p->plane) + 1;
		break;
	case 2:
		*p->base = gen_chance(gen, 50) ? INT32_MIN : INT32_MAX;
		break;
	default:
		if (p->last == p->first)
			*p->base = size;
		else
			*p->pitch = gen_chance(gen, 50) ? 0xffffffff : size;
		break;
	}
}

static void spoil_pitch(struct gen *gen, const struct planes *p)
{
	if (p->plane > 1)
		*p->pitch = gen_chance(gen, 50) ? p->plane - 1 : gen_pick(gen, 1, p->plane - 1);
}

static void spoil_stride(struct gen *gen, uint32_t *r0)
{
	switch (gen_pick(gen, 0, 2)) {
	case 0:
		set_bits(r0, 15, 8, 0);
		break;
	case 1:
		if (gen_chance(gen, 50))
			set_bits(r0, 27, 24, gen_pick(gen, 1, 8));
		set_bits(r0, 15, 8, gen_chance(gen, 50) ? 9 : gen_pick(gen, 9, 255));
		break;
	default:
		set_bits(r0, 27, 24, gen_pick(gen, 9, 15));
		break;
	}
}

/* ------------------------------------------------------------------ conv */

static void conv_reserved(struct gen *gen, uint32_t g0[8], uint32_t g1[8])
{
	switch (gen_pick(gen, 0, 3)) {
	case 0:
		set_any_bit(gen, &g0[0], 7, 2);
		break;
	case 1:
		set_any_bit(gen, &g0[5], 7, 5);
		break;
	case 2:
		set_any_bit(gen, &g0[5], 15, 10);
		break;
	default:
		set_any_bit(gen, &g1[7], 31, 16);
		break;
	}
}

static void conv_kernel(struct gen *gen, uint32_t g0[8])
{
	switch (gen_pick(gen, 0, 2)) {
	case 0:
		set_bits(&g0[0], 23, 16, 0);
		break;
	case 1:
		set_bits(&g0[0], 23, 16, gen_chance(gen, 50) ? 12 : gen_pick(gen, 12, 255));
		break;
	default:
		set_bits(&g0[0], 31, 28, gen_pick(gen, 12, 15));
		break;
	}
}

static void conv_in_size(struct gen *gen, uint32_t g0[8], uint32_t g1[8])
{
	if (gen_chance(gen, 30)) {
		set_bits(&g0[1], 15, 0, 0);
		return;
	}
	/* A kernel one larger than the padded input. */
	if (gen_chance(gen, 50)) {
		set_bits(&g0[0], 23, 16, 3);
		set_bits(&g0[6], 23, 16, gen_chance(gen, 50) ? 0x10 : 0x01);
		set_bits(&g1[4], 15, 0, 1);
	} else {
		set_bits(&g0[0], 31, 28, 4);
		set_bits(&g0[6], 31, 24, gen_chance(gen, 50) ? 0x10 : 0x01);
		set_bits(&g0[1], 15, 0, 2);
	}
}

static void conv_out_size(struct gen *gen, uint32_t g0[8], uint32_t g1[8])
{
	uint32_t cols = get_bits(g0[1], 31, 16), rows = or_default(get_bits(g1[4], 31, 16), cols);
	int step = gen_chance(gen, 50) ? 1 : -1;

	set_bits(&g1[4], 31, 16, rows);
	if (gen_chance(gen, 50))
		set_bits(&g0[1], 31, 16, cols + step);
	else
		set_bits(&g1[4], 31, 16, rows + 1);
}

static void conv_channels(struct gen *gen, uint32_t g0[8])
{
	uint32_t ci_num = get_bits(g0[2], 15, 0), co_num = get_bits(g0[2], 31, 16);
	uint32_t groups = get_bits(g0[5], 9, 8) + 1;

	switch (gen_pick(gen, 0, 7)) {
	case 0:
		set_bits(&g0[2], 15, 0, 0);
		break;
	case 1:
		set_bits(&g0[2], 31, 16, 0);
		break;
	case 2:
		set_bits(&g0[3], 15, 0, get_bits(g0[3], 31, 16) + 1);
		break;
	case 3:
		set_bits(&g0[3], 31, 16, ci_num);
		break;
	case 4:
		set_bits(&g0[5], 31, 16, co_num);
		break;
	case 5:
		set_bits(&g0[6], 15, 0, co_num - get_bits(g0[5], 31, 16) + 1);
		break;
	case 6:
		g0[gen_chance(gen, 50) ? 3 : 6] |= 0x8000;
		break;
	default:	/* one more than the local output buffers hold */
		set_bits(&g0[2], 31, 16, 65535);
		set_bits(&g0[5], 31, 16, 0);
		set_bits(&g0[6], 15, 0, gen->params.lob * groups + 1);
		break;
	}
}

/* A slice without an open iteration, or one that does not match it. */
static void conv_continue(struct gen *gen, uint32_t g0[8])
{
	uint32_t vec = get_bits(g0[5], 4, 0);

	if (!get_bits(g0[3], 15, 0) || gen_chance(gen, 20)) {
		uint32_t channel = gen_pick(gen, 1, 8);

		set_bits(&g0[2], 15, 0, 9);
		g0[3] = channel | channel << 16;
		return;
	}
	switch (gen_pick(gen, 0, 3)) {
	case 0:
		g0[4] ^= 1;
		break;
	case 1:
		g0[4] ^= 1u << 16;
		break;
	case 2:
		set_bits(&g0[5], 4, 0, vec == 1 ? 2 : vec - 1);
		break;
	default:
		set_bits(&g0[2], 31, 16, get_bits(g0[2], 31, 16) + 1);
		set_bits(&g0[5], 31, 16, get_bits(g0[5], 31, 16) + 1);
		break;
	}
}

static void conv_weight_range(struct gen *gen, const uint32_t g0[8], uint32_t g1[8])
{
	uint32_t kh = get_bits(g0[0], 23, 16), kw = or_default(get_bits(g0[0], 31, 28), kh);
	uint32_t co_start = get_bits(g0[5], 31, 16);
	int64_t count = or_default(get_bits(g0[6], 15, 0), get_bits(g0[2], 31, 16) - co_start);
	int64_t pitch = or_default(get_bits(g1[7], 15, 0), get_bits(g0[2], 15, 0));
	int64_t first = co_start / 4 * pitch + get_bits(g0[3], 15, 0);
	int64_t last = (co_start + count - 1) / 4 * pitch + get_bits(g0[3], 31, 16) + 1;

	if (gen_chance(gen, 50))
		g1[2] = -first * kh * kw - 1;
	else
		g1[2] = gen->params.weight_bank / 4 - last * kh * kw + 1;
}

static void conv_bias_range(struct gen *gen, uint32_t g0[8], uint32_t g1[8])
{
	uint32_t co_start = get_bits(g0[5], 31, 16);
	uint32_t count = or_default(get_bits(g0[6], 15, 0), get_bits(g0[2], 31, 16) - co_start);

	g0[0] |= CNNACC_CCP_R0_BIAS;
	if (gen_chance(gen, 50))
		g1[3] = -(co_start / 4) - 1;
	else
		g1[3] = gen->params.weight_bank / 4 - (co_start + count - 1) / 4;
}

static struct planes conv_in_planes(uint32_t g0[8], uint32_t g1[8])
{
	uint32_t cols = get_bits(g0[1], 15, 0), rows = or_default(get_bits(g1[4], 15, 0), cols);

	return (struct planes){ &g1[0], &g1[5], (int64_t)rows * cols, get_bits(g0[3], 15, 0),
				get_bits(g0[3], 31, 16) };
}

static struct planes conv_out_planes(uint32_t g0[8], uint32_t g1[8])
{
	uint32_t cols = get_bits(g0[1], 31, 16), rows = or_default(get_bits(g1[4], 31, 16), cols);
	int64_t first = get_bits(g0[5], 31, 16);
	int64_t count = or_default(get_bits(g0[6], 15, 0), get_bits(g0[2], 31, 16) - first);

	return (struct planes){ &g1[1], &g1[6], (int64_t)rows * cols, first, first + count - 1 };
}

static void conv_field(struct gen *gen, uint32_t g0[8], uint32_t g1[8])
{
	struct planes in = conv_in_planes(g0, g1), out = conv_out_planes(g0, g1);

	switch (gen_pick(gen, 1, 14)) {
	case 1:
		conv_reserved(gen, g0, g1);
		break;
	case 2:
		conv_kernel(gen, g0);
		break;
	case 3:
		spoil_stride(gen, &g0[0]);
		break;
	case 4:
		conv_in_size(gen, g0, g1);
		break;
	case 5:
		conv_out_size(gen, g0, g1);
		break;
	case 6:
		conv_channels(gen, g0);
		break;
	case 7:
		set_bits(&g0[5], 4, 0, gen_chance(gen, 50) ? 0 : gen_pick(gen, 17, 31));
		break;
	case 8:
		conv_continue(gen, g0);
		break;
	case 9:
		spoil_pitch(gen, &in);
		break;
	case 10:
		spoil_pitch(gen, &out);
		break;
	case 11:
		spoil_range(gen, &in);
		break;
	case 12:
		spoil_range(gen, &out);
		break;
	case 13:
		conv_weight_range(gen, g0, g1);
		break;
	default:
		conv_bias_range(gen, g0, g1);
		break;
	}
}

void gen_spoil_conv(struct gen *gen, uint32_t g0[8], uint32_t g1[8])
{
	if (due(gen, GEN_FIELD))
		conv_field(gen, g0, g1);
	if (!due(gen, GEN_FLIP))
		return;
	for (int64_t flips = gen_pick(gen, 1, 4); flips; flips--) {
		uint32_t *g = gen_chance(gen, 50) ? g0 : g1;

		g[gen_pick(gen, 0, 7)] ^= 1u << gen_pick(gen, 0, 31);
	}
}

/* --------------------------------------------------- pool, pad and fc */

static void pool_kernel(struct gen *gen, uint32_t g[8])
{
	static const uint32_t bad[][2] = {	/* rows, columns field */
		{ 0, 0 }, { 1, 0 }, { 4, 0 }, { 255, 0 }, { 0, 2 }, { 1, 1 }, { 4, 1 }, { 2, 4 },
		{ 3, 15 },
	};
	const uint32_t *pair = bad[gen_pick(gen, 0, sizeof(bad) / sizeof(bad[0]) - 1)];

	set_bits(&g[0], 23, 16, pair[0]);
	set_bits(&g[0], 31, 28, pair[1]);
}

static void pool_in_size(struct gen *gen, uint32_t g[8])
{
	if (gen_chance(gen, 40)) {
		set_bits(&g[1], 15, 0, 0);
		return;
	}
	set_bits(&g[0], 23, 16, 3);
	set_bits(&g[0], 31, 28, 3);
	if (gen_chance(gen, 50)) {
		set_bits(&g[1], 31, 16, 1);
		set_bits(&g[2], 23, 16, gen_chance(gen, 50) ? 0x10 : 0x01);
	} else {
		set_bits(&g[1], 15, 0, 2);
		set_bits(&g[2], 31, 24, 0);
	}
}

/* Sizes of a pool's output by the formula. */
static void pool_full(const uint32_t g[8], uint32_t *rows, uint32_t *cols)
{
	uint32_t sy = get_bits(g[0], 15, 8), sx = or_default(get_bits(g[0], 27, 24), sy);
	uint32_t kh = get_bits(g[0], 23, 16), kw = or_default(get_bits(g[0], 31, 28), kh);
	uint32_t iw = get_bits(g[1], 15, 0), ih = or_default(get_bits(g[1], 31, 16), iw);

	*rows = (ih + get_bits(g[2], 19, 16) + get_bits(g[2], 23, 20) - kh + sy - 1) / sy + 1;
	*cols = (iw + get_bits(g[2], 27, 24) + get_bits(g[2], 31, 28) - kw + sx - 1) / sx + 1;
}

static void pool_field(struct gen *gen, uint32_t g[8])
{
	uint32_t cols = get_bits(g[1], 15, 0), rows = or_default(get_bits(g[1], 31, 16), cols);
	int64_t last = (int64_t)get_bits(g[2], 15, 0) - 1;
	struct planes in = { &g[3], &g[6], (int64_t)rows * cols, 0, last };
	struct planes out = { &g[4], &g[7], 0, 0, last };
	uint32_t oh, ow;

	pool_full(g, &oh, &ow);
	out.plane = (int64_t)or_default(get_bits(g[5], 31, 16), oh) *
		    or_default(get_bits(g[5], 15, 0), ow);
	switch (gen_pick(gen, 1, 10)) {
	case 1:
		set_any_bit(gen, &g[0], 7, 1);
		break;
	case 2:
		pool_kernel(gen, g);
		break;
	case 3:
		spoil_stride(gen, &g[0]);
		break;
	case 4:
		pool_in_size(gen, g);
		break;
	case 5:
		if (gen_chance(gen, 50))
			set_bits(&g[5], 15, 0, ow + 1);
		else
			set_bits(&g[5], 31, 16, oh + 1);
		break;
	case 6:
		set_bits(&g[2], 15, 0, 0);
		break;
	case 7:
		spoil_pitch(gen, &in);
		break;
	case 8:
		spoil_pitch(gen, &out);
		break;
	case 9:
		spoil_range(gen, &in);
		break;
	default:
		spoil_range(gen, &out);
		break;
	}
}

static void pad_field(struct gen *gen, uint32_t g[8])
{
	static const uint32_t bad_layers[] = { 0, 3, 4, 0x101, 0x80000001, 0xffffffff };
	uint32_t cols = get_bits(g[1], 15, 0), rows = or_default(get_bits(g[1], 31, 16), cols);
	int64_t last = (int64_t)get_bits(g[2], 15, 0) - 1;
	struct planes in = { &g[3], &g[5], (int64_t)rows * cols, 0, last };
	struct planes out = { &g[4], &g[6], (int64_t)(rows + 2 * g[0]) * (cols + 2 * g[0]), 0, last };

	switch (gen_pick(gen, 1, 8)) {
	case 1:
		set_any_bit(gen, &g[2], 31, 16);
		break;
	case 2:
		g[0] = bad_layers[gen_pick(gen, 0, 5)];
		break;
	case 3:
		set_bits(&g[1], 15, 0, 0);
		break;
	case 4:
		set_bits(&g[2], 15, 0, 0);
		break;
	case 5:
		spoil_pitch(gen, &in);
		break;
	case 6:
		spoil_pitch(gen, &out);
		break;
	case 7:
		spoil_range(gen, &in);
		break;
	default:
		spoil_range(gen, &out);
		break;
	}
}

/* A base or length such that [base, +length) leaves [0, size). */
static void spoil_span(struct gen *gen, uint32_t *base, int64_t length, int64_t size)
{
	switch (gen_pick(gen, 0, 2)) {
	case 0:
		*base = gen_chance(gen, 50) ? -1 : INT32_MIN;
		break;
	case 1:
		*base = size - length + 1;
		break;
	default:
		*base = INT32_MAX;
		break;
	}
}

static void fc_field(struct gen *gen, uint32_t g[8])
{
	int64_t data = gen->params.data_bank / 4, weight = gen->params.weight_bank;
	int64_t in16 = ((int64_t)g[1] + 15) / 16 * 16;

	switch (gen_pick(gen, 1, 7)) {
	case 1:
		set_any_bit(gen, &g[0], 31, 2);
		break;
	case 2:
		g[gen_pick(gen, 1, 2)] = 0;
		break;
	case 3:
		spoil_span(gen, &g[3], g[1], data);
		break;
	case 4:
		spoil_span(gen, &g[4], g[2], data);
		break;
	case 5:
		spoil_span(gen, &g[5], g[2] * in16, weight);
		break;
	case 6:
		g[gen_pick(gen, 1, 2)] = gen_chance(gen, 50) ? 0xffffffff : data + 1;
		break;
	default:
		g[0] |= CNNACC_CCP_R0_BIAS;
		spoil_span(gen, &g[6], g[2], weight);
		break;
	}
}

void gen_spoil_unit(struct gen *gen, unsigned int unit, uint32_t g[8])
{
	if (due(gen, GEN_FIELD)) {
		if (unit == CNNACC_CCP_POOL)
			pool_field(gen, g);
		else if (unit == CNNACC_CCP_PAD)
			pad_field(gen, g);
		else
			fc_field(gen, g);
	}
	if (!due(gen, GEN_FLIP))
		return;
	for (int64_t flips = gen_pick(gen, 1, 3); flips; flips--)
		g[gen_pick(gen, 0, 7)] ^= 1u << gen_pick(gen, 0, 31);
}
