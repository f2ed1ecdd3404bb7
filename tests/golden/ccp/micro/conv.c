// SPDX-License-Identifier: MIT
/* The convolution unit: IDLE, LOAD, SHIFT, SWITCH, BIAS, ACC, SAVE. */
#include <string.h>

#include "cnnacc_ccp.h"
#include "micro.h"

#define WORD_FLOATS	16	/* of the 512-bit bus */
#define BANK_FLOATS	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / 4)

static unsigned int field(uint32_t word, unsigned int low, unsigned int bits)
{
	return word >> low & ((1u << bits) - 1);
}

static unsigned int either(unsigned int value, unsigned int otherwise)
{
	return value ? value : otherwise;
}

static unsigned int at_most(unsigned int value, unsigned int limit)
{
	return value < limit ? value : limit;
}

static void start_load(struct micro_unit *u)
{
	u->state = MICRO_LOAD;
	u->bus_row = 0;
	u->bus_row_open = false;
	memset(u->port, 0, sizeof(u->port));
	memset(u->lib_rows, 0, sizeof(u->lib_rows));
}

static void start_pass(struct micro_unit *u)
{
	u->state = MICRO_SHIFT;
	u->row = 0;
	u->tap = 0;
	u->beat = 0;
	u->shifter_full = false;
}

/* The input planes of this iteration, all of the output planes. */
static void use_planes(struct micro_unit *u)
{
	const uint32_t *g = u->group[0], *g1 = u->group[1];
	uint32_t iw = g[1] & 0xffff, in = either(g1[4] & 0xffff, iw) * iw;
	uint32_t ow = g[1] >> 16, out = either(g1[4] >> 16, ow) * ow;
	int64_t in_pitch = either(g1[5], in), out_pitch = either(g1[6], out);

	micro_use(u, MICRO_READ_BANK, (int32_t)g1[0] + u->channel * in_pitch,
		  (u->channel_end - u->channel) * in_pitch + in);
	micro_use(u, MICRO_WRITE_BANK, (int32_t)g1[1] + (g[5] >> 16) * out_pitch,
		  (u->co_cnt - 1) * out_pitch + out);
}

/* Each bank in use has the same places for weights and biases. */
static void use_weights(struct micro_unit *u)
{
	const uint32_t *g = u->group[0], *g1 = u->group[1];
	unsigned int co = g[5] >> 16, first = co / CNNACC_CCP_WEIGHT_BANKS;
	unsigned int last = (co + u->co_cnt - 1) / CNNACC_CCP_WEIGHT_BANKS;
	int64_t taps = u->kh * u->kw, pitch = either(g1[7] & 0xffff, u->channel_num) * taps;
	int64_t weights = (int32_t)g1[2] + first * pitch + u->channel * taps;
	int64_t length = (last - first) * pitch + (u->channel_end + 1 - u->channel) * taps;

	for (unsigned int i = 0; i < at_most(u->co_cnt, CNNACC_CCP_WEIGHT_BANKS); i++) {
		int64_t bank = (co + i) % CNNACC_CCP_WEIGHT_BANKS * (int64_t)BANK_FLOATS;

		micro_use(u, MICRO_WEIGHTS, bank + weights, length);
		if (g[0] & CNNACC_CCP_R0_BIAS)
			micro_use(u, MICRO_WEIGHTS, bank + (int32_t)g1[3] + first, last - first + 1);
	}
}

void micro_conv_start(struct micro_unit *u)
{
	const uint32_t *g = u->group[0], *g1 = u->group[1];
	unsigned int oh = either(g1[4] >> 16, g[1] >> 16), ow = g[1] >> 16;
	unsigned int row_start = g[4] & 0xffff, col_start = g[4] >> 16;

	u->sy = field(g[0], 8, 8);
	u->kh = field(g[0], 16, 8);
	u->sx = either(field(g[0], 24, 4), u->sy);
	u->kw = either(field(g[0], 28, 4), u->kh);
	u->vec = field(g[5], 0, 5);
	u->groups = field(g[5], 8, 2) + 1;
	u->co_cnt = either(g[6] & 0xffff, (g[2] >> 16) - (g[5] >> 16));
	u->channel = g[3] & 0xffff;
	u->channel_end = g[3] >> 16;
	u->channel_num = g[2] & 0xffff;
	u->lanes_useful = (oh > row_start ? at_most(oh - row_start, u->vec) : 0) *
			  (ow > col_start ? at_most(ow - col_start, CNNACC_CCP_LANES) : 0);
	u->pass = 0;
	u->walk = (struct micro_walk){ .cols = u->vec, .rows = u->co_cnt, .planes = 1 };
	use_planes(u);
	use_weights(u);
	start_load(u);
}

/* Columns *@first..*@end - 1 of row @i of the region that the LIBs hold together. */
static int row_span(const struct micro_unit *u, unsigned int i, int *first, int *end)
{
	const uint32_t *g = u->group[0], *g1 = u->group[1];
	int width = g[1] & 0xffff, height = (int)either(g1[4] & 0xffff, g[1] & 0xffff);
	int row = (int)((g[4] & 0xffff) * u->sy + i) - (int)field(g[6], 16, 4);

	*first = (int)((g[4] >> 16) * u->sx) - (int)field(g[6], 24, 4);
	*end = *first + (int)((CNNACC_CCP_LANES - 1) * u->sx + u->kw);
	if (u->flags & MICRO_CLIP_EDGES) {
		*first = *first < 0 ? 0 : *first;
		*end = *end > width ? width : *end;
		if (row < 0 || row >= height)
			*end = *first;
	}
	return row;
}

/* Floats that the bus word which starts with column @col of @row can hold. */
static int word_room(const struct micro_unit *u, int row, int col)
{
	const uint32_t *g = u->group[0], *g1 = u->group[1];
	uint32_t width = g[1] & 0xffff, plane = either(g1[4] & 0xffff, width) * width;
	uint32_t address = g1[0] + u->channel * either(g1[5], plane) + (uint32_t)row * width +
			   (uint32_t)col;

	return u->flags & MICRO_ALIGNED_PORT ? WORD_FLOATS - (int)(address % WORD_FLOATS) :
					       WORD_FLOATS;
}

/* Row @i is on the bus: every LIB whose range it is in takes it. */
static void match_libs(struct micro_unit *u, unsigned int i)
{
	for (unsigned int lib = 0; lib < u->vec; lib++)
		if (i >= lib * u->sy && i < lib * u->sy + u->kh)
			u->lib_rows[lib]++;
}

static bool libs_filled(const struct micro_unit *u)
{
	for (unsigned int lib = 0; lib < u->vec; lib++)
		if (u->lib_rows[lib] < u->kh)
			return false;
	return true;
}

/* Asks for the next bus word; a row's number + 1 with its last word, else 0. */
static unsigned int next_word(struct micro_unit *u)
{
	unsigned int rows = (u->vec - 1) * u->sy + u->kh;
	int first = 0, end = 0, row = 0;

	for (; u->bus_row < rows; match_libs(u, u->bus_row++)) {
		row = row_span(u, u->bus_row, &first, &end);
		if (first < end)
			break;
	}
	if (u->bus_row == rows)
		return 0;
	if (!u->bus_row_open)
		u->bus_col = first;
	u->bus = true;
	u->bus_col += word_room(u, row, u->bus_col);
	u->bus_row_open = u->bus_col < end;
	return u->bus_row_open ? 0 : ++u->bus_row;
}

static void step_load(struct micro_unit *u)
{
	unsigned int arrived = u->port[MICRO_PORT_STAGES - 1];

	for (unsigned int i = MICRO_PORT_STAGES - 1; i; i--)
		u->port[i] = u->port[i - 1];
	u->port[0] = next_word(u);
	if (arrived)
		match_libs(u, arrived - 1);
	if (libs_filled(u)) {
		u->pass = 0;
		start_pass(u);
	}
}

static unsigned int beat_channels(const struct micro_unit *u)
{
	unsigned int first = (u->pass * CNNACC_CCP_BEATS + u->beat) * u->groups;

	return first < u->co_cnt ? at_most(u->co_cnt - first, u->groups) : 0;
}

static void row_done(struct micro_unit *u)
{
	bool bias = u->group[0][0] & CNNACC_CCP_R0_BIAS || u->flags & MICRO_BIAS_ALWAYS;

	u->tap = 0;
	if (++u->row < u->kh)
		u->state = MICRO_SWITCH;
	else if (u->channel == u->channel_num - 1 && bias)
		u->state = MICRO_BIAS;
	else
		u->state = MICRO_ACC;
}

static void step_shift(struct micro_unit *u)
{
	if (!u->shifter_full) {
		u->shifter_full = true;
		return;
	}
	if (!micro_issue(u, u->beat))
		return;
	u->count->mac_useful += (uint64_t)beat_channels(u) * u->lanes_useful;
	u->beat = (u->beat + 1) % CNNACC_CCP_BEATS;
	if (!u->beat && ++u->tap == u->kw)
		row_done(u);
}

static void after_acc(struct micro_unit *u)
{
	unsigned int channels = CNNACC_CCP_BEATS * u->groups;
	bool save = u->channel_end == u->channel_num - 1;

	if (++u->pass * channels < u->co_cnt)
		start_pass(u);
	else if (u->channel++ < u->channel_end)
		start_load(u);
	else
		u->state = save && u->flags & MICRO_EARLY_SAVE ? MICRO_SAVE : MICRO_DRAIN;
}

static void step_beats(struct micro_unit *u)
{
	if (!micro_issue(u, u->beat))
		return;
	u->beat = (u->beat + 1) % CNNACC_CCP_BEATS;
	if (u->beat)
		return;
	if (u->state == MICRO_BIAS)
		u->state = MICRO_ACC;
	else
		after_acc(u);
}

bool micro_conv_step(struct micro_unit *u)
{
	bool flowing = micro_advance(u, MICRO_CONV_STAGES);

	u->count->state[u->state]++;
	switch (u->state) {
	case MICRO_LOAD:
		step_load(u);
		return false;
	case MICRO_SHIFT:
		step_shift(u);
		return false;
	case MICRO_SWITCH:
		u->state = MICRO_SHIFT;
		return false;
	case MICRO_BIAS:
	case MICRO_ACC:
		step_beats(u);
		return false;
	case MICRO_DRAIN:
		if (flowing)
			return false;
		u->state = MICRO_SAVE;
		return u->channel_end != u->channel_num - 1;
	default:
		u->bus = true;
		return !micro_walk_next(&u->walk);
	}
}
