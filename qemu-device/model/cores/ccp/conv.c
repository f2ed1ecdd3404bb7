// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convolution unit: parameters, input tiles and the walk over channels. */
#include <string.h>

#include "ccp.h"
#include "mutant.h"

#define SETUP_NS	40	/* per output channel and input channel, beside the taps */
#define TILE_NS		1000	/* per input channel */
#define SAVE_NS		200	/* per output channel */

static void resolve(struct ccp *c)
{
	const uint32_t *g0 = c->s->group[CCP_CONV0], *g1 = c->s->group[CCP_CONV1];
	struct ccp_conv *p = &c->plan.conv;

	memset(p, 0, sizeof(*p));
	p->relu = g0[0] & CNNACC_CCP_R0_RELU;
	p->bias = g0[0] & CNNACC_CCP_R0_BIAS;
	p->sy = ccp_bits(g0[0], 15, 8);
	p->kh = ccp_bits(g0[0], 23, 16);
	p->sx = ccp_or(ccp_bits(g0[0], 27, 24), p->sy);
	p->kw = ccp_or(ccp_bits(g0[0], 31, 28), p->kh);
	p->m.iw = ccp_bits(g0[1], 15, 0);
	p->m.ow = ccp_bits(g0[1], 31, 16);
	p->ci_num = ccp_bits(g0[2], 15, 0);
	p->co_num = ccp_bits(g0[2], 31, 16);
	p->ci_start = ccp_bits(g0[3], 15, 0);
	p->ci_end = ccp_bits(g0[3], 31, 16);
	p->row_start = ccp_bits(g0[4], 15, 0);
	p->col_start = ccp_bits(g0[4], 31, 16);
	p->vec_active = ccp_bits(g0[5], 4, 0);
	p->groups = ccp_bits(g0[5], 9, 8) + 1;
	p->co_start = ccp_bits(g0[5], 31, 16);
	p->co_cnt = ccp_or(ccp_bits(g0[6], 15, 0), p->co_num - p->co_start);
	p->pt = ccp_bits(g0[6], 19, 16);
	p->pb = ccp_bits(g0[6], 23, 20);
	p->pl = ccp_bits(g0[6], 27, 24);
	p->pr = ccp_bits(g0[6], 31, 28);
	p->m.in_base = (int32_t)g1[0];
	p->m.out_base = (int32_t)g1[1];
	p->weight_base = (int32_t)g1[2];
	p->bias_base = (int32_t)g1[3];
	p->m.ih = ccp_or(ccp_bits(g1[4], 15, 0), p->m.iw);
	p->m.oh = ccp_or(ccp_bits(g1[4], 31, 16), p->m.ow);
	p->weight_pitch = ccp_or(ccp_bits(g1[7], 15, 0), p->ci_num);
	p->last = p->ci_end + 1 == p->ci_num;
}

static uint32_t check_sizes(const struct ccp_conv *p)
{
	const struct ccp_maps *m = &p->m;

	if (!p->kh || p->kh > CNNACC_CCP_KERNEL_MAX || p->kw > CNNACC_CCP_KERNEL_MAX)
		return CNNACC_CCP_BAD_KERNEL;
	if (!p->sy || p->sy > CNNACC_CCP_STRIDE_MAX || p->sx > CNNACC_CCP_STRIDE_MAX)
		return CNNACC_CCP_BAD_STRIDE;
	if (!m->iw || m->ih + p->pt + p->pb < p->kh || m->iw + p->pl + p->pr < p->kw)
		return CNNACC_CCP_BAD_IN_SIZE;
	if (m->oh != (m->ih + p->pt + p->pb - p->kh) / p->sy + 1 ||
	    m->ow != (m->iw + p->pl + p->pr - p->kw) / p->sx + 1)
		return CNNACC_CCP_BAD_OUT_SIZE;
	return 0;
}

static bool bad_channels(const struct ccp *c, const struct ccp_conv *p)
{
	return !p->ci_num || !p->co_num || p->ci_start > p->ci_end || p->ci_end >= p->ci_num ||
	       p->co_start >= p->co_num || p->co_start + p->co_cnt > p->co_num ||
	       p->co_cnt > c->lob_vectors * p->groups;
}

static bool continues(const struct ccp_chain *chain, const struct ccp_conv *p)
{
	return chain->valid && chain->next_ci == p->ci_start &&
	       chain->row_start == p->row_start && chain->col_start == p->col_start &&
	       chain->vec_active == p->vec_active && chain->co_start == p->co_start &&
	       chain->co_cnt == p->co_cnt;
}

static uint32_t check_weights(const struct ccp *c, const struct ccp_conv *p)
{
	int64_t taps = (int64_t)p->kh * p->kw, wp = (int64_t)p->weight_pitch;
	int64_t first = p->co_start / 4, last = (p->co_start + p->co_cnt - 1) / 4;

	if (p->weight_base + (first * wp + p->ci_start) * taps < 0 ||
	    p->weight_base + (last * wp + p->ci_end + 1) * taps > (int64_t)c->weight_floats)
		return CNNACC_CCP_RANGE_WEIGHT;
	if (p->bias && (p->bias_base + first < 0 ||
			p->bias_base + last >= (int64_t)c->weight_floats))
		return CNNACC_CCP_RANGE_BIAS;
	return 0;
}

static uint32_t check_ranges(const struct ccp *c, const struct ccp_conv *p)
{
	const struct ccp_maps *m = &p->m;

	if (ccp_out_of(m->in_base, m->in_pitch, p->ci_start, p->ci_end,
		       (uint64_t)m->ih * m->iw, c->bank_floats))
		return CNNACC_CCP_RANGE_INPUT;
	if (ccp_out_of(m->out_base, m->out_pitch, p->co_start, p->co_start + p->co_cnt - 1,
		       (uint64_t)m->oh * m->ow, c->bank_floats))
		return CNNACC_CCP_RANGE_OUTPUT;
	return check_weights(c, p);
}

static uint32_t clip(uint32_t start, uint32_t count, uint32_t size)
{
	if (start >= size)
		return 0;
	return size - start < count ? size - start : count;
}

/* Where the tile lies in the map and how the taps find their inputs. */
static void lay_out(struct ccp_conv *p)
{
	uint32_t n = p->kh * p->kw;

	p->rows = clip(p->row_start, p->vec_active, p->m.oh);
	p->cols = clip(p->col_start, CNNACC_CCP_LANES, p->m.ow);
	if (MUTANT(CLIP) && p->cols && p->cols < CNNACC_CCP_LANES)
		p->cols--;
	p->tile_width = CNNACC_CCP_LANES - 1 + (p->kw + p->sx - 1) / p->sx;
	p->tile_row = p->sx * p->tile_width;
	p->tile_size = p->rows ? ((p->rows - 1) * p->sy + p->kh) * p->tile_row : 1;
	p->depth = CCP_TILE_ROWS * CCP_TILE_COLS / p->tile_size;
	if (p->depth > CCP_DEPTH)
		p->depth = CCP_DEPTH;
	for (uint32_t r = 0; r < p->kh; r++)
		for (uint32_t s = 0; s < p->kw; s++)
			p->tap[r * p->kw + s] = r * p->tile_row +
						s % p->sx * p->tile_width + s / p->sx;
	if (MUTANT(TAPS))
		for (uint32_t i = 0; i < n / 2; i++) {
			uint32_t tap = p->tap[i];

			p->tap[i] = p->tap[n - 1 - i];
			p->tap[n - 1 - i] = tap;
		}
}

static uint32_t check(struct ccp *c)
{
	const uint32_t *g0 = c->s->group[CCP_CONV0], *g1 = c->s->group[CCP_CONV1];
	struct ccp_conv *p = &c->plan.conv;
	uint32_t bad;

	resolve(c);
	c->tile_channel = 0;
	if (ccp_bits(g0[0], 7, 2) || ccp_bits(g0[5], 7, 5) || ccp_bits(g0[5], 15, 10) ||
	    ccp_bits(g1[7], 31, 16))
		return CNNACC_CCP_BAD_RESERVED;
	bad = check_sizes(p);
	if (bad)
		return bad;
	if (bad_channels(c, p))
		return CNNACC_CCP_BAD_CHANNELS;
	if (!p->vec_active || p->vec_active > CNNACC_CCP_ROWS)
		return CNNACC_CCP_BAD_VEC_ACTIVE;
	if (p->ci_start && !continues(&c->s->chain, p))
		return CNNACC_CCP_BAD_CONTINUE;
	bad = ccp_check_pitches(&p->m, g1[5], g1[6]);
	if (!bad)
		bad = check_ranges(c, p);
	if (bad)
		return bad;
	lay_out(p);
	ccp_work_conv(c);
	return 0;
}

/* One row of the tile: columns first.. of @in, split into stride phases. */
static void fill_row(const struct ccp_conv *p, float *out, const float *in)
{
	int64_t first = (int64_t)p->col_start * p->sx - p->pl;

	for (uint32_t phase = 0; phase < p->sx; phase++, out += p->tile_width)
		for (uint32_t i = 0; i < p->tile_width; i++) {
			int64_t x = first + phase + (int64_t)i * p->sx;

			out[i] = x >= 0 && x < p->m.iw ? in[x] : 0.0f;
		}
}

static void fill_tile(const struct ccp_conv *p, float *tile, const float *plane)
{
	int64_t y = (int64_t)p->row_start * p->sy - p->pt;
	float *end = tile + p->tile_size;

	for (; tile < end; tile += p->tile_row, y++) {
		if (y >= 0 && y < p->m.ih)
			fill_row(p, tile, plane + y * p->m.iw);
		else
			memset(tile, 0, p->tile_row * sizeof(*tile));
	}
}

static void fill_tiles(struct ccp *c, uint64_t channel, uint32_t depth)
{
	const struct ccp_conv *p = &c->plan.conv;

	for (uint32_t i = 0; i < depth; i++)
		fill_tile(p, c->tile + (size_t)i * p->tile_size,
			  ccp_in_plane(c, &p->m, channel + i));
	c->tile_channel = channel + 1;
}

static const float *bank_of(const struct ccp *c, const struct ccp_conv *p, uint32_t o)
{
	uint32_t bank = MUTANT(BANK) ? (o - p->co_start) % 4 : o % 4;

	return c->weight + (size_t)bank * c->weight_floats;
}

/* Adds input channels to one output channel's partial sums. */
static void accumulate(struct ccp *c, uint64_t channel, uint32_t depth, uint32_t o)
{
	const struct ccp_conv *p = &c->plan.conv;
	const float *bank = bank_of(c, p, o), *bias = NULL;
	int64_t offset = p->weight_base +
			 (int64_t)((o / 4 * p->weight_pitch + channel) * p->kh * p->kw);
	float *lob = c->lob + (size_t)(o - p->co_start) * CCP_TILE;

	if (p->bias && channel + depth == p->ci_num)
		bias = bank + p->bias_base + o / 4;
	c->conv_fn(lob, c->tile, p, bank + offset, depth, bias, channel == 0);
}

/* One piece of work: some output channels of some input channels. */
static void pass(struct ccp *c, uint64_t channel, uint32_t depth, uint32_t first, uint32_t count)
{
	const struct ccp_conv *p = &c->plan.conv;

	if (!p->rows || !p->cols)
		return;
	if (c->tile_channel != channel + 1)
		fill_tiles(c, channel, depth);
	for (uint32_t i = 0; i < count; i++)
		accumulate(c, channel, depth, p->co_start + first + i);
}

static void save_channel(struct ccp *c, uint32_t o)
{
	const struct ccp_conv *p = &c->plan.conv;
	const float *lob = c->lob + (size_t)(o - p->co_start) * CCP_TILE;

	for (uint32_t y = 0; y < p->rows; y++, lob += CNNACC_CCP_LANES) {
		float *out = ccp_out_plane(c, &p->m, o) +
			     (uint64_t)(p->row_start + y) * p->m.ow + p->col_start;

		for (uint32_t x = 0; x < p->cols; x++)
			out[x] = p->relu ? ccp_relu(lob[x]) : ccp_canonical(lob[x]);
	}
}

static void finish(struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;

	c->s->chain = (struct ccp_chain){
		.valid = !p->last,
		.next_ci = p->ci_end + 1,
		.row_start = p->row_start,
		.col_start = p->col_start,
		.vec_active = p->vec_active,
		.co_start = p->co_start,
		.co_cnt = p->co_cnt,
	};
}

/* pos[0] counts input channels and then the save, pos[1] output channels. */
static uint64_t stages(const struct ccp_conv *p)
{
	return p->ci_end - p->ci_start + 1 + p->last;
}

static bool check_pos(const struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;
	const uint64_t *pos = c->s->pos;

	return pos[0] < stages(p) && pos[1] < p->co_cnt && pos[1] % CCP_PASS == 0;
}

/* Input channels of the piece of work at hand, 0 for the save. */
static uint32_t depth_at(const struct ccp_conv *p, uint64_t pos)
{
	uint64_t left = p->ci_end - p->ci_start + 1 - pos;

	return left < p->depth ? (uint32_t)left : p->depth;
}

/* One piece of work; returns about what it cost. */
static int64_t piece(struct ccp *c, uint32_t depth, uint32_t first, uint32_t count)
{
	const struct ccp_conv *p = &c->plan.conv;
	int64_t macs = (int64_t)p->rows * CNNACC_CCP_LANES * p->kh * p->kw;

	if (depth) {
		pass(c, p->ci_start + c->s->pos[0], depth, first, count);
		return (int64_t)count * depth * (macs / 4 + SETUP_NS) + depth * TILE_NS;
	}
	for (uint32_t i = 0; i < count; i++)
		save_channel(c, p->co_start + first + i);
	return (int64_t)count * SAVE_NS;
}

static bool run(struct ccp *c, int64_t *budget)
{
	const struct ccp_conv *p = &c->plan.conv;
	uint64_t *pos = c->s->pos;

	while (pos[0] < stages(p)) {
		uint32_t depth = depth_at(p, pos[0]);

		while (pos[1] < p->co_cnt) {
			uint32_t first = (uint32_t)pos[1], count = p->co_cnt - first;

			if (*budget <= 0)
				return false;
			if (count > CCP_PASS)
				count = CCP_PASS;
			*budget -= piece(c, depth, first, count);
			pos[1] += count;
		}
		pos[0] += depth ? depth : 1;
		pos[1] = 0;
	}
	finish(c);
	return true;
}

const struct ccp_unit ccp_conv_unit = { check, check_pos, run };
