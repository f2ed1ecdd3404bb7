// SPDX-License-Identifier: MIT
#include "gen.h"

#include <string.h>

#include "../min_max.h"

#define LINE_WORDS	(CNNACC_LINE_SIZE / 4)
#define TRIES		200

/* low..high, small values more often. */
static int64_t pick_small(struct gen *gen, int64_t low, int64_t high)
{
	return min64(gen_pick(gen, low, high), gen_pick(gen, low, high));
}

/* A start for @length words in a window, its ends and middle more often; -1 if they do not fit. */
static int64_t pick_place(struct gen *gen, const struct gen_window *window, int64_t length)
{
	int64_t last = window->high - length, middle;

	if (last < window->low)
		return -1;
	switch (gen_pick(gen, 0, 5)) {
	case 0:
		return window->low;
	case 1:
		return last;
	case 2:
		middle = window->middle - gen_pick(gen, 0, length);
		return min64(last, max64(window->low, middle));
	default:
		return gen_pick(gen, window->low, last);
	}
}

/* A field that may be zero if its value is the default. */
static uint32_t field_or_zero(struct gen *gen, int64_t value, int64_t if_zero)
{
	return value == if_zero && gen_chance(gen, 60) ? 0 : value;
}

static int64_t pick_pitch(struct gen *gen, int64_t plane)
{
	return gen_chance(gen, 60) ? plane : plane + pick_small(gen, 0, 40);
}

/* Planes first..last at a random place in the data window: where plane 0 would start. */
static bool pick_base(struct gen *gen, int64_t pitch, int64_t plane, int64_t first, int64_t last,
		      int32_t *base)
{
	int64_t place = pick_place(gen, &gen->data, (last - first) * pitch + plane);

	*base = place - first * pitch;
	return place >= 0;
}

/* Kernel, stride, input and padding of one axis. */
struct axis {
	int64_t kernel, stride, in, before, after, out;
};

static void pick_padding(struct gen *gen, struct axis *axis)
{
	int64_t most = gen_chance(gen, 10) ? CNNACC_CCP_PAD_MAX : 2;

	axis->before = gen_chance(gen, 50) ? gen_pick(gen, 0, most) : 0;
	axis->after = gen_chance(gen, 50) ? gen_pick(gen, 0, most) : 0;
}

/* ------------------------------------------------------------- transfers */

/* Lines of a window: all, or those in one half of their bank, which are none if it has none. */
static struct gen_window pick_lines(struct gen *gen, const struct gen_window *window)
{
	struct gen_window lines = {
		.low = window->low / LINE_WORDS, .high = window->high / LINE_WORDS,
	};
	int64_t middle = window->middle / LINE_WORDS;

	switch (gen_pick(gen, 0, 3)) {
	case 0:
		lines.high = max64(lines.low, min64(lines.high, middle));
		break;
	case 1:
		lines.low = min64(lines.high, max64(lines.low, middle));
		break;
	}
	return lines;
}

/* A random part of those lines; none if there are none. */
static int64_t pick_some(struct gen *gen, const struct gen_window *lines, int64_t *first)
{
	*first = lines->low;
	if (lines->low == lines->high)
		return 0;
	*first = gen_pick(gen, lines->low, lines->high - 1);
	return pick_small(gen, 0, lines->high - *first);
}

static void move_data(struct gen *gen)
{
	struct gen_window lines = pick_lines(gen, &gen->data);
	int64_t first, count = pick_some(gen, &lines, &first);
	unsigned int bank = gen_pick(gen, 0, 1);
	uint32_t offset = (first - gen->data.low / LINE_WORDS) * CNNACC_LINE_SIZE;
	uint32_t from = gen->data_source[bank];

	/* At times LOAD what earlier STOREs wrote. */
	if (gen->sink_readable[bank] && gen_chance(gen, 50))
		from = gen->data_sink[bank];
	if (gen_chance(gen, 50))
		gen_dma(gen, false, gen->data_sink[bank] + offset, count, first, bank);
	else
		gen_dma(gen, true, from + offset, count, first, gen_pick(gen, 0, 1));
}

static void move_weights(struct gen *gen)
{
	struct gen_window lines = pick_lines(gen, &gen->weight);
	int64_t first, count = pick_some(gen, &lines, &first);
	uint32_t offset = (first - gen->weight.low / LINE_WORDS) * CNNACC_LINE_SIZE;

	gen_dma(gen, true, gen->weight_source[gen_pick(gen, 0, 3)] + offset, count, first,
		CNNACC_CCP_TGT_WEIGHT0 + gen_pick(gen, 0, 3));
}

/* Transfers that the next EXEC waits for or overlaps with. */
static void move_beside(struct gen *gen)
{
	int64_t count = gen_chance(gen, 25) ? gen_pick(gen, 1, 2) : 0;

	for (int64_t i = 0; i < count && !gen_full(gen); i++) {
		if (gen_chance(gen, 50))
			move_data(gen);
		else
			move_weights(gen);
	}
}

/* --------------------------------------------------------- instructions */

/* R0..R7 = g, then CFG; R0..R2 come last, as a change of segment clobbers them. */
static void set_group(struct gen *gen, unsigned int unit, unsigned int group, const uint32_t g[8])
{
	for (unsigned int reg = 7; reg > 2; reg--) {
		gen_room(gen, 3);
		gen_set(gen, reg, g[reg]);
	}
	gen_room(gen, 11);
	for (unsigned int reg = 0; reg <= 2; reg++)
		gen_set(gen, reg, g[reg]);
	gen_emit(gen, CNNACC_CCP_INSN_CFG(unit, group));
}

static void emit_exec(struct gen *gen, unsigned int unit)
{
	move_beside(gen);
	gen_room(gen, 1);
	gen_emit(gen, CNNACC_CCP_INSN_EXEC(unit));
}

void gen_unit(struct gen *gen, unsigned int unit, uint32_t g[8])
{
	gen_spoil_unit(gen, unit, g);
	set_group(gen, unit, 0, g);
	emit_exec(gen, unit);
}

/* @bases: group 1 has to be configured. */
void gen_conv_exec(struct gen *gen, const struct conv_layer *layer, bool bases)
{
	uint32_t g0[8], g1[8], kept[8];
	bool bases_last = gen_chance(gen, 50);

	conv_pack(layer, g0, g1);
	g0[7] = prng_next(&gen->prng);
	memcpy(kept, g1, sizeof(kept));
	gen_spoil_conv(gen, g0, g1);
	bases = bases || memcmp(kept, g1, sizeof(kept));
	if (bases && !bases_last)
		set_group(gen, CNNACC_CCP_CONV, 1, g1);
	set_group(gen, CNNACC_CCP_CONV, 0, g0);
	if (bases && bases_last)
		set_group(gen, CNNACC_CCP_CONV, 1, g1);
	emit_exec(gen, CNNACC_CCP_CONV);
}

/* ------------------------------------------------------------------ conv */

struct conv_plan {
	struct conv_layer layer;
	struct axis y, x;
	int64_t taps, in_plane, out_plane, in_pitch, out_pitch, weight_pitch;
	int64_t co_cnt;
	int64_t slices;
	uint32_t slice_end[4];	/* last channel of each ci slice */
	bool wander;		/* bases differ between EXECs */
};

static bool pick_conv_axis(struct gen *gen, struct axis *axis, int64_t kernel, int64_t stride,
			   int64_t in)
{
	axis->kernel = kernel;
	axis->stride = stride;
	axis->in = in;
	pick_padding(gen, axis);
	axis->out = (in + axis->before + axis->after - kernel) / stride + 1;
	return in + axis->before + axis->after >= kernel;
}

static int64_t pick_kernel(struct gen *gen)
{
	static const int common[] = { 1, 1, 2, 3, 3, 3, 5 };

	return gen_chance(gen, 75) ? common[gen_pick(gen, 0, 6)] :
				     gen_pick(gen, 1, CNNACC_CCP_KERNEL_MAX);
}

static int64_t pick_stride(struct gen *gen)
{
	return gen_chance(gen, 50) ? 1 : pick_small(gen, 1, CNNACC_CCP_STRIDE_MAX);
}

static bool pick_conv_map(struct gen *gen, struct conv_plan *p)
{
	int64_t most = gen_chance(gen, 10) ? 80 : 20;
	int64_t kernel = pick_kernel(gen), stride = pick_stride(gen), in = gen_pick(gen, 1, most);
	struct conv_layer *l = &p->layer;

	if (!pick_conv_axis(gen, &p->y, kernel, stride, in) ||
	    !pick_conv_axis(gen, &p->x, gen_chance(gen, 60) ? kernel : pick_kernel(gen),
			    gen_chance(gen, 60) ? stride : pick_stride(gen),
			    gen_chance(gen, 50) ? in : gen_pick(gen, 1, most)))
		return false;
	l->kernel = p->y.kernel;
	l->kernel_x = field_or_zero(gen, p->x.kernel, p->y.kernel);
	l->stride = p->y.stride;
	l->stride_x = field_or_zero(gen, p->x.stride, p->y.stride);
	l->in_cols = p->x.in;
	l->in_rows = field_or_zero(gen, p->y.in, p->x.in);
	l->out_cols = p->x.out;
	l->out_rows = field_or_zero(gen, p->y.out, p->x.out);
	l->top = p->y.before;
	l->bottom = p->y.after;
	l->left = p->x.before;
	l->right = p->x.after;
	p->taps = p->y.kernel * p->x.kernel;
	p->in_plane = p->y.in * p->x.in;
	p->out_plane = p->y.out * p->x.out;
	return true;
}

static void pick_conv_channels(struct gen *gen, struct conv_plan *p)
{
	struct conv_layer *l = &p->layer;
	int64_t lob;

	l->groups = gen_pick(gen, 1, CNNACC_CCP_GROUPS);
	lob = gen->params.lob * l->groups;
	l->ci_num = pick_small(gen, 1, gen_chance(gen, 10) ? 64 : 8);
	l->co_num = pick_small(gen, 1, gen_chance(gen, 15) ? 100 : 14);
	l->co_start = gen_chance(gen, 60) ? 0 : gen_pick(gen, 0, l->co_num - 1);
	p->co_cnt = gen_chance(gen, 70) ? l->co_num - l->co_start :
					  gen_pick(gen, 1, l->co_num - l->co_start);
	p->co_cnt = min64(p->co_cnt, lob);
	l->co_cnt = field_or_zero(gen, p->co_cnt, l->co_num - l->co_start);
	l->relu = gen_chance(gen, 40);
	l->bias = gen_chance(gen, 60);
}

static void pick_conv_slices(struct gen *gen, struct conv_plan *p)
{
	int64_t channels = p->layer.ci_num, first = 0;

	p->slices = gen_chance(gen, 65) ? 1 : min64(channels, gen_pick(gen, 2, 4));
	for (int64_t i = 0; i < p->slices; i++) {
		int64_t most = channels - (p->slices - 1 - i) - 1;

		p->slice_end[i] = i == p->slices - 1 ? channels - 1 : gen_pick(gen, first, most);
		first = p->slice_end[i] + 1;
	}
	/* A layer may also remain incomplete. */
	if (p->slices > 1 && gen_chance(gen, 10))
		p->slices--;
}

static bool pick_weights(struct gen *gen, struct conv_plan *p)
{
	struct conv_layer *l = &p->layer;
	int64_t first = l->co_start / 4, last = (l->co_start + p->co_cnt - 1) / 4;
	int64_t span = ((last - first) * p->weight_pitch + l->ci_end - l->ci_start + 1) * p->taps;
	int64_t place = pick_place(gen, &gen->weight, span);
	int64_t bias = pick_place(gen, &gen->weight, last - first + 1);

	l->weight_base = place - (first * p->weight_pitch + l->ci_start) * p->taps;
	l->bias_base = bias - first;
	return place >= 0 && bias >= 0;
}

/* Bases of one slice alone, or of all channels. */
static bool pick_bases(struct gen *gen, struct conv_plan *p)
{
	struct conv_layer *l = &p->layer;

	return pick_base(gen, p->in_pitch, p->in_plane, l->ci_start, l->ci_end, &l->in_base) &&
	       pick_base(gen, p->out_pitch, p->out_plane, l->co_start,
			 l->co_start + p->co_cnt - 1, &l->out_base) &&
	       pick_weights(gen, p);
}

static bool plan_conv(struct gen *gen, struct conv_plan *p)
{
	struct conv_layer *l = &p->layer;

	memset(p, 0, sizeof(*p));
	if (!pick_conv_map(gen, p))
		return false;
	pick_conv_channels(gen, p);
	pick_conv_slices(gen, p);
	p->in_pitch = pick_pitch(gen, p->in_plane);
	p->out_pitch = pick_pitch(gen, p->out_plane);
	p->weight_pitch = gen_chance(gen, 70) ? l->ci_num : gen_pick(gen, 1, l->ci_num + 3);
	l->in_pitch = field_or_zero(gen, p->in_pitch, p->in_plane);
	l->out_pitch = field_or_zero(gen, p->out_pitch, p->out_plane);
	l->weight_pitch = field_or_zero(gen, p->weight_pitch, l->ci_num);
	l->vec_active = gen_chance(gen, 50) ? CNNACC_CCP_ROWS : gen_pick(gen, 1, CNNACC_CCP_ROWS);
	l->ci_end = l->ci_num - 1;
	p->wander = gen_chance(gen, 25);
	return pick_bases(gen, p);
}

static int64_t tile_macs(const struct conv_plan *p)
{
	int64_t rows = min64(p->layer.vec_active, p->y.out);

	return p->taps * p->layer.ci_num * p->co_cnt * rows * min64(CNNACC_CCP_LANES, p->x.out);
}

/* Continue on another map: only the tile and the channels have to be the same. */
static bool change_map(struct gen *gen, struct conv_plan *p)
{
	struct conv_plan other = *p;

	if (!pick_conv_map(gen, &other))
		return false;
	other.in_pitch = pick_pitch(gen, other.in_plane);
	other.out_pitch = pick_pitch(gen, other.out_plane);
	other.layer.in_pitch = other.in_pitch;
	other.layer.out_pitch = other.out_pitch;
	other.wander = true;
	if (!pick_bases(gen, &other) || tile_macs(&other) > gen->macs)
		return false;
	*p = other;
	return true;
}

/* A slice after the last channel of a complete layer is BAD_CONTINUE. */
static void spoil_finished(struct gen *gen, const struct conv_plan *p)
{
	struct conv_layer l = p->layer;

	if (gen->kind != GEN_FIELD || gen->spoilt || l.ci_end != l.ci_num - 1 || gen_chance(gen, 80))
		return;
	gen->spoilt = true;
	l.ci_start = l.ci_num;
	l.ci_end = l.ci_num;
	l.ci_num += 1 + gen_chance(gen, 50);
	gen_conv_exec(gen, &l, false);
}

static void conv_slices(struct gen *gen, struct conv_plan *p, bool bases)
{
	struct conv_plan first = *p;
	struct conv_layer *l = &p->layer;

	for (int64_t i = 0; i < p->slices; i++) {
		l->ci_start = i ? p->slice_end[i - 1] + 1 : 0;
		l->ci_end = p->slice_end[i];
		if (i && gen_full(gen))
			break;
		if (i && gen_chance(gen, 8) && change_map(gen, p))
			bases = true;
		else if (p->wander && !pick_bases(gen, p))
			break;
		bases = bases || p->wander;
		if (i && gen_chance(gen, 30))
			gen_noise(gen);
		gen_conv_exec(gen, l, bases || gen_chance(gen, 20));
		bases = false;
	}
	gen->macs -= tile_macs(p);
	spoil_finished(gen, p);
	*p = first;
}

/* Tiles down a column of tiles, with R7 as the counter and R4 as the tile. */
static bool conv_row_loop(struct gen *gen, struct conv_plan *p)
{
	struct conv_layer *l = &p->layer;
	int64_t tiles = (p->y.out + l->vec_active - 1) / l->vec_active;
	uint32_t g0[8], g1[8], start;

	if (p->slices > 1 || gen->params.icache < 2048 || tiles * tile_macs(p) > gen->macs)
		return false;
	l->ci_start = 0;
	l->ci_end = p->slice_end[0];
	l->row_start = 0;
	l->col_start = gen_pick(gen, 0, p->x.out);
	gen_conv_exec(gen, l, true);
	conv_pack(l, g0, g1);
	g0[7] = tiles;
	gen_room(gen, 40);
	for (unsigned int reg = 0; reg < 8; reg++)
		gen_set(gen, reg, g0[reg]);
	start = gen->code_base + gen->code->length;
	gen_emit(gen, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	gen_emit(gen, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
	gen_emit(gen, CNNACC_CCP_INSN_ADDI(4, 4, l->vec_active));
	gen_emit(gen, CNNACC_CCP_INSN_ADDI(7, 7, -1));
	gen_emit(gen, CNNACC_CCP_INSN_BNZ(7, start));
	gen->macs -= (tiles + 1) * tile_macs(p);
	return true;
}

/* How far the bases move from EXEC to EXEC: by a channel, mostly. */
static void pick_steps(struct gen *gen, const struct conv_plan *p, int64_t step[4])
{
	step[0] = gen_chance(gen, 80) ? p->in_pitch : gen_pick(gen, -3, 8);
	step[1] = gen_chance(gen, 85) ? p->co_cnt * p->out_pitch : gen_pick(gen, -9, 9);
	step[2] = gen_chance(gen, 80) ? p->taps : gen_pick(gen, -2, p->taps + 2);
	step[3] = gen_pick(gen, -1, 1);
}

/* Bases with which @count EXECs fit that touch @span words each. */
static bool pick_moving_bases(struct gen *gen, const int64_t span[4], const int64_t step[4],
			      int64_t count, int32_t base[4])
{
	for (int i = 0; i < 4; i++) {
		const struct gen_window *window = i < 2 ? &gen->data : &gen->weight;
		int64_t moved = (count - 1) * step[i];
		int64_t place = pick_place(gen, window, span[i] + max64(moved, -moved));

		if (place < 0)
			return false;
		base[i] = place - min64(moved, 0);
	}
	return true;
}

static void emit_channel_loop(struct gen *gen, const uint32_t g1[8], int64_t times,
			      int64_t unroll, const int64_t step[4])
{
	uint32_t start;

	gen_room(gen, 100);
	for (unsigned int reg = 0; reg < 7; reg++)
		gen_set(gen, reg, g1[reg]);
	gen_set(gen, 7, times);
	start = gen->code_base + gen->code->length;
	for (int64_t i = 0; i < unroll; i++) {
		gen_emit(gen, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
		gen_emit(gen, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
		for (unsigned int reg = 0; reg < 4; reg++)
			gen_emit(gen, CNNACC_CCP_INSN_ADDI(reg, reg, step[reg]));
		if (gen_chance(gen, 3))		/* a branch to the next instruction */
			gen_emit(gen, CNNACC_CCP_INSN_BNZ(gen_pick(gen, 0, 7), gen->code_base +
							  gen->code->length + 1));
	}
	gen_emit(gen, CNNACC_CCP_INSN_ADDI(7, 7, -1));
	gen_emit(gen, CNNACC_CCP_INSN_BNZ(7, start));
}

/* Groups of one input channel each, with R7 as the counter and as the weight pitch. */
static bool conv_channel_loop(struct gen *gen, struct conv_plan *p)
{
	struct conv_layer *l = &p->layer;
	int64_t unroll = gen_pick(gen, 1, 5), times = pick_small(gen, 1, 24), step[4], span[4];
	uint32_t g0[8], g1[8];
	int32_t base[4];

	l->ci_num = 1;
	l->ci_end = 0;
	l->co_start = gen_chance(gen, 80) ? 0 : gen_pick(gen, 0, 1) * 4 + 1;
	p->co_cnt = min64(gen_pick(gen, 1, 2), gen->params.lob * l->groups);
	l->co_num = l->co_start + p->co_cnt;
	l->co_cnt = 0;
	l->row_start = gen_pick(gen, 0, p->y.out - 1);
	l->col_start = gen_pick(gen, 0, p->x.out - 1);
	pick_steps(gen, p, step);
	span[0] = p->in_plane;
	span[1] = (p->co_cnt - 1) * p->out_pitch + p->out_plane;
	span[2] = p->taps * (1 + l->co_start / 4 * times);
	span[3] = 1;
	if (gen->params.icache < 2048 || step[0] > INT16_MAX || step[1] > INT16_MAX ||
	    unroll * times * tile_macs(p) > gen->macs ||
	    !pick_moving_bases(gen, span, step, unroll * times, base))
		return false;
	gen->macs -= unroll * times * tile_macs(p);
	l->in_base = base[0];
	l->out_base = base[1] - l->co_start * p->out_pitch;
	l->weight_base = base[2] - l->co_start / 4 * p->taps;
	l->bias_base = base[3] - l->co_start / 4;
	/* Leave a bank in the middle of the loop. */
	if (gen->kind == GEN_FIELD && !gen->spoilt && gen_chance(gen, 30)) {
		gen->spoilt = true;
		times *= 1000;
	}
	conv_pack(l, g0, g1);
	set_group(gen, CNNACC_CCP_CONV, 0, g0);
	move_beside(gen);
	emit_channel_loop(gen, g1, times, unroll, step);
	return true;
}

/* Every tile of the map in turn, while the budget lasts. */
static void conv_all_tiles(struct gen *gen, struct conv_plan *p)
{
	bool first = true;

	for (int64_t y = 0; y < p->y.out; y += p->layer.vec_active) {
		for (int64_t x = 0; x < p->x.out; x += CNNACC_CCP_LANES) {
			if (!first && (gen_full(gen) || gen->macs < tile_macs(p)))
				return;
			p->layer.row_start = y;
			p->layer.col_start = x;
			conv_slices(gen, p, first || p->slices > 1 || p->wander);
			first = false;
		}
	}
}

/* One tile anywhere, also partly or wholly outside the map. */
static void conv_one_tile(struct gen *gen, struct conv_plan *p)
{
	p->layer.row_start = gen_chance(gen, 5) ? gen_pick(gen, 0, 65535) :
						  gen_pick(gen, 0, p->y.out);
	p->layer.col_start = gen_chance(gen, 5) ? gen_pick(gen, 0, 65535) :
						  gen_pick(gen, 0, p->x.out);
	conv_slices(gen, p, true);
}

static bool conv_layer(struct gen *gen)
{
	struct conv_plan plan;

	if (!plan_conv(gen, &plan) || tile_macs(&plan) > gen->macs)
		return false;
	switch (gen_pick(gen, 0, 4)) {
	case 0:
		if (conv_row_loop(gen, &plan))
			return true;
		/* fall through */
	case 1:
		conv_all_tiles(gen, &plan);
		return true;
	case 2:
		return conv_channel_loop(gen, &plan);
	default:
		conv_one_tile(gen, &plan);
		return true;
	}
}

/* ------------------------------------------------------- pool, pad and fc */

static bool pick_pool_axis(struct gen *gen, struct axis *axis, int64_t kernel, int64_t stride,
			   int64_t in)
{
	axis->kernel = kernel;
	axis->stride = stride;
	axis->in = in;
	pick_padding(gen, axis);
	axis->out = (in + axis->before + axis->after - kernel + stride - 1) / stride + 1;
	return in + axis->before + axis->after >= kernel;
}

static void pick_pool_kernel(struct gen *gen, struct pool_layer *l)
{
	if (gen_chance(gen, 50)) {
		l->kernel = gen_pick(gen, 2, 3);
		return;
	}
	do {
		l->kernel = gen_pick(gen, 1, 3);
		l->kernel_x = gen_pick(gen, 1, 3);
	} while (l->kernel == 1 && l->kernel_x == 1);
}

static bool pool_map(struct gen *gen, struct pool_layer *l, struct axis *y, struct axis *x)
{
	int64_t in = gen_pick(gen, 1, gen_chance(gen, 10) ? 100 : 16);

	pick_pool_kernel(gen, l);
	l->stride = pick_stride(gen);
	l->stride_x = gen_chance(gen, 70) ? 0 : pick_stride(gen);
	if (!pick_pool_axis(gen, y, l->kernel, l->stride, in) ||
	    !pick_pool_axis(gen, x, l->kernel_x ? l->kernel_x : l->kernel,
			    l->stride_x ? l->stride_x : l->stride,
			    gen_chance(gen, 50) ? in : gen_pick(gen, 1, 14)))
		return false;
	l->in_cols = x->in;
	l->in_rows = field_or_zero(gen, y->in, x->in);
	l->top = y->before;
	l->bottom = y->after;
	l->left = x->before;
	l->right = x->after;
	l->out_cols = gen_chance(gen, 60) ? 0 : max64(1, x->out - gen_pick(gen, 0, 1));
	l->out_rows = gen_chance(gen, 60) ? 0 : gen_pick(gen, 1, y->out);
	y->out = l->out_rows ? l->out_rows : y->out;
	x->out = l->out_cols ? l->out_cols : x->out;
	return true;
}

static bool pool_layer(struct gen *gen)
{
	struct pool_layer l = { .average = gen_chance(gen, 50) };
	int64_t in_pitch, out_pitch;
	struct axis y, x;
	uint32_t g[8];

	if (!pool_map(gen, &l, &y, &x))
		return false;
	l.channels = pick_small(gen, 1, 12);
	in_pitch = pick_pitch(gen, y.in * x.in);
	out_pitch = pick_pitch(gen, y.out * x.out);
	l.in_pitch = field_or_zero(gen, in_pitch, y.in * x.in);
	l.out_pitch = field_or_zero(gen, out_pitch, y.out * x.out);
	if (!pick_base(gen, in_pitch, y.in * x.in, 0, l.channels - 1, &l.in_base) ||
	    !pick_base(gen, out_pitch, y.out * x.out, 0, l.channels - 1, &l.out_base))
		return false;
	gen->macs -= 2 * l.channels * y.out * x.out * 9;
	pool_pack(&l, g);
	gen_unit(gen, CNNACC_CCP_POOL, g);
	return true;
}

static bool pad_layer(struct gen *gen)
{
	struct pad_layer l = { .layers = gen_pick(gen, 1, 2), .channels = pick_small(gen, 1, 12) };
	int64_t cols = gen_pick(gen, 1, 20), rows = gen_chance(gen, 50) ? cols : gen_pick(gen, 1, 20);
	int64_t in_plane = rows * cols, out_plane = (rows + 2 * l.layers) * (cols + 2 * l.layers);
	int64_t in_pitch = pick_pitch(gen, in_plane), out_pitch = pick_pitch(gen, out_plane);
	uint32_t g[8];

	l.in_cols = cols;
	l.in_rows = field_or_zero(gen, rows, cols);
	l.in_pitch = field_or_zero(gen, in_pitch, in_plane);
	l.out_pitch = field_or_zero(gen, out_pitch, out_plane);
	if (!pick_base(gen, in_pitch, in_plane, 0, l.channels - 1, &l.in_base) ||
	    !pick_base(gen, out_pitch, out_plane, 0, l.channels - 1, &l.out_base))
		return false;
	gen->macs -= l.channels * out_plane;
	pad_pack(&l, g);
	g[7] = prng_next(&gen->prng);
	gen_unit(gen, CNNACC_CCP_PAD, g);
	return true;
}

/* All banks have the same weight window, so a linear span may start in any bank. */
static int64_t pick_linear(struct gen *gen, int64_t length)
{
	int64_t bank = gen->params.weight_bank / 4, all = 4 * bank, place;

	if (gen->weight.low == 0 && gen->weight.high == bank) {
		struct gen_window whole = { 0, all, all / 2 };

		return pick_place(gen, &whole, length);
	}
	place = pick_place(gen, &gen->weight, length);
	return place < 0 ? place : place + gen_pick(gen, 0, 3) * bank;
}

static bool fc_layer(struct gen *gen)
{
	struct fc_layer l = { .relu = gen_chance(gen, 40), .bias = gen_chance(gen, 60) };
	uint32_t g[8];

	l.in = pick_small(gen, 1, gen_chance(gen, 10) ? 700 : 90);
	l.out = pick_small(gen, 1, gen_chance(gen, 10) ? 200 : 30);
	l.in_base = pick_place(gen, &gen->data, l.in);
	l.out_base = pick_place(gen, &gen->data, l.out);
	l.weight_base = pick_linear(gen, (int64_t)l.out * ((l.in + 15) / 16 * 16));
	l.bias_base = pick_linear(gen, l.out);
	if (l.in_base < 0 || l.out_base < 0 || l.weight_base < 0 || l.bias_base < 0)
		return false;
	if (!l.bias && gen_chance(gen, 50))
		l.bias_base = -1;
	gen->macs -= 3 * l.in * l.out;
	fc_pack(&l, g);
	g[7] = prng_next(&gen->prng);
	gen_unit(gen, CNNACC_CCP_FC, g);
	return true;
}

/* ---------------------------------------------------------------- noise */

/* A branch over words that must not run, or one that is not taken. */
static void noise_branch(struct gen *gen)
{
	unsigned int words = gen_pick(gen, 0, 4), reg = gen_pick(gen, 0, 7);
	bool taken = gen_chance(gen, 50);

	gen_room(gen, 8);
	gen_emit(gen, CNNACC_CCP_INSN_LDI(reg, taken ? gen_pick(gen, 1, 0xffff) : 0));
	gen_emit(gen, CNNACC_CCP_INSN_BNZ(reg, gen->code_base + gen->code->length + 1 + words));
	for (unsigned int i = 0; i < words; i++)
		gen_emit(gen, taken ? (uint32_t)prng_next(&gen->prng) | 0xa0000000 :
				      CNNACC_CCP_INSN_ADDI(3 + i, 3, 1));
}

static void noise_arithmetic(struct gen *gen)
{
	unsigned int rd = gen_pick(gen, 0, 7), rs = gen_pick(gen, 0, 7);

	gen_room(gen, 2);
	gen_emit(gen, CNNACC_CCP_INSN_LDIH(rd, gen_pick(gen, 0, 0xffff)));
	gen_emit(gen, CNNACC_CCP_INSN_ADDI(rd, rs, gen_pick(gen, 0, 0xffff)));
}

static void spoil_noise(struct gen *gen)
{
	gen->spoilt = true;
	gen_room(gen, 1);
	if (gen_chance(gen, 50))
		gen_emit(gen, (uint32_t)gen_pick(gen, 10, 15) << 28 |
			      ((uint32_t)prng_next(&gen->prng) & 0x0fffffff));
	else if (gen_chance(gen, 50))
		gen_emit(gen, CNNACC_CCP_INSN_CFG(gen_pick(gen, 1, 3), gen_pick(gen, 1, 3)));
	else
		gen_emit(gen, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, gen_pick(gen, 2, 3)));
}

void gen_noise(struct gen *gen)
{
	if (gen->kind == GEN_ILLEGAL && !gen->spoilt)
		spoil_noise(gen);
	if (gen_full(gen))
		return;
	switch (gen_pick(gen, 0, 6)) {
	case 0:
	case 1:
		move_data(gen);
		break;
	case 2:
		move_weights(gen);
		break;
	case 3:
		noise_branch(gen);
		break;
	case 4:
		noise_arithmetic(gen);
		break;
	case 5:
		gen_room(gen, 1);
		gen_emit(gen, CNNACC_CCP_INSN_SWAP);
		break;
	default:
		if (gen_chance(gen, 20))
			gen_switch(gen);
		break;
	}
}

bool gen_layer(struct gen *gen)
{
	unsigned int unit = gen_pick(gen, 0, 9);

	/* Spoil each unit's parameters equally often. */
	if (gen->kind == GEN_FIELD && gen_chance(gen, 60))
		unit = gen_pick(gen, 6, 9);
	for (int i = 0; i < TRIES; i++) {
		if (unit < 6 ? conv_layer(gen) : unit < 8 ? pool_layer(gen) :
		    unit < 9 ? pad_layer(gen) : fc_layer(gen))
			return true;
	}
	return false;
}
