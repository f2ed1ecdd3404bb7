// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convolution unit: parameters and what follows from them. */
#include <string.h>

#include "ccp.h"
#include "mutant.h"
#include "simd.h"

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
	p->m.ih = ccp_or(ccp_bits(g1[4], 15, 0), p->m.iw);
	p->m.oh = ccp_or(ccp_bits(g1[4], 31, 16), p->m.ow);
	p->last = p->ci_end + 1 == p->ci_num;
}

/* What may differ from EXEC to EXEC of one plan. */
static void resolve_bases(struct ccp *c)
{
	const uint32_t *g1 = c->s->group[CCP_CONV1];
	struct ccp_conv *p = &c->plan.conv;

	p->m.in_base = (int32_t)g1[0];
	p->m.out_base = (int32_t)g1[1];
	p->base = (struct ccp_bases){
		.in = p->m.in_base, .out = p->m.out_base,
		.weight = (int32_t)g1[2], .bias = (int32_t)g1[3],
		.weight_pitch = ccp_or(ccp_bits(g1[7], 15, 0), p->ci_num),
	};
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
	int64_t taps = (int64_t)p->kh * p->kw, wp = (int64_t)p->base.weight_pitch;
	int64_t first = p->co_start / 4, last = (p->co_start + p->co_cnt - 1) / 4;

	if (p->base.weight + (first * wp + p->ci_start) * taps < 0 ||
	    p->base.weight + (last * wp + p->ci_end + 1) * taps > (int64_t)c->weight_floats)
		return CNNACC_CCP_RANGE_WEIGHT;
	if (p->bias && (p->base.bias + first < 0 ||
			p->base.bias + last >= (int64_t)c->weight_floats))
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

static void reverse(uint32_t *tap, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t last = tap[n - 1 - i];

		tap[n - 1 - i] = tap[i];
		tap[i] = last;
	}
}

/* Which lanes are inside the map, and which find an input under a tap column. */
static void mask_lanes(struct ccp_conv *p)
{
	for (uint32_t i = 0; i < CNNACC_CCP_LANES; i++)
		p->valid[i] = -(i < p->cols);
	for (uint32_t s = 0; s < p->kw; s++)
		for (uint32_t i = 0; i < CNNACC_CCP_LANES; i++) {
			int64_t x = p->first_column + s + (int64_t)i * p->sx;

			p->column[s][i] = -(x >= 0 && x < p->m.iw);
		}
}

/* What of the input the tile reads. */
static void find_input(struct ccp_conv *p)
{
	int64_t first = (int64_t)p->row_start * p->sy - p->pt;
	int64_t rows = (int64_t)(p->height * (p->place / p->lanes) - 1) * p->sy + p->kh;
	int64_t columns = p->kw - 1 + p->lanes * p->sx;
	int64_t low = first > 0 ? first : 0;
	int64_t end = first + rows < p->m.ih ? first + rows : p->m.ih;

	p->first_row = first;
	p->first_column = (int64_t)p->col_start * p->sx - p->pl;
	p->low = low * p->m.iw;
	p->high = (end - 1) * p->m.iw + columns;
	p->columns = p->cols == CNNACC_CCP_LANES && p->first_column >= 0 &&
		     p->first_column + p->kw - 1 + (CNNACC_CCP_LANES - 1) * p->sx < p->m.iw;
	p->whole = p->sx == 1 && p->columns && first >= 0 && first + rows <= p->m.ih;
}

/* May vectors read rows of all input channels where they are? */
static bool reads_inside(const struct ccp *c, const struct ccp_conv *p)
{
	int64_t first = p->m.in_base + (int64_t)(p->ci_start * p->m.in_pitch) + p->first_column;
	int64_t last = p->m.in_base + (int64_t)(p->ci_end * p->m.in_pitch) + p->first_column;

	return first + p->low >= 0 && last + p->high <= c->bank_floats;
}

/* Vectors of rows in a tile, or of single rows without one. */
static void lay_out_rows(struct ccp_conv *p, uint32_t width, bool thin)
{
	uint32_t group;

	p->thin = thin;
	p->lanes = thin || p->cols > CNNACC_CCP_LANES / 2 ? CNNACC_CCP_LANES :
							    CNNACC_CCP_LANES / 2;
	p->place = !thin && width > p->lanes ? width : p->lanes;
	group = p->place / p->lanes;
	p->height = (p->rows + group - 1) / group;
	p->tile_rows = (p->height - 1) * p->sy + p->kh;
	p->tile_size = p->kw * p->tile_rows * p->place;
	find_input(p);
}

static bool may_be_thin(const struct ccp_conv *p)
{
	return p->co_cnt <= CCP_THIN && p->sx <= 2;
}

/* Where the tile lies in the map and how the taps find their inputs. */
static void lay_out(const struct ccp *c, struct ccp_conv *p)
{
	p->rows = clip(p->row_start, p->vec_active, p->m.oh);
	p->cols = clip(p->col_start, CNNACC_CCP_LANES, p->m.ow);
	if (MUTANT(CLIP) && p->cols && p->cols < CNNACC_CCP_LANES)
		p->cols--;
	if (!p->rows || !p->cols)
		return;
	lay_out_rows(p, c->simd->width, may_be_thin(p));
	if (p->thin && !reads_inside(c, p))
		lay_out_rows(p, c->simd->width, false);
	p->depth = CCP_TILE_CACHE / CCP_TILE_FLOATS(p->rows, p->kh, p->kw, p->sy);
	if (!p->depth)
		p->depth = 1;
	for (uint32_t r = 0; r < p->kh; r++)
		for (uint32_t s = 0; s < p->kw; s++)
			p->tap[r * p->kw + s] = (s * p->tile_rows + r) * p->place;
	if (MUTANT(TAPS))
		reverse(p->tap, p->kh * p->kw);
	mask_lanes(p);
}

/* Checks of what no base has a part in, but for the pitches, which come later. */
static uint32_t check_shape(struct ccp *c)
{
	const uint32_t *g0 = c->s->group[CCP_CONV0];
	struct ccp_conv *p = &c->plan.conv;
	uint32_t bad;

	resolve(c);
	if (ccp_bits(g0[0], 7, 2) || ccp_bits(g0[5], 7, 5) || ccp_bits(g0[5], 15, 10))
		return CNNACC_CCP_BAD_RESERVED;
	bad = check_sizes(p);
	if (bad)
		return bad;
	if (bad_channels(c, p))
		return CNNACC_CCP_BAD_CHANNELS;
	if (!p->vec_active || p->vec_active > CNNACC_CCP_ROWS)
		return CNNACC_CCP_BAD_VEC_ACTIVE;
	return 0;
}

/* Is the plan that of the EXEC before, but for its bases and the weight pitch? */
static bool known(const struct ccp *c)
{
	const uint32_t *g0 = c->s->group[CCP_CONV0], *g1 = c->s->group[CCP_CONV1];

	return c->conv_of.valid && c->conv_of.sel == c->s->sel &&
	       !memcmp(g0, c->conv_of.g0, sizeof(c->conv_of.g0)) &&
	       !memcmp(g1 + 4, c->conv_of.g1 + 4, 3 * sizeof(*g1));
}

static void remember(struct ccp *c)
{
	memcpy(c->conv_of.g0, c->s->group[CCP_CONV0], sizeof(c->conv_of.g0));
	memcpy(c->conv_of.g1, c->s->group[CCP_CONV1], sizeof(c->conv_of.g1));
	c->conv_of.sel = c->s->sel;
	c->conv_of.work = c->work;
	c->conv_of.valid = true;
}

static uint32_t check(struct ccp *c)
{
	const uint32_t *g1 = c->s->group[CCP_CONV1];
	struct ccp_conv *p = &c->plan.conv;
	bool again = known(c);
	uint32_t bad = 0;

	c->execs++;
	c->conv_of.valid = false;
	if (ccp_bits(g1[7], 31, 16))
		return CNNACC_CCP_BAD_RESERVED;
	if (!again) {
		c->batch.planned = false;
		bad = check_shape(c);
	}
	resolve_bases(c);
	if (!bad && p->ci_start && !continues(&c->s->chain, p))
		bad = CNNACC_CCP_BAD_CONTINUE;
	if (!bad && !again)
		bad = ccp_check_pitches(&p->m, g1[5], g1[6]);
	if (!bad)
		bad = check_ranges(c, p);
	if (bad)
		return bad;
	if (!again || (may_be_thin(p) && p->rows && p->cols && !(p->thin && reads_inside(c, p)))) {
		c->batch.planned = false;
		lay_out(c, p);
	}
	if (again)
		c->work = c->conv_of.work;
	else
		ccp_work_conv(c);
	ccp_touch_conv(c);
	remember(c);
	return 0;
}

const struct ccp_unit ccp_conv_unit = { check, ccp_conv_check_pos, ccp_conv_run };
